/* decode_scalar.c - strings, numbers, times and the like out of parsed values. */
#include "base/ktime.h"
#include "json/decode_int.h"

#include <stdio.h>

const char kj_empty[1] = "";

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *type_name(const yyjson_val *v)
{
    switch (kj_type(kj_from(v))) {
    case KJ_NULL: return "null";
    case KJ_BOOL: return "a boolean";
    case KJ_NUM: return "a number";
    case KJ_STR: return "a string";
    case KJ_ARR: return "an array";
    case KJ_OBJ: return "an object";
    default: return "nothing";
    }
}

int kdec_wrong_type(struct kdec *d, const char *expected, const yyjson_val *v)
{
    (void)snprintf(d->msg, sizeof d->msg, "expected %s, got %s", expected, type_name(v));
    return -EINVAL;
}

int kdec_wrong(struct kdec *d, const char *what)
{
    (void)snprintf(d->msg, sizeof d->msg, "%s", what);
    return -EINVAL;
}

void kdec_too_large(struct kdec *d)
{
    (void)snprintf(d->msg, sizeof d->msg, "the object is too large (more than %d MB decoded)",
                   KDEC_MAX >> 20);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static inline bool is_str(const yyjson_val *v)
{
    return (v->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_STR;
}

int kdec_str(struct kdec *d, const struct kfield *f, const yyjson_val *v, void *slot)
{
    char *copy;

    if (UNLIKELY(!is_str(v)))
        return kdec_wrong_type(d, "a string", v);
    size_t n = kj_ylen(v);
    if (kf_interned(f) && !d->arena) {
        const char *s = kdec_intern(d, v->uni.str, n);
        memcpy(slot, &s, sizeof s); /* outside the block: no fix-up */
        return 0;
    }
    if (n == 0) {
        const char *s = kj_empty;
        memcpy(slot, &s, sizeof s);
        return 0;
    }
    int r = kdec_string(d, v->uni.str, n, &copy);
    if (r < 0)
        return r;
    kdec_put_ptr(d, slot, copy);
    return 0;
}

static int read_i64(struct kdec *d, const yyjson_val *v, int64_t min, int64_t max, int64_t *ret)
{
    int64_t i;
    int r = kj_i64(kj_from(v), &i);

    if (r == 0 && i >= min && i <= max) {
        *ret = i;
        return 0;
    }
    if (kj_type(kj_from(v)) != KJ_NUM)
        return kdec_wrong_type(d, "a whole number", v);
    char text[48];
    kj_num_text(kj_from(v), text, sizeof text);
    (void)snprintf(d->msg, sizeof d->msg,
                   r == -EINVAL ? "%s is not a whole number" : "%s is out of range", text);
    return -EINVAL;
}

/* The usual case without calls: an integer that is not negative. */
static inline bool small_int(const yyjson_val *v, uint64_t max)
{
    return (v->tag & (YYJSON_TYPE_MASK | YYJSON_SUBTYPE_MASK)) ==
               (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT) &&
           v->uni.u64 <= max;
}

int kdec_i32(struct kdec *d, const yyjson_val *v, int32_t *slot)
{
    int64_t i = v->uni.i64;
    int r = small_int(v, INT32_MAX) ? 0 : read_i64(d, v, INT32_MIN, INT32_MAX, &i);

    if (r == 0)
        *slot = (int32_t)i;
    return r;
}

int kdec_i64(struct kdec *d, const yyjson_val *v, int64_t *slot)
{
    if (LIKELY(small_int(v, INT64_MAX))) {
        *slot = v->uni.i64;
        return 0;
    }
    return read_i64(d, v, INT64_MIN, INT64_MAX, slot);
}

int kdec_qty(struct kdec *d, const yyjson_val *v, struct qty *ret)
{
    char text[64];
    const char *p = text;
    size_t n;
    struct kerr err;

    if (is_str(v)) {
        struct str trimmed = qty_trim(v->uni.str, kj_ylen(v));
        p = trimmed.p;
        n = trimmed.n;
    } else if (kj_type(kj_from(v)) == KJ_NUM) {
        n = kj_num_text(kj_from(v), text, sizeof text);
        if (n >= sizeof text)
            return kdec_wrong(d, "the number is too long for a quantity");
    } else {
        return kdec_wrong_type(d, "a quantity", v);
    }
    if (qty_parse(p, n, ret, &err) < 0)
        return kdec_wrong(d, err.text);
    return 0;
}

int kdec_time(struct kdec *d, const yyjson_val *v, nsec_t *ret)
{
    struct kerr err;

    if (!is_str(v))
        return kdec_wrong_type(d, "a time", v);
    const char *s = v->uni.str;
    size_t n = kj_ylen(v);
    /* Conditions of an object changed together more often than not. */
    if (n == sizeof d->time_text && memcmp(s, d->time_text, n) == 0) {
        *ret = d->time;
        return 0;
    }
    int r = ktime_parse(s, n, ret, &err);
    if (r == 0) {
        if (n == sizeof d->time_text) {
            memcpy(d->time_text, s, n);
            d->time = *ret;
        }
        return 0;
    }
    if (r != -ERANGE)
        return kdec_wrong(d, err.text);
    /* Go's zero time is absent; the year 9999 that some write for "never" is as late as we go. */
    *ret = strncmp(s, "0001", 4) == 0 ? 0 : strncmp(s, "1970", 4) < 0 ? INT64_MIN : NSEC_MAX;
    return 0;
}

int kdec_dur(struct kdec *d, const yyjson_val *v, nsec_t *ret)
{
    struct kerr err;

    if (!is_str(v))
        return kdec_wrong_type(d, "a duration", v);
    if (kdur_parse(v->uni.str, kj_ylen(v), ret, &err) < 0)
        return kdec_wrong(d, err.text);
    return 0;
}

int kdec_enum(struct kdec *d, const struct kfield *f, const yyjson_val *v, uint8_t *slot)
{
    assert(f->meta && f->meta->names);
    if (!is_str(v))
        return kdec_wrong_type(d, "a string", v);
    const char *const *names = f->meta->names;
    for (unsigned i = 0; names[i] && i < 256; i++)
        if (strlen(names[i]) == kj_ylen(v) && memcmp(names[i], v->uni.str, kj_ylen(v)) == 0) {
            *slot = (uint8_t)i;
            return 0;
        }
    if (d->flags & KJ_STRICT) {
        (void)snprintf(d->msg, sizeof d->msg, "unsupported value \"%.*s\"",
                       (int)MIN(kj_ylen(v), (size_t)64), v->uni.str);
        return -EINVAL;
    }
    *slot = 0; /* a value of tomorrow: the caller sees "not known" */
    return 0;
}

int kdec_int_or_str(struct kdec *d, const yyjson_val *v, struct int_or_str *slot)
{
    char *copy;
    int64_t i;

    if (is_str(v)) {
        int r = kdec_string(d, v->uni.str, kj_ylen(v), &copy);
        if (r == 0)
            kdec_put_ptr(d, &slot->s, copy);
        return r;
    }
    if (kj_type(kj_from(v)) != KJ_NUM)
        return kdec_wrong_type(d, "a whole number or a string", v);
    int r = read_i64(d, v, INT32_MIN, INT32_MAX, &i);
    if (r == 0)
        slot->i = (int32_t)i;
    return r;
}

int kdec_uid(struct kdec *d, const yyjson_val *v, struct kuid *slot)
{
    char *copy;

    if (!is_str(v))
        return kdec_wrong_type(d, "a string", v);
    size_t n = kj_ylen(v);
    if (n >= KUID_TEXT_MAX)
        return kdec_wrong(d, "the UID is longer than 128 bytes");
    struct kuid u = kuid_parse(v->uni.str, n);
    *slot = u;
    if (u.lo != (uintptr_t)v->uni.str)
        return 0; /* 16 bytes, or empty */
    int r = kdec_string(d, v->uni.str, n, &copy);
    if (r == 0)
        kdec_put_ptr(d, &slot->lo, copy);
    return r;
}

int kdec_raw(struct kdec *d, const yyjson_val *v, void *slot)
{
    char *copy;

    strbuf_reset(&d->tmp);
    kj_write(kj_from(v), 0, &d->tmp);
    int r = kdec_string(d, d->tmp.data, d->tmp.len, &copy);
    if (r == 0)
        kdec_put_ptr(d, slot, copy);
    return r;
}

int kdec_opt_qty(struct kdec *d, const yyjson_val *v, void *slot)
{
    void *q;
    int r = kdec_zeroed(d, sizeof(struct qty), &q);

    if (r == 0)
        r = kdec_qty(d, v, q);
    if (r == 0)
        kdec_put_ptr(d, slot, q);
    return r;
}

int kdec_bool(struct kdec *d, const yyjson_val *v, bool *slot)
{
    if ((v->tag & YYJSON_TYPE_MASK) != YYJSON_TYPE_BOOL)
        return kdec_wrong_type(d, "a boolean", v);
    *slot = v->tag & YYJSON_SUBTYPE_MASK;
    return 0;
}

int kdec_f64(struct kdec *d, const yyjson_val *v, double *slot)
{
    return kj_f64(kj_from(v), slot) < 0 ? kdec_wrong_type(d, "a number", v) : 0;
}

/* Go's pointers to scalars: struct opt_x is { bool set; x v; }. */
int kdec_optional(struct kdec *d, unsigned type, const yyjson_val *v, void *slot)
{
    int r = -EINVAL;

    switch (type) {
    case KF_OPT_BOOL: r = kdec_bool(d, v, &((struct opt_bool *)slot)->v); break;
    case KF_OPT_I32: r = kdec_i32(d, v, &((struct opt_i32 *)slot)->v); break;
    case KF_OPT_I64: r = kdec_i64(d, v, &((struct opt_i64 *)slot)->v); break;
    case KF_OPT_F64: r = kdec_f64(d, v, &((struct opt_f64 *)slot)->v); break;
    case KF_OPT_DUR: r = kdec_dur(d, v, &((struct opt_i64 *)slot)->v); break;
    }
    *(bool *)slot = r == 0;
    return r;
}
_Static_assert(offsetof(struct opt_bool, set) == 0 && offsetof(struct opt_i32, set) == 0 &&
                   offsetof(struct opt_i64, set) == 0 && offsetof(struct opt_f64, set) == 0,
               "kdec_optional() marks them alike");
