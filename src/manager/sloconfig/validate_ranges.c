/* validate_ranges.c - ranges of the values, as the webhook checks them (manager 8.4).
 *
 * One line per field. The first rule that a value breaks is reported, in the order least, most,
 * sibling; a pair check fails also when the sibling is absent. Node strategies are checked on their
 * own, without the cluster's values.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/vec.h"
#include "manager/sloconfig/validate_int.h"
#include "json/kj.h"

enum value_type { VALUE_I64, VALUE_I32, VALUE_F64 };
enum pair_rule { PAIR_NONE, PAIR_GREATER, PAIR_LESS };
struct range {
    const char *name; /* the field's name in Go, as users see it */
    uint16_t off, sibling_off;
    uint8_t type, pair;
    bool open;           /* must be greater than least, not equal */
    int64_t least, most; /* INT64_MIN, INT64_MAX: no bound */
    const char *sibling; /* PAIR_* */
};

#define NO_MIN INT64_MIN
#define NO_MAX INT64_MAX
#define IN(member, go, low, high)                                                     \
    {                                                                                 \
        .name = go, .off = offsetof(struct S, member), .least = (low), .most = (high) \
    }
#define ABOVE(member, go, low, high)                                                   \
    {                                                                                  \
        .name = go, .off = offsetof(struct S, member), .least = (low), .most = (high), \
        .open = true                                                                   \
    }
#define PAIR(member, go, low, high, rule, other, other_go)                             \
    {                                                                                  \
        .name = go, .off = offsetof(struct S, member), .least = (low), .most = (high), \
        .pair = (rule), .sibling_off = offsetof(struct S, other), .sibling = other_go  \
    }

#define S colocation_strategy
static const struct range colocation_ranges[] = {
    IN(metric_aggregate_duration_seconds, "MetricAggregateDurationSeconds", 1, NO_MAX),
    IN(metric_report_interval_seconds, "MetricReportIntervalSeconds", 1, NO_MAX),
    IN(cpu_reclaim_threshold_percent, "CPUReclaimThresholdPercent", 0, NO_MAX),
    IN(memory_reclaim_threshold_percent, "MemoryReclaimThresholdPercent", 0, NO_MAX),
    IN(degrade_time_minutes, "DegradeTimeMinutes", 1, NO_MAX),
    IN(update_time_threshold_seconds, "UpdateTimeThresholdSeconds", 1, NO_MAX),
    { .name = "ResourceDiffThreshold",
      .off = offsetof(struct S, resource_diff_threshold),
      .type = VALUE_F64,
      .open = true,
      .least = 0,
      .most = 1 },
    IN(mid_cpu_threshold_percent, "MidCPUThresholdPercent", 0, 100),
    IN(mid_memory_threshold_percent, "MidMemoryThresholdPercent", 0, 100),
    IN(mid_unallocated_percent, "MidUnallocatedPercent", 0, 100),
    IN(mid_static_cpu_reserved_percent, "MidStaticCPUReservedPercent", 0, 100),
    IN(mid_static_memory_reserved_percent, "MidStaticMemoryReservedPercent", 0, 100),
    IN(batch_cpu_threshold_percent, "BatchCPUThresholdPercent", 0, NO_MAX),
    IN(batch_memory_threshold_percent, "BatchMemoryThresholdPercent", 0, NO_MAX),
};
#undef S

#define S threshold_strategy
static const struct range threshold_ranges[] = {
    IN(cpu_suppress_threshold_percent, "CPUSuppressThresholdPercent", 0, 100),
    IN(cpu_suppress_min_percent, "CPUSuppressMinPercent", 0, 100),
    PAIR(memory_evict_threshold_percent, "MemoryEvictThresholdPercent", 0, 100, PAIR_GREATER,
         memory_evict_lower_percent, "MemoryEvictLowerPercent"),
    PAIR(memory_evict_lower_percent, "MemoryEvictLowerPercent", 0, 100, PAIR_LESS,
         memory_evict_threshold_percent, "MemoryEvictThresholdPercent"),
    PAIR(memory_allocatable_evict_threshold_percent, "MemoryAllocatableEvictThresholdPercent", 0,
         NO_MAX, PAIR_GREATER, memory_allocatable_evict_lower_percent,
         "MemoryAllocatableEvictLowerPercent"),
    PAIR(memory_allocatable_evict_lower_percent, "MemoryAllocatableEvictLowerPercent", 0, NO_MAX,
         PAIR_LESS, memory_allocatable_evict_threshold_percent,
         "MemoryAllocatableEvictThresholdPercent"),
    PAIR(cpu_evict_be_satisfaction_upper_percent, "CPUEvictBESatisfactionUpperPercent", 0, 100,
         PAIR_GREATER, cpu_evict_be_satisfaction_lower_percent,
         "CPUEvictBESatisfactionLowerPercent"),
    PAIR(cpu_evict_be_satisfaction_lower_percent, "CPUEvictBESatisfactionLowerPercent", 0, 100,
         PAIR_LESS, cpu_evict_be_satisfaction_upper_percent, "CPUEvictBESatisfactionUpperPercent"),
    IN(cpu_evict_be_usage_threshold_percent, "CPUEvictBEUsageThresholdPercent", 0, 100),
    ABOVE(cpu_evict_time_window_seconds, "CPUEvictTimeWindowSeconds", 0, NO_MAX),
    PAIR(cpu_evict_threshold_percent, "CPUEvictThresholdPercent", 0, 100, PAIR_GREATER,
         cpu_evict_lower_percent, "CPUEvictLowerPercent"),
    PAIR(cpu_evict_lower_percent, "CPUEvictLowerPercent", 0, 100, PAIR_LESS,
         cpu_evict_threshold_percent, "CPUEvictThresholdPercent"),
    PAIR(cpu_allocatable_evict_threshold_percent, "CPUAllocatableEvictThresholdPercent", 0, NO_MAX,
         PAIR_GREATER, cpu_allocatable_evict_lower_percent, "CPUAllocatableEvictLowerPercent"),
    PAIR(cpu_allocatable_evict_lower_percent, "CPUAllocatableEvictLowerPercent", 0, NO_MAX,
         PAIR_LESS, cpu_allocatable_evict_threshold_percent, "CPUAllocatableEvictThresholdPercent"),
    { .name = "AllocatableEvictPriorityThreshold",
      .off = offsetof(struct S, allocatable_evict_priority_threshold),
      .type = VALUE_I32,
      .least = 0,
      .most = 7999 },
};
#undef S

#define S cpu_qos
static const struct range cpu_qos_ranges[] = {
    IN(group_identity, "GroupIdentity", -1, 2),
    IN(sched_idle, "SchedIdle", 0, 1),
};
#undef S
#define S memory_qos
static const struct range memory_qos_ranges[] = {
    IN(min_limit_percent, "MinLimitPercent", 0, 100),
    IN(low_limit_percent, "LowLimitPercent", 0, 100),
    IN(throttling_percent, "ThrottlingPercent", 0, 100),
    IN(wmark_ratio, "WmarkRatio", 0, 100),
    IN(wmark_scale_permill, "WmarkScalePermill", 1, 1000),
    IN(wmark_min_adj, "WmarkMinAdj", -25, 50),
    IN(priority_enable, "PriorityEnable", 0, 1),
    IN(priority, "Priority", 0, 12),
    IN(oom_kill_group, "OomKillGroup", 0, 1),
    IN(page_cache_limit_percent, "PageCacheLimitPercent", 0, 100),
};
#undef S
#define S resctrl_qos
static const struct range resctrl_qos_ranges[] = {
    PAIR(cat_range_start_percent, "CATRangeStartPercent", 0, 100, PAIR_LESS, cat_range_end_percent,
         "CATRangeEndPercent"),
    PAIR(cat_range_end_percent, "CATRangeEndPercent", 0, 100, PAIR_GREATER, cat_range_start_percent,
         "CATRangeStartPercent"),
    IN(mba_percent, "MBAPercent", 0, 100),
};
#undef S

#define S cpu_burst_strategy
static const struct range burst_config_ranges[] = {
    IN(config.cpu_burst_percent, "CPUBurstPercent", 1, 10000),
    IN(config.cfs_quota_burst_percent, "CFSQuotaBurstPercent", 100, NO_MAX),
    IN(config.cfs_quota_burst_period_seconds, "CFSQuotaBurstPeriodSeconds", -1, NO_MAX),
};
static const struct range burst_ranges[] = {
    IN(share_pool_threshold_percent, "SharePoolThresholdPercent", 0, 100),
};
#undef S

#define S system_strategy
static const struct range system_ranges[] = {
    ABOVE(min_free_kbytes_factor, "MinFreeKbytesFactor", 0, NO_MAX),
    ABOVE(watermark_scale_factor, "WatermarkScaleFactor", 0, 400),
    IN(memcg_reap_background, "MemcgReapBackGround", 0, 1),
    IN(page_cache_limit_enabled, "PageCacheLimitEnabled", 0, 1),
};
#undef S

/* ---- sentences ------------------------------------------------------------------------------- */

struct fault {
    const char *path, *sentence;
};
struct faults {
    struct arena *arena;
    struct vec_of(struct fault) v;
};

/* A whole number with commas between the thousands. */
static const char *number(int64_t n, struct arena *a)
{
    char digits[24], out[32];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ',';
        out[at++] = digits[i];
    }
    return arena_strndup(a, out, at);
}

struct value {
    bool set;
    double v; /* exact enough: every bound is small */
};
static struct value value_at(const void *strategy, uint16_t off, unsigned type)
{
    const void *slot = (const char *)strategy + off;

    switch ((enum value_type)type) {
    case VALUE_I32: {
        const struct opt_i32 *v = slot;
        return (struct value){ v->set, v->v };
    }
    case VALUE_F64: {
        const struct opt_f64 *v = slot;
        return (struct value){ v->set, v->v };
    }
    default: {
        const struct opt_i64 *v = slot;
        return (struct value){ v->set, (double)v->v };
    }
    }
}

static bool pair_holds(const struct range *r, const void *strategy, double v)
{
    struct value other = value_at(strategy, r->sibling_off, r->type);
    return other.set && (r->pair == PAIR_GREATER ? v > other.v : v < other.v);
}

/* NULL: the value is fine. */
static const char *sentence(const struct range *r, const void *strategy, struct arena *a)
{
    struct value v = value_at(strategy, r->off, r->type);

    if (!v.set)
        return NULL;
    if (r->open && r->least != NO_MIN && !(v.v > (double)r->least))
        return arena_printf(a, "%s must be greater than %s", r->name, number(r->least, a));
    if (r->least != NO_MIN && v.v < (double)r->least)
        return arena_printf(a, "%s must be %s or greater", r->name, number(r->least, a));
    if (r->most != NO_MAX && v.v > (double)r->most)
        return arena_printf(a, "%s must be %s or less", r->name, number(r->most, a));
    if (r->pair != PAIR_NONE && !pair_holds(r, strategy, v.v))
        return arena_printf(a, "%s must be %s than %s", r->name,
                            r->pair == PAIR_GREATER ? "greater" : "less", r->sibling);
    return NULL;
}

static void check(struct faults *f, const char *path, const struct range *ranges, size_t n,
                  const void *strategy)
{
    for (size_t i = 0; strategy && i < n; i++) {
        const char *text = sentence(&ranges[i], strategy, f->arena);
        if (text)
            vec_push(&f->v, ((struct fault){ arena_printf(f->arena, "%s.%s", path, ranges[i].name),
                                             text }));
    }
}
#define CHECK(f, path, ranges, strategy) check((f), (path), (ranges), ARRAY_LEN(ranges), (strategy))

/* ---- strategies ------------------------------------------------------------------------------ */

static void check_class(struct faults *f, const char *path, const struct resource_qos *q)
{
    if (!q)
        return;
    CHECK(f, arena_printf(f->arena, "%s.CPUQOS.CPUQOS", path), cpu_qos_ranges, q->cpu);
    CHECK(f, arena_printf(f->arena, "%s.MemoryQOS.MemoryQOS", path), memory_qos_ranges, q->memory);
    CHECK(f, arena_printf(f->arena, "%s.ResctrlQOS.ResctrlQOS", path), resctrl_qos_ranges,
          q->resctrl);
}

static void check_qos(struct faults *f, const char *path, const struct resource_qos_strategy *s)
{
    const struct {
        const char *name;
        const struct resource_qos *q;
    } classes[] = {
        { "LSRClass", s->lsr },
        { "LSClass", s->ls },
        { "BEClass", s->be },
        { "SystemClass", s->system },
        { "CgroupRoot", s->cgroup_root },
    };

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        check_class(f, arena_printf(f->arena, "%s.%s", path, classes[i].name), classes[i].q);
}

static void check_strategy(struct faults *f, enum slo_key key, const char *path, const void *s)
{
    switch (s ? key : SLO_KEYS) {
    case SLO_COLOCATION: CHECK(f, path, colocation_ranges, s); break;
    case SLO_THRESHOLD: CHECK(f, path, threshold_ranges, s); break;
    case SLO_QOS: check_qos(f, path, s); break;
    case SLO_BURST:
        CHECK(f, arena_printf(f->arena, "%s.CPUBurstConfig", path), burst_config_ranges, s);
        CHECK(f, path, burst_ranges, s);
        break;
    case SLO_SYSTEM: CHECK(f, path, system_ranges, s); break;
    default: break;
    }
}

static int fault_cmp(const void *a, const void *b)
{
    return strcmp(((const struct fault *)a)->path, ((const struct fault *)b)->path);
}

static const char *refusal(struct faults *f)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    qsort(f->v.items, f->v.n, sizeof *f->v.items, fault_cmp);
    strbuf_append(&out, "___{\"reason\":\"ConfigParamInvalid\",\"message\":");
    kjw_obj(&w, NULL);
    vec_foreach(&f->v, i)
        kjw_str(&w, f->v.items[i].path, f->v.items[i].sentence);
    kjw_end(&w);
    strbuf_append(&out, "}___");
    return arena_strndup(f->arena, out.data, out.len);
}

const char *slo_check_ranges(enum slo_key key, const struct slo_section *s, struct arena *a)
{
    static const struct {
        const char *config, *strategy;
    } names[SLO_KEYS] = {
        [SLO_COLOCATION] = { "ColocationCfg", "ColocationStrategy" },
        [SLO_THRESHOLD] = { "ResourceThresholdCfg", "ResourceThresholdStrategy" },
        [SLO_QOS] = { "ResourceQOSCfg", "ResourceQOSStrategy" },
        [SLO_BURST] = { "CPUBurstCfg", "CPUBurstStrategy" },
        [SLO_SYSTEM] = { "SystemCfg", "SystemStrategy" },
    };
    const char *config = names[key].config, *strategy = names[key].strategy;
    bool cluster = slo_keys[key].cluster_strategy;
    struct faults f = { .arena = a };

    check_strategy(
        &f, key, arena_printf(a, "%s.%s", config, cluster ? "ClusterStrategy" : strategy), s->own);
    for (uint32_t i = 0; i < s->nodes.n; i++)
        check_strategy(&f, key,
                       arena_printf(a, "%s.%s[%u].%s", config,
                                    cluster ? "NodeStrategies" : "NodeConfigs", i, strategy),
                       s->nodes.items[i].own);
    const char *out = f.v.n > 0 ? refusal(&f) : NULL;
    vec_fini(&f.v);
    return out;
}
