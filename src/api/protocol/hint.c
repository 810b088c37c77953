/* hint.c - scheduling hints and the extended resource spec (api 5.2, 5.14). */
#include "api/protocol/hint.h"

#include "api/pod.h"

static const struct kfield hint_fields[] = {
    KF_LIST_OF(struct scheduling_hint, node_names, "nodeNames", KF_STR, ANNO_OMIT),
    KF_LIST_OF(struct scheduling_hint, preferred_node_names, "preferredNodeNames", KF_STR,
               ANNO_OMIT),
    KF_MAP_OF(struct scheduling_hint, extensions, "extensions", KF_RAW, ANNO_OMIT),
};
static const struct kschema hint_schema =
    KSCHEMA("SchedulingHint", struct scheduling_hint, hint_fields);
const struct annotation_codec scheduling_hint_codec = {
    .key = ANNO_SCHEDULING_HINT,
    .schema = &hint_schema,
    .empty = EMPTY_IS_ABSENT,
};

int scheduling_hint_get(const kstrmap *annotations, struct arena *a, struct scheduling_hint *ret,
                        struct kerr *err)
{
    struct annotation_codec old = scheduling_hint_codec;
    int r = scheduling_hint_read(annotations, a, ret, err);

    if (r != 0)
        return r;
    old.key = ANNO_SCHEDULING_HINT_OLD;
    return annotation_read(&old, annotations, a, ret, err);
}

const char *scheduling_hint_extension(const struct scheduling_hint *h, const char *plugin)
{
    for (uint32_t i = 0; i < h->extensions.n; i++)
        if (streq(h->extensions.items[i].plugin, plugin))
            return str_or(h->extensions.items[i].json, "null");
    return NULL;
}

/* ---- extended resource spec ------------------------------------------------------------------ */

static const struct kfield resources_fields[] = {
    KF_MAP_OF(struct extended_resources, limits, "limits", KF_QTY, ANNO_OMIT),
    KF_MAP_OF(struct extended_resources, requests, "requests", KF_QTY, ANNO_OMIT),
};
static const struct kschema extended_resources_schema =
    KSCHEMA("ExtendedResourceContainerSpec", struct extended_resources, resources_fields);
static const struct kfield spec_fields[] = {
    KF_MAP_OF(struct extended_resource_spec, containers, "containers", KF_OBJ, ANNO_OMIT,
              .sub = &extended_resources_schema),
};
static const struct kschema spec_schema =
    KSCHEMA("ExtendedResourceSpec", struct extended_resource_spec, spec_fields);
const struct annotation_codec extended_resource_spec_codec = {
    .key = ANNO_EXTENDED_RESOURCES,
    .schema = &spec_schema,
};

static reslist batch_part(const reslist *l, struct arena *a)
{
    static const char *const names[] = { RES_BATCH_CPU, RES_BATCH_MEMORY };
    reslist out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct qty *q = reslist_find(l, names[i]);
        if (q)
            out = reslist_with(&out, names[i], *q, a);
    }
    return out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct extended_container *)a)->name,
                  ((const struct extended_container *)b)->name);
}

void extended_resource_spec_make(const struct container *containers, uint32_t n, struct arena *a,
                                 struct extended_resource_spec *ret)
{
    struct extended_resource_spec s = { 0 };

    s.containers.items = arena_newn0(a, n, struct extended_container);
    for (uint32_t i = 0; i < n; i++) {
        struct extended_resources r = {
            .limits = batch_part(&containers[i].resources.limits, a),
            .requests = batch_part(&containers[i].resources.requests, a),
        };
        if (r.limits.n || r.requests.n)
            s.containers.items[s.containers.n++] =
                (struct extended_container){ .name = containers[i].name, .resources = r };
    }
    if (s.containers.n > 1)
        qsort(s.containers.items, s.containers.n, sizeof *s.containers.items, by_name);
    *ret = s;
}

int extended_resource_spec_update(const struct container *containers, uint32_t n,
                                  const kstrmap *annotations, struct arena *a, struct strbuf *out,
                                  struct kerr *err)
{
    struct extended_resource_spec want, have;
    int r = extended_resource_spec_read(annotations, a, &have, err);

    if (r < 0)
        return r;
    extended_resource_spec_make(containers, n, a, &want);
    if (kj_struct_equal(&spec_schema, &want, &have))
        return 0;
    extended_resource_spec_encode(&want, out);
    return 1;
}
