/* args.c - LoadAwareSchedulingArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2).
 */
#include "scheduler/plugins/loadawarescheduling/args.h"

#include <stdio.h>

#include "base/arena.h"
#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_true, "true");
ARGS_DEFAULT(def_false, "false");
ARGS_DEFAULT(def_180, "180");
#define OMIT .flags = KF_OMITEMPTY

static const char *const aggregations[] = { "avg", "p50", "p90", "p95", "p99", NULL };
static const struct kmeta aggregation_meta = { .names = aggregations };

#define STYPE struct loadaware_aggregated
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

ARGS_DEFAULT(def_thresholds, "{\"cpu\":65,\"memory\":95}");
#define STYPE struct loadaware_args
static const struct kfield loadaware_fields[] = {
    KF(STYPE, filter_expired, "filterExpiredNodeMetrics", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, expiration, "nodeMetricExpirationSeconds", KF_OPT_I64, .meta = &def_180),
    KF(STYPE, schedule_expired, "enableScheduleWhenNodeMetricsExpired", KF_OPT_BOOL,
       .meta = &def_false),
    KF(STYPE, filter_evicting, "filterAboveEvictionThresholds", KF_OPT_BOOL, .meta = &def_true),
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
static const struct kschema loadaware_schema =
    KSCHEMA("LoadAwareSchedulingArgs", STYPE, loadaware_fields);
#undef STYPE

/* ---- numbers by resource --------------------------------------------------------------------- */

static const struct loadaware_amount *amounts_find(const loadaware_amounts *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return &l->items[i];
    return NULL;
}

static void amounts_fill(loadaware_amounts *l, const char *name, int64_t value, struct arena *a)
{
    loadaware_amounts longer = { .n = 0 };
    bool put = false;

    if (amounts_find(l, name))
        return;
    longer.items = arena_newn0(a, l->n + 1, struct loadaware_amount);
    for (uint32_t i = 0; i < l->n; i++) {
        if (!put && strcmp(name, l->items[i].name) < 0) {
            longer.items[longer.n++] = (struct loadaware_amount){ name, value };
            put = true;
        }
        longer.items[longer.n++] = l->items[i];
    }
    if (!put)
        longer.items[longer.n++] = (struct loadaware_amount){ name, value };
    *l = longer;
}

static int amounts_check(const loadaware_amounts *l, const char *path, int64_t min, int64_t max,
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

/* ---- defaults and checks --------------------------------------------------------------------- */

static void loadaware_fill(void *value, const struct ks_args_context *c, struct arena *a)
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

static int aggregated_check(const struct loadaware_aggregated *g, struct kerr *err)
{
    int r = amounts_check(&g->thresholds, "usageThresholds", 0, 100, err);

    if (r == 0)
        r = config_duration("usageAggregatedDuration", g->usage_duration.v, err);
    if (r == 0)
        r = config_duration("scoreAggregatedDuration", g->score_duration.v, err);
    return r;
}

static int loadaware_check(const void *value, struct kerr *err)
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

const struct ks_args loadaware_args = { .schema = &loadaware_schema,
                                        .fill = loadaware_fill,
                                        .check = loadaware_check };
