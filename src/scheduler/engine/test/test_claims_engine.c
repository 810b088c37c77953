/* test_claims_engine.c - pods with ResourceClaims through the whole scheduler, against the fake
 * server. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#define CLAIMS      "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define SLICES      "/apis/resource.k8s.io/v1/resourceslices"
#define CLASSES     "/apis/resource.k8s.io/v1/deviceclasses"
#define USES(claim) ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"" claim "\"}]"
#define SPEC                                                                                 \
    "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":" \
    "\"gpu\",\"allocationMode\":\"ExactCount\",\"count\":1}}]}}"
#define CLAIM "{\"metadata\":{\"namespace\":\"ns\"}," SPEC "}"
/* Allocated on a node, for nobody. */
#define UNUSED_CLAIM(node)                                                                   \
    "{\"metadata\":{\"namespace\":\"ns\"}," SPEC ",\"status\":{\"allocation\":{\"devices\":" \
    "{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"" node                     \
    "\",\"device\":\"g0\"}]},"                                                               \
    "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\"," \
    "\"operator\":\"In\",\"values\":[\"" node "\"]}]}]}}}}"

static void put_slice(struct engine_fixture *b, const char *node)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"spec\":{\"driver\":\"d\",\"nodeName\":\"%s\",\"pool\":{\"name\":\"%s\","
             "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"g0\"}]}}",
             node, node);
    fake_put(b->client.fake, SLICES, node, text);
}

static void start(struct engine_fixture *b, uint64_t seed)
{
    engine_start(b, seed);
    fake_put(b->client.fake, CLASSES, "gpu", "{\"spec\":{}}");
    engine_node(b, "n1", 4000, 4096, 10, "");
    put_slice(b, "n1");
    client_fixture_run(&b->client, SEC);
}

static void test_a_claim_gets_its_device_before_the_pod_its_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 3);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    const char *claim = fake_find(b.client.fake, CLAIMS, "c");
    assert_contains(claim, "\"device\":\"g0\"");
    assert_contains(claim, "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\"");
    assert_contains(claim, "resource.kubernetes.io/delete-protection");
    engine_verify(&b);
}

static void test_a_device_has_one_claim(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 4);
    fake_put(b.client.fake, CLAIMS, "c1", CLAIM);
    fake_put(b.client.fake, CLAIMS, "c2", CLAIM);
    engine_pod(&b, "p1", 100, 100, USES("c1"));
    engine_pod(&b, "p2", 100, 100, USES("c2"));
    client_fixture_run(&b.client, 30 * SEC);
    bool first = *engine_get(&b, "p1", "spec.nodeName") != '\0';
    const char *loser = first ? "p2" : "p1";
    assert_string_equal(engine_get(&b, loser, "spec.nodeName"), "");
    assert_contains(fake_find(b.client.fake, PODS, loser),
                    "0/1 nodes are available: 1 cannot allocate all claims.");
    /* The claim controller takes the allocation back: the other gets the device. */
    fake_patch(b.client.fake, CLAIMS, first ? "c1" : "c2",
               "{\"status\":{\"allocation\":null,\"reservedFor\":null}}");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, loser, "spec.nodeName"), "n1");
    engine_verify(&b);
}

static void test_a_missing_claim_is_waited_for(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 5);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "");
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, 2 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    engine_verify(&b);
}

/* An unused claim keeps the pod on a node that is full: it is deallocated, and the pod goes
 * elsewhere within a second. */
static void test_an_unused_claim_is_deallocated(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 6);
    engine_node(&b, "n2", 4000, 4096, 10, "");
    put_slice(&b, "n2");
    engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
    fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n1"));
    client_fixture_run(&b.client, SEC);
    engine_pod(&b, "p", 1000, 100, USES("c"));
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n2");
    assert_contains(fake_find(b.client.fake, CLAIMS, "c"), "\"pool\":\"n2\"");
    engine_verify(&b);
}

static void test_conflicts_are_looked_at(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 7);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, SEC);
    fake_answer_next_to(b.client.fake, "PATCH", "resourceclaims/c", 2, 409);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    engine_verify(&b);
}

/* The server fails and does not say whether it has written: it is asked, and the pod tried again.
 */
static void test_failures_are_asked_about(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 8);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, SEC);
    fake_answer_next_to(b.client.fake, "PATCH", "resourceclaims/c/status", 1, 500);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "running PreBind plugin \"DynamicResources\": add allocation "
                                   "and reservation to claim ns/c: asked to fail"),
                     1);
    engine_verify(&b);
}

/* Deleted while its claim is being written: the claim is nobody's in the end. */
static void test_a_pod_that_goes_leaves_no_reservation(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 9);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, SEC);
    fake_slow(b.client.fake, 2 * SEC);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * SEC);
    fake_delete(b.client.fake, PODS, "p");
    fake_slow(b.client.fake, 0);
    client_fixture_run(&b.client, 60 * SEC);
    assert_null(strstr(fake_find(b.client.fake, CLAIMS, "c"), "\"name\":\"p\""));
    engine_pod(&b, "q", 100, 100, USES("c"));
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_get(&b, "q", "spec.nodeName"), "n1");
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_claim_gets_its_device_before_the_pod_its_node),
        cmocka_unit_test(test_a_device_has_one_claim),
        cmocka_unit_test(test_a_missing_claim_is_waited_for),
        cmocka_unit_test(test_an_unused_claim_is_deallocated),
        cmocka_unit_test(test_conflicts_are_looked_at),
        cmocka_unit_test(test_failures_are_asked_about),
        cmocka_unit_test(test_a_pod_that_goes_leaves_no_reservation),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
