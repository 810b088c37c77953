/* test_topogang.c - gangs that gather in the network, in a whole engine (sched-gang 7.5). */
#include "gang_engine.h"

#define TOPOLOGIES "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
#define LAYERS                                                                                  \
    "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"SpineLayer\",\"labelKey\":["      \
    "\"net/spine\"]},{\"topologyLayer\":\"BlockLayer\",\"parentTopologyLayer\":\"SpineLayer\"," \
    "\"labelKey\":[\"net/block\"]},{\"topologyLayer\":\"NodeTopologyLayer\","                   \
    "\"parentTopologyLayer\":\"BlockLayer\"}]}}"
#define AWARE      "{\"awareNetworkTopology\":true}"
#define RULE(l, s) "{\\\"layer\\\":\\\"" l "\\\",\\\"strategy\\\":\\\"" s "\\\"}"
#define SPEC(rule) "\"" ANNO_GANG_TOPOLOGY_SPEC "\":\"{\\\"gatherStrategy\\\":[" rule "]}\""
#define MUST_BLOCK SPEC(RULE("BlockLayer", "MustGather"))
#define MUST_SPINE SPEC(RULE("SpineLayer", "MustGather"))
#define IGNORED    "NetworkTopologyIgnored"

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 12 * SEC); /* the longest back-off */
}

static void soon(struct engine_fixture *b)
{
    client_fixture_run(&b->client, SEC);
}

static void node(struct engine_fixture *b, const char *name, const char *spine, const char *block,
                 int cpus)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"net/spine\":\"%s\",\"net/block\":\"%s\"}},"
                   "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":"
                   "\"100\"}}}",
                   spine, block, cpus);
    fake_put(b->client.fake, NODES, name, body);
}

/* spine s1{b1{node-1,node-8},b2{node-2,node-7}}, s2{b3{node-3,node-6},b4{node-4,node-5}} */
static void eight(struct engine_fixture *b)
{
    node(b, "node-1", "s1", "b1", 16);
    node(b, "node-2", "s1", "b2", 16);
    node(b, "node-3", "s2", "b3", 16);
    node(b, "node-4", "s2", "b4", 16);
    node(b, "node-5", "s2", "b4", 16);
    node(b, "node-6", "s2", "b3", 16);
    node(b, "node-7", "s1", "b2", 16);
    node(b, "node-8", "s1", "b1", 16);
}

static void start(struct engine_fixture *b, const char *args)
{
    gang_start(b, args);
    fake_put(b->client.fake, TOPOLOGIES, "default", LAYERS);
    eight(b);
    soon(b);
}

static void pods(struct engine_fixture *b, const char *prefix, const char *gang, int n, int cpu)
{
    char name[64];

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        gang_pod(b, name, gang, cpu);
    }
}

/* A pod that is on a node already. */
static void occupy(struct engine_fixture *b, const char *name, const char *node, int cpu)
{
    char spec[128];

    (void)snprintf(spec, sizeof spec, ",\"nodeName\":\"%s\"", node);
    gang_pod_with(b, name, "", "", cpu, spec);
}

/* The nodes of prefix0, prefix1, ...: "node-1 node-8"; "-": none. */
static const char *nodes_of(const struct engine_fixture *b, const char *prefix, int n)
{
    static char text[1024];
    char name[64];

    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t len = strlen(text);
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        const char *node = engine_node_of(b, name);
        (void)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "", *node ? node : "-");
    }
    return text;
}

static bool are_in(const struct engine_fixture *b, const char *prefix, int n, const char *one,
                   const char *other)
{
    char name[64];

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        const char *node = engine_node_of(b, name);
        if (!streq(node, one) && !streq(node, other))
            return false;
    }
    return true;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void test_a_gang_goes_where_the_plan_says(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 4, MUST_SPINE);
    pods(&b, "p", "g", 4, 16);
    soon(&b);
    assert_string_equal(nodes_of(&b, "p", 4), "node-1 node-8 node-2 node-7");
    assert_int_equal(gang_attempts(&b), 4);
    gang_podgroup(&b, "h", 2, MUST_BLOCK);
    pods(&b, "q", "h", 2, 8);
    soon(&b);
    assert_string_equal(nodes_of(&b, "q", 2), "node-3 node-3");
    engine_verify(&b);
}

static void test_no_domain_has_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    occupy(&b, "x", "node-1", 1);
    occupy(&b, "y", "node-4", 1);
    gang_podgroup(&b, "g", 4, MUST_SPINE);
    pods(&b, "p", "g", 4, 16);
    soon(&b);
    assert_int_equal(gang_bound(&b, "p", 4), 0);
    assert_contains(engine_condition(&b, "p0", "message"),
                    "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
                    "topology topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: "
                    "3, 0/8 nodes are available: 8 Insufficient cpu.");
    /* Freed room brings it back, within one back-off. */
    fake_delete(b.client.fake, PODS, "x");
    settle(&b);
    assert_string_equal(nodes_of(&b, "p", 4), "node-1 node-8 node-2 node-7");
    engine_verify(&b);
}

static void test_a_new_node_brings_it_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 3, MUST_BLOCK);
    pods(&b, "p", "g", 3, 16);
    settle(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 0);
    node(&b, "node-9", "s2", "b3", 16);
    settle(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 3);
    assert_string_equal(nodes_of(&b, "p", 3), "node-3 node-6 node-9");
}

/* A label, or another tree, is news too. */
static void test_labels_and_layers_bring_it_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 3, MUST_BLOCK);
    pods(&b, "p", "g", 3, 16);
    settle(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 0);
    node(&b, "node-7", "s1", "b1", 16);
    settle(&b);
    assert_string_equal(nodes_of(&b, "p", 3), "node-1 node-7 node-8");
    gang_podgroup(&b, "h", 1, SPEC(RULE("RackLayer", "MustGather")));
    pods(&b, "q", "h", 1, 16);
    settle(&b);
    assert_false(gang_runs(&b, "q0")); /* there is no such layer */
    fake_put(b.client.fake, TOPOLOGIES, "default",
             "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"RackLayer\",\"labelKey\":["
             "\"net/block\"]},{\"topologyLayer\":\"NodeTopologyLayer\",\"parentTopologyLayer\":"
             "\"RackLayer\"}]}}");
    settle(&b);
    assert_true(gang_runs(&b, "q0"));
}

/* Ranks, not names, and not the order in which they came. */
static void test_members_keep_the_order_of_their_index(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[16], rank[128];

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 4, MUST_SPINE);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(rank, sizeof rank, "\"" ANNO_GANG_TOPOLOGY_INDEX "\":\"%d\"", 10 - i);
        gang_pod_with(&b, name, LABEL("g"), rank, 16, "");
    }
    soon(&b);
    assert_string_equal(nodes_of(&b, "p", 4), "node-7 node-2 node-8 node-1");
}

/* PS and workers in two gangs are planned together. */
static void test_a_group_of_gangs(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    static const char groups[] =
        MUST_BLOCK ",\"" ANNO_GANG_GROUPS "\":\"[\\\"ns/ps\\\",\\\"ns/w\\\"]\"";

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "ps", 1, groups);
    gang_podgroup(&b, "w", 3, groups);
    pods(&b, "w", "w", 3, 8);
    soon(&b);
    assert_int_equal(gang_bound(&b, "w", 3), 0);
    pods(&b, "ps", "ps", 1, 8);
    soon(&b);
    assert_string_equal(nodes_of(&b, "ps", 1), "node-1");
    assert_string_equal(nodes_of(&b, "w", 3), "node-1 node-8 node-8");
}

/* ---- more than are needed -------------------------------------------------------------------- */

static void test_as_many_as_must_be(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 2, MUST_BLOCK);
    pods(&b, "p", "g", 3, 16); /* no block has room for three */
    settle(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 2);
    assert_string_equal(nodes_of(&b, "p", 3), "node-1 node-8 -");
    node(&b, "node-9", "s1", "b1", 16); /* the third stays with the others */
    settle(&b);
    assert_string_equal(nodes_of(&b, "p", 3), "node-1 node-8 node-9");
    engine_verify(&b);
}

/* ---- members that are made again (koord#3181) ------------------------------------------------ */

static void test_a_member_made_again_stays_in_the_domain(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 2, MUST_BLOCK);
    pods(&b, "p", "g", 2, 16);
    soon(&b);
    assert_true(are_in(&b, "p", 2, "node-1", "node-8"));
    for (int i = 0; i < 3; i++) {
        fake_delete(b.client.fake, PODS, "p1");
        soon(&b);
        gang_pod(&b, "p1", "g", 16);
        soon(&b);
        assert_true(are_in(&b, "p", 2, "node-1", "node-8"));
    }
    fake_delete(b.client.fake, PODS, "p1");
    soon(&b);
    occupy(&b, "x", "node-8", 1); /* no room there: it waits, though there is room elsewhere */
    soon(&b);
    gang_pod(&b, "p1", "g", 16);
    settle(&b);
    assert_false(gang_runs(&b, "p1"));
    assert_contains(engine_condition(&b, "p1", "message"),
                    " Suggestion: {type: EvictWorkloadSelf, message: members of gang ns/g must "
                    "gather in one domain of BlockLayer, and that of the 1 that have a node has no "
                    "room: it can be placed anew without them}");
    fake_delete(b.client.fake, PODS, "x");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p1"), "node-8");
    engine_verify(&b);
}

/* All of them: nobody is left to stay with, and they gather anew. */
static void test_a_whole_gang_made_again_gathers_anew(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 2, MUST_BLOCK);
    pods(&b, "p", "g", 2, 16);
    soon(&b);
    assert_true(are_in(&b, "p", 2, "node-1", "node-8"));
    fake_delete(b.client.fake, PODS, "p0");
    fake_delete(b.client.fake, PODS, "p1");
    soon(&b);
    occupy(&b, "x", "node-8", 1);
    soon(&b);
    pods(&b, "p", "g", 2, 16);
    settle(&b);
    assert_int_equal(gang_bound(&b, "p", 2), 2);
    assert_true(are_in(&b, "p", 2, "node-2", "node-7") || are_in(&b, "p", 2, "node-3", "node-6") ||
                are_in(&b, "p", 2, "node-4", "node-5"));
}

/* ---- at the cost of others -------------------------------------------------------------------- */

static void test_room_is_made_where_the_plan_says(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "{\"awareNetworkTopology\":true,\"enablePreemption\":true}");
    gang_pod_with(&b, "x", "", "", 1, ",\"priority\":1,\"nodeName\":\"node-1\"");
    gang_pod_with(&b, "y", "", "", 1, ",\"priority\":1,\"nodeName\":\"node-4\"");
    soon(&b);
    gang_podgroup(&b, "g", 4, MUST_SPINE);
    for (char name[] = "p0"; name[1] < '4'; name[1]++)
        gang_pod_with(&b, name, LABEL("g"), "", 16, ",\"priority\":10");
    settle(&b);
    assert_null(fake_find(b.client.fake, PODS, "x"));
    assert_non_null(fake_find(b.client.fake, PODS, "y")); /* nobody goes in vain */
    assert_string_equal(nodes_of(&b, "p", 4), "node-1 node-8 node-2 node-7");
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
    engine_verify(&b);
}

/* Of two spines the one where less important pods go. */
static void test_room_is_made_where_it_costs_least(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "{\"awareNetworkTopology\":true,\"enablePreemption\":true}");
    gang_pod_with(&b, "x", "", "", 1, ",\"priority\":5,\"nodeName\":\"node-1\"");
    gang_pod_with(&b, "y", "", "", 1, ",\"priority\":1,\"nodeName\":\"node-4\"");
    soon(&b);
    gang_podgroup(&b, "g", 4, MUST_SPINE);
    for (char name[] = "p0"; name[1] < '4'; name[1]++)
        gang_pod_with(&b, name, LABEL("g"), "", 16, ",\"priority\":10");
    settle(&b);
    assert_non_null(fake_find(b.client.fake, PODS, "x"));
    assert_null(fake_find(b.client.fake, PODS, "y"));
    assert_string_equal(nodes_of(&b, "p", 4), "node-3 node-6 node-4 node-5");
    assert_int_equal(scheduler_stats(b.s).nominated, 0);
}

/* Nothing helps: nobody is evicted, though single members would fit. */
static void test_no_eviction_when_no_domain_would_do(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "{\"awareNetworkTopology\":true,\"enablePreemption\":true}");
    gang_pod_with(&b, "x", "", "", 1, ",\"priority\":1,\"nodeName\":\"node-1\"");
    soon(&b);
    gang_podgroup(&b, "g", 3, MUST_BLOCK); /* blocks have two nodes */
    for (char name[] = "p0"; name[1] < '3'; name[1]++)
        gang_pod_with(&b, name, LABEL("g"), "", 16, ",\"priority\":10");
    settle(&b);
    assert_non_null(fake_find(b.client.fake, PODS, "x"));
    assert_int_equal(gang_bound(&b, "p", 3), 0);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
}

/* ---- what is ignored ------------------------------------------------------------------------- */

static int events_with(const struct engine_fixture *b, const char *note)
{
    return engine_events(b, IGNORED, note);
}

static void test_without_the_argument_the_spec_is_ignored(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "{}");
    gang_podgroup(&b, "g", 3, MUST_BLOCK);
    pods(&b, "p", "g", 3, 16);
    soon(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 3);
    assert_int_equal(events_with(&b, ANNO_GANG_TOPOLOGY_SPEC
                                 " is ignored: awareNetworkTopology is off in the scheduler's "
                                 "configuration"),
                     1);
}

static void test_without_a_tree_the_spec_is_ignored(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, AWARE);
    eight(&b);
    soon(&b);
    gang_podgroup(&b, "g", 3, MUST_BLOCK);
    pods(&b, "p", "g", 3, 16);
    soon(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 3);
    assert_int_equal(events_with(&b, ANNO_GANG_TOPOLOGY_SPEC
                                 " is ignored: there is no ClusterNetworkTopology \"default\", or "
                                 "koord-scheduler runs without --enable-network-topology-manager"),
                     1);
}

struct found {
    const struct engine_fixture *b;
    bool it;
};
static void find_bad(void *arg, const char *ns, const char *name, const char *version)
{
    struct found *f = arg;
    CLEANUP(mem_free) char *path = xasprintf("/api/v1/namespaces/%s/events", ns);
    const char *json = fake_find(f->b->client.fake, path, name);

    (void)version;
    f->it |= json && strstr(json, IGNORED) && strstr(json, ANNO_GANG_TOPOLOGY_SPEC ": ");
}

static void test_a_bad_spec_is_ignored(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct found f = { &b, false };

    (void)state;
    start(&b, AWARE);
    gang_podgroup(&b, "g", 3, "\"" ANNO_GANG_TOPOLOGY_SPEC "\":\"[1\"");
    pods(&b, "p", "g", 3, 16);
    soon(&b);
    assert_int_equal(gang_bound(&b, "p", 3), 3);
    fake_each(b.client.fake, "events", find_bad, &f);
    assert_true(f.it);
}

/* ---- single pods ------------------------------------------------------------------------------ */

static void test_a_single_pod_goes_near_its_peers(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    static const char selector[] = "\"" ANNO_NETWORK_TOPOLOGY_SELECTOR "\":\"job\"";

    (void)state;
    start(&b, "{}");
    gang_pod_with(&b, "a", "", selector, 16, ",\"nodeName\":\"node-5\"");
    soon(&b);
    gang_pod_with(&b, "b", "", selector, 16, "");
    soon(&b);
    assert_string_equal(engine_node_of(&b, "b"), "node-4");
    gang_pod_with(&b, "c", "", selector, 16, "");
    soon(&b);
    assert_true(streq(engine_node_of(&b, "c"), "node-3") ||
                streq(engine_node_of(&b, "c"), "node-6")); /* the same spine */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gang_goes_where_the_plan_says),
        cmocka_unit_test(test_no_domain_has_room),
        cmocka_unit_test(test_a_new_node_brings_it_back),
        cmocka_unit_test(test_labels_and_layers_bring_it_back),
        cmocka_unit_test(test_members_keep_the_order_of_their_index),
        cmocka_unit_test(test_a_group_of_gangs),
        cmocka_unit_test(test_as_many_as_must_be),
        cmocka_unit_test(test_a_member_made_again_stays_in_the_domain),
        cmocka_unit_test(test_a_whole_gang_made_again_gathers_anew),
        cmocka_unit_test(test_room_is_made_where_the_plan_says),
        cmocka_unit_test(test_room_is_made_where_it_costs_least),
        cmocka_unit_test(test_no_eviction_when_no_domain_would_do),
        cmocka_unit_test(test_without_the_argument_the_spec_is_ignored),
        cmocka_unit_test(test_without_a_tree_the_spec_is_ignored),
        cmocka_unit_test(test_a_bad_spec_is_ignored),
        cmocka_unit_test(test_a_single_pod_goes_near_its_peers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
