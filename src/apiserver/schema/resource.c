/* resource.c - resource.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field resource_cel_device_selector_fields[] = {
    F("expression", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_cel_device_selector, "io.k8s.api.resource.v1.CELDeviceSelector");

static const struct t_field resource_device_selector_fields[] = {
    OBJ("cel", resource_cel_device_selector, T_PTR),
    END,
};
static TYPE(resource_device_selector, "io.k8s.api.resource.v1.DeviceSelector");

static const char *const device_toleration_operator_values[] = { "Exists", "Equal", NULL };
static const char *const device_taint_effect_values[] = { "None", "NoSchedule", "NoExecute", NULL };
static const struct t_field resource_device_toleration_fields[] = {
    F("key", T_STR, 0),
    ENUM("operator", device_toleration_operator_values, "v1.DeviceTolerationOperator", 0,
         DEF("\"Equal\"")),
    F("value", T_STR, 0),
    ENUM("effect", device_taint_effect_values, "v1.DeviceTaintEffect", 0),
    F("tolerationSeconds", T_I64, T_PTR),
    END,
};
static TYPE(resource_device_toleration, "io.k8s.api.resource.v1.DeviceToleration");

static const struct t_field resource_capacity_requirements_fields[] = {
    MAP("requests", T_QTY, 0),
    END,
};
static TYPE(resource_capacity_requirements, "io.k8s.api.resource.v1.CapacityRequirements");

static const char *const device_allocation_mode_values[] = { "ExactCount", "All", NULL };
static const struct t_field resource_exact_device_request_fields[] = {
    F("deviceClassName", T_STR, T_REQ | T_EMIT),
    OBJS("selectors", resource_device_selector, T_ATOMIC),
    ENUM("allocationMode", device_allocation_mode_values, "v1.DeviceAllocationMode", 0,
         DEF("\"ExactCount\"")),
    F("count", T_I64, 0),
    F("adminAccess", T_BOOL, T_PTR),
    OBJS("tolerations", resource_device_toleration, T_ATOMIC),
    OBJ("capacity", resource_capacity_requirements, T_PTR),
    END,
};
static TYPE(resource_exact_device_request, "io.k8s.api.resource.v1.ExactDeviceRequest");

static const struct t_field resource_device_sub_request_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("deviceClassName", T_STR, T_REQ | T_EMIT),
    OBJS("selectors", resource_device_selector, T_ATOMIC),
    ENUM("allocationMode", device_allocation_mode_values, "v1.DeviceAllocationMode", 0,
         DEF("\"ExactCount\"")),
    F("count", T_I64, 0),
    OBJS("tolerations", resource_device_toleration, T_ATOMIC),
    OBJ("capacity", resource_capacity_requirements, T_PTR),
    END,
};
static TYPE(resource_device_sub_request, "io.k8s.api.resource.v1.DeviceSubRequest");

static const struct t_field resource_device_request_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJ("exactly", resource_exact_device_request, T_PTR),
    OBJS("firstAvailable", resource_device_sub_request, T_ATOMIC),
    END,
};
static TYPE(resource_device_request, "io.k8s.api.resource.v1.DeviceRequest");

static const struct t_field resource_device_constraint_fields[] = {
    LIST("requests", T_STR, T_ATOMIC),
    F("matchAttribute", T_STR, T_PTR, GO("v1.FullyQualifiedName")),
    F("distinctAttribute", T_STR, T_PTR, GO("v1.FullyQualifiedName")),
    END,
};
static TYPE(resource_device_constraint, "io.k8s.api.resource.v1.DeviceConstraint");

static const struct t_field resource_opaque_device_configuration_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("parameters", T_ANY, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_opaque_device_configuration,
            "io.k8s.api.resource.v1.OpaqueDeviceConfiguration");

static const struct t_field resource_device_claim_configuration_fields[] = {
    LIST("requests", T_STR, T_ATOMIC),
    OBJ("opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_claim_configuration, "io.k8s.api.resource.v1.DeviceClaimConfiguration");

static const struct t_field resource_device_claim_fields[] = {
    OBJS("requests", resource_device_request, T_EMIT | T_ATOMIC),
    OBJS("constraints", resource_device_constraint, T_ATOMIC),
    OBJS("config", resource_device_claim_configuration, T_ATOMIC),
    END,
};
static TYPE(resource_device_claim, "io.k8s.api.resource.v1.DeviceClaim");

static const struct t_field resource_resource_claim_spec_fields[] = {
    OBJ("devices", resource_device_claim, T_EMIT),
    END,
};
static TYPE(resource_resource_claim_spec, "io.k8s.api.resource.v1.ResourceClaimSpec");

static const struct t_field resource_device_request_allocation_result_fields[] = {
    F("request", T_STR, T_REQ | T_EMIT),
    F("driver", T_STR, T_REQ | T_EMIT),
    F("pool", T_STR, T_REQ | T_EMIT),
    F("device", T_STR, T_REQ | T_EMIT),
    F("adminAccess", T_BOOL, T_PTR),
    OBJS("tolerations", resource_device_toleration, T_ATOMIC),
    LIST("bindingConditions", T_STR, T_ATOMIC),
    LIST("bindingFailureConditions", T_STR, T_ATOMIC),
    F("shareID", T_STR, T_PTR, GO("types.UID")),
    MAP("consumedCapacity", T_QTY, 0),
    END,
};
static TYPE(resource_device_request_allocation_result,
            "io.k8s.api.resource.v1.DeviceRequestAllocationResult");

static const char *const allocation_config_source_values[] = { "FromClass", "FromClaim", NULL };
static const struct t_field resource_device_allocation_configuration_fields[] = {
    ENUM("source", allocation_config_source_values, "v1.AllocationConfigSource", T_REQ | T_EMIT),
    LIST("requests", T_STR, T_ATOMIC),
    OBJ("opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_allocation_configuration,
            "io.k8s.api.resource.v1.DeviceAllocationConfiguration");

static const struct t_field resource_device_allocation_result_fields[] = {
    OBJS("results", resource_device_request_allocation_result, T_ATOMIC),
    OBJS("config", resource_device_allocation_configuration, T_ATOMIC),
    END,
};
static TYPE(resource_device_allocation_result, "io.k8s.api.resource.v1.DeviceAllocationResult");

static const struct t_field resource_allocation_result_fields[] = {
    OBJ("devices", resource_device_allocation_result, T_EMIT),
    OBJ("nodeSelector", core_node_selector, T_PTR),
    F("allocationTimestamp", T_TIME, T_PTR),
    END,
};
static TYPE(resource_allocation_result, "io.k8s.api.resource.v1.AllocationResult");

static const struct t_field resource_resource_claim_consumer_reference_fields[] = {
    F("apiGroup", T_STR, 0),
    F("resource", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    F("uid", T_STR, T_REQ | T_EMIT, GO("types.UID")),
    END,
};
static TYPE(resource_resource_claim_consumer_reference,
            "io.k8s.api.resource.v1.ResourceClaimConsumerReference");

static const struct t_field resource_network_device_data_fields[] = {
    F("interfaceName", T_STR, 0),
    LIST("ips", T_STR, T_ATOMIC),
    F("hardwareAddress", T_STR, 0),
    END,
};
static TYPE(resource_network_device_data, "io.k8s.api.resource.v1.NetworkDeviceData");

static const struct t_field resource_allocated_device_status_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("pool", T_STR, T_REQ | T_EMIT),
    F("device", T_STR, T_REQ | T_EMIT),
    F("shareID", T_STR, T_PTR),
    OBJS("conditions", meta_condition, T_EMIT | T_KEY | T_REPLACE, KEYS("type")),
    F("data", T_ANY, T_PTR),
    OBJ("networkData", resource_network_device_data, T_PTR),
    END,
};
static TYPE(resource_allocated_device_status, "io.k8s.api.resource.v1.AllocatedDeviceStatus");

static const struct t_field resource_resource_claim_status_fields[] = {
    OBJ("allocation", resource_allocation_result, T_PTR),
    OBJS("reservedFor", resource_resource_claim_consumer_reference, T_KEY, KEYS("uid")),
    OBJS("devices", resource_allocated_device_status, T_KEY | T_REPLACE,
         KEYS("driver,device,pool,shareID")),
    END,
};
static TYPE(resource_resource_claim_status, "io.k8s.api.resource.v1.ResourceClaimStatus");

static const struct t_field resource_resource_claim_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", resource_resource_claim_spec, T_REQ | T_EMIT),
    OBJ("status", resource_resource_claim_status, T_EMIT),
    END,
};
TYPE(resource_resource_claim, "io.k8s.api.resource.v1.ResourceClaim");

static const struct t_field resource_resource_claim_template_spec_fields[] = {
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", resource_resource_claim_spec, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_resource_claim_template_spec,
            "io.k8s.api.resource.v1.ResourceClaimTemplateSpec");

static const struct t_field resource_resource_claim_template_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", resource_resource_claim_template_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_resource_claim_template, "io.k8s.api.resource.v1.ResourceClaimTemplate");

static const struct t_field resource_resource_pool_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("generation", T_I64, T_REQ | T_EMIT),
    F("resourceSliceCount", T_I64, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_resource_pool, "io.k8s.api.resource.v1.ResourcePool");

static const struct t_field resource_device_attribute_fields[] = {
    F("int", T_I64, T_PTR),
    F("bool", T_BOOL, T_PTR),
    F("string", T_STR, T_PTR),
    F("version", T_STR, T_PTR),
    END,
};
static TYPE(resource_device_attribute, "io.k8s.api.resource.v1.DeviceAttribute");

static const struct t_field resource_capacity_request_policy_range_fields[] = {
    F("min", T_QTY, T_REQ | T_PTR),
    F("max", T_QTY, T_PTR),
    F("step", T_QTY, T_PTR),
    END,
};
static TYPE(resource_capacity_request_policy_range,
            "io.k8s.api.resource.v1.CapacityRequestPolicyRange");

static const struct t_field resource_capacity_request_policy_fields[] = {
    F("default", T_QTY, T_PTR | T_EMIT),
    LIST("validValues", T_QTY, T_ATOMIC),
    OBJ("validRange", resource_capacity_request_policy_range, T_PTR),
    END,
};
static TYPE(resource_capacity_request_policy, "io.k8s.api.resource.v1.CapacityRequestPolicy");

static const struct t_field resource_device_capacity_fields[] = {
    F("value", T_QTY, T_REQ | T_EMIT),
    OBJ("requestPolicy", resource_capacity_request_policy, T_PTR),
    END,
};
static TYPE(resource_device_capacity, "io.k8s.api.resource.v1.DeviceCapacity");

static const struct t_field resource_counter_fields[] = {
    F("value", T_QTY, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_counter, "io.k8s.api.resource.v1.Counter");

static const struct t_field resource_device_counter_consumption_fields[] = {
    F("counterSet", T_STR, T_REQ | T_EMIT),
    OBJMAP("counters", resource_counter, T_REQ),
    END,
};
static TYPE(resource_device_counter_consumption, "io.k8s.api.resource.v1.DeviceCounterConsumption");

static const struct t_field resource_device_taint_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    F("value", T_STR, 0),
    ENUM("effect", device_taint_effect_values, "v1.DeviceTaintEffect", T_REQ | T_EMIT),
    F("timeAdded", T_TIME, T_PTR),
    END,
};
static TYPE(resource_device_taint, "io.k8s.api.resource.v1.DeviceTaint");

static const struct t_field resource_device_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJMAP("attributes", resource_device_attribute, 0),
    OBJMAP("capacity", resource_device_capacity, 0),
    OBJS("consumesCounters", resource_device_counter_consumption, T_ATOMIC),
    F("nodeName", T_STR, T_PTR),
    OBJ("nodeSelector", core_node_selector, T_PTR),
    F("allNodes", T_BOOL, T_PTR),
    OBJS("taints", resource_device_taint, T_ATOMIC),
    F("bindsToNode", T_BOOL, T_PTR),
    LIST("bindingConditions", T_STR, T_ATOMIC),
    LIST("bindingFailureConditions", T_STR, T_ATOMIC),
    F("allowMultipleAllocations", T_BOOL, T_PTR),
    END,
};
static TYPE(resource_device, "io.k8s.api.resource.v1.Device");

static const struct t_field resource_counter_set_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJMAP("counters", resource_counter, T_REQ),
    END,
};
static TYPE(resource_counter_set, "io.k8s.api.resource.v1.CounterSet");

static const struct t_field resource_resource_slice_spec_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    OBJ("pool", resource_resource_pool, T_REQ | T_EMIT),
    F("nodeName", T_STR, T_PTR),
    OBJ("nodeSelector", core_node_selector, T_PTR),
    F("allNodes", T_BOOL, T_PTR),
    OBJS("devices", resource_device, T_ATOMIC),
    F("perDeviceNodeSelection", T_BOOL, T_PTR),
    OBJS("sharedCounters", resource_counter_set, T_ATOMIC),
    END,
};
static TYPE(resource_resource_slice_spec, "io.k8s.api.resource.v1.ResourceSliceSpec");

static const struct t_field resource_resource_slice_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", resource_resource_slice_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_resource_slice, "io.k8s.api.resource.v1.ResourceSlice");

static const struct t_field resource_device_class_configuration_fields[] = {
    OBJ("opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_class_configuration, "io.k8s.api.resource.v1.DeviceClassConfiguration");

static const struct t_field resource_device_class_spec_fields[] = {
    OBJS("selectors", resource_device_selector, T_ATOMIC),
    OBJS("config", resource_device_class_configuration, T_ATOMIC),
    F("extendedResourceName", T_STR, T_PTR),
    END,
};
static TYPE(resource_device_class_spec, "io.k8s.api.resource.v1.DeviceClassSpec");

static const struct t_field resource_device_class_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", resource_device_class_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_device_class, "io.k8s.api.resource.v1.DeviceClass");
