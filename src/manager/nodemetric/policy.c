/* policy.c - the colocation strategy becomes the spec of a NodeMetric (manager 3). */
#include "manager/nodemetric/policy.h"

static struct metric_collect_policy policy_of(const struct colocation_strategy *s, struct arena *a)
{
    struct node_aggregate_policy *aggregate = NULL;

    if (s->metric_aggregate_policy) {
        aggregate = arena_new0(a, struct node_aggregate_policy);
        aggregate->durations_ns.items = s->metric_aggregate_policy->durations_ns.items;
        aggregate->durations_ns.n = s->metric_aggregate_policy->durations_ns.n;
    }
    return (struct metric_collect_policy){
        .aggregate_duration_seconds = s->metric_aggregate_duration_seconds,
        .report_interval_seconds = s->metric_report_interval_seconds,
        .node_aggregate_policy = aggregate,
        .node_memory_collect_policy = s->metric_memory_collect_policy,
    };
}

bool nodemetric_policy(const struct slo_section *colocation, const kstrmap *labels,
                       const kstrmap *annotations, struct arena *a,
                       struct metric_collect_policy *ret, struct kerr *why)
{
    const struct colocation_strategy *s =
        colocation_strategy_of(colocation, labels, annotations, a, NULL);

    *why = (struct kerr){ 0 };
    if (colocation_strategy_check(s, why) == 0 && !(s->enable.set && s->enable.v))
        kerr_set(why, -EINVAL, "colocation is off for this node");
    *ret = policy_of(why->code < 0 ? &colocation_strategy_default : s, a);
    return why->code == 0;
}
