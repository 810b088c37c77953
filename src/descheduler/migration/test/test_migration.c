/* test_migration.c - jobs from their beginning to their end (descheduler 4.7, 4.10). */
#include "descheduler/migration/test/migration_fixture.h"

/* ---- the way of a job ------------------------------------------------------------------------ */

static void test_a_place_is_reserved_first(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    mig_prepare(&f, 1, "{}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m','mode':'ReservationFirst',");
    f.no_scheduler = true;
    mig_run(&f, 10 * SEC);
    const char *uid = mig_job(&f, "job", "metadata.uid");
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Running");
    assert_string_equal(mig_job(&f, "job", "spec.reservationOptions.reservationRef.name"), uid);
    assert_true(mig_has(&f, RESERVATIONS, uid));
    assert_int_equal(f.evictions, 0); /* there is no place yet */
    f.no_scheduler = false;
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "job", "status.status"), "Complete");
    assert_string_equal(mig_job(&f, "job", "status.nodeName"), "n9");
    assert_string_equal(mig_job(&f, "job", "status.podRef.name"), "web-0-new");
    assert_string_equal(mig_condition(&f, "job", "Eviction", "reason"), "EvictComplete");
    assert_string_equal(mig_condition(&f, "job", "BoundPodReady", "status"), "True");
    assert_int_equal(f.evictions, 1);
    mig_events(&f, &events);
    static const char *const order[] = { "ReservationCreated: Successfully create",
                                         "ReservationScheduled: Assigned Reservation",
                                         "Evicting: Pod \"ns/web-0\" evicted from node \"n1\"",
                                         "EvictComplete: Pod \"ns/web-0\" has been evicted",
                                         "PodBoundReservation: Bind Pod \"ns/web-0-new\"",
                                         "Complete: Bind Pod \"ns/web-0-new\" in Reservation" };
    const char *at = strbuf_str(&events);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const char *next = strstr(at, order[i]);
        if (!next)
            fail_msg("not there, or too early: %s\n%s", order[i], strbuf_str(&events));
        at = next;
    }
}

static void test_it_evicts_directly_when_asked(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 2, "{}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m','mode':'EvictDirectly',");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "job", "status.message"), "Pod \"ns/web-0\" has been evicted");
    assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
    assert_false(mig_has(&f, PODS, "web-0"));
}

/* As spec 4 demands of a user's job: no mode, no ttl, a Reservation that is there and used. */
static void test_a_given_reservation_is_used(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 3, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_put(&f, RESERVATIONS, "mine",
            "{'spec':{'owners':[{'labelSelector':{'matchLabels':{'a':'b'}}}]},'status':{"
            "'currentOwners':[{'namespace':'ns','name':'web-3'}]}}");
    mig_place(&f, "mine", "n3");
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'reservationOptions':{'reservationRef':{'name':'mine'}},");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "job", "status.status"), "Complete");
    assert_int_equal(f.evictions, 1);
    assert_true(strlen(mig_text(&f, RESERVATIONS, "mine", "metadata.labels")) == 0);
    assert_string_not_equal(fake_find(f.client.fake, RESERVATIONS, "mine"), "");
    assert_contains(fake_find(f.client.fake, RESERVATIONS, "mine"),
                    "scheduling.koordinator.sh/reservation-order");
}

static void test_a_place_on_the_same_node_is_none(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 4, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    CLEANUP(mem_free) char *uid = xstrdup(mig_job(&f, "job", "metadata.uid"));
    mig_place(&f, uid, "n1");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Failed");
    assert_string_equal(mig_job(&f, "job", "status.reason"), "ForbiddenMigratePod");
    assert_contains(mig_job(&f, "job", "status.message"), "on the same node as the Pod");
    assert_int_equal(f.evictions, 0);
    assert_false(mig_has(&f, RESERVATIONS, uid)); /* nobody needs it any more */
}

/* A pod that has no node: the Reservation is for itself, and nothing is evicted. */
static void test_a_waiting_pod_is_given_a_place(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 30, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_patch(&f, PODS, "web-0",
              "{'spec':{'nodeName':null},'status':{'phase':'Pending','conditions':[{'type':"
              "'PodScheduled','status':'False'}]}}");
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    mig_place(&f, mig_job(&f, "job", "metadata.uid"), "n9");
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Running");
    assert_string_equal(mig_condition(&f, "job", "PodScheduled", "reason"), "Unschedulable");
    mig_patch(&f, PODS, "web-0",
              "{'spec':{'nodeName':'n9'},'status':{'conditions':[{'type':'PodScheduled','status':"
              "'True'}]}}");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "job", "status.message"),
                        "Assign Pod \"ns/web-0\" to node \"n9\"");
    assert_int_equal(f.evictions, 0);
}

/* ---- pods and Reservations that vanish ------------------------------------------------------- */

static void test_a_pod_that_went_before_fails_the_job(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 5, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_new_job(&f, "nobody", "web-9", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    assert_string_equal(mig_job(&f, "nobody", "status.reason"), "MissingPod");
    assert_string_equal(mig_job(&f, "nobody", "status.message"),
                        "Abort job caused by missing Pod \"ns/web-9\"");
    fake_delete(f.client.fake, PODS, "web-0");
    f.no_scheduler = false;
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Failed");
    assert_string_equal(mig_job(&f, "job", "status.reason"), "MissingPod");
    assert_int_equal(f.evictions, 0);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
}

/* Another pod has the name by now: it is not the one that was meant. */
static void test_a_successor_is_not_evicted(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 6, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    fake_delete(f.client.fake, PODS, "web-0");
    mig_pod(&f, "web-0", "web", "n1");
    f.no_scheduler = false;
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.reason"), "MissingPod");
    assert_int_equal(f.evictions, 0);
    assert_true(mig_has(&f, PODS, "web-0"));
}

static void test_a_reservation_that_vanishes_fails_the_job(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 7, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    fake_delete(f.client.fake, RESERVATIONS, mig_job(&f, "job", "metadata.uid"));
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.reason"), "MissingReservation");
    assert_int_equal(f.evictions, 0);
    mig_new_job(&f, "late", "web-1", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    mig_patch(&f, RESERVATIONS, mig_job(&f, "late", "metadata.uid"),
              "{'status':{'phase':'Failed','conditions':[{'type':'Ready','status':'False',"
              "'reason':'Expired'}]}}");
    mig_until_over(&f, "late", MINUTE);
    assert_string_equal(mig_job(&f, "late", "status.reason"), "ReservationExpired");
    assert_int_equal(f.evictions, 0);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
}

static void test_an_unschedulable_reservation_is_told(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 8, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'1m',");
    mig_run(&f, 3 * SEC);
    CLEANUP(mem_free) char *uid = xstrdup(mig_job(&f, "job", "metadata.uid"));
    mig_patch(&f, RESERVATIONS, uid,
              "{'status':{'phase':'Pending','conditions':[{'type':'Scheduled','status':'False',"
              "'reason':'Unschedulable','message':'0/3 nodes are available'}]}}");
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_condition(&f, "job", "ReservationScheduled", "message"),
                        "0/3 nodes are available");
    assert_string_equal(mig_job(&f, "job", "status.reason"), "Unschedulable");
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Running");
    mig_run(&f, MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Failed");
    assert_string_equal(mig_job(&f, "job", "status.reason"), "Timeout");
    assert_string_equal(mig_job(&f, "job", "status.message"), "Abort job caused by timeout");
    assert_false(mig_has(&f, RESERVATIONS, uid));
    assert_int_equal(f.evictions, 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_old_jobs_and_their_reservations_go(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 17, "{}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_until_over(&f, "job", MINUTE);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 1);
    mig_run(&f, 9 * MINUTE);
    assert_true(mig_has(&f, JOBS, "job"));
    mig_run(&f, 2 * MINUTE);
    assert_false(mig_has(&f, JOBS, "job"));
    assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
}

static void test_a_deleted_job_takes_its_reservation_along(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 18, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_new_job(&f, "other", "web-2", "'ttl':'5m',");
    mig_run(&f, 5 * SEC);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 2);
    fake_delete(f.client.fake, JOBS, "job");
    mig_run(&f, 5 * SEC);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 1);
    mig_resign(&f); /* also while nobody looks */
    fake_delete(f.client.fake, JOBS, "other");
    mig_lead(&f);
    mig_run(&f, 5 * SEC);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 0);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void test_bad_jobs_fail_with_a_reason(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    static const struct {
        const char *name, *json, *reason, *message;
    } bad[] = {
        { "no-ref", ",'spec':{'podRef':{}}}", "InvalidPodRef", "invalid PodRef" },
        { "no-spec", "}", "InvalidPodRef", "invalid PodRef" },
        { "mode", ",'spec':{'mode':'Teleport','podRef':{'namespace':'ns','name':'web-0'}}}",
          "InvalidSpec", "spec.mode: \"Teleport\"" },
        { "ttl", ",'spec':{'ttl':'-5m','podRef':{'namespace':'ns','name':'web-0'}}}", "InvalidSpec",
          "spec.ttl: must not be negative" },
        { "text",
          ",'spec':{'podRef':{'namespace':'ns','name':'web-0'},'reservationOptions':{"
          "'template':'x'}}}",
          "InvalidSpec", "spec.reservationOptions.template: must be an object" },
        { "list",
          ",'spec':{'podRef':{'namespace':'ns','name':'web-0'},'reservationOptions':{"
          "'template':{'spec':{'template':{'spec':{'affinity':[]}}}}}}}",
          "InvalidSpec", "template.spec.template.spec.affinity: must be an object" },
    };

    (void)state;
    mig_prepare(&f, 19, "{}");
    mig_four_pods(&f);
    mig_lead(&f);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        mig_put(&f, JOBS, bad[i].name, "{'metadata':{'creationTimestamp':'2025-11-15T09:46:40Z'}%s",
                bad[i].json);
    mig_run(&f, 5 * SEC);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_string_equal(mig_job(&f, bad[i].name, "status.phase"), "Failed");
        assert_string_equal(mig_job(&f, bad[i].name, "status.reason"), bad[i].reason);
        assert_contains(mig_job(&f, bad[i].name, "status.message"), bad[i].message);
    }
    assert_int_equal(f.evictions, 0);
}

/* ---- restarts and faults --------------------------------------------------------------------- */

/* The program ends after each number of milliseconds, and another one goes on. */
static void test_a_restart_at_any_step_loses_nothing(void **state)
{
    (void)state;
    for (int ms = 5; ms < 1500; ms += 37) {
        CLEANUP(mig_end) struct migration_fixture f;
        mig_prepare(&f, (uint64_t)ms, "{}");
        mig_four_pods(&f);
        mig_lead(&f);
        mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
        for (int i = 0; i < 12; i++) {
            loop_advance(f.client.loop, ms * NSEC_PER_MSEC);
            mig_schedule(&f);
            mig_resign(&f);
            mig_lead(&f);
        }
        mig_until_over(&f, "job", 2 * MINUTE);
        assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
        assert_int_equal(f.evictions, 1);
        assert_int_equal(fake_count(f.client.fake, "reservations"), 1);
    }
}

static void test_faults_of_the_server_are_outlived(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed++) {
        CLEANUP(mig_end) struct migration_fixture f;
        mig_prepare(&f, seed, "{'objectLimiters':{'workload':{'duration':'0s'}}}");
        mig_four_pods(&f);
        mig_lead(&f);
        mig_new_job(&f, "a", "web-0", "'ttl':'20m',");
        mig_new_job(&f, "b", "web-2", "'ttl':'20m',");
        http_fault_set(f.client.faulty, &(struct http_faults){ .refuse = 30,
                                                               .lose_answer = 60,
                                                               .reset = 20,
                                                               .status_500 = 50,
                                                               .status_503 = 30,
                                                               .status_429 = 50,
                                                               .slow = 200,
                                                               .slow_max = 2 * SEC });
        mig_until_over(&f, "a", 15 * MINUTE);
        mig_until_over(&f, "b", 5 * MINUTE);
        assert_string_equal(mig_job(&f, "a", "status.phase"), "Succeeded");
        assert_string_equal(mig_job(&f, "b", "status.phase"), "Succeeded");
        assert_int_equal(f.evictions, 2);
        assert_int_equal(fake_count(f.client.fake, "reservations"), 2);
    }
}

static void test_a_budget_that_refuses_is_asked_again(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;

    (void)state;
    mig_prepare(&f, 20, "{}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'10m',");
    fake_answer_next_to(f.client.fake, "POST", "/eviction", 3, 429);
    mig_run(&f, 8 * SEC);
    assert_string_equal(mig_condition(&f, "job", "Eviction", "reason"), "FailedEvict");
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Running");
    assert_true(mig_has(&f, PODS, "web-0"));
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    mig_events(&f, &events);
    assert_contains(strbuf_str(&events), "FailedEvict: Failed evict Pod \"ns/web-0\" caused by");
}

/* ---- how a pod goes -------------------------------------------------------------------------- */

static void test_the_policy_says_how_a_pod_goes(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 21,
                "{'evictionPolicy':'Delete','maxMigratingPerWorkload':3,"
                "'maxUnavailablePerWorkload':3,'objectLimiters':{'workload':{'duration':"
                "'0s'}}}");
    mig_replicaset(&f, "web", 4);
    mig_pod(&f, "web-0", "web", "n1");
    mig_pod_with(&f, "web-1", "web", "n2", "'annotations':{'a':'b'},");
    mig_pod(&f, "web-2", "web", "n3"); /* of a policy that nobody knows */
    mig_patch(&f, PODS, "web-2",
              "{'metadata':{'labels':{'koordinator.sh/evict-policy':'Gently'}}}");
    mig_patch(&f, PODS, "web-1",
              "{'metadata':{'labels':{'koordinator.sh/evict-policy':'SoftEviction'}}}");
    mig_lead(&f);
    mig_new_job(&f, "hard", "web-0", "'ttl':'10m','mode':'EvictDirectly',");
    mig_new_job(&f, "soft", "web-1", "'ttl':'10m','mode':'EvictDirectly',");
    mig_new_job(&f, "odd", "web-2", "'ttl':'10m','mode':'EvictDirectly',");
    mig_patch(&f, JOBS, "soft",
              "{'metadata':{'annotations':{'koordinator.sh/evict-trigger':'LowNodeLoad',"
              "'koordinator.sh/evict-reason':'hot'}}}");
    mig_run(&f, 10 * SEC);
    assert_string_equal(mig_job(&f, "hard", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "odd", "status.phase"), "Succeeded");
    assert_int_equal(f.evictions, 2);
    const char *pod = fake_find(f.client.fake, PODS, "web-1");
    assert_contains(pod, "scheduling.koordinator.sh/soft-eviction");
    assert_contains(pod, "\\\"initiator\\\":\\\"LowNodeLoad\\\"");
    assert_contains(pod, "\\\"reason\\\":\\\"hot\\\"");
    assert_string_equal(mig_job(&f, "soft", "status.reason"), "Evicting");
    fake_delete(f.client.fake, PODS, "web-1"); /* somebody else does it */
    mig_until_over(&f, "soft", MINUTE);
    assert_string_equal(mig_job(&f, "soft", "status.phase"), "Succeeded");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_place_is_reserved_first),
        cmocka_unit_test(test_it_evicts_directly_when_asked),
        cmocka_unit_test(test_a_given_reservation_is_used),
        cmocka_unit_test(test_a_place_on_the_same_node_is_none),
        cmocka_unit_test(test_a_waiting_pod_is_given_a_place),
        cmocka_unit_test(test_a_pod_that_went_before_fails_the_job),
        cmocka_unit_test(test_a_successor_is_not_evicted),
        cmocka_unit_test(test_a_reservation_that_vanishes_fails_the_job),
        cmocka_unit_test(test_an_unschedulable_reservation_is_told),
        cmocka_unit_test(test_old_jobs_and_their_reservations_go),
        cmocka_unit_test(test_a_deleted_job_takes_its_reservation_along),
        cmocka_unit_test(test_bad_jobs_fail_with_a_reason),
        cmocka_unit_test(test_a_restart_at_any_step_loses_nothing),
        cmocka_unit_test(test_faults_of_the_server_are_outlived),
        cmocka_unit_test(test_a_budget_that_refuses_is_asked_again),
        cmocka_unit_test(test_the_policy_says_how_a_pod_goes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
