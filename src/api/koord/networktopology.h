/* networktopology.h - ClusterNetworkTopology: the layers of the network. One object, "default". */
#ifndef KOORD_API_KOORD_NETWORKTOPOLOGY_H
#define KOORD_API_KOORD_NETWORKTOPOLOGY_H
#include "api/koord/common.h"

#define NETWORK_TOPOLOGY_NAME  "default"
#define TOPOLOGY_LAYER_CLUSTER "ClusterTopologyLayer" /* the root */
#define TOPOLOGY_LAYER_NODE    "NodeTopologyLayer"    /* the leaves */

struct topology_layer {
    const char *layer, *parent_layer;
    kstrlist label_keys; /* node labels that name the domain; any of them */
};
struct topology_info {
    const char *layer, *name;
};
struct topology_detail {
    struct topology_info info;
    struct topology_info *parent;
    const char *child_layer;
    kstrlist child_names;
    int32_t node_num;
};
struct network_topology_status {
    KLIST(struct topology_detail) details; /* detailStatus */
};
struct network_topology {
    struct kobj obj;
    KLIST(struct topology_layer) layers; /* spec.networkTopologySpec */
    struct network_topology_status status;
};
extern const struct kschema network_topology_schema, network_topology_status_schema;
extern const struct kind kind_network_topology;
extern const struct kind_crd crd_network_topology;

static inline const struct network_topology *network_topology_of(const struct kobj *o)
{
    return container_of(o, const struct network_topology, obj);
}
#endif
