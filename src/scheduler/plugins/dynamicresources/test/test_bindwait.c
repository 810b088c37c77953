/* test_bindwait.c - devices with binding conditions on a whole scheduler (sched-dra 6.4). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define CLAIMS  "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define SLICES  "/apis/resource.k8s.io/v1/resourceslices"
#define CLASSES "/apis/resource.k8s.io/v1/deviceclasses"
#define USES    ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c\"}]"
#define CLAIM                                                                              \
    "{\"metadata\":{\"namespace\":\"ns\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":" \
    "\"r\",\"exactly\":{\"deviceClassName\":\"gpu\",\"allocationMode\":\"ExactCount\","    \
    "\"count\":1}}]}}}"
#define STATUS(type, more)                                                               \
    "{\"status\":{\"devices\":[{\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"g0\","     \
    "\"conditions\":[{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"Because\"," \
    "\"message\":\"" more "\"}]}]}}"

static struct gates gates;

/* On each node one device that must be attached first. */
static void put_node(struct engine_fixture *b, const char *node)
{
    char text[1024];

    engine_node(b, node, 4000, 4096, 10, "");
    snprintf(text, sizeof text,
             "{\"spec\":{\"driver\":\"d\",\"nodeName\":\"%s\",\"pool\":{\"name\":\"%s\","
             "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"g0\","
             "\"bindsToNode\":true,\"bindingConditions\":[\"attached\"],"
             "\"bindingFailureConditions\":[\"broken\"]}]}}",
             node, node);
    fake_put(b->client.fake, SLICES, node, text);
}

static void start(struct engine_fixture *b)
{
    struct kerr err = { 0 };

    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, "DRADeviceBindingConditions=true", &err), 0);
    engine_start_opts(b, 5, (struct scheduler_opts){ .gates = &gates });
    fake_put(b->client.fake, CLASSES, "gpu", "{\"spec\":{}}");
    put_node(b, "n1");
    fake_put(b->client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b->client, SEC);
    engine_pod(b, "p", 100, 100, USES);
    client_fixture_run(&b->client, 3 * SEC);
}

static const char *claim(const struct engine_fixture *b)
{
    return fake_find(b->client.fake, CLAIMS, "c");
}

static void test_the_pod_waits_until_its_devices_are_ready(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    assert_contains(claim(&b), "\"allocationTimestamp\":\"");
    assert_contains(claim(&b), "\"bindingConditions\":[\"attached\"]");
    assert_contains(claim(&b), "\"name\":\"p\"");
    assert_int_equal(engine_events(&b, "BindingConditionsPending",
                                   "waiting for binding conditions for device on node n1"),
                     1);
    assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "n1");
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    fake_patch(b.client.fake, CLAIMS, "c", STATUS("other", ""));
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    fake_patch(b.client.fake, CLAIMS, "c", STATUS("attached", ""));
    client_fixture_run(&b.client, SEC); /* at once, not with the next look */
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    engine_verify(&b);
}

/* The failure is told, the claim deallocated, and another device tried. */
static void test_a_device_that_fails_is_given_up(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_node(&b, "n2");
    engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
    fake_patch(b.client.fake, CLAIMS, "c", STATUS("broken", "a \\\"cable\\\""));
    client_fixture_run(&b.client, 20 * SEC);
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "running PreBind plugin \"DynamicResources\": claim c binding "
                                   "failed: reason=Because, message=\"a \\\"cable\\\"\""),
                     1);
    assert_contains(claim(&b), "\"pool\":\"n2\"");
    assert_null(strstr(claim(&b), "Because"));
    assert_string_equal(engine_node_of(&b, "p"), "");
    engine_verify(&b);
}

static void test_the_wait_has_an_end(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_node(&b, "n2");
    engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
    client_fixture_run(&b.client, 590 * SEC);
    assert_contains(claim(&b), "\"pool\":\"n1\"");
    client_fixture_run(&b.client, 30 * SEC);
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "running PreBind plugin \"DynamicResources\": device binding "
                                   "timeout"),
                     1);
    assert_contains(claim(&b), "\"pool\":\"n2\"");
    engine_verify(&b);
}

static void test_a_pod_that_goes_while_it_waits(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, 5 * SEC);
    assert_null(strstr(claim(&b), "\"name\":\"p\""));
    engine_pod(&b, "q", 100, 100, USES);
    client_fixture_run(&b.client, 3 * SEC);
    assert_contains(claim(&b), "\"name\":\"q\"");
    fake_delete(b.client.fake, CLAIMS, "c"); /* and the claim of one that waits */
    client_fixture_run(&b.client, 6 * SEC);
    assert_string_equal(engine_node_of(&b, "q"), "");
    engine_verify(&b);
}

/* An arg of a feature that is off is an error, as upstream has it. */
static void test_the_timeout_needs_its_gate(void **state)
{
    static const char *const names[] = { "koord-scheduler", NULL };
    struct client_fixture client;
    struct kerr err = { 0 };
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c = profile_config_default(ks_registry, "koord-scheduler", a);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    static const char text[] = "{\"bindingTimeout\":\"30s\"}";
    struct profile_args args = { "DynamicResources", NULL };
    void *decoded;

    (void)state;
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, &err), 0);
    assert_int_equal(args_decode(ks_plugin_dynamic_resources.args, kj_root(doc),
                                 &(struct ks_args_context){ 0 }, a, &decoded, &err),
                     0);
    args.args = decoded;
    c.args = &args;
    c.nargs = 1;
    client_fixture_init(&client, 1);
    gates_init(&gates, ks_gates, ks_ngates);
    for (int on = 0; on < 2; on++) {
        if (on)
            assert_int_equal(gates_parse(&gates, "DRADeviceBindingConditions=true", &err), 0);
        struct scheduler *s = scheduler_new(
            client.loop, client.kube,
            &(struct scheduler_opts){
                .gates = &gates, .profiles = &c, .nprofiles = 1, .scheduler_names = names },
            &err);
        assert_int_equal(s != NULL, on);
        if (!on)
            assert_contains(err.text, "bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                                      "DRAResourceClaimDeviceStatus feature gate is disabled");
        scheduler_free(s);
    }
    client_fixture_fini(&client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pod_waits_until_its_devices_are_ready),
        cmocka_unit_test(test_a_device_that_fails_is_given_up),
        cmocka_unit_test(test_the_wait_has_an_end),
        cmocka_unit_test(test_a_pod_that_goes_while_it_waits),
        cmocka_unit_test(test_the_timeout_needs_its_gate),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
