/* core_round.c - all pods of the node into their groups of core scheduling. */
#include "component/metrics.h"
#include "koordlet/hooks/core_sched.h"
#include "koordlet/hooks/rounds.h"
#include "koordlet/hooks/tasks.h"
#include "koordlet/states/tasks.h"

struct core_round {
    struct host *host;
    struct core_sched *cookies;
    struct metric *gauge;
    struct arena *arena;
    struct task_ids pids;
    bool supported, learnt;
};

static const struct metric_desc cookie_desc = {
    "koordlet_container_core_sched_cookie",
    "1 for the core scheduling group and cookie that a container has.",
    METRIC_GAUGE,
    .labels = { "pod_namespace", "pod_name", "pod_uid", "container_name", "container_id",
                "core_sched_group" },
};

struct core_round *core_round_new(struct host *h, struct metrics *m)
{
    struct core_round *c = xnew0(struct core_round);

    c->host = h;
    c->cookies = core_sched_new(&core_sched_ops_kernel, NULL);
    c->supported = core_sched_supported(c->cookies);
    c->gauge = m ? metrics_add(m, &cookie_desc) : NULL;
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

    vec_clear(&c->pids);
    cgroup_pids(c->host, at->dir, &c->pids);
    if (!core_sched_group(&v->rules->core, at->pod, c->arena, &group))
        group = NULL;
    uint64_t cookie =
        core_sched_put(c->cookies, at->pod->uid, at->id, group, c->pids.items, c->pids.n, now);
    if (cookie && c->gauge)
        gauge_set(metric_gauge(c->gauge, METRIC_VALUES(str_or(o->meta.ns, ""), o->meta.name,
                                                       at->pod->uid, at->name, at->id, group)),
                  1);
}

void core_round_run(struct core_round *c, const struct hook_view *v, nsec_t now)
{
    if (!c->supported)
        return;
    arena_reset(c->arena);
    if (!c->learnt)
        each_place(c, v, learn, now);
    c->learnt = true;
    if (c->gauge)
        metric_clear(c->gauge);
    each_place(c, v, settle, now);
    core_sched_sweep(c->cookies, now);
}
