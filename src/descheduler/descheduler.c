/* descheduler.c - the descheduler put together: caches, profiles, rounds. */
#include "descheduler/descheduler.h"

#include "base/klog.h"
#include "client/events.h"
#include "component/metrics.h"
#include "controllers/caches.h"
#include "descheduler/config/config.h"
#include "descheduler/framework/moves.h"
#include "loop/loop.h"

#define NAME       "koord-descheduler"
#define NAMESPACE  "koordinator-system"
#define MOVES_NAME "koord-descheduler-moves"
#define WAIT_SYNC  (100 * NSEC_PER_MSEC)

struct round { /* under way */
    struct kd_view *view;
    struct kd_profile_run *run;
    enum kd_point point;
    uint32_t at; /* the profile */
    nsec_t began;
};
struct descheduler {
    struct loop *loop;
    struct kube *kube;
    struct descheduler_opts o;
    const struct desched_config *config;
    struct metrics *own_metrics;
    struct caches *caches;
    struct recorder *events;
    struct moves *moves;
    struct limiter *limiter;
    struct kd_shared shared;
    struct kd_profile **profiles;
    uint32_t n;
    struct timer *timer;
    struct round round;
    bool leading, started;
    struct descheduler_stats stats;
    struct metric *rounds;
    struct histogram *seconds;
};

/* ---- rounds ----------------------------------------------------------------------------------- */

static const struct metric_desc rounds_desc = {
    "koord_descheduler_rounds_total",
    "Rounds of descheduling, by result.",
    METRIC_COUNTER,
    .labels = { "result" },
};
static const struct metric_desc seconds_desc = {
    "koord_descheduler_round_duration_seconds",
    "Time that a round took.",
    METRIC_HISTOGRAM,
};

static void on_round(struct loop *l, void *arg);

static void round_end(struct descheduler *d, const struct kerr *err)
{
    nsec_t took = loop_mono(d->loop) - d->round.began;

    d->round.run = kd_profile_run_free(d->round.run);
    d->round.view = kd_view_free(d->round.view);
    d->stats.rounds++;
    d->stats.failed += err != NULL;
    counter_inc(metric_counter(d->rounds, METRIC_VALUES(err ? "error" : "success")));
    histogram_observe(d->seconds, (double)took / 1e9);
    if (err)
        KLOG_E(err, "The round ended early");
    else
        KLOG_I(2, "Finished a round", KV_I("evicted", limiter_count(d->limiter)),
               KV_D("took", took));
    if (d->config->interval > 0)
        d->timer = loop_after(d->loop, MAX(d->config->interval - took, (nsec_t)0), on_round, d);
    if (d->o.round_done)
        d->o.round_done(d->o.round_arg, err);
}

/* All profiles at the point Deschedule, then all at Balance. 0: there is no more. */
static bool next_run(struct descheduler *d)
{
    struct round *r = &d->round;

    r->run = kd_profile_run_free(r->run);
    if (r->at == d->n && r->point == KD_BALANCE)
        return false;
    if (r->at == d->n) {
        r->point = KD_BALANCE;
        r->at = 0;
    }
    r->run = kd_profile_run_new(d->profiles[r->at++], r->point, r->view);
    return true;
}

static void on_turn(struct loop *l, void *arg)
{
    struct descheduler *d = arg;
    struct kerr err = { 0 };
    nsec_t since = loop_stopwatch(l);

    d->timer = NULL;
    int more = kd_profile_run_turn(d->round.run, &err);
    nsec_t took = loop_stopwatch(l) - since;
    d->stats.longest_turn = MAX(d->stats.longest_turn, took);
    d->stats.busy += took;
    if (more < 0)
        round_end(d, &err);
    else if (more == 0 && !next_run(d))
        round_end(d, NULL);
    else
        d->timer = loop_after(l, 0, on_turn, d);
}

/* Without plugins a round is over before the cluster is looked at. */
static bool has_plugins(const struct descheduler *d)
{
    for (uint32_t i = 0; i < d->config->profiles.n; i++)
        if (d->config->made[i].points[KD_DESCHEDULE].n || d->config->made[i].points[KD_BALANCE].n)
            return true;
    return false;
}

static void on_round(struct loop *l, void *arg)
{
    struct descheduler *d = arg;
    struct kerr err = { 0 };
    nsec_t since = loop_stopwatch(l);

    d->timer = NULL;
    d->round = (struct round){ .point = KD_DESCHEDULE, .began = loop_mono(l) };
    limiter_reset(d->limiter);
    if (!has_plugins(d)) {
        round_end(d, NULL);
        return;
    }
    d->round.view = descheduler_view(d);
    d->stats.busy += loop_stopwatch(l) - since;
    if (kd_view_count(d->round.view) <= 1) {
        (void)kerr_set(&err, -EINVAL,
                       "the cluster size is 0 or 1 meaning eviction causes service disruption or "
                       "degradation");
        round_end(d, &err);
        return;
    }
    (void)next_run(d);
    d->timer = loop_after(l, 0, on_turn, d);
}

/* ---- acting ----------------------------------------------------------------------------------- */

static bool is_ready(const struct descheduler *d)
{
    return descheduler_synced(d) && (!d->moves || moves_ready(d->moves));
}

/* Controllers and rounds wait for the caches; a kind that the server lacks may come later. */
static void on_wait(struct loop *l, void *arg)
{
    struct descheduler *d = arg;

    d->timer = NULL;
    if (!is_ready(d)) {
        d->timer = loop_after(l, WAIT_SYNC, on_wait, d);
        return;
    }
    d->started = true;
    for (uint32_t i = 0; i < d->n && !d->o.observer; i++)
        kd_profile_start(d->profiles[i]);
    on_round(l, d);
}

void descheduler_lead(struct descheduler *d)
{
    if (d->leading)
        return;
    d->leading = true;
    if (d->moves)
        moves_start(d->moves);
    d->timer = loop_after(d->loop, 0, on_wait, d);
}

void descheduler_watch(struct descheduler *d)
{
    caches_start(d->caches);
}

bool descheduler_synced(const struct descheduler *d)
{
    if (!informer_synced(d->shared.nodes) || !informer_synced(d->shared.pods))
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        if (!kd_profile_synced(d->profiles[i]))
            return false;
    return true;
}

struct kd_view *descheduler_view(struct descheduler *d)
{
    return kd_view_new(&(struct kd_view_opts){ .nodes = d->shared.nodes,
                                               .pods = d->shared.pods,
                                               .caches = d->caches,
                                               .include = d->config->nodes,
                                               .now = loop_wall(d->loop) });
}

/* ---- profiles --------------------------------------------------------------------------------- */

static struct kd_profile *find(const struct descheduler *d, const char *name)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->profiles[i] && streq(kd_profile_name(d->profiles[i]), name))
            return d->profiles[i];
    return NULL;
}

static void put_in_force(struct descheduler *d, const struct desched_config *c)
{
    d->config = c;
    d->shared.include = c->nodes;
    d->shared.dry_run = c->dry_run || d->o.observer;
    d->shared.at_once = d->o.observer != NULL;
    limiter_set(d->limiter, &c->limits);
}

/* New profiles first, then those that go on: when one cannot be made, nothing has changed. An
 * update can still fail; then the profiles before it have their new plugins, and the caller is
 * told. */
static int make_profiles(struct descheduler *d, const struct desched_config *c, struct kerr *err)
{
    struct kd_profile **all = xnewn0(c->profiles.n, struct kd_profile *);
    int r = 0;

    for (uint32_t i = 0; i < c->profiles.n && r == 0; i++)
        if (!find(d, c->made[i].name)) {
            all[i] = kd_profile_new(&d->shared, &c->made[i], i, err);
            r = all[i] ? 0 : err->code;
        }
    for (uint32_t i = 0; i < c->profiles.n && r == 0; i++)
        if (!all[i])
            r = kd_profile_update(find(d, c->made[i].name), &c->made[i], i, err);
    if (r < 0) {
        for (uint32_t i = 0; i < c->profiles.n; i++)
            kd_profile_free(all[i]);
        free(all);
        return r;
    }
    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (!all[i])
            all[i] = find(d, c->made[i].name);
        else if (d->started)
            kd_profile_start(all[i]);
    for (uint32_t i = 0; i < d->n; i++) {
        bool kept = false;
        for (uint32_t j = 0; j < c->profiles.n; j++)
            kept |= all[j] == d->profiles[i];
        if (!kept)
            kd_profile_free(d->profiles[i]);
    }
    free(d->profiles);
    d->profiles = all;
    d->n = c->profiles.n;
    return 0;
}

int descheduler_reload(struct descheduler *d, const struct desched_config *c, struct kerr *err)
{
    if (d->round.view)
        return kerr_set(err, -EBUSY, "a round is under way");
    if (make_profiles(d, c, err) < 0)
        return err->code;
    put_in_force(d, c);
    if (!d->started)
        return 0;
    timer_cancel(d->timer);
    d->timer = c->interval > 0 || d->stats.rounds == 0 ? loop_after(d->loop, 0, on_wait, d) : NULL;
    return 0;
}

bool descheduler_may_go(struct descheduler *d, const char *profile, const struct kd_view *v,
                        const struct pod *p, struct kd_why *why)
{
    struct kd_profile *x = profile ? find(d, profile) : d->profiles[0];
    return x && kd_profile_may_go(x, v, p, why);
}

/* ---- life ------------------------------------------------------------------------------------- */

static void make_shared(struct descheduler *d)
{
    const struct descheduler_opts *o = &d->o;

    d->shared.env = (struct kd_env){ .loop = d->loop,
                                     .kube = d->kube,
                                     .caches = d->caches,
                                     .events = d->events,
                                     .metrics = o->metrics ? o->metrics : d->own_metrics,
                                     .gates = o->gates,
                                     .placer = o->placer };
    d->shared.nodes = caches_get(d->caches, &kind_node);
    d->shared.pods = caches_get(d->caches, &kind_pod);
    /* Filled while pods arrive: made in the first round they would hold the loop up. */
    (void)informer_add_index(d->shared.pods, index_pod_node);
    (void)informer_add_index(d->shared.pods, index_owner);
    d->shared.limiter = d->limiter;
    d->shared.observer = o->observer;
    d->rounds = metrics_add(d->shared.env.metrics, &rounds_desc);
    d->seconds = metric_histogram(metrics_add(d->shared.env.metrics, &seconds_desc), NULL);
    if (!o->no_moves)
        d->moves = moves_new(&(struct moves_opts){ .loop = d->loop,
                                                   .kube = d->kube,
                                                   .pods = d->shared.pods,
                                                   .ns = str_or(o->moves_ns, NAMESPACE),
                                                   .name = MOVES_NAME,
                                                   .read_only = o->observer != NULL });
    d->shared.moves = d->moves;
}

struct descheduler *descheduler_new(struct loop *l, struct kube *k,
                                    const struct descheduler_opts *o, struct kerr *err)
{
    CLEANUP(descheduler_free) struct descheduler *d = xnew0(struct descheduler);

    d->loop = l;
    d->kube = k;
    d->o = *o;
    d->own_metrics = o->metrics ? NULL : metrics_new();
    d->caches = caches_new(k);
    d->events = recorder_new(
        k, &(struct recorder_opts){ .component = NAME, .instance = str_or(o->instance, NAME) });
    d->limiter = limiter_new();
    make_shared(d);
    put_in_force(d, o->config);
    return make_profiles(d, o->config, err) < 0 ? NULL : take(d);
}

struct descheduler *descheduler_free(struct descheduler *d)
{
    if (!d)
        return NULL;
    timer_cancel(d->timer);
    kd_profile_run_free(d->round.run);
    kd_view_free(d->round.view);
    for (uint32_t i = 0; i < d->n; i++)
        kd_profile_free(d->profiles[i]);
    free(d->profiles);
    moves_free(d->moves);
    limiter_free(d->limiter);
    recorder_free(d->events);
    caches_free(d->caches);
    metrics_free(d->own_metrics);
    free(d);
    return NULL;
}

struct descheduler_stats descheduler_stats(const struct descheduler *d)
{
    struct descheduler_stats s = d->stats;

    s.nodes = informer_count(d->shared.nodes);
    s.pods = informer_count(d->shared.pods);
    s.cache_bytes = informer_stats(d->shared.nodes).bytes + informer_stats(d->shared.pods).bytes;
    s.evicted = limiter_count(d->limiter);
    return s;
}
