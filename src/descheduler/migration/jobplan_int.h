/* jobplan_int.h - what the files about the steps of a job share. */
#ifndef KOORD_DESCHEDULER_MIGRATION_JOBPLAN_INT_H
#define KOORD_DESCHEDULER_MIGRATION_JOBPLAN_INT_H
#include "descheduler/migration/jobplan.h"

/* Looks that no news brings. */
#define JOB_POLL (3 * NSEC_PER_SEC)

const char *job_pod_key(const struct job_facts *f, struct arena *a);
void job_plan_event(struct job_plan *p, bool warning, const char *reason, const char *text);
void job_plan_success(struct job_plan *p, const char *message);
void job_plan_condition_is(const struct job_facts *f, struct arena *a, struct job_plan *p,
                           const char *type, bool is, const char *reason, const char *message);
void job_plan_again(struct job_plan *p, nsec_t after);

/* jobplan_steps.c - a running job, without and with a Reservation. */
void job_plan_direct(const struct job_facts *f, struct arena *a, struct job_plan *p);
void job_plan_reserved(const struct job_facts *f, struct arena *a, struct job_plan *p);
#endif
