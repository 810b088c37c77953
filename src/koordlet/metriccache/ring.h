/* ring.h - the samples of one series, newest last, as many as its windows need.
 *
 * One block of memory for life, 12 bytes a sample: appending and reading allocate nothing. Loop
 * thread only. Times are wall milliseconds. A sample may come up to a minute late; what is older
 * than the newest minus the retention is no longer answered, and goes when its place is needed.
 */
#ifndef KOORD_KOORDLET_RING_H
#define KOORD_KOORDLET_RING_H
#include "base/base.h"

struct sample {
    int64_t ms;
    double value;
};

enum { RING_LATE_MS = 60 * 1000, RING_SAMPLES_MAX = 1 << 20 };
#define RING_RETENTION_MAX_MS INT64_C(0x7fffffff) /* 24 days: offsets have 32 bits */

struct ring {
    double *values;        /* cap of them, and behind them as many 32-bit offsets to base_ms */
    uint32_t cap, head, n; /* sample i, oldest first, is at (head + i) % cap */
    uint32_t retention_ms;
    int64_t base_ms;
};

/* Samples that a window of this length holds at this interval: both ends count, and one more for
 * rounds that come early. At least 2, at most RING_SAMPLES_MAX. */
uint32_t ring_capacity(nsec_t interval, nsec_t retention);
/* Bytes of the block for so many samples. */
static inline size_t ring_bytes(uint32_t cap)
{
    return cap * (sizeof(double) + sizeof(uint32_t));
}
void ring_init(struct ring *r, nsec_t interval, nsec_t retention);
void ring_fini(struct ring *r);
/* Another size; the newest samples that fit stay. */
void ring_resize(struct ring *r, nsec_t interval, nsec_t retention);

/* -ERANGE: more than a minute behind the newest, or older than a full ring reaches back. -EEXIST:
 * another value is there for this time (the same value again is fine). */
int ring_append(struct ring *r, int64_t ms, double value, struct kerr *err);
/* Drops the samples after ms: the clock was set back. */
void ring_cut(struct ring *r, int64_t ms);

/* Sample i, oldest first. */
static inline struct sample ring_at(const struct ring *r, uint32_t i)
{
    assert(i < r->n);
    uint32_t at = r->head + i;
    if (at >= r->cap)
        at -= r->cap;
    const uint32_t *offsets = (const uint32_t *)(const void *)(r->values + r->cap);
    return (struct sample){ r->base_ms + offsets[at], r->values[at] };
}
/* The samples of [from, to], both ends included: the first one's number and how many. */
uint32_t ring_find(const struct ring *r, int64_t from, int64_t to, uint32_t *ret_first);
#endif
