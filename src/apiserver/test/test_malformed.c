/* test_malformed.c - paths, queries and bodies that mean nothing: what is said, and in which words.
 *
 * tests/api/malformed*.py asks for the same of any server, more broadly; here are the parsers.
 */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

#define OLD_WATCH "/api/v1/watch/namespaces/default/configmaps/a"
#define JSON_BODY "application/json"
#define STRATEGIC "application/strategic-merge-patch+json"

static const struct {
    const char *method, *target, *type, *body;
    int status;
    const char *message; /* NULL: plain text */
} list[] = {
    /* paths */
    { "GET", "//api/v1/pods", NULL, NULL, 404, NULL },
    { "GET", "/apis//v1/pods", NULL, NULL, 404, NULL },
    { "GET", "/api//v1/pods", NULL, NULL, 404, "the server could not find the requested resource" },
    { "GET", "/api/v1//pods", NULL, NULL, 404, "the server could not find the requested resource" },
    { "GET", "/api/v1/namespaces/../pods", NULL, NULL, 404,
      "the server could not find the requested resource" },
    { "GET", CMS "/..", NULL, NULL, 400, "Name parameter invalid: \"..\": may not be '..'" },
    { "GET", CMS "/%2e", NULL, NULL, 400, "Name parameter invalid: \".\": may not be '.'" },
    { "GET", CMS "/a%25b", NULL, NULL, 400,
      "Name parameter invalid: \"a%b\": may not contain '%'" },
    { "GET", CMS "/%zz", NULL, NULL, 400, NULL },
    { "GET", "/healthz/nothing", NULL, NULL, 404, NULL },
    { "GET", "/version/x", NULL, NULL, 404, "the server could not find the requested resource" },
    { "GET", "/api/v2", NULL, NULL, 404, "the server could not find the requested resource" },
    { "POST", "/api/v1", JSON_BODY, "{}", 405,
      "the server does not allow this method on the requested resource" },
    /* queries */
    { "GET", CMS "?timeout=1x", NULL, NULL, 400,
      "invalid timeout specified in the request URL - invalid duration \"1x\"" },
    { "GET", CMS "/a?resourceVersion=x", NULL, NULL, 500,
      "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax" },
    { "GET", CMS "?watch=1&continue=x", NULL, NULL, 422,
      "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
      "resourceVersionMatch is forbidden when continue is provided" },
    { "GET", CMS "?resourceVersionMatch=x", NULL, NULL, 422,
      "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: "
      "resourceVersionMatch is forbidden unless resourceVersion is provided, "
      "resourceVersionMatch: Unsupported value: \"x\": supported values: \"Exact\", "
      "\"NotOlderThan\", \"\"]" },
    { "POST", CMS "?fieldManager=a%0ab", JSON_BODY, "{\"metadata\":{\"name\":\"b\"}}", 422,
      "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\nb\": invalid "
      "character U+000A (at position 1)" },
    { "PATCH", CMS "/a?force=false", MERGE, "{}", 422,
      "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for "
      "non-apply patch" },
    { "PATCH", CMS "/a?force=true", "text/plain", "{}", 415, "415: Unsupported Media Type" },
    /* {"v":"meta.k8s.io/v1","rv":2,"start":"../x"} */
    { "GET", CMS "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Miwic3RhcnQiOiIuLi94In0", NULL,
      NULL, 400,
      "invalid continue token: continue key is not valid: incorrect encoded start "
      "resourceVersion or key" },
    /* bodies */
    { "POST", CMS, JSON_BODY, "null", 422,
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
      "required" },
    { "POST", CMS, JSON_BODY, "{\"metadata\":{\"name\":\"b\",\"generation\":-1}}", 422,
      "ConfigMap \"b\" is invalid: metadata.generation: Invalid value: -1: must be greater than "
      "or equal to 0" },
    { "POST", CMS, JSON_BODY, "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"5\"]}}", 422,
      "ConfigMap \"b\" is invalid: metadata.finalizers[0]: Invalid value: \"5\": name is neither a "
      "standard finalizer name nor is it fully qualified" },
    { "DELETE", CMS "/a", JSON_BODY, "{\"gracePeriodSeconds\":1.5}", 400,
      "json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type "
      "int64" },
    { "PATCH", CMS "/a", STRATEGIC, "{\"data\":{\"$patch\":\"twist\"}}", 500,
      "unknown patch type: twist" },
    { "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON_BODY, "{}", 422,
      ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: "
      "exactly one of nonResourceAttributes or resourceAttributes must be specified" },
};

static void test_what_means_nothing_is_refused_in_these_words(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    fixture_cm(&r, "a", "");
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        int got = fixture_do(&r, list[i].method, list[i].target, list[i].type, list[i].body);
        if (got != list[i].status ||
            !streq(fixture_str(&r, "message"), str_or(list[i].message, "")))
            fail_msg("%s %s: %d %s", list[i].method, list[i].target, got,
                     fixture_str(&r, "message"));
    }
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
}

/* What is stored must be readable inside of lists and events too. */
static void test_what_is_stored_can_be_listed(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *path = "/apis/apps/v1/namespaces/default/controllerrevisions";

    (void)state;
    fixture_init(&r, 1);
    for (int depth = 480; depth < 512; depth++) {
        char name[16];
        (void)snprintf(name, sizeof name, "r%d", depth);
        strbuf_reset(&b);
        strbuf_appendf(&b, "{\"metadata\":{\"name\":\"%s\"},\"revision\":1,\"data\":", name);
        for (int i = 0; i < depth; i++)
            strbuf_append(&b, "{\"a\":");
        strbuf_append(&b, "1");
        for (int i = 0; i < depth + 1; i++)
            strbuf_append(&b, "}");
        int code = fixture_post(&r, path, b.data);
        if (code == 400)
            assert_contains(fixture_str(&r, "message"), "nests too deep: more than 496 levels");
        assert_int_equal(code, depth < 496 ? 201 : 400);
    }
    assert_int_equal(fixture_get(&r, path), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 16);
    assert_int_equal(fixture_delete(&r, path, NULL), 200);
    assert_int_equal(fixture_get(&r, path), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
}

static void test_a_name_does_not_end_at_a_nul(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 2);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\\u0000b\"}}"), 422);
    const struct kj_val *cause = kj_at(fixture_val(&r, "details.causes"), 0);
    assert_string_equal(kj_str_or(kj_get(cause, "field"), ""), "metadata.name");
    assert_contains(kj_str_or(kj_get(cause, "message"), ""), "\"a\\x00b\"");
}

static void test_an_old_watch_of_one_object_sees_only_that_one(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 3);
    fixture_watch(&r, &w, OLD_WATCH);
    assert_int_equal(w.opened, 1);
    fixture_cm(&r, "b", "");
    fixture_cm(&r, "a", "");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_string_equal(w.log, "ADDED a;");
    api_cancel(w.c);
}

static void test_a_patch_cannot_make_another_kind(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char rev[24];
    (void)state;
    fixture_init(&r, 4);
    fixture_cm(&r, "a", "");
    (void)snprintf(rev, sizeof rev, "%s", fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"kind\":\"Pod\"}"), 422);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"apiVersion\":\"v2\"}"), 422);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", STRATEGIC, "{\"kind\":\"Pod\"}"), 200);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"kind\":null}"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "ConfigMap");
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
}

static void test_a_term_without_field_and_value_selects_everything(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 5);
    fixture_cm(&r, "a", "");
    assert_int_equal(fixture_get(&r, CMS "?fieldSelector=%3D"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_means_nothing_is_refused_in_these_words),
    cmocka_unit_test(test_what_is_stored_can_be_listed),
    cmocka_unit_test(test_a_name_does_not_end_at_a_nul),
    cmocka_unit_test(test_an_old_watch_of_one_object_sees_only_that_one),
    cmocka_unit_test(test_a_patch_cannot_make_another_kind),
    cmocka_unit_test(test_a_term_without_field_and_value_selects_everything),
};

FIXTURE_MAIN(tests)
