/* shapes.h - what the last attempts for equal pods found out, kept for the next equal pod.
 *
 * A shape is what plugins read of a pod: namespace, spec, and annotations that a plugin of the
 * profile declares. Of the labels and owners, LOCAL plugins read only what plugin.h allows them;
 * so the pods of many workloads with one spec share what LOCAL plugins found out, while DOMAIN
 * plugins, which select pods by any label, keep their states for pods that are equal in all of
 * them. A pod has one shape of either part.
 *
 * Verdicts and scores of LOCAL plugins are kept by row and made again for rows that changed; DOMAIN
 * plugins bring their state up to date. Rows that come or go, and changes of what such plugins read
 * of the object cache beyond the objects of nodes, make a shape worthless. The least recently used
 * goes when there are too many. Loop thread.
 */
#ifndef KOORD_SCHEDULER_SHAPES_H
#define KOORD_SCHEDULER_SHAPES_H
#include "scheduler/framework/attempt.h"

enum shape_part { SHAPE_LOCAL, SHAPE_DOMAIN, SHAPE_PARTS };
struct shape {        /* filled and read by attempt.c */
    uint64_t used;    /* for the choice of who goes */
    struct kobj *pod; /* one of its pods */
    const struct profile *profile;
    struct arena *arena;
    uint64_t generation, node_generation; /* of rows and nodes, as of its last use */
    uint64_t layout, objects_generation;  /* for which it was made */
    bool made;
    uint32_t n;
    void **state; /* [slot] of the plugins of its part */
    uint64_t skip_filter;
    uint32_t *dirty; /* room for n rows, once there are any */
    /* SHAPE_LOCAL has also: */
    void **score_state;
    uint64_t skip_score;
    uint8_t *by, *why;
    int64_t *total; /* weighted sum of LOCAL plugins, but for those that normalise by themselves */
    int64_t **raw;  /* [slot][row] of LOCAL plugins that normalise */
    int64_t *scale; /* [slot]: the best raw score that counts as 100 in total; 0: none does */
    /* Rows that an overlay had changed when they were looked at last: what is known of them is not
     * about the rows as they are. */
    uint32_t *overlaid;
    uint32_t noverlaid, overlaid_cap;
};

struct shapes *shapes_new(uint32_t max);
struct shapes *shapes_free(struct shapes *s);
DEFINE_CLEANUP(shapes_free, struct shapes *)
/* The shapes of the pod; `made` is false of one that is new or was out of date. NULL: the pod is
 * not in the form that is kept in caches, names its node, or more than its spec tells what it
 * holds. */
void shapes_get(struct shapes *s, const struct profile *p, struct kobj *pod,
                const struct ks_nodes *nodes, uint64_t objects_generation,
                struct shape *ret[SHAPE_PARTS]);
/* Are the two equal in all that plugins read? Only pods in the form that is kept in caches are. */
bool shapes_alike(const struct profile *p, const struct pod *a, const struct pod *b);
/* What was kept is worth nothing: as if it were new. */
void shape_clear(struct shape *h);
/* The arrays by row of LOCAL plugins, empty; for a shape that is not made. Not before they are
 * needed: pods that name their node have no use for them. */
void shape_make_room(struct shape *h);
/* Remembers the rows that are changed by an overlay right now. */
void shape_set_overlaid(struct shape *h, const struct nodecache *c);
/* Forget everything, for instance before a profile goes. */
void shapes_clear(struct shapes *s);
struct shapes_stats {
    uint64_t hits, misses; /* a hit: both parts were there */
    uint32_t n;            /* shapes of LOCAL plugins */
};
struct shapes_stats shapes_stats(const struct shapes *s);
#endif
