/* qty.h - Kubernetes quantities: "100m", "1.5Gi", "2e3". Exact; no floating point anywhere.
 *
 * A value is mantissa * 10^scale with a 96-bit signed mantissa, 16 bytes in all, passed by value.
 * Zero bytes are the quantity 0 in decimal format. A value that needs more than 96 bits (28 digits)
 * is rounded away from zero to what fits; results beyond 1e155 saturate there.
 */
#ifndef KOORD_BASE_QTY_H
#define KOORD_BASE_QTY_H
#include "base/arena.h"
#include "base/base.h"

enum qty_format { QTY_DECIMAL_SI, QTY_BINARY_SI, QTY_DECIMAL_EXP };

struct qty {
    uint64_t lo; /* low 64 bits of the mantissa (two's complement over 96 bits) */
    int32_t hi;  /* its high 32 bits, with the sign */
    int8_t scale;
    uint8_t format; /* enum qty_format */
    uint16_t reserved;
};
_Static_assert(sizeof(struct qty) == 16, "quantities are kept by the hundred thousand");

/* -EINVAL for what Kubernetes refuses, -ERANGE beyond 1e155. Finer than nano is rounded up, and
 * values with a binary suffix stop at 2^63-1, as there. Spaces are not trimmed. */
int qty_parse(const char *s, size_t n, struct qty *ret, struct kerr *err);
/* The text of a JSON string without the spaces around it: Go's decoder of quantities, and only
 * that, trims them before it parses. */
struct str qty_trim(const char *s, size_t n);
struct qty qty_from_i64(int64_t value, enum qty_format format);
struct qty qty_from_milli(int64_t milli, enum qty_format format);
/* Canonical text: suffix of the format, largest that leaves no fraction. Arena-owned. */
const char *qty_format(struct qty q, struct arena *a);
/* The same into a buffer of at least QTY_TEXT_MAX bytes; returns its length. */
enum { QTY_TEXT_MAX = 64 };
size_t qty_print(struct qty q, char *buf);
/* What the API server stores for this text: it keeps text that needs no other change ("+1", "010m",
 * "1.", "1.500"), and rewrites the rest canonically. */
int qty_normalize(const char *s, size_t n, struct arena *a, const char **ret, struct kerr *err);

int64_t qty_value(struct qty q);             /* rounded away from zero, saturating */
int64_t qty_milli(struct qty q);             /* the same of the value times 1000 */
int64_t qty_scaled(struct qty q, int scale); /* in units of 10^scale, as qty_value rounds */
bool qty_fits_i64(struct qty q, int scale);  /* would qty_scaled() be free of saturation? */
double qty_f64(struct qty q);                /* the nearest double */
int qty_sign(struct qty q);                  /* -1, 0, 1 */
int qty_cmp(struct qty a, struct qty b);
static inline bool qty_is_zero(struct qty q)
{
    return q.lo == 0 && q.hi == 0;
}
/* The format of a, unless a is zero: then that of b. */
struct qty qty_add(struct qty a, struct qty b);
struct qty qty_sub(struct qty a, struct qty b);
struct qty qty_neg(struct qty q);
/* *ret_fits (may be NULL) tells whether the product stayed within int64 at its scale. */
struct qty qty_mul(struct qty a, int64_t n, bool *ret_fits);
#endif
