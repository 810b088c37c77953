/* rowdata_overlay.c - row data when rows change under it: rows of an overlay are set aside as they
 * are, and a copy follows the overlay's changes; pods that come and go are told to plugins that
 * can count.
 */
#include "scheduler/model/rowdata_int.h"

static void put_aside(struct rowset *s, uint32_t row)
{
    rowset_catch_up(s);
    char *data = ks_row(&s->view, row), *bytes;
    uint8_t *flags = &s->flags[row];
    vec_push(&s->asides, ((struct aside){ row, (uint8_t)(*flags & (ROW_STALE | ROW_READS_OBJECTS)),
                                          rowset_until(s, row) }));
    s->aside_bytes = xreallocarray(s->aside_bytes, s->asides.cap, s->aside_size);
    bytes = s->aside_bytes + (s->asides.n - 1) * s->aside_size;
    memcpy(bytes, data, s->view.stride);
    for (uint32_t k = 0; k < s->decl->columns; k++)
        memcpy(bytes + s->view.stride + k * sizeof(int64_t), &s->columns[k][row], sizeof(int64_t));
    s->nreading += *flags & ROW_READS_OBJECTS ? 1 : 0; /* both may */
    *flags |= ROW_AS_IF;
    if (!s->decl->drop)
        return;
    memset(data, 0, s->view.stride);
    if (s->decl->copy && !(*flags & ROW_STALE))
        s->decl->copy(s->self, data, bytes);
    else
        rowset_mark(s, row, ROW_STALE_NODE);
}

static void take_back(struct rowset *s, uint32_t row)
{
    struct aside *a = rowset_find_aside(s, row), was = *a;
    size_t at = (size_t)(a - s->asides.items);
    char *bytes = s->aside_bytes + at * s->aside_size, *data = ks_row(&s->view, row);

    rowset_drop(s, data);
    memcpy(data, bytes, s->view.stride);
    for (uint32_t k = 0; k < s->decl->columns; k++)
        memcpy(&s->columns[k][row], bytes + s->view.stride + k * sizeof(int64_t), sizeof(int64_t));
    vec_remove(&s->asides, at);
    memmove(bytes, bytes + s->aside_size, (s->asides.n - at) * s->aside_size);
    if (s->until)
        s->until[row] = was.until;
    if (was.until)
        s->earliest = MIN(s->earliest, was.until);
    s->nreading -= s->flags[row] & ROW_READS_OBJECTS ? 1 : 0;
    s->flags[row] = (uint8_t)((s->flags[row] & ROW_LISTED) | (was.flags & ROW_READS_OBJECTS));
    if (was.flags & ROW_STALE)
        rowset_mark(s, row, was.flags & ROW_STALE);
}

static bool is_overlaid(const struct rowset *s, uint32_t row)
{
    return row < s->cap && s->flags[row] & ROW_AS_IF;
}

void rowset_begin(struct rowset *s)
{
    const struct overlay *o = &s->cache->overlay;

    if (s->users++ > 0 || !s->decl->pods)
        return;
    for (uint32_t i = 0; i < o->nrows; i++)
        put_aside(s, o->rows[i]);
}

void rowset_end(struct rowset *s)
{
    if (--s->users > 0)
        return;
    while (s->asides.n)
        take_back(s, vec_last(&s->asides).row);
}

void rowsets_enter(struct nodecache *c, uint32_t row)
{
    for (struct rowset *s = c->reading->sets; s; s = s->next)
        if (s->users && s->decl->pods)
            put_aside(s, row);
}

void rowsets_leave(struct nodecache *c, uint32_t row)
{
    for (struct rowset *s = c->reading->sets; s; s = s->next)
        if (is_overlaid(s, row))
            take_back(s, row);
}

void rowsets_used(struct nodecache *c, uint32_t row)
{
    for (struct rowset *s = c->reading->sets; s; s = s->next)
        if (s->decl->pods && is_overlaid(s, row))
            rowset_mark(s, row, ROW_STALE_PODS);
}

static void change_as_if(struct rowset *s, uint32_t row, const struct pod *p, bool added)
{
    if (!s->decl->pods || !is_overlaid(s, row))
        return; /* nobody reads it, or it is being taken back as a whole */
    if (s->decl->add_pod && !(s->flags[row] & ROW_STALE))
        rowset_change(s, row, p, added);
    else
        rowset_mark(s, row, ROW_STALE_PODS);
}

void rowsets_pod(struct nodecache *c, uint32_t row, const struct pod *p, bool added, uint64_t since)
{
    uint64_t now = c->cols.view.changes.generation;

    for (struct rowset *s = c->reading->sets; s; s = s->next) {
        if (c->cols.silent) {
            change_as_if(s, row, p, added);
            continue;
        }
        /* Whoever is not up to date, or does not count, reads the journal. */
        if (!s->decl->add_pod || !s->decl->pods || s->generation != since || row >= s->cap ||
            s->flags[row] & (ROW_STALE | ROW_AS_IF))
            continue;
        rowset_change(s, row, p, added);
        s->generation = now;
    }
}

void rowsets_remove(struct nodecache *c, uint32_t row, uint32_t last)
{
    for (struct rowset *s = c->reading->sets; s; s = s->next) {
        uint8_t listed = row < s->cap ? s->flags[row] & ROW_LISTED : 0;
        if (row >= s->cap)
            continue;
        rowset_drop(s, ks_row(&s->view, row));
        memset(ks_row(&s->view, row), 0, s->view.stride);
        s->nreading -= s->flags[row] & ROW_READS_OBJECTS ? 1 : 0;
        s->flags[row] &= (uint8_t)~ROW_READS_OBJECTS;
        if (last == row || last >= s->cap)
            continue;
        memcpy(ks_row(&s->view, row), ks_row(&s->view, last), s->view.stride);
        memset(ks_row(&s->view, last), 0, s->view.stride);
        for (uint32_t k = 0; k < s->decl->columns; k++)
            s->columns[k][row] = s->columns[k][last];
        if (s->until)
            s->until[row] = s->until[last];
        s->flags[row] = (uint8_t)((s->flags[last] & ~ROW_LISTED) | listed);
        s->flags[last] &= ROW_LISTED;
        if (s->flags[row] & ROW_STALE)
            rowset_mark(s, row, 0);
    }
}

void overlay_add_own(struct rowset *s, uint32_t row, uint32_t column, int64_t delta)
{
    assert(column < s->decl->columns && s->users);

    struct overlay_entry *e = overlay_push(s->cache, OVERLAY_OWN, row);
    e->set = s;
    e->column = column;
    e->delta = delta;
    s->cache->overlay.nown++;
    if (!is_overlaid(s, row))
        put_aside(s, row);
    s->columns[column][row] = rowset_plus(s->columns[column][row], delta);
}

void rowset_undo_own(struct rowset *s, uint32_t row, uint32_t column, int64_t delta)
{
    if (is_overlaid(s, row))
        s->columns[column][row] = rowset_plus(s->columns[column][row], -delta);
}
