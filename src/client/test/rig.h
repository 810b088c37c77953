/* rig.h - a client on the virtual loop, joined to the fake API server; what most tests begin with.
 */
#ifndef KOORD_CLIENT_TEST_RIG_H
#define KOORD_CLIENT_TEST_RIG_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/klog.h"
#include "client/kube.h"
#include "client/test/fakeapi.h"
#include "loop/loop.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)
#define PODS  "/api/v1/namespaces/ns/pods"

struct rig {
    struct loop *loop;
    struct intern *strings;
    struct fakeapi *fake;
    struct http *http, *faulty;
    struct kube *kube;
};

static inline void rig_quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static inline void rig_init(struct rig *r, uint64_t seed)
{
    klog_set_sink(rig_quiet, NULL);
    r->loop = loop_new_virtual(WALL0, seed);
    r->strings = intern_new();
    r->fake = fake_new(r->loop);
    r->http = fake_client(r->fake);
    r->faulty = http_fault_new(r->loop, r->http, &(struct http_faults){ 0 });
    r->kube = kube_http_over(r->loop, r->strings, r->faulty);
}

static inline void rig_fini(struct rig *r)
{
    kube_free(r->kube);
    http_free(r->faulty);
    http_free(r->http);
    fake_free(r->fake);
    intern_free(r->strings);
    loop_free(r->loop);
}

static inline void rig_run(struct rig *r, nsec_t by)
{
    loop_advance(r->loop, by);
}

static inline UNUSED void rig_fini_p(struct rig *r)
{
    rig_fini(r);
}
#endif
