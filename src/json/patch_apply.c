/* patch_apply.c - the patch of a client-side apply, from three documents: what was applied last,
 * what shall be applied now, and what the server has.
 *
 * What a person does not name stays as others set it; what was named last time and is not named any
 * more goes. With merge tables it is a strategic merge patch, in which items of lists are found by
 * their keys; without, a merge patch.
 */
#include "json/patch.h"

struct three {
    const struct kj_val *original, *modified, *current;
};

static struct kj_mval *diff_objects(struct kj_mdoc *d, struct three v, const struct kmerge *fields);

static const struct kmerge *find_field(const struct kmerge *fields, struct str key)
{
    for (; fields && fields->field; fields++)
        if (str_eqz(key, fields->field))
            return fields;
    return NULL;
}

static bool is_there(const struct kj_val *v)
{
    return kj_type(v) != KJ_ABSENT && kj_type(v) != KJ_NULL;
}

static void set_directive(struct kj_mdoc *d, struct kj_mval *patch, const char *directive,
                          struct str key, struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s/%.*s", directive, (int)key.n, key.p);
    kj_mset(d, patch, strbuf_str(&name), v);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct kj_val *find_item(const struct kj_val *list, const char *merge_key,
                                      const struct kj_val *like)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *item;

    while (kj_next(&it, NULL, &item))
        if (merge_key ? kj_equal(kj_get(item, merge_key), kj_get(like, merge_key))
                      : kj_equal(item, like))
            return item;
    return NULL;
}

/* Do the items of `list` that the server has stand there in the same order? */
static bool in_order(const struct kj_val *list, const struct kj_val *current, const char *merge_key)
{
    size_t at = 0, n = kj_len(current);
    struct kj_iter it = kj_iter(list);
    const struct kj_val *item;

    while (kj_next(&it, NULL, &item)) {
        const struct kj_val *found = find_item(current, merge_key, item);
        if (!found)
            continue;
        while (at < n && kj_at(current, at) != found)
            at++;
        if (at == n)
            return false;
    }
    return true;
}

static struct kj_mval *order_of(struct kj_mdoc *d, const struct kj_val *list, const char *merge_key)
{
    struct kj_mval *order = kj_marr(d);
    struct kj_iter it = kj_iter(list);
    const struct kj_val *item;

    while (kj_next(&it, NULL, &item)) {
        if (!merge_key) {
            kj_mpush(order, kj_mcopy(d, item));
            continue;
        }
        struct kj_mval *one = kj_mobj(d);
        kj_mset(d, one, merge_key, kj_mcopy(d, kj_get(item, merge_key)));
        kj_mpush(order, one);
    }
    return order;
}

static void push_keyed(struct kj_mdoc *d, struct kj_mval *out, struct three v,
                       const struct kmerge *m)
{
    struct kj_iter it = kj_iter(v.modified);
    const struct kj_val *item;

    while (kj_next(&it, NULL, &item)) {
        const struct kj_val *has = find_item(v.current, m->key, item);
        if (!has) {
            kj_mpush(out, kj_mcopy(d, item));
            continue;
        }
        struct three in = { find_item(v.original, m->key, item), item, has };
        struct kj_mval *change = diff_objects(d, in, m->sub);
        if (kj_mlen(change) == 0)
            continue;
        kj_mset(d, change, m->key, kj_mcopy(d, kj_get(item, m->key)));
        kj_mpush(out, change);
    }
    it = kj_iter(v.original);
    while (kj_next(&it, NULL, &item)) {
        if (find_item(v.modified, m->key, item) || !find_item(v.current, m->key, item))
            continue;
        struct kj_mval *gone = kj_mobj(d);
        kj_mset(d, gone, "$patch", kj_mstr(d, "delete"));
        kj_mset(d, gone, m->key, kj_mcopy(d, kj_get(item, m->key)));
        kj_mpush(out, gone);
    }
}

static void diff_keyed(struct kj_mdoc *d, struct kj_mval *patch, struct str key, struct three v,
                       const struct kmerge *m)
{
    struct kj_mval *items = kj_marr(d);

    push_keyed(d, items, v, m);
    bool changed = kj_mlen(items) > 0;
    if (changed)
        kj_msetn(d, patch, key.p, key.n, items);
    if (changed || !in_order(v.modified, v.current, m->key))
        set_directive(d, patch, "$setElementOrder", key, order_of(d, v.modified, m->key));
}

static void diff_set(struct kj_mdoc *d, struct kj_mval *patch, struct str key, struct three v)
{
    struct kj_mval *added = kj_marr(d), *gone = kj_marr(d);
    struct kj_iter it = kj_iter(v.modified);
    const struct kj_val *item;

    while (kj_next(&it, NULL, &item))
        if (!find_item(v.current, NULL, item))
            kj_mpush(added, kj_mcopy(d, item));
    it = kj_iter(v.original);
    while (kj_next(&it, NULL, &item))
        if (!find_item(v.modified, NULL, item) && find_item(v.current, NULL, item))
            kj_mpush(gone, kj_mcopy(d, item));
    bool changed = kj_mlen(added) + kj_mlen(gone) > 0;
    if (kj_mlen(gone) > 0)
        set_directive(d, patch, "$deleteFromPrimitiveList", key, gone);
    if (kj_mlen(added) > 0)
        kj_msetn(d, patch, key.p, key.n, added);
    if (changed || !in_order(v.modified, v.current, NULL))
        set_directive(d, patch, "$setElementOrder", key, order_of(d, v.modified, NULL));
}

/* ---- objects --------------------------------------------------------------------------------- */

static void set_whole(struct kj_mdoc *d, struct kj_mval *patch, struct str key, struct three v)
{
    if (!kj_equal(v.modified, v.current))
        kj_msetn(d, patch, key.p, key.n, kj_mcopy(d, v.modified));
}

static void diff_object(struct kj_mdoc *d, struct kj_mval *patch, struct str key, struct three v,
                        const struct kmerge *m)
{
    if (m && m->replace) {
        set_whole(d, patch, key, v);
        return;
    }
    struct kj_mval *change = diff_objects(d, v, m ? m->sub : NULL);
    if (kj_mlen(change) == 0)
        return;
    if (m && m->retain_keys) {
        struct kj_mval *names = kj_marr(d);
        struct kj_iter it = kj_iter(v.modified);
        const struct kj_val *val;
        struct str name;
        while (kj_next(&it, &name, &val))
            kj_mpush(names, kj_mstrn(d, name.p, name.n));
        kj_mset(d, change, "$retainKeys", names);
    }
    kj_msetn(d, patch, key.p, key.n, change);
}

static void diff_member(struct kj_mdoc *d, struct kj_mval *patch, struct str key, struct three v,
                        const struct kmerge *m)
{
    enum kj_type type = kj_type(v.modified);

    if (type == KJ_NULL) {
        if (is_there(v.current))
            kj_msetn(d, patch, key.p, key.n, kj_mnull(d));
    } else if (type != kj_type(v.current)) {
        kj_msetn(d, patch, key.p, key.n, kj_mcopy(d, v.modified));
    } else if (type == KJ_OBJ) {
        diff_object(d, patch, key, v, m);
    } else if (type == KJ_ARR && m && m->list == KMERGE_BY_KEY) {
        diff_keyed(d, patch, key, v, m);
    } else if (type == KJ_ARR && m && m->list == KMERGE_SET) {
        diff_set(d, patch, key, v);
    } else {
        set_whole(d, patch, key, v);
    }
}

static struct kj_mval *diff_objects(struct kj_mdoc *d, struct three v, const struct kmerge *fields)
{
    struct kj_mval *patch = kj_mobj(d);
    struct kj_iter it = kj_iter(v.modified);
    const struct kj_val *val;
    struct str key;

    while (kj_next(&it, &key, &val)) {
        struct three in = { kj_getn(v.original, key.p, key.n), val,
                            kj_getn(v.current, key.p, key.n) };
        diff_member(d, patch, key, in, find_field(fields, key));
    }
    it = kj_iter(v.original);
    while (kj_next(&it, &key, &val))
        if (kj_type(kj_getn(v.modified, key.p, key.n)) == KJ_ABSENT &&
            is_there(kj_getn(v.current, key.p, key.n)))
            kj_msetn(d, patch, key.p, key.n, kj_mnull(d));
    return patch;
}

struct kj_mval *kj_diff_apply(struct kj_mdoc *d, const struct kj_val *original,
                              const struct kj_val *modified, const struct kj_val *current,
                              const struct kmerge *fields)
{
    return diff_objects(d, (struct three){ original, modified, current }, fields);
}
