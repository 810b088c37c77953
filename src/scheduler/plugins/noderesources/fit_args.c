/* fit_args.c - NodeResourcesFitArgs: tables, defaults, validation (scheduler-core 4.3). */
#include "api/names.h"
#include "base/arena.h"
#include "scheduler/plugins/noderesources/noderesources.h"

static const char *const type_names[] = {
    [FIT_DEFAULT] = "",
    [FIT_LEAST] = "LeastAllocated",
    [FIT_MOST] = "MostAllocated",
    [FIT_RATIO] = "RequestedToCapacityRatio",
    NULL,
};
static const struct kmeta type_meta = { .names = type_names };

static const struct kfield fit_point_fields[] = {
    KF(struct fit_point, utilization, "utilization", KF_I32),
    KF(struct fit_point, score, "score", KF_I32),
};
static const struct kschema fit_point_schema =
    KSCHEMA("UtilizationShapePoint", struct fit_point, fit_point_fields);

static const struct kfield fit_ratio_fields[] = {
    KF_LIST_OF(struct fit_ratio, shape, "shape", KF_OBJ, .sub = &fit_point_schema),
};
static const struct kschema fit_ratio_schema =
    KSCHEMA("RequestedToCapacityRatioParam", struct fit_ratio, fit_ratio_fields);

static const struct kfield fit_strategy_fields[] = {
    KF(struct fit_strategy, type, "type", KF_ENUM, .meta = &type_meta),
    KF_LIST_OF(struct fit_strategy, resources, "resources", KF_OBJ, .sub = &res_weight_schema),
    KF(struct fit_strategy, ratio, "requestedToCapacityRatio", KF_OBJ, .flags = KF_PTR,
       .sub = &fit_ratio_schema),
};
static const struct kschema fit_strategy_schema =
    KSCHEMA("ScoringStrategy", struct fit_strategy, fit_strategy_fields);

#define F(member, json, type, ...) KF(struct fit_args, member, json, type, __VA_ARGS__)
static const struct kfield fit_args_fields[] = {
    F(api_version, "apiVersion", KF_STR),
    F(kind, "kind", KF_STR),
    KF_LIST_OF(struct fit_args, ignored, "ignoredResources", KF_STR),
    KF_LIST_OF(struct fit_args, ignored_groups, "ignoredResourceGroups", KF_STR),
    F(strategy, "scoringStrategy", KF_OBJ, .sub = &fit_strategy_schema),
};
#undef F
static const struct kschema fit_args_schema =
    KSCHEMA("NodeResourcesFitArgs", struct fit_args, fit_args_fields);

/* ---- validation ------------------------------------------------------------------------------ */

static int check_names(const kstrlist *l, const char *field, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const char *wrong = name_check_label_key(str_of(l->items[i]));
        if (wrong)
            return kerr_set(err, -EINVAL, "%s[%u]: %s", field, i, wrong);
    }
    return 0;
}

static int check_ignored(const struct fit_args *args, struct kerr *err)
{
    for (uint32_t i = 0; i < args->ignored_groups.n; i++)
        if (strchr(args->ignored_groups.items[i], '/'))
            return kerr_set(err, -EINVAL,
                            "ignoredResourceGroups[%u]: resource group name can't contain '/'", i);
    int r = check_names(&args->ignored, "ignoredResources", err);
    return r < 0 ? r : check_names(&args->ignored_groups, "ignoredResourceGroups", err);
}

static int check_resources(const res_weights *w, struct kerr *err)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->items[i].weight < 1 || w->items[i].weight > 100)
            return kerr_set(err, -EINVAL,
                            "scoringStrategy.resources[%u].weight: not in valid range (0, 100]", i);
    return 0;
}

static int check_shape(const struct fit_ratio *ratio, struct kerr *err)
{
    static const char path[] = "scoringStrategy.requestedToCapacityRatio.shape";

    if (!ratio || ratio->shape.n == 0)
        return kerr_set(err, -EINVAL, "%s: at least one point must be specified", path);
    for (uint32_t i = 0; i < ratio->shape.n; i++) {
        const struct fit_point *p = &ratio->shape.items[i];
        if (p->utilization < 0 || p->utilization > 100)
            return kerr_set(err, -EINVAL, "%s[%u].utilization: not in valid range [0, 100]", path,
                            i);
        if (p->score < 0 || p->score > 10)
            return kerr_set(err, -EINVAL, "%s[%u].score: not in valid range [0, 10]", path, i);
        if (i > 0 && p->utilization <= p[-1].utilization)
            return kerr_set(err, -EINVAL,
                            "%s[%u].utilization: values must be sorted in increasing order", path,
                            i);
    }
    return 0;
}

int fit_args_read(const struct kj_val *args, struct arena *a, struct fit_args *ret,
                  struct kerr *err)
{
    struct fit_strategy *s = &ret->strategy;
    int r = args ? kj_decode(&fit_args_schema, args, KJ_STRICT, a, ret, err) : 0;

    if (r < 0)
        return r;
    if (s->type == FIT_DEFAULT)
        s->type = FIT_LEAST;
    res_weights_default(&s->resources, a);
    r = check_ignored(ret, err);
    if (r == 0)
        r = check_resources(&s->resources, err);
    if (r == 0 && (s->type == FIT_RATIO || s->ratio))
        r = check_shape(s->ratio, err);
    return r;
}

/* ---- what is left to others ------------------------------------------------------------------ */

static bool in_list(const kstrlist *l, const char *name, size_t n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (str_eq(str_of(l->items[i]), (struct str){ name, n }))
            return true;
    return false;
}

bool fit_ignores(const struct fit_args *args, const char *resource)
{
    return name_is_extended_resource(resource) &&
           (in_list(&args->ignored, resource, strlen(resource)) ||
            in_list(&args->ignored_groups, resource, strcspn(resource, "/")));
}
