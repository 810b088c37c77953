/* re_class.c - classes of characters and escapes in patterns. */
#include "cel/re_int.h"

#include <ctype.h>

static const struct named {
    const char *name, *members; /* pairs of first and last */
} posix_classes[] = {
    { "alnum", "09AZaz" },  { "alpha", "AZaz" },     { "ascii", NULL },     { "blank", "\t\t  " },
    { "cntrl", NULL },      { "digit", "09" },       { "graph", "!~" },     { "lower", "az" },
    { "print", " ~" },      { "punct", "!/:@[`{~" }, { "space", "\t\r  " }, { "upper", "AZ" },
    { "word", "09AZaz__" }, { "xdigit", "09AFaf" },
};

int re_refuse(struct kerr *err, const char *why, const char *part, size_t n)
{
    return kerr_set(err, -EINVAL, "error parsing regexp: %s: `%.*s`", why, (int)MIN(n, (size_t)180),
                    part);
}

static void add(struct re_cursor *c, struct re_set *out, uint32_t lo, uint32_t hi)
{
    if (c->fold)
        re_set_add_folded(out, lo, hi);
    else
        re_set_add(out, lo, hi);
}

/* What is in `part`, or everything else, joins `out`; `part` is used up. */
static void join(struct re_set *out, struct re_set *part, bool negated)
{
    re_set_clean(part);
    if (negated)
        re_set_negate(part);
    for (size_t i = 0; i < part->n; i++)
        re_set_add(out, part->items[i].lo, part->items[i].hi);
    vec_fini(part);
}

static void join_members(struct re_cursor *c, struct re_set *out, const char *members, bool negated)
{
    struct re_set part = { 0 };

    for (; *members; members += 2)
        add(c, &part, (unsigned char)members[0], (unsigned char)members[1]);
    join(out, &part, negated);
}

static const char *perl_members(char c)
{
    switch (c) {
    case 'd': return "09";
    case 'w': return "09AZaz__";
    case 's': return "\t\n\f\r  ";
    default: return NULL;
    }
}

/* \pL and \p{^Greek}; the cursor at the backslash. */
static int unicode_class(struct re_cursor *c, struct re_set *out)
{
    const char *at = c->p, *name = at + 2, *name_end;
    bool negated = at[1] == 'P';
    struct re_set part = { 0 };

    if (name >= c->end)
        return re_refuse(c->err, "invalid character class range", at, (size_t)(c->end - at));
    if (*name == '{') {
        name++;
        name_end = memchr(name, '}', (size_t)(c->end - name));
        if (!name_end)
            return re_refuse(c->err, "invalid character class range", at, (size_t)(c->end - at));
        c->p = name_end + 1;
    } else {
        unsigned len;
        (void)re_rune(name, (size_t)(c->end - name), &len);
        c->p = name_end = name + len;
    }
    if (name < name_end && *name == '^') {
        negated = !negated;
        name++;
    }
    if (!re_set_add_named(&part, name, (size_t)(name_end - name))) {
        vec_fini(&part);
        return re_refuse(c->err, "invalid character class range", at, (size_t)(c->p - at));
    }
    if (c->fold) {
        size_t n = part.n;
        for (size_t i = 0; i < n; i++) {
            struct re_range r = part.items[i];
            re_set_add_folded(&part, r.lo, r.hi);
        }
    }
    join(out, &part, negated);
    return 1;
}

int re_class_escape(struct re_cursor *c, struct re_set *out)
{
    if (c->end - c->p < 2 || *c->p != '\\')
        return 0;
    if (c->p[1] == 'p' || c->p[1] == 'P')
        return unicode_class(c, out);
    const char *members = perl_members((char)tolower((unsigned char)c->p[1]));
    if (!members)
        return 0;
    join_members(c, out, members, isupper((unsigned char)c->p[1]));
    c->p += 2;
    return 1;
}

int re_plain_rune(struct re_cursor *c, uint32_t *ret)
{
    unsigned len;

    *ret = re_rune(c->p, (size_t)(c->end - c->p), &len);
    if (*ret == RE_RUNE_BAD && len == 1)
        return re_refuse(c->err, "invalid UTF-8", c->p, (size_t)(c->end - c->p));
    c->p += len;
    return 0;
}

static int hex_value(char ch)
{
    return isdigit((unsigned char)ch) ? ch - '0' : tolower((unsigned char)ch) - 'a' + 10;
}

/* The digits behind \x; false: none, or too many. */
static bool read_hex(struct re_cursor *c, uint32_t *ret)
{
    uint32_t v = 0;
    int digits = 0;
    bool braces = c->p < c->end && *c->p == '{';

    for (c->p += braces; c->p < c->end && isxdigit((unsigned char)*c->p); c->p++, digits++) {
        if (!braces && digits == 2)
            break;
        v = v * 16 + (uint32_t)hex_value(*c->p);
        if (v > RE_RUNE_MAX)
            return false;
    }
    *ret = v;
    if (!braces)
        return digits == 2;
    if (digits == 0 || c->p >= c->end || *c->p != '}')
        return false;
    c->p++;
    return true;
}

int re_escaped_rune(struct re_cursor *c, uint32_t *ret)
{
    static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
    const char *at = c->p++, *known;
    uint32_t r;

    if (c->p == c->end)
        return re_refuse(c->err, "trailing backslash at end of expression", "", 0);
    int e = re_plain_rune(c, &r);
    if (e < 0)
        return e;
    *ret = r;
    if (r < 128 && ispunct((int)r))
        return 0;
    if (r < 128 && (known = strchr(from, (int)r)) && *known) {
        *ret = (unsigned char)to[known - from];
        return 0;
    }
    if (r == 'x' && read_hex(c, ret))
        return 0;
    bool octal_follows = c->p < c->end && *c->p >= '0' && *c->p <= '7';
    if (r == '0' || (r >= '1' && r <= '7' && octal_follows)) {
        *ret = r - '0';
        for (int i = 0; i < 2 && c->p < c->end && *c->p >= '0' && *c->p <= '7'; i++)
            *ret = *ret * 8 + (uint32_t)(*c->p++ - '0');
        return 0;
    }
    return re_refuse(c->err, "invalid escape sequence", at, (size_t)MIN(c->p - at, c->end - at));
}

static int posix_class(struct re_cursor *c, struct re_set *out)
{
    const char *at = c->p, *name = at + 2, *close = NULL;

    for (const char *q = name; q + 1 < c->end; q++) {
        if (q[0] == ':' && q[1] == ']') {
            close = q;
            break;
        }
    }
    if (!close)
        return 0;
    bool negated = *name == '^';
    name += negated;
    for (size_t i = 0; i < ARRAY_LEN(posix_classes); i++) {
        if (!str_eqz((struct str){ name, (size_t)(close - name) }, posix_classes[i].name))
            continue;
        c->p = close + 2;
        if (posix_classes[i].members) {
            join_members(c, out, posix_classes[i].members, negated);
            return 1;
        }
        struct re_set part = { 0 };
        re_set_add(&part, 0, streq(posix_classes[i].name, "ascii") ? 0x7f : 0x1f);
        re_set_add(&part, 0x7f, 0x7f);
        join(out, &part, negated);
        return 1;
    }
    return re_refuse(c->err, "invalid character class range", at, (size_t)(close + 2 - at));
}

static int class_rune(struct re_cursor *c, const char *open, uint32_t *ret)
{
    if (c->p >= c->end)
        return re_refuse(c->err, "missing closing ]", open, (size_t)(c->end - open));
    return *c->p == '\\' ? re_escaped_rune(c, ret) : re_plain_rune(c, ret);
}

static int class_member(struct re_cursor *c, const char *open, struct re_set *out)
{
    const char *at = c->p;
    uint32_t lo, hi;

    if (c->end - at > 2 && at[0] == '[' && at[1] == ':') {
        int e = posix_class(c, out);
        if (e)
            return e;
    }
    int e = re_class_escape(c, out);
    if (e)
        return e;
    e = class_rune(c, open, &lo);
    if (e < 0)
        return e;
    hi = lo;
    if (c->end - c->p >= 2 && c->p[0] == '-' && c->p[1] != ']') {
        c->p++;
        e = class_rune(c, open, &hi);
        if (e < 0)
            return e;
        if (hi < lo)
            return re_refuse(c->err, "invalid character class range", at, (size_t)(c->p - at));
    }
    add(c, out, lo, hi);
    return 1;
}

int re_class_bracket(struct re_cursor *c, struct re_set *out)
{
    const char *open = c->p++;
    struct re_set set = { 0 };
    bool negated = c->p < c->end && *c->p == '^';

    c->p += negated;
    for (bool first = true; c->p >= c->end || *c->p != ']' || first; first = false) {
        int e = c->p < c->end
                    ? class_member(c, open, &set)
                    : re_refuse(c->err, "missing closing ]", open, (size_t)(c->end - open));
        if (e < 0) {
            vec_fini(&set);
            return e;
        }
    }
    c->p++;
    join(out, &set, negated);
    return 0;
}
