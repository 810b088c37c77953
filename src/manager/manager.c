/* manager.c - the manager put together: caches, configuration, controllers. */
#include "manager/hooks.h"
#include "manager/manager_int.h"

#include "base/klog.h"
#include "base/map.h"
#include "client/events.h"
#include "loop/loop.h"
#include "manager/cached.h"
#include "manager/noderesource/plugin.h"
#include "manager/webhook/webhook.h"

#define NAME "koord-manager"
/* After a change of the configuration so many nodes are looked at in a second. */
#define NODES_A_SECOND 250
#define SPREAD_MAX     (20 * NSEC_PER_SEC)

const char *const manager_controller_names[MANAGER_CONTROLLERS + 1] = {
    [MANAGER_NODEMETRIC] = "nodemetric",
    [MANAGER_NODERESOURCE] = "noderesource",
    [MANAGER_NODESLO] = "nodeslo",
    [MANAGER_QUOTAPROFILE] = "quotaprofile",
    [MANAGER_COLOCATIONPROFILE] = "colocationprofile",
};
const char *const manager_plugin_names[] = {
    [NR_NORMALIZATION] = "CPUNormalization",
    [NR_AMPLIFICATION] = "ResourceAmplification",
    [NR_MID] = "MidResource",
    [NR_BATCH] = "BatchResource",
    [NR_GPU] = "GPUDeviceResource",
    [NR_RDMA] = "RDMADeviceResource",
    [NR_PLUGINS] = NULL,
};

/* ---- what the controllers share -------------------------------------------------------------- */

void outcomes_init(struct outcomes *o, struct metrics *m, const struct metric_desc *d)
{
    o->metric = metrics_add(m, d);
}

void outcomes_ok(struct outcomes *o)
{
    counter_inc(metric_counter(o->metric, METRIC_VALUES("succeeded", "")));
}

void outcomes_failed(struct outcomes *o, const char *reason)
{
    counter_inc(metric_counter(o->metric, METRIC_VALUES("failed", reason)));
}

bool same_strmap(const kstrmap *a, const kstrmap *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!streq(a->items[i].key, b->items[i].key) ||
            !streq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

/* Where in the spread a node stands depends on its name alone. */
void manager_add_nodes(struct manager *m, struct controller *c)
{
    nsec_t spread = (nsec_t)informer_count(m->nodes) * NSEC_PER_SEC / NODES_A_SECOND;
    size_t it = 0;
    struct kobj *o;

    spread = MIN(spread, SPREAD_MAX);
    while ((o = informer_next(m->nodes, &it))) {
        const char *name = o->meta.name;
        uint64_t place = hash_stable(name, strlen(name)) % 1024;
        controller_add_after(c, name, spread * (nsec_t)place / 1024);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool runs(const struct manager *m, enum manager_controller c)
{
    return !(m->o.without_controllers >> c & 1);
}

static struct informer *get(struct manager *m, const struct kind *k)
{
    return caches_get_some(m->caches, &(struct informer_opts){ .kind = k, .resync = m->o.resync });
}

static void make_caches(struct manager *m)
{
    m->nodes = get(m, &cached_node);
    if (runs(m, MANAGER_NODEMETRIC) || runs(m, MANAGER_NODERESOURCE))
        m->metrics = get(m, &cached_nodemetric);
    if (runs(m, MANAGER_NODESLO))
        m->slos = get(m, &kind_nodeslo);
    if (!runs(m, MANAGER_NODERESOURCE))
        return;
    m->topologies = get(m, &cached_topology);
    m->devices = get(m, &cached_device);
    m->pods = caches_get_some(
        m->caches,
        &(struct informer_opts){ .kind = &kind_pod, .ns = m->ns, .reduce = cached_pod_reduce });
}

static void set_default(nsec_t *t, nsec_t otherwise)
{
    if (*t == 0)
        *t = otherwise;
}

static void profile_defaults(struct manager_profile_opts *o)
{
    set_default(&o->interval, 30 * NSEC_PER_SEC);
    set_default(&o->again_after, 300 * NSEC_PER_SEC);
    set_default(&o->forget_after, 600 * NSEC_PER_SEC);
    if (o->qps <= 0)
        o->qps = 10;
    if (o->burst <= 0)
        o->burst = 100;
}

static void copy_options(struct manager *m, const struct manager_opts *o)
{
    m->o = *o;
    m->ns = str_empty(o->ns) ? NULL : xstrdup(o->ns);
    m->config_ns = xstrdup(str_or(o->config_ns, SLO_CONFIG_NAMESPACE));
    m->config_name = xstrdup(str_or(o->config_name, SLO_CONFIG_NAME));
    m->rules_ns = o->rules_ns ? xstrdup(o->rules_ns) : NULL;
    m->rules_name = o->rules_name ? xstrdup(o->rules_name) : NULL;
    m->o.rules_ns = m->rules_ns;
    m->o.rules_name = m->rules_name;
    m->o.webhooks = NULL;
    profile_defaults(&m->o.profiles);
    m->own_metrics = o->metrics ? NULL : metrics_new();
    if (!o->metrics)
        m->o.metrics = m->own_metrics;
}

struct manager *manager_new(struct loop *l, struct kube *k, const struct manager_opts *o)
{
    struct manager *m = xnew0(struct manager);

    m->loop = l;
    m->kube = k;
    copy_options(m, o);
    m->caches = caches_new(k);
    m->events = recorder_new(
        k, &(struct recorder_opts){ .component = NAME, .instance = str_or(o->instance, NAME) });
    m->config = sloconfig_new();
    m->controllers = controllers_new(
        &(struct controller_env){ .loop = l, .kube = k, .caches = m->caches, .events = m->events });
    make_caches(m);
    m->watch = configwatch_new(m);
    if (runs(m, MANAGER_NODEMETRIC))
        m->nodemetric = nodemetric_controller_new(m);
    if (runs(m, MANAGER_NODESLO))
        m->nodeslo = nodeslo_controller_new(m);
    if (runs(m, MANAGER_NODERESOURCE))
        m->noderesource = noderesource_controller_new(m);
    if (runs(m, MANAGER_QUOTAPROFILE))
        m->quotaprofile = quotaprofile_controller_new(m);
    bool apply = o->profiles.enabled && runs(m, MANAGER_COLOCATIONPROFILE);
    if (o->webhooks || apply)
        m->hooks = hooks_new(m, o->webhooks ? o->webhooks : &(struct webhook_opts){ 0 });
    if (apply)
        m->profile_controller = profile_controller_new(m);
    return m;
}

struct manager *manager_free(struct manager *m)
{
    if (!m)
        return NULL;
    controllers_stop(m->controllers);
    nodemetric_controller_free(m->nodemetric);
    nodeslo_controller_free(m->nodeslo);
    noderesource_controller_free(m->noderesource);
    profile_controller_free(m->profile_controller);
    quotaprofile_controller_free(m->quotaprofile);
    hooks_free(m->hooks);
    controllers_free(m->controllers);
    configwatch_free(m->watch);
    caches_free(m->caches);
    recorder_free(m->events);
    sloconfig_free(m->config);
    metrics_free(m->own_metrics);
    free(m->ns);
    free(m->config_ns);
    free(m->config_name);
    free(m->rules_ns);
    free(m->rules_name);
    free(m);
    return NULL;
}

void manager_watch(struct manager *m)
{
    caches_start(m->caches);
}

void manager_lead(struct manager *m)
{
    m->leading = true;
    controllers_start(m->controllers);
    configwatch_lead(m->watch);
    if (m->hooks)
        hooks_lead(m->hooks);
}

void manager_rest(struct manager *m)
{
    m->leading = false;
    controllers_stop(m->controllers);
}

bool manager_synced(const struct manager *m)
{
    return caches_synced(m->caches) && configwatch_ready(m->watch);
}

struct webhooks *manager_webhooks(const struct manager *m)
{
    return m->hooks ? hooks_webhooks(m->hooks) : NULL;
}

const struct profile_set *manager_profiles(const struct manager *m)
{
    return m->hooks ? hooks_profiles(m->hooks) : NULL;
}

struct manager_stats manager_stats(const struct manager *m)
{
    struct controllers_stats s = controllers_stats(m->controllers);
    const struct informer *const all[] = { m->nodes, m->metrics,    m->pods,
                                           m->slos,  m->topologies, m->devices };
    struct manager_stats out = { .syncs = s.syncs, .retries = s.retries, .writes = s.writes };

    out.nodes = informer_count(m->nodes);
    out.pods = m->pods ? informer_count(m->pods) : 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        out.cache_bytes += all[i] ? informer_stats(all[i]).bytes : 0;
    return out;
}
