/* controller.c - batch, mid and device resources of nodes, kept up to date (manager 4).
 *
 * A node is looked at when something changed that the calculation reads: labels, annotations,
 * capacity and allocatable of the node, a report of its NodeMetric, its devices, the resources of
 * its NUMA zones, the configuration; and when its last report becomes too old. Pods are read, but
 * their news is not waited for: what they use comes with the next report.
 */
#include "base/klog.h"
#include "base/map.h"
#include "loop/loop.h"
#include "manager/cached.h"
#include "manager/manager_int.h"
#include "manager/noderesource/controller_int.h"
#include "manager/noderesource/observe.h"
#include "manager/noderesource/plugin.h"
#include "manager/noderesource/topology.h"

/* ---- states ---------------------------------------------------------------------------------- */

struct node_state *nr_state_of(struct noderesource_controller *c, const char *name)
{
    size_t n = strlen(name);
    struct node_state *s = map_get(&c->states, name, n);

    if (!s) {
        s = xcalloc(1, sizeof *s + n + 1);
        memcpy(s->name, name, n + 1);
        map_put(&c->states, s->name, n, s);
    }
    return s;
}

static void forget(struct noderesource_controller *c, const char *name)
{
    free(map_removez(&c->states, name));
}

static void forget_all(void *self)
{
    struct noderesource_controller *c = self;

    map_foreach(&c->states, e)
        free(e->value);
    map_fini(&c->states);
}

/* ---- input ----------------------------------------------------------------------------------- */

static const struct kobj *get(struct batch *b, const struct informer *inf, const char *key)
{
    const struct kobj *o = informer_get(inf, key);
    return o ? batch_hold(b, o) : NULL;
}

static void input_of(struct noderesource_controller *c, struct batch *b, const struct kobj *node,
                     struct nr_input *ret)
{
    const char *name = node->meta.name;
    const struct kobj *metric = get(b, c->m->metrics, name);
    const struct kobj *topology = get(b, c->m->topologies, name);
    const struct kobj *device = get(b, c->m->devices, name);
    size_t n;
    struct kobj *const *pods = informer_by_index(c->m->pods, c->by_node, name, &n);
    const struct nr_pod **list = arena_newn0(batch_arena(b), n + 1, const struct nr_pod *);

    for (size_t i = 0; i < n; i++)
        list[i] = &cached_pod_of(batch_hold(b, pods[i]))->pod;
    *ret = (struct nr_input){
        .now = loop_wall(c->m->loop),
        .node = node_of(node),
        .metric = metric ? nodemetric_of(metric) : NULL,
        .topology = topology ? noderesourcetopology_of(topology) : NULL,
        .device = device ? device_of(device) : NULL,
        .pods = list,
        .npods = n,
        .config = c->m->config,
        .plugins = NR_ALL_PLUGINS & ~c->m->o.without_plugins,
        .sync_gpu_shared = c->m->o.sync_gpu_shared,
    };
}

/* ---- writes ---------------------------------------------------------------------------------- */

struct write {
    struct noderesource_controller *c;
    const char *node, *not_found, *failed; /* reasons in the metric */
    bool status, topology;
};

static bool on_written(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct write *w = arg;
    struct node_state *s = map_getz(&w->c->states, w->node); /* NULL: the node is gone */

    (void)b, (void)r;
    if (err && err->reason == KR_NOT_FOUND) {
        nr_observe_failure(w->c->observer, w->not_found);
        return true;
    }
    if (err) {
        nr_observe_failure(w->c->observer, w->failed);
        return false;
    }
    if (s && w->status)
        s->last_sync = loop_wall(w->c->m->loop);
    if (s && w->topology)
        s->last_topology_sync = loop_wall(w->c->m->loop);
    return true;
}

static struct write *write_for(struct batch *b, struct write w)
{
    struct write *out = arena_new0(batch_arena(b), struct write);
    *out = w;
    return out;
}

/* Sends what differs; when nothing does, the node is as it should be, which is as good as a write.
 */
static void write_node(struct noderesource_controller *c, struct batch *b, const struct kobj *node,
                       const struct nr_plan *plan, const struct nr_due_result *due,
                       struct node_state *s)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    bool status = due->status != NR_NOT_DUE;

    if (status)
        nr_patch_status(node_of(node), plan, &body);
    else if (due->meta)
        nr_patch_meta(node_of(node), plan, &body);
    if (status && body.len == 0)
        s->last_sync = loop_wall(c->m->loop);
    if (body.len == 0)
        return;
    KLOG_I(4, "Patching node", KV_S("node", node->meta.name), KV_S("patch", strbuf_str(&body)));
    batch_patch(
        b, node, status ? "status" : NULL, KUBE_PATCH_MERGE, &body, on_written,
        write_for(b, (struct write){ .c = c,
                                     .node = batch_key(b),
                                     .status = status,
                                     .not_found =
                                         status ? "updateNodeNotFound" : "updateNodeMetaNotFound",
                                     .failed = status ? "updateNodeStatus" : "patchNodeMeta" }));
}

static void write_topology(struct noderesource_controller *c, struct batch *b,
                           const struct nr_input *in, const struct nr_result *r,
                           struct node_state *s)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    nsec_t patience =
        i64_mul_sat(nr_percent(r->strategy->update_time_threshold_seconds, 300), NSEC_PER_SEC);
    bool all = s->last_topology_sync == 0 || in->now - s->last_topology_sync > patience;

    if (!in->topology || !(in->plugins >> NR_BATCH & 1) || r->damping.cpu_held ||
        r->damping.memory_held)
        return;
    nr_patch_topology(in->topology, r, all, batch_arena(b), &body);
    if (body.len == 0) {
        s->last_topology_sync = all ? in->now : s->last_topology_sync;
        return;
    }
    batch_patch(b, &in->topology->obj, NULL, KUBE_PATCH_MERGE, &body, on_written,
                write_for(b, (struct write){ .c = c,
                                             .node = batch_key(b),
                                             .topology = true,
                                             .not_found = "updateNodeResourceTopology",
                                             .failed = "updateNodeResourceTopology" }));
}

/* ---- sync ------------------------------------------------------------------------------------ */

/* The report becomes too old at a known time, of which no news will come. */
static void again_when_stale(struct batch *b, const struct nr_input *in, const struct nr_result *r)
{
    if (r->disabled || !in->metric || in->metric->status.update_time == 0)
        return;
    nsec_t degrade =
        i64_mul_sat(nr_percent(r->strategy->degrade_time_minutes, 15), 60 * NSEC_PER_SEC);
    nsec_t left = i64_sub_sat(i64_add_sat(in->metric->status.update_time, degrade), in->now);
    if (left >= 0)
        batch_again(b, i64_add_sat(left, NSEC_PER_SEC));
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *node)
{
    struct noderesource_controller *c = self;
    struct nr_input in;
    struct nr_result r;
    struct nr_plan plan;

    if (!node)
        forget(c, key);
    if (!node || !sloconfig_available(c->m->config))
        return;
    struct node_state *s = nr_state_of(c, key);
    input_of(c, b, node, &in);
    in.cut = nr_state_cut(c, s, NULL);
    nr_calculate(&in, batch_arena(b), &r);
    if (nr_state_adapt(c, s, &in, &r)) {
        in.cut = s->adapt.cut;
        nr_calculate(&in, batch_arena(b), &r);
    }
    nr_prepare(&in, &r, batch_arena(b), &plan);
    struct nr_due_result due = nr_due(&in, &r, &plan, s->last_sync);
    nr_observe_result(c->observer, &in, &r, &plan);
    write_topology(c, b, &in, &r, s);
    write_node(c, b, node, &plan, &due, s);
    again_when_stale(b, &in, &r);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void on_object(void *arg, struct kobj *o)
{
    struct noderesource_controller *c = arg;
    controller_add_object(c->controller, o);
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    const struct node *a = node_of(old), *b = node_of(o);

    if (old == o || !same_strmap(&old->meta.labels, &o->meta.labels) ||
        !same_strmap(&old->meta.annotations, &o->meta.annotations) ||
        !reslist_equal(&a->status.capacity, &b->status.capacity) ||
        !reslist_equal(&a->status.allocatable, &b->status.allocatable) ||
        nr_node_pressure(a) != nr_node_pressure(b))
        on_object(arg, o);
}

static void on_metric_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old == o || !nodemetric_status_equal(nodemetric_of(old), nodemetric_of(o)))
        on_object(arg, o);
}

/* The next report counts as the first. */
static void on_metric_delete(void *arg, struct kobj *o)
{
    struct noderesource_controller *c = arg;
    struct node_state *s = map_getz(&c->states, o->meta.name);

    if (s)
        s->last_sync = 0;
    on_object(arg, o);
}

static void on_topology_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old == o || nr_topology_differs(noderesourcetopology_of(old), noderesourcetopology_of(o)))
        on_object(arg, o);
}

static void on_topology_delete(void *arg, struct kobj *o)
{
    struct noderesource_controller *c = arg;
    struct node_state *s = map_getz(&c->states, o->meta.name);

    if (s)
        s->last_topology_sync = 0;
}

static void on_device_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old == o || !same_strmap(&old->meta.labels, &o->meta.labels) ||
        !cached_device_equal(device_of(old), device_of(o)))
        on_object(arg, o);
}

void noderesource_on_config(struct noderesource_controller *c, unsigned keys)
{
    if (keys & 1u << SLO_COLOCATION)
        nr_evictions_watch(c);
    if (keys & (1u << SLO_COLOCATION | 1u << SLO_NORMALIZATION | 1u << SLO_AMPLIFICATION))
        manager_add_nodes(c->m, c->controller);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void watch(struct noderesource_controller *c)
{
    static const struct informer_handler nodes = { .on_add = on_object,
                                                   .on_update = on_node_update,
                                                   .on_delete = on_object };
    static const struct informer_handler metrics = { .on_update = on_metric_update,
                                                     .on_delete = on_metric_delete };
    static const struct informer_handler topologies = { .on_add = on_object,
                                                        .on_update = on_topology_update,
                                                        .on_delete = on_topology_delete };
    static const struct informer_handler devices = { .on_add = on_object,
                                                     .on_update = on_device_update,
                                                     .on_delete = on_object };

    controller_watch(c->controller, c->m->nodes, &nodes, c);
    controller_watch(c->controller, c->m->metrics, &metrics, c);
    controller_watch(c->controller, c->m->topologies, &topologies, c);
    controller_watch(c->controller, c->m->devices, &devices, c);
    controller_read(c->controller, c->m->pods);
    configwatch_before(c->m->watch, c->controller);
}

struct noderesource_controller *noderesource_controller_new(struct manager *m)
{
    struct noderesource_controller *c = xnew0(struct noderesource_controller);

    c->m = m;
    c->by_node = informer_add_index(m->pods, cached_pod_index_node);
    c->observer = nr_observer_new(m->o.metrics, m->nodes);
    c->controller = controller_new(m->controllers, &(struct controller_opts){
                                                       .name = "noderesource",
                                                       .of = m->nodes,
                                                       .sync = sync,
                                                       .stop = forget_all,
                                                       .self = c,
                                                       .queue = { .concurrency = 16 },
                                                   });
    watch(c);
    return c;
}

struct noderesource_controller *noderesource_controller_free(struct noderesource_controller *c)
{
    if (!c)
        return NULL;
    nr_evictions_unwatch(c);
    controller_free(c->controller);
    nr_observer_free(c->observer);
    forget_all(c);
    free(c);
    return NULL;
}
