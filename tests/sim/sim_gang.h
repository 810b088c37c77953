/* sim_gang.h - what the parts of sim_gang share: the groups that a run has made, and the judge of
 * what the server holds.
 *
 * The judge looks at every write: no node is overfull, the first member of a set is bound only when
 * as many were permitted with it as the group's policy wants, nobody waits on a permit between two
 * turns, and no pod is evicted for a group that all evictions together would not help. Where
 * nothing went wrong it looks again one back-off after every change: groups are bound as a whole,
 * nobody keeps room by assumption, permit or nomination, every eviction was followed by a binding,
 * and no group that fits is left waiting. The flush of pods that wait for too long is off, so that
 * it hides nothing.
 */
#ifndef KOORD_TESTS_SIM_GANG_H
#define KOORD_TESTS_SIM_GANG_H
#include "client/test/client_fixture.h"

#define SEC NSEC_PER_SEC
enum { NODES = 6, CPUS = 6, GROUPS = 10, GANGS = 2, MEMBERS = 6 };

enum policy { ONCE_SATISFIED, ONLY_WAITING, WAITING_AND_RUNNING, POLICIES };

struct gang {
    int min;
    bool pods[MEMBERS];  /* made, and not deleted by the run */
    bool bound[MEMBERS]; /* as the server has it */
};
struct group { /* n 0: not made yet */
    int n;
    enum policy policy;
    bool strict, by_podgroup;
    bool once;      /* a member was bound, and the scheduler can still know it */
    bool disturbed; /* members went, or faults came between: it may be bound in part */
    int permitted;  /* how many the last binding says were permitted with it */
    int arrived;    /* bindings since the last change */
    struct gang gangs[GANGS];
};
struct sim {
    struct client_fixture client;
    struct scheduler *s;
    uint64_t seed;
    bool preempts, faulty;
    int nodes, nlow;
    struct group groups[GROUPS];
    unsigned judged, binds, complete, evicted;
    unsigned step_binds, step_evicted; /* since the last change */
};

_Noreturn void sim_die(const struct sim *s, const char *what, const char *name);

void judge_start(struct sim *s);
/* Something is about to change. */
void judge_step(struct sim *s);
/* One scheduler has taken the place of another: it knows what the server has. */
void judge_successor(struct sim *s);
/* A member was deleted: what was true of a group without any is not true of the next. */
void judge_deleted(struct group *g);
/* Nothing went wrong since the last change, and a back-off has passed. */
void judge_rest(struct sim *s);
/* The same after faults: only what must be true in the end. */
void judge_end(struct sim *s);
#endif
