/* informer.c - list page by page, watch, resume; list again when the server forgot our place. */
#include "client/informer.h"

#include <stdio.h>

#include "base/klog.h"
#include "base/num.h"
#include "base/vec.h"
#include "client/backoff.h"
#include "client/kube.h"
#include "client/objcache.h"
#include "loop/loop.h"
#include "json/kj.h"

enum {
    PAGE_DEFAULT = 500,
    PAGE_MAX = 10000,
    TOMBSTONES = 1024, /* deletions remembered against late news of the deleted */
};

struct subscription {
    const struct informer_handler *h;
    void *arg;
    struct informer *inf;
    struct timer *replay; /* a late handler is told of what is there */
    bool removed;         /* from inside a callback: freed when that has ended */
};
struct tombstone {
    uint64_t key_hash;
    uint64_t version;
};

struct informer {
    struct kube *kube;
    struct informer_opts o;
    char *ns, *label_selector, *field_selector;
    struct objcache store;
    struct handlers vec_of(struct subscription *) handlers;
    unsigned telling; /* callbacks of handlers under way */
    struct kube_call *call;
    struct timer *timer, *resync;
    struct backoff backoff;
    uint32_t round; /* number of the current or last list */
    int64_t page;
    char *version, *list_version, *continue_token;
    nsec_t watch_began;
    bool started, synced, refused, listed_once, got_event;
    struct tombstone tombs[TOMBSTONES];
    size_t next_tomb;
    struct informer_stats stats;
    struct kerr problem;
};

static void list_page(struct informer *inf);
static void watch(struct informer *inf);

/* ---- telling handlers -------------------------------------------------------------------------
 */

enum news { NEWS_ADD, NEWS_UPDATE, NEWS_DELETE, NEWS_SYNCED, NEWS_REFUSED };

static void subscription_tell(const struct subscription *s, enum news what, struct kobj *old,
                              struct kobj *obj)
{
    const struct informer_handler *h = s->h;

    if (what == NEWS_ADD && h->on_add)
        h->on_add(s->arg, obj);
    else if (what == NEWS_UPDATE && h->on_update)
        h->on_update(s->arg, old, obj);
    else if (what == NEWS_DELETE && h->on_delete)
        h->on_delete(s->arg, obj);
    else if (what == NEWS_SYNCED && h->on_synced)
        h->on_synced(s->arg);
    else if (what == NEWS_REFUSED && h->on_refused)
        h->on_refused(s->arg);
}

/* The end of a round of callbacks: handlers that were removed in it go now. */
static void tell_end(struct informer *inf)
{
    if (--inf->telling > 0)
        return;
    for (size_t i = inf->handlers.n; i-- > 0;) {
        struct subscription *s = inf->handlers.items[i];
        if (!s->removed)
            continue;
        vec_remove(&inf->handlers, i);
        free(s);
    }
}

static void tell(struct informer *inf, enum news what, struct kobj *old, struct kobj *obj)
{
    inf->telling++;
    vec_foreach(&inf->handlers, i) {
        const struct subscription *s = inf->handlers.items[i];
        if (!s->replay && !s->removed)
            subscription_tell(s, what, old, obj);
    }
    tell_end(inf);
}

static void replay(struct loop *l, void *arg)
{
    struct subscription *s = arg;
    struct informer *inf = s->inf;

    (void)l;
    s->replay = NULL;
    inf->telling++;
    map_foreach(&inf->store.objects, e) {
        struct objcache_entry *entry = e->value;
        if (!s->removed)
            subscription_tell(s, NEWS_ADD, NULL, entry->obj);
    }
    if (inf->synced && !s->removed)
        subscription_tell(s, NEWS_SYNCED, NULL, NULL);
    if (inf->refused && !s->removed)
        subscription_tell(s, NEWS_REFUSED, NULL, NULL);
    tell_end(inf);
}

struct subscription *informer_add_handler(struct informer *inf,
                                          const struct informer_handler *hooks, void *arg)
{
    struct subscription *s = xnew0(struct subscription);
    *s = (struct subscription){ .h = hooks, .arg = arg, .inf = inf };
    /* Until the replay has run, news would reach the handler before what they are about. */
    if (inf->started)
        s->replay = loop_after(inf->kube->loop, 0, replay, s);
    vec_push(&inf->handlers, s);
    return s;
}

struct subscription *informer_remove_handler(struct subscription *s)
{
    if (!s)
        return NULL;
    s->replay = timer_cancel(s->replay);
    s->removed = true;
    s->inf->telling++;
    tell_end(s->inf);
    return NULL;
}

/* ---- the cache --------------------------------------------------------------------------------
 */

/* Resource versions are opaque, but comparable as numbers since Kubernetes 1.35 (KEP-5504). */
static bool version_number(const char *v, uint64_t *ret)
{
    return u64_parse(v, strlen(v), ret) == 0;
}

bool version_is_older(const char *a, const char *b)
{
    uint64_t x, y;
    return version_number(a, &x) && version_number(b, &y) && x < y;
}

static void remember_deleted(struct informer *inf, const char *key, size_t len, const char *version)
{
    uint64_t v;
    if (!version_number(version, &v))
        return;
    inf->tombs[inf->next_tomb++ % TOMBSTONES] = (struct tombstone){ hash_bytes(key, len), v };
}

/* Late news of an object whose deletion we have already seen (a replay after a reconnect). */
static bool deleted_since(const struct informer *inf, const char *key, size_t len,
                          const char *version)
{
    uint64_t v, h = hash_bytes(key, len);
    if (!version_number(version, &v))
        return false;
    for (size_t i = 0; i < TOMBSTONES; i++)
        if (inf->tombs[i].key_hash == h && inf->tombs[i].version >= v && inf->tombs[i].version)
            return true;
    return false;
}

/* Takes over the reference. During a list every object named is marked as seen. */
static void absorb(struct informer *inf, struct kobj *obj)
{
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(obj, key, sizeof key);
    struct objcache_entry *e = objcache_find(&inf->store, key, len);

    if (e) {
        const char *had = e->obj->meta.resource_version, *got = obj->meta.resource_version;
        e->seen = inf->round;
        if (streq(had, got) || version_is_older(got, had)) {
            inf->stats.duplicates++;
            kobj_unref(obj);
            return;
        }
    } else if (deleted_since(inf, key, len, obj->meta.resource_version)) {
        inf->stats.duplicates++;
        kobj_unref(obj);
        return;
    }
    kobj_ref(obj);
    struct kobj *old = objcache_put(&inf->store, key, len, obj, inf->round);
    if (old && kuid_equal(old->meta.uid, obj->meta.uid)) {
        tell(inf, NEWS_UPDATE, old, obj);
    } else {
        /* Deleted and made again while we were not looking: two events, as they happened. */
        if (old)
            tell(inf, NEWS_DELETE, NULL, old);
        tell(inf, NEWS_ADD, NULL, obj);
    }
    kobj_unref(old);
    kobj_unref(obj);
}

static void drop(struct informer *inf, const char *key, size_t len)
{
    struct kobj *old = objcache_remove(&inf->store, key, len);
    if (!old)
        return;
    tell(inf, NEWS_DELETE, NULL, old);
    kobj_unref(old);
}

static struct kobj *decode(struct informer *inf, const struct kj_val *v)
{
    struct kobj *obj = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(inf->o.kind, v, kube_scratch(inf->kube), &obj, &err) == 0)
        return inf->o.reduce ? inf->o.reduce(obj) : obj;
    /* One malformed object must not keep us from all the others. */
    inf->stats.decode_errors++;
    const struct kj_val *meta = kj_get(v, "metadata");
    KLOG_E(&err, "Skipping an object that cannot be decoded", KV_S("kind", inf->o.kind->kind),
           KV_S("namespace", kj_str_or(kj_get(meta, "namespace"), "")),
           KV_S("name", kj_str_or(kj_get(meta, "name"), "")));
    return NULL;
}

/* ---- listing ----------------------------------------------------------------------------------
 */

static void set_str(char **p, const char *s)
{
    char *copy = s ? xstrdup(s) : NULL;
    free(*p);
    *p = copy;
}

static void retry(struct loop *l, void *arg)
{
    struct informer *inf = arg;
    (void)l;
    inf->timer = NULL;
    if (inf->version)
        watch(inf);
    else
        list_page(inf);
}

static void retry_later(struct informer *inf, const struct kerr *err)
{
    nsec_t wait = backoff_next(&inf->backoff, inf->kube->loop);
    /* A server that refuses (403, 401, 404) needs a person, who is told once; one that restarts or
     * has forgotten our place does not. */
    bool refused = err->reason != KR_NONE && err->reason != KR_GONE && err->reason != KR_EXPIRED;
    bool is_news = !streq(inf->problem.text, err->text);

    inf->problem = *err;
    if (!inf->synced)
        kube_set_problem(inf->kube, inf->o.kind, err);
    if (refused && is_news)
        KLOG_W("List or watch refused, trying again", KV_S("kind", inf->o.kind->kind),
               KV_S("err", err->text), KV_D("in", wait));
    else
        KLOG_I(2, "List or watch failed, trying again", KV_S("kind", inf->o.kind->kind),
               KV_S("err", err->text), KV_D("in", wait));
    inf->timer = loop_after(inf->kube->loop, wait, retry, inf);
}

static void relist(struct informer *inf)
{
    set_str(&inf->version, NULL);
    set_str(&inf->continue_token, NULL);
    set_str(&inf->list_version, NULL);
}

/* What the list did not name is gone. */
static void sweep(struct informer *inf)
{
    struct keys vec_of(char *) keys = { 0 };
    map_foreach(&inf->store.objects, e) {
        struct objcache_entry *entry = e->value;
        if (entry->seen != inf->round)
            vec_push(&keys, xstrndup(entry->key, entry->key_len));
    }
    vec_foreach(&keys, i) {
        drop(inf, keys.items[i], strlen(keys.items[i]));
        free(keys.items[i]);
    }
    vec_fini(&keys);
}

static void list_complete(struct informer *inf)
{
    sweep(inf);
    inf->version = take(inf->list_version);
    inf->page = inf->o.page;
    backoff_reset(&inf->backoff);
    inf->problem = (struct kerr){ 0 };
    kube_set_problem(inf->kube, inf->o.kind, NULL);
    if (!inf->synced) {
        inf->synced = true;
        inf->refused = false;
        tell(inf, NEWS_SYNCED, NULL, NULL);
    }
    watch(inf);
}

static void absorb_page(struct informer *inf, const struct kj_val *root)
{
    struct kj_iter it = kj_iter(kj_get(root, "items"));
    const struct kj_val *item;
    struct str key;

    while (kj_next(&it, &key, &item)) {
        struct kobj *obj = decode(inf, item);
        if (obj)
            absorb(inf, obj);
    }
}

static void list_failed(struct informer *inf, const struct kerr *err)
{
    if (err->reason == KR_EXPIRED || err->reason == KR_GONE) {
        /* The snapshot expired between two pages: larger pages need fewer of them. */
        inf->stats.relists_gone++;
        inf->page = MIN(inf->page * 4, (int64_t)PAGE_MAX);
    }
    relist(inf);
    retry_later(inf, err);
    if (inf->synced || inf->refused || (err->reason != KR_FORBIDDEN && err->reason != KR_NOT_FOUND))
        return;
    inf->refused = true;
    tell(inf, NEWS_REFUSED, NULL, NULL);
}

static void on_page(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct informer *inf = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr bad = { 0 };

    inf->call = NULL;
    if (!err && kj_parse_insitu(r->body, r->n, 0, &doc, &bad) < 0) {
        kerr_wrap(&bad, "list of %s", inf->o.kind->plural);
        err = &bad;
    }
    if (err) {
        list_failed(inf, err);
        return;
    }
    const struct kj_val *root = kj_root(doc), *meta = kj_get(root, "metadata");
    const char *version = kj_str_or(kj_get(meta, "resourceVersion"), "");
    const char *more = kj_str_or(kj_get(meta, "continue"), "");
    absorb_page(inf, root);
    set_str(&inf->list_version, version);
    set_str(&inf->continue_token, *more ? more : NULL);
    if (inf->continue_token)
        list_page(inf);
    else
        list_complete(inf);
}

static struct kube_req base_req(const struct informer *inf, enum kube_verb verb)
{
    return (struct kube_req){
        .verb = verb,
        .kind = inf->o.kind,
        .ns = inf->ns,
        .label_selector = inf->label_selector,
        .field_selector = inf->field_selector,
    };
}

static void list_page(struct informer *inf)
{
    struct kube_req r = base_req(inf, KUBE_LIST);
    if (!inf->continue_token) {
        inf->round++;
        inf->stats.lists++;
    }
    /* No resourceVersion: a consistent snapshot in pages. With "0" the server would ignore the
     * limit and send everything at once. */
    r.limit = inf->page;
    r.continue_token = inf->continue_token;
    inf->call = kube_do(inf->kube, &r, on_page, inf);
}

/* ---- watching ---------------------------------------------------------------------------------
 */

static void on_deleted(struct informer *inf, const struct kj_val *v)
{
    struct kobj *obj = decode(inf, v);
    if (!obj)
        return;
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(obj, key, sizeof key);
    struct objcache_entry *e = objcache_find(&inf->store, key, len);
    const char *version = obj->meta.resource_version;

    /* A late deletion of an earlier object of this name must not take away the present one. */
    if (e && version_is_older(version, e->obj->meta.resource_version)) {
        inf->stats.duplicates++;
    } else {
        remember_deleted(inf, key, len, version);
        drop(inf, key, len);
    }
    kobj_unref(obj);
}

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *v)
{
    struct informer *inf = arg;
    const char *version = kj_str(kj_path(v, "metadata.resourceVersion"));

    inf->got_event = true;
    inf->stats.events++;
    if (type == KUBE_DELETED) {
        on_deleted(inf, v);
    } else if (type != KUBE_BOOKMARK) {
        struct kobj *obj = decode(inf, v);
        if (obj)
            absorb(inf, obj);
    }
    if (version && !(inf->version && version_is_older(version, inf->version)))
        set_str(&inf->version, version);
}

static void on_watch_end(void *arg, const struct kerr *err)
{
    struct informer *inf = arg;
    nsec_t lasted = loop_mono(inf->kube->loop) - inf->watch_began;

    inf->call = NULL;
    if (inf->got_event || lasted > 5 * NSEC_PER_SEC) {
        backoff_reset(&inf->backoff);
        inf->problem = (struct kerr){ 0 };
    }
    if (err && (err->reason == KR_GONE || err->reason == KR_EXPIRED)) {
        KLOG_I(2, "resourceVersion expired, relisting", KV_S("kind", inf->o.kind->kind));
        inf->stats.relists_gone++;
        relist(inf);
        /* The server is well: what failed before it answered does not count. */
        backoff_reset(&inf->backoff);
        retry_later(inf, err);
    } else if (err) {
        retry_later(inf, err);
    } else if (inf->got_event || lasted > NSEC_PER_SEC) {
        watch(inf);
    } else {
        struct kerr brief = { 0 };
        kerr_set(&brief, -EAGAIN, "the watch ended at once without an event");
        retry_later(inf, &brief);
    }
}

static void on_open(void *arg)
{
    struct informer *inf = arg;
    inf->problem = (struct kerr){ 0 };
}

static const struct kube_watch_handler watch_handler = { on_event, on_watch_end, on_open };

static void watch(struct informer *inf)
{
    struct kube_req r = base_req(inf, KUBE_WATCH);
    r.resource_version = inf->version;
    r.bookmarks = true;
    inf->got_event = false;
    inf->watch_began = loop_mono(inf->kube->loop);
    inf->stats.watches++;
    inf->call = kube_watch(inf->kube, &r, &watch_handler, inf);
}

/* ---- resync, life ------------------------------------------------------------------------------
 */

static void resync(struct loop *l, void *arg)
{
    struct informer *inf = arg;
    struct all vec_of(struct kobj *) all = { 0 };

    inf->resync = loop_after(l, inf->o.resync, resync, inf);
    /* Handlers may change nothing here, but a copy keeps that from becoming a rule. */
    map_foreach(&inf->store.objects, e)
        vec_push(&all, kobj_ref(((struct objcache_entry *)e->value)->obj));
    vec_foreach(&all, i) {
        tell(inf, NEWS_UPDATE, all.items[i], all.items[i]);
        kobj_unref(all.items[i]);
    }
    vec_fini(&all);
}

struct informer *informer_new(struct kube *k, const struct informer_opts *o)
{
    struct informer *inf = xnew0(struct informer);
    inf->kube = k;
    inf->o = *o;
    inf->o.page = o->page > 0 ? o->page : PAGE_DEFAULT;
    inf->page = inf->o.page;
    set_str(&inf->ns, o->ns);
    set_str(&inf->label_selector, o->label_selector);
    set_str(&inf->field_selector, o->field_selector);
    inf->backoff = (struct backoff){
        .initial = 800 * NSEC_PER_MSEC,
        .max = 30 * NSEC_PER_SEC,
        .factor = 2.0,
        .jitter = 1.0,
    };
    return inf;
}

struct informer *informer_free(struct informer *inf)
{
    if (!inf)
        return NULL;
    kube_cancel(inf->call);
    timer_cancel(inf->timer);
    timer_cancel(inf->resync);
    vec_foreach(&inf->handlers, i) {
        timer_cancel(inf->handlers.items[i]->replay);
        free(inf->handlers.items[i]);
    }
    vec_fini(&inf->handlers);
    objcache_fini(&inf->store);
    free(inf->version);
    free(inf->list_version);
    free(inf->continue_token);
    free(inf->ns);
    free(inf->label_selector);
    free(inf->field_selector);
    free(inf);
    return NULL;
}

void informer_start(struct informer *inf)
{
    if (inf->started)
        return;
    inf->started = true;
    if (inf->o.resync > 0)
        inf->resync = loop_after(inf->kube->loop, inf->o.resync, resync, inf);
    list_page(inf);
}

const struct kind *informer_kind(const struct informer *inf)
{
    return inf->o.kind;
}

bool informer_synced(const struct informer *inf)
{
    return inf->synced;
}

bool informer_refused(const struct informer *inf)
{
    return inf->refused;
}

struct kobj *informer_get(const struct informer *inf, const char *key)
{
    struct objcache_entry *e = objcache_find(&inf->store, key, strlen(key));
    return e ? e->obj : NULL;
}

size_t informer_count(const struct informer *inf)
{
    return inf->store.objects.n;
}

struct kobj *informer_next(const struct informer *inf, size_t *it)
{
    struct map_entry *e = map_next(&inf->store.objects, it);
    return e ? ((struct objcache_entry *)e->value)->obj : NULL;
}

int informer_add_index(struct informer *inf, index_fn fn)
{
    return objcache_add_index(&inf->store, fn);
}

struct kobj *const *informer_by_index(const struct informer *inf, int index, const char *value,
                                      size_t *ret_n)
{
    return objcache_by_index(&inf->store, index, value, ret_n);
}

struct informer_stats informer_stats(const struct informer *inf)
{
    struct informer_stats s = inf->stats;
    s.objects = inf->store.objects.n;
    s.bytes = inf->store.bytes;
    return s;
}

const char *informer_problem(const struct informer *inf)
{
    return inf->problem.code ? inf->problem.text : NULL;
}

enum kreason informer_problem_reason(const struct informer *inf)
{
    return inf->problem.reason;
}
