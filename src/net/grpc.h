/* grpc.h - gRPC over HTTP/2: messages as bytes, a status at the end.
 *
 * Both sides: calls to a server, and a server. A request is one message; an answer is any number of
 * them (a stream) and a status. What a message says is its owner's business: see base/wire.h.
 * Messages are not compressed, and we never say that we could. Loop thread only. No event comes
 * from inside a call; a callback may cancel its call, finish its request, or free either side.
 */
#ifndef KOORD_NET_GRPC_H
#define KOORD_NET_GRPC_H
#include "base/strbuf.h"
#include "base/wire.h"
#include "net/http.h"
#include "net/httpd.h"

enum grpc_code { /* the numbers of the wire */
                 GRPC_OK = 0,
                 GRPC_CANCELLED = 1,
                 GRPC_UNKNOWN = 2,
                 GRPC_INVALID_ARGUMENT = 3,
                 GRPC_DEADLINE_EXCEEDED = 4,
                 GRPC_NOT_FOUND = 5,
                 GRPC_ALREADY_EXISTS = 6,
                 GRPC_PERMISSION_DENIED = 7,
                 GRPC_RESOURCE_EXHAUSTED = 8,
                 GRPC_FAILED_PRECONDITION = 9,
                 GRPC_ABORTED = 10,
                 GRPC_OUT_OF_RANGE = 11,
                 GRPC_UNIMPLEMENTED = 12,
                 GRPC_INTERNAL = 13,
                 GRPC_UNAVAILABLE = 14,
                 GRPC_DATA_LOSS = 15,
                 GRPC_UNAUTHENTICATED = 16
};
const char *grpc_code_name(enum grpc_code code); /* "UNAVAILABLE" */

struct grpc_status { /* borrowed: good during the callback */
    enum grpc_code code;
    struct str text; /* for people; {NULL, 0}: none */
    struct http_headers
        metadata; /* what else came behind the messages, binary ones as on the wire */
};

enum { GRPC_MESSAGE_MAX = WIRE_MESSAGE_MAX, GRPC_TEXT_MAX = 1024 };

/* ---- calling --------------------------------------------------------------------------------- */

/* A client for this unix socket, ours to free with http_free(). Each call dials anew while nobody
 * listens. dial as in struct http_client_opts, for tests. */
struct http *grpc_client_new(struct loop *l, const char *unix_path, http_dial_fn dial,
                             void *dial_arg);

struct grpc_call;
struct grpc_call_opts {
    const char *method;           /* "/v1.PodResourcesLister/List" */
    struct str message;           /* copied */
    struct http_headers metadata; /* copied */
    nsec_t timeout;               /* for all of it, told to the server too; 0: none */
    size_t max_message;           /* of the answer; 0: GRPC_MESSAGE_MAX */
};
struct grpc_call_events {
    void (*on_message)(void *arg, struct str message); /* borrowed */
    /* Exactly once, and the last, unless cancelled: the server's status or, when there is none,
     * what went wrong on the way. */
    void (*on_end)(void *arg, const struct grpc_status *st);
};
struct grpc_call *grpc_call_send(struct http *h, const struct grpc_call_opts *o,
                                 const struct grpc_call_events *ev, void *arg);
/* No event follows. NULL is fine; always returns NULL. To be done before the client is freed. */
struct grpc_call *grpc_call_cancel(struct grpc_call *c);
/* Back-pressure; messages that are here already still come. */
void grpc_call_pause(struct grpc_call *c, bool paused);

/* ---- serving --------------------------------------------------------------------------------- */

struct grpc_server;
struct grpc_req;
struct grpc_server_opts {
    size_t max_message;  /* of a request; 0: GRPC_MESSAGE_MAX */
    size_t max_buffered; /* of all requests that are coming in; 0: 4 times that */
};
/* A request is complete. It is answered with any number of grpc_send() and one grpc_finish(), now
 * or later, and gone after that or on_close. method and message are good during the call. */
typedef void (*grpc_fn)(void *arg, struct grpc_req *r, const char *method, struct str message);
struct grpc_server *grpc_server_new(struct loop *l, const struct grpc_server_opts *o, grpc_fn fn,
                                    void *arg);
struct grpc_server *grpc_server_free(struct grpc_server *s); /* requests get on_close */
DEFINE_CLEANUP(grpc_server_free, struct grpc_server *)
struct httpd *grpc_server_httpd(struct grpc_server *s); /* to listen, and to stop in peace */

struct grpc_req_events { /* members may be NULL */
    void (*on_drain)(void *arg);
    void (*on_close)(void *arg); /* the caller cancelled or went away, or the server is freed */
};
void grpc_set_events(struct grpc_req *r, const struct grpc_req_events *ev, void *arg);
/* How long the caller waits from the request on; 0: it did not say. */
nsec_t grpc_timeout(const struct grpc_req *r);
/* The caller's own headers in turn, without those of the protocol: false behind the last. */
bool grpc_metadata_at(const struct grpc_req *r, size_t i, struct http_header *ret);
void grpc_send(struct grpc_req *r, struct str message);
size_t grpc_queued(const struct grpc_req *r); /* bytes waiting; see httpd_queued() */
void grpc_finish(struct grpc_req *r, const struct grpc_status *st);
/* The same with a text of one's own. */
void grpc_fail(struct grpc_req *r, enum grpc_code code, const char *fmt, ...) PRINTF(3, 4);

/* ---- passing on ------------------------------------------------------------------------------ */

/* Changes a message of the answer: 0 with the new one in out, 1 to pass it on as it is, or negative
 * with err: the caller gets INTERNAL. */
typedef int (*grpc_edit_fn)(void *arg, struct str message, struct strbuf *out, struct kerr *err);
struct grpc_relay_opts {
    struct http *to; /* from grpc_client_new(); stays while requests are under way */
    const char *method;
    struct str message;
    nsec_t timeout;    /* the caller's is taken when it is less; 0: only the caller's */
    grpc_edit_fn edit; /* NULL: bytes as they are */
    void *arg;
    /* How it ended, before the caller hears of it; not called when the caller went away. May be
     * NULL. */
    void (*on_end)(void *arg, const struct grpc_status *st);
};
/* Takes the request over: its message and metadata go to the other server; messages, status and
 * trailing metadata come back as they arrive. A caller that gives up cancels the other call. */
void grpc_relay(struct grpc_req *r, const struct grpc_relay_opts *o);

/* ---- framing, for the files of this and for tests -------------------------------------------- */

struct grpc_reader { /* cuts messages out of a stream */
    struct strbuf buf;
    size_t max;
};
/* fn for each whole message; it returns false to stop, for good. 0;
 * -EMSGSIZE: a message is too large, told by its head; -EOPNOTSUPP: it is compressed. */
typedef bool (*grpc_message_fn)(void *arg, struct str message);
int grpc_reader_feed(struct grpc_reader *r, const char *p, size_t n, grpc_message_fn fn, void *arg,
                     struct kerr *err);
void grpc_frame_head(size_t n, char out[5]);
/* grpc-message: percent-encoded, cut to GRPC_TEXT_MAX. */
void grpc_text_encode(struct str text, struct strbuf *out);
void grpc_text_decode(struct str text, struct strbuf *out);
/* grpc-timeout: "1500m". Parse: 0 for what is none. */
void grpc_timeout_format(nsec_t t, char out[16]);
nsec_t grpc_timeout_parse(struct str text);
#endif
