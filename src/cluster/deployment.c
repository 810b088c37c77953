/* deployment.c - Deployments: one ReplicaSet for each template, replicas moved from old to new. */
#include "base/num.h"
#include "cluster/deploy.h"
#include "controllers/claim.h"

struct deployctl {
    struct cluster *c;
    struct controller *controller;
    struct informer *deployments, *sets, *pods;
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
        objects_by_owner(dc->pods, v->sets[i].rs->obj.meta.uid, &pods);
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
    if (claim_children(
            b, &(struct claim){ .owner = &d->obj, .selector = selector, .children = dc->sets },
            &mine)) {
        struct dview v = { .c = dc->c, .d = d, .template = kj_root(template) };
        view_sets(&v, &mine, batch_arena(b));
        dview_resolve(&v);
        dview_find_fresh(&v);
        pass(dc, b, &v);
    }
    vec_fini(&mine);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    (void)key;
    if (o)
        sync_one(arg, b, deploy_of(o));
}

/* ---- news ---------------------------------------------------------------------------------- */

static void enqueue_owner(struct deployctl *dc, const struct kobj *set)
{
    char key[KOBJ_KEY_MAX];

    if (owner_key(set, "Deployment", key, sizeof key))
        controller_add(dc->controller, key);
}

static const struct label_selector *selector_of(const struct kobj *o)
{
    return &deploy_of(o)->spec.selector;
}

static void on_set(void *arg, struct kobj *o)
{
    struct deployctl *dc = arg;

    if (kobj_controller(o))
        enqueue_owner(dc, o);
    else
        controller_add_selecting(dc->controller, dc->deployments, selector_of, o->meta.ns,
                                 &o->meta.labels);
}

static void on_set_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o && kobj_controller(old) && !kobj_controller(o))
        enqueue_owner(arg, old);
    on_set(arg, o);
}

/* Only Recreate waits for pods; it needs to hear when the last of them has gone. */
static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct deployctl *dc = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(pod, "ReplicaSet", key, sizeof key))
        return;
    struct kobj *set = informer_get(dc->sets, key);
    if (set)
        enqueue_owner(dc, set);
}

struct deployctl *deployctl_new(struct cluster *c)
{
    static const struct informer_handler sets = { .on_add = on_set,
                                                  .on_update = on_set_update,
                                                  .on_delete = on_set };
    static const struct informer_handler pods = { .on_delete = on_pod_delete };
    struct deployctl *dc = xnew0(struct deployctl);

    dc->c = c;
    dc->deployments = caches_get(c->caches, &doc_deployment);
    dc->sets = caches_get(c->caches, &doc_replicaset);
    dc->pods = caches_get(c->caches, &kind_pod);
    dc->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "deployment",
                                                                  .of = dc->deployments,
                                                                  .sync = sync,
                                                                  .self = dc,
                                                                  .queue.concurrency = 8 });
    controller_watch(dc->controller, dc->deployments, NULL, NULL);
    controller_watch(dc->controller, dc->sets, &sets, dc);
    controller_watch(dc->controller, dc->pods, &pods, dc);
    return dc;
}

struct deployctl *deployctl_free(struct deployctl *dc)
{
    if (!dc)
        return NULL;
    controller_free(dc->controller);
    free(dc);
    return NULL;
}
