/* test_numaplugin.c - NodeNUMAResource on small clusters: what it gives, to whom, and what stays
 * taken (sched-numa 2, 4, 6 to 10). */
#include "scheduler/plugins/nodenumaresource/test/numa_cluster.h"

static const struct grant *grant_of(const struct plugin_fixture *f, const char *uid)
{
    const struct numa_plugin *n = f->profile->slots[profile_slot(f->profile, NAME)].self;

    return grants_find(n->grants, kuid_parse(uid, strlen(uid)));
}

/* The CPUs that the pod of the last attempt reserves on the node; "" when it is refused. */
static const char *reserve(struct plugin_fixture *f, const char *on)
{
    struct ks_texts why = { .arena = f->arena };
    struct kerr err = { 0 };
    enum ks_code code;

    assert_true(fixture_fits(f, on));
    assert_int_equal(nodecache_assume(f->cache, f->obj, on, NULL, &err), 0);
    if (attempt_reserve(&f->a, fixture_row(f, on), &code, &why) >= 0) {
        nodecache_forget(f->cache, f->obj->meta.uid);
        return "";
    }
    const struct grant *g = grants_find(
        ((struct numa_plugin *)f->profile->slots[profile_slot(f->profile, NAME)].self)->grants,
        f->obj->meta.uid);
    return g ? cpuset_format(&g->cpus, f->base->arena) : "none";
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_no_cpu_twice(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4, "", "");
    fixture_pod(&f, pod(&f, "old", 2, "LSR", HOLDS("0-1"), "n1"));
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "2-5");
    fixture_try(&f, pod(&f, "b", 4, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), ""); /* preferred binding is not checked by the filter */
    fixture_try(&f, pod(&f, "c", 2, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "6-7");
}

/* What reserve() took is free again; what an annotation says stays. */
static void test_unreserve_undoes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4, "", "");
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "0-3");
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    assert_null(grant_of(&f, "uid-a"));
    fixture_pod(&f, pod(&f, "old", 2, "LSR", HOLDS("0-1"), "n1"));
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    assert_non_null(grant_of(&f, "uid-old"));
}

/* koordinator's own scheduler drops what it saw before the topology, and gives it away twice. */
static void test_pods_come_before_the_topology(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    fixture_pod(&f, pod(&f, "old", 4, "LSR", HOLDS("0-3"), "n1"));
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_string_equal(fixture_why(&f, "n1"), "node(s) invalid CPU Topology");
    topology(&f, "n1", 1, 4, "", "");
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "4-7");
}

/* koord#721 */
static void test_nodes_without_topology_do_not_matter(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "bare", 64, "");
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4, "", "");
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_false(fixture_fits(&f, "bare"));
    assert_true(fixture_fits(&f, "n1"));
    fixture_try(&f, pod(&f, "b", 4, "LS", "", NULL));
    assert_true(fixture_fits(&f, "bare"));
}

static void test_reserved_cpus_are_never_given(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4,
             "'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":\\\"static\\\","
             "\\\"reservedCPUs\\\":\\\"0-1\\\"}','node.koordinator.sh/pod-cpu-allocs':"
             "'[{\\\"uid\\\":\\\"x\\\",\\\"cpuset\\\":\\\"2\\\",\\\"managedByKubelet\\\":true}]',",
             "");
    fixture_try(&f, pod(&f, "a", 4, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "4-7");
}

/* kubernetes#84869: the kubelet would refuse the pod. */
static void test_no_pod_that_fits_no_single_numa_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "");
    topology(&f, "n1", 2, 4, "", ",'topologyPolicies':['SingleNUMANodePodLevel']");
    fixture_try(&f, pod(&f, "a", 9, "LS", "", NULL));
    assert_string_equal(fixture_why(&f, "n1"), "Unaligned NUMA Hint cause cpu prefer [11] among "
                                               "[11],memory prefer [11] among [11]");
    fixture_try(&f, pod(&f, "b", 8, "LS", "", NULL));
    assert_true(fixture_fits(&f, "n1"));
}

/* koord#1682: 4 + 4 CPUs over two NUMA nodes where shared pods have the rest. */
static void test_two_numa_nodes_with_shared_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *shared =
        ",'annotations':{'scheduling.koordinator.sh/resource-status':'{\\\"numaNodeResources\\\":"
        "[{\\\"node\\\":0,\\\"resources\\\":{\\\"cpu\\\":\\\"4\\\"}},{\\\"node\\\":1,"
        "\\\"resources\\\":{\\\"cpu\\\":\\\"4\\\"}}]}'}";

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "'node.koordinator.sh/numa-topology-policy':'Restricted'");
    topology(&f, "n1", 2, 4, "", "");
    fixture_pod(&f, pod(&f, "shared", 8, "LS", shared, "n1"));
    fixture_try(&f, pod(&f, "a", 8, "LSR", "", NULL));
    assert_string_equal(reserve(&f, "n1"), "0-3,8-11");
    fixture_try(&f, pod(&f, "b", 2, "LSR", "", NULL));
    assert_false(fixture_fits(&f, "n1"));
}

static void test_amplified_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    fixture_node(&f, "{'metadata':{'name':'n1','annotations':{'node.koordinator.sh/resource-"
                     "amplification-ratio':'{\\\"cpu\\\":2}'}},'status':{'allocatable':{'cpu':'64',"
                     "'memory':'64Gi','pods':'110'}}}");
    topology(&f, "n1", 1, 16, "", "");
    fixture_pod(&f, pod(&f, "shared", 32, "LS", "", "n1"));
    fixture_try(&f, pod(&f, "a", 32, "LS", "", NULL));
    assert_true(fixture_fits(&f, "n1"));
    fixture_try(&f, pod(&f, "b", 32, "LSR", "", NULL));
    assert_string_equal(fixture_why(&f, "n1"), "Insufficient amplified cpu");
    fixture_try(&f, pod(&f, "c", 16, "LSR", "", NULL));
    assert_true(fixture_fits(&f, "n1"));
}

/* A victim that goes leaves its CPUs, and takes them back when it is reprieved. */
static void test_victims_free_their_cpus(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *want = ",'annotations':{'scheduling.koordinator.sh/resource-spec':"
                       "'{\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"}'}";

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4, "", "");
    fixture_pod(&f, pod(&f, "low", 6, "LSR", HOLDS("0-5"), "n1"));
    fixture_try(&f, pod(&f, "a", 4, "LSR", want, NULL));
    assert_false(fixture_fits(&f, "n1"));
    uint32_t row = fixture_row(&f, "n1"), mark = ks_overlay_mark(f.a.overlay);
    ks_overlay_remove_pod(f.a.overlay, row, nodecache_nodes(f.cache)->pods[row].items[0]);
    assert_true(attempt_fits(&f.a, row, NULL));
    ks_overlay_rollback(f.a.overlay, mark);
    assert_false(attempt_fits(&f.a, row, NULL));
}

#define HINTED(status)                                                                            \
    ",'annotations':{'internal.scheduling.koordinator.sh/scheduling-hint':'{\\\"extensions\\\":{" \
    "\\\"NodeNUMAResource\\\":{}}}','scheduling.koordinator.sh/resource-status':'" status "'}"

/* A hint with an allocation: that one, or none. */
static void test_designated_cpus(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "");
    topology(&f, "n1", 2, 4, "", "");
    fixture_try(&f, pod(&f, "a", 4, "LSR",
                        HINTED("{\\\"cpuset\\\":\\\"4-7\\\",\\\"numaNodeResources\\\":[{"
                               "\\\"node\\\":0,\\\"resources\\\":{\\\"cpu\\\":\\\"4\\\"}}]}"),
                        NULL));
    assert_string_equal(reserve(&f, "n1"), "4-7");
    assert_int_equal(grant_of(&f, "uid-a")->nparts, 1);
    fixture_try(&f, pod(&f, "b", 4, "LSR", HINTED("{\\\"cpuset\\\":\\\"6-9\\\"}"), NULL));
    assert_string_equal(fixture_why(&f, "n1"), "not enough cpus available to satisfy request");
    fixture_try(&f, pod(&f, "c", 4, "LSR", HINTED("{\\\"cpuset\\\":\\\"20-23\\\"}"), NULL));
    assert_string_equal(fixture_why(&f, "n1"), "not enough cpus available to satisfy request");
    fixture_try(&f, pod(&f, "d", 4, "LSR", HINTED("{"), NULL));
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
}

static void test_bad_annotations(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "'node.koordinator.sh/numa-topology-policy':'Sometimes'");
    node(&f, "n2", 8, "");
    fixture_put(
        &f, &kind_noderesourcetopology,
        "{'metadata':{'name':'n2','annotations':{'node.koordinator.sh/cpu-topology':'no "
        "json','node.koordinator.sh/pod-cpu-allocs':'[{','kubelet.koordinator.sh/"
        "cpu-manager-policy':'{'}},'zones':[{'name':'node-x',"
        "'type':'Node'},{'name':'node--1','type':'Node'},{'name':'node-99','type':'Node'}]}");
    topology(&f, "n1", 1, 4,
             "'node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":\\\"3-\\\"}',", "");
    fixture_pod(&f, pod(&f, "odd", 2, "LSR", HOLDS("0-99999"), "n1"));
    fixture_try(&f, pod(&f, "a", 8, "LSR", "", NULL));
    assert_string_equal(fixture_why(&f, "n2"), "node(s) invalid CPU Topology");
    assert_string_equal(reserve(&f, "n1"), "0-7");
    fixture_try(&f, pod(&f, "b", 1, "LSR",
                        ",'annotations':{'scheduling.koordinator.sh/resource-spec':'{'}", NULL));
    assert_int_equal(f.a.code, KS_ERROR);
}

/* What a pod says of itself (3): how it is bound, or that it cannot be. */
static void test_what_pods_ask_for(void **state)
{
#define SPEC(text) "'scheduling.koordinator.sh/resource-spec':'{" text "}'"
    static const struct {
        const char *qos, *cpu, *annotations;
        enum ks_code code; /* of the attempt */
        const char *outcome;
    } cases[] = {
        { "LSR", "4", "", KS_SUCCESS, "0-3" },
        { "LSR", "4500m", "", KS_UNRESOLVABLE, "the requested CPUs must be integer" },
        { "LSE", "4500m", SPEC("\\\"preferredCPUBindPolicy\\\":\\\"test\\\""), KS_SUCCESS, "none" },
        { "BE", "4", SPEC("\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\""), KS_SUCCESS, "none" },
        { "LSR", "4", SPEC("\\\"requiredCPUBindPolicy\\\":\\\"SpreadByPCPUs\\\""), KS_SUCCESS,
          "0,2,4,6" },
        { "LSR", "4", SPEC("\\\"preferredCPUBindPolicy\\\":\\\"ConstrainedBurst\\\""), KS_SUCCESS,
          "none" },
        { "LSR", "4", "'scheduling.koordinator.sh/numa-topology-spec':'{'", KS_ERROR, NULL },
        { "LSR", "4", "'scheduling.koordinator.sh/resource-spec':'[]'", KS_ERROR, NULL },
        { "LSR", "4", "'scheduling.koordinator.sh/reservation-affinity':'{'", KS_UNRESOLVABLE,
          NULL },
        { "LSR", "0", "", KS_SUCCESS, "none" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init_with(&f, state, table, NULL);
        node(&f, "n1", 8, "");
        topology(&f, "n1", 1, 4, "", "");
        fixture_try(&f,
                    arena_printf(f.base->arena,
                                 "{'metadata':{'name':'p','namespace':'default','uid':'uid-p',"
                                 "'labels':{'koordinator.sh/qosClass':'%s'},'annotations':{%s}},"
                                 "'spec':{'priority':9500,'containers':[{'name':'c',"
                                 "'resources':{'requests':{'cpu':'%s','memory':'1Gi'}}}]}}",
                                 cases[i].qos, cases[i].annotations, cases[i].cpu));
        if (f.a.code != cases[i].code)
            fail_msg("case %zu: code %d", i, (int)f.a.code);
        const char *got = f.a.code == KS_SUCCESS ? reserve(&f, "n1")
                          : cases[i].outcome     ? fixture_why(&f, "n1")
                                                 : NULL;
        if (got && !streq(got, cases[i].outcome))
            fail_msg("case %zu: %s", i, got);
    }
}

/* One node is described in all kinds of bad ways; the other is never disturbed. */
static void test_bad_nodes(void **state)
{
#define RATIO(v) "'node.koordinator.sh/resource-amplification-ratio':'" v "'"
    static const struct {
        const char *labels, *node, *topology, *more; /* annotations of both, and further members */
        const char *outcome;                         /* of an LSR pod with 4 CPUs */
    } cases[] = {
        { "", RATIO("{\\\"cpu\\\":0.5}"), "", "", "0-3" },
        { "", RATIO("{\\\"cpu\\\":-3}"), "", "", "0-3" },
        { "", RATIO("{\\\"cpu\\\":1e300}"), "", "", "node(s) invalid CPU amplification ratio" },
        { "", RATIO("{\\\"cpu\\\":\\\"x\\\"}"), "", "", "node(s) invalid CPU amplification ratio" },
        { "", RATIO("[]"), "", "", "node(s) invalid CPU amplification ratio" },
        { "", "", RATIO("{\\\"cpu\\\":1e300}") ",", "", "0-3" },
        { "'node.koordinator.sh/cpu-bind-policy':'Sometimes'", "", "", "", "0-3" },
        { "'node.koordinator.sh/numa-allocate-strategy':'x'", "", "", "", "0-3" },
        { "", "", "'node.koordinator.sh/system-qos-resource':'{\\\"cpuset\\\":\\\"7-4\\\"}',", "",
          "0-3" },
        { "", "",
          "'node.koordinator.sh/system-qos-resource':'{\\\"cpuset\\\":\\\"0-99999999\\\"}',", "",
          "0-3" },
        { "", "", "'node.koordinator.sh/pod-cpu-allocs':'[{\\\"managedByKubelet\\\":true}]',", "",
          "0-3" },
        { "", "",
          "'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"reservedCPUs\\\":\\\"-1\\\"}',", "",
          "0-3" },
        { "", "", "", ",'topologyPolicies':['Never','SingleNUMANodeContainerLevel']", "0-3" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init_with(&f, state, table, NULL);
        fixture_node(&f, arena_printf(f.base->arena,
                                      "{'metadata':{'name':'bad','labels':{%s},'annotations':{%s}},"
                                      "'status':{'allocatable':{'cpu':'8','memory':'64Gi','pods':"
                                      "'110'}}}",
                                      cases[i].labels, cases[i].node));
        topology(&f, "bad", 1, 4, cases[i].topology, cases[i].more);
        node(&f, "good", 8, "");
        topology(&f, "good", 1, 4, "", "");
        fixture_try(&f, pod(&f, "p", 4, "LSR", "", NULL));
        assert_true(fixture_fits(&f, "good"));
        const char *got = fixture_fits(&f, "bad") ? reserve(&f, "bad") : fixture_why(&f, "bad");
        if (!streq(got, cases[i].outcome))
            fail_msg("case %zu: %s", i, got);
    }
}

/* NUMA nodes with ids that have gaps, are doubled or too high; amounts that are no amounts. */
static void test_bad_zones(void **state)
{
#define ZONE(name, cpu)                                                                            \
    "{'name':'" name "','type':'Node','resources':[{'name':'cpu','allocatable':'" cpu "'},{'name'" \
    ":'memory','allocatable':'32Gi'}]}"
    static const struct {
        const char *zones;
        bool fits; /* a pod with 4 CPUs, on one of them */
    } cases[] = {
        { ZONE("node-3", "8") "," ZONE("node-63", "8"), true },
        { ZONE("node-0", "8") "," ZONE("node-0", "1"), true }, /* the first counts */
        { ZONE("node-64", "8"), false },
        { ZONE("node-x", "8") "," ZONE("0", "8"), false },
        { ZONE("node-0", "-8"), false },
        { ZONE("node-0", "9E") "," ZONE("node-1", "9E"), true },
        { ZONE("node-0", "1"), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init_with(&f, state, table, NULL);
        node(&f, "n1", 16, "'node.koordinator.sh/numa-topology-policy':'SingleNUMANode'");
        fixture_put(
            &f, &kind_noderesourcetopology,
            arena_printf(f.base->arena, "{'metadata':{'name':'n1'},'zones':[%s]}", cases[i].zones));
        fixture_try(&f, pod(&f, "p", 4, "LS", "", NULL));
        if (fixture_fits(&f, "n1") != cases[i].fits)
            fail_msg("case %zu: %s", i, fixture_why(&f, "n1"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_no_cpu_twice),
        FIXTURE_TEST(test_unreserve_undoes),
        FIXTURE_TEST(test_pods_come_before_the_topology),
        FIXTURE_TEST(test_nodes_without_topology_do_not_matter),
        FIXTURE_TEST(test_reserved_cpus_are_never_given),
        FIXTURE_TEST(test_no_pod_that_fits_no_single_numa_node),
        FIXTURE_TEST(test_two_numa_nodes_with_shared_pods),
        FIXTURE_TEST(test_amplified_nodes),
        FIXTURE_TEST(test_victims_free_their_cpus),
        FIXTURE_TEST(test_designated_cpus),
        FIXTURE_TEST(test_bad_annotations),
        FIXTURE_TEST(test_what_pods_ask_for),
        FIXTURE_TEST(test_bad_nodes),
        FIXTURE_TEST(test_bad_zones),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
