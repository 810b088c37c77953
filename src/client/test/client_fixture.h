/* client_fixture.h - a client on the virtual loop, joined to the fake API server; what most tests
 * begin with.
 */
#ifndef KOORD_CLIENT_TEST_CLIENT_FIXTURE_H
#define KOORD_CLIENT_TEST_CLIENT_FIXTURE_H
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

struct client_fixture {
    struct loop *loop;
    struct intern *strings;
    struct fakeapi *fake;
    struct http *http, *faulty;
    struct kube *kube;
};

static inline void client_fixture_quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static inline void client_fixture_init(struct client_fixture *r, uint64_t seed)
{
    klog_set_sink(client_fixture_quiet, NULL);
    r->loop = loop_new_virtual(WALL0, seed);
    r->strings = intern_new();
    r->fake = fake_new(r->loop);
    r->http = fake_client(r->fake);
    r->faulty = http_fault_new(r->loop, r->http, &(struct http_faults){ 0 });
    r->kube = kube_http_over(r->loop, r->strings, r->faulty);
}

static inline void client_fixture_fini(struct client_fixture *r)
{
    kube_free(r->kube);
    http_free(r->faulty);
    http_free(r->http);
    fake_free(r->fake);
    intern_free(r->strings);
    loop_free(r->loop);
}

static inline void client_fixture_run(struct client_fixture *r, nsec_t by)
{
    loop_advance(r->loop, by);
}

static inline UNUSED void client_fixture_fini_p(struct client_fixture *r)
{
    client_fixture_fini(r);
}
#endif
