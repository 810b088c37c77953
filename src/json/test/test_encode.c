/* test_encode.c - structs to JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "thing.h"

static void assert_encodes(const struct kschema *s, const void *in, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    kj_encode(s, in, &b);
    assert_string_equal(strbuf_str(&b), expected);
    assert_int_equal(kj_parse(b.data, b.len, 0, &doc, NULL), 0);
}

static void test_decode_and_encode_are_inverse(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct thing t;

    (void)state;
    assert_int_equal(
        kj_decode_text(&thing_schema, THING_FULL, sizeof THING_FULL - 1, 0, a, &t, NULL), 0);
    assert_encodes(&thing_schema, &t, THING_FULL);
}

static void test_empty_is_left_out(void **state)
{
    struct thing t = { 0 }; /* NULL strings are "" */

    (void)state;
    assert_encodes(&thing_schema, &t,
                   "{\"main\":{\"name\":\"\"}}"); /* name there is not omitempty */
    t.main.name = "m";
    t.oi32.set = true;
    t.maybe.set = true;
    t.note = "";
    assert_encodes(&thing_schema, &t,
                   "{\"note\":\"\",\"maybe\":false,\"oi32\":0,\"main\":{\"name\":\"m\"}}");
}

static void test_without_omitempty_as_go_writes(void **state)
{
    struct plain {
        const char *s, *os, *raw;
        bool b;
        struct opt_bool ob;
        int64_t i;
        struct opt_i64 oi;
        double f;
        struct qty q;
        const struct qty *oq;
        nsec_t t, d;
        struct opt_i64 od;
        uint8_t e;
        struct int_or_str is;
        struct kuid u;
        struct part *p;
        KLIST(const char *) l;
        KLIST(struct {
            const char *key;
            const char *value;
        })
        m;
    } p = { .f = 1.0 / 0.0 };
#define F(member, type, ...) KF(struct plain, member, #member, type, __VA_ARGS__)
    static const struct kfield fields[] = {
        F(s, KF_STR),
        F(os, KF_OPT_STR),
        F(raw, KF_RAW),
        F(b, KF_BOOL),
        F(ob, KF_OPT_BOOL),
        F(i, KF_I64),
        F(oi, KF_OPT_I64),
        F(f, KF_F64),
        F(q, KF_QTY),
        F(oq, KF_OPT_QTY),
        F(t, KF_TIME),
        F(d, KF_DUR),
        F(od, KF_OPT_DUR),
        F(e, KF_ENUM, .meta = &mode_meta),
        F(is, KF_INT_OR_STR),
        F(u, KF_UID),
        F(p, KF_OBJ, .flags = KF_PTR, .sub = &part_schema),
        KF_LIST_OF(struct plain, l, "l", KF_STR),
        KF_MAP_OF(struct plain, m, "m", KF_STR),
    };
#undef F
    static const struct kschema schema = KSCHEMA("Plain", struct plain, fields);

    (void)state;
    assert_encodes(&schema, &p,
                   "{\"s\":\"\",\"os\":null,\"raw\":null,\"b\":false,\"ob\":null,\"i\":0,"
                   "\"oi\":null,\"f\":null,\"q\":\"0\",\"oq\":null,\"t\":null,\"d\":\"0s\","
                   "\"od\":null,\"e\":\"\",\"is\":0,\"u\":\"\",\"p\":null,\"l\":[],\"m\":{}}");
}

static void test_objects_by_value_vanish_when_empty(void **state)
{
    struct outer {
        struct inner in;
        int32_t after;
    } o = { .after = 1 };
    static const struct kfield fields[] = {
        KF(struct outer, in, "in", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &inner_schema),
        KF(struct outer, after, "after", KF_I32, .flags = KF_OMITEMPTY),
    };
    static const struct kschema schema = KSCHEMA("Outer", struct outer, fields);

    (void)state;
    assert_encodes(&schema, &o, "{\"after\":1}");
    o.in.b = 2;
    assert_encodes(&schema, &o, "{\"in\":{\"innerB\":2},\"after\":1}");
}

static void test_texts_are_escaped(void **state)
{
    struct thing t = { .name = "a\"\\\x01\xFF", .main.name = "m" };

    (void)state;
    assert_encodes(&thing_schema, &t,
                   "{\"name\":\"a\\\"\\\\\\u0001\xEF\xBF\xBD\",\"main\":{\"name\":\"m\"}}");
}

static void test_an_unknown_mode_is_empty(void **state)
{
    struct thing t = { .mode = 200, .main.name = "m" };

    (void)state;
    assert_encodes(&thing_schema, &t, "{\"mode\":\"\",\"main\":{\"name\":\"m\"}}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_and_encode_are_inverse),
        cmocka_unit_test(test_empty_is_left_out),
        cmocka_unit_test(test_without_omitempty_as_go_writes),
        cmocka_unit_test(test_objects_by_value_vanish_when_empty),
        cmocka_unit_test(test_texts_are_escaped),
        cmocka_unit_test(test_an_unknown_mode_is_empty),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
