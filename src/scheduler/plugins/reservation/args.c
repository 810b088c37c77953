/* args.c - ReservationArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/reservation/args.h"

#include "api/names.h"
#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_false, "false");
ARGS_DEFAULT(def_1, "1");
ARGS_DEFAULT(def_10, "10");
ARGS_DEFAULT(def_60, "60");
ARGS_DEFAULT(def_100, "100");
ARGS_DEFAULT(def_day, "86400");
#define OMIT .flags = KF_OMITEMPTY

ARGS_DEFAULT(def_pre_label, "\"pod.koordinator.sh/is-pre-allocatable\"");
ARGS_DEFAULT(def_pre_priority, "\"pod.koordinator.sh/pre-allocatable-priority\"");
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

#define STYPE struct selector_index
static const struct kfield selector_index_fields[] = {
    KF(STYPE, enabled, "enabled", KF_BOOL, OMIT),
    KF_LIST_OF(STYPE, prefixes, "keyPrefixes", KF_STR, OMIT),
    KF_LIST_OF(STYPE, keys, "keys", KF_STR, OMIT),
};
static const struct kschema selector_index_schema =
    KSCHEMA("ReservationSelectorIndex", STYPE, selector_index_fields);
#undef STYPE

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

static const char *check_resource(const char *name)
{
    if (!name_check_extended_resource(name))
        return NULL;
    return "must be an extended resource name (e.g. example.com/gpu); native resources cannot be "
           "ignored";
}

/* Could there be an extended resource with this prefix? */
static const char *check_group(const char *group)
{
    CLEANUP(mem_free) char *name = xasprintf("%s/x", group);

    if (strchr(group, '/'))
        return "resource group name can't contain '/'";
    if (!name_check_extended_resource(name))
        return NULL;
    return "must be usable as an extended resource prefix (a valid DNS subdomain and not the "
           "reserved \"kubernetes.io\" namespace)";
}

static int check_names(const kstrlist *l, const char *path, const char *(*check)(const char *name),
                       struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const char *wrong = check(l->items[i]);
        if (wrong)
            return kerr_api(err, -EINVAL, KR_INVALID, "%s[%u]: Invalid value: \"%.64s\": %.160s",
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
        r = config_range("controllerWorkers", p->workers.v, 0, INT32_MAX, err);
    if (r == 0)
        r = config_range("gcDurationSeconds", p->gc_duration, 0, INT64_MAX, err);
    if (r == 0)
        r = config_range("gcIntervalSeconds", p->gc_interval, 0, INT64_MAX, err);
    if (r == 0)
        r = config_range("resyncIntervalSeconds", p->resync, 0, INT64_MAX, err);
    if (r == 0)
        r = check_names(&p->ignored, "ignoredResources", check_resource, err);
    if (r == 0)
        r = check_names(&p->ignored_groups, "ignoredResourceGroups", check_group, err);
    return r;
}

const struct ks_args reservation_args = { .schema = &reservation_schema,
                                          .check = reservation_check };
