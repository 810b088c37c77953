/* test_fit.c - NodeResourcesFit and NodeResourcesBalancedAllocation with their arguments
 * (scheduler-core 8.8, 8.9); the defaults are in test_profile.c too. */
#include "scheduler/test/plugin_checks.h"

#define FIT      "NodeResourcesFit"
#define BALANCED "NodeResourcesBalancedAllocation"

static void put_node(struct plugin_fixture *f, const char *name, const char *allocatable)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'status':{'allocatable':{'pods':'9',%s}}}", name,
                   allocatable);
    fixture_node(f, text);
}

static const char *pod_text(const char *name, const char *node, const char *requests)
{
    static char text[3][1024];
    static int next;
    char *at = text[next++ % 3];

    (void)snprintf(at, sizeof text[0],
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{'nodeName':'%s',"
                   "'containers':[{'name':'c','resources':{'requests':{%s}}}]}}",
                   name, name, node, requests);
    return at;
}

static void try_pod(struct plugin_fixture *f, const char *requests)
{
    fixture_try(f, pod_text("p", "", requests));
}

/* Two nodes as in the table of the specification, for a pod of 3 cpus and 5000 bytes. */
static void assert_strategy(void **state, const char *strategy, int64_t a, int64_t b)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char config[512];

    (void)snprintf(config, sizeof config, "{'NodeResourcesFit':{'scoringStrategy':{%s}}}",
                   strategy);
    fixture_init(&f, state, FIT, config);
    put_node(&f, "a", "'cpu':'4','memory':'10000'");
    put_node(&f, "b", "'cpu':'6','memory':'10000'");
    try_pod(&f, "'cpu':'3','memory':'5000'");
    assert_int_equal(fixture_score(&f, FIT, "a"), a);
    assert_int_equal(fixture_score(&f, FIT, "b"), b);
}

static void test_strategies(void **state)
{
    static const char weighed[] = "'resources':[{'name':'memory','weight':2},{'name':'cpu'}]";
    char text[256];

    assert_strategy(state, "", 37, 50);
    assert_strategy(state, weighed, 41, 50);
    assert_strategy(state, "'type':'MostAllocated'", 62, 50);
    (void)snprintf(text, sizeof text, "'type':'MostAllocated',%s", weighed);
    assert_strategy(state, text, 58, 50);
    assert_strategy(state,
                    "'type':'RequestedToCapacityRatio','requestedToCapacityRatio':{'shape':["
                    "{'utilization':0,'score':10},{'utilization':100,'score':0}]}",
                    38, 50); /* 37.5 is rounded */
}

/* Containers that ask for nothing weigh something, and so may fill a node where they still fit. */
static void assert_overfull(void **state, const char *strategy, int64_t a, int64_t b)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char config[512];

    (void)snprintf(config, sizeof config, "{'NodeResourcesFit':{'scoringStrategy':{%s}}}",
                   strategy);
    fixture_init(&f, state, FIT, config);
    put_node(&f, "a", "'cpu':'300m','memory':'2000Mi'");
    put_node(&f, "b", "'cpu':'300m'");
    fixture_pod(&f, pod_text("u", "a", ""));
    fixture_pod(&f, pod_text("v", "a", ""));
    fixture_pod(&f, pod_text("w", "a", ""));
    try_pod(&f, "");
    assert_true(fixture_fits(&f, "a"));
    assert_int_equal(fixture_score(&f, FIT, "a"), a);
    assert_int_equal(fixture_score(&f, FIT, "b"), b);
}

static void test_more_than_there_is(void **state)
{
    static const char memory_too[] =
        "'resources':[{'name':'cpu'},{'name':'memory'},{'name':'memory'}]";

    /* 400m of 300m, and 800 of 2000 MiB; node b has no memory, which is left out. */
    assert_overfull(state, "", (0 + 60) / 2, 66);
    assert_overfull(state, memory_too, (0 + 60 + 60) / 3, 66);
    assert_overfull(state, "'type':'MostAllocated'", (100 + 40) / 2, 33);
}

static void test_a_node_without_cpu(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT, NULL);
    put_node(&f, "a", "'memory':'1000'");
    try_pod(&f, "'memory':'250'");
    assert_int_equal(fixture_score(&f, FIT, "a"), 75);
}

/* One resource, so that the score is the shape itself. */
static int64_t shape_score(void **state, const char *shape, const char *cpu)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char config[512], want[64];

    (void)snprintf(config, sizeof config,
                   "{'NodeResourcesFit':{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
                   "'resources':[{'name':'cpu','weight':3}],"
                   "'requestedToCapacityRatio':{'shape':[%s]}}}}",
                   shape);
    fixture_init(&f, state, FIT, config);
    put_node(&f, "a", "'cpu':'100m'");
    (void)snprintf(want, sizeof want, "'cpu':'%s'", cpu);
    try_pod(&f, want);
    return fixture_score(&f, FIT, "a");
}

static void test_shapes(void **state)
{
    static const char rising[] = "{'utilization':0,'score':0},{'utilization':100,'score':1}";
    static const char hill[] = "{'utilization':20,'score':2},{'utilization':50,'score':10},"
                               "{'utilization':80,'score':4}";

    assert_int_equal(shape_score(state, rising, "25m"), 2); /* 2.5 in whole numbers */
    assert_int_equal(shape_score(state, hill, "10m"), 20);  /* before the first point */
    assert_int_equal(shape_score(state, hill, "35m"), 60);
    assert_int_equal(shape_score(state, hill, "50m"), 100);
    assert_int_equal(shape_score(state, hill, "65m"), 70);
    assert_int_equal(shape_score(state, hill, "95m"), 40); /* behind the last */
    assert_int_equal(shape_score(state, "{'utilization':50,'score':7}", "60m"), 70);
}

/* A resource that scores nothing does not weigh either; others are as if alone. */
static void test_shapes_leave_out_zeros(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT,
                 "{'NodeResourcesFit':{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
                 "'requestedToCapacityRatio':{'shape':[{'utilization':0,'score':0},"
                 "{'utilization':100,'score':10}]}}}}");
    put_node(&f, "a", "'cpu':'10','memory':'1000'");
    try_pod(&f, "'cpu':'6','memory':'0'");
    assert_int_equal(fixture_score(&f, FIT, "a"), 60);
    try_pod(&f, "'cpu':'0','memory':'0'");
    assert_int_equal(fixture_score(&f, FIT, "a"), 0);
}

static void test_extended_resources_in_scores(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT,
                 "{'NodeResourcesFit':{'scoringStrategy':{'resources':[{'name':'cpu','weight':1},"
                 "{'name':'x.io/gpu','weight':3},{'name':'ephemeral-storage','weight':1},"
                 "{'name':'pods','weight':9},{'name':'x.io/nowhere','weight':9}]}}}");
    put_node(&f, "a", "'cpu':'10','x.io/gpu':'4','ephemeral-storage':'100'");
    put_node(&f, "b", "'cpu':'10','x.io/gpu':'4'");
    put_node(&f, "c", "'cpu':'10','x.io/gpu':'0'");
    fixture_pod(&f, pod_text("u", "a", "'cpu':'1','x.io/gpu':'1','ephemeral-storage':'50'"));
    try_pod(&f, "'cpu':'1','x.io/gpu':'1'");
    assert_int_equal(fixture_score(&f, FIT, "a"), (80 + 3 * 50 + 50) / 5);
    assert_int_equal(fixture_score(&f, FIT, "b"), (90 + 3 * 75) / 4); /* has no such storage */
    try_pod(&f, "'cpu':'1'"); /* who does not ask for a gpu is not weighed by it */
    assert_int_equal(fixture_score(&f, FIT, "a"), (80 + 50) / 2);
    assert_int_equal(fixture_score(&f, FIT, "b"), 90);
    assert_int_equal(fixture_score(&f, FIT, "c"), 90);
}

/* What the pod as a whole says counts for the filter but not for scores. */
static void test_pod_level_requests(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT,
                 "{'NodeResourcesFit':{'scoringStrategy':{'resources':[{'name':'hugepages-2Mi'},"
                 "{'name':'cpu'}]}}}");
    put_node(&f, "a", "'cpu':'1','hugepages-2Mi':'100'");
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'resources':{"
                    "'requests':{'cpu':'500m','hugepages-2Mi':'60'}},'containers':[{'name':'c',"
                    "'resources':{'requests':{'hugepages-2Mi':'20'}}}]}}");
    assert_int_equal(f.a.pod.requests.fixed[KS_MCPU], 500);
    assert_int_equal(fixture_score(&f, FIT, "a"), (80 + 90) / 2);
}

static void test_ignored_resources(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT,
                 "{'NodeResourcesFit':{'ignoredResources':['x.io/one','kubernetes.io/batch-cpu',"
                 "'hugepages-2Mi'],'ignoredResourceGroups':['group.io']}}");
    put_node(&f, "a", "'cpu':'10'");
    try_pod(&f, "'x.io/one':'5','group.io/any':'7'");
    assert_true(fixture_fits(&f, "a"));
    try_pod(&f, "'x.io/two':'1','x.io/one':'5','kubernetes.io/batch-cpu':'1','hugepages-2Mi':'1',"
                "'sub.group.io/any':'1'");
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "Insufficient hugepages-2Mi, Insufficient "
                                              "kubernetes.io/batch-cpu, Insufficient "
                                              "sub.group.io/any, Insufficient x.io/two");
}

/* Names that are no resources take no room and need none. */
static void test_improper_names_do_not_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT, NULL);
    put_node(&f, "a", "'cpu':'4','x.io/one':'1','-.io/one':'1'");
    try_pod(&f, "'requests.x.io/one':'9','x.io/a/b':'9','X_.io/one':'9','x.io/':'9','/one':'9',"
                "'-.io/one':'9','plain':'9'");
    assert_true(fixture_fits(&f, "a"));
    assert_int_equal(nodecache_stats(f.cache).resources, KS_FIXED + 1);
    try_pod(&f, "'x.io/none':'1','requests.kubernetes.io/x':'1','attachable-volumes-y':'1'");
    assert_string_equal(fixture_why(&f, "a"),
                        "Insufficient attachable-volumes-y, Insufficient requests.kubernetes.io/x, "
                        "Insufficient x.io/none");
}

static void test_all_reasons(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT, NULL);
    fixture_node(&f, "{'metadata':{'name':'a'},'status':{'allocatable':{'pods':'1','cpu':'4',"
                     "'memory':'1k','ephemeral-storage':'10','x.io/gpu':'2'}}}");
    fixture_pod(&f, pod_text("u", "a", "'cpu':'3','memory':'1k','x.io/gpu':'2'"));
    try_pod(&f, "'cpu':'2','memory':'1','ephemeral-storage':'10','x.io/gpu':'1'");
    assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_why(&f, "a"),
                        "Too many pods, Insufficient cpu, Insufficient memory, "
                        "Insufficient x.io/gpu");
    /* One resource that even the empty node lacks is enough. */
    try_pod(&f, "'cpu':'2','x.io/gpu':'3'");
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    try_pod(&f, "");
    assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_why(&f, "a"), "Too many pods");
}

/* Asking for nothing of a resource is no reason, however overcommitted it is. */
static void test_nothing_fits_always(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT, NULL);
    put_node(&f, "a", "'cpu':'1'");
    fixture_pod(&f, pod_text("u", "a", "'cpu':'3','memory':'5','x.io/gpu':'1'"));
    try_pod(&f, "'cpu':'0','memory':'0','ephemeral-storage':'0','x.io/gpu':'0'");
    assert_true(fixture_fits(&f, "a"));
}

static void test_scores_follow_the_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, FIT " " BALANCED,
                 "{'NodeResourcesFit':{'scoringStrategy':{'type':'MostAllocated'}}}");
    put_node(&f, "a", "'cpu':'10','memory':'1000'");
    put_node(&f, "b", "'cpu':'10','memory':'1000'");
    try_pod(&f, "'cpu':'1','memory':'100'");
    assert_int_equal(fixture_score(&f, FIT, "a"), 10);
    fixture_pod(&f, pod_text("u", "a", "'cpu':'3','memory':'100'"));
    try_pod(&f, "'cpu':'1','memory':'100'");
    assert_int_equal(fixture_score(&f, FIT, "a"), 30);
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 90);
    assert_int_equal(fixture_score(&f, FIT, "b"), 10);
}

/* ---- balance --------------------------------------------------------------------------------- */

#define THREE                                                                             \
    "{'NodeResourcesBalancedAllocation':{'resources':[{'name':'cpu','weight':1},{'name':" \
    "'memory','weight':1},{'name':'x.io/gpu','weight':1}]}}"

static void test_balance(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, BALANCED, NULL);
    put_node(&f, "a", "'cpu':'4','memory':'10000'");     /* 0.75, 0.5 */
    put_node(&f, "b", "'cpu':'5','memory':'20000'");     /* 0.6, 0.25 */
    put_node(&f, "c", "'cpu':'5','memory':'25000'");     /* 0.6, 0.2 */
    put_node(&f, "d", "'cpu':'2','memory':'100000000'"); /* 1.5 counts as 1 */
    put_node(&f, "e", "'cpu':'5'");                      /* one alone */
    try_pod(&f, "'cpu':'3','memory':'5000'");
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 87);
    assert_int_equal(fixture_score(&f, BALANCED, "b"), 82);
    assert_int_equal(fixture_score(&f, BALANCED, "c"), 80);
    assert_int_equal(fixture_score(&f, BALANCED, "d"), 50);
    assert_int_equal(fixture_score(&f, BALANCED, "e"), 100);
    try_pod(&f, "");
    assert_int_equal(fixture_score(&f, BALANCED, "a"), -1); /* asks for nothing */
}

static void test_balance_of_three(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, BALANCED, THREE);
    put_node(&f, "a", "'cpu':'3500m','memory':'40000','x.io/gpu':'4'"); /* 6/7, 0.125, 0.5 */
    put_node(&f, "b", "'cpu':'4','x.io/gpu':'4'");                      /* 0.75, 0.5 */
    try_pod(&f, "'cpu':'3','memory':'5000','x.io/gpu':'2'");
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 70);
    assert_int_equal(fixture_score(&f, BALANCED, "b"), 87);
    try_pod(&f, "'cpu':'3','memory':'5000'"); /* no gpu asked for: two remain */
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 63);
    try_pod(&f, "'x.io/gpu':'2'"); /* enough to be looked at */
    assert_int_equal(fixture_score(&f, BALANCED, "b"), 75);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Of a pod that is to be placed the balance sees what its status says, room and fill do not. */
static void test_balance_by_status(void **state)
{
    static const char pod[] =
        "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'containers':[{'name':'c',"
        "'resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]},'status':{'containerStatuses':["
        "{'name':'c'%s}]%s}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];

    fixture_init(&f, state, FIT " " BALANCED, NULL);
    put_node(&f, "a", "'cpu':'4','memory':'4Gi'");
    put_node(&f, "b", "'cpu':'16','memory':'4Gi'");
    (void)snprintf(text, sizeof text, pod, "", "");
    fixture_try(&f, text);
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 100);
    assert_int_equal(fixture_score(&f, FIT, "a"), 75);
    (void)snprintf(text, sizeof text, pod,
                   ",'resources':{'requests':{'cpu':'2'}},'allocatedResources':{'cpu':'5'}", "");
    fixture_try(&f, text); /* an equal pod but for its status: another node is the best */
    assert_int_equal(fixture_score(&f, BALANCED, "a"), 62);
    assert_int_equal(fixture_score(&f, BALANCED, "b"), 96);
    assert_int_equal(fixture_score(&f, FIT, "a"), 75);
    /* a wish that cannot come true does not count; equal pods but for that differ */
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, pod,
                       ",'resources':{'requests':{'cpu':'100m','memory':'1Gi'}}",
                       i ? ",'conditions':[{'type':'PodResizePending','status':'True','reason':"
                           "'Infeasible'}]"
                         : "");
        fixture_try(&f, text);
        assert_int_equal(fixture_score(&f, BALANCED, "a"), i ? 88 : 100);
        assert_int_equal(fixture_score(&f, BALANCED, "b"), i ? 87 : 90);
    }
}

static void test_args_are_checked(void **state)
{
#define STRATEGY(inside) "{'scoringStrategy':{" inside "}}"
#define SHAPE(points)                                                                             \
    STRATEGY("'type':'RequestedToCapacityRatio','requestedToCapacityRatio':{'shape':[" points "]" \
             "}")
#define IN_SHAPE "scoringStrategy.requestedToCapacityRatio.shape"
    (void)state;
    plugin_refuses(FIT, "{'strategy':1}", "strategy: unknown field");
    plugin_refuses(FIT, STRATEGY("'type':'Best'"),
                   "scoringStrategy.type: Unsupported value: \"Best\": supported values: "
                   "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"");
    plugin_refuses(
        FIT, STRATEGY("'resources':[{'name':'cpu','weight':101}]"),
        "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu "
        "not in valid range (0, 100]");
    plugin_refuses(
        FIT, STRATEGY("'resources':[{'name':'cpu'},{'name':'memory','weight':-1}]"),
        "scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of memory "
        "not in valid range (0, 100]");
    plugin_refuses(FIT, STRATEGY("'type':'RequestedToCapacityRatio'"),
                   "scoringStrategy.requestedToCapacityRatio: Required value: must be specified "
                   "when type is RequestedToCapacityRatio");
    plugin_refuses(FIT, SHAPE(""),
                   IN_SHAPE ": Required value: at least one point must be specified");
    plugin_refuses(FIT, SHAPE("{'utilization':101,'score':1}"),
                   IN_SHAPE "[0].utilization: Invalid value: 101: not in valid range [0, 100]");
    plugin_refuses(FIT, SHAPE("{'utilization':1,'score':11}"),
                   IN_SHAPE "[0].score: Invalid value: 11: not in valid range [0, 10]");
    plugin_refuses(FIT, SHAPE("{'utilization':5,'score':1},{'utilization':5,'score':2}"),
                   IN_SHAPE
                   "[1].utilization: Invalid value: 5: values must be sorted in increasing order");
    plugin_refuses(
        FIT, "{'ignoredResourceGroups':['ok.io','a/b']}",
        "ignoredResourceGroups[1]: Invalid value: \"a/b\": resource group name can't contain '/'");
    plugin_refuses(BALANCED, "{'resources':[{'name':'cpu','weight':2}]}",
                   "resources[0].weight: Invalid value: 2: must be 1");
    plugin_refuses(BALANCED, "{'resources':[{'name':'cpu'},{'name':'cpu'}]}",
                   "resources[1].name: Duplicate value: \"cpu\"");
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *node_text(const char *allocatable)
{
    static char text[2][512];
    static int next;
    char *at = text[next++ % 2];

    (void)snprintf(at, sizeof text[0], "{'metadata':{'name':'n'},'status':{'allocatable':{%s}}}",
                   allocatable);
    return at;
}

static void test_hints_of_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    static const char small[] = "'pods':'1','cpu':'1'", big[] = "'pods':'1','cpu':'4'";
    static const char more_memory[] = "'pods':'1','cpu':'4','memory':'9'";
    static const char more_pods[] = "'pods':'2','cpu':'4'";

    fixture_init(&f, state, FIT, "{'NodeResourcesFit':{'ignoredResources':['x.io/one']}}");
#define WORTH(action, before, now, pod) \
    plugin_worth(&f, FIT, KS_RES_NODE, action, before, now, pod_text("p", "", pod))
    assert_true(WORTH(KS_ADD, NULL, node_text(big), "'cpu':'2'"));
    assert_false(WORTH(KS_ADD, NULL, node_text(small), "'cpu':'2'"));
    assert_false(WORTH(KS_ADD, NULL, node_text("'cpu':'4'"), "'cpu':'2'")); /* no pods at all */
    assert_true(WORTH(KS_NODE_ALLOCATABLE, node_text(small), node_text(big), "'cpu':'2'"));
    assert_false(WORTH(KS_NODE_ALLOCATABLE, node_text(big), node_text(small), "'cpu':'2'"));
    assert_false(WORTH(KS_NODE_ALLOCATABLE, node_text(big), node_text(more_memory), "'cpu':'2'"));
    assert_true(WORTH(KS_NODE_ALLOCATABLE, node_text(big), node_text(more_pods), "'cpu':'2'"));
    /* What is left to others does not hold the pod back. */
    assert_true(WORTH(KS_ADD, NULL, node_text(big), "'cpu':'2','x.io/one':'1'"));
    assert_false(WORTH(KS_ADD, NULL, node_text(big), "'cpu':'2','x.io/two':'1'"));
#undef WORTH
}

static void test_hints_of_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *cpu = "'cpu':'2'", *cpu_less = "'cpu':'1'", *both = "'cpu':'2','memory':'2'";

    fixture_init(&f, state, FIT, NULL);
#define WORTH(resource, action, before, now)             \
    plugin_worth(&f, FIT, resource, action, before, now, \
                 pod_text("p", "", "'cpu':'1','memory':'0'"))
    assert_true(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, pod_text("o", "n", cpu), NULL));
    assert_true(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, pod_text("o", "", cpu), NULL));
    assert_false(WORTH(KS_RES_UNSCHEDULABLE_POD, KS_DELETE, pod_text("o", "", cpu), NULL));
    assert_true(WORTH(KS_RES_ASSIGNED_POD, KS_POD_SCALE_DOWN, pod_text("o", "n", cpu),
                      pod_text("o", "n", cpu_less)));
    /* Another pod that waits has nothing to give; this one asks for less itself. */
    assert_false(WORTH(KS_RES_UNSCHEDULABLE_POD, KS_POD_SCALE_DOWN, pod_text("o", "", cpu),
                       pod_text("o", "", cpu_less)));
    assert_true(WORTH(KS_RES_UNSCHEDULABLE_POD, KS_POD_SCALE_DOWN, pod_text("p", "", cpu),
                      pod_text("p", "", cpu_less)));
    /* Memory was given back, which this pod does not ask for. */
    assert_false(WORTH(KS_RES_ASSIGNED_POD, KS_POD_SCALE_DOWN, pod_text("o", "n", both),
                       pod_text("o", "n", cpu)));
#undef WORTH
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_strategies),
        FIXTURE_TEST(test_more_than_there_is),
        FIXTURE_TEST(test_a_node_without_cpu),
        FIXTURE_TEST(test_shapes),
        FIXTURE_TEST(test_shapes_leave_out_zeros),
        FIXTURE_TEST(test_extended_resources_in_scores),
        FIXTURE_TEST(test_pod_level_requests),
        FIXTURE_TEST(test_ignored_resources),
        FIXTURE_TEST(test_all_reasons),
        FIXTURE_TEST(test_improper_names_do_not_count),
        FIXTURE_TEST(test_nothing_fits_always),
        FIXTURE_TEST(test_scores_follow_the_pods),
        FIXTURE_TEST(test_balance),
        FIXTURE_TEST(test_balance_of_three),
        FIXTURE_TEST(test_balance_by_status),
        cmocka_unit_test(test_args_are_checked),
        FIXTURE_TEST(test_hints_of_nodes),
        FIXTURE_TEST(test_hints_of_pods),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
