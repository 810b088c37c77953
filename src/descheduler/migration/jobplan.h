/* jobplan.h - the next step of a PodMigrationJob (descheduler 4.7).
 *
 * A function of the job, of what is known about its pod and its Reservation, and of the time:
 * what its status should say, and what is to be done. One step at a time; the news of it, or the
 * time, brings the next. What a step did is in the status before the next one begins, so a program
 * that ends in between goes on where it was. No I/O, no state.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_JOBPLAN_H
#define KOORD_DESCHEDULER_MIGRATION_JOBPLAN_H
#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"
#include "descheduler/migration/args.h"

struct arena;

/* Reasons of ours, beside upstream's. */
#define MIGRATION_REASON_INVALID_POD_REF "InvalidPodRef"
#define MIGRATION_REASON_INVALID_SPEC    "InvalidSpec"
/* Why a job waits: the type of a condition. */
#define MIGRATION_ARBITRATION "Arbitration"
/* When a job was paused and released: its time counts from the release. */
#define ANNO_JOB_PAUSED_SINCE DOMAIN_DESCHEDULER "paused-since"
#define ANNO_JOB_RELEASED_AT  DOMAIN_DESCHEDULER "released-at"

/* Whose pod it is, as an owner reference: the object limiters of a new leader count by it. */
#define ANNO_JOB_WORKLOAD DOMAIN_DESCHEDULER "workload"

struct job_facts {
    const struct podmigrationjob *job;
    const struct pod *pod;                 /* of its reference; NULL: the server has none */
    const struct reservation *reservation; /* of its reference; NULL: the server has none */
    const struct pod *bound;               /* first owner of the Reservation; NULL: gone */
    const struct migration_args *args;
    nsec_t now;        /* wall clock */
    nsec_t limited;    /* its pod may be evicted after so long; 0: now */
    const char *limit; /* by this limit */
    bool evict_sent;   /* by this process, a moment ago */
};

enum job_do {
    JOB_NOTHING,
    JOB_SET_POD_UID, /* spec.podRef.uid, of the pod */
    JOB_RESERVE,     /* make the Reservation and refer to it */
    JOB_ORDER,       /* the label reservation-order is missing from the Reservation */
    JOB_EVICT
};
struct job_event {
    bool warning;
    const char *reason, *text;
};
enum { JOB_EVENTS_MAX = 4 };
struct job_plan {
    bool writes; /* the status becomes `to`; then nothing else is done but what follows */
    struct podmigrationjob_status to;
    bool drop_reservation;                   /* before that */
    enum job_do then;                        /* instead, when nothing is written */
    nsec_t again;                            /* look once more after so long; 0: at the next news */
    struct job_event events[JOB_EVENTS_MAX]; /* once it is written */
    unsigned nevents;
};
void job_plan(const struct job_facts *f, struct arena *a, struct job_plan *ret);
/* The part that holds for jobs that wait too: false when the plan is to end it, or it has ended. */
bool job_plan_bounds(const struct job_facts *f, struct arena *a, struct job_plan *ret);

/* The job fails for this reason, whatever it was about to do. */
void job_plan_failure(const struct job_facts *f, struct arena *a, const char *reason,
                      const char *message, struct job_plan *ret);
/* A condition is set; status.status, reason and message tell of it too, if it changed. */
void job_plan_condition(const struct job_facts *f, struct arena *a, const struct timed_condition *c,
                        struct job_plan *ret);

/* Not one of the faults that no time mends: 0, or -EINVAL with the field's path. */
int job_check(const struct podmigrationjob *j, struct kerr *err);
/* The time from which its TTL runs, and when it is over; false: it may take forever. */
bool job_deadline(const struct podmigrationjob *j, nsec_t *ret);
/* "the evict-reason, else the evict-trigger, else NotSet" */
const char *job_evict_reason(const struct podmigrationjob *j);
bool job_has_begun_eviction(const struct podmigrationjob *j);
bool job_evicts_directly(const struct podmigrationjob *j, const struct migration_args *a);
/* The reference to its Reservation; NULL: none yet. */
const struct object_ref *job_reservation(const struct podmigrationjob *j);
#endif
