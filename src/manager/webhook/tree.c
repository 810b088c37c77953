/* tree.c - labels, annotations and objects in JSON trees. */
#include "manager/webhook/tree.h"

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

/* ---- resources ------------------------------------------------------------------------------- */

/* A quantity may be written as a number. */
static int quantity(const struct kj_mval *v, struct qty *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf number = STRBUF_INIT;
    struct str text = { kj_mstr_get(v), kj_mlen(v) };

    if (kj_mtype(v) == KJ_NUM) {
        kj_mwrite(v, 0, &number);
        text = (struct str){ strbuf_str(&number), number.len };
    } else if (text.p) {
        text = qty_trim(text.p, text.n);
    } else {
        return kerr_set(err, -EINVAL, "not a quantity");
    }
    return qty_parse(text.p, text.n, ret, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct resqty *)a)->name, ((const struct resqty *)b)->name);
}

int tree_reslist(const struct kj_mval *v, struct arena *a, reslist *ret, struct kerr *err)
{
    struct kj_miter it = kj_miter(v);
    reslist out = { 0 };
    struct kj_mval *val;
    struct str key;

    if (v && kj_mtype(v) != KJ_OBJ && kj_mtype(v) != KJ_NULL)
        return kerr_set(err, -EINVAL, "not a resource list");
    if (kj_mlen(v) > 0)
        out.items = arena_newn0(a, kj_mlen(v), struct resqty);
    while (kj_mnext(&it, &key, &val)) {
        struct resqty *q = &out.items[out.n++];
        q->name = arena_strndup(a, key.p, key.n);
        if (quantity(val, &q->value, err) < 0)
            return kerr_wrap(err, "%s", q->name);
    }
    if (out.n > 1)
        qsort(out.items, out.n, sizeof *out.items, by_name);
    *ret = out;
    return 0;
}

int tree_resources(const struct kj_mval *container, struct arena *a, struct resources *ret,
                   struct kerr *err)
{
    const struct kj_mval *v = kj_mget(container, "resources");

    if (tree_reslist(kj_mget(v, "requests"), a, &ret->requests, err) < 0)
        return kerr_wrap(err, "resources.requests");
    if (tree_reslist(kj_mget(v, "limits"), a, &ret->limits, err) < 0)
        return kerr_wrap(err, "resources.limits");
    return 0;
}

bool tree_set_reslist(struct kj_mdoc *d, struct kj_mval *parent, const char *key,
                      const reslist *was, const reslist *now)
{
    struct kj_mval *list = NULL;
    char text[QTY_TEXT_MAX];

    if (was->items == now->items && was->n == now->n)
        return false;
    for (uint32_t i = 0; i < was->n; i++)
        if (!reslist_has(now, was->items[i].name)) {
            list = list ? list : tree_object(d, parent, key);
            kj_mdel(list, was->items[i].name, strlen(was->items[i].name));
        }
    for (uint32_t i = 0; i < now->n; i++) {
        const struct qty *old = reslist_find(was, now->items[i].name);
        if (old && qty_cmp(*old, now->items[i].value) == 0)
            continue;
        list = list ? list : tree_object(d, parent, key);
        qty_print(now->items[i].value, text);
        kj_mset(d, list, now->items[i].name, kj_mstr(d, text));
    }
    return list != NULL;
}

bool tree_set_resources(struct kj_mdoc *d, struct kj_mval *container, const struct resources *was,
                        const struct resources *now)
{
    struct kj_mval *v;

    if (reslist_equal(&was->requests, &now->requests) && reslist_equal(&was->limits, &now->limits))
        return false;
    v = tree_object(d, container, "resources");
    bool requests = tree_set_reslist(d, v, "requests", &was->requests, &now->requests);
    return tree_set_reslist(d, v, "limits", &was->limits, &now->limits) || requests;
}

bool resources_have_both(const struct resources *r, const char *native, const char *extended)
{
    return (reslist_has(&r->requests, native) && reslist_has(&r->requests, extended)) ||
           (reslist_has(&r->limits, native) && reslist_has(&r->limits, extended));
}

const char *limit_ranger_text(const char *annotation)
{
    static const char prefix[] = "LimitRanger plugin set: ";

    if (!annotation || !str_starts(annotation, prefix))
        return "";
    return annotation + sizeof prefix - 1;
}
