/* tick.c - CPUBurst in the table of strategies (koordlet-qos 9). */
#include "api/podresources.h"
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/executor.h"
#include "koordlet/qos/burst/burst.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/usage.h"
#include "loop/loop.h"

#define WINDOW_MAX (10 * NSEC_PER_SEC)

static const struct metric_desc burst_desc = {
    "koordlet_container_scaled_cfs_burst_us", "Planned cpu.cfs_burst_us of containers.",
    METRIC_GAUGE,
    .labels = { "node", "pod_namespace", "pod_name", "container_id", "container_name" }
};
static const struct metric_desc quota_desc = {
    "koordlet_container_scaled_cfs_quota_us", "Planned cpu.cfs_quota_us of containers.",
    METRIC_GAUGE,
    .labels = { "node", "pod_namespace", "pod_name", "container_id", "container_name" }
};

struct self {
    const struct qos_env *env;
    struct arena *arena;
    struct burst_state state;
    const struct snapshot *planned; /* a reference; NULL: nothing was proposed yet */
    struct metric *burst, *quota;
    struct usage_in usage;
};

/* ---- metrics --------------------------------------------------------------------------------- */

static void put_rows(const struct self *s, bool quota, metric_put_fn put, void *out)
{
    const struct podset *pods = s->planned ? s->planned->pods : NULL;

    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct objmeta *m = &npod_pod(pods->pods[i])->obj.meta;
        for (uint32_t k = 0; k < pods->pods[i]->ncontainers; k++) {
            const struct npod_container *c = &pods->pods[i]->containers[k];
            const struct burst_container *b = burst_find(&s->state, c->id);
            if (b)
                put(out,
                    METRIC_VALUES(s->env->node_name, m->ns ? m->ns : "", m->name, c->id, c->name),
                    (double)(quota ? b->quota : b->burst));
        }
    }
}

static void burst_rows(void *arg, metric_put_fn put, void *out)
{
    put_rows(arg, false, put, out);
}

static void quota_rows(void *arg, metric_put_fn put, void *out)
{
    put_rows(arg, true, put, out);
}

/* ---- life ------------------------------------------------------------------------------------ */

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_CPU_BURST) ? o->acting.reconcile * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    struct self *s = xnew0(struct self);

    s->env = e;
    s->arena = arena_new();
    s->burst = metrics_add(e->internal, &burst_desc);
    s->quota = metrics_add(e->internal, &quota_desc);
    metric_set_rows(s->burst, burst_rows, s);
    metric_set_rows(s->quota, quota_rows, s);
    return s;
}

static void destroy(void *self)
{
    struct self *s = self;

    metric_set_rows(s->burst, NULL, NULL);
    metric_set_rows(s->quota, NULL, NULL);
    burst_state_fini(&s->state);
    snapshot_unref(s->planned);
    arena_free(s->arena);
    free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static struct opt_f64 ask(const struct usage_in *u, enum metric_kind k, const char *label)
{
    struct opt_f64 v = { .set = false };

    v.set = usage_last(u, k, (const char *const[]){ label }, &v.v);
    return v;
}

static struct opt_f64 used(void *arg, const char *container_id)
{
    return ask(arg, M_CONTAINER_CPU, container_id);
}

static struct opt_f64 throttled(void *arg, const char *container_id)
{
    return ask(arg, M_CONTAINER_THROTTLED, container_id);
}

static enum burst_node node_state(struct self *s, const struct snapshot *known)
{
    const struct cpu_info *cpus = s->env->collect->cpu_info;
    nsec_t window = MIN(5 * s->usage.collect_interval, WINDOW_MAX);
    struct burst_apart *apart = arena_newn0(s->arena, known->pods->n + 1, struct burst_apart);
    struct opt_f64 node = { .set = false };
    size_t n = 0;

    for (uint32_t i = 0; i < known->pods->n; i++) {
        const struct npod *p = known->pods->pods[i];
        enum qos_class q = pod_qos_class_raw(npod_pod(p));
        if (q != QOS_LSE && q != QOS_LSR && q != QOS_BE)
            continue;
        apart[n].qos = q;
        if (q != QOS_BE) {
            reslist requests = pod_requests(npod_pod(p), NULL, s->arena);
            apart[n].request_milli = qty_milli(reslist_get(&requests, RES_CPU));
        }
        if (!usage_over(&s->usage, M_POD_CPU, (const char *const[]){ p->uid }, window, WINDOW_AVG,
                        &apart[n].cores))
            apart[n].cores = 0;
        n++;
    }
    node.set = usage_over(&s->usage, M_NODE_CPU, NULL, window, WINDOW_AVG, &node.v);
    return burst_node_state(cpus ? cpus->n : 0, node, apart, n,
                            known->slo->cpu_burst->share_pool_threshold_percent.v);
}

/* ---- a round --------------------------------------------------------------------------------- */

static bool is_planned(const struct self *s, const struct snapshot *known)
{
    return s->planned && s->planned->pods == known->pods && s->planned->slo == known->slo;
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);

    if (!e->host->driver_known || !known->pods || !known->slo || !known->slo->cpu_burst)
        return;
    arena_reset(s->arena);
    s->usage = (struct usage_in){ e->mc, loop_wall(e->loop), e->o->collect.interval };
    struct burst_in in = { .known = known,
                           .node = node_state(s, known),
                           .now = loop_mono(e->loop),
                           .view = executor_view(e->executor),
                           .used = used,
                           .throttled = throttled,
                           .arg = &s->usage };
    bool differs = burst_round(&s->state, &in, s->arena);
    if (!differs && is_planned(s, known))
        return;
    struct plan *p = executor_plan(e->executor, PLAN_CPU_BURST, known);
    burst_propose(&s->state, known, p);
    executor_submit(e->executor, p);
    snapshot_unref(s->planned);
    s->planned = snapshot_ref(known);
}

const struct qos_strategy strategy_cpu_burst = { "CPUBurst", interval, setup, destroy, tick };
