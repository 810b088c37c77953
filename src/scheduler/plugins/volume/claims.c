/* claims.c - a pod's volumes and the claims behind them. */
#include "scheduler/plugins/volume/claims.h"

#include <stdio.h>

#include "scheduler/model/objects.h"

const struct pv *claims_pv(const struct objects *w, const char *name)
{
    const struct kobj *o = objects_get(w, &kind_pv, NULL, name);
    return o ? pv_of(o) : NULL;
}

const struct storage_class *claims_class(const struct objects *w, const char *name)
{
    const struct kobj *o = objects_get(w, &kind_storage_class, NULL, name);
    return o ? storage_class_of(o) : NULL;
}

const char *claim_name(const struct pod *p, const struct pod_volume *v, char *buf)
{
    if (v->claim)
        return v->claim->claim_name;
    (void)snprintf(buf, CLAIM_NAME_MAX, "%s-%s", p->obj.meta.name, v->name);
    return buf;
}

const struct pvc *claim_find(const struct objects *w, const struct pod *p,
                             const struct pod_volume *v)
{
    char buf[CLAIM_NAME_MAX];
    const struct kobj *o = objects_get(w, &kind_pvc, p->obj.meta.ns, claim_name(p, v, buf));
    return o ? pvc_of(o) : NULL;
}

bool claim_is_for(const struct pvc *c, const struct pod *p, const struct pod_volume *v)
{
    const struct owner_ref *owner = kobj_controller(&c->obj);
    return !v->ephemeral || (owner && kuid_equal(owner->uid, p->obj.meta.uid));
}

bool claim_is_used(const struct kobj *claim, const struct pod *p, bool ephemeral)
{
    char buf[CLAIM_NAME_MAX];

    if (!streq(claim->meta.ns, p->obj.meta.ns))
        return false;
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        if ((v->claim || (ephemeral && v->ephemeral)) &&
            streq(claim->meta.name, claim_name(p, v, buf)))
            return true;
    }
    return false;
}

const char *pvc_class(const struct pvc *c)
{
    const char *old = kstrmap_get(&c->obj.meta.annotations, ANN_STORAGE_CLASS);
    return old ? old : str_or(c->spec.storage_class_name, "");
}

const char *pv_class(const struct pv *v)
{
    const char *old = kstrmap_get(&v->obj.meta.annotations, ANN_STORAGE_CLASS);
    return old ? old : str_or(v->spec.storage_class_name, "");
}

bool pvc_is_bound(const struct pvc *c)
{
    return !str_empty(c->spec.volume_name) &&
           kstrmap_get(&c->obj.meta.annotations, ANN_BIND_COMPLETED);
}

bool access_has(const kstrlist *modes, const char *mode)
{
    for (uint32_t i = 0; i < modes->n; i++)
        if (streq(modes->items[i], mode))
            return true;
    return false;
}

bool pv_is_bound_to(const struct pv *v, const struct pvc *c)
{
    const struct object_ref *r = v->spec.claim_ref;
    return r && streq(str_or(r->name, ""), c->obj.meta.name) &&
           streq(str_or(r->ns, ""), c->obj.meta.ns) &&
           (kuid_is_empty(r->uid) || kuid_equal(r->uid, c->obj.meta.uid));
}

void claim_missing(struct ks_texts *why, const char *name)
{
    ks_texts_addf(why, "persistentvolumeclaim \"%s\" not found", name);
}

void claim_foreign(struct ks_texts *why, const struct pvc *c, const struct pod *p)
{
    ks_texts_addf(why, "PVC %s/%s was not created for pod %s/%s (pod is not owner)", c->obj.meta.ns,
                  c->obj.meta.name, p->obj.meta.ns, p->obj.meta.name);
}
