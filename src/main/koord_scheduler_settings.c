/* koord_scheduler_settings.c - the configuration of koord-scheduler: file and flags, what they ask
 * of the scheduler, and changes of the file while it runs (scheduler-core 4, 9).
 */
#include "api/dra.h"
#include "api/koord/networktopology.h"
#include "api/policy.h"
#include "api/storage.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "component/run.h"
#include "main/koord_scheduler_int.h"
#include "scheduler/scheduler.h"

/* ---- file and flags -------------------------------------------------------------------------- */

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

void settings_log(const struct sched_config *c)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;

    for (const char *const *name = c->not_yet; *name; name++)
        strbuf_appendf(&names, "%s%s", names.len ? " " : "", *name);
    if (names.len)
        KLOG_W("Skipping configured plugins that are not implemented yet",
               KV_S("plugins", strbuf_str(&names)));
}

int settings_load(struct program_state *p, struct kerr *err)
{
    int r = *p->o->config ? config_load(&sched_config_spec, p->o->config, &p->config, err)
                          : sched_config_shipped(&p->config, err);
    if (r < 0)
        return r;
    p->now = *(const struct sched_config *)p->config->value;
    apply_flags(p);
    return 0;
}

int settings_write(const struct program_state *p, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    sched_config_write(&p->now, true, &json);
    return config_write(p->o->write_config_to, strbuf_str(&json), json.len, err);
}

struct service_opts settings_service(struct program_state *p)
{
    struct service_opts s = {
        .client = p->o->client,
        .election = election_config_options(&p->now.election),
        .secure = &p->o->secure,
        .allow_remote_changes = p->o->debug.allow_remote,
    };

    s.client.kubeconfig = p->now.client.kubeconfig;
    s.client.qps = p->now.client.qps;
    s.client.burst = p->now.client.burst;
    if (p->o->port)
        s.plain[0] = p->plain = address_text(p->o->address, p->o->port);
    return s;
}

/* ---- what a configuration asks of the scheduler ---------------------------------------------- */

/* Kinds that older clusters do not have, or whose watching costs too much (scheduler-core 9.5). */
static void leave_out(struct program_state *p)
{
    const struct {
        const char *gate;
        const struct kind *kinds[5];
    } table[] = {
        { "DisableCSIStorageCapacityInformer", { &kind_csi_storage_capacity } },
        { "DisablePodDisruptionBudgetInformer", { &kind_pdb } },
        { "DisableDynamicResourceAllocationInformer",
          { &kind_resource_claim, &kind_resource_slice, &kind_device_class,
            &kind_device_taint_rule } },
    };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t k = 0; sched_gate_on(p->o, table[i].gate) && table[i].kinds[k]; k++)
            p->unwatched[n++] = table[i].kinds[k];
    if (!p->o->network_topology)
        p->unwatched[n++] = &kind_network_topology;
    assert(n < UNWATCHED_MAX);
}

static struct scheduler_opts opts_of(const struct program_state *p, const struct sched_config *c)
{
    return (struct scheduler_opts){
        .profiles = c->made,
        .nprofiles = c->profiles.n,
        .extenders = c->extenders.items,
        .nextenders = c->extenders.n,
        .instance = p->service->instance,
        .metrics = p->run->metrics,
        .gates = &p->o->gates,
        .controller_plugins = p->o->controller_plugins.items,
        .ncontroller_plugins = p->o->controller_plugins.n,
        .unwatched = p->unwatched,
        .backoff_initial = c->backoff_initial.v * NSEC_PER_SEC,
        .backoff_max = c->backoff_max.v * NSEC_PER_SEC,
        .unschedulable_max = p->o->unschedulable_max,
        .debug_scores = (unsigned)p->o->debug_scores,
        .debug_filters = p->o->debug_filters,
        .debug_diagnosis = p->o->debug_diagnosis,
        .debug_diagnosis_blocking = p->o->debug_diagnosis_blocking,
        .diagnosis_queue = (unsigned)p->o->diagnosis_queue,
        .diagnosis_a_turn = (unsigned)p->o->diagnosis_a_turn,
        .monitor_period = p->o->monitor_period,
        .monitor_timeout = p->o->monitor_timeout,
        .resize_pods = sched_gate_on(p->o, "ResizePod"),
        .nominated_once = sched_gate_on(p->o, "SkipFilterWithNominatedPods"),
        .foreign_nominations = sched_gate_on(p->o, "CrossSchedulerNomination"),
        .network_topology = p->o->network_topology,
    };
}

int settings_make_scheduler(struct program_state *p, struct kerr *err)
{
    leave_out(p);
    struct scheduler_opts o = opts_of(p, &p->now);
    p->scheduler = scheduler_new(p->run->loop, p->service->kube, &o, err);
    return p->scheduler ? 0 : err->code;
}

/* ---- reloading ------------------------------------------------------------------------------- */

/* What a running program cannot change. */
static void warn_restart(const struct sched_config *old, const struct sched_config *next)
{
    const struct {
        const char *field;
        bool same;
    } fields[] = {
        { "leaderElection",
          kj_struct_equal(&election_config_schema, &old->election, &next->election) },
        { "clientConnection", kj_struct_equal(&client_config_schema, &old->client, &next->client) },
        { "podInitialBackoffSeconds", old->backoff_initial.v == next->backoff_initial.v },
        { "podMaxBackoffSeconds", old->backoff_max.v == next->backoff_max.v },
        { "delayCacheUntilActive", old->delay_cache == next->delay_cache },
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
    if (r < 0)
        return kerr_wrap(err, "%s", next->path);
    warn_restart(old, c);
    settings_log(c);
    struct sched_config now = *c;
    now.election = p->now.election;
    now.client = p->now.client;
    now.backoff_initial = p->now.backoff_initial;
    now.backoff_max = p->now.backoff_max;
    now.delay_cache = p->now.delay_cache;
    p->now = now;
    return 0;
}

void settings_watch(struct program_state *p)
{
    static const struct metric_desc reloads = {
        "koord_scheduler_config_reloads_total",
        "Changed configuration files, by what became of them.", METRIC_COUNTER,
        .labels = { "result" }
    };
    const struct config_handler handler = { .on_change = on_change,
                                            .reloads = metrics_add(p->run->metrics, &reloads) };

    p->watch = config_watch_new(p->run->loop, p->config, &handler, p);
}
