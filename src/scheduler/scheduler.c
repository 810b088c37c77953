/* scheduler.c - life of the scheduler, and the pump that runs attempts. */
#include "scheduler/scheduler.h"

#include "api/pod.h"
#include "base/arena.h"
#include "client/events.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/internal.h"

/* Attempts in one turn: enough to keep the loop's overhead out of sight, few enough to let others
 * (watches, answers) have their turn. */
enum { ATTEMPTS_A_TURN = 64, SHAPES_KEPT = 16 };
#define SWEEP_PERIOD (10 * NSEC_PER_SEC)

int scheduler_name_of(const struct scheduler *s, const struct pod *p)
{
    for (unsigned i = 0; i < s->nnames; i++)
        if (streq(s->names[i], p->spec->scheduler_name))
            return (int)i;
    return -1;
}

/* ---- the pump -------------------------------------------------------------------------------- */

static void on_pump(struct loop *l, void *arg)
{
    struct scheduler *s = arg;
    (void)l;
    s->pump = NULL;
    for (int i = 0; i < ATTEMPTS_A_TURN && s->nbindings < s->max_binding; i++) {
        struct kobj *pod = podqueue_pop(s->queue);
        if (!pod)
            return;
        cycle_run(s, pod);
    }
    /* A binding that ends wakes us too. */
    if (s->nbindings < s->max_binding)
        scheduler_wake(s);
}

void scheduler_wake(struct scheduler *s)
{
    if (s->synced && !s->pump)
        s->pump = loop_after(s->loop, 0, on_pump, s);
}

static void on_ready(void *arg)
{
    scheduler_wake(arg);
}

/* ---- bindings nobody confirmed --------------------------------------------------------------- */

static void on_sweep(struct loop *l, void *arg)
{
    struct scheduler *s = arg;
    struct kobj *pod;
    nsec_t now = loop_mono(l);

    s->sweep = NULL;
    /* Asking again is due only after the answer had its time. */
    while (s->nbindings < s->max_binding &&
           (pod = nodecache_overdue(s->cache, now, now + s->confirm_after))) {
        const char *node;
        nodecache_find(s->cache, pod->meta.uid, &node);
        binding_verify(s, pod, node);
    }
    scheduler_watch_bound(s);
}

void scheduler_watch_bound(struct scheduler *s)
{
    if (!s->sweep && nodecache_stats(s->cache).assumed)
        s->sweep = loop_after(s->loop, SWEEP_PERIOD, on_sweep, s);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int add_name(struct scheduler *s, const char *name, const char *instance, struct kerr *err)
{
    if (str_empty(name) || s->nnames == SCHEDULER_NAMES_MAX)
        return kerr_set(err, -EINVAL, "scheduler names: from 1 to %d, none of them empty",
                        SCHEDULER_NAMES_MAX);
    for (unsigned i = 0; i < s->nnames; i++)
        if (streq(s->names[i], name))
            return kerr_set(err, -EINVAL, "scheduler name '%s' appears twice", name);
    s->recorders[s->nnames] = recorder_new(s->kube, &(struct recorder_opts){
                                                        .component = name,
                                                        .instance = instance ? instance : name,
                                                        .series = true,
                                                    });
    s->names[s->nnames++] = xstrdup(name);
    return 0;
}

static int add_names(struct scheduler *s, const struct scheduler_opts *o, struct kerr *err)
{
    static const char *const usual[] = { "koord-scheduler", NULL };
    const char *const *names = o->scheduler_names ? o->scheduler_names : usual;
    int r = *names ? 0 : add_name(s, NULL, NULL, err);

    for (; *names && r == 0; names++)
        r = add_name(s, *names, o->instance, err);
    return r;
}

struct scheduler *scheduler_new(struct loop *l, struct kube *k, const struct scheduler_opts *o,
                                struct kerr *err)
{
    CLEANUP(scheduler_free) struct scheduler *s = xnew0(struct scheduler);

    s->loop = l;
    s->kube = k;
    s->max_binding = o->max_binding ? o->max_binding : 1000;
    s->confirm_after = o->confirm_after ? o->confirm_after : 30 * NSEC_PER_SEC;
    s->verify_reuse = o->verify_reuse;
    s->arena = arena_new();
    s->world = world_new();
    s->nominator = nominator_new();
    s->shapes = shapes_new(SHAPES_KEPT);
    s->env = (struct ks_env){ .loop = l, .kube = k, .world = s->world, .scheduler = s };
    struct profile_config pc = profile_config_default(ks_registry, "koord-scheduler", s->arena);
    s->profile = profile_new(&pc, ks_registry, &s->env, err);
    if (!s->profile || add_names(s, o, err) < 0)
        return NULL;
    s->cache = nodecache_new();
    s->queue = podqueue_new(l, s->profile,
                            &(struct podqueue_opts){
                                .backoff_initial = o->backoff_initial,
                                .backoff_max = o->backoff_max,
                                .unschedulable_max = o->unschedulable_max,
                                .on_ready = on_ready,
                                .arg = s,
                            });
    s->reports = reports_new(s);
    watch_init(s);
    return take(s);
}

void scheduler_start(struct scheduler *s)
{
    informer_start(s->nodes);
    informer_start(s->pods);
}

struct scheduler *scheduler_free(struct scheduler *s)
{
    if (!s)
        return NULL;
    s->synced = false; /* nobody wakes us any more */
    informer_free(s->pods);
    informer_free(s->nodes);
    binding_free_all(s);
    reports_free(s->reports);
    timer_cancel(s->pump);
    timer_cancel(s->sweep);
    podqueue_free(s->queue);
    shapes_free(s->shapes);
    nominator_free(s->nominator);
    nodecache_free(s->cache);
    profile_free(s->profile);
    world_free(s->world);
    for (unsigned i = 0; i < s->nnames; i++) {
        recorder_free(s->recorders[i]);
        free(s->names[i]);
    }
    arena_free(s->arena);
    free(s);
    return NULL;
}

bool scheduler_synced(const struct scheduler *s)
{
    return s->synced;
}

int scheduler_verify(const struct scheduler *s, struct kerr *err)
{
    return nodecache_verify(s->cache, err);
}

struct scheduler_stats scheduler_stats(const struct scheduler *s)
{
    struct nodecache_stats c = nodecache_stats(s->cache);
    struct scheduler_stats t = {
        .attempts = s->attempts,
        .scheduled = s->scheduled,
        .failed = s->failed,
        .errors = s->errors,
        .ready = podqueue_count(s->queue, PODQUEUE_READY),
        .backoff = podqueue_count(s->queue, PODQUEUE_BACKOFF) +
                   podqueue_count(s->queue, PODQUEUE_BACKOFF_ERROR),
        .turned_down = podqueue_count(s->queue, PODQUEUE_TURNED_DOWN),
        .gated = podqueue_count(s->queue, PODQUEUE_GATED),
        .binding = podqueue_count(s->queue, PODQUEUE_IN_FLIGHT),
        .nodes = c.nodes,
        .pods = c.pods,
        .assumed = c.assumed,
    };
    t.pending = t.ready + t.backoff + t.turned_down + t.gated + t.binding;
    return t;
}
