/* test_registry.c - paths, create, get, update, patch: answers in the words of kube-apiserver. */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

static void test_create_fills_in_what_the_server_owns(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(
        fixture_post(&r, CMS,
                     "{\"metadata\":{\"name\":\"a\",\"uid\":\"mine\"},\"data\":{\"x\":\"1\"}}"),
        201);
    assert_string_equal(fixture_str(&r, "kind"), "ConfigMap");
    assert_string_equal(fixture_str(&r, "apiVersion"), "v1");
    assert_string_equal(fixture_str(&r, "metadata.namespace"), "default");
    assert_int_equal(strlen(fixture_str(&r, "metadata.uid")), 36);
    assert_int_equal(fixture_str(&r, "metadata.uid")[14], '4');
    assert_string_equal(fixture_str(&r, "metadata.creationTimestamp"), "2025-11-15T09:46:41Z");
    assert_true(*fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
    assert_string_equal(fixture_str(&r, "data.x"), "1");
}

static void test_create_twice_is_already_exists(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 2);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"}}"), 409);
    assert_string_equal(fixture_str(&r, "message"), "configmaps \"a\" already exists");
    assert_string_equal(fixture_str(&r, "reason"), "AlreadyExists");
    assert_string_equal(fixture_str(&r, "details.name"), "a");
    assert_string_equal(fixture_str(&r, "details.kind"), "configmaps");
}

static void test_generate_name(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"generateName\":\"a-\"}}"), 201);
    assert_int_equal(strlen(fixture_str(&r, "metadata.name")), 7);
    assert_memory_equal(fixture_str(&r, "metadata.name"), "a-", 2);
}

static const struct {
    const char *method, *target, *type, *body;
    int status;
    const char *reason, *message;
} refusals[] = {
    { "GET", CMS "/x", NULL, NULL, 404, "NotFound", "configmaps \"x\" not found" },
    { "GET", "/api/v1/namespaces/default/foos", NULL, NULL, 404, "NotFound",
      "the server could not find the requested resource" },
    { "GET", CMS "/x/status", NULL, NULL, 404, "NotFound",
      "the server could not find the requested resource" },
    { "GET", "/api/v1/configmaps/x", NULL, NULL, 404, "NotFound", NULL },
    { "GET", "/api/v1/namespaces/default/nodes", NULL, NULL, 404, "NotFound", NULL },
    { "GET", "/api/v1/namespaces/..%2fdefault/pods", NULL, NULL, 404, "NotFound", NULL },
    { "POST", "/api/v1/configmaps", NULL, "{}", 405, "MethodNotAllowed",
      "the server does not allow this method on the requested resource" },
    { "POST", CMS "/a", NULL, "{}", 405, "MethodNotAllowed", NULL },
    { "PUT", CMS, NULL, "{}", 405, "MethodNotAllowed", NULL },
    { "DELETE", "/api/v1/configmaps", NULL, NULL, 405, "MethodNotAllowed", NULL },
    { "POST", CMS, "text/plain", "x", 415, "UnsupportedMediaType", NULL },
    { "POST", CMS, "application/vnd.kubernetes.protobuf", "k8s", 400, "BadRequest", NULL },
    { "POST", CMS, "application/json", "{\"a\"", 400, "BadRequest", NULL },
    { "POST", CMS, "application/json", "[]", 400, "BadRequest", NULL },
    { "POST", CMS, "application/json", "", 400, "BadRequest", NULL },
    { "POST", CMS, "application/json", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", 400,
      "BadRequest", NULL },
    { "POST", CMS, "application/json", "{\"metadata\":{\"name\":\"b\",\"namespace\":\"o\"}}", 400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request" },
    { "POST", CMS, "application/json", "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"1\"}}",
      500, "", "resourceVersion should not be set on objects to be created" },
    { "POST", CMS, "application/json", "{\"metadata\":{}}", 422, "Invalid",
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
      "required" },
    { "POST", CMS, "application/json", "{\"metadata\":{\"name\":\"A_\"}}", 422, "Invalid", NULL },
    { "POST", CMS, "application/json", "{\"metadata\":[]}", 400, "BadRequest", NULL },
    { "POST", CMS, "application/json", "{\"metadata\":{\"name\":\"b\",\"labels\":{\"a b\":\"c\"}}}",
      422, "Invalid", NULL },
    { "POST", "/api/v1/namespaces/nope/configmaps", "application/json",
      "{\"metadata\":{\"name\":\"b\"}}", 404, "NotFound", "namespaces \"nope\" not found" },
    { "PUT", CMS "/zz", "application/json", "{\"metadata\":{\"name\":\"zz\"}}", 404, "NotFound",
      NULL },
    { "PUT", CMS "/a", "application/json", "{\"metadata\":{\"name\":\"zz\"}}", 400, "BadRequest",
      "the name of the object (zz) does not match the name on the URL (a)" },
    { "PUT", CMS "/a", "application/json", "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}", 409,
      "Conflict", NULL },
    { "PUT", CMS "/a", "application/json",
      "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}", 409, "Conflict",
      "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
      "apply your changes to the latest version and try again" },
    { "PATCH", CMS "/a", "application/json", "{}", 415, "UnsupportedMediaType",
      "415: Unsupported Media Type" },
    { "PATCH", CMS "/a", "application/apply-patch+yaml", "{}", 422, "Invalid", NULL },
    { "PATCH", CMS "/a", MERGE, "[]", 400, "BadRequest", NULL },
    { "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"name\":\"q\"}}", 400, "BadRequest", NULL },
    { "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, "Conflict",
      NULL },
    { "PATCH", CMS "/a", "application/json-patch+json",
      "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"no\"}]", 422, "Invalid", NULL },
    { "GET", CMS "?limit=x", NULL, NULL, 400, "BadRequest",
      "strconv.ParseInt: parsing \"x\": invalid syntax" },
    { "GET", CMS "?continue=abc", NULL, NULL, 400, "BadRequest", NULL },
    { "GET", CMS "?resourceVersion=999", NULL, NULL, 504, "Timeout", NULL },
    { "GET", CMS "?resourceVersionMatch=Exact", NULL, NULL, 422, "Invalid", NULL },
    { "GET", CMS "?labelSelector=%21%21", NULL, NULL, 400, "BadRequest", NULL },
    { "GET", CMS "?fieldSelector=data.x%3D1", NULL, NULL, 400, "BadRequest",
      "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"" },
    { "GET", CMS "?sendInitialEvents=true", NULL, NULL, 422, "Invalid", NULL },
    { "DELETE", CMS "/a?dryRun=Foo", NULL, NULL, 422, "Invalid", NULL },
    { "DELETE", "/api/v1/namespaces/default", NULL, NULL, 403, "Forbidden",
      "namespaces \"default\" is forbidden: this namespace may not be deleted" },
};

static void test_refusals_have_code_reason_and_words(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 4);
    fixture_cm(&r, "a", "");
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        int got = fixture_do(&r, refusals[i].method, refusals[i].target, refusals[i].type,
                             refusals[i].body);
        if (got != refusals[i].status || !streq(fixture_str(&r, "reason"), refusals[i].reason) ||
            (refusals[i].message && !streq(fixture_str(&r, "message"), refusals[i].message)))
            fail_msg("%s %s %s: %s", refusals[i].method, refusals[i].target,
                     str_or(refusals[i].body, ""), r.text.data);
        assert_string_equal(fixture_str(&r, "kind"), "Status");
        assert_int_equal(kj_i64_or(fixture_val(&r, "code"), 0), got);
    }
}

static void test_update_replaces_and_keeps_identity(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char uid[40];
    (void)state;
    fixture_init(&r, 5);
    fixture_cm(&r, "a", "");
    (void)snprintf(uid, sizeof uid, "%s", fixture_str(&r, "metadata.uid"));
    assert_int_equal(
        fixture_put(&r, CMS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"y\":\"2\"}}"), 200);
    assert_string_equal(fixture_str(&r, "metadata.uid"), uid);
    assert_string_equal(fixture_str(&r, "data.y"), "2");
    assert_string_equal(fixture_str(&r, "data.k"), "");
    assert_true(*fixture_str(&r, "metadata.creationTimestamp"));
}

static void test_an_update_that_changes_nothing_keeps_the_version(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char rev[24];
    (void)state;
    fixture_init(&r, 6);
    fixture_cm(&r, "a", "\"l\":\"1\"");
    (void)snprintf(rev, sizeof rev, "%s", fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"v\"}}"), 200);
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"w\"}}"), 200);
    assert_string_not_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
}

static void test_patches(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 7);
    fixture_cm(&r, "a", "");
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":null,\"n\":\"1\"}}"), 200);
    assert_string_equal(fixture_str(&r, "data.n"), "1");
    assert_string_equal(fixture_str(&r, "data.k"), "");
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", "application/json-patch+json",
                                "[{\"op\":\"add\",\"path\":\"/data/j\",\"value\":\"2\"}]"),
                     200);
    assert_string_equal(fixture_str(&r, "data.j"), "2");
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", "application/strategic-merge-patch+json",
                                "{\"metadata\":{\"labels\":{\"s\":\"3\"}}}"),
                     200);
    assert_string_equal(fixture_str(&r, "metadata.labels.s"), "3");
}

static void test_dry_run_changes_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 8);
    assert_int_equal(fixture_post(&r, CMS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_true(*fixture_str(&r, "metadata.uid"));
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), "");
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_post(&r, CMS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}"), 409);
    assert_int_equal(fixture_delete(&r, CMS "/a?dryRun=All", NULL), 200);
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
}

static void test_status_and_spec_are_apart(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 9);
    assert_int_equal(fixture_post(&r, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(
        fixture_do(&r, "PATCH", "/api/v1/nodes/n/status", MERGE,
                   "{\"status\":{\"phase\":\"Running\"},\"spec\":{\"unschedulable\":true}}"),
        200);
    assert_string_equal(fixture_str(&r, "status.phase"), "Running");
    assert_that(kj_type(fixture_val(&r, "spec.unschedulable")), ==, KJ_ABSENT);
    assert_int_equal(
        fixture_do(&r, "PATCH", "/api/v1/nodes/n", MERGE,
                   "{\"status\":{\"phase\":\"Pending\"},\"spec\":{\"unschedulable\":true}}"),
        200);
    assert_string_equal(fixture_str(&r, "status.phase"), "Running");
    assert_true(kj_bool(fixture_val(&r, "spec.unschedulable"), false));
}

static void test_reviews_are_answered(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 10);
    assert_int_equal(fixture_post(&r, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                  "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"}}}"),
                     201);
    assert_true(kj_bool(fixture_val(&r, "status.allowed"), false));
    assert_int_equal(fixture_post(&r, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"),
                     201);
    assert_string_equal(fixture_str(&r, "status.userInfo.username"), "admin");
    assert_int_equal(fixture_get(&r, "/apis/authentication.k8s.io/v1/selfsubjectreviews"), 405);
}

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

static void test_scale_reads_and_writes_replicas(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 12);
    assert_int_equal(
        fixture_post(
            &r, DEPLOYMENTS,
            "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,\"selector\":"
            "{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":"
            "{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
        201);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_int_equal(fixture_get(&r, DEPLOYMENTS "/d/scale"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Scale");
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 2);
    assert_string_equal(fixture_str(&r, "status.selector"), "a=b");
    assert_int_equal(
        fixture_do(&r, "PATCH", DEPLOYMENTS "/d/scale", MERGE, "{\"spec\":{\"replicas\":5}}"), 200);
    assert_int_equal(
        fixture_do(&r, "PATCH", DEPLOYMENTS "/d/scale", MERGE, "{\"spec\":{\"replicas\":-5}}"),
        422);
    assert_string_equal(fixture_str(&r, "details.kind"), "Scale");
    assert_int_equal(fixture_get(&r, DEPLOYMENTS "/d"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 5);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 2);
    /* Labels are not spec. */
    assert_int_equal(fixture_do(&r, "PATCH", DEPLOYMENTS "/d", MERGE,
                                "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"),
                     200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 2);
}

static void test_owners_that_are_named_twice(void **state)
{
#define OWNER(uid) "{'apiVersion':'v1','kind':'Pod','name':'p','uid':'" uid "'}"
#define OWNED(...) "{'metadata':{'name':'o','ownerReferences':[" __VA_ARGS__ "]}}"
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(
        fixture_post(&r, CMS, fixture_json(OWNED(OWNER("1") "," OWNER("2") "," OWNER("1")))), 201);
    assert_int_equal(kj_len(fixture_val(&r, "metadata.ownerReferences")), 2);
    assert_true(str_starts(r.warnings, ".metadata.ownerReferences contains duplicate entries; "));
    assert_non_null(strstr(r.warnings, "duplicate UID(s) observed: 1;"));
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/o", MERGE, fixture_json(OWNED(OWNER("3") "," OWNER("3")))),
        200);
    assert_int_equal(kj_len(fixture_val(&r, "metadata.ownerReferences")), 1);
    assert_non_null(strstr(r.warnings, " after mutating admission happens; "));
#undef OWNER
#undef OWNED
}

static void test_unknown_fields_strict_warn_ignore(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 13);
    assert_int_equal(fixture_post(&r, CMS "?fieldValidation=Strict",
                                  "{\"metadata\":{\"name\":\"a\"},\"foo\":1}"),
                     400);
    assert_string_equal(fixture_str(&r, "message"),
                        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict "
                        "decoding error: unknown field \"foo\"");
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"},\"foo\":1}"), 201);
    assert_string_equal(r.warnings, "unknown field \"foo\";");
    assert_that(kj_type(fixture_val(&r, "foo")), ==, KJ_ABSENT);
    assert_int_equal(fixture_post(&r, CMS "?fieldValidation=Ignore",
                                  "{\"metadata\":{\"name\":\"b\"},\"foo\":1}"),
                     201);
    assert_string_equal(r.warnings, "");
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a?fieldValidation=Strict", MERGE, "{\"foo\":1}"),
                     422);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"y\":3}}"), 422);
}

static void test_a_lease_needs_its_version_or_is_made(void **state)
{
    static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 14);
    assert_int_equal(fixture_put(&r, leases, "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}"), 201);
    assert_int_equal(
        fixture_put(&r, leases,
                    "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"x\"}}"),
        422);
    assert_string_equal(fixture_str(&r, "message"),
                        "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: "
                        "Invalid value: 0: must be specified for an update");
}

static void test_a_failed_commit_is_an_error_and_leaves_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 11);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_that(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"}}"), >=, 500);
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    fixture_cm(&r, "a", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_create_fills_in_what_the_server_owns),
    cmocka_unit_test(test_create_twice_is_already_exists),
    cmocka_unit_test(test_generate_name),
    cmocka_unit_test(test_refusals_have_code_reason_and_words),
    cmocka_unit_test(test_update_replaces_and_keeps_identity),
    cmocka_unit_test(test_an_update_that_changes_nothing_keeps_the_version),
    cmocka_unit_test(test_patches),
    cmocka_unit_test(test_dry_run_changes_nothing),
    cmocka_unit_test(test_status_and_spec_are_apart),
    cmocka_unit_test(test_reviews_are_answered),
    cmocka_unit_test(test_scale_reads_and_writes_replicas),
    cmocka_unit_test(test_unknown_fields_strict_warn_ignore),
    cmocka_unit_test(test_owners_that_are_named_twice),
    cmocka_unit_test(test_a_lease_needs_its_version_or_is_made),
    cmocka_unit_test(test_a_failed_commit_is_an_error_and_leaves_nothing),
};

FIXTURE_MAIN(tests)
