/* nodemetric.c - tables of NodeMetric (api-crds 1). */
#include "api/koord/nodemetric.h"

static const struct kfield resource_map_fields[] = {
    F_RESLIST(struct resource_map, resources, "resources", "use by resource name"),
    KF_LIST_OF(struct resource_map, devices, "devices", KF_OBJ, OMIT, .sub = &device_info_schema,
               DOC("use by accelerator")),
};
static const struct kschema resource_map_schema =
    KSCHEMA("ResourceMap", struct resource_map, resource_map_fields);

static const struct kfield aggregated_fields[] = {
    KF_MAP_OF(struct aggregated_usage, usage, "usage", KF_OBJ, .sub = &resource_map_schema,
              .flags = KF_OMITEMPTY | KF_INTERN_KEYS, DOC("use by avg, p50, p90, p95 and p99")),
    KF(struct aggregated_usage, duration_ns, "duration", KF_DUR, OMIT, DOC("the window")),
};
static const struct kschema aggregated_schema =
    KSCHEMA("AggregatedUsage", struct aggregated_usage, aggregated_fields);

#define MAP(member, json, text) \
    F(member, json, KF_OBJ, OMIT, .sub = &resource_map_schema, DOC(text))

#define F(member, json, type, ...) KF(struct numa_usage, member, json, type, __VA_ARGS__)
static const struct kfield numa_fields[] = {
    F(numa_node_id, "numaNodeID", KF_I32, .flags = KF_REQUIRED, DOC("NUMA node")),
    MAP(node_usage, "nodeUsage", "use of the NUMA node"),
    MAP(system_usage, "systemUsage", "use outside of pods"),
};
#undef F
static const struct kschema numa_schema = KSCHEMA("NUMAUsage", struct numa_usage, numa_fields);

#define F(member, json, type, ...) KF(struct node_metric_info, member, json, type, __VA_ARGS__)
static const struct kfield node_metric_fields[] = {
    MAP(node_usage, "nodeUsage", "use of the whole node"),
    KF_LIST_OF(struct node_metric_info, aggregated_node_usages, "aggregatedNodeUsages", KF_OBJ,
               OMIT, .sub = &aggregated_schema, DOC("use of the node over longer windows")),
    MAP(system_usage, "systemUsage", "use outside of pods and host applications"),
    KF_LIST_OF(struct node_metric_info, aggregated_system_usages, "aggregatedSystemUsages", KF_OBJ,
               OMIT, .sub = &aggregated_schema, DOC("use outside of pods over longer windows")),
    KF_LIST_OF(struct node_metric_info, numa_usages, "numaUsages", KF_OBJ, OMIT,
               .sub = &numa_schema, DOC("use by NUMA node")),
};
#undef F
static const struct kschema node_metric_schema =
    KSCHEMA("NodeMetricInfo", struct node_metric_info, node_metric_fields);

#define F(member, json, type, ...) KF(struct pod_metric_info, member, json, type, __VA_ARGS__)
static const struct kfield pod_metric_fields[] = {
    F(name, "name", KF_STR, OMIT, DOC("pod name")),
    F(ns, "namespace", KF_STR, OMIT_STR, DOC("pod namespace")),
    MAP(usage, "podUsage", "use of the pod"),
    F(priority, "priority", KF_STR, OMIT_STR, DOC("priority class of the pod")),
    F(qos, "qos", KF_STR, OMIT_STR, DOC("QoS class of the pod")),
    F(extensions, "extensions", KF_RAW, OMIT,
      META(.raw_object = true, .description = "values of third parties")),
};
#undef F
static const struct kschema pod_metric_schema =
    KSCHEMA("PodMetricInfo", struct pod_metric_info, pod_metric_fields);

#define F(member, json, type, ...) \
    KF(struct host_application_metric, member, json, type, __VA_ARGS__)
static const struct kfield host_metric_fields[] = {
    F(name, "name", KF_STR, OMIT_STR, DOC("name of the host application")),
    MAP(usage, "usage", "use of the application"),
    F(priority, "priority", KF_STR, OMIT_STR, DOC("its priority class")),
    F(qos, "qos", KF_STR, OMIT_STR, DOC("its QoS class")),
};
#undef F
static const struct kschema host_metric_schema =
    KSCHEMA("HostApplicationMetricInfo", struct host_application_metric, host_metric_fields);

#define F(member, json, type, ...) KF(struct metric_prediction, member, json, type, __VA_ARGS__)
static const struct kfield prediction_fields[] = {
    MAP(resource, "resource", "the predicted amount"),
};
#undef F
static const struct kschema prediction_schema =
    KSCHEMA("PredictedMetric", struct metric_prediction, prediction_fields);

/* ---- spec ------------------------------------------------------------------------------------ */

static const struct kfield aggregate_policy_fields[] = {
    KF_LIST_OF(struct node_aggregate_policy, durations_ns, "durations", KF_DUR, OMIT,
               DOC("windows of the aggregated usages")),
};
static const struct kschema aggregate_policy_schema =
    KSCHEMA("AggregatePolicy", struct node_aggregate_policy, aggregate_policy_fields);

static const char *const memory_policies[] = { "usageWithHotPageCache", "usageWithoutPageCache",
                                               "usageWithPageCache", NULL };
#define F(member, json, type, ...) KF(struct metric_collect_policy, member, json, type, __VA_ARGS__)
static const struct kfield collect_policy_fields[] = {
    F(aggregate_duration_seconds, "aggregateDurationSeconds", KF_OPT_I64, OMIT,
      DOC("window of the averages")),
    F(report_interval_seconds, "reportIntervalSeconds", KF_OPT_I64, OMIT,
      DOC("period of the reports")),
    F(node_aggregate_policy, "nodeAggregatePolicy", KF_OBJ, OMIT_PTR,
      .sub = &aggregate_policy_schema, DOC("what to aggregate over longer windows")),
    F(node_memory_collect_policy, "nodeMemoryCollectPolicy", KF_OPT_STR, OMIT_STR,
      META(.names = memory_policies, .description = "how memory use is counted")),
};
#undef F
const struct kschema metric_collect_policy_schema =
    KSCHEMA("NodeMetricCollectPolicy", struct metric_collect_policy, collect_policy_fields);

static const struct kfield spec_fields[] = {
    KF(struct nodemetric_spec, collect_policy, "metricCollectPolicy", KF_OBJ, OMIT_PTR,
       .sub = &metric_collect_policy_schema, DOC("what to measure, and how often")),
};
const struct kschema nodemetric_spec_schema =
    KSCHEMA("NodeMetricSpec", struct nodemetric_spec, spec_fields);

/* ---- the kind -------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct nodemetric_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    F(update_time, "updateTime", KF_TIME, OMIT, DOC("time of the last report")),
    F(node_metric, "nodeMetric", KF_OBJ, OMIT_PTR, .sub = &node_metric_schema,
      DOC("use of the node")),
    KF_LIST_OF(struct nodemetric_status, pods_metric, "podsMetric", KF_OBJ, OMIT,
               .sub = &pod_metric_schema, DOC("use of each running pod")),
    KF_LIST_OF(struct nodemetric_status, host_application_metric, "hostApplicationMetric", KF_OBJ,
               OMIT, .sub = &host_metric_schema, DOC("use of each host application")),
    F(prod_reclaimable, "prodReclaimableMetric", KF_OBJ, OMIT_PTR, .sub = &prediction_schema,
      DOC("what production pods are predicted not to need")),
    F(prod_peak, "prodPeakMetric", KF_OBJ, OMIT_PTR, .sub = &prediction_schema,
      DOC("the predicted peak of production pods")),
};
#undef F
static const struct kschema status_schema =
    KSCHEMA("NodeMetricStatus", struct nodemetric_status, status_fields);

static const struct kfield nodemetric_fields[] = {
    F_METADATA(struct nodemetric),
    KF(struct nodemetric, collect_policy, "spec", KF_OBJ, OMIT, .sub = &nodemetric_spec_schema,
       DOC("how to measure")),
    KF(struct nodemetric, status, "status", KF_OBJ, OMIT, .sub = &status_schema,
       DOC("what was measured")),
};
const struct kschema nodemetric_schema =
    KSCHEMA("NodeMetric", struct nodemetric, nodemetric_fields);

const struct kind kind_nodemetric = {
    .group = "slo.koordinator.sh",
    .version = "v1alpha1",
    .kind = "NodeMetric",
    .plural = "nodemetrics",
    .has_status = true,
    .schema = &nodemetric_schema,
};
const struct kind_crd crd_nodemetric = {
    .versions = { { &kind_nodemetric, true } },
    .generator = CONTROLLER_GEN,
    .description = "NodeMetric reports what a node and its pods use.",
};

const struct resource_map *aggregated_usage_get(const struct aggregated_usage *u, const char *type)
{
    for (uint32_t i = 0; i < u->usage.n; i++)
        if (streq(u->usage.items[i].type, type))
            return &u->usage.items[i].usage;
    return NULL;
}

const struct aggregated_usage *aggregated_usage_find(const aggregated_usagelist *l,
                                                     nsec_t duration_ns)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].duration_ns == duration_ns)
            return &l->items[i];
    return NULL;
}
