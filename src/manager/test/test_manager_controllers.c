/* test_manager_controllers.c - what the controllers write, when, and what they leave alone. */
#include "base/test/asserts.h"
#include "fixture_manager.h"

#define BATCH_ON \
    "{\"enable\":true,\"cpuReclaimThresholdPercent\":65,\"memoryReclaimThresholdPercent\":65}"
#define ALLOCATABLE "status.allocatable"
#define BATCH_CPU   "kubernetes.io/batch-cpu"

static const char *batch_cpu(struct fixture *f, const char *node)
{
    return fixture_get(f, NODES, node, ALLOCATABLE, BATCH_CPU);
}

/* ---- objects that go with nodes -------------------------------------------------------------- */

static void test_a_node_has_its_objects_as_long_as_it_is_there(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fake_put(f.r.fake, METRICS, "stale", "{}"); /* of a node that went while nobody looked */
    fixture_start(&f);
    assert_string_equal(
        fixture_get(&f, METRICS, "a", "spec.metricCollectPolicy", "reportIntervalSeconds"), "60");
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec", "systemStrategy"),
                        "{\"totalNetworkBandwidth\":\"0\"}");
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec", "extensions"), "{\"Object\":{}}");
    assert_null(fake_find(f.r.fake, METRICS, "stale"));
    fake_delete(f.r.fake, NODES, "a");
    fixture_run(&f, SECONDS(5));
    assert_null(fake_find(f.r.fake, METRICS, "a"));
    assert_null(fake_find(f.r.fake, SLOS, "a"));
}

static void test_only_what_differs_is_written(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fixture_config(&f, "resource-threshold-config", "{\"clusterStrategy\":{\"enable\":true}}");
    fixture_start(&f);
    fixture_reset(&f);
    fixture_config(&f, "resource-threshold-config",
                   "{\"clusterStrategy\":{\"enable\":true,\"cpuSuppressThresholdPercent\":60}}");
    fixture_run(&f, SECONDS(5));
    assert_string_equal(strbuf_str(&f.writes),
                        "PATCH " SLOS "/a {\"spec\":{\"resourceUsedThresholdWithBE\":"
                        "{\"cpuSuppressThresholdPercent\":60}}};");
    fixture_reset(&f); /* somebody's hand is put right */
    fake_patch(f.r.fake, SLOS, "a",
               "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"enable\":false}}}");
    fixture_run(&f, SECONDS(5));
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec.resourceUsedThresholdWithBE", "enable"),
                        "true");
    assert_int_equal(f.nwrites, 1);
}

static void test_extensions_of_others_stay(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fake_put(f.r.fake, SLOS, "a", "{\"spec\":{\"extensions\":{\"Object\":{\"mine\":1}}}}");
    fixture_start(&f);
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec", "extensions"),
                        "{\"Object\":{\"mine\":1}}");
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec.cpuBurstStrategy", "policy"), "none");
}

/* ---- resources of nodes ---------------------------------------------------------------------- */

static void start_with_report(struct fixture *f)
{
    fixture_init(f, NULL);
    fake_put(f->r.fake, NODES, "a", PLAIN_NODE);
    fixture_config(f, "colocation-config", BATCH_ON);
    fixture_start(f);
    fixture_report(f, "a", 7);
    fixture_run(f, SECONDS(2));
}

static void test_nodes_follow_their_reports(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    assert_string_equal(batch_cpu(&f, "a"), "58k"); /* 100 - 35 - 7 */
    assert_string_equal(fixture_get(&f, NODES, "a", "status.capacity", BATCH_CPU), "58k");
    fixture_reset(&f);
    fixture_report(&f, "a", 10); /* 55k: within the threshold */
    fixture_run(&f, SECONDS(60));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    assert_int_equal(f.nwrites, 0);
    fixture_report(&f, "a", 40);
    fixture_run(&f, SECONDS(2));
    assert_string_equal(batch_cpu(&f, "a"), "25k");
    /* Small differences are written five minutes after the last write. */
    fixture_report(&f, "a", 41);
    fixture_run(&f, SECONDS(250));
    assert_string_equal(batch_cpu(&f, "a"), "25k");
    fixture_run(&f, SECONDS(60));
    fixture_report(&f, "a", 41);
    fixture_run(&f, SECONDS(2));
    assert_string_equal(batch_cpu(&f, "a"), "24k");
}

static void test_pods_are_read_at_each_report(void **state)
{
    static const char web[] =
        "{\"metadata\":{\"labels\":{\"koordinator.sh/qosClass\":\"LS\"}},\"spec\":{\"nodeName\":"
        "\"a\",\"priority\":9500,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
        "{\"cpu\":\"20\",\"memory\":\"20G\"}}}]},\"status\":{\"phase\":\"Running\"}}";
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fake_put(f.r.fake, PODS, "web", web);
    fixture_run(&f, SECONDS(5));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fixture_report(&f, "a", 7); /* it has no metric yet: its request counts */
    fixture_run(&f, SECONDS(2));
    assert_string_equal(batch_cpu(&f, "a"), "38k");
    assert_int_equal(manager_stats(f.m).pods, 1);
}

static void test_stale_reports_take_the_names_away(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fixture_run(&f, SECONDS(14 * 60));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fixture_run(&f, SECONDS(70)); /* no news came, only time passed */
    assert_string_equal(batch_cpu(&f, "a"), "");
    fixture_report(&f, "a", 7);
    fixture_run(&f, SECONDS(2));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fake_delete(f.r.fake, METRICS, "a");
    fixture_run(&f, SECONDS(5));
    assert_string_equal(batch_cpu(&f, "a"), "");
}

static void test_a_heartbeat_costs_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fixture_run(&f, SECONDS(30));
    struct manager_stats before = manager_stats(f.m);
    for (int i = 0; i < 5; i++) {
        fake_patch(f.r.fake, NODES, "a",
                   "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
        fixture_run(&f, SECONDS(1));
    }
    assert_int_equal(manager_stats(f.m).syncs, before.syncs);
    assert_int_equal(manager_stats(f.m).writes, before.writes);
}

static void test_what_is_put_on_a_node_by_hand_is_removed(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fake_patch(f.r.fake, NODES, "a",
               "{\"metadata\":{\"annotations\":{\"node.koordinator.sh/"
               "resource-amplification-ratio\":\"{\\\"cpu\\\":2.00}\"}},\"status\":"
               "{\"allocatable\":{\"kubernetes.io/batch-cpu\":\"90k\"}}}");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    assert_string_equal(fixture_get(&f, NODES, "a", "metadata.annotations",
                                    "node.koordinator.sh/resource-amplification-ratio"),
                        "");
}

static void test_zones_and_devices(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fake_put(f.r.fake, TOPOLOGIES, "a",
             "{\"zones\":[{\"name\":\"node-0\",\"type\":\"Node\",\"resources\":[{\"name\":\"cpu\","
             "\"capacity\":\"100\",\"allocatable\":\"100\",\"available\":\"100\"}]}]}");
    fake_put(f.r.fake, DEVICES, "a",
             "{\"spec\":{\"devices\":[{\"type\":\"rdma\",\"health\":true}]}}");
    fixture_run(&f, SECONDS(2));
    assert_contains(fake_find(f.r.fake, TOPOLOGIES, "a"), "\"58k\"");
    assert_string_equal(fixture_get(&f, NODES, "a", ALLOCATABLE, "koordinator.sh/rdma"), "100");
    fake_delete(f.r.fake, DEVICES, "a");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(fixture_get(&f, NODES, "a", ALLOCATABLE, "koordinator.sh/rdma"), "");
}

/* ---- nodes in trouble ------------------------------------------------------------------------ */

#define ADAPTIVE                                                                    \
    "{\"enable\":true,\"cpuReclaimThresholdPercent\":65,\"extensions\":{\"koord\":" \
    "{\"adaptive\":{\"enable\":true}}}}"

static const char *suppress(struct fixture *f)
{
    return fixture_get(f, SLOS, "a", "spec.resourceUsedThresholdWithBE",
                       "cpuSuppressThresholdPercent");
}

static void start_adaptive(struct fixture *f)
{
    fixture_init(f, NULL);
    fake_put(f->r.fake, NODES, "a", PLAIN_NODE);
    fixture_config(f, "colocation-config", ADAPTIVE);
    fixture_start(f);
}

static void test_a_hot_node_gives_less_and_says_why(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_adaptive(&f);
    fixture_report(&f, "a", 10);
    fixture_run(&f, SECONDS(60));
    assert_string_equal(batch_cpu(&f, "a"), "55k");
    assert_string_equal(suppress(&f), "65");
    fixture_report(&f, "a", 70); /* of 100 cores, with 65 as the threshold */
    fixture_run(&f, SECONDS(5));
    assert_string_equal(suppress(&f), "55");
    assert_int_equal(f.events, 1);
    assert_contains(f.last_event, "Warning Node ColocationReduced: reclaim thresholds are 10 "
                                  "(cpu) and 0 (memory) points below the configured ones: "
                                  "cpu use of 70% is above 65%");
    fixture_run(&f, SECONDS(55));
    fixture_report(&f, "a", 10);
    fixture_run(&f, SECONDS(5));
    assert_string_equal(batch_cpu(&f, "a"), "45k");
    for (int i = 0; i < 40; i++) {
        fixture_run(&f, SECONDS(60));
        fixture_report(&f, "a", 10);
    }
    fixture_run(&f, SECONDS(5));
    assert_string_equal(suppress(&f), "65");
    assert_string_equal(batch_cpu(&f, "a"), "55k");
    assert_contains(f.last_event, "Normal Node ColocationRestored");
    assert_string_equal(fixture_get(&f, SLOS, "a", "spec", "extensions"), "{\"Object\":{}}");
}

static void test_the_next_leader_goes_on_from_there(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_adaptive(&f);
    fixture_report(&f, "a", 70);
    fixture_run(&f, SECONDS(5));
    assert_string_equal(suppress(&f), "55");
    manager_free(f.m);
    f.m = manager_new(f.r.loop, f.r.kube, &(struct manager_opts){ 0 });
    fixture_start(&f);
    assert_string_equal(suppress(&f), "55");
    fixture_report(&f, "a", 10);
    fixture_run(&f, SECONDS(5));
    assert_string_equal(batch_cpu(&f, "a"), "45k");
    fixture_config(&f, "colocation-config", "{\"enable\":true,\"cpuReclaimThresholdPercent\":65}");
    fixture_run(&f, SECONDS(5)); /* switched off: all is as configured */
    assert_string_equal(suppress(&f), "65");
    assert_string_equal(batch_cpu(&f, "a"), "55k");
}

static void test_evictions_by_koordlet_are_heard_of(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    char when[KTIME_TEXT_MAX], body[256];

    (void)state;
    start_adaptive(&f);
    fixture_report(&f, "a", 10);
    fixture_run(&f, SECONDS(30));
    ktime_format(loop_wall(f.r.loop), when);
    (void)snprintf(body, sizeof body,
                   "{\"reason\":\"evictPodSuccess\",\"source\":{\"host\":\"a\"},"
                   "\"lastTimestamp\":\"%s\"}",
                   when);
    fake_put(f.r.fake, "/api/v1/namespaces/ns/events", "e", body);
    fixture_run(&f, SECONDS(30));
    fixture_report(&f, "a", 10);
    fixture_run(&f, SECONDS(5));
    assert_contains(f.last_event, "koordlet evicted 1 pods");
    assert_string_equal(suppress(&f), "55");
}

/* ---- the configuration ----------------------------------------------------------------------- */

static void test_a_bad_key_has_its_event_and_keeps_its_value(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fixture_config(&f, "colocation-config", "{bad");
    fixture_run(&f, SECONDS(5));
    assert_int_equal(f.events, 1);
    assert_contains(f.last_event,
                    "Warning ConfigMap ColocationCfgUnmarshalFailed: failed to unmarshal "
                    "colocation config, err: ");
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fake_put(f.r.fake, NODES, "b", PLAIN_NODE); /* new nodes get the last good configuration */
    fixture_run(&f, SECONDS(5));
    assert_non_null(fake_find(f.r.fake, METRICS, "b"));
}

static void test_a_bad_key_at_the_start_stops_only_what_needs_it(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fixture_config(&f, "colocation-config", "{bad");
    fixture_start(&f);
    assert_null(fake_find(f.r.fake, METRICS, "a"));
    assert_non_null(fake_find(f.r.fake, SLOS, "a"));
    assert_string_equal(batch_cpu(&f, "a"), "");
    fixture_config(&f, "colocation-config", BATCH_ON);
    fixture_run(&f, SECONDS(5));
    assert_non_null(fake_find(f.r.fake, METRICS, "a"));
}

static void test_a_deleted_configuration_counts_for_a_minute(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start_with_report(&f);
    fake_delete(f.r.fake, CONFIGMAPS, CONFIG);
    fixture_run(&f, SECONDS(50));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fixture_config(&f, "colocation-config", BATCH_ON); /* it was only installed anew */
    fixture_run(&f, SECONDS(60));
    assert_string_equal(batch_cpu(&f, "a"), "58k");
    fake_delete(f.r.fake, CONFIGMAPS, CONFIG);
    fixture_run(&f, SECONDS(70));
    assert_string_equal(batch_cpu(&f, "a"), "");
}

static void test_a_change_reaches_nodes_over_seconds(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    char name[16];

    (void)state;
    fixture_init(&f, &(struct manager_opts){ .without_controllers = ~(1u << MANAGER_NODESLO) });
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        fake_put(f.r.fake, NODES, name, PLAIN_NODE);
    }
    fixture_start(&f);
    fixture_run(&f, SECONDS(20));
    fixture_reset(&f);
    fixture_config(&f, "cpu-burst-config", "{\"clusterStrategy\":{\"policy\":\"auto\"}}");
    fixture_run(&f, SECONDS(1));
    assert_in_range(f.nwrites, 100, 500);
    fixture_run(&f, SECONDS(5));
    assert_int_equal(f.nwrites, 1000);
}

/* ---- who acts -------------------------------------------------------------------------------- */

static void test_nothing_is_written_before_it_leads(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fixture_config(&f, "colocation-config", "{bad");
    manager_watch(f.m);
    fixture_run(&f, SECONDS(60));
    assert_true(manager_synced(f.m));
    assert_int_equal(f.nwrites, 0);
    assert_int_equal(f.events, 0);
    manager_lead(f.m);
    fixture_run(&f, SECONDS(5));
    assert_that(f.nwrites, >, 0);
    assert_int_equal(f.events, 1); /* what is wrong is told by who leads */
}

static void test_controllers_can_be_left_out(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, &(struct manager_opts){ .without_controllers = ~(1u << MANAGER_NODEMETRIC) });
    fake_put(f.r.fake, NODES, "a", PLAIN_NODE);
    fixture_start(&f);
    assert_non_null(fake_find(f.r.fake, METRICS, "a"));
    assert_null(fake_find(f.r.fake, SLOS, "a"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_has_its_objects_as_long_as_it_is_there),
        cmocka_unit_test(test_only_what_differs_is_written),
        cmocka_unit_test(test_extensions_of_others_stay),
        cmocka_unit_test(test_nodes_follow_their_reports),
        cmocka_unit_test(test_pods_are_read_at_each_report),
        cmocka_unit_test(test_stale_reports_take_the_names_away),
        cmocka_unit_test(test_a_heartbeat_costs_nothing),
        cmocka_unit_test(test_what_is_put_on_a_node_by_hand_is_removed),
        cmocka_unit_test(test_zones_and_devices),
        cmocka_unit_test(test_a_hot_node_gives_less_and_says_why),
        cmocka_unit_test(test_the_next_leader_goes_on_from_there),
        cmocka_unit_test(test_evictions_by_koordlet_are_heard_of),
        cmocka_unit_test(test_a_bad_key_has_its_event_and_keeps_its_value),
        cmocka_unit_test(test_a_bad_key_at_the_start_stops_only_what_needs_it),
        cmocka_unit_test(test_a_deleted_configuration_counts_for_a_minute),
        cmocka_unit_test(test_a_change_reaches_nodes_over_seconds),
        cmocka_unit_test(test_nothing_is_written_before_it_leads),
        cmocka_unit_test(test_controllers_can_be_left_out),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
