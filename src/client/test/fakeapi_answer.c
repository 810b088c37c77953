/* fakeapi_answer.c - what the small API server answers. */
#include <stdio.h>

#include "base/arena.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/test/fakeapi_int.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/url.h"

void fake_answer_status(struct httpd_req *r, int code, const char *reason, const char *message,
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

static void answer_list(struct fakeapi *f, struct httpd_req *r, const char *prefix, const char *ns,
                        struct arena *a)
{
    const char *token = url_query_get(httpd_target(r), "continue", a);
    const char *limit_text = url_query_get(httpd_target(r), "limit", a);
    size_t limit = limit_text ? strtoull(limit_text, NULL, 10) : SIZE_MAX;
    struct snapshot *s = token ? fake_snapshot_find(f, token) : fake_snapshot_take(f, prefix, ns);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    f->stats.pages++;
    f->stats.lists += !token;
    if (!s || s->revision < f->floor) {
        fake_answer_status(r, 410, "Expired", "The provided continue parameter is too old", -1);
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
        fake_snapshot_drop(f, s);
    answer_json(r, 200, strbuf_str(&b));
}

/* ---- watches ----------------------------------------------------------------------------------
 */

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
        fake_send_line(w, old.items[i]->line);
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
            fake_send_line(w, e->line);
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
        fake_send_line(f->watchers.items[i], line);
}

/* ---- writes -----------------------------------------------------------------------------------
 */

/* The body with the time of its creation, unless it names one. */
static struct kj_doc *dated(struct fakeapi *f, const struct kj_val *body)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mcopy(d, body), *meta = kj_mget(root, "metadata");
    char now[KTIME_TEXT_MAX];

    ktime_format(loop_wall(f->loop), now);
    if (!kj_mget(meta, "creationTimestamp"))
        kj_mset(d, meta, "creationTimestamp", kj_mstr(d, now));
    return kj_freeze(root);
}

static void answer_create(struct fakeapi *f, struct httpd_req *r, const char *prefix,
                          const char *ns, const struct kj_val *body)
{
    const char *name = kj_str(kj_path(body, "metadata.name"));
    f->stats.creates++;
    if (!name) {
        fake_answer_status(r, 422, "Invalid", "metadata.name: Required value", -1);
    } else if (fake_object_find(f, prefix, ns, name)) {
        fake_answer_status(r, 409, "AlreadyExists", "the object already exists", -1);
    } else {
        CLEANUP(kj_doc_free) struct kj_doc *doc = dated(f, body);
        answer_json(r, 201, fake_object_store(f, prefix, ns, name, kj_root(doc))->json);
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

/* As real servers say it: an object that took over the name is not one that was modified. */
static void answer_conflict(struct fakeapi *f, struct httpd_req *r, const struct object *o,
                            const struct kj_val *body)
{
    const char *uid = kj_str(kj_path(body, "metadata.uid"));
    char text[256] = "the object has been modified";

    f->stats.conflicts++;
    if (uid && !streq(uid, o->uid))
        (void)snprintf(text, sizeof text,
                       "Precondition failed: UID in precondition: %.64s, UID in object meta: %s",
                       uid, o->uid);
    fake_answer_status(r, 409, "Conflict", text, -1);
}

static void answer_write(struct fakeapi *f, struct httpd_req *r, struct object *o,
                         const struct kj_val *body)
{
    struct kerr err = { 0 };

    if (!version_fits(o, body, "metadata.uid")) {
        answer_conflict(f, r, o, body);
        return;
    }
    if (streq(httpd_method(r), "PUT")) {
        answer_json(r, 200, fake_object_store(f, o->prefix, o->ns, o->name, body)->json);
        return;
    }
    f->stats.patches++;
    struct object *now = fake_object_merge(f, o, body, &err);
    if (now)
        answer_json(r, 200, now->json);
    else
        fake_answer_status(r, 422, "Invalid", err.text, -1);
}

static void answer_delete(struct fakeapi *f, struct httpd_req *r, struct object *o,
                          const struct kj_val *body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char node[256], when[KTIME_TEXT_MAX], patch[128];

    if (!version_fits(o, body, "preconditions.uid")) {
        answer_conflict(f, r, o, body);
        return;
    }
    if (f->graceful && *text_of(o, "spec.nodeName", node, sizeof node)) {
        int n = (int)ktime_format(loop_wall(f->loop), when);
        (void)snprintf(patch, sizeof patch, "{\"metadata\":{\"deletionTimestamp\":\"%.*s\"}}", n,
                       when);
        if (kj_parse(patch, strlen(patch), 0, &doc, NULL) == 0)
            fake_object_merge(f, o, kj_root(doc), NULL);
    } else {
        fake_object_remove(f, o);
    }
    answer_json(r, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
}

/* Sets spec.nodeName, once; the status of the answer. */
int fake_bind_pod(struct fakeapi *f, struct object *o, const struct kj_val *body)
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
    strbuf_appendf(&patch, "{\"spec\":{\"nodeName\":\"%s\"},\"status\":{\"conditions\":[%s]}", node,
                   scheduled);
    const struct kj_val *annotations = kj_path(body, "metadata.annotations");
    if (annotations) { /* they become the pod's, in the same write */
        strbuf_append(&patch, ",\"metadata\":{\"annotations\":");
        kj_write(annotations, 0, &patch);
        strbuf_append(&patch, "}");
    }
    strbuf_append(&patch, "}");
    f->stats.binds++;
    return kj_parse(patch.data, patch.len, 0, &doc, NULL) == 0 &&
                   fake_object_merge(f, o, kj_root(doc), NULL)
               ? 201
               : 422;
}

/* POST .../pods/NAME/binding */
static void answer_bind(struct fakeapi *f, struct httpd_req *r, struct object *o,
                        const struct kj_val *body)
{
    switch (fake_bind_pod(f, o, body)) {
    case 201:
        answer_json(r, 201, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}");
        break;
    case 409:
        fake_answer_status(r, 409, "Conflict", "the pod is already assigned, deleted or another",
                           -1);
        break;
    default: fake_answer_status(r, 422, "Invalid", "target.name: Required value", -1);
    }
}

/* ---- dispatch ---------------------------------------------------------------------------------
 */

/* Splits "/api/v1/namespaces/x/pods/name" or ".../pods" by counting segments. */
void fake_split_target(const char *target, char *prefix, size_t psize, char *ns, size_t nsize,
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

bool fake_is_binding(const char *target)
{
    size_t n = strcspn(target, "?");
    return n > 8 && memcmp(target + n - 8, "/binding", 8) == 0;
}

/* POST .../pods/NAME/eviction: as a DELETE with its options; budgets are not looked at. */
static bool is_eviction(const char *target)
{
    return str_ends(target, "/eviction");
}

void fake_dispatch(struct fakeapi *f, struct httpd_req *r, const struct kj_val *body)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char prefix[256], ns[128], name[256];
    const char *method = httpd_method(r);

    fake_split_target(httpd_target(r), prefix, sizeof prefix, ns, sizeof ns, name, sizeof name);
    struct object *o = *name ? fake_object_find(f, prefix, ns, name) : NULL;
    bool watch = url_query_get(httpd_target(r), "watch", a) != NULL;
    if (!*name && streq(method, "GET") && watch)
        answer_watch(f, r, prefix, ns, a);
    else if (!*name && streq(method, "GET"))
        answer_list(f, r, prefix, ns, a);
    else if (!*name && streq(method, "POST") && body)
        answer_create(f, r, prefix, ns, body);
    else if (!o)
        fake_answer_status(r, 404, "NotFound", "the object was not found", -1);
    else if (streq(method, "POST") && body && fake_is_binding(httpd_target(r)))
        answer_bind(f, r, o, body);
    else if (streq(method, "POST") && body && is_eviction(httpd_target(r)))
        answer_delete(f, r, o, kj_get(body, "deleteOptions"));
    else if (streq(method, "GET"))
        f->stats.gets++, answer_json(r, 200, o->json);
    else if (streq(method, "DELETE"))
        answer_delete(f, r, o, body);
    else if (body)
        answer_write(f, r, o, body);
    else
        fake_answer_status(r, 400, "BadRequest", "no body", -1);
}
