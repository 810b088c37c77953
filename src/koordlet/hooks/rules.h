/* rules.h - what the hooks go by: decided once when NodeSLO, Node or NodeResourceTopology change.
 *
 * Immutable; made by hook_rules_new() from what is known, and replaced as a whole. What is bad in
 * one source is told and leaves that rule as if its source had said nothing; the others hold.
 */
#ifndef KOORD_KOORDLET_HOOKS_RULES_H
#define KOORD_KOORDLET_HOOKS_RULES_H
#include "api/koord/nodeslo.h"
#include "api/protocol/cpu.h"
#include "api/qos.h"
#include "base/arena.h"

enum { KUBE_QOS_COUNT = KUBE_QOS_BEST_EFFORT + 1 };

struct rule_group_identity {
    bool enable;
    int64_t pod[QOS_COUNT];           /* by the label's class; see has_pod */
    bool has_pod[QOS_COUNT];          /* others go by kube_pod */
    int64_t kube_pod[KUBE_QOS_COUNT]; /* of pods without a class of ours */
    int64_t kube_dir[KUBE_QOS_COUNT]; /* of the QoS directories */
};
struct rule_cpuset {
    bool known;
    struct cpu_shared_pools shared, best_effort;
    const char *kubelet_policy; /* "" when not told */
    const char *system_cpuset;  /* "" when there is none */
    bool be_cpu_manager;        /* the gate */
    bool keep_quota;            /* disable-unset-cpu-quota */
};
struct core_sched_class {
    bool enable, expeller, idle;
};
struct rule_core_sched {
    bool enable;
    struct core_sched_class pod[QOS_COUNT], kube[KUBE_QOS_COUNT];
};

struct rule_resctrl {
    bool known; /* mounted, and its caches are known */
    uint64_t cbm;
    const char *vendor;
    const int32_t *caches; /* ids of the L3 caches */
    uint32_t ncaches;
};

struct hook_rules {
    struct arena *arena;
    struct rule_group_identity bvt;
    struct rule_cpuset cpuset;
    bool batch_quota_off; /* suppression by cfsQuota limits the class instead */
    double ratio;         /* of CPU normalization; <= 0: off */
    struct rule_core_sched core;
    struct rule_resctrl resctrl;
    const char *hami_library; /* hami-core-library-directory-path */
    bool hami_monitor;        /* gate HamiCoreVGPUMonitor */
    int sys_fd;               /* of the host, for RDMA devices; -1: none */
    const char *dev_dir;      /* "/dev" */
};

struct hook_rules_in { /* NULL: not known yet */
    const struct nodeslo_spec *slo;
    const kstrmap *node_annotations, *topology_annotations;
    bool be_cpu_manager, keep_quota, hami_monitor;
    const char *hami_library;
    int sys_fd;
    const char *dev_dir; /* NULL: "/dev" */
    const struct rule_resctrl *resctrl;
};
/* err: the first thing that was bad; code 0 when nothing was. */
struct hook_rules *hook_rules_new(const struct hook_rules_in *in, struct kerr *err);
struct hook_rules *hook_rules_free(struct hook_rules *r);
DEFINE_CLEANUP(hook_rules_free, struct hook_rules *)
#endif
