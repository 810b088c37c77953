/* httpd_int.h - the inside of the HTTP server, for httpd*.c only.
 *
 * httpd.c      listeners, TLS handshakes, stop
 * httpd_conn.c one connection: life, output, deadlines
 * httpd_req.c  requests: what handlers see, body delivery, answers; the same for both protocols
 * httpd_h1.c, httpd_h2.c   the protocols, behind struct httpd_proto
 *
 * Callbacks into handlers happen only between conn_enter() and conn_leave(). A connection that dies
 * meanwhile is marked dead and freed by the last conn_leave(), so after every callback the code
 * looks at c->dead before it touches anything else. Calls of handlers never call back: they append
 * to c->out (or the stream's buffer) and mark the connection, and conn_flush() does the rest.
 */
#ifndef KOORD_NET_HTTPD_INT_H
#define KOORD_NET_HTTPD_INT_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"

#include <sys/queue.h>

enum {
    HTTPD_MAX_HEADERS = 512, /* fields of one head */
    HTTPD_PUSH = 64 * 1024,  /* gathered output that is handed to the stream before the turn ends */
    HTTPD_INPUT = 64 * 1024, /* unparsed input (pipelined requests, held bodies) before we pause */
    HTTPD_KEEP = 4 * 1024,   /* idle buffers keep no more memory than this */
    HTTPD_POOL = 64,         /* idle request objects kept for reuse */
};

struct gzip;

enum body_use {
    BODY_HELD,   /* nobody asked for it yet: kept back, within bounds */
    BODY_EVENTS, /* on_data */
    BODY_WHOLE,  /* httpd_read_body() */
    BODY_DROP,
};

struct req_header { /* offsets into text, each piece NUL-terminated there */
    uint32_t name, name_len, value, value_len;
};

struct httpd_req {
    struct httpd_conn *c;
    TAILQ_ENTRY(httpd_req) link;      /* c->reqs, or the pool */
    TAILQ_ENTRY(httpd_req) todo_link; /* c->todo */
    bool in_todo;

    /* the request */
    struct strbuf text;
    struct vec_of(struct req_header) headers;
    size_t head_bytes;
    uint32_t method, target; /* offsets */
    struct strbuf body;      /* held or collected */
    uint64_t body_got, body_dropped;
    nsec_t body_due;
    uint8_t use;    /* enum body_use */
    bool expects;   /* waits for "100 continue" */
    bool body_done; /* all of it came */
    bool end_told;  /* and the handler knows */
    bool too_long;  /* the handler is to be told that it is more than max_body */
    bool is_head;   /* the HEAD method */

    /* the handler */
    struct httpd_events ev;
    void *arg;
    httpd_body_fn body_fn;
    void *body_arg;
    bool seen;  /* it was called */
    bool ended; /* it let go, or we took the request from it */

    /* the answer */
    int status; /* 0: none yet */
    bool bare;  /* no body may follow the head */
    bool fin;   /* nothing will follow the head */
    bool has_left;
    bool complete;    /* all of it was handed to the protocol */
    bool skip_length; /* the handler's content-length is not what will be sent */
    bool owes_drain;  /* something was written since on_drain */
    bool drained;     /* and it left: call on_drain */
    bool gz_dirty;    /* the compressor holds bytes of this turn */
    uint64_t left;    /* of the announced content-length */
    struct gzip *gz;
    struct strbuf trailers; /* "name\0value\0" ... */

    /* HTTP/1 */
    bool close, linger, http10, chunked;

    /* HTTP/2 */
    int32_t id;
    bool deferred, too_large, reset_after;
    size_t unconsumed; /* bytes of a held body that the peer's window waits for */
    struct strbuf out; /* answer bytes that flow control keeps back */
    size_t out_off;
    bool late;       /* it took too long, and was told so */
    nsec_t progress; /* when the peer last took some */
};

enum conn_wait { WAIT_NOTHING, WAIT_HEAD, WAIT_IDLE, WAIT_LINGER };
enum conn_state {
    CONN_OPEN,
    CONN_CLOSING, /* answers are complete: send what is queued, then close */
    CONN_LINGER,  /* the same, but the peer is still sending: swallow that for a moment, or the
                     kernel would answer with a reset that destroys our last answer */
};

struct httpd_conn {
    struct httpd *d;
    TAILQ_ENTRY(httpd_conn) link, dirty_link;
    const struct httpd_proto *proto; /* NULL: not known yet */
    struct stream *s;
    char *peer;
    bool loopback;
    size_t preface; /* matching bytes seen */
    struct h1 *h1;
    struct h2 *h2;

    TAILQ_HEAD(, httpd_req) reqs, todo;
    struct strbuf out;
    unsigned busy;
    bool dead, dirty, flushing, shut;
    uint8_t state; /* enum conn_state */
    uint8_t wait;  /* enum conn_wait */
    nsec_t wait_due;
    struct timer *timer;
    nsec_t timer_due;

    bool write_watch; /* the stream has queued bytes: */
    uint64_t written; /* given to it */
    int64_t taken;    /* of these with the kernel, when we last looked */
    nsec_t taken_at;
};

/* What a protocol does. All but `end` of an ended request are called for live ones only. */
struct httpd_proto {
    void (*start)(struct httpd_conn *c);
    void (*input)(struct httpd_conn *c, const char *p, size_t n);
    void (*advance)(struct httpd_conn *c); /* next request, frames to c->out */
    void (*sent)(struct httpd_conn *c);    /* after c->out went to the stream */
    void (*timeout)(struct httpd_conn *c); /* c->wait took too long */
    void (*stop)(struct httpd_conn *c);
    void (*fini)(struct httpd_conn *c);
    void (*head)(struct httpd_req *r, const struct http_header *h, size_t n);
    void (*data)(struct httpd_req *r, const char *p, size_t n);
    void (*end)(struct httpd_req *r);
    void (*abort)(struct httpd_req *r); /* the answer cannot be completed: break it visibly */
    size_t (*queued)(const struct httpd_req *r);
    void (*go_on)(struct httpd_req *r);              /* send 100 continue */
    void (*consumed)(struct httpd_req *r, size_t n); /* body bytes found a home */
};
extern const struct httpd_proto httpd_h1, httpd_h2;

struct httpd_port {
    struct httpd *d;
    struct listener *ls;
    struct tls_ctx *tls; /* NULL: plain */
};
struct httpd_shake { /* a TLS handshake in progress */
    struct httpd *d;
    TAILQ_ENTRY(httpd_shake) link;
    struct tls_shake *shake;
    char *peer;
};

struct httpd {
    struct loop *loop;
    struct httpd_opts o;
    httpd_fn fn;
    void *arg;
    unsigned refs; /* the owner's, one per connection, one while a timer of ours runs */
    struct vec_of(struct httpd_port *) ports;
    TAILQ_HEAD(, httpd_conn) conns, dirty;
    TAILQ_HEAD(, httpd_shake) shakes;
    TAILQ_HEAD(, httpd_req) pool;
    unsigned n_conns, n_shakes, n_pool, n_dirty;
    size_t buffered; /* request bodies in memory */
    struct strbuf scratch;
    struct timer *flush, *stop_timer, *done_timer;
    bool leaving, stopping, freed;
    bool full; /* max_conns is reached, and that is in the log */
    void (*done)(void *arg);
    void *done_arg;
    nsec_t date_at; /* of date[], in whole seconds */
    char date[32];
};

/* httpd.c */
void httpd_unref(struct httpd *d);
void httpd_check_done(struct httpd *d);
const char *httpd_date(struct httpd *d);

/* httpd_conn.c */
void conn_enter(struct httpd_conn *c);
void conn_leave(struct httpd_conn *c);
void conn_mark(struct httpd_conn *c); /* something to flush */
void conn_kill(struct httpd_conn *c); /* requests get on_close; inside conn_enter() only */
void conn_finish(struct httpd_conn *c, bool linger);
void conn_wait(struct httpd_conn *c, enum conn_wait w);
void conn_arm(struct httpd_conn *c, nsec_t due);
void conn_put(struct httpd_conn *c, const void *p, size_t n); /* output of this turn */
void conn_mark_stop(struct httpd_conn *c);

/* httpd_req.c */
struct httpd_req *req_new(struct httpd_conn *c);
void req_free(struct httpd_req *r); /* no callback */
void req_pool_free(struct httpd *d);
const char *req_text(const struct httpd_req *r, uint32_t off);
/* The head is complete: checks it and calls the handler, or refuses. length: announced, 0 if not.
 */
void req_start(struct httpd_req *r, uint64_t length, bool has_body);
void req_body(struct httpd_req *r, const char *p, size_t n);
void req_body_end(struct httpd_req *r);
void req_todo(struct httpd_req *r);  /* queues what req_work() does */
void req_work(struct httpd_req *r);  /* held bodies, on_drain */
void req_close(struct httpd_req *r); /* on_close, if the handler has it */
/* Takes the request from the handler and answers with this error, or breaks the answer begun. */
void req_refuse(struct httpd_req *r, int status);
/* To be sent as it is? Not: what the protocol says itself (connection and friends). */
bool req_sends_header(const struct httpd_req *r, struct str name);
/* Appends with control characters as spaces: text of users cannot smuggle in a header, nor make
 * one that a client refuses. */
void append_clean(struct strbuf *b, struct str s);
/* The trailers one by one, from *at on; false at the end. */
bool req_next_trailer(const struct httpd_req *r, size_t *at, struct http_header *ret);
const char *status_text(int status);
#endif
