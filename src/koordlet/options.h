/* options.h - flags and feature gates of koordlet, under upstream's names (koordlet-metrics 1.4,
 * 1.6). */
#ifndef KOORD_KOORDLET_OPTIONS_H
#define KOORD_KOORDLET_OPTIONS_H
#include "component/flags.h"
#include "component/gates.h"
#include "component/options.h"
#include "koordlet/kernel/host.h"

enum koordlet_gate {
    GATE_AUDIT_EVENTS,
    GATE_AUDIT_EVENTS_HTTP,
    GATE_BE_CPU_SUPPRESS,
    GATE_BE_CPU_MANAGER,
    GATE_BE_CPU_EVICT,
    GATE_BE_MEMORY_EVICT,
    GATE_CPU_EVICT,
    GATE_MEMORY_EVICT,
    GATE_CPU_ALLOCATABLE_EVICT,
    GATE_MEMORY_ALLOCATABLE_EVICT,
    GATE_CPU_BURST,
    GATE_SYSTEM_CONFIG,
    GATE_RDT_RESCTRL,
    GATE_NODE_TOPOLOGY_REPORT,
    GATE_ACCELERATORS,
    GATE_RDMA_DEVICES,
    GATE_CPI_COLLECTOR,
    GATE_LIBPFM4,
    GATE_PSI_COLLECTOR,
    GATE_BLKIO_RECONCILE,
    GATE_COLD_PAGE_COLLECTOR,
    GATE_HUGE_PAGE_REPORT,
    GATE_POD_RESOURCES_PROXY,
    GATE_HAMI_CORE_VGPU_MONITOR,
    GATE_PER_CPU_METRIC,
    GATE_NODE_METRIC_PROM,
    GATE_RESCTRL_COLLECTOR,
    GATE_CGROUP_RECONCILE,
    /* Of the runtime hooks. */
    GATE_GROUP_IDENTITY,
    GATE_CPU_SET_ALLOCATOR,
    GATE_BATCH_RESOURCE,
    GATE_GPU_ENV_INJECT,
    GATE_RDMA_DEVICE_INJECT,
    GATE_CPU_NORMALIZATION,
    GATE_CORE_SCHED,
    GATE_TERWAY_QOS,
    GATE_TC_NETWORK_QOS,
    GATE_RESCTRL,
    GATE_OOM_SCORE_ADJ,
    /* Our own. */
    GATE_INTERFERENCE_GUARD,
    GATE_MEMORY_RECLAIM,
    KOORDLET_GATES
};
extern const struct gate koordlet_gates[KOORDLET_GATES];

struct collect_options {
    nsec_t interval;          /* collect-res-used-interval */
    nsec_t sys_outdated;      /* collect-sys-metric-outdated-interval */
    nsec_t node_cpu_info;     /* collect-node-cpu-info-interval */
    nsec_t node_storage_info; /* collect-node-storage-info-interval */
    nsec_t cpi, cpi_window, psi, cold_page, resctrl;
    bool resctrl_on, page_cache_on;
};
struct predict_options {
    const char *checkpoint_dir;
    nsec_t cold_start, memory_half_life, cpu_half_life, training, expiration, checkpoint;
    int64_t margin_percent, checkpoint_max_per_step;
};
struct audit_options {
    const char *dir;
    int64_t verbose, max_disk_mb, max_readers, max_events;
};
struct acting_options {
    /* Intervals and cool-downs in seconds, as the flags have them; an interval of 0 and less
     * switches off. */
    int64_t cpu_suppress, cpu_evict, cpu_evict_cool, memory_evict, memory_evict_cool, reconcile;
    bool only_evict_by_api;
    const char *containerd_endpoint, *docker_endpoint, *pouch_endpoint;
};
struct executor_options {
    int64_t force_update_seconds; /* resource-force-update-seconds */
    bool dry_run;
};
struct hooks_options {
    nsec_t reconcile_interval;         /* runtime-hooks-reconcile-interval */
    bool keep_quota;                   /* disable-unset-cpu-quota */
    const char *hami_library;          /* hami-core-library-directory-path */
    const char *default_runtime;       /* default-runtime-type */
    const char *plugin_failure_policy; /* "Fail", "Ignore": of a plugin, in both modes below */
    struct flag_list disable_stages;
    /* For koord-runtime-proxy. */
    const char *network, *addr; /* "": no server */
    const char *failure_policy; /* what the proxy does when we do not answer */
    const char *config_dir, *host_endpoint;
    /* As a plugin of NRI. */
    bool nri;
    const char *nri_socket, *nri_name, *nri_index;
    nsec_t nri_connect_timeout, nri_backoff, nri_backoff_cap;
    double nri_backoff_factor, nri_backoff_jitter;
    int64_t nri_backoff_steps;
};
struct koordlet_options {
    const char *addr;      /* ":9316" */
    const char *node_name; /* from NODE_NAME */
    struct host_roots roots;
    struct gates gates;
    struct client_options client;
    struct debug_options debug;
    struct collect_options collect;
    struct predict_options predict;
    struct audit_options audit;
    struct acting_options acting;
    struct executor_options executor;
    struct hooks_options hooks;
    const char *kubelet_address_type;
    nsec_t kubelet_sync_interval, kubelet_sync_timeout;
    bool kubelet_insecure_tls, disable_kubelet_config;
    bool no_kubelet; /* koordctl up: pods come from the API server, and none has a cgroup */
    int kubelet_read_only_port;
    nsec_t topology_interval; /* node-topology-sync-interval */
    bool report_metric;
    bool xpu_only_from_files; /* xpu-enforce-collect-from-device-infos */
    const char *xpu_dir, *pod_resources_proxy_dir;
    bool check;   /* --check: say what this node can do, and end */
    bool plan;    /* --plan: say what the running agent writes and why, and end */
    bool restore; /* --restore: put back what the kubelet wrote, and end */
};
struct flags;
/* Everything above but node_name. */
void koordlet_options_add(struct flags *f, void *options); /* struct koordlet_options */
/* Flags that contradict each other. */
int koordlet_options_check(const struct koordlet_options *o, struct kerr *err);
#endif
