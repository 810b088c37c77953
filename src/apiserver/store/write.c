/* write.c - writes: judged at once, committed together, then published and acknowledged.
 *
 * A write joins the queue and the overlay (the chain of its entry). The next turn makes one
 * batch of the queue; while it is being committed the queue grows, and the end of one batch
 * starts the next. So the writes of one turn, and those that come during a commit, share one fsync.
 *
 * Revisions are handed out when a write is judged. Those of a failed batch are not used again: they
 * stand inside documents of writes behind them, and a reader could not tell two of them apart.
 */
#include "apiserver/store/internal.h"

#include "base/klog.h"

static void list_push(struct write_list *l, struct write *w)
{
    if (!l->first)
        l->end = &l->first;
    *l->end = w;
    l->end = &w->next;
    w->next = NULL;
    l->n++;
}

static struct write *list_pop(struct write_list *l)
{
    struct write *w = l->first;

    l->first = w->next;
    l->n--;
    w->next = NULL;
    return w;
}

static void write_free(struct write *w)
{
    doc_unref(w->doc);
    free(w);
}

void write_unused(struct store *s, struct entry *e)
{
    if (e->rev == 0 && !e->newest)
        index_remove(&s->index, e);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* The newest version of a key, committed or under way; 0 when there is no object. */
static uint64_t latest_rev(const struct entry *e)
{
    if (!e)
        return 0;
    if (e->newest)
        return e->newest->type == STORE_DELETED ? 0 : e->newest->rev;
    return e->live ? e->rev : 0;
}

int store_get_latest(struct store *s, const struct store_key *k, struct strbuf *doc,
                     uint64_t *ret_rev, struct kerr *err)
{
    const struct entry *e = index_find(&s->index, k);

    if (!e || !e->newest)
        return store_get(s, k, doc, ret_rev, err);
    if (e->newest->type == STORE_DELETED)
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "%s \"%s\" not found", k->res, k->name);
    strbuf_appendn(doc, e->newest->doc->data, e->newest->doc->n);
    if (ret_rev)
        *ret_rev = e->newest->rev;
    return 0;
}

uint64_t store_next_revision(const struct store *s)
{
    return s->last + 1;
}

static int judge(struct store *s, const struct store_key *k, uint64_t from, const struct entry *e,
                 struct kerr *err)
{
    const uint64_t have = latest_rev(e);

    if (from == have)
        return 0;
    if (from == 0)
        return kerr_api(err, -EEXIST, KR_ALREADY_EXISTS, "%s \"%s\" already exists", k->res,
                        k->name);
    if (have == 0)
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "%s \"%s\" not found", k->res, k->name);
    s->conflicts++;
    return kerr_api(err, -ESTALE, KR_CONFLICT,
                    "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
                    "please apply your changes to the latest version and try again",
                    k->res, k->name);
}

static int write_add(struct store *s, const struct store_key *k, const struct write *wanted,
                     const char *doc, size_t n, struct kerr *err)
{
    if (n > DOC_MAX)
        return kerr_api(err, -EFBIG, KR_TOO_LARGE,
                        "%s \"%s\": a document of %zu bytes is too large", k->res, k->name, n);
    if (s->queue_bytes + n > PENDING_BYTES)
        return kerr_api(err, -EAGAIN, KR_TOO_MANY_REQUESTS,
                        "too many writes wait for the disk (%zu), try again", s->pending);
    struct write *w = xnew(struct write);
    *w = *wanted;
    struct entry *e = w->e = index_add(&s->index, k);
    w->doc = doc_new(doc, n);
    w->rev = ++s->last;
    w->prev = e->newest ? e->newest->rev : e->rev;
    w->older = e->newest;
    if (w->older)
        w->older->newer = w;
    e->newest = w;
    list_push(&s->queue, w);
    s->queue_bytes += n;
    s->pending++;
    write_kick(s);
    return 0;
}

int store_put(struct store *s, const struct store_key *k, uint64_t from, const char *doc, size_t n,
              store_done_fn fn, void *arg, struct kerr *err)
{
    assert(k->res && *k->res && k->ns && k->name && *k->name);
    int r = judge(s, k, from, index_find(&s->index, k), err);
    if (r < 0)
        return r;
    const struct write w = { .type = from ? STORE_MODIFIED : STORE_ADDED, .fn = fn, .arg = arg };
    return write_add(s, k, &w, doc, n, err);
}

int store_delete(struct store *s, const struct store_key *k, uint64_t from, const char *last,
                 size_t n, store_done_fn fn, void *arg, struct kerr *err)
{
    const struct entry *e = index_find(&s->index, k);

    if (from == 0 || latest_rev(e) == 0) /* there is no "delete what does not exist" */
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "%s \"%s\" not found", k->res, k->name);
    int r = judge(s, k, from, e, err);
    if (r < 0)
        return r;
    const struct write w = { .type = STORE_DELETED, .fn = fn, .arg = arg };
    return write_add(s, k, &w, last, n, err);
}

/* ---- batches --------------------------------------------------------------------------------- */

static struct batch *batch_make(struct store *s)
{
    struct batch *b = xnew0(struct batch);
    size_t bytes = 0;

    while (s->queue.first && b->writes.n < BATCH_WRITES && bytes < BATCH_BYTES) {
        bytes += s->queue.first->doc->n;
        list_push(&b->writes, list_pop(&s->queue));
    }
    s->queue_bytes -= bytes;
    b->probe = s->probing && !b->writes.n;
    s->probing = false;
    if (b->writes.n || b->probe) {
        b->inject = s->inject;
        s->inject = 0;
    }
    const size_t most = b->writes.n ? BATCH_DROPS : BATCH_WRITES;
    for (size_t i = s->dropped; i < s->drops.n && b->drops.n < most; i++)
        vec_push(&b->drops, s->drops.items[i]);
    b->floor = s->hist.floor;
    return b;
}

static void batch_free(struct batch *b)
{
    while (b->writes.first)
        write_free(list_pop(&b->writes));
    vec_fini(&b->drops);
    free(b);
}

/* It is on disk: readers see it from here on. */
static void publish(struct store *s, const struct batch *b)
{
    for (struct write *w = b->writes.first; w; w = w->next) {
        struct entry *e = w->e;
        const bool live = w->type != STORE_DELETED;
        if (w->newer)
            w->newer->older = NULL;
        else
            e->newest = NULL;
        e->res->live += (size_t)live - (size_t)e->live;
        e->rev = e->res->rev = w->rev;
        e->live = live;
        s->revision = w->rev;
        const struct hist_event ev = { .rev = w->rev, .prev = w->prev, .type = w->type, .e = e };
        hist_push(&s->hist, ev, w->doc);
    }
    s->writes += b->writes.n;
    s->dropped += b->drops.n;
    if (s->dropped > s->drops.n / 2) { /* moves each item once on average */
        s->drops.n -= s->dropped;
        memmove(s->drops.items, s->drops.items + s->dropped, s->drops.n * sizeof *s->drops.items);
        s->dropped = 0;
    }
}

/* Takes the overlay of these keys away; entries that stand for nothing any more are freed once,
 * by the last write that names them. */
static void forget(struct store *s, const struct write_list *a, const struct write_list *b)
{
    const struct write_list *lists[] = { a, b };

    for (size_t i = 0; i < 2; i++)
        for (struct write *w = lists[i]->first; w; w = w->next)
            w->e->newest = w;
    for (size_t i = 0; i < 2; i++)
        for (struct write *w = lists[i]->first; w; w = w->next) {
            struct entry *e = take(w->e);
            if (e->newest != w)
                continue;
            e->newest = NULL;
            write_unused(s, e);
        }
}

/* The writes of a failed batch leave the overlay, and so do all that wait behind it, which move to
 * `lost`: each was judged against a state that never came. Not only the key it writes counts: an
 * address that a lost deletion had freed may be given away in it, or a quota's last unit. */
static void roll_back(struct store *s, struct batch *b, struct write_list *lost)
{
    s->failed += !b->probe;
    if (b->writes.n) {
        *lost = s->queue;
        s->queue = (struct write_list){ 0 };
        s->queue_bytes = 0;
    }
    forget(s, &b->writes, lost);
}

static void acknowledge(struct store *s, const struct write_list *l, const struct kerr *err)
{
    s->calling++;
    s->pending -= l->n;
    for (struct write *w = l->first; w; w = w->next)
        if (w->fn)
            w->fn(w->arg, w->rev, err);
    s->calling--;
}

static void on_probe(struct loop *l, void *arg)
{
    struct store *s = arg;

    (void)l;
    s->probe = NULL;
    if (s->batch) /* its end decides */
        return;
    s->probing = true;
    write_kick(s);
}

/* A store that failed is looked after until it works: what it waits for (room on the disk) may come
 * while nobody writes. */
static void watch_failing(struct store *s)
{
    if (!s->failing.code) {
        s->probe = timer_cancel(s->probe);
        s->probe_wait = 0;
    } else if (!s->probe) {
        s->probe_wait = s->probe_wait ? MIN(2 * s->probe_wait, PROBE_MAX) : PROBE_FIRST;
        s->probe = loop_after(s->loop, loop_outside(s->loop, s->probe_wait), on_probe, s);
    }
}

/* The operator is told once when writing begins to fail, and once when it is over. */
static void note_result(struct store *s, const struct kerr *err)
{
    if (err->code && !s->failing.code)
        KLOG_E(err, "Cannot write to the store, reads go on", KV_S("path", str_or(s->path, "")));
    else if (!err->code && s->failing.code)
        KLOG_I(0, "Writing to the store works again", KV_S("path", str_or(s->path, "")));
    s->failing = *err;
    watch_failing(s);
}

static void batch_done(struct store *s, struct batch *b)
{
    struct batch *lost = xnew0(struct batch);
    const bool ok = b->err.code == 0;

    note_result(s, &b->err);

    s->batch = NULL;
    s->batches++;
    if (ok)
        publish(s, b);
    else
        roll_back(s, b, &lost->writes);
    /* Drops that failed wait for the next write or compaction: no hot loop on a full disk. */
    if (s->queue.n || (ok && s->drops.n))
        write_kick(s);
    if (ok) {
        compact_committed(s);
        watch_pump(s);
    } else if (b->writes.n == 0 && !b->probe) {
        KLOG_E(&b->err, "Failed to remove old revisions"); /* nobody else hears of it */
    }
    acknowledge(s, &b->writes, ok ? NULL : &b->err);
    if (lost->writes.n) {
        kerr_wrap(&b->err, "an earlier write was lost");
        acknowledge(s, &lost->writes, &b->err);
    }
    batch_free(lost);
    batch_free(b);
}

static void on_inline(struct loop *l, void *arg)
{
    struct store *s = arg;

    (void)l;
    s->disk = NULL;
    s->be->ops->commit(s->be, s->batch);
    if (s->be->ops->tidy)
        s->be->ops->tidy(s->be);
    batch_done(s, s->batch);
}

void write_on_thread_done(void *arg, struct batch *b)
{
    batch_done(arg, b);
}

void write_start(struct store *s)
{
    s->batch = batch_make(s);
    if (s->writer)
        writer_submit(s->writer, s->batch);
    else if (s->path) /* a virtual loop: the disk takes its virtual time */
        s->disk = loop_after(s->loop, LOOP_VIRTUAL_WORK_NS, on_inline, s);
    else
        on_inline(s->loop, s);
}

void write_kick(struct store *s)
{
    if (!s->batch)
        turn_ask(s, TURN_BATCH);
}

void write_finish(struct store *s)
{
    struct batch *b = take(s->batch), *lost = xnew0(struct batch);

    s->disk = timer_cancel(s->disk);
    if (s->writer) {
        writer_stop(s->writer);
        s->writer = NULL;
    } else if (b) {
        s->be->ops->commit(s->be, b);
    }
    while (b || s->queue.n) {
        if (!b) {
            b = batch_make(s);
            s->be->ops->commit(s->be, b);
        }
        if (b->err.code)
            roll_back(s, b, &lost->writes);
        else
            publish(s, b);
        batch_free(take(b));
    }
    batch_free(lost);
}

void store_fail_next_commit(struct store *s, int code)
{
    s->inject = code;
}
