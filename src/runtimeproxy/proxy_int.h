/* proxy_int.h - the proxy's body, for its files. */
#ifndef KOORD_RUNTIMEPROXY_PROXY_INT_H
#define KOORD_RUNTIMEPROXY_PROXY_INT_H
#include "component/metrics.h"
#include "net/h1relay.h"
#include "net/h2relay.h"
#include "runtimeproxy/dispatch.h"
#include "runtimeproxy/hookconfig.h"
#include "runtimeproxy/merge.h"
#include "runtimeproxy/proxy.h"
#include "runtimeproxy/store.h"

struct docker_rebuild;
struct rebuild;

struct proxy {
    struct proxy_opts o;
    struct hookconfigs *configs;
    struct dispatch *dispatch;
    struct podstore *store;
    struct h2relay *relay;   /* of CRI */
    struct h1relay *docker;  /* or of Docker's API */
    bool has_systemd;        /* Docker: cgroups are slices */
    struct rebuild *rebuild; /* NULL: done */
    struct docker_rebuild *docker_rebuild;
    struct metric *calls, *hooks, *changed; /* NULL: nobody counts */
    void (*started)(void *arg, const struct kerr *err);
    void *started_arg;
    void (*drained)(void *arg);
    void *drained_arg;
};

/* cri.c: calls of CRI that are shown to hook servers */
bool cri_wants(void *arg, struct str path);
void cri_request(void *arg, struct h2relay_call *c, struct str path, struct str message);
void cri_answer(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message);
void cri_gone(void *arg, struct h2relay_call *c);

/* rebuild.c: what the runtime runs, at the start */
struct rebuild *rebuild_new(struct proxy *p, void (*done)(void *arg, const struct kerr *err),
                            void *arg);
struct rebuild *rebuild_free(struct rebuild *r);
#endif
