/* device.c - device annotations and labels (api 5.7). */
#include "api/protocol/device.h"

#include "base/ktime.h"
#include "base/num.h"
#include "json/kj.h"

#define OMIT ANNO_OMIT

/* ---- device-allocated ------------------------------------------------------------------------ */

static const struct kfield vf_fields[] = {
    KF(struct device_vf, minor, "minor", KF_I32, OMIT),
    KF(struct device_vf, bus_id, "busID", KF_STR, OMIT),
};
static const struct kschema vf_schema = KSCHEMA("VirtualFunction", struct device_vf, vf_fields);
static const struct kfield extension_fields[] = {
    KF_LIST_OF(struct device_allocation_extension, vfs, "vfs", KF_OBJ, OMIT, .sub = &vf_schema),
    KF(struct device_allocation_extension, gpu_template, "gpuSharedResourceTemplate", KF_STR, OMIT),
};
static const struct kschema extension_schema =
    KSCHEMA("DeviceAllocationExtension", struct device_allocation_extension, extension_fields);
static const struct kfield allocation_fields[] = {
    KF(struct device_allocation, minor, "minor", KF_I32), /* these two always present */
    KF_MAP_OF(struct device_allocation, resources, "resources", KF_QTY),
    KF(struct device_allocation, id, "id", KF_STR, OMIT),
    KF(struct device_allocation, extension, "extension", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &extension_schema),
};
static const struct kschema allocation_schema =
    KSCHEMA("DeviceAllocation", struct device_allocation, allocation_fields);
static const struct kfield allocation_list_fields[] = {
    KF_LIST_OF(struct device_allocation_list, v, "", KF_OBJ, .sub = &allocation_schema),
};
static const struct kschema allocation_list_schema =
    BARE_SCHEMA("DeviceAllocations", struct device_allocation_list, allocation_list_fields);
static const struct kfield allocations_fields[] = {
    KF_MAP_OF(struct device_allocations, v, "", KF_OBJ, .sub = &allocation_list_schema),
};
static const struct kschema allocations_schema =
    BARE_SCHEMA("DeviceAllocationsByType", struct device_allocations, allocations_fields);

static int rename_resources(void *value, struct arena *a, struct kerr *err)
{
    struct device_allocations *d = value;

    (void)err;
    for (uint32_t t = 0; t < d->v.n; t++) {
        struct device_allocation_list *l = &d->v.items[t].devices;

        for (uint32_t i = 0; i < l->v.n; i++)
            reslist_rename_old(&l->v.items[i].resources, a, &l->v.items[i].resources);
    }
    return 0;
}

const struct annotation_codec device_allocations_codec = {
    .key = ANNO_DEVICE_ALLOCATED,
    .schema = &allocations_schema,
    .check = rename_resources,
};

const struct device_allocation_list *device_allocations_of(const struct device_allocations *d,
                                                           const char *type)
{
    for (uint32_t i = 0; i < d->v.n; i++)
        if (streq(d->v.items[i].type, type))
            return &d->v.items[i].devices;
    return NULL;
}

/* ---- hints ----------------------------------------------------------------------------------- */

static const char *const strategy_names[] = { "", "ApplyForAll", "RequestsAsCount", NULL };
static const char *const scope_names[] = { "", "Node", "NUMANode", "PCIe", "Device", NULL };
static const char *const exclusive_names[] = { "", "DeviceLevel", "PCIeLevel", NULL };
static const struct kmeta strategy_meta = { .names = strategy_names };
static const struct kmeta scope_meta = { .names = scope_names };
static const struct kmeta exclusive_meta = { .names = exclusive_names };

#define F(member, json, type, ...) KF(struct device_hint, member, json, type, __VA_ARGS__)
static const struct kfield hint_fields[] = {
    F(selector, "selector", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR, .sub = &label_selector_schema),
    F(vf_selector, "vfSelector", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &label_selector_schema),
    F(strategy, "allocateStrategy", KF_ENUM, OMIT, .meta = &strategy_meta),
    F(required_scope, "requiredTopologyScope", KF_ENUM, OMIT, .meta = &scope_meta),
    F(exclusive, "exclusivePolicy", KF_ENUM, OMIT, .meta = &exclusive_meta),
};
#undef F
static const struct kschema hint_schema = KSCHEMA("DeviceHint", struct device_hint, hint_fields);
static const struct kfield hints_fields[] = {
    KF_MAP_OF(struct device_hints, v, "", KF_OBJ, .sub = &hint_schema),
};
static const struct kschema hints_schema =
    BARE_SCHEMA("DeviceAllocateHints", struct device_hints, hints_fields);
const struct annotation_codec device_hints_codec = {
    .key = ANNO_DEVICE_HINT,
    .schema = &hints_schema,
};

const struct device_hint *device_hint_of(const struct device_hints *h, const char *type)
{
    for (uint32_t i = 0; i < h->v.n; i++)
        if (streq(h->v.items[i].type, type))
            return &h->v.items[i].hint;
    return NULL;
}

static bool is_word(const char *word, const char *const *known)
{
    for (; *known; known++)
        if (streq(word, *known))
            return true;
    return false;
}

const char *device_hints_unknown(const kstrmap *annotations, struct arena *a)
{
    static const struct {
        const char *key, *const *known;
    } words[] = { { "allocateStrategy", strategy_names },
                  { "requiredTopologyScope", scope_names },
                  { "exclusivePolicy", exclusive_names } };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = kstrmap_get(annotations, ANNO_DEVICE_HINT);
    const struct kj_val *hint;
    struct str type;

    if (!text || kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        return NULL;
    for (struct kj_iter it = kj_iter(kj_root(doc)); kj_next(&it, &type, &hint);)
        for (size_t i = 0; type.p && i < ARRAY_LEN(words); i++) {
            const char *word = kj_str_or(kj_get(hint, words[i].key), "");
            if (!is_word(word, words[i].known))
                return arena_printf(a, "%.*s.%s: \"%.60s\"", (int)MIN(type.n, (size_t)60), type.p,
                                    words[i].key, word);
        }
    return NULL;
}

static const struct kfield joint_fields[] = {
    KF_LIST_OF(struct device_joint, device_types, "deviceTypes", KF_STR, OMIT),
    KF(struct device_joint, required_scope, "requiredScope", KF_STR, OMIT),
};
static const struct kschema joint_schema =
    KSCHEMA("DeviceJointAllocate", struct device_joint, joint_fields);
const struct annotation_codec device_joint_codec = {
    .key = ANNO_DEVICE_JOINT,
    .schema = &joint_schema,
};

/* ---- partitions ------------------------------------------------------------------------------ */

/* On the wire a word; here what it means. KF_ENUM holds one byte, like the bool it lies over. */
_Static_assert(sizeof(bool) == 1, "restricted is read as an enum of one byte");
static const char *const partition_policies[] = { "BestEffort", "Restricted", NULL };
static const struct kmeta partition_policy_meta = { .names = partition_policies };
static const struct kfield partition_spec_fields[] = {
    KF(struct gpu_partition_spec, restricted, "allocatePolicy", KF_ENUM, OMIT,
       .meta = &partition_policy_meta),
    KF(struct gpu_partition_spec, ring_bus_bandwidth, "ringBusBandwidth", KF_OPT_QTY, OMIT),
};
static const struct kschema partition_spec_schema =
    KSCHEMA("GPUPartitionSpec", struct gpu_partition_spec, partition_spec_fields);
const struct annotation_codec gpu_partition_spec_codec = {
    .key = ANNO_GPU_PARTITION_SPEC,
    .schema = &partition_spec_schema,
};

static const struct kfield partition_fields[] = {
    KF_LIST_OF(struct gpu_partition, minors, "minors", KF_I32),
    KF(struct gpu_partition, link_type, "gpuLinkType", KF_STR, OMIT),
    KF(struct gpu_partition, ring_bus_bandwidth, "ringBusBandwidth", KF_OPT_QTY, OMIT),
    KF(struct gpu_partition, allocation_score, "allocationScore", KF_I32, OMIT),
};
static const struct kschema partition_schema =
    KSCHEMA("GPUPartition", struct gpu_partition, partition_fields);
static const struct kfield partition_list_fields[] = {
    KF_LIST_OF(struct gpu_partition_list, v, "", KF_OBJ, .sub = &partition_schema),
};
static const struct kschema partition_list_schema =
    BARE_SCHEMA("GPUPartitions", struct gpu_partition_list, partition_list_fields);
static const struct kfield partitions_fields[] = {
    KF_MAP_OF(struct gpu_partitions, v, "", KF_OBJ, .sub = &partition_list_schema),
};
static const struct kschema partitions_schema =
    BARE_SCHEMA("GPUPartitionTable", struct gpu_partitions, partitions_fields);

static int decode_partitions(const char *text, struct arena *a, void *ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int r = kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, err);

    if (r < 0)
        return r;
    if (kj_type(kj_root(doc)) == KJ_NULL)
        return kerr_set(err, -EINVAL, "invalid gpu partitions in device cr: %s", text);
    return kj_decode(&partitions_schema, kj_root(doc), KJ_ANY_CASE, a, ret, err);
}

static int check_partitions(void *value, struct arena *a, struct kerr *err)
{
    const struct gpu_partitions *p = value;
    int64_t count;

    (void)a;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const char *key = p->v.items[i].gpu_count;

        if (i64_parse(key, strlen(key), &count) < 0)
            return kerr_set(err, -EINVAL, "\"%s\" is not a number of GPUs", key);
    }
    return 0;
}

const struct annotation_codec gpu_partitions_codec = {
    .key = ANNO_GPU_PARTITIONS,
    .schema = &partitions_schema,
    .decode = decode_partitions,
    .check = check_partitions,
};

const struct gpu_partition_list *gpu_partitions_for(const struct gpu_partitions *p, int64_t count)
{
    for (uint32_t i = 0; i < p->v.n; i++) {
        const char *key = p->v.items[i].gpu_count;
        int64_t n;

        if (i64_parse(key, strlen(key), &n) == 0 && n == count)
            return &p->v.items[i].partitions;
    }
    return NULL;
}

struct opt_bool secondary_well_planned(const kstrmap *labels)
{
    const char *v = str_or(kstrmap_get(labels, LABEL_SECONDARY_WELL_PLANNED), "");

    return (struct opt_bool){ .set = streq(v, "true") || streq(v, "false"), .v = streq(v, "true") };
}

/* ---- templates ------------------------------------------------------------------------------- */

static const struct kfield template_list_fields[] = {
    KF_MAP_OF(struct gpu_template_list, v, "", KF_OBJ, .sub = &reslist_value_schema),
};
static const struct kschema template_list_schema =
    BARE_SCHEMA("GPUTemplates", struct gpu_template_list, template_list_fields);
static const struct kfield templates_fields[] = {
    KF_MAP_OF(struct gpu_templates, v, "", KF_OBJ, .sub = &template_list_schema),
};
static const struct kschema templates_schema =
    BARE_SCHEMA("GPUSharedResourceTemplates", struct gpu_templates, templates_fields);

int gpu_templates_decode(const char *yaml, size_t n, struct arena *a, struct gpu_templates *ret,
                         struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int r = kj_parse_yaml(yaml, n, KJ_RAW_NUMBERS, &doc, err);

    return r < 0 ? r : kj_decode(&templates_schema, kj_root(doc), 0, a, ret, err);
}

const struct gpu_template_list *gpu_templates_of(const struct gpu_templates *t, const char *vendor,
                                                 const char *model)
{
    size_t n = strlen(vendor);

    for (uint32_t i = 0; i < t->v.n; i++) {
        const char *key = t->v.items[i].model;

        if (strncmp(key, vendor, n) == 0 && key[n] == '-' && streq(key + n + 1, model))
            return &t->v.items[i].templates;
    }
    return NULL;
}

/* ---- vendors --------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct metax_device, member, json, type, __VA_ARGS__)
static const struct kfield metax_device_fields[] = {
    F(uuid, "uuid", KF_STR),
    F(compute, "compute", KF_I64),
    F(vram_mib, "vRam", KF_I64),
};
#undef F
static const struct kschema metax_device_schema =
    KSCHEMA("MetaxDevice", struct metax_device, metax_device_fields);
static const struct kfield metax_container_fields[] = {
    KF_LIST_OF(struct metax_container, v, "", KF_OBJ, .sub = &metax_device_schema),
};
static const struct kschema metax_container_schema =
    BARE_SCHEMA("MetaxContainer", struct metax_container, metax_container_fields);
static const struct kfield metax_fields[] = {
    KF_LIST_OF(struct metax_allocation, v, "", KF_OBJ, .sub = &metax_container_schema),
};
static const struct kschema metax_schema =
    BARE_SCHEMA("MetaxAllocation", struct metax_allocation, metax_fields);
const struct annotation_codec metax_allocation_codec = {
    .key = ANNO_METAX_ALLOCATED,
    .schema = &metax_schema,
};

static const char *minors_with_prefix(const struct device_allocation_list *l, const char *prefix,
                                      struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (uint32_t i = 0; i < l->v.n; i++)
        strbuf_appendf(&b, "%s%s%d", i ? "," : "", prefix, l->v.items[i].minor);
    return arena_strndup(a, strbuf_str(&b), b.len);
}

const char *device_minors_format(const struct device_allocation_list *l, struct arena *a)
{
    return minors_with_prefix(l, "", a);
}

const char *ascend310p_format(const struct device_allocation_list *l, struct arena *a)
{
    return minors_with_prefix(l, "Ascend310P-", a);
}

const char *huawei_npu_core_format(const struct device_allocation_list *l, struct arena *a)
{
    if (l->v.n == 1 && l->v.items[0].extension && !str_empty(l->v.items[0].extension->gpu_template))
        return arena_printf(a, "%d-%s", l->v.items[0].minor, l->v.items[0].extension->gpu_template);
    return device_minors_format(l, a);
}

int cambricon_profile_format(const struct device_allocation_list *l, struct arena *a,
                             const char **ret, struct kerr *err)
{
    const int64_t unit = INT64_C(256) << 20;

    if (l->v.n != 1)
        return kerr_set(err, -EINVAL, "multiple gpu share is not supported on device side");
    const struct device_allocation *d = &l->v.items[0];
    const struct qty *core = reslist_find(&d->resources, RES_GPU_CORE);
    int64_t memory = qty_value(reslist_get(&d->resources, RES_GPU_MEMORY));
    if (!core)
        return kerr_set(err, -EINVAL, "gpu core resource is required");
    if (memory < unit)
        return kerr_set(err, -EINVAL, "gpu memory must not be less than 268435456 bytes");
    *ret = arena_printf(a, "%d_%lld_%lld", d->minor, (long long)qty_value(*core),
                        (long long)(memory / unit));
    return 0;
}

int node_lock_parse(const char *text, struct arena *a, struct node_lock *ret, struct kerr *err)
{
    const char *ns = strchr(text, ','), *pod = ns ? strchr(ns + 1, ',') : NULL;
    nsec_t at;

    if (!pod || strchr(pod + 1, ',') || ktime_parse(text, (size_t)(ns - text), &at, NULL) < 0)
        return kerr_set(err, -EINVAL, "invalid node lock value \"%.100s\"", text);
    *ret = (struct node_lock){ .at = at,
                               .ns = arena_strndup(a, ns + 1, (size_t)(pod - ns - 1)),
                               .pod = arena_strdup(a, pod + 1) };
    return 0;
}

const char *node_lock_format(const struct node_lock *l, struct arena *a)
{
    char at[KTIME_TEXT_MAX];

    ktime_format(l->at, at);
    return arena_printf(a, "%s,%s,%s", at, l->ns, l->pod);
}
