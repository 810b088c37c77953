/* topo_solve.h - how the pods of a gang are spread over the nodes of a network topology
 * (sched-gang 7.3, 7.4).
 *
 * Given is how many pods each node has room for (its slots). The pods go into the smallest domain
 * that has room for all of them, inside one domain of the layer where they must gather; the
 * fullest such domain, so that large ones stay whole for others. Multiples say that a domain of a
 * layer gets a multiple of so many pods, or none.
 *
 * Pure: a function of the tree and the offers. Linear in the nodes and domains, but for sorting the
 * children of the domains that get pods. Everything lives in the arena.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_SOLVE_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_SOLVE_H
#include "api/protocol/gang.h"
#include "scheduler/plugins/coscheduling/topo_tree.h"

struct strbuf;

struct topo_offer {    /* of one node */
    uint32_t slots;    /* so many of the pods, in their order, have room there */
    uint32_t existing; /* pods of the same selector that are there */
    int64_t score;     /* decides between domains that are equal otherwise; the higher the better */
};
struct topo_request {
    const struct network_topology_spec *spec;
    uint32_t want; /* pods */
    /* The pods have a selector. Those that were tried on a node to count its slots are taken to be
     * there by then, as upstream does: all that had room but the last of the gang. */
    bool selector;
};
struct topo_share { /* in the order in which the pods are handed out */
    const struct topo_leaf *leaf;
    uint32_t n;
};
struct topo_room { /* a domain, and how many pods it has room for */
    const char *layer, *name;
    uint32_t slots;
};
struct topo_solution {
    const struct topo_share *shares;
    uint32_t n;
    /* Without shares: the domains one of which should have had room for all. */
    struct topo_room *rooms;
    uint32_t nrooms;
};
/* offers: by leaf->at. False: there is no such domain. */
bool topo_solve(const struct topo_tree *t, const struct topo_request *r,
                const struct topo_offer *offers, struct arena *a, struct topo_solution *ret);
/* The domains of a layer and their slots, by name; layer 0: the cluster. */
struct topo_room *topo_rooms(const struct topo_tree *t, const struct topo_request *r,
                             const struct topo_offer *offers, uint32_t layer, struct arena *a,
                             uint32_t *ret_n);
/* Why not, in upstream's words; fit: "0/3 nodes are available: ..." */
void topo_refusal(const struct topo_request *r, const struct topo_solution *s, const char *fit,
                  struct strbuf *out);

/* The layer in one of whose domains all pods must be: its number, and its name in *ret_name; 0 and
 * NULL: the cluster will do. A layer that is not in the tree has the number 0, and a name. */
uint32_t topo_must_layer(const struct topo_tree *t, const struct network_topology_spec *spec,
                         const char **ret_name);
#endif
