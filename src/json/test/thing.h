/* thing.h - a made-up object with a field of every type, for the tests of the codec. */
#ifndef KOORD_JSON_TEST_THING_H
#define KOORD_JSON_TEST_THING_H
#include "json/kj.h"
#include "json/schema.h"

struct part {
    const char *name, *image;
    KLIST(const char *) args;
    struct opt_i32 n;
};
struct inner {
    int32_t a, b;
};
struct type_meta {
    const char *kind, *version;
    struct inner deep;
};
struct thing {
    struct type_meta meta;
    const char *name, *space, *note;
    bool on;
    struct opt_bool maybe;
    int32_t i32;
    struct opt_i32 oi32;
    int64_t i64;
    struct opt_i64 oi64;
    double f64;
    struct opt_f64 of64;
    struct qty qty;
    const struct qty *oqty;
    nsec_t time, micro, dur;
    struct opt_i64 odur;
    uint8_t mode;
    struct int_or_str port;
    struct kuid uid;
    const char *raw;
    struct part main, *extra;
    KLIST(struct part) parts;
    KLIST(int64_t) numbers;
    KLIST(struct {
        const char *key;
        const char *value;
    })
    labels;
    KLIST(struct {
        const char *key;
        struct qty value;
    })
    limits;
    KLIST(struct {
        const char *key;
        struct part value;
    })
    named;
};

static const char *const thing_modes[] = { "", "Fast", "Slow", NULL };
static const char *const thing_dropped[] = { "bulky", "noisy", NULL };
static const struct kmeta mode_meta = { .names = thing_modes };
static const struct kmeta label_meta = { .drop_keys = thing_dropped };

#define F(member, json, type, ...) KF(struct part, member, json, type, __VA_ARGS__)
static const struct kfield part_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED),
    F(image, "image", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    KF_LIST_OF(struct part, args, "args", KF_STR, .flags = KF_OMITEMPTY | KF_INTERN),
    F(n, "n", KF_OPT_I32, .flags = KF_OMITEMPTY),
};
#undef F
static const struct kschema part_schema = KSCHEMA("Part", struct part, part_fields);

#define F(member, json, type, ...) KF(struct inner, member, json, type, __VA_ARGS__)
static const struct kfield inner_fields[] = {
    F(a, "innerA", KF_I32, .flags = KF_OMITEMPTY),
    F(b, "innerB", KF_I32, .flags = KF_OMITEMPTY),
};
#undef F
static const struct kschema inner_schema = KSCHEMA("Inner", struct inner, inner_fields);

#define F(member, json, type, ...) KF(struct type_meta, member, json, type, __VA_ARGS__)
static const struct kfield type_meta_fields[] = {
    F(kind, "kind", KF_STR, .flags = KF_OMITEMPTY | KF_INTERN),
    F(version, "apiVersion", KF_STR, .flags = KF_OMITEMPTY),
    F(deep, "", KF_OBJ, .flags = KF_INLINE, .sub = &inner_schema),
};
#undef F
static const struct kschema type_meta_schema =
    KSCHEMA("TypeMeta", struct type_meta, type_meta_fields);

#define F(member, json, type, ...) KF(struct thing, member, json, type, __VA_ARGS__)
static const struct kfield thing_fields[] = {
    F(meta, "", KF_OBJ, .flags = KF_INLINE, .sub = &type_meta_schema),
    F(name, "name", KF_STR, .flags = KF_OMITEMPTY),
    F(space, "namespace", KF_STR, .flags = KF_OMITEMPTY | KF_INTERN),
    F(note, "note", KF_OPT_STR, .flags = KF_OMITEMPTY | KF_INTERN),
    F(on, "on", KF_BOOL, .flags = KF_OMITEMPTY),
    F(maybe, "maybe", KF_OPT_BOOL, .flags = KF_OMITEMPTY),
    F(i32, "i32", KF_I32, .flags = KF_OMITEMPTY),
    F(oi32, "oi32", KF_OPT_I32, .flags = KF_OMITEMPTY),
    F(i64, "i64", KF_I64, .flags = KF_OMITEMPTY),
    F(oi64, "oi64", KF_OPT_I64, .flags = KF_OMITEMPTY),
    F(f64, "f64", KF_F64, .flags = KF_OMITEMPTY),
    F(of64, "of64", KF_OPT_F64, .flags = KF_OMITEMPTY),
    F(qty, "qty", KF_QTY, .flags = KF_OMITEMPTY),
    F(oqty, "oqty", KF_OPT_QTY, .flags = KF_OMITEMPTY),
    F(time, "time", KF_TIME, .flags = KF_OMITEMPTY),
    F(micro, "micro", KF_MICROTIME, .flags = KF_OMITEMPTY),
    F(dur, "dur", KF_DUR, .flags = KF_OMITEMPTY),
    F(odur, "odur", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    F(mode, "mode", KF_ENUM, .flags = KF_OMITEMPTY, .meta = &mode_meta),
    F(port, "port", KF_INT_OR_STR, .flags = KF_OMITEMPTY),
    F(uid, "uid", KF_UID, .flags = KF_OMITEMPTY),
    F(raw, "raw", KF_RAW, .flags = KF_OMITEMPTY),
    F(main, "main", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &part_schema),
    F(extra, "extra", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR, .sub = &part_schema),
    KF_LIST_OF(struct thing, parts, "parts", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &part_schema),
    KF_LIST_OF(struct thing, numbers, "numbers", KF_I64, .flags = KF_OMITEMPTY),
    KF_MAP_OF(struct thing, labels, "labels", KF_STR, .flags = KF_OMITEMPTY | KF_INTERN,
              .meta = &label_meta),
    KF_MAP_OF(struct thing, limits, "limits", KF_QTY, .flags = KF_OMITEMPTY | KF_INTERN_KEYS),
    KF_MAP_OF(struct thing, named, "named", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &part_schema),
};
#undef F
static const struct kschema thing_schema = KSCHEMA("Thing", struct thing, thing_fields);

/* Everything set, in the order and form in which it is written again. */
#define THING_FULL                                                                             \
    "{\"kind\":\"Thing\",\"apiVersion\":\"v1\",\"innerA\":-1,\"innerB\":2,\"name\":\"t\\n\","  \
    "\"namespace\":\"ns\",\"note\":\"\",\"on\":true,\"maybe\":false,\"i32\":-2147483648,"      \
    "\"oi32\":0,\"i64\":9223372036854775807,\"oi64\":-5,\"f64\":0.1,\"of64\":0,"               \
    "\"qty\":\"100m\",\"oqty\":\"1Gi\",\"time\":\"2026-11-15T18:20:00Z\","                     \
    "\"micro\":\"2026-11-15T18:20:00.123456Z\",\"dur\":\"1m30s\",\"odur\":\"0s\","             \
    "\"mode\":\"Slow\",\"port\":\"http\",\"uid\":\"3f2c1a00-1111-4222-8333-abcdefabcdef\","    \
    "\"raw\":{\"x\":[1,null]},\"main\":{\"name\":\"m\",\"image\":\"i\",\"args\":[\"\",\"b\"]," \
    "\"n\":3},\"extra\":{\"name\":\"e\"},\"parts\":[{\"name\":\"p1\",\"image\":\"i\"},"        \
    "{\"name\":\"p2\"}],\"numbers\":[1,-2],\"labels\":{\"a\":\"1\",\"b\":\"2\"},"              \
    "\"limits\":{\"cpu\":\"2\",\"memory\":\"1536Mi\"},\"named\":{\"k\":{\"name\":\"v\"}}}"
#endif
