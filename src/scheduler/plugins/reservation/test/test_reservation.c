/* test_reservation.c - Reservation: what may be written about it (sched-reservation). */
#include "scheduler/plugins/reservation/args.h"

#include "scheduler/test/plugin_checks.h"

#define NAME "Reservation"

static void test_defaults(void **state)
{
    const struct reservation_args *a = plugin_args(*state, NAME, "{}");

    assert_false(a->preemption.v);
    assert_int_equal(a->percentage.v, 10);
    assert_int_equal(a->absolute.v, 100);
    assert_int_equal(a->workers.v, 1);
    assert_int_equal(a->gc_duration, 86400);
    assert_int_equal(a->gc_interval, 60);
    assert_int_equal(a->resync, 60);
    assert_false(a->no_gc);
    assert_null(a->pre);
    assert_int_equal(a->ignored.n, 0);
    assert_null(a->index);
}

static void test_what_is_written_counts(void **state)
{
    const struct reservation_args *a =
        plugin_args(*state, NAME,
                    "{'preAllocationConfig':{'enableClusterMode':true},"
                    "'ignoredResources':['a.io/x']}");

    assert_true(a->pre->cluster);
    assert_string_equal(a->pre->label_key, "pod.koordinator.sh/is-pre-allocatable");
    assert_string_equal(a->pre->priority_key, "pod.koordinator.sh/pre-allocatable-priority");
    assert_string_equal(a->ignored.items[0], "a.io/x");
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'minCandidateNodesPercentage':-1}",
                   "minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]");
    plugin_refuses(NAME, "{'gcIntervalSeconds':-1}",
                   "gcIntervalSeconds: Invalid value: -1: must be greater than or equal to 0");
    plugin_refuses(NAME, "{'controllerWorkers':-1}",
                   "controllerWorkers: Invalid value: -1: must be greater than or equal to 0");
    plugin_refuses(NAME, "{'resyncIntervalSeconds':-5}",
                   "resyncIntervalSeconds: Invalid value: -5: must be greater than or equal to 0");
    plugin_refuses(NAME, "{'ignoredResources':['cpu']}",
                   "ignoredResources[0]: Invalid value: \"cpu\": must be an extended resource name "
                   "(e.g. example.com/gpu); native resources cannot be ignored");
    plugin_refuses(
        NAME, "{'ignoredResourceGroups':['a.io','kubernetes.io']}",
        "ignoredResourceGroups[1]: Invalid value: \"kubernetes.io\": must be usable as an "
        "extended resource prefix (a valid DNS subdomain and not the reserved "
        "\"kubernetes.io\" namespace)");
    plugin_refuses(NAME, "{'ignoredResourceGroups':['a/b']}",
                   "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't "
                   "contain '/'");
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
