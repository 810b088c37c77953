/* macro.c - has, all, exists, map and the others, as trees. */
#include "cel/ast.h"

#define ACCU STR("@result")

static struct cel_ast *ident(struct cel_parser *p, struct str name, uint32_t pos)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_IDENT, pos);
    n->name = name;
    return n;
}

static struct cel_ast *literal(struct cel_parser *p, struct cel_val v, uint32_t pos)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_CONST, pos);
    n->value = v;
    return n;
}

static struct cel_ast *list_of(struct cel_parser *p, struct cel_ast *item, uint32_t pos)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_LIST, pos);
    n->n_args = item != NULL;
    n->args = arena_newn0(p->a, 1, struct cel_ast *);
    n->args[0] = item;
    return n;
}

static struct cel_ast *call(struct cel_parser *p, const char *fn, uint32_t pos, struct cel_ast *x,
                            struct cel_ast *y, struct cel_ast *z)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_CALL, pos);
    n->name = str_of(fn);
    n->args = arena_newn0(p->a, 3, struct cel_ast *);
    n->args[0] = x;
    n->args[1] = y;
    n->args[2] = z;
    n->n_args = !x ? 0 : !y ? 1 : !z ? 2 : 3;
    return n;
}

static struct cel_ast *method(struct cel_parser *p, struct cel_ast *target, const char *fn,
                              uint32_t pos, struct cel_ast *x)
{
    struct cel_ast *n = call(p, fn, pos, x, NULL, NULL);
    n->target = target;
    return n;
}

static struct cel_ast *problem(struct cel_parser *p, const struct cel_ast *at, const char *text)
{
    cel_problem(p->problems, at->pos, "%s", text);
    return cel_ast_new(p->a, CA_BROKEN, at->pos);
}

/* NULL: the argument is a name. Otherwise what the macro has become: broken, where it was found. */
static struct cel_ast *name_of(struct cel_parser *p, const struct cel_ast *n, const char *complaint,
                               struct str *ret)
{
    if (n->kind != CA_IDENT)
        return problem(p, n, complaint);
    *ret = n->name;
    return NULL;
}

/* The same for a variable of a macro that loops. */
static struct cel_ast *variable(struct cel_parser *p, const struct cel_ast *n,
                                const char *complaint, struct str *ret)
{
    struct cel_ast *broken = name_of(p, n, complaint, ret);

    if (!broken && str_eqz(n->name, "__result__"))
        return problem(p, n, "iteration variable overwrites accumulator variable");
    return broken;
}

static struct cel_ast *fold_node(struct cel_parser *p, uint32_t pos, struct cel_fold f)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_FOLD, pos);
    n->fold = arena_new0(p->a, struct cel_fold);
    *n->fold = f;
    return n;
}

/* let name = init in result */
static struct cel_ast *bind(struct cel_parser *p, uint32_t pos, struct str name,
                            struct cel_ast *init, struct cel_ast *result)
{
    return fold_node(p, pos,
                     (struct cel_fold){ .var = STR("#unused"),
                                        .accu = name,
                                        .range = list_of(p, NULL, pos),
                                        .init = init,
                                        .cond = literal(p, cel_v_bool(false), pos),
                                        .step = ident(p, name, pos),
                                        .result = result,
                                        .bind = true });
}

static struct cel_ast *accu(struct cel_parser *p, uint32_t pos)
{
    return ident(p, ACCU, pos);
}

static const char not_simple[] = "argument must be a simple name",
                  not_a_name[] = "argument is not an identifier";

/* ---- loops --------------------------------------------------------------------------------------- */

static void make_all(struct cel_parser *p, struct cel_fold *f, struct cel_ast *pred, uint32_t at)
{
    f->init = literal(p, cel_v_bool(true), at);
    f->cond = call(p, "@not_strictly_false", at, accu(p, at), NULL, NULL);
    f->step = call(p, "_&&_", at, accu(p, at), pred, NULL);
    f->result = accu(p, at);
}

static void make_exists(struct cel_parser *p, struct cel_fold *f, struct cel_ast *pred, uint32_t at)
{
    f->init = literal(p, cel_v_bool(false), at);
    f->cond =
        call(p, "@not_strictly_false", at, call(p, "!_", at, accu(p, at), NULL, NULL), NULL, NULL);
    f->step = call(p, "_||_", at, accu(p, at), pred, NULL);
    f->result = accu(p, at);
}

static void make_exists_one(struct cel_parser *p, struct cel_fold *f, struct cel_ast *pred,
                            uint32_t at)
{
    struct cel_ast *one = literal(p, cel_v_int(1), at);

    f->init = literal(p, cel_v_int(0), at);
    f->cond = literal(p, cel_v_bool(true), at);
    f->step = call(p, "_?_:_", at, pred, call(p, "_+_", at, accu(p, at), one, NULL), accu(p, at));
    f->result = call(p, "_==_", at, accu(p, at), literal(p, cel_v_int(1), at), NULL);
}

/* accu = filter ? step : accu */
static void make_collect(struct cel_parser *p, struct cel_fold *f, struct cel_ast *init,
                         struct cel_ast *filter, struct cel_ast *step, uint32_t at)
{
    f->init = init;
    f->cond = literal(p, cel_v_bool(true), at);
    f->step = filter ? call(p, "_?_:_", at, filter, step, accu(p, at)) : step;
    f->result = accu(p, at);
}

static struct cel_ast *append(struct cel_parser *p, struct cel_ast *item, uint32_t at)
{
    return call(p, "_+_", at, accu(p, at), list_of(p, item, at), NULL);
}

static struct cel_ast *empty_map(struct cel_parser *p, uint32_t at)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_MAP, at);
    n->args = arena_newn0(p->a, 1, struct cel_ast *);
    return n;
}

/* One variable: all, exists, exists_one, map, filter. */
static struct cel_ast *expand_loop(struct cel_parser *p, struct cel_ast *c)
{
    struct cel_fold f = { .range = c->target, .accu = ACCU };
    struct cel_ast **a = c->args;
    struct str name = c->name;
    bool map = str_eqz(name, "map"), filter = str_eqz(name, "filter");

    struct cel_ast *broken = variable(p, a[0], map || filter ? not_a_name : not_simple, &f.var);
    if (broken)
        return broken;
    if (str_eqz(name, "all"))
        make_all(p, &f, a[1], c->pos);
    else if (str_eqz(name, "exists"))
        make_exists(p, &f, a[1], c->pos);
    else if (map)
        make_collect(p, &f, list_of(p, NULL, c->pos), c->n_args == 3 ? a[1] : NULL,
                     append(p, a[c->n_args - 1], c->pos), c->pos);
    else if (filter)
        make_collect(p, &f, list_of(p, NULL, c->pos), a[1],
                     append(p, ident(p, f.var, c->pos), c->pos), c->pos);
    else
        make_exists_one(p, &f, a[1], c->pos);
    return fold_node(p, c->pos, f);
}

static struct cel_ast *variables(struct cel_parser *p, struct cel_ast **a, struct cel_fold *f)
{
    struct cel_ast *broken = name_of(p, a[0], not_simple, &f->var);

    if (!broken)
        broken = name_of(p, a[1], not_simple, &f->var2);
    if (!broken && str_eq(f->var, f->var2)) {
        cel_problem(p->problems, a[1]->pos, "duplicate variable name: %.*s", (int)f->var2.n,
                    f->var2.p);
        return cel_ast_new(p->a, CA_BROKEN, a[1]->pos);
    }
    if (!broken)
        broken = variable(p, a[0], not_simple, &f->var);
    return broken ? broken : variable(p, a[1], not_simple, &f->var2);
}

/* Two variables: index or key, then value. */
static struct cel_ast *expand_loop2(struct cel_parser *p, struct cel_ast *c)
{
    struct cel_fold f = { .range = c->target, .accu = ACCU };
    struct cel_ast **a = c->args, *filter = c->n_args == 4 ? a[2] : NULL, *last = a[c->n_args - 1];
    struct str name = c->name;
    uint32_t at = c->pos;

    struct cel_ast *broken = variables(p, a, &f);
    if (broken)
        return broken;
    if (str_eqz(name, "all"))
        make_all(p, &f, last, at);
    else if (str_eqz(name, "exists"))
        make_exists(p, &f, last, at);
    else if (str_eqz(name, "transformList"))
        make_collect(p, &f, list_of(p, NULL, at), filter, append(p, last, at), at);
    else if (str_eqz(name, "transformMap"))
        make_collect(p, &f, empty_map(p, at), filter,
                     call(p, "cel.@mapInsert", at, accu(p, at), ident(p, f.var, at), last), at);
    else if (str_eqz(name, "transformMapEntry"))
        make_collect(p, &f, empty_map(p, at), filter,
                     call(p, "cel.@mapInsert", at, accu(p, at), last, NULL), at);
    else
        make_exists_one(p, &f, last, at);
    return fold_node(p, at, f);
}

/* ---- the others ---------------------------------------------------------------------------------- */

static struct cel_ast *expand_has(struct cel_parser *p, struct cel_ast *c)
{
    struct cel_ast *arg = c->args[0];

    if (arg->kind != CA_SELECT)
        return problem(p, arg, "invalid argument to has() macro");
    arg->test_only = true;
    arg->pos = c->pos;
    return arg;
}

/* o.optMap(x, e): o.hasValue() ? optional.of(e with x = o.value()) : optional.none() */
static struct cel_ast *expand_opt_map(struct cel_parser *p, struct cel_ast *c, bool flat)
{
    uint32_t at = c->pos;
    struct str var;

    struct cel_ast *broken = name_of(p, c->args[0],
                                     flat ? "optFlatMap() variable name must be a simple identifier"
                                          : "optMap() variable name must be a simple identifier",
                                     &var);
    if (broken)
        return broken;
    struct cel_ast *mapped = bind(p, at, var, method(p, c->target, "value", at, NULL), c->args[1]);
    if (!flat)
        mapped = call(p, "optional.of", at, mapped, NULL, NULL);
    return call(p, "_?_:_", at, method(p, c->target, "hasValue", at, NULL), mapped,
                call(p, "optional.none", at, NULL, NULL, NULL));
}

static struct cel_ast *expand_sort_by(struct cel_parser *p, struct cel_ast *c)
{
    struct str input = STR("@__sortBy_input__"), var;
    uint32_t at = c->pos;
    struct cel_fold f = { .accu = ACCU };

    if (c->target->kind == CA_CONST || c->target->kind == CA_MAP || c->target->kind == CA_STRUCT ||
        c->target->kind == CA_BROKEN)
        return problem(p, c->target,
                       "sortBy can only be applied to a list, identifier, "
                       "comprehension, call or select expression");
    struct cel_ast *broken = variable(p, c->args[0], not_a_name, &var);
    if (broken)
        return broken;
    f.var = var;
    f.range = ident(p, input, at);
    make_collect(p, &f, list_of(p, NULL, at), NULL, append(p, c->args[1], at), at);
    struct cel_ast *sorted =
        method(p, ident(p, input, at), "@sortByAssociatedKeys", at, fold_node(p, at, f));
    return bind(p, at, input, c->target, sorted);
}

static struct cel_ast *expand_bind(struct cel_parser *p, struct cel_ast *c)
{
    struct str var;
    struct cel_ast *broken =
        name_of(p, c->args[0], "cel.bind() variable names must be simple identifiers", &var);

    return broken ? broken : bind(p, c->pos, var, c->args[1], c->args[2]);
}

static bool one_of(struct str name, const char *const *list)
{
    for (; *list; list++) {
        if (str_eqz(name, *list))
            return true;
    }
    return false;
}

struct cel_ast *cel_expand(struct cel_parser *p, struct cel_ast *c)
{
    static const char *const loops[] = { "all", "exists", "exists_one", "map", "filter", NULL };
    static const char *const loops2[] = {
        "all",           "exists",       "exists_one",        "existsOne",
        "transformList", "transformMap", "transformMapEntry", NULL
    };
    static const char *const filtered[] = { "transformList", "transformMap", "transformMapEntry",
                                            NULL };

    if (!c->target)
        return str_eqz(c->name, "has") && c->n_args == 1 ? expand_has(p, c) : c;
    if (p->bind && c->n_args == 3 && str_eqz(c->name, "bind") && c->target->kind == CA_IDENT &&
        str_eqz(c->target->name, "cel"))
        return expand_bind(p, c);
    if (c->n_args == 2 && one_of(c->name, loops))
        return expand_loop(p, c);
    if (c->n_args == 3 && str_eqz(c->name, "map"))
        return expand_loop(p, c);
    if (c->n_args == 3 ? one_of(c->name, loops2) : c->n_args == 4 && one_of(c->name, filtered))
        return expand_loop2(p, c);
    if (c->n_args == 2 && str_eqz(c->name, "sortBy"))
        return expand_sort_by(p, c);
    if (c->n_args == 2 && (str_eqz(c->name, "optMap") || str_eqz(c->name, "optFlatMap")))
        return expand_opt_map(p, c, str_eqz(c->name, "optFlatMap"));
    return c;
}
