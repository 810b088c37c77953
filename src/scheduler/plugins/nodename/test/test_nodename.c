/* test_nodename.c - pods that name their node (scheduler-core 8.4). */
#include "scheduler/test/plugin_texts.h"

static void test_node_name(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "NodeName", NULL);
    fixture_node(&f, node_text("a", ""));
    fixture_node(&f, node_text("b", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(f.a.feasible, 2);
    fixture_try(&f, pod_text("p", "'nodeName':'b'"));
    assert_true(fixture_fits(&f, "b"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) didn't match the requested node name");
    const char *n = node_text("c", "");
    assert_true(plugin_worth(&f, "NodeName", KS_RES_NODE, KS_ADD, NULL, n, pod_text("p", "")));
    assert_false(plugin_worth(&f, "NodeName", KS_RES_NODE, KS_NODE_LABEL, n, n, pod_text("p", "")));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_node_name),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
