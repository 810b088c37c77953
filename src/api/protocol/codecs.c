/* codecs.c - the list of all annotation codecs: what the fuzz target and koordctl walk over. */
#include "api/protocol/cpu.h"
#include "api/protocol/device.h"
#include "api/protocol/gang.h"
#include "api/protocol/hint.h"
#include "api/protocol/loadaware.h"
#include "api/protocol/migration.h"
#include "api/protocol/node.h"
#include "api/protocol/quota.h"
#include "api/protocol/reservation.h"
#include "api/protocol/slo.h"

static const struct annotation_codec *const codecs[] = {
    /* identity, gang */
    &extended_resource_spec_codec,
    &gang_groups_codec,
    &network_topology_spec_codec,
    /* quota */
    &quota_shared_weight_codec,
    &quota_total_resource_codec,
    &quota_unschedulable_resource_codec,
    &quota_runtime_codec,
    &quota_request_codec,
    &quota_child_request_codec,
    &quota_guaranteed_codec,
    &quota_allocated_codec,
    &quota_non_preemptible_request_codec,
    &quota_non_preemptible_used_codec,
    &quota_admission_codec,
    &quota_namespaces_codec,
    &quota_resource_keys_codec,
    &quota_max_strict_keys_codec,
    /* reservation */
    &reservation_allocated_codec,
    &reservation_affinity_codec,
    &reservation_restricted_options_codec,
    &exact_match_spec_codec,
    &reservation_resize_codec,
    &reservation_owners_codec,
    &reservation_current_owner_codec,
    /* CPU and NUMA */
    &resource_spec_codec,
    &numa_topology_spec_codec,
    &resource_status_codec,
    &cpu_topology_codec,
    &pod_cpu_allocs_codec,
    &cpu_shared_pools_codec,
    &be_cpu_shared_pools_codec,
    &kubelet_cpu_manager_codec,
    &cpu_basic_info_codec,
    &node_reservation_codec,
    &system_qos_resource_codec,
    /* devices */
    &device_allocations_codec,
    &device_hints_codec,
    &device_joint_codec,
    &gpu_partition_spec_codec,
    &gpu_partitions_codec,
    &metax_allocation_codec,
    /* load-aware */
    &usage_thresholds_codec,
    &load_scaling_factors_codec,
    /* node */
    &colocation_strategy_codec,
    &origin_allocatable_codec,
    &third_party_allocations_codec,
    &amplification_ratios_codec,
    &raw_allocatable_codec,
    &cpu_normalization_codec,
    /* SLO of a pod */
    &pod_cpu_burst_codec,
    &pod_cpu_qos_codec,
    &pod_memory_qos_codec,
    &pod_blkio_qos_codec,
    &pod_network_qos_codec,
    &oom_score_adj_spec_codec,
    &eviction_policy_codec,
    &pod_resctrl_codec,
    /* migration, hints */
    &soft_eviction_codec,
    &scheduling_hint_codec,
};

const struct annotation_codec *annotation_codec_at(size_t i)
{
    return i < ARRAY_LEN(codecs) ? codecs[i] : NULL;
}

const struct annotation_codec *annotation_codec_find(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(codecs); i++)
        if (streq(codecs[i]->key, key))
            return codecs[i];
    return NULL;
}
