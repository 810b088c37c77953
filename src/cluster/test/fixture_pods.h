/* fixture_pods.h - pods from short texts, as a controller's cache would hold them. */
#ifndef KOORD_CLUSTER_TEST_FIXTURE_PODS_H
#define KOORD_CLUSTER_TEST_FIXTURE_PODS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "cluster/internal.h"

#define NOW (INT64_C(1763200000) * NSEC_PER_SEC)

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    kobjvec pods;
};

static void fixture_init(struct fixture *b)
{
    memset(b, 0, sizeof *b);
    b->strings = intern_new();
    b->scratch = kj_scratch_new(b->strings);
}

static void fixture_fini(struct fixture *b)
{
    vec_foreach(&b->pods, i)
        kobj_unref(b->pods.items[i]);
    vec_fini(&b->pods);
    kj_scratch_free(b->scratch);
    intern_free(b->strings);
}

static void fixture_add(struct fixture *b, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct kobj *o = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(&kind_pod, kj_root(doc), b->scratch, &o, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    vec_push(&b->pods, o);
}
#endif
