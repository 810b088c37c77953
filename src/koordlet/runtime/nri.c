/* nri.c - the one connection to the runtime's NRI: made, lost and made again. */
#include <stdio.h>

#include "base/klog.h"
#include "client/backoff.h"
#include "component/metrics.h"
#include "koordlet/runtime/delivery_int.h"
#include "koordlet/states/complaint.h"
#include "net/stream.h"

/* Whatever the flag says, nobody waits for half an hour after the runtime is back. */
#define BACKOFF_MAX (30 * NSEC_PER_SEC)

struct attempt { /* a dial that may outlive the link */
    struct nri_link *l;
};
struct nri_link {
    struct delivery *d;
    struct attempt *attempt;
    struct dial *dial;
    struct nri_session *session;
    struct nri_handlers handlers;
    struct timer *timer; /* to try again, or for the session to become ready */
    struct backoff backoff;
    int64_t steps;
    nsec_t since; /* the session is ready; 0: it is not */
    struct complaint complaint;
    struct gauge *connected;
    struct counter *sessions;
    char status[224];
};

static const struct metric_desc connected_desc = {
    "koordlet_nri_connected", "1 while koordlet is registered as a plugin of the runtime's NRI.",
    METRIC_GAUGE, .labels = { "node" }
};
static const struct metric_desc sessions_desc = {
    "koordlet_nri_sessions_total", "Sessions with the runtime's NRI since the start.",
    METRIC_COUNTER, .labels = { "node" }
};

static void link_dial(struct nri_link *l);

static void set_connected(struct nri_link *l, bool on)
{
    if (l->connected)
        gauge_set(l->connected, on ? 1 : 0);
}

static void on_again(struct loop *loop, void *arg)
{
    struct nri_link *l = arg;

    (void)loop;
    l->timer = NULL;
    link_dial(l);
}

/* The session or the dial is over: the next one comes at once when this one was a good one. */
static void link_lost(struct nri_link *l, const struct kerr *why)
{
    struct loop *loop = l->d->env.loop;
    nsec_t now = loop_mono(loop);
    bool was_good = l->since > 0 && now - l->since >= l->d->env.o->hooks.nri_connect_timeout;

    l->timer = timer_cancel(l->timer);
    l->session = nri_session_free(l->session);
    set_connected(l, false);
    snprintf(l->status, sizeof l->status, "not connected: %.200s", why->text);
    /* A runtime without NRI is no reason for a line a minute. */
    bool told = l->complaint.bad && why->code == -ENOENT;
    if (complaint_due(&l->complaint, now) && !told)
        KLOG_W("Not connected to the runtime's NRI: new containers get their settings by the "
               "reconciler, seconds later",
               KV_S("why", why->text));
    l->since = 0;
    if (was_good) {
        backoff_reset(&l->backoff);
        l->steps = 0;
    } else if (++l->steps > l->d->env.o->hooks.nri_backoff_steps) {
        KLOG_W("Giving NRI up: --runtime-hooks-nri-backoff-steps attempts failed");
        return;
    }
    l->timer = loop_after(loop, was_good ? 0 : backoff_next(&l->backoff, loop), on_again, l);
}

/* ---- the session ----------------------------------------------------------------------------- */

/* Handlers get the delivery; these two are the link's own. */
static void on_ready(void *arg, struct str name, struct str version)
{
    struct nri_link *l = ((struct delivery *)arg)->nri;

    l->timer = timer_cancel(l->timer);
    l->since = MAX(loop_mono(l->d->env.loop), (nsec_t)1);
    set_connected(l, true);
    if (l->sessions)
        counter_inc(l->sessions);
    snprintf(l->status, sizeof l->status, "connected to %.*s %.*s", (int)MIN(name.n, (size_t)80),
             name.n ? name.p : "", (int)MIN(version.n, (size_t)80), version.n ? version.p : "");
    complaint_over(&l->complaint);
    KLOG_I(0, "Registered as a plugin of the runtime's NRI", KV_S("status", l->status));
}

static void on_closed(void *arg, const struct kerr *why)
{
    link_lost(((struct delivery *)arg)->nri, why);
}

static void on_late(struct loop *loop, void *arg)
{
    struct nri_link *l = arg;
    struct kerr why;

    (void)loop;
    l->timer = NULL;
    kerr_set(&why, -ETIMEDOUT, "the runtime did not configure the plugin in time");
    link_lost(l, &why);
}

static int events_wanted(const struct delivery *d)
{
    static const struct {
        enum nri_event event;
        enum hook_stage stage;
    } all[] = {
        { NRI_RUN_POD_SANDBOX, HOOK_PRE_RUN_POD_SANDBOX },
        { NRI_REMOVE_POD_SANDBOX, HOOK_PRE_REMOVE_POD_SANDBOX },
        { NRI_CREATE_CONTAINER, HOOK_PRE_CREATE_CONTAINER },
        { NRI_UPDATE_CONTAINER, HOOK_PRE_UPDATE_CONTAINER },
    };
    int mask = 0;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!d->off[all[i].stage])
            mask |= NRI_BIT(all[i].event);
    /* None would mean all of them. */
    return mask ? mask : NRI_BIT(NRI_RUN_POD_SANDBOX);
}

static void on_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct attempt *t = arg;
    struct nri_link *l = t->l;

    free(t);
    if (!l) {
        stream_close(s);
        return;
    }
    l->attempt = NULL;
    l->dial = NULL;
    if (!s) {
        link_lost(l, err);
        return;
    }
    const struct hooks_options *o = &l->d->env.o->hooks;
    const struct nri_session_opts opts = { .loop = l->d->env.loop,
                                           .name = o->nri_name,
                                           .index = o->nri_index,
                                           .events = events_wanted(l->d) };
    l->session = nri_session_new(&opts, s, &l->handlers, l->d);
    l->timer = loop_after(l->d->env.loop, o->nri_connect_timeout, on_late, l);
}

/* ---- dialling -------------------------------------------------------------------------------- */

static void link_dial(struct nri_link *l)
{
    const struct delivery_env *env = &l->d->env;
    char path[512];

    l->attempt = xnew0(struct attempt);
    l->attempt->l = l;
    if (env->dial) {
        env->dial(env->dial_arg, env->loop, on_dialed, l->attempt);
        return;
    }
    snprintf(path, sizeof path, "%s%s", env->host->roots.var_run, env->o->hooks.nri_socket);
    l->dial = stream_dial(
        env->loop,
        &(struct dial_opts){ .unix_path = path, .timeout = env->o->hooks.nri_connect_timeout },
        on_dialed, l->attempt);
}

struct nri_link *nri_link_new(struct delivery *d)
{
    const struct hooks_options *o = &d->env.o->hooks;
    struct nri_link *l = xnew0(struct nri_link);

    l->d = d;
    l->handlers = nri_answers;
    l->handlers.ready = on_ready;
    l->handlers.closed = on_closed;
    l->backoff = (struct backoff){ .initial = o->nri_backoff,
                                   .max = MIN(o->nri_backoff_cap, BACKOFF_MAX),
                                   .factor = o->nri_backoff_factor,
                                   .jitter = o->nri_backoff_jitter };
    snprintf(l->status, sizeof l->status, "not connected yet");
    if (d->env.metrics) {
        const char *node = str_or(d->env.node_name, "");
        l->connected =
            metric_gauge(metrics_add(d->env.metrics, &connected_desc), METRIC_VALUES(node));
        l->sessions =
            metric_counter(metrics_add(d->env.metrics, &sessions_desc), METRIC_VALUES(node));
    }
    return l;
}

struct nri_link *nri_link_free(struct nri_link *l)
{
    if (!l)
        return NULL;
    timer_cancel(l->timer);
    if (l->dial) {
        dial_cancel(l->dial);
        free(l->attempt);
    } else if (l->attempt) {
        l->attempt->l = NULL;
    }
    nri_session_free(l->session);
    free(l);
    return NULL;
}

void nri_link_start(struct nri_link *l)
{
    link_dial(l);
}

bool nri_link_connected(const struct nri_link *l, char *why, size_t size)
{
    snprintf(why, size, "%s", l->status);
    return l->since > 0;
}
