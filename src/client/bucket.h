/* bucket.h - a token bucket that is reserved ahead: whoever comes waits for the next free slot. */
#ifndef KOORD_CLIENT_BUCKET_H
#define KOORD_CLIENT_BUCKET_H
#include "base/num.h"

struct bucket {
    double qps;    /* slots a second; <= 0: no limit */
    double burst;  /* slots that gather while nobody comes */
    double tokens; /* below zero: reserved ahead */
    nsec_t filled_at;
};

static inline void bucket_init(struct bucket *b, double qps, int burst, nsec_t now)
{
    *b = (struct bucket){ qps, burst > 0 ? burst : 1, burst > 0 ? burst : 1, now };
}

/* Takes the next slot; returns how long to wait for it. */
static inline nsec_t bucket_take(struct bucket *b, nsec_t now)
{
    if (b->qps <= 0)
        return 0;
    b->tokens += (double)(now - b->filled_at) / (double)NSEC_PER_SEC * b->qps;
    b->filled_at = now;
    if (b->tokens > b->burst)
        b->tokens = b->burst;
    b->tokens -= 1;
    return b->tokens >= 0 ? 0 : i64_from_f64(-b->tokens / b->qps * (double)NSEC_PER_SEC);
}
#endif
