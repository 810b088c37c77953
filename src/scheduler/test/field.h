/* field.h - a small cluster made of JSON texts, and attempts on it: for tests of plugins.
 *
 * Texts use ' for ". A field has one profile: the plugins named at its birth, in the registry's
 * order, plus PrioritySort and DefaultBinder; or all of the default profile.
 */
#ifndef KOORD_SCHEDULER_TEST_FIELD_H
#define KOORD_SCHEDULER_TEST_FIELD_H
#include "api/test/bed.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/strbuf.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/cache/nominator.h"
#include "scheduler/cache/world.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/shapes.h"
#include "json/kj.h"

struct field {
    struct bed *bed;
    struct nodecache *cache;
    struct nominator *nominator;
    struct world *world;
    struct shapes *shapes;
    struct ks_env env;
    struct profile *profile;
    struct kj_doc *args;
    struct attempt a;
    struct kobj *obj;
    struct arena *arena; /* of the attempt */
    nsec_t now;
    bool nominated_once, nominated_first;
};

/* table: the plugins that exist. config: {'Plugin':{args}}, NULL for none. */
static inline void field_init_with(struct field *f, void **state, const struct ks_registered *table,
                                   const char *config)
{
    struct profile_args args[PROFILE_PLUGINS_MAX];
    struct kerr err = { 0 };

    *f = (struct field){ .bed = *state };
    f->cache = nodecache_new();
    f->nominator = nominator_new();
    f->world = world_new();
    f->shapes = shapes_new(4);
    f->arena = arena_new();
    f->env.world = f->world;
    struct profile_config c = profile_config_default(table, "koord-scheduler", f->bed->arena);
    if (config) {
        f->args = bed_doc(config);
        struct kj_iter it = kj_iter(kj_root(f->args));
        const struct kj_val *v;
        struct str key;
        while (kj_next(&it, &key, &v))
            args[c.nargs++] =
                (struct profile_args){ arena_strndup(f->bed->arena, key.p, key.n), v };
        c.args = args;
    }
    f->profile = profile_new(&c, table, &f->env, &err);
    assert_string_equal(err.text, "");
}

/* only: names with blanks between, NULL for all. */
static inline UNUSED void field_init(struct field *f, void **state, const char *only,
                                     const char *config)
{
    struct ks_registered table[PROFILE_PLUGINS_MAX + 1] = { 0 };
    uint32_t n = 0;

    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        if (!only || strstr(only, r->plugin->name) || r->plugin->before || r->plugin->binds)
            table[n++] = *r;
    field_init_with(f, state, table, config);
}

static inline UNUSED void field_fini_p(struct field *f)
{
    kobj_unref(f->obj);
    shapes_free(f->shapes);
    profile_free(f->profile);
    nominator_free(f->nominator);
    nodecache_free(f->cache);
    world_free(f->world);
    kj_doc_free(f->args);
    arena_free(f->arena);
}

static inline UNUSED void field_node(struct field *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = bed_object(f->bed, &kind_node, text);
    nodecache_put_node(f->cache, o);
}
/* A pod that has a node. */
static inline UNUSED void field_pod(struct field *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = bed_object(f->bed, &kind_pod, text);
    nodecache_put_pod(f->cache, o);
}
static inline UNUSED void field_put(struct field *f, const struct kind *k, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = bed_object(f->bed, k, text);
    world_put(f->world, o);
}
static inline UNUSED void field_nominate(struct field *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = bed_object(f->bed, &kind_pod, text);
    nominator_set(f->nominator, o, pod_of(o)->status.nominated_node_name);
}

static inline void field_attempt(struct field *f, struct attempt *a, bool complete)
{
    attempt_init(a,
                 &(struct attempt_input){ .profile = f->profile,
                                          .cache = f->cache,
                                          .nominator = f->nominator,
                                          .shapes = f->shapes,
                                          .world = f->world,
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
static inline UNUSED void field_try(struct field *f, const char *pod)
{
    struct attempt again;
    struct kerr err = { 0 };

    kobj_unref(f->obj);
    f->obj = bed_object(f->bed, &kind_pod, pod);
    arena_reset(f->arena);
    field_attempt(f, &again, false);
    field_attempt(f, &f->a, true);
    if (attempt_compare(&again, &f->a, &err) < 0)
        fail_msg("reuse: %s", err.text);
}

static inline UNUSED uint32_t field_row(const struct field *f, const char *node)
{
    uint32_t row = ks_row_of(nodecache_nodes(f->cache), node);
    assert_true(row != KS_NO_ROW);
    return row;
}
static inline UNUSED bool field_fits(const struct field *f, const char *node)
{
    return f->a.by[field_row(f, node)] == 0;
}
static inline UNUSED enum ks_code field_code(const struct field *f, const char *node)
{
    return attempt_code(&f->a, field_row(f, node));
}
/* The reasons of a node, joined with ", "; valid until the next attempt. */
static inline UNUSED const char *field_why(struct field *f, const char *node)
{
    struct ks_texts t = { .arena = f->arena };
    const char *all = "";
    attempt_texts(&f->a, field_row(f, node), &t);
    for (uint32_t i = 0; i < t.n; i++)
        all = i ? arena_printf(f->arena, "%s, %s", all, t.items[i]) : t.items[i];
    return all;
}
/* The score of a plugin before weights; -1 when it did not score. */
static inline UNUSED int64_t field_score(const struct field *f, const char *plugin,
                                         const char *node)
{
    int slot = profile_slot(f->profile, plugin);
    assert_true(slot >= 0);
    return f->a.scored >> slot & 1 ? f->a.score[slot][field_row(f, node)] : -1;
}
static inline UNUSED const char *field_message(struct field *f)
{
    struct strbuf b = STRBUF_INIT;
    attempt_message(&f->a, &b);
    const char *text = arena_strdup(f->arena, strbuf_str(&b));
    strbuf_fini(&b);
    return text;
}
#endif
