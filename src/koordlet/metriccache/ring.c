/* ring.c - samples in order of time, in a circle. */
#include "koordlet/metriccache/ring.h"

uint32_t ring_capacity(nsec_t interval, nsec_t retention)
{
    assert(interval > 0 && retention >= 0);
    nsec_t n = retention / interval;
    return n > RING_SAMPLES_MAX - 2 ? RING_SAMPLES_MAX : (uint32_t)n + 2;
}

void ring_init(struct ring *r, nsec_t interval, nsec_t retention)
{
    uint32_t cap = ring_capacity(interval, retention);
    *r = (struct ring){ .items = xnewn0(cap, struct sample),
                        .cap = cap,
                        .retention_ms = retention / NSEC_PER_MSEC };
}

void ring_fini(struct ring *r)
{
    free(r->items);
    *r = (struct ring){ 0 };
}

static struct sample *place(struct ring *r, uint32_t i)
{
    return &r->items[(r->head + i) % r->cap];
}

/* The number of the first sample that is not before ms. */
static uint32_t first_from(const struct ring *r, int64_t ms)
{
    uint32_t lo = 0, hi = r->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ring_at(r, mid).ms < ms)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void insert(struct ring *r, uint32_t at, struct sample s)
{
    if (r->n == r->cap) {
        r->head = (r->head + 1) % r->cap;
        r->n--;
        at--;
    }
    for (uint32_t i = r->n++; i > at; i--)
        *place(r, i) = *place(r, i - 1);
    *place(r, at) = s;
}

int ring_append(struct ring *r, int64_t ms, double value, struct kerr *err)
{
    uint32_t at = r->n;

    if (r->n > 0 && ms <= ring_at(r, r->n - 1).ms) {
        if (ms < ring_at(r, r->n - 1).ms - RING_LATE_MS)
            return kerr_set(err, -ERANGE, "sample is more than a minute late");
        at = first_from(r, ms);
        struct sample there = ring_at(r, at);
        if (there.ms == ms)
            return there.value == value
                       ? 0
                       : kerr_set(err, -EEXIST, "another value is there for this time");
        if (at == 0 && r->n == r->cap)
            return kerr_set(err, -ERANGE, "sample is older than the series reaches back");
    }
    insert(r, at, (struct sample){ ms, value });
    return 0;
}

uint32_t ring_find(const struct ring *r, int64_t from, int64_t to, uint32_t *ret_first)
{
    if (r->n == 0 || from > to)
        return 0;
    int64_t oldest = ring_at(r, r->n - 1).ms - r->retention_ms;
    uint32_t first = first_from(r, MAX(from, oldest));
    uint32_t end = to == INT64_MAX ? r->n : first_from(r, to + 1);
    *ret_first = first;
    return end > first ? end - first : 0;
}
