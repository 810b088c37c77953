/* test_loadwishes.c - pods that wait for load to fall are tried when it has fallen enough for them,
 * and not at every report. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/registry.h"

#define METRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_load_aware_scheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void report(struct engine_fixture *b, const char *node, int mcpu)
{
    char body[512], now[KTIME_TEXT_MAX];

    ktime_format(loop_wall(b->client.loop), now);
    (void)snprintf(body, sizeof body,
                   "{\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{\"nodeUsage\":{"
                   "\"resources\":{\"cpu\":\"%dm\",\"memory\":\"1Gi\"}}}}}",
                   now, mcpu);
    fake_put(b->client.fake, METRICS, node, body);
    client_fixture_run(&b->client, 2 * SEC);
}

/* Two busy nodes of 10 CPUs, of which 65% may be used. */
static void start(struct engine_fixture *b)
{
    engine_start_with(b, 1, table);
    engine_node(b, "n1", 10000, 65536, 110, "");
    engine_node(b, "n2", 10000, 65536, 110, "");
    report(b, "n1", 9000);
    report(b, "n2", 9000);
}

static void start_with(struct engine_fixture *b, const char *args, struct arena *a)
{
    struct profile_config c = profile_config_default(table, "koord-scheduler", a);
    struct profile_args *own = arena_new0(a, struct profile_args);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    void *decoded = NULL;

    assert_int_equal(kj_parse(args, strlen(args), 0, &doc, NULL), 0);
    assert_int_equal(args_decode(&loadaware_args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                                 &decoded, NULL),
                     0);
    *own = (struct profile_args){ "LoadAwareScheduling", decoded };
    c.args = own;
    c.nargs = 1;
    engine_start_opts(b, 1,
                      (struct scheduler_opts){ .profiles = &c, .nprofiles = 1, .plugins = table });
}

static uint64_t attempts(const struct engine_fixture *b)
{
    return scheduler_stats(b->s).attempts;
}

static void test_woken_when_there_is_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "large", 4000, 1024, ""); /* 3.4 CPUs by estimate */
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    uint64_t before = attempts(&b);
    report(&b, "n1", 8900);
    report(&b, "n2", 8000);
    report(&b, "n1", 5000); /* less, but not enough */
    assert_int_equal(attempts(&b), before);
    report(&b, "n2", 3000);
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "large"), "n2");
    assert_int_equal(attempts(&b), before + 1);
    engine_verify(&b);
}

/* Each waits for what it needs. */
static void test_others_sleep_on(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "large", 4000, 1024, "");
    engine_pod(&b, "small", 1000, 1024, "");
    client_fixture_run(&b.client, 5 * SEC);
    uint64_t before = attempts(&b);
    report(&b, "n1", 5000);
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "small"), "n1");
    assert_string_equal(engine_node_of(&b, "large"), "");
    assert_int_equal(attempts(&b), before + 1);
}

/* A pod that was placed and not yet observed counts by its estimate; when it goes, there is room.
 */
static void test_woken_when_a_pod_goes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    report(&b, "n1", 3000);
    engine_pod(&b, "first", 4000, 1024, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "first"), "n1");
    engine_pod(&b, "second", 4000, 1024, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "second"), "");
    fake_delete(b.client.fake, PODS, "first");
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "second"), "n1");
    engine_verify(&b);
}

static void test_woken_by_a_new_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "p", 4000, 1024, "");
    client_fixture_run(&b.client, 5 * SEC);
    engine_node(&b, "n3", 10000, 65536, 110, "");
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n3");
}

/* A node that was silent for too long reports again. */
static void test_woken_by_a_report_after_silence(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    client_fixture_run(&b.client, 200 * SEC);
    engine_pod(&b, "p", 1000, 1024, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    report(&b, "n1", 1000);
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

/* Expired reports keep nobody away here, so one that expires makes room. */
static void test_woken_when_a_report_expires(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new(); /* outlives the scheduler */
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_with(&b, "{\"enableScheduleWhenNodeMetricsExpired\":true}", a);
    engine_node(&b, "n1", 10000, 65536, 110, "");
    report(&b, "n1", 9000);
    engine_pod(&b, "p", 4000, 1024, "");
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    uint64_t before = attempts(&b);
    client_fixture_run(&b.client, 130 * SEC); /* 180 s after the report */
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_int_equal(attempts(&b), before + 1);
}

#define SLOS "/apis/slo.koordinator.sh/v1alpha1/nodeslos"

static void slo(struct engine_fixture *b, const char *node, bool enable)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"enable\":%s,"
                   "\"memoryEvictThresholdPercent\":1}}}",
                   enable ? "true" : "false");
    fake_put(b->client.fake, SLOS, node, body);
    client_fixture_run(&b->client, 2 * SEC);
}

/* koordlet would evict it, until the NodeSLO changes. */
static void test_woken_when_nobody_evicts_any_more(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, table);
    engine_node(&b, "n1", 10000, 65536, 110, "");
    report(&b, "n1", 1000);
    slo(&b, "n1", true);
    fake_put(b.client.fake, PODS, "be",
             "{\"metadata\":{\"labels\":{\"koordinator.sh/qosClass\":\"BE\"}},\"spec\":{"
             "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "be"), "");
    assert_contains(engine_condition(&b, "be", "message"),
                    "1 node(s) memory usage exceed eviction threshold 1% of NodeSLO (usage "
                    "threshold 95%)");
    slo(&b, "n1", false);
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "be"), "n1");
    engine_verify(&b);
}

/* A server that does not know NodeSLOs, or does not let us read them, keeps nobody waiting. */
static void test_nodeslos_are_optional(void **state)
{
    static const int answers[] = { 403, 404 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        CLEANUP(client_fixture_fini) struct client_fixture r;
        client_fixture_init(&r, 1);
        fake_answer_next_to(r.fake, "GET", SLOS, 1000, answers[i]);
        struct kerr err = { 0 };
        CLEANUP(scheduler_free)
        struct scheduler *s =
            scheduler_new(r.loop, r.kube, &(struct scheduler_opts){ .plugins = table }, &err);
        assert_non_null(s);
        scheduler_start(s);
        client_fixture_run(&r, 5 * SEC);
        assert_true(scheduler_synced(s));
        fake_answer_next_to(r.fake, "GET", SLOS, 0, 200); /* it may be read later */
        client_fixture_run(&r, 120 * SEC);
        assert_true(scheduler_synced(s));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_woken_when_there_is_room),
        cmocka_unit_test(test_others_sleep_on),
        cmocka_unit_test(test_woken_when_a_pod_goes),
        cmocka_unit_test(test_woken_by_a_new_node),
        cmocka_unit_test(test_woken_by_a_report_after_silence),
        cmocka_unit_test(test_woken_when_a_report_expires),
        cmocka_unit_test(test_woken_when_nobody_evicts_any_more),
        cmocka_unit_test(test_nodeslos_are_optional),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
