/* conditions.c - matchConditions: which of the requests that rules and selectors name are meant. */
#include "apiserver/admission/admitexpr.h"
#include "apiserver/crd/rules.h"
#include "apiserver/kinds/internal.h"
#include "base/vec.h"

struct conditions {
    size_t n;
    struct condition {
        struct cel_expr *expr; /* NULL: it does not compile, though it was stored */
        char *text;
    } list[];
};

/* ---- compiled -------------------------------------------------------------------------------- */

struct conditions *conditions_new(const struct kj_val *list, bool params)
{
    size_t n = kj_len(list);

    if (!n)
        return NULL;
    struct conditions *c = xcalloc(1, sizeof *c + n * sizeof c->list[0]);
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        const struct kj_val *text = kj_get(kj_at(list, i), "expression");
        c->list[i].text = xstrdup(kj_str_or(text, ""));
        const struct admitexpr_env env = { .params = params, .authorizer = true };
        (void)admitexpr_compile(&env, (struct str){ kj_str_or(text, ""), kj_len(text) },
                                admitexpr_bool, &c->list[i].expr, &why);
    }
    return c;
}

struct conditions *conditions_free(struct conditions *c)
{
    for (size_t i = 0; c && i < c->n; i++) {
        cel_expr_free(c->list[i].expr);
        free(c->list[i].text);
    }
    free(c);
    return NULL;
}

/* ---- evaluated ------------------------------------------------------------------------------- */

/* Upstream tells several errors as "[a, b]", and none twice. */
struct problems vec_of(char *);

static void problem(struct problems *p, char *text)
{
    vec_foreach(p, i)
        if (streq(p->items[i], text)) {
            free(text);
            return;
        }
    vec_push(p, text);
}

static void problems_tell(struct problems *p, struct strbuf *why)
{
    if (p->n > 1)
        strbuf_appendc(why, '[');
    vec_foreach(p, i)
        strbuf_appendf(why, "%s%s", i ? ", " : "", p->items[i]);
    if (p->n > 1)
        strbuf_appendc(why, ']');
}

static void problems_fini(struct problems *p)
{
    vec_foreach(p, i)
        free(p->items[i]);
    vec_fini(p);
}

/* 1 or 0; -EINVAL after a problem was noted; -E2BIG: the budget does not cover it. */
static int eval_one(const struct condition *c, const struct admitexpr_input *in, uint64_t *budget,
                    struct problems *p)
{
    struct cel_val v;
    uint64_t cost = 0;

    if (!c->expr) {
        problem(p, xstrdup("unexpected internal error compiling expression"));
        return -EINVAL;
    }
    enum cel_failure f = cel_eval(c->expr, in->vars, CEL_LIMIT_CALL, in->a, &v, &cost);
    if (cost > *budget)
        return -E2BIG;
    *budget -= cost;
    if (f != CEL_OK) {
        struct strbuf text = STRBUF_INIT;
        strbuf_appendf(&text, "expression '%s' resulted in error: %.*s", c->text, (int)v.n, v.s);
        problem(p, strbuf_take(&text));
        return -EINVAL;
    }
    return v.kind == CK_BOOL && v.b;
}

/* All are evaluated whatever the first ones say: the budget is one of them all. */
int conditions_eval(const struct conditions *c, const struct admitexpr_input *in,
                    struct strbuf *why)
{
    struct problems p = { 0 };
    uint64_t budget = CONDITIONS_BUDGET;
    bool refuted = false;
    int e = 1;

    for (size_t i = 0; c && i < c->n && e != -E2BIG; i++) {
        e = eval_one(&c->list[i], in, &budget, &p);
        refuted |= e == 0;
    }
    if (e == -E2BIG) {
        strbuf_append(why, "validation failed due to running out of cost budget, no further "
                           "validation rules will be run");
        e = -EINVAL;
    } else if (refuted) {
        e = 0;
    } else if (p.n) {
        problems_tell(&p, why);
        e = -EINVAL;
    }
    problems_fini(&p);
    return e;
}

/* ---- written --------------------------------------------------------------------------------- */

static void check_one(struct check *c, const struct kj_val *entry, bool params, const char *path)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *expr = NULL;
    struct str text = rule_trim(kj_get(entry, "expression"));
    const char *where = at(c, "%s.expression", path), *name = v_name(c->a, entry, "name");

    const struct admitexpr_env env = { .params = params, .authorizer = true };
    int e = text.n ? admitexpr_compile(&env, text, admitexpr_bool, &expr, &why) : 0;
    if (!text.n)
        err_required(c, where, "");
    else if (e == -EINVAL)
        err_invalid(c, where, arena_strndup(c->a, text.p, text.n), why.data);
    else if (e < 0)
        field_error(c->errors, FIELD_INTERNAL, where, NULL, "%s", why.data);
    if (*name)
        check_qualified(c, at(c, "%s.name", path), name);
    else
        err_required(c, at(c, "%s.name", path), "");
}

void conditions_check(const struct kj_val *list, bool params, const char *path,
                      struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    CLEANUP(map_fini) struct map seen = { 0 };

    if (kj_len(list) > CONDITIONS_MAX)
        field_error(errors, FIELD_TOO_MANY, path, NULL, "%zu: must have at most %d items",
                    kj_len(list), CONDITIONS_MAX);
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *p = at(&c, "%s[%zu]", path, i), *name = v_name(c.a, kj_at(list, i), "name");
        check_one(&c, kj_at(list, i), params, p);
        if (*name && !names_add(&seen, name))
            err_duplicate(&c, at(&c, "%s.name", p), name);
    }
}
