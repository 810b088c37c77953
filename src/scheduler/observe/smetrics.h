/* smetrics.h - upstream's metrics of attempts, the queue and the cache (scheduler-core 11.6).
 * Internal to the room; times.h has those of plugins. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_SMETRICS_H
#define KOORD_SCHEDULER_OBSERVE_SMETRICS_H
#include "scheduler/framework/plugin.h"

struct hint_stopwatch;
struct metrics;
struct qmetrics;
struct scheduler;
struct smetrics;

static inline double nsec_seconds(nsec_t t)
{
    return (double)t / (double)NSEC_PER_SEC;
}

/* ---- smetrics.c: what becomes of attempts, by profile ---------------------------------------- */

enum smetrics_result { RESULT_SCHEDULED, RESULT_UNSCHEDULABLE, RESULT_ERROR, RESULTS };
struct smetrics *smetrics_new(struct metrics *m, const char *profile); /* NULL for NULL */
struct smetrics *smetrics_free(struct smetrics *m);
void smetrics_attempt(struct smetrics *m, enum smetrics_result r, nsec_t took);
void smetrics_algorithm(struct smetrics *m, nsec_t took, uint32_t evaluated, uint32_t feasible);
void smetrics_bound(struct smetrics *m, uint32_t attempts, nsec_t since_first);
void smetrics_preemption(struct smetrics *m); /* somebody looked for victims */
void smetrics_preempted(struct smetrics *m, uint32_t victims);
void smetrics_permit(struct smetrics *m, const char *result, nsec_t waited);
void smetrics_late(struct smetrics *m); /* the monitor found an attempt that takes too long */
/* Victims were evicted in the background, or could not be. */
void smetrics_evicted(struct scheduler *s, bool failed, nsec_t took);
/* Gauges: places of the queue, sizes of the cache. Called before they are read. */
void smetrics_gauges(struct scheduler *s);

/* ---- bmetrics.c: jobs that are placed in one piece -------------------------------------------- */

void bmetrics_job(struct scheduler *s, bool failed, nsec_t took);
/* Until a pod had its place, and all pods of a node. */
void bmetrics_pod(struct scheduler *s, nsec_t took);
void bmetrics_node(struct scheduler *s, nsec_t took);
/* So many pods gave their places back. reason: batch_schedule_failure, batch_permit_failure */
void bmetrics_cleanup(struct scheduler *s, const char *reason, uint32_t n);
/* One of them could not be bound. */
void bmetrics_bind_failure(struct scheduler *s, const char *reason, const char *phase);
/* Some are bound, and some are not. */
void bmetrics_partial(struct scheduler *s, uint32_t bound, uint32_t failed);

/* ---- qmetrics.c: the queue and what happens in the cluster ----------------------------------- */

struct qmetrics *qmetrics_new(struct scheduler *s); /* NULL when nothing is counted */
struct qmetrics *qmetrics_free(struct qmetrics *q);
struct hint_stopwatch *qmetrics_hints(struct qmetrics *q);
/* News are about to be handled. Every tenth of a kind is measured; 0: this one is not. */
nsec_t qmetrics_began(struct qmetrics *q, enum ks_resource r, uint32_t action);
/* k: with KS_RES_OTHER. */
void qmetrics_handled(struct qmetrics *q, nsec_t began, enum ks_resource r, uint32_t action,
                      const struct kind *k);
/* Counters and gauges of the queue. Called before they are read. */
void qmetrics_settle(struct qmetrics *q);
#endif
