/* memo.c - a recording is a byte string of marks, each with its data. */
#include "json/memo.h"

#include "json/kj_int.h"

enum mark {
    MARK_SKIP,     /* a value our table does not know: anything */
    MARK_ANY_TEXT, /* a string, no matter which */
    MARK_NULL,
    MARK_TRUE,
    MARK_FALSE,
    MARK_NUM, /* int64_t */
    MARK_STR, /* length, bytes; keys are the same without the mark */
    MARK_ARR, /* number of items */
    MARK_OBJ  /* number of members, then key and value of each */
};

/* ---- recording ------------------------------------------------------------------------------- */

struct recorder {
    kj_memo_drops_fn drops;
    struct strbuf *out;
};

static void put_mark(struct recorder *r, enum mark m)
{
    strbuf_appendc(r->out, (char)m);
}

static void put_count(struct recorder *r, enum mark m, size_t n)
{
    uint32_t count = (uint32_t)n;
    put_mark(r, m);
    strbuf_appendn(r->out, &count, sizeof count);
}

static void put_text(struct recorder *r, const char *s, size_t n)
{
    uint32_t len = (uint32_t)n;
    strbuf_appendn(r->out, &len, sizeof len);
    strbuf_appendn(r->out, s, n);
}

static bool put_scalar(struct recorder *r, const struct kj_val *v)
{
    int64_t i;
    switch (kj_type(v)) {
    case KJ_NULL: put_mark(r, MARK_NULL); return true;
    case KJ_BOOL: put_mark(r, kj_bool(v, false) ? MARK_TRUE : MARK_FALSE); return true;
    case KJ_STR:
        put_mark(r, MARK_STR);
        put_text(r, kj_str(v), kj_len(v));
        return true;
    case KJ_NUM:
        if (kj_i64(v, &i) < 0)
            return false;
        put_mark(r, MARK_NUM);
        strbuf_appendn(r->out, &i, sizeof i);
        return true;
    default: return false;
    }
}

static bool put_object(struct recorder *r, const struct kschema *s, const struct kj_val *v,
                       bool dropped);

static bool put_value(struct recorder *r, const struct kfield *f, unsigned type,
                      const struct kj_val *v);

static bool put_list(struct recorder *r, const struct kfield *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;

    put_count(r, MARK_ARR, kj_len(v));
    while (kj_next(&it, &key, &item)) {
        bool dropped = r->drops && f->elem == KF_OBJ && r->drops(f, item);
        if (dropped ? !put_object(r, f->sub, item, true) : !put_value(r, f, f->elem, item))
            return false;
    }
    return true;
}

static bool put_map(struct recorder *r, const struct kfield *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;

    put_count(r, MARK_OBJ, kj_len(v));
    while (kj_next(&it, &key, &item)) {
        put_text(r, key.p, key.n);
        if (!put_value(r, f, f->elem, item))
            return false;
    }
    return true;
}

static bool put_value(struct recorder *r, const struct kfield *f, unsigned type,
                      const struct kj_val *v)
{
    enum kj_type have = kj_type(v);
    if (type == KF_OBJ && have == KJ_OBJ)
        return put_object(r, f->sub, v, false);
    if (type == KF_LIST && have == KJ_ARR)
        return put_list(r, f, v);
    if (type == KF_MAP && have == KJ_OBJ)
        return put_map(r, f, v);
    return put_scalar(r, v);
}

static const struct kfield *find_field(const struct kschema *s, struct str key)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        assert(!(s->fields[i].flags & KF_INLINE)); /* no shared part has one */
        if (s->fields[i].json_len == key.n && memcmp(s->fields[i].json, key.p, key.n) == 0)
            return &s->fields[i];
    }
    return NULL;
}

/* Of an item that is dropped only that it is dropped matters: its keys, and which are null; what is
 * left are texts. */
static bool put_object(struct recorder *r, const struct kschema *s, const struct kj_val *v,
                       bool dropped)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;

    if (kj_type(v) != KJ_OBJ)
        return put_scalar(r, v);
    put_count(r, MARK_OBJ, kj_len(v));
    while (kj_next(&it, &key, &item)) {
        const struct kfield *f = find_field(s, key);
        put_text(r, key.p, key.n);
        if (!f)
            put_mark(r, MARK_SKIP);
        else if (dropped && kj_type(item) == KJ_STR)
            put_mark(r, MARK_ANY_TEXT);
        else if (!put_value(r, f, f->type, item))
            return false;
    }
    return true;
}

bool kj_memo_record(const struct kschema *s, kj_memo_drops_fn drops, const struct kj_val *in,
                    struct strbuf *rec)
{
    struct recorder r = { drops, rec };
    if (put_object(&r, s, in, false))
        return true;
    strbuf_fini(rec);
    return false;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static inline uint32_t get_u32(const char **p)
{
    uint32_t n;
    memcpy(&n, *p, sizeof n);
    *p += sizeof n;
    return n;
}

/* Strings and keys alike. */
static inline bool same_text(const char **p, const yyjson_val *v)
{
    uint32_t len = get_u32(p);
    const char *text = *p;
    *p += len;
    return kj_ylen(v) == len && kj_same_bytes(text, v->uni.str, len);
}

static bool same_num(const char **p, const yyjson_val *v)
{
    int64_t want, have;
    memcpy(&want, *p, sizeof want);
    *p += sizeof want;
    return kj_i64(kj_from(v), &have) == 0 && have == want;
}

static inline bool has_tag(const yyjson_val *v, unsigned type)
{
    return (v->tag & YYJSON_TYPE_MASK) == type;
}

/* p stands at the mark of a value; the answer behind it, or NULL when v is another. *ret_next is
 * the value's sibling. */
static const char *same_value(const char *p, const yyjson_val *v, const yyjson_val **ret_next)
{
    enum mark m = (enum mark)(unsigned char)*p++;
    const yyjson_val *next = *ret_next = kj_sibling(v, false);

    switch (m) {
    case MARK_SKIP: return p;
    case MARK_ANY_TEXT: return has_tag(v, YYJSON_TYPE_STR) ? p : NULL;
    case MARK_NULL: return has_tag(v, YYJSON_TYPE_NULL) ? p : NULL;
    case MARK_TRUE:
        return (v->tag & YYJSON_TAG_MASK) == (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE) ? p : NULL;
    case MARK_FALSE:
        return (v->tag & YYJSON_TAG_MASK) == (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE) ? p : NULL;
    case MARK_NUM: return same_num(&p, v) ? p : NULL;
    case MARK_STR: return has_tag(v, YYJSON_TYPE_STR) && same_text(&p, v) ? p : NULL;
    case MARK_ARR:
        if (!has_tag(v, YYJSON_TYPE_ARR) || get_u32(&p) != kj_ylen(v))
            return NULL;
        for (v++; v < next && p;)
            p = same_value(p, v, &v);
        return p;
    case MARK_OBJ:
        if (!has_tag(v, YYJSON_TYPE_OBJ) || get_u32(&p) != kj_ylen(v))
            return NULL;
        for (v++; v < next && p;)
            p = same_text(&p, v) ? same_value(p, v + 1, &v) : NULL;
        return p;
    }
    return NULL;
}

bool kj_memo_matches(const struct strbuf *rec, const struct kj_val *in)
{
    const yyjson_val *next;
    return rec->data && in && same_value(rec->data, kj_y(in), &next);
}
