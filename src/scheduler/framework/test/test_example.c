/* test_example.c - the plugin of docs/plugins.md, compiled from that page, does what the page says.
 */
#include "scheduler/test/plugin_fixture.h"

extern const struct ks_plugin ks_plugin_quiet;
#include "quiet_example.h" /* made from docs/plugins.md */

#include "scheduler/plugins/registry.h"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_quiet, 2, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void put(struct plugin_fixture *f, const char *node, int pods)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'status':{'allocatable':{'pods':'99'}}}", node);
    fixture_node(f, text);
    for (int i = 0; i < pods; i++) {
        (void)snprintf(
            text, sizeof text,
            "{'metadata':{'name':'%s-%d','namespace':'ns','uid':'%s-%d'},'spec':{'nodeName':'%s'}}",
            node, i, node, i, node);
        fixture_pod(f, text);
    }
}

static void test_the_example_of_the_page(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct profile_config c;
    struct kerr err = { 0 };

    fixture_init(&f, state, "none", NULL);
    profile_free(f.profile);
    c = profile_config_default(table, "s", f.base->arena);
    f.profile = profile_new(&c, table, &f.env, &err);
    assert_non_null(f.profile);
    put(&f, "lively", 10);
    put(&f, "calm", 3);
    put(&f, "empty", 0);
    fixture_try(&f,
                "{'metadata':{'name':'p','namespace':'ns','uid':'p','labels':{'quiet':'true'}}}");
    assert_string_equal(fixture_why(&f, "lively"), "node(s) were too lively");
    assert_int_equal(fixture_score(&f, "Quiet", "calm"), 0);
    assert_int_equal(fixture_score(&f, "Quiet", "empty"), 100);
    fixture_try(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'}}");
    assert_true(fixture_fits(&f, "lively"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { FIXTURE_TEST(test_the_example_of_the_page) };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
