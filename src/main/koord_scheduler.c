/* koord_scheduler.c - the program koord-scheduler: configuration, lease, endpoints, scheduler
 * (scheduler-core 9).
 */
#include "main/koord_scheduler.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/leader.h"
#include "component/metrics.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "net/certgen.h"
#include "scheduler/config/config.h"
#include "scheduler/explain/controller.h"
#include "scheduler/scheduler.h"
#include "sys/file.h"
#include "json/kj.h"

#define PROGRAM       "koord-scheduler"
#define RELEASE_GRACE (5 * NSEC_PER_SEC)
#define RELOAD_AGAIN  (5 * NSEC_PER_SEC)

struct program_state {
    struct run *run;
    const struct sched_options *o;
    struct config *config;   /* of the start; what takes a restart to change stays from it */
    struct sched_config now; /* in force: the file's, and over it the flags that were given */
    struct config_watch *watch;
    struct timer *again;
    struct kube *kube;
    struct scheduler *scheduler;
    struct explainer *explainer;
    struct serve *serve;
    struct leader *leader;
    char *identity, *instance;
    struct election_watchdog watchdog;
    struct counter *loaded, *refused;
    bool leading;
};

/* ---- configuration --------------------------------------------------------------------------- */

/* Leader election flags win over the file when they are given; the others count without one. */
static void apply_flags(struct program_state *p)
{
    const struct flags *f = p->run->flags;
    const struct election_options *e = &p->o->election;
    const struct client_options *c = &p->o->client;
    struct sched_config *now = &p->now;

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
        now->client.kubeconfig = c->kubeconfig;
    if (*p->o->config)
        return;
    now->client.qps = c->qps;
    now->client.burst = c->burst;
}

static void log_missing(const struct sched_config *c)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;

    for (const char *const *name = c->not_yet; *name; name++)
        strbuf_appendf(&names, "%s%s", names.len ? " " : "", *name);
    if (names.len)
        KLOG_W("Plugins of the configuration that are not here yet are left out",
               KV_S("plugins", strbuf_str(&names)));
}

static int load_config(struct program_state *p, struct kerr *err)
{
    int r = *p->o->config ? config_load(&sched_config_spec, p->o->config, &p->config, err)
                          : sched_config_shipped(&p->config, err);
    if (r < 0)
        return r;
    p->now = *(const struct sched_config *)p->config->value;
    apply_flags(p);
    return 0;
}

static int write_config(const struct program_state *p, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, yaml = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    sched_config_write(&p->now, true, &json);
    int r = kj_parse(strbuf_str(&json), json.len, 0, &doc, err);
    if (r < 0)
        return r;
    kj_write_yaml(kj_root(doc), &yaml);
    /* Extenders may bring a private key. */
    return file_write_atomic(AT_FDCWD, p->o->write_config_to, yaml.data, yaml.len, 0600, err);
}

/* ---- what a configuration asks of the scheduler ---------------------------------------------- */

static struct scheduler_opts opts_of(const struct program_state *p, const struct sched_config *c)
{
    return (struct scheduler_opts){
        .profiles = c->made,
        .nprofiles = c->profiles.n,
        .extenders = c->extenders.items,
        .nextenders = c->extenders.n,
        .instance = p->instance,
        .metrics = p->run->metrics,
        .backoff_initial = c->backoff_initial.v * NSEC_PER_SEC,
        .backoff_max = c->backoff_max.v * NSEC_PER_SEC,
        .unschedulable_max = p->o->unschedulable_max,
        .debug_scores = (unsigned)p->o->debug_scores,
        .debug_filters = p->o->debug_filters,
    };
}

static int make_scheduler(struct program_state *p, struct kerr *err)
{
    struct scheduler_opts o = opts_of(p, &p->now);

    p->scheduler = scheduler_new(p->run->loop, p->kube, &o, err);
    return p->scheduler ? 0 : err->code;
}

/* ---- reloading ------------------------------------------------------------------------------- */

static void on_again(struct loop *l, void *arg)
{
    struct program_state *p = arg;

    (void)l;
    p->again = NULL;
    config_watch_check(p->watch);
}

/* What a running program cannot change. */
static void warn_restart(const struct sched_config *old, const struct sched_config *next)
{
    const struct {
        const char *field;
        bool same;
    } fields[] = {
        { "leaderElection",
          kj_struct_equal(&sched_election_schema, &old->election, &next->election) },
        { "clientConnection", kj_struct_equal(&sched_client_schema, &old->client, &next->client) },
        { "podInitialBackoffSeconds", old->backoff_initial.v == next->backoff_initial.v },
        { "podMaxBackoffSeconds", old->backoff_max.v == next->backoff_max.v },
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!fields[i].same)
            KLOG_W("A changed setting takes effect after a restart only",
                   KV_S("field", fields[i].field));
}

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    struct program_state *p = arg;
    const struct sched_config *old = p->config->value, *c = next->value;

    const struct scheduler_opts o = { .profiles = c->made,
                                      .nprofiles = c->profiles.n,
                                      .extenders = c->extenders.items,
                                      .nextenders = c->extenders.n };

    int r = scheduler_reload(p->scheduler, &o, err);
    if (r == -EBUSY && !p->again)
        p->again = loop_after(p->run->loop, RELOAD_AGAIN, on_again, p);
    if (r < 0)
        return kerr_wrap(err, "%s", next->path);
    warn_restart(old, c);
    log_missing(c);
    struct sched_config now = *c;
    now.election = p->now.election;
    now.client = p->now.client;
    now.backoff_initial = p->now.backoff_initial;
    now.backoff_max = p->now.backoff_max;
    p->now = now;
    counter_inc(p->loaded);
    return 0;
}

static void on_refused(void *arg, const struct kerr *err)
{
    struct program_state *p = arg;

    if (err->code == -EBUSY)
        return; /* tried again soon */
    counter_inc(p->refused);
    KLOG_E(err, "Refused the changed configuration; the old one stays in force");
}

static void start_watch(struct program_state *p)
{
    static const struct metric_desc reloads = {
        "koord_scheduler_config_reloads_total",
        "Changed configuration files, by what became of them.", METRIC_COUNTER,
        .labels = { "result" }
    };
    static const struct config_handler handler = { on_change, on_refused };
    struct metric *m = metrics_add(p->run->metrics, &reloads);

    p->loaded = metric_counter(m, METRIC_VALUES("loaded"));
    p->refused = metric_counter(m, METRIC_VALUES("refused"));
    if (*p->o->config)
        p->watch = config_watch_new(p->run->loop, p->config, &handler, p);
}

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

static void lead(struct program_state *p)
{
    p->leading = true;
    scheduler_start(p->scheduler);
    p->explainer = explainer_new(p->run->loop, p->kube, p->scheduler);
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

/* ---- endpoints ------------------------------------------------------------------------------- */

static bool leads(void *arg)
{
    const struct program_state *p = arg;
    return p->leading && (!p->leader || leader_is(p->leader));
}

/* Who stands by is ready to take over. */
static int check_synced(void *arg, struct kerr *err)
{
    const struct program_state *p = arg;

    if (!p->leading || scheduler_synced(p->scheduler))
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

static int listen_secure(struct program_state *p, const char *addr, struct kerr *err)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1", "::1", NULL };
    const struct certgen_opts own = { PROGRAM, hosts, loop_wall(p->run->loop), 365 };
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    struct serve_tls tls = { 0 };

    if (*p->o->tls_cert) {
        tls.cert_file = p->o->tls_cert;
        tls.key_file = p->o->tls_key;
        tls.client_ca_file = *p->o->client_ca ? p->o->client_ca : NULL;
    } else if (certgen_self_signed(&own, &cert, &key, err) < 0) {
        return err->code;
    }
    tls.cert_pem = (struct str){ cert.data, cert.len };
    tls.key_pem = (struct str){ key.data, key.len };
    return serve_listen_tls(p->serve, addr, &tls, NULL, err);
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
        r = listen_secure(p, secure, err);
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
    if (*o->client_ca && !*o->tls_cert)
        return kerr_set(err, -EINVAL, "--client-ca-file needs --tls-cert-file");
    return 0;
}

static int start(struct run *r, struct kerr *err)
{
    struct program_state *p = xnew0(struct program_state);

    r->self = p;
    p->run = r;
    p->o = r->options;
    int e = load_config(p, err);
    if (e == 0 && *p->o->write_config_to) {
        run_exit(r, 0);
        return write_config(p, err);
    }
    if (e < 0)
        return e;
    sched_options_warn(r->flags);
    gates_log(&p->o->gates);
    gates_metrics(&p->o->gates, r->metrics);
    log_missing(&p->now);
    e = start_client(p, err);
    if (e == 0)
        e = make_scheduler(p, err);
    if (e == 0)
        e = start_serving(p, err);
    if (e == 0)
        e = start_election(p, err);
    if (e == 0)
        e = loop_on_signal(r->loop, SIGUSR2, on_debug_signal, p, err);
    if (e < 0)
        return e;
    start_watch(p);
    if (p->leader)
        leader_start(p->leader);
    else
        lead(p);
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

    timer_cancel(p->again);
    p->again = NULL;
    p->watch = config_watch_free(p->watch);
    p->serve = serve_free(p->serve);
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
    config_watch_free(p->watch);
    serve_free(p->serve);
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
