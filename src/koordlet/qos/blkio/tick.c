/* tick.c - BlkioReconcile in the table of strategies: targets, and what their files hold
 * (koordlet-qos 12). */
#include "api/protocol/slo.h"
#include "base/klog.h"
#include "base/vec.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/disks.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/qos/blkio/blkio.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/states/complaint.h"
#include "koordlet/states/states.h"
#include "loop/loop.h"

struct self {
    const struct snapshot *planned; /* a reference; NULL: nothing was proposed yet */
    uint64_t storage_stamp;         /* of what it was made with */
    struct complaint complaint;
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_BLKIO_RECONCILE) ? o->acting.reconcile * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    (void)e;
    return xnew0(struct self);
}

static void destroy(void *self)
{
    struct self *s = self;

    snapshot_unref(s->planned);
    free(s);
}

static const char *volume_of(void *arg, const char *ns, const char *claim)
{
    return states_volume_name(arg, ns, claim);
}

/* ---- targets --------------------------------------------------------------------------------- */

struct round {
    struct self *self;
    const struct qos_env *env;
    struct blkio_machine machine;
    struct plan *plan;
};

static bool is_last(const struct blkio_line *lines, uint32_t n, uint32_t i)
{
    for (uint32_t k = i + 1; k < n; k++)
        if (lines[k].file == lines[i].file && streq(lines[k].disk, lines[i].disk))
            return false;
    return true;
}

static void propose(struct round *r, struct plan_at at, struct blkio_target t)
{
    struct blkio_line *lines;
    struct disks disks = { 0 };
    struct kerr err;
    uint32_t n;

    disks_read(r->env->host, at.dir, t.root ? PLAN_BLKIO_COST_QOS : PLAN_BLKIO_READ_IOPS,
               t.root ? PLAN_BLKIO_COST_QOS : PLAN_BLKIO_COST_WEIGHT, r->plan->arena, &disks);
    t.existing = disks.items;
    t.nexisting = (uint32_t)disks.n;
    if (blkio_lines(&r->machine, &t, r->plan->arena, &lines, &n, &err) < 0) {
        if (complaint_due(&r->self->complaint, loop_mono(r->env->loop)))
            KLOG_W("Disk settings are left out", KV_S("cgroup", *at.dir ? at.dir : "/"),
                   KV_S("pod", at.pod ? npod_pod(at.pod)->obj.meta.name : ""),
                   KV_S("error", err.text));
        n = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (is_last(lines, n, i))
            plan_item(r->plan, at, lines[i].file, lines[i].disk, lines[i].text);
    vec_fini(&disks);
}

static void propose_class(struct round *r, const struct resource_qos *q, const char *dir, bool root)
{
    const struct blkio_qos *b = q ? q->blkio : NULL;
    struct blkio_target t = { .root = root };

    if (b && b->enable.set && b->enable.v) {
        t.blocks = b->blocks.items;
        t.nblocks = b->blocks.n;
    }
    propose(r, (struct plan_at){ .dir = dir }, t);
}

static void propose_pod(struct round *r, const struct npod *p)
{
    const struct pod *pod = npod_pod(p);
    struct pod_blkio_qos own;

    if (pod->status.phase != POD_RUNNING || pod_qos_class_raw(pod) == QOS_NONE ||
        pod_blkio_qos_read(&pod->obj.meta.annotations, r->plan->arena, &own, NULL) <= 0)
        return;
    propose(
        r, (struct plan_at){ .dir = p->cgroup_dir, .pod = p },
        (struct blkio_target){ .pod = pod, .blocks = own.blocks.items, .nblocks = own.blocks.n });
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);
    const struct storage_info *storage = e->collect->storage_info;

    if (!e->host->driver_known || e->host->version != CGROUP_V1 || !known->pods || !known->slo ||
        !known->slo->resource_qos || !storage)
        return;
    if (s->planned && s->planned->pods == known->pods && s->planned->slo == known->slo &&
        s->storage_stamp == storage->stamp)
        return;
    struct round r = { s,
                       e,
                       { storage, e->host->roots.var_lib_kubelet, volume_of, e->states },
                       executor_plan(e->executor, PLAN_BLKIO, known) };
    propose_class(&r, known->slo->resource_qos->be,
                  cgroup_qos_dir(e->host->driver, KUBE_QOS_BEST_EFFORT), false);
    propose_class(&r, known->slo->resource_qos->cgroup_root, "", true);
    for (uint32_t i = 0; i < known->pods->n; i++)
        propose_pod(&r, known->pods->pods[i]);
    executor_submit(e->executor, r.plan);
    snapshot_unref(s->planned);
    s->planned = snapshot_ref(known);
    s->storage_stamp = storage->stamp;
}

const struct qos_strategy strategy_blkio = { "BlkioReconcile", interval, setup, destroy, tick };
