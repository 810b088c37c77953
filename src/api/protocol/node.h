/* node.h - nodes: colocation, amplification, CPU normalization (api 5.9). */
#ifndef KOORD_API_PROTOCOL_NODE_H
#define KOORD_API_PROTOCOL_NODE_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

/* ---- colocation strategy --------------------------------------------------------------------- */

struct metric_aggregate_policy {
    KLIST(nsec_t) durations_ns;
};
struct colocation_extension {
    const char *name, *json;
};
/* Of the ConfigMap key colocation-config and of one node; defaults: api-config 1.4. */
struct colocation_strategy {
    struct opt_bool enable;
    struct opt_i64 metric_aggregate_duration_seconds, metric_report_interval_seconds;
    struct metric_aggregate_policy *metric_aggregate_policy;
    const char *metric_memory_collect_policy; /* NULL: absent */
    struct opt_i64 cpu_reclaim_threshold_percent;
    const char *cpu_calculate_policy; /* NULL: absent */
    struct opt_i64 memory_reclaim_threshold_percent;
    const char *memory_calculate_policy; /* NULL: absent */
    struct opt_i64 degrade_time_minutes, update_time_threshold_seconds;
    struct opt_f64 resource_diff_threshold;
    const char *mid_reclaim_mode; /* "" when not set */
    struct opt_i64 mid_cpu_threshold_percent, mid_memory_threshold_percent;
    struct opt_i64 mid_unallocated_percent;
    struct opt_i64 mid_static_cpu_reserved_percent, mid_static_memory_reserved_percent;
    struct opt_i64 batch_cpu_threshold_percent, batch_memory_threshold_percent;
    KLIST(struct colocation_extension) extensions;
};
extern const struct kschema colocation_strategy_schema;
DECLARE_ANNOTATION(colocation_strategy, struct colocation_strategy)

/* A ratio label as a percentage: trunc(value * 100) in double precision, so "0.29" gives 28.
 * Absent, negative or bad: not set. */
struct opt_i64 node_ratio_percent(const kstrmap *labels, const char *key);

/* ---- allocatable of others ------------------------------------------------------------------- */

struct origin_allocatable {
    reslist resources;
};
DECLARE_ANNOTATION(origin_allocatable, struct origin_allocatable)

struct third_party_allocation {
    const char *name, *priority;
    reslist resources;
};
struct third_party_allocations {
    KLIST(struct third_party_allocation) allocations;
};
DECLARE_ANNOTATION(third_party_allocations, struct third_party_allocations)
/* Sum over the entries of a priority class. */
reslist third_party_sum(const struct third_party_allocations *t, enum priority_class c,
                        struct arena *a);

/* ---- amplification --------------------------------------------------------------------------- */

struct amplification {
    const char *resource;
    double ratio;
};
struct amplification_ratios {
    KLIST(struct amplification) v; /* sorted by resource */
};
/* Written with exactly two decimals. "" counts as absent. */
DECLARE_ANNOTATION(amplification_ratios, struct amplification_ratios)
/* The ratio of a resource; 0 when it has none. */
double amplification_of(const struct amplification_ratios *r, const char *resource);
/* x when ratio <= 1, else ceil(x * ratio) in double precision. */
int64_t amplify(int64_t x, double ratio);
/* cpu by its milli-value; memory and ephemeral-storage binary, others decimal. */
struct qty amplify_quantity(const char *resource, struct qty q, double ratio);
/* Every entry that has a ratio. */
reslist amplify_list(const reslist *l, const struct amplification_ratios *r, struct arena *a);

DECLARE_ANNOTATION(raw_allocatable, struct reslist_value)

/* ---- CPU normalization ----------------------------------------------------------------------- */

struct f64_value {
    double v;
};
/* "1.20"; 0 and negative are "illegal cpu normalization ratio: ...". */
DECLARE_ANNOTATION(cpu_normalization, struct f64_value)
/* 1 present, 0 absent (then *ret is -1: off), negative: bad. */
int cpu_normalization_ratio(const kstrmap *annotations, double *ret, struct kerr *err);
/* Apart by more than 0.01? */
bool cpu_normalization_differs(double a, double b);
/* The label: 1 and *ret, 0 absent, negative: not a boolean. */
int cpu_normalization_enabled(const kstrmap *labels, bool *ret, struct kerr *err);

/* Bits a second: 1 and *ret, 0 absent, negative: not a quantity. */
int node_network_bandwidth(const kstrmap *annotations, struct qty *ret, struct kerr *err);
#endif
