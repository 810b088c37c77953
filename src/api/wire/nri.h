/* nri.h - messages of NRI, nri.pkg.api.v1alpha1: what a plugin reads and writes (runtime-proxy 6.5,
 * 6.6).
 *
 * As in proto/nri.proto. Fields that are not here are kept as bytes and written back
 * (wire_codec.h). Texts are borrowed from the message. An optional number is a pointer: NULL means
 * absent.
 */
#ifndef KOORD_API_WIRE_NRI_H
#define KOORD_API_WIRE_NRI_H
#include "base/wire_codec.h"

#define NRI_PLUGIN_SERVICE  "nri.pkg.api.v1alpha1.Plugin"
#define NRI_RUNTIME_SERVICE "nri.pkg.api.v1alpha1.Runtime"

struct nri_number { /* OptionalInt64, OptionalUInt64, OptionalInt, OptionalFileMode ... */
    int64_t value;
    struct str unknown;
};
struct nri_text { /* OptionalString */
    struct str value, unknown;
};

struct nri_memory {
    struct nri_number *limit;
    struct str unknown;
};
struct nri_cpu {
    struct nri_number *shares, *quota, *period;
    struct str cpus, mems, unknown;
};
struct nri_resources {
    struct nri_memory *memory;
    struct nri_cpu *cpu;
    struct nri_text *rdt_class;
    struct str unknown;
};

struct nri_linux_pod {
    struct nri_resources *resources; /* the pod's, where the runtime tells them */
    struct str cgroup_parent, cgroups_path, unknown;
};
struct nri_pod {
    struct str id, name, uid, ns;
    wire_map labels, annotations;
    struct str runtime_handler;
    struct nri_linux_pod *linux_pod;
    struct str unknown;
};
struct nri_linux_container {
    struct nri_resources *resources;
    struct nri_number *oom_score_adj;
    struct str cgroups_path, unknown;
};
enum nri_state { NRI_UNKNOWN, NRI_CREATED, NRI_PAUSED, NRI_RUNNING, NRI_STOPPED };
struct nri_container {
    struct str id, pod_id, name;
    int64_t state; /* enum nri_state */
    wire_map labels, annotations;
    wire_strings env; /* "NAME=value" */
    struct nri_linux_container *linux_container;
    int64_t created_at, started_at; /* wall clock, ns; 0: not told */
    struct str unknown;
};

struct nri_pair {
    struct str key, value, unknown;
};
struct nri_mount {
    struct str destination, type, source;
    wire_strings options;
    struct str unknown;
};
struct nri_device {
    struct str path, type;
    int64_t major, minor;
    struct nri_number *file_mode;
    struct str unknown;
};
struct nri_linux_adjustment {
    WIRE_LIST(struct nri_device) devices;
    struct nri_resources *resources;
    struct str unknown;
};
struct nri_adjustment {
    wire_map annotations;
    WIRE_LIST(struct nri_mount) mounts;
    WIRE_LIST(struct nri_pair) env;
    struct nri_linux_adjustment *linux_adjustment;
    struct str unknown;
};
struct nri_linux_update {
    struct nri_resources *resources;
    struct str unknown;
};
struct nri_update {
    struct str container_id;
    struct nri_linux_update *linux_update;
    bool ignore_failure;
    struct str unknown;
};
typedef WIRE_LIST(struct nri_update) nri_updates;

/* ---- calls ----------------------------------------------------------------------------------- */

enum nri_event {
    NRI_RUN_POD_SANDBOX = 1,
    NRI_STOP_POD_SANDBOX,
    NRI_REMOVE_POD_SANDBOX,
    NRI_CREATE_CONTAINER,
    NRI_POST_CREATE_CONTAINER,
    NRI_START_CONTAINER,
    NRI_POST_START_CONTAINER,
    NRI_UPDATE_CONTAINER,
    NRI_POST_UPDATE_CONTAINER,
    NRI_STOP_CONTAINER,
    NRI_REMOVE_CONTAINER,
    NRI_UPDATE_POD_SANDBOX,
    NRI_POST_UPDATE_POD_SANDBOX,
    NRI_VALIDATE_CONTAINER_ADJUSTMENT,
    NRI_EVENTS /* behind the last */
};
#define NRI_BIT(event) (1 << ((event)-1))

struct nri_register_request {
    struct str name, index, unknown;
};
struct nri_configure_request {
    struct str config, runtime_name, runtime_version;
    int64_t registration_timeout_ms, request_timeout_ms; /* 0: not told */
    struct str unknown;
};
struct nri_configure_response {
    int64_t events; /* mask of NRI_BIT() */
    struct str unknown;
};
struct nri_synchronize_request {
    WIRE_LIST(struct nri_pod) pods;
    WIRE_LIST(struct nri_container) containers;
    bool more;
    struct str unknown;
};
struct nri_synchronize_response {
    nri_updates update;
    bool more;
    struct str unknown;
};
struct nri_container_request { /* CreateContainer, UpdateContainer, StopContainer */
    struct nri_pod *pod;
    struct nri_container *container;
    struct nri_resources *resources; /* UpdateContainer: what is asked for */
    struct str unknown;
};
struct nri_create_response {
    struct nri_adjustment *adjust;
    struct str unknown;
};
struct nri_update_response {
    nri_updates update;
    struct str unknown;
};
struct nri_state_change {
    int64_t event;
    struct nri_pod *pod;
    struct str unknown;
};

extern const struct wire_table nri_register_request_table, nri_configure_request_table,
    nri_configure_response_table, nri_synchronize_request_table, nri_synchronize_response_table,
    nri_container_request_table, nri_create_response_table, nri_update_response_table,
    nri_state_change_table;
#endif
