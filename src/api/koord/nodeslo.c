/* nodeslo.c - tables of NodeSLO but the per-class strategies (api-crds 2). */
#include "api/koord/nodeslo.h"

#define I64(member, json, text) F(member, json, KF_OPT_I64, OMIT, DOC(text))
#define I64_MIN(member, json, low, text) \
    F(member, json, KF_OPT_I64, OMIT, META(.min = KF_INT(low), .description = text))
#define PERCENT(member, json, text)   \
    F(member, json, KF_OPT_I64, OMIT, \
      META(.min = KF_INT(0), .max = KF_INT(100), .description = text))

#define F(member, json, type, ...) KF(struct threshold_strategy, member, json, type, __VA_ARGS__)
static const struct kfield threshold_fields[] = {
    F(enable, "enable", KF_OPT_BOOL, OMIT, DOC("switch of all suppression and eviction")),
    PERCENT(cpu_suppress_threshold_percent, "cpuSuppressThresholdPercent",
            "node CPU use above which best-effort CPUs are taken away"),
    PERCENT(cpu_suppress_min_percent, "cpuSuppressMinPercent", "CPUs that best-effort pods keep"),
    F(cpu_suppress_policy, "cpuSuppressPolicy", KF_STR, OMIT_STR, DOC("cpuset or cfsQuota")),
    PERCENT(memory_evict_threshold_percent, "memoryEvictThresholdPercent",
            "node memory use that starts eviction"),
    PERCENT(memory_evict_lower_percent, "memoryEvictLowerPercent",
            "node memory use to come down to; absent: 2 below the threshold"),
    I64_MIN(memory_allocatable_evict_threshold_percent, "memoryAllocatableEvictThresholdPercent", 0,
            "memory requests in percent of allocatable that start eviction"),
    I64_MIN(memory_allocatable_evict_lower_percent, "memoryAllocatableEvictLowerPercent", 0,
            "memory requests in percent of allocatable to come down to"),
    I64(cpu_evict_be_satisfaction_upper_percent, "cpuEvictBESatisfactionUpperPercent",
        "best-effort limit over request above which eviction stops"),
    I64(cpu_evict_be_satisfaction_lower_percent, "cpuEvictBESatisfactionLowerPercent",
        "best-effort limit over request below which eviction starts"),
    I64(cpu_evict_be_usage_threshold_percent, "cpuEvictBEUsageThresholdPercent",
        "best-effort use over limit needed for eviction"),
    I64(cpu_evict_time_window_seconds, "cpuEvictTimeWindowSeconds",
        "window over which CPU eviction averages"),
    PERCENT(cpu_evict_threshold_percent, "cpuEvictThresholdPercent",
            "node CPU use that starts eviction"),
    PERCENT(cpu_evict_lower_percent, "cpuEvictLowerPercent",
            "node CPU use to come down to; absent: 2 below the threshold"),
    I64_MIN(cpu_allocatable_evict_threshold_percent, "cpuAllocatableEvictThresholdPercent", 0,
            "CPU requests in percent of allocatable that start eviction"),
    I64_MIN(cpu_allocatable_evict_lower_percent, "cpuAllocatableEvictLowerPercent", 0,
            "CPU requests in percent of allocatable to come down to"),
    F(cpu_evict_policy, "cpuEvictPolicy", KF_STR, OMIT_STR,
      DOC("evictByRealLimit or evictByAllocatable")),
    F(evict_enabled_priority_threshold, "evictEnabledPriorityThreshold", KF_OPT_I32, OMIT,
      DOC("highest pod priority that may be evicted for node use")),
    F(allocatable_evict_priority_threshold, "allocatableEvictPriorityThreshold", KF_OPT_I32, OMIT,
      DOC("highest pod priority that may be evicted for requests over allocatable")),
};
#undef F
const struct kschema threshold_strategy_schema =
    KSCHEMA("ResourceThresholdStrategy", struct threshold_strategy, threshold_fields);

/* ---- CPU burst ------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct cpu_burst_config, member, json, type, __VA_ARGS__)
static const struct kfield cpu_burst_config_fields[] = {
    F(policy, "policy", KF_STR, OMIT_STR, DOC("none, cpuBurstOnly, cfsQuotaBurstOnly or auto")),
    F(cpu_burst_percent, "cpuBurstPercent", KF_OPT_I64, OMIT,
      META(.min = KF_INT(0), .max = KF_INT(10000),
           .description = "cfs burst as percent of the CPU limit")),
    I64(cfs_quota_burst_percent, "cfsQuotaBurstPercent",
        "greatest scaled quota as percent of the base quota"),
    I64(cfs_quota_burst_period_seconds, "cfsQuotaBurstPeriodSeconds",
        "how long a quota may stay scaled; -1 is for ever"),
};
#undef F
const struct kschema cpu_burst_config_schema =
    KSCHEMA("CPUBurstConfig", struct cpu_burst_config, cpu_burst_config_fields);

#define F(member, json, type, ...) KF(struct cpu_burst_strategy, member, json, type, __VA_ARGS__)
static const struct kfield cpu_burst_strategy_fields[] = {
    F(config, "", KF_OBJ, .flags = KF_INLINE, .sub = &cpu_burst_config_schema),
    I64(share_pool_threshold_percent, "sharePoolThresholdPercent",
        "use of the share pool above which quotas are scaled down"),
};
#undef F
const struct kschema cpu_burst_strategy_schema =
    KSCHEMA("CPUBurstStrategy", struct cpu_burst_strategy, cpu_burst_strategy_fields);

/* ---- system ---------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct system_strategy, member, json, type, __VA_ARGS__)
static const struct kfield system_strategy_fields[] = {
    I64(min_free_kbytes_factor, "minFreeKbytesFactor",
        "vm.min_free_kbytes in ten thousandths of the memory"),
    I64(watermark_scale_factor, "watermarkScaleFactor", "vm.watermark_scale_factor"),
    I64(memcg_reap_background, "memcgReapBackGround", "1: reap dead memory groups"),
    I64(sched_group_identity_enabled, "schedGroupIdentityEnabled",
        "kernel.sched_group_identity_enabled"),
    I64(sched_idle_saver_wmark_ns, "schedIdleSaverWmark", "kernel.sched_idle_saver_wmark"),
    KF_MAP_OF(struct system_strategy, sched_features, "schedFeatures", KF_BOOL, OMIT,
              DOC("scheduler features to turn on or off")),
    I64(page_cache_limit_enabled, "pageCacheLimitEnabled", "1: allow page cache limits"),
    F(total_network_bandwidth, "totalNetworkBandwidth", KF_QTY, .flags = 0,
      DOC("bandwidth of the node's network, in the unit of networkQOS")),
};
#undef F
const struct kschema system_strategy_schema =
    KSCHEMA("SystemStrategy", struct system_strategy, system_strategy_fields);

/* ---- host applications ----------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct cgroup_path, member, json, type, __VA_ARGS__)
static const struct kfield cgroup_path_fields[] = {
    F(base, "base", KF_STR, OMIT_STR,
      DOC("CgroupRoot, Kubepods, KubepodsBurstable or KubepodsBesteffort")),
    F(parent_dir, "parentDir", KF_STR, OMIT_STR, DOC("directory under the base")),
    F(relative_path, "relativePath", KF_STR, OMIT_STR, DOC("directory under parentDir")),
};
#undef F
static const struct kschema cgroup_path_schema =
    KSCHEMA("CgroupPath", struct cgroup_path, cgroup_path_fields);

#define F(member, json, type, ...) KF(struct host_application, member, json, type, __VA_ARGS__)
static const struct kfield host_application_fields[] = {
    F(name, "name", KF_STR, OMIT_STR, DOC("name of the application")),
    F(priority, "priority", KF_STR, OMIT_STR, DOC("priority class")),
    F(qos, "qos", KF_STR, OMIT_STR, DOC("QoS class")),
    F(cgroup_path, "cgroupPath", KF_OBJ, OMIT_PTR, .sub = &cgroup_path_schema,
      DOC("where its processes live")),
    F(strategy, "strategy", KF_OBJ, OMIT_PTR, .sub = &empty_object_schema,
      DOC("reserved for strategies of its own")),
};
#undef F
const struct kschema host_application_schema =
    KSCHEMA("HostApplicationSpec", struct host_application, host_application_fields);

/* ---- defaults (api-config 2) ----------------------------------------------------------------- */

const struct threshold_strategy threshold_strategy_default = {
    .enable = KF_INT(false),
    .cpu_suppress_threshold_percent = KF_INT(65),
    .cpu_suppress_policy = "cpuset",
    .memory_evict_threshold_percent = KF_INT(70),
    .cpu_evict_policy = "evictByRealLimit",
};
const struct cpu_burst_strategy cpu_burst_strategy_default = {
    .config = { .policy = "none",
                .cpu_burst_percent = KF_INT(1000),
                .cfs_quota_burst_percent = KF_INT(300),
                .cfs_quota_burst_period_seconds = KF_INT(-1) },
    .share_pool_threshold_percent = KF_INT(50),
};
const struct system_strategy system_strategy_default = { 0 };

/* ---- the kind -------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct nodeslo_spec, member, json, type, __VA_ARGS__)
static const struct kfield nodeslo_spec_fields[] = {
    F(threshold, "resourceUsedThresholdWithBE", KF_OBJ, OMIT_PTR, .sub = &threshold_strategy_schema,
      DOC("suppression and eviction of best-effort pods")),
    F(resource_qos, "resourceQOSStrategy", KF_OBJ, OMIT_PTR, .sub = &resource_qos_strategy_schema,
      DOC("QoS settings per class")),
    F(cpu_burst, "cpuBurstStrategy", KF_OBJ, OMIT_PTR, .sub = &cpu_burst_strategy_schema,
      DOC("letting pods exceed their CPU limit for a while")),
    F(system, "systemStrategy", KF_OBJ, OMIT_PTR, .sub = &system_strategy_schema,
      DOC("settings of the whole system")),
    KF_LIST_OF(struct nodeslo_spec, host_applications, "hostApplications", KF_OBJ, OMIT,
               .sub = &host_application_schema, DOC("processes outside of Kubernetes to manage")),
    F(extensions, "extensions", KF_RAW, OMIT,
      META(.raw_object = true, .description = "strategies of third parties")),
};
#undef F
const struct kschema nodeslo_spec_schema =
    KSCHEMA("NodeSLOSpec", struct nodeslo_spec, nodeslo_spec_fields);

static const struct kfield nodeslo_fields[] = {
    F_METADATA(struct nodeslo),
    KF(struct nodeslo, spec, "spec", KF_OBJ, OMIT, .sub = &nodeslo_spec_schema,
       DOC("strategies of the node")),
    KF(struct nodeslo, status, "status", KF_OBJ, OMIT, .sub = &empty_object_schema,
       DOC("nothing yet")),
};
const struct kschema nodeslo_schema = KSCHEMA("NodeSLO", struct nodeslo, nodeslo_fields);

const struct kind kind_nodeslo = {
    .group = "slo.koordinator.sh",
    .version = "v1alpha1",
    .kind = "NodeSLO",
    .plural = "nodeslos",
    .has_status = true,
    .schema = &nodeslo_schema,
};
const struct kind_crd crd_nodeslo = {
    .versions = { { &kind_nodeslo, true } },
    .generator = CONTROLLER_GEN,
    .description = "NodeSLO holds the QoS strategies of one node.",
};
