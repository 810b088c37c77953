/* suppress.h - how much CPU best-effort pods may use, and by which means they are held to it.
 *
 * What the node may use, less what all others use, is best effort's budget. It becomes a set of
 * CPUs or a quota of the best-effort class (koordlet-qos 5). Pure: decisions come from what is
 * handed in, and go into a plan. Memory is the caller's arena.
 */
#ifndef KOORD_KOORDLET_QOS_SUPPRESS_SUPPRESS_H
#define KOORD_KOORDLET_QOS_SUPPRESS_SUPPRESS_H
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "koordlet/executor/plan.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/kernel/host.h"
#include "koordlet/states/podset.h"

/* ---- the budget (4.2, 5.2) ------------------------------------------------------------------- */

struct suppress_used {      /* of a pod that has a sample */
    const struct npod *pod; /* NULL: nobody the kubelet knows */
    double cores;
};
struct suppress_app { /* of a host application that has a sample */
    const struct host_application *app;
    double cores;
};
struct suppress_usage {
    double node_cores;
    const struct suppress_used *pods;
    const struct suppress_app *apps;
    uint32_t npods, napps;
};
struct suppress_budget { /* milli-cores, and what they are made of */
    int64_t milli;       /* may be negative */
    int64_t capacity, allowed, pods, apps, system;
};
struct suppress_budget suppress_budget(const struct node *node,
                                       const struct threshold_strategy *slo,
                                       const struct suppress_usage *u, struct arena *a);

/* ---- CPUs (5.3, 5.5) ------------------------------------------------------------------------- */

struct suppress_machine {
    const struct cpu_info *cpus;
    const kstrmap *topology; /* annotations of the NodeResourceTopology */
    struct npod *const *pods;
    uint32_t npods;
};
/* What best effort may have when nobody holds it back: not the CPUs of LSE pods, nor those that are
 * reserved or the system's alone. */
struct cpuset suppress_share(const struct suppress_machine *m, struct arena *a);
/* CPUs for the budget, when best effort has `old` now. Empty: too few are left; leave it as it is.
 */
struct cpuset suppress_cpus(const struct suppress_machine *m, int64_t milli,
                            const struct cpuset *old, struct arena *a);
/* Takes k of these CPUs: whole cores first, in turn from the NUMA nodes, the largest first. Writes
 * them in the order they were taken; false: there are fewer. */
bool suppress_pick(const struct cpu_place *from, uint32_t n, uint32_t k, struct arena *a,
                   int32_t *ret);

/* ---- the quota (5.4) ------------------------------------------------------------------------- */

/* The quota of the class for the budget; `now` itself when a write is not worth it. */
int64_t suppress_quota(int64_t capacity_milli, int64_t milli, int64_t now);

/* ---- a decision ------------------------------------------------------------------------------ */

struct suppress_decision {
    int64_t quota;       /* of the class; -1: none */
    struct cpuset cpus;  /* of containers; empty: nothing is proposed for any cpuset */
    struct cpuset outer; /* of the class and the pods */
    bool keep_bound;     /* containers whose CPUs the scheduler chose are left alone */
    enum { SUPPRESS_NOTHING, SUPPRESS_BY_CPUS, SUPPRESS_BY_QUOTA } by;
    struct suppress_budget budget; /* of the last two */
};
struct suppress_in {
    const struct snapshot *known;
    struct suppress_machine machine;
    bool be_manager; /* gate BECPUManager */
    /* false: no sample of the node. */
    bool usage_known;
    struct suppress_usage usage;
    struct plan_view view; /* what the class has now */
    const struct cgroup_layout *driver;
};
/* 1 and a decision; 0: something is not known, and what was decided last stands. */
int suppress_decide(const struct suppress_in *in, struct arena *a, struct suppress_decision *ret);
/* The decision for the class, its pods and their running containers. */
void suppress_propose(const struct suppress_decision *d, const struct suppress_in *in,
                      struct plan *p);
#endif
