/* volumes_ephemeral.c - claims of generic ephemeral volumes: made for the pod, and gone with it.
 *
 * A claim is called POD-VOLUME and belongs to the pod, so the garbage collector takes it along. The
 * name leaves no room for a second one: whoever repeats a create finds the first.
 */
#include <stdio.h>

#include "cluster/volumes.h"

struct filling { /* of one sync, in the arena of its batch */
    struct volctl *vc;
    const struct kobj *pod;
    const char *volume, *claim;
};

static const char *claim_name(const struct kobj *pod, const char *volume, struct arena *a)
{
    return arena_printf(a, "%s-%s", pod->meta.name, volume);
}

static bool is_of(const struct kobj *claim, const struct kobj *pod)
{
    const struct owner_ref *ref = kobj_controller(claim);
    return ref && kuid_equal(ref->uid, pod->meta.uid);
}

static void tell_failure(struct batch *b, const struct filling *f, const struct kerr *why)
{
    struct kerr err = *why;

    recorder_event_on(f->vc->c->events, f->pod, true, "FailedBinding", NULL,
                      "ephemeral volume %s: %s", f->volume, why->text);
    (void)kerr_wrap(&err, "ephemeral volume %s", f->volume);
    batch_fail(b, &err);
}

/* ---- what is missing ------------------------------------------------------------------------ */

static void write_claim(const struct filling *f, const struct kj_val *template, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *claim = kj_mobj(d), *meta = kj_mobj(d);
    const struct kj_val *labels = kj_path(template, "metadata.labels");
    const struct kj_val *annotations = kj_path(template, "metadata.annotations");

    kj_mset(d, meta, "name", kj_mstr(d, f->claim));
    if (labels)
        kj_mset(d, meta, "labels", kj_mcopy(d, labels));
    if (annotations)
        kj_mset(d, meta, "annotations", kj_mcopy(d, annotations));
    kj_mset(d, meta, "ownerReferences", owner_value(d, f->pod));
    kj_mset(d, claim, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, claim, "kind", kj_mstr(d, "PersistentVolumeClaim"));
    kj_mset(d, claim, "metadata", meta);
    if (kj_get(template, "spec"))
        kj_mset(d, claim, "spec", kj_mcopy(d, kj_get(template, "spec")));
    kj_mwrite(claim, 0, out);
}

/* There already: the cache will show whose it is. */
static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct filling *f = arg;

    (void)r;
    if (!err)
        return true;
    if (err->reason == KR_ALREADY_EXISTS) {
        batch_again(b, NSEC_PER_SEC);
        return true;
    }
    struct kerr why = *err;
    (void)kerr_wrap(&why, "create PVC %s", f->claim);
    tell_failure(b, f, &why);
    return true;
}

static void create(struct batch *b, struct volctl *vc, const struct kobj *pod,
                   const struct kj_val *volume)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct arena *a = batch_arena(b);
    struct filling *f = arena_new0(a, struct filling);
    const struct kj_val *template = kj_path(volume, "ephemeral.volumeClaimTemplate");

    f->vc = vc;
    f->pod = pod;
    f->volume = arena_strdup(a, kj_str_or(kj_get(volume, "name"), ""));
    f->claim = claim_name(pod, f->volume, a);
    if (!template || informer_get(vc->claims, arena_printf(a, "%s/%s", pod->meta.ns, f->claim)))
        return;
    write_claim(f, template, &body);
    batch_create(b, &kind_pvc, pod->meta.ns, &body, on_created, f);
}

static bool on_pod_read(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct filling *f = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    if (err)
        return err->reason == KR_NOT_FOUND;
    if (kj_parse(r->body, r->n, KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return true;
    const struct kj_val *pod = kj_root(doc), *volumes = kj_path(pod, "spec.volumes");
    kuid_format(f->pod->meta.uid, uid, sizeof uid);
    if (!streq(kj_str_or(kj_path(pod, "metadata.uid"), ""), uid) ||
        kj_type(kj_path(pod, "metadata.deletionTimestamp")) > KJ_NULL)
        return true;
    for (size_t i = 0; i < kj_len(volumes); i++)
        create(b, f->vc, f->pod, kj_at(volumes, i));
    return true;
}

/* Caches leave templates out: the pod is read when a claim of it is missing. */
static void fill(struct batch *b, struct volctl *vc, const struct kobj *pod)
{
    struct filling *f = arena_new0(batch_arena(b), struct filling);

    f->vc = vc;
    f->pod = pod;
    batch_call(
        b,
        &(struct kube_req){
            .verb = KUBE_GET, .kind = &kind_pod, .ns = pod->meta.ns, .name = pod->meta.name },
        on_pod_read, f);
}

/* ---- one pod -------------------------------------------------------------------------------- */

void ephemeral_sync(void *arg, struct batch *b, const char *key, struct kobj *pod)
{
    struct volctl *vc = arg;
    struct arena *a = batch_arena(b);
    const volumelist *l = pod ? &pod_of(pod)->volumes : NULL;
    bool lacks = false;

    (void)key;
    if (!pod || pod->meta.deleted)
        return;
    for (uint32_t i = 0; i < l->n; i++) {
        struct filling f = { .vc = vc, .pod = pod, .volume = l->items[i].name };
        struct kerr err = { 0 };
        if (!l->items[i].ephemeral)
            continue;
        f.claim = claim_name(pod, f.volume, a);
        const struct kobj *claim =
            informer_get(vc->claims, arena_printf(a, "%s/%s", pod->meta.ns, f.claim));
        lacks = lacks || !claim;
        if (!claim || is_of(claim, pod))
            continue;
        (void)kerr_set(&err, -EEXIST, "PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                       pod->meta.ns, f.claim, pod->meta.ns, pod->meta.name);
        tell_failure(b, &f, &err);
        return; /* as upstream: the first that cannot be had holds up the rest */
    }
    if (lacks)
        fill(b, vc, pod);
}

/* ---- news ----------------------------------------------------------------------------------- */

static void on_pod(void *arg, struct kobj *o)
{
    struct volctl *vc = arg;
    const volumelist *l = &pod_of(o)->volumes;

    for (uint32_t i = 0; i < l->n && !o->meta.deleted; i++)
        if (l->items[i].ephemeral) {
            controller_add_object(vc->ephemeral_controller, o);
            return;
        }
}

/* Deleted, perhaps by accident: the pod gets another. */
static void on_claim_gone(void *arg, struct kobj *o)
{
    struct volctl *vc = arg;
    kobjvec pods = { 0 };
    char key[KOBJ_KEY_MAX];

    kobj_key(o, key, sizeof key);
    objects_by(vc->pods, index_pod_claims, key, &pods);
    vec_foreach(&pods, i)
        on_pod(vc, pods.items[i]);
    vec_fini(&pods);
}

void ephemeral_watch(struct volctl *vc)
{
    static const struct informer_handler pods = { .on_add = on_pod },
                                         claims = { .on_delete = on_claim_gone };

    controller_watch(vc->ephemeral_controller, vc->pods, &pods, vc);
    controller_watch(vc->ephemeral_controller, vc->claims, &claims, vc);
}
