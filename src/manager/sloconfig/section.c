/* section.c - one key of the ConfigMap: decoded, and merged over its default. */
#include <strings.h>

#include "manager/sloconfig/colocation.h"
#include "manager/sloconfig/sloconfig.h"
#include "json/kj.h"

#define SLO_EVENT "SLOCfgUnmarshalFailed"
const struct slo_key_info slo_keys[SLO_KEYS] = {
    [SLO_COLOCATION] = { .key = "colocation-config",
                         .strategy = &colocation_strategy_schema,
                         .empty_is_absent = true,
                         .defaults = &colocation_strategy_default,
                         .event = "ColocationCfgUnmarshalFailed",
                         .subject = "colocation config" },
    [SLO_THRESHOLD] = { .key = "resource-threshold-config",
                        .strategy = &threshold_strategy_schema,
                        .defaults = &threshold_strategy_default,
                        .cluster_strategy = true,
                        .null_is_empty = true,
                        .event = SLO_EVENT,
                        .subject = "ThresholdCfg" },
    [SLO_QOS] = { .key = "resource-qos-config",
                  .strategy = &resource_qos_strategy_schema,
                  .cluster_strategy = true,
                  .null_is_empty = true,
                  .event = SLO_EVENT,
                  .subject = "ResourceQOSCfg" },
    [SLO_BURST] = { .key = "cpu-burst-config",
                    .strategy = &cpu_burst_strategy_schema,
                    .defaults = &cpu_burst_strategy_default,
                    .cluster_strategy = true,
                    .null_is_empty = true,
                    .event = SLO_EVENT,
                    .subject = "CPUBurstCfg" },
    [SLO_SYSTEM] = { .key = "system-config",
                     .strategy = &system_strategy_schema,
                     .defaults = &system_strategy_default,
                     .cluster_strategy = true,
                     .null_is_empty = true,
                     .event = SLO_EVENT,
                     .subject = "SystemCfg" },
    [SLO_HOST_APPS] = { .key = "host-application-config",
                        .strategy = &host_app_strategy_schema,
                        .no_merge = true,
                        .null_is_empty = true,
                        .event = SLO_EVENT,
                        .subject = "HostApplicationCfg" },
    [SLO_NORMALIZATION] = { .key = "cpu-normalization-config",
                            .strategy = &normalization_strategy_schema,
                            .event = "CPUNormalizationCfgUnmarshalFailed",
                            .subject = "cpu normalization config" },
    [SLO_AMPLIFICATION] = { .key = "resource-amplification-config",
                            .strategy = &amplification_strategy_schema,
                            .event = "ResourceAmplificationCfgUnmarshalFailed",
                            .subject = "resource amplification config" },
};

/* ---- the two shapes of the text ---------------------------------------------------------------
 */

struct head { /* the parts of a text, as JSON: they are decoded by tables of their own */
    const char *cluster;
    kstrlist nodes;
};
static const struct kfield cluster_head_fields[] = {
    KF(struct head, cluster, "clusterStrategy", KF_RAW),
    KF_LIST_OF(struct head, nodes, "nodeStrategies", KF_RAW),
};
static const struct kfield root_head_fields[] = {
    KF_LIST_OF(struct head, nodes, "nodeConfigs", KF_RAW),
};
static const struct kschema cluster_head_schema =
    KSCHEMA("strategies", struct head, cluster_head_fields);
static const struct kschema root_head_schema = KSCHEMA("strategies", struct head, root_head_fields);

struct entry_head {
    const char *name;
    const char *selector_json;
};
static const struct kfield entry_head_fields[] = {
    KF(struct entry_head, name, "name", KF_STR),
    KF(struct entry_head, selector_json, "nodeSelector", KF_RAW),
};
static const struct kschema entry_head_schema =
    KSCHEMA("node strategy", struct entry_head, entry_head_fields);

static int decode_strategy(const struct slo_key_info *k, const struct kj_val *v, struct arena *a,
                           const void **ret, struct kerr *err)
{
    void *out = arena_zalloc(a, k->strategy->size);

    int r = kj_decode(k->strategy, v, KJ_ANY_CASE, a, out, err);
    if (r == 0)
        *ret = out;
    return r;
}

static int decode_selector(const char *json, struct arena *a, struct slo_node_entry *e,
                           struct kerr *err)
{
    struct label_selector *s = arena_new0(a, struct label_selector);
    struct labelsel *labels = NULL;
    struct kerr why = { 0 };

    int r = kj_decode_text(&label_selector_schema, json, strlen(json), KJ_ANY_CASE, a, s, err);
    if (r < 0)
        return kerr_wrap(err, "nodeSelector");
    e->selector = s;
    e->selector_json = json;
    if (labelsel_from(s, a, &labels, &why) < 0)
        e->problem = arena_printf(a, "the nodeSelector cannot be read: %s", why.text);
    e->labels = labels;
    return 0;
}

/* Is any field of the table there? Upstream's entry has the strategy behind a pointer, which stays
 * nil otherwise, and then the cluster's strategy counts as it is: fields that are always written do
 * not erase. */
static bool has_any_field(const struct kschema *s, const struct kj_val *v)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        struct kj_iter it = kj_iter(v);
        struct str key;

        if (f->flags & KF_INLINE && has_any_field(f->sub, v))
            return true;
        while (kj_next(&it, &key, &(const struct kj_val *){ NULL }))
            if (key.n == f->json_len && strncasecmp(key.p, f->json, key.n) == 0)
                return true;
    }
    return false;
}

static int decode_entry(const struct slo_key_info *k, const char *json, struct arena *a,
                        struct slo_node_entry *e, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct entry_head head;

    json = json ? json : "{}"; /* null */
    int r = kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, err);
    if (r == 0)
        r = kj_decode(&entry_head_schema, kj_root(doc), KJ_ANY_CASE, a, &head, err);
    if (r == 0 && (k->no_merge || has_any_field(k->strategy, kj_root(doc))))
        r = decode_strategy(k, kj_root(doc), a, &e->own, err);
    if (r < 0)
        return r;
    e->name = head.name;
    return head.selector_json ? decode_selector(head.selector_json, a, e, err) : 0;
}

static int decode_cluster(const struct slo_key_info *k, const struct head *head,
                          const struct kj_val *root, struct arena *a, const void **ret,
                          struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!k->cluster_strategy)
        return decode_strategy(k, root, a, ret, err);
    if (!head->cluster)
        return 0;
    int r = kj_parse(head->cluster, strlen(head->cluster), KJ_RAW_NUMBERS, &doc, err);
    if (r == 0)
        r = decode_strategy(k, kj_root(doc), a, ret, err);
    return r < 0 ? kerr_wrap(err, "clusterStrategy") : 0;
}

/* ---- merging ----------------------------------------------------------------------------------
 */

static const void *merged(const struct slo_key_info *k, const void *base, const void *over,
                          struct arena *a)
{
    if (!over)
        return base;
    if (k->no_merge)
        return over;
    void *out = arena_zalloc(a, k->strategy->size);
    kj_overlay(k->strategy, base, over, a, out);
    return out;
}

/* All zero, for every strategy without a default. */
static const void *default_of(const struct slo_key_info *k)
{
    static const union {
        struct resource_qos_strategy qos;
        struct host_app_strategy host_apps;
        struct normalization_strategy normalization;
        struct amplification_strategy amplification;
    } zero;
    return k->defaults ? k->defaults : &zero;
}

int slo_section_decode(enum slo_key key, const char *text, struct arena *a, struct slo_section *ret,
                       struct kerr *err)
{
    const struct slo_key_info *k = &slo_keys[key];
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct slo_section s = { 0 };
    struct head head;

    int r = kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, err);
    if (r < 0)
        return r;
    if (kj_type(kj_root(doc)) == KJ_NULL && k->null_is_empty) {
        slo_section_default(key, ret);
        return 0;
    }
    if (kj_type(kj_root(doc)) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "expected a JSON object");
    r = kj_decode(k->cluster_strategy ? &cluster_head_schema : &root_head_schema, kj_root(doc),
                  KJ_ANY_CASE, a, &head, err);
    if (r == 0)
        r = decode_cluster(k, &head, kj_root(doc), a, &s.own, err);
    if (r < 0)
        return r;
    s.merged = merged(k, default_of(k), s.own, a);
    s.nodes.items = arena_newn0(a, head.nodes.n + 1, struct slo_node_entry);
    for (; s.nodes.n < head.nodes.n; s.nodes.n++) {
        struct slo_node_entry *e = &s.nodes.items[s.nodes.n];
        if (decode_entry(k, head.nodes.items[s.nodes.n], a, e, err) < 0)
            return kerr_wrap(err, "%s[%u]", k->cluster_strategy ? "nodeStrategies" : "nodeConfigs",
                             s.nodes.n);
        e->merged = merged(k, s.merged, e->own, a);
    }
    *ret = s;
    return 0;
}

void slo_section_default(enum slo_key key, struct slo_section *ret)
{
    *ret = (struct slo_section){ .merged = default_of(&slo_keys[key]) };
}

/* ---- values -----------------------------------------------------------------------------------
 */

static int check_values(enum slo_key key, const void *strategy, struct kerr *err)
{
    if (key == SLO_COLOCATION)
        return colocation_strategy_check(strategy, err);
    return kj_validate(slo_keys[key].strategy, strategy, err);
}

int slo_section_check(enum slo_key key, struct slo_section *s, struct arena *a, struct kerr *err)
{
    int r = check_values(key, s->merged, err);

    for (uint32_t i = 0; r == 0 && i < s->nodes.n; i++) {
        struct slo_node_entry *e = &s->nodes.items[i];
        struct kerr why = { 0 };
        if (check_values(key, e->merged, &why) == 0)
            continue;
        e->merged = s->merged;
        if (!e->problem)
            e->problem = arena_printf(a, "its values do not count: %s", why.text);
    }
    return r;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

const struct slo_node_entry *slo_section_match(const struct slo_section *s, const kstrmap *labels)
{
    for (uint32_t i = 0; i < s->nodes.n; i++) {
        const struct slo_node_entry *e = &s->nodes.items[i];
        if (e->labels && labelsel_matches(e->labels, labels))
            return e;
    }
    return NULL;
}

const void *slo_section_of(const struct slo_section *s, const kstrmap *labels)
{
    const struct slo_node_entry *e = slo_section_match(s, labels);
    return e ? e->merged : s->merged;
}
