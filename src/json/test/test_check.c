/* test_check.c - copies, comparison, defaults, limits and the CRD schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "thing.h"

static void decode(struct arena *a, const char *text, struct thing *t)
{
    struct kerr err = { 0 };

    if (kj_decode_text(&thing_schema, text, strlen(text), 0, a, t, &err) < 0)
        fail_msg("%s: %s", text, err.text);
}

static void assert_encodes(const struct kschema *s, const void *in, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    kj_encode(s, in, &b);
    assert_string_equal(strbuf_str(&b), expected);
}

/* ---- copy and compare ------------------------------------------------------------------------ */

static void test_copies_share_nothing(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new(), *b = arena_new();
    struct thing t, copy;

    (void)state;
    decode(a, THING_FULL, &t);
    kj_copy(&thing_schema, &t, b, &copy);
    a = arena_free(a); /* the sanitizer sees what still points there */
    assert_encodes(&thing_schema, &copy, THING_FULL);
}

static void test_odd_uids_are_copied(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new(), *b = arena_new();
    struct thing t, copy;
    char text[KUID_TEXT_MAX];

    (void)state;
    decode(a, "{\"uid\":\"static\"}", &t);
    kj_copy(&thing_schema, &t, b, &copy);
    a = arena_free(a);
    kuid_format(copy.uid, text, sizeof text);
    assert_string_equal(text, "static");
}

static void test_a_difference_anywhere_is_seen(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct thing t, u;
    struct str key;
    const struct kj_val *v;

    (void)state;
    decode(a, THING_FULL, &t);
    decode(a, THING_FULL, &u);
    assert_true(kj_struct_equal(&thing_schema, &t, &u));
    /* Without any one of its members it is another thing. */
    assert_int_equal(kj_parse(THING_FULL, sizeof THING_FULL - 1, 0, &doc, NULL), 0);
    struct kj_iter it = kj_iter(kj_root(doc));
    while (kj_next(&it, &key, &v)) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        struct kj_mval *o = kj_mcopy(d, kj_root(doc));
        assert_true(kj_mdel(o, key.p, key.n));
        kj_mwrite(o, 0, &b);
        decode(a, b.data, &u);
        if (kj_struct_equal(&thing_schema, &t, &u))
            fail_msg("%s makes no difference", key.p);
    }
}

static void test_equality_is_of_values(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct thing t, u, zero = { 0 };

    (void)state;
    decode(a, "{\"qty\":\"1000m\",\"limits\":{\"cpu\":\"1\"},\"port\":1}", &t);
    decode(a, "{\"qty\":\"1\",\"limits\":{\"cpu\":\"1000m\"},\"port\":1}", &u);
    assert_true(kj_struct_equal(&thing_schema, &t, &u));
    decode(a, "{}", &u);
    assert_true(kj_struct_equal(&thing_schema, &u, &zero)); /* "" and NULL are one */
    assert_false(kj_struct_equal(&thing_schema, &t, &zero));
    assert_false(kj_struct_equal(&thing_schema, &t, NULL));
}

/* ---- defaults and limits --------------------------------------------------------------------- */

struct limit {
    const char *policy, *mode;
    int32_t percent;
    struct opt_i64 burst;
    double ratio;
    struct qty room;
    bool on;
    struct opt_bool maybe;
    KLIST(const char *) tags;
};
struct limits {
    struct limit first, *second;
    KLIST(struct limit) more;
    KLIST(struct {
        const char *key;
        struct limit value;
    })
    named;
    const char *uid;
};

static const char *const policies[] = { "None", "Auto", NULL };
#define F(member, json, type, ...) KF(struct limit, member, json, type, __VA_ARGS__)
#define META(...)                 \
    .meta = &(const struct kmeta) \
    {                             \
        __VA_ARGS__               \
    }
static const struct kfield limit_fields[] = {
    F(policy, "policy", KF_STR, .flags = KF_OMITEMPTY, META(.names = policies, .def = "\"None\"")),
    F(mode, "mode", KF_STR, .flags = KF_OMITEMPTY | KF_REQUIRED),
    F(percent, "percent", KF_I32, .flags = KF_OMITEMPTY,
      META(.def = "50", .min = { true, 0 }, .max = { true, 100 }, .description = "how much")),
    F(burst, "burst", KF_OPT_I64, .flags = KF_OMITEMPTY, META(.min = { true, -1 })),
    F(ratio, "ratio", KF_F64, .flags = KF_OMITEMPTY, META(.max = { true, 1 })),
    F(room, "room", KF_QTY, .flags = KF_OMITEMPTY, META(.min = { true, 0 })),
    F(on, "on", KF_BOOL, .flags = KF_OMITEMPTY, META(.def = "true")),
    F(maybe, "maybe", KF_OPT_BOOL, .flags = KF_OMITEMPTY, META(.def = "true")),
    KF_LIST_OF(struct limit, tags, "tags", KF_STR, .flags = KF_OMITEMPTY,
               META(.names = policies, .def = "[\"Auto\"]", .list_type = "set")),
};
#undef F
static const struct kschema limit_schema = KSCHEMA("Limit", struct limit, limit_fields);
#define F(member, json, type, ...) KF(struct limits, member, json, type, __VA_ARGS__)
static const struct kfield limits_fields[] = {
    F(first, "first", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &limit_schema),
    F(second, "second", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR, .sub = &limit_schema),
    KF_LIST_OF(struct limits, more, "more", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &limit_schema,
               META(.list_key = "mode", .list_type = "map")),
    KF_MAP_OF(struct limits, named, "named", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &limit_schema),
    F(uid, "uid", KF_STR, .flags = KF_OMITEMPTY),
};
#undef F
static const struct kschema limits_schema = {
    .name = "Limits",
    .size = sizeof(struct limits),
    .nfields = ARRAY_LEN(limits_fields),
    .fields = limits_fields,
    .description = "limits of all kinds",
};

#define DEFAULTED "{\"policy\":\"None\",\"percent\":50,\"maybe\":true,\"tags\":[\"Auto\"]}"

static void test_defaults_reach_every_object(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const char text[] = "{\"more\":[{\"percent\":7,\"maybe\":false}],\"named\":{\"x\":{}}}";
    struct limits l;

    (void)state;
    assert_int_equal(kj_decode_text(&limits_schema, text, strlen(text), 0, a, &l, NULL), 0);
    kj_default(&limits_schema, a, &l);
    assert_encodes(&limits_schema, &l,
                   "{\"first\":" DEFAULTED ",\"more\":[{\"policy\":\"None\",\"percent\":7,"
                   "\"maybe\":false,\"tags\":[\"Auto\"]}],\"named\":{\"x\":" DEFAULTED "}}");
    assert_null(l.second); /* what is not there gets no defaults */
    assert_false(l.first.on);
}

static void assert_invalid(const char *text, const char *message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct limits l;
    struct kerr err = { 0 };

    assert_int_equal(kj_decode_text(&limits_schema, text, strlen(text), 0, a, &l, &err), 0);
    if (!message) {
        assert_int_equal(kj_validate(&limits_schema, &l, &err), 0);
        return;
    }
    assert_int_equal(kj_validate(&limits_schema, &l, &err), -EINVAL);
    assert_int_equal(kj_validate(&limits_schema, &l, NULL), -EINVAL);
    assert_int_equal(err.reason, KR_INVALID);
    assert_string_equal(err.text, message);
}

static void test_the_first_violation_is_named(void **state)
{
    (void)state;
    assert_invalid("{\"first\":{\"mode\":\"m\"}}", NULL);
    assert_invalid("{}", "first.mode: Required value");
    assert_invalid(
        "{\"first\":{\"mode\":\"m\",\"policy\":\"Maybe\"}}",
        "first.policy: Unsupported value: \"Maybe\": supported values: \"None\", \"Auto\"");
    assert_invalid("{\"first\":{\"mode\":\"m\",\"percent\":101}}",
                   "first.percent: Invalid value: 101: must be less than or equal to 100");
    assert_invalid("{\"first\":{\"mode\":\"m\"},\"second\":{\"mode\":\"m\",\"burst\":-2}}",
                   "second.burst: Invalid value: -2: must be greater than or equal to -1");
    assert_invalid("{\"first\":{\"mode\":\"m\",\"ratio\":1.5}}",
                   "first.ratio: Invalid value: 1.5: must be less than or equal to 1");
    assert_invalid("{\"first\":{\"mode\":\"m\",\"room\":\"-1\"}}",
                   "first.room: Invalid value: \"-1\": must be greater than or equal to 0");
    assert_invalid("{\"first\":{\"mode\":\"m\"},\"more\":[{\"mode\":\"m\"},{}]}",
                   "more[1].mode: Required value");
    assert_invalid(
        "{\"first\":{\"mode\":\"m\"},\"named\":{\"a\":{\"mode\":\"m\",\"tags\":"
        "[\"None\",\"x\"]}}}",
        "named[a].tags[1]: Unsupported value: \"x\": supported values: \"None\", \"Auto\"");
}

/* ---- the CRD schema -------------------------------------------------------------------------- */

static void assert_openapi(const struct kschema *s, const char *path, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, part = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    kj_openapi(s, &b);
    assert_int_equal(kj_parse(b.data, b.len, 0, &doc, NULL), 0);
    kj_write(*path ? kj_path(kj_root(doc), path) : kj_root(doc), 0, &part);
    assert_string_equal(part.data, expected);
}

static void test_openapi_of_limits(void **state)
{
    (void)state;
    assert_openapi(&limits_schema, "description", "\"limits of all kinds\"");
    assert_openapi(&limits_schema, "type", "\"object\"");
    assert_openapi(&limits_schema, "properties.first.properties.percent",
                   "{\"default\":50,\"description\":\"how much\",\"format\":\"int32\","
                   "\"maximum\":100,\"minimum\":0,\"type\":\"integer\"}");
    assert_openapi(&limits_schema, "properties.first.properties.policy",
                   "{\"default\":\"None\",\"enum\":[\"None\",\"Auto\"],\"type\":\"string\"}");
    assert_openapi(&limits_schema, "properties.first.required", "[\"mode\"]");
    assert_openapi(&limits_schema, "properties.second.properties.burst",
                   "{\"format\":\"int64\",\"minimum\":-1,\"type\":\"integer\"}");
    assert_openapi(&limits_schema, "properties.first.properties.tags",
                   "{\"default\":[\"Auto\"],\"items\":{\"enum\":[\"None\",\"Auto\"],"
                   "\"type\":\"string\"},\"type\":\"array\",\"x-kubernetes-list-type\":\"set\"}");
    assert_openapi(&limits_schema, "properties.more.x-kubernetes-list-map-keys", "[\"mode\"]");
    assert_openapi(&limits_schema, "properties.more.items.type", "\"object\"");
    assert_openapi(&limits_schema, "properties.named.additionalProperties.required", "[\"mode\"]");
}

static void test_openapi_of_every_type(void **state)
{
    static const char *const cases[][2] = {
        { "innerA", "{\"format\":\"int32\",\"type\":\"integer\"}" }, /* inline, two levels */
        { "kind", "{\"type\":\"string\"}" },
        { "on", "{\"type\":\"boolean\"}" },
        { "i64", "{\"format\":\"int64\",\"type\":\"integer\"}" },
        { "f64", "{\"type\":\"number\"}" },
        { "time", "{\"format\":\"date-time\",\"type\":\"string\"}" },
        { "dur", "{\"type\":\"string\"}" },
        { "mode", "{\"enum\":[\"Fast\",\"Slow\"],\"type\":\"string\"}" },
        { "port", "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],"
                  "\"x-kubernetes-int-or-string\":true}" },
        { "uid", "{\"type\":\"string\"}" },
        { "raw", "{\"x-kubernetes-preserve-unknown-fields\":true}" },
        { "numbers", "{\"items\":{\"format\":\"int64\",\"type\":\"integer\"},\"type\":\"array\"}" },
        { "labels", "{\"additionalProperties\":{\"type\":\"string\"},\"type\":\"object\"}" },
    };
    char path[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)snprintf(path, sizeof path, "properties.%s", cases[i][0]);
        assert_openapi(&thing_schema, path, cases[i][1]);
    }
    assert_openapi(&thing_schema, "properties.qty.x-kubernetes-int-or-string", "true");
    assert_openapi(&thing_schema, "properties.limits.additionalProperties.pattern",
                   "\"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
                   "([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$\"");
}

static void test_openapi_leaves_metadata_to_the_server(void **state)
{
    struct root {
        struct type_meta metadata;
        struct int_or_str any;
    };
    static const struct kfield bare_fields[] = { KF(struct int_or_str, s, "", KF_INT_OR_STR) };
    static const struct kschema bare = { .name = "IntOrString",
                                         .size = sizeof(struct int_or_str),
                                         .nfields = 1,
                                         .fields = bare_fields,
                                         .bare = true };
    static const struct kfield fields[] = {
        KF(struct root, metadata, "metadata", KF_OBJ, .sub = &type_meta_schema),
        KF(struct root, any, "any", KF_OBJ, .sub = &bare),
    };
    static const struct kschema schema = KSCHEMA("Root", struct root, fields);

    (void)state;
    assert_openapi(&schema, "",
                   "{\"properties\":{\"metadata\":{\"type\":\"object\"},\"any\":{\"anyOf\":["
                   "{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-kubernetes-int-or-string\":"
                   "true}},\"type\":\"object\"}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_share_nothing),
        cmocka_unit_test(test_odd_uids_are_copied),
        cmocka_unit_test(test_a_difference_anywhere_is_seen),
        cmocka_unit_test(test_equality_is_of_values),
        cmocka_unit_test(test_defaults_reach_every_object),
        cmocka_unit_test(test_the_first_violation_is_named),
        cmocka_unit_test(test_openapi_of_limits),
        cmocka_unit_test(test_openapi_of_every_type),
        cmocka_unit_test(test_openapi_leaves_metadata_to_the_server),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
