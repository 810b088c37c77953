/* syntax_recover.c - tokens, what may follow where, and how to go on after an error. */
#include <limits.h>

#include "cel/syntax.h"

enum { RECOVERIES_MAX = 30, SKIPPED_MAX = 256 };

/* ---- sets ---------------------------------------------------------------------------------------- */

#define END TYPE(T_END_OF_RULE)
#define LITERAL                                                                                 \
    (TYPE(T_TRUE) | TYPE(T_FALSE) | TYPE(T_NULL) | TYPE(T_FLOAT) | TYPE(T_INT) | TYPE(T_UINT) | \
     TYPE(T_STRING) | TYPE(T_BYTES))
#define PRIMARY SYNTAX_PRIMARY
#define EXPR    SYNTAX_EXPR
#define ELEMENT SYNTAX_ELEMENT
#define RELATIONS \
    (TYPE(T_EQ) | TYPE(T_NE) | TYPE(T_IN) | TYPE(T_LT) | TYPE(T_LE) | TYPE(T_GE) | TYPE(T_GT))
#define CALCS           (TYPE(T_STAR) | TYPE(T_SLASH) | TYPE(T_PERCENT) | TYPE(T_PLUS) | TYPE(T_MINUS))
#define NAME            (TYPE(T_IDENT) | TYPE(T_ESCAPED))
#define FIELD           SYNTAX_FIELD
#define SUFFIX          (TYPE(T_DOT) | TYPE(T_LBRACKET) | END)
#define MORE            (TYPE(T_COMMA) | END)
#define TRAILING(close) (TYPE(T_COMMA) | TYPE(close))

/* here: what may be next at a place. then: what may be next behind the token or the rule there. */
static const struct {
    type_set here, then;
} places[P_COUNT] = {
    [P_START_EXPR] = { EXPR, TYPE(T_EOF) },
    [P_START_EOF] = { TYPE(T_EOF), END },
    [P_EXPR_OR] = { EXPR, TYPE(T_QUESTION) | END },
    [P_EXPR_QUESTION] = { TYPE(T_QUESTION), EXPR },
    [P_EXPR_THEN] = { EXPR, TYPE(T_COLON) },
    [P_EXPR_COLON] = { TYPE(T_COLON), EXPR },
    [P_EXPR_ELSE] = { EXPR, END },
    [P_OR_FIRST] = { EXPR, TYPE(T_OR) | END },
    [P_OR_SIGN] = { TYPE(T_OR), EXPR },
    [P_OR_NEXT] = { EXPR, TYPE(T_OR) | END },
    [P_AND_FIRST] = { EXPR, TYPE(T_AND) | END },
    [P_AND_SIGN] = { TYPE(T_AND), EXPR },
    [P_AND_NEXT] = { EXPR, TYPE(T_AND) | END },
    [P_RELATION_CALC] = { EXPR, RELATIONS | END },
    [P_RELATION_RIGHT] = { EXPR, RELATIONS | END },
    [P_CALC_UNARY] = { EXPR, CALCS | END },
    [P_CALC_RIGHT] = { EXPR, CALCS | END },
    [P_UNARY] = { EXPR, 0 },
    [P_UNARY_MEMBER] = { PRIMARY, END },
    [P_NOT_SIGN] = { TYPE(T_NOT), EXPR },
    [P_NOT_MORE] = { EXPR, 0 },
    [P_MINUS_SIGN] = { TYPE(T_MINUS), PRIMARY },
    [P_MINUS_MORE] = { PRIMARY, 0 },
    [P_MEMBER_PRIMARY] = { PRIMARY, SUFFIX },
    [P_MEMBER_KIND] = { TYPE(T_DOT) | TYPE(T_LBRACKET), 0 },
    [P_SELECT_DOT] = { TYPE(T_DOT), FIELD },
    [P_SELECT_OPTIONAL] = { FIELD, 0 },
    [P_SELECT_QUESTION] = { TYPE(T_QUESTION), NAME },
    [P_SELECT_NAME] = { NAME, SUFFIX },
    [P_CALL_DOT] = { TYPE(T_DOT), TYPE(T_IDENT) },
    [P_CALL_NAME] = { TYPE(T_IDENT), TYPE(T_LPAREN) },
    [P_CALL_OPEN] = { TYPE(T_LPAREN), EXPR | TYPE(T_RPAREN) },
    [P_CALL_ARGUMENTS] = { EXPR | TYPE(T_RPAREN), 0 },
    [P_CALL_ARGS] = { EXPR, TYPE(T_RPAREN) },
    [P_CALL_CLOSE] = { TYPE(T_RPAREN), SUFFIX },
    [P_INDEX_OPEN] = { TYPE(T_LBRACKET), ELEMENT },
    [P_INDEX_OPTIONAL] = { ELEMENT, 0 },
    [P_INDEX_QUESTION] = { TYPE(T_QUESTION), EXPR },
    [P_INDEX_EXPR] = { EXPR, TYPE(T_RBRACKET) },
    [P_INDEX_CLOSE] = { TYPE(T_RBRACKET), SUFFIX },
    [P_PRIMARY] = { PRIMARY, 0 },
    [P_IDENT_OPTIONAL] = { TYPE(T_DOT) | TYPE(T_IDENT), 0 },
    [P_IDENT_DOT] = { TYPE(T_DOT), TYPE(T_IDENT) },
    [P_IDENT_NAME] = { TYPE(T_IDENT), END },
    [P_GLOBAL_OPTIONAL] = { TYPE(T_DOT) | TYPE(T_IDENT), 0 },
    [P_GLOBAL_DOT] = { TYPE(T_DOT), TYPE(T_IDENT) },
    [P_GLOBAL_NAME] = { TYPE(T_IDENT), TYPE(T_LPAREN) },
    [P_GLOBAL_OPEN] = { TYPE(T_LPAREN), EXPR | TYPE(T_RPAREN) },
    [P_GLOBAL_ARGUMENTS] = { EXPR | TYPE(T_RPAREN), 0 },
    [P_GLOBAL_ARGS] = { EXPR, TYPE(T_RPAREN) },
    [P_GLOBAL_CLOSE] = { TYPE(T_RPAREN), END },
    [P_NESTED_OPEN] = { TYPE(T_LPAREN), EXPR },
    [P_NESTED_EXPR] = { EXPR, TYPE(T_RPAREN) },
    [P_NESTED_CLOSE] = { TYPE(T_RPAREN), END },
    [P_LIST_OPEN] = { TYPE(T_LBRACKET), ELEMENT | TRAILING(T_RBRACKET) },
    [P_LIST_OPTIONAL] = { ELEMENT | TRAILING(T_RBRACKET), 0 },
    [P_LIST_ELEMENTS] = { ELEMENT, TRAILING(T_RBRACKET) },
    [P_LIST_TRAILING] = { TRAILING(T_RBRACKET), 0 },
    [P_LIST_COMMA] = { TYPE(T_COMMA), TYPE(T_RBRACKET) },
    [P_LIST_CLOSE] = { TYPE(T_RBRACKET), END },
    [P_MAP_OPEN] = { TYPE(T_LBRACE), ELEMENT | TRAILING(T_RBRACE) },
    [P_MAP_OPTIONAL] = { ELEMENT | TRAILING(T_RBRACE), 0 },
    [P_MAP_ENTRIES] = { ELEMENT, TRAILING(T_RBRACE) },
    [P_MAP_TRAILING] = { TRAILING(T_RBRACE), 0 },
    [P_MAP_COMMA] = { TYPE(T_COMMA), TYPE(T_RBRACE) },
    [P_MAP_CLOSE] = { TYPE(T_RBRACE), END },
    [P_MESSAGE_OPTIONAL] = { TYPE(T_DOT) | TYPE(T_IDENT), 0 },
    [P_MESSAGE_DOT] = { TYPE(T_DOT), TYPE(T_IDENT) },
    [P_MESSAGE_NAME] = { TYPE(T_IDENT), TYPE(T_DOT) | TYPE(T_LBRACE) },
    [P_MESSAGE_LOOP] = { TYPE(T_DOT) | TYPE(T_LBRACE), 0 },
    [P_MESSAGE_NEXT_DOT] = { TYPE(T_DOT), TYPE(T_IDENT) },
    [P_MESSAGE_NEXT_NAME] = { TYPE(T_IDENT), TYPE(T_DOT) | TYPE(T_LBRACE) },
    [P_MESSAGE_MORE] = { TYPE(T_DOT) | TYPE(T_LBRACE), 0 },
    [P_MESSAGE_OPEN] = { TYPE(T_LBRACE), FIELD | TRAILING(T_RBRACE) },
    [P_MESSAGE_FIELDS_OPTIONAL] = { FIELD | TRAILING(T_RBRACE), 0 },
    [P_MESSAGE_FIELDS] = { FIELD, TRAILING(T_RBRACE) },
    [P_MESSAGE_TRAILING] = { TRAILING(T_RBRACE), 0 },
    [P_MESSAGE_COMMA] = { TYPE(T_COMMA), TYPE(T_RBRACE) },
    [P_MESSAGE_CLOSE] = { TYPE(T_RBRACE), END },
    [P_PRIMARY_LITERAL] = { LITERAL | TYPE(T_MINUS), END },
    [P_ARGS_FIRST] = { EXPR, MORE },
    [P_ARGS_COMMA] = { TYPE(T_COMMA), EXPR },
    [P_ARGS_NEXT] = { EXPR, MORE },
    [P_ELEMENTS_FIRST] = { ELEMENT, MORE },
    [P_ELEMENTS_COMMA] = { TYPE(T_COMMA), ELEMENT },
    [P_ELEMENTS_NEXT] = { ELEMENT, MORE },
    [P_FIELDS_NAME] = { FIELD, TYPE(T_COLON) },
    [P_FIELDS_COLON] = { TYPE(T_COLON), EXPR },
    [P_FIELDS_VALUE] = { EXPR, MORE },
    [P_FIELDS_COMMA] = { TYPE(T_COMMA), FIELD },
    [P_FIELDS_NEXT_NAME] = { FIELD, TYPE(T_COLON) },
    [P_FIELDS_NEXT_COLON] = { TYPE(T_COLON), EXPR },
    [P_FIELDS_NEXT_VALUE] = { EXPR, MORE },
    [P_FIELD_OPTIONAL] = { FIELD, 0 },
    [P_FIELD_QUESTION] = { TYPE(T_QUESTION), NAME },
    [P_FIELD_NAME] = { NAME, END },
    [P_ENTRIES_KEY] = { ELEMENT, TYPE(T_COLON) },
    [P_ENTRIES_COLON] = { TYPE(T_COLON), EXPR },
    [P_ENTRIES_VALUE] = { EXPR, MORE },
    [P_ENTRIES_COMMA] = { TYPE(T_COMMA), ELEMENT },
    [P_ENTRIES_NEXT_KEY] = { ELEMENT, TYPE(T_COLON) },
    [P_ENTRIES_NEXT_COLON] = { TYPE(T_COLON), EXPR },
    [P_ENTRIES_NEXT_VALUE] = { EXPR, MORE },
    [P_NAME] = { NAME, 0 },
    [P_NAME_PLAIN] = { TYPE(T_IDENT), END },
    [P_NAME_ESCAPED] = { TYPE(T_ESCAPED), END },
    [P_ELEMENT_OPTIONAL] = { ELEMENT, 0 },
    [P_ELEMENT_QUESTION] = { TYPE(T_QUESTION), EXPR },
    [P_ELEMENT_EXPR] = { EXPR, END },
    [P_LITERAL] = { LITERAL | TYPE(T_MINUS), 0 },
    [P_NUMBER_SIGN] = { TYPE(T_MINUS) | TYPE(T_INT) | TYPE(T_FLOAT), 0 },
    [P_NUMBER_MINUS] = { TYPE(T_MINUS), TYPE(T_INT) | TYPE(T_FLOAT) },
    [P_NUMBER] = { TYPE(T_INT) | TYPE(T_FLOAT), END },
};

static type_set in_context(const struct syntax *s, type_set set)
{
    const struct syntax_frame *f = s->frame;
    type_set last = set;

    for (; f && f->up && (last & END); f = f->up) {
        last = places[f->from].then;
        set |= last;
    }
    return (set & ~END) | (last & END ? TYPE(T_EOF) : 0);
}

/* Types that may be next here, in view of the rules that are open. */
static type_set expected(const struct syntax *s)
{
    return in_context(s, places[s->place].here);
}

/* ---- tokens -------------------------------------------------------------------------------------- */

static void report(struct syntax *s, uint32_t pos, const char *text)
{
    if (s->stopped)
        return;
    s->stopped = s->reports >= CEL_PROBLEMS_MAX;
    s->reports++;
    cel_problem(s->problems, pos, "Syntax error: %s", text);
}

static uint32_t place_of(const struct syntax *s, const struct syntax_token *t)
{
    return (uint32_t)(t->text.p - s->lex.text);
}

static enum syntax_type sign_type(char c)
{
    static const char signs[] = "<>[]{}().,-!?:+*/%";
    static const uint8_t types[] = { T_LT,     T_GT,     T_LBRACKET, T_RBRACKET, T_LBRACE,
                                     T_RBRACE, T_LPAREN, T_RPAREN,   T_DOT,      T_COMMA,
                                     T_MINUS,  T_NOT,    T_QUESTION, T_COLON,    T_PLUS,
                                     T_STAR,   T_SLASH,  T_PERCENT };
    return types[strchr(signs, c) - signs];
}

static enum syntax_type word_type(struct str s)
{
    return str_eqz(s, "in")      ? T_IN
           : str_eqz(s, "true")  ? T_TRUE
           : str_eqz(s, "false") ? T_FALSE
           : str_eqz(s, "null")  ? T_NULL
                                 : T_IDENT;
}

static enum syntax_type type_of(const struct cel_lexer *l)
{
    switch (l->tok) {
    case TOK_IDENT: return word_type(l->body);
    case TOK_ESCAPED: return T_ESCAPED;
    case TOK_INT: return T_INT;
    case TOK_UINT: return T_UINT;
    case TOK_DOUBLE: return T_FLOAT;
    case TOK_STRING: return T_STRING;
    case TOK_BYTES: return T_BYTES;
    case TOK_OR: return T_OR;
    case TOK_AND: return T_AND;
    case TOK_EQ: return T_EQ;
    case TOK_NE: return T_NE;
    case TOK_LE: return T_LE;
    case TOK_GE: return T_GE;
    case TOK_SIGN: return sign_type(l->ch);
    default: return T_EOF;
    }
}

/* Tokens are made when somebody looks at them: what is no token is reported then. */
const struct syntax_token *syntax_at(struct syntax *s, size_t i)
{
    while (s->tokens.n <= i && (s->tokens.n == 0 || vec_last(&s->tokens).type != T_EOF)) {
        cel_lex_next(&s->lex);
        if (s->lex.tok == TOK_BAD && !s->stopped) {
            CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
            strbuf_append(&b, "token recognition error at: '");
            strbuf_appendn(&b, s->lex.body.p, s->lex.body.n);
            strbuf_appendc(&b, '\'');
            report(s, (uint32_t)(s->lex.body.p - s->lex.text), strbuf_str(&b));
        } else if (s->lex.tok != TOK_BAD) {
            vec_push(&s->tokens, ((struct syntax_token){ (uint8_t)type_of(&s->lex),
                                                         (uint8_t)s->lex.tok, s->lex.body }));
        }
    }
    return &s->tokens.items[MIN(i, s->tokens.n - 1)];
}

enum syntax_type syntax_ahead(struct syntax *s, size_t k)
{
    return syntax_at(s, s->at + k)->type;
}

static void use(struct syntax *s)
{
    s->at += syntax_ahead(s, 0) != T_EOF;
    (void)syntax_at(s, s->at);
}

/* ---- words --------------------------------------------------------------------------------------- */

static void put_set(type_set set, struct strbuf *out)
{
    static const char *const names[] = {
        "<EOF>",   "'=='",     "'!='",   "'in'",    "'<'",        "'<='",
        "'>='",    "'>'",      "'&&'",   "'||'",    "'['",        "']'",
        "'{'",     "'}'",      "'('",    "')'",     "'.'",        "','",
        "'-'",     "'!'",      "'?'",    "':'",     "'+'",        "'*'",
        "'/'",     "'%'",      "'true'", "'false'", "'null'",     "NUM_FLOAT",
        "NUM_INT", "NUM_UINT", "STRING", "BYTES",   "IDENTIFIER", "ESC_IDENTIFIER"
    };
    bool several = (set & (set - 1)) != 0;
    const char *comma = "";

    strbuf_append(out, several ? "{" : "");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (set & TYPE(i)) {
            strbuf_appendf(out, "%s%s", comma, names[i]);
            comma = ", ";
        }
    }
    strbuf_append(out, several ? "}" : "");
}

static void put_text(const char *p, size_t n, struct strbuf *out)
{
    for (; n; n--, p++) {
        if (*p == '\t' || *p == '\n' || *p == '\r')
            strbuf_appendf(out, "\\%c", *p == '\t' ? 't' : *p == '\n' ? 'n' : 'r');
        else
            strbuf_appendc(out, *p);
    }
}

static void put_token(const struct syntax_token *t, struct strbuf *out)
{
    strbuf_appendc(out, '\'');
    if (t->type == T_EOF)
        strbuf_append(out, "<EOF>");
    else
        put_text(t->text.p, t->text.n, out);
    strbuf_appendc(out, '\'');
}

/* The text from one token to another, blanks and comments included, what is no token left out. */
static void put_range(const struct syntax *s, const struct syntax_token *from,
                      const struct syntax_token *to, struct strbuf *out)
{
    struct cel_lexer l = { .text = s->lex.text, .p = from->text.p, .end = s->lex.end };

    if (from->type == T_EOF) {
        strbuf_append(out, "<EOF>");
        return;
    }
    do {
        const char *p = l.p;
        cel_lex_next(&l);
        put_text(p, (size_t)(l.body.p - p) + (l.tok == TOK_BAD ? 0 : l.body.n), out);
    } while (l.tok != TOK_END && l.body.p < to->text.p);
}

static void report_alternative(struct syntax *s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, text = STRBUF_INIT;
    const struct syntax_token *bad = syntax_at(s, s->bad);

    put_range(s, syntax_at(s, s->from), bad, &text);
    const char *word = text.len > 1 ? text.data + 1 : "";
    if (streq(word, "true") || streq(word, "false") || streq(word, "null"))
        strbuf_appendf(&b, "mismatched input '%s' expecting IDENTIFIER", word);
    else
        strbuf_appendf(&b, "no viable alternative at input '%s'", strbuf_str(&text));
    report(s, place_of(s, bad), strbuf_str(&b));
}

/* "before 'the next token' between SET" */
static void report_token(struct syntax *s, const char *before, const char *between)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct syntax_token *t = syntax_at(s, s->at);

    strbuf_append(&b, before);
    put_token(t, &b);
    strbuf_append(&b, between);
    put_set(expected(s), &b);
    report(s, place_of(s, t), strbuf_str(&b));
}

static void report_missing(struct syntax *s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct syntax_token *t = syntax_at(s, s->at);

    strbuf_append(&b, "missing ");
    put_set(expected(s), &b);
    strbuf_append(&b, " at ");
    put_token(t, &b);
    report(s, place_of(s, t), strbuf_str(&b));
}

/* True: somebody is told. Only the first error since a token fitted is worth telling. */
static bool tell(struct syntax *s)
{
    bool first = !s->recovering;

    s->recovering = true;
    return first;
}

/* ---- recovery ------------------------------------------------------------------------------------ */

void syntax_stop(struct syntax *s, const char *why)
{
    if (!s->stopped)
        cel_problem(s->problems, CEL_NOWHERE, "%s", why);
    s->stopped = true;
}

static void fitted(struct syntax *s)
{
    s->recovering = false;
    s->last_error = SIZE_MAX;
    memset(s->recovered, 0, sizeof s->recovered);
}

static bool attempt(struct syntax *s)
{
    if (s->attempts++ < RECOVERIES_MAX)
        return !s->stopped;
    report(s, place_of(s, syntax_at(s, s->at)), "error recovery attempt limit exceeded: 30");
    s->stopped = true;
    return false;
}

/* The token after the next one would do: the next one is too many. */
static bool drop_one(struct syntax *s)
{
    if (!(expected(s) & TYPE(syntax_ahead(s, 1))))
        return false;
    if (tell(s))
        report_token(s, "extraneous input ", " expecting ");
    use(s);
    fitted(s);
    return true;
}

bool syntax_sync(struct syntax *s, enum syntax_place place)
{
    s->place = place;
    if (s->recovering || (places[place].here & TYPE(syntax_ahead(s, 0))) || drop_one(s))
        return !s->stopped;
    s->fault = FAULT_MISMATCH;
    return false;
}

/* What any of the open rules waits for. */
static type_set recovery_set(const struct syntax *s)
{
    type_set set = 0;

    for (const struct syntax_frame *f = s->frame; f && f->up; f = f->up)
        set |= places[f->from].then;
    return set & ~END;
}

static void skip_until(struct syntax *s, type_set set, int most)
{
    for (int n = 0; !s->stopped && !((set | TYPE(T_EOF)) & TYPE(syntax_ahead(s, 0))); n++) {
        if (n >= most) {
            syntax_stop(s, "error recovery token lookahead limit exceeded: 256");
            return;
        }
        use(s);
    }
}

void syntax_resync(struct syntax *s, enum syntax_place place)
{
    s->place = place;
    if (s->recovering || (places[place].here & TYPE(syntax_ahead(s, 0))))
        return;
    if (tell(s))
        report_token(s, "extraneous input ", " expecting ");
    skip_until(s, expected(s) | recovery_set(s), INT_MAX);
}

struct syntax_token syntax_take(struct syntax *s)
{
    struct syntax_token t = *syntax_at(s, s->at);

    fitted(s);
    use(s);
    return t;
}

/* What comes here may come behind the token that is missing. */
static bool invent(struct syntax *s, enum syntax_place place)
{
    if (!(in_context(s, places[place].then) & TYPE(syntax_ahead(s, 0))))
        return false;
    if (tell(s))
        report_missing(s);
    return true;
}

bool syntax_match(struct syntax *s, enum syntax_place place, enum syntax_type type,
                  struct syntax_token *ret)
{
    struct syntax_token t = { .text = { syntax_at(s, s->at)->text.p, 0 } };

    s->place = place;
    if (syntax_ahead(s, 0) != type && !attempt(s))
        return false;
    if (syntax_ahead(s, 0) == type || drop_one(s)) {
        t = syntax_take(s);
    } else if (!invent(s, place)) {
        s->fault = FAULT_MISMATCH;
        return false;
    }
    if (ret)
        *ret = t;
    return !s->stopped;
}

void syntax_no_alternative(struct syntax *s, size_t bad)
{
    s->fault = FAULT_ALTERNATIVE;
    s->from = s->at;
    s->bad = bad;
}

void syntax_recover(struct syntax *s)
{
    int skipped = 0;

    if (tell(s)) {
        if (s->fault == FAULT_ALTERNATIVE)
            report_alternative(s);
        else
            report_token(s, "mismatched input ", " expecting ");
    }
    s->fault = FAULT_NONE;
    if (s->stopped || !attempt(s))
        return;
    /* Here again without having moved: one token goes, or this would never end. */
    if (s->last_error == s->at && s->recovered[s->place]) {
        use(s);
        skipped++;
    }
    s->last_error = s->at;
    s->recovered[s->place] = 1;
    skip_until(s, recovery_set(s), SKIPPED_MAX - skipped);
}
