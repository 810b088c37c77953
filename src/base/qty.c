/* qty.c - arithmetic on quantities. */
#include <stdio.h>

#include "base/qty_wide.h"

/* Multiplying anything up to this by ten stays inside 128 bits. */
#define WIDE_ROOM ((wide)10000000000000000000U * 1000000000000000000)

static const int64_t pow10_i64[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

/* Away from zero, the way quantities round everywhere: whoever asks for something gets it. */
static wide div_away(wide m, int64_t by)
{
    wide q = m / by, rest = m % by;
    return rest == 0 ? q : m > 0 ? q + 1 : q - 1;
}

bool qty_pack(wide m, int64_t scale, unsigned format, struct qty *ret)
{
    for (; wide_abs(m) > QTY_MANT_MAX; scale++)
        m = div_away(m, 10);
    for (; m != 0 && scale > QTY_SCALE_MAX; scale--) {
        if (wide_abs(m) > QTY_MANT_MAX / 10) {
            *ret = qty_raw(m > 0 ? QTY_MANT_MAX : -QTY_MANT_MAX, QTY_SCALE_MAX, format);
            return false;
        }
        m *= 10;
    }
    *ret = qty_raw(m, (int)scale, format);
    return true;
}

static struct qty pack(wide m, int scale, unsigned format)
{
    struct qty q;
    (void)qty_pack(m, scale, format, &q); /* saturates */
    return q;
}

struct qty qty_from_i64(int64_t value, enum qty_format format)
{
    return qty_raw(value, 0, format);
}

struct qty qty_from_milli(int64_t milli, enum qty_format format)
{
    return qty_raw(milli, -3, format);
}

/* In units of 10^scale; false when the answer had to be saturated. */
static bool to_i64(struct qty q, int scale, int64_t *ret)
{
    wide m = qty_mant(q);
    int up = q.scale - scale;

    /* Six digits over int64's nineteen: enough to see that it will not fit, far from overflow. */
    for (; up > 0 && m != 0 && wide_abs(m) < (uwide)pow10_i64[18] * 1000000; up--)
        m *= 10;
    for (; up < 0 && m != 0; up += 18) {
        m = div_away(m, pow10_i64[MIN(-up, 18)]);
        if (m == 1 || m == -1)
            break; /* dividing on would give the same */
    }
    *ret = m > INT64_MAX ? INT64_MAX : m < INT64_MIN ? INT64_MIN : (int64_t)m;
    return *ret == m;
}

int64_t qty_scaled(struct qty q, int scale)
{
    int64_t v;
    (void)to_i64(q, scale, &v);
    return v;
}

bool qty_fits_i64(struct qty q, int scale)
{
    int64_t v;
    return to_i64(q, scale, &v);
}

int64_t qty_value(struct qty q)
{
    return qty_scaled(q, 0);
}

int64_t qty_milli(struct qty q)
{
    return qty_scaled(q, -3);
}

double qty_f64(struct qty q)
{
    wide m = qty_mant(q);
    char digits[48], text[64], *at = digits + sizeof digits;

    /* Exact operands and one operation: correctly rounded. */
    if (wide_abs(m) <= (uwide)1 << 53 && q.scale <= 0 && q.scale >= -18)
        return (double)(int64_t)m / (double)pow10_i64[-q.scale];
    uwide u = wide_abs(m);
    *--at = '\0';
    do
        *--at = (char)('0' + (int)(u % 10));
    while (u /= 10);
    (void)snprintf(text, sizeof text, "%s%se%d", m < 0 ? "-" : "", at, q.scale);
    return strtod(text, NULL);
}

int qty_sign(struct qty q)
{
    return q.hi < 0 ? -1 : !qty_is_zero(q);
}

int qty_cmp(struct qty a, struct qty b)
{
    wide x = qty_mant(a), y = qty_mant(b);
    int sx = qty_sign(a), sy = qty_sign(b);

    if (a.scale == b.scale || sx != sy)
        return a.scale == b.scale ? (x > y) - (x < y) : sx < sy ? -1 : 1;
    /* Same sign, not zero. Once a raised side has outgrown every mantissa it stays the larger. */
    int up = a.scale - b.scale;
    for (; up > 0 && wide_abs(x) <= QTY_MANT_MAX; up--)
        x *= 10;
    for (; up < 0 && wide_abs(y) <= QTY_MANT_MAX; up++)
        y *= 10;
    return (x > y) - (x < y);
}

struct qty qty_neg(struct qty q)
{
    return qty_raw(-qty_mant(q), q.scale, q.format);
}

struct qty qty_add(struct qty a, struct qty b)
{
    if (qty_is_zero(a))
        return b;
    if (qty_is_zero(b))
        return a;
    wide x = qty_mant(a), y = qty_mant(b);
    if (LIKELY(a.scale == b.scale))
        return pack(x + y, a.scale, a.format);
    int scale = MAX(a.scale, b.scale), low = MIN(a.scale, b.scale);
    wide coarse = a.scale > b.scale ? x : y, fine = a.scale > b.scale ? y : x;
    for (; scale > low && wide_abs(coarse) <= WIDE_ROOM; scale--)
        coarse *= 10;
    /* The coarse side is at its limit: it decides all the digits that a result can keep. */
    for (int down = scale - low; down > 0 && wide_abs(fine) > 1; down--)
        fine = div_away(fine, 10);
    return pack(coarse + fine, scale, a.format);
}

struct qty qty_sub(struct qty a, struct qty b)
{
    return qty_add(a, qty_neg(b));
}

struct qty qty_mul(struct qty a, int64_t n, bool *ret_fits)
{
    wide m = qty_mant(a), r;
    int scale = a.scale;
    bool over = __builtin_mul_overflow(m, (wide)n, &r);

    if (over) { /* 95 and 63 bits: in two parts, of which the upper loses its last ten zeros */
        const int64_t part = pow10_i64[10];
        r = m / part * n + div_away(m % part * n, part);
        scale += 10;
    }
    if (ret_fits)
        *ret_fits = !over && r >= INT64_MIN && r <= INT64_MAX;
    return pack(r, scale, a.format);
}
