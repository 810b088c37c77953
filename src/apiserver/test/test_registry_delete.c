/* test_registry_delete.c - preconditions, finalizers, propagation, namespaces, collections. */
#include "apiserver/test/api_fixture.h"

static void test_delete_answers_with_a_status(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
    assert_string_equal(fixture_str(&r, "status"), "Success");
    assert_string_equal(fixture_str(&r, "details.name"), "a");
    assert_string_equal(fixture_str(&r, "details.kind"), "configmaps");
    assert_int_equal(strlen(fixture_str(&r, "details.uid")), 36);
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 404);
}

static void test_preconditions(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char body[200];
    (void)state;
    fixture_init(&r, 2);
    fixture_cm(&r, "a", "");
    (void)snprintf(body, sizeof body,
                   "{\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
                   fixture_str(&r, "metadata.uid"), fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_delete(&r, CMS "/a", "{\"preconditions\":{\"uid\":\"x\"}}"), 409);
    assert_string_equal(fixture_str(&r, "details.kind"), "ConfigMap");
    assert_int_equal(
        fixture_delete(&r, CMS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"), 409);
    assert_int_equal(fixture_delete(&r, CMS "/a", body), 200);
}

static void test_finalizers_hold_an_object(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(
        fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/f\"]}}"), 201);
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
    assert_string_equal(fixture_str(&r, "kind"), "ConfigMap");
    assert_true(*fixture_str(&r, "metadata.deletionTimestamp"));
    char rev[24];
    (void)snprintf(rev, sizeof rev, "%s", fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200); /* again: nothing changes */
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE,
                                "{\"metadata\":{\"finalizers\":[\"x.io/f\",\"x.io/g\"]}}"),
                     422);
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
}

static void test_jobs_leave_their_pods_and_say_so(void **state)
{
    static const char path[] = "/apis/batch/v1/namespaces/default/jobs";
    CLEANUP(fixture_fini) struct fixture r;
    char one[100];

    (void)state;
    fixture_init(&r, 3);
    for (char name = 'a'; name <= 'c'; name++) {
        char body[300];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'%c'},'spec':{'template':{'spec':{'restartPolicy':"
                       "'Never','containers':[{'name':'c','image':'x'}]}}}}",
                       name);
        assert_int_equal(fixture_post(&r, path, fixture_json(body)), 201);
    }
    (void)snprintf(one, sizeof one, "%s/a", path);
    assert_int_equal(fixture_delete(&r, one, NULL), 200);
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "metadata.finalizers"), 0), ""), "orphan");
    assert_true(
        str_starts(r.warnings, "child pods are preserved by default when jobs are deleted"));
    (void)snprintf(one, sizeof one, "%s/b?propagationPolicy=Background", path);
    assert_int_equal(fixture_delete(&r, one, NULL), 200);
    assert_string_equal(r.warnings, "");
    assert_int_equal(fixture_delete(&r, path, NULL), 200);
    assert_true(str_starts(r.warnings, "child pods are preserved"));
    assert_int_equal(fixture_get(&r, path), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 2); /* a and c wait for the collector */
}

static void test_propagation_policies_are_finalizers(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 4);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_delete(&r, CMS "/a?propagationPolicy=Foreground", NULL), 200);
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "metadata.finalizers"), 0), ""),
                        "foregroundDeletion");
    assert_int_equal(fixture_delete(&r, CMS "/a", "{\"propagationPolicy\":\"Background\"}"), 200);
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    fixture_cm(&r, "b", "");
    assert_int_equal(fixture_delete(&r, CMS "/b", "{\"orphanDependents\":true}"), 200);
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "metadata.finalizers"), 0), ""), "orphan");
    assert_int_equal(fixture_delete(&r, CMS "/b", "{\"propagationPolicy\":\"Foo\"}"), 422);
    assert_string_equal(fixture_str(&r, "details.kind"), "DeleteOptions");
}

static void test_a_terminating_namespace_takes_nothing_new(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 5);
    assert_int_equal(fixture_post(&r, "/api/v1/namespaces",
                                  "{\"metadata\":{\"name\":\"n\",\"finalizers\":[\"x.io/f\"]}}"),
                     201);
    assert_int_equal(fixture_delete(&r, "/api/v1/namespaces/n", NULL), 200);
    assert_string_equal(fixture_str(&r, "status.phase"), "Terminating");
    assert_int_equal(
        fixture_post(&r, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"a\"}}"),
        403);
    assert_string_equal(
        fixture_str(&r, "message"),
        "configmaps \"a\" is forbidden: unable to create new content in namespace n "
        "because it is being terminated");
}

static void test_delete_collection_with_a_selector(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 6);
    fixture_cm(&r, "a", "\"x\":\"1\"");
    fixture_cm(&r, "b", "");
    fixture_cm(&r, "c", "\"x\":\"1\"");
    assert_int_equal(fixture_delete(&r, CMS "?labelSelector=x%3D1", NULL), 200);
    assert_string_equal(fixture_str(&r, "kind"), "ConfigMapList");
    assert_int_equal(kj_len(fixture_val(&r, "items")), 2);
    fixture_get(&r, CMS);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(fixture_delete(&r, CMS, NULL), 200);
    fixture_get(&r, CMS);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
    assert_int_equal(fixture_delete(&r, CMS, NULL), 200); /* of nothing */
}

/* The client goes away while a write is on its way. */
static void test_cancelled_calls_leave_no_trace_but_their_effect(void **state)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 7);
    r.answered = false;
    api_cancel(fixture_start(&r, &sink, &r, "POST", CMS, NULL, "{\"metadata\":{\"name\":\"a\"}}"));
    fixture_cm(&r, "b", "");
    r.answered = false;
    api_cancel(fixture_start(&r, &sink, &r, "DELETE", CMS, NULL, NULL));
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_false(r.answered);
    fixture_get(&r, CMS);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
}

#define POD(name, extra)                                     \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" extra \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static void test_a_bound_pod_waits_for_its_kubelet(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 8);
    assert_int_equal(fixture_post(&r, PODS, POD("free", "")), 201);
    assert_int_equal(fixture_post(&r, PODS, POD("bound", "\"nodeName\":\"n1\",")), 201);
    fixture_watch(&r, &w,
                  PODS "?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    assert_int_equal(fixture_delete(&r, PODS "/free", NULL), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Pod"); /* pods come back, not a Status */
    assert_int_equal(fixture_get(&r, PODS "/free"), 404);
    assert_int_equal(fixture_delete(&r, PODS "/bound", NULL), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.deletionGracePeriodSeconds"), 0), 30);
    assert_string_equal(fixture_str(&r, "metadata.deletionTimestamp"), "2025-11-15T09:47:11Z");
    assert_int_equal(fixture_delete(&r, PODS "/bound?gracePeriodSeconds=5", NULL), 200);
    assert_string_equal(fixture_str(&r, "metadata.deletionTimestamp"), "2025-11-15T09:46:46Z");
    assert_int_equal(fixture_delete(&r, PODS "/bound?gracePeriodSeconds=60", NULL), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.deletionGracePeriodSeconds"), 0), 5);
    assert_int_equal(fixture_delete(&r, PODS "/bound", "{\"gracePeriodSeconds\":0}"), 200);
    assert_int_equal(fixture_get(&r, PODS "/bound"), 404);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_string_equal(w.log, "DELETED free;MODIFIED bound;MODIFIED bound;DELETED bound;");
    api_cancel(w.c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_delete_answers_with_a_status),
    cmocka_unit_test(test_preconditions),
    cmocka_unit_test(test_finalizers_hold_an_object),
    cmocka_unit_test(test_propagation_policies_are_finalizers),
    cmocka_unit_test(test_jobs_leave_their_pods_and_say_so),
    cmocka_unit_test(test_a_terminating_namespace_takes_nothing_new),
    cmocka_unit_test(test_delete_collection_with_a_selector),
    cmocka_unit_test(test_cancelled_calls_leave_no_trace_but_their_effect),
    cmocka_unit_test(test_a_bound_pod_waits_for_its_kubelet),
};

FIXTURE_MAIN(tests)
