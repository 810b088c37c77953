/* view.c - reading quotas. */
#include "quota/forest_int.h"

const struct quota_columns *forest_columns(const struct quota_forest *f)
{
    return &f->columns;
}

struct quota *forest_find(const struct quota_forest *f, const char *name)
{
    return map_getz(&f->by_name, name);
}

struct quota *forest_at(const struct quota_forest *f, uint32_t id)
{
    return id < f->by_id.n ? f->by_id.items[id] : NULL;
}

static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct quota *const *)x)->name, (*(struct quota *const *)y)->name);
}

struct quota **forest_list(const struct quota_forest *f, const char *tree, struct arena *a,
                           uint32_t *ret_n)
{
    struct quota **list = arena_newn0(a, f->by_id.n, struct quota *);
    uint32_t n = 0;

    for (size_t i = 1; i < f->by_id.n; i++) {
        struct quota *q = f->by_id.items[i];
        if (q && q->sort != QUOTA_ROOT && q->sort != QUOTA_OUTSIDE &&
            (!tree || streq(q->tree->id, tree)))
            list[n++] = q;
    }
    if (n > 1)
        qsort(list, n, sizeof(struct quota *), by_name);
    *ret_n = n;
    return list;
}

size_t forest_bytes(const struct quota_forest *f)
{
    size_t sum = sizeof *f + podtable_bytes(&f->pods) + f->by_name.n * 2 * sizeof(struct map_entry);

    for (size_t i = 1; i < f->by_id.n; i++) {
        const struct quota *q = f->by_id.items[i];
        if (q)
            sum += sizeof *q + f->width * QUOTA_FIELDS * sizeof *q->v + strlen(q->name) +
                   q->children_cap * sizeof *q->children;
    }
    return sum;
}

const char *quota_name(const struct quota *q)
{
    return q->name;
}
const char *quota_namespace(const struct quota *q)
{
    return q->ns;
}
const char *quota_tree_name(const struct quota *q)
{
    return q->tree->id;
}
uint32_t quota_id(const struct quota *q)
{
    return q->id;
}
struct quota *quota_above(const struct quota *q)
{
    return q->parent;
}
bool quota_is_root(const struct quota *q)
{
    return q->sort == QUOTA_ROOT;
}
bool quota_is_special(const struct quota *q)
{
    return q->sort == QUOTA_SPECIAL;
}
bool quota_waits_for_parent(const struct quota *q)
{
    while (q->parent)
        q = q->parent;
    return q->sort == QUOTA_PLAIN;
}
const char *quota_parent_name(const struct quota *q)
{
    return q->parent_name;
}
bool quota_parent_flag(const struct quota *q)
{
    return q->is_parent;
}
bool quota_lends(const struct quota *q)
{
    return q->lends;
}
bool quota_heads_tree(const struct quota *q)
{
    return q->head;
}
uint64_t quota_runtime_version(const struct quota *q)
{
    return q->version;
}
uint32_t quota_children(const struct quota *q, struct quota *const **ret)
{
    *ret = q->children;
    return q->nchildren;
}
uint64_t quota_keys(const struct quota *q)
{
    return q->max_keys;
}
