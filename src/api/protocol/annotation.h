/* annotation.h - the JSON annotations of the protocol, each a codec over a schema table.
 *
 * A capability's header declares its annotations with DECLARE_ANNOTATION(), which gives
 *
 *     int NAME_read(const kstrmap *annotations, struct arena *a, T *ret, struct kerr *err);
 *     int NAME_decode(const char *text, struct arena *a, T *ret, struct kerr *err);
 *     void NAME_encode(const T *value, struct strbuf *out);
 *
 * Read answers 1 when the annotation is there and good, 0 when it is absent (then *ret is the
 * empty value), and a negative code with a message when it is bad. JSON is read the way Go reads
 * it: unknown fields are ignored, names match in any case, null is absent, a wrong type spoils the
 * whole text. Strings in the result belong to the arena.
 */
#ifndef KOORD_API_ANNOTATION_H
#define KOORD_API_ANNOTATION_H
#include "api/kobj.h"

enum annotation_empty {
    EMPTY_IS_BAD,    /* as Go: unexpected end of JSON input */
    EMPTY_IS_ABSENT, /* "" counts as no annotation */
    EMPTY_IS_VALUE   /* "" is there, and means the empty value */
};

struct annotation_codec {
    const char *key;
    const struct kschema *schema;
    enum annotation_empty empty;
    /* After decoding: defaults, checks. May be NULL. */
    int (*check)(void *value, struct arena *a, struct kerr *err);
    /* Instead of the table's encoder, where the text has a form of its own. May be NULL. */
    void (*encode)(const void *value, struct strbuf *out);
    /* Instead of the JSON decoder, for plain texts. May be NULL. */
    int (*decode)(const char *text, struct arena *a, void *ret, struct kerr *err);
};

int annotation_decode(const struct annotation_codec *c, const char *text, struct arena *a,
                      void *ret, struct kerr *err);
int annotation_read(const struct annotation_codec *c, const kstrmap *annotations, struct arena *a,
                    void *ret, struct kerr *err);
void annotation_encode(const struct annotation_codec *c, const void *value, struct strbuf *out);

/* Every codec, in a fixed order; NULL after the last. */
const struct annotation_codec *annotation_codec_at(size_t i);
/* NULL: not a key with a codec. */
const struct annotation_codec *annotation_codec_find(const char *key);

#define DECLARE_ANNOTATION(name, type)                                                           \
    extern const struct annotation_codec name##_codec;                                           \
    static inline UNUSED int name##_read(const kstrmap *annotations, struct arena *a, type *ret, \
                                         struct kerr *err)                                       \
    {                                                                                            \
        return annotation_read(&name##_codec, annotations, a, ret, err);                         \
    }                                                                                            \
    static inline UNUSED int name##_decode(const char *text, struct arena *a, type *ret,         \
                                           struct kerr *err)                                     \
    {                                                                                            \
        return annotation_decode(&name##_codec, text, a, ret, err);                              \
    }                                                                                            \
    static inline UNUSED void name##_encode(const type *value, struct strbuf *out)               \
    {                                                                                            \
        annotation_encode(&name##_codec, value, out);                                            \
    }

/* Table short hands for the files that define annotations. */
#define ANNO_OMIT .flags = KF_OMITEMPTY
/* A schema whose JSON is the value of its only field. */
#define BARE_SCHEMA(sname, stype, table)                                                      \
    {                                                                                         \
        .name = (sname), .size = sizeof(stype), .nfields = 1, .fields = (table), .bare = true \
    }

/* Values that several annotations share: a list of texts, whole numbers by name. */
struct strlist_value {
    kstrlist v;
};
extern const struct kschema strlist_value_schema;
struct named_i64 {
    const char *name;
    int64_t value;
};
typedef KLIST(struct named_i64) named_i64list; /* sorted by name */
struct i64map_value {
    named_i64list v;
};
extern const struct kschema i64map_value_schema;
/* NULL when absent. */
const int64_t *named_i64_find(const named_i64list *l, const char *name);
#endif
