/* test_cpumap.c - who has which CPUs of a node, and how many more pods fit. */
#include "base/test/asserts.h"
#include "scheduler/plugins/nodenumaresource/cpumap.h"
#include "scheduler/plugins/nodenumaresource/test/numa_cluster.h"

static struct grants *grants_in(const struct plugin_fixture *f)
{
    const struct numa_plugin *n = f->profile->slots[profile_slot(f->profile, NAME)].self;

    return n->grants;
}

static const char *map_of(struct plugin_fixture *f, const char *on)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    if (cpumap_node(grants_in(f), on, &b, &err) < 0)
        return arena_strdup(f->base->arena, err.text);
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

static const char *fits(struct plugin_fixture *f, unsigned ncpus, enum cpu_bind_policy bind,
                        bool single_numa)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    cpumap_fits(grants_in(f), &(struct cpumap_want){ ncpus, bind, single_numa }, &b);
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

#define RESERVES(cpus)                                                \
    ",'annotations':{'scheduling.koordinator.sh/reserve-pod':'true'," \
    "'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":\\\"" cpus "\\\"}'}"

static void test_who_has_what(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "");
    topology(&f, "n1", 1, 4,
             "'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"reservedCPUs\\\":\\\"7\\\"}',"
             "'node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":\\\"6-7\\\"}',",
             "");
    fixture_pod(&f, pod(&f, "r", 3, "LSR", RESERVES("1-3"), "n1"));
    fixture_pod(&f, pod(&f, "a", 2, "LSR", HOLDS("0-1"), "n1"));
    fixture_pod(&f, pod(&f, "shared", 1, "LS", "", "n1"));
    const char *text = map_of(&f, "n1");
    assert_contains(text, "\"sockets\":1,\"numaNodes\":1,\"cores\":4,\"free\":\"4-5\","
                          "\"freeCPUs\":2,\"freeCores\":1,");
    assert_contains(text, "\"holders\":[{\"kind\":\"pod\",\"name\":\"default/a\",\"cpus\":\"0-1\"},"
                          "{\"kind\":\"reservation\",\"name\":\"r\",\"cpus\":\"2-3\"},"
                          "{\"kind\":\"kubelet\",\"cpus\":\"7\"},"
                          "{\"kind\":\"system\",\"cpus\":\"6\"}]");
    assert_contains(text, "{\"id\":3,\"core\":1,\"numaNode\":0,\"socket\":0,\"holder\":1},"
                          "{\"id\":4,\"core\":2,\"numaNode\":0,\"socket\":0},");
}

static void test_nodes_that_cannot_be_drawn(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "bare", 8, "");
    assert_starts(map_of(&f, "bare"), "node bare has no NodeResourceTopology");
    assert_string_equal(map_of(&f, "none"), "there is no node none");
    assert_string_equal(fits(&f, 1, CPU_BIND_NONE, false),
                        "{\"nodes\":[{\"name\":\"bare\",\"fits\":0,\"largest\":0,\"why\":\"no CPU "
                        "topology\"}],\"fits\":0,\"largest\":0}");
}

/* Two sockets of 8 CPUs; CPUs 0, 2 and 8 are taken, so that two cores of the first are broken. */
static void test_how_many_fit(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "");
    topology(&f, "n1", 2, 4, "", "");
    fixture_pod(&f, pod(&f, "a", 3, "LSR", HOLDS("0,2,8"), "n1"));
    assert_contains(fits(&f, 4, CPU_BIND_NONE, false), "\"fits\":3,\"largest\":13}]");
    assert_contains(fits(&f, 4, CPU_BIND_FULL_PCPUS, false), "\"fits\":2,\"largest\":10}]");
    assert_contains(fits(&f, 3, CPU_BIND_FULL_PCPUS, false), "\"fits\":0,\"largest\":10}]");
    assert_contains(fits(&f, 4, CPU_BIND_FULL_PCPUS, true), "\"fits\":2,\"largest\":6}]");
    assert_contains(fits(&f, 6, CPU_BIND_FULL_PCPUS, true), "\"fits\":1,\"largest\":6}]");
    assert_contains(fits(&f, 8, CPU_BIND_SPREAD_BY_PCPUS, false), "\"fits\":1,\"largest\":8}]");
}

/* What shared pods request is not free either, though no CPU is theirs. */
static void test_requests_of_shared_pods_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "b", 8, "'node.koordinator.sh/cpu-bind-policy':'SpreadByPCPUs'");
    node(&f, "a", 8, "");
    topology(&f, "a", 1, 4, "", "");
    topology(&f, "b", 1, 4, "", "");
    fixture_pod(&f, pod(&f, "shared", 5, "LS", "", "a"));
    assert_string_equal(fits(&f, 2, CPU_BIND_FULL_PCPUS, false),
                        "{\"nodes\":[{\"name\":\"a\",\"fits\":1,\"largest\":2},{\"name\":\"b\","
                        "\"fits\":0,\"largest\":0,\"why\":\"another bind policy\"}],\"fits\":1,"
                        "\"largest\":2}");
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
    assert_contains(fits(&f, 8, CPU_BIND_NONE, false), "\"fits\":2,\"largest\":16}]");
}

/* koordctl explain: each NUMA node of the row, and who stands in the way there. */
static const char *shown(struct plugin_fixture *f, const char *on)
{
    int slot = profile_slot(f->profile, NAME);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    attempt_enter(&f->a, (uint32_t)slot, f->a.state[slot]);
    kjw_obj(&w, NULL);
    ks_plugin_node_numa_resource.show(f->profile->slots[slot].self, &f->a.cycle, &f->a.pod,
                                      fixture_row(f, on), &w);
    kjw_end(&w);
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

static void test_who_stands_in_the_way(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 16, "");
    topology(&f, "n1", 2, 4, "", "");
    fixture_pod(&f, pod(&f, "a", 2, "LSR", HOLDS("0-1"), "n1"));
    fixture_pod(&f, pod(&f, "b", 2, "LSR", HOLDS("2,4"), "n1"));
    fixture_pod(&f, pod(&f, "c", 7, "LSR", HOLDS("8-14"), "n1"));
    fixture_try(&f, pod(&f, "new", 6, "LSR",
                        ",'annotations':{'scheduling.koordinator.sh/resource-spec':'{"
                        "\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"}'}",
                        NULL));
    assert_string_equal(
        shown(&f, "n1"),
        "{\"numaNodes\":[{\"node\":0,\"free\":{\"cpu\":8000,\"memory\":34359738368},"
        "\"freeCPUs\":\"3,5-7\",\"freeCores\":1,\"wouldHaveToLeave\":[\"default/b\"]},{"
        "\"node\":1,\"free\":{\"cpu\":8000,\"memory\":34359738368},\"freeCPUs\":\"15\","
        "\"freeCores\":0,\"wouldHaveToLeave\":[\"default/c\"]}]}");
    fixture_try(&f, pod(&f, "large", 10, "LSR", "", NULL));
    assert_contains(shown(&f, "n1"), "\"freeCores\":1,\"tooSmall\":true}");
    fixture_try(&f, pod(&f, "shared", 6, "LS", "", NULL));
    assert_string_equal(shown(&f, "n1"), "{}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_who_has_what),    FIXTURE_TEST(test_nodes_that_cannot_be_drawn),
        FIXTURE_TEST(test_how_many_fit),    FIXTURE_TEST(test_requests_of_shared_pods_count),
        FIXTURE_TEST(test_amplified_nodes), FIXTURE_TEST(test_who_stands_in_the_way),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
