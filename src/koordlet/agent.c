/* agent.c - the parts of koordlet, and in which order they live. */
#include "koordlet/agent.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "koordlet/agent_int.h"
#include "loop/loop.h"
#include "sys/memory.h"

#define DRIVER_EVERY  NSEC_PER_SEC
#define KUBELET_EVERY (10 * NSEC_PER_SEC)
#define DRIVER_WAIT   (60 * NSEC_PER_SEC)
#define WAITING_EVERY (60 * NSEC_PER_SEC)
#define WAITING_FIRST (10 * NSEC_PER_SEC)
#define RESTORE_EVERY (500 * NSEC_PER_MSEC)
#define RESTORE_LOOKS 60

static const struct metric_desc start_desc = { "koordlet_start_time",
                                               "When the agent started, in seconds since 1970.",
                                               METRIC_GAUGE, .labels = { "node" } };

/* ---- making ---------------------------------------------------------------------------------- */

static struct states *make_states(const struct agent *a)
{
    const struct koordlet_options *o = a->env.o;
    const struct states_env env = {
        .loop = a->env.loop,
        .snapshots = a->snapshots,
        .kube = a->env.kube,
        .config = a->env.config,
        .host = a->host,
        .internal = a->env.internal,
        .external = a->external,
    };
    const struct states_options so = {
        .node_name = o->node_name,
        .kubelet_address_type = o->kubelet_address_type,
        .kubelet_sync_interval = o->kubelet_sync_interval,
        .kubelet_sync_timeout = o->kubelet_sync_timeout,
        .kubelet_insecure = o->kubelet_insecure_tls,
        .kubelet_read_only_port = o->kubelet_read_only_port,
        .no_kubelet = o->no_kubelet,
        .query_kubelet_config = !o->disable_kubelet_config && !o->no_kubelet,
        .volume_names = gates_on(&o->gates, GATE_BLKIO_RECONCILE),
        .pleg = !o->no_kubelet,
        .report_metric = o->report_metric,
        .report_topology = gates_on(&o->gates, GATE_NODE_TOPOLOGY_REPORT),
    };

    return states_new(&env, &so);
}

static void make_collectors(struct agent *a)
{
    a->collect_env = (struct collect_env){
        .loop = a->env.loop,
        .host = a->host,
        .mc = a->mc,
        .snapshots = a->snapshots,
        .o = a->env.o,
        .internal = a->env.internal,
        .external = a->external,
        .node_name = a->env.o->node_name,
        .devices = device_sources,
        .caps = &a->caps,
    };
    a->collect = collect_new(&a->collect_env);
}

static void make_reporters(struct agent *a)
{
    const struct koordlet_options *o = a->env.o;

    a->report_env = (struct report_env){
        .loop = a->env.loop,
        .kube = a->env.kube,
        .snapshots = a->snapshots,
        .mc = a->mc,
        .host = a->host,
        .collect = &a->collect_env,
        .models = predict_server_models(a->predict),
        .reclaim = predict_server_reclaim(a->predict),
        .o = o,
        .internal = a->env.internal,
        .external = a->external,
        .node_name = o->node_name,
        .devices = { device_report_gpus, device_report_all, &a->collect_env },
    };
    if (o->report_metric)
        a->metric_reporter = metric_reporter_new(&a->report_env);
    if (o->topology_interval > 0)
        a->topology_reporter = topology_reporter_new(&a->report_env);
    if (o->topology_interval > 0 && gates_on(&o->gates, GATE_ACCELERATORS))
        a->device_reporter = device_reporter_new(&a->report_env);
}

static const kstrmap *local_topology(void *arg)
{
    const struct agent *a = arg;
    const struct topology *t =
        a->topology_reporter ? topology_reporter_local(a->topology_reporter) : NULL;

    return t ? &t->annotations : NULL;
}

static struct qos *make_qos(struct agent *a)
{
    return qos_new(&(struct qos_env){
        .loop = a->env.loop,
        .kube = a->env.kube,
        .host = a->host,
        .mc = a->mc,
        .snapshots = a->snapshots,
        .o = a->env.o,
        .internal = a->env.internal,
        .external = a->external,
        .node_name = a->env.o->node_name,
        .audit = a->audit,
        .executor = a->executor,
        .collect = &a->collect_env,
        .caps = &a->caps,
        .states = a->states,
        .topology = local_topology,
        .topology_arg = a,
    });
}

static struct executor *make_executor(const struct agent *a)
{
    const struct koordlet_options *o = a->env.o;
    const struct executor_env env = {
        .loop = a->env.loop,
        .host = a->host,
        .ops = &executor_ops_host,
        .ops_arg = a->host,
        .audit = a->audit,
        .metrics = a->env.internal,
        .force_update = o->executor.force_update_seconds * NSEC_PER_SEC,
        .dry_run = o->executor.dry_run,
        .watch = !loop_is_virtual(a->env.loop) && !o->restore,
        .kube = a->env.kube,
        .node_name = o->node_name,
    };

    return executor_new(&env);
}

static struct reconciler *make_hooks(struct agent *a)
{
    const struct reconcile_env env = {
        .loop = a->env.loop,
        .host = a->host,
        .snapshots = a->snapshots,
        .executor = a->executor,
        .o = a->env.o,
        .metrics = a->env.internal,
        .kube = a->env.kube,
        .node_name = a->env.o->node_name,
        .topology = local_topology,
        .topology_arg = a,
    };

    return reconciler_new(&env);
}

static struct delivery *make_delivery(struct agent *a)
{
    const struct delivery_env env = {
        .loop = a->env.loop,
        .host = a->host,
        .snapshots = a->snapshots,
        .executor = a->executor,
        .reconciler = a->hooks,
        .o = a->env.o,
        .caps = &a->caps,
        .metrics = a->env.internal,
        .node_name = a->env.o->node_name,
    };

    return delivery_new(&env);
}

static struct podresources *make_podresources(const struct agent *a)
{
    const struct podresources_env env = {
        .loop = a->env.loop,
        .snapshots = a->snapshots,
        .host = a->host,
        .dir = a->env.o->pod_resources_proxy_dir,
        .internal = a->env.internal,
    };

    return podresources_new(&env);
}

int agent_new(const struct agent_env *env, struct agent **ret, struct kerr *err)
{
    CLEANUP(agent_free) struct agent *a = xnew0(struct agent);
    const struct koordlet_options *o = env->o;

    a->env = *env;
    a->external = metrics_new();
    if (host_new(&o->roots, &a->host, err) < 0)
        return err->code;
    if (gates_on(&o->gates, GATE_AUDIT_EVENTS) &&
        audit_new(env->loop, &o->audit, env->internal, &a->audit, err) < 0)
        return err->code;
    a->executor = make_executor(a);
    a->mc = metriccache_new();
    a->snapshots = snapshots_new(env->loop);
    a->states = make_states(a);
    make_collectors(a);
    a->predict = predict_server_new(
        &(struct predict_env){ env->loop, a->mc, a->snapshots, env->internal, &o->predict });
    make_reporters(a);
    a->qos = make_qos(a);
    a->hooks = make_hooks(a);
    if (!o->no_kubelet && !o->restore && !loop_is_virtual(env->loop))
        a->delivery = make_delivery(a);
    if (gates_on(&o->gates, GATE_POD_RESOURCES_PROXY))
        a->podresources = make_podresources(a);
    gauge_set(metric_gauge(metrics_add(env->internal, &start_desc), METRIC_VALUES(o->node_name)),
              (double)loop_wall(env->loop) / (double)NSEC_PER_SEC);
    *ret = take(a);
    return 0;
}

struct agent *agent_free(struct agent *a)
{
    if (!a)
        return NULL;
    timer_cancel(a->driver_timer);
    timer_cancel(a->waiting_timer);
    timer_cancel(a->restore_timer);
    podresources_free(a->podresources);
    delivery_free(a->delivery);
    qos_free(a->qos);
    /* Listeners of the snapshots are the others, which let go of samples and files last. */
    states_free(a->states);
    snapshots_free(a->snapshots);
    metric_reporter_free(a->metric_reporter);
    topology_reporter_free(a->topology_reporter);
    device_reporter_free(a->device_reporter);
    predict_server_free(a->predict);
    collect_free(a->collect);
    metriccache_free(a->mc);
    reconciler_free(a->hooks);
    executor_free(a->executor);
    audit_free(a->audit);
    host_free(a->host);
    metrics_free(a->external);
    free(a);
    return NULL;
}

/* ---- what the node can do -------------------------------------------------------------------- */

static void read_caps(struct agent *a)
{
    const struct gates *g = &a->env.o->gates;
    const struct caps_options o = {
        .containerd_endpoint = a->env.o->acting.containerd_endpoint,
        .docker_endpoint = a->env.o->acting.docker_endpoint,
        .pouch_endpoint = a->env.o->acting.pouch_endpoint,
        .nri_socket = a->env.o->hooks.nri_socket,
    };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct feature_report f;

    caps_read(a->host, &o, &a->caps);
    executor_set_burst_above_quota(a->executor, a->caps.caps[CAP_ANOLIS].state == CAP_YES);
    caps_metrics(&a->caps, g, a->env.internal);
    if (a->env.o->no_kubelet)
        return; /* nothing but measuring is wanted here */
    for (size_t i = 0; caps_feature(&a->caps, g, i, &f); i++) {
        strbuf_reset(&text);
        if (caps_complaint(&a->caps, &f, &text))
            KLOG_W("An enabled feature does not work on this node", KV_S("feature", f.name),
                   KV_S("why", strbuf_str(&text)));
    }
}

/* ---- which driver names the cgroups ---------------------------------------------------------- */

static const char *driver_name(const struct agent *a)
{
    return a->host->driver->systemd ? "systemd" : "cgroupfs";
}

static void driver_found(struct agent *a, const char *how)
{
    a->host->driver_known = true;
    KLOG_I(0, "Found the cgroup driver", KV_S("driver", driver_name(a)), KV_S("how", how));
    read_caps(a);
    if (!a->env.o->restore)
        reconciler_wake(a->hooks);
}

/* true: asked, and it said. */
static bool ask_kubelet(struct agent *a)
{
    const struct kubelet_config *c = snapshots_get(a->snapshots)->kubelet;
    const struct node *n = snapshots_get(a->snapshots)->node;
    nsec_t now = loop_mono(a->env.loop);
    struct kerr err;

    if (c && !str_empty(c->cgroup_driver)) {
        a->host->driver =
            host_layout(a->host, streq(c->cgroup_driver, "systemd"), str_or(c->cgroup_root, ""));
        return true;
    }
    if (!n || n->status.kubelet_port <= 0 || now < a->next_kubelet)
        return false;
    a->next_kubelet = now + KUBELET_EVERY;
    return host_driver_of_kubelet(a->host, (uint16_t)n->status.kubelet_port, &a->host->driver,
                                  &err) == 0;
}

/* The directory of the pods decides; before there is one, the kubelet's own settings; and when
 * nobody can tell for a minute, systemd is the usual one. A directory that appears later corrects
 * that. */
static void on_driver(struct loop *l, void *arg)
{
    struct agent *a = arg;
    const struct cgroup_layout *before = a->host->driver;
    bool known = a->host->driver_known;
    struct kerr err;

    a->driver_timer = NULL;
    if (a->env.o->no_kubelet) {
        a->host->driver_known = true; /* whatever it is: nobody makes cgroups of pods */
        read_caps(a);
        return;
    }
    if (host_detect_driver(a->host, &err) == 0) {
        if (!known || a->host->driver != before || a->guessed)
            driver_found(a, "the cgroup of the pods");
        return;
    }
    if (!known && ask_kubelet(a)) {
        a->guessed = true;
        driver_found(a, "the kubelet's settings");
    } else if (!known && loop_mono(l) - a->started > DRIVER_WAIT) {
        a->host->driver = CGROUP_SYSTEMD;
        a->guessed = true;
        driver_found(a, "a guess, after a minute without a cgroup of pods");
    }
    a->driver_timer = loop_after(l, DRIVER_EVERY, on_driver, a);
}

/* ---- what is missing ------------------------------------------------------------------------- */

static const char *reporter_missing(const struct agent *a, size_t i)
{
    const char *const reasons[] = {
        a->metric_reporter ? metric_reporter_missing(a->metric_reporter) : NULL,
        a->topology_reporter ? topology_reporter_missing(a->topology_reporter) : NULL,
        a->device_reporter ? device_reporter_missing(a->device_reporter) : NULL,
        a->podresources ? podresources_missing(a->podresources) : NULL,
    };

    for (size_t k = 0; k < ARRAY_LEN(reasons); k++)
        if (reasons[k] && i-- == 0)
            return reasons[k];
    return NULL;
}

const char *agent_missing(const struct agent *a, size_t i)
{
    size_t n = 0;
    const char *why;

    if (!a->host->driver_known && i-- == 0)
        return "no cgroup of pods yet: neither kubepods.slice nor kubepods is there";
    for (; (why = states_missing(a->states, n)); n++)
        if (i-- == 0)
            return why;
    for (n = 0; (why = collect_missing(a->collect, n)); n++)
        if (i-- == 0)
            return why;
    return reporter_missing(a, i);
}

static void on_waiting(struct loop *l, void *arg)
{
    struct agent *a = arg;
    const char *why;

    a->waiting_timer = loop_after(l, WAITING_EVERY, on_waiting, a);
    for (size_t i = 0; (why = agent_missing(a, i)); i++)
        KLOG_W("Not ready yet", KV_S("why", why));
    bool ready = !agent_missing(a, 0);
    if (ready && !a->was_ready)
        KLOG_I(0, "Ready: nothing is missing");
    if (ready && a->was_ready && !a->settled) {
        a->settled = true;
        memory_settle();
    }
    a->was_ready = ready;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Models of pods that are gone are dropped at the start, so pods must be known first. */
static void on_pods(void *arg)
{
    struct agent *a = arg;

    if (!a->stopping)
        predict_server_start(a->predict);
}

void agent_start(struct agent *a)
{
    struct loop *l = a->env.loop;

    a->started = loop_mono(l);
    snapshots_on(a->snapshots, STATES_PODS, "prediction", on_pods, a);
    on_driver(l, a);
    if (!a->host->driver_known)
        read_caps(a);
    states_start(a->states);
    collect_start(a->collect);
    qos_start(a->qos); /* behind the collectors, in the same turn: the newest samples count */
    if (a->metric_reporter)
        metric_reporter_start(a->metric_reporter);
    if (a->topology_reporter)
        topology_reporter_start(a->topology_reporter);
    if (a->device_reporter)
        device_reporter_start(a->device_reporter);
    reconciler_start(a->hooks);
    if (a->delivery)
        delivery_start(a->delivery);
    if (a->podresources)
        podresources_start(a->podresources);
    a->waiting_timer = loop_after(l, WAITING_FIRST, on_waiting, a);
}

/* ---- putting back ---------------------------------------------------------------------------- */

/* A memory limit may take the kernel a while: done when nothing is left, or after half a minute. */
static void on_restore(struct loop *l, void *arg)
{
    struct agent *a = arg;
    struct executor_stats s;

    a->restore_timer = loop_after(l, RESTORE_EVERY, on_restore, a);
    if (!a->host->driver_known || !snapshots_get(a->snapshots)->pods)
        return;
    if (a->restore_looks++ == 0)
        reconciler_restore(a->hooks);
    s = executor_stats(a->executor);
    if (a->restore_looks < 2 || (s.busy > 0 && a->restore_looks < RESTORE_LOOKS))
        return;
    a->restore_timer = timer_cancel(a->restore_timer);
    KLOG_I(0, "Put back what the kubelet wrote", KV_I("files", (int64_t)s.files),
           KV_I("written", (int64_t)s.writes), KV_I("refused", (int64_t)s.refused));
    a->restored(a->restored_arg, s.refused);
}

void agent_restore(struct agent *a, void (*done)(void *arg, uint64_t refused), void *arg)
{
    struct loop *l = a->env.loop;

    a->restored = done;
    a->restored_arg = arg;
    a->started = loop_mono(l);
    on_driver(l, a);
    states_start(a->states);
    a->waiting_timer = loop_after(l, WAITING_FIRST, on_waiting, a);
    a->restore_timer = loop_after(l, RESTORE_EVERY, on_restore, a);
}

void agent_stop(struct agent *a, void (*done)(void *arg), void *arg)
{
    a->stopping = true;
    predict_server_stop(a->predict, done, arg);
}
