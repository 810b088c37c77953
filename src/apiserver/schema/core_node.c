/* core_node.c - core/v1: nodes. */
#include "apiserver/schema/tables.h"

static const struct t_field core_taint_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, 0),
    ENUM(3, "effect", taint_effect_values, "v1.TaintEffect", T_REQ | T_EMIT),
    F(4, "timeAdded", T_TIME, T_PTR),
    END,
};
static TYPE(core_taint, "io.k8s.api.core.v1.Taint");

static const struct t_field core_config_map_node_config_source_fields[] = {
    F(1, "namespace", T_STR, T_REQ | T_EMIT),        F(2, "name", T_STR, T_REQ | T_EMIT),
    F(3, "uid", T_STR, 0, GO("types.UID")),          F(4, "resourceVersion", T_STR, 0),
    F(5, "kubeletConfigKey", T_STR, T_REQ | T_EMIT), END,
};
static TYPE(core_config_map_node_config_source, "io.k8s.api.core.v1.ConfigMapNodeConfigSource");

static const struct t_field core_node_config_source_fields[] = {
    OBJ(2, "configMap", core_config_map_node_config_source, T_PTR),
    END,
};
static TYPE(core_node_config_source, "io.k8s.api.core.v1.NodeConfigSource");

static const struct t_field core_node_spec_fields[] = {
    F(1, "podCIDR", T_STR, 0),
    LIST(7, "podCIDRs", T_STR, T_SET),
    F(3, "providerID", T_STR, 0),
    F(4, "unschedulable", T_BOOL, 0),
    OBJS(5, "taints", core_taint, T_ATOMIC),
    OBJ(6, "configSource", core_node_config_source, T_PTR),
    F(2, "externalID", T_STR, 0),
    END,
};
static TYPE(core_node_spec, "io.k8s.api.core.v1.NodeSpec");

static const struct t_field core_node_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.NodeConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastHeartbeatTime", T_TIME, T_EMIT),
    F(4, "lastTransitionTime", T_TIME, T_EMIT),
    F(5, "reason", T_STR, 0),
    F(6, "message", T_STR, 0),
    END,
};
static TYPE(core_node_condition, "io.k8s.api.core.v1.NodeCondition");

static const struct t_field core_node_address_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.NodeAddressType")),
    F(2, "address", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_node_address, "io.k8s.api.core.v1.NodeAddress");

static const struct t_field core_daemon_endpoint_fields[] = {
    F(1, "Port", T_I32, T_REQ | T_EMIT),
    END,
};
static TYPE(core_daemon_endpoint, "io.k8s.api.core.v1.DaemonEndpoint");

static const struct t_field core_node_daemon_endpoints_fields[] = {
    OBJ(1, "kubeletEndpoint", core_daemon_endpoint, T_EMIT),
    END,
};
static TYPE(core_node_daemon_endpoints, "io.k8s.api.core.v1.NodeDaemonEndpoints");

static const struct t_field core_node_swap_status_fields[] = {
    F(1, "capacity", T_I64, T_PTR),
    END,
};
static TYPE(core_node_swap_status, "io.k8s.api.core.v1.NodeSwapStatus");

static const struct t_field core_node_system_info_fields[] = {
    F(1, "machineID", T_STR, T_REQ | T_EMIT),
    F(2, "systemUUID", T_STR, T_REQ | T_EMIT),
    F(3, "bootID", T_STR, T_REQ | T_EMIT),
    F(4, "kernelVersion", T_STR, T_REQ | T_EMIT),
    F(5, "osImage", T_STR, T_REQ | T_EMIT),
    F(6, "containerRuntimeVersion", T_STR, T_REQ | T_EMIT),
    F(7, "kubeletVersion", T_STR, T_REQ | T_EMIT),
    F(8, "kubeProxyVersion", T_STR, T_REQ | T_EMIT),
    F(9, "operatingSystem", T_STR, T_REQ | T_EMIT),
    F(10, "architecture", T_STR, T_REQ | T_EMIT),
    OBJ(11, "swap", core_node_swap_status, T_PTR),
    END,
};
static TYPE(core_node_system_info, "io.k8s.api.core.v1.NodeSystemInfo");

static const struct t_field core_container_image_fields[] = {
    LIST(1, "names", T_STR, T_EMIT | T_ATOMIC),
    F(2, "sizeBytes", T_I64, 0),
    END,
};
static TYPE(core_container_image, "io.k8s.api.core.v1.ContainerImage");

static const struct t_field core_attached_volume_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.UniqueVolumeName")),
    F(2, "devicePath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_attached_volume, "io.k8s.api.core.v1.AttachedVolume");

static const struct t_field core_node_config_status_fields[] = {
    OBJ(1, "assigned", core_node_config_source, T_PTR),
    OBJ(2, "active", core_node_config_source, T_PTR),
    OBJ(3, "lastKnownGood", core_node_config_source, T_PTR),
    F(4, "error", T_STR, 0),
    END,
};
static TYPE(core_node_config_status, "io.k8s.api.core.v1.NodeConfigStatus");

static const struct t_field core_node_runtime_handler_features_fields[] = {
    F(1, "recursiveReadOnlyMounts", T_BOOL, T_PTR),
    F(2, "userNamespaces", T_BOOL, T_PTR),
    END,
};
static TYPE(core_node_runtime_handler_features, "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures");

static const struct t_field core_node_runtime_handler_fields[] = {
    F(1, "name", T_STR, T_EMIT),
    OBJ(2, "features", core_node_runtime_handler_features, T_PTR),
    END,
};
static TYPE(core_node_runtime_handler, "io.k8s.api.core.v1.NodeRuntimeHandler");

static const struct t_field core_node_features_fields[] = {
    F(1, "supplementalGroupsPolicy", T_BOOL, T_PTR),
    END,
};
static TYPE(core_node_features, "io.k8s.api.core.v1.NodeFeatures");

static const char *const node_phase_values[] = { "Pending", "Running", "Terminated", NULL };
static const struct t_field core_node_status_fields[] = {
    MAP(1, "capacity", T_QTY, 0, GO("v1.ResourceList")),
    MAP(2, "allocatable", T_QTY, 0, GO("v1.ResourceList")),
    ENUM(3, "phase", node_phase_values, "v1.NodePhase", 0),
    OBJS(4, "conditions", core_node_condition, T_KEY, KEYS("type")),
    OBJS(5, "addresses", core_node_address, T_KEY, KEYS("type")),
    OBJ(6, "daemonEndpoints", core_node_daemon_endpoints, T_EMIT),
    OBJ(7, "nodeInfo", core_node_system_info, T_EMIT),
    OBJS(8, "images", core_container_image, T_ATOMIC),
    LIST(9, "volumesInUse", T_STR, T_ATOMIC, GO("v1.UniqueVolumeName")),
    OBJS(10, "volumesAttached", core_attached_volume, T_ATOMIC),
    OBJ(11, "config", core_node_config_status, T_PTR),
    OBJS(12, "runtimeHandlers", core_node_runtime_handler, T_ATOMIC),
    OBJ(13, "features", core_node_features, T_PTR),
    LIST(14, "declaredFeatures", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_node_status, "io.k8s.api.core.v1.NodeStatus");

static const struct t_field core_node_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_node_spec, T_EMIT),
    OBJ(3, "status", core_node_status, T_EMIT),
    END,
};
TYPE(core_node, "io.k8s.api.core.v1.Node");
