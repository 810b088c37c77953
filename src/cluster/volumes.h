/* volumes.h - inside the binder of PersistentVolumes and claims.
 *
 *   volumes.c        claims: which volume is theirs, written step by step
 *   volumes_pv.c     volumes: their phase, and what becomes of them when the claim is gone
 *   volumes_match.c  which volume would do
 *   volumes_keep.c   finalizers: what is in use is not deleted
 *   volumes_ephemeral.c  claims of generic ephemeral volumes
 *   volumes_hollow.c  volumes for claims of hollow classes
 *
 * A claim is bound by three writes, in this order: the volume names the claim (by us, or by the
 * scheduler for claims that wait for their pod), the claim names the volume, the claim's status
 * says so. Each sync makes the one that is missing, so a lost answer is seen and done again.
 */
#ifndef KOORD_CLUSTER_VOLUMES_H
#define KOORD_CLUSTER_VOLUMES_H
#include "api/storage.h"
#include "cluster/internal.h"

#define ANN_BOUND_BY_US    "pv.kubernetes.io/bound-by-controller"
#define ANN_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define ANN_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define ANN_CLASS          "volume.beta.kubernetes.io/storage-class"

struct volctl {
    struct cluster *c;
    struct controller *claim_controller, *volume_controller, *ephemeral_controller;
    struct controller *class_controller; /* NULL: nobody provisions */
    struct informer *claims, *volumes, *classes, *pods;
};

static inline const struct pv *pv_of(const struct kobj *o)
{
    return container_of(o, const struct pv, obj);
}
static inline const struct pvc *pvc_of(const struct kobj *o)
{
    return container_of(o, const struct pvc, obj);
}

/* volumes_match.c */
const char *volume_class(const struct kobj *o, const char *in_spec);
bool volume_is_for(const struct pv *v, const struct pvc *c); /* it names this claim */
/* NULL: it would do. */
const char *volume_mismatch(const struct pv *v, const struct pvc *c);
/* One that names the claim, else (unless it waits for its pod) the smallest that is free. */
const struct pv *volume_find(const struct volctl *vc, const struct pvc *c, bool delayed,
                             struct arena *a);

/* volumes_keep.c: true when a write of finalizers is under way; nothing else is to be done then. */
bool claim_protect(struct volctl *vc, struct batch *b, const struct kobj *claim);
bool volume_protect(struct batch *b, const struct pv *v);
void index_pod_claims(const struct kobj *pod, index_emit_fn emit, void *to); /* "ns/claim" */

/* volumes_ephemeral.c */
void ephemeral_sync(void *arg, struct batch *b, const char *key, struct kobj *pod);
void ephemeral_watch(struct volctl *vc);

/* volumes_hollow.c */
bool hollow_provisions(const struct volctl *vc, const struct storage_class *class);
/* The volume of a claim that has none. */
void hollow_provision(struct volctl *vc, struct batch *b, const struct pvc *c,
                      const struct storage_class *class);
void hollow_class_start(struct volctl *vc); /* makes the class, should it be missing */

/* volumes_pv.c */
void volume_sync(void *arg, struct batch *b, const char *key, struct kobj *volume);
#endif
