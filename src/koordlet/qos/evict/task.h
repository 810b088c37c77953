/* task.h - who has to go for the node's sake, in which order, and until how much is released.
 *
 * A feature (koordlet-qos 6 to 8) looks at the node and makes a task: amounts to release,
 * candidates in order, and what each pod of the node would release. Several tasks are one run,
 * which hands out victims one at a time, because whether an eviction succeeds decides about the
 * next. Pure: no I/O, no clock; everything is in the arena and borrows from the pods, which the
 * caller keeps.
 */
#ifndef KOORD_KOORDLET_QOS_EVICT_TASK_H
#define KOORD_KOORDLET_QOS_EVICT_TASK_H
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "base/arena.h"
#include "koordlet/states/podset.h"

enum evict_feature { /* in the order of their tasks */
                     EVICT_FEATURE_BE_CPU,
                     EVICT_FEATURE_CPU_ALLOCATABLE,
                     EVICT_FEATURE_CPU,
                     EVICT_FEATURE_BE_MEMORY,
                     EVICT_FEATURE_MEMORY_ALLOCATABLE,
                     EVICT_FEATURE_MEMORY,
                     EVICT_FEATURES
};
extern const char *const evict_feature_names[EVICT_FEATURES]; /* "BECPUEvict" ... */

/* ---- amounts --------------------------------------------------------------------------------- */

enum evict_resource { /* cpu in milli-cores; the others in their own unit */
                      EVICT_CPU_MILLI,
                      EVICT_MEMORY_BYTES,
                      EVICT_BATCH_CPU,
                      EVICT_BATCH_MEMORY,
                      EVICT_MID_CPU,
                      EVICT_MID_MEMORY,
                      EVICT_RESOURCES
};
extern const char *const evict_resource_names[EVICT_RESOURCES]; /* "kubernetes.io/batch-cpu" */

struct evict_amounts { /* all zero is the empty one */
    int64_t v[EVICT_RESOURCES];
    uint8_t has; /* a bit per resource */
};
static inline bool evict_has(const struct evict_amounts *a, enum evict_resource r)
{
    return a->has >> r & 1;
}
void evict_put(struct evict_amounts *a, enum evict_resource r, int64_t v);

/* ---- what a task is made from ---------------------------------------------------------------- */

enum evict_usage { EVICT_USED_CPU, EVICT_USED_MEMORY }; /* cores; bytes */
struct evict_be_cpu {                                   /* milli-cores of all best-effort pods */
    double usage, request, real_limit;
};
struct evict_in {
    const struct node *node; /* never NULL */
    struct npod *const *pods;
    uint32_t npods;
    const struct threshold_strategy *slo;
    nsec_t collect_interval;
    /* What the node used: CPU on average over the window, memory last. Not set: no sample. */
    struct opt_f64 node_cores, node_bytes;
    /* Of the window of evict_window_seconds(), and last. Both or none. */
    bool be_known;
    struct evict_be_cpu be_avg, be_last;
    int64_t be_samples; /* of the window: the fewest of the three */
    /* What a pod used last; false: no sample. Asked only for pods that matter. */
    bool (*used)(void *arg, const struct npod *p, enum evict_usage what, double *ret);
    void *arg;
};
/* Over how many seconds the CPU evictors average. */
int64_t evict_window_seconds(const struct threshold_strategy *slo, nsec_t collect_interval);

/* ---- tasks ----------------------------------------------------------------------------------- */

enum evict_kind { EVICT_POD_USED, EVICT_POD_REQUEST, EVICT_KINDS };
struct evict_task {
    enum evict_feature feature;
    enum evict_kind kind;
    struct evict_amounts to_release;
    const uint32_t *candidates; /* indices of in->pods, first victim first */
    uint32_t ncandidates;
    const struct evict_amounts *gives; /* by index of in->pods */
};
/* 1 and the task; 0: nothing is to be released; -EINVAL: the NodeSLO's values for this feature make
 * no sense, in upstream's words. */
int evict_task_make(enum evict_feature f, const struct evict_in *in, struct arena *a,
                    struct evict_task *ret, struct kerr *err);

/* ---- a run ----------------------------------------------------------------------------------- */

struct evict_run {
    const struct evict_task *tasks;
    uint32_t ntasks, npods;
    bool *handled, *contributes; /* by pod; by task */
    struct evict_amounts released[EVICT_KINDS];
    uint32_t task, next; /* where it stands */
    uint32_t victim;     /* the one that was handed out */
    bool evicted;        /* somebody was: the cool-down starts anew */
};
/* Whether a pod counts as released because it was evicted before and is still there. */
typedef bool (*evict_pending_fn)(void *arg, uint32_t pod);

void evict_run_init(struct evict_run *r, const struct evict_task *tasks, uint32_t ntasks,
                    uint32_t npods, struct arena *a);
/* The next victim: true with its index and the task that wants it; false: the run is over. */
bool evict_run_next(struct evict_run *r, evict_pending_fn pending, void *arg, uint32_t *ret_pod,
                    const struct evict_task **ret_task);
/* How the eviction of the last victim went. */
void evict_run_result(struct evict_run *r, bool success);
/* No resource of the task is short of its amount. */
bool evict_run_satisfied(const struct evict_run *r, const struct evict_task *t);
#endif
