/* test_tainttoleration.c - hard and soft taints (scheduler-core 8.5). */
#include "scheduler/test/plugin_texts.h"

static void test_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "TaintToleration", NULL);
    fixture_node(&f, node_text("a", "'taints':[{'key':'k','value':'v','effect':'NoSchedule'},"
                                    "{'key':'e','effect':'NoExecute'}]"));
    fixture_node(&f, node_text("b", "'taints':[{'key':'s','effect':'PreferNoSchedule'}]"));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) had untolerated taint(s)");
    assert_true(fixture_fits(&f, "b")); /* soft ones keep nobody away */
#define BOTH(first) pod_text("p", "'tolerations':[{'key':'e','operator':'Exists'},{" first "}]")
    fixture_try(&f, BOTH("'key':'k','value':'v'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Equal','value':'v','effect':'NoSchedule'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'k','operator':'Exists'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','value':'w'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Exists','effect':'NoExecute'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Gt','value':'1'")); /* not in use */
    assert_false(fixture_fits(&f, "a"));
    fixture_node(&f, node_text("a", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_soft_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "TaintToleration", NULL);
    fixture_node(&f, node_text("a", "'taints':[{'key':'a','effect':'PreferNoSchedule'},"
                                    "{'key':'b','effect':'PreferNoSchedule'}]"));
    fixture_node(&f, node_text("b", "'taints':[{'key':'b','effect':'PreferNoSchedule'}]"));
    fixture_node(&f, node_text("c", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_score(&f, "TaintToleration", "a"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "b"), 50);
    assert_int_equal(fixture_score(&f, "TaintToleration", "c"), 100);
    /* A toleration of hard effects does not count here. */
    fixture_try(&f, pod_text("p", "'tolerations':[{'key':'a','operator':'Exists'},"
                                  "{'key':'b','operator':'Exists','effect':'NoSchedule'}]"));
    assert_int_equal(fixture_score(&f, "TaintToleration", "a"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "b"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "c"), 100);
}

static void test_hints_of_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *hard = "'taints':[{'key':'k','effect':'NoSchedule'}]", *none = "";

    fixture_init(&f, state, "TaintToleration", NULL);
#define NODE(action, before, now)                                                         \
    plugin_worth(&f, "TaintToleration", KS_RES_NODE, action, before, node_text("a", now), \
                 pod_text("p", ""))
    assert_true(NODE(KS_ADD, NULL, none));
    assert_false(NODE(KS_ADD, NULL, hard));
    assert_true(NODE(KS_NODE_TAINT, node_text("a", hard), none));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", none), none));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", none), hard));
#undef NODE
#define POD(uid)                                                                            \
    plugin_worth(&f, "TaintToleration", KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION,        \
                 pod_text(uid, ""), pod_text(uid, "'tolerations':[{'operator':'Exists'}]"), \
                 pod_text("p", ""))
    assert_true(POD("p"));
    assert_false(POD("q"));
#undef POD
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_taints),
        FIXTURE_TEST(test_soft_taints),
        FIXTURE_TEST(test_hints_of_taints),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
