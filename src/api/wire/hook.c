/* hook.c - tables of the hooks' messages. */
#include "api/wire/hook.h"

#define M(type, member, num, kind, ...) WIRE_MEMBER(struct type, member, num, kind, ##__VA_ARGS__)
#define SUB(table)                      .sub = &(table)

static const struct wire_member pod_request_members[] = {
    M(hook_pod_request, pod, 1, WK_MSG, SUB(cri_pod_metadata_table)),
    M(hook_pod_request, runtime_handler, 2, WK_STR),
    M(hook_pod_request, labels, 3, WK_MAP),
    M(hook_pod_request, annotations, 4, WK_MAP),
    M(hook_pod_request, cgroup_parent, 5, WK_STR),
    M(hook_pod_request, overhead, 6, WK_MSG, SUB(cri_resources_table)),
    M(hook_pod_request, resources, 7, WK_MSG, SUB(cri_resources_table)),
};
const struct wire_table hook_pod_request_table =
    WIRE_TABLE("PodSandboxHookRequest", struct hook_pod_request, pod_request_members);

static const struct wire_member pod_response_members[] = {
    M(hook_pod_response, labels, 1, WK_MAP),
    M(hook_pod_response, annotations, 2, WK_MAP),
    M(hook_pod_response, cgroup_parent, 3, WK_STR),
    M(hook_pod_response, resources, 4, WK_MSG, SUB(cri_resources_table)),
};
const struct wire_table hook_pod_response_table =
    WIRE_TABLE("PodSandboxHookResponse", struct hook_pod_response, pod_response_members);

static const struct wire_member container_metadata_members[] = {
    M(hook_container_metadata, name, 1, WK_STR),
    M(hook_container_metadata, attempt, 2, WK_UINT),
    M(hook_container_metadata, id, 3, WK_STR),
};
static const struct wire_table container_metadata_table =
    WIRE_TABLE("ContainerMetadata", struct hook_container_metadata, container_metadata_members);

static const struct wire_member container_request_members[] = {
    M(hook_container_request, pod, 1, WK_MSG, SUB(cri_pod_metadata_table)),
    M(hook_container_request, container, 2, WK_MSG, SUB(container_metadata_table)),
    M(hook_container_request, annotations, 3, WK_MAP),
    M(hook_container_request, resources, 4, WK_MSG, SUB(cri_resources_table)),
    M(hook_container_request, pod_resources, 5, WK_MSG, SUB(cri_resources_table)),
    M(hook_container_request, pod_annotations, 6, WK_MAP),
    M(hook_container_request, pod_labels, 7, WK_MAP),
    M(hook_container_request, cgroup_parent, 8, WK_STR),
    M(hook_container_request, envs, 9, WK_MAP),
};
const struct wire_table hook_container_request_table = WIRE_TABLE(
    "ContainerResourceHookRequest", struct hook_container_request, container_request_members);

static const struct wire_member container_response_members[] = {
    M(hook_container_response, annotations, 1, WK_MAP),
    M(hook_container_response, resources, 2, WK_MSG, SUB(cri_resources_table)),
    M(hook_container_response, cgroup_parent, 3, WK_STR),
    M(hook_container_response, envs, 4, WK_MAP),
};
const struct wire_table hook_container_response_table = WIRE_TABLE(
    "ContainerResourceHookResponse", struct hook_container_response, container_response_members);
