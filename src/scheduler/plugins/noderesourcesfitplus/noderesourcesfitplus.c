/* noderesourcesfitplus.c - NodeResourcesFitPlus: a scoring strategy for each resource.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/noderesourcesfitplus/args.h"
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_node_resources_fit_plus = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesFitPlus",
    .planned = true,
    .points = KS_AT(PRE_SCORE) | KS_AT(SCORE),
    .args = &fitplus_args,
};
