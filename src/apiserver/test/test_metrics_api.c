/* test_metrics_api.c - metrics.k8s.io: what is told of nodes and pods, in which forms, and when
 * nothing is known. */
#include "apiserver/test/api_fixture.h"

#define METRICS  "/apis/metrics.k8s.io/v1beta1"
#define POD_USE  METRICS "/namespaces/default/pods"
#define NODE_USE METRICS "/nodes"

/* Whoever has "new" in its name has not been measured yet. */
static bool node_use(void *self, const char *name, struct apiserver_use *ret)
{
    (void)self;
    *ret = (struct apiserver_use){
        .at = WALL0, .window = 15 * NSEC_PER_SEC, .ncpu = 1500000000, .bytes = 5 << 20
    };
    return !strstr(name, "new");
}

static bool pod_use(void *self, const struct apiserver_pod *pod, struct apiserver_use *ret)
{
    (void)self;
    assert_true(*pod->ns && *pod->uid);
    assert_string_equal(pod->node, streq(pod->name, "two") ? "n1" : "");
    *ret = (struct apiserver_use){
        .at = WALL0, .window = 15 * NSEC_PER_SEC, .ncpu = 100000000, .bytes = 3 << 20
    };
    return !strstr(pod->name, "new");
}

static const struct apiserver_usage source = { node_use, pod_use };

static void make_pod(struct fixture *r, const char *name, const char *label, const char *containers)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s','labels':{'app':'%s'}},'spec':{%s'containers':%s}}",
                   name, label, streq(name, "two") ? "'nodeName':'n1'," : "", containers);
    assert_int_equal(fixture_post(r, PODS, fixture_json(body)), 201);
}

#define ONE "[{'name':'c','image':'i'}]"
#define TWO                                                                             \
    "[{'name':'a','image':'i','resources':{'requests':{'cpu':'300m','memory':'2Mi'}}}," \
    "{'name':'b','image':'i','resources':{'requests':{'cpu':'100m','memory':'1Mi'}}}]"

static void begin(struct fixture *r, uint64_t seed)
{
    struct kerr err = { 0 };

    fixture_init(r, seed);
    assert_int_equal(apiserver_serve_usage(r->s, &source, NULL, &err), 0);
    assert_int_equal(fixture_post(r, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n1\"}}"), 201);
    assert_int_equal(fixture_post(r, "/api/v1/nodes", "{\"metadata\":{\"name\":\"new\"}}"), 201);
    make_pod(r, "one", "x", ONE);
    make_pod(r, "two", "y", TWO);
    make_pod(r, "new", "x", ONE);
}

static void test_nodes(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    begin(&r, 1);
    assert_int_equal(fixture_get(&r, NODE_USE), 200);
    assert_string_equal(fixture_str(&r, "kind"), "NodeMetricsList");
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1); /* the other is not measured yet */
    assert_int_equal(fixture_get(&r, NODE_USE "/n1"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "NodeMetrics");
    assert_string_equal(fixture_str(&r, "apiVersion"), "metrics.k8s.io/v1beta1");
    assert_string_equal(fixture_str(&r, "usage.cpu"), "1500000000n");
    assert_string_equal(fixture_str(&r, "usage.memory"), "5120Ki");
    assert_string_equal(fixture_str(&r, "window"), "15s");
    assert_int_equal(fixture_get(&r, NODE_USE "/new"), 404);
    assert_string_equal(fixture_str(&r, "message"), "nodemetrics.metrics.k8s.io \"new\" not found");
}

static void test_pods_and_their_containers(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    begin(&r, 2);
    assert_int_equal(fixture_get(&r, POD_USE "/two"), 200);
    assert_string_equal(fixture_str(&r, "metadata.namespace"), "default");
    assert_string_equal(fixture_str(&r, "metadata.labels.app"), "y");
    const struct kj_val *cs = fixture_val(&r, "containers");
    assert_int_equal(kj_len(cs), 2);
    assert_string_equal(kj_str(kj_get(kj_at(cs, 0), "name")), "a");
    assert_string_equal(kj_str(kj_path(kj_at(cs, 0), "usage.cpu")), "75000000n");
    assert_string_equal(kj_str(kj_path(kj_at(cs, 1), "usage.cpu")), "25000000n");
    assert_string_equal(kj_str(kj_path(kj_at(cs, 0), "usage.memory")), "2048Ki");
    assert_string_equal(kj_str(kj_path(kj_at(cs, 1), "usage.memory")), "1024Ki");
    assert_int_equal(fixture_get(&r, POD_USE "/new"), 404);
    assert_string_equal(fixture_str(&r, "message"),
                        "podmetrics.metrics.k8s.io \"default/new\" not found");
    assert_int_equal(fixture_get(&r, POD_USE "/missing"), 404);
}

static void test_lists_and_selectors(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    begin(&r, 3);
    assert_int_equal(fixture_get(&r, METRICS "/pods"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "PodMetricsList");
    assert_int_equal(kj_len(fixture_val(&r, "items")), 2);
    assert_int_equal(fixture_get(&r, POD_USE "?labelSelector=app%3Dx"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(fixture_get(&r, POD_USE "?fieldSelector=metadata.name%3Dtwo"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(fixture_get(&r, METRICS "/namespaces/kube-system/pods"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
    assert_int_equal(fixture_get(&r, POD_USE "?labelSelector=%3D%3D"), 400);
    assert_int_equal(fixture_get(&r, POD_USE "?watch=true"), 405);
    assert_int_equal(fixture_post(&r, POD_USE, "{}"), 405);
    assert_int_equal(fixture_delete(&r, POD_USE "/one", NULL), 405);
}

static void test_it_is_discovered_and_registered(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&r, 4);
    assert_int_equal(fixture_get(&r, METRICS), 404); /* nobody knows anything */
    assert_int_equal(apiserver_serve_usage(r.s, &source, NULL, &err), 0);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, METRICS), 200);
    const struct kj_val *pods = kj_at(fixture_val(&r, "resources"), 1);
    assert_string_equal(kj_str(kj_get(pods, "name")), "pods");
    assert_string_equal(kj_str(kj_get(pods, "kind")), "PodMetrics");
    assert_int_equal(kj_len(kj_get(pods, "verbs")), 2);
    assert_int_equal(
        fixture_get(&r, "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"), 200);
    assert_int_equal(fixture_get(&r, "/openapi/v3/apis/metrics.k8s.io/v1beta1"), 200);
    assert_non_null(strstr(strbuf_str(&r.text), "v1beta1.PodMetrics"));
    assert_int_equal(apiserver_serve_usage(r.s, NULL, NULL, &err), 0); /* the source has ended */
    assert_int_equal(fixture_get(&r, METRICS "/pods"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
}

static void table_reply(struct fixture *r, const char *target)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    struct api_call *c = api_call_new(r->s, &sink, r);

    r->answered = false;
    c->method = "GET";
    c->target = arena_strdup(c->arena, target);
    c->accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    c->user = &api_user_admin;
    c->body = arena_alloc(c->arena, KJ_PADDING + 1, 1);
    api_run(c);
    assert_true(r->answered);
}

static void test_tables(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    begin(&r, 5);
    table_reply(&r, POD_USE);
    assert_string_equal(fixture_str(&r, "kind"), "Table");
    const struct kj_val *rows = fixture_val(&r, "rows"), *cells = kj_get(kj_at(rows, 1), "cells");
    assert_int_equal(kj_len(rows), 2);
    assert_string_equal(kj_str(kj_at(cells, 0)), "two");
    assert_string_equal(kj_str(kj_at(cells, 1)), "100m");
    assert_string_equal(kj_str(kj_at(cells, 2)), "3Mi");
    assert_string_equal(kj_str(kj_at(cells, 3)), "15s");
    table_reply(&r, NODE_USE "/n1");
    assert_string_equal(fixture_str(&r, "kind"), "Table");
    assert_int_equal(kj_len(fixture_val(&r, "rows")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_pods_and_their_containers),
        cmocka_unit_test(test_lists_and_selectors),
        cmocka_unit_test(test_it_is_discovered_and_registered),
        cmocka_unit_test(test_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
