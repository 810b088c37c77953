/* rules.c - from NodeSLO, Node and NodeResourceTopology to rules (koordlet-qos 14.4, 15). */
#include "koordlet/hooks/rules.h"

#include "api/protocol/node.h"
#include "koordlet/kernel/convert.h"

static void told(struct kerr *err, const struct kerr *one)
{
    if (err->code == 0)
        *err = *one;
}

/* ---- CPU QoS: group identity and core scheduling --------------------------------------------- */

static const struct cpu_qos *cpu_of(const struct resource_qos *q)
{
    static const struct cpu_qos none;

    return q && q->cpu ? q->cpu : &none;
}

static bool is_on(const struct cpu_qos *q)
{
    return q->enable.set && q->enable.v;
}

static void bvt_rule(const struct resource_qos_strategy *s, bool active,
                     struct rule_group_identity *ret)
{
    const struct cpu_qos *lsr = cpu_of(s->lsr), *ls = cpu_of(s->ls), *be = cpu_of(s->be);
    bool lsr_on = active && is_on(lsr), ls_on = active && is_on(ls), be_on = active && is_on(be);
    int64_t of_lsr = lsr_on ? lsr->group_identity.v : 0;
    int64_t of_ls = ls_on ? ls->group_identity.v : 0;
    int64_t of_be = be_on ? be->group_identity.v : 0;

    ret->enable = lsr_on || ls_on || be_on;
    ret->pod[QOS_LSE] = ret->pod[QOS_LSR] = of_lsr;
    ret->pod[QOS_LS] = of_ls;
    ret->pod[QOS_BE] = of_be;
    for (int q = QOS_LSE; q <= QOS_BE; q++)
        ret->has_pod[q] = true;
    ret->kube_pod[KUBE_QOS_GUARANTEED] = lsr_on ? of_lsr : of_ls;
    ret->kube_dir[KUBE_QOS_BURSTABLE] = ret->kube_pod[KUBE_QOS_BURSTABLE] = of_ls;
    ret->kube_dir[KUBE_QOS_BEST_EFFORT] = ret->kube_pod[KUBE_QOS_BEST_EFFORT] = of_be;
}

static struct core_sched_class core_class(const struct cpu_qos *q, bool active)
{
    bool on = active && is_on(q);

    return (struct core_sched_class){ on, on && q->core_expeller.v, on && q->sched_idle.v == 1 };
}

static void core_rule(const struct resource_qos_strategy *s, bool active,
                      struct rule_core_sched *ret)
{
    struct core_sched_class lsr = core_class(cpu_of(s->lsr), active);
    struct core_sched_class ls = core_class(cpu_of(s->ls), active);
    struct core_sched_class be = core_class(cpu_of(s->be), active);

    ret->enable = lsr.enable || ls.enable || be.enable;
    ret->pod[QOS_LSE] = ret->pod[QOS_LSR] = lsr;
    ret->pod[QOS_LS] = ret->kube[KUBE_QOS_BURSTABLE] = ls;
    ret->pod[QOS_BE] = ret->kube[KUBE_QOS_BEST_EFFORT] = be;
    ret->kube[KUBE_QOS_GUARANTEED] = lsr.enable ? lsr : ls;
}

static void slo_rules(const struct nodeslo_spec *slo, struct hook_rules *r)
{
    const struct threshold_strategy *t = slo->threshold;

    if (slo->resource_qos) {
        const struct qos_policies *p = slo->resource_qos->policies;
        const char *policy = p && p->cpu_policy ? p->cpu_policy : "";
        bvt_rule(slo->resource_qos, !*policy || streq(policy, "groupIdentity"), &r->bvt);
        core_rule(slo->resource_qos, streq(policy, "coreSched"), &r->core);
    }
    r->batch_quota_off = t && t->enable.set && t->enable.v && t->cpu_suppress_policy &&
                         streq(t->cpu_suppress_policy, "cfsQuota");
}

/* ---- NodeResourceTopology -------------------------------------------------------------------- */

static int cpuset_rule(const kstrmap *annotations, struct arena *a, struct rule_cpuset *ret,
                       struct kerr *err)
{
    struct kubelet_cpu_manager kubelet;
    struct system_qos_resource system;
    struct cpuset parsed;

    if (cpu_shared_pools_read(annotations, a, &ret->shared, err) < 0 ||
        be_cpu_shared_pools_read(annotations, a, &ret->best_effort, err) < 0 ||
        kubelet_cpu_manager_read(annotations, a, &kubelet, err) < 0 ||
        system_qos_resource_read(annotations, a, &system, err) < 0)
        return err->code;
    ret->kubelet_policy = str_or(kubelet.policy, "");
    ret->system_cpuset = str_or(system.cpuset, "");
    if (cpus_parse(ret->system_cpuset, strlen(ret->system_cpuset), &parsed, err) < 0)
        return kerr_wrap(err, ANNO_SYSTEM_QOS_RESOURCE);
    ret->known = true;
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void resctrl_rule(const struct rule_resctrl *from, struct arena *a, struct rule_resctrl *ret)
{
    int32_t *ids = arena_newn0(a, from->ncaches + 1, int32_t);

    if (from->ncaches > 0)
        memcpy(ids, from->caches, from->ncaches * sizeof *ids);
    *ret = *from;
    ret->caches = ids;
    ret->vendor = arena_strdup(a, str_or(from->vendor, ""));
}

struct hook_rules *hook_rules_new(const struct hook_rules_in *in, struct kerr *err)
{
    struct hook_rules *r = xnew0(struct hook_rules);
    struct kerr one = { 0 };

    err->code = 0;
    r->arena = arena_new();
    r->sys_fd = in->sys_fd;
    r->hami_library = arena_strdup(r->arena, str_or(in->hami_library, ""));
    r->hami_monitor = in->hami_monitor;
    r->dev_dir = arena_strdup(r->arena, str_or(in->dev_dir, "/dev"));
    if (in->resctrl)
        resctrl_rule(in->resctrl, r->arena, &r->resctrl);
    if (in->slo)
        slo_rules(in->slo, r);
    if (in->topology_annotations &&
        cpuset_rule(in->topology_annotations, r->arena, &r->cpuset, &one) < 0) {
        r->cpuset = (struct rule_cpuset){ 0 };
        told(err, &one);
    }
    r->cpuset.be_cpu_manager = in->be_cpu_manager;
    r->cpuset.keep_quota = in->keep_quota;
    r->ratio = -1;
    if (in->node_annotations &&
        cpu_normalization_ratio(in->node_annotations, &r->ratio, &one) < 0) {
        r->ratio = -1;
        told(err, &one);
    }
    return r;
}

struct hook_rules *hook_rules_free(struct hook_rules *r)
{
    if (!r)
        return NULL;
    arena_free(r->arena);
    free(r);
    return NULL;
}
