/* test_scarceresourceavoidance.c - ScarceResourceAvoidance: what may be written about it
 * (sched-loadaware 8). */
#include "scheduler/plugins/scarceresourceavoidance/args.h"

#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_checks.h"

#define NAME "ScarceResourceAvoidance"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_scarce_resource_avoidance, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

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

static void test_nodes_with_scarce_resources(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, "{'" NAME "':{'resources':['nvidia.com/gpu']}}");
    fixture_node(&f, "{'metadata':{'name':'gpu'},'status':{'allocatable':{'cpu':'8','memory':'8Gi',"
                     "'pods':'110','nvidia.com/gpu':'8','xx.xx/xx':'1'}}}");
    fixture_node(&f, "{'metadata':{'name':'plain'},'status':{'allocatable':{'cpu':'8','memory':"
                     "'8Gi','pods':'110'}}}");
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]}}");
    assert_int_equal(fixture_score(&f, NAME, "gpu"), 50);
    assert_int_equal(fixture_score(&f, NAME, "plain"), 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),
        FIXTURE_TEST(test_what_is_written_counts),
        FIXTURE_TEST(test_refusals),
        FIXTURE_TEST(test_nodes_with_scarce_resources),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
