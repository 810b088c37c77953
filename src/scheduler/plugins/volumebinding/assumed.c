/* assumed.c - what pods on their way to a node will have. */
#include "api/node.h"
#include "scheduler/plugins/volumebinding/internal.h"

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
        if (s->volume)
            holds_take_volume(b->holds, s->volume, s->claim);
        else
            holds_take_claim(b->holds, s->claim, node->obj.meta.name);
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
        if (s->volume)
            holds_give_volume(b->holds, s->volume);
        else
            holds_give_claim(b->holds, s->claim);
        kobj_unref(s->volume);
        kobj_unref(s->claim);
        kobj_unref(s->sent);
    }
    free(r->steps);
    kobj_unref(r->pod);
    kobj_unref(r->node);
    free(r);
}
