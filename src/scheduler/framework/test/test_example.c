/* test_example.c - the plugin of docs/plugins.md, compiled from that page, does what the page says.
 */
#include "scheduler/test/plugin_fixture.h"

extern const struct ks_plugin ks_plugin_cool;
#include "cool_example.h" /* made from docs/plugins.md */

#include "scheduler/plugins/registry.h"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_cool, 2, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
#define POD "{'metadata':{'name':'p','namespace':'ns','uid':'p'}}"

static void put_node(struct plugin_fixture *f, const char *name)
{
    fixture_node(f, arena_printf(f->base->arena,
                                 "{'metadata':{'name':'%s'},'status':{'allocatable':{'cpu':'4',"
                                 "'memory':'8Gi'}}}",
                                 name));
}

static void put_metric(struct plugin_fixture *f, const char *node, int minute, const char *cpu,
                       const char *memory)
{
    fixture_put(f, &kind_nodemetric,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'%s'},'status':{'updateTime':"
                             "'1970-01-01T00:%02d:00Z','nodeMetric':{'nodeUsage':{'resources':{"
                             "'cpu':'%s','memory':'%s'}}}}}",
                             node, minute, cpu, memory));
}

static void start(struct plugin_fixture *f, void **state)
{
    fixture_init_with(f, state, table, NULL);
    f->now = 600 * NSEC_PER_SEC;
    put_node(f, "hot");
    put_node(f, "full");
    put_node(f, "warm");
    put_node(f, "cold");
    put_node(f, "unknown");
    put_metric(f, "hot", 10, "3900m", "1Gi");
    put_metric(f, "full", 10, "1", "8000Mi");
    put_metric(f, "warm", 10, "1", "4Gi");
    put_metric(f, "cold", 10, "400m", "0");
    fixture_try(f, POD);
}

static void test_the_example_of_the_page(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_string_equal(fixture_why(&f, "hot"), "node(s) had too little cpu to spare");
    assert_string_equal(fixture_why(&f, "full"), "node(s) had too little memory to spare");
    assert_int_equal(fixture_score(&f, "Cool", "warm"), 50);
    assert_int_equal(fixture_score(&f, "Cool", "cold"), 90);
    assert_int_equal(fixture_score(&f, "Cool", "unknown"), 100);
    put_metric(&f, "hot", 11, "3", "1Gi");
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "hot"));
    assert_int_equal(fixture_score(&f, "Cool", "hot"), 25);
}

static void test_a_report_gets_old(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    f.now = 899 * NSEC_PER_SEC;
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "hot"));
    f.now = 900 * NSEC_PER_SEC;
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "hot"));
    assert_int_equal(fixture_score(&f, "Cool", "warm"), 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_example_of_the_page),
        FIXTURE_TEST(test_a_report_gets_old),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
