/* watch.c - watchers: a cursor each over the shared history, fed in bounded pieces.
 *
 * What a watcher costs is its struct, however far it is behind. Recent documents are shared; older
 * ones are read from the backend, a few per turn. The document before a change is looked up too:
 * free while it is among the recent ones, one read from the backend otherwise, which is kept with
 * the event so that the other watchers need not repeat it.
 */
#include "apiserver/store/internal.h"

struct store_watch {
    struct link link;
    struct store *s;
    const struct resource *res;
    const char *ns;  /* interned; NULL: all */
    uint64_t cursor; /* events up to here are done with */
    uint64_t told;   /* the newest revision the owner has heard of */
    bool paused, dead;
    struct store_watch_handler h;
    void *arg;
};

static struct store_watch *of_link(struct link *l)
{
    return container_of(l, struct store_watch, link);
}

static void watch_free(struct store_watch *w)
{
    w->link.prev->next = w->link.next;
    w->link.next->prev = w->link.prev;
    istr_unref(w->ns);
    free(w);
}

static void watch_dies(struct store_watch *w)
{
    w->dead = true;
    w->s->nwatches--;
}

static void watch_end(struct store_watch *w, const struct kerr *err)
{
    watch_dies(w); /* first: the owner may call store_unwatch() out of habit */
    w->s->calling++;
    w->h.on_end(w->arg, err);
    w->s->calling--;
}

/* Runs fn on every watcher there is now; fn may end or remove any. */
static bool for_each(struct store *s, bool (*fn)(struct store_watch *w))
{
    struct link *last = s->watches.prev;
    bool any = false;

    s->pumping = true;
    for (struct link *l = s->watches.next; l != &s->watches; l = l->next) {
        if (!of_link(l)->dead && fn(of_link(l)))
            any = true;
        if (l == last)
            break; /* newcomers have their first turn coming */
    }
    s->pumping = false;
    for (struct link *l = s->watches.next, *next; l != &s->watches; l = next) {
        next = l->next;
        if (of_link(l)->dead)
            watch_free(of_link(l));
    }
    return any;
}

/* ---- feeding --------------------------------------------------------------------------------- */

struct pieces {
    unsigned events, fetches, scanned;
};

/* The documents of event i, each with a reference for the caller. */
static int event_docs(struct store *s, size_t i, struct pieces *used, struct doc **ret_doc,
                      struct doc **ret_old, struct kerr *err)
{
    const struct hist_event ev = *hist_at(&s->hist, i);
    const struct hist_docs *d = hist_docs_at(&s->hist, i);
    CLEANUP(doc_unref) struct doc *doc = NULL;

    used->fetches += !d;
    doc = d ? doc_ref(d->doc) : store_doc(s, ev.rev, err);
    if (!doc)
        return err->code;
    *ret_old = NULL;
    if (ev.type != STORE_ADDED) {
        struct doc *old = d && d->old ? doc_ref(d->old) : NULL;
        if (!old) {
            const size_t at = hist_find(&s->hist, ev.prev);
            const bool recent = at != SIZE_MAX && hist_docs_at(&s->hist, at);
            used->fetches += !recent;
            old = store_doc(s, ev.prev, err);
            if (!old)
                return err->code;
            if (d && !recent)
                hist_set_old(&s->hist, i, old);
        }
        *ret_old = old;
    }
    *ret_doc = take(doc);
    return 0;
}

static void tell(struct store_watch *w, size_t i, struct pieces *used)
{
    struct store *s = w->s;
    const struct hist_event ev = *hist_at(&s->hist, i);
    CLEANUP(doc_unref) struct doc *doc = NULL, *old = NULL;
    struct kerr err = { 0 };

    if (event_docs(s, i, used, &doc, &old, &err) < 0) {
        kerr_wrap(&err, "watch %s", w->res->name);
        watch_end(w, &err);
        return;
    }
    const struct store_event told = {
        .type = (enum store_event_type)ev.type,
        .key = { ev.e->res->name, ev.e->ns, ev.e->name },
        .rev = ev.rev,
        .doc = doc->data,
        .n = doc->n,
        .old_doc = old ? old->data : NULL,
        .old_n = old ? old->n : 0,
    };
    w->cursor = w->told = ev.rev;
    used->events++;
    s->calling++;
    if (!w->h.on_event(w->arg, &told))
        w->paused = true;
    s->calling--;
}

/* Returns whether there is more for this watcher in the next turn. */
static bool feed(struct store_watch *w)
{
    struct store *s = w->s;
    struct pieces used = { 0 };

    if (w->cursor < s->hist.floor) {
        struct kerr err;
        kerr_api(&err, -EIDRM, KR_EXPIRED, "too old resource version: %llu (%llu)",
                 (unsigned long long)w->cursor, (unsigned long long)s->hist.floor);
        watch_end(w, &err);
        return false;
    }
    for (size_t i = hist_after(&s->hist, w->cursor); !w->paused && i < s->hist.n;) {
        const struct hist_event *ev = hist_at(&s->hist, i);
        if (used.scanned++ >= WATCH_SCAN || used.events >= WATCH_EVENTS ||
            used.fetches >= WATCH_FETCHES)
            return true;
        if (ev->e->res == w->res && (!w->ns || ev->e->ns == w->ns)) {
            tell(w, i, &used);
            if (w->dead)
                return false;
            i = hist_after(&s->hist, w->cursor);
        } else {
            w->cursor = ev->rev;
            i++;
        }
    }
    if (!w->paused)
        w->cursor = MAX(w->cursor, s->revision);
    return false;
}

void watch_wake(struct store *s)
{
    if (s->watches.next != &s->watches)
        turn_ask(s, TURN_PUMP);
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool wants_progress(struct store_watch *w)
{
    return w->h.on_progress && !w->paused && w->told < w->s->revision &&
           w->cursor >= w->s->revision;
}

static bool tell_progress(struct store_watch *w)
{
    if (!wants_progress(w))
        return false;
    w->told = w->s->revision;
    w->s->calling++;
    w->h.on_progress(w->arg, w->told);
    w->s->calling--;
    return true;
}

static void on_progress(struct loop *l, void *arg)
{
    struct store *s = arg;

    (void)l;
    s->progress = NULL;
    for_each(s, tell_progress);
}

void watch_pump(struct store *s)
{
    assert(!s->pumping);
    if (s->watches.next == &s->watches)
        return;
    store_reading(s, true);
    if (for_each(s, feed))
        watch_wake(s);
    store_reading(s, false);
    /* Armed only while somebody is to be told: a quiet store leaves the loop nothing to wait for.
     */
    if (!s->progress && for_each(s, wants_progress))
        s->progress = loop_after(s->loop, PROGRESS_EVERY, on_progress, s);
}

/* ---- the public calls ------------------------------------------------------------------------ */

int store_watch(struct store *s, const char *res, const char *ns, uint64_t from,
                const struct store_watch_handler *h, void *arg, struct store_watch **ret,
                struct kerr *err)
{
    if (from < s->hist.floor)
        return kerr_api(err, -EIDRM, KR_EXPIRED, "too old resource version: %llu (%llu)",
                        (unsigned long long)from, (unsigned long long)s->hist.floor);
    struct store_watch *w = xnew0(struct store_watch);
    w->s = s;
    w->res = index_resource_add(&s->index, res);
    w->ns = ns ? intern_getz(s->index.strings, ns) : NULL;
    w->cursor = w->told = from;
    w->h = *h;
    w->arg = arg;
    w->link.prev = s->watches.prev;
    w->link.next = &s->watches;
    s->watches.prev->next = &w->link;
    s->watches.prev = &w->link;
    s->nwatches++;
    watch_wake(s);
    *ret = w;
    return 0;
}

void store_watch_resume(struct store_watch *w)
{
    if (w->dead || !w->paused)
        return;
    w->paused = false;
    watch_wake(w->s);
}

struct store_watch *store_unwatch(struct store_watch *w)
{
    if (!w || w->dead)
        return NULL;
    watch_dies(w);
    if (!w->s->pumping) /* otherwise for_each() frees it */
        watch_free(w);
    return NULL;
}

static bool end_closed(struct store_watch *w)
{
    struct kerr err;

    kerr_api(&err, -ESHUTDOWN, KR_UNAVAILABLE, "the store is closing");
    watch_end(w, &err);
    return false;
}

void watch_end_all(struct store *s)
{
    for_each(s, end_closed);
}
