/* backoff.h - exponential back-off with jitter, as everything that tries again uses it. */
#ifndef KOORD_CLIENT_BACKOFF_H
#define KOORD_CLIENT_BACKOFF_H
#include "base/num.h"
#include "loop/loop.h"

struct backoff {
    nsec_t initial, max;
    double factor, jitter; /* jitter: up to this share on top */
    nsec_t last;           /* 0: the next wait is the initial one */
};

static inline nsec_t backoff_next(struct backoff *b, struct loop *l)
{
    nsec_t d = b->last ? i64_from_f64((double)b->last * b->factor) : b->initial;
    b->last = d < b->max ? d : b->max;
    return loop_jitter(l, b->last, b->jitter);
}

static inline void backoff_reset(struct backoff *b)
{
    b->last = 0;
}
#endif
