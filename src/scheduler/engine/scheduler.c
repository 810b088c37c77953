/* scheduler.c - life of the scheduler, and the pump that runs attempts. */
#include "scheduler/scheduler.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/vec.h"
#include "client/events.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/gates.h"
#include "scheduler/observe/diagnosis.h"
#include "scheduler/observe/monitor.h"
#include "scheduler/observe/times.h"

/* Attempts in one turn: enough to keep the loop's overhead out of sight, few enough to let others
 * (watches, answers, the lease) have their turn, also when each of them is the round of a gang or
 * searches for victims. */
enum { ATTEMPTS_A_TURN = 64, SHAPES_KEPT = 128, EVENTS_QUEUED = 10000, EVENTS_BUSY_QPS = 50 };
#define ATTEMPTS_TIME (20 * NSEC_PER_MSEC)
#define SWEEP_PERIOD  (10 * NSEC_PER_SEC)
#define DOUBT_PERIOD  (100 * NSEC_PER_MSEC)

struct active_profile *scheduler_profile(const struct scheduler *s, const struct pod *p)
{
    for (unsigned i = 0; i < s->nprofiles; i++)
        if (streq(s->profiles[i]->profile->scheduler_name, p->spec->scheduler_name))
            return s->profiles[i];
    return NULL;
}

/* ---- the pump -------------------------------------------------------------------------------- */

static bool may_attempt(const struct scheduler *s)
{
    return s->synced && !s->line.n && binding_room(s) && !s->consult;
}

static bool ask_chooser(const struct chooser *c, struct kuid *ret)
{
    const struct profile_slot *slot = &c->active->profile->slots[c->slot];
    struct times *times = c->active->times;
    struct stretch x;
    struct stopwatch *w = times_sample(times, LAP_NEXT) ? stretch_begin(&x, times, true) : NULL;
    bool found = slot->plugin->next(slot->self, ret);

    stopwatch_plugin(w, LAP_NEXT, c->slot, KS_SUCCESS);
    return found;
}

/* Until it names a pod that can be tried: it is told of nothing else that happens to its pods. */
static struct kobj *chosen_by(struct scheduler *s, const struct chooser *c)
{
    const char *plugin = c->active->profile->slots[c->slot].plugin->name;
    struct kuid uid, before = { 0 };

    for (size_t left = podqueue_size(s->queue) + 1; left > 0 && ask_chooser(c, &uid); left--) {
        struct kobj *pod = podqueue_pop_this(s->queue, uid, plugin);
        if (pod || kuid_equal(uid, before))
            return pod;
        before = uid;
    }
    return NULL;
}

/* Plugins may have wishes of their own; otherwise it goes by the queue. */
static struct kobj *chosen_pod(struct scheduler *s)
{
    struct kobj *pod = NULL;

    for (size_t i = 0; i < s->choosers.n && !pod; i++)
        pod = chosen_by(s, &s->choosers.items[i]);
    return pod;
}

/* One attempt, and all that belong to it: pods that plugins want next are not cut off, since a gang
 * that is tried in one piece holds nothing from others in vain. False: there is nobody to try. */
static bool attempt_some(struct scheduler *s)
{
    struct kobj *pod = chosen_pod(s);

    if (!pod && !(pod = podqueue_pop(s->queue)))
        return false;
    /* each of them once */
    for (size_t left = podqueue_size(s->queue); pod && left > 0; left--) {
        cycle_run(s, pod);
        pod = left > 1 && may_attempt(s) ? chosen_pod(s) : NULL;
    }
    return true;
}

static void on_pump(struct loop *l, void *arg)
{
    struct scheduler *s = arg;

    s->pump = NULL;
    if (s->leads && !s->leads(s->leads_arg)) {
        /* The lease has run out while we were frozen, and we have not been told yet. */
        s->pump = loop_after(l, DOUBT_PERIOD, on_pump, s);
        return;
    }
    s->turn++;
    binding_move_line(s);
    bool more = true;
    nsec_t began = loop_stopwatch(l);
    for (int i = 0; more && i < ATTEMPTS_A_TURN && may_attempt(s); i++) {
        more = attempt_some(s);
        if (loop_stopwatch(l) - began > ATTEMPTS_TIME)
            break;
    }
    permit_say(s);
    if (!more)
        return;
    /* A binding that ends wakes us too, and extenders that have answered. */
    if (may_attempt(s))
        scheduler_wake(s);
}

void scheduler_wake(struct scheduler *s)
{
    if (s->leading && (s->synced || s->line.n) && !s->pump)
        s->pump = loop_after(s->loop, 0, on_pump, s);
}

static void on_ready(void *arg)
{
    scheduler_wake(arg);
}

static const struct profile *profile_of(void *arg, const struct pod *p)
{
    struct active_profile *active = scheduler_profile(arg, p);
    return active ? active->profile : NULL;
}

static int pre_enqueue(void *arg, const struct profile *p, const struct pod *pod,
                       struct ks_texts *why)
{
    struct active_profile *active = scheduler_profile(arg, pod);
    struct times *times = active && active->profile == p ? active->times : NULL;
    struct stretch x;

    return profile_pre_enqueue_timed(
        p, pod, why, stretch_begin(&x, times, times_sample(times, LAP_PRE_ENQUEUE)));
}

static void on_unclaimed(struct loop *l, void *arg)
{
    struct scheduler *s = arg;

    (void)l;
    s->tell_unclaimed = NULL;
    while (s->unclaimed.n) {
        struct kobj *pod = vec_pop(&s->unclaimed);
        ks_unnominate(&s->env, pod->meta.uid);
        kobj_unref(pod);
    }
}

/* The pod gives up its nominated node, in a turn of its own: the queue is at work on it now. */
static void unclaim(struct scheduler *s, struct kobj *pod)
{
    vec_push(&s->unclaimed, kobj_ref(pod));
    if (!s->tell_unclaimed)
        s->tell_unclaimed = loop_after(s->loop, 0, on_unclaimed, s);
}

static void on_gated(void *arg, struct kobj *pod, const struct ks_plugin *by, const char *why)
{
    struct scheduler *s = arg;
    bool claims = by->frees_nominated_node && nominator_node(s->nominator, pod->meta.uid);

    if (!s->leading || (by->gates_silently && !claims))
        return;
    if (!s->synced) {
        s->unsaid = true; /* the plugin may not know all that it needs to know */
        return;
    }
    if (claims)
        unclaim(s, pod);
    if (!by->gates_silently)
        report_held(s, pod, "Unschedulable", why);
}

void scheduler_recheck_gated(struct scheduler *s)
{
    struct vec_of(struct kuid) gated = { 0 };
    struct kobj *pod;

    s->unsaid = false;
    for (size_t it = 0; (pod = podqueue_next(s->queue, &it));)
        if (podqueue_find(s->queue, pod->meta.uid, NULL) == PODQUEUE_GATED)
            vec_push(&gated, pod->meta.uid);
    vec_foreach(&gated, i)
        podqueue_recheck(s->queue, gated.items[i]);
    vec_fini(&gated);
}

void scheduler_lead(struct scheduler *s)
{
    s->leading = true;
    scheduler_recheck_gated(s); /* what was not ours to say while another led */
    control_start(s);
    scheduler_wake(s);
}

void scheduler_start(struct scheduler *s)
{
    scheduler_watch(s);
    scheduler_lead(s);
}

/* ---- bindings nobody confirmed --------------------------------------------------------------- */

static void on_sweep(struct loop *l, void *arg)
{
    struct scheduler *s = arg;
    struct kobj *pod;
    nsec_t now = loop_mono(l);

    s->sweep = NULL;
    /* Asking again is due only after the answer had its time. */
    while (binding_room(s) && (pod = nodecache_overdue(s->cache, now, now + s->confirm_after))) {
        const char *node;
        nodecache_find(s->cache, pod->meta.uid, &node);
        if (!binding_find(s, pod->meta.uid)) /* otherwise the server still owes an answer */
            binding_verify(s, pod, node);
    }
    scheduler_watch_bound(s);
}

void scheduler_watch_bound(struct scheduler *s)
{
    if (!s->sweep && nodecache_stats(s->cache).assumed)
        s->sweep = loop_after(s->loop, SWEEP_PERIOD, on_sweep, s);
}

/* ---- profiles in force ----------------------------------------------------------------------- */

static struct active_profile *active_free(struct scheduler *s, struct active_profile *p)
{
    if (!p)
        return NULL;
    recorder_free(p->recorder);
    smetrics_free(p->metrics);
    times_free(p->times);
    profile_free(p->profile);
    free(p);
    (void)s;
    return NULL;
}

/* Events are for people: while pods are being bound, the API server has better things to do. */
static bool bindings_first(void *arg)
{
    const struct scheduler *s = arg;
    return s->nbindings > s->nheld;
}

static struct active_profile *active_new(struct scheduler *s, const struct profile_config *c,
                                         struct kerr *err)
{
    struct profile *profile = profile_new(c, s->plugins, &s->env, err);

    if (!profile)
        return NULL;
    struct active_profile *p = xnew0(struct active_profile);
    p->profile = profile;
    p->recorder =
        recorder_new(s->kube, &(struct recorder_opts){
                                  .component = c->scheduler_name,
                                  .instance = s->instance ? s->instance : c->scheduler_name,
                                  .series = true,
                                  .queue_max = EVENTS_QUEUED,
                                  .busy = bindings_first,
                                  .busy_arg = s,
                                  .busy_qps = EVENTS_BUSY_QPS,
                              });
    p->metrics = smetrics_new(s->registry, c->scheduler_name);
    p->times = times_new(s->loop, s->registry, profile);
    return p;
}

static int check_names(const struct profile_config *c, unsigned n, struct kerr *err)
{
    if (n == 0 || n > PROFILES_MAX)
        return kerr_set(err, -EINVAL, "profiles: from 1 to %d", PROFILES_MAX);
    for (unsigned i = 0; i < n; i++) {
        if (str_empty(c[i].scheduler_name))
            return kerr_set(err, -EINVAL, "a scheduler name is empty");
        for (unsigned k = 0; k < i; k++)
            if (streq(c[i].scheduler_name, c[k].scheduler_name))
                return kerr_set(err, -EINVAL, "scheduler name '%s' appears twice",
                                c[i].scheduler_name);
    }
    return 0;
}

static int make_profiles(struct scheduler *s, const struct profile_config *c, unsigned n,
                         struct active_profile **profiles, struct kerr *err)
{
    int r = check_names(c, n, err);

    for (unsigned i = 0; r == 0 && i < n; i++) {
        profiles[i] = active_new(s, &c[i], err);
        r = profiles[i] ? 0 : err->code;
    }
    for (unsigned i = 0; r < 0 && i < PROFILES_MAX; i++)
        profiles[i] = active_free(s, profiles[i]);
    return r;
}

static void reap(struct scheduler *s)
{
    for (unsigned i = s->nold; i-- > 0;) {
        if (s->old[i]->users)
            continue;
        active_free(s, s->old[i]);
        s->old[i] = s->old[--s->nold];
    }
    control_start(s); /* a controller that ran for the old ones may be needed for the new */
}

static void on_reap(struct loop *l, void *arg)
{
    struct scheduler *s = arg;
    (void)l;
    s->reap = NULL;
    reap(s);
}

/* Old ones go in a later turn: whoever ended the last pod of one may be its own plugin, which goes
 * on with what it was doing. */
void scheduler_profile_done(struct scheduler *s, struct active_profile *p)
{
    if (--p->users == 0 && s->nold && !s->reap)
        s->reap = loop_after(s->loop, 0, on_reap, s);
}

static void find_choosers(struct scheduler *s)
{
    vec_clear(&s->choosers);
    for (unsigned i = 0; i < s->nprofiles; i++)
        for (uint32_t k = 0; k < s->profiles[i]->profile->n; k++)
            if (s->profiles[i]->profile->slots[k].plugin->next)
                vec_push(&s->choosers, ((struct chooser){ s->profiles[i], k }));
}

/* Pods in flight keep their profile; others are asked again under the new ones. */
static void replace_profiles(struct scheduler *s, struct active_profile **profiles, unsigned n)
{
    struct active_profile *before[PROFILES_MAX];
    unsigned nbefore = s->nprofiles;

    memcpy(before, s->profiles, sizeof before);
    memcpy(s->profiles, profiles, n * sizeof *profiles);
    s->nprofiles = n;
    find_choosers(s);
    shapes_clear(s->shapes);
    watch_kinds(s);
    placeholder_refresh(s);
    notify_all(s);
    watch_requeue(s);
    for (unsigned i = 0; i < nbefore; i++) {
        if (before[i]->users)
            s->old[s->nold++] = before[i];
        else
            active_free(s, before[i]);
    }
    permit_new_profiles(s);
    control_start(s);
}

static int make_extenders(const struct scheduler *s, const struct scheduler_opts *o,
                          struct extenders **ret, struct kerr *err)
{
    return extenders_new(s->loop,
                         &(struct extenders_opts){ .items = o->extenders,
                                                   .n = o->nextenders,
                                                   .dial = s->extender_dial,
                                                   .dial_arg = s->extender_dial_arg },
                         ret, err);
}

int scheduler_reload(struct scheduler *s, const struct scheduler_opts *o, struct kerr *err)
{
    CLEANUP(extenders_unref) struct extenders *extenders = NULL;
    struct active_profile *profiles[PROFILES_MAX] = { NULL };

    reap(s);
    if (s->nold)
        return kerr_set(err, -EBUSY, "pods of the profiles before are still on their way");
    int r = make_extenders(s, o, &extenders, err);
    if (r == 0)
        r = make_profiles(s, o->profiles, o->nprofiles, profiles, err);
    if (r < 0)
        return r;
    extenders_unref(s->extenders);
    s->extenders = take(extenders);
    replace_profiles(s, profiles, o->nprofiles);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Without a configuration: the default plugins for each name. */
static int default_profiles(struct scheduler *s, const struct scheduler_opts *o, struct kerr *err)
{
    static const char *const usual[] = { "koord-scheduler", NULL };
    struct profile_config c[PROFILES_MAX + 1];
    unsigned n = 0;

    for (const char *const *name = o->scheduler_names ? o->scheduler_names : usual;
         *name && n <= PROFILES_MAX; name++)
        c[n++] = profile_config_default(s->plugins, *name, s->arena);
    return make_profiles(s, c, n, s->profiles, err) < 0 ? err->code : (int)n;
}

static int first_profiles(struct scheduler *s, const struct scheduler_opts *o, struct kerr *err)
{
    int n = (int)o->nprofiles;
    int r = o->profiles ? make_profiles(s, o->profiles, o->nprofiles, s->profiles, err)
                        : (n = default_profiles(s, o, err));
    s->nprofiles = r < 0 ? 0 : (unsigned)n;
    find_choosers(s);
    return r;
}

static void on_scrape(void *arg)
{
    smetrics_gauges(arg);
}

struct scheduler *scheduler_new(struct loop *l, struct kube *k, const struct scheduler_opts *o,
                                struct kerr *err)
{
    CLEANUP(scheduler_free) struct scheduler *s = xnew0(struct scheduler);
    struct kerr unread = { 0 };

    err = err ? err : &unread;
    s->loop = l;
    s->kube = k;
    s->registry = o->metrics;
    s->plugins = o->plugins ? o->plugins : ks_registry;
    s->instance = o->instance ? xstrdup(o->instance) : NULL;
    s->max_binding = o->max_binding ? o->max_binding : 256;
    s->confirm_after = o->confirm_after ? o->confirm_after : 30 * NSEC_PER_SEC;
    s->verify_reuse = o->verify_reuse;
    s->unwatched = o->unwatched;
    s->controller_plugins = o->controller_plugins;
    s->ncontroller_plugins = o->ncontroller_plugins;
    s->resize_pods = o->resize_pods;
    s->nominated_once = o->nominated_once;
    s->foreign_nominations = o->foreign_nominations;
    s->debug_scores = o->debug_scores;
    s->debug_filters = o->debug_filters;
    s->batches = ks_gate_on(o->gates, "EnableInlineBatchSchedule");
    s->arena = arena_new();
    s->objects = objects_new();
    s->services = service_table_new();
    control_init(s);
    s->nominator = nominator_new();
    s->shapes = shapes_new(SHAPES_KEPT);
    s->cache = nodecache_new(s->objects);
    s->env = (struct ks_env){ .loop = l,
                              .kube = k,
                              .objects = s->objects,
                              .nodes = nodecache_nodes(s->cache),
                              .scheduler = s,
                              .metrics = o->metrics,
                              .gates = o->gates,
                              .service_table = s->services,
                              .network_topology = o->network_topology };
    s->extender_dial = o->extender_dial;
    s->extender_dial_arg = o->extender_dial_arg;
    if (first_profiles(s, o, err) < 0 || make_extenders(s, o, &s->extenders, err) < 0)
        return NULL;
    s->qmetrics = qmetrics_new(s);
    s->monitor = monitor_new(s, o->monitor_period, o->monitor_timeout);
    s->diagnosis = diagnosis_new(l, s->registry,
                                 &(struct diagnosis_opts){ .on = o->debug_diagnosis,
                                                           .blocking = o->debug_diagnosis_blocking,
                                                           .queue_size = o->diagnosis_queue,
                                                           .a_turn = o->diagnosis_a_turn });
    s->queue = podqueue_new(l, &(struct podqueue_opts){
                                   .backoff_initial = o->backoff_initial,
                                   .backoff_max = o->backoff_max,
                                   .unschedulable_max = o->unschedulable_max,
                                   .profile_of = profile_of,
                                   .pre_enqueue = pre_enqueue,
                                   .on_ready = on_ready,
                                   .on_gated = on_gated,
                                   .arg = s,
                                   .hints = qmetrics_hints(s->qmetrics),
                               });
    s->reports = reports_new(s);
    s->preemptions = preemptions_new(s);
    watch_init(s);
    watch_kinds(s);
    if (s->registry)
        metrics_on_scrape(s->registry, on_scrape, s);
    return take(s);
}

struct scheduler *scheduler_free(struct scheduler *s)
{
    if (!s)
        return NULL;
    s->leading = false; /* nobody wakes us any more */
    if (s->registry)
        metrics_off_scrape(s->registry, on_scrape, s);
    control_stop(s);
    watch_free(s);
    consult_free(s);
    binding_free_all(s);
    placeholder_free_all(s);
    preemptions_free(s->preemptions);
    reports_free(s->reports);
    timer_cancel(s->pump);
    timer_cancel(s->sweep);
    timer_cancel(s->reap);
    timer_cancel(s->tell_unclaimed);
    vec_foreach(&s->unclaimed, i)
        kobj_unref(s->unclaimed.items[i]);
    vec_fini(&s->unclaimed);
    monitor_free(s->monitor);
    diagnosis_free(s->diagnosis);
    podqueue_free(s->queue);
    qmetrics_free(s->qmetrics);
    extenders_unref(s->extenders);
    shapes_free(s->shapes);
    for (unsigned i = 0; i < s->nprofiles; i++)
        active_free(s, s->profiles[i]);
    for (unsigned i = 0; i < s->nold; i++)
        active_free(s, s->old[i]);
    service_table_free(s->services);
    nominator_free(s->nominator);
    nodecache_free(s->cache);
    objects_free(s->objects);
    arena_free(s->arena);
    vec_fini(&s->choosers);
    free(s->instance);
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
        .victims = s->victims,
        .reused = shapes_stats(s->shapes).hits,
        .ready = podqueue_count(s->queue, PODQUEUE_READY),
        .backoff = podqueue_count(s->queue, PODQUEUE_BACKOFF) +
                   podqueue_count(s->queue, PODQUEUE_BACKOFF_ERROR),
        .unschedulable = podqueue_count(s->queue, PODQUEUE_UNSCHEDULABLE),
        .gated = podqueue_count(s->queue, PODQUEUE_GATED),
        .binding = podqueue_count(s->queue, PODQUEUE_IN_FLIGHT),
        .waiting = binding_waiting(s),
        .nominated = nominator_count(s->nominator),
        .nodes = c.nodes,
        .pods = c.pods,
        .assumed = c.assumed,
    };
    t.pending = t.ready + t.backoff + t.unschedulable + t.gated + t.binding;
    return t;
}

/* ---- what plugins ask for -------------------------------------------------------------------- */

void ks_activate(const struct ks_env *env, struct kuid uid)
{
    podqueue_activate(env->scheduler->queue, uid);
}

void ks_retry(const struct ks_env *env, struct kuid uid)
{
    podqueue_retry(env->scheduler->queue, uid);
}

void ks_tell(const struct ks_env *env, struct kuid uid, const char *why)
{
    struct scheduler *s = env->scheduler;
    struct kobj *pod;
    enum podqueue_place place = podqueue_find(s->queue, uid, &pod);

    if (!s->leading || !s->synced || place == PODQUEUE_NOWHERE || place == PODQUEUE_IN_FLIGHT)
        return;
    report_waits(s, pod, why);
    const struct active_profile *active = scheduler_profile(s, pod_of(pod));
    if (active)
        diagnosis_follows(s->diagnosis, active->profile, pod, why);
}

void ks_unnominate(const struct ks_env *env, struct kuid uid)
{
    struct scheduler *s = env->scheduler;
    struct kobj *pod;

    if (!s->leading || !s->synced || podqueue_find(s->queue, uid, &pod) == PODQUEUE_NOWHERE ||
        !nominator_remove(s->nominator, uid))
        return;
    report_nominated(s, pod, "");
    watch_room_free(s, pod);
}

void ks_wake(const struct ks_env *env, const char *plugin, uint64_t key)
{
    podqueue_wake(env->scheduler->queue, plugin, key);
}

void ks_ask_next(const struct ks_env *env)
{
    scheduler_wake(env->scheduler);
}

bool ks_waits(const struct ks_env *env, struct kuid uid)
{
    enum podqueue_place place =
        env->scheduler ? podqueue_find(env->scheduler->queue, uid, NULL) : PODQUEUE_NOWHERE;

    return place != PODQUEUE_NOWHERE && place != PODQUEUE_IN_FLIGHT;
}

bool ks_making_room(const struct ks_env *env, struct kuid uid)
{
    return env->scheduler && preempt_under_way(env->scheduler, uid);
}

bool ks_stays(const struct ks_env *env, struct kuid uid)
{
    return env->scheduler && placeholder_stays(env->scheduler, uid);
}
