/* val_list.c - elements of lists and maps, walking them, putting lists together. */
#include "cel/lib.h"

struct cel_val cel_list_at(struct arena *a, const struct cel_list *l, uint32_t i)
{
    return l->items ? l->items[i] : cel_v_json(a, kj_at(l->json, i), l->type->elem);
}

const struct cel_val *cel_list_items(struct arena *a, const struct cel_list *l)
{
    struct kj_iter it;
    struct str key;
    const struct kj_val *v;
    uint32_t i = 0;

    if (l->items)
        return l->items;
    struct cel_val *items = arena_alloc(a, MAX(l->n, 1U) * sizeof *items, 16);
    for (it = kj_iter(l->json); kj_next(&it, &key, &v); i++)
        items[i] = cel_v_json(a, v, l->type->elem);
    return items;
}

/* A null property is as good as none; nulls in maps and lists are values. */
static struct cel_val json_field(struct arena *a, const struct cel_map *m, struct str name)
{
    const struct cel_field *f;

    if (m->type->kind != CT_OBJECT)
        return cel_v_json(a, kj_getn(m->json, name.p, name.n), m->type->elem);
    f = cel_type_field(m->type, name);
    if (!f)
        return (struct cel_val){ .kind = CK_ABSENT };
    struct cel_val v = cel_v_json(a, kj_getn(m->json, f->json.p, f->json.n), f->type);
    return v.kind == CK_NULL ? (struct cel_val){ .kind = CK_ABSENT } : v;
}

struct cel_val cel_map_field(struct arena *a, const struct cel_map *m, struct str name)
{
    if (m->lazy)
        return m->lazy->get(m->lazy->arg, name);
    if (m->entries)
        return cel_map_find(a, m, cel_v_str(name.p, name.n));
    return json_field(a, m, name);
}

struct cel_val cel_map_find(struct arena *a, const struct cel_map *m, struct cel_val key)
{
    if (!m->entries)
        return key.kind == CK_STRING ? json_field(a, m, cel_str(key))
                                     : (struct cel_val){ .kind = CK_ABSENT };
    for (uint32_t i = m->n; i-- > 0;) {
        struct cel_val k = m->entries[i].key;
        if (k.kind == CK_STRING || key.kind == CK_STRING) {
            if (k.kind == key.kind && str_eq(cel_str(k), cel_str(key)))
                return m->entries[i].val;
            continue;
        }
        struct cel_val same = cel_equal(a, k, key);
        if (same.kind == CK_BOOL && same.b)
            return m->entries[i].val;
    }
    return (struct cel_val){ .kind = CK_ABSENT };
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

/* Sets and lists by key: what is equal, or has the same keys, replaces the left element in its
 * place. */
static uint32_t merge(struct arena *a, const struct cel_type *t, struct cel_val *out, uint32_t n,
                      const struct cel_val *more, uint32_t nmore)
{
    for (uint32_t i = 0; i < nmore; i++) {
        uint32_t j = 0;
        while (j < n && !cel_same_list_key(a, t, out[j], more[i]))
            j++;
        out[j] = cel_v_refit(a, more[i], t->elem);
        n += j == n;
    }
    return n;
}

struct cel_val cel_list_concat(struct arena *a, struct cel_val l, struct cel_val r)
{
    const struct cel_type *t = l.list->type && l.list->type->of_schema ? l.list->type : NULL;
    uint32_t n = l.list->n;

    if (r.list->n == 0)
        return l;
    if (n == 0 && !t)
        return r;
    struct cel_val *out = arena_alloc(a, (n + r.list->n) * sizeof *out, 16);
    const struct cel_val *more = cel_list_items(a, r.list);
    if (n)
        memcpy(out, cel_list_items(a, l.list), n * sizeof *out);
    if (t && t->list_kind != CEL_LIST_ATOMIC)
        return list_of(a, t, out, merge(a, t, out, n, more, r.list->n));
    /* What is added to a list of a schema is one of its items from then on. */
    for (uint32_t i = 0; i < r.list->n; i++)
        out[n + i] = t ? cel_v_refit(a, more[i], t->elem) : more[i];
    return list_of(a, t, out, n + r.list->n);
}
