/* tasks.c - processes of annotated containers (koordlet-qos 15.8, 15.11). */
#include "koordlet/hooks/tasks.h"

#include <sys/stat.h>

#include "api/protocol/slo.h"
#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "koordlet/states/complaint.h"
#include "koordlet/states/tasks.h"
#include "sys/file.h"

#define GROUP_PREFIX "koordlet-"
#define GROUP_AGE    (10 * NSEC_PER_SEC)

/* ---- OOM scores ------------------------------------------------------------------------------ */

struct oom_scores {
    struct host *host;
    const char *node_name;
    struct metric *gauge; /* NULL: none */
    struct arena *arena;
    struct task_ids pids;
    struct complaint bad;
    nsec_t now; /* monotonic, of this look */
};

static const struct metric_desc score_desc = {
    "koordlet_container_oom_score_adj",
    "The OOM score that a container's processes have by its annotation.",
    METRIC_GAUGE,
    .labels = { "node", "pod_namespace", "pod_name", "pod_uid", "container_name" },
};

struct oom_scores *oom_scores_new(struct host *h, struct metrics *m, const char *node_name)
{
    struct oom_scores *s = xnew0(struct oom_scores);

    s->host = h;
    s->node_name = str_or(node_name, "");
    s->gauge = m ? metrics_add(m, &score_desc) : NULL;
    s->arena = arena_new();
    return s;
}

struct oom_scores *oom_scores_free(struct oom_scores *s)
{
    if (!s)
        return NULL;
    vec_fini(&s->pids);
    arena_free(s->arena);
    free(s);
    return NULL;
}

void cgroup_pids(const struct host *h, const char *dir, struct task_ids *out)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    struct kerr err;
    const struct cgroup_resource *procs = cgroup_resource_find(h->version, "cgroup.procs", &err);
    struct str text, word;
    int64_t pid;

    cgroup_resource_path(procs, h->version, ".", dir, &path);
    if (kernelfile_once(h->cgroup_fd, strbuf_str(&path), h->buf, &text, &err) < 0)
        return;
    while (text_word(&text, &word))
        if (i64_parse(word.p, word.n, &pid) == 0 && pid > 0 && pid <= INT32_MAX)
            vec_push(out, (pid_t)pid);
}

static void container_score(struct oom_scores *s, const struct npod *p,
                            const struct npod_container *c, struct plan *plan)
{
    const struct kobj *o = p->obj;
    struct kerr err = { 0 };
    int64_t want, is;
    bool held = false;

    arena_reset(s->arena);
    int code = oom_score_adj(&o->meta.annotations, c->name, s->arena, &want, &err);
    if (code < 0 && complaint_due(&s->bad, s->now))
        KLOG_W("Left out an OOM score", KV_S("err", err.text), KV_S("namespace", o->meta.ns),
               KV_S("pod", o->meta.name), KV_S("container", c->name));
    if (code <= 0 || !c->cgroup_dir)
        return;
    vec_clear(&s->pids);
    cgroup_pids(s->host, c->cgroup_dir, &s->pids);
    vec_foreach(&s->pids, i) {
        int pid = (int)s->pids.items[i];
        if (sysfs_i64(s->host, s->host->proc_fd, &is, "%d/oom_score_adj", pid) < 0)
            continue; /* it ended */
        held |= is == want;
        if (is != want)
            plan_number(
                plan,
                (struct plan_at){ arena_printf(plan->arena, "%d/oom_score_adj", pid), p, c->name },
                PLAN_PROC_FILE, want)
                ->rule = PLAN_ONCE;
    }
    if (s->gauge && held)
        gauge_set(metric_gauge(s->gauge, METRIC_VALUES(s->node_name, str_or(o->meta.ns, ""),
                                                       o->meta.name, p->uid, c->name)),
                  (double)want);
}

void plan_oom_scores(struct oom_scores *s, const struct snapshot *snapshot, nsec_t mono,
                     struct plan *plan)
{
    const struct podset *pods = snapshot->pods;

    s->now = mono;
    if (s->gauge)
        metric_clear(s->gauge);
    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        if (pod_is_terminal(npod_pod(p)))
            continue;
        for (uint32_t k = 0; k < p->ncontainers; k++)
            container_score(s, p, &p->containers[k], plan);
        for (uint32_t k = 0; k < p->ninit_containers; k++)
            container_score(s, p, &p->init_containers[k], plan);
    }
}

/* ---- OOM scores put back --------------------------------------------------------------------- */

#define NODE_CRITICAL     "system-node-critical"
#define CRITICAL_PRIORITY 2000000000
enum { OOM_PROTECTED = -997, OOM_BURSTABLE_MIN = 3, OOM_FIRST = 1000 };

int64_t oom_score_of_kubelet(const struct npod *p, const struct container *c, int64_t memory)
{
    const struct pod_spec *spec = npod_pod(p)->spec;
    bool critical = streq(str_or(spec->priority_class_name, ""), NODE_CRITICAL) &&
                    spec->priority.set && spec->priority.v >= CRITICAL_PRIORITY;

    if (critical || p->kube_qos == KUBE_QOS_GUARANTEED)
        return OOM_PROTECTED;
    if (p->kube_qos == KUBE_QOS_BEST_EFFORT || memory <= 0)
        return OOM_FIRST;
    int64_t asked = qty_value(reslist_get(&c->resources.requests, RES_MEMORY));
    int64_t score = OOM_FIRST - i64_muldiv(MAX(asked, INT64_C(0)), 1000, memory);
    return MIN(MAX(score, (int64_t)OOM_BURSTABLE_MIN), (int64_t)OOM_FIRST - 1);
}

/* A process with another score chose it itself. */
static void restore_score(struct oom_scores *s, const struct npod *p,
                          const struct npod_container *c, const containerlist *specs,
                          int64_t memory, struct plan *plan)
{
    const struct container *of = NULL;
    int64_t ours, is;
    struct kerr err = { 0 };

    for (uint32_t i = 0; i < specs->n; i++)
        if (streq(specs->items[i].name, c->name))
            of = &specs->items[i];
    arena_reset(s->arena);
    if (!of || !c->cgroup_dir ||
        oom_score_adj(&p->obj->meta.annotations, c->name, s->arena, &ours, &err) <= 0)
        return;
    vec_clear(&s->pids);
    cgroup_pids(s->host, c->cgroup_dir, &s->pids);
    vec_foreach(&s->pids, i) {
        int pid = (int)s->pids.items[i];
        if (sysfs_i64(s->host, s->host->proc_fd, &is, "%d/oom_score_adj", pid) < 0 || is != ours)
            continue;
        const char *path = arena_printf(plan->arena, "%d/oom_score_adj", pid);
        plan_number(plan, (struct plan_at){ path, p, c->name }, PLAN_PROC_FILE,
                    oom_score_of_kubelet(p, of, memory))
            ->rule = PLAN_ONCE;
    }
}

void plan_oom_restore(struct oom_scores *s, const struct snapshot *snapshot, struct plan *plan)
{
    const struct podset *pods = snapshot->pods;
    int64_t memory =
        snapshot->node ? qty_value(reslist_get(&snapshot->node->status.capacity, RES_MEMORY)) : 0;

    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        const struct pod_spec *spec = npod_pod(p)->spec;
        for (uint32_t k = 0; k < p->ncontainers; k++)
            restore_score(s, p, &p->containers[k], &spec->containers, memory, plan);
        for (uint32_t k = 0; k < p->ninit_containers; k++)
            restore_score(s, p, &p->init_containers[k], &spec->init_containers, memory, plan);
    }
}

/* ---- resctrl groups -------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

static void collect(void *arg, const char *container_id, const struct task_ids *ids)
{
    struct task_ids *all = arg;

    (void)container_id;
    vec_foreach(ids, i)
        vec_push(all, ids->items[i]);
}

static void sort(struct task_ids *t)
{
    if (t->n > 0)
        qsort(t->items, t->n, sizeof *t->items, by_number);
}

static void read_group(const struct host *h, const char *group, struct task_ids *out)
{
    struct str text, word;
    int64_t id;

    if (sysfs_text(h, h->sys_fs_fd, &text, "resctrl/%s/tasks", group) < 0)
        return;
    while (text_word(&text, &word))
        if (i64_parse(word.p, word.n, &id) == 0 && id > 0 && id <= INT32_MAX)
            vec_push(out, (pid_t)id);
}

static void group_tasks(const struct host *h, const struct npod *pod, const char *group,
                        struct plan *p)
{
    struct task_ids all = { 0 }, in = { 0 };
    size_t n = 0;

    npod_tasks_each(h, pod, collect, &all);
    read_group(h, group, &in);
    sort(&all);
    sort(&in);
    vec_foreach(&all, i)
        if (in.n == 0 || !bsearch(&all.items[i], in.items, in.n, sizeof *in.items, by_number))
            all.items[n++] = all.items[i];
    if (n > 0)
        plan_tasks(p, (struct plan_at){ group, pod, NULL }, all.items, n);
    vec_fini(&all);
    vec_fini(&in);
}

void plan_resctrl_tasks(const struct host *h, struct plan *p)
{
    size_t groups = p->proposals.n;

    for (size_t i = 0; i < groups; i++) {
        struct plan_at at = p->proposals.items[i].at; /* the array may move */
        if (p->proposals.items[i].file == PLAN_RESCTRL_GROUP && at.pod)
            group_tasks(h, at.pod, at.dir, p);
    }
}

struct stale {
    const struct host *host;
    const struct podset *pods;
    nsec_t wall;
    struct plan *plan;
};

static int on_group(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    const struct stale *s = arg;
    struct stat st;

    (void)type, (void)err;
    if (strncmp(name, GROUP_PREFIX, sizeof GROUP_PREFIX - 1) != 0 ||
        podset_find(s->pods, name + sizeof GROUP_PREFIX - 1) ||
        fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if (s->wall - (nsec_t)st.st_mtim.tv_sec * NSEC_PER_SEC < GROUP_AGE)
        return 0; /* its pod may not have been told yet */
    plan_number(s->plan, (struct plan_at){ arena_strdup(s->plan->arena, name), NULL, NULL },
                PLAN_RESCTRL_GROUP, 0);
    return 0;
}

void plan_resctrl_stale(const struct host *h, const struct podset *pods, nsec_t wall,
                        struct plan *p)
{
    struct stale s = { h, pods, wall, p };
    struct kerr err;

    if (h->sys_fs_fd >= 0)
        dir_each(h->sys_fs_fd, "resctrl", on_group, &s, &err);
}
