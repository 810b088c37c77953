/* fixture.h - controllers on the virtual loop, over the fake API server. */
#ifndef KOORD_CONTROLLERS_TEST_FIXTURE_H
#define KOORD_CONTROLLERS_TEST_FIXTURE_H
#include "api/node.h"
#include "api/pod.h"
#include "client/test/client_fixture.h"
#include "controllers/controller.h"

#define NODES "/api/v1/nodes"

struct fixture {
    struct client_fixture r;
    struct caches *caches;
    struct controllers *controllers;
};

static inline void fixture_init(struct fixture *f, uint64_t seed)
{
    client_fixture_init(&f->r, seed);
    f->caches = caches_new(f->r.kube);
    f->controllers = controllers_new(
        &(struct controller_env){ .loop = f->r.loop, .kube = f->r.kube, .caches = f->caches });
}

static inline void fixture_fini(struct fixture *f)
{
    controllers_free(f->controllers);
    caches_free(f->caches);
    client_fixture_fini(&f->r);
}

static inline UNUSED void fixture_fini_p(struct fixture *f)
{
    fixture_fini(f);
}
#endif
