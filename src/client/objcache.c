/* objcache.c - objects by key, with indexes. */
#include "client/objcache.h"

#include "base/vec.h"

struct bucket {
    struct kobj **items;
    size_t n, cap;
    char value[];
};
struct objcache_index {
    index_fn fn;
    struct map buckets; /* value -> struct bucket */
};

static void index_fini(struct objcache_index *ix)
{
    map_foreach(&ix->buckets, e) {
        struct bucket *b = e->value;
        free(b->items);
        free(b);
    }
    map_fini(&ix->buckets);
}

void objcache_fini(struct objcache *s)
{
    for (int i = 0; i < s->nindexes; i++)
        index_fini(&s->indexes[i]);
    free(s->indexes);
    map_foreach(&s->objects, e) {
        struct objcache_entry *entry = e->value;
        kobj_unref(entry->obj);
        free(entry);
    }
    map_fini(&s->objects);
    *s = (struct objcache){ 0 };
}

struct change {
    struct objcache_index *ix;
    struct kobj *obj;
};

static void index_add(void *to, const char *value)
{
    struct change *c = to;
    size_t n = strlen(value);
    struct bucket *b = map_get(&c->ix->buckets, value, n);
    if (!b) {
        b = xcalloc(1, sizeof *b + n + 1);
        memcpy(b->value, value, n + 1);
        map_put(&c->ix->buckets, b->value, n, b);
    }
    /* An index function may name a value twice; the object is listed once. */
    if (b->n == 0 || b->items[b->n - 1] != c->obj)
        vec_push(b, c->obj);
}

static void index_del(void *to, const char *value)
{
    struct change *c = to;
    struct bucket *b = map_getz(&c->ix->buckets, value);
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++) {
        if (b->items[i] == c->obj) {
            vec_swap_remove(b, i);
            break;
        }
    }
    if (b->n == 0) {
        map_removez(&c->ix->buckets, value);
        free(b->items);
        free(b);
    }
}

static void reindex(struct objcache *s, struct kobj *obj, index_emit_fn emit)
{
    for (int i = 0; i < s->nindexes; i++) {
        struct change c = { &s->indexes[i], obj };
        s->indexes[i].fn(obj, emit, &c);
    }
}

int objcache_add_index(struct objcache *s, index_fn fn)
{
    for (int i = 0; i < s->nindexes; i++)
        if (s->indexes[i].fn == fn)
            return i;
    s->indexes = xreallocarray(s->indexes, (size_t)s->nindexes + 1, sizeof *s->indexes);
    s->indexes[s->nindexes] = (struct objcache_index){ .fn = fn };
    map_foreach(&s->objects, e) {
        struct objcache_entry *entry = e->value;
        struct change c = { &s->indexes[s->nindexes], entry->obj };
        fn(entry->obj, index_add, &c);
    }
    return s->nindexes++;
}

struct objcache_entry *objcache_find(const struct objcache *s, const char *key, size_t len)
{
    return map_get(&s->objects, key, len);
}

struct kobj *objcache_put(struct objcache *s, const char *key, size_t len, struct kobj *obj,
                          uint32_t round)
{
    struct objcache_entry *e = map_get(&s->objects, key, len);
    struct kobj *old = NULL;

    if (!e) {
        e = xmalloc(sizeof *e + len + 1);
        e->key_len = (uint32_t)len;
        memcpy(e->key, key, len);
        e->key[len] = '\0';
        map_put(&s->objects, e->key, len, e);
    } else {
        old = e->obj;
        s->bytes -= old->size;
        reindex(s, old, index_del);
    }
    e->obj = obj;
    e->seen = round;
    s->bytes += obj->size;
    reindex(s, obj, index_add);
    return old;
}

struct kobj *objcache_remove(struct objcache *s, const char *key, size_t len)
{
    struct objcache_entry *e = map_remove(&s->objects, key, len);
    if (!e)
        return NULL;
    struct kobj *obj = e->obj;
    s->bytes -= obj->size;
    reindex(s, obj, index_del);
    free(e);
    return obj;
}

struct kobj *const *objcache_by_index(const struct objcache *s, int index, const char *value,
                                      size_t *ret_n)
{
    assert(index >= 0 && index < s->nindexes);
    struct bucket *b = map_getz(&s->indexes[index].buckets, value);
    *ret_n = b ? b->n : 0;
    return b ? b->items : NULL;
}
