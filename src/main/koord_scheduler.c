/* koord_scheduler.c - the program koord-scheduler: lease, endpoints, scheduler (scheduler-core 9).
 */
#include "main/koord_scheduler_int.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/leader.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "scheduler/engine/barrier.h"
#include "scheduler/observe/explain/controller.h"
#include "scheduler/scheduler.h"

#define PROGRAM       "koord-scheduler"
#define RELEASE_GRACE (5 * NSEC_PER_SEC)
#define SYNC_PERIOD   (100 * NSEC_PER_MSEC)

/* ---- scheduling ------------------------------------------------------------------------------ */

static int start_client(struct program_state *p, struct kerr *err)
{
    struct client_options c = p->o->client;
    char host[256] = "";

    c.kubeconfig = p->now.client.kubeconfig;
    c.qps = p->now.client.qps;
    c.burst = p->now.client.burst;
    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        (void)snprintf(host, sizeof host, "unknown");
    p->instance = xasprintf(PROGRAM "-%s", host);
    return client_options_kube(&c, &p->run->env, p->run->loop, p->run->strings, PROGRAM, &p->kube,
                               err);
}

static void watch(struct program_state *p)
{
    p->watching = true;
    scheduler_watch(p->scheduler);
}

static void decide(struct program_state *p)
{
    scheduler_lead(p->scheduler);
    p->explainer = explainer_new(p->run->loop, p->kube, p->scheduler);
}

static void on_barrier(void *arg, const struct kerr *err)
{
    if (err)
        KLOG_W("Going on without the sync barrier", KV_S("err", err->text));
    else
        KLOG_I(0, "Passed the sync barrier");
    decide(arg);
}

static void lead(struct program_state *p)
{
    const struct barrier_opts o = { p->o->barrier_ns, p->o->barrier_pod, p->now.election.name,
                                    p->o->barrier_timeout };

    p->leading = true;
    if (!p->watching)
        watch(p);
    if (p->leader && sched_gate_on(p->o, "SyncBarrier"))
        p->barrier = barrier_new(p->scheduler, &o, on_barrier, p);
    else
        decide(p);
}

static void on_started(void *arg)
{
    struct program_state *p = arg;

    KLOG_I(0, "Leading", KV_S("identity", p->identity));
    lead(p);
}

static void on_stopped(void *arg)
{
    struct program_state *p = arg;

    p->leading = false;
    if (p->run->stopping)
        return;
    KLOG_E(NULL, "Leaderelection lost");
    run_exit(p->run, 1);
}

static void on_new_leader(void *arg, const char *identity)
{
    (void)arg;
    KLOG_I(0, "New leader", KV_S("identity", identity));
}

static int start_election(struct program_state *p, struct kerr *err)
{
    static const struct leader_handler handler = { on_started, on_stopped, on_new_leader };
    const struct sched_election *e = &p->now.election;
    const struct election_options o = {
        .lease_duration = e->lease_duration,
        .renew_deadline = e->renew_deadline,
        .retry_period = e->retry_period,
        .lock = e->lock,
        .name = e->name,
        .ns = e->ns,
    };

    if (!e->elect.v)
        return 0;
    p->identity = election_identity(p->run->loop);
    int r = election_options_leader(&o, p->kube, p->identity, &handler, p, &p->leader, err);
    if (r < 0)
        return r;
    p->watchdog = (struct election_watchdog){ p->run->loop, p->leader, p->identity, e->name,
                                              e->lease_duration };
    serve_add_check(p->serve, SERVE_HEALTHZ | SERVE_LIVEZ, "leaderElection", election_check,
                    &p->watchdog);
    return 0;
}

/* Who stands for election can decide at once. */
static void on_waiting(struct loop *l, void *arg)
{
    struct program_state *p = arg;

    p->waiting = NULL;
    if (p->watching && !scheduler_synced(p->scheduler))
        p->waiting = loop_after(l, SYNC_PERIOD, on_waiting, p);
    else
        leader_start(p->leader);
}

static void begin(struct program_state *p)
{
    if (!p->leader) {
        lead(p);
        return;
    }
    if (!p->now.delay_cache)
        watch(p);
    p->waiting = loop_after(p->run->loop, 0, on_waiting, p);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static bool leads(void *arg)
{
    const struct program_state *p = arg;
    return p->leading && (!p->leader || leader_is(p->leader));
}

/* Who stands by without caches is ready to take over. */
static int check_synced(void *arg, struct kerr *err)
{
    const struct program_state *p = arg;

    if (!p->watching || scheduler_synced(p->scheduler))
        return 0;
    return kerr_set(err, -EAGAIN, "informers have not synced yet");
}

static void on_configz(void *arg, struct httpd_req *r)
{
    const struct program_state *p = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    strbuf_append(&out, "{\"componentconfig\":");
    sched_config_write(&p->now, false, &out);
    strbuf_appendc(&out, '}');
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

/* "host:port", with brackets around an IPv6 address. */
static char *address(const char *host, int port)
{
    return xasprintf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
}

static int start_serving(struct program_state *p, struct kerr *err)
{
    const struct serve_opts o = { .program = PROGRAM,
                                  .metrics = p->run->metrics,
                                  .allow_remote_changes = p->o->debug.allow_remote };
    CLEANUP(mem_free) char *plain = address(p->o->address, p->o->port);
    CLEANUP(mem_free) char *secure = address(p->o->bind_address, p->o->secure_port);
    int r = 0;

    p->serve = serve_new(p->run->loop, &o);
    serve_add_check(p->serve, SERVE_READYZ, "informer-sync", check_synced, p);
    serve_handle(p->serve, "/configz", on_configz, p);
    scheduler_serve(p->scheduler, p->serve, leads, p);
    if (p->o->port)
        r = serve_listen(p->serve, plain, NULL, err);
    if (r == 0 && p->o->secure_port)
        r = sched_secure(p->run, p->serve, secure, &p->delegate, err);
    return r;
}

static void on_debug_signal(struct loop *l, int signum, void *arg)
{
    const struct program_state *p = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)l, (void)signum;
    if (!p->scheduler)
        return;
    scheduler_dump(p->scheduler, &out);
    KLOG_I(0, "State of the scheduler", KV_S("dump", strbuf_str(&out)));
}

/* ---- life ------------------------------------------------------------------------------------ */

static int check(struct run *r, struct kerr *err)
{
    const struct sched_options *o = r->options;

    if (!*o->tls_cert != !*o->tls_key)
        return kerr_set(err, -EINVAL, "--tls-cert-file and --tls-private-key-file go together");
    return 0;
}

static int start(struct run *r, struct kerr *err)
{
    struct program_state *p = xnew0(struct program_state);

    r->self = p;
    p->run = r;
    p->o = r->options;
    int e = settings_load(p, err);
    if (e == 0 && *p->o->write_config_to) {
        run_exit(r, 0);
        return settings_write(p, err);
    }
    if (e < 0)
        return e;
    sched_options_warn(r->flags, p->o);
    gates_log(&p->o->gates);
    gates_metrics(&p->o->gates, r->metrics);
    settings_log(&p->now);
    e = start_client(p, err);
    if (e == 0)
        e = settings_make_scheduler(p, err);
    if (e == 0)
        e = start_serving(p, err);
    if (e == 0)
        e = start_election(p, err);
    if (e == 0)
        e = loop_on_signal(r->loop, SIGUSR2, on_debug_signal, p, err);
    if (e < 0)
        return e;
    settings_watch(p);
    begin(p);
    return 0;
}

static void released(void *arg)
{
    run_exit(arg, 0);
}

static void on_grace_over(struct loop *l, void *arg)
{
    (void)l;
    run_exit(arg, 0);
}

/* First no more decisions, then the lease goes to the next one. */
static void stop(struct run *r)
{
    struct program_state *p = r->self;

    p->again = timer_cancel(p->again);
    p->waiting = timer_cancel(p->waiting);
    p->watch = config_watch_free(p->watch);
    p->serve = serve_free(p->serve);
    p->delegate = delegate_free(p->delegate);
    p->barrier = barrier_free(p->barrier);
    p->explainer = explainer_free(p->explainer);
    p->scheduler = scheduler_free(p->scheduler);
    if (!p->leader) {
        run_exit(r, 0);
        return;
    }
    loop_after(r->loop, RELEASE_GRACE, on_grace_over, r);
    leader_release(p->leader, released, r);
}

static void fini(struct run *r)
{
    struct program_state *p = r->self;

    if (!p)
        return;
    timer_cancel(p->again);
    timer_cancel(p->waiting);
    config_watch_free(p->watch);
    serve_free(p->serve);
    delegate_free(p->delegate);
    barrier_free(p->barrier);
    leader_free(p->leader);
    explainer_free(p->explainer);
    scheduler_free(p->scheduler);
    kube_free(p->kube);
    config_unref(p->config);
    free(p->identity);
    free(p->instance);
    free(p);
}

static const struct program program = {
    .name = PROGRAM,
    .about = "Gives pods the best node there is, as kube-scheduler with Koordinator's plugins\n"
             "does: the same configuration files, flags, endpoints and metrics.\n",
    .add_flags = sched_options_add,
    .check = check,
    .start = start,
    .stop = stop,
    .fini = fini,
};

int main(int argc, char **argv)
{
    struct sched_options o = { 0 };
    return run_main(&program, &o, argc, argv);
}
