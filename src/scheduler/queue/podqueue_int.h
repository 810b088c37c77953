/* podqueue_int.h - what podqueue.c and events.c share. */
#ifndef KOORD_SCHEDULER_PODQUEUE_INT_H
#define KOORD_SCHEDULER_PODQUEUE_INT_H
#include "base/heap.h"
#include "base/vec.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/queue/keys.h"
#include "scheduler/queue/podqueue.h"

enum {
    ACTIONS = 14,   /* the bits of KS_ALL, and KS_UPDATE */
    KINDS_MAX = 32, /* whose events brought a pod back */
    CAUSES = PODQUEUE_BY_EVENT + (KS_RES_OTHER + KINDS_MAX) * ACTIONS
};

struct qpod {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    const struct profile *profile;
    struct heap_node hn;       /* ready, backing off */
    struct qpod *next, **link; /* rejected, gated, held */
    struct waiter *waits;      /* for keys; rejected, gated */
    enum podqueue_place place;
    uint32_t attempts;
    uint32_t unschedulable, errors; /* attempts that ended so; errors in a row */
    bool held;                      /* in flight, waiting for a permit */
    bool was_ready;
    nsec_t first, since; /* when it was ready first, and last put or failed */
    nsec_t popped;       /* when it was last */
    nsec_t expiry;       /* of the back-off */
    uint64_t seq;        /* order of arrival, so that equal pods have an order */
    uint64_t rejectors;
    uint64_t pending; /* of these: they wait for another component, and no back-off is needed */
    uint64_t heard;   /* slots that heard of something while it was held */
};

/* Those that wait for the same: most events are of no interest to most of them. */
struct crowd {
    const struct profile *profile;
    uint64_t rejectors;
    struct qpod *first;
};

struct podqueue {
    struct loop *loop;
    struct podqueue_opts o;
    struct uidmap pods;
    struct heap ready, backoff, backoff_error;
    struct vec_of(struct crowd *) waiting; /* rejected and gated */
    struct keys keys;                      /* for which some of them wait */
    struct timer *tick, *flush;
    struct qpod *held;
    size_t count[PODQUEUE_PLACES];
    uint64_t seq;
    uint64_t hints;                      /* asked so far */
    const struct kind *kinds[KINDS_MAX]; /* of KS_RES_OTHER, in order of appearance; then NULL */
    uint64_t incoming[PODQUEUE_PLACES][CAUSES];
};

/* podqueue.c */
/* Out of its place, and into the queue unless a plugin keeps it out. */
void podqueue_requeue(struct podqueue *q, struct qpod *p, uint32_t cause);
void podqueue_tidy(struct podqueue *q); /* crowds of nobody go */

/* events.c */
uint32_t podqueue_cause_of(struct podqueue *q, const struct ks_event *e);
void podqueue_came(struct podqueue *q, const struct qpod *p, uint32_t cause);
/* Its own change may be what a waiting pod waits for. */
void podqueue_changed(struct podqueue *q, struct qpod *p, struct kobj *before);
void podqueue_changed_while_held(struct qpod *p, struct kobj *before);
#endif
