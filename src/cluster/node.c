/* node.c - is a node alive? Its lease says so; conditions and taints follow. */
#include "cluster/node.h"

#include <stdio.h>

#include "api/lease.h"

#define LOOK_EVERY (5 * NSEC_PER_SEC)

struct seen { /* a NoExecute taint without timeAdded */
    char *key;
    nsec_t since; /* wall */
};
struct health {
    nsec_t renewed; /* renewTime of the lease as last seen; only compared with itself */
    nsec_t probed;  /* mono: when it changed, or the node was first seen */
    struct vec_of(struct seen) taints;
    char name[];
};

static void health_free(struct health *h)
{
    if (!h)
        return;
    vec_foreach(&h->taints, i)
        free(h->taints.items[i].key);
    vec_fini(&h->taints);
    free(h);
}

static struct health *health_of(struct nodectl *n, const char *name)
{
    struct health *h = map_getz(&n->health, name);
    size_t len = strlen(name);
    if (h)
        return h;
    h = xcalloc(1, sizeof *h + len + 1);
    memcpy(h->name, name, len + 1);
    h->probed = loop_mono(n->c->loop);
    map_put(&n->health, h->name, len, h);
    return h;
}

/* Clocks of nodes are not ours: only that the time in the lease changes counts. */
static bool is_alive(struct nodectl *n, const char *name)
{
    struct health *h = health_of(n, name);
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "kube-node-lease/%s", name);
    struct kobj *o = informer_get(n->leases, key);
    nsec_t renewed = o ? container_of(o, struct lease, obj)->spec.renew_time : 0;
    if (renewed != h->renewed) {
        h->renewed = renewed;
        h->probed = loop_mono(n->c->loop);
    }
    return loop_mono(n->c->loop) - h->probed <= n->c->o.node_grace;
}

/* ---- conditions ---------------------------------------------------------------------------- */

static const char *const condition_types[] = { "Ready", "MemoryPressure", "DiskPressure",
                                               "PIDPressure" };

static bool mark_unknown(struct nodectl *n, struct batch *b, const struct node *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    nsec_t now = loop_wall(n->c->loop);
    bool any = false;

    kjw_obj(&w, NULL);
    meta_write_version(&w, &node->obj);
    kjw_obj(&w, "status");
    kjw_arr(&w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(condition_types); i++) {
        const struct condition *c = condition_find(&node->status.conditions, condition_types[i]);
        if (c && c->status == COND_UNKNOWN)
            continue;
        any = true;
        struct condition unknown = { .type = condition_types[i], .status = COND_UNKNOWN };
        unknown.reason = c ? "NodeStatusUnknown" : "NodeStatusNeverUpdated";
        unknown.message =
            c ? "Kubelet stopped posting node status." : "Kubelet never posted node status.";
        condition_begin(&w, &unknown, NULL, now);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    if (!any)
        return false;
    recorder_event_on(n->c->events, &node->obj, false, "NodeNotReady", NULL,
                      "Node %s status is now: NodeNotReady", node->obj.meta.name);
    batch_patch(b, &node->obj, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
    return true;
}

/* Endpoints and budgets must not count on pods that nobody watches over. */
static void mark_pods_not_ready(struct nodectl *n, struct batch *b, const char *node)
{
    static const struct condition not_ready = { .type = "Ready", .status = COND_FALSE };
    kobjvec pods = { 0 };

    objects_by(n->pods, index_pod_node, node, &pods);
    vec_foreach(&pods, i) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        struct kjw w = kjw_to(&body);
        if (!pod_is_ready(pod_of(pods.items[i])))
            continue;
        kjw_obj(&w, NULL);
        kjw_obj(&w, "status");
        kjw_arr(&w, "conditions");
        condition_begin(&w, &not_ready, NULL, loop_wall(n->c->loop));
        kjw_end(&w);
        kjw_end(&w);
        kjw_end(&w);
        kjw_end(&w);
        batch_patch(b, pods.items[i], "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
    }
    vec_fini(&pods);
}

/* ---- taints -------------------------------------------------------------------------------- */

struct wanted {
    const char *key;
    uint8_t effect;
    bool on;
};
enum { NWANTED = 9 };

static bool is_true(const struct node *n, const char *type)
{
    return condition_is_true(&n->status.conditions, type);
}

static void wanted_taints(const struct node *n, struct wanted out[NWANTED])
{
    const struct condition *ready = condition_find(&n->status.conditions, "Ready");
    bool down = ready && ready->status == COND_FALSE;
    bool lost = ready && ready->status == COND_UNKNOWN;
    const struct wanted all[NWANTED] = {
        { TAINT_NOT_READY, TAINT_NO_SCHEDULE, down || !ready }, /* not up yet */
        { TAINT_NOT_READY, TAINT_NO_EXECUTE, down },
        { TAINT_UNREACHABLE, TAINT_NO_SCHEDULE, lost },
        { TAINT_UNREACHABLE, TAINT_NO_EXECUTE, lost },
        { "node.kubernetes.io/memory-pressure", TAINT_NO_SCHEDULE, is_true(n, "MemoryPressure") },
        { "node.kubernetes.io/disk-pressure", TAINT_NO_SCHEDULE, is_true(n, "DiskPressure") },
        { "node.kubernetes.io/pid-pressure", TAINT_NO_SCHEDULE, is_true(n, "PIDPressure") },
        { "node.kubernetes.io/network-unavailable", TAINT_NO_SCHEDULE,
          is_true(n, "NetworkUnavailable") },
        { "node.kubernetes.io/unschedulable", TAINT_NO_SCHEDULE, n->spec.unschedulable },
    };
    memcpy(out, all, sizeof all);
}

static const struct taint *find_taint(const taintlist *l, const char *key, uint8_t effect)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].key, key) && l->items[i].effect == effect)
            return &l->items[i];
    return NULL;
}

static bool is_ours(const struct wanted *all, const struct taint *t)
{
    for (size_t i = 0; i < NWANTED; i++)
        if (streq(all[i].key, t->key) && all[i].effect == t->effect)
            return true;
    return false;
}

static void write_taint(struct kjw *w, const char *key, const char *value, uint8_t effect,
                        nsec_t added)
{
    kjw_obj(w, NULL);
    kjw_str(w, "key", key);
    if (!str_empty(value))
        kjw_str(w, "value", value);
    kjw_str(w, "effect", taint_effect_names[effect]);
    if (added)
        kjw_time(w, "timeAdded", added);
    kjw_end(w);
}

static void sync_taints(struct nodectl *n, struct batch *b, const struct node *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct wanted want[NWANTED];
    bool changed = false;

    wanted_taints(node, want);
    kjw_obj(&w, NULL);
    meta_write_version(&w, &node->obj);
    kjw_obj(&w, "spec");
    kjw_arr(&w, "taints");
    for (uint32_t i = 0; i < node->spec.taints.n; i++) {
        const struct taint *t = &node->spec.taints.items[i];
        if (!is_ours(want, t))
            write_taint(&w, t->key, t->value, t->effect, t->time_added);
    }
    for (size_t i = 0; i < NWANTED; i++) {
        const struct taint *old = find_taint(&node->spec.taints, want[i].key, want[i].effect);
        changed = changed || want[i].on != (old != NULL);
        if (want[i].on)
            write_taint(&w, want[i].key, old ? old->value : "", want[i].effect,
                        old && old->time_added ? old->time_added : loop_wall(n->c->loop));
    }
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    if (changed)
        batch_patch(b, &node->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* ---- since when ---------------------------------------------------------------------------- */

static const struct seen *find_seen(const struct health *h, const char *key)
{
    vec_foreach(&h->taints, i)
        if (streq(h->taints.items[i].key, key))
            return &h->taints.items[i];
    return NULL;
}

static bool needs_time(const struct taint *t)
{
    return t->effect == TAINT_NO_EXECUTE && !t->time_added;
}

/* kubectl taint writes no timeAdded. */
static void see_taints(struct nodectl *n, const struct node *node)
{
    struct health *h = health_of(n, node->obj.meta.name);

    for (size_t i = h->taints.n; i-- > 0;) {
        const struct taint *t =
            find_taint(&node->spec.taints, h->taints.items[i].key, TAINT_NO_EXECUTE);
        if (t && needs_time(t))
            continue;
        free(h->taints.items[i].key);
        vec_remove(&h->taints, i);
    }
    for (uint32_t i = 0; i < node->spec.taints.n; i++) {
        const struct taint *t = &node->spec.taints.items[i];
        if (needs_time(t) && !find_seen(h, t->key))
            vec_push(&h->taints, ((struct seen){ xstrdup(t->key), loop_wall(n->c->loop) }));
    }
}

taintlist node_taints(struct nodectl *n, const struct node *node, struct arena *a)
{
    const struct health *h = health_of(n, node->obj.meta.name);
    taintlist l = { arena_newn0(a, node->spec.taints.n + 1, struct taint), node->spec.taints.n };

    for (uint32_t i = 0; i < l.n; i++) {
        struct taint *t = &l.items[i];
        *t = node->spec.taints.items[i];
        const struct seen *s = needs_time(t) ? find_seen(h, t->key) : NULL;
        if (s)
            t->time_added = s->since;
    }
    return l;
}

/* ---- sync ---------------------------------------------------------------------------------- */

static void look_at_pods(struct nodectl *n, const char *node)
{
    controller_add_by(n->evictions, n->pods, index_pod_node, node);
}

static bool has_no_execute(const struct node *node)
{
    for (uint32_t i = 0; i < node->spec.taints.n; i++)
        if (node->spec.taints.items[i].effect == TAINT_NO_EXECUTE)
            return true;
    return false;
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct nodectl *n = arg;

    if (!o) {
        health_free(map_removez(&n->health, key));
        return;
    }
    const struct node *node = node_of(o);
    batch_again(b, MAX(LOOK_EVERY, n->c->o.node_grace / 8));
    see_taints(n, node);
    if (is_alive(n, key) || !mark_unknown(n, b, node))
        sync_taints(n, b, node);
    if (!condition_is_true(&node->status.conditions, "Ready"))
        mark_pods_not_ready(n, b, key);
    if (has_no_execute(node))
        look_at_pods(n, key);
}

/* ---- news, life ---------------------------------------------------------------------------- */

static void on_node_delete(void *arg, struct kobj *o)
{
    look_at_pods(arg, o->meta.name);
}

static void on_pod(void *arg, struct kobj *o)
{
    struct nodectl *n = arg;
    const char *name = pod_of(o)->node_name;
    struct kobj *node = str_empty(name) ? NULL : informer_get(n->nodes, name);

    if (!str_empty(name) && (!node || has_no_execute(node_of(node))))
        controller_add_object(n->evictions, o);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (!streq(str_or(pod_of(old)->node_name, ""), str_or(pod_of(o)->node_name, "")))
        on_pod(arg, o);
}

struct nodectl *nodectl_new(struct cluster *c)
{
    static const struct informer_handler nodes = { .on_delete = on_node_delete };
    static const struct informer_handler pods = { .on_add = on_pod, .on_update = on_pod_update };
    const struct workqueue_opts queue = { .concurrency = 8,
                                          .backoff_max = 10 * NSEC_PER_SEC,
                                          .qps = 100 };
    struct nodectl *n = xnew0(struct nodectl);

    n->c = c;
    n->nodes = caches_get(c->caches, &kind_node);
    n->pods = caches_get(c->caches, &kind_pod);
    n->leases = caches_get_some(
        c->caches, &(struct informer_opts){ .kind = &kind_lease, .ns = "kube-node-lease" });
    n->lifecycle = controller_new(
        c->controllers,
        &(struct controller_opts){
            .name = "node", .of = n->nodes, .sync = sync, .self = n, .queue = queue });
    n->evictions =
        controller_new(c->controllers, &(struct controller_opts){ .name = "taint-eviction",
                                                                  .of = n->pods,
                                                                  .sync = evict_sync,
                                                                  .self = n,
                                                                  .queue = queue });
    controller_watch(n->lifecycle, n->nodes, NULL, NULL);
    controller_read(n->lifecycle, n->leases);
    controller_read(n->lifecycle, n->pods);
    controller_watch(n->evictions, n->nodes, &nodes, n);
    controller_watch(n->evictions, n->pods, &pods, n);
    return n;
}

struct nodectl *nodectl_free(struct nodectl *n)
{
    if (!n)
        return NULL;
    controller_free(n->lifecycle);
    controller_free(n->evictions);
    map_foreach(&n->health, e)
        health_free(e->value);
    map_fini(&n->health);
    free(n);
    return NULL;
}
