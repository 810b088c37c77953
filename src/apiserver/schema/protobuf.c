/* protobuf.c - messages in protobuf, read by the field tables into documents.
 *
 * Go's generated code writes every field that is no pointer, zero or not; a zero is left out here,
 * as encoding/json would, unless the field is a pointer in Go.
 */
#include <math.h>

#include "apiserver/schema/protobuf_odd.h"
#include "apiserver/schema/tables.h"
#include "base/arena.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/num.h"
#include "base/wire_codec.h"

struct reader {
    struct kj_mdoc *d;
    struct arena *arena;
    struct kerr *err;
    unsigned depth;
};
struct message { /* one, while it is walked */
    const struct t_type *type;
    unsigned embedded; /* number of the embedded struct that this is; 0: the type itself */
    struct str rest;   /* behind the field in hand */
    struct kj_mval *out;
};

static int malformed(struct reader *r, const char *why)
{
    return kerr_api(r->err, -EINVAL, KR_BAD_REQUEST, "%s", why);
}

/* ---- small messages that are scalars in JSON --------------------------------------------------
 */

struct small { /* Quantity 1 string; IntOrString 1 type, 2 int, 3 string; Time 1 s, 2 ns */
    int64_t i1, i2;
    struct str s1, s2, s3, unknown;
};
static const struct wire_member numbers_members[] = {
    WIRE_MEMBER(struct small, i1, 1, WK_INT),
    WIRE_MEMBER(struct small, i2, 2, WK_INT),
    WIRE_MEMBER(struct small, s3, 3, WK_STR),
};
static const struct wire_table numbers_table = WIRE_TABLE("number", struct small, numbers_members);
static const struct wire_member texts_members[] = {
    WIRE_MEMBER(struct small, s1, 1, WK_STR),
    WIRE_MEMBER(struct small, s2, 2, WK_STR),
};
static const struct wire_table texts_table = WIRE_TABLE("text", struct small, texts_members);

static bool read_small(struct reader *r, const struct wire_table *t, struct str bytes,
                       struct small *ret)
{
    return wire_decode(t, bytes, r->arena, ret, NULL) == 0;
}

static struct kj_mval *text_value(struct reader *r, struct str s)
{
    return kj_mstrn(r->d, s.n ? s.p : "", s.n);
}

static struct kj_mval *base64_value(struct reader *r, struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    b64_encode(s.p, s.n, &b);
    return kj_mstrn(r->d, strbuf_str(&b), b.len);
}

static struct kj_mval *time_value(struct reader *r, struct str bytes, bool micro)
{
    char text[KTIME_TEXT_MAX];
    struct small m;

    if (bytes.n == 0) /* Go's zero time */
        return kj_mnull(r->d);
    if (!read_small(r, &numbers_table, bytes, &m))
        return NULL;
    /* Beyond what we count: the first or last second, which reads back as itself. */
    nsec_t t = MAX(i64_add_sat(i64_mul_sat(m.i1, NSEC_PER_SEC), m.i2),
                   INT64_MIN / NSEC_PER_SEC * NSEC_PER_SEC);
    if (micro)
        ktime_format_micro(t, text);
    else
        ktime_format(t, text);
    return kj_mstr(r->d, text);
}

static struct kj_mval *duration_value(struct reader *r, struct str bytes)
{
    char text[KTIME_TEXT_MAX];
    struct small m;

    if (!read_small(r, &numbers_table, bytes, &m))
        return NULL;
    kdur_format(m.i1, text);
    return kj_mstr(r->d, text);
}

static struct kj_mval *int_or_string_value(struct reader *r, struct str bytes)
{
    struct small m;

    if (!read_small(r, &numbers_table, bytes, &m))
        return NULL;
    return m.i1 == 1 ? text_value(r, m.s3) : kj_mi64(r->d, m.i2);
}

static struct kj_mval *quantity_value(struct reader *r, struct str bytes)
{
    struct small m;

    if (!read_small(r, &texts_table, bytes, &m))
        return NULL;
    return m.s1.n ? text_value(r, m.s1) : kj_mstr(r->d, "0");
}

/* RawExtension, FieldsV1: field 1 is JSON. */
static struct kj_mval *raw_value(struct reader *r, struct str bytes)
{
    struct small m;

    if (!read_small(r, &texts_table, bytes, &m))
        return NULL;
    return m.s1.n ? kj_mraw(r->d, m.s1.p, m.s1.n) : kj_mnull(r->d);
}

/* A message around a list, since protobuf has no maps of lists: field 1 is each string. */
static struct kj_mval *strings_value(struct reader *r, struct str bytes)
{
    struct kj_mval *list = kj_marr(r->d);
    struct wire_field w;
    int e;

    while ((e = wire_next(&bytes, &w)) > 0) {
        if (w.num != 1 || w.type != WIRE_BYTES)
            return NULL;
        kj_mpush(list, text_value(r, w.bytes));
    }
    return e < 0 ? NULL : list;
}

/* ---- fields ------------------------------------------------------------------------------------
 */

static int read_message(struct reader *r, const struct t_type *t, unsigned embedded,
                        struct str bytes, struct kj_mval *out);

static bool is_number(const struct t_field *f)
{
    return f->kind == T_BOOL || f->kind == T_I32 || f->kind == T_I64;
}

/* A double. */
static struct kj_mval *float_value(struct reader *r, uint64_t bits)
{
    char text[40];
    double v;

    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v))
        return NULL; /* JSON has no such number */
    return kj_mraw(r->d, text, f64_format(v, text, sizeof text));
}

/* The value of whichever field of the message is set. */
static struct kj_mval *either_value(struct reader *r, const struct t_type *t, struct kj_mval *m)
{
    static const char *const forms[] = { "list", "object", "bool" };
    struct kj_mval *v = types_field(t, "bool", 4) ? kj_mbool(r->d, false) : kj_mnull(r->d);

    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (kj_mget(m, forms[i])) {
            kj_massign(v, kj_mget(m, forms[i]));
            break;
        }
    return v;
}

static struct kj_mval *object_value(struct reader *r, const struct t_type *t, struct str bytes)
{
    struct kj_mval *v = kj_mobj(r->d);

    if (read_message(r, t, 0, bytes, v) < 0)
        return NULL;
    return t->either ? either_value(r, t, v) : v;
}

static struct kj_mval *number_value(struct reader *r, const struct t_field *f, uint64_t v)
{
    return f->kind == T_BOOL ? kj_mbool(r->d, v != 0) : kj_mi64(r->d, (int64_t)v);
}

/* NULL, with or without an error told: malformed. */
static struct kj_mval *bytes_value(struct reader *r, const struct t_field *f, struct str bytes)
{
    switch ((enum t_kind)f->kind) {
    case T_STR: return text_value(r, bytes);
    case T_BYTES: return base64_value(r, bytes);
    case T_QTY: return quantity_value(r, bytes);
    case T_IOS: return int_or_string_value(r, bytes);
    case T_TIME: return time_value(r, bytes, false);
    case T_MICRO: return time_value(r, bytes, true);
    case T_DUR: return duration_value(r, bytes);
    case T_ANY: return raw_value(r, bytes);
    case T_STRS: return strings_value(r, bytes);
    case T_OBJ: return object_value(r, f->type, bytes);
    default: return NULL;
    }
}

/* A zero that stands for "not set". */
static bool is_unset(const struct t_field *f, const struct wire_field *w, const struct kj_mval *v)
{
    switch ((enum t_kind)f->kind) {
    case T_TIME:
    case T_MICRO:
    case T_ANY: return kj_mtype(v) == KJ_NULL; /* pointer or not */
    case T_IOS: return false;
    case T_OBJ: return !(f->flags & T_PTR) && kj_mlen(v) == 0;
    default: return !(f->flags & T_PTR) && w->value == 0 && w->bytes.n == 0;
    }
}

static int wrong_type(struct reader *r, const struct t_field *f, const struct wire_field *w)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    protobuf_wrong_type(w->type, f->name, &why);
    return malformed(r, why.data);
}

static struct kj_mval *field_value(struct reader *r, const struct t_field *f,
                                   const struct wire_field *w)
{
    struct kj_mval *v = NULL;

    r->err->code = 0;
    if (f->kind == T_NUM && w->type == WIRE_FIXED64)
        v = float_value(r, w->value);
    else if (f->kind != T_NUM && w->type == (is_number(f) ? WIRE_VARINT : WIRE_BYTES))
        v = is_number(f) ? number_value(r, f, w->value) : bytes_value(r, f, w->bytes);
    else
        wrong_type(r, f, w);
    if (!v && r->err->code == 0)
        malformed(r, "unexpected EOF"); /* of a small message inside */
    return v;
}

static const char at_twice[] = "a message that is no list is there twice";

static int put_one(struct reader *r, const struct t_field *f, const struct wire_field *w,
                   struct message *m)
{
    /* Protobuf would merge the two. No client writes this. */
    if (f->kind == T_OBJ && kj_mget(m->out, f->name))
        return malformed(r, at_twice);
    struct kj_mval *v = field_value(r, f, w);
    if (!v)
        return r->err->code;
    if (is_unset(f, w, v))
        kj_mdel(m->out, f->name, strlen(f->name)); /* the last one counts */
    else
        kj_mset(r->d, m->out, f->name, v);
    return 0;
}

/* Numbers may come packed, all in one field. */
static int put_packed(struct reader *r, const struct t_field *f, struct str bytes,
                      struct kj_mval *list)
{
    uint64_t v;
    int e;

    while ((e = wire_next_packed(&bytes, &v)) > 0)
        kj_mpush(list, number_value(r, f, v));
    return e < 0 ? malformed(r, "unexpected EOF") : 0;
}

static int put_item(struct reader *r, const struct t_field *f, const struct wire_field *w,
                    struct message *m)
{
    struct kj_mval *list = kj_mget(m->out, f->name), *v;

    if (!list) {
        list = kj_marr(r->d);
        kj_mset(r->d, m->out, f->name, list);
    }
    if (is_number(f) && w->type == WIRE_BYTES)
        return put_packed(r, f, w->bytes, list);
    v = field_value(r, f, w);
    if (!v)
        return r->err->code;
    kj_mpush(list, v);
    return 0;
}

/* One entry as JSON text. */
static int put_entry(struct reader *r, const struct t_field *f, struct str entry,
                     struct kj_mval *out, struct map *seen)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct str key, value;

    if (protobuf_entry(entry, &key, &value, &why) < 0)
        return malformed(r, why.data);
    r->err->code = 0;
    struct kj_mval *v = bytes_value(r, f, value);
    if (!v)
        return r->err->code ? r->err->code : malformed(r, "unexpected EOF");
    const char *name = key.n ? key.p : "";
    struct kj_mval *before = map_get(seen, name, key.n);
    if (before) {
        kj_massign(before, v); /* the last one counts */
        return 0;
    }
    map_put(seen, name, key.n, v);
    kj_mappend(r->d, out, name, key.n, v);
    return 0;
}

/* The next field, whichever it is; groups are passed over. */
static int next_entry(struct str *rest, struct wire_field *w)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    int e;

    while ((e = wire_next(rest, w)) < 0)
        if (protobuf_odd(rest, "", NULL, &why) < 0)
            return e;
    return e;
}

/* All entries from this one on at once: setting them one by one would look for each key in all
 * those before. */
static int put_map(struct reader *r, const struct t_field *f, struct wire_field w,
                   struct message *m)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_mval *out = kj_mobj(r->d);
    struct str rest = m->rest;
    uint32_t num = w.num;
    int e = 1;

    if (kj_mget(m->out, f->name))
        return 0; /* with the first entry */
    for (; e > 0; e = next_entry(&rest, &w)) {
        if (w.num != num)
            continue;
        e = w.type != WIRE_BYTES ? wrong_type(r, f, &w) : put_entry(r, f, w.bytes, out, &seen);
        if (e < 0)
            return e;
    } /* what ends it is told by whoever walks the message */
    kj_mset(r->d, m->out, f->name, out);
    return 0;
}

/* ---- messages ----------------------------------------------------------------------------------
 */

static const struct t_field *field_numbered(const struct message *m, uint32_t num)
{
    for (const struct t_field *f = m->type->fields; f->name; f++)
        if (num < 256 && f->num == IN(m->embedded, num))
            return f;
    return NULL;
}

/* The embedded struct with this number, as the high byte of its fields' numbers tells it; 0: none.
 */
static unsigned embedded_numbered(const struct message *m, uint32_t num)
{
    for (const struct t_field *f = m->type->fields; f->name && num && num < 16; f++) {
        unsigned outer = f->num >> 8 & 15, middle = f->num >> 12;
        if (!m->embedded && outer == num)
            return outer;
        if (m->embedded == outer && middle == num)
            return f->num >> 8;
    }
    return 0;
}

static int put_field(struct reader *r, const struct wire_field *w, struct message *m)
{
    const struct t_field *f = field_numbered(m, w->num);

    if (f && f->shape == T_MAP)
        return put_map(r, f, *w, m);
    if (f)
        return f->shape == T_LIST ? put_item(r, f, w, m) : put_one(r, f, w, m);
    unsigned embedded = w->type == WIRE_BYTES ? embedded_numbered(m, w->num) : 0;
    if (embedded)
        return read_message(r, m->type, embedded, w->bytes, m->out);
    return 0; /* nobody knows it: dropped, as there */
}

/* What wire_next() does not read: a group that nobody knows is passed over. */
static int odd_field(struct reader *r, struct message *m)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const struct t_field *f = field_numbered(m, protobuf_odd_number(m->rest));
    const char *name = strrchr(m->type->name, '.');

    if (protobuf_odd(&m->rest, name ? name + 1 : m->type->name, f ? f->name : NULL, &why) < 0)
        return malformed(r, why.data);
    return 0;
}

static int read_message(struct reader *r, const struct t_type *t, unsigned embedded,
                        struct str bytes, struct kj_mval *out)
{
    struct message m = { t, embedded, bytes, out };
    struct wire_field w;
    int e = 0;

    /* No document nests deeper. Schemas of CRDs need more than the few levels of other protocols.
     */
    if (r->depth == KJ_DEPTH_MAX)
        return malformed(r, "messages are nested too deep");
    r->depth++;
    while (e == 0 && (e = wire_next(&m.rest, &w)) != 0)
        e = e > 0 ? put_field(r, &w, &m) : odd_field(r, &m);
    r->depth--;
    return e;
}

int types_read_protobuf(const struct t_type *t, struct str message, struct kj_mdoc *d,
                        struct kj_mval *out, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr own;
    struct reader r = { .d = d, .arena = a, .err = err ? err : &own };

    return read_message(&r, t, 0, message, out);
}
