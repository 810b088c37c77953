/* prioritysort.c - higher priority first, then who waits longest (scheduler-core 8.1). */
#include "api/pod.h"
#include "scheduler/plugins/registry.h"

static bool sorts_before(const struct pod *a, nsec_t a_since, const struct pod *b, nsec_t b_since)
{
    int32_t pa = pod_priority(a), pb = pod_priority(b);
    return pa != pb ? pa > pb : a_since < b_since;
}

const struct ks_plugin ks_plugin_priority_sort = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "PrioritySort",
    .before = sorts_before,
};
