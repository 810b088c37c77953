/* test_schedulinghint.c - SchedulingHint: what may be written about it (sched-loadaware 9). */
#include "scheduler/plugins/schedulinghint/args.h"

#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_checks.h"

#define NAME "SchedulingHint"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_unschedulable, 0, true },
    { &ks_plugin_scheduling_hint, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void test_defaults(void **state)
{
    const struct hint_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->max_nodes.v, 100);
}

static void test_what_is_written_counts(void **state)
{
    const struct hint_args *a = plugin_args(*state, NAME, "{'maxHintNodes':7}");

    assert_int_equal(a->max_nodes.v, 7);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'maxHintNodes':0}",
                   "maxHintNodes: Invalid value: 0: must be greater than or equal to 1");
}

static void start(struct plugin_fixture *f, void **state, const char *config)
{
    fixture_init_with(f, state, table, config);
    fixture_node(f, "{'metadata':{'name':'n1'}}");
    fixture_node(f, "{'metadata':{'name':'n2'}}");
    fixture_node(f, "{'metadata':{'name':'n3'}}");
    fixture_node(f, "{'metadata':{'name':'n4'},'spec':{'unschedulable':true}}");
}

static void try_with(struct plugin_fixture *f, const char *key, const char *hint)
{
    fixture_try(f, arena_printf(f->base->arena,
                                "{'metadata':{'name':'p','namespace':'ns','uid':'p','annotations':{"
                                "'%sscheduling.koordinator.sh/scheduling-hint':'%s'}}}",
                                key, hint));
}

/* The nodes that were left, as "n1 n3 ". */
static const char *left(struct plugin_fixture *f)
{
    const char *all = "";

    for (int i = 1; i <= 4; i++) {
        const char *name = arena_printf(f->base->arena, "n%d", i);
        if (f->a.feasible && fixture_fits(f, name))
            all = arena_printf(f->base->arena, "%s%s ", all, name);
    }
    return all;
}

static void test_only_these(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, NULL);
    try_with(&f, "internal.", "{\\\"nodeNames\\\":[\\\"n3\\\",\\\"n1\\\",\\\"n3\\\",\\\"x\\\"]}");
    assert_string_equal(left(&f), "n1 n3 ");
    try_with(&f, "", "{\\\"nodeNames\\\":[\\\"n2\\\"]}"); /* the old key */
    assert_string_equal(left(&f), "n2 ");
    try_with(&f, "internal.", "");
    assert_string_equal(left(&f), "n1 n2 n3 ");
    try_with(&f, "internal.", "{\\\"nodeNames\\\":[\\\"x\\\"]}");
    assert_string_equal(left(&f), "");
}

static void test_first_these(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, NULL);
    try_with(&f, "internal.", "{\\\"preferredNodeNames\\\":[\\\"n4\\\",\\\"n3\\\",\\\"n1\\\"]}");
    assert_string_equal(left(&f), "n3 "); /* the first that passes all filters */
    try_with(&f, "internal.", "{\\\"preferredNodeNames\\\":[\\\"n4\\\",\\\"x\\\"]}");
    assert_string_equal(left(&f), "n1 n2 n3 ");
}

/* The list is cut before it is compared with what may be chosen. */
static void test_at_most_so_many(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "{'" NAME "':{'maxHintNodes':2}}");
    try_with(&f, "internal.",
             "{\\\"nodeNames\\\":[\\\"n2\\\",\\\"n3\\\"],\\\"preferredNodeNames\\\":[\\\"n1\\\","
             "\\\"n2\\\",\\\"n3\\\"]}");
    assert_string_equal(left(&f), "n2 ");
    try_with(&f, "internal.",
             "{\\\"nodeNames\\\":[\\\"n2\\\",\\\"n3\\\"],\\\"preferredNodeNames\\\":[\\\"n1\\\","
             "\\\"n4\\\",\\\"n3\\\"]}");
    assert_string_equal(left(&f), "n2 n3 ");
}

static void test_malformed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, NULL);
    try_with(&f, "internal.", "{\\\"nodeNames\\\":");
    assert_int_equal(f.a.code, KS_ERROR);
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'p'}}");
    assert_string_equal(left(&f), "n1 n2 n3 ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),    FIXTURE_TEST(test_what_is_written_counts),
        FIXTURE_TEST(test_refusals),    FIXTURE_TEST(test_only_these),
        FIXTURE_TEST(test_first_these), FIXTURE_TEST(test_at_most_so_many),
        FIXTURE_TEST(test_malformed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
