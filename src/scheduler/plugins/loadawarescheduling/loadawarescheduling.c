/* loadawarescheduling.c - LoadAwareScheduling: nodes by their real load (NodeMetric).
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_load_aware_scheduling = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "LoadAwareScheduling",
    .planned = true,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(SCORE) | KS_AT(RESERVE),
    .args = &loadaware_args,
};
