/* fakeapi_store.c - the objects of the small API server, and what happened to them. */
#include <stdio.h>

#include "base/strbuf.h"
#include "client/test/fakeapi_int.h"
#include "net/httpd.h"
#include "json/patch.h"

/* ---- history ----------------------------------------------------------------------------------
 */

/* "/api/v1/namespaces/ns/pods" -> prefix "/api/v1/pods", ns "ns". */
static void split_collection(const char *c, char *prefix, size_t psize, char *ns, size_t nsize)
{
    const char *at = strstr(c, "/namespaces/");
    ns[0] = '\0';
    if (!at || !strchr(at + 12, '/')) {
        (void)snprintf(prefix, psize, "%s", c);
        return;
    }
    const char *name = at + 12, *rest = strchr(name, '/');
    (void)snprintf(ns, nsize, "%.*s", (int)(rest - name), name);
    (void)snprintf(prefix, psize, "%.*s%s", (int)(at - c), c, rest);
}

void fake_send_line(struct watcher *w, const char *line)
{
    httpd_write(w->req, line, strlen(line));
}

static void publish(struct fakeapi *f, const char *type, const char *prefix, const char *ns,
                    const char *json)
{
    struct event e = { f->revision, xstrdup(prefix), xstrdup(ns),
                       xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, json) };
    vec_push(&f->events, e);
    vec_foreach(&f->watchers, i) {
        struct watcher *w = f->watchers.items[i];
        if (streq(w->prefix, prefix) && (!*w->ns || streq(w->ns, ns)))
            fake_send_line(w, e.line);
    }
}

static char *stamp(struct fakeapi *f, const struct kj_val *v, const char *ns, const char *name,
                   const char *uid)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_mval *root = kj_mcopy(d, v), *meta = kj_mget(root, "metadata");
    char rv[24];

    if (!meta) {
        meta = kj_mobj(d);
        kj_mset(d, root, "metadata", meta);
    }
    (void)snprintf(rv, sizeof rv, "%llu", (unsigned long long)f->revision);
    kj_mset(d, meta, "name", kj_mstr(d, name));
    if (*ns)
        kj_mset(d, meta, "namespace", kj_mstr(d, ns));
    kj_mset(d, meta, "uid", kj_mstr(d, uid));
    kj_mset(d, meta, "resourceVersion", kj_mstr(d, rv));
    kj_mwrite(root, 0, &out);
    return strbuf_take(&out);
}

struct object *fake_object_find(const struct fakeapi *f, const char *prefix, const char *ns,
                                const char *name)
{
    CLEANUP(mem_free) char *key = xasprintf("%s|%s|%s", prefix, ns, name);
    return map_getz(&f->objects, key);
}

static void object_free(struct object *o)
{
    free(o->key);
    free(o->prefix);
    free(o->ns);
    free(o->name);
    free(o->json);
    free(o);
}

struct object *fake_object_store(struct fakeapi *f, const char *prefix, const char *ns,
                                 const char *name, const struct kj_val *v)
{
    struct object *o = fake_object_find(f, prefix, ns, name);
    bool added = !o;

    f->revision++;
    if (added) {
        o = xnew0(struct object);
        o->key = xasprintf("%s|%s|%s", prefix, ns, name);
        o->prefix = xstrdup(prefix);
        o->ns = xstrdup(ns);
        o->name = xstrdup(name);
        map_putz(&f->objects, o->key, o);
        (void)snprintf(o->uid, sizeof o->uid, "00000000-0000-4000-8000-%012llx",
                       (unsigned long long)++f->uids);
    }
    char *json = stamp(f, v, ns, name, o->uid);
    free(o->json);
    o->json = json;
    o->revision = f->revision;
    publish(f, added ? "ADDED" : "MODIFIED", prefix, ns, o->json);
    return o;
}

void fake_object_remove(struct fakeapi *f, struct object *o)
{
    CLEANUP(kj_doc_free) struct kj_doc *old = NULL;
    int r = kj_parse(o->json, strlen(o->json), 0, &old, NULL);
    assert(r == 0);
    (void)r;
    f->revision++;
    CLEANUP(mem_free)
    char *last = stamp(f, kj_root(old), o->ns, o->name, o->uid);
    map_removez(&f->objects, o->key);
    publish(f, "DELETED", o->prefix, o->ns, last);
    object_free(o);
}

void fake_put(struct fakeapi *f, const char *collection, const char *name, const char *body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char prefix[256], ns[128];
    int r = kj_parse(body, strlen(body), 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    fake_object_store(f, prefix, ns, name, kj_root(doc));
}

bool fake_delete(struct fakeapi *f, const char *collection, const char *name)
{
    char prefix[256], ns[128];
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = fake_object_find(f, prefix, ns, name);
    if (o)
        fake_object_remove(f, o);
    return o != NULL;
}

const char *fake_find(const struct fakeapi *f, const char *collection, const char *name)
{
    char prefix[256], ns[128];
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = fake_object_find(f, prefix, ns, name);
    return o ? o->json : NULL;
}

/* A merge patch, or a JSON patch: that is an array. */
struct object *fake_object_merge(struct fakeapi *f, struct object *o, const struct kj_val *patch,
                                 struct kerr *err)
{
    bool is_json = kj_type(patch) == KJ_ARR;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL, *then = NULL;
    struct kj_mval *merged = NULL;

    if (kj_parse(o->json, strlen(o->json), 0, &now, err) < 0 ||
        (is_json ? kj_patch_json : kj_patch_merge)(d, kj_root(now), patch, &merged, err) < 0)
        return NULL;
    then = kj_freeze(merged);
    return fake_object_store(f, o->prefix, o->ns, o->name, kj_root(then));
}

void fake_patch(struct fakeapi *f, const char *collection, const char *name, const char *body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char prefix[256], ns[128];
    int r = kj_parse(body, strlen(body), 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = fake_object_find(f, prefix, ns, name);
    if (o)
        fake_object_merge(f, o, kj_root(doc), NULL);
}

static bool is_of(const struct object *o, const char *plural)
{
    const char *slash = strrchr(o->prefix, '/');
    return slash && streq(slash + 1, plural);
}

void fake_each(const struct fakeapi *f, const char *plural, fake_fn fn, void *arg)
{
    map_foreach(&f->objects, e) {
        const struct object *o = e->value;
        char rv[24];
        (void)snprintf(rv, sizeof rv, "%llu", (unsigned long long)o->revision);
        if (is_of(o, plural))
            fn(arg, o->ns, o->name, rv);
    }
}

size_t fake_count(const struct fakeapi *f, const char *plural)
{
    size_t n = 0;
    map_foreach(&f->objects, e)
        n += is_of(e->value, plural);
    return n;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static int by_key(const void *a, const void *b)
{
    const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;
    return strcmp(x->key, y->key);
}

struct snapshot *fake_snapshot_take(struct fakeapi *f, const char *prefix, const char *ns)
{
    struct snapshot *s = xnew0(struct snapshot);
    struct found vec_of(struct object *) found = { 0 };

    map_foreach(&f->objects, e) {
        struct object *o = e->value;
        if (streq(o->prefix, prefix) && (!*ns || streq(o->ns, ns)))
            vec_push(&found, o);
    }
    if (found.n)
        qsort(found.items, found.n, sizeof *found.items, by_key);
    vec_foreach(&found, i)
        vec_push(&s->items, xstrdup(found.items[i]->json));
    vec_fini(&found);
    s->id = ++f->next_id;
    s->revision = f->revision;
    vec_push(&f->snapshots, s);
    return s;
}

static void snapshot_free(struct snapshot *s)
{
    vec_foreach(&s->items, i)
        free(s->items.items[i]);
    vec_fini(&s->items);
    free(s);
}

void fake_snapshot_drop(struct fakeapi *f, struct snapshot *s)
{
    vec_foreach(&f->snapshots, i) {
        if (f->snapshots.items[i] == s) {
            vec_swap_remove(&f->snapshots, i);
            break;
        }
    }
    snapshot_free(s);
}

struct snapshot *fake_snapshot_find(struct fakeapi *f, const char *token)
{
    vec_foreach(&f->snapshots, i)
        if (f->snapshots.items[i]->id == strtoull(token, NULL, 10))
            return f->snapshots.items[i];
    return NULL;
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void forget_events(struct fakeapi *f)
{
    vec_foreach(&f->events, i) {
        free(f->events.items[i].prefix);
        free(f->events.items[i].ns);
        free(f->events.items[i].line);
    }
    vec_clear(&f->events);
}

uint64_t fake_revision(const struct fakeapi *f)
{
    return f->revision;
}

void fake_compact(struct fakeapi *f)
{
    f->floor = ++f->revision;
    forget_events(f);
}

void fake_store_fini(struct fakeapi *f)
{
    forget_events(f);
    vec_fini(&f->events);
    vec_foreach(&f->snapshots, i)
        snapshot_free(f->snapshots.items[i]);
    vec_fini(&f->snapshots);
    map_foreach(&f->objects, e)
        object_free(e->value);
    map_fini(&f->objects);
}
