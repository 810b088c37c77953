/* overlay.c - one struct laid over another, along schema tables. */
#include "json/codec.h"

static void lay_object(const struct kschema *s, const char *over, struct arena *a, char *inout);

/* Bytes of a value in its slot. Objects behind a pointer, lists and maps have their own ways. */
static size_t slot_size(const struct kfield *f, unsigned type)
{
    switch ((enum kf_type)type) {
    case KF_BOOL: return sizeof(bool);
    case KF_OPT_BOOL: return sizeof(struct opt_bool);
    case KF_I32: return sizeof(int32_t);
    case KF_OPT_I32: return sizeof(struct opt_i32);
    case KF_OPT_DUR:
    case KF_OPT_I64: return sizeof(struct opt_i64);
    case KF_OPT_F64: return sizeof(struct opt_f64);
    case KF_QTY: return sizeof(struct qty);
    case KF_ENUM: return sizeof(uint8_t);
    case KF_INT_OR_STR: return sizeof(struct int_or_str);
    case KF_UID: return sizeof(struct kuid);
    case KF_LIST:
    case KF_MAP: return sizeof(struct klist);
    case KF_OBJ: return f->flags & KF_PTR ? sizeof(void *) : f->sub->size;
    default: return sizeof(int64_t); /* pointers, 64-bit numbers and times */
    }
}

static void replace(const struct kfield *f, unsigned type, const void *over, struct arena *a,
                    void *slot)
{
    memcpy(slot, over, slot_size(f, type));
    kf_copy_value(f, type, a, slot);
}

static void lay_value(const struct kfield *f, unsigned type, const void *over, struct arena *a,
                      void *slot)
{
    if (type != KF_OBJ) {
        replace(f, type, over, a, slot);
        return;
    }
    if (!(f->flags & KF_PTR)) {
        lay_object(f->sub, over, a, slot);
        return;
    }
    over = kf_load_ptr(over);
    char *under = kf_load_ptr(slot);
    if (!over)
        return;
    if (!under) {
        under = arena_zalloc(a, f->sub->size);
        memcpy(slot, &under, sizeof under);
    }
    lay_object(f->sub, over, a, under);
}

/* As long as the list above. Its objects inherit from those at the same place below. */
static void lay_list(const struct kfield *f, const struct klist *over, struct arena *a,
                     struct klist *l)
{
    size_t size = kf_elem_size(f);
    struct klist out = { over->n ? arena_zalloc_n(a, over->n, size) : NULL, over->n };

    for (uint32_t i = 0; i < over->n; i++) {
        char *item = (char *)out.items + i * size;
        if (f->elem == KF_OBJ && i < l->n)
            memcpy(item, (char *)l->items + i * size, size);
        lay_value(f, f->elem, (const char *)over->items + i * size, a, item);
    }
    *l = out;
}

/* The keys of both, in order; where both have one, the value above replaces the one below. */
static void lay_map(const struct kfield *f, const struct klist *over, struct arena *a,
                    struct klist *l)
{
    size_t size = kf_elem_size(f);
    const char *x = l->items, *y = over->items;
    const char *x_end = x + l->n * size, *y_end = y + over->n * size;
    struct klist out = { arena_zalloc_n(a, (size_t)l->n + over->n, size), 0 };

    while (x < x_end || y < y_end) {
        int order = x == x_end ? 1 : y == y_end ? -1 : strcmp(kf_load_ptr(x), kf_load_ptr(y));
        char *item = (char *)out.items + out.n++ * size;
        memcpy(item, order < 0 ? x : y, size);
        if (order >= 0) {
            char *key = arena_strdup(a, kf_load_ptr(y));
            memcpy(item, &key, sizeof key);
            kf_copy_value(f, f->elem, a, item + KMAP_VALUE);
            y += size;
        }
        if (order <= 0)
            x += size;
    }
    *l = out;
}

static void lay_object(const struct kschema *s, const char *over, struct arena *a, char *inout)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const void *from = over + f->off;
        void *slot = inout + f->off;

        if (f->flags & KF_OMITEMPTY && kf_is_empty(f, from))
            continue;
        if (f->type == KF_LIST)
            lay_list(f, from, a, slot);
        else if (f->type == KF_MAP)
            lay_map(f, from, a, slot);
        else
            lay_value(f, f->type, from, a, slot);
    }
}

void kj_overlay(const struct kschema *s, const void *base, const void *over, struct arena *a,
                void *out)
{
    kj_copy(s, base, a, out);
    lay_object(s, over, a, out);
}
