/* typed.c - what documents have, and how they differ. */
#include "apiserver/apply/typed.h"
#include "apiserver/apply/items.h"

/* ---- fields -------------------------------------------------------------------------------------
 */

static void collect(struct arena *a, const struct shape *s, const struct kj_val *v,
                    struct fields *out);

static bool is_nothing(const struct kj_val *v)
{
    return kj_type(v) == KJ_NULL || (kj_type(v) == KJ_OBJ && kj_len(v) == 0);
}

static void collect_members(struct arena *a, const struct shape *s, const struct kj_val *v,
                            struct fields *out)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;

    while (kj_next(&it, &key, &m)) {
        bool declared, known;
        struct shape inner = shape_member(s, key, &declared, &known);
        struct fields *kid = fields_open(a, out, field_member(a, key));
        collect(a, &inner, m, kid);
        kid->member = kid->member || !declared || is_nothing(m);
        fields_close(a, out, kid);
    }
}

static void collect_items(struct arena *a, const struct shape *s, const struct kj_val *v,
                          struct fields *out)
{
    CLEANUP(items_fini) struct items items = { 0 };
    struct shape inner = shape_item(s);

    items_read(s, v, &items);
    for (size_t i = 0; i < items.n; i++) {
        struct str e = items.list[i].element;
        struct fields *kid = fields_open(a, out, (struct str){ arena_strndup(a, e.p, e.n), e.n });
        collect(a, &inner, items.list[i].value, kid);
        kid->member = true;
        fields_close(a, out, kid);
    }
}

/* Into the node of this place. What is not of its form is one field: an annotation may hold
 * anything, and a schema may have become stricter than what is stored. */
static void collect(struct arena *a, const struct shape *s, const struct kj_val *v,
                    struct fields *out)
{
    enum shape_form form = shape_form(s, v);
    enum kj_type want = form == SHAPE_MAP ? KJ_OBJ : KJ_ARR;

    if (form == SHAPE_LEAF || (kj_type(v) > KJ_NULL && kj_type(v) != want))
        out->member = true;
    else if (form == SHAPE_MAP)
        collect_members(a, s, v, out);
    else
        collect_items(a, s, v, out);
}

const struct fields *typed_fields(struct arena *a, const struct shape *s, const struct kj_val *v)
{
    struct fields *set = fields_new(a);

    collect(a, s, v, set);
    set->member = false;
    return set;
}

/* ---- differences --------------------------------------------------------------------------------
 */

struct diff {
    struct arena *a;
    struct fields *added, *modified, *removed;
};

static void diff(const struct diff *d, const struct shape *s, const struct kj_val *x,
                 const struct kj_val *y, struct field_at *at);

static void diff_leaf(const struct diff *d, const struct kj_val *x, const struct kj_val *y,
                      struct field_at *at)
{
    if (!x)
        fields_insert(d->a, d->added, at);
    else if (!y)
        fields_insert(d->a, d->removed, at);
    else if (!kj_equal(x, y))
        fields_insert(d->a, d->modified, at);
}

static void diff_member(const struct diff *d, const struct shape *s, struct str key,
                        const struct kj_val *x, const struct kj_val *y, struct field_at *at)
{
    bool declared, known;
    struct shape inner = shape_member(s, key, &declared, &known);
    struct field_at here = { .up = at, .element = key, .name = true };

    diff(d, &inner, x, y, &here);
}

static void diff_members(const struct diff *d, const struct shape *s, const struct kj_val *x,
                         const struct kj_val *y, struct field_at *at)
{
    const struct kj_val *m;
    struct str key;

    for (struct kj_iter it = kj_iter(x); kj_next(&it, &key, &m);)
        diff_member(d, s, key, m, kj_getn(y, key.p, key.n), at);
    for (struct kj_iter it = kj_iter(y); kj_next(&it, &key, &m);)
        if (!kj_getn(x, key.p, key.n))
            diff_member(d, s, key, NULL, m, at);
}

static void diff_items(const struct diff *d, const struct shape *s, const struct kj_val *x,
                       const struct kj_val *y, struct field_at *at)
{
    CLEANUP(items_fini) struct items was = { 0 }, is = { 0 };
    struct shape inner = shape_item(s);

    items_read(s, x, &was);
    items_read(s, y, &is);
    for (size_t i = 0; i < was.n; i++) {
        struct field_at here = { .up = at, .element = was.list[i].element };
        const struct item *other = items_find(&is, was.list[i].element);
        if (was.list[i].repeated && items_find(&was, here.element) != &was.list[i])
            continue; /* looked at with the first of them */
        bool repeated = was.list[i].repeated || (other && other->repeated);
        if (repeated && other && !items_same(&was, &is, here.element))
            fields_insert(d->a, d->modified, &here);
        else if (!repeated || !other)
            diff(d, &inner, was.list[i].value, other ? other->value : NULL, &here);
    }
    for (size_t i = 0; i < is.n; i++)
        if (!items_find(&was, is.list[i].element)) {
            struct field_at here = { .up = at, .element = is.list[i].element };
            diff(d, &inner, NULL, is.list[i].value, &here);
        }
}

static void diff(const struct diff *d, const struct shape *s, const struct kj_val *x,
                 const struct kj_val *y, struct field_at *at)
{
    if (x && y && kj_equal(x, y))
        return; /* most of a document, and cheaper than a walk by its schema */
    enum shape_form form = shape_form(s, kj_type(y) > KJ_NULL || !x ? y : x);
    enum kj_type want = form == SHAPE_MAP ? KJ_OBJ : KJ_ARR;
    const struct kj_val *in_x = kj_type(x) == want ? x : NULL,
                        *in_y = kj_type(y) == want ? y : NULL;

    /* Nothing inside on either side: what is left is whether it is there. */
    if (form == SHAPE_LEAF || (kj_len(in_x) == 0 && kj_len(in_y) == 0)) {
        diff_leaf(d, x, y, at);
        return;
    }
    if (form == SHAPE_MAP)
        diff_members(d, s, in_x, in_y, at);
    else
        diff_items(d, s, in_x, in_y, at);
    if (!x || !y)
        diff_leaf(d, x, y, at);
}

struct typed_diff typed_compare(struct arena *a, const struct shape *s, const struct kj_val *before,
                                const struct kj_val *after)
{
    struct diff d = { a, fields_new(a), fields_new(a), fields_new(a) };

    diff(&d, s, before, after, NULL);
    return (struct typed_diff){ d.added, d.modified, d.removed };
}

/* ---- sets by the schema -------------------------------------------------------------------------
 */

static struct shape step(const struct shape *s, struct str element, bool *declared)
{
    bool known;

    *declared = false;
    if (element.p[0] == 'f')
        return shape_member(s, (struct str){ element.p + 2, element.n - 2 }, declared, &known);
    return shape_item(s);
}

const struct fields *typed_with_parents(struct arena *a, const struct shape *s,
                                        const struct fields *set)
{
    if (!set)
        return NULL;
    struct fields *out = fields_new(a);
    *out = *set;
    out->kids = arena_newn0(a, set->n ? set->n : 1, struct fields *);
    out->cap = set->n;
    for (uint32_t i = 0; i < set->n; i++) {
        bool declared;
        struct shape inner = step(s, set->kids[i]->element, &declared);
        struct fields *kid =
            (struct fields *)(uintptr_t)typed_with_parents(a, &inner, set->kids[i]);
        kid->member = kid->member || (declared && kid->n > 0);
        out->kids[i] = kid;
    }
    return out;
}
