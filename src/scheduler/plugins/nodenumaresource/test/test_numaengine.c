/* test_numaengine.c - NodeNUMAResource on a whole scheduler: what people are told of a pod. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define TOPOLOGIES "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define STATUS     "scheduling.koordinator.sh/resource-status"
#define REASON     "PinnedTwice"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* A node of 4 CPUs in 2 cores whose kubelet has this CPU manager policy. */
static void start(struct engine_fixture *b, const char *policy)
{
    CLEANUP(mem_free)
    char *body =
        xasprintf("{\"metadata\":{\"annotations\":{\"kubelet.koordinator.sh/cpu-manager-policy\":"
                  "\"{\\\"policy\\\":\\\"%s\\\"}\",\"node.koordinator.sh/cpu-topology\":"
                  "\"{\\\"detail\\\":["
                  "{\\\"id\\\":0,\\\"core\\\":0,\\\"socket\\\":0,\\\"node\\\":0},"
                  "{\\\"id\\\":1,\\\"core\\\":0,\\\"socket\\\":0,\\\"node\\\":0},"
                  "{\\\"id\\\":2,\\\"core\\\":1,\\\"socket\\\":0,\\\"node\\\":0},"
                  "{\\\"id\\\":3,\\\"core\\\":1,\\\"socket\\\":0,\\\"node\\\":0}]}\"}}}",
                  policy);

    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 4000, 8192, 20, "");
    fake_put(b->client.fake, TOPOLOGIES, "n", body);
    client_fixture_run(&b->client, SEC);
}

static void pod(struct engine_fixture *b, const char *name, const char *qos, bool guaranteed)
{
    const char *amounts = "{\"cpu\":\"1\",\"memory\":\"1Gi\"}";
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"koordinator.sh/qosClass\":\"%s\"}},\"spec\":{\"priority\":"
        "9500,\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":%s,\"limits\":%s}}]}}",
        qos, amounts, guaranteed ? amounts : "{}");

    fake_put(b->client.fake, PODS, name, body);
    client_fixture_run(&b->client, 5 * SEC);
    assert_string_equal(engine_node_of(b, name), "n");
}

static int warnings(const struct engine_fixture *b)
{
    return engine_events(b, REASON,
                         "the kubelet of node n has the CPU manager policy static and pins this "
                         "Guaranteed pod too, to CPUs of its own choice");
}

/* koord#1214 */
static void test_a_pod_that_both_would_pin(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "static");
    pod(&b, "shared", "LS", true);
    pod(&b, "burstable", "LSR", false);
    assert_int_equal(warnings(&b), 0);
    pod(&b, "both", "LSR", true);
    assert_contains(fake_find(b.client.fake, PODS, "both"), STATUS);
    assert_int_equal(warnings(&b), 1);
    engine_verify(&b);
}

static void test_a_kubelet_that_pins_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "none");
    pod(&b, "p", "LSR", true);
    assert_contains(fake_find(b.client.fake, PODS, "p"), STATUS);
    assert_int_equal(warnings(&b), 0);
}

/* Who starts again does not say it again: the pod was told when it was bound. */
static void test_a_restart_says_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct kerr err = { 0 };
    static const char *const names[] = { "koord-scheduler", NULL };

    (void)state;
    start(&b, "static");
    pod(&b, "both", "LSR", true);
    scheduler_free(b.s);
    b.s = scheduler_new(b.client.loop, b.client.kube,
                        &(struct scheduler_opts){ .plugins = plugins, .scheduler_names = names },
                        &err);
    assert_non_null(b.s);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(warnings(&b), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_that_both_would_pin),
        cmocka_unit_test(test_a_kubelet_that_pins_nothing),
        cmocka_unit_test(test_a_restart_says_nothing),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
