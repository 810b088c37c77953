/* copy.c - deep copies and comparison of structs, along schema tables. */
#include "json/codec.h"

/* ---- copy ------------------------------------------------------------------------------------ */

static void copy_object(const struct kschema *s, struct arena *a, char *out);

static void copy_str(struct arena *a, void *slot)
{
    const char *s = kf_load_ptr(slot);

    if (s)
        s = *s ? arena_strdup(a, s) : kj_empty;
    memcpy(slot, &s, sizeof s);
}

static void copy_bytes(struct arena *a, void *slot, size_t size)
{
    const void *from = kf_load_ptr(slot);
    void *to = NULL;

    if (from) {
        to = arena_alloc(a, size, 8);
        memcpy(to, from, size);
    }
    memcpy(slot, &to, sizeof to);
}

static void copy_list(const struct kfield *f, struct arena *a, struct klist *l);

void kf_copy_value(const struct kfield *f, unsigned type, struct arena *a, void *slot)
{
    switch (type) {
    case KF_STR:
    case KF_OPT_STR:
    case KF_RAW: copy_str(a, slot); break;
    case KF_INT_OR_STR: copy_str(a, &((struct int_or_str *)slot)->s); break;
    case KF_OPT_QTY: copy_bytes(a, slot, sizeof(struct qty)); break;
    case KF_UID: {
        struct kuid *u = slot;
        char text[KUID_TEXT_MAX];
        size_t n = kuid_format(*u, text, sizeof text);
        if (kuid_parse(text, n).lo == (uintptr_t)text)
            u->lo = (uintptr_t)arena_strndup(a, text, n);
        break;
    }
    case KF_OBJ:
        if (f->flags & KF_PTR) {
            copy_bytes(a, slot, f->sub->size);
            slot = kf_load_ptr(slot);
        }
        if (slot)
            copy_object(f->sub, a, slot);
        break;
    case KF_LIST:
    case KF_MAP: copy_list(f, a, slot); break;
    default: break;
    }
}

static void copy_list(const struct kfield *f, struct arena *a, struct klist *l)
{
    size_t size = kf_elem_size(f);
    bool map = f->type == KF_MAP;

    if (l->n == 0) {
        l->items = NULL;
        return;
    }
    copy_bytes(a, &l->items, l->n * size);
    for (uint32_t i = 0; i < l->n; i++) {
        char *item = (char *)l->items + i * size;
        if (map)
            copy_str(a, item);
        kf_copy_value(f, f->elem, a, map ? item + KMAP_VALUE : item);
    }
}

static void copy_object(const struct kschema *s, struct arena *a, char *out)
{
    for (uint32_t i = 0; i < s->nfields; i++)
        kf_copy_value(&s->fields[i], s->fields[i].type, a, out + s->fields[i].off);
}

void kj_copy(const struct kschema *s, const void *in, struct arena *a, void *out)
{
    memmove(out, in, s->size);
    copy_object(s, a, out);
}

/* ---- equality -------------------------------------------------------------------------------- */

static bool same_str(const void *a, const void *b, bool null_is_empty)
{
    const char *x = kf_load_ptr(a), *y = kf_load_ptr(b);

    if (null_is_empty) {
        x = str_or(x, "");
        y = str_or(y, "");
    }
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_object(const struct kschema *s, const char *a, const char *b);
static bool same_list(const struct kfield *f, const struct klist *a, const struct klist *b);

static bool same_opt_qty(const struct qty *a, const struct qty *b)
{
    return a == b || (a && b && qty_cmp(*a, *b) == 0);
}

#define SAME_OPT(T)                                \
    (((const T *)a)->set == ((const T *)b)->set && \
     (!((const T *)a)->set || ((const T *)a)->v == ((const T *)b)->v))

static bool same_value(const struct kfield *f, unsigned type, const void *a, const void *b)
{
    switch ((enum kf_type)type) {
    case KF_STR: return same_str(a, b, true);
    case KF_OPT_STR:
    case KF_RAW: return same_str(a, b, false);
    case KF_BOOL: return *(const bool *)a == *(const bool *)b;
    case KF_I32: return *(const int32_t *)a == *(const int32_t *)b;
    case KF_TIME:
    case KF_MICROTIME:
    case KF_DUR:
    case KF_I64: return *(const int64_t *)a == *(const int64_t *)b;
    case KF_F64: return *(const double *)a == *(const double *)b;
    case KF_ENUM: return *(const uint8_t *)a == *(const uint8_t *)b;
    case KF_OPT_BOOL: return SAME_OPT(struct opt_bool);
    case KF_OPT_I32: return SAME_OPT(struct opt_i32);
    case KF_OPT_DUR:
    case KF_OPT_I64: return SAME_OPT(struct opt_i64);
    case KF_OPT_F64: return SAME_OPT(struct opt_f64);
    case KF_QTY: return qty_cmp(*(const struct qty *)a, *(const struct qty *)b) == 0;
    case KF_OPT_QTY: return same_opt_qty(kf_load_ptr(a), kf_load_ptr(b));
    case KF_INT_OR_STR: {
        const struct int_or_str *x = a, *y = b;
        return same_str(&x->s, &y->s, false) && (x->s || x->i == y->i);
    }
    case KF_UID: return kuid_equal(*(const struct kuid *)a, *(const struct kuid *)b);
    case KF_OBJ:
        if (f->flags & KF_PTR) {
            a = kf_load_ptr(a);
            b = kf_load_ptr(b);
        }
        return a == b || (a && b && same_object(f->sub, a, b));
    case KF_LIST:
    case KF_MAP: return same_list(f, a, b);
    case KF_END: break;
    }
    return true;
}

static bool same_list(const struct kfield *f, const struct klist *a, const struct klist *b)
{
    bool map = f->type == KF_MAP;

    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const char *x = (const char *)a->items + i * kf_elem_size(f);
        const char *y = (const char *)b->items + i * kf_elem_size(f);
        if (map && !same_str(x, y, true))
            return false;
        if (!same_value(f, f->elem, map ? x + KMAP_VALUE : x, map ? y + KMAP_VALUE : y))
            return false;
    }
    return true;
}

static bool same_object(const struct kschema *s, const char *a, const char *b)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        if (!same_value(f, f->type, a + f->off, b + f->off))
            return false;
    }
    return true;
}

bool kj_struct_equal(const struct kschema *s, const void *a, const void *b)
{
    return a == b || (a && b && same_object(s, a, b));
}
