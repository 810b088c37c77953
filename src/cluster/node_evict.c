/* node_evict.c - pods that must leave: NoExecute taints, and nodes that are gone. */
#include "api/toleration.h"
#include "base/num.h"
#include "cluster/node.h"

#define GONE_AFTER (40 * NSEC_PER_SEC) /* a node may come back under its name */

/* When the pod came to its node: a pod that is bound later than the taint was put on has its time
 * from then on. */
static nsec_t arrival(const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");

    if (c && c->status == COND_TRUE && c->last_transition_time)
        return c->last_transition_time;
    return p->status.start_time ? p->status.start_time : p->obj.meta.created;
}

/* The first that matches, as upstream. */
static const struct toleration *find_toleration(const struct pod *p, const struct taint *t)
{
    for (uint32_t i = 0; i < p->spec->tolerations.n; i++)
        if (toleration_tolerates(&p->spec->tolerations.items[i], t, 0))
            return &p->spec->tolerations.items[i];
    return NULL;
}

nsec_t evict_after(const struct pod *p, const taintlist *taints, nsec_t now)
{
    nsec_t least = NSEC_MAX;

    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *t = &taints->items[i];
        if (t->effect != TAINT_NO_EXECUTE)
            continue;
        const struct toleration *tol = find_toleration(p, t);
        if (!tol)
            return 0;
        if (!tol->toleration_seconds.set)
            continue;
        /* The shortest limit counts, beside a toleration without one too, as upstream. */
        nsec_t since = MAX(t->time_added ? t->time_added : now, arrival(p));
        nsec_t until = nsec_after(since, MAX(tol->toleration_seconds.v, (int64_t)0));
        least = MIN(least, i64_sub_sat(until, now));
    }
    return least;
}

static void mark(struct batch *b, const struct pod *p, const char *phase, const char *reason,
                 const char *message)
{
    const struct condition target = {
        .type = "DisruptionTarget", .status = COND_TRUE, .reason = reason, .message = message
    };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    if (phase)
        kjw_str(&w, "phase", phase);
    kjw_arr(&w, "conditions");
    condition_begin(&w, &target, NULL, loop_wall(batch_env(b)->loop));
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &p->obj, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

static void evict(struct nodectl *n, struct batch *b, const struct pod *p)
{
    mark(b, p, NULL, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
    batch_delete(b, &p->obj, &(struct delete_opts){ .grace = -1, .any_version = true }, NULL, NULL);
    n->c->stats.evicted++;
    recorder_event_on(n->c->events, &p->obj, false, "TaintManagerEviction", NULL,
                      "Marking for deletion Pod %s/%s", p->obj.meta.ns, p->obj.meta.name);
}

/* Nobody will ever confirm its end. */
static void collect(struct nodectl *n, struct batch *b, const struct pod *p)
{
    if (!pod_is_terminal(p))
        mark(b, p, "Failed", "DeletionByPodGC", "PodGC: node no longer exists");
    batch_delete(b, &p->obj, &(struct delete_opts){ .grace = 0, .any_version = true }, NULL, NULL);
    n->c->stats.evicted++;
}

/* The cache may lag: only when the server itself knows no such node is the pod collected. */
static bool on_node(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct nodectl *n = arg;
    struct kobj *o = informer_get(n->pods, batch_key(b));

    (void)r;
    if (err && err->reason == KR_NOT_FOUND && o)
        collect(n, b, pod_of(o));
    return err && err->reason == KR_NOT_FOUND;
}

static void check_node(struct nodectl *n, struct batch *b, const struct pod *p, nsec_t now)
{
    nsec_t since = MAX(p->obj.meta.created, p->obj.meta.deleted);
    struct kube_req r = { .verb = KUBE_GET, .kind = &kind_node, .name = p->node_name };

    if (now - since < GONE_AFTER)
        batch_again(b, GONE_AFTER - (now - since));
    else
        batch_call(b, &r, on_node, n);
}

void evict_sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct nodectl *n = arg;
    const struct pod *p = o ? pod_of(o) : NULL;
    nsec_t now = loop_wall(n->c->loop);

    (void)key;
    if (!p || str_empty(p->node_name))
        return;
    struct kobj *node = informer_get(n->nodes, p->node_name);
    if (!node) {
        check_node(n, b, p, now);
    } else if (o->meta.deleted == 0 && !pod_is_terminal(p)) {
        taintlist taints = node_taints(n, node_of(node), batch_arena(b));
        nsec_t left = evict_after(p, &taints, now);
        if (left <= 0)
            evict(n, b, p);
        else if (left < NSEC_MAX)
            batch_again(b, left);
    }
}
