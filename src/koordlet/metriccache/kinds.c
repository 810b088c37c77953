/* kinds.c - the kinds of metrics and their labels, each a line (koordlet-metrics 3.2). */
#include "koordlet/metriccache/store.h"

#define GPU       "gpu_minor", "gpu_device_uuid"
#define POD       "pod_uid"
#define CONTAINER "container_id"
#define PSI       "psi_resource", "psi_precision", "psi_degree"

static const struct metric_kind_info kinds[M_KINDS] = {
    [M_NODE_CPU] = { "node_cpu_usage", { 0 } },
    [M_NODE_MEMORY] = { "node_memory_usage", { 0 } },
    [M_NODE_MEMORY_PAGE_CACHE] = { "node_memory_usage_with_page_cache", { 0 } },
    [M_NODE_MEMORY_HOT] = { "node_memory_with_hot_page_usage", { 0 } },
    [M_NODE_MEMORY_COLD] = { "node_memory_cold_page_size", { 0 } },
    [M_NODE_GPU_CORE] = { "node_gpu_core_usage", { GPU } },
    [M_NODE_GPU_MEMORY] = { "node_gpu_memory_usage", { GPU } },
    [M_NODE_GPU_MEMORY_TOTAL] = { "node_gpu_memory_total", { GPU } },
    [M_NODE_NUMA_CPU] = { "node_numa_cpu_usage", { "numa_node_id" } },
    [M_NODE_NUMA_MEMORY] = { "node_numa_memory_usage", { "numa_node_id" } },
    [M_SYS_CPU] = { "sys_cpu_usage", { 0 } },
    [M_SYS_MEMORY] = { "sys_memory_usage", { 0 } },
    [M_SYS_NUMA_CPU] = { "sys_numa_cpu_usage", { "numa_node_id" } },
    [M_SYS_NUMA_MEMORY] = { "sys_numa_memory_usage", { "numa_node_id" } },
    [M_NODE_BE] = { "node_be", { "be_resource", "be_allocation" } },
    [M_POD_CPU] = { "pod_cpu_usage", { POD } },
    [M_POD_MEMORY] = { "pod_memory_usage", { POD } },
    [M_POD_MEMORY_PAGE_CACHE] = { "pod_memory_usage_with_page_cache", { POD } },
    [M_POD_MEMORY_HOT] = { "pod_memory_with_hot_page_usage", { POD } },
    [M_POD_MEMORY_COLD] = { "pod_memory_cold_page_size", { POD } },
    [M_POD_THROTTLED] = { "pod_cpu_throttled", { POD } },
    [M_POD_GPU_CORE] = { "pod_gpu_core_usage", { POD, GPU } },
    [M_POD_GPU_MEMORY] = { "pod_gpu_memory_usage", { POD, GPU } },
    [M_POD_PSI] = { "pod_psi", { POD, PSI } },
    [M_POD_PSI_CPU_FULL] = { "pod_psi_cpu_full_supported", { POD } },
    [M_CONTAINER_CPU] = { "container_cpu_usage", { CONTAINER } },
    [M_CONTAINER_MEMORY] = { "container_memory_usage", { CONTAINER } },
    [M_CONTAINER_MEMORY_PAGE_CACHE] = { "container_memory_usage_with_page_cache", { CONTAINER } },
    [M_CONTAINER_MEMORY_HOT] = { "container_memory_with_hot_page_usage", { CONTAINER } },
    [M_CONTAINER_MEMORY_COLD] = { "container_memory_cold_page_size", { CONTAINER } },
    [M_CONTAINER_THROTTLED] = { "container_cpu_throttled", { CONTAINER } },
    [M_CONTAINER_GPU_CORE] = { "container_gpu_core_usage", { CONTAINER, GPU } },
    [M_CONTAINER_GPU_MEMORY] = { "container_gpu_memory_usage", { CONTAINER, GPU } },
    [M_CONTAINER_CPI] = { "container_cpi", { POD, CONTAINER, "cpi_resource" } },
    [M_CONTAINER_PSI] = { "container_psi", { POD, CONTAINER, PSI } },
    [M_CONTAINER_PSI_CPU_FULL] = { "container_psi_cpu_full_supported", { POD, CONTAINER } },
    [M_HOST_APP_CPU] = { "host_application_cpu_usage", { "host_app_name" } },
    [M_HOST_APP_MEMORY] = { "host_application_memory_usage", { "host_app_name" } },
    [M_HOST_APP_MEMORY_PAGE_CACHE] = { "host_application_memory_usage_with_page_cache",
                                       { "host_app_name" } },
    [M_HOST_APP_MEMORY_HOT] = { "host_application_memory_with_hot_page_usage",
                                { "host_app_name" } },
    [M_HOST_APP_MEMORY_COLD] = { "host_application_memory_cold_page_size", { "host_app_name" } },
    [M_RESCTRL_LLC] = { "resctrl_resource_llc", { "qos", "cache_id" } },
    [M_RESCTRL_MB] = { "resctrl_resource_mb", { "qos", "cache_id", "resctrl_mb_type" } },
};

const struct metric_kind_info *metric_kind_info(enum metric_kind k)
{
    assert(k < M_KINDS);
    return &kinds[k];
}
