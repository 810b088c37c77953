/* series.c - a ring of minutes. */
#include "dash/series.h"

#define MINUTE (60 * NSEC_PER_SEC)

void series_fini(struct series *s)
{
    free(s->ring);
    *s = (struct series){ 0 };
}

static struct dash_minute *at(const struct series *s, size_t i)
{
    return &s->ring[(s->first + i) % DASH_MINUTES];
}

const struct dash_minute *series_at(const struct series *s, size_t i)
{
    return i < s->n ? at(s, i) : NULL;
}

void series_put(struct series *s, nsec_t wall, const struct dash_sums *sums)
{
    nsec_t minute = wall - wall % MINUTE;

    if (!s->ring)
        s->ring = xnewn0(DASH_MINUTES, struct dash_minute);
    while (s->n > 0 && at(s, s->n - 1)->at >= minute)
        s->n--;
    /* What is older than a day goes by its age, not by its number: minutes may be missing. */
    while (s->n > 0 && (s->n == DASH_MINUTES || at(s, 0)->at <= minute - DASH_MINUTES * MINUTE)) {
        s->first = (s->first + 1) % DASH_MINUTES;
        s->n--;
    }
    *at(s, s->n++) = (struct dash_minute){ minute, *sums };
}
