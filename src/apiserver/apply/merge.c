/* merge.c - documents made of others: merged, without some fields; and documents that cannot be. */
#include "apiserver/apply/items.h"
#include "apiserver/apply/typed.h"

/* ---- merging ------------------------------------------------------------------------------------
 */

static struct kj_mval *merge_members(struct kj_mdoc *d, const struct shape *s,
                                     const struct kj_val *x, const struct kj_val *y)
{
    struct kj_mval *out = kj_mobj(d);
    const struct kj_val *m;
    bool declared, known;
    struct str key;

    for (struct kj_iter it = kj_iter(x); kj_next(&it, &key, &m);) {
        struct shape inner = shape_member(s, key, &declared, &known);
        kj_mappend(d, out, key.p, key.n, typed_merge(d, &inner, m, kj_getn(y, key.p, key.n)));
    }
    for (struct kj_iter it = kj_iter(y); kj_next(&it, &key, &m);)
        if (!kj_getn(x, key.p, key.n))
            kj_msetn(d, out, key.p, key.n, kj_mborrow(d, m));
    return out;
}

/* Two lists of named items in one: those of `over` in its order, those that only `base` has where
 * they stand between the others. */
struct zip {
    struct items base, over;
    size_t b, o;
    size_t next; /* the next of `over` that `base` has too */
};

static void find_next(struct zip *z)
{
    for (z->next = MAX(z->next, z->o); z->next < z->over.n; z->next++)
        if (items_find(&z->base, z->over.list[z->next].element))
            return;
}

static bool was_taken(const struct zip *z, const struct item *in_over)
{
    return in_over && (size_t)(in_over - z->over.list) < z->o;
}

static void take_over(struct zip *z, struct kj_mdoc *d, const struct shape *inner,
                      struct kj_mval *out)
{
    const struct item *i = &z->over.list[z->o++], *was = items_find(&z->base, i->element);

    /* Which of several would it be laid over? */
    kj_mpush(out, typed_merge(d, inner, was && !was->repeated ? was->value : NULL, i->value));
}

static void zip_step(struct zip *z, struct kj_mdoc *d, const struct shape *inner,
                     struct kj_mval *out)
{
    const struct item *b = z->b < z->base.n ? &z->base.list[z->b] : NULL;
    const struct item *in_over = b ? items_find(&z->over, b->element) : NULL;

    if (b && !in_over) {
        kj_mpush(out, kj_mborrow(d, b->value));
        z->b++;
        return;
    }
    find_next(z);
    /* `over` has it at another place: it went before, or comes later. */
    if (b && z->o < z->over.n && z->next < z->over.n && in_over != &z->over.list[z->next]) {
        z->b++;
        return;
    }
    bool same = b && z->o < z->over.n && in_over == &z->over.list[z->o];
    if (same || was_taken(z, in_over))
        z->b++;
    if (z->o < z->over.n)
        take_over(z, d, inner, out);
}

static struct kj_mval *merge_items(struct kj_mdoc *d, const struct shape *s, const struct kj_val *x,
                                   const struct kj_val *y)
{
    struct shape inner = shape_item(s);
    struct kj_mval *out = kj_marr(d);
    struct zip z = { 0 };

    items_read(s, x, &z.base);
    items_read(s, y, &z.over);
    while (z.b < z.base.n || z.o < z.over.n)
        zip_step(&z, d, &inner, out);
    items_fini(&z.base);
    items_fini(&z.over);
    return out;
}

struct kj_mval *typed_merge(struct kj_mdoc *d, const struct shape *s, const struct kj_val *base,
                            const struct kj_val *over)
{
    enum shape_form form = shape_form(s, kj_type(over) > KJ_NULL || !base ? over : base);
    enum kj_type want = form == SHAPE_MAP ? KJ_OBJ : KJ_ARR;

    if (!base || !over || form == SHAPE_LEAF)
        return kj_mborrow(d, over ? over : base);
    if (kj_type(base) != want || kj_len(base) == 0)
        return kj_mborrow(d, over);
    if (kj_type(over) != want || kj_len(over) == 0)
        return kj_mborrow(d, base);
    return form == SHAPE_MAP ? merge_members(d, s, base, over) : merge_items(d, s, base, over);
}

/* ---- removing -----------------------------------------------------------------------------------
 */

static struct kj_mval *or_null(struct kj_mdoc *d, struct kj_mval *v)
{
    return kj_mlen(v) ? v : kj_mnull(d);
}

static struct kj_mval *remove_members(struct kj_mdoc *d, const struct shape *s,
                                      const struct kj_val *v, const struct fields *gone)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(1024);
    struct kj_mval *out = kj_mobj(d);
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;

    while (kj_next(&it, &key, &m)) {
        bool declared, known;
        struct shape inner = shape_member(s, key, &declared, &known);
        const struct fields *f = fields_below(gone, field_member(a, key));
        if (!f || !f->member)
            kj_msetn(d, out, key.p, key.n, typed_remove(d, &inner, m, f));
    }
    return or_null(d, out);
}

static struct kj_mval *remove_items(struct kj_mdoc *d, const struct shape *s,
                                    const struct kj_val *v, const struct fields *gone)
{
    CLEANUP(strbuf_fini) struct strbuf element = STRBUF_INIT;
    struct shape inner = shape_item(s);
    struct kj_mval *out = kj_marr(d);

    for (size_t i = 0; i < kj_len(v); i++) {
        const struct kj_val *item = kj_at(v, i);
        const struct fields *f = NULL;
        strbuf_reset(&element);
        if (shape_element(s, item, &element, NULL) == 0)
            f = fields_below(gone, (struct str){ strbuf_str(&element), element.len });
        if (!f || !f->member)
            kj_mpush(out, typed_remove(d, &inner, item, f));
    }
    return or_null(d, out);
}

struct kj_mval *typed_remove(struct kj_mdoc *d, const struct shape *s, const struct kj_val *v,
                             const struct fields *gone)
{
    enum shape_form form = shape_form(s, v);

    if (fields_empty(gone) || form == SHAPE_LEAF || kj_len(v) == 0)
        return kj_mcopy(d, v);
    if (form == SHAPE_MAP && kj_type(v) == KJ_OBJ)
        return remove_members(d, s, v, gone);
    if (form != SHAPE_MAP && kj_type(v) == KJ_ARR)
        return remove_items(d, s, v, gone);
    return kj_mcopy(d, v);
}

/* ---- what cannot be merged ----------------------------------------------------------------------
 */

static int check(const struct shape *s, const struct kj_val *v, struct strbuf *path,
                 struct kerr *err);

static int wrong(struct kerr *err, const struct strbuf *path, const char *why)
{
    return path ? kerr_set(err, -EINVAL, "%s: %s", strbuf_str(path), why) : -EINVAL;
}

static int check_members(const struct shape *s, const struct kj_val *v, struct strbuf *path,
                         struct kerr *err)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    size_t n = path ? path->len : 0;
    struct str key;
    int e = 0;

    while (e == 0 && kj_next(&it, &key, &m)) {
        bool declared, known;
        struct shape inner = shape_member(s, key, &declared, &known);
        if (path) {
            strbuf_appendc(path, '.');
            strbuf_appendn(path, key.p, key.n);
        }
        if (!known)
            e = wrong(err, path, "field not declared in schema");
        else
            e = check(&inner, m, path, err);
        if (path)
            strbuf_truncate(path, n);
    }
    return e;
}

static int check_items(const struct shape *s, const struct kj_val *v, struct strbuf *path,
                       struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf element = STRBUF_INIT;
    CLEANUP(items_fini) struct items items = { 0 };
    struct shape inner = shape_item(s);
    struct kerr why = { 0 };
    size_t n = path ? path->len : 0;
    int e = 0;

    for (size_t i = 0; e == 0 && i < kj_len(v); i++) {
        strbuf_reset(&element);
        e = shape_element(s, kj_at(v, i), &element, &why);
        if (e < 0)
            return path ? kerr_set(err, e, "%s: element %zu: %s", strbuf_str(path), i, why.text)
                        : e;
        if (path)
            strbuf_appendf(path, "[%.*s]", (int)element.len - 2, strbuf_str(&element) + 2);
        e = check(&inner, kj_at(v, i), path, err);
        if (path)
            strbuf_truncate(path, n);
    }
    if (e < 0)
        return e;
    items_read(s, v, &items);
    for (size_t i = 0; i < items.n; i++)
        if (items.list[i].repeated && !path)
            return -EINVAL;
        else if (items.list[i].repeated)
            return kerr_set(err, -EINVAL, "%s: duplicate entries for key [%.*s]", strbuf_str(path),
                            (int)items.list[i].element.n - 2, items.list[i].element.p + 2);
    return 0;
}

static int check(const struct shape *s, const struct kj_val *v, struct strbuf *path,
                 struct kerr *err)
{
    enum shape_form form = shape_form(s, v);

    if (form == SHAPE_LEAF || kj_type(v) == KJ_NULL)
        return 0;
    if (kj_type(v) != (form == SHAPE_MAP ? KJ_OBJ : KJ_ARR))
        return wrong(err, path, form == SHAPE_MAP ? "expected map" : "expected list");
    return form == SHAPE_MAP ? check_members(s, v, path, err) : check_items(s, v, path, err);
}

int typed_check(const struct shape *s, const struct kj_val *v, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;

    /* Where it is wrong is only asked when it is. */
    return check(s, v, NULL, NULL) < 0 ? check(s, v, &path, err) : 0;
}
