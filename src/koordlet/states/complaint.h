/* complaint.h - one log line a minute for what goes wrong again and again, and one when it ends. */
#ifndef KOORD_KOORDLET_COMPLAINT_H
#define KOORD_KOORDLET_COMPLAINT_H
#include "base/base.h"

#define COMPLAINT_EVERY (60 * NSEC_PER_SEC)

struct complaint {
    nsec_t last; /* monotonic; meaningful while there is one */
    bool bad;
};

/* Something went wrong now. true: say so. */
static inline bool complaint_due(struct complaint *c, nsec_t now)
{
    bool due = !c->bad || now - c->last >= COMPLAINT_EVERY;
    c->bad = true;
    if (due)
        c->last = now;
    return due;
}
/* All is well. true: it was not; say so. */
static inline bool complaint_over(struct complaint *c)
{
    bool was = c->bad;
    c->bad = false;
    return was;
}
#endif
