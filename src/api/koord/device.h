/* device.h - Device: the accelerators and NICs of one node. Named like the node.
 *
 * Written by koordlet or a vendor's agent; read by the scheduler (DeviceShare) and the manager. No
 * status subresource: status goes with the object. Labels and annotations carry the vendor, the
 * model and the partition table (protocol/device.h).
 */
#ifndef KOORD_API_KOORD_DEVICE_H
#define KOORD_API_KOORD_DEVICE_H
#include "api/koord/common.h"

struct device_topology {
    int32_t socket_id, node_id; /* node_id: the NUMA node, -1 when not known */
    const char *pcie_id, *bus_id;
};
struct virtual_function {
    int32_t minor;
    const char *bus_id;
};
struct vf_group {
    kstrmap labels;
    KLIST(struct virtual_function) vfs;
};
struct device_info {
    const char *type; /* "gpu", "rdma", "fpga"; an open set */
    const char *id;   /* UUID or PCI address */
    struct opt_i32 minor, module_id;
    bool health;
    kstrmap labels;
    reslist resources;
    struct device_topology *topology; /* NULL when not known */
    KLIST(struct vf_group) vf_groups;
    meta_conditionlist conditions;
};
typedef KLIST(struct device_info) device_infolist;

struct device_entry {
    const char *name, *ns, *uuid;
    KLIST(int32_t) minors;
};
struct device_allocation_status {
    const char *type;
    KLIST(struct device_entry) entries;
};
struct device {
    struct kobj obj;
    device_infolist devices;                            /* spec.devices */
    KLIST(struct device_allocation_status) allocations; /* status.allocations */
};

extern const struct kschema device_info_schema, device_schema;
extern const struct kind kind_device;
extern const struct kind_crd crd_device;

static inline const struct device *device_of(const struct kobj *o)
{
    return container_of(o, const struct device, obj);
}
#endif
