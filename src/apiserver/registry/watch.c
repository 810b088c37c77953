/* watch.c - one watch: first what is there (when asked for), then events from the store.
 *
 * The sink says when it is full; then neither the list nor the store goes on until api_resume().
 * A client that never reads costs what its sink holds, and is cut off by the store when it falls
 * behind history.
 */
#include <stdio.h>

#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "base/num.h"

#define BOOKMARK_EVERY (60 * NSEC_PER_SEC)
#define TIMEOUT_MIN_S  1800 /* and up to twice that, as kube-apiserver's --min-request-timeout */
enum { LIST_CHUNK = 500 };  /* objects a turn */

struct watcher {
    struct api_call *c;
    struct selection *sel;
    struct store_watch *sw;
    struct timer *deadline, *bookmark, *step; /* step: the next turn of the initial list */
    uint64_t list_at;                         /* revision of the initial list */
    uint64_t seen;                            /* everything up to here was told */
    uint64_t told;                            /* what the client knows to have seen */
    uint64_t skip_to;                         /* events up to here are not wanted */
    char *after_ns, *after_name;
    bool listing, full, columns_sent;
    int count;               /* in this chunk */
    int missing;             /* of them: conversions that a webhook has to make first */
    struct store_event held; /* an event that waits for its conversion; doc NULL: none */
    struct kerr why;
};

static void drop_held(struct watcher *w)
{
    free((char *)(uintptr_t)w->held.doc);
    free((char *)(uintptr_t)w->held.old_doc);
    free((char *)(uintptr_t)w->held.key.ns);
    free((char *)(uintptr_t)w->held.key.name);
    w->held = (struct store_event){ 0 };
}

static void watcher_free(struct watcher *w)
{
    struct apiserver *s = w->c->s;
    vec_foreach(&s->watches, i)
        if (s->watches.items[i] == w->c) {
            vec_swap_remove(&s->watches, i);
            break;
        }
    w->sw = store_unwatch(w->sw);
    timer_cancel(w->deadline);
    timer_cancel(w->bookmark);
    timer_cancel(w->step);
    free(w->after_ns);
    free(w->after_name);
    drop_held(w);
    s->stats.open_watches = s->watches.n;
    free(w);
}

void watch_close(struct watcher *w)
{
    w->c->watch = NULL;
    watcher_free(w);
}

/* The call is gone afterwards. */
static void finish(struct watcher *w)
{
    struct api_call *c = w->c;
    c->done = true;
    c->sink->end(c->sink_arg, c);
    api_cancel(c);
}

static void fail(struct watcher *w, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct api_call *c = w->c;
    api_status_text(&b, err);
    c->sink->event(c->sink_arg, c, "ERROR", b.data, b.len);
    finish(w);
}

/* A text of any length, from a webhook. */
static void fail_text(struct watcher *w, const char *message)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct api_call *c = w->c;
    status_write(&b, NULL, message, "", NULL, 500);
    c->sink->event(c->sink_arg, c, "ERROR", b.data, b.len);
    finish(w);
}

static void fail_later(struct loop *l, void *arg)
{
    struct watcher *w = arg;
    (void)l;
    w->step = NULL;
    fail(w, &w->why);
}

/* ---- telling ------------------------------------------------------------------------------------
 */

/* false: the sink is full. */
static bool tell(struct watcher *w, const char *type, const char *doc, size_t n,
                 const struct kj_doc *parsed)
{
    struct api_call *c = w->c;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (c->format == API_AS_METADATA) {
        object_metadata_only(doc, n, false, &b);
    } else if (c->format == API_AS_TABLE) {
        CLEANUP(kj_doc_free) struct kj_doc *own = NULL;
        CLEANUP(strbuf_fini) struct strbuf rows = STRBUF_INIT;
        char meta[64];
        if (!parsed && object_load(c->res, doc, n, &own, NULL) < 0)
            return true;
        const struct kj_val *obj = kj_root(own ? own : parsed);
        table_row(c, obj, &rows);
        (void)snprintf(meta, sizeof meta, "{\"resourceVersion\":\"%s\"}",
                       kj_str_or(kj_path(obj, "metadata.resourceVersion"), ""));
        table_wrap(c, meta, &rows, !w->columns_sent, &b);
        w->columns_sent = true;
    } else {
        object_show(c->res, doc, n, false, &b);
    }
    if (!c->sink->event(c->sink_arg, c, type, b.data, b.len))
        w->full = true;
    return !w->full;
}

static void tell_bookmark(struct watcher *w, uint64_t rev, bool initial_end)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_appendf(
        &b, "{\"kind\":\"\",\"apiVersion\":\"\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}}",
        (unsigned long long)rev,
        initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    w->told = rev;
    tell(w, "BOOKMARK", b.data, b.len, NULL);
}

/* ---- parsed events ------------------------------------------------------------------------------
 * The store feeds one watcher after the other with the same events, all in one turn: what the first
 * with a selector parses serves the others, and is dropped in the next turn. */

enum { CACHE_SLOTS = 256 }; /* no watcher gets more in a turn */

struct event_docs {
    uint64_t rev;
    const struct resource *res; /* two resources may show one stored kind differently */
    struct kj_doc *now, *before;
};
struct event_cache {
    struct event_docs slots[CACHE_SLOTS];
    struct timer *clear;
};

static void docs_clear(struct event_docs *e)
{
    kj_doc_free(e->now);
    kj_doc_free(e->before);
    *e = (struct event_docs){ 0 };
}

void watch_drop_cache(struct apiserver *s)
{
    struct event_cache *cache = s->events;
    if (!cache)
        return;
    timer_cancel(cache->clear);
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        docs_clear(&cache->slots[i]);
    free(cache);
    s->events = NULL;
}

static void on_clear(struct loop *l, void *arg)
{
    struct apiserver *s = arg;
    (void)l;
    s->events->clear = NULL;
    watch_drop_cache(s);
}

static struct event_docs *docs_of(struct apiserver *s, const struct resource *r, uint64_t rev)
{
    if (!s->events) {
        s->events = xnew0(struct event_cache);
        s->events->clear = loop_after(s->loop, 0, on_clear, s);
    }
    struct event_docs *e = &s->events->slots[rev % CACHE_SLOTS];
    if (e->rev != rev || e->res != r) {
        docs_clear(e);
        e->rev = rev;
        e->res = r;
    }
    return e;
}

/* ---- events of the store ------------------------------------------------------------------------
 */

/* An event whose documents are in the version of the watch. */
static bool take_event(struct watcher *w, const struct store_event *e)
{
    bool is, was;

    if (!w->sel) {
        static const char *const names[] = { "ADDED", "MODIFIED", "DELETED" };
        w->told = e->rev;
        return tell(w, names[e->type], e->doc, e->n, NULL);
    }
    struct event_docs *docs = docs_of(w->c->s, w->c->res, e->rev);
    is = e->type != STORE_DELETED && selection_match(w->sel, &e->key, e->doc, e->n, &docs->now);
    was = e->type != STORE_ADDED && e->old_doc &&
          selection_match(w->sel, &e->key, e->old_doc, e->old_n, &docs->before);
    if (!is && !was)
        return true;
    w->told = e->rev;
    if (is)
        return tell(w, was ? "MODIFIED" : "ADDED", e->doc, e->n, docs->now);
    if (e->type == STORE_DELETED)
        return tell(w, "DELETED", e->doc, e->n, NULL);
    /* It left the selection: the old state, at the revision of the change. */
    CLEANUP(strbuf_fini) struct strbuf last = STRBUF_INIT;
    object_set_rev(e->old_doc, e->old_n, e->rev, &last);
    return tell(w, "DELETED", last.data, last.len, NULL);
}

/* The documents of an event in the version of the watch. */
static int convert_event(struct watcher *w, struct store_event *e, struct kerr *err)
{
    struct api_call *c = w->c;
    int now = convert_stored(c, c->res, &e->doc, &e->n, err), before = 0;

    if (w->sel && e->old_doc && (now == 0 || now == -EINPROGRESS))
        before = convert_stored(c, c->res, &e->old_doc, &e->old_n, err);
    return now == 0 || (before < 0 && before != -EINPROGRESS) ? before : now;
}

static void hold(struct watcher *w, const struct store_event *e)
{
    w->held = *e;
    w->held.key.ns = xstrdup(e->key.ns);
    w->held.key.name = xstrdup(e->key.name);
    w->held.doc = xstrndup(e->doc, e->n);
    w->held.old_doc = e->old_doc ? xstrndup(e->old_doc, e->old_n) : NULL;
}

static void on_converted(void *arg, struct api_call *c, const char *error);

static bool on_event(void *arg, const struct store_event *stored)
{
    struct watcher *w = arg;
    struct store_event e = *stored;

    w->seen = e.rev;
    if (e.rev <= w->skip_to)
        return true;
    int r = convert_event(w, &e, &w->why);
    if (r == 0) {
        bool more = take_event(w, &e);
        convert_release(w->c);
        return more;
    }
    hold(w, stored); /* the store's cursor waits with it */
    if (r == -EINPROGRESS)
        convert_wait(w->c, on_converted, w);
    else
        w->step = loop_after(w->c->s->loop, 0, fail_later, w);
    return false;
}

/* What the webhook has converted is told now, and the cursor goes on. */
static void on_converted(void *arg, struct api_call *c, const char *error)
{
    struct watcher *w = arg;
    struct store_event e = w->held;

    (void)c;
    if (error) {
        fail_text(w, error);
        return;
    }
    if (convert_event(w, &e, &w->why) == 0)
        (void)take_event(w, &e);
    convert_release(w->c);
    drop_held(w);
    if (w->sw && !w->full)
        store_watch_resume(w->sw);
}

static void on_progress(void *arg, uint64_t rev)
{
    struct watcher *w = arg;
    if (rev > w->seen)
        w->seen = rev;
    if (resource_is_gone(w->c->res))
        finish(w);
}

static void on_end(void *arg, const struct kerr *err)
{
    struct watcher *w = arg;
    w->sw = NULL;
    if (err && err->reason == KR_EXPIRED)
        fail(w, err);
    else
        finish(w);
}

static const struct store_watch_handler handler = { on_event, on_progress, on_end };

static int too_old(struct kerr *err, uint64_t rev, struct store *s)
{
    return kerr_api(err, -EIDRM, KR_EXPIRED, "too old resource version: %llu (%llu)",
                    (unsigned long long)rev, (unsigned long long)store_stats(s).oldest);
}

static int follow(struct watcher *w, uint64_t from, struct kerr *err)
{
    struct api_call *c = w->c;
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL;
    int e = store_watch(c->s->store, c->res->store_res, ns, from, &handler, w, &w->sw, err);
    return e == -EIDRM ? too_old(err, from, c->s->store) : e;
}

/* ---- what is there at first
 * ----------------------------------------------------------------------
 */

static void list_step(struct loop *l, void *arg);

static void on_list_converted(void *arg, struct api_call *c, const char *error)
{
    struct watcher *w = arg;

    if (error)
        fail_text(w, error);
    else
        w->step = loop_after(c->s->loop, 0, list_step, w);
}

static bool on_listed(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct watcher *w = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    (void)rev;
    if (w->full || w->count++ >= LIST_CHUNK) {
        w->listing = true; /* more to come */
        return false;
    }
    int e = convert_stored(w->c, w->c->res, &doc, &n, &w->why);
    if (e < 0 && e != -EINPROGRESS)
        return false;
    w->missing += e == -EINPROGRESS;
    if (w->missing) /* what comes after one that is missing waits with it */
        return true;
    free(w->after_ns);
    free(w->after_name);
    w->after_ns = xstrdup(k->ns);
    w->after_name = xstrdup(k->name);
    if (selection_match(w->sel, k, doc, n, &parsed))
        tell(w, "ADDED", doc, n, parsed);
    return true;
}

static void list_step(struct loop *l, void *arg)
{
    struct watcher *w = arg;
    struct api_call *c = w->c;
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL;
    struct store_key after = { c->res->store_res, w->after_ns, w->after_name };
    struct kerr err = { 0 };

    w->step = NULL;
    w->count = w->missing = 0;
    w->listing = false;
    int e = store_list(c->s->store, c->res->store_res, ns, w->list_at,
                       w->after_name ? &after : NULL, on_listed, w, &err);
    if (e == -EIDRM)
        too_old(&err, w->list_at, c->s->store);
    if (e == 0 && w->why.code) {
        err = w->why;
        e = err.code;
    }
    if (e == 0 && w->missing) {
        w->listing = true;
        convert_wait(c, on_list_converted, w);
        return;
    }
    convert_release(c);
    if (e == 0 && w->listing) {
        if (!w->full)
            w->step = loop_after(l, 0, list_step, w);
        return;
    }
    if (e == 0) {
        w->seen = w->list_at;
        if (c->send_initial == 1 && c->bookmarks)
            tell_bookmark(w, w->list_at, true);
        e = follow(w, w->list_at, &err);
    }
    if (e < 0)
        fail(w, &err);
}

void watch_resume(struct watcher *w)
{
    if (!w->full)
        return;
    w->full = false;
    if (w->listing && !w->step && !w->missing)
        w->step = loop_after(w->c->s->loop, 0, list_step, w);
    if (w->sw && !w->held.doc)
        store_watch_resume(w->sw);
}

/* ---- time ---------------------------------------------------------------------------------------
 */

static void on_bookmark(struct loop *l, void *arg)
{
    struct watcher *w = arg;
    w->bookmark = loop_after(l, loop_outside(l, BOOKMARK_EVERY), on_bookmark, w);
    if (!w->full && w->sw && w->seen > w->told && !w->held.doc)
        tell_bookmark(w, w->seen, false);
}

void watch_finish(struct watcher *w)
{
    if (w->c->bookmarks && !w->full && w->sw && w->seen > w->told && !w->held.doc)
        tell_bookmark(w, w->seen, false);
    finish(w);
}

static void on_deadline(struct loop *l, void *arg)
{
    struct watcher *w = arg;
    (void)l;
    w->deadline = NULL;
    watch_finish(w);
}

/* ---- start --------------------------------------------------------------------------------------
 */

static struct watcher *watcher_new(struct api_call *c, struct selection *sel)
{
    struct loop *l = c->s->loop;
    struct watcher *w = xnew0(struct watcher);
    int64_t seconds = c->timeout_s > 0 ? MIN(c->timeout_s, (int64_t)86400)
                                       : TIMEOUT_MIN_S + (int64_t)loop_rand_below(l, TIMEOUT_MIN_S);
    w->c = c;
    w->sel = sel;
    c->watch = w;
    vec_push(&c->s->watches, c);
    c->s->stats.watches_started++;
    c->s->stats.open_watches = c->s->watches.n;
    w->deadline = loop_after(l, loop_outside(l, seconds * NSEC_PER_SEC), on_deadline, w);
    if (c->bookmarks)
        w->bookmark =
            loop_after(l, loop_jitter(l, loop_outside(l, BOOKMARK_EVERY), 0.25), on_bookmark, w);
    return w;
}

void verb_watch(struct api_call *c)
{
    uint64_t now = store_revision(c->s->store), from;
    struct selection *sel;
    struct kerr err = { 0 };

    if (parse_rev_param(c->resource_version, &from, &err) < 0 || selection_new(c, &sel, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    struct watcher *w = watcher_new(c, sel);
    bool initial = c->send_initial == 1 || (c->send_initial < 0 && from == 0);
    c->sink->open(c->sink_arg, c);
    if (initial) {
        w->list_at = now;
        w->step = loop_after(c->s->loop, 0, list_step, w);
        return;
    }
    if (from > now) /* a revision still to come: nothing is told before it */
        w->skip_to = from;
    w->seen = w->told = from = from && from < now ? from : now;
    if (follow(w, from, &err) < 0)
        fail(w, &err);
}
