/* test_standby.c - before and at the moment of leading: warm caches, silence, the sync barrier
 * (scheduler-core 9.1, 9.4, 9.5). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/dra.h"
#include "api/policy.h"
#include "api/storage.h"
#include "scheduler/engine/barrier.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define MS             NSEC_PER_MSEC
#define KUBE_SYSTEM    "/api/v1/namespaces/kube-system/pods"
#define BARRIER_POD    "koord-scheduler-sync-barrier"
#define BARRIER_BODY   "{\"spec\":{\"schedulerName\":\"none\",\"containers\":[{\"name\":\"c\"}]}}"
#define ANNOTATION_KEY "scheduling.koordinator.sh/sync-barrier-the-lease"

static enum ks_code stub_gate_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    (void)self;
    if (!streq(p->obj.meta.name, "held"))
        return KS_SUCCESS;
    ks_texts_add(why, "not before noon");
    return KS_UNRESOLVABLE;
}

static const struct ks_plugin stub_gate = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "StubGate",
    .pre_enqueue = stub_gate_pre_enqueue,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &stub_gate, 0, true }, { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

struct spy {
    unsigned writes;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    (void)agent, (void)method, (void)target, (void)body;
    ((struct spy *)arg)->writes++;
}

static void stand_by(struct engine_fixture *b, const struct scheduler_opts *o)
{
    struct kerr err = { 0 };

    client_fixture_init(&b->client, 1);
    b->s = scheduler_new(b->client.loop, b->client.kube, o, &err);
    assert_string_equal(err.text, "");
    scheduler_watch(b->s);
}

/* ---- standing by ----------------------------------------------------------------------------- */

static void test_who_stands_by_knows_all_and_does_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct spy spy = { 0 };

    (void)state;
    stand_by(&b, &(struct scheduler_opts){ .plugins = plugins, .verify_reuse = true });
    fake_on_write(b.client.fake, on_write, &spy);
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "running", 100, 100, ",\"nodeName\":\"n1\"");
    engine_pod(&b, "fits", 500, 100, "");
    engine_pod(&b, "too-big", 5000, 100, "");
    engine_pod(&b, "held", 100, 100, "");
    client_fixture_run(&b.client, 600 * SEC); /* beyond every back-off and time-out */
    struct scheduler_stats st = scheduler_stats(b.s);
    assert_true(scheduler_synced(b.s));
    assert_int_equal(st.nodes, 1);
    assert_int_equal(st.pods, 1);
    assert_int_equal(st.pending, 3);
    assert_int_equal(st.attempts, 0);
    assert_int_equal(st.assumed, 0);
    assert_int_equal(spy.writes, 0);
    assert_string_equal(engine_condition(&b, "held", "message"), "");
}

static void test_a_take_over_is_immediate(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    stand_by(&b, &(struct scheduler_opts){ .plugins = plugins, .verify_reuse = true });
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "fits", 500, 100, "");
    engine_pod(&b, "too-big", 5000, 100, "");
    engine_pod(&b, "held", 100, 100, "");
    client_fixture_run(&b.client, 60 * SEC);
    unsigned lists = fake_stats(b.client.fake).lists;
    scheduler_lead(b.s);
    client_fixture_run(&b.client, 20 * MS);
    assert_string_equal(engine_node_of(&b, "fits"), "n1");
    assert_string_equal(engine_condition(&b, "too-big", "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    /* what was held meanwhile is told now */
    assert_string_equal(engine_condition(&b, "held", "message"), "not before noon");
    assert_int_equal(fake_stats(b.client.fake).lists, lists);
    engine_verify(&b);
}

static void test_bindings_of_the_leader_are_seen(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    stand_by(&b, &(struct scheduler_opts){ .plugins = plugins, .verify_reuse = true });
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "theirs", 800, 100, "");
    engine_pod(&b, "ours", 800, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_patch(b.client.fake, PODS, "theirs", "{\"spec\":{\"nodeName\":\"n1\"}}");
    client_fixture_run(&b.client, SEC);
    scheduler_lead(b.s);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "ours"), ""); /* no room is left */
    assert_int_equal(scheduler_stats(b.s).pods, 1);
}

static void test_leading_before_the_caches_are_complete_waits(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    client_fixture_init(&b.client, 1);
    b.s = scheduler_new(b.client.loop, b.client.kube, &(struct scheduler_opts){ 0 }, NULL);
    engine_node(&b, "n1", 1000, 8192, 110, "");
    engine_pod(&b, "p", 500, 100, "");
    fake_slow(b.client.fake, 300 * MS);
    scheduler_watch(b.s);
    scheduler_lead(b.s);
    client_fixture_run(&b.client, 200 * MS);
    assert_int_equal(scheduler_stats(b.s).attempts, 0);
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

static void test_kinds_left_out_are_not_asked_for(void **state)
{
    static const struct kind *const out[] = { &kind_pdb, &kind_csi_storage_capacity, NULL };
    CLEANUP(engine_stop) struct engine_fixture all, few;

    (void)state;
    stand_by(&all, &(struct scheduler_opts){ 0 });
    client_fixture_run(&all.client, SEC);
    stand_by(&few, &(struct scheduler_opts){ .unwatched = out });
    client_fixture_run(&few.client, SEC);
    assert_true(scheduler_synced(few.s));
    assert_int_equal(fake_stats(few.client.fake).lists + 2, fake_stats(all.client.fake).lists);
    engine_node(&few, "n1", 1000, 8192, 110, "");
    engine_pod(&few, "p", 500, 100, "");
    scheduler_lead(few.s);
    client_fixture_run(&few.client, SEC);
    assert_string_equal(engine_node_of(&few, "p"), "n1");
}

/* DisableDynamicResourceAllocationInformer: nothing of resource.k8s.io is watched, pods with claims
 * wait, others do not. */
static void test_without_the_kinds_of_claims(void **state)
{
    static const struct kind *const out[] = { &kind_resource_claim, &kind_resource_slice,
                                              &kind_device_class, &kind_device_taint_rule, NULL };
    CLEANUP(engine_stop) struct engine_fixture all, few;
    struct gates gates;

    (void)state;
    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, "DRADeviceTaints=true,DRADeviceTaintRules=true", NULL), 0);
    stand_by(&all, &(struct scheduler_opts){ .gates = &gates });
    client_fixture_run(&all.client, SEC);
    stand_by(&few, &(struct scheduler_opts){ .gates = &gates, .unwatched = out });
    client_fixture_run(&few.client, SEC);
    assert_true(scheduler_synced(few.s));
    assert_int_equal(fake_stats(few.client.fake).lists + 4, fake_stats(all.client.fake).lists);
    struct engine_fixture *const both[] = { &all, &few };
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        struct engine_fixture *b = both[i];
        engine_node(b, "n1", 1000, 8192, 110, "");
        fake_put(b->client.fake, "/apis/resource.k8s.io/v1/deviceclasses", "gpu", "{\"spec\":{}}");
        fake_put(b->client.fake, "/apis/resource.k8s.io/v1/resourceslices", "s",
                 "{\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
                 "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"g0\"}]}}");
        fake_put(b->client.fake, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", "c",
                 "{\"metadata\":{\"namespace\":\"ns\"},\"spec\":{\"devices\":{\"requests\":[{"
                 "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\",\"count\":1}}]}}}");
        engine_pod(b, "plain", 100, 100, "");
        engine_pod(b, "claims", 100, 100,
                   ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c\"}]");
        scheduler_lead(b->s);
        client_fixture_run(&b->client, 60 * SEC);
        assert_string_equal(engine_node_of(b, "plain"), "n1");
    }
    assert_string_equal(engine_node_of(&all, "claims"), "n1");
    assert_string_equal(engine_node_of(&few, "claims"), "");
    assert_null(strstr(
        fake_find(few.client.fake, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", "c"),
        "allocation"));
}

/* ---- the barrier ----------------------------------------------------------------------------- */

struct passing {
    struct engine_fixture engine;
    struct barrier *barrier;
    unsigned passed;
    struct kerr err;
};

static void on_passed(void *arg, const struct kerr *err)
{
    struct passing *p = arg;

    p->passed++;
    p->err = err ? *err : (struct kerr){ 0 };
}

static void pass(struct passing *p)
{
    p->barrier = barrier_new(
        p->engine.s,
        &(struct barrier_opts){
            .ns = "kube-system", .name = BARRIER_POD, .lease = "the-lease", .timeout = 10 * SEC },
        on_passed, p);
}

static void passing_stop_p(struct passing *p)
{
    barrier_free(p->barrier);
    engine_stop_p(&p->engine);
}

static void ready(struct passing *p)
{
    *p = (struct passing){ 0 };
    stand_by(&p->engine, &(struct scheduler_opts){ 0 });
    fake_put(p->engine.client.fake, KUBE_SYSTEM, BARRIER_POD, BARRIER_BODY);
    engine_node(&p->engine, "n1", 1000, 8192, 110, "");
    engine_pod(&p->engine, "running", 100, 100, ",\"nodeName\":\"n1\"");
    client_fixture_run(&p->engine.client, SEC);
}

static void test_versions_are_compared_by_length_first(void **state)
{
    (void)state;
    assert_true(barrier_reached("100", "99"));
    assert_false(barrier_reached("99", "100"));
    assert_true(barrier_reached("100", "100"));
    assert_true(barrier_reached("101", "100"));
    assert_false(barrier_reached("100", "101"));
}

static void test_the_barrier_waits_for_our_own_write(void **state)
{
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    ready(&p);
    pass(&p);
    client_fixture_run(&p.engine.client, SEC);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.code, 0);
    assert_contains(fake_find(p.engine.client.fake, KUBE_SYSTEM, BARRIER_POD),
                    "\"" ANNOTATION_KEY "\":\"2025-11-15T");
    client_fixture_run(&p.engine.client, 60 * SEC);
    assert_int_equal(p.passed, 1);
}

static void test_the_barrier_waits_while_the_watch_is_behind(void **state)
{
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    *(&p) = (struct passing){ 0 };
    client_fixture_init(&p.engine.client, 1);
    p.engine.s = scheduler_new(p.engine.client.loop, p.engine.client.kube,
                               &(struct scheduler_opts){ 0 }, NULL);
    fake_put(p.engine.client.fake, KUBE_SYSTEM, BARRIER_POD, BARRIER_BODY);
    pass(&p); /* nothing is watched yet */
    client_fixture_run(&p.engine.client, 5 * SEC);
    assert_int_equal(p.passed, 0);
    scheduler_watch(p.engine.s);
    client_fixture_run(&p.engine.client, SEC);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.code, 0);
}

static void test_a_barrier_that_takes_too_long_is_given_up(void **state)
{
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    ready(&p);
    fake_answer_next(p.engine.client.fake, 1000, 403, -1);
    pass(&p);
    client_fixture_run(&p.engine.client, 9 * SEC);
    assert_int_equal(p.passed, 0);
    client_fixture_run(&p.engine.client, 2 * SEC);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.code, -ETIMEDOUT);
    client_fixture_run(&p.engine.client, 60 * SEC);
    assert_int_equal(p.passed, 1);
}

/* Another leader may have placed a Reservation: its watch is not that of pods. */
static void test_the_barrier_waits_for_reservations(void **state)
{
    static const struct ks_registered reserving[] = {
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_fit, 1, true },
        { &ks_plugin_reservation, 1, true },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    *(&p) = (struct passing){ 0 };
    stand_by(&p.engine, &(struct scheduler_opts){ .plugins = reserving });
    fake_put(p.engine.client.fake, KUBE_SYSTEM, BARRIER_POD, BARRIER_BODY);
    client_fixture_run(&p.engine.client, SEC);
    fake_answer_next_to(p.engine.client.fake, "GET", "/reservations", 1000, 500);
    pass(&p);
    client_fixture_run(&p.engine.client, 5 * SEC);
    assert_int_equal(p.passed, 0);
    fake_answer_next_to(p.engine.client.fake, "GET", "/reservations", 0, 500);
    client_fixture_run(&p.engine.client, 2 * SEC);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.code, 0);
}

static void test_errors_are_tried_again(void **state)
{
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    ready(&p);
    fake_answer_next(p.engine.client.fake, 3, 500, -1);
    pass(&p);
    client_fixture_run(&p.engine.client, 2 * SEC);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.code, 0);
}

static void test_without_its_pod_there_is_no_barrier(void **state)
{
    CLEANUP(passing_stop) struct passing p;

    (void)state;
    ready(&p);
    fake_delete(p.engine.client.fake, KUBE_SYSTEM, BARRIER_POD);
    pass(&p);
    client_fixture_run(&p.engine.client, 200 * MS);
    assert_int_equal(p.passed, 1);
    assert_int_equal(p.err.reason, KR_NOT_FOUND);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_stands_by_knows_all_and_does_nothing),
        cmocka_unit_test(test_a_take_over_is_immediate),
        cmocka_unit_test(test_bindings_of_the_leader_are_seen),
        cmocka_unit_test(test_leading_before_the_caches_are_complete_waits),
        cmocka_unit_test(test_kinds_left_out_are_not_asked_for),
        cmocka_unit_test(test_without_the_kinds_of_claims),
        cmocka_unit_test(test_versions_are_compared_by_length_first),
        cmocka_unit_test(test_the_barrier_waits_for_our_own_write),
        cmocka_unit_test(test_the_barrier_waits_while_the_watch_is_behind),
        cmocka_unit_test(test_a_barrier_that_takes_too_long_is_given_up),
        cmocka_unit_test(test_the_barrier_waits_for_reservations),
        cmocka_unit_test(test_errors_are_tried_again),
        cmocka_unit_test(test_without_its_pod_there_is_no_barrier),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
