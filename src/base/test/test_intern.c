/* test_intern.c - one copy of each text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/test/asserts.h"

static void test_equal_text_is_one_pointer(void **state)
{
    CLEANUP(intern_free) struct intern *t = intern_new();
    char copy[] = "kube-system";

    (void)state;
    const char *a = intern_getz(t, "kube-system"), *b = intern_getz(t, copy);
    const char *c = intern_get(t, "kube-system", 4);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, copy);
    assert_string_equal(c, "kube");
    assert_int_equal(istr_len(a), 11);
    assert_int_equal(intern_count(t), 2);
    istr_unref(a);
    istr_unref(b);
    istr_unref(c);
}

static void test_text_goes_with_its_last_reference(void **state)
{
    CLEANUP(intern_free) struct intern *t = intern_new();

    (void)state;
    const char *a = intern_getz(t, "x");
    assert_ptr_equal(istr_ref(a), a);
    assert_ptr_equal(intern_find(t, "x", 1), a); /* borrows */
    assert_null(istr_unref(a));
    assert_non_null(intern_find(t, "x", 1));
    istr_unref(a);
    assert_null(intern_find(t, "x", 1));
    assert_int_equal(intern_count(t), 0);
    assert_null(istr_unref(NULL));
}

static void test_bytes_come_and_go_with_the_text(void **state)
{
    CLEANUP(intern_free) struct intern *t = intern_new();

    (void)state;
    const char *a = intern_getz(t, "a");
    size_t with_one = intern_bytes(t);
    const char *b = intern_getz(t, "a text of some length");
    assert_that(intern_bytes(t), >=, with_one + 22);
    istr_unref(b);
    assert_int_equal(intern_bytes(t), with_one);
    istr_unref(a);
}

static void test_text_outlives_the_table(void **state)
{
    struct intern *t = intern_new();

    (void)state;
    const char *a = intern_getz(t, "late"), *b = intern_getz(t, "later");
    assert_null(intern_free(t));
    assert_string_equal(a, "late");
    istr_unref(a);
    assert_string_equal(b, "later");
    istr_unref(b); /* the table goes here: the leak checker would tell */
    assert_null(intern_free(NULL));
}

static void test_empty_text_and_text_with_a_nul(void **state)
{
    CLEANUP(intern_free) struct intern *t = intern_new();

    (void)state;
    const char *none = intern_get(t, NULL, 0), *nul = intern_get(t, "a\0b", 3);
    assert_string_equal(none, "");
    assert_ptr_equal(intern_getz(t, ""), none);
    assert_int_equal(istr_len(nul), 3);
    assert_null(intern_find(t, "a", 1));
    istr_unref(none);
    istr_unref(none);
    istr_unref(nul);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_text_is_one_pointer),
        cmocka_unit_test(test_text_goes_with_its_last_reference),
        cmocka_unit_test(test_bytes_come_and_go_with_the_text),
        cmocka_unit_test(test_text_outlives_the_table),
        cmocka_unit_test(test_empty_text_and_text_with_a_nul),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
