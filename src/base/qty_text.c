/* qty_text.c - text forms of quantities, digit for digit as Kubernetes reads and writes them.
 *
 * Upstream has two representations, int64 with a scale and an arbitrary decimal at nano scale, and
 * which one a text gets shows from outside: in whether odd spellings are kept (qty_normalize) and
 * in whether a product "fits" (qty_mul). So we choose by the same conditions: "small" and "large"
 * below.
 */
#include <stdio.h>

#include "base/num.h"
#include "base/qty_wide.h"
#include "base/strbuf.h"

/* A quantity's text taken apart. */
struct scan {
    bool neg;
    const char *num, *frac; /* digits before (no leading zeros) and after the point */
    size_t num_len, frac_len;
    bool any_digit; /* "Gi" and "." have none, and are zero */
    struct str suffix;
};

struct unit {
    enum qty_format format;
    int exponent; /* of 2 for QTY_BINARY_SI, of 10 otherwise */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-] digits [. digits] letters [+-] digits; whether the suffix means anything is seen later. */
static bool scan_text(const char *s, size_t n, struct scan *sc)
{
    const char *p = n ? s : "", *end = p + n; /* no text may well be NULL */

    *sc = (struct scan){ 0 };
    if (p < end && (*p == '-' || *p == '+'))
        sc->neg = *p++ == '-';
    const char *digits = p;
    while (p < end && *p == '0')
        p++;
    sc->num = p;
    while (p < end && is_digit(*p))
        p++;
    sc->num_len = (size_t)(p - sc->num);
    sc->any_digit = p > digits;
    sc->frac = p;
    if (p < end && *p == '.') {
        sc->frac = ++p;
        while (p < end && is_digit(*p))
            p++;
        sc->frac_len = (size_t)(p - sc->frac);
        sc->any_digit |= sc->frac_len > 0;
    }
    sc->suffix.p = p;
    while (p < end && *p && strchr("eEinumkKMGTP", *p))
        p++;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    while (p < end && is_digit(*p))
        p++;
    sc->suffix.n = (size_t)(p - sc->suffix.p);
    return n > 0 && p == end;
}

static bool decimal_unit(char c, int *ret)
{
    switch (c) {
    case 'n': *ret = -9; return true;
    case 'u': *ret = -6; return true;
    case 'm': *ret = -3; return true;
    case 'k': *ret = 3; return true;
    case 'M': *ret = 6; return true;
    case 'G': *ret = 9; return true;
    case 'T': *ret = 12; return true;
    case 'P': *ret = 15; return true;
    case 'E': *ret = 18; return true;
    default: return false;
    }
}

static bool binary_unit(char c, int *ret)
{
    switch (c) {
    case 'K': *ret = 10; return true;
    case 'M': *ret = 20; return true;
    case 'G': *ret = 30; return true;
    case 'T': *ret = 40; return true;
    case 'P': *ret = 50; return true;
    case 'E': *ret = 60; return true;
    default: return false;
    }
}

static bool read_suffix(struct str suffix, struct unit *u)
{
    int64_t e;

    *u = (struct unit){ QTY_DECIMAL_SI, 0 };
    if (suffix.n == 0)
        return true;
    if (suffix.n == 1)
        return decimal_unit(suffix.p[0], &u->exponent);
    if (suffix.n == 2 && suffix.p[1] == 'i') {
        u->format = QTY_BINARY_SI;
        return binary_unit(suffix.p[0], &u->exponent);
    }
    u->format = QTY_DECIMAL_EXP;
    if ((suffix.p[0] != 'e' && suffix.p[0] != 'E') ||
        i64_parse(suffix.p + 1, suffix.n - 1, &e) < 0 || e > INT32_MAX || e < INT32_MIN)
        return false;
    u->exponent = (int)e;
    return true;
}

/* The i-th digit of the number with its point left out. */
static unsigned digit(const struct scan *sc, size_t i)
{
    return (unsigned)((i < sc->num_len ? sc->num[i] : sc->frac[i - sc->num_len]) - '0');
}

/* Upstream's rough test that num * 2^bits is far from leaving int64. */
static bool binary_is_small(size_t num_len, int bits)
{
    return (int64_t)MAX(num_len, (size_t)1) + bits * 3 / 10 + 1 <= 15;
}

static bool is_small(const struct scan *sc, struct unit u)
{
    if (u.format == QTY_BINARY_SI)
        return sc->frac_len == 0 && binary_is_small(sc->num_len, u.exponent);
    return MAX(sc->num_len, (size_t)1) + sc->frac_len <= 18 &&
           u.exponent - (int64_t)sc->frac_len >= QTY_NANO;
}

/* At most 18 digits. *ret_keep: the text is canonical but for a sign, zeros in front or a point
 * that upstream does not look at ("+1", "0001", "1.", "1.500"), so it stays as it was written. */
static bool read_small(const struct scan *sc, struct unit u, struct qty *ret, bool *ret_keep)
{
    int64_t v = 0, scale = 0;

    for (size_t i = 0; i < sc->num_len + sc->frac_len; i++)
        v = v * 10 + digit(sc, i);
    if (u.format == QTY_BINARY_SI) {
        *ret_keep = (v & 7) != 0;
        v <<= u.exponent;
    } else {
        scale = (int64_t)u.exponent - (int64_t)sc->frac_len;
        *ret_keep = scale % 3 == 0 && v % 1000 != 0 && sc->num_len > 0;
    }
    return qty_pack(sc->neg ? -v : v, scale, u.format, ret);
}

/* Any number of digits; below nano they are rounded up. */
static bool read_large_decimal(const struct scan *sc, struct unit u, struct qty *ret)
{
    size_t total = sc->num_len + sc->frac_len;
    int64_t scale = (int64_t)u.exponent - (int64_t)sc->frac_len;
    uint64_t below_nano = scale < QTY_NANO ? (uint64_t)(QTY_NANO - scale) : 0;
    uwide m = 0;
    bool rest = false;

    scale += (int64_t)below_nano;
    for (size_t i = 0; i < total; i++) {
        unsigned d = digit(sc, i);
        bool lost = total - i <= below_nano;
        if (!lost && m <= (uwide)QTY_MANT_MAX) {
            m = m * 10 + d;
            continue;
        }
        rest |= d != 0;
        scale += !lost;
    }
    m += rest;
    /* At nano scale, like upstream, or as near to it as 96 bits allow. */
    for (; scale > QTY_NANO && m != 0 && m <= QTY_MANT_MAX / 10; scale--)
        m *= 10;
    return qty_pack(sc->neg ? -(wide)m : (wide)m, scale, u.format, ret);
}

/* The fraction times 2^bits, in nano, rounded up: schoolbook multiplication from the last digit. */
static uwide fraction_nanos(const struct scan *sc, int bits)
{
    uwide factor = (uwide)1000000000 << bits, carry = 0;
    bool rest = false;

    for (size_t i = sc->frac_len; i-- > 0; carry /= 10) {
        carry += factor * (unsigned)(sc->frac[i] - '0');
        rest |= carry % 10 != 0;
    }
    return carry + rest;
}

/* Binary suffixes stop at 2^63-1: more than that is quietly that much. */
static void read_large_binary(const struct scan *sc, struct unit u, struct qty *ret)
{
    uint64_t whole = 0, limit = (uint64_t)INT64_MAX >> u.exponent;

    for (size_t i = 0; i < sc->num_len && whole <= limit; i++)
        whole = whole * 10 + digit(sc, i);
    uwide nanos = (uwide)INT64_MAX * 1000000000;
    uwide m = nanos + 1;
    if (whole <= limit)
        m = (uwide)(whole << u.exponent) * 1000000000 + fraction_nanos(sc, u.exponent);
    int scale = QTY_NANO;
    if (m > nanos) {
        m = INT64_MAX;
        scale = 0;
    }
    /* Below one it could only be shown in decimal, and so it counts as decimal from here on. */
    bool below_one = scale == QTY_NANO && m > 0 && m < 1000000000;
    *ret = qty_raw(sc->neg ? -(wide)m : (wide)m, scale, below_one ? QTY_DECIMAL_SI : QTY_BINARY_SI);
}

static int parse(const char *s, size_t n, struct qty *ret, bool *ret_keep, struct kerr *err)
{
    struct scan sc;
    struct unit u;
    char shown[64];
    const char *why = NULL;
    bool in_range = true;

    *ret_keep = false;
    if (!scan_text(s, n, &sc))
        why = "quantities must match the regular expression "
              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    else if (!read_suffix(sc.suffix, &u))
        why = "unable to parse quantity's suffix";
    else if (is_small(&sc, u))
        in_range = read_small(&sc, u, ret, ret_keep);
    else if (!sc.any_digit)
        why = "unable to parse numeric part of quantity";
    else if (u.format == QTY_BINARY_SI)
        read_large_binary(&sc, u, ret);
    else
        in_range = read_large_decimal(&sc, u, ret);
    if (why)
        return kerr_set(err, -EINVAL, "quantity %s: %s", text_quote(shown, sizeof shown, s, n),
                        why);
    if (!in_range)
        return kerr_set(err, -ERANGE, "quantity %s: beyond 1e155, the largest that koord can hold",
                        text_quote(shown, sizeof shown, s, n));
    return 0;
}

/* "100m", "2", "512Mi": nearly all quantities there are. Must agree with parse(). */
static bool parse_plain(const char *s, size_t n, struct qty *ret)
{
    uint64_t v = 0;
    size_t i = 0;
    int exponent = 0;

    if (n > 17)
        return false;
    for (; i < n && is_digit(s[i]); i++)
        v = v * 10 + (uint64_t)(s[i] - '0');
    if (i == 0 || i > 15)
        return false;
    enum qty_format format = QTY_DECIMAL_SI;
    if (n - i == 1) {
        if (!decimal_unit(s[i], &exponent))
            return false;
    } else if (n - i == 2) {
        if (s[i + 1] != 'i' || !binary_unit(s[i], &exponent) || !binary_is_small(i, exponent))
            return false;
        format = QTY_BINARY_SI;
        v <<= exponent;
        exponent = 0;
    } else if (n != i) {
        return false;
    }
    *ret = (struct qty){ .lo = v, .scale = (int8_t)(v ? exponent : 0), .format = (uint8_t)format };
    return true;
}

/* Spaces by Unicode. Control characters are no part of JSON text, and written as escapes Go does
 * not see them as spaces either. */
static const char *const spaces[] = {
    " ",      "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
    "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000",
};

/* How many bytes of a space the text begins or ends with; 0: none. */
static size_t space_at(struct str t, bool end)
{
    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        size_t k = strlen(spaces[i]);
        if (t.n >= k && memcmp(end ? t.p + t.n - k : t.p, spaces[i], k) == 0)
            return k;
    }
    return 0;
}

struct str qty_trim(const char *s, size_t n)
{
    struct str t = { s, n };

    if (LIKELY(n == 0 ||
               ((unsigned char)(s[0] - '!') < 0x5e && (unsigned char)(s[n - 1] - '!') < 0x5e)))
        return t; /* visible ASCII at both ends */
    for (size_t k; (k = space_at(t, false)) > 0;)
        t = (struct str){ t.p + k, t.n - k };
    for (size_t k; (k = space_at(t, true)) > 0;)
        t.n -= k;
    return t;
}

int qty_parse(const char *s, size_t n, struct qty *ret, struct kerr *err)
{
    struct qty q;
    bool keep;

    if (LIKELY(parse_plain(s, n, ret)))
        return 0;
    int r = parse(s, n, &q, &keep, err);
    if (r == 0)
        *ret = q;
    return r;
}

int qty_normalize(const char *s, size_t n, struct arena *a, const char **ret, struct kerr *err)
{
    struct qty q;
    bool keep;
    int r = parse(s, n, &q, &keep, err);

    if (r == 0)
        *ret = keep ? arena_strndup(a, s, n) : qty_format(q, a);
    return r;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Sign and digits of m, then the suffix. */
static size_t put(char *buf, bool neg, uwide m, const char *suffix)
{
    char digits[48], *end = digits + sizeof digits, *at = end;

    for (; m > UINT64_MAX; m /= 10)
        *--at = (char)('0' + (int)(m % 10));
    uint64_t low = (uint64_t)m;
    do
        *--at = (char)('0' + low % 10);
    while (low /= 10);
    if (neg)
        *--at = '-';
    size_t n = (size_t)(end - at), k = strlen(suffix);
    memcpy(buf, at, n);
    memcpy(buf + n, suffix, k + 1);
    return n + k;
}

/* In units of 1024. 0 when that form is not for this value: below 1024 or with a fraction. */
static size_t print_binary(uwide m, int scale, bool neg, char *buf)
{
    static const char *const suffixes[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    size_t unit = 0;

    for (; scale < 0; scale++, m /= 10)
        if (m % 10 != 0)
            return 0;
    for (; scale > 0; scale--)
        if (__builtin_mul_overflow(m, (uwide)10, &m))
            return 0;
    if (m < 1024)
        return 0;
    while (m % 1024 == 0 && unit + 1 < ARRAY_LEN(suffixes)) {
        m /= 1024;
        unit++;
    }
    return put(buf, neg, m, suffixes[unit]);
}

static size_t print_decimal(uwide m, int exponent, bool neg, bool si, char *buf)
{
    static const char *const suffixes[] = { "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
    char e[16];

    for (; m > UINT64_MAX && m % 10 == 0; exponent++)
        m /= 10;
    if (m <= UINT64_MAX) { /* nearly always, and much cheaper to divide */
        uint64_t low = (uint64_t)m;
        for (; low % 10 == 0; exponent++)
            low /= 10;
        m = low;
    }
    for (; exponent % 3 != 0; exponent--)
        m *= 10;
    /* Beyond E there is no suffix, so the exponent form has to do. */
    if (exponent == 0 || (si && exponent <= 18))
        return put(buf, neg, m, suffixes[exponent / 3 + 3]);
    (void)snprintf(e, sizeof e, "e%d", exponent);
    return put(buf, neg, m, e);
}

size_t qty_print(struct qty q, char *buf)
{
    wide m = qty_mant(q);
    size_t n = 0;

    if (m == 0) {
        memcpy(buf, "0", 2);
        return 1;
    }
    if (q.format == QTY_BINARY_SI)
        n = print_binary(wide_abs(m), q.scale, m < 0, buf);
    if (n == 0)
        n = print_decimal(wide_abs(m), q.scale, m < 0, q.format != QTY_DECIMAL_EXP, buf);
    return n;
}

const char *qty_format(struct qty q, struct arena *a)
{
    char text[QTY_TEXT_MAX];
    return arena_strndup(a, text, qty_print(q, text));
}
