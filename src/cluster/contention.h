/* contention.h - who gets how much CPU of a node, at one moment. A model, not a kernel.
 *
 * Pods that together want more than there is share by weight, as cpu.shares would have it: a pod's
 * weight follows from the CPU it requests. Best-effort pods are one group among them, of the lowest
 * weight, and share what the group gets by their own weights. A limit from the node's NodeSLO holds
 * the group back before that, as koordlet's CPU suppression does. No state; safe on any thread.
 */
#ifndef KOORD_CLUSTER_CONTENTION_H
#define KOORD_CLUSTER_CONTENTION_H
#include "base/vec.h"

struct threshold_strategy;

struct cpu_claim { /* of a pod */
    int64_t want_mcpu, weight;
    int64_t got_mcpu; /* the answer: at most what it wants */
};
typedef struct vec_of(struct cpu_claim) claimvec;

/* cpu.shares of a request: 1024 for each core, at least 2. */
int64_t cpu_weight(int64_t request_mcpu);
/* What best-effort pods may use: the threshold's share of the node less what others want. slo NULL
 * or switched off: no limit, INT64_MAX. */
int64_t cpu_suppressed(const struct threshold_strategy *slo, int64_t node_mcpu, int64_t others_mcpu,
                       int64_t system_mcpu);
/* Divides what the node has; be_max: as cpu_suppressed() says. */
void cpu_share(claimvec *others, claimvec *be, int64_t mcpu, int64_t be_max);
#endif
