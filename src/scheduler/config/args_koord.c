/* args_koord.c - args of Koordinator's other plugins: Reservation, ElasticQuota, Coscheduling,
 * SchedulingHint and two that score (scheduler-core 9.3, api-config 4.2).
 */
#include "scheduler/config/config_int.h"

#include "api/names.h"
#include "api/types.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_true, "true");
DEFAULT(def_false, "false");
DEFAULT(def_1, "1");
DEFAULT(def_10, "10");
DEFAULT(def_60, "60");
DEFAULT(def_100, "100");
DEFAULT(def_day, "86400");
DEFAULT(def_1s, "\"1s\"");
DEFAULT(def_120s, "\"120s\"");
DEFAULT(def_600s, "\"600s\"");
#define OMIT .flags = KF_OMITEMPTY

/* ---- Reservation ----------------------------------------------------------------------------- */

DEFAULT(def_pre_label, "\"pod.koordinator.sh/is-pre-allocatable\"");
DEFAULT(def_pre_priority, "\"pod.koordinator.sh/pre-allocatable-priority\"");
struct pre_allocation {
    bool cluster, prefer_others;
    const char *label_key, *priority_key;
};
#define STYPE struct pre_allocation
static const struct kfield pre_allocation_fields[] = {
    KF(STYPE, cluster, "enableClusterMode", KF_BOOL, OMIT),
    KF(STYPE, label_key, "clusterLabelKey", KF_STR, .meta = &def_pre_label),
    KF(STYPE, priority_key, "clusterPriorityAnnotationKey", KF_STR, .meta = &def_pre_priority),
    KF(STYPE, prefer_others, "preferNoPreAllocatedPods", KF_BOOL, OMIT),
};
static const struct kschema pre_allocation_schema =
    KSCHEMA("PreAllocationConfig", STYPE, pre_allocation_fields);
#undef STYPE

struct selector_index {
    bool enabled;
    kstrlist prefixes, keys;
};
#define STYPE struct selector_index
static const struct kfield selector_index_fields[] = {
    KF(STYPE, enabled, "enabled", KF_BOOL, OMIT),
    KF_LIST_OF(STYPE, prefixes, "keyPrefixes", KF_STR, OMIT),
    KF_LIST_OF(STYPE, keys, "keys", KF_STR, OMIT),
};
static const struct kschema selector_index_schema =
    KSCHEMA("ReservationSelectorIndex", STYPE, selector_index_fields);
#undef STYPE

struct reservation_args {
    struct opt_bool preemption;
    struct opt_i32 percentage, absolute, workers;
    int64_t gc_duration, gc_interval, resync;
    bool no_gc;
    struct pre_allocation *pre;
    kstrlist ignored, ignored_groups;
    struct selector_index *index;
};
#define STYPE struct reservation_args
static const struct kfield reservation_fields[] = {
    KF(STYPE, preemption, "enablePreemption", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, percentage, "minCandidateNodesPercentage", KF_OPT_I32, .meta = &def_10),
    KF(STYPE, absolute, "minCandidateNodesAbsolute", KF_OPT_I32, .meta = &def_100),
    KF(STYPE, workers, "controllerWorkers", KF_OPT_I32, .meta = &def_1),
    KF(STYPE, gc_duration, "gcDurationSeconds", KF_I64, .meta = &def_day),
    KF(STYPE, gc_interval, "gcIntervalSeconds", KF_I64, .meta = &def_60),
    KF(STYPE, resync, "resyncIntervalSeconds", KF_I64, .meta = &def_60),
    KF(STYPE, no_gc, "disableGarbageCollection", KF_BOOL, OMIT),
    KF(STYPE, pre, "preAllocationConfig", KF_OBJ, .sub = &pre_allocation_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF_LIST_OF(STYPE, ignored, "ignoredResources", KF_STR, OMIT),
    KF_LIST_OF(STYPE, ignored_groups, "ignoredResourceGroups", KF_STR, OMIT),
    KF(STYPE, index, "reservationSelectorIndex", KF_OBJ, .sub = &selector_index_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema reservation_schema =
    KSCHEMA("ReservationArgs", STYPE, reservation_fields);
#undef STYPE

static const char *group_check(const char *group)
{
    if (strchr(group, '/'))
        return "resource group name can't contain '/'";
    if (streq(group, "kubernetes.io"))
        return "resource group name can't be kubernetes.io";
    return name_check_label_key(str_of(group));
}

static int names_check(const kstrlist *l, const char *path, const char *(*check)(const char *name),
                       struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const char *wrong = check(l->items[i]);
        if (wrong)
            return kerr_api(err, -EINVAL, KR_INVALID, "%s[%u]: Invalid value: \"%.64s\": %.120s",
                            path, i, l->items[i], wrong);
    }
    return 0;
}

static int reservation_check(const void *value, struct kerr *err)
{
    const struct reservation_args *p = value;
    int r = config_range("minCandidateNodesPercentage", p->percentage.v, 0, 100, err);

    if (r == 0)
        r = config_range("minCandidateNodesAbsolute", p->absolute.v, 0, INT32_MAX, err);
    if (r == 0)
        r = config_range("gcDurationSeconds", p->gc_duration, 0, INT64_MAX, err);
    if (r == 0)
        r = config_range("gcIntervalSeconds", p->gc_interval, 0, INT64_MAX, err);
    if (r == 0)
        r = config_range("resyncIntervalSeconds", p->resync, 0, INT64_MAX, err);
    if (r == 0)
        r = names_check(&p->ignored, "ignoredResources", name_check_extended_resource, err);
    if (r == 0)
        r = names_check(&p->ignored_groups, "ignoredResourceGroups", group_check, err);
    return r;
}

/* ---- ElasticQuota ---------------------------------------------------------------------------- */

struct quota_hook {
    const char *key, *factory, *args;
};
#define STYPE struct quota_hook
static const struct kfield quota_hook_fields[] = {
    KF(STYPE, key, "key", KF_STR, OMIT),
    KF(STYPE, factory, "factoryKey", KF_STR, OMIT),
    KF(STYPE, args, "factoryArgs", KF_STR, OMIT),
};
static const struct kschema quota_hook_schema = KSCHEMA("HookPluginConf", STYPE, quota_hook_fields);
#undef STYPE

/* A fifth of the largest number, so that sums of a few do not overflow. */
DEFAULT(def_group_max, "{\"cpu\":\"1844674407370955161\",\"memory\":\"1844674407370955161\"}");
DEFAULT(def_quota_ns, "\"koordinator-system\"");
struct quota_args {
    struct opt_i64 delay_evict, revoke, snapshot;
    reslist default_max, system_max;
    const char *ns;
    struct opt_bool monitor_all, check_parent, runtime, scale_min, spare_default, hint;
    KLIST(struct quota_hook) hooks;
};
#define STYPE struct quota_args
static const struct kfield quota_fields[] = {
    KF(STYPE, delay_evict, "delayEvictTime", KF_OPT_DUR, .meta = &def_120s),
    KF(STYPE, revoke, "revokePodInterval", KF_OPT_DUR, .meta = &def_1s),
    KF_MAP_OF(STYPE, default_max, "defaultQuotaGroupMax", KF_QTY, .meta = &def_group_max),
    KF_MAP_OF(STYPE, system_max, "systemQuotaGroupMax", KF_QTY, .meta = &def_group_max),
    KF(STYPE, ns, "quotaGroupNamespace", KF_STR, .meta = &def_quota_ns),
    KF(STYPE, monitor_all, "monitorAllQuotas", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, check_parent, "enableCheckParentQuota", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, runtime, "enableRuntimeQuota", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, scale_min, "enableMinQuotaScale", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, spare_default, "disableDefaultQuotaPreemption", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, hint, "enableQueueHint", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, snapshot, "quotaSnapshotUpdateInterval", KF_OPT_DUR, .meta = &def_120s),
    KF_LIST_OF(STYPE, hooks, "hookPlugins", KF_OBJ, .sub = &quota_hook_schema, OMIT),
};
static const struct kschema quota_schema = KSCHEMA("ElasticQuotaArgs", STYPE, quota_fields);
#undef STYPE

static int amounts_check(const reslist *l, const char *path, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (qty_sign(l->items[i].value) < 0)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "%s[%.64s]: Invalid value: must not be negative", path,
                            l->items[i].name);
    return 0;
}

static int quota_check(const void *value, struct kerr *err)
{
    const struct quota_args *q = value;
    int r = config_duration("delayEvictTime", q->delay_evict.v, err);

    if (r == 0)
        r = config_duration("revokePodInterval", q->revoke.v, err);
    if (r == 0)
        r = amounts_check(&q->default_max, "defaultQuotaGroupMax", err);
    if (r == 0)
        r = amounts_check(&q->system_max, "systemQuotaGroupMax", err);
    return r;
}

/* ---- Coscheduling, SchedulingHint ------------------------------------------------------------ */

DEFAULT(def_match_policy, "\"once-satisfied\"");
struct gang_args {
    struct opt_i64 timeout, workers;
    bool skip_cycle;
    struct opt_bool preemption, topology;
    const char *match_policy;
};
#define STYPE struct gang_args
static const struct kfield gang_fields[] = {
    KF(STYPE, timeout, "defaultTimeout", KF_OPT_DUR, .meta = &def_600s),
    KF(STYPE, workers, "controllerWorkers", KF_OPT_I64, .meta = &def_1),
    KF(STYPE, skip_cycle, "skipCheckScheduleCycle", KF_BOOL, OMIT),
    KF(STYPE, preemption, "enablePreemption", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, topology, "awareNetworkTopology", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, match_policy, "defaultMatchPolicy", KF_STR, .meta = &def_match_policy),
};
static const struct kschema gang_schema = KSCHEMA("CoschedulingArgs", STYPE, gang_fields);
#undef STYPE

static int gang_check(const void *value, struct kerr *err)
{
    const struct gang_args *g = value;

    if (g->timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "defaultTimeout: Invalid value: coeSchedulingArgs DefaultTimeoutSeconds "
                        "invalid");
    return config_range("controllerWorkers", g->workers.v, 1, INT64_MAX, err);
}

struct hint_args {
    struct opt_i64 max_nodes;
};
#define STYPE struct hint_args
static const struct kfield hint_fields[] = {
    KF(STYPE, max_nodes, "maxHintNodes", KF_OPT_I64, .meta = &def_100),
};
static const struct kschema hint_schema = KSCHEMA("SchedulingHintArgs", STYPE, hint_fields);
#undef STYPE

static int hint_check(const void *value, struct kerr *err)
{
    return config_range("maxHintNodes", ((const struct hint_args *)value)->max_nodes.v, 1,
                        INT64_MAX, err);
}

/* ---- NodeResourcesFitPlus, ScarceResourceAvoidance ------------------------------------------- */

struct plus_resource {
    const char *type;
    int64_t weight;
};
#define STYPE struct plus_resource
static const struct kfield plus_resource_fields[] = {
    KF(STYPE, type, "type", KF_STR),
    KF(STYPE, weight, "weight", KF_I64),
};
static const struct kschema plus_resource_schema =
    KSCHEMA("ResourcesType", STYPE, plus_resource_fields);
#undef STYPE

struct plus_args {
    KLIST(struct {
        const char *name;
        struct plus_resource value;
    })
    resources;
};
#define STYPE struct plus_args
static const struct kfield plus_fields[] = {
    KF_MAP_OF(STYPE, resources, "resources", KF_OBJ, .sub = &plus_resource_schema, OMIT),
};
static const struct kschema plus_schema = KSCHEMA("NodeResourcesFitPlusArgs", STYPE, plus_fields);
#undef STYPE

struct scarce_args {
    kstrlist resources;
};
#define STYPE struct scarce_args
static const struct kfield scarce_fields[] = {
    KF_LIST_OF(STYPE, resources, "resources", KF_STR, OMIT),
};
static const struct kschema scarce_schema =
    KSCHEMA("ScarceResourceAvoidanceArgs", STYPE, scarce_fields);
#undef STYPE

const struct args_table args_koord[] = {
    { "Coscheduling", { &gang_schema, NULL, gang_check } },
    { "DeviceShare", { &args_device_schema, NULL, args_device_check } },
    { "ElasticQuota", { &quota_schema, NULL, quota_check } },
    { "LoadAwareScheduling",
      { &args_loadaware_schema, args_loadaware_fill, args_loadaware_check } },
    { "NodeNUMAResource", { &args_numa_schema, NULL, args_numa_check } },
    { "NodeResourcesFitPlus", { &plus_schema, NULL, NULL } },
    { "Reservation", { &reservation_schema, NULL, reservation_check } },
    { "ScarceResourceAvoidance", { &scarce_schema, NULL, NULL } },
    { "SchedulingHint", { &hint_schema, NULL, hint_check } },
};
const size_t args_koord_n = ARRAY_LEN(args_koord);
