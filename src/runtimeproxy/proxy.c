/* proxy.c - the parts of the proxy, and in which order they live. */
#include "runtimeproxy/proxy.h"

#include "base/klog.h"
#include "runtimeproxy/docker.h"
#include "runtimeproxy/proxy_int.h"

static const struct metric_desc calls_desc = {
    "koord_runtime_proxy_calls_total",
    "Calls of CRI by method, or of Docker's API by verb; \"other\": all others.", METRIC_COUNTER,
    .labels = { "method" }, .max_children = 200
};
static const struct metric_desc hooks_desc = { "koord_runtime_proxy_hooks_total",
                                               "Calls of hook servers, by method of CRI and what "
                                               "became of them: ok, failed_open (the call went on "
                                               "without), refused (policy Fail).",
                                               METRIC_COUNTER, .labels = { "method", "result" } };
static const struct metric_desc changed_desc = { "koord_runtime_proxy_changed_total",
                                                 "Requests that a hook changed, by method of CRI.",
                                                 METRIC_COUNTER, .labels = { "method" } };
static const struct metric_desc cached_desc = { "koord_runtime_proxy_cached",
                                                "Pods and containers that the proxy knows.",
                                                METRIC_GAUGE, .labels = { "kind" } };
static const struct metric_desc clients_desc = { "koord_runtime_proxy_clients",
                                                 "Connections of kubelets and tools.",
                                                 METRIC_GAUGE };
static const struct metric_desc open_desc = { "koord_runtime_proxy_open_calls",
                                              "Calls that are under way.", METRIC_GAUGE };

static void on_scrape(void *arg)
{
    struct proxy *p = arg;
    struct metrics *m = p->o.metrics;
    unsigned clients, open;

    if (p->docker) {
        struct h1relay_stats s = h1relay_stats(p->docker);
        clients = s.clients;
        open = s.open;
    } else {
        struct h2relay_stats s = h2relay_stats(p->relay);
        clients = s.clients;
        open = s.open;
    }
    gauge_set(metric_gauge(metrics_add(m, &cached_desc), METRIC_VALUES("pod")),
              (double)podstore_count(p->store, STORE_POD));
    gauge_set(metric_gauge(metrics_add(m, &cached_desc), METRIC_VALUES("container")),
              (double)podstore_count(p->store, STORE_CONTAINER));
    gauge_set(metric_gauge(metrics_add(m, &clients_desc), NULL), clients);
    gauge_set(metric_gauge(metrics_add(m, &open_desc), NULL), open);
}

static void make_relay(struct proxy *p)
{
    const struct proxy_opts *o = &p->o;

    if (o->is_docker)
        p->docker = h1relay_new(&(struct h1relay_opts){ .loop = o->loop,
                                                        .unix_path = o->backend,
                                                        .dial = o->dial,
                                                        .dial_arg = o->dial_arg,
                                                        .wants = docker_wants,
                                                        .on_request = docker_request,
                                                        .on_answer = docker_answer,
                                                        .on_gone = docker_gone,
                                                        .arg = p });
    else
        p->relay = h2relay_new(&(struct h2relay_opts){ .loop = o->loop,
                                                       .unix_path = o->backend,
                                                       .dial = o->dial,
                                                       .dial_arg = o->dial_arg,
                                                       .wants = cri_wants,
                                                       .on_request = cri_request,
                                                       .on_answer = cri_answer,
                                                       .on_gone = cri_gone,
                                                       .arg = p });
}

struct proxy *proxy_new(const struct proxy_opts *o)
{
    struct proxy *p = xnew0(struct proxy);

    p->o = *o;
    p->configs = hookconfigs_new(o->loop, o->config_dir);
    p->dispatch = dispatch_new(o->loop, o->hook_dial, o->dial_arg);
    p->store = podstore_new(o->loop, o->checkpoint);
    make_relay(p);
    if (o->metrics) {
        p->calls = metrics_add(o->metrics, &calls_desc);
        p->hooks = metrics_add(o->metrics, &hooks_desc);
        p->changed = metrics_add(o->metrics, &changed_desc);
        metrics_on_scrape(o->metrics, on_scrape, p);
    }
    return p;
}

struct proxy *proxy_free(struct proxy *p)
{
    if (!p)
        return NULL;
    if (p->o.metrics)
        metrics_off_scrape(p->o.metrics, on_scrape, p);
    rebuild_free(p->rebuild);
    docker_rebuild_free(p->docker_rebuild);
    h2relay_free(p->relay);
    h1relay_free(p->docker);
    dispatch_free(p->dispatch);
    hookconfigs_free(p->configs);
    podstore_free(p->store);
    free(p);
    return NULL;
}

static void on_rebuilt(void *arg, const struct kerr *err)
{
    struct proxy *p = arg;

    p->rebuild = rebuild_free(p->rebuild);
    p->docker_rebuild = docker_rebuild_free(p->docker_rebuild);
    if (!err)
        KLOG_I(0, "Knows what the runtime runs",
               KV_I("pods", (int64_t)podstore_count(p->store, STORE_POD)),
               KV_I("containers", (int64_t)podstore_count(p->store, STORE_CONTAINER)));
    p->started(p->started_arg, err);
}

int proxy_start(struct proxy *p, void (*done)(void *arg, const struct kerr *err), void *arg,
                struct kerr *err)
{
    struct kerr bad = { 0 };

    if (hookconfigs_start(p->configs, err) < 0)
        return err->code;
    if (podstore_load(p->store, &bad) < 0)
        KLOG_E(&bad, "What an earlier proxy knew cannot be read, asking the runtime for all of it");
    p->started = done;
    p->started_arg = arg;
    if (p->docker)
        p->docker_rebuild = docker_rebuild_new(p, on_rebuilt, p);
    else
        p->rebuild = rebuild_new(p, on_rebuilt, p);
    return 0;
}

void proxy_serve(struct proxy *p, struct stream *s)
{
    if (p->docker)
        h1relay_serve(p->docker, s);
    else
        h2relay_serve(p->relay, s);
}

static void on_drained(void *arg)
{
    struct proxy *p = arg;
    struct kerr err = { 0 };

    if (podstore_flush(p->store, &err) < 0)
        KLOG_E(&err, "Failed to keep pods and containers on disk");
    p->drained(p->drained_arg);
}

void proxy_drain(struct proxy *p, void (*done)(void *arg), void *arg)
{
    p->drained = done;
    p->drained_arg = arg;
    if (p->docker)
        h1relay_drain(p->docker, on_drained, p);
    else
        h2relay_drain(p->relay, on_drained, p);
}

int proxy_check(const struct proxy *p, struct kerr *err)
{
    bool refused = p->docker ? h1relay_stats(p->docker).refused : h2relay_stats(p->relay).refused;

    if (refused)
        return kerr_set(err, -ECONNREFUSED, "the runtime at %s cannot be reached", p->o.backend);
    return 0;
}
