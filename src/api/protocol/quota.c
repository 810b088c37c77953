/* quota.c - elastic quota labels and annotations (api 5.4). */
#include "api/protocol/quota.h"

#include "base/num.h"

static bool label_is_false(const kstrmap *labels, const char *key)
{
    const char *v = kstrmap_get(labels, key);

    return v && streq(v, "false");
}

const char *quota_parent(const struct objmeta *quota)
{
    const char *parent = kstrmap_get(&quota->labels, LABEL_QUOTA_PARENT);

    if (str_empty(parent))
        return streq(quota->name, QUOTA_ROOT_NAME) ? "" : QUOTA_ROOT_NAME;
    return parent;
}

bool quota_allows_lent(const kstrmap *labels)
{
    return !label_is_false(labels, LABEL_QUOTA_ALLOW_LENT);
}

const char *quota_tree_id(const kstrmap *labels)
{
    return str_or(kstrmap_get(labels, LABEL_QUOTA_TREE_ID), "");
}

const char *pod_quota_name(const kstrmap *labels)
{
    return str_or(kstrmap_get(labels, LABEL_QUOTA_NAME), "");
}

bool pod_quota_preemptible(const kstrmap *labels)
{
    return !label_is_false(labels, LABEL_QUOTA_PREEMPTIBLE);
}

int quota_check_changeable(const char *name, struct kerr *err)
{
    if (streq(name, QUOTA_ROOT_NAME) || streq(name, QUOTA_SYSTEM_NAME))
        return kerr_set(err, -EINVAL, "invalid quota %s", name);
    return 0;
}

#define RESLIST_CODEC(name, anno)                                                   \
    const struct annotation_codec name##_codec = { .key = (anno),                   \
                                                   .schema = &reslist_value_schema, \
                                                   .empty = EMPTY_IS_ABSENT }
RESLIST_CODEC(quota_shared_weight, ANNO_QUOTA_SHARED_WEIGHT);
RESLIST_CODEC(quota_total_resource, ANNO_QUOTA_TOTAL_RESOURCE);
RESLIST_CODEC(quota_unschedulable_resource, ANNO_QUOTA_UNSCHEDULABLE_RESOURCE);
RESLIST_CODEC(quota_runtime, ANNO_QUOTA_RUNTIME);
RESLIST_CODEC(quota_request, ANNO_QUOTA_REQUEST);
RESLIST_CODEC(quota_child_request, ANNO_QUOTA_CHILD_REQUEST);
RESLIST_CODEC(quota_guaranteed, ANNO_QUOTA_GUARANTEED);
RESLIST_CODEC(quota_allocated, ANNO_QUOTA_ALLOCATED);
RESLIST_CODEC(quota_non_preemptible_request, ANNO_QUOTA_NON_PREEMPTIBLE_REQUEST);
RESLIST_CODEC(quota_non_preemptible_used, ANNO_QUOTA_NON_PREEMPTIBLE_USED);
RESLIST_CODEC(quota_admission, ANNO_QUOTA_ADMISSION);

reslist quota_weight(const kstrmap *annotations, const reslist *max, struct arena *a)
{
    struct reslist_value weight;

    if (quota_shared_weight_read(annotations, a, &weight, NULL) == 1)
        for (uint32_t i = 0; i < weight.v.n; i++)
            if (!qty_is_zero(weight.v.items[i].value))
                return weight.v;
    return *max;
}

#define STRLIST_CODEC(name, anno)                                                   \
    const struct annotation_codec name##_codec = { .key = (anno),                   \
                                                   .schema = &strlist_value_schema, \
                                                   .empty = EMPTY_IS_ABSENT }
STRLIST_CODEC(quota_namespaces, ANNO_QUOTA_NAMESPACES);
STRLIST_CODEC(quota_resource_keys, ANNO_QUOTA_RESOURCE_KEYS);
STRLIST_CODEC(quota_max_strict_keys, ANNO_QUOTA_MAX_STRICT_KEYS);

kstrlist quota_namespace_list(const kstrmap *annotations, struct arena *a)
{
    struct strlist_value namespaces;

    if (quota_namespaces_read(annotations, a, &namespaces, NULL) == 1)
        return namespaces.v;
    return (kstrlist){ 0 };
}

kstrlist quota_profile_keys(const kstrmap *annotations, struct arena *a)
{
    struct strlist_value keys;

    if (quota_resource_keys_read(annotations, a, &keys, NULL) == 1)
        return keys.v;
    kstrlist out = { .items = arena_alloc(a, 2 * sizeof(char *), sizeof(char *)), .n = 2 };
    out.items[0] = RES_CPU;
    out.items[1] = RES_MEMORY;
    return out;
}

double quota_profile_ratio(const char *text)
{
    double ratio;

    if (!text || f64_parse(text, strlen(text), &ratio) < 0 || !(ratio > 0 && ratio <= 1))
        return 1;
    return ratio;
}
