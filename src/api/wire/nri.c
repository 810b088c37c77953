/* nri.c - tables of NRI's messages. */
#include "api/wire/nri.h"

#define M(type, member, num, kind, ...) WIRE_MEMBER(struct type, member, num, kind, ##__VA_ARGS__)
#define SUB(table)                      .sub = &(table)

static const struct wire_member number_members[] = { M(nri_number, value, 1, WK_INT) };
static const struct wire_table number_table =
    WIRE_TABLE("OptionalInt64", struct nri_number, number_members);
static const struct wire_member text_members[] = { M(nri_text, value, 1, WK_STR) };
static const struct wire_table text_table =
    WIRE_TABLE("OptionalString", struct nri_text, text_members);

/* ---- resources ------------------------------------------------------------------------------- */

static const struct wire_member memory_members[] = { M(nri_memory, limit, 1, WK_MSG,
                                                       SUB(number_table)) };
static const struct wire_table memory_table =
    WIRE_TABLE("LinuxMemory", struct nri_memory, memory_members);

static const struct wire_member cpu_members[] = {
    M(nri_cpu, shares, 1, WK_MSG, SUB(number_table)),
    M(nri_cpu, quota, 2, WK_MSG, SUB(number_table)),
    M(nri_cpu, period, 3, WK_MSG, SUB(number_table)),
    M(nri_cpu, cpus, 6, WK_STR),
    M(nri_cpu, mems, 7, WK_STR),
};
static const struct wire_table cpu_table = WIRE_TABLE("LinuxCPU", struct nri_cpu, cpu_members);

static const struct wire_member resources_members[] = {
    M(nri_resources, memory, 1, WK_MSG, SUB(memory_table)),
    M(nri_resources, cpu, 2, WK_MSG, SUB(cpu_table)),
    M(nri_resources, rdt_class, 5, WK_MSG, SUB(text_table)),
};
static const struct wire_table resources_table =
    WIRE_TABLE("LinuxResources", struct nri_resources, resources_members);

/* ---- pods and containers --------------------------------------------------------------------- */

static const struct wire_member linux_pod_members[] = {
    M(nri_linux_pod, resources, 2, WK_MSG, SUB(resources_table)),
    M(nri_linux_pod, cgroup_parent, 3, WK_STR),
    M(nri_linux_pod, cgroups_path, 4, WK_STR),
};
static const struct wire_table linux_pod_table =
    WIRE_TABLE("LinuxPodSandbox", struct nri_linux_pod, linux_pod_members);

static const struct wire_member pod_members[] = {
    M(nri_pod, id, 1, WK_STR),
    M(nri_pod, name, 2, WK_STR),
    M(nri_pod, uid, 3, WK_STR),
    M(nri_pod, ns, 4, WK_STR),
    M(nri_pod, labels, 5, WK_MAP),
    M(nri_pod, annotations, 6, WK_MAP),
    M(nri_pod, runtime_handler, 7, WK_STR),
    M(nri_pod, linux_pod, 8, WK_MSG, SUB(linux_pod_table)),
};
static const struct wire_table pod_table = WIRE_TABLE("PodSandbox", struct nri_pod, pod_members);

static const struct wire_member linux_container_members[] = {
    M(nri_linux_container, resources, 3, WK_MSG, SUB(resources_table)),
    M(nri_linux_container, oom_score_adj, 4, WK_MSG, SUB(number_table)),
    M(nri_linux_container, cgroups_path, 5, WK_STR),
};
static const struct wire_table linux_container_table =
    WIRE_TABLE("LinuxContainer", struct nri_linux_container, linux_container_members);

static const struct wire_member container_members[] = {
    M(nri_container, id, 1, WK_STR),
    M(nri_container, pod_id, 2, WK_STR),
    M(nri_container, name, 3, WK_STR),
    M(nri_container, state, 4, WK_INT),
    M(nri_container, labels, 5, WK_MAP),
    M(nri_container, annotations, 6, WK_MAP),
    M(nri_container, env, 8, WK_STRS),
    M(nri_container, linux_container, 11, WK_MSG, SUB(linux_container_table)),
    M(nri_container, created_at, 14, WK_INT),
    M(nri_container, started_at, 15, WK_INT),
};
static const struct wire_table container_table =
    WIRE_TABLE("Container", struct nri_container, container_members);

/* ---- what a plugin changes ------------------------------------------------------------------- */

static const struct wire_member pair_members[] = {
    M(nri_pair, key, 1, WK_STR),
    M(nri_pair, value, 2, WK_STR),
};
static const struct wire_table pair_table = WIRE_TABLE("KeyValue", struct nri_pair, pair_members);

static const struct wire_member mount_members[] = {
    M(nri_mount, destination, 1, WK_STR),
    M(nri_mount, type, 2, WK_STR),
    M(nri_mount, source, 3, WK_STR),
    M(nri_mount, options, 4, WK_STRS),
};
static const struct wire_table mount_table = WIRE_TABLE("Mount", struct nri_mount, mount_members);

static const struct wire_member device_members[] = {
    M(nri_device, path, 1, WK_STR),
    M(nri_device, type, 2, WK_STR),
    M(nri_device, major, 3, WK_INT),
    M(nri_device, minor, 4, WK_INT),
    M(nri_device, file_mode, 5, WK_MSG, SUB(number_table)),
};
static const struct wire_table device_table =
    WIRE_TABLE("LinuxDevice", struct nri_device, device_members);

static const struct wire_member linux_adjustment_members[] = {
    M(nri_linux_adjustment, devices, 1, WK_MSGS, SUB(device_table)),
    M(nri_linux_adjustment, resources, 2, WK_MSG, SUB(resources_table)),
};
static const struct wire_table linux_adjustment_table =
    WIRE_TABLE("LinuxContainerAdjustment", struct nri_linux_adjustment, linux_adjustment_members);

static const struct wire_member adjustment_members[] = {
    M(nri_adjustment, annotations, 2, WK_MAP),
    M(nri_adjustment, mounts, 3, WK_MSGS, SUB(mount_table)),
    M(nri_adjustment, env, 4, WK_MSGS, SUB(pair_table)),
    M(nri_adjustment, linux_adjustment, 6, WK_MSG, SUB(linux_adjustment_table)),
};
static const struct wire_table adjustment_table =
    WIRE_TABLE("ContainerAdjustment", struct nri_adjustment, adjustment_members);

static const struct wire_member linux_update_members[] = {
    M(nri_linux_update, resources, 1, WK_MSG, SUB(resources_table)),
};
static const struct wire_table linux_update_table =
    WIRE_TABLE("LinuxContainerUpdate", struct nri_linux_update, linux_update_members);

static const struct wire_member update_members[] = {
    M(nri_update, container_id, 1, WK_STR),
    M(nri_update, linux_update, 2, WK_MSG, SUB(linux_update_table)),
    M(nri_update, ignore_failure, 3, WK_BOOL),
};
static const struct wire_table update_table =
    WIRE_TABLE("ContainerUpdate", struct nri_update, update_members);

/* ---- calls ----------------------------------------------------------------------------------- */

static const struct wire_member register_request_members[] = {
    M(nri_register_request, name, 1, WK_STR),
    M(nri_register_request, index, 2, WK_STR),
};
const struct wire_table nri_register_request_table =
    WIRE_TABLE("RegisterPluginRequest", struct nri_register_request, register_request_members);

static const struct wire_member configure_request_members[] = {
    M(nri_configure_request, config, 1, WK_STR),
    M(nri_configure_request, runtime_name, 2, WK_STR),
    M(nri_configure_request, runtime_version, 3, WK_STR),
    M(nri_configure_request, registration_timeout_ms, 4, WK_INT),
    M(nri_configure_request, request_timeout_ms, 5, WK_INT),
};
const struct wire_table nri_configure_request_table =
    WIRE_TABLE("ConfigureRequest", struct nri_configure_request, configure_request_members);

static const struct wire_member configure_response_members[] = {
    M(nri_configure_response, events, 2, WK_INT),
};
const struct wire_table nri_configure_response_table =
    WIRE_TABLE("ConfigureResponse", struct nri_configure_response, configure_response_members);

static const struct wire_member synchronize_request_members[] = {
    M(nri_synchronize_request, pods, 1, WK_MSGS, SUB(pod_table)),
    M(nri_synchronize_request, containers, 2, WK_MSGS, SUB(container_table)),
    M(nri_synchronize_request, more, 3, WK_BOOL),
};
const struct wire_table nri_synchronize_request_table =
    WIRE_TABLE("SynchronizeRequest", struct nri_synchronize_request, synchronize_request_members);

static const struct wire_member synchronize_response_members[] = {
    M(nri_synchronize_response, update, 1, WK_MSGS, SUB(update_table)),
    M(nri_synchronize_response, more, 2, WK_BOOL),
};
const struct wire_table nri_synchronize_response_table = WIRE_TABLE(
    "SynchronizeResponse", struct nri_synchronize_response, synchronize_response_members);

static const struct wire_member container_request_members[] = {
    M(nri_container_request, pod, 1, WK_MSG, SUB(pod_table)),
    M(nri_container_request, container, 2, WK_MSG, SUB(container_table)),
    M(nri_container_request, resources, 3, WK_MSG, SUB(resources_table)),
};
const struct wire_table nri_container_request_table =
    WIRE_TABLE("UpdateContainerRequest", struct nri_container_request, container_request_members);

static const struct wire_member create_response_members[] = {
    M(nri_create_response, adjust, 1, WK_MSG, SUB(adjustment_table)),
};
const struct wire_table nri_create_response_table =
    WIRE_TABLE("CreateContainerResponse", struct nri_create_response, create_response_members);

static const struct wire_member update_response_members[] = {
    M(nri_update_response, update, 1, WK_MSGS, SUB(update_table)),
};
const struct wire_table nri_update_response_table =
    WIRE_TABLE("UpdateContainerResponse", struct nri_update_response, update_response_members);

static const struct wire_member state_change_members[] = {
    M(nri_state_change, event, 1, WK_INT),
    M(nri_state_change, pod, 2, WK_MSG, SUB(pod_table)),
};
const struct wire_table nri_state_change_table =
    WIRE_TABLE("StateChangeEvent", struct nri_state_change, state_change_members);
