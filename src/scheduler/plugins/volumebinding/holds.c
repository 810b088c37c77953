/* holds.c - volumes and claims of pods on their way to a node: no second pod may take them, in
 * whatever profile it is. */
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/volumebinding/internal.h"

static int holds_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct holds *h = xnew0(struct holds);

    (void)args, (void)err;
    h->objects = env->objects;
    h->stock = volstock_new(h);
    *ret = h;
    return 0;
}

static void holds_destroy(void *service)
{
    struct holds *h = service;

    volstock_free(h->stock);
    uidmap_fini(&h->volumes);
    uidmap_fini(&h->claims);
    free(h);
}

const struct ks_service volume_holds_service = {
    .name = "VolumeBinding",
    .create = holds_create,
    .destroy = holds_destroy,
};

static void take_one(struct uidmap *m, struct kobj *obj, struct kobj *claim, const char *node)
{
    struct hold *h = uidmap_get(m, obj->meta.uid);

    if (!h) {
        h = xnew0(struct hold);
        h->obj = kobj_ref(obj);
        h->uid = obj->meta.uid;
        h->claim = claim ? kobj_ref(claim) : NULL;
        h->node = node ? xstrdup(node) : NULL;
        uidmap_put(m, h);
    }
    h->refs++;
}

static void give_one(struct uidmap *m, const struct kobj *obj)
{
    struct hold *h = uidmap_get(m, obj->meta.uid);

    if (!h || --h->refs > 0)
        return;
    uidmap_remove(m, h->uid);
    kobj_unref(h->obj);
    kobj_unref(h->claim);
    free(h->node);
    free(h);
}

void holds_take_volume(struct holds *h, struct kobj *volume, struct kobj *claim)
{
    take_one(&h->volumes, volume, claim, NULL);
    volstock_review(h->stock, volume);
}

void holds_take_claim(struct holds *h, struct kobj *claim, const char *node)
{
    take_one(&h->claims, claim, NULL, node);
}

void holds_give_volume(struct holds *h, const struct kobj *volume)
{
    give_one(&h->volumes, volume);
    volstock_review(h->stock, volume);
}

void holds_give_claim(struct holds *h, const struct kobj *claim)
{
    give_one(&h->claims, claim);
}

const struct hold *holds_volume(const struct holds *h, const struct pv *v)
{
    return h->volumes.n ? uidmap_get(&h->volumes, v->obj.meta.uid) : NULL;
}

const char *holds_node(const struct holds *h, const struct pvc *c)
{
    const struct hold *x = h->claims.n ? uidmap_get(&h->claims, c->obj.meta.uid) : NULL;
    return x ? x->node : NULL;
}
