/* Addresses and node ports of Services: unique, refused, given back, found again after a restart.
 */
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/test/api_fixture.h"

#define SERVICES  "/api/v1/namespaces/default/services"
#define ADDRESSES "/apis/networking.k8s.io/v1/ipaddresses"

static const char *service(const char *name, const char *spec)
{
    static char body[1024];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'},'spec':{'ports':[{'port':80}]%s}}",
                   name, spec);
    return fixture_json(body);
}

static int64_t node_port(const struct fixture *r, size_t i)
{
    return kj_i64_or(kj_get(kj_at(fixture_val(r, "spec.ports"), i), "nodePort"), 0);
}

static void refused(struct fixture *r, const char *name, const char *spec, const char *message)
{
    int status = fixture_post(r, SERVICES, service(name, spec));
    if (status < 400 || !strstr(fixture_str(r, "message"), message))
        fail_msg("%s: %d %s", spec, status, fixture_str(r, "message"));
}

static void test_addresses_are_objects(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char ip[64], path[128];

    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_get(&r, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"), 200);
    assert_string_equal(kj_str(kj_at(fixture_val(&r, "spec.cidrs"), 0)), "10.96.0.0/16");
    assert_int_equal(fixture_post(&r, SERVICES, service("a", "")), 201);
    (void)snprintf(ip, sizeof ip, "%s", fixture_str(&r, "spec.clusterIP"));
    assert_starts(ip, "10.96.");
    (void)snprintf(path, sizeof path, ADDRESSES "/%s", ip);
    assert_int_equal(fixture_get(&r, path), 200);
    assert_string_equal(fixture_str(&r, "spec.parentRef.name"), "a");
    assert_string_equal(fixture_str(&r, "spec.parentRef.namespace"), "default");
    /* Whoever deletes it finds it again; with its Service it goes. */
    assert_int_equal(fixture_delete(&r, path, NULL), 200);
    assert_int_equal(fixture_get(&r, path), 200);
    assert_int_equal(fixture_delete(&r, SERVICES "/a", NULL), 200);
    assert_int_equal(fixture_get(&r, path), 404);
}

/* A watch is told of the removal with a revision of its own, from which it can go on. */
static void test_a_removal_has_a_new_revision(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };

    (void)state;
    fixture_init(&r, 9);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", ",'clusterIP':'10.96.0.9'")), 201);
    fixture_watch(&r, &w, ADDRESSES "?watch=1");
    const uint64_t before = store_revision(apiserver_store(r.s));
    assert_int_equal(fixture_delete(&r, SERVICES "/a", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_true(str_ends(w.log, "DELETED 10.96.0.9;"));
    assert_that(strtoull(w.last_rev, NULL, 10), >, before);
    api_cancel(w.c);
}

static void test_what_is_taken_or_elsewhere_is_refused(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 2);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", ",'clusterIP':'10.96.0.7'")), 201);
    refused(&r, "b", ",'clusterIP':'10.96.0.7'",
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.7\"]: failed to "
            "allocate IP 10.96.0.7: provided IP is already allocated");
    refused(&r, "b", ",'clusterIP':'10.97.0.7'",
            "failed to allocate IP 10.97.0.7: the provided network does not match the current "
            "range");
    refused(&r, "b", ",'clusterIP':'10.96.0.0'", "does not match the current range");
    refused(&r, "b", ",'clusterIP':'10.96.255.255'", "does not match the current range");
    refused(&r, "b", ",'clusterIP':'fd00::1'",
            "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this "
            "cluster");
    refused(&r, "b", ",'ipFamilyPolicy':'RequireDualStack'",
            "this cluster is not configured for dual-stack services");
    assert_int_equal(
        fixture_post(&r, ADDRESSES,
                     fixture_json("{'metadata':{'name':'10.96.0.8'},'spec':{'parentRef':{"
                                  "'resource':'things','name':'x'}}}")),
        201);
    refused(&r, "b", ",'clusterIP':'10.96.0.8'", "provided IP is already allocated");
}

static void test_node_ports(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static const char port[] = "{'metadata':{'name':'%s'},'spec':{'type':'NodePort','ports':[{"
                               "'port':80,'nodePort':%d}]}}";
    char body[512];

    (void)state;
    fixture_init(&r, 3);
    (void)snprintf(body, sizeof body, port, "a", 30080);
    assert_int_equal(fixture_post(&r, SERVICES, fixture_json(body)), 201);
    (void)snprintf(body, sizeof body, port, "b", 30080);
    assert_int_equal(fixture_post(&r, SERVICES, fixture_json(body)), 422);
    assert_string_equal(fixture_str(&r, "message"),
                        "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: "
                        "provided port is already allocated");
    (void)snprintf(body, sizeof body, port, "b", 29999);
    assert_int_equal(fixture_post(&r, SERVICES, fixture_json(body)), 422);
    assert_contains(fixture_str(&r, "message"),
                    "provided port is not in the valid range. The range of valid ports is "
                    "30000-32767");
    /* Another type gives it back. */
    assert_int_equal(fixture_do(&r, "PATCH", SERVICES "/a", MERGE,
                                fixture_json("{'spec':{'type':'ClusterIP'}}")),
                     200);
    (void)snprintf(body, sizeof body, port, "b", 30080);
    assert_int_equal(fixture_post(&r, SERVICES, fixture_json(body)), 201);
    /* A PUT without the number keeps it; TCP and UDP of one port share it. */
    assert_int_equal(fixture_put(&r, SERVICES "/b", service("b", ",'type':'NodePort'")), 200);
    assert_int_equal(node_port(&r, 0), 30080);
    assert_int_equal(
        fixture_post(&r, SERVICES,
                     fixture_json("{'metadata':{'name':'c'},'spec':{'type':'NodePort','ports':[{"
                                  "'name':'t','port':53},{'name':'u','port':53,'protocol':"
                                  "'UDP'}]}}")),
        201);
    assert_int_equal(node_port(&r, 0), node_port(&r, 1));
}

static void test_health_check_port(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static const char local[] = ",'type':'LoadBalancer','externalTrafficPolicy':'Local'";

    (void)state;
    fixture_init(&r, 4);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", local)), 201);
    int64_t port = kj_i64_or(fixture_val(&r, "spec.healthCheckNodePort"), 0);
    assert_in_range(port, 30000, 32767);
    assert_int_not_equal(port, node_port(&r, 0));
    assert_int_equal(fixture_do(&r, "PATCH", SERVICES "/a", MERGE,
                                fixture_json("{'spec':{'externalTrafficPolicy':'Cluster'}}")),
                     200);
    assert_null(fixture_val(&r, "spec.healthCheckNodePort"));
    refused(&r, "b", ",'healthCheckNodePort':30000", "may only be set when `type` is");
}

/* All of one turn, and more than a small range has. */
static void test_many_of_one_turn_differ(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    enum { N = 2768 };
    static bool seen[65536];
    size_t made = 0, full = 0;

    (void)state;
    fixture_init(&r, 5);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < N + 2; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "s%d", i);
        int status = fixture_post(&r, SERVICES, service(name, ",'type':'NodePort'"));
        if (status != 201) {
            assert_int_equal(status, 500);
            assert_contains(fixture_str(&r, "message"), "failed to allocate a nodePort: range is");
            full++;
            continue;
        }
        assert_false(seen[node_port(&r, 0)]);
        seen[node_port(&r, 0)] = true;
        made++;
    }
    assert_int_equal(made, N);
    assert_int_equal(full, 2);
    /* One that goes makes room for one. */
    assert_int_equal(fixture_delete(&r, SERVICES "/s7", NULL), 200);
    assert_int_equal(fixture_post(&r, SERVICES, service("t", ",'type':'NodePort'")), 201);
}

static void test_a_small_range_is_used_up(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static bool seen[256];

    (void)state;
    fixture_init(&r, 6);
    memset(seen, 0, sizeof seen);
    assert_int_equal(fixture_delete(&r, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes", NULL),
                     200);
    refused(&r, "a", "", "failed to allocate a serviceIP: range is full");
    assert_int_equal(fixture_post(&r, "/apis/networking.k8s.io/v1/servicecidrs",
                                  fixture_json("{'metadata':{'name':'small'},'spec':{'cidrs':["
                                               "'10.7.0.0/28']}}")),
                     201);
    for (int i = 0; i < 14; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(fixture_post(&r, SERVICES, service(name, "")), 201);
        const char *ip = fixture_str(&r, "spec.clusterIP");
        assert_starts(ip, "10.7.0.");
        int last = atoi(strrchr(ip, '.') + 1);
        assert_in_range(last, 1, 14);
        assert_false(seen[last]);
        seen[last] = true;
    }
    refused(&r, "t", "", "failed to allocate a serviceIP: range is full");
}

/* What a failed commit took is free again, and what it gave back is taken. */
static void test_a_failed_commit_takes_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", ",'clusterIP':'10.96.0.5'")), 201);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_int_not_equal(fixture_post(&r, SERVICES, service("b", ",'clusterIP':'10.96.0.6'")), 201);
    assert_int_equal(fixture_get(&r, ADDRESSES "/10.96.0.6"), 404);
    assert_int_equal(fixture_post(&r, SERVICES, service("b", ",'clusterIP':'10.96.0.6'")), 201);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_int_not_equal(fixture_delete(&r, SERVICES "/a", NULL), 200);
    refused(&r, "c", ",'clusterIP':'10.96.0.5'", "provided IP is already allocated");
    assert_int_equal(fixture_get(&r, ADDRESSES "/10.96.0.5"), 200);
}

static void test_dry_run_takes_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 8);
    assert_int_equal(
        fixture_post(&r, SERVICES "?dryRun=All", service("a", ",'clusterIP':'10.96.0.9'")), 201);
    assert_int_equal(fixture_get(&r, ADDRESSES "/10.96.0.9"), 404);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", ",'clusterIP':'10.96.0.9'")), 201);
}

static void restart(struct fixture *r, const char *file)
{
    const struct apiserver_opts o = { .no_crds = true, .data_file = file };
    struct kerr err = { 0 };

    r->s = apiserver_free(r->s);
    if (apiserver_new(r->loop, &o, &r->s, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_taken_after_a_restart(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char file[] = "/tmp/koord-ranges-XXXXXX";
    int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(file);
    r = (struct fixture){ .loop = loop_new_virtual(WALL0, 9), .patience = 10 * NSEC_PER_SEC };
    restart(&r, file);
    assert_int_equal(fixture_post(&r, SERVICES, service("a", ",'clusterIP':'10.96.0.5'")), 201);
    restart(&r, file);
    refused(&r, "b", ",'clusterIP':'10.96.0.5'", "provided IP is already allocated");
    assert_int_equal(fixture_post(&r, SERVICES, service("b", ",'type':'NodePort'")), 201);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_are_objects),
        cmocka_unit_test(test_a_removal_has_a_new_revision),
        cmocka_unit_test(test_what_is_taken_or_elsewhere_is_refused),
        cmocka_unit_test(test_node_ports),
        cmocka_unit_test(test_health_check_port),
        cmocka_unit_test(test_many_of_one_turn_differ),
        cmocka_unit_test(test_a_small_range_is_used_up),
        cmocka_unit_test(test_a_failed_commit_takes_nothing),
        cmocka_unit_test(test_dry_run_takes_nothing),
        cmocka_unit_test(test_taken_after_a_restart),
    };
    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
