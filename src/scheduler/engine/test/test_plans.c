/* test_plans.c - plans over several nodes, and who hears what became of an attempt
 * (scheduler-core 8.18, 10).
 */
#include "base/test/asserts.h"
#include "scheduler/test/fake_plugin.h"
#include "scheduler/test/pair_plugin.h"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &pair_plugin, 0, true },
    { &ks_plugin_default_preemption, 0, true },
    { &fake_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static bool has_node(const struct engine_fixture *b, const char *pod)
{
    return *engine_node_of(b, pod);
}

/* Nodes n1 and n2 are taken by low1 and low2. */
static void start(struct engine_fixture *b)
{
    fake_reset();
    fake.wait = 600 * SEC;
    pair = (struct pair_plugin){ .engine = b };
    engine_start_with(b, 1, plugins);
    engine_node(b, "n1", 1000, 4096, 10, "");
    engine_node(b, "n2", 1000, 4096, 10, "");
    client_fixture_run(&b->client, SEC);
    engine_pod(b, "low1", 800, 100, ",\"priority\":1");
    engine_pod(b, "low2", 800, 100, ",\"priority\":1");
    client_fixture_run(&b->client, SEC);
    assert_true(has_node(b, "low1") && has_node(b, "low2"));
}

static void start_pair(struct engine_fixture *b)
{
    engine_pod(b, "g1", 800, 100, ",\"priority\":10");
    engine_pod(b, "g2", 800, 100, ",\"priority\":10");
}

struct seen { /* what the server was told, in order */
    char nominated[64], deleted[64];
    const char *reason;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct seen *s = arg;
    const char *name = strstr(target, "/pods/"), *node;
    size_t n;

    (void)agent;
    if (!name)
        return;
    name += strlen("/pods/");
    node = kj_str(kj_path(body, "status.nominatedNodeName"));
    n = strlen(s->nominated);
    if (node)
        (void)snprintf(s->nominated + n, sizeof s->nominated - n, "%.2s:%s ", name, node);
    n = strlen(s->deleted);
    if (streq(method, "DELETE"))
        (void)snprintf(s->deleted + n, sizeof s->deleted - n, "%.4s ", name);
    if (strstr(target, "/pods/low") && streq(method, "PATCH"))
        s->reason =
            streq(kj_str_or(kj_path(kj_at(kj_path(body, "status.conditions"), 0), "message"), ""),
                  "koord-scheduler: two are coming")
                ? "ours"
                : "another";
}

static void test_both_nodes_are_cleared_for_both_pods(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct seen seen = { 0 };

    (void)state;
    start(&b);
    fake_on_write(b.client.fake, on_write, &seen);
    uint64_t before = scheduler_stats(b.s).attempts;
    start_pair(&b);
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(pair.plans, 1); /* the second waits for what was begun for both */
    assert_int_equal(scheduler_stats(b.s).victims, 2);
    assert_string_equal(seen.reason, "ours");
    assert_contains(seen.nominated, "g1:n");
    assert_contains(seen.nominated, "g2:n");
    assert_contains(seen.deleted, "low1");
    assert_contains(seen.deleted, "low2");
    assert_true(has_node(&b, "g1") && has_node(&b, "g2"));
    assert_that(scheduler_stats(b.s).attempts - before, <=, 6);
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
    engine_verify(&b);
}

static void test_all_or_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct seen seen = { 0 };

    (void)state;
    start(&b);
    fake_on_write(b.client.fake, on_write, &seen);
    pair.spared = "low2";
    start_pair(&b);
    client_fixture_run(&b.client, 10 * SEC);
    assert_that(pair.plans, >, 0);
    assert_string_equal(seen.reason, "another");
    /* The plugin found nothing for both; the next one was asked for each of them. */
    assert_true(has_node(&b, "g1") && has_node(&b, "g2"));
    engine_verify(&b);
}

/* The plan failed on one node: both look again, and find it as it is now. */
static void test_a_victim_that_stays(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_answer_next_to(b.client.fake, "PATCH", "/pods/low2", 1000, 409);
    start_pair(&b);
    client_fixture_run(&b.client, 5 * SEC);
    assert_null(fake_find(b.client.fake, PODS, "low1"));
    assert_non_null(fake_find(b.client.fake, PODS, "low2"));
    fake_answer_next(b.client.fake, 0, 0, -1);
    client_fixture_run(&b.client, 30 * SEC);
    assert_true(has_node(&b, "g1") && has_node(&b, "g2"));
    engine_verify(&b);
}

/* ---- the outcome ----------------------------------------------------------------------------- */

static void test_the_outcome_is_told(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "x", 5000, 100, ""); /* fits nowhere, and nobody helps */
    client_fixture_run(&b.client, SEC);
    assert_int_equal(pair.outcomes, 1);
    assert_int_equal(pair.code, KS_UNSCHEDULABLE);
    assert_int_equal(pair.carried_out, 0);
    assert_string_equal(pair.message, engine_condition(&b, "x", "message"));
    assert_contains(pair.message, "preemption: 0/2 nodes are available: ");
}

/* Before anything happens. */
static void test_a_plan_is_part_of_the_outcome(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    engine_pod(&b, "g0", 800, 100, ",\"priority\":0"); /* the first of the pair, with no right */
    client_fixture_run(&b.client, SEC);
    assert_int_equal(pair.outcomes, 1);
    engine_pod(&b, "g1", 800, 100, ",\"priority\":10");
    client_fixture_run(&b.client, 5 * NSEC_PER_MSEC);
    assert_int_equal(pair.outcomes, 2);
    assert_int_equal(pair.code, KS_SUCCESS);
    assert_int_equal(pair.carried_out, 1);
    assert_int_equal(pair.nodes, 2);
    assert_int_equal(pair.victims, 0); /* so far */
    assert_string_equal(pair.message, "0/2 nodes are available: 2 Insufficient cpu.");
    client_fixture_run(&b.client, 30 * SEC);
    assert_true(has_node(&b, "g0") && has_node(&b, "g1"));
}

/* As a gang does with its other members. */
static void test_pods_that_wait_may_be_rejected_then(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    fake.holds = "w";
    engine_pod(&b, "w", 100, 100, ",\"priority\":1");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    pair.rejects = "w";
    engine_pod(&b, "x", 5000, 100, "");
    client_fixture_run(&b.client, 10 * NSEC_PER_MSEC);
    assert_string_equal(engine_condition(&b, "w", "message"),
                        "0/1 nodes are available: 1 not alone.");
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_nodes_are_cleared_for_both_pods),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_a_victim_that_stays),
        cmocka_unit_test(test_the_outcome_is_told),
        cmocka_unit_test(test_a_plan_is_part_of_the_outcome),
        cmocka_unit_test(test_pods_that_wait_may_be_rejected_then),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
