/* nodemetric.h - NodeMetric: what a node and its pods use. Named like the node.
 *
 * Spec by the manager (how to measure), status by koordlet (what was measured).
 */
#ifndef KOORD_API_KOORD_NODEMETRIC_H
#define KOORD_API_KOORD_NODEMETRIC_H
#include "api/koord/device.h"

struct resource_map { /* usage: cpu with milli precision, memory in bytes */
    reslist resources;
    device_infolist devices; /* type, id, minor, resources */
};

/* Names of aggregated usages. */
#define AGGREGATE_AVG "avg"
#define AGGREGATE_P50 "p50"
#define AGGREGATE_P90 "p90"
#define AGGREGATE_P95 "p95"
#define AGGREGATE_P99 "p99"
struct usage_entry {
    const char *type; /* "avg", "p50", ... */
    struct resource_map usage;
};
struct aggregated_usage {
    KLIST(struct usage_entry) usage; /* sorted by type */
    nsec_t duration_ns;
};
typedef KLIST(struct aggregated_usage) aggregated_usagelist;
struct numa_usage {
    int32_t numa_node_id;
    struct resource_map node_usage, system_usage;
};

struct node_metric_info {
    struct resource_map node_usage, system_usage;
    aggregated_usagelist aggregated_node_usages, aggregated_system_usages;
    KLIST(struct numa_usage) numa_usages;
};
struct pod_metric_info {
    const char *name, *ns;
    struct resource_map usage;
    const char *priority, *qos; /* class names of the protocol; "" when none */
    const char *extensions;     /* JSON or NULL */
};
struct host_application_metric {
    const char *name;
    struct resource_map usage;
    const char *priority, *qos;
};
struct metric_prediction {
    struct resource_map resource;
};

struct node_aggregate_policy {
    KLIST(nsec_t) durations_ns;
};
struct metric_collect_policy {
    struct opt_i64 aggregate_duration_seconds, report_interval_seconds;
    struct node_aggregate_policy *node_aggregate_policy;
    const char *node_memory_collect_policy; /* "usageWithoutPageCache", ...; NULL: absent */
};

struct nodemetric_spec { /* one member, which stands directly in struct nodemetric */
    struct metric_collect_policy *collect_policy;
};
struct nodemetric_status {
    nsec_t update_time; /* 0: never reported */
    struct node_metric_info *node_metric;
    KLIST(struct pod_metric_info) pods_metric;
    KLIST(struct host_application_metric) host_application_metric;
    struct metric_prediction *prod_reclaimable, *prod_peak;
};
struct nodemetric {
    struct kobj obj;
    struct metric_collect_policy *collect_policy; /* spec.metricCollectPolicy */
    struct nodemetric_status status;
};

extern const struct kschema metric_collect_policy_schema, nodemetric_spec_schema, nodemetric_schema;
extern const struct kind kind_nodemetric;
extern const struct kind_crd crd_nodemetric;

static inline const struct nodemetric *nodemetric_of(const struct kobj *o)
{
    return container_of(o, const struct nodemetric, obj);
}
/* The usage of one aggregation type ("p95"); NULL when not reported. */
const struct resource_map *aggregated_usage_get(const struct aggregated_usage *u, const char *type);
/* The aggregation over this duration; NULL when not reported. */
const struct aggregated_usage *aggregated_usage_find(const aggregated_usagelist *l,
                                                     nsec_t duration_ns);
#endif
