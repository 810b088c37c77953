/* tree.c - labels, annotations and objects in JSON trees. */
#include "manager/webhook/webhook_int.h"

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct kstrpair *)a)->key, ((const struct kstrpair *)b)->key);
}

static void sort(kstrmap *m)
{
    if (m->n > 1)
        qsort(m->items, m->n, sizeof *m->items, by_key);
}

int tree_strmap(const struct kj_mval *v, struct arena *a, kstrmap *ret)
{
    struct kj_miter it = kj_miter(v);
    kstrmap out = { 0 };
    struct kj_mval *val;
    struct str key;

    if (v && kj_mtype(v) != KJ_OBJ && kj_mtype(v) != KJ_NULL)
        return -EINVAL;
    out.items = arena_newn0(a, kj_mlen(v), struct kstrpair);
    while (kj_mnext(&it, &key, &val)) {
        const char *text = kj_mstr_get(val);
        if (!text)
            return -EINVAL;
        out.items[out.n++] = (struct kstrpair){ arena_strndup(a, key.p, key.n), text };
    }
    sort(&out);
    *ret = out;
    return 0;
}

kstrmap tree_strmap_of(const struct kj_val *v, struct arena *a)
{
    struct kj_iter it = kj_iter(v);
    kstrmap out = { 0 };
    const struct kj_val *val;
    struct str key;

    if (kj_type(v) != KJ_OBJ)
        return out;
    out.items = arena_newn0(a, kj_len(v), struct kstrpair);
    while (kj_next(&it, &key, &val))
        if (kj_str(val))
            out.items[out.n++] = (struct kstrpair){ arena_strndup(a, key.p, key.n), kj_str(val) };
    sort(&out);
    return out;
}

struct kj_mval *tree_object(struct kj_mdoc *d, struct kj_mval *parent, const char *key)
{
    struct kj_mval *v = kj_mget(parent, key);

    if (kj_mtype(v) == KJ_OBJ)
        return v;
    v = kj_mobj(d);
    kj_mset(d, parent, key, v);
    return v;
}

bool tree_set_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *text)
{
    const char *was = kj_mstr_get(kj_mget(obj, key));

    if (was && streq(was, text))
        return false;
    kj_mset(d, obj, key, kj_mstr(d, text));
    return true;
}

const char *tree_meta_get(const struct kj_mval *obj, const char *field, const char *key)
{
    return kj_mstr_get(kj_mget(kj_mget(kj_mget(obj, "metadata"), field), key));
}

bool tree_meta_set(struct kj_mdoc *d, struct kj_mval *obj, const char *field, const char *key,
                   const char *value)
{
    return tree_set_str(d, tree_object(d, tree_object(d, obj, "metadata"), field), key, value);
}
