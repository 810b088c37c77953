/* instrument.h - what counting writes to: counters, gauges, histograms.
 *
 * A room below component/ cannot know the registry: it is handed pointers to these, and counting is
 * an add through such a pointer. component/metrics.h owns them and shows them.
 */
#ifndef KOORD_BASE_INSTRUMENT_H
#define KOORD_BASE_INSTRUMENT_H
#include "base/base.h"

struct counter {
    double v;
};
struct gauge {
    double v;
};
struct histogram {
    const double *bounds;
    uint64_t *counts; /* n + 1; each for itself, summed up when shown */
    double sum;
    uint32_t n;
};

static inline void counter_inc(struct counter *c)
{
    c->v += 1;
}
static inline void counter_add(struct counter *c, double by) /* by >= 0 */
{
    c->v += by;
}
static inline void gauge_set(struct gauge *g, double v)
{
    g->v = v;
}
static inline void gauge_add(struct gauge *g, double by)
{
    g->v += by;
}
static inline void histogram_observe(struct histogram *h, double v)
{
    uint32_t i = 0;
    while (i < h->n && v > h->bounds[i])
        i++;
    h->counts[i]++;
    h->sum += v;
}
#endif
