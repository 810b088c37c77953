/* plan.h - what somebody wants the kernel's files to say: proposals, collected in a plan.
 *
 * A strategy or a hook is a pure function of (snapshot, now) that fills a plan; it writes no file.
 * It has an owner, and an owner's plan is complete: what it does not propose any more is withdrawn,
 * and the executor puts back what the kubelet or the kernel had there. Who has nothing new to say
 * submits nothing, and the last plan stands. Several owners may propose for one file: the executor
 * composes them, fits the result to the kernel's rules, orders the writes and keeps the files so.
 * Hence a plan holds the numbers of the specification, whatever the kernel of this node accepts.
 *
 * A plan owns an arena and an array that are emptied and filled again: after the first rounds a
 * round allocates nothing. Loop thread only.
 */
#ifndef KOORD_KOORDLET_EXECUTOR_PLAN_H
#define KOORD_KOORDLET_EXECUTOR_PLAN_H
#include "base/arena.h"
#include "base/cpuset.h"
#include "base/vec.h"
#include "koordlet/states/snapshot.h"

/* Of several PLAN_SET proposals for one file, that of the later owner counts. */
enum plan_owner {
    PLAN_KUBELET, /* what the kubelet wrote, from the pod specs: never a reason to write, only what
                     is put back and what others start from */
    PLAN_LEFTOVERS, /* what an agent that was killed may have left: put back after the start, where
                       nobody else has a say */
    PLAN_POD_START, /* of pods that a runtime starts, until the hooks below know them */
    PLAN_CPU_NORMALIZATION,
    PLAN_BATCH_RESOURCE,
    PLAN_CPUSET_ALLOCATOR,
    PLAN_GROUP_IDENTITY,
    PLAN_CORE_SCHED,
    PLAN_OOM_SCORE_ADJ,
    PLAN_POD_RESCTRL,
    PLAN_TERWAY_QOS,
    PLAN_TC_NETWORK_QOS,
    PLAN_CPU_SUPPRESS,
    PLAN_CPU_BURST,
    PLAN_MEMORY_QOS,
    PLAN_RESCTRL,
    PLAN_BLKIO,
    PLAN_SYSTEM_CONFIG,
    PLAN_CPU_IDLE,           /* isolation where the kernel has no group identity */
    PLAN_INTERFERENCE_GUARD, /* gate, off */
    PLAN_MEMORY_RECLAIM,     /* gate, off */
    PLAN_RESTORE,            /* koordlet --restore */
    PLAN_OWNERS
};
const char *plan_owner_name(enum plan_owner o); /* "CPUSuppress" */

const char *plan_owner_reason(enum plan_owner o); /* of its entries in the audit log */

/* Kernel files. Those of cgroups go by their v1 names and take v1's units on both versions. */
enum plan_file {
    PLAN_CPU_SHARES,
    PLAN_CPU_QUOTA, /* cpu.cfs_quota_us; -1: no limit */
    PLAN_CPU_BURST_US,
    PLAN_CPU_BVT,
    PLAN_CPU_IDLE_CLASS, /* cpu.idle */
    PLAN_CPUSET_CPUS,
    PLAN_MEMORY_LIMIT, /* memory.limit_in_bytes; -1: no limit */
    PLAN_MEMORY_MIN,
    PLAN_MEMORY_LOW,
    PLAN_MEMORY_HIGH, /* INT64_MAX: no limit */
    PLAN_MEMORY_WMARK_RATIO,
    PLAN_MEMORY_WMARK_SCALE_FACTOR,
    PLAN_MEMORY_WMARK_MIN_ADJ,
    PLAN_MEMORY_PRIORITY,
    PLAN_MEMORY_USE_PRIORITY_OOM,
    PLAN_MEMORY_OOM_GROUP,
    PLAN_MEMORY_PAGECACHE_ENABLE,
    PLAN_MEMORY_PAGECACHE_SIZE,
    PLAN_MEMORY_PAGECACHE_SYNC,
    PLAN_MEMORY_GIVE_BACK, /* bytes that memory.reclaim is asked for; v1: all of it. PLAN_ONCE only
                            */
    PLAN_BLKIO_READ_IOPS,  /* item: "253:16", text: "253:16 2048" */
    PLAN_BLKIO_READ_BPS,
    PLAN_BLKIO_WRITE_IOPS,
    PLAN_BLKIO_WRITE_BPS,
    PLAN_BLKIO_COST_WEIGHT,
    PLAN_BLKIO_COST_QOS, /* dir "": the root cgroup */
    PLAN_BLKIO_COST_MODEL,
    PLAN_NET_CLS_CLASSID,
    PLAN_CGROUP_FILES,
    /* dir: the group, "BE". Proposed: the group exists. Withdrawn: one of a pod is removed. */
    PLAN_RESCTRL_GROUP = PLAN_CGROUP_FILES,
    PLAN_RESCTRL_SCHEMATA, /* item: "L3", "L3CODE", "MB"; text: "L3:0=f;1=f;\n" */
    PLAN_RESCTRL_TASKS,    /* PLAN_ONCE only */
    PLAN_PROC_FILE,        /* dir: the path below /proc, "sys/vm/min_free_kbytes" */
    PLAN_SYS_FILE,         /* dir: the path below /sys */
    PLAN_SCHED_FEATURE,    /* below /sys; item: "NAME", number: 1 or 0 */
    PLAN_FILES
};
/* The name of the type in logs, metrics and GET /plan: "cpu.cfs_quota_us", "schemata". */
const char *plan_file_type(enum plan_file f);

enum plan_rule {
    PLAN_SET,
    /* number/base times what the PLAN_SET proposals leave, and not below it; no limit stays no
     * limit. For quotas: burst scales what normalization leaves. */
    PLAN_SCALE,
    PLAN_AT_MOST, /* a cap on all of that; -1 counts as no limit where the file says so */
    PLAN_ONCE,    /* written now, whatever the file says, and not kept */
};

struct plan_term { /* what a value was made from, for people: { "node threshold", 14000 } */
    const char *name;
    int64_t number;
    const char *text; /* in place of the number, unless NULL */
};

struct plan_at { /* borrowed: from the plan's snapshot, plan_arena() or static */
    const char *dir;
    const struct npod *pod; /* NULL: of a class, or of the node */
    const char *container;  /* its name; NULL: of the pod */
};

struct proposal {
    struct plan_at at;
    uint8_t file, rule, owner; /* enums above */
    uint8_t nterms;
    uint32_t nids;
    const char *item; /* the part of the file that this is about; NULL: all of it */
    const char *text; /* the value; NULL: the number is */
    int64_t number, base;
    const struct plan_term *terms;
    const pid_t *ids; /* of PLAN_RESCTRL_TASKS */
    /* The executor's. */
    struct target *target;
    struct proposal *next;
};

struct plan {
    enum plan_owner owner;
    const struct snapshot *snapshot; /* held; NULL: none */
    struct arena *arena;
    struct vec_of(struct proposal) proposals;
};
struct plan *plan_new(enum plan_owner o);
struct plan *plan_free(struct plan *p);
DEFINE_CLEANUP(plan_free, struct plan *)
/* Empties it. It holds a reference on the snapshot (NULL: none) until it is emptied again, so paths
 * and names of its pods may be borrowed. */
void plan_reset(struct plan *p, const struct snapshot *s);

/* ---- proposing ------------------------------------------------------------------------------- */

/* Each adds one proposal, which is good until the next is added. */
struct proposal *plan_number(struct plan *p, struct plan_at at, enum plan_file f, int64_t v);
struct proposal *plan_text(struct plan *p, struct plan_at at, enum plan_file f, const char *text);
struct proposal *plan_cpus(struct plan *p, struct plan_at at, const struct cpuset *cpus);
/* PLAN_SCALE by value/base; base > 0. */
struct proposal *plan_scale(struct plan *p, struct plan_at at, enum plan_file f, int64_t value,
                            int64_t base);
/* One part of a file of several: a disk of a blkio file, a line of a schemata. Copies both. */
struct proposal *plan_item(struct plan *p, struct plan_at at, enum plan_file f, const char *item,
                           const char *text);
/* Threads that join a resctrl group now (PLAN_ONCE). Copies the numbers. */
struct proposal *plan_tasks(struct plan *p, struct plan_at at, const pid_t *ids, size_t n);

/* Why the proposal added last has this value; copied but for the texts. At most 255. */
void plan_terms(struct plan *p, const struct plan_term *terms, size_t n);
#define PLAN_BECAUSE(p, ...)                                   \
    plan_terms((p), (const struct plan_term[]){ __VA_ARGS__ }, \
               sizeof((const struct plan_term[]){ __VA_ARGS__ }) / sizeof(struct plan_term))

/* ---- what files hold ------------------------------------------------------------------------- */

/* Current values, for strategies that start from them: what the executor wrote or last read. The
 * executor gives one; a test makes its own. -ENOENT: no such cgroup; -EOPNOTSUPP: the
 * kernel has no such file. */
struct plan_view {
    int (*number)(void *arg, const char *dir, enum plan_file f, int64_t *ret, struct kerr *err);
    int (*cpus)(void *arg, const char *dir, struct cpuset *ret, struct kerr *err); /* effective */
    void *arg;
};
#endif
