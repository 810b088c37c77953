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
        nsec_t s = i64_mul_sat(MAX(tol->toleration_seconds.v, (int64_t)0), NSEC_PER_SEC);
        nsec_t since = MAX(t->time_added ? t->time_added : now, arrival(p));
        least = MIN(least, i64_add_sat(since, s) - now);
    }
    return least;
}

static void mark(struct batch *b, const struct pod *p, const char *phase, const char *reason,
                 const char *message)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    if (phase)
        kjw_str(&w, "phase", phase);
    kjw_arr(&w, "conditions");
    kjw_obj(&w, NULL);
    kjw_str(&w, "type", "DisruptionTarget");
    kjw_str(&w, "status", "True");
    kjw_str(&w, "reason", reason);
    kjw_str(&w, "message", message);
    write_time(&w, "lastTransitionTime", loop_wall(batch_cluster(b)->loop));
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

struct checking { /* in the arena */
    struct nodectl *n;
    const char *key;
};

static bool on_node(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct checking *x = arg;
    struct kobj *o = informer_get(x->n->pods->inf, x->key);

    (void)r;
    if (err && err->reason == KR_NOT_FOUND && o)
        collect(x->n, b, pod_of(o));
    return err && err->reason == KR_NOT_FOUND;
}

void evict_sync(void *arg, const char *key, struct work *w)
{
    struct nodectl *n = arg;
    struct kobj *o = informer_get(n->pods->inf, key);
    struct batch *b = batch_new(n->c, "taint-eviction", key, w);
    const struct pod *p = o ? pod_of(o) : NULL;
    nsec_t now = loop_wall(n->c->loop);

    if (!p || str_empty(p->node_name) || !informer_synced(n->nodes->inf)) {
        if (p && !str_empty(p->node_name))
            batch_again(b, NSEC_PER_SEC);
        batch_close(b);
        return;
    }
    struct kobj *node = informer_get(n->nodes->inf, p->node_name);
    if (!node) {
        nsec_t since = MAX(o->meta.created, o->meta.deleted);
        if (now - since < GONE_AFTER) {
            batch_again(b, GONE_AFTER - (now - since));
        } else {
            struct checking *x = arena_new0(batch_arena(b), struct checking);
            *x = (struct checking){ n, arena_strdup(batch_arena(b), key) };
            batch_call(
                b, &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_node, .name = p->node_name },
                on_node, x);
        }
    } else if (o->meta.deleted == 0 && !pod_is_terminal(p)) {
        taintlist taints = node_taints(n, node_of(node), batch_arena(b));
        nsec_t left = evict_after(p, &taints, now);
        if (left <= 0)
            evict(n, b, p);
        else if (left < NSEC_MAX)
            batch_again(b, left);
    }
    batch_close(b);
}
