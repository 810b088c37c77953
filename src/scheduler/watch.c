/* watch.c - news of pods and nodes go to the cache and the queue (scheduler-core 3.8). */
#include "api/node.h"
#include "api/pod.h"
#include "client/informer.h"
#include "scheduler/internal.h"
#include "scheduler/queue/changes.h"

enum role { ROLE_NONE, ROLE_PENDING, ROLE_ASSIGNED };

static enum role role_of(const struct scheduler *s, const struct kobj *o)
{
    const struct pod *p = o ? pod_of(o) : NULL;

    if (!p || pod_is_terminal(p))
        return ROLE_NONE;
    if (!str_empty(p->node_name))
        return ROLE_ASSIGNED;
    return scheduler_name_of(s, p) >= 0 ? ROLE_PENDING : ROLE_NONE;
}

/* One event for each kind of change. */
static void tell(struct scheduler *s, enum ks_resource resource, uint32_t actions,
                 const struct kobj *before, const struct kobj *now)
{
    struct ks_event e = { resource, actions, before, now };

    if (actions == KS_UPDATE) {
        podqueue_event(s->queue, &e);
        return;
    }
    for (uint32_t bit = 1; bit < KS_ALL; bit <<= 1) {
        e.action = actions & bit;
        if (e.action)
            podqueue_event(s->queue, &e);
    }
}

void watch_pod_gone(struct scheduler *s, const struct kobj *pod)
{
    tell(s, KS_RES_ASSIGNED_POD, KS_DELETE, pod, NULL);
}

static void pod_gone(struct scheduler *s, const struct kobj *pod)
{
    report_drop(s, pod->meta.uid);
    podqueue_remove(s->queue, pod->meta.uid);
    if (nodecache_remove_pod(s->cache, pod->meta.uid)) /* assigned, or assumed */
        watch_pod_gone(s, pod);
}

static void pod_assigned(struct scheduler *s, const struct kobj *before, struct kobj *pod)
{
    bool was = role_of(s, before) == ROLE_ASSIGNED;

    report_drop(s, pod->meta.uid);
    podqueue_remove(s->queue, pod->meta.uid);
    nodecache_put_pod(s->cache, pod);
    if (podqueue_count(s->queue, PODQUEUE_TURNED_DOWN) + podqueue_count(s->queue, PODQUEUE_GATED) ==
        0)
        return; /* most of the time; kubelets report all the time */
    uint32_t actions = was ? pod_changes(pod_of(before), pod_of(pod)) : KS_ADD;
    tell(s, KS_RES_ASSIGNED_POD, actions, was ? before : NULL, pod);
}

static void pod_pending(struct scheduler *s, struct kobj *pod)
{
    bool known = podqueue_find(s->queue, pod->meta.uid, NULL) != PODQUEUE_NOWHERE;

    if (nodecache_find(s->cache, pod->meta.uid, NULL) == NODECACHE_ASSUMED) {
        /* A state from before our binding. But a pod that is being deleted without a node will
         * not get one any more: the server refuses. */
        if (pod->meta.deleted) {
            nodecache_forget(s->cache, pod->meta.uid);
            podqueue_remove(s->queue, pod->meta.uid);
            watch_pod_gone(s, pod);
        } else if (known) {
            podqueue_put(s->queue, pod); /* in flight: only remembers the new state */
        }
        return;
    }
    if (known || !pod->meta.deleted)
        podqueue_put(s->queue, pod);
}

static void pod_news(struct scheduler *s, const struct kobj *before, struct kobj *pod)
{
    /* Deleted and made again while the watch was down: two pods. */
    if (before && !kuid_equal(before->meta.uid, pod->meta.uid)) {
        pod_gone(s, before);
        before = NULL;
    }
    switch (role_of(s, pod)) {
    case ROLE_ASSIGNED: pod_assigned(s, before, pod); break;
    case ROLE_PENDING: pod_pending(s, pod); break;
    case ROLE_NONE: pod_gone(s, pod); break;
    }
}

static void on_pod_add(void *arg, struct kobj *pod)
{
    pod_news(arg, NULL, pod);
}

static void on_pod_update(void *arg, struct kobj *before, struct kobj *pod)
{
    pod_news(arg, before, pod);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    pod_gone(arg, pod);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void on_node_add(void *arg, struct kobj *node)
{
    struct scheduler *s = arg;
    nodecache_put_node(s->cache, node);
    tell(s, KS_RES_NODE, KS_ADD, NULL, node);
}

static void on_node_update(void *arg, struct kobj *before, struct kobj *node)
{
    struct scheduler *s = arg;
    uint32_t changes = node_changes(node_of(before), node_of(node));
    nodecache_put_node(s->cache, node);
    if (changes)
        tell(s, KS_RES_NODE, changes, before, node);
}

static void on_node_delete(void *arg, struct kobj *node)
{
    struct scheduler *s = arg;
    tell(s, KS_RES_NODE, KS_DELETE, node, NULL);
    nodecache_remove_node(s->cache, node->meta.name);
}

static void on_synced(void *arg)
{
    struct scheduler *s = arg;
    s->synced = informer_synced(s->pods) && informer_synced(s->nodes);
    scheduler_wake(s);
}

void watch_init(struct scheduler *s)
{
    static const struct informer_handler pods = { on_pod_add, on_pod_update, on_pod_delete,
                                                  on_synced };
    static const struct informer_handler nodes = { on_node_add, on_node_update, on_node_delete,
                                                   on_synced };

    s->pods =
        informer_new(s->kube, &(struct informer_opts){
                                  .kind = &kind_pod,
                                  .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
                              });
    s->nodes = informer_new(s->kube, &(struct informer_opts){ .kind = &kind_node });
    informer_add_handler(s->pods, &pods, s);
    informer_add_handler(s->nodes, &nodes, s);
}
