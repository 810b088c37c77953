/* slo.c - SLO annotations and labels of pods (api 5.10). */
#include "api/protocol/slo.h"

#include "base/num.h"

#include <inttypes.h>

const struct annotation_codec pod_cpu_burst_codec = {
    .key = ANNO_CPU_BURST,
    .schema = &cpu_burst_config_schema,
};

static int check_cpu_qos(void *value, struct arena *a, struct kerr *err)
{
    const struct cpu_qos *q = value;

    (void)a;
    if (q->group_identity.set && (q->group_identity.v < -1 || q->group_identity.v > 2))
        return kerr_set(err, -EINVAL, "bad group identity value: %" PRId64, q->group_identity.v);
    return 0;
}
const struct annotation_codec pod_cpu_qos_codec = {
    .key = ANNO_CPU_QOS,
    .schema = &cpu_qos_schema,
    .check = check_cpu_qos,
};

static const char *const memory_policies[] = { "default", "none", "auto", NULL };
static const struct kmeta memory_policy_meta = { .names = memory_policies };
static const struct kfield memory_fields[] = {
    KF(struct pod_memory_qos, policy, "policy", KF_ENUM, ANNO_OMIT, .meta = &memory_policy_meta),
    KF(struct pod_memory_qos, qos, "", KF_OBJ, .flags = KF_INLINE, .sub = &memory_qos_schema),
};
static const struct kschema memory_schema =
    KSCHEMA("PodMemoryQOSConfig", struct pod_memory_qos, memory_fields);
const struct annotation_codec pod_memory_qos_codec = {
    .key = ANNO_MEMORY_QOS,
    .schema = &memory_schema,
};

static const struct kfield blkio_fields[] = {
    KF_LIST_OF(struct pod_blkio_qos, blocks, "blocks", KF_OBJ, ANNO_OMIT,
               .sub = &blkio_block_schema),
};
static const struct kschema blkio_schema =
    KSCHEMA("PodBlkIOQOS", struct pod_blkio_qos, blkio_fields);
const struct annotation_codec pod_blkio_qos_codec = {
    .key = ANNO_BLKIO_QOS,
    .schema = &blkio_schema,
    .empty = EMPTY_IS_VALUE,
};

static const struct kfield network_fields[] = {
    KF(struct pod_network_qos, ingress_limit, "ingressLimit", KF_OPT_QTY, ANNO_OMIT),
    KF(struct pod_network_qos, egress_limit, "egressLimit", KF_OPT_QTY, ANNO_OMIT),
};
static const struct kschema network_schema =
    KSCHEMA("PodNetworkQOS", struct pod_network_qos, network_fields);
const struct annotation_codec pod_network_qos_codec = {
    .key = ANNO_NETWORK_QOS,
    .schema = &network_schema,
};

int64_t network_limit_bytes(const struct qty *bits)
{
    return bits ? qty_value(*bits) / 8 : 0;
}

/* ---- OOM score ------------------------------------------------------------------------------- */

const struct annotation_codec oom_score_adj_spec_codec = {
    .key = ANNO_OOM_SCORE_ADJ_SPEC,
    .schema = &i64map_value_schema,
};

int oom_score_adj(const kstrmap *annotations, const char *container, struct arena *a, int64_t *ret,
                  struct kerr *err)
{
    const char *text = kstrmap_get(annotations, ANNO_OOM_SCORE_ADJ);
    struct i64map_value spec;
    int64_t score;
    /* A spec that does not parse is not replaced by the pod's default. */
    int r = oom_score_adj_spec_read(annotations, a, &spec, err);

    if (r < 0)
        return r;
    const int64_t *own = r == 1 ? named_i64_find(&spec.v, container) : NULL;
    if (own)
        score = *own;
    else if (!text)
        return 0;
    else if (i64_parse(text, strlen(text), &score) < 0)
        return kerr_set(err, -EINVAL,
                        "annotation " ANNO_OOM_SCORE_ADJ ": \"%.64s\" is not a number", text);
    if (score < OOM_SCORE_ADJ_MIN || score > OOM_SCORE_ADJ_MAX)
        return kerr_set(err, -ERANGE, "OOM score %" PRId64 " is not in -1000..1000", score);
    *ret = score;
    return 1;
}

/* ---- eviction -------------------------------------------------------------------------------- */

const struct annotation_codec eviction_policy_codec = {
    .key = ANNO_EVICTION_POLICY,
    .schema = &strlist_value_schema,
};

bool eviction_policy_allows(const kstrmap *annotations, const char *feature, struct arena *a)
{
    struct strlist_value features;
    int r = eviction_policy_read(annotations, a, &features, NULL);

    for (uint32_t i = 0; r == 1 && i < features.v.n; i++)
        if (streq(features.v.items[i], feature))
            return true;
    return r == 0;
}

int32_t eviction_priority(const kstrmap *annotations)
{
    const char *text = kstrmap_get(annotations, ANNO_EVICTION_PRIORITY);
    int64_t v;

    if (!text || i64_parse(text, strlen(text), &v) < 0 || v < INT32_MIN || v > INT32_MAX)
        return 0;
    return (int32_t)v;
}

/* ---- core scheduling, resctrl ---------------------------------------------------------------- */

enum core_sched_policy core_sched_policy(const kstrmap *labels)
{
    const char *v = str_or(kstrmap_get(labels, LABEL_CORE_SCHED_POLICY), "");

    if (streq(v, "none"))
        return CORE_SCHED_NONE;
    return streq(v, "exclusive") ? CORE_SCHED_EXCLUSIVE : CORE_SCHED_BY_GROUP;
}

static const struct kfield range_fields[] = {
    KF(struct resctrl_range, percent, "percent", KF_OPT_I64, ANNO_OMIT),
    KF_LIST_OF(struct resctrl_range, range, "range", KF_I64, ANNO_OMIT),
};
static const struct kschema range_schema =
    KSCHEMA("SchemataConfig", struct resctrl_range, range_fields);
static const struct kfield cache_fields[] = {
    KF(struct resctrl_cache, cache_id, "cacheID", KF_I64),
    KF(struct resctrl_cache, percent, "percent", KF_OPT_I64, ANNO_OMIT),
    KF_LIST_OF(struct resctrl_cache, range, "range", KF_I64, ANNO_OMIT),
};
static const struct kschema cache_schema =
    KSCHEMA("SchemataPerCacheConfig", struct resctrl_cache, cache_fields);
static const struct kfield resctrl_resource_fields[] = {
    KF(struct resctrl_resource, schemata, "schemata", KF_OBJ, ANNO_OMIT, .sub = &range_schema),
    KF_LIST_OF(struct resctrl_resource, per_cache, "schemataPerCache", KF_OBJ, ANNO_OMIT,
               .sub = &cache_schema),
};
static const struct kschema resctrl_resource_schema =
    KSCHEMA("ResctrlResource", struct resctrl_resource, resctrl_resource_fields);
#define PART .flags = KF_OMITEMPTY | KF_PTR, .sub = &resctrl_resource_schema
static const struct kfield resctrl_fields[] = {
    KF(struct pod_resctrl, llc, "llc", KF_OBJ, PART),
    KF(struct pod_resctrl, mb, "mb", KF_OBJ, PART),
};
static const struct kschema resctrl_schema =
    KSCHEMA("ResctrlConfig", struct pod_resctrl, resctrl_fields);
const struct annotation_codec pod_resctrl_codec = {
    .key = ANNO_RESCTRL,
    .schema = &resctrl_schema,
};
