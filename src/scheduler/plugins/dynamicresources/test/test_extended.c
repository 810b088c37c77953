/* test_extended.c - extended resources that DeviceClasses back, on a whole scheduler (sched-dra
 * 6.5). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "scheduler/framework/gates.h"

#define CLAIMS  "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define SLICES  "/apis/resource.k8s.io/v1/resourceslices"
#define CLASSES "/apis/resource.k8s.io/v1/deviceclasses"

static struct gates gates;

static void put(struct engine_fixture *b, const char *path, const char *name, const char *text)
{
    CLEANUP(mem_free) char *json = xstrdup(text);

    for (char *at = json; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    fake_put(b->client.fake, path, name, json);
}

static void put_slice(struct engine_fixture *b, const char *node, int n)
{
    CLEANUP(strbuf_fini) struct strbuf s = STRBUF_INIT;

    strbuf_appendf(&s,
                   "{'spec':{'driver':'d','nodeName':'%s','pool':{'name':'%s','generation':1,"
                   "'resourceSliceCount':1},'devices':[",
                   node, node);
    for (int i = 0; i < n; i++)
        strbuf_appendf(&s, "%s{'name':'g%d'}", i ? "," : "", i);
    strbuf_append(&s, "]}}");
    put(b, SLICES, node, strbuf_str(&s));
}

static void start(struct engine_fixture *b, const char *on, int devices)
{
    struct kerr err = { 0 };

    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, on, &err), 0);
    engine_start_opts(b, 5, (struct scheduler_opts){ .gates = &gates });
    put(b, CLASSES, "gpu", "{'spec':{'extendedResourceName':'x.io/gpu'}}");
    engine_node(b, "n1", 4000, 4096, 10, "");
    put_slice(b, "n1", devices);
    client_fixture_run(&b->client, SEC);
}

static void put_pod(struct engine_fixture *b, const char *name, const char *requests)
{
    CLEANUP(mem_free)
    char *text = xasprintf(
        "{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','resources':{"
        "'requests':{'cpu':'100m',%s}}}]}}",
        requests);

    put(b, PODS, name, text);
    client_fixture_run(&b->client, 10 * SEC);
}

struct search {
    const struct engine_fixture *b;
    char name[256], body[4096];
    int n;
};
static void found(void *arg, const char *ns, const char *name, const char *version)
{
    struct search *s = arg;

    (void)ns, (void)version;
    s->n++;
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->body, sizeof s->body, "%s", fake_find(s->b->client.fake, CLAIMS, name));
}
static struct search claims(const struct engine_fixture *b)
{
    struct search s = { .b = b };

    fake_each(b->client.fake, "resourceclaims", found, &s);
    return s;
}

static void test_a_pod_gets_devices_of_the_class(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 3);
    put_pod(&b, "p", "'x.io/gpu':'2'");
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    struct search s = claims(&b);
    assert_int_equal(s.n, 1);
    assert_starts(s.name, "p-extended-resources-");
    assert_contains(s.body, "\"resource.kubernetes.io/extended-resource-claim\":\"true\"");
    assert_contains(s.body, "\"name\":\"container-0-request-1\"");
    assert_contains(s.body, "\"count\":2");
    assert_contains(s.body, "\"device\":\"g1\"");
    assert_contains(s.body, "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\"");
    assert_contains(s.body, "resource.kubernetes.io/delete-protection");
    const char *pod = fake_find(b.client.fake, PODS, "p");
    assert_contains(pod, "\"requestMappings\":[{\"containerName\":\"c\",\"requestName\":"
                         "\"container-0-request-1\",\"resourceName\":\"x.io/gpu\"}]");
    assert_contains(pod, s.name);
    put_pod(&b, "late", "'deviceclass.resource.kubernetes.io/gpu':'2'"); /* one is left */
    assert_string_equal(engine_node_of(&b, "late"), "");
    assert_contains(engine_condition(&b, "late", "message"), "cannot allocate all claims");
    assert_int_equal(claims(&b).n, 1);
    engine_verify(&b);
}

/* An init container uses the devices of those that come later, and asks for what it lacks. */
static void test_init_containers_share(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 3);
    put(&b, PODS, "p",
        "{'spec':{'schedulerName':'koord-scheduler','initContainers':[{'name':'i','resources':{"
        "'requests':{'x.io/gpu':'3'}}},{'name':'k','resources':{'requests':{'x.io/gpu':'1'}}}],"
        "'containers':[{'name':'c','resources':{'requests':{'x.io/gpu':'2'}}}]}}");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    struct search s = claims(&b);
    assert_contains(s.body, "{\"name\":\"container-0-request-0\",\"exactly\":{\"deviceClassName\":"
                            "\"gpu\",\"allocationMode\":\"ExactCount\",\"count\":1}},{\"name\":"
                            "\"container-2-request-0\"");
#define MAPS(container, request)                                                \
    "{\"containerName\":\"" container "\",\"requestName\":\"container-" request \
    "-request-0\",\"resourceName\":\"x.io/gpu\"}"
    assert_contains(
        fake_find(b.client.fake, PODS, "p"),
        "[" MAPS("c", "2") "," MAPS("i", "2") "," MAPS("i", "0") "," MAPS("k", "2") "]");
}

/* Where a device plugin offers the resource it is the kubelet's, and counted as ever. */
static void test_device_plugins_come_first(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 3);
    put(&b, NODES, "n1",
        "{'status':{'allocatable':{'cpu':'4','memory':'4Gi','pods':'10','x.io/gpu':'1'}}}");
    client_fixture_run(&b.client, SEC);
    put_pod(&b, "one", "'x.io/gpu':'1'");
    assert_string_equal(engine_node_of(&b, "one"), "n1");
    assert_int_equal(claims(&b).n, 0);
    put_pod(&b, "two", "'x.io/gpu':'1'");
    assert_string_equal(engine_node_of(&b, "two"), "");
    assert_contains(engine_condition(&b, "two", "message"), "Insufficient x.io/gpu");
}

static void test_without_the_gate_it_is_a_resource_like_others(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=false", 3);
    put_pod(&b, "p", "'x.io/gpu':'1'");
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_contains(engine_condition(&b, "p", "message"), "Insufficient x.io/gpu");
    assert_int_equal(claims(&b).n, 0);
}

/* A class that comes brings the pod back. */
static void test_the_class_comes_later(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 1);
    put_pod(&b, "p", "'y.io/gpu':'1'");
    assert_string_equal(engine_node_of(&b, "p"), "");
    put(&b, CLASSES, "other", "{'spec':{'extendedResourceName':'y.io/gpu'}}");
    client_fixture_run(&b.client, 15 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
}

/* The server makes the claim and the answer is lost; it fails; or the pod goes meanwhile. */
static void test_answers_are_lost(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 1);
    fake_answer_next_to(b.client.fake, "POST", "resourceclaims", 1, 500);
    put_pod(&b, "p", "'x.io/gpu':'1'");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_int_equal(claims(&b).n, 1);
    fake_delete(b.client.fake, PODS, "p");
    fake_delete(b.client.fake, CLAIMS, claims(&b).name);
    client_fixture_run(&b.client, 5 * SEC);
    fake_answer_next_to(b.client.fake, "PATCH", "pods/q/status", 1, 422);
    put_pod(&b, "q", "'x.io/gpu':'1'");
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n1");
    assert_int_equal(claims(&b).n, 1); /* that of the failed attempt is gone */
    engine_verify(&b);
}

static void test_a_pod_that_goes_leaves_no_claim(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 1);
    fake_slow(b.client.fake, 2 * SEC);
    put(&b, PODS, "p",
        "{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','resources':{"
        "'requests':{'x.io/gpu':'1'}}}]}}");
    client_fixture_run(&b.client, 5 * SEC);
    fake_delete(b.client.fake, PODS, "p");
    fake_slow(b.client.fake, 0);
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(claims(&b).n, 0);
    put_pod(&b, "q", "'x.io/gpu':'1'");
    assert_string_equal(engine_node_of(&b, "q"), "n1");
    engine_verify(&b);
}

/* No watch shows the claim, and the server does not let go of it: nobody gets its device. */
static void test_a_claim_that_stays_keeps_its_device(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, "DRAExtendedResource=true", 1);
    fake_answer_next_to(b.client.fake, "GET", "v1/resourceclaims", 1000, 500);
    fake_end_watches(b.client.fake);
    client_fixture_run(&b.client, 10 * SEC);
    fake_slow(b.client.fake, SEC);
    put(&b, PODS, "p",
        "{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','resources':{"
        "'requests':{'x.io/gpu':'1'}}}]}}");
    for (int i = 0; i < 100 && !strstr(claims(&b).body, "g0"); i++)
        client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    client_fixture_run(&b.client, 1500 * NSEC_PER_MSEC); /* the scheduler knows it too */
    assert_string_equal(engine_node_of(&b, "p"), "");
    fake_answer_next_to(b.client.fake, NULL, "resourceclaims", 1000, 500);
    fake_delete(b.client.fake, PODS, "p");
    fake_slow(b.client.fake, 0);
    client_fixture_run(&b.client, 100 * SEC);
    fake_answer_next_to(b.client.fake, "GET", "v1/resourceclaims", 1000, 500);
    put_pod(&b, "q", "'x.io/gpu':'1'");
    assert_contains(claims(&b).body, "g0");
    assert_string_equal(engine_node_of(&b, "q"), "");
    fake_answer_next(b.client.fake, 0, 500, -1);
    fake_delete(b.client.fake, CLAIMS, claims(&b).name); /* by the garbage collector */
    client_fixture_run(&b.client, 200 * SEC);
    assert_string_equal(engine_node_of(&b, "q"), "n1");
    engine_verify(&b);
}

/* Killed between the claim and the binding: the claim of before is deleted, and another made. */
static void test_a_claim_of_an_earlier_attempt(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char uid[KUID_TEXT_MAX];

    (void)state;
    start(&b, "DRAExtendedResource=true", 1);
    put(&b, PODS, "p",
        "{'spec':{'schedulerName':'other','containers':[{'name':'c','resources':{'requests':{"
        "'x.io/gpu':'1'}}}]}}");
    kuid_format(engine_uid(&b, "p"), uid, sizeof uid);
    CLEANUP(mem_free)
    char *claim = xasprintf(
        "{'metadata':{'namespace':'ns','annotations':{'resource.kubernetes.io/extended-resource-"
        "claim':'true'},'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'%s',"
        "'controller':true}]},'spec':{'devices':{'requests':[{'name':'container-0-request-0',"
        "'exactly':{'deviceClassName':'gpu'}}]}}}",
        uid);
    put(&b, CLAIMS, "old", claim);
    client_fixture_run(&b.client, SEC);
    fake_patch(b.client.fake, PODS, "p", "{\"spec\":{\"schedulerName\":\"koord-scheduler\"}}");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    assert_null(fake_find(b.client.fake, CLAIMS, "old"));
    assert_int_equal(claims(&b).n, 1);
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_gets_devices_of_the_class),
        cmocka_unit_test(test_init_containers_share),
        cmocka_unit_test(test_device_plugins_come_first),
        cmocka_unit_test(test_without_the_gate_it_is_a_resource_like_others),
        cmocka_unit_test(test_the_class_comes_later),
        cmocka_unit_test(test_answers_are_lost),
        cmocka_unit_test(test_a_pod_that_goes_leaves_no_claim),
        cmocka_unit_test(test_a_claim_that_stays_keeps_its_device),
        cmocka_unit_test(test_a_claim_of_an_earlier_attempt),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
