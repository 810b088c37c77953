/* koord_manager.c - the program koord-manager: when it watches, when it acts, what it serves
 * (manager 1). */
#include "main/koord_manager.h"

#include "apiserver/schema/types.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "component/run.h"
#include "component/serve.h"
#include "component/service.h"
#include "loop/loop.h"
#include "manager/manager.h"
#include "manager/webhook/webhook.h"
#include "sys/file.h"
#include "sys/memory.h"

#define LEASE_NAME    "koordinator-manager"
#define AGENT         "koordinator-manager"
#define POD_NAMESPACE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
#define OWN_NAMESPACE "koordinator-system"
#define SETTLE_AFTER  (30 * NSEC_PER_SEC)

struct program_state {
    struct run *run;
    const struct manager_options *o;
    struct service_opts service_opts;
    struct service *service;
    struct metrics *internal, *external; /* of the manager itself; for users, nothing yet */
    struct gauge *is_leader;
    struct manager *manager;
    struct timer *settle;
    struct webhook_part *webhook; /* NULL: the gate WebhookFramework is off */
    char *election_ns;
};

/* ---- acting ---------------------------------------------------------------------------------- */

static bool is_ready(void *arg)
{
    const struct program_state *p = arg;
    return manager_synced(p->manager);
}

static void lead(void *arg)
{
    struct program_state *p = arg;

    gauge_set(p->is_leader, 1);
    manager_lead(p->manager);
    if (p->webhook)
        webhook_part_lead(p->webhook);
}

static const struct service_handler service = {
    .election = { .ready = is_ready, .lead = lead, .lost = "leader election lost" },
};

/* ---- endpoints ------------------------------------------------------------------------------- */

static void reply(struct httpd_req *r, struct metrics *const *regs, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    metrics_write(regs, n, &out);
    serve_metrics(r, strbuf_str(&out), out.len);
}

static void on_internal(void *arg, struct httpd_req *r)
{
    const struct program_state *p = arg;
    reply(r, (struct metrics *const[]){ p->internal }, 1);
}

static void on_external(void *arg, struct httpd_req *r)
{
    const struct program_state *p = arg;
    reply(r, (struct metrics *const[]){ p->external }, 1);
}

static void on_all(void *arg, struct httpd_req *r)
{
    const struct program_state *p = arg;
    reply(r, (struct metrics *const[]){ p->run->metrics, p->internal, p->external }, 3);
}

static void on_cmdline(void *arg, struct httpd_req *r)
{
    (void)arg;
    if (serve_allow(r, "GET, HEAD"))
        httpd_reply(r, 200, "text/plain; charset=utf-8", AGENT, sizeof AGENT - 1);
}

static int check_synced(void *arg, struct kerr *err)
{
    const struct program_state *p = arg;
    return service_check_synced(p->service, is_ready(arg), err);
}

static void add_endpoints(struct program_state *p)
{
    struct serve *s = p->service->serve;

    serve_handle(s, "/internal-metrics", on_internal, p);
    serve_handle(s, "/external-metrics", on_external, p);
    serve_handle(s, "/all-metrics", on_all, p);
    if (p->o->enable_pprof)
        serve_handle(s, "/debug/pprof/cmdline", on_cmdline, p);
    serve_add_check(s, SERVE_READYZ, "informer-sync", check_synced, p);
    if (p->webhook)
        webhook_part_add_check(p->webhook, s);
}

/* ---- options --------------------------------------------------------------------------------- */

static const char *address(const char *text)
{
    return streq(text, "0") ? "" : text;
}

/* Of the pod we run in; where there is none, the usual one. */
static char *own_namespace(void)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (file_read_all(AT_FDCWD, POD_NAMESPACE, 256, &text, NULL) < 0 || text.len == 0)
        return xstrdup(OWN_NAMESPACE);
    return strbuf_take(&text);
}

static void service_options(struct program_state *p)
{
    const struct manager_options *o = p->o;

    p->election_ns = *o->election_ns ? xstrdup(o->election_ns) : own_namespace();
    p->service_opts = (struct service_opts){
        .client = o->client,
        .agent = AGENT,
        .election = { .enabled = o->elect,
                      .lock = o->lock,
                      .name = LEASE_NAME,
                      .ns = p->election_ns },
        .plain = { address(o->metrics_addr), address(o->health_addr),
                   o->enable_pprof ? address(o->pprof_addr) : NULL },
        .allow_remote_changes = o->debug.allow_remote,
    };
    /* A limit that nobody asked for would only slow us down: the server has its own. */
    if (flags_given(p->run->flags, "rest-config-qps") && o->qps > 0)
        p->service_opts.client.qps = o->qps;
    if (flags_given(p->run->flags, "rest-config-burst") && o->burst > 0)
        p->service_opts.client.burst = o->burst;
}

static nsec_t resync_of(const char *text)
{
    nsec_t d = 0;
    struct kerr err = { 0 };

    if (*text && kdur_parse(text, strlen(text), &d, &err) < 0)
        KLOG_E(&err, "Ignoring the value of --sync-period", KV_S("value", text));
    return d > 0 ? d : 0;
}

static void on_profiles(void *arg)
{
    struct program_state *p = arg;

    if (p->webhook)
        webhook_part_look(p->webhook);
}

static void manager_options(struct program_state *p, struct manager_opts *ret)
{
    const struct manager_options *o = p->o;
    const char *unknown[2];

    *ret = (struct manager_opts){
        .without_controllers =
            ~names_enabled(&o->controllers, manager_controller_names, &unknown[0]),
        .without_plugins = ~names_enabled(&o->plugins, manager_plugin_names, &unknown[1]),
        .config_ns = o->config_ns,
        .config_name = o->config_name,
        .ns = o->ns,
        .resync = resync_of(o->sync_period),
        .instance = p->service->instance,
        .metrics = p->internal,
        .sync_gpu_shared = manager_gate_on(o, "EnableSyncGPUSharedResource"),
        .profiles = o->profiles,
        .pod_merge = types_merge(types_find("", "v1", "Pod")),
        .rules_ns = o->rules_ns,
        .rules_name = o->rules_name,
        .profiles_changed = on_profiles,
        .profiles_arg = p,
    };
    ret->profiles.enabled = manager_gate_on(o, "ColocationProfileController");
    if (unknown[0])
        KLOG_W("Unknown controller", KV_S("name", unknown[0]));
    if (unknown[1])
        KLOG_W("Unknown plugin of noderesource", KV_S("name", unknown[1]));
}

/* ---- when the start is over ------------------------------------------------------------------ */

/* Lists, keys and handshakes took memory that is not needed again. */
static void on_settled(struct loop *l, void *arg)
{
    struct program_state *p = arg;

    p->settle = NULL;
    if (is_ready(p))
        memory_settle();
    else
        p->settle = loop_after(l, SETTLE_AFTER, on_settled, p);
}

/* ---- life ------------------------------------------------------------------------------------ */

static const struct metric_desc leader_desc = { "koordinator_manager_is_leader",
                                                "1 while this replica acts.", METRIC_GAUGE };

static int start(struct run *r, struct kerr *err)
{
    struct program_state *p = xnew0(struct program_state);
    struct manager_opts o;
    struct webhook_opts webhooks;

    r->self = p;
    p->run = r;
    p->o = r->options;
    manager_options_warn(p->o);
    gates_log(&p->o->gates);
    gates_metrics(&p->o->gates, r->metrics);
    p->internal = metrics_new();
    p->external = metrics_new();
    p->is_leader = metric_gauge(metrics_add(p->internal, &leader_desc), NULL);
    service_options(p);
    if (service_new(r, &p->service_opts, &service, p, &p->service, err) < 0)
        return err->code;
    manager_options(p, &o);
    webhook_part_options(p->o, &webhooks);
    webhooks.metrics = p->internal;
    if (manager_gate_on(p->o, "WebhookFramework"))
        o.webhooks = &webhooks;
    p->manager = manager_new(r->loop, p->service->kube, &o);
    if (o.webhooks && webhook_part_new(r, p->service->kube, p->manager, p->o, &p->webhook, err) < 0)
        return err->code;
    add_endpoints(p);
    manager_watch(p->manager);
    p->settle = loop_after(r->loop, SETTLE_AFTER, on_settled, p);
    return service_start(p->service, err);
}

static void stop_rest(void *arg)
{
    struct program_state *p = arg;

    p->settle = timer_cancel(p->settle);
    service_close(p->service);
    p->webhook = webhook_part_free(p->webhook);
    p->manager = manager_free(p->manager);
    service_stop(p->service);
}

static void stop(struct run *r)
{
    struct program_state *p = r->self;

    if (p->webhook)
        webhook_part_leave(p->webhook, stop_rest, p);
    else
        stop_rest(p);
}

static void fini(struct run *r)
{
    struct program_state *p = r->self;

    if (!p)
        return;
    timer_cancel(p->settle);
    if (p->service)
        service_close(p->service);
    webhook_part_free(p->webhook);
    manager_free(p->manager);
    service_free(p->service);
    metrics_free(p->internal);
    metrics_free(p->external);
    free(p->election_ns);
    free(p);
}

static const struct program program = {
    .name = "koord-manager",
    .brief = "resources for co-location, strategies of nodes, webhooks",
    .about =
        "Turns measured idle capacity into batch and mid resources of nodes, the ConfigMap\n"
        "slo-controller-config into the strategies that koordlets obey, and pods that profiles\n"
        "match into co-located ones (webhooks): the same flags, environment, objects and\n"
        "metrics as Koordinator's koord-manager.\n",
    .add_flags = manager_options_add,
    .start = start,
    .stop = stop,
    .fini = fini,
};

int main(int argc, char **argv)
{
    struct manager_options o = { 0 };
    return run_main(&program, &o, argc, argv);
}
