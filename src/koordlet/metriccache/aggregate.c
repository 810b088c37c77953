/* aggregate.c - aggregates of a window of samples. */
#include "koordlet/metriccache/aggregate.h"

void window_reset(struct window *w)
{
    vec_clear(&w->samples);
    vec_clear(&w->sorted);
    w->range_ms = 0;
}

void window_fini(struct window *w)
{
    vec_fini(&w->samples);
    vec_fini(&w->sorted);
}

void window_add(struct window *w, const struct sample *s, size_t n)
{
    if (n == 0)
        return;
    vec_reserve(&w->samples, n);
    memcpy(w->samples.items + w->samples.n, s, n * sizeof *s);
    w->samples.n += n;
    vec_clear(&w->sorted);
    w->range_ms = s[n - 1].ms - s[0].ms;
}

size_t window_add_ring(struct window *w, const struct ring *r, int64_t from, int64_t to)
{
    uint32_t first = 0, n = ring_find(r, from, to, &first);

    if (n == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&w->samples, ring_at(r, first + i));
    vec_clear(&w->sorted);
    w->range_ms = ring_at(r, first + n - 1).ms - ring_at(r, first).ms;
    return n;
}

size_t percentile_index(size_t n, float p)
{
    float at = (float)n * p;
    return at < 1 ? 0 : MIN((size_t)at, n) - 1;
}

static int compare(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static double percentile(struct window *w, float p)
{
    if (w->sorted.n == 0) {
        vec_reserve(&w->sorted, w->samples.n);
        vec_foreach(&w->samples, i)
            w->sorted.items[w->sorted.n++] = w->samples.items[i].value;
        qsort(w->sorted.items, w->sorted.n, sizeof *w->sorted.items, compare);
    }
    return w->sorted.items[percentile_index(w->sorted.n, p)];
}

static double average(const struct window *w)
{
    double sum = 0;
    vec_foreach(&w->samples, i)
        sum += w->samples.items[i].value;
    return sum / (double)w->samples.n;
}

/* The first of several with the greatest time. Times count from above 0. */
static double last(const struct window *w)
{
    struct sample newest = { 0 };
    vec_foreach(&w->samples, i)
        if (w->samples.items[i].ms > newest.ms)
            newest = w->samples.items[i];
    return newest.value;
}

int window_aggregate(struct window *w, enum aggregate what, double *ret, struct kerr *err)
{
    if (w->samples.n == 0 && what != WINDOW_COUNT)
        return kerr_set(err, -ENODATA, "metric input is empty");
    switch (what) {
    case WINDOW_AVG: *ret = average(w); break;
    case WINDOW_P50: *ret = percentile(w, 0.5F); break;
    case WINDOW_P90: *ret = percentile(w, 0.9F); break;
    case WINDOW_P95: *ret = percentile(w, 0.95F); break;
    case WINDOW_P99: *ret = percentile(w, 0.99F); break;
    case WINDOW_LAST: *ret = last(w); break;
    case WINDOW_COUNT: *ret = (double)w->samples.n; break;
    }
    return 0;
}
