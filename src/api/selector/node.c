/* node.c - node selectors: terms over labels and over the one field, metadata.name. */
#include "api/selector/selector_int.h"

struct fieldreq {
    const char *key, *value;
    bool equal; /* In, else NotIn */
};
struct nodeterm {
    struct labelreq *exprs;
    struct fieldreq *fields;
    uint32_t nexprs, nfields;
    const char *wrong; /* why this term cannot be understood; NULL when it can */
};
struct nodesel {
    struct nodeterm *terms;
    uint32_t n;
};

static int expr_from(const struct selreq *in, struct labelreq *r, struct arena *a, struct kerr *err)
{
    static const uint8_t ops[] = {
        [SELOP_IN] = LABELOP_IN,         [SELOP_NOT_IN] = LABELOP_NOT_IN,
        [SELOP_EXISTS] = LABELOP_EXISTS, [SELOP_DOES_NOT_EXIST] = LABELOP_NOT_EXISTS,
        [SELOP_GT] = LABELOP_GT,         [SELOP_LT] = LABELOP_LT,
    };
    if (in->op == SELOP_NONE || in->op >= ARRAY_LEN(ops))
        return kerr_set(err, -EINVAL, "operator: not a valid node selector operator");
    *r = (struct labelreq){
        .key = in->key, .values = in->values.items, .n = in->values.n, .op = ops[in->op]
    };
    return labelreq_init(r, "key", a, err);
}

static int field_from(const struct selreq *in, struct fieldreq *r, struct kerr *err)
{
    if (in->op != SELOP_IN && in->op != SELOP_NOT_IN)
        return kerr_set(err, -EINVAL, "operator: not a valid field selector operator");
    if (in->values.n != 1)
        return kerr_set(err, -EINVAL, "values: must have one element");
    *r = (struct fieldreq){ in->key, in->values.items[0], in->op == SELOP_IN };
    return 0;
}

static void compile_term(const struct node_selector_term *in, struct nodeterm *t, struct arena *a)
{
    struct kerr err = { 0 };

    t->exprs = arena_newn0(a, in->match_expressions.n, struct labelreq);
    t->fields = arena_newn0(a, in->match_fields.n, struct fieldreq);
    for (uint32_t i = 0; i < in->match_expressions.n && !t->wrong; i++)
        if (expr_from(&in->match_expressions.items[i], &t->exprs[t->nexprs++], a, &err) < 0)
            t->wrong = arena_printf(a, "matchExpressions[%u].%s", i, err.text);
    for (uint32_t i = 0; i < in->match_fields.n && !t->wrong; i++)
        if (field_from(&in->match_fields.items[i], &t->fields[t->nfields++], &err) < 0)
            t->wrong = arena_printf(a, "matchFields[%u].%s", i, err.text);
}

static struct nodesel *compile(const struct node_selector_term *terms, uint32_t n, struct arena *a)
{
    struct nodesel *s = arena_new0(a, struct nodesel);
    s->terms = arena_newn0(a, n, struct nodeterm);
    for (uint32_t i = 0; i < n; i++) /* an empty term selects no node: it is left out */
        if (terms[i].match_expressions.n || terms[i].match_fields.n)
            compile_term(&terms[i], &s->terms[s->n++], a);
    return s;
}

struct nodesel *nodesel_from(const struct node_selector *s, struct arena *a)
{
    return compile(s ? s->terms.items : NULL, s ? s->terms.n : 0, a);
}

struct nodesel *nodesel_from_term(const struct node_selector_term *t, struct arena *a)
{
    return compile(t, 1, a);
}

int nodesel_check(const struct nodesel *s, struct kerr *err)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->terms[i].wrong)
            return kerr_api(err, -EINVAL, KR_INVALID, "nodeSelectorTerms[%u].%s", i,
                            s->terms[i].wrong);
    return 0;
}

static bool term_matches(const struct nodeterm *t, const kstrmap *labels, const char *name)
{
    for (uint32_t i = 0; i < t->nexprs; i++)
        if (!labelreq_matches(&t->exprs[i], labels))
            return false;
    if (str_empty(name)) /* no fields to compare with: upstream passes */
        return true;
    for (uint32_t i = 0; i < t->nfields; i++) {
        /* Any other field reads as empty, so NotIn passes on it: upstream's behaviour. */
        const char *have = streq(t->fields[i].key, "metadata.name") ? name : "";
        if (streq(have, t->fields[i].value) != t->fields[i].equal)
            return false;
    }
    return true;
}

int nodesel_match(const struct nodesel *s, const kstrmap *labels, const char *node_name)
{
    bool wrong = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->terms[i].wrong)
            wrong = true;
        else if (term_matches(&s->terms[i], labels, node_name))
            return 1;
    }
    return wrong ? -EINVAL : 0;
}
