/* test_secret.c - secrets differ, have their length, and are compared as wholes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sys/secret.h"

static void test_secrets(void **state)
{
    char a[49], b[49], all[129];

    (void)state;
    assert_int_equal(secret_make(a, 48, NULL), 0);
    assert_int_equal(secret_make(b, 48, NULL), 0);
    assert_int_equal(secret_make(all, 128, NULL), 0);
    assert_int_equal(strlen(a), 48);
    assert_int_equal(strlen(all), 128);
    assert_int_equal(strspn(a, "0123456789abcdef"), 48);
    assert_string_not_equal(a, b);
}

static void test_comparing(void **state)
{
    (void)state;
    assert_true(secret_equal("abcd", 4, STR("abcd")));
    assert_false(secret_equal("abcd", 4, STR("abce")));
    assert_false(secret_equal("abcd", 4, STR("bbcd")));
    assert_false(secret_equal("abcd", 4, STR("abc")));
    assert_false(secret_equal("abcd", 4, STR("abcde")));
    assert_false(secret_equal("abcd", 4, (struct str){ NULL, 0 }));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_comparing),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
