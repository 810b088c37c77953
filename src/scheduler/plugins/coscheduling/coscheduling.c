/* coscheduling.c - Coscheduling: gangs: pods that are placed together or not at all.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_coscheduling = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Coscheduling",
    .planned = true,
    .points = KS_AT(PRE_ENQUEUE) | KS_AT(PRE_FILTER) | KS_AT(POST_FILTER) | KS_AT(PRE_SCORE) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PERMIT) | KS_AT(PRE_BIND) | KS_AT(POST_BIND),
    .args = &coscheduling_args,
};
