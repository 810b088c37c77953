/* nodeunschedulable.c - cordoned nodes take only pods that tolerate it (scheduler-core 8.3). */
#include "api/node.h"
#include "api/pod.h"
#include "api/toleration.h"
#include "scheduler/plugins/registry.h"

static const struct ks_reason unschedulable_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) were unschedulable" },
};
_Static_assert(KS_NODE_UNSCHEDULABLE == 1, "the flag is the index of the reason");

static bool tolerates(const struct pod *p)
{
    static const struct taint cordon = {
        .key = "node.kubernetes.io/unschedulable",
        .value = "",
        .effect = TAINT_NO_SCHEDULE,
    };
    return tolerations_tolerate(&p->spec->tolerations, &cordon, 0);
}

static enum ks_code unschedulable_pre_filter(void *self, const struct ks_cycle *c,
                                             const struct ks_pod *p, void **ret_state,
                                             struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)ret_state, (void)only, (void)why;
    return tolerates(p->pod) ? KS_SKIP : KS_SUCCESS;
}

KOORD_CLONES static void pick_flag(struct ks_span s, const uint8_t *restrict flags,
                                   uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = flags[i] & KS_NODE_UNSCHEDULABLE;
}

static void unschedulable_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)p, (void)skip;
    pick_flag(s, c->nodes->flags, why);
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    return !node_of(e->now)->spec.unschedulable &&
           (!e->before || node_of(e->before)->spec.unschedulable);
}

static bool worth_toleration(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return kuid_equal(e->now->meta.uid, p->obj.meta.uid) && tolerates(pod_of(e->now));
}

static const struct ks_hint unschedulable_hints[] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_TAINT, worth_node },
    { KS_RES_POD, KS_POD_TOLERATION, worth_toleration },
};

const struct ks_plugin ks_plugin_node_unschedulable = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeUnschedulable",
    .reasons = unschedulable_reasons,
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(FILTER),
    .hints = unschedulable_hints,
    .nhints = ARRAY_LEN(unschedulable_hints),
    .pre_filter = unschedulable_pre_filter,
    .filter = unschedulable_filter,
};
