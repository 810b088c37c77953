/* specialclaims.c - claims for extended resources, by the pod for which they were made. */
#include "scheduler/plugins/dynamicresources/specialclaims.h"

#include "api/pod.h"
#include "base/vec.h"

struct made_for { /* a pod; first: its UID */
    struct kuid pod;
    char *pod_text;
    struct vec_of(struct kobj *) claims; /* hardly ever more than one */
};

/* The pod for which the claim was made; NULL: it is a claim like others. */
static const struct owner_ref *pod_of_claim(const struct kobj *claim)
{
    const char *text =
        claim ? kstrmap_get(&claim->meta.annotations, CLAIM_EXTENDED_ANNOTATION) : NULL;

    return text && streq(text, "true") ? kobj_controller(claim) : NULL;
}

static void add(struct specialclaims *s, struct kuid pod, struct kobj *claim)
{
    struct made_for *m = uidmap_get(&s->by_pod, pod);

    if (!m) {
        m = xnew0(struct made_for);
        m->pod = uidmap_own(pod, &m->pod_text);
        uidmap_put(&s->by_pod, m);
    }
    vec_push(&m->claims, kobj_ref(claim));
}

static void made_for_free(struct made_for *m)
{
    vec_foreach(&m->claims, i)
        kobj_unref(m->claims.items[i]);
    vec_fini(&m->claims);
    free(m->pod_text);
    free(m);
}

static void drop(struct specialclaims *s, struct kuid pod, const struct kobj *claim)
{
    struct made_for *m = uidmap_get(&s->by_pod, pod);
    size_t i = 0;

    while (m->claims.items[i] != claim)
        i++;
    kobj_unref(m->claims.items[i]);
    vec_swap_remove(&m->claims, i);
    if (m->claims.n)
        return;
    uidmap_remove(&s->by_pod, pod);
    made_for_free(m);
}

void specialclaims_see(struct specialclaims *s, const struct kobj *before, struct kobj *now)
{
    const struct owner_ref *old = pod_of_claim(before), *new = pod_of_claim(now);

    if (new)
        add(s, new->uid, now);
    if (old)
        drop(s, old->uid, before);
}

const struct resource_claim *specialclaims_of(const struct specialclaims *s, const struct pod *p)
{
    const struct made_for *m = uidmap_get(&s->by_pod, p->obj.meta.uid);
    const struct kobj *first = NULL;

    for (size_t i = 0; m && i < m->claims.n; i++) {
        const struct kobj *o = m->claims.items[i];
        if (streq(o->meta.ns, p->obj.meta.ns) &&
            (!first || strcmp(o->meta.name, first->meta.name) < 0))
            first = o;
    }
    return first ? resource_claim_of(first) : NULL;
}

void specialclaims_fini(struct specialclaims *s)
{
    struct made_for *m;

    for (size_t it = 0; (m = uidmap_next(&s->by_pod, &it));)
        made_for_free(m);
    uidmap_fini(&s->by_pod);
}
