/* qos.c - which strategies run, and their timers (koordlet-qos 3). */
#include "koordlet/qos/qos.h"

#include "client/events.h"
#include "koordlet/qos/evict/evictor.h"
#include "koordlet/qos/strategies.h"
#include "loop/loop.h"

enum { STRATEGIES_MAX = 16 };

const struct qos_strategy *const qos_strategies[] = {
    &strategy_cpu_suppress,
    &strategy_interference_guard,
    &strategy_cpu_burst,
    &strategy_cgroup_reconcile,
    &strategy_resctrl,
    &strategy_blkio,
    &strategy_system_config,
    &strategy_cpu_evict,
    &strategy_memory_reclaim,
    &strategy_memory_evict,
    NULL,
};

struct group { /* strategies of one interval */
    struct qos *qos;
    nsec_t interval, due;
    struct timer *timer;
};
struct entry {
    const struct qos_strategy *strategy;
    void *self;
    struct group *group;
};
struct qos {
    struct qos_env env;
    struct entry entries[STRATEGIES_MAX];
    struct group groups[STRATEGIES_MAX];
    uint32_t n, ngroups;
};

static struct group *group_of(struct qos *q, nsec_t interval)
{
    for (uint32_t i = 0; i < q->ngroups; i++)
        if (q->groups[i].interval == interval)
            return &q->groups[i];
    q->groups[q->ngroups] = (struct group){ .qos = q, .interval = interval };
    return &q->groups[q->ngroups++];
}

static struct evictor *make_evictor(const struct qos *q)
{
    const struct acting_options *o = &q->env.o->acting;

    return evictor_new(&(struct evictor_env){
        .loop = q->env.loop,
        .kube = q->env.kube,
        .recorder = q->env.recorder,
        .audit = q->env.audit,
        .metrics = q->env.internal,
        .node_name = q->env.node_name,
        .only_by_api = o->only_evict_by_api,
        .dry_run = q->env.o->executor.dry_run,
        .stop = { .loop = q->env.loop,
                  .host = q->env.host,
                  .containerd_endpoint = o->containerd_endpoint,
                  .docker_endpoint = o->docker_endpoint,
                  .pouch_endpoint = o->pouch_endpoint },
    });
}

struct qos *qos_new(const struct qos_env *env)
{
    struct qos *q = xnew0(struct qos);

    q->env = *env;
    q->env.recorder = recorder_new(env->kube, &(struct recorder_opts){
                                                  .component = "koordlet-qosManager",
                                                  .instance = env->node_name,
                                                  .host = env->node_name,
                                              });
    q->env.evictor = make_evictor(q);
    for (uint32_t i = 0; qos_strategies[i]; i++) {
        const struct qos_strategy *s = qos_strategies[i];
        nsec_t interval = s->interval(env->o);
        if (interval <= 0)
            continue;
        assert(q->n < STRATEGIES_MAX);
        q->entries[q->n++] = (struct entry){ s, s->setup(&q->env), group_of(q, interval) };
    }
    return q;
}

struct qos *qos_free(struct qos *q)
{
    if (!q)
        return NULL;
    for (uint32_t i = 0; i < q->ngroups; i++)
        timer_cancel(q->groups[i].timer);
    for (uint32_t i = 0; i < q->n; i++)
        q->entries[i].strategy->destroy(q->entries[i].self);
    evictor_free(q->env.evictor);
    recorder_free(q->env.recorder);
    free(q);
    return NULL;
}

static void on_timer(struct loop *l, void *arg)
{
    struct group *g = arg;
    struct qos *q = g->qos;
    nsec_t now = loop_mono(l);

    /* In step with the collectors; rounds that were missed are not made up for. */
    g->due += g->interval;
    if (g->due <= now)
        g->due = now + g->interval;
    g->timer = loop_after(l, g->due - now, on_timer, g);
    for (uint32_t i = 0; i < q->n; i++)
        if (q->entries[i].group == g)
            q->entries[i].strategy->tick(q->entries[i].self, &q->env);
}

void qos_start(struct qos *q)
{
    for (uint32_t i = 0; i < q->ngroups; i++) {
        q->groups[i].due = loop_mono(q->env.loop);
        q->groups[i].timer = loop_after(q->env.loop, 0, on_timer, &q->groups[i]);
    }
}
