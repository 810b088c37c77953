/* guard.c - halve at once, give back by steps. */
#include "koordlet/qos/guard/guard.h"

#include "base/num.h"
#include "koordlet/kernel/convert.h"

enum { CAP_MIN = 20 /* milli-cores: the least quota of suppression */, STEP_PERCENT = 5 };

/* What best effort has now, when nothing capped it yet. */
static int64_t starting_point(const struct guard_in *in)
{
    int64_t quota = in->quota_us > 0 ? i64_muldiv(in->quota_us, 1000, CFS_PERIOD_US) : in->capacity;

    return in->used > 0 ? MIN(quota, in->used) : quota;
}

int64_t guard_next(int64_t cap_milli, const struct guard_in *in)
{
    if (in->waited > GUARD_SHARE)
        return MAX((cap_milli > 0 ? cap_milli : starting_point(in)) / 2, (int64_t)CAP_MIN);
    if (cap_milli == 0)
        return 0;
    int64_t next = cap_milli + MAX(in->capacity * STEP_PERCENT / 100, INT64_C(1));
    return next >= in->capacity ? 0 : next;
}
