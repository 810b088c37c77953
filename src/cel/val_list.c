/* val_list.c - elements of lists and maps, walking them, putting lists together. */
#include "cel/lib.h"

struct cel_val cel_list_at(struct arena *a, const struct cel_list *l, uint32_t i)
{
    return l->items ? l->items[i] : cel_v_json(a, kj_at(l->json, i), l->type->elem);
}

/* The elements, to where there is room for them. */
static void copy_items(struct arena *a, const struct cel_list *l, struct cel_val *to)
{
    struct kj_iter it;
    struct str key;
    const struct kj_val *v;

    if (l->items && l->n)
        memcpy(to, l->items, l->n * sizeof *to);
    if (l->items)
        return;
    for (it = kj_iter(l->json); kj_next(&it, &key, &v); to++)
        *to = cel_v_json(a, v, l->type->elem);
}

const struct cel_val *cel_list_items(struct arena *a, const struct cel_list *l)
{
    if (l->items)
        return l->items;
    struct cel_val *items = arena_alloc(a, MAX(l->n, 1U) * sizeof *items, 16);
    copy_items(a, l, items);
    return items;
}

/* ---- walking ----------------------------------------------------------------------------------- */

static int entry_cmp(const void *x, const void *y)
{
    const struct cel_entry *a = x, *b = y;
    int c;

    if (cel_compare(a->key, b->key, &c) == 0)
        return c;
    return (int)a->key.kind - (int)b->key.kind;
}

const struct cel_entry *cel_map_sorted(struct arena *a, const struct cel_map *m)
{
    struct cel_entry *e = arena_alloc(a, MAX(m->n, 1U) * sizeof *e, 16);
    uint32_t n = 0;

    if (m->entries) {
        memcpy(e, m->entries, m->n * sizeof *e);
        n = m->n;
    } else {
        struct str key;
        const struct kj_val *v;
        for (struct kj_iter it = kj_iter(m->json); kj_next(&it, &key, &v); n++) {
            e[n].key = cel_v_str(key.p, key.n);
            e[n].val = cel_v_json(a, v, m->type->elem ? m->type->elem : &cel_dyn);
        }
    }
    qsort(e, n, sizeof *e, entry_cmp);
    return e;
}

bool cel_iter_init(struct cel_iter *it, struct arena *a, struct cel_val v)
{
    *it = (struct cel_iter){ .a = a };
    if (v.kind == CK_LIST) {
        it->list = v.list;
        it->n = v.list->n;
        if (!v.list->items)
            it->json = kj_iter(v.list->json);
        return true;
    }
    if (v.kind != CK_MAP)
        return false;
    it->n = v.map->n;
    it->sorted = cel_map_sorted(a, v.map);
    return true;
}

bool cel_iter_next(struct cel_iter *it, struct cel_val *ret_key, struct cel_val *ret_val)
{
    struct str key;
    const struct kj_val *v = NULL;

    if (it->i >= it->n)
        return false;
    if (it->list) {
        *ret_key = cel_v_int(it->i);
        if (!it->list->items)
            (void)kj_next(&it->json, &key, &v);
        *ret_val =
            it->list->items ? it->list->items[it->i] : cel_v_json(it->a, v, it->list->type->elem);
    } else {
        *ret_key = it->sorted[it->i].key;
        *ret_val = it->sorted[it->i].val;
    }
    it->i++;
    return true;
}

/* ---- putting together -------------------------------------------------------------------------- */

static struct cel_val list_of(struct arena *a, const struct cel_type *t,
                              const struct cel_val *items, uint32_t n)
{
    struct cel_list *list = arena_new0(a, struct cel_list);

    *list = (struct cel_list){ .n = n, .items = items, .type = t };
    return (struct cel_val){ .kind = CK_LIST, .list = list };
}

/* The first element that has the identity of v; n: there is none. */
static uint32_t same_element(struct cel_run *r, const struct cel_type *t,
                             const struct cel_val *items, uint32_t n, struct cel_val v)
{
    uint32_t i = 0;

    (void)cel_work(r, n / 8);
    while (i < n && !r->cancelled && !cel_same_list_key(r, t, items[i], v))
        i++;
    return r->cancelled ? n : i;
}

static uint32_t same_hashed(struct cel_run *r, const struct cel_table *table,
                            const struct cel_type *t, const struct cel_val *items, uint32_t n,
                            struct cel_val v, uint64_t hash)
{
    uint32_t it = 0, at;

    while ((at = cel_table_next(table, hash, &it)) != UINT32_MAX) {
        if (cel_same_list_key(r, t, items[at], v))
            return at;
        if (!cel_work(r, 1))
            break;
    }
    return n;
}

/* Sets and lists by key: what is equal, or has the same keys, replaces the left element in its
 * place. */
static struct cel_val merge(struct cel_run *r, const struct cel_type *t, const struct cel_list *x,
                            const struct cel_list *y)
{
    CLEANUP(cel_table_fini) struct cel_table table = { 0 };
    uint32_t n = x->n, cap = x->n + MIN(y->n, 8U);
    struct cel_val *out = cel_alloc(r, cap + 1ULL, sizeof *out), k, one;
    struct cel_iter it;

    if (!out || !cel_enter(r, x->n))
        return cel_v_null();
    copy_items(r->a, x, out);
    bool hashed = (uint64_t)x->n + y->n > CEL_LONG && cel_has_hashes(t, x) && cel_has_hashes(t, y);
    for (uint32_t i = n; hashed && i-- > 0;) /* of equal ones the first is replaced */
        cel_table_put(&table, cel_list_key_hash(r, t, out[i]), i);
    (void)cel_iter_init(&it, r->a, (struct cel_val){ .kind = CK_LIST, .list = y });
    while (cel_work(r, hashed && it.i % 4 == 0) && cel_iter_next(&it, &k, &one)) {
        uint64_t h = hashed ? cel_list_key_hash(r, t, one) : 0;
        uint32_t at =
            hashed ? same_hashed(r, &table, t, out, n, one, h) : same_element(r, t, out, n, one);
        if (at == n && n == cap) {
            struct cel_val *grown = cel_alloc(r, 2ULL * cap, sizeof *grown);
            if (!grown)
                break;
            out = memcpy(grown, out, n * sizeof *grown);
            cap *= 2;
        }
        if (at == n && hashed)
            cel_table_put(&table, h, n);
        out[at] = cel_v_refit(r->a, one, t->elem);
        n += at == n;
    }
    cel_leave(r);
    return list_of(r->a, t, out, n);
}

struct cel_val cel_list_concat(struct cel_run *r, struct cel_val x, struct cel_val y)
{
    const struct cel_list *left = x.list, *right = y.list;
    const struct cel_type *t = left->type && left->type->of_schema ? left->type : NULL;
    uint64_t n = (uint64_t)left->n + right->n;

    if (right->n == 0)
        return x;
    if (left->n == 0 && !t)
        return y;
    if (t && t->list_kind != CEL_LIST_ATOMIC)
        return merge(r, t, left, right);
    struct cel_val *out = cel_alloc(r, n, sizeof *out);
    if (!out)
        return cel_v_null();
    copy_items(r->a, left, out);
    copy_items(r->a, right, out + left->n);
    /* What is added to a list of a schema is one of its items from then on. */
    for (uint64_t i = left->n; i < n && t; i++)
        out[i] = cel_v_refit(r->a, out[i], t->elem);
    return list_of(r->a, t, out, (uint32_t)n);
}
