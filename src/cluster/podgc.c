/* podgc.c - pods that have ended stay for people to look at; too many of them do not. */
#include "cluster/internal.h"

#define LOOK_EVERY (20 * NSEC_PER_SEC)
enum { DELETES_A_SYNC = 500 };

struct podgc {
    struct cluster *c;
    struct controller *looks; /* one key */
    struct informer *pods;
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

    while ((o = informer_next(g->pods, &it)))
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

static void sync(void *arg, struct batch *b, const char *key, struct kobj *obj)
{
    (void)key, (void)obj;
    collect(arg, b);
}

static void start(void *arg)
{
    struct podgc *g = arg;
    controller_add_after(g->looks, "pods", LOOK_EVERY);
}

struct podgc *podgc_new(struct cluster *c)
{
    struct podgc *g = xnew0(struct podgc);

    g->c = c;
    g->keep = c->o.ended_pods_max ? c->o.ended_pods_max : 12500;
    g->pods = caches_get(c->caches, &kind_pod);
    g->looks = controller_new(c->controllers,
                              &(struct controller_opts){ .name = "podgc",
                                                         .sync = sync,
                                                         .start = start,
                                                         .self = g,
                                                         .queue.backoff_max = LOOK_EVERY });
    controller_read(g->looks, g->pods);
    return g;
}

struct podgc *podgc_free(struct podgc *g)
{
    if (!g)
        return NULL;
    controller_free(g->looks);
    free(g);
    return NULL;
}
