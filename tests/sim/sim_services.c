/* sim_services.c - what stands behind Services: Endpoints and EndpointSlices, on the virtual loop,
 * with lost, refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/core.h"
#include "api/workload.h"

#define RS(name, replicas, ports)                                                             \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"" name      \
    "\"},\"spec\":{\"replicas\":" #replicas ",\"selector\":{\"matchLabels\":{\"app\":\"" name \
    "\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name                            \
    "\",\"tier\":\"all\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a\"," ports  \
    "\"resources\":{\"requests\":{\"cpu\":\"10m\"}}}]}}}}"
#define SERVICE(name, spec)                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"" name \
    "\",\"labels\":{\"team\":\"x\"}},\"spec\":{" spec "}}"
#define WEB_PORT "\"ports\":[{\"name\":\"http\",\"port\":80,\"targetPort\":\"web\"}]"

static const struct kind kind_slice = { .group = "discovery.k8s.io",
                                        .version = "v1",
                                        .kind = "EndpointSlice",
                                        .plural = "endpointslices",
                                        .namespaced = true,
                                        .schema = &kobj_schema };
static const struct kind kind_ep = { .group = "",
                                     .version = "v1",
                                     .kind = "Endpoints",
                                     .plural = "endpoints",
                                     .namespaced = true,
                                     .schema = &kobj_schema };

struct found { /* in the slices of a Service */
    size_t slices, endpoints, ready, terminating, most, ports;
    int64_t port; /* the last one */
};

static struct found look(struct sim *s, const char *service)
{
    char selector[128];
    struct found f = { 0 };
    const struct kj_val *slice, *e;
    struct str key;

    (void)snprintf(selector, sizeof selector, "kubernetes.io/service-name=%s", service);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_slice, "default", selector);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &slice);) {
        const struct kj_val *list = kj_get(slice, "endpoints");
        f.slices++;
        f.endpoints += kj_len(list);
        f.most = MAX(f.most, kj_len(list));
        f.ports += kj_len(kj_get(slice, "ports"));
        f.port = kj_i64_or(kj_get(kj_at(kj_get(slice, "ports"), 0), "port"), f.port);
        for (struct kj_iter k = kj_iter(list); kj_next(&k, &key, &e);) {
            f.ready += kj_bool(kj_path(e, "conditions.ready"), false);
            f.terminating += kj_bool(kj_path(e, "conditions.terminating"), false);
            assert_non_null(kj_str(kj_path(e, "nodeName")));
            assert_non_null(kj_str(kj_path(e, "zone")));
        }
    }
    return f;
}

/* Of the Endpoints' first subset. */
static size_t addresses(struct sim *s, const char *service, const char *member)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_ep, "default", service);
    return doc ? kj_len(kj_get(kj_at(kj_get(kj_root(doc), "subsets"), 0), member)) : 0;
}

struct wanted {
    const char *service;
    size_t endpoints;
};

static bool is_served(struct sim *s, void *arg)
{
    const struct wanted *w = arg;
    struct found f = look(s, w->service);
    return f.endpoints == w->endpoints && f.ready == w->endpoints &&
           addresses(s, w->service, "addresses") == w->endpoints;
}

static void test_pods_are_found_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        CLEANUP(sim_fini) struct sim s;
        struct wanted w = { "web", 230 };
        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 50, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
        assert_int_equal(sim_create(&s, SERVICE("web", "\"selector\":{\"app\":\"web\"}," WEB_PORT)),
                         201);
        assert_int_equal(
            sim_create(&s,
                       RS("web", 230, "\"ports\":[{\"name\":\"web\",\"containerPort\":8080}],")),
            201);
        assert_true(sim_until(&s, 600 * SEC, is_served, &w));
        struct found f = look(&s, "web");
        assert_true(f.most <= 100);
        assert_true(f.slices >= 3 && f.slices <= 4);
        assert_int_equal(f.port, 8080);
        w.endpoints = 40;
        assert_int_equal(
            sim_patch(&s, &kind_replicaset, "default", "web", NULL, "{\"spec\":{\"replicas\":40}}"),
            200);
        assert_true(sim_until(&s, 600 * SEC, is_served, &w));
        assert_int_equal(sim_delete(&s, &kind_service, "default", "web", NULL), 200);
        sim_run(&s, 60 * SEC);
        assert_int_equal(look(&s, "web").slices, 0);
        assert_null(sim_get(&s, &kind_ep, "default", "web"));
    }
}

static void test_ports_differ_between_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 1);
    assert_int_equal(sim_create(&s, SERVICE("all", "\"selector\":{\"tier\":\"all\"}," WEB_PORT)),
                     201);
    sim_run(&s, 2 * SEC);
    /* Nobody there: one slice says so. */
    assert_int_equal(look(&s, "all").slices, 1);
    assert_int_equal(look(&s, "all").endpoints, 0);
    assert_int_equal(
        sim_create(&s, RS("a", 2, "\"ports\":[{\"name\":\"web\",\"containerPort\":8080}],")), 201);
    assert_int_equal(
        sim_create(&s, RS("b", 3, "\"ports\":[{\"name\":\"web\",\"containerPort\":9090}],")), 201);
    sim_run(&s, 20 * SEC);
    struct found f = look(&s, "all");
    assert_int_equal(f.slices, 2);
    assert_int_equal(f.endpoints, 5);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_ep, "default", "all");
    assert_int_equal(kj_len(kj_get(kj_root(doc), "subsets")), 2);
    assert_string_equal(kj_str_or(kj_get(kj_path(kj_root(doc), "metadata.labels"), "team"), ""),
                        "x");
}

static void test_unready_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct found f;

    (void)state;
    sim_begin(&s, 2);
    assert_int_equal(sim_create(&s, SERVICE("head", "\"clusterIP\":\"None\",\"selector\":{"
                                                    "\"app\":\"web\"}")),
                     201);
    assert_int_equal(
        sim_create(&s, SERVICE("eager", "\"selector\":{\"app\":\"web\"},"
                                        "\"publishNotReadyAddresses\":true," WEB_PORT)),
        201);
    assert_int_equal(sim_create(&s, RS("web", 1, "")), 201);
    sim_run(&s, 20 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_pod, "default", "app=web");
    const char *pod =
        kj_str_or(kj_path(kj_at(kj_get(kj_root(doc), "items"), 0), "metadata.name"), "");
    assert_int_equal(
        sim_patch(&s, &kind_pod, "default", pod, "status",
                  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}"),
        200);
    sim_run(&s, 2 * SEC);
    f = look(&s, "head");
    assert_int_equal(f.endpoints, 1);
    assert_int_equal(f.ready, 0);
    assert_int_equal(addresses(&s, "head", "addresses"), 0);
    assert_int_equal(addresses(&s, "head", "notReadyAddresses"), 1);
    assert_int_equal(look(&s, "eager").ready, 1);
    assert_int_equal(sim_count(&s, &kind_slice, "default", "service.kubernetes.io/headless"), 1);
    /* On its way out it is still listed, as such. */
    assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, NULL,
                               "{\"metadata\":{\"finalizers\":[\"x.example.com/wait\"]}}"),
                     200);
    assert_int_equal(sim_delete(&s, &kind_pod, "default", pod, NULL), 200);
    sim_run(&s, 100 * NSEC_PER_MSEC);
    assert_int_equal(look(&s, "head").terminating, 1);
}

/* Who asks for pods that are not ready gets those on their way out too, until they have ended. */
static void test_pods_on_their_way_out(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct found f;

    (void)state;
    sim_begin(&s, 4);
    assert_int_equal(
        sim_create(&s, SERVICE("eager", "\"selector\":{\"app\":\"web\"},"
                                        "\"publishNotReadyAddresses\":true," WEB_PORT)),
        201);
    assert_int_equal(sim_create(&s, SERVICE("usual", "\"selector\":{\"app\":\"web\"}," WEB_PORT)),
                     201);
    assert_int_equal(
        sim_create(&s, RS("web", 1, "\"ports\":[{\"name\":\"web\",\"containerPort\":8080}],")),
        201);
    sim_run(&s, 20 * SEC);
    assert_int_equal(addresses(&s, "eager", "addresses"), 1);
    assert_int_equal(addresses(&s, "usual", "addresses"), 1);
    assert_int_equal(
        sim_patch(&s, &kind_replicaset, "default", "web", NULL, "{\"spec\":{\"replicas\":0}}"),
        200);
    sim_run(&s, 300 * NSEC_PER_MSEC); /* its containers take longer to end */
    assert_int_equal(addresses(&s, "eager", "addresses"), 1);
    assert_int_equal(addresses(&s, "eager", "notReadyAddresses"), 0);
    assert_int_equal(addresses(&s, "usual", "addresses"), 0);
    assert_int_equal(addresses(&s, "usual", "notReadyAddresses"), 0);
    f = look(&s, "eager");
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.terminating, 1);
    f = look(&s, "usual");
    assert_int_equal(f.ready, 0);
    assert_int_equal(f.terminating, 1);
    sim_run(&s, 20 * SEC);
    assert_int_equal(addresses(&s, "eager", "addresses"), 0);
    assert_int_equal(look(&s, "eager").endpoints, 0);
}

#define ENDPOINTS                                                                                 \
    "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"out\"},\"subsets\":[" \
    "{\"addresses\":[{\"ip\":\"192.0.2.1\",\"nodeName\":\"n\"}],\"ports\":[{\"port\":53,"         \
    "\"protocol\":\"UDP\"}]}]}"

static void test_endpoints_of_others_are_mirrored(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 3);
    struct kube_req r = { .verb = KUBE_CREATE,
                          .kind = &kind_ep,
                          .ns = "default",
                          .body = ENDPOINTS,
                          .body_len = strlen(ENDPOINTS) };
    assert_int_equal(sim_do(&s, &r, NULL), 201);
    sim_run(&s, 2 * SEC);
    assert_int_equal(sim_count(&s, &kind_slice, "default", NULL), 0);
    assert_int_equal(sim_create(&s, SERVICE("out", "\"ports\":[{\"port\":53,\"protocol\":"
                                                   "\"UDP\"}]")),
                     201);
    sim_run(&s, 2 * SEC);
    assert_int_equal(sim_count(&s, &kind_slice, "default",
                               "kubernetes.io/service-name=out,endpointslice.kubernetes.io/"
                               "managed-by=endpointslicemirroring-controller.k8s.io"),
                     1);
    assert_int_equal(
        sim_patch(
            &s, &kind_ep, "default", "out", NULL,
            "{\"metadata\":{\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}}}"),
        200);
    sim_run(&s, 2 * SEC);
    assert_int_equal(sim_count(&s, &kind_slice, "default", NULL), 0);
}

/* ---- ranges of addresses --------------------------------------------------------------------- */

static const struct kind kind_cidr = { .group = "networking.k8s.io",
                                       .version = "v1",
                                       .kind = "ServiceCIDR",
                                       .plural = "servicecidrs",
                                       .schema = &kobj_schema };

static void make_cidr(struct sim *s, const char *name, const char *cidr)
{
    char json[300];

    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"ServiceCIDR\",\"metadata\":{"
        "\"name\":\"%s\"},\"spec\":{\"cidrs\":[\"%s\"]}}",
        name, cidr);
    const struct kube_req r = {
        .verb = KUBE_CREATE, .kind = &kind_cidr, .body = json, .body_len = strlen(json)
    };
    assert_int_equal(sim_do(s, &r, NULL), 201);
}

static bool is_ready(struct sim *s, void *arg)
{
    return streq(sim_condition(s, &kind_cidr, NULL, arg, "Ready"), "True");
}

static bool is_held(struct sim *s, void *arg)
{
    return streq(sim_condition(s, &kind_cidr, NULL, arg, "Ready"), "False");
}

static bool is_gone(struct sim *s, void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_cidr, NULL, arg);
    return !doc;
}

/* Held while a Service has an address of it; a range around it lets it go. */
static void test_ranges_in_use_stay(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 60);
    s.faults = (struct sim_faults){ .refuse = 100, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
    make_cidr(&s, "idle", "10.201.0.0/24");
    make_cidr(&s, "used", "10.200.0.0/24");
    assert_true(sim_until(&s, 60 * SEC, is_ready, "used"));
    assert_true(sim_until(&s, 60 * SEC, is_ready, "idle"));
    assert_int_equal(
        sim_create(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"a\"},"
                       "\"spec\":{\"clusterIP\":\"10.200.0.9\",\"ports\":[{\"port\":80}]}}"),
        201);
    sim_run(&s, 10 * SEC);
    assert_int_equal(sim_delete(&s, &kind_cidr, NULL, "used", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_cidr, NULL, "idle", NULL), 200);
    assert_true(sim_until(&s, 60 * SEC, is_held, "used"));
    assert_false(is_gone(&s, "idle")); /* servers that give addresses have to hear of it */
    assert_true(sim_until(&s, 60 * SEC, is_gone, "idle"));
    sim_run(&s, 60 * SEC);
    assert_false(is_gone(&s, "used"));
    make_cidr(&s, "around", "10.200.0.0/16");
    assert_true(sim_until(&s, 60 * SEC, is_gone, "used"));
    assert_int_equal(sim_delete(&s, &kind_cidr, NULL, "around", NULL), 200);
    assert_true(sim_until(&s, 60 * SEC, is_held, "around"));
    assert_int_equal(sim_delete(&s, &kind_service, "default", "a", NULL), 200);
    assert_true(sim_until(&s, 60 * SEC, is_gone, "around"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_in_use_stay),
        cmocka_unit_test(test_pods_are_found_under_faults),
        cmocka_unit_test(test_ports_differ_between_pods),
        cmocka_unit_test(test_unready_pods),
        cmocka_unit_test(test_pods_on_their_way_out),
        cmocka_unit_test(test_endpoints_of_others_are_mirrored),
    };
    return cmocka_run_group_tests_name("sim_services", tests, NULL, NULL);
}
