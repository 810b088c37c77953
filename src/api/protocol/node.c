/* node.c - node annotations and labels (api 5.9). */
#include "api/protocol/node.h"

#include "base/num.h"
#include "json/kj.h"

#include <math.h>

#define OMIT ANNO_OMIT

/* ---- colocation strategy --------------------------------------------------------------------- */

static const struct kfield aggregate_policy_fields[] = {
    KF_LIST_OF(struct metric_aggregate_policy, durations_ns, "durations", KF_DUR, OMIT),
};
static const struct kschema aggregate_policy_schema =
    KSCHEMA("AggregatePolicy", struct metric_aggregate_policy, aggregate_policy_fields);

#define F(member, json, type, ...) KF(struct colocation_strategy, member, json, type, __VA_ARGS__)
#define I64(member, json)          F(member, json, KF_OPT_I64, OMIT)
static const struct kfield strategy_fields[] = {
    F(enable, "enable", KF_OPT_BOOL, OMIT),
    I64(metric_aggregate_duration_seconds, "metricAggregateDurationSeconds"),
    I64(metric_report_interval_seconds, "metricReportIntervalSeconds"),
    F(metric_aggregate_policy, "metricAggregatePolicy", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &aggregate_policy_schema),
    F(metric_memory_collect_policy, "metricMemoryCollectPolicy", KF_OPT_STR, OMIT),
    I64(cpu_reclaim_threshold_percent, "cpuReclaimThresholdPercent"),
    F(cpu_calculate_policy, "cpuCalculatePolicy", KF_OPT_STR, OMIT),
    I64(memory_reclaim_threshold_percent, "memoryReclaimThresholdPercent"),
    F(memory_calculate_policy, "memoryCalculatePolicy", KF_OPT_STR, OMIT),
    I64(degrade_time_minutes, "degradeTimeMinutes"),
    I64(update_time_threshold_seconds, "updateTimeThresholdSeconds"),
    F(resource_diff_threshold, "resourceDiffThreshold", KF_OPT_F64, OMIT),
    F(mid_reclaim_mode, "midReclaimMode", KF_STR, OMIT),
    I64(mid_cpu_threshold_percent, "midCPUThresholdPercent"),
    I64(mid_memory_threshold_percent, "midMemoryThresholdPercent"),
    I64(mid_unallocated_percent, "midUnallocatedPercent"),
    I64(mid_static_cpu_reserved_percent, "midStaticCPUReservedPercent"),
    I64(mid_static_memory_reserved_percent, "midStaticMemoryReservedPercent"),
    I64(batch_cpu_threshold_percent, "batchCPUThresholdPercent"),
    I64(batch_memory_threshold_percent, "batchMemoryThresholdPercent"),
    KF_MAP_OF(struct colocation_strategy, extensions, "extensions", KF_RAW, OMIT),
};
#undef F
const struct kschema colocation_strategy_schema =
    KSCHEMA("ColocationStrategy", struct colocation_strategy, strategy_fields);
const struct annotation_codec colocation_strategy_codec = {
    .key = ANNO_COLOCATION_STRATEGY,
    .schema = &colocation_strategy_schema,
};

struct opt_i64 node_ratio_percent(const kstrmap *labels, const char *key)
{
    const char *text = kstrmap_get(labels, key);
    double v;

    if (!text || f64_parse(text, strlen(text), &v) < 0 || v < 0)
        return (struct opt_i64){ 0 };
    return (struct opt_i64){ .set = true, .v = i64_from_f64(v * 100) };
}

/* ---- allocatable of others ------------------------------------------------------------------- */

static const struct kfield origin_fields[] = {
    KF_MAP_OF(struct origin_allocatable, resources, "resources", KF_QTY, OMIT),
};
static const struct kschema origin_schema =
    KSCHEMA("OriginAllocatable", struct origin_allocatable, origin_fields);
const struct annotation_codec origin_allocatable_codec = {
    .key = ANNO_ORIGIN_EXTENDED,
    .schema = &origin_schema,
};

static const struct kfield third_party_fields[] = {
    KF(struct third_party_allocation, name, "name", KF_STR), /* these two always present */
    KF(struct third_party_allocation, priority, "priority", KF_STR),
    KF_MAP_OF(struct third_party_allocation, resources, "resources", KF_QTY, OMIT),
};
static const struct kschema third_party_schema =
    KSCHEMA("ThirdPartyAllocation", struct third_party_allocation, third_party_fields);
static const struct kfield third_parties_fields[] = {
    KF_LIST_OF(struct third_party_allocations, allocations, "allocations", KF_OBJ, OMIT,
               .sub = &third_party_schema),
};
static const struct kschema third_parties_schema =
    KSCHEMA("ThirdPartyAllocations", struct third_party_allocations, third_parties_fields);
const struct annotation_codec third_party_allocations_codec = {
    .key = ANNO_THIRD_PARTY,
    .schema = &third_parties_schema,
};

reslist third_party_sum(const struct third_party_allocations *t, enum priority_class c,
                        struct arena *a)
{
    reslist sum = { 0 };

    for (uint32_t i = 0; i < t->allocations.n; i++) {
        const struct third_party_allocation *p = &t->allocations.items[i];

        if (priority_class_parse(p->priority) != c)
            continue;
        for (uint32_t j = 0; j < p->resources.n; j++) {
            const struct resqty *r = &p->resources.items[j];
            sum = reslist_with(&sum, r->name, qty_add(reslist_get(&sum, r->name), r->value), a);
        }
    }
    return sum;
}

/* ---- amplification --------------------------------------------------------------------------- */

static const struct kfield ratios_fields[] = {
    KF_MAP_OF(struct amplification_ratios, v, "", KF_F64),
};
static const struct kschema ratios_schema =
    BARE_SCHEMA("AmplificationRatios", struct amplification_ratios, ratios_fields);

static void encode_ratios(const void *value, struct strbuf *out)
{
    const struct amplification_ratios *r = value;

    strbuf_appendc(out, '{');
    for (uint32_t i = 0; i < r->v.n; i++) {
        if (i > 0)
            strbuf_appendc(out, ',');
        kj_append_string(out, r->v.items[i].resource, strlen(r->v.items[i].resource));
        strbuf_appendf(out, ":%.2f", r->v.items[i].ratio);
    }
    strbuf_appendc(out, '}');
}

const struct annotation_codec amplification_ratios_codec = {
    .key = ANNO_AMPLIFICATION_RATIO,
    .schema = &ratios_schema,
    .empty = EMPTY_IS_ABSENT,
    .encode = encode_ratios,
};

double amplification_of(const struct amplification_ratios *r, const char *resource)
{
    for (uint32_t i = 0; i < r->v.n; i++)
        if (streq(r->v.items[i].resource, resource))
            return r->v.items[i].ratio;
    return 0;
}

int64_t amplify(int64_t x, double ratio)
{
    return ratio <= 1 ? x : i64_from_f64(ceil((double)x * ratio));
}

struct qty amplify_quantity(const char *resource, struct qty q, double ratio)
{
    if (ratio <= 1)
        return q;
    if (streq(resource, RES_CPU))
        return qty_from_milli(amplify(qty_milli(q), ratio), QTY_DECIMAL_SI);
    bool binary = streq(resource, RES_MEMORY) || streq(resource, RES_EPHEMERAL_STORAGE);
    return qty_from_i64(amplify(qty_value(q), ratio), binary ? QTY_BINARY_SI : QTY_DECIMAL_SI);
}

reslist amplify_list(const reslist *l, const struct amplification_ratios *r, struct arena *a)
{
    reslist out = { .items = arena_newn0(a, l->n, struct resqty), .n = l->n };

    for (uint32_t i = 0; i < l->n; i++) {
        out.items[i] = l->items[i];
        out.items[i].value = amplify_quantity(l->items[i].name, l->items[i].value,
                                              amplification_of(r, l->items[i].name));
    }
    return out;
}

const struct annotation_codec raw_allocatable_codec = {
    .key = ANNO_RAW_ALLOCATABLE,
    .schema = &reslist_value_schema,
    .empty = EMPTY_IS_ABSENT,
};

/* ---- CPU normalization ----------------------------------------------------------------------- */

static const struct kfield f64_value_fields[] = { KF(struct f64_value, v, "", KF_F64) };
static const struct kschema f64_value_schema =
    BARE_SCHEMA("Ratio", struct f64_value, f64_value_fields);

static int decode_normalization(const char *text, struct arena *a, void *ret, struct kerr *err)
{
    double v;

    (void)a;
    if (f64_parse(text, strlen(text), &v) < 0)
        return kerr_set(err, -EINVAL, "parsing \"%.64s\": invalid syntax", text);
    if (v <= 0)
        return kerr_set(err, -EINVAL, "illegal cpu normalization ratio: %s", text);
    *(struct f64_value *)ret = (struct f64_value){ v };
    return 0;
}

static void encode_normalization(const void *value, struct strbuf *out)
{
    strbuf_appendf(out, "%.2f", ((const struct f64_value *)value)->v);
}

const struct annotation_codec cpu_normalization_codec = {
    .key = ANNO_CPU_NORMALIZATION_RATIO,
    .schema = &f64_value_schema,
    .decode = decode_normalization,
    .encode = encode_normalization,
};

int cpu_normalization_ratio(const kstrmap *annotations, double *ret, struct kerr *err)
{
    const char *text = kstrmap_get(annotations, ANNO_CPU_NORMALIZATION_RATIO);
    struct f64_value v;

    *ret = -1;
    if (!text)
        return 0;
    int r = decode_normalization(text, NULL, &v, err);
    if (r < 0)
        return r;
    *ret = v.v;
    return 1;
}

bool cpu_normalization_differs(double a, double b)
{
    return fabs(a - b) > 0.01;
}

int cpu_normalization_enabled(const kstrmap *labels, bool *ret, struct kerr *err)
{
    const char *text = kstrmap_get(labels, LABEL_CPU_NORMALIZATION_ENABLE);

    if (!text)
        return 0;
    int r = bool_parse(text, ret, err);
    return r < 0 ? r : 1;
}

int node_network_bandwidth(const kstrmap *annotations, struct qty *ret, struct kerr *err)
{
    const char *text = kstrmap_get(annotations, ANNO_NETWORK_BANDWIDTH);

    if (!text)
        return 0;
    int r = qty_parse(text, strlen(text), ret, err);
    return r < 0 ? r : 1;
}
