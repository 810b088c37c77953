/* namespace.c - a namespace that is being deleted takes all it holds along.
 *
 * Every kind that the server serves is emptied; when all are found empty in one pass, the finalizer
 * "kubernetes" is removed and the server lets the namespace go.
 */
#include <stdio.h>

#include "client/discovery.h"
#include "cluster/internal.h"

#define ROUND_AGAIN (NSEC_PER_SEC)

struct nsctl {
    struct cluster *c;
    struct controller *controller;
    struct informer *inf;
};
struct emptied { /* one kind in one pass */
    struct emptying *e;
    struct served_kind *k;
    size_t left;
};
struct emptying { /* one pass over one namespace; in the arena */
    struct nsctl *n;
    const char *name;
    struct kuid uid;
    struct emptied *kinds;
    size_t nkinds, pending;
    struct kerr failure;   /* the first */
    const char *finalizer; /* one that holds an object; NULL: none */
    size_t held;
};

static bool has_ours(const struct ns_doc *d)
{
    for (uint32_t i = 0; i < d->spec.finalizers.n; i++)
        if (streq(d->spec.finalizers.items[i], "kubernetes"))
            return true;
    return false;
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool on_current(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct emptying *e = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *root, *spec, *list = kj_marr(d);
    struct str key;
    const struct kj_val *v;

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return err && err->reason == KR_NOT_FOUND;
    for (struct kj_iter it = kj_iter(kj_path(kj_root(doc), "spec.finalizers"));
         kj_next(&it, &key, &v);)
        if (!streq(kj_str_or(v, ""), "kubernetes"))
            kj_mpush(list, kj_mcopy(d, v));
    root = kj_mcopy(d, kj_root(doc));
    spec = kj_mobj(d);
    kj_mset(d, spec, "finalizers", list);
    kj_mset(d, root, "spec", spec);
    kj_mwrite(root, 0, &body);
    struct kube_req q = { .verb = KUBE_UPDATE,
                          .kind = &doc_namespace,
                          .name = e->name,
                          .subresource = "finalize",
                          .body = body.data,
                          .body_len = body.len };
    batch_call(b, &q, NULL, NULL);
    return true;
}

/* ---- conditions ---------------------------------------------------------------------------- */

static void set(const struct emptying *e, timed_conditionlist *l, const char *type, bool yes,
                const char *reason, const char *message, struct arena *a)
{
    struct timed_condition c = {
        .type = type, .status = yes ? COND_TRUE : COND_FALSE, .reason = reason, .message = message
    };
    conditions_set(l, &c, loop_wall(e->n->c->loop), a);
}

static void set_conditions(const struct emptying *e, timed_conditionlist *l, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf rest = STRBUF_INIT;
    bool known = discovery_complete(e->n->c->discovery);

    set(e, l, "NamespaceDeletionDiscoveryFailure", !known,
        known ? "ResourcesDiscovered" : "DiscoveryFailed",
        known ? "All resources successfully discovered" : "Discovery failed for some groups", a);
    set(e, l, "NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
        "All legacy kube types successfully parsed", a);
    set(e, l, "NamespaceDeletionContentFailure", e->failure.code != 0,
        e->failure.code ? "ContentDeletionFailed" : "ContentDeleted",
        e->failure.code ? e->failure.text
                        : "All content successfully deleted, may be waiting on finalization",
        a);
    for (size_t i = 0; i < e->nkinds; i++)
        if (e->kinds[i].left)
            strbuf_appendf(&rest, "%s%s.%s has %zu resource instances", rest.len ? ", " : "",
                           e->kinds[i].k->kind.plural, e->kinds[i].k->kind.group, e->kinds[i].left);
    set(e, l, "NamespaceContentRemaining", rest.len > 0,
        rest.len ? "SomeResourcesRemain" : "ContentRemoved",
        rest.len ? arena_printf(a, "Some resources are remaining: %s", rest.data)
                 : "All content successfully removed",
        a);
    set(e, l, "NamespaceFinalizersRemaining", e->held > 0,
        e->held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
        e->held ? arena_printf(a,
                               "Some content in the namespace has finalizers remaining: %s "
                               "in %zu resource instances",
                               e->finalizer, e->held)
                : "All content-preserving finalizers finished",
        a);
}

static void finish_pass(struct batch *b, struct emptying *e)
{
    struct kobj *o = informer_get(e->n->inf, e->name);
    size_t left = 0;

    for (size_t i = 0; i < e->nkinds; i++)
        left += e->kinds[i].left;
    if (left == 0 && e->failure.code == 0) {
        struct kube_req r = { .verb = KUBE_GET, .kind = &doc_namespace, .name = e->name };
        batch_call(b, &r, on_current, e);
        return;
    }
    batch_again(b, ROUND_AGAIN);
    if (!o || !kuid_equal(o->meta.uid, e->uid))
        return;
    struct ns_doc_status now = ns_doc_of(o)->status;
    set_conditions(e, &now.conditions, batch_arena(b));
    batch_patch_change(b, o,
                       &(struct change){ .member = "status",
                                         .schema = &namespace_status_schema,
                                         .from = &ns_doc_of(o)->status,
                                         .to = &now },
                       NULL, NULL);
}

/* ---- emptying ------------------------------------------------------------------------------ */

static void step(struct batch *b, struct emptying *e)
{
    if (--e->pending == 0)
        finish_pass(b, e);
}

static void note_failure(struct emptying *e, const struct kerr *err, const struct served_kind *k)
{
    if (e->failure.code)
        return;
    e->failure = *err;
    e->failure.code = err->code ? err->code : -EIO;
    kerr_wrap(&e->failure, "%s", k->kind.plural);
}

static bool on_deleted(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct emptied *x = arg;
    (void)r;
    if (err && err->reason != KR_NOT_FOUND)
        note_failure(x->e, err, x->k);
    step(b, x->e);
    return true;
}

static void delete_all(struct batch *b, struct emptied *x, const struct kj_val *items)
{
    static const char opts[] = "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                               "\"propagationPolicy\":\"Background\"}";
    struct kube_req r = { .verb = KUBE_DELETE_COLLECTION,
                          .kind = &x->k->kind,
                          .ns = x->e->name,
                          .body = opts,
                          .body_len = sizeof opts - 1 };
    struct str key;
    const struct kj_val *item;

    if (x->k->delete_collection) {
        x->e->pending++;
        batch_call(b, &r, on_deleted, x);
        return;
    }
    r.verb = KUBE_DELETE;
    for (struct kj_iter it = kj_iter(items); kj_next(&it, &key, &item);) {
        r.name = kj_str(kj_path(item, "metadata.name"));
        x->e->pending++;
        batch_call(b, &r, on_deleted, x);
    }
}

static void look_through(struct batch *b, struct emptied *x, const struct kj_val *items)
{
    struct str key;
    const struct kj_val *item;
    bool any_alive = false;

    for (struct kj_iter it = kj_iter(items); kj_next(&it, &key, &item);) {
        const struct kj_val *f = kj_path(item, "metadata.finalizers");
        x->left++;
        any_alive = any_alive || !kj_path(item, "metadata.deletionTimestamp");
        if (kj_len(f) > 0) {
            x->e->held++;
            if (!x->e->finalizer)
                x->e->finalizer = arena_strdup(batch_arena(b), kj_str_or(kj_at(f, 0), ""));
        }
    }
    if (any_alive)
        delete_all(b, x, items);
}

static bool on_listed(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct emptied *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr e = { 0 };

    if (err && err->reason != KR_NOT_FOUND && err->reason != KR_METHOD_NOT_ALLOWED)
        note_failure(x->e, err, x->k);
    else if (!err && kj_parse(r->body, r->n, 0, &doc, &e) < 0)
        note_failure(x->e, &e, x->k);
    else if (!err)
        look_through(b, x, kj_get(kj_root(doc), "items"));
    step(b, x->e);
    return true;
}

static void begin(struct nsctl *n, struct batch *b, const struct ns_doc *d)
{
    struct discovery *kinds = n->c->discovery;
    struct arena *a = batch_arena(b);
    struct emptying *e = arena_new0(a, struct emptying);

    e->n = n;
    e->name = arena_strdup(a, d->obj.meta.name);
    e->uid = d->obj.meta.uid;
    e->kinds = arena_newn0(a, discovery_count(kinds) + 1, struct emptied);
    e->pending = 1;
    for (size_t i = 0; i < discovery_count(kinds); i++) {
        struct served_kind *k = discovery_at(kinds, i);
        if (!k->kind.namespaced || !k->served || !k->list || !k->delete_one)
            continue;
        struct emptied *x = &e->kinds[e->nkinds++];
        *x = (struct emptied){ .e = e, .k = k };
        e->pending++;
        batch_call(
            b,
            &(struct kube_req){ .verb = KUBE_LIST, .kind = &k->kind, .ns = e->name, .limit = 500 },
            on_listed, x);
    }
    step(b, e);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct nsctl *n = arg;

    (void)key;
    if (!o || !o->meta.deleted || !has_ours(ns_doc_of(o)))
        return;
    if (discovery_complete(n->c->discovery))
        begin(n, b, ns_doc_of(o));
    else
        batch_again(b, ROUND_AGAIN); /* a kind that we do not know of could remain */
}

/* ---- life ---------------------------------------------------------------------------------- */

static void on_namespace(void *arg, struct kobj *o)
{
    struct nsctl *n = arg;
    if (o->meta.deleted)
        controller_add_object(n->controller, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    /* Our own conditions are news too; the next pass has its time already. */
    if (old->meta.deleted == 0)
        on_namespace(arg, o);
}

struct nsctl *nsctl_new(struct cluster *c)
{
    static const struct informer_handler handler = { .on_add = on_namespace,
                                                     .on_update = on_update };
    struct nsctl *n = xnew0(struct nsctl);

    n->c = c;
    n->inf = caches_get(c->caches, &doc_namespace);
    n->controller =
        controller_new(c->controllers,
                       &(struct controller_opts){ .name = "namespace",
                                                  .of = n->inf,
                                                  .sync = sync,
                                                  .self = n,
                                                  .queue = { .concurrency = 4,
                                                             .backoff_initial = 100 * NSEC_PER_MSEC,
                                                             .backoff_max = 10 * NSEC_PER_SEC } });
    controller_watch(n->controller, n->inf, &handler, n);
    return n;
}

struct nsctl *nsctl_free(struct nsctl *n)
{
    if (!n)
        return NULL;
    controller_free(n->controller);
    free(n);
    return NULL;
}
