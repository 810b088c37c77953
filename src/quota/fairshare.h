/* fairshare.h - how much of a total each of several siblings may use (sched-quota 5.1).
 *
 * Everybody first gets what it asks for, up to its floor (or its whole floor, if it does not lend);
 * what is left goes to those who ask for more, by weight, and what somebody cannot use goes round
 * again. Integers only; remainders go to the largest, then in the order of the members, which is
 * that of their names. No state.
 */
#ifndef KOORD_QUOTA_FAIRSHARE_H
#define KOORD_QUOTA_FAIRSHARE_H
#include "base/base.h"

struct share_member {
    int64_t request;
    int64_t floor; /* the larger of min and guarantee */
    int64_t weight;
    bool lends;
    int64_t runtime; /* the answer */
};

struct share_round { /* for people who ask how it came about */
    int64_t pool;    /* what is given away in this round */
    uint32_t borrowers;
    bool first; /* what everybody has before the first round; pool is what is left then */
};
struct share_watcher { /* is told after each round; members show their runtimes so far */
    void (*round)(void *arg, const struct share_round *r, const struct share_member *m, uint32_t n);
    void *arg;
};

struct share_scratch { /* all zero at first; kept between calls */
    struct share_part *parts;
    uint32_t cap;
};
void share_scratch_fini(struct share_scratch *s);

/* Members in the order of their names. watcher may be NULL. */
void share_split(struct share_member *m, uint32_t n, int64_t total, struct share_scratch *s,
                 const struct share_watcher *watcher);
/* A min when there is less than all mins together (sched-quota 6). */
int64_t share_scale(int64_t min, int64_t total, __int128 sum);
#endif
