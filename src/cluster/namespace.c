/* namespace.c - a namespace that is being deleted takes all it holds along.
 *
 * Pods go first: while one is left nothing else is touched, so that what a pod needs until it has
 * ended (its configuration, its claims, policies that shield it) is there that long. Then every
 * kind that the server serves is emptied; when all are found empty in one pass, the finalizer
 * "kubernetes" is removed and the server lets the namespace go. Conditions of its status say what
 * is in the way.
 */
#include <stdio.h>

#include "client/discovery.h"
#include "cluster/internal.h"

#define ROUND_AGAIN (NSEC_PER_SEC)
enum { TRIES = 4 }; /* of a list whose answer gets lost */

struct nsctl {
    struct cluster *c;
    struct controller *controller;
    struct informer *inf;
};
struct told { /* a line of a condition's message */
    struct told *next;
    const char *text;
    size_t n;
};
struct emptied { /* one kind in one pass */
    struct emptying *e;
    struct served_kind *k;
    size_t deletes;          /* under way */
    unsigned tries;          /* of the list */
    bool is_pods, is_second; /* second: the list behind the deletes, which counts */
};
struct emptying { /* one pass over one namespace; in the arena */
    struct nsctl *n;
    const char *name;
    struct kuid uid;
    struct emptied *kinds;
    size_t nkinds, pending;
    bool pods_are_gone;
    struct told *left, *held, *failures; /* by kind, by finalizer, by text */
};

static bool has_ours(const struct ns_doc *d)
{
    for (uint32_t i = 0; i < d->spec.finalizers.n; i++)
        if (streq(d->spec.finalizers.items[i], "kubernetes"))
            return true;
    return false;
}

/* ---- what is in the way -------------------------------------------------------------------- */

/* Sorted, so that the same state has the same message. */
static void tell(struct arena *a, struct told **list, const char *text, size_t n)
{
    struct told **p = list;

    while (*p && strcmp((*p)->text, text) < 0)
        p = &(*p)->next;
    if (*p && streq((*p)->text, text)) {
        (*p)->n += n;
        return;
    }
    struct told *t = arena_new0(a, struct told);
    *t = (struct told){ .next = *p, .text = arena_strdup(a, text), .n = n };
    *p = t;
}

static size_t told_count(const struct told *t)
{
    size_t n = 0;

    for (; t; t = t->next)
        n++;
    return n;
}

static void set(const struct emptying *e, timed_conditionlist *l, const char *type, bool yes,
                const char *reason, const char *message, struct arena *a)
{
    struct timed_condition c = {
        .type = type, .status = yes ? COND_TRUE : COND_FALSE, .reason = reason, .message = message
    };
    conditions_set(l, &c, loop_wall(e->n->c->loop), a);
}

static const char *discovery_text(const struct discovery *d, struct arena *a)
{
    const char *groups;
    size_t n = discovery_failed_groups(d, &groups);

    return n ? arena_printf(a,
                            "Discovery failed for some groups, %zu failing: unable to retrieve the "
                            "complete list of server APIs: %s",
                            n, groups)
             : "The kinds that the server has are not known yet";
}

static const char *failure_text(const struct told *t, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf s = STRBUF_INIT;

    strbuf_appendf(&s, "Failed to delete all resource types, %zu remaining: ", told_count(t));
    for (const struct told *i = t; i; i = i->next)
        strbuf_appendf(&s, "%s%s", i == t ? "" : ", ", i->text);
    return arena_strdup(a, s.data);
}

static const char *told_text(const char *head, const struct told *t, const char *between,
                             struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf s = STRBUF_INIT;

    strbuf_append(&s, head);
    for (const struct told *i = t; i; i = i->next)
        strbuf_appendf(&s, "%s%s %s %zu resource instances", i == t ? "" : ", ", i->text, between,
                       i->n);
    return arena_strdup(a, s.data);
}

static void set_conditions(const struct emptying *e, timed_conditionlist *l, struct arena *a)
{
    const struct discovery *d = e->n->c->discovery;
    bool known = discovery_complete(d);

    set(e, l, "NamespaceDeletionDiscoveryFailure", !known,
        known ? "ResourcesDiscovered" : "DiscoveryFailed",
        known ? "All resources successfully discovered" : discovery_text(d, a), a);
    set(e, l, "NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
        "All legacy kube types successfully parsed", a);
    set(e, l, "NamespaceDeletionContentFailure", e->failures != NULL,
        e->failures ? "ContentDeletionFailed" : "ContentDeleted",
        e->failures ? failure_text(e->failures, a)
                    : "All content successfully deleted, may be waiting on finalization",
        a);
    set(e, l, "NamespaceContentRemaining", e->left != NULL,
        e->left ? "SomeResourcesRemain" : "ContentRemoved",
        e->left ? told_text("Some resources are remaining: ", e->left, "has", a)
                : "All content successfully removed",
        a);
    set(e, l, "NamespaceFinalizersRemaining", e->held != NULL,
        e->held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
        e->held ? told_text("Some content in the namespace has finalizers remaining: ", e->held,
                            "in", a)
                : "All content-preserving finalizers finished",
        a);
}

/* ---- the end of a pass ----------------------------------------------------------------------- */

static void finalize(struct batch *b, const struct emptying *e, const struct kj_val *ns)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *root = kj_mcopy(d, ns), *spec = kj_mobj(d), *list = kj_marr(d);
    struct str key;
    const struct kj_val *v;

    for (struct kj_iter it = kj_iter(kj_path(ns, "spec.finalizers")); kj_next(&it, &key, &v);)
        if (!streq(kj_str_or(v, ""), "kubernetes"))
            kj_mpush(list, kj_mcopy(d, v));
    kj_mset(d, spec, "finalizers", list);
    kj_mset(d, root, "spec", spec);
    kj_mwrite(root, 0, &body);
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_UPDATE,
                                   .kind = &doc_namespace,
                                   .name = e->name,
                                   .subresource = "finalize",
                                   .body = body.data,
                                   .body_len = body.len },
               NULL, NULL);
}

static bool on_current(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct emptying *e = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return err && err->reason == KR_NOT_FOUND;
    const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
    /* Another of the same name may be there by now. */
    if (kuid_equal(kuid_parse(uid, strlen(uid)), e->uid))
        finalize(b, e, kj_root(doc));
    return true;
}

static void read_current(struct batch *b, struct emptying *e)
{
    struct kube_req r = { .verb = KUBE_GET, .kind = &doc_namespace, .name = e->name };
    batch_call(b, &r, on_current, e);
}

static bool on_told(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)r;
    if (!err)
        read_current(b, arg);
    return !err || err->reason == KR_NOT_FOUND;
}

static void finish_pass(struct batch *b, struct emptying *e)
{
    struct kobj *o = informer_get(e->n->inf, e->name);
    bool is_empty = !e->left && !e->failures && discovery_complete(e->n->c->discovery);

    if (!is_empty)
        batch_again(b, ROUND_AGAIN);
    if (!o || !kuid_equal(o->meta.uid, e->uid))
        return;
    struct ns_doc_status now = ns_doc_of(o)->status;
    set_conditions(e, &now.conditions, batch_arena(b));
    bool writes = batch_patch_change(b, o,
                                     &(struct change){ .member = "status",
                                                       .schema = &namespace_status_schema,
                                                       .from = &ns_doc_of(o)->status,
                                                       .to = &now },
                                     is_empty ? on_told : NULL, e);
    if (is_empty && !writes)
        read_current(b, e);
}

/* ---- emptying ------------------------------------------------------------------------------ */

static void begin_others(struct batch *b, struct emptying *e);

static void step(struct batch *b, struct emptying *e)
{
    if (--e->pending > 0)
        return;
    if (!e->pods_are_gone && !e->left && !e->failures)
        begin_others(b, e);
    else
        finish_pass(b, e);
}

static void note_failure(struct batch *b, struct emptied *x, const struct kerr *err)
{
    tell(batch_arena(b), &x->e->failures, err->text, 1);
}

static void list(struct batch *b, struct emptied *x);

static bool on_deleted(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct emptied *x = arg;

    (void)r;
    if (err && err->reason != KR_NOT_FOUND)
        note_failure(b, x, err);
    if (--x->deletes == 0) {
        x->is_second = true;
        list(b, x);
    }
    step(b, x->e);
    return true;
}

static void call_delete(struct batch *b, struct emptied *x, const struct kube_req *r)
{
    x->deletes++;
    x->e->pending++;
    batch_call(b, r, on_deleted, x);
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
        call_delete(b, x, &r);
        return;
    }
    r.verb = KUBE_DELETE;
    for (struct kj_iter it = kj_iter(items); kj_next(&it, &key, &item);) {
        r.name = kj_str(kj_path(item, "metadata.name"));
        call_delete(b, x, &r);
    }
}

static void count_left(struct batch *b, struct emptied *x, const struct kj_val *items)
{
    struct arena *a = batch_arena(b);
    const struct kind *k = &x->k->kind;
    struct str key;
    const struct kj_val *item, *f;

    if (kj_len(items) == 0)
        return;
    tell(a, &x->e->left, arena_printf(a, "%s.%s", k->plural, k->group), kj_len(items));
    for (struct kj_iter it = kj_iter(items); kj_next(&it, &key, &item);)
        for (struct kj_iter fs = kj_iter(kj_path(item, "metadata.finalizers"));
             kj_next(&fs, &key, &f);)
            tell(a, &x->e->held, kj_str_or(f, ""), 1);
}

static bool any_alive(const struct kj_val *items)
{
    struct str key;
    const struct kj_val *item;

    for (struct kj_iter it = kj_iter(items); kj_next(&it, &key, &item);)
        if (!kj_path(item, "metadata.deletionTimestamp"))
            return true;
    return false;
}

static bool on_listed(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct emptied *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr e = { 0 };

    /* A pass asks for every kind there is: it would never succeed where some answers get lost. */
    if (err && err->reason == KR_NONE && ++x->tries < TRIES) {
        list(b, x);
        step(b, x->e);
        return true;
    }
    x->tries = 0;
    if (err && err->reason != KR_NOT_FOUND && err->reason != KR_METHOD_NOT_ALLOWED)
        note_failure(b, x, err);
    else if (!err && kj_parse(r->body, r->n, 0, &doc, &e) < 0)
        note_failure(b, x, &e);
    const struct kj_val *items = doc ? kj_get(kj_root(doc), "items") : NULL;
    /* More than a page: behind those that wait for their finalizers others may live. */
    bool more = doc && *kj_str_or(kj_path(kj_root(doc), "metadata.continue"), "");
    if (!x->is_second && (more || any_alive(items)))
        delete_all(b, x, items);
    else
        count_left(b, x, items);
    step(b, x->e);
    return true;
}

static void list(struct batch *b, struct emptied *x)
{
    x->e->pending++;
    batch_call(b,
               &(struct kube_req){
                   .verb = KUBE_LIST, .kind = &x->k->kind, .ns = x->e->name, .limit = 500 },
               on_listed, x);
}

static void begin_others(struct batch *b, struct emptying *e)
{
    e->pods_are_gone = true;
    e->pending++;
    for (size_t i = 0; i < e->nkinds; i++)
        if (!e->kinds[i].is_pods)
            list(b, &e->kinds[i]);
    step(b, e);
}

static struct emptying *plan(struct nsctl *n, struct batch *b, const struct ns_doc *d)
{
    struct discovery *kinds = n->c->discovery;
    struct arena *a = batch_arena(b);
    struct emptying *e = arena_new0(a, struct emptying);

    e->n = n;
    e->name = arena_strdup(a, d->obj.meta.name);
    e->uid = d->obj.meta.uid;
    e->kinds = arena_newn0(a, discovery_count(kinds) + 1, struct emptied);
    for (size_t i = 0; i < discovery_count(kinds); i++) {
        struct served_kind *k = discovery_at(kinds, i);
        if (!k->kind.namespaced || !k->served || !k->list || !k->delete_one)
            continue;
        bool is_pods = !*k->kind.group && streq(k->kind.plural, "pods");
        e->kinds[e->nkinds++] = (struct emptied){ .e = e, .k = k, .is_pods = is_pods };
    }
    return e;
}

static void begin(struct nsctl *n, struct batch *b, const struct ns_doc *d)
{
    struct emptying *e = plan(n, b, d);

    for (size_t i = 0; i < e->nkinds; i++)
        if (e->kinds[i].is_pods)
            list(b, &e->kinds[i]);
    if (e->pending == 0) /* nothing goes before we know of pods */
        finish_pass(b, e);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct nsctl *n = arg;

    (void)key;
    if (!o || !o->meta.deleted || !has_ours(ns_doc_of(o)))
        return;
    if (discovery_count(n->c->discovery) > 0)
        begin(n, b, ns_doc_of(o));
    else
        batch_again(b, ROUND_AGAIN);
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
