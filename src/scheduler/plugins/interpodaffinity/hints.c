/* hints.c - which events may help a pod that InterPodAffinity rejected (scheduler-core 3.6).
 *
 * More wake than upstream wakes, where its pods would wait in vain until the timeout: a pod that
 * goes counts also when it was in the way of one anti-affinity term among several, when its own
 * anti-affinity was in the way, or when it was the last of a group that ours may now begin.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"

struct pending { /* the pod that waits */
    const struct affinity_self *self;
    struct arena *arena;
    struct podterms terms;
    struct seen_pod pod;
};

static struct seen_pod seen_pod(const struct affinity_self *self, const struct pod *p)
{
    const char *ns = p->obj.meta.ns;
    return (struct seen_pod){ ns, &p->obj.meta.labels, namespace_labels(self->objects, ns) };
}

static struct pending pending_of(const struct affinity_self *self, const struct pod *p,
                                 struct arena *a)
{
    struct pending k = { .self = self, .arena = a, .pod = seen_pod(self, p) };
    struct kerr ignored = { 0 };

    podterms_compile(p, a, &k.terms, &ignored);
    return k;
}

static bool wants(const struct pending *k, const struct pod *other)
{
    struct seen_pod seen = seen_pod(k->self, other);
    return termlist_match_all(&k->terms.affinity, k->pod.ns, &seen);
}

static bool avoids(const struct pending *k, const struct pod *other)
{
    struct seen_pod seen = seen_pod(k->self, other);
    return termlist_match_any(&k->terms.anti, k->pod.ns, &seen);
}

static bool is_avoided_by(const struct pending *k, const struct pod *other)
{
    struct podterms theirs;
    struct kerr ignored = { 0 };

    podterms_compile(other, k->arena, &theirs, &ignored);
    return termlist_match_any(&theirs.anti, other->obj.meta.ns, &k->pod);
}

/* The first pod of a group may go anywhere, as long as nobody of the group is there. */
static bool may_begin_group(const struct pending *k)
{
    return termlist_match_all(&k->terms.affinity, k->pod.ns, &k->pod);
}

static bool worth_pod(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct pod *before = e->before ? pod_of(e->before) : NULL;
    const struct pod *now = e->now ? pod_of(e->now) : NULL;
    const struct pod *other = now ? now : before;

    if (kuid_equal(other->obj.meta.uid, p->obj.meta.uid))
        return true;
    /* A pod that was only assumed has no node in its object yet; its event says it had one. */
    if (e->resource != KS_RES_ASSIGNED_POD && str_empty(other->node_name) &&
        str_empty(other->status.nominated_node_name))
        return false;
    struct pending k = pending_of(self, p, a);
    bool wanted = before && wants(&k, before), wanted_now = now && wants(&k, now);
    if (wanted_now != wanted && (wanted_now || may_begin_group(&k)))
        return true;
    if (before && avoids(&k, before) && !(now && avoids(&k, now)))
        return true;
    return !now && is_avoided_by(&k, before);
}

/* Did the node get a value of the key that it did not have? */
static bool gained(const struct ks_event *e, const char *key)
{
    const char *was = e->before ? kstrmap_get(&e->before->meta.labels, key) : NULL;
    const char *is = kstrmap_get(&e->now->meta.labels, key);
    return is && (!was || !streq(was, is));
}

static bool lost(const struct ks_event *e, const char *key)
{
    const char *was = kstrmap_get(&e->before->meta.labels, key);
    const char *is = kstrmap_get(&e->now->meta.labels, key);
    return was && (!is || !streq(was, is));
}

static bool lost_any(const struct ks_event *e)
{
    const kstrmap *was = &e->before->meta.labels;

    for (uint32_t i = 0; i < was->n; i++)
        if (lost(e, was->items[i].key))
            return true;
    return false;
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct pending k = pending_of(self, p, a);
    const struct termlist *affinity = &k.terms.affinity, *anti = &k.terms.anti;

    for (uint32_t i = 0; i < affinity->n; i++)
        if (gained(e, affinity->items[i].spec->topology_key))
            return true;
    for (uint32_t i = 0; i < anti->n; i++)
        if (!e->before || lost(e, anti->items[i].spec->topology_key))
            return true;
    /* Without terms of its own it was the anti-affinity of others, by keys that we do not know. */
    return affinity->n == 0 && anti->n == 0 && (!e->before || lost_any(e));
}

const struct ks_hint affinity_hints[AFFINITY_HINTS] = {
    { KS_RES_POD, KS_ADD | KS_DELETE | KS_POD_LABEL, worth_pod },
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, worth_node },
};
