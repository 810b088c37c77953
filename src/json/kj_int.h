/* kj_int.h - what the files of this room share. Nobody else includes it (nor yyjson.h).
 *
 * struct kj_val is a yyjson_val and struct kj_mval a yyjson_mut_val, by cast. We lean on two facts
 * of yyjson's layout (unchanged from 0.8 to 0.10): parsed values lie flat in reading order and a
 * container knows the distance to its next sibling; members of a mutable container form a ring
 * whose owner points at the last one.
 */
#ifndef KOORD_JSON_KJ_INT_H
#define KOORD_JSON_KJ_INT_H
#include <yyjson.h>

#include "json/kj.h"

struct arena;

struct kj_doc {
    yyjson_val *root;
    yyjson_doc *ydoc;      /* from JSON or a frozen mutable document; NULL for YAML */
    char *text;            /* JSON that had to be sanitised lives here */
    yyjson_val *vals;      /* YAML and views: the flat values ... */
    struct arena *strings; /* ... and the texts of YAML */
};

static inline yyjson_val *kj_y(const struct kj_val *v)
{
    return (yyjson_val *)(uintptr_t)v;
}
static inline yyjson_mut_val *kj_my(const struct kj_mval *v)
{
    return (yyjson_mut_val *)(uintptr_t)v;
}
static inline const struct kj_val *kj_from(const yyjson_val *v)
{
    return (const struct kj_val *)v;
}
static inline struct kj_mval *kj_mfrom(yyjson_mut_val *v)
{
    return (struct kj_mval *)v;
}
/* The first three fields of a mutable value are those of a parsed one: scalars read alike. */
static inline yyjson_val *kj_my_scalar(const struct kj_mval *v)
{
    return (yyjson_val *)(uintptr_t)v;
}
static inline yyjson_mut_doc *kj_ymdoc(struct kj_mdoc *d)
{
    return (yyjson_mut_doc *)d;
}

static inline bool kj_is_ctn(const yyjson_val *v)
{
    return (v->tag & 6) == 6;
}
static inline bool kj_is_obj(const yyjson_val *v)
{
    return (v->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_OBJ;
}
static inline size_t kj_ylen(const yyjson_val *v)
{
    return (size_t)(v->tag >> YYJSON_TAG_BIT);
}

/* Equal n bytes? Names are short: two overlapping loads beat a call. */
static inline bool kj_same_bytes(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        uint64_t x, y, z, w;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        memcpy(&z, a + n - 8, 8);
        memcpy(&w, b + n - 8, 8);
        if (n <= 16 || x != y || z != w)
            return x == y && z == w;
        memcpy(&x, a + 8, 8);
        memcpy(&y, b + 8, 8);
        memcpy(&z, a + n - 16, 8);
        memcpy(&w, b + n - 16, 8);
        return x == y && z == w && (n <= 32 || memcmp(a + 16, b + 16, n - 32) == 0);
    }
    if (n >= 4) {
        uint32_t x, y, z, w;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        memcpy(&z, a + n - 4, 4);
        memcpy(&w, b + n - 4, 4);
        return x == y && z == w;
    }
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static inline bool kj_key_is(const yyjson_val *key, const char *s, size_t n)
{
    return kj_ylen(key) == n && kj_same_bytes(key->uni.str, s, n);
}

/* One way to walk both forms, so that equality and writing exist once; `mut` is constant wherever
 * it matters. kj_first only when the container is not empty. A sibling of a member is its key. */
static inline const yyjson_val *kj_first(const yyjson_val *ctn, bool mut)
{
    if (!mut)
        return ctn + 1;
    const yyjson_mut_val *last = ctn->uni.ptr;
    return (const yyjson_val *)(kj_is_obj(ctn) ? last->next->next : last->next);
}
static inline const yyjson_val *kj_val_of_key(const yyjson_val *key, bool mut)
{
    return mut ? (const yyjson_val *)((const yyjson_mut_val *)key)->next : key + 1;
}
static inline const yyjson_val *kj_sibling(const yyjson_val *v, bool mut)
{
    if (mut)
        return (const yyjson_val *)((const yyjson_mut_val *)v)->next;
    return kj_is_ctn(v) ? (const yyjson_val *)((const char *)v + v->uni.ofs) : v + 1;
}

/* ---- numbers --------------------------------------------------------------------------------- */

struct kj_number {
    enum { KJ_NUM_U64, KJ_NUM_I64, KJ_NUM_F64 } kind; /* I64: negative only */
    union {
        uint64_t u;
        int64_t i;
        double f;
    };
};
/* Of a number or the text of a raw one; false when it is not a finite number. */
bool kj_number_of(const yyjson_val *v, struct kj_number *ret);
bool kj_number_equal(const yyjson_val *a, const yyjson_val *b);

/* ---- text ------------------------------------------------------------------------------------ */

enum { TEXT_HIGH = 1 << 0, TEXT_BACKSLASH = 1 << 1, TEXT_NEWLINE = 1 << 2, TEXT_ESCAPE_U = 1 << 3 };
/* Which of these occur: bytes >= 0x80, backslash, line feed; perhaps \u (false alarms happen). */
unsigned text_scan(const char *p, size_t n);
bool utf8_valid(const char *p, size_t n);
/* Length of the valid sequence at p (1 for ASCII), 0 when it is broken. n > 0. */
size_t utf8_seq(const unsigned char *p, size_t n);
/* A \u escape of half a surrogate pair somewhere in this JSON text? */
bool json_has_lone_surrogate(const char *p, size_t n);
/* The JSON text with every broken byte and lone surrogate as U+FFFD. */
void json_sanitise(const char *p, size_t n, struct strbuf *out);
/* Plain text with every broken byte as U+FFFD. */
void utf8_sanitise(const char *p, size_t n, struct strbuf *out);
/* 1-based, of byte `at`; the column counts bytes. */
void text_locate(const char *p, size_t n, size_t at, size_t *ret_line, size_t *ret_col);

/* ---- trees ----------------------------------------------------------------------------------- */

/* Are containers nested at most KJ_DEPTH_MAX deep? */
bool kj_depth_ok(const yyjson_val *root);
/* At most `max` deep? (For trees that a patch has grown; bounded recursion.) */
bool kj_mdepth_ok(const yyjson_mut_val *v, int max);

/* Members of an object, sorted by key, duplicates gone (the last won): for lookups in large
 * objects, where a linear search per key would be quadratic in untrusted input. */
struct kj_member {
    const char *key;
    size_t key_len;
    const yyjson_val *val; /* or a yyjson_mut_val */
    size_t pos;            /* in document order */
};
struct kj_index {
    struct kj_member *m;
    size_t n;
};
struct kj_index kj_index_of(const yyjson_val *obj, bool mut);
const struct kj_member *kj_index_find(const struct kj_index *ix, const char *key, size_t n);
void kj_index_fini(struct kj_index *ix);
static inline UNUSED void kj_index_fini_p(struct kj_index *ix)
{
    kj_index_fini(ix);
}
enum { KJ_SMALL_OBJ = 16 }; /* up to this many members a linear search wins */

/* Appends a member without looking for the key. */
void kj_mlink(yyjson_mut_val *obj, yyjson_mut_val *key, yyjson_mut_val *val);
/* The same; the key is copied. */
void kj_madd(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, size_t n,
             yyjson_mut_val *val);
#endif
