/* test_nodeunschedulable.c - cordoned nodes and who tolerates them (scheduler-core 8.3). */
#include "scheduler/test/plugin_texts.h"

#define CORDON "node.kubernetes.io/unschedulable"

static void test_cordoned_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "NodeUnschedulable", NULL);
    fixture_node(&f, node_text("a", "'unschedulable':true"));
    fixture_node(&f, node_text("b", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) were unschedulable");
    assert_true(fixture_fits(&f, "b"));
    fixture_try(&f, TOLERATES("'key':'" CORDON "','operator':'Exists','effect':'NoSchedule'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'operator':'Exists'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'" CORDON "','operator':'Exists','effect':'NoExecute'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'" CORDON "','value':'x'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_node(&f, node_text("a", "")); /* uncordoned */
    fixture_try(&f, pod_text("p", ""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_hints_of_cordoned_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *closed = "'unschedulable':true", *open = "";

    fixture_init(&f, state, "NodeUnschedulable", NULL);
#define NODE(action, before, now)                                                           \
    plugin_worth(&f, "NodeUnschedulable", KS_RES_NODE, action, before, node_text("a", now), \
                 pod_text("p", ""))
    assert_true(NODE(KS_ADD, NULL, open));
    assert_false(NODE(KS_ADD, NULL, closed));
    assert_true(NODE(KS_NODE_TAINT, node_text("a", closed), open));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", open), open));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", open), closed));
#undef NODE
#define POD(uid, t)                                                                    \
    plugin_worth(&f, "NodeUnschedulable", KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION, \
                 pod_text(uid, ""), pod_text(uid, "'tolerations':[{" t "}]"), pod_text("p", ""))
    assert_true(POD("p", "'operator':'Exists'"));
    assert_false(POD("p", "'key':'other','operator':'Exists'"));
    assert_false(POD("q", "'operator':'Exists'"));
#undef POD
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_cordoned_nodes),
        FIXTURE_TEST(test_hints_of_cordoned_nodes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
