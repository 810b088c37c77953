/* task.c - tasks of eviction and the run over them (koordlet-qos 6.1, 6.2). */
#include "koordlet/qos/evict/task.h"

#include "api/protocol/slo.h"
#include "base/num.h"
#include "koordlet/qos/evict/task_int.h"

const char *const evict_feature_names[EVICT_FEATURES] = {
    [EVICT_FEATURE_BE_CPU] = EVICT_BE_CPU,
    [EVICT_FEATURE_CPU_ALLOCATABLE] = EVICT_CPU_ALLOCATABLE,
    [EVICT_FEATURE_CPU] = EVICT_CPU,
    [EVICT_FEATURE_BE_MEMORY] = EVICT_BE_MEMORY,
    [EVICT_FEATURE_MEMORY_ALLOCATABLE] = EVICT_MEMORY_ALLOCATABLE,
    [EVICT_FEATURE_MEMORY] = EVICT_MEMORY,
};
const char *const evict_resource_names[EVICT_RESOURCES] = {
    [EVICT_CPU_MILLI] = RES_CPU,       [EVICT_MEMORY_BYTES] = RES_MEMORY,
    [EVICT_BATCH_CPU] = RES_BATCH_CPU, [EVICT_BATCH_MEMORY] = RES_BATCH_MEMORY,
    [EVICT_MID_CPU] = RES_MID_CPU,     [EVICT_MID_MEMORY] = RES_MID_MEMORY,
};

/* ---- amounts --------------------------------------------------------------------------------- */

void evict_put(struct evict_amounts *a, enum evict_resource r, int64_t v)
{
    a->v[r] = v;
    a->has = (uint8_t)(a->has | 1U << r);
}

static void add_amounts(struct evict_amounts *to, const struct evict_amounts *more)
{
    for (unsigned r = 0; r < EVICT_RESOURCES; r++)
        if (evict_has(more, r))
            evict_put(to, r, i64_add_sat(to->v[r], more->v[r]));
}

static void max_amounts(struct evict_amounts *to, const struct evict_amounts *other)
{
    for (unsigned r = 0; r < EVICT_RESOURCES; r++)
        if (evict_has(other, r))
            evict_put(to, r, evict_has(to, r) ? MAX(to->v[r], other->v[r]) : other->v[r]);
}

static bool any_positive(const struct evict_amounts *a)
{
    for (unsigned r = 0; r < EVICT_RESOURCES; r++)
        if (a->v[r] > 0)
            return true;
    return false;
}

/* ---- making tasks ---------------------------------------------------------------------------- */

int64_t evict_window_seconds(const struct threshold_strategy *slo, nsec_t collect_interval)
{
    int64_t interval = collect_interval / NSEC_PER_SEC;

    return slo->cpu_evict_time_window_seconds.set
               ? MAX(interval, slo->cpu_evict_time_window_seconds.v)
               : interval;
}

int evict_task_make(enum evict_feature f, const struct evict_in *in, struct arena *a,
                    struct evict_task *ret, struct kerr *err)
{
    int r = 0;

    *ret = (struct evict_task){ .feature = f };
    switch (f) {
    case EVICT_FEATURE_BE_CPU: r = evict_make_be_cpu(in, a, ret, err); break;
    case EVICT_FEATURE_CPU: r = evict_make_cpu(in, a, ret, err); break;
    case EVICT_FEATURE_BE_MEMORY:
    case EVICT_FEATURE_MEMORY: r = evict_make_memory(in, a, ret, err); break;
    case EVICT_FEATURE_CPU_ALLOCATABLE:
    case EVICT_FEATURE_MEMORY_ALLOCATABLE: r = evict_make_allocatable(in, a, ret, err); break;
    case EVICT_FEATURES: break;
    }
    if (r < 0)
        kerr_wrap(err, "skip %s evict feature %s, invalid config",
                  evict_feature_usage(f) == EVICT_USED_CPU ? "cpu" : "memory",
                  evict_feature_names[f]);
    return r;
}

/* ---- the run --------------------------------------------------------------------------------- */

void evict_run_init(struct evict_run *r, const struct evict_task *tasks, uint32_t ntasks,
                    uint32_t npods, struct arena *a)
{
    bool positive[EVICT_KINDS] = { false };

    *r = (struct evict_run){ .tasks = tasks, .ntasks = ntasks, .npods = npods };
    r->handled = arena_newn0(a, npods + 1, bool);
    r->contributes = arena_newn0(a, ntasks + 1, bool);
    for (uint32_t i = 0; i < ntasks; i++) {
        positive[tasks[i].kind] = positive[tasks[i].kind] || any_positive(&tasks[i].to_release);
        r->contributes[i] = positive[tasks[i].kind];
    }
}

bool evict_run_satisfied(const struct evict_run *r, const struct evict_task *t)
{
    for (unsigned i = 0; i < EVICT_RESOURCES; i++)
        if (evict_has(&t->to_release, i) && t->to_release.v[i] > r->released[t->kind].v[i])
            return false;
    return true;
}

/* Several tasks may count the same resource of a pod: the largest, once. */
static void release(struct evict_run *r, uint32_t pod)
{
    r->handled[pod] = true;
    for (unsigned k = 0; k < EVICT_KINDS; k++) {
        struct evict_amounts sum = { .has = 0 };
        for (uint32_t i = 0; i < r->ntasks; i++)
            if (r->contributes[i] && r->tasks[i].kind == k)
                max_amounts(&sum, &r->tasks[i].gives[pod]);
        add_amounts(&r->released[k], &sum);
    }
}

bool evict_run_next(struct evict_run *r, evict_pending_fn pending, void *arg, uint32_t *ret_pod,
                    const struct evict_task **ret_task)
{
    for (; r->task < r->ntasks; r->task++, r->next = 0) {
        const struct evict_task *t = &r->tasks[r->task];
        while (!evict_run_satisfied(r, t) && r->next < t->ncandidates) {
            uint32_t pod = t->candidates[r->next++];
            if (r->handled[pod])
                continue;
            if (pending(arg, pod)) {
                release(r, pod);
                continue;
            }
            r->victim = *ret_pod = pod;
            *ret_task = t;
            return true;
        }
    }
    return false;
}

void evict_run_result(struct evict_run *r, bool success)
{
    if (!success)
        return;
    release(r, r->victim);
    r->evicted = true;
}
