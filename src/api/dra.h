/* dra.h - dynamic resource allocation (resource.k8s.io/v1): as much of ResourceClaim,
 * ResourceSlice and DeviceClass as it takes to say that a pod cannot have what it asks for. */
#ifndef KOORD_API_DRA_H
#define KOORD_API_DRA_H
#include "api/types.h"

struct device_request {
    const char *name;
    const char *device_class_name; /* exactly.deviceClassName; "" for a list of alternatives */
};
struct claim_consumer {
    const char *resource, *name; /* "pods" */
    struct kuid uid;
};
struct claim_allocation {
    struct node_selector *node_selector; /* NULL: everywhere */
};
struct resource_claim {
    struct kobj obj;
    KLIST(struct device_request) requests; /* spec.devices.requests */
    struct claim_allocation *allocation;   /* status.allocation; NULL: not allocated */
    KLIST(struct claim_consumer) reserved_for;
};

struct resource_slice {
    struct kobj obj;
    const char *driver, *pool_name;
    const char *node_name; /* NULL: see the other two */
    struct node_selector *node_selector;
    struct opt_bool all_nodes;
};

struct device_class {
    struct kobj obj;
};

extern const struct kind kind_resource_claim, kind_resource_slice, kind_device_class;
#endif
