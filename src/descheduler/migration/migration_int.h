/* migration_int.h - what the files of the MigrationController share. */
#ifndef KOORD_DESCHEDULER_MIGRATION_MIGRATION_INT_H
#define KOORD_DESCHEDULER_MIGRATION_MIGRATION_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "controllers/controller.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/migration/arbitrate.h"
#include "descheduler/migration/evictrate.h"
#include "descheduler/migration/jobplan.h"
#include "descheduler/migration/owners.h"

struct kube_call;
struct timer;

/* What this process knows of a job beside the object. */
struct job_state {
    struct kuid uid;
    bool passed;      /* arbitration: in this process, or before it began to lead */
    bool has_verdict; /* of the last round, which sync is to write */
    enum verdict verdict;
    struct limit_hit hit;
    char *waits_for;      /* the text of it */
    nsec_t told_at;       /* mono: when that was written last; 0: never */
    nsec_t evicted_at;    /* mono: when its eviction was accepted; 0: not by us */
    nsec_t refused_until; /* mono: an eviction was refused, and is not repeated before */
    char name[];
};
struct creation; /* a job that was asked for and does not show in the cache yet */

struct migration {
    struct kd_env env;
    const struct migration_args *args;
    char identity[37]; /* what our jobs carry in the annotation job-created-by */
    struct informer *jobs, *pods, *reservations;
    struct subscription *job_news, *pod_news;
    struct owners *owners;
    struct workloads *workloads;
    struct evictrate *rate;
    struct jobtally *tally; /* NULL: to be made anew */
    int by_pod;             /* index of jobs: who leaves */
    struct map states;      /* name of the job -> job_state */
    struct creation *creations;
    struct controllers *controllers;
    struct controller *sync;  /* keys: names of jobs */
    struct controller *clean; /* keys: names of Reservations whose job may be gone */
    struct timer *round;
    nsec_t round_took; /* the last arbitration, for tests and benchmarks */
    nsec_t tell_at;    /* mono: why a job waits can be told again then; 0: nothing is left */
    bool changed;      /* since the last round of arbitration */
};

/* ---- migration.c ----------------------------------------------------------------------------- */

/* Something that the checks read has changed. */
void migration_changed(struct migration *m);
struct checks migration_checks(struct migration *m);
/* Ours to carry out: our own, and for the first profile those of nobody. */
bool migration_owns(const struct migration *m, const struct podmigrationjob *j);
struct job_state *migration_state(struct migration *m, const struct podmigrationjob *j);
/* NULL: there is none, or it is of another job by this name. For whoever comes back after a call.
 */
struct job_state *migration_find_state(const struct migration *m, const struct podmigrationjob *j);
void migration_forget(struct migration *m, const char *name);
const struct pod *migration_pod_of(const struct migration *m, const struct podmigrationjob *j);
/* When the pod of a job went, by the wall clock; 0: it is still here. One that was announced and is
 * gone may have gone this moment, or when the job ended. */
nsec_t migration_evicted_at(const struct migration *m, const struct podmigrationjob *j);
bool job_has_passed(const struct migration *m, const struct podmigrationjob *j);
void migration_event(const struct migration *m, const struct podmigrationjob *j,
                     const struct job_event *e);

/* ---- create.c: evict() makes a job ----------------------------------------------------------- */

bool migration_evict(void *self, const struct kd_view *v, const struct pod *p,
                     const struct kd_eviction *e, struct kd_why *why);
/* kd_leaving(): by jobs that are under way, are being made, or have evicted. */
void leaving_init(struct migration *m);
bool migration_leaving(void *self, const char *ns, const char *name, nsec_t since);
void creations_count(const struct migration *m, struct jobtally *t);
void creations_shown(struct migration *m, const struct kobj *job);
void creations_drop(struct migration *m);

/* ---- arbitration.c: arbitration -------------------------------------------------------------------- */

void arbitration_start(struct migration *m);
void arbitration_stop(struct migration *m);

/* ---- sync.c: one job ------------------------------------------------------------------------- */

void job_sync(void *self, struct batch *b, const char *key, struct kobj *o);

/* ---- act.c: what a step does ----------------------------------------------------------------- */

struct job_run { /* a step under way; in the batch's arena */
    struct migration *m;
    struct batch *b;
    struct job_facts f;
};
void act_write(struct job_run *r, const struct job_plan *p);
void act_on(struct job_run *r, enum job_do what);
/* Deletes a Reservation by its name; done when it is not there. */
void act_drop_reservation(struct batch *b, const char *name, batch_fn fn, void *arg);
/* The name of the job's Reservation: of its reference, else the one that we would give it. */
const char *act_reservation_name(const struct podmigrationjob *j, struct arena *a);
/* Decodes the object of an answer and holds it in the batch; NULL: it is none. */
const struct kobj *act_decode(struct batch *b, const struct kind *k, const struct kube_resp *resp,
                              struct kerr *err);

/* ---- clean.c: Reservations without a job ------------------------------------------------------ */

void clean_sync(void *self, struct batch *b, const char *key, struct kobj *o);

/* ---- evict.c: the pod goes ------------------------------------------------------------------- */

void evict_pod(struct job_run *r);
/* Without a Reservation: would the scheduler find another node? Where nobody can be asked, it
 * would. False: no, and ret says why; or it cannot be told at this moment, and the text is empty.
 */
bool evict_has_place(const struct migration *m, const struct pod *p, struct kd_placement *ret);
#endif
