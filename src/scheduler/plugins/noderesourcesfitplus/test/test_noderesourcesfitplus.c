/* test_noderesourcesfitplus.c - NodeResourcesFitPlus: what may be written about it (sched-loadaware
 * 7). */
#include "scheduler/plugins/noderesourcesfitplus/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "NodeResourcesFitPlus"

static void test_defaults(void **state)
{
    const struct fitplus_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->resources.n, 0);
}

static void test_what_is_written_counts(void **state)
{
    const struct fitplus_args *a = plugin_args(*state, NAME,
                                               "{'resources':{'nvidia.com/gpu':{"
                                               "'type':'MostAllocated','weight':2}}}");

    assert_int_equal(a->resources.n, 1);
    assert_string_equal(a->resources.items[0].name, "nvidia.com/gpu");
    assert_string_equal(a->resources.items[0].value.type, "MostAllocated");
    assert_int_equal(a->resources.items[0].value.weight, 2);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'resources':{'x':{'weights':1}}}",
                   "resources[x].weights: unknown field");
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
