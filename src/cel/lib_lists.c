/* lib_lists.c - functions of lists: cel-go's, Kubernetes' sums and extremes, sets, optionals. */
#include "cel/lib.h"

static bool truth(struct cel_val v)
{
    return v.kind == CK_BOOL && v.b;
}

/* ---- cel-go's lists ------------------------------------------------------------------------------
 */

static struct cel_val slice(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_LIST || v[1].kind != CK_INT || v[2].kind != CK_INT)
        return cel_misfit();
    long long from = v[1].i, to = v[2].i;
    if (from < 0 || to < 0)
        return cel_v_error(r->a, "cannot slice(%lld, %lld), negative indexes not supported", from,
                           to);
    if (from > to)
        return cel_v_error(r->a,
                           "cannot slice(%lld, %lld), start index must be less than or equal to "
                           "end index",
                           from, to);
    if (to > (long long)v[0].list->n)
        return cel_v_error(r->a, "cannot slice(%lld, %lld), list is length %u", from, to,
                           v[0].list->n);
    return cel_v_list(r->a, cel_list_items(r->a, v[0].list) + from, (size_t)(to - from));
}

static void flatten_into(struct cel_run *r, const struct cel_list *l, int64_t depth,
                         struct cel_val **out, size_t *n, size_t *cap)
{
    const struct cel_val *items = cel_list_items(r->a, l);

    if (!cel_enter(r, l->n))
        return;
    for (uint32_t i = 0; i < l->n && !r->cancelled; i++) {
        if (items[i].kind == CK_LIST && depth > 0) {
            flatten_into(r, items[i].list, depth - 1, out, n, cap);
            continue;
        }
        if (!cel_append(r, out, *n, cap, items[i]))
            break;
        ++*n;
    }
    cel_leave(r);
}

static struct cel_val flatten(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val *out = NULL;
    size_t len = 0, cap = 0;

    if (v[0].kind != CK_LIST || (n == 2 && v[1].kind != CK_INT))
        return cel_misfit();
    if (n == 2 && v[1].i < 0)
        return cel_v_error(r->a, "level must be non-negative");
    flatten_into(r, v[0].list, n == 2 ? v[1].i : 1, &out, &len, &cap);
    return cel_v_list(r->a, out, len);
}

static struct cel_val distinct(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    if (v[0].list->n == 0)
        return v[0]; /* with its schema */
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    struct cel_val *out = cel_alloc(r, v[0].list->n + 1ULL, sizeof *out);
    size_t len = 0;
    if (!out)
        return cel_v_null();
    /* Quadratic: refused before it is done when the cost says so. */
    if (!cel_charge(r, 0) || r->cost + 2 * (uint64_t)v[0].list->n * v[0].list->n > r->limit)
        return cel_v_list(r->a, out, 0);
    for (uint32_t i = 0; i < v[0].list->n && !r->cancelled; i++) {
        bool seen = false;
        for (size_t k = 0; k < len && !seen; k++)
            seen = truth(cel_equal(r, out[k], items[i]));
        if (!seen)
            out[len++] = items[i];
    }
    return cel_v_list(r->a, out, len);
}

static struct cel_val reverse(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    uint32_t len = v[0].list->n;
    struct cel_val *out = cel_alloc(r, len + 1ULL, sizeof *out);
    for (uint32_t i = 0; out && i < len; i++)
        out[i] = items[len - 1 - i];
    return cel_v_list(r->a, out, out ? len : 0);
}

static struct cel_val range(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_INT)
        return cel_misfit();
    int64_t len = MAX(v[0].i, (int64_t)0);
    if ((uint64_t)len >
        r->limit - MIN(r->cost, r->limit)) { /* the cost will refuse it: make none */
        (void)cel_charge(r, (uint64_t)len);
        return cel_v_list(r->a, NULL, 0);
    }
    struct cel_val *out = cel_alloc(r, (uint64_t)len + 1, sizeof *out);
    for (int64_t i = 0; out && i < len; i++)
        out[i] = cel_v_int(i);
    return cel_v_list(r->a, out, out ? (size_t)len : 0);
}

struct keyed {
    struct cel_val key;
    uint32_t i;
};

static int keyed_cmp(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    int c = 0;

    (void)cel_compare(a->key, b->key, &c);
    return c ? c : a->i < b->i ? -1 : a->i > b->i;
}

static struct cel_val sort_by(struct cel_run *r, struct cel_val list, struct cel_val keys)
{
    uint32_t n = list.list->n;
    const struct cel_val *items = cel_list_items(r->a, list.list),
                         *by = cel_list_items(r->a, keys.list);
    struct keyed *k = cel_alloc(r, n + 1ULL, sizeof *k);
    struct cel_val *out = cel_alloc(r, n + 1ULL, sizeof *out);
    int c;

    if (!k || !out || !cel_work(r, n))
        return cel_v_null();
    if (keys.list->n != n)
        return cel_v_error(r->a,
                           "@sortByAssociatedKeys() expected a list of the same size as the "
                           "associated keys list, but got %u and %u elements respectively",
                           n, keys.list->n);
    if (n == 0)
        return list; /* with its schema */
    for (uint32_t i = 0; i < n; i++) {
        if (by[i].kind != by[0].kind)
            return cel_v_error(r->a, "list elements must have the same type");
        if (cel_compare(by[i], by[i], &c) == -EINVAL)
            return cel_v_error(r->a, "list elements must be comparable");
        k[i] = (struct keyed){ by[i], i };
    }
    qsort(k, n, sizeof *k, keyed_cmp);
    for (uint32_t i = 0; i < n; i++)
        out[i] = items[k[i].i];
    return cel_v_list(r->a, out, n);
}

static struct cel_val sort(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_LIST ? sort_by(r, v[0], v[0]) : cel_misfit();
}

static struct cel_val sort_by_keys(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_LIST && v[1].kind == CK_LIST ? sort_by(r, v[0], v[1]) : cel_misfit();
}

/* ---- sets ---------------------------------------------------------------------------------------- */

/* Its items are made once, however often they are compared. */
static struct cel_list unpacked(struct cel_run *r, struct cel_val v)
{
    struct cel_list l = *v.list;

    l.items = cel_list_items(r->a, v.list);
    return l;
}

/* The answer about the first that is not in the list, or true. */
static struct cel_val has_all(struct cel_run *r, struct cel_val list, struct cel_val of)
{
    struct cel_list in = unpacked(r, list);
    struct cel_iter it;
    struct cel_val k, one, has = cel_v_bool(true);

    (void)cel_iter_init(&it, r->a, of);
    while (truth(has) && !r->cancelled && cel_iter_next(&it, &k, &one))
        has = cel_list_contains(r, &in, one);
    return has;
}

static bool two_lists(const struct cel_val *v)
{
    return v[0].kind == CK_LIST && v[1].kind == CK_LIST;
}

/* Quadratic, and priced when it is done: not begun when the cost will refuse it. */
static bool affords(const struct cel_run *r, const struct cel_val *v, uint64_t times)
{
    return times * v[0].list->n * v[1].list->n < r->limit - MIN(r->cost, r->limit);
}

static struct cel_val sets_contains(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (!two_lists(v))
        return cel_misfit();
    return affords(r, v, 1) ? has_all(r, v[0], v[1]) : cel_v_null();
}

static struct cel_val sets_equivalent(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (!two_lists(v))
        return cel_misfit();
    if (!affords(r, v, 2))
        return cel_v_null();
    struct cel_val has = has_all(r, v[0], v[1]);
    return truth(has) ? has_all(r, v[1], v[0]) : has;
}

static struct cel_val sets_intersects(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_iter it;
    struct cel_val k, one;

    (void)n;
    if (!two_lists(v))
        return cel_misfit();
    if (!affords(r, v, 1))
        return cel_v_null();
    struct cel_list in = unpacked(r, v[1]);
    (void)cel_iter_init(&it, r->a, v[0]);
    while (!r->cancelled && cel_iter_next(&it, &k, &one))
        if (truth(cel_list_contains(r, &in, one)))
            return cel_v_bool(true);
    return cel_v_bool(false);
}

/* ---- optionals ----------------------------------------------------------------------------------- */

static bool is_zero(struct cel_val v)
{
    switch (v.kind) {
    case CK_NULL: return true;
    case CK_BOOL: return !v.b;
    case CK_INT:
    case CK_DURATION: return v.i == 0;
    case CK_UINT: return v.u == 0;
    case CK_DOUBLE: return v.d == 0;
    case CK_STRING:
    case CK_BYTES: return v.n == 0;
    case CK_LIST: return v.list->n == 0;
    case CK_MAP: return v.map->n == 0;
    case CK_OPTIONAL: return !v.opt;
    case CK_TIMESTAMP: return v.i == CEL_TIME_MIN && v.n == 0;
    default: return false;
    }
}

static struct cel_val opt_of(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return cel_v_some(r->a, v[0]);
}

static struct cel_val opt_none(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)v, (void)n;
    return cel_v_none();
}

static struct cel_val opt_non_zero(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return is_zero(v[0]) ? cel_v_none() : cel_v_some(r->a, v[0]);
}

static struct cel_val opt_has(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_OPTIONAL ? cel_v_bool(v[0].opt != NULL) : cel_misfit();
}

static struct cel_val opt_value(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_OPTIONAL)
        return cel_misfit();
    return v[0].opt ? *v[0].opt : cel_v_error(r->a, "optional.none() dereference");
}

static struct cel_val unwrap(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    size_t len = 0;

    (void)n;
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    struct cel_val *out = cel_alloc(r, v[0].list->n + 1ULL, sizeof *out);
    for (uint32_t i = 0; out && i < v[0].list->n; i++) {
        if (items[i].kind != CK_OPTIONAL)
            return i ? cel_v_error(r->a, "value %s is not optional", cel_type_name(items[i]))
                     : cel_misfit();
        if (items[i].opt)
            out[len++] = *items[i].opt;
    }
    return cel_v_list(r->a, out, len);
}

static struct cel_val end_of(struct cel_run *r, const struct cel_val *v, bool last)
{
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    if (v[0].list->n == 0)
        return cel_v_none();
    return cel_v_some(r->a, cel_at(r, v[0].list, last ? v[0].list->n - 1 : 0));
}

static struct cel_val first(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return end_of(r, v, false);
}

static struct cel_val last(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return end_of(r, v, true);
}

/* ---- tables -------------------------------------------------------------------------------------- */

#define L &cel_list_A
static const struct cel_overload o_slice[] = { CEL_MEMBER_COST(CC_SLICE, L, L, &cel_int,
                                                               &cel_int) };
static const struct cel_overload o_flatten[] = {
    CEL_MEMBER_COST(CC_FLATTEN, L, &cel_list_list_A),
    CEL_MEMBER_COST(CC_FLATTEN, &cel_list_dyn, &cel_list_dyn, &cel_int),
};
static const struct cel_overload o_distinct[] = { CEL_MEMBER_COST(CC_DISTINCT, L, L) };
static const struct cel_overload o_reverse[] = { CEL_MEMBER_COST(CC_REVERSE, L, L) };
static const struct cel_overload o_range[] = { CEL_GLOBAL_COST(CC_RANGE, &cel_list_int, &cel_int) };
#define LIST_OF(var, of)                                                            \
    static const struct cel_type var = {                                            \
        .kind = CT_LIST, .name = "list", .elem = (of), .size_max = CEL_SIZE_UNKNOWN \
    }
LIST_OF(l_uint, &cel_uint);
LIST_OF(l_double, &cel_double);
LIST_OF(l_bool, &cel_bool);
LIST_OF(l_duration, &cel_duration);
LIST_OF(l_timestamp, &cel_timestamp);
LIST_OF(l_bytes, &cel_bytes);
#define SORT(l)    CEL_MEMBER_COST(CC_SORT, l, l)
#define SORT_BY(k) CEL_MEMBER_COST(CC_SORT_BY, L, L, k)
static const struct cel_overload o_sort[] = {
    SORT(&cel_list_int), SORT(&l_uint),      SORT(&l_double),        SORT(&l_bool),
    SORT(&l_duration),   SORT(&l_timestamp), SORT(&cel_list_string), SORT(&l_bytes),
};
static const struct cel_overload o_sort_by[] = {
    SORT_BY(&cel_list_int), SORT_BY(&l_uint),      SORT_BY(&l_double),        SORT_BY(&l_bool),
    SORT_BY(&l_duration),   SORT_BY(&l_timestamp), SORT_BY(&cel_list_string), SORT_BY(&l_bytes),
};
static const struct cel_function list_functions[] = {
    CEL_FN("slice", slice, o_slice),
    CEL_FN("flatten", flatten, o_flatten),
    CEL_FN("distinct", distinct, o_distinct),
    CEL_FN("reverse", reverse, o_reverse),
    CEL_FN("lists.range", range, o_range),
    CEL_FN("sort", sort, o_sort, .misfit = CM_NAMED),
    CEL_FN("@sortByAssociatedKeys", sort_by_keys, o_sort_by, .misfit = CM_NAMED),
};
const struct cel_library cel_lib_lists = { list_functions, ARRAY_LEN(list_functions) };

static const struct cel_overload o_sets[] = { CEL_GLOBAL_COST(CC_SETS, &cel_bool, L, L) };
static const struct cel_overload o_sets_eq[] = {
    CEL_GLOBAL_COST(CC_SETS_EQUIVALENT, &cel_bool, L, L),
};
static const struct cel_function set_functions[] = {
    CEL_FN("sets.contains", sets_contains, o_sets),
    CEL_FN("sets.equivalent", sets_equivalent, o_sets_eq),
    CEL_FN("sets.intersects", sets_intersects, o_sets),
};
const struct cel_library cel_lib_sets = { set_functions, ARRAY_LEN(set_functions) };

#define O &cel_opt_A
static const struct cel_overload o_of[] = { CEL_GLOBAL(O, &cel_A) };
static const struct cel_overload o_none[] = { { .result = O } };
static const struct cel_overload o_has[] = { CEL_MEMBER(&cel_bool, O) };
static const struct cel_overload o_value[] = { CEL_MEMBER(&cel_A, O) };
static const struct cel_overload o_or[] = { CEL_MEMBER(O, O, O) };
static const struct cel_overload o_or_value[] = { CEL_MEMBER(&cel_A, O, &cel_A) };
static const struct cel_overload o_unwrap[] = { CEL_GLOBAL(L, &cel_list_opt_A) };
static const struct cel_overload o_unwrap_opt[] = { CEL_MEMBER(L, &cel_list_opt_A) };
static const struct cel_overload o_end[] = { CEL_MEMBER(O, L) };
static const struct cel_function optional_functions[] = {
    CEL_FN("optional.of", opt_of, o_of),
    CEL_FN("optional.none", opt_none, o_none),
    CEL_FN("optional.ofNonZeroValue", opt_non_zero, o_of),
    CEL_FN("hasValue", opt_has, o_has),
    CEL_FN("value", opt_value, o_value),
    /* Evaluated by the program: the second is looked at only when it is needed. */
    CEL_FN("or", NULL, o_or),
    CEL_FN("orValue", NULL, o_or_value),
    CEL_FN("optional.unwrap", unwrap, o_unwrap),
    CEL_FN("unwrapOpt", unwrap, o_unwrap_opt),
    CEL_FN("first", first, o_end),
    CEL_FN("last", last, o_end),
};
const struct cel_library cel_lib_optional = { optional_functions, ARRAY_LEN(optional_functions) };
