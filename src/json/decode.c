/* decode.c - parsed values into structs, along schema tables.
 *
 * The hot path of every informer: nothing is allocated per field, keys are found by a cursor that
 * moves over the table (servers write fields in declaration order), and what the table does not
 * know is stepped over without looking inside.
 */
#include "json/schema.h"

#include "json/decode_int.h"

#include <strings.h>

int kdec_error(struct kdec *d, const struct kschema *s, int code, struct kerr *err)
{
    const char *path = kpath_str(&d->path);

    if (!err)
        return code;
    (void)kerr_set(err, code, "%s", d->msg);
    return kerr_wrap(err, "%s", *path ? path : s->name);
}

/* ---- what is absent -------------------------------------------------------------------------- */

static void put_empty(struct kdec *d, const struct kfield *f, void *slot)
{
    const char *s = kj_empty;
    if (kf_interned(f) && !d->arena)
        s = kdec_intern_empty(d);
    memcpy(slot, &s, sizeof s);
}

static inline const struct kindex *index_of(const struct kdec *d, const struct kschema *s)
{
    if (!d->indexes)
        return NULL;
    for (size_t i = (uintptr_t)s / 32 % KINDEX_SLOTS;; i = (i + 1) % KINDEX_SLOTS) {
        const struct kindex *ix = d->indexes->slot[i];
        if (!ix)
            return kindex_make(d->indexes, s);
        if (LIKELY(ix->s == s))
            return ix;
    }
}

static void fill_absent(struct kdec *d, const struct kschema *s, const struct kindex *ix,
                        uint64_t seen, char *out);

static inline void fill_field(struct kdec *d, const struct kfield *f, char *slot)
{
    if (f->type == KF_STR) {
        if (!kf_load_ptr(slot))
            put_empty(d, f, slot);
    } else if (f->type == KF_OBJ && !(f->flags & KF_PTR)) {
        fill_absent(d, f->sub, NULL, 0, slot);
    }
}

/* Strings are never NULL, wherever they stand by value. What was seen (of the first 64 fields)
 * needs no second look, but may have it. */
static void fill_absent(struct kdec *d, const struct kschema *s, const struct kindex *ix,
                        uint64_t seen, char *out)
{
    uint32_t first = 0;

    if (ix) {
        for (uint64_t left = ix->absent & ~seen; left; left &= left - 1) {
            const struct kfield *f = &s->fields[__builtin_ctzll(left)];
            fill_field(d, f, out + f->off);
        }
        first = 64;
    }
    for (uint32_t i = first; i < s->nfields; i++)
        if (i >= 64 || !(seen >> i & 1))
            fill_field(d, &s->fields[i], out + s->fields[i].off);
}

/* ---- lists and maps -------------------------------------------------------------------------- */

static int put_elem(struct kdec *d, const struct kfield *f, const yyjson_val *v, void *slot)
{
    if (UNLIKELY(unsafe_yyjson_is_null((void *)(uintptr_t)v))) {
        if (f->elem == KF_STR)
            put_empty(d, f, slot);
        else if (f->elem == KF_OBJ && !(f->flags & KF_PTR))
            fill_absent(d, f->sub, NULL, 0, slot);
        return 0;
    }
    return kdec_value(d, f, f->elem, v, slot);
}

__attribute__((noinline)) static int put_list(struct kdec *d, const struct kfield *f,
                                              const yyjson_val *v, struct klist *slot)
{
    size_t size = kf_elem_size(f), n = kj_ylen(v);
    void *items;

    if ((v->tag & YYJSON_TYPE_MASK) != YYJSON_TYPE_ARR)
        return kdec_wrong_type(d, "an array", v);
    if (n == 0)
        return 0;
    int r = kdec_zeroed(d, n * size, &items);
    if (r < 0)
        return r;
    kdec_put_ptr(d, &slot->items, items);
    slot->n = (uint32_t)n;
    const yyjson_val *c = v + 1;
    for (size_t i = 0; i < n; i++) {
        r = put_elem(d, f, c, (char *)items + i * size);
        if (r < 0) {
            kpath_index(&d->path, i);
            return r;
        }
        c = kj_sibling(c, false);
    }
    return 0;
}

static bool is_dropped(const struct kfield *f, const char *key, size_t n)
{
    if (!f->meta || !f->meta->drop_keys)
        return false;
    for (const char *const *drop = f->meta->drop_keys; *drop; drop++)
        if (strncmp(*drop, key, n) == 0 && (*drop)[n] == '\0')
            return true;
    return false;
}

static int put_entry(struct kdec *d, const struct kfield *f, const char *key, size_t n,
                     const yyjson_val *v, char *slot)
{
    char *copy;
    int r = 0;

    if (kf_keys_interned(f) && !d->arena) {
        const char *s = kdec_intern(d, key, n);
        memcpy(slot, &s, sizeof s);
    } else {
        r = kdec_string(d, key, n, &copy);
        if (r == 0)
            kdec_put_ptr(d, slot, copy);
    }
    if (r == 0)
        r = put_elem(d, f, v, slot + KMAP_VALUE);
    if (r < 0)
        kpath_key(&d->path, key);
    return r;
}

/* Everything decoded since can be taken back: an out-of-order map, an object with a key twice. */
struct mark {
    char *front, *back;
    size_t nfix, nrefs;
};

static struct mark mark_here(const struct kdec *d)
{
    return (struct mark){ d->front, d->back, d->nfix, d->refs.n };
}

static void mark_return(struct kdec *d, struct mark m)
{
    if (d->arena)
        return; /* the bytes are lost until the arena goes; rare and bounded */
    d->refs.n = m.nrefs;
    d->front = m.front;
    d->back = m.back;
    d->nfix = m.nfix;
}

static int put_map_unsorted(struct kdec *d, const struct kfield *f, const yyjson_val *v,
                            struct klist *slot)
{
    CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(v, false);
    size_t size = kf_elem_size(f);
    void *items;
    int r = kdec_zeroed(d, ix.n * size, &items);

    if (r < 0)
        return r;
    kdec_put_ptr(d, &slot->items, items);
    slot->n = 0;
    for (size_t i = 0; i < ix.n; i++) {
        const struct kj_member *m = &ix.m[i];
        if (is_dropped(f, m->key, m->key_len))
            continue;
        r = put_entry(d, f, m->key, m->key_len, m->val, (char *)items + slot->n * size);
        if (r < 0)
            return r;
        slot->n++;
    }
    return 0;
}

__attribute__((noinline)) static int put_map(struct kdec *d, const struct kfield *f,
                                             const yyjson_val *v, struct klist *slot)
{
    size_t size = kf_elem_size(f), n = kj_ylen(v), prev_len = 0;
    const char *prev = NULL;
    struct mark start = mark_here(d);
    void *items;

    if (!kj_is_obj(v))
        return kdec_wrong_type(d, "an object", v);
    if (n == 0)
        return 0;
    int r = kdec_zeroed(d, n * size, &items);
    if (r < 0)
        return r;
    kdec_put_ptr(d, &slot->items, items);
    slot->n = 0;
    const yyjson_val *k = v + 1;
    for (size_t i = 0; i < n; i++, k = kj_sibling(k + 1, false)) {
        const char *key = k->uni.str;
        size_t len = kj_ylen(k);
        if (prev) {
            int c = memcmp(prev, key, MIN(prev_len, len));
            if (c > 0 || (c == 0 && prev_len >= len)) {
                mark_return(d, start);
                return put_map_unsorted(d, f, v, slot);
            }
        }
        prev = key;
        prev_len = len;
        if (is_dropped(f, key, len))
            continue;
        r = put_entry(d, f, key, len, k + 1, (char *)items + slot->n * size);
        if (r < 0)
            return r;
        slot->n++;
    }
    /* Give back the slots of dropped keys, unless values came to stand behind them. */
    if (!d->arena && slot->n < n && d->front == (char *)items + ((n * size + 7) & ~(size_t)7))
        d->front = (char *)items + ((slot->n * size + 7) & ~(size_t)7);
    return 0;
}

/* ---- one value ------------------------------------------------------------------------------- */

__attribute__((noinline)) static int put_object(struct kdec *d, const struct kfield *f,
                                                const yyjson_val *v, void *slot)
{
    void *to = slot;

    if (f->flags & KF_PTR) {
        if (!f->sub->bare && !kj_is_obj(v))
            return kdec_wrong_type(d, "an object", v);
        int r = kdec_zeroed(d, f->sub->size, &to);
        if (r < 0)
            return r;
        kdec_put_ptr(d, slot, to);
    }
    return kdec_object(d, f->sub, v, to);
}

int kdec_value(struct kdec *d, const struct kfield *f, unsigned type, const yyjson_val *v,
               void *slot)
{
    switch ((enum kf_type)type) {
    case KF_STR:
    case KF_OPT_STR: return kdec_str(d, f, v, slot);
    case KF_BOOL: return kdec_bool(d, v, slot);
    case KF_I32: return kdec_i32(d, v, slot);
    case KF_I64: return kdec_i64(d, v, slot);
    case KF_F64: return kdec_f64(d, v, slot);
    case KF_OPT_BOOL:
    case KF_OPT_I32:
    case KF_OPT_I64:
    case KF_OPT_F64:
    case KF_OPT_DUR: return kdec_optional(d, type, v, slot);
    case KF_QTY: return kdec_qty(d, v, slot);
    case KF_OPT_QTY: return kdec_opt_qty(d, v, slot);
    case KF_TIME:
    case KF_MICROTIME: return kdec_time(d, v, slot);
    case KF_DUR: return kdec_dur(d, v, slot);
    case KF_ENUM: return kdec_enum(d, f, v, slot);
    case KF_INT_OR_STR: return kdec_int_or_str(d, v, slot);
    case KF_UID: return kdec_uid(d, v, slot);
    case KF_RAW: return kdec_raw(d, v, slot);
    case KF_OBJ: return put_object(d, f, v, slot);
    case KF_LIST: return put_list(d, f, v, slot);
    case KF_MAP: return put_map(d, f, v, slot);
    case KF_END: break;
    }
    assert(!"a schema table with an unknown type");
    return -EINVAL;
}

/* ---- objects --------------------------------------------------------------------------------- */

static inline bool field_is(const struct kfield *f, const char *key, size_t n)
{
    return f->json_len == n && kj_same_bytes(f->json, key, n) && !kf_is_inline(f);
}

static bool field_is_any_case(const struct kfield *f, const char *key, size_t n)
{
    return f->json_len == n && !kf_is_inline(f) && strncasecmp(f->json, key, n) == 0;
}

struct found {
    const struct kfield *f;
    char *slot;
    unsigned index; /* in the table flattened over inline objects */
};

/* In a whole table, then in its inline objects. *index is that of the table's first field. */
static bool find_in(const struct kschema *s, const char *key, size_t n, char *out, bool any_case,
                    unsigned *index, struct found *ret)
{
    unsigned first = *index;

    *index += s->nfields;
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        if (any_case ? field_is_any_case(f, key, n) : field_is(f, key, n)) {
            *ret = (struct found){ f, out + f->off, first + i };
            return true;
        }
    }
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        if (!kf_is_inline(f))
            continue;
        assert(!(f->flags & KF_PTR)); /* an inline object stands by value */
        if (find_in(f->sub, key, n, out + f->off, any_case, index, ret))
            return true;
    }
    return false;
}

/* An equal name, or with KJ_ANY_CASE (as encoding/json reads annotations) a similar one. */
static bool find_anywhere(const struct kdec *d, const struct kschema *s, const char *key, size_t n,
                          char *out, struct found *ret)
{
    unsigned exact = 0, similar = 0;

    return find_in(s, key, n, out, false, &exact, ret) ||
           (d->flags & KJ_ANY_CASE && find_in(s, key, n, out, true, &similar, ret));
}

/* From the cursor on and round to it again: JSON mostly comes in the order of the table. */
static bool find_field(const struct kdec *d, const struct kschema *s, struct str key, char *out,
                       uint32_t *cursor, struct found *ret)
{
    const struct kfield *fields = s->fields;
    uint32_t nfields = s->nfields, i = *cursor;
    unsigned flags = 0;

    for (uint32_t left = nfields; left > 0; left--, i++) {
        if (i >= nfields)
            i = 0;
        if (field_is(&fields[i], key.p, key.n)) {
            *ret = (struct found){ &fields[i], out + fields[i].off, i };
            *cursor = i + 1;
            return true;
        }
        flags |= fields[i].flags;
    }
    return (flags & KF_INLINE || d->flags & KJ_ANY_CASE) &&
           find_anywhere(d, s, key.p, key.n, out, ret);
}

enum { MAX_FIELDS = 256 };

/* Which fields of an object were there; the first 64 of nearly all tables in a register. */
struct seen {
    uint64_t low, high[MAX_FIELDS / 64 - 1];
};

/* True when it was marked before. */
static inline bool mark_seen(struct seen *seen, unsigned index)
{
    uint64_t *word = LIKELY(index < 64) ? &seen->low : &seen->high[index / 64 - 1];
    uint64_t bit = UINT64_C(1) << index % 64;
    bool before = *word & bit;

    *word |= bit;
    return before;
}

static int field_failed(struct kdec *d, struct str key, int r)
{
    kpath_field(&d->path, key.p, key.n);
    return r;
}

/* Members in document order; *ret_duplicate when a known field comes a second time. */
static int put_members(struct kdec *d, const struct kschema *s, const yyjson_val *v, char *out,
                       struct seen *seen, bool *ret_duplicate)
{
    bool strict = d->flags & KJ_STRICT;
    const yyjson_val *k = v + 1;
    uint32_t cursor = 0;

    for (size_t left = kj_ylen(v); left > 0; left--) {
        struct str key = { k->uni.str, kj_ylen(k) };
        const yyjson_val *val = k + 1;
        struct found at;

        k = kj_sibling(val, false);
        if (!find_field(d, s, key, out, &cursor, &at)) {
            if (UNLIKELY(strict))
                return field_failed(d, key, kdec_wrong(d, "unknown field"));
            continue;
        }
        bool null = unsafe_yyjson_is_null((void *)(uintptr_t)val);
        if (UNLIKELY(null && !strict))
            continue; /* as if it were not there */
        if (UNLIKELY(mark_seen(seen, at.index))) {
            if (strict)
                return field_failed(d, key, kdec_wrong(d, "duplicate field"));
            *ret_duplicate = true;
            return 0;
        }
        int r = UNLIKELY(null) ? 0 : kdec_value(d, at.f, at.f->type, val, at.slot);
        if (UNLIKELY(r < 0))
            return field_failed(d, (struct str){ at.f->json, at.f->json_len }, r);
    }
    return 0;
}

/* The same for the usual object: an index, not strict, at most 64 fields, none of them inline. This
 * loop is where informers spend their time. */
static int put_members_indexed(struct kdec *d, const struct kindex *ix, const yyjson_val *v,
                               char *out, uint64_t *ret_seen, bool *ret_duplicate)
{
    const struct kfield *fields = ix->s->fields;
    uint32_t nfields = ix->s->nfields, next = 0;
    const yyjson_val *k = v + 1;
    uint64_t seen = 0;

    for (size_t left = kj_ylen(v); left > 0; left--) {
        const char *key = k->uni.str;
        size_t n = kj_ylen(k);
        const yyjson_val *val = k + 1;
        uint32_t i = next;

        k = kj_sibling(val, false);
        if (i >= nfields || fields[i].json_len != n || !kj_same_bytes(fields[i].json, key, n)) {
            i = ix->field[kindex_hash(key, n)];
            if (i == KINDEX_UNKNOWN)
                continue;
            for (i = i == KINDEX_LOOK ? 0 : i - 1; i < nfields; i++)
                if (fields[i].json_len == n && kj_same_bytes(fields[i].json, key, n))
                    break;
            if (i >= nfields)
                continue;
        }
        const struct kfield *f = &fields[i];
        next = i + 1;
        if (UNLIKELY(unsafe_yyjson_is_null((void *)(uintptr_t)val)))
            continue;
        if (UNLIKELY(seen >> i & 1)) {
            *ret_duplicate = true;
            return 0;
        }
        seen |= UINT64_C(1) << i;
        int r = f->type == KF_STR ? kdec_str(d, f, val, out + f->off)
                                  : kdec_value(d, f, f->type, val, out + f->off);
        if (UNLIKELY(r < 0))
            return field_failed(d, (struct str){ f->json, f->json_len }, r);
    }
    *ret_seen = seen;
    return 0;
}

/* The last of a key's values counts, the earlier ones must leave no trace: from the back. */
static int put_last_members(struct kdec *d, const struct kschema *s, const yyjson_val *v, char *out,
                            struct seen *seen)
{
    CLEANUP(mem_free) const yyjson_val **keys = xnewn0(kj_ylen(v), const yyjson_val *);
    const yyjson_val *k = v + 1;
    uint32_t cursor = 0;

    for (size_t i = 0; i < kj_ylen(v); i++, k = kj_sibling(k + 1, false))
        keys[i] = k;
    for (size_t i = kj_ylen(v); i-- > 0;) {
        struct str key = { keys[i]->uni.str, kj_ylen(keys[i]) };
        const yyjson_val *val = keys[i] + 1;
        struct found at;
        if (!find_field(d, s, key, out, &cursor, &at) ||
            unsafe_yyjson_is_null((void *)(uintptr_t)val) || mark_seen(seen, at.index))
            continue;
        int r = kdec_value(d, at.f, at.f->type, val, at.slot);
        if (r < 0)
            return field_failed(d, (struct str){ at.f->json, at.f->json_len }, r);
    }
    return 0;
}

/* A schema for a list, map or scalar that is a whole value: a map of lists, an annotation. */
static int put_bare(struct kdec *d, const struct kschema *s, const yyjson_val *v, char *out)
{
    const struct kfield *f = &s->fields[0];
    int r = 0;

    assert(s->nfields == 1);
    if (!unsafe_yyjson_is_null((void *)(uintptr_t)v))
        r = kdec_value(d, f, f->type, v, out + f->off);
    if (r == 0)
        fill_absent(d, s, NULL, 0, out);
    return r;
}

int kdec_object(struct kdec *d, const struct kschema *s, const yyjson_val *v, void *out)
{
    const struct kindex *ix = index_of(d, s);
    struct mark start = mark_here(d);
    struct seen seen = { 0 };
    bool duplicate = false;

    if (UNLIKELY(s->bare))
        return put_bare(d, s, v, out);
    if (UNLIKELY(!kj_is_obj(v)))
        return kdec_wrong_type(d, "an object", v);
    assert(s->nfields <= MAX_FIELDS);
    int r = ix && ix->simple ? put_members_indexed(d, ix, v, out, &seen.low, &duplicate)
                             : put_members(d, s, v, out, &seen, &duplicate);
    if (UNLIKELY(duplicate)) {
        mark_return(d, start);
        memset(out, 0, s->size);
        seen = (struct seen){ 0 };
        r = put_last_members(d, s, v, out, &seen);
    }
    if (r == 0)
        fill_absent(d, s, ix, d->flags & KJ_STRICT ? 0 : seen.low, out);
    return r;
}

/* ---- into an arena --------------------------------------------------------------------------- */

int kj_decode(const struct kschema *s, const struct kj_val *in, unsigned flags, struct arena *a,
              void *out, struct kerr *err)
{
    struct kdec d = { .arena = a, .flags = flags };

    kpath_init(&d.path);
    memset(out, 0, s->size);
    if (!in)
        return kerr_set(err, -EINVAL, "%s: expected an object, got nothing", s->name);
    int r = kdec_object(&d, s, kj_y(in), out);
    strbuf_fini(&d.tmp);
    return r < 0 ? kdec_error(&d, s, r, err) : 0;
}

int kj_decode_text(const struct kschema *s, const char *text, size_t n, unsigned flags,
                   struct arena *a, void *out, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    int r = kj_parse(text, n, 0, &doc, err);
    if (r < 0)
        return r;
    return kj_decode(s, kj_root(doc), flags, a, out, err);
}
