/* defaultbinder.c - binds by the binding subresource of the API server (scheduler-core 6); the
 * request itself is bind.c's.
 */
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_default_binder = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultBinder",
    .binds = true,
};
