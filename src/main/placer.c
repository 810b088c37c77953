/* placer.c - a cluster of objects from caches, and the scheduler's attempt on it. */
#include "main/placer.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "controllers/caches.h"
#include "loop/loop.h"
#include "scheduler/config/config.h"
#include "scheduler/observe/explain/whatif.h"

#define FRESH (3 * NSEC_PER_SEC)

struct placer {
    struct loop *loop;
    struct kube *kube;
    struct kd_placer ops;
    struct config *config; /* profiles of schedulers */
    struct caches *caches; /* NULL: nobody has asked yet */
    struct arena *arena;   /* of the profile under way */
    struct whatif *whatif;
    char *scheduler; /* whose profile that is */
    nsec_t made;
    char node[256]; /* of the last answer */
};

/* ---- the cluster ------------------------------------------------------------------------------ */

static void forget(struct placer *p)
{
    p->whatif = whatif_free(p->whatif);
    p->arena = arena_free(p->arena);
    free(p->scheduler);
    p->scheduler = NULL;
}

/* The pods that are asked about have a node, which must not count. */
static void leave_out_node_name(struct profile_config *c, struct arena *a)
{
    for (int i = 0; i < KS_POINTS; i++) {
        struct profile_set *s = &c->points[i];
        struct profile_entry *items = arena_newn0(a, s->n, struct profile_entry);
        uint32_t n = 0;
        for (uint32_t j = 0; j < s->n; j++)
            if (!streq(s->items[j].plugin, "NodeName"))
                items[n++] = s->items[j];
        *s = (struct profile_set){ items, n };
    }
}

static struct profile_config profile_of(const struct placer *p, const char *name, struct arena *a)
{
    const struct sched_config *c = p->config->value;

    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (streq(c->made[i].scheduler_name, name))
            return c->made[i];
    return profile_config_default(ks_registry, name, a);
}

/* A kind that the server lacks, or does not show us, is as good as empty. */
static bool is_known(const struct informer *inf)
{
    return informer_synced(inf) || informer_refused(inf);
}

static int add_all(struct placer *p, const struct kind *k, struct kerr *err)
{
    struct informer *inf = caches_get(p->caches, k);
    size_t it = 0;
    struct kobj *o;

    if (!is_known(inf))
        return kerr_set(err, -EAGAIN, "%s are not known yet", k->plural);
    while ((o = informer_next(inf, &it))) {
        bool ended = k == &kind_pod && pod_is_terminal(pod_of(o));
        struct kerr bad = { 0 };
        if (!ended)
            (void)whatif_add(p->whatif, o, &bad); /* a malformed object must not stop the others */
    }
    return 0;
}

static int make(struct placer *p, const char *scheduler, struct kerr *err)
{
    const struct kind *k;

    forget(p);
    p->arena = arena_new();
    p->scheduler = xstrdup(scheduler);
    struct profile_config profile = profile_of(p, scheduler, p->arena);
    leave_out_node_name(&profile, p->arena);
    p->whatif = whatif_new(&profile, ks_registry, err);
    if (!p->whatif)
        return err->code;
    int r = add_all(p, &kind_node, err);
    if (r == 0)
        r = add_all(p, &kind_pod, err);
    for (unsigned i = 0; (k = whatif_kind(p->whatif, i)); i++) {
        int e = add_all(p, k, err); /* asks for all of them, so that all come at once */
        r = r == 0 ? e : r;
    }
    p->made = loop_mono(p->loop);
    return r;
}

/* ---- the answer ------------------------------------------------------------------------------- */

static void choose(struct placer *p, const struct whatif_result *r, const char *own,
                   struct kd_placement *ret)
{
    const struct whatif_node *best = NULL;

    for (uint32_t i = 0; i < r->nnodes; i++) {
        const struct whatif_node *n = &r->nodes[i];
        if (n->code == KS_SUCCESS && !streq(n->name, own) && (!best || n->total > best->total))
            best = n;
    }
    *ret = (struct kd_placement){ 0 };
    if (best) {
        (void)snprintf(p->node, sizeof p->node, "%s", best->name);
        ret->node = p->node;
    } else {
        (void)snprintf(ret->why, sizeof ret->why, "%s",
                       str_or(r->message, "only its own node would take it"));
    }
}

static int place(void *arg, const struct pod *pod, struct kd_placement *ret)
{
    struct placer *p = arg;
    const char *scheduler = kd_pod_scheduler(pod);
    struct whatif_result result;
    struct kerr err = { 0 };
    struct kobj *o;

    if (!p->caches) {
        p->caches = caches_new(p->kube);
        caches_start(p->caches);
    }
    bool fresh =
        p->whatif && streq(p->scheduler, scheduler) && loop_mono(p->loop) - p->made < FRESH;
    if (!fresh && make(p, scheduler, &err) < 0) {
        forget(p);
        return err.code;
    }
    memcpy(&o, &(const struct kobj *){ &pod->obj }, sizeof o);
    if (whatif_explain(p->whatif, o, loop_wall(p->loop), &result, &err) < 0)
        return err.code;
    choose(p, &result, pod->node_name, ret);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------- */

struct placer *placer_new(struct loop *l, struct kube *k, const char *config, struct kerr *err)
{
    CLEANUP(placer_free) struct placer *p = xnew0(struct placer);
    int r = str_empty(config) ? sched_config_shipped(&p->config, err)
                              : config_load(&sched_config_spec, config, &p->config, err);

    if (r < 0)
        return NULL;
    p->loop = l;
    p->kube = k;
    p->ops = (struct kd_placer){ place, p };
    return take(p);
}

struct placer *placer_free(struct placer *p)
{
    if (!p)
        return NULL;
    forget(p);
    caches_free(p->caches);
    config_unref(p->config);
    free(p);
    return NULL;
}

const struct kd_placer *placer_ops(const struct placer *p)
{
    return &p->ops;
}
