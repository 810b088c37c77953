/* test_topotree.c - the tree of the network: layers, domains, nodes that come and go, the status
 * (sched-gang 7.1, 7.2). */
#include "topo_fixture.h"

/* ---- the status ------------------------------------------------------------------------------ */

static void test_status_is_depth_first_and_by_name(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_eight(&f);
    assert_string_equal(topo_fixture_show(&f),
                        "cluster 8 [SpineLayer: s1 s2] s1 4 [BlockLayer: b1 b2] "
                        "b1 2 [NodeTopologyLayer] b2 2 [NodeTopologyLayer] "
                        "s2 4 [BlockLayer: b3 b4] b3 2 [NodeTopologyLayer] "
                        "b4 2 [NodeTopologyLayer]");
}

static void test_an_empty_cluster(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    assert_string_equal(topo_fixture_show(&f), "cluster 0 []");
    struct kerr err;
    assert_int_equal(
        topo_fixture_layers(&f, TOPOLOGY("{'topologyLayer':'NodeTopologyLayer'}"), &err), 0);
    topo_fixture_node(&f, "a", "", "");
    assert_string_equal(topo_fixture_show(&f), "cluster 1 [NodeTopologyLayer]");
}

/* ---- layers that make no tree ---------------------------------------------------------------- */

static void refused(struct topo_fixture *f, const char *topology, const char *why)
{
    struct kerr err;

    assert_int_equal(topo_fixture_layers(f, topology, &err), -EINVAL);
    assert_string_equal(err.text, why);
    assert_int_equal(f->tree.n, 4); /* the one before stays */
    assert_string_equal(topo_fixture_show(f), "cluster 1 [SpineLayer: s1] s1 1 [BlockLayer: b1] "
                                              "b1 1 [NodeTopologyLayer]");
}

static void test_a_bad_spec_leaves_the_tree(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;
    struct kerr err;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_node(&f, "a", "s1", "b1");
    refused(&f, TOPOLOGY(SPINE "," BLOCK),
            "topology layer \"NodeTopologyLayer\" not found in spec");
    refused(&f, TOPOLOGY(""), "topology layer \"NodeTopologyLayer\" not found in spec");
    refused(&f, TOPOLOGY(SPINE "," NODES), "topology layer \"BlockLayer\" not found in spec");
    refused(&f, TOPOLOGY(THREE_LAYERS ",{'topologyLayer':'Rack','labelKey':['rack']}"),
            "topology layer \"\" not found in spec"); /* an entry that hangs nowhere */
    refused(&f, TOPOLOGY(NODES "," NODES "," SPINE "," BLOCK),
            "topology layer \"\" not found in spec"); /* twice the same */
    refused(&f,
            TOPOLOGY(NODES "," BLOCK ",{'topologyLayer':'SpineLayer','parentTopologyLayer':"
                           "'BlockLayer','labelKey':['net/spine']},{'topologyLayer':'Rack'}"),
            "spec.networkTopologySpec: layer \"BlockLayer\" is above itself");
    refused(&f,
            TOPOLOGY("{'topologyLayer':'NodeTopologyLayer','parentTopologyLayer':"
                     "'NodeTopologyLayer'},{'topologyLayer':'Rack'}"),
            "spec.networkTopologySpec: layer \"NodeTopologyLayer\" is above itself");
    assert_int_equal(
        topo_fixture_layers(&f, TOPOLOGY("{'topologyLayer':'NodeTopologyLayer'}"), &err), 0);
    assert_string_equal(topo_fixture_show(&f), "cluster 1 [NodeTopologyLayer]");
}

static void test_too_many_layers(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;
    char text[2048] = "{'metadata':{'name':'default'},'spec':{'networkTopologySpec':[";
    struct kerr err;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    for (unsigned i = 0; i < 16; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n,
                       "{'topologyLayer':'l%u','parentTopologyLayer':'l%u'},", i, i + 1);
    }
    strcat(text, NODES "]}}");
    assert_int_equal(topo_fixture_layers(&f, text, &err), -EINVAL);
    assert_string_equal(err.text, "spec.networkTopologySpec: 17 layers, 15 are allowed");
}

/* Whatever stands above the topmost layer is not looked at, as upstream does: also a cycle. */
static void test_the_top_ends_the_walk(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;
    struct kerr err;

    topo_fixture_init(&f, state,
                      TOPOLOGY(NODES
                               "," BLOCK ",{'topologyLayer':'SpineLayer',"
                               "'parentTopologyLayer':'BlockLayer','labelKey':['net/spine']}"));
    topo_fixture_node(&f, "a", "s1", "b1");
    const char *shown = topo_fixture_show(&f);
    assert_string_equal(shown, "cluster 1 [SpineLayer: s1] s1 1 [BlockLayer: b1] "
                               "b1 1 [NodeTopologyLayer]");
    /* The cluster may be written down. */
    assert_int_equal(
        topo_fixture_layers(&f,
                            TOPOLOGY("{'topologyLayer':'ClusterTopologyLayer'}," NODES "," BLOCK
                                     ",{'topologyLayer':'SpineLayer','parentTopologyLayer':"
                                     "'ClusterTopologyLayer','labelKey':['net/spine']}"),
                            &err),
        0);
    assert_string_equal(topo_fixture_show(&f), shown);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void test_the_first_label_with_a_value_names_the_domain(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state,
                      TOPOLOGY("{'topologyLayer':'SpineLayer','labelKey':['new','old']},"
                               "{'topologyLayer':'NodeTopologyLayer','parentTopologyLayer':"
                               "'SpineLayer'}"));
    topo_fixture_node_at(&f, "a", 0, "'new':'x','old':'y'");
    topo_fixture_node_at(&f, "b", 0, "'new':'','old':'y'");
    assert_string_equal(topo_fixture_show(&f),
                        "cluster 2 [SpineLayer: x y] x 1 [NodeTopologyLayer] "
                        "y 1 [NodeTopologyLayer]");
}

static void test_nodes_without_a_label(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_node_at(&f, "a", 0, "'net/spine':'s1','net/block':'b1'");
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena), "");
    topo_fixture_node_at(&f, "b", 0, "'net/spine':'s1'"); /* alone in its own block */
    topo_fixture_node_at(&f, "d", 0, "'net/block':'b1'");
    topo_fixture_node_at(&f, "c", 0, "");
    assert_string_equal(topo_fixture_show(&f), "cluster 2 [SpineLayer: s1] s1 2 [BlockLayer: b b1] "
                                               "b 1 [NodeTopologyLayer] b1 1 [NodeTopologyLayer]");
    assert_null(topo_tree_leaf(&f.tree, "c"));
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena),
                        "2 node(s) are left out of the network topology: node c has no label of "
                        "layer SpineLayer");
    topo_fixture_node_at(&f, "c", 0, "'net/spine':'s1','net/block':'b1'");
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena),
                        "1 node(s) are left out of the network topology: node d has no label of "
                        "layer SpineLayer");
    topo_tree_remove_node(&f.tree, "d");
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena), "");
}

/* ---- a domain under two parents -------------------------------------------------------------- */

static void test_the_oldest_node_decides_where_a_domain_is(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_node_at(&f, "c", 3, "'net/spine':'s3','net/block':'b'");
    topo_fixture_node_at(&f, "b", 2, "'net/spine':'s2','net/block':'b'");
    topo_fixture_node_at(&f, "a", 2, "'net/spine':'s1','net/block':'b'"); /* as old: by name */
    /* Domains that lost theirs are there, and empty. */
    assert_string_equal(topo_fixture_show(&f),
                        "cluster 3 [SpineLayer: s1 s2 s3] s1 3 [BlockLayer: b] "
                        "b 3 [NodeTopologyLayer] s2 0 [] s3 0 []");
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena),
                        "2 node(s) name a domain that belongs elsewhere: BlockLayer/b is in "
                        "SpineLayer/s1, and node b says s2");
    topo_tree_remove_node(&f.tree, "a");
    assert_string_equal(topo_fixture_show(&f), "cluster 2 [SpineLayer: s2 s3] s2 2 [BlockLayer: b] "
                                               "b 2 [NodeTopologyLayer] s3 0 []");
    topo_tree_remove_node(&f.tree, "b");
    assert_string_equal(topo_fixture_show(&f), "cluster 1 [SpineLayer: s3] s3 1 [BlockLayer: b] "
                                               "b 1 [NodeTopologyLayer]");
    assert_string_equal(topo_tree_problem(&f.tree, f.base->arena), "");
}

/* One name on two layers, and domains named like nodes, are different things. */
static void test_names_count_by_layer(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_node(&f, "x", "x", "x");
    topo_fixture_node(&f, "y", "x", "y");
    assert_string_equal(topo_fixture_show(&f),
                        "cluster 2 [SpineLayer: x] x 2 [BlockLayer: x y] x 1 [NodeTopologyLayer] "
                        "y 1 [NodeTopologyLayer]");
}

/* ---- any history leads to the same tree ------------------------------------------------------ */

static uint64_t seed;
static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

struct some_node {
    bool there;
    unsigned created, spine, block;
};

static void put(struct topo_fixture *f, unsigned i, const struct some_node *n)
{
    char name[16], labels[128];

    (void)snprintf(name, sizeof name, "n%02u", i);
    (void)snprintf(labels, sizeof labels, "'net/spine%s':'s%u','net/block%s':'b%u'",
                   n->spine == 3 ? "-no" : "", n->spine, n->block == 7 ? "-no" : "", n->block);
    topo_fixture_node_at(f, name, n->created, labels);
}

static void test_the_tree_is_a_function_of_its_nodes(void **state)
{
    enum { NODES_MAX = 24 };
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    for (seed = 1; seed < 40; seed++) {
        struct some_node nodes[NODES_MAX] = { 0 };
        uint64_t keep = seed;
        char name[16];
        for (unsigned step = 0; step < 200; step++) {
            unsigned i = below(NODES_MAX);
            struct some_node *n = &nodes[i];
            if (n->there && below(3) == 0) {
                (void)snprintf(name, sizeof name, "n%02u", i);
                topo_tree_remove_node(&f.tree, name);
                n->there = false;
                continue;
            }
            *n = (struct some_node){ true, below(4), below(4), below(8) };
            put(&f, i, n);
        }
        CLEANUP(topo_fixture_fini) struct topo_fixture again;
        topo_fixture_init(&again, state, TOPOLOGY(THREE_LAYERS));
        for (unsigned i = NODES_MAX; i-- > 0;)
            if (nodes[i].there)
                put(&again, i, &nodes[i]);
        assert_string_equal(topo_fixture_show(&f), topo_fixture_show(&again));
        assert_string_equal(topo_tree_problem(&f.tree, f.base->arena),
                            topo_tree_problem(&again.tree, f.base->arena));
        for (unsigned i = 0; i < NODES_MAX; i++) {
            (void)snprintf(name, sizeof name, "n%02u", i);
            topo_tree_remove_node(&f.tree, name);
        }
        assert_string_equal(topo_fixture_show(&f), "cluster 0 []");
        arena_reset(f.base->arena);
        seed = keep;
    }
}

/* News of a node that say nothing about the network change nothing. */
static void test_generation_grows_with_changes_alone(void **state)
{
    CLEANUP(topo_fixture_fini) struct topo_fixture f;

    topo_fixture_init(&f, state, TOPOLOGY(THREE_LAYERS));
    topo_fixture_node_at(&f, "a", 0, "'net/spine':'s1','net/block':'b1'");
    uint64_t before = f.tree.generation;
    topo_fixture_node_at(&f, "a", 0, "'net/spine':'s1','net/block':'b1','zone':'z'");
    assert_int_equal(f.tree.generation, before);
    topo_fixture_node_at(&f, "a", 0, "'net/spine':'s2','net/block':'b1'");
    assert_that(f.tree.generation, >, before);
    before = f.tree.generation;
    struct kerr err;
    assert_int_equal(topo_fixture_layers(&f, TOPOLOGY(THREE_LAYERS), &err), 0);
    assert_int_equal(f.tree.generation, before);
    assert_int_equal(topo_tree_set_layers(&f.tree, NULL, &err), 0);
    assert_int_equal(f.tree.n, 0);
    assert_null(topo_tree_leaf(&f.tree, "a"));
    assert_int_equal(topo_fixture_layers(&f, TOPOLOGY(THREE_LAYERS), &err), 0);
    assert_non_null(topo_tree_leaf(&f.tree, "a")); /* nodes are known without a tree */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_status_is_depth_first_and_by_name),
        FIXTURE_TEST(test_an_empty_cluster),
        FIXTURE_TEST(test_a_bad_spec_leaves_the_tree),
        FIXTURE_TEST(test_too_many_layers),
        FIXTURE_TEST(test_the_top_ends_the_walk),
        FIXTURE_TEST(test_the_first_label_with_a_value_names_the_domain),
        FIXTURE_TEST(test_nodes_without_a_label),
        FIXTURE_TEST(test_the_oldest_node_decides_where_a_domain_is),
        FIXTURE_TEST(test_names_count_by_layer),
        FIXTURE_TEST(test_the_tree_is_a_function_of_its_nodes),
        FIXTURE_TEST(test_generation_grows_with_changes_alone),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
