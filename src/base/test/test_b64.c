/* test_b64.c - base64 as Go's StdEncoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/b64.h"

static void test_rfc4648_vectors_both_ways(void **state)
{
    static const char *const pairs[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        CLEANUP(strbuf_fini) struct strbuf enc = STRBUF_INIT, dec = STRBUF_INIT;
        b64_encode(pairs[i][0], strlen(pairs[i][0]), &enc);
        assert_string_equal(strbuf_str(&enc), pairs[i][1]);
        assert_int_equal(b64_decode(pairs[i][1], strlen(pairs[i][1]), &dec), 0);
        assert_string_equal(strbuf_str(&dec), pairs[i][0]);
    }
}

static void test_bad_text_is_refused(void **state)
{
    static const char *const bad[] = { "Z",     "Zg",   "Zg=",      "Zg===", "=",
                                       "Zm9v=", "Zm 9", "Zg==Zg==", "Z-==",  "Zm8==" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        if (b64_decode(bad[i], strlen(bad[i]), &out) != -EINVAL)
            fail_msg("'%s' was taken", bad[i]);
    }
}

static void test_line_breaks_are_ignored(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    (void)state;
    assert_int_equal(b64_decode("Zm9v\r\nYmFy\n", 11, &out), 0);
    assert_string_equal(strbuf_str(&out), "foobar");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc4648_vectors_both_ways),
        cmocka_unit_test(test_bad_text_is_refused),
        cmocka_unit_test(test_line_breaks_are_ignored),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
