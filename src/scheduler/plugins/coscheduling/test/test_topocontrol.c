/* test_topocontrol.c - the status of the ClusterNetworkTopology, and events about what is wrong
 * with it (sched-gang 7.1, 7.2). A plugin that does nothing else has the service here. */
#include "base/test/asserts.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/coscheduling/topo_network.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/test/engine_fixture.h"

#define TOPOLOGIES "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
#define LAYERS                                                                             \
    "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"SpineLayer\",\"labelKey\":[" \
    "\"net/spine\"]},{\"topologyLayer\":\"NodeTopologyLayer\",\"parentTopologyLayer\":"    \
    "\"SpineLayer\"}]}}"

static const struct ks_service *const services[] = { &topo_network_service, NULL };
static const struct kind *const kinds[] = { &kind_network_topology, NULL };
static struct topo_network *network; /* of the scheduler that was started last */

static int keeper_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)args, (void)err;
    network = topo_network_of(env);
    *ret_self = network;
    return 0;
}

static void keeper_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static const struct ks_plugin keeper = { .abi = KS_PLUGIN_ABI,
                                         .size = sizeof(struct ks_plugin),
                                         .name = "Coscheduling",
                                         .kinds = kinds,
                                         .optional = kinds,
                                         .services = services,
                                         .create = keeper_create,
                                         .post_bind = keeper_post_bind };
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &keeper, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void start(struct engine_fixture *b)
{
    engine_start_opts(b, 1,
                      (struct scheduler_opts){ .plugins = plugins, .network_topology = true });
}

static void node(struct engine_fixture *b, const char *name, const char *spine)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"net/spine\":\"%s\"}},\"status\":{\"allocatable\":"
                   "{\"cpu\":\"4\",\"pods\":\"10\"}}}",
                   spine);
    fake_put(b->client.fake, NODES, name, body);
}

static bool says(const struct engine_fixture *b, const char *text)
{
    const char *json = fake_find(b->client.fake, TOPOLOGIES, "default");

    return json && strstr(json, text);
}

#define CLUSTER \
    "{\"topologyInfo\":{\"topologyLayer\":\"ClusterTopologyLayer\",\"topologyName\":\"\"}"
#define S1 "{\"topologyInfo\":{\"topologyLayer\":\"SpineLayer\",\"topologyName\":\"s1\"}"

static void test_the_status_follows_the_nodes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    node(&b, "a", "s1");
    node(&b, "b", "s1");
    client_fixture_run(&b.client, 5 * SEC);
    assert_true(says(&b, "\"status\":{\"detailStatus\":[" CLUSTER
                         ",\"childTopologyLayer\":\"SpineLayer\",\"childTopologyNames\":[\"s1\"],"
                         "\"nodeNum\":2}," S1
                         ",\"parentTopologyInfo\":{\"topologyLayer\":\"ClusterTopologyLayer\","
                         "\"topologyName\":\"\"},\"childTopologyLayer\":\"NodeTopologyLayer\","
                         "\"nodeNum\":2}]}"));
    unsigned before = fake_stats(b.client.fake).patches;
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(fake_stats(b.client.fake).patches, before); /* nothing new, nothing written */
    for (char name[] = "c"; *name < 'o'; ++*name)
        node(&b, name, "s2"); /* a rack at once is one write */
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(fake_stats(b.client.fake).patches, before + 1);
    assert_true(says(&b, "\"childTopologyNames\":[\"s1\",\"s2\"],\"nodeNum\":14"));
    fake_delete(b.client.fake, NODES, "a");
    client_fixture_run(&b.client, 5 * SEC);
    assert_true(says(&b, "\"nodeNum\":13"));
}

/* Somebody else wrote it, or the server has no time: it is put right. */
static void test_writes_that_fail_are_repeated(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "a", "s1");
    fake_answer_next_to(b.client.fake, "PATCH", "clusternetworktopologies", 1, 409);
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    client_fixture_run(&b.client, 30 * SEC);
    assert_true(says(&b, "\"nodeNum\":1"));
    fake_patch(b.client.fake, TOPOLOGIES, "default",
               "{\"status\":{\"detailStatus\":[" CLUSTER ",\"nodeNum\":77}]}}");
    fake_answer_next_to(b.client.fake, "PATCH", "clusternetworktopologies", 2, 503);
    client_fixture_run(&b.client, 60 * SEC);
    assert_false(says(&b, "77"));
    assert_true(says(&b, "\"nodeNum\":1"));
}

static void test_events_about_specs_and_labels(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "a", "s1");
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    client_fixture_run(&b.client, 5 * SEC);
    fake_put(b.client.fake, TOPOLOGIES, "default",
             "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"SpineLayer\"}]},"
             "\"status\":{\"detailStatus\":[" CLUSTER ",\"nodeNum\":77}]}}");
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(engine_events(&b, "InvalidNetworkTopology",
                                   "topology layer \"NodeTopologyLayer\" not found in spec"),
                     1);
    assert_true(says(&b, "77")); /* the status is left alone, and the tree is the one before */
    assert_non_null(topo_tree_leaf(topo_network_tree(network), "a"));
    fake_put(b.client.fake, TOPOLOGIES, "default",
             "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"SpineLayer\",\"labelKey\":["
             "\"net/spine\"]},{\"topologyLayer\":\"Rack\",\"parentTopologyLayer\":\"SpineLayer\","
             "\"labelKey\":[\"rack\"]},{\"topologyLayer\":\"NodeTopologyLayer\","
             "\"parentTopologyLayer\":\"Rack\"}]}}");
    node(&b, "lost", "");
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(engine_events(&b, "InvalidNetworkTopology",
                                   "1 node(s) are left out of the network topology: node lost has "
                                   "no label of layer SpineLayer"),
                     1);
    assert_true(says(&b, "\"childTopologyNames\":[\"a\"]")); /* a domain of its own */
}

/* The object goes, and so does the tree; another name is nobody's. */
static void test_without_the_object_there_is_no_tree(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "a", "s1");
    fake_put(b.client.fake, TOPOLOGIES, "other", LAYERS);
    client_fixture_run(&b.client, 5 * SEC);
    assert_null(topo_network_tree(network));
    assert_null(strstr(fake_find(b.client.fake, TOPOLOGIES, "other"), "detailStatus"));
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    client_fixture_run(&b.client, 5 * SEC);
    assert_non_null(topo_network_tree(network));
    fake_delete(b.client.fake, TOPOLOGIES, "default");
    client_fixture_run(&b.client, 5 * SEC);
    assert_null(topo_network_tree(network));
}

static void test_without_the_manager_there_is_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, plugins);
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    node(&b, "a", "s1");
    client_fixture_run(&b.client, 5 * SEC);
    assert_null(topo_network_tree(network));
    assert_false(says(&b, "detailStatus"));
}

/* After a restart the tree is what it was. */
static void test_a_restart_finds_the_same(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_opts(&b, 1,
                      (struct scheduler_opts){ .plugins = plugins, .network_topology = true });
    fake_put(b.client.fake, TOPOLOGIES, "default", LAYERS);
    node(&b, "a", "s1");
    client_fixture_run(&b.client, 5 * SEC);
    unsigned before = fake_stats(b.client.fake).patches;
    struct kerr err = { 0 };
    scheduler_free(b.s);
    b.s = scheduler_new(b.client.loop, b.client.kube,
                        &(struct scheduler_opts){ .plugins = plugins, .network_topology = true },
                        &err);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 30 * SEC);
    assert_non_null(topo_tree_leaf(topo_network_tree(network), "a"));
    assert_int_equal(fake_stats(b.client.fake).patches, before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_status_follows_the_nodes),
        cmocka_unit_test(test_writes_that_fail_are_repeated),
        cmocka_unit_test(test_events_about_specs_and_labels),
        cmocka_unit_test(test_without_the_object_there_is_no_tree),
        cmocka_unit_test(test_without_the_manager_there_is_nothing),
        cmocka_unit_test(test_a_restart_finds_the_same),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
