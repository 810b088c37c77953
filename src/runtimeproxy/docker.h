/* docker.h - Docker mode: requests of Docker's API that hooks may look at (runtime-proxy 7). */
#ifndef KOORD_RUNTIMEPROXY_DOCKER_H
#define KOORD_RUNTIMEPROXY_DOCKER_H
#include "net/h1relay.h"

/* Of struct h1relay_opts; arg is the proxy. */
bool docker_wants(void *arg, const char *method, struct str target);
void docker_request(void *arg, struct h1relay_call *c, const char *method, struct str target,
                    struct str body);
void docker_answer(void *arg, struct h1relay_call *c, int status, struct str body);
void docker_gone(void *arg, struct h1relay_call *c);

/* What a request is about. */
enum docker_verb {
    DOCKER_OTHER,
    DOCKER_CREATE,
    DOCKER_START,
    DOCKER_STOP,
    DOCKER_UPDATE,
    DOCKER_REMOVE
};
/* id: in the target; empty for DOCKER_CREATE and DOCKER_OTHER. */
enum docker_verb docker_verb(const char *method, struct str target, struct str *id);

/* What dockerd runs, at the start: docker_rebuild.c. */
struct docker_rebuild;
struct proxy;
struct docker_rebuild *docker_rebuild_new(struct proxy *p,
                                          void (*done)(void *arg, const struct kerr *err),
                                          void *arg);
struct docker_rebuild *docker_rebuild_free(struct docker_rebuild *r);
#endif
