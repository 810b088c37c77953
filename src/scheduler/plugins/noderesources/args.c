/* args.c - NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs: tables, defaults, checks
 * (scheduler-core 4.3). */
#include "scheduler/plugins/noderesources/args.h"

#include "api/names.h"
#include "base/arena.h"
#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_1, "1");
ARGS_DEFAULT(def_resources, "[{\"name\":\"cpu\",\"weight\":1},{\"name\":\"memory\",\"weight\":1}]");

#define STYPE struct res_weight
static const struct kfield res_weight_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, weight, "weight", KF_I64, .meta = &def_1),
};
static const struct kschema res_weight_schema = KSCHEMA("ResourceSpec", STYPE, res_weight_fields);
#undef STYPE

/* ---- NodeResourcesFit ------------------------------------------------------------------------ */

#define STYPE struct fit_point
static const struct kfield fit_point_fields[] = {
    KF(STYPE, utilization, "utilization", KF_I32),
    KF(STYPE, score, "score", KF_I32),
};
static const struct kschema fit_point_schema =
    KSCHEMA("UtilizationShapePoint", STYPE, fit_point_fields);
#undef STYPE

#define STYPE struct fit_ratio
static const struct kfield fit_ratio_fields[] = {
    KF_LIST_OF(STYPE, shape, "shape", KF_OBJ, .sub = &fit_point_schema),
};
static const struct kschema fit_ratio_schema =
    KSCHEMA("RequestedToCapacityRatioParam", STYPE, fit_ratio_fields);
#undef STYPE

static const char *const fit_types[] = { "LeastAllocated", "MostAllocated",
                                         "RequestedToCapacityRatio", NULL };
static const struct kmeta fit_type_meta = { .def = "\"LeastAllocated\"", .names = fit_types };
#define STYPE struct fit_strategy
static const struct kfield fit_strategy_fields[] = {
    KF(STYPE, type, "type", KF_STR, .meta = &fit_type_meta),
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &res_weight_schema,
               .meta = &def_resources),
    KF(STYPE, ratio, "requestedToCapacityRatio", KF_OBJ, .sub = &fit_ratio_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema fit_strategy_schema =
    KSCHEMA("ScoringStrategy", STYPE, fit_strategy_fields);
#undef STYPE

#define STYPE struct fit_args
static const struct kfield fit_fields[] = {
    KF_LIST_OF(STYPE, ignored, "ignoredResources", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, ignored_groups, "ignoredResourceGroups", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, strategy, "scoringStrategy", KF_OBJ, .sub = &fit_strategy_schema),
};
static const struct kschema fit_schema = KSCHEMA("NodeResourcesFitArgs", STYPE, fit_fields);
#undef STYPE

/* What extenders take care of replaces what the user ignores, as upstream does it. */
static void fit_fill(void *args, const struct ks_args_context *c, struct arena *a)
{
    struct fit_args *f = args;

    if (c->nignored == 0)
        return;
    f->ignored.items = arena_newn0(a, c->nignored, const char *);
    f->ignored.n = c->nignored;
    for (uint32_t i = 0; i < c->nignored; i++)
        f->ignored.items[i] = arena_strdup(a, c->ignored[i]);
}

static int check_ignored(const struct fit_args *f, struct kerr *err)
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

static int check_shape(const struct fit_ratio *r, struct kerr *err)
{
    if (r->shape.n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "shape: Required value: at least one point must be specified");
    for (uint32_t i = 0; i < r->shape.n; i++) {
        const struct fit_point *p = &r->shape.items[i];
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

static int check_strategy(const struct fit_strategy *s, struct kerr *err)
{
    bool ratio = streq(s->type, "RequestedToCapacityRatio");

    for (uint32_t i = 0; i < s->resources.n; i++) {
        const struct res_weight *w = &s->resources.items[i];
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
    if (ratio && check_shape(s->ratio, err) < 0)
        return config_under(err, "requestedToCapacityRatio");
    return 0;
}

static int fit_check(const void *args, struct kerr *err)
{
    const struct fit_args *f = args;
    int r = check_ignored(f, err);

    if (r == 0 && check_strategy(&f->strategy, err) < 0)
        r = config_under(err, "scoringStrategy");
    return r;
}

const struct ks_args fit_args = { .schema = &fit_schema, .fill = fit_fill, .check = fit_check };

/* ---- NodeResourcesBalancedAllocation --------------------------------------------------------- */

#define STYPE struct balanced_args
static const struct kfield balanced_fields[] = {
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &res_weight_schema,
               .meta = &def_resources),
};
static const struct kschema balanced_schema =
    KSCHEMA("NodeResourcesBalancedAllocationArgs", STYPE, balanced_fields);
#undef STYPE

static int balanced_check(const void *args, struct kerr *err)
{
    const struct balanced_args *b = args;
    int r = config_at_most(b->resources.n, CONFIG_ITEMS_MAX, "resources", err);

    for (uint32_t i = 0; i < b->resources.n && r == 0; i++) {
        const struct res_weight *w = &b->resources.items[i];
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

const struct ks_args balanced_args = { .schema = &balanced_schema, .check = balanced_check };
