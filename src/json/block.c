/* block.c - objects as one block of memory: decode into a scratch buffer, then move.
 *
 * The buffer and its lists live as long as the scratch, so decoding an object costs one malloc of
 * exactly its size. Pointers inside are noted as they are written (kdec.fix) and shifted when the
 * bytes move to their block.
 */
#include "base/intern.h"
#include "json/codec.h"

enum { SCRATCH_FIRST = 64 << 10, CACHE_SLOTS = 2048 };

/* In front of the string table, whose hash is made to stand attacks and is slow for that: label
 * keys, namespaces and images repeat so much that a direct-mapped cache answers nearly always. A
 * slot holds its own reference, so what it points at is alive. */
struct istr_cache {
    const char *slot[CACHE_SLOTS];
};

struct kj_scratch {
    struct kdec d;
    struct istr_cache cache;
    struct kindexes indexes;
    size_t size; /* of the buffer at d.base */
};

/* ---- interned strings ------------------------------------------------------------------------ */

static inline unsigned cache_slot(const char *s, size_t n)
{
    uint64_t a = 0, b = 0;

    if (n >= 8) {
        memcpy(&a, s, 8);
        memcpy(&b, s + n - 8, 8);
    } else if (n >= 4) {
        uint32_t x, y;
        memcpy(&x, s, 4);
        memcpy(&y, s + n - 4, 4);
        a = x;
        b = y;
    } else {
        for (size_t i = 0; i < n; i++)
            a = a << 8 | (unsigned char)s[i];
    }
    uint64_t h = (a ^ (b << 29 | b >> 35) ^ n) * UINT64_C(0x9E3779B97F4A7C15);
    return (unsigned)(h >> 48) % CACHE_SLOTS;
}

static __attribute__((noinline)) void grow(struct kdec_strings *l)
{
    l->cap = l->cap ? l->cap * 2 : 256;
    l->v = xreallocarray(l->v, l->cap, sizeof *l->v);
}

static inline void push(struct kdec_strings *l, const char *s)
{
    if (UNLIKELY(l->n == l->cap))
        grow(l);
    l->v[l->n++] = s;
}

/* The cache keeps the string alive until the decode is over, also one that loses its slot: only a
 * decode that succeeds takes references, one that fails has none to give back. */
const char *kdec_intern(struct kdec *d, const char *s, size_t n)
{
    const char **slot = &d->cache->slot[cache_slot(s, n)], *got = *slot;

    if (UNLIKELY(!got || istr_len(got) != n || !kj_same_bytes(got, s, n))) {
        if (got)
            push(&d->evicted, got);
        *slot = got = intern_get(d->strings, s, n);
    }
    push(&d->refs, got);
    return got;
}

const char *kdec_intern_empty(struct kdec *d)
{
    push(&d->refs, d->empty);
    return d->empty;
}

static void drop_evicted(struct kdec *d)
{
    while (d->evicted.n > 0)
        istr_unref(d->evicted.v[--d->evicted.n]);
}

/* ---- indexes of schemas ---------------------------------------------------------------------- */

const struct kindex *kindex_make(struct kindexes *indexes, const struct kschema *s)
{
    if (indexes->n >= KINDEX_SLOTS / 2)
        return NULL;
    size_t at = (uintptr_t)s / 32 % KINDEX_SLOTS;
    while (indexes->slot[at])
        at = (at + 1) % KINDEX_SLOTS;
    struct kindex *ix = xnew0(struct kindex);
    ix->s = s;
    ix->simple = s->nfields <= 64 && !s->bare;
    for (uint32_t i = 0; i < s->nfields && i < 64; i++) {
        const struct kfield *f = &s->fields[i];
        uint8_t *name = &ix->field[kindex_hash(f->json, f->json_len)];
        *name = *name == KINDEX_UNKNOWN ? (uint8_t)(i + 1) : KINDEX_LOOK;
        ix->simple &= !kf_is_inline(f);
        if (f->type == KF_STR || (f->type == KF_OBJ && !(f->flags & KF_PTR)))
            ix->absent |= UINT64_C(1) << i;
    }
    indexes->n++;
    return indexes->slot[at] = ix;
}

/* ---- scratch --------------------------------------------------------------------------------- */

struct kj_scratch *kj_scratch_new(struct intern *strings)
{
    struct kj_scratch *s = xnew0(struct kj_scratch);

    assert(strings);
    s->d.strings = strings;
    s->d.cache = &s->cache;
    s->d.indexes = &s->indexes;
    s->d.empty = intern_get(strings, "", 0);
    s->size = SCRATCH_FIRST;
    s->d.base = xmalloc(s->size);
    return s;
}

struct kj_scratch *kj_scratch_free(struct kj_scratch *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        istr_unref(s->cache.slot[i]);
    for (size_t i = 0; i < KINDEX_SLOTS; i++)
        free(s->indexes.slot[i]);
    istr_unref(s->d.empty);
    strbuf_fini(&s->d.tmp);
    free(s->d.refs.v);
    free(s->d.evicted.v);
    free(s->d.fix);
    free(s->d.base);
    free(s);
    return NULL;
}

static void start_over(struct kdec *d, size_t size)
{
    d->refs.n = 0;
    d->front = d->base;
    d->back = d->limit = d->base + size;
    d->nfix = 0;
    d->msg[0] = '\0';
    kpath_init(&d->path);
}

static int decode_here(struct kdec *d, const struct kschema *s, const yyjson_val *v)
{
    size_t size = ((size_t)s->size + 7) & ~(size_t)7;

    if (size > (size_t)(d->back - d->front))
        return -ENOSPC;
    memset(d->front, 0, size);
    d->front += size;
    return kdec_object(d, s, v, d->base);
}

static void *move_to_block(struct kdec *d, size_t *ret_size)
{
    size_t lower = (size_t)(d->front - d->base), upper = (size_t)(d->limit - d->back);
    char *block = xmalloc(lower + upper);

    memcpy(block, d->base, lower);
    memcpy(block + lower, d->back, upper);
    for (size_t i = 0; i < d->nfix; i++) {
        char *slot = block + d->fix[i], *p = kf_load_ptr(slot);
        p = p < d->back ? block + (p - d->base) : block + lower + (p - d->back);
        memcpy(slot, &p, sizeof p);
    }
    *ret_size = lower + upper;
    return block;
}

int kj_decode_block(const struct kschema *s, const struct kj_val *in, struct kj_scratch *scratch,
                    void **ret_block, size_t *ret_size, struct kerr *err)
{
    struct kdec *d = &scratch->d;
    size_t size;
    int r;

    if (!in)
        return kerr_set(err, -EINVAL, "%s: expected an object, got nothing", s->name);
    for (;;) {
        start_over(d, scratch->size);
        r = decode_here(d, s, kj_y(in));
        if (LIKELY(r != -ENOSPC))
            break;
        if (scratch->size >= KDEC_MAX) {
            drop_evicted(d);
            return kerr_set(err, -E2BIG, "%s: the object is too large (more than %d MB decoded)",
                            s->name, KDEC_MAX >> 20);
        }
        scratch->size *= 2;
        free(d->base);
        d->base = xmalloc(scratch->size);
    }
    if (r == 0) {
        for (size_t i = 0; i < d->refs.n; i++)
            istr_ref(d->refs.v[i]);
        *ret_block = move_to_block(d, &size);
        if (ret_size)
            *ret_size = size;
    }
    drop_evicted(d);
    return r < 0 ? kdec_error(d, s, r, err) : 0;
}

/* ---- release --------------------------------------------------------------------------------- */

static void unref_object(const struct kschema *s, const void *in);

static void unref_string(const void *slot)
{
    const char *s = kf_load_ptr(slot);
    if (s != kj_empty)
        istr_unref(s);
}

/* One field, or one element of a list or map. */
static void unref_value(const struct kfield *f, unsigned type, const char *slot)
{
    switch (type) {
    case KF_STR:
    case KF_OPT_STR:
        if (kf_interned(f))
            unref_string(slot);
        break;
    case KF_OBJ:
        if (f->flags & KF_PTR)
            slot = kf_load_ptr(slot);
        if (slot)
            unref_object(f->sub, slot);
        break;
    default: break;
    }
}

static bool elems_hold_refs(const struct kfield *f)
{
    return f->elem == KF_OBJ || ((f->elem == KF_STR || f->elem == KF_OPT_STR) && kf_interned(f));
}

static void unref_list(const struct kfield *f, const struct klist *l)
{
    bool map = f->type == KF_MAP, values = elems_hold_refs(f);

    if (!values && !(map && kf_keys_interned(f)))
        return;
    for (uint32_t i = 0; i < l->n; i++) {
        const char *item = (const char *)l->items + (size_t)i * f->elem_size;
        if (map && kf_keys_interned(f))
            unref_string(item);
        if (values)
            unref_value(f, f->elem, map ? item + KMAP_VALUE : item);
    }
}

static void unref_object(const struct kschema *s, const void *in)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const char *slot = (const char *)in + f->off;
        if (f->type == KF_LIST || f->type == KF_MAP)
            unref_list(f, (const struct klist *)slot);
        else
            unref_value(f, f->type, slot);
    }
}

void *kj_block_free(const struct kschema *s, void *block)
{
    if (!block)
        return NULL;
    unref_object(s, block);
    free(block);
    return NULL;
}
