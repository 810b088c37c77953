/* handlers.c - news of pods and nodes go to the cache and the queue (scheduler-core 3.8). */
#include "api/dra.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/storage.h"
#include "base/klog.h"
#include "client/informer.h"
#include "controllers/caches.h"
#include "scheduler/engine/internal.h"
#include "scheduler/framework/gates.h"
#include "scheduler/queue/changes.h"

enum role { ROLE_NONE, ROLE_PENDING, ROLE_ASSIGNED, ROLE_FOREIGN };

static enum role role_of(const struct scheduler *s, const struct kobj *o)
{
    const struct pod *p = o ? pod_of(o) : NULL;

    if (!p || pod_is_terminal(p))
        return ROLE_NONE;
    if (!str_empty(p->node_name))
        return ROLE_ASSIGNED;
    if (scheduler_profile(s, p))
        return ROLE_PENDING;
    return s->foreign_nominations ? ROLE_FOREIGN : ROLE_NONE;
}

/* One event for each kind of change. */
static void tell(struct scheduler *s, enum ks_resource resource, uint32_t actions,
                 const struct kobj *before, const struct kobj *now)
{
    struct ks_event e = { resource, actions, before, now, NULL };

    if (resource == KS_RES_OTHER)
        e.kind = now ? now->kind : before->kind;
    if (actions == KS_UPDATE) {
        podqueue_event(s->queue, &e, NULL);
        return;
    }
    for (uint32_t bit = 1; bit < KS_ALL; bit <<= 1) {
        e.action = actions & bit;
        if (e.action)
            podqueue_event(s->queue, &e, NULL);
    }
}

void watch_pod_gone(struct scheduler *s, const struct kobj *pod)
{
    tell(s, KS_RES_ASSIGNED_POD, KS_DELETE, pod, NULL);
}

void watch_room_free(struct scheduler *s, const struct kobj *pod)
{
    struct ks_event e = { KS_RES_ASSIGNED_POD, KS_DELETE, pod, NULL };
    podqueue_event(s->queue, &e, pod);
}

/* It is not ours, or has ended. ended: then, as it was told last; NULL: there is nothing to tell.
 */
static void pod_gone(struct scheduler *s, const struct kobj *pod, const struct kobj *ended)
{
    bool nominated = nominator_remove(s->nominator, pod->meta.uid);

    binding_reject(s, pod->meta.uid, "", "removed");
    consult_drop(s, pod->meta.uid);
    report_drop(s, pod->meta.uid); /* what these had to say too */
    podqueue_remove(s->queue, pod->meta.uid);
    if (ended)
        notify_gone(s, ended);
    bool left = nodecache_remove_pod(s->cache, pod->meta.uid); /* assigned, or assumed */
    if (left)
        KLOG_I(4, "Pod left its node", KV_S("pod", LOG_KEY(pod)));
    if (left || nominated)
        watch_pod_gone(s, pod);
}

static void pod_assigned(struct scheduler *s, const struct kobj *before, struct kobj *pod)
{
    bool was = role_of(s, before) == ROLE_ASSIGNED;

    report_drop(s, pod->meta.uid);
    podqueue_remove(s->queue, pod->meta.uid);
    nominator_remove(s->nominator, pod->meta.uid);
    nodecache_put_pod(s->cache, pod);
    if (!podqueue_listens(s->queue))
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
            binding_reject(s, pod->meta.uid, "", "removed");
            notify_forget(s, pod);
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

/* The server's word on the nominated node, unless ours is newer and not written yet. True: the pod
 * claims a node now that this scheduler did not choose for it. */
static bool nominated(struct scheduler *s, const struct kobj *before, struct kobj *pod)
{
    const char *was = before ? pod_of(before)->status.nominated_node_name : "";
    const char *now = pod_of(pod)->status.nominated_node_name;
    const char *ours = nominator_node(s->nominator, pod->meta.uid);

    /* one that is on its way has its room already */
    if (nodecache_find(s->cache, pod->meta.uid, NULL) == NODECACHE_ASSUMED)
        return false;
    if (streq(was ? was : "", now ? now : "") || (ours && streq(ours, now ? now : "")) ||
        report_nominates(s, pod->meta.uid)) {
        nominator_update(s->nominator, pod);
        return false;
    }
    nominator_set(s->nominator, pod, now);
    if (ours)
        watch_pod_gone(s, pod); /* others may take that room */
    return !str_empty(now);
}

/* A pod of another scheduler, which was nominated or not. */
static void pod_foreign(struct scheduler *s, struct kobj *pod)
{
    const char *now = pod_of(pod)->status.nominated_node_name;
    const char *had = nominator_node(s->nominator, pod->meta.uid);
    bool moves = had && !streq(had, now ? now : "");

    /* One that is on its way had our profile until a reload, and has its room already. */
    if (nodecache_find(s->cache, pod->meta.uid, NULL) == NODECACHE_ASSUMED)
        return;
    if (had && !moves && nominator_is_foreign(s->nominator, pod->meta.uid))
        nominator_update(s->nominator, pod);
    else
        nominator_set_foreign(s->nominator, pod, now);
    if (moves)
        watch_pod_gone(s, pod); /* its room is free */
}

void watch_pod_news(struct scheduler *s, const struct kobj *before, struct kobj *pod)
{
    bool claims;

    /* Deleted and made again while the watch was down: two pods. */
    if (before && !kuid_equal(before->meta.uid, pod->meta.uid)) {
        pod_gone(s, before, before);
        before = NULL;
    }
    if (pod_is_terminal(pod_of(pod))) {
        pod_gone(s, pod, before);
        return;
    }
    notify_pod(s, before, pod);
    switch (role_of(s, pod)) {
    case ROLE_ASSIGNED: pod_assigned(s, before, pod); break;
    case ROLE_PENDING:
        /* Whoever nominated it thinks that it fits. If it does not, its attempt ends the claim,
         * which would keep others out of that room for as long as nothing else brings the pod back:
         * such a claim may be the late write of a scheduler that has died. */
        claims = nominated(s, before, pod);
        pod_pending(s, pod);
        if (claims)
            podqueue_retry(s->queue, pod->meta.uid);
        break;
    case ROLE_FOREIGN: pod_foreign(s, pod); break;
    case ROLE_NONE: pod_gone(s, pod, NULL); break;
    }
}

void watch_pod_end(struct scheduler *s, const struct kobj *last)
{
    pod_gone(s, last, last);
}

static enum ks_resource pod_resource(const struct kobj *pod)
{
    return str_empty(pod_of(pod)->node_name) ? KS_RES_UNSCHEDULABLE_POD : KS_RES_ASSIGNED_POD;
}

static void on_pod_add(void *arg, struct kobj *pod)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, pod_resource(pod), KS_ADD);

    watch_pod_news(s, NULL, pod);
    qmetrics_handled(s->qmetrics, began, pod_resource(pod), KS_ADD, NULL);
}

static void on_pod_update(void *arg, struct kobj *before, struct kobj *pod)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, pod_resource(pod), KS_UPDATE);

    watch_pod_news(s, before, pod);
    qmetrics_handled(s->qmetrics, began, pod_resource(pod), KS_UPDATE, NULL);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, pod_resource(pod), KS_DELETE);

    watch_pod_end(s, pod);
    qmetrics_handled(s->qmetrics, began, pod_resource(pod), KS_DELETE, NULL);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void on_node_add(void *arg, struct kobj *node)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, KS_RES_NODE, KS_ADD);

    nodecache_put_node(s->cache, node);
    services_tell_node(s->services, NULL, node_of(node));
    tell(s, KS_RES_NODE, KS_ADD, NULL, node);
    qmetrics_handled(s->qmetrics, began, KS_RES_NODE, KS_ADD, NULL);
}

static void on_node_update(void *arg, struct kobj *before, struct kobj *node)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, KS_RES_NODE, KS_UPDATE);
    uint32_t changes = node_changes(node_of(before), node_of(node));

    nodecache_put_node(s->cache, node);
    services_tell_node(s->services, node_of(before), node_of(node));
    if (changes)
        tell(s, KS_RES_NODE, changes, before, node);
    qmetrics_handled(s->qmetrics, began, KS_RES_NODE, KS_UPDATE, NULL);
}

static void on_node_delete(void *arg, struct kobj *node)
{
    struct scheduler *s = arg;
    nsec_t began = qmetrics_began(s->qmetrics, KS_RES_NODE, KS_DELETE);

    tell(s, KS_RES_NODE, KS_DELETE, node, NULL);
    services_tell_node(s->services, node_of(node), NULL);
    nodecache_remove_node(s->cache, node->meta.name);
    qmetrics_handled(s->qmetrics, began, KS_RES_NODE, KS_DELETE, NULL);
}

/* ---- what plugins read ----------------------------------------------------------------------- */

static enum ks_resource resource_of(const struct kind *k)
{
    static const struct {
        const struct kind *kind;
        enum ks_resource resource;
    } table[] = {
        { &kind_pv, KS_RES_PV },
        { &kind_pvc, KS_RES_PVC },
        { &kind_storage_class, KS_RES_STORAGE_CLASS },
        { &kind_csi_node, KS_RES_CSI_NODE },
        { &kind_csi_driver, KS_RES_CSI_DRIVER },
        { &kind_csi_storage_capacity, KS_RES_CSI_CAPACITY },
        { &kind_volume_attachment, KS_RES_VOLUME_ATTACHMENT },
        { &kind_resource_claim, KS_RES_RESOURCE_CLAIM },
        { &kind_resource_slice, KS_RES_RESOURCE_SLICE },
        { &kind_device_class, KS_RES_DEVICE_CLASS },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].kind == k)
            return table[i].resource;
    return KS_RES_OTHER;
}

static void on_other_add(void *arg, struct kobj *o)
{
    struct scheduler *s = arg;
    enum ks_resource r = resource_of(o->kind);
    nsec_t began = qmetrics_began(s->qmetrics, r, KS_ADD);

    objects_put(s->objects, o);
    tell(s, r, KS_ADD, NULL, o);
    placeholder_news(s, o);
    qmetrics_handled(s->qmetrics, began, r, KS_ADD, o->kind);
}

static void on_other_update(void *arg, struct kobj *before, struct kobj *o)
{
    struct scheduler *s = arg;
    enum ks_resource r = resource_of(o->kind);
    nsec_t began = qmetrics_began(s->qmetrics, r, KS_UPDATE);

    objects_put(s->objects, o);
    tell(s, r, KS_UPDATE, before, o);
    if (!kuid_equal(before->meta.uid, o->meta.uid))
        placeholder_gone(s, before);
    placeholder_news(s, o);
    qmetrics_handled(s->qmetrics, began, r, KS_UPDATE, o->kind);
}

static void on_other_delete(void *arg, struct kobj *o)
{
    struct scheduler *s = arg;
    enum ks_resource r = resource_of(o->kind);
    nsec_t began = qmetrics_began(s->qmetrics, r, KS_DELETE);

    objects_remove(s->objects, o);
    tell(s, r, KS_DELETE, o, NULL);
    placeholder_gone(s, o);
    qmetrics_handled(s->qmetrics, began, r, KS_DELETE, o->kind);
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool lists(const struct kind *const *kinds, const struct kind *k)
{
    for (; kinds && *kinds; kinds++)
        if (*kinds == k)
            return true;
    return false;
}

/* Every plugin that reads it works without it. */
static bool is_optional(const struct scheduler *s, const struct kind *k)
{
    for (unsigned i = 0; i < s->nprofiles; i++) {
        const struct profile *p = s->profiles[i]->profile;
        for (uint32_t j = 0; j < p->n; j++)
            if (lists(p->slots[j].plugin->kinds, k) && !lists(p->slots[j].plugin->optional, k))
                return false;
    }
    return true;
}

/* All of it is known, or it is not to be had. */
static bool is_settled(const struct scheduler *s, const struct informer *inf)
{
    return informer_synced(inf) || (informer_refused(inf) && is_optional(s, informer_kind(inf)));
}

static void on_synced(void *arg)
{
    struct scheduler *s = arg;
    bool all = informer_synced(s->pods) && informer_synced(s->nodes);

    for (unsigned i = 0; i < s->nothers; i++)
        all = all && is_settled(s, s->others[i]);
    bool was = s->synced;
    s->synced = all;
    if (all && !was && (notify_all(s) || s->unsaid))
        scheduler_recheck_gated(s);
    control_start(s);
    scheduler_wake(s);
}

static bool watched(const struct scheduler *s, const struct kind *k)
{
    for (unsigned i = 0; i < s->nothers; i++)
        if (informer_kind(s->others[i]) == k)
            return true;
    return false;
}

/* Plugins find nothing of this kind. */
static bool left_out(const struct scheduler *s, const struct kind *k)
{
    return lists(s->unwatched, k);
}

static void watch_kind(struct scheduler *s, const struct kind *k)
{
    static const struct informer_handler others = { on_other_add, on_other_update, on_other_delete,
                                                    on_synced, on_synced };

    if (watched(s, k) || left_out(s, k))
        return;
    assert(s->nothers < SCHEDULER_KINDS_MAX);
    struct informer *inf = caches_get(s->caches, k);
    s->others[s->nothers++] = inf;
    informer_add_handler(inf, &others, s);
    s->synced = false; /* until this kind is known too */
}

void watch_kinds(struct scheduler *s)
{
    for (unsigned i = 0; i < s->nprofiles; i++) {
        const struct profile *p = s->profiles[i]->profile;
        for (uint32_t k = 0; k < p->n; k++)
            for (const struct kind *const *kind = p->slots[k].plugin->kinds; kind && *kind; kind++)
                if (ks_reads_kind(p->slots[k].plugin, *kind, s->env.gates))
                    watch_kind(s, *kind);
    }
}

/* It may be ours now. */
static void requeue(struct scheduler *s, struct kobj *pod)
{
    if (role_of(s, pod) != ROLE_PENDING ||
        podqueue_find(s->queue, pod->meta.uid, NULL) != PODQUEUE_NOWHERE)
        return;
    if (nominator_is_foreign(s->nominator, pod->meta.uid))
        nominator_remove(s->nominator, pod->meta.uid);
    (void)nominated(s, NULL, pod);
    pod_pending(s, pod);
}

void watch_requeue(struct scheduler *s)
{
    struct kobj *pod;

    for (size_t it = 0; (pod = podqueue_next(s->queue, &it));)
        if (!scheduler_profile(s, pod_of(pod))) {
            podqueue_remove(s->queue, pod->meta.uid);
            it = 0; /* the queue changed */
        }
    podqueue_new_profiles(s->queue);
    for (size_t it = 0; (pod = informer_next(s->pods, &it));)
        requeue(s, pod);
    for (size_t it = 0; (pod = placeholder_next(s, &it));)
        requeue(s, pod);
}

void watch_init(struct scheduler *s)
{
    static const struct informer_handler pods = { on_pod_add, on_pod_update, on_pod_delete,
                                                  on_synced };
    static const struct informer_handler nodes = { on_node_add, on_node_update, on_node_delete,
                                                   on_synced };

    s->caches = caches_new(s->kube);
    s->pods = caches_get_some(s->caches,
                              &(struct informer_opts){
                                  .kind = &kind_pod,
                                  .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
                              });
    s->nodes = caches_get(s->caches, &kind_node);
    informer_add_handler(s->pods, &pods, s);
    informer_add_handler(s->nodes, &nodes, s);
}

void scheduler_watch(struct scheduler *s)
{
    caches_start(s->caches);
}

void watch_free(struct scheduler *s)
{
    s->caches = caches_free(s->caches);
    s->pods = s->nodes = NULL;
    s->nothers = 0;
}
