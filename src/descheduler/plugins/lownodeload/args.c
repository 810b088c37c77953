/* args.c - defaults, inheritance and checks of LowNodeLoadArgs. */
#include "descheduler/plugins/lownodeload/args.h"

#include <stdio.h>

#include "base/num.h"
#include "component/config.h"

#define MINUTE (60 * NSEC_PER_SEC)

/* ---- tables ----------------------------------------------------------------------------------- */

ARGS_DEFAULT(def_true, "true");
ARGS_DEFAULT(def_180, "180");
ARGS_DEFAULT(def_5m, "\"5m\"");

#define STYPE struct lnl_anomaly
static const struct kfield anomaly_fields[] = {
    KF(STYPE, timeout, "timeout", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    KF(STYPE, abnormal, "consecutiveAbnormalities", KF_I32),
    KF(STYPE, normal, "consecutiveNormalities", KF_I32),
};
static const struct kschema anomaly_schema = KSCHEMA("LoadAnomalyCondition", STYPE, anomaly_fields);
#undef STYPE

#define POOL_FIELDS(prefix)                                                                      \
    KF(STYPE, prefix deviation, "useDeviationThresholds", KF_BOOL, .flags = KF_OMITEMPTY),       \
        KF_MAP_OF(STYPE, prefix high, "highThresholds", KF_F64, .flags = KF_OMITEMPTY),          \
        KF_MAP_OF(STYPE, prefix low, "lowThresholds", KF_F64, .flags = KF_OMITEMPTY),            \
        KF_MAP_OF(STYPE, prefix prod_high, "prodHighThresholds", KF_F64, .flags = KF_OMITEMPTY), \
        KF_MAP_OF(STYPE, prefix prod_low, "prodLowThresholds", KF_F64, .flags = KF_OMITEMPTY),   \
        KF_MAP_OF(STYPE, prefix weights, "resourceWeights", KF_I64, .flags = KF_OMITEMPTY),      \
        KF(STYPE, prefix anomaly, "anomalyCondition", KF_OBJ, .sub = &anomaly_schema,            \
           .flags = KF_PTR | KF_OMITEMPTY),                                                      \
        KF(STYPE, prefix node_selector, "nodeSelector", KF_OBJ, .sub = &label_selector_schema,   \
           .flags = KF_PTR | KF_OMITEMPTY)

#define STYPE struct lnl_pool
static const struct kfield pool_fields[] = {
    KF(STYPE, name, "name", KF_STR, .flags = KF_OMITEMPTY),
    POOL_FIELDS(),
};
static const struct kschema pool_schema = KSCHEMA("LowNodeLoadNodePool", STYPE, pool_fields);
#undef STYPE

#define STYPE struct lnl_args
static const struct kfield args_fields[] = {
    KF(STYPE, paused, "paused", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, dry_run, "dryRun", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, number_of_nodes, "numberOfNodes", KF_I32),
    KF(STYPE, expiration, "nodeMetricExpirationSeconds", KF_OPT_I64, .meta = &def_180),
    KF(STYPE, namespaces, "evictableNamespaces", KF_OBJ, .sub = &args_namespaces_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF_LIST_OF(STYPE, pods, "podSelectors", KF_OBJ, .sub = &args_pod_selector_schema,
               .flags = KF_OMITEMPTY),
    KF(STYPE, node_fit, "nodeFit", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, detector_timeout, "detectorCacheTimeout", KF_OPT_DUR, .meta = &def_5m),
    POOL_FIELDS(top.),
    KF_LIST_OF(STYPE, pools, "nodePools", KF_OBJ, .sub = &pool_schema, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("LowNodeLoadArgs", STYPE, args_fields);
#undef STYPE

/* ---- reading ---------------------------------------------------------------------------------- */

const double *lnl_percent(const lnl_percents *l, const char *resource)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].resource, resource))
            return &l->items[i].percent;
    return NULL;
}

int64_t lnl_weight(const lnl_weights *l, const char *resource)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].resource, resource))
            return l->items[i].weight;
    return 0;
}

/* ---- defaults --------------------------------------------------------------------------------- */

/* One that is missing, or not positive, counts as 1. */
static void default_weight(lnl_weights *l, const char *resource, struct arena *a)
{
    uint32_t i = 0;

    while (i < l->n && strcmp(l->items[i].resource, resource) < 0)
        i++;
    if (i < l->n && streq(l->items[i].resource, resource)) {
        if (l->items[i].weight <= 0)
            l->items[i].weight = 1;
        return;
    }
    struct lnl_weight *items = arena_newn0(a, l->n + 1, struct lnl_weight);
    if (i)
        memcpy(items, l->items, i * sizeof *items);
    items[i] = (struct lnl_weight){ resource, 1 };
    if (i < l->n)
        memcpy(items + i + 1, l->items + i, (l->n - i) * sizeof *items);
    l->items = items;
    l->n++;
}

static void default_weights(struct lnl_pool *p, struct arena *a)
{
    default_weight(&p->weights, "cpu", a);
    default_weight(&p->weights, "memory", a);
    for (uint32_t i = 0; i < p->low.n; i++)
        default_weight(&p->weights, p->low.items[i].resource, a);
    for (uint32_t i = 0; i < p->high.n; i++)
        default_weight(&p->weights, p->high.items[i].resource, a);
}

/* Of a condition that is given, only the first count that is missing gets its default: so does
 * upstream. Its timeout has one here (upstream crashes without). */
static void default_anomaly(struct lnl_pool *p, struct arena *a)
{
    if (!p->anomaly) {
        p->anomaly = arena_new0(a, struct lnl_anomaly);
        *p->anomaly = (struct lnl_anomaly){ { true, MINUTE }, 5, 3 };
    }
    struct lnl_anomaly *x = p->anomaly;
    if (x->abnormal == 0)
        x->abnormal = 5;
    else if (x->normal == 0)
        x->normal = 3;
    if (!x->timeout.set)
        x->timeout = (struct opt_i64){ true, MINUTE };
}

static void inherit(struct lnl_pool *p, const struct lnl_pool *top)
{
    if (p->high.n == 0)
        p->high = top->high;
    if (p->low.n == 0)
        p->low = top->low;
    if (p->prod_high.n == 0)
        p->prod_high = top->prod_high;
    if (p->prod_low.n == 0)
        p->prod_low = top->prod_low;
    if (p->weights.n == 0)
        p->weights = top->weights;
    if (!p->anomaly)
        p->anomaly = top->anomaly;
    if (p->anomaly->abnormal == 0)
        p->anomaly->abnormal = top->anomaly->abnormal;
    if (p->anomaly->normal == 0)
        p->anomaly->normal = top->anomaly->normal;
    if (!p->anomaly->timeout.set)
        p->anomaly->timeout = (struct opt_i64){ true, MINUTE };
}

static void fill(void *args, const struct kd_args_context *c, struct arena *a)
{
    struct lnl_args *x = args;

    default_weights(&x->top, a);
    default_anomaly(&x->top, a);
    x->top.name = LNL_DEFAULT_POOL;
    for (uint32_t i = 0; i < x->pools.n; i++)
        inherit(&x->pools.items[i], &x->top);
    /* A detector that was forgotten between two rounds would never find anything. */
    x->detector_timeout.v = MAX(x->detector_timeout.v, c->interval);
    x->nall = x->pools.n + 1;
    x->all = arena_newn0(a, x->nall, const struct lnl_pool *);
    x->all[0] = &x->top;
    for (uint32_t i = 0; i < x->pools.n; i++)
        x->all[i + 1] = &x->pools.items[i];
}

/* ---- checks ----------------------------------------------------------------------------------- */

static int bad_percent(const char *field, const struct lnl_percent *p, const char *why,
                       struct kerr *err)
{
    char number[32];

    (void)f64_format(p->percent, number, sizeof number);
    return kerr_api(err, -EINVAL, KR_INVALID, "%s[%.64s]: Invalid value: %s: %s", field,
                    p->resource, number, why);
}

static int check_percents(const char *field, const lnl_percents *l, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct lnl_percent *p = &l->items[i];
        if (!(p->percent >= 0))
            return bad_percent(field, p, "percentage must be greater than or equal to 0", err);
        if (p->percent > 100)
            return bad_percent(field, p, "percentage must be less than or equal to 100", err);
    }
    return 0;
}

/* Where both are given, a is at most b. */
static int check_below(const char *field, const lnl_percents *a, const lnl_percents *b,
                       const char *why, struct kerr *err)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const double *other = lnl_percent(b, a->items[i].resource);
        if (other && a->items[i].percent > *other)
            return bad_percent(field, &a->items[i], why, err);
    }
    return 0;
}

static int check_counts(const struct lnl_anomaly *x, struct kerr *err)
{
    if (x->abnormal <= 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "anomalyCondition.consecutiveAbnormalities: Invalid value: %d: "
                        "consecutiveAbnormalities must be greater than 0",
                        (int)x->abnormal);
    if (x->normal <= 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "anomalyCondition.consecutiveNormalities: Invalid value: %d: "
                        "consecutiveNormalities must be greater than 0",
                        (int)x->normal);
    return config_duration("anomalyCondition.timeout", x->timeout.v, err);
}

static int check_pool(struct lnl_pool *p, struct arena *a, struct kerr *err)
{
    int r = check_percents("lowThresholds", &p->low, err);

    if (r == 0)
        r = check_percents("highThresholds", &p->high, err);
    if (r == 0)
        r = check_percents("prodLowThresholds", &p->prod_low, err);
    if (r == 0)
        r = check_percents("prodHighThresholds", &p->prod_high, err);
    if (r == 0)
        r = check_below("lowThresholds", &p->low, &p->high,
                        "low percentage must be less than or equal to highThresholds", err);
    if (r == 0)
        r = check_below("prodLowThresholds", &p->prod_low, &p->prod_high,
                        "low percentage must be less than or equal to prodHighThresholds", err);
    if (r == 0)
        r = check_below("prodHighThresholds", &p->prod_high, &p->high,
                        "node percentage must be greater than or equal to prodHighThresholds", err);
    if (r == 0)
        r = check_counts(p->anomaly, err);
    return r == 0 ? args_selector_compile(p->node_selector, "nodeSelector", a, &p->nodes, err) : r;
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct lnl_args *x = args;
    int r = config_range("numberOfNodes", x->number_of_nodes, 0, INT32_MAX, err);

    if (r == 0)
        r = args_namespaces_check(x->namespaces, "evictableNamespaces", err);
    if (r == 0 && (x->expiration.v <= 0 || x->expiration.v > NSEC_MAX / NSEC_PER_SEC))
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "nodeMetricExpirationSeconds: Invalid value: %lld: "
                     "nodeMetricExpirationSeconds should be a positive value",
                     (long long)x->expiration.v);
    if (r == 0)
        r = args_pod_selectors_compile(&x->pods, "podSelectors", a, err);
    if (r == 0)
        r = config_duration("detectorCacheTimeout", x->detector_timeout.v, err);
    if (r == 0)
        r = config_at_most(x->pools.n, CONFIG_ITEMS_MAX, "nodePools", err);
    if (r == 0)
        r = check_pool(&x->top, a, err);
    for (uint32_t i = 0; i < x->pools.n && r == 0; i++) {
        r = check_pool(&x->pools.items[i], a, err);
        if (r < 0)
            return config_under(err, "nodePools[%u]", i);
    }
    return r;
}

const struct kd_args lownodeload_args = { .schema = &args_schema, .fill = fill, .check = check };
