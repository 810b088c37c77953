/* core_round.c - all pods of the node into their groups of core scheduling. */
#include <stdio.h>

#include "component/metrics.h"
#include "koordlet/hooks/core_sched.h"
#include "koordlet/hooks/rounds.h"
#include "koordlet/hooks/tasks.h"
#include "koordlet/states/tasks.h"

struct core_round {
    struct host *host;
    struct core_sched *cookies;
    const char *node_name;
    struct metric *gauge, *managed; /* NULL: none */
    struct arena *arena;
    struct task_ids pids;
    bool supported, learnt;
};

static void count(struct core_round *c, const char *group, bool ok)
{
    if (c->managed)
        counter_inc(metric_counter(
            c->managed, METRIC_VALUES(c->node_name, group, ok ? "succeeded" : "failed")));
}

static const struct metric_desc cookie_desc = {
    "koordlet_container_core_sched_cookie",
    "1 for the core scheduling group and cookie that a container has.",
    METRIC_GAUGE,
    .labels = { "node", "pod_namespace", "pod_name", "pod_uid", "container_name", "container_id",
                "core_sched_group", "core_sched_cookie" },
};
static const struct metric_desc managed_desc = {
    "koordlet_core_sched_cookie_manage_status",
    "How often the processes of a container were put into a core scheduling group, or out of it.",
    METRIC_COUNTER,
    .labels = { "node", "core_sched_group", "status" },
    .max_children = 1000,
};

struct core_round *core_round_new(struct host *h, struct metrics *m, const char *node_name)
{
    struct core_round *c = xnew0(struct core_round);

    c->host = h;
    c->cookies = core_sched_new(&core_sched_ops_kernel, NULL);
    c->supported = core_sched_supported(c->cookies);
    c->node_name = str_or(node_name, "");
    c->gauge = m ? metrics_add(m, &cookie_desc) : NULL;
    c->managed = m ? metrics_add(m, &managed_desc) : NULL;
    c->arena = arena_new();
    return c;
}

struct core_round *core_round_free(struct core_round *c)
{
    if (!c)
        return NULL;
    core_sched_free(c->cookies);
    arena_free(c->arena);
    vec_fini(&c->pids);
    free(c);
    return NULL;
}

struct place { /* a container or sandbox */
    const struct npod *pod;
    const char *dir, *id, *name;
};
typedef void (*place_fn)(struct core_round *c, const struct hook_view *v, const struct place *at,
                         nsec_t now);

static int by_age(const void *a, const void *b)
{
    const struct npod *x = *(struct npod *const *)a, *y = *(struct npod *const *)b;

    if (x->obj->meta.created != y->obj->meta.created)
        return x->obj->meta.created < y->obj->meta.created ? -1 : 1;
    return strcmp(x->uid, y->uid);
}

/* Pods by their age; of each the sandbox, then the containers. */
static void each_place(struct core_round *c, const struct hook_view *v, place_fn fn, nsec_t now)
{
    const struct podset *pods = v->snapshot->pods;
    uint32_t n = pods ? pods->n : 0;
    struct npod **sorted = arena_newn0(c->arena, n + 1, struct npod *);

    if (n > 0)
        memcpy(sorted, pods->pods, n * sizeof(struct npod *));
    if (n > 0)
        qsort(sorted, n, sizeof *sorted, by_age);
    for (uint32_t i = 0; i < n; i++) {
        const struct npod *p = sorted[i];
        if (pod_is_terminal(npod_pod(p)))
            continue;
        const char *sandbox = v->sandbox ? v->sandbox(v->arg, p, c->arena) : NULL;
        if (sandbox)
            fn(c, v, &(struct place){ p, sandbox, "sandbox", "" }, now);
        for (uint32_t k = 0; k < p->ncontainers; k++)
            if (p->containers[k].cgroup_dir)
                fn(c, v,
                   &(struct place){ p, p->containers[k].cgroup_dir, p->containers[k].id,
                                    p->containers[k].name },
                   now);
    }
}

static void learn(struct core_round *c, const struct hook_view *v, const struct place *at,
                  nsec_t now)
{
    const char *group;

    vec_clear(&c->pids);
    cgroup_pids(c->host, at->dir, &c->pids);
    if (core_sched_group(&v->rules->core, at->pod, c->arena, &group))
        core_sched_learn(c->cookies, at->pod->uid, at->id, group, c->pids.items, c->pids.n, now);
}

static void settle(struct core_round *c, const struct hook_view *v, const struct place *at,
                   nsec_t now)
{
    const struct kobj *o = at->pod->obj;
    const char *group = NULL;
    char text[24];

    vec_clear(&c->pids);
    cgroup_pids(c->host, at->dir, &c->pids);
    if (!core_sched_group(&v->rules->core, at->pod, c->arena, &group))
        group = NULL;
    uint64_t cookie =
        core_sched_put(c->cookies, at->pod->uid, at->id, group, c->pids.items, c->pids.n, now);
    if (group && c->pids.n > 0)
        count(c, group, cookie != 0);
    if (!cookie || !c->gauge)
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)cookie);
    gauge_set(
        metric_gauge(c->gauge, METRIC_VALUES(c->node_name, str_or(o->meta.ns, ""), o->meta.name,
                                             at->pod->uid, at->name, at->id, group, text)),
        1);
}

/* Cookies of an agent that is not there any more, or of a feature that was switched off while none
 * was. */
static void clear(struct core_round *c, const struct hook_view *v, const struct place *at,
                  nsec_t now)
{
    (void)v, (void)now;
    vec_clear(&c->pids);
    cgroup_pids(c->host, at->dir, &c->pids);
    if (c->pids.n > 0 && core_sched_clear(c->cookies, c->pids.items, c->pids.n) > 0)
        count(c, "", true);
}

void core_round_restore(struct core_round *c, const struct hook_view *v)
{
    if (!c->supported)
        return;
    arena_reset(c->arena);
    each_place(c, v, clear, 0);
}

void core_round_run(struct core_round *c, const struct hook_view *v, nsec_t now)
{
    if (!c->supported)
        return;
    arena_reset(c->arena);
    if (!c->learnt && v->rules->core.enable)
        each_place(c, v, learn, now);
    else if (!c->learnt)
        each_place(c, v, clear, now);
    c->learnt = true;
    if (c->gauge)
        metric_clear(c->gauge);
    each_place(c, v, settle, now);
    core_sched_sweep(c->cookies, now);
}
