/* num.h - arithmetic on numbers from outside: checked, saturating, through 128 bits. */
#ifndef KOORD_BASE_NUM_H
#define KOORD_BASE_NUM_H
#include "base/base.h"

static inline int64_t i64_add_sat(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return r;
}
static inline int64_t i64_sub_sat(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return r;
}
static inline int64_t i64_mul_sat(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
    return r;
}
/* a * b / c without losing the high bits: node capacity times a percentage, shares by weight. */
static inline int64_t i64_muldiv(int64_t a, int64_t b, int64_t c)
{
    __extension__ __int128 r = (__int128)a * b / c; /* c != 0 is the caller's promise */
    return r > INT64_MAX ? INT64_MAX : r < INT64_MIN ? INT64_MIN : (int64_t)r;
}
/* As Go converts on amd64, but defined for every input: out of range clamps, NaN is 0. */
static inline int64_t i64_from_f64(double d)
{
    if (d != d)
        return 0;
    if (d >= 9223372036854775808.0)
        return INT64_MAX;
    if (d < -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)d;
}

/* The whole text is a decimal integer (no blanks; a sign only for i64) that fits: 0, else -EINVAL
 * or -ERANGE. */
int i64_parse(const char *s, size_t n, int64_t *ret);
int u64_parse(const char *s, size_t n, uint64_t *ret);
/* A JSON/Go style decimal floating number, whole text: 0, -EINVAL, or -ERANGE when it is not
 * finite or longer than 511 characters. */
int f64_parse(const char *s, size_t n, double *ret);
/* Shortest text that reads back as the same double, as Go's encoding/json writes it: exponents
 * below 1e-6 and from 1e21 on. NaN, +Inf and -Inf by these names. size >= 32; NUL-terminated. */
size_t f64_format(double d, char *buf, size_t size);
#endif
