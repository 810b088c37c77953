/* check.c - types of expressions. */
#include "cel/ast.h"
#include "cel/cel.h"
#include "cel/message.h"

struct scope {
    struct scope *up;
    struct str name;
    const struct cel_type *type;
};

struct checker {
    const struct cel_env *env;
    struct arena *a;
    struct cel_problems *problems;
    struct cel_subst subst;
    struct scope *scope;
    bool told; /* that a type is too large: nothing more is checked */
};

static const struct cel_type *check(struct checker *c, struct cel_ast *n);

static const char *as_found(struct checker *c, const struct cel_type *t)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    cel_type_print(t, true, &b);
    return arena_strndup(c->a, strbuf_str(&b), b.len);
}

static const char *shown(struct checker *c, const struct cel_type *t)
{
    return as_found(c, cel_subst_apply(&c->subst, t, true));
}

static const struct cel_type *now(struct checker *c, const struct cel_type *t)
{
    return cel_subst_apply(&c->subst, t, false);
}

static bool is_dyn(const struct cel_type *t)
{
    return t->kind == CT_DYN || t->kind == CT_ERROR;
}

/* What may be a list or a map; an attribute of a device may not. */
static bool is_range(const struct cel_type *t)
{
    return (is_dyn(t) && !cel_type_is_any(t)) || t->kind == CT_PARAM;
}

static void mismatch(struct checker *c, const struct cel_ast *at, const struct cel_type *expected,
                     const struct cel_type *found)
{
    cel_problem(c->problems, at->pos, "expected type '%s' but found '%s'", as_found(c, expected),
                as_found(c, found));
}

static void expect(struct checker *c, const struct cel_ast *n, const struct cel_type *t)
{
    if (!cel_assignable(&c->subst, t, n->type))
        mismatch(c, n, t, n->type);
}

/* ---- names --------------------------------------------------------------------------------------- */

static const struct cel_type *const type_names[] = { &cel_bool,      &cel_int,      &cel_uint,
                                                     &cel_double,    &cel_string,   &cel_bytes,
                                                     &cel_timestamp, &cel_duration, &cel_null,
                                                     &cel_dyn };

/* A variable, or a type by its name: then the value is constant. */
static const struct cel_type *find_name(struct checker *c, struct str name,
                                        struct cel_val *ret_value)
{
    const struct cel_type *t = NULL;

    if (name.n && name.p[0] == '.') {
        name.p++;
        name.n--;
    } else {
        for (struct scope *s = c->scope; s; s = s->up) {
            if (str_eq(s->name, name))
                return s->type;
        }
    }
    for (size_t i = 0; i < c->env->n_vars; i++) {
        if (str_eqz(name, c->env->vars[i].name))
            return c->env->vars[i].type;
    }
    if (str_eqz(name, "google.protobuf.NullValue.NULL_VALUE")) { /* the one enum there is */
        *ret_value = cel_v_int(0);
        return &cel_int;
    }
    for (size_t i = 0; i < ARRAY_LEN(type_names) && !t; i++)
        t = str_eqz(name, type_names[i]->name) ? type_names[i] : NULL;
    if (!t && str_eqz(name, "list"))
        t = &cel_list_dyn;
    if (!t && str_eqz(name, "map"))
        t = &cel_map_dyn;
    if (!t && str_eqz(name, "optional_type"))
        t = cel_type_of(c->a, CT_OPTIONAL, &cel_dyn);
    if (!t && str_eqz(name, "type"))
        t = cel_type_of(c->a, CT_TYPE, &cel_dyn);
    if (!t || t->kind == CT_DYN)
        return NULL;
    *ret_value = cel_v_type(t);
    return cel_type_of(c->a, CT_TYPE, t);
}

static const struct cel_type *check_ident(struct checker *c, struct cel_ast *n)
{
    const struct cel_type *t = find_name(c, n->name, &n->value);

    if (t)
        return t;
    cel_problem(c->problems, n->pos, "undeclared reference to '%.*s' (in container '')",
                (int)n->name.n, n->name.p);
    return &cel_error;
}

static bool qualified(const struct cel_ast *n, struct strbuf *out)
{
    if (n->kind == CA_SELECT && !n->test_only && qualified(n->target, out)) {
        strbuf_appendf(out, ".%.*s", (int)n->name.n, n->name.p);
        return true;
    }
    if (n->kind != CA_IDENT)
        return false;
    strbuf_appendn(out, n->name.p, n->name.n);
    return true;
}

/* The type of of.name */
static const struct cel_type *field_type(struct checker *c, const struct cel_ast *at,
                                         const struct cel_type *of, struct str name)
{
    const struct cel_field *f;
    bool optional = of->kind == CT_OPTIONAL;

    of = now(c, optional ? of->elem : of);
    const struct cel_type *t = &cel_dyn;
    switch ((enum cel_type_kind)of->kind) {
    case CT_MAP: t = of->elem; break;
    case CT_OBJECT:
        f = cel_type_field(of, name);
        if (!f && !of->fields) {
            cel_problem(c->problems, at->pos, "unexpected failed resolution of '%s'", of->name);
            return &cel_error;
        }
        if (!f) {
            cel_problem(c->problems, at->pos, "undefined field '%.*s'", (int)name.n, name.p);
            return &cel_error;
        }
        t = f->type;
        break;
    case CT_PARAM: (void)cel_assignable(&c->subst, of, &cel_dyn); break;
    default:
        if (!is_dyn(of)) {
            cel_problem(c->problems, at->pos, "type '%s' does not support field selection",
                        as_found(c, of));
            return &cel_error;
        }
        break;
    }
    return optional ? cel_type_of(c->a, CT_OPTIONAL, t) : t;
}

static const struct cel_type *check_select(struct checker *c, struct cel_ast *n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (qualified(n, &b) && !n->test_only) {
        const struct cel_type *t = find_name(c, (struct str){ b.data, b.len }, &n->value);
        if (t) { /* google.protobuf.Timestamp */
            n->kind = CA_IDENT;
            n->name = (struct str){ arena_strndup(c->a, b.data, b.len), b.len };
            return t;
        }
    }
    const struct cel_type *t = field_type(c, n, now(c, check(c, n->target)), n->name);
    return n->test_only ? &cel_bool : t;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static const struct cel_type *no_overload(struct checker *c, const struct cel_ast *n,
                                          const struct cel_type *const *types, size_t count)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (size_t i = 0; i < count; i++) {
        bool target = n->target && i == 0;
        strbuf_append(&b, target || (n->target ? i == 1 : i == 0) ? "" : ", ");
        if (!target && i == (n->target ? 1U : 0U))
            strbuf_appendc(&b, '(');
        strbuf_append(&b, shown(c, types[i]));
        if (target)
            strbuf_append(&b, count == 1 ? ".(" : ".");
    }
    if (count == 0)
        strbuf_appendc(&b, '(');
    bool dot = n->name.n && n->name.p[0] == '.';
    cel_problem(c->problems, n->pos, "found no matching overload for '%.*s' applied to '%s)'",
                (int)n->name.n - dot, n->name.p + dot, strbuf_str(&b));
    return &cel_error;
}

static const struct cel_type *resolve(struct checker *c, struct cel_ast *n)
{
    size_t count = n->n_args + (n->target != NULL);
    const struct cel_type *result = NULL;
    const struct cel_type **types = arena_newn0(c->a, count + 1, const struct cel_type *);

    if (n->target)
        types[0] = n->target->type;
    for (uint32_t i = 0; i < n->n_args; i++)
        types[i + (n->target != NULL)] = n->args[i]->type;
    for (size_t i = 0; i < n->fn->n_overloads && count <= 4; i++) {
        const struct cel_overload *o = &n->fn->overloads[i];
        const struct cel_type *fresh[4] = { NULL }, *params[4];
        if (o->member != (n->target != NULL))
            continue;
        for (size_t k = 0; k < o->n_args; k++) /* messages tell their numbers */
            (void)cel_subst_instance(&c->subst, o->args[k], fresh);
        if (o->n_args != count)
            continue;
        for (size_t k = 0; k < count; k++)
            params[k] = cel_subst_instance(&c->subst, o->args[k], fresh);
        if (!cel_assignable_all(&c->subst, params, types, count))
            continue;
        n->overloads |= 1U << i;
        const struct cel_type *t = now(c, cel_subst_instance(&c->subst, o->result, fresh));
        if (!result)
            result = t;
        else if (result->kind != CT_DYN && !cel_type_eq(result, t))
            result = &cel_dyn;
    }
    return result ? result : no_overload(c, n, types, count);
}

static const struct cel_type *undeclared(struct checker *c, const struct cel_ast *n)
{
    cel_problem(c->problems, n->pos, "undeclared reference to '%.*s' (in container '')",
                (int)n->name.n, n->name.p);
    return &cel_error;
}

static const struct cel_type *check_opt_select(struct checker *c, struct cel_ast *n)
{
    const struct cel_type *of = now(c, check(c, n->args[0]));

    (void)check(c, n->args[1]);
    const struct cel_type *t = field_type(c, n, of, cel_str(n->args[1]->value));
    return of->kind == CT_OPTIONAL ? t : cel_type_of(c->a, CT_OPTIONAL, t);
}

static const struct cel_type *check_call(struct checker *c, struct cel_ast *n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (str_eqz(n->name, "_?._"))
        return check_opt_select(c, n);
    if (n->target && qualified(n->target, &b)) { /* strings.quote(x) */
        strbuf_appendf(&b, ".%.*s", (int)n->name.n, n->name.p);
        n->fn =
            cel_function_find((struct str){ b.data + (*b.data == '.'), b.len - (*b.data == '.') });
        if (n->fn) {
            n->target = NULL;
            n->name = str_of(n->fn->name);
        }
    }
    if (n->target)
        (void)check(c, n->target);
    for (uint32_t i = 0; i < n->n_args; i++)
        (void)check(c, n->args[i]);
    if (!n->fn)
        n->fn = cel_function_find(
            (struct str){ n->name.p + (*n->name.p == '.'), n->name.n - (*n->name.p == '.') });
    if (!n->fn)
        return undeclared(c, n);
    if (str_eqz(n->name, "_&&_") || str_eqz(n->name, "_||_")) {
        size_t before = c->problems->list.n + c->problems->left_out;
        n->overloads = 1;
        for (uint32_t i = 0; i < n->n_args; i++)
            expect(c, n->args[i], &cel_bool);
        return c->problems->list.n + c->problems->left_out == before ? &cel_bool : &cel_error;
    }
    return resolve(c, n);
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* The common type of what came before and one more element. Literals of mixed types are refused
 * later, where they are no arguments of format() (literals.c). */
static const struct cel_type *join(struct checker *c, const struct cel_type *before,
                                   const struct cel_type *t)
{
    if (!before)
        return t;
    return cel_assignable(&c->subst, before, t) ? cel_most_general(&c->subst, before, t) : &cel_dyn;
}

/* What an optional entry holds. */
static const struct cel_type *entry_type(struct checker *c, struct cel_ast *n, bool optional)
{
    const struct cel_type *t = check(c, n); /* as it was found: what a variable means may widen */

    if (!optional)
        return t;
    if (t->kind == CT_OPTIONAL)
        return t->elem;
    if (t->kind != CT_DYN)
        mismatch(c, n, cel_type_of(c->a, CT_OPTIONAL, t), t);
    return t;
}

static const struct cel_type *check_list(struct checker *c, struct cel_ast *n)
{
    const struct cel_type *elem = NULL;

    for (uint32_t i = 0; i < n->n_args; i++)
        elem = join(c, elem, entry_type(c, n->args[i], n->optional && n->optional[i]));
    return cel_type_list(c->a, elem ? elem : cel_subst_fresh(&c->subst));
}

static const struct cel_type *check_map(struct checker *c, struct cel_ast *n)
{
    const struct cel_type *key = NULL, *val = NULL;

    for (uint32_t i = 0; i < n->n_args; i += 2) {
        key = join(c, key, check(c, n->args[i]));
        val = join(c, val, entry_type(c, n->args[i + 1], n->optional && n->optional[i / 2]));
    }
    if (!key) /* the key is named before the value: arguments have no order */
        key = cel_subst_fresh(&c->subst);
    return cel_type_map(c->a, key, val ? val : cel_subst_fresh(&c->subst));
}

/* name: value, or ?name: value with a value that is optional. */
static void check_struct_field(struct checker *c, struct cel_ast *n, uint32_t i,
                               const struct cel_message *m)
{
    struct cel_ast *value = n->args[i];
    const struct cel_type *found = check(c, value); /* as it was found: see entry_type() */
    int field = cel_message_field(m, n->names[i]);

    if (field < 0)
        cel_problem(c->problems, n->colons[i], "undefined field '%.*s'", (int)n->names[i].n,
                    n->names[i].p);
    if (n->optional && n->optional[i]) {
        if (found->kind == CT_OPTIONAL)
            found = found->elem;
        else if (!is_dyn(found))
            mismatch(c, value, cel_type_of(c->a, CT_OPTIONAL, found), found);
    }
    if (field >= 0 && !cel_assignable(&c->subst, m->fields[field].type, found))
        cel_problem(c->problems, n->colons[i],
                    "expected type of field '%.*s' is '%s' but provided type is '%s'",
                    (int)n->names[i].n, n->names[i].p, as_found(c, m->fields[field].type),
                    as_found(c, found));
}

static const struct cel_type *check_struct(struct checker *c, struct cel_ast *n)
{
    bool global = n->name.n && n->name.p[0] == '.';
    struct str name = { n->name.p + global, n->name.n - global };
    const struct cel_message *m = cel_message_find(name);
    struct cel_val ignored;

    if (!m) {
        const struct cel_type *t = find_name(c, n->name, &ignored);
        if (!t)
            return undeclared(c, n);
        bool type = t->kind == CT_TYPE;
        cel_problem(c->problems, n->pos, type ? "'%s' is not a message type" : "'%s' is not a type",
                    type ? t->elem->name : t->name);
        return &cel_error;
    }
    for (uint32_t i = 0; i < n->n_args; i++)
        check_struct_field(c, n, i, m);
    return m->wrapper ? cel_type_of(c->a, CT_WRAPPER, m->type) : m->type;
}

/* ---- loops --------------------------------------------------------------------------------------- */

static const struct cel_type *check_fold(struct checker *c, struct cel_ast *n)
{
    struct cel_fold *f = n->fold;
    struct scope accu = { .name = f->accu }, one = { .name = f->var }, two = { .name = f->var2 };
    struct scope *outer = c->scope;

    const struct cel_type *range = now(c, check(c, f->range));
    accu.type = check(c, f->init);
    switch ((enum cel_type_kind)range->kind) {
    case CT_LIST:
        one.type = f->var2.n ? &cel_int : range->elem;
        two.type = range->elem;
        break;
    case CT_MAP:
        one.type = range->key;
        two.type = range->elem;
        break;
    default:
        if (!is_range(range))
            cel_problem(c->problems, f->range->pos,
                        "expression of type '%s' cannot be range of a comprehension (must be list, "
                        "map, or dynamic)",
                        as_found(c, range));
        else
            (void)cel_assignable(&c->subst, &cel_dyn, range);
        one.type = two.type = is_range(range) ? &cel_dyn : &cel_error;
        break;
    }
    accu.up = outer;
    one.up = &accu;
    two.up = &one;
    c->scope = f->var2.n ? &two : &one;
    (void)check(c, f->cond);
    expect(c, f->cond, &cel_bool);
    (void)check(c, f->step);
    expect(c, f->step, accu.type);
    c->scope = &accu;
    const struct cel_type *t = now(c, check(c, f->result));
    c->scope = outer;
    return t;
}

static const struct cel_type *literal_type(struct cel_val v)
{
    static const struct cel_type *const types[] = {
        [CK_NULL] = &cel_null,   [CK_BOOL] = &cel_bool,     [CK_INT] = &cel_int,
        [CK_UINT] = &cel_uint,   [CK_DOUBLE] = &cel_double, [CK_STRING] = &cel_string,
        [CK_BYTES] = &cel_bytes,
    };
    return types[v.kind];
}

/* A type that is too large is told of once; nothing is known of those that would have it inside. */
static void bound_type(struct checker *c, struct cel_ast *n)
{
    if (n->type->inside < CEL_TYPE_MAX && !c->subst.too_large)
        return;
    n->type = &cel_error;
    c->subst.too_large = true;
    if (!c->told)
        cel_problem(c->problems, n->pos, "type is too large");
    c->told = true;
}

static const struct cel_type *check(struct checker *c, struct cel_ast *n)
{
    if (n->checked)
        return n->type;
    n->checked = true;
    n->type = &cel_error;
    if (c->told)
        return n->type;
    switch ((enum cel_ast_kind)n->kind) {
    case CA_CONST: n->type = literal_type(n->value); break;
    case CA_IDENT: n->type = check_ident(c, n); break;
    case CA_SELECT: n->type = check_select(c, n); break;
    case CA_CALL: n->type = check_call(c, n); break;
    case CA_LIST: n->type = check_list(c, n); break;
    case CA_MAP: n->type = check_map(c, n); break;
    case CA_STRUCT: n->type = check_struct(c, n); break;
    case CA_FOLD: n->type = check_fold(c, n); break;
    case CA_BROKEN: break; /* no tree with an error comes here */
    }
    bound_type(c, n);
    return n->type;
}

void cel_ast_walk(struct cel_ast *n, uint8_t walk, void (*fn)(void *arg, struct cel_ast *n),
                  void *arg)
{
    if (!n || n->walked >= walk)
        return;
    n->walked = walk;
    fn(arg, n);
    cel_ast_walk(n->target, walk, fn, arg);
    for (uint32_t i = 0; i < n->n_args; i++)
        cel_ast_walk(n->args[i], walk, fn, arg);
    if (n->fold) {
        cel_ast_walk(n->fold->range, walk, fn, arg);
        cel_ast_walk(n->fold->init, walk, fn, arg);
        cel_ast_walk(n->fold->cond, walk, fn, arg);
        cel_ast_walk(n->fold->step, walk, fn, arg);
        cel_ast_walk(n->fold->result, walk, fn, arg);
    }
}

static void settle(void *arg, struct cel_ast *n)
{
    struct checker *c = arg;
    if (n->type)
        n->type = cel_subst_apply(&c->subst, n->type, true);
}

void cel_check(const struct cel_env *env, struct arena *a, struct cel_ast *root,
               struct cel_problems *problems)
{
    struct checker c = { .env = env, .a = a, .problems = problems, .subst = { .a = a } };

    (void)check(&c, root);
    if (problems->list.n == 0)
        cel_ast_walk(root, CEL_WALK_TYPES, settle, &c);
    if (c.subst.too_large && !c.told)
        bound_type(&c, root);
}
