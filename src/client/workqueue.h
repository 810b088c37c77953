/* workqueue.h - keys waiting to be synced: deduplicated, delayed, backed off.
 *
 * A key that is added while its sync runs is synced once more afterwards, never twice at the same
 * time. sync() may finish later (it waits for the API server): it calls work_done() once.
 */
#ifndef KOORD_CLIENT_WORKQUEUE_H
#define KOORD_CLIENT_WORKQUEUE_H
#include "base/base.h"

struct loop;
struct meter;
struct work;
struct workqueue;

typedef void (*sync_fn)(void *arg, const char *key, struct work *w);

struct workqueue_opts {
    const char *name;
    unsigned concurrency;                /* syncs under way at the same time; 0: 1 */
    nsec_t backoff_initial, backoff_max; /* per key; 0: 5 ms and 1000 s */
    double qps;                          /* over all keys that failed; 0: 10 */
    int burst;                           /* 0: 100 */
    struct meter *meter;                 /* counts under the queue's name (meter.h); or NULL */
};
struct workqueue *workqueue_new(struct loop *l, const struct workqueue_opts *o, sync_fn fn,
                                void *arg);
/* Not from inside a sync. Syncs under way must not call work_done() afterwards. */
struct workqueue *workqueue_free(struct workqueue *q);
DEFINE_CLEANUP(workqueue_free, struct workqueue *)

/* While paused, keys gather and no sync begins; those under way go on. */
void workqueue_pause(struct workqueue *q, bool paused);

void workqueue_add(struct workqueue *q, const char *key);
void workqueue_add_after(struct workqueue *q, const char *key, nsec_t delay); /* earliest wins */

/* The end of a sync: err == NULL forgets its failures; otherwise it is tried again later. */
void work_done(struct work *w, const struct kerr *err);
/* As a success, and once more after a while. */
void work_again(struct work *w, nsec_t after);

struct workqueue_stats {
    size_t ready, delayed, running;
    size_t depth; /* ready, or to be synced once more when its sync ends */
    uint64_t adds, retries, syncs;
    nsec_t oldest;              /* how long the first ready key waits */
    nsec_t unfinished, longest; /* of the syncs under way: all together, the longest */
};
struct workqueue_stats workqueue_stats(const struct workqueue *q);
#endif
