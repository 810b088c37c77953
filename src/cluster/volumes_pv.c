/* volumes_pv.c - the phase of PersistentVolumes, and what becomes of them when their claim is gone.
 *
 * Nothing stands behind a volume here: one whose policy is Delete goes with its claim, one that is
 * recycled is free at once, all others keep the claim's name until a person takes it away.
 */
#include "cluster/volumes.h"

static void set_phase(struct batch *b, const struct pv *v, const char *phase)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    if (streq(str_or(v->phase, ""), phase))
        return;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    kjw_str(&w, "phase", phase);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void free_volume(struct batch *b, const struct pv *v)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", v->obj.meta.resource_version);
    kjw_obj(&w, "annotations");
    kjw_null(&w, ANN_BOUND_BY_US);
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_null(&w, "claimRef");
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* The server itself said that its claim is gone. */
static void release(struct batch *b, const struct pv *v)
{
    const char *policy = str_or(v->spec.reclaim_policy, "Retain");

    if (!streq(str_or(v->phase, ""), "Released"))
        set_phase(b, v, "Released");
    else if (v->obj.meta.deleted)
        return;
    else if (streq(policy, "Delete"))
        batch_delete(b, &v->obj, &(struct delete_opts){ .grace = -1 }, NULL, NULL);
    else if (streq(policy, "Recycle"))
        free_volume(b, v);
}

static bool on_claim(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct pv *v = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err && err->reason != KR_NOT_FOUND)
        return false;
    if (!err && kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return true;
    const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
    if (err || !kuid_equal(kuid_parse(uid, strlen(uid)), v->spec.claim_ref->uid))
        release(b, v);
    return true;
}

void volume_sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct volctl *vc = arg;
    const struct pv *v = o ? pv_of(o) : NULL;
    const struct object_ref *ref = v ? v->spec.claim_ref : NULL;
    const struct kuid none = { 0 };

    (void)key;
    if (!v || volume_protect(b, v))
        return;
    if (!ref || kuid_equal(ref->uid, none)) { /* free, or kept for a claim to come */
        set_phase(b, v, "Available");
        return;
    }
    const struct kobj *claim =
        informer_get(vc->claims, arena_printf(batch_arena(b), "%s/%s", str_or(ref->ns, ""),
                                              str_or(ref->name, "")));
    if (claim && kuid_equal(claim->meta.uid, ref->uid)) {
        const char *has = str_or(pvc_of(claim)->spec.volume_name, "");
        if (streq(has, v->obj.meta.name))
            set_phase(b, v, "Bound");
        else if (*has && *meta_annotation(o, ANN_PROVISIONED_BY) &&
                 streq(str_or(v->spec.reclaim_policy, ""), "Delete"))
            release(b, v); /* made for a claim that took another one */
        else if (*has && *meta_annotation(o, ANN_BOUND_BY_US))
            free_volume(b, v); /* the claim took another one */
        return;
    }
    batch_call(
        b,
        &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_pvc, .ns = ref->ns, .name = ref->name },
        on_claim, (void *)(uintptr_t)v);
}
