/* eval.c - evaluation. */
#include "cel/message.h"
#include "cel/prog.h"

static struct cel_val cancelled(void)
{
    static const char text[] = "operation cancelled: actual cost limit exceeded";
    return (struct cel_val){ .kind = CK_ERROR, .s = text, .n = sizeof text - 1 };
}

static struct cel_val stopped(void)
{
    static const char text[] = "operation interrupted";
    return (struct cel_val){ .kind = CK_ERROR, .s = text, .n = sizeof text - 1 };
}

/* ---- calls --------------------------------------------------------------------------------------- */

static __attribute__((cold)) struct cel_val misfit(struct cel_run *r, const struct cel_function *fn,
                                                   const struct cel_val *args, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (fn->misfit == CM_PLAIN || (fn->misfit == CM_TRAIT && (fn->traits >> args[0].kind & 1)))
        return cel_v_no_overload();
    if (fn->misfit != CM_TYPED)
        return cel_v_error(r->a, "no such overload: %s", fn->name);
    for (unsigned i = 0; i < n; i++)
        strbuf_appendf(&b, "%s%s", i ? ", " : "", cel_type_name(args[i]));
    return cel_v_error(r->a, "no such overload: %s(%s)", fn->name, strbuf_str(&b));
}

struct cel_val cel_call(struct cel_run *r, const struct cel_function *fn,
                        const struct cel_val *args, unsigned n)
{
    struct cel_val v = fn->fn(r, args, n);
    return v.kind == CK_ABSENT ? misfit(r, fn, args, n) : v;
}

static struct cel_val run_call(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val args[4], v;
    const struct cel_val *bad = NULL;

    for (unsigned i = 0; i < n->n_args; i++) {
        args[i] = cel_run_node(r, n->args[i]);
        if (r->cancelled)
            return cancelled();
        if (UNLIKELY(args[i].n > CEL_TEXT_FREE) && cel_is_text(args[i]))
            (void)cel_work(r, args[i].n / 128);
        if (!cel_is_err(args[i]) || bad)
            continue;
        if (n->in_order && i + 1U < n->n_args) /* such a call costs nothing */
            return args[i];
        bad = &args[i];
    }
    r->pattern = n->pattern;
    r->overload = n->single ? &n->fn->overloads[n->overload] : NULL;
    v = bad && n->fn->misfit != CM_LENIENT ? *bad : cel_call(r, n->fn, args, n->n_args);
    uint64_t cost = n->cost == CC_ONE ? 1 : cel_call_cost(r, n->cost, args, n->n_args, v);
    return cel_charge(r, cost) ? v : cancelled();
}

/* ---- logic --------------------------------------------------------------------------------------- */

/* One side that decides wins over errors on the others. */
static struct cel_val run_row(struct cel_run *r, const struct cel_node *n, bool decides)
{
    struct cel_val err = { .kind = CK_ABSENT };

    for (uint32_t i = 0; i < n->n_more; i++) {
        struct cel_val v = cel_run_node(r, n->args[i]);
        if (r->cancelled)
            return cancelled();
        if (v.kind == CK_BOOL && v.b == decides)
            return v;
        if (v.kind != CK_BOOL && err.kind == CK_ABSENT)
            err = cel_is_err(v) ? v : cel_v_no_overload();
    }
    return err.kind == CK_ABSENT ? cel_v_bool(!decides) : err;
}

static struct cel_val run_and(struct cel_run *r, const struct cel_node *n)
{
    return run_row(r, n, false);
}

static struct cel_val run_or(struct cel_run *r, const struct cel_node *n)
{
    return run_row(r, n, true);
}

static struct cel_val run_cond(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val c = cel_run_node(r, n->args[0]);

    if (cel_is_err(c))
        return c;
    if (c.kind != CK_BOOL)
        return cel_v_no_overload();
    return cel_run_node(r, n->args[c.b ? 1 : 2]);
}

static struct cel_val run_lookup(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val v = cel_run_node(r, n->args[0]);
    return cel_is_err(v) ? v : cel_v_bool(cel_is_one_of(r, n->args[1]->value.list, v));
}

/* a.or(b), a.orValue(b): b only when a is none. */
static struct cel_val run_opt(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val v = cel_run_node(r, n->args[0]);

    if (v.kind != CK_OPTIONAL) /* an error, or a dyn that is none: upstream takes it as it is */
        return v;
    if (v.opt)
        return n->op == OP_OPT_OR ? v : *v.opt;
    return cel_run_node(r, n->args[1]);
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* Unwraps an optional entry; false: there is none. */
static bool entry(struct cel_run *r, const struct cel_node *n, uint32_t i, struct cel_val *v)
{
    if (!n->which || !n->which[i] || cel_is_err(*v))
        return true;
    if (v->kind != CK_OPTIONAL) {
        *v = cel_v_error(r->a, "cannot initialize optional %s entry from non-optional value %s",
                         n->op == OP_LIST ? "list" : "map", cel_type_name(*v));
        return true;
    }
    if (!v->opt)
        return false;
    *v = *v->opt;
    return true;
}

static struct cel_val run_list(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val *items = arena_alloc(r->a, (n->n_more + 1) * sizeof *items, 16);
    size_t len = 0;

    for (uint32_t i = 0; i < n->n_more; i++) {
        items[len] = cel_run_node(r, n->args[i]);
        if (!entry(r, n, i, &items[len]))
            continue;
        if (cel_is_err(items[len])) {
            (void)cel_charge(r, n->cost);
            return items[len];
        }
        len++;
    }
    (void)cel_charge(r, n->cost);
    return cel_v_list(r->a, items, len);
}

/* Where the key is among the first n entries; n: it is new. */
static uint32_t place_of(struct cel_run *r, const struct cel_entry *e, uint32_t n,
                         struct cel_val key, const struct cel_table *known, uint64_t hash)
{
    uint32_t it = 0, at = 0;

    while (!known && at < n && !cel_is_key(r, e[at].key, key))
        at++;
    while (known && (at = cel_table_next(known, hash, &it)) != UINT32_MAX) {
        if (!cel_work(r, 1) || cel_is_key(r, e[at].key, key))
            break;
    }
    return at == UINT32_MAX ? n : at;
}

static struct cel_val run_map(struct cel_run *r, const struct cel_node *n)
{
    CLEANUP(cel_table_fini) struct cel_table known = { 0 };
    struct cel_entry *e = arena_alloc(r->a, (n->n_more / 2 + 1) * sizeof *e, 16);
    uint32_t len = 0;
    bool many = n->n_more / 2 > CEL_LONG;

    for (uint32_t i = 0; i < n->n_more; i += 2) {
        struct cel_entry one = { .key = cel_run_node(r, n->args[i]) };
        if (!cel_is_err(one.key))
            one.val = cel_run_node(r, n->args[i + 1]);
        bool there = cel_is_err(one.key) || entry(r, n, i / 2, &one.val);
        if (cel_is_err(one.key) || (there && cel_is_err(one.val))) {
            (void)cel_charge(r, n->cost);
            return cel_is_err(one.key) ? one.key : one.val;
        }
        if (!there)
            continue;
        uint64_t h = many ? cel_hash(r, one.key) : 0;
        uint32_t at = place_of(r, e, len, one.key, many ? &known : NULL, h);
        if (many && at == len)
            cel_table_put(&known, h, at);
        e[at] = one; /* the last of equal keys wins */
        len += at == len;
    }
    (void)cel_charge(r, n->cost);
    return cel_v_map(r->a, e, len);
}

/* The value of a field, one that is optional unwrapped; CK_ABSENT: it is not set. */
static struct cel_val run_field(struct cel_run *r, const struct cel_node *n, uint32_t i)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct cel_val v = cel_run_node(r, n->args[i]);

    if (cel_is_err(v) || !n->message->optional[i])
        return v;
    if (v.kind == CK_OPTIONAL)
        return v.opt ? *v.opt : (struct cel_val){ .kind = CK_ABSENT };
    if (!cel_to_string(r, v, &b))
        strbuf_append(&b, cel_type_name(v));
    return cel_v_error(r->a, "cannot initialize optional entry '%s' from non-optional value %s",
                       n->message->of->fields[n->message->fields[i]].name, strbuf_str(&b));
}

/* A message of protobuf is the value it stands for. A field that is there twice has its last. */
static struct cel_val run_struct(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val fields[CEL_MESSAGE_FIELDS_MAX] = { 0 }, v;

    for (uint32_t i = 0; i < n->n_more; i++) {
        v = run_field(r, n, i);
        if (cel_is_err(v))
            return cel_charge(r, n->cost) ? v : cancelled();
        fields[n->message->fields[i]] = v;
    }
    v = cel_message_make(r, n->message->of, fields);
    return cel_charge(r, n->cost) ? v : cancelled();
}

/* ---- loops --------------------------------------------------------------------------------------- */

/* A list that grows by one element at a time, twice as large when it is full. */
struct growing {
    struct cel_list list; /* first: the value points to it */
    uint32_t cap;
};

static struct cel_val run_append(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val *accu = &r->locals[n->slot], item = cel_run_node(r, n->args[0]);

    if (!cel_charge(r, n->cost))
        return cancelled();
    if (cel_is_err(*accu))
        return *accu;
    if (cel_is_err(item))
        return item;
    struct growing *g = (struct growing *)(uintptr_t)accu->list;
    if (g->list.n == g->cap) {
        uint32_t cap = MAX(g->cap * 2, 8U);
        struct cel_val *items = cel_alloc(r, cap, sizeof *items);
        if (!items)
            return cancelled();
        if (g->list.n)
            memcpy(items, g->list.items, g->list.n * sizeof *items);
        g->list.items = items;
        g->cap = cap;
    }
    ((struct cel_val *)(uintptr_t)g->list.items)[g->list.n++] = item;
    return *accu;
}

static struct cel_val not_iterable(struct cel_run *r, struct cel_val v)
{
    return cel_v_error(r->a, "got '%s', expected iterable type", cel_go_type(v));
}

/* A round of a loop is over: does somebody want the evaluation to end? */
static bool round_ends(struct cel_run *r)
{
    if (!r->stop || ++r->rounds % CEL_INTERRUPT_ROUNDS || !r->stop->is_set(r->stop->arg))
        return false;
    r->cancelled = r->stopped = true;
    return true;
}

/* all() and exists(): what the condition, the name in the step and the name of the result cost is
 * counted, without their being run. */
static struct cel_val run_quick(struct cel_run *r, const struct cel_node_fold *f,
                                struct cel_iter *it)
{
    bool decides = f->how == FOLD_EXISTS;
    unsigned cond = decides ? 3 : 2;
    struct cel_val accu = cel_v_bool(!decides), key, val;

    while (cel_iter_next(it, &key, &val)) {
        if (!cel_charge(r, cond))
            return cancelled();
        if (accu.kind == CK_BOOL && accu.b == decides)
            break;
        r->locals[f->var] = f->var2 != UINT16_MAX || !it->list ? key : val;
        if (f->var2 != UINT16_MAX)
            r->locals[f->var2] = val;
        if (!cel_charge(r, 1))
            return cancelled();
        struct cel_val v = cel_run_node(r, f->each);
        if (r->cancelled)
            return cancelled();
        if (v.kind == CK_BOOL && v.b == decides)
            accu = v;
        else if (v.kind != CK_BOOL && accu.kind == CK_BOOL)
            accu = cel_is_err(v) ? v : cel_v_no_overload();
        if (round_ends(r))
            return cancelled();
    }
    return cel_charge(r, 1) ? accu : cancelled();
}

static struct cel_val run_fold(struct cel_run *r, const struct cel_node *n)
{
    const struct cel_node_fold *f = n->fold;
    struct cel_iter it;
    struct cel_val key, val;

    if (f->bind) { /* evaluated where it is used first: OP_LOCAL does it */
        r->locals[f->accu] = (struct cel_val){ .kind = CK_ABSENT, .opt = (const void *)f };
        return cel_run_node(r, f->result);
    }
    struct cel_val range = cel_run_node(r, f->range);
    if (cel_is_err(range))
        return range;
    if (!cel_iter_init(&it, r->a, range))
        return not_iterable(r, range);
    if (f->how != FOLD_PLAIN)
        return run_quick(r, f, &it);
    if (f->appends) {
        static const struct cel_val nothing;
        struct growing *own = arena_alloc(r->a, sizeof *own, 16);
        *own = (struct growing){ .list.items = &nothing };
        r->locals[f->accu] = (struct cel_val){ .kind = CK_LIST, .list = &own->list };
    } else {
        r->locals[f->accu] = cel_run_node(r, f->init);
    }
    while (!r->cancelled && cel_iter_next(&it, &key, &val)) {
        r->locals[f->var] = f->var2 != UINT16_MAX || !it.list ? key : val;
        if (f->var2 != UINT16_MAX)
            r->locals[f->var2] = val;
        struct cel_val go = cel_run_node(r, f->cond);
        if (go.kind == CK_BOOL && !go.b)
            break;
        r->locals[f->accu] = cel_run_node(r, f->step);
        if (round_ends(r))
            break;
    }
    return r->cancelled ? cancelled() : cel_run_node(r, f->result);
}

static struct cel_val run_local(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val *slot = &r->locals[n->slot];

    if (slot->kind == CK_ABSENT && slot->opt) {
        const struct cel_node_fold *f = (const void *)slot->opt;
        struct cel_val v = cel_run_node(r, f->init);
        r->locals[n->slot] = v;
    }
    return cel_charge(r, n->cost) ? *slot : cancelled();
}

static struct cel_val run_const(struct cel_run *r, const struct cel_node *n)
{
    (void)r;
    return n->value;
}

static struct cel_val run_var(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val v = r->vars[n->slot];

    if (!cel_charge(r, n->cost))
        return cancelled();
    if (v.kind == CK_ABSENT)
        return cel_v_error(r->a, "no such attribute(s): %.*s", (int)n->name.n, n->name.p);
    return v;
}

static struct cel_val run_known(struct cel_run *r, const struct cel_node *n)
{
    return cel_charge(r, n->n_more) ? n->value : cancelled();
}

static struct cel_val run_not_false(struct cel_run *r, const struct cel_node *n)
{
    struct cel_val v = cel_run_node(r, n->args[0]);
    return cel_charge(r, 1) ? cel_v_bool(v.kind != CK_BOOL || v.b) : cancelled();
}

static struct cel_val (*const run_op[])(struct cel_run *r, const struct cel_node *n) = {
    [OP_CONST] = run_const,       [OP_VAR] = run_var,       [OP_LOCAL] = run_local,
    [OP_SELECT] = cel_run_select, [OP_HAS] = cel_run_has,   [OP_INDEX] = cel_run_index,
    [OP_CALL] = run_call,         [OP_KNOWN] = run_known,   [OP_NOT_FALSE] = run_not_false,
    [OP_AND] = run_and,           [OP_OR] = run_or,         [OP_COND] = run_cond,
    [OP_MEMBER_OF] = run_lookup,  [OP_OPT_OR] = run_opt,    [OP_OPT_OR_VALUE] = run_opt,
    [OP_LIST] = run_list,         [OP_MAP] = run_map,       [OP_STRUCT] = run_struct,
    [OP_FOLD] = run_fold,         [OP_APPEND] = run_append,
};

struct cel_val cel_run_plain(struct cel_run *r, const struct cel_node *n)
{
    return r->cancelled ? cancelled() : run_op[n->op](r, n);
}

enum cel_failure cel_eval_until(const struct cel_expr *e, const struct cel_val *vars,
                                uint64_t limit, const struct cel_interrupt *stop, struct arena *a,
                                struct cel_val *ret, uint64_t *ret_cost)
{
    struct cel_run r = {
        .a = a, .limit = limit, .stop = stop, .vars = vars, .zone = e->zone, .trace = e->trace
    };
    struct cel_watch watch;

    assert(e->root);
    cel_run_begin(&r, &watch);
    if (e->n_locals)
        r.locals = arena_newn0(a, e->n_locals, struct cel_val);
    *ret = cel_run_node(&r, e->root);
    cel_run_end(&r, &watch);
    if (r.cancelled)
        *ret = r.stopped ? stopped() : cancelled();
    if (ret_cost)
        *ret_cost = r.cost;
    if (r.stopped)
        return CEL_STOPPED;
    return r.cancelled ? CEL_COST : cel_is_err(*ret) ? CEL_RUNTIME : CEL_OK;
}

enum cel_failure cel_eval(const struct cel_expr *e, const struct cel_val *vars, uint64_t limit,
                          struct arena *a, struct cel_val *ret, uint64_t *ret_cost)
{
    return cel_eval_until(e, vars, limit, NULL, a, ret, ret_cost);
}
