/* rowdata.c - what plugins derive from rows, kept current.
 *
 * Rows that are out of date stand in a list, each once, with what has changed of them; they come
 * there through the journal of the rows, by time, or because an object elsewhere changed.
 */
#include "scheduler/model/rowdata.h"

#include "scheduler/model/nodekinds.h"
#include "scheduler/model/rowdata_int.h"

static const struct ks_nodes *nodes_of(const struct rowset *s)
{
    return &s->cache->cols.view;
}

static const struct ks_history *history_of(const struct rowset *s)
{
    return s->decl->pods ? &nodes_of(s)->changes : &nodes_of(s)->node_changes;
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct rowset *rowset_new(const struct ks_nodes *n, const struct ks_row_data *d, void *self,
                          const struct kind *const *kinds, const struct kind *const *statuses)
{
    struct rowset *s = xnew0(struct rowset);

    assert(d->columns <= KS_ROW_COLUMNS && d->fill && (!d->add_pod == !d->remove_pod));
    s->decl = d;
    s->self = self;
    s->cache = n->of->reading->cache;
    s->kinds = kinds;
    s->statuses = statuses;
    s->view.stride = ((size_t)d->size + 15) & ~(size_t)15;
    s->view.column = s->columns;
    s->aside_size = s->view.stride + d->columns * sizeof(int64_t);
    s->next = n->of->reading->sets;
    n->of->reading->sets = s;
    return s;
}

void rowset_drop(const struct rowset *s, void *data)
{
    if (s->decl->drop)
        s->decl->drop(s->self, data);
}

struct rowset *rowset_free(struct rowset *s)
{
    if (!s)
        return NULL;
    struct rowset **at = &s->cache->reading->sets;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    vec_foreach(&s->asides, i)
        rowset_drop(s, s->aside_bytes + i * s->aside_size);
    for (uint32_t row = 0; row < s->cap; row++)
        rowset_drop(s, ks_row(&s->view, row));
    for (uint32_t k = 0; k < s->decl->columns; k++)
        free(s->columns[k]);
    vec_fini(&s->asides);
    free(s->aside_bytes);
    free(s->view.data);
    free(s->flags);
    free(s->until);
    free(s->list);
    free(s);
    return NULL;
}

const struct ks_rows *rowset_rows(const struct rowset *s)
{
    return &s->view;
}

/* Rows that nobody has filled are zeros. */
static void grow(struct rowset *s)
{
    uint32_t had = s->cap, cap = s->cache->cols.cap;

    if (had == cap)
        return;
    s->view.data = xreallocarray(s->view.data, cap, MAX(s->view.stride, 1u));
    memset(s->view.data + had * s->view.stride, 0, (cap - had) * s->view.stride);
    for (uint32_t k = 0; k < s->decl->columns; k++) {
        s->columns[k] = xreallocarray(s->columns[k], cap, sizeof(int64_t));
        memset(s->columns[k] + had, 0, (cap - had) * sizeof(int64_t));
    }
    s->flags = xreallocarray(s->flags, cap, sizeof *s->flags);
    memset(s->flags + had, 0, (cap - had) * sizeof *s->flags);
    s->list = xreallocarray(s->list, cap, sizeof *s->list);
    if (s->until) {
        s->until = xreallocarray(s->until, cap, sizeof *s->until);
        memset(s->until + had, 0, (cap - had) * sizeof *s->until);
    }
    s->cap = cap;
}

/* ---- out of date ----------------------------------------------------------------------------- */

struct aside *rowset_find_aside(const struct rowset *s, uint32_t row)
{
    for (size_t i = s->asides.n; i-- > 0;)
        if (s->asides.items[i].row == row)
            return &s->asides.items[i];
    return NULL;
}

/* The row as it is now, with or without an overlay. */
void rowset_mark(struct rowset *s, uint32_t row, uint8_t stale)
{
    s->flags[row] |= stale;
    if (s->flags[row] & ROW_LISTED)
        return;
    s->flags[row] |= ROW_LISTED;
    s->list[s->nlist++] = row;
}

/* The row itself changed, and with it what is set aside. */
static void mark_real(struct rowset *s, uint32_t row, uint8_t stale)
{
    if (s->flags[row] & ROW_AS_IF)
        rowset_find_aside(s, row)->flags |= stale;
    rowset_mark(s, row, stale);
}

/* What the journal says. */
void rowset_catch_up(struct rowset *s)
{
    const struct ks_nodes *n = nodes_of(s);
    const struct ks_history *h = history_of(s);

    grow(s);
    if (s->generation == h->generation)
        return;
    struct ks_changed it = ks_changed_since(h, n->n, s->generation);
    for (uint32_t row; (row = ks_changed_next(&it)) != KS_NO_ROW;)
        mark_real(s, row,
                  n->node_changes.changed[row] > s->node_generation ? ROW_STALE_NODE
                                                                    : ROW_STALE_PODS);
    s->generation = h->generation;
    s->node_generation = n->node_changes.generation;
}

/* The row is another one from this time on, also for those who keep verdicts about it. */
static void run_out(struct rowset *s, uint32_t row)
{
    columns_touch_pods(&s->cache->cols, row);
    mark_real(s, row, ROW_STALE_NODE);
}

/* Rows whose time has come; all, when the clock was set back. */
static void expire(struct rowset *s, nsec_t now)
{
    uint32_t n = MIN(nodes_of(s)->n, s->cap);
    bool back = now < s->now;

    s->now = now;
    if (!s->until || (!back && now < s->earliest))
        return;
    s->earliest = INT64_MAX;
    for (uint32_t row = 0; row < n; row++) {
        if (back || (s->until[row] && s->until[row] <= now))
            run_out(s, row);
        else if (s->until[row])
            s->earliest = MIN(s->earliest, s->until[row]);
    }
}

static bool lists(const struct kind *const *kinds, const struct kind *k)
{
    for (; kinds && *kinds; kinds++)
        if (*kinds == k)
            return true;
    return false;
}

/* Of the plugin's kinds that do not belong to nodes. */
static uint64_t objects_latest(const struct rowset *s)
{
    const struct objects *w = s->cache->objects;
    uint64_t latest = 0;

    for (const struct kind *const *k = s->kinds; w && k && *k; k++)
        if (!nodekinds_has(*k))
            latest = MAX(latest, lists(s->statuses, *k) ? objects_generation_of(w, *k)
                                                        : objects_spec_generation_of(w, *k));
    return latest;
}

static void look_at_objects(struct rowset *s)
{
    uint64_t latest = s->nreading ? objects_latest(s) : s->objects_generation;

    if (latest == s->objects_generation)
        return;
    s->objects_generation = latest;
    for (uint32_t row = 0; row < nodes_of(s)->n; row++)
        if (s->flags[row] & ROW_READS_OBJECTS)
            mark_real(s, row, ROW_STALE_NODE);
    vec_foreach(&s->asides, i)
        if (s->asides.items[i].flags & ROW_READS_OBJECTS)
            s->asides.items[i].flags |= ROW_STALE_NODE;
}

/* ---- filling --------------------------------------------------------------------------------- */

static void set_reading(struct rowset *s, uint32_t row, bool reads)
{
    bool did = s->flags[row] & ROW_READS_OBJECTS;

    if (reads && !s->nreading)
        s->objects_generation = objects_latest(s);
    s->nreading += (uint32_t)reads - (uint32_t)did;
    s->flags[row] =
        (uint8_t)((s->flags[row] & ~ROW_READS_OBJECTS) | (reads ? ROW_READS_OBJECTS : 0));
}

/* A time that has passed does not come again, unless the clock is set back: that all rows are then
 * looked at is what s->until stands for, even while it names no time. */
static void set_until(struct rowset *s, uint32_t row, nsec_t until, nsec_t now)
{
    if (until && !s->until) {
        s->until = xnewn0(s->cap, nsec_t);
        s->earliest = INT64_MAX;
    }
    if (!s->until)
        return;
    s->until[row] = until > now ? until : 0;
    if (until > now)
        s->earliest = MIN(s->earliest, until);
}

nsec_t rowset_until(const struct rowset *s, uint32_t row)
{
    return s->until ? s->until[row] : 0;
}

/* What the overlay has added to a number of the row. */
static int64_t own_delta(const struct rowset *s, uint32_t row, uint32_t column)
{
    const struct overlay *o = &s->cache->overlay;
    uint64_t sum = 0;

    for (uint32_t i = 0; o->nown && i < o->n; i++) {
        const struct overlay_entry *e = &o->log[i];
        if (e->kind == OVERLAY_OWN && e->row == row && e->set == s && e->column == column)
            sum += (uint64_t)e->delta;
    }
    return (int64_t)sum;
}

static void keep(struct rowset *s, const struct ks_fill *f)
{
    for (uint32_t k = 0; k < s->decl->columns; k++)
        s->columns[k][f->row] = rowset_plus(f->column[k], own_delta(s, f->row, k));
    set_until(s, f->row, f->valid_until, f->now);
    set_reading(s, f->row, f->reads_objects);
}

static void fill_row(struct rowset *s, uint32_t row, nsec_t now)
{
    int64_t column[KS_ROW_COLUMNS] = { 0 };
    struct ks_fill f = {
        .nodes = nodes_of(s),
        .row = row,
        .now = now,
        .data = ks_row(&s->view, row),
        .column = column,
        .pods_only = !(s->flags[row] & ROW_STALE_NODE),
    };

    s->decl->fill(s->self, &f);
    keep(s, &f);
    s->flags[row] &= (uint8_t)~ROW_STALE;
}

/* A pod came to the row, or left it: the plugin knows what that means. */
void rowset_change(struct rowset *s, uint32_t row, const struct pod *p, bool added)
{
    int64_t column[KS_ROW_COLUMNS];
    struct ks_fill f = {
        .nodes = nodes_of(s),
        .row = row,
        .now = s->now,
        .data = ks_row(&s->view, row),
        .column = column,
        .pods_only = true,
        .valid_until = rowset_until(s, row),
        .reads_objects = s->flags[row] & ROW_READS_OBJECTS,
    };

    for (uint32_t k = 0; k < s->decl->columns; k++)
        column[k] = rowset_plus(s->columns[k][row], -own_delta(s, row, k));
    (added ? s->decl->add_pod : s->decl->remove_pod)(s->self, &f, p);
    keep(s, &f);
}

void rowset_sync(struct rowset *s, nsec_t now)
{
    expire(s, now);
    rowset_catch_up(s);
    look_at_objects(s);
    while (s->nlist) {
        uint32_t row = s->list[--s->nlist];
        s->flags[row] &= (uint8_t)~ROW_LISTED;
        if (row < nodes_of(s)->n && s->flags[row] & ROW_STALE)
            fill_row(s, row, now);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

static int verify_row(struct rowset *s, uint32_t row, nsec_t now, void *scratch, struct kerr *err)
{
    const char *node = nodecache_row_name(s->cache, row);
    int64_t column[KS_ROW_COLUMNS] = { 0 };
    struct ks_fill f = {
        .nodes = nodes_of(s), .row = row, .now = now, .data = scratch, .column = column
    };

    s->decl->fill(s->self, &f);
    for (uint32_t k = 0; k < s->decl->columns; k++) {
        int64_t want = rowset_plus(column[k], own_delta(s, row, k));
        if (want != s->columns[k][row])
            return kerr_set(err, -EBADMSG, "node %s: column %u is %lld, not %lld", node, k,
                            (long long)s->columns[k][row], (long long)want);
    }
    if (!s->decl->drop && memcmp(scratch, ks_row(&s->view, row), s->decl->size) != 0)
        return kerr_set(err, -EBADMSG, "node %s: its data is not what it should be", node);
    return 0;
}

int rowset_verify(struct rowset *s, nsec_t now, struct kerr *err)
{
    void *scratch = xcalloc(1, MAX(s->view.stride, 1u));
    int r = 0;

    rowset_sync(s, now);
    for (uint32_t row = 0; r == 0 && row < nodes_of(s)->n; row++) {
        r = verify_row(s, row, now, scratch, err);
        rowset_drop(s, scratch);
        memset(scratch, 0, s->view.stride);
    }
    free(scratch);
    return r;
}
