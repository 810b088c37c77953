/* store.c - opening and closing, and reading what is committed. */
#include "apiserver/store/internal.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* One row of the history on disk, in the order of revisions. Up to the floor only the newest
 * version of each object counts; a crash may have left others, which are dropped again. */
static void load_row(void *arg, const struct load_row *r)
{
    struct store *s = arg;
    struct entry *e = index_add(&s->index, &r->key);
    const bool live = !r->deleted, was = e->live;
    const uint64_t prev = e->rev;

    e->res->live += (size_t)live - (size_t)was;
    e->rev = e->res->rev = r->rev;
    e->live = live;
    s->revision = MAX(s->revision, r->rev);
    if (r->rev > s->hist.floor) {
        const enum store_event_type type = !live ? STORE_DELETED
                                           : was ? STORE_MODIFIED
                                                 : STORE_ADDED;
        const struct hist_event ev = { .rev = r->rev, .prev = prev, .type = type, .e = e };
        hist_push(&s->hist, ev, NULL);
        return;
    }
    if (prev)
        vec_push(&s->drops, prev);
    if (!live) {
        vec_push(&s->drops, r->rev);
        e->rev = 0;
        write_unused(s, e);
    }
}

static int open_file(struct store *s, const char *path, struct kerr *err)
{
    int r = sqlite_open(path, &s->be, &s->hist.floor, err);

    if (r < 0)
        return r;
    r = sqlite_load(s->be, load_row, s, err);
    if (r < 0)
        return r;
    s->revision = MAX(s->revision, s->hist.floor);
    if (!loop_is_virtual(s->loop))
        return writer_new(s->loop, s->be, write_on_thread_done, s, &s->writer, err);
    return 0;
}

int store_open(struct loop *l, const struct store_opts *o, struct store **ret, struct kerr *err)
{
    CLEANUP(store_close) struct store *s = xnew0(struct store);

    s->loop = l;
    /* For watches and pages of clients outside: by their time. */
    s->history_ns = loop_outside(l, o->history ? o->history : 300 * NSEC_PER_SEC);
    s->compact_ns = loop_outside(l, o->compact_every ? o->compact_every : 60 * NSEC_PER_SEC);
    s->revision = 1; /* as in etcd: 0 means "any" to Kubernetes and is never a state */
    s->watches.prev = s->watches.next = &s->watches;
    index_init(&s->index);
    hist_init(&s->hist, o->ring_bytes ? o->ring_bytes : (size_t)16 << 20);
    if (o->path) {
        s->path = xstrdup(o->path);
        int r = open_file(s, o->path, err);
        if (r < 0)
            return kerr_wrap(err, "open store %s", o->path);
    } else {
        s->be = memory_new();
    }
    s->last = s->revision;
    if (s->hist.n || s->drops.n)
        compact_committed(s); /* the ages are not on disk: what was found counts as of now */
    *ret = take(s);
    return 0;
}

struct store *store_close(struct store *s)
{
    if (!s)
        return NULL;
    assert(!s->calling); /* never from inside one of its callbacks */
    watch_end_all(s);
    s->compact_timer = timer_cancel(s->compact_timer);
    s->progress = timer_cancel(s->progress);
    s->probe = timer_cancel(s->probe);
    if (s->be) {
        write_finish(s);
        s->be = s->be->ops->free(s->be);
    }
    turn_fini(s);
    hist_fini(&s->hist);
    index_fini(&s->index);
    vec_fini(&s->marks);
    vec_fini(&s->drops);
    free(s->path);
    free(s);
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

uint64_t store_revision(const struct store *s)
{
    return s->revision;
}

const struct kerr *store_failing(const struct store *s)
{
    return s->failing.code ? &s->failing : NULL;
}

uint64_t store_changed(const struct store *s, const char *res)
{
    const struct resource *r = index_resource(&s->index, res);

    return r ? r->rev : 0;
}

void store_reading(struct store *s, bool on)
{
    if (s->be->ops->reading)
        s->be->ops->reading(s->be, on);
}

struct doc *store_doc(struct store *s, uint64_t rev, struct kerr *err)
{
    const size_t i = hist_find(&s->hist, rev);
    const struct hist_docs *d = i == SIZE_MAX ? NULL : hist_docs_at(&s->hist, i);

    return d ? doc_ref(d->doc) : s->be->ops->fetch(s->be, rev, err);
}

int store_get(struct store *s, const struct store_key *k, struct strbuf *doc, uint64_t *ret_rev,
              struct kerr *err)
{
    const struct entry *e = index_find(&s->index, k);

    if (!e || !e->live)
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "%s \"%s\" not found", k->res, k->name);
    CLEANUP(doc_unref) struct doc *d = store_doc(s, e->rev, err);
    if (!d)
        return kerr_wrap(err, "read %s \"%s\"", k->res, k->name);
    strbuf_appendn(doc, d->data, d->n);
    if (ret_rev)
        *ret_rev = e->rev;
    return 0;
}

struct range {
    const struct resource *r;
    const char *ns;
    struct index_pos pos;
};

static struct range range_start(const struct resource *r, const char *ns,
                                const struct store_key *after)
{
    struct range g = { .r = r, .ns = ns };

    if (after && (!ns || strcmp(after->ns, ns) >= 0))
        g.pos = index_seek(r, after->ns, after->name, true);
    else if (ns)
        g.pos = index_seek(r, ns, "", false);
    return g;
}

static struct entry *range_next(struct range *g)
{
    struct entry *e = index_at(g->r, g->pos);

    if (!e || (g->ns && !streq(e->ns, g->ns)))
        return NULL;
    g->pos = index_next(g->r, g->pos);
    return e;
}

static int list_entries(struct store *s, struct range g, uint64_t at, store_fn fn, void *arg,
                        struct kerr *err)
{
    for (struct entry *e; (e = range_next(&g));) {
        const uint64_t rev = hist_version_at(&s->hist, e, at), gen = g.r->gen;
        if (rev == 0)
            continue;
        CLEANUP(doc_unref) struct doc *d = store_doc(s, rev, err);
        const struct store_key k = { e->res->name, e->ns, e->name };
        if (!d)
            return kerr_wrap(err, "read %s \"%s\"", k.res, k.name);
        if (!fn(arg, &k, rev, d->data, d->n))
            return 0;
        if (g.r->gen != gen) /* it wrote; entries go in later turns only, so this one is there */
            g.pos = index_seek(g.r, e->ns, e->name, true);
    }
    return 0;
}

int store_list(struct store *s, const char *res, const char *ns, uint64_t at,
               const struct store_key *after, store_fn fn, void *arg, struct kerr *err)
{
    const struct resource *r = index_resource(&s->index, res);

    if (at == 0)
        at = s->revision;
    if (at < s->hist.floor)
        return kerr_api(err, -EIDRM, KR_EXPIRED,
                        "The provided continue parameter is too old: revision %llu has been "
                        "compacted, the oldest is %llu",
                        (unsigned long long)at, (unsigned long long)s->hist.floor);
    if (at > s->revision)
        return kerr_api(err, -ERANGE, KR_TIMEOUT, "Too large resource version: %llu, current: %llu",
                        (unsigned long long)at, (unsigned long long)s->revision);
    if (!r)
        return 0;
    s->calling++;
    store_reading(s, true);
    int ret = list_entries(s, range_start(r, ns, after), at, fn, arg, err);
    store_reading(s, false);
    s->calling--;
    return ret;
}

int store_list_latest(struct store *s, const char *res, const char *ns, store_fn fn, void *arg,
                      struct kerr *err)
{
    const struct resource *r = index_resource(&s->index, res);
    struct range g = { 0 };
    int ret = 0;

    if (!r)
        return 0;
    s->calling++;
    store_reading(s, true);
    g = range_start(r, ns, NULL);
    for (struct entry *e; ret == 0 && (e = range_next(&g));) {
        const struct write *w = e->newest;
        const struct store_key k = { e->res->name, e->ns, e->name };
        if (w ? w->type == STORE_DELETED : !e->live)
            continue;
        CLEANUP(doc_unref) struct doc *d = w ? doc_ref(w->doc) : store_doc(s, e->rev, err);
        if (!d)
            ret = kerr_wrap(err, "read %s \"%s\"", k.res, k.name);
        else if (!fn(arg, &k, w ? w->rev : e->rev, d->data, d->n))
            break;
    }
    store_reading(s, false);
    s->calling--;
    return ret;
}

bool store_has_latest(const struct store *s, const char *res, const char *ns)
{
    const struct resource *r = index_resource(&s->index, res);
    struct range g = { 0 };

    if (!r)
        return false;
    g = range_start(r, ns, NULL);
    for (const struct entry *e; (e = range_next(&g));)
        if (e->newest ? e->newest->type != STORE_DELETED : e->live)
            return true;
    return false;
}

size_t store_count(const struct store *s, const char *res, const char *ns)
{
    const struct resource *r = index_resource(&s->index, res);
    size_t n = 0;

    if (!r || !ns)
        return r ? r->live : 0;
    struct range g = range_start(r, ns, NULL);
    for (const struct entry *e; (e = range_next(&g));)
        n += e->live;
    return n;
}

struct store_stats store_stats(const struct store *s)
{
    struct store_stats st = {
        .writes = s->writes,
        .batches = s->batches,
        .conflicts = s->conflicts,
        .failed_batches = s->failed,
        .ring_bytes = s->hist.bytes,
        .watchers = s->nwatches,
        .pending = s->pending,
        .oldest = s->hist.floor,
    };

    map_foreach(&s->index.resources, slot)
        st.objects += ((const struct resource *)slot->value)->live;
    return st;
}
