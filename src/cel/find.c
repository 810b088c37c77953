/* find.c - elements of long lists and maps, without going through all of them each time. */
#include "base/map.h"
#include "cel/lib.h"

/* ---- table ------------------------------------------------------------------------------------- */

struct cel_link {
    uint32_t hash, next; /* next: a position and one, 0: none */
};

static void *table_alloc(const struct cel_table *t, size_t n, size_t size)
{
    return t->a ? arena_zalloc_n(t->a, n, size) : xcalloc(n, size);
}

static void table_free(const struct cel_table *t, void *p)
{
    if (!t->a)
        free(p);
}

/* Each chain becomes two, in which the order is as it was. */
static void split(struct cel_table *t)
{
    uint32_t n = t->heads ? t->mask + 1 : 0, mask = n ? 2 * n - 1 : 4 * CEL_LONG - 1;
    uint32_t *heads = table_alloc(t, mask + 1ULL, sizeof *heads);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t *ends[2] = { &heads[i], &heads[n + i] };
        for (uint32_t k = t->heads[i], next; k; k = next) {
            struct cel_link *l = &t->links[k - 1];
            bool upper = l->hash & n;
            next = l->next;
            *ends[upper] = k;
            l->next = 0;
            ends[upper] = &l->next;
        }
    }
    table_free(t, t->heads);
    t->heads = heads;
    t->mask = mask;
}

static void lengthen(struct cel_table *t, uint32_t at)
{
    uint32_t cap = MAX(MAX(2 * t->cap, at + 1), 2U * CEL_LONG);
    struct cel_link *links = table_alloc(t, cap, sizeof *links);

    if (t->cap)
        memcpy(links, t->links, t->cap * sizeof *links);
    table_free(t, t->links);
    t->links = links;
    t->cap = cap;
}

void cel_table_put(struct cel_table *t, uint64_t hash, uint32_t at)
{
    if (at >= t->cap)
        lengthen(t, at);
    if (!t->heads || t->n > t->mask)
        split(t);
    uint32_t *head = &t->heads[hash & t->mask];
    t->links[at] = (struct cel_link){ (uint32_t)hash, *head };
    *head = at + 1;
    t->n++;
}

uint32_t cel_table_next(const struct cel_table *t, uint64_t hash, uint32_t *it)
{
    uint32_t i = *it ? t->links[*it - 1].next : t->heads ? t->heads[hash & t->mask] : 0;

    while (i && t->links[i - 1].hash != (uint32_t)hash)
        i = t->links[i - 1].next;
    *it = i;
    return i ? i - 1 : UINT32_MAX;
}

void cel_table_fini(struct cel_table *t)
{
    table_free(t, t->heads);
    table_free(t, t->links);
}

/* ---- hashes ------------------------------------------------------------------------------------ */

static uint64_t hash_of(uint64_t seed, const void *p, size_t n)
{
    return (hash_bytes(p, n) ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Members that have a type and are no lists or maps; what else there is makes no difference. */
static uint64_t hash_object(struct cel_run *r, const struct cel_map *m)
{
    uint64_t h = CK_MAP;

    if (!m->json || m->type->kind != CT_OBJECT || !m->type->of_schema)
        return h;
    for (uint32_t i = 0; i < m->type->n_fields && i < CEL_LONG; i++) {
        struct cel_val v = cel_find_field(r, m, m->type->fields[i].name);
        if (v.kind != CK_ABSENT && v.kind != CK_LIST && v.kind != CK_MAP)
            h = h * 31 + cel_hash(r, v) + i;
    }
    return h;
}

uint64_t cel_hash(struct cel_run *r, struct cel_val v)
{
    double d;

    switch (v.kind) {
    case CK_INT:
    case CK_UINT:
    case CK_DOUBLE: /* equal ones are the same as doubles */
        d = v.kind == CK_INT ? (double)v.i : v.kind == CK_UINT ? (double)v.u : v.d;
        d = d == 0 ? 0 : d;
        return hash_bytes(&d, sizeof d);
    case CK_BOOL: return CK_BOOL + v.b;
    case CK_STRING:
    case CK_BYTES: return hash_of(v.kind, v.s, v.n);
    case CK_DURATION: return hash_of(v.kind, &v.i, sizeof v.i);
    case CK_TIMESTAMP: return hash_of(v.n, &v.i, sizeof v.i);
    case CK_MAP: return hash_object(r, v.map);
    default: return v.kind;
    }
}

bool cel_has_hashes(const struct cel_type *t, const struct cel_list *l)
{
    if (t->list_kind != CEL_LIST_SET)
        return true;
    if (!l->items)
        return l->type == t;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct cel_map *m = l->items[i].kind == CK_MAP ? l->items[i].map : NULL;
        if (m && !(m->json && m->type == t->elem))
            return false;
    }
    return true;
}

uint64_t cel_list_key_hash(struct cel_run *r, const struct cel_type *t, struct cel_val v)
{
    uint64_t h = 0;

    if (t->list_kind != CEL_LIST_MAP)
        return cel_hash(r, v);
    for (uint32_t i = 0; v.kind == CK_MAP && i < t->n_list_keys; i++)
        h = h * 31 + cel_hash(r, cel_find_field(r, v.map, t->list_keys[i]));
    return h;
}

/* ---- what was gone through before -------------------------------------------------------------- */

struct member {
    struct str key;
    const struct kj_val *val;
};

/* A list or map of which something was asked. */
struct asked {
    const void *of;
    uint32_t n;
    uint64_t passed; /* elements that were gone through in vain */
    struct cel_table table;
    const struct member *members; /* of a document */
    const struct cel_val *items;
};

enum { ASKED = 16, PATIENCE = 8 /* times that all of it is gone through */ };
struct cel_finds {
    struct asked asked[ASKED]; /* from the place of its address on; all taken: at that place */
};

static struct asked *asked_of(struct cel_run *r, const void *of, uint32_t n)
{
    if (!r->finds)
        r->finds = arena_new0(r->a, struct cel_finds);
    struct asked *all = r->finds->asked, *f = NULL;
    size_t place = ((uintptr_t)of >> 4) % ASKED;
    for (size_t i = 0; i < ASKED; i++) {
        f = &all[(place + i) % ASKED];
        if (f->of == of && f->n == n)
            return f;
        if (!f->of)
            break;
    }
    f = f->of ? &all[place] : f;
    *f = (struct asked){ .of = of, .n = n, .table.a = r->a };
    return f;
}

/* One more pass over all of it; true: rather find it by a table. */
static bool passes(struct cel_run *r, struct asked *f)
{
    f->passed += f->n;
    (void)cel_work(r, f->n / 16);
    return f->passed > (uint64_t)PATIENCE * f->n;
}

static const struct kj_val *member(struct cel_run *r, const struct cel_map *m, struct str key)
{
    if (m->n <= CEL_LONG)
        return kj_getn(m->json, key.p, key.n);
    struct asked *f = asked_of(r, m->json, m->n);
    if (!f->members && !passes(r, f))
        return kj_getn(m->json, key.p, key.n);
    if (!f->members) {
        struct member *all = cel_alloc(r, m->n, sizeof *all);
        struct kj_iter it = kj_iter(m->json);
        if (!all)
            return NULL;
        for (uint32_t i = 0; i < m->n && kj_next(&it, &all[i].key, &all[i].val);)
            i++;
        for (uint32_t i = 0; i < m->n; i++) /* of equal keys the last counts */
            cel_table_put(&f->table, hash_bytes(all[i].key.p, all[i].key.n), i);
        f->members = all;
    }
    uint32_t it = 0, at;
    uint64_t h = hash_bytes(key.p, key.n);
    while ((at = cel_table_next(&f->table, h, &it)) != UINT32_MAX) {
        if (str_eq(f->members[at].key, key))
            return f->members[at].val;
    }
    return NULL;
}

/* A null property is as good as none; nulls in maps and lists are values. */
static struct cel_val json_field(struct cel_run *r, const struct cel_map *m, struct str name)
{
    if (m->type->kind != CT_OBJECT)
        return cel_v_json(r->a, member(r, m, name), m->type->elem);
    const struct cel_field *f = cel_type_field(m->type, name);
    if (!f)
        return (struct cel_val){ .kind = CK_ABSENT };
    struct cel_val v = cel_v_json(r->a, member(r, m, f->json), f->type);
    return v.kind == CK_NULL ? (struct cel_val){ .kind = CK_ABSENT } : v;
}

static inline bool is_key(struct cel_run *r, const struct cel_val *k, const struct cel_val *key)
{
    if (k->kind == CK_STRING || key->kind == CK_STRING)
        return k->n == key->n && k->kind == key->kind &&
               (k->n == 0 || memcmp(k->s, key->s, k->n) == 0);
    struct cel_val same = cel_equal(r, *k, *key);
    return same.kind == CK_BOOL && same.b;
}

bool cel_is_key(struct cel_run *r, struct cel_val k, struct cel_val key)
{
    return is_key(r, &k, &key);
}

static struct cel_table table_of_keys(struct cel_run *r, const struct cel_map *m)
{
    struct cel_table t = { .a = r->a };

    for (uint32_t i = 0; i < m->n; i++)
        cel_table_put(&t, cel_hash(r, m->entries[i].key), i);
    return t;
}

/* Keys that are lists or objects are gone through themselves when they are hashed or compared, and
 * may take the place of what was asked: the table is held by value. */
static struct cel_val entry_by_table(struct cel_run *r, struct cel_table t, const struct cel_map *m,
                                     struct cel_val key)
{
    uint64_t h = cel_hash(r, key);
    uint32_t it = 0, at;

    while ((at = cel_table_next(&t, h, &it)) != UINT32_MAX && cel_work(r, 1)) {
        if (is_key(r, &m->entries[at].key, &key))
            return m->entries[at].val;
    }
    return (struct cel_val){ .kind = CK_ABSENT };
}

/* Of equal keys the last counts. */
static inline struct cel_val find_among(struct cel_run *r, const struct cel_map *m,
                                        struct cel_val key)
{
    const struct cel_entry *entries = m->entries;

    for (uint32_t i = m->n; i-- > 0;) {
        if (is_key(r, &entries[i].key, &key))
            return entries[i].val;
    }
    return (struct cel_val){ .kind = CK_ABSENT };
}

/* Not inline: most maps are short. */
static __attribute__((noinline)) struct cel_val find_long(struct cel_run *r,
                                                          const struct cel_map *m,
                                                          struct cel_val key)
{
    struct asked *f = asked_of(r, m->entries, m->n);

    if (f->table.heads)
        return entry_by_table(r, f->table, m, key);
    if (passes(r, f)) {
        struct cel_table made = table_of_keys(r, m);
        asked_of(r, m->entries, m->n)->table = made;
        return entry_by_table(r, made, m, key);
    }
    return find_among(r, m, key);
}

struct cel_val cel_find(struct cel_run *r, const struct cel_map *m, struct cel_val key)
{
    if (!m->entries)
        return key.kind == CK_STRING ? cel_find_field(r, m, cel_str(key))
                                     : (struct cel_val){ .kind = CK_ABSENT };
    return m->n > CEL_LONG ? find_long(r, m, key) : find_among(r, m, key);
}

struct cel_val cel_find_field(struct cel_run *r, const struct cel_map *m, struct str name)
{
    if (m->entries)
        return cel_find(r, m, cel_v_str(name.p, name.n));
    return m->lazy ? m->lazy->get(m->lazy->arg, name) : json_field(r, m, name);
}

struct cel_val cel_at(struct cel_run *r, const struct cel_list *l, uint32_t i)
{
    if (l->items)
        return l->items[i];
    if (l->n > CEL_LONG) {
        struct asked *f = asked_of(r, l->json, l->n);
        if (!f->items && passes(r, f))
            f->items = cel_list_items(r->a, l);
        if (f->items)
            return f->items[i];
    }
    return cel_list_at(r->a, l, i);
}

bool cel_is_one_of(struct cel_run *r, const struct cel_list *l, struct cel_val v)
{
    uint32_t it = 0, at;
    struct asked *f = l->n > CEL_LONG ? asked_of(r, l->items, l->n) : NULL;

    if (!f || (!f->table.heads && !passes(r, f))) {
        struct cel_val has = cel_list_contains(r, l, v);
        return has.kind == CK_BOOL && has.b;
    }
    if (!f->table.heads) {
        for (uint32_t i = 0; i < l->n; i++)
            cel_table_put(&f->table, cel_hash(r, l->items[i]), i);
    }
    const struct cel_table t = f->table; /* see entry_by_table() */
    uint64_t h = cel_hash(r, v);
    while ((at = cel_table_next(&t, h, &it)) != UINT32_MAX && cel_work(r, 1)) {
        struct cel_val same = cel_equal(r, v, l->items[at]);
        if (same.kind == CK_BOOL && same.b)
            return true;
    }
    return false;
}
