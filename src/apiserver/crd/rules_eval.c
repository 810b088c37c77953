/* rules_eval.c - rules on objects.
 *
 * After everything else about the object is in order. A node's rules come before those below it.
 * On an update a rule sees the value that this one replaces, where there is one: properties and map
 * values by their names, items of list-type map by their keys (correlate.c). What a rule without
 * oldSelf says about a value that did not change is a warning (ratcheting).
 */
#include "apiserver/crd/rules.h"

struct rules_run {
    struct arena *a;
    struct strbuf path;
    struct field_errors *errors, *warnings;
    uint64_t budget;
};

/* A value, what it replaces (NULL: nothing, or a null), and the nearest part of the object, itself
 * or above, that replaces something: whether that part is the same decides about ratcheting. */
struct rules_at {
    const struct snode *n;
    const struct kj_val *v, *old;
    struct rules_at *up;
    enum { UNKNOWN, CHANGED, SAME } state;
};

/* ---- what did not change ------------------------------------------------------------------------
 */

static const struct kj_val *not_null(const struct kj_val *v)
{
    return kj_type(v) > KJ_NULL ? v : NULL;
}

/* Found out once for a part, since all that is in an atomic list asks the same. */
static bool ratchets(struct rules_at *at)
{
    while (!at->old && at->up)
        at = at->up;
    if (at->state == UNKNOWN)
        at->state = is_unchanged(at->n, at->v, at->old) ? SAME : CHANGED;
    return at->state == SAME;
}

/* ---- one rule -----------------------------------------------------------------------------------
 */

static const char *const type_names[] = {
    [S_ANY] = "",           [S_OBJECT] = "object",   [S_ARRAY] = "array",
    [S_STRING] = "string",  [S_INTEGER] = "integer", [S_NUMBER] = "number",
    [S_BOOLEAN] = "boolean"
};

static const char *path_of(const struct rules_run *x)
{
    const char *p = strbuf_str(&x->path);
    return !*p ? "<nil>" : *p == '.' ? p + 1 : p;
}

/* The rule could not be evaluated; that is never ratcheted. */
static void broken(struct rules_run *x, const struct snode *n, const char *before,
                   const struct cel_val *e, const char *after, struct str rule)
{
    field_error_text(x->errors, FIELD_INVALID, path_of(x), type_names[n->type], "%s%.*s%s%.*s",
                     before, e ? (int)e->n : 0, e ? e->s : "", after, (int)rule.n, rule.p);
}

/* true: nothing more runs. */
static bool report_failure(struct rules_run *x, const struct snode *n, const struct srule *r,
                           enum cel_failure f, struct cel_val e)
{
    static const char overload[] = "no such overload";
    struct str rule = r->plain.n ? r->plain : r->text;

    if (f == CEL_COST)
        broken(x, n, "'", &e,
               "': no further validation rules will be run due to call cost exceeds limit for "
               "rule: ",
               rule);
    else if (e.n >= sizeof overload - 1 && memcmp(e.s, overload, sizeof overload - 1) == 0)
        broken(x, n, "'", &e,
               "': call arguments did not match a supported operator, function or macro "
               "signature for rule: ",
               rule);
    else
        broken(x, n, "", &e, " evaluating rule: ", rule);
    return f == CEL_COST;
}

/* false: the budget does not cover it. */
static bool spend(struct rules_run *x, uint64_t cost)
{
    if (cost > x->budget)
        return false;
    x->budget -= cost;
    return true;
}

static bool out_of_budget(struct rules_run *x, const struct snode *n)
{
    field_error_text(x->errors, FIELD_INVALID, path_of(x), type_names[n->type],
                     "validation failed due to running out of cost budget, no further validation "
                     "rules will be run");
    return false;
}

/* Where it is told that a rule does not hold. */
static struct field_errors *errors_of(struct rules_run *x, struct rules_at *at,
                                      const struct srule *r)
{
    return !r->uses_old && ratchets(at) ? x->warnings : x->errors;
}

/* The messageExpression was too much: that is told in place of the message, and nothing more runs.
 */
static bool too_costly(struct rules_run *x, struct rules_at *at, const struct srule *r,
                       bool of_budget)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t here = x->path.len;

    strbuf_append(&x->path, r->path);
    if (of_budget) {
        strbuf_append(&text, "messageExpression evaluation failed due to running out of cost "
                             "budget, no further validation rules will be run");
    } else {
        strbuf_append(&text, "no further validation rules will be run due to call cost exceeds "
                             "limit for messageExpression: ");
        strbuf_append_quoted(&text, r->expression.p, r->expression.n);
    }
    field_error_text(errors_of(x, at, r), FIELD_INVALID, path_of(x), type_names[at->n->type], "%s",
                     text.data);
    strbuf_truncate(&x->path, here);
    return false;
}

/* The result of messageExpression, if it is fit to be shown. *ret stays as it is otherwise. false:
 * nothing more runs. */
static bool expressed(struct rules_run *x, struct rules_at *at, const struct srule *r,
                      const struct cel_val *vars, struct str *ret)
{
    struct cel_val v;
    uint64_t cost;

    if (!r->message)
        return true;
    enum cel_failure f = cel_eval(r->message, vars, CEL_LIMIT_CALL, x->a, &v, &cost);
    if (!spend(x, cost))
        return too_costly(x, at, r, true);
    if (f == CEL_COST)
        return too_costly(x, at, r, false);
    struct str text = f == CEL_OK && v.kind == CK_STRING ? rule_trim_str(cel_str(v)) : STR("");
    if (text.n && text.n <= RULE_MESSAGE_MAX && !memchr(text.p, '\n', text.n))
        *ret = text;
    return true;
}

static void refuse(struct rules_run *x, struct rules_at *at, const struct srule *r,
                   struct str message)
{
    CLEANUP(strbuf_fini) struct strbuf value = STRBUF_INIT;
    struct field_errors *to = errors_of(x, at, r);
    size_t here = x->path.len;
    enum kj_type t = kj_type(at->v);

    if (t == KJ_STR)
        strbuf_append_quoted(&value, kj_str(at->v), kj_len(at->v));
    else if (t < KJ_ARR)
        kj_write(at->v, KJ_SORTED, &value);
    strbuf_append(&x->path, r->path);
    if (r->type == FIELD_DUPLICATE)
        field_error(to, r->type, path_of(x), value.len ? value.data : NULL, NULL);
    else if (message.n)
        field_error(to, r->type, path_of(x), value.len ? value.data : NULL, "%.*s", (int)message.n,
                    message.p);
    else
        field_error(to, r->type, path_of(x), value.len ? value.data : NULL, "failed rule: %.*s",
                    (int)r->text.n, r->text.p);
    strbuf_truncate(&x->path, here);
}

/* false: nothing more runs. */
static bool run_rule(struct rules_run *x, struct rules_at *at, const struct srule *r)
{
    struct cel_val vars[2] = { cel_v_json(x->a, at->v, at->n->cel_type) }, v;
    struct str message = r->plain;
    uint64_t cost;

    if (at->old)
        vars[1] = cel_v_json(x->a, at->old, at->n->cel_type);
    if (r->optional_old)
        vars[1] = at->old ? cel_v_some(x->a, vars[1]) : cel_v_none();
    enum cel_failure f = cel_eval(r->rule, vars, CEL_LIMIT_CALL, x->a, &v, &cost);
    if (!spend(x, cost))
        return out_of_budget(x, at->n);
    if (f != CEL_OK)
        return !report_failure(x, at->n, r, f, v);
    if (v.kind == CK_BOOL && v.b)
        return true;
    if (!expressed(x, at, r, vars, &message))
        return false;
    refuse(x, at, r, message);
    return true;
}

/* ---- the walk -----------------------------------------------------------------------------------
 */

static bool walk(struct rules_run *x, struct rules_at *at);

static bool walk_list(struct rules_run *x, struct rules_at *at)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = at->n, .old = at->old };
    struct kj_iter it = kj_iter(at->v);
    size_t here = x->path.len;
    const struct kj_val *item;
    struct str none;
    bool go = true;

    if (!at->n->items || !at->n->items->cel_below)
        return true;
    for (size_t i = 0; go && kj_next(&it, &none, &item); i++) {
        struct rules_at below = { at->n->items, item, not_null(old_item(&olds, item)), at,
                                  UNKNOWN };
        strbuf_appendf(&x->path, "[%zu]", i);
        go = walk(x, &below);
        strbuf_truncate(&x->path, here);
    }
    return go;
}

static bool walk_object(struct rules_run *x, struct rules_at *at)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = at->n, .old = at->old };
    struct kj_iter it = kj_iter(at->v);
    size_t here = x->path.len;
    const struct kj_val *m;
    struct str key;
    bool go = true;

    while (go && kj_next(&it, &key, &m)) {
        bool known;
        const struct snode *n = snode_member(at->n, key.p, key.n, &known);
        if (!n || !n->cel_below)
            continue;
        struct rules_at below = { n, m, not_null(old_member(&olds, key)), at, UNKNOWN };
        if (!at->up && (str_eqz(key, "apiVersion") || str_eqz(key, "kind")))
            below.state = CHANGED; /* what the old one was stored with, nobody sees */
        strbuf_appendf(&x->path, n == at->n->additional ? "[%.*s]" : ".%.*s", (int)key.n, key.p);
        go = walk(x, &below);
        strbuf_truncate(&x->path, here);
    }
    return go;
}

static bool walk(struct rules_run *x, struct rules_at *at)
{
    if (!at->n->cel_below || kj_type(at->v) == KJ_NULL)
        return true;
    if (at->n->ncel && !x->budget)
        return out_of_budget(x, at->n);
    for (size_t i = 0; i < at->n->ncel; i++) {
        const struct srule *r = &at->n->cel[i];
        if (r->uses_old && !r->optional_old && !at->old)
            continue;
        bool go = run_rule(x, at, r);
        arena_reset(x->a);
        if (!go)
            return false;
    }
    return kj_type(at->v) == KJ_ARR ? walk_list(x, at) : walk_object(x, at);
}

void rules_eval(const struct snode *n, const struct kj_val *v, const struct kj_val *old,
                const char *path, struct field_errors *errors, struct field_errors *warnings)
{
    struct rules_run x = { .errors = errors, .warnings = warnings, .budget = RULES_BUDGET };
    struct rules_at at = { n, v, not_null(old), NULL, CHANGED }; /* the whole is never the same */

    if (!n->cel_below)
        return;
    x.a = arena_new();
    strbuf_append(&x.path, path);
    (void)walk(&x, &at);
    strbuf_fini(&x.path);
    arena_free(x.a);
}
