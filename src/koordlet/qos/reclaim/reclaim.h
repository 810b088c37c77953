/* reclaim.h - best effort gives memory back before anybody has to be evicted.
 *
 * Suppressing CPU frees no memory: page cache and cold pages of best-effort pods stay, and services
 * that grow wait until the kernel takes them away page by page. From ten points below the threshold
 * of eviction on, a tenth of the node is kept free: one pod at a time is asked to give back what it
 * can spare. The gate MemoryReclaim is off by default; upstream has no such thing.
 */
#ifndef KOORD_KOORDLET_QOS_RECLAIM_RECLAIM_H
#define KOORD_KOORDLET_QOS_RECLAIM_RECLAIM_H
#include "koordlet/states/snapshot.h"

#define RECLAIM_REST (10 * NSEC_PER_SEC) /* of a pod that was asked */
enum {
    RECLAIM_MARGIN = 10,         /* points below the threshold of eviction */
    RECLAIM_FREE_PERCENT = 10,   /* of the node shall be free then */
    RECLAIM_LEAST = 4 << 20,     /* bytes; for less nobody is asked */
    RECLAIM_AT_ONCE = 256 << 20, /* bytes; a pod is asked for no more in one go */
};

struct reclaim_in { /* bytes */
    const struct threshold_strategy *slo;
    int64_t capacity, used; /* of the node; used: without page cache, as eviction counts */
    int64_t free;           /* in no use at all */
    bool swap;              /* cold anonymous memory has somewhere to go */
};
/* What is to be given back in all; 0: nothing. */
int64_t reclaim_wanted(const struct reclaim_in *in);

struct reclaim_pod { /* a best-effort pod */
    const struct npod *pod;
    int64_t spare; /* bytes that it could do without */
    nsec_t asked;  /* monotonic, the last time; 0: never */
};
/* The pod that gives next, whoever would be evicted first: the least priority, then the most to
 * give. -1: none. */
int reclaim_choose(const struct reclaim_pod *pods, size_t n, nsec_t now);
#endif
