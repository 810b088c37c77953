/* fixture.h - objects and configuration for tests of the calculations, made from JSON text. */
#ifndef KOORD_MANAGER_TEST_FIXTURE_H
#define KOORD_MANAGER_TEST_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "manager/noderesource/nr.h"
#include "json/kj.h"

struct fixture {
    struct arena *arena;
    struct intern *strings;
    struct kj_scratch *scratch;
    struct sloconfig *config;
    struct vec_of(struct kobj *) objects;
    struct vec_of(const struct nr_pod *) pods;
    struct nr_input in;
};

static inline void fixture_init(struct fixture *f)
{
    *f = (struct fixture){ .arena = arena_new(),
                           .strings = intern_new(),
                           .config = sloconfig_new() };
    f->scratch = kj_scratch_new(f->strings);
    f->in.config = f->config;
    f->in.plugins = NR_ALL_PLUGINS;
    ktime_parse("2026-01-01T12:00:00Z", 20, &f->in.now, NULL);
}

static inline void fixture_fini(struct fixture *f)
{
    vec_foreach(&f->objects, i)
        kobj_unref(f->objects.items[i]);
    vec_fini(&f->objects);
    vec_fini(&f->pods);
    f->config = sloconfig_free(f->config);
    f->scratch = kj_scratch_free(f->scratch);
    f->strings = intern_free(f->strings);
    f->arena = arena_free(f->arena);
}
static inline UNUSED void fixture_fini_p(struct fixture *f)
{
    fixture_fini(f);
}

/* The object lives as long as the fixture. */
static inline struct kobj *fixture_object(struct fixture *f, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), f->scratch, &o, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    vec_push(&f->objects, o);
    return o;
}

static inline UNUSED void fixture_node(struct fixture *f, const char *json)
{
    f->in.node = node_of(fixture_object(f, &kind_node, json));
}
static inline UNUSED void fixture_metric(struct fixture *f, const char *json)
{
    f->in.metric = nodemetric_of(fixture_object(f, &kind_nodemetric, json));
}
static inline UNUSED void fixture_pod(struct fixture *f, const char *json)
{
    struct nr_pod *p = arena_new0(f->arena, struct nr_pod);

    nr_pod_of(pod_of(fixture_object(f, &kind_pod, json)), f->arena, p);
    vec_push(&f->pods, p);
    f->in.pods = f->pods.items;
    f->in.npods = f->pods.n;
}

/* The ConfigMap with one key; the others are absent. */
static inline UNUSED struct slo_sync fixture_config(struct fixture *f, enum slo_key key,
                                                    const char *text)
{
    struct kstrpair pair = { slo_keys[key].key, text };
    kstrmap data = { &pair, 1 };
    struct slo_sync sync;

    sloconfig_sync(f->config, &data, &sync);
    return sync;
}

static inline UNUSED const struct colocation_strategy *fixture_strategy(struct fixture *f)
{
    return colocation_strategy_of(sloconfig_get(f->config, SLO_COLOCATION),
                                  &f->in.node->obj.meta.labels, &f->in.node->obj.meta.annotations,
                                  f->arena, NULL);
}
#endif
