/* test_bitset.c - sets that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bitset.h"

static void test_set_grows_and_test_beyond_is_false(void **state)
{
    struct bitset b = { 0 };

    (void)state;
    assert_false(bitset_test(&b, 0));
    bitset_set(&b, 0);
    bitset_set(&b, 63);
    bitset_set(&b, 64);
    bitset_set(&b, 1000);
    assert_true(bitset_test(&b, 63) && bitset_test(&b, 64) && bitset_test(&b, 1000));
    assert_false(bitset_test(&b, 1) || bitset_test(&b, 999) || bitset_test(&b, 1 << 20));
    assert_int_equal(bitset_count(&b), 4);
    bitset_clear(&b, 64);
    bitset_clear(&b, 1 << 20); /* not there, nothing happens */
    assert_false(bitset_test(&b, 64));
    bitset_fini(&b);
    assert_int_equal(bitset_count(&b), 0);
}

static void test_foreach_visits_members_in_order(void **state)
{
    static const size_t want[] = { 0, 5, 63, 64, 127, 128, 700 };
    struct bitset b;
    size_t n = 0;

    (void)state;
    bitset_init(&b, 0);
    for (size_t i = ARRAY_LEN(want); i-- > 0;)
        bitset_set(&b, want[i]);
    bitset_foreach(&b, i)
        assert_int_equal(i, want[n++]);
    assert_int_equal(n, ARRAY_LEN(want));
    assert_int_equal(bitset_next(&b, 129), 700);
    assert_true(bitset_next(&b, 701) == SIZE_MAX);
    bitset_fini(&b);
}

static void test_resize_drops_what_does_not_fit(void **state)
{
    struct bitset b;

    (void)state;
    bitset_init(&b, 200);
    bitset_set(&b, 10);
    bitset_set(&b, 20);
    bitset_set(&b, 150);
    bitset_resize(&b, 20);
    assert_int_equal(bitset_count(&b), 1);
    bitset_resize(&b, 200); /* nothing comes back */
    assert_int_equal(bitset_count(&b), 1);
    bitset_resize(&b, 0);
    assert_int_equal(bitset_count(&b), 0);
    bitset_set(&b, 3);
    assert_true(bitset_test(&b, 3));
    bitset_fini(&b);
}

static void test_algebra_of_sets_of_different_size(void **state)
{
    struct bitset a = { 0 }, b = { 0 };

    (void)state;
    bitset_set(&a, 1);
    bitset_set(&a, 2);
    bitset_set(&b, 2);
    bitset_set(&b, 300);
    assert_true(bitset_intersects(&a, &b));
    assert_false(bitset_equal(&a, &b));

    bitset_or(&a, &b);
    assert_int_equal(bitset_count(&a), 3);
    bitset_andnot(&a, &b);
    assert_int_equal(bitset_count(&a), 1);
    assert_true(bitset_test(&a, 1));
    assert_false(bitset_intersects(&a, &b));

    bitset_or(&a, &b);
    bitset_resize(&b, 64);
    bitset_and(&a, &b); /* what b has no words for is not in b */
    assert_int_equal(bitset_count(&a), 1);
    assert_true(bitset_test(&a, 2));
    assert_true(bitset_equal(&a, &b)); /* of different size, trailing zeros ignored */
    assert_true(bitset_equal(&b, &a));
    bitset_zero(&a);
    assert_int_equal(bitset_count(&a), 0);
    bitset_fini(&a);
    bitset_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_grows_and_test_beyond_is_false),
        cmocka_unit_test(test_foreach_visits_members_in_order),
        cmocka_unit_test(test_resize_drops_what_does_not_fit),
        cmocka_unit_test(test_algebra_of_sets_of_different_size),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
