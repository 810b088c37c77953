/* podgc.c - pods that have ended stay for people to look at; too many of them do not. */
#include "cluster/internal.h"

#define LOOK_EVERY (20 * NSEC_PER_SEC)
enum { DELETES_A_SYNC = 500 };

struct podgc {
    struct cluster *c;
    struct workqueue *queue; /* one key */
    struct shared *pods;
    size_t keep;
};

static bool is_evicted(const struct pod *p)
{
    return p->status.phase == POD_FAILED && streq(str_or(p->status.reason, ""), "Evicted");
}

/* Evicted ones first, as upstream, then the oldest. */
static int by_worth(const void *a, const void *b)
{
    const struct kobj *x = *(struct kobj *const *)a, *y = *(struct kobj *const *)b;
    bool ex = is_evicted(pod_of(x)), ey = is_evicted(pod_of(y));

    if (ex != ey)
        return ex ? -1 : 1;
    if (x->meta.created != y->meta.created)
        return x->meta.created < y->meta.created ? -1 : 1;
    int r = strcmp(x->meta.ns, y->meta.ns);
    return r ? r : strcmp(x->meta.name, y->meta.name);
}

static void collect(struct podgc *g, struct batch *b)
{
    kobjvec ended = { 0 };
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(g->pods->inf, &it)))
        if (pod_is_terminal(pod_of(o)) && o->meta.deleted == 0)
            vec_push(&ended, o);
    size_t surplus = ended.n > g->keep ? ended.n - g->keep : 0;
    if (surplus)
        qsort(ended.items, ended.n, sizeof *ended.items, by_worth);
    for (size_t i = 0; i < MIN(surplus, (size_t)DELETES_A_SYNC); i++)
        batch_delete(b, ended.items[i], &(struct delete_opts){ .grace = 0, .any_version = true },
                     NULL, NULL);
    g->c->stats.collected += MIN(surplus, (size_t)DELETES_A_SYNC);
    batch_again(b, surplus > DELETES_A_SYNC ? NSEC_PER_SEC : LOOK_EVERY);
    vec_fini(&ended);
}

static void sync(void *arg, const char *key, struct work *w)
{
    struct podgc *g = arg;
    struct batch *b = batch_new(g->c, "podgc", key, w);

    if (informer_synced(g->pods->inf))
        collect(g, b);
    else
        batch_again(b, LOOK_EVERY);
    batch_close(b);
}

struct podgc *podgc_new(struct cluster *c)
{
    struct podgc *g = xnew0(struct podgc);

    g->c = c;
    g->keep = c->o.ended_pods_max ? c->o.ended_pods_max : 12500;
    g->pods = cluster_pods(c);
    g->queue = workqueue_new(
        c->loop, &(struct workqueue_opts){ .name = "podgc", .backoff_max = LOOK_EVERY }, sync, g);
    workqueue_add_after(g->queue, "pods", LOOK_EVERY);
    return g;
}

struct podgc *podgc_free(struct podgc *g)
{
    if (!g)
        return NULL;
    workqueue_free(g->queue);
    free(g);
    return NULL;
}
