/* fairshare.c - shares by weight with largest remainders (sched-quota 5.1, 6). */
#include "quota/fairshare.h"

typedef unsigned __int128 u128;

struct share_part { /* of one borrower, in one round */
    u128 rest;      /* of the division */
    int64_t base;
    uint32_t member;
};

void share_scratch_fini(struct share_scratch *s)
{
    free(s->parts);
    *s = (struct share_scratch){ 0 };
}

/* What is asked for up to the floor. The sum may be more than there is: guarantees are kept. */
static __int128 share_floors(struct share_member *m, uint32_t n, struct share_part *parts,
                             uint32_t *ret_borrowers)
{
    __int128 given = 0;
    uint32_t borrowers = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (m[i].request > m[i].floor) {
            m[i].runtime = m[i].floor;
            parts[borrowers++].member = i;
        } else {
            m[i].runtime = m[i].lends ? m[i].request : m[i].floor;
        }
        given += m[i].runtime;
    }
    *ret_borrowers = borrowers;
    return given;
}

/* The larger remainder first; equal ones by name. */
static bool part_before(const struct share_part *a, const struct share_part *b)
{
    return a->rest != b->rest ? a->rest > b->rest : a->member < b->member;
}

static void part_swap(struct share_part *a, struct share_part *b)
{
    struct share_part t = *a;

    *a = *b;
    *b = t;
}

/* Brings the k parts that come first to the front, in any order. */
static void parts_select(struct share_part *p, uint32_t n, uint32_t k)
{
    uint32_t lo = 0, hi = n;

    while (hi - lo > 1 && k > lo && k < hi) {
        struct share_part pivot = p[lo + (hi - lo) / 2];
        uint32_t i = lo, j = hi - 1;
        for (;;) {
            while (part_before(&p[i], &pivot))
                i++;
            while (part_before(&pivot, &p[j]))
                j--;
            if (i >= j)
                break;
            part_swap(&p[i++], &p[j--]);
        }
        /* [lo, j] comes before the pivot or is it, (j, hi) is it or comes after. */
        if (k <= j + 1 && j + 1 < hi)
            hi = j + 1;
        else if (k > j + 1)
            lo = j + 1;
        else
            hi--; /* the pivot is the last of all and stands at the end */
    }
}

/* Divides the pool among those with a weight. */
static void parts_divide(struct share_part *p, uint32_t n, const struct share_member *m,
                         int64_t pool, u128 weights)
{
    u128 given = 0;
    uint32_t weighty = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t w = m[p[i].member].weight;
        u128 product = w > 0 ? (u128)(uint64_t)w * (uint64_t)pool : 0;
        if (product <= UINT64_MAX && weights <= UINT64_MAX) {
            p[i].base = (int64_t)((uint64_t)product / (uint64_t)weights);
            p[i].rest = (uint64_t)product % (uint64_t)weights;
        } else {
            p[i].base = (int64_t)(product / weights);
            p[i].rest = product % weights;
        }
        given += (uint64_t)p[i].base;
        if (w > 0)
            part_swap(&p[weighty++], &p[i]);
    }
    uint32_t residual = (uint32_t)((u128)pool - given); /* less than one for each */
    parts_select(p, weighty, residual);
    for (uint32_t i = 0; i < residual; i++)
        p[i].base++;
}

/* Who still wants more stays; the others give back what is too much. */
static uint32_t parts_settle(struct share_part *p, uint32_t n, struct share_member *m,
                             __int128 *pool)
{
    uint32_t stay = 0;

    *pool = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct share_member *x = &m[p[i].member];
        __int128 runtime = (__int128)x->runtime + p[i].base;
        if (runtime < x->request) {
            x->runtime = (int64_t)runtime;
            p[stay++] = p[i];
        } else {
            x->runtime = x->request;
            *pool += runtime - x->request;
        }
    }
    return stay;
}

static u128 sum_weights(const struct share_part *p, uint32_t n, const struct share_member *m)
{
    u128 sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (uint64_t)MAX(m[p[i].member].weight, 0);
    return sum;
}

void share_split(struct share_member *m, uint32_t n, int64_t total, struct share_scratch *s,
                 const struct share_watcher *watcher)
{
    uint32_t borrowers;

    if (n > s->cap) {
        s->cap = n;
        s->parts = xreallocarray(s->parts, n, sizeof *s->parts);
    }
    __int128 pool = total - share_floors(m, n, s->parts, &borrowers);
    if (watcher)
        watcher->round(watcher->arg,
                       &(struct share_round){ .pool = (int64_t)MAX(pool, (__int128)INT64_MIN),
                                              .borrowers = borrowers,
                                              .first = true },
                       m, n);
    while (pool > 0 && borrowers > 0) {
        u128 weights = sum_weights(s->parts, borrowers, m);
        if (weights == 0)
            return;
        struct share_round round = { .pool = (int64_t)pool, .borrowers = borrowers };
        parts_divide(s->parts, borrowers, m, (int64_t)pool, weights);
        borrowers = parts_settle(s->parts, borrowers, m, &pool);
        if (watcher)
            watcher->round(watcher->arg, &round, m, n);
    }
}

int64_t share_scale(int64_t min, int64_t total, __int128 sum)
{
    if (total <= 0 || sum <= 0)
        return 0;
    double scaled = (double)total * (double)min / (double)sum; /* as upstream rounds */
    return scaled >= (double)INT64_MAX ? INT64_MAX : (int64_t)scaled;
}
