/* cri.c - tables of CRI's messages. */
#include "api/wire/cri.h"

#define M(type, member, num, kind, ...) WIRE_MEMBER(struct type, member, num, kind, ##__VA_ARGS__)
#define SUB(table)                      .sub = &(table)

static const struct wire_member hugepage_members[] = {
    M(cri_hugepage, page_size, 1, WK_STR),
    M(cri_hugepage, limit, 2, WK_UINT),
};
static const struct wire_table hugepage_table =
    WIRE_TABLE("HugepageLimit", struct cri_hugepage, hugepage_members);

static const struct wire_member resources_members[] = {
    M(cri_resources, cpu_period, 1, WK_INT),
    M(cri_resources, cpu_quota, 2, WK_INT),
    M(cri_resources, cpu_shares, 3, WK_INT),
    M(cri_resources, memory_limit, 4, WK_INT),
    M(cri_resources, oom_score_adj, 5, WK_INT),
    M(cri_resources, cpuset_cpus, 6, WK_STR),
    M(cri_resources, cpuset_mems, 7, WK_STR),
    M(cri_resources, hugepage_limits, 8, WK_MSGS, SUB(hugepage_table)),
    M(cri_resources, unified, 9, WK_MAP),
    M(cri_resources, memory_swap_limit, 10, WK_INT),
};
const struct wire_table cri_resources_table =
    WIRE_TABLE("LinuxContainerResources", struct cri_resources, resources_members);

/* ---- pods ------------------------------------------------------------------------------------ */

static const struct wire_member pod_metadata_members[] = {
    M(cri_pod_metadata, name, 1, WK_STR),
    M(cri_pod_metadata, uid, 2, WK_STR),
    M(cri_pod_metadata, ns, 3, WK_STR),
    M(cri_pod_metadata, attempt, 4, WK_UINT),
};
const struct wire_table cri_pod_metadata_table =
    WIRE_TABLE("PodSandboxMetadata", struct cri_pod_metadata, pod_metadata_members);

static const struct wire_member linux_pod_members[] = {
    M(cri_linux_pod, cgroup_parent, 1, WK_STR),
    M(cri_linux_pod, overhead, 4, WK_MSG, SUB(cri_resources_table)),
    M(cri_linux_pod, resources, 5, WK_MSG, SUB(cri_resources_table)),
};
static const struct wire_table linux_pod_table =
    WIRE_TABLE("LinuxPodSandboxConfig", struct cri_linux_pod, linux_pod_members);

static const struct wire_member pod_config_members[] = {
    M(cri_pod_config, metadata, 1, WK_MSG, SUB(cri_pod_metadata_table)),
    M(cri_pod_config, labels, 6, WK_MAP),
    M(cri_pod_config, annotations, 7, WK_MAP),
    M(cri_pod_config, linux_pod, 8, WK_MSG, SUB(linux_pod_table)),
};
static const struct wire_table pod_config_table =
    WIRE_TABLE("PodSandboxConfig", struct cri_pod_config, pod_config_members);

static const struct wire_member run_pod_request_members[] = {
    M(cri_run_pod_request, config, 1, WK_MSG, SUB(pod_config_table)),
    M(cri_run_pod_request, runtime_handler, 2, WK_STR),
};
const struct wire_table cri_run_pod_request_table =
    WIRE_TABLE("RunPodSandboxRequest", struct cri_run_pod_request, run_pod_request_members);

static const struct wire_member id_members[] = { M(cri_id, id, 1, WK_STR) };
const struct wire_table cri_id_table = WIRE_TABLE("message with an ID", struct cri_id, id_members);

/* ---- containers ------------------------------------------------------------------------------ */

static const struct wire_member container_metadata_members[] = {
    M(cri_container_metadata, name, 1, WK_STR),
    M(cri_container_metadata, attempt, 2, WK_UINT),
};
static const struct wire_table container_metadata_table =
    WIRE_TABLE("ContainerMetadata", struct cri_container_metadata, container_metadata_members);

static const struct wire_member env_members[] = {
    M(cri_env, key, 1, WK_STR),
    M(cri_env, value, 2, WK_STR),
};
static const struct wire_table env_table = WIRE_TABLE("KeyValue", struct cri_env, env_members);

static const struct wire_member linux_container_members[] = {
    M(cri_linux_container, resources, 1, WK_MSG, SUB(cri_resources_table)),
};
static const struct wire_table linux_container_table =
    WIRE_TABLE("LinuxContainerConfig", struct cri_linux_container, linux_container_members);

static const struct wire_member container_config_members[] = {
    M(cri_container_config, metadata, 1, WK_MSG, SUB(container_metadata_table)),
    M(cri_container_config, envs, 6, WK_MSGS, SUB(env_table)),
    M(cri_container_config, labels, 9, WK_MAP),
    M(cri_container_config, annotations, 10, WK_MAP),
    M(cri_container_config, linux_container, 15, WK_MSG, SUB(linux_container_table)),
};
static const struct wire_table container_config_table =
    WIRE_TABLE("ContainerConfig", struct cri_container_config, container_config_members);

static const struct wire_member create_request_members[] = {
    M(cri_create_request, pod_id, 1, WK_STR),
    M(cri_create_request, config, 2, WK_MSG, SUB(container_config_table)),
    M(cri_create_request, pod_config, 3, WK_MSG, SUB(pod_config_table)),
};
const struct wire_table cri_create_request_table =
    WIRE_TABLE("CreateContainerRequest", struct cri_create_request, create_request_members);

static const struct wire_member update_request_members[] = {
    M(cri_update_request, container_id, 1, WK_STR),
    M(cri_update_request, resources, 2, WK_MSG, SUB(cri_resources_table)),
    M(cri_update_request, annotations, 4, WK_MAP),
};
const struct wire_table cri_update_request_table = WIRE_TABLE(
    "UpdateContainerResourcesRequest", struct cri_update_request, update_request_members);

/* ---- what a runtime has ---------------------------------------------------------------------- */

static const struct wire_member pod_members[] = {
    M(cri_pod, id, 1, WK_STR),
    M(cri_pod, metadata, 2, WK_MSG, SUB(cri_pod_metadata_table)),
    M(cri_pod, state, 3, WK_INT),
    M(cri_pod, labels, 5, WK_MAP),
    M(cri_pod, annotations, 6, WK_MAP),
    M(cri_pod, runtime_handler, 7, WK_STR),
};
static const struct wire_table pod_table = WIRE_TABLE("PodSandbox", struct cri_pod, pod_members);
static const struct wire_member pod_list_members[] = {
    M(cri_pod_list, items, 1, WK_MSGS, SUB(pod_table)),
};
const struct wire_table cri_pod_list_table =
    WIRE_TABLE("ListPodSandboxResponse", struct cri_pod_list, pod_list_members);

static const struct wire_member container_members[] = {
    M(cri_container, id, 1, WK_STR),
    M(cri_container, pod_id, 2, WK_STR),
    M(cri_container, metadata, 3, WK_MSG, SUB(container_metadata_table)),
    M(cri_container, state, 6, WK_INT),
    M(cri_container, labels, 8, WK_MAP),
    M(cri_container, annotations, 9, WK_MAP),
};
static const struct wire_table container_table =
    WIRE_TABLE("Container", struct cri_container, container_members);
static const struct wire_member container_list_members[] = {
    M(cri_container_list, items, 1, WK_MSGS, SUB(container_table)),
};
const struct wire_table cri_container_list_table =
    WIRE_TABLE("ListContainersResponse", struct cri_container_list, container_list_members);

static const struct wire_member status_request_members[] = {
    M(cri_status_request, id, 1, WK_STR),
    M(cri_status_request, verbose, 2, WK_BOOL),
};
const struct wire_table cri_status_request_table =
    WIRE_TABLE("ContainerStatusRequest", struct cri_status_request, status_request_members);

static const struct wire_member container_resources_members[] = {
    M(cri_container_resources, linux_resources, 1, WK_MSG, SUB(cri_resources_table)),
};
static const struct wire_table container_resources_table =
    WIRE_TABLE("ContainerResources", struct cri_container_resources, container_resources_members);
static const struct wire_member container_status_members[] = {
    M(cri_container_status, id, 1, WK_STR),
    M(cri_container_status, resources, 16, WK_MSG, SUB(container_resources_table)),
};
static const struct wire_table container_status_table =
    WIRE_TABLE("ContainerStatus", struct cri_container_status, container_status_members);
static const struct wire_member container_status_response_members[] = {
    M(cri_container_status_response, status, 1, WK_MSG, SUB(container_status_table)),
    M(cri_container_status_response, info, 2, WK_MAP),
};
const struct wire_table cri_container_status_response_table =
    WIRE_TABLE("ContainerStatusResponse", struct cri_container_status_response,
               container_status_response_members);

static const struct wire_member pod_status_response_members[] = {
    M(cri_pod_status_response, info, 2, WK_MAP),
};
const struct wire_table cri_pod_status_response_table = WIRE_TABLE(
    "PodSandboxStatusResponse", struct cri_pod_status_response, pod_status_response_members);

static const struct wire_member version_members[] = {
    M(cri_version, version, 1, WK_STR),
    M(cri_version, runtime_name, 2, WK_STR),
    M(cri_version, runtime_version, 3, WK_STR),
    M(cri_version, runtime_api_version, 4, WK_STR),
};
const struct wire_table cri_version_table =
    WIRE_TABLE("VersionResponse", struct cri_version, version_members);
