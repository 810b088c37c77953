/* tables.c - limits, attachments and volumes in use, by row. Each is made again when what it was
 * made from has changed, and a row's volumes only when somebody asks for them. */
#include "api/node.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/nodevolumelimits/internal.h"

/* ---- sets ------------------------------------------------------------------------------------ */

void volset_fini(struct volset *s)
{
    free(s->items);
    *s = (struct volset){ 0 };
}

static void volset_push(struct volset *s, const struct csi_volume *v)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 4;
        s->items = xreallocarray(s->items, s->cap, sizeof *s->items);
    }
    s->items[s->n++] = (struct attached){ v->id, v->driver };
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct attached *)a)->id, y = ((const struct attached *)b)->id;
    return (x > y) - (x < y);
}

static void volset_tidy(struct volset *s)
{
    uint32_t n = 0;

    if (s->n > 1)
        qsort(s->items, s->n, sizeof *s->items, by_id);
    for (uint32_t i = 0; i < s->n; i++)
        if (n == 0 || s->items[n - 1].id != s->items[i].id)
            s->items[n++] = s->items[i];
    s->n = n;
}

bool volset_has(const struct volset *s, uint64_t id)
{
    const struct attached key = { id, 0 };
    return s->n && bsearch(&key, s->items, s->n, sizeof key, by_id);
}

/* ---- limits ---------------------------------------------------------------------------------- */

enum { DRIVERS_KEPT = 16 }; /* a cluster has a handful; more come from somebody's fantasy */

void csilimits_fini(struct csilimits *l)
{
    vec_foreach(&l->cols, i) {
        free(l->cols.items[i].driver);
        free(l->cols.items[i].limit);
    }
    vec_fini(&l->cols);
}

void csilimits_begin(struct csilimits *l, const struct objects *w, const struct ks_nodes *nodes)
{
    uint64_t csi = objects_generation_of(w, &kind_csi_node);

    if (l->csi_generation != csi || l->node_generation != nodes->node_changes.generation ||
        l->cols.n >= DRIVERS_KEPT)
        csilimits_fini(l);
    l->csi_generation = csi;
    l->node_generation = nodes->node_changes.generation;
}

static int32_t limit_of(const struct csi_node *n, const char *driver)
{
    for (uint32_t i = 0; i < n->drivers.n; i++)
        if (streq(n->drivers.items[i].name, driver))
            return n->drivers.items[i].count.set ? n->drivers.items[i].count.v : NO_LIMIT;
    return NO_LIMIT;
}

const int32_t *csilimits_get(struct csilimits *l, const struct objects *w,
                             const struct ks_nodes *nodes, const char *driver)
{
    const struct kobj *o;

    vec_foreach(&l->cols, i) {
        if (streq(l->cols.items[i].driver, driver))
            return l->cols.items[i].any ? l->cols.items[i].limit : NULL;
    }
    struct limit_col c = { xstrdup(driver), xnewn0((size_t)nodes->n + 1, int32_t), false };
    for (uint32_t i = 0; i < nodes->n; i++)
        c.limit[i] = NO_LIMIT;
    for (size_t it = 0; (o = objects_next(w, &kind_csi_node, &it));) {
        int32_t limit = limit_of(csi_node_of(o), driver);
        uint32_t row = limit == NO_LIMIT ? KS_NO_ROW : ks_row_of(nodes, o->meta.name);
        if (row == KS_NO_ROW)
            continue;
        c.limit[row] = limit;
        c.any = true;
    }
    vec_push(&l->cols, c);
    return c.any ? c.limit : NULL;
}

/* ---- attachments ----------------------------------------------------------------------------- */

void volattached_fini(struct volattached *a)
{
    for (uint32_t i = 0; i < a->cap; i++)
        volset_fini(&a->sets[i]);
    free(a->sets);
    free(a->count);
    *a = (struct volattached){ 0 };
}

static void volattached_reserve(struct volattached *a, uint32_t rows)
{
    if (rows <= a->cap)
        return;
    a->sets = xreallocarray(a->sets, rows, sizeof *a->sets);
    a->count = xreallocarray(a->count, rows, sizeof *a->count);
    memset(a->sets + a->cap, 0, (rows - a->cap) * sizeof *a->sets);
    a->cap = rows;
}

void volattached_refresh(struct volattached *a, const struct objects *w,
                         const struct ks_nodes *nodes)
{
    uint64_t generation = objects_generation_of(w, &kind_volume_attachment);
    uint64_t pv_generation = objects_generation_of(w, &kind_pv);
    const struct kobj *o;

    if (a->cap && a->generation == generation &&
        a->node_generation == nodes->node_changes.generation &&
        (a->settled || a->pv_generation == pv_generation))
        return;
    volattached_reserve(a, nodes->n);
    for (uint32_t i = 0; i < a->cap; i++)
        a->sets[i].n = a->count[i] = 0;
    a->settled = true;
    for (size_t it = 0; (o = objects_next(w, &kind_volume_attachment, &it));) {
        const struct volume_attachment *va = container_of(o, const struct volume_attachment, obj);
        uint32_t row = ks_row_of(nodes, va->node_name);
        struct csi_volume v;
        if (row == KS_NO_ROW)
            continue;
        if (csi_of_attachment(w, va, &v))
            volset_push(&a->sets[row], &v);
        a->settled &= v.settled;
    }
    for (uint32_t i = 0; i < nodes->n; i++) {
        volset_tidy(&a->sets[i]);
        a->count[i] = a->sets[i].n;
    }
    a->generation = generation;
    a->pv_generation = pv_generation;
    a->node_generation = nodes->node_changes.generation;
}

/* ---- usage ----------------------------------------------------------------------------------- */

void volusage_fini(struct volusage *u)
{
    for (uint32_t i = 0; i < u->cap; i++)
        volset_fini(&u->rows[i].set);
    free(u->rows);
    *u = (struct volusage){ 0 };
}

void volusage_reserve(struct volusage *u, uint32_t rows)
{
    if (rows <= u->cap)
        return;
    u->rows = xreallocarray(u->rows, rows, sizeof *u->rows);
    memset(u->rows + u->cap, 0, (rows - u->cap) * sizeof *u->rows);
    u->cap = rows;
}

static void collect_volume(const struct objects *w, const struct pod *p, const struct pod_volume *v,
                           const char *node, struct volset *s)
{
    struct csi_volume csi = { 0 };
    bool counts;

    if (volume_is_claim(v)) {
        const struct pvc *c = claim_find(w, p, v);
        counts = c && claim_is_for(c, p, v) && csi_of_claim(w, c, &csi);
    } else {
        counts = csi_of_inline(v, &csi);
    }
    s->settled &= csi.settled;
    if (counts && csi.if_migrated) {
        const struct kobj *n = objects_get(w, &kind_csi_node, NULL, node);
        counts = n && csi_is_migrated(csi_node_of(n));
    }
    if (counts)
        volset_push(s, &csi);
}

void volusage_collect(const struct objects *w, const struct ks_nodes *nodes, uint32_t row,
                      struct volset *s)
{
    const struct ks_podlist *pods = &nodes->pods[row];

    s->n = 0;
    s->settled = true;
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct pod *p = pods->items[i];
        for (uint32_t k = 0; k < p->volumes.n; k++)
            collect_volume(w, p, &p->volumes.items[k], nodes->node[row]->obj.meta.name, s);
    }
    volset_tidy(s);
}

/* The volume of a bound claim cannot change, and a claim in use cannot be deleted, so a set of such
 * volumes needs no second look while the object cache moves on. */
const struct volset *volusage_row(struct volusage *u, const struct objects *w,
                                  const struct ks_nodes *nodes, uint32_t row)
{
    struct volusage_row *r = &u->rows[row];
    uint64_t objects = objects_generation(w);

    if (r->changed != nodes->changes.changed[row] || (!r->set.settled && r->objects != objects)) {
        volusage_collect(w, nodes, row, &r->set);
        r->changed = nodes->changes.changed[row];
        r->objects = objects;
    }
    return &r->set;
}
