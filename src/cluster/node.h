/* node.h - inside the node lifecycle.
 *
 *   node.c         heartbeats, the Ready condition, taints that follow from conditions
 *   node_evict.c   pods that do not bear a NoExecute taint, and pods of nodes that are gone
 */
#ifndef KOORD_CLUSTER_NODE_H
#define KOORD_CLUSTER_NODE_H
#include "api/node.h"
#include "cluster/internal.h"

#define TAINT_NOT_READY   "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"

struct nodectl {
    struct cluster *c;
    struct controller *lifecycle, *evictions;
    struct informer *nodes, *pods, *leases;
    struct map health; /* by node name: struct health */
};
/* The node's taints. Where one does not tell since when it is there, since we know it. */
taintlist node_taints(struct nodectl *n, const struct node *node, struct arena *a);
/* Sync of the evictions: of a pod. */
void evict_sync(void *arg, struct batch *b, const char *key, struct kobj *pod);
/* How long the pod stays, by the NoExecute taints of its node: NSEC_MAX: for ever; <= 0: no more.
 */
nsec_t evict_after(const struct pod *p, const taintlist *taints, nsec_t now);
#endif
