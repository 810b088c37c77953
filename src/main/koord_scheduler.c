/* koord_scheduler.c - the program koord-scheduler: when it watches, when it decides, what it serves
 * (scheduler-core 9).
 */
#include "main/koord_scheduler_int.h"

#include <signal.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "scheduler/engine/barrier.h"
#include "scheduler/observe/explain/controller.h"
#include "scheduler/scheduler.h"

/* ---- scheduling ------------------------------------------------------------------------------ */

static void watch(struct program_state *p)
{
    p->watching = true;
    scheduler_watch(p->scheduler);
}

static void decide(struct program_state *p)
{
    scheduler_lead(p->scheduler);
    p->explainer = explainer_new(p->run->loop, p->service->kube, p->scheduler);
}

static void on_barrier(void *arg, const struct kerr *err)
{
    if (err)
        KLOG_W("Continuing without the sync barrier", KV_S("err", err->text));
    else
        KLOG_I(0, "Passed the sync barrier");
    decide(arg);
}

static void lead(void *arg)
{
    struct program_state *p = arg;
    const struct barrier_opts o = { p->o->barrier_ns, p->o->barrier_pod, p->now.election.name,
                                    p->o->barrier_timeout };

    if (!p->watching)
        watch(p);
    if (election_has_lease(p->service->election) && sched_gate_on(p->o, "SyncBarrier"))
        p->barrier = barrier_new(p->scheduler, &o, on_barrier, p);
    else
        decide(p);
}

/* Who stands by without caches is ready to take over. */
static bool is_ready(void *arg)
{
    const struct program_state *p = arg;
    return !p->watching || scheduler_synced(p->scheduler);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static bool leads(void *arg)
{
    const struct program_state *p = arg;
    return election_leads(p->service->election);
}

static int check_synced(void *arg, struct kerr *err)
{
    const struct program_state *p = arg;
    return service_check_synced(p->service, is_ready(arg), err);
}

static void write_configz(void *arg, struct strbuf *out)
{
    const struct program_state *p = arg;

    strbuf_append(out, "{\"componentconfig\":");
    sched_config_write(&p->now, false, out);
    strbuf_appendc(out, '}');
}

static const struct service_handler service = {
    .election = { .ready = is_ready, .lead = lead, .lost = "Leaderelection lost" },
    .configz = write_configz,
};

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
    return secure_options_check(&o->secure, err);
}

static int start_service(struct program_state *p, struct kerr *err)
{
    p->service_opts = settings_service(p);
    if (service_new(p->run, &p->service_opts, &service, p, &p->service, err) < 0 ||
        settings_make_scheduler(p, err) < 0)
        return err->code;
    serve_add_check(p->service->serve, SERVE_READYZ, "informer-sync", check_synced, p);
    scheduler_serve(p->scheduler, p->service->serve, leads, p);
    settings_watch(p);
    if (election_has_lease(p->service->election) && !p->now.delay_cache)
        watch(p);
    return service_start(p->service, err);
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
    sched_options_warn(p->o);
    gates_log(&p->o->gates);
    gates_metrics(&p->o->gates, r->metrics);
    settings_log(&p->now);
    if (start_service(p, err) < 0)
        return err->code;
    return loop_on_signal(r->loop, SIGUSR2, on_debug_signal, p, err);
}

/* First no more decisions, then the lease goes to the next one. */
static void stop_parts(struct program_state *p)
{
    p->watch = config_watch_free(p->watch);
    if (p->service)
        service_close(p->service);
    p->barrier = barrier_free(p->barrier);
    p->explainer = explainer_free(p->explainer);
    p->scheduler = scheduler_free(p->scheduler);
}

static void stop(struct run *r)
{
    struct program_state *p = r->self;

    stop_parts(p);
    service_stop(p->service);
}

static void fini(struct run *r)
{
    struct program_state *p = r->self;

    if (!p)
        return;
    stop_parts(p);
    service_free(p->service);
    config_unref(p->config);
    free(p->plain);
    free(p);
}

static const struct program program = {
    .name = "koord-scheduler",
    .brief = "places pods, with co-location in mind",
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
