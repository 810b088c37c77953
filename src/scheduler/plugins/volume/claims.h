/* claims.h - a pod's volumes and the claims behind them: what the plugins about volumes share.
 *
 * Pure over the object cache; everything returned is borrowed from it or from the pod.
 */
#ifndef KOORD_SCHEDULER_VOLUME_CLAIMS_H
#define KOORD_SCHEDULER_VOLUME_CLAIMS_H
#include "api/storage.h"
#include "scheduler/framework/plugin.h"

#define ANN_STORAGE_CLASS       "volume.beta.kubernetes.io/storage-class"
#define ANN_SELECTED_NODE       "volume.kubernetes.io/selected-node"
#define ANN_BIND_COMPLETED      "pv.kubernetes.io/bind-completed"
#define ANN_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"

static inline const struct pv *pv_of(const struct kobj *o)
{
    return container_of(o, const struct pv, obj);
}
static inline const struct pvc *pvc_of(const struct kobj *o)
{
    return container_of(o, const struct pvc, obj);
}
static inline const struct storage_class *storage_class_of(const struct kobj *o)
{
    return container_of(o, const struct storage_class, obj);
}
static inline const struct csi_node *csi_node_of(const struct kobj *o)
{
    return container_of(o, const struct csi_node, obj);
}
/* NULL when there is none. */
const struct pv *claims_pv(const struct objects *w, const char *name);
const struct storage_class *claims_class(const struct objects *w, const char *name);

/* The volume is a claim: one that the pod names, or one made for it. */
static inline bool volume_is_claim(const struct pod_volume *v)
{
    return v->claim || v->ephemeral;
}
/* An ephemeral volume's claim is "pod-volume". The name is the volume's own, or stands in buf. */
enum { CLAIM_NAME_MAX = 512 };
const char *claim_name(const struct pod *p, const struct pod_volume *v, char *buf);
/* NULL when there is none. */
const struct pvc *claim_find(const struct objects *w, const struct pod *p,
                             const struct pod_volume *v);
/* An ephemeral volume must not use a claim that somebody else made under its name. */
bool claim_is_for(const struct pvc *c, const struct pod *p, const struct pod_volume *v);
/* Does a volume of the pod name this claim? ephemeral: such volumes count too. */
bool claim_is_used(const struct kobj *claim, const struct pod *p, bool ephemeral);

/* The class by annotation or spec; "" for none. */
const char *pvc_class(const struct pvc *c);
const char *pv_class(const struct pv *v);
bool pvc_is_bound(const struct pvc *c);
bool access_has(const kstrlist *modes, const char *mode);
/* The volume is bound to the claim, or was pre-bound to it. */
bool pv_is_bound_to(const struct pv *v, const struct pvc *c);

/* A claim of the pod that is not there: what upstream's caches say. */
void claim_missing(struct ks_texts *why, const char *name);
void claim_foreign(struct ks_texts *why, const struct pvc *c, const struct pod *p);
#endif
