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

static bool same(struct arena *a, struct cel_val x, struct cel_val y)
{
    struct cel_val r = cel_equal(a, x, y);
    return r.kind == CK_BOOL && r.b;
}

static bool equal_in_order(struct arena *a, const struct cel_list *x, const struct cel_list *y)
{
    struct cel_iter i, j;
    struct cel_val k, v, w;

    (void)cel_iter_init(&i, a, (struct cel_val){ .kind = CK_LIST, .list = x });
    (void)cel_iter_init(&j, a, (struct cel_val){ .kind = CK_LIST, .list = y });
    while (cel_iter_next(&i, &k, &v) && cel_iter_next(&j, &k, &w)) {
        if (!same(a, v, w))
            return false;
    }
    return true;
}

bool cel_same_list_key(struct arena *a, const struct cel_type *t, struct cel_val x,
                       struct cel_val y)
{
    if (t->list_kind != CEL_LIST_MAP)
        return same(a, x, y);
    if (x.kind != CK_MAP || y.kind != CK_MAP)
        return false;
    for (uint32_t i = 0; i < t->n_list_keys; i++) {
        struct cel_val p = cel_map_field(a, x.map, t->list_keys[i]);
        struct cel_val q = cel_map_field(a, y.map, t->list_keys[i]);
        if (p.kind == CK_ABSENT || q.kind == CK_ABSENT ? p.kind != q.kind : !same(a, p, q))
            return false;
    }
    return true;
}

/* Sets and lists by key: the same elements in whatever order. */
static bool equal_in_any_order(struct arena *a, const struct cel_type *t, const struct cel_list *x,
                               const struct cel_list *y)
{
    const struct cel_val *xs = cel_list_items(a, x), *ys = cel_list_items(a, y);

    for (uint32_t i = 0; i < x->n; i++) {
        bool found = false;
        /* Mostly the order is the same. */
        for (uint32_t d = 0; d < y->n && !found; d++) {
            uint32_t j = (i + d) % y->n;
            found = cel_same_list_key(a, t, xs[i], ys[j]) && same(a, xs[i], ys[j]);
        }
        if (!found)
            return false;
    }
    return true;
}

static bool equal_lists(struct arena *a, const struct cel_list *x, const struct cel_list *y)
{
    if (x->n != y->n)
        return false;
    if (x->type && x->type->list_kind != CEL_LIST_ATOMIC)
        return equal_in_any_order(a, x->type, x, y);
    return equal_in_order(a, x, y);
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
static bool equal_untyped(const struct cel_map *x, const struct cel_map *y)
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
        if (w && !is_field(x->type, key) && !kj_equal(v, w))
            return false;
    }
    return true;
}

static bool equal_objects(struct arena *a, const struct cel_map *x, const struct cel_map *y)
{
    if (x->json && y->json && !equal_untyped(x, y))
        return false;
    for (uint32_t i = 0; i < x->type->n_fields; i++) {
        struct cel_val v = cel_map_field(a, x, x->type->fields[i].name);
        struct cel_val w = cel_map_field(a, y, x->type->fields[i].name);
        if (v.kind == CK_ABSENT || w.kind == CK_ABSENT ? v.kind != w.kind : !same(a, v, w))
            return false;
    }
    return true;
}

static bool equal_maps(struct arena *a, const struct cel_map *x, const struct cel_map *y)
{
    if (x->type && x->type->kind == CT_OBJECT)
        return equal_objects(a, x, y);
    if (x->n != y->n)
        return false;
    const struct cel_entry *e = cel_map_sorted(a, x);
    for (uint32_t i = 0; i < x->n; i++) {
        struct cel_val w = cel_map_find(a, y, e[i].key);
        if (w.kind == CK_ABSENT || !same(a, e[i].val, w))
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

struct cel_val cel_equal(struct arena *a, struct cel_val x, struct cel_val y)
{
    int c;

    if (x.kind == CK_STRING && y.kind == CK_STRING)
        return cel_v_bool(x.n == y.n && (x.n == 0 || memcmp(x.s, y.s, x.n) == 0));
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
    case CK_LIST: return cel_v_bool(equal_lists(a, x.list, y.list));
    case CK_MAP: return cel_v_bool(equal_maps(a, x.map, y.map));
    case CK_TYPE: return cel_v_bool(streq(x.type->name, y.type->name));
    case CK_OPTIONAL:
        return x.opt && y.opt ? cel_equal(a, *x.opt, *y.opt) : cel_v_bool(!x.opt && !y.opt);
    default: return cel_v_bool(cel_compare(x, y, &c) == 0 && c == 0);
    }
}

struct cel_val cel_list_contains(struct arena *a, const struct cel_list *l, struct cel_val v)
{
    bool strict = l->type && l->type->of_schema;
    struct cel_val k, item, why = cel_v_bool(false);
    struct cel_iter it;

    if (strict && cel_is_err(v))
        return v;
    (void)cel_iter_init(&it, a, (struct cel_val){ .kind = CK_LIST, .list = l });
    while (cel_iter_next(&it, &k, &item)) {
        struct cel_val same = strict ? cel_equal(a, item, v) : cel_equal(a, v, item);
        if (same.kind == CK_BOOL && same.b)
            return same;
        if (strict && why.kind == CK_BOOL && same.kind != CK_BOOL)
            why = same;
    }
    return why;
}
