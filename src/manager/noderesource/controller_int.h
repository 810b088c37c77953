/* controller_int.h - what the files of the noderesource controller share. */
#ifndef KOORD_MANAGER_NR_CONTROLLER_INT_H
#define KOORD_MANAGER_NR_CONTROLLER_INT_H
#include "base/map.h"
#include "manager/manager_int.h"
#include "manager/noderesource/adapt.h"

struct node_state {                       /* of a node that was looked at */
    nsec_t last_sync, last_topology_sync; /* wall; 0: never */
    struct nr_adapt adapt;
    unsigned evictions; /* by koordlet, since the last report */
    bool cut_known;     /* adapt.cut is set: from the NodeSLO at first */
    bool looked_at;     /* by a sync */
    char name[];
};
struct noderesource_controller {
    struct manager *m;
    struct controller *controller;
    struct map states; /* node -> struct node_state */
    int by_node;       /* index of the pods */
    struct nr_observer *observer;
    struct subscription *evictions; /* NULL: no strategy asks for them */
};

struct node_state *nr_state_of(struct noderesource_controller *c, const char *name);

/* controller_adapt.c: extensions.koord.adaptive. obj: the node's NodeSLO; NULL: the cached one. */
struct nr_cut nr_state_cut(struct noderesource_controller *c, struct node_state *s,
                           const struct nodeslo *obj);
/* Takes a step when there is a new report; true: the cut changed. */
bool nr_state_adapt(struct noderesource_controller *c, struct node_state *s,
                    const struct nr_input *in, const struct nr_result *r);
/* Begins to listen for koordlet's evictions when a strategy asks for it. */
void nr_evictions_watch(struct noderesource_controller *c);
void nr_evictions_unwatch(struct noderesource_controller *c);
#endif
