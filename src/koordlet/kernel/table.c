/* table.c - the cgroup files, each a line. */
#include "koordlet/kernel/resource.h"

#define A   CGROUP_ALWAYS
#define E   CGROUP_IF_FILE
#define K   CGROUP_IF_KUBEPODS
#define R   CGROUP_IF_ROOT
#define TOP INT64_MAX
#define ABSENT            \
    {                     \
        "", NULL, A, 0, 0 \
    }

/* type, check, v1 subsystem and support, v2 file and support, least and greatest value */
#define BOTH(type, check, subsystem, support1, file2, support2, min, max) \
    {                                                                     \
        type, CGROUP_##check,                                             \
        {                                                                 \
            { subsystem, type, support1, min, max },                      \
            {                                                             \
                "", file2, support2, min, max                             \
            }                                                             \
        }                                                                 \
    }
#define ONLY_V1(type, check, subsystem, support, min, max) \
    {                                                      \
        type, CGROUP_##check,                              \
        {                                                  \
            { subsystem, type, support, min, max }, ABSENT \
        }                                                  \
    }
#define ONLY_V2(type, check, support, min, max) \
    {                                           \
        type, CGROUP_##check,                   \
        {                                       \
            ABSENT,                             \
            {                                   \
                "", type, support, min, max     \
            }                                   \
        }                                       \
    }

static const struct cgroup_resource table[] = {
    BOTH("cpu.stat", ANY, "cpu", A, "cpu.stat", A, 0, 0),
    { "cpu.shares",
      CGROUP_RANGE,
      { { "cpu", "cpu.shares", A, 2, 262144 }, { "", "cpu.weight", A, 1, 10000 } } },
    BOTH("cpu.cfs_quota_us", ANY, "cpu", A, "cpu.max", A, 0, 0),
    BOTH("cpu.cfs_period_us", ANY, "cpu", A, "cpu.max", A, 0, 0),
    { "cpu.cfs_burst_us",
      CGROUP_RANGE,
      { { "cpu", "cpu.cfs_burst_us", E, 0, 100000000 }, { "", "cpu.max.burst", K, 0, TOP } } },
    BOTH("cpu.bvt_warp_ns", RANGE, "cpu", E, "cpu.bvt_warp_ns", E, -1, 2),
    BOTH("cpu.idle", RANGE, "cpu", K, "cpu.idle", K, 0, 1),
    BOTH("tasks", ANY, "cpu", A, "cgroup.threads", A, 0, 0),
    BOTH("cgroup.procs", ANY, "cpu", A, "cgroup.procs", A, 0, 0),
    BOTH("cpuset.cpus", CPUS, "cpuset", A, "cpuset.cpus", A, 0, 0),
    ONLY_V2("cpuset.cpus.effective", ANY, A, 0, 0),
    BOTH("cpuacct.stat", ANY, "cpuacct", A, "cpu.stat", A, 0, 0),
    BOTH("cpuacct.usage", ANY, "cpuacct", A, "cpu.stat", A, 0, 0),
    BOTH("cpu.pressure", ANY, "cpuacct", K, "cpu.pressure", K, 0, 0),
    BOTH("memory.pressure", ANY, "cpuacct", K, "memory.pressure", K, 0, 0),
    BOTH("io.pressure", ANY, "cpuacct", K, "io.pressure", K, 0, 0),
    BOTH("memory.limit_in_bytes", ANY, "memory", A, "memory.max", A, 0, 0),
    BOTH("memory.usage_in_bytes", ANY, "memory", A, "memory.current", A, 0, 0),
    BOTH("memory.stat", ANY, "memory", A, "memory.stat", A, 0, 0),
    BOTH("memory.numa_stat", ANY, "memory", A, "memory.numa_stat", A, 0, 0),
    BOTH("memory.min", RANGE, "memory", K, "memory.min", A, 0, TOP),
    BOTH("memory.low", RANGE, "memory", K, "memory.low", A, 0, TOP),
    BOTH("memory.high", RANGE, "memory", K, "memory.high", A, 0, TOP),
    BOTH("memory.wmark_ratio", RANGE, "memory", K, "memory.wmark_ratio", E, 0, 100),
    BOTH("memory.wmark_scale_factor", RANGE, "memory", K, "memory.wmark_scale_factor", E, 1, 1000),
    BOTH("memory.wmark_min_adj", RANGE, "memory", K, "memory.wmark_min_adj", E, -25, 50),
    BOTH("memory.priority", RANGE, "memory", K, "memory.priority", E, 0, 12),
    BOTH("memory.use_priority_oom", RANGE, "memory", K, "memory.use_priority_oom", E, 0, 1),
    BOTH("memory.oom.group", RANGE, "memory", K, "memory.oom.group", E, 0, 1),
    ONLY_V1("memory.idle_page_stats", ANY, "memory", K, 0, 0),
    ONLY_V2("memory.pagecache_limit.enable", RANGE, E, 0, 1),
    ONLY_V2("memory.pagecache_limit.sync", RANGE, E, 0, 1),
    ONLY_V2("memory.pagecache_limit.size", RANGE, E, 0, TOP),
    /* v1 takes no number: everything that can go does. */
    { "memory.force_empty",
      CGROUP_RANGE,
      { { "memory", "memory.force_empty", K, 0, 0 }, { "", "memory.reclaim", K, 0, TOP } } },
    ONLY_V1("blkio.throttle.read_iops_device", BLKIO, "blkio", K, 0, TOP),
    ONLY_V1("blkio.throttle.read_bps_device", BLKIO, "blkio", K, 0, TOP),
    ONLY_V1("blkio.throttle.write_iops_device", BLKIO, "blkio", K, 0, TOP),
    ONLY_V1("blkio.throttle.write_bps_device", BLKIO, "blkio", K, 0, TOP),
    ONLY_V1("blkio.cost.weight", BLKIO, "blkio", K, 1, 100),
    ONLY_V1("blkio.cost.qos", BLKIO_QOS, "blkio", R, 0, TOP),
    ONLY_V1("blkio.cost.model", BLKIO_MODEL, "blkio", R, 1, TOP),
    /* The same file of the same hierarchy for both. */
    { "net_cls.classid",
      CGROUP_CLASS_ID,
      { { "net_cls", "net_cls.classid", K, 0, 0 }, { "net_cls", "net_cls.classid", K, 0, 0 } } },
};

const struct cgroup_resource *cgroup_resource_at(size_t i)
{
    return i < ARRAY_LEN(table) ? &table[i] : NULL;
}
