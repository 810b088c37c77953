/* test_resvcontrol.c - status, end and removal of Reservations (sched-reservation 12). */
#include "scheduler/plugins/reservation/test/resvcontrol_fixture.h"

/* ---- the end --------------------------------------------------------------------------------- */

static void test_it_expires_when_its_time_is_over(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    resv_prepare(&f, 1);
    resv_put(&f, "late", 5 * 60 * SEC, "'ttl':'1m',", AVAILABLE);
    resv_put(&f, "pending", 5 * 60 * SEC, "'ttl':'1m',", "'phase':'Pending'");
    resv_put(&f, "fresh", 0, "'ttl':'1m',", AVAILABLE);
    resv_put(&f, "forever", 5 * HOUR, "'ttl':'0s','expires':'2020-01-01T00:00:00Z',", AVAILABLE);
    resv_put(&f, "dated", 25 * HOUR, "'ttl':'24h0m0s','expires':'2025-11-18T10:00:00Z',",
             AVAILABLE);
    resv_put(&f, "both", 25 * HOUR, "'ttl':'25h','expires':'2025-11-18T10:00:00Z',", AVAILABLE);
    resv_lead(&f, false);
    assert_string_equal(resv_get(&f, "late", "status.phase"), "Failed");
    assert_string_equal(resv_condition(&f, "late", "Ready", "reason"), "Expired");
    assert_string_equal(resv_condition(&f, "late", "Ready", "status"), "False");
    assert_string_equal(resv_condition(&f, "late", "Ready", "message"),
                        "spec.ttl: 1m0s have passed since its creation");
    assert_string_equal(resv_condition(&f, "late", "Scheduled", "status"), "True");
    assert_string_equal(resv_get(&f, "late", "status.nodeName"), "n1"); /* what was, stays */
    assert_string_equal(resv_get(&f, "pending", "status.phase"), "Failed");
    assert_string_equal(resv_get(&f, "fresh", "status.phase"), "Available");
    assert_string_equal(resv_get(&f, "forever", "status.phase"), "Available");
    assert_string_equal(resv_get(&f, "dated", "status.phase"), "Available");
    assert_string_equal(resv_get(&f, "both", "status.phase"), "Failed"); /* a ttl of one's own */
    loop_advance(f.client.loop, 58 * SEC);
    assert_string_equal(resv_get(&f, "fresh", "status.phase"), "Available");
    loop_advance(f.client.loop, 2 * SEC); /* by a timer */
    assert_string_equal(resv_get(&f, "fresh", "status.phase"), "Failed");
    assert_int_equal(f.writes, 4);
    resv_events(&f, &events);
    assert_contains(strbuf_str(&events), "Expired: spec.ttl: 1m0s have passed since its creation");
}

static void test_an_end_before_the_beginning_is_named(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    resv_prepare(&f, 2);
    resv_put(&f, "negative", 0, "'ttl':'-5m',", "'phase':'Pending'");
    resv_put(&f, "past", 0, "'ttl':'24h','expires':'2020-01-01T00:00:00Z',", AVAILABLE);
    resv_lead(&f, false);
    loop_advance(f.client.loop, SEC);
    assert_string_equal(resv_condition(&f, "negative", "Ready", "message"),
                        "spec.ttl: -5m0s is below 0");
    assert_string_equal(resv_condition(&f, "past", "Ready", "message"),
                        "spec.expires: 2020-01-01T00:00:00Z was before its creation");
    assert_string_equal(resv_get(&f, "past", "status.phase"), "Failed");
    resv_events(&f, &events);
    assert_contains(strbuf_str(&events), "Expired: spec.ttl: -5m0s is below 0\n");
    assert_contains(strbuf_str(&events),
                    "Expired: spec.expires: 2020-01-01T00:00:00Z was before its creation\n");
}

static void test_ends_follow_a_clock_that_is_set(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 3);
    resv_put(&f, "soon", 0, "'ttl':'10m',", AVAILABLE);
    resv_put(&f, "later", 0, "'ttl':'10h',", AVAILABLE);
    resv_lead(&f, false);
    loop_set_wall(f.client.loop, WALL0 - HOUR); /* back: the timer comes too early */
    loop_advance(f.client.loop, 20 * 60 * SEC);
    assert_string_equal(resv_get(&f, "soon", "status.phase"), "Available");
    loop_set_wall(f.client.loop, WALL0 + HOUR); /* ahead: it would come too late */
    loop_advance(f.client.loop, 16 * SEC);
    assert_string_equal(resv_get(&f, "soon", "status.phase"), "Failed");
    assert_string_equal(resv_get(&f, "later", "status.phase"), "Available");
    unsigned before = f.writes;
    loop_advance(f.client.loop, 2 * HOUR);
    assert_int_equal(f.writes, before); /* nothing moves while nothing happens */
}

static void test_a_longer_life_counts_at_once(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 4);
    resv_put(&f, "r", 0, "'ttl':'10m',", AVAILABLE);
    resv_lead(&f, false);
    fake_patch(f.client.fake, RESERVATIONS, "r",
               "{\"metadata\":{\"generation\":2},\"spec\":{\"ttl\":\"20m\"}}");
    loop_advance(f.client.loop, 15 * 60 * SEC);
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Available");
    fake_patch(f.client.fake, RESERVATIONS, "r",
               "{\"metadata\":{\"generation\":3},\"spec\":{\"ttl\":\"16m\"}}");
    loop_advance(f.client.loop, 61 * SEC);
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Failed");
}

static void test_it_ends_with_its_node(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 5);
    fake_put(f.client.fake, NODES, "n2", "{}");
    resv_put(&f, "gone", 0, "'ttl':'10h',",
             "'phase':'Available','nodeName':'n0','allocatable':{'cpu':'1'}");
    resv_put(&f, "stays", 0, "'ttl':'10h',", AVAILABLE);
    resv_put(&f, "goes", 0, "'ttl':'10h',",
             "'phase':'Available','nodeName':'n2','allocatable':{'cpu':'1'}");
    resv_lead(&f, false);
    assert_string_equal(resv_get(&f, "gone", "status.phase"), "Failed");
    assert_string_equal(resv_condition(&f, "gone", "Ready", "message"),
                        "status.nodeName: node \"n0\" is gone");
    assert_string_equal(resv_get(&f, "goes", "status.phase"), "Available");
    fake_delete(f.client.fake, NODES, "n2");
    loop_advance(f.client.loop, SEC);
    assert_string_equal(resv_get(&f, "goes", "status.phase"), "Failed");
    loop_advance(f.client.loop, 60 * SEC); /* with the next round of removals */
    assert_null(fake_find(f.client.fake, RESERVATIONS, "goes"));
    assert_string_equal(resv_get(&f, "stays", "status.phase"), "Available");
}

/* The watch of nodes is cut, and that of Reservations shows one on a node that is new. */
static void test_a_node_that_is_not_known_yet_is_asked_for(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 6);
    resv_lead(&f, false);
    fake_answer_next_to(f.client.fake, "GET", "/nodes?", 3, 500);
    fake_end_watches(f.client.fake);
    fake_put(f.client.fake, NODES, "new", "{}");
    resv_put(&f, "r", 0, "'ttl':'10h',",
             "'phase':'Available','nodeName':'new','allocatable':{'cpu':'1'}");
    loop_advance(f.client.loop, 60 * SEC);
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Available");
}

/* ---- owners ---------------------------------------------------------------------------------- */

static void test_the_status_tells_who_uses_it(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 10);
    resv_put(&f, "r", 0, "'ttl':'10h','allocateOnce':false,", AVAILABLE);
    resv_lead(&f, false);
    assert_int_equal(f.writes, 0);
    resv_owner(&f, "a", "r", "2", "");
    resv_owner(&f, "b", "r", "1500m", "");
    resv_owner(&f, "ended", "r", "1", "'phase':'Succeeded'");
    loop_advance(f.client.loop, SEC);
    assert_int_equal(f.writes, 1); /* once for both */
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Available");
    assert_string_equal(resv_get(&f, "r", "status.allocated.cpu"), "3500m");
    assert_string_equal(resv_get(&f, "r", "status.allocated.memory"), "4Gi");
    assert_string_equal(resv_get(&f, "r", "status.allocated.ephemeral-storage"), "");
    assert_int_equal(resv_owners(&f, "r"), 2);
    fake_patch(f.client.fake, PODS, "a", "{\"status\":{\"phase\":\"Running\"}}");
    loop_advance(f.client.loop, SEC);
    assert_int_equal(f.writes, 1);
    fake_patch(f.client.fake, PODS, "a", "{\"status\":{\"phase\":\"Succeeded\"}}");
    loop_advance(f.client.loop, SEC);
    assert_string_equal(resv_get(&f, "r", "status.allocated.cpu"), "1500m");
    fake_delete(f.client.fake, PODS, "b");
    loop_advance(f.client.loop, SEC);
    assert_int_equal(resv_owners(&f, "r"), 0);
    assert_string_equal(resv_get(&f, "r", "status.allocated.cpu"), "");
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Available");
    assert_int_equal(f.writes, 3);
}

static void test_the_first_owner_uses_it_up(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    resv_prepare(&f, 11);
    resv_put(&f, "once", 0, "'ttl':'10h',", AVAILABLE);
    for (int i = 0; i < 4; i++)
        resv_owner(&f, (const char *[]){ "a", "b", "c", "d" }[i], "once", "2", "");
    resv_lead(&f, false);
    assert_string_equal(resv_get(&f, "once", "status.phase"), "Succeeded");
    assert_string_equal(resv_condition(&f, "once", "Ready", "reason"), "Succeeded");
    assert_string_equal(resv_get(&f, "once", "status.allocated.cpu"), "8");
    assert_string_equal(resv_get(&f, "once", "status.allocated.memory"), "8Gi");
    assert_int_equal(resv_owners(&f, "once"), 4);
    assert_int_equal(f.writes, 1);
    metrics_write(&f.metrics, 1, &text);
    assert_contains(strbuf_str(&text),
                    "scheduler_reservation_resource{name=\"once\",resource=\"cpu\",type="
                    "\"utilization\",unit=\"ratio\"} 0.8\n");
    assert_contains(strbuf_str(&text),
                    "scheduler_reservation_resource{name=\"once\",resource=\"memory\",type="
                    "\"allocated\",unit=\"Gi\"} 8\n");
    assert_contains(strbuf_str(&text),
                    "scheduler_reservation_status_phase{name=\"once\",phase=\"Succeeded\"} 1\n");
    assert_contains(strbuf_str(&text),
                    "scheduler_reservation_status_phase{name=\"once\",phase=\"Available\"} 0\n");
    fake_delete(f.client.fake, PODS, "a"); /* it has ended: nothing is written any more */
    loop_advance(f.client.loop, HOUR);
    assert_int_equal(f.writes, 1);
}

static void test_an_owner_that_names_another_is_taken_out(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 12);
    resv_put(&f, "r1", 0, "'ttl':'10h','allocateOnce':false,", AVAILABLE);
    resv_put(&f, "r2", 0, "'ttl':'10h','allocateOnce':false,", AVAILABLE);
    resv_owner(&f, "a", "r1", "2", "");
    resv_lead(&f, false);
    assert_int_equal(resv_owners(&f, "r1"), 1);
    resv_owner(&f, "a", "r2", "2", "");
    loop_advance(f.client.loop, SEC);
    assert_int_equal(resv_owners(&f, "r1"), 0);
    assert_int_equal(resv_owners(&f, "r2"), 1);
    /* One that was deleted and made again has nothing to do with the owners of the first. */
    fake_delete(f.client.fake, RESERVATIONS, "r2");
    resv_put(&f, "r2", 0, "'ttl':'10h','allocateOnce':false,", AVAILABLE);
    loop_advance(f.client.loop, SEC);
    assert_int_equal(resv_owners(&f, "r2"), 0);
}

static void test_pods_lose_the_name_of_one_that_is_gone(void **state)
{
    (void)state;
    for (int clean = 0; clean < 2; clean++) {
        CLEANUP(resv_end) struct resv_fixture f;
        resv_prepare(&f, 13);
        resv_put(&f, "r", 0, "'ttl':'10h','allocateOnce':false,", AVAILABLE);
        resv_owner(&f, "a", "r", "2", "");
        resv_lead(&f, clean);
        fake_answer_next_to(f.client.fake, "PATCH", "/pods/", 2, 500);
        fake_delete(f.client.fake, RESERVATIONS, "r");
        loop_advance(f.client.loop, 10 * SEC);
        assert_int_equal(
            strstr(fake_find(f.client.fake, PODS, "a"), "reservation-allocated") == NULL, clean);
    }
}

/* ---- removal --------------------------------------------------------------------------------- */

static void test_ended_ones_are_removed_after_a_while(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 20);
    f.args.gc_duration = 600;
    resv_put(&f, "expires", 0, "'ttl':'1m',", AVAILABLE);
    resv_put(&f, "used", 0, "'ttl':'10h',", AVAILABLE);
    resv_put(&f, "failed", 10 * HOUR, "'ttl':'10h',", "'phase':'Failed','nodeName':'n1'");
    resv_put(&f, "homeless", 0, "'ttl':'10h',",
             "'phase':'Succeeded','nodeName':'n0','conditions':[{'type':'Ready','status':'False',"
             "'reason':'Succeeded','lastProbeTime':'2025-11-15T09:46:00Z'}]");
    resv_owner(&f, "a", "used", "1", "");
    resv_lead(&f, false);
    loop_advance(f.client.loop, 90 * SEC);
    assert_null(fake_find(f.client.fake, RESERVATIONS, "homeless"));
    assert_string_equal(resv_get(&f, "expires", "status.phase"), "Failed");
    assert_string_equal(resv_get(&f, "used", "status.phase"), "Succeeded");
    loop_advance(f.client.loop, 480 * SEC);
    assert_non_null(fake_find(f.client.fake, RESERVATIONS, "expires"));
    assert_non_null(fake_find(f.client.fake, RESERVATIONS, "used"));
    loop_advance(f.client.loop, 180 * SEC);
    assert_null(fake_find(f.client.fake, RESERVATIONS, "expires"));
    assert_null(fake_find(f.client.fake, RESERVATIONS, "used"));
    assert_non_null(fake_find(f.client.fake, RESERVATIONS, "failed")); /* for another reason */
    assert_non_null(fake_find(f.client.fake, PODS, "a"));
}

static void test_removal_can_be_turned_off(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 21);
    f.args.gc_duration = 0;
    f.args.no_gc = true;
    resv_put(&f, "r", 5 * HOUR, "'ttl':'1m',", AVAILABLE);
    resv_lead(&f, false);
    loop_advance(f.client.loop, 10 * HOUR);
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Failed");
}

/* ---- faults of objects ----------------------------------------------------------------------- */

static void put_bad(struct resv_fixture *f, const char *name, const char *body)
{
    CLEANUP(mem_free) char *text = xstrdup(body);
    fake_put(f->client.fake, RESERVATIONS, name, resv_quoted(text));
}

#define META     "'metadata':{'creationTimestamp':'2025-11-15T09:46:40Z'}"
#define TEMPLATE "'template':{'spec':{'containers':[{'name':'c'}]}}"
#define OWNERS   "'owners':[{'object':{'name':'a'}}]"

static void test_faults_are_named_once(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    resv_prepare(&f, 30);
    put_bad(&f, "ownerless", "{" META ",'spec':{'ttl':'1h'," TEMPLATE "}}");
    put_bad(&f, "endless", "{" META ",'spec':{" OWNERS "," TEMPLATE "}}");
    put_bad(&f, "shapeless", "{" META ",'spec':{'ttl':'1h'," OWNERS "}}");
    put_bad(&f, "garbled", "{" META ",'spec':{'ttl':'1h'," OWNERS ",'template':{'spec':'?'}}}");
    put_bad(&f, "good", "{" META ",'spec':{'ttl':'1h'," OWNERS "," TEMPLATE "}}");
    resv_lead(&f, false);
    loop_advance(f.client.loop, 10 * SEC);
    assert_string_equal(resv_condition(&f, "ownerless", "Scheduled", "message"),
                        "spec.owners: Required value: the reservation misses the owner spec");
    assert_string_equal(resv_condition(&f, "ownerless", "Scheduled", "reason"), "Unschedulable");
    assert_string_equal(resv_condition(&f, "endless", "Scheduled", "message"),
                        "spec.ttl: Required value: the reservation misses the expiration spec");
    assert_string_equal(resv_condition(&f, "shapeless", "Scheduled", "message"),
                        "spec.template: Required value: the reservation misses the template spec");
    assert_starts(resv_condition(&f, "garbled", "Scheduled", "message"), "spec.template: ");
    assert_string_equal(resv_condition(&f, "good", "Scheduled", "message"), "");
    assert_int_equal(f.writes, 4);
    resv_events(&f, &events);
    assert_contains(strbuf_str(&events), "FailedScheduling: spec.owners: Required value");
    assert_contains(strbuf_str(&events), "FailedScheduling: spec.template: ");
    /* A new leader has nothing to add. */
    resv_resign(&f);
    resv_lead(&f, false);
    loop_advance(f.client.loop, 60 * SEC);
    assert_int_equal(f.writes, 4);
}

static void test_owners_that_nobody_understands_are_named(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    resv_prepare(&f, 31);
    put_bad(&f, "r",
            "{" META ",'spec':{'ttl':'1h','owners':[{'object':{'name':'a'}},{'labelSelector':{"
            "'matchExpressions':[{'key':'a','operator':'Around'}]}}]," TEMPLATE
            "},'status':{" AVAILABLE "}}");
    resv_lead(&f, false);
    loop_advance(f.client.loop, SEC);
    assert_starts(resv_condition(&f, "r", "Ready", "message"), "spec.owners[1].labelSelector: ");
    assert_string_equal(resv_condition(&f, "r", "Ready", "reason"), "Invalid");
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Available");
    resv_events(&f, &events);
    assert_contains(strbuf_str(&events), "Invalid: spec.owners[1].labelSelector: ");
    fake_patch(f.client.fake, RESERVATIONS, "r",
               "{\"metadata\":{\"generation\":2},\"spec\":{\"owners\":[{\"object\":{\"name\":\"a\"}"
               "}]}}");
    loop_advance(f.client.loop, SEC);
    assert_string_equal(resv_condition(&f, "r", "Ready", "reason"), "Available");
    assert_string_equal(resv_condition(&f, "r", "Ready", "status"), "True");
}

/* ---- a server that misbehaves ---------------------------------------------------------------- */

/* Whoever writes in between: nothing of it is lost, and nothing is written on what is past. */
static void test_conflicts_are_decided_anew(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;

    (void)state;
    resv_prepare(&f, 40);
    resv_put(&f, "r", 0, "'ttl':'10s',", "'phase':'Pending'");
    resv_lead(&f, false);
    fake_slow(f.client.fake, 2 * SEC); /* the end is written while it gets a node */
    loop_advance(f.client.loop, 10 * SEC);
    fake_patch(f.client.fake, RESERVATIONS, "r",
               "{\"status\":{\"phase\":\"Available\",\"nodeName\":\"n1\",\"allocatable\":{\"cpu\":"
               "\"1\"}}}");
    fake_slow(f.client.fake, 0);
    loop_advance(f.client.loop, 60 * SEC);
    assert_string_equal(resv_get(&f, "r", "status.phase"), "Failed");
    assert_string_equal(resv_get(&f, "r", "status.nodeName"), "n1");
    assert_that(fake_stats(f.client.fake).conflicts, >=, 1);
}

static void test_all_comes_true_in_the_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP(resv_end) struct resv_fixture f;
        char name[16];
        resv_prepare(&f, seed);
        f.args.gc_duration = 3600;
        for (int i = 0; i < 10; i++) {
            (void)snprintf(name, sizeof name, "r%d", i);
            resv_put(&f, name, 0, i % 2 ? "'ttl':'10h'," : "'ttl':'2m','allocateOnce':false,",
                     AVAILABLE);
        }
        http_fault_set(f.client.faulty, &(struct http_faults){ .refuse = 100,
                                                               .lose_answer = 100,
                                                               .reset = 50,
                                                               .status_500 = 50,
                                                               .status_503 = 50,
                                                               .status_429 = 100,
                                                               .slow = 200,
                                                               .slow_max = 3 * SEC });
        resv_lead(&f, false);
        for (int i = 0; i < 10; i++) {
            char pod[16];
            (void)snprintf(name, sizeof name, "r%d", i);
            (void)snprintf(pod, sizeof pod, "p%d", i);
            resv_owner(&f, pod, name, "1", "");
            loop_advance(f.client.loop, 3 * SEC);
            if (i == 3)
                fake_compact(f.client.fake);
            if (i % 4 == 2)
                fake_end_watches(f.client.fake);
            if (i == 5)
                resv_resign(&f), resv_lead(&f, false);
        }
        loop_advance(f.client.loop, 600 * SEC);
        http_fault_set(f.client.faulty, &(struct http_faults){ 0 });
        loop_advance(f.client.loop, 300 * SEC);
        for (int i = 0; i < 10; i++) {
            (void)snprintf(name, sizeof name, "r%d", i);
            assert_string_equal(resv_get(&f, name, "status.phase"), i % 2 ? "Succeeded" : "Failed");
            if (i % 2) /* the others may end before anybody has heard of their owner */
                assert_int_equal(resv_owners(&f, name), 1);
        }
        loop_advance(f.client.loop, 2 * HOUR);
        assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
        assert_int_equal(fake_count(f.client.fake, "pods"), 10);
    }
}

/* ---- cost ------------------------------------------------------------------------------------ */

static void test_idle_ones_cost_nothing(void **state)
{
    CLEANUP(resv_end) struct resv_fixture f;
    char name[16];

    (void)state;
    resv_prepare(&f, 50);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "r%d", i);
        resv_put(&f, name, 0, "'ttl':'48h',", AVAILABLE);
    }
    resv_lead(&f, false);
    uint64_t syncs = controllers_stats(f.controllers).syncs;
    assert_int_equal(syncs, 300);
    loop_advance(f.client.loop, 24 * HOUR);
    assert_int_equal(controllers_stats(f.controllers).syncs, syncs);
    assert_int_equal(f.writes, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_expires_when_its_time_is_over),
        cmocka_unit_test(test_an_end_before_the_beginning_is_named),
        cmocka_unit_test(test_ends_follow_a_clock_that_is_set),
        cmocka_unit_test(test_a_longer_life_counts_at_once),
        cmocka_unit_test(test_it_ends_with_its_node),
        cmocka_unit_test(test_a_node_that_is_not_known_yet_is_asked_for),
        cmocka_unit_test(test_the_status_tells_who_uses_it),
        cmocka_unit_test(test_the_first_owner_uses_it_up),
        cmocka_unit_test(test_an_owner_that_names_another_is_taken_out),
        cmocka_unit_test(test_pods_lose_the_name_of_one_that_is_gone),
        cmocka_unit_test(test_ended_ones_are_removed_after_a_while),
        cmocka_unit_test(test_removal_can_be_turned_off),
        cmocka_unit_test(test_faults_are_named_once),
        cmocka_unit_test(test_owners_that_nobody_understands_are_named),
        cmocka_unit_test(test_conflicts_are_decided_anew),
        cmocka_unit_test(test_all_comes_true_in_the_end),
        cmocka_unit_test(test_idle_ones_cost_nothing),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
