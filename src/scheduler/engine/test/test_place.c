/* test_place.c - a plugin refuses to reserve on the node that was chosen: the next best are tried
 * in the same attempt.
 */
#include "scheduler/test/fake_plugin.h"

static struct tailor { /* gives a pod another size on one node */
    const char *node;
    int64_t mcpu;
    int64_t seen; /* the size that reserve() saw last */
    char seen_on[8];
} tailor;

static enum ks_code tailor_resize(void *self, const struct ks_cycle *c, struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    (void)self, (void)why;
    if (!tailor.node || !streq(c->nodes->node[row]->obj.meta.name, tailor.node))
        return KS_SKIP;
    p->requests.fixed[KS_MCPU] = p->requests.mcpu_nz = tailor.mcpu;
    return KS_SUCCESS;
}

static enum ks_code tailor_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   uint32_t row, struct ks_texts *why)
{
    (void)self, (void)why;
    tailor.seen = p->requests.fixed[KS_MCPU];
    (void)snprintf(tailor.seen_on, sizeof tailor.seen_on, "%s", c->nodes->node[row]->obj.meta.name);
    return KS_SUCCESS;
}

static void tailor_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static const struct ks_plugin tailor_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Tailor",
    .resize = tailor_resize,
    .reserve = tailor_reserve,
    .unreserve = tailor_unreserve,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &tailor_plugin, 0, true },
    { &fake_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* Nodes n0 .. of 1, 2, .. CPUs: the largest is the best for a pod. */
static void start(struct engine_fixture *b, int nodes)
{
    char name[8];

    fake_reset();
    tailor = (struct tailor){ .node = NULL };
    engine_start_opts(b, 1, (struct scheduler_opts){ .plugins = plugins, .resize_pods = true });
    for (int i = 0; i < nodes; i++) {
        (void)snprintf(name, sizeof name, "n%d", i % 100);
        engine_node(b, name, 1000 * (i + 1), 4096, 10, "");
    }
    client_fixture_run(&b->client, SEC);
}

static void test_the_next_best_node_is_tried(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 4);
    fake.reserve = KS_UNSCHEDULABLE;
    fake.refuses = "n3 n2";
    engine_pod(&b, "p", 500, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_int_equal(scheduler_stats(b.s).attempts, 1);
    assert_int_equal(scheduler_stats(b.s).failed, 0);
    assert_int_equal(fake.reserved, 3);
    assert_int_equal(fake.unreserved, 2);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
    fake.refuses = ""; /* what was refused then is not remembered */
    engine_pod(&b, "q", 500, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n3");
}

static void test_all_of_few_refuse(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 3);
    fake.reserve = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 500, 100, "");
    client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
    assert_int_equal(fake.reserved, 3);
    assert_int_equal(fake.unreserved, 3);
    assert_string_equal(engine_condition(&b, "p", "reason"), "Unschedulable");
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/3 nodes are available: 3 not reserved.");
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(scheduler_stats(b.s).attempts, 1); /* it waits for what the plugin names */
    fake.reserve = KS_SUCCESS;
    engine_node(&b, "new", 1000, 4096, 10, "");
    client_fixture_run(&b.client, 15 * SEC);
    assert_int_equal(*engine_node_of(&b, "p"), 'n');
    engine_verify(&b);
}

static void test_no_more_than_eight(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 12);
    fake.reserve = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 500, 100, "");
    client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
    assert_int_equal(fake.reserved, 8);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "0/8 nodes are available: 8 not reserved.");
    engine_verify(&b);
}

static void test_an_error_ends_the_attempt(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 4);
    fake.reserve = KS_ERROR;
    engine_pod(&b, "p", 500, 100, "");
    client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
    assert_int_equal(fake.reserved, 1);
    assert_int_equal(fake.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).errors, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "running Reserve plugin \"Fake\": not reserved");
    engine_verify(&b);
}

/* What a plugin gave the pod on one node is not what it has on the next. */
static void test_a_size_is_for_one_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    tailor.node = "n1";
    tailor.mcpu = 900;
    fake.reserve = KS_UNSCHEDULABLE;
    fake.refuses = "n1";
    fake.permit = KS_WAIT;
    engine_pod(&b, "p", 500, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(tailor.seen_on, "n0");
    assert_int_equal(tailor.seen, 500);
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    fake.permit = KS_SUCCESS;
    engine_pod(&b, "q", 500, 100, ",\"nodeName\":\"n0\""); /* there is room for it */
    engine_pod(&b, "r", 500, 100, "");
    fake.refuses = "";
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "r"), "n1");
    assert_int_equal(tailor.seen, 900);
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_best_node_is_tried),
        cmocka_unit_test(test_all_of_few_refuse),
        cmocka_unit_test(test_no_more_than_eight),
        cmocka_unit_test(test_an_error_ends_the_attempt),
        cmocka_unit_test(test_a_size_is_for_one_node),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
