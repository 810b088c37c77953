/* tick.c - the interference guard in the table of strategies. */
#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/qos/guard/guard.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/usage.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"

static const struct metric_desc cap_desc = {
    "koordlet_be_guard_cpu_cores",
    "CPU cores that the interference guard leaves to best-effort pods; -1: it does not interfere.",
    METRIC_GAUGE, .labels = { "node" }
};
static const struct metric_desc halved_desc = {
    "koordlet_be_guard_halved_total",
    "How often the interference guard halved what best-effort pods may use.", METRIC_COUNTER,
    .labels = { "node" }
};

struct self {
    struct delays *delays;
    int64_t cap; /* milli-cores; 0: none */
    struct gauge *shown;
    struct counter *halved;
    struct complaint complaint;
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_INTERFERENCE_GUARD) ? o->acting.cpu_suppress * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    struct self *s = xnew0(struct self);

    s->delays = delays_new(e->host);
    s->shown = metric_gauge(metrics_add(e->internal, &cap_desc), METRIC_VALUES(e->node_name));
    s->halved = metric_counter(metrics_add(e->internal, &halved_desc), METRIC_VALUES(e->node_name));
    gauge_set(s->shown, -1);
    return s;
}

static void destroy(void *self)
{
    struct self *s = self;

    delays_free(s->delays);
    free(s);
}

static void submit(struct self *s, struct qos_env *e, const struct snapshot *known,
                   const struct delays_worst *w)
{
    struct plan *p = executor_plan(e->executor, PLAN_INTERFERENCE_GUARD, known);
    struct plan_at at = { .dir = cgroup_qos_dir(e->host->driver, KUBE_QOS_BEST_EFFORT) };

    if (s->cap > 0) {
        plan_number(p, at, PLAN_CPU_QUOTA, s->cap * CFS_PERIOD_US / 1000)->rule = PLAN_AT_MOST;
        PLAN_BECAUSE(p, { "waited, per mille of the time", (int64_t)(w->waited * 1000), NULL });
    }
    executor_submit(e->executor, p);
    gauge_set(s->shown, s->cap > 0 ? (double)s->cap / 1000 : -1);
}

static void tell(struct self *s, struct qos_env *e, const struct delays_worst *w)
{
    counter_inc(s->halved);
    if (complaint_due(&s->complaint, loop_mono(e->loop)))
        KLOG_I(0, "Best effort gives way: a service has to wait",
               KV_S("namespace", npod_pod(w->pod)->obj.meta.ns),
               KV_S("pod", npod_pod(w->pod)->obj.meta.name), KV_S("container", w->container),
               KV_I("perMille", (int64_t)(w->waited * 1000)));
}

static void tick(void *self, struct qos_env *e)
{
    static const char *const usage[] = { "cpu", "usage" };
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);
    const struct usage_in u = { e->mc, loop_wall(e->loop), e->o->collect.interval };
    struct plan_view view = executor_view(e->executor);
    struct guard_in in = { .quota_us = -1 };
    double used;

    if (!e->host->driver_known || !known->node || !known->pods)
        return;
    struct delays_worst w = delays_round(s->delays, known->pods, loop_mono(e->loop));
    in.waited = w.waited; /* 0 where there is no service */
    in.capacity = qty_milli(reslist_get(&known->node->status.capacity, RES_CPU));
    if (view.number(view.arg, cgroup_qos_dir(e->host->driver, KUBE_QOS_BEST_EFFORT), PLAN_CPU_QUOTA,
                    &in.quota_us, NULL) < 0 ||
        in.capacity <= 0)
        return;
    if (usage_last(&u, M_NODE_BE, usage, &used))
        in.used = i64_from_f64(used);
    int64_t next = guard_next(s->cap, &in);
    if (next > 0 && (s->cap == 0 || next < s->cap))
        tell(s, e, &w);
    if (next == s->cap)
        return;
    s->cap = next;
    submit(s, e, known, &w);
}

const struct qos_strategy strategy_interference_guard = { "InterferenceGuard", interval, setup,
                                                          destroy, tick };
