/* cpu.h - CPU binding and NUMA: annotations of pods and NodeResourceTopology (api 5.6). */
#ifndef KOORD_API_PROTOCOL_CPU_H
#define KOORD_API_PROTOCOL_CPU_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"
#include "base/cpuset.h"

/* ---- of pods and Reservations ---------------------------------------------------------------- */

enum cpu_bind_policy {
    CPU_BIND_NONE, /* "" */
    CPU_BIND_DEFAULT,
    CPU_BIND_FULL_PCPUS,
    CPU_BIND_SPREAD_BY_PCPUS,
    CPU_BIND_CONSTRAINED_BURST,
    CPU_BIND_OTHER /* some other word: the pod is not bound */
};
enum cpu_exclusive_policy {
    CPU_EXCLUSIVE_NONE, /* "", "None" and unknown words */
    CPU_EXCLUSIVE_PCPU_LEVEL,
    CPU_EXCLUSIVE_NUMA_LEVEL
};
enum numa_policy { /* of pods and nodes; unknown words are none */
                   NUMA_POLICY_NONE,
                   NUMA_POLICY_BEST_EFFORT,
                   NUMA_POLICY_RESTRICTED,
                   NUMA_POLICY_SINGLE_NODE
};
enum numa_exclusive { NUMA_EXCLUSIVE_NONE, NUMA_EXCLUSIVE_PREFERRED, NUMA_EXCLUSIVE_REQUIRED };

enum cpu_bind_policy cpu_bind_policy_parse(const char *name);
const char *cpu_bind_policy_name(enum cpu_bind_policy p); /* "" for none and other */
enum cpu_exclusive_policy cpu_exclusive_policy_parse(const char *name);
enum numa_policy numa_policy_parse(const char *name);
const char *numa_policy_name(enum numa_policy p);

struct resource_spec {
    const char *required_bind_policy, *preferred_bind_policy, *preferred_exclusive_policy;
};
DECLARE_ANNOTATION(resource_spec, struct resource_spec)

struct numa_topology_spec {
    uint8_t policy;    /* enum numa_policy */
    uint8_t exclusive; /* enum numa_exclusive */
};
DECLARE_ANNOTATION(numa_topology_spec, struct numa_topology_spec)

struct numa_node_resource {
    int32_t node;
    reslist resources;
};
struct resource_status { /* what the scheduler gave the pod */
    const char *cpuset;
    KLIST(struct numa_node_resource) numa_node_resources;
};
DECLARE_ANNOTATION(resource_status, struct resource_status)

/* ---- of nodes and NodeResourceTopology ------------------------------------------------------- */

struct cpu_topology_entry {
    int32_t id, core, socket, node;
};
struct cpu_topology {
    KLIST(struct cpu_topology_entry) detail;
};
DECLARE_ANNOTATION(cpu_topology, struct cpu_topology)

struct pod_cpu_alloc {
    const char *ns, *name, *uid, *cpuset;
    bool managed_by_kubelet;
};
struct pod_cpu_allocs {
    KLIST(struct pod_cpu_alloc) v;
};
DECLARE_ANNOTATION(pod_cpu_allocs, struct pod_cpu_allocs)

struct cpu_shared_pool {
    int32_t socket, node;
    const char *cpuset;
};
struct cpu_shared_pools {
    KLIST(struct cpu_shared_pool) v;
};
DECLARE_ANNOTATION(cpu_shared_pools, struct cpu_shared_pools)    /* LS */
DECLARE_ANNOTATION(be_cpu_shared_pools, struct cpu_shared_pools) /* BE */

#define KUBELET_CPU_POLICY_STATIC    "static"
#define KUBELET_CPU_POLICY_NONE      "none"
#define KUBELET_FULL_PCPUS_ONLY      "full-pcpus-only"
#define KUBELET_DISTRIBUTE_OVER_NUMA "distribute-cpus-across-numa"
struct kubelet_cpu_manager {
    const char *policy;
    kstrmap options;
    const char *reserved_cpus;
};
DECLARE_ANNOTATION(kubelet_cpu_manager, struct kubelet_cpu_manager)

struct cpu_basic_info {
    const char *cpu_model, *cat_l3_cbm_mask, *vendor_id;
    bool hyper_thread_enabled, turbo_enabled;
};
DECLARE_ANNOTATION(cpu_basic_info, struct cpu_basic_info)

enum node_reservation_policy { NODE_RESERVATION_DEFAULT, NODE_RESERVATION_CPUS_ONLY };
struct node_reservation {
    reslist resources;
    const char *reserved_cpus; /* "" when not given */
    uint8_t apply_policy;      /* enum node_reservation_policy */
};
DECLARE_ANNOTATION(node_reservation, struct node_reservation)
/* Number of cores to set aside: 0 when a CPU list is given, because then the list counts. */
int64_t node_reservation_cores(const struct node_reservation *r);

struct system_qos_resource {
    const char *cpuset;
    struct opt_bool exclusive; /* absent: true */
};
DECLARE_ANNOTATION(system_qos_resource, struct system_qos_resource)
static inline bool system_qos_is_exclusive(const struct system_qos_resource *r)
{
    return !r->exclusive.set || r->exclusive.v;
}

/* ---- labels of nodes ------------------------------------------------------------------------- */

enum node_cpu_bind_policy {
    NODE_CPU_BIND_NONE,
    NODE_CPU_BIND_FULL_PCPUS_ONLY,
    NODE_CPU_BIND_SPREAD
};
/* The label, or FullPCPUsOnly because the kubelet's static policy says so. kubelet may be NULL. */
enum node_cpu_bind_policy node_cpu_bind_policy(const kstrmap *labels,
                                               const struct kubelet_cpu_manager *kubelet);

enum numa_strategy { NUMA_LEAST_ALLOCATED, NUMA_MOST_ALLOCATED };
/* Any word but MostAllocated counts as LeastAllocated; without a label `otherwise`. */
enum numa_strategy node_numa_strategy(const kstrmap *labels, enum numa_strategy otherwise);

/* The label, when it is a policy, goes before what NodeResourceTopology says. */
enum numa_policy node_numa_policy(const kstrmap *labels, enum numa_policy of_topology);
/* First known word of NodeResourceTopology.topologyPolicies. */
enum numa_policy numa_policy_of_topology(const kstrlist *topology_policies);
/* false: the pod's policy differs from the node's. */
bool numa_policy_merge(enum numa_policy node, enum numa_policy pod, enum numa_policy *ret);
#endif
