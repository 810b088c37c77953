/* device.c - tables of Device (api-crds 6). */
#include "api/koord/device.h"

#define F(member, json, type, ...) KF(struct device_topology, member, json, type, __VA_ARGS__)
static const struct kfield topology_fields[] = {
    F(socket_id, "socketID", KF_I32, .flags = KF_REQUIRED, DOC("CPU socket the device is near")),
    F(node_id, "nodeID", KF_I32, .flags = KF_REQUIRED, DOC("NUMA node the device is near")),
    F(pcie_id, "pcieID", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("PCIe root or switch")),
    F(bus_id, "busID", KF_STR, OMIT, DOC("PCI address, domain:bus:device.function")),
};
#undef F
static const struct kschema topology_schema =
    KSCHEMA("DeviceTopology", struct device_topology, topology_fields);

#define F(member, json, type, ...) KF(struct virtual_function, member, json, type, __VA_ARGS__)
static const struct kfield vf_fields[] = {
    F(minor, "minor", KF_I32, .flags = KF_REQUIRED, DOC("minor number, from 0")),
    F(bus_id, "busID", KF_STR, OMIT, DOC("PCI address of the function")),
};
#undef F
static const struct kschema vf_schema =
    KSCHEMA("VirtualFunction", struct virtual_function, vf_fields);

static const struct kfield vf_group_fields[] = {
    F_STRMAP(struct vf_group, labels, "labels", "labels that hint selectors match"),
    KF_LIST_OF(struct vf_group, vfs, "vfs", KF_OBJ, OMIT, .sub = &vf_schema,
               DOC("the functions of the group")),
};
static const struct kschema vf_group_schema =
    KSCHEMA("VirtualFunctionGroup", struct vf_group, vf_group_fields);

#define F(member, json, type, ...) KF(struct device_info, member, json, type, __VA_ARGS__)
static const struct kfield device_info_fields[] = {
    F(type, "type", KF_STR, OMIT_STR, DOC("gpu, rdma, fpga or a vendor's word")),
    F_STRMAP(struct device_info, labels, "labels", "labels that hint selectors match"),
    F(id, "id", KF_STR, OMIT, DOC("UUID or PCI address")),
    F(minor, "minor", KF_OPT_I32, OMIT, DOC("minor number, from 0")),
    F(module_id, "moduleID", KF_OPT_I32, OMIT, DOC("physical slot")),
    F(health, "health", KF_BOOL, .flags = KF_REQUIRED,
      META(.def = "false", .description = "whether the device may be allocated")),
    F_RESLIST(struct device_info, resources, "resources", "what the device offers"),
    F(topology, "topology", KF_OBJ, OMIT_PTR, .sub = &topology_schema,
      DOC("where the device is attached")),
    KF_LIST_OF(struct device_info, vf_groups, "vfGroups", KF_OBJ, OMIT, .sub = &vf_group_schema,
               DOC("virtual functions (SR-IOV)")),
    KF_LIST_OF(struct device_info, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &meta_condition_schema, DOC("the condition Healthy, with its reason")),
};
#undef F
const struct kschema device_info_schema =
    KSCHEMA("DeviceInfo", struct device_info, device_info_fields);

#define F(member, json, type, ...) KF(struct device_entry, member, json, type, __VA_ARGS__)
static const struct kfield device_entry_fields[] = {
    F(name, "name", KF_STR, OMIT, DOC("pod name")),
    F(ns, "namespace", KF_STR, OMIT_STR, DOC("pod namespace")),
    F(uuid, "uuid", KF_STR, OMIT, DOC("pod UID")),
    KF_LIST_OF(struct device_entry, minors, "minors", KF_I32, OMIT, DOC("devices it holds")),
};
#undef F
static const struct kschema device_entry_schema =
    KSCHEMA("DeviceAllocationItem", struct device_entry, device_entry_fields);

static const struct kfield allocation_fields[] = {
    KF(struct device_allocation_status, type, "type", KF_STR, OMIT_STR, DOC("device type")),
    KF_LIST_OF(struct device_allocation_status, entries, "entries", KF_OBJ, OMIT,
               .sub = &device_entry_schema, DOC("who holds which devices")),
};
static const struct kschema allocation_schema =
    KSCHEMA("DeviceAllocation", struct device_allocation_status, allocation_fields);

/* spec and status hold one list each: the lists stand directly in struct device. */
struct device_spec {
    device_infolist devices;
};
static const struct kfield spec_fields[] = {
    KF_LIST_OF(struct device_spec, devices, "devices", KF_OBJ, OMIT, .sub = &device_info_schema,
               DOC("the devices of the node")),
};
static const struct kschema spec_schema = KSCHEMA("DeviceSpec", struct device_spec, spec_fields);

struct device_status {
    KLIST(struct device_allocation_status) allocations;
};
static const struct kfield status_fields[] = {
    KF_LIST_OF(struct device_status, allocations, "allocations", KF_OBJ, OMIT,
               .sub = &allocation_schema, DOC("allocations by device type")),
};
static const struct kschema status_schema =
    KSCHEMA("DeviceStatus", struct device_status, status_fields);

static const struct kfield device_fields[] = {
    F_METADATA(struct device),
    KF(struct device, devices, "spec", KF_OBJ, OMIT, .sub = &spec_schema, DOC("what the node has")),
    KF(struct device, allocations, "status", KF_OBJ, OMIT, .sub = &status_schema,
       DOC("what is in use; not maintained by the scheduler")),
};
const struct kschema device_schema = KSCHEMA("Device", struct device, device_fields);

const struct kind kind_device = {
    .group = "scheduling.koordinator.sh",
    .version = "v1alpha1",
    .kind = "Device",
    .plural = "devices",
    .schema = &device_schema,
};
const struct kind_crd crd_device = {
    .versions = { { &kind_device, true } },
    .generator = CONTROLLER_GEN,
    .description = "Device lists the accelerators and NICs of one node.",
};
