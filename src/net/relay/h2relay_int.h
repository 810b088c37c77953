/* h2relay_int.h - the body of h2relay.h, for its files. */
#ifndef KOORD_NET_RELAY_H2RELAY_INT_H
#define KOORD_NET_RELAY_H2RELAY_INT_H
#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "loop/loop.h"
#include "net/h2relay.h"
#include "net/stream.h"

enum {
    RELAY_STREAM_WINDOW = 256 * 1024,
    RELAY_CONN_WINDOW = 1024 * 1024,
    RELAY_STREAMS_MAX = 4096, /* of one client */
    RELAY_HEADERS_MAX = 256 * 1024,
};

/* ---- headers --------------------------------------------------------------------------------- */

struct relay_header {
    uint32_t name, nname, value, nvalue; /* where in the bytes */
    uint8_t flags;                       /* never indexed stays so */
};
struct relay_headers {
    struct strbuf bytes;
    struct vec_of(struct relay_header) items;
};
void relay_headers_fini(struct relay_headers *h);
/* false: they are too large. */
bool relay_headers_add(struct relay_headers *h, struct str name, struct str value, uint8_t flags);
struct str relay_headers_get(const struct relay_headers *h, const char *name);
void relay_headers_set(struct relay_headers *h, const char *name, struct str value);
void relay_headers_remove(struct relay_headers *h, const char *name);
/* For nghttp2; from malloc. */
nghttp2_nv *relay_headers_nv(const struct relay_headers *h);

/* ---- calls ----------------------------------------------------------------------------------- */

struct relay_pipe { /* bytes on their way to one side */
    struct strbuf buf;
    size_t off; /* before it they are gone */
    bool eof;   /* the sender has said its last */
    bool idle;  /* the receiving session waits for more */
    bool has_trailers;
    struct relay_headers trailers;
};

enum relay_hold {
    HOLD_NONE,    /* goes through */
    HOLD_REQUEST, /* its request is being collected */
    HOLD_SHOWN,   /* somebody looks at it */
    HOLD_ANSWER,  /* forwarded: its answer is being collected */
    HOLD_DONE     /* somebody looks at the answer */
};

struct h2relay_call {
    struct h2relay *r;
    TAILQ_ENTRY(h2relay_call) link;  /* of r->calls */
    struct relay_conn *front, *back; /* NULL: closed, or not there yet */
    int32_t front_id, back_id;
    struct relay_pipe up, down; /* to the server, to the client */
    struct relay_headers request, response;
    bool headers_sent; /* to the client */
    bool final_seen;   /* response headers that are no 1xx */
    bool waiting;      /* for a connection to the server */
    enum relay_hold hold;
    bool was_held;   /* what came was taken from the windows at once */
    nsec_t deadline; /* monotonic; 0: none */
    struct timer *timer;
    void *data;
};

struct relay_conn {
    struct h2relay *r;
    LIST_ENTRY(relay_conn) link;
    struct stream *stream;
    nghttp2_session *ng;
    bool is_back;
    bool dirty;     /* has something to send */
    bool dead;      /* to be freed at the end of the event */
    bool going;     /* takes no new calls */
    bool owes_pong; /* the answer to a PING waits for other frames to leave with */
    uint8_t pong[8];
    struct timer *pong_timer; /* but not for long */
    unsigned calls;
    struct kerr why;
};

struct h2relay {
    struct h2relay_opts o;
    char *path;
    LIST_HEAD(, relay_conn) conns;
    struct relay_conn *back; /* for new calls; NULL: to be made */
    TAILQ_HEAD(, h2relay_call) calls;
    struct relay_dial *dialing; /* NULL: nobody is dialled */
    unsigned busy;              /* depth of events */
    bool draining, refused;
    struct timer *drained_timer;
    void (*drained)(void *arg);
    void *drained_arg;
    struct h2relay_stats stats;
};

/* Around everything that may send or close. */
void relay_enter(struct h2relay *r);
void relay_leave(struct h2relay *r);

/* h2relay_conn.c */
struct relay_conn *relay_conn_new(struct h2relay *r, struct stream *s, bool is_back);
void relay_conn_flush(struct relay_conn *c);
void relay_conn_free(struct relay_conn *c);

/* h2relay_call.c: what sessions tell of */
struct h2relay_call *relay_call_new(struct relay_conn *front, int32_t id);
void relay_call_headers(struct h2relay_call *c, bool end_stream); /* request, complete */
void relay_call_data(struct h2relay_call *c, bool from_back, const char *p, size_t n);
void relay_call_eof(struct h2relay_call *c, bool from_back);
void relay_call_response(struct h2relay_call *c, bool end_stream);
void relay_call_closed(struct h2relay_call *c, bool is_back, uint32_t code);
void relay_call_ended(struct h2relay_call *c); /* END_STREAM has left to the client */
void relay_call_fail(struct h2relay_call *c, enum grpc_code code, const char *text);
void relay_call_to_back(struct h2relay_call *c); /* there is a connection */
void relay_call_free(struct h2relay_call *c);
void relay_call_gone(struct h2relay_call *c); /* whoever looks at it hears of it */
#endif
