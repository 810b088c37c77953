/* changes.c - what changed between two states of an object. */
#include "scheduler/queue/changes.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/podresources.h"
#include "api/toleration.h"
#include "base/arena.h"

static bool shrank(const struct pod *before, const struct pod *now)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct podres_options o = { .use_status = true };
    reslist old = pod_requests(before, &o, a), new = pod_requests(now, &o, a);

    for (uint32_t i = 0; i < old.n; i++) {
        const struct qty *left = reslist_find(&new, old.items[i].name);
        if (!left || qty_cmp(*left, old.items[i].value) < 0)
            return true;
    }
    return false;
}

static bool same_claims(const struct pod_status *a, const struct pod_status *b)
{
    uint32_t n = a->resource_claim_statuses.n;

    if (n != b->resource_claim_statuses.n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct resource_claim_status *x = &a->resource_claim_statuses.items[i],
                                           *y = &b->resource_claim_statuses.items[i];
        if (!streq(x->name, y->name) || !streq(x->claim_name, y->claim_name))
            return false;
    }
    return true;
}

uint32_t pod_changes(const struct pod *before, const struct pod *now)
{
    const struct pod_spec *a = before->spec, *b = now->spec;
    uint32_t bits = 0;

    if (!kstrmap_equal(&before->obj.meta.labels, &now->obj.meta.labels))
        bits |= KS_POD_LABEL;
    /* A resize is seen in the spec or, later, in what the kubelet reports of the containers. */
    if ((a != b || now->status.container_statuses.n) && shrank(before, now))
        bits |= KS_POD_SCALE_DOWN;
    if (a != b && a->scheduling_gates.n && !b->scheduling_gates.n)
        bits |= KS_POD_GATES_GONE;
    if (a != b && a->tolerations.n != b->tolerations.n)
        bits |= KS_POD_TOLERATION;
    if (!same_claims(&before->status, &now->status))
        bits |= KS_POD_CLAIM;
    return bits ? bits : KS_UPDATE;
}

static bool same_conditions(const conditionlist *a, const conditionlist *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct condition *c = condition_find(b, a->items[i].type);
        if (!c || c->status != a->items[i].status)
            return false;
    }
    return true;
}

uint32_t node_changes(const struct node *before, const struct node *now)
{
    uint32_t bits = 0;

    if ((before->spec.unschedulable && !now->spec.unschedulable) ||
        !taints_equal(&before->spec.taints, &now->spec.taints))
        bits |= KS_NODE_TAINT;
    if (!reslist_equal(&before->status.allocatable, &now->status.allocatable))
        bits |= KS_NODE_ALLOCATABLE;
    if (!kstrmap_equal(&before->obj.meta.labels, &now->obj.meta.labels))
        bits |= KS_NODE_LABEL;
    if (!same_conditions(&before->status.conditions, &now->status.conditions))
        bits |= KS_NODE_CONDITION;
    if (!kstrmap_equal(&before->obj.meta.annotations, &now->obj.meta.annotations))
        bits |= KS_NODE_ANNOTATION;
    return bits;
}
