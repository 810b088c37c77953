/* loadaware.c - load-aware annotations (api 5.8). */
#include "api/protocol/loadaware.h"

#include "base/num.h"

const char *const aggregation_type_names[] = { "", "avg", "p50", "p90", "p95", "p99", NULL };
static const struct kmeta aggregation_type_meta = { .names = aggregation_type_names };

static const struct kfield aggregated_fields[] = {
    KF_MAP_OF(struct aggregated_thresholds, usage_thresholds, "usageThresholds", KF_I64, ANNO_OMIT),
    KF(struct aggregated_thresholds, type, "usageAggregationType", KF_ENUM, ANNO_OMIT,
       .meta = &aggregation_type_meta),
    KF(struct aggregated_thresholds, duration_ns, "usageAggregatedDuration", KF_DUR, ANNO_OMIT),
};
static const struct kschema aggregated_schema =
    KSCHEMA("AggregatedUsage", struct aggregated_thresholds, aggregated_fields);
static const struct kfield thresholds_fields[] = {
    KF_MAP_OF(struct usage_thresholds, usage, "usageThresholds", KF_I64, ANNO_OMIT),
    KF_MAP_OF(struct usage_thresholds, prod_usage, "prodUsageThresholds", KF_I64, ANNO_OMIT),
    KF(struct usage_thresholds, aggregated, "aggregatedUsage", KF_OBJ,
       .flags = KF_OMITEMPTY | KF_PTR, .sub = &aggregated_schema),
};
static const struct kschema thresholds_schema =
    KSCHEMA("CustomUsageThresholds", struct usage_thresholds, thresholds_fields);
const struct annotation_codec usage_thresholds_codec = {
    .key = ANNO_USAGE_THRESHOLDS,
    .schema = &thresholds_schema,
};

const struct annotation_codec load_scaling_factors_codec = {
    .key = ANNO_LOAD_SCALING_FACTORS,
    .schema = &i64map_value_schema,
    .empty = EMPTY_IS_ABSENT,
};

named_i64list load_scaling_factor_list(const kstrmap *annotations, struct arena *a)
{
    struct i64map_value factors;

    if (load_scaling_factors_read(annotations, a, &factors, NULL) == 1)
        return factors.v;
    return (named_i64list){ 0 };
}

int64_t load_estimated_seconds(const kstrmap *annotations, const char *key)
{
    const char *text = kstrmap_get(annotations, key);
    int64_t seconds;

    return text && i64_parse(text, strlen(text), &seconds) == 0 ? seconds : -1;
}
