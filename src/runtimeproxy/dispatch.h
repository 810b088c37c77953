/* dispatch.h - calls to hook servers: clients by socket, made when they are needed
 * (runtime-proxy 3.3). Loop thread only.
 */
#ifndef KOORD_RUNTIMEPROXY_DISPATCH_H
#define KOORD_RUNTIMEPROXY_DISPATCH_H
#include "net/http.h"

struct dispatch;
struct hook_call;
struct loop;

/* dial for tests: dial_arg is the dispatch's, then. */
struct dispatch *dispatch_new(struct loop *l, http_dial_fn dial, void *dial_arg);
/* After all calls have ended or were cancelled. */
struct dispatch *dispatch_free(struct dispatch *d);

/* Exactly once, in a later turn, unless cancelled. why: NULL, or "rpc error: code = Unavailable
 * desc = ..." as grpc-go words it. */
typedef void (*hook_done_fn)(void *arg, const char *why, struct str message);
struct hook_call *dispatch_call(struct dispatch *d, const char *endpoint, const char *method,
                                struct str message, nsec_t timeout, hook_done_fn fn, void *arg);
struct hook_call *hook_call_cancel(struct hook_call *c); /* NULL is fine; always returns NULL */
#endif
