/* test_binding.c - from the choice to the server's answer: permits, pre-bind, what is written on
 * the pod, and giving up at any moment (scheduler-core 5.7, 6).
 */
#include "base/test/asserts.h"
#include "scheduler/extender/test/extender_fixture.h"
#include "scheduler/test/fake_plugin.h"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &fake_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static void start(struct engine_fixture *b)
{
    fake_reset();
    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 4000, 4096, 10, "");
    client_fixture_run(&b->client, SEC);
}

static void test_permit_allows_at_once(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_int_equal(fake.bound, 1);
    assert_int_equal(fake.unreserved, 0);
}

static void test_a_pod_waits_for_its_permit(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    /* Nobody is left in the dark, and the room is kept. */
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "waiting on permit of Fake for node n");
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "n");
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    ks_allow(&fake.env, engine_uid(&b, "p"), "Other");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    ks_allow(&fake.env, engine_uid(&b, "p"), "Fake");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    engine_verify(&b);
}

static void test_a_permit_runs_out(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 61 * SEC);
    assert_int_equal(fake.reserved, 1);
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at "
                        "plugin Fake.");
}

static void test_a_permit_is_refused(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 no permit.");
    assert_int_equal(fake.unreserved, 1);
}

static void test_what_happened_while_waiting_counts(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    engine_node(&b, "m", 4000, 4096, 10, ""); /* the plugin hears of it */
    client_fixture_run(&b.client, SEC);
    ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 0);
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
}

static void test_its_own_change_counts_too(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"new\":\"1\"}}}");
    client_fixture_run(&b.client, SEC);
    ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 0);
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
}

/* From pre-bind on nothing that happens helps it to another node. */
static void test_nobody_listens_for_who_has_its_permits(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    fake.pre_bind = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"new\":\"1\"}}}");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(fake.hinted, 1);
    ks_allow(&fake.env, engine_uid(&b, "p"), "Fake");
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"new\":\"2\"}}}");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(fake.hinted, 1);
    ks_bind_done(fake.asked, KS_SUCCESS, NULL);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
}

static void test_nobody_listens_when_extenders_have_answered(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    (void)state;
    e.filter_verb = "filter";
    fake_reset();
    fake_extender_start_with(&o, &e, 1, plugins);
    fake_extender_two_nodes(&o);
    fake_extender_answer(&o, "/x/filter", 200, "{'nodenames':['n2']}");
    fake.pre_bind = KS_WAIT;
    engine_pod(&o.engine, "p", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_non_null(fake.asked);
    fake_patch(o.engine.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"new\":\"1\"}}}");
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(fake.hinted, 0);
    ks_bind_done(fake.asked, KS_SUCCESS, NULL);
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
}

/* Whoever is undone may be rejected by the plugin that is told of it. */
static void test_nobody_is_undone_twice(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    fake.rejects_undone = true;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
    assert_int_equal(fake.unreserved, 1);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"), "0/1 nodes are available: 1 no.");
    fake.holds = "q";
    engine_pod(&b, "q", 100, 100, "");
    client_fixture_run(&b.client, 62 * SEC); /* its time runs out */
    assert_int_equal(fake.unreserved, 2);
    engine_verify(&b);
}

static void test_any_plugin_may_reject_who_waits(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    ks_reject(&fake.env, engine_uid(&b, "p"), "Nobody", "no");
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    ks_reject(&fake.env, engine_uid(&b, "p"), "NodeResourcesFit", "too big after all");
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 too big after all.");
}

/* They may wait for one that has not been tried yet. */
static void test_many_that_wait_do_not_block_others(void **state)
{
    enum { MANY = 300 };
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[8];
    (void)state;
    start(&b);
    engine_node(&b, "n", 4000, 4096, MANY, "");
    fake.permit = KS_WAIT;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(&b, name, 1, 1, "");
    }
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, MANY);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        ks_allow(&fake.env, engine_uid(&b, name), "Fake");
    }
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(fake.bound, MANY);
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
    engine_verify(&b);
}

static void test_all_reasons_are_told(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_UNSCHEDULABLE;
    fake.more = "a second reason";
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 a second reason, 1 no permit.");
    fake.permit = KS_ERROR;
    engine_pod(&b, "q", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_condition(&b, "q", "message"),
                        "running Permit plugin \"Fake\": no permit, a second reason");
    fake.permit = KS_SUCCESS;
    fake.pre_bind = KS_UNSCHEDULABLE;
    engine_pod(&b, "r", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_condition(&b, "r", "message"),
                        "0/1 nodes are available: 1 a second reason, 1 not prepared.");
}

static void test_a_reservation_is_refused_or_fails(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.reserve = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 not reserved.");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    fake.reserve = KS_ERROR;
    engine_pod(&b, "q", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_condition(&b, "q", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&b, "q", "message"),
                        "running Reserve plugin \"Fake\": not reserved");
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
}

static void test_a_waiting_pod_is_deleted(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
}

/* What was nominated and answered is taken back though the watch has not shown it yet. */
static void test_a_nomination_is_taken_back_while_the_watch_lags(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    while (scheduler_stats(b.s).waiting == 0)
        client_fixture_run(&b.client, NSEC_PER_MSEC);
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "");
    fake_answer_next_to(b.client.fake, "GET", "watch=", 1000, 500);
    fake_end_watches(b.client.fake);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "n");
    fake.permit = KS_UNSCHEDULABLE;
    ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "");
}

static void test_pre_bind_takes_its_time(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 10 * SEC);
    assert_non_null(fake.asked);
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "n");
    ks_bind_done(fake.asked, KS_SUCCESS, NULL);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_string_equal(engine_get(&b, "p", "metadata.labels.fake"), "yes");
}

/* The server would refuse; for an object that is bound by an update it might not. */
static void test_another_binds_it_during_pre_bind(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    engine_node(&b, "m", 4000, 4096, 10, "");
    fake.pre_bind = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_non_null(fake.asked);
    bool at_m = streq(fake.asked->node, "m");
    fake_patch(b.client.fake, PODS, "p",
               at_m ? "{\"spec\":{\"nodeName\":\"n\"}}" : "{\"spec\":{\"nodeName\":\"m\"}}");
    client_fixture_run(&b.client, SEC);
    ks_bind_done(fake.asked, KS_SUCCESS, NULL);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), at_m ? "n" : "m");
    assert_int_equal(fake_stats(b.client.fake).bind_conflicts, 0); /* it was not even tried */
    assert_string_equal(engine_get(&b, "p", "metadata.labels.fake"), "");
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(fake.bound, 0);
    engine_verify(&b);
}

static void test_pre_bind_fails(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_ERROR;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "running PreBind plugin \"Fake\": not prepared");
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    assert_that(fake.unreserved, >=, 1);
    fake.pre_bind = KS_SUCCESS;
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
}

static void test_a_pod_that_pre_bind_turns_down_backs_off(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 not prepared.");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 0); /* nothing need happen */
    fake.pre_bind = KS_SUCCESS;
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
}

static void test_who_may_not_fly_is_rejected(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.flight = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 not ready.");
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    fake.flight = KS_ERROR;
    engine_node(&b, "m", 4000, 4096, 10, ""); /* the plugin hears of it */
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "running PreBindPreFlight plugin \"Fake\": not ready");
    engine_verify(&b);
}

static void test_pre_bind_is_cancelled(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(fake.cancelled, 1);
    assert_int_equal(fake.unreserved, 1);
    engine_verify(&b);
}

static void test_all_changes_in_one_patch(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_SUCCESS;
    engine_pod(&b, "p", 100, 100, "");
    uint64_t before = fake_stats(b.client.fake).patches;
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    /* one for the nominated node, since pre-bind may take time, and one for all of the plugin */
    assert_in_range(fake_stats(b.client.fake).patches - before, 1, 2);
}

static void test_a_patch_is_tried_again(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake.pre_bind = KS_SUCCESS;
    fake_answer_next_to(b.client.fake, "PATCH", "/pods/p", 3, 409);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_string_equal(engine_get(&b, "p", "metadata.labels.fake"), "yes");
    assert_int_equal(scheduler_stats(b.s).attempts, 1);
}

static struct engine_fixture *doomed;
static void mark_deleted(void)
{
    fake_patch(doomed->client.fake, PODS, "p",
               "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}");
}

static void test_who_is_being_deleted_is_not_bound(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    doomed = &b;
    fake.pre_bind = KS_SUCCESS;
    fake.before_write = mark_deleted;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(fake_stats(b.client.fake).binds + fake_stats(b.client.fake).bind_conflicts, 0);
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
}

static void test_a_nomination_stays_when_nobody_could_make_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    (void)state;
    start(&b);
    fake_put(b.client.fake, PODS, "p",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
             "\"resources\":{\"requests\":{\"cpu\":\"9\"}}}]},"
             "\"status\":{\"nominatedNodeName\":\"n\"}}");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "n");
}

static void test_profiles_are_replaced(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c;
    const struct scheduler_opts o = { .profiles = &c, .nprofiles = 1 };
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    c = profile_config_default(plugins, "other", a);
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    engine_pod(&b, "q", 100, 100, ""); /* not ours any more */
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1); /* on its way under the old profile */
    ks_allow(&fake.env, engine_uid(&b, "p"), "Fake");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_string_equal(engine_node_of(&b, "q"), "");
    c = profile_config_default(plugins, "koord-scheduler", a);
    fake.permit = KS_SUCCESS;
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n");
    c.scheduler_name = "";
    assert_that(scheduler_reload(b.s, &o, &err), <, 0);
    engine_pod(&b, "r", 100, 100, ""); /* the old ones stay in force */
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "r"), "n");
}

/* What ends the last pod of a profile that was replaced may be called by a plugin of that profile,
 * in the middle of its work. */
static void test_a_replaced_profile_outlives_the_call_that_ends_it(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
        const struct scheduler_opts o = { .profiles = &c, .nprofiles = 1 };
        struct kerr err = { 0 };

        start(&b);
        fake.permit = KS_WAIT;
        fake.pre_bind = KS_ERROR;
        engine_pod(&b, "p", 100, 100, "");
        client_fixture_run(&b.client, SEC);
        assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
        int before = fake.destroyed; /* nobody used the other name's */
        assert_int_equal(scheduler_reload(b.s, &o, &err), -EBUSY);
        if (allowed)
            ks_allow(&fake.env, engine_uid(&b, "p"), "Fake");
        else
            ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
        assert_int_equal(fake.unreserved, 1);
        assert_int_equal(fake.destroyed, before);
        if (allowed)
            client_fixture_run(&b.client, 0);
        else
            assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
        assert_int_equal(fake.destroyed, before + 2 - allowed);
    }
}

/* Its time has come, and so has the end of everything. */
static void test_a_replaced_profile_ends_with_the_scheduler(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &c, .nprofiles = 1 }, &err), 0);
    ks_reject(&fake.env, engine_uid(&b, "p"), "Fake", "no");
}

/* ---- a plugin that has one of something ------------------------------------------------------ */

static struct kuid token_of; /* nobody has it: zero */
static bool token_taken;

static int token_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)env, (void)args, (void)err;
    token_taken = false;
    *ret_self = &token_taken;
    return 0;
}

static void token_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)c, (void)p, (void)skip;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = token_taken;
}

static enum ks_code token_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)row, (void)why;
    token_taken = true;
    token_of = p->pod->obj.meta.uid;
    return KS_SUCCESS;
}

static void token_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)node;
    if (kuid_equal(token_of, p->obj.meta.uid))
        token_taken = false;
}

static const struct ks_reason token_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "the token is taken" },
};
static const struct ks_hint token_hints[] = { { KS_RES_ASSIGNED_POD, KS_DELETE, NULL } };
static const struct ks_plugin token_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Token",
    .reasons = token_reasons,
    .hints = token_hints,
    .nhints = ARRAY_LEN(token_hints),
    .create = token_create,
    .filter = token_filter,
    .reserve = token_reserve,
    .unreserve = token_unreserve,
};

/* The cache forgets a deleted pod at once, its plugins when the server has answered. */
static void test_what_plugins_give_back_late_is_told(void **state)
{
    static const struct ks_registered all[] = {
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_fit, 1, true },
        { &token_plugin, 0, true },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, all);
    engine_node(&b, "n", 4000, 4096, 10, "");
    client_fixture_run(&b.client, SEC);
    fake_slow(b.client.fake, 2 * SEC);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, 10 * NSEC_PER_MSEC);
    engine_pod(&b, "q", 100, 100, "");
    client_fixture_run(&b.client, 10 * NSEC_PER_MSEC);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    fake_delete(b.client.fake, PODS, "p"); /* its binding is out */
    client_fixture_run(&b.client, SEC);
    assert_true(token_taken);
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permit_allows_at_once),
        cmocka_unit_test(test_a_pod_waits_for_its_permit),
        cmocka_unit_test(test_a_permit_runs_out),
        cmocka_unit_test(test_a_permit_is_refused),
        cmocka_unit_test(test_what_happened_while_waiting_counts),
        cmocka_unit_test(test_its_own_change_counts_too),
        cmocka_unit_test(test_nobody_listens_for_who_has_its_permits),
        cmocka_unit_test(test_nobody_listens_when_extenders_have_answered),
        cmocka_unit_test(test_nobody_is_undone_twice),
        cmocka_unit_test(test_any_plugin_may_reject_who_waits),
        cmocka_unit_test(test_many_that_wait_do_not_block_others),
        cmocka_unit_test(test_all_reasons_are_told),
        cmocka_unit_test(test_a_reservation_is_refused_or_fails),
        cmocka_unit_test(test_a_waiting_pod_is_deleted),
        cmocka_unit_test(test_a_nomination_is_taken_back_while_the_watch_lags),
        cmocka_unit_test(test_pre_bind_takes_its_time),
        cmocka_unit_test(test_another_binds_it_during_pre_bind),
        cmocka_unit_test(test_pre_bind_fails),
        cmocka_unit_test(test_a_pod_that_pre_bind_turns_down_backs_off),
        cmocka_unit_test(test_who_may_not_fly_is_rejected),
        cmocka_unit_test(test_pre_bind_is_cancelled),
        cmocka_unit_test(test_all_changes_in_one_patch),
        cmocka_unit_test(test_a_patch_is_tried_again),
        cmocka_unit_test(test_who_is_being_deleted_is_not_bound),
        cmocka_unit_test(test_a_nomination_stays_when_nobody_could_make_room),
        cmocka_unit_test(test_profiles_are_replaced),
        cmocka_unit_test(test_a_replaced_profile_outlives_the_call_that_ends_it),
        cmocka_unit_test(test_a_replaced_profile_ends_with_the_scheduler),
        cmocka_unit_test(test_what_plugins_give_back_late_is_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
