/* test_gangforgotten.c - gangs that fit, and that nobody would have tried any more or whose room
 * went to others: each case is one that sim_gang has found. */
#include "gang_engine.h"

#define HIGH ",\"priority\":100"

static void soon(struct engine_fixture *b)
{
    client_fixture_run(&b->client, SEC);
}

/* Long enough for any back-off, and far from the flush of what was left over. */
static void one_backoff(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 12 * SEC);
}

static void member(struct engine_fixture *b, const char *name)
{
    gang_pod_with(b, name, LABEL("g"), "", 1, HIGH);
}

static void low(struct engine_fixture *b, const char *name, const char *node)
{
    char spec[64];

    (void)snprintf(spec, sizeof spec, ",\"priority\":1,\"nodeName\":\"%s\"", node);
    gang_pod_with(b, name, "", "", 1, spec);
}

static void annotated(struct engine_fixture *b, const char *name, const char *gang)
{
    char annotations[512];

    (void)snprintf(annotations, sizeof annotations,
                   "\"%s\":\"%s\",\"%s\":\"1\",\"%s\":\"[\\\"ns/a\\\",\\\"ns/b\\\"]\"",
                   ANNO_GANG_NAME, gang, ANNO_GANG_MIN_AVAILABLE, ANNO_GANG_GROUPS);
    gang_pod_with(b, name, "", annotations, 1, "");
}

/* The group was satisfied once; one of its gangs, known by annotations alone, has ended with its
 * last pod. Members of the others need nobody, and run. */
static void test_a_gang_of_the_group_has_ended(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 4);
    annotated(&b, "a0", "a");
    annotated(&b, "b0", "b");
    soon(&b);
    assert_true(gang_runs(&b, "a0"));
    assert_true(gang_runs(&b, "b0"));
    fake_delete(b.client.fake, PODS, "b0");
    soon(&b);
    annotated(&b, "a1", "a");
    soon(&b);
    assert_true(gang_runs(&b, "a1"));
}

/* Room is made for a member beyond the minimum while the binding of another one fails: that one
 * represents the gang meanwhile, and leaves the place to the first. */
static void test_kept_out_while_another_represents_the_gang(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 3);
    low(&b, "low0", "n1");
    gang_podgroup(&b, "g", 2, "\"" ANNO_GANG_MATCH_POLICY "\":\"waiting-and-running\"");
    soon(&b);
    member(&b, "g0");
    member(&b, "g1");
    member(&b, "g2");
    fake_answer_next_to(b.client.fake, "POST", "/pods/g1/binding", 1, 400);
    one_backoff(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
}

/* What an earlier plan nominated for a member that the next plan has no place for does not keep the
 * others off it. */
static void test_a_spare_member_keeps_no_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{\"enablePreemption\":true}");
    gang_node(&b, "n1", 1);
    gang_node(&b, "n2", 1);
    low(&b, "low0", "n1");
    gang_podgroup(&b, "g", 2, "");
    soon(&b);
    fake_graceful(b.client.fake, true);
    member(&b, "g1");
    member(&b, "g2");
    soon(&b);
    assert_true(*engine_get(&b, "g1", "status.nominatedNodeName"));
    assert_true(*engine_get(&b, "g2", "status.nominatedNodeName"));
    member(&b, "g0");
    soon(&b);
    fake_graceful(b.client.fake, false);
    fake_delete(b.client.fake, PODS, "low0");
    one_backoff(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 2);
    assert_int_equal(scheduler_stats(b.s).victims, 1);
}

/* Without job preemption: what one member lacks is nominated for its peer, and given up with the
 * round. */
static void test_room_nominated_for_a_peer(void **state)
{
    static const char *const names[] = { "g0", "g2", "g3", "g1" };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    low(&b, "low0", "n1");
    gang_pod_with(&b, "other", "", "", 1, ",\"priority\":100,\"nodeName\":\"n1\"");
    gang_podgroup(&b, "g", 3, "\"" ANNO_GANG_MODE "\":\"NonStrict\"");
    soon(&b);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) { /* g3 and g1 have both found no room then */
        member(&b, names[i]);
        soon(&b);
    }
    one_backoff(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    gang_node(&b, "n2", 1);
    fake_delete(b.client.fake, PODS, "other");
    one_backoff(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    assert_int_equal(gang_bound(&b, "g", 4), 3);
}

/* The last member gets room by DefaultPreemption, when its victim has gone: those that wait keep
 * their nodes until then, and the pod that comes next does not take them. */
static void test_the_others_keep_their_nodes_meanwhile(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 1);
    gang_node(&b, "n2", 1);
    low(&b, "low0", "n2");
    gang_podgroup(&b, "g", 2, "");
    soon(&b);
    member(&b, "g0");
    member(&b, "g1");
    gang_pod_with(&b, "other", "", "", 1, HIGH);
    one_backoff(&b);
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
    assert_false(gang_runs(&b, "other"));
}

/* Those that have their permits are bound before any victim is gone: where only those count that
 * wait, one more member would find nobody to be permitted with. */
static void check_no_victims(const char *args)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    gang_start(&b, args);
    gang_node(&b, "n1", 2);
    gang_node(&b, "n2", 1);
    low(&b, "low0", "n2");
    gang_podgroup(&b, "g", 2, "\"" ANNO_GANG_MATCH_POLICY "\":\"only-waiting\"");
    soon(&b);
    member(&b, "g0");
    member(&b, "g1");
    member(&b, "g2");
    one_backoff(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 2);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
}

static void test_no_victims_for_one_that_comes_too_late(void **state)
{
    (void)state;
    check_no_victims("{}");
    check_no_victims("{\"enablePreemption\":true}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gang_of_the_group_has_ended),
        cmocka_unit_test(test_kept_out_while_another_represents_the_gang),
        cmocka_unit_test(test_a_spare_member_keeps_no_room),
        cmocka_unit_test(test_room_nominated_for_a_peer),
        cmocka_unit_test(test_the_others_keep_their_nodes_meanwhile),
        cmocka_unit_test(test_no_victims_for_one_that_comes_too_late),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
