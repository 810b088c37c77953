/* test_numacases.c - what must hold of the state of a node, of pods that are tried away, and of the
 * answers over REST (sched-numa 2, 10, 11). */
#include "scheduler/plugins/nodenumaresource/test/numa_cluster.h"
#include "scheduler/plugins/nodenumaresource/view.h"

static struct numa_plugin *plugin_in(const struct plugin_fixture *f)
{
    return f->profile->slots[profile_slot(f->profile, NAME)].self;
}

#define AMPLIFIED(ratio)                                                                       \
    "{'metadata':{'name':'n1','annotations':{'node.koordinator.sh/resource-amplification-"     \
    "ratio':'{\\\"cpu\\\":" ratio "}'}},'status':{'allocatable':{'cpu':'48','memory':'64Gi','" \
    "pods':'110'}}}"
#define HOLDS_PARTS(cpus, parts)                                                             \
    ",'annotations':{'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":\\\"" cpus \
    "\\\",\\\"numaNodeResources\\\":[" parts "]}'}"
#define PART(node, cpu) "{\\\"node\\\":" node ",\\\"resources\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}"

/* ---- 2: state -------------------------------------------------------------------------------- */

static struct machine *machine_of(unsigned cpus)
{
    struct cpu_topology_entry e[64];
    struct machine *m;
    struct kerr err = { 0 };

    for (unsigned i = 0; i < cpus; i++)
        e[i] = (struct cpu_topology_entry){ .id = (int32_t)i, .core = (int32_t)i / 2 };
    assert_int_equal(machine_new(e, cpus, &m, &err), 0);
    return m;
}

static void hold(struct holders *h, const struct machine *m, const char *list, bool away)
{
    struct cpuset cpus;

    assert_int_equal(cpuset_parse(list, strlen(list), &cpus, NULL), 0);
    if (away)
        holders_remove(h, m, &cpus);
    else
        holders_add(h, m, &cpus, CPU_EXCLUSIVE_NONE);
}

static const char *available(const struct holders *h, const struct machine *m, struct arena *a)
{
    const struct cpuset none = { 0 }, free = holders_available(h, m, &none);

    return cpuset_format(&free, a);
}

static void test_cpus_that_are_shared(void **state)
{
    const struct object_fixture *f = *state;
    CLEANUP(machine_unref) struct machine *m = machine_of(16);
    struct holders h;

    holders_init(&h, m, 2);
    hold(&h, m, "1-4", false);
    hold(&h, m, "2-5", false);
    assert_string_equal(available(&h, m, f->arena), "0-1,5-15");
    hold(&h, m, "1-4", true);
    h.max_refs = 1;
    assert_string_equal(available(&h, m, f->arena), "0-1,6-15");
    holders_fini(&h);
}

static void test_cpus_that_are_given_back(void **state)
{
    const struct object_fixture *f = *state;
    CLEANUP(machine_unref) struct machine *m = machine_of(16);
    struct holders h;

    holders_init(&h, m, 1);
    hold(&h, m, "0-4", false);
    hold(&h, m, "1-2", true);
    assert_string_equal(available(&h, m, f->arena), "1-2,5-15");
    hold(&h, m, "1-2", true); /* more often than they were held */
    hold(&h, m, "1-2", false);
    assert_string_equal(available(&h, m, f->arena), "5-15");
    holders_fini(&h);
}

/* 16 CPUs of a NUMA node count as 24, and so do bound ones. */
static void test_bound_cpus_count_as_amplified(void **state)
{
    static const struct {
        const char *cpu;
        int64_t held, left;
    } cases[] = { { "4", 6000, 18000 }, { "8", 10000, 14000 } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        struct stock s;
        fixture_init_with(&f, state, table, NULL);
        fixture_node(&f, AMPLIFIED("1.5"));
        topology(&f, "n1", 2, 8, "", "");
        fixture_pod(&f,
                    pod(&f, "a", 4, "LSR",
                        i ? HOLDS_PARTS("0-3", PART("0", "8")) : HOLDS_PARTS("0-3", PART("0", "4")),
                        "n1"));
        stock_init(&s, plugin_in(&f)->grants, nodecache_nodes(f.cache), fixture_row(&f, "n1"));
        assert_int_equal(s.site->zone[0].capacity[NUMA_RES_CPU], 24000);
        assert_int_equal(s.zone[0].held[NUMA_RES_CPU], cases[i].held);
        assert_int_equal(s.zone[0].left[NUMA_RES_CPU], cases[i].left);
        assert_int_equal(s.zone[1].left[NUMA_RES_CPU], 24000);
        stock_fini(&s);
    }
}

/* The four sources of CPUs that nobody gets, and one that goes (1.4). */
static void test_reserved_cpus(void **state)
{
    static const char rest[] =
        "'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":\\\"static\\\","
        "\\\"reservedCPUs\\\":\\\"0-1\\\"}','node.koordinator.sh/system-qos-resource':"
        "'{\\\"cpuset\\\":\\\"4-5\\\"}','node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":"
        "\\\"6-7\\\"}',";
    static const char pods[] =
        "'node.koordinator.sh/pod-cpu-allocs':'[{\\\"uid\\\":\\\"x\\\",\\\"cpuset\\\":\\\"0-3\\\","
        "\\\"managedByKubelet\\\":true},{\\\"uid\\\":\\\"y\\\",\\\"cpuset\\\":\\\"8\\\"}]',";

    for (int with = 1; with >= 0; with--) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        struct stock s;
        fixture_init_with(&f, state, table, NULL);
        node(&f, "n1", 16, "");
        topology(&f, "n1", 2, 4, arena_printf(f.base->arena, "%s%s", rest, with ? pods : ""), "");
        stock_init(&s, plugin_in(&f)->grants, nodecache_nodes(f.cache), fixture_row(&f, "n1"));
        assert_string_equal(cpuset_format(&s.site->reserved, f.base->arena),
                            with ? "0-7" : "0-1,4-7");
        assert_int_equal(s.zone[0].left[NUMA_RES_CPU], with ? 0 : 2000);
        assert_int_equal(s.zone[1].left[NUMA_RES_CPU], 8000);
        stock_fini(&s);
    }
}

/* ---- 10: pods that are tried away ------------------------------------------------------------ */

static const struct stock *row_now(struct plugin_fixture *f, uint32_t row)
{
    int slot = profile_slot(f->profile, NAME);

    (void)attempt_fits(&f->a, row, NULL); /* row data is as the rows are when filters are asked */
    attempt_enter(&f->a, (uint32_t)slot, f->a.state[slot]);
    return ks_row(f->a.cycle.rows, row);
}

static void check_row(struct plugin_fixture *f, uint32_t row, const char *free, int64_t left)
{
    const struct stock *s = row_now(f, row);

    assert_string_equal(cpuset_format(&s->free, f->base->arena), free);
    assert_int_equal(s->zone[0].left[NUMA_RES_CPU], left);
    assert_int_equal(s->zone[1].left[NUMA_RES_CPU], left);
    assert_int_equal(f->a.cycle.rows->column[STOCK_FREE][row], cpuset_count(&s->free));
    assert_int_equal(f->a.cycle.rows->column[STOCK_CPU][row], left);
}

static void test_a_victim_and_back(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "'node.koordinator.sh/numa-topology-policy':'Restricted'");
    topology(&f, "n1", 2, 4, "", "");
    fixture_pod(&f, pod(&f, "low", 4, "LSR",
                        HOLDS_PARTS("0-1,8-9", PART("0", "2") "," PART("1", "2")), "n1"));
    fixture_try(&f, pod(&f, "a", 16, "LSR", "", NULL));
    uint32_t row = fixture_row(&f, "n1"), mark = ks_overlay_mark(f.a.overlay);
    const struct pod *low = nodecache_nodes(f.cache)->pods[row].items[0];
    check_row(&f, row, "2-7,10-15", 6000);
    ks_overlay_remove_pod(f.a.overlay, row, low);
    check_row(&f, row, "0-15", 8000);
    ks_overlay_restore_pod(f.a.overlay, row, low);
    check_row(&f, row, "2-7,10-15", 6000);
    ks_overlay_remove_pod(f.a.overlay, row, low);
    ks_overlay_rollback(f.a.overlay, mark);
    check_row(&f, row, "2-7,10-15", 6000);
}

/* ---- 11: REST -------------------------------------------------------------------------------- */

static const char *get(struct plugin_fixture *f, const char *pattern, const char *node, int *code)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct ks_path *p = numa_paths;
    struct ks_get g = { .params = &node, .target = "", .arena = f->base->arena };
    struct kjw w = kjw_to(&b);
    struct kerr err = { 0 };

    while (!streq(p->pattern, pattern))
        p++;
    *code = p->get(plugin_in(f)->grants, &g, &w, &err);
    return arena_strdup(f->base->arena, *code < 0 ? err.text : strbuf_str(&b));
}

static void test_the_answer_over_rest(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    int code;

    fixture_init_with(&f, state, table, NULL);
    fixture_node(&f, AMPLIFIED("1.5"));
    topology(&f, "n1", 2, 4,
             "'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"reservedCPUs\\\":\\\"\\\"}',"
             "'node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":\\\"\\\"}',",
             "");
    fixture_pod(&f, pod(&f, "a", 4, "LSR", HOLDS_PARTS("2-5", PART("0", "4")), "n1"));
    const char *text = get(&f, "nodes/:nodeName", "n1", &code);
    assert_int_equal(code, 0);
    assert_contains(text, "\"numaNodeResources\":[{\"node\":0,\"resources\":{\"cpu\":\"12\","
                          "\"memory\":\"32Gi\"}},{\"node\":1,\"resources\":{\"cpu\":\"12\"");
    assert_contains(text, "\"allocatedNUMANodeResources\":[{\"node\":0,\"resources\":{\"cpu\":\"6\""
                          "}}]");
    assert_contains(text, "\"remainingNUMANodeResources\":[{\"node\":0,\"resources\":{\"cpu\":\"6\""
                          ",\"memory\":\"32Gi\"}},{\"node\":1,\"resources\":{\"cpu\":\"12\"");
    assert_contains(text, "\"availableCPUs\":\"0-1,6-15\"");
    assert_contains(text, "\"amplificationRatios\":{\"cpu\":1.50}");
    assert_contains(text, "\"numCPUs\":16,\"numCores\":8,\"numNodes\":2,\"numSockets\":2");
    assert_contains(text, "\"allocatedPods\":[{\"uid\":\"uid-a\"");
}

/* As older documents name them: each is a part of the same answer. */
static void test_parts_of_the_answer(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    int code;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "'node.koordinator.sh/numa-topology-policy':'BestEffort'");
    topology(&f, "n1", 2, 4,
             "'node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":\\\"0-1"
             "\\\"}',",
             ",'topologyPolicies':['Restricted']");
    fixture_pod(&f, pod(&f, "a", 4, "LSR", HOLDS("2-5"), "n1"));
    const char *text = get(&f, "cpuTopologyOptions/:nodeName", "n1", &code);
    assert_contains(text, "\"reservedCPUs\":\"0-1\",\"maxRefCount\":1,");
    assert_contains(text, "\"numaTopologyPolicy\":\"BestEffort\""); /* the label wins */
    assert_null(strstr(text, "availableCPUs"));
    text = get(&f, "availableCPUs/:nodeName", "n1", &code);
    assert_starts(text, "{\"availableCPUs\":\"6-15\",\"allocatedCPUs\":{\"2\":{\"cpuID\":2,");
    assert_null(strstr(text, "cpuTopology"));
}

static void test_nodes_without_an_answer(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    int code;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "bare", 16, "");
    fixture_node(&f, AMPLIFIED("no"));
    topology(&f, "n1", 2, 4, "", "");
    assert_string_equal(get(&f, "nodes/:nodeName", "bare", &code),
                        "invalid topology, please check the NodeResourceTopology object");
    assert_that(code, <, 0);
    assert_starts(get(&f, "availableCPUs/:nodeName", "n1", &code),
                  "failed to amplify NUMANode Resources, err: ");
    assert_that(code, <, 0);
    assert_contains(get(&f, "nodes/:nodeName", "none", &code), "\"none\"");
    assert_that(code, <, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_cpus_that_are_shared),
        FIXTURE_TEST(test_cpus_that_are_given_back),
        FIXTURE_TEST(test_bound_cpus_count_as_amplified),
        FIXTURE_TEST(test_reserved_cpus),
        FIXTURE_TEST(test_a_victim_and_back),
        FIXTURE_TEST(test_the_answer_over_rest),
        FIXTURE_TEST(test_parts_of_the_answer),
        FIXTURE_TEST(test_nodes_without_an_answer),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
