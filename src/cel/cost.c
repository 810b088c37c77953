/* cost.c - what calls cost, from the sizes of their arguments. */
#include "cel/prog.h"
#include "cel/re.h"

static uint64_t part(uint64_t size, double factor)
{
    double exact = (double)size * factor; /* ceil() is a call on most machines */
    uint64_t whole = (uint64_t)exact;
    return whole + ((double)whole < exact);
}

static uint64_t traverse_json(const struct kj_val *v)
{
    uint64_t cost = 0;
    struct str key;
    const struct kj_val *item;

    switch (kj_type(v)) {
    case KJ_STR: return (uint64_t)((double)kj_len(v) * 0.1);
    case KJ_ARR:
    case KJ_OBJ:
        for (struct kj_iter it = kj_iter(v); kj_next(&it, &key, &item);)
            cost += traverse_json(item) + (key.p ? (uint64_t)((double)key.n * 0.1) : 0);
        return cost;
    default: return 1;
    }
}

static uint64_t traverse_inside(struct cel_run *r, struct cel_val v);

/* Going through all of a value; texts count a tenth of their bytes, rounded down. */
static uint64_t traverse(struct cel_run *r, struct cel_val v)
{
    switch (v.kind) {
    case CK_STRING:
    case CK_BYTES: return (uint64_t)((double)v.n * 0.1);
    case CK_LIST: /* of a document: told by the caller, see below */
        return v.list->items ? traverse_inside(r, v) : v.list->n;
    case CK_MAP: return v.map->entries ? traverse_inside(r, v) : v.map->n;
    default: return 1;
    }
}

static uint64_t traverse_inside(struct cel_run *r, struct cel_val v)
{
    uint64_t cost = 0;
    uint32_t n = v.kind == CK_LIST ? v.list->n : v.map->n;

    if (!cel_enter(r, n))
        return 0;
    for (uint32_t i = 0; v.kind == CK_LIST && i < n; i++)
        cost += traverse(r, v.list->items[i]);
    for (uint32_t i = 0; v.kind == CK_MAP && i < n; i++)
        cost += traverse(r, v.map->entries[i].key) + traverse(r, v.map->entries[i].val);
    cel_leave(r);
    return cost;
}

static uint64_t traversal(struct cel_run *r, struct cel_val v)
{
    if (v.kind == CK_LIST && !v.list->items)
        return traverse_json(v.list->json);
    return traverse(r, v);
}

static uint64_t self_compare(struct cel_val v)
{
    double factor = 2.0;

    if (v.kind != CK_LIST)
        return 1;
    uint64_t n = v.list->n;
    if (n && v.list->items &&
        (v.list->items[0].kind == CK_STRING || v.list->items[0].kind == CK_BYTES))
        factor = 2.1;
    else if (n && !v.list->items && kj_type(kj_at(v.list->json, 0)) == KJ_STR)
        factor = 2.1;
    return (uint64_t)((double)(n * n) * factor) + 11;
}

static uint64_t contains_cost(const struct cel_overload *o, const struct cel_val *v, bool cidr)
{
    uint64_t n = cel_size(v[0]), cost = part(n + n, 0.1);

    if (cidr)
        cost += part(n, 0.1) + 1;
    if (o && o->args[1]->kind == CT_STRING) /* known to be text before there is a value */
        cost += part(cel_size(v[1]), 0.1);
    return cost;
}

static uint64_t equal_cost(const struct cel_val *v)
{
    if (v[0].kind >= CK_QUANTITY)
        return 1;
    return part(MIN(cel_size(v[0]), cel_size(v[1])), 0.1);
}

static uint64_t list_cost(uint64_t size, double factor)
{
    return (uint64_t)((double)size * factor) + 11;
}

uint64_t cel_call_cost(struct cel_run *r, enum cel_cost_rule rule, const struct cel_val *v,
                       unsigned n, struct cel_val result)
{
    switch (rule) {
    case CC_TENTH:
    case CC_TENTH_SIZED:
    case CC_PREFIX:
    case CC_TO_BYTES:
    case CC_TO_STRING:
    case CC_QUOTE:
    case CC_FORMAT: return part(cel_size(v[0]), 0.1);
    case CC_FIFTH:
    case CC_REPLACE:
    case CC_SPLIT: return part(cel_size(v[0]), 0.2);
    case CC_JOIN: return part(cel_size(result), 0.2);
    case CC_MATCHES:
    case CC_FIND: return part(1 + cel_size(v[0]), 0.1) * part(cel_size(v[1]), 0.25);
    case CC_CONTAINS: return part(cel_size(v[0]), 0.1) * part(cel_size(v[1]), 0.1);
    case CC_IN_LIST: return cel_size(v[1]);
    case CC_EQUAL: return equal_cost(v);
    case CC_LESS: return part(MIN(cel_size(v[0]), cel_size(v[1])), 0.1);
    case CC_ADD_TEXT: return part(cel_size(v[0]) + cel_size(v[1]), 0.1);
    case CC_TRAVERSE: return traversal(r, v[0]);
    case CC_IP: return v[0].kind == CK_CIDR ? 1 : part(cel_size(v[0]), 0.1);
    case CC_CONTAINS_IP: return contains_cost(r->overload, v, false);
    case CC_CONTAINS_CIDR: return contains_cost(r->overload, v, true);
    case CC_VALIDATE:
        return v[0].kind == CK_FORMAT
                   ? part(1 + cel_size(v[1]), 0.1) * part(v[0].format->regex_size, 0.25)
                   : 1;
    case CC_RANGE:
    case CC_SLICE:
    case CC_REVERSE: return list_cost(cel_size(result), 1);
    case CC_FLATTEN:
        return list_cost(cel_size(v[0]), 0) +
               (uint64_t)(int64_t)((double)cel_size(v[0]) * (n == 2 ? (double)v[1].i : 1.0));
    case CC_DISTINCT:
    case CC_SORT: return self_compare(v[0]);
    case CC_SORT_BY: return self_compare(v[1]);
    case CC_SETS: return 1 + cel_size(v[0]) * cel_size(v[1]);
    case CC_SETS_EQUIVALENT: return 1 + 2 * cel_size(v[0]) * cel_size(v[1]);
    case CC_CHECK: return 350000;
    case CC_SELECTOR: {
        uint64_t s = cel_size(v[1]);
        return 10 + part(s, 0.1) + part(part(s, 0.5), 50);
    }
    default: return 1;
    }
}

const struct re *cel_run_pattern(struct cel_run *r, struct cel_val text, struct re **made,
                                 struct cel_val *why)
{
    struct kerr err = { 0 };

    enum { BYTES_PER_SIGN = 256, LARGE = 4096, STATES_PER_SIGN = 128 };

    if (r->pattern)
        return r->pattern;
    *why = cel_v_no_overload();
    if (!cel_room(r, (uint64_t)text.n * BYTES_PER_SIGN))
        return NULL;
    if (re_new(text.s, text.n, made, &err) < 0) {
        *why = cel_v_error(r->a, "%s", err.text);
        (void)cel_work(r, text.n > LARGE ? (uint64_t)text.n * STATES_PER_SIGN : 0);
        return NULL;
    }
    (void)cel_work(r, re_states(*made));
    return *made;
}
