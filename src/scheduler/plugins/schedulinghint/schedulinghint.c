/* schedulinghint.c - SchedulingHint: nodes that a pod's annotation names are tried first.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/schedulinghint/args.h"

const struct ks_plugin ks_plugin_scheduling_hint = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "SchedulingHint",
    .planned = true,
    .points = KS_AT(PRE_FILTER),
    .args = &hint_args,
};
