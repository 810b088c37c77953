/* test_nodenumaresource.c - NodeNUMAResource: what may be written about it (sched-numa). */
#include "scheduler/plugins/nodenumaresource/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "NodeNUMAResource"

static void test_defaults(void **state)
{
    const struct numa_args *a = plugin_args(*state, NAME, "{}");

    assert_string_equal(a->bind_policy, "FullPCPUs");
    assert_string_equal(a->node->type, "LeastAllocated");
    assert_int_equal(a->node->resources.n, 2);
    assert_string_equal(a->zone->type, "LeastAllocated");
    assert_string_equal(a->zone->resources.items[1].name, "memory");
    assert_int_equal(a->zone->resources.items[1].weight, 1);
}

static void test_what_is_written_counts(void **state)
{
    const struct numa_args *a = plugin_args(*state, NAME,
                                            "{'defaultCPUBindPolicy':'','scoringStrategy':{"
                                            "'type':'MostAllocated','resources':[{"
                                            "'name':'cpu','weight':9}]}}");

    assert_string_equal(a->bind_policy, "");
    assert_string_equal(a->node->type, "MostAllocated");
    assert_int_equal(a->node->resources.n, 1);
    assert_int_equal(a->node->resources.items[0].weight, 9);
    assert_string_equal(a->zone->type, "LeastAllocated");
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'defaultCPUBindPolicy':'Best'}",
                   "defaultCPUBindPolicy: Unsupported value: \"Best\": supported values: "
                   "\"FullPCPUs\", \"SpreadByPCPUs\"");
    plugin_refuses(NAME, "{'numaScoringStrategy':{'resources':[{'name':'cpu'}]}}",
                   "numaScoringStrategy.resources[0].weight: Invalid value: 0: resource weight of "
                   "cpu not in valid range [1, 100]");
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
