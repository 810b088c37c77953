/* plugin_checks.h - questions to one plugin: is an event worth an attempt, are arguments refused.
 */
#ifndef KOORD_SCHEDULER_TEST_PLUGIN_CHECKS_H
#define KOORD_SCHEDULER_TEST_PLUGIN_CHECKS_H
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

    assert_true(slot >= 0);
    return profile_worth(f->profile, UINT64_C(1) << slot, &e, pod_of(p));
}

static inline UNUSED void plugin_refuses(const char *plugin, const char *args, const char *text)
{
    const struct ks_plugin *pl = ks_registered_find(plugin)->plugin;
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(args);
    struct kerr err = { 0 };
    void *self = NULL;

    assert_true(pl->create(&(struct ks_env){ 0 }, kj_root(doc), &self, &err) < 0);
    assert_null(self);
    assert_string_equal(err.text, text);
}
#endif
