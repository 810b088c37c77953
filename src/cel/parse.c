/* parse.c - the tree of an expression. One function a level of the grammar. */
#include <math.h>

#include "base/num.h"
#include "cel/ast.h"
#include "cel/re_unicode.h"
#include "cel/syntax.h"

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

/* Nothing more is read; cel_syntax() finds the words. */
static struct cel_ast *syntax_error(struct cel_parser *p)
{
    p->failed = true;
    p->lex.p = p->lex.end;
    p->lex.tok = TOK_END;
    return nothing(p);
}

static bool expect(struct cel_parser *p, char c)
{
    if (accept(p, c))
        return true;
    (void)syntax_error(p);
    return false;
}

/* The levels of the grammar and of trees are bounded: recursion over both is safe. */
static bool too_deep(struct cel_parser *p, int count)
{
    if (count > CEL_DEPTH_MAX && !p->failed)
        (void)syntax_error(p);
    return p->failed;
}

struct cel_ast *cel_ast_raise(struct cel_ast *n, unsigned levels)
{
    unsigned most = n->target ? n->target->height : 0;

    for (uint32_t i = 0; i < n->n_args; i++)
        most = MAX(most, n->args[i] ? n->args[i]->height : 0U);
    n->height = (uint16_t)(most + levels);
    return n;
}

static struct cel_ast *raise(struct cel_parser *p, struct cel_ast *n, unsigned levels)
{
    (void)too_deep(p, cel_ast_raise(n, levels)->height);
    return n;
}

struct cel_ast *cel_ast_call(struct arena *a, const char *fn, uint32_t pos, struct cel_ast *x,
                             struct cel_ast *y)
{
    struct cel_ast *n = cel_ast_new(a, CA_CALL, pos);

    n->name = str_of(fn);
    n->n_args = y ? 2 : 1;
    n->args = arena_newn0(a, 2, struct cel_ast *);
    n->args[0] = x;
    n->args[1] = y;
    return n;
}

static struct cel_ast *binary(struct cel_parser *p, const char *fn, uint32_t pos, struct cel_ast *x,
                              struct cel_ast *y)
{
    return raise(p, cel_ast_call(p->a, fn, pos, x, y), 1);
}

void cel_ast_keep(struct arena *a, struct cel_ast *n, struct nodes *list)
{
    n->n_args = (uint32_t)list->n;
    n->args = arena_newn0(a, list->n + 1, struct cel_ast *);
    if (list->n)
        memcpy(n->args, list->items, list->n * sizeof *n->args);
    vec_fini(list);
}

static void keep(struct cel_parser *p, struct cel_ast *n, struct nodes *list)
{
    cel_ast_keep(p->a, n, list);
    (void)cel_ast_raise(n, 0);
}

struct cel_ast *cel_ast_called(struct cel_parser *p, struct cel_ast *call)
{
    (void)cel_ast_raise(call, call->target != NULL);
    struct cel_ast *n = cel_expand(p, call);
    n->height = call->height;
    return n;
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

static bool whole_number(struct str s, uint64_t *ret)
{
    if (s.n <= 2 || s.p[1] != 'x')
        return u64_parse(s.p, s.n, ret) == 0;
    CLEANUP(mem_free) char *text = xstrndup(s.p + 2, s.n - 2);
    errno = 0;
    *ret = strtoull(text, NULL, 16);
    return errno == 0;
}

struct cel_ast *cel_ast_number(struct cel_parser *p, enum cel_token tok, struct str s,
                               bool negative, uint32_t pos)
{
    struct cel_val v;
    uint64_t u = 0;
    bool ok;

    if (tok == TOK_DOUBLE) {
        CLEANUP(mem_free) char *text = xasprintf("%s%.*s", negative ? "-" : "", (int)s.n, s.p);
        v = cel_v_double(strtod(text, NULL));
        ok = isfinite(v.d);
    } else if (tok == TOK_UINT) {
        s.n--;
        ok = whole_number(s, &u);
        v = cel_v_uint(u);
    } else {
        ok = whole_number(s, &u) && u <= (uint64_t)INT64_MAX + negative;
        v = cel_v_int(negative ? (int64_t)(0 - u) : (int64_t)u);
    }
    if (!ok)
        cel_problem(p->problems, pos, "invalid %s literal",
                    tok == TOK_DOUBLE ? "double"
                    : tok == TOK_UINT ? "uint"
                                      : "int");
    return constant(p, v, pos);
}

static struct cel_ast *number(struct cel_parser *p, bool negative, uint32_t pos)
{
    struct cel_ast *n = cel_ast_number(p, p->lex.tok, p->lex.body, negative, pos);
    next(p);
    return n;
}

struct cel_ast *cel_ast_text(struct cel_parser *p, bool bytes, struct str s, uint32_t pos)
{
    struct cel_val v = { .kind = CK_STRING, .s = "" };
    const char *why = cel_lex_unquote(p->a, s, bytes, &v);

    if (why)
        cel_problem(p->problems, pos, "%s", why);
    return constant(p, v, pos);
}

static struct cel_ast *text(struct cel_parser *p)
{
    struct cel_ast *n = cel_ast_text(p, p->lex.tok == TOK_BYTES, p->lex.body, here(p));
    next(p);
    return n;
}

/* ---- names --------------------------------------------------------------------------------------- */

bool cel_name_is_reserved(struct str s)
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
        return syntax_error(p);
    next(p);
    return constant(p, str_eqz(s, "null") ? cel_v_null() : cel_v_bool(str_eqz(s, "true")), pos);
}

/* name(args), or what a macro makes of it; at the parenthesis. What a reserved name gets is not
 * judged. */
static struct cel_ast *called(struct cel_parser *p, struct cel_ast *target, struct str name,
                              bool reserved)
{
    struct cel_ast *n = cel_ast_new(p->a, CA_CALL, here(p));
    size_t problems = p->problems->list.n;

    n->name = name;
    n->target = target;
    next(p);
    parse_args(p, n);
    if (p->failed)
        return n;
    if (reserved) {
        cel_problems_cut(p->problems, problems);
        n->kind = CA_BROKEN;
        return cel_ast_raise(n, 0);
    }
    n = cel_ast_called(p, n);
    (void)too_deep(p, n->height);
    return n;
}

static struct cel_ast *name(struct cel_parser *p, bool dot, uint32_t pos)
{
    struct str s = p->lex.body;
    struct cel_ast *n;
    bool reserved = cel_name_is_reserved(s);
    uint32_t at = here(p);

    if (!dot && is_word(s))
        return word(p);
    if (is_word(s))
        return syntax_error(p);
    next(p);
    if (reserved)
        cel_problem(p->problems, pos, "reserved identifier: %.*s", (int)s.n, s.p);
    if (dot)
        s = str_of(arena_printf(p->a, ".%.*s", (int)s.n, s.p));
    if (at_sign(p, '('))
        return called(p, NULL, s, reserved);
    n = cel_ast_new(p->a, reserved ? CA_BROKEN : CA_IDENT, at);
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
    bool bare = accept(p, ','); /* the comma may trail nothing */
    while (!bare && !p->failed && !at_sign(p, ']')) {
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
    bool bare = accept(p, ','); /* the comma may trail nothing */
    while (!bare && !p->failed && !at_sign(p, '}')) {
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
    struct vec_of(uint32_t) colons = { 0 };

    (void)qualified(type, &full);
    n->name = (struct str){ arena_strndup(p->a, strbuf_str(&full), full.len), full.len };
    next(p);
    bool bare = accept(p, ','); /* the comma may trail nothing */
    while (!bare && !p->failed && !at_sign(p, '}')) {
        vec_push(&optional, accept(p, '?'));
        if (p->lex.tok != TOK_IDENT || is_word(p->lex.body)) {
            (void)syntax_error(p);
            break;
        }
        vec_push(&names, p->lex.body);
        next(p);
        vec_push(&colons, here(p));
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
    n->colons = arena_newn0(p->a, colons.n + 1, uint32_t);
    if (colons.n)
        memcpy(n->colons, colons.items, colons.n * sizeof *n->colons);
    vec_fini(&colons);
    keep(p, n, &items);
    keep_flags(p, n, &optional);
    return n;
}

/* ---- members ------------------------------------------------------------------------------------- */

static struct cel_ast *primary(struct cel_parser *p)
{
    struct cel_ast *n;
    uint32_t dot = here(p);

    switch (p->lex.tok) {
    case TOK_INT:
    case TOK_UINT:
    case TOK_DOUBLE: return number(p, false, here(p));
    case TOK_STRING:
    case TOK_BYTES: return text(p);
    case TOK_IDENT: return name(p, false, here(p));
    case TOK_SIGN: break;
    default: return syntax_error(p);
    }
    switch (p->lex.ch) {
    case '[': return list(p);
    case '{': return map(p);
    case '.': next(p); return p->lex.tok == TOK_IDENT ? name(p, true, dot) : syntax_error(p);
    case '(':
        next(p);
        n = parse_expr(p);
        (void)expect(p, ')');
        return n;
    default: return syntax_error(p);
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
        return syntax_error(p);
    next(p);
    if (optional)
        return binary(p, "_?._", pos, of, constant(p, cel_v_str(field.p, field.n), field_pos));
    if (at_sign(p, '('))
        return called(p, of, field, false);
    n = cel_ast_new(p->a, CA_SELECT, pos);
    n->name = field;
    n->target = of;
    return raise(p, n, 1);
}

static struct cel_ast *indexed(struct cel_parser *p, struct cel_ast *of)
{
    uint32_t pos = here(p);

    next(p);
    bool optional = accept(p, '?');
    struct cel_ast *by = parse_expr(p);
    (void)expect(p, ']');
    return binary(p, optional ? "_[?_]" : "_[_]", pos, of, by);
}

/* Behind a primary; plain: names and dots only, which may be the type of a message. */
static struct cel_ast *suffixes(struct cel_parser *p, struct cel_ast *n, bool plain,
                                size_t problems)
{
    while (!p->failed) {
        if (at_sign(p, '.')) {
            n = selection(p, n);
            plain = plain && n->kind == CA_SELECT;
        } else if (at_sign(p, '[')) {
            n = indexed(p, n);
            plain = false;
        } else if (at_sign(p, '{') && plain) {
            cel_problems_cut(p->problems, problems); /* types may have reserved names */
            n = message(p, n);
            plain = false;
        } else {
            break;
        }
    }
    return n;
}

static struct cel_ast *member(struct cel_parser *p)
{
    size_t problems = p->problems->list.n;
    bool plain = p->lex.tok == TOK_IDENT || at_sign(p, '.');
    struct cel_ast *n = primary(p);

    plain = plain && (n->kind == CA_IDENT || (n->kind == CA_BROKEN && n->name.n && !n->args));
    return suffixes(p, n, plain, problems);
}

static struct cel_ast *unary(struct cel_parser *p)
{
    char op = p->lex.tok == TOK_SIGN && (p->lex.ch == '!' || p->lex.ch == '-') ? p->lex.ch : 0;
    uint32_t pos = here(p);
    int count = 0;

    if (!op)
        return member(p);
    for (; at_sign(p, op); count++)
        next(p);
    if (op == '-' && count == 1 && (p->lex.tok == TOK_INT || p->lex.tok == TOK_DOUBLE))
        return suffixes(p, number(p, true, pos), false, 0);
    uint32_t minus = here(p);
    struct cel_ast *n;
    if (op == '!' && at_sign(p, '-')) { /* the sign of a literal */
        next(p);
        if (p->lex.tok != TOK_INT && p->lex.tok != TOK_DOUBLE)
            return syntax_error(p);
        n = suffixes(p, number(p, true, minus), false, 0);
    } else {
        n = member(p);
    }
    if (count % 2 == 0)
        return n;
    return cel_ast_raise(cel_ast_call(p->a, op == '!' ? "!_" : "-_", pos, n, NULL), 0);
}

/* ---- operators ----------------------------------------------------------------------------------- */

static struct cel_ast *product(struct cel_parser *p)
{
    struct cel_ast *n = unary(p);

    while (at_sign(p, '*') || at_sign(p, '/') || at_sign(p, '%')) {
        const char *fn = p->lex.ch == '*' ? "_*_" : p->lex.ch == '/' ? "_/_" : "_%_";
        uint32_t pos = here(p);
        if (too_deep(p, ++p->calcs))
            break;
        next(p);
        n = binary(p, fn, pos, n, unary(p));
        p->calcs--;
    }
    return n;
}

static struct cel_ast *sum(struct cel_parser *p)
{
    if (too_deep(p, ++p->calcs))
        return nothing(p);
    struct cel_ast *n = product(p);
    while (at_sign(p, '+') || at_sign(p, '-')) {
        const char *fn = p->lex.ch == '+' ? "_+_" : "_-_";
        uint32_t pos = here(p);
        if (too_deep(p, ++p->calcs))
            break;
        next(p);
        n = binary(p, fn, pos, n, product(p));
        p->calcs--;
    }
    p->calcs--;
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
    if (too_deep(p, ++p->relations))
        return nothing(p);
    struct cel_ast *n = sum(p);
    for (const char *fn; (fn = relation_at(p));) {
        uint32_t pos = here(p);
        if (too_deep(p, ++p->relations))
            break;
        next(p);
        n = binary(p, fn, pos, n, sum(p));
        p->relations--;
    }
    p->relations--;
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
    if (too_deep(p, ++p->depth))
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
        n = raise(p, c, 1);
    }
    p->depth--;
    return n;
}

/* The same text with U+FFFD for each byte that is no part of a sign, as upstream reads it. */
static struct str repair(struct arena *a, struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    unsigned len;

    for (size_t i = 0; i < s.n; i += len) {
        bool bad = re_rune(s.p + i, s.n - i, &len) == RE_RUNE_BAD && len == 1;
        strbuf_appendn(&b, bad ? "\xef\xbf\xbd" : s.p + i, bad ? 3 : len);
    }
    return (struct str){ arena_strndup(a, strbuf_str(&b), b.len), b.len };
}

static size_t count_runes(struct str s)
{
    size_t count = 0;
    unsigned len;

    for (size_t i = 0; i < s.n; i += len, count++)
        (void)re_rune(s.p + i, s.n - i, &len);
    return count;
}

struct cel_ast *cel_parse(struct arena *a, bool bind, struct cel_problems *problems)
{
    struct cel_parser p = { .a = a, .problems = problems, .bind = bind };
    bool clean = cel_is_utf8(problems->source);
    size_t runes = clean ? cel_runes(problems->source) : count_runes(problems->source);

    if (runes > CEL_LENGTH_MAX) {
        cel_problem(problems, CEL_NOWHERE,
                    "expression code point size exceeds limit: size: %zu, limit %d", runes,
                    CEL_LENGTH_MAX);
        return NULL;
    }
    if (!clean)
        problems->source = repair(a, problems->source);
    struct str s = problems->source;
    p.lex = (struct cel_lexer){ .text = s.p, .p = s.p, .end = s.p + s.n };
    next(&p);
    struct cel_ast *n = parse_expr(&p);
    if (!p.failed && p.lex.tok != TOK_END)
        (void)syntax_error(&p);
    if (p.failed) {
        cel_problems_cut(problems, 0);
        problems->left_out = 0;
        cel_syntax(a, bind, problems);
    }
    return problems->list.n ? NULL : n;
}
