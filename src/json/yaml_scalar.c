/* yaml_scalar.c - what a plain YAML scalar means. */
#include "json/yaml_scalar.h"

#include "base/num.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    struct yaml_value value;
} words[] = {
    { "", { YK_NULL, { 0 } } },
    { "~", { YK_NULL, { 0 } } },
    { "null", { YK_NULL, { 0 } } },
    { "Null", { YK_NULL, { 0 } } },
    { "NULL", { YK_NULL, { 0 } } },
    { "true", { YK_BOOL, { true } } },
    { "True", { YK_BOOL, { true } } },
    { "TRUE", { YK_BOOL, { true } } },
    { "false", { YK_BOOL, { false } } },
    { "False", { YK_BOOL, { false } } },
    { "FALSE", { YK_BOOL, { false } } },
    { "yes", { YK_BOOL, { true } } },
    { "Yes", { YK_BOOL, { true } } },
    { "YES", { YK_BOOL, { true } } },
    { "no", { YK_BOOL, { false } } },
    { "No", { YK_BOOL, { false } } },
    { "NO", { YK_BOOL, { false } } },
    { "on", { YK_BOOL, { true } } },
    { "On", { YK_BOOL, { true } } },
    { "ON", { YK_BOOL, { true } } },
    { "off", { YK_BOOL, { false } } },
    { "Off", { YK_BOOL, { false } } },
    { "OFF", { YK_BOOL, { false } } },
    { ".nan", { YK_NOT_FINITE, { 0 } } },
    { ".NaN", { YK_NOT_FINITE, { 0 } } },
    { ".NAN", { YK_NOT_FINITE, { 0 } } },
    { ".inf", { YK_NOT_FINITE, { 0 } } },
    { ".Inf", { YK_NOT_FINITE, { 0 } } },
    { ".INF", { YK_NOT_FINITE, { 0 } } },
    { "+.inf", { YK_NOT_FINITE, { 0 } } },
    { "+.Inf", { YK_NOT_FINITE, { 0 } } },
    { "+.INF", { YK_NOT_FINITE, { 0 } } },
    { "-.inf", { YK_NOT_FINITE, { 0 } } },
    { "-.Inf", { YK_NOT_FINITE, { 0 } } },
    { "-.INF", { YK_NOT_FINITE, { 0 } } },
};

static bool resolve_word(const char *s, size_t n, struct yaml_value *ret)
{
    if (n > 5)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eqz((struct str){ s, n }, words[i].text)) {
            *ret = words[i].value;
            return true;
        }
    return false;
}

/* ---- times ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One or two digits, up to max. */
static bool eat_2digits(const char **p, const char *end, int min, int max, int *ret)
{
    int v = 0, digits = 0;

    while (*p < end && digits < 2 && is_digit(**p)) {
        v = v * 10 + (*(*p)++ - '0');
        digits++;
    }
    *ret = v;
    return digits > 0 && v >= min && v <= max;
}

static bool eat(const char **p, const char *end, char c)
{
    if (*p == end || **p != c)
        return false;
    ++*p;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool eat_clock(const char **p, const char *end)
{
    int v;

    if (!eat_2digits(p, end, 0, 23, &v) || !eat(p, end, ':') || !eat_2digits(p, end, 0, 59, &v) ||
        !eat(p, end, ':') || !eat_2digits(p, end, 0, 59, &v))
        return false;
    if (*p < end && (**p == '.' || **p == ',')) {
        const char *digits = ++*p;
        while (*p < end && is_digit(**p))
            ++*p;
        return *p > digits;
    }
    return true;
}

static bool eat_zone(const char **p, const char *end)
{
    const char *z = *p;

    if (eat(p, end, 'Z'))
        return true;
    if (end - z < 6 || (z[0] != '+' && z[0] != '-') || z[3] != ':' || !is_digit(z[1]) ||
        !is_digit(z[2]) || !is_digit(z[4]) || !is_digit(z[5]))
        return false;
    *p += 6;
    return (z[1] - '0') * 10 + z[2] - '0' <= 24 && z[4] < '6';
}

/* Dates and RFC 3339 times with short fields; they stay strings but are quoted when written. */
static bool is_timestamp(const char *s, size_t n)
{
    const char *p = s, *end = s + n;
    int year = 0, month, day;

    if (n < 8)
        return false;
    for (; p < s + 4; p++) {
        if (!is_digit(*p))
            return false;
        year = year * 10 + (*p - '0');
    }
    if (!eat(&p, end, '-') || !eat_2digits(&p, end, 1, 12, &month) || !eat(&p, end, '-') ||
        !eat_2digits(&p, end, 1, 31, &day) || day > days_in_month(year, month))
        return false;
    if (p == end)
        return true;
    char sep = *p++;
    if (sep == ' ')
        return eat_clock(&p, end) && p == end;
    return (sep == 'T' || sep == 't') && eat_clock(&p, end) && eat_zone(&p, end) && p == end;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool resolve_int(const char *s, size_t n, struct yaml_value *ret)
{
    bool sign = n > 0 && (s[0] == '+' || s[0] == '-'), neg = sign && s[0] == '-';
    unsigned base = 10;
    uint64_t v = 0;

    s += sign;
    n -= sign;
    if (n > 1 && s[0] == '0') {
        char c = s[1] | 0x20;
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        size_t prefix = c == 'x' || c == 'b' || c == 'o' ? 2 : 1;
        s += prefix;
        n -= prefix;
    }
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i] | 0x20;
        unsigned digit = is_digit(s[i])         ? (unsigned)(s[i] - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 99;
        if (digit >= base || __builtin_mul_overflow(v, base, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (neg && v > (uint64_t)INT64_MAX + 1)
        return false;
    if (neg && v > 0)
        *ret = (struct yaml_value){ .kind = YK_I64, .i = (int64_t)(0 - v) };
    else
        *ret = (struct yaml_value){ .kind = YK_U64, .u = v };
    return true;
}

static bool resolve_float(const char *s, size_t n, struct yaml_value *ret)
{
    if (f64_parse(s, n, &ret->f) < 0)
        return false;
    ret->kind = YK_F64;
    return true;
}

/* 1:30:00 */
static bool is_base60(const char *s, size_t n)
{
    size_t i = n > 0 && (s[0] == '+' || s[0] == '-'), groups = 0;

    if (i == n || !is_digit(s[i]))
        return false;
    while (i < n && (is_digit(s[i]) || s[i] == '_'))
        i++;
    while (i < n && s[i] == ':') {
        size_t digits = 0;
        for (i++; i < n && is_digit(s[i]) && digits < 2; i++)
            digits++;
        if (digits == 0 || (digits == 2 && s[i - 2] > '5'))
            return false;
        groups++;
    }
    if (i < n && s[i] == '.')
        for (i++; i < n && (is_digit(s[i]) || s[i] == '_'); i++)
            continue;
    return groups > 0 && i == n;
}

struct yaml_value yaml_resolve(const char *s, size_t n)
{
    struct yaml_value v = { .kind = YK_STR };
    char plain[512];
    size_t len = 0;

    if (resolve_word(s, n, &v))
        return v;
    if (n >= sizeof plain || !memchr("+-.0123456789", s[0], 13))
        return (struct yaml_value){ .kind = YK_STR };
    if (is_timestamp(s, n))
        return (struct yaml_value){ .kind = YK_TIMESTAMP };
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_')
            plain[len++] = s[i];
    if (resolve_int(plain, len, &v) || resolve_float(plain, len, &v))
        return v;
    return (struct yaml_value){ .kind = YK_STR };
}

bool yaml_is_ambiguous(const char *s, size_t n)
{
    return yaml_resolve(s, n).kind != YK_STR || is_base60(s, n) ||
           (n == 1 && memchr("yYnN", s[0], 4)) || (n == 2 && memcmp(s, "<<", 2) == 0);
}
