/* test_schedulinghint.c - SchedulingHint: what may be written about it (sched-loadaware 9). */
#include "scheduler/plugins/schedulinghint/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "SchedulingHint"

static void test_defaults(void **state)
{
    const struct hint_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->max_nodes.v, 100);
}

static void test_what_is_written_counts(void **state)
{
    const struct hint_args *a = plugin_args(*state, NAME, "{'maxHintNodes':7}");

    assert_int_equal(a->max_nodes.v, 7);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'maxHintNodes':0}",
                   "maxHintNodes: Invalid value: 0: must be greater than or equal to 1");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),
        FIXTURE_TEST(test_what_is_written_counts),
        FIXTURE_TEST(test_refusals),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
