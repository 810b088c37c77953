/* num.c - numbers from and to text. */
#include "base/num.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static int digits_parse(const char *s, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    bool over = false;

    if (n == 0)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(unsigned char)s[i] - '0';
        if (d > 9)
            return -EINVAL; /* bad text wins over too large, wherever it stands */
        over |= __builtin_mul_overflow(v, 10, &v);
        over |= __builtin_add_overflow(v, d, &v);
    }
    if (over)
        return -ERANGE;
    *ret = v;
    return 0;
}

int i64_parse(const char *s, size_t n, int64_t *ret)
{
    bool sign = n > 0 && (s[0] == '-' || s[0] == '+'), neg = sign && s[0] == '-';
    uint64_t v = 0;
    int r = sign ? digits_parse(s + 1, n - 1, &v) : digits_parse(s, n, &v);

    if (r < 0)
        return r;
    if (v > (uint64_t)INT64_MAX + neg)
        return -ERANGE;
    *ret = (int64_t)(neg ? 0 - v : v);
    return 0;
}

int u64_parse(const char *s, size_t n, uint64_t *ret)
{
    return digits_parse(s, n, ret);
}

/* A decimal number taken apart: the first 19 significant digits, and where the point stands. */
struct decimal {
    uint64_t mant;
    int64_t exp10; /* value = mant * 10^exp10, exact when !cut */
    bool neg, cut;
};

static size_t digits_scan(const char *s, size_t n, size_t i, struct decimal *d, int exp_step)
{
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
        if (d->mant < UINT64_C(1000000000000000000)) {
            d->mant = d->mant * 10 + (uint64_t)(s[i] - '0');
            d->exp10 += exp_step;
        } else {
            d->cut = true;
            d->exp10 += 1 + exp_step;
        }
    }
    return i;
}

static int decimal_scan(const char *s, size_t n, struct decimal *d)
{
    size_t i = 0, digits, from;

    *d = (struct decimal){ 0 };
    if (n > 0 && (s[0] == '-' || s[0] == '+'))
        d->neg = s[i++] == '-';
    from = i;
    i = digits_scan(s, n, i, d, 0);
    digits = i - from;
    if (i < n && s[i] == '.') {
        from = ++i;
        i = digits_scan(s, n, i, d, -1);
        digits += i - from;
    }
    if (digits == 0)
        return -EINVAL;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        int64_t e;
        int r = i64_parse(s + i + 1, n - i - 1, &e);
        if (r == -EINVAL)
            return r;
        /* strtod() settles what a huge exponent means; here it only has to miss the fast path. */
        d->exp10 = r < 0 || e > 100000 || e < -100000 ? 100000 : d->exp10 + e;
        i = n;
    }
    return i == n ? 0 : -EINVAL;
}

static const double pow10_f64[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

int f64_parse(const char *s, size_t n, double *ret)
{
    char text[512];
    struct decimal d;
    int r = decimal_scan(s, n, &d);

    if (r < 0)
        return r;
    /* Both operands are exact doubles, so one operation rounds once: the right answer. */
    if (!d.cut && d.mant <= UINT64_C(1) << 53 && d.exp10 >= -22 && d.exp10 <= 22) {
        double v = (double)d.mant;
        v = d.exp10 < 0 ? v / pow10_f64[-d.exp10] : v * pow10_f64[d.exp10];
        *ret = d.neg ? -v : v;
        return 0;
    }
    if (n >= sizeof text)
        return -ERANGE;
    memcpy(text, s, n);
    text[n] = '\0';
    double v = strtod(text, NULL); /* no setlocale() anywhere: the point is a point */
    if (!isfinite(v))
        return -ERANGE;
    *ret = v;
    return 0;
}

/* Adds one unit to the last digit of "d.ddde+XX"; false when that would need another digit. */
static bool bump_last_digit(char *text)
{
    for (char *p = strchr(text, 'e') - 1; p >= text; p--) {
        if (*p == '.')
            continue;
        if (*p < '9') {
            ++*p;
            return true;
        }
        *p = '0';
    }
    return false;
}

/* The shortest d.ddd..e+XX that reads back as d (positive, finite, not zero). */
static void shortest(double d, char *text, size_t size)
{
    int exp2;
    bool power_of_two = frexp(d, &exp2) == 0.5;
    /* Any decimal of up to 15 digits survives a normal double, so a shorter form shows as zeros at
     * the end of the 15-digit one. Subnormals keep less and are tried from one digit on. */
    for (int digits = d < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        (void)snprintf(text, size, "%.*e", digits - 1, d);
        if (strtod(text, NULL) == d)
            return;
        /* Below a power of two doubles are twice as dense: the nearest decimal may miss while the
         * next one up still hits. */
        if (power_of_two && bump_last_digit(text) && strtod(text, NULL) == d)
            return;
    }
}

static size_t put(char *buf, size_t at, const char *s, size_t n)
{
    memcpy(buf + at, s, n);
    return at + n;
}

static size_t put_zeros(char *buf, size_t at, size_t n)
{
    memset(buf + at, '0', n);
    return at + n;
}

/* v with a point before its last `places` digits. */
static size_t put_fixed(char *buf, uint64_t v, int places)
{
    char text[32], *end = text + sizeof text, *at = end;

    for (int i = 0; v > 0 || i <= places; i++, v /= 10) {
        if (i == places && places > 0)
            *--at = '.';
        *--at = (char)('0' + v % 10);
    }
    size_t n = (size_t)(end - at);
    memcpy(buf, at, n);
    buf[n] = '\0';
    return n;
}

/* Most numbers people meet are a few digits long: n / 10^k with n of at most 15 digits. Such a
 * quotient is rounded once, so if it is d, then n with its point moved reads back as d; and no two
 * decimals of 15 digits share a double, so there is no shorter one. 0 when d is not of that kind.
 */
static size_t format_short(double d, char *buf)
{
    for (int k = 0; k <= 6; k++) {
        double scaled = d * pow10_f64[k];
        if (scaled >= 1e15)
            return 0;
        uint64_t n = (uint64_t)(scaled + 0.5);
        if ((double)n / pow10_f64[k] == d)
            return put_fixed(buf, n, k);
    }
    return 0;
}

size_t f64_format(double d, char *buf, size_t size)
{
    char text[40], digits[20];
    size_t at = 0, nd = 0;

    assert(size >= 32);
    if (!isfinite(d)) {
        const char *name = isnan(d) ? "NaN" : d > 0 ? "+Inf" : "-Inf";
        memcpy(buf, name, strlen(name) + 1);
        return strlen(name);
    }
    if (signbit(d))
        buf[at++] = '-';
    d = fabs(d);
    size_t n = format_short(d, buf + at);
    if (n > 0)
        return at + n;

    shortest(d, text, sizeof text);
    char *e = strchr(text, 'e');
    for (char *p = text; p < e; p++)
        if (*p != '.')
            digits[nd++] = *p;
    while (nd > 1 && digits[nd - 1] == '0')
        nd--;
    int exp10 = atoi(e + 1);
    if (d < 1e-6 || d >= 1e21) { /* where encoding/json changes to the exponent form */
        buf[at++] = digits[0];
        if (nd > 1) {
            buf[at++] = '.';
            at = put(buf, at, digits + 1, nd - 1);
        }
        return at + (size_t)snprintf(buf + at, size - at, "e%+d", exp10);
    }
    if (exp10 < 0) {
        at = put(buf, at, "0.", 2);
        at = put_zeros(buf, at, (size_t)(-exp10 - 1));
        at = put(buf, at, digits, nd);
    } else {
        size_t whole = (size_t)exp10 + 1;
        at = put(buf, at, digits, MIN(whole, nd));
        if (whole > nd)
            at = put_zeros(buf, at, whole - nd);
        if (nd > whole) {
            buf[at++] = '.';
            at = put(buf, at, digits + whole, nd - whole);
        }
    }
    buf[at] = '\0';
    return at;
}
