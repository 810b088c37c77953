/* plan.c - filling a plan. */
#include "koordlet/executor/plan.h"

static const char *const owners[PLAN_OWNERS] = {
    [PLAN_KUBELET] = "kubelet",
    [PLAN_LEFTOVERS] = "Leftovers",
    [PLAN_POD_START] = "PodStart",
    [PLAN_CPU_NORMALIZATION] = "CPUNormalization",
    [PLAN_BATCH_RESOURCE] = "BatchResource",
    [PLAN_CPUSET_ALLOCATOR] = "CPUSetAllocator",
    [PLAN_GROUP_IDENTITY] = "GroupIdentity",
    [PLAN_CORE_SCHED] = "CoreSched",
    [PLAN_OOM_SCORE_ADJ] = "OOMScoreAdj",
    [PLAN_POD_RESCTRL] = "Resctrl",
    [PLAN_TERWAY_QOS] = "TerwayQoS",
    [PLAN_TC_NETWORK_QOS] = "TCNetworkQoS",
    [PLAN_CPU_SUPPRESS] = "CPUSuppress",
    [PLAN_CPU_BURST] = "CPUBurst",
    [PLAN_MEMORY_QOS] = "CgroupReconcile",
    [PLAN_RESCTRL] = "ResctrlReconcile",
    [PLAN_BLKIO] = "BlkIOReconcile",
    [PLAN_SYSTEM_CONFIG] = "SystemConfig",
    [PLAN_CPU_IDLE] = "CPUIdle",
    [PLAN_INTERFERENCE_GUARD] = "InterferenceGuard",
    [PLAN_MEMORY_RECLAIM] = "MemoryReclaim",
    [PLAN_RESTORE] = "Restore",
};

const char *plan_owner_name(enum plan_owner o)
{
    return owners[o];
}

/* Upstream's, where it has one. */
const char *plan_owner_reason(enum plan_owner o)
{
    return o == PLAN_CPU_SUPPRESS ? "AdjustBEByNodeCPUUsage" : owners[o];
}

static const char *const types[PLAN_FILES] = {
    [PLAN_CPU_SHARES] = "cpu.shares",
    [PLAN_CPU_QUOTA] = "cpu.cfs_quota_us",
    [PLAN_CPU_BURST_US] = "cpu.cfs_burst_us",
    [PLAN_CPU_BVT] = "cpu.bvt_warp_ns",
    [PLAN_CPU_IDLE_CLASS] = "cpu.idle",
    [PLAN_CPUSET_CPUS] = "cpuset.cpus",
    [PLAN_MEMORY_LIMIT] = "memory.limit_in_bytes",
    [PLAN_MEMORY_MIN] = "memory.min",
    [PLAN_MEMORY_LOW] = "memory.low",
    [PLAN_MEMORY_HIGH] = "memory.high",
    [PLAN_MEMORY_WMARK_RATIO] = "memory.wmark_ratio",
    [PLAN_MEMORY_WMARK_SCALE_FACTOR] = "memory.wmark_scale_factor",
    [PLAN_MEMORY_WMARK_MIN_ADJ] = "memory.wmark_min_adj",
    [PLAN_MEMORY_PRIORITY] = "memory.priority",
    [PLAN_MEMORY_USE_PRIORITY_OOM] = "memory.use_priority_oom",
    [PLAN_MEMORY_OOM_GROUP] = "memory.oom.group",
    [PLAN_MEMORY_PAGECACHE_ENABLE] = "memory.pagecache_limit.enable",
    [PLAN_MEMORY_PAGECACHE_SIZE] = "memory.pagecache_limit.size",
    [PLAN_MEMORY_PAGECACHE_SYNC] = "memory.pagecache_limit.sync",
    [PLAN_MEMORY_GIVE_BACK] = "memory.force_empty",
    [PLAN_BLKIO_READ_IOPS] = "blkio.throttle.read_iops_device",
    [PLAN_BLKIO_READ_BPS] = "blkio.throttle.read_bps_device",
    [PLAN_BLKIO_WRITE_IOPS] = "blkio.throttle.write_iops_device",
    [PLAN_BLKIO_WRITE_BPS] = "blkio.throttle.write_bps_device",
    [PLAN_BLKIO_COST_WEIGHT] = "blkio.cost.weight",
    [PLAN_BLKIO_COST_QOS] = "blkio.cost.qos",
    [PLAN_BLKIO_COST_MODEL] = "blkio.cost.model",
    [PLAN_NET_CLS_CLASSID] = "net_cls.classid",
    [PLAN_RESCTRL_GROUP] = "resctrl group",
    [PLAN_RESCTRL_SCHEMATA] = "schemata",
    [PLAN_RESCTRL_TASKS] = "tasks",
    [PLAN_PROC_FILE] = "proc",
    [PLAN_SYS_FILE] = "sys",
    [PLAN_SCHED_FEATURE] = "sched_features",
};

const char *plan_file_type(enum plan_file f)
{
    return types[f];
}

/* ---- life ------------------------------------------------------------------------------------ */

struct plan *plan_new(enum plan_owner o)
{
    struct plan *p = xnew0(struct plan);

    p->owner = o;
    p->arena = arena_new();
    return p;
}

struct plan *plan_free(struct plan *p)
{
    if (!p)
        return NULL;
    snapshot_unref(p->snapshot);
    arena_free(p->arena);
    vec_fini(&p->proposals);
    free(p);
    return NULL;
}

void plan_reset(struct plan *p, const struct snapshot *s)
{
    const struct snapshot *held = s ? snapshot_ref(s) : NULL;

    snapshot_unref(p->snapshot);
    p->snapshot = held;
    arena_reset(p->arena);
    vec_clear(&p->proposals);
}

/* ---- proposing ------------------------------------------------------------------------------- */

static struct proposal *add(struct plan *p, struct plan_at at, enum plan_file f)
{
    const struct proposal empty = { .at = at, .file = (uint8_t)f, .owner = (uint8_t)p->owner };

    vec_push(&p->proposals, empty);
    return &vec_last(&p->proposals);
}

struct proposal *plan_number(struct plan *p, struct plan_at at, enum plan_file f, int64_t v)
{
    struct proposal *pr = add(p, at, f);

    pr->number = v;
    return pr;
}

struct proposal *plan_text(struct plan *p, struct plan_at at, enum plan_file f, const char *text)
{
    struct proposal *pr = add(p, at, f);

    pr->text = arena_strdup(p->arena, text);
    return pr;
}

struct proposal *plan_cpus(struct plan *p, struct plan_at at, const struct cpuset *cpus)
{
    struct proposal *pr = add(p, at, PLAN_CPUSET_CPUS);

    pr->text = cpuset_format(cpus, p->arena);
    return pr;
}

struct proposal *plan_scale(struct plan *p, struct plan_at at, enum plan_file f, int64_t value,
                            int64_t base)
{
    struct proposal *pr = add(p, at, f);

    assert(base > 0);
    pr->rule = PLAN_SCALE;
    pr->number = value;
    pr->base = base;
    return pr;
}

struct proposal *plan_item(struct plan *p, struct plan_at at, enum plan_file f, const char *item,
                           const char *text)
{
    struct proposal *pr = plan_text(p, at, f, text);

    pr->item = arena_strdup(p->arena, item);
    return pr;
}

struct proposal *plan_tasks(struct plan *p, struct plan_at at, const pid_t *ids, size_t n)
{
    pid_t *copy = arena_alloc(p->arena, n * sizeof *ids, 8);
    struct proposal *pr = add(p, at, PLAN_RESCTRL_TASKS);

    memcpy(copy, ids, n * sizeof *ids);
    pr->rule = PLAN_ONCE;
    pr->ids = copy;
    pr->nids = (uint32_t)n;
    return pr;
}

void plan_terms(struct plan *p, const struct plan_term *terms, size_t n)
{
    struct proposal *pr = &vec_last(&p->proposals);
    struct plan_term *copy = arena_alloc(p->arena, n * sizeof *terms, 8);

    assert(n <= UINT8_MAX);
    memcpy(copy, terms, n * sizeof *terms);
    pr->terms = copy;
    pr->nterms = (uint8_t)n;
}
