/* system.c - SystemConfig (koordlet-qos 13). */
#include "koordlet/qos/system/system.h"

#include "base/num.h"
#include "koordlet/executor/executor.h"
#include "koordlet/qos/strategies.h"

#define SCHED_FEATURES "kernel/debug/sched_features"

static void put(struct plan *p, enum plan_file f, const char *path, struct opt_i64 v, int64_t min,
                int64_t max)
{
    if (v.set && v.v >= min && v.v <= max)
        plan_number(p, (struct plan_at){ .dir = path }, f, v.v);
}

void system_propose(const struct snapshot *known, struct plan *p)
{
    const struct system_strategy *s = known->slo->system;
    int64_t memory = qty_value(reslist_get(&known->node->status.capacity, RES_MEMORY));
    struct opt_i64 factor = s->min_free_kbytes_factor;

    if (memory <= 0)
        return;
    struct opt_i64 free_kb = { factor.set, i64_muldiv(memory / 1024, factor.v, 10000) };
    put(p, PLAN_PROC_FILE, "sys/vm/min_free_kbytes", free_kb, 10240, 10485760);
    put(p, PLAN_PROC_FILE, "sys/vm/watermark_scale_factor", s->watermark_scale_factor, 10, 400);
    put(p, PLAN_SYS_FILE, "kernel/mm/memcg_reaper/reap_background", s->memcg_reap_background, 0, 1);
    put(p, PLAN_PROC_FILE, "sys/kernel/sched_group_identity_enabled",
        s->sched_group_identity_enabled, 0, 1);
    put(p, PLAN_PROC_FILE, "sys/kernel/sched_idle_saver_wmark", s->sched_idle_saver_wmark_ns,
        INT64_MIN, INT64_MAX);
    put(p, PLAN_SYS_FILE, "kernel/mm/pagecache_limit/enabled", s->page_cache_limit_enabled, 0, 1);
    for (uint32_t i = 0; i < s->sched_features.n; i++) {
        const struct sched_feature *f = &s->sched_features.items[i];
        struct proposal *one =
            plan_number(p, (struct plan_at){ .dir = SCHED_FEATURES }, PLAN_SCHED_FEATURE, f->on);
        one->item = f->name;
    }
}

/* ---- in the table of strategies -------------------------------------------------------------- */

struct self {
    const struct snapshot *planned; /* a reference; NULL: nothing was proposed yet */
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_SYSTEM_CONFIG) ? o->acting.reconcile * NSEC_PER_SEC : 0;
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

    if (!known->node || !known->slo || !known->slo->system)
        return;
    if (s->planned && s->planned->slo == known->slo && s->planned->node == known->node)
        return;
    struct plan *p = executor_plan(e->executor, PLAN_SYSTEM_CONFIG, known);
    system_propose(known, p);
    executor_submit(e->executor, p);
    snapshot_unref(s->planned);
    s->planned = snapshot_ref(known);
}

const struct qos_strategy strategy_system_config = { "SystemConfig", interval, setup, destroy,
                                                     tick };
