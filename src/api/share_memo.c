/* share_memo.c - see share_memo.h. A recording is a byte string of marks, each with its data. */
#include "api/share_memo.h"

#include "json/kj.h"

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
    const struct sharepart *part;
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
        bool dropped = r->part->drops && f->elem == KF_OBJ && r->part->drops(f, item);
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

bool memo_record(const struct sharepart *part, const struct kj_val *in, struct strbuf *rec)
{
    struct recorder r = { part, rec };
    if (put_object(&r, part->schema, in, false))
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

/* Keys are short: two overlapping loads beat a call. */
static inline bool bytes_eq(const char *a, const char *b, size_t n)
{
    uint64_t x, y, z, w;
    uint32_t i, j, k, l;
    if (n >= 8) {
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        memcpy(&z, a + n - 8, 8);
        memcpy(&w, b + n - 8, 8);
        return x == y && z == w && (n <= 16 || memcmp(a + 8, b + 8, n - 16) == 0);
    }
    if (n >= 4) {
        memcpy(&i, a, 4);
        memcpy(&j, b, 4);
        memcpy(&k, a + n - 4, 4);
        memcpy(&l, b + n - 4, 4);
        return i == j && k == l;
    }
    return memcmp(a, b, n) == 0;
}

static inline bool same_text(const char **p, const char *s, size_t n)
{
    uint32_t len = get_u32(p);
    const char *text = *p;
    *p += len;
    return len == n && bytes_eq(text, s, n);
}

static bool same_num(const char **p, const struct kj_val *v)
{
    int64_t want, have;
    memcpy(&want, *p, sizeof want);
    *p += sizeof want;
    return kj_type(v) == KJ_NUM && kj_i64(v, &have) == 0 && have == want;
}

static const char *same_items(const char *p, const struct kj_val *v, enum mark m);

/* p stands behind the mark; the answer behind the value, or NULL when it is another. */
static inline const char *same_value(const char *p, const struct kj_val *v, enum mark m)
{
    switch (m) {
    case MARK_SKIP: return p;
    case MARK_ANY_TEXT: return kj_type(v) == KJ_STR ? p : NULL;
    case MARK_NULL: return kj_type(v) == KJ_NULL ? p : NULL;
    case MARK_TRUE: return kj_bool(v, false) ? p : NULL;
    case MARK_FALSE: return kj_bool(v, true) ? NULL : p;
    case MARK_NUM: return same_num(&p, v) ? p : NULL;
    case MARK_STR: {
        const char *s = kj_str(v);
        return s && same_text(&p, s, kj_len(v)) ? p : NULL;
    }
    default: return same_items(p, v, m);
    }
}

static const char *same_items(const char *p, const struct kj_val *v, enum mark m)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;

    if (kj_type(v) != (m == MARK_OBJ ? KJ_OBJ : KJ_ARR) || get_u32(&p) != kj_len(v))
        return NULL;
    while (kj_next(&it, &key, &item)) {
        if (m == MARK_OBJ && !same_text(&p, key.p, key.n))
            return NULL;
        enum mark next = (enum mark)(unsigned char)*p++;
        p = same_value(p, item, next);
        if (!p)
            return NULL;
    }
    return p;
}

bool memo_matches(const struct strbuf *rec, const struct kj_val *in)
{
    const char *p = rec->data;
    return p && same_value(p + 1, in, (enum mark)(unsigned char)*p);
}
