/* cost.c - what calls cost, from the sizes of their arguments. */
#include "cel/prog.h"
#include "cel/re.h"

static uint64_t part(uint64_t size, double factor)
{
    double exact = (double)size * factor; /* ceil() is a call on most machines */
    uint64_t whole = (uint64_t)exact;
    return whole + ((double)whole < exact);
}

static uint64_t traverse(struct cel_run *r, struct cel_val v);
static uint64_t traverse_json(struct cel_run *r, const struct kj_val *v, const struct cel_type *t);

/* Texts count a tenth of their bytes, rounded down. */
static uint64_t traverse_text(size_t n)
{
    return (uint64_t)((double)n * 0.1);
}

static const struct cel_field *field_of(struct cel_run *r, const struct cel_type *t,
                                        struct str json)
{
    const struct cel_field *f = cel_type_field(t, json);

    if (f && str_eq(f->json, json)) /* most names are written as they are */
        return f;
    (void)cel_work(r, t->n_fields / 16);
    for (size_t i = 0; i < t->n_fields; i++) {
        if (str_eq(t->fields[i].json, json))
            return &t->fields[i];
    }
    return NULL;
}

static uint64_t traverse_member(struct cel_run *r, struct str key, const struct kj_val *v,
                                const struct cel_type *of)
{
    if (of->kind != CT_OBJECT)
        return traverse_text(key.n) + traverse_json(r, v, of->kind == CT_MAP ? of->elem : &cel_dyn);
    const struct cel_field *f = field_of(r, of, key);
    /* What has no type counts as one, whatever is in it. */
    return f ? traverse_text(f->name.n) + traverse_json(r, v, f->type) : traverse_text(key.n) + 1;
}

/* A text of a document may be a time, which counts as one: its type knows. */
static uint64_t traverse_json(struct cel_run *r, const struct kj_val *v, const struct cel_type *t)
{
    const struct kj_val *item;
    uint64_t cost = 0;
    struct str key;

    if (kj_type(v) != KJ_ARR && kj_type(v) != KJ_OBJ)
        return traverse(r, cel_v_json(r->a, v, t));
    if (!cel_enter(r, (uint32_t)kj_len(v)))
        return 0;
    const struct cel_type *elem = t->kind == CT_LIST ? t->elem : &cel_dyn;
    for (struct kj_iter it = kj_iter(v); kj_next(&it, &key, &item);)
        cost += key.p ? traverse_member(r, key, item, t) : traverse_json(r, item, elem);
    cel_leave(r);
    return cost;
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

/* Going through all of a value. */
static uint64_t traverse(struct cel_run *r, struct cel_val v)
{
    switch (v.kind) {
    case CK_STRING:
    case CK_BYTES: return traverse_text(v.n);
    case CK_LIST:
        return v.list->items ? traverse_inside(r, v) : traverse_json(r, v.list->json, v.list->type);
    case CK_MAP:
        if (v.map->entries)
            return traverse_inside(r, v);
        return v.map->json ? traverse_json(r, v.map->json, v.map->type) : v.map->n;
    default: return 1;
    }
}

static uint64_t self_compare(struct cel_run *r, struct cel_val v)
{
    if (v.kind != CK_LIST)
        return 1;
    uint64_t n = v.list->n;
    bool of_text = n && cel_is_text(cel_at(r, v.list, 0));
    return (uint64_t)((double)(n * n) * (of_text ? 2.1 : 2.0)) + 11;
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
    case CC_TRAVERSE: return traverse(r, v[0]);
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
    case CC_SORT: return self_compare(r, v[0]);
    case CC_SORT_BY: return self_compare(r, v[1]);
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
