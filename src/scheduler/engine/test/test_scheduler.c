/* test_scheduler.c - pods find nodes, or say why not; and what happens when things break. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

/* What those who can make room have to say. */
#define NO_HELP(n)                                                              \
    " no new claims to deallocate, preemption: 0/" n " nodes are available: " n \
    " Preemption is not helpful for scheduling."

static void test_binds_within_capacity(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[16];
    int on[2] = { 0 };

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n1", 4000, 8192, 110, "");
    engine_node(&b, "n2", 4000, 8192, 110, "");
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(&b, name, 1000, 512, "");
    }
    client_fixture_run(&b.client, 5 * SEC);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        const char *node = engine_node_of(&b, name);
        on[0] += streq(node, "n1");
        on[1] += streq(node, "n2");
    }
    assert_int_equal(on[0], 4);
    assert_int_equal(on[1], 4);
    struct scheduler_stats st = scheduler_stats(b.s);
    assert_int_equal(st.scheduled, 8);
    assert_int_equal(st.pending, 2);
    assert_int_equal(st.unschedulable, 2);
    assert_int_equal(st.assumed, 0);
    assert_int_equal(fake_stats(b.client.fake).binds, 8);
    engine_verify(&b);
}

static void test_says_what_happened(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n1", 4000, 8192, 110, "");
    engine_pod(&b, "web", 100, 10, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "web"), "n1");
    assert_int_equal(engine_events(&b, "Scheduled", "Successfully assigned ns/web to n1"), 1);
}

#define TAINT(k, v, e) ",\"taints\":[{\"key\":\"" k "\",\"value\":\"" v "\",\"effect\":\"" e "\"}]"

static void test_failure_is_explained_as_upstream_does(void **state)
{
    static const char text[] =
        "0/5 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, "
        "2 Insufficient cpu, 2 Insufficient memory, 2 node(s) had untolerated taint(s)." NO_HELP(
            "5");
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n1", 1000, 1024, 110, "");
    engine_node(&b, "n2", 1000, 1024, 0, "");
    engine_node(&b, "n3", 8000, 8192, 110, TAINT("k", "v", "NoSchedule"));
    engine_node(&b, "n4", 8000, 8192, 110, TAINT("k", "w", "NoExecute"));
    engine_node(&b, "n5", 8000, 8192, 110, ",\"unschedulable\":true");
    engine_pod(&b, "big", 2000, 2048, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "big"), "");
    assert_string_equal(engine_condition(&b, "big", "status"), "False");
    assert_string_equal(engine_condition(&b, "big", "type"), "PodScheduled");
    assert_string_equal(engine_condition(&b, "big", "reason"), "Unschedulable");
    assert_string_equal(engine_condition(&b, "big", "message"), text);
    assert_int_equal(engine_events(&b, "FailedScheduling", text), 1);
    /* The same result again is not written again. */
    unsigned patches = fake_stats(b.client.fake).patches;
    uint64_t attempts = scheduler_stats(b.s).attempts;
    client_fixture_run(&b.client, 400 * SEC);
    assert_that(scheduler_stats(b.s).attempts, >, attempts);
    assert_that(fake_stats(b.client.fake).patches, <=, patches + 1); /* the event counts up */
}

static void test_extended_resource_is_named(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 1);
    engine_node(&b, "n1", 4000, 8192, 110, "");
    fake_put(b.client.fake, PODS, "gpu",
             "{\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\","
             "\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"2\"}}}]}}");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_condition(&b, "gpu", "message"),
                        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu." NO_HELP("1"));
    /* A node with cards comes, later it grows. */
    fake_put(b.client.fake, NODES, "n2",
             "{\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\","
             "\"nvidia.com/gpu\":\"1\"}}}");
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "gpu"), "");
    fake_put(b.client.fake, NODES, "n2",
             "{\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\","
             "\"nvidia.com/gpu\":\"2\"}}}");
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "gpu"), "n2");
    engine_verify(&b);
}

static void test_taints_and_tolerations(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 3);
    engine_node(&b, "hard", 4000, 8192, 110, TAINT("k", "v", "NoSchedule"));
    engine_node(&b, "soft", 4000, 8192, 110, TAINT("k", "v", "PreferNoSchedule"));
    engine_node(&b, "free", 1000, 1024, 110, "");
    engine_pod(&b, "plain", 500, 100, "");
    client_fixture_run(&b.client, 5 * SEC);
    /* A soft taint costs more than the emptier node gives. */
    assert_string_equal(engine_node_of(&b, "plain"), "free");
    engine_pod(&b, "next", 600, 100, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "next"), "soft");
    engine_pod(&b, "bears", 3800, 100,
               ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":"
               "\"NoSchedule\"}]");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "bears"), "hard");
}

static void test_cordon_and_uncordon(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 4);
    engine_node(&b, "n1", 4000, 8192, 110, ",\"unschedulable\":true");
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 node(s) were unschedulable." NO_HELP("1"));
    engine_node(&b, "n1", 4000, 8192, 110, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

static void test_gates_hold(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 5);
    engine_node(&b, "n1", 4000, 8192, 110, "");
    engine_pod(&b, "p", 100, 100, ",\"schedulingGates\":[{\"name\":\"a\"}]");
    client_fixture_run(&b.client, 400 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_int_equal(scheduler_stats(b.s).gated, 1);
    assert_int_equal(scheduler_stats(b.s).attempts, 0);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 2 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

static void test_no_nodes_backs_off_until_one_comes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 6);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "no nodes available to schedule pods");
    assert_string_equal(engine_condition(&b, "p", "reason"), "Unschedulable");
    uint64_t attempts = scheduler_stats(b.s).attempts;
    assert_in_range(attempts, 6, 10); /* after 1, 2, 4, 8, 10, 10 ... seconds */
    engine_node(&b, "n1", 4000, 8192, 110, "");
    client_fixture_run(&b.client, 12 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

static void test_room_made_by_a_deleted_pod(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 7);
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "first", 800, 100, "");
    client_fixture_run(&b.client, 2 * SEC);
    engine_pod(&b, "second", 800, 100, "");
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "second"), "");
    fake_delete(b.client.fake, PODS, "first");
    client_fixture_run(&b.client, 2 * SEC);
    assert_string_equal(engine_node_of(&b, "second"), "n1");
    engine_verify(&b);
}

static void test_higher_priority_goes_first(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    client_fixture_init(&b.client, 8);
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "a-low", 800, 100, ",\"priority\":1");
    engine_pod(&b, "b-high", 800, 100, ",\"priority\":10");
    b.s = scheduler_new(b.client.loop, b.client.kube, &(struct scheduler_opts){ 0 }, NULL);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 2 * SEC);
    assert_string_equal(engine_node_of(&b, "b-high"), "n1");
    assert_string_equal(engine_node_of(&b, "a-low"), "");
}

static void test_pods_of_others_are_left_alone(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 9);
    engine_node(&b, "n1", 1000, 8192, 110, "");
    fake_put(b.client.fake, PODS, "other",
             "{\"spec\":{\"schedulerName\":\"somebody\",\"containers\":[{\"name\":\"c\"}]}}");
    fake_put(b.client.fake, PODS, "done",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]},"
             "\"status\":{\"phase\":\"Succeeded\"}}");
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(scheduler_stats(b.s).attempts, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
}

/* ---- when things break ----------------------------------------------------------------------- */

/* A cluster with one node and one pod, settled so far that the next request is the binding. */
static void before_binding(struct engine_fixture *b, uint64_t seed)
{
    engine_start(b, seed);
    engine_node(b, "n1", 1000, 8192, 110, "");
    client_fixture_run(&b->client, 2 * SEC);
    engine_pod(b, "p", 800, 100, "");
}

static void test_refused_binding_is_undone_and_tried_again(void **state)
{
    static const int status[] = { 409, 500 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(status); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        before_binding(&b, 10 + i);
        fake_answer_next(b.client.fake, 1, status[i], -1);
        client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
        struct scheduler_stats st = scheduler_stats(b.s);
        assert_int_equal(st.errors, 1);
        assert_int_equal(st.assumed, 0);
        assert_int_equal(st.backoff, 1);
        assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
        engine_verify(&b);
        client_fixture_run(&b.client, 5 * SEC);
        assert_string_equal(engine_node_of(&b, "p"), "n1");
        assert_int_equal(fake_stats(b.client.fake).binds, 1);
        assert_int_equal(fake_stats(b.client.fake).bind_conflicts, 0);
        engine_verify(&b);
    }
}

static void test_lost_answer_is_asked_about(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 12);
    /* Everything is carried out, nothing is heard, for a second. */
    http_fault_set(b.client.faulty, &(struct http_faults){ .lose_answer = 1000 });
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    engine_verify(&b);
    http_fault_set(b.client.faulty, &(struct http_faults){ 0 });
    client_fixture_run(&b.client, 60 * SEC);
    struct scheduler_stats st = scheduler_stats(b.s);
    assert_int_equal(st.pending, 0);
    assert_int_equal(st.assumed, 0);
    assert_int_equal(st.pods, 1);
    assert_int_equal(fake_stats(b.client.fake).binds, 1);
    assert_int_equal(fake_stats(b.client.fake).bind_conflicts, 0);
    engine_verify(&b);
}

static void test_accepted_binding_that_never_took_effect(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 17);
    fake_answer_next(b.client.fake, 1, 201, -1); /* says yes and does nothing */
    client_fixture_run(&b.client, 20 * SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    client_fixture_run(&b.client, 40 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
}

static void test_a_server_that_is_away_is_asked_once(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 17);
    fake_answer_next(b.client.fake, 1, 201, -1); /* says yes and does nothing */
    client_fixture_run(&b.client, 20 * SEC);
    fake_refuse(b.client.fake, true);
    fake_break_connections(b.client.fake);
    client_fixture_run(&b.client, 300 * SEC);
    unsigned before = fake_stats(b.client.fake).gets;
    fake_refuse(b.client.fake, false);
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(fake_stats(b.client.fake).gets - before, 1);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    engine_verify(&b);
}

static void test_pod_deleted_while_binding(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 13);
    fake_slow(b.client.fake, 3 * SEC);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    fake_slow(b.client.fake, 0);
    client_fixture_run(&b.client, 60 * SEC);
    struct scheduler_stats st = scheduler_stats(b.s);
    assert_int_equal(st.pending, 0);
    assert_int_equal(st.pods, 0);
    engine_verify(&b);
}

static void test_node_removed_while_binding(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 14);
    fake_slow(b.client.fake, 2 * SEC);
    client_fixture_run(&b.client, SEC);
    fake_delete(b.client.fake, NODES, "n1");
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(scheduler_stats(b.s).nodes, 0);
    engine_verify(&b);
    /* The node comes back: what was bound there counts again. */
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "q", 800, 100, "");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_string_equal(engine_node_of(&b, "q"), "");
    engine_verify(&b);
}

static void test_bindings_do_not_block_the_next(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[16];

    (void)state;
    engine_start(&b, 15);
    engine_node(&b, "n1", 100000, 81920, 110, "");
    client_fixture_run(&b.client, 2 * SEC);
    fake_slow(b.client.fake, SEC);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(&b, name, 100, 10, "");
    }
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(scheduler_stats(b.s).binding, 50);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).scheduled, 50);
}

static void test_freed_in_the_middle(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    before_binding(&b, 16);
    engine_pod(&b, "q", 900, 100, "");
    fake_slow(b.client.fake, SEC);
    client_fixture_run(&b.client, SEC / 2);
    b.s = scheduler_free(b.s);
    client_fixture_run(&b.client, 5 * SEC);
}

static void test_bad_options_are_refused(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    static const char *const twice[] = { "a", "a", NULL }, *const none[] = { NULL };
    struct kerr err = { 0 };

    (void)state;
    client_fixture_init(&r, 1);
    assert_null(
        scheduler_new(r.loop, r.kube, &(struct scheduler_opts){ .scheduler_names = twice }, &err));
    assert_string_equal(err.text, "scheduler name 'a' appears twice");
    assert_null(
        scheduler_new(r.loop, r.kube, &(struct scheduler_opts){ .scheduler_names = none }, &err));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binds_within_capacity),
        cmocka_unit_test(test_says_what_happened),
        cmocka_unit_test(test_failure_is_explained_as_upstream_does),
        cmocka_unit_test(test_extended_resource_is_named),
        cmocka_unit_test(test_taints_and_tolerations),
        cmocka_unit_test(test_cordon_and_uncordon),
        cmocka_unit_test(test_gates_hold),
        cmocka_unit_test(test_no_nodes_backs_off_until_one_comes),
        cmocka_unit_test(test_room_made_by_a_deleted_pod),
        cmocka_unit_test(test_higher_priority_goes_first),
        cmocka_unit_test(test_pods_of_others_are_left_alone),
        cmocka_unit_test(test_refused_binding_is_undone_and_tried_again),
        cmocka_unit_test(test_lost_answer_is_asked_about),
        cmocka_unit_test(test_accepted_binding_that_never_took_effect),
        cmocka_unit_test(test_a_server_that_is_away_is_asked_once),
        cmocka_unit_test(test_pod_deleted_while_binding),
        cmocka_unit_test(test_node_removed_while_binding),
        cmocka_unit_test(test_bindings_do_not_block_the_next),
        cmocka_unit_test(test_freed_in_the_middle),
        cmocka_unit_test(test_bad_options_are_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
