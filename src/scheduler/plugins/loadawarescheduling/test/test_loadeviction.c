/* test_loadeviction.c - best-effort pods stay below the thresholds at which koordlet evicts them
 * (users.md 8): which thresholds count, for whom, and what people are told.
 */
#include "scheduler/plugins/registry.h"

#include "api/koord/nodeslo.h"
#include "load_fixture.h"

#define BE \
    ",'labels':{'koordinator.sh/qosClass':'BE','koordinator.sh/priority-class':'koord-batch'}"
#define LS    ",'labels':{'koordinator.sh/qosClass':'LS'}"
#define BATCH "{'requests':{'kubernetes.io/batch-cpu':'4000','kubernetes.io/batch-memory':'8Gi'}}"
#define USAGE "node(s) memory usage exceed threshold"
#define EVICTION \
    "node(s) memory usage exceed eviction threshold 70% of NodeSLO (usage threshold 95%)"

static void slo(struct plugin_fixture *f, const char *strategy)
{
    fixture_put(f, &kind_nodeslo,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'n'},'spec':{'resourceUsedThresholdWithBE':%s}}",
                             strategy));
}

static void expect(struct plugin_fixture *f, const char *resources, const char *labels,
                   const char *why)
{
    fixture_try(f, load_pod(f, "p", "", resources, labels));
    assert_string_equal(fixture_why(f, "n"), why);
}

static void start(struct plugin_fixture *f, void **state, const char *args, const char *usage)
{
    load_start(f, state, args);
    load_node(f, "n", "");
    load_metric(f, "n", JUST, usage, "");
}

static void test_best_effort_pods_stay_below_both(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "{}", "1/354Gi"); /* and an estimate of 5.6 GiB: 70.2% of 512 */
    expect(&f, BATCH, BE, "");
    slo(&f, "{'enable':true,'memoryEvictThresholdPercent':70}");
    expect(&f, BATCH, BE, EVICTION);
    expect(&f, POD_16, LS, ""); /* nobody evicts it */
    load_metric(&f, "n", JUST, "1/352Gi", "");
    expect(&f, BATCH, BE, "");
    load_metric(&f, "n", JUST, "1/500Gi", "");
    expect(&f, BATCH, BE, USAGE); /* above both: the usual words */
    objects_remove(f.objects, objects_get(f.objects, &kind_nodeslo, NULL, "n"));
    load_metric(&f, "n", JUST, "1/354Gi", "");
    expect(&f, BATCH, BE, "");
}

/* koordlet cuts percentages down and evicts from the threshold on. */
static void test_the_border(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    fixture_node(&f, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'10','memory':'1000Mi'},"
                     "'allocatable':{'cpu':'10','memory':'1000Mi'}}}");
    slo(&f, "{'enable':true,'memoryEvictThresholdPercent':70}");
    load_metric(&f, "n", JUST, "1/524288000",
                ""); /* 500 Mi and 200 Mi of a pod that asks for nothing */
    expect(&f, "{}", BE, EVICTION);
    load_metric(&f, "n", JUST, "1/524287999", "");
    expect(&f, "{}", BE, "");
}

/* What koordlet evicts by is the capacity, of which allocatable is a part. */
static void test_percent_of_the_capacity(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'usageThresholds':{'cpu':99}}");
    fixture_node(&f, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'10','memory':'2000Mi'},"
                     "'allocatable':{'cpu':'10','memory':'1000Mi'}}}");
    slo(&f, "{'enable':true,'memoryEvictThresholdPercent':70}");
    load_metric(&f, "n", JUST, "1/900Mi", "");
    expect(&f, "{}", BE, "");
    load_metric(&f, "n", JUST, "1/1250Mi", "");
    expect(&f, "{}", BE,
           "node(s) memory usage exceed eviction threshold 70% of NodeSLO (no usage threshold)");
}

static void test_by_cpu(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "{}", "50/1Gi");                         /* and 3.4 of an estimate: 55.6% */
    slo(&f, "{'enable':true,'cpuEvictThresholdPercent':55}"); /* incomplete: koordlet ignores it */
    expect(&f, BATCH, BE, "");
    slo(&f, "{'enable':true,'cpuEvictThresholdPercent':55,'evictEnabledPriorityThreshold':5999}");
    expect(&f, BATCH, BE,
           "node(s) cpu usage exceed eviction threshold 55% of NodeSLO (usage threshold 65%)");
}

static void test_what_evicts_nothing_limits_nothing(void **state)
{
    static const char *const strategies[] = {
        "{'memoryEvictThresholdPercent':70}",
        "{'enable':false,'memoryEvictThresholdPercent':70}",
        "{'enable':true}",
        "{'enable':true,'memoryEvictThresholdPercent':-1}",
        "{'enable':true,'memoryEvictThresholdPercent':70,'memoryEvictLowerPercent':70}",
        "{'enable':true,'memoryEvictThresholdPercent':9223372036854775807}",
    };
    CLEANUP(fixture_fini) struct plugin_fixture f, off;

    start(&f, state, "{}", "1/400Gi");
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++) {
        slo(&f, strategies[i]);
        expect(&f, BATCH, BE, "");
    }
    start(&off, state, "{'filterAboveEvictionThresholds':false}", "1/400Gi");
    slo(&off, "{'enable':true,'memoryEvictThresholdPercent':70}");
    expect(&off, BATCH, BE, "");
}

/* Also where the filter is off otherwise, as in the shipped profile; but not by old reports. */
static void test_without_thresholds_of_the_filter(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "{'usageThresholds':{'cpu':0,'memory':0}}", "1/400Gi");
    slo(&f, "{'enable':true,'memoryEvictThresholdPercent':70}");
    expect(&f, BATCH, BE,
           "node(s) memory usage exceed eviction threshold 70% of NodeSLO (no usage threshold)");
    load_metric(&f, "n", OLD, "1/400Gi", "");
    expect(&f, BATCH, BE, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_best_effort_pods_stay_below_both),
        FIXTURE_TEST(test_the_border),
        FIXTURE_TEST(test_percent_of_the_capacity),
        FIXTURE_TEST(test_by_cpu),
        FIXTURE_TEST(test_what_evicts_nothing_limits_nothing),
        FIXTURE_TEST(test_without_thresholds_of_the_filter),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
