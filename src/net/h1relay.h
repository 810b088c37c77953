/* h1relay.h - HTTP/1.1 connections of many clients carried to one server, as they are.
 *
 * Each client has a connection of its own to the server. Requests and answers go through byte for
 * byte as they come, bodies of any length and framing too, and who does not read holds back who
 * writes. Once the server switches protocols (101), or answers with a body that only the end of the
 * connection ends, the connection is a pipe, and both of its directions end on their own: Docker's
 * attach and exec. Requests that somebody wants to look at are held: whole when they are shown, and
 * they may be changed or refused; so is their answer.
 *
 * Loop thread only. Callbacks may end the call that they are about, and may not free the relay.
 */
#ifndef KOORD_NET_H1RELAY_H
#define KOORD_NET_H1RELAY_H
#include "net/http.h"

struct h1relay;
struct h1relay_call; /* one that is held */

struct h1relay_opts { /* functions may be NULL when nothing is held */
    struct loop *loop;
    const char *unix_path; /* of the server */
    http_dial_fn dial;     /* in place of it, for tests */
    void *dial_arg;
    /* Is this request to be held? target: "/v1.41/containers/create?name=web", as it was sent. */
    bool (*wants)(void *arg, const char *method, struct str target);
    /* Ends with h1relay_forward() or h1relay_refuse(), now or later. Method, target and body (its
     * framing undone) are good until then. */
    void (*on_request)(void *arg, struct h1relay_call *c, const char *method, struct str target,
                       struct str body);
    /* What the server answered; status 0: it did not. Ends with h1relay_release(), now or later;
     * the body is good until then. Also when the client is gone meanwhile. */
    void (*on_answer)(void *arg, struct h1relay_call *c, int status, struct str body);
    /* The client went away before the request was forwarded, or the relay is freed: the call is
     * gone after this. */
    void (*on_gone)(void *arg, struct h1relay_call *c);
    void *arg;
};
enum { H1RELAY_HELD_MAX = 16 << 20 /* bytes of a request or an answer that is held */ };

struct h1relay *h1relay_new(const struct h1relay_opts *o);
struct h1relay *h1relay_free(struct h1relay *r); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(h1relay_free, struct h1relay *)

/* A client's connection; takes the stream over. */
void h1relay_serve(struct h1relay *r, struct stream *s);
/* No further requests are taken; done when none is under way, or at once. */
void h1relay_drain(struct h1relay *r, void (*done)(void *arg), void *arg);

struct h1relay_stats {
    uint64_t calls; /* since the start */
    unsigned clients, open;
    bool refused; /* the last attempt to reach the server failed */
};
struct h1relay_stats h1relay_stats(const struct h1relay *r);

/* ---- held calls ------------------------------------------------------------------------------ */

void h1relay_call_set(struct h1relay_call *c, void *data); /* of the holder's own */
void *h1relay_call_get(const struct h1relay_call *c);
/* body {NULL, 0}: as it came. */
void h1relay_forward(struct h1relay_call *c, struct str body);
/* The server is not asked, and this is the answer. The call is gone after this. */
void h1relay_refuse(struct h1relay_call *c, int status, const char *type, struct str body);
/* The client gets the answer as the server gave it; the call is gone after this. */
void h1relay_release(struct h1relay_call *c);
#endif
