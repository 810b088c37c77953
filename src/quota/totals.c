/* totals.c - what a tree has to share (sched-quota 7, 12). */
#include "quota/forest_int.h"

void totals_fini(struct totals *t)
{
    vec_foreach(t, i)
        free(t->items[i].name);
    vec_fini(t);
}

static size_t totals_place(const struct totals *t, const char *name, bool *ret_found)
{
    size_t lo = 0, hi = t->n;

    *ret_found = false;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(t->items[mid].name, name);
        if (c == 0) {
            *ret_found = true;
            return mid;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void totals_add(struct totals *t, const reslist *l, int sign)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const char *name = l->items[i].name;
        bool found;
        size_t at = totals_place(t, name, &found);
        if (!found) {
            struct total_amount fresh = { .name = xstrdup(name) };
            vec_insert(t, at, fresh);
        }
        t->items[at].count += sign * (__int128)column_amount(name, l->items[i].value, INT64_MAX);
        t->items[at].givers += (uint32_t)sign;
        if (t->items[at].givers == 0) {
            free(t->items[at].name);
            vec_remove(t, at);
        }
    }
}

static __int128 totals_get(const struct totals *t, const char *name, bool *ret_found)
{
    size_t at = totals_place(t, name, ret_found);

    return *ret_found ? t->items[at].count : 0;
}

void totals_mark(struct quota_forest *f)
{
    vec_foreach(&f->trees, i)
        f->trees.items[i]->total_dirty = true;
}

/* The quota whose annotation tells the total of a tree: one; of several, the first by name. */
static const struct quota *tree_head(const struct quota_forest *f, const struct quota_tree *t)
{
    const struct quota *head = NULL;

    vec_foreach(&f->heads, i) {
        const struct quota *q = f->heads.items[i];
        if (q->tree == t && (!head || strcmp(q->name, head->name) < 0))
            head = q;
    }
    return head;
}

/* Nodes, without what other trees have taken for themselves. */
static __int128 default_total(const struct quota_forest *f, const char *resource, bool *ret_found)
{
    __int128 sum = totals_get(&f->nodes, resource, ret_found);

    for (size_t i = 1; i < f->trees.n; i++) {
        const struct quota *head = tree_head(f, f->trees.items[i]);
        bool found;
        if (!head || head->ignores_default)
            continue;
        sum -= totals_get(&head->total, resource, &found);
        *ret_found |= found;
    }
    return sum;
}

static int64_t to_i64(__int128 v)
{
    return v > QUOTA_AMOUNT_MAX    ? QUOTA_AMOUNT_MAX
           : v < -QUOTA_AMOUNT_MAX ? -QUOTA_AMOUNT_MAX
                                   : (int64_t)v;
}

void totals_settle(struct quota_forest *f, struct quota_tree *t)
{
    uint64_t keys = 0, changed = 0;
    bool any = false;

    if (!t->total_dirty)
        return;
    const struct quota *head = tree_head(f, t);
    t->total_dirty = false;
    for (uint32_t c = 0; c < f->columns.n; c++) {
        bool found = false;
        __int128 sum = 0;
        if (t == f->tree)
            sum = default_total(f, f->columns.name[c], &found);
        else if (head)
            sum = totals_get(&head->total, f->columns.name[c], &found);
        any |= sum != 0;
        if (t == f->tree)
            sum -=
                (__int128)quota_cell(f->def, c)[QUOTA_USED] + quota_cell(f->system, c)[QUOTA_USED];
        if (to_i64(sum) != t->total[c])
            changed |= UINT64_C(1) << c;
        t->total[c] = to_i64(sum);
        keys |= (uint64_t)found << c;
    }
    /* A total of nothing at all counts as one that nobody has told yet: mins are not scaled. */
    if (!any)
        keys = 0;
    if (keys != t->total_keys)
        changed = UINT64_MAX;
    t->total_keys = keys;
    t->root->dirty |= changed;
}
