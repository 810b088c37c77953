/* h1relay_int.h - the body of h1relay.h, for its files. */
#ifndef KOORD_NET_RELAY_H1RELAY_INT_H
#define KOORD_NET_RELAY_H1RELAY_INT_H
#include <llhttp.h>
#include <sys/queue.h>

#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/h1relay.h"
#include "net/stream.h"

enum {
    H1_HEAD_MAX = 256 * 1024, /* of a request */
    H1_CONNS_MAX = 4096,
};

/* ---- messages: where they end ---------------------------------------------------------------- */

struct h1msg {
    llhttp_t parser;
    struct str target;   /* of a request: in the bytes that its head was fed from */
    bool skips_body;     /* an answer to HEAD */
    bool has_head, done; /* up to its head, its end */
    bool has_body;       /* chunked, or with a length */
    bool expects;        /* "100-continue" */
    bool is_pipe;        /* what follows is another protocol, or lasts until the connection ends */
    struct strbuf *body; /* where the body goes without its framing; NULL: nowhere */
    bool is_large;       /* it has more than H1RELAY_HELD_MAX bytes */
    struct strbuf name, value; /* of the header in progress */
};
void h1msg_fini(struct h1msg *m);
void h1msg_start(struct h1msg *m, bool is_answer);
/* How many bytes belong to it; -1: it is no HTTP. Stops behind its end. */
ssize_t h1msg_feed(struct h1msg *m, const char *p, size_t n);
/* The connection ended: is it complete by that? */
bool h1msg_ends(struct h1msg *m);
static inline int h1msg_status(const struct h1msg *m)
{
    return m->parser.status_code;
}
/* Bytes of the head at the start of p, with the empty line; 0: it is not complete. In the first
 * `scanned` bytes there was no end of it. */
size_t h1_head_length(const char *p, size_t n, size_t scanned);
/* A head for a body of this length: without framing and expectations of its own. */
void h1_head_with_length(struct str head, size_t body, struct strbuf *out);
/* A whole answer. */
void h1_answer(int status, const char *type, struct str body, bool closes, struct strbuf *out);

/* ---- connections ----------------------------------------------------------------------------- */

enum h1_hold {
    HELD_NOT,     /* goes through */
    HELD_REQUEST, /* its request is being collected */
    HELD_SHOWN,   /* somebody looks at it */
    HELD_ANSWER,  /* forwarded: its answer is being collected */
    HELD_DONE     /* somebody looks at the answer */
};
struct h1relay_call {
    enum h1_hold hold;
    void *data;
    struct strbuf head, body;   /* of the request */
    struct strbuf answer, said; /* as it came, and its body */
    struct kerr why;            /* there is no answer */
    const char *method;
    struct str target; /* in the head */
};
struct h1dial { /* may outlive its connection */
    struct h1conn *c;
    struct dial *dial;
};
struct h1conn {
    struct h1relay *r;
    LIST_ENTRY(h1conn) link;
    struct stream *front, *back; /* NULL: gone, or not there yet */
    struct h1dial *dialing;
    struct strbuf in;   /* from the client, not yet used */
    size_t scanned;     /* of it: no end of a head */
    struct strbuf wait; /* for the server, until there is a connection */
    bool is_open;       /* a request is under way */
    bool asked;         /* it is with the server, as a whole */
    bool answered;      /* its answer is complete */
    bool said;          /* a byte of its answer went to the client */
    bool is_pipe;       /* both sides may say what they like */
    bool front_eof, back_eof, back_shut;
    bool front_paused, back_paused;
    bool dead; /* freed when nobody is in it any more */
    unsigned busy;
    struct h1msg request, reply;
    struct h1relay_call call;
};
struct h1relay {
    struct h1relay_opts o;
    char *path;
    LIST_HEAD(, h1conn) conns;
    struct h1relay_stats stats;
    bool draining;
    void (*drained)(void *arg);
    void *drained_arg;
    struct timer *drained_timer;
};

struct h1conn *h1conn_new(struct h1relay *r, struct stream *s);
void h1conn_free(struct h1conn *c);
/* Around everything that happens to a connection: looks at what can go on, and frees it. */
void h1conn_enter(struct h1conn *c);
void h1conn_leave(struct h1conn *c);
void h1conn_to_back(struct h1conn *c, const void *p, size_t n);
/* What is held is let go, and the connection is free for the next request. */
void h1conn_end_exchange(struct h1conn *c);
/* A last answer of our own, unless the client has one already; then the connection ends. */
void h1conn_fail(struct h1conn *c, int status, const char *text);
/* h1relay.c */
void h1relay_check_drained(struct h1relay *r);
#endif
