/* field.c - field selectors: "a=b,c!=d", with \, \= and \\ inside values. */
#include "api/selector/selector.h"

struct fieldterm {
    const char *field, *value;
    bool equal;
};
struct fieldsel {
    struct fieldterm *terms;
    uint32_t n;
};

/* The end of the term that starts at p: the next comma without a backslash, or the end. */
static const char *term_end(const char *p, const char *end)
{
    for (bool escaped = false; p < end; p++) {
        if (escaped)
            escaped = false;
        else if (*p == '\\')
            escaped = true;
        else if (*p == ',')
            break;
    }
    return p;
}

static int unescape(struct str in, struct arena *a, const char **ret, struct kerr *err)
{
    char *out = arena_alloc(a, in.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c == '\\') {
            if (++i == in.n || !strchr("\\,=", in.p[i]) || !in.p[i])
                return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                                "invalid field selector: invalid escape sequence in value '%.*s'",
                                (int)MIN(in.n, (size_t)100), in.p);
            c = in.p[i];
        } else if (c == ',' || c == '=') {
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "invalid field selector: unescaped character in value: %c", c);
        }
        out[n++] = c;
    }
    out[n] = '\0';
    *ret = out;
    return 0;
}

static int parse_term(struct str term, struct arena *a, struct fieldterm *ret, struct kerr *err)
{
    for (size_t i = 0; i < term.n; i++) {
        bool not_equal = term.p[i] == '!' && i + 1 < term.n && term.p[i + 1] == '=';
        if (!not_equal && term.p[i] != '=')
            continue;
        size_t op = not_equal || (i + 1 < term.n && term.p[i + 1] == '=') ? 2 : 1;
        ret->field = arena_strndup(a, term.p, i);
        ret->equal = !not_equal;
        return unescape((struct str){ term.p + i + op, term.n - i - op }, a, &ret->value, err);
    }
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "invalid selector: '%.*s'; can't understand it as field=value",
                    (int)MIN(term.n, (size_t)100), term.p);
}

/* In the order of their text, as the API server prints them. */
static int cmp_term(const void *x, const void *y)
{
    const struct str *a = x, *b = y;
    int c = memcmp(a->p, b->p, MIN(a->n, b->n));
    return c ? c : a->n < b->n ? -1 : a->n > b->n;
}

int fieldsel_parse(const char *text, size_t n, struct arena *a, struct fieldsel **ret,
                   struct kerr *err)
{
    const char *end = text + n;
    size_t max = 1;

    if (n && memchr(text, '\0', n))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "a selector cannot contain a NUL byte");
    for (size_t i = 0; i < n; i++)
        max += text[i] == ',';
    struct str *parts = arena_newn0(a, max, struct str);
    size_t nparts = 0;
    for (const char *p = text; p < end; p++) {
        const char *stop = term_end(p, end);
        if (stop > p)
            parts[nparts++] = (struct str){ p, (size_t)(stop - p) };
        p = stop;
    }
    if (nparts)
        qsort(parts, nparts, sizeof *parts, cmp_term);
    struct fieldsel *s = arena_new0(a, struct fieldsel);
    s->terms = arena_newn0(a, nparts, struct fieldterm);
    for (; s->n < nparts; s->n++) {
        int r = parse_term(parts[s->n], a, &s->terms[s->n], err);
        if (r < 0)
            return r;
    }
    *ret = s;
    return 0;
}

bool fieldsel_matches(const struct fieldsel *s, fieldsel_get_fn get, const void *obj)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const char *have = str_or(get(obj, s->terms[i].field), "");
        if (streq(have, s->terms[i].value) != s->terms[i].equal)
            return false;
    }
    return true;
}

void fieldsel_format(const struct fieldsel *s, struct strbuf *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (i)
            strbuf_appendc(out, ',');
        strbuf_append(out, s->terms[i].field);
        strbuf_append(out, s->terms[i].equal ? "=" : "!=");
        for (const char *v = s->terms[i].value; *v; v++) {
            if (strchr("\\,=", *v))
                strbuf_appendc(out, '\\');
            strbuf_appendc(out, *v);
        }
    }
}

const char *fieldsel_field(const struct fieldsel *s, size_t i)
{
    return i < s->n ? s->terms[i].field : NULL;
}
