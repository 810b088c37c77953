/* encode.c - structs to JSON text, along schema tables. */
#include "json/schema.h"

#include "base/ktime.h"
#include "base/num.h"
#include "json/codec.h"

static bool ptr_is_null(const void *slot)
{
    return !kf_load_ptr(slot);
}

static bool str_is_empty(const void *slot)
{
    return str_empty(kf_load_ptr(slot));
}

bool kf_is_empty(const struct kfield *f, const void *slot)
{
    switch ((enum kf_type)f->type) {
    case KF_STR: return str_is_empty(slot);
    case KF_OPT_STR:
    case KF_OPT_QTY:
    case KF_RAW: return ptr_is_null(slot);
    case KF_BOOL: return !*(const bool *)slot;
    case KF_OPT_BOOL: return !((const struct opt_bool *)slot)->set;
    case KF_I32: return *(const int32_t *)slot == 0;
    case KF_OPT_I32: return !((const struct opt_i32 *)slot)->set;
    case KF_TIME:
    case KF_MICROTIME:
    case KF_DUR:
    case KF_I64: return *(const int64_t *)slot == 0;
    case KF_OPT_DUR:
    case KF_OPT_I64: return !((const struct opt_i64 *)slot)->set;
    case KF_F64: return *(const double *)slot == 0;
    case KF_OPT_F64: return !((const struct opt_f64 *)slot)->set;
    case KF_QTY: return qty_is_zero(*(const struct qty *)slot);
    case KF_ENUM: return *(const uint8_t *)slot == 0;
    case KF_INT_OR_STR: {
        const struct int_or_str *v = slot;
        return !v->s && v->i == 0;
    }
    case KF_UID: return kuid_is_empty(*(const struct kuid *)slot);
    case KF_OBJ: return f->flags & KF_PTR && ptr_is_null(slot);
    case KF_LIST:
    case KF_MAP: return ((const struct klist *)slot)->n == 0;
    case KF_END: break;
    }
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_null(struct strbuf *out)
{
    strbuf_appendn(out, "null", 4);
}

static void put_cstr(struct strbuf *out, const char *s)
{
    kj_append_string(out, s ? s : "", s ? strlen(s) : 0);
}

static void put_f64(struct strbuf *out, double v)
{
    char text[40];

    if (v - v != 0)
        put_null(out);
    else
        strbuf_appendn(out, text, f64_format(v, text, sizeof text));
}

/* Text that needs no escapes. */
static void put_quoted(struct strbuf *out, const char *text, size_t n)
{
    strbuf_appendc(out, '"');
    strbuf_appendn(out, text, n);
    strbuf_appendc(out, '"');
}

static void put_qty(struct strbuf *out, const struct qty *q)
{
    char text[QTY_TEXT_MAX];

    if (!q)
        put_null(out);
    else
        put_quoted(out, text, qty_print(*q, text));
}

static void put_time(struct strbuf *out, nsec_t t, bool micro)
{
    char text[KTIME_TEXT_MAX];

    if (t == 0)
        put_null(out); /* as Go writes the zero metav1.Time */
    else
        put_quoted(out, text, micro ? ktime_format_micro(t, text) : ktime_format(t, text));
}

static void put_dur(struct strbuf *out, nsec_t d)
{
    char text[KTIME_TEXT_MAX];
    /* The micro sign in "1.5µs" is UTF-8 and stands as it is. */
    put_quoted(out, text, kdur_format(d, text));
}

static void put_enum(struct strbuf *out, const struct kfield *f, uint8_t v)
{
    const char *const *name = f->meta->names;

    while (*name && v > 0) {
        name++;
        v--;
    }
    put_cstr(out, *name);
}

static void put_uid(struct strbuf *out, struct kuid u)
{
    char text[KUID_TEXT_MAX];
    size_t n = kuid_format(u, text, sizeof text);
    kj_append_string(out, text, n);
}

static void put_object(const struct kschema *s, const void *in, struct strbuf *out);
static void put_list(const struct kfield *f, const struct klist *l, struct strbuf *out);
static void put_map(const struct kfield *f, const struct klist *l, struct strbuf *out);

static void put_value(const struct kfield *f, unsigned type, const void *slot, struct strbuf *out)
{
#define OPT(T, put)         \
    do {                    \
        const T *o = slot;  \
        if (o->set)         \
            put(out, o->v); \
        else                \
            put_null(out);  \
    } while (0)
#define PUT_BOOL(b, v) strbuf_append((b), (v) ? "true" : "false")

    switch ((enum kf_type)type) {
    case KF_STR: put_cstr(out, kf_load_ptr(slot)); break;
    case KF_OPT_STR:
        if (ptr_is_null(slot))
            put_null(out);
        else
            put_cstr(out, kf_load_ptr(slot));
        break;
    case KF_BOOL: PUT_BOOL(out, *(const bool *)slot); break;
    case KF_OPT_BOOL: OPT(struct opt_bool, PUT_BOOL); break;
    case KF_I32: strbuf_append_i64(out, *(const int32_t *)slot); break;
    case KF_OPT_I32: OPT(struct opt_i32, strbuf_append_i64); break;
    case KF_I64: strbuf_append_i64(out, *(const int64_t *)slot); break;
    case KF_OPT_I64: OPT(struct opt_i64, strbuf_append_i64); break;
    case KF_F64: put_f64(out, *(const double *)slot); break;
    case KF_OPT_F64: OPT(struct opt_f64, put_f64); break;
    case KF_QTY: put_qty(out, slot); break;
    case KF_OPT_QTY: put_qty(out, kf_load_ptr(slot)); break;
    case KF_TIME: put_time(out, *(const nsec_t *)slot, false); break;
    case KF_MICROTIME: put_time(out, *(const nsec_t *)slot, true); break;
    case KF_DUR: put_dur(out, *(const nsec_t *)slot); break;
    case KF_OPT_DUR: OPT(struct opt_i64, put_dur); break;
    case KF_ENUM: put_enum(out, f, *(const uint8_t *)slot); break;
    case KF_INT_OR_STR: {
        const struct int_or_str *v = slot;
        if (v->s)
            put_cstr(out, v->s);
        else
            strbuf_append_i64(out, v->i);
        break;
    }
    case KF_UID: put_uid(out, *(const struct kuid *)slot); break;
    case KF_RAW: strbuf_append(out, ptr_is_null(slot) ? "null" : kf_load_ptr(slot)); break;
    case KF_OBJ:
        if (f->flags & KF_PTR)
            slot = kf_load_ptr(slot);
        if (slot)
            put_object(f->sub, slot, out);
        else
            put_null(out);
        break;
    case KF_LIST: put_list(f, slot, out); break;
    case KF_MAP: put_map(f, slot, out); break;
    case KF_END: assert(!"a schema table with an unknown type");
    }
#undef OPT
#undef PUT_BOOL
}

/* ---- containers ------------------------------------------------------------------------------ */

static void put_list(const struct kfield *f, const struct klist *l, struct strbuf *out)
{
    strbuf_appendc(out, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        if (i)
            strbuf_appendc(out, ',');
        put_value(f, f->elem, (const char *)l->items + i * kf_elem_size(f), out);
    }
    strbuf_appendc(out, ']');
}

static void put_map(const struct kfield *f, const struct klist *l, struct strbuf *out)
{
    strbuf_appendc(out, '{');
    for (uint32_t i = 0; i < l->n; i++) {
        const char *item = (const char *)l->items + i * kf_elem_size(f);
        if (i)
            strbuf_appendc(out, ',');
        put_cstr(out, kf_load_ptr(item));
        strbuf_appendc(out, ':');
        put_value(f, f->elem, item + KMAP_VALUE, out);
    }
    strbuf_appendc(out, '}');
}

static void put_fields(const struct kschema *s, const char *in, struct strbuf *out, bool *first)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const char *slot = in + f->off;
        if (kf_is_inline(f)) {
            put_fields(f->sub, slot, out, first);
            continue;
        }
        if (f->flags & KF_OMITEMPTY && kf_is_empty(f, slot))
            continue;
        size_t before = out->len;
        if (!*first)
            strbuf_appendc(out, ',');
        strbuf_appendc(out, '"'); /* field names need no escapes */
        strbuf_appendn(out, f->json, f->json_len);
        strbuf_appendn(out, "\":", 2);
        size_t value = out->len;
        put_value(f, f->type, slot, out);
        /* An object by value shows only now whether there was anything in it. */
        if (f->type == KF_OBJ && f->flags & KF_OMITEMPTY && !(f->flags & KF_PTR) &&
            out->len == value + 2)
            strbuf_truncate(out, before);
        else
            *first = false;
    }
}

static void put_object(const struct kschema *s, const void *in, struct strbuf *out)
{
    bool first = true;

    if (s->bare) {
        put_value(s->fields, s->fields->type, (const char *)in + s->fields->off, out);
        return;
    }
    strbuf_appendc(out, '{');
    put_fields(s, in, out, &first);
    strbuf_appendc(out, '}');
}

void kj_encode(const struct kschema *s, const void *in, struct strbuf *out)
{
    put_object(s, in, out);
}
