/* test_overlay.c - one struct laid over another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "thing.h"

static void decode(struct arena *a, const char *text, struct thing *t)
{
    struct kerr err = { 0 };

    if (kj_decode_text(&thing_schema, text, strlen(text), 0, a, t, &err) < 0)
        fail_msg("%s: %s", text, err.text);
}

/* The inputs are gone before the result is looked at: it shares nothing with them. */
static void assert_overlay(const char *base, const char *over, const char *expected)
{
    CLEANUP(arena_free) struct arena *in = arena_new(), *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct thing below, above, out;

    decode(in, base, &below);
    decode(in, over, &above);
    kj_overlay(&thing_schema, &below, &above, a, &out);
    in = arena_free(in);
    kj_encode(&thing_schema, &out, &b);
    assert_string_equal(strbuf_str(&b), expected);
}

static void test_absent_keeps_and_present_replaces(void **state)
{
    (void)state;
    assert_overlay(THING_FULL, "{\"main\":{\"name\":\"m\"}}", THING_FULL);
    assert_overlay("{}", THING_FULL, THING_FULL);
    assert_overlay("{\"name\":\"a\",\"oi64\":5,\"maybe\":true,\"f64\":1.5}",
                   "{\"oi64\":0,\"maybe\":false}",
                   "{\"name\":\"a\",\"maybe\":false,\"oi64\":0,\"f64\":1.5,"
                   "\"main\":{\"name\":\"\"}}");
    assert_overlay("{\"note\":\"a\",\"qty\":\"5\"}", "{\"note\":\"\",\"qty\":null}",
                   "{\"note\":\"\",\"qty\":\"5\",\"main\":{\"name\":\"\"}}");
}

static void test_inline_fields_count_like_the_others(void **state)
{
    (void)state;
    assert_overlay("{\"kind\":\"A\",\"innerA\":1}", "{\"innerB\":2}",
                   "{\"kind\":\"A\",\"innerA\":1,\"innerB\":2,\"main\":{\"name\":\"\"}}");
}

static void test_objects_merge_field_by_field(void **state)
{
    (void)state;
    assert_overlay("{\"extra\":{\"name\":\"a\",\"image\":\"i\"}}",
                   "{\"extra\":{\"name\":\"b\",\"n\":1}}",
                   "{\"main\":{\"name\":\"\"},\"extra\":{\"name\":\"b\",\"image\":\"i\",\"n\":1}}");
    assert_overlay("{}", "{\"extra\":{\"name\":\"b\"}}",
                   "{\"main\":{\"name\":\"\"},\"extra\":{\"name\":\"b\"}}");
}

/* A field without KF_OMITEMPTY is always written, and so always replaces: part.name here, the
 * total network bandwidth of a system strategy in the product. */
static void test_what_is_always_written_erases(void **state)
{
    (void)state;
    assert_overlay("{\"main\":{\"name\":\"a\",\"image\":\"i\"}}", "{\"main\":{\"n\":1}}",
                   "{\"main\":{\"name\":\"\",\"image\":\"i\",\"n\":1}}");
}

static void test_maps_unite_and_their_values_are_replaced_whole(void **state)
{
    (void)state;
    assert_overlay("{\"labels\":{\"b\":\"1\",\"d\":\"1\"}}",
                   "{\"labels\":{\"a\":\"2\",\"b\":\"2\",\"e\":\"2\"}}",
                   "{\"main\":{\"name\":\"\"},\"labels\":{\"a\":\"2\",\"b\":\"2\",\"d\":\"1\","
                   "\"e\":\"2\"}}");
    assert_overlay("{\"named\":{\"k\":{\"name\":\"a\",\"image\":\"i\"}}}",
                   "{\"named\":{\"k\":{\"name\":\"b\"}}}",
                   "{\"main\":{\"name\":\"\"},\"named\":{\"k\":{\"name\":\"b\"}}}");
}

static void test_lists_have_the_length_of_the_one_above(void **state)
{
    (void)state;
    assert_overlay("{\"numbers\":[1,2,3]}", "{\"numbers\":[9]}",
                   "{\"main\":{\"name\":\"\"},\"numbers\":[9]}");
    assert_overlay("{\"parts\":[{\"name\":\"a\",\"image\":\"i\"},{\"name\":\"b\"}]}",
                   "{\"parts\":[{\"name\":\"c\",\"n\":1}]}",
                   "{\"main\":{\"name\":\"\"},\"parts\":[{\"name\":\"c\",\"image\":\"i\","
                   "\"n\":1}]}");
    assert_overlay("{\"parts\":[{\"name\":\"a\"}]}",
                   "{\"parts\":[{\"name\":\"c\"},{\"name\":\"d\"}]}",
                   "{\"main\":{\"name\":\"\"},\"parts\":[{\"name\":\"c\"},{\"name\":\"d\"}]}");
}

static void test_the_result_may_be_the_base(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct thing t, over;

    (void)state;
    decode(a, "{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}", &t);
    decode(a, "{\"labels\":{\"y\":\"2\"}}", &over);
    kj_overlay(&thing_schema, &t, &over, a, &t);
    assert_string_equal(t.name, "a");
    assert_int_equal(t.labels.n, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent_keeps_and_present_replaces),
        cmocka_unit_test(test_inline_fields_count_like_the_others),
        cmocka_unit_test(test_objects_merge_field_by_field),
        cmocka_unit_test(test_what_is_always_written_erases),
        cmocka_unit_test(test_maps_unite_and_their_values_are_replaced_whole),
        cmocka_unit_test(test_lists_have_the_length_of_the_one_above),
        cmocka_unit_test(test_the_result_may_be_the_base),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
