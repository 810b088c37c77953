/* test_koordlet_states.c - Node, NodeSLO and NodeMetric, and who is told of them. */
#include "koordlet/states/states_int.h"
#include "koordlet/states/test/states_fixture.h"
#include "json/kj.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

/* ---- Node, NodeSLO, NodeMetric --------------------------------------------------------------- */

static void test_node_news_are_of_labels_and_annotations(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;
    int told = 0;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    snapshots_on(r.snapshots, STATES_NODE, "test", count, &told);
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    assert_true(states_fixture_shows(
        r.external, "koordlet_node_resource_allocatable{node=\"n1\",resource=\"kubernetes."
                    "io/batch-cpu\",unit=\"integer\"} 1500\n"));
    assert_true(states_fixture_shows(r.external,
                                     "resource=\"kubernetes.io/mid-memory\",unit=\"byte\"} 0\n"));
    fake_patch(r.api.fake, NODES, "n1",
               "{\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":"
               "\"700\"}}}");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    assert_true(states_fixture_shows(r.external, "batch-cpu\",unit=\"integer\"} 700\n"));
    fake_patch(r.api.fake, NODES, "n1", "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 2);
    assert_string_equal(kstrmap_get(&states_fixture_known(&r)->node->obj.meta.annotations, "x"),
                        "y");
}

static void test_one_bad_part_of_a_nodeslo(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;
    int told = 0;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    snapshots_on(r.snapshots, STATES_NODESLO, "test", count, &told);
    states_fixture_run(&r, 1);
    assert_null(states_fixture_known(&r)->slo);
    assert_false(states_fixture_shows(r.internal, "koordlet_nodeslo_refused_total{"));
    fake_put(r.api.fake, NODESLOS, "n1",
             "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"enable\":true,"
             "\"cpuSuppressThresholdPercent\":50},\"cpuBurstStrategy\":{\"policy\":\"auto\"}}}");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    assert_int_equal(states_fixture_known(&r)->slo->threshold->cpu_suppress_threshold_percent.v,
                     50);
    /* A patch of the status is no news. */
    fake_patch(r.api.fake, NODESLOS, "n1", "{\"status\":{\"x\":1}}");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    fake_patch(r.api.fake, NODESLOS, "n1",
               "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"cpuSuppressThresholdPercent\":\"a "
               "lot\"},\"cpuBurstStrategy\":{\"policy\":\"none\"}}}");
    states_fixture_run(&r, 5);
    assert_int_equal(told, 2);
    assert_int_equal(states_fixture_known(&r)->slo->threshold->cpu_suppress_threshold_percent.v,
                     50);
    assert_string_equal(states_fixture_known(&r)->slo->cpu_burst->config.policy, "none");
    assert_true(states_fixture_shows(r.internal, "koordlet_nodeslo_refused_total{section="
                                                 "\"resourceUsedThresholdWithBE\"} 1\n"));
    assert_int_equal(fake_count(r.api.fake, "events"), 1);
    /* A deletion changes nothing. */
    fake_delete(r.api.fake, NODESLOS, "n1");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 2);
    assert_non_null(states_fixture_known(&r)->slo);
}

static void test_three_changes_are_told_once(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;
    int told = 0, topology = 0;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    snapshots_on(r.snapshots, STATES_NODESLO, "test", count, &told);
    snapshots_on(r.snapshots, STATES_TOPOLOGY, "test", count, &topology);
    for (int i = 0; i < 3; i++)
        snapshots_tell(r.snapshots, STATES_NODESLO);
    assert_int_equal(told, 0); /* in a later turn */
    states_fixture_run(&r, 0);
    assert_int_equal(told, 1);
    assert_int_equal(topology, 0);
    snapshots_tell(r.snapshots, STATES_TOPOLOGY);
    states_fixture_run(&r, 0);
    assert_int_equal(topology, 1);
}

struct chatter {
    struct snapshots *s;
    int told;
};

static void tell_again(void *arg)
{
    struct chatter *c = arg;
    if (c->told++ == 0)
        for (int i = 0; i < 3; i++)
            snapshots_tell(c->s, STATES_NODESLO);
}

static void test_three_changes_while_telling_are_one_more(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    struct chatter c = { r.snapshots, 0 };
    snapshots_on(r.snapshots, STATES_NODESLO, "test", tell_again, &c);
    snapshots_tell(r.snapshots, STATES_NODESLO);
    states_fixture_run(&r, 1);
    assert_int_equal(c.told, 2);
}

static void test_collect_policy_has_defaults_and_minima(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;
    int told = 0;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    snapshots_on(r.snapshots, STATES_POLICY, "test", count, &told);
    states_fixture_run(&r, 1);
    assert_null(states_fixture_known(&r)->nodemetric);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 60 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.aggregate, 300 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.ndurations, 3);
    fake_put(r.api.fake, NODEMETRICS, "n1",
             "{\"metadata\":{\"generation\":1},\"spec\":{\"metricCollectPolicy\":{"
             "\"reportIntervalSeconds\":180}},\"status\":{\"podsMetric\":\"our own\"}}");
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 180 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.aggregate, 300 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.durations[2], 1800 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.memory, MEMORY_WITHOUT_PAGE_CACHE);
    assert_non_null(states_fixture_known(&r)->nodemetric);
    /* The same generation is not looked into. */
    fake_patch(r.api.fake, NODEMETRICS, "n1",
               "{\"spec\":{\"metricCollectPolicy\":{\"reportIntervalSeconds\":666}}}");
    states_fixture_run(&r, 1);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 180 * NSEC_PER_SEC);
    fake_patch(r.api.fake, NODEMETRICS, "n1", "{\"metadata\":{\"generation\":2}}");
    states_fixture_run(&r, 1);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 666 * NSEC_PER_SEC);
    fake_patch(r.api.fake, NODEMETRICS, "n1",
               "{\"metadata\":{\"generation\":3},\"spec\":{\"metricCollectPolicy\":{"
               "\"reportIntervalSeconds\":10,\"aggregateDurationSeconds\":10}}}");
    states_fixture_run(&r, 1);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 30 * NSEC_PER_SEC);
    assert_int_equal(states_fixture_known(&r)->policy.aggregate, 60 * NSEC_PER_SEC);
    fake_delete(r.api.fake, NODEMETRICS, "n1");
    states_fixture_run(&r, 1);
    assert_null(states_fixture_known(&r)->nodemetric);
    assert_int_equal(states_fixture_known(&r)->policy.report_interval, 30 * NSEC_PER_SEC);
}

static void test_collect_policy_keeps_what_makes_sense(void **state)
{
    static const char *const bad[] = {
        "{\"metricCollectPolicy\":{\"aggregateDurationSeconds\":120,\"reportIntervalSeconds\":"
        "\"soon\"}}",
        "{\"metricCollectPolicy\":{\"aggregateDurationSeconds\":120,\"reportIntervalSeconds\":-5}}",
        "{\"metricCollectPolicy\":{\"aggregateDurationSeconds\":120,\"nodeAggregatePolicy\":{"
        "\"durations\":[\"5m\",\"x\"]}}}",
        "{\"metricCollectPolicy\":{\"aggregateDurationSeconds\":120,\"nodeAggregatePolicy\":{"
        "\"durations\":[\"-5m\"]}}}",
        "{\"metricCollectPolicy\":{\"aggregateDurationSeconds\":120,\"nodeMemoryCollectPolicy\":"
        "\"all\"}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct collect_policy p;
        struct kerr err = { 0 };
        assert_int_equal(kj_parse(bad[i], strlen(bad[i]), 0, &doc, &err), 0);
        policy_decode(kj_root(doc), &p, &err);
        assert_int_equal(err.code, -EINVAL);
        assert_int_equal(p.aggregate, 120 * NSEC_PER_SEC);
        assert_int_equal(p.report_interval, 60 * NSEC_PER_SEC);
        assert_int_equal(p.ndurations, 3);
        assert_int_equal(p.memory, MEMORY_WITHOUT_PAGE_CACHE);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_news_are_of_labels_and_annotations),
        cmocka_unit_test(test_one_bad_part_of_a_nodeslo),
        cmocka_unit_test(test_three_changes_are_told_once),
        cmocka_unit_test(test_three_changes_while_telling_are_one_more),
        cmocka_unit_test(test_collect_policy_has_defaults_and_minima),
        cmocka_unit_test(test_collect_policy_keeps_what_makes_sense),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
