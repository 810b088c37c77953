/* text.c - the small plain texts of labels and annotations: booleans, integers. */
#include "api/protocol/protocol.h"

bool label_is_true(const kstrmap *labels, const char *key)
{
    const char *v = kstrmap_get(labels, key);

    return v && streq(v, "true");
}

int bool_parse(const char *text, bool *ret, struct kerr *err)
{
    static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True" };
    static const char *const no[] = { "0", "f", "F", "FALSE", "false", "False" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (streq(text, yes[i]) || streq(text, no[i])) {
            *ret = streq(text, yes[i]);
            return 0;
        }
    }
    return kerr_set(err, -EINVAL, "parsing \"%s\": invalid syntax", text);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* The base of a literal, by its prefix; *p is moved behind it. */
static unsigned literal_base(const char **p)
{
    const char *s = *p;

    if (s[0] != '0' || s[1] == '\0')
        return 10;
    switch (s[1] | 0x20) {
    case 'x': *p += 2; return 16;
    case 'b': *p += 2; return 2;
    case 'o': *p += 2; return 8;
    default: *p += 1; return 8;
    }
}

/* Go's rule for base 0: an underscore stands between digits, or between a prefix and a digit. */
static bool digits_value(const char *p, unsigned base, bool after_prefix, int64_t *ret)
{
    bool digit_before = after_prefix, any = false;
    int64_t v = 0;

    for (; *p; p++) {
        unsigned d;

        if (*p == '_') {
            if (!digit_before || digit_of(p[1]) >= (int)base)
                return false;
            digit_before = false;
            continue;
        }
        d = (unsigned)digit_of(*p);
        if (d >= base)
            return false;
        if (v <= INT32_MAX) /* beyond that only "too large" matters */
            v = v * base + d;
        digit_before = any = true;
    }
    *ret = v;
    return any;
}

int int32_parse_any_base(const char *text, int32_t *ret, struct kerr *err)
{
    const char *p = text;
    bool negative = *p == '-';
    int64_t v;

    if (*p == '-' || *p == '+')
        p++;
    const char *start = p;
    unsigned base = literal_base(&p);
    if (!digits_value(p, base, p != start, &v))
        return kerr_set(err, -EINVAL, "parsing \"%s\": invalid syntax", text);
    if (negative)
        v = -v;
    if (v < INT32_MIN || v > INT32_MAX)
        return kerr_set(err, -ERANGE, "parsing \"%s\": value out of range", text);
    *ret = (int32_t)v;
    return 0;
}
