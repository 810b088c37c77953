/* lib_aggregates.c - Kubernetes' functions of lists (isSorted, sum, min, max) and of patterns. */
#include "cel/lib.h"
#include "cel/prog.h"
#include "cel/re.h"

static bool has_order(struct cel_val v)
{
    int c;
    return cel_compare(v, v, &c) != -EINVAL;
}

/* How the two compare, as Kubernetes' functions ask it: 0 also where they cannot (NaN, other
 * types).
 */
static int order(struct cel_val x, struct cel_val y)
{
    int c;
    return cel_compare(x, y, &c) == 0 ? c : 0;
}

/* An item without an order: the first decides what the list is, and an error is that error. */
static struct cel_val unordered(const struct cel_val *items, uint32_t i)
{
    if (i == 0)
        return cel_misfit();
    return cel_is_err(items[i]) ? items[i] : cel_v_no_overload();
}

static struct cel_val is_sorted(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    for (uint32_t i = 0; i < v[0].list->n; i++) {
        if (!has_order(items[i]))
            return unordered(items, i);
        if (i && order(items[i - 1], items[i]) > 0)
            return cel_v_bool(false);
    }
    return cel_v_bool(true);
}

static struct cel_val zero(enum cel_type_kind t)
{
    switch (t) {
    case CT_UINT: return cel_v_uint(0);
    case CT_DOUBLE: return cel_v_double(0);
    case CT_DURATION: return (struct cel_val){ .kind = CK_DURATION };
    default: return cel_v_int(0);
    }
}

/* The list knows its type, or its first element tells. */
static enum cel_type_kind summed(const struct cel_run *r, const struct cel_val *items, uint32_t n)
{
    if (r->overload)
        return r->overload->result->kind;
    if (n == 0)
        return CT_INT;
    switch (items[0].kind) {
    case CK_INT: return CT_INT;
    case CK_UINT: return CT_UINT;
    case CK_DOUBLE: return CT_DOUBLE;
    case CK_DURATION: return CT_DURATION;
    default: return CT_DYN;
    }
}

static struct cel_val sum(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    const struct cel_function *add = cel_function_find(STR("_+_"));

    (void)n;
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    enum cel_type_kind kind = summed(r, items, v[0].list->n);
    if (kind == CT_DYN)
        return cel_misfit();
    struct cel_val total = zero(kind);
    for (uint32_t i = 0; i < v[0].list->n && !cel_is_err(total); i++) {
        if (cel_is_err(items[i]))
            return items[i];
        total = add->fn(r, (struct cel_val[]){ total, items[i] }, 2);
        if (total.kind == CK_ABSENT)
            return cel_v_no_overload();
    }
    return total;
}

static struct cel_val extreme(struct cel_run *r, const struct cel_val *v, const char *name,
                              int sign)
{
    if (v[0].kind != CK_LIST)
        return cel_misfit();
    const struct cel_val *items = cel_list_items(r->a, v[0].list);
    if (v[0].list->n == 0)
        return cel_v_error(r->a, "%s called on empty list", name);
    struct cel_val best = items[0];
    for (uint32_t i = 0; i < v[0].list->n; i++) {
        if (!has_order(items[i]))
            return unordered(items, i);
        if (order(best, items[i]) == sign)
            best = items[i];
    }
    return best;
}

static struct cel_val min(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return extreme(r, v, "min", 1);
}

static struct cel_val max(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return extreme(r, v, "max", -1);
}

/* ---- patterns ------------------------------------------------------------------------------------ */

/* The states of a pattern as it is written are paid for, at every character; those of counted
 * repeats and searches that begin again and again are not. */
struct effort {
    uint64_t paid, left;
};

/* false: the cost will refuse it. */
static bool effort_begin(struct cel_run *r, const struct cel_val *v, struct effort *e)
{
    uint64_t cost = cel_call_cost(r, CC_FIND, v, 2, v[0]);

    if (cost > r->limit - MIN(r->cost, r->limit))
        return false;
    e->paid = 1000 + MIN(cost, UINT64_C(1) << 40) * 64;
    e->left = e->paid + CEL_STEPS_MAX * 4ULL;
    return true;
}

static void effort_end(struct cel_run *r, const struct effort *e)
{
    uint64_t spent = e->paid + CEL_STEPS_MAX * 4ULL - e->left;

    if (spent > e->paid)
        (void)cel_work(r, (spent - e->paid) / 4 + (e->left == 0));
}

static struct cel_val matches(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(re_free) struct re *made = NULL;
    struct cel_val why;
    struct effort e;

    (void)n;
    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING)
        return cel_misfit();
    if (!effort_begin(r, v, &e))
        return cel_v_null();
    const struct re *re = cel_run_pattern(r, v[1], &made, &why);
    if (!re)
        return why;
    bool found = re_match_within(re, v[0].s, v[0].n, &e.left);
    effort_end(r, &e);
    return cel_v_bool(found);
}

static struct cel_val find(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(re_free) struct re *made = NULL;
    struct cel_val why;
    struct effort e;
    struct re_span span;

    (void)n;
    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING)
        return cel_misfit();
    if (!effort_begin(r, v, &e))
        return cel_v_null();
    const struct re *re = cel_run_pattern(r, v[1], &made, &why);
    if (!re)
        return why;
    bool found = re_find_within(re, v[0].s, v[0].n, 0, &e.left, &span);
    effort_end(r, &e);
    return found ? cel_v_str(v[0].s + span.begin, span.end - span.begin) : cel_v_str("", 0);
}

static struct cel_val find_all(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(re_free) struct re *made = NULL;
    struct cel_val why, *out = NULL;
    struct re_span span;
    struct effort e;
    size_t len = 0, cap = 0, from = 0, last_end = SIZE_MAX;

    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING || (n == 3 && v[2].kind != CK_INT))
        return cel_misfit();
    if (!effort_begin(r, v, &e))
        return cel_v_null();
    const struct re *re = cel_run_pattern(r, v[1], &made, &why);
    if (!re)
        return why;
    int64_t most = n == 3 && v[2].i >= 0 ? v[2].i : INT64_MAX;
    while ((int64_t)len < most && re_find_within(re, v[0].s, v[0].n, from, &e.left, &span)) {
        bool empty = span.begin == span.end;
        from = span.end;
        if (empty) { /* go on behind the next character */
            from++;
            while (from < v[0].n && ((unsigned char)v[0].s[from] & 0xc0) == 0x80)
                from++;
            if (span.begin == last_end)
                continue;
        }
        last_end = span.end;
        struct cel_val hit = cel_v_str(v[0].s + span.begin, span.end - span.begin);
        if (!cel_append(r, &out, len, &cap, hit))
            break;
        len++;
    }
    effort_end(r, &e);
    return cel_v_list(r->a, out, len);
}

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
static const struct cel_overload o_sorted[] = {
    CEL_MEMBER(&cel_bool, &cel_list_int),    CEL_MEMBER(&cel_bool, &l_uint),
    CEL_MEMBER(&cel_bool, &l_double),        CEL_MEMBER(&cel_bool, &l_bool),
    CEL_MEMBER(&cel_bool, &l_duration),      CEL_MEMBER(&cel_bool, &l_timestamp),
    CEL_MEMBER(&cel_bool, &cel_list_string), CEL_MEMBER(&cel_bool, &l_bytes),
};
static const struct cel_overload o_sum[] = {
    CEL_MEMBER(&cel_int, &cel_list_int),
    CEL_MEMBER(&cel_uint, &l_uint),
    CEL_MEMBER(&cel_double, &l_double),
    CEL_MEMBER(&cel_duration, &l_duration),
};
static const struct cel_overload o_extreme[] = {
    CEL_MEMBER(&cel_int, &cel_list_int),       CEL_MEMBER(&cel_uint, &l_uint),
    CEL_MEMBER(&cel_double, &l_double),        CEL_MEMBER(&cel_bool, &l_bool),
    CEL_MEMBER(&cel_duration, &l_duration),    CEL_MEMBER(&cel_timestamp, &l_timestamp),
    CEL_MEMBER(&cel_string, &cel_list_string), CEL_MEMBER(&cel_bytes, &l_bytes),
};
static const struct cel_function functions[] = {
    CEL_FN("isSorted", is_sorted, o_sorted, .cost = CC_TRAVERSE),
    CEL_FN("sum", sum, o_sum, .cost = CC_TRAVERSE),
    CEL_FN("min", min, o_extreme, .cost = CC_TRAVERSE),
    CEL_FN("max", max, o_extreme, .cost = CC_TRAVERSE),
};
const struct cel_library cel_lib_aggregates = { functions, ARRAY_LEN(functions) };

#define S &cel_string
static const struct cel_overload o_matches[] = {
    CEL_GLOBAL(&cel_bool, S, S),
    CEL_MEMBER_COST(CC_MATCHES, &cel_bool, S, S),
};
static const struct cel_overload o_find[] = { CEL_MEMBER(S, S, S) };
static const struct cel_overload o_find_all[] = {
    CEL_MEMBER(&cel_list_string, S, S),
    CEL_MEMBER(&cel_list_string, S, S, &cel_int),
};
static const struct cel_function regex_functions[] = {
    CEL_FN("matches", matches, o_matches, .misfit = CM_PLAIN),
    CEL_FN("find", find, o_find, .cost = CC_FIND),
    CEL_FN("findAll", find_all, o_find_all, .cost = CC_FIND),
};
const struct cel_library cel_lib_regex = { regex_functions, ARRAY_LEN(regex_functions) };
