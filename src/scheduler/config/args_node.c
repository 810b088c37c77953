/* args_node.c - args of Koordinator's plugins that judge nodes: LoadAwareScheduling,
 * NodeNUMAResource, DeviceShare (scheduler-core 9.3, api-config 4.2).
 */
#include "scheduler/config/config_int.h"

#include <stdio.h>

#include "api/types.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_true, "true");
DEFAULT(def_false, "false");
DEFAULT(def_180, "180");
#define OMIT .flags = KF_OMITEMPTY

/* ---- numbers by resource --------------------------------------------------------------------- */

struct amount {
    const char *name;
    int64_t value;
};
typedef KLIST(struct amount) amountlist; /* sorted by name */

static const struct amount *amounts_find(const amountlist *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return &l->items[i];
    return NULL;
}

static void amounts_fill(amountlist *l, const char *name, int64_t value, struct arena *a)
{
    amountlist longer = { .n = 0 };
    bool put = false;

    if (amounts_find(l, name))
        return;
    longer.items = arena_newn0(a, l->n + 1, struct amount);
    for (uint32_t i = 0; i < l->n; i++) {
        if (!put && strcmp(name, l->items[i].name) < 0) {
            longer.items[longer.n++] = (struct amount){ name, value };
            put = true;
        }
        longer.items[longer.n++] = l->items[i];
    }
    if (!put)
        longer.items[longer.n++] = (struct amount){ name, value };
    *l = longer;
}

static int amounts_check(const amountlist *l, const char *path, int64_t min, int64_t max,
                         struct kerr *err)
{
    int r = 0;

    for (uint32_t i = 0; i < l->n && r == 0; i++) {
        char at[128];
        (void)snprintf(at, sizeof at, "%s[%.64s]", path, l->items[i].name);
        r = config_range(at, l->items[i].value, min, max, err);
    }
    return r;
}

/* ---- LoadAwareScheduling --------------------------------------------------------------------- */

static const char *const aggregations[] = { "avg", "p50", "p90", "p95", "p99", NULL };
static const struct kmeta aggregation_meta = { .names = aggregations };

struct aggregated {
    amountlist thresholds;
    const char *usage_type, *score_type;
    struct opt_i64 usage_duration, score_duration;
};
#define STYPE struct aggregated
static const struct kfield aggregated_fields[] = {
    KF_MAP_OF(STYPE, thresholds, "usageThresholds", KF_I64, OMIT),
    KF(STYPE, usage_type, "usageAggregationType", KF_STR, OMIT, .meta = &aggregation_meta),
    KF(STYPE, usage_duration, "usageAggregatedDuration", KF_OPT_DUR, OMIT),
    KF(STYPE, score_type, "scoreAggregationType", KF_STR, OMIT, .meta = &aggregation_meta),
    KF(STYPE, score_duration, "scoreAggregatedDuration", KF_OPT_DUR, OMIT),
};
static const struct kschema aggregated_schema =
    KSCHEMA("LoadAwareSchedulingAggregatedArgs", STYPE, aggregated_fields);
#undef STYPE

DEFAULT(def_thresholds, "{\"cpu\":65,\"memory\":95}");
struct loadaware_args {
    struct opt_bool filter_expired, schedule_expired;
    struct opt_i64 expiration, after_scheduled, after_initialized;
    amountlist weights, thresholds, prod_thresholds, factors;
    int64_t dominant_weight;
    bool include_sys, by_prod_usage, customize;
    const char *estimator;
    struct aggregated *aggregated;
    kstrlist supported;
};
#define STYPE struct loadaware_args
static const struct kfield loadaware_fields[] = {
    KF(STYPE, filter_expired, "filterExpiredNodeMetrics", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, expiration, "nodeMetricExpirationSeconds", KF_OPT_I64, .meta = &def_180),
    KF(STYPE, schedule_expired, "enableScheduleWhenNodeMetricsExpired", KF_OPT_BOOL,
       .meta = &def_false),
    KF_MAP_OF(STYPE, weights, "resourceWeights", KF_I64, OMIT),
    KF(STYPE, dominant_weight, "dominantResourceWeight", KF_I64, OMIT),
    KF_MAP_OF(STYPE, thresholds, "usageThresholds", KF_I64, .meta = &def_thresholds),
    KF_MAP_OF(STYPE, prod_thresholds, "prodUsageThresholds", KF_I64, OMIT),
    KF(STYPE, include_sys, "prodUsageIncludeSys", KF_BOOL, OMIT),
    KF(STYPE, by_prod_usage, "scoreAccordingProdUsage", KF_BOOL, OMIT),
    KF(STYPE, estimator, "estimator", KF_STR, OMIT),
    KF_MAP_OF(STYPE, factors, "estimatedScalingFactors", KF_I64),
    KF(STYPE, after_scheduled, "estimatedSecondsAfterPodScheduled", KF_OPT_I64, OMIT),
    KF(STYPE, after_initialized, "estimatedSecondsAfterInitialized", KF_OPT_I64, OMIT),
    KF(STYPE, customize, "allowCustomizeEstimation", KF_BOOL, OMIT),
    KF(STYPE, aggregated, "aggregated", KF_OBJ, .sub = &aggregated_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF_LIST_OF(STYPE, supported, "supportedResources", KF_STR, OMIT),
};
const struct kschema args_loadaware_schema =
    KSCHEMA("LoadAwareSchedulingArgs", STYPE, loadaware_fields);
#undef STYPE

void args_loadaware_fill(void *value, const struct ks_args_context *c, struct arena *a)
{
    struct loadaware_args *l = value;

    (void)c;
    if (l->weights.n == 0 && l->dominant_weight == 0) {
        amounts_fill(&l->weights, "cpu", 1, a);
        amounts_fill(&l->weights, "memory", 1, a);
    }
    amounts_fill(&l->factors, "cpu", 85, a);
    amounts_fill(&l->factors, "memory", 70, a);
}

static int aggregated_check(const struct aggregated *g, struct kerr *err)
{
    int r = amounts_check(&g->thresholds, "usageThresholds", 0, 100, err);

    if (r == 0)
        r = config_duration("usageAggregatedDuration", g->usage_duration.v, err);
    if (r == 0)
        r = config_duration("scoreAggregatedDuration", g->score_duration.v, err);
    return r;
}

int args_loadaware_check(const void *value, struct kerr *err)
{
    const struct loadaware_args *l = value;

    if (l->expiration.v <= 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "nodeMetricExpirationSeconds: Invalid value: %lld: "
                        "nodeMetricExpiredSeconds should be a positive value",
                        (long long)l->expiration.v);
    int r = amounts_check(&l->weights, "resourceWeights", 1, 100, err);
    if (r == 0)
        r = config_range("dominantResourceWeight", l->dominant_weight, 0, 100, err);
    if (r == 0)
        r = amounts_check(&l->thresholds, "usageThresholds", 0, 100, err);
    if (r == 0)
        r = amounts_check(&l->factors, "estimatedScalingFactors", 1, 100, err);
    for (uint32_t i = 0; i < l->weights.n && r == 0; i++)
        if (!amounts_find(&l->factors, l->weights.items[i].name))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "estimatedScalingFactors[%.64s]: Required value: the resource has a "
                         "weight",
                         l->weights.items[i].name);
    if (r == 0 && l->aggregated && aggregated_check(l->aggregated, err) < 0)
        r = config_under(err, "aggregated");
    return r;
}

/* ---- strategies: NodeNUMAResource, DeviceShare ----------------------------------------------- */

struct koord_weight {
    const char *name;
    int64_t weight;
};
#define STYPE struct koord_weight
static const struct kfield weight_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, weight, "weight", KF_I64),
};
static const struct kschema weight_schema = KSCHEMA("ResourceSpec", STYPE, weight_fields);
#undef STYPE

static const char *const koord_strategies[] = { "MostAllocated", "BalancedAllocation",
                                                "LeastAllocated", NULL };
static const struct kmeta koord_strategy_meta = { .def = "\"LeastAllocated\"",
                                                  .names = koord_strategies };
struct koord_strategy {
    const char *type;
    KLIST(struct koord_weight) resources;
};
#define STYPE struct koord_strategy
static const struct kfield koord_strategy_fields[] = {
    KF(STYPE, type, "type", KF_STR, .meta = &koord_strategy_meta),
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &weight_schema),
};
static const struct kschema koord_strategy_schema =
    KSCHEMA("ScoringStrategy", STYPE, koord_strategy_fields);
#undef STYPE

static int strategy_check(const struct koord_strategy *s, const char *path, struct kerr *err)
{
    for (uint32_t i = 0; i < s->resources.n; i++) {
        const struct koord_weight *w = &s->resources.items[i];
        if (w->weight < 1 || w->weight > 100)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "%s.resources[%u].weight: Invalid value: %lld: resource weight of "
                            "%.64s not in valid range [1, 100]",
                            path, i, (long long)w->weight, w->name);
    }
    return 0;
}

DEFAULT(def_bind_policy, "\"FullPCPUs\"");
DEFAULT(def_numa_strategy, "{\"type\":\"LeastAllocated\",\"resources\":[{\"name\":\"cpu\","
                           "\"weight\":1},{\"name\":\"memory\",\"weight\":1}]}");
struct numa_args {
    const char *bind_policy;
    struct koord_strategy *node, *zone;
};
#define STYPE struct numa_args
static const struct kfield numa_fields[] = {
    KF(STYPE, bind_policy, "defaultCPUBindPolicy", KF_OPT_STR, .meta = &def_bind_policy),
    KF(STYPE, node, "scoringStrategy", KF_OBJ, .sub = &koord_strategy_schema, .flags = KF_PTR,
       .meta = &def_numa_strategy),
    KF(STYPE, zone, "numaScoringStrategy", KF_OBJ, .sub = &koord_strategy_schema, .flags = KF_PTR,
       .meta = &def_numa_strategy),
};
const struct kschema args_numa_schema = KSCHEMA("NodeNUMAResourceArgs", STYPE, numa_fields);
#undef STYPE

int args_numa_check(const void *value, struct kerr *err)
{
    const struct numa_args *n = value;

    if (*n->bind_policy && !streq(n->bind_policy, "FullPCPUs") &&
        !streq(n->bind_policy, "SpreadByPCPUs"))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "defaultCPUBindPolicy: Unsupported value: \"%.64s\": supported values: "
                        "\"FullPCPUs\", \"SpreadByPCPUs\"",
                        n->bind_policy);
    int r = strategy_check(n->node, "scoringStrategy", err);
    return r < 0 ? r : strategy_check(n->zone, "numaScoringStrategy", err);
}

DEFAULT(def_device_strategy, "{\"type\":\"LeastAllocated\",\"resources\":["
                             "{\"name\":\"koordinator.sh/gpu-memory-ratio\",\"weight\":1},"
                             "{\"name\":\"koordinator.sh/gpu-memory\",\"weight\":1},"
                             "{\"name\":\"koordinator.sh/rdma\",\"weight\":1},"
                             "{\"name\":\"koordinator.sh/fpga\",\"weight\":1}]}");
DEFAULT(def_templates,
        "{\"configMapNamespace\":\"koordinator-system\",\"configMapName\":"
        "\"gpu-shared-resource-templates\",\"matchedResources\":[\"huawei.com/npu-core\"]}");
struct gpu_templates {
    const char *ns, *name;
    kstrlist matched;
};
#define STYPE struct gpu_templates
static const struct kfield gpu_templates_fields[] = {
    KF(STYPE, ns, "configMapNamespace", KF_STR, OMIT),
    KF(STYPE, name, "configMapName", KF_STR, OMIT),
    KF_LIST_OF(STYPE, matched, "matchedResources", KF_STR, OMIT),
};
static const struct kschema gpu_templates_schema =
    KSCHEMA("GPUSharedResourceTemplatesConfig", STYPE, gpu_templates_fields);
#undef STYPE

struct gpu_model {
    const char *vendor, *model;
};
#define STYPE struct gpu_model
static const struct kfield gpu_model_fields[] = {
    KF(STYPE, vendor, "vendor", KF_STR, OMIT),
    KF(STYPE, model, "model", KF_STR, OMIT),
};
static const struct kschema gpu_model_schema = KSCHEMA("GPUModel", STYPE, gpu_model_fields);
#undef STYPE

struct device_args {
    const char *allocator; /* deprecated, without effect */
    struct koord_strategy *strategy;
    bool no_alignment;
    struct gpu_templates *templates;
    KLIST(struct gpu_model) unsupported;
};
#define STYPE struct device_args
static const struct kfield device_fields[] = {
    KF(STYPE, allocator, "allocator", KF_STR, OMIT),
    KF(STYPE, strategy, "scoringStrategy", KF_OBJ, .sub = &koord_strategy_schema, .flags = KF_PTR,
       .meta = &def_device_strategy),
    KF(STYPE, no_alignment, "disableDeviceNUMATopologyAlignment", KF_BOOL, OMIT),
    KF(STYPE, templates, "gpuSharedResourceTemplatesConfig", KF_OBJ, .sub = &gpu_templates_schema,
       .flags = KF_PTR, .meta = &def_templates),
    KF_LIST_OF(STYPE, unsupported, "gpuShareUnsupportedModels", KF_OBJ, .sub = &gpu_model_schema,
               OMIT),
};
const struct kschema args_device_schema = KSCHEMA("DeviceShareArgs", STYPE, device_fields);
#undef STYPE

int args_device_check(const void *value, struct kerr *err)
{
    return strategy_check(((const struct device_args *)value)->strategy, "scoringStrategy", err);
}
