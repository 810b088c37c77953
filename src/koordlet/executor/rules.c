/* rules.c - what the executor has to know of each kind of file, a line each. */
#include "koordlet/executor/executor_int.h"

#define CG(kind_, rank_, ...)                                                        \
    {                                                                                \
        .kind = VALUE_##kind_, .root = EXECUTOR_CGROUP, .rank = (rank_), __VA_ARGS__ \
    }
#define LEVELED    .leveled = true
#define MAY_BLOCK  .may_block = true
#define NEUTRAL(v) .has_neutral = true, .neutral = (v)

/* Ranks: cpu.idle before cpu.shares, which it resets; a quota before its burst where they grow, and
 * so behind it where they shrink. The kubelet alone knows shares, memory limits and cpusets. */
const struct file_rule file_rules[FILE_KINDS] = {
    [PLAN_CPU_IDLE_CLASS] = CG(NUMBER, 0, NEUTRAL(0)),
    [PLAN_CPU_SHARES] = CG(NUMBER, 1),
    [PLAN_CPU_QUOTA] = CG(LIMIT, 2, LEVELED, NEUTRAL(-1)),
    [PLAN_CPU_BURST_US] = CG(NUMBER, 3, LEVELED, NEUTRAL(0)),
    [PLAN_CPU_BVT] = CG(NUMBER, 4, NEUTRAL(0)),
    [PLAN_CPUSET_CPUS] = CG(CPUS, 5, LEVELED),
    [PLAN_MEMORY_LIMIT] = CG(LIMIT, 6, LEVELED, MAY_BLOCK),
    [PLAN_MEMORY_MIN] = CG(NUMBER, 7, LEVELED, NEUTRAL(0)),
    [PLAN_MEMORY_LOW] = CG(NUMBER, 8, LEVELED, NEUTRAL(0)),
    [PLAN_MEMORY_HIGH] = CG(NUMBER, 9, LEVELED, MAY_BLOCK, NEUTRAL(INT64_MAX)),
    [PLAN_MEMORY_WMARK_RATIO] = CG(NUMBER, 10, NEUTRAL(0)),
    [PLAN_MEMORY_WMARK_SCALE_FACTOR] = CG(NUMBER, 11, NEUTRAL(50)),
    [PLAN_MEMORY_WMARK_MIN_ADJ] = CG(NUMBER, 12, NEUTRAL(0)),
    [PLAN_MEMORY_PRIORITY] = CG(NUMBER, 13, NEUTRAL(0)),
    [PLAN_MEMORY_USE_PRIORITY_OOM] = CG(NUMBER, 14, NEUTRAL(0)),
    [PLAN_MEMORY_OOM_GROUP] = CG(NUMBER, 15, NEUTRAL(0)),
    [PLAN_MEMORY_PAGECACHE_ENABLE] = CG(NUMBER, 16, NEUTRAL(0)),
    [PLAN_MEMORY_PAGECACHE_SIZE] = CG(NUMBER, 17, NEUTRAL(0)),
    [PLAN_MEMORY_PAGECACHE_SYNC] = CG(NUMBER, 18, NEUTRAL(0)),
    [PLAN_MEMORY_GIVE_BACK] = CG(NUMBER, 19, MAY_BLOCK),
    [PLAN_BLKIO_READ_IOPS] = CG(LINE, 20, NEUTRAL(0)),
    [PLAN_BLKIO_READ_BPS] = CG(LINE, 21, NEUTRAL(0)),
    [PLAN_BLKIO_WRITE_IOPS] = CG(LINE, 22, NEUTRAL(0)),
    [PLAN_BLKIO_WRITE_BPS] = CG(LINE, 23, NEUTRAL(0)),
    [PLAN_BLKIO_COST_WEIGHT] = CG(LINE, 24, NEUTRAL(100)),
    [PLAN_BLKIO_COST_QOS] = CG(LINE, 25, NEUTRAL(0)),
    [PLAN_BLKIO_COST_MODEL] = CG(LINE, 26),
    [PLAN_NET_CLS_CLASSID] = CG(NUMBER, 27, NEUTRAL(0)),
    [PLAN_RESCTRL_GROUP] = { .kind = VALUE_DIR, .root = EXECUTOR_RESCTRL, .rank = 28 },
    [PLAN_RESCTRL_SCHEMATA] = { .kind = VALUE_LINE, .root = EXECUTOR_RESCTRL, .rank = 29 },
    [PLAN_RESCTRL_TASKS] = { .kind = VALUE_TEXT, .root = EXECUTOR_RESCTRL, .rank = 30 },
    [PLAN_PROC_FILE] = { .kind = VALUE_TEXT, .root = EXECUTOR_PROC, .rank = 31 },
    [PLAN_SYS_FILE] = { .kind = VALUE_TEXT, .root = EXECUTOR_SYS, .rank = 32 },
    [PLAN_SCHED_FEATURE] = { .kind = VALUE_NUMBER, .root = EXECUTOR_SYS, .rank = 33 },
    [FILE_CPUSET_EFFECTIVE] = CG(CPUS, 34),
};
