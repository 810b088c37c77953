/* test_extender_verbs.c - extenders score, bind, and judge victims (scheduler-core 4.4). */
#include "base/test/asserts.h"
#include "scheduler/extender/test/extender_fixture.h"
#include "scheduler/test/pair_plugin.h"

/* ---- prioritize ------------------------------------------------------------------------------ */

/* Which node two extenders make the best, where plugins prefer n1. */
static const char *best_by(int64_t weight, const char *one, const char *two)
{
    static char node[64];
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e[2] = { fake_extender_extender(), fake_extender_extender() };

    e[0].prioritize_verb = "one";
    e[1].prioritize_verb = "two";
    e[0].weight = weight;
    fake_extender_start(&o, e, 2);
    fake_extender_answer(&o, "/x/one", 200, one);
    fake_extender_answer(&o, "/x/two", 200, two);
    engine_node(&o.engine, "n1", 64000, 65536, 110, "");
    engine_node(&o.engine, "n2", 4000, 4096, 110, "");
    client_fixture_run(&o.engine.client, SEC);
    engine_pod(&o.engine, "p", 1000, 1024, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(fake_extender_asked(&o, "/x/one"), 1);
    assert_int_equal(fake_extender_asked(&o, "/x/two"), 1);
    (void)snprintf(node, sizeof node, "%s", engine_node_of(&o.engine, "p"));
    /* One candidate: there is nothing to score. */
    engine_pod(&o.engine, "big", 5000, 1024, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "big"), "n1");
    assert_int_equal(fake_extender_asked(&o, "/x/one"), 1);
    return node;
}

static void test_scores_change_the_choice(void **state)
{
    (void)state;
    assert_string_equal(best_by(1, "[]", "[]"), "n1");
    assert_string_equal(best_by(1, "[{'Host':'n2','Score':10},{'Host':'n1','Score':0}]", "null"),
                        "n2");
    assert_string_equal(best_by(1, "[{'Host':'n2','Score':10}]", "[{'Host':'n1','Score':10}]"),
                        "n1");
    assert_string_equal(best_by(2, "[{'Host':'n2','Score':10}]", "[{'Host':'n1','Score':10}]"),
                        "n2");
    /* The plugins' difference is less than 100 points and more than 10. */
    assert_string_equal(best_by(1, "[{'Host':'n2','Score':1}]", "[]"), "n1");
    /* Absurd, but no overflow. */
    assert_string_equal(best_by(INT64_MAX, "[{'Host':'n2','Score':9223372036854775807}]",
                                "[{'Host':'n2','Score':9223372036854775807}]"),
                        "n2");
}

/* Totals that are kept for equal pods stay as they are: verify_reuse ends the test otherwise. */
static void test_scores_are_not_kept(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    const struct ks_registered few[] = {
        *ks_registered_find("PrioritySort"),
        *ks_registered_find("NodeResourcesFit"),
        *ks_registered_find("DefaultBinder"),
        { .plugin = NULL },
    };
    char name[8];

    (void)state;
    e.prioritize_verb = "score";
    fake_extender_start_with(&o, &e, 1, few);
    fake_extender_answer(&o, "/x/score", 200, "[{'Host':'n2','Score':10},{'Host':'n1','Score':5}]");
    fake_extender_two_nodes(&o);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(&o.engine, name, 100, 100, "");
        client_fixture_run(&o.engine.client, SEC);
        assert_string_equal(engine_node_of(&o.engine, name), "n2");
    }
    assert_that(scheduler_stats(o.engine.s).reused, >, 0);
}

static void test_bad_scores_do_not_count(void **state)
{
    (void)state;
    assert_string_equal(best_by(1, "{'Error':'x'}", "[{'Host':'n2','Score':10}]"), "n2");
    assert_string_equal(best_by(1, "[{'Host':'n2','Score':'10'}]", "garbage"), "n1");
    assert_string_equal(best_by(1, "[{'Host':'n9','Score':10}]", "[]"), "n1");
}

/* ---- bind ------------------------------------------------------------------------------------ */

static void start_bind(struct fake_extenders *o, bool ignorable, int status, const char *answer)
{
    struct sched_extender e = fake_extender_extender();

    e.bind_verb = "bind";
    e.ignorable = ignorable;
    fake_extender_start(o, &e, 1);
    fake_extender_answer(o, "/x/bind", status, answer);
    engine_node(&o->engine, "n1", 4000, 8192, 110, "");
    client_fixture_run(&o->engine.client, SEC);
    engine_pod(&o->engine, "p", 100, 100, "");
}

/* What the extender does before it answers. */
static void bind_in_place(struct fake_extenders *o)
{
    fake_put(o->engine.client.fake, PODS, "p",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"nodeName\":\"n1\",\"containers\":"
             "[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
             "\"100Mi\"}}}]}}");
}

static void test_extender_binds(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_bind(&o, false, 200, "{'Error':''}");
    CLEANUP(mem_free) char *uid = xstrdup(engine_get(&o.engine, "p", "metadata.uid"));
    fake_extender_path(&o, "/x/bind")->delay = SEC;
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_int_equal(fake_extender_asked(&o, "/x/bind"), 1);
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/bind", "PodName")), "p");
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/bind", "PodNamespace")), "ns");
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/bind", "PodUID")), uid);
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/bind", "Node")), "n1");
    bind_in_place(&o);
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(fake_stats(o.engine.client.fake).binds, 0);
    assert_int_equal(scheduler_stats(o.engine.s).scheduled, 1);
    assert_int_equal(scheduler_stats(o.engine.s).assumed, 0);
    assert_int_equal(engine_events(&o.engine, "Scheduled", "Successfully assigned ns/p to n1"), 1);
    engine_verify(&o.engine);
}

static void test_failed_binder_is_checked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_bind(&o, false, 200, "{'Error':'cannot'}");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&o.engine, "p", "message"), "cannot");
    assert_int_equal(fake_stats(o.engine.client.fake).binds, 0);
    assert_int_equal(scheduler_stats(o.engine.s).assumed, 0);
    /* It did bind, but the answer is lost. */
    fake_extender_answer(&o, "/x/bind", 0, "");
    client_fixture_run(&o.engine.client, 3 * SEC);
    assert_int_equal(fake_extender_asked(&o, "/x/bind"), 2);
    bind_in_place(&o);
    client_fixture_run(&o.engine.client, 10 * SEC);
    assert_int_equal(scheduler_stats(o.engine.s).scheduled, 1);
    assert_int_equal(scheduler_stats(o.engine.s).pending, 0);
    engine_verify(&o.engine);
}

static void test_ignorable_binder_is_replaced(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_bind(&o, true, 500, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
    assert_int_equal(fake_stats(o.engine.client.fake).binds, 1);
}

static void test_deleted_while_binder_is_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_bind(&o, false, 200, "{'Error':'no such pod'}");
    fake_extender_path(&o, "/x/bind")->delay = 3 * SEC;
    client_fixture_run(&o.engine.client, SEC);
    fake_delete(o.engine.client.fake, PODS, "p");
    client_fixture_run(&o.engine.client, 5 * SEC);
    assert_int_equal(scheduler_stats(o.engine.s).pending, 0);
    assert_int_equal(scheduler_stats(o.engine.s).assumed, 0);
    engine_verify(&o.engine);
}

/* ---- preempt --------------------------------------------------------------------------------- */

static void put_victim(struct fake_extenders *o, const char *name, const char *node, int mcpu,
                       int priority)
{
    char more[128];

    (void)snprintf(more, sizeof more, ",\"nodeName\":\"%s\",\"priority\":%d", node, priority);
    engine_pod(&o->engine, name, mcpu, 100, more);
}

/* n1 has the cheapest victim, n2 two that cost more. */
static void start_preempt(struct fake_extenders *o, struct sched_extender *e)
{
    e->preempt_verb = "preempt";
    fake_extender_start(o, e, 1);
    fake_extender_two_nodes(o);
    put_victim(o, "v1", "n1", 3000, 1);
    put_victim(o, "v2", "n2", 1500, 5);
    put_victim(o, "v3", "n2", 1500, 2);
    client_fixture_run(&o->engine.client, SEC);
}

static const char *uid_of(struct fake_extenders *o, const char *pod)
{
    return engine_get(&o->engine, pod, "metadata.uid");
}

static bool is_there(const struct fake_extenders *o, const char *pod)
{
    return fake_find(o->engine.client.fake, PODS, pod);
}

static void test_extender_drops_a_node(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    char answer[512], v2[64];

    (void)state;
    start_preempt(&o, &e);
    (void)snprintf(v2, sizeof v2, "%s", uid_of(&o, "v2"));
    (void)snprintf(answer, sizeof answer,
                   "{'NodeNameToMetaVictims':{'n2':{'Pods':[{'UID':'%s'},{'UID':'%s'}],"
                   "'NumPDBViolations':0}}}",
                   uid_of(&o, "v3"), v2);
    fake_extender_answer(&o, "/x/preempt", 200, answer);
    engine_pod(&o.engine, "p", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_int_equal(fake_extender_asked(&o, "/x/preempt"), 1);
    const struct kj_val *map = fake_extender_said(&o, "/x/preempt", "NodeNameToMetaVictims");
    assert_int_equal(kj_len(map), 2);
    assert_int_equal(kj_len(kj_path(map, "n2.Pods")), 2);
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(map, "n2.Pods"), 0), "UID")), v2);
    assert_int_equal(kj_i64_or(kj_path(map, "n2.NumPDBViolations"), -1), 0);
    assert_int_equal(kj_type(fake_extender_said(&o, "/x/preempt", "NodeNameToVictims")), KJ_NULL);
    client_fixture_run(&o.engine.client, 20 * SEC);
    assert_true(is_there(&o, "v1"));
    assert_false(is_there(&o, "v2"));
    assert_false(is_there(&o, "v3"));
    assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
}

static void test_extender_spares_a_victim(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    char answer[512];

    (void)state;
    e.node_cache_capable = false;
    start_preempt(&o, &e);
    (void)snprintf(answer, sizeof answer,
                   "{'nodeNameToMetaVictims':{'n2':{'pods':[{'uid':'%s'}]}}}", uid_of(&o, "v3"));
    fake_extender_answer(&o, "/x/preempt", 200, answer);
    engine_pod(&o.engine, "p", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_int_equal(kj_type(fake_extender_said(&o, "/x/preempt", "NodeNameToMetaVictims")),
                     KJ_NULL);
    const struct kj_val *v1 =
        kj_at(kj_path(fake_extender_said(&o, "/x/preempt", "NodeNameToVictims"), "n1.Pods"), 0);
    assert_string_equal(kj_str(kj_path(v1, "metadata.name")), "v1");
    assert_true(is_there(&o, "v1"));
    assert_true(is_there(&o, "v2"));
    assert_false(is_there(&o, "v3"));
    assert_string_equal(engine_get(&o.engine, "p", "status.nominatedNodeName"), "n2");
}

/* The message of a pod for whom nobody is evicted. */
static void expect_spared(int status, const char *answer, const char *text)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    CLEANUP(mem_free) char *end = xasprintf("preemption: %s", text);

    start_preempt(&o, &e);
    fake_extender_answer(&o, "/x/preempt", status, answer);
    engine_pod(&o.engine, "p", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "Unschedulable");
    const char *message = engine_condition(&o.engine, "p", "message");
    assert_starts(message, "0/2 nodes are available: 2 Insufficient cpu. ");
    assert_true(str_ends(message, end));
    assert_string_equal(engine_get(&o.engine, "p", "status.nominatedNodeName"), "");
    assert_true(is_there(&o, "v1"));
    assert_true(is_there(&o, "v2"));
    assert_int_equal(scheduler_stats(o.engine.s).victims, 0);
}

static void test_nobody_is_evicted_against_the_extender(void **state)
{
    (void)state;
    expect_spared(200, "{'NodeNameToMetaVictims':{}}", "no candidate node for preemption");
    expect_spared(200, "{}", "no candidate node for preemption");
    expect_spared(500, "",
                  "failed preempt with extender at URL http://extender:8080/x/preempt, code 500");
    expect_spared(200, "{'NodeNameToMetaVictims':{'n1':{'Pods':[]}}}",
                  "expected at least one victim pod on node \"n1\"");
    expect_spared(200, "{'NodeNameToMetaVictims':{'n1':null}}",
                  "expected at least one victim pod on node \"n1\"");
    expect_spared(200, "{'NodeNameToMetaVictims':{'n7':{'Pods':[{'UID':'x'}]}}}",
                  "extender \"http://extender:8080/x\" claims to preempt on node \"n7\", which was "
                  "not offered");
    expect_spared(200, "{'NodeNameToMetaVictims':{'n1':{'Pods':[{'UID':'x'}]}}}",
                  "extender \"http://extender:8080/x\" claims to preempt a pod on node \"n1\" that "
                  "was not offered");
}

static void test_ignorable_does_not_save_victims(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();

    (void)state;
    e.ignorable = true;
    start_preempt(&o, &e);
    fake_extender_answer(&o, "/x/preempt", 500, "");
    engine_pod(&o.engine, "p", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, 20 * SEC);
    assert_false(is_there(&o, "v1"));
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
}

/* A plan over two nodes for two pods: does it stand after an answer that names both nodes,
 * or only the first? */
static void expect_pair(bool both_nodes, bool stands)
{
    static const struct ks_registered plugins[] = {
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_fit, 1, true },
        { &pair_plugin, 0, true },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    char text[512], v1[64], v2[64];

    pair = (struct pair_plugin){ .engine = &o.engine };
    e.preempt_verb = "preempt";
    e.node_cache_capable = true;
    fake_extender_start_with(&o, &e, 1, plugins);
    fake_extender_two_nodes(&o);
    put_victim(&o, "v1", "n1", 3000, 1);
    put_victim(&o, "v2", "n2", 3000, 1);
    client_fixture_run(&o.engine.client, SEC);
    (void)snprintf(v1, sizeof v1, "%s", uid_of(&o, "v1"));
    (void)snprintf(v2, sizeof v2, "%s", uid_of(&o, "v2"));
    (void)snprintf(text, sizeof text,
                   "{'NodeNameToMetaVictims':{'n1':{'Pods':[{'UID':'%s'}]}%s%s%s}}", v1,
                   both_nodes ? ",'n2':{'Pods':[{'UID':'" : "", both_nodes ? v2 : "",
                   both_nodes ? "'}]}" : "");
    fake_extender_answer(&o, "/x/preempt", 200, text);
    engine_pod(&o.engine, "g0", 3500, 100, ",\"priority\":0");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_int_equal(fake_extender_asked(&o, "/x/preempt"), 0);
    engine_pod(&o.engine, "g1", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_int_equal(fake_extender_asked(&o, "/x/preempt"), 1);
    assert_int_equal(kj_len(fake_extender_said(&o, "/x/preempt", "NodeNameToMetaVictims")), 2);
    assert_int_equal(pair.carried_out, stands);
    assert_int_equal(pair.nodes, stands ? 2 : 0);
    assert_that(is_there(&o, "v1"), !=, stands);
    assert_that(is_there(&o, "v2"), !=, stands);
    client_fixture_run(&o.engine.client, stands ? 20 * SEC : 0);
    assert_int_equal(*engine_node_of(&o.engine, "g0") != 0, stands);
    assert_int_equal(*engine_node_of(&o.engine, "g1") != 0, stands);
}

static void test_a_plan_stands_with_all_its_nodes(void **state)
{
    (void)state;
    expect_pair(true, true);
    expect_pair(false, false);
}

static void test_deleted_while_victims_are_judged(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();

    (void)state;
    start_preempt(&o, &e);
    fake_extender_answer(&o, "/x/preempt", 0, "");
    engine_pod(&o.engine, "p", 3500, 100, ",\"priority\":10");
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(fake_extender_asked(&o, "/x/preempt"), 1);
    fake_delete(o.engine.client.fake, PODS, "p");
    client_fixture_run(&o.engine.client, 10 * SEC);
    assert_int_equal(o.cut, 1);
    assert_true(is_there(&o, "v1"));
    assert_int_equal(scheduler_stats(o.engine.s).pending, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_change_the_choice),
        cmocka_unit_test(test_scores_are_not_kept),
        cmocka_unit_test(test_bad_scores_do_not_count),
        cmocka_unit_test(test_extender_binds),
        cmocka_unit_test(test_failed_binder_is_checked),
        cmocka_unit_test(test_ignorable_binder_is_replaced),
        cmocka_unit_test(test_deleted_while_binder_is_asked),
        cmocka_unit_test(test_extender_drops_a_node),
        cmocka_unit_test(test_extender_spares_a_victim),
        cmocka_unit_test(test_nobody_is_evicted_against_the_extender),
        cmocka_unit_test(test_ignorable_does_not_save_victims),
        cmocka_unit_test(test_a_plan_stands_with_all_its_nodes),
        cmocka_unit_test(test_deleted_while_victims_are_judged),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
