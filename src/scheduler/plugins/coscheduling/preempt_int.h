/* preempt_int.h - what the files of job preemption share: the job, its members, and the rows where
 * they may go. All of it lives in the attempt's arena. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_PREEMPT_INT_H
#define KOORD_SCHEDULER_COSCHEDULING_PREEMPT_INT_H
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/coscheduling/coscheduling.h"

struct trial { /* members that are alike share an attempt */
    struct attempt a;
    const struct pod *pod;
    struct trial *next;
};
struct claim { /* a member, and the row that it gets */
    struct kobj *pod;
    struct trial *trial;
    uint32_t row;
};
struct site { /* a row where members may go when others are away */
    uint32_t row;
    uint32_t nvictims; /* that may go */
    int64_t cost;
    bool cleared; /* they are away */
    bool used;
    struct dry_run run;
};
struct job {
    const struct coscheduling *c;
    const struct gang_member *trigger; /* NULL: a pod of no gang */
    struct attempt *a;
    struct preemption_rules rules;
    struct claim *claims;
    uint32_t n, required; /* the first so many must have a place */
    struct kuid *uids;
    struct trial *trials;
    struct site *sites;        /* the cheapest first */
    struct site **by_row;      /* NULL: no members there */
    uint32_t nsites, helpless; /* helpless: rows that victims do not help */
    bool by_plan;              /* of the network topology */
    bool gentle;               /* nobody goes whose budget does not allow it */
};

/* May this pod make room for the job? arg: struct job. */
bool job_may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row);
/* The rules of its dry runs; `fits` is still to be filled in. */
struct preemption_rules job_rules(struct job *j);
/* Rows that victims may help, the cheapest first. */
void job_find_sites(struct job *j);
/* Those of the row that may go are away. */
void site_clear(struct site *s);
/* The row is as before it was cleared; mark: of the overlay then. */
void site_fill(struct job *j, struct site *s, uint32_t mark);
#endif
