/* test_quotaengine.c - pods that wait for quota in a whole engine: they are told why, and tried
 * when there is room, wherever it comes from. */
#include "quota_engine.h"

#include "component/gates.h"
#include "scheduler/framework/gates.h"

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 15 * SEC); /* a pod may be backing off */
}

static bool runs(const struct engine_fixture *b, const char *pod)
{
    return *engine_node_of(b, pod) != '\0';
}

static void test_a_pod_without_room_is_told(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "p1", "a", 8, "");
    settle(&b);
    assert_true(runs(&b, "p1"));
    quota_pod(&b, "p2", "a", 4, "");
    settle(&b);
    assert_false(runs(&b, "p2"));
    assert_non_null(strstr(engine_condition(&b, "p2", "message"),
                           "Insufficient quotas, quotaName: a, runtime: cpu:10,memory:10Gi, used: "
                           "cpu:8,memory:8Gi, pod's request: cpu:4,memory:4Gi, exceedDimensions: "
                           "[cpu memory]"));
    assert_string_equal(engine_condition(&b, "p2", "reason"), "Unschedulable");
    uint64_t before = quota_attempts(&b);
    fake_delete(b.client.fake, PODS, "p1");
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "p2"));
    assert_int_equal(quota_attempts(&b), before + 1);
    engine_verify(&b);
}

/* A new configuration is taken over with all that is known. */
static void test_reload_keeps_the_numbers(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start_args(&b, 100, "{}");
    engine_quota(&b, "top", "\"is-parent\":\"true\"", 10, 5);
    engine_quota(&b, "a", "\"parent\":\"top\"", 20, 5);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "p1", "a", 8, "");
    settle(&b);
    quota_engine_config(&b, "{\"enableRuntimeQuota\":false,\"enableCheckParentQuota\":true}", true);
    quota_pod(&b, "p2", "a", 4, "");
    settle(&b);
    assert_false(runs(&b, "p2"));
    assert_non_null(strstr(engine_condition(&b, "p2", "message"),
                           "Insufficient quotas, quotaNameTopo: [top a], runtime: cpu:10,"
                           "memory:10Gi, used: cpu:8,memory:8Gi, pod's request: cpu:4"));
    quota_engine_config(&b, "{\"enableRuntimeQuota\":false}", true);
    settle(&b);
    assert_true(runs(&b, "p2")); /* max of its own quota is the limit now */
}

/* a and b share ten CPUs; w waits in a for two more. */
static void two_quotas(struct engine_fixture *b)
{
    quota_start(b, 10);
    engine_quota(b, "a", "", 10, 5);
    engine_quota(b, "b", "", 10, 5);
    client_fixture_run(&b->client, SEC);
    quota_pod(b, "b1", "b", 5, "");
    quota_pod(b, "a1", "a", 5, "");
    settle(b);
    assert_true(runs(b, "a1") && runs(b, "b1"));
    quota_pod(b, "w", "a", 2, "");
    settle(b);
    assert_false(runs(b, "w"));
}

static void test_a_sibling_that_asks_for_less(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    two_quotas(&b);
    fake_delete(b.client.fake, PODS, "b1");
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "w"));
}

static void test_a_node_that_comes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    two_quotas(&b);
    engine_node(&b, "n2", 10000, 10240, 110, "");
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "w"));
}

static void test_a_quota_that_changes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "w", "a", 20, "");
    settle(&b);
    assert_false(runs(&b, "w"));
    uint64_t before = quota_attempts(&b);
    fake_patch(b.client.fake, QUOTAS, "a",
               "{\"metadata\":{\"annotations\":{\"" ANNO_QUOTA_RUNTIME "\":\"{}\"}}}");
    settle(&b);
    assert_int_equal(quota_attempts(&b), before); /* a status that is written wakes nobody */
    engine_quota(&b, "a", "", 30, 5);
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "w"));
}

static void put_tree(struct engine_fixture *b, int total)
{
    char body[600];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_TREE_ID
                   "\":\"t\",\"" LABEL_QUOTA_IS_ROOT "\":\"true\",\"" LABEL_QUOTA_IS_PARENT
                   "\":\"true\"},\"annotations\":{\"" ANNO_QUOTA_TOTAL_RESOURCE
                   "\":\"{\\\"cpu\\\":\\\"%d\\\"}\"}},\"spec\":{\"max\":{\"cpu\":"
                   "\"1000\"}}}",
                   total);
    fake_put(b->client.fake, QUOTAS, "head", body);
}

/* koord#2443: another total of the tree is room from elsewhere, too. */
static void test_a_tree_that_grows(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct kerr err = { 0 };
    struct gates gates;

    (void)state;
    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, "MultiQuotaTree=true", &err), 0);
    engine_start_opts(&b, 1, (struct scheduler_opts){ .plugins = quota_table, .gates = &gates });
    engine_node(&b, "n1", 100000, 100 * 1024, 110, "");
    put_tree(&b, 4);
    engine_quota(&b, "leaf", "\"parent\":\"head\",\"tree-id\":\"t\"", 50, 0);
    client_fixture_run(&b.client, 2 * SEC);
    quota_pod(&b, "p1", "leaf", 4, "");
    quota_pod(&b, "p2", "leaf", 4, "");
    settle(&b);
    assert_int_equal(runs(&b, "p1") + runs(&b, "p2"), 1);
    put_tree(&b, 8);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(runs(&b, "p1") + runs(&b, "p2"), 2);
}

static void test_a_quota_that_goes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "w", "a", 20, "");
    settle(&b);
    assert_false(runs(&b, "w"));
    fake_delete(b.client.fake, QUOTAS, "a"); /* the pod belongs to the default quota now */
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "w"));
}

static void test_others_are_not_tried(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 0);
    engine_quota(&b, "b", "", 10, 0);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "a1", "a", 10, "");
    quota_pod(&b, "b1", "b", 10, "");
    settle(&b);
    for (int i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w%d", i);
        quota_pod(&b, name, i < 10 ? "a" : "b", 6, "");
    }
    settle(&b);
    uint64_t before = quota_attempts(&b);
    fake_delete(b.client.fake, PODS, "a1");
    settle(&b);
    assert_int_equal(quota_attempts(&b), before + 10); /* those of a: one fits, nine are told */
}

static void test_pods_of_other_schedulers_count(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 0);
    client_fixture_run(&b.client, SEC);
    fake_put(b.client.fake, PODS, "other",
             "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_NAME "\":\"a\"}},\"spec\":{"
             "\"schedulerName\":\"else\",\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\","
             "\"resources\":{\"requests\":{\"cpu\":\"8\",\"memory\":\"1Gi\"}}}]}}");
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "p", "a", 4, "");
    settle(&b);
    assert_false(runs(&b, "p"));
    fake_delete(b.client.fake, PODS, "other");
    client_fixture_run(&b.client, SEC);
    assert_true(runs(&b, "p"));
}

/* A Reservation is not charged: the pods that use it are. */
static void test_placeholders_do_not_count(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 0);
    client_fixture_run(&b.client, SEC);
    fake_put(b.client.fake, PODS, "reserve",
             "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_NAME
             "\":\"a\"},\"annotations\":{\"" ANNO_RESERVE_POD
             "\":\"true\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{"
             "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"8\"}}}]}}");
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "p", "a", 9, "");
    settle(&b);
    assert_true(runs(&b, "p"));
}

static void test_room_within_the_quota(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 0);
    engine_quota(&b, "b", "", 10, 0);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "low", "a", 6, ",\"priority\":1");
    quota_pod(&b, "mid", "a", 4, ",\"priority\":2");
    quota_pod(&b, "else", "b", 10, ",\"priority\":0");
    settle(&b);
    assert_true(runs(&b, "low") && runs(&b, "mid") && runs(&b, "else"));
    quota_pod(&b, "high", "a", 5, ",\"priority\":10");
    settle(&b);
    assert_true(runs(&b, "high"));
    assert_null(fake_find(b.client.fake, PODS, "low"));
    assert_non_null(fake_find(b.client.fake, PODS, "mid"));
    assert_non_null(fake_find(b.client.fake, PODS, "else"));
}

/* The nodes are full too, but pods of another quota give this one no room. */
static void test_no_victims_in_vain(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 10);
    engine_quota(&b, "a", "", 4, 0);
    engine_quota(&b, "b", "", 10, 0);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "a1", "a", 3, ",\"priority\":50");
    quota_pod(&b, "b1", "b", 7, ",\"priority\":1");
    settle(&b);
    assert_true(runs(&b, "a1") && runs(&b, "b1"));
    quota_pod(&b, "high", "a", 3, ",\"priority\":10");
    settle(&b);
    assert_false(runs(&b, "high"));
    assert_non_null(fake_find(b.client.fake, PODS, "b1"));
}

/* The quota is above its limit in something that the pod does not ask for: one victim gives enough
 * CPUs, and the pod would still not be let in. */
static void test_no_victims_for_a_pod_that_stays_out(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 10);
    engine_quota(&b, "a", "", 6, 0);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "low1", "a", 3, ",\"priority\":1");
    quota_pod(&b, "low2", "a", 3, ",\"priority\":2");
    settle(&b);
    assert_true(runs(&b, "low1") && runs(&b, "low2"));
    fake_put(b.client.fake, QUOTAS, "a",
             "{\"metadata\":{\"labels\":{}},\"spec\":{\"max\":{\"cpu\":\"6\",\"memory\":\"1Gi\"},"
             "\"min\":{\"cpu\":\"0\",\"memory\":\"0\"}}}");
    client_fixture_run(&b.client, 5 * SEC);
    fake_put(b.client.fake, PODS, "high",
             "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_NAME
             "\":\"a\"}},\"spec\":{\"priority\":10,"
             "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
             "\"requests\":{\"cpu\":\"3\"}}}]}}");
    settle(&b);
    assert_false(runs(&b, "high"));
    assert_true(runs(&b, "low1") && runs(&b, "low2"));
    assert_string_equal(engine_get(&b, "high", "status.nominatedNodeName"), "");
}

/* The same wherever ElasticQuota stands among those that make room. */
static void test_the_order_of_plugins_does_not_matter(void **state)
{
    static const struct ks_registered last[] = {
        { &ks_plugin_priority_sort, 0, true },      { &ks_plugin_fit, 1, true },
        { &ks_plugin_default_preemption, 0, true }, { &ks_plugin_default_binder, 0, true },
        { &ks_plugin_elastic_quota, 0, true },      { NULL, 0, false },
    };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, last);
    engine_node(&b, "n1", 10000, 10 * 1024, 110, "");
    engine_quota(&b, "a", "", 4, 0);
    engine_quota(&b, "b", "", 10, 0);
    client_fixture_run(&b.client, 2 * SEC);
    quota_pod(&b, "a1", "a", 3, ",\"priority\":50");
    quota_pod(&b, "b1", "b", 7, ",\"priority\":1");
    settle(&b);
    quota_pod(&b, "high", "a", 3, ",\"priority\":10");
    settle(&b);
    assert_false(runs(&b, "high"));
    assert_non_null(fake_find(b.client.fake, PODS, "b1"));
    assert_string_equal(engine_get(&b, "high", "status.nominatedNodeName"), "");
}

/* koord#2449: pods that name no quota are nobody's victims, unless it is asked for. */
static void test_pods_without_a_quota_are_spared(void **state)
{
    static const char *const args[] = { "{\"enableRuntimeQuota\":false,\"defaultQuotaGroupMax\":{"
                                        "\"cpu\":\"4\"}}",
                                        "{\"enableRuntimeQuota\":false,\"defaultQuotaGroupMax\":{"
                                        "\"cpu\":\"4\"},\"disableDefaultQuotaPreemption\":false}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        quota_start_args(&b, 10, args[i]);
        client_fixture_run(&b.client, 5 * SEC); /* the built-in quota has its object */
        engine_pod(&b, "low", 3000, 64, ",\"priority\":1");
        settle(&b);
        assert_true(runs(&b, "low"));
        engine_pod(&b, "high", 3000, 64, ",\"priority\":10");
        settle(&b);
        assert_int_equal(runs(&b, "high"), i == 1);
        assert_int_equal(fake_find(b.client.fake, PODS, "low") == NULL, i == 1);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_without_room_is_told),
        cmocka_unit_test(test_reload_keeps_the_numbers),
        cmocka_unit_test(test_a_sibling_that_asks_for_less),
        cmocka_unit_test(test_a_node_that_comes),
        cmocka_unit_test(test_a_quota_that_changes),
        cmocka_unit_test(test_a_tree_that_grows),
        cmocka_unit_test(test_a_quota_that_goes),
        cmocka_unit_test(test_others_are_not_tried),
        cmocka_unit_test(test_pods_of_other_schedulers_count),
        cmocka_unit_test(test_placeholders_do_not_count),
        cmocka_unit_test(test_room_within_the_quota),
        cmocka_unit_test(test_no_victims_in_vain),
        cmocka_unit_test(test_no_victims_for_a_pod_that_stays_out),
        cmocka_unit_test(test_the_order_of_plugins_does_not_matter),
        cmocka_unit_test(test_pods_without_a_quota_are_spared),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
