/* nodefit.h - could a pod run on another node? What descheduler plugins check before they evict.
 *
 * Two checks, as in upstream: Koordinator's (descheduler 2) and the one of Kubernetes' descheduler
 * (6.1), which also looks at inter-pod anti-affinity. Neither replaces the scheduler's own answer
 * (struct kd_placer). Requests of a node's pods are summed up once for each view.
 */
#ifndef KOORD_DESCHEDULER_NODEFIT_H
#define KOORD_DESCHEDULER_NODEFIT_H
#include "descheduler/framework/view.h"

enum kd_fit {
    KD_FIT_KOORD, /* selector, affinity, taints, requests, unschedulable */
    KD_FIT_KUBE   /* these and required anti-affinity; no requests on the pod's own node */
};
bool kd_fits(const struct kd_view *v, const struct pod *p, uint32_t node, enum kd_fit how);
/* On one of these nodes; nodes NULL: on any of the view. */
bool kd_fits_any(const struct kd_view *v, const struct pod *p, const uint32_t *nodes, uint32_t n,
                 enum kd_fit how);
/* The same without the node on which it is. */
bool kd_fits_any_other(const struct kd_view *v, const struct pod *p, const uint32_t *nodes,
                       uint32_t n, enum kd_fit how);
/* A term of p's anti-affinity keeps it away from this pod, where both are in one domain. Never from
 * pods of its own name. */
bool kd_apart_from(const struct kd_apart *a, const struct pod *p, const struct pod *other);
/* nodeSelector and required node affinity alone. */
bool kd_fits_affinity(const struct kd_view *v, const struct pod *p, const struct node *n);
#endif
