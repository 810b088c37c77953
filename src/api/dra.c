/* dra.c - tables of the resource.k8s.io kinds. */
#include "api/dra.h"

#include "api/meta_fields.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)
#define PTR_OMIT    (KF_PTR | KF_OMITEMPTY)
#define REQUIRED    (KF_REQUIRED | KF_INTERN)
#define GROUP       "resource.k8s.io"

/* ---- selectors, tolerations, configuration --------------------------------------------------- */

static const struct kfield device_cel_fields[] = {
    KF(struct device_cel, expression, "expression", KF_STR, .flags = REQUIRED),
};
static const struct kschema device_cel_schema =
    KSCHEMA("CELDeviceSelector", struct device_cel, device_cel_fields);
static const struct kfield device_selector_fields[] = {
    KF(struct device_selector, cel, "cel", KF_OBJ, .flags = PTR_OMIT, .sub = &device_cel_schema),
};
static const struct kschema device_selector_schema =
    KSCHEMA("DeviceSelector", struct device_selector, device_selector_fields);
#define SELECTORS(stype, member) \
    KF_LIST_OF(stype, member, "selectors", KF_OBJ, .flags = OMIT, .sub = &device_selector_schema)

const char *const device_taint_effect_names[] = { "", "None", "NoSchedule", "NoExecute", NULL };
static const struct kmeta taint_effect_meta = { .names = device_taint_effect_names };
static const char *const toleration_op_names[] = { "", "Exists", "Equal", NULL };
static const struct kmeta toleration_op_meta = { .names = toleration_op_names };
#define F(member, json, type, ...) KF(struct device_toleration, member, json, type, __VA_ARGS__)
static const struct kfield toleration_fields[] = {
    F(key, "key", KF_STR, .flags = INTERN_OMIT),
    F(op, "operator", KF_ENUM, .flags = OMIT, .meta = &toleration_op_meta),
    F(value, "value", KF_STR, .flags = INTERN_OMIT),
    F(effect, "effect", KF_ENUM, .flags = OMIT, .meta = &taint_effect_meta),
    F(toleration_seconds, "tolerationSeconds", KF_OPT_I64, .flags = OMIT),
};
#undef F
static const struct kschema device_toleration_schema =
    KSCHEMA("DeviceToleration", struct device_toleration, toleration_fields);
#define TOLERATIONS(stype)                                               \
    KF_LIST_OF(stype, tolerations, "tolerations", KF_OBJ, .flags = OMIT, \
               .sub = &device_toleration_schema)

static const struct kfield opaque_config_fields[] = {
    KF(struct device_opaque_config, driver, "driver", KF_STR, .flags = REQUIRED),
    KF(struct device_opaque_config, parameters, "parameters", KF_RAW, .flags = KF_REQUIRED),
};
static const struct kschema opaque_config_schema =
    KSCHEMA("OpaqueDeviceConfiguration", struct device_opaque_config, opaque_config_fields);
static const struct kfield device_config_fields[] = {
    KF(struct device_config, source, "source", KF_STR, .flags = INTERN_OMIT),
    KF_STRLIST(struct device_config, requests, "requests"),
    KF(struct device_config, opaque, "opaque", KF_OBJ, .flags = PTR_OMIT,
       .sub = &opaque_config_schema),
};
static const struct kschema device_config_schema =
    KSCHEMA("DeviceConfiguration", struct device_config, device_config_fields);
#define CONFIG(stype) \
    KF_LIST_OF(stype, config, "config", KF_OBJ, .flags = OMIT, .sub = &device_config_schema)

/* ---- ResourceClaim: spec --------------------------------------------------------------------- */

static const struct kfield capacity_ask_fields[] = {
    KF_RESLIST(struct device_capacity_ask, requests, "requests"),
};
static const struct kschema capacity_ask_schema =
    KSCHEMA("CapacityRequirements", struct device_capacity_ask, capacity_ask_fields);
#define F(member, json, type, ...) KF(struct device_ask, member, json, type, __VA_ARGS__)
static const struct kfield device_ask_fields[] = {
    F(name, "name", KF_STR, .flags = INTERN_OMIT),
    F(device_class_name, "deviceClassName", KF_STR, .flags = REQUIRED),
    SELECTORS(struct device_ask, selectors),
    F(allocation_mode, "allocationMode", KF_STR, .flags = INTERN_OMIT),
    F(count, "count", KF_I64, .flags = OMIT),
    F(admin_access, "adminAccess", KF_OPT_BOOL, .flags = OMIT),
    TOLERATIONS(struct device_ask),
    F(capacity, "capacity", KF_OBJ, .flags = OMIT, .sub = &capacity_ask_schema),
};
#undef F
static const struct kschema device_ask_schema =
    KSCHEMA("ExactDeviceRequest", struct device_ask, device_ask_fields);
static const struct kfield device_request_fields[] = {
    KF(struct device_request, name, "name", KF_STR, .flags = REQUIRED),
    KF(struct device_request, exactly, "exactly", KF_OBJ, .flags = PTR_OMIT,
       .sub = &device_ask_schema),
    KF_LIST_OF(struct device_request, first_available, "firstAvailable", KF_OBJ, .flags = OMIT,
               .sub = &device_ask_schema),
};
static const struct kschema device_request_schema =
    KSCHEMA("DeviceRequest", struct device_request, device_request_fields);

#define F(member, json) KF(struct device_constraint, member, json, KF_OPT_STR, .flags = INTERN_OMIT)
static const struct kfield device_constraint_fields[] = {
    KF_STRLIST(struct device_constraint, requests, "requests"),
    F(match_attribute, "matchAttribute"),
    F(distinct_attribute, "distinctAttribute"),
};
#undef F
static const struct kschema device_constraint_schema =
    KSCHEMA("DeviceConstraint", struct device_constraint, device_constraint_fields);

static const struct kfield device_claim_fields[] = {
    KF_LIST_OF(struct device_claim, requests, "requests", KF_OBJ, .flags = OMIT,
               .sub = &device_request_schema),
    KF_LIST_OF(struct device_claim, constraints, "constraints", KF_OBJ, .flags = OMIT,
               .sub = &device_constraint_schema),
    CONFIG(struct device_claim),
};
static const struct kschema device_claim_schema =
    KSCHEMA("DeviceClaim", struct device_claim, device_claim_fields);
static const struct kfield claim_spec_fields[] = {
    KF(struct claim_spec, devices, "devices", KF_OBJ, .flags = OMIT, .sub = &device_claim_schema),
};
const struct kschema claim_spec_schema =
    KSCHEMA("ResourceClaimSpec", struct claim_spec, claim_spec_fields);

/* ---- ResourceClaim: status ------------------------------------------------------------------- */

#define STYPE                struct device_result
#define F(member, json, ...) KF(STYPE, member, json, KF_STR, __VA_ARGS__)
static const struct kfield device_result_fields[] = {
    F(request, "request", .flags = REQUIRED),
    F(driver, "driver", .flags = REQUIRED),
    F(pool, "pool", .flags = REQUIRED),
    F(device, "device", .flags = REQUIRED),
    KF(STYPE, admin_access, "adminAccess", KF_OPT_BOOL, .flags = OMIT),
    TOLERATIONS(STYPE),
    KF_STRLIST(STYPE, binding_conditions, "bindingConditions"),
    KF_STRLIST(STYPE, binding_failure_conditions, "bindingFailureConditions"),
    KF(STYPE, share_id, "shareID", KF_OPT_STR, .flags = OMIT),
    KF_RESLIST(STYPE, consumed_capacity, "consumedCapacity"),
};
#undef F
#undef STYPE
static const struct kschema device_result_schema =
    KSCHEMA("DeviceRequestAllocationResult", struct device_result, device_result_fields);
static const struct kfield device_allocation_fields[] = {
    KF_LIST_OF(struct device_allocation, results, "results", KF_OBJ, .flags = OMIT,
               .sub = &device_result_schema),
    CONFIG(struct device_allocation),
};
static const struct kschema device_allocation_schema =
    KSCHEMA("DeviceAllocationResult", struct device_allocation, device_allocation_fields);
static const struct kfield claim_allocation_fields[] = {
    KF(struct claim_allocation, devices, "devices", KF_OBJ, .sub = &device_allocation_schema),
    KF(struct claim_allocation, node_selector, "nodeSelector", KF_OBJ, .flags = PTR_OMIT,
       .sub = &node_selector_schema),
    KF(struct claim_allocation, allocation_timestamp, "allocationTimestamp", KF_TIME,
       .flags = OMIT),
};
const struct kschema claim_allocation_schema =
    KSCHEMA("AllocationResult", struct claim_allocation, claim_allocation_fields);

static const struct kfield claim_consumer_fields[] = {
    KF(struct claim_consumer, api_group, "apiGroup", KF_STR, .flags = INTERN_OMIT),
    KF(struct claim_consumer, resource, "resource", KF_STR, .flags = REQUIRED),
    KF(struct claim_consumer, name, "name", KF_STR, .flags = KF_REQUIRED),
    KF(struct claim_consumer, uid, "uid", KF_UID, .flags = KF_REQUIRED),
};
static const struct kschema claim_consumer_schema =
    KSCHEMA("ResourceClaimConsumerReference", struct claim_consumer, claim_consumer_fields);

#define STYPE           struct allocated_device_status
#define F(member, json) KF(STYPE, member, json, KF_STR, .flags = REQUIRED)
static const struct kfield allocated_device_status_fields[] = {
    F(driver, "driver"),
    F(pool, "pool"),
    F(device, "device"),
    KF(STYPE, share_id, "shareID", KF_OPT_STR, .flags = OMIT),
    KF_LIST_OF(STYPE, conditions, "conditions", KF_OBJ, .flags = OMIT, .sub = &condition_schema),
};
#undef F
static const struct kschema allocated_device_status_schema =
    KSCHEMA("AllocatedDeviceStatus", STYPE, allocated_device_status_fields);
#undef STYPE

static const struct kfield claim_status_fields[] = {
    KF(struct claim_status, allocation, "allocation", KF_OBJ, .flags = PTR_OMIT,
       .sub = &claim_allocation_schema),
    KF_LIST_OF(struct claim_status, reserved_for, "reservedFor", KF_OBJ, .flags = OMIT,
               .sub = &claim_consumer_schema),
    KF_LIST_OF(struct claim_status, devices, "devices", KF_OBJ, .flags = OMIT,
               .sub = &allocated_device_status_schema),
};
const struct kschema claim_status_schema =
    KSCHEMA("ResourceClaimStatus", struct claim_status, claim_status_fields);

static const struct kfield resource_claim_fields[] = {
    KF_OBJMETA(struct resource_claim),
    KF(struct resource_claim, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &claim_spec_schema),
    KF(struct resource_claim, status, "status", KF_OBJ, .flags = OMIT, .sub = &claim_status_schema),
};
static const struct kschema resource_claim_schema =
    KSCHEMA("ResourceClaim", struct resource_claim, resource_claim_fields);
const struct kind kind_resource_claim = {
    .group = GROUP,
    .version = "v1",
    .kind = "ResourceClaim",
    .plural = "resourceclaims",
    .namespaced = true,
    .has_status = true,
    .schema = &resource_claim_schema,
};

/* ---- ResourceClaimTemplate ------------------------------------------------------------------- */

struct template_meta { /* struct resource_claim_template from its labels on */
    kstrmap labels, annotations;
};
struct template_spec {
    struct template_meta meta;
    const char *spec;
};
_Static_assert(offsetof(struct resource_claim_template, spec) -
                       offsetof(struct resource_claim_template, labels) ==
                   offsetof(struct template_spec, spec),
               "the members of the spec lie together");
static const struct kfield template_meta_fields[] = {
    KF_STRMAP(struct template_meta, labels, "labels"),
    KF_STRMAP(struct template_meta, annotations, "annotations"),
};
static const struct kschema template_meta_schema =
    KSCHEMA("ObjectMeta", struct template_meta, template_meta_fields);
static const struct kfield template_spec_fields[] = {
    KF(struct template_spec, meta, "metadata", KF_OBJ, .flags = OMIT, .sub = &template_meta_schema),
    KF(struct template_spec, spec, "spec", KF_RAW, .flags = OMIT),
};
static const struct kschema template_spec_schema =
    KSCHEMA("ResourceClaimTemplateSpec", struct template_spec, template_spec_fields);
static const struct kfield claim_template_fields[] = {
    KF_OBJMETA(struct resource_claim_template),
    KF(struct resource_claim_template, labels, "spec", KF_OBJ, .flags = OMIT,
       .sub = &template_spec_schema),
};
static const struct kschema claim_template_schema =
    KSCHEMA("ResourceClaimTemplate", struct resource_claim_template, claim_template_fields);
const struct kind kind_resource_claim_template = {
    .group = GROUP,
    .version = "v1",
    .kind = "ResourceClaimTemplate",
    .plural = "resourceclaimtemplates",
    .namespaced = true,
    .schema = &claim_template_schema,
};

/* ---- ResourceSlice: a device ----------------------------------------------------------------- */

#define F(member, json, type) KF(struct device_attribute, member, json, type, .flags = INTERN_OMIT)
static const struct kfield device_attribute_fields[] = {
    F(int_value, "int", KF_OPT_I64),
    F(bool_value, "bool", KF_OPT_BOOL),
    F(string_value, "string", KF_OPT_STR),
    F(version_value, "version", KF_OPT_STR),
};
#undef F
static const struct kschema device_attribute_schema =
    KSCHEMA("DeviceAttribute", struct device_attribute, device_attribute_fields);

#define F(member, json) KF(struct capacity_range, member, json, KF_OPT_QTY, .flags = OMIT)
static const struct kfield capacity_range_fields[] = {
    F(min, "min"),
    F(max, "max"),
    F(step, "step"),
};
#undef F
static const struct kschema capacity_range_schema =
    KSCHEMA("CapacityRequestPolicyRange", struct capacity_range, capacity_range_fields);
#define STYPE struct capacity_policy
static const struct kfield capacity_policy_fields[] = {
    KF(STYPE, default_value, "default", KF_OPT_QTY, .flags = OMIT),
    KF_LIST_OF(STYPE, valid_values, "validValues", KF_QTY, .flags = OMIT),
    KF(STYPE, valid_range, "validRange", KF_OBJ, .flags = PTR_OMIT, .sub = &capacity_range_schema),
};
static const struct kschema capacity_policy_schema =
    KSCHEMA("CapacityRequestPolicy", STYPE, capacity_policy_fields);
#undef STYPE
static const struct kfield device_capacity_fields[] = {
    KF(struct device_capacity, value, "value", KF_QTY, .flags = KF_REQUIRED),
    KF(struct device_capacity, policy, "requestPolicy", KF_OBJ, .flags = PTR_OMIT,
       .sub = &capacity_policy_schema),
};
static const struct kschema device_capacity_schema =
    KSCHEMA("DeviceCapacity", struct device_capacity, device_capacity_fields);

static const struct kfield counter_fields[] = {
    KF(struct device_counter, value, "value", KF_QTY, .flags = KF_REQUIRED),
};
static const struct kschema counter_schema =
    KSCHEMA("Counter", struct device_counter, counter_fields);
#define COUNTERS                                                    \
    KF_MAP_OF(struct device_counters, counters, "counters", KF_OBJ, \
              .flags = KF_INTERN_KEYS | OMIT, .sub = &counter_schema)
static const struct kfield counter_set_fields[] = {
    KF(struct device_counters, name, "name", KF_STR, .flags = REQUIRED),
    COUNTERS,
};
static const struct kschema counter_set_schema =
    KSCHEMA("CounterSet", struct device_counters, counter_set_fields);
static const struct kfield counter_use_fields[] = {
    KF(struct device_counters, name, "counterSet", KF_STR, .flags = REQUIRED),
    COUNTERS,
};
static const struct kschema counter_use_schema =
    KSCHEMA("DeviceCounterConsumption", struct device_counters, counter_use_fields);

#define F(member, json, type, ...) KF(struct device_taint, member, json, type, __VA_ARGS__)
static const struct kfield device_taint_fields[] = {
    F(key, "key", KF_STR, .flags = REQUIRED),
    F(value, "value", KF_STR, .flags = INTERN_OMIT),
    F(effect, "effect", KF_ENUM, .flags = KF_REQUIRED, .meta = &taint_effect_meta),
    F(time_added, "timeAdded", KF_TIME, .flags = OMIT),
};
#undef F
static const struct kschema device_taint_schema =
    KSCHEMA("DeviceTaint", struct device_taint, device_taint_fields);

#define STYPE                      struct slice_device
#define F(member, json, type, ...) KF(STYPE, member, json, type, __VA_ARGS__)
static const struct kfield slice_device_fields[] = {
    F(name, "name", KF_STR, .flags = REQUIRED),
    KF_MAP_OF(STYPE, attributes, "attributes", KF_OBJ, .flags = KF_INTERN_KEYS | OMIT,
              .sub = &device_attribute_schema),
    KF_MAP_OF(STYPE, capacity, "capacity", KF_OBJ, .flags = KF_INTERN_KEYS | OMIT,
              .sub = &device_capacity_schema),
    KF_LIST_OF(STYPE, consumes_counters, "consumesCounters", KF_OBJ, .flags = OMIT,
               .sub = &counter_use_schema),
    F(node_name, "nodeName", KF_OPT_STR, .flags = INTERN_OMIT),
    F(node_selector, "nodeSelector", KF_OBJ, .flags = PTR_OMIT, .sub = &node_selector_schema),
    F(all_nodes, "allNodes", KF_OPT_BOOL, .flags = OMIT),
    KF_LIST_OF(STYPE, taints, "taints", KF_OBJ, .flags = OMIT, .sub = &device_taint_schema),
    F(binds_to_node, "bindsToNode", KF_OPT_BOOL, .flags = OMIT),
    KF_STRLIST(STYPE, binding_conditions, "bindingConditions"),
    KF_STRLIST(STYPE, binding_failure_conditions, "bindingFailureConditions"),
    F(allow_multiple_allocations, "allowMultipleAllocations", KF_OPT_BOOL, .flags = OMIT),
};
#undef F
static const struct kschema slice_device_schema = KSCHEMA("Device", STYPE, slice_device_fields);
#undef STYPE

/* ---- ResourceSlice --------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct resource_pool, member, json, type, __VA_ARGS__)
static const struct kfield pool_fields[] = {
    F(name, "name", KF_STR, .flags = REQUIRED),
    F(generation, "generation", KF_I64, .flags = KF_REQUIRED),
    F(slice_count, "resourceSliceCount", KF_I64, .flags = KF_REQUIRED),
};
#undef F
static const struct kschema pool_schema =
    KSCHEMA("ResourcePool", struct resource_pool, pool_fields);

#define STYPE                      struct slice_spec
#define F(member, json, type, ...) KF(STYPE, member, json, type, __VA_ARGS__)
static const struct kfield slice_spec_fields[] = {
    F(driver, "driver", KF_STR, .flags = REQUIRED),
    F(pool, "pool", KF_OBJ, .flags = KF_REQUIRED, .sub = &pool_schema),
    F(node_name, "nodeName", KF_OPT_STR, .flags = INTERN_OMIT),
    F(node_selector, "nodeSelector", KF_OBJ, .flags = PTR_OMIT, .sub = &node_selector_schema),
    F(all_nodes, "allNodes", KF_OPT_BOOL, .flags = OMIT),
    F(per_device_node_selection, "perDeviceNodeSelection", KF_OPT_BOOL, .flags = OMIT),
    KF_LIST_OF(STYPE, devices, "devices", KF_OBJ, .flags = OMIT, .sub = &slice_device_schema),
    KF_LIST_OF(STYPE, shared_counters, "sharedCounters", KF_OBJ, .flags = OMIT,
               .sub = &counter_set_schema),
};
#undef F
static const struct kschema slice_spec_schema =
    KSCHEMA("ResourceSliceSpec", STYPE, slice_spec_fields);
#undef STYPE
static const struct kfield resource_slice_fields[] = {
    KF_OBJMETA(struct resource_slice),
    KF(struct resource_slice, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &slice_spec_schema),
};
static const struct kschema resource_slice_schema =
    KSCHEMA("ResourceSlice", struct resource_slice, resource_slice_fields);
const struct kind kind_resource_slice = {
    .group = GROUP,
    .version = "v1",
    .kind = "ResourceSlice",
    .plural = "resourceslices",
    .schema = &resource_slice_schema,
};

/* ---- DeviceClass, DeviceTaintRule ------------------------------------------------------------ */

#define STYPE struct device_class_spec
static const struct kfield device_class_spec_fields[] = {
    SELECTORS(STYPE, selectors),
    CONFIG(STYPE),
    KF(STYPE, extended_resource_name, "extendedResourceName", KF_OPT_STR, .flags = INTERN_OMIT),
};
static const struct kschema device_class_spec_schema =
    KSCHEMA("DeviceClassSpec", STYPE, device_class_spec_fields);
#undef STYPE
static const struct kfield device_class_fields[] = {
    KF_OBJMETA(struct device_class),
    KF(struct device_class, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &device_class_spec_schema),
};
static const struct kschema device_class_schema =
    KSCHEMA("DeviceClass", struct device_class, device_class_fields);
const struct kind kind_device_class = {
    .group = GROUP,
    .version = "v1",
    .kind = "DeviceClass",
    .plural = "deviceclasses",
    .schema = &device_class_schema,
};

#define F(member, json) \
    KF(struct device_taint_selector, member, json, KF_OPT_STR, .flags = INTERN_OMIT)
static const struct kfield taint_selector_fields[] = {
    F(driver, "driver"),
    F(pool, "pool"),
    F(device, "device"),
};
#undef F
static const struct kschema taint_selector_schema =
    KSCHEMA("DeviceTaintSelector", struct device_taint_selector, taint_selector_fields);
#define STYPE struct device_taint_rule_spec
static const struct kfield taint_rule_spec_fields[] = {
    KF(STYPE, selector, "deviceSelector", KF_OBJ, .flags = PTR_OMIT, .sub = &taint_selector_schema),
    KF(STYPE, taint, "taint", KF_OBJ, .flags = OMIT, .sub = &device_taint_schema),
};
static const struct kschema taint_rule_spec_schema =
    KSCHEMA("DeviceTaintRuleSpec", STYPE, taint_rule_spec_fields);
#undef STYPE
static const struct kfield taint_rule_fields[] = {
    KF_OBJMETA(struct device_taint_rule),
    KF(struct device_taint_rule, spec, "spec", KF_OBJ, .flags = OMIT,
       .sub = &taint_rule_spec_schema),
};
static const struct kschema taint_rule_schema =
    KSCHEMA("DeviceTaintRule", struct device_taint_rule, taint_rule_fields);
const struct kind kind_device_taint_rule = {
    .group = GROUP,
    .version = "v1alpha3",
    .kind = "DeviceTaintRule",
    .plural = "devicetaintrules",
    .has_status = true,
    .schema = &taint_rule_schema,
};
