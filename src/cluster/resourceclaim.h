/* resourceclaim.h - ResourceClaims: made from templates for pods, reserved for those that run,
 * freed when the last one has ended (sched-dra 7).
 *
 * Two controllers over the same caches. resourceclaim_pods.c has a key for each pod with claims: it
 * makes what templates promise, writes the names into the pod's status, and reserves allocated
 * claims for pods that somebody else than the scheduler bound. resourceclaim.c has a key for each
 * claim: it drops reservations of pods that are gone or done, then the allocation, then the
 * finalizer, and deletes claims whose pod is done.
 *
 * The name of a claim follows from the pod's UID and the entry's name. So a create that is
 * repeated, after a lost answer or by another process after a kill, finds the claim that is there.
 */
#ifndef KOORD_CLUSTER_RESOURCECLAIM_H
#define KOORD_CLUSTER_RESOURCECLAIM_H
#include "api/dra.h"
#include "cluster/internal.h"

struct claimctl {
    struct cluster *c;
    struct controller *of_pods, *of_claims;
    struct informer *pods, *claims, *templates;
    struct claim_metrics *metrics; /* NULL: nobody counts */
};

/* The claim that an entry of spec.resourceClaims stands for, as far as the pod says: NULL when it
 * was not made yet, "" when none is needed. */
const char *pod_claim_name(const struct pod *p, const struct pod_resource_claim *entry);
/* Index of pods: "namespace/name" of all their claims. */
void index_claims(const struct kobj *o, index_emit_fn emit, void *to);

void claimctl_init_pods(struct claimctl *k); /* resourceclaim_pods.c: the controller of pods */

/* ---- resourceclaim_metrics.c ------------------------------------------------------------------ */

struct metrics;
struct claim_metrics *claim_metrics_new(struct metrics *all, struct informer *claims);
struct claim_metrics *claim_metrics_free(struct claim_metrics *m); /* NULL is fine */
/* The server has answered a create; spec: of the template. */
void claim_metrics_created(struct claim_metrics *m, const char *spec, bool success);
#endif
