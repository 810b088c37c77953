/* decode_int.h - shared by decode.c and decode_scalar.c. */
#ifndef KOORD_JSON_DECODE_INT_H
#define KOORD_JSON_DECODE_INT_H
#include "json/codec.h"

/* Failures: the message goes to d->msg, -EINVAL is returned. */
int kdec_wrong_type(struct kdec *d, const char *expected, const yyjson_val *v);
int kdec_wrong(struct kdec *d, const char *what);
void kdec_too_large(struct kdec *d); /* only the message: return -E2BIG */

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed, 8-byte aligned. */
static inline int kdec_zeroed(struct kdec *d, size_t size, void **ret)
{
    size = (size + 7) & ~(size_t)7;
    if (d->arena) {
        if (size > KDEC_MAX - d->used) {
            kdec_too_large(d);
            return -E2BIG;
        }
        d->used += size;
        *ret = arena_alloc(d->arena, size, 8);
    } else {
        if (size > (size_t)(d->back - d->front))
            return -ENOSPC;
        *ret = d->front;
        d->front += size;
    }
    memset(*ret, 0, size);
    return 0;
}

/* n bytes of s, which is NUL-terminated behind them. */
static inline int kdec_string(struct kdec *d, const char *s, size_t n, char **ret)
{
    if (d->arena) {
        if (n + 1 > KDEC_MAX - d->used) {
            kdec_too_large(d);
            return -E2BIG;
        }
        d->used += n + 1;
        *ret = arena_alloc(d->arena, n + 1, 1);
    } else {
        if (n + 1 > (size_t)(d->back - d->front))
            return -ENOSPC;
        d->back -= n + 1;
        *ret = d->back;
    }
    memcpy(*ret, s, n + 1);
    return 0;
}

/* Every pointer into the decoded memory is stored through here. */
static inline void kdec_put_ptr(struct kdec *d, void *slot, const void *p)
{
    memcpy(slot, &p, sizeof p);
    if (d->arena)
        return;
    if (UNLIKELY(d->nfix == d->fix_cap)) {
        d->fix_cap = d->fix_cap ? d->fix_cap * 2 : 256;
        d->fix = xreallocarray(d->fix, d->fix_cap, sizeof *d->fix);
    }
    d->fix[d->nfix++] = (uint32_t)((char *)slot - d->base);
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* One value into a zeroed slot; v is not null. They stay out of line, so that kdec_value() is a
 * bare jump and a string does not pay for the stack of a quantity. */
int kdec_str(struct kdec *d, const struct kfield *f, const yyjson_val *v, void *slot);
int kdec_bool(struct kdec *d, const yyjson_val *v, bool *slot);
int kdec_i32(struct kdec *d, const yyjson_val *v, int32_t *slot);
int kdec_i64(struct kdec *d, const yyjson_val *v, int64_t *slot);
int kdec_f64(struct kdec *d, const yyjson_val *v, double *slot);
int kdec_qty(struct kdec *d, const yyjson_val *v, struct qty *slot);
int kdec_opt_qty(struct kdec *d, const yyjson_val *v, void *slot);
int kdec_time(struct kdec *d, const yyjson_val *v, nsec_t *slot);
int kdec_dur(struct kdec *d, const yyjson_val *v, nsec_t *slot);
int kdec_enum(struct kdec *d, const struct kfield *f, const yyjson_val *v, uint8_t *slot);
int kdec_int_or_str(struct kdec *d, const yyjson_val *v, struct int_or_str *slot);
int kdec_uid(struct kdec *d, const yyjson_val *v, struct kuid *slot);
int kdec_raw(struct kdec *d, const yyjson_val *v, void *slot);
int kdec_optional(struct kdec *d, unsigned type, const yyjson_val *v, void *slot);
#endif
