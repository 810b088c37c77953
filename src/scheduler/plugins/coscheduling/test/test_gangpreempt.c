/* test_gangpreempt.c - room for a whole gang, or no eviction (sched-gang 6); and gangs in a network
 * (7.5). */
#include "gang_engine.h"

#define PRIORITY(n) ",\"priority\":" #n

static void soon(struct engine_fixture *b)
{
    client_fixture_run(&b->client, SEC);
}

static void member(struct engine_fixture *b, const char *name, int cpu)
{
    gang_pod_with(b, name, LABEL("g"), "", cpu, PRIORITY(100));
}

/* Two nodes of 32 CPUs with two pods of 16 each that may go. */
static void full_cluster(struct engine_fixture *b)
{
    gang_start(b, "{\"enablePreemption\":true}");
    gang_node(b, "node-1", 32);
    gang_node(b, "node-2", 32);
    for (int i = 0; i < 4; i++) {
        char name[16], where[64];
        (void)snprintf(name, sizeof name, "low%d", i);
        (void)snprintf(where, sizeof where, ",\"priority\":1,\"nodeName\":\"node-%d\"", 1 + i / 2);
        gang_pod_with(b, name, "", "", 16, where);
    }
    gang_podgroup(b, "g", 2, "");
    soon(b);
}

static void test_room_for_all_on_one_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    full_cluster(&b);
    fake_graceful(b.client.fake, true);
    member(&b, "g0", 16);
    member(&b, "g1", 16);
    soon(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 2);
    assert_string_equal(engine_get(&b, "g0", "status.nominatedNodeName"), "node-1");
    assert_string_equal(engine_get(&b, "g1", "status.nominatedNodeName"), "node-1");
    assert_true(*engine_get(&b, "low0", "metadata.deletionTimestamp"));
    assert_true(*engine_get(&b, "low1", "metadata.deletionTimestamp"));
    assert_false(*engine_get(&b, "low2", "metadata.deletionTimestamp"));
    assert_non_null(strstr(fake_find(b.client.fake, PODS, "low0"),
                           "koord-scheduler: preempting to accommodate higher priority pods, "
                           "preemptor: ns/g, triggerPod: ns/g"));
    client_fixture_run(&b.client, 30 * SEC); /* they take their time; nobody else is evicted */
    assert_int_equal(scheduler_stats(b.s).victims, 2);
    fake_graceful(b.client.fake, false);
    fake_delete(b.client.fake, PODS, "low0");
    fake_delete(b.client.fake, PODS, "low1");
    client_fixture_run(&b.client, 12 * SEC);
    assert_string_equal(engine_node_of(&b, "g0"), "node-1");
    assert_string_equal(engine_node_of(&b, "g1"), "node-1");
    engine_verify(&b);
}

/* One has room: it waits, and keeps its node by nomination while room is made for the other. */
static void test_one_that_waits_keeps_its_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    full_cluster(&b);
    fake_delete(b.client.fake, PODS, "low3");
    soon(&b);
    fake_graceful(b.client.fake, true);
    member(&b, "g0", 16);
    member(&b, "g1", 16);
    soon(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    assert_string_equal(engine_get(&b, "g1", "status.nominatedNodeName"), "node-2");
    assert_true(*engine_get(&b, "g0", "status.nominatedNodeName"));
    fake_graceful(b.client.fake, false);
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "low%d", i);
        if (*engine_get(&b, name, "metadata.deletionTimestamp"))
            fake_delete(b.client.fake, PODS, name);
    }
    client_fixture_run(&b.client, 12 * SEC);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
}

/* Room for one would not do: nobody goes. */
static void test_nobody_goes_in_vain(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    full_cluster(&b);
    member(&b, "g0", 16);
    member(&b, "g1", 64);
    client_fixture_run(&b.client, 12 * SEC);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    assert_int_equal(gang_bound(&b, "g", 2), 0);
}

static void test_nobody_may_go(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    gang_start(&b, "{\"enablePreemption\":true}");
    gang_node(&b, "node-1", 8);
    gang_node(&b, "node-2", 8);
    gang_pod_with(&b, "same0", "", "", 8, PRIORITY(100));
    gang_pod_with(&b, "same1", "", "", 8, PRIORITY(100));
    soon(&b);
    gang_podgroup(&b, "g", 2, "");
    member(&b, "g0", 8);
    member(&b, "g1", 8);
    soon(&b);
    assert_non_null(strstr(engine_condition(&b, "g1", "message"),
                           "preemption: 0/2 nodes are available: 2 no potential victims."));
    gang_pod_with(&b, "x", "", "", 1, PRIORITY(100) ",\"nodeSelector\":{\"no\":\"where\"}");
    soon(&b);
    assert_non_null(strstr(engine_condition(&b, "x", "message"),
                           "preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
                           "scheduling."));
}

/* A pod that says no, or whose quota does, is nobody's victim. */
static void test_pods_that_stay(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{\"enablePreemption\":true}");
    gang_node(&b, "node-1", 8);
    gang_pod_with(&b, "stays", "\"" LABEL_DISABLE_PREEMPTIBLE "\":\"true\"", "", 8, PRIORITY(1));
    soon(&b);
    gang_podgroup(&b, "g", 1, "");
    member(&b, "g0", 8);
    client_fixture_run(&b.client, 12 * SEC);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    assert_true(gang_runs(&b, "stays"));
}

/* Single pods are served too, since DefaultPreemption may be off. */
static void test_a_pod_of_no_gang(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    full_cluster(&b);
    gang_pod_with(&b, "high", "", "", 16, PRIORITY(100));
    client_fixture_run(&b.client, 12 * SEC);
    assert_true(gang_runs(&b, "high"));
    assert_int_equal(scheduler_stats(b.s).victims, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_for_all_on_one_node),
        cmocka_unit_test(test_one_that_waits_keeps_its_node),
        cmocka_unit_test(test_nobody_goes_in_vain),
        cmocka_unit_test(test_nobody_may_go),
        cmocka_unit_test(test_pods_that_stay),
        cmocka_unit_test(test_a_pod_of_no_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
