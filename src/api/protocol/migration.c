/* migration.c - eviction and migration keys (api 5.12). */
#include "api/protocol/migration.h"

#include "base/num.h"

int eviction_cost_parse(const char *text, int32_t *ret, struct kerr *err)
{
    bool shape = text[0] == '-' || (text[0] >= '1' && text[0] <= '9') || streq(text, "0");
    int64_t v = 0;

    *ret = 0;
    if (!shape || i64_parse(text, strlen(text), &v) < 0 || v < INT32_MIN || v > INT32_MAX)
        return kerr_set(err, -EINVAL, "invalid value \"%.64s\"", text);
    *ret = (int32_t)v;
    return 0;
}

int eviction_cost(const kstrmap *annotations, int32_t *ret, struct kerr *err)
{
    const char *text = kstrmap_get(annotations, ANNO_EVICTION_COST);

    *ret = 0;
    return text ? eviction_cost_parse(text, ret, err) : 0;
}

#define F(member, json, type, ...) KF(struct soft_eviction, member, json, type, __VA_ARGS__)
static const struct kfield soft_eviction_fields[] = {
    F(timestamp, "timestamp", KF_TIME, ANNO_OMIT),
    F(delete_options, "deleteOptions", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &delete_options_schema),
    F(initiator, "initiator", KF_STR, ANNO_OMIT),
    F(reason, "reason", KF_STR, ANNO_OMIT),
};
#undef F
static const struct kschema soft_eviction_schema =
    KSCHEMA("SoftEvictionSpec", struct soft_eviction, soft_eviction_fields);
const struct annotation_codec soft_eviction_codec = {
    .key = ANNO_SOFT_EVICTION,
    .schema = &soft_eviction_schema,
};

static const char *const policy_names[] = { "", "Eviction", "Delete", "SoftEviction" };

const char *evict_policy_name(enum evict_policy p)
{
    return policy_names[p];
}

enum evict_policy evict_policy_parse(const char *name)
{
    for (unsigned i = 1; name && i < ARRAY_LEN(policy_names); i++)
        if (streq(policy_names[i], name))
            return (enum evict_policy)i;
    return EVICT_POLICY_NONE;
}

enum evict_policy evict_policy(const kstrmap *pod_labels, const kstrmap *job_labels,
                               enum evict_policy otherwise)
{
    const char *word = pod_labels ? kstrmap_get(pod_labels, LABEL_EVICT_POLICY) : NULL;

    if (str_empty(word))
        word = job_labels ? kstrmap_get(job_labels, LABEL_EVICT_POLICY) : NULL;
    enum evict_policy p = evict_policy_parse(word);
    return p != EVICT_POLICY_NONE ? p : otherwise;
}
