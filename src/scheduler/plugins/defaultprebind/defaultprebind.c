/* defaultprebind.c - DefaultPreBind: in Koordinator, writes what other plugins want on the pod.
 *
 * The engine does that for every pod, whatever the profile says. What is here is the name, so that
 * configurations may enable, order and disable it.
 */
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_default_pre_bind = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultPreBind",
    .planned = true,
    .points = KS_AT(PRE_BIND),
};
