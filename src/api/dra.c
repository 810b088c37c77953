/* dra.c - tables of the resource.k8s.io kinds. */
#include "api/dra.h"

#include "api/meta_fields.h"

#define OMIT     KF_OMITEMPTY
#define PTR_OMIT (KF_PTR | KF_OMITEMPTY)
#define GROUP    "resource.k8s.io"

struct only_str {
    const char *v;
};

/* ---- ResourceClaim --------------------------------------------------------------------------- */

static const struct kfield exactly_fields[] = {
    KF(struct only_str, v, "deviceClassName", KF_STR, .flags = KF_INTERN | OMIT),
};
static const struct kschema exactly_schema =
    KSCHEMA("ExactDeviceRequest", struct only_str, exactly_fields);
static const struct kfield device_request_fields[] = {
    KF(struct device_request, name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct device_request, device_class_name, "exactly", KF_OBJ, .flags = OMIT,
       .sub = &exactly_schema),
};
static const struct kschema device_request_schema =
    KSCHEMA("DeviceRequest", struct device_request, device_request_fields);

struct claim_spec { /* spec and spec.devices alike: one list */
    KLIST(struct device_request) requests;
};
static const struct kfield claim_devices_fields[] = {
    KF_LIST_OF(struct claim_spec, requests, "requests", KF_OBJ, .flags = OMIT,
               .sub = &device_request_schema),
};
static const struct kschema claim_devices_schema =
    KSCHEMA("DeviceClaim", struct claim_spec, claim_devices_fields);
static const struct kfield claim_spec_fields[] = {
    KF(struct claim_spec, requests, "devices", KF_OBJ, .flags = OMIT, .sub = &claim_devices_schema),
};
static const struct kschema claim_spec_schema =
    KSCHEMA("ResourceClaimSpec", struct claim_spec, claim_spec_fields);

static const struct kfield claim_allocation_fields[] = {
    KF(struct claim_allocation, node_selector, "nodeSelector", KF_OBJ, .flags = PTR_OMIT,
       .sub = &node_selector_schema),
};
static const struct kschema claim_allocation_schema =
    KSCHEMA("AllocationResult", struct claim_allocation, claim_allocation_fields);
static const struct kfield claim_consumer_fields[] = {
    KF(struct claim_consumer, resource, "resource", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct claim_consumer, name, "name", KF_STR, .flags = KF_REQUIRED),
    KF(struct claim_consumer, uid, "uid", KF_UID, .flags = KF_REQUIRED),
};
static const struct kschema claim_consumer_schema =
    KSCHEMA("ResourceClaimConsumerReference", struct claim_consumer, claim_consumer_fields);
struct claim_status { /* struct resource_claim from its allocation on */
    struct claim_allocation *allocation;
    KLIST(struct claim_consumer) reserved_for;
};
static const struct kfield claim_status_fields[] = {
    KF(struct claim_status, allocation, "allocation", KF_OBJ, .flags = PTR_OMIT,
       .sub = &claim_allocation_schema),
    KF_LIST_OF(struct claim_status, reserved_for, "reservedFor", KF_OBJ, .flags = OMIT,
               .sub = &claim_consumer_schema),
};
static const struct kschema claim_status_schema =
    KSCHEMA("ResourceClaimStatus", struct claim_status, claim_status_fields);
_Static_assert(offsetof(struct resource_claim, reserved_for) -
                       offsetof(struct resource_claim, allocation) ==
                   offsetof(struct claim_status, reserved_for),
               "the members of the status lie together");

static const struct kfield resource_claim_fields[] = {
    KF_OBJMETA(struct resource_claim),
    KF(struct resource_claim, requests, "spec", KF_OBJ, .flags = OMIT, .sub = &claim_spec_schema),
    KF(struct resource_claim, allocation, "status", KF_OBJ, .flags = OMIT,
       .sub = &claim_status_schema),
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

/* ---- ResourceSlice --------------------------------------------------------------------------- */

static const struct kfield pool_fields[] = {
    KF(struct only_str, v, "name", KF_STR, .flags = OMIT),
};
static const struct kschema pool_schema = KSCHEMA("ResourcePool", struct only_str, pool_fields);

struct slice_spec { /* struct resource_slice from its driver on */
    const char *driver, *pool_name, *node_name;
    struct node_selector *node_selector;
    struct opt_bool all_nodes;
};
_Static_assert(offsetof(struct resource_slice, all_nodes) -
                       offsetof(struct resource_slice, driver) ==
                   offsetof(struct slice_spec, all_nodes),
               "the members of the spec lie together");
#define F(member, json, type, ...) KF(struct slice_spec, member, json, type, __VA_ARGS__)
static const struct kfield slice_spec_fields[] = {
    F(driver, "driver", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(pool_name, "pool", KF_OBJ, .flags = OMIT, .sub = &pool_schema),
    F(node_name, "nodeName", KF_OPT_STR, .flags = KF_INTERN | OMIT),
    F(node_selector, "nodeSelector", KF_OBJ, .flags = PTR_OMIT, .sub = &node_selector_schema),
    F(all_nodes, "allNodes", KF_OPT_BOOL, .flags = OMIT),
};
#undef F
static const struct kschema slice_spec_schema =
    KSCHEMA("ResourceSliceSpec", struct slice_spec, slice_spec_fields);
static const struct kfield resource_slice_fields[] = {
    KF_OBJMETA(struct resource_slice),
    KF(struct resource_slice, driver, "spec", KF_OBJ, .flags = OMIT, .sub = &slice_spec_schema),
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

/* ---- DeviceClass ----------------------------------------------------------------------------- */

static const struct kfield device_class_fields[] = { KF_OBJMETA(struct device_class) };
static const struct kschema device_class_schema =
    KSCHEMA("DeviceClass", struct device_class, device_class_fields);
const struct kind kind_device_class = {
    .group = GROUP,
    .version = "v1",
    .kind = "DeviceClass",
    .plural = "deviceclasses",
    .schema = &device_class_schema,
};
