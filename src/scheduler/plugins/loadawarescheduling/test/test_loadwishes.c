/* test_loadwishes.c - pods that wait for load to fall are tried when it has fallen enough for them,
 * and not at every report. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_woken_when_there_is_room),
        cmocka_unit_test(test_others_sleep_on),
        cmocka_unit_test(test_woken_when_a_pod_goes),
        cmocka_unit_test(test_woken_by_a_new_node),
        cmocka_unit_test(test_woken_by_a_report_after_silence),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
