/* regex.c - Go's regular expressions translated to POSIX extended ones. */
#include "apiserver/crd/regex.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>

/* Go refuses more repeats as well. glibc unrolls them, and what a compiled pattern costs grows with
 * the square of its size: at 3000 it is a tenth of a second and 120 MB. */
enum { REPEAT_MAX = 1000, NESTING_MAX = 100, SIZE_LIMIT = 3000 };

struct regex {
    char *go, *posix;
    bool icase, compiled, usable;
    regex_t re;
};

struct translation {
    const char *start, *p;
    struct strbuf *out;
    struct kerr *err;
    bool icase;
    int depth;
    int32_t inner[NESTING_MAX + 1]; /* the largest repeat inside each open group */
    int32_t atom;                   /* of what was just read; 0: nothing to repeat */
    int64_t sizes[NESTING_MAX + 1]; /* what each open group holds, repeats written out */
    int64_t atom_size;
};

static int refuse(struct translation *t, const char *why, const char *part, size_t n)
{
    return kerr_set(t->err, -EINVAL, "error parsing regexp: %s: `%.*s`", why, (int)n, part);
}

static int unsupported(struct translation *t, const char *part, size_t n)
{
    return kerr_set(t->err, -EINVAL, "this server does not support `%.*s` in patterns", (int)n,
                    part);
}

/* The members of \d \w \s for a bracket expression; NULL: not a class. */
static const char *class_members(char c)
{
    switch (c) {
    case 'd': return "0-9";
    case 'w': return "0-9A-Za-z_";
    case 's': return "\t\n\f\r ";
    default: return NULL;
    }
}

static void atom_done(struct translation *t, int32_t repeats, int64_t size)
{
    t->atom = repeats;
    t->atom_size = size;
    t->sizes[t->depth] += size;
    if (repeats > t->inner[t->depth])
        t->inner[t->depth] = repeats;
}

static void emit_literal(struct translation *t, char c)
{
    if (strchr("^.[]$()|*+?{}\\", c))
        strbuf_appendc(t->out, '\\');
    strbuf_appendc(t->out, c);
    atom_done(t, 1, 1);
}

/* \n, \t, \x41 and friends; p at the letter after the backslash. -1: none of them. */
static int control_char(const char **p)
{
    static const char from[] = "abfnrtv0", to[] = "\a\b\f\n\r\t\v";
    const char *at = strchr(from, **p);
    char hex[3] = { 0 };

    if (**p && at && *at != '0') {
        (*p)++;
        return to[at - from];
    }
    if (**p != 'x' || !isxdigit((unsigned char)(*p)[1]) || !isxdigit((unsigned char)(*p)[2]))
        return -1;
    memcpy(hex, *p + 1, 2);
    *p += 3;
    return (int)strtol(hex, NULL, 16);
}

static int read_escape(struct translation *t)
{
    const char *at = t->p++; /* the backslash */
    char c = *t->p;

    if (!c)
        return refuse(t, "trailing backslash at end of expression", "", 0);
    if (class_members((char)tolower((unsigned char)c))) {
        strbuf_appendf(t->out, "[%s%s]", isupper((unsigned char)c) ? "^" : "",
                       class_members((char)tolower((unsigned char)c)));
        t->p++;
        atom_done(t, 1, 1);
        return 0;
    }
    if (c == 'A' || c == 'z') {
        strbuf_appendc(t->out, c == 'A' ? '^' : '$');
        t->p++;
        atom_done(t, 0, 1);
        return 0;
    }
    if (c == 'b' || c == 'B') { /* glibc knows them */
        strbuf_appendf(t->out, "\\%c", c);
        t->p++;
        atom_done(t, 0, 1);
        return 0;
    }
    if (c == 'p' || c == 'P' || c == 'C' || c == 'Q')
        return unsupported(t, at, 2);
    int ctl = control_char(&t->p);
    if (ctl >= 0) {
        if (ctl == 0 || ctl > 127)
            return unsupported(t, at, 2);
        emit_literal(t, (char)ctl);
        return 0;
    }
    if (isalnum((unsigned char)c))
        return refuse(t, "invalid escape sequence", at, 2);
    emit_literal(t, c);
    t->p++;
    return 0;
}

/* One member of a bracket expression as a byte; -1: it was a class, already in `set`. */
static int bracket_member(struct translation *t, struct strbuf *set)
{
    const char *at = t->p;
    unsigned char c = (unsigned char)*t->p++;

    if (c >= 0x80)
        return unsupported(t, at, 1);
    if (c == '[' && *t->p == ':') {
        const char *end = strstr(t->p, ":]");
        if (!end || t->p[1] == '^')
            return unsupported(t, at, 2);
        strbuf_appendn(set, at, (size_t)(end + 2 - at));
        t->p = end + 2;
        return -1;
    }
    if (c != '\\')
        return c;
    const char *members = class_members(*t->p);
    if (members) {
        strbuf_append(set, members);
        t->p++;
        return -1;
    }
    int ctl = control_char(&t->p);
    if (ctl >= 0)
        return ctl > 0 && ctl < 128 ? ctl : unsupported(t, at, (size_t)(t->p - at));
    if (!*t->p || isalnum((unsigned char)*t->p))
        return *t->p ? unsupported(t, at, 2) : refuse(t, "missing closing ]", at, 1);
    return (unsigned char)*t->p++;
}

/* Brackets are written anew: in POSIX the backslash is an ordinary member, and ] [ ^ - mean
 * themselves only in certain places. */
struct bracket {
    struct strbuf set; /* members without trouble */
    bool negated, close, open, caret, dash;
};

static void bracket_add(struct bracket *b, int c)
{
    switch (c) {
    case ']': b->close = true; break;
    case '[': b->open = true; break;
    case '^': b->caret = true; break;
    case '-': b->dash = true; break;
    default: strbuf_appendc(&b->set, (char)c);
    }
}

static void bracket_write(const struct bracket *b, struct strbuf *out)
{
    bool led = b->negated || b->close || b->set.len || b->open; /* a caret may follow */
    if (b->caret && !led) {
        strbuf_append(out, b->dash ? "[-^]" : "\\^");
        return;
    }
    strbuf_appendf(out, "[%s%s%s%s%s%s]", b->negated ? "^" : "", b->close ? "]" : "",
                   strbuf_str(&b->set), b->open ? "[" : "", b->caret ? "^" : "",
                   b->dash ? "-" : "");
}

static int bracket_read(struct translation *t, struct bracket *b)
{
    const char *at = t->p++;

    b->negated = *t->p == '^';
    t->p += b->negated;
    for (bool first = true; *t->p != ']' || first; first = false) {
        if (!*t->p)
            return refuse(t, "missing closing ]", at, strlen(at));
        int lo = bracket_member(t, &b->set), hi = lo;
        if (lo < -1)
            return lo;
        if (lo == -1)
            continue;
        if (*t->p == '-' && t->p[1] && t->p[1] != ']') {
            t->p++;
            hi = bracket_member(t, &b->set);
            if (hi < -1)
                return hi;
            if (hi < lo)
                return refuse(t, "invalid character class range", at, (size_t)(t->p - at));
        }
        for (int c = lo; c <= hi; c++)
            bracket_add(b, c);
    }
    t->p++;
    return 0;
}

static int read_bracket(struct translation *t)
{
    struct bracket b = { 0 };
    int e = bracket_read(t, &b);

    if (e == 0)
        bracket_write(&b, t->out);
    strbuf_fini(&b.set);
    atom_done(t, 1, 1);
    return e;
}

/* {n}, {n,}, {n,m}; anything else is text to Go. Returns the larger count, -1: text. */
static int32_t read_count(const char *p, const char **end)
{
    char *stop;
    if (!isdigit((unsigned char)p[1]))
        return -1;
    long lo = strtol(p + 1, &stop, 10), hi = lo;
    if (*stop == ',') {
        hi = isdigit((unsigned char)stop[1]) ? strtol(stop + 1, &stop, 10) : (stop++, lo);
    }
    if (*stop != '}')
        return -1;
    *end = stop + 1;
    return lo > REPEAT_MAX || hi > REPEAT_MAX || hi < lo ? INT32_MAX : (int32_t)MAX(hi, 1L);
}

static int read_repeat(struct translation *t)
{
    const char *at = t->p, *end = at + 1;
    int32_t count = 1;

    if (*at == '{') {
        count = read_count(at, &end);
        if (count < 0) {
            emit_literal(t, *t->p++);
            return 0;
        }
    }
    if (!t->atom)
        return refuse(t, "missing argument to repetition operator", at, (size_t)(end - at));
    if (count == INT32_MAX || (int64_t)count * t->atom > REPEAT_MAX)
        return refuse(t, "invalid repeat count", at, (size_t)(end - at));
    strbuf_appendn(t->out, at, (size_t)(end - at));
    t->p = end;
    if (*t->p == '?') /* lazy: the same texts match */
        t->p++;
    int32_t all = t->atom * count;
    atom_done(t, all, t->atom_size * (count - 1));
    t->atom = 0; /* Go refuses ** */
    if (*t->p && strchr("*+?", *t->p))
        return refuse(t, "invalid nested repetition operator", at, (size_t)(t->p + 1 - at));
    return 0;
}

static int read_group(struct translation *t)
{
    const char *at = t->p++;
    if (*t->p == '?') {
        const char *name_end;
        if (t->p[1] == ':') {
            t->p += 2;
        } else if ((str_starts(t->p, "?P<") || str_starts(t->p, "?<")) &&
                   (name_end = strchr(t->p, '>')) && !strchr("=!", t->p[2])) {
            t->p = name_end + 1;
        } else if (str_starts(t->p, "?i)") && at == t->start) {
            t->icase = true;
            t->p += 3;
            return 0;
        } else {
            return unsupported(t, at, MIN(strlen(at), (size_t)4));
        }
    }
    if (t->depth == NESTING_MAX)
        return unsupported(t, "((...))", 7);
    t->inner[++t->depth] = 1;
    t->sizes[t->depth] = 1;
    strbuf_appendc(t->out, '(');
    t->atom = 0;
    return 0;
}

static int read_one(struct translation *t)
{
    switch (*t->p) {
    case '\\': return read_escape(t);
    case '[': return read_bracket(t);
    case '(': return read_group(t);
    case '*':
    case '+':
    case '?':
    case '{': return read_repeat(t);
    case ')':
        if (t->depth == 0)
            return refuse(t, "unexpected )", t->start, strlen(t->start));
        strbuf_appendc(t->out, *t->p++);
        t->depth--;
        atom_done(t, t->inner[t->depth + 1], t->sizes[t->depth + 1]);
        return 0;
    case '|':
    case '^':
    case '$':
        strbuf_appendc(t->out, *t->p++);
        atom_done(t, 0, 1);
        return 0;
    case '.':
        strbuf_append(t->out, "[^\n]"); /* as in Go: all but the newline */
        t->p++;
        atom_done(t, 1, 1);
        return 0;
    default: emit_literal(t, *t->p++); return 0;
    }
}

static int regex_translate(const char *go, struct strbuf *posix, bool *ret_icase, struct kerr *err)
{
    struct translation t = { .start = go, .p = go, .out = posix, .err = err, .inner = { 1 } };

    while (*t.p) {
        int e = read_one(&t);
        if (e < 0)
            return e;
        if (t.sizes[t.depth] > SIZE_LIMIT)
            return refuse(&t, "expression too large", go, MIN(strlen(go), (size_t)100));
    }
    if (t.depth)
        return refuse(&t, "missing closing )", go, strlen(go));
    *ret_icase = t.icase;
    return 0;
}

int regex_new(const char *go, struct regex **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf posix = STRBUF_INIT;
    bool icase;
    int e = regex_translate(go, &posix, &icase, err);

    if (e < 0)
        return e;
    *ret = xnew0(struct regex);
    (*ret)->icase = icase;
    (*ret)->go = xstrdup(go);
    (*ret)->posix = posix.len ? strbuf_take(&posix) : xstrdup("");
    return 0;
}

struct regex *regex_free(struct regex *r)
{
    if (!r)
        return NULL;
    if (r->usable)
        regfree(&r->re);
    free(r->go);
    free(r->posix);
    free(r);
    return NULL;
}

bool regex_is(const struct regex *r, const char *go)
{
    return streq(r->go, go);
}

bool regex_match(struct regex *r, const char *s, size_t n)
{
    regmatch_t range = { .rm_so = 0, .rm_eo = (regoff_t)n };
    int flags = REG_EXTENDED | REG_NOSUB | (r->icase ? REG_ICASE : 0);

    if (!r->compiled) {
        r->compiled = true;
        r->usable = regcomp(&r->re, r->posix, flags) == 0;
    }
    /* glibc reads the range though it reports none. */
    return r->usable && n < INT32_MAX && regexec(&r->re, s, 0, &range, REG_STARTEND) == 0;
}

int regex_check(const char *go, struct kerr *err)
{
    CLEANUP(regex_free) struct regex *r = NULL;
    int e = regex_new(go, &r, err);

    if (e < 0)
        return e;
    (void)regex_match(r, "", 0);
    return r->usable ? 0 : unsupported(&(struct translation){ .err = err }, go, strlen(go));
}
