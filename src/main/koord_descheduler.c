/* koord_descheduler.c - the program koord-descheduler: when it watches, when it acts, what it
 * serves (descheduler 1).
 */
#include "main/koord_descheduler.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "component/run.h"
#include "component/serve.h"
#include "component/service.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "loop/loop.h"
#include "main/placer.h"

struct program_state {
    struct run *run;
    const struct desched_options *o;
    /* That of the start, the one in force, and one that was taken up half: what a running program
     * cannot change stays from the first. */
    struct config *first, *current, *half;
    struct desched_config now; /* in force: the file's, and over it the flags that were given */
    struct config_watch *watch;
    struct service_opts service_opts;
    struct service *service;
    struct placer *placer;
    struct descheduler *descheduler;
    char *plain;
};

/* ---- configuration ---------------------------------------------------------------------------- */

/* Leader election flags win over the file when they are given; the others count without one. */
static void apply_flags(struct program_state *p)
{
    const struct flags *f = p->run->flags;
    const struct election_options *e = &p->o->election;
    struct desched_config *now = &p->now;

    if (flags_given(f, "leader-elect"))
        now->election.elect.v = e->enabled;
    if (flags_given(f, "leader-elect-lease-duration"))
        now->election.lease_duration = e->lease_duration;
    if (flags_given(f, "leader-elect-renew-deadline"))
        now->election.renew_deadline = e->renew_deadline;
    if (flags_given(f, "leader-elect-retry-period"))
        now->election.retry_period = e->retry_period;
    if (flags_given(f, "leader-elect-resource-name"))
        now->election.name = e->name;
    if (flags_given(f, "leader-elect-resource-namespace"))
        now->election.ns = e->ns;
    if (!*now->client.kubeconfig)
        now->client.kubeconfig = p->o->client.kubeconfig;
    if (*p->o->config)
        return;
    p->plain = p->o->port ? address_text(p->o->address, p->o->port) : xstrdup("");
    now->healthz_address = now->metrics_address = p->plain;
}

static int load(struct program_state *p, struct kerr *err)
{
    int r = *p->o->config ? config_load(&desched_config_spec, p->o->config, &p->first, err)
                          : config_parse(&desched_config_spec, NULL, 0, "defaults", &p->first, err);

    if (r < 0)
        return r;
    p->current = config_ref(p->first);
    p->now = *(const struct desched_config *)p->first->value;
    apply_flags(p);
    return 0;
}

static int write_config(const struct program_state *p, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    desched_config_write(&p->now, &json);
    return config_write(p->o->write_config_to, strbuf_str(&json), json.len, err);
}

static void warn_restart(const struct desched_config *old, const struct desched_config *next)
{
    const struct {
        const char *field;
        bool same;
    } fields[] = {
        { "leaderElection",
          kj_struct_equal(&election_config_schema, &old->election, &next->election) },
        { "clientConnection", kj_struct_equal(&client_config_schema, &old->client, &next->client) },
        { "healthzBindAddress", streq(old->healthz_address, next->healthz_address) },
        { "metricsBindAddress", streq(old->metrics_address, next->metrics_address) },
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!fields[i].same)
            KLOG_W("A changed setting takes effect after a restart only",
                   KV_S("field", fields[i].field));
}

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    struct program_state *p = arg;
    const struct desched_config *c = next->value;
    struct desched_config now = *c;

    if (descheduler_reload(p->descheduler, c, err) < 0) {
        /* Some of its profiles may be in force. */
        if (err->code != -EBUSY) {
            config_unref(p->half);
            p->half = config_ref(next);
        }
        return kerr_wrap(err, "%s", next->path);
    }
    warn_restart(p->first->value, c);
    now.election = p->now.election;
    now.client = p->now.client;
    now.healthz_address = p->now.healthz_address;
    now.metrics_address = p->now.metrics_address;
    p->now = now;
    config_unref(p->current);
    p->current = config_ref(next);
    KLOG_I(0, "Changed configuration is in force", KV_S("file", next->path));
    return 0;
}

static void watch_config(struct program_state *p)
{
    static const struct metric_desc reloads = {
        "koord_descheduler_config_reloads_total",
        "Changed configuration files, by what became of them.", METRIC_COUNTER,
        .labels = { "result" }
    };
    const struct config_handler handler = { .on_change = on_change,
                                            .reloads = metrics_add(p->run->metrics, &reloads) };

    p->watch = config_watch_new(p->run->loop, p->first, &handler, p);
}

/* ---- acting ----------------------------------------------------------------------------------- */

static bool is_ready(void *arg)
{
    const struct program_state *p = arg;
    return descheduler_synced(p->descheduler);
}

static void lead(void *arg)
{
    struct program_state *p = arg;
    descheduler_lead(p->descheduler);
}

static void write_configz(void *arg, struct strbuf *out)
{
    const struct program_state *p = arg;

    strbuf_append(out, "{\"componentconfig\":");
    desched_config_write(&p->now, out);
    strbuf_appendc(out, '}');
}

static int check_synced(void *arg, struct kerr *err)
{
    const struct program_state *p = arg;
    return service_check_synced(p->service, is_ready(arg), err);
}

static const struct service_handler service = {
    .election = { .ready = is_ready, .lead = lead, .lost = "lost lease" },
    .configz = write_configz,
};

/* ---- life ------------------------------------------------------------------------------------- */

static int check(struct run *r, struct kerr *err)
{
    const struct desched_options *o = r->options;
    return secure_options_check(&o->secure, err);
}

static void service_options(struct program_state *p)
{
    struct service_opts *s = &p->service_opts;

    *s = (struct service_opts){
        .client = p->o->client,
        .election = election_config_options(&p->now.election),
        .secure = &p->o->secure,
        .plain = { p->now.healthz_address, p->now.metrics_address },
        .allow_remote_changes = p->o->debug.allow_remote,
    };
    s->client.kubeconfig = p->now.client.kubeconfig;
    s->client.qps = p->now.client.qps;
    s->client.burst = p->now.client.burst;
}

static int start_service(struct program_state *p, struct kerr *err)
{
    service_options(p);
    if (service_new(p->run, &p->service_opts, &service, p, &p->service, err) < 0)
        return err->code;
    p->placer = placer_new(p->run->loop, p->service->kube, p->o->scheduler_config, err);
    if (!p->placer)
        return kerr_wrap(err, "--scheduler-config");
    const struct descheduler_opts o = { .config = &p->now,
                                        .placer = placer_ops(p->placer),
                                        .instance = p->service->instance,
                                        .metrics = p->run->metrics,
                                        .gates = &p->o->gates };
    p->descheduler = descheduler_new(p->run->loop, p->service->kube, &o, err);
    if (!p->descheduler)
        return err->code;
    serve_add_check(p->service->serve, SERVE_READYZ, "informer-sync", check_synced, p);
    watch_config(p);
    descheduler_watch(p->descheduler);
    return service_start(p->service, err);
}

static int start(struct run *r, struct kerr *err)
{
    struct program_state *p = xnew0(struct program_state);

    r->self = p;
    p->run = r;
    p->o = r->options;
    if (load(p, err) < 0)
        return err->code;
    if (*p->o->write_config_to) {
        run_exit(r, 0);
        return write_config(p, err);
    }
    gates_log(&p->o->gates);
    gates_metrics(&p->o->gates, r->metrics);
    return start_service(p, err);
}

static void stop_parts(struct program_state *p)
{
    p->watch = config_watch_free(p->watch);
    if (p->service)
        service_close(p->service);
    p->descheduler = descheduler_free(p->descheduler);
    p->placer = placer_free(p->placer);
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
    config_unref(p->half);
    config_unref(p->current);
    config_unref(p->first);
    free(p->plain);
    free(p);
}

static const struct program program = {
    .name = "koord-descheduler",
    .brief = "moves pods to where they fit better",
    .about = "Moves pods that had better run elsewhere, with a place secured first, as\n"
             "Koordinator's koord-descheduler does: the same configuration file, flags, jobs and\n"
             "metrics.\n",
    .add_flags = desched_options_add,
    .check = check,
    .start = start,
    .stop = stop,
    .fini = fini,
};

int main(int argc, char **argv)
{
    struct desched_options o = { 0 };
    return run_main(&program, &o, argc, argv);
}
