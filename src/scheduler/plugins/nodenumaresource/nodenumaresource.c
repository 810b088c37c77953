/* nodenumaresource.c - NodeNUMAResource: CPUs and NUMA nodes for pods.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/nodenumaresource/args.h"
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_node_numa_resource = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeNUMAResource",
    .planned = true,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(PRE_SCORE) | KS_AT(SCORE) | KS_AT(RESERVE) |
              KS_AT(PRE_BIND),
    .args = &numa_args,
};
