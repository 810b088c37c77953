/* plan.c - the program of a checked tree. Constant lists, maps and conversions are evaluated here.
 */
#include "cel/ast.h"
#include "cel/message.h"
#include "cel/prog.h"
#include "cel/re.h"

/* optMap() in optMap() doubles what it is applied to each time. */
enum { NODES_MAX = 200000 };

struct local {
    struct local *up;
    struct str name;
    uint16_t slot;
};

struct planner {
    const struct cel_env *env;
    struct cel_expr *e;
    struct local *locals;
    uint32_t depth, count;
    uint32_t high; /* the most variables at once in what was planned since it was set */
    struct strbuf *why;
    bool failed;
    struct str appends; /* the accumulator of the loop that collects a list */
};

static struct cel_node *plan(struct planner *p, struct cel_ast *n, bool branch);

static struct cel_node *node_new(struct planner *p, enum cel_op op, uint32_t n_args)
{
    struct cel_node *n = arena_zalloc(p->e->a, p->env->trace ? cel_trace_node_size() : sizeof *n);

    n->op = (uint8_t)op;
    n->n_args = (uint8_t)MIN(n_args, 255U);
    n->n_more = n_args;
    if (n_args)
        n->args = arena_alloc(p->e->a, n_args * sizeof *n->args, 8);
    return n;
}

static struct cel_node *fail(struct planner *p, struct cel_val err)
{
    if (!p->failed)
        strbuf_appendf(p->why, "program instantiation failed: %.*s", (int)err.n, err.s);
    p->failed = true;
    return node_new(p, OP_CONST, 0);
}

/* Text of the source belongs to the caller, types to the tree: what the program keeps is copied. */
static struct cel_val keep(struct planner *p, struct cel_val v)
{
    if (v.kind == CK_STRING || v.kind == CK_BYTES)
        v.s = arena_strndup(p->e->a, v.s, v.n);
    else if (v.kind == CK_TYPE)
        v.type = cel_type_keep(p->e->a, v.type);
    return v;
}

static struct cel_node *constant(struct planner *p, struct cel_val v)
{
    struct cel_node *n = node_new(p, OP_CONST, 0);
    n->value = keep(p, v);
    return n;
}

static struct str keep_str(struct planner *p, struct str s)
{
    return (struct str){ arena_strndup(p->e->a, s.p, s.n), s.n };
}

/* An attribute: a name and what is selected of it. Others cost one more to select from. */
static bool is_attribute(const struct cel_node *n)
{
    return n->op == OP_VAR || n->op == OP_LOCAL || n->op == OP_SELECT || n->op == OP_INDEX ||
           n->op == OP_COND;
}

/* Is something selected of a ?: here? */
static bool is_conditional(const struct cel_node *n)
{
    while (n->op == OP_SELECT || n->op == OP_INDEX)
        n = n->args[0];
    return n->op == OP_COND;
}

static struct cel_node *plan_ident(struct planner *p, struct cel_ast *n, bool branch)
{
    struct str name = n->name;
    struct cel_node *v;

    if (n->value.kind != CK_ABSENT) /* a type, or the constant of an enum */
        return constant(p, n->value);
    for (struct local *l = name.p[0] == '.' ? NULL : p->locals; l; l = l->up) {
        if (str_eq(l->name, name)) {
            v = node_new(p, OP_LOCAL, 0);
            v->slot = l->slot;
            v->cost = !branch;
            return v;
        }
    }
    if (name.p[0] == '.') {
        name.p++;
        name.n--;
    }
    for (size_t i = 0; i < p->env->n_vars; i++) {
        if (str_eqz(name, p->env->vars[i].name)) {
            v = node_new(p, OP_VAR, 0);
            p->e->uses |= i < 64 ? UINT64_C(1) << i : 0;
            v->slot = (uint16_t)i;
            v->cost = !branch;
            v->name = str_of(p->env->vars[i].name);
            return v;
        }
    }
    return fail(p, (struct cel_val){ .s = "unknown name", .n = 12 });
}

/* What a selection of `of` costs: one, and one for what is selected from unless that has paid. */
static struct cel_node *selection(struct planner *p, enum cel_op op, struct cel_ast *from,
                                  bool branch, bool optional)
{
    struct cel_node *n = node_new(p, op, op == OP_INDEX ? 2 : 1);
    const struct cel_node *of = plan(p, from, branch && op != OP_HAS);

    n->args[0] = of;
    n->optional = optional;
    n->cost = op != OP_HAS;
    if (!is_attribute(of) && !(branch && op != OP_HAS))
        n->cost += 1;
    /* has(a.b) in a branch costs its selection in place of its name; a ?: has no name. */
    if (op == OP_HAS && branch && is_conditional(of))
        n->cost += 1;
    return n;
}

static struct cel_node *plan_select(struct planner *p, struct cel_ast *n, bool branch)
{
    struct cel_node *s = selection(p, n->test_only ? OP_HAS : OP_SELECT, n->target, branch, false);
    s->name = keep_str(p, n->name);
    return s;
}

static struct cel_node *plan_index(struct planner *p, struct cel_ast *n, bool branch)
{
    struct cel_node *s = selection(p, OP_INDEX, n->args[0], branch, str_eqz(n->name, "_[?_]"));
    /* The name of an index costs nothing, as in a branch. */
    s->args[1] = plan(p, n->args[1], true);
    const char *bad = s->args[1]->op == OP_CONST ? cel_not_a_key(s->args[1]->value) : NULL;
    return bad ? fail(p, cel_v_error(p->e->a, "invalid qualifier type: %s", bad)) : s;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static bool is_conversion(const struct cel_function *fn)
{
    const struct cel_library *l = &cel_lib_convert;
    return fn >= l->functions && fn < l->functions + l->n;
}

static bool is_operator(const struct cel_function *fn)
{
    const struct cel_library *l = &cel_lib_operators;
    return fn >= l->functions && fn < l->functions + l->n;
}

static struct cel_node *fold_conversion(struct planner *p, struct cel_node *call)
{
    struct cel_run r = { .a = p->e->a, .limit = UINT64_MAX };
    struct cel_val v = cel_call(&r, call->fn, &call->args[0]->value, 1);

    if (cel_is_err(v))
        return fail(p, v);
    struct cel_node *n = node_new(p, OP_CONST, 0);
    n->value = v;
    return n;
}

/* quantity('1Gi'), ip('::1') and the like: read once. Upstream reads them each time, so they cost
 * what that costs, and what is wrong with one is an error of every evaluation. */
static bool is_reader(const struct cel_function *fn)
{
    static const struct cel_library *const of[] = { &cel_lib_quantity, &cel_lib_semver,
                                                    &cel_lib_net, &cel_lib_url };
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        if (fn >= of[i]->functions && fn < of[i]->functions + of[i]->n)
            return true;
    }
    return false;
}

static struct cel_node *plan_known(struct planner *p, struct cel_node *call)
{
    struct cel_run r = { .a = p->e->a,
                         .limit = UINT64_MAX,
                         .overload = &call->fn->overloads[call->overload] };
    const struct cel_val *arg = &call->args[0]->value;
    struct cel_val v = cel_call(&r, call->fn, arg, 1);
    uint64_t cost = cel_call_cost(&r, call->cost, arg, 1, v);

    if (cost > UINT32_MAX)
        return call;
    struct cel_node *n = node_new(p, OP_KNOWN, 0);
    n->value = v;
    n->n_more = (uint32_t)cost;
    return n;
}

/* The elements of a constant list can be looked up at once, without the cost of a search. */
static bool is_lookup(const struct cel_node *list)
{
    if (list->op != OP_CONST || list->value.kind != CK_LIST)
        return false;
    for (uint32_t i = 0; i < list->value.list->n; i++) {
        uint8_t k = list->value.list->items[i].kind;
        if (k != CK_BOOL && k != CK_INT && k != CK_UINT && k != CK_DOUBLE && k != CK_STRING &&
            k != CK_NULL)
            return false;
    }
    return true;
}

static struct cel_node *plan_pattern(struct planner *p, struct cel_node *call)
{
    const struct cel_node *text = call->args[1];
    struct kerr err = { 0 };
    struct re *re = NULL;

    if (text->op != OP_CONST || text->value.kind != CK_STRING)
        return call;
    if (re_new(text->value.s, text->value.n, &re, &err) < 0)
        return fail(p, cel_v_error(p->e->a, "%s", err.text));
    struct cel_pattern *owner = arena_zalloc(p->e->a, sizeof *owner);
    owner->re = re;
    owner->next = p->e->patterns;
    p->e->patterns = owner;
    call->pattern = re;
    call->in_order = true;
    return call;
}

static struct cel_node *plan_row(struct planner *p, struct cel_ast *n, enum cel_op op)
{
    struct cel_node *r = node_new(p, op, n->n_args);

    for (uint32_t i = 0; i < n->n_args; i++)
        r->args[i] = plan(p, n->args[i], op == OP_COND && i > 0);
    return r;
}

/* accu + [x] in the step of a loop: put at the end of the list that grows. */
static bool is_append(const struct planner *p, const struct cel_ast *n)
{
    return p->appends.n && n->n_args == 2 && n->args[0]->kind == CA_IDENT &&
           str_eq(n->args[0]->name, p->appends) && n->args[1]->kind == CA_LIST &&
           n->args[1]->n_args == 1 && !n->args[1]->optional;
}

static struct cel_node *plan_append(struct planner *p, struct cel_ast *n)
{
    struct cel_node *accu = plan_ident(p, n->args[0], false), *a = node_new(p, OP_APPEND, 1);
    struct str outer = p->appends;

    a->slot = accu->slot;
    p->appends = (struct str){ 0 };
    a->args[0] = plan(p, n->args[1]->args[0], false);
    p->appends = outer;
    /* The name, the list and the addition; a list of a constant is a constant. */
    a->cost = a->args[0]->op == OP_CONST ? 2 : 12;
    return a;
}

static uint8_t cost_rule(const struct cel_node *call)
{
    if (call->fn->cost)
        return call->fn->cost;
    return call->single ? call->fn->overloads[call->overload].cost : CC_ONE;
}

static struct cel_node *plan_call(struct planner *p, struct cel_ast *n, bool branch)
{
    const char *name = n->fn ? n->fn->name : "_?._";
    uint32_t extra = n->target != NULL;

    if (!n->fn) {
        struct cel_node *s = selection(p, OP_SELECT, n->args[0], branch, true);
        s->name = keep_str(p, cel_str(n->args[1]->value));
        return s;
    }
    if (streq(name, "_[_]") || streq(name, "_[?_]"))
        return plan_index(p, n, branch);
    if (streq(name, "_&&_") || streq(name, "_||_"))
        return plan_row(p, n, name[1] == '&' ? OP_AND : OP_OR);
    if (streq(name, "_?_:_"))
        return plan_row(p, n, OP_COND);
    if (streq(name, "_+_") && is_append(p, n))
        return plan_append(p, n);
    struct cel_node *call = node_new(p, OP_CALL, n->n_args + extra);
    call->fn = n->fn;
    call->single = __builtin_popcount(n->overloads) == 1;
    call->overload = call->single ? (uint8_t)__builtin_ctz(n->overloads) : 0;
    call->cost = cost_rule(call);
    if (n->target)
        call->args[0] = plan(p, n->target, false);
    for (uint32_t i = 0; i < n->n_args; i++)
        call->args[i + extra] = plan(p, n->args[i], false);
    /* Upstream has one implementation for all overloads of operators and of sorting, which gets all
     * arguments; others are looked up by the arguments, one after the other. */
    call->in_order = call->n_args > 2 || (!call->single && !is_operator(n->fn) &&
                                          n->fn->overloads[0].cost != CC_SORT_BY);
    if (p->failed)
        return call;
    if (streq(name, "or") || streq(name, "orValue"))
        call->op = streq(name, "or") ? OP_OPT_OR : OP_OPT_OR_VALUE;
    else if (call->n_args == 1 && is_conversion(n->fn) && call->args[0]->op == OP_CONST)
        return fold_conversion(p, call);
    else if (call->n_args == 1 && call->single && call->args[0]->op == OP_CONST && is_reader(n->fn))
        return plan_known(p, call);
    else if (streq(name, "@not_strictly_false"))
        call->op = OP_NOT_FALSE;
    else if (streq(name, "@in") && call->single && is_lookup(call->args[1])) {
        if (call->args[1]->value.list->n == 0) /* whatever the other side is */
            return constant(p, cel_v_bool(false));
        call->op = OP_MEMBER_OF;
    } else if (streq(name, "matches") || streq(name, "find") || streq(name, "findAll"))
        return plan_pattern(p, call);
    return call;
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

static bool all_constant(const struct cel_node *n)
{
    for (uint32_t i = 0; i < n->n_more; i++) {
        if (n->args[i]->op != OP_CONST)
            return false;
    }
    return true;
}

static struct cel_node *plan_aggregate(struct planner *p, struct cel_ast *n)
{
    struct cel_node *a = node_new(p, n->kind == CA_LIST ? OP_LIST : OP_MAP, n->n_args);

    a->cost = n->kind == CA_LIST ? 10 : 30;
    for (uint32_t i = 0; i < n->n_args; i++)
        a->args[i] = plan(p, n->args[i], false);
    if (n->optional) {
        uint32_t count = n->kind == CA_LIST ? n->n_args : n->n_args / 2;
        bool *which = arena_alloc(p->e->a, count, 1);
        memcpy(which, n->optional, count);
        a->which = which;
    }
    if (p->failed || n->optional || !all_constant(a))
        return a;
    struct cel_run r = { .a = p->e->a, .limit = UINT64_MAX };
    struct cel_val v = cel_run_node(&r, a);
    if (cel_is_err(v) || r.cancelled)
        return fail(p,
                    cel_is_err(v) ? v : (struct cel_val){ .s = "expression too large", .n = 20 });
    struct cel_node *c = node_new(p, OP_CONST, 0);
    c->value = v;
    return c;
}

static struct cel_node *plan_struct(struct planner *p, struct cel_ast *n)
{
    struct cel_node *s = node_new(p, OP_STRUCT, n->n_args);
    struct cel_node_message *m = arena_new0(p->e->a, struct cel_node_message);
    bool global = n->name.n && n->name.p[0] == '.';
    uint8_t *fields = arena_alloc(p->e->a, n->n_args + 1, 1);
    bool *optional = arena_alloc(p->e->a, n->n_args + 1, 1);

    s->cost = 40;
    s->message = m;
    m->of = cel_message_find((struct str){ n->name.p + global, n->name.n - global });
    m->fields = fields;
    m->optional = optional;
    for (uint32_t i = 0; i < n->n_args; i++) {
        s->args[i] = plan(p, n->args[i], false);
        fields[i] = (uint8_t)cel_message_field(m->of, n->names[i]);
        optional[i] = n->optional && n->optional[i];
    }
    return s;
}

/* ---- loops --------------------------------------------------------------------------------------- */

static uint16_t declare(struct planner *p, struct local *l, struct str name)
{
    l->name = name;
    l->slot = (uint16_t)p->depth++;
    l->up = p->locals;
    p->locals = l;
    p->high = MAX(p->high, p->depth);
    p->e->n_locals = MAX(p->e->n_locals, p->depth);
    return l->slot;
}

static bool is_accu(const struct cel_node_fold *g, const struct cel_node *n)
{
    return n->op == OP_LOCAL && n->slot == g->accu && n->cost == 1;
}

/* The loops of all() and exists(), as their macros write them. */
static void plan_quick(struct cel_node_fold *g)
{
    const struct cel_node *cond = g->cond, *step = g->step;

    if (cond->op != OP_NOT_FALSE || (step->op != OP_AND && step->op != OP_OR) ||
        step->n_more != 2 || !is_accu(g, step->args[0]) || !is_accu(g, g->result) ||
        g->init->op != OP_CONST)
        return;
    const struct cel_node *of = cond->args[0];
    bool negated = of->op == OP_CALL && streq(of->fn->name, "!_") && is_accu(g, of->args[0]);
    if (step->op == OP_AND ? !is_accu(g, of) : !negated)
        return;
    g->how = step->op == OP_AND ? FOLD_ALL : FOLD_EXISTS;
    g->each = step->args[1];
}

static struct cel_node *plan_fold(struct planner *p, struct cel_ast *n)
{
    struct cel_fold *f = n->fold;
    struct cel_node *out = node_new(p, OP_FOLD, 0);
    struct cel_node_fold *g = arena_zalloc(p->e->a, sizeof *g);
    struct local accu, one, two, *outer = p->locals;
    uint32_t depth = p->depth;
    struct str appends = p->appends;

    out->fold = g;
    if (depth > 60000)
        return fail(p, (struct cel_val){ .s = "too many variables", .n = 18 });
    p->appends = (struct str){ 0 };
    g->range = plan(p, f->range, false);
    uint32_t high = p->high;
    p->high = depth;
    g->init = plan(p, f->init, false);
    if (f->bind) /* evaluated in the middle of the result: they must not share variables */
        p->depth = p->high;
    p->high = MAX(high, p->high);
    g->accu = declare(p, &accu, f->accu);
    struct local *with_accu = p->locals;
    g->var = declare(p, &one, f->var);
    g->var2 = f->var2.n ? declare(p, &two, f->var2) : UINT16_MAX;
    g->bind = f->bind;
    g->appends = f->init->kind == CA_LIST && f->init->n_args == 0 && !f->bind;
    g->cond = plan(p, f->cond, false);
    if (g->appends)
        p->appends = f->accu;
    g->step = plan(p, f->step, false);
    p->appends = (struct str){ 0 };
    p->locals = with_accu;
    g->result = plan(p, f->result, false);
    p->locals = outer;
    p->depth = depth;
    p->appends = appends;
    if (!p->failed && !g->bind && !p->env->trace)
        plan_quick(g);
    return out;
}

static struct cel_node *plan_one(struct planner *p, struct cel_ast *n, bool branch)
{
    switch ((enum cel_ast_kind)n->kind) {
    case CA_CONST: return constant(p, n->value);
    case CA_IDENT: return plan_ident(p, n, branch);
    case CA_SELECT: return plan_select(p, n, branch);
    case CA_CALL: return plan_call(p, n, branch);
    case CA_LIST:
    case CA_MAP: return plan_aggregate(p, n);
    case CA_STRUCT: return plan_struct(p, n);
    case CA_FOLD: return plan_fold(p, n);
    case CA_BROKEN: break;
    }
    return NULL;
}

/* branch: of a ?: or an index, where upstream does not count the name itself. */
static struct cel_node *plan(struct planner *p, struct cel_ast *n, bool branch)
{
    if (p->failed)
        return node_new(p, OP_CONST, 0);
    if (++p->count > NODES_MAX)
        return fail(p, (struct cel_val){ .s = "expression too large", .n = 20 });
    struct cel_node *node = plan_one(p, n, branch);
    if (p->env->trace)
        cel_trace_mark(p->env->trace, node, n);
    return node;
}

bool cel_plan(const struct cel_env *env, struct cel_expr *e, struct arena *scratch,
              struct cel_ast *root, struct strbuf *why)
{
    struct planner p = { .env = env, .e = e, .why = why };

    (void)scratch;
    e->root = plan(&p, root, false);
    if (p.failed)
        e->root = NULL;
    return !p.failed;
}
