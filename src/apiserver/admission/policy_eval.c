/* policy_eval.c - what a policy says about one request.
 *
 * All validations are evaluated, then all messageExpressions with what is left of the budget, then
 * the audit annotations with one of their own: as kube-apiserver does, so that the same expressions
 * run out of it. A variable is evaluated where it is first used, at most once in each of the three,
 * and its cost counts there.
 */
#include "apiserver/admission/policy_int.h"
#include "apiserver/crd/rules.h"

#define OUT_OF_BUDGET                                                                   \
    "validation failed due to running out of cost budget, no further validation rules " \
    "will be run"

void policy_result_fini(struct policy_result *r)
{
    vec_fini(&r->denials);
    vec_fini(&r->notes);
}

/* ---- expressions ----------------------------------------------------------------------------- */

enum { VARIABLES_DEPTH = 32 }; /* of variables that use variables: evaluations on the stack */
#define WASTE_MAX (4 * (uint64_t)POLICY_BUDGET)

/* A chain of variables may be as long as a policy is. What lies deeper than the stack may go is
 * evaluated first, and what wanted it anew: the evaluation has come there, so it is needed. Each
 * variable uses earlier ones only, so this ends. Costs count once. */
struct policy_run {
    const struct policy *p;
    struct admitexpr_input *in;
    struct cel_lazy lazy;
    struct cel_val *values; /* of the variables; CK_ABSENT: not evaluated yet */
    size_t known;           /* variables that the expression at hand may use: so many, the first */
    uint64_t budget;        /* of the expression at hand */
    uint64_t spent;         /* on variables, by the expression at hand */
    uint64_t wasted;        /* on what was evaluated in vain */
    unsigned depth;
    bool too_deep; /* the evaluations under way are in vain: this variable comes first */
    size_t first;
};

static bool is_spent(const struct policy_run *x)
{
    return x->spent > x->budget || x->wasted > WASTE_MAX;
}

static struct cel_val evaluate_variable(struct policy_run *x, size_t i)
{
    const struct policy_expr *e = &x->p->variables[i];
    struct arena *a = x->in->a;
    size_t known = x->known;
    struct cel_val v;
    uint64_t cost = 0;

    if (!e->expr)
        return cel_v_error(a, "composited variable \"%.*s\" fails to compile", (int)e->name.n,
                           e->name.p);
    x->known = i;
    x->depth++;
    enum cel_failure f = cel_eval(e->expr, x->in->vars, CEL_LIMIT_CALL, a, &v, &cost);
    x->depth--;
    x->known = known;
    if (x->too_deep) {
        x->wasted += cost;
        return cel_v_error(a, "not yet");
    }
    x->spent += cost;
    if (f != CEL_OK)
        return cel_v_error(a, "composited variable \"%.*s\" fails to evaluate: %.*s",
                           (int)e->name.n, e->name.p, (int)v.n, v.s);
    return v;
}

static struct cel_val variable_get(void *arg, struct str name)
{
    struct policy_run *x = arg;
    size_t i = x->known;

    while (i > 0 && !str_eq(x->p->variables[i - 1].name, name))
        i--;
    if (i-- == 0)
        return (struct cel_val){ .kind = CK_ABSENT };
    if (x->values[i].kind != CK_ABSENT)
        return x->values[i];
    if (x->too_deep || is_spent(x)) /* whatever comes of it, nobody will look at it */
        return cel_v_error(x->in->a, "not yet");
    if (x->depth == VARIABLES_DEPTH) {
        x->too_deep = true;
        x->first = i;
        return cel_v_error(x->in->a, "not yet");
    }
    struct cel_val v = evaluate_variable(x, i);
    if (!x->too_deep)
        x->values[i] = v;
    return v;
}

/* As cel_eval(), however deep its variables are in each other. */
static enum cel_failure evaluate_deep(struct policy_run *x, const struct policy_expr *e,
                                      struct cel_val *ret, uint64_t *ret_cost)
{
    struct vec_of(size_t) firsts = { 0 };
    enum cel_failure f = CEL_OK;
    struct cel_val v = { 0 };

    for (bool done = false; !done;) {
        bool whole = firsts.n == 0;
        if (whole) {
            x->known = x->p->n_variables;
            *ret_cost = 0;
            f = cel_eval(e->expr, x->in->vars, CEL_LIMIT_CALL, x->in->a, ret, ret_cost);
        } else {
            v = evaluate_variable(x, firsts.items[firsts.n - 1]);
        }
        if (x->too_deep) {
            x->too_deep = false;
            x->wasted += whole ? *ret_cost : 0;
            vec_push(&firsts, x->first);
        } else if (!whole) {
            x->values[firsts.items[--firsts.n]] = v;
        } else {
            done = true;
        }
    }
    vec_fini(&firsts);
    return f;
}

/* Variables are new to each of the three lists. */
static void begin_list(struct policy_run *x)
{
    x->values = arena_newn0(x->in->a, x->p->n_variables + 1, struct cel_val);
    x->wasted = 0;
    x->in->vars[ADMITEXPR_VARIABLES] = cel_v_lazy(x->in->a, &x->lazy);
}

/* 0; -EINVAL: *ret_why says why there is no value; -E2BIG: the budget does not cover it. */
static int evaluate(struct policy_run *x, const struct policy_expr *e, uint64_t *budget,
                    struct cel_val *ret, const char **ret_why)
{
    uint64_t cost = 0;

    if (!e->expr) {
        *ret_why = "unexpected internal error compiling expression";
        return -EINVAL;
    }
    x->spent = 0;
    x->budget = *budget;
    enum cel_failure f = evaluate_deep(x, e, ret, &cost);
    if (is_spent(x) || cost > *budget - x->spent)
        return -E2BIG;
    *budget -= x->spent + cost;
    if (f == CEL_OK)
        return 0;
    *ret_why = arena_printf(x->in->a, "expression '%.*s' resulted in error: %.*s", (int)e->text.n,
                            e->text.p, (int)ret->n, ret->s);
    return -EINVAL;
}

/* ---- validations ----------------------------------------------------------------------------- */

struct verdict {
    bool holds;
    const char *error;  /* NULL: none */
    struct str message; /* of the messageExpression; empty: none that is fit to be shown */
};

static struct str trim(struct str s)
{
    static const char blanks[] = " \t\r\n\v\f";

    while (s.n && strchr(blanks, s.p[0]))
        s.p++, s.n--;
    while (s.n && strchr(blanks, s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool judge_all(struct policy_run *x, struct verdict *v, uint64_t *budget)
{
    begin_list(x);
    for (size_t i = 0; i < x->p->n_validations; i++) {
        struct cel_val val = { 0 };
        int e = evaluate(x, &x->p->validations[i], budget, &val, &v[i].error);
        if (e == -E2BIG)
            return false;
        v[i].holds = e == 0 && val.kind == CK_BOOL && val.b;
    }
    return true;
}

/* false: the budget does not cover them. */
static bool word_all(struct policy_run *x, struct verdict *v, uint64_t budget)
{
    begin_list(x);
    for (size_t i = 0; i < x->p->n_validations; i++) {
        struct cel_val val = { 0 };
        const char *why;
        if (!x->p->messages[i].text.n)
            continue;
        int e = evaluate(x, &x->p->messages[i], &budget, &val, &why);
        if (e == -E2BIG)
            return false;
        if (e < 0 || val.kind != CK_STRING)
            continue;
        struct str s = trim(cel_str(val));
        if (s.n && s.n <= RULE_MESSAGE_MAX && !memchr(s.p, '\n', s.n))
            v[i].message = s;
    }
    return true;
}

static const char *message_of(const struct policy_run *x, const struct verdict *v, size_t i)
{
    struct str plain = trim(x->p->messages[i].name), text = trim(x->p->validations[i].text);

    if (v->message.n)
        return arena_strndup(x->in->a, v->message.p, v->message.n);
    if (plain.n)
        return arena_strndup(x->in->a, plain.p, plain.n);
    return arena_printf(x->in->a, "failed expression: %.*s", (int)text.n, text.p);
}

/* What cannot be decided denies only where the policy says so. */
static void undecided(const struct policy_run *x, const char *why, struct policy_result *ret)
{
    if (!x->p->ignore_failure)
        vec_push(&ret->denials, ((struct policy_denial){ "", why }));
}

static void decide(const struct policy_run *x, const struct verdict *v, size_t i,
                   struct policy_result *ret)
{
    struct str reason = x->p->validations[i].name;

    if (v->error)
        undecided(x, v->error, ret);
    else if (!v->holds)
        vec_push(&ret->denials,
                 ((struct policy_denial){ reason.n ? reason.p : "Invalid", message_of(x, v, i) }));
}

/* ---- audit annotations ----------------------------------------------------------------------- */

static bool annotate(struct policy_run *x, struct policy_result *ret)
{
    uint64_t budget = POLICY_BUDGET;

    begin_list(x);
    for (size_t i = 0; i < x->p->n_notes; i++) {
        struct policy_note note = { .key = x->p->notes[i].name };
        struct cel_val v = { 0 };
        int e = evaluate(x, &x->p->notes[i], &budget, &v, &note.error);
        if (e == -E2BIG)
            return false;
        struct str s = e == 0 && v.kind == CK_STRING ? trim(cel_str(v)) : (struct str){ "", 0 };
        note.value = arena_strndup(x->in->a, s.p, MIN(s.n, (size_t)POLICY_NOTE_MAX));
        if (s.n || (note.error && !x->p->ignore_failure))
            vec_push(&ret->notes, note);
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void policy_eval(const struct policy *p, struct admitexpr_input *in, const struct kj_val *params,
                 const struct kj_val *ns, struct policy_result *ret)
{
    struct policy_run x = { .p = p, .in = in };
    struct verdict *v = arena_newn0(in->a, p->n_validations + 1, struct verdict);
    uint64_t budget = POLICY_BUDGET;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    x.lazy = (struct cel_lazy){ variable_get, &x };
    in->vars[ADMITEXPR_PARAMS] = params ? cel_v_json(in->a, params, &cel_dyn) : cel_v_null();
    in->vars[ADMITEXPR_VARIABLES] = cel_v_null();
    admitexpr_input_namespace(in, NULL); /* conditions see neither */
    int e = conditions_eval(p->conditions, in, &why);
    if (e < 0)
        undecided(&x, arena_strdup(in->a, strbuf_str(&why)), ret);
    if (e <= 0)
        return;
    admitexpr_input_namespace(in, ns);
    if (!judge_all(&x, v, &budget)) {
        undecided(&x, OUT_OF_BUDGET, ret);
        return;
    }
    if (!word_all(&x, v, budget)) {
        for (size_t i = 0; i < p->n_validations; i++)
            if (!v[i].error)
                v[i].error = "failed messageExpression: " OUT_OF_BUDGET;
    }
    if (!annotate(&x, ret)) {
        undecided(&x, OUT_OF_BUDGET, ret);
        return;
    }
    for (size_t i = 0; i < p->n_validations; i++)
        decide(&x, &v[i], i, ret);
}
