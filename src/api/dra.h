/* dra.h - dynamic resource allocation (resource.k8s.io/v1): what the scheduler, the claim
 * controller and nodes read of ResourceClaims, ResourceSlices and DeviceClasses.
 *
 * An allocation is also written: its table is complete, and claim_allocation_schema encodes what
 * the allocator made. Everything else is written by patch.
 */
#ifndef KOORD_API_DRA_H
#define KOORD_API_DRA_H
#include "api/types.h"

#define CLAIM_FINALIZER "resource.kubernetes.io/delete-protection" /* while it is allocated */
/* On a claim made from a template: which entry of the pod's spec.resourceClaims it is for. */
#define CLAIM_POD_ENTRY_ANNOTATION "resource.kubernetes.io/pod-claim-name"
#define CLAIM_EXTENDED_ANNOTATION  "resource.kubernetes.io/extended-resource-claim"
/* Before the name of a class: an extended resource that it backs. */
#define DEVICE_CLASS_RESOURCE_PREFIX "deviceclass.resource.kubernetes.io/"

enum {
    CLAIM_DEVICES_MAX = 32,   /* in one claim */
    CLAIM_CONSUMERS_MAX = 256 /* reservedFor; the server refuses more */
};

/* ---- what a claim asks for ------------------------------------------------------------------- */

struct device_cel {
    const char *expression;
};
struct device_selector {
    struct device_cel *cel; /* NULL: a kind of selector that we do not know */
};
typedef KLIST(struct device_selector) device_selectorlist;

enum device_taint_effect {
    DEVICE_TAINT_UNKNOWN, /* in a toleration: every effect */
    DEVICE_TAINT_NONE,    /* for information only */
    DEVICE_TAINT_NO_SCHEDULE,
    DEVICE_TAINT_NO_EXECUTE
};
enum device_toleration_op { DEVICE_TOL_NONE, DEVICE_TOL_EXISTS, DEVICE_TOL_EQUAL };
struct device_toleration {
    const char *key, *value;
    struct opt_i64 toleration_seconds;
    uint8_t op;     /* enum device_toleration_op; none: Equal */
    uint8_t effect; /* enum device_taint_effect */
};
typedef KLIST(struct device_toleration) device_tolerationlist;

/* ExactDeviceRequest, and DeviceSubRequest, which alone has a name. */
struct device_ask {
    const char *name;
    const char *device_class_name;
    const char *allocation_mode; /* "ExactCount" or "All"; "": ExactCount */
    int64_t count;               /* 0: one, as the server's default says */
    struct opt_bool admin_access;
    device_selectorlist selectors;
    device_tolerationlist tolerations;
    struct device_capacity_ask {
        reslist requests;
    } capacity;
};
struct device_request {
    const char *name;
    struct device_ask *exactly; /* NULL: the first of these that can be had */
    KLIST(struct device_ask) first_available;
};
struct device_constraint {
    kstrlist requests;                                /* none: all of the claim */
    const char *match_attribute, *distinct_attribute; /* NULL when absent */
};

struct device_opaque_config {
    const char *driver;
    const char *parameters; /* JSON text; NULL when absent */
};
struct device_config {  /* of a claim, a class (without requests) or an allocation */
    const char *source; /* of an allocation: "FromClass", "FromClaim" */
    kstrlist requests;  /* none: all */
    struct device_opaque_config *opaque;
};
typedef KLIST(struct device_config) device_configlist;

struct device_claim { /* spec.devices */
    KLIST(struct device_request) requests;
    KLIST(struct device_constraint) constraints;
    device_configlist config;
};
struct claim_spec {
    struct device_claim devices;
};
extern const struct kschema claim_spec_schema;

/* ---- what it got ----------------------------------------------------------------------------- */

struct device_result {   /* DeviceRequestAllocationResult */
    const char *request; /* "request", or "request/subrequest" */
    const char *driver, *pool, *device;
    struct opt_bool admin_access;
    device_tolerationlist tolerations;
    kstrlist binding_conditions, binding_failure_conditions;
    const char *share_id; /* NULL: the whole device */
    reslist consumed_capacity;
};
struct claim_allocation {
    struct device_allocation {
        KLIST(struct device_result) results;
        device_configlist config;
    } devices;
    struct node_selector *node_selector; /* NULL: everywhere */
    nsec_t allocation_timestamp;         /* 0 when absent */
};
extern const struct kschema claim_allocation_schema;

struct claim_consumer {
    const char *api_group;       /* "" */
    const char *resource, *name; /* "pods" */
    struct kuid uid;
};
struct allocated_device_status {
    const char *driver, *pool, *device;
    const char *share_id; /* NULL when absent */
    conditionlist conditions;
};
struct claim_status {
    struct claim_allocation *allocation; /* NULL: not allocated */
    KLIST(struct claim_consumer) reserved_for;
    KLIST(struct allocated_device_status) devices;
};
extern const struct kschema claim_status_schema;

struct resource_claim {
    struct kobj obj;
    struct claim_spec spec;
    struct claim_status status;
};
static inline const struct resource_claim *resource_claim_of(const struct kobj *o)
{
    return container_of(o, const struct resource_claim, obj);
}
/* Is the claim reserved for this pod? */
static inline bool claim_is_reserved_for(const struct resource_claim *c, struct kuid pod)
{
    for (uint32_t i = 0; i < c->status.reserved_for.n; i++)
        if (kuid_equal(c->status.reserved_for.items[i].uid, pod))
            return true;
    return false;
}

/* What a claim made from it gets. */
struct resource_claim_template {
    struct kobj obj;
    kstrmap labels, annotations; /* spec.metadata */
    const char *spec;            /* spec.spec as JSON text: handed on, unknown fields included */
};
static inline const struct resource_claim_template *claim_template_of(const struct kobj *o)
{
    return container_of(o, const struct resource_claim_template, obj);
}

/* ---- devices --------------------------------------------------------------------------------- */

struct device_attribute { /* at most one is set */
    struct opt_i64 int_value;
    const char *string_value, *version_value; /* NULL when absent */
    struct opt_bool bool_value;
};
struct device_attribute_entry {
    const char *name; /* "model" or "example.com/model" */
    struct device_attribute value;
};
struct capacity_range {
    const struct qty *min, *max, *step; /* NULL when absent */
};
struct capacity_policy {
    const struct qty *default_value;
    KLIST(struct qty) valid_values;
    struct capacity_range *valid_range;
};
struct device_capacity {
    struct qty value;
    struct capacity_policy *policy; /* requestPolicy; NULL: only the whole */
};
struct device_capacity_entry {
    const char *name;
    struct device_capacity value;
};

struct device_counter {
    struct qty value;
};
struct device_counter_entry {
    const char *name;
    struct device_counter value;
};
struct device_counters { /* CounterSet, and DeviceCounterConsumption with its counterSet as name */
    const char *name;
    KLIST(struct device_counter_entry) counters;
};
typedef KLIST(struct device_counters) device_counterslist;

struct device_taint {
    const char *key, *value;
    nsec_t time_added;
    uint8_t effect; /* enum device_taint_effect */
};
extern const char *const device_taint_effect_names[];
typedef KLIST(struct device_taint) device_taintlist;

struct slice_device {
    const char *name;
    KLIST(struct device_attribute_entry) attributes; /* sorted by name */
    KLIST(struct device_capacity_entry) capacity;    /* sorted by name */
    device_counterslist consumes_counters;
    const char *node_name; /* with perDeviceNodeSelection only; NULL when absent */
    struct node_selector *node_selector;
    device_taintlist taints;
    kstrlist binding_conditions, binding_failure_conditions;
    struct opt_bool all_nodes, binds_to_node, allow_multiple_allocations;
};

struct resource_slice {
    struct kobj obj;
    struct slice_spec {
        const char *driver;
        struct resource_pool {
            const char *name;
            int64_t generation, slice_count;
        } pool;
        const char *node_name; /* NULL: one of the next three says where */
        struct node_selector *node_selector;
        struct opt_bool all_nodes, per_device_node_selection;
        KLIST(struct slice_device) devices;
        device_counterslist shared_counters;
    } spec;
};
static inline const struct resource_slice *resource_slice_of(const struct kobj *o)
{
    return container_of(o, const struct resource_slice, obj);
}

struct device_class {
    struct kobj obj;
    struct device_class_spec {
        device_selectorlist selectors;
        device_configlist config;
        const char *extended_resource_name; /* NULL when absent */
    } spec;
};
static inline const struct device_class *device_class_of(const struct kobj *o)
{
    return container_of(o, const struct device_class, obj);
}

struct device_taint_rule {
    struct kobj obj;
    struct device_taint_rule_spec {
        struct device_taint_selector {
            const char *driver, *pool, *device; /* NULL: any */
        } * selector;                           /* NULL: see the plugin */
        struct device_taint taint;
    } spec;
};
static inline const struct device_taint_rule *device_taint_rule_of(const struct kobj *o)
{
    return container_of(o, const struct device_taint_rule, obj);
}

extern const struct kind kind_resource_claim, kind_resource_claim_template, kind_resource_slice,
    kind_device_class;
/* v1alpha3, which servers have only on request: not in the table of kinds. */
extern const struct kind kind_device_taint_rule;
#endif
