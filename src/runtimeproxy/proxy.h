/* proxy.h - koord-runtime-proxy as a library: CRI calls between kubelet and runtime, with hooks
 * (runtime-proxy 1, 4), or requests of Docker's API in their place (7).
 *
 * Everything is relayed as it is but the calls that start, change and stop pods and containers:
 * those are shown to a hook server first. A hook server that is away or does not answer in two
 * seconds is passed over, unless its configuration says Fail. Loop thread only.
 */
#ifndef KOORD_RUNTIMEPROXY_PROXY_H
#define KOORD_RUNTIMEPROXY_PROXY_H
#include "net/http.h"

struct loop;
struct metrics;
struct proxy;
struct stream;

struct proxy_opts {
    struct loop *loop;
    const char *backend;               /* the runtime's socket */
    bool is_docker;                    /* it speaks Docker's API, not CRI */
    const char *config_dir;            /* of hook servers */
    const char *checkpoint;            /* file; NULL: none */
    const char *skip_key, *skip_value; /* label of pods that are never hooked */
    struct metrics *metrics;           /* NULL: none */
    http_dial_fn dial;                 /* to the runtime, for tests */
    http_dial_fn hook_dial;            /* to hook servers, for tests */
    void *dial_arg;                    /* of both */
};
struct proxy *proxy_new(const struct proxy_opts *o);
struct proxy *proxy_free(struct proxy *p);
DEFINE_CLEANUP(proxy_free, struct proxy *)
/* Asks the runtime what it is and what it runs, then calls done: NULL, or why it cannot
 * work. -errno at once when the directory of hook servers cannot be used. */
int proxy_start(struct proxy *p, void (*done)(void *arg, const struct kerr *err), void *arg,
                struct kerr *err);
/* A kubelet's connection. */
void proxy_serve(struct proxy *p, struct stream *s);
/* No new calls; those that are under way end, then what is known is written, and done called. */
void proxy_drain(struct proxy *p, void (*done)(void *arg), void *arg);
/* 0, or why the runtime is not reachable. */
int proxy_check(const struct proxy *p, struct kerr *err);
#endif
