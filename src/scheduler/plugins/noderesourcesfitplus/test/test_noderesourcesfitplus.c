/* test_noderesourcesfitplus.c - NodeResourcesFitPlus: what may be written about it (sched-loadaware
 * 7). */
#include "scheduler/plugins/noderesourcesfitplus/args.h"

#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_checks.h"

#define NAME "NodeResourcesFitPlus"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_resources_fit_plus, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void test_defaults(void **state)
{
    const struct fitplus_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->resources.n, 0);
}

static void test_what_is_written_counts(void **state)
{
    const struct fitplus_args *a = plugin_args(*state, NAME,
                                               "{'resources':{'nvidia.com/gpu':{"
                                               "'type':'MostAllocated','weight':2}}}");

    assert_int_equal(a->resources.n, 1);
    assert_string_equal(a->resources.items[0].name, "nvidia.com/gpu");
    assert_string_equal(a->resources.items[0].value.type, "MostAllocated");
    assert_int_equal(a->resources.items[0].value.weight, 2);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'resources':{'x':{'weights':1}}}",
                   "resources[x].weights: unknown field");
}

#define NODE(name)                                                                                 \
    "{'metadata':{'name':'" name "'},'status':{'allocatable':{'cpu':'96','memory':'512Gi','pods':" \
    "'110','nvidia.com/gpu':'8'}}}"
#define POD(name, node, resources, more)                                                          \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'" name "'},'spec':{'nodeName':'" node \
    "','containers':[{'name':'c','resources':{'requests':{" resources "}}}]" more "}}"

static void start(struct plugin_fixture *f, void **state, const char *config)
{
    fixture_init_with(f, state, table, config);
    fixture_node(f, NODE("node1"));
    fixture_node(f, NODE("node2"));
}

static void test_most_and_least(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state,
          "{'" NAME "':{'resources':{'nvidia.com/gpu':{'type':'MostAllocated','weight':2},'cpu':{"
          "'type':'LeastAllocated','weight':1},'memory':{'type':'LeastAllocated','weight':1}}}}");
    fixture_pod(&f, POD("a", "node1", "'cpu':'16','memory':'32Gi','nvidia.com/gpu':'4'", ""));
    fixture_try(&f, POD("p", "", "'cpu':'16','memory':'32Gi','nvidia.com/gpu':'2'", ""));
    assert_int_equal(fixture_score(&f, NAME, "node1"), 75);
    assert_int_equal(fixture_score(&f, NAME, "node2"), 56);
    fixture_try(&f, POD("p", "", "'ephemeral-storage':'1'", "")); /* nothing that is weighed */
    assert_int_equal(fixture_score(&f, NAME, "node1"), 100);
}

/* Of 100 CPUs, so that scores are what was asked for. */
static int64_t asked(void **state, const char *pod)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table,
                      "{'" NAME "':{'resources':{'cpu':{'type':'MostAllocated','weight':1}}}}");
    fixture_node(&f, "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'100'}}}");
    fixture_node(&f, "{'metadata':{'name':'o'},'status':{'allocatable':{'cpu':'100'}}}");
    fixture_try(&f, pod);
    return fixture_score(&f, NAME, "n");
}

static void test_init_containers(void **state)
{
#define CPU(n)     "{'name':'i" n "','resources':{'requests':{'cpu':'" n "'}}}"
#define SIDECAR(n) "{'name':'s','restartPolicy':'Always','resources':{'requests':{'cpu':'" n "'}}}"
    assert_int_equal(asked(state, POD("p", "", "'cpu':'2'", ",'initContainers':[" CPU("10") "]")),
                     10);
    assert_int_equal(
        asked(state, POD("p", "", "'cpu':'2'", ",'initContainers':[" SIDECAR("1") "]")), 3);
    assert_int_equal(asked(state, POD("p", "", "'cpu':'2'",
                                      ",'initContainers':[" SIDECAR("1") "," CPU("5") "]")),
                     5);
    assert_int_equal(asked(state, POD("p", "", "'cpu':'2'", ",'overhead':{'cpu':'4'}")), 6);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),        FIXTURE_TEST(test_what_is_written_counts),
        FIXTURE_TEST(test_refusals),        FIXTURE_TEST(test_most_and_least),
        FIXTURE_TEST(test_init_containers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
