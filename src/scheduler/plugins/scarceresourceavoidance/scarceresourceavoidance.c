/* scarceresourceavoidance.c - ScarceResourceAvoidance: pods that do not ask for a scarce resource
 * stay off its nodes.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/scarceresourceavoidance/args.h"

const struct ks_plugin ks_plugin_scarce_resource_avoidance = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ScarceResourceAvoidance",
    .planned = true,
    .points = KS_AT(PRE_SCORE) | KS_AT(SCORE),
    .args = &scarce_args,
};
