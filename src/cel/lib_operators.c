/* lib_operators.c - operators, `in`, size, and the calls that macros expand to. */
#include <math.h>

#include "cel/lib.h"

#define BIT(k) (1U << (k))
/* Values with functions of their own answer unknown operators with the plain text. */
#define RECEIVERS (BIT(CK_STRING) | BIT(CK_TIMESTAMP) | BIT(CK_DURATION))
#define NUMBERS   (BIT(CK_INT) | BIT(CK_UINT) | BIT(CK_DOUBLE))

static struct cel_val overflow(struct cel_run *r, bool is_unsigned)
{
    return cel_v_error(r->a, is_unsigned ? "unsigned integer overflow" : "integer overflow");
}

/* ---- + and - ------------------------------------------------------------------------------------
 */

static struct cel_val time_shift(struct cel_run *r, struct cel_val t, int64_t ns, bool back)
{
    int64_t seconds = ns / 1000000000, nanos = ns % 1000000000;

    nanos = (int64_t)t.n + (back ? -nanos : nanos);
    t.i += back ? -seconds : seconds;
    if (nanos < 0) {
        nanos += 1000000000;
        t.i--;
    } else if (nanos >= 1000000000) {
        nanos -= 1000000000;
        t.i++;
    }
    t.n = (uint32_t)nanos;
    if (t.i < CEL_TIME_MIN || t.i > CEL_TIME_MAX)
        return cel_v_error(r->a, "timestamp overflow");
    return t;
}

static struct cel_val add_text(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    if (x.n == 0 || y.n == 0)
        return x.n ? x : y;
    char *s = cel_alloc(r, (uint64_t)x.n + y.n + 1, 1);
    if (!s)
        return x;
    memcpy(s, x.s, x.n);
    memcpy(s + x.n, y.s, y.n);
    s[x.n + y.n] = '\0';
    x.n += y.n;
    x.s = s;
    return x;
}

static struct cel_val op_add(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out = v[0];

    (void)n;
    if (v[0].kind == CK_DURATION && v[1].kind == CK_TIMESTAMP)
        return time_shift(r, v[1], v[0].i, false);
    if (v[0].kind == CK_TIMESTAMP && v[1].kind == CK_DURATION)
        return time_shift(r, v[0], v[1].i, false);
    if (v[0].kind != v[1].kind)
        return cel_misfit();
    switch (v[0].kind) {
    case CK_DURATION:
    case CK_INT: return __builtin_add_overflow(v[0].i, v[1].i, &out.i) ? overflow(r, false) : out;
    case CK_UINT: return __builtin_add_overflow(v[0].u, v[1].u, &out.u) ? overflow(r, true) : out;
    case CK_DOUBLE: return cel_v_double(v[0].d + v[1].d);
    case CK_STRING:
    case CK_BYTES: return add_text(r, v[0], v[1]);
    case CK_LIST: return cel_list_concat(r, v[0], v[1]);
    default: return cel_misfit();
    }
}

static struct cel_val time_between(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    struct cel_val out = { .kind = CK_DURATION };

    if (__builtin_mul_overflow(x.i - y.i, (int64_t)1000000000, &out.i) ||
        __builtin_add_overflow(out.i, (int64_t)x.n - (int64_t)y.n, &out.i))
        return overflow(r, false);
    return out;
}

static struct cel_val op_sub(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out = v[0];

    (void)n;
    if (v[0].kind == CK_TIMESTAMP && v[1].kind == CK_DURATION)
        return time_shift(r, v[0], v[1].i, true);
    if (v[0].kind != v[1].kind)
        return cel_misfit();
    switch (v[0].kind) {
    case CK_DURATION:
    case CK_INT: return __builtin_sub_overflow(v[0].i, v[1].i, &out.i) ? overflow(r, false) : out;
    case CK_UINT: return __builtin_sub_overflow(v[0].u, v[1].u, &out.u) ? overflow(r, true) : out;
    case CK_DOUBLE: return cel_v_double(v[0].d - v[1].d);
    case CK_TIMESTAMP: return time_between(r, v[0], v[1]);
    default: return cel_misfit();
    }
}

/* ---- * / % - ! ---------------------------------------------------------------------------------
 */

static struct cel_val op_mul(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out = v[0];

    (void)n;
    if (v[0].kind != v[1].kind)
        return cel_misfit();
    switch (v[0].kind) {
    case CK_INT: return __builtin_mul_overflow(v[0].i, v[1].i, &out.i) ? overflow(r, false) : out;
    case CK_UINT: return __builtin_mul_overflow(v[0].u, v[1].u, &out.u) ? overflow(r, true) : out;
    case CK_DOUBLE: return cel_v_double(v[0].d * v[1].d);
    default: return cel_misfit();
    }
}

static struct cel_val op_div(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != v[1].kind)
        return cel_misfit();
    if (v[0].kind == CK_DOUBLE) {
        if (v[1].d == 0) { /* spelled out: the sanitizers take exception to dividing by it */
            double zero_sign = copysign(1.0, v[1].d);
            return cel_v_double(
                v[0].d == 0 || isnan(v[0].d) ? NAN : copysign(INFINITY, v[0].d) * zero_sign);
        }
        return cel_v_double(v[0].d / v[1].d);
    }
    if (v[0].kind != CK_INT && v[0].kind != CK_UINT)
        return cel_misfit();
    if (v[1].u == 0)
        return cel_v_error(r->a, "division by zero");
    if (v[0].kind == CK_UINT)
        return cel_v_uint(v[0].u / v[1].u);
    return v[0].i == INT64_MIN && v[1].i == -1 ? overflow(r, false) : cel_v_int(v[0].i / v[1].i);
}

static struct cel_val op_mod(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != v[1].kind || (v[0].kind != CK_INT && v[0].kind != CK_UINT))
        return cel_misfit();
    if (v[1].u == 0)
        return cel_v_error(r->a, "modulus by zero");
    if (v[0].kind == CK_UINT)
        return cel_v_uint(v[0].u % v[1].u);
    return v[0].i == INT64_MIN && v[1].i == -1 ? overflow(r, false) : cel_v_int(v[0].i % v[1].i);
}

static struct cel_val op_neg(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind == CK_DOUBLE)
        return cel_v_double(-v[0].d);
    if (v[0].kind != CK_INT)
        return cel_misfit();
    return v[0].i == INT64_MIN ? overflow(r, false) : cel_v_int(-v[0].i);
}

static struct cel_val op_not(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_BOOL ? cel_v_bool(!v[0].b) : cel_misfit();
}

/* ---- comparison --------------------------------------------------------------------------------- */

static struct cel_val op_eq(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return cel_equal(r, v[0], v[1]);
}

static struct cel_val op_ne(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val e = op_eq(r, v, n);
    return cel_v_bool(e.kind != CK_BOOL || !e.b); /* what does not compare is not equal */
}

/* Which outcomes of a comparison are true: less, equal, greater. */
static struct cel_val ordered(struct cel_run *r, const struct cel_val *v, bool lt, bool eq, bool gt)
{
    int c;
    int e = cel_compare(v[0], v[1], &c);

    if (e == -EDOM)
        return cel_v_error(r->a, "NaN values cannot be ordered");
    if (e < 0)
        return cel_misfit();
    return cel_v_bool(c < 0 ? lt : c == 0 ? eq : gt);
}

static struct cel_val op_lt(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return ordered(r, v, true, false, false);
}
static struct cel_val op_le(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return ordered(r, v, true, true, false);
}
static struct cel_val op_gt(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return ordered(r, v, false, false, true);
}
static struct cel_val op_ge(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return ordered(r, v, false, true, true);
}

static struct cel_val op_in(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[1].kind == CK_MAP)
        return cel_v_bool(cel_find(r, v[1].map, v[0]).kind != CK_ABSENT);
    return v[1].kind == CK_LIST ? cel_list_contains(r, v[1].list, v[0]) : cel_misfit();
}

static struct cel_val fn_size(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    switch (v[0].kind) {
    case CK_STRING:
    case CK_BYTES:
    case CK_LIST:
    case CK_MAP: return cel_v_int((int64_t)cel_size(v[0]));
    default: return cel_misfit();
    }
}

/* Unless its argument is false, whatever it is, true: evaluated by the loop itself. */
static struct cel_val fn_not_false(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return cel_v_bool(v[0].kind != CK_BOOL || v[0].b);
}

/* ---- what two-variable macros build maps with ---------------------------------------------------- */

static struct cel_val insert_failed(struct cel_run *r, struct cel_val key)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    if (!cel_to_string(r, key, &b))
        cel_print(r, key, &b); /* a list, which upstream takes for a key */
    return cel_v_error(r->a, "insert failed: key %s already exists", strbuf_str(&b));
}

/* The map that a loop builds, which nobody else sees before it is done: it grows in place. */
struct growing_map {
    struct cel_map map; /* first: values point to it */
    uint32_t cap;
    struct cel_table table; /* of keys, once there are many */
};

static bool has_key(struct cel_run *r, const struct growing_map *g, struct cel_val key)
{
    uint64_t h = g->table.heads ? cel_hash(r, key) : 0;
    uint32_t it = 0, at;

    for (uint32_t i = 0; i < g->map.n && !g->table.heads; i++) {
        if (cel_is_key(r, g->map.entries[i].key, key))
            return true;
    }
    while ((at = cel_table_next(&g->table, h, &it)) != UINT32_MAX && cel_work(r, 1)) {
        if (cel_is_key(r, g->map.entries[at].key, key))
            return true;
    }
    return false;
}

static struct growing_map *grow(struct cel_run *r, struct cel_val map, uint32_t more)
{
    struct growing_map *g = (struct growing_map *)(uintptr_t)map.map;

    if (!map.map->grows) { /* the empty one that a loop begins with */
        g = arena_new0(r->a, struct growing_map);
        g->map = cel_v_map(r->a, NULL, 0).map[0];
        g->map.grows = true;
        g->table.a = r->a;
    }
    if ((uint64_t)g->map.n + more > g->cap) {
        uint32_t cap = MAX(g->cap * 2, MAX(g->map.n + more, 8U));
        struct cel_entry *e = cel_alloc(r, cap, sizeof *e);
        if (!e)
            return NULL;
        if (g->map.n)
            memcpy(e, g->map.entries, g->map.n * sizeof *e);
        g->map.entries = e;
        g->cap = cap;
    }
    return g;
}

static struct cel_val map_insert(struct cel_run *r, struct cel_val map,
                                 const struct cel_entry *more, uint32_t n)
{
    struct growing_map *g = grow(r, map, n);

    for (uint32_t i = 0; g && i < n; i++) {
        if (has_key(r, g, more[i].key))
            return insert_failed(r, more[i].key);
    }
    if (!g)
        return map;
    memcpy((struct cel_entry *)(uintptr_t)g->map.entries + g->map.n, more, n * sizeof *more);
    g->map.n += n;
    while (g->map.n > CEL_LONG && g->table.n < g->map.n)
        cel_table_put(&g->table, cel_hash(r, g->map.entries[g->table.n].key), g->table.n);
    return (struct cel_val){ .kind = CK_MAP, .map = &g->map };
}

static struct cel_val fn_map_insert(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind != CK_MAP)
        return cel_misfit();
    if (n == 3)
        return map_insert(r, v[0], &(struct cel_entry){ v[1], v[2] }, 1);
    if (v[1].kind != CK_MAP)
        return cel_misfit();
    return map_insert(r, v[0], cel_map_sorted(r->a, v[1].map), v[1].map->n);
}

/* ---- table ---------------------------------------------------------------------------------------
 */

static const struct cel_overload add[] = {
    CEL_GLOBAL_COST(CC_ADD_TEXT, &cel_bytes, &cel_bytes, &cel_bytes),
    CEL_GLOBAL(&cel_double, &cel_double, &cel_double),
    CEL_GLOBAL(&cel_duration, &cel_duration, &cel_duration),
    CEL_GLOBAL(&cel_timestamp, &cel_duration, &cel_timestamp),
    CEL_GLOBAL(&cel_timestamp, &cel_timestamp, &cel_duration),
    CEL_GLOBAL(&cel_int, &cel_int, &cel_int),
    CEL_GLOBAL_COST(CC_ADD_LIST, &cel_list_A, &cel_list_A, &cel_list_A),
    CEL_GLOBAL_COST(CC_ADD_TEXT, &cel_string, &cel_string, &cel_string),
    CEL_GLOBAL(&cel_uint, &cel_uint, &cel_uint),
};
static const struct cel_overload sub[] = {
    CEL_GLOBAL(&cel_double, &cel_double, &cel_double),
    CEL_GLOBAL(&cel_duration, &cel_duration, &cel_duration),
    CEL_GLOBAL(&cel_int, &cel_int, &cel_int),
    CEL_GLOBAL(&cel_timestamp, &cel_timestamp, &cel_duration),
    CEL_GLOBAL(&cel_duration, &cel_timestamp, &cel_timestamp),
    CEL_GLOBAL(&cel_uint, &cel_uint, &cel_uint),
};
static const struct cel_overload arithmetic[] = {
    CEL_GLOBAL(&cel_double, &cel_double, &cel_double),
    CEL_GLOBAL(&cel_int, &cel_int, &cel_int),
    CEL_GLOBAL(&cel_uint, &cel_uint, &cel_uint),
};
static const struct cel_overload modulo[] = {
    CEL_GLOBAL(&cel_int, &cel_int, &cel_int),
    CEL_GLOBAL(&cel_uint, &cel_uint, &cel_uint),
};
static const struct cel_overload neg[] = {
    CEL_GLOBAL(&cel_double, &cel_double),
    CEL_GLOBAL(&cel_int, &cel_int),
};
static const struct cel_overload not_[] = { CEL_GLOBAL(&cel_bool, &cel_bool) };
static const struct cel_overload equal[] = {
    CEL_GLOBAL_COST(CC_EQUAL, &cel_bool, &cel_A, &cel_A),
};
static const struct cel_overload less[] = {
    CEL_GLOBAL(&cel_bool, &cel_bool, &cel_bool),
    CEL_GLOBAL(&cel_bool, &cel_int, &cel_int),
    CEL_GLOBAL(&cel_bool, &cel_int, &cel_double),
    CEL_GLOBAL(&cel_bool, &cel_int, &cel_uint),
    CEL_GLOBAL(&cel_bool, &cel_uint, &cel_uint),
    CEL_GLOBAL(&cel_bool, &cel_uint, &cel_double),
    CEL_GLOBAL(&cel_bool, &cel_uint, &cel_int),
    CEL_GLOBAL(&cel_bool, &cel_double, &cel_double),
    CEL_GLOBAL(&cel_bool, &cel_double, &cel_int),
    CEL_GLOBAL(&cel_bool, &cel_double, &cel_uint),
    CEL_GLOBAL_COST(CC_LESS, &cel_bool, &cel_string, &cel_string),
    CEL_GLOBAL_COST(CC_LESS, &cel_bool, &cel_bytes, &cel_bytes),
    CEL_GLOBAL(&cel_bool, &cel_timestamp, &cel_timestamp),
    CEL_GLOBAL(&cel_bool, &cel_duration, &cel_duration),
};
static const struct cel_overload in[] = {
    CEL_GLOBAL_COST(CC_IN_LIST, &cel_bool, &cel_A, &cel_list_A),
    CEL_GLOBAL(&cel_bool, &cel_A, &cel_map_AB),
};
static const struct cel_overload size[] = {
    CEL_GLOBAL(&cel_int, &cel_bytes),  CEL_MEMBER(&cel_int, &cel_bytes),
    CEL_GLOBAL(&cel_int, &cel_list_A), CEL_MEMBER(&cel_int, &cel_list_A),
    CEL_GLOBAL(&cel_int, &cel_map_AB), CEL_MEMBER(&cel_int, &cel_map_AB),
    CEL_GLOBAL(&cel_int, &cel_string), CEL_MEMBER(&cel_int, &cel_string),
};
static const struct cel_overload cond[] = {
    CEL_GLOBAL_COST(CC_COND, &cel_A, &cel_bool, &cel_A, &cel_A),
};
static const struct cel_overload logic[] = {
    CEL_GLOBAL_COST(CC_LOGIC, &cel_bool, &cel_bool, &cel_bool),
};
static const struct cel_overload indexing[] = {
    CEL_GLOBAL_COST(CC_INDEX_LIST, &cel_A, &cel_list_A, &cel_int),
    CEL_GLOBAL_COST(CC_INDEX_MAP, &cel_B, &cel_map_AB, &cel_A),
    CEL_GLOBAL(&cel_opt_A,
               &(const struct cel_type){ .kind = CT_OPTIONAL,
                                         .name = "optional_type",
                                         .elem = &cel_list_A,
                                         .size_max = CEL_SIZE_UNKNOWN },
               &cel_int),
    CEL_GLOBAL(&cel_opt_B,
               &(const struct cel_type){ .kind = CT_OPTIONAL,
                                         .name = "optional_type",
                                         .elem = &cel_map_AB,
                                         .size_max = CEL_SIZE_UNKNOWN },
               &cel_A),
};
static const struct cel_overload opt_indexing[] = {
    CEL_GLOBAL(&cel_opt_A, &cel_list_A, &cel_int),
    CEL_GLOBAL(&cel_opt_A,
               &(const struct cel_type){ .kind = CT_OPTIONAL,
                                         .name = "optional_type",
                                         .elem = &cel_list_A,
                                         .size_max = CEL_SIZE_UNKNOWN },
               &cel_int),
    CEL_GLOBAL(&cel_opt_B, &cel_map_AB, &cel_A),
    CEL_GLOBAL(&cel_opt_B,
               &(const struct cel_type){ .kind = CT_OPTIONAL,
                                         .name = "optional_type",
                                         .elem = &cel_map_AB,
                                         .size_max = CEL_SIZE_UNKNOWN },
               &cel_A),
};
static const struct cel_overload insertion[] = {
    CEL_GLOBAL(&cel_map_AB, &cel_map_AB, &cel_map_AB),
    CEL_GLOBAL(&cel_map_AB, &cel_map_AB, &cel_A, &cel_B),
};

#define TRAIT(kinds) .misfit = CM_TRAIT, .traits = (kinds) | RECEIVERS
#define ORDERED      TRAIT(NUMBERS | BIT(CK_BOOL) | BIT(CK_BYTES))
static const struct cel_function functions[] = {
    CEL_FN("_==_", op_eq, equal),
    CEL_FN("_!=_", op_ne, equal),
    CEL_FN("_<_", op_lt, less, ORDERED),
    CEL_FN("_<=_", op_le, less, ORDERED),
    CEL_FN("_>_", op_gt, less, ORDERED),
    CEL_FN("_>=_", op_ge, less, ORDERED),
    CEL_FN("_+_", op_add, add, TRAIT(NUMBERS | BIT(CK_BYTES) | BIT(CK_LIST))),
    CEL_FN("_-_", op_sub, sub, TRAIT(NUMBERS)),
    CEL_FN("_*_", op_mul, arithmetic, TRAIT(NUMBERS)),
    CEL_FN("_/_", op_div, arithmetic, TRAIT(NUMBERS)),
    CEL_FN("_%_", op_mod, modulo, TRAIT(BIT(CK_INT) | BIT(CK_UINT))),
    CEL_FN("-_", op_neg, neg, TRAIT(BIT(CK_INT) | BIT(CK_DOUBLE) | BIT(CK_BOOL))),
    CEL_FN("!_", op_not, not_, .misfit = CM_PLAIN),
    CEL_FN("@in", op_in, in, .misfit = CM_PLAIN),
    CEL_FN("size", fn_size, size, TRAIT(0)),
    CEL_FN("@not_strictly_false", fn_not_false, not_, .misfit = CM_LENIENT),
    CEL_FN("cel.@mapInsert", fn_map_insert, insertion),
    /* Evaluated by the program itself; here for their types and costs. */
    CEL_FN("_?_:_", NULL, cond),
    CEL_FN("_&&_", NULL, logic),
    CEL_FN("_||_", NULL, logic),
    CEL_FN("_[_]", NULL, indexing),
    CEL_FN("_[?_]", NULL, opt_indexing),
};
const struct cel_library cel_lib_operators = { functions, ARRAY_LEN(functions) };
