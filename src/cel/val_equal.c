/* val_equal.c - equality and order. Numbers compare by value across their types. */
#include "base/map.h"
#include "cel/lib.h"

#include <math.h>

static int three_way_i(int64_t x, int64_t y)
{
    return x < y ? -1 : x > y;
}

static int three_way_u(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int three_way_d(double x, double y)
{
    return x < y ? -1 : x > y;
}

static bool is_number(struct cel_val v)
{
    return v.kind == CK_INT || v.kind == CK_UINT || v.kind == CK_DOUBLE;
}

static int compare_double(struct cel_val x, double y)
{
    if (x.kind == CK_DOUBLE)
        return three_way_d(x.d, y);
    if (x.kind == CK_INT) {
        if (y < -9223372036854775808.0)
            return 1;
        return y > 9223372036854775808.0 ? -1 : three_way_d((double)x.i, y);
    }
    if (y < 0)
        return 1;
    return y > 18446744073709551616.0 ? -1 : three_way_d((double)x.u, y);
}

static int compare_numbers(struct cel_val x, struct cel_val y, int *ret)
{
    if ((x.kind == CK_DOUBLE && isnan(x.d)) || (y.kind == CK_DOUBLE && isnan(y.d)))
        return -EDOM;
    if (y.kind == CK_DOUBLE)
        *ret = compare_double(x, y.d);
    else if (x.kind == CK_DOUBLE)
        *ret = -compare_double(y, x.d);
    else if (x.kind == CK_INT)
        *ret = y.kind == CK_INT ? three_way_i(x.i, y.i)
               : x.i < 0        ? -1
                                : three_way_u((uint64_t)x.i, y.u);
    else
        *ret = y.kind == CK_UINT ? three_way_u(x.u, y.u)
               : y.i < 0         ? 1
                                 : three_way_u(x.u, (uint64_t)y.i);
    return 0;
}

static int compare_text(struct cel_val x, struct cel_val y)
{
    int c = MIN(x.n, y.n) ? memcmp(x.s, y.s, MIN(x.n, y.n)) : 0;
    return c ? (c < 0 ? -1 : 1) : three_way_u(x.n, y.n);
}

int cel_compare(struct cel_val x, struct cel_val y, int *ret)
{
    if (x.kind == CK_INT && y.kind == CK_INT) { /* what is compared most */
        *ret = three_way_i(x.i, y.i);
        return 0;
    }
    if (is_number(x) && is_number(y))
        return compare_numbers(x, y, ret);
    if (x.kind != y.kind)
        return -EINVAL;
    switch (x.kind) {
    case CK_BOOL: *ret = (int)x.b - (int)y.b; return 0;
    case CK_STRING:
    case CK_BYTES: *ret = compare_text(x, y); return 0;
    case CK_DURATION: *ret = three_way_i(x.i, y.i); return 0;
    case CK_TIMESTAMP: *ret = x.i != y.i ? three_way_i(x.i, y.i) : three_way_u(x.n, y.n); return 0;
    default: return -EINVAL;
    }
}

/* ---- equality ---------------------------------------------------------------------------------- */

static bool same(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    struct cel_val e = cel_equal(r, x, y);

    if (UNLIKELY(cel_is_err(e)))
        r->unequal = e;
    return e.kind == CK_BOOL && e.b;
}

static bool equal_in_order(struct cel_run *r, const struct cel_list *x, const struct cel_list *y)
{
    struct cel_iter i, j;
    struct cel_val k, v, w;

    (void)cel_iter_init(&i, r->a, (struct cel_val){ .kind = CK_LIST, .list = x });
    (void)cel_iter_init(&j, r->a, (struct cel_val){ .kind = CK_LIST, .list = y });
    while (cel_iter_next(&i, &k, &v) && cel_iter_next(&j, &k, &w)) {
        if (!same(r, v, w))
            return false;
    }
    return true;
}

bool cel_same_list_key(struct cel_run *r, const struct cel_type *t, struct cel_val x,
                       struct cel_val y)
{
    if (t->list_kind != CEL_LIST_MAP) /* in a set 5 is not 5.0 */
        return x.kind == y.kind && same(r, x, y);
    if (x.kind != CK_MAP || y.kind != CK_MAP)
        return false;
    for (uint32_t i = 0; i < t->n_list_keys; i++) {
        struct cel_val p = cel_find_field(r, x.map, t->list_keys[i]);
        struct cel_val q = cel_find_field(r, y.map, t->list_keys[i]);
        if (p.kind == CK_ABSENT || q.kind == CK_ABSENT ? p.kind != q.kind : !same(r, p, q))
            return false;
    }
    return true;
}

/* Is there an element of y as v? */
static bool has_element(struct cel_run *r, const struct cel_type *t, const struct cel_table *table,
                        const struct cel_val *ys, uint32_t n, struct cel_val v)
{
    uint64_t h = table ? cel_list_key_hash(r, t, v) : 0;
    uint32_t it = 0, at;

    for (uint32_t d = 0; d < n && cel_work(r, d % 8 == 0); d++) {
        at = table ? cel_table_next(table, h, &it) : d;
        if (at == UINT32_MAX)
            return false;
        if (cel_same_list_key(r, t, v, ys[at]) && same(r, v, ys[at]))
            return true;
    }
    return false;
}

/* Sets and lists by key: the same elements in whatever order. */
static bool equal_in_any_order(struct cel_run *r, const struct cel_type *t,
                               const struct cel_list *x, const struct cel_list *y)
{
    CLEANUP(cel_table_fini) struct cel_table table = { 0 };
    const struct cel_val *xs = cel_list_items(r->a, x), *ys = cel_list_items(r->a, y);
    bool hashed = x->n > CEL_LONG && cel_has_hashes(t, x) && cel_has_hashes(t, y);

    for (uint32_t i = 0; i < x->n && !r->cancelled; i++) {
        /* Mostly the order is the same. */
        if (cel_same_list_key(r, t, xs[i], ys[i]) && same(r, xs[i], ys[i]))
            continue;
        for (uint32_t k = table.n; hashed && k < y->n; k++)
            cel_table_put(&table, cel_list_key_hash(r, t, ys[k]), k);
        if (!has_element(r, t, hashed ? &table : NULL, ys, y->n, xs[i]))
            return false;
    }
    return true;
}

static bool equal_lists(struct cel_run *r, const struct cel_list *x, const struct cel_list *y)
{
    if (x->n != y->n)
        return false;
    if (x->type && x->type->list_kind != CEL_LIST_ATOMIC)
        return equal_in_any_order(r, x->type, x, y);
    return equal_in_order(r, x, y);
}

static bool is_field(const struct cel_type *t, struct str json)
{
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (str_eq(t->fields[i].json, json))
            return true;
    }
    return false;
}

static void add_members(struct map *to, const struct kj_val *obj)
{
    struct kj_iter it = kj_iter(obj);
    struct str key;
    const struct kj_val *v;

    while (kj_next(&it, &key, &v)) /* of equal keys the last counts */
        map_put(to, key.p, key.n, (void *)(uintptr_t)v);
}

/* Members of documents that have no type, which expressions cannot see, are compared as they are,
 * and a member that is null is one more than none. */
static bool equal_untyped(struct cel_run *r, const struct cel_map *x, const struct cel_map *y)
{
    CLEANUP(map_fini) struct map by_key = { 0 };
    struct kj_iter beside = kj_iter(y->json);
    bool in_order = true; /* until now, as those of two versions of one object nearly always are */
    struct str key, other;
    const struct kj_val *v, *w;

    if (kj_len(x->json) != kj_len(y->json))
        return false;
    for (struct kj_iter it = kj_iter(x->json); kj_next(&it, &key, &v);) {
        if (in_order && !(kj_next(&beside, &other, &w) && str_eq(other, key))) {
            in_order = false;
            add_members(&by_key, y->json);
        }
        if (!in_order)
            w = map_get(&by_key, key.p, key.n);
        if (w &&
            (!cel_work(r, x->type->n_fields / 16) || (!is_field(x->type, key) && !kj_equal(v, w))))
            return false;
    }
    return true;
}

static bool equal_objects(struct cel_run *r, const struct cel_map *x, const struct cel_map *y)
{
    if (x->json && y->json && !equal_untyped(r, x, y))
        return false;
    for (uint32_t i = 0; i < x->type->n_fields; i++) {
        struct cel_val v = cel_find_field(r, x, x->type->fields[i].name);
        struct cel_val w = cel_find_field(r, y, x->type->fields[i].name);
        if (v.kind == CK_ABSENT || w.kind == CK_ABSENT ? v.kind != w.kind : !same(r, v, w))
            return false;
    }
    return true;
}

static bool has_entry(struct cel_run *r, const struct cel_map *m, struct cel_val key,
                      struct cel_val val)
{
    struct cel_val w = cel_find(r, m, key);
    return w.kind != CK_ABSENT && same(r, val, w);
}

static bool equal_maps(struct cel_run *r, const struct cel_map *x, const struct cel_map *y)
{
    if (x->type && x->type->kind == CT_OBJECT)
        return equal_objects(r, x, y);
    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; x->entries && i < x->n; i++) {
        if (!has_entry(r, y, x->entries[i].key, x->entries[i].val))
            return false;
    }
    if (x->entries)
        return true;
    struct kj_iter it = kj_iter(x->json);
    const struct kj_val *v;
    for (struct str key; kj_next(&it, &key, &v);) {
        struct cel_val of = cel_v_json(r->a, v, x->type->elem ? x->type->elem : &cel_dyn);
        if (!has_entry(r, y, cel_v_str(key.p, key.n), of))
            return false;
    }
    return true;
}

static struct cel_val equal_kubernetes(struct cel_val x, struct cel_val y)
{
    if (x.kind != y.kind)
        return cel_v_no_overload();
    switch (x.kind) {
    case CK_QUANTITY: return cel_v_bool(qty_cmp(*x.qty, *y.qty) == 0);
    case CK_SEMVER: return cel_v_bool(cel_semver_cmp(x.semver, y.semver) == 0);
    case CK_URL: return cel_v_bool(str_eq(x.url->text, y.url->text));
    case CK_FORMAT: return cel_v_bool(x.format == y.format);
    case CK_NATIVE: return cel_v_no_overload(); /* not even with itself */
    default: return cel_v_bool(memcmp(x.addr, y.addr, sizeof *x.addr) == 0);
    }
}

static bool is_of_schema(struct cel_val v)
{
    const struct cel_type *t = v.kind == CK_LIST  ? v.list->type
                               : v.kind == CK_MAP ? v.map->type
                                                  : NULL;
    return t && t->of_schema;
}

/* A value may hold another many times, which costs nothing: each time is counted here. What cannot
 * be compared in a document, as a time that is none, is an error of the whole. */
static struct cel_val equal_inside(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    bool list = x.kind == CK_LIST;
    bool strict = is_of_schema(x) && !(list && x.list->type->list_kind == CEL_LIST_SET);
    struct cel_val before = r->unequal, ret;

    if (!cel_enter(r, list ? x.list->n : x.map->n))
        return cel_v_bool(false);
    r->unequal = cel_v_null();
    bool equal = list ? equal_lists(r, x.list, y.list) : equal_maps(r, x.map, y.map);
    cel_leave(r);
    ret = !equal && strict && cel_is_err(r->unequal) ? r->unequal : cel_v_bool(equal);
    r->unequal = before;
    return r->cancelled ? cel_v_bool(false) : ret;
}

static struct cel_val equal_optional(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    if (!cel_enter(r, 0))
        return cel_v_bool(false);
    struct cel_val equal = cel_equal(r, x, y);
    cel_leave(r);
    return equal;
}

static bool equal_text(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    if (x.n != y.n)
        return false;
    if (x.n > CEL_TEXT_FREE)
        (void)cel_work(r, x.n / 512);
    return x.n == 0 || x.s == y.s || memcmp(x.s, y.s, x.n) == 0;
}

struct cel_val cel_equal(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    int c;

    if (x.kind == CK_STRING && y.kind == CK_STRING)
        return cel_v_bool(equal_text(r, x, y));
    if (cel_is_err(x))
        return x;
    if (cel_is_err(y))
        return y;
    if (is_number(x) && is_number(y))
        return cel_v_bool(compare_numbers(x, y, &c) == 0 && c == 0);
    if (x.kind >= CK_QUANTITY)
        return equal_kubernetes(x, y);
    if (x.kind != y.kind) /* upstream's values of schemas compare with their like only, and null */
        return is_of_schema(x) && y.kind != CK_NULL ? cel_v_no_overload() : cel_v_bool(false);
    switch (x.kind) {
    case CK_NULL: return cel_v_bool(true);
    case CK_BYTES: return cel_v_bool(equal_text(r, x, y));
    case CK_LIST:
    case CK_MAP: return equal_inside(r, x, y);
    case CK_TYPE: return cel_v_bool(streq(x.type->name, y.type->name));
    case CK_OPTIONAL:
        return x.opt && y.opt ? equal_optional(r, *x.opt, *y.opt) : cel_v_bool(!x.opt && !y.opt);
    default: return cel_v_bool(cel_compare(x, y, &c) == 0 && c == 0);
    }
}

struct cel_val cel_list_contains(struct cel_run *r, const struct cel_list *l, struct cel_val v)
{
    bool strict = l->type && l->type->of_schema;
    struct cel_val k, item, why = cel_v_bool(false);
    struct cel_iter it;

    if (strict && cel_is_err(v))
        return v;
    (void)cel_iter_init(&it, r->a, (struct cel_val){ .kind = CK_LIST, .list = l });
    while (!r->cancelled && cel_iter_next(&it, &k, &item)) {
        struct cel_val same = strict ? cel_equal(r, item, v) : cel_equal(r, v, item);
        if (same.kind == CK_BOOL && same.b)
            return same;
        if (strict && why.kind == CK_BOOL && same.kind != CK_BOOL)
            why = same;
    }
    return why;
}
