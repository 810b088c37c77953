/* images.c - which nodes have which images. */
#include "scheduler/plugins/imagelocality/images.h"

#include "api/node.h"
#include "base/map.h"
#include "scheduler/framework/plugin.h"

struct entry {
    struct image view;
    uint32_t *rows;
    uint32_t cap;
    uint64_t touched; /* the last change that named it: a node may list a name twice */
    char name[];
};
struct images {
    struct map by_name;        /* struct entry */
    const struct node **known; /* [row]; a reference on each */
    uint32_t n, cap;
    uint64_t change;
};

struct images *images_new(void)
{
    return xnew0(struct images);
}

static void entry_free(struct entry *e)
{
    free(e->rows);
    free(e);
}

const struct image *images_find(const struct images *s, const char *name)
{
    const struct entry *e = map_getz(&s->by_name, name);
    return e ? &e->view : NULL;
}

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
    if (e->view.n == 0) {
        map_removez(&s->by_name, e->name);
        entry_free(e);
    }
}

static void add_node(struct images *s, const struct node *n, uint32_t row)
{
    s->change++;
    for (uint32_t i = 0; i < n->status.images.n; i++) {
        const struct node_image *image = &n->status.images.items[i];
        for (uint32_t k = 0; k < image->names.n; k++) {
            struct entry *e = entry_make(s, image->names.items[k], image->size_bytes);
            if (e->touched != s->change)
                entry_add(e, row);
            e->touched = s->change;
        }
    }
}

static void drop_node(struct images *s, const struct node *n, uint32_t row)
{
    s->change++;
    for (uint32_t i = 0; i < n->status.images.n; i++) {
        const struct node_image *image = &n->status.images.items[i];
        for (uint32_t k = 0; k < image->names.n; k++) {
            struct entry *e = map_getz(&s->by_name, image->names.items[k]);
            if (!e || e->touched == s->change) /* its second mention */
                continue;
            e->touched = s->change;
            entry_drop(s, e, row);
        }
    }
}

/* Most changes of a node leave its images as they were, down to the addresses of their names. */
static bool same_images(const struct node *a, const struct node *b)
{
    if (a->status.images.n != b->status.images.n)
        return false;
    for (uint32_t i = 0; i < a->status.images.n; i++) {
        const struct node_image *x = &a->status.images.items[i], *y = &b->status.images.items[i];
        if (x->size_bytes != y->size_bytes || x->names.n != y->names.n)
            return false;
        for (uint32_t k = 0; k < x->names.n; k++)
            if (x->names.items[k] != y->names.items[k])
                return false;
    }
    return true;
}

static void set_row(struct images *s, uint32_t row, const struct node *now)
{
    const struct node *before = s->known[row];

    if (!before || !now || !same_images(before, now)) {
        if (before)
            drop_node(s, before, row);
        if (now)
            add_node(s, now, row);
    }
    if (now)
        kobj_ref((struct kobj *)&now->obj);
    if (before)
        kobj_unref((struct kobj *)&before->obj);
    s->known[row] = now;
}

static void grow(struct images *s, uint32_t n)
{
    if (n <= s->cap)
        return;
    s->known = xreallocarray(s->known, n * 2, sizeof(struct node *));
    memset(s->known + s->cap, 0, (n * 2 - s->cap) * sizeof(struct node *));
    s->cap = n * 2;
}

void images_sync(struct images *s, const struct ks_nodes *nodes)
{
    grow(s, nodes->n);
    for (uint32_t row = 0; row < nodes->n; row++)
        if (s->known[row] != nodes->node[row])
            set_row(s, row, nodes->node[row]);
    for (uint32_t row = nodes->n; row < s->n; row++)
        set_row(s, row, NULL);
    s->n = nodes->n;
}

struct images *images_free(struct images *s)
{
    if (!s)
        return NULL;
    for (uint32_t row = 0; row < s->n; row++)
        set_row(s, row, NULL);
    assert(s->by_name.n == 0);
    map_fini(&s->by_name);
    free(s->known);
    free(s);
    return NULL;
}
