/* hooks.h - runtime hooks: what a pod or container shall get beyond what the kubelet asks for.
 *
 * A plugin is a struct of pure functions: rules (made from NodeSLO, Node and NodeResourceTopology)
 * and a context (one pod or container) in, a response in the context out. Who delivers responses is
 * another matter: the reconciler turns them into plans for the executor; a runtime proxy or NRI
 * server fills the context from its message and answers with the response (koordlet-qos 14).
 * Nothing here does I/O but where a plugin says so. Loop thread only.
 */
#ifndef KOORD_KOORDLET_HOOKS_HOOKS_H
#define KOORD_KOORDLET_HOOKS_HOOKS_H
#include "api/protocol/hint.h"
#include "base/vec.h"
#include "koordlet/options.h"
#include "koordlet/states/snapshot.h"

struct hook_rules;
struct metrics;

enum hook_stage {
    HOOK_PRE_RUN_POD_SANDBOX,
    HOOK_PRE_CREATE_CONTAINER,
    HOOK_PRE_START_CONTAINER,
    HOOK_POST_START_CONTAINER,
    HOOK_POST_STOP_CONTAINER,
    HOOK_POST_STOP_POD_SANDBOX,
    HOOK_PRE_UPDATE_CONTAINER,
    HOOK_PRE_REMOVE_POD_SANDBOX,
    HOOK_STAGES
};

/* ---- context --------------------------------------------------------------------------------- */

struct hook_resources { /* what is not set is left alone */
    struct opt_i64 cpu_shares, cfs_quota, memory_limit;
    const char *cpuset; /* NULL: left alone; "": cleared, by a runtime only */
    struct opt_i64 bvt, cpu_idle, net_cls_classid;
};
struct hook_env {
    const char *name, *value;
};
struct hook_mount {
    const char *source, *destination; /* options rbind */
};
struct hook_device { /* a character device */
    const char *path;
    int64_t major, minor;
    uint32_t mode;
};
struct hook_resctrl {
    const char *closid;   /* the group, "koordlet-<uid>"; NULL: none */
    const char *schemata; /* NULL: left alone */
};

struct hook_context {
    struct arena *arena; /* what responses are made of */
    /* The request. Texts are borrowed. */
    const char *ns, *name, *uid;
    const kstrmap *labels, *annotations;
    const char *cgroup_parent; /* of the pod, or of the container below it */
    const char *container;     /* its name; NULL: this is about the pod */
    const char *container_id;  /* "containerd://..."; NULL: not known */
    bool is_sandbox;
    struct hook_resources requested;           /* what it has or asks for */
    const struct extended_container *extended; /* batch resources of the container; NULL: none */
    KLIST(struct extended_container) extended_all; /* of all containers, in a pod's context */
    /* The response. */
    struct hook_resources response;
    struct hook_resctrl resctrl;
    struct vec_of(struct hook_env) envs;
    struct vec_of(struct hook_mount) mounts;
    struct vec_of(struct hook_device) devices;
};
void hook_context_fini(struct hook_context *c);
static inline UNUSED void hook_context_fini_p(struct hook_context *c)
{
    hook_context_fini(c);
}
/* Contexts in reconcile mode, from the pod as the kubelet tells it: resources and batch resources
 * of the spec, batch resources of the annotation where the spec has none. The response is empty;
 * hook_context_fini() ends it. */
void hook_context_pod(const struct npod *p, struct arena *a, struct hook_context *ret);
/* of: a regular or init container of the spec; status NULL: not started. */
void hook_context_container(const struct npod *p, const struct container *of,
                            const struct npod_container *status, struct arena *a,
                            struct hook_context *ret);

/* ---- plugins --------------------------------------------------------------------------------- */

typedef int (*hook_fn)(const struct hook_rules *r, struct hook_context *c, struct kerr *err);

struct hook_plugin {
    const char *name; /* also the name of its hooks; "gpu env inject" */
    enum koordlet_gate gate;
    hook_fn stages[HOOK_STAGES];
};
extern const struct hook_plugin hook_batch_resource, hook_cpu_normalization, hook_cpuset_allocator,
    hook_group_identity, hook_gpu_env, hook_rdma_device, hook_resctrl;
/* In the order of their names, which is the order in which they run; ends with NULL. */
extern const struct hook_plugin *const hook_plugins[];

const char *hook_stage_name(enum hook_stage s); /* "PreRunPodSandbox" */

enum hook_failure_policy { HOOK_IGNORE, HOOK_FAIL };
struct hook_runner {         /* which hooks run, and what a failure means */
    bool on[KOORDLET_GATES]; /* by gate */
    enum hook_failure_policy policy;
    struct metrics *metrics; /* NULL: none */
    const char *node_name;
    nsec_t (*stopwatch)(void *arg); /* NULL: durations are 0 */
    void *stopwatch_arg;
};
/* Some hook of the stage is on. */
bool hooks_any(const struct hook_runner *h, enum hook_stage s);
/* All hooks of the stage, in ascending order of their names. A failure is logged and counted; with
 * HOOK_FAIL the run ends with it, else it goes on and 0 is returned. */
int hooks_run(const struct hook_runner *h, enum hook_stage s, const struct hook_rules *r,
              struct hook_context *c, struct kerr *err);
#endif
