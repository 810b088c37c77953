/* nodeslo_qos.c - tables of the per-class QoS strategies of NodeSLO (api-crds 2.3). */
#include "api/koord/nodeslo.h"

#define I64(member, json, text)  F(member, json, KF_OPT_I64, OMIT, DOC(text))
#define BOOL(member, json, text) F(member, json, KF_OPT_BOOL, OMIT, DOC(text))
#define I64_MIN(member, json, low, text) \
    F(member, json, KF_OPT_I64, OMIT, META(.min = KF_INT(low), .description = text))
#define I64_IN(member, json, low, high, text) \
    F(member, json, KF_OPT_I64, OMIT,         \
      META(.min = KF_INT(low), .max = KF_INT(high), .description = text))

#define F(member, json, type, ...) KF(struct cpu_qos, member, json, type, __VA_ARGS__)
static const struct kfield cpu_qos_fields[] = {
    BOOL(enable, "enable", "switch of this strategy"),
    I64(group_identity, "groupIdentity", "bvt value, -1 to 2, with policy groupIdentity"),
    I64(sched_idle, "schedIdle", "cpu.idle, 0 or 1, with policy coreSched"),
    BOOL(core_expeller, "coreExpeller", "expel best-effort tasks from the sibling threads"),
};
#undef F
const struct kschema cpu_qos_schema = KSCHEMA("CPUQOS", struct cpu_qos, cpu_qos_fields);

#define F(member, json, type, ...) KF(struct memory_qos, member, json, type, __VA_ARGS__)
static const struct kfield memory_qos_fields[] = {
    BOOL(enable, "enable", "switch of this strategy"),
    I64_MIN(min_limit_percent, "minLimitPercent", 0, "memory.min as percent of the request"),
    I64_MIN(low_limit_percent, "lowLimitPercent", 0, "memory.low as percent of the request"),
    I64_MIN(throttling_percent, "throttlingPercent", 0,
            "memory.high between request and limit, in percent; 0 is off"),
    I64_IN(wmark_ratio, "wmarkRatio", 0, 100, "percent of the limit at which reclaim starts"),
    I64_IN(wmark_scale_permill, "wmarkScalePermill", 1, 1000, "distance of the two watermarks"),
    I64_IN(wmark_min_adj, "wmarkMinAdj", -25, 50, "shift of the global minimum watermark"),
    I64(priority_enable, "priorityEnable", "1: the OOM killer goes by priority"),
    I64(priority, "priority", "OOM priority, 0 to 12; higher survives"),
    I64(oom_kill_group, "oomKillGroup", "1: the OOM killer takes the whole group"),
    BOOL(page_cache_enable, "pageCacheEnable", "limit the page cache of the group"),
    I64_IN(page_cache_limit_percent, "pageCacheLimitPercent", 0, 100,
           "page cache limit as percent of the memory limit; 0 is off"),
    I64(page_cache_limit_size_bytes, "pageCacheLimitSize",
        "page cache limit in bytes; goes before the percent"),
    BOOL(page_cache_reclaim_sync, "pageCacheReclaimSync", "reclaim the cache in the foreground"),
};
#undef F
const struct kschema memory_qos_schema = KSCHEMA("MemoryQOS", struct memory_qos, memory_qos_fields);

#define F(member, json, type, ...) KF(struct blkio_config, member, json, type, __VA_ARGS__)
static const struct kfield blkio_config_fields[] = {
    I64_MIN(read_iops, "readIOPS", 0, "reads a second; 0 is no limit"),
    I64_MIN(write_iops, "writeIOPS", 0, "writes a second; 0 is no limit"),
    I64_MIN(read_bps, "readBPS", 0, "bytes read a second; 0 is no limit"),
    I64_MIN(write_bps, "writeBPS", 0, "bytes written a second; 0 is no limit"),
    I64_IN(io_weight_percent, "ioWeightPercent", 1, 100, "I/O weight in percent"),
    I64(read_latency_us, "readLatency", "microseconds that count as slow for reads"),
    I64(write_latency_us, "writeLatency", "microseconds that count as slow for writes"),
    I64_IN(read_latency_percent, "readLatencyPercent", 0, 100, "percentile of read latencies"),
    I64_IN(write_latency_percent, "writeLatencyPercent", 0, 100, "percentile of write latencies"),
    BOOL(enable_user_model, "enableUserModel", "use the cost model given here"),
    I64_MIN(model_read_bps, "modelReadBPS", 1, "cost model: bytes read a second"),
    I64_MIN(model_write_bps, "modelWriteBPS", 1, "cost model: bytes written a second"),
    I64_MIN(model_read_seq_iops, "modelReadSeqIOPS", 1, "cost model: sequential reads a second"),
    I64_MIN(model_write_seq_iops, "modelWriteSeqIOPS", 1, "cost model: sequential writes a second"),
    I64_MIN(model_read_rand_iops, "modelReadRandIOPS", 1, "cost model: random reads a second"),
    I64_MIN(model_write_rand_iops, "modelWriteRandIOPS", 1, "cost model: random writes a second"),
};
#undef F
static const struct kschema blkio_config_schema =
    KSCHEMA("IOCfg", struct blkio_config, blkio_config_fields);

#define F(member, json, type, ...) KF(struct blkio_block, member, json, type, __VA_ARGS__)
static const struct kfield blkio_block_fields[] = {
    F(name, "name", KF_STR, OMIT, DOC("device, volume group or volume name")),
    F(type, "type", KF_STR, OMIT_STR, DOC("device, volumegroup or podvolume")),
    F(io, "ioCfg", KF_OBJ, .flags = 0, .sub = &blkio_config_schema, DOC("throttles and weights")),
};
#undef F
const struct kschema blkio_block_schema =
    KSCHEMA("BlockCfg", struct blkio_block, blkio_block_fields);

static const struct kfield blkio_qos_fields[] = {
    KF(struct blkio_qos, enable, "enable", KF_OPT_BOOL, OMIT, DOC("switch of this strategy")),
    KF_LIST_OF(struct blkio_qos, blocks, "blocks", KF_OBJ, OMIT, .sub = &blkio_block_schema,
               DOC("settings per block device")),
};
const struct kschema blkio_qos_schema = KSCHEMA("BlkIOQOS", struct blkio_qos, blkio_qos_fields);

#define F(member, json, type, ...) KF(struct resctrl_qos, member, json, type, __VA_ARGS__)
static const struct kfield resctrl_qos_fields[] = {
    BOOL(enable, "enable", "switch of this strategy"),
    I64_IN(cat_range_start_percent, "catRangeStartPercent", 0, 100, "start of the L3 cache range"),
    I64_IN(cat_range_end_percent, "catRangeEndPercent", 0, 100, "end of the L3 cache range"),
    I64_IN(mba_percent, "mbaPercent", 0, 100, "memory bandwidth in percent"),
};
#undef F
const struct kschema resctrl_qos_schema =
    KSCHEMA("ResctrlQOS", struct resctrl_qos, resctrl_qos_fields);

#define F(member, json, type, ...) KF(struct network_qos, member, json, type, __VA_ARGS__)
#define BANDWIDTH(member, json, fallback, text)                  \
    F(member, json, KF_OBJ, OMIT_PTR, .sub = &int_or_str_schema, \
      META(.def = fallback, .description = text))
static const struct kfield network_qos_fields[] = {
    BOOL(enable, "enable", "switch of this strategy"),
    BANDWIDTH(ingress_request, "ingressRequest", "0",
              "guaranteed inbound bandwidth: percent of the total, or bits a second"),
    BANDWIDTH(ingress_limit, "ingressLimit", "100",
              "greatest inbound bandwidth: percent of the total, or bits a second"),
    BANDWIDTH(egress_request, "egressRequest", "0",
              "guaranteed outbound bandwidth: percent of the total, or bits a second"),
    BANDWIDTH(egress_limit, "egressLimit", "100",
              "greatest outbound bandwidth: percent of the total, or bits a second"),
};
#undef F
const struct kschema network_qos_schema =
    KSCHEMA("NetworkQOS", struct network_qos, network_qos_fields);

#define F(member, json, type, ...) KF(struct resource_qos, member, json, type, __VA_ARGS__)
#define PART(member, json, schema, text) \
    F(member, json, KF_OBJ, OMIT_PTR, .sub = &schema, DOC(text))
static const struct kfield resource_qos_fields[] = {
    PART(cpu, "cpuQOS", cpu_qos_schema, "CPU priority"),
    PART(memory, "memoryQOS", memory_qos_schema, "memory protection and reclaim"),
    PART(blkio, "blkioQOS", blkio_qos_schema, "disk I/O"),
    PART(resctrl, "resctrlQOS", resctrl_qos_schema, "L3 cache and memory bandwidth"),
    PART(network, "networkQOS", network_qos_schema, "network bandwidth"),
};
#undef F
static const struct kschema resource_qos_schema =
    KSCHEMA("ResourceQOS", struct resource_qos, resource_qos_fields);

#define F(member, json, type, ...) KF(struct qos_policies, member, json, type, __VA_ARGS__)
static const struct kfield qos_policies_fields[] = {
    F(cpu_policy, "cpuPolicy", KF_STR, OMIT_STR, DOC("groupIdentity or coreSched")),
    F(net_policy, "netQOSPolicy", KF_STR, OMIT_STR, DOC("tc or terway-qos")),
};
#undef F
static const struct kschema qos_policies_schema =
    KSCHEMA("ResourceQOSPolicies", struct qos_policies, qos_policies_fields);

#define F(member, json, type, ...) KF(struct resource_qos_strategy, member, json, type, __VA_ARGS__)
static const struct kfield resource_qos_strategy_fields[] = {
    PART(policies, "policies", qos_policies_schema, "which mechanisms to use"),
    PART(lsr, "lsrClass", resource_qos_schema, "LSR and LSE pods"),
    PART(ls, "lsClass", resource_qos_schema, "LS pods"),
    PART(be, "beClass", resource_qos_schema, "BE pods"),
    PART(system, "systemClass", resource_qos_schema, "SYSTEM pods"),
    PART(cgroup_root, "cgroupRoot", resource_qos_schema, "the root cgroup"),
};
#undef F
const struct kschema resource_qos_strategy_schema =
    KSCHEMA("ResourceQOSStrategy", struct resource_qos_strategy, resource_qos_strategy_fields);
