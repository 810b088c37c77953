/* protobuf_write.c - documents as messages in protobuf, by the field tables. */
#include "apiserver/schema/tables.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "base/wire.h"

static struct str text_of(const struct kj_val *v)
{
    return kj_str(v) ? (struct str){ kj_str(v), kj_len(v) } : STR("");
}

/* ---- values that are messages in protobuf ------------------------------------------------------
 */

static void put_time(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    struct str s = text_of(v);
    size_t start = out->len;
    nsec_t t;

    if (ktime_parse(s.p, s.n, &t, NULL) < 0)
        return;
    int64_t sec = t / NSEC_PER_SEC, rest = t % NSEC_PER_SEC;
    if (rest < 0) /* before 1970 */
        sec--, rest += NSEC_PER_SEC;
    wire_put_varint(out, 1, (uint64_t)sec);
    wire_put_varint(out, 2, (uint64_t)rest);
    wire_wrap(out, num, start);
}

static void put_duration(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    struct str s = text_of(v);
    size_t start = out->len;
    nsec_t d;

    if (kdur_parse(s.p, s.n, &d, NULL) < 0)
        return;
    wire_put_varint(out, 1, (uint64_t)d);
    wire_wrap(out, num, start);
}

static void put_quantity(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    size_t start = out->len;
    char number[64];

    if (kj_type(v) == KJ_NUM)
        wire_put_bytes(out, 1, (struct str){ number, kj_num_text(v, number, sizeof number) });
    else
        wire_put_bytes(out, 1, text_of(v));
    wire_wrap(out, num, start);
}

static void put_int_or_string(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    enum { INT = 0, STRING = 1 };
    bool text = kj_type(v) == KJ_STR;
    size_t start = out->len;

    wire_put_varint(out, 1, text ? STRING : INT);
    wire_put_varint(out, 2, text ? 0 : (uint64_t)kj_i64_or(v, 0));
    wire_put_bytes(out, 3, text_of(v));
    wire_wrap(out, num, start);
}

/* RawExtension, FieldsV1. */
static void put_raw(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    size_t start = out->len;

    kj_write(v, 0, &json);
    wire_put_bytes(out, 1, (struct str){ json.data, json.len });
    wire_wrap(out, num, start);
}

static void put_bytes(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    size_t start = out->len;
    struct str s = text_of(v);

    if (b64_decode(s.p, s.n, out) < 0)
        strbuf_truncate(out, start);
    wire_wrap(out, num, start);
}

static void put_strings(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    size_t start = out->len;

    while (kj_next(&it, NULL, &item))
        wire_put_bytes(out, 1, text_of(item));
    wire_wrap(out, num, start);
}

/* A double. */
static void put_float(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    double d = 0;
    uint64_t bits;

    (void)kj_f64(v, &d);
    memcpy(&bits, &d, sizeof bits);
    wire_put_fixed64(out, num, bits);
}

/* ---- fields ------------------------------------------------------------------------------------
 */

static void put_one(struct strbuf *out, uint32_t num, const struct t_field *f,
                    const struct kj_val *v)
{
    size_t start = out->len;

    switch ((enum t_kind)f->kind) {
    case T_STR: wire_put_bytes(out, num, text_of(v)); break;
    case T_BOOL: wire_put_varint(out, num, kj_bool(v, false)); break;
    case T_I32:
    case T_I64: wire_put_varint(out, num, (uint64_t)kj_i64_or(v, 0)); break;
    case T_QTY: put_quantity(out, num, v); break;
    case T_IOS: put_int_or_string(out, num, v); break;
    case T_TIME:
    case T_MICRO: put_time(out, num, v); break;
    case T_DUR: put_duration(out, num, v); break;
    case T_BYTES: put_bytes(out, num, v); break;
    case T_STRS: put_strings(out, num, v); break;
    case T_ANY: put_raw(out, num, v); break;
    case T_OBJ:
        types_write_protobuf(f->type, v, out);
        wire_wrap(out, num, start);
        break;
    case T_NUM: put_float(out, num, v); break;
    }
}

static void put_field(struct strbuf *out, const struct t_field *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    uint32_t num = f->num & 255;
    struct str key;

    if (f->shape == T_ONE) {
        put_one(out, num, f, v);
        return;
    }
    while (kj_next(&it, &key, &item)) {
        size_t start = out->len;
        if (f->shape == T_LIST) {
            put_one(out, num, f, item);
            continue;
        }
        wire_put_bytes(out, 1, key);
        put_one(out, 2, f, item);
        wire_wrap(out, num, start);
    }
}

/* The fields of the struct that is embedded as field `outer`; 0: the type's own. */
static void put_fields(struct strbuf *out, const struct t_type *t, unsigned outer,
                       const struct kj_val *v)
{
    for (const struct t_field *f = t->fields; f->name; f++) {
        if (f->num == 0 || f->num >> 8 != outer)
            continue;
        const struct kj_val *member = kj_get(v, f->name);
        if (kj_type(member) > KJ_NULL)
            put_field(out, f, member);
    }
}

/* The embedded struct right below this one in which a field is; 0: none. */
static unsigned embedded_below(unsigned outer, const struct t_field *f)
{
    unsigned of = f->num >> 8;

    if (outer == 0)
        return of & 15;
    return (of & 15) == outer && of != outer ? of : 0;
}

/* The type itself, or what is embedded in it, with what is embedded in that. */
static void put_message(struct strbuf *out, const struct t_type *t, unsigned outer,
                        const struct kj_val *v)
{
    unsigned done = 0; /* the embedded struct written last: its fields stand together */

    put_fields(out, t, outer, v);
    for (const struct t_field *f = t->fields; f->name; f++) {
        unsigned below = embedded_below(outer, f);
        size_t start = out->len;
        if (below == 0 || below == done)
            continue;
        put_message(out, t, below, v);
        if (out->len > start)
            wire_wrap(out, outer ? below >> 4 : below, start);
        done = below;
    }
}

/* The field for a value of this form. An object beside a bool says "true" too, as Go's does. */
static void put_either(struct strbuf *out, const struct t_type *t, const struct kj_val *v)
{
    const struct t_field *f = types_form(t, kj_type(v)), *allows = types_form(t, KJ_BOOL);

    if (allows && kj_type(v) == KJ_OBJ)
        wire_put_varint(out, allows->num, 1);
    if (f)
        put_field(out, f, v);
}

void types_write_protobuf(const struct t_type *t, const struct kj_val *v, struct strbuf *out)
{
    if (t->either)
        put_either(out, t, v);
    else
        put_message(out, t, 0, v);
}
