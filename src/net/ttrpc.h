/* ttrpc.h - ttrpc, the RPC of containerd's plugins: unary calls both ways (runtime-proxy 6.3).
 *
 * A core without I/O: bytes in, and whole messages to send. One object is one connection; it
 * may call, serve, or both. Calls in flight are bounded by their time-outs, messages by 4 MiB. Loop
 * thread only.
 */
#ifndef KOORD_NET_TTRPC_H
#define KOORD_NET_TTRPC_H
#include "base/wire.h"
#include "net/grpc.h" /* the codes of a status */

enum { TTRPC_HEAD = 10, TTRPC_DATA_MAX = 4 << 20 };

struct loop;
struct ttrpc;

struct ttrpc_request { /* borrowed */
    uint32_t stream;   /* to answer it; nothing for a call of our own */
    struct str service, method, payload;
    nsec_t timeout; /* 0: none */
};
struct ttrpc_opts {
    struct loop *loop;
    void (*send)(void *arg, struct str message); /* header and data, to be sent as a whole */
    /* Answered by ttrpc_reply() or ttrpc_fail(), now or later. NULL: nothing is served. May not
     * free the connection. */
    void (*serve)(void *arg, const struct ttrpc_request *r);
    void *arg;
};
struct ttrpc *ttrpc_new(const struct ttrpc_opts *o);
/* Calls that are open end without a callback. NULL is fine; always returns NULL. */
struct ttrpc *ttrpc_free(struct ttrpc *t);
DEFINE_CLEANUP(ttrpc_free, struct ttrpc *)

void ttrpc_feed(struct ttrpc *t, const char *p, size_t n);

/* ---- serving --------------------------------------------------------------------------------- */

void ttrpc_reply(struct ttrpc *t, uint32_t stream, struct str payload);
void ttrpc_fail(struct ttrpc *t, uint32_t stream, enum grpc_code code, const char *fmt, ...)
    PRINTF(4, 5);

/* ---- calling --------------------------------------------------------------------------------- */

/* Exactly once, unless the connection is freed: payload when code is GRPC_OK, else the text. It
 * may not free the connection. */
typedef void (*ttrpc_done_fn)(void *arg, enum grpc_code code, struct str text, struct str payload);
void ttrpc_call(struct ttrpc *t, const struct ttrpc_request *r, ttrpc_done_fn fn, void *arg);
#endif
