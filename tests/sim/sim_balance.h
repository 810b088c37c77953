/* sim_balance.h - what sim_balance.c (the cluster, its configuration, its life) and its judge
 * share. */
#ifndef KOORD_TESTS_SIM_BALANCE_H
#define KOORD_TESTS_SIM_BALANCE_H
#include "sim_moves.h"

#include "cluster/load.h"

#define HOUR (60 * MINUTE)
#define DAY  (24 * HOUR)

enum { NODE_MCPU = 16000, REQUEST_MCPU = 500 };
enum { NODES_MAX = 200, APPS_MAX = 40, HOT_NODES = 2 };

struct size {                            /* of a run */
    unsigned nodes, apps, replicas, hot; /* hot: nodes that get more than their share */
    nsec_t time, metrics_interval;
};
/* What the configuration says about how fast a node can be relieved. */
struct pace {
    nsec_t interval;   /* of rounds */
    nsec_t anomaly;    /* how long pods go once a node counts as hot */
    unsigned abnormal; /* rounds before that; 1: it counts as hot at once */
    nsec_t job_ttl;
};
struct app {
    struct load load;
    unsigned hot[HOT_NODES];
    unsigned moves;
    nsec_t first_move; /* wall; 0: none yet */
};
struct guest { /* a pod that was on a node while it was hot */
    struct kuid uid;
    unsigned app;
    bool would_go; /* the judge would have moved it */
};
struct stuck {                         /* too hot, and it need not be */
    nsec_t since;                      /* wall; 0: it is not */
    unsigned restarts, failed, needed; /* of the run, when that began */
};
struct spot { /* a node */
    int64_t mcpu;
    unsigned pods;
    struct stuck stuck;
    unsigned failed;   /* jobs of pods of this node */
    bool hot;          /* its use may be above the threshold */
    unsigned needed;   /* pods that had to go in this hot time, with the height of it in view */
    unsigned would_go; /* the same, with no more in view than what was there at the time */
    struct vec_of(struct guest) guests;
    bool left_by[APPS_MAX]; /* pods of this app were moved away */
    nsec_t left_at[APPS_MAX];
};
struct fixture {
    struct moves_sim m;
    const struct size *size;
    struct pace pace;
    struct app apps[APPS_MAX];
    struct spot spots[NODES_MAX];
    unsigned moves, needed, would_go, vanished;
    unsigned restarts, scheduler_restarts; /* of the descheduler; of the scheduler */
};

static inline struct fixture *fixture_of(struct moves_sim *m)
{
    return container_of(m, struct fixture, m);
}
/* NULL: not a pod of ours. */
struct app *balance_app_of(struct fixture *w, const struct kobj *pod);

/* sim_balance_judge.c: how hot nodes are, whether they stay so, and how many pods had to go. */
void balance_look(struct fixture *w);
void balance_on_move(struct moves_sim *m, const struct podmigrationjob *j, const struct pod *p);
void balance_on_failed(struct moves_sim *m, const struct podmigrationjob *j);
void balance_end(struct fixture *w); /* what is still hot counts */
#endif
