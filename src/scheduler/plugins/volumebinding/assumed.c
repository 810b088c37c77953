/* assumed.c - what pods on their way to a node will have: no second pod may take it. */
#include "api/node.h"
#include "scheduler/plugins/volumebinding/internal.h"

static void hold(struct uidmap *m, struct kobj *obj, struct kobj *claim, const char *node)
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

static void release(struct uidmap *m, const struct kobj *obj)
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

const struct hold *assumed_volume(const struct binder *b, const struct pv *v)
{
    return b->volumes.n ? uidmap_get(&b->volumes, v->obj.meta.uid) : NULL;
}

const char *assumed_node(const struct binder *b, const struct pvc *c)
{
    const struct hold *h = b->claims.n ? uidmap_get(&b->claims, c->obj.meta.uid) : NULL;
    return h ? h->node : NULL;
}

static struct kobj *obj_ref(const struct kobj *o)
{
    return kobj_ref((struct kobj *)o);
}

void assumed_new(struct binder *b, const struct volmatch *m, const struct pv *const *choice,
                 const struct pod *p, const struct node *node)
{
    struct assumed *r = xnew0(struct assumed);

    r->pod = obj_ref(&p->obj);
    r->uid = r->pod->meta.uid;
    r->node = obj_ref(&node->obj);
    r->binder = b;
    r->n = m->ndelayed;
    r->steps = xnewn0(r->n, struct step);
    for (uint32_t i = 0; i < r->n; i++) {
        struct step *s = &r->steps[i];
        s->claim = obj_ref(&m->delayed[i].claim->obj);
        s->volume = choice[i] ? obj_ref(&choice[i]->obj) : NULL;
        if (s->volume) {
            hold(&b->volumes, s->volume, s->claim, NULL);
            volstock_review(b->stock, s->volume);
        } else {
            hold(&b->claims, s->claim, NULL, node->obj.meta.name);
        }
    }
    uidmap_put(&b->reservations, r);
}

struct assumed *assumed_find(const struct binder *b, struct kuid pod)
{
    return uidmap_get(&b->reservations, pod);
}

void assumed_free(struct assumed *r)
{
    struct binder *b = r->binder;

    writing_stop(r);
    uidmap_remove(&b->reservations, r->uid);
    for (uint32_t i = 0; i < r->n; i++) {
        struct step *s = &r->steps[i];
        release(s->volume ? &b->volumes : &b->claims, s->volume ? s->volume : s->claim);
        if (s->volume)
            volstock_review(b->stock, s->volume);
        kobj_unref(s->volume);
        kobj_unref(s->claim);
        kobj_unref(s->sent);
    }
    free(r->steps);
    kobj_unref(r->pod);
    kobj_unref(r->node);
    free(r);
}
