/* moves.h - memory of moves: which workloads were moved away from which nodes, and what came of it.
 *
 * Without it a descheduler moves in circles: a pod that the scheduler puts back on the node it came
 * from, or one that heats every node it lands on, would be evicted in every round. So, of pods with
 * a controller:
 *   - a replacement (made after a move of its workload) stays for an hour;
 *   - a workload that came back to a node it was moved from stays there for 12 hours, then for 24,
 *     48 ..., a week at most;
 *   - a workload that was moved twice in 24 hours for each of its pods heats every node it lands
 * on: it is left alone altogether for 24 hours, then for 48 ..., a week at most. It knows the last
 * 500 workloads that were moved, and 8 nodes of each. What it knows is kept in a ConfigMap, so a
 * restart forgets nothing. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MOVES_H
#define KOORD_DESCHEDULER_MOVES_H
#include "base/base.h"

struct informer;
struct kd_why;
struct kube;
struct loop;
struct moves;
struct pod;

struct moves_opts {
    struct loop *loop;
    struct kube *kube;
    struct informer *pods; /* tells who came back; must outlive it */
    const char *ns, *name; /* of the ConfigMap; copied */
    bool read_only;        /* what changes is not written */
};
struct moves *moves_new(const struct moves_opts *o);
/* What was not written is lost. NULL is fine; always returns NULL. */
struct moves *moves_free(struct moves *m);
DEFINE_CLEANUP(moves_free, struct moves *)
/* We lead: reads the ConfigMap, and writes changes from now on. */
void moves_start(struct moves *m);
bool moves_ready(const struct moves *m); /* it was read, or cannot be */

bool moves_allow(const struct moves *m, const struct pod *p, nsec_t now, struct kd_why *why);
void moves_add(struct moves *m, const struct pod *p, nsec_t now);
nsec_t moves_last(const struct moves *m, const struct pod *p); /* 0: never */
#endif
