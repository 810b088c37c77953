/* test_hooks.c - what koord-scheduler adds to the extension points: a plugin resizes the pod on the
 * node that was chosen, or chooses the pod that goes next (scheduler-core 10).
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "component/metrics.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

static struct hand {
    struct ks_env env;
    enum ks_code resize, permit;
    int64_t mcpu; /* what resize() gives */
    int resized, unreserved;
    int64_t reserved; /* what reserve() saw */
    char wish[8];     /* the pod that must go next; said once */
    char order[64];   /* of the attempts that found a node */
    struct engine_fixture *engine;
} hand;

static int hand_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    hand.env = *env;
    *ret_self = &hand;
    return 0;
}

static enum ks_code hand_resize(void *self, const struct ks_cycle *c, struct ks_pod *p,
                                uint32_t row, struct ks_texts *why)
{
    (void)self;
    hand.resized++;
    assert_string_equal(c->nodes->node[row]->obj.meta.name, "n");
    if (hand.resize == KS_SUCCESS)
        p->requests.fixed[KS_MCPU] = p->requests.mcpu_nz = hand.mcpu;
    ks_texts_add(why, "the hand shakes");
    return hand.resize;
}

static enum ks_code hand_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    size_t len = strlen(hand.order);

    (void)self, (void)c, (void)row, (void)why;
    hand.reserved = p->requests.fixed[KS_MCPU];
    (void)snprintf(hand.order + len, sizeof hand.order - len, "%s ", p->pod->obj.meta.name);
    return KS_SUCCESS;
}

static void hand_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    hand.unreserved++;
}

static enum ks_code hand_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    *ret_timeout = 600 * SEC;
    return streq(p->obj.meta.name, "p") ? hand.permit : KS_SUCCESS;
}

static bool hand_next(void *self, struct kuid *ret_uid)
{
    (void)self;
    if (!*hand.wish)
        return false;
    *ret_uid = engine_uid(hand.engine, hand.wish);
    hand.wish[0] = '\0';
    return true;
}

static const struct ks_plugin hand_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Hand",
    .create = hand_create,
    .reserve = hand_reserve,
    .unreserve = hand_unreserve,
    .permit = hand_permit,
    .resize = hand_resize,
    .next = hand_next,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_fit, 1, true },
    { &hand_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* A node of 4 CPUs, and a scheduler that has not begun yet. */
static void prepare_with(struct engine_fixture *b, struct scheduler_opts o)
{
    struct kerr err = { 0 };

    hand = (struct hand){ .resize = KS_SKIP, .permit = KS_SUCCESS, .engine = b };
    client_fixture_init(&b->client, 1);
    o.plugins = plugins;
    o.verify_reuse = true;
    b->s = scheduler_new(b->client.loop, b->client.kube, &o, &err);
    assert_string_equal(err.text, "");
    engine_node(b, "n", 4000, 4096, 10, "");
}

static void prepare(struct engine_fixture *b, bool resize_pods)
{
    prepare_with(b, (struct scheduler_opts){ .resize_pods = resize_pods });
}

static void begin(struct engine_fixture *b)
{
    scheduler_start(b->s);
    client_fixture_run(&b->client, SEC);
}

/* ---- resize ---------------------------------------------------------------------------------- */

static void test_a_pod_takes_what_it_was_resized_to(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, true);
    begin(&b);
    hand.resize = KS_SUCCESS;
    hand.mcpu = 3500;
    hand.permit = KS_WAIT;
    engine_pod(&b, "p", 1000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(hand.reserved, 3500);
    hand.resize = KS_SKIP;
    engine_pod(&b, "q", 1000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_condition(&b, "q", "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    engine_verify(&b);
    /* What the server confirms is what counts from then on. */
    ks_allow(&hand.env, engine_uid(&b, "p"), "Hand");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    ks_activate(&hand.env, engine_uid(&b, "q"));
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n");
    assert_int_equal(hand.reserved, 1000); /* q was left as it is */
    engine_verify(&b);
}

static void test_room_is_given_back_as_it_was_taken(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, true);
    begin(&b);
    hand.resize = KS_SUCCESS;
    hand.mcpu = 4000;
    hand.permit = KS_WAIT;
    engine_pod(&b, "p", 1000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
    engine_pod(&b, "q", 4000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n");
}

static void test_a_resize_that_fails(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, true);
    begin(&b);
    hand.resize = KS_UNSCHEDULABLE; /* whatever it says: it is an error */
    engine_pod(&b, "p", 1000, 100, "");
    client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
    assert_int_equal(hand.resized, 1);
    assert_int_equal(hand.unreserved, 1);
    assert_int_equal(hand.reserved, 0);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).errors, 1);
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "running ResizePod plugin \"Hand\": the hand shakes");
    hand.resize = KS_SKIP;
    client_fixture_run(&b.client, 10 * SEC); /* an error backs off and is tried again */
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_int_equal(hand.reserved, 1000);
    engine_verify(&b);
}

static void test_nobody_resizes_without_the_gate(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, false);
    begin(&b);
    hand.resize = KS_ERROR;
    engine_pod(&b, "p", 1000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_int_equal(hand.resized, 0);
}

/* ---- next ------------------------------------------------------------------------------------ */

static void test_a_plugin_chooses_who_goes_next(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, false);
    engine_pod(&b, "x", 100, 100, ",\"priority\":9");
    engine_pod(&b, "y", 100, 100, ",\"priority\":5");
    engine_pod(&b, "z", 100, 100, ",\"priority\":1");
    (void)snprintf(hand.wish, sizeof hand.wish, "z");
    begin(&b);
    assert_string_equal(hand.order, "z x y ");
    assert_string_equal(engine_node_of(&b, "z"), "n");
}

static void test_wishes_that_cannot_be_met(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, false);
    engine_pod(&b, "x", 100, 100, "");
    engine_pod(&b, "g", 100, 100, ",\"schedulingGates\":[{\"name\":\"wait\"}]");
    (void)snprintf(hand.wish, sizeof hand.wish, "g");
    begin(&b);
    assert_string_equal(hand.order, "x "); /* the gate holds */
    (void)snprintf(hand.wish, sizeof hand.wish, "nobody");
    engine_pod(&b, "y", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(hand.order, "x y ");
    hand.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    (void)snprintf(hand.wish, sizeof hand.wish, "p"); /* on its way */
    engine_pod(&b, "z", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(hand.order, "x y p z ");
    engine_verify(&b);
}

static void test_a_wish_does_not_wait_for_events(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, false);
    engine_pod(&b, "p", 5000, 100, ""); /* fits nowhere */
    begin(&b);
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    uint64_t before = scheduler_stats(b.s).attempts;
    (void)snprintf(hand.wish, sizeof hand.wish, "p");
    engine_pod(&b, "x", 100, 100, ""); /* something to do: the plugin is asked */
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).attempts, before + 2);
    assert_string_equal(hand.order, "x ");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    engine_verify(&b);
}

/* ---- gates and metrics ------------------------------------------------------------------------
 */

static void test_plugins_ask_for_gates_and_count_in_the_registry(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    static const struct metric_desc shakes = { "hand_shakes_total", "Hands.", METRIC_COUNTER };
    struct gates gates;
    struct kerr err = { 0 };

    (void)state;
    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, "MultiQuotaTree=true,DynamicSchedulerCheck=false", &err),
                     0);
    prepare_with(&b, (struct scheduler_opts){ .metrics = m, .gates = &gates });
    assert_true(ks_gate(&hand.env, "MultiQuotaTree"));
    assert_false(ks_gate(&hand.env, "DynamicSchedulerCheck"));
    assert_true(ks_gate(&hand.env, "GangPendingPodsConditionPatch")); /* its default */
    assert_true(ks_gate(&(struct ks_env){ 0 }, "DynamicSchedulerCheck"));
    counter_inc(metric_counter(metrics_add(hand.env.metrics, &shakes), NULL));
    metrics_write(&m, 1, &text);
    assert_contains(strbuf_str(&text), "hand_shakes_total 1\n");
    b.s = scheduler_free(b.s); /* before its registry */
}

/* ---- nominations of other schedulers --------------------------------------------------------- */

/* 3 of 4 CPUs are nominated for a pod of priority 5 that is not ours. */
static void nominate_elsewhere(struct engine_fixture *b, bool counts)
{
    prepare_with(b, (struct scheduler_opts){ .foreign_nominations = counts });
    fake_put(b->client.fake, PODS, "other",
             "{\"spec\":{\"schedulerName\":\"somebody\",\"priority\":5,\"containers\":[{\"name\":"
             "\"c\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]},"
             "\"status\":{\"nominatedNodeName\":\"n\"}}");
    begin(b);
}

static void test_nominations_of_others_hold_against_lower_priorities(void **state)
{
    static const struct {
        bool counts;
        int priority;
        const char *node;
    } cases[] = { { false, 4, "n" }, { true, 4, "" }, { true, 5, "n" }, { true, 6, "n" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        char more[32];
        nominate_elsewhere(&b, cases[i].counts);
        (void)snprintf(more, sizeof more, ",\"priority\":%d", cases[i].priority);
        engine_pod(&b, "p", 2000, 100, more);
        client_fixture_run(&b.client, SEC);
        assert_string_equal(engine_node_of(&b, "p"), cases[i].node);
    }
}

/* Its profile went while it waited: it belongs to another scheduler now, and has its room. */
static void test_who_is_on_its_way_is_not_nominated_as_well(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config other = profile_config_default(plugins, "another", a);
    struct kerr err = { 0 };

    (void)state;
    prepare_with(&b, (struct scheduler_opts){ .foreign_nominations = true });
    hand.permit = KS_WAIT;
    begin(&b);
    engine_pod(&b, "p", 1000, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &other, .nprofiles = 1 }, &err),
        0);
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
}

static void test_nominations_of_others_end(void **state)
{
    static const char *const ends[] = {
        "{\"status\":{\"nominatedNodeName\":null}}",
        "{\"status\":{\"nominatedNodeName\":\"elsewhere\"}}",
        "{\"status\":{\"phase\":\"Failed\"}}",
        NULL,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        nominate_elsewhere(&b, true);
        engine_pod(&b, "p", 2000, 100, "");
        client_fixture_run(&b.client, 20 * SEC);
        assert_string_equal(engine_node_of(&b, "p"), "");
        if (ends[i])
            fake_patch(b.client.fake, PODS, "other", ends[i]);
        else
            fake_delete(b.client.fake, PODS, "other");
        client_fixture_run(&b.client, 5 * SEC);
        assert_string_equal(engine_node_of(&b, "p"), "n");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_takes_what_it_was_resized_to),
        cmocka_unit_test(test_room_is_given_back_as_it_was_taken),
        cmocka_unit_test(test_a_resize_that_fails),
        cmocka_unit_test(test_nobody_resizes_without_the_gate),
        cmocka_unit_test(test_a_plugin_chooses_who_goes_next),
        cmocka_unit_test(test_wishes_that_cannot_be_met),
        cmocka_unit_test(test_a_wish_does_not_wait_for_events),
        cmocka_unit_test(test_plugins_ask_for_gates_and_count_in_the_registry),
        cmocka_unit_test(test_nominations_of_others_hold_against_lower_priorities),
        cmocka_unit_test(test_who_is_on_its_way_is_not_nominated_as_well),
        cmocka_unit_test(test_nominations_of_others_end),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
