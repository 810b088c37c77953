/* qty_wide.h - inside of qty.c and qty_text.c: the mantissa as a 128-bit integer. */
#ifndef KOORD_BASE_QTY_WIDE_H
#define KOORD_BASE_QTY_WIDE_H
#include "base/qty.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

enum { QTY_NANO = -9, QTY_SCALE_MAX = INT8_MAX };
/* Symmetric, so that negation never overflows. */
#define QTY_MANT_MAX (((wide)1 << 95) - 1)

static inline wide qty_mant(struct qty q)
{
    return (wide)((uwide)(wide)q.hi << 64 | q.lo);
}

static inline uwide wide_abs(wide m)
{
    return m < 0 ? 0 - (uwide)m : (uwide)m;
}

/* For mantissas known to fit 96 bits and scales known to fit. */
static inline struct qty qty_raw(wide m, int scale, unsigned format)
{
    return (struct qty){ .lo = (uint64_t)m,
                         .hi = (int32_t)(m >> 64),
                         .scale = (int8_t)(m ? scale : 0),
                         .format = (uint8_t)format };
}

/* m * 10^scale in 96 bits: what does not fit is rounded away from zero to fewer digits. Returns
 * false, and the largest quantity of that sign, when the value is beyond all scales. */
bool qty_pack(wide m, int64_t scale, unsigned format, struct qty *ret);
#endif
