/* rowdata.c - what is known of each row: limits, attachments, and the volumes that its pods use.
 */
#include "api/node.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/nodevolumelimits/internal.h"

/* ---- sets ------------------------------------------------------------------------------------ */

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

/* One more row has a limit for the driver, or one less. */
static void count_driver(struct volumes *v, uint64_t driver, bool more)
{
    size_t i = 0;

    while (i < v->drivers.n && v->drivers.items[i].driver != driver)
        i++;
    if (i == v->drivers.n)
        vec_push(&v->drivers, ((struct limited){ .driver = driver }));
    v->drivers.items[i].rows += more ? 1 : -1u;
    if (v->drivers.items[i].rows == 0)
        vec_swap_remove(&v->drivers, i);
}

bool volumes_limited(const struct volumes *v, uint64_t driver)
{
    vec_foreach(&v->drivers, i)
        if (v->drivers.items[i].driver == driver)
            return true;
    return false;
}

static void clear_limits(struct volumes *v, struct volrow *r)
{
    for (uint32_t i = 0; i < r->nlimits; i++)
        count_driver(v, r->limits[i].driver, false);
    r->nlimits = 0;
}

/* The first that names a driver counts. */
static void read_limits(struct volumes *v, const struct csi_node *n, struct volrow *r)
{
    clear_limits(v, r);
    r->migrated = csi_is_migrated(n);
    r->limits = xreallocarray(r->limits, n ? n->drivers.n + 1 : 1, sizeof *r->limits);
    for (uint32_t i = 0; n && i < n->drivers.n; i++) {
        const struct csi_node_driver *d = &n->drivers.items[i];
        bool named = false;
        for (uint32_t k = 0; k < i; k++)
            named |= streq(n->drivers.items[k].name, d->name);
        if (named || !d->count.set)
            continue;
        r->limits[r->nlimits++] = (struct volume_limit){ csi_driver_id(d->name), d->count.v };
        count_driver(v, csi_driver_id(d->name), true);
    }
}

int64_t volrow_limit(const struct volrow *r, uint64_t driver)
{
    for (uint32_t i = 0; i < r->nlimits; i++)
        if (r->limits[i].driver == driver)
            return r->limits[i].count;
    return INT64_MAX;
}

static int64_t tightest(const struct volrow *r)
{
    int64_t lowest = INT64_MAX;

    for (uint32_t i = 0; i < r->nlimits; i++)
        lowest = MIN(lowest, r->limits[i].count);
    return lowest;
}

/* ---- attachments ----------------------------------------------------------------------------- */

static void read_attachments(const struct objects *w, const char *node, struct volset *s)
{
    const struct kobj *o;

    s->n = 0;
    s->settled = true;
    for (size_t it = 0; (o = objects_next_of_node(w, &kind_volume_attachment, node, &it));) {
        struct csi_volume v;
        if (csi_of_attachment(w, container_of(o, const struct volume_attachment, obj), &v))
            volset_push(s, &v);
        s->settled &= v.settled;
    }
    volset_tidy(s);
}

/* ---- usage ----------------------------------------------------------------------------------- */

static void collect_volume(const struct objects *w, const struct pod *p, const struct pod_volume *v,
                           bool migrated, struct volset *s)
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
    if (counts && (!csi.if_migrated || migrated))
        volset_push(s, &csi);
}

/* The volume of a bound claim cannot change, and a claim in use cannot be deleted: a set of such
 * volumes stays as long as the pods do. */
const struct volset *volrow_pods(struct volrow *r, const struct objects *w,
                                 const struct ks_nodes *nodes, uint32_t row)
{
    const struct ks_podlist *pods = &nodes->pods[row];
    struct volset *s = &r->pods;

    if (r->pods_made)
        return s;
    s->n = 0;
    s->settled = true;
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct pod *p = pods->items[i];
        for (uint32_t k = 0; k < p->volumes.n; k++)
            collect_volume(w, p, &p->volumes.items[k], r->migrated, s);
    }
    volset_tidy(s);
    r->pods_made = s->settled;
    return s;
}

/* ---- the row --------------------------------------------------------------------------------- */

bool volume_is_countable(const struct pod_volume *v)
{
    return volume_is_claim(v) || csi_is_inline(v);
}

static void fill(void *self, struct ks_fill *f)
{
    struct volumes *v = self;
    struct volrow *r = f->data;
    const char *node = f->nodes->node[f->row]->obj.meta.name;

    if (!f->pods_only) {
        const struct kobj *o = objects_get(v->objects, &kind_csi_node, NULL, node);
        read_limits(v, o ? csi_node_of(o) : NULL, r);
        read_attachments(v->objects, node, &r->attached);
    }
    r->pods_made = false;
    f->reads_objects = !r->attached.settled;
    f->column[COUNTABLE] = volumes_of_pods(&f->nodes->pods[f->row], volume_is_countable);
    f->column[ATTACHED] = r->attached.n;
    f->column[TIGHTEST] = tightest(r);
}

static void drop(void *self, void *data)
{
    struct volrow *r = data;

    clear_limits(self, r);
    free(r->limits);
    free(r->attached.items);
    free(r->pods.items);
}

const struct ks_row_data volumes_row = {
    .size = sizeof(struct volrow),
    .columns = VOLUMES_COLUMNS,
    .pods = true,
    .on_demand = true,
    .fill = fill,
    .drop = drop,
};
