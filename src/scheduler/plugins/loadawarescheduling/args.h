/* args.h - LoadAwareSchedulingArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_LOADAWARESCHEDULING_ARGS_H
#define KOORD_SCHEDULER_LOADAWARESCHEDULING_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct loadaware_amount {
    const char *name;
    int64_t value;
};
typedef KLIST(struct loadaware_amount) loadaware_amounts; /* sorted by name */

struct loadaware_aggregated {
    loadaware_amounts thresholds;
    const char *usage_type, *score_type;
    struct opt_i64 usage_duration, score_duration; /* nanoseconds */
};
struct loadaware_args {
    struct opt_bool filter_expired, schedule_expired;
    struct opt_bool filter_evicting; /* BE pods stay away from where koordlet would evict them */
    struct opt_i64 expiration, after_scheduled, after_initialized;   /* seconds */
    loadaware_amounts weights, thresholds, prod_thresholds, factors; /* thresholds, factors: % */
    int64_t dominant_weight;
    bool include_sys, by_prod_usage, customize;
    const char *estimator;
    struct loadaware_aggregated *aggregated; /* NULL: not by percentiles */
    kstrlist supported;
};
extern const struct ks_args loadaware_args;
#endif
