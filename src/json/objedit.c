/* objedit.c - many changes to one mutable object. */
#include "json/objedit.h"

static void index_member(struct objedit *e, size_t i)
{
    const yyjson_mut_val *k = e->m[i].key;
    if (e->hashed)
        map_put(&e->by_key, k->uni.str, kj_ylen((const yyjson_val *)k), (void *)(i + 1));
}

static void add_member(struct objedit *e, yyjson_mut_val *key, yyjson_mut_val *val)
{
    if (e->n == e->cap) {
        e->cap = MAX(e->cap * 2, (size_t)8);
        e->m = xreallocarray(e->m, e->cap, sizeof *e->m);
    }
    e->m[e->n++] = (struct objedit_member){ key, val };
    if (!e->hashed && e->n > KJ_SMALL_OBJ) {
        e->hashed = true;
        for (size_t i = 0; i + 1 < e->n; i++)
            index_member(e, i);
    }
    index_member(e, e->n - 1);
}

void objedit_open(struct objedit *e, struct kj_mdoc *d, struct kj_mval *obj)
{
    size_t n = kj_mlen(obj);
    const yyjson_val *k = n ? kj_first(kj_my_scalar(obj), true) : NULL;

    *e = (struct objedit){ .d = d, .obj = kj_my(obj), .cap = n };
    if (n)
        e->m = xnewn0(n, struct objedit_member);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *key = (yyjson_mut_val *)(uintptr_t)k;
        k = kj_sibling((const yyjson_val *)key->next, true);
        add_member(e, key, key->next);
    }
}

static struct objedit_member *find(const struct objedit *e, const char *key, size_t n)
{
    if (e->hashed) {
        uintptr_t i = (uintptr_t)map_get(&e->by_key, key, n);
        return i ? &e->m[i - 1] : NULL;
    }
    for (size_t i = 0; i < e->n; i++)
        if (kj_key_is((const yyjson_val *)e->m[i].key, key, n))
            return &e->m[i];
    return NULL;
}

struct kj_mval *objedit_get(const struct objedit *e, const char *key, size_t n)
{
    const struct objedit_member *m = find(e, key, n);
    return m && m->val ? kj_mfrom(m->val) : NULL;
}

void objedit_set(struct objedit *e, const char *key, size_t n, struct kj_mval *val)
{
    struct objedit_member *m = find(e, key, n);

    if (m)
        m->val = kj_my(val);
    else
        add_member(e, kj_my(kj_mstrn(e->d, key, n)), kj_my(val));
}

void objedit_del(struct objedit *e, const char *key, size_t n)
{
    struct objedit_member *m = find(e, key, n);
    if (m)
        m->val = NULL;
}

void objedit_close(struct objedit *e)
{
    unsafe_yyjson_set_len(e->obj, 0);
    e->obj->uni.ptr = NULL;
    for (size_t i = 0; i < e->n; i++)
        if (e->m[i].val)
            kj_mlink(e->obj, e->m[i].key, e->m[i].val);
    map_fini(&e->by_key);
    free(e->m);
}
