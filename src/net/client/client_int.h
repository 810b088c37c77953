/* client_int.h - inside the HTTP client.
 *
 * client.c       the pool: connections, waiting calls, who goes where
 * client_call.c  one call: its copy of the request, its timer, delivery to the handler
 * client_h1.c    HTTP/1.1 on one connection          client_h2.c  HTTP/2 on one connection
 *
 * A handler may cancel its call or free the client from inside any callback. So calls, connections
 * and the client are counted: whoever runs callbacks holds a reference and afterwards looks at
 * `dead` or `closed` before it goes on.
 */
#ifndef KOORD_NET_CLIENT_INT_H
#define KOORD_NET_CLIENT_INT_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/stream.h"
#include "net/tls.h"

enum {
    HEAD_MAX_BYTES = 64 * 1024, /* of a response */
    HEAD_MAX_COUNT = 200,
    CALL_TRIES = 3, /* attempts on new connections when the request provably was not handled */
};

struct link {
    struct link *prev, *next;
};
static inline void link_init(struct link *i)
{
    i->prev = i->next = i;
}
static inline bool link_empty(const struct link *head)
{
    return head->next == head;
}
static inline void link_add(struct link *head, struct link *i) /* at the end */
{
    i->prev = head->prev;
    i->next = head;
    head->prev->next = i;
    head->prev = i;
}
static inline void link_add_first(struct link *head, struct link *i)
{
    link_add(head->next, i);
}
static inline void link_del(struct link *i)
{
    i->prev->next = i->next;
    i->next->prev = i->prev;
    link_init(i);
}

enum proto { PROTO_UNKNOWN, PROTO_H1, PROTO_H2 };

struct client {
    struct http http;
    struct loop *loop;
    unsigned refs;
    bool freed;
    bool failing; /* waiting calls are being told of a failed dial: start nothing for them */
    char *host, *authority, *server_name, *unix_path, *proxy_host, *proxy_auth, *user_agent;
    uint16_t port, proxy_port;
    struct tls_ctx *tls;
    bool h2_prior_knowledge, no_gzip;
    unsigned max_conns, max_streams;
    nsec_t connect_timeout, idle_close, ping_interval;
    http_dial_fn dial;
    void *dial_arg;

    enum proto proto;    /* what the server spoke last */
    struct link conns;   /* all, those being dialled too */
    struct link waiting; /* calls without a connection, in order */
    struct link loose;   /* calls whose answer has arrived but is held back by a pause */
    uint64_t next_seq;
    struct http_client_stats stats; /* open_conns, in_flight and waiting are kept here too */
};

struct conn;
struct call;

struct conn_proto {
    void (*init)(struct conn *c);
    bool (*can_take)(const struct conn *c);
    void (*start)(struct conn *c, struct call *call); /* the call is linked already */
    /* The call has ended for its owner: stop its exchange. It is unlinked before. */
    void (*drop)(struct conn *c, struct call *call);
    void (*pause)(struct conn *c, struct call *call, bool paused);
    void (*consumed)(struct conn *c, struct call *call, size_t n); /* body bytes taken; or NULL */
    void (*on_data)(struct conn *c, const char *p, size_t n);
    void (*on_drain)(struct conn *c);
    void (*on_close)(struct conn *c, const struct kerr *err);
    void (*bye)(struct conn *c); /* before an orderly close; may be NULL */
    void (*fini)(struct conn *c);
};
extern const struct conn_proto conn_h1, conn_h2;

struct conn {
    struct link link;  /* in client->conns */
    struct client *cl; /* holds a reference */
    unsigned refs;
    struct stream *stream; /* NULL while dialling and after the close */
    struct dial *dial;
    struct tls_ctx *tls; /* the dial's */
    const struct conn_proto *proto;
    void *state; /* of proto */
    struct link calls;
    unsigned n_calls;
    bool closed, draining;
    bool used; /* carried a call before */
    struct timer *idle_timer;
    nsec_t idle_since;
};

/* The names and values of one head, packed; they never interleave on a connection. */
struct head_item {
    uint32_t name, name_n, value, value_n;
};
struct headbuf {
    struct strbuf text;
    struct vec_of(struct head_item) items;
};

struct call {
    struct http_call http;
    struct link link;  /* in client->waiting, conn->calls or client->loose */
    struct client *cl; /* holds a reference */
    struct conn *conn; /* not NULL: in conn->calls */
    unsigned refs;
    uint64_t seq;
    struct http_handler on;
    void *arg;
    nsec_t deadline, idle_timeout, last_activity; /* deadline 0: none */
    nsec_t timeout;
    struct timer *timer, *later;
    uint64_t max_body, got_body;

    bool dead;       /* no callback may follow */
    bool maybe_sent; /* bytes of the request may have reached a handler */
    bool got_bytes;  /* of an answer to the present attempt */
    bool got_head;   /* on_headers was called */
    bool complete;   /* the answer is complete, but held back */
    bool paused, delivering, gunzip_more;
    bool is_head, is_safe, has_body, want_gzip;
    unsigned tries;
    struct gunzip *gunzip;
    struct strbuf held; /* body bytes as they came, while paused */

    int32_t stream_id; /* HTTP/2 */
    size_t body_off;   /* sent so far */

    const char *method, *target; /* all below lies behind the struct, in the same block */
    struct http_header *headers;
    size_t n_headers;
    const char *body;
    size_t body_len;
};

/* client.c */
void client_unref(struct client *cl);
void client_pump(struct client *cl);
void conn_ref(struct conn *c);
void conn_unref(struct conn *c);
/* Ends the connection: calls on it are the caller's business before. */
void conn_close(struct conn *c);
void client_close_idle(struct client *cl);
/* A call left the connection: idle time starts, a draining one ends. */
void conn_released(struct conn *c);
void conn_write(struct conn *c, const void *p, size_t n);
/* Back to the front of the queue for another connection; false when it was tried too often. */
bool call_retry(struct call *call);

/* client_call.c */
struct call *call_new(struct client *cl, const struct http_req *r, const struct http_handler *on,
                      void *arg);
void call_unref(struct call *call);
/* Off its list and connection; the caller holds a reference. */
void call_unlink(struct call *call);
void call_arm(struct call *call);   /* the timer, for what comes first */
void call_touch(struct call *call); /* something came from the server */
void call_headers(struct call *call, int status, const struct headbuf *h);
void call_trailers(struct call *call, const struct headbuf *h);
void call_body(struct call *call, const char *p, size_t n);
/* The answer has arrived; the call is off its connection. */
void call_complete(struct call *call);
/* on_end with an error; takes it off its connection. */
void call_fail(struct call *call, const struct kerr *err, bool sent);
void call_kill(struct call *call); /* without a callback */
void call_pause(struct call *call, bool paused);

int headbuf_name(struct headbuf *h, const char *p, size_t n, bool begin);
int headbuf_value(struct headbuf *h, const char *p, size_t n, bool begin);
void headbuf_reset(struct headbuf *h);
void headbuf_fini(struct headbuf *h);
#endif
