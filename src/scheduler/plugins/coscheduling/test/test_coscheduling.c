/* test_coscheduling.c - Coscheduling: what may be written about it (sched-gang). */
#include "scheduler/plugins/coscheduling/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "Coscheduling"

static void test_defaults(void **state)
{
    const struct coscheduling_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->timeout.v, 600 * NSEC_PER_SEC);
    assert_int_equal(a->workers.v, 1);
    assert_false(a->skip_cycle);
    assert_false(a->preemption.v);
    assert_false(a->topology.v);
    assert_string_equal(a->match_policy, "once-satisfied");
    const struct gang_hold_args hold = coscheduling_hold(a);
    assert_int_equal(hold.after, 0);
    assert_int_equal(hold.duration, 600 * NSEC_PER_SEC);
    assert_int_equal(hold.percentage, 50);
}

static void test_what_is_written_counts(void **state)
{
    const struct coscheduling_args *a =
        plugin_args(*state, NAME,
                    "{'defaultTimeout':'5s','enablePreemption':true,"
                    "'awareNetworkTopology':true}");

    assert_int_equal(a->timeout.v, 5 * NSEC_PER_SEC);
    assert_true(a->preemption.v);
    assert_true(a->topology.v);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(
        NAME, "{'defaultTimeout':'-1s'}",
        "defaultTimeout: Invalid value: coeSchedulingArgs DefaultTimeoutSeconds invalid");
    plugin_refuses(NAME, "{'controllerWorkers':0}",
                   "controllerWorkers: Invalid value: 0: must be greater than or equal to 1");
    plugin_refuses(NAME, "{'holdAfter':'-1s'}",
                   "holdAfter: Invalid value: must be 0 or at least a second");
    plugin_refuses(NAME, "{'holdAfter':'1ms'}",
                   "holdAfter: Invalid value: must be 0 or at least a second");
    plugin_refuses(NAME, "{'holdFor':'0s'}", "holdFor: Invalid value: must be at least a second");
    plugin_refuses(NAME, "{'holdPercentage':0}",
                   "holdPercentage: Invalid value: 0: not in valid range [1, 100]");
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
