/* controller.c - queues, and when their syncs may run. */
#include "controllers/controller.h"

#include "api/selector/selector.h"
#include "base/klog.h"
#include "controllers/controller_int.h"
#include "loop/loop.h"

/* A write shows in the cache within a moment. When it does not, the watch is behind: after this
 * time the sync goes on with what the cache has. */
#define OWN_WRITE_POLL (NSEC_PER_SEC)
#define OWN_WRITE_MAX  (30 * NSEC_PER_SEC)

struct written {
    nsec_t at; /* mono */
    char *version;
    char key[];
};

/* ---- own writes ------------------------------------------------------------------------------ */

static void written_free(struct written *w)
{
    free(w->version);
    free(w);
}

static void written_clear(struct controller *c)
{
    map_foreach(&c->written, e)
        written_free(e->value);
    map_fini(&c->written);
}

void controller_wrote(struct controller *c, const char *key, const char *version)
{
    struct written *w = map_getz(&c->written, key);
    size_t n = strlen(key);

    if (!w) {
        w = xcalloc(1, sizeof *w + n + 1);
        memcpy(w->key, key, n + 1);
        map_put(&c->written, w->key, n, w);
    }
    free(w->version);
    w->version = xstrdup(version);
    w->at = loop_mono(c->all->env.loop);
}

/* The cache has not seen what we wrote to the object: a sync would work on the past. */
static bool is_behind(struct controller *c, const char *key, const struct kobj *o)
{
    struct written *w = map_getz(&c->written, key);

    if (!w)
        return false;
    if (o && version_is_older(o->meta.resource_version, w->version) &&
        loop_mono(c->all->env.loop) - w->at < OWN_WRITE_MAX)
        return true;
    map_removez(&c->written, key);
    written_free(w);
    return false;
}

/* ---- syncs ----------------------------------------------------------------------------------- */

static void on_work(void *arg, const char *key, struct work *w)
{
    struct controller *c = arg;
    struct kobj *o = c->o.of ? informer_get(c->o.of, key) : NULL;

    if (is_behind(c, key, o)) {
        work_again(w, OWN_WRITE_POLL);
        return;
    }
    struct batch *b = batch_new(c, key, o, w);
    c->o.sync(c->o.self, b, key, o);
    batch_close(b);
}

static bool is_ready(const struct controller *c)
{
    vec_foreach(&c->watches, i)
        if (!informer_synced(c->watches.items[i].inf))
            return false;
    return true;
}

static void on_synced(void *arg)
{
    struct controller *c = arg;

    if (c->queue)
        workqueue_pause(c->queue, !c->o.eager && !is_ready(c));
}

/* ---- news ------------------------------------------------------------------------------------ */

static void on_object(void *arg, struct kobj *o)
{
    controller_add_object(arg, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    controller_add_object(arg, o);
}

static const struct informer_handler own_key = { .on_add = on_object,
                                                 .on_update = on_update,
                                                 .on_delete = on_object };

static void attach(struct controller *c, struct watched *w)
{
    static const struct informer_handler ready = { .on_synced = on_synced };

    if (w->h)
        w->news = informer_add_handler(w->inf, w->h, w->arg);
    w->sync = informer_add_handler(w->inf, &ready, c);
}

static void detach(struct watched *w)
{
    w->news = informer_remove_handler(w->news);
    w->sync = informer_remove_handler(w->sync);
}

static void add_watch(struct controller *c, const struct watched *w)
{
    vec_push(&c->watches, *w);
    if (!c->queue)
        return;
    attach(c, &vec_last(&c->watches));
    on_synced(c);
}

void controller_watch(struct controller *c, struct informer *inf, const struct informer_handler *h,
                      void *arg)
{
    struct watched w = { .inf = inf, .h = h ? h : &own_key, .arg = h ? arg : c };
    add_watch(c, &w);
}

void controller_read(struct controller *c, struct informer *inf)
{
    struct watched w = { .inf = inf };
    add_watch(c, &w);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void start(struct controller *c)
{
    struct workqueue_opts o = c->o.queue;

    if (c->queue)
        return;
    o.name = c->o.name;
    o.meter = c->all->env.kube->meter;
    c->queue = workqueue_new(c->all->env.loop, &o, on_work, c);
    vec_foreach(&c->watches, i)
        attach(c, &c->watches.items[i]);
    on_synced(c);
    if (c->o.start)
        c->o.start(c->o.self);
}

static void stop(struct controller *c)
{
    if (!c->queue)
        return;
    vec_foreach(&c->watches, i)
        detach(&c->watches.items[i]);
    batches_drop(c);
    c->queue = workqueue_free(c->queue);
    written_clear(c);
    if (c->o.stop)
        c->o.stop(c->o.self);
}

struct controller *controller_new(struct controllers *cs, const struct controller_opts *o)
{
    struct controller *c = xnew0(struct controller), **last = &cs->first;

    c->all = cs;
    c->o = *o;
    if (o->of)
        controller_read(c, o->of);
    while (*last)
        last = &(*last)->next;
    *last = c;
    if (cs->started)
        start(c);
    return c;
}

struct controller *controller_free(struct controller *c)
{
    if (!c)
        return NULL;
    c->o.stop = NULL; /* whom it would tell is on his way out too */
    stop(c);
    for (struct controller **p = &c->all->first; *p; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            break;
        }
    }
    vec_fini(&c->watches);
    free(c);
    return NULL;
}

struct controllers *controllers_new(const struct controller_env *env)
{
    struct controllers *cs = xnew0(struct controllers);
    cs->env = *env;
    return cs;
}

struct controllers *controllers_free(struct controllers *cs)
{
    if (!cs)
        return NULL;
    assert(!cs->first);
    free(cs);
    return NULL;
}

void controllers_start(struct controllers *cs)
{
    cs->started = true;
    for (struct controller *c = cs->first; c; c = c->next)
        start(c);
}

void controllers_stop(struct controllers *cs)
{
    cs->started = false;
    for (struct controller *c = cs->first; c; c = c->next)
        stop(c);
}

struct controllers_stats controllers_stats(const struct controllers *cs)
{
    return cs->stats;
}

/* ---- keys ------------------------------------------------------------------------------------ */

void controller_add(struct controller *c, const char *key)
{
    if (c->queue)
        workqueue_add(c->queue, key);
}

void controller_add_after(struct controller *c, const char *key, nsec_t delay)
{
    if (c->queue)
        workqueue_add_after(c->queue, key, delay);
}

void controller_add_object(struct controller *c, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX];

    kobj_key(o, key, sizeof key);
    controller_add(c, key);
}

void controller_add_by(struct controller *c, struct informer *inf, index_fn index,
                       const char *value)
{
    kobjvec found = { 0 };

    objects_by(inf, index, value, &found);
    vec_foreach(&found, i)
        controller_add_object(c, found.items[i]);
    vec_fini(&found);
}

void controller_add_selecting(struct controller *c, struct informer *inf,
                              selector_of_fn selector_of, const char *ns, const kstrmap *labels)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kobjvec found = { 0 };

    objects_by(inf, index_ns, ns, &found);
    vec_foreach(&found, i) {
        const struct label_selector *s = selector_of(found.items[i]);
        struct labelsel *selector;
        struct kerr err;
        if (labelsel_from(s, a, &selector, &err) == 0 && labelsel_matches(selector, labels))
            controller_add_object(c, found.items[i]);
    }
    vec_fini(&found);
}
