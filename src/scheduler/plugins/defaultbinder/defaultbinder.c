/* defaultbinder.c - binds by the binding subresource of the API server (scheduler-core 6); the
 * request is made by the engine. */
#include "scheduler/plugins/registry.h"

static const struct ks_subject *binder_bind(void *self, const struct pod *p)
{
    (void)self, (void)p;
    return &ks_subject_pod;
}

const struct ks_plugin ks_plugin_default_binder = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultBinder",
    .bind = binder_bind,
};
