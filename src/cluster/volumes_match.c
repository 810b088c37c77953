/* volumes_match.c - which PersistentVolume would do for a claim. */
#include "base/qty.h"
#include "cluster/volumes.h"

const char *volume_class(const struct kobj *o, const char *in_spec)
{
    const char *old = meta_annotation(o, ANN_CLASS);
    return *old ? old : str_or(in_spec, "");
}

bool volume_is_for(const struct pv *v, const struct pvc *c)
{
    const struct object_ref *r = v->spec.claim_ref;
    const struct kuid none = { 0 };

    return r && streq(str_or(r->name, ""), c->obj.meta.name) &&
           streq(str_or(r->ns, ""), c->obj.meta.ns) &&
           (kuid_equal(r->uid, none) || kuid_equal(r->uid, c->obj.meta.uid));
}

static bool has_modes(const kstrlist *there, const kstrlist *wanted)
{
    for (uint32_t i = 0; i < wanted->n; i++) {
        bool has = false;
        for (uint32_t k = 0; k < there->n; k++)
            has = has || streq(there->items[k], wanted->items[i]);
        if (!has)
            return false;
    }
    return true;
}

static const char *mode_of(const char *mode)
{
    return str_empty(mode) ? "Filesystem" : mode;
}

static bool is_large_enough(const struct pv *v, const struct pvc *c)
{
    return qty_cmp(reslist_get(&v->spec.capacity, "storage"),
                   reslist_get(&c->spec.requests, "storage")) >= 0;
}

static bool same_mode(const struct pv *v, const struct pvc *c)
{
    return streq(mode_of(v->spec.volume_mode), mode_of(c->spec.volume_mode));
}

const char *volume_mismatch(const struct pv *v, const struct pvc *c)
{
    if (!is_large_enough(v, c))
        return "requested PV is too small";
    if (!streq(volume_class(&v->obj, v->spec.storage_class_name),
               volume_class(&c->obj, c->spec.storage_class_name)))
        return "storageClassName does not match";
    if (!same_mode(v, c))
        return "incompatible volumeMode";
    if (!has_modes(&v->spec.access_modes, &c->spec.access_modes))
        return "incompatible accessMode";
    return NULL;
}

/* A volume that names the claim may be of another class, and is given by its name, not its labels.
 */
static bool is_fit(const struct pv *v, const struct pvc *c)
{
    return is_large_enough(v, c) && same_mode(v, c) &&
           has_modes(&v->spec.access_modes, &c->spec.access_modes);
}

/* Of two that would do: the smaller, then the first by name, so that every look finds the same. */
static bool is_better(const struct pv *a, const struct pv *b)
{
    if (!b)
        return true;
    int order = qty_cmp(reslist_get(&a->spec.capacity, "storage"),
                        reslist_get(&b->spec.capacity, "storage"));
    return order ? order < 0 : strcmp(a->obj.meta.name, b->obj.meta.name) < 0;
}

const struct pv *volume_find(const struct volctl *vc, const struct pvc *c, bool delayed,
                             struct arena *a)
{
    const struct pv *best = NULL, *named = NULL;
    struct labelsel *sel = NULL;
    struct kobj *o;
    size_t it = 0;

    if (c->spec.selector && labelsel_from(c->spec.selector, a, &sel, NULL) < 0)
        return NULL;
    while ((o = informer_next(vc->volumes, &it))) {
        const struct pv *v = pv_of(o);
        if (v->obj.meta.deleted)
            continue;
        if (volume_is_for(v, c)) {
            if (is_fit(v, c) && is_better(v, named))
                named = v;
            continue;
        }
        bool is_free = !v->spec.claim_ref && v->phase && streq(v->phase, "Available");
        if (delayed || !is_free || volume_mismatch(v, c) ||
            (sel && !labelsel_matches(sel, &o->meta.labels)))
            continue;
        best = is_better(v, best) ? v : best;
    }
    return named ? named : best;
}
