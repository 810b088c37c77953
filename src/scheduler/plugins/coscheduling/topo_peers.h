/* topo_peers.h - which nodes have pods of a selector (the annotation network-topology-selector), so
 * that the next one goes near them (sched-gang 7.4, 7.6).
 *
 * Kept by what a service hears of pods: those that are on a node, and those that were given one
 * here. Pods without the annotation cost nothing. Loop thread.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_PEERS_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_PEERS_H
#include "base/map.h"
#include "scheduler/model/uidmap.h"

struct pod;

struct topo_peers {       /* all zero: nobody is known */
    struct map selectors; /* struct peer_selector by its text */
    struct uidmap pods;   /* struct peer */
};
void topo_peers_fini(struct topo_peers *p);

/* The pod is on this node, or about to be; NULL: it is on none. */
void topo_peers_put(struct topo_peers *p, const struct pod *pod, const char *node);
void topo_peers_remove(struct topo_peers *p, struct kuid uid);

/* The selector of a pod; NULL: none. */
const char *topo_selector(const struct pod *pod);
/* Iterate over the nodes that have pods of the selector, in no order:
 * for (size_t it = 0; (node = topo_peers_next(p, selector, &it, &count));) */
const char *topo_peers_next(const struct topo_peers *p, const char *selector, size_t *it,
                            uint32_t *ret_count);
#endif
