/* up.c - what koordctl up runs: API server, controllers, hollow nodes, scheduler, manager,
 * descheduler and koordlet, in one process on one loop.
 */
#include "ctl/up.h"
#include "apiserver/schema/types.h"

#include "apiserver/server.h"
#include "base/num.h"
#include "client/kube.h"
#include "cluster/cluster.h"
#include "main/koordctl.h"
#include "main/up.h"
#include "manager/manager.h"
#include "manager/webhook/webhook.h"
#include "scheduler/scheduler.h"

#define STOP_GRACE (5 * NSEC_PER_SEC)
enum { SHAPES_MAX = 32 };

struct wired {
    struct apiserver *server;
    struct kube *kube;
    struct cluster *cluster;
    struct up_scheduler *scheduler;
    struct manager *manager;
    struct up_descheduler *descheduler;
    struct up_koordlet *koordlet;
};

static unsigned modes_of(const struct up_plan *p)
{
    unsigned modes =
        (p->rbac ? APISERVER_RBAC : 0) | (p->always_allow ? APISERVER_ALWAYS_ALLOW : 0);
    return modes ? modes : APISERVER_ALWAYS_DENY;
}

static int start_server(struct wired *w, const struct up_plan *p, struct kerr *err)
{
    const struct apiserver_opts a = { .data_file = p->data_file,
                                      .token = p->token,
                                      .token_file = p->token_file,
                                      .authorization = modes_of(p),
                                      .anonymous = p->anonymous,
                                      .accounts = p->controllers ? APISERVER_ACCOUNTS_MADE
                                                                 : APISERVER_ACCOUNTS_LENIENT,
                                      .root_ca = p->root_ca,
                                      .alpha_apis = p->alpha_apis,
                                      .disabled_admission = p->disabled_admission,
                                      .ndisabled = p->ndisabled,
                                      .koordinator = true };

    if (apiserver_new(p->loop, &a, &w->server, err) < 0)
        return err->code;
    w->kube = apiserver_kube(w->server, p->strings, NULL);
    return 0;
}

/* ---- what nodes and pods use, for kubectl top and autoscalers ---------------------------------- */

static struct apiserver_use use_of(const struct cluster_use *u)
{
    return (struct apiserver_use){
        .at = u->at, .window = u->window, .ncpu = i64_mul_sat(u->mcpu, 1000000), .bytes = u->bytes
    };
}

static bool node_use(void *self, const char *name, struct apiserver_use *ret)
{
    struct cluster_use u;
    bool known = cluster_node_use(self, name, &u);

    if (known)
        *ret = use_of(&u);
    return known;
}

static bool pod_use(void *self, const struct apiserver_pod *pod, struct apiserver_use *ret)
{
    struct cluster_use u;
    bool known =
        cluster_pod_use(self, &(struct cluster_pod){ pod->ns, pod->name, pod->uid, pod->node }, &u);

    if (known)
        *ret = use_of(&u);
    return known;
}

static const struct apiserver_usage usage = { node_use, pod_use };

/* ---- controllers and hollow nodes ------------------------------------------------------------ */

static int make_cluster(struct wired *w, const struct up_plan *p, const struct hollow_shape *shapes,
                        size_t n, struct kerr *err)
{
    const struct cluster_opts o = {
        .deployment = p->controllers,
        .replicaset = p->controllers,
        .replicationcontroller = p->controllers,
        .statefulset = p->controllers,
        .daemonset = p->controllers,
        .endpoints = p->controllers,
        .job = p->controllers,
        .cronjob = p->controllers,
        .gc = p->controllers,
        .namespaces = p->controllers,
        .nodes = p->controllers,
        .pdb = p->controllers,
        .resourceclaims = p->controllers,
        .metrics = w->server ? apiserver_metrics(w->server) : NULL,
        .accounts = p->controllers,
        .autoscaler = p->controllers,
        .volumes = p->controllers,
        .servicecidrs = p->controllers,
        .provisioner = p->controllers && n > 0,
        .usage = true,
        .root_ca = p->root_ca,
        .hollow = { .shapes = shapes,
                    .nshapes = n,
                    .seed = p->seed,
                    .no_metrics = p->no_metrics,
                    .lease_interval = p->beat_interval },
        .node_grace = 4 * p->beat_interval,
        .discovery_interval = p->beat_interval,
    };

    w->cluster = cluster_new(p->loop, w->kube, &o, err);
    return w->cluster ? apiserver_serve_usage(w->server, &usage, w->cluster, err) : err->code;
}

static int start_cluster(struct wired *w, const struct up_plan *p, struct kerr *err)
{
    struct hollow_shape_text texts[SHAPES_MAX] = { 0 };
    struct hollow_shape shapes[SHAPES_MAX + 1] = {
        { .count = p->node_count, .prefix = "node-", .zones = 3 },
    };
    size_t given = p->nodes ? p->nshapes : 0;
    size_t n = p->nodes && !given && p->node_count ? 1 : 0;
    int r = 0;

    if (given > SHAPES_MAX)
        return kerr_set(err, -E2BIG, "--shape: more than %d shapes", SHAPES_MAX);
    for (size_t i = 0; i < given && r == 0; i++) {
        r = hollow_shape_parse(p->shapes[i], &texts[i], err);
        if (r == 0)
            shapes[n++] = texts[i].shape;
        else
            kerr_wrap(err, "--shape");
    }
    struct up_host host = p->koordlet ? up_host_read() : (struct up_host){ 0 };
    if (p->koordlet)
        shapes[n++] = (struct hollow_shape){
            .count = 1, .name = host.name, .mcpu = host.mcpu, .memory_bytes = host.memory_bytes
        };
    if (r == 0)
        r = make_cluster(w, p, shapes, n, err);
    for (size_t i = 0; i < given; i++)
        hollow_shape_fini(&texts[i]);
    free(host.name);
    return r;
}

static void start_manager(struct wired *w, const struct up_plan *p)
{
    const struct webhook_opts webhooks = { .gates = webhook_gates_default() };

    w->manager =
        manager_new(p->loop, w->kube,
                    &(struct manager_opts){ .pod_merge = types_merge(types_find("", "v1", "Pod")),
                                            .webhooks = &webhooks });
    up_add_webhooks(w->server, manager_webhooks(w->manager));
    manager_watch(w->manager);
    manager_lead(w->manager);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int start(const struct up_plan *p, void **ret, struct kerr *err)
{
    struct wired *w = xnew0(struct wired);

    *ret = w;
    if (start_server(w, p, err) < 0)
        return err->code;
    if ((p->controllers || p->nodes || p->koordlet) && start_cluster(w, p, err) < 0)
        return err->code;
    if (p->scheduler &&
        up_scheduler_new(p->loop, w->kube, p->scheduler_config, &w->scheduler, err) < 0)
        return err->code;
    if (p->manager)
        start_manager(w, p);
    if (p->descheduler && up_descheduler_new(p->loop, w->kube, p->descheduler_config,
                                             p->scheduler_config, &w->descheduler, err) < 0)
        return err->code;
    if (p->koordlet)
        return up_koordlet_new(p->loop, w->kube, p->data_dir, &w->koordlet, err);
    return 0;
}

static bool ready(const void *self)
{
    const struct wired *w = self;
    return !w->manager || manager_synced(w->manager);
}

static int listen_last(void *self, const struct up_plan *p, uint16_t *ret_port, struct kerr *err)
{
    struct wired *w = self;
    return apiserver_listen(w->server, p->listen, p->tls, ret_port, err);
}

static void set_tls(void *self, struct tls_ctx *tls, const char *root_ca)
{
    struct wired *w = self;

    apiserver_set_tls(w->server, tls, root_ca);
    if (w->cluster)
        cluster_set_root_ca(w->cluster, root_ca);
}

static struct kube *kube(const void *self)
{
    return ((const struct wired *)self)->kube;
}

/* ---- what has come of it ----------------------------------------------------------------------- */

static struct up_stats stats(const void *self)
{
    const struct wired *w = self;
    struct cluster_usage u = { 0 };
    struct cluster_stats c = { 0 };
    struct scheduler_stats s = { 0 };

    if (w->cluster) {
        u = cluster_usage(w->cluster);
        c = cluster_stats(w->cluster);
    }
    if (w->scheduler)
        s = up_scheduler_stats(w->scheduler);
    return (struct up_stats){
        .use = { .capacity = u.capacity,
                 .used = u.used,
                 .work_done = u.work_done,
                 .slow_minutes = u.slow_minutes },
        .evicted = s.victims + c.evicted,
        .pending = s.pending,
    };
}

static bool node(const void *self, size_t i, struct up_node *ret)
{
    const struct wired *w = self;
    struct cluster_node_usage n;

    if (!w->cluster || !cluster_node_usage(w->cluster, i, &n))
        return false;
    *ret = (struct up_node){ n.name, n.mcpu, n.used_mcpu, n.services_short };
    return true;
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void stop_writers(struct wired *w)
{
    w->koordlet = up_koordlet_free(w->koordlet);
    w->descheduler = up_descheduler_free(w->descheduler);
    w->scheduler = up_scheduler_free(w->scheduler);
    if (w->cluster)
        (void)apiserver_serve_usage(w->server, NULL, NULL, NULL);
    w->cluster = cluster_free(w->cluster);
}

static void stop(void *self, void (*done)(void *arg), void *arg)
{
    struct wired *w = self;

    stop_writers(w);
    /* The requests under way still pass its webhooks. */
    if (w->manager)
        manager_rest(w->manager);
    apiserver_stop(w->server, STOP_GRACE, done, arg);
}

static void free_all(void *self)
{
    struct wired *w = self;

    if (!w)
        return;
    stop_writers(w);
    manager_free(w->manager);
    kube_free(w->kube);
    apiserver_free(w->server);
    free(w);
}

static const struct up_system wired_system = { .start = start,
                                               .ready = ready,
                                               .listen = listen_last,
                                               .set_tls = set_tls,
                                               .kube = kube,
                                               .stats = stats,
                                               .node = node,
                                               .stop = stop,
                                               .free = free_all };
const struct up_system *const main_system = &wired_system;
