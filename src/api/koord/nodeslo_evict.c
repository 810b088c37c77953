/* nodeslo_evict.c - when a NodeSLO makes koordlet evict pods (koordlet-qos 7.2, 8): koordlet acts
 * on it, and the scheduler keeps pods away from where they would be evicted.
 */
#include "api/koord/nodeslo.h"

enum { LOWER_DISTANCE = 2 };

static int check_lower(struct opt_i64 threshold, struct opt_i64 lower, int64_t *ret_lower,
                       struct kerr *err)
{
    int64_t v = lower.set ? lower.v : threshold.v - LOWER_DISTANCE;

    if (v >= threshold.v)
        return kerr_set(err, -EINVAL,
                        "lower percent(%lld) should less than threshold percent(%lld)",
                        (long long)v, (long long)threshold.v);
    *ret_lower = v;
    return 0;
}

static int check_priority(const struct threshold_strategy *s, struct kerr *err)
{
    return s->evict_enabled_priority_threshold.set
               ? 0
               : kerr_set(err, -EINVAL, "EvictEnabledPriorityThreshold not config");
}

int threshold_memory_eviction(const struct threshold_strategy *s, bool by_priority,
                              int64_t *ret_lower, struct kerr *err)
{
    struct opt_i64 threshold = s->memory_evict_threshold_percent;

    if (!threshold.set)
        return kerr_set(err, -EINVAL, "threshold percent is nil");
    if (threshold.v < 0)
        return kerr_set(err, -EINVAL, "threshold percent(%lld) should equal or greater than 0",
                        (long long)threshold.v);
    int r = check_lower(threshold, s->memory_evict_lower_percent, ret_lower, err);
    return r == 0 && by_priority ? check_priority(s, err) : r;
}

int threshold_cpu_eviction(const struct threshold_strategy *s, int64_t *ret_lower, struct kerr *err)
{
    struct opt_i64 threshold = s->cpu_evict_threshold_percent;

    if (!threshold.set)
        return kerr_set(err, -EINVAL, "CPUEvictThresholdPercent not config");
    if (threshold.v < 0)
        return kerr_set(err, -EINVAL, "threshold percent(%lld) should greater than 0",
                        (long long)threshold.v);
    int r = check_lower(threshold, s->cpu_evict_lower_percent, ret_lower, err);
    return r == 0 ? check_priority(s, err) : r;
}
