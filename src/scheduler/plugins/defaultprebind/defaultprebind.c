/* defaultprebind.c - DefaultPreBind: the labels and annotations of all pre_bind plugins reach the
 * pod in one write (sched-loadaware 10).
 *
 * The writing is the engine's (engine/bindwrite.c), for pods and for what stands in place of pods,
 * and happens whether a profile enables this plugin or not: a plugin whose annotation stayed away
 * would have reserved in vain. So there is nothing left to do at the extension point itself, as in
 * Koordinator, where the framework calls ApplyPatch besides.
 */
#include "scheduler/plugins/registry.h"

static enum ks_code prebind_flight(void *self, const struct pod *p, const char *node,
                                   struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)why;
    return KS_SKIP;
}

static enum ks_code prebind_run(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)b, (void)why;
    return KS_SUCCESS;
}

const struct ks_plugin ks_plugin_default_pre_bind = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultPreBind",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(PRE_BIND),
    .pre_flight = prebind_flight,
    .pre_bind = prebind_run,
};
