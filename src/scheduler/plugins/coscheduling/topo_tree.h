/* topo_tree.h - the network of the cluster as a tree of domains, from the layers that a
 * ClusterNetworkTopology names and the labels of the nodes (sched-gang 7.1, 7.2).
 *
 *     layer 0        the cluster, one domain without a name
 *     layers 1..     domains, known by their layer and name: a spine, a block, an accelerator
 *     last layer     the nodes
 *
 * The tree is a function of the layers and of the nodes: in whatever order they came, the result is
 * the same. A domain that nodes put under two others belongs where its oldest node says (by
 * creation, then by name). A node without a label for a layer is left out, but the layer right
 * above the nodes may be missing: such a node is alone in a domain of its own name.
 *
 * A change of one node costs the depth of the tree; only when the oldest node of a domain goes, the
 * nodes of that domain are looked at. Loop thread. Holds a reference on each node.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_TREE_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_TREE_H
#include "api/koord/networktopology.h"
#include "base/map.h"
#include "base/vec.h"

struct node;

enum { TOPO_LAYERS_MAX = 16 }; /* with the cluster and the nodes */

struct topo_leaf; /* a node that is in the tree */

struct topo_domain {
    char *name;
    struct topo_domain *parent; /* NULL: the cluster */
    uint32_t layer;
    uint32_t at;                             /* in the domains of its layer */
    struct vec_of(struct topo_leaf *) named; /* nodes whose labels name it, in no order */
    struct topo_leaf *oldest;                /* of these; NULL: the cluster */
};
struct topo_leaf {
    struct kobj *node;
    uint32_t at; /* in the leaves */
    struct {
        struct topo_domain *domain; /* that its labels name; [0]: the cluster */
        uint32_t at;                /* in domain->named */
    } path[TOPO_LAYERS_MAX - 1];    /* by layer */
};
struct topo_layer {
    char *name;
    char **keys; /* of labels; ends with NULL */
    struct vec_of(struct topo_domain *) domains;
    struct map by_name; /* the same */
};

struct topo_tree {
    struct topo_layer layers[TOPO_LAYERS_MAX];
    uint32_t n; /* layers, with those of the cluster and of the nodes; 0: there is no tree */
    struct vec_of(struct topo_leaf *) leaves;
    struct map by_node;  /* struct topo_leaf by name */
    struct map nodes;    /* struct kobj by name: also those that are left out */
    uint64_t generation; /* grows when the tree changes */
};
void topo_tree_init(struct topo_tree *t);
void topo_tree_fini(struct topo_tree *t);

/* The layers of an object; NULL: there is none, and so no tree. -EINVAL: they make no tree, and
 * what was there before stays. */
int topo_tree_set_layers(struct topo_tree *t, const struct network_topology *o, struct kerr *err);
void topo_tree_put_node(struct topo_tree *t, const struct node *n); /* new or changed */
void topo_tree_remove_node(struct topo_tree *t, const char *name);

/* NULL: the node is not in the tree. */
struct topo_leaf *topo_tree_leaf(const struct topo_tree *t, const char *node);
/* The layer's number; 0: there is none of this name, or it is the cluster's. */
uint32_t topo_tree_layer(const struct topo_tree *t, const char *name);
static inline struct topo_domain *topo_tree_root(const struct topo_tree *t)
{
    return t->layers[0].domains.items[0];
}
/* The domain right above a node, and that of a layer which it is in. */
static inline struct topo_domain *topo_leaf_parent(const struct topo_tree *t,
                                                   const struct topo_leaf *l)
{
    return l->path[t->n - 2].domain;
}
struct topo_domain *topo_leaf_domain(const struct topo_tree *t, const struct topo_leaf *l,
                                     uint32_t layer);

/* What is wrong with the labels of nodes, for people: one sentence, in the arena; "": nothing. */
const char *topo_tree_problem(const struct topo_tree *t, struct arena *a);
/* status.detailStatus: all domains, those above before those below, by name; in the arena. */
uint32_t topo_tree_status(const struct topo_tree *t, struct topology_detail **ret, struct arena *a);
#endif
