/* volumes_keep.c - what is in use is not deleted: finalizers of claims and volumes.
 *
 * A claim is in use while a pod that has a node names it, a volume while it is bound. The finalizer
 * is put on what has none, and taken away when what is to go is not in use any more.
 */
#include <stdio.h>

#include "cluster/volumes.h"

#define CLAIM_FINALIZER  "kubernetes.io/pvc-protection"
#define VOLUME_FINALIZER "kubernetes.io/pv-protection"

static void write_finalizers(struct batch *b, const struct kobj *o, const char *name, bool with)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    meta_finalizer_patch(o, o->meta.resource_version, name, with, &body);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static bool protect(struct batch *b, const struct kobj *o, const char *name, bool in_use)
{
    bool has = meta_has_finalizer(o, name);

    if (o->meta.deleted ? !has || in_use : has)
        return false;
    write_finalizers(b, o, name, !o->meta.deleted);
    return true;
}

void index_pod_claims(const struct kobj *pod, index_emit_fn emit, void *to)
{
    const volumelist *l = &pod_of(pod)->volumes;
    char key[1024];

    for (uint32_t i = 0; i < l->n; i++) {
        const struct pod_volume *v = &l->items[i];
        if (v->claim)
            (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns,
                           str_or(v->claim->claim_name, ""));
        else if (v->ephemeral)
            (void)snprintf(key, sizeof key, "%s/%s-%s", pod->meta.ns, pod->meta.name, v->name);
        else
            continue;
        emit(to, key);
    }
}

bool claim_protect(struct volctl *vc, struct batch *b, const struct kobj *claim)
{
    kobjvec pods = { 0 };
    bool in_use = false;

    if (claim->meta.deleted)
        objects_by(vc->pods, index_pod_claims, batch_key(b), &pods);
    vec_foreach(&pods, i)
        in_use = in_use || !str_empty(pod_of(pods.items[i])->node_name);
    vec_fini(&pods);
    return protect(b, claim, CLAIM_FINALIZER, in_use);
}

bool volume_protect(struct batch *b, const struct pv *v)
{
    return protect(b, &v->obj, VOLUME_FINALIZER, streq(str_or(v->phase, ""), "Bound"));
}
