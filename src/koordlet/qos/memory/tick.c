/* tick.c - CgroupReconcile in the table of strategies (koordlet-qos 10). */
#include "koordlet/executor/executor.h"
#include "koordlet/qos/memory/memory.h"
#include "koordlet/qos/strategies.h"

struct self {
    const struct snapshot *planned; /* a reference; NULL: nothing was proposed yet */
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_CGROUP_RECONCILE) ? o->acting.reconcile * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    (void)e;
    return xnew0(struct self);
}

static void destroy(void *self)
{
    snapshot_unref(((struct self *)self)->planned);
    free(self);
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);

    if (!e->host->driver_known || !known->node || !known->pods || !known->slo ||
        !known->slo->resource_qos || known->node->status.allocatable.n == 0)
        return;
    if (s->planned && s->planned->pods == known->pods && s->planned->slo == known->slo &&
        s->planned->node == known->node)
        return;
    struct plan *p = executor_plan(e->executor, PLAN_MEMORY_QOS, known);
    memory_propose(&(struct memory_in){ known, e->host->driver, e->host->page_size }, p);
    executor_submit(e->executor, p);
    snapshot_unref(s->planned);
    s->planned = snapshot_ref(known);
}

const struct qos_strategy strategy_cgroup_reconcile = { "CgroupReconcile", interval, setup, destroy,
                                                        tick };
