/* h2relay.h - gRPC calls of many clients carried to one server over HTTP/2, as they are.
 *
 * Of any shape: headers, messages (compressed ones too), half-closes, trailers, resets with their
 * codes and deadlines go through in both directions as they come, and the sender gets window back
 * only as the other side drains. Calls that somebody wants to look at are held: their request is
 * whole when it is shown, and may be changed or refused; so is their answer.
 *
 * One connection to the server carries all calls; it is made when the first one comes and again
 * after it was lost, and no PING is ever sent on it. Loop thread only. Callbacks may end the call
 * that they are about, and may not free the relay.
 */
#ifndef KOORD_NET_H2RELAY_H
#define KOORD_NET_H2RELAY_H
#include "net/grpc.h"

struct h2relay;
struct h2relay_call; /* one that is held */
struct stream;

struct h2relay_opts { /* functions may be NULL when nothing is held */
    struct loop *loop;
    const char *unix_path; /* of the server */
    http_dial_fn dial;     /* in place of it, for tests */
    void *dial_arg;
    /* Is this call to be held? path: "/runtime.v1.RuntimeService/CreateContainer". */
    bool (*wants)(void *arg, struct str path);
    /* Ends with h2relay_forward() or h2relay_refuse(), now or later. message: the one message of
     * the request, {NULL, 0} when it is none that we can read (compressed, none, several); good
     * until the call is forwarded. */
    void (*on_request)(void *arg, struct h2relay_call *c, struct str path, struct str message);
    /* What the server answered, or why it did not; ends with h2relay_release(), now or later. The
     * message is the first of the answer, and good until then. */
    void (*on_answer)(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message);
    /* The caller went away or its time is over: the call is gone after this. */
    void (*on_gone)(void *arg, struct h2relay_call *c);
    void *arg;
};
enum { H2RELAY_HELD_MAX = GRPC_MESSAGE_MAX /* bytes of a request or an answer */ };

struct h2relay *h2relay_new(const struct h2relay_opts *o);
/* Connections are closed; of calls that are shown on_gone tells. NULL is fine; always returns NULL.
 */
struct h2relay *h2relay_free(struct h2relay *r);
DEFINE_CLEANUP(h2relay_free, struct h2relay *)

/* A client's connection; takes the stream over. */
void h2relay_serve(struct h2relay *r, struct stream *s);
/* No further calls are taken; done when none is left, or at once. */
void h2relay_drain(struct h2relay *r, void (*done)(void *arg), void *arg);

struct h2relay_stats {
    uint64_t calls; /* since the start */
    unsigned clients, open;
    bool connected; /* to the server */
    bool refused;   /* the last attempt to reach it failed */
};
struct h2relay_stats h2relay_stats(const struct h2relay *r);

/* ---- held calls ------------------------------------------------------------------------------ */

void h2relay_call_set(struct h2relay_call *c, void *data); /* of the holder's own */
void *h2relay_call_get(const struct h2relay_call *c);
nsec_t h2relay_call_left(const struct h2relay_call *c); /* until its deadline; 0: it has none */
/* message {NULL, 0}: the request as it came. */
void h2relay_forward(struct h2relay_call *c, struct str message);
/* The server is not asked; the call is gone after this. */
void h2relay_refuse(struct h2relay_call *c, enum grpc_code code, const char *text);
/* The caller gets the answer as the server gave it; the call is gone after this. */
void h2relay_release(struct h2relay_call *c);
#endif
