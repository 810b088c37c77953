/* test_vec.c - growing arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "base/vec.h"

struct ints vec_of(int);

static void assert_items(const struct ints *v, const int *want, size_t n)
{
    assert_int_equal(v->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(v->items[i], want[i]);
}
#define assert_vec(v, ...) \
    assert_items((v), (const int[]){ __VA_ARGS__ }, ARRAY_LEN(((const int[]){ __VA_ARGS__ })))

static void test_push_pop_and_iterate(void **state)
{
    struct ints v = { 0 };
    int sum = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        vec_push(&v, i);
    vec_foreach(&v, i)
        sum += v.items[i];
    assert_int_equal(sum, 499500);
    assert_int_equal(vec_last(&v), 999);
    assert_int_equal(vec_pop(&v), 999);
    assert_int_equal(v.n, 999);
    vec_clear(&v);
    assert_int_equal(v.n, 0);
    assert_that(v.cap, >=, 1000); /* the memory stays */
    vec_fini(&v);
    assert_null(v.items);
}

static void test_insert_and_remove_keep_the_order(void **state)
{
    struct ints v = { 0 };

    (void)state;
    vec_insert(&v, 0, 2);
    vec_insert(&v, 0, 1);
    vec_insert(&v, 2, 4);
    vec_insert(&v, 2, 3);
    assert_vec(&v, 1, 2, 3, 4);
    vec_remove(&v, 1);
    assert_vec(&v, 1, 3, 4);
    vec_remove(&v, 2);
    assert_vec(&v, 1, 3);
    vec_fini(&v);
}

static void test_swap_remove_fills_the_hole_with_the_last(void **state)
{
    struct ints v = { 0 };

    (void)state;
    for (int i = 0; i < 4; i++)
        vec_push(&v, i);
    vec_swap_remove(&v, 1);
    assert_vec(&v, 0, 3, 2);
    vec_swap_remove(&v, 2);
    assert_vec(&v, 0, 3);
    vec_fini(&v);
}

static void test_reserve_makes_room_at_once(void **state)
{
    struct ints v = { 0 };

    (void)state;
    vec_reserve(&v, 100);
    const int *items = v.items;
    for (int i = 0; i < 100; i++)
        vec_push(&v, i);
    assert_ptr_equal(v.items, items);
    vec_fini(&v);
}

static void test_an_item_may_come_from_the_array_itself(void **state)
{
    struct ints v = { 0 };

    (void)state;
    vec_push(&v, 7);
    for (int i = 0; i < 100; i++)
        vec_push(&v, v.items[0]); /* the array moves while it grows */
    assert_int_equal(vec_last(&v), 7);
    vec_fini(&v);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_pop_and_iterate),
        cmocka_unit_test(test_insert_and_remove_keep_the_order),
        cmocka_unit_test(test_swap_remove_fills_the_hole_with_the_last),
        cmocka_unit_test(test_reserve_makes_room_at_once),
        cmocka_unit_test(test_an_item_may_come_from_the_array_itself),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
