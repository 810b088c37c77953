/* evict.c - from samples to tasks, from tasks to evictions, with cool-downs (koordlet-qos 7, 8). */
#include <stdio.h>

#include "base/klog.h"
#include "koordlet/qos/evict/evictor.h"
#include "koordlet/qos/evict/task.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/usage.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"

enum { TASKS = 3 };

static const enum koordlet_gate gate_of[EVICT_FEATURES] = {
    [EVICT_FEATURE_BE_CPU] = GATE_BE_CPU_EVICT,
    [EVICT_FEATURE_CPU_ALLOCATABLE] = GATE_CPU_ALLOCATABLE_EVICT,
    [EVICT_FEATURE_CPU] = GATE_CPU_EVICT,
    [EVICT_FEATURE_BE_MEMORY] = GATE_BE_MEMORY_EVICT,
    [EVICT_FEATURE_MEMORY_ALLOCATABLE] = GATE_MEMORY_ALLOCATABLE_EVICT,
    [EVICT_FEATURE_MEMORY] = GATE_MEMORY_EVICT,
};

struct evict_strategy {
    const struct qos_env *env;
    enum evict_feature first; /* of TASKS */
    nsec_t cool;              /* how long to wait after an eviction */
    nsec_t last;              /* eviction, monotonic */
    bool has_last;
    struct complaint complaints[TASKS];

    /* The run; known NULL: none is under way. */
    const struct snapshot *known; /* a reference */
    struct arena *arena;
    struct evict_task tasks[TASKS];
    struct evict_run run;
};

/* ---- life ------------------------------------------------------------------------------------ */

static struct evict_strategy *strategy_new(struct qos_env *env, enum evict_feature first,
                                           nsec_t cool)
{
    struct evict_strategy *s = xnew0(struct evict_strategy);

    s->env = env;
    s->first = first;
    s->cool = cool;
    s->arena = arena_new();
    return s;
}

/* Its first cool-down begins with the process: the averages need time. */
static void *cpu_setup(struct qos_env *env)
{
    struct evict_strategy *s =
        strategy_new(env, EVICT_FEATURE_BE_CPU, env->o->acting.cpu_evict_cool * NSEC_PER_SEC);

    s->last = loop_mono(env->loop);
    s->has_last = true;
    return s;
}

static void *memory_setup(struct qos_env *env)
{
    return strategy_new(env, EVICT_FEATURE_BE_MEMORY,
                        env->o->acting.memory_evict_cool * NSEC_PER_SEC);
}

static void destroy(void *self)
{
    struct evict_strategy *s = self;

    snapshot_unref(s->known);
    arena_free(s->arena);
    free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool pod_used(void *arg, const struct npod *p, enum evict_usage what, double *ret)
{
    return usage_last(arg, what == EVICT_USED_CPU ? M_POD_CPU : M_POD_MEMORY,
                      (const char *const[]){ p->uid }, ret);
}

static bool read_be(const struct usage_in *u, int64_t window, struct evict_in *in)
{
    static const char *const names[] = { "usage", "request", "real-limit" };
    double *avg[] = { &in->be_avg.usage, &in->be_avg.request, &in->be_avg.real_limit };
    double *last[] = { &in->be_last.usage, &in->be_last.request, &in->be_last.real_limit };

    in->be_samples = INT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *const labels[] = { "cpu", names[i] };
        double n;
        if (!usage_over(u, M_NODE_BE, labels, window * NSEC_PER_SEC, WINDOW_AVG, avg[i]) ||
            !usage_over(u, M_NODE_BE, labels, window * NSEC_PER_SEC, WINDOW_COUNT, &n) ||
            !usage_last(u, M_NODE_BE, labels, last[i]))
            return false;
        in->be_samples = MIN(in->be_samples, (int64_t)n);
    }
    return true;
}

static void read_samples(const struct evict_strategy *s, struct usage_in *u, struct evict_in *in)
{
    int64_t window = evict_window_seconds(in->slo, s->env->o->collect.interval);

    in->used = pod_used;
    in->arg = u;
    if (s->first == EVICT_FEATURE_BE_MEMORY) {
        in->node_bytes.set = usage_last(u, M_NODE_MEMORY, NULL, &in->node_bytes.v);
        return;
    }
    in->node_cores.set =
        usage_over(u, M_NODE_CPU, NULL, window * NSEC_PER_SEC, WINDOW_AVG, &in->node_cores.v);
    if (gates_on(&s->env->o->gates, GATE_BE_CPU_EVICT))
        in->be_known = read_be(u, window, in);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool is_pending(void *arg, uint32_t pod)
{
    const struct evict_strategy *s = arg;

    return evictor_pending(s->env->evictor, s->known->pods->pods[pod]);
}

static void next_victim(struct evict_strategy *s);

static void on_outcome(void *arg, enum evict_outcome outcome)
{
    struct evict_strategy *s = arg;

    evict_run_result(&s->run, outcome == EVICT_DONE);
    if (outcome == EVICT_DONE) {
        s->last = loop_mono(s->env->loop);
        s->has_last = true;
    }
    if (outcome == EVICT_LOST) /* the next tick finds out whether the pod is still there */
        s->known = snapshot_unref(s->known);
    else
        next_victim(s);
}

static bool find_victim(struct evict_strategy *s, uint32_t *ret, const struct evict_task **ret_task)
{
    while (evict_run_next(&s->run, is_pending, s, ret, ret_task)) {
        if (evictor_may_try(s->env->evictor, s->known->pods->pods[*ret]))
            return true;
        evict_run_result(&s->run, false);
    }
    return false;
}

static void next_victim(struct evict_strategy *s)
{
    const struct evict_task *t;
    uint32_t pod;
    char why[64];

    if (!find_victim(s, &pod, &t)) {
        s->known = snapshot_unref(s->known);
        return;
    }
    snprintf(why, sizeof why, "trigger by koordlet feature %s", evict_feature_names[t->feature]);
    evictor_evict(s->env->evictor, s->known->pods->pods[pod], why, on_outcome, s);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

static bool is_enabled(const struct snapshot *known)
{
    return known->node && known->pods && known->slo && known->slo->threshold &&
           known->slo->threshold->enable.set && known->slo->threshold->enable.v;
}

static void complain(struct evict_strategy *s, int which, const struct kerr *err)
{
    if (complaint_due(&s->complaints[which], loop_mono(s->env->loop)))
        KLOG_W("An eviction feature has a NodeSLO that it cannot follow", KV_S("error", err->text));
}

static void tick(void *self, struct qos_env *e)
{
    struct evict_strategy *s = self;
    const struct snapshot *known = snapshots_get(s->env->snapshots);
    uint32_t n = 0;

    (void)e;
    if (s->known || (s->has_last && loop_mono(s->env->loop) - s->last < s->cool) ||
        !is_enabled(known))
        return;
    struct usage_in u = { s->env->mc, loop_wall(s->env->loop), s->env->o->collect.interval };
    struct evict_in in = { .node = known->node,
                           .pods = known->pods->pods,
                           .npods = known->pods->n,
                           .slo = known->slo->threshold,
                           .collect_interval = s->env->o->collect.interval };
    arena_reset(s->arena);
    read_samples(s, &u, &in);
    for (int i = 0; i < TASKS; i++) {
        enum evict_feature f = s->first + (enum evict_feature)i;
        struct kerr err;
        int r = gates_on(&s->env->o->gates, gate_of[f])
                    ? evict_task_make(f, &in, s->arena, &s->tasks[n], &err)
                    : 0;
        if (r < 0)
            complain(s, i, &err);
        else
            complaint_over(&s->complaints[i]);
        n += r > 0;
    }
    if (n == 0)
        return;
    s->known = snapshot_ref(known);
    evict_run_init(&s->run, s->tasks, n, in.npods, s->arena);
    next_victim(s);
}

/* ---- in the table of strategies -------------------------------------------------------------- */

static nsec_t interval_of(const struct koordlet_options *o, enum evict_feature first, nsec_t every)
{
    for (unsigned i = 0; i < TASKS; i++)
        if (gates_on(&o->gates, gate_of[first + i]))
            return every;
    return 0;
}

static nsec_t cpu_interval(const struct koordlet_options *o)
{
    return interval_of(o, EVICT_FEATURE_BE_CPU, o->acting.cpu_evict * NSEC_PER_SEC);
}

static nsec_t memory_interval(const struct koordlet_options *o)
{
    return interval_of(o, EVICT_FEATURE_BE_MEMORY, o->acting.memory_evict * NSEC_PER_SEC);
}

const struct qos_strategy strategy_cpu_evict = { "CPUEvict", cpu_interval, cpu_setup, destroy,
                                                 tick };
const struct qos_strategy strategy_memory_evict = { "MemoryEvict", memory_interval, memory_setup,
                                                    destroy, tick };
