/* nodeslo.h - NodeSLO: the QoS strategies of one node, written by the manager, read by koordlet.
 *
 * The strategies are also what the ConfigMap slo-controller-config and several pod annotations
 * hold, so all of them are optional field by field: absent is not zero, and merging depends on it.
 * Defaults and merging: spec/api-config.md 1 and 2.
 */
#ifndef KOORD_API_KOORD_NODESLO_H
#define KOORD_API_KOORD_NODESLO_H
#include "api/koord/common.h"

/* ---- suppression and eviction ---------------------------------------------------------------- */

struct threshold_strategy { /* resourceUsedThresholdWithBE */
    struct opt_bool enable;
    struct opt_i64 cpu_suppress_threshold_percent, cpu_suppress_min_percent;
    const char *cpu_suppress_policy; /* "cpuset", "cfsQuota" */
    struct opt_i64 memory_evict_threshold_percent, memory_evict_lower_percent;
    struct opt_i64 memory_allocatable_evict_threshold_percent;
    struct opt_i64 memory_allocatable_evict_lower_percent;
    struct opt_i64 cpu_evict_be_satisfaction_upper_percent;
    struct opt_i64 cpu_evict_be_satisfaction_lower_percent;
    struct opt_i64 cpu_evict_be_usage_threshold_percent;
    struct opt_i64 cpu_evict_time_window_seconds;
    struct opt_i64 cpu_evict_threshold_percent, cpu_evict_lower_percent;
    struct opt_i64 cpu_allocatable_evict_threshold_percent;
    struct opt_i64 cpu_allocatable_evict_lower_percent;
    const char *cpu_evict_policy; /* "evictByRealLimit", "evictByAllocatable" */
    struct opt_i32 evict_enabled_priority_threshold, allocatable_evict_priority_threshold;
};

/* ---- per QoS class --------------------------------------------------------------------------- */

struct cpu_qos {
    struct opt_bool enable;
    struct opt_i64 group_identity, sched_idle;
    struct opt_bool core_expeller;
};
struct memory_qos {
    struct opt_bool enable;
    struct opt_i64 min_limit_percent, low_limit_percent, throttling_percent;
    struct opt_i64 wmark_ratio, wmark_scale_permill, wmark_min_adj;
    struct opt_i64 priority_enable, priority, oom_kill_group;
    struct opt_bool page_cache_enable;
    struct opt_i64 page_cache_limit_percent, page_cache_limit_size_bytes;
    struct opt_bool page_cache_reclaim_sync;
};
struct blkio_config { /* ioCfg */
    struct opt_i64 read_iops, write_iops, read_bps, write_bps;
    struct opt_i64 io_weight_percent;
    struct opt_i64 read_latency_us, write_latency_us;
    struct opt_i64 read_latency_percent, write_latency_percent;
    struct opt_bool enable_user_model;
    struct opt_i64 model_read_bps, model_write_bps;
    struct opt_i64 model_read_seq_iops, model_write_seq_iops;
    struct opt_i64 model_read_rand_iops, model_write_rand_iops;
};
struct blkio_block {
    const char *name, *type; /* type: "device", "volumegroup", "podvolume" */
    struct blkio_config io;
};
struct blkio_qos {
    struct opt_bool enable;
    KLIST(struct blkio_block) blocks;
};
struct resctrl_qos {
    struct opt_bool enable;
    struct opt_i64 cat_range_start_percent, cat_range_end_percent, mba_percent;
};
struct network_qos { /* values: whole percent of the total, or a quantity text; NULL: absent */
    struct opt_bool enable;
    struct int_or_str *ingress_request, *ingress_limit, *egress_request, *egress_limit;
};
struct resource_qos { /* one class; NULL: absent */
    struct cpu_qos *cpu;
    struct memory_qos *memory;
    struct blkio_qos *blkio;
    struct resctrl_qos *resctrl;
    struct network_qos *network;
};
struct qos_policies {
    const char *cpu_policy; /* "groupIdentity", "coreSched" */
    const char *net_policy; /* "tc", "terway-qos" */
};
struct resource_qos_strategy {
    struct qos_policies *policies;
    struct resource_qos *lsr, *ls, *be, *system, *cgroup_root;
};

/* ---- the rest -------------------------------------------------------------------------------- */

struct cpu_burst_config {
    const char *policy; /* "none", "cpuBurstOnly", "cfsQuotaBurstOnly", "auto" */
    struct opt_i64 cpu_burst_percent, cfs_quota_burst_percent, cfs_quota_burst_period_seconds;
};
struct cpu_burst_strategy {
    struct cpu_burst_config config; /* its fields stand in the same JSON object */
    struct opt_i64 share_pool_threshold_percent;
};

struct sched_feature {
    const char *name;
    bool on;
};
struct system_strategy {
    struct opt_i64 min_free_kbytes_factor, watermark_scale_factor, memcg_reap_background;
    struct opt_i64 sched_group_identity_enabled, sched_idle_saver_wmark_ns;
    KLIST(struct sched_feature) sched_features;
    struct opt_i64 page_cache_limit_enabled;
    struct qty total_network_bandwidth; /* bits a second; always written, "0" when unset */
};

struct cgroup_path {
    const char *base; /* "CgroupRoot", "Kubepods", "KubepodsBurstable", "KubepodsBesteffort" */
    const char *parent_dir, *relative_path;
};
struct host_application {
    const char *name, *priority, *qos;
    struct cgroup_path *cgroup_path;
    struct empty_object *strategy;
};
typedef KLIST(struct host_application) host_applicationlist;

struct nodeslo_spec { /* NULL: absent, which counts as the default */
    struct threshold_strategy *threshold;
    struct resource_qos_strategy *resource_qos;
    struct cpu_burst_strategy *cpu_burst;
    struct system_strategy *system;
    host_applicationlist host_applications;
    const char *extensions; /* JSON: third-party blobs under the key "Object" */
};
struct nodeslo {
    struct kobj obj;
    struct nodeslo_spec spec;
    struct empty_object status;
};

extern const struct kschema threshold_strategy_schema, cpu_qos_schema, memory_qos_schema,
    blkio_block_schema, blkio_qos_schema, resctrl_qos_schema, network_qos_schema,
    resource_qos_strategy_schema, cpu_burst_config_schema, cpu_burst_strategy_schema,
    system_strategy_schema, host_application_schema, nodeslo_spec_schema;
/* What holds where nothing is configured: the manager writes it, koordlet falls back to it. The
 * per-class strategies have no such default in the manager. */
extern const struct threshold_strategy threshold_strategy_default;
extern const struct cpu_burst_strategy cpu_burst_strategy_default;
extern const struct system_strategy system_strategy_default;
extern const struct kschema nodeslo_schema;
extern const struct kind kind_nodeslo;
extern const struct kind_crd crd_nodeslo;

/* Does the strategy make koordlet evict pods by the node's memory or CPU usage? Then ret_lower is
 * the percentage at which it stops; it begins at memory_evict_threshold_percent, or
 * cpu_evict_threshold_percent. -EINVAL: it does not, and why. by_priority: not only best-effort
 * pods, which the strategy for CPU is always. Whether it is enabled at all is not looked at. */
int threshold_memory_eviction(const struct threshold_strategy *s, bool by_priority,
                              int64_t *ret_lower, struct kerr *err);
int threshold_cpu_eviction(const struct threshold_strategy *s, int64_t *ret_lower,
                           struct kerr *err);

static inline const struct nodeslo *nodeslo_of(const struct kobj *o)
{
    return container_of(o, const struct nodeslo, obj);
}
#endif
