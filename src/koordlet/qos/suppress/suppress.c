/* suppress.c - one round: decide how best effort is held back, and say so (koordlet-qos 5.1, 5.5,
 * 5.6). */
#include "koordlet/qos/suppress/suppress.h"

#include "api/protocol/cpu.h"
#include "koordlet/kernel/naming.h"

/* ---- deciding -------------------------------------------------------------------------------- */

static bool kubelet_is_static(const kstrmap *topology, struct arena *a)
{
    struct kubelet_cpu_manager k;

    return kubelet_cpu_manager_read(topology, a, &k, NULL) > 0 && k.policy &&
           streq(k.policy, KUBELET_CPU_POLICY_STATIC);
}

static int decide_by_quota(const struct suppress_in *in, struct arena *a,
                           struct suppress_decision *d)
{
    int64_t now;

    if (in->view.number(in->view.arg, cgroup_qos_dir(in->driver, KUBE_QOS_BEST_EFFORT),
                        PLAN_CPU_QUOTA, &now, NULL) < 0)
        return 0;
    d->by = SUPPRESS_BY_QUOTA;
    d->quota = suppress_quota(d->budget.capacity, d->budget.milli, now);
    d->cpus = d->outer = suppress_share(&in->machine, a);
    return 1;
}

static int decide_by_cpus(const struct suppress_in *in, struct arena *a,
                          struct suppress_decision *d)
{
    struct cpuset now;

    if (in->view.cpus(in->view.arg, cgroup_qos_dir(in->driver, KUBE_QOS_BEST_EFFORT), &now, NULL) <
        0)
        return 0;
    d->by = SUPPRESS_BY_CPUS;
    d->cpus = d->outer = suppress_cpus(&in->machine, d->budget.milli, &now, a);
    if (!cpuset_is_empty(&d->cpus) && kubelet_is_static(in->machine.topology, a))
        d->outer = suppress_share(&in->machine, a); /* the kubelet sets containers, not pods */
    return 1;
}

int suppress_decide(const struct suppress_in *in, struct arena *a, struct suppress_decision *ret)
{
    const struct snapshot *known = in->known;
    const struct threshold_strategy *slo = known->slo ? known->slo->threshold : NULL;

    *ret = (struct suppress_decision){ .quota = -1 };
    bool machine_known = in->machine.cpus && in->machine.topology;
    if (!slo || !slo->enable.set)
        return 0;
    if (in->be_manager || !slo->enable.v) { /* the quota goes in any case */
        if (machine_known)
            ret->cpus = ret->outer = suppress_share(&in->machine, a);
        ret->keep_bound = in->be_manager;
        return 1;
    }
    if (!machine_known || !known->node || in->machine.npods == 0 || !in->usage_known)
        return 0;
    ret->budget = suppress_budget(known->node, slo, &in->usage, a);
    if (slo->cpu_suppress_policy && streq(slo->cpu_suppress_policy, "cfsQuota"))
        return decide_by_quota(in, a, ret);
    return decide_by_cpus(in, a, ret);
}

/* ---- proposing ------------------------------------------------------------------------------- */

static bool is_bound(const struct npod *p, struct arena *a)
{
    struct resource_status s;

    return resource_status_read(&npod_pod(p)->obj.meta.annotations, a, &s, NULL) > 0 &&
           (!str_empty(s.cpuset) || s.numa_node_resources.n > 0);
}

static void propose_pod(const struct suppress_decision *d, const struct npod *p, const char *outer,
                        const char *inner, struct plan *plan)
{
    plan_text(plan, (struct plan_at){ .dir = p->cgroup_dir, .pod = p }, PLAN_CPUSET_CPUS, outer);
    if (d->keep_bound && is_bound(p, plan->arena))
        return;
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        const struct npod_container *c = &p->containers[i];
        if (!c->running || !c->dir)
            continue;
        const char *dir = arena_printf(plan->arena, "%s/%s", p->cgroup_dir, c->dir);
        plan_text(plan, (struct plan_at){ .dir = dir, .pod = p, .container = c->name },
                  PLAN_CPUSET_CPUS, inner);
    }
}

static void because(const struct suppress_decision *d, struct plan *plan)
{
    if (d->by == SUPPRESS_NOTHING)
        return;
    PLAN_BECAUSE(plan, { "budget in milli-cores", d->budget.milli, NULL },
                 { "allowed for all", d->budget.allowed, NULL },
                 { "used by other pods", d->budget.pods, NULL },
                 { "used by host applications", d->budget.apps, NULL },
                 { "used by the system", d->budget.system, NULL });
}

void suppress_propose(const struct suppress_decision *d, const struct suppress_in *in,
                      struct plan *p)
{
    const struct plan_at at = { .dir = cgroup_qos_dir(in->driver, KUBE_QOS_BEST_EFFORT) };

    plan_number(p, at, PLAN_CPU_QUOTA, d->quota);
    because(d, p);
    if (cpuset_is_empty(&d->cpus))
        return;
    const char *outer = cpuset_format(&d->outer, p->arena),
               *inner = cpuset_format(&d->cpus, p->arena);
    plan_text(p, at, PLAN_CPUSET_CPUS, outer);
    because(d, p);
    for (uint32_t i = 0; i < in->machine.npods; i++) {
        const struct npod *pod = in->machine.pods[i];
        if (pod->kube_qos == KUBE_QOS_BEST_EFFORT && !pod_is_terminal(npod_pod(pod)))
            propose_pod(d, pod, outer, inner, p);
    }
}
