/* httpd.h - HTTP server: HTTP/1.1 and HTTP/2, plain and TLS, streaming with back-pressure.
 *
 * One handler function gets every request once its headers are complete. It may answer at once or
 * later; the request stays valid until httpd_end() or on_close. Loop thread only.
 */
#ifndef KOORD_NET_HTTPD_H
#define KOORD_NET_HTTPD_H
#include "net/http.h"

struct loop;
struct stream;
struct tls_ctx;
struct httpd;
struct httpd_req;

struct httpd_opts {
    size_t max_header;     /* 0: 64 KiB */
    size_t max_body;       /* 0: 3 MiB; more gets 413 */
    bool tell_too_large;   /* such requests reach the handler: see httpd_read_body() */
    size_t max_buffered;   /* 0: 64 MiB of request bodies in memory at a time; more gets 503 */
    unsigned max_conns;    /* 0: 1024; above it connections are closed at once */
    unsigned max_streams;  /* HTTP/2, per connection; 0: 250 */
    nsec_t header_timeout; /* 0: 15 s for a request head (and the TLS handshake) */
    nsec_t body_timeout;   /* 0: 60 s for its body */
    nsec_t idle_timeout;   /* 0: 120 s between requests */
    nsec_t write_timeout;  /* 0: 60 s without progress while data is queued */
};

/* What a handler may hook on; all members may be NULL. */
struct httpd_events {
    void (*on_data)(void *arg, const char *p, size_t n); /* request body, as it comes */
    void (*on_body_end)(void *arg);
    /* What was written has left, up to the low-water mark (STREAM_LOW_WATER): go on writing. */
    void (*on_drain)(void *arg);
    /* The client went away or the server stops: the request is gone after this call. */
    void (*on_close)(void *arg);
};
typedef void (*httpd_fn)(void *arg, struct httpd_req *r);

struct httpd *httpd_new(struct loop *l, const struct httpd_opts *o, httpd_fn fn, void *arg);
/* addr as in stream.h; tls NULL: plain (with HTTP/2 by prior knowledge). May be called more than
 * once. Returns the bound port through ret_port (may be NULL). */
int httpd_listen(struct httpd *d, const char *addr, struct tls_ctx *tls, uint16_t *ret_port,
                 struct kerr *err);
/* New connections on all TLS listeners use this context; none is dropped. */
void httpd_set_tls(struct httpd *d, struct tls_ctx *tls);
/* Serves one connected stream (tests, socket activation); takes it over. */
void httpd_serve(struct httpd *d, struct stream *s, const char *peer);
/* Before a stop, when clients may still come: every answer over HTTP/1.1 says that it is the last
 * of its connection, so that a client does not send the next request into one that is being closed.
 * HTTP/2 needs no such notice: GOAWAY tells which requests to send again. */
void httpd_leave(struct httpd *d);
/* No new connections; requests in progress finish within grace, then all is closed. done may be
 * NULL. */
void httpd_stop(struct httpd *d, nsec_t grace, void (*done)(void *arg), void *arg);
struct httpd *httpd_free(struct httpd *d); /* at once; requests get on_close. Returns NULL */
DEFINE_CLEANUP(httpd_free, struct httpd *)

/* ---- a request ------------------------------------------------------------------------------- */

const char *httpd_method(const struct httpd_req *r);
const char *httpd_target(const struct httpd_req *r); /* as sent: path and query */
struct str httpd_header(const struct httpd_req *r, const char *name);
/* All of them in turn: false behind the last. Names are in lower case. */
bool httpd_header_at(const struct httpd_req *r, size_t i, struct http_header *ret);
const char *httpd_peer(const struct httpd_req *r);      /* "127.0.0.1:5123" or "unix" */
bool httpd_is_loopback(const struct httpd_req *r);      /* peer is this machine */
struct stream *httpd_stream(const struct httpd_req *r); /* for tls_peer_*(); borrowed */
/* Asks for the body when on_data or on_body_end is set. Until then (also in a later turn) the body
 * is held back, and so is the client; what is left of it when the answer ends is dropped. */
void httpd_set_events(struct httpd_req *r, const struct httpd_events *ev, void *arg);
/* Reads the whole body (bounded by max_body), then calls fn; instead of on_data. The text is
 * NUL-terminated and may be written to (plus KJ_PADDING bytes); it is valid during the call. With
 * tell_too_large, NULL stands for a body of more than max_body: the handler answers in its own
 * words, and what the client still sends is dropped for a while, so that it can read them. */
typedef void (*httpd_body_fn)(void *arg, struct httpd_req *r, char *body, size_t n);
void httpd_read_body(struct httpd_req *r, httpd_body_fn fn, void *arg);

/* Answer: head once, then any number of writes, then end. Without a content-length header the
 * body is chunked (or closes an HTTP/1.0 connection). gzip is used when the client takes it and
 * `compress` is set. */
void httpd_respond(struct httpd_req *r, int status, const struct http_header *headers, size_t n,
                   bool compress);
void httpd_write(struct httpd_req *r, const void *p, size_t n);
/* Headers after the body (gRPC), sent by httpd_end(). Copied. After httpd_respond(); HTTP/1.1 only
 * sends them with a chunked body. */
void httpd_trailers(struct httpd_req *r, const struct http_header *headers, size_t n);
size_t httpd_queued(const struct httpd_req *r); /* bytes waiting; stop writing above your cap */
void httpd_end(struct httpd_req *r);            /* the request is gone after this call */
/* All in one, with content-length. content_type may be NULL. */
void httpd_reply(struct httpd_req *r, int status, const char *content_type, const void *body,
                 size_t n);
#endif
