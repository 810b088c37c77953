/* pod_mutate.c - the steps of the mutating pod webhook (manager 7.2 to 7.4). */
#include "api/pod.h"
#include "api/protocol/device.h"
#include "api/protocol/hint.h"
#include "api/protocol/quota.h"
#include "manager/quota/topology.h"
#include "manager/webhook/pod_view.h"
#include "manager/webhook/profile_steps.h"

/* ---- profiles and what they mean for resources ----------------------------------------------- */

static const char *const native[] = { RES_CPU, RES_MEMORY };

/* Somebody gave both: the native amount wins, and whoever wrote the other would wonder. */
static void warn_overwritten(struct webhook_call *c, const struct pod_container *k,
                             enum priority_class class)
{
    const char *set = limit_ranger_text(tree_meta_get(c->obj, "annotations", ANNO_LIMIT_RANGER));

    for (size_t i = 0; i < ARRAY_LEN(native); i++) {
        const char *extended = resource_of_class(class, native[i]);
        if (resources_have_both(&k->r, native[i], extended))
            webhook_warn(c, "container %s has %s beside %s, which it replaces%s%s", k->name,
                         native[i], extended, *set ? "; a LimitRange of the namespace set: " : "",
                         set);
    }
}

static int translate_overhead(struct webhook_call *c, enum priority_class class)
{
    struct kj_mval *spec = kj_mget(c->obj, "spec");
    struct kerr err = { 0 };
    reslist was, now;

    if (tree_reslist(kj_mget(spec, "overhead"), c->a, &was, &err) < 0)
        return webhook_refuse(c, 400, "spec.overhead: %s", err.text);
    now = reslist_rewrite(&was, class, c->a);
    c->answer->changed |= tree_set_reslist(c->d, spec, "overhead", &was, &now);
    return 0;
}

static int translate(struct webhook_call *c)
{
    enum priority_class class = pod_view_class(c);
    struct pod_view *view;

    if (class != PRIO_BATCH && class != PRIO_MID)
        return 0;
    if (!(view = pod_view_get(c)))
        return -1;
    for (size_t i = 0; i < view->n; i++) {
        struct pod_container *k = &view->containers[i];
        struct resources now = k->r;
        warn_overwritten(c, k, class);
        resources_rewrite(&now, class, c->a);
        pod_view_set(c, k, &now);
    }
    return translate_overhead(c, class);
}

static int by_profiles(struct webhook_call *c)
{
    struct profiles_done done;

    if (c->r->op != WEBHOOK_CREATE)
        return 0;
    if (profiles_run(c, false, &done) < 0)
        return -1;
    if (done.matched == 0 || done.skips_resources ||
        webhook_gate_on(c->w, GATE_SKIP_MUTATING_RESOURCES))
        return 0;
    return translate(c);
}

/* ---- the extended resource spec -------------------------------------------------------------- */

static int extended_spec(struct webhook_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *given = tree_meta_get(c->obj, "annotations", ANNO_EXTENDED_RESOURCES);
    struct kstrpair pair = { ANNO_EXTENDED_RESOURCES, given };
    kstrmap annotations = { &pair, given ? 1 : 0 };
    struct kerr err = { 0 };
    struct pod_view *view;

    if (c->r->op != WEBHOOK_CREATE || webhook_gate_on(c->w, GATE_NO_EXTENDED_SPEC))
        return 0;
    if (!(view = pod_view_get(c)))
        return -1;
    struct container *list = arena_newn0(c->a, view->n + 1, struct container);
    uint32_t n = 0;
    for (size_t i = 0; i < view->n; i++)
        if (!view->containers[i].init)
            list[n++] = (struct container){ .name = view->containers[i].name,
                                            .resources = view->containers[i].r };
    int r = extended_resource_spec_update(list, n, &annotations, c->a, &text, &err);
    if (r < 0)
        return webhook_refuse(c, 500, "failed to get current extended resource spec, err: %s",
                              err.text);
    if (r > 0)
        c->answer->changed |=
            tree_meta_set(c->d, c->obj, "annotations", ANNO_EXTENDED_RESOURCES, strbuf_str(&text));
    return 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int device_spec(struct webhook_call *c)
{
    struct pod_view *view;

    if (c->r->op != WEBHOOK_CREATE || webhook_gate_on(c->w, GATE_NO_DEVICE_SPEC))
        return 0;
    if (!(view = pod_view_get(c)))
        return -1;
    for (size_t i = 0; i < view->n; i++) {
        struct pod_container *k = &view->containers[i];
        struct resources now = k->r;
        if (!k->init && device_resources_fill(&now, c->a))
            pod_view_set(c, k, &now);
    }
    return 0;
}

/* ---- quota trees ----------------------------------------------------------------------------- */

/* The selector of the nodes of the pod's quota tree; NULL: it has none. */
static const struct label_selector *tree_selector(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    const struct quota_topology *t = s->quotas ? s->quotas(s->self) : NULL;
    const char *label = tree_meta_get(c->obj, "labels", LABEL_QUOTA_NAME);
    const struct elasticquota *q = t ? topology_find(t, str_empty(label) ? c->r->ns : label) : NULL;

    if (!q || !*quota_tree_id(&q->obj.meta.labels) || !s->tree_profile)
        return NULL;
    const struct elasticquotaprofile *p =
        s->tree_profile(s->self, quota_tree_id(&q->obj.meta.labels));
    return p ? p->spec.node_selector : NULL;
}

static void push_requirement(struct kj_mdoc *d, struct kj_mval *list, const char *key,
                             const char *op, const char *const *values, uint32_t n)
{
    struct kj_mval *r = kj_mobj(d), *v = kj_marr(d);

    kj_mset(d, r, "key", kj_mstr(d, key));
    kj_mset(d, r, "operator", kj_mstr(d, op));
    for (uint32_t i = 0; i < n; i++)
        kj_mpush(v, kj_mstr(d, values[i]));
    if (n > 0)
        kj_mset(d, r, "values", v);
    kj_mpush(list, r);
}

static struct kj_mval *list_under(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    struct kj_mval *list = kj_mget(obj, key);

    if (kj_mtype(list) != KJ_ARR)
        kj_mset(d, obj, key, list = kj_marr(d));
    return list;
}

static void require_nodes(struct kj_mdoc *d, struct kj_mval *term, const struct label_selector *s)
{
    struct kj_mval *list = list_under(d, term, "matchExpressions");

    for (uint32_t i = 0; i < s->match_labels.n; i++)
        push_requirement(d, list, s->match_labels.items[i].key, "In",
                         &s->match_labels.items[i].value, 1);
    for (uint32_t i = 0; i < s->match_expressions.n; i++) {
        const struct selreq *r = &s->match_expressions.items[i];
        push_requirement(d, list, r->key, selop_names[r->op], r->values.items, r->values.n);
    }
}

/* Pods of a tree run on the nodes of the tree: each term of the required node affinity demands
 * that, too. */
static int tree_affinity(struct webhook_call *c)
{
    const struct label_selector *s;

    if (c->r->op != WEBHOOK_CREATE || !webhook_gate_on(c->w, GATE_QUOTA_TREES) ||
        !(s = tree_selector(c)) || s->match_labels.n + s->match_expressions.n == 0)
        return 0;
    struct kj_mval *affinity = tree_object(c->d, tree_object(c->d, c->obj, "spec"), "affinity");
    struct kj_mval *required = tree_object(c->d, tree_object(c->d, affinity, "nodeAffinity"),
                                           "requiredDuringSchedulingIgnoredDuringExecution");
    struct kj_mval *terms = list_under(c->d, required, "nodeSelectorTerms");
    if (kj_mlen(terms) == 0)
        kj_mpush(terms, kj_mobj(c->d));
    for (size_t i = 0; i < kj_mlen(terms); i++)
        require_nodes(c->d, kj_mat(terms, i), s);
    c->answer->changed = true;
    return 0;
}

const struct webhook_step pod_mutate_steps[] = {
    { "ClusterColocationProfile", by_profiles },
    { "ExtendedResourceSpec", extended_spec },
    { "MultiQuotaTree", tree_affinity },
    { "DeviceResourceSpec", device_spec },
    { NULL, NULL },
};
