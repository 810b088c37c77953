/* test_kerr.c - errors say what failed, and what for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test/asserts.h"

static void test_set_fills_code_and_text(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kerr_set(&err, -ENOENT, "open %s", "x"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_int_equal(err.reason, KR_NONE);
    assert_string_equal(err.text, "open x");
    assert_int_equal(kerr_api(&err, -EEXIST, KR_ALREADY_EXISTS, "pods %s", "web"), -EEXIST);
    assert_int_equal(err.reason, KR_ALREADY_EXISTS);
    assert_int_equal(kerr_set(NULL, -EIO, "nobody asks"), -EIO);
}

static void test_an_empty_text_is_replaced_by_the_errno(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    kerr_set(&err, -ENOENT, "%s", "");
    assert_string_equal(err.text, strerror(ENOENT));
}

static void test_wrap_puts_context_in_front(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    kerr_api(&err, -EINVAL, KR_INVALID, "write cpuset.cpus");
    assert_int_equal(kerr_wrap(&err, "apply '%s'", "0-3"), -EINVAL);
    kerr_wrap(&err, "sync node-3");
    assert_string_equal(err.text, "sync node-3: apply '0-3': write cpuset.cpus");
    assert_int_equal(err.reason, KR_INVALID);
}

static void test_wrap_cuts_the_context_and_keeps_the_cause(void **state)
{
    struct kerr err = { 0 };
    char longer[400];

    (void)state;
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    kerr_set(&err, -EIO, "the cause");
    for (int i = 0; i < 5; i++)
        kerr_wrap(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_true(str_ends(err.text, "xxx: the cause"));
}

static void test_cutting_never_splits_a_character(void **state)
{
    struct kerr err = { 0 };
    char longer[400];

    (void)state;
    for (size_t shift = 0; shift < 2; shift++) {
        memset(longer, 'x', sizeof longer);
        for (size_t i = shift; i + 2 < sizeof longer; i += 2)
            memcpy(longer + i, "\xC3\xA9", 2);
        longer[sizeof longer - 1] = '\0';
        kerr_set(&err, -EIO, "%s", longer);
        size_t n = strlen(err.text);
        assert_that(n, >=, sizeof err.text - 2);
        assert_that((unsigned char)err.text[n - 1], ==, 0xA9);
        kerr_set(&err, -EIO, "%s", "cause");
        kerr_wrap(&err, "%s", longer);
        assert_true(str_ends(err.text, "\xC3\xA9: cause"));
    }
}

static void test_an_argument_may_be_the_old_text(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    kerr_set(&err, -EIO, "first");
    kerr_set(&err, -EINVAL, "second after %s", err.text);
    assert_string_equal(err.text, "second after first");
}

static void test_reasons_map_to_names_codes_and_back(void **state)
{
    (void)state;
    for (int r = KR_NONE + 1; r <= KR_INTERNAL; r++) {
        enum kreason reason = (enum kreason)r;
        assert_that(kreason_name(reason)[0], !=, '\0');
        assert_int_equal(kreason_from_name(kreason_name(reason)), r);
        assert_that(kreason_http(reason), >=, 400);
        assert_that(kreason_errno(reason), <, 0);
    }
    assert_string_equal(kreason_name(KR_NOT_FOUND), "NotFound");
    assert_int_equal(kreason_http(KR_INVALID), 422);
    assert_int_equal(kreason_errno(KR_NOT_FOUND), -ENOENT);
    assert_string_equal(kreason_name(KR_NONE), "");
    assert_int_equal(kreason_from_name("Whatever"), KR_NONE);
    assert_int_equal(kreason_from_name(""), KR_NONE);
    assert_int_equal(kreason_http((enum kreason)999), 500);
}

static void test_http_status_without_a_body_gives_a_reason(void **state)
{
    (void)state;
    assert_int_equal(kreason_from_http(404), KR_NOT_FOUND);
    assert_int_equal(kreason_from_http(409), KR_CONFLICT);
    assert_int_equal(kreason_from_http(418), KR_BAD_REQUEST);
    assert_int_equal(kreason_from_http(502), KR_UNAVAILABLE);
    assert_int_equal(kreason_from_http(599), KR_INTERNAL);
    assert_int_equal(kreason_from_http(200), KR_NONE);
}

static void test_allocation_helpers_copy(void **state)
{
    (void)state;
    CLEANUP(mem_free) char *a = xstrdup("abc");
    CLEANUP(mem_free) char *b = xstrndup("abcdef", 3);
    CLEANUP(mem_free) char *c = xasprintf("%d-%s", 7, a);
    CLEANUP(mem_free) char *d = xmemdup("xyz", 4);
    CLEANUP(mem_free) int *zeros = xnewn0(5, int);
    CLEANUP(mem_free) char *none = xmalloc(0);
    assert_string_equal(a, b);
    assert_string_equal(c, "7-abc");
    assert_string_equal(d, "xyz");
    assert_int_equal(zeros[4], 0);
    assert_non_null(none);
    char *moved = take(d);
    assert_null(d);
    free(moved);
}

static void test_min_max_nest_and_evaluate_once(void **state)
{
    int calls = 0;

    (void)state;
    assert_int_equal(MIN(MAX(1, 5), MIN(7, 6)), 5);
    assert_int_equal(MAX(++calls, 0), 1);
    assert_int_equal(calls, 1);
}

static void test_text_helpers(void **state)
{
    (void)state;
    assert_starts("node-1", "node");
    assert_true(!str_starts("no", "node"));
    assert_true(str_ends("pod.slice", ".slice") && !str_ends("e", ".slice"));
    assert_true(str_eqz(STR("abc"), "abc") && !str_eqz(STR("abc"), "abcd"));
    assert_true(str_eq(str_of(NULL), STR("")));
    assert_true(str_empty(NULL) && str_empty("") && !str_empty("x"));
    assert_string_equal(str_or(NULL, "y"), "y");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_fills_code_and_text),
        cmocka_unit_test(test_an_empty_text_is_replaced_by_the_errno),
        cmocka_unit_test(test_wrap_puts_context_in_front),
        cmocka_unit_test(test_wrap_cuts_the_context_and_keeps_the_cause),
        cmocka_unit_test(test_cutting_never_splits_a_character),
        cmocka_unit_test(test_an_argument_may_be_the_old_text),
        cmocka_unit_test(test_reasons_map_to_names_codes_and_back),
        cmocka_unit_test(test_http_status_without_a_body_gives_a_reason),
        cmocka_unit_test(test_allocation_helpers_copy),
        cmocka_unit_test(test_min_max_nest_and_evaluate_once),
        cmocka_unit_test(test_text_helpers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
