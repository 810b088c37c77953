/* plugin_fixture.h - a small cluster made of JSON texts, and attempts on it: for tests of plugins.
 *
 * Texts use ' for ". A fixture has one profile: the plugins named at its birth, in the registry's
 * order, plus PrioritySort and DefaultBinder; or all of the default profile.
 */
#ifndef KOORD_SCHEDULER_TEST_PLUGIN_FIXTURE_H
#define KOORD_SCHEDULER_TEST_PLUGIN_FIXTURE_H
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/strbuf.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/model/objects.h"
#include "json/kj.h"

struct plugin_fixture {
    struct object_fixture *base;
    struct nodecache *cache;
    struct nominator *nominator;
    struct objects *objects;
    struct shapes *shapes;
    struct ks_env env;
    struct service_table *services;
    struct profile *profile;
    struct attempt a;
    struct kobj *obj;
    struct arena *arena; /* of the attempt */
    nsec_t now;
    bool nominated_once, nominated_first;
};

static inline const struct ks_plugin *fixture_plugin(const struct ks_registered *table,
                                                     const char *name)
{
    for (; table->plugin; table++)
        if (streq(table->plugin->name, name))
            return table->plugin;
    fail_msg("no plugin %s", name);
    return NULL;
}

/* {'Plugin':{args}} as a profile's configuration has them. */
static inline void fixture_args(struct plugin_fixture *f, const struct ks_registered *table,
                                const char *config, struct profile_args *args,
                                struct profile_config *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(config);
    struct kj_iter it = kj_iter(kj_root(doc));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(f->base->arena, key.p, key.n);
        void *decoded = NULL;
        struct kerr err = { 0 };
        args_decode(fixture_plugin(table, name)->args, v, &(struct ks_args_context){ 0 },
                    f->base->arena, &decoded, &err);
        assert_string_equal(err.text, "");
        args[c->nargs++] = (struct profile_args){ name, decoded };
    }
    c->args = args;
}

/* For plugins that look at a clock, set before fixture_init(); NULL: they have none. */
static UNUSED struct loop *fixture_loop;
/* The same: feature gates; NULL: their defaults. */
static UNUSED const struct gates *fixture_gates;

/* table: the plugins that exist. config: {'Plugin':{args}}, NULL for none. */
static inline void fixture_init_with(struct plugin_fixture *f, void **state,
                                     const struct ks_registered *table, const char *config)
{
    struct profile_args args[PROFILE_PLUGINS_MAX];
    struct kerr err = { 0 };

    *f = (struct plugin_fixture){ .base = *state };
    f->nominator = nominator_new();
    f->objects = objects_new();
    f->cache = nodecache_new(f->objects);
    f->shapes = shapes_new(4);
    f->arena = arena_new();
    f->services = service_table_new();
    f->env = (struct ks_env){ .loop = fixture_loop,
                              .gates = fixture_gates,
                              .objects = f->objects,
                              .nodes = nodecache_nodes(f->cache),
                              .service_table = f->services };
    struct profile_config c = profile_config_default(table, "koord-scheduler", f->base->arena);
    if (config)
        fixture_args(f, table, config, args, &c);
    f->profile = profile_new(&c, table, &f->env, &err);
    assert_string_equal(err.text, "");
    services_tell_all(f->services, NULL, 0); /* from here on they hear of pods */
}

/* only: names with blanks between, NULL for all. */
static inline UNUSED void fixture_init(struct plugin_fixture *f, void **state, const char *only,
                                       const char *config)
{
    struct ks_registered table[PROFILE_PLUGINS_MAX + 1] = { 0 };
    uint32_t n = 0;

    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        if (!only || strstr(only, r->plugin->name) || r->plugin->before || r->plugin->bind)
            table[n++] = *r;
    fixture_init_with(f, state, table, config);
}

static inline UNUSED void fixture_fini_p(struct plugin_fixture *f)
{
    attempt_end(&f->a);
    kobj_unref(f->obj);
    shapes_free(f->shapes);
    profile_free(f->profile);
    service_table_free(f->services);
    nominator_free(f->nominator);
    nodecache_free(f->cache);
    objects_free(f->objects);
    arena_free(f->arena);
}

static inline UNUSED void fixture_node(struct plugin_fixture *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_node, text);
    attempt_end(&f->a);
    nodecache_put_node(f->cache, o);
}
/* A pod that has a node. */
static inline UNUSED void fixture_pod(struct plugin_fixture *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, text);
    attempt_end(&f->a);
    services_tell(f->services, NULL, pod_of(o));
    nodecache_put_pod(f->cache, o);
}
/* It is there no more. */
static inline UNUSED void fixture_pod_gone(struct plugin_fixture *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, text);
    attempt_end(&f->a);
    services_tell_gone(f->services, pod_of(o));
    nodecache_remove_pod(f->cache, o->meta.uid);
}
static inline UNUSED void fixture_put(struct plugin_fixture *f, const struct kind *k,
                                      const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, k, text);
    objects_put(f->objects, o);
}
static inline UNUSED void fixture_nominate(struct plugin_fixture *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, text);
    nominator_set(f->nominator, o, pod_of(o)->status.nominated_node_name);
}

static inline void fixture_attempt(struct plugin_fixture *f, struct attempt *a, bool complete)
{
    attempt_init(a,
                 &(struct attempt_input){ .profile = f->profile,
                                          .cache = f->cache,
                                          .nominator = f->nominator,
                                          .shapes = f->shapes,
                                          .objects = f->objects,
                                          .pod = f->obj,
                                          .now = f->now,
                                          .nominated_once = f->nominated_once,
                                          .nominated_first = f->nominated_first,
                                          .complete = complete },
                 f->arena);
    attempt_filter(a);
    if (a->feasible)
        attempt_score(a);
}

/* Filters and, when there are candidates, scores. Results are in f->a. What the shapes remember of
 * earlier attempts must lead to the same. */
static inline UNUSED void fixture_try(struct plugin_fixture *f, const char *pod)
{
    struct attempt again;
    struct kerr err = { 0 };

    attempt_end(&f->a);
    kobj_unref(f->obj);
    f->obj = fixture_object(f->base, &kind_pod, pod);
    arena_reset(f->arena);
    fixture_attempt(f, &again, false);
    attempt_end(&again);
    fixture_attempt(f, &f->a, true);
    if (attempt_compare(&again, &f->a, &err) < 0 || attempt_verify_rows(&f->a, &err) < 0)
        fail_msg("reuse: %s", err.text);
}

static inline UNUSED uint32_t fixture_row(const struct plugin_fixture *f, const char *node)
{
    uint32_t row = ks_row_of(nodecache_nodes(f->cache), node);
    assert_that(row, !=, KS_NO_ROW);
    return row;
}
static inline UNUSED bool fixture_fits(const struct plugin_fixture *f, const char *node)
{
    return f->a.by[fixture_row(f, node)] == 0;
}
static inline UNUSED enum ks_code fixture_code(const struct plugin_fixture *f, const char *node)
{
    return attempt_code(&f->a, fixture_row(f, node));
}
/* The reasons of a node, joined with ", "; valid until the next attempt. */
static inline UNUSED const char *fixture_why(struct plugin_fixture *f, const char *node)
{
    struct ks_texts t = { .arena = f->arena };
    const char *all = "";
    attempt_texts(&f->a, fixture_row(f, node), &t);
    for (uint32_t i = 0; i < t.n; i++)
        all = i ? arena_printf(f->arena, "%s, %s", all, t.items[i]) : t.items[i];
    return all;
}
/* The score of a plugin before weights; -1 when it did not score. */
static inline UNUSED int64_t fixture_score(const struct plugin_fixture *f, const char *plugin,
                                           const char *node)
{
    int slot = profile_slot(f->profile, plugin);
    assert_that(slot, >=, 0);
    return f->a.scored >> slot & 1 ? f->a.score[slot][fixture_row(f, node)] : -1;
}
static inline UNUSED const char *fixture_message(struct plugin_fixture *f)
{
    struct strbuf b = STRBUF_INIT;
    attempt_message(&f->a, &b);
    const char *text = arena_strdup(f->arena, strbuf_str(&b));
    strbuf_fini(&b);
    return text;
}
#endif
