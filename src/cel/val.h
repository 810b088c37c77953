/* val.h - values of expressions, 16 bytes each and passed by value.
 *
 * Text and documents are read in place: a list or map of a document points to its kj_val and makes
 * its elements when they are asked for, by the type it has. Everything else lives in the arena of
 * the evaluation. An error is a value too: && and || may still decide over it.
 */
#ifndef KOORD_CEL_VAL_H
#define KOORD_CEL_VAL_H
#include "base/arena.h"
#include "base/qty.h"
#include "cel/type.h"
#include "json/kj.h"

enum cel_kind {
    CK_ABSENT, /* no value: an unbound variable, a field that is not there */
    CK_ERROR,  /* s: the message */
    CK_NULL,
    CK_BOOL,
    CK_INT,
    CK_UINT,
    CK_DOUBLE,
    CK_STRING,
    CK_BYTES,
    CK_TIMESTAMP, /* i: seconds since 1970, n: nanoseconds */
    CK_DURATION,  /* i: nanoseconds */
    CK_LIST,
    CK_MAP, /* objects too: their type has fields */
    CK_TYPE,
    CK_OPTIONAL, /* opt: NULL for none */
    CK_QUANTITY,
    CK_IP,
    CK_CIDR,
    CK_URL,
    CK_SEMVER,
    CK_FORMAT,
    CK_NATIVE, /* of the user of this room, such as the authorizer */
};

struct cel_list;
struct cel_map;
struct cel_addr;
struct cel_url;
struct cel_semver;
struct cel_named_format;
struct cel_native;

struct cel_val {
    uint16_t kind; /* enum cel_kind */
    int16_t zone;  /* CK_TIMESTAMP: minutes east of UTC that its text has; for printing only */
    uint32_t n;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        const char *s;
        const struct cel_list *list;
        const struct cel_map *map;
        const struct cel_type *type;
        const struct cel_val *opt;
        const struct qty *qty;
        const struct cel_addr *addr; /* CK_IP, CK_CIDR */
        const struct cel_url *url;
        const struct cel_semver *semver;
        const struct cel_named_format *format;
        const struct cel_native *native;
    };
};
_Static_assert(sizeof(struct cel_val) == 16, "values are passed by value");

struct cel_list {
    uint32_t n;
    const struct cel_val *items; /* or NULL: */
    const struct kj_val *json;
    const struct cel_type *type; /* of the list, NULL: not from a schema */
};

struct cel_entry {
    struct cel_val key, val;
};

/* An object whose members are made when they are asked for. */
struct cel_lazy {
    struct cel_val (*get)(void *arg, struct str name); /* CK_ABSENT: there is none */
    void *arg;
};

struct cel_map {
    const struct cel_lazy *lazy; /* NULL: all of it is here */
    uint32_t n;
    bool open;                       /* what is not there reads as an empty map */
    bool grows;                      /* a loop builds it */
    const struct cel_entry *entries; /* or NULL: */
    const struct kj_val *json;
    const struct cel_type *type; /* of the map or object, NULL: not from a schema */
};

struct cel_addr {
    uint8_t bytes[16];
    uint8_t is6, bits; /* bits: of a prefix */
};

struct cel_semver {
    uint64_t major, minor, patch;
    struct str pre, build;
};

/* Something that only its maker understands: has a type, can be called by its own functions. */
struct cel_native {
    const struct cel_type *type;
};

static inline struct cel_val cel_v_bool(bool b)
{
    return (struct cel_val){ .kind = CK_BOOL, .b = b };
}
static inline struct cel_val cel_v_int(int64_t i)
{
    return (struct cel_val){ .kind = CK_INT, .i = i };
}
static inline struct cel_val cel_v_uint(uint64_t u)
{
    return (struct cel_val){ .kind = CK_UINT, .u = u };
}
static inline struct cel_val cel_v_double(double d)
{
    return (struct cel_val){ .kind = CK_DOUBLE, .d = d };
}
static inline struct cel_val cel_v_str(const char *s, size_t n) /* borrowed */
{
    return (struct cel_val){ .kind = CK_STRING, .n = (uint32_t)n, .s = s };
}
static inline struct cel_val cel_v_null(void)
{
    return (struct cel_val){ .kind = CK_NULL };
}
static inline struct str cel_str(struct cel_val v)
{
    return (struct str){ v.n ? v.s : "", v.n }; /* never NULL: memchr() and its kind want none */
}
static inline bool cel_is_text(struct cel_val v)
{
    return v.kind == CK_STRING || v.kind == CK_BYTES;
}
static inline bool cel_is_err(struct cel_val v)
{
    return v.kind == CK_ERROR;
}

/* cold: what leads to it is laid out apart from what is usual. */
struct cel_val cel_v_error(struct arena *a, const char *fmt, ...) PRINTF(2, 3)
    __attribute__((cold));
struct cel_val cel_v_no_overload(void);
struct cel_val cel_v_list(struct arena *a, const struct cel_val *items, size_t n); /* borrowed */
struct cel_val cel_v_map(struct arena *a, const struct cel_entry *entries, size_t n);
struct cel_val cel_v_lazy(struct arena *a, const struct cel_lazy *lazy); /* borrowed */
struct cel_val cel_v_some(struct arena *a, struct cel_val v);
struct cel_val cel_v_none(void);
struct cel_val cel_v_type(const struct cel_type *t);
/* A value of a document, by its type; CT_DYN for what it looks like. CK_ABSENT for an absent one.
 */
struct cel_val cel_v_json(struct arena *a, const struct kj_val *v, const struct cel_type *t);
/* A value that becomes an item of a list of a schema, whose items have this type: itself, a double
 * for an int, or an error where a document could not have it. */
struct cel_val cel_v_refit(struct arena *a, struct cel_val v, const struct cel_type *t);

/* The name of a value's type: "int", "google.protobuf.Timestamp". */
const char *cel_type_name(struct cel_val v);
/* Code points, bytes, elements, entries; 1 for the others. */
uint64_t cel_size(struct cel_val v);
size_t cel_runes(struct str s); /* code points of a text */

/* As an expression would write it: 'text', [1, 2], {'a': 1}, duration('1s'). Ends in "..." where a
 * value holds another so many times that its text would be too long. */
void cel_val_print(struct arena *a, struct cel_val v, struct strbuf *out);

/* -1, 0, 1 in *ret. 0, or -EINVAL: no order between the two; -EDOM: NaN. */
int cel_compare(struct cel_val x, struct cel_val y, int *ret);

/* ---- lists and maps ----------------------------------------------------------------------------
 */

struct cel_val cel_list_at(struct arena *a, const struct cel_list *l, uint32_t i);

/* Walks a list, or a map in the order of its keys. */
struct cel_iter {
    struct arena *a;
    const struct cel_list *list;
    struct kj_iter json;
    const struct cel_entry *sorted;
    uint32_t i, n;
};
bool cel_iter_init(struct cel_iter *it, struct arena *a, struct cel_val v); /* false: neither */
/* *ret_key: the index or key. */
bool cel_iter_next(struct cel_iter *it, struct cel_val *ret_key, struct cel_val *ret_val);
/* The elements of a list as an array. */
const struct cel_val *cel_list_items(struct arena *a, const struct cel_list *l);
/* The entries of a map, sorted by key. */
const struct cel_entry *cel_map_sorted(struct arena *a, const struct cel_map *m);
#endif
