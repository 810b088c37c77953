/* test_loadawarescheduling.c - LoadAwareScheduling: what may be written about it (sched-loadaware
 * 1). */
#include "scheduler/plugins/loadawarescheduling/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "LoadAwareScheduling"

static void test_defaults(void **state)
{
    const struct loadaware_args *a = plugin_args(*state, NAME, "{}");

    assert_true(a->filter_expired.v);
    assert_false(a->schedule_expired.v);
    assert_int_equal(a->expiration.v, 180);
    assert_int_equal(a->weights.n, 2);
    assert_string_equal(a->weights.items[0].name, "cpu");
    assert_int_equal(a->weights.items[0].value, 1);
    assert_string_equal(a->weights.items[1].name, "memory");
    assert_int_equal(a->weights.items[1].value, 1);
    assert_int_equal(a->thresholds.n, 2);
    assert_int_equal(a->thresholds.items[0].value, 65);
    assert_int_equal(a->thresholds.items[1].value, 95);
    assert_int_equal(a->factors.n, 2);
    assert_int_equal(a->factors.items[0].value, 85);
    assert_int_equal(a->factors.items[1].value, 70);
    assert_int_equal(a->prod_thresholds.n, 0);
    assert_null(a->aggregated);
}

static void test_what_is_written_counts(void **state)
{
    const struct loadaware_args *a =
        plugin_args(*state, NAME,
                    "{'dominantResourceWeight':1,'estimatedScalingFactors':{"
                    "'gpu':1,'memory':50},'aggregated':{"
                    "'usageAggregatedDuration':'5m'}}");

    assert_int_equal(a->weights.n, 0); /* the dominant resource alone */
    assert_int_equal(a->factors.n, 3);
    assert_string_equal(a->factors.items[1].name, "gpu");
    assert_int_equal(a->factors.items[2].value, 50);
    assert_int_equal(a->aggregated->usage_duration.v, 300 * NSEC_PER_SEC);
    assert_false(a->aggregated->score_duration.set);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'nodeMetricExpirationSeconds':0}",
                   "nodeMetricExpirationSeconds: Invalid value: 0: nodeMetricExpiredSeconds should "
                   "be a positive value");
    plugin_refuses(NAME, "{'resourceWeights':{'gpu':1}}",
                   "estimatedScalingFactors[gpu]: Required value: the resource has a weight");
    plugin_refuses(NAME, "{'aggregated':{'scoreAggregatedDuration':'-1s'}}",
                   "aggregated.scoreAggregatedDuration: Invalid value: must not be negative");
    plugin_refuses(NAME, "{'usageThreshold':{}}", "usageThreshold: unknown field");
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
