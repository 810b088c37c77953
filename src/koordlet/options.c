/* options.c - the flags of koordlet and its feature gates. */
#include "koordlet/options.h"

#include "component/flags.h"

const struct gate koordlet_gates[KOORDLET_GATES] = {
    [GATE_AUDIT_EVENTS] = { "AuditEvents", false, GATE_ALPHA },
    [GATE_AUDIT_EVENTS_HTTP] = { "AuditEventsHTTPHandler", false, GATE_ALPHA },
    [GATE_BE_CPU_SUPPRESS] = { "BECPUSuppress", true, GATE_BETA },
    [GATE_BE_CPU_MANAGER] = { "BECPUManager", false, GATE_ALPHA },
    [GATE_BE_CPU_EVICT] = { "BECPUEvict", false, GATE_ALPHA },
    [GATE_BE_MEMORY_EVICT] = { "BEMemoryEvict", false, GATE_ALPHA },
    [GATE_CPU_EVICT] = { "CPUEvict", false, GATE_ALPHA },
    [GATE_MEMORY_EVICT] = { "MemoryEvict", false, GATE_ALPHA },
    [GATE_CPU_ALLOCATABLE_EVICT] = { "CPUAllocatableEvict", false, GATE_ALPHA },
    [GATE_MEMORY_ALLOCATABLE_EVICT] = { "MemoryAllocatableEvict", false, GATE_ALPHA },
    [GATE_CPU_BURST] = { "CPUBurst", true, GATE_BETA },
    [GATE_SYSTEM_CONFIG] = { "SystemConfig", false, GATE_ALPHA },
    [GATE_RDT_RESCTRL] = { "RdtResctrl", true, GATE_BETA },
    [GATE_NODE_TOPOLOGY_REPORT] = { "NodeTopologyReport", true, GATE_BETA },
    [GATE_ACCELERATORS] = { "Accelerators", false, GATE_ALPHA },
    [GATE_RDMA_DEVICES] = { "RDMADevices", false, GATE_ALPHA },
    [GATE_CPI_COLLECTOR] = { "CPICollector", false, GATE_ALPHA },
    [GATE_LIBPFM4] = { "Libpfm4", false, GATE_ALPHA },
    [GATE_PSI_COLLECTOR] = { "PSICollector", false, GATE_ALPHA },
    [GATE_BLKIO_RECONCILE] = { "BlkIOReconcile", false, GATE_ALPHA },
    [GATE_COLD_PAGE_COLLECTOR] = { "ColdPageCollector", false, GATE_ALPHA },
    [GATE_HUGE_PAGE_REPORT] = { "HugePageReport", false, GATE_ALPHA },
    [GATE_POD_RESOURCES_PROXY] = { "PodResourcesProxy", false, GATE_ALPHA },
    [GATE_HAMI_CORE_VGPU_MONITOR] = { "HamiCoreVGPUMonitor", false, GATE_ALPHA },
    [GATE_PER_CPU_METRIC] = { "PerCPUMetric", false, GATE_ALPHA },
    [GATE_NODE_METRIC_PROM] = { "NodeMetricPromMetrics", false, GATE_ALPHA },
    [GATE_RESCTRL_COLLECTOR] = { "ResctrlCollector", false, GATE_ALPHA },
    [GATE_CGROUP_RECONCILE] = { "CgroupReconcile", false, GATE_ALPHA },
    [GATE_GROUP_IDENTITY] = { "GroupIdentity", true, GATE_BETA },
    [GATE_CPU_SET_ALLOCATOR] = { "CPUSetAllocator", true, GATE_BETA },
    [GATE_BATCH_RESOURCE] = { "BatchResource", true, GATE_BETA },
    [GATE_GPU_ENV_INJECT] = { "GPUEnvInject", false, GATE_ALPHA },
    [GATE_RDMA_DEVICE_INJECT] = { "RDMADeviceInject", false, GATE_ALPHA },
    [GATE_CPU_NORMALIZATION] = { "CPUNormalization", false, GATE_ALPHA },
    [GATE_CORE_SCHED] = { "CoreSched", false, GATE_ALPHA },
    [GATE_TERWAY_QOS] = { "TerwayQoS", false, GATE_ALPHA },
    [GATE_TC_NETWORK_QOS] = { "TCNetworkQoS", false, GATE_ALPHA },
    [GATE_RESCTRL] = { "Resctrl", false, GATE_ALPHA },
    [GATE_OOM_SCORE_ADJ] = { "OOMScoreAdj", false, GATE_ALPHA },
    [GATE_INTERFERENCE_GUARD] = { "InterferenceGuard", false, GATE_ALPHA },
    [GATE_MEMORY_RECLAIM] = { "MemoryReclaim", false, GATE_ALPHA },
};

/* ---- the observing half ---------------------------------------------------------------------- */

#define O(member) .off = offsetof(struct koordlet_options, member)
static const struct flag general[] = {
    { "addr", FLAG_STR, O(addr), .def = ":9316",
      .help = "`address` for metrics, health and audit events" },
    { "check", FLAG_BOOL, O(check),
      .help = "list what this node's kernel and hardware support and which features are off "
              "for lack of it, and exit" },
    { "plan", FLAG_BOOL, O(plan),
      .help = "ask the koordlet that runs at --addr which kernel files it owns, their values and "
              "the terms behind them, and exit" },
    { "restore", FLAG_BOOL, O(restore),
      .help = "put back what the kubelet wrote for the pods of this node, and exit; the agent must "
              "not run meanwhile" },
    { "feature-gates", FLAG_CUSTOM, O(gates), .set = gates_set, .lines = gates_usage,
      .help = "`Name=true,...` switches features:" },
    { "enable-node-metric-report", FLAG_BOOL, O(report_metric), .def = "true",
      .help = "report NodeMetric" },
    { "enable-pod-taskids", FLAG_BOOL, FLAG_IGNORED,
      .deprecated = "task IDs are read whenever somebody asks for them" },
    { "configmap-name", FLAG_STR, FLAG_IGNORED, .def = "koordlet-config" },
    { "configmap-namespace", FLAG_STR, FLAG_IGNORED, .def = "koordinator-system" },
    { "report-interval", FLAG_DUR, FLAG_IGNORED,
      .deprecated = "the interval is in NodeMetric's spec" },
    { "enable-pprof", FLAG_BOOL, FLAG_IGNORED, .deprecated = "there is no Go runtime to profile" },
    { "pprof-addr", FLAG_STR, FLAG_IGNORED, .deprecated = "there is no Go runtime to profile" },
};

static const struct flag roots[] = {
    { "cgroup-root-dir", FLAG_STR, O(roots.cgroup), .help = "`directory` of the cgroups" },
    { "proc-root-dir", FLAG_STR, O(roots.proc), .help = "`directory` of procfs" },
    { "sys-root-dir", FLAG_STR, O(roots.sys), .help = "`directory` of sysfs" },
    { "sys-fs-root-dir", FLAG_STR, O(roots.sys_fs), .help = "`directory` with resctrl in it" },
    { "var-run-root-dir", FLAG_STR, O(roots.var_run), .help = "`directory` of sockets" },
    { "run-root-dir", FLAG_STR, O(roots.run), .help = "`directory` of sockets" },
    { "var-lib-kubelet-dir", FLAG_STR, O(roots.var_lib_kubelet),
      .help = "`directory` of the kubelet" },
};

static const struct flag kubelet[] = {
    { "kubelet-preferred-address-type", FLAG_STR, O(kubelet_address_type), .def = "InternalIP",
      .help = "which of the node's addresses the kubelet is asked at" },
    { "kubelet-sync-interval", FLAG_DUR, O(kubelet_sync_interval), .def = "10s",
      .help = "time between two lists of pods; 0 and less: none" },
    { "kubelet-sync-timeout", FLAG_DUR, O(kubelet_sync_timeout), .def = "3s",
      .help = "longest wait for an answer" },
    { "kubelet-insecure-tls", FLAG_BOOL, O(kubelet_insecure_tls),
      .help = "plain HTTP on the read-only port" },
    { "kubelet-read-only-port", FLAG_INT, O(kubelet_read_only_port), .def = "10255", .max = 65535,
      .help = "`port` for --kubelet-insecure-tls" },
    { "disable-query-kubelet-config", FLAG_BOOL, O(disable_kubelet_config),
      .help = "do not ask for /configz" },
    { "node-topology-sync-interval", FLAG_DUR, O(topology_interval), .def = "3s",
      .help = "time between two looks at topology and devices; 0 and less: none" },
};

static const struct flag collecting[] = {
    { "collect-res-used-interval", FLAG_DUR, O(collect.interval), .def = "1s",
      .help = "time between two readings of node and pods" },
    { "collect-sys-metric-outdated-interval", FLAG_DUR, O(collect.sys_outdated), .def = "10s",
      .help = "older readings do not count for what the system itself uses" },
    { "collect-node-cpu-info-interval", FLAG_DUR, O(collect.node_cpu_info), .def = "60s",
      .help = "time between two looks at CPUs and NUMA nodes" },
    { "collect-node-storage-info-interval", FLAG_DUR, O(collect.node_storage_info), .def = "1s",
      .help = "time between two looks at the disks" },
    { "cpi-collector-interval", FLAG_DUR, O(collect.cpi), .def = "60s",
      .help = "time between two measurements of cycles per instruction" },
    { "collect-cpi-timewindow", FLAG_DUR, O(collect.cpi_window), .def = "10s",
      .help = "how long one of them takes" },
    { "psi-collector-interval", FLAG_DUR, O(collect.psi), .def = "10s",
      .help = "time between two readings of pressure" },
    { "coldpage-collector-interval", FLAG_DUR, O(collect.cold_page), .def = "5s",
      .help = "time between two readings of cold memory" },
    { "resctrl-collector-interval", FLAG_DUR, O(collect.resctrl), .def = "10s",
      .help = "time between two readings of resctrl's monitors" },
    { "enable-resctrl-collector", FLAG_BOOL, O(collect.resctrl_on),
      .help = "read resctrl's monitors, with the gate ResctrlCollector" },
    { "enable-pagecache-collector", FLAG_BOOL, O(collect.page_cache_on),
      .help = "collect memory with page cache too" },
    { "xpu-device-infos-dir", FLAG_STR, O(xpu_dir), .def = "/var/run/koordlet/xpu-device-infos/",
      .help = "`directory` with the devices that other agents describe" },
    { "xpu-enforce-collect-from-device-infos", FLAG_BOOL, O(xpu_only_from_files),
      .help = "GPUs come from that directory only" },
    { "pod-resources-proxy-path", FLAG_STR, O(pod_resources_proxy_dir),
      .def = "/var/run/koordlet/pod-resources",
      .help = "`directory` of the socket of the pod-resources proxy" },
};

#define TSDB "samples are kept in memory, as many as the collect policy asks for"
static const struct flag tsdb[] = {
    { "tsdb-path", FLAG_STR, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-retention-duration", FLAG_DUR, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-enable-prometheus-metric", FLAG_BOOL, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-stripe-size", FLAG_I64, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-max-bytes", FLAG_I64, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-wal-segment-size", FLAG_I64, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-max-block-chunk-segment-size", FLAG_I64, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-min-block-duration", FLAG_DUR, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-max-block-duration", FLAG_DUR, FLAG_IGNORED, .deprecated = TSDB },
    { "tsdb-head-chunks-write-buffer-size", FLAG_I64, FLAG_IGNORED, .deprecated = TSDB },
    { "metric-gc-interval-seconds", FLAG_I64, FLAG_IGNORED },
    { "metric-expire-seconds", FLAG_I64, FLAG_IGNORED },
};

static const struct flag prediction[] = {
    { "prediction-checkpoint-filepath", FLAG_STR, O(predict.checkpoint_dir),
      .def = "/prediction-checkpoints", .help = "`directory` of the models on disk" },
    { "prediction-cold-start-duration", FLAG_DUR, O(predict.cold_start), .def = "24h",
      .help = "younger pods count as what they asked for" },
    { "prediction-safety-margin-percent", FLAG_I64, O(predict.margin_percent), .def = "10",
      .max = 10000, .help = "on top of each prediction" },
    { "prediction-memory-histogram-decay-halflife", FLAG_DUR, O(predict.memory_half_life),
      .def = "24h", .help = "after this time a sample counts half" },
    { "prediction-cpu-histogram-decay-halflife", FLAG_DUR, O(predict.cpu_half_life), .def = "12h",
      .help = "after this time a sample counts half" },
    { "prediction-training-interval", FLAG_DUR, O(predict.training), .def = "1m",
      .help = "time between two samples of a model" },
    { "prediction-model-expiration-duration", FLAG_DUR, O(predict.expiration), .def = "30m",
      .help = "models without a sample for longer are dropped" },
    { "prediction-model-checkpoint-interval", FLAG_DUR, O(predict.checkpoint), .def = "10m",
      .help = "a model is written no sooner again" },
    { "prediction-model-checkpoint-max-per-step", FLAG_I64, O(predict.checkpoint_max_per_step),
      .def = "12", .max = 100000, .help = "models written in one go" },
};

static const struct flag auditing[] = {
    { "audit-log-dir", FLAG_STR, O(audit.dir), .def = "/var/log/koordlet",
      .help = "`directory` of the audit log" },
    { "audit-verbose", FLAG_I64, O(audit.verbose), .def = "3",
      .help = "events above this level are dropped; 0: none is" },
    { "audit-max-disk-space-mb", FLAG_I64, O(audit.max_disk_mb), .def = "16", .min = 1,
      .max = 1 << 20, .help = "megabytes of audit files" },
    { "audit-max-concurrent-readers", FLAG_I64, O(audit.max_readers), .def = "4", .min = 1,
      .max = 1000, .help = "readers of /events at a time" },
    { "audit-max-events-limit", FLAG_I64, O(audit.max_events), .def = "2048", .min = 1,
      .max = 1 << 20, .help = "events in one answer" },
};

/* ---- the acting half ------------------------------------------------------------------------- */

static const struct flag executing[] = {
    { "resource-force-update-seconds", FLAG_I64, O(executor.force_update_seconds), .def = "60",
      .min = 1, .max = 86400,
      .help = "time between two comparisons of all owned kernel files with the kernel" },
    { "dry-run", FLAG_BOOL, O(executor.dry_run),
      .help = "write no kernel file; what would be written goes to the audit log" },
};

#define SECONDS .min = -1000000, .max = 1000000
static const struct flag strategies[] = {
    { "cpu-suppress-interval-seconds", FLAG_I64, O(acting.cpu_suppress), .def = "1", SECONDS,
      .help = "time between two looks at what best effort may use; 0 and less: none" },
    { "cpu-evict-interval-seconds", FLAG_I64, O(acting.cpu_evict), .def = "1", SECONDS,
      .help = "time between two looks for CPU to release; 0 and less: none" },
    { "cpu-evict-cool-time-seconds", FLAG_I64, O(acting.cpu_evict_cool), .def = "20", SECONDS,
      .help = "nobody is evicted for CPU so long after the last" },
    { "memory-evict-interval-seconds", FLAG_I64, O(acting.memory_evict), .def = "1", SECONDS,
      .help = "time between two looks for memory to release; 0 and less: none" },
    { "memory-evict-cool-time-seconds", FLAG_I64, O(acting.memory_evict_cool), .def = "4", SECONDS,
      .help = "nobody is evicted for memory so long after the last" },
    { "reconcile-interval-seconds", FLAG_I64, O(acting.reconcile), .def = "1", SECONDS,
      .help = "time between two rounds of the other strategies; 0 and less: none" },
    { "only-evict-by-api", FLAG_BOOL, O(acting.only_evict_by_api),
      .help = "evict through the API server; without it containers are stopped at once" },
    { "containerd-endpoint", FLAG_STR, O(acting.containerd_endpoint),
      .help = "`socket` of containerd, when it is at none of the usual places" },
    { "docker-endpoint", FLAG_STR, O(acting.docker_endpoint),
      .help = "`socket` of Docker's CRI server (cri-dockerd), likewise" },
    { "pouch-endpoint", FLAG_STR, O(acting.pouch_endpoint),
      .help = "`socket` of pouch's CRI server, likewise" },
};
#undef SECONDS

static const struct flag hooking[] = {
    { "runtime-hooks-reconcile-interval", FLAG_DUR, O(hooks.reconcile_interval), .def = "10s",
      .help = "time between two looks at what the hooks manage beside files of cgroups" },
    { "disable-unset-cpu-quota", FLAG_BOOL, O(hooks.keep_quota),
      .help = "pods with CPUs of their own keep their CFS quota" },
    { "hami-core-library-directory-path", FLAG_STR, O(hooks.hami_library),
      .def = "/usr/local/vgpu/libvgpu.so", .help = "`file` of HAMi-core on the host" },
};

static const char *const policies[] = { "Fail", "Ignore", NULL };
static const char *const networks[] = { "unix", "tcp", NULL };
static const struct flag delivering[] = {
    { "default-runtime-type", FLAG_STR, O(hooks.default_runtime), .def = "containerd",
      .help = "runtime of containers whose IDs come without it" },
    { "runtime-hooks-plugin-failure-policy", FLAG_STR, O(hooks.plugin_failure_policy),
      .def = "Ignore", .choices = policies,
      .help = "Fail: a container whose hook fails is not created" },
    { "runtime-hooks-disable-stages", FLAG_LIST, O(hooks.disable_stages),
      .help = "`stages` whose hooks do not run, such as PreRunPodSandbox" },
    { "runtime-hooks-network", FLAG_STR, O(hooks.network), .def = "unix", .choices = networks,
      .help = "network of the hook server for koord-runtime-proxy" },
    { "runtime-hooks-addr", FLAG_STR, O(hooks.addr), .def = "/host-var-run-koordlet/koordlet.sock",
      .help = "`address` of the hook server; empty: none" },
    { "runtime-hooks-failure-policy", FLAG_STR, O(hooks.failure_policy), .def = "Ignore",
      .choices = policies,
      .help = "what koord-runtime-proxy does when the hook server does not answer" },
    { "runtime-hooks-config-path", FLAG_STR, O(hooks.config_dir),
      .help = "`directory` of the file that tells koord-runtime-proxy of the hook server" },
    { "runtime-hooks-host-endpoint", FLAG_STR, O(hooks.host_endpoint),
      .def = "/var/run/koordlet/koordlet.sock",
      .help = "the hook server's `socket` as koord-runtime-proxy sees it" },
    { "enable-nri-runtime-hook", FLAG_BOOL, O(hooks.nri), .def = "true",
      .help = "deliver hooks as a plugin of the runtime's NRI" },
    { "runtime-hooks-nri-socket-path", FLAG_STR, O(hooks.nri_socket), .def = "nri/nri.sock",
      .help = "`socket` of NRI, below --var-run-root-dir" },
    { "runtime-hooks-nri-plugin-name", FLAG_STR, O(hooks.nri_name), .def = "koordlet_nri",
      .help = "name of the plugin" },
    { "runtime-hooks-nri-plugin-index", FLAG_STR, O(hooks.nri_index), .def = "00",
      .help = "index of the plugin: two digits; plugins are asked in this order" },
    { "runtime-hooks-nri-connect-timeout", FLAG_DUR, O(hooks.nri_connect_timeout), .def = "6s",
      .help = "a session that lives so long was a good one" },
    { "runtime-hooks-nri-backoff-duration", FLAG_DUR, O(hooks.nri_backoff), .def = "1s",
      .help = "wait before the second attempt to connect" },
    { "runtime-hooks-nri-backoff-factor", FLAG_F64, O(hooks.nri_backoff_factor), .def = "2",
      .help = "each wait is so many times as long as the one before" },
    { "runtime-hooks-nri-backoff-jitter", FLAG_F64, O(hooks.nri_backoff_jitter), .def = "0.1",
      .help = "share by which waits vary" },
    { "runtime-hooks-nri-backoff-cap", FLAG_DUR, O(hooks.nri_backoff_cap),
      .def = "1281023h53m38.427387903s", .help = "longest wait; 30s when it is more" },
    { "runtime-hooks-nri-backoff-steps", FLAG_I64, O(hooks.nri_backoff_steps), .def = "2147483647",
      .help = "attempts in a row after which NRI is given up" },
};

/* Known upstream, and without effect. */
static const struct flag acting[] = {
    { "qos-extension-plugins", FLAG_STR, FLAG_IGNORED },
};
#undef O

static void add_roots(struct flags *f, struct koordlet_options *o)
{
    const struct host_roots d = host_roots_default(getenv("agent_mode"));

    flags_add(f, "Directories of the host", roots, ARRAY_LEN(roots), o);
    flags_default(f, "cgroup-root-dir", d.cgroup);
    flags_default(f, "proc-root-dir", d.proc);
    flags_default(f, "sys-root-dir", d.sys);
    flags_default(f, "sys-fs-root-dir", d.sys_fs);
    flags_default(f, "var-run-root-dir", d.var_run);
    flags_default(f, "run-root-dir", d.run);
    flags_default(f, "var-lib-kubelet-dir", d.var_lib_kubelet);
}

static const char *hook_config_dir(const char *agent_mode)
{
    return agent_mode && streq(agent_mode, "hostMode") ? "/etc/runtime/hookserver.d"
                                                       : "/host-etc-hookserver";
}

void koordlet_options_add(struct flags *f, void *options)
{
    struct koordlet_options *o = options;

    gates_init(&o->gates, koordlet_gates, KOORDLET_GATES);
    flags_add(f, "General flags", general, ARRAY_LEN(general), o);
    add_roots(f, o);
    flags_add(f, "Kubelet flags", kubelet, ARRAY_LEN(kubelet), o);
    flags_add(f, "Collector flags", collecting, ARRAY_LEN(collecting), o);
    flags_add(f, "Prediction flags", prediction, ARRAY_LEN(prediction), o);
    flags_add(f, "Audit flags", auditing, ARRAY_LEN(auditing), o);
    flags_add(f, "Time series flags", tsdb, ARRAY_LEN(tsdb), o);
    flags_add(f, "Strategy flags", strategies, ARRAY_LEN(strategies), o);
    flags_add(f, "Runtime hook flags", hooking, ARRAY_LEN(hooking), o);
    flags_add(f, "Runtime hook delivery flags", delivering, ARRAY_LEN(delivering), o);
    flags_default(f, "runtime-hooks-config-path", hook_config_dir(getenv("agent_mode")));
    flags_add(f, "Executor flags", executing, ARRAY_LEN(executing), o);
    flags_add(f, "Flags of the acting half", acting, ARRAY_LEN(acting), o);
    client_options_add(f, &o->client);
    debug_options_add(f, &o->debug);
}

int koordlet_options_check(const struct koordlet_options *o, struct kerr *err)
{
    const struct {
        const char *flag;
        nsec_t value;
    } intervals[] = {
        { "collect-res-used-interval", o->collect.interval },
        { "collect-node-cpu-info-interval", o->collect.node_cpu_info },
        { "collect-node-storage-info-interval", o->collect.node_storage_info },
        { "cpi-collector-interval", o->collect.cpi },
        { "psi-collector-interval", o->collect.psi },
        { "coldpage-collector-interval", o->collect.cold_page },
        { "resctrl-collector-interval", o->collect.resctrl },
        { "runtime-hooks-reconcile-interval", o->hooks.reconcile_interval },
        { "prediction-training-interval", o->predict.training },
        { "prediction-memory-histogram-decay-halflife", o->predict.memory_half_life },
        { "prediction-cpu-histogram-decay-halflife", o->predict.cpu_half_life },
    };

    for (size_t i = 0; i < ARRAY_LEN(intervals); i++)
        if (intervals[i].value < NSEC_PER_SEC)
            return kerr_set(err, -EINVAL, "--%s must be at least 1s", intervals[i].flag);
    if (strlen(o->hooks.nri_index) != 2 || strspn(o->hooks.nri_index, "0123456789") != 2)
        return kerr_set(err, -EINVAL, "--runtime-hooks-nri-plugin-index must be two digits");
    if (o->hooks.nri_connect_timeout <= 0 || o->hooks.nri_backoff <= 0 ||
        o->hooks.nri_backoff_factor < 1)
        return kerr_set(err, -EINVAL,
                        "--runtime-hooks-nri-connect-timeout and -backoff-duration must be above "
                        "0, -backoff-factor at least 1");
    if (o->kubelet_insecure_tls && !o->disable_kubelet_config)
        return kerr_set(err, -EINVAL,
                        "--kubelet-insecure-tls needs --disable-query-kubelet-config: the "
                        "read-only port has no /configz");
    return 0;
}
