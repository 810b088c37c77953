/* node.h - Node: capacity, taints, conditions, addresses and images. */
#ifndef KOORD_API_NODE_H
#define KOORD_API_NODE_H
#include "api/types.h"

struct node_address {
    const char *type, *address; /* "InternalIP", "Hostname" ... */
};
struct node_image {
    kstrlist names; /* digests and tags of one image */
    int64_t size_bytes;
};
struct node_system_info {
    const char *architecture, *kernel_version, *kubelet_version, *container_runtime_version;
};

struct node_spec {
    taintlist taints;
    const char *provider_id;
    bool unschedulable;
};
struct node_status {
    reslist capacity, allocatable;
    conditionlist conditions;
    KLIST(struct node_address) addresses;
    KLIST(struct node_image) images;
    struct node_system_info node_info;
    int32_t kubelet_port; /* daemonEndpoints.kubeletEndpoint.Port; 0 when absent */
};
struct node {
    struct kobj obj;
    struct node_spec spec;
    struct node_status status;
};
extern const struct kschema node_schema;
extern const struct kind kind_node;

static inline const struct node *node_of(const struct kobj *o)
{
    return container_of(o, const struct node, obj);
}
/* The first address of a type; NULL when there is none. */
const char *node_address(const struct node *n, const char *type);
#endif
