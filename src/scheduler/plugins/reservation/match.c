/* match.c - may a pod use a reservation? (sched-reservation 3, 7.1) */
#include "scheduler/plugins/reservation/match.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/podresources.h"
#include "api/selector/selector.h"
#include "api/toleration.h"
#include "base/arena.h"

/* ---- owners ---------------------------------------------------------------------------------- */

/* Pods from a watch have no apiVersion: a reference that has one matches none. */
static bool matches_object(const struct object_ref *o, const struct pod *p)
{
    const struct objmeta *m = &p->obj.meta;

    return (kuid_is_empty(o->uid) || kuid_equal(o->uid, m->uid)) &&
           (str_empty(o->name) || streq(o->name, m->name)) &&
           (str_empty(o->ns) || streq(o->ns, str_or(m->ns, ""))) && str_empty(o->api_version);
}

static bool matches_reference(const struct reservation_controller *c, const struct owner_ref *o)
{
    return (!c->controller.set || c->controller.v == o->controller) &&
           (kuid_is_empty(c->uid) || kuid_equal(c->uid, o->uid)) &&
           (str_empty(c->name) || streq(c->name, o->name)) &&
           (str_empty(c->kind) || streq(c->kind, o->kind)) &&
           (str_empty(c->api_version) || streq(c->api_version, o->api_version));
}

static bool matches_controller(const struct reservation_controller *c, const struct pod *p)
{
    if (!str_empty(c->ns) && !streq(c->ns, str_or(p->obj.meta.ns, "")))
        return false;
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (matches_reference(c, &p->obj.meta.owners.items[i]))
            return true;
    return false;
}

bool match_owner(const struct resv *r, const struct pod *p)
{
    for (uint32_t i = 0; i < r->nmatchers; i++) {
        const struct owner_matcher *m = &r->matchers[i];
        if ((!m->object || matches_object(m->object, p)) &&
            (!m->controller || matches_controller(m->controller, p)) &&
            (!m->labels || labelsel_matches(m->labels, &p->obj.meta.labels)))
            return true;
    }
    return false;
}

/* ---- what the pod says ----------------------------------------------------------------------- */

int match_init(struct match *m, const struct pod *p, struct arena *a, struct kerr *err)
{
    const kstrmap *annotations = &p->obj.meta.annotations;

    *m = (struct match){ .ignores = reservation_is_ignored(&p->obj.meta.labels) };
    int r = reservation_affinity_read(annotations, a, &m->affinity, err);
    if (r < 0)
        return kerr_wrap(err, "metadata.annotations[" ANNO_RESERVATION_AFFINITY "]");
    m->has_affinity = r > 0;
    if (m->affinity.required)
        m->terms =
            nodesel_from(&(struct node_selector){ .terms = { m->affinity.required->terms.items,
                                                             m->affinity.required->terms.n } },
                         a);
    r = exact_match_spec_read(annotations, a, &m->exact, err);
    if (r < 0)
        return kerr_wrap(err, "metadata.annotations[" ANNO_EXACT_MATCH_RESERVATION "]");
    if (m->exact.resource_names.n)
        m->requests = pod_requests(p, NULL, a);
    return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Selectors are asked of a node that is named like the reservation, with its labels over the
 * node's. */
static const char *label_of(const struct match *m, const struct resv *r, const struct node *node,
                            const char *key)
{
    const char *v = kstrmap_get(&r->view.object->meta.labels, key);

    return v || m->omit_node_labels || !node ? v : kstrmap_get(&node->obj.meta.labels, key);
}

/* Both are sorted; the second wins. */
static kstrmap merge_labels(const kstrmap *under, const kstrmap *over, struct arena *a)
{
    struct kstrpair *items = arena_newn0(a, under->n + over->n, struct kstrpair);
    uint32_t i = 0, k = 0, n = 0;

    while (i < under->n || k < over->n) {
        int c = i == under->n  ? 1
                : k == over->n ? -1
                               : strcmp(under->items[i].key, over->items[k].key);
        items[n++] = c < 0 ? under->items[i] : over->items[k];
        i += c <= 0;
        k += c >= 0;
    }
    return (kstrmap){ items, n };
}

static bool matches_affinity(const struct match *m, const struct resv *r, const struct node *node)
{
    for (uint32_t i = 0; i < m->affinity.selector.n; i++) {
        const struct kstrpair *want = &m->affinity.selector.items[i];
        const char *has = label_of(m, r, node, want->key);
        if (!has || !streq(has, want->value))
            return false;
    }
    if (!m->terms)
        return true;
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap labels = r->view.object->meta.labels;
    if (!m->omit_node_labels && node)
        labels = merge_labels(&node->obj.meta.labels, &labels, a);
    return nodesel_match(m->terms, &labels, r->view.name) > 0;
}

static bool tolerates_unschedulable(const struct match *m)
{
    static const struct taint t = { .key = "node.kubernetes.io/unschedulable",
                                    .effect = TAINT_NO_SCHEDULE };
    return m->has_affinity && tolerations_tolerate(&m->affinity.tolerations, &t, 0);
}

enum match_verdict match_owned(const struct match *m, const struct resv *r, const struct node *node,
                               const struct taint **ret_taint)
{
    const struct taint *taint = NULL;

    if (!str_empty(m->affinity.name)) {
        if (!streq(m->affinity.name, r->view.name))
            return MATCH_OTHER_NAME;
        return exact_match(&m->exact, &m->requests, r->reserved) ? MATCH_YES : MATCH_NOT_EXACT;
    }
    if (r->unschedulable && !tolerates_unschedulable(m))
        return MATCH_UNSCHEDULABLE;
    if (m->has_affinity)
        taint = taints_untolerated(r->taints, &m->affinity.tolerations, TAINT_HARD_EFFECTS, 0);
    if (taint) {
        *ret_taint = taint;
        return MATCH_TAINTED;
    }
    if (m->has_affinity && !matches_affinity(m, r, node))
        return MATCH_AFFINITY;
    return exact_match(&m->exact, &m->requests, r->reserved) ? MATCH_YES : MATCH_NOT_EXACT;
}
