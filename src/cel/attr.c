/* attr.c - selecting fields and elements, and asking whether they are there. */
#include <math.h>

#include "cel/prog.h"

static struct cel_val no_key(struct cel_run *r, struct cel_val key)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    (void)cel_to_string(r, key, &b);
    return cel_v_error(r->a, "no such key: %s", strbuf_str(&b));
}

const char *cel_go_type(struct cel_val v)
{
    static const char *const names[] = {
        [CK_NULL] = "types.Null",
        [CK_BOOL] = "types.Bool",
        [CK_INT] = "types.Int",
        [CK_UINT] = "types.Uint",
        [CK_DOUBLE] = "types.Double",
        [CK_STRING] = "types.String",
        [CK_BYTES] = "types.Bytes",
        [CK_TIMESTAMP] = "types.Timestamp",
        [CK_DURATION] = "types.Duration",
        [CK_LIST] = "*types.baseList",
        [CK_MAP] = "*types.baseMap",
        [CK_TYPE] = "*types.Type",
        [CK_OPTIONAL] = "*types.Optional",
        [CK_QUANTITY] = "cel.Quantity",
        [CK_IP] = "cel.IP",
        [CK_CIDR] = "cel.CIDR",
        [CK_URL] = "cel.URL",
        [CK_SEMVER] = "cel.Semver",
        [CK_FORMAT] = "*cel.Format",
        [CK_NATIVE] = "object",
    };
    return v.kind < ARRAY_LEN(names) ? names[v.kind] : NULL;
}

const char *cel_not_a_key(struct cel_val v)
{
    switch (v.kind) {
    case CK_BOOL:
    case CK_INT:
    case CK_UINT:
    case CK_DOUBLE:
    case CK_STRING:
    case CK_NATIVE: return NULL;
    default: return cel_go_type(v);
    }
}

static struct cel_val list_element(struct cel_run *r, const struct cel_list *l, struct cel_val key)
{
    int64_t i = 0;

    switch (key.kind) {
    case CK_INT: i = key.i; break;
    case CK_UINT: i = key.u > INT64_MAX ? INT64_MAX : (int64_t)key.u; break;
    case CK_DOUBLE:
        if (floor(key.d) != key.d || fabs(key.d) > 9e15) {
            CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
            (void)cel_to_string(r, key, &b);
            return cel_v_error(r->a, "unsupported index value %s in list", strbuf_str(&b));
        }
        i = (int64_t)key.d;
        break;
    default: return cel_v_error(r->a, "unsupported index type '%s' in list", cel_type_name(key));
    }
    if (i < 0 || i >= (int64_t)l->n)
        return (struct cel_val){ .kind = CK_ABSENT, .i = i };
    return cel_at(r, l, (uint32_t)i);
}

/* of[key]; CK_ABSENT: it is not there. */
static inline struct cel_val element(struct cel_run *r, struct cel_val of, struct cel_val key)
{
    if (of.kind == CK_MAP) {
        struct cel_val v = cel_find(r, of.map, key);
        return v.kind == CK_ABSENT && of.map->open ? cel_v_map(r->a, NULL, 0) : v;
    }
    if (of.kind == CK_LIST)
        return list_element(r, of.list, key);
    return (struct cel_val){ .kind = CK_ABSENT };
}

static __attribute__((cold)) struct cel_val missing(struct cel_run *r, struct cel_val of,
                                                    struct cel_val key, struct cel_val absent)
{
    if (of.kind == CK_LIST)
        return cel_v_error(r->a, "index out of bounds: %lld", (long long)absent.i);
    return no_key(r, key);
}

/* An optional that was found on the way to something is a value like others: nothing is selected
 * through it, as through one that a name or a call stands for. */
enum { STORED = 1 };
static bool is_stored(const struct cel_node *n, struct cel_val of)
{
    uint8_t op = n->args[0]->op;
    return of.zone == STORED && (op == OP_SELECT || op == OP_INDEX || op == OP_COND);
}

/* a.?b, a[?b], and whatever is selected through an optional: yields one. */
static struct cel_val qualify_optional(struct cel_run *r, const struct cel_node *n,
                                       struct cel_val of, struct cel_val key, bool through)
{
    uint8_t root = (uint8_t)(n->cost - 1);

    if (through && !of.opt)
        return cel_charge(r, root) ? of : cel_v_no_overload();
    struct cel_val v = element(r, through ? *of.opt : of, key);
    bool free = v.kind == CK_ABSENT || (cel_is_err(v) && n->optional);
    if (!cel_charge(r, free ? root : n->cost))
        return cel_v_no_overload();
    if (cel_is_err(v))
        return v;
    return v.kind == CK_ABSENT ? cel_v_none() : cel_v_some(r->a, v);
}

/* What a selection yields, with what it costs: one where something is found or was demanded. */
static struct cel_val qualify(struct cel_run *r, const struct cel_node *n, struct cel_val of,
                              struct cel_val key)
{
    bool through = of.kind == CK_OPTIONAL && !is_stored(n, of);

    if (through || n->optional)
        return qualify_optional(r, n, of, key, through);
    struct cel_val v = element(r, of, key);
    if (!cel_charge(r, n->cost))
        return cel_v_no_overload();
    if (v.kind == CK_ABSENT)
        return missing(r, of, key, v);
    if (v.kind == CK_OPTIONAL)
        v.zone = STORED;
    return v;
}

struct cel_val cel_run_select(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val of = cel_run_node(r, n->args[0]);

    if (cel_is_err(of)) {
        (void)cel_charge(r, n->cost - 1U);
        return of;
    }
    return qualify(r, n, of, cel_v_str(n->name.p, n->name.n));
}

struct cel_val cel_run_index(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val of = cel_run_node(r, n->args[0]), key;

    if (cel_is_err(of)) {
        (void)cel_charge(r, n->cost - 1U);
        return of;
    }
    if (of.kind == CK_OPTIONAL && !of.opt && !is_stored(n, of)) /* nobody looks at the key then */
        return cel_charge(r, n->cost - 1U) ? of : cel_v_no_overload();
    key = cel_run_node(r, n->args[1]);
    if (cel_not_a_key(key))
        key = cel_v_error(r->a, "invalid qualifier type: %s", cel_not_a_key(key));
    if (cel_is_err(key)) {
        (void)cel_charge(r, n->optional ? n->cost - 1U : n->cost);
        return key;
    }
    return qualify(r, n, of, key);
}

/* has() did not get as far as its field. The test is free because upstream takes one back for it,
 * and does so where it has not paid too. */
static void give_back(struct cel_run *r, const struct cel_node *n)
{
    if (n->cost > 0) {
        (void)cel_charge(r, n->cost - 1U);
    } else if (!r->cancelled && r->cost == 0) {
        r->cancelled = true; /* below zero is above every limit */
        r->cost = r->limit < UINT64_MAX ? r->limit + 1 : r->limit;
    } else if (!r->cancelled) {
        r->cost--;
    }
}

struct cel_val cel_run_has(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val of = cel_run_node(r, n->args[0]);
    bool through = of.kind == CK_OPTIONAL && !is_stored(n, of), none = through && !of.opt;

    if (cel_is_err(of) || none) {
        give_back(r, n);
        return none ? cel_v_bool(false) : of;
    }
    if (!cel_charge(r, n->cost))
        return of;
    struct cel_val v = element(r, through ? *of.opt : of, cel_v_str(n->name.p, n->name.n));
    return cel_is_err(v) ? v : cel_v_bool(v.kind != CK_ABSENT);
}
