/* sim_moves.h - what the simulations of the descheduler share: its life beside the scheduler's, and
 * an independent judge of what the API server has.
 *
 * After every write that concerns a job or a pod the judge looks: budgets hold, no limit and no
 * rate is exceeded, and no pod goes by a job before its Reservation is Available on another node.
 * Every job is over within its TTL and five minutes. A run that breaks a rule says which, and ends
 * the process.
 */
#ifndef KOORD_TESTS_SIM_MOVES_H
#define KOORD_TESTS_SIM_MOVES_H
#include "sim_cluster.h"

#include "base/vec.h"

struct config;
struct descheduler;
struct moves_sim;
struct podmigrationjob;
struct scheduler;

#define MINUTE   (60 * SEC)
#define SLOW_MAX (2 * SEC)

struct gone { /* a Reservation that was deleted, by whomever */
    char name[64];
    nsec_t at;
};
struct eviction {
    struct kobj *pod;
    nsec_t at; /* mono */
};
struct workload_eviction {
    struct kuid owner;
    char job[64];
    nsec_t at; /* mono */
};
/* What the configuration under test allows; 0: not limited. */
struct move_limits {
    unsigned per_node, globally;
    double qps;
    double per_workload; /* evictions in a second, by the object limiter */
};
struct moves_sim {
    struct sim s;
    uint64_t seed;
    struct move_limits limits;
    struct config *sched_config, *config; /* owned */
    struct scheduler *scheduler;
    struct descheduler *descheduler;
    bool remembers; /* the descheduler has its memory of moves */
    struct informer *jobs, *reservations, *pdbs;
    struct vec_of(struct gone) gone;
    struct vec_of(struct eviction) pending; /* pods that go, to be judged in a moment */
    struct vec_of(nsec_t) evictions;        /* by jobs */
    struct vec_of(struct workload_eviction) of_workloads;
    struct timer *judge;
    bool by_hand; /* pods that the test deletes are not judged */
    /* A pod went, by this job. May be NULL. */
    void (*on_move)(struct moves_sim *m, const struct podmigrationjob *j, const struct pod *p);
    void (*on_failed)(struct moves_sim *m, const struct podmigrationjob *j); /* or NULL */
    unsigned judged, with_place, direct, succeeded, failed;
};

/* The server, a cluster of so many hollow nodes, and the judge; no scheduler yet. */
struct moves_shape {
    unsigned nodes;
    nsec_t metrics_interval;
};
void moves_begin(struct moves_sim *m, uint64_t seed, const struct moves_shape *shape);
void moves_end(struct moves_sim *m);
/* A DeschedulerConfiguration as text; the scheduler has the chart's. */
void moves_configure(struct moves_sim *m, const char *text);
void moves_start_scheduler(struct moves_sim *m); /* again: in place of the one that runs */
void moves_start_descheduler(struct moves_sim *m);

/* Single quotes stand for double ones. */
void moves_create(struct moves_sim *m, const char *fmt, ...) PRINTF(2, 3);
unsigned moves_below(struct moves_sim *m, unsigned n);
const struct kobj *moves_any_of(struct moves_sim *m, struct informer *inf); /* NULL: none */
void moves_drop_any(struct moves_sim *m, struct informer *inf); /* deletes one, by chance */

/* sim_moves_judge.c: its part of moves_begin() and moves_end(). */
void judge_begin(struct moves_sim *m);
void judge_end(struct moves_sim *m);
/* No job is late, and no Reservation of the descheduler is left without its job. */
void moves_judge_end(struct moves_sim *m);
NORETURN void moves_die(const struct moves_sim *m, const char *fmt, ...) PRINTF(2, 3);

/* main() of such a program: [FIRST [COUNT]], spread over the processors. */
struct moves_runs {
    const char *name;
    uint64_t seeds, seeds_full; /* seeds_full: with KOORD_TEST_FULL */
    void (*run)(uint64_t seed, bool tell);
};
int moves_main(const struct moves_runs *r, int argc, char **argv);
#endif
