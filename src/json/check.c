/* check.c - defaults and limits of structs, along schema tables.
 *
 * What a struct cannot tell, we do not guess: a plain number or boolean that is zero counts as
 * present for KF_REQUIRED, and a false KF_BOOL never takes a default (use KF_OPT_BOOL).
 */
#include "json/codec.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- defaults -------------------------------------------------------------------------------- */

static void default_object(const struct kschema *s, struct arena *a, char *inout);

static void default_from_text(const struct kfield *f, struct arena *a, void *slot)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kdec d = { .arena = a };

    kpath_init(&d.path);
    int r = kj_parse(f->meta->def, strlen(f->meta->def), 0, &doc, NULL);
    assert(r == 0); /* defaults are ours */
    if (kj_type(kj_root(doc)) != KJ_NULL)
        r = kdec_value(&d, f, f->type, kj_y(kj_root(doc)), slot);
    assert(r == 0);
    strbuf_fini(&d.tmp);
    (void)r;
}

/* Objects behind the field, wherever they are. */
static void default_inside(const struct kfield *f, struct arena *a, char *slot)
{
    const struct klist *l = (const struct klist *)slot;

    if (f->type == KF_OBJ) {
        if (f->flags & KF_PTR)
            slot = kf_load_ptr(slot);
        if (slot)
            default_object(f->sub, a, slot);
        return;
    }
    if ((f->type != KF_LIST && f->type != KF_MAP) || f->elem != KF_OBJ)
        return;
    for (uint32_t i = 0; i < l->n; i++) {
        char *item = (char *)l->items + i * kf_elem_size(f);
        if (f->type == KF_MAP)
            item += KMAP_VALUE;
        if (f->flags & KF_PTR)
            item = kf_load_ptr(item);
        if (item)
            default_object(f->sub, a, item);
    }
}

static void default_object(const struct kschema *s, struct arena *a, char *inout)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        char *slot = inout + f->off;
        if (f->meta && f->meta->def && f->type != KF_BOOL && kf_is_empty(f, slot))
            default_from_text(f, a, slot);
        default_inside(f, a, slot);
    }
}

void kj_default(const struct kschema *s, struct arena *a, void *inout)
{
    default_object(s, a, inout);
}

/* ---- limits ---------------------------------------------------------------------------------- */

struct check {
    struct kpath path;
    struct kerr *err;
};

static int check_object(struct check *c, const struct kschema *s, const char *in);

static bool can_be_missing(const struct kfield *f)
{
    switch (f->type) {
    case KF_BOOL:
    case KF_I32:
    case KF_I64:
    case KF_F64:
    case KF_QTY:
    case KF_DUR:
    case KF_INT_OR_STR:
    case KF_LIST: /* [] is a value, and looks the same */
    case KF_MAP: return false;
    case KF_OBJ: return f->flags & KF_PTR;
    default: return true;
    }
}

static int unsupported(struct check *c, const char *const *names, const char *value)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (; *names; names++) {
        if (!**names)
            continue;
        strbuf_append(&b, b.len ? ", " : "");
        strbuf_append_quoted(&b, *names, strlen(*names));
    }
    return kerr_api(c->err, -EINVAL, KR_INVALID,
                    "Unsupported value: \"%.64s\": supported values: %s", value, strbuf_str(&b));
}

static int check_names(struct check *c, const struct kmeta *m, const char *value)
{
    if (!m->names || str_empty(value))
        return 0;
    for (const char *const *name = m->names; *name; name++)
        if (streq(*name, value))
            return 0;
    return unsupported(c, m->names, value);
}

static int check_limits(struct check *c, const struct kmeta *m, int64_t v)
{
    if (m->min.set && v < m->min.v)
        return kerr_api(c->err, -EINVAL, KR_INVALID,
                        "Invalid value: %" PRId64 ": must be greater than or equal to %" PRId64, v,
                        m->min.v);
    if (m->max.set && v > m->max.v)
        return kerr_api(c->err, -EINVAL, KR_INVALID,
                        "Invalid value: %" PRId64 ": must be less than or equal to %" PRId64, v,
                        m->max.v);
    return 0;
}

static int check_qty(struct check *c, const struct kmeta *m, const struct qty *q)
{
    char text[QTY_TEXT_MAX];

    if (!q)
        return 0;
    bool low = m->min.set && qty_cmp(*q, qty_from_i64(m->min.v, QTY_DECIMAL_SI)) < 0;
    bool high = m->max.set && qty_cmp(*q, qty_from_i64(m->max.v, QTY_DECIMAL_SI)) > 0;
    if (!low && !high)
        return 0;
    qty_print(*q, text);
    return kerr_api(c->err, -EINVAL, KR_INVALID,
                    "Invalid value: \"%s\": must be %s than or equal to %" PRId64, text,
                    low ? "greater" : "less", low ? m->min.v : m->max.v);
}

static int check_f64(struct check *c, const struct kmeta *m, double v)
{
    if (m->min.set && v < (double)m->min.v)
        return kerr_api(c->err, -EINVAL, KR_INVALID,
                        "Invalid value: %g: must be greater than or equal to %" PRId64, v,
                        m->min.v);
    if (m->max.set && v > (double)m->max.v)
        return kerr_api(c->err, -EINVAL, KR_INVALID,
                        "Invalid value: %g: must be less than or equal to %" PRId64, v, m->max.v);
    return 0;
}

static int check_scalar(struct check *c, const struct kfield *f, unsigned type, const void *slot)
{
    const struct kmeta *m = f->meta;

    if (!m)
        return 0;
    switch (type) {
    case KF_STR:
    case KF_OPT_STR: return check_names(c, m, kf_load_ptr(slot));
    case KF_I32: return check_limits(c, m, *(const int32_t *)slot);
    case KF_DUR:
    case KF_I64: return check_limits(c, m, *(const int64_t *)slot);
    case KF_OPT_I32: {
        const struct opt_i32 *o = slot;
        return o->set ? check_limits(c, m, o->v) : 0;
    }
    case KF_OPT_DUR:
    case KF_OPT_I64: {
        const struct opt_i64 *o = slot;
        return o->set ? check_limits(c, m, o->v) : 0;
    }
    case KF_F64: return check_f64(c, m, *(const double *)slot);
    case KF_OPT_F64: {
        const struct opt_f64 *o = slot;
        return o->set ? check_f64(c, m, o->v) : 0;
    }
    case KF_QTY: return check_qty(c, m, slot);
    case KF_OPT_QTY: return check_qty(c, m, kf_load_ptr(slot));
    default: return 0;
    }
}

static int check_value(struct check *c, const struct kfield *f, unsigned type, const char *slot)
{
    if (type != KF_OBJ)
        return check_scalar(c, f, type, slot);
    if (f->flags & KF_PTR)
        slot = kf_load_ptr(slot);
    return slot ? check_object(c, f->sub, slot) : 0;
}

static int check_list(struct check *c, const struct kfield *f, const struct klist *l)
{
    bool map = f->type == KF_MAP;

    for (uint32_t i = 0; i < l->n; i++) {
        const char *item = (const char *)l->items + i * kf_elem_size(f);
        int r = check_value(c, f, f->elem, map ? item + KMAP_VALUE : item);
        if (r < 0) {
            if (map)
                kpath_key(&c->path, kf_load_ptr(item));
            else
                kpath_index(&c->path, i);
            return r;
        }
    }
    return 0;
}

static int check_object(struct check *c, const struct kschema *s, const char *in)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const char *slot = in + f->off;
        int r = 0;
        if (f->flags & KF_REQUIRED && can_be_missing(f) && kf_is_empty(f, slot))
            r = kerr_api(c->err, -EINVAL, KR_INVALID, "Required value");
        else if (f->type == KF_LIST || f->type == KF_MAP)
            r = check_list(c, f, (const struct klist *)slot);
        else
            r = check_value(c, f, f->type, slot);
        if (r < 0) {
            if (!kf_is_inline(f))
                kpath_field(&c->path, f->json, f->json_len);
            return r;
        }
    }
    return 0;
}

int kj_validate(const struct kschema *s, const void *in, struct kerr *err)
{
    struct kerr local;
    struct check c = { .err = err ? err : &local };

    kpath_init(&c.path);
    if (check_object(&c, s, in) == 0)
        return 0;
    return kerr_wrap(c.err, "%s", kpath_str(&c.path));
}
