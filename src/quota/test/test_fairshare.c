/* test_fairshare.c - shares by weight (sched-quota 5.1, 6: 'Must hold'). */
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "quota/fairshare.h"

static void split(struct share_member *m, uint32_t n, int64_t total)
{
    struct share_scratch s = { 0 };

    share_split(m, n, total, &s, NULL);
    share_scratch_fini(&s);
}

static void test_what_is_not_used_goes_round_again(void **state)
{
    struct share_member m[] = { { 5, 10, 40, true, 0 },
                                { 20, 15, 60, true, 0 },
                                { 40, 20, 50, true, 0 },
                                { 70, 15, 80, true, 0 } };
    const int64_t want[] = { 5, 20, 35, 40 };

    (void)state;
    split(m, 4, 100);
    for (int i = 0; i < 4; i++)
        assert_int_equal(m[i].runtime, want[i]);
}

static void test_who_has_no_weight_gets_its_floor(void **state)
{
    struct share_member m[] = { { 5, 10, 40, true, 0 },
                                { 20, 15, 60, true, 0 },
                                { 40, 20, 50, true, 0 },
                                { 70, 15, 0, true, 0 } };

    (void)state;
    split(m, 4, 100);
    assert_int_equal(m[2].runtime, 40);
    assert_int_equal(m[3].runtime, 15); /* and 20 are left over */
    m[3].floor = 45;                    /* a guarantee */
    split(m, 4, 100);
    assert_int_equal(m[2].runtime, 30);
    assert_int_equal(m[3].runtime, 45);
}

static void test_remainders_go_by_name(void **state)
{
    struct share_member m[11];
    int64_t sum = 0;

    (void)state;
    for (int i = 0; i < 10; i++)
        m[i] = (struct share_member){ 100, i < 8 ? 8 : 7, 1, true, 0 };
    m[10] = (struct share_member){ 0, 3, 1, true, 0 };
    split(m, 11, 81);
    for (int i = 0; i < 11; i++)
        sum += m[i].runtime;
    assert_int_equal(sum, 81);
    assert_int_equal(m[10].runtime, 0);
    assert_int_equal(m[2].runtime, 9);
    assert_int_equal(m[3].runtime, 8);
}

static void test_who_does_not_lend_keeps_its_floor(void **state)
{
    struct share_member m[] = { { 96, 60, 96, true, 0 }, { 40, 40, 1, false, 0 } };

    (void)state;
    split(m, 2, 100);
    assert_int_equal(m[0].runtime, 60);
    assert_int_equal(m[1].runtime, 40);
}

static void test_absurd_weights_do_not_overflow(void **state)
{
    struct share_member m[] = { { INT64_MAX, 0, INT64_MAX, true, 0 },
                                { INT64_MAX, 0, INT64_MAX, true, 0 },
                                { 7, 0, INT64_MIN, true, 0 } };

    (void)state;
    split(m, 3, INT64_MAX);
    assert_int_equal(m[0].runtime, INT64_MAX / 2 + 1);
    assert_int_equal(m[1].runtime, INT64_MAX / 2);
    assert_int_equal(m[2].runtime, 0);
}

static void test_mins_are_scaled(void **state)
{
    (void)state;
    assert_int_equal(share_scale(100000, 200000, 300000), 66666);
    assert_int_equal(share_scale(50, 0, 100), 0);
    assert_int_equal(share_scale(50, -3, 100), 0);
    assert_int_equal(share_scale(0, 5, 0), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_used_goes_round_again),
        cmocka_unit_test(test_who_has_no_weight_gets_its_floor),
        cmocka_unit_test(test_remainders_go_by_name),
        cmocka_unit_test(test_who_does_not_lend_keeps_its_floor),
        cmocka_unit_test(test_absurd_weights_do_not_overflow),
        cmocka_unit_test(test_mins_are_scaled),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
