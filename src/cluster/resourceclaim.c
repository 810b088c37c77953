/* resourceclaim.c - claims nobody uses any more: reservation, allocation and finalizer go, in this
 * order.
 */
#include <stdio.h>

#include "cluster/resourceclaim.h"

struct review { /* of the pods that a claim is reserved for; in the arena of the batch */
    struct claimctl *k;
    const struct resource_claim *claim;
    bool *gone; /* by entry of reservedFor */
    uint32_t left;
};
struct question {
    struct review *r;
    uint32_t entry;
};

/* Will never run (again): ended, or deleted before it had a node. */
static bool pod_is_done(const struct pod *p)
{
    return pod_is_terminal(p) || (p->obj.meta.deleted != 0 && str_empty(p->node_name));
}

static void emit_claim(const struct kobj *pod, const char *name, index_emit_fn emit, void *to)
{
    char key[KOBJ_KEY_MAX];

    if (str_empty(name))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns, name);
    emit(to, key);
}

void index_claims(const struct kobj *o, index_emit_fn emit, void *to)
{
    const struct pod *p = pod_of(o);

    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++)
        emit_claim(o, pod_claim_name(p, &p->spec->resource_claims.items[i]), emit, to);
    emit_claim(o, pod_extended_claim(p), emit, to);
}

/* ---- writes -------------------------------------------------------------------------------- */

/* The finalizer goes with the version that our own write to the status made. A claim that the
 * scheduler begins to allocate has the finalizer before it has the allocation: so never without
 * that version. */
static void drop_finalizer(struct batch *b, const struct kobj *o, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (!meta_has_finalizer(o, CLAIM_FINALIZER))
        return;
    meta_finalizer_patch(o, version, CLAIM_FINALIZER, false, &body);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void delete_unused(struct batch *b, struct claimctl *k, const struct kobj *o);

static bool on_freed(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct review *v = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err)
        return err->reason == KR_NOT_FOUND;
    if (kj_parse(r->body, r->n, 0, &doc, NULL) == 0)
        drop_finalizer(b, &v->claim->obj,
                       kj_str_or(kj_path(kj_root(doc), "metadata.resourceVersion"), ""));
    delete_unused(b, v->k, &v->claim->obj);
    return true;
}

static bool on_shortened(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
    return err && err->reason == KR_NOT_FOUND;
}

/* reservedFor without those that are gone; with nobody left the allocation goes as well. */
static void write_status(struct batch *b, struct review *v, uint32_t kept)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    const struct claim_status *s = &v->claim->status;
    char uid[KUID_TEXT_MAX];

    kjw_obj(&w, NULL);
    meta_write_version(&w, &v->claim->obj);
    kjw_obj(&w, "status");
    kjw_arr(&w, "reservedFor");
    for (uint32_t i = 0; i < s->reserved_for.n; i++) {
        const struct claim_consumer *one = &s->reserved_for.items[i];
        if (v->gone[i])
            continue;
        kuid_format(one->uid, uid, sizeof uid);
        kjw_obj(&w, NULL);
        kjw_str(&w, "resource", one->resource);
        kjw_str(&w, "name", one->name);
        kjw_str(&w, "uid", uid);
        kjw_end(&w);
    }
    kjw_end(&w);
    if (kept == 0) {
        kjw_null(&w, "allocation");
        kjw_null(&w, "devices");
    }
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->claim->obj, "status", KUBE_PATCH_MERGE, &body,
                kept ? on_shortened : on_freed, v);
}

/* ---- claims that were made for a pod ------------------------------------------------------- */

static void delete_generated(struct batch *b, const struct kobj *o)
{
    batch_delete(b, o, &(struct delete_opts){ .grace = -1, .any_version = true }, NULL, NULL);
}

/* The server has the last word about who has the pod's name: the cache may show the one before. */
static bool on_owner_answer(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct kobj *o = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    if (err)
        return err->reason == KR_NOT_FOUND;
    kuid_format(kobj_controller(o)->uid, uid, sizeof uid);
    if (kj_parse(r->body, r->n, 0, &doc, NULL) == 0 &&
        !streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), uid), uid))
        delete_generated(b, o);
    return true;
}

/* The pod may stay for long after it has ended; its claim need not. Nor may the claim of a pod
 * whose name another one has by now. A pod that is gone is the garbage collection's business, and
 * so is one that the cache does not show yet. */
static void delete_unused(struct batch *b, struct claimctl *k, const struct kobj *o)
{
    const struct owner_ref *ref = kobj_controller(o);
    char key[KOBJ_KEY_MAX];

    if (!ref || !streq(ref->kind, "Pod") || o->meta.deleted != 0)
        return;
    (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, ref->name);
    struct kobj *pod = informer_get(k->pods, key);
    if (!pod)
        return;
    if (!kuid_equal(pod->meta.uid, ref->uid))
        batch_call(b,
                   &(struct kube_req){
                       .verb = KUBE_GET, .kind = &kind_pod, .ns = o->meta.ns, .name = ref->name },
                   on_owner_answer, (void *)(uintptr_t)o);
    else if (pod_is_done(pod_of(pod)))
        delete_generated(b, o);
}

/* ---- the verdict --------------------------------------------------------------------------- */

static void decide(struct batch *b, struct review *v)
{
    const struct kobj *o = &v->claim->obj;
    uint32_t n = v->claim->status.reserved_for.n, kept = 0;

    for (uint32_t i = 0; i < n; i++)
        kept += !v->gone[i];
    bool unused = kept == 0 && (n > 0 || o->meta.deleted != 0);
    if (kept < n || (unused && v->claim->status.allocation))
        write_status(b, v, kept);
    else if (unused)
        drop_finalizer(b, o, o->meta.resource_version);
    else if (n == 0)
        delete_unused(b, v->k, o);
}

static bool on_pod_answer(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct question *q = arg;
    struct review *v = q->r;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    if (err && err->reason != KR_NOT_FOUND)
        return false; /* nothing is decided without it */
    kuid_format(v->claim->status.reserved_for.items[q->entry].uid, uid, sizeof uid);
    if (err || (kj_parse(r->body, r->n, 0, &doc, NULL) == 0 &&
                !streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""), uid)))
        v->gone[q->entry] = true;
    if (--v->left == 0)
        decide(b, v);
    return true;
}

/* The cache may be behind the scheduler: a pod that it does not show is asked for at the server. */
static void look_at(struct batch *b, struct review *v, uint32_t i)
{
    const struct claim_consumer *one = &v->claim->status.reserved_for.items[i];
    const char *ns = v->claim->obj.meta.ns;
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", ns, one->name);
    struct kobj *pod = informer_get(v->k->pods, key);
    if (pod && kuid_equal(pod->meta.uid, one->uid)) {
        v->gone[i] = pod_is_done(pod_of(pod));
        return;
    }
    struct question *q = arena_new0(batch_arena(b), struct question);
    *q = (struct question){ v, i };
    v->left++;
    batch_call(
        b, &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_pod, .ns = ns, .name = one->name },
        on_pod_answer, q);
}

static bool has_strangers(struct batch *b, const struct claim_status *s)
{
    struct kerr err = { 0 };

    for (uint32_t i = 0; i < s->reserved_for.n; i++) {
        const struct claim_consumer *one = &s->reserved_for.items[i];
        if (str_empty(one->api_group) && streq(one->resource, "pods"))
            continue;
        (void)kerr_set(&err, -EINVAL, "unsupported ReservedFor entry: %s/%s %s",
                       str_or(one->api_group, ""), one->resource, one->name);
        batch_fail(b, &err);
        return true;
    }
    return false;
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct review *v;

    (void)key;
    if (!o || has_strangers(b, &resource_claim_of(o)->status))
        return;
    v = arena_new0(batch_arena(b), struct review);
    *v = (struct review){ .k = arg, .claim = resource_claim_of(o), .left = 1 };
    v->gone = arena_newn0(batch_arena(b), v->claim->status.reserved_for.n + 1, bool);
    for (uint32_t i = 0; i < v->claim->status.reserved_for.n; i++)
        look_at(b, v, i);
    if (--v->left == 0)
        decide(b, v);
}

/* ---- news, life ---------------------------------------------------------------------------- */

static void add_claim(void *to, const char *key)
{
    controller_add(((struct claimctl *)to)->of_claims, key);
}

static void on_pod_gone(void *arg, struct kobj *o)
{
    index_claims(o, add_claim, arg);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (pod_is_done(pod_of(o)) && !pod_is_done(pod_of(old)))
        on_pod_gone(arg, o);
    if (!kuid_equal(old->meta.uid, o->meta.uid))
        on_pod_gone(arg, old);
}

struct claimctl *claimctl_new(struct cluster *c)
{
    static const struct informer_handler pods = { .on_update = on_pod_update,
                                                  .on_delete = on_pod_gone };
    struct claimctl *k = xnew0(struct claimctl);

    k->c = c;
    k->pods = caches_get(c->caches, &kind_pod);
    k->claims = caches_get(c->caches, &kind_resource_claim);
    k->templates = caches_get(c->caches, &kind_resource_claim_template);
    if (c->o.metrics)
        k->metrics = claim_metrics_new(c->o.metrics, k->claims);
    claimctl_init_pods(k);
    k->of_claims =
        controller_new(c->controllers, &(struct controller_opts){ .name = "resourceclaim",
                                                                  .of = k->claims,
                                                                  .sync = sync,
                                                                  .self = k,
                                                                  .queue.concurrency = 16 });
    controller_watch(k->of_claims, k->claims, NULL, NULL);
    controller_watch(k->of_claims, k->pods, &pods, k);
    return k;
}

struct claimctl *claimctl_free(struct claimctl *k)
{
    if (!k)
        return NULL;
    controller_free(k->of_pods);
    controller_free(k->of_claims);
    claim_metrics_free(k->metrics);
    free(k);
    return NULL;
}
