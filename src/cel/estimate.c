/* estimate.c - bounds of what an evaluation costs, before there are values.
 *
 * The same rules as cost.c, over sizes that are known from literals, from what functions return and
 * from the limits that schemas set. What is not known has no upper bound.
 */
#include <math.h>

#include "cel/ast.h"
#include "cel/cel.h"

#define UNBOUNDED UINT64_MAX
static const struct cel_bounds unknown = { 0, UNBOUNDED };

struct scope {
    struct scope *up;
    struct str name;
    struct cel_sizes sizes;
};

struct estimator {
    const struct cel_env *env;
    struct arena *a;
    struct scope *scope;
};

static struct cel_bounds cost_of(struct estimator *e, struct cel_ast *n);

/* ---- saturating arithmetic ----------------------------------------------------------------------- */

static uint64_t add_u(uint64_t x, uint64_t y)
{
    return x > UNBOUNDED - y ? UNBOUNDED : x + y;
}

static uint64_t mul_u(uint64_t x, uint64_t y)
{
    uint64_t r;
    return __builtin_mul_overflow(x, y, &r) ? UNBOUNDED : r;
}

static uint64_t scale_u(uint64_t x, double factor)
{
    double r = ceil((double)x * factor);
    return r >= 18446744073709551616.0 ? UNBOUNDED : (uint64_t)r;
}

static struct cel_bounds fixed(uint64_t v)
{
    return (struct cel_bounds){ v, v };
}
static struct cel_bounds add(struct cel_bounds x, struct cel_bounds y)
{
    return (struct cel_bounds){ add_u(x.min, y.min), add_u(x.max, y.max) };
}
static struct cel_bounds mul(struct cel_bounds x, struct cel_bounds y)
{
    return (struct cel_bounds){ mul_u(x.min, y.min), mul_u(x.max, y.max) };
}
static struct cel_bounds scale(struct cel_bounds x, double factor)
{
    return (struct cel_bounds){ scale_u(x.min, factor), scale_u(x.max, factor) };
}
static struct cel_bounds either(struct cel_bounds x, struct cel_bounds y)
{
    return (struct cel_bounds){ MIN(x.min, y.min), MAX(x.max, y.max) };
}

/* ---- sizes --------------------------------------------------------------------------------------- */

static struct cel_sizes *sizes_of(struct estimator *e, struct cel_ast *n)
{
    if (!n->sizes)
        n->sizes = arena_new0(e->a, struct cel_sizes);
    return n->sizes;
}

static const struct scope *local(const struct estimator *e, const struct cel_ast *n)
{
    if (n->kind != CA_IDENT)
        return NULL;
    for (const struct scope *s = e->scope; s; s = s->up) {
        if (str_eq(s->name, n->name))
            return s;
    }
    return NULL;
}

static bool is_scalar(const struct cel_type *t)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_BOOL:
    case CT_DOUBLE:
    case CT_DURATION:
    case CT_INT:
    case CT_TIMESTAMP:
    case CT_UINT: return true;
    case CT_OPTIONAL: return is_scalar(t->elem);
    default: return false;
    }
}

static bool size_known(struct estimator *e, struct cel_ast *n, struct cel_bounds *ret)
{
    struct cel_sizes *s = sizes_of(e, n);
    const struct scope *v;

    if (s->has_size) {
        *ret = s->size;
        return true;
    }
    if (n->kind == CA_CONST || n->kind == CA_LIST || n->kind == CA_MAP) {
        *ret = fixed(n->kind == CA_CONST  ? cel_size(n->value)
                     : n->kind == CA_LIST ? n->n_args
                                          : n->n_args / 2);
        return true;
    }
    v = local(e, n);
    const struct cel_type *path = v ? v->sizes.path : s->path;
    if (path && path->size_max != CEL_SIZE_UNKNOWN) {
        *ret = (struct cel_bounds){ 0, path->size_max };
        return true;
    }
    if (is_scalar(n->type)) {
        *ret = fixed(1);
        return true;
    }
    if (v && v->sizes.has_size) {
        *ret = v->sizes.size;
        return true;
    }
    return false;
}

static struct cel_bounds size_of(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds b;
    return size_known(e, n, &b) ? b : unknown;
}

static const struct cel_sizes *entries_of(struct estimator *e, struct cel_ast *n)
{
    struct cel_sizes *s = sizes_of(e, n);
    const struct scope *v = local(e, n);

    if (s->has_entry)
        return s;
    return v && v->sizes.has_entry ? &v->sizes : NULL;
}

static void set_size(struct estimator *e, struct cel_ast *n, struct cel_bounds size)
{
    struct cel_sizes *s = sizes_of(e, n);
    s->has_size = true;
    s->size = size;
}

static void set_entries(struct estimator *e, struct cel_ast *n, const struct cel_sizes *from)
{
    struct cel_sizes *s = sizes_of(e, n);

    if (!from)
        return;
    s->has_entry = true;
    s->entry_kind = from->entry_kind;
    s->key = from->key;
    s->val = from->val;
}

static void copy_sizes(struct estimator *e, struct cel_ast *to, struct cel_ast *from)
{
    struct cel_bounds b;

    if (size_known(e, from, &b))
        set_size(e, to, b);
    set_entries(e, to, entries_of(e, from));
}

/* ---- places in the schema ------------------------------------------------------------------------ */

/* kube-apiserver knows the size of a part by the names on the way to it, without the first one,
 * which it takes for self. So what a call returns has no place, its fields and elements are taken
 * for the root, and theirs for those of the root. It decides which rules are accepted, and
 * therefore is the same here. A place is the type there; NULL: none. */
static const struct cel_type nowhere = { .size_max = CEL_SIZE_UNKNOWN };

static const struct cel_type *root_of(const struct estimator *e)
{
    if (!e->env->n_vars || e->env->bind) /* selectors of devices know no other names */
        return &nowhere;
    const struct cel_type *t = e->env->vars[0].type;
    return t->kind == CT_OPTIONAL ? t->elem : t;
}

static const struct cel_sizes *place_of(struct estimator *e, struct cel_ast *n)
{
    const struct scope *v = local(e, n);
    return v ? &v->sizes : sizes_of(e, n);
}

static const struct cel_type *path_of(struct estimator *e, struct cel_ast *n)
{
    return place_of(e, n)->path;
}

/* One step further than `from`, which leads `to` or nowhere. */
static void path_step(const struct estimator *e, struct cel_sizes *s, const struct cel_sizes *from,
                      const struct cel_type *to)
{
    s->depth = from->path ? from->depth + 1 : 1;
    s->path = !from->path ? root_of(e) : to ? to : &nowhere;
}

static const struct cel_type *path_field(const struct cel_type *path, struct str name)
{
    const struct cel_field *f = path && path->kind == CT_OBJECT ? cel_type_field(path, name) : NULL;

    if (path && path->kind == CT_MAP && cel_type_is_any(path->elem))
        return path->elem; /* an attribute of a device */
    return f ? f->type : NULL;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static struct cel_bounds arg_costs(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds sum = { 0, 0 };
    for (uint32_t i = 0; i < n->n_args; i++)
        sum = add(sum, cost_of(e, n->args[i]));
    return sum;
}

static uint64_t int_or(const struct cel_ast *n, uint64_t otherwise)
{
    if (n->kind != CA_CONST || n->value.kind != CK_INT)
        return otherwise;
    return n->value.i < 0 ? 0 : (uint64_t)n->value.i;
}

struct call_estimate {
    struct cel_bounds cost, size;
    bool has_size;
};

static struct call_estimate costs(struct cel_bounds cost)
{
    return (struct call_estimate){ .cost = cost };
}
static struct call_estimate sized(struct cel_bounds cost, struct cel_bounds size)
{
    return (struct call_estimate){ cost, size, true };
}
static struct call_estimate list_call(double factor, struct cel_bounds size)
{
    return sized(add(scale(size, factor), fixed(11)), size);
}

/* The elements of a list by its type and place in a schema. */
static struct cel_bounds element_size(struct estimator *e, struct cel_ast *list)
{
    const struct cel_type *path = path_of(e, list), *elem = path ? path->elem : NULL;
    return elem && elem->size_max != CEL_SIZE_UNKNOWN ? (struct cel_bounds){ 0, elem->size_max }
                                                      : unknown;
}

static struct call_estimate traverse(struct estimator *e, struct cel_ast *target)
{
    struct cel_bounds size = size_of(e, target), each = fixed(1);

    if (target->type->kind != CT_LIST)
        return costs(scale(size, target->type->elem ? 1 : 0.1));
    if (target->type->elem->kind == CT_STRING || target->type->elem->kind == CT_BYTES)
        each = add(each, scale(element_size(e, target), 0.1));
    return costs(mul(size, each));
}

/* How long a text may be after pieces of it were replaced. An empty piece stands before, between
 * and behind all characters, which stay; otherwise the whole text counts as pieces, or as
 * unchanged. */
static uint64_t replaced(uint64_t len, uint64_t piece, uint64_t by, bool changes)
{
    if (piece == 0)
        return add_u(mul_u(add_u(len, 1), by), len);
    return changes ? mul_u(scale_u(len, 1.0 / (double)piece), by) : len;
}

static struct call_estimate replace(struct cel_bounds s, struct cel_bounds from,
                                    struct cel_bounds to)
{
    struct cel_bounds size = { replaced(s.min, from.max, to.min, to.min < from.max),
                               replaced(s.max, from.min, to.max, to.max > from.min) };
    return sized(scale(s, 0.2), size);
}

static struct call_estimate join(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds list = size_of(e, n->target), size = { 0, 0 };

    if (n->target->type->elem)
        size = mul(list, element_size(e, n->target));
    if (n->n_args) {
        struct cel_bounds gaps = { list.min ? list.min - 1 : 0, list.max ? list.max - 1 : 0 };
        size = add(size, mul(size_of(e, n->args[0]), gaps));
    }
    return sized(scale(size, 0.1), size);
}

static struct call_estimate equal(struct estimator *e, struct cel_ast *n, bool eq)
{
    const struct cel_type *t = n->args[0]->type;
    struct cel_bounds x = size_of(e, n->args[0]), y = size_of(e, n->args[1]);

    if (eq && cel_type_eq(t, n->args[1]->type) &&
        (t->kind == CT_OPAQUE || (t->kind == CT_OBJECT && !t->n_fields && strchr(t->name, '.') &&
                                  str_starts(t->name, "kubernetes.")))) {
        if (t == &cel_format)
            return costs(scale((struct cel_bounds){ 1, 64 }, 0.1));
        struct cel_bounds s = { 1, 1 };
        if (t == &cel_url && size_known(e, n->args[1], &s))
            return costs(scale((struct cel_bounds){ 1, s.max }, 0.1));
        return costs(fixed(1));
    }
    struct cel_bounds b = { 0, MIN(x.max, y.max) };
    b.min = b.max > 0;
    return costs(scale(b, 0.1));
}

static struct call_estimate contains_addr(struct estimator *e, struct cel_ast *n,
                                          const struct cel_overload *o, bool cidr)
{
    struct cel_bounds s = { 4, 16 }, cost = scale(add(s, s), 0.1);

    if (cidr)
        cost = add(add(cost, scale(s, 0.1)), fixed(1));
    if (o->args[1]->kind == CT_STRING)
        cost = add(cost, scale(size_of(e, n->args[0]), 0.1));
    return costs(cost);
}

static struct call_estimate add_sizes(struct estimator *e, struct cel_ast *n, bool text)
{
    struct cel_bounds size = add(size_of(e, n->args[0]), size_of(e, n->args[1]));
    const struct cel_sizes *x = entries_of(e, n->args[0]), *y = entries_of(e, n->args[1]);

    if (x && y) {
        struct cel_sizes both = *x;
        both.key = either(x->key, y->key);
        both.val = either(x->val, y->val);
        set_entries(e, n, &both);
    }
    return sized(text ? scale(size, 0.1) : fixed(1), size);
}

static struct cel_bounds selector(struct cel_bounds s)
{
    return add(fixed(10), add(scale(s, 0.1), scale(scale(s, 0.5), 50)));
}

static struct call_estimate call_rule(struct estimator *e, struct cel_ast *n,
                                      enum cel_cost_rule rule, const struct cel_overload *o)
{
    struct cel_ast *first = n->target ? n->target : n->n_args ? n->args[0] : NULL;
    struct cel_bounds s = first ? size_of(e, first) : fixed(1);

    switch (rule) {
    case CC_TENTH: return costs(scale(s, 0.1));
    case CC_FORMAT: return costs(scale(s, 0.1));
    case CC_TENTH_SIZED: return sized(scale(s, 0.1), s);
    case CC_FIFTH: return costs(scale(s, 0.2));
    case CC_REPLACE: return replace(s, size_of(e, n->args[0]), size_of(e, n->args[1]));
    case CC_SPLIT:
        return sized(scale(s, 0.2),
                     (struct cel_bounds){ 0, n->n_args > 1 && n->args[1]->kind == CA_CONST
                                                 ? (uint64_t)n->args[1]->value.i
                                                 : s.max });
    case CC_JOIN: return join(e, n);
    case CC_PREFIX: return costs(scale(size_of(e, n->args[0]), 0.1));
    case CC_TO_BYTES: return sized(scale(s, 0.1), (struct cel_bounds){ s.min, s.max * 4 });
    case CC_TO_STRING: return sized(scale(s, 0.1), (struct cel_bounds){ s.min / 4, s.max });
    case CC_QUOTE: return sized(scale(s, 0.1), (struct cel_bounds){ s.min + 2, s.max * 2 + 2 });
    case CC_MATCHES:
    case CC_FIND: {
        struct cel_bounds cost =
            mul(scale(add(s, fixed(1)), 0.1), scale(size_of(e, n->args[0]), 0.25));
        return rule == CC_FIND ? sized(cost, (struct cel_bounds){ 0, s.max }) : costs(cost);
    }
    case CC_CONTAINS: return costs(mul(scale(s, 0.1), scale(size_of(e, n->args[0]), 0.1)));
    case CC_IN_LIST: return costs(size_of(e, n->args[1]));
    case CC_EQUAL: return equal(e, n, str_eqz(n->name, "_==_"));
    case CC_LESS: return equal(e, n, false);
    case CC_ADD_TEXT: return add_sizes(e, n, true);
    case CC_ADD_LIST: return add_sizes(e, n, false);
    case CC_TRAVERSE: return traverse(e, n->target);
    case CC_IP: return costs(o->member ? fixed(1) : scale(s, 0.1));
    case CC_CONTAINS_IP: return contains_addr(e, n, o, false);
    case CC_CONTAINS_CIDR: return contains_addr(e, n, o, true);
    case CC_VALIDATE: return costs(scale(scale(size_of(e, n->args[0]), 0.1), 32));
    case CC_RANGE: return list_call(1, fixed(int_or(n->args[0], UNBOUNDED)));
    case CC_SLICE: return list_call(1, fixed(int_or(n->args[1], s.max) - int_or(n->args[0], 0)));
    case CC_REVERSE: return list_call(1, s);
    case CC_FLATTEN: return list_call(n->n_args ? (double)int_or(n->args[0], UNBOUNDED) : 1, s);
    case CC_DISTINCT: return list_call(2, mul(s, s));
    case CC_SORT:
    case CC_SORT_BY: {
        struct cel_bounds by = rule == CC_SORT ? s : size_of(e, n->args[0]);
        enum cel_type_kind k = o->args[rule == CC_SORT_BY]->elem->kind;
        return list_call(k == CT_STRING || k == CT_BYTES ? 2.1 : 2, mul(by, by));
    }
    case CC_SETS: /* scaled by 1: it is rounded as upstream's is */
    case CC_SETS_EQUIVALENT:
        return costs(add(scale(mul(s, size_of(e, n->args[1])), rule == CC_SETS ? 1 : 2), fixed(1)));
    case CC_CHECK: return costs(fixed(350000));
    case CC_SELECTOR: return costs(selector(size_of(e, n->args[0])));
    default: return costs(fixed(1));
    }
}

static struct cel_bounds conditional(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds c = cost_of(e, n->args[0]), x = cost_of(e, n->args[1]),
                      y = cost_of(e, n->args[2]);
    const struct cel_sizes *p = entries_of(e, n->args[1]), *q = entries_of(e, n->args[2]);

    if (p && q) {
        struct cel_sizes both = *p;
        both.key = either(p->key, q->key);
        both.val = either(p->val, q->val);
        set_entries(e, n, &both);
    }
    set_size(e, n, either(size_of(e, n->args[1]), size_of(e, n->args[2])));
    return add(c, either(x, y));
}

/* Balanced as upstream builds its tree: the first half decides alone at best. */
static struct cel_bounds row(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds sum = arg_costs(e, n);
    sum.min = cost_of(e, n->args[0]).min;
    return sum;
}

static struct cel_bounds call(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds sum = { 0, 0 }, cost = { UNBOUNDED, 0 }, result = { 0, 0 };
    bool has_result = false;

    if (!n->fn) { /* a.?b */
        struct cel_bounds c = add(cost_of(e, n->args[0]), fixed(1));
        return c;
    }
    if (streq(n->fn->name, "dyn")) {
        sum = add(cost_of(e, n->args[0]), fixed(1));
        copy_sizes(e, n, n->args[0]);
        return sum;
    }
    if (streq(n->fn->name, "_?_:_"))
        return conditional(e, n);
    if (streq(n->fn->name, "_&&_") || streq(n->fn->name, "_||_"))
        return row(e, n);
    struct cel_bounds args = arg_costs(e, n);
    if (n->target)
        sum = cost_of(e, n->target);
    for (uint32_t i = 0; i < n->fn->n_overloads; i++) {
        const struct cel_overload *o = &n->fn->overloads[i];
        struct cel_bounds b;
        if (!(n->overloads >> i & 1))
            continue;
        struct call_estimate c = call_rule(e, n, n->fn->cost ? n->fn->cost : o->cost, o);
        cost = either(cost, add(c.cost, args));
        if (c.has_size) {
            result = has_result ? either(result, c.size) : c.size;
            has_result = true;
        }
        if (o->cost == CC_INDEX_LIST || o->cost == CC_INDEX_MAP) {
            const struct cel_sizes *s = entries_of(e, n->args[0]);
            const struct cel_sizes *from = place_of(e, n->args[0]);
            has_result = s != NULL;
            if (s)
                result = s->val;
            path_step(e, sizes_of(e, n), from, from->path ? from->path->elem : NULL);
        }
        if (!has_result && size_known(e, n, &b)) {
            result = b;
            has_result = true;
        }
    }
    if (has_result)
        set_size(e, n, result);
    return add(sum, cost);
}

/* ---- other nodes --------------------------------------------------------------------------------- */

static struct cel_bounds ident(struct estimator *e, struct cel_ast *n)
{
    const struct scope *v = local(e, n);
    const struct cel_type *path = v ? v->sizes.path : root_of(e);

    if (!v) {
        /* Names of types too: type(self) == int has the size of self as its bound. */
        for (size_t i = 0; i < e->env->n_vars; i++) {
            if (str_eqz(n->name, e->env->vars[i].name))
                path = e->env->vars[i].type;
        }
        path = path->kind == CT_OPTIONAL ? path->elem : path;
    }
    sizes_of(e, n)->path = path;
    sizes_of(e, n)->depth = v ? v->sizes.depth : 1;
    return fixed(1);
}

static struct cel_bounds selecting(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds cost = cost_of(e, n->target);
    enum cel_type_kind k = n->target->type->kind;

    if (n->test_only)
        return cost;
    if (k == CT_MAP || k == CT_OBJECT || k == CT_PARAM)
        cost = add(cost, fixed(1));
    const struct cel_sizes *from = place_of(e, n->target);
    path_step(e, sizes_of(e, n), from, path_field(from->path, n->name));
    return cost;
}

static struct cel_bounds aggregate(struct estimator *e, struct cel_ast *n)
{
    bool list = n->kind == CA_LIST;
    struct cel_bounds sum = { 0, 0 };
    struct cel_sizes s = { .entry_kind = list ? CT_LIST : CT_MAP,
                           .key = { n->n_args ? UNBOUNDED : 0, 0 },
                           .val = { n->n_args ? UNBOUNDED : 0, 0 } };

    for (uint32_t i = 0; i < n->n_args; i++) {
        struct cel_bounds *b = !list && i % 2 == 0 ? &s.key : &s.val;
        sum = add(sum, cost_of(e, n->args[i]));
        *b = either(*b, size_of(e, n->args[i]));
    }
    if (list)
        s.key = fixed(1);
    set_entries(e, n, &s);
    return add(sum, fixed(list ? 10 : 30));
}

static struct cel_bounds structure(struct estimator *e, struct cel_ast *n)
{
    return add(arg_costs(e, n), fixed(40));
}

/* A variable of a loop: what it may be of the range. */
static struct cel_sizes loop_var(struct estimator *e, struct cel_ast *range, bool key)
{
    const struct cel_sizes *s = entries_of(e, range), *from = place_of(e, range);
    const struct cel_type *path = from->path;
    struct cel_sizes v = { 0 };

    if (s) {
        v.has_size = true;
        v.size = key ? s->key : s->val;
    }
    path_step(e, &v, from, !path ? NULL : key ? path->key : path->elem);
    return v;
}

/* Go's append() writes into the array of the shorter path where there is room, which is unless its
 * length is a power of two: then the place of the second variable replaces that of the first. */
static bool shares_array(uint32_t depth)
{
    return (depth & (depth - 1)) != 0;
}

static struct cel_bounds loop(struct estimator *e, struct cel_ast *n)
{
    struct cel_fold *f = n->fold;
    struct scope *outer = e->scope;
    struct cel_bounds sum = add(cost_of(e, f->range), cost_of(e, f->init)), b;
    const struct cel_sizes *s = entries_of(e, f->init);
    struct scope accu = { .up = outer, .name = f->accu };

    if (s)
        accu.sizes = *s;
    accu.sizes.path = path_of(e, f->init);
    accu.sizes.depth = place_of(e, f->init)->depth;
    accu.sizes.has_size = size_known(e, f->init, &accu.sizes.size);
    if (f->bind) {
        e->scope = &accu;
        sum = add(sum, cost_of(e, f->result));
        e->scope = outer;
        copy_sizes(e, n, f->result); /* upstream has forgotten the variable by then */
        return sum;
    }
    s = entries_of(e, f->range);
    bool is_list = s ? s->entry_kind == CT_LIST : f->range->type->kind == CT_LIST;
    struct scope one = { .up = &accu, .name = f->var };
    struct scope two = { .up = &one, .name = f->var2 };
    one.sizes = loop_var(e, f->range, f->var2.n ? true : !is_list);
    two.sizes = loop_var(e, f->range, false);
    if (f->var2.n && shares_array(two.sizes.depth - 1))
        one.sizes.path = two.sizes.path;
    e->scope = f->var2.n ? &two : &one;
    struct cel_bounds each = add(cost_of(e, f->cond), cost_of(e, f->step));
    e->scope = &accu;
    sum = add(sum, cost_of(e, f->result));
    e->scope = outer;
    struct cel_bounds count = size_of(e, f->range);
    sum = add(sum, mul(count, each));
    if (f->init->kind == CA_CONST) {
        if (size_known(e, f->init, &b))
            set_size(e, n, b);
    } else if (f->init->kind == CA_LIST || f->init->kind == CA_MAP) {
        set_size(e, n, count);
        set_entries(e, n, entries_of(e, f->step));
    }
    return sum;
}

static struct cel_bounds cost_of(struct estimator *e, struct cel_ast *n)
{
    struct cel_bounds b = { 0, 0 };

    if (n->cost)
        return *n->cost;
    switch ((enum cel_ast_kind)n->kind) {
    case CA_CONST:
    case CA_BROKEN: break;
    case CA_IDENT: b = ident(e, n); break;
    case CA_SELECT: b = selecting(e, n); break;
    case CA_CALL: b = call(e, n); break;
    case CA_LIST:
    case CA_MAP: b = aggregate(e, n); break;
    case CA_STRUCT: b = structure(e, n); break;
    case CA_FOLD: b = loop(e, n); break;
    }
    n->cost = arena_new0(e->a, struct cel_bounds);
    *n->cost = b;
    return b;
}

struct cel_cost cel_estimate_tree(const struct cel_env *env, struct arena *a, struct cel_ast *root)
{
    struct estimator e = { .env = env, .a = a };
    struct cel_bounds b = cost_of(&e, root);
    return (struct cel_cost){ b.min, b.max };
}
