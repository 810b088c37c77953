/* rowdata_fixture.h - a small cluster, and sets of row data of several kinds that say how often
 * they are called: for tests of row data.
 */
#ifndef KOORD_SCHEDULER_MODEL_TEST_ROWDATA_FIXTURE_H
#define KOORD_SCHEDULER_MODEL_TEST_ROWDATA_FIXTURE_H
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/storage.h"
#include "base/arena.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/rowdata.h"

struct cluster {
    struct object_fixture *base;
    struct objects *objects;
    struct nodecache *cache;
    const struct ks_nodes *nodes;
};

static inline UNUSED void start(struct cluster *c, void **fixture)
{
    c->base = *fixture;
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->nodes = nodecache_nodes(c->cache);
}

static inline UNUSED void stop(struct cluster *c)
{
    struct kerr err = { 0 };

    if (nodecache_verify(c->cache, &err) < 0)
        fail_msg("%s", err.text);
    nodecache_free(c->cache);
    objects_free(c->objects);
}

static inline UNUSED void put_node(struct cluster *c, const char *name, int label)
{
    CLEANUP(kobj_unref)
    struct kobj *n =
        fixture_object(c->base, &kind_node,
                       arena_printf(c->base->arena,
                                    "{'metadata':{'name':'%s','labels':{'l':'%d'}},'status':{"
                                    "'allocatable':{'cpu':'8','pods':'20'}}}",
                                    name, label));
    nodecache_put_node(c->cache, n);
}

static inline UNUSED struct kobj *make_pod(struct cluster *c, const char *name, const char *node)
{
    return fixture_object(c->base, &kind_pod,
                          arena_printf(c->base->arena,
                                       "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},"
                                       "'spec':{'nodeName':'%s'}}",
                                       name, name, node));
}

static inline UNUSED void put_pod(struct cluster *c, const char *name, const char *node)
{
    CLEANUP(kobj_unref) struct kobj *p = make_pod(c, name, node);
    nodecache_put_pod(c->cache, p);
}

static inline UNUSED void remove_pod(struct cluster *c, const char *name)
{
    nodecache_remove_pod(c->cache, kuid_parse(name, strlen(name)));
}

static inline UNUSED uint32_t row_of(const struct cluster *c, const char *node)
{
    uint32_t row = ks_row_of(c->nodes, node);
    assert_that(row, !=, KS_NO_ROW);
    return row;
}

/* ---- sets of several kinds ------------------------------------------------------------------- */

static struct seen { /* calls */
    uint32_t fills, pods_only, added, removed, dropped, copied;
    nsec_t until; /* what the next fills say */
    bool reads;
} seen;

/* Plain numbers about pods. */
struct plain {
    uint64_t hash;
    uint32_t label, n;
};

static inline UNUSED uint64_t hash_of(const struct pod *p)
{
    return kuid_hash(p->obj.meta.uid);
}

static inline UNUSED int label_of(const struct ks_fill *f)
{
    const char *l = kstrmap_get(&f->nodes->node[f->row]->obj.meta.labels, "l");
    return l ? atoi(l) : 0;
}

static inline UNUSED void note_fill(struct ks_fill *f)
{
    seen.fills++;
    seen.pods_only += f->pods_only;
    f->valid_until = seen.until;
    f->reads_objects = seen.reads;
}

static inline UNUSED void plain_fill(void *self, struct ks_fill *f)
{
    const struct ks_podlist *on = &f->nodes->pods[f->row];
    struct plain *d = f->data;

    (void)self;
    note_fill(f);
    if (!f->pods_only)
        d->label = (uint32_t)label_of(f);
    assert_int_equal(d->label, label_of(f));
    d->hash = 0;
    for (uint32_t i = 0; i < on->n; i++)
        d->hash += hash_of(on->items[i]);
    d->n = on->n;
    f->column[0] = on->n;
    f->column[1] = d->label;
}

static inline UNUSED void plain_add(void *self, struct ks_fill *f, const struct pod *p)
{
    struct plain *d = f->data;

    (void)self;
    seen.added++;
    d->hash += hash_of(p);
    d->n++;
    f->column[0]++;
}

static inline UNUSED void plain_remove(void *self, struct ks_fill *f, const struct pod *p)
{
    struct plain *d = f->data;

    (void)self;
    seen.removed++;
    d->hash -= hash_of(p);
    d->n--;
    f->column[0]--;
}

static const struct ks_row_data filled = {
    .size = sizeof(struct plain), .columns = 2, .pods = true, .fill = plain_fill
};
static const struct ks_row_data counted = {
    .size = sizeof(struct plain),
    .columns = 2,
    .pods = true,
    .fill = plain_fill,
    .add_pod = plain_add,
    .remove_pod = plain_remove,
};

/* About the node alone, and only a number. */
static inline UNUSED void node_fill(void *self, struct ks_fill *f)
{
    (void)self;
    note_fill(f);
    assert_false(f->pods_only);
    f->column[0] = label_of(f);
}
static const struct ks_row_data of_node = { .columns = 1, .fill = node_fill };

/* Something that the struct owns: a sorted list. */
struct list {
    uint64_t *items;
    uint32_t n;
};

static inline UNUSED int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline UNUSED void list_fill(void *self, struct ks_fill *f)
{
    const struct ks_podlist *on = &f->nodes->pods[f->row];
    struct list *l = f->data;
    uint64_t sum = 0;

    (void)self;
    note_fill(f);
    l->items = xreallocarray(l->items, on->n + 1, sizeof *l->items);
    l->n = on->n;
    for (uint32_t i = 0; i < on->n; i++)
        l->items[i] = hash_of(on->items[i]);
    qsort(l->items, l->n, sizeof *l->items, by_number);
    for (uint32_t i = 0; i < l->n; i++)
        sum = sum * 31 + l->items[i];
    f->column[0] = (int64_t)sum;
}

static inline UNUSED void list_drop(void *self, void *data)
{
    (void)self;
    seen.dropped++;
    free(((struct list *)data)->items);
}

static inline UNUSED void list_copy(void *self, void *to, const void *from)
{
    const struct list *l = from;
    struct list *d = to;

    (void)self;
    seen.copied++;
    assert_null(d->items);
    d->items = memcpy(xnewn0(l->n + 1, uint64_t), l->items, l->n * sizeof *l->items);
    d->n = l->n;
}

static const struct ks_row_data owning = {
    .size = sizeof(struct list), .columns = 1, .pods = true, .fill = list_fill, .drop = list_drop
};
static const struct ks_row_data copied = {
    .size = sizeof(struct list),
    .columns = 1,
    .pods = true,
    .fill = list_fill,
    .drop = list_drop,
    .copy = list_copy,
};

static inline UNUSED struct rowset *make(struct cluster *c, const struct ks_row_data *d)
{
    static const struct kind *const kinds[] = { &kind_nodemetric, &kind_pv, &kind_pvc, NULL };
    static const struct kind *const statuses[] = { &kind_pvc, NULL };

    seen = (struct seen){ 0 };
    return rowset_new(c->nodes, d, NULL, kinds, statuses);
}

/* How many rows are filled. */
static inline UNUSED uint32_t fills(struct rowset *s, nsec_t now)
{
    uint32_t before = seen.fills;

    rowset_sync(s, now);
    return seen.fills - before;
}

static inline UNUSED void verify(struct rowset *s, nsec_t now)
{
    struct kerr err = { 0 };

    if (rowset_verify(s, now, &err) < 0)
        fail_msg("%s", err.text);
}

static inline UNUSED void three_nodes(struct cluster *c)
{
    put_node(c, "a", 1);
    put_node(c, "b", 2);
    put_node(c, "c", 3);
}

static inline UNUSED void undo_to(struct nodecache *c, uint32_t mark)
{
    while (overlay_mark(c) > mark)
        kobj_unref(overlay_undo(c).pod);
}
#endif
