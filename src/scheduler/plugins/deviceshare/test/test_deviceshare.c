/* test_deviceshare.c - DeviceShare: what may be written about it (sched-device). */
#include "scheduler/plugins/deviceshare/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "DeviceShare"

static void test_defaults(void **state)
{
    const struct deviceshare_args *a = plugin_args(*state, NAME, "{}");

    assert_string_equal(a->strategy->type, "LeastAllocated");
    assert_int_equal(a->strategy->resources.n, 4);
    assert_string_equal(a->strategy->resources.items[3].name, "koordinator.sh/fpga");
    assert_false(a->no_alignment);
    assert_string_equal(a->templates->ns, "koordinator-system");
    assert_string_equal(a->templates->name, "gpu-shared-resource-templates");
    assert_string_equal(a->templates->matched.items[0], "huawei.com/npu-core");
    assert_int_equal(a->unsupported.n, 0);
}

static void test_what_is_written_counts(void **state)
{
    const struct deviceshare_args *a = plugin_args(*state, NAME,
                                                   "{'gpuShareUnsupportedModels':[{'vendor':'v',"
                                                   "'model':'m'}]}");

    assert_int_equal(a->unsupported.n, 1);
    assert_string_equal(a->unsupported.items[0].vendor, "v");
    assert_string_equal(a->unsupported.items[0].model, "m");
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'scoringStrategy':{'resources':[{'name':'x','weight':101}]}}",
                   "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of x "
                   "not in valid range [1, 100]");
    plugin_refuses(NAME, "{'scoringStrategy':{'type':'Best'}}",
                   "scoringStrategy.type: Unsupported value: \"Best\": supported values: "
                   "\"MostAllocated\", \"BalancedAllocation\", \"LeastAllocated\", "
                   "\"FragmentationAware\"");
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
