/* ring.h - the samples of one series, newest last, as many as its windows need.
 *
 * One block of memory for life: appending and reading allocate nothing. Loop thread only. Times are
 * wall milliseconds. A sample may come up to a minute late; what is older than the newest minus the
 * retention is no longer answered, and goes when its place is needed.
 */
#ifndef KOORD_KOORDLET_RING_H
#define KOORD_KOORDLET_RING_H
#include "base/base.h"

struct sample {
    int64_t ms;
    double value;
};

enum { RING_LATE_MS = 60 * 1000, RING_SAMPLES_MAX = 1 << 20 };

struct ring {
    struct sample *items;
    uint32_t cap, head, n; /* item i, oldest first, is at (head + i) % cap */
    int64_t retention_ms;
};

/* Samples that a window of this length holds at this interval: both ends count, and one more for
 * rounds that come early. At least 2, at most RING_SAMPLES_MAX. */
uint32_t ring_capacity(nsec_t interval, nsec_t retention);
void ring_init(struct ring *r, nsec_t interval, nsec_t retention);
void ring_fini(struct ring *r);

/* -ERANGE: more than a minute behind the newest, or older than a full ring reaches back. -EEXIST:
 * another value is there for this time (the same value again is fine). */
int ring_append(struct ring *r, int64_t ms, double value, struct kerr *err);

/* Sample i, oldest first. */
static inline struct sample ring_at(const struct ring *r, uint32_t i)
{
    assert(i < r->n);
    return r->items[(r->head + i) % r->cap];
}
/* The samples of [from, to], both ends included: the first one's number and how many. */
uint32_t ring_find(const struct ring *r, int64_t from, int64_t to, uint32_t *ret_first);
#endif
