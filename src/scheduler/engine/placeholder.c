/* placeholder.c - pods in place of objects that get nodes like pods (framework/service.h).
 *
 * They follow the objects of their kind, and take the same way as news of pods do.
 */
#include "api/pod.h"
#include "client/informer.h"
#include "scheduler/engine/internal.h"

struct placeholder {
    struct kuid uid; /* first: uidmap; of the object and of the pod */
    struct kobj *pod;
    const struct ks_service *service; /* that made it */
};

/* The service that knows how to make them; NULL: there is none for this kind. */
static const struct service_instance *maker(const struct scheduler *s, const struct kind *k,
                                            const struct service_instance *except)
{
    const struct service_instance *i = service_table_first(s->services);

    while (i && (i == except || !i->key->placeholder || i->key->placeholder->kind != k))
        i = i->next;
    return i;
}

bool placeholder_is_made(const struct scheduler *s, const struct kind *k)
{
    return maker(s, k, NULL);
}

static void drop(struct scheduler *s, struct placeholder *p)
{
    uidmap_remove(&s->placeholders, p->uid);
    watch_pod_end(s, p->pod);
    kobj_unref(p->pod);
    free(p);
}

void placeholder_gone(struct scheduler *s, const struct kobj *object)
{
    struct placeholder *p = uidmap_get(&s->placeholders, object->meta.uid);

    if (p)
        drop(s, p);
}

void placeholder_news(struct scheduler *s, const struct kobj *object)
{
    const struct service_instance *i = maker(s, object->kind, NULL);
    struct kobj *pod = i ? i->key->placeholder->pod(i->self, object) : NULL;
    struct placeholder *p = uidmap_get(&s->placeholders, object->meta.uid);
    CLEANUP(kobj_unref) struct kobj *before = NULL;

    if (!pod) {
        placeholder_gone(s, object);
        return;
    }
    assert(kuid_equal(pod->meta.uid, object->meta.uid));
    if (!p) {
        p = xnew0(struct placeholder);
        p->uid = pod->meta.uid;
        uidmap_put(&s->placeholders, p);
    }
    before = p->pod;
    *p = (struct placeholder){ pod->meta.uid, pod, i->key };
    watch_pod_news(s, before, pod);
}

/* A service is new: its objects may be known already. */
void placeholder_refresh(struct scheduler *s)
{
    const struct kobj *o;

    for (unsigned i = 0; i < s->nothers; i++)
        if (maker(s, informer_kind(s->others[i]), NULL))
            for (size_t it = 0; (o = informer_next(s->others[i], &it));)
                if (!uidmap_get(&s->placeholders, o->meta.uid))
                    placeholder_news(s, o);
}

void placeholder_service_ends(struct scheduler *s, const struct service_instance *ends)
{
    struct placeholder *p;

    if (!ends->key->placeholder || maker(s, ends->key->placeholder->kind, ends))
        return;
    for (size_t it = 0; (p = uidmap_next(&s->placeholders, &it));) {
        if (p->service != ends->key)
            continue;
        drop(s, p);
        it = 0; /* the map changed */
    }
}

struct kobj *placeholder_next(const struct scheduler *s, size_t *it)
{
    const struct placeholder *p = uidmap_next(&s->placeholders, it);
    return p ? p->pod : NULL;
}

struct kobj *placeholder_find(const struct scheduler *s, struct kuid uid)
{
    const struct placeholder *p = uidmap_get(&s->placeholders, uid);
    return p ? p->pod : NULL;
}

bool placeholder_stays(const struct scheduler *s, struct kuid uid)
{
    const struct placeholder *p = uidmap_get(&s->placeholders, uid);
    return p && p->service->placeholder->stays;
}

void placeholder_free_all(struct scheduler *s)
{
    struct placeholder *p;

    for (size_t it = 0; (p = uidmap_next(&s->placeholders, &it));) {
        kobj_unref(p->pod);
        free(p);
    }
    uidmap_fini(&s->placeholders);
    s->placeholders = (struct uidmap){ 0 };
}
