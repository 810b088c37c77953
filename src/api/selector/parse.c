/* parse.c - label selectors from text: a scanner, and one function per rule of the grammar.
 *
 *   selector    = [ requirement { "," requirement } ]
 *   requirement = [ "!" ] KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ]
 *               | KEY ( "in" | "notin" ) "(" [ VALUE ] { "," [ VALUE ] } ")"
 *
 * "in" and "notin" are ordinary words where a key or a value stands. Messages are the API server's.
 */
#include "api/names.h"
#include "api/selector/selector_int.h"

enum tok {
    TOK_END,
    TOK_WORD,
    TOK_IN,
    TOK_NOT_IN,
    TOK_COMMA,
    TOK_NOT,
    TOK_EQ,
    TOK_EQ2,
    TOK_NE,
    TOK_GT,
    TOK_LT,
    TOK_OPEN,
    TOK_CLOSE
};

struct parser {
    const char *p, *end;
    enum tok tok;    /* the token at hand */
    struct str text; /* and its text */
    struct arena *arena;
    struct kerr *err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c && strchr("=!(),<>", c);
}

static size_t scan_symbol(struct parser *ps)
{
    const char *p = ps->p;
    bool then_eq = p + 1 < ps->end && p[1] == '=';
    switch (*p) {
    case '=': ps->tok = then_eq ? TOK_EQ2 : TOK_EQ; return then_eq ? 2 : 1;
    case '!': ps->tok = then_eq ? TOK_NE : TOK_NOT; return then_eq ? 2 : 1;
    case ',': ps->tok = TOK_COMMA; return 1;
    case '(': ps->tok = TOK_OPEN; return 1;
    case ')': ps->tok = TOK_CLOSE; return 1;
    case '>': ps->tok = TOK_GT; return 1;
    default: ps->tok = TOK_LT; return 1;
    }
}

static void next(struct parser *ps)
{
    while (ps->p < ps->end && is_blank(*ps->p))
        ps->p++;
    const char *start = ps->p;
    if (start == ps->end) {
        ps->tok = TOK_END;
    } else if (is_symbol(*start)) {
        ps->p += scan_symbol(ps);
    } else {
        while (ps->p < ps->end && !is_blank(*ps->p) && !is_symbol(*ps->p))
            ps->p++;
        struct str word = { start, (size_t)(ps->p - start) };
        ps->tok = str_eqz(word, "in") ? TOK_IN : str_eqz(word, "notin") ? TOK_NOT_IN : TOK_WORD;
    }
    ps->text = (struct str){ start, (size_t)(ps->p - start) };
}

static bool at_word(const struct parser *ps)
{
    return ps->tok == TOK_WORD || ps->tok == TOK_IN || ps->tok == TOK_NOT_IN;
}

static int fail(struct parser *ps, const char *expected)
{
    return kerr_api(ps->err, -EINVAL, KR_BAD_REQUEST, "found '%.*s', expected: %s",
                    (int)MIN(ps->text.n, (size_t)100), ps->text.p, expected);
}

static const char *take_word(struct parser *ps)
{
    const char *s = arena_strndup(ps->arena, ps->text.p, ps->text.n);
    next(ps);
    return s;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct values {
    const char **v;
    uint32_t n, cap;
};

static void add_value(struct parser *ps, struct values *vs, const char *value)
{
    for (uint32_t i = 0; i < vs->n; i++) /* a set */
        if (streq(vs->v[i], value))
            return;
    if (vs->n == vs->cap) {
        uint32_t cap = vs->cap ? vs->cap * 2 : 4;
        const char **v = arena_alloc(ps->arena, cap * sizeof *v, sizeof(char *));
        if (vs->n)
            memcpy(v, vs->v, vs->n * sizeof *v);
        vs->v = v;
        vs->cap = cap;
    }
    vs->v[vs->n++] = value;
}

/* After "(": words and commas up to ")". Nothing between two of these is the empty value. */
static int parse_list(struct parser *ps, struct values *vs)
{
    bool value_due = true; /* an empty value, unless a word comes */
    for (;;) {
        if (ps->tok == TOK_CLOSE) {
            if (value_due)
                add_value(ps, vs, "");
            next(ps);
            return 0;
        }
        if (ps->tok == TOK_COMMA) {
            if (value_due)
                add_value(ps, vs, "");
            value_due = true;
            next(ps);
        } else if (at_word(ps) && value_due) {
            add_value(ps, vs, take_word(ps));
            value_due = false;
        } else {
            return fail(ps, value_due ? "',', ')' or identifier" : "',' or ')'");
        }
    }
}

static int parse_values(struct parser *ps, struct values *vs)
{
    if (ps->tok != TOK_OPEN)
        return kerr_api(ps->err, -EINVAL, KR_BAD_REQUEST, "found '%.*s' expected: '('",
                        (int)MIN(ps->text.n, (size_t)100), ps->text.p);
    next(ps);
    return parse_list(ps, vs);
}

static int parse_exact_value(struct parser *ps, struct values *vs)
{
    if (ps->tok == TOK_END || ps->tok == TOK_COMMA)
        add_value(ps, vs, "");
    else if (at_word(ps))
        add_value(ps, vs, take_word(ps));
    else
        return fail(ps, "identifier");
    return 0;
}

/* ---- requirements ---------------------------------------------------------------------------- */

static int parse_operator(struct parser *ps, struct labelreq *r)
{
    switch (ps->tok) {
    case TOK_IN: r->op = LABELOP_IN; break;
    case TOK_NOT_IN: r->op = LABELOP_NOT_IN; break;
    case TOK_EQ: r->op = LABELOP_EQ; break;
    case TOK_EQ2: r->op = LABELOP_EQ2; break;
    case TOK_NE: r->op = LABELOP_NE; break;
    case TOK_GT: r->op = LABELOP_GT; break;
    case TOK_LT: r->op = LABELOP_LT; break;
    default: return fail(ps, "in, notin, =, ==, !=, gt, lt");
    }
    next(ps);
    return 0;
}

static int parse_requirement(struct parser *ps, struct labelreq *r)
{
    struct values vs = { 0 };
    bool negated = ps->tok == TOK_NOT;

    if (negated)
        next(ps);
    if (!at_word(ps))
        return fail(ps, "identifier");
    r->key = take_word(ps);
    if (negated) {
        r->op = LABELOP_NOT_EXISTS;
    } else if (ps->tok == TOK_END || ps->tok == TOK_COMMA) {
        r->op = LABELOP_EXISTS;
    } else {
        /* The key first, so that its complaint wins over one about the operator. */
        const char *why = name_check_label_key(str_of(r->key));
        if (why)
            return kerr_api(ps->err, -EINVAL, KR_BAD_REQUEST, "<nil>: Invalid value: \"%s\": %s",
                            r->key, why);
        int code = parse_operator(ps, r);
        if (code == 0)
            code = r->op == LABELOP_IN || r->op == LABELOP_NOT_IN ? parse_values(ps, &vs)
                                                                  : parse_exact_value(ps, &vs);
        if (code < 0)
            return code;
    }
    r->values = vs.v;
    r->n = vs.n;
    return labelreq_init(r, "<nil>", ps->arena, ps->err);
}

int labelsel_parse(const char *text, size_t n, struct arena *a, struct labelsel **ret,
                   struct kerr *err)
{
    struct kerr ignored;
    struct parser ps = { .p = text, .end = text + n, .arena = a, .err = err ? err : &ignored };
    uint32_t max = 1;

    if (n && memchr(text, '\0', n))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "a selector cannot contain a NUL byte");
    for (size_t i = 0; i < n; i++)
        max += text[i] == ',';
    struct labelsel *s = arena_new0(a, struct labelsel);
    s->reqs = arena_newn0(a, max, struct labelreq);
    next(&ps);
    while (ps.tok != TOK_END) {
        if (!at_word(&ps) && ps.tok != TOK_NOT)
            return fail(&ps, s->n ? "identifier after ','" : "!, identifier, or 'end of string'");
        if (parse_requirement(&ps, &s->reqs[s->n++]) < 0) {
            ps.err->reason = KR_BAD_REQUEST;
            return kerr_wrap(ps.err, "unable to parse requirement");
        }
        if (ps.tok == TOK_END)
            break;
        if (ps.tok != TOK_COMMA)
            return fail(&ps, "',' or 'end of string'");
        next(&ps);
        if (ps.tok == TOK_END)
            return fail(&ps, "identifier after ','");
    }
    labelreq_sort(s->reqs, s->n);
    *ret = s;
    return 0;
}
