/* test_claims_engine.c - pods with ResourceClaims through the whole scheduler, against the fake
 * server. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "client/informer.h"
#include "component/metrics.h"
#include "scheduler/engine/internal.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/observe/explain/answer.h"

#define CLAIMS      "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define SLICES      "/apis/resource.k8s.io/v1/resourceslices"
#define CLASSES     "/apis/resource.k8s.io/v1/deviceclasses"
#define RULES       "/apis/resource.k8s.io/v1alpha3/devicetaintrules"
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
    uint64_t before = fake_stats(b.client.fake).patches;
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    /* Its finalizer and its status: no nomination, since nobody else has to do anything. */
    assert_int_equal(fake_stats(b.client.fake).patches - before, 2);
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

/* Upstream allocates the claim for each of them, and the pod never gets its node. */
static void test_two_entries_may_name_one_claim(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 13);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    engine_pod(&b, "p", 100, 100,
               ",\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"c\"},{\"name\":\"y\","
               "\"resourceClaimName\":\"c\"}]");
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    fake_delete(b.client.fake, PODS, "p");
    fake_patch(b.client.fake, CLAIMS, "c",
               "{\"status\":{\"allocation\":null,\"reservedFor\":null}}");
    fake_put(b.client.fake, CLAIMS, "d", CLAIM);
    engine_pod(&b, "q", 100, 100, USES("d"));
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_get(&b, "q", "spec.nodeName"), "n1");
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
    /* Nothing is written on the pod: usually its claim is made a moment later. */
    assert_null(strstr(fake_find(b.client.fake, PODS, "p"), "PodScheduled"));
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, 2 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    engine_verify(&b);
}

/* What pre-filter refuses has no claims that could be deallocated, as upstream says. */
/* A scheduler has died after it chose a node, and the claim is gone: nobody knows for how long. */
static void test_who_waits_for_a_claim_holds_no_room(void **state)
{
    static const char *const nomination = "{\"status\":{\"nominatedNodeName\":\"n1\"}}";

    (void)state;
    for (int late = 0; late < 2; late++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        start(&b, 17);
        engine_pod(&b, "p", 3500, 100, ",\"priority\":10" USES("c"));
        if (late)
            client_fixture_run(&b.client, 5 * SEC);
        fake_patch(b.client.fake, PODS, "p", nomination);
        client_fixture_run(&b.client, SEC);
        engine_pod(&b, "other", 3500, 100, "");
        client_fixture_run(&b.client, 30 * SEC);
        assert_string_equal(engine_get(&b, "other", "spec.nodeName"), "n1");
        assert_string_equal(engine_get(&b, "p", "status.nominatedNodeName"), "");
        engine_verify(&b);
    }
}

static void test_a_missing_class_is_told(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 9);
    engine_node(&b, "n1", 4000, 4096, 10, "");
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * SEC);
    assert_contains(fake_find(b.client.fake, PODS, "p"),
                    "0/1 nodes are available: request r: device class gpu does not exist. no new "
                    "claims to deallocate, preemption: ");
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

static void reserve_for(struct engine_fixture *b, const char *const uids[2])
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "{\"status\":{\"reservedFor\":["
                   "{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"%s\"},"
                   "{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"%s\"}]}}",
                   uids[0], uids[1]);
    fake_patch(b->client.fake, CLAIMS, "c", text);
}

/* A scheduler reserved it for both, and died before it bound one of them. */
static void test_pods_that_wait_do_not_keep_a_claim_where_it_is(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char p[64], q[64];

    (void)state;
    start(&b, 16);
    engine_node(&b, "n2", 4000, 4096, 10, "");
    put_slice(&b, "n2");
    engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
    engine_pod(&b, "p", 1000, 100, USES("c"));
    engine_pod(&b, "q", 1000, 100, USES("c"));
    (void)snprintf(p, sizeof p, "%s", engine_get(&b, "p", "metadata.uid"));
    (void)snprintf(q, sizeof q, "%s", engine_get(&b, "q", "metadata.uid"));
    fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n1"));
    reserve_for(&b, (const char *[]){ p, "5a5a5a5a-0000-4000-8000-000000000000" });
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), ""); /* somebody uses it there */
    reserve_for(&b, (const char *[]){ p, q });
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n2");
    assert_string_equal(engine_get(&b, "q", "spec.nodeName"), "n2");
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

/* The node was chosen by what the claim had; another pod's attempt has moved it meanwhile. */
static void test_a_claim_that_moved_is_not_reserved_where_it_was(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 10);
    engine_node(&b, "n2", 4000, 4096, 10, "");
    put_slice(&b, "n2");
    fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n1"));
    client_fixture_run(&b.client, SEC);
    fake_answer_next_to(b.client.fake, "PATCH", "resourceclaims/c/status", 1, 409);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * NSEC_PER_MSEC);
    fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n2"));
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n2");
    assert_contains(fake_find(b.client.fake, CLAIMS, "c"), "\"name\":\"p\"");
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "running PreBind plugin \"DynamicResources\": claim ns/c got "
                                   "allocated elsewhere in the meantime"),
                     1);
    engine_verify(&b);
}

/* The pod does not wait for the next flush when its claim could not be deallocated. */
static void test_a_deallocation_that_fails_is_tried_again(void **state)
{
    static const int statuses[] = { 500, 409, 429 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        start(&b, 11);
        engine_node(&b, "n2", 4000, 4096, 10, "");
        put_slice(&b, "n2");
        engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
        fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n1"));
        client_fixture_run(&b.client, SEC);
        fake_answer_next_to(b.client.fake, "PATCH", "resourceclaims/c/status", 1, statuses[i]);
        engine_pod(&b, "p", 1000, 100, USES("c"));
        client_fixture_run(&b.client, 10 * SEC);
        assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n2");
        engine_verify(&b);
    }
}

/* Somebody asks about a pod that waits for its gate: no other pod's attempt does what would help
 * it.
 */
static void test_a_question_deallocates_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf answer = STRBUF_INIT;
    const struct post_filter_outcome nothing = { KS_UNRESOLVABLE, "", "", NULL, false };
    struct kjw w = kjw_to(&answer);

    (void)state;
    start(&b, 14);
    engine_node(&b, "n2", 4000, 4096, 10, "");
    put_slice(&b, "n2");
    engine_pod(&b, "big", 4000, 100, ",\"nodeName\":\"n1\"");
    fake_put(b.client.fake, CLAIMS, "c", UNUSED_CLAIM("n1"));
    engine_pod(&b, "p", 1000, 100, USES("c") ",\"schedulingGates\":[{\"name\":\"g\"}]");
    engine_pod(&b, "q", 9000, 100, "");
    client_fixture_run(&b.client, 5 * SEC);
    kjw_obj(&w, NULL);
    answer_write(b.s, "ns/p", a, &w);
    kjw_end(&w);
    assert_contains(strbuf_str(&answer), "deallocation of ResourceClaim completed");
    post_filter_finish(b.s->profiles[0]->profile, pod_of(informer_get(b.s->pods, "ns/q")), &nothing,
                       NULL);
    client_fixture_run(&b.client, 5 * SEC);
    assert_contains(fake_find(b.client.fake, CLAIMS, "c"), "g0");
    engine_verify(&b);
}

/* With its last user a claim loses its devices, which others wait for. */
static void test_a_binding_that_fails_gives_devices_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 12);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    fake_put(b.client.fake, CLAIMS, "d", CLAIM);
    client_fixture_run(&b.client, SEC);
    fake_answer_next_to(b.client.fake, "POST", "pods/p/binding", 1, 403);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    fake_delete(b.client.fake, PODS, "p"); /* and the claim controller has nothing to do */
    client_fixture_run(&b.client, 10 * SEC);
    const char *claim = fake_find(b.client.fake, CLAIMS, "c");
    assert_null(strstr(claim, "\"name\":\"p\""));
    assert_null(strstr(claim, "g0"));
    engine_pod(&b, "q", 100, 100, USES("d"));
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_get(&b, "q", "spec.nodeName"), "n1");
    engine_verify(&b);
}

/* The patch for the finalizer is refused: the claim is asked for in protobuf, which the fake server
 * does not have, so the pod gets the refusal, and is tried again. */
static void test_a_refused_finalizer_is_told(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 10);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    client_fixture_run(&b.client, SEC);
    fake_answer_next_to(b.client.fake, "PATCH", "resourceclaims/c", 1, 422);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 500 * NSEC_PER_MSEC);
    assert_contains(fake_find(b.client.fake, PODS, "p"), "add finalizer to claim ns/c: ");
    client_fixture_run(&b.client, 3 * SEC);
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

/* Pools that give no devices: a slice is missing, a name is there twice. */
static void test_devices_of_unusable_pools_are_not_counted(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_opts(&b, 15, (struct scheduler_opts){ .metrics = m });
    engine_node(&b, "n1", 4000, 4096, 10, "");
    put_slice(&b, "n1");
    fake_put(b.client.fake, SLICES, "half",
             "{\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"half\","
             "\"generation\":1,\"resourceSliceCount\":2},\"devices\":[{\"name\":\"x\"}]}}");
    fake_put(b.client.fake, SLICES, "twice",
             "{\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"twice\","
             "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"x\"},{"
             "\"name\":\"x\"}]}}");
    client_fixture_run(&b.client, SEC);
    metrics_write(&m, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"allocated\"} 0\n"
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"free\"} 1\n");
}

/* By driver: those that a claim has, those that are free; what a slice no longer lists counts for
 * nothing. */
static void test_devices_are_counted_by_driver(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_opts(&b, 14, (struct scheduler_opts){ .metrics = m });
    fake_put(b.client.fake, CLASSES, "gpu", "{\"spec\":{}}");
    engine_node(&b, "n1", 4000, 4096, 10, "");
    put_slice(&b, "n1");
    put_slice(&b, "n2"); /* of a node that does not exist */
    fake_put(b.client.fake, SLICES, "net",
             "{\"spec\":{\"driver\":\"net\",\"allNodes\":true,\"pool\":{\"name\":\"net\","
             "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"x\"},{\"name\":"
             "\"y\"}]}}");
    client_fixture_run(&b.client, SEC);
    metrics_write(&m, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"allocated\"} 0\n"
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"free\"} 2\n"
                    "koord_scheduler_dra_devices{driver=\"net\",state=\"allocated\"} 0\n"
                    "koord_scheduler_dra_devices{driver=\"net\",state=\"free\"} 2\n");
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    fake_delete(b.client.fake, SLICES, "net");
    client_fixture_run(&b.client, SEC);
    strbuf_reset(&text);
    metrics_write(&m, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"allocated\"} 1\n"
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"free\"} 1\n");
    assert_null(strstr(strbuf_str(&text), "{driver=\"net\""));
    engine_verify(&b);
}

/* ---- DeviceTaintRules (sched-dra 6.2) --------------------------------------------------------- */

#define RULE(selector)                                                              \
    "{\"spec\":{" selector "\"taint\":{\"key\":\"sick\",\"value\":\"\",\"effect\":" \
    "\"NoSchedule\"}}}"

static void start_with_gates(struct engine_fixture *b, struct gates *gates, const char *on)
{
    struct kerr err = { 0 };

    gates_init(gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(gates, on, &err), 0);
    engine_start_opts(b, 10, (struct scheduler_opts){ .gates = gates });
    fake_put(b->client.fake, CLASSES, "gpu", "{\"spec\":{}}");
    engine_node(b, "n1", 4000, 4096, 10, "");
    engine_node(b, "n2", 4000, 4096, 10, "");
    put_slice(b, "n1");
    put_slice(b, "n2");
}

/* Both nodes' devices are tainted, each by another selector; a rule that goes brings the pod back.
 */
static void test_rules_taint_devices(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct gates gates;

    (void)state;
    start_with_gates(&b, &gates, "DRADeviceTaints=true,DRADeviceTaintRules=true");
    fake_put(b.client.fake, RULES, "pool", RULE("\"deviceSelector\":{\"pool\":\"n1\"},"));
    fake_put(b.client.fake, RULES, "device",
             RULE("\"deviceSelector\":{\"driver\":\"d\",\"pool\":\"n2\",\"device\":\"g0\"},"));
    fake_put(b.client.fake, RULES, "other", RULE("\"deviceSelector\":{\"driver\":\"x\"},"));
    client_fixture_run(&b.client, SEC);
    fake_put(b.client.fake, CLAIMS, "c", CLAIM);
    engine_pod(&b, "p", 100, 100, USES("c"));
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "");
    assert_contains(fake_find(b.client.fake, PODS, "p"), "2 cannot allocate all claims");
    fake_delete(b.client.fake, RULES, "device");
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n2");
    engine_verify(&b);
}

/* Without a selector all devices are tainted; with the gate off none is, and nobody asks for rules.
 */
static void test_rules_need_their_gate(void **state)
{
    static const struct {
        const char *gates, *node;
    } cases[] = { { "DRADeviceTaints=true,DRADeviceTaintRules=true", "" },
                  { "DRADeviceTaints=true", "n1" },
                  { "DRADeviceTaintRules=true", "n1" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        struct gates gates;
        start_with_gates(&b, &gates, cases[i].gates);
        fake_delete(b.client.fake, NODES, "n2");
        fake_put(b.client.fake, RULES, "all", RULE(""));
        client_fixture_run(&b.client, SEC);
        fake_put(b.client.fake, CLAIMS, "c", CLAIM);
        engine_pod(&b, "p", 100, 100, USES("c"));
        client_fixture_run(&b.client, 10 * SEC);
        assert_string_equal(engine_get(&b, "p", "spec.nodeName"), cases[i].node);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_claim_gets_its_device_before_the_pod_its_node),
        cmocka_unit_test(test_a_device_has_one_claim),
        cmocka_unit_test(test_two_entries_may_name_one_claim),
        cmocka_unit_test(test_a_missing_claim_is_waited_for),
        cmocka_unit_test(test_who_waits_for_a_claim_holds_no_room),
        cmocka_unit_test(test_a_missing_class_is_told),
        cmocka_unit_test(test_an_unused_claim_is_deallocated),
        cmocka_unit_test(test_pods_that_wait_do_not_keep_a_claim_where_it_is),
        cmocka_unit_test(test_conflicts_are_looked_at),
        cmocka_unit_test(test_a_claim_that_moved_is_not_reserved_where_it_was),
        cmocka_unit_test(test_a_deallocation_that_fails_is_tried_again),
        cmocka_unit_test(test_a_question_deallocates_nothing),
        cmocka_unit_test(test_a_binding_that_fails_gives_devices_back),
        cmocka_unit_test(test_a_refused_finalizer_is_told),
        cmocka_unit_test(test_failures_are_asked_about),
        cmocka_unit_test(test_a_pod_that_goes_leaves_no_reservation),
        cmocka_unit_test(test_devices_are_counted_by_driver),
        cmocka_unit_test(test_devices_of_unusable_pools_are_not_counted),
        cmocka_unit_test(test_rules_taint_devices),
        cmocka_unit_test(test_rules_need_their_gate),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
