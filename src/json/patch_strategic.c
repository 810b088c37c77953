/* patch_strategic.c - Kubernetes' strategic merge patch.
 *
 * Objects merge member by member; lists merge by a key or as sets where the table says so and are
 * replaced elsewhere. Directives inside the patch steer it:
 *   $patch: replace | delete            of an object, or of a list's element
 *   $retainKeys: [k]                    members not named go
 *   $setElementOrder/x: [..]            the order of list x afterwards
 *   $deleteFromPrimitiveList/x: [..]    values that leave the set x
 * Both trees are copied first, so everything here may take them apart. Where upstream's library
 * would panic (a null inside a merged list) we refuse the patch.
 */
#include "json/patch.h"

#include "base/arena.h"
#include "base/map.h"
#include "json/objedit.h"

#include <stdio.h>

#define PATCH_MARK   "$patch"
#define RETAIN_KEYS  "$retainKeys"
#define SET_ORDER    "$setElementOrder"
#define DELETE_ITEMS "$deleteFromPrimitiveList"

struct smp {
    struct kj_mdoc *d;
    struct arena *a;
    struct kerr *err;
};

static int bad(struct smp *s, const char *fmt, ...) PRINTF(2, 3);
static int bad(struct smp *s, const char *fmt, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kerr_api(s->err, -EINVAL, KR_BAD_REQUEST, "%s", text);
}

static int no_merge_key(struct smp *s, const char *key)
{
    return kerr_api(s->err, -EBADMSG, KR_BAD_REQUEST,
                    "a list element does not contain declared merge key: %s", key);
}

static const struct kmerge *lookup(const struct kmerge *fields, const char *key, size_t n)
{
    static const struct kmerge none = { 0 }; /* objects merge, lists are replaced */

    for (const struct kmerge *f = fields; f && f->field; f++)
        if (strncmp(f->field, key, n) == 0 && f->field[n] == '\0')
            return f;
    return &none;
}

static bool merges(const struct kmerge *f)
{
    return f->list != KMERGE_ATOMIC;
}

/* ---- scalars as Go sees them ----------------------------------------------------------------- */

enum gotype { GO_NIL, GO_BOOL, GO_INT, GO_FLOAT, GO_STR, GO_LIST, GO_MAP };

static enum gotype gotype(const struct kj_mval *v)
{
    struct kj_number num;

    switch (kj_mtype(v)) {
    case KJ_BOOL: return GO_BOOL;
    case KJ_NUM:
        if (kj_number_of(kj_my_scalar(v), &num) && num.kind != KJ_NUM_F64 &&
            (num.kind == KJ_NUM_I64 || num.u <= INT64_MAX))
            return GO_INT;
        return GO_FLOAT;
    case KJ_STR: return GO_STR;
    case KJ_ARR: return GO_LIST;
    case KJ_OBJ: return GO_MAP;
    default: return GO_NIL;
    }
}

/* A text that is the same exactly for equal scalars: how elements are found. */
static struct str scalar_key(struct smp *s, const struct kj_mval *v)
{
    char text[64];
    size_t n;

    switch (gotype(v)) {
    case GO_NIL: return STR("n");
    case GO_BOOL: return kj_bool((const struct kj_val *)v, false) ? STR("t") : STR("f");
    case GO_STR: {
        char *p = arena_alloc(s->a, kj_mlen(v) + 1, 1);
        p[0] = '"';
        memcpy(p + 1, kj_mstr_get(v), kj_mlen(v));
        return (struct str){ p, kj_mlen(v) + 1 };
    }
    case GO_INT:
    case GO_FLOAT:
        n = kj_num_text((const struct kj_val *)v, text, sizeof text);
        n = MIN(n, sizeof text - 1);
        return (struct str){
            arena_printf(s->a, "%c%.*s", gotype(v) == GO_INT ? 'i' : 'd', (int)n, text), n + 1
        };
    default: return (struct str){ NULL, 0 }; /* lists and maps are equal to nothing */
    }
}

/* ---- lists as arrays ------------------------------------------------------------------------- */

struct items {
    struct kj_mval **v;
    size_t n;
};

static struct items items_of(struct smp *s, const struct kj_mval *arr)
{
    struct items l = { arena_newn0(s->a, kj_mlen(arr) + 1, struct kj_mval *), 0 };
    struct kj_miter it = kj_miter(arr);
    struct kj_mval *v;

    while (kj_mnext(&it, NULL, &v))
        l.v[l.n++] = v;
    return l;
}

static struct items items_new(struct smp *s, size_t cap)
{
    return (struct items){ arena_newn0(s->a, cap + 1, struct kj_mval *), 0 };
}

static struct kj_mval *items_list(struct smp *s, struct items l)
{
    struct kj_mval *arr = kj_marr(s->d);
    for (size_t i = 0; i < l.n; i++)
        kj_mpush(arr, l.v[i]);
    return arr;
}

/* What identifies an element: its merge key's value, or itself. No text when there is none. */
static struct str item_key(struct smp *s, const struct kj_mval *v, const char *key)
{
    const struct kj_mval *id = key ? kj_mget(v, key) : v;
    return id ? scalar_key(s, id) : (struct str){ NULL, 0 };
}

/* From an element's identity to its first place in a list. */
struct places {
    struct map map;
};

static void places_fini_p(struct places *p)
{
    map_fini(&p->map);
}
#define PLACES __attribute__((cleanup(places_fini_p))) struct places

static void places_add(struct places *p, struct str id, size_t at)
{
    if (id.p && !map_get(&p->map, id.p, id.n))
        map_put(&p->map, id.p, id.n, (void *)(at + 1));
}

static ssize_t places_find(const struct places *p, struct str id)
{
    return id.p ? (ssize_t)(uintptr_t)map_get(&p->map, id.p, id.n) - 1 : -1;
}

static struct places places_of(struct smp *s, struct items l, const char *key)
{
    struct places p = { 0 };
    for (size_t i = 0; i < l.n; i++)
        places_add(&p, item_key(s, l.v[i], key), i);
    return p;
}

/* All elements of both lists must be of one type, and none a list. */
static int element_type(struct smp *s, struct items a, struct items b, enum gotype *ret)
{
    bool any = false;

    for (size_t i = 0; i < a.n + b.n; i++) {
        enum gotype t = gotype(i < a.n ? a.v[i] : b.v[i - a.n]);
        if (t == GO_NIL)
            return bad(s, "a merged list must not contain null");
        if (t == GO_LIST)
            return bad(s, "lists of lists are not supported");
        if (any && t != *ret)
            return bad(s, "list element types are not identical");
        *ret = t;
        any = true;
    }
    return any ? 0 : bad(s, "no elements in any of the given slices");
}

static const char *directive_of(const struct kj_mval *v)
{
    return kj_mstr_get(kj_mget(v, PATCH_MARK));
}

static bool has_directive(const struct kj_mval *v)
{
    return kj_mget(v, PATCH_MARK);
}

/* ---- order ----------------------------------------------------------------------------------- */

struct ranked {
    struct kj_mval *v;
    ssize_t rank; /* -1: not in the list that gives the order */
    size_t pos;
};

static int by_rank(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->pos > b->pos) - (a->pos < b->pos);
}

/* Upstream's order is not one when a rank is missing ("less" both ways); what its stable sort then
 * gives for short lists is what this insertion gives. */
static void sort_loosely(struct ranked *r, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0; j--) {
            bool both = r[j].rank >= 0 && r[j - 1].rank >= 0;
            if (both && r[j].rank >= r[j - 1].rank)
                break;
            struct ranked t = r[j];
            r[j] = r[j - 1];
            r[j - 1] = t;
        }
}

enum { LOOSE_MAX = 1000 }; /* beyond it, quadratic work for an order nobody can rely on */

/* Elements to delete (they can only come from a list that was not merged) go to the end. */
static int sort_items(struct smp *s, struct items *l, struct items order, const char *key,
                      enum gotype type)
{
    PLACES ranks = places_of(s, order, key);
    struct ranked *r = arena_newn0(s->a, l->n + 1, struct ranked);
    struct items gone = items_new(s, l->n);
    size_t n = 0;
    bool missing = false;

    if (type == GO_MAP) {
        for (size_t i = 0; i < order.n; i++)
            if (!kj_mget(order.v[i], str_or(key, "")))
                return no_merge_key(s, str_or(key, ""));
        for (size_t i = 0; i < l->n; i++)
            if (!kj_mget(l->v[i], str_or(key, "")))
                return no_merge_key(s, str_or(key, ""));
    }
    for (size_t i = 0; i < l->n; i++) {
        const char *directive = type == GO_MAP ? directive_of(l->v[i]) : NULL;
        if (directive && streq(directive, "delete")) {
            gone.v[gone.n++] = l->v[i];
            continue;
        }
        r[n] = (struct ranked){ l->v[i], places_find(&ranks, item_key(s, l->v[i], key)), n };
        missing |= r[n++].rank < 0;
    }
    if (missing && n <= LOOSE_MAX)
        sort_loosely(r, n);
    else if (n > 1)
        qsort(r, n, sizeof *r, by_rank);
    for (size_t i = 0; i < n; i++)
        l->v[i] = r[i].v;
    for (size_t i = 0; i < gone.n; i++)
        l->v[n + i] = gone.v[i];
    return 0;
}

/* Two lists in order become one: an element of `left` goes first when the server had it before the
 * next one of `right`. */
static struct items interleave(struct smp *s, struct items left, struct items right,
                               struct items server, const char *key)
{
    PLACES ranks = places_of(s, server, key);
    struct items all = items_new(s, left.n + right.n);
    size_t i = 0, j = 0;

    while (i < left.n || j < right.n) {
        bool from_left = j >= right.n;
        if (i < left.n && j < right.n) {
            ssize_t l = places_find(&ranks, item_key(s, left.v[i], key));
            ssize_t r = places_find(&ranks, item_key(s, right.v[j], key));
            from_left = l >= 0 && r >= 0 && l < r;
        }
        all.v[all.n++] = from_left ? left.v[i++] : right.v[j++];
    }
    return all;
}

/* Elements named in `order` follow it, the others keep the server's order around them. */
static int enforce_order(struct smp *s, struct items merged, struct items order,
                         struct items server, const char *key, enum gotype type, struct items *ret)
{
    struct items named = items_new(s, merged.n), others = items_new(s, merged.n);
    PLACES ranks = places_of(s, order, key);

    if (!key && type == GO_MAP && merged.n > 0)
        return bad(s, "cannot order a list of objects without a merge key");
    for (size_t i = 0; i < merged.n; i++) {
        if (key && gotype(merged.v[i]) != GO_MAP)
            return bad(s, "expected an object in a list merged by key");
        if (key && !kj_mget(merged.v[i], key))
            return no_merge_key(s, key);
        struct items *to =
            places_find(&ranks, item_key(s, merged.v[i], key)) >= 0 ? &named : &others;
        to->v[to->n++] = merged.v[i];
    }
    int r = sort_items(s, &named, order, key, type);
    if (r == 0)
        r = sort_items(s, &others, server, key, type);
    if (r == 0)
        *ret = interleave(s, others, named, server, key);
    return r;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int merge_object(struct smp *s, struct kj_mval *doc, struct kj_mval *patch,
                        const struct kmerge *fields, struct kj_mval **ret);

static struct items without(struct smp *s, struct items from, struct items gone, const char *key)
{
    PLACES ids = places_of(s, gone, key);
    struct items kept = items_new(s, from.n);

    for (size_t i = 0; i < from.n; i++)
        if (places_find(&ids, item_key(s, from.v[i], key)) < 0)
            kept.v[kept.n++] = from.v[i];
    return kept;
}

/* Every value once. */
static struct items set_union(struct smp *s, struct items a, struct items b)
{
    struct items all = items_new(s, a.n + b.n);
    PLACES seen = { 0 };

    for (size_t i = 0; i < a.n + b.n; i++) {
        struct kj_mval *v = i < a.n ? a.v[i] : b.v[i - a.n];
        struct str id = item_key(s, v, NULL);
        if (places_find(&seen, id) >= 0)
            continue;
        places_add(&seen, id, i);
        all.v[all.n++] = v;
    }
    return all;
}

/* Carries out and removes the elements with $patch: delete and replace. */
static int apply_directives(struct smp *s, struct items *doc, struct items *patch, const char *key)
{
    struct items plain = items_new(s, patch->n), gone = items_new(s, patch->n);
    bool replace = false;

    for (size_t i = 0; i < patch->n; i++) {
        struct kj_mval *v = patch->v[i];
        const char *directive = directive_of(v);
        if (!has_directive(v))
            plain.v[plain.n++] = v;
        else if (directive && streq(directive, "delete")) {
            if (!kj_mget(v, key))
                return no_merge_key(s, key);
            gone.v[gone.n++] = v;
        } else if (directive && streq(directive, "replace"))
            replace = true;
        else if (directive && streq(directive, "merge"))
            return bad(s, "merging lists cannot yet be specified in the patch");
        else
            return kerr_api(s->err, -EBADMSG, KR_BAD_REQUEST, "unknown patch type: %s",
                            str_or(directive, "?"));
    }
    *doc = replace ? plain : gone.n ? without(s, *doc, gone, key) : *doc;
    *patch = replace ? items_new(s, 0) : plain;
    return 0;
}

/* Elements of the patch merge into the document's with the same key, or are added. */
static int merge_elements(struct smp *s, struct items doc, struct items patch,
                          const struct kmerge *f, struct items *ret)
{
    PLACES at = places_of(s, doc, f->key);
    struct items all = items_new(s, doc.n + patch.n);

    memcpy(all.v, doc.v, doc.n * sizeof *all.v);
    all.n = doc.n;
    for (size_t i = 0; i < patch.n; i++) {
        if (!kj_mget(patch.v[i], f->key))
            return no_merge_key(s, f->key);
        struct str id = item_key(s, patch.v[i], f->key);
        ssize_t found = places_find(&at, id);
        if (found < 0) {
            places_add(&at, id, all.n);
            all.v[all.n++] = patch.v[i];
            continue;
        }
        struct kj_mval *name = kj_mobj(s->d); /* merging empties the element, its key is needed */
        kj_mset(s->d, name, f->key, kj_mclone(s->d, kj_mget(patch.v[i], f->key)));
        int r = merge_object(s, all.v[found], patch.v[i], f->sub, &all.v[found]);
        if (r < 0)
            return r;
        patch.v[i] = name;
    }
    *ret = all;
    return 0;
}

/* ret_server (may be NULL): the order of the list before, for $setElementOrder. Upstream merges
 * in place, so an element that was added counts as if it stood where deleted ones left room at the
 * end; every kubectl apply that renames a container next to an injected one shows it. */
static int merge_list(struct smp *s, struct kj_mval *doc, struct kj_mval *patch,
                      const struct kmerge *f, bool deleting, struct kj_mval **ret,
                      struct items *ret_server)
{
    struct items d = items_of(s, doc), p = items_of(s, patch), merged, ordered;
    const char *key = f->list == KMERGE_BY_KEY ? f->key : NULL;
    size_t before = d.n;
    enum gotype type;

    if (!merges(f) && !deleting) {
        *ret = patch;
        return 0;
    }
    if (d.n == 0 && p.n == 0) {
        *ret = doc;
        return 0;
    }
    int r = element_type(s, d, p, &type);
    if (r < 0)
        return r;
    if (type != GO_MAP) {
        if (deleting) {
            *ret = items_list(s, without(s, d, p, NULL));
            return 0;
        }
        merged = set_union(s, d, p);
    } else {
        if (!key)
            return bad(s, "cannot merge lists without merge key for %s",
                       str_or(f->field, "struct"));
        r = apply_directives(s, &d, &p, key);
        if (r == 0)
            r = merge_elements(s, d, p, f, &merged);
        if (r < 0)
            return r;
        if (ret_server)
            *ret_server = (struct items){ merged.v, MIN(before, merged.n) };
    }
    r = enforce_order(s, merged, p, d, key, type, &ordered);
    if (r == 0)
        *ret = items_list(s, ordered);
    return r;
}

/* ---- new values ------------------------------------------------------------------------------ */

/* Nulls of the patch mean "remove", and there is nothing to remove. */
static void drop_nulls(struct smp *s, struct kj_mval *v)
{
    struct kj_miter it = kj_miter(v);
    struct kj_mval *c;
    bool found = false;

    while (kj_mnext(&it, NULL, &c)) {
        found |= kj_mtype(c) == KJ_NULL;
        drop_nulls(s, c);
    }
    if (!found || kj_mtype(v) != KJ_OBJ)
        return;
    struct objedit e;
    objedit_open(&e, s->d, v);
    for (size_t i = 0; i < e.n; i++)
        if (kj_mtype(kj_mfrom(e.m[i].val)) == KJ_NULL)
            e.m[i].val = NULL;
    objedit_close(&e);
}

/* Objects that carry $patch speak about something that is not there. NULL: v is such a one. */
static struct kj_mval *drop_directives(struct smp *s, struct kj_mval *v)
{
    if (kj_mtype(v) == KJ_OBJ) {
        if (has_directive(v))
            return NULL;
        struct objedit e;
        objedit_open(&e, s->d, v);
        for (size_t i = 0; i < e.n; i++)
            e.m[i].val = kj_my(drop_directives(s, kj_mfrom(e.m[i].val)));
        objedit_close(&e);
    } else if (kj_mtype(v) == KJ_ARR) {
        struct items l = items_of(s, v), kept = items_new(s, l.n);
        for (size_t i = 0; i < l.n; i++) {
            struct kj_mval *c = drop_directives(s, l.v[i]);
            if (c)
                kept.v[kept.n++] = c;
        }
        return items_list(s, kept);
    }
    return v;
}

/* ---- directives of an object ----------------------------------------------------------------- */

static struct str member_key(const struct objedit_member *m)
{
    return (struct str){ m->key->uni.str, kj_ylen((const yyjson_val *)m->key) };
}

static bool key_starts(struct str key, const char *prefix)
{
    return key.n >= strlen(prefix) && memcmp(key.p, prefix, strlen(prefix)) == 0;
}

/* "$setElementOrder/x" -> "x"; false when the key has the prefix but not this shape. */
static bool directive_field(struct str key, const char *prefix, struct str *ret)
{
    size_t n = strlen(prefix);

    if (key.n <= n || key.p[n] != '/')
        return false;
    *ret = (struct str){ key.p + n + 1, key.n - n - 1 };
    return true;
}

static int retain_keys(struct smp *s, struct objedit *doc, struct objedit *patch)
{
    struct kj_mval *list = objedit_get(patch, RETAIN_KEYS, strlen(RETAIN_KEYS));
    static const char what[] = "invalid patch format of retainKeys";

    if (!list)
        return 0;
    if (kj_mtype(list) != KJ_ARR)
        return bad(s, "%s", what);
    PLACES keep = places_of(s, items_of(s, list), NULL);
    objedit_del(patch, RETAIN_KEYS, strlen(RETAIN_KEYS));
    for (size_t i = 0; i < patch->n; i++) {
        struct kj_mval *v = kj_mfrom(patch->m[i].val), *name;
        struct str key = member_key(&patch->m[i]);
        if (!v || kj_mtype(v) == KJ_NULL || key_starts(key, DELETE_ITEMS) ||
            key_starts(key, SET_ORDER))
            continue;
        name = kj_mstrn(s->d, key.p, key.n);
        if (places_find(&keep, scalar_key(s, name)) < 0)
            return bad(s, "%s", what);
    }
    for (size_t i = 0; i < doc->n; i++) {
        struct str key = member_key(&doc->m[i]);
        if (places_find(&keep, scalar_key(s, kj_mstrn(s->d, key.p, key.n))) < 0)
            doc->m[i].val = NULL;
    }
    return 0;
}

/* The patch's elements must come in the order that $setElementOrder gives. */
static int check_set_order(struct smp *s, struct items patch, struct items order, const char *key)
{
    size_t o = 0;

    if (order.n == 0 || patch.n == 0)
        return 0;
    for (size_t i = 0; i < patch.n; i++) {
        if (key && gotype(patch.v[i]) != GO_MAP)
            return bad(s, "expected an object in a list merged by key");
        const char *directive = directive_of(patch.v[i]);
        if (key && directive && streq(directive, "delete"))
            continue;
        bool found = has_directive(patch.v[i]) && o < order.n;
        while (o < order.n && !found) {
            if (key && (gotype(order.v[o]) != GO_MAP))
                return bad(s, "invalid patch format of setElementOrder list");
            if (key && (!kj_mget(patch.v[i], key) || !kj_mget(order.v[o], key)))
                return no_merge_key(s, key);
            struct str a = item_key(s, patch.v[i], key), b = item_key(s, order.v[o], key);
            found = a.p && b.p && str_eq(a, b);
            o++;
        }
        if (!found)
            return bad(s, "The order in patch list doesn't match %s list", SET_ORDER);
    }
    return 0;
}

static int set_order(struct smp *s, struct objedit *doc, struct objedit *patch, struct str field,
                     struct kj_mval *order_list, const struct kmerge *fields)
{
    struct kj_mval *dv = objedit_get(doc, field.p, field.n);
    struct kj_mval *pv = objedit_get(patch, field.p, field.n), *list = dv;
    const struct kmerge *f = lookup(fields, field.p, field.n);
    const char *key = f->list == KMERGE_BY_KEY ? f->key : NULL;
    struct items order = items_of(s, order_list), server, given, ordered;
    enum gotype type = GO_NIL;

    if (kj_mtype(order_list) != KJ_ARR || (dv && kj_mtype(dv) != KJ_ARR) ||
        (pv && kj_mtype(pv) != KJ_ARR))
        return bad(s, "%s/%.*s needs lists", SET_ORDER, (int)MIN(field.n, (size_t)60), field.p);
    server = items_of(s, dv);
    given = items_of(s, pv);
    int r = check_set_order(s, given, order, key);
    if (r < 0 || (!dv && !pv))
        return r;
    r = element_type(s, server, given, &type);
    if (r == 0 && !dv)
        list = drop_directives(s, pv);
    else if (r == 0 && pv)
        r = merge_list(s, dv, pv, f, false, &list, &server);
    if (r == 0)
        r = enforce_order(s, items_of(s, list), order, server, key, type, &ordered);
    if (r < 0)
        return r;
    objedit_set(doc, field.p, field.n, items_list(s, ordered));
    objedit_del(patch, field.p, field.n); /* done */
    return 0;
}

static int set_orders(struct smp *s, struct objedit *doc, struct objedit *patch,
                      const struct kmerge *fields)
{
    for (size_t i = 0; i < patch->n; i++) {
        struct str key = member_key(&patch->m[i]), field;
        struct kj_mval *order = kj_mfrom(patch->m[i].val);
        if (!order || !key_starts(key, SET_ORDER))
            continue;
        if (!directive_field(key, SET_ORDER, &field))
            return bad(s, "invalid patch format of setElementOrder list");
        patch->m[i].val = NULL;
        int r = set_order(s, doc, patch, field, order, fields);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static int merge_member(struct smp *s, struct objedit *doc, struct str key, struct kj_mval *v,
                        const struct kmerge *fields)
{
    bool deleting = key_starts(key, DELETE_ITEMS);
    struct kj_mval *merged = NULL;

    if (deleting && !directive_field(key, DELETE_ITEMS, &key))
        return bad(s, "invalid patch format of primitive list");
    if (kj_mtype(v) == KJ_NULL) {
        objedit_del(doc, key.p, key.n);
        return 0;
    }
    struct kj_mval *cur = objedit_get(doc, key.p, key.n);
    const struct kmerge *f = lookup(fields, key.p, key.n);
    int r = 0;
    if (!cur || gotype(cur) != gotype(v)) {
        if (deleting)
            return 0;
        drop_nulls(s, v);
        merged = drop_directives(s, v);
    } else if (gotype(v) == GO_MAP) {
        if (f->replace)
            merged = v;
        else
            r = merge_object(s, cur, v, f->sub, &merged);
    } else if (gotype(v) == GO_LIST) {
        r = merge_list(s, cur, v, f, deleting, &merged, NULL);
    } else {
        merged = v;
    }
    if (r < 0)
        return r;
    if (merged)
        objedit_set(doc, key.p, key.n, merged);
    else
        objedit_del(doc, key.p, key.n);
    return 0;
}

static int merge_members(struct smp *s, struct objedit *doc, struct objedit *patch,
                         const struct kmerge *fields)
{
    int r = retain_keys(s, doc, patch);

    if (r == 0)
        r = set_orders(s, doc, patch, fields);
    for (size_t i = 0; i < patch->n && r == 0; i++) {
        struct kj_mval *v = kj_mfrom(patch->m[i].val);
        patch->m[i].val = NULL;
        if (v)
            r = merge_member(s, doc, member_key(&patch->m[i]), v, fields);
    }
    return r;
}

static int merge_object(struct smp *s, struct kj_mval *doc, struct kj_mval *patch,
                        const struct kmerge *fields, struct kj_mval **ret)
{
    const char *directive = directive_of(patch);
    struct objedit d, p;

    if (has_directive(patch)) {
        if (directive && streq(directive, "replace")) {
            kj_mdel(patch, PATCH_MARK, strlen(PATCH_MARK));
            *ret = patch;
            return 0;
        }
        if (directive && streq(directive, "delete")) {
            *ret = kj_mobj(s->d);
            return 0;
        }
        return kerr_api(s->err, -EBADMSG, KR_BAD_REQUEST, "unknown patch type: %s",
                        str_or(directive, "?"));
    }
    objedit_open(&d, s->d, doc);
    objedit_open(&p, s->d, patch);
    int r = merge_members(s, &d, &p, fields);
    objedit_close(&p);
    objedit_close(&d);
    *ret = doc;
    return r;
}

int kj_patch_strategic(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                       const struct kmerge *fields, struct kj_mval **ret, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct smp s = { .d = d, .a = a, .err = err };
    struct kj_mval *merged;

    if (kj_type(doc) != KJ_OBJ || kj_type(patch) != KJ_OBJ)
        return bad(&s, "invalid JSON document");
    int r = merge_object(&s, kj_mcopy(d, doc), kj_mcopy(d, patch), fields, &merged);
    if (r == 0)
        *ret = merged;
    return r;
}
