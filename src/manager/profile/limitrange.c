/* limitrange.c - defaults for containers by LimitRanges. */
#include "manager/profile/limitrange.h"

#include "manager/webhook/tree.h"

/* Names that were set, with commas; "" when there were none. */
static void merge(struct kj_mdoc *d, struct kj_mval *container, const char *field,
                  const struct kj_val *defaults, struct strbuf *set)
{
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(defaults); kj_next(&it, &key, &v);) {
        struct kj_mval *list = tree_object(d, tree_object(d, container, "resources"), field);
        if (kj_mgetn(list, key.p, key.n))
            continue;
        kj_msetn(d, list, key.p, key.n, kj_mcopy(d, v));
        strbuf_appendf(set, "%s%.*s", set->len ? ", " : "", (int)key.n, key.p);
    }
}

static void apply_item(struct kj_mdoc *d, struct kj_mval *container, const struct kj_val *item,
                       struct strbuf *told)
{
    static const struct {
        const char *defaults, *field, *word;
    } parts[] = { { "defaultRequest", "requests", "request" }, { "default", "limits", "limit" } };
    const char *name = str_or(kj_mstr_get(kj_mget(container, "name")), "");

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CLEANUP(strbuf_fini) struct strbuf set = STRBUF_INIT;
        const struct kj_val *defaults = kj_get(item, parts[i].defaults);
        if (kj_len(defaults) == 0)
            continue;
        merge(d, container, parts[i].field, defaults, &set);
        if (set.len > 0)
            strbuf_appendf(told, "%s%s %s for container %s", told->len ? "; " : "",
                           strbuf_str(&set), parts[i].word, name);
    }
}

static void apply_range(struct kj_mdoc *d, struct kj_mval *pod, const struct kj_val *range,
                        struct strbuf *told)
{
    static const char *const lists[] = { "containers", "initContainers" };
    const struct kj_val *item;

    for (struct kj_iter it = kj_iter(kj_path(range, "spec.limits")); kj_next(&it, NULL, &item);) {
        if (!streq(kj_str_or(kj_get(item, "type"), ""), "Container"))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            struct kj_mval *list = kj_mget(kj_mget(pod, "spec"), lists[i]);
            for (size_t k = 0; kj_mtype(list) == KJ_ARR && k < kj_mlen(list); k++)
                if (kj_mtype(kj_mat(list, k)) == KJ_OBJ)
                    apply_item(d, kj_mat(list, k), item, told);
        }
    }
}

void limitrange_apply(struct kj_mdoc *d, struct kj_mval *pod, const struct kj_val *ranges,
                      struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf told = STRBUF_INIT;
    const struct kj_val *range;

    for (struct kj_iter it = kj_iter(ranges); kj_next(&it, NULL, &range);)
        apply_range(d, pod, range, &told);
    if (told.len > 0)
        tree_meta_set(d, pod, "annotations", ANNO_LIMIT_RANGER,
                      arena_printf(a, "LimitRanger plugin set: %s", strbuf_str(&told)));
}
