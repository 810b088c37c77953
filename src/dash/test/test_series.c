/* test_series.c - minutes come and go, clocks jump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dash/series.h"

#define MINUTE (60 * NSEC_PER_SEC)

static void put(struct series *s, nsec_t at, int64_t mcpu)
{
    const struct dash_sums sums = { .used = { mcpu, 0 } };
    series_put(s, at, &sums);
}

static void test_a_day_is_kept(void **state)
{
    struct series s = { 0 };

    (void)state;
    for (int i = 0; i < DASH_MINUTES + 10; i++)
        put(&s, i * MINUTE + 7 * NSEC_PER_SEC, i);
    assert_int_equal(s.n, DASH_MINUTES);
    assert_int_equal(series_at(&s, 0)->sums.used.mcpu, 10);
    assert_int_equal(series_at(&s, 0)->at, 10 * MINUTE);
    assert_int_equal(series_at(&s, DASH_MINUTES - 1)->sums.used.mcpu, DASH_MINUTES + 9);
    assert_null(series_at(&s, DASH_MINUTES));
    series_fini(&s);
}

static void test_a_minute_is_replaced(void **state)
{
    struct series s = { 0 };

    (void)state;
    put(&s, 5 * MINUTE, 1);
    put(&s, 5 * MINUTE + 30 * NSEC_PER_SEC, 2);
    assert_int_equal(s.n, 1);
    assert_int_equal(series_at(&s, 0)->sums.used.mcpu, 2);
    series_fini(&s);
}

static void test_old_minutes_go_by_age(void **state)
{
    struct series s = { 0 };

    (void)state;
    put(&s, 0, 1);
    put(&s, 100 * MINUTE, 2);
    put(&s, DASH_MINUTES * MINUTE, 3); /* a day after the first: a long sleep */
    assert_int_equal(s.n, 2);
    assert_int_equal(series_at(&s, 0)->sums.used.mcpu, 2);
    put(&s, 10 * DASH_MINUTES * MINUTE, 4);
    assert_int_equal(s.n, 1);
    series_fini(&s);
}

static void test_a_clock_set_back_drops_the_future(void **state)
{
    struct series s = { 0 };

    (void)state;
    for (int i = 0; i < 10; i++)
        put(&s, i * MINUTE, i);
    put(&s, 4 * MINUTE, 40);
    assert_int_equal(s.n, 5);
    assert_int_equal(series_at(&s, 4)->sums.used.mcpu, 40);
    series_fini(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_day_is_kept),
        cmocka_unit_test(test_a_minute_is_replaced),
        cmocka_unit_test(test_old_minutes_go_by_age),
        cmocka_unit_test(test_a_clock_set_back_drops_the_future),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
