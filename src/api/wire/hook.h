/* hook.h - messages of Koordinator's runtime hooks, runtime.v1alpha1 (runtime-proxy 2).
 *
 * As in proto/hook.proto. Fields that are not here are kept as bytes and written back
 * (wire_codec.h). Texts are borrowed from the message.
 */
#ifndef KOORD_API_WIRE_HOOK_H
#define KOORD_API_WIRE_HOOK_H
#include "api/wire/cri.h"

#define HOOK_SERVICE "/runtime.v1alpha1.RuntimeHookService/"

struct hook_pod_request {
    struct cri_pod_metadata *pod;
    struct str runtime_handler;
    wire_map labels, annotations;
    struct str cgroup_parent;
    struct cri_resources *overhead, *resources;
    struct str unknown;
};
struct hook_pod_response {
    wire_map labels, annotations;
    struct str cgroup_parent;
    struct cri_resources *resources;
    struct str unknown;
};
struct hook_container_metadata {
    struct str name;
    uint64_t attempt;
    struct str id, unknown;
};
struct hook_container_request {
    struct cri_pod_metadata *pod;
    struct hook_container_metadata *container;
    wire_map annotations;
    struct cri_resources *resources, *pod_resources;
    wire_map pod_annotations, pod_labels;
    struct str cgroup_parent;
    wire_map envs;
    struct str unknown;
};
struct hook_container_response {
    wire_map annotations;
    struct cri_resources *resources;
    struct str cgroup_parent;
    wire_map envs;
    struct str unknown;
};
extern const struct wire_table hook_pod_request_table, hook_pod_response_table,
    hook_container_request_table, hook_container_response_table;
#endif
