/* node.c - tables of Node. */
#include "api/node.h"

#include "api/meta_fields.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)

static const struct kfield node_address_fields[] = {
    KF(struct node_address, type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct node_address, address, "address", KF_STR, .flags = KF_REQUIRED),
};
static const struct kschema node_address_schema =
    KSCHEMA("NodeAddress", struct node_address, node_address_fields);

static const struct kfield node_image_fields[] = {
    KF_STRLIST(struct node_image, names, "names"),
    KF(struct node_image, size_bytes, "sizeBytes", KF_I64, .flags = OMIT),
};
static const struct kschema node_image_schema =
    KSCHEMA("ContainerImage", struct node_image, node_image_fields);

#define F(member, json) KF(struct node_system_info, member, json, KF_STR, .flags = INTERN_OMIT)
static const struct kfield node_system_info_fields[] = {
    F(kernel_version, "kernelVersion"),
    F(container_runtime_version, "containerRuntimeVersion"),
    F(kubelet_version, "kubeletVersion"),
    F(architecture, "architecture"),
};
#undef F
static const struct kschema node_system_info_schema =
    KSCHEMA("NodeSystemInfo", struct node_system_info, node_system_info_fields);

/* daemonEndpoints: {kubeletEndpoint: {Port: 10250}}, down to the one number. The capital P is
 * upstream's. */
struct endpoint {
    int32_t port;
};
static const struct kfield endpoint_fields[] = {
    KF(struct endpoint, port, "Port", KF_I32, .flags = OMIT),
};
static const struct kschema endpoint_schema =
    KSCHEMA("DaemonEndpoint", struct endpoint, endpoint_fields);
static const struct kfield endpoints_fields[] = {
    KF(struct endpoint, port, "kubeletEndpoint", KF_OBJ, .flags = OMIT, .sub = &endpoint_schema),
};
static const struct kschema endpoints_schema =
    KSCHEMA("NodeDaemonEndpoints", struct endpoint, endpoints_fields);

static const struct kfield node_spec_fields[] = {
    KF(struct node_spec, provider_id, "providerID", KF_STR, .flags = OMIT),
    KF(struct node_spec, unschedulable, "unschedulable", KF_BOOL, .flags = OMIT),
    KF_LIST_OF(struct node_spec, taints, "taints", KF_OBJ, .flags = OMIT, .sub = &taint_schema),
};
static const struct kschema node_spec_schema =
    KSCHEMA("NodeSpec", struct node_spec, node_spec_fields);

#define LIST(member, json, schema) \
    KF_LIST_OF(struct node_status, member, json, KF_OBJ, .flags = OMIT, .sub = &(schema))
static const struct kfield node_status_fields[] = {
    KF_RESLIST(struct node_status, capacity, "capacity"),
    KF_RESLIST(struct node_status, allocatable, "allocatable"),
    LIST(conditions, "conditions", condition_schema),
    LIST(addresses, "addresses", node_address_schema),
    KF(struct node_status, kubelet_port, "daemonEndpoints", KF_OBJ, .flags = OMIT,
       .sub = &endpoints_schema),
    KF(struct node_status, node_info, "nodeInfo", KF_OBJ, .flags = OMIT,
       .sub = &node_system_info_schema),
    LIST(images, "images", node_image_schema),
};
static const struct kschema node_status_schema =
    KSCHEMA("NodeStatus", struct node_status, node_status_fields);

static const struct kfield node_fields[] = {
    KF_OBJMETA(struct node),
    KF(struct node, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &node_spec_schema),
    KF(struct node, status, "status", KF_OBJ, .flags = OMIT, .sub = &node_status_schema),
};
const struct kschema node_schema = KSCHEMA("Node", struct node, node_fields);

const struct kind kind_node = {
    .group = "",
    .version = "v1",
    .kind = "Node",
    .plural = "nodes",
    .short_names = "no",
    .has_status = true,
    .schema = &node_schema,
};

const char *node_address(const struct node *n, const char *type)
{
    for (uint32_t i = 0; i < n->status.addresses.n; i++)
        if (streq(n->status.addresses.items[i].type, type))
            return n->status.addresses.items[i].address;
    return NULL;
}
