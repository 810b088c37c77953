/* colocation.c - strategy of one node, and the limits of its values (manager 2.1, 2.4). */
#include "manager/sloconfig/colocation.h"

#include <inttypes.h>

#include "manager/sloconfig/extension.h"

/* ---- limits ---------------------------------------------------------------------------------- */

struct limit {
    const char *field;
    uint16_t off; /* of a struct opt_i64 */
    int64_t min, max;
};
#define LIMIT(member, field, min, max)                                    \
    {                                                                     \
        field, offsetof(struct colocation_strategy, member), (min), (max) \
    }
static const struct limit limits[] = {
    LIMIT(metric_aggregate_duration_seconds, "metricAggregateDurationSeconds", 1, INT64_MAX),
    LIMIT(metric_report_interval_seconds, "metricReportIntervalSeconds", 1, INT64_MAX),
    LIMIT(cpu_reclaim_threshold_percent, "cpuReclaimThresholdPercent", 0, INT64_MAX),
    LIMIT(memory_reclaim_threshold_percent, "memoryReclaimThresholdPercent", 0, INT64_MAX),
    LIMIT(degrade_time_minutes, "degradeTimeMinutes", 1, INT64_MAX),
    LIMIT(update_time_threshold_seconds, "updateTimeThresholdSeconds", 1, INT64_MAX),
    LIMIT(mid_cpu_threshold_percent, "midCPUThresholdPercent", 0, 100),
    LIMIT(mid_memory_threshold_percent, "midMemoryThresholdPercent", 0, 100),
    LIMIT(mid_unallocated_percent, "midUnallocatedPercent", 0, 100),
    LIMIT(mid_static_cpu_reserved_percent, "midStaticCPUReservedPercent", 0, INT64_MAX),
    LIMIT(mid_static_memory_reserved_percent, "midStaticMemoryReservedPercent", 0, INT64_MAX),
    LIMIT(batch_cpu_threshold_percent, "batchCPUThresholdPercent", 0, INT64_MAX),
    LIMIT(batch_memory_threshold_percent, "batchMemoryThresholdPercent", 0, INT64_MAX),
};

int colocation_strategy_check(const struct colocation_strategy *s, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const struct opt_i64 *v = (const void *)((const char *)s + limits[i].off);
        if (v->set && v->v < limits[i].min)
            return kerr_set(err, -EINVAL, "%s: %" PRId64 " is less than %" PRId64, limits[i].field,
                            v->v, limits[i].min);
        if (v->set && v->v > limits[i].max)
            return kerr_set(err, -EINVAL, "%s: %" PRId64 " is more than %" PRId64, limits[i].field,
                            v->v, limits[i].max);
    }
    if (s->metric_memory_collect_policy && !*s->metric_memory_collect_policy)
        return kerr_set(err, -EINVAL, "metricMemoryCollectPolicy: is empty");
    if (s->resource_diff_threshold.set && !(s->resource_diff_threshold.v > 0))
        return kerr_set(err, -EINVAL, "resourceDiffThreshold: %g is not greater than 0",
                        s->resource_diff_threshold.v);
    if (s->extensions.n == 0)
        return 0;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct koord_extension unused;
    int r = koord_extension_read(s, a, &unused, err);
    return r < 0 ? r : 0;
}

/* ---- one node -------------------------------------------------------------------------------- */

static bool label_over(const kstrmap *labels, const char *key, struct opt_i64 *field)
{
    struct opt_i64 percent = node_ratio_percent(labels, key);

    if (percent.set)
        *field = percent;
    return percent.set;
}

static void annotation_over(const kstrmap *annotations, struct arena *a,
                            struct colocation_strategy *s, struct colocation_sources *sources)
{
    struct colocation_strategy over;
    struct kerr err = { 0 };

    int r = colocation_strategy_read(annotations, a, &over, &err);
    if (r < 0)
        sources->annotation_problem = arena_strdup(a, err.text);
    if (r <= 0)
        return;
    sources->annotation = true;
    kj_overlay(&colocation_strategy_schema, s, &over, a, s);
}

const struct colocation_strategy *colocation_strategy_of(const struct slo_section *section,
                                                         const kstrmap *labels,
                                                         const kstrmap *annotations,
                                                         struct arena *a,
                                                         struct colocation_sources *ret_sources)
{
    struct colocation_sources from = { .entry = slo_section_match(section, labels) };
    struct colocation_strategy *s = arena_new0(a, struct colocation_strategy);

    memcpy(s, from.entry ? from.entry->merged : section->merged, sizeof *s);
    annotation_over(annotations, a, s, &from);
    from.cpu_label = label_over(labels, LABEL_CPU_RECLAIM_RATIO, &s->cpu_reclaim_threshold_percent);
    from.memory_label =
        label_over(labels, LABEL_MEMORY_RECLAIM_RATIO, &s->memory_reclaim_threshold_percent);
    from.mid_cpu_label =
        label_over(labels, LABEL_MID_STATIC_CPU_RATIO, &s->mid_static_cpu_reserved_percent);
    from.mid_memory_label =
        label_over(labels, LABEL_MID_STATIC_MEMORY_RATIO, &s->mid_static_memory_reserved_percent);
    if (ret_sources)
        *ret_sources = from;
    return s;
}

static bool is_on(const struct colocation_strategy *s)
{
    return s->enable.set && s->enable.v;
}

bool colocation_enabled(const struct slo_section *section, const struct colocation_strategy *s)
{
    return is_on(section->merged) && is_on(s);
}
