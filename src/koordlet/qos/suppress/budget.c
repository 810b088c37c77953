/* budget.c - what best effort may use: the node's share, less what others use
 * (koordlet-qos 4.2, 5.2, 5.4). */
#include "api/protocol/cpu.h"
#include "base/num.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/qos/suppress/suppress.h"

enum { QUOTA_MIN_US = 2000 };

/* ---- who counts ------------------------------------------------------------------------------ */

static bool is_best_effort(const struct npod *p)
{
    return p && (pod_qos_class_raw(npod_pod(p)) == QOS_BE || p->kube_qos == KUBE_QOS_BEST_EFFORT);
}

/* Only what runs among the best-effort pods is held back with them. */
static bool app_is_best_effort(const struct host_application *a)
{
    return qos_class_parse(a->qos) == QOS_BE && a->cgroup_path && a->cgroup_path->base &&
           streq(a->cgroup_path->base, "KubepodsBesteffort");
}

/* ---- reserved -------------------------------------------------------------------------------- */

static int64_t annotated_milli(const struct node *n, struct arena *a)
{
    struct node_reservation r;
    struct cpuset cpus;

    if (node_reservation_read(&n->obj.meta.annotations, a, &r, NULL) <= 0)
        return 0;
    if (!str_empty(r.reserved_cpus) &&
        cpuset_parse(r.reserved_cpus, strlen(r.reserved_cpus), &cpus, NULL) == 0)
        return (int64_t)cpuset_count(&cpus) * 1000;
    return qty_milli(reslist_get(&r.resources, RES_CPU));
}

/* What the kubelet or the annotation keeps back counts as used by the system. */
static double reserved_cores(const struct node *n, int64_t capacity, struct arena *a)
{
    int64_t kubelet = capacity - qty_milli(reslist_get(&n->status.allocatable, RES_CPU));

    return (double)MAX(MAX(kubelet, annotated_milli(n, a)), INT64_C(0)) / 1000;
}

/* ---- the budget ------------------------------------------------------------------------------ */

struct suppress_budget suppress_budget(const struct node *node,
                                       const struct threshold_strategy *slo,
                                       const struct suppress_usage *u, struct arena *a)
{
    struct suppress_budget b = { .capacity =
                                     qty_milli(reslist_get(&node->status.capacity, RES_CPU)) };
    double all = 0, pods = 0, apps = 0;

    for (uint32_t i = 0; i < u->npods; i++) {
        all += u->pods[i].cores;
        pods += is_best_effort(u->pods[i].pod) ? 0 : u->pods[i].cores;
    }
    for (uint32_t i = 0; i < u->napps; i++) {
        all += u->apps[i].cores;
        apps += app_is_best_effort(u->apps[i].app) ? 0 : u->apps[i].cores;
    }
    double system = MAX(u->node_cores - all, 0.0);
    system = MAX(system, reserved_cores(node, b.capacity, a));
    b.allowed = i64_muldiv(b.capacity, slo->cpu_suppress_threshold_percent.v, 100);
    b.pods = i64_from_f64(pods * 1000);
    b.apps = i64_from_f64(apps * 1000);
    b.system = i64_from_f64(system * 1000);
    b.milli = b.allowed - b.pods - b.apps - b.system;
    if (slo->cpu_suppress_min_percent.set)
        b.milli = MAX(b.milli, i64_muldiv(b.capacity, slo->cpu_suppress_min_percent.v, 100));
    return b;
}

/* ---- the quota ------------------------------------------------------------------------------- */

int64_t suppress_quota(int64_t capacity_milli, int64_t milli, int64_t now)
{
    int64_t whole = (capacity_milli + 999) / 1000 * CFS_PERIOD_US; /* of all CPUs */
    int64_t quota = MAX(i64_muldiv(milli, CFS_PERIOD_US, 1000), (int64_t)QUOTA_MIN_US);
    int64_t step = i64_from_f64((double)whole * 0.1);

    if (now < 0) /* no limit yet: none is too small a change */
        return quota;
    if (quota != QUOTA_MIN_US && (double)llabs(quota - now) < (double)whole * 0.01)
        return now;
    return (double)(quota - now) > (double)whole * 0.1 ? now + step : quota;
}
