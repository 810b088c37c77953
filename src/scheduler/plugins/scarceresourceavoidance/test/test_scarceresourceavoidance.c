/* test_scarceresourceavoidance.c - ScarceResourceAvoidance: what may be written about it
 * (sched-loadaware 8). */
#include "scheduler/plugins/scarceresourceavoidance/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "ScarceResourceAvoidance"

static void test_defaults(void **state)
{
    const struct scarce_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->resources.n, 0);
}

static void test_what_is_written_counts(void **state)
{
    const struct scarce_args *a = plugin_args(*state, NAME, "{'resources':['nvidia.com/gpu']}");

    assert_int_equal(a->resources.n, 1);
    assert_string_equal(a->resources.items[0], "nvidia.com/gpu");
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'resource':[]}", "resource: unknown field");
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
