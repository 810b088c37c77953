/* correlate.c - the parts of an object and those that they replace on an update: properties and map
 * values by their names, items of list-type map by their keys. */
#include "apiserver/crd/internal.h"

/* One key of an item. Texts, numbers and booleans are told apart; numbers of several keys are
 * compared by six digits after the point, as kube-apiserver does. */
static bool append_key(const struct kj_val *v, bool alone, struct strbuf *out)
{
    double d = 0;
    int64_t i;

    switch (kj_type(v)) {
    case KJ_STR:
    case KJ_BOOL: kj_write(v, 0, out); break;
    case KJ_NUM:
        if (kj_i64(v, &i) == 0) {
            strbuf_appendf(out, "%lld", (long long)i);
        } else {
            (void)kj_f64(v, &d);
            strbuf_appendf(out, alone ? "%.17gf" : "%ff", d);
        }
        break;
    default: return false;
    }
    strbuf_appendc(out, ',');
    return true;
}

/* false: the item lacks a key, so nothing corresponds to it. */
static bool append_keys(const struct snode *list, const struct kj_val *item, struct strbuf *out)
{
    struct kj_iter it = kj_iter(list->list_keys);
    const struct kj_val *key;

    strbuf_reset(out);
    while (kj_next(&it, NULL, &key))
        if (!append_key(kj_getn(item, kj_str_or(key, ""), kj_len(key)),
                        kj_len(list->list_keys) == 1, out))
            return false;
    return out->len > 0;
}

static void read_items(struct old_parts *o)
{
    CLEANUP(strbuf_fini) struct strbuf keys = STRBUF_INIT;
    struct kj_iter it = kj_iter(o->old);
    const struct kj_val *item;

    o->read = true;
    o->a = arena_new();
    while (kj_next(&it, NULL, &item))
        if (append_keys(o->n, item, &keys) && !map_get(&o->by_key, keys.data, keys.len))
            map_put(&o->by_key, arena_strndup(o->a, keys.data, keys.len), keys.len,
                    (void *)(uintptr_t)item);
}

const struct kj_val *old_item(struct old_parts *o, const struct kj_val *item)
{
    CLEANUP(strbuf_fini) struct strbuf keys = STRBUF_INIT;

    if (o->n->list != S_LIST_MAP || kj_type(o->old) != KJ_ARR || !append_keys(o->n, item, &keys))
        return NULL;
    if (!o->read)
        read_items(o);
    return map_get(&o->by_key, keys.data, keys.len);
}

const struct kj_val *old_member(struct old_parts *o, struct str key)
{
    enum { FEW = 16 };
    struct kj_iter it = kj_iter(o->old);
    const struct kj_val *m;
    struct str name;

    if (kj_type(o->old) != KJ_OBJ || kj_len(o->old) <= FEW)
        return kj_getn(o->old, key.p, key.n);
    while (!o->read && kj_next(&it, &name, &m))
        map_put(&o->by_key, name.p, name.n, (void *)(uintptr_t)m);
    o->read = true;
    return map_get(&o->by_key, key.p, key.n);
}

void old_parts_fini(struct old_parts *o)
{
    map_fini(&o->by_key);
    o->a = arena_free(o->a);
}

static bool same_items(const struct snode *n, const struct kj_val *v, const struct kj_val *old)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = n, .old = old };
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    bool same = kj_len(v) == kj_len(old);

    while (same && kj_next(&it, NULL, &item))
        same = is_unchanged(n->items, item, old_item(&olds, item));
    return same;
}

static bool same_members(const struct snode *n, const struct kj_val *v, const struct kj_val *old)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = n, .old = old };
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;
    bool same = kj_len(v) == kj_len(old), known;

    while (same && kj_next(&it, &key, &m)) {
        const struct snode *below = snode_member(n, key.p, key.n, &known);
        same = below && is_unchanged(below, m, old_member(&olds, key));
    }
    return same;
}

bool is_unchanged(const struct snode *n, const struct kj_val *v, const struct kj_val *old)
{
    enum kj_type t = kj_type(v);

    if (!old || t != kj_type(old))
        return false;
    if (t == KJ_OBJ)
        return same_members(n, v, old);
    return t == KJ_ARR && n->list == S_LIST_MAP && n->items ? same_items(n, v, old)
                                                            : kj_equal(v, old);
}
