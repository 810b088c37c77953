/* plugin_checks.h - questions to one plugin: is an event worth an attempt, are arguments refused.
 */
#ifndef KOORD_SCHEDULER_TEST_PLUGIN_CHECKS_H
#define KOORD_SCHEDULER_TEST_PLUGIN_CHECKS_H
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

/* Would the pod, which the plugin rejected, get another attempt? Objects are nodes or pods, as the
 * event says; NULL: none. */
static inline UNUSED bool plugin_worth(struct plugin_fixture *f, const char *plugin,
                                       enum ks_resource resource, uint32_t action,
                                       const char *before, const char *now, const char *pod)
{
    const struct kind *k = resource == KS_RES_NODE ? &kind_node : &kind_pod;
    CLEANUP(kobj_unref) struct kobj *b = before ? fixture_object(f->base, k, before) : NULL;
    CLEANUP(kobj_unref) struct kobj *n = now ? fixture_object(f->base, k, now) : NULL;
    CLEANUP(kobj_unref) struct kobj *p = fixture_object(f->base, &kind_pod, pod);
    struct ks_event e = { resource, action, b, n };
    int slot = profile_slot(f->profile, plugin);

    assert_that(slot, >=, 0);
    return profile_worth(f->profile, UINT64_C(1) << slot, &e, pod_of(p));
}

/* What is wrong with args; "" when nothing is. */
static inline UNUSED const char *plugin_args_error(const char *plugin, const char *args)
{
    static struct kerr err;
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(args);
    CLEANUP(arena_free) struct arena *a = arena_new();
    void *decoded = NULL;

    err = (struct kerr){ 0 };
    int r = args_decode(fixture_plugin(ks_registry, plugin)->args, kj_root(doc),
                        &(struct ks_args_context){ 0 }, a, &decoded, &err);
    assert_int_equal(r, err.code);
    assert_int_equal(!decoded, r < 0);
    return err.text;
}

/* The args of a plugin as its create() gets them. */
static inline UNUSED const void *plugin_args(struct object_fixture *f, const char *plugin,
                                             const char *args)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(args);
    void *decoded = NULL;
    struct kerr err = { 0 };

    args_decode(fixture_plugin(ks_registry, plugin)->args, kj_root(doc),
                &(struct ks_args_context){ 0 }, f->arena, &decoded, &err);
    assert_string_equal(err.text, "");
    return decoded;
}

static inline UNUSED void plugin_refuses(const char *plugin, const char *args, const char *text)
{
    assert_string_equal(plugin_args_error(plugin, args), text);
}
#endif
