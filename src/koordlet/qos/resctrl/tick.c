/* tick.c - Resctrl in the table of strategies: mounting, groups, and who is in them (koordlet-qos
 * 11.1, 11.4). */
#include <stdio.h>
#include <sys/mount.h>

#include "base/klog.h"
#include "base/num.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/executor.h"
#include "koordlet/facts/caps.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "koordlet/qos/resctrl/resctrl.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/states/complaint.h"
#include "koordlet/states/tasks.h"
#include "loop/loop.h"

/* Threads inherit the group of who started them: only new containers have to be looked for. */
#define TASKS_EVERY (60 * NSEC_PER_SEC)

struct self {
    const struct snapshot *planned; /* a reference; NULL: nothing was proposed yet */
    struct resctrl_layout layout;
    nsec_t tasks_due; /* monotonic */
    bool acted;       /* groups were made, now or by an agent before this one */
    struct complaint missing, bad;
};

static nsec_t interval(const struct koordlet_options *o)
{
    return gates_on(&o->gates, GATE_RDT_RESCTRL) ? o->acting.reconcile * NSEC_PER_SEC : 0;
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

/* ---- what the kernel has --------------------------------------------------------------------- */

static int read_layout(struct self *s, const struct host *h, struct kerr *err)
{
    struct str text;
    int r = sysfs_text(h, h->sys_fs_fd, &text, "resctrl/schemata");

    if (r < 0)
        return kerr_set(err, r, "read %sresctrl/schemata: %s", h->roots.sys_fs, strerror(-r));
    r = resctrl_layout_parse(text, &s->layout, err);
    if (r < 0)
        return r;
    s->layout.cbm = 0;
    if (s->layout.nl3 == 0)
        return 0;
    const char *name = s->layout.cdp ? "L3CODE" : "L3";
    r = sysfs_text(h, h->sys_fs_fd, &text, "resctrl/info/%s/cbm_mask", name);
    if (r < 0)
        return kerr_set(err, r, "read %sresctrl/info/%s/cbm_mask: %s", h->roots.sys_fs, name,
                        strerror(-r));
    return resctrl_cbm_parse(text.p, text.n, &s->layout.cbm, err);
}

/* Mounts it where it is not. */
static int find_layout(struct self *s, const struct host *h, struct kerr *err)
{
    char path[512];

    if (read_layout(s, h, err) == 0)
        return 0;
    (void)snprintf(path, sizeof path, "%sresctrl", h->roots.sys_fs);
    if (mount("resctrl", path, "resctrl", MS_RELATIME, NULL) < 0 && errno != EBUSY)
        return kerr_set(err, -errno, "mount resctrl at %s: %s", path, strerror(errno));
    return read_layout(s, h, err);
}

static bool is_wanted(struct self *s, const struct qos_env *e, const struct snapshot *known)
{
    struct str text;

    for (int i = 0; i < RESCTRL_GROUPS && !s->acted; i++) {
        const struct resctrl_qos *q = resctrl_of_group(known->slo->resource_qos, i);
        s->acted = q && q->enable.set && q->enable.v;
    }
    /* Groups that an agent before this one left behind get the defaults back. */
    if (!s->acted && !s->planned)
        s->acted = sysfs_text(e->host, e->host->sys_fs_fd, &text, "resctrl/BE/schemata") == 0;
    return s->acted;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct gathering {
    struct task_ids here; /* in the group already, sorted */
    struct task_ids more;
};

static int by_id(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

static void on_tasks(void *arg, const char *container_id, const struct task_ids *ids)
{
    struct gathering *g = arg;

    (void)container_id;
    vec_foreach(ids, i)
        if (g->here.n == 0 ||
            !bsearch(&ids->items[i], g->here.items, g->here.n, sizeof(pid_t), by_id))
            vec_push(&g->more, ids->items[i]);
}

static void read_group(const struct host *h, int group, struct task_ids *out)
{
    struct str text, word;
    uint64_t id;

    if (sysfs_text(h, h->sys_fs_fd, &text, "resctrl/%s/tasks", resctrl_group_names[group]) < 0)
        return;
    while (text_word(&text, &word))
        if (u64_parse(word.p, word.n, &id) == 0 && id <= INT32_MAX)
            vec_push(out, (pid_t)id);
    if (out->n > 0)
        qsort(out->items, out->n, sizeof *out->items, by_id);
}

static void propose_tasks(const struct qos_env *e, const struct snapshot *known, struct plan *p)
{
    for (int i = 0; i < RESCTRL_GROUPS; i++) {
        struct gathering g = { 0 };
        read_group(e->host, i, &g.here);
        for (uint32_t k = 0; k < known->pods->n; k++)
            if (resctrl_group_of(known->slo->resource_qos, known->pods->pods[k]) == i)
                npod_tasks_each(e->host, known->pods->pods[k], on_tasks, &g);
        if (g.more.n > 0) {
            qsort(g.more.items, g.more.n, sizeof *g.more.items, by_id);
            plan_tasks(p, (struct plan_at){ .dir = resctrl_group_names[i] }, g.more.items,
                       g.more.n);
        }
        vec_fini(&g.here);
        vec_fini(&g.more);
    }
}

/* ---- a round --------------------------------------------------------------------------------- */

static void submit(struct self *s, struct qos_env *e, const struct snapshot *known)
{
    const struct resctrl_qos *of[RESCTRL_GROUPS];
    const struct cpu_info *cpus = e->collect->cpu_info;
    struct kerr bad;

    for (int i = 0; i < RESCTRL_GROUPS; i++)
        of[i] = resctrl_of_group(known->slo->resource_qos, i);
    struct plan *p = executor_plan(e->executor, PLAN_RESCTRL, known);
    resctrl_propose(of, &s->layout, cpus && cpus->vendor ? cpus->vendor : "", p, &bad);
    if (bad.code < 0 && complaint_due(&s->bad, loop_mono(e->loop)))
        KLOG_W("A part of the NodeSLO's resctrlQOS is left out", KV_S("error", bad.text));
    propose_tasks(e, known, p);
    executor_submit(e->executor, p);
}

static void tick(void *self, struct qos_env *e)
{
    struct self *s = self;
    const struct snapshot *known = snapshots_get(e->snapshots);
    nsec_t now = loop_mono(e->loop);
    struct kerr err;

    if (!e->host->driver_known || !known->pods || !known->slo || !known->slo->resource_qos ||
        !e->caps || e->caps->caps[CAP_RESCTRL].state == CAP_NO)
        return;
    if (s->planned && s->planned->pods == known->pods && s->planned->slo == known->slo &&
        now < s->tasks_due)
        return;
    if (!is_wanted(s, e, known))
        return;
    if (find_layout(s, e->host, &err) < 0) {
        if (complaint_due(&s->missing, now))
            KLOG_W("Cache and memory bandwidth are not divided", KV_S("error", err.text));
        return;
    }
    complaint_over(&s->missing);
    submit(s, e, known);
    s->tasks_due = now + TASKS_EVERY;
    snapshot_unref(s->planned);
    s->planned = snapshot_ref(known);
}

const struct qos_strategy strategy_resctrl = { "ResctrlReconcile", interval, setup, destroy, tick };
