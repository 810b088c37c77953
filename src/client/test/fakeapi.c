/* fakeapi.c - a small API server for tests. */
#include "client/test/fakeapi.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"
#include "net/url.h"
#include "json/kj.h"
#include "json/patch.h"

struct object {
    char *key; /* "<prefix>|<ns>|<name>", prefix = "/api/v1/pods" */
    char *prefix, *ns, *name, *json;
    char uid[40];
    uint64_t revision;
};
struct event {
    uint64_t revision;
    char *prefix, *ns, *line;
};
struct watcher {
    struct fakeapi *f;
    struct httpd_req *req;
    char *prefix, *ns;
    struct timer *timeout;
    bool bookmarks;
};
struct snapshot { /* the rest of a paged list */
    uint64_t id, revision;
    struct texts vec_of(char *) items;
    size_t next;
};
struct delayed {
    struct fakeapi *f;
    struct httpd_req *req; /* NULL: nobody waits for the answer any more */
    struct timer *timer;
    char *body;
    size_t n;
    char *agent, *target;
};

struct fakeapi {
    struct loop *loop;
    struct httpd *httpd;
    struct map objects;
    struct events vec_of(struct event) events;
    struct watchers vec_of(struct watcher *) watchers;
    struct snapshots vec_of(struct snapshot *) snapshots;
    struct waiting vec_of(struct delayed *) waiting;
    uint64_t revision, floor, next_id, uids;
    int answer_n, answer_status, answer_after;
    const char *answer_method, *answer_target; /* NULL: any */
    unsigned replay;
    nsec_t slow;
    bool refuse, late, graceful;
    bool breaking; /* connections end by our own doing */
    fake_wrote_fn on_write;
    void *on_write_arg;
    char *auth;
    struct fake_stats stats;
};

/* ---- objects and history
 * ------------------------------------------------------------------------- */

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

static void send_line(struct watcher *w, const char *line)
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
            send_line(w, e.line);
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

static struct object *find(const struct fakeapi *f, const char *prefix, const char *ns,
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

static struct object *store(struct fakeapi *f, const char *prefix, const char *ns, const char *name,
                            const struct kj_val *v)
{
    struct object *o = find(f, prefix, ns, name);
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

static void remove_object(struct fakeapi *f, struct object *o)
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
    store(f, prefix, ns, name, kj_root(doc));
}

bool fake_delete(struct fakeapi *f, const char *collection, const char *name)
{
    char prefix[256], ns[128];
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = find(f, prefix, ns, name);
    if (o)
        remove_object(f, o);
    return o != NULL;
}

const char *fake_find(const struct fakeapi *f, const char *collection, const char *name)
{
    char prefix[256], ns[128];
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = find(f, prefix, ns, name);
    return o ? o->json : NULL;
}

/* A merge patch, or a JSON patch: that is an array. */
static struct object *merge(struct fakeapi *f, struct object *o, const struct kj_val *patch,
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
    return store(f, o->prefix, o->ns, o->name, kj_root(then));
}

void fake_patch(struct fakeapi *f, const char *collection, const char *name, const char *body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char prefix[256], ns[128];
    int r = kj_parse(body, strlen(body), 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    split_collection(collection, prefix, sizeof prefix, ns, sizeof ns);
    struct object *o = find(f, prefix, ns, name);
    if (o)
        merge(f, o, kj_root(doc), NULL);
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

/* ---- answers
 * -------------------------------------------------------------------------------------- */

static void answer_status(struct httpd_req *r, int code, const char *reason, const char *message,
                          int retry_after)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    char after[16];

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Status");
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "status", "Failure");
    kjw_str(&w, "reason", reason);
    kjw_str(&w, "message", message);
    kjw_i64(&w, "code", code);
    kjw_end(&w);
    (void)snprintf(after, sizeof after, "%d", retry_after);
    struct http_header h[] = { { STR("content-type"), STR("application/json") },
                               { STR("retry-after"), str_of(after) } };
    httpd_respond(r, code, h, retry_after >= 0 ? 2 : 1, false);
    httpd_write(r, b.data, b.len);
    httpd_end(r);
}

static void answer_json(struct httpd_req *r, int code, const char *json)
{
    httpd_reply(r, code, "application/json", json, strlen(json));
}

static int by_key(const void *a, const void *b)
{
    const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;
    return strcmp(x->key, y->key);
}

static struct snapshot *take_snapshot(struct fakeapi *f, const char *prefix, const char *ns)
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

static void snapshot_drop(struct fakeapi *f, struct snapshot *s)
{
    vec_foreach(&f->snapshots, i) {
        if (f->snapshots.items[i] == s) {
            vec_swap_remove(&f->snapshots, i);
            break;
        }
    }
    snapshot_free(s);
}

static struct snapshot *continued(struct fakeapi *f, const char *token)
{
    vec_foreach(&f->snapshots, i)
        if (f->snapshots.items[i]->id == strtoull(token, NULL, 10))
            return f->snapshots.items[i];
    return NULL;
}

static void answer_list(struct fakeapi *f, struct httpd_req *r, const char *prefix, const char *ns,
                        struct arena *a)
{
    const char *token = url_query_get(httpd_target(r), "continue", a);
    const char *limit_text = url_query_get(httpd_target(r), "limit", a);
    size_t limit = limit_text ? strtoull(limit_text, NULL, 10) : SIZE_MAX;
    struct snapshot *s = token ? continued(f, token) : take_snapshot(f, prefix, ns);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    f->stats.pages++;
    f->stats.lists += !token;
    if (!s || s->revision < f->floor) {
        answer_status(r, 410, "Expired", "The provided continue parameter is too old", -1);
        return;
    }
    strbuf_append(&b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    for (size_t n = 0; n < limit && s->next < s->items.n; n++)
        strbuf_appendf(&b, "%s%s", n ? "," : "", s->items.items[s->next++]);
    bool more = s->next < s->items.n;
    strbuf_appendf(&b, "],\"metadata\":{\"resourceVersion\":\"%llu\"",
                   (unsigned long long)s->revision);
    if (more)
        strbuf_appendf(&b, ",\"continue\":\"%llu\"", (unsigned long long)s->id);
    strbuf_append(&b, "}}");
    if (!more)
        snapshot_drop(f, s);
    answer_json(r, 200, strbuf_str(&b));
}

/* ---- watches
 * --------------------------------------------------------------------------------------- */

static void watcher_gone(void *arg)
{
    struct watcher *w = arg;
    struct fakeapi *f = w->f;
    vec_foreach(&f->watchers, i) {
        if (f->watchers.items[i] == w) {
            vec_swap_remove(&f->watchers, i);
            break;
        }
    }
    timer_cancel(w->timeout);
    free(w->prefix);
    free(w->ns);
    free(w);
}

static void end_watch(struct watcher *w)
{
    struct httpd_req *r = w->req;
    watcher_gone(w);
    httpd_end(r);
}

static void watch_timeout(struct loop *l, void *arg)
{
    struct watcher *w = arg;
    (void)l;
    w->timeout = NULL;
    end_watch(w);
}

static const struct httpd_events watch_events = { .on_close = watcher_gone };

static bool event_matches(const struct event *e, const struct watcher *w)
{
    return streq(e->prefix, w->prefix) && (!*w->ns || streq(e->ns, w->ns));
}

/* Old news in any order, as clients meet it after a load balancer switched servers. */
static void replay_old(struct fakeapi *f, struct watcher *w, uint64_t from)
{
    struct old vec_of(const struct event *) old = { 0 };
    for (size_t i = f->events.n; i-- > 0 && old.n < f->replay;)
        if (f->events.items[i].revision <= from && event_matches(&f->events.items[i], w))
            vec_push(&old, &f->events.items[i]);
    while (old.n > 0) {
        size_t i = (size_t)loop_rand_below(f->loop, old.n);
        send_line(w, old.items[i]->line);
        vec_swap_remove(&old, i);
    }
    vec_fini(&old);
}

static void answer_watch(struct fakeapi *f, struct httpd_req *r, const char *prefix, const char *ns,
                         struct arena *a)
{
    const char *rv = url_query_get(httpd_target(r), "resourceVersion", a);
    const char *timeout = url_query_get(httpd_target(r), "timeoutSeconds", a);
    struct http_header h[] = { { STR("content-type"), STR("application/json") } };
    uint64_t from = rv ? strtoull(rv, NULL, 10) : f->revision;
    struct watcher *w = xnew0(struct watcher);

    f->stats.watches++;
    httpd_respond(r, 200, h, 1, false);
    if (from < f->floor) {
        static const char gone[] =
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":"
            "\"Expired\",\"message\":\"too old resource version\"}}\n";
        httpd_write(r, gone, sizeof gone - 1);
        httpd_end(r);
        free(w);
        return;
    }
    *w = (struct watcher){ .f = f, .req = r, .prefix = xstrdup(prefix), .ns = xstrdup(ns) };
    vec_push(&f->watchers, w);
    httpd_set_events(r, &watch_events, w);
    int64_t seconds = timeout ? strtoll(timeout, NULL, 10) : 600;
    w->timeout = loop_after(f->loop, seconds * NSEC_PER_SEC, watch_timeout, w);
    replay_old(f, w, from);
    vec_foreach(&f->events, i) {
        const struct event *e = &f->events.items[i];
        if (e->revision > from && event_matches(e, w))
            send_line(w, e->line);
    }
}

void fake_end_watches(struct fakeapi *f)
{
    while (f->watchers.n)
        end_watch(f->watchers.items[0]);
}

void fake_bookmark_all(struct fakeapi *f)
{
    char line[160];
    (void)snprintf(
        line, sizeof line,
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%llu\"}}}"
        "\n",
        (unsigned long long)f->revision);
    vec_foreach(&f->watchers, i)
        send_line(f->watchers.items[i], line);
}

/* ---- writes
 * ---------------------------------------------------------------------------------------- */

static void answer_create(struct fakeapi *f, struct httpd_req *r, const char *prefix,
                          const char *ns, const struct kj_val *body)
{
    const char *name = kj_str(kj_path(body, "metadata.name"));
    f->stats.creates++;
    if (!name) {
        answer_status(r, 422, "Invalid", "metadata.name: Required value", -1);
    } else if (find(f, prefix, ns, name)) {
        answer_status(r, 409, "AlreadyExists", "the object already exists", -1);
    } else {
        answer_json(r, 201, store(f, prefix, ns, name, body)->json);
    }
}

static const char *text_of(const struct object *o, const char *path, char *buf, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int r = kj_parse(o->json, strlen(o->json), 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    (void)snprintf(buf, size, "%s", kj_str_or(kj_path(kj_root(doc), path), ""));
    return buf;
}

/* What the request says about UID and version is so. */
static bool version_fits(const struct object *o, const struct kj_val *body, const char *uid_path)
{
    const char *want = kj_str(kj_path(body, "metadata.resourceVersion"));
    const char *uid = kj_str(kj_path(body, uid_path));

    if (uid && !streq(uid, o->uid))
        return false;
    return !want || strtoull(want, NULL, 10) == o->revision;
}

static void answer_conflict(struct fakeapi *f, struct httpd_req *r)
{
    f->stats.conflicts++;
    answer_status(r, 409, "Conflict", "the object has been modified", -1);
}

static void answer_write(struct fakeapi *f, struct httpd_req *r, struct object *o,
                         const struct kj_val *body)
{
    struct kerr err = { 0 };

    if (!version_fits(o, body, "metadata.uid")) {
        answer_conflict(f, r);
        return;
    }
    if (streq(httpd_method(r), "PUT")) {
        answer_json(r, 200, store(f, o->prefix, o->ns, o->name, body)->json);
        return;
    }
    f->stats.patches++;
    struct object *now = merge(f, o, body, &err);
    if (now)
        answer_json(r, 200, now->json);
    else
        answer_status(r, 422, "Invalid", err.text, -1);
}

static void answer_delete(struct fakeapi *f, struct httpd_req *r, struct object *o,
                          const struct kj_val *body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char node[256], when[KTIME_TEXT_MAX], patch[128];

    if (!version_fits(o, body, "preconditions.uid")) {
        answer_conflict(f, r);
        return;
    }
    if (f->graceful && *text_of(o, "spec.nodeName", node, sizeof node)) {
        int n = (int)ktime_format(loop_wall(f->loop), when);
        (void)snprintf(patch, sizeof patch, "{\"metadata\":{\"deletionTimestamp\":\"%.*s\"}}", n,
                       when);
        if (kj_parse(patch, strlen(patch), 0, &doc, NULL) == 0)
            merge(f, o, kj_root(doc), NULL);
    } else {
        remove_object(f, o);
    }
    answer_json(r, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
}

/* Sets spec.nodeName, once; the status of the answer. */
static int bind_pod(struct fakeapi *f, struct object *o, const struct kj_val *body)
{
    static const char scheduled[] = "{\"type\":\"PodScheduled\",\"status\":\"True\"}";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;
    const char *node = kj_str(kj_path(body, "target.name"));
    char buf[256];

    if (!node)
        return 422;
    if (!version_fits(o, body, "metadata.uid") || *text_of(o, "spec.nodeName", buf, sizeof buf) ||
        *text_of(o, "metadata.deletionTimestamp", buf, sizeof buf)) {
        f->stats.bind_conflicts++;
        return 409;
    }
    strbuf_appendf(&patch, "{\"spec\":{\"nodeName\":\"%s\"},\"status\":{\"conditions\":[%s]}}",
                   node, scheduled);
    f->stats.binds++;
    return kj_parse(patch.data, patch.len, 0, &doc, NULL) == 0 && merge(f, o, kj_root(doc), NULL)
               ? 201
               : 422;
}

/* POST .../pods/NAME/binding */
static void answer_bind(struct fakeapi *f, struct httpd_req *r, struct object *o,
                        const struct kj_val *body)
{
    switch (bind_pod(f, o, body)) {
    case 201:
        answer_json(r, 201, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}");
        break;
    case 409:
        answer_status(r, 409, "Conflict", "the pod is already assigned, deleted or another", -1);
        break;
    default: answer_status(r, 422, "Invalid", "target.name: Required value", -1);
    }
}

/* ---- dispatch
 * ---------------------------------------------------------------------------------------- */

/* Splits "/api/v1/namespaces/x/pods/name" or ".../pods" by counting segments. */
static void split_target(const char *target, char *prefix, size_t psize, char *ns, size_t nsize,
                         char *name, size_t namesize)
{
    char path[512], *seg[12], *save = NULL;
    size_t n = 0;

    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(target, "?"), target);
    for (char *p = strtok_r(path, "/", &save); p && n < ARRAY_LEN(seg);
         p = strtok_r(NULL, "/", &save))
        seg[n++] = p;
    size_t at = n > 0 && streq(seg[0], "apis") ? 3 : 2;
    bool namespaced = n > at + 2 && streq(seg[at], "namespaces");
    ns[0] = name[0] = prefix[0] = '\0';
    if (namespaced)
        (void)snprintf(ns, nsize, "%s", seg[at + 1]);
    size_t plural = namespaced ? at + 2 : at;
    if (plural < n) {
        if (at == 3)
            (void)snprintf(prefix, psize, "/%s/%s/%s/%s", seg[0], seg[1], seg[2], seg[plural]);
        else
            (void)snprintf(prefix, psize, "/%s/%s/%s", seg[0], seg[1], seg[plural]);
    }
    if (plural + 1 < n)
        (void)snprintf(name, namesize, "%s", seg[plural + 1]);
}

static bool is_binding(const char *target)
{
    size_t n = strcspn(target, "?");
    return n > 8 && memcmp(target + n - 8, "/binding", 8) == 0;
}

static void dispatch(struct fakeapi *f, struct httpd_req *r, const struct kj_val *body)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char prefix[256], ns[128], name[256];
    const char *method = httpd_method(r);

    split_target(httpd_target(r), prefix, sizeof prefix, ns, sizeof ns, name, sizeof name);
    struct object *o = *name ? find(f, prefix, ns, name) : NULL;
    bool watch = url_query_get(httpd_target(r), "watch", a) != NULL;
    if (!*name && streq(method, "GET") && watch)
        answer_watch(f, r, prefix, ns, a);
    else if (!*name && streq(method, "GET"))
        answer_list(f, r, prefix, ns, a);
    else if (!*name && streq(method, "POST") && body)
        answer_create(f, r, prefix, ns, body);
    else if (!o)
        answer_status(r, 404, "NotFound", "the object was not found", -1);
    else if (streq(method, "POST") && body && is_binding(httpd_target(r)))
        answer_bind(f, r, o, body);
    else if (streq(method, "GET"))
        f->stats.gets++, answer_json(r, 200, o->json);
    else if (streq(method, "DELETE"))
        answer_delete(f, r, o, body);
    else if (body)
        answer_write(f, r, o, body);
    else
        answer_status(r, 400, "BadRequest", "no body", -1);
}

static void wrote(struct fakeapi *f, uint64_t before, const char *agent, const char *method,
                  const char *target, const struct kj_val *body)
{
    if (f->on_write && f->revision != before)
        f->on_write(f->on_write_arg, agent, method, target, body);
}

static void serve(struct fakeapi *f, struct httpd_req *r, const char *body, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str agent = httpd_header(r, "user-agent");
    uint64_t before = f->revision;
    char who[64], method[16], target[512];

    if (n > 0 && kj_parse(body, n, 0, &doc, NULL) < 0) {
        answer_status(r, 400, "BadRequest", "unreadable body", -1);
        return;
    }
    /* the answer may be the end of the request */
    (void)snprintf(who, sizeof who, "%.*s", (int)agent.n, agent.p ? agent.p : "");
    (void)snprintf(method, sizeof method, "%s", httpd_method(r));
    (void)snprintf(target, sizeof target, "%s", httpd_target(r));
    dispatch(f, r, doc ? kj_root(doc) : NULL);
    wrote(f, before, who, method, target, doc ? kj_root(doc) : NULL);
}

static void delayed_drop(struct delayed *d)
{
    struct fakeapi *f = d->f;
    vec_foreach(&f->waiting, i) {
        if (f->waiting.items[i] == d) {
            vec_swap_remove(&f->waiting, i);
            break;
        }
    }
    timer_cancel(d->timer);
    free(d->body);
    free(d->agent);
    free(d->target);
    free(d);
}

static void delayed_closed(void *arg)
{
    struct delayed *d = arg;

    d->req = NULL;
    if (!d->f->late || d->f->breaking || !is_binding(d->target))
        delayed_drop(d);
}

static void bind_late(struct delayed *d)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct fakeapi *f = d->f;
    uint64_t before = f->revision;
    char prefix[256], ns[128], name[256];

    split_target(d->target, prefix, sizeof prefix, ns, sizeof ns, name, sizeof name);
    struct object *o = find(f, prefix, ns, name);
    if (!o || kj_parse(d->body, d->n, 0, &doc, NULL) < 0)
        return;
    bind_pod(f, o, kj_root(doc));
    wrote(f, before, d->agent, "POST", d->target, kj_root(doc));
}

static void delayed_serve(struct loop *l, void *arg)
{
    static const struct httpd_events none = { 0 };
    struct delayed *d = arg;
    (void)l;
    d->timer = NULL;
    if (d->req) {
        httpd_set_events(d->req, &none, NULL);
        serve(d->f, d->req, d->body, d->n);
    } else {
        bind_late(d);
    }
    delayed_drop(d);
}

static bool is_refused(const struct fakeapi *f, const struct httpd_req *r)
{
    return (!f->answer_method || streq(f->answer_method, httpd_method(r))) &&
           (!f->answer_target || strstr(httpd_target(r), f->answer_target));
}

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    static const struct httpd_events waiting = { .on_close = delayed_closed };
    struct fakeapi *f = arg;
    struct str auth = httpd_header(r, "authorization");

    f->stats.requests++;
    (void)snprintf(f->stats.last_target, sizeof f->stats.last_target, "%s", httpd_target(r));
    struct str agent = httpd_header(r, "user-agent");
    (void)snprintf(f->stats.last_agent, sizeof f->stats.last_agent, "%.*s", (int)agent.n,
                   agent.p ? agent.p : "");
    if (f->auth && !str_eqz(auth, f->auth)) {
        answer_status(r, 401, "Unauthorized", "Unauthorized", -1);
        return;
    }
    if (f->answer_n > 0 && is_refused(f, r)) {
        f->answer_n--;
        answer_status(r, f->answer_status, "", "asked to fail", f->answer_after);
        return;
    }
    if (f->slow == 0) {
        serve(f, r, body, n);
        return;
    }
    struct delayed *d = xnew0(struct delayed);
    *d = (struct delayed){ .f = f, .req = r, .body = xmemdup(body, n), .n = n };
    d->agent = xasprintf("%.*s", (int)agent.n, agent.p ? agent.p : "");
    d->target = xstrdup(httpd_target(r));
    vec_push(&f->waiting, d);
    httpd_set_events(r, &waiting, d);
    d->timer = loop_after(f->loop, f->slow, delayed_serve, d);
}

static void on_request(void *arg, struct httpd_req *r)
{
    httpd_read_body(r, on_body, arg);
}

/* ---- connections, life
 * -------------------------------------------------------------------------------- */

struct dialing {
    struct fakeapi *f;
    http_dialed_fn fn;
    void *arg;
};

static void dialed(struct loop *l, void *arg)
{
    struct dialing *d = arg;
    struct stream *ends[2];
    struct kerr err = { 0 };

    if (d->f->refuse) {
        kerr_set(&err, -ECONNREFUSED, "connection refused");
        d->fn(d->arg, NULL, &err);
    } else {
        stream_mem_pair(l, &(struct mem_opts){ .latency = NSEC_PER_MSEC }, ends);
        httpd_serve(d->f->httpd, ends[1], "memory");
        d->fn(d->arg, ends[0], NULL);
    }
    free(d);
}

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct dialing *d = xnew(struct dialing);
    *d = (struct dialing){ arg, fn, fn_arg };
    loop_post(l, dialed, d);
}

struct http *fake_client(struct fakeapi *f)
{
    return fake_client_as(f, "fake-test");
}

struct http *fake_client_as(struct fakeapi *f, const char *agent)
{
    struct http_client_opts o = {
        .host = "fake",
        .port = 80,
        .dial = dial,
        .dial_arg = f,
        .h2_prior_knowledge = true,
        .user_agent = agent,
    };
    return http_client_new(f->loop, &o);
}

void fake_break_connections(struct fakeapi *f)
{
    struct httpd *old = f->httpd;
    struct httpd_opts o = { .max_conns = 100000 };
    /* A new server for new connections: all the old ones are gone at once. */
    f->httpd = httpd_new(f->loop, &o, on_request, f);
    f->breaking = true;
    httpd_free(old);
    f->breaking = false;
}

struct fakeapi *fake_new(struct loop *l)
{
    struct fakeapi *f = xnew0(struct fakeapi);
    struct httpd_opts o = { .max_conns = 100000 };
    f->loop = l;
    f->revision = 100;
    f->httpd = httpd_new(l, &o, on_request, f);
    return f;
}

static void forget_events(struct fakeapi *f)
{
    vec_foreach(&f->events, i) {
        free(f->events.items[i].prefix);
        free(f->events.items[i].ns);
        free(f->events.items[i].line);
    }
    vec_clear(&f->events);
}

struct fakeapi *fake_free(struct fakeapi *f)
{
    if (!f)
        return NULL;
    f->breaking = true;
    httpd_free(f->httpd);
    while (f->waiting.n)
        delayed_drop(f->waiting.items[0]);
    forget_events(f);
    vec_fini(&f->events);
    vec_foreach(&f->snapshots, i)
        snapshot_free(f->snapshots.items[i]);
    vec_fini(&f->snapshots);
    map_foreach(&f->objects, e)
        object_free(e->value);
    map_fini(&f->objects);
    vec_fini(&f->watchers);
    vec_fini(&f->waiting);
    free(f->auth);
    free(f);
    return NULL;
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

void fake_refuse(struct fakeapi *f, bool refuse)
{
    f->refuse = refuse;
}

void fake_answer_next(struct fakeapi *f, int n, int status, int retry_after)
{
    f->answer_n = n;
    f->answer_status = status;
    f->answer_after = retry_after;
    f->answer_method = f->answer_target = NULL;
}

void fake_answer_next_to(struct fakeapi *f, const char *method, const char *target, int n,
                         int status)
{
    fake_answer_next(f, n, status, -1);
    f->answer_method = method;
    f->answer_target = target;
}

void fake_replay_on_watch(struct fakeapi *f, unsigned n)
{
    f->replay = n;
}

void fake_slow(struct fakeapi *f, nsec_t delay)
{
    f->slow = delay;
}

void fake_late(struct fakeapi *f, bool late)
{
    f->late = late;
}

void fake_graceful(struct fakeapi *f, bool graceful)
{
    f->graceful = graceful;
}

void fake_on_write(struct fakeapi *f, fake_wrote_fn fn, void *arg)
{
    f->on_write = fn;
    f->on_write_arg = arg;
}

void fake_require_auth(struct fakeapi *f, const char *header)
{
    free(f->auth);
    f->auth = header ? xstrdup(header) : NULL;
}

struct fake_stats fake_stats(const struct fakeapi *f)
{
    struct fake_stats s = f->stats;
    s.open_watches = (unsigned)f->watchers.n;
    return s;
}
