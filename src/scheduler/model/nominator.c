/* nominator.c - pods that were nominated on a node. There are few at a time. */
#include "scheduler/model/nominator.h"

#include "scheduler/model/uidmap.h"

struct nominee {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    char *node;
    bool foreign;
};
struct nominator {
    struct uidmap pods;
};

struct nominator *nominator_new(void)
{
    return xnew0(struct nominator);
}

static void nominee_free(struct nominee *p)
{
    kobj_unref(p->pod);
    free(p->node);
    free(p);
}

struct nominator *nominator_free(struct nominator *n)
{
    struct nominee *p;

    if (!n)
        return NULL;
    for (size_t it = 0; (p = uidmap_next(&n->pods, &it));)
        nominee_free(p);
    uidmap_fini(&n->pods);
    free(n);
    return NULL;
}

bool nominator_remove(struct nominator *n, struct kuid uid)
{
    struct nominee *p = uidmap_remove(&n->pods, uid);
    if (p)
        nominee_free(p);
    return p != NULL;
}

static void set(struct nominator *n, struct kobj *pod, const char *node, bool foreign)
{
    nominator_remove(n, pod->meta.uid);
    if (str_empty(node))
        return;
    struct nominee *p = xnew0(struct nominee);
    p->uid = pod->meta.uid;
    p->pod = kobj_ref(pod);
    p->node = xstrdup(node);
    p->foreign = foreign;
    uidmap_put(&n->pods, p);
}

void nominator_set(struct nominator *n, struct kobj *pod, const char *node)
{
    set(n, pod, node, false);
}

void nominator_set_foreign(struct nominator *n, struct kobj *pod, const char *node)
{
    set(n, pod, node, true);
}

bool nominator_is_foreign(const struct nominator *n, struct kuid uid)
{
    const struct nominee *p = uidmap_get(&n->pods, uid);
    return p && p->foreign;
}

void nominator_update(struct nominator *n, struct kobj *pod)
{
    struct nominee *p = uidmap_get(&n->pods, pod->meta.uid);
    if (!p)
        return;
    kobj_ref(pod);
    kobj_unref(p->pod);
    p->pod = pod;
    p->uid = pod->meta.uid;
}

const char *nominator_node(const struct nominator *n, struct kuid uid)
{
    const struct nominee *p = uidmap_get(&n->pods, uid);
    return p ? p->node : NULL;
}

size_t nominator_count(const struct nominator *n)
{
    return n->pods.n;
}

struct kobj *nominator_next(const struct nominator *n, size_t *it, const char **ret_node)
{
    const struct nominee *p = uidmap_next(&n->pods, it);
    if (!p)
        return NULL;
    *ret_node = p->node;
    return p->pod;
}
