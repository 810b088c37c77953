/* test_gangpreempt.c - room for a whole gang, or no eviction (sched-gang 6); and gangs in a network
 * (7.5). */
#include "gang_engine.h"

#define PRIORITY(n) ",\"priority\":" #n
#define PDBS        "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

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
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "0/2 nodes are available: 2 Insufficient cpu. preemption: "
                                   "preempt success, alreadyWaitingForBound: 0/2"),
                     1);
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
    assert_true(strstr(engine_condition(&b, "g0", "message"), "alreadyWaitingForBound: 1/2") ||
                strstr(engine_condition(&b, "g1", "message"), "alreadyWaitingForBound: 1/2"));
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
/* A member goes while room is made: what is nominated for the others is no use to them. */
static void test_a_gang_that_breaks_up_frees_its_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    full_cluster(&b);
    fake_graceful(b.client.fake, true);
    member(&b, "g0", 16);
    member(&b, "g1", 16);
    soon(&b);
    assert_string_equal(engine_get(&b, "g0", "status.nominatedNodeName"), "node-1");
    fake_graceful(b.client.fake, false);
    fake_delete(b.client.fake, PODS, "g1");
    fake_delete(b.client.fake, PODS, "low0");
    fake_delete(b.client.fake, PODS, "low1");
    gang_pod_with(&b, "other0", "", "", 16, PRIORITY(100));
    gang_pod_with(&b, "other1", "", "", 16, PRIORITY(100));
    soon(&b);
    assert_string_equal(engine_get(&b, "g0", "status.nominatedNodeName"), "");
    assert_true(gang_runs(&b, "other0"));
    assert_true(gang_runs(&b, "other1"));
    assert_int_equal(scheduler_stats(b.s).victims, 2);
}

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

/* ---- disruption budgets ---------------------------------------------------------------------- */

static void pod_on(struct engine_fixture *b, const char *name, const char *node, int priority,
                   const char *labels)
{
    char spec[96];

    (void)snprintf(spec, sizeof spec, ",\"priority\":%d,\"nodeName\":\"%s\"", priority, node);
    gang_pod_with(b, name, labels, "", 16, spec);
}

/* Two nodes with one pod of a budget each, and so many dearer ones without. */
static void cluster_with_budget(struct engine_fixture *b, int others, int allowed)
{
    char name[16], node[16], budget[256];

    gang_start(b, "{\"enablePreemption\":true}");
    for (int i = 0; i < 2 + others; i++) {
        (void)snprintf(node, sizeof node, "node-%d", i);
        (void)snprintf(name, sizeof name, i < 2 ? "web-%d" : "other-%d", i);
        gang_node(b, node, 16);
        pod_on(b, name, node, i < 2 ? 1 : 2, i < 2 ? "\"app\":\"web\"" : "");
    }
    (void)snprintf(budget, sizeof budget,
                   "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}},"
                   "\"status\":{\"disruptionsAllowed\":%d}}",
                   allowed);
    fake_put(b->client.fake, PDBS, "web", budget);
    gang_podgroup(b, "g", 2, "");
    soon(b);
    member(b, "g0", 16);
    member(b, "g1", 16);
    client_fixture_run(&b->client, 12 * SEC);
    assert_int_equal(gang_bound(b, "g", 2), 2);
    assert_int_equal(scheduler_stats(b->s).victims, 2);
}

/* One of the two may go: what each node for itself would allow is too much for both. */
static void test_budgets_count_over_the_whole_plan(void **state)
{
    (void)state;
    for (int allowed = 0; allowed <= 2; allowed++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        cluster_with_budget(&b, 2, allowed);
        assert_int_equal(gang_runs(&b, "web-0") + gang_runs(&b, "web-1"), 2 - allowed);
        assert_int_equal(gang_runs(&b, "other-2") + gang_runs(&b, "other-3"), allowed);
        engine_verify(&b);
    }
}

/* Without another way they go nevertheless, as with DefaultPreemption. */
static void test_budgets_that_cannot_be_kept(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    cluster_with_budget(&b, 0, 1);
    assert_false(gang_runs(&b, "web-0") || gang_runs(&b, "web-1"));
}

/* ---- victims that are not bound yet ---------------------------------------------------------- */

static enum ks_code hold(void *self, const struct pod *p, const char *node, nsec_t *ret_timeout,
                         struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    *ret_timeout = 600 * SEC;
    return strncmp(p->obj.meta.name, "held", 4) == 0 ? KS_WAIT : KS_SUCCESS;
}

static const struct ks_hint no_hints[1];
static const struct ks_plugin holder = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Holder",
    .hints = no_hints,
    .permit = hold,
};
static const struct ks_registered with_holder[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 0, true },   { &holder, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static void count_deletes(void *arg, const char *agent, const char *method, const char *target,
                          const struct kj_val *body)
{
    (void)agent, (void)target, (void)body;
    *(int *)arg += streq(method, "DELETE");
}

/* koord#1799: pods that wait on permit give up their room; nothing is deleted for it. */
static void test_victims_that_wait_on_permit(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    int deleted = 0;

    (void)state;
    gang_opts = (struct scheduler_opts){ .plugins = with_holder };
    gang_start(&b, "{\"enablePreemption\":true}");
    gang_opts = (struct scheduler_opts){ 0 };
    gang_node(&b, "node-1", 8);
    gang_node(&b, "node-2", 8);
    gang_pod_with(&b, "held0", "", "", 8, PRIORITY(1));
    gang_pod_with(&b, "held1", "", "", 8, PRIORITY(1));
    soon(&b);
    assert_int_equal(scheduler_stats(b.s).waiting, 2);
    fake_on_write(b.client.fake, count_deletes, &deleted);
    gang_podgroup(&b, "g", 2, "");
    member(&b, "g0", 8);
    member(&b, "g1", 8);
    client_fixture_run(&b.client, 12 * SEC);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
    assert_int_equal(deleted, 0);
    assert_int_equal(gang_bound(&b, "held", 2), 0);
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 2); /* they are still there */
    engine_verify(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_for_all_on_one_node),
        cmocka_unit_test(test_one_that_waits_keeps_its_node),
        cmocka_unit_test(test_a_gang_that_breaks_up_frees_its_room),
        cmocka_unit_test(test_nobody_goes_in_vain),
        cmocka_unit_test(test_nobody_may_go),
        cmocka_unit_test(test_pods_that_stay),
        cmocka_unit_test(test_a_pod_of_no_gang),
        cmocka_unit_test(test_budgets_count_over_the_whole_plan),
        cmocka_unit_test(test_budgets_that_cannot_be_kept),
        cmocka_unit_test(test_victims_that_wait_on_permit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
