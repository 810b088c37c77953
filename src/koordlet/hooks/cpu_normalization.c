/* cpu_normalization.c - CPUNormalization: the quota of a node whose CPUs count for more
 * (koordlet-qos 15.4). */
#include <math.h>

#include "api/protocol/cpu.h"
#include "api/qos.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"

static int run(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    enum qos_class qos = qos_raw(c->labels);
    int64_t quota = c->requested.cfs_quota.v;
    struct resource_status status;

    if (r->ratio <= 0 || (qos != QOS_LS && qos != QOS_NONE) || !c->requested.cfs_quota.set ||
        quota <= 0)
        return 0;
    if (qos == QOS_NONE && resource_status_read(c->annotations, c->arena, &status, err) > 0 &&
        status.cpuset && *status.cpuset)
        return 0; /* counts as LSR */
    if (r->ratio > 1)
        quota = (int64_t)ceil((double)quota / r->ratio);
    c->response.cfs_quota = (struct opt_i64){ true, quota };
    return 0;
}

const struct hook_plugin hook_cpu_normalization = {
    .name = "CPUNormalization",
    .gate = GATE_CPU_NORMALIZATION,
    .stages = { [HOOK_PRE_RUN_POD_SANDBOX] = run,
                [HOOK_PRE_CREATE_CONTAINER] = run,
                [HOOK_PRE_UPDATE_CONTAINER] = run },
};
