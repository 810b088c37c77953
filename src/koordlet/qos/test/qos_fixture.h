/* qos_fixture.h - what the tests of strategies share: pods, nodes and NodeSLOs from JSON. */
#ifndef KOORD_KOORDLET_QOS_TEST_QOS_FIXTURE_H
#define KOORD_KOORDLET_QOS_TEST_QOS_FIXTURE_H
#include "api/test/object_fixture.h"

#include "koordlet/report/test/report_fixture.h"
#include "koordlet/states/nodeslo.h"
#include "koordlet/states/snapshot.h"

#define MI (INT64_C(1) << 20)

/* A part of NodeSLO, without defaults. */
static inline UNUSED void slo_part(struct object_fixture *b, const struct kschema *s,
                                   const char *quoted, void *ret)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    struct kerr err = { 0 };

    if (kj_decode(s, kj_root(doc), 0, b->arena, ret, &err) < 0)
        fail_msg("%s", err.text);
}

/* A whole NodeSLO over its defaults, as the agent sees it. */
static inline UNUSED const struct nodeslo_spec *slo_of(struct object_fixture *b, const char *quoted)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    struct nodeslo_spec *spec = arena_new0(b->arena, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };

    if (nodeslo_merge(kj_root(doc), NULL, b->arena, spec, why) > 0)
        fail_msg("a part of the NodeSLO is refused: %s", quoted);
    return spec;
}

static inline UNUSED const struct npod *pod_named(const struct podset *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (streq(npod_pod(s->pods[i])->obj.meta.name, name))
            return s->pods[i];
    fail_msg("no pod %s", name);
    return NULL;
}
#endif
