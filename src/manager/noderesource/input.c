/* input.c - what the plugins read of pods, metrics and nodes. */
#include "api/podresources.h"
#include "api/protocol/cpu.h"
#include "api/protocol/pod_protocol.h"
#include "base/ktime.h"
#include "base/map.h"
#include "manager/noderesource/plugin.h"

/* ---- pods ------------------------------------------------------------------------------------ */

static uint64_t numa_nodes_of(const struct pod *p, struct arena *a)
{
    struct resource_status s;
    uint64_t bits = 0;

    if (resource_status_read(&p->obj.meta.annotations, a, &s, NULL) <= 0)
        return 0;
    for (uint32_t i = 0; i < s.numa_node_resources.n; i++) {
        int32_t node = s.numa_node_resources.items[i].node;
        if (node >= 0 && node < 64)
            bits |= UINT64_C(1) << node;
    }
    return bits;
}

/* When it got its node: the scheduler says so, else the kubelet. */
static nsec_t since_of(const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");

    if (c && c->status == COND_TRUE && c->last_transition_time > 0)
        return c->last_transition_time;
    return p->status.start_time > 0 ? p->status.start_time : p->obj.meta.created;
}

void nr_pod_of(const struct pod *p, struct arena *a, struct nr_pod *ret)
{
    reslist requests = pod_requests(p, NULL, a);

    *ret = (struct nr_pod){
        .ns = p->obj.meta.ns,
        .name = p->obj.meta.name,
        .request = nr_amount_of(&requests),
        .numa_nodes = numa_nodes_of(p, a),
        .since = since_of(p),
        .class = (uint8_t)pod_priority_class(p),
        .qos = (uint8_t)pod_qos_class(p),
        .active = p->status.phase == POD_RUNNING || p->status.phase == POD_PENDING,
    };
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* No machine has more, and sums over a thousand of them still fit 64 bits. */
#define CPU_MILLI_MAX INT64_C(1000000000)
#define MEMORY_MAX    (INT64_C(1) << 53)

static bool is_absurd(const reslist *l)
{
    int64_t cpu = qty_milli(reslist_get(l, RES_CPU)),
            memory = qty_value(reslist_get(l, RES_MEMORY));
    return cpu < 0 || cpu > CPU_MILLI_MAX || memory < 0 || memory > MEMORY_MAX;
}

static const char *absurd_usage(const struct nodemetric_status *s, struct arena *a)
{
    if (is_absurd(&s->node_metric->system_usage.resources))
        return "the NodeMetric reports an impossible use of the system";
    if (is_absurd(&s->node_metric->node_usage.resources))
        return "the NodeMetric reports an impossible use of the node";
    if (s->prod_reclaimable && is_absurd(&s->prod_reclaimable->resource.resources))
        return "the NodeMetric reports impossible reclaimable resources";
    for (uint32_t i = 0; i < s->pods_metric.n; i++)
        if (is_absurd(&s->pods_metric.items[i].usage.resources))
            return arena_printf(a, "the NodeMetric reports an impossible use of pod %s/%s",
                                s->pods_metric.items[i].ns, s->pods_metric.items[i].name);
    for (uint32_t i = 0; i < s->host_application_metric.n; i++)
        if (is_absurd(&s->host_application_metric.items[i].usage.resources))
            return arena_printf(a,
                                "the NodeMetric reports an impossible use of host application %s",
                                s->host_application_metric.items[i].name);
    return NULL;
}

const char *nr_metric_problem(const struct nr_input *in, const struct colocation_strategy *s,
                              struct arena *a)
{
    if (!in->metric)
        return "the node has no NodeMetric";
    nsec_t reported = in->metric->status.update_time;
    if (reported == 0)
        return "the NodeMetric was never reported";
    nsec_t degrade = i64_mul_sat(nr_percent(s->degrade_time_minutes, 15), 60 * NSEC_PER_SEC);
    if (in->now > i64_add_sat(reported, degrade)) {
        char age[KTIME_TEXT_MAX];
        kdur_format((in->now - reported) / NSEC_PER_SEC * NSEC_PER_SEC, age);
        return arena_printf(a, "the last report of the NodeMetric is %s old", age);
    }
    if (!in->metric->status.node_metric)
        return "the NodeMetric reports no use of the node";
    return absurd_usage(&in->metric->status, a);
}

struct nr_amount nr_system_used(const struct nodemetric *m, enum priority_class above,
                                struct nr_amount *ret_host_apps)
{
    int32_t bar = priority_band(above)->default_value;
    struct nr_amount apps = { 0 };

    for (uint32_t i = 0; i < m->status.host_application_metric.n; i++) {
        const struct host_application_metric *h = &m->status.host_application_metric.items[i];
        const struct priority_band *b = priority_band(priority_class_parse(h->priority));
        if (b && b->default_value > bar)
            apps = nr_add(apps, nr_amount_of(&h->usage.resources));
    }
    *ret_host_apps = apps;
    return nr_add(nr_amount_of(&m->status.node_metric->system_usage.resources), apps);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct nr_amount nr_kubelet_reserved(const struct node *n)
{
    return nr_clamp(
        nr_sub(nr_amount_of(&n->status.capacity), nr_amount_of(&n->status.allocatable)));
}

struct nr_amount nr_annotation_reserved(const struct node *n, struct arena *a)
{
    struct node_reservation r;
    struct cpuset cpus;

    if (node_reservation_read(&n->obj.meta.annotations, a, &r, NULL) <= 0)
        return (struct nr_amount){ 0 };
    struct nr_amount out = nr_amount_of(&r.resources);
    if (str_empty(r.reserved_cpus))
        return out;
    if (cpuset_parse(r.reserved_cpus, strlen(r.reserved_cpus), &cpus, NULL) < 0)
        return (struct nr_amount){ 0 };
    out.cpu = qty_from_i64(cpuset_count(&cpus), QTY_DECIMAL_SI);
    return out;
}

/* ---- pairs of pods and metrics --------------------------------------------------------------- */

struct metric_index {
    uint32_t *slots; /* number of the metric + 1; 0: free */
    uint32_t mask;
    bool *taken; /* by metric: it has an active pod, or a later entry of the same pod */
};

static uint32_t hash_key(const char *ns, const char *name)
{
    return (uint32_t)(hash_bytes(name, strlen(name)) + 31 * (unsigned char)ns[0]);
}

static uint32_t *find_slot(const struct metric_index *x, const struct nodemetric_status *s,
                           const char *ns, const char *name)
{
    for (uint32_t at = hash_key(ns, name);; at++) {
        uint32_t *slot = &x->slots[at & x->mask];
        if (*slot == 0)
            return slot;
        const struct pod_metric_info *m = &s->pods_metric.items[*slot - 1];
        if (streq(m->name, name) && (m->ns == ns || streq(m->ns, ns)))
            return slot;
    }
}

static struct metric_index index_metrics(const struct nodemetric_status *s, struct arena *a)
{
    uint32_t n = 8;

    while (n < s->pods_metric.n * 2)
        n *= 2;
    struct metric_index x = { arena_newn0(a, n, uint32_t), n - 1,
                              arena_newn0(a, s->pods_metric.n + 1, bool) };
    for (uint32_t i = 0; i < s->pods_metric.n; i++) {
        const struct pod_metric_info *m = &s->pods_metric.items[i];
        uint32_t *slot = find_slot(&x, s, m->ns, m->name);
        if (*slot)
            x.taken[*slot - 1] = true;
        *slot = i + 1;
    }
    return x;
}

static bool is_low(enum priority_class c)
{
    return c == PRIO_BATCH || c == PRIO_FREE;
}

static void collect_dangling(const struct nodemetric_status *s, const struct metric_index *x,
                             struct arena *a, struct nr_hp_set *ret)
{
    ret->dangling = arena_newn0(a, s->pods_metric.n + 1, struct nr_amount);
    for (uint32_t i = 0; i < s->pods_metric.n; i++) {
        const struct pod_metric_info *m = &s->pods_metric.items[i];
        if (!x->taken[i] && !is_low(priority_class_parse(m->priority)))
            ret->dangling[ret->ndangling++] = nr_amount_of(&m->usage.resources);
    }
}

void nr_hp_collect(const struct nr_input *in, const struct colocation_strategy *strategy,
                   struct arena *a, struct nr_hp_set *ret)
{
    /* With reports that come a little late, the second one is still waited for. */
    nsec_t interval =
        i64_mul_sat(nr_percent(strategy->metric_report_interval_seconds, 60), NSEC_PER_SEC / 4 * 5);
    nsec_t first = i64_sub_sat(in->metric->status.update_time, interval);
    const struct nodemetric_status *s = &in->metric->status;
    struct metric_index x = index_metrics(s, a);

    *ret = (struct nr_hp_set){ .pods = arena_newn0(a, in->npods + 1, struct nr_hp_pod) };
    for (size_t i = 0; i < in->npods; i++) {
        const struct nr_pod *p = in->pods[i];
        if (!p->active)
            continue;
        uint32_t slot = *find_slot(&x, s, p->ns, p->name);
        if (slot)
            x.taken[slot - 1] = true;
        if (is_low((enum priority_class)p->class))
            continue;
        ret->pods[ret->npods++] = (struct nr_hp_pod){
            .request = p->request,
            .used = slot ? nr_amount_of(&s->pods_metric.items[slot - 1].usage.resources)
                         : (struct nr_amount){ { 0 }, { 0 } },
            .numa_nodes = p->numa_nodes,
            .measured = slot != 0,
            .lse = p->qos == QOS_LSE,
            .fresh = p->since > first,
        };
    }
    collect_dangling(s, &x, a, ret);
}
