/* test_preempt.c - victims are told and evicted, whatever the server says, and only while they are
 * in the way (scheduler-core 8.18, step 8).
 */
#include "base/test/asserts.h"
#include "scheduler/test/fake_plugin.h"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },      { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_preemption, 0, true }, { &fake_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },     { NULL, 0, false },
};

static void start(struct engine_fixture *b)
{
    fake_reset();
    fake.permit = KS_WAIT;
    fake.holds = "held";
    fake.wait = 600 * SEC;
    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 1000, 4096, 10, "");
    client_fixture_run(&b->client, SEC);
}

/* ---- conflicts ------------------------------------------------------------------------------- */

struct told { /* what reached the victim */
    int patched, deleted;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct told *t = arg;
    bool low = strstr(target, "/pods/low");

    (void)agent, (void)body;
    t->patched += low && streq(method, "PATCH");
    t->deleted += low && streq(method, "DELETE");
}

static void test_a_conflict_is_tried_again(void **state)
{
    static const char *const refused[] = { "PATCH", "DELETE" }; /* the condition, and the end */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        struct told told = { 0, 0 };
        start(&b);
        engine_pod(&b, "low", 800, 100, ",\"priority\":1");
        client_fixture_run(&b.client, SEC);
        assert_string_equal(engine_node_of(&b, "low"), "n");
        uint64_t before = scheduler_stats(b.s).attempts;
        fake_on_write(b.client.fake, on_write, &told);
        fake_answer_next_to(b.client.fake, refused[i], "/pods/low", 2, 409);
        engine_pod(&b, "high", 800, 100, ",\"priority\":10");
        client_fixture_run(&b.client, 20 * NSEC_PER_MSEC);
        assert_int_equal(told.patched, i);
        assert_int_equal(told.deleted, 0); /* it was refused so far */
        client_fixture_run(&b.client, 10 * SEC);
        assert_int_equal(told.patched, 1);
        assert_int_equal(told.deleted, 1);
        assert_string_equal(engine_node_of(&b, "high"), "n");
        /* No new plan was made for it. */
        assert_int_equal(scheduler_stats(b.s).victims, 1);
        assert_int_equal(scheduler_stats(b.s).attempts, before + 2);
        engine_verify(&b);
    }
}

static void test_a_victim_that_cannot_be_evicted(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct told told = { 0, 0 };

    (void)state;
    start(&b);
    engine_pod(&b, "low", 800, 100, ",\"priority\":1");
    client_fixture_run(&b.client, SEC);
    fake_on_write(b.client.fake, on_write, &told);
    fake_answer_next_to(b.client.fake, "PATCH", "/pods/low", 1000, 409);
    engine_pod(&b, "high", 800, 100, ",\"priority\":10");
    client_fixture_run(&b.client, 2 * SEC);
    assert_int_equal(told.patched, 0);
    assert_that(scheduler_stats(b.s).victims, >,
                1); /* there may be another way: it was looked for */
    fake_answer_next(b.client.fake, 0, 0, -1);
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "high"), "n");
    engine_verify(&b);
}

/* ---- victims that went ----------------------------------------------------------------------- */

static void test_who_left_its_node_is_spared(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "bound", 400, 100, ",\"priority\":2");
    engine_pod(&b, "held", 400, 100, ",\"priority\":1");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "bound"), "n");
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    fake_slow(b.client.fake, SEC);
    engine_pod(&b, "high", 1000, 100, ",\"priority\":10");
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(scheduler_stats(b.s).victims, 2);
    assert_int_equal(scheduler_stats(b.s).waiting, 1); /* its turn comes last */
    ks_reject(&fake.env, engine_uid(&b, "held"), "Fake", "come back later");
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
    client_fixture_run(&b.client, 30 * SEC);
    assert_null(fake_find(b.client.fake, PODS, "bound"));
    assert_string_equal(engine_node_of(&b, "high"), "n");
    assert_non_null(fake_find(b.client.fake, PODS, "held")); /* it took no room any more */
    assert_lacks(fake_find(b.client.fake, PODS, "held"), "DisruptionTarget");
    engine_verify(&b);
}

static void test_who_waits_for_a_permit_is_only_given_up(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "held", 800, 100, ",\"priority\":1");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    engine_pod(&b, "high", 800, 100, ",\"priority\":10");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "high"), "n");
    assert_non_null(fake_find(b.client.fake, PODS, "held"));
    assert_lacks(fake_find(b.client.fake, PODS, "held"), "DisruptionTarget");
    engine_verify(&b);
}

/* ---- a nominated node that is given up -------------------------------------------------------- */

static void test_room_that_was_claimed_is_free_for_others(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n", 1000, 4096, 10, "");
    fake_put(
        b.client.fake, PODS, "claims",
        "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"priority\":10,\"schedulingGates\":[{"
        "\"name\":\"g\"}],\"nodeSelector\":{\"disk\":\"tape\"},\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"800m\"}}}]},\"status\":{"
        "\"nominatedNodeName\":\"n\"}}");
    client_fixture_run(&b.client, SEC);
    engine_pod(&b, "other", 500, 100, ",\"priority\":1");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "other"), "");
    fake_patch(b.client.fake, PODS, "claims", "{\"spec\":{\"schedulingGates\":null}}");
    client_fixture_run(&b.client, 30 * SEC); /* it fits nowhere, and its claim ends */
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
    assert_string_equal(engine_node_of(&b, "other"), "n");
    engine_verify(&b);
}

/* The nomination comes when the pod waits already: the last write of a scheduler that has died. */
static void test_a_late_claim_does_not_keep_others_out(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n", 1000, 4096, 10, "");
    engine_pod(&b, "claims", 800, 100, ",\"priority\":10,\"nodeSelector\":{\"disk\":\"tape\"}");
    client_fixture_run(&b.client, 30 * SEC);
    fake_patch(b.client.fake, PODS, "claims", "{\"status\":{\"nominatedNodeName\":\"n\"}}");
    client_fixture_run(&b.client, SEC);
    engine_pod(&b, "other", 500, 100, ",\"priority\":1");
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
    assert_string_equal(engine_get(&b, "claims", "status.nominatedNodeName"), "");
    assert_string_equal(engine_node_of(&b, "other"), "n");
    engine_verify(&b);
}

/* Its victim takes its time: people are told that there is nothing to do (scheduler-core 11.2). */
static void test_a_pod_that_waits_for_its_victim_says_so(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_put(
        b.client.fake, PODS, "low",
        "{\"metadata\":{\"deletionTimestamp\":\"2025-11-15T09:46:40Z\",\"finalizers\":[\"x/y\"]},"
        "\"spec\":{\"schedulerName\":\"koord-scheduler\",\"nodeName\":\"n\",\"priority\":1,"
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"800m\"}}}]},"
        "\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
        "\"PreemptionByScheduler\"}]}}");
    fake_put(b.client.fake, PODS, "high",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"priority\":10,\"containers\":[{"
             "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"800m\"}}}]},\"status\":{"
             "\"nominatedNodeName\":\"n\"}}");
    client_fixture_run(&b.client, SEC);
    assert_contains(fake_find(b.client.fake, PODS, "high"),
                    " Suggestion: {type: WaitingVictimReleased, message: pods are leaving node n "
                    "for it}");
    assert_string_equal(engine_get(&b, "high", "status.nominatedNodeName"), "n");
    fake_delete(b.client.fake, PODS, "low");
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "high"), "n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_conflict_is_tried_again),
        cmocka_unit_test(test_a_victim_that_cannot_be_evicted),
        cmocka_unit_test(test_who_left_its_node_is_spared),
        cmocka_unit_test(test_who_waits_for_a_permit_is_only_given_up),
        cmocka_unit_test(test_room_that_was_claimed_is_free_for_others),
        cmocka_unit_test(test_a_late_claim_does_not_keep_others_out),
        cmocka_unit_test(test_a_pod_that_waits_for_its_victim_says_so),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
