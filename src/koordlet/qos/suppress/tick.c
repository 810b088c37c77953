/* tick.c - CPUSuppress in the table of strategies: samples in, a plan out (koordlet-qos 5.1). */
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/suppress/suppress.h"
#include "koordlet/qos/usage.h"
#include "loop/loop.h"

static const struct metric_desc suppressed_desc = { "koordlet_be_suppress_cpu_cores",
                                                    "CPU cores that best-effort pods may use.",
                                                    METRIC_GAUGE, .labels = { "node", "type" } };
static const struct metric_desc used_desc = {
    "koordlet_be_suppress_ls_used_cpu_cores",
    "CPU cores that pods other than best-effort ones use, when best effort is held back.",
    METRIC_GAUGE, .labels = { "node" }
};

struct self {
    struct arena *arena;
    struct suppress_decision last; /* what stands */
    struct podset *pods;           /* for these; a reference. NULL: nothing was proposed yet */
    struct metric *suppressed;
    struct gauge *by_cpus, *by_quota; /* of it; NULL: not shown yet */
    struct gauge *used;
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_BE_CPU_SUPPRESS) ? o->acting.cpu_suppress * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    struct self *s = xnew0(struct self);

    s->arena = arena_new();
    s->suppressed = metrics_add(e->internal, &suppressed_desc);
    s->used = metric_gauge(metrics_add(e->internal, &used_desc), METRIC_VALUES(e->node_name));
    return s;
}

static void destroy(void *self)
{
    struct self *s = self;

    podset_unref(s->pods);
    arena_free(s->arena);
    free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool read_usage(struct self *s, const struct qos_env *e, const struct snapshot *known,
                       struct suppress_usage *ret)
{
    const struct usage_in u = { e->mc, loop_wall(e->loop), e->o->collect.interval };
    const host_applicationlist *apps = &known->slo->host_applications;
    struct suppress_used *pods = arena_newn0(s->arena, known->pods->n + 1, struct suppress_used);
    struct suppress_app *used = arena_newn0(s->arena, apps->n + 1, struct suppress_app);

    *ret = (struct suppress_usage){ .pods = pods, .apps = used };
    if (!usage_last(&u, M_NODE_CPU, NULL, &ret->node_cores))
        return false;
    for (uint32_t i = 0; i < known->pods->n; i++) {
        const struct npod *p = known->pods->pods[i];
        double cores;
        if (usage_last(&u, M_POD_CPU, (const char *const[]){ p->uid }, &cores))
            pods[ret->npods++] = (struct suppress_used){ p, cores };
    }
    for (uint32_t i = 0; i < apps->n; i++) {
        double cores;
        if (usage_last(&u, M_HOST_APP_CPU, (const char *const[]){ apps->items[i].name }, &cores))
            used[ret->napps++] = (struct suppress_app){ &apps->items[i], cores };
    }
    return true;
}

/* ---- a round --------------------------------------------------------------------------------- */

static bool same_files(const struct suppress_decision *a, const struct suppress_decision *b)
{
    return a->quota == b->quota && a->keep_bound == b->keep_bound &&
           cpuset_equal(&a->cpus, &b->cpus) && cpuset_equal(&a->outer, &b->outer);
}

static void show(struct self *s, const struct qos_env *e, const struct suppress_decision *d)
{
    if (d->by == SUPPRESS_NOTHING)
        return;
    bool quota = d->by == SUPPRESS_BY_QUOTA;
    struct gauge **g = quota ? &s->by_quota : &s->by_cpus;
    if (!*g)
        *g =
            metric_gauge(s->suppressed, METRIC_VALUES(e->node_name, quota ? "cfsQuota" : "cpuset"));
    if (quota)
        gauge_set(*g, (double)d->quota / CFS_PERIOD_US);
    else if (!cpuset_is_empty(&d->cpus))
        gauge_set(*g, cpuset_count(&d->cpus));
    gauge_set(s->used, (double)d->budget.pods / 1000);
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);
    struct suppress_decision d;

    if (!e->host->driver_known || !known->pods || !known->slo)
        return;
    arena_reset(s->arena);
    struct suppress_in in = {
        .known = known,
        .machine = { e->collect->cpu_info, e->topology(e->topology_arg), known->pods->pods,
                     known->pods->n },
        .be_manager = gates_on(&e->o->gates, GATE_BE_CPU_MANAGER),
        .view = executor_view(e->executor),
        .driver = e->host->driver,
    };
    in.usage_known = read_usage(s, e, known, &in.usage);
    if (suppress_decide(&in, s->arena, &d) == 0)
        return;
    show(s, e, &d);
    /* Too few CPUs for the budget: what stands is better than nothing. */
    if (d.by == SUPPRESS_BY_CPUS && cpuset_is_empty(&d.cpus)) {
        d.cpus = s->last.cpus;
        d.outer = s->last.outer;
    }
    if (s->pods == known->pods && same_files(&d, &s->last))
        return;
    struct plan *p = executor_plan(e->executor, PLAN_CPU_SUPPRESS, known);
    suppress_propose(&d, &in, p);
    executor_submit(e->executor, p);
    podset_unref(s->pods);
    s->pods = podset_ref(known->pods);
    s->last = d;
}

const struct qos_strategy strategy_cpu_suppress = { "CPUSuppress", interval, setup, destroy, tick };
