/* delivery.c - the parts that deliver hooks at a start, and what they share. */
#include "koordlet/runtime/delivery.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/klog.h"
#include "koordlet/runtime/delivery_int.h"
#include "loop/loop.h"
#include "json/kj.h"

#define RULES_EVERY  (200 * NSEC_PER_MSEC)
#define RULES_WAIT   (10 * NSEC_PER_SEC)
#define LOOK_EVERY   (10 * NSEC_PER_SEC)
#define LISTEN_AGAIN (10 * NSEC_PER_SEC)

/* ---- running hooks --------------------------------------------------------------------------- */

static nsec_t stopwatch(void *loop)
{
    return loop_stopwatch(loop);
}

static void switch_off(struct delivery *d, const char *stage)
{
    for (int s = 0; s < HOOK_STAGES; s++)
        if (streq(stage, hook_stage_name((enum hook_stage)s))) {
            d->off[s] = true;
            return;
        }
    KLOG_W("--runtime-hooks-disable-stages names a stage that there is not", KV_S("stage", stage));
}

static void make_runner(struct delivery *d)
{
    const struct koordlet_options *o = d->env.o;

    d->runner = (struct hook_runner){
        .policy = streq(o->hooks.plugin_failure_policy, "Fail") ? HOOK_FAIL : HOOK_IGNORE,
        .metrics = d->env.metrics,
        .node_name = d->env.node_name,
        .stopwatch = stopwatch,
        .stopwatch_arg = d->env.loop,
    };
    for (int g = 0; g < KOORDLET_GATES; g++)
        d->runner.on[g] = gates_on(&o->gates, (unsigned)g);
    for (size_t i = 0; i < o->hooks.disable_stages.n; i++)
        switch_off(d, o->hooks.disable_stages.items[i]);
}

bool delivery_has(const struct delivery *d, enum hook_stage s)
{
    return !d->off[s] && hooks_any(&d->runner, s);
}

int delivery_run(struct delivery *d, enum hook_stage s, struct hook_context *c, struct kerr *err)
{
    if (d->off[s])
        return 0;
    return hooks_run(&d->runner, s, reconciler_rules(d->env.reconciler), c, err);
}

int delivery_run_pod(struct delivery *d, const struct asked_pod *p, struct hook_context *c,
                     struct kerr *err)
{
    (void)p;
    int code = delivery_run(d, HOOK_PRE_RUN_POD_SANDBOX, c, err);
    if (!response_is_empty(c))
        newpods_add(d->newpods, c);
    return code;
}

/* The resctrl group of the pod goes when nobody proposes it any more. */
void delivery_remove_pod(struct delivery *d, const struct asked_pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(hook_context_fini) struct hook_context c;
    struct kerr err;

    request_pod(p, a, &c);
    (void)delivery_run(d, HOOK_PRE_REMOVE_POD_SANDBOX, &c, &err);
    newpods_remove(d->newpods, c.uid);
}

/* ---- containers that no runtime asked about -------------------------------------------------- */

/* When its cgroup was made: the start, as good as we know it. */
static nsec_t age_of(const struct delivery *d, const char *cgroup_dir)
{
    const struct host *h = d->env.host;
    char path[1024];
    struct stat st;

    snprintf(path, sizeof path, "%s%s", h->version == CGROUP_V1 ? "cpu/" : "", cgroup_dir);
    if (fstatat(h->cgroup_fd, path, &st, 0) < 0)
        return -1;
    nsec_t made = st.st_ctim.tv_sec * NSEC_PER_SEC + st.st_ctim.tv_nsec;
    return MAX(loop_wall(d->env.loop) - made, (nsec_t)0);
}

static const char *bare_id(const char *id)
{
    const char *p = id ? strstr(id, "://") : NULL;

    return p ? p + 3 : "";
}

static void look_at_container(struct delivery *d, const struct npod *p,
                              const struct npod_container *c, const containerlist *specs)
{
    const char *id = bare_id(c->id);

    ledger_keep(d->ledger, id);
    if (!c->running || !c->cgroup_dir || ledger_has(d->ledger, id))
        return;
    for (uint32_t i = 0; i < specs->n; i++) {
        if (!streq(specs->items[i].name, c->name))
            continue;
        CLEANUP(arena_free) struct arena *a = arena_new();
        CLEANUP(hook_context_fini) struct hook_context x;
        struct hook_runner quiet = d->runner;
        struct kerr err;
        quiet.metrics = NULL;
        hook_context_container(p, &specs->items[i], c, a, &x);
        (void)hooks_run(&quiet, HOOK_PRE_CREATE_CONTAINER, reconciler_rules(d->env.reconciler), &x,
                        &err);
        bool expected = ledger_take_expected(d->ledger, p->uid, c->name);
        ledger_note(d->ledger, &(struct delivered){
                                   .id = id,
                                   .ns = x.ns,
                                   .pod = x.name,
                                   .container = c->name,
                                   .path = response_is_empty(&x) ? DELIVERED_NOTHING
                                           : expected            ? DELIVERED_PROXY
                                                                 : DELIVERED_RECONCILE,
                                   .after = expected ? 0 : age_of(d, c->cgroup_dir),
                               });
        ledger_keep(d->ledger, id);
        return;
    }
}

static void look_at_all(struct delivery *d)
{
    const struct podset *pods = snapshots_get(d->env.snapshots)->pods;

    if (!pods || !d->env.host->driver_known)
        return;
    ledger_round_begin(d->ledger);
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        const struct pod_spec *spec = npod_pod(p)->spec;
        for (uint32_t k = 0; k < p->ncontainers; k++)
            look_at_container(d, p, &p->containers[k], &spec->containers);
        for (uint32_t k = 0; k < p->ninit_containers; k++)
            look_at_container(d, p, &p->init_containers[k], &spec->init_containers);
    }
    ledger_round_end(d->ledger);
}

static void on_pods(void *arg)
{
    look_at_all(arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct delivery *delivery_new(const struct delivery_env *env)
{
    struct delivery *d = xnew0(struct delivery);

    d->env = *env;
    make_runner(d);
    d->ledger = ledger_new(env->loop, env->metrics, env->node_name);
    d->newpods = newpods_new(env);
    d->server = hookserver_new(d);
    if (env->o->hooks.nri)
        d->nri = nri_link_new(d);
    return d;
}

struct delivery *delivery_free(struct delivery *d)
{
    if (!d)
        return NULL;
    timer_cancel(d->wait);
    timer_cancel(d->regular);
    hookserver_free(d->server);
    nri_link_free(d->nri);
    newpods_free(d->newpods);
    ledger_free(d->ledger);
    free(d);
    return NULL;
}

/* A container that runs already gets its values in the answer to Synchronize, so they should be
 * known by then; but who starts pods does not wait for an API server that is away. */
static void on_wait(struct loop *l, void *arg)
{
    struct delivery *d = arg;
    const struct snapshot *s = snapshots_get(d->env.snapshots);
    bool known = s->slo && s->pods && d->env.host->driver_known &&
                 reconciler_rules(d->env.reconciler)->cpuset.known;

    d->wait = NULL;
    if (!known && loop_mono(l) - d->started < RULES_WAIT)
        d->wait = loop_after(l, RULES_EVERY, on_wait, d);
    else
        nri_link_start(d->nri);
}

static void on_listen(struct loop *l, void *arg)
{
    struct delivery *d = arg;
    struct kerr err = { 0 };

    d->regular = NULL;
    d->listening = hookserver_listen(d->server, &err) == 0;
    if (d->listening) {
        hookserver_announce(d->server);
        return;
    }
    if (loop_mono(l) - d->started < LISTEN_AGAIN && err.code == -ENOENT)
        KLOG_I(0,
               "Not serving koord-runtime-proxy: the directory of --runtime-hooks-addr is not "
               "there",
               KV_S("address", d->env.o->hooks.addr));
    else if (loop_mono(l) - d->started < LISTEN_AGAIN)
        KLOG_E(&err, "Failed to listen for koord-runtime-proxy, trying again every 10 seconds");
    d->regular = loop_after(l, LISTEN_AGAIN, on_listen, d);
}

void delivery_start(struct delivery *d)
{
    d->started = loop_mono(d->env.loop);
    snapshots_on(d->env.snapshots, STATES_PODS, "hook delivery", on_pods, d);
    if (*d->env.o->hooks.addr)
        on_listen(d->env.loop, d);
    if (d->nri)
        on_wait(d->env.loop, d);
}

void delivery_serve(struct delivery *d, struct stream *s)
{
    hookserver_serve(d->server, s);
}

bool delivery_nri_connected(const struct delivery *d, char *why, size_t size)
{
    if (d->nri)
        return nri_link_connected(d->nri, why, size);
    snprintf(why, size, "switched off by --enable-nri-runtime-hook=false");
    return false;
}

void delivery_json(const struct delivery *d, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf containers = STRBUF_INIT;
    struct kjw w = kjw_to(out);
    char why[256];
    bool connected = delivery_nri_connected(d, why, sizeof why);

    ledger_json(d->ledger, &containers);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "nri");
    kjw_bool(&w, "connected", connected);
    kjw_str(&w, "status", why);
    kjw_end(&w);
    kjw_obj(&w, "proxy");
    kjw_bool(&w, "listening", d->listening);
    kjw_str(&w, "address", d->env.o->hooks.addr);
    kjw_end(&w);
    kjw_arr(&w, "stages");
    for (int s = 0; s < HOOK_STAGES; s++)
        if (delivery_has(d, (enum hook_stage)s))
            kjw_str(&w, NULL, hook_stage_name((enum hook_stage)s));
    kjw_end(&w);
    kjw_raw(&w, "containers", containers.data, containers.len);
    kjw_end(&w);
}
