/* noderesourcetopology.c - tables of NodeResourceTopology (api-crds 13). */
#include "api/koord/noderesourcetopology.h"

#include "base/num.h"

#define F(member, json, type, ...) KF(struct nrt_attribute, member, json, type, __VA_ARGS__)
static const struct kfield attribute_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("name of the attribute")),
    F(value, "value", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("value of the attribute")),
};
#undef F
static const struct kschema attribute_schema =
    KSCHEMA("AttributeInfo", struct nrt_attribute, attribute_fields);

#define F(member, json, type, ...) KF(struct nrt_cost, member, json, type, __VA_ARGS__)
static const struct kfield cost_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("the other zone")),
    F(value, "value", KF_I64, .flags = KF_REQUIRED, DOC("distance to it")),
};
#undef F
static const struct kschema cost_schema = KSCHEMA("CostInfo", struct nrt_cost, cost_fields);

#define F(member, json, type, ...) KF(struct nrt_resource, member, json, type, __VA_ARGS__)
static const struct kfield resource_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("resource name")),
    F(capacity, "capacity", KF_QTY, .flags = KF_REQUIRED, DOC("all there is")),
    F(allocatable, "allocatable", KF_QTY, .flags = KF_REQUIRED, DOC("what pods may have")),
    F(available, "available", KF_QTY, .flags = KF_REQUIRED, DOC("what is free")),
};
#undef F
static const struct kschema resource_schema =
    KSCHEMA("ResourceInfo", struct nrt_resource, resource_fields);

#define F(member, json, type, ...) KF(struct nrt_zone, member, json, type, __VA_ARGS__)
static const struct kfield zone_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("node-0 for NUMA node 0")),
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("Node for a NUMA node")),
    F(parent, "parent", KF_STR, OMIT_STR, DOC("the zone around this one")),
    KF_LIST_OF(struct nrt_zone, costs, "costs", KF_OBJ, OMIT, .sub = &cost_schema,
               DOC("distances to other zones")),
    KF_LIST_OF(struct nrt_zone, attributes, "attributes", KF_OBJ, OMIT, .sub = &attribute_schema,
               DOC("attributes of the zone")),
    KF_LIST_OF(struct nrt_zone, resources, "resources", KF_OBJ, OMIT, .sub = &resource_schema,
               DOC("resources of the zone")),
};
#undef F
const struct kschema nrt_zone_schema = KSCHEMA("Zone", struct nrt_zone, zone_fields);

#define NRT struct noderesourcetopology
#define ZONES                                                                              \
    KF_LIST_OF(NRT, zones, "zones", KF_OBJ, .flags = KF_REQUIRED, .sub = &nrt_zone_schema, \
               DOC("the zones of the node"))

static const struct kfield v1alpha1_fields[] = {
    F_METADATA(NRT),
    KF_LIST_OF(NRT, topology_policies, "topologyPolicies", KF_STR, .flags = KF_REQUIRED | KF_INTERN,
               DOC("policy of the kubelet's topology manager")),
    ZONES,
};
const struct kschema noderesourcetopology_schema =
    KSCHEMA("NodeResourceTopology", NRT, v1alpha1_fields);

static const struct kfield v1alpha2_fields[] = {
    F_METADATA(NRT),
    KF_LIST_OF(NRT, topology_policies, "topologyPolicies", KF_STR, OMIT_STR,
               DOC("deprecated: policy of the kubelet's topology manager")),
    KF_LIST_OF(NRT, attributes, "attributes", KF_OBJ, OMIT, .sub = &attribute_schema,
               DOC("attributes of the node")),
    ZONES,
};
const struct kschema noderesourcetopology_v1alpha2_schema =
    KSCHEMA("NodeResourceTopology", NRT, v1alpha2_fields);

#define NRT_KIND(v, s)                                                                     \
    {                                                                                      \
        .group = "topology.node.k8s.io", .version = (v), .kind = "NodeResourceTopology",   \
        .plural = "noderesourcetopologies", .short_names = "node-res-topo", .schema = &(s) \
    }
const struct kind kind_noderesourcetopology = NRT_KIND("v1alpha1", noderesourcetopology_schema);
const struct kind kind_noderesourcetopology_v1alpha2 =
    NRT_KIND("v1alpha2", noderesourcetopology_v1alpha2_schema);

const struct kind_crd crd_noderesourcetopology = {
    .versions = { { &kind_noderesourcetopology, false },
                  { &kind_noderesourcetopology_v1alpha2, true } },
    .approved = "https://github.com/kubernetes/enhancements/pull/1870",
    .generator = "v0.11.1",
    .description = "NodeResourceTopology describes the NUMA zones of one node.",
};

int nrt_zone_numa(const struct nrt_zone *z)
{
    size_t prefix = sizeof NRT_ZONE_NAME_PREFIX - 1;
    int64_t n;

    if (!streq(z->type, NRT_ZONE_TYPE_NODE) || !str_starts(z->name, NRT_ZONE_NAME_PREFIX) ||
        i64_parse(z->name + prefix, strlen(z->name + prefix), &n) < 0 || n < 0 || n > INT32_MAX)
        return -1;
    return (int)n;
}
