/* resource.c - resource.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field resource_cel_device_selector_fields[] = {
    F(1, "expression", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_cel_device_selector, "io.k8s.api.resource.v1.CELDeviceSelector");

static const struct t_field resource_device_selector_fields[] = {
    OBJ(1, "cel", resource_cel_device_selector, T_PTR),
    END,
};
static TYPE(resource_device_selector, "io.k8s.api.resource.v1.DeviceSelector");

static const char *const device_toleration_operator_values[] = { "Exists", "Equal", NULL };
static const char *const device_taint_effect_values[] = { "None", "NoSchedule", "NoExecute", NULL };
static const struct t_field resource_device_toleration_fields[] = {
    F(1, "key", T_STR, 0),
    ENUM(2, "operator", device_toleration_operator_values, "v1.DeviceTolerationOperator", 0,
         DEF("\"Equal\"")),
    F(3, "value", T_STR, 0),
    ENUM(4, "effect", device_taint_effect_values, "v1.DeviceTaintEffect", 0),
    F(5, "tolerationSeconds", T_I64, T_PTR),
    END,
};
static TYPE(resource_device_toleration, "io.k8s.api.resource.v1.DeviceToleration");

static const struct t_field resource_capacity_requirements_fields[] = {
    MAP(1, "requests", T_QTY, 0),
    END,
};
static TYPE(resource_capacity_requirements, "io.k8s.api.resource.v1.CapacityRequirements");

static const char *const device_allocation_mode_values[] = { "ExactCount", "All", NULL };
static const struct t_field resource_exact_device_request_fields[] = {
    F(1, "deviceClassName", T_STR, T_REQ | T_EMIT),
    OBJS(2, "selectors", resource_device_selector, T_ATOMIC),
    ENUM(3, "allocationMode", device_allocation_mode_values, "v1.DeviceAllocationMode", 0,
         DEF("\"ExactCount\"")),
    F(4, "count", T_I64, 0),
    F(5, "adminAccess", T_BOOL, T_PTR),
    OBJS(6, "tolerations", resource_device_toleration, T_ATOMIC),
    OBJ(7, "capacity", resource_capacity_requirements, T_PTR),
    END,
};
static TYPE(resource_exact_device_request, "io.k8s.api.resource.v1.ExactDeviceRequest");

static const struct t_field resource_device_sub_request_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "deviceClassName", T_STR, T_REQ | T_EMIT),
    OBJS(3, "selectors", resource_device_selector, T_ATOMIC),
    ENUM(4, "allocationMode", device_allocation_mode_values, "v1.DeviceAllocationMode", 0,
         DEF("\"ExactCount\"")),
    F(5, "count", T_I64, 0),
    OBJS(6, "tolerations", resource_device_toleration, T_ATOMIC),
    OBJ(7, "capacity", resource_capacity_requirements, T_PTR),
    END,
};
static TYPE(resource_device_sub_request, "io.k8s.api.resource.v1.DeviceSubRequest");

static const struct t_field resource_device_request_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "exactly", resource_exact_device_request, T_PTR),
    OBJS(3, "firstAvailable", resource_device_sub_request, T_ATOMIC),
    END,
};
static TYPE(resource_device_request, "io.k8s.api.resource.v1.DeviceRequest");

static const struct t_field resource_device_constraint_fields[] = {
    LIST(1, "requests", T_STR, T_ATOMIC),
    F(2, "matchAttribute", T_STR, T_PTR, GO("v1.FullyQualifiedName")),
    F(3, "distinctAttribute", T_STR, T_PTR, GO("v1.FullyQualifiedName")),
    END,
};
static TYPE(resource_device_constraint, "io.k8s.api.resource.v1.DeviceConstraint");

static const struct t_field resource_opaque_device_configuration_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "parameters", T_ANY, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_opaque_device_configuration,
            "io.k8s.api.resource.v1.OpaqueDeviceConfiguration");

static const struct t_field resource_device_claim_configuration_fields[] = {
    LIST(1, "requests", T_STR, T_ATOMIC),
    OBJ(IN(2, 1), "opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_claim_configuration, "io.k8s.api.resource.v1.DeviceClaimConfiguration");

static const struct t_field resource_device_claim_fields[] = {
    OBJS(1, "requests", resource_device_request, T_EMIT | T_ATOMIC),
    OBJS(2, "constraints", resource_device_constraint, T_ATOMIC),
    OBJS(3, "config", resource_device_claim_configuration, T_ATOMIC),
    END,
};
static TYPE(resource_device_claim, "io.k8s.api.resource.v1.DeviceClaim");

static const struct t_field resource_resource_claim_spec_fields[] = {
    OBJ(1, "devices", resource_device_claim, T_EMIT),
    END,
};
static TYPE(resource_resource_claim_spec, "io.k8s.api.resource.v1.ResourceClaimSpec");

static const struct t_field resource_device_request_allocation_result_fields[] = {
    F(1, "request", T_STR, T_REQ | T_EMIT),
    F(2, "driver", T_STR, T_REQ | T_EMIT),
    F(3, "pool", T_STR, T_REQ | T_EMIT),
    F(4, "device", T_STR, T_REQ | T_EMIT),
    F(5, "adminAccess", T_BOOL, T_PTR),
    OBJS(6, "tolerations", resource_device_toleration, T_ATOMIC),
    LIST(7, "bindingConditions", T_STR, T_ATOMIC),
    LIST(8, "bindingFailureConditions", T_STR, T_ATOMIC),
    F(9, "shareID", T_STR, T_PTR, GO("types.UID")),
    MAP(10, "consumedCapacity", T_QTY, 0),
    END,
};
static TYPE(resource_device_request_allocation_result,
            "io.k8s.api.resource.v1.DeviceRequestAllocationResult");

static const char *const allocation_config_source_values[] = { "FromClass", "FromClaim", NULL };
static const struct t_field resource_device_allocation_configuration_fields[] = {
    ENUM(1, "source", allocation_config_source_values, "v1.AllocationConfigSource", T_REQ | T_EMIT),
    LIST(2, "requests", T_STR, T_ATOMIC),
    OBJ(IN(3, 1), "opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_allocation_configuration,
            "io.k8s.api.resource.v1.DeviceAllocationConfiguration");

static const struct t_field resource_device_allocation_result_fields[] = {
    OBJS(1, "results", resource_device_request_allocation_result, T_ATOMIC),
    OBJS(2, "config", resource_device_allocation_configuration, T_ATOMIC),
    END,
};
static TYPE(resource_device_allocation_result, "io.k8s.api.resource.v1.DeviceAllocationResult");

static const struct t_field resource_allocation_result_fields[] = {
    OBJ(1, "devices", resource_device_allocation_result, T_EMIT),
    OBJ(3, "nodeSelector", core_node_selector, T_PTR),
    F(5, "allocationTimestamp", T_TIME, T_PTR),
    END,
};
static TYPE(resource_allocation_result, "io.k8s.api.resource.v1.AllocationResult");

static const struct t_field resource_resource_claim_consumer_reference_fields[] = {
    F(1, "apiGroup", T_STR, 0),
    F(3, "resource", T_STR, T_REQ | T_EMIT),
    F(4, "name", T_STR, T_REQ | T_EMIT),
    F(5, "uid", T_STR, T_REQ | T_EMIT, GO("types.UID")),
    END,
};
static TYPE(resource_resource_claim_consumer_reference,
            "io.k8s.api.resource.v1.ResourceClaimConsumerReference");

static const struct t_field resource_network_device_data_fields[] = {
    F(1, "interfaceName", T_STR, 0),
    LIST(2, "ips", T_STR, T_ATOMIC),
    F(3, "hardwareAddress", T_STR, 0),
    END,
};
static TYPE(resource_network_device_data, "io.k8s.api.resource.v1.NetworkDeviceData");

static const struct t_field resource_allocated_device_status_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "pool", T_STR, T_REQ | T_EMIT),
    F(3, "device", T_STR, T_REQ | T_EMIT),
    F(7, "shareID", T_STR, T_PTR),
    OBJS(4, "conditions", meta_condition, T_EMIT | T_KEY | T_REPLACE, KEYS("type")),
    F(5, "data", T_ANY, T_PTR),
    OBJ(6, "networkData", resource_network_device_data, T_PTR),
    END,
};
static TYPE(resource_allocated_device_status, "io.k8s.api.resource.v1.AllocatedDeviceStatus");

static const struct t_field resource_resource_claim_status_fields[] = {
    OBJ(1, "allocation", resource_allocation_result, T_PTR),
    OBJS(2, "reservedFor", resource_resource_claim_consumer_reference, T_KEY, KEYS("uid")),
    OBJS(4, "devices", resource_allocated_device_status, T_KEY | T_REPLACE,
         KEYS("driver,device,pool,shareID")),
    END,
};
static TYPE(resource_resource_claim_status, "io.k8s.api.resource.v1.ResourceClaimStatus");

static const struct t_field resource_resource_claim_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_resource_claim_spec, T_REQ | T_EMIT),
    OBJ(3, "status", resource_resource_claim_status, T_EMIT),
    END,
};
TYPE(resource_resource_claim, "io.k8s.api.resource.v1.ResourceClaim");

static const struct t_field resource_resource_claim_template_spec_fields[] = {
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_resource_claim_spec, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_resource_claim_template_spec,
            "io.k8s.api.resource.v1.ResourceClaimTemplateSpec");

static const struct t_field resource_resource_claim_template_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_resource_claim_template_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_resource_claim_template, "io.k8s.api.resource.v1.ResourceClaimTemplate");

static const struct t_field resource_resource_pool_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "generation", T_I64, T_REQ | T_EMIT),
    F(3, "resourceSliceCount", T_I64, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_resource_pool, "io.k8s.api.resource.v1.ResourcePool");

static const struct t_field resource_device_attribute_fields[] = {
    F(2, "int", T_I64, T_PTR),
    F(3, "bool", T_BOOL, T_PTR),
    F(4, "string", T_STR, T_PTR),
    F(5, "version", T_STR, T_PTR),
    END,
};
static TYPE(resource_device_attribute, "io.k8s.api.resource.v1.DeviceAttribute");

static const struct t_field resource_capacity_request_policy_range_fields[] = {
    F(1, "min", T_QTY, T_REQ | T_PTR),
    F(2, "max", T_QTY, T_PTR),
    F(3, "step", T_QTY, T_PTR),
    END,
};
static TYPE(resource_capacity_request_policy_range,
            "io.k8s.api.resource.v1.CapacityRequestPolicyRange");

static const struct t_field resource_capacity_request_policy_fields[] = {
    F(1, "default", T_QTY, T_PTR | T_EMIT),
    LIST(3, "validValues", T_QTY, T_ATOMIC),
    OBJ(4, "validRange", resource_capacity_request_policy_range, T_PTR),
    END,
};
static TYPE(resource_capacity_request_policy, "io.k8s.api.resource.v1.CapacityRequestPolicy");

static const struct t_field resource_device_capacity_fields[] = {
    F(1, "value", T_QTY, T_REQ | T_EMIT),
    OBJ(2, "requestPolicy", resource_capacity_request_policy, T_PTR),
    END,
};
static TYPE(resource_device_capacity, "io.k8s.api.resource.v1.DeviceCapacity");

static const struct t_field resource_counter_fields[] = {
    F(1, "value", T_QTY, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_counter, "io.k8s.api.resource.v1.Counter");

static const struct t_field resource_device_counter_consumption_fields[] = {
    F(1, "counterSet", T_STR, T_REQ | T_EMIT),
    OBJMAP(2, "counters", resource_counter, T_REQ),
    END,
};
static TYPE(resource_device_counter_consumption, "io.k8s.api.resource.v1.DeviceCounterConsumption");

static const struct t_field resource_device_taint_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, 0),
    ENUM(3, "effect", device_taint_effect_values, "v1.DeviceTaintEffect", T_REQ | T_EMIT),
    F(4, "timeAdded", T_TIME, T_PTR),
    END,
};
static TYPE(resource_device_taint, "io.k8s.api.resource.v1.DeviceTaint");

static const struct t_field resource_device_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJMAP(2, "attributes", resource_device_attribute, 0),
    OBJMAP(3, "capacity", resource_device_capacity, 0),
    OBJS(4, "consumesCounters", resource_device_counter_consumption, T_ATOMIC),
    F(5, "nodeName", T_STR, T_PTR),
    OBJ(6, "nodeSelector", core_node_selector, T_PTR),
    F(7, "allNodes", T_BOOL, T_PTR),
    OBJS(8, "taints", resource_device_taint, T_ATOMIC),
    F(9, "bindsToNode", T_BOOL, T_PTR),
    LIST(10, "bindingConditions", T_STR, T_ATOMIC),
    LIST(11, "bindingFailureConditions", T_STR, T_ATOMIC),
    F(12, "allowMultipleAllocations", T_BOOL, T_PTR),
    END,
};
static TYPE(resource_device, "io.k8s.api.resource.v1.Device");

static const struct t_field resource_counter_set_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJMAP(2, "counters", resource_counter, T_REQ),
    END,
};
static TYPE(resource_counter_set, "io.k8s.api.resource.v1.CounterSet");

static const struct t_field resource_resource_slice_spec_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    OBJ(2, "pool", resource_resource_pool, T_REQ | T_EMIT),
    F(3, "nodeName", T_STR, T_PTR),
    OBJ(4, "nodeSelector", core_node_selector, T_PTR),
    F(5, "allNodes", T_BOOL, T_PTR),
    OBJS(6, "devices", resource_device, T_ATOMIC),
    F(7, "perDeviceNodeSelection", T_BOOL, T_PTR),
    OBJS(8, "sharedCounters", resource_counter_set, T_ATOMIC),
    END,
};
static TYPE(resource_resource_slice_spec, "io.k8s.api.resource.v1.ResourceSliceSpec");

static const struct t_field resource_resource_slice_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_resource_slice_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_resource_slice, "io.k8s.api.resource.v1.ResourceSlice");

static const struct t_field resource_device_class_configuration_fields[] = {
    OBJ(IN(1, 1), "opaque", resource_opaque_device_configuration, T_PTR),
    END,
};
static TYPE(resource_device_class_configuration, "io.k8s.api.resource.v1.DeviceClassConfiguration");

static const struct t_field resource_device_class_spec_fields[] = {
    OBJS(1, "selectors", resource_device_selector, T_ATOMIC),
    OBJS(2, "config", resource_device_class_configuration, T_ATOMIC),
    F(4, "extendedResourceName", T_STR, T_PTR),
    END,
};
static TYPE(resource_device_class_spec, "io.k8s.api.resource.v1.DeviceClassSpec");

static const struct t_field resource_device_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_device_class_spec, T_REQ | T_EMIT),
    END,
};
TYPE(resource_device_class, "io.k8s.api.resource.v1.DeviceClass");

/* ---- v1alpha3 -------------------------------------------------------------------------------- */

static const struct t_field resource_alpha_device_taint_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, 0),
    ENUM(3, "effect", device_taint_effect_values, "v1alpha3.DeviceTaintEffect", T_REQ | T_EMIT),
    F(4, "timeAdded", T_TIME, T_PTR),
    END,
};
static TYPE(resource_alpha_device_taint, "io.k8s.api.resource.v1alpha3.DeviceTaint");

static const struct t_field resource_device_taint_selector_fields[] = {
    F(2, "driver", T_STR, T_PTR),
    F(3, "pool", T_STR, T_PTR),
    F(4, "device", T_STR, T_PTR),
    END,
};
static TYPE(resource_device_taint_selector, "io.k8s.api.resource.v1alpha3.DeviceTaintSelector");

static const struct t_field resource_device_taint_rule_spec_fields[] = {
    OBJ(1, "deviceSelector", resource_device_taint_selector, T_PTR),
    OBJ(2, "taint", resource_alpha_device_taint, T_REQ | T_EMIT),
    END,
};
static TYPE(resource_device_taint_rule_spec, "io.k8s.api.resource.v1alpha3.DeviceTaintRuleSpec");

static const struct t_field resource_device_taint_rule_status_fields[] = {
    OBJS(1, "conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(resource_device_taint_rule_status,
            "io.k8s.api.resource.v1alpha3.DeviceTaintRuleStatus");

static const struct t_field resource_device_taint_rule_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", resource_device_taint_rule_spec, T_REQ | T_EMIT),
    OBJ(3, "status", resource_device_taint_rule_status, T_EMIT),
    END,
};
TYPE(resource_device_taint_rule, "io.k8s.api.resource.v1alpha3.DeviceTaintRule");
