/* aggregate.h - one number for many samples: average, percentiles, the last, how many.
 *
 * A window pools the samples of one or more series and answers every aggregate from one sorted
 * copy. It keeps its memory between queries; only qsort() may take some for large windows.
 */
#ifndef KOORD_KOORDLET_AGGREGATE_H
#define KOORD_KOORDLET_AGGREGATE_H
#include "base/vec.h"
#include "koordlet/metriccache/ring.h"

enum aggregate {
    WINDOW_AVG,
    WINDOW_P50,
    WINDOW_P90,
    WINDOW_P95,
    WINDOW_P99,
    WINDOW_LAST,
    WINDOW_COUNT,
};

struct window { /* all zero is an empty window */
    struct vec_of(struct sample) samples;
    struct vec_of(double) sorted; /* empty while the samples have not been sorted */
    int64_t range_ms;             /* of the series added last: its last time less its first */
};
void window_reset(struct window *w); /* empties, keeps the memory */
void window_fini(struct window *w);
/* Adds samples of one series, in the order they came. */
void window_add(struct window *w, const struct sample *s, size_t n);
/* Adds what the ring has in [from, to]; returns how many. A ring without any changes nothing. */
size_t window_add_ring(struct window *w, const struct ring *r, int64_t from, int64_t to);

/* -ENODATA "metric input is empty" without samples, except for the count. */
int window_aggregate(struct window *w, enum aggregate what, double *ret, struct kerr *err);
/* Which of n > 0 sorted samples is the percentile p (0.9): in single precision, not interpolated.
 */
size_t percentile_index(size_t n, float p);
static inline UNUSED void window_fini_p(struct window *w)
{
    window_fini(w);
}
#endif
