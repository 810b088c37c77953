/* compile.c - from text to program. */
#include "cel/ast.h"
#include "cel/cel.h"
#include "cel/prog.h"
#include "cel/re.h"

struct cel_expr *cel_expr_free(struct cel_expr *e)
{
    if (!e)
        return NULL;
    for (struct cel_pattern *p = e->patterns; p; p = p->next)
        re_free(p->re);
    arena_free(e->a);
    free(e);
    return NULL;
}

const struct cel_type *cel_expr_type(const struct cel_expr *e)
{
    return e->type;
}

struct cel_cost cel_expr_estimate(const struct cel_expr *e)
{
    return e->estimate;
}

bool cel_expr_uses(const struct cel_expr *e, size_t i)
{
    return i < 64 && (e->uses >> i & 1);
}

size_t cel_expr_bytes(const struct cel_expr *e)
{
    return sizeof *e + arena_used(e->a);
}

static enum cel_failure compile(const struct cel_env *env, struct arena *a,
                                struct cel_problems *problems, struct cel_expr *e,
                                struct strbuf *why)
{
    struct cel_ast *root = cel_parse(a, env->bind, problems);

    if (!root)
        return CEL_PARSE;
    cel_check(env, a, root, problems);
    if (problems->list.n == 0)
        cel_check_literals(a, root, problems);
    if (problems->list.n)
        return CEL_CHECK;
    e->zone = env->zone;
    e->trace = env->trace;
    e->type = cel_type_keep(e->a, root->type);
    e->estimate = cel_estimate_tree(env, a, root);
    if (env->trace)
        cel_trace_bounds(env->trace, root);
    return cel_plan(env, e, a, root, why) ? CEL_OK : CEL_CHECK;
}

enum cel_failure cel_compile(const struct cel_env *env, const char *text, size_t n,
                             struct cel_expr **ret, struct strbuf *why)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(cel_expr_free) struct cel_expr *e = xnew0(struct cel_expr);
    struct cel_problems problems = { .a = a, .source = { text, n } };

    *ret = NULL;
    e->a = arena_new_sized(1024);
    enum cel_failure f = compile(env, a, &problems, e, why);
    if (problems.list.n)
        cel_problems_print(&problems, why);
    vec_fini(&problems.list);
    if (e->type && f != CEL_PARSE)
        *ret = take(e);
    return f;
}
