/* node.c - the Node object: who is told, what is shown, and where the kubelet is. */
#include "api/protocol/keys.h"
#include "base/klog.h"
#include "client/informer.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"

static const struct metric_desc allocatable_desc = {
    .name = "koordlet_node_resource_allocatable",
    .help = "Batch and mid resources that the node offers.",
    .type = METRIC_GAUGE,
    .labels = { "node", "resource", "unit" },
};
static const struct {
    const char *name, *unit;
} shown[] = {
    { RES_BATCH_CPU, "integer" },
    { RES_BATCH_MEMORY, "byte" },
    { RES_MID_CPU, "integer" },
    { RES_MID_MEMORY, "byte" },
};

static void show_allocatable(struct states *s, const struct node *n)
{
    for (size_t i = 0; s->allocatable && i < ARRAY_LEN(shown); i++)
        gauge_set(metric_gauge(s->allocatable,
                               METRIC_VALUES(s->o.node_name, shown[i].name, shown[i].unit)),
                  (double)qty_value(reslist_get(&n->status.allocatable, shown[i].name)));
}

static bool maps_equal(const kstrmap *a, const kstrmap *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!streq(a->items[i].key, b->items[i].key) ||
            !streq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

/* ---- where the kubelet is -------------------------------------------------------------------- */

static const char *address_type(const char *wish)
{
    static const char *const known[] = { "Hostname", "InternalIP", "InternalDNS", "ExternalIP",
                                         "ExternalDNS" };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (streq(wish, known[i]))
            return wish;
    return "InternalIP";
}

static int aim(struct states *s, const struct node *n, struct kerr *err)
{
    const char *type = address_type(s->o.kubelet_address_type);
    const char *address = node_address(n, type);
    int32_t port = s->o.kubelet_insecure ? s->o.kubelet_read_only_port : n->status.kubelet_port;

    if (!address)
        return kerr_set(err, -EADDRNOTAVAIL, "the Node has no address of type %s", type);
    if (port <= 0 || port > UINT16_MAX)
        return kerr_set(err, -EADDRNOTAVAIL, "the kubelet's port %d is not usable", port);
    return kubelet_aim(s->kubelet, address, (uint16_t)port, err);
}

static void follow_kubelet(struct states *s, const struct node *old, const struct node *n)
{
    bool first = !kubelet_is_aimed(s->kubelet), had_problem = s->aim_problem.code != 0;
    struct kerr err = { 0 };

    if (s->o.no_kubelet)
        return;
    if (aim(s, n, &err) < 0 && !had_problem)
        KLOG_E(&err, "Cannot reach the kubelet");
    s->aim_problem = err;
    if (err.code < 0)
        return;
    if (old &&
        (!streq(old->status.node_info.kubelet_version, n->status.node_info.kubelet_version) ||
         old->status.kubelet_port != n->status.kubelet_port))
        s->configz.wanted = true;
    if (first)
        pods_sync(s);
}

/* ---- the informer ---------------------------------------------------------------------------- */

static void take_node(struct states *s, struct kobj *obj)
{
    const struct node *before = states_now(s)->node;
    CLEANUP(kobj_unref) struct kobj *old = before ? kobj_ref((struct kobj *)&before->obj) : NULL;
    bool metadata_differs = !old || !maps_equal(&old->meta.labels, &obj->meta.labels) ||
                            !maps_equal(&old->meta.annotations, &obj->meta.annotations);

    snapshots_set_node(s->env.snapshots, obj);
    show_allocatable(s, node_of(obj));
    follow_kubelet(s, old ? node_of(old) : NULL, node_of(obj));
    if (metadata_differs)
        snapshots_tell(s->env.snapshots, STATES_NODE);
}

static void on_add(void *arg, struct kobj *obj)
{
    take_node(arg, obj);
}

static void on_update(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    take_node(arg, obj);
}

static const struct informer_handler handler = { .on_add = on_add, .on_update = on_update };

void node_init(struct states *s)
{
    struct informer_opts o = { .kind = &kind_node, .field_selector = s->selector, .page = 2 };

    if (s->env.external)
        s->allocatable = metrics_add(s->env.external, &allocatable_desc);
    s->nodes = informer_new(s->env.kube, &o);
    informer_add_handler(s->nodes, &handler, s);
}
