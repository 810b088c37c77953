/* watch.c - koordctl get --watch: a list, then its changes, through whatever the network does.
 *
 * A watch that ends is taken up where it stopped. When the server has forgotten that point (410),
 * the list is read again and only the differences are printed: for that, and to show what was
 * deleted meanwhile, the last row of each object is kept.
 */
#include "client/backoff.h"
#include "ctl/get.h"
#include "loop/loop.h"

#define SHORT_WATCH NSEC_PER_SEC /* one that ends sooner counts as a failure */

struct seen {
    char *version;
    struct ctl_table_row *row; /* NULL when no table is printed */
    uint32_t round;
    uint32_t key_len;
    char key[];
};

struct follow {
    struct get *g;
    struct kube_call *call;
    struct kerr err;
    struct strbuf out;
    struct vec_of(struct seen *) rows; /* of a list: widths first, then printing */
    uint32_t round;
    bool quiet; /* the first list of --watch-only */
    bool ended, failed, got_event;
};

/* ---- what was seen --------------------------------------------------------------------------- */

static void seen_free(struct seen *s)
{
    free(s->version);
    free(s->row);
    free(s);
}

static void make_key(const struct kj_val *meta, struct strbuf *key)
{
    strbuf_appendf(key, "%s/%s", kj_str_or(kj_get(meta, "namespace"), ""),
                   kj_str_or(kj_get(meta, "name"), ""));
}

static struct seen *seen_get(struct get *g, const struct kj_val *meta)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    make_key(meta, &key);
    struct seen *s = map_get(&g->seen, key.data, key.len);
    if (s)
        return s;
    s = xcalloc(1, sizeof *s + key.len + 1);
    s->key_len = (uint32_t)key.len;
    memcpy(s->key, key.data, key.len);
    map_put(&g->seen, s->key, s->key_len, s);
    return s;
}

static void seen_remove(struct get *g, struct seen *s)
{
    map_remove(&g->seen, s->key, s->key_len);
    seen_free(s);
}

/* The row's place in the memory is the new one; true when it differs from what was known. */
static bool seen_update(struct seen *s, const struct kj_val *meta, uint32_t round)
{
    const char *version = kj_str_or(kj_get(meta, "resourceVersion"), "");
    bool changed = !s->version || !streq(s->version, version);

    s->round = round;
    if (changed) {
        free(s->version);
        s->version = xstrdup(version);
    }
    return changed;
}

static void seen_set_row(struct follow *f, struct seen *s, const struct kj_val *row,
                         const char *event)
{
    free(s->row);
    s->row = ctl_table_row(&f->g->table, row, event);
}

/* ---- printing -------------------------------------------------------------------------------- */

static bool flush(struct follow *f)
{
    bool ok = ctl_print(f->g->c, &f->out);
    strbuf_reset(&f->out);
    return ok;
}

/* ---- listing --------------------------------------------------------------------------------- */

static int list_page(struct get *g, const struct kj_val *root, void *arg, struct kerr *err)
{
    struct follow *f = arg;
    struct kj_iter it = get_items(root);
    const struct kj_val *row;
    struct str key;

    int r = g->is_table ? ctl_table_learn(&g->table, root, err) : 0;
    while (r == 0 && kj_next(&it, &key, &row)) {
        const struct kj_val *meta = ctl_table_row_meta(row);
        struct seen *s = seen_get(g, meta);
        bool is_new = !s->version;
        if (!seen_update(s, meta, f->round))
            continue;
        if (g->is_table) {
            seen_set_row(f, s, row, is_new ? "ADDED" : "MODIFIED");
            vec_push(&f->rows, s);
        } else if (!f->quiet) {
            object_put(g, row, &f->out);
        }
    }
    return r;
}

/* The event column of a row that was printed under another event. */
static void put_deleted(struct follow *f, struct seen *s)
{
    struct get *g = f->g;

    if (!s->row)
        return;
    if (g->table.o.with_event)
        s->row->cells[0] = "DELETED";
    ctl_table_put(&g->table, s->row, &f->out);
}

static int by_key(const void *a, const void *b)
{
    const struct seen *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* What the new list no longer has was deleted while nobody watched. */
static void drop_unseen(struct follow *f)
{
    struct vec_of(struct seen *) gone = { 0 };

    map_foreach(&f->g->seen, e) {
        struct seen *s = e->value;
        if (s->round != f->round)
            vec_push(&gone, s);
    }
    if (gone.n)
        qsort(gone.items, gone.n, sizeof *gone.items, by_key);
    vec_foreach(&gone, i) {
        put_deleted(f, gone.items[i]);
        seen_remove(f->g, gone.items[i]);
    }
    vec_fini(&gone);
}

static int list(struct follow *f, struct kerr *err)
{
    f->round++;
    vec_clear(&f->rows);
    int r = get_pages(f->g, list_page, f, err);
    vec_foreach(&f->rows, i)
        if (!f->quiet)
            ctl_table_put(&f->g->table, f->rows.items[i]->row, &f->out);
    vec_clear(&f->rows);
    if (r == 0)
        drop_unseen(f);
    f->quiet = false;
    return r;
}

/* ---- watching -------------------------------------------------------------------------------- */

static const char *const event_names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK" };

static void take_row(struct follow *f, enum kube_event_type type, const struct kj_val *row)
{
    struct get *g = f->g;
    const struct kj_val *meta = ctl_table_row_meta(row);
    const char *version = kj_str(kj_get(meta, "resourceVersion"));

    if (version) {
        free(g->version);
        g->version = xstrdup(version);
    }
    if (type == KUBE_BOOKMARK)
        return;
    struct seen *s = seen_get(g, meta);
    (void)seen_update(s, meta, f->round);
    if (g->is_table) {
        seen_set_row(f, s, row, event_names[type]);
        ctl_table_put(&g->table, s->row, &f->out);
    } else {
        object_put(g, row, &f->out);
    }
    if (type == KUBE_DELETED)
        seen_remove(g, s);
}

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    struct follow *f = arg;
    struct kj_iter it = get_items(obj);
    const struct kj_val *row;
    struct str key;

    f->got_event = true;
    if (!f->g->is_table || !kj_get(obj, "rows")) {
        if (f->g->is_table && type != KUBE_BOOKMARK)
            (void)ctl_table_learn(&f->g->table, obj, &f->err);
        take_row(f, type, obj);
    } else if (ctl_table_learn(&f->g->table, obj, &f->err) == 0) {
        while (kj_next(&it, &key, &row))
            take_row(f, type, row);
    }
    if (!flush(f))
        loop_stop(f->g->c->loop);
}

static void on_end(void *arg, const struct kerr *err)
{
    struct follow *f = arg;

    f->call = NULL;
    f->ended = true;
    f->failed = err != NULL;
    if (err)
        f->err = *err;
    loop_stop(f->g->c->loop);
}

/* One watch, to its end. */
static void watch(struct follow *f)
{
    static const struct kube_watch_handler handler = { on_event, on_end };
    struct get *g = f->g;
    const struct kube_req r = {
        .verb = KUBE_WATCH,
        .kind = g->kind,
        .ns = g->ns,
        .label_selector = g->o->selector,
        .field_selector = g->field_selector,
        .resource_version = g->version,
        .bookmarks = true,
        .as_table = g->is_table,
    };

    f->ended = f->failed = f->got_event = false;
    f->err = (struct kerr){ 0 };
    f->call = kube_watch(g->c->kube, &r, &handler, f);
    loop_run(g->c->loop);
    if (!f->ended)
        f->call = kube_cancel(f->call);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_lasting(const struct kerr *err)
{
    return err->reason == KR_UNAUTHORIZED || err->reason == KR_FORBIDDEN ||
           err->reason == KR_NOT_FOUND || err->reason == KR_METHOD_NOT_ALLOWED ||
           err->reason == KR_BAD_REQUEST || err->reason == KR_INVALID || err->code == -EKEYREJECTED;
}

static void say_interrupted(struct get *g, const struct kerr *err)
{
    fprintf(g->c->err, "watch interrupted (%s); trying again\n",
            *err->text ? ctl_cause(err) : "it ended at once");
}

static int follow(struct follow *f)
{
    struct get *g = f->g;
    struct loop *l = g->c->loop;
    struct backoff wait = {
        .initial = NSEC_PER_SEC, .max = 30 * NSEC_PER_SEC, .factor = 2, .jitter = 0.2
    };
    bool stale = true, first = true;

    for (;;) {
        nsec_t started = loop_mono(l);
        bool troubled = false;
        if (stale) {
            f->err = (struct kerr){ 0 };
            troubled = list(f, &f->err) < 0;
            if (troubled && (first || is_lasting(&f->err)))
                return ctl_complain(g->c, &f->err);
            stale = troubled;
        }
        first = false;
        if (!troubled) {
            if (!flush(f))
                return CTL_FAILED;
            watch(f);
            if (g->c->out_broken)
                return CTL_FAILED;
            stale = f->failed && (f->err.reason == KR_GONE || f->err.reason == KR_EXPIRED);
            if (f->failed && is_lasting(&f->err))
                return ctl_complain(g->c, &f->err);
            troubled = !stale && (f->failed || loop_mono(l) - started < SHORT_WATCH);
        }
        if (f->got_event || !troubled)
            backoff_reset(&wait);
        if (!troubled)
            continue;
        if (wait.last == 0)
            say_interrupted(g, &f->err);
        ctl_wait(g->c, backoff_next(&wait, l));
    }
}

int get_watch(struct get *g)
{
    struct follow f = { .g = g, .quiet = g->o->watch_only };
    int code = follow(&f);

    map_foreach(&g->seen, e)
        seen_free(e->value);
    map_fini(&g->seen);
    vec_fini(&f.rows);
    strbuf_fini(&f.out);
    return code;
}
