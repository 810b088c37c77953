/* collect.c - the advisor: which collectors run, when, and how each of them is. */
#include "koordlet/collect/collect_int.h"

#include <stdio.h>

#include "base/klog.h"
#include "base/map.h"
#include "koordlet/facts/storage.h"

enum {
    ENTRIES_MAX = 16,
    SAID_MAX = 8,
    SWEEP_EVERY = 60,     /* seconds */
    CLOCK_BACK_MS = 1000, /* a wall clock that goes back by more was set */
};
#define SAY_AGAIN (600 * NSEC_PER_SEC)

struct said { /* a message that was logged, and until when it is not logged again */
    uint64_t hash;
    nsec_t until;
};
struct entry {
    const struct collector *c;
    void *self;
    nsec_t interval;
    bool set_up, started, idle;
    bool told; /* that it fails; it will be told when it is well again */
    struct counter *failures;
    struct said said[SAID_MAX];
    char why[320]; /* it has not started */
};
struct group { /* collectors of one interval */
    struct collect *collect;
    nsec_t interval, due;
    struct timer *timer;
};
struct collect {
    struct collect_env *env;
    struct entry entries[ENTRIES_MAX], *current;
    struct group groups[ENTRIES_MAX];
    uint32_t n, ngroups;
    int64_t last_ms;
    nsec_t next_sweep;
};

static const struct metric_desc failures_desc = {
    "koordlet_collect_failures_total",
    "Number of times a collector could not read or understand something.",
    METRIC_COUNTER,
    .labels = { "collector" },
};

/* ---- what went wrong ------------------------------------------------------------------------- */

/* May this message be logged? Not if it was lately, nor if as many others were: what is wrong may
 * have another text each time. */
static bool say(struct entry *en, const struct kerr *err, nsec_t now)
{
    uint64_t hash = hash_stable(err->text, strlen(err->text));
    struct said *place = &en->said[0];

    for (int i = 0; i < SAID_MAX; i++) {
        if (en->said[i].hash == hash && en->said[i].until > now)
            return false;
        if (en->said[i].until < place->until)
            place = &en->said[i];
    }
    if (place->until > now)
        return false;
    *place = (struct said){ hash, now + SAY_AGAIN };
    return true;
}

void collect_complain(struct collect_env *e, const char *subject, const struct kerr *err)
{
    struct entry *en = e->advisor->current;

    if (track_is_gone(err->code))
        return;
    counter_inc(en->failures);
    if (say(en, err, loop_mono(e->loop)))
        KLOG_E(err, "Collector cannot parse its input", KV_S("collector", en->c->name),
               KV_S("of", subject));
}

static void not_started(struct entry *en, const char *why)
{
    snprintf(en->why, sizeof en->why, "%s: %s", en->c->name, why);
}

static void judge(struct entry *en, int r, const struct kerr *err, nsec_t now)
{
    if (r == 0) {
        if (en->told)
            KLOG_I(0, "Collector works again", KV_S("collector", en->c->name));
        en->told = false;
        en->started = true;
        return;
    }
    if (r == -EOPNOTSUPP) {
        if (!en->idle)
            KLOG_W("Collector stopped, this machine does not support it",
                   KV_S("collector", en->c->name), KV_S("reason", err->text));
        en->idle = en->started = true;
        return;
    }
    if (!en->started)
        not_started(en, err->text);
    if (r == -EAGAIN)
        return;
    counter_inc(en->failures);
    if (!en->told && say(en, err, now)) {
        KLOG_E(err, "Collector failed", KV_S("collector", en->c->name));
        en->told = true;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void run(struct collect *c, struct entry *en)
{
    struct kerr err = { 0 };
    int r = 0;

    c->current = en;
    if (!en->set_up && en->c->setup)
        r = en->c->setup(c->env, &en->self, &err);
    en->set_up = r == 0;
    if (r == 0)
        r = en->c->tick(en->self, c->env, &err);
    judge(en, r, &err, loop_mono(c->env->loop));
}

/* The wall clock may be set at any time: samples of what is now the future would refuse all that
 * comes. */
static void read_clock(struct collect *c)
{
    int64_t ms = loop_wall(c->env->loop) / NSEC_PER_MSEC;

    if (ms < c->last_ms - CLOCK_BACK_MS) {
        KLOG_W("The clock was set back", KV_D("by", (c->last_ms - ms) * NSEC_PER_MSEC));
        metriccache_rewind(c->env->mc, ms);
    }
    c->env->now_ms = c->last_ms = ms;
    c->env->known = snapshots_get(c->env->snapshots);
}

static void sweep(struct collect *c)
{
    nsec_t now = loop_mono(c->env->loop);

    if (now < c->next_sweep)
        return;
    c->next_sweep = now + SWEEP_EVERY * NSEC_PER_SEC;
    metriccache_sweep(c->env->mc, c->env->now_ms);
}

static void on_timer(struct loop *l, void *arg)
{
    struct group *g = arg;
    struct collect *c = g->collect;
    nsec_t now = loop_mono(l);

    /* The cadence holds; rounds that were missed are not made up for. */
    g->due += g->interval;
    if (g->due <= now)
        g->due = now + g->interval;
    g->timer = loop_after(l, g->due - now, on_timer, g);
    c->env->pods->reader.tick++;
    read_clock(c);
    for (uint32_t i = 0; i < c->n; i++)
        if (c->entries[i].interval == g->interval)
            run(c, &c->entries[i]);
    sweep(c);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void add(struct collect *c, const struct collector *col)
{
    struct collect_env *e = c->env;
    nsec_t interval = col->interval(e);

    if (interval <= 0)
        return;
    const char *why = col->unsupported ? col->unsupported(e) : NULL;
    if (why) {
        KLOG_W("Collector is enabled, but this machine does not support it",
               KV_S("collector", col->name), KV_S("reason", why));
        return;
    }
    assert(c->n < ENTRIES_MAX);
    struct entry *en = &c->entries[c->n++];
    *en = (struct entry){ .c = col, .interval = interval };
    not_started(en, "has not run yet");
    en->failures =
        metric_counter(metrics_add(e->internal, &failures_desc), METRIC_VALUES(col->name));
    for (uint32_t i = 0; i < c->ngroups; i++)
        if (c->groups[i].interval == interval)
            return;
    c->groups[c->ngroups++] = (struct group){ .collect = c, .interval = interval };
}

static void on_policy(void *arg)
{
    struct collect_env *e = arg;

    if (e->advisor)
        collect_retain(e);
}

static void on_pod_gone(void *arg, const char *uid)
{
    struct collect_env *e = arg;

    for (uint32_t i = 0; e->devices && e->devices[i]; i++)
        if (e->device_selves[i] && e->devices[i]->pod_gone)
            e->devices[i]->pod_gone(e->device_selves[i], uid);
}

static void setup_devices(struct collect_env *e)
{
    for (uint32_t i = 0; e->devices && e->devices[i]; i++) {
        const struct device_source *d = e->devices[i];
        const char *why = NULL;
        struct kerr err = { 0 };

        assert(i < DEVICE_SOURCES_MAX);
        if (!d->enabled(e))
            continue;
        if (d->unsupported && (why = d->unsupported(e)))
            KLOG_W("Devices are enabled, but this machine does not support them",
                   KV_S("type", d->type), KV_S("reason", why));
        else if (d->setup(e, &e->device_selves[i], &err) < 0)
            KLOG_E(&err, "Devices cannot be measured", KV_S("type", d->type));
    }
}

struct collect *collect_new(struct collect_env *e)
{
    struct collect *c = xnew0(struct collect);

    c->env = e;
    e->advisor = c;
    e->pods = pod_tracks_new(e->host, e->loop);
    e->pods->on_gone = on_pod_gone;
    e->pods->arg = e;
    collect_retain(e);
    snapshots_on(e->snapshots, STATES_POLICY, "metric cache", on_policy, e);
    snapshots_on(e->snapshots, STATES_NODESLO, "metric cache", on_policy, e);
    setup_devices(e);
    for (size_t i = 0; collectors[i]; i++)
        add(c, collectors[i]);
    return c;
}

struct collect *collect_free(struct collect *c)
{
    if (!c)
        return NULL;
    struct collect_env *e = c->env;
    e->advisor = NULL;
    for (uint32_t i = 0; i < c->ngroups; i++)
        timer_cancel(c->groups[i].timer);
    for (uint32_t i = 0; i < c->n; i++)
        if (c->entries[i].set_up && c->entries[i].c->destroy)
            c->entries[i].c->destroy(c->entries[i].self);
    e->pods = pod_tracks_free(e->pods);
    for (uint32_t i = 0; e->devices && e->devices[i]; i++)
        if (e->device_selves[i])
            e->devices[i]->destroy(take(e->device_selves[i]));
    e->cpu_info = cpu_info_unref(e->cpu_info);
    e->numa_info = numa_info_unref(e->numa_info);
    e->storage_info = storage_info_unref(e->storage_info);
    free(c);
    return NULL;
}

void collect_start(struct collect *c)
{
    for (uint32_t i = 0; i < c->ngroups; i++) {
        c->groups[i].due = loop_mono(c->env->loop);
        c->groups[i].timer = loop_after(c->env->loop, 0, on_timer, &c->groups[i]);
    }
}

const char *collect_missing(const struct collect *c, size_t i)
{
    for (uint32_t k = 0; k < c->n; k++)
        if (!c->entries[k].started && i-- == 0)
            return c->entries[k].why;
    return NULL;
}
