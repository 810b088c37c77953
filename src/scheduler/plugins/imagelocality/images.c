/* images.c - which nodes have which images. */
#include "scheduler/plugins/imagelocality/images.h"

#include "api/node.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/framework/plugin.h"

struct entry {
    struct image view;
    uint32_t *rows;
    uint32_t cap;
    uint64_t seen; /* the last walk that met it: a node may list a name twice */
    char name[];
};
struct listed { /* an image of a row */
    struct entry *entry;
    int64_t size; /* as the node says */
};
struct imagerow {
    struct vec_of(struct listed) images;
    uint64_t version; /* of the node, 0: not known */
};
struct images {
    struct map by_name; /* struct entry */
    struct imagerow *rows;
    uint32_t n, cap;
    uint64_t walks, generation;
    uint64_t node_generation; /* of the rows */
};

struct images *images_new(void)
{
    return xnew0(struct images);
}

uint64_t images_generation(const struct images *s)
{
    return s->generation;
}

const struct image *images_find(const struct images *s, const char *name)
{
    const struct entry *e = map_getz(&s->by_name, name);
    return e ? &e->view : NULL;
}

/* ---- one image ------------------------------------------------------------------------------- */

static struct entry *entry_make(struct images *s, const char *name, int64_t size)
{
    struct entry *e = map_getz(&s->by_name, name);

    if (!e) {
        size_t n = strlen(name);
        e = xcalloc(1, sizeof *e + n + 1);
        memcpy(e->name, name, n + 1);
        e->view.size = size;
        map_put(&s->by_name, e->name, n, e);
    }
    return e;
}

static void entry_add(struct entry *e, uint32_t row)
{
    if (e->view.n == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 4;
        e->rows = xreallocarray(e->rows, e->cap, sizeof *e->rows);
        e->view.rows = e->rows;
    }
    e->rows[e->view.n++] = row;
}

static void entry_drop(struct images *s, struct entry *e, uint32_t row)
{
    uint32_t at = 0;

    while (at < e->view.n && e->rows[at] != row)
        at++;
    assert(at < e->view.n);
    e->rows[at] = e->rows[--e->view.n];
    e->view.changed = s->generation;
    if (e->view.n > 0)
        return;
    map_removez(&s->by_name, e->name);
    free(e->rows);
    free(e);
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Does the row list just these images, with these sizes? */
static bool row_holds(struct images *s, const struct imagerow *r, const struct node *n)
{
    size_t at = 0;

    s->walks++;
    for (uint32_t i = 0; i < n->status.images.n; i++) {
        const struct node_image *image = &n->status.images.items[i];
        for (uint32_t k = 0; k < image->names.n; k++) {
            struct entry *e = map_getz(&s->by_name, image->names.items[k]);
            if (e && e->seen == s->walks)
                continue;
            if (!e || at == r->images.n || r->images.items[at].entry != e ||
                r->images.items[at].size != image->size_bytes)
                return false;
            e->seen = s->walks;
            at++;
        }
    }
    return at == r->images.n;
}

static void row_clear(struct images *s, struct imagerow *r, uint32_t row)
{
    vec_foreach(&r->images, i)
        entry_drop(s, r->images.items[i].entry, row);
    vec_clear(&r->images);
}

static void row_fill(struct images *s, struct imagerow *r, uint32_t row, const struct node *n)
{
    s->walks++;
    for (uint32_t i = 0; i < n->status.images.n; i++) {
        const struct node_image *image = &n->status.images.items[i];
        for (uint32_t k = 0; k < image->names.n; k++) {
            struct entry *e = entry_make(s, image->names.items[k], image->size_bytes);
            if (e->seen == s->walks)
                continue;
            e->seen = s->walks;
            e->view.changed = s->generation;
            entry_add(e, row);
            vec_push(&r->images, ((struct listed){ e, image->size_bytes }));
        }
    }
}

/* Rows change for many reasons: a node of the same version has the same images. */
static uint64_t version_of(const struct node *n)
{
    const char *name = n->obj.meta.name, *v = n->obj.meta.resource_version;
    uint64_t both[] = { hash_bytes(name, strlen(name)),
                        str_empty(v) ? 0 : hash_bytes(v, strlen(v)) };

    return str_empty(v) ? 0 : hash_bytes(both, sizeof both);
}

static void set_row(struct images *s, uint32_t row, const struct node *now)
{
    struct imagerow *r = &s->rows[row];
    uint64_t version = version_of(now);

    if (version && version == r->version)
        return;
    r->version = version;
    if (row_holds(s, r, now))
        return;
    s->generation++;
    row_clear(s, r, row);
    row_fill(s, r, row, now);
}

static void drop_row(struct images *s, uint32_t row)
{
    s->generation++;
    row_clear(s, &s->rows[row], row);
    s->rows[row].version = 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void grow(struct images *s, uint32_t n)
{
    if (n <= s->cap)
        return;
    s->rows = xreallocarray(s->rows, (size_t)n * 2, sizeof *s->rows);
    memset(s->rows + s->cap, 0, (n * 2 - s->cap) * sizeof *s->rows);
    s->cap = n * 2;
}

void images_sync(struct images *s, const struct ks_nodes *nodes)
{
    struct ks_changed it = ks_changed_since(&nodes->node_changes, nodes->n, s->node_generation);

    grow(s, nodes->n);
    for (uint32_t row = nodes->n; row < s->n; row++)
        drop_row(s, row);
    for (uint32_t row; (row = ks_changed_next(&it)) != KS_NO_ROW;)
        set_row(s, row, nodes->node[row]);
    s->n = nodes->n;
    s->node_generation = nodes->node_changes.generation;
}

struct images *images_free(struct images *s)
{
    if (!s)
        return NULL;
    for (uint32_t row = 0; row < s->cap; row++) {
        row_clear(s, &s->rows[row], row);
        vec_fini(&s->rows[row].images);
    }
    assert(s->by_name.n == 0);
    map_fini(&s->by_name);
    free(s->rows);
    free(s);
    return NULL;
}
