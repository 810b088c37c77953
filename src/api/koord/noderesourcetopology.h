/* noderesourcetopology.h - NodeResourceTopology: the NUMA zones of one node. Named like the node.
 *
 * Two versions are served; koordlet writes and the scheduler reads v1alpha1. There is no spec and
 * no status: the fields stand at the root. The CPUs are in annotations (protocol/cpu.h).
 */
#ifndef KOORD_API_KOORD_NODERESOURCETOPOLOGY_H
#define KOORD_API_KOORD_NODERESOURCETOPOLOGY_H
#include "api/koord/common.h"

#define NRT_ZONE_TYPE_NODE   "Node"
#define NRT_ZONE_NAME_PREFIX "node-" /* "node-0" is NUMA node 0 */

struct nrt_attribute {
    const char *name, *value;
};
typedef KLIST(struct nrt_attribute) nrt_attributelist;
struct nrt_cost {
    const char *name;
    int64_t value;
};
struct nrt_resource {
    const char *name;
    struct qty capacity, allocatable, available;
};
struct nrt_zone {
    const char *name, *type, *parent;
    KLIST(struct nrt_cost) costs;
    nrt_attributelist attributes;
    KLIST(struct nrt_resource) resources;
};
struct noderesourcetopology {
    struct kobj obj;
    kstrlist topology_policies;
    nrt_attributelist attributes; /* v1alpha2 only */
    KLIST(struct nrt_zone) zones;
};
extern const struct kschema nrt_zone_schema, noderesourcetopology_schema,
    noderesourcetopology_v1alpha2_schema;
extern const struct kind kind_noderesourcetopology, kind_noderesourcetopology_v1alpha2;
extern const struct kind_crd crd_noderesourcetopology;

static inline const struct noderesourcetopology *noderesourcetopology_of(const struct kobj *o)
{
    return container_of(o, const struct noderesourcetopology, obj);
}
/* The NUMA node of a zone "node-<n>" of type Node; -1 for every other zone. */
int nrt_zone_numa(const struct nrt_zone *z);
#endif
