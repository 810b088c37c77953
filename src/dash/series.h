/* series.h - sums by the minute, of the last 24 hours. Plain data; no clock of its own. */
#ifndef KOORD_DASH_SERIES_H
#define KOORD_DASH_SERIES_H
#include "dash/dash.h"

struct series { /* all zero is empty */
    struct dash_minute *ring;
    size_t first, n;
};
void series_fini(struct series *s);
/* The minute that `at` lies in. A minute that is there already is replaced. A clock that was set
 * back drops what would lie in the future. */
void series_put(struct series *s, nsec_t at, const struct dash_sums *sums);
/* Number i, oldest first; NULL behind the last. */
const struct dash_minute *series_at(const struct series *s, size_t i);
#endif
