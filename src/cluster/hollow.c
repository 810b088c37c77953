/* hollow.c - hollow nodes: registered, kept alive by leases and heartbeats, without a machine. */
#include "cluster/hollow.h"

#include <stdio.h>

#include "api/dra.h"
#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/lease.h"
#include "base/ktime.h"

#define LEASE_EVERY  (10 * NSEC_PER_SEC)
#define STATUS_EVERY (300 * NSEC_PER_SEC)
enum { LEASE_SECONDS = 40, NODES_MAX = 100000 };

/* ---- registration -------------------------------------------------------------------------- */

static bool on_registered(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct hnode *n = arg;
    (void)b, (void)r;
    if (err)
        return false;
    n->registered = true;
    n->status_at = loop_wall(n->h->c->loop);
    return true;
}

static void patch_status(struct batch *b, struct hnode *n, const struct node *old)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    hnode_write_status(n, loop_wall(n->h->c->loop), old, &body);
    struct kube_req r = { .verb = KUBE_PATCH,
                          .kind = &kind_node,
                          .name = n->name,
                          .subresource = "status",
                          .patch = KUBE_PATCH_STRATEGIC,
                          .body = body.data,
                          .body_len = body.len };
    batch_call(b, &r, on_registered, n);
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)r;
    if (err && err->reason != KR_ALREADY_EXISTS)
        return false;
    patch_status(b, arg, NULL);
    return true;
}

static bool on_extra(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
    /* A server without our CRDs: the node is there all the same. */
    return err && (err->reason == KR_ALREADY_EXISTS || err->reason == KR_NOT_FOUND);
}

static void create_extras(struct batch *b, struct hnode *n, const struct kobj *node)
{
    CLEANUP(strbuf_fini) struct strbuf device = STRBUF_INIT, topology = STRBUF_INIT;

    n->extras_done = true;
    if (n->shape->gpus || n->shape->rdma) {
        hnode_write_device(n, &device);
        batch_create(b, &kind_device, NULL, &device, on_extra, NULL);
    }
    if (n->shape->numa) {
        hnode_write_topology(n, &topology);
        batch_create(b, &kind_noderesourcetopology, NULL, &topology, on_extra, NULL);
    }
    hnode_publish_slices(b, n, node);
}

/* ---- leases -------------------------------------------------------------------------------- */

static void write_lease(const struct hnode *n, const struct kobj *node, bool whole,
                        struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char now[KTIME_TEXT_MAX];

    ktime_format_micro(loop_wall(n->h->c->loop), now);
    kjw_obj(&w, NULL);
    if (whole) {
        kjw_str(&w, "apiVersion", "coordination.k8s.io/v1");
        kjw_str(&w, "kind", "Lease");
        kjw_obj(&w, "metadata");
        kjw_str(&w, "name", n->name);
        kjw_str(&w, "namespace", "kube-node-lease");
        owner_write(&w, node, false);
        kjw_end(&w);
    }
    kjw_obj(&w, "spec");
    kjw_str(&w, "holderIdentity", n->name);
    kjw_i64(&w, "leaseDurationSeconds", LEASE_SECONDS);
    kjw_str(&w, "renewTime", now);
    kjw_end(&w);
    kjw_end(&w);
}

static bool on_leased(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct hnode *n = arg;
    (void)b, (void)r;
    if (!err || err->reason == KR_ALREADY_EXISTS)
        n->lease_known = true;
    else if (err->reason == KR_NOT_FOUND)
        n->lease_known = false; /* made at the next beat */
    return err && err->reason == KR_ALREADY_EXISTS;
}

static void beat(struct batch *b, struct hnode *n, const struct kobj *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    write_lease(n, node, !n->lease_known, &body);
    struct kube_req r = { .verb = n->lease_known ? KUBE_PATCH : KUBE_CREATE,
                          .kind = &kind_lease,
                          .ns = "kube-node-lease",
                          .name = n->lease_known ? n->name : NULL,
                          .patch = KUBE_PATCH_MERGE,
                          .body = body.data,
                          .body_len = body.len };
    batch_call(b, &r, on_leased, n);
}

/* ---- one beat of a node -------------------------------------------------------------------- */

static void drop_pods(struct hnode *n)
{
    while (n->pods.n)
        hpod_free(n->h, n->pods.items[0]);
}

static void node_sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct hollow *h = arg;
    struct hnode *n = map_getz(&h->by_name, key);
    nsec_t now = loop_wall(h->c->loop);

    if (n->gone)
        return;
    if (!n->registered && !o) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        hnode_write_node(n, &body);
        batch_create(b, &kind_node, NULL, &body, on_created, n);
        batch_again(b, NSEC_PER_SEC);
    } else if (!n->registered) {
        patch_status(b, n, node_of(o));
        batch_again(b, NSEC_PER_SEC);
    } else if (o) {
        if (!n->extras_done)
            create_extras(b, n, o);
        beat(b, n, o);
        if (now - n->status_at >= STATUS_EVERY ||
            !condition_is_true(&node_of(o)->status.conditions, "Ready"))
            patch_status(b, n, node_of(o));
        batch_again(b, loop_jitter(h->c->loop,
                                   h->o.lease_interval ? h->o.lease_interval : LEASE_EVERY, 0.04));
    } else if (now - n->status_at > 5 * NSEC_PER_SEC) {
        /* Somebody deleted the node: as with a kubelet, it does not come back by itself. */
        n->gone = true;
        drop_pods(n);
    } else {
        batch_again(b, NSEC_PER_SEC);
    }
}

/* ---- news ---------------------------------------------------------------------------------- */

static void on_pod(void *arg, struct kobj *o)
{
    struct hollow *h = arg;
    const char *node = pod_of(o)->node_name;
    char key[KOBJ_KEY_MAX];

    kobj_key(o, key, sizeof key);
    if ((!str_empty(node) && map_getz(&h->by_name, node)) || map_getz(&h->pods, key))
        controller_add(h->pod_controller, key);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_pod(arg, o);
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct hollow *h = arg;
    (void)old;
    /* The node lifecycle took us for dead: say at once that we are not. */
    if (map_getz(&h->by_name, o->meta.name) &&
        !condition_is_true(&node_of(o)->status.conditions, "Ready"))
        controller_add(h->node_controller, o->meta.name);
}

static void on_node(void *arg, struct kobj *o)
{
    on_node_update(arg, o, o);
}

static void on_node_delete(void *arg, struct kobj *o)
{
    struct hollow *h = arg;
    if (map_getz(&h->by_name, o->meta.name))
        controller_add(h->node_controller, o->meta.name);
}

/* A claim that is reserved for a pod: the pod may wait for it. */
static void on_claim_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct hollow *h = arg;
    const struct resource_claim *c = resource_claim_of(o);
    char key[KOBJ_KEY_MAX];

    (void)old;
    for (uint32_t i = 0; i < c->status.reserved_for.n; i++) {
        (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, c->status.reserved_for.items[i].name);
        if (map_getz(&h->pods, key))
            controller_add(h->pod_controller, key);
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

static const char *dup(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

static const struct hollow_pair *copy_pairs(struct arena *a, const struct hollow_pair *p, size_t n)
{
    struct hollow_pair *out = arena_newn0(a, n + 1, struct hollow_pair);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct hollow_pair){ dup(a, p[i].key), dup(a, p[i].value), dup(a, p[i].effect) };
    return out;
}

static const struct hollow_driver *copy_drivers(struct arena *a, const struct hollow_driver *d,
                                                size_t n)
{
    struct hollow_driver *out = arena_newn0(a, n + 1, struct hollow_driver);
    for (size_t i = 0; i < n; i++) {
        out[i] = d[i];
        out[i].name = dup(a, d[i].name);
        out[i].attrs = copy_pairs(a, d[i].attrs, d[i].nattrs);
        out[i].capacity = copy_pairs(a, d[i].capacity, d[i].ncapacity);
    }
    return out;
}

static void copy_shapes(struct hollow *h, const struct hollow_opts *o)
{
    h->shapes = arena_newn0(h->arena, o->nshapes, struct hollow_shape);
    for (size_t i = 0; i < o->nshapes; i++) {
        struct hollow_shape *s = &h->shapes[i];
        *s = o->shapes[i];
        hnode_defaults(s);
        s->prefix = dup(h->arena, s->prefix);
        s->gpu_model = s->gpu_model ? dup(h->arena, s->gpu_model) : NULL;
        s->name = s->name ? dup(h->arena, s->name) : NULL;
        s->labels = copy_pairs(h->arena, o->shapes[i].labels, s->nlabels);
        s->taints = copy_pairs(h->arena, o->shapes[i].taints, s->ntaints);
        s->drivers = copy_drivers(h->arena, o->shapes[i].drivers, s->ndrivers);
    }
}

static void make_nodes(struct hollow *h)
{
    unsigned at = 0;

    for (size_t i = 0; i < h->o.nshapes; i++) {
        for (unsigned k = 0; k < h->shapes[i].count; k++, at++) {
            struct hnode *n = &h->nodes[at];
            n->h = h;
            n->shape = &h->shapes[i];
            n->index = at;
            n->name = n->shape->name ? arena_strdup(h->arena, n->shape->name)
                                     : arena_printf(h->arena, "%s%u", n->shape->prefix, k);
            n->zone = arena_printf(h->arena, "zone-%c", 'a' + (int)(k % MIN(n->shape->zones, 26u)));
            map_putz(&h->by_name, n->name, n);
        }
    }
}

/* One after the other, so that they do not all beat at the same time. */
static void start_nodes(void *arg)
{
    struct hollow *h = arg;
    for (size_t i = 0; i < h->n; i++)
        controller_add_after(h->node_controller, h->nodes[i].name, 1 + (nsec_t)i * NSEC_PER_MSEC);
}

static void start_metrics(void *arg)
{
    struct hollow *h = arg;
    for (size_t i = 0; i < h->n; i++)
        if (!h->nodes[i].shape->name)
            controller_add_after(h->metric_controller, h->nodes[i].name,
                                 5 * NSEC_PER_SEC + (nsec_t)i * NSEC_PER_MSEC);
}

static void make_controllers(struct hollow *h)
{
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    static const struct informer_handler nodes = { .on_add = on_node,
                                                   .on_update = on_node_update,
                                                   .on_delete = on_node_delete };
    static const struct informer_handler claims = { .on_update = on_claim_update };
    struct controllers *cs = h->c->controllers;
    const struct workqueue_opts queue = { .backoff_max = 10 * NSEC_PER_SEC, .qps = 1000 };
    struct controller_opts o = { .name = "hollow-node",
                                 .of = h->node_cache,
                                 .sync = node_sync,
                                 .start = start_nodes,
                                 .self = h,
                                 .queue = queue };

    o.queue.concurrency = 32;
    h->node_controller = controller_new(cs, &o);
    controller_watch(h->node_controller, h->node_cache, &nodes, h);
    o = (struct controller_opts){
        .name = "hollow-pod", .of = h->pod_cache, .sync = hpod_sync, .self = h, .queue = queue
    };
    o.queue.concurrency = 64;
    h->pod_controller = controller_new(cs, &o);
    controller_watch(h->pod_controller, h->pod_cache, &pods, h);
    controller_read(h->pod_controller, h->node_cache);
    controller_watch(h->pod_controller, h->claim_cache, &claims, h);
    if (h->o.no_metrics)
        return;
    o = (struct controller_opts){ .name = "hollow-metric",
                                  .of = caches_get(h->c->caches, &kind_nodemetric),
                                  .sync = hmetric_sync,
                                  .start = start_metrics,
                                  .self = h };
    o.queue.concurrency = 8;
    h->metric_controller = controller_new(cs, &o);
}

struct hollow *hollow_new(struct cluster *c, const struct hollow_opts *o, struct kerr *err)
{
    size_t n = 0;

    for (size_t i = 0; i < o->nshapes; i++)
        n += o->shapes[i].count;
    if (n > NODES_MAX) {
        kerr_set(err, -EINVAL, "%zu hollow nodes are more than %d", n, NODES_MAX);
        return NULL;
    }
    struct hollow *h = xnew0(struct hollow);
    h->c = c;
    h->o = *o;
    h->o.start_delay = o->start_delay ? o->start_delay : NSEC_PER_SEC;
    h->arena = arena_new();
    copy_shapes(h, o);
    h->o.shapes = h->shapes;
    h->n = n;
    h->nodes = xnewn0(n + 1, struct hnode);
    h->node_cache = caches_get(c->caches, &kind_node);
    h->pod_cache = caches_get(c->caches, &kind_pod);
    h->slo_cache = caches_get(c->caches, &kind_nodeslo);
    h->claim_cache = caches_get(c->caches, &kind_resource_claim);
    make_nodes(h);
    make_controllers(h);
    husage_start(h);
    c->stats.hollow_nodes = n;
    return h;
}

struct hollow *hollow_free(struct hollow *h)
{
    if (!h)
        return NULL;
    husage_stop(h);
    controller_free(h->node_controller);
    controller_free(h->pod_controller);
    controller_free(h->metric_controller);
    for (size_t i = 0; i < h->n; i++) {
        drop_pods(&h->nodes[i]);
        vec_fini(&h->nodes[i].pods);
        hfiles_fini(&h->nodes[i].files);
    }
    map_fini(&h->by_name);
    map_fini(&h->pods);
    free(h->nodes);
    arena_free(h->arena);
    free(h);
    return NULL;
}

bool hollow_ready(const struct hollow *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (!h->nodes[i].registered)
            return false;
    return true;
}
