/* syntax.c - the rules of the grammar for texts that break them. One function a rule.
 *
 * A rule returns what it could read as a tree, CA_BROKEN where there is nothing, for macros want to
 * know what their arguments are. When one ends in a fault, rule_run() reports it and skips to what
 * the rules above wait for.
 */
#include "cel/syntax.h"

typedef struct cel_ast *(*rule_fn)(struct syntax *s, int arg);

static struct cel_ast *expr(struct syntax *s, int arg);

static struct cel_ast *broken(struct syntax *s, uint32_t pos)
{
    return cel_ast_new(s->tree.a, CA_BROKEN, pos);
}

static uint32_t pos_of(const struct syntax *s, struct syntax_token t)
{
    return (uint32_t)(t.text.p - s->lex.text);
}

static uint32_t here(struct syntax *s)
{
    return pos_of(s, *syntax_at(s, s->at));
}

static bool at(struct syntax *s, enum syntax_type type)
{
    return syntax_ahead(s, 0) == type;
}

static bool match(struct syntax *s, enum syntax_place place, enum syntax_type type)
{
    return syntax_match(s, place, type, NULL);
}

static struct cel_ast *rule_run(struct syntax *s, enum syntax_rule rule, enum syntax_place from,
                                rule_fn fn, int arg)
{
    struct syntax_frame frame = { from, s->frame };

    (void)syntax_at(s, s->at);
    if (!s->stopped && ++s->depth[rule] > CEL_DEPTH_MAX)
        syntax_stop(s, "expression recursion limit exceeded: 250");
    if (s->stopped)
        return broken(s, CEL_UNPLACED);
    s->frame = &frame;
    struct cel_ast *n = fn(s, arg);
    if (s->fault && !s->stopped)
        syntax_recover(s);
    s->fault = FAULT_NONE;
    s->frame = frame.up;
    s->depth[rule] -= s->depth[rule] > 0;
    return n;
}

/* A tree that is too high is not judged. */
static struct cel_ast *raise(struct syntax *s, struct cel_ast *n, unsigned levels)
{
    if (cel_ast_raise(n, levels)->height <= CEL_DEPTH_MAX)
        return n;
    n->height = CEL_DEPTH_MAX + 1; /* and no higher: this is told once */
    s->too_high = true;
    return n;
}

static bool is_number(enum syntax_type t)
{
    return t == T_INT || t == T_FLOAT;
}

/* ---- literals and names -------------------------------------------------------------------------- */

static struct cel_ast *number(struct syntax *s)
{
    bool negative = at(s, T_MINUS);
    uint32_t pos = here(s);

    if (negative && !is_number(syntax_ahead(s, 1))) {
        syntax_no_alternative(s, s->at + 1);
        return broken(s, CEL_UNPLACED);
    }
    if (negative)
        (void)syntax_take(s);
    struct syntax_token t = syntax_take(s);
    return cel_ast_number(&s->tree, t.lexed, t.text, negative, pos);
}

static struct cel_ast *literal(struct syntax *s, int arg)
{
    uint32_t pos = here(s);

    (void)arg;
    if (!syntax_sync(s, P_LITERAL))
        return broken(s, CEL_UNPLACED);
    switch (syntax_ahead(s, 0)) {
    case T_MINUS:
    case T_INT:
    case T_FLOAT: return number(s);
    case T_UINT: {
        struct syntax_token t = syntax_take(s);
        return cel_ast_number(&s->tree, TOK_UINT, t.text, false, pos);
    }
    case T_STRING:
    case T_BYTES: {
        struct syntax_token t = syntax_take(s);
        return cel_ast_text(&s->tree, t.type == T_BYTES, t.text, pos);
    }
    case T_TRUE:
    case T_FALSE:
    case T_NULL: (void)syntax_take(s); return cel_ast_new(s->tree.a, CA_CONST, pos);
    default: syntax_no_alternative(s, s->at); return broken(s, CEL_UNPLACED);
    }
}

/* The name of a field: its text is in name. Names in backquotes are known to be wrong. */
static struct cel_ast *field_name(struct syntax *s, int arg)
{
    struct cel_ast *n = broken(s, here(s));
    struct syntax_token t;
    bool escaped = at(s, T_ESCAPED);

    (void)arg;
    n->value = cel_v_str("unsupported ident kind", 22);
    if (!syntax_sync(s, P_NAME))
        return n;
    escaped = at(s, T_ESCAPED);
    if (!escaped && !at(s, T_IDENT)) {
        syntax_no_alternative(s, s->at);
        return n;
    }
    if (!syntax_match(s, escaped ? P_NAME_ESCAPED : P_NAME_PLAIN, escaped ? T_ESCAPED : T_IDENT,
                      &t))
        return n;
    if (escaped) {
        n->value = cel_v_str("unsupported syntax: '`'", 23);
    } else {
        n->kind = CA_IDENT;
        n->name = t.text;
    }
    return n;
}

static void judge_name(struct syntax *s, const struct cel_ast *name, uint32_t pos)
{
    if (name->kind == CA_BROKEN)
        cel_problem(s->tree.problems, pos, "%.*s", (int)name->value.n, name->value.s);
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* The tokens of lists are judged two at a time: behind a comma there may be an end. */
static bool one_more(struct syntax *s, type_set start)
{
    return at(s, T_COMMA) && (start & TYPE(syntax_ahead(s, 1)));
}

static struct cel_ast *args(struct syntax *s, int arg)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_LIST, here(s));
    struct nodes list = { 0 };

    (void)arg;
    vec_push(&list, rule_run(s, R_EXPR, P_ARGS_FIRST, expr, 0));
    while (!s->stopped && at(s, T_COMMA) && match(s, P_ARGS_COMMA, T_COMMA))
        vec_push(&list, rule_run(s, R_EXPR, P_ARGS_NEXT, expr, 0));
    cel_ast_keep(s->tree.a, n, &list);
    return n;
}

static struct cel_ast *element(struct syntax *s, int arg)
{
    (void)arg;
    if (!syntax_sync(s, P_ELEMENT_OPTIONAL))
        return broken(s, CEL_UNPLACED);
    if (at(s, T_QUESTION))
        (void)match(s, P_ELEMENT_QUESTION, T_QUESTION);
    return rule_run(s, R_EXPR, P_ELEMENT_EXPR, expr, 0);
}

static struct cel_ast *elements(struct syntax *s, int arg)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_LIST, here(s));
    struct nodes list = { 0 };

    (void)arg;
    vec_push(&list, rule_run(s, R_ELEMENT, P_ELEMENTS_FIRST, element, 0));
    while (!s->stopped && one_more(s, SYNTAX_ELEMENT) && match(s, P_ELEMENTS_COMMA, T_COMMA))
        vec_push(&list, rule_run(s, R_ELEMENT, P_ELEMENTS_NEXT, element, 0));
    cel_ast_keep(s->tree.a, n, &list);
    return n;
}

/* key : value, where a key without a colon is not judged. */
static bool entry(struct syntax *s, struct nodes *list, bool next)
{
    size_t problems = s->tree.problems->list.n;
    bool high = s->too_high;

    vec_push(list, rule_run(s, R_ELEMENT, next ? P_ENTRIES_NEXT_KEY : P_ENTRIES_KEY, element, 0));
    if (!match(s, next ? P_ENTRIES_NEXT_COLON : P_ENTRIES_COLON, T_COLON)) {
        cel_problems_cut(s->tree.problems, problems);
        s->too_high = high;
        list->n--;
        return false;
    }
    vec_push(list, rule_run(s, R_EXPR, next ? P_ENTRIES_NEXT_VALUE : P_ENTRIES_VALUE, expr, 0));
    return !s->stopped;
}

static struct cel_ast *entries(struct syntax *s, int arg)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_MAP, here(s));
    struct nodes list = { 0 };
    bool ok = entry(s, &list, false);

    (void)arg;
    while (ok && one_more(s, SYNTAX_ELEMENT) && match(s, P_ENTRIES_COMMA, T_COMMA))
        ok = entry(s, &list, true);
    cel_ast_keep(s->tree.a, n, &list);
    return n;
}

static struct cel_ast *field(struct syntax *s, int arg)
{
    struct cel_ast *none = broken(s, CEL_UNPLACED);

    (void)arg;
    none->value = cel_v_str("unsupported ident kind", 22);
    if (!syntax_sync(s, P_FIELD_OPTIONAL))
        return none;
    if (at(s, T_QUESTION))
        (void)match(s, P_FIELD_QUESTION, T_QUESTION);
    return rule_run(s, R_FIELD_NAME, P_FIELD_NAME, field_name, 0);
}

/* What the value has wrong is not judged when the name is wrong. */
static bool one_field(struct syntax *s, struct nodes *list, uint32_t pos, bool next)
{
    struct cel_ast *name =
        rule_run(s, R_FIELD, next ? P_FIELDS_NEXT_NAME : P_FIELDS_NAME, field, 0);

    if (!match(s, next ? P_FIELDS_NEXT_COLON : P_FIELDS_COLON, T_COLON))
        return false;
    judge_name(s, name, pos);
    size_t problems = s->tree.problems->list.n;
    vec_push(list, rule_run(s, R_EXPR, next ? P_FIELDS_NEXT_VALUE : P_FIELDS_VALUE, expr, 0));
    if (name->kind == CA_BROKEN)
        cel_problems_cut(s->tree.problems, problems);
    return !s->stopped;
}

static struct cel_ast *fields(struct syntax *s, int arg)
{
    uint32_t pos = here(s);
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_STRUCT, pos);
    struct nodes list = { 0 };
    bool ok = one_field(s, &list, pos, false);

    (void)arg;
    while (ok && one_more(s, SYNTAX_FIELD) && match(s, P_FIELDS_COMMA, T_COMMA))
        ok = one_field(s, &list, pos, true);
    cel_ast_keep(s->tree.a, n, &list);
    return n;
}

/* What lists, maps and messages have in common: what is in them, a comma perhaps, and the end. */
struct brackets {
    enum syntax_place optional, inner, trailing, comma, close;
    enum syntax_type end;
    enum syntax_rule rule;
    type_set start;
    rule_fn fn;
};

static struct cel_ast *bracketed(struct syntax *s, const struct brackets *b, struct cel_ast *n)
{
    if (!syntax_sync(s, b->optional))
        return n;
    if (b->start & TYPE(syntax_ahead(s, 0))) {
        struct cel_ast *in = rule_run(s, b->rule, b->inner, b->fn, 0);
        n->args = in->args;
        n->n_args = in->n_args;
        (void)cel_ast_raise(n, 0);
    }
    if (s->stopped || !syntax_sync(s, b->trailing) ||
        (at(s, T_COMMA) && !match(s, b->comma, T_COMMA)))
        return n;
    (void)match(s, b->close, b->end);
    return n;
}

static struct cel_ast *list(struct syntax *s)
{
    static const struct brackets b = { P_LIST_OPTIONAL, P_LIST_ELEMENTS, P_LIST_TRAILING,
                                       P_LIST_COMMA,    P_LIST_CLOSE,    T_RBRACKET,
                                       R_LIST,          SYNTAX_ELEMENT,  elements };
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_LIST, here(s));

    return match(s, P_LIST_OPEN, T_LBRACKET) ? bracketed(s, &b, n) : n;
}

static struct cel_ast *map(struct syntax *s)
{
    static const struct brackets b = { P_MAP_OPTIONAL, P_MAP_ENTRIES,  P_MAP_TRAILING,
                                       P_MAP_COMMA,    P_MAP_CLOSE,    T_RBRACE,
                                       R_ENTRIES,      SYNTAX_ELEMENT, entries };
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_MAP, here(s));

    return match(s, P_MAP_OPEN, T_LBRACE) ? bracketed(s, &b, n) : n;
}

static struct cel_ast *message(struct syntax *s)
{
    static const struct brackets b = { P_MESSAGE_FIELDS_OPTIONAL,
                                       P_MESSAGE_FIELDS,
                                       P_MESSAGE_TRAILING,
                                       P_MESSAGE_COMMA,
                                       P_MESSAGE_CLOSE,
                                       T_RBRACE,
                                       R_FIELDS,
                                       SYNTAX_FIELD,
                                       fields };
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_STRUCT, here(s));

    if (at(s, T_DOT) && !match(s, P_MESSAGE_DOT, T_DOT))
        return n;
    if (!match(s, P_MESSAGE_NAME, T_IDENT))
        return n;
    while (at(s, T_DOT)) {
        if (!match(s, P_MESSAGE_NEXT_DOT, T_DOT) || !match(s, P_MESSAGE_NEXT_NAME, T_IDENT))
            return n;
    }
    n->pos = here(s);
    return match(s, P_MESSAGE_OPEN, T_LBRACE) ? bracketed(s, &b, n) : n;
}

/* ---- members ------------------------------------------------------------------------------------- */

/* ( args ) as the args of n, with the macro it may be. */
static struct cel_ast *call(struct syntax *s, struct cel_ast *n, bool member)
{
    size_t problems = s->tree.problems->list.n;

    n->pos = here(s);
    if (!match(s, member ? P_CALL_OPEN : P_GLOBAL_OPEN, T_LPAREN))
        return broken(s, n->pos);
    bool ok = syntax_sync(s, member ? P_CALL_ARGUMENTS : P_GLOBAL_ARGUMENTS);
    if (ok && (SYNTAX_EXPR & TYPE(syntax_ahead(s, 0)))) {
        struct cel_ast *in = rule_run(s, R_ARGS, member ? P_CALL_ARGS : P_GLOBAL_ARGS, args, 0);
        n->args = in->args;
        n->n_args = in->n_args;
    }
    if (ok && !s->stopped)
        (void)match(s, member ? P_CALL_CLOSE : P_GLOBAL_CLOSE, T_RPAREN);
    if (n->kind == CA_BROKEN) { /* of a reserved name: what it gets is not judged */
        cel_problems_cut(s->tree.problems, problems);
        return n;
    }
    (void)raise(s, n, member);
    return cel_ast_called(&s->tree, n);
}

static struct cel_ast *name(struct syntax *s, bool called)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, called ? CA_CALL : CA_IDENT, here(s));
    uint32_t pos = n->pos;
    struct syntax_token t;

    if (at(s, T_DOT) && !match(s, called ? P_GLOBAL_DOT : P_IDENT_DOT, T_DOT))
        return broken(s, pos);
    n->pos = here(s);
    if (!syntax_match(s, called ? P_GLOBAL_NAME : P_IDENT_NAME, T_IDENT, &t))
        return broken(s, pos);
    n->name = t.text;
    if (t.text.p > s->lex.text + pos) {
        n->name = str_of(arena_printf(s->tree.a, ".%.*s", (int)t.text.n, t.text.p));
    }
    if (cel_name_is_reserved(t.text)) {
        cel_problem(s->tree.problems, pos, "reserved identifier: %.*s", (int)t.text.n, t.text.p);
        n->kind = CA_BROKEN;
    }
    return called ? call(s, n, false) : n;
}

/* A name, a call or a message? As far ahead as names and dots go. */
static struct cel_ast *named(struct syntax *s)
{
    size_t k = at(s, T_DOT);

    if (syntax_ahead(s, k) != T_IDENT) {
        syntax_no_alternative(s, s->at + k);
        return broken(s, CEL_UNPLACED);
    }
    if (syntax_ahead(s, k + 1) == T_LPAREN)
        return name(s, true);
    while (syntax_ahead(s, k + 1) == T_DOT && syntax_ahead(s, k + 2) == T_IDENT)
        k += 2;
    return syntax_ahead(s, k + 1) == T_LBRACE ? message(s) : name(s, false);
}

static struct cel_ast *nested(struct syntax *s)
{
    if (!match(s, P_NESTED_OPEN, T_LPAREN))
        return broken(s, CEL_UNPLACED);
    struct cel_ast *n = rule_run(s, R_EXPR, P_NESTED_EXPR, expr, 0);
    if (!s->stopped)
        (void)match(s, P_NESTED_CLOSE, T_RPAREN);
    return n;
}

static struct cel_ast *primary(struct syntax *s, int arg)
{
    (void)arg;
    if (!syntax_sync(s, P_PRIMARY))
        return broken(s, CEL_UNPLACED);
    switch (syntax_ahead(s, 0)) {
    case T_IDENT:
    case T_DOT: return named(s);
    case T_LPAREN: return nested(s);
    case T_LBRACKET: return list(s);
    case T_LBRACE: return map(s);
    case T_MINUS:
    case T_INT:
    case T_UINT:
    case T_FLOAT:
    case T_STRING:
    case T_BYTES:
    case T_TRUE:
    case T_FALSE:
    case T_NULL: return rule_run(s, R_LITERAL, P_PRIMARY_LITERAL, literal, 0);
    default: syntax_no_alternative(s, s->at); return broken(s, CEL_UNPLACED);
    }
}

static struct cel_ast *selection(struct syntax *s, struct cel_ast *of)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_SELECT, here(s));

    n->target = of;
    if (!match(s, P_SELECT_DOT, T_DOT) || !syntax_sync(s, P_SELECT_OPTIONAL))
        return broken(s, of->pos);
    if (at(s, T_QUESTION)) {
        (void)match(s, P_SELECT_QUESTION, T_QUESTION);
        n->kind = CA_CALL;
        n->name = STR("_?._");
    }
    uint32_t pos = here(s);
    struct cel_ast *field = rule_run(s, R_FIELD_NAME, P_SELECT_NAME, field_name, 0);
    if (s->stopped)
        return n;
    judge_name(s, field, pos);
    if (n->kind == CA_SELECT)
        n->name = field->name;
    return raise(s, n, 1);
}

static struct cel_ast *member_call(struct syntax *s, struct cel_ast *of)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_CALL, here(s));
    struct syntax_token t;

    n->target = of;
    if (!match(s, P_CALL_DOT, T_DOT) || !syntax_match(s, P_CALL_NAME, T_IDENT, &t))
        return broken(s, of->pos);
    n->name = t.text;
    return call(s, n, true);
}

static struct cel_ast *indexed(struct syntax *s, struct cel_ast *of)
{
    struct cel_ast *n = cel_ast_call(s->tree.a, "_[_]", here(s), of, broken(s, CEL_UNPLACED));

    if (!match(s, P_INDEX_OPEN, T_LBRACKET) || !syntax_sync(s, P_INDEX_OPTIONAL))
        return raise(s, n, 1);
    if (at(s, T_QUESTION))
        (void)match(s, P_INDEX_QUESTION, T_QUESTION);
    n->args[1] = rule_run(s, R_EXPR, P_INDEX_EXPR, expr, 0);
    if (!s->stopped)
        (void)match(s, P_INDEX_CLOSE, T_RBRACKET);
    return raise(s, n, 1);
}

static struct cel_ast *member(struct syntax *s, int arg)
{
    struct cel_ast *n = rule_run(s, R_PRIMARY, P_MEMBER_PRIMARY, primary, 0);

    (void)arg;
    while (!s->stopped && !s->fault) {
        enum syntax_type second = at(s, T_DOT) ? syntax_ahead(s, 1) : T_EOF;
        s->place = P_MEMBER_KIND;
        if (at(s, T_LBRACKET)) {
            n = indexed(s, n);
        } else if (!at(s, T_DOT)) {
            break;
        } else if (second == T_IDENT && syntax_ahead(s, 2) == T_LPAREN) {
            n = member_call(s, n);
        } else if (second == T_IDENT || second == T_ESCAPED || second == T_QUESTION) {
            n = selection(s, n);
        } else {
            s->depth[R_MEMBER]--; /* upstream counts the end of such a rule twice */
            syntax_no_alternative(s, s->at + 1);
        }
    }
    return n;
}

/* ---- operators ----------------------------------------------------------------------------------- */

static struct cel_ast *negated(struct syntax *s, struct cel_ast *n, const char *fn, uint32_t pos,
                               int count)
{
    return count % 2 ? cel_ast_raise(cel_ast_call(s->tree.a, fn, pos, n, NULL), 0) : n;
}

static struct cel_ast *inverted(struct syntax *s)
{
    uint32_t pos = here(s);
    int count = 0;

    do {
        (void)match(s, P_NOT_SIGN, T_NOT);
        count++;
        syntax_resync(s, P_NOT_MORE);
    } while (!s->stopped && at(s, T_NOT));
    return negated(s, rule_run(s, R_MEMBER, P_UNARY_MEMBER, member, 0), "!_", pos, count);
}

static struct cel_ast *minus(struct syntax *s)
{
    uint32_t pos = here(s);
    int count = 0;

    do {
        (void)match(s, P_MINUS_SIGN, T_MINUS);
        count++;
        syntax_resync(s, P_MINUS_MORE);
        if (at(s, T_MINUS) && !s->stopped) {
            enum syntax_type second = syntax_ahead(s, 1);
            if (!(SYNTAX_PRIMARY & TYPE(second))) {
                syntax_no_alternative(s, s->at + 1);
                return broken(s, CEL_UNPLACED);
            }
        }
    } while (!s->stopped && at(s, T_MINUS));
    return negated(s, rule_run(s, R_MEMBER, P_UNARY_MEMBER, member, 0), "-_", pos, count);
}

static struct cel_ast *unary(struct syntax *s, int arg)
{
    struct cel_ast *n = cel_ast_new(s->tree.a, CA_CONST, here(s)); /* a literal, says upstream */

    (void)arg;
    if (!syntax_sync(s, P_UNARY))
        return n;
    enum syntax_type first = syntax_ahead(s, 0),
                     second = first == T_MINUS ? syntax_ahead(s, 1) : T_EOF;
    if (first == T_NOT)
        return inverted(s);
    if (first == T_MINUS && !(SYNTAX_PRIMARY & TYPE(second))) {
        syntax_no_alternative(s, s->at + 1);
        return n;
    }
    if (first == T_MINUS && !is_number(second)) /* the sign of a number belongs to it */
        return minus(s);
    if (!(SYNTAX_PRIMARY & TYPE(first))) {
        syntax_no_alternative(s, s->at);
        return n;
    }
    return rule_run(s, R_MEMBER, P_UNARY_MEMBER, member, 0);
}

/* arg: how strong an operator must be. */
static struct cel_ast *calc(struct syntax *s, int arg)
{
    struct cel_ast *n = rule_run(s, R_UNARY, P_CALC_UNARY, unary, 0);

    while (!s->stopped) {
        bool product = at(s, T_STAR) || at(s, T_SLASH) || at(s, T_PERCENT);
        if (!(product && arg <= 2) && !((at(s, T_PLUS) || at(s, T_MINUS)) && arg <= 1))
            break;
        struct syntax_token op = syntax_take(s);
        n = cel_ast_call(s->tree.a, "_+_", pos_of(s, op), n,
                         rule_run(s, R_CALC, P_CALC_RIGHT, calc, product ? 3 : 2));
        n = raise(s, n, 1);
    }
    return n;
}

static struct cel_ast *relation(struct syntax *s, int arg)
{
    struct cel_ast *n = rule_run(s, R_CALC, P_RELATION_CALC, calc, 0);

    while (!s->stopped && arg == 0 && syntax_ahead(s, 0) >= T_EQ && syntax_ahead(s, 0) <= T_GT) {
        struct syntax_token op = syntax_take(s);
        n = cel_ast_call(s->tree.a, "_==_", pos_of(s, op), n,
                         rule_run(s, R_RELATION, P_RELATION_RIGHT, relation, 2));
        n = raise(s, n, 1);
    }
    return n;
}

/* a && b && c: one level, however many. */
static struct cel_ast *row(struct syntax *s, struct cel_ast *first, enum syntax_type sign,
                           enum syntax_place place, enum syntax_rule rule, rule_fn fn)
{
    struct cel_ast *n = first;

    while (!s->stopped && at(s, sign)) {
        struct syntax_token op = syntax_take(s);
        n = cel_ast_call(s->tree.a, "_&&_", pos_of(s, op), n, rule_run(s, rule, place, fn, 0));
        n = cel_ast_raise(n, 0);
    }
    return n;
}

static struct cel_ast *conjunction(struct syntax *s, int arg)
{
    (void)arg;
    return row(s, rule_run(s, R_RELATION, P_AND_FIRST, relation, 0), T_AND, P_AND_NEXT, R_RELATION,
               relation);
}

static struct cel_ast *disjunction(struct syntax *s, int arg)
{
    (void)arg;
    return row(s, rule_run(s, R_AND, P_OR_FIRST, conjunction, 0), T_OR, P_OR_NEXT, R_AND,
               conjunction);
}

static struct cel_ast *expr(struct syntax *s, int arg)
{
    struct cel_ast *n = rule_run(s, R_OR, P_EXPR_OR, disjunction, 0);

    (void)arg;
    if (s->stopped || !at(s, T_QUESTION))
        return n;
    struct cel_ast *c = cel_ast_new(s->tree.a, CA_CALL, here(s));
    c->name = STR("_?_:_");
    c->n_args = 3;
    c->args = arena_newn0(s->tree.a, 3, struct cel_ast *);
    c->args[0] = n;
    (void)match(s, P_EXPR_QUESTION, T_QUESTION);
    c->args[1] = rule_run(s, R_OR, P_EXPR_THEN, disjunction, 0);
    if (!s->stopped && match(s, P_EXPR_COLON, T_COLON))
        c->args[2] = rule_run(s, R_EXPR, P_EXPR_ELSE, expr, 0);
    else
        c->args[2] = broken(s, CEL_UNPLACED);
    return raise(s, c, 1);
}

static struct cel_ast *start(struct syntax *s, int arg)
{
    struct cel_ast *n = rule_run(s, R_EXPR, P_START_EXPR, expr, 0);

    (void)arg;
    if (!s->stopped)
        (void)match(s, P_START_EOF, T_EOF);
    return n;
}

void cel_syntax(struct arena *a, bool bind, struct cel_problems *problems)
{
    struct cel_problems judged = { .a = a, .source = problems->source };
    struct str text = problems->source;
    struct syntax s = { .tree = { .a = a, .problems = &judged, .bind = bind },
                        .problems = problems,
                        .lex = { .text = text.p, .p = text.p, .end = text.p + text.n },
                        .last_error = SIZE_MAX };

    (void)rule_run(&s, R_START, P_START_EXPR, start, 0);
    if (!s.stopped && s.too_high)
        cel_problem(problems, CEL_NOWHERE, "max recursion depth exceeded");
    else if (!s.stopped)
        cel_problems_join(problems, &judged);
    if (!problems->list.n) /* both parsers read the same language: this is never reached */
        cel_problem(problems, CEL_NOWHERE, "Syntax error");
    vec_fini(&judged.list);
    vec_fini(&s.tokens);
}
