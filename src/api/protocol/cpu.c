/* cpu.c - CPU binding and NUMA annotations (api 5.6). */
#include "api/protocol/cpu.h"

#define OMIT ANNO_OMIT

static const char *const bind_names[] = {
    "", "Default", "FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst", NULL
};
static const char *const numa_policy_names[] = { "", "BestEffort", "Restricted", "SingleNUMANode",
                                                 NULL };
static const char *const numa_exclusive_names[] = { "", "Preferred", "Required", NULL };
static const char *const apply_policy_names[] = { "Default", "ReservedCPUsOnly", NULL };

enum cpu_bind_policy cpu_bind_policy_parse(const char *name)
{
    for (unsigned i = 0; name && bind_names[i]; i++)
        if (streq(bind_names[i], name))
            return (enum cpu_bind_policy)i;
    return name ? CPU_BIND_OTHER : CPU_BIND_NONE;
}

const char *cpu_bind_policy_name(enum cpu_bind_policy p)
{
    return p < CPU_BIND_OTHER ? bind_names[p] : "";
}

enum cpu_exclusive_policy cpu_exclusive_policy_parse(const char *name)
{
    if (name && streq(name, "PCPULevel"))
        return CPU_EXCLUSIVE_PCPU_LEVEL;
    return name && streq(name, "NUMANodeLevel") ? CPU_EXCLUSIVE_NUMA_LEVEL : CPU_EXCLUSIVE_NONE;
}

enum numa_policy numa_policy_parse(const char *name)
{
    for (unsigned i = 1; name && numa_policy_names[i]; i++)
        if (streq(numa_policy_names[i], name))
            return (enum numa_policy)i;
    return NUMA_POLICY_NONE;
}

const char *numa_policy_name(enum numa_policy p)
{
    return numa_policy_names[p];
}

/* ---- pods ------------------------------------------------------------------------------------ */

#define F(member, json, type, ...) KF(struct resource_spec, member, json, type, __VA_ARGS__)
static const struct kfield resource_spec_fields[] = {
    F(required_bind_policy, "requiredCPUBindPolicy", KF_STR, OMIT),
    F(preferred_bind_policy, "preferredCPUBindPolicy", KF_STR, OMIT),
    F(preferred_exclusive_policy, "preferredCPUExclusivePolicy", KF_STR, OMIT),
};
#undef F
static const struct kschema resource_spec_schema =
    KSCHEMA("ResourceSpec", struct resource_spec, resource_spec_fields);
const struct annotation_codec resource_spec_codec = {
    .key = ANNO_RESOURCE_SPEC,
    .schema = &resource_spec_schema,
};

static const struct kmeta numa_policy_meta = { .names = numa_policy_names };
static const struct kmeta numa_exclusive_meta = { .names = numa_exclusive_names };
#define F(member, json, type, ...) KF(struct numa_topology_spec, member, json, type, __VA_ARGS__)
static const struct kfield numa_topology_spec_fields[] = {
    F(policy, "numaTopologyPolicy", KF_ENUM, OMIT, .meta = &numa_policy_meta),
    F(exclusive, "singleNUMANodeExclusive", KF_ENUM, OMIT, .meta = &numa_exclusive_meta),
};
#undef F
static const struct kschema numa_topology_spec_schema =
    KSCHEMA("NUMATopologySpec", struct numa_topology_spec, numa_topology_spec_fields);
const struct annotation_codec numa_topology_spec_codec = {
    .key = ANNO_NUMA_TOPOLOGY_SPEC,
    .schema = &numa_topology_spec_schema,
};

static const struct kfield numa_node_resource_fields[] = {
    KF(struct numa_node_resource, node, "node", KF_I32), /* always present */
    KF_MAP_OF(struct numa_node_resource, resources, "resources", KF_QTY, OMIT),
};
static const struct kschema numa_node_resource_schema =
    KSCHEMA("NUMANodeResource", struct numa_node_resource, numa_node_resource_fields);
static const struct kfield resource_status_fields[] = {
    KF(struct resource_status, cpuset, "cpuset", KF_STR, OMIT),
    KF_LIST_OF(struct resource_status, numa_node_resources, "numaNodeResources", KF_OBJ, OMIT,
               .sub = &numa_node_resource_schema),
};
static const struct kschema resource_status_schema =
    KSCHEMA("ResourceStatus", struct resource_status, resource_status_fields);
const struct annotation_codec resource_status_codec = {
    .key = ANNO_RESOURCE_STATUS,
    .schema = &resource_status_schema,
};

/* ---- NodeResourceTopology -------------------------------------------------------------------- */

#define F(member, json) KF(struct cpu_topology_entry, member, json, KF_I32)
static const struct kfield cpu_info_fields[] = { F(id, "id"), F(core, "core"), F(socket, "socket"),
                                                 F(node, "node") };
#undef F
static const struct kschema cpu_info_schema =
    KSCHEMA("CPUInfo", struct cpu_topology_entry, cpu_info_fields);
static const struct kfield cpu_topology_fields[] = {
    KF_LIST_OF(struct cpu_topology, detail, "detail", KF_OBJ, .sub = &cpu_info_schema),
};
static const struct kschema cpu_topology_schema =
    KSCHEMA("CPUTopology", struct cpu_topology, cpu_topology_fields);
const struct annotation_codec cpu_topology_codec = {
    .key = ANNO_CPU_TOPOLOGY,
    .schema = &cpu_topology_schema,
};

#define F(member, json, type, ...) KF(struct pod_cpu_alloc, member, json, type, __VA_ARGS__)
static const struct kfield pod_cpu_alloc_fields[] = {
    F(ns, "namespace", KF_STR, OMIT),
    F(name, "name", KF_STR, OMIT),
    F(uid, "uid", KF_STR, OMIT),
    F(cpuset, "cpuset", KF_STR, OMIT),
    F(managed_by_kubelet, "managedByKubelet", KF_BOOL, OMIT),
};
#undef F
static const struct kschema pod_cpu_alloc_schema =
    KSCHEMA("PodCPUAlloc", struct pod_cpu_alloc, pod_cpu_alloc_fields);
static const struct kfield pod_cpu_allocs_fields[] = {
    KF_LIST_OF(struct pod_cpu_allocs, v, "", KF_OBJ, .sub = &pod_cpu_alloc_schema),
};
static const struct kschema pod_cpu_allocs_schema =
    BARE_SCHEMA("PodCPUAllocs", struct pod_cpu_allocs, pod_cpu_allocs_fields);
const struct annotation_codec pod_cpu_allocs_codec = {
    .key = ANNO_POD_CPU_ALLOCS,
    .schema = &pod_cpu_allocs_schema,
};

#define F(member, json, type, ...) KF(struct cpu_shared_pool, member, json, type, __VA_ARGS__)
static const struct kfield cpu_shared_pool_fields[] = {
    F(socket, "socket", KF_I32),
    F(node, "node", KF_I32),
    F(cpuset, "cpuset", KF_STR, OMIT),
};
#undef F
static const struct kschema cpu_shared_pool_schema =
    KSCHEMA("CPUSharedPool", struct cpu_shared_pool, cpu_shared_pool_fields);
static const struct kfield cpu_shared_pools_fields[] = {
    KF_LIST_OF(struct cpu_shared_pools, v, "", KF_OBJ, .sub = &cpu_shared_pool_schema),
};
static const struct kschema cpu_shared_pools_schema =
    BARE_SCHEMA("CPUSharedPools", struct cpu_shared_pools, cpu_shared_pools_fields);
const struct annotation_codec cpu_shared_pools_codec = {
    .key = ANNO_CPU_SHARED_POOLS,
    .schema = &cpu_shared_pools_schema,
};
const struct annotation_codec be_cpu_shared_pools_codec = {
    .key = ANNO_BE_CPU_SHARED_POOLS,
    .schema = &cpu_shared_pools_schema,
};

static const struct kfield kubelet_cpu_manager_fields[] = {
    KF(struct kubelet_cpu_manager, policy, "policy", KF_STR, OMIT),
    KF_MAP_OF(struct kubelet_cpu_manager, options, "options", KF_STR, OMIT),
    KF(struct kubelet_cpu_manager, reserved_cpus, "reservedCPUs", KF_STR, OMIT),
};
static const struct kschema kubelet_cpu_manager_schema =
    KSCHEMA("KubeletCPUManagerPolicy", struct kubelet_cpu_manager, kubelet_cpu_manager_fields);
const struct annotation_codec kubelet_cpu_manager_codec = {
    .key = ANNO_KUBELET_CPU_MANAGER,
    .schema = &kubelet_cpu_manager_schema,
};

#define F(member, json, type, ...) KF(struct cpu_basic_info, member, json, type, __VA_ARGS__)
static const struct kfield cpu_basic_info_fields[] = {
    F(cpu_model, "cpuModel", KF_STR, OMIT),
    F(hyper_thread_enabled, "hyperThreadEnabled", KF_BOOL, OMIT),
    F(turbo_enabled, "turboEnabled", KF_BOOL, OMIT),
    F(cat_l3_cbm_mask, "catL3CbmMask", KF_STR, OMIT),
    F(vendor_id, "vendorID", KF_STR, OMIT),
};
#undef F
static const struct kschema cpu_basic_info_schema =
    KSCHEMA("CPUBasicInfo", struct cpu_basic_info, cpu_basic_info_fields);
const struct annotation_codec cpu_basic_info_codec = {
    .key = ANNO_CPU_BASIC_INFO,
    .schema = &cpu_basic_info_schema,
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct kmeta apply_policy_meta = { .names = apply_policy_names };
static const struct kfield node_reservation_fields[] = {
    KF_MAP_OF(struct node_reservation, resources, "resources", KF_QTY, OMIT),
    KF(struct node_reservation, reserved_cpus, "reservedCPUs", KF_STR, OMIT),
    KF(struct node_reservation, apply_policy, "applyPolicy", KF_ENUM, OMIT,
       .meta = &apply_policy_meta),
};
static const struct kschema node_reservation_schema =
    KSCHEMA("NodeReservation", struct node_reservation, node_reservation_fields);
const struct annotation_codec node_reservation_codec = {
    .key = ANNO_NODE_RESERVATION,
    .schema = &node_reservation_schema,
};

int64_t node_reservation_cores(const struct node_reservation *r)
{
    if (*r->reserved_cpus)
        return 0;
    return qty_value(reslist_get(&r->resources, RES_CPU)); /* rounds up */
}

static const struct kfield system_qos_resource_fields[] = {
    KF(struct system_qos_resource, cpuset, "cpuset", KF_STR, OMIT),
    KF(struct system_qos_resource, exclusive, "cpusetExclusive", KF_OPT_BOOL, OMIT),
};
static const struct kschema system_qos_resource_schema =
    KSCHEMA("SystemQOSResource", struct system_qos_resource, system_qos_resource_fields);
const struct annotation_codec system_qos_resource_codec = {
    .key = ANNO_SYSTEM_QOS_RESOURCE,
    .schema = &system_qos_resource_schema,
};

enum node_cpu_bind_policy node_cpu_bind_policy(const kstrmap *labels,
                                               const struct kubelet_cpu_manager *kubelet)
{
    const char *label = str_or(kstrmap_get(labels, LABEL_NODE_CPU_BIND_POLICY), "");

    if (streq(label, "FullPCPUsOnly"))
        return NODE_CPU_BIND_FULL_PCPUS_ONLY;
    if (kubelet && streq(kubelet->policy, KUBELET_CPU_POLICY_STATIC) &&
        streq(str_or(kstrmap_get(&kubelet->options, KUBELET_FULL_PCPUS_ONLY), ""), "true"))
        return NODE_CPU_BIND_FULL_PCPUS_ONLY;
    return streq(label, "SpreadByPCPUs") ? NODE_CPU_BIND_SPREAD : NODE_CPU_BIND_NONE;
}

enum numa_strategy node_numa_strategy(const kstrmap *labels, enum numa_strategy otherwise)
{
    const char *label = kstrmap_get(labels, LABEL_NODE_NUMA_STRATEGY);

    if (str_empty(label))
        return otherwise;
    return streq(label, "MostAllocated") ? NUMA_MOST_ALLOCATED : NUMA_LEAST_ALLOCATED;
}

enum numa_policy node_numa_policy(const kstrmap *labels, enum numa_policy of_topology)
{
    const char *label = kstrmap_get(labels, LABEL_NODE_NUMA_POLICY);

    return str_empty(label) ? of_topology : numa_policy_parse(label);
}

enum numa_policy numa_policy_of_topology(const kstrlist *topology_policies)
{
    for (uint32_t i = 0; i < topology_policies->n; i++) {
        const char *word = topology_policies->items[i];

        if (streq(word, "BestEffort"))
            return NUMA_POLICY_BEST_EFFORT;
        if (streq(word, "Restricted"))
            return NUMA_POLICY_RESTRICTED;
        if (streq(word, "SingleNUMANodePodLevel"))
            return NUMA_POLICY_SINGLE_NODE;
    }
    return NUMA_POLICY_NONE;
}

bool numa_policy_merge(enum numa_policy node, enum numa_policy pod, enum numa_policy *ret)
{
    if (node != NUMA_POLICY_NONE && pod != NUMA_POLICY_NONE && node != pod)
        return false;
    *ret = pod != NUMA_POLICY_NONE ? pod : node;
    return true;
}
