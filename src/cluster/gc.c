/* gc.c - garbage collection by owner references: background, foreground, orphaning.
 *
 * A metadata-only cache of every kind, with an index by the owners' UIDs, is the whole graph.
 * An owner that the cache does not know is asked for at the server before anything is deleted.
 * Objects that own each other, or themselves, are deleted like others: see waits_for().
 */
#include <stdio.h>

#include "client/discovery.h"
#include "cluster/internal.h"

struct gcache { /* the objects of one kind */
    struct gc *gc;
    struct served_kind *k;
    struct informer *inf;
};
struct gc {
    struct cluster *c;
    struct controller *controller; /* keys are "plural.group/namespace/name" */
    struct vec_of(struct gcache *) caches;
    bool strangers; /* objects have owners of kinds that were not served when they were judged */
};

#define ASK_AGAIN      (5 * NSEC_PER_SEC)

#define FIN_ORPHAN     "orphan"
#define FIN_FOREGROUND "foregroundDeletion"

/* ---- the graph ----------------------------------------------------------------------------- */

static void enqueue(struct gcache *g, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX], full[KOBJ_KEY_MAX + 300];
    kobj_key(o, key, sizeof key);
    (void)snprintf(full, sizeof full, "%s.%s/%s", g->k->kind.plural, g->k->kind.group, key);
    controller_add(g->gc->controller, full);
}

static struct gcache *cache_by_key(const struct gc *gc, const char *key, const char **ret_rest)
{
    const char *slash = strchr(key, '/');
    vec_foreach(&gc->caches, i) {
        const struct kind *k = &gc->caches.items[i]->k->kind;
        size_t n = strlen(k->plural), m = strlen(k->group);
        if ((size_t)(slash - key) == n + 1 + m && memcmp(key, k->plural, n) == 0 &&
            memcmp(key + n + 1, k->group, m) == 0) {
            *ret_rest = slash + 1;
            return gc->caches.items[i];
        }
    }
    return NULL;
}

static struct gcache *cache_of(const struct gc *gc, const struct served_kind *k)
{
    vec_foreach(&gc->caches, i)
        if (gc->caches.items[i]->k == k)
            return gc->caches.items[i];
    return NULL;
}

static bool waits_for_dependents(const struct kobj *o)
{
    return o->meta.deleted && meta_has_finalizer(o, FIN_FOREGROUND);
}

/* The owner as its cache knows it. A reference names an object of its dependent's namespace, or
 * one of the cluster. */
static struct kobj *find_owner(const struct gc *gc, const struct kobj *o,
                               const struct owner_ref *ref, struct gcache **ret_cache)
{
    struct served_kind *k = discovery_find(gc->c->discovery, ref->api_version, ref->kind);
    struct gcache *g = k ? cache_of(gc, k) : NULL;
    char key[KOBJ_KEY_MAX];

    if (!g)
        return NULL;
    if (k->kind.namespaced)
        (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, ref->name);
    else
        (void)snprintf(key, sizeof key, "%s", ref->name);
    struct kobj *owner = informer_get(g->inf, key);
    *ret_cache = g;
    return owner && kuid_equal(owner->meta.uid, ref->uid) ? owner : NULL;
}

typedef void (*dependent_fn)(void *arg, struct gcache *g, struct kobj *o,
                             const struct owner_ref *ref);
static void each_dependent(const struct gc *gc, struct kuid owner, dependent_fn fn, void *arg)
{
    char uid[KUID_TEXT_MAX];
    kuid_format(owner, uid, sizeof uid);
    vec_foreach(&gc->caches, i) {
        struct gcache *g = gc->caches.items[i];
        size_t n;
        struct kobj *const *found =
            informer_by_index(g->inf, informer_add_index(g->inf, index_owner), uid, &n);
        for (size_t k = 0; k < n; k++)
            for (uint32_t r = 0; r < found[k]->meta.owners.n; r++)
                if (kuid_equal(found[k]->meta.owners.items[r].uid, owner))
                    fn(arg, g, found[k], &found[k]->meta.owners.items[r]);
    }
}

static void enqueue_dependent(void *arg, struct gcache *g, struct kobj *o,
                              const struct owner_ref *ref)
{
    (void)arg, (void)ref;
    enqueue(g, o);
}

static void count_dependent(void *arg, struct gcache *g, struct kobj *o,
                            const struct owner_ref *ref)
{
    (void)g, (void)o, (void)ref;
    ++*(size_t *)arg;
}

/* ---- foreground deletion ------------------------------------------------------------------- */

struct waiting { /* an object that is being deleted in the foreground */
    const struct gc *gc;
    const struct kobj *o;
    struct map blocked; /* by UID: itself, and all that cannot go before it; empty until needed */
    size_t blocking;    /* dependents that it has to wait for */
};

/* Walks up the references that block: few objects have more than one owner. */
static void find_blocked(struct waiting *x)
{
    struct vec_of(const struct kobj *) todo = { 0 };

    vec_push(&todo, x->o);
    map_put(&x->blocked, (const char *)&x->o->meta.uid, sizeof x->o->meta.uid, x);
    while (todo.n) {
        const struct kobj *o = todo.items[--todo.n];
        for (uint32_t i = 0; i < o->meta.owners.n; i++) {
            const struct owner_ref *ref = &o->meta.owners.items[i];
            struct gcache *g;
            const struct kobj *owner =
                ref->block_owner_deletion ? find_owner(x->gc, o, ref, &g) : NULL;
            if (owner && waits_for_dependents(owner) &&
                !map_put(&x->blocked, (const char *)&owner->meta.uid, sizeof owner->meta.uid, x))
                vec_push(&todo, owner);
        }
    }
    vec_fini(&todo);
}

/* Whether o has to wait until its dependent d is gone. Not when d, in turn, waits for o, directly
 * or by others in between: of objects that own each other none would ever go. */
static bool waits_for(struct waiting *x, const struct kobj *d, const struct owner_ref *ref)
{
    if (!ref->block_owner_deletion)
        return false;
    if (!waits_for_dependents(d))
        return true;
    if (x->blocked.n == 0)
        find_blocked(x);
    return !map_get(&x->blocked, (const char *)&d->meta.uid, sizeof d->meta.uid);
}

/* A dependent that waits for its own dependents hears of their end: only others are looked at. */
static void visit_dependent(void *arg, struct gcache *g, struct kobj *d,
                            const struct owner_ref *ref)
{
    struct waiting *x = arg;

    x->blocking += waits_for(x, d, ref);
    if (!waits_for_dependents(d))
        enqueue(g, d);
}

static size_t blocking_dependents(const struct gc *gc, const struct kobj *o)
{
    struct waiting x = { .gc = gc, .o = o };

    each_dependent(gc, o->meta.uid, visit_dependent, &x);
    map_fini(&x.blocked);
    return x.blocking;
}

/* ---- finalizers of a dying owner ----------------------------------------------------------- */

/* A real object to write to: pods come from a cache of another kind. */
static struct kube_req request(const struct gcache *g, const struct kobj *o, enum kube_verb verb)
{
    return (struct kube_req){ .verb = verb,
                              .kind = &g->k->kind,
                              .ns = g->k->kind.namespaced ? o->meta.ns : NULL,
                              .name = o->meta.name };
}

static void send_patch(struct batch *b, const struct gcache *g, const struct kobj *o,
                       const struct strbuf *body)
{
    struct kube_req r = request(g, o, KUBE_PATCH);

    r.patch = KUBE_PATCH_MERGE;
    r.body = body->data;
    r.body_len = body->len;
    batch_call(b, &r, NULL, NULL);
}

static void remove_finalizer(struct batch *b, const struct gcache *g, const struct kobj *o,
                             const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    meta_finalizer_patch(o, o->meta.resource_version, name, false, &body);
    send_patch(b, g, o, &body);
}

/* All references but those to drop(uid). */
static void patch_owners(struct batch *b, const struct gcache *g, const struct kobj *o,
                         const struct kuid *drop, size_t ndrop)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", o->meta.resource_version);
    owner_write_others(&w, o, drop, ndrop);
    kjw_end(&w);
    kjw_end(&w);
    send_patch(b, g, o, &body);
}

struct orphaning {
    struct batch *b;
    size_t n;
};

static void orphan_one(void *arg, struct gcache *g, struct kobj *o, const struct owner_ref *ref)
{
    struct orphaning *x = arg;
    x->n++;
    patch_owners(x->b, g, o, &ref->uid, 1);
}

/* True when the object waits for its dependents and nothing else is to be done now. */
static bool serve_finalizers(struct batch *b, struct gcache *g, struct kobj *o)
{
    if (o->meta.deleted == 0)
        return false;
    if (meta_has_finalizer(o, FIN_ORPHAN)) {
        struct orphaning x = { b, 0 };
        each_dependent(g->gc, o->meta.uid, orphan_one, &x);
        if (x.n == 0)
            remove_finalizer(b, g, o, FIN_ORPHAN);
        else
            batch_again(b, 200 * NSEC_PER_MSEC); /* until the caches show no dependent */
        return true;
    }
    if (meta_has_finalizer(o, FIN_FOREGROUND)) {
        if (blocking_dependents(g->gc, o) == 0)
            remove_finalizer(b, g, o, FIN_FOREGROUND);
        return true;
    }
    return false;
}

/* ---- dependents of what is gone ------------------------------------------------------------ */

enum owner_state { OWNER_SOLID, OWNER_WAITING, OWNER_UNKNOWN, OWNER_GONE };

struct judging { /* one object, while its owners are asked for; in the arena */
    struct gc *gc;
    const char *full; /* key of the queue */
    struct kuid uid;
    size_t n, pending;
    enum owner_state *state;
    const char **owner_uids;
};
struct question {
    struct judging *j;
    size_t i;
};

static enum owner_state look_up(const struct gc *gc, const struct kobj *o,
                                const struct owner_ref *ref)
{
    struct gcache *g = NULL;
    const struct kobj *owner = find_owner(gc, o, ref, &g);

    if (!owner || !informer_synced(g->inf))
        return OWNER_UNKNOWN;
    return waits_for_dependents(owner) ? OWNER_WAITING : OWNER_SOLID;
}

/* An owner that the server has, by an answer that may be older than its cache: when it has gone in
 * between, the cache never knew it and tells nobody of its end. */
static bool is_behind_cache(const struct gc *gc, const struct kobj *o)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++) {
        struct gcache *g = NULL;
        if (!find_owner(gc, o, &o->meta.owners.items[i], &g) && g)
            return true;
    }
    return false;
}

static void delete_object(struct batch *b, const struct gcache *g, const struct kobj *o,
                          const char *propagation)
{
    struct kobj target = { .kind = &g->k->kind, .meta = o->meta };
    g->gc->c->stats.collected++;
    batch_delete(b, &target, &(struct delete_opts){ .grace = -1, .propagation = propagation }, NULL,
                 NULL);
}

static void judge(struct batch *b, struct judging *j)
{
    const char *rest;
    struct gcache *g = cache_by_key(j->gc, j->full, &rest);
    struct kobj *o = g ? informer_get(g->inf, rest) : NULL;
    size_t solid = 0, waiting = 0, unknown = 0, ngone = 0;
    struct kuid *gone = arena_newn0(batch_arena(b), j->n + 1, struct kuid);

    if (!o || !kuid_equal(o->meta.uid, j->uid) || o->meta.owners.n != j->n)
        return; /* changed meanwhile: its news has queued it again */
    for (size_t i = 0; i < j->n; i++) {
        solid += j->state[i] == OWNER_SOLID;
        waiting += j->state[i] == OWNER_WAITING;
        unknown += j->state[i] == OWNER_UNKNOWN;
        if (j->state[i] == OWNER_GONE)
            gone[ngone++] = o->meta.owners.items[i].uid;
    }
    if (unknown)
        return;
    if (solid) {
        for (size_t i = 0; i < j->n; i++)
            if (j->state[i] == OWNER_WAITING)
                gone[ngone++] = o->meta.owners.items[i].uid;
        if (ngone)
            patch_owners(b, g, o, gone, ngone);
        else if (is_behind_cache(j->gc, o))
            batch_again(b, ASK_AGAIN);
        return;
    }
    size_t dependents = 0;
    each_dependent(j->gc, o->meta.uid, count_dependent, &dependents);
    if (waiting && dependents)
        delete_object(b, g, o, "Foreground"); /* the whole tree goes from its leaves */
    else if (meta_has_finalizer(o, FIN_ORPHAN))
        delete_object(b, g, o, "Orphan");
    else if (meta_has_finalizer(o, FIN_FOREGROUND))
        delete_object(b, g, o, "Foreground");
    else
        delete_object(b, g, o, "Background");
}

static bool on_owner(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct question *q = arg;
    struct judging *j = q->j;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    bool handled = true;

    if (err && err->reason == KR_NOT_FOUND) {
        j->state[q->i] = OWNER_GONE;
    } else if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0) {
        handled = false; /* stays unknown: nothing is deleted on a guess */
    } else {
        const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
        j->state[q->i] = streq(uid, j->owner_uids[q->i]) ? OWNER_SOLID : OWNER_GONE;
    }
    if (--j->pending == 0)
        judge(b, j);
    return handled;
}

static void ask_for(struct batch *b, struct judging *j, size_t i, const struct gcache *g,
                    const struct kobj *o)
{
    const struct owner_ref *ref = &o->meta.owners.items[i];
    struct served_kind *k = discovery_find(j->gc->c->discovery, ref->api_version, ref->kind);
    struct question *q = arena_new0(batch_arena(b), struct question);

    if (!k)
        g->gc->strangers = true;
    if (!k || (k->kind.namespaced && !g->k->kind.namespaced))
        return; /* a kind that nobody serves (now), or of no namespace: it may be there */
    *q = (struct question){ j, i };
    j->pending++;
    struct kube_req r = { .verb = KUBE_GET,
                          .kind = &k->kind,
                          .ns = k->kind.namespaced ? o->meta.ns : NULL,
                          .name = ref->name };
    batch_call(b, &r, on_owner, q);
}

static void check_owners(struct batch *b, const struct gcache *g, const char *full,
                         const struct kobj *o)
{
    struct arena *a = batch_arena(b);
    struct judging *j = arena_new0(a, struct judging);

    *j = (struct judging){ .gc = g->gc,
                           .full = arena_strdup(a, full),
                           .uid = o->meta.uid,
                           .n = o->meta.owners.n,
                           .state = arena_newn0(a, o->meta.owners.n, enum owner_state),
                           .owner_uids = arena_newn0(a, o->meta.owners.n, const char *) };
    j->pending = 1;
    for (size_t i = 0; i < j->n; i++) {
        char uid[KUID_TEXT_MAX];
        kuid_format(o->meta.owners.items[i].uid, uid, sizeof uid);
        j->owner_uids[i] = arena_strdup(a, uid);
        j->state[i] = look_up(g->gc, o, &o->meta.owners.items[i]);
        if (j->state[i] == OWNER_UNKNOWN)
            ask_for(b, j, i, g, o);
    }
    if (--j->pending == 0)
        judge(b, j);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *none)
{
    struct gc *gc = arg;
    const char *rest = NULL;
    struct gcache *g = cache_by_key(gc, key, &rest);
    struct kobj *o = g ? informer_get(g->inf, rest) : NULL;

    (void)none;
    if (o && !serve_finalizers(b, g, o) && o->meta.owners.n && o->meta.deleted == 0)
        check_owners(b, g, key, o);
}

/* ---- news ---------------------------------------------------------------------------------- */

/* Owners of a dependent that is gone (or no longer theirs) may have waited for it. */
static void wake_owners(struct gc *gc, const struct kobj *o)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++) {
        struct gcache *g;
        const struct kobj *owner = find_owner(gc, o, &o->meta.owners.items[i], &g);
        if (owner && owner->meta.deleted)
            enqueue(g, owner);
    }
}

static void on_object(void *arg, struct kobj *o)
{
    struct gcache *g = arg;
    if (o->meta.owners.n || (o->meta.deleted && o->meta.finalizers.n))
        enqueue(g, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct gcache *g = arg;
    bool owners_changed = old->meta.owners.n != o->meta.owners.n;
    bool dying = o->meta.deleted && o->meta.finalizers.n;

    for (uint32_t i = 0; !owners_changed && i < o->meta.owners.n; i++)
        owners_changed = !kuid_equal(old->meta.owners.items[i].uid, o->meta.owners.items[i].uid) ||
                         old->meta.owners.items[i].block_owner_deletion !=
                             o->meta.owners.items[i].block_owner_deletion;
    if (owners_changed)
        wake_owners(g->gc, old);
    if (owners_changed || dying)
        enqueue(g, o);
    /* A foreground deletion begins with the dependents. */
    if (o->meta.deleted && old->meta.deleted == 0)
        each_dependent(g->gc, o->meta.uid, enqueue_dependent, NULL);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct gcache *g = arg;
    each_dependent(g->gc, o->meta.uid, enqueue_dependent, NULL);
    wake_owners(g->gc, o);
}

/* ---- caches, life -------------------------------------------------------------------------- */

static void add_cache(struct gc *gc, struct served_kind *k)
{
    static const struct informer_handler handler = { .on_add = on_object,
                                                     .on_update = on_update,
                                                     .on_delete = on_delete };
    struct gcache *g = xnew0(struct gcache);

    g->gc = gc;
    g->k = k;
    /* Of a cache that others have anyway nothing but the metadata is looked at. */
    g->inf = caches_find(gc->c->caches, k->kind.group, k->kind.plural);
    if (!g->inf)
        g->inf = caches_get(gc->c->caches, &k->kind);
    informer_add_index(g->inf, index_owner);
    vec_push(&gc->caches, g);
    controller_watch(gc->controller, g->inf, &handler, g);
}

/* Events are many, short-lived and owned by nobody: no graph of them is kept. */
static bool has_owners(const struct kind *k)
{
    return !streq(k->plural, "events") || (*k->group && !streq(k->group, "events.k8s.io"));
}

/* Kinds are served that were not, or that a failed round had missed: their objects may be owners.
 */
static void judge_all(struct gc *gc)
{
    gc->strangers = false;
    vec_foreach(&gc->caches, i) {
        struct kobj *o;
        size_t it = 0;
        while ((o = informer_next(gc->caches.items[i]->inf, &it)))
            if (o->meta.owners.n)
                enqueue(gc->caches.items[i], o);
    }
}

static void on_round(void *arg)
{
    struct gc *gc = arg;
    size_t known = gc->caches.n;

    for (size_t i = 0; i < discovery_count(gc->c->discovery); i++) {
        struct served_kind *k = discovery_at(gc->c->discovery, i);
        if (k->served && k->list && k->watch && k->delete_one && has_owners(&k->kind) &&
            !cache_of(gc, k))
            add_cache(gc, k);
    }
    if (gc->caches.n > known && gc->strangers)
        judge_all(gc);
}

struct gc *gc_new(struct cluster *c)
{
    struct gc *gc = xnew0(struct gc);
    gc->c = c;
    gc->controller = controller_new(
        c->controllers,
        &(struct controller_opts){
            .name = "gc",
            .sync = sync,
            .self = gc,
            .queue = { .concurrency = 20, .backoff_max = 30 * NSEC_PER_SEC, .qps = 100 },
            .eager = true });
    discovery_on_round(c->discovery, on_round, gc);
    return gc;
}

struct gc *gc_free(struct gc *gc)
{
    if (!gc)
        return NULL;
    controller_free(gc->controller);
    vec_foreach(&gc->caches, i)
        free(gc->caches.items[i]);
    vec_fini(&gc->caches);
    free(gc);
    return NULL;
}
