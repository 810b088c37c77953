/* lex.c - tokens, and the text of literals. */
#include <ctype.h>

#include "cel/ast.h"
#include "cel/re_unicode.h"

static bool ident_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool ident_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void skip_blanks(struct cel_lexer *l)
{
    while (l->p < l->end) {
        if (strchr(" \t\n\r\f", *l->p) && *l->p) {
            l->p++;
        } else if (l->end - l->p >= 2 && l->p[0] == '/' && l->p[1] == '/') {
            while (l->p < l->end && *l->p != '\n')
                l->p++;
        } else {
            return;
        }
    }
}

static enum cel_token lex_number(struct cel_lexer *l)
{
    const char *p = l->p;
    enum cel_token tok = TOK_INT;

    if (l->end - p > 2 && p[0] == '0' && p[1] == 'x' && isxdigit((unsigned char)p[2])) {
        for (p += 2; p < l->end && isxdigit((unsigned char)*p); p++)
            ;
    } else {
        while (p < l->end && isdigit((unsigned char)*p))
            p++;
        if (l->end - p >= 2 && *p == '.' && isdigit((unsigned char)p[1])) {
            tok = TOK_DOUBLE;
            for (p++; p < l->end && isdigit((unsigned char)*p); p++)
                ;
        }
        const char *e = p;
        if (e < l->end && (*e == 'e' || *e == 'E')) {
            e++;
            e += e < l->end && (*e == '+' || *e == '-');
            if (e < l->end && isdigit((unsigned char)*e)) {
                tok = TOK_DOUBLE;
                for (p = e; p < l->end && isdigit((unsigned char)*p); p++)
                    ;
            }
        }
    }
    if (tok == TOK_INT && p < l->end && (*p == 'u' || *p == 'U')) {
        tok = TOK_UINT;
        p++;
    }
    l->p = p;
    return tok;
}

/* How much of an escape sequence is well formed, *whole: all of it. p behind the backslash. */
static size_t escape_length(const char *p, const char *end, bool *whole)
{
    size_t n = 1, digits;

    *whole = false;
    if (p >= end)
        return 0;
    if (strchr("abfnrtv\\?'\"`", *p) && *p) {
        *whole = true;
        return 1;
    }
    if (*p >= '0' && *p <= '3') {
        while (n < 3 && p + n < end && p[n] >= '0' && p[n] <= '7')
            n++;
        *whole = n == 3;
        return n;
    }
    digits = *p == 'x' || *p == 'X' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    if (!digits)
        return 0;
    while (n <= digits && p + n < end && isxdigit((unsigned char)p[n]))
        n++;
    *whole = n == digits + 1;
    return n;
}

/* Behind the string that begins at p; NULL: it does not end, *stop is what does not belong to it.
 */
static const char *string_end(const char *p, const char *end, bool raw, bool triple,
                              const char **stop)
{
    char quote = *p;

    for (p += triple ? 3 : 1; p < end; p++) {
        if (*p == quote && (!triple || (end - p >= 3 && p[1] == quote && p[2] == quote)))
            return p + (triple ? 3 : 1);
        if (!triple && (*p == '\n' || *p == '\r'))
            break;
        if (*p == '\\' && !raw) {
            bool whole;
            size_t n = escape_length(p + 1, end, &whole);
            p += n;
            if (!whole) {
                p++;
                break;
            }
        }
    }
    *stop = p;
    return NULL;
}

/* Three quotes that nothing closes are an empty string and what comes then. */
static bool lex_string(struct cel_lexer *l, bool raw)
{
    const char *p = l->p, *stop = p, *at;
    bool empty = l->end - p >= 2 && p[1] == *p;
    bool triple = empty && l->end - p >= 3 && p[2] == *p;

    at = string_end(p, l->end, raw, triple, &stop);
    if (!at && empty)
        at = p + 2;
    l->p = at ? at : stop;
    return at != NULL;
}

/* r'..', b"..", br'''..''': the length of the prefix when a quote follows. */
static size_t string_prefix(const struct cel_lexer *l, bool *raw, bool *bytes)
{
    const char *p = l->p;

    *bytes = *p == 'b' || *p == 'B';
    p += *bytes;
    *raw = p < l->end && (*p == 'r' || *p == 'R');
    p += *raw;
    return p < l->end && (*p == '\'' || *p == '"') ? (size_t)(p - l->p) : SIZE_MAX;
}

/* The sign at which no token went on belongs to what is wrong, and is skipped with it. */
static enum cel_token lex_bad(struct cel_lexer *l)
{
    if (l->p < l->end)
        l->p++;
    while (l->p < l->end && ((unsigned char)*l->p & 0xc0) == 0x80)
        l->p++;
    return TOK_BAD;
}

/* `a name` */
static enum cel_token lex_escaped(struct cel_lexer *l)
{
    const char *begin = ++l->p;

    while (l->p < l->end && (ident_part(*l->p) || (strchr("./- ", *l->p) && *l->p)))
        l->p++;
    if (l->p == begin || l->p == l->end || *l->p != '`')
        return lex_bad(l);
    l->p++;
    return TOK_ESCAPED;
}

static enum cel_token lex_one(struct cel_lexer *l)
{
    static const struct {
        char text[3];
        enum cel_token tok;
    } pairs[] = { { "||", TOK_OR }, { "&&", TOK_AND }, { "==", TOK_EQ },
                  { "!=", TOK_NE }, { "<=", TOK_LE },  { ">=", TOK_GE } };
    bool raw, bytes;
    size_t prefix = string_prefix(l, &raw, &bytes);

    if (prefix != SIZE_MAX) {
        const char *at = l->p;
        l->p += prefix;
        if (lex_string(l, raw))
            return bytes ? TOK_BYTES : TOK_STRING;
        if (prefix == 0)
            return lex_bad(l);
        l->p = at; /* the prefix is a name then */
    }
    if (*l->p == '`')
        return lex_escaped(l);
    if (ident_start(*l->p)) {
        while (l->p < l->end && ident_part(*l->p))
            l->p++;
        return TOK_IDENT;
    }
    if (isdigit((unsigned char)*l->p))
        return lex_number(l);
    if (*l->p == '.' && l->end - l->p >= 2 && isdigit((unsigned char)l->p[1])) {
        /* .5 is a number: the digits before the point may be missing. */
        return lex_number(l);
    }
    for (size_t i = 0; l->end - l->p >= 2 && i < ARRAY_LEN(pairs); i++) {
        if (memcmp(l->p, pairs[i].text, 2) == 0) {
            l->p += 2;
            return pairs[i].tok;
        }
    }
    l->ch = *l->p;
    if (!l->ch || !strchr("[]{}().,-!?+*/%<>:=&|", l->ch))
        return lex_bad(l);
    l->p++;
    return strchr("=&|", l->ch) ? lex_bad(l) : TOK_SIGN;
}

void cel_lex_next(struct cel_lexer *l)
{
    skip_blanks(l);
    const char *at = l->p;
    l->ch = '\0';
    l->tok = l->p < l->end ? lex_one(l) : TOK_END;
    l->body = (struct str){ at, (size_t)(l->p - at) };
}

/* ---- literals ------------------------------------------------------------------------------------ */

static void put_utf8(struct strbuf *b, uint32_t c)
{
    if (c < 0x80) {
        strbuf_appendc(b, (char)c);
    } else if (c < 0x800) {
        strbuf_appendc(b, (char)(0xc0 | c >> 6));
        strbuf_appendc(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        strbuf_appendc(b, (char)(0xe0 | c >> 12));
        strbuf_appendc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_appendc(b, (char)(0x80 | (c & 0x3f)));
    } else {
        strbuf_appendc(b, (char)(0xf0 | c >> 18));
        strbuf_appendc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_appendc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_appendc(b, (char)(0x80 | (c & 0x3f)));
    }
}

static uint32_t digits_of(const char *p, size_t n, unsigned base)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        v = v * base + (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    return v;
}

/* One escape; p behind the backslash. NULL, or what is wrong. */
static const char *unescape(const char *p, size_t n, bool bytes, struct strbuf *out)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *at;
    uint32_t c;

    if (n == 1) {
        at = strchr(from, *p);
        strbuf_appendc(out, at ? to[at - from] : *p);
        return NULL;
    }
    if (*p == 'u' || *p == 'U') {
        if (bytes)
            return "unable to unescape string";
        c = digits_of(p + 1, n - 1, 16);
        if (c > RE_RUNE_MAX || (c >= 0xd800 && c < 0xe000))
            return "invalid unicode code point";
    } else {
        c = *p == 'x' || *p == 'X' ? digits_of(p + 1, 2, 16) : digits_of(p, 3, 8);
        if (bytes) {
            strbuf_appendc(out, (char)c);
            return NULL;
        }
    }
    put_utf8(out, c);
    return NULL;
}

const char *cel_lex_unquote(struct arena *a, struct str body, bool bytes, struct cel_val *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    bool raw = false;

    while (*body.p != '\'' && *body.p != '"') {
        raw |= *body.p == 'r' || *body.p == 'R';
        body.p++;
        body.n--;
    }
    size_t quotes = body.n >= 6 && body.p[1] == body.p[0] && body.p[2] == body.p[0] ? 3 : 1;
    const char *p = body.p + quotes, *end = body.p + body.n - quotes;
    while (p < end) {
        if (*p == '\r' && quotes == 3) { /* line ends are one character */
            strbuf_appendc(&b, '\n');
            p += p + 1 < end && p[1] == '\n' ? 2 : 1;
            continue;
        }
        if (*p != '\\' || raw) {
            strbuf_appendc(&b, *p++);
            continue;
        }
        bool whole;
        size_t n = escape_length(p + 1, end, &whole);
        const char *why = whole ? unescape(p + 1, n, bytes, &b) : "unable to unescape string";
        if (why)
            return why;
        p += n + 1;
    }
    *ret = cel_v_dup(a, strbuf_str(&b), b.len);
    ret->kind = bytes ? CK_BYTES : CK_STRING;
    return NULL;
}
