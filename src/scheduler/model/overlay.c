/* overlay.c - changes of rows that are tried and taken back. */
#include "scheduler/model/overlay.h"

#include "api/kobj.h"
#include "api/pod.h"
#include "scheduler/model/nodecache_int.h"
#include "scheduler/model/rowdata_int.h"

/* The same nominated pods are added again and again: so many are kept as they were measured. */
enum { SPARE_MAX = 8 };

uint32_t overlay_mark(const struct nodecache *c)
{
    return c->overlay.n;
}

const uint32_t *overlay_rows(const struct nodecache *c, uint32_t *ret_n)
{
    *ret_n = c->overlay.nrows;
    return c->overlay.rows;
}

void overlay_use_again(struct nodecache *c, uint32_t row)
{
    const struct overlay *o = &c->overlay;

    for (uint32_t i = 0; i < o->n; i++)
        if (o->log[i].kind == OVERLAY_USED && o->log[i].row == row)
            columns_use(&c->cols, row, o->log[i].column, o->log[i].delta);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The first change: from now on rows are counted. */
static void begin(struct nodecache *c)
{
    struct overlay *o = &c->overlay;

    if (o->rows_cap < c->cols.view.n) {
        o->rows_cap = c->cols.cap;
        free(o->count);
        o->count = xnewn0(o->rows_cap, uint32_t);
        o->rows = xreallocarray(o->rows, o->rows_cap, sizeof *o->rows);
    }
    c->cols.view.overlaid = o->count;
}

struct overlay_entry *overlay_push(struct nodecache *c, enum overlay_kind kind, uint32_t row)
{
    struct overlay *o = &c->overlay;

    assert(row < c->cols.view.n);
    if (o->n == 0)
        begin(c);
    if (o->n == o->cap) {
        o->cap = o->cap ? o->cap * 2 : 64;
        o->log = xreallocarray(o->log, o->cap, sizeof *o->log);
    }
    if (o->count[row]++ == 0) {
        o->rows[o->nrows++] = row;
        rowsets_enter(c, row);
    }
    struct overlay_entry *e = &o->log[o->n++];
    *e = (struct overlay_entry){ .kind = kind, .row = row };
    return e;
}

static void attach(struct nodecache *c, struct cpod *p, struct cnode *n)
{
    c->cols.silent = true;
    cnode_attach(c, p, n);
    c->cols.silent = false;
    p->away = false;
}

static void detach(struct nodecache *c, struct cpod *p)
{
    c->cols.silent = true;
    cnode_detach(c, p);
    c->cols.silent = false;
    p->away = true;
}

/* A pod that was here before in this overlay, with all that is known of it. */
static struct cpod *take_spare(struct overlay *o, const struct kobj *pod)
{
    for (struct cpod **at = &o->spare; *at; at = &(*at)->spare) {
        struct cpod *p = *at;
        if (p->pod != pod)
            continue;
        *at = p->spare;
        o->nspare--;
        return p;
    }
    return NULL;
}

void overlay_add_pod(struct nodecache *c, uint32_t row, struct kobj *pod)
{
    struct cpod *p = take_spare(&c->overlay, pod);

    p = p ? p : cpod_new(c, pod, NULL);
    overlay_push(c, OVERLAY_ADDED, row)->pod = p;
    attach(c, p, c->rows[row]);
}

void overlay_remove_pod(struct nodecache *c, uint32_t row, const struct pod *pod)
{
    struct overlay_entry *e = overlay_push(c, OVERLAY_REMOVED, row);
    const struct cnode *n = c->rows[row];

    while (e->at < n->list.n && n->list.items[e->at] != pod) /* a short list beats the map */
        e->at++;
    assert(e->at < n->list.n);
    e->pod = n->pods[e->at];
    detach(c, e->pod);
}

static struct cpod *find_removed(const struct nodecache *c, uint32_t row, const struct pod *pod)
{
    struct cpod *p = uidmap_get(&c->pods, pod->obj.meta.uid);

    if (p && pod_of(p->pod) == pod)
        return p;
    for (uint32_t i = c->overlay.n; i-- > 0;) { /* an overlay had added it */
        const struct overlay_entry *e = &c->overlay.log[i];
        if (e->kind == OVERLAY_REMOVED && e->row == row && e->pod->away &&
            pod_of(e->pod->pod) == pod)
            return e->pod;
    }
    return NULL;
}

void overlay_restore_pod(struct nodecache *c, uint32_t row, const struct pod *pod)
{
    struct cpod *p = find_removed(c, row, pod);

    assert(p && p->away && p->node == c->rows[row]);
    overlay_push(c, OVERLAY_RESTORED, row)->pod = p;
    attach(c, p, p->node);
}

void overlay_use(struct nodecache *c, uint32_t row, uint32_t column, int64_t delta)
{
    struct overlay_entry *e = overlay_push(c, OVERLAY_USED, row);

    assert(column < c->cols.view.nres || column == KS_USED_MCPU_NZ || column == KS_USED_MEMORY_NZ);
    e->column = column;
    e->delta = MIN(MAX(delta, -KS_REQUEST_MAX), KS_REQUEST_MAX);
    columns_use(&c->cols, row, column, e->delta);
    rowsets_used(c, row);
}

/* ---- taking back ----------------------------------------------------------------------------- */

static void undo_added(struct nodecache *c, struct cpod *p)
{
    struct overlay *o = &c->overlay;

    detach(c, p);
    if (o->nspare == SPARE_MAX) {
        cpod_free(p);
        return;
    }
    p->spare = o->spare;
    o->spare = p;
    o->nspare++;
}

static void undo_removed(struct nodecache *c, struct cpod *p, uint32_t at)
{
    c->cols.silent = true;
    cnode_reattach(c, p, at);
    c->cols.silent = false;
    p->away = false;
}

void overlay_forget(struct nodecache *c, const struct cpod *p)
{
    for (uint32_t i = 0; i < c->overlay.n; i++) {
        if (c->overlay.log[i].pod != p)
            continue;
        c->overlay.log[i].kind = OVERLAY_VOID;
        c->overlay.log[i].pod = NULL;
    }
}

/* Measured for these columns: the next overlay may be about others. */
static void end(struct nodecache *c)
{
    struct overlay *o = &c->overlay;

    for (struct cpod *p; (p = o->spare);) {
        o->spare = p->spare;
        cpod_free(p);
    }
    o->nspare = 0;
    c->cols.view.overlaid = NULL;
}

struct overlay_undone overlay_undo(struct nodecache *c)
{
    struct overlay *o = &c->overlay;

    assert(o->n > 0);
    struct overlay_entry e = o->log[--o->n];
    struct overlay_undone u = { e.kind, e.row, e.pod ? kobj_ref(e.pod->pod) : NULL };
    if (o->count[e.row] == 1)
        rowsets_leave(c, e.row); /* as a whole */
    switch (e.kind) {
    case OVERLAY_ADDED: undo_added(c, e.pod); break;
    case OVERLAY_REMOVED: undo_removed(c, e.pod, e.at); break;
    case OVERLAY_RESTORED: detach(c, e.pod); break;
    case OVERLAY_USED:
        columns_use(&c->cols, e.row, e.column, -e.delta);
        rowsets_used(c, e.row);
        break;
    case OVERLAY_OWN:
        o->nown--;
        rowset_undo_own(e.set, e.row, e.column, e.delta);
        break;
    case OVERLAY_VOID: break;
    }
    if (--o->count[e.row] == 0)
        o->nrows--; /* the latest, since changes are undone in reverse order */
    if (o->n == 0)
        end(c);
    return u;
}

void overlay_fini(struct nodecache *c)
{
    while (overlay_mark(c))
        kobj_unref(overlay_undo(c).pod);
    free(c->overlay.log);
    free(c->overlay.rows);
    free(c->overlay.count);
}
