/* tick.c - best effort gives memory back: in the table of strategies. */
#include "api/qos.h"
#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "koordlet/qos/reclaim/reclaim.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/usage.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"

static const struct metric_desc asked_desc = {
    "koordlet_be_memory_reclaim_bytes_total",
    "Memory that best-effort pods were asked to give back, in bytes.", METRIC_COUNTER,
    .labels = { "node" }
};

struct asked { /* a pod that rests */
    char *uid;
    nsec_t at;
};
struct self {
    struct vec_of(struct asked) resting;
    struct vec_of(struct reclaim_pod) pods; /* of this round */
    struct counter *bytes;
    struct complaint swap;
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_MEMORY_RECLAIM) ? o->acting.memory_evict * NSEC_PER_SEC : 0;
}

static void *setup(struct qos_env *e)
{
    struct self *s = xnew0(struct self);

    s->bytes = metric_counter(metrics_add(e->internal, &asked_desc), METRIC_VALUES(e->node_name));
    return s;
}

static void destroy(void *self)
{
    struct self *s = self;

    vec_foreach(&s->resting, i)
        free(s->resting.items[i].uid);
    vec_fini(&s->resting);
    vec_fini(&s->pods);
    free(s);
}

/* ---- what is known --------------------------------------------------------------------------- */

static bool read_node(const struct host *h, struct reclaim_in *in)
{
    struct meminfo m;
    struct str text, line, word, kb;
    int64_t swap = 0;

    if (sysfs_text(h, h->proc_fd, &text, "meminfo") < 0 ||
        meminfo_parse(text.p, text.n, false, &m, NULL) < 0)
        return false;
    in->free = i64_muldiv((int64_t)m.free, 1024, 1);
    while (text_line(&text, &line))
        if (text_word(&line, &word) && str_eqz(word, "SwapFree:") && text_word(&line, &kb))
            (void)i64_parse(kb.p, kb.n, &swap);
    in->swap = swap > 0;
    return true;
}

/* Page cache, and with swap what was not used for long. */
static int64_t spare_of(const struct host *h, const struct npod *p, bool swap)
{
    struct memory_stat m;
    struct str text;
    const char *subsystem = h->version == CGROUP_V1 ? "memory/" : "";

    if (sysfs_text(h, h->cgroup_fd, &text, "%s%s/memory.stat", subsystem, p->cgroup_dir) < 0 ||
        memory_stat_parse(h->version, text.p, text.n, &m, NULL) < 0)
        return 0;
    return m.inactive_file + m.active_file + (swap ? m.inactive_anon : 0);
}

/* When the pod was asked; forgets those that have rested. */
static nsec_t asked_at(struct self *s, const char *uid, nsec_t now)
{
    nsec_t at = 0;

    for (size_t i = 0; i < s->resting.n;) {
        if (now - s->resting.items[i].at >= RECLAIM_REST) {
            free(s->resting.items[i].uid);
            vec_swap_remove(&s->resting, i);
            continue;
        }
        if (streq(s->resting.items[i].uid, uid))
            at = s->resting.items[i].at;
        i++;
    }
    return at;
}

static void look_at_pods(struct self *s, const struct qos_env *e, const struct podset *pods,
                         bool swap)
{
    nsec_t now = loop_mono(e->loop);

    vec_clear(&s->pods);
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        if (pod_qos_class(npod_pod(p)) != QOS_BE || npod_pod(p)->status.phase != POD_RUNNING)
            continue;
        struct reclaim_pod one = { p, 0, asked_at(s, p->uid, now) };
        if (one.asked == 0)
            one.spare = spare_of(e->host, p, swap);
        vec_push(&s->pods, one);
    }
}

/* ---- a round --------------------------------------------------------------------------------- */

static void ask(struct self *s, struct qos_env *e, const struct snapshot *known,
                const struct reclaim_pod *pod, int64_t wanted)
{
    struct plan *p = executor_plan(e->executor, PLAN_MEMORY_RECLAIM, known);
    int64_t bytes = MIN(pod->spare, MIN(wanted, (int64_t)RECLAIM_AT_ONCE));

    plan_number(p, (struct plan_at){ pod->pod->cgroup_dir, pod->pod, NULL }, PLAN_MEMORY_GIVE_BACK,
                bytes)
        ->rule = PLAN_ONCE;
    executor_submit(e->executor, p);
    vec_push(&s->resting, ((struct asked){ xstrdup(pod->pod->uid), loop_mono(e->loop) }));
    /* v1 takes no number and gives all of it. */
    counter_add(s->bytes, (double)(e->host->version == CGROUP_V1 ? pod->spare : bytes));
    KLOG_I(2, "Asked a best-effort pod to give memory back",
           KV_S("namespace", npod_pod(pod->pod)->obj.meta.ns),
           KV_S("pod", npod_pod(pod->pod)->obj.meta.name), KV_I("bytes", bytes));
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);
    const struct usage_in u = { e->mc, loop_wall(e->loop), e->o->collect.interval };
    struct reclaim_in in = { 0 };
    double used;

    if (!e->host->driver_known || !known->node || !known->pods || !known->slo ||
        !usage_last(&u, M_NODE_MEMORY, NULL, &used))
        return;
    in.slo = known->slo->threshold;
    in.capacity = qty_value(reslist_get(&known->node->status.capacity, RES_MEMORY));
    in.used = i64_from_f64(used);
    /* The files are read where the usage alone would ask for something. */
    if (reclaim_wanted(&in) == 0 || !read_node(e->host, &in))
        return;
    int64_t wanted = reclaim_wanted(&in);
    if (wanted == 0 || executor_stats(e->executor).busy > 0)
        return; /* one at a time: a worker is held meanwhile */
    if (in.swap && e->host->version == CGROUP_V1) {
        if (complaint_due(&s->swap, loop_mono(e->loop)))
            KLOG_W("No memory is asked back: with swap, cgroup v1 would push out all of a pod");
        return;
    }
    look_at_pods(s, e, known->pods, in.swap);
    int i = reclaim_choose(s->pods.items, s->pods.n, loop_mono(e->loop));
    if (i >= 0)
        ask(s, e, known, &s->pods.items[i], wanted);
}

const struct qos_strategy strategy_memory_reclaim = { "MemoryReclaim", interval, setup, destroy,
                                                      tick };
