/* ds_place.c - where the pods of a DaemonSet belong, and where they are. */
#include "api/toleration.h"
#include "cluster/ds.h"

/* ---- which nodes --------------------------------------------------------------------------- */

size_t ds_tolerations(bool host_network, const struct toleration **ret)
{
    static const struct toleration list[] = {
        { "node.kubernetes.io/not-ready", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_EXECUTE },
        { "node.kubernetes.io/unreachable", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_EXECUTE },
        { "node.kubernetes.io/disk-pressure", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_SCHEDULE },
        { "node.kubernetes.io/memory-pressure", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_SCHEDULE },
        { "node.kubernetes.io/pid-pressure", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_SCHEDULE },
        { "node.kubernetes.io/unschedulable", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_SCHEDULE },
        { "node.kubernetes.io/network-unavailable", "", { 0 }, TOL_OP_EXISTS, TAINT_NO_SCHEDULE },
    };
    *ret = list;
    return ARRAY_LEN(list) - (host_network ? 0 : 1);
}

struct wish { /* of the template */
    const char *node_name;
    struct labelsel *selector;
    struct nodesel *affinity; /* NULL: none */
    tolerationlist tolerations;
};

static bool read_wish(const struct ds *ds, struct wish *w, struct arena *a)
{
    struct pod_template *t = arena_new0(a, struct pod_template);
    const struct toleration *ours;
    uint32_t n = 0;

    if (!ds->spec.template_json ||
        kj_decode_text(&pod_template_schema, ds->spec.template_json, strlen(ds->spec.template_json),
                       0, a, t, NULL) < 0)
        return false;
    *w = (struct wish){ .node_name = str_or(t->spec.node_name, "") };
    w->selector = labelsel_from_map(&t->spec.spec.node_selector, a);
    if (t->spec.spec.affinity && t->spec.spec.affinity->node &&
        t->spec.spec.affinity->node->required)
        w->affinity = nodesel_from(t->spec.spec.affinity->node->required, a);
    size_t more = ds_tolerations(t->spec.spec.host_network, &ours);
    w->tolerations.items = arena_newn0(a, t->spec.spec.tolerations.n + more + 1, struct toleration);
    for (uint32_t i = 0; i < t->spec.spec.tolerations.n; i++)
        w->tolerations.items[n++] = t->spec.spec.tolerations.items[i];
    for (size_t i = 0; i < more; i++)
        w->tolerations.items[n++] = ours[i];
    w->tolerations.n = n;
    return true;
}

static void judge(const struct wish *w, const struct node *n, struct ds_node *out)
{
    const kstrmap *labels = &n->obj.meta.labels;

    out->name = n->obj.meta.name;
    if ((*w->node_name && !streq(w->node_name, out->name)) ||
        !labelsel_matches(w->selector, labels) ||
        (w->affinity && nodesel_match(w->affinity, labels, out->name) != 1))
        return;
    out->should_run = !taints_untolerated(&n->spec.taints, &w->tolerations, TAINT_HARD_EFFECTS, 0);
    out->may_stay =
        !taints_untolerated(&n->spec.taints, &w->tolerations, TAINT_BIT(TAINT_NO_EXECUTE), 0);
}

/* ---- which pods ---------------------------------------------------------------------------- */

/* Of a pod that waits for the scheduler: the node that its affinity names. */
static const char *target_of(const struct pod *p)
{
    const struct affinity *a = p->spec->affinity;
    const struct node_selector *s = a && a->node ? a->node->required : NULL;

    if (!str_empty(p->node_name))
        return p->node_name;
    for (uint32_t i = 0; s && i < s->terms.n; i++) {
        const selreqlist *fields = &s->terms.items[i].match_fields;
        for (uint32_t k = 0; k < fields->n; k++)
            if (streq(fields->items[k].key, "metadata.name") && fields->items[k].values.n == 1)
                return fields->items[k].values.items[0];
    }
    return "";
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct ds_node *)x)->name, ((const struct ds_node *)y)->name);
}

static int by_age(const void *x, const void *y)
{
    const struct kobj *a = *(struct kobj *const *)x, *b = *(struct kobj *const *)y;

    if (a->meta.created != b->meta.created)
        return a->meta.created < b->meta.created ? -1 : 1;
    return strcmp(a->meta.name, b->meta.name);
}

static void place(struct dsview *v, struct kobj *pod)
{
    struct ds_node key = { .name = target_of(pod_of(pod)) };
    struct ds_node *n =
        v->nodes.n ? bsearch(&key, v->nodes.items, v->nodes.n, sizeof key, by_name) : NULL;
    nsec_t wait;

    if (n)
        vec_push(&n->pods, pod);
    else if (!pod->meta.deleted)
        vec_push(&v->lost, pod);
    pod_is_available(pod_of(pod), v->ds->spec.min_ready_seconds * NSEC_PER_SEC, v->now, &wait);
    if (wait)
        v->wait = v->wait ? MIN(v->wait, wait) : wait;
}

void dsview_init(struct dsview *v, const struct ds *ds, struct informer *nodes, const kobjvec *pods,
                 nsec_t now, struct arena *a)
{
    struct wish w = { 0 };
    bool readable = read_wish(ds, &w, a);
    struct kobj *o;
    size_t it = 0;

    *v = (struct dsview){ .ds = ds, .now = now };
    while (readable && (o = informer_next(nodes, &it))) {
        struct ds_node n = { 0 };
        judge(&w, node_of(o), &n);
        vec_push(&v->nodes, n);
    }
    if (v->nodes.n)
        qsort(v->nodes.items, v->nodes.n, sizeof *v->nodes.items, by_name);
    vec_foreach(pods, i)
        place(v, pods->items[i]);
    vec_foreach(&v->nodes, i) {
        kobjvec *list = &v->nodes.items[i].pods;
        if (list->n > 1)
            qsort(list->items, list->n, sizeof *list->items, by_age);
    }
}

void dsview_fini(struct dsview *v)
{
    vec_foreach(&v->nodes, i)
        vec_fini(&v->nodes.items[i].pods);
    vec_fini(&v->nodes);
    vec_fini(&v->lost);
}

bool dsview_is_available(const struct dsview *v, const struct kobj *pod)
{
    nsec_t wait;
    return pod_is_available(pod_of(pod), v->ds->spec.min_ready_seconds * NSEC_PER_SEC, v->now,
                            &wait);
}

bool dsview_is_updated(const struct dsview *v, const struct kobj *pod)
{
    return streq(str_or(kstrmap_get(&pod->meta.labels, LABEL_REVISION), ""), v->hash);
}

/* ---- status -------------------------------------------------------------------------------- */

struct ds_status dsview_status(const struct dsview *v)
{
    struct ds_status t = { .observed_generation = v->ds->obj.meta.generation,
                           .conditions = v->ds->status.conditions };

    vec_foreach(&v->nodes, i) {
        const struct ds_node *n = &v->nodes.items[i];
        t.desired += n->should_run;
        if (n->pods.n == 0)
            continue;
        t.misscheduled += !n->should_run;
        if (!n->should_run)
            continue;
        const struct kobj *oldest = n->pods.items[0];
        t.current++;
        t.ready += pod_is_ready(pod_of(oldest));
        t.available += dsview_is_available(v, oldest);
        t.updated += dsview_is_updated(v, oldest);
    }
    t.unavailable = t.desired - t.available;
    return t;
}
