/* schema.h - struct <-> JSON by table. One table a type gives decode, encode, validation with
 * field paths, deep copy, release and the CRD schema. A new field costs one line.
 *
 *     struct cpu_burst { const char *policy; struct opt_i64 percent; };
 *     #define F(member, json, type, ...) KF(struct cpu_burst, member, json, type, __VA_ARGS__)
 *     static const struct kfield cpu_burst_fields[] = {
 *         F(policy,  "policy",          KF_STR,     .flags = KF_OMITEMPTY),
 *         F(percent, "cpuBurstPercent", KF_OPT_I64, .flags = KF_OMITEMPTY),
 *     };
 *     #undef F
 *     const struct kschema cpu_burst_schema = KSCHEMA("CPUBurst", struct cpu_burst,
 * cpu_burst_fields);
 *
 * How each type lies in the struct:
 *   KF_STR      const char *, never NULL after decoding ("" when absent)
 *   KF_OPT_STR  const char *, NULL when absent or null
 *   KF_BOOL     bool              KF_OPT_BOOL  struct opt_bool
 *   KF_I32      int32_t           KF_OPT_I32   struct opt_i32
 *   KF_I64      int64_t           KF_OPT_I64   struct opt_i64
 *   KF_F64      double            KF_OPT_F64   struct opt_f64
 *   KF_QTY      struct qty        KF_OPT_QTY   const struct qty *, NULL when absent
 *   KF_TIME     nsec_t, 0 when absent (metav1.Time); KF_MICROTIME the same (metav1.MicroTime)
 *   KF_DUR      nsec_t from "15s" (metav1.Duration); KF_OPT_DUR  struct opt_i64 of nanoseconds
 *   KF_ENUM     uint8_t, an index into meta->names (names[0] is "": absent or not known)
 *   KF_INT_OR_STR  struct int_or_str
 *   KF_UID      struct kuid
 *   KF_RAW      const char *: the JSON text of the subtree, minified; NULL when absent
 *   KF_OBJ      the struct itself; with KF_PTR a pointer to it, NULL when absent or null
 *   KF_LIST     struct klist (use KLIST(T)) of .elem, an element type of this list
 *   KF_MAP      struct klist (use KLIST(struct { const char *key; T value; })) sorted by key; the
 *               value always stands 8 bytes behind the element's start
 * A list or map of KF_OBJ with KF_PTR holds pointers. At most 256 fields a table, inline ones
 * counted.
 */
#ifndef KOORD_JSON_SCHEMA_H
#define KOORD_JSON_SCHEMA_H
#include "base/arena.h"
#include "base/base.h"
#include "base/qty.h"
#include "base/strbuf.h"

struct intern;
struct kj_val;

enum kf_type {
    KF_END, /* no type: guards against zeroed tables */
    KF_STR,
    KF_OPT_STR,
    KF_BOOL,
    KF_OPT_BOOL,
    KF_I32,
    KF_OPT_I32,
    KF_I64,
    KF_OPT_I64,
    KF_F64,
    KF_OPT_F64,
    KF_QTY,
    KF_OPT_QTY,
    KF_TIME,
    KF_MICROTIME,
    KF_DUR,
    KF_OPT_DUR,
    KF_ENUM,
    KF_INT_OR_STR,
    KF_UID,
    KF_RAW,
    KF_OBJ,
    KF_LIST,
    KF_MAP
};

enum {
    KF_REQUIRED = 1 << 0,
    KF_OMITEMPTY = 1 << 1, /* not written when empty, zero, absent */
    KF_PTR = 1 << 2,       /* KF_OBJ behind a pointer */
    KF_INTERN = 1 << 3, /* strings (and map keys) that repeat over objects go to the string table */
    KF_INTERN_KEYS = 1 << 4, /* KF_MAP: only the keys repeat */
    KF_INLINE = 1 << 5       /* KF_OBJ: its fields stand in the parent's JSON object */
};

struct opt_bool {
    bool set, v;
};
struct opt_i32 {
    bool set;
    int32_t v;
};
struct opt_i64 { /* Go's *int64: absent is not zero */
    bool set;
    int64_t v;
};
struct opt_f64 {
    bool set;
    double v;
};
struct int_or_str {
    const char *s; /* NULL: the integer counts */
    int32_t i;
};
struct klist {
    void *items;
    uint32_t n;
};
#define KLIST(type)  \
    struct {         \
        type *items; \
        uint32_t n;  \
    }

/* A UID: 16 bytes for a canonical UUID, otherwise (static pods) a pointer to its text. */
struct kuid {
    uint64_t hi, lo;
};
enum { KUID_TEXT_MAX = 129 };
bool kuid_equal(struct kuid a, struct kuid b);
bool kuid_is_empty(struct kuid u);
uint64_t kuid_hash(struct kuid u);
/* Into buf (cut at size); returns the length. "" for the empty UID. */
size_t kuid_format(struct kuid u, char *buf, size_t size);
/* text must outlive the result when it is not a canonical UUID. */
struct kuid kuid_parse(const char *text, size_t n);

/* What few fields need. Limits are checked by kj_validate(), not while decoding; limits and names
 * of a list or map are those of its elements. */
struct kmeta {
    const char *const *names; /* KF_ENUM: NULL-terminated, names[0] = ""; KF_STR: allowed values */
    const char *def;          /* default as JSON text, applied by kj_default() and in CRDs */
    struct opt_i64 min, max;
    const char *pattern, *format; /* CRD schema only */
    const char *list_key;         /* x-kubernetes-list-map-keys, and strategic merge key */
    const char *list_type;        /* x-kubernetes-list-type */
    const char *const *drop_keys; /* KF_MAP: keys not kept (bulky annotations); NULL-terminated */
    const char *description;
    const char *elem_description;
    bool nullable, preserve_unknown, int_or_string_items;
    /* Exact CRD schemas (api/koord): openapi.c only. 0 is no limit. */
    uint32_t min_len, max_len, min_items;
    bool raw_object; /* KF_RAW: also "type: object" */
    bool open_enum;  /* KF_ENUM: the schema says plain string */
};

struct kschema;
struct kfield {
    const char *json;
    uint8_t json_len, type, elem;
    uint8_t flags;
    uint16_t off, elem_size;
    const struct kschema *sub; /* KF_OBJ, or a list or map of objects */
    const struct kmeta *meta;
};
struct kschema {
    const char *name; /* "CPUBurst": shows in messages and documentation */
    uint32_t size, nfields;
    const struct kfield *fields;
    const char *description;
    bool bare;       /* the JSON is the value of the only field, without an object around it */
    bool map_atomic; /* CRD schema: x-kubernetes-map-type: atomic */
    uint8_t min_properties; /* CRD schema: minProperties */
};
#define KF(stype, member, jsonname, ftype, ...)                                \
    {                                                                          \
        .json = (jsonname), .json_len = sizeof(jsonname) - 1, .type = (ftype), \
        .off = offsetof(stype, member), __VA_ARGS__                            \
    }
/* A list or map of `etype`; the element size is taken from the member. */
#define KF_LIST_OF(stype, member, jsonname, etype, ...)                                         \
    {                                                                                           \
        .json = (jsonname), .json_len = sizeof(jsonname) - 1, .type = KF_LIST, .elem = (etype), \
        .off = offsetof(stype, member), .elem_size = sizeof(*((stype *)0)->member.items),       \
        __VA_ARGS__                                                                             \
    }
#define KF_MAP_OF(stype, member, jsonname, etype, ...)                                         \
    {                                                                                          \
        .json = (jsonname), .json_len = sizeof(jsonname) - 1, .type = KF_MAP, .elem = (etype), \
        .off = offsetof(stype, member), .elem_size = sizeof(*((stype *)0)->member.items),      \
        __VA_ARGS__                                                                            \
    }
#define KSCHEMA(sname, stype, table)                                                           \
    {                                                                                          \
        .name = (sname), .size = sizeof(stype), .nfields = ARRAY_LEN(table), .fields = (table) \
    }

/* ---- decode ---------------------------------------------------------------------------------- */

enum {
    KJ_STRICT = 1 << 0,  /* unknown and duplicate fields, unknown KF_ENUM values are errors */
    KJ_ANY_CASE = 1 << 1 /* field names match in any case, as in Go: annotations */
};
/* Fills *out (schema->size bytes, zeroed first); memory comes from the arena. Errors carry the
 * field path: "spec.containers[2].resources.requests[cpu]: ...". JSON null counts as absent. */
int kj_decode(const struct kschema *s, const struct kj_val *in, unsigned flags, struct arena *a,
              void *out, struct kerr *err);
/* Text to struct in one go (annotations): parse + decode. */
int kj_decode_text(const struct kschema *s, const char *text, size_t n, unsigned flags,
                   struct arena *a, void *out, struct kerr *err);

/* Decodes into ONE malloc'ed block of exact size, for objects kept in caches: the first
 * schema->size bytes are the struct, the rest its strings and lists. KF_INTERN strings come from
 * the table, also empty and absent ones, so istr_ref() works on every KF_INTERN KF_STR. `scratch`
 * keeps its memory between calls, and references on up to 2048 strings until it is freed. Free
 * blocks with kj_block_free(). -E2BIG beyond 64 MB. */
struct kj_scratch;
struct kj_scratch *kj_scratch_new(struct intern *strings);
struct kj_scratch *kj_scratch_free(struct kj_scratch *s);
DEFINE_CLEANUP(kj_scratch_free, struct kj_scratch *)
int kj_decode_block(const struct kschema *s, const struct kj_val *in, struct kj_scratch *scratch,
                    void **ret_block, size_t *ret_size, struct kerr *err);
void *kj_block_free(const struct kschema *s, void *block); /* NULL is fine; returns NULL */

/* ---- encode, copy, check --------------------------------------------------------------------- */

void kj_encode(const struct kschema *s, const void *in, struct strbuf *out);
/* Deep copy into the arena. */
void kj_copy(const struct kschema *s, const void *in, struct arena *a, void *out);
/* What is left when the JSON of `over` is decoded onto a copy of `base` the way Go does it, which
 * is how Koordinator merges strategies: a field that kj_encode() would write replaces the one
 * below, objects merge field by field, maps key by key (a value replaces the whole value of its
 * key); a list has the length of the list above, and its objects merge with those at the same
 * index. out may be base. */
void kj_overlay(const struct kschema *s, const void *base, const void *over, struct arena *a,
                void *out);
bool kj_struct_equal(const struct kschema *s, const void *a, const void *b);
/* Sets what is absent and has a default, inside lists and maps too. Zero counts as absent (as in
 * Go's defaulting), but a false KF_BOOL never does: use KF_OPT_BOOL for defaults of true. */
void kj_default(const struct kschema *s, struct arena *a, void *inout);
/* Required fields, enums and limits: the first violation with its path, KR_INVALID. A required
 * number, boolean, list or map is never missed: its zero may have been meant. */
int kj_validate(const struct kschema *s, const void *in, struct kerr *err);
/* The openAPIV3Schema of a CRD as JSON (without the outer apiVersion/kind/metadata). */
void kj_openapi(const struct kschema *s, struct strbuf *out);
#endif
