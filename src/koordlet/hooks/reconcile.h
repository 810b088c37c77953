/* reconcile.h - the hooks in reconcile mode: plans for all pods of the node, whenever something
 * that they depend on changed (koordlet-qos 14.5).
 *
 * Listens to the snapshots; pods, NodeSLO, Node and topology make new rules or new plans, one plan
 * per plugin, which the executor writes and keeps. What is not a kernel file's value (threads of
 * resctrl groups, OOM scores) is looked at then and every interval. Loop thread only.
 */
#ifndef KOORD_KOORDLET_HOOKS_RECONCILE_H
#define KOORD_KOORDLET_HOOKS_RECONCILE_H
#include "koordlet/executor/executor.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/kernel/host.h"

#define TERWAY_DIR "/host-var-lib/terway/qos"

struct kube;
struct loop;
struct reconciler;

struct reconcile_env { /* borrowed */
    struct loop *loop;
    struct host *host;
    struct snapshots *snapshots;
    struct executor *executor;
    const struct koordlet_options *o;
    struct metrics *metrics; /* NULL: none */
    struct kube *kube;       /* for events; NULL: none */
    const char *node_name;
    /* The annotations of this node's NodeResourceTopology; NULL: not known yet. */
    const kstrmap *(*topology)(void *arg);
    void *topology_arg;
    const char *terway_dir; /* NULL: TERWAY_DIR */
};
struct reconciler *reconciler_new(const struct reconcile_env *env);
struct reconciler *reconciler_free(struct reconciler *r);
DEFINE_CLEANUP(reconciler_free, struct reconciler *)
void reconciler_start(struct reconciler *r);
/* The cgroup driver became known, or another one. */
void reconciler_wake(struct reconciler *r);
/* What the hooks go by now; good until the next turn. */
const struct hook_rules *reconciler_rules(struct reconciler *r);
/* In place of a start: puts everything back as plan_restore() says. Pods are known. */
void reconciler_restore(struct reconciler *r);

enum hook_level { HOOK_LEVEL_POD, HOOK_LEVEL_CONTAINER, HOOK_LEVEL_SANDBOX, HOOK_LEVELS };

/* ---- plans, pure: what a plugin wants of the files of this node ------------------------------- */

struct hook_view { /* what plans are made from */
    const struct hook_rules *rules;
    const struct snapshot *snapshot;
    const struct cgroup_layout *driver;
    bool has_bvt;          /* the kernel knows group identities */
    bool has_identity_ctl; /* sysctl sched_group_identity_enabled is there, */
    bool identity_ctl_on;  /* and is not 0 */
    bool has_core_ctl;     /* sysctl sched_core is there */
    /* The directory of a pod's sandbox; NULL: not known. */
    const char *(*sandbox)(void *arg, const struct npod *p, struct arena *a);
    /* A plugin refused a pod: its annotations are bad. */
    void (*refused)(void *arg, const struct hook_plugin *plugin, const struct npod *p,
                    const struct kerr *err);
    /* A plugin was asked about a pod, container or sandbox; began: by stopwatch. NULL: nobody
     * cares.
     */
    void (*asked)(void *arg, const struct hook_plugin *plugin, enum hook_level level,
                  const struct hook_resources *answer, nsec_t began, bool failed);
    nsec_t (*stopwatch)(void *arg);
    void *arg; /* of all */
};
void plan_group_identity(const struct hook_view *v, struct plan *p);
/* Isolation where the kernel has no group identities: best-effort pods are idle-class. */
void plan_cpu_idle(const struct hook_view *v, struct plan *p);
void plan_cpuset_allocator(const struct hook_view *v, struct plan *p);
void plan_batch_resource(const struct hook_view *v, struct plan *p);
void plan_cpu_normalization(const struct hook_view *v, struct plan *p);
/* Groups and schemata; threads are another matter. */
void plan_pod_resctrl(const struct hook_view *v, struct plan *p);
/* cpu.idle of classes with schedIdle, and the switch of the kernel. */
void plan_core_sched(const struct hook_view *v, struct plan *p);
/* Everything that the agent may have written, as the kubelet and the kernel had it: also after a
 * crash, since it is computed from the pod specs. cpus: of the machine. */
void plan_restore(const struct hook_view *v, const struct cpuset *cpus, struct plan *p);
/* The limits that disks have in the class of best effort and in pods. Reads files. */
void plan_restore_disks(const struct host *h, const struct podset *pods, struct plan *p);
/* What an agent that was killed may have left in pods, and the kubelet never writes: idle class,
 * burst, and a quota that is not the spec's. files: what the files hold. */
void plan_leftovers(const struct hook_view *v, const struct plan_view *files, struct plan *p);
/* What the kubelet wrote for its pods: what is put back, and what others start from. */
void plan_kubelet(const struct hook_view *v, struct plan *p);
#endif
