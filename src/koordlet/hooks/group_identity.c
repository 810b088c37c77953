/* group_identity.c - GroupIdentity: cpu.bvt_warp_ns by QoS class (koordlet-qos 15.1). */
#include "api/protocol/slo.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/kernel/naming.h"

static int run(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    enum qos_class qos = qos_raw(c->labels);
    struct cpu_qos own;
    int64_t v = r->bvt.has_pod[qos] ? r->bvt.pod[qos]
                                    : r->bvt.kube_pod[cgroup_qos_of_path(c->cgroup_parent)];

    if (qos == QOS_LS) {
        int code = pod_cpu_qos_read(c->annotations, c->arena, &own, err);
        if (code < 0)
            return code;
        if (code > 0 && !(own.enable.set && own.enable.v))
            v = 0;
        else if (code > 0 && own.group_identity.set)
            v = own.group_identity.v;
    }
    c->response.bvt = (struct opt_i64){ true, v };
    return 0;
}

const struct hook_plugin hook_group_identity = {
    .name = "GroupIdentity",
    .gate = GATE_GROUP_IDENTITY,
    .stages = { [HOOK_PRE_RUN_POD_SANDBOX] = run },
};
