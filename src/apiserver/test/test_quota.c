/* test_quota.c - ResourceQuota: what is counted, refused and given back. */
#include "apiserver/test/api_fixture.h"

#define QUOTAS   "/api/v1/namespaces/default/resourcequotas"
#define SERVICES "/api/v1/namespaces/default/services"
#define CLAIMS   "/api/v1/namespaces/default/persistentvolumeclaims"

static void make_quota(struct fixture *r, const char *name, const char *spec)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, spec);
    if (fixture_post(r, QUOTAS, b.data) != 201)
        fail_msg("%s", r->text.data);
}

static int make_pod(struct fixture *r, const char *name, const char *resources, const char *spec)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s\"containers\":[{\"name\":\"c\","
                   "\"image\":\"i\",\"resources\":{%s}}]}}",
                   name, spec, resources);
    return fixture_post(r, PODS, b.data);
}

static const char *used(struct fixture *r, const char *quota, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf target = STRBUF_INIT;

    strbuf_appendf(&target, QUOTAS "/%s", quota);
    assert_int_equal(fixture_get(r, target.data), 200);
    return kj_str_or(kj_get(fixture_val(r, "status.used"), name), "none");
}

static void test_counts_are_never_exceeded_and_given_back(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    fixture_cm(&r, "before", "");
    make_quota(&r, "q", "\"hard\":{\"pods\":\"2\",\"count/configmaps\":\"2\"}");
    assert_string_equal(used(&r, "q", "count/configmaps"), "1");
    assert_string_equal(used(&r, "q", "pods"), "0");
    assert_int_equal(make_pod(&r, "a", "", ""), 201);
    assert_int_equal(make_pod(&r, "b", "", ""), 201);
    assert_int_equal(make_pod(&r, "c", "", ""), 403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: "
                        "pods=2, limited: pods=2");
    assert_string_equal(fixture_str(&r, "details.kind"), "pods");
    assert_string_equal(used(&r, "q", "pods"), "2");
    assert_int_equal(fixture_delete(&r, PODS "/a?gracePeriodSeconds=0", NULL), 200);
    assert_string_equal(used(&r, "q", "pods"), "1");
    /* One that has ended makes room, though it is still there. */
    assert_int_equal(
        fixture_do(&r, "PATCH", PODS "/b/status", MERGE, "{\"status\":{\"phase\":\"Succeeded\"}}"),
        200);
    assert_string_equal(used(&r, "q", "pods"), "0");
    assert_int_equal(make_pod(&r, "d?", "", ""), 422);
    assert_string_equal(used(&r, "q", "pods"), "0");
    assert_int_equal(make_pod(&r, "b", "", ""), 409);
    assert_string_equal(used(&r, "q", "pods"), "0");
}

static void no_matter(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    size_t *made = arg;

    (void)c, (void)json, (void)n;
    *made += status == 201;
}

static void test_many_at_once_do_not_exceed_it(void **state)
{
    static const struct api_sink sink = { .reply = no_matter };
    CLEANUP(fixture_fini) struct fixture r;
    size_t made = 0;
    char body[120];
    (void)state;
    fixture_init(&r, 2);
    make_quota(&r, "q", "\"hard\":{\"configmaps\":\"7\"}");
    for (int i = 0; i < 50; i++) {
        (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%d\"}}", i);
        fixture_start(&r, &sink, &made, "POST", CMS, "application/json", body);
    }
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(made, 7);
    assert_string_equal(used(&r, "q", "configmaps"), "7");
    /* A commit that fails takes its account along. */
    assert_int_equal(fixture_delete(&r, CMS "/m0", NULL), 200);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_int_not_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"lost\"}}"), 201);
    loop_advance(r.loop, 5 * NSEC_PER_SEC);
    assert_string_equal(used(&r, "q", "configmaps"), "6");
}

static void test_resources_and_what_containers_must_say(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 3);
    make_quota(&r, "q",
               "\"hard\":{\"requests.cpu\":\"1\",\"limits.memory\":\"1Gi\","
               "\"requests.ex.io/gpu\":\"2\"}");
    assert_int_equal(make_pod(&r, "a", "", ""), 403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"a\" is forbidden: failed quota: q: must specify limits.memory for: "
                        "c; requests.cpu for: c");
    assert_int_equal(make_pod(&r, "a",
                              "\"requests\":{\"cpu\":\"600m\"},\"limits\":{\"memory\":\"512Mi\","
                              "\"ex.io/gpu\":\"2\"}",
                              ""),
                     201);
    assert_string_equal(used(&r, "q", "requests.cpu"), "600m");
    assert_string_equal(used(&r, "q", "limits.memory"), "512Mi");
    assert_string_equal(used(&r, "q", "requests.ex.io/gpu"), "2");
    assert_int_equal(
        make_pod(&r, "b", "\"requests\":{\"cpu\":\"600m\"},\"limits\":{\"memory\":\"600Mi\"}", ""),
        403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"b\" is forbidden: exceeded quota: q, requested: "
                        "limits.memory=600Mi,requests.cpu=600m, used: limits.memory=512Mi,"
                        "requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1");
}

static const struct {
    const char *scope;
    bool plain, guaranteed, deadline, classed;
} scopes[] = {
    { "\"scopes\":[\"BestEffort\"]", 1, 0, 1, 1 },
    { "\"scopes\":[\"NotBestEffort\"]", 0, 1, 0, 0 },
    { "\"scopes\":[\"Terminating\"]", 0, 0, 1, 0 },
    { "\"scopes\":[\"NotTerminating\"]", 1, 1, 0, 1 },
    { "\"scopes\":[\"BestEffort\",\"NotTerminating\"]", 1, 0, 0, 1 },
    { "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
      "\"In\",\"values\":[\"system-node-critical\"]}]}",
      0, 0, 0, 1 },
    { "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
      "\"NotIn\",\"values\":[\"system-node-critical\"]}]}",
      1, 1, 1, 0 },
    { "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
      "\"Exists\"}]}",
      0, 0, 0, 1 },
};

static void test_scopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        char spec[300];
        fixture_init(&r, 10 + i);
        (void)snprintf(spec, sizeof spec, "\"hard\":{\"pods\":\"0\"},%s", scopes[i].scope);
        make_quota(&r, "q", spec);
        assert_int_equal(make_pod(&r, "plain", "", ""), scopes[i].plain ? 403 : 201);
        assert_int_equal(
            make_pod(&r, "guaranteed", "\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}", ""),
            scopes[i].guaranteed ? 403 : 201);
        assert_int_equal(make_pod(&r, "deadline", "", "\"activeDeadlineSeconds\":5,"),
                         scopes[i].deadline ? 403 : 201);
        assert_int_equal(
            make_pod(&r, "classed", "", "\"priorityClassName\":\"system-node-critical\","),
            scopes[i].classed ? 403 : 201);
    }
}

/* Claims count by the class that they ask for, have, and are changed to. */
static void test_claims_by_their_attributes(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 29);
    make_quota(&r, "gold",
               "\"hard\":{\"persistentvolumeclaims\":\"1\"},\"scopeSelector\":{"
               "\"matchExpressions\":[{\"scopeName\":\"VolumeAttributesClass\",\"operator\":"
               "\"In\",\"values\":[\"gold\"]}]}");
    make_quota(&r, "none",
               "\"hard\":{\"persistentvolumeclaims\":\"5\"},\"scopeSelector\":{"
               "\"matchExpressions\":[{\"scopeName\":\"VolumeAttributesClass\",\"operator\":"
               "\"DoesNotExist\"}]}");
#define CLAIM_OF(name, more)                                                                       \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more "\"accessModes\":[\"ReadWriteOnce\"]," \
    "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}"
    assert_int_equal(fixture_post(&r, CLAIMS, CLAIM_OF("plain", "")), 201);
    assert_string_equal(used(&r, "gold", "persistentvolumeclaims"), "0");
    assert_string_equal(used(&r, "none", "persistentvolumeclaims"), "1");
    assert_int_equal(fixture_do(&r, "PATCH", CLAIMS "/plain/status", MERGE,
                                "{\"status\":{\"modifyVolumeStatus\":{\"status\":\"Pending\","
                                "\"targetVolumeAttributesClassName\":\"gold\"}}}"),
                     200);
    assert_string_equal(used(&r, "gold", "persistentvolumeclaims"), "1");
    assert_string_equal(used(&r, "none", "persistentvolumeclaims"), "0");
    assert_int_equal(
        fixture_post(&r, CLAIMS, CLAIM_OF("more", "\"volumeAttributesClassName\":\"gold\",")), 403);
    assert_contains(fixture_str(&r, "message"), "exceeded quota: gold");
    assert_int_equal(
        fixture_post(&r, CLAIMS, CLAIM_OF("more", "\"volumeAttributesClassName\":\"iron\",")), 201);
    assert_string_equal(used(&r, "none", "persistentvolumeclaims"), "0");
#undef CLAIM_OF
}

static void test_services_and_claims_count_when_they_change(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 30);
    make_quota(&r, "q",
               "\"hard\":{\"services\":\"2\",\"services.nodeports\":\"1\",\"requests.storage\":"
               "\"3Gi\",\"fast.storageclass.storage.k8s.io/requests.storage\":\"2Gi\"}");
    assert_int_equal(fixture_post(&r, SERVICES,
                                  "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"name\":"
                                  "\"x\",\"port\":1},{\"name\":\"y\",\"port\":2}]}}"),
                     201);
    assert_int_equal(
        fixture_do(&r, "PATCH", SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"NodePort\"}}"), 403);
    assert_contains(fixture_str(&r, "message"), "requested: services.nodeports=2, used: "
                                                "services.nodeports=0, limited: "
                                                "services.nodeports=1");
    assert_int_equal(fixture_post(&r, CLAIMS,
                                  "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"storageClassName\":"
                                  "\"fast\",\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                                  "\"requests\":{\"storage\":\"3Gi\"}}}}"),
                     403);
    assert_contains(fixture_str(&r, "message"),
                    "requested: fast.storageclass.storage.k8s.io/requests.storage=3Gi");
    assert_string_equal(used(&r, "q", "services"), "1");
}

static void test_a_changed_quota_is_counted_anew(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 31);
    fixture_cm(&r, "a", "");
    make_quota(&r, "q", "\"hard\":{\"configmaps\":\"2\"}");
    assert_int_equal(
        fixture_do(&r, "PATCH", QUOTAS "/q", MERGE, "{\"spec\":{\"hard\":{\"secrets\":\"5\"}}}"),
        200);
    assert_string_equal(used(&r, "q", "secrets"), "0");
    assert_string_equal(fixture_str(&r, "status.hard.secrets"), "5");
    /* Nobody's opinion of what is used lasts. */
    assert_int_equal(fixture_do(&r, "PATCH", QUOTAS "/q/status", MERGE,
                                "{\"status\":{\"used\":{\"configmaps\":\"0\"}}}"),
                     200);
    assert_string_equal(used(&r, "q", "configmaps"), "1");
    assert_int_equal(
        fixture_do(&r, "PATCH", QUOTAS "/q", MERGE, "{\"spec\":{\"hard\":{\"configmaps\":\"0\"}}}"),
        200);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"b\"}}"), 403);
    assert_int_equal(fixture_post(&r, CMS "?dryRun=All", "{\"metadata\":{\"name\":\"b\"}}"), 403);
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
    assert_string_equal(used(&r, "q", "configmaps"), "0");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counts_are_never_exceeded_and_given_back),
    cmocka_unit_test(test_many_at_once_do_not_exceed_it),
    cmocka_unit_test(test_resources_and_what_containers_must_say),
    cmocka_unit_test(test_scopes),
    cmocka_unit_test(test_claims_by_their_attributes),
    cmocka_unit_test(test_services_and_claims_count_when_they_change),
    cmocka_unit_test(test_a_changed_quota_is_counted_anew),
};

FIXTURE_MAIN(tests)
