/* http.h - something that carries HTTP requests: the seam where transports, and faults, plug in.
 *
 * http_client_new() implements it over sockets (HTTP/1.1 and HTTP/2); tests wrap it
 * (http_fault_new()) or answer by hand. Loop thread only. Callbacks come in later turns, in the
 * order on_headers, on_data*, on_end; on_end comes exactly once unless the call was cancelled.
 */
#ifndef KOORD_NET_HTTP_H
#define KOORD_NET_HTTP_H
#include "base/base.h"

struct http_header {
    struct str name, value; /* names in lower case */
};
struct http_headers {
    const struct http_header *items;
    size_t n;
};
/* The first value of this (lower-case) name; {NULL, 0} when absent. */
struct str http_header_get(const struct http_headers *h, const char *name);

struct http_req {
    const char *method;
    const char *target;          /* "/api/v1/pods?limit=500": path and query, already escaped */
    struct http_headers headers; /* besides host, content-length, user-agent, accept-encoding */
    const void *body;            /* copied */
    size_t body_len;
    nsec_t timeout;      /* for the whole exchange; 0: none (watches) */
    nsec_t idle_timeout; /* longest silence while waiting for headers or data; 0: none */
    uint64_t max_body;   /* of the response; 0: no limit (streams). More is an error (-EMSGSIZE) */
};
struct http_resp {
    int status;
    struct http_headers headers; /* valid during on_headers only */
};
struct http_handler {
    void (*on_headers)(void *arg, const struct http_resp *r);
    void (*on_data)(void *arg, const char *p, size_t n); /* gzip is already undone */
    /* err == NULL: complete. err->code tells the cause: -ETIMEDOUT, -ECONNREFUSED, -ECONNRESET,
     * -EPROTO, -EMSGSIZE, -EKEYREJECTED (TLS verification) ... `sent` is false when no byte of
     * the request can have reached a server's handler: then a retry is always safe. */
    void (*on_end)(void *arg, const struct kerr *err, bool sent);
    /* Headers after the body (gRPC), just before on_end; valid during the call. May be NULL, as
     * may on_headers and on_data. */
    void (*on_trailers)(void *arg, const struct http_headers *h);
};

struct http;
struct http_call;
struct http_ops {
    struct http_call *(*send)(struct http *h, const struct http_req *r,
                              const struct http_handler *on, void *arg);
    void (*cancel)(struct http_call *c);
    void (*pause)(struct http_call *c, bool paused);
    void (*free)(struct http *h);
};
struct http { /* head of every implementation */
    const struct http_ops *ops;
};
struct http_call { /* head of every implementation's call */
    const struct http_ops *ops;
};

/* The request is copied. The call is valid until on_end was called or http_cancel(). */
static inline struct http_call *http_send(struct http *h, const struct http_req *r,
                                          const struct http_handler *on, void *arg)
{
    return h->ops->send(h, r, on, arg);
}
/* No callback follows. NULL is fine; always returns NULL. */
static inline struct http_call *http_cancel(struct http_call *c)
{
    if (c)
        c->ops->cancel(c);
    return NULL;
}
/* Back-pressure: no on_data while paused. */
static inline void http_pause(struct http_call *c, bool paused)
{
    c->ops->pause(c, paused);
}
/* Calls still open end without a callback. NULL is fine; always returns NULL. */
static inline struct http *http_free(struct http *h)
{
    if (h)
        h->ops->free(h);
    return NULL;
}
DEFINE_CLEANUP(http_free, struct http *)

/* ---- the client over sockets (or memory) ----------------------------------------------------- */

struct loop;
struct tls_ctx;
struct stream;
struct dial_opts;
/* How to reach the server; replaced in tests on the virtual loop. Same contract as stream_dial().
 */
typedef void (*http_dialed_fn)(void *arg, struct stream *s, const struct kerr *err);
typedef void (*http_dial_fn)(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg);

struct http_client_opts {
    const char *host; /* of the origin: where to connect and the Host header */
    uint16_t port;
    const char *unix_path;   /* instead of TCP */
    struct tls_ctx *tls;     /* NULL: plain http; the client takes a reference */
    const char *server_name; /* TLS name when it differs from host */
    const char *proxy_host;
    uint16_t proxy_port;
    const char *proxy_auth;
    bool h2_prior_knowledge; /* plain-text HTTP/2 */
    unsigned max_conns; /* HTTP/1.1: connections at the same time (0: 6); waiting calls queue */
    unsigned
        max_streams; /* HTTP/2: calls in flight on the one connection (0: what the peer allows) */
    nsec_t connect_timeout; /* 0: 30 s */
    nsec_t idle_close;      /* an unused connection is closed after this (0: 90 s) */
    nsec_t ping_interval; /* HTTP/2: silence before a PING (0: 30 s); no answer in 15 s breaks it */
    const char *user_agent;
    bool no_gzip;
    http_dial_fn dial; /* NULL: stream_dial() */
    void *dial_arg;
};
struct http *http_client_new(struct loop *l, const struct http_client_opts *o);
/* New connections use this context (rotated client certificate or CA); old ones finish. */
void http_client_set_tls(struct http *h, struct tls_ctx *tls);
struct http_client_stats {
    uint64_t dials, requests, bytes_in, bytes_out;
    unsigned open_conns, in_flight, waiting;
};
struct http_client_stats http_client_stats(const struct http *h);

/* ---- faults ---------------------------------------------------------------------------------- */

/* Wraps another transport (which stays the caller's) and spoils a share of the calls, drawn from
 * loop_rand. Probabilities in 1/1000 per call, cut: per chunk of data. */
struct http_faults {
    unsigned refuse;      /* on_end(-ECONNREFUSED), never sent */
    unsigned lose_answer; /* sent and carried out, but the answer is lost: -ECONNRESET */
    unsigned reset;       /* broken at a random byte of the body: -ECONNRESET */
    unsigned status_500, status_503, status_429; /* answered without reaching the server */
    unsigned slow;                               /* delayed by up to slow_max */
    nsec_t slow_max;
};
struct http *http_fault_new(struct loop *l, struct http *inner, const struct http_faults *f);
void http_fault_set(struct http *h, const struct http_faults *f);
#endif
