/* parse.c - the tree of an expression. One function a level of the grammar. */
#include <math.h>

#include "base/num.h"
#include "cel/ast.h"

static struct cel_ast *parse_expr(struct cel_parser *p);

struct cel_ast *cel_ast_new(struct arena *a, enum cel_ast_kind kind, uint32_t pos)
{
    struct cel_ast *n = arena_new0(a, struct cel_ast);
    n->kind = (uint8_t)kind;
    n->pos = pos;
    return n;
}

static uint32_t here(const struct cel_parser *p)
{
    return (uint32_t)(p->lex.body.p - p->lex.text);
}

static void next(struct cel_parser *p)
{
    cel_lex_next(&p->lex);
}

static bool at_sign(const struct cel_parser *p, char c)
{
    return p->lex.tok == TOK_SIGN && p->lex.ch == c;
}

static bool accept(struct cel_parser *p, char c)
{
    if (!at_sign(p, c))
        return false;
    next(p);
    return true;
}

static struct cel_ast *nothing(struct cel_parser *p)
{
    return cel_ast_new(p->a, CA_CONST, here(p));
}

static struct cel_ast *syntax_error(struct cel_parser *p, const char *expected)
{
    if (p->failed)
        return nothing(p);
    p->failed = true;
    if (p->lex.tok == TOK_BAD)
        cel_problem(p->problems, here(p), "Syntax error: token recognition error at: '%.*s'",
                    (int)MIN(p->lex.body.n, (size_t)60), p->lex.body.p);
    else
        cel_problem(p->problems, here(p), "Syntax error: mismatched input '%.*s' expecting %s",
                    (int)(p->lex.tok == TOK_END ? 5 : MIN(p->lex.body.n, (size_t)60)),
                    p->lex.tok == TOK_END ? "<EOF>" : p->lex.body.p, expected);
    p->lex.p = p->lex.end;
    p->lex.tok = TOK_END;
    return nothing(p);
}

static bool expect(struct cel_parser *p, char c)
{
    char what[4] = { '\'', c, '\'', '\0' };

    if (accept(p, c))
        return true;
    (void)syntax_error(p, what);
    return false;
}

/* The levels of the grammar and of operators in a row are bounded: recursion over trees is safe. */
static bool too_deep(struct cel_parser *p, int count, const char *why)
{
    if (count <= CEL_DEPTH_MAX || p->failed)
        return p->failed;
    p->failed = true;
    cel_problem(p->problems, CEL_NOWHERE, "%s", why);
    p->lex.p = p->lex.end;
    p->lex.tok = TOK_END;
    return true;
}

static bool too_many(struct cel_parser *p, int count)
{
    return too_deep(p, count, "max recursion depth exceeded");
}

static struct cel_ast *call(struct cel_parser *p, const char *fn, uint32_t pos, struct cel_ast *x,
                            struct cel_ast *y)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_CALL, pos);

    n->name = str_of(fn);
    n->n_args = y ? 2 : 1;
    n->args = arena_newn0(p->a, 2, struct cel_ast *);
    n->args[0] = x;
    n->args[1] = y;
    return n;
}

struct nodes vec_of(struct cel_ast *);

static void keep(struct cel_parser *p, struct cel_ast *n, struct nodes *list)
{
    n->n_args = (uint32_t)list->n;
    n->args = arena_newn0(p->a, list->n + 1, struct cel_ast *);
    if (list->n)
        memcpy(n->args, list->items, list->n * sizeof *n->args);
    vec_fini(list);
}

/* expr, expr ... ")" */
static void parse_args(struct cel_parser *p, struct cel_ast *n)
{
    struct nodes list = { 0 };

    if (!at_sign(p, ')')) {
        do {
            vec_push(&list, parse_expr(p));
        } while (!p->failed && accept(p, ','));
    }
    (void)expect(p, ')');
    keep(p, n, &list);
}

/* ---- literals ------------------------------------------------------------------------------------ */

static struct cel_ast *constant(struct cel_parser *p, struct cel_val v, uint32_t pos)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_CONST, pos);
    n->value = v;
    return n;
}

static struct cel_ast *number(struct cel_parser *p, bool negative, uint32_t pos)
{
    struct str s = p->lex.body;
    enum cel_token tok = p->lex.tok;
    struct cel_val v = { 0 };
    uint64_t u = 0;
    bool ok;

    next(p);
    if (tok == TOK_DOUBLE) {
        CLEANUP(mem_free) char *text = xasprintf("%s%.*s", negative ? "-" : "", (int)s.n, s.p);
        v = cel_v_double(strtod(text, NULL));
        ok = isfinite(v.d);
    } else {
        s.n -= tok == TOK_UINT;
        if (s.n > 2 && s.p[1] == 'x') {
            CLEANUP(mem_free) char *text = xstrndup(s.p + 2, s.n - 2);
            errno = 0;
            u = strtoull(text, NULL, 16);
            ok = errno == 0;
        } else {
            ok = u64_parse(s.p, s.n, &u) == 0;
        }
        if (tok == TOK_UINT) {
            v = cel_v_uint(u);
            ok = ok && !negative;
        } else {
            ok = ok && u <= (uint64_t)INT64_MAX + negative;
            v = cel_v_int(negative ? (int64_t)(0 - u) : (int64_t)u);
        }
    }
    if (!ok)
        cel_problem(p->problems, pos, "invalid %s literal",
                    tok == TOK_DOUBLE ? "double"
                    : tok == TOK_UINT ? "uint"
                                      : "int");
    return constant(p, v, pos);
}

static struct cel_ast *text(struct cel_parser *p)
{
    uint32_t pos = here(p);
    struct cel_val v = { .kind = CK_STRING, .s = "" };
    const char *why = cel_lex_unquote(p->a, p->lex.body, p->lex.tok == TOK_BYTES, &v);

    if (why)
        cel_problem(p->problems, pos, "%s", why);
    next(p);
    return constant(p, v, pos);
}

/* ---- names --------------------------------------------------------------------------------------- */

static bool is_reserved(struct str s)
{
    static const char *const words[] = { "as",   "break",    "const",     "continue", "else",
                                         "for",  "function", "if",        "import",   "let",
                                         "loop", "package",  "namespace", "return",   "var",
                                         "void", "while" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eqz(s, words[i]))
            return true;
    }
    return false;
}

static bool is_word(struct str s)
{
    return str_eqz(s, "true") || str_eqz(s, "false") || str_eqz(s, "null") || str_eqz(s, "in");
}

static struct cel_ast *word(struct cel_parser *p)
{
    struct str s = p->lex.body;
    uint32_t pos = here(p);

    if (str_eqz(s, "in"))
        return syntax_error(p, "an expression");
    next(p);
    return constant(p, str_eqz(s, "null") ? cel_v_null() : cel_v_bool(str_eqz(s, "true")), pos);
}

static struct cel_ast *name(struct cel_parser *p, bool dot)
{
    struct str s = p->lex.body;
    uint32_t pos = here(p);
    struct cel_ast *n;

    if (!dot && is_word(s))
        return word(p);
    if (is_word(s))
        return syntax_error(p, "IDENTIFIER");
    next(p);
    if (is_reserved(s))
        cel_problem(p->problems, pos, "reserved identifier: %.*s", (int)s.n, s.p);
    if (dot)
        s = str_of(arena_printf(p->a, ".%.*s", (int)s.n, s.p));
    if (at_sign(p, '(')) {
        n = cel_ast_new(p->a, CA_CALL, here(p));
        n->name = s;
        next(p);
        parse_args(p, n);
        return p->failed ? n : cel_expand(p, n);
    }
    n = cel_ast_new(p->a, CA_IDENT, pos);
    n->name = s;
    return n;
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

struct flags vec_of(bool);

static void keep_flags(struct cel_parser *p, struct cel_ast *n, struct flags *f)
{
    bool any = false;

    vec_foreach(f, i)
        any |= f->items[i];
    if (any) {
        n->optional = arena_newn0(p->a, f->n, bool);
        memcpy(n->optional, f->items, f->n * sizeof *f->items);
    }
    vec_fini(f);
}

static struct cel_ast *list(struct cel_parser *p)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_LIST, here(p));
    struct nodes items = { 0 };
    struct flags optional = { 0 };

    next(p);
    while (!p->failed && !at_sign(p, ']')) {
        vec_push(&optional, accept(p, '?'));
        vec_push(&items, parse_expr(p));
        if (!accept(p, ','))
            break;
    }
    (void)expect(p, ']');
    keep(p, n, &items);
    keep_flags(p, n, &optional);
    return n;
}

static struct cel_ast *map(struct cel_parser *p)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_MAP, here(p));
    struct nodes items = { 0 };
    struct flags optional = { 0 };

    next(p);
    while (!p->failed && !at_sign(p, '}')) {
        vec_push(&optional, accept(p, '?'));
        vec_push(&items, parse_expr(p));
        if (!expect(p, ':'))
            break;
        vec_push(&items, parse_expr(p));
        if (!accept(p, ','))
            break;
    }
    (void)expect(p, '}');
    keep(p, n, &items);
    keep_flags(p, n, &optional);
    return n;
}

/* a.b.C as one name; false: it is more than names. */
static bool qualified(const struct cel_ast *n, struct strbuf *out)
{
    if (n->kind == CA_SELECT && !n->test_only) {
        if (!qualified(n->target, out))
            return false;
        strbuf_appendf(out, ".%.*s", (int)n->name.n, n->name.p);
        return true;
    }
    if (n->kind != CA_IDENT)
        return false;
    strbuf_appendn(out, n->name.p, n->name.n);
    return true;
}

/* Name{field: value}; at the brace. */
static struct cel_ast *message(struct cel_parser *p, const struct cel_ast *type)
{
    CLEANUP(strbuf_fini) struct strbuf full = STRBUF_INIT;
    struct cel_ast *n = cel_ast_new(p->a, CA_STRUCT, here(p));
    struct nodes items = { 0 };
    struct flags optional = { 0 };
    struct vec_of(struct str) names = { 0 };

    (void)qualified(type, &full);
    n->name = (struct str){ arena_strndup(p->a, strbuf_str(&full), full.len), full.len };
    next(p);
    while (!p->failed && !at_sign(p, '}')) {
        vec_push(&optional, accept(p, '?'));
        if (p->lex.tok != TOK_IDENT) {
            (void)syntax_error(p, "IDENTIFIER");
            break;
        }
        vec_push(&names, p->lex.body);
        next(p);
        if (!expect(p, ':'))
            break;
        vec_push(&items, parse_expr(p));
        if (!accept(p, ','))
            break;
    }
    (void)expect(p, '}');
    n->names = arena_newn0(p->a, names.n + 1, struct str);
    if (names.n)
        memcpy(n->names, names.items, names.n * sizeof *n->names);
    vec_fini(&names);
    keep(p, n, &items);
    keep_flags(p, n, &optional);
    return n;
}

/* ---- members ------------------------------------------------------------------------------------- */

static struct cel_ast *primary(struct cel_parser *p)
{
    struct cel_ast *n;

    switch (p->lex.tok) {
    case TOK_INT:
    case TOK_UINT:
    case TOK_DOUBLE: return number(p, false, here(p));
    case TOK_STRING:
    case TOK_BYTES: return text(p);
    case TOK_IDENT: return name(p, false);
    case TOK_SIGN: break;
    default: return syntax_error(p, "an expression");
    }
    switch (p->lex.ch) {
    case '[': return list(p);
    case '{': return map(p);
    case '.':
        next(p);
        return p->lex.tok == TOK_IDENT ? name(p, true) : syntax_error(p, "IDENTIFIER");
    case '(':
        next(p);
        n = parse_expr(p);
        (void)expect(p, ')');
        return n;
    default: return syntax_error(p, "an expression");
    }
}

static struct cel_ast *selection(struct cel_parser *p, struct cel_ast *of)
{
    uint32_t pos = here(p);
    struct cel_ast *n;

    next(p);
    bool optional = accept(p, '?');
    struct str field = p->lex.body;
    uint32_t field_pos = here(p);
    if (p->lex.tok != TOK_IDENT || is_word(field))
        return syntax_error(p, "IDENTIFIER");
    next(p);
    if (optional)
        return call(p, "_?._", pos, of, constant(p, cel_v_str(field.p, field.n), field_pos));
    if (at_sign(p, '(')) {
        n = cel_ast_new(p->a, CA_CALL, here(p));
        n->name = field;
        n->target = of;
        next(p);
        parse_args(p, n);
        return p->failed ? n : cel_expand(p, n);
    }
    n = cel_ast_new(p->a, CA_SELECT, pos);
    n->name = field;
    n->target = of;
    return n;
}

static struct cel_ast *indexed(struct cel_parser *p, struct cel_ast *of)
{
    uint32_t pos = here(p);

    next(p);
    bool optional = accept(p, '?');
    struct cel_ast *by = parse_expr(p);
    (void)expect(p, ']');
    return call(p, optional ? "_[?_]" : "_[_]", pos, of, by);
}

static struct cel_ast *member(struct cel_parser *p, struct cel_ast *n)
{
    CLEANUP(strbuf_fini) struct strbuf scratch = STRBUF_INIT;

    for (int count = 2; !p->failed; count++) {
        if ((at_sign(p, '.') || at_sign(p, '[')) && too_many(p, count))
            break;
        if (at_sign(p, '.'))
            n = selection(p, n);
        else if (at_sign(p, '['))
            n = indexed(p, n);
        else if (at_sign(p, '{') && qualified(n, &scratch))
            return message(p, n);
        else
            break;
    }
    return n;
}

static struct cel_ast *unary(struct cel_parser *p)
{
    char op = p->lex.tok == TOK_SIGN && (p->lex.ch == '!' || p->lex.ch == '-') ? p->lex.ch : 0;
    uint32_t pos = here(p);
    int count = 0;

    if (!op)
        return member(p, primary(p));
    for (; at_sign(p, op); count++)
        next(p);
    if (op == '-' && count == 1 && (p->lex.tok == TOK_INT || p->lex.tok == TOK_DOUBLE))
        return member(p, number(p, true, pos));
    struct cel_ast *n = member(p, primary(p));
    return count % 2 ? call(p, op == '!' ? "!_" : "-_", pos, n, NULL) : n;
}

/* ---- operators ----------------------------------------------------------------------------------- */

static struct cel_ast *product(struct cel_parser *p, int *count)
{
    struct cel_ast *n = unary(p);

    while (at_sign(p, '*') || at_sign(p, '/') || at_sign(p, '%')) {
        const char *fn = p->lex.ch == '*' ? "_*_" : p->lex.ch == '/' ? "_/_" : "_%_";
        uint32_t pos = here(p);
        if (too_many(p, ++*count))
            break;
        next(p);
        n = call(p, fn, pos, n, unary(p));
    }
    return n;
}

static struct cel_ast *sum(struct cel_parser *p)
{
    int count = 1;
    struct cel_ast *n = product(p, &count);

    while (at_sign(p, '+') || at_sign(p, '-')) {
        const char *fn = p->lex.ch == '+' ? "_+_" : "_-_";
        uint32_t pos = here(p);
        if (too_many(p, ++count))
            break;
        next(p);
        n = call(p, fn, pos, n, product(p, &count));
    }
    return n;
}

static const char *relation_at(const struct cel_parser *p)
{
    switch (p->lex.tok) {
    case TOK_EQ: return "_==_";
    case TOK_NE: return "_!=_";
    case TOK_LE: return "_<=_";
    case TOK_GE: return "_>=_";
    case TOK_SIGN: return p->lex.ch == '<' ? "_<_" : p->lex.ch == '>' ? "_>_" : NULL;
    case TOK_IDENT: return str_eqz(p->lex.body, "in") ? "@in" : NULL;
    default: return NULL;
    }
}

static struct cel_ast *relation(struct cel_parser *p)
{
    struct cel_ast *n = sum(p);
    const char *fn;

    for (int count = 2; (fn = relation_at(p)); count++) {
        uint32_t pos = here(p);
        if (too_many(p, count))
            break;
        next(p);
        n = call(p, fn, pos, n, sum(p));
    }
    return n;
}

/* a && b && c is one node: such rows may be long. */
static struct cel_ast *row(struct cel_parser *p, enum cel_token tok, const char *fn,
                           struct cel_ast *(*part)(struct cel_parser *))
{
    struct cel_ast *first = part(p), *n;
    struct nodes items = { 0 };

    if (p->lex.tok != tok)
        return first;
    n = cel_ast_new(p->a, CA_CALL, here(p));
    n->name = str_of(fn);
    vec_push(&items, first);
    while (p->lex.tok == tok) {
        next(p);
        vec_push(&items, part(p));
    }
    keep(p, n, &items);
    return n;
}

static struct cel_ast *conjunction(struct cel_parser *p)
{
    return row(p, TOK_AND, "_&&_", relation);
}

static struct cel_ast *disjunction(struct cel_parser *p)
{
    return row(p, TOK_OR, "_||_", conjunction);
}

static struct cel_ast *parse_expr(struct cel_parser *p)
{
    if (too_deep(p, ++p->depth, "expression recursion limit exceeded: 250"))
        return nothing(p);
    struct cel_ast *n = disjunction(p);
    if (at_sign(p, '?')) {
        struct cel_ast *c = cel_ast_new(p->a, CA_CALL, here(p));
        c->name = STR("_?_:_");
        c->n_args = 3;
        c->args = arena_newn0(p->a, 3, struct cel_ast *);
        c->args[0] = n;
        next(p);
        c->args[1] = disjunction(p);
        (void)expect(p, ':');
        c->args[2] = parse_expr(p);
        n = c;
    }
    p->depth--;
    return n;
}

struct cel_ast *cel_parse(struct arena *a, struct str source, bool bind,
                          struct cel_problems *problems)
{
    struct cel_parser p = { .a = a, .problems = problems, .bind = bind };
    size_t runes = cel_runes(source);

    if (runes > CEL_LENGTH_MAX) {
        cel_problem(problems, CEL_NOWHERE,
                    "expression code point size exceeds limit: size: %zu, limit %d", runes,
                    CEL_LENGTH_MAX);
        return NULL;
    }
    p.lex = (struct cel_lexer){ .text = source.p, .p = source.p, .end = source.p + source.n };
    next(&p);
    struct cel_ast *n = parse_expr(&p);
    if (!p.failed && p.lex.tok != TOK_END)
        (void)syntax_error(&p, "<EOF>");
    return problems->list.n ? NULL : n;
}
