/* args_resources.c - args of the plugins that score by resources: NodeResourcesFit and
 * NodeResourcesBalancedAllocation (scheduler-core 4.3).
 */
#include "scheduler/config/config_int.h"

#include "api/names.h"

static const struct kmeta def_1 = { .def = "1" };
static const struct kmeta def_resources = {
    .def = "[{\"name\":\"cpu\",\"weight\":1},{\"name\":\"memory\",\"weight\":1}]",
};

/* ---- resources and shapes -------------------------------------------------------------------- */

struct resource_weight {
    const char *name;
    int64_t weight;
};
#define STYPE struct resource_weight
static const struct kfield resource_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, weight, "weight", KF_I64, .meta = &def_1),
};
static const struct kschema resource_schema = KSCHEMA("ResourceSpec", STYPE, resource_fields);
#undef STYPE

struct shape_point {
    int32_t utilization, score;
};
typedef KLIST(struct shape_point) shape_list;
#define STYPE struct shape_point
static const struct kfield point_fields[] = {
    KF(STYPE, utilization, "utilization", KF_I32),
    KF(STYPE, score, "score", KF_I32),
};
static const struct kschema point_schema = KSCHEMA("UtilizationShapePoint", STYPE, point_fields);
#undef STYPE

static int shape_check(const shape_list *s, struct kerr *err)
{
    if (s->n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "shape: Required value: at least one point must be specified");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct shape_point *p = &s->items[i];
        if (i > 0 && p[-1].utilization >= p->utilization)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "shape[%u].utilization: Invalid value: %d: values must be sorted in "
                            "increasing order",
                            i, (int)p->utilization);
        if (p->utilization < 0 || p->utilization > 100)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "shape[%u].utilization: Invalid value: %d: not in valid range [0, 100]",
                            i, (int)p->utilization);
        if (p->score < 0 || p->score > 10)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "shape[%u].score: Invalid value: %d: not in valid range [0, 10]", i,
                            (int)p->score);
    }
    return 0;
}

/* ---- NodeResourcesFit ------------------------------------------------------------------------ */

struct ratio_param {
    shape_list shape;
};
#define STYPE struct ratio_param
static const struct kfield ratio_fields[] = {
    KF_LIST_OF(STYPE, shape, "shape", KF_OBJ, .sub = &point_schema),
};
static const struct kschema ratio_schema =
    KSCHEMA("RequestedToCapacityRatioParam", STYPE, ratio_fields);
#undef STYPE

struct strategy {
    const char *type;
    KLIST(struct resource_weight) resources;
    struct ratio_param *ratio;
};
static const char *const strategy_types[] = { "LeastAllocated", "MostAllocated",
                                              "RequestedToCapacityRatio", NULL };
static const struct kmeta strategy_type_meta = { .def = "\"LeastAllocated\"",
                                                 .names = strategy_types };
#define STYPE struct strategy
static const struct kfield strategy_fields[] = {
    KF(STYPE, type, "type", KF_STR, .meta = &strategy_type_meta),
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &resource_schema,
               .meta = &def_resources),
    KF(STYPE, ratio, "requestedToCapacityRatio", KF_OBJ, .sub = &ratio_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema strategy_schema = KSCHEMA("ScoringStrategy", STYPE, strategy_fields);
#undef STYPE

struct fit_args {
    KLIST(const char *) ignored, ignored_groups;
    struct strategy strategy;
};
#define STYPE struct fit_args
static const struct kfield fit_fields[] = {
    KF_LIST_OF(STYPE, ignored, "ignoredResources", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, ignored_groups, "ignoredResourceGroups", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, strategy, "scoringStrategy", KF_OBJ, .sub = &strategy_schema),
};
const struct kschema args_fit_schema = KSCHEMA("NodeResourcesFitArgs", STYPE, fit_fields);
#undef STYPE

static int fit_check_ignored(const struct fit_args *f, struct kerr *err)
{
    for (uint32_t i = 0; i < f->ignored.n; i++) {
        const char *wrong = name_check_label_key(str_of(f->ignored.items[i]));
        if (wrong)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "ignoredResources[%u]: Invalid value: \"%.64s\": %.120s", i,
                            f->ignored.items[i], wrong);
    }
    for (uint32_t i = 0; i < f->ignored_groups.n; i++) {
        const char *group = f->ignored_groups.items[i];
        const char *wrong = strchr(group, '/') ? "resource group name can't contain '/'"
                                               : name_check_label_key(str_of(group));
        if (wrong)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "ignoredResourceGroups[%u]: Invalid value: \"%.64s\": %.120s", i, group,
                            wrong);
    }
    return 0;
}

static int fit_check_strategy(const struct strategy *s, struct kerr *err)
{
    bool ratio = streq(s->type, "RequestedToCapacityRatio");

    for (uint32_t i = 0; i < s->resources.n; i++) {
        const struct resource_weight *w = &s->resources.items[i];
        if (w->weight <= 0 || w->weight > 100)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "resources[%u].weight: Invalid value: %lld: resource weight of %.64s "
                            "not in valid range (0, 100]",
                            i, (long long)w->weight, w->name);
    }
    if (ratio && !s->ratio)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "requestedToCapacityRatio: Required value: must be specified when type is "
                        "RequestedToCapacityRatio");
    if (!ratio && s->ratio)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "requestedToCapacityRatio: Forbidden: must be nil when type is not "
                        "RequestedToCapacityRatio");
    if (ratio && shape_check(&s->ratio->shape, err) < 0)
        return config_under(err, "requestedToCapacityRatio");
    return 0;
}

int args_fit_check(const void *value, struct kerr *err)
{
    const struct fit_args *f = value;
    int r = fit_check_ignored(f, err);

    if (r == 0 && fit_check_strategy(&f->strategy, err) < 0)
        r = config_under(err, "scoringStrategy");
    return r;
}

/* ---- NodeResourcesBalancedAllocation --------------------------------------------------------- */

struct balanced_args {
    KLIST(struct resource_weight) resources;
};
#define STYPE struct balanced_args
static const struct kfield balanced_fields[] = {
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &resource_schema,
               .meta = &def_resources),
};
const struct kschema args_balanced_schema =
    KSCHEMA("NodeResourcesBalancedAllocationArgs", STYPE, balanced_fields);
#undef STYPE

int args_balanced_check(const void *value, struct kerr *err)
{
    const struct balanced_args *b = value;
    int r = config_at_most(b->resources.n, CONFIG_ITEMS_MAX, "resources", err);

    for (uint32_t i = 0; i < b->resources.n && r == 0; i++) {
        const struct resource_weight *w = &b->resources.items[i];
        for (uint32_t j = 0; j < i; j++)
            if (streq(b->resources.items[j].name, w->name))
                return kerr_api(err, -EINVAL, KR_INVALID,
                                "resources[%u].name: Duplicate value: \"%.64s\"", i, w->name);
        if (w->weight != 1)
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "resources[%u].weight: Invalid value: %lld: must be 1", i,
                         (long long)w->weight);
    }
    return r;
}
