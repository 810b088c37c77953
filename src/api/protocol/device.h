/* device.h - GPUs, NICs and other devices: requests and annotations (api 4.2, 5.7). */
#ifndef KOORD_API_PROTOCOL_DEVICE_H
#define KOORD_API_PROTOCOL_DEVICE_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

#define DEVICE_TYPE_GPU      "gpu"
#define DEVICE_TYPE_RDMA     "rdma"
#define DEVICE_TYPE_FPGA     "fpga"

#define GPU_VENDOR_NVIDIA    "nvidia"
#define GPU_VENDOR_HUAWEI    "huawei"
#define GPU_VENDOR_CAMBRICON "cambricon"
#define GPU_VENDOR_METAX     "metax"
#define GPU_VENDOR_BAIDU     "baidu"
#define GPU_MODEL_ASCEND_DUO "Ascend-310P3-300I-DUO"

/* ---- requests -------------------------------------------------------------------------------- */

struct device_requests { /* in the scheduler's own terms; an empty list: not asked for */
    reslist gpu, rdma, fpga;
    int64_t gpu_count; /* cards the GPU request is spread over */
    reslist gpu_per_instance;
    bool gpu_shared;
};
/* Checks units and combinations, then turns cards into percent. Zero quantities do not count.
 * -EINVAL: "invalid resource unit ..." or "invalid resource device requests: [...]". */
int device_requests_parse(const reslist *requests, struct arena *a, struct device_requests *ret,
                          struct kerr *err);
/* 100 or less, or a multiple of 100. */
bool device_percentage_valid(int64_t value);

/* The webhook's part, for one container: koordinator.sh/gpu is split, gpu.shared added.
 * Returns whether anything changed. */
bool device_resources_fill(struct resources *r, struct arena *a);

/* ---- annotations of pods and Reservations ---------------------------------------------------- */

struct device_vf {
    int32_t minor;
    const char *bus_id;
};
struct device_allocation_extension {
    KLIST(struct device_vf) vfs;
    const char *gpu_template; /* gpuSharedResourceTemplate */
};
struct device_allocation {
    int32_t minor;
    reslist resources; /* old names are replaced */
    const char *id;
    struct device_allocation_extension *extension;
};
struct device_allocation_list {
    KLIST(struct device_allocation) v;
};
struct device_type_allocations {
    const char *type;
    struct device_allocation_list devices;
};
struct device_allocations {
    KLIST(struct device_type_allocations) v; /* sorted by type */
};
DECLARE_ANNOTATION(device_allocations, struct device_allocations)
/* NULL when the type is absent. */
const struct device_allocation_list *device_allocations_of(const struct device_allocations *d,
                                                           const char *type);

enum device_strategy { DEVICE_STRATEGY_NONE, DEVICE_APPLY_FOR_ALL, DEVICE_REQUESTS_AS_COUNT };
enum device_scope { /* the number is the level: closer is higher */
                    DEVICE_SCOPE_NONE,
                    DEVICE_SCOPE_NODE,
                    DEVICE_SCOPE_NUMA_NODE,
                    DEVICE_SCOPE_PCIE,
                    DEVICE_SCOPE_DEVICE
};
enum device_exclusive { DEVICE_EXCLUSIVE_NONE, DEVICE_EXCLUSIVE_DEVICE, DEVICE_EXCLUSIVE_PCIE };
struct device_hint {
    struct label_selector *selector, *vf_selector;
    uint8_t strategy;       /* enum device_strategy */
    uint8_t required_scope; /* enum device_scope */
    uint8_t exclusive;      /* enum device_exclusive */
};
struct device_type_hint {
    const char *type;
    struct device_hint hint;
};
struct device_hints {
    KLIST(struct device_type_hint) v;
};
DECLARE_ANNOTATION(device_hints, struct device_hints)
const struct device_hint *device_hint_of(const struct device_hints *h, const char *type);
/* A word of the annotation that nobody knows, and that counts as absent: `gpu.exclusivePolicy:
 * "x"`. NULL: there is none. */
const char *device_hints_unknown(const kstrmap *annotations, struct arena *a);

struct device_joint {
    kstrlist device_types;      /* the first is primary */
    const char *required_scope; /* "SamePCIe" or "" */
};
DECLARE_ANNOTATION(device_joint, struct device_joint)

struct gpu_partition_spec {
    bool restricted;                      /* false: BestEffort */
    const struct qty *ring_bus_bandwidth; /* NULL: no demand */
};
DECLARE_ANNOTATION(gpu_partition_spec, struct gpu_partition_spec)

/* ---- annotations and labels of Device -------------------------------------------------------- */

struct gpu_partition {
    KLIST(int32_t) minors;
    const char *link_type;
    const struct qty *ring_bus_bandwidth;
    int32_t allocation_score;
};
struct gpu_partition_list {
    KLIST(struct gpu_partition) v;
};
struct gpu_partition_row {
    const char *gpu_count; /* a decimal number */
    struct gpu_partition_list partitions;
};
struct gpu_partitions {
    KLIST(struct gpu_partition_row) v;
};
DECLARE_ANNOTATION(gpu_partitions, struct gpu_partitions)
const struct gpu_partition_list *gpu_partitions_for(const struct gpu_partitions *p, int64_t count);

static inline bool gpu_partition_honored(const kstrmap *labels)
{
    const char *v = kstrmap_get(labels, LABEL_GPU_PARTITION_POLICY);
    return v && streq(v, "Honor");
}
/* Three states: true, false, absent (also for every other word). */
struct opt_bool secondary_well_planned(const kstrmap *labels);

/* ConfigMap gpu-shared-resource-templates, key data.yaml: shares of a card, by vendor and model. */
#define GPU_TEMPLATES_CONFIGMAP "gpu-shared-resource-templates"
#define GPU_TEMPLATES_KEY       "data.yaml"
struct gpu_template {
    const char *name; /* "vir02" */
    struct reslist_value resources;
};
struct gpu_template_list {
    KLIST(struct gpu_template) v;
};
struct gpu_model_templates {
    const char *model; /* "huawei-Ascend-310P3-300I-DUO" */
    struct gpu_template_list templates;
};
struct gpu_templates {
    KLIST(struct gpu_model_templates) v;
};
int gpu_templates_decode(const char *yaml, size_t n, struct arena *a, struct gpu_templates *ret,
                         struct kerr *err);
/* NULL when there are none for the model. */
const struct gpu_template_list *gpu_templates_of(const struct gpu_templates *t, const char *vendor,
                                                 const char *model);

/* ---- what device plugins of vendors want to read --------------------------------------------- */

struct metax_device {
    const char *uuid;
    int64_t compute, vram_mib;
};
struct metax_container {
    KLIST(struct metax_device) v;
};
struct metax_allocation {
    KLIST(struct metax_container) v;
};
DECLARE_ANNOTATION(metax_allocation, struct metax_allocation)

/* "0,1" */
const char *device_minors_format(const struct device_allocation_list *l, struct arena *a);
/* "Ascend310P-0,Ascend310P-1" */
const char *ascend310p_format(const struct device_allocation_list *l, struct arena *a);
/* "0-vir02" for one card with a template, else the minors. */
const char *huawei_npu_core_format(const struct device_allocation_list *l, struct arena *a);
/* "<minor>_<core>_<memory/256Mi>"; one card, with compute and at least 256Mi. */
int cambricon_profile_format(const struct device_allocation_list *l, struct arena *a,
                             const char **ret, struct kerr *err);

/* A node's lock "<RFC3339>,<namespace>,<pod>", which the device plugin takes away. */
struct node_lock {
    nsec_t at;
    const char *ns, *pod;
};
#define NODE_LOCK_TTL (300 * NSEC_PER_SEC)
int node_lock_parse(const char *text, struct arena *a, struct node_lock *ret, struct kerr *err);
const char *node_lock_format(const struct node_lock *l, struct arena *a);
#endif
