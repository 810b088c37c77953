/* networktopology.c - tables of ClusterNetworkTopology (api-crds 11). */
#include "api/koord/networktopology.h"

#define F(member, json, type, ...) KF(struct topology_layer, member, json, type, __VA_ARGS__)
static const struct kfield layer_fields[] = {
    F(layer, "topologyLayer", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("name of the layer")),
    F(parent_layer, "parentTopologyLayer", KF_STR, OMIT_STR, DOC("the layer above")),
    F_STRLIST(struct topology_layer, label_keys, "labelKey",
              "node labels that name the domain; any of them"),
};
#undef F
static const struct kschema layer_schema =
    KSCHEMA("NetworkTopologySpec", struct topology_layer, layer_fields);

#define F(member, json, type, ...) KF(struct topology_info, member, json, type, __VA_ARGS__)
static const struct kfield info_fields[] = {
    F(layer, "topologyLayer", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("name of the layer")),
    F(name, "topologyName", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("name of the domain")),
};
#undef F
static const struct kschema info_schema =
    KSCHEMA("TopologyInfo", struct topology_info, info_fields);

#define F(member, json, type, ...) KF(struct topology_detail, member, json, type, __VA_ARGS__)
static const struct kfield detail_fields[] = {
    F(info, "topologyInfo", KF_OBJ, .flags = KF_REQUIRED, .sub = &info_schema, DOC("the domain")),
    F(parent, "parentTopologyInfo", KF_OBJ, OMIT_PTR, .sub = &info_schema,
      DOC("the domain around it")),
    F(child_layer, "childTopologyLayer", KF_STR, OMIT_STR, DOC("the layer below")),
    F_STRLIST(struct topology_detail, child_names, "childTopologyNames", "the domains in it"),
    F(node_num, "nodeNum", KF_I32, .flags = KF_REQUIRED, DOC("number of nodes in it")),
};
#undef F
static const struct kschema detail_schema =
    KSCHEMA("NetworkTopologyDetail", struct topology_detail, detail_fields);

/* The spec holds one list, which stands directly in struct network_topology. */
struct spec_layout {
    KLIST(struct topology_layer) layers;
};
static const struct kfield spec_fields[] = {
    KF_LIST_OF(struct spec_layout, layers, "networkTopologySpec", KF_OBJ, .flags = KF_REQUIRED,
               .sub = &layer_schema, DOC("the layers of the network")),
};
static const struct kschema spec_schema =
    KSCHEMA("ClusterNetworkTopologySpec", struct spec_layout, spec_fields);

static const struct kfield status_fields[] = {
    KF_LIST_OF(struct network_topology_status, details, "detailStatus", KF_OBJ, OMIT,
               .sub = &detail_schema, DOC("the domains that the nodes' labels give")),
};
const struct kschema network_topology_status_schema =
    KSCHEMA("ClusterNetworkTopologyStatus", struct network_topology_status, status_fields);

static const struct kfield network_topology_fields[] = {
    F_METADATA(struct network_topology),
    KF(struct network_topology, layers, "spec", KF_OBJ, OMIT, .sub = &spec_schema,
       DOC("how the network is layered")),
    KF(struct network_topology, status, "status", KF_OBJ, OMIT,
       .sub = &network_topology_status_schema, DOC("the resulting tree")),
};
const struct kschema network_topology_schema =
    KSCHEMA("ClusterNetworkTopology", struct network_topology, network_topology_fields);

const struct kind kind_network_topology = {
    .group = "scheduling.koordinator.sh",
    .version = "v1alpha1",
    .kind = "ClusterNetworkTopology",
    .plural = "clusternetworktopologies",
    .has_status = true,
    .schema = &network_topology_schema,
};
const struct kind_crd crd_network_topology = {
    .versions = { { &kind_network_topology, true } },
    .generator = CONTROLLER_GEN,
    .description = "ClusterNetworkTopology describes the layers of the cluster's network.",
};
