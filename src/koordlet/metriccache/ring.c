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
    *r = (struct ring){ .values = xmalloc(ring_bytes(cap)),
                        .cap = cap,
                        .retention_ms =
                            (uint32_t)MIN(retention / NSEC_PER_MSEC, RING_RETENTION_MAX_MS) };
}

void ring_fini(struct ring *r)
{
    free(r->values);
    *r = (struct ring){ 0 };
}

void ring_resize(struct ring *r, nsec_t interval, nsec_t retention)
{
    struct ring old = *r;

    ring_init(r, interval, retention);
    for (uint32_t i = old.n > r->cap ? old.n - r->cap : 0; i < old.n; i++) {
        struct sample s = ring_at(&old, i);
        (void)ring_append(r, s.ms, s.value, NULL);
    }
    ring_fini(&old);
}

static uint32_t *offsets(const struct ring *r)
{
    return (uint32_t *)(void *)(r->values + r->cap);
}

static uint32_t place(const struct ring *r, uint32_t i)
{
    uint32_t at = r->head + i;
    return at >= r->cap ? at - r->cap : at;
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

static void drop_oldest(struct ring *r)
{
    r->head = place(r, 1);
    r->n--;
}

/* Offsets count from the oldest time that may still come. What the newest sample leaves too far
 * behind for 32 bits is far older than any retention. */
static void rebase(struct ring *r, int64_t ms)
{
    while (r->n > 0 && ms - ring_at(r, 0).ms > RING_RETENTION_MAX_MS)
        drop_oldest(r);
    int64_t base = (r->n > 0 ? MIN(ms, ring_at(r, 0).ms) : ms) - RING_LATE_MS;
    for (uint32_t i = 0; i < r->n; i++)
        offsets(r)[place(r, i)] = (uint32_t)(ring_at(r, i).ms - base);
    r->base_ms = base;
}

/* 0: a late sample goes before the one at *at; 1: it is there already; else the refusal. */
static int late(const struct ring *r, int64_t ms, double value, uint32_t *at, struct kerr *err)
{
    if (ms < ring_at(r, r->n - 1).ms - RING_LATE_MS)
        return kerr_set(err, -ERANGE, "sample is more than a minute late");
    *at = first_from(r, ms);
    struct sample there = ring_at(r, *at);
    if (there.ms == ms)
        return there.value == value
                   ? 1
                   : kerr_set(err, -EEXIST, "another value is there for this time");
    if (*at == 0 && r->n == r->cap)
        return kerr_set(err, -ERANGE, "sample is older than the series reaches back");
    return 0;
}

int ring_append(struct ring *r, int64_t ms, double value, struct kerr *err)
{
    uint32_t at = r->n;

    if (r->n > 0 && ms <= ring_at(r, r->n - 1).ms) {
        int known = late(r, ms, value, &at, err);
        if (known != 0)
            return MIN(known, 0);
    }
    if (r->n == r->cap) {
        drop_oldest(r);
        at--;
    }
    if (r->n == 0 || ms < r->base_ms || ms - r->base_ms > UINT32_MAX) {
        uint32_t before = r->n;
        rebase(r, ms);
        at -= before - r->n;
    }
    for (uint32_t i = r->n++; i > at; i--) {
        r->values[place(r, i)] = r->values[place(r, i - 1)];
        offsets(r)[place(r, i)] = offsets(r)[place(r, i - 1)];
    }
    r->values[place(r, at)] = value;
    offsets(r)[place(r, at)] = (uint32_t)(ms - r->base_ms);
    return 0;
}

void ring_cut(struct ring *r, int64_t ms)
{
    while (r->n > 0 && ring_at(r, r->n - 1).ms > ms)
        r->n--;
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
