/* deployment.c - Deployments: one ReplicaSet for each template, replicas moved from old to new. */
#include <stdio.h>

#include "base/num.h"
#include "cluster/deploy.h"

struct deployctl {
    struct cluster *c;
    struct workqueue *queue;
    struct shared *deployments, *sets, *pods;
};

/* ---- the view ------------------------------------------------------------------------------ */

static int64_t number_of(const struct kobj *o, const char *annotation)
{
    const char *text = meta_annotation(o, annotation);
    int64_t n;
    return i64_parse(text, strlen(text), &n) == 0 ? n : -1;
}

static int by_age(const void *a, const void *b)
{
    const struct dset *x = a, *y = b;
    if (x->rs->obj.meta.created != y->rs->obj.meta.created)
        return x->rs->obj.meta.created < y->rs->obj.meta.created ? -1 : 1;
    return strcmp(x->rs->obj.meta.name, y->rs->obj.meta.name);
}

static void view_sets(struct dview *v, const kobjvec *mine, struct arena *a)
{
    v->sets = arena_newn0(a, mine->n + 1, struct dset);
    vec_foreach(mine, i) {
        const struct rs *rs = rs_of(mine->items[i]);
        struct dset *s = &v->sets[v->n++];
        s->rs = rs;
        s->replicas = s->want = rs->spec.replicas.set ? rs->spec.replicas.v : 1;
        s->available = rs->status.available;
        s->actual = rs->status.replicas;
        s->revision = MAX(number_of(&rs->obj, ANNO_REVISION), (int64_t)0);
        s->annotated_desired = number_of(&rs->obj, ANNO_DESIRED);
        s->annotated_max = number_of(&rs->obj, ANNO_MAX);
    }
    if (v->n > 1)
        qsort(v->sets, v->n, sizeof *v->sets, by_age);
}

/* ---- one pass ------------------------------------------------------------------------------ */

/* Recreate waits until nothing of the past is left, pods on their way out included. */
static bool old_pods_remain(struct deployctl *dc, const struct dview *v)
{
    bool found = false;
    for (size_t i = 0; i < v->n && !found; i++) {
        kobjvec pods = { 0 };
        if (&v->sets[i] == v->fresh)
            continue;
        shared_by_uid(dc->pods, v->sets[i].rs->obj.meta.uid, &pods);
        vec_foreach(&pods, k)
            found = found || !pod_is_terminal(pod_of(pods.items[k]));
        vec_fini(&pods);
        found = found || v->sets[i].actual > 0;
    }
    return found;
}

static const char *roll(struct batch *b, struct dview *v)
{
    if (!v->fresh)
        return sets_create_fresh(b, v);
    if (rollout_grow(v) || rollout_shrink(v))
        sets_apply(b, v);
    return NULL;
}

static const char *recreate(struct deployctl *dc, struct batch *b, struct dview *v)
{
    bool shrinks = false;

    for (size_t i = 0; i < v->n; i++) {
        if (&v->sets[i] != v->fresh && v->sets[i].replicas > 0) {
            v->sets[i].want = 0;
            shrinks = true;
        }
    }
    if (shrinks) {
        sets_apply(b, v);
        return NULL;
    }
    if (old_pods_remain(dc, v))
        return NULL;
    return roll(b, v);
}

static void pass(struct deployctl *dc, struct batch *b, struct dview *v)
{
    const char *created = NULL;

    if (v->d->obj.meta.deleted) {
        dstatus_write(b, v, NULL);
        return;
    }
    if (!v->d->spec.paused && sets_sync_revision(b, v))
        return; /* its news brings the next pass, with the new version */
    if (v->d->spec.paused || rollout_is_scaling(v)) {
        if (rollout_scale(v) || rollout_is_scaling(v))
            sets_apply(b, v);
    } else if (streq(v->d->spec.strategy.type, "Recreate")) {
        created = recreate(dc, b, v);
    } else {
        created = roll(b, v);
    }
    if (dstatus_is_complete(v) || v->d->spec.paused)
        sets_cleanup(b, v);
    dstatus_write(b, v, created);
}

static void sync_one(struct deployctl *dc, struct batch *b, const struct deploy *d)
{
    CLEANUP(kj_doc_free) struct kj_doc *template = NULL;
    struct labelsel *selector;
    struct kerr err = { 0 };
    kobjvec mine = { 0 };

    if (labelsel_from(&d->spec.selector, batch_arena(b), &selector, &err) < 0 ||
        labelsel_is_everything(selector) || !d->spec.template_json ||
        kj_parse(d->spec.template_json, strlen(d->spec.template_json), 0, &template, &err) < 0)
        return;
    if (claim_children(b,
                       &(struct claim){ .owner_kind = &doc_deployment,
                                        .owner = &d->obj,
                                        .selector = selector,
                                        .children = dc->sets },
                       &mine)) {
        struct dview v = { .c = dc->c, .d = d, .template = kj_root(template) };
        view_sets(&v, &mine, batch_arena(b));
        dview_resolve(&v);
        dview_find_fresh(&v);
        pass(dc, b, &v);
    }
    vec_fini(&mine);
}

static void sync(void *arg, const char *key, struct work *w)
{
    struct deployctl *dc = arg;
    struct kobj *o = informer_get(dc->deployments->inf, key);
    struct batch *b = batch_new(dc->c, "deployment", key, w);

    if (!informer_synced(dc->sets->inf) || !informer_synced(dc->pods->inf))
        batch_again(b, 50 * NSEC_PER_MSEC);
    else if (o)
        sync_one(dc, b, deploy_of(o));
    batch_close(b);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void on_deployment(void *arg, struct kobj *o)
{
    struct deployctl *dc = arg;
    char key[KOBJ_KEY_MAX];
    kobj_key(o, key, sizeof key);
    workqueue_add(dc->queue, key);
}

static void on_deployment_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_deployment(arg, o);
}

static void enqueue_owner(struct deployctl *dc, const struct kobj *child, const char *kind)
{
    const struct owner_ref *ref = kobj_controller(child);
    char key[KOBJ_KEY_MAX];

    if (!ref || !streq(ref->kind, kind))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", child->meta.ns, ref->name);
    workqueue_add(dc->queue, key);
}

static void on_set(void *arg, struct kobj *o)
{
    struct deployctl *dc = arg;
    CLEANUP(arena_free) struct arena *a = NULL;
    kobjvec all = { 0 };

    if (kobj_controller(o)) {
        enqueue_owner(dc, o, "Deployment");
        return;
    }
    a = arena_new();
    shared_by(dc->deployments, dc->deployments->by_ns, o->meta.ns, &all);
    vec_foreach(&all, i) {
        struct labelsel *selector;
        struct kerr err;
        if (labelsel_from(&deploy_of(all.items[i])->spec.selector, a, &selector, &err) == 0 &&
            labelsel_matches(selector, &o->meta.labels))
            on_deployment(dc, all.items[i]);
    }
    vec_fini(&all);
}

static void on_set_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o && kobj_controller(old) && !kobj_controller(o))
        enqueue_owner(arg, old, "Deployment");
    on_set(arg, o);
}

/* Only Recreate waits for pods; it needs to hear when the last of them has gone. */
static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct deployctl *dc = arg;
    const struct owner_ref *ref = kobj_controller(pod);
    char key[KOBJ_KEY_MAX];

    if (!ref || !streq(ref->kind, "ReplicaSet"))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns, ref->name);
    struct kobj *set = informer_get(dc->sets->inf, key);
    if (set)
        enqueue_owner(dc, set, "Deployment");
}

struct deployctl *deployctl_new(struct cluster *c)
{
    static const struct informer_handler deployments = { .on_add = on_deployment,
                                                         .on_update = on_deployment_update };
    static const struct informer_handler sets = { .on_add = on_set,
                                                  .on_update = on_set_update,
                                                  .on_delete = on_set };
    static const struct informer_handler pods = { .on_delete = on_pod_delete };
    struct deployctl *dc = xnew0(struct deployctl);

    dc->c = c;
    dc->queue = workqueue_new(
        c->loop, &(struct workqueue_opts){ .name = "deployment", .concurrency = 8 }, sync, dc);
    dc->deployments = cluster_deployments(c);
    dc->sets = cluster_replicasets(c);
    dc->pods = cluster_pods(c);
    informer_add_handler(dc->deployments->inf, &deployments, dc);
    informer_add_handler(dc->sets->inf, &sets, dc);
    informer_add_handler(dc->pods->inf, &pods, dc);
    return dc;
}

struct deployctl *deployctl_free(struct deployctl *dc)
{
    if (!dc)
        return NULL;
    workqueue_free(dc->queue);
    free(dc);
    return NULL;
}
