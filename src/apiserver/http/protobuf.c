/* protobuf.c - the wire format, read by table into a mutable document. */
#include "apiserver/http/protobuf.h"

#include <stdio.h>

#include "base/b64.h"
#include "base/ktime.h"
#include "base/num.h"

enum { DEPTH_MAX = 32 };
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct reader {
    const unsigned char *p, *end;
};
struct item { /* one field as it stands on the wire */
    uint32_t num;
    uint64_t value;      /* of a varint */
    struct reader bytes; /* of a length-delimited field */
    enum wire wire;
};

static bool read_varint(struct reader *r, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        unsigned char b = *r->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

/* 1, 0 at the end, -1 when broken. */
static int read_item(struct reader *r, struct item *it)
{
    uint64_t key, len;

    if (r->p == r->end)
        return 0;
    if (!read_varint(r, &key) || key >> 3 == 0 || key >> 3 > 1 << 20)
        return -1;
    *it = (struct item){ .num = (uint32_t)(key >> 3), .wire = (enum wire)(key & 7) };
    switch (it->wire) {
    case WIRE_VARINT: return read_varint(r, &it->value) ? 1 : -1;
    case WIRE_BYTES:
        if (!read_varint(r, &len) || len > (uint64_t)(r->end - r->p))
            return -1;
        it->bytes = (struct reader){ r->p, r->p + len };
        r->p += len;
        return 1;
    default: return -1; /* fixed ones do not occur in what we know */
    }
}

static size_t size_of(struct reader r)
{
    return (size_t)(r.end - r.p);
}

static int broken(struct kerr *err, const char *where)
{
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "the protobuf body could not be decoded: %s is malformed", where);
}

struct decoder {
    struct kj_mdoc *d;
    struct kerr *err;
    int depth;
};

static int decode_msg(struct decoder *c, const struct pb_field *fields, struct reader r,
                      struct kj_mval *out);

/* A message of at most three varints or strings by number 1 to 3: times, quantities, IntOrString.
 */
static bool read_small(struct reader r, uint64_t num[4], struct reader str[4])
{
    struct item it;
    int e;
    while ((e = read_item(&r, &it)) > 0)
        if (it.num < 4) {
            if (it.wire == WIRE_VARINT)
                num[it.num] = it.value;
            else
                str[it.num] = it.bytes;
        }
    return e == 0;
}

static struct kj_mval *text(struct decoder *c, struct reader r)
{
    return kj_mstrn(c->d, size_of(r) ? (const char *)r.p : "", size_of(r));
}

static void append_text(struct strbuf *out, struct reader r)
{
    kj_append_string(out, size_of(r) ? (const char *)r.p : "", size_of(r));
}

static struct kj_mval *base64(struct decoder *c, struct reader r)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    b64_encode(r.p, size_of(r), &b);
    return kj_mstrn(c->d, strbuf_str(&b), b.len);
}

/* NULL: broken; *absent: it is the zero time. */
static struct kj_mval *time_of(struct decoder *c, struct reader r, bool micro, bool *absent)
{
    uint64_t num[4] = { 0 };
    struct reader str[4] = { 0 };
    char buf[KTIME_TEXT_MAX];

    *absent = size_of(r) == 0;
    if (!read_small(r, num, str))
        return NULL;
    nsec_t t = i64_add_sat(i64_mul_sat((int64_t)num[1], NSEC_PER_SEC), (int64_t)num[2]);
    if (micro)
        ktime_format_micro(t, buf);
    else
        ktime_format(t, buf);
    return kj_mstr(c->d, buf);
}

static struct kj_mval *int_or_string(struct decoder *c, struct reader r)
{
    uint64_t num[4] = { 0 };
    struct reader str[4] = { 0 };
    if (!read_small(r, num, str))
        return NULL;
    return num[1] == 1 ? text(c, str[3]) : kj_mi64(c->d, (int64_t)num[2]);
}

/* One entry as JSON text; false: broken. */
static bool write_entry(const struct pb_field *f, struct reader r, struct strbuf *out)
{
    uint64_t num[4] = { 0 };
    struct reader str[4] = { 0 }, inner[4] = { 0 };

    if (!read_small(r, num, str) || (f->kind == PB_MAP_QTY && !read_small(str[2], num, inner)))
        return false;
    strbuf_appendc(out, out->len ? ',' : '{');
    append_text(out, str[1]);
    strbuf_appendc(out, ':');
    if (f->kind == PB_MAP_BYTES) {
        strbuf_appendc(out, '"');
        b64_encode(str[2].p, size_of(str[2]), out);
        strbuf_appendc(out, '"');
    } else {
        append_text(out, f->kind == PB_MAP_QTY ? inner[1] : str[2]);
    }
    return true;
}

/* All entries from this one on at once: setting them one by one would look for each key in all
 * those before. rest: the message behind the entry. */
static int put_map(struct decoder *c, const struct pb_field *f, struct item it, struct reader rest,
                   struct kj_mval *out)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    int e = 1;

    if (kj_mget(out, f->name))
        return 0; /* with the first entry */
    for (; e > 0; e = read_item(&rest, &it))
        if (it.num == f->num && (it.wire != WIRE_BYTES || !write_entry(f, it.bytes, &json)))
            return broken(c->err, f->name);
    if (e < 0)
        return broken(c->err, "a message");
    strbuf_appendc(&json, '}');
    kj_mset(c->d, out, f->name, kj_mraw(c->d, json.data, json.len));
    return 0;
}

/* The value of one field; NULL with err set when broken. *absent: a zero that means nothing. */
static struct kj_mval *value_of(struct decoder *c, const struct pb_field *f, const struct item *it,
                                bool *absent)
{
    struct kj_mval *v = NULL;
    bool is_int = f->kind == PB_BOOL || f->kind == PB_INT;

    *absent = false;
    if (is_int != (it->wire == WIRE_VARINT)) {
        broken(c->err, f->name);
        return NULL;
    }
    switch (f->kind) {
    case PB_BOOL: v = kj_mbool(c->d, it->value != 0); break;
    case PB_INT: v = kj_mi64(c->d, (int64_t)it->value); break;
    case PB_STR: v = text(c, it->bytes); break;
    case PB_BYTES: v = base64(c, it->bytes); break;
    case PB_TIME:
    case PB_MICRO: v = time_of(c, it->bytes, f->kind == PB_MICRO, absent); break;
    case PB_IOS: v = int_or_string(c, it->bytes); break;
    default:
        v = kj_mobj(c->d);
        if (decode_msg(c, f->sub, it->bytes, v) < 0)
            return NULL;
        *absent = kj_mlen(v) == 0;
    }
    if (!v)
        broken(c->err, f->name);
    else if (f->kind == PB_BOOL || f->kind == PB_INT)
        *absent = it->value == 0;
    else if (f->kind == PB_STR || f->kind == PB_BYTES)
        *absent = size_of(it->bytes) == 0;
    if (f->flags & (PB_PTR | PB_REP))
        *absent = false;
    return v;
}

static int put_field(struct decoder *c, const struct pb_field *f, const struct item *it,
                     struct reader rest, struct kj_mval *out)
{
    bool absent;

    if (f->kind == PB_SKIP)
        return 0;
    if (f->kind >= PB_MAP_STR && f->kind <= PB_MAP_QTY)
        return put_map(c, f, *it, rest, out);
    struct kj_mval *v = value_of(c, f, it, &absent);
    if (!v)
        return c->err->code;
    if (f->flags & PB_REP) {
        struct kj_mval *list = kj_mget(out, f->name);
        if (!list) {
            list = kj_marr(c->d);
            kj_mset(c->d, out, f->name, list);
        }
        kj_mpush(list, v);
    } else if (!absent) {
        kj_mset(c->d, out, f->name, v);
    }
    return 0;
}

static int decode_msg(struct decoder *c, const struct pb_field *fields, struct reader r,
                      struct kj_mval *out)
{
    struct item it;
    int e;

    if (++c->depth > DEPTH_MAX)
        return broken(c->err, "the nesting");
    while ((e = read_item(&r, &it)) > 0) {
        const struct pb_field *f = fields;
        while (f && f->num && f->num != it.num)
            f++;
        if (f && f->num) {
            e = put_field(c, f, &it, r, out);
            if (e < 0)
                return e;
        } else if (it.wire == WIRE_VARINT ? it.value != 0 : size_of(it.bytes) != 0) {
            return kerr_api(c->err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                            "this server does not know field %u of a protobuf body - use "
                            "application/json",
                            it.num);
        }
    }
    c->depth--;
    return e < 0 ? broken(c->err, "a message") : 0;
}

static const struct pb_field type_meta[] = { { 1, PB_STR, 0, "apiVersion", NULL },
                                             { 2, PB_STR, 0, "kind", NULL },
                                             { 0 } };

int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr own;
    err = err ? err : &own;
    struct decoder c = { d, err, 0 };
    struct kj_mval *obj = kj_mobj(d);
    struct reader r = { (const unsigned char *)p + 4, (const unsigned char *)p + n }, raw = { 0 };
    struct item it;
    int e = 0;

    if (n < 4 || memcmp(p, "k8s", 4) != 0)
        return broken(err, "its prefix");
    while ((e = read_item(&r, &it)) > 0) {
        if (it.num == 1 && it.wire == WIRE_BYTES && decode_msg(&c, type_meta, it.bytes, obj) < 0)
            return err->code;
        if (it.num == 2 && it.wire == WIRE_BYTES)
            raw = it.bytes;
    }
    if (e < 0)
        return broken(err, "its envelope");
    if (!kj_mget(obj, "apiVersion"))
        kj_mset(d, obj, "apiVersion", kj_mstr(d, api_version));
    if (!kj_mget(obj, "kind"))
        kj_mset(d, obj, "kind", kj_mstr(d, kind));
    const char *k = kj_mstr_get(kj_mget(obj, "kind"));
    const struct pb_field *fields = protobuf_fields(kj_mstr_get(kj_mget(obj, "apiVersion")), k);
    if (!fields)
        return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json, application/yaml (%.60s in protobuf is not "
                        "supported)",
                        k);
    e = decode_msg(&c, fields, raw, obj);
    if (e == 0)
        *ret = kj_freeze(obj);
    return e;
}
