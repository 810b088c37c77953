/* codec.h - shared by the files that work along schema tables (inside this room only). */
#ifndef KOORD_JSON_CODEC_H
#define KOORD_JSON_CODEC_H
#include "json/kj_int.h"
#include "json/schema.h"

/* What KF_STR holds when absent and not interned. */
extern const char kj_empty[1];

/* A field path, built from its end while an error travels up: nothing is spent on it before. */
struct kpath {
    size_t at; /* first used byte; the text ends with the buffer */
    bool full;
    char buf[200];
};
void kpath_init(struct kpath *p);
void kpath_field(struct kpath *p, const char *name, size_t n);
void kpath_index(struct kpath *p, size_t i);
void kpath_key(struct kpath *p, const char *key);
const char *kpath_str(const struct kpath *p);

/* KF_MAP elements are struct { const char *key; T value; }. No type here needs more than 8-byte
 * alignment, so the value always stands right behind the key. */
enum { KMAP_VALUE = 8 };

static inline size_t kf_elem_size(const struct kfield *f)
{
    assert(f->elem_size > 0); /* a table entry made without KF_LIST_OF or KF_MAP_OF */
    return f->elem_size;
}
/* Are the strings of a value (or list element, or map value) of this field interned? */
static inline bool kf_interned(const struct kfield *f)
{
    return f->flags & KF_INTERN;
}
static inline bool kf_keys_interned(const struct kfield *f)
{
    return f->flags & (KF_INTERN | KF_INTERN_KEYS);
}
static inline bool kf_is_inline(const struct kfield *f)
{
    return f->type == KF_OBJ && f->flags & KF_INLINE;
}
/* The type of one thing in a slot: of the field itself, or of a list's or map's element. */
static inline void *kf_load_ptr(const void *slot)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}

/* Empty, zero, absent: what KF_OMITEMPTY leaves out. Never true of objects by value. */
bool kf_is_empty(const struct kfield *f, const void *slot);

/* The slot holds a shallow copy; what it points at is replaced by copies in the arena. Defined in
 * copy.c. */
void kf_copy_value(const struct kfield *f, unsigned type, struct arena *a, void *slot);

/* The fields of a schema by their names, and what else decoding wants to know of it at a glance;
 * made once per scratch. */
enum { KINDEX_NAMES = 128, KINDEX_UNKNOWN = 0, KINDEX_LOOK = 255, KINDEX_SLOTS = 1024 };
struct kindex {
    const struct kschema *s;
    bool simple;     /* at most 64 fields, none inline */
    uint64_t absent; /* fields (the first 64) that need something also when they are absent */
    /* By kindex_hash(name): the field's number + 1, KINDEX_UNKNOWN, or KINDEX_LOOK when it takes a
     * search to tell (names that share a hash). */
    uint8_t field[KINDEX_NAMES];
};
struct kindexes {
    struct kindex *slot[KINDEX_SLOTS];
    size_t n;
};
static inline unsigned kindex_hash(const char *name, size_t n)
{
    return n ? ((unsigned)n * 5 + (unsigned char)name[0] + (unsigned char)name[n - 1] * 7u) %
                   KINDEX_NAMES
             : 0;
}
/* NULL when there are too many schemas: decoding works without. Defined in block.c. */
const struct kindex *kindex_make(struct kindexes *indexes, const struct kschema *s);

struct kdec_strings {
    const char **v;
    size_t n, cap;
};

/* The state of one decode, into an arena or into a scratch buffer. */
struct kdec {
    struct arena *arena; /* NULL: scratch mode */
    size_t used;         /* arena mode: bytes so far, against KDEC_MAX */
    unsigned flags;

    /* Scratch mode: structs and lists grow up from base, strings down from limit, so that odd
     * string lengths cost no padding. fix: offsets of all pointers into the buffer. */
    char *base, *front, *back, *limit;
    uint32_t *fix;
    size_t nfix, fix_cap;
    struct intern *strings;
    const char *empty;                 /* the interned "" */
    struct kdec_strings refs, evicted; /* interned strings used so far; see kdec_intern() */
    struct istr_cache *cache;
    struct kindexes *indexes;

    struct strbuf tmp;
    char time_text[20]; /* the last time read, and what it means */
    nsec_t time;
    struct kpath path;
    char msg[256];
};
enum { KDEC_MAX = 64 << 20 };

/* out: schema->size bytes. Fails with -EINVAL and path and msg set, or -ENOSPC (scratch full). */
int kdec_object(struct kdec *d, const struct kschema *s, const yyjson_val *v, void *out);
/* One value into a zeroed slot; v is not null. `type` is the field's or its element's. */
int kdec_value(struct kdec *d, const struct kfield *f, unsigned type, const yyjson_val *v,
               void *slot);
/* Fills *err from path and msg; returns code. */
int kdec_error(struct kdec *d, const struct kschema *s, int code, struct kerr *err);
/* Scratch mode; defined in block.c. The decode takes the reference when it succeeds. */
const char *kdec_intern(struct kdec *d, const char *s, size_t n);
const char *kdec_intern_empty(struct kdec *d);
#endif
