/* lib_format.c - format(): %s %d %f %e %b %o %x %X and %%. */
#include <math.h>
#include <stdio.h>

#include "cel/lib.h"

static int fail(struct strbuf *out, const char *fmt, ...) PRINTF(2, 3);
static int fail(struct strbuf *out, const char *fmt, ...)
{
    va_list ap;

    strbuf_reset(out);
    va_start(ap, fmt);
    strbuf_vappendf(out, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

static void quoted(struct str s, struct strbuf *out)
{
    strbuf_append_quoted(out, s.p, s.n);
}

static bool print_string(struct cel_run *r, struct cel_val v, bool inside, struct strbuf *out);

static bool print_list(struct cel_run *r, const struct cel_list *l, struct strbuf *out)
{
    const struct cel_val *items = cel_list_items(r->a, l);

    strbuf_appendc(out, '[');
    for (uint32_t i = 0; i < l->n && !r->cancelled; i++) {
        strbuf_append(out, i ? ", " : "");
        if (!print_string(r, items[i], true, out))
            return false;
    }
    strbuf_appendc(out, ']');
    return true;
}

struct pair {
    const char *key, *val;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static const char *printed(struct cel_run *r, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    return print_string(r, v, true, &b) ? arena_strndup(r->a, strbuf_str(&b), b.len) : NULL;
}

/* In the order of the keys as they are printed: 10 before 2. */
static bool print_map(struct cel_run *r, const struct cel_map *m, struct strbuf *out)
{
    const struct cel_entry *e = cel_map_sorted(r->a, m);
    struct pair *all = arena_newn0(r->a, m->n + 1, struct pair);

    for (uint32_t i = 0; i < m->n && !r->cancelled; i++) {
        uint8_t k = e[i].key.kind;
        if (k != CK_STRING && k != CK_BOOL && k != CK_INT && k != CK_UINT)
            return false;
        all[i] = (struct pair){ printed(r, e[i].key), printed(r, e[i].val) };
        if (!all[i].key || !all[i].val)
            return false;
    }
    if (r->cancelled)
        return true;
    qsort(all, m->n, sizeof *all, by_key);
    strbuf_appendc(out, '{');
    for (uint32_t i = 0; i < m->n; i++)
        strbuf_appendf(out, "%s%s:%s", i ? ", " : "", all[i].key, all[i].val);
    strbuf_appendc(out, '}');
    return true;
}

/* As a literal inside a list or map. */
static bool print_inside(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    switch (v.kind) {
    case CK_TIMESTAMP:
    case CK_DURATION:
        strbuf_append(out, v.kind == CK_DURATION ? "duration(\"" : "timestamp(\"");
        (void)cel_to_string(r, v, out);
        strbuf_append(out, "\")");
        return true;
    case CK_BYTES:
    case CK_STRING:
        strbuf_append(out, v.kind == CK_BYTES ? "b" : "");
        quoted(cel_str(v), out);
        return true;
    case CK_DOUBLE:
        if (isnan(v.d) || isinf(v.d))
            strbuf_append(out, isnan(v.d) ? "\"NaN\"" : v.d < 0 ? "\"-Inf\"" : "\"+Inf\"");
        else
            strbuf_appendf(out, "%.6f", v.d);
        return true;
    default: return cel_to_string(r, v, out);
    }
}

/* A value may hold another many times: each time is counted. */
static bool print_aggregate(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    bool list = v.kind == CK_LIST;

    if (!cel_enter(r, list ? v.list->n : v.map->n))
        return true;
    bool ok = list ? print_list(r, v.list, out) : print_map(r, v.map, out);
    cel_leave(r);
    return ok;
}

/* %s */
static bool print_string(struct cel_run *r, struct cel_val v, bool inside, struct strbuf *out)
{
    if (!cel_printing(r, out)) /* nobody looks at it any more */
        return true;
    (void)cel_work(r, v.kind == CK_STRING || v.kind == CK_BYTES ? v.n / 64 : 0);
    if (v.kind == CK_BYTES && !cel_is_utf8(cel_str(v)))
        return false;
    switch (v.kind) {
    case CK_LIST:
    case CK_MAP: return print_aggregate(r, v, out);
    case CK_TIMESTAMP:
    case CK_DURATION:
    case CK_STRING:
    case CK_BOOL:
    case CK_INT:
    case CK_UINT:
    case CK_DOUBLE:
    case CK_BYTES:
    case CK_TYPE:
    case CK_NULL: return inside ? print_inside(r, v, out) : cel_to_string(r, v, out);
    default: return false;
    }
}

/* Digits in groups of three, as the English locale has it. */
static void grouped(const char *digits, struct strbuf *out)
{
    size_t whole = strcspn(digits, ".");

    for (size_t i = 0; i < whole; i++) {
        strbuf_appendc(out, digits[i]);
        if (digits[i] != '-' && i + 1 < whole && (whole - i - 1) % 3 == 0)
            strbuf_appendc(out, ',');
    }
    strbuf_append(out, digits + whole);
}

static void print_fixed(double d, int precision, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (isnan(d) || isinf(d)) {
        strbuf_append(out, isnan(d) ? "NaN" : d < 0 ? "-\u221e" : "\u221e");
        return;
    }
    strbuf_appendf(&text, "%.*f", precision, d == 0 ? 0.0 : d); /* no sign of zero */
    grouped(strbuf_str(&text), out);
}

/* Upstream takes the precision for a width. */
static void print_scientific(double d, int width, struct strbuf *all)
{
    static const char *const raised[] = { "\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                          "\u2075", "\u2076", "\u2077", "\u2078", "\u2079" };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    char text[64];

    if (isnan(d) || isinf(d)) {
        strbuf_append(&out, isnan(d) ? "NaN" : d < 0 ? "-\u221e" : "\u221e");
    } else {
        (void)snprintf(text, sizeof text, "%.6e", d == 0 ? 0.0 : d);
        char *e = strchr(text, 'e');
        *e++ = '\0';
        strbuf_appendf(&out, "%s\u00d710%s", text, *e == '-' ? "\u207b" : "");
        for (e++; *e; e++)
            strbuf_append(&out, raised[*e - '0']);
    }
    for (size_t n = cel_runes((struct str){ out.data, out.len }); n < (size_t)width; n++)
        strbuf_appendc(all, ' ');
    strbuf_append(all, out.data);
}

static void print_base(uint64_t u, bool negative, unsigned base, bool upper, struct strbuf *out)
{
    char digits[65];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[u % base];
    } while (u /= base);
    strbuf_appendf(out, "%s%s", negative ? "-" : "", digits + at);
}

static void print_hex(struct str s, bool upper, struct strbuf *out)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char *to = strbuf_reserve(out, 2 * s.n);

    for (size_t i = 0; i < s.n; i++) {
        *to++ = digits[(unsigned char)s.p[i] >> 4];
        *to++ = digits[s.p[i] & 0xf];
    }
    *to = '\0';
    out->len += 2 * s.n;
}

/* Whole numbers, and for %b booleans, for %x texts. */
static bool print_number(struct cel_val v, char verb, struct strbuf *out)
{
    unsigned base = verb == 'b' ? 2 : verb == 'o' ? 8 : verb == 'd' ? 10 : 16;

    if (v.kind == CK_INT)
        print_base(v.i < 0 ? 0 - (uint64_t)v.i : (uint64_t)v.i, v.i < 0, base, verb == 'X', out);
    else if (v.kind == CK_UINT)
        print_base(v.u, false, base, verb == 'X', out);
    else if (v.kind == CK_BOOL && verb == 'b')
        strbuf_append(out, v.b ? "1" : "0");
    else if ((v.kind == CK_STRING || v.kind == CK_BYTES) && base == 16)
        print_hex(cel_str(v), verb == 'X', out);
    else
        return false;
    return true;
}

static const char *takes(char verb)
{
    switch (verb) {
    case 's':
        return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
               "lists, types, durations, and timestamps";
    case 'd': return "decimal clause can only be used on integers";
    case 'f': return "fixed-point clause can only be used on doubles";
    case 'e': return "scientific clause can only be used on doubles";
    case 'b': return "only integers and bools can be formatted as binary";
    case 'o': return "octal clause can only be used on integers";
    default: return "only integers, byte buffers, and strings can be formatted as hex";
    }
}

/* Texts that stand for what JSON has no number for. */
static bool is_word_of_double(struct cel_val v, double *ret)
{
    static const struct {
        const char *word;
        double d;
    } words[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

    for (size_t i = 0; v.kind == CK_STRING && i < ARRAY_LEN(words); i++) {
        if (str_eqz(cel_str(v), words[i].word)) {
            *ret = words[i].d;
            return true;
        }
    }
    return false;
}

static int clause(struct cel_run *r, char verb, int precision, struct cel_val v, struct strbuf *out)
{
    bool ok = false;
    double d;

    switch (verb) {
    case 's': ok = print_string(r, v, false, out); break;
    case 'f':
    case 'e':
        if (is_word_of_double(v, &d))
            v = cel_v_double(d);
        ok = v.kind == CK_DOUBLE;
        if (ok && verb == 'f')
            print_fixed(v.d, precision < 0 ? 6 : precision, out);
        else if (ok)
            print_scientific(v.d, precision < 0 ? 6 : precision, out);
        break;
    default: ok = print_number(v, verb, out); break;
    }
    return ok ? 0
              : fail(out, "error during formatting: %s, was given %s", takes(verb),
                     cel_type_name(v));
}

/* ".12" behind the percent sign. -1: none. */
static int read_precision(struct str fmt, size_t *at, int *ret, struct strbuf *out)
{
    size_t begin = *at + 1, i = begin;
    int64_t n = 0;
    bool large = false;

    *ret = -1;
    if (*at >= fmt.n || fmt.p[*at] != '.')
        return 0;
    for (; i < fmt.n && fmt.p[i] >= '0' && fmt.p[i] <= '9'; i++)
        large = large || __builtin_mul_overflow(n, INT64_C(10), &n) ||
                __builtin_add_overflow(n, (int64_t)(fmt.p[i] - '0'), &n);
    if (i == fmt.n)
        return fail(out, "could not parse formatting clause: error while parsing precision: could "
                         "not find end of precision specifier");
    if (i == begin || large)
        return fail(out,
                    "could not parse formatting clause: error while parsing precision: error "
                    "while converting precision to integer: strconv.Atoi: parsing \"%.*s\": %s",
                    (int)(i - begin), fmt.p + begin,
                    large ? "value out of range" : "invalid syntax");
    *ret = (int)(n % 256); /* upstream keeps it in a byte */
    *at = i;
    return 0;
}

/* Upstream takes the byte for a sign, which is then one of Latin-1. */
static int unknown_clause(unsigned char c, struct strbuf *out)
{
    char sign[3] = { (char)c };

    if (c >= 0x80) {
        sign[0] = (char)(0xc0 | c >> 6);
        sign[1] = (char)(0x80 | (c & 0x3f));
    }
    return fail(out, "could not parse formatting clause: unrecognized formatting clause \"%s\"",
                sign);
}

/* Twice as long as a text is its hexadecimal form. */
static bool has_room(struct cel_run *r, struct cel_val v)
{
    return !cel_is_text(v) || (cel_work(r, v.n / 64) && cel_room(r, 2ULL * v.n));
}

int cel_format_text(struct cel_run *r, struct str fmt, const struct cel_val *items, uint32_t n,
                    struct strbuf *out)
{
    uint32_t used = 0;

    for (size_t i = 0; i < fmt.n; i++) {
        int precision;
        if (fmt.p[i] != '%') {
            strbuf_appendc(out, fmt.p[i]);
            continue;
        }
        if (++i >= fmt.n)
            return fail(out, "unexpected end of string");
        if (fmt.p[i] == '%') {
            strbuf_appendc(out, '%');
            continue;
        }
        if (used >= n)
            return fail(out, "index %u out of range", used);
        if (!cel_printing(r, out) || !has_room(r, items[used]))
            return 0;
        int e = read_precision(fmt, &i, &precision, out);
        if (e < 0)
            return e;
        if (i >= fmt.n || !strchr("sdfeboxX", fmt.p[i]) || !fmt.p[i])
            return unknown_clause(i < fmt.n ? (unsigned char)fmt.p[i] : ' ', out);
        e = clause(r, fmt.p[i], precision, items[used++], out);
        if (e < 0)
            return e;
    }
    return 0; /* arguments that are left: check_format() complains where both are literals */
}
