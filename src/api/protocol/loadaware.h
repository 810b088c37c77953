/* loadaware.h - load: thresholds of nodes, estimates of pods (api 5.8). */
#ifndef KOORD_API_PROTOCOL_LOADAWARE_H
#define KOORD_API_PROTOCOL_LOADAWARE_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

enum aggregation_type {
    AGGREGATION_NONE, /* absent, or an unknown word */
    AGGREGATION_AVG,
    AGGREGATION_P50,
    AGGREGATION_P90,
    AGGREGATION_P95,
    AGGREGATION_P99
};
extern const char *const aggregation_type_names[]; /* "", "avg", "p50", ..., NULL */

struct aggregated_thresholds {
    named_i64list usage_thresholds;
    uint8_t type; /* enum aggregation_type */
    nsec_t duration_ns;
};
struct usage_thresholds { /* of one node; each non-empty group replaces the plugin's */
    named_i64list usage, prod_usage;
    struct aggregated_thresholds *aggregated;
};
DECLARE_ANNOTATION(usage_thresholds, struct usage_thresholds)

DECLARE_ANNOTATION(load_scaling_factors, struct i64map_value)
/* The factors of a pod in percent; empty when absent or bad. Not range-checked. */
named_i64list load_scaling_factor_list(const kstrmap *annotations, struct arena *a);
/* Seconds for which the estimate counts; -1 when absent or bad. key: ANNO_LOAD_SECONDS_*. */
int64_t load_estimated_seconds(const kstrmap *annotations, const char *key);
#endif
