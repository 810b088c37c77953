/* cri.h - messages of CRI, runtime.v1: the fields that a proxy reads and changes
 * (runtime-proxy 5.3).
 *
 * As in proto/cri.proto. Fields that are not here are kept as bytes and written back
 * (wire_codec.h). Texts are borrowed from the message.
 */
#ifndef KOORD_API_WIRE_CRI_H
#define KOORD_API_WIRE_CRI_H
#include "base/wire_codec.h"

#define CRI_RUNTIME_SERVICE "/runtime.v1.RuntimeService/"

struct cri_hugepage {
    struct str page_size;
    uint64_t limit;
    struct str unknown;
};
struct cri_resources { /* LinuxContainerResources, of CRI and of the hooks */
    int64_t cpu_period, cpu_quota, cpu_shares, memory_limit, oom_score_adj;
    struct str cpuset_cpus, cpuset_mems;
    WIRE_LIST(struct cri_hugepage) hugepage_limits;
    wire_map unified;
    int64_t memory_swap_limit;
    struct str unknown;
};
extern const struct wire_table cri_resources_table;

struct cri_pod_metadata { /* PodSandboxMetadata, of CRI and of the hooks */
    struct str name, uid, ns;
    uint64_t attempt;
    struct str unknown;
};
extern const struct wire_table cri_pod_metadata_table;

struct cri_linux_pod { /* LinuxPodSandboxConfig */
    struct str cgroup_parent;
    struct cri_resources *overhead, *resources;
    struct str unknown;
};
struct cri_pod_config { /* PodSandboxConfig */
    struct cri_pod_metadata *metadata;
    wire_map labels, annotations;
    struct cri_linux_pod *linux_pod;
    struct str unknown;
};
struct cri_run_pod_request {
    struct cri_pod_config *config;
    struct str runtime_handler, unknown;
};
struct cri_id { /* requests and answers whose first field is an ID */
    struct str id, unknown;
};
extern const struct wire_table cri_run_pod_request_table, cri_id_table;

struct cri_container_metadata {
    struct str name;
    uint64_t attempt;
    struct str unknown;
};
struct cri_env { /* KeyValue */
    struct str key, value, unknown;
};
struct cri_linux_container { /* LinuxContainerConfig */
    struct cri_resources *resources;
    struct str unknown;
};
struct cri_container_config {
    struct cri_container_metadata *metadata;
    WIRE_LIST(struct cri_env) envs;
    wire_map labels, annotations;
    struct cri_linux_container *linux_container;
    struct str unknown;
};
struct cri_create_request {
    struct str pod_id;
    struct cri_container_config *config;
    struct cri_pod_config *pod_config;
    struct str unknown;
};
struct cri_update_request {
    struct str container_id;
    struct cri_resources *resources;
    wire_map annotations;
    struct str unknown;
};
extern const struct wire_table cri_create_request_table, cri_update_request_table;

/* ---- what a runtime has ---------------------------------------------------------------------- */

struct cri_pod {
    struct str id;
    struct cri_pod_metadata *metadata;
    int64_t state;
    wire_map labels, annotations;
    struct str runtime_handler, unknown;
};
struct cri_pod_list {
    WIRE_LIST(struct cri_pod) items;
    struct str unknown;
};
struct cri_container {
    struct str id, pod_id;
    struct cri_container_metadata *metadata;
    int64_t state;
    wire_map labels, annotations;
    struct str unknown;
};
struct cri_container_list {
    WIRE_LIST(struct cri_container) items;
    struct str unknown;
};
struct cri_status_request { /* PodSandboxStatus, ContainerStatus */
    struct str id;
    bool verbose;
    struct str unknown;
};
struct cri_container_resources { /* ContainerResources */
    struct cri_resources *linux_resources;
    struct str unknown;
};
struct cri_container_status {
    struct str id;
    struct cri_container_resources *resources;
    struct str unknown;
};
struct cri_container_status_response {
    struct cri_container_status *status;
    wire_map info;
    struct str unknown;
};
struct cri_pod_status_response {
    wire_map info; /* with verbose: "info" is a JSON document of the runtime's own */
    struct str unknown;
};
struct cri_version {
    struct str version, runtime_name, runtime_version, runtime_api_version, unknown;
};
extern const struct wire_table cri_pod_list_table, cri_container_list_table,
    cri_status_request_table, cri_container_status_response_table, cri_pod_status_response_table,
    cri_version_table;
#endif
