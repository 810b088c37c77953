/* test_decode.c - structs from JSON, into an arena. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ktime.h"
#include "base/test/asserts.h"
#include "thing.h"

struct fixture {
    struct arena *a;
    struct thing t;
    struct kerr err;
};

static int setup(void **state)
{
    struct fixture *b = xnew0(struct fixture);
    b->a = arena_new();
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *b = *state;
    arena_free(b->a);
    free(b);
    return 0;
}

static void decode(struct fixture *b, const char *text)
{
    if (kj_decode_text(&thing_schema, text, strlen(text), 0, b->a, &b->t, &b->err) < 0)
        fail_msg("%s: %s", text, b->err.text);
}

static void assert_refused(struct fixture *b, unsigned flags, const char *text, const char *message)
{
    memset(&b->err, 0, sizeof b->err);
    if (kj_decode_text(&thing_schema, text, strlen(text), flags, b->a, &b->t, &b->err) != -EINVAL)
        fail_msg("accepted: %s", text);
    assert_string_equal(b->err.text, message);
}

static void test_every_type_arrives(void **state)
{
    struct fixture *b = *state;
    struct thing *t = &b->t;

    decode(b, THING_FULL);
    assert_string_equal(t->meta.kind, "Thing");
    assert_int_equal(t->meta.deep.a, -1);
    assert_string_equal(t->name, "t\n");
    assert_string_equal(t->note, "");
    assert_true(t->on && t->maybe.set && !t->maybe.v);
    assert_int_equal(t->i32, INT32_MIN);
    assert_true(t->oi32.set);
    assert_that(t->oi32.v, ==, 0);
    assert_that(t->i64, ==, INT64_MAX);
    assert_that(t->oi64.v, ==, -5);
    assert_that(t->f64, ==, 0.1);
    assert_true(t->of64.set);
    assert_int_equal(qty_milli(t->qty), 100);
    assert_int_equal(qty_value(*t->oqty), 1 << 30);
    assert_int_equal(t->micro - t->time, 123456000);
    assert_int_equal(t->dur, 90 * NSEC_PER_SEC);
    assert_true(t->odur.set);
    assert_that(t->odur.v, ==, 0);
    assert_int_equal(t->mode, 2);
    assert_string_equal(t->port.s, "http");
    assert_string_equal(t->raw, "{\"x\":[1,null]}");
    assert_string_equal(t->main.args.items[1], "b");
    assert_string_equal(t->extra->name, "e");
    assert_string_equal(t->parts.items[1].name, "p2");
    assert_int_equal(t->numbers.items[1], -2);
    assert_string_equal(t->labels.items[1].key, "b");
    assert_int_equal(qty_value(t->limits.items[1].value), 1536 << 20);
    assert_string_equal(t->named.items[0].value.name, "v");
}

static void test_absent_and_null_are_the_same(void **state)
{
    static const char nulls[] =
        "{\"name\":null,\"note\":null,\"on\":null,\"oi64\":null,\"qty\":null,\"oqty\":null,"
        "\"time\":null,\"mode\":null,\"port\":null,\"uid\":null,\"raw\":null,\"main\":null,"
        "\"extra\":null,\"parts\":null,\"labels\":null,\"kind\":null}";
    struct fixture *b = *state;
    const char *texts[] = { "{}", nulls };

    for (size_t i = 0; i < 2; i++) {
        struct thing *t = &b->t;
        decode(b, texts[i]);
        /* Plain strings are never NULL, also inside objects by value and inline ones. */
        assert_string_equal(t->name, "");
        assert_string_equal(t->meta.kind, "");
        assert_string_equal(t->main.name, "");
        assert_null(t->note);
        assert_null(t->extra);
        assert_null(t->raw);
        assert_null(t->oqty);
        assert_true(!t->oi64.set);
        assert_that(t->time, ==, 0);
        assert_that(t->mode, ==, 0);
        assert_that(t->parts.n, ==, 0);
        assert_true(kuid_is_empty(t->uid));
        assert_true(!t->port.s);
        assert_null(t->labels.items);
    }
    decode(b, "{\"parts\":[null,{}],\"labels\":{\"a\":null},\"named\":{\"x\":null}}");
    assert_string_equal(b->t.parts.items[0].name, "");
    assert_string_equal(b->t.labels.items[0].value, "");
    assert_string_equal(b->t.named.items[0].value.image, "");
}

static void test_field_order_does_not_matter(void **state)
{
    struct fixture *b = *state;

    decode(b, "{\"unknown\":{\"deep\":[1,2,{}]},\"limits\":{\"cpu\":1},\"name\":\"n\",\"innerB\":7,"
              "\"i64\":3,\"other\":[],\"on\":true,\"apiVersion\":\"v2\",\"kind\":\"K\"}");
    assert_string_equal(b->t.name, "n");
    assert_string_equal(b->t.meta.kind, "K");
    assert_string_equal(b->t.meta.version, "v2");
    assert_int_equal(b->t.meta.deep.b, 7);
    assert_int_equal(b->t.i64, 3);
    assert_int_equal(qty_value(b->t.limits.items[0].value), 1);
    /* Names match exactly: no case, no prefix. */
    decode(b, "{\"Name\":\"x\",\"nam\":\"x\",\"name2\":\"x\",\"\":\"x\"}");
    assert_string_equal(b->t.name, "");
}

static void test_wrong_types_name_the_path(void **state)
{
    static const char *const cases[][2] = {
        { "[]", "Thing: expected an object, got an array" },
        { "null", "Thing: expected an object, got null" },
        { "{\"name\":5}", "name: expected a string, got a number" },
        { "{\"on\":\"yes\"}", "on: expected a boolean, got a string" },
        { "{\"i64\":\"5\"}", "i64: expected a whole number, got a string" },
        { "{\"i64\":1.5}", "i64: 1.5 is not a whole number" },
        { "{\"i32\":2147483648}", "i32: 2147483648 is out of range" },
        { "{\"oi64\":9223372036854775808}", "oi64: 9223372036854775808 is out of range" },
        { "{\"f64\":true}", "f64: expected a number, got a boolean" },
        { "{\"port\":{}}", "port: expected a whole number or a string, got an object" },
        { "{\"port\":1.5}", "port: 1.5 is not a whole number" },
        { "{\"uid\":1}", "uid: expected a string, got a number" },
        { "{\"mode\":1}", "mode: expected a string, got a number" },
        { "{\"main\":[]}", "main: expected an object, got an array" },
        { "{\"extra\":\"x\"}", "extra: expected an object, got a string" },
        { "{\"parts\":{}}", "parts: expected an array, got an object" },
        { "{\"labels\":[]}", "labels: expected an object, got an array" },
        { "{\"parts\":[{},{},{\"image\":5}]}", "parts[2].image: expected a string, got a number" },
        { "{\"parts\":[{\"args\":[\"a\",{}]}]}",
          "parts[0].args[1]: expected a string, got an object" },
        { "{\"labels\":{\"a\":{}}}", "labels[a]: expected a string, got an object" },
        { "{\"named\":{\"z\":{},\"k\":{\"n\":\"\"}}}",
          "named[k].n: expected a whole number, got a string" },
        { "{\"innerA\":\"x\"}", "innerA: expected a whole number, got a string" },
    };
    struct fixture *b = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(b, 0, cases[i][0], cases[i][1]);
}

static void test_texts_inside_are_checked(void **state)
{
    static const char *const cases[][2] = {
        { "{\"limits\":{\"cpu\":\"abc\"}}", "limits[cpu]: " },
        { "{\"limits\":{\"cpu\":[]}}", "limits[cpu]: expected a quantity, got an array" },
        { "{\"time\":\"yesterday\"}", "time: " },
        { "{\"time\":5}", "time: expected a time, got a number" },
        { "{\"dur\":\"5 parsecs\"}", "dur: " },
        { "{\"dur\":5}", "dur: expected a duration, got a number" },
        { "{\"qty\":true}", "qty: expected a quantity, got a boolean" },
    };
    struct fixture *b = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *text = cases[i][0];
        assert_int_equal(kj_decode_text(&thing_schema, text, strlen(text), 0, b->a, &b->t, &b->err),
                         -EINVAL);
        assert_int_equal(strncmp(b->err.text, cases[i][1], strlen(cases[i][1])), 0);
    }
    assert_int_equal(kj_decode_text(&thing_schema, "{\"a\"", 4, 0, b->a, &b->t, &b->err), -EINVAL);
    assert_contains(b->err.text, "line 1");
    assert_int_equal(kj_decode(&thing_schema, NULL, 0, b->a, &b->t, &b->err), -EINVAL);
}

static void test_long_paths_keep_their_end(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture *b = *state;

    strbuf_append(&text, "{\"labels\":{\"");
    for (int i = 0; i < 60; i++)
        strbuf_append(&text, "loooooong/");
    strbuf_append(&text, "\":1}}");
    assert_refused(b, 0, text.data, "...]: expected a string, got a number");
}

static void test_strict_refuses_unknown_and_duplicate_fields(void **state)
{
    struct fixture *b = *state;

    assert_refused(b, KJ_STRICT, "{\"nam\":1}", "nam: unknown field");
    assert_refused(b, KJ_STRICT, "{\"parts\":[{\"name\":\"a\"},{\"x\":1}]}",
                   "parts[1].x: unknown field");
    assert_refused(b, KJ_STRICT, "{\"name\":\"a\",\"name\":\"b\"}", "name: duplicate field");
    assert_refused(b, KJ_STRICT, "{\"name\":null,\"name\":\"b\"}", "name: duplicate field");
    assert_refused(b, KJ_STRICT, "{\"innerA\":1,\"innerA\":1}", "innerA: duplicate field");
    assert_refused(b, KJ_STRICT, "{\"mode\":\"Warp\"}", "mode: unsupported value \"Warp\"");
    assert_int_equal(kj_decode_text(&thing_schema, THING_FULL, sizeof THING_FULL - 1, KJ_STRICT,
                                    b->a, &b->t, &b->err),
                     0);
    assert_int_equal(
        kj_decode_text(&thing_schema, "{\"main\":null}", 13, KJ_STRICT, b->a, &b->t, &b->err), 0);
    assert_string_equal(b->t.main.name, "");
    decode(b, "{\"mode\":\"Warp\"}");
    assert_int_equal(b->t.mode, 0);
}

static void test_any_case_is_for_annotations(void **state)
{
    static const char text[] = "{\"NAME\":\"a\",\"INNERa\":3,\"Name\":\"b\",\"namE2\":1}";
    struct fixture *b = *state;

    assert_int_equal(
        kj_decode_text(&thing_schema, text, strlen(text), KJ_ANY_CASE, b->a, &b->t, &b->err), 0);
    assert_string_equal(b->t.name, "b");
    assert_int_equal(b->t.meta.deep.a, 3);
}

static void test_the_last_duplicate_leaves_no_trace_of_the_first(void **state)
{
    struct fixture *b = *state;

    decode(b, "{\"main\":{\"name\":\"a\",\"image\":\"x\"},\"numbers\":[1,2,3],\"oi64\":1,"
              "\"main\":{\"name\":\"b\"},\"numbers\":[4],\"oi64\":2,\"innerA\":1,\"innerA\":2}");
    assert_string_equal(b->t.main.name, "b");
    assert_string_equal(b->t.main.image, "");
    assert_int_equal(b->t.numbers.n, 1);
    assert_int_equal(b->t.oi64.v, 2);
    assert_int_equal(b->t.meta.deep.a, 2);
}

static void test_maps_are_sorted_and_unique(void **state)
{
    struct fixture *b = *state;

    decode(b, "{\"labels\":{\"b\":\"1\",\"bulky\":\"x\",\"a\":\"2\",\"b\":\"3\",\"ab\":\"4\"}}");
    assert_int_equal(b->t.labels.n, 3);
    assert_string_equal(b->t.labels.items[0].key, "a");
    assert_string_equal(b->t.labels.items[1].key, "ab");
    assert_string_equal(b->t.labels.items[2].key, "b");
    assert_string_equal(b->t.labels.items[2].value, "3");
    decode(b, "{\"labels\":{\"a\":\"1\",\"bulky\":\"x\",\"noisy\":\"x\",\"z\":\"2\"}}");
    assert_int_equal(b->t.labels.n, 2);
    assert_string_equal(b->t.labels.items[1].key, "z");
}

static void test_quantities_and_ports_take_numbers(void **state)
{
    struct fixture *b = *state;

    decode(b, "{\"qty\":\" 250m \",\"limits\":{\"cpu\":\"  2\"}}"); /* as Go trims */
    assert_int_equal(qty_milli(b->t.qty), 250);
    assert_int_equal(qty_value(b->t.limits.items[0].value), 2);
    decode(b, "{\"qty\":1.5,\"oqty\":3,\"port\":8080,\"limits\":{\"cpu\":2}}");
    assert_int_equal(qty_milli(b->t.qty), 1500);
    assert_int_equal(qty_value(*b->t.oqty), 3);
    assert_null(b->t.port.s);
    assert_int_equal(b->t.port.i, 8080);
}

static void test_times_beyond_the_clock_are_clamped(void **state)
{
    struct fixture *b = *state;

    decode(b, "{\"time\":\"0001-01-01T00:00:00Z\",\"micro\":\"9999-12-31T23:59:59Z\"}");
    assert_int_equal(b->t.time, 0);
    assert_that(b->t.micro, ==, NSEC_MAX);
}

static void test_uids(void **state)
{
    struct fixture *b = *state;
    char text[KUID_TEXT_MAX];
    static const char *const uids[] = {
        "3f2c1a00-1111-4222-8333-abcdefabcdef", /* 16 bytes */
        "3F2C1A00-1111-4222-8333-ABCDEFABCDEF", /* its spelling must survive */
        "3f2c1a00-1111-4222-0333-abcdefabcdef", /* no RFC variant */
        "3f2c1a00-1111-4222-8333-abcdefabcdeg", "3f2c1a00x1111-4222-8333-abcdefabcdef",
        "d8e8fca2dc0f896fd7cb4cb0031ba249",     "x"
    };

    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
        strbuf_appendf(&doc, "{\"uid\":\"%s\"}", uids[i]);
        decode(b, doc.data);
        assert_int_equal(kuid_format(b->t.uid, text, sizeof text), strlen(uids[i]));
        assert_string_equal(text, uids[i]);
        struct kuid other = kuid_parse(uids[i], strlen(uids[i]));
        assert_true(kuid_equal(b->t.uid, other));
        assert_that(kuid_hash(b->t.uid), ==, kuid_hash(other));
        assert_false(kuid_equal(b->t.uid, kuid_parse("y", 1)));
        assert_false(kuid_is_empty(b->t.uid));
    }
    assert_int_equal(kuid_format((struct kuid){ 0, 0 }, text, sizeof text), 0);
    assert_true(kuid_equal(kuid_parse("", 0), (struct kuid){ 0, 0 }));
    assert_int_equal(kuid_format(kuid_parse(uids[0], 36), text, 9), 8);
    assert_string_equal(text, "3f2c1a00");
    CLEANUP(strbuf_fini) struct strbuf lengthy = STRBUF_INIT;
    strbuf_appendf(&lengthy, "{\"uid\":\"%0129d\"}", 0);
    assert_refused(b, 0, lengthy.data, "uid: the UID is longer than 128 bytes");
}

static void test_small_texts_cannot_ask_for_gigabytes(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture *b = *state;
    struct fat {
        KLIST(struct { char room[60000]; }) items;
    } fat;
    static const struct kschema none = { .name = "None", .size = 60000 };
    static const struct kfield fields[] = {
        KF_LIST_OF(struct fat, items, "items", KF_OBJ, .sub = &none),
    };
    static const struct kschema schema = KSCHEMA("Fat", struct fat, fields);

    strbuf_append(&text, "{\"items\":[");
    for (int i = 0; i < 5000; i++)
        strbuf_append(&text, i ? ",{}" : "{}");
    strbuf_append(&text, "]}");
    assert_int_equal(kj_decode_text(&schema, text.data, text.len, 0, b->a, &fat, &b->err), -E2BIG);
    assert_contains(b->err.text, "items: the object is too large");
}

static void test_a_bare_schema_is_the_value_itself(void **state)
{
    struct bare {
        KLIST(const char *) names;
    } out;
    static const struct kfield fields[] = { KF_LIST_OF(struct bare, names, "", KF_STR) };
    static const struct kschema schema = {
        .name = "Names", .size = sizeof out, .nfields = 1, .fields = fields, .bare = true
    };
    struct fixture *b = *state;

    assert_int_equal(kj_decode_text(&schema, "[\"a\",null]", 10, 0, b->a, &out, &b->err), 0);
    assert_int_equal(out.names.n, 2);
    assert_string_equal(out.names.items[1], "");
    assert_int_equal(kj_decode_text(&schema, "null", 4, 0, b->a, &out, &b->err), 0);
    assert_int_equal(out.names.n, 0);
    assert_int_equal(kj_decode_text(&schema, "{}", 2, 0, b->a, &out, &b->err), -EINVAL);
    assert_string_equal(b->err.text, "Names: expected an array, got an object");
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_every_type_arrives),
        T(test_absent_and_null_are_the_same),
        T(test_field_order_does_not_matter),
        T(test_wrong_types_name_the_path),
        T(test_texts_inside_are_checked),
        T(test_long_paths_keep_their_end),
        T(test_strict_refuses_unknown_and_duplicate_fields),
        T(test_any_case_is_for_annotations),
        T(test_the_last_duplicate_leaves_no_trace_of_the_first),
        T(test_maps_are_sorted_and_unique),
        T(test_quantities_and_ports_take_numbers),
        T(test_times_beyond_the_clock_are_clamped),
        T(test_uids),
        T(test_small_texts_cannot_ask_for_gigabytes),
        T(test_a_bare_schema_is_the_value_itself),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
