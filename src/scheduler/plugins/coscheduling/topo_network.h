/* topo_network.h - the service that knows the network topology of the cluster: the tree, kept
 * current with the nodes and with the ClusterNetworkTopology "default"; and the controller that
 * writes its status (sched-gang 7.1, 7.2).
 *
 * One for all profiles. Without --enable-network-topology-manager there is never a tree. Loop
 * thread.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_NETWORK_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_NETWORK_H
#include "scheduler/framework/plugin.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/coscheduling/topo_peers.h"
#include "scheduler/plugins/coscheduling/topo_tree.h"

struct topo_control;

struct topo_network {
    struct ks_env env;
    struct topo_tree tree;
    struct topo_peers peers;
    bool planning; /* members are being tried for a plan: no rounds, no plans within it */
    struct objects_listener listener;
    char problem[256];            /* what is wrong with the object's spec; "": nothing */
    struct topo_control *control; /* NULL: the scheduler does not lead here */
};
KS_SERVICE(topo_network, struct topo_network)

/* The tree; NULL: there is none, because nobody wants one or nothing describes it. */
static inline const struct topo_tree *topo_network_tree(const struct topo_network *n)
{
    return n && n->tree.n > 0 ? &n->tree : NULL;
}

/* ---- topo_control.c -------------------------------------------------------------------------- */

extern const struct ks_controller topo_controller;
/* The tree, or what is wrong with it, has changed. NULL: nobody leads here. */
void topo_control_touch(struct topo_control *c);
#endif
