/* observe.h - what people and programs see of gangs: REST paths and metrics (sched-gang 4.1, 5).
 * Loop thread.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_OBSERVE_H
#define KOORD_SCHEDULER_COSCHEDULING_OBSERVE_H
#include "base/base.h"
#include "scheduler/framework/service.h"

struct gang_metrics;
struct gang_round;
struct gangs;
struct metrics;

extern const struct ks_path gangs_paths[];
struct arena;
struct ks_job;
struct pod;
/* For ks_plugin.job. */
bool gangs_job(const struct gangs *s, const struct pod *p, struct arena *a, struct ks_job *ret);

/* all NULL: nobody counts, and NULL is returned. */
struct gang_metrics *gang_metrics_new(struct gangs *s, struct metrics *all);
struct gang_metrics *gang_metrics_free(struct gang_metrics *m); /* NULL is fine; always NULL */
/* For gang_ops: a round is over. arg is the struct gangs. */
void gang_metrics_round(void *arg, const struct gang_round *r, const char *reason);
struct gang_member;
/* Making room began at this time, for a gang or (NULL) for a pod, and is over. */
nsec_t gang_metrics_now(const struct gangs *s);
void gang_metrics_preemption(const struct gangs *s, const struct gang_member *m, bool worked,
                             nsec_t began);
#endif
