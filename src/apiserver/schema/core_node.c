/* core_node.c - core/v1: nodes. */
#include "apiserver/schema/tables.h"

static const struct t_field core_taint_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    F("value", T_STR, 0),
    ENUM("effect", taint_effect_values, "v1.TaintEffect", T_REQ | T_EMIT),
    F("timeAdded", T_TIME, T_PTR),
    END,
};
static TYPE(core_taint, "io.k8s.api.core.v1.Taint");

static const struct t_field core_config_map_node_config_source_fields[] = {
    F("namespace", T_STR, T_REQ | T_EMIT),        F("name", T_STR, T_REQ | T_EMIT),
    F("uid", T_STR, 0, GO("types.UID")),          F("resourceVersion", T_STR, 0),
    F("kubeletConfigKey", T_STR, T_REQ | T_EMIT), END,
};
static TYPE(core_config_map_node_config_source, "io.k8s.api.core.v1.ConfigMapNodeConfigSource");

static const struct t_field core_node_config_source_fields[] = {
    OBJ("configMap", core_config_map_node_config_source, T_PTR),
    END,
};
static TYPE(core_node_config_source, "io.k8s.api.core.v1.NodeConfigSource");

static const struct t_field core_node_spec_fields[] = {
    F("podCIDR", T_STR, 0),
    LIST("podCIDRs", T_STR, T_SET),
    F("providerID", T_STR, 0),
    F("unschedulable", T_BOOL, 0),
    OBJS("taints", core_taint, T_ATOMIC),
    OBJ("configSource", core_node_config_source, T_PTR),
    F("externalID", T_STR, 0),
    END,
};
static TYPE(core_node_spec, "io.k8s.api.core.v1.NodeSpec");

static const struct t_field core_node_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.NodeConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastHeartbeatTime", T_TIME, T_EMIT),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(core_node_condition, "io.k8s.api.core.v1.NodeCondition");

static const struct t_field core_node_address_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.NodeAddressType")),
    F("address", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_node_address, "io.k8s.api.core.v1.NodeAddress");

static const struct t_field core_daemon_endpoint_fields[] = {
    F("Port", T_I32, T_REQ | T_EMIT),
    END,
};
static TYPE(core_daemon_endpoint, "io.k8s.api.core.v1.DaemonEndpoint");

static const struct t_field core_node_daemon_endpoints_fields[] = {
    OBJ("kubeletEndpoint", core_daemon_endpoint, T_EMIT),
    END,
};
static TYPE(core_node_daemon_endpoints, "io.k8s.api.core.v1.NodeDaemonEndpoints");

static const struct t_field core_node_swap_status_fields[] = {
    F("capacity", T_I64, T_PTR),
    END,
};
static TYPE(core_node_swap_status, "io.k8s.api.core.v1.NodeSwapStatus");

static const struct t_field core_node_system_info_fields[] = {
    F("machineID", T_STR, T_REQ | T_EMIT),
    F("systemUUID", T_STR, T_REQ | T_EMIT),
    F("bootID", T_STR, T_REQ | T_EMIT),
    F("kernelVersion", T_STR, T_REQ | T_EMIT),
    F("osImage", T_STR, T_REQ | T_EMIT),
    F("containerRuntimeVersion", T_STR, T_REQ | T_EMIT),
    F("kubeletVersion", T_STR, T_REQ | T_EMIT),
    F("kubeProxyVersion", T_STR, T_REQ | T_EMIT),
    F("operatingSystem", T_STR, T_REQ | T_EMIT),
    F("architecture", T_STR, T_REQ | T_EMIT),
    OBJ("swap", core_node_swap_status, T_PTR),
    END,
};
static TYPE(core_node_system_info, "io.k8s.api.core.v1.NodeSystemInfo");

static const struct t_field core_container_image_fields[] = {
    LIST("names", T_STR, T_EMIT | T_ATOMIC),
    F("sizeBytes", T_I64, 0),
    END,
};
static TYPE(core_container_image, "io.k8s.api.core.v1.ContainerImage");

static const struct t_field core_attached_volume_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT, GO("v1.UniqueVolumeName")),
    F("devicePath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_attached_volume, "io.k8s.api.core.v1.AttachedVolume");

static const struct t_field core_node_config_status_fields[] = {
    OBJ("assigned", core_node_config_source, T_PTR),
    OBJ("active", core_node_config_source, T_PTR),
    OBJ("lastKnownGood", core_node_config_source, T_PTR),
    F("error", T_STR, 0),
    END,
};
static TYPE(core_node_config_status, "io.k8s.api.core.v1.NodeConfigStatus");

static const struct t_field core_node_runtime_handler_features_fields[] = {
    F("recursiveReadOnlyMounts", T_BOOL, T_PTR),
    F("userNamespaces", T_BOOL, T_PTR),
    END,
};
static TYPE(core_node_runtime_handler_features, "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures");

static const struct t_field core_node_runtime_handler_fields[] = {
    F("name", T_STR, T_EMIT),
    OBJ("features", core_node_runtime_handler_features, T_PTR),
    END,
};
static TYPE(core_node_runtime_handler, "io.k8s.api.core.v1.NodeRuntimeHandler");

static const struct t_field core_node_features_fields[] = {
    F("supplementalGroupsPolicy", T_BOOL, T_PTR),
    END,
};
static TYPE(core_node_features, "io.k8s.api.core.v1.NodeFeatures");

static const char *const node_phase_values[] = { "Pending", "Running", "Terminated", NULL };
static const struct t_field core_node_status_fields[] = {
    MAP("capacity", T_QTY, 0, GO("v1.ResourceList")),
    MAP("allocatable", T_QTY, 0, GO("v1.ResourceList")),
    ENUM("phase", node_phase_values, "v1.NodePhase", 0),
    OBJS("conditions", core_node_condition, T_KEY, KEYS("type")),
    OBJS("addresses", core_node_address, T_KEY, KEYS("type")),
    OBJ("daemonEndpoints", core_node_daemon_endpoints, T_EMIT),
    OBJ("nodeInfo", core_node_system_info, T_EMIT),
    OBJS("images", core_container_image, T_ATOMIC),
    LIST("volumesInUse", T_STR, T_ATOMIC, GO("v1.UniqueVolumeName")),
    OBJS("volumesAttached", core_attached_volume, T_ATOMIC),
    OBJ("config", core_node_config_status, T_PTR),
    OBJS("runtimeHandlers", core_node_runtime_handler, T_ATOMIC),
    OBJ("features", core_node_features, T_PTR),
    LIST("declaredFeatures", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_node_status, "io.k8s.api.core.v1.NodeStatus");

static const struct t_field core_node_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_node_spec, T_EMIT),
    OBJ("status", core_node_status, T_EMIT),
    END,
};
TYPE(core_node, "io.k8s.api.core.v1.Node");
