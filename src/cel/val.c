/* val.c - making values, their sizes and types, values of documents. */
#include "cel/val.h"

#include "base/b64.h"
#include "cel/clock.h"
#include "cel/strfmt.h"

struct cel_val cel_v_error(struct arena *a, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    return (struct cel_val){ .kind = CK_ERROR,
                             .n = (uint32_t)b.len,
                             .s = arena_strndup(a, strbuf_str(&b), b.len) };
}

struct cel_val cel_v_no_overload(void)
{
    static const char text[] = "no such overload";
    return (struct cel_val){ .kind = CK_ERROR, .n = sizeof text - 1, .s = text };
}

struct cel_val cel_v_list(struct arena *a, const struct cel_val *items, size_t n)
{
    static const struct cel_val nothing[1];
    struct cel_list *l = arena_alloc(a, sizeof *l, 16);

    *l = (struct cel_list){ .n = (uint32_t)n, .items = items ? items : nothing };
    return (struct cel_val){ .kind = CK_LIST, .list = l };
}

struct cel_val cel_v_map(struct arena *a, const struct cel_entry *entries, size_t n)
{
    static const struct cel_entry nothing[1];
    struct cel_map *m = arena_alloc(a, sizeof *m, 16);

    *m = (struct cel_map){ .n = (uint32_t)n, .entries = entries ? entries : nothing };
    return (struct cel_val){ .kind = CK_MAP, .map = m };
}

struct cel_val cel_v_lazy(struct arena *a, const struct cel_lazy *lazy)
{
    struct cel_map *m = arena_new0(a, struct cel_map);
    m->lazy = lazy;
    return (struct cel_val){ .kind = CK_MAP, .map = m };
}

struct cel_val cel_v_some(struct arena *a, struct cel_val v)
{
    struct cel_val *box = arena_alloc(a, sizeof *box, 16);
    *box = v;
    return (struct cel_val){ .kind = CK_OPTIONAL, .opt = box };
}

struct cel_val cel_v_none(void)
{
    return (struct cel_val){ .kind = CK_OPTIONAL, .opt = NULL };
}

struct cel_val cel_v_type(const struct cel_type *t)
{
    return (struct cel_val){ .kind = CK_TYPE, .type = t };
}

/* ---- documents --------------------------------------------------------------------------------- */

/* A document that does not fit its schema, as ratcheting lets it through. */
static bool fits(const struct kj_val *v, enum kj_type type, const struct cel_type *t)
{
    int64_t i;

    switch ((enum cel_type_kind)t->kind) {
    case CT_BOOL: return type == KJ_BOOL;
    case CT_INT: return type == KJ_NUM && kj_i64(v, &i) == 0;
    case CT_DOUBLE: return type == KJ_NUM;
    case CT_STRING:
    case CT_BYTES:
    case CT_TIMESTAMP:
    case CT_DURATION: return type == KJ_STR;
    case CT_LIST: return type == KJ_ARR;
    case CT_MAP:
    case CT_OBJECT: return type == KJ_OBJ;
    default: return true;
    }
}

static const char *scalar_word(const struct cel_type *t)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_BOOL: return "bool";
    case CT_INT: return "int";
    case CT_DOUBLE: return "float";
    default: return "string";
    }
}

static struct cel_val misfit(struct arena *a, const struct kj_val *v, const struct cel_type *t)
{
    static const char *const go[] = { [KJ_BOOL] = "bool",
                                      [KJ_NUM] = "float64",
                                      [KJ_STR] = "string",
                                      [KJ_ARR] = "[]interface {}",
                                      [KJ_OBJ] = "map[string]interface {}" };
    int64_t i;

    if (t->kind == CT_LIST)
        return cel_v_error(a, "invalid data, expected an array for the provided schema with "
                              "type=array");
    if (t->kind == CT_MAP || t->kind == CT_OBJECT)
        return cel_v_error(a,
                           "invalid data, expected a map for the provided schema with type=object");
    return cel_v_error(a, "invalid data, expected %s, got %s", scalar_word(t),
                       kj_type(v) == KJ_NUM && kj_i64(v, &i) == 0 ? "int64" : go[kj_type(v)]);
}

static struct cel_val json_number(const struct kj_val *v, const struct cel_type *t)
{
    char text[64];
    int64_t i;
    double d = 0;

    if (t->kind == CT_DOUBLE) {
        (void)kj_f64(v, &d);
        return cel_v_double(d);
    }
    if (t->kind == CT_INT && kj_i64(v, &i) == 0)
        return cel_v_int(i);
    size_t n = kj_num_text(v, text, sizeof text);
    bool whole =
        n < sizeof text && !memchr(text, '.', n) && !memchr(text, 'e', n) && !memchr(text, 'E', n);
    if (whole && kj_i64(v, &i) == 0)
        return cel_v_int(i);
    (void)kj_f64(v, &d);
    return cel_v_double(d);
}

static struct cel_val json_bytes(struct arena *a, struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf bytes = STRBUF_INIT;

    if (b64_decode(s.p, s.n, &bytes) < 0)
        return cel_v_error(a, "Invalid byte formatted string %.*s: illegal base64 data", (int)s.n,
                           s.p);
    return (struct cel_val){ .kind = CK_BYTES,
                             .n = (uint32_t)bytes.len,
                             .s = arena_strndup(a, strbuf_str(&bytes), bytes.len) };
}

static struct cel_val json_time(struct arena *a, struct str s)
{
    struct cel_val out;

    if (cel_time_parse(s, true, &out) < 0)
        return cel_v_error(a, "Invalid date-time formatted string %.*s: not a time", (int)s.n, s.p);
    return out;
}

static struct cel_val json_duration(struct arena *a, struct str s)
{
    nsec_t ns;

    if (strfmt_duration(s, &ns) < 0)
        return cel_v_error(a, "Invalid duration %.*s: unable to parse %.*s as duration", (int)s.n,
                           s.p, (int)s.n, s.p);
    return (struct cel_val){ .kind = CK_DURATION, .i = ns };
}

static struct cel_val json_string(struct arena *a, struct str s, const struct cel_type *t)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_BYTES: return json_bytes(a, s);
    case CT_TIMESTAMP: return json_time(a, s);
    case CT_DURATION: return json_duration(a, s);
    default: return cel_v_str(s.p, s.n);
    }
}

struct cel_val cel_v_json(struct arena *a, const struct kj_val *v, const struct cel_type *t)
{
    enum kj_type type = kj_type(v);
    struct cel_list *l;
    struct cel_map *m;

    if (type > KJ_NULL && !fits(v, type, t))
        return misfit(a, v, t);
    switch (type) {
    case KJ_ABSENT: return (struct cel_val){ .kind = CK_ABSENT };
    case KJ_NULL: return cel_v_null();
    case KJ_BOOL: return cel_v_bool(kj_bool(v, false));
    case KJ_NUM: return json_number(v, t);
    case KJ_STR: return json_string(a, (struct str){ kj_str(v), kj_len(v) }, t);
    case KJ_ARR:
        l = arena_alloc(a, sizeof *l, 16);
        *l = (struct cel_list){ .n = (uint32_t)kj_len(v),
                                .json = v,
                                .type = t->kind == CT_LIST ? t : &cel_list_dyn };
        return (struct cel_val){ .kind = CK_LIST, .list = l };
    case KJ_OBJ: break;
    }
    bool typed = t->kind == CT_OBJECT || t->kind == CT_MAP;
    m = arena_alloc(a, sizeof *m, 16);
    *m = (struct cel_map){ .n = (uint32_t)kj_len(v), .json = v, .type = typed ? t : &cel_map_dyn };
    return (struct cel_val){ .kind = CK_MAP, .map = m };
}

/* What Go calls the type of what is inside a value. */
static const char *native_word(struct cel_val v)
{
    switch (v.kind) {
    case CK_BOOL: return "bool";
    case CK_INT: return "int64";
    case CK_UINT: return "uint64";
    case CK_DOUBLE: return "float64";
    case CK_STRING: return "string";
    case CK_BYTES: return "[]uint8";
    case CK_TIMESTAMP: return "time.Time";
    case CK_DURATION: return "time.Duration";
    case CK_LIST: return v.list->type ? "[]interface {}" : "[]ref.Val";
    case CK_MAP: return v.map->type ? "map[string]interface {}" : "map[ref.Val]ref.Val";
    default: return cel_type_name(v);
    }
}

struct cel_val cel_v_refit(struct arena *a, struct cel_val v, const struct cel_type *t)
{
    bool fine = true;

    if (cel_is_err(v) || v.kind == CK_NULL)
        return v;
    switch ((enum cel_type_kind)t->kind) {
    case CT_BOOL: fine = v.kind == CK_BOOL; break;
    case CT_INT: fine = v.kind == CK_INT; break;
    case CT_STRING: fine = v.kind == CK_STRING; break;
    case CT_BYTES:
    case CT_TIMESTAMP:
    case CT_DURATION: /* the schema's text, which is read only now */
        if (v.kind == CK_STRING)
            return json_string(a, cel_str(v), t);
        fine = false;
        break;
    case CT_DOUBLE:
        if (v.kind == CK_INT)
            return cel_v_double((double)v.i);
        fine = v.kind == CK_DOUBLE;
        break;
    default: break;
    }
    return fine ? v
                : cel_v_error(a, "invalid data, expected %s, got %s", scalar_word(t),
                              native_word(v));
}

/* ---- types and sizes --------------------------------------------------------------------------- */

static const struct cel_type *const type_of_kind[] = {
    [CK_NULL] = &cel_null,     [CK_BOOL] = &cel_bool,           [CK_INT] = &cel_int,
    [CK_UINT] = &cel_uint,     [CK_DOUBLE] = &cel_double,       [CK_STRING] = &cel_string,
    [CK_BYTES] = &cel_bytes,   [CK_TIMESTAMP] = &cel_timestamp, [CK_DURATION] = &cel_duration,
    [CK_LIST] = &cel_list_dyn, [CK_MAP] = &cel_map_dyn,         [CK_QUANTITY] = &cel_quantity,
    [CK_IP] = &cel_ip,         [CK_CIDR] = &cel_cidr,           [CK_URL] = &cel_url,
    [CK_SEMVER] = &cel_semver, [CK_FORMAT] = &cel_format,
};

const char *cel_type_name(struct cel_val v)
{
    switch (v.kind) {
    case CK_TYPE: return "type";
    case CK_OPTIONAL: return "optional_type";
    case CK_ERROR: return "error";
    case CK_NATIVE: return v.native->type->name;
    case CK_MAP: /* objects of schemas are maps; others say what they are */
        return v.map->entries && v.map->type ? v.map->type->name : "map";
    default: return type_of_kind[v.kind] ? type_of_kind[v.kind]->name : "dyn";
    }
}

/* How many of eight bytes continue a sign: the top bits of such a byte are 10. */
static size_t continuing(uint64_t w)
{
    w = (w >> 7) & ~(w >> 6) & UINT64_C(0x0101010101010101);
    return (size_t)(w * UINT64_C(0x0101010101010101) >> 56);
}

size_t cel_runes(struct str s)
{
    size_t n = s.n, i = 0;
    uint64_t w, rest = 0;
    uint32_t four;
    uint16_t two;

    for (; i + 8 <= s.n; i += 8) {
        memcpy(&w, s.p + i, 8);
        n -= continuing(w);
    }
    if (s.n & 4) {
        memcpy(&four, s.p + i, 4);
        rest = four;
        i += 4;
    }
    if (s.n & 2) {
        memcpy(&two, s.p + i, 2);
        rest = rest << 16 | two;
        i += 2;
    }
    if (s.n & 1)
        rest = rest << 8 | (unsigned char)s.p[i];
    return n - continuing(rest);
}

uint64_t cel_size(struct cel_val v)
{
    switch (v.kind) {
    case CK_STRING: return cel_runes(cel_str(v));
    case CK_BYTES: return v.n;
    case CK_LIST: return v.list->n;
    case CK_MAP: return v.map->n;
    case CK_CIDR: return (v.addr->bits + 7U) / 8;
    case CK_IP: return v.addr->is6 ? 16 : 4;
    case CK_OPTIONAL: return v.opt ? cel_size(*v.opt) : 1;
    default: return 1;
    }
}
