/* test_kjw.c - the token writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/kj.h"

static void test_commas_and_nesting(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    (void)state;
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Lease");
    kjw_arr(&w, "list");
    kjw_i64(&w, NULL, INT64_MIN);
    kjw_obj(&w, NULL);
    kjw_end(&w);
    kjw_arr(&w, NULL);
    kjw_end(&w);
    kjw_f64(&w, NULL, 0.25);
    kjw_end(&w);
    kjw_bool(&w, "t", true);
    kjw_null(&w, "n");
    kjw_raw(&w, "r", "{\"x\":1}", 7);
    kjw_time(&w, "at", INT64_C(1763200000) * NSEC_PER_SEC + 999);
    kjw_end(&w);
    assert_string_equal(b.data, "{\"kind\":\"Lease\",\"list\":[-9223372036854775808,{},[],0.25],"
                                "\"t\":true,\"n\":null,\"r\":{\"x\":1},"
                                "\"at\":\"2025-11-15T09:46:40Z\"}");
}

static void test_values_that_json_cannot_hold(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    (void)state;
    kjw_arr(&w, NULL);
    kjw_f64(&w, NULL, 0.0 / 0.0);
    kjw_f64(&w, NULL, 1.0 / 0.0);
    kjw_str(&w, NULL, NULL);
    kjw_strn(&w, NULL, "\xFE", 1);
    kjw_end(&w);
    assert_string_equal(b.data, "[null,null,null,\"\xEF\xBF\xBD\"]");
}

static void test_sixty_four_levels(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kjw w = kjw_to(&b);

    (void)state;
    for (int i = 0; i < 64; i++) {
        if (i % 2)
            kjw_arr(&w, "k");
        else
            kjw_obj(&w, NULL);
    }
    for (int i = 0; i < 64; i++)
        kjw_end(&w);
    assert_int_equal(kj_parse(b.data, b.len, 0, &doc, NULL), 0);
}

static void test_keys_are_escaped(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    (void)state;
    kjw_obj(&w, NULL);
    kjw_i64(&w, "a\"b\n", 1);
    kjw_end(&w);
    assert_string_equal(b.data, "{\"a\\\"b\\n\":1}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_and_nesting),
        cmocka_unit_test(test_values_that_json_cannot_hold),
        cmocka_unit_test(test_sixty_four_levels),
        cmocka_unit_test(test_keys_are_escaped),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
