/* mid.c - plugin MidResource: what prod pods are predicted not to need (manager 5.3). */
#include "manager/noderesource/plugin.h"

#define DEGRADED                                                         \
    "degrade node Mid resource because of abnormal nodeMetric, reason: " \
    "degradedByMidResource"

static void mid_reset(struct nr_result *r)
{
    nr_reset(r, NR_MID_CPU);
    nr_reset(r, NR_MID_MEMORY);
}

/* Capacity of production pods: everything but mid, batch and free. */
static struct nr_amount prod_allocated(const struct nr_input *in)
{
    struct nr_amount sum = { 0 };

    for (size_t i = 0; i < in->npods; i++) {
        const struct nr_pod *p = in->pods[i];
        if (p->active && p->class != PRIO_MID && p->class != PRIO_BATCH && p->class != PRIO_FREE)
            sum = nr_add(sum, p->request);
    }
    return sum;
}

static struct nr_amount by_threshold(const struct nr_mid_terms *t)
{
    return nr_scale(t->capacity, percent_ratio(t->cpu_threshold_percent),
                    percent_ratio(t->memory_threshold_percent));
}

static void mid_static(struct nr_mid_terms *t)
{
    t->result = nr_min(nr_scale(t->capacity, percent_ratio(t->static_cpu_percent),
                                percent_ratio(t->static_memory_percent)),
                       by_threshold(t));
}

static void mid_predicted(const struct nr_input *in, struct arena *a, struct nr_mid_terms *t)
{
    const struct nodemetric_status *s = &in->metric->status;
    const reslist *usage = &s->node_metric->node_usage.resources;
    double unallocated = percent_ratio(t->unallocated_percent);
    struct nr_amount host_apps;

    if (s->prod_reclaimable)
        t->reclaimable = nr_amount_of(&s->prod_reclaimable->resource.resources);
    t->reserved =
        nr_max(nr_system_used(in->metric, PRIO_MID, &host_apps),
               nr_max(nr_kubelet_reserved(in->node), nr_annotation_reserved(in->node, a)));
    t->prod_allocated = prod_allocated(in);
    t->unallocated = nr_clamp(nr_sub(nr_sub(t->capacity, t->reserved), t->prod_allocated));
    t->usage_known = reslist_has(usage, RES_CPU) && reslist_has(usage, RES_MEMORY);
    if (t->usage_known)
        t->unused = nr_sub(t->capacity, nr_amount_of(usage));
    t->result = nr_clamp(nr_min(t->unused, t->reclaimable));
    t->result = nr_add(t->result, nr_scale(t->unallocated, unallocated, unallocated));
    t->result = nr_min(t->result, by_threshold(t));
}

static int mid_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                         struct kerr *err)
{
    const struct colocation_strategy *s = r->strategy;
    struct nr_mid_terms *t = &r->mid;
    const char *problem = nr_metric_problem(in, s, a);

    if (in->node->status.allocatable.n == 0)
        return kerr_set(err, -EINVAL, "missing essential arguments: the node has no allocatable");
    if (problem) {
        mid_reset(r);
        r->outcome[NR_MID].reset = DEGRADED;
        r->outcome[NR_MID].reset_why = problem;
        return 0;
    }
    *t = (struct nr_mid_terms){
        .is_static = s->mid_reclaim_mode && streq(s->mid_reclaim_mode, "static"),
        .capacity = nr_amount_of(&in->node->status.capacity),
        .unallocated_percent = nr_percent(s->mid_unallocated_percent, 0),
        .cpu_threshold_percent = nr_percent(s->mid_cpu_threshold_percent, 100),
        .memory_threshold_percent = nr_percent(s->mid_memory_threshold_percent, 100),
        .static_cpu_percent = nr_percent(s->mid_static_cpu_reserved_percent, 0),
        .static_memory_percent = nr_percent(s->mid_static_memory_reserved_percent, 0),
    };
    if (t->is_static)
        mid_static(t);
    else
        mid_predicted(in, a, t);
    nr_set(r, NR_MID_CPU, qty_from_i64(qty_milli(t->result.cpu), QTY_DECIMAL_SI));
    nr_set(r, NR_MID_MEMORY, t->result.memory);
    return 0;
}

static int mid_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                       struct nr_plan *p, struct kerr *err)
{
    (void)in, (void)a, (void)err;
    nr_want_item(r, NR_MID_CPU, p);
    nr_want_item(r, NR_MID_MEMORY, p);
    return 0;
}

const struct nr_plugin nr_plugin_mid = {
    .name = "MidResource",
    .calculate = mid_calculate,
    .reset = mid_reset,
    .prepare = mid_prepare,
    .watched = 1u << NR_MID_CPU | 1u << NR_MID_MEMORY,
};
