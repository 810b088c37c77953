/* literals.c - literals that are checked before anything runs: times, patterns, formats. */
#include "cel/ast.h"
#include "cel/re.h"

struct validator {
    struct arena *a;
    struct cel_problems *problems;
};

static bool converts(struct validator *v, struct cel_ast *n)
{
    struct cel_run r = { .a = v->a, .limit = UINT64_MAX };
    return !cel_is_err(n->fn->fn(&r, &n->args[0]->value, 1));
}

/* What a literal argument of format() is printed as; false: not a literal. */
static bool format_arg(struct validator *v, struct cel_ast *n, struct cel_val *ret)
{
    static const struct cel_val sample[] = {
        [CT_BOOL] = { .kind = CK_BOOL },           [CT_INT] = { .kind = CK_INT },
        [CT_UINT] = { .kind = CK_UINT },           [CT_DOUBLE] = { .kind = CK_DOUBLE },
        [CT_STRING] = { .kind = CK_STRING },       [CT_BYTES] = { .kind = CK_BYTES },
        [CT_TIMESTAMP] = { .kind = CK_TIMESTAMP }, [CT_DURATION] = { .kind = CK_DURATION },
        [CT_NULL] = { .kind = CK_NULL },
    };

    const struct cel_type *t = n->type->kind == CT_WRAPPER ? n->type->elem : n->type;
    switch ((enum cel_type_kind)t->kind) {
    case CT_ERROR:
    case CT_WRAPPER:
    case CT_PARAM: return false;
    case CT_LIST: *ret = cel_v_list(v->a, NULL, 0); return true;
    case CT_MAP: *ret = cel_v_map(v->a, NULL, 0); return true;
    case CT_TYPE: *ret = cel_v_type(&cel_int); return true;
    case CT_OPTIONAL: *ret = cel_v_none(); return true;
    case CT_DYN:
        if (!cel_type_is_any(t))
            return false;
        __attribute__((fallthrough)); /* which no clause prints */
    case CT_OBJECT:
    case CT_OPAQUE: {
        struct cel_native *native = arena_new0(v->a, struct cel_native);
        native->type = t;
        *ret = (struct cel_val){ .kind = CK_NATIVE, .native = native };
        return true;
    }
    case CT_NULL:
    case CT_BOOL:
    case CT_INT:
    case CT_UINT:
    case CT_DOUBLE:
    case CT_STRING:
    case CT_BYTES:
    case CT_TIMESTAMP:
    case CT_DURATION: break;
    }
    *ret = sample[t->kind];
    return true;
}

/* The first part of a literal list or map that %s cannot print; NULL: none. */
static struct cel_ast *unprintable(struct validator *v, struct cel_ast *n, struct cel_val *ret)
{
    if (n->kind == CA_LIST || n->kind == CA_MAP) {
        for (uint32_t i = 0; i < n->n_args; i++) {
            struct cel_ast *bad = unprintable(v, n->args[i], ret);
            if (bad)
                return bad;
        }
        return NULL;
    }
    return format_arg(v, n, ret) && (ret->kind == CK_OPTIONAL || ret->kind == CK_NATIVE) ? n : NULL;
}

/* A clause is tried with a value of the argument's type. */
static void check_format(struct validator *v, struct cel_ast *n)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct cel_ast *list = n->args[0];
    struct cel_run r = { .a = v->a, .limit = UINT64_MAX };
    struct str fmt = cel_str(n->target->value);
    uint32_t used = 0;

    for (size_t i = 0; i < fmt.n; i++) {
        size_t begin = i;
        struct cel_val arg;
        if (fmt.p[i] != '%')
            continue;
        if (i + 1 < fmt.n && fmt.p[i + 1] == '%') {
            i++;
            continue;
        }
        for (i++; i < fmt.n && (fmt.p[i] == '.' || (fmt.p[i] >= '0' && fmt.p[i] <= '9')); i++)
            ;
        struct str part = { fmt.p + begin, MIN(i + 1, fmt.n) - begin };
        bool known = used < list->n_args && format_arg(v, list->args[used], &arg);
        if (used < list->n_args && !known && part.n >= 2) { /* dyn: only the clause is looked at */
            arg = strchr("fe", part.p[part.n - 1]) ? cel_v_double(0)
                  : part.p[part.n - 1] == 's'      ? cel_v_str("", 0)
                                                   : cel_v_int(0);
            known = true;
        }
        if (known && arg.kind == CK_STRING && strchr("fe", part.p[part.n - 1]))
            arg = cel_v_double(0); /* it may be "NaN" */
        strbuf_reset(&out);
        struct cel_ast *at = used < list->n_args ? list->args[used] : NULL;
        if (at && (at->kind == CA_LIST || at->kind == CA_MAP) && part.p[part.n - 1] == 's')
            at = unprintable(v, at, &arg) ?: at;
        if (cel_format_text(&r, part, &arg, known, &out) < 0) {
            bool typed = str_starts(strbuf_str(&out), "error during");
            if (str_starts(strbuf_str(&out), "index 0"))
                cel_problem(v->problems, n->pos, "index %u out of range", used);
            else
                cel_problem(v->problems, typed ? at->pos : n->pos, "%s", strbuf_str(&out));
            return;
        }
        used++;
    }
    if (used < list->n_args)
        cel_problem(v->problems, n->pos,
                    "too many arguments supplied to string.format (expected %u, got %u)", used,
                    list->n_args);
}

static void differ(struct validator *v, const struct cel_ast *n, const struct cel_type *expected,
                   const struct cel_type *found)
{
    CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf y = STRBUF_INIT;

    cel_type_print(expected, true, &x);
    cel_type_print(found, true, &y);
    cel_problem(v->problems, n->pos, "expected type '%s' but found '%s'", strbuf_str(&x),
                strbuf_str(&y));
}

/* Elements of a literal have one type; what format() prints may be mixed. */
static void check_aggregate(struct validator *v, const struct cel_ast *n)
{
    const struct cel_type *first[2] = { NULL, NULL };
    bool map = n->kind == CA_MAP;

    for (uint32_t i = 0; i < n->n_args; i++) {
        const struct cel_type **of = &first[map ? i % 2 : 0], *t = n->args[i]->type;
        if (n->optional && n->optional[map ? i / 2 : i] && t->kind == CT_OPTIONAL &&
            !(map && i % 2 == 0))
            t = t->elem;
        if (t->kind == CT_WRAPPER)
            t = t->elem;
        if (*of && !cel_type_eq(*of, t)) {
            differ(v, n->args[i], *of, t);
            return;
        }
        *of = t;
    }
}

static void exempt(void *arg, struct cel_ast *n)
{
    (void)arg;
    n->mixed = true;
}

static void check_node(void *arg, struct cel_ast *n)
{
    struct validator *v = arg;
    struct cel_ast *first = n->n_args ? n->args[0] : NULL;

    if ((n->kind == CA_LIST || n->kind == CA_MAP) && !n->mixed)
        check_aggregate(v, n);
    if (n->kind != CA_CALL || !first)
        return;
    if (str_eqz(n->name, "format"))
        cel_ast_walk(first, CEL_WALK_FORMATS, exempt, NULL);
    if (str_eqz(n->name, "format") && n->target && n->target->kind == CA_CONST &&
        n->target->value.kind == CK_STRING && first->kind == CA_LIST && !first->optional) {
        check_format(v, n);
        return;
    }
    if (first->kind != CA_CONST)
        return;
    if ((str_eqz(n->name, "duration") || str_eqz(n->name, "timestamp")) && !converts(v, n))
        cel_problem(v->problems, first->pos, "invalid %s argument", n->fn->name);
    if (str_eqz(n->name, "matches") && first->value.kind == CK_STRING) {
        CLEANUP(re_free) struct re *re = NULL;
        if (re_new(first->value.s, first->value.n, &re, NULL) < 0)
            cel_problem(v->problems, first->pos, "invalid matches argument");
    }
}

void cel_check_literals(struct arena *a, struct cel_ast *root, struct cel_problems *problems)
{
    struct validator v = { a, problems };
    cel_ast_walk(root, CEL_WALK_LITERALS, check_node, &v);
}
