/* nodefit.c - fit of a pod and a node, from sums that the view keeps. */
#include "descheduler/framework/nodefit.h"

#include "api/selector/selector.h"
#include "api/toleration.h"
#include "base/num.h"

bool kd_fits_affinity(const struct kd_view *v, const struct pod *p, const struct node *n)
{
    const struct kd_where *w = kd_view_where(v, p);

    if (w->selector && !labelsel_matches(w->selector, &n->obj.meta.labels))
        return false;
    return !w->required || nodesel_match(w->required, &n->obj.meta.labels, n->obj.meta.name) == 1;
}

static bool room(const struct kd_view *v, uint32_t node, uint32_t resource, int64_t milli)
{
    int64_t have = kd_view_allocatable(v, node, resource);
    return milli <= i64_sub_sat(have, kd_view_requested(v, node, resource));
}

static bool requests_fit(const struct kd_view *v, const struct pod *p, uint32_t node)
{
    struct kd_amounts a = kd_view_requests(v, p);

    if (!room(v, node, kd_view_resource(v, "pods"), 1000))
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (!room(v, node, a.items[i].resource, a.items[i].milli))
            return false;
    return true;
}

static bool has_text(const kstrlist *l, const char *s)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], s))
            return true;
    return false;
}

bool kd_apart_from(const struct kd_apart *a, const struct pod *p, const struct pod *other)
{
    const struct objmeta *m = &other->obj.meta;

    if (!a->selector || streq(m->name, p->obj.meta.name))
        return false;
    /* namespaceSelector is not looked at, as upstream. */
    if (a->term->namespaces.n ? !has_text(&a->term->namespaces, m->ns)
                              : !streq(m->ns, p->obj.meta.ns))
        return false;
    return labelsel_matches(a->selector, &m->labels);
}

static bool is_kept_away(const struct kd_view *v, const struct pod *p, uint32_t node)
{
    const struct kd_where *w = kd_view_where(v, p);
    const kstrmap *labels = &kd_view_node(v, node)->node->obj.meta.labels;

    if (w->napart == 0)
        return false;
    struct kd_pods pods = kd_view_active(v, node);
    for (uint32_t i = 0; i < w->napart; i++) {
        if (!kstrmap_get(labels, w->apart[i].term->topology_key))
            continue;
        for (uint32_t j = 0; j < pods.n; j++)
            if (kd_apart_from(&w->apart[i], p, pods.items[j]))
                return true;
    }
    return false;
}

bool kd_fits(const struct kd_view *v, const struct pod *p, uint32_t node, enum kd_fit how)
{
    const struct kd_node *n = kd_view_node(v, node);

    if (n->node->spec.unschedulable || !kd_fits_affinity(v, p, n->node) ||
        taints_untolerated(&n->node->spec.taints, &p->spec->tolerations, TAINT_HARD_EFFECTS, 0))
        return false;
    if (how == KD_FIT_KUBE && is_kept_away(v, p, node))
        return false;
    /* On its own node it has its place already. */
    if (how == KD_FIT_KUBE && streq(p->node_name, n->name))
        return true;
    return requests_fit(v, p, node);
}

static bool fits_some(const struct kd_view *v, const struct pod *p, const uint32_t *nodes,
                      uint32_t n, enum kd_fit how, bool other)
{
    uint32_t count = nodes ? n : kd_view_count(v);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = nodes ? nodes[i] : i;
        if (other && streq(p->node_name, kd_view_node(v, node)->name))
            continue;
        if (kd_fits(v, p, node, how))
            return true;
    }
    return false;
}

bool kd_fits_any(const struct kd_view *v, const struct pod *p, const uint32_t *nodes, uint32_t n,
                 enum kd_fit how)
{
    return fits_some(v, p, nodes, n, how, false);
}

bool kd_fits_any_other(const struct kd_view *v, const struct pod *p, const uint32_t *nodes,
                       uint32_t n, enum kd_fit how)
{
    return fits_some(v, p, nodes, n, how, true);
}
