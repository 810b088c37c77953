/* test_conditions.c - matchConditions of webhooks: where they are written, and which calls they
 * spare. */
#include "apiserver/test/hook_fixture.h"

#define CM(name) "{\"metadata\":{\"name\":\"" name "\"},\"data\":{\"k\":\"v\"}}"

/* Conditions with these expressions, named c0, c1... */
static void append_conditions(struct strbuf *b, const char *const *expressions)
{
    strbuf_append(b, "\"matchConditions\":[");
    for (size_t i = 0; expressions[i]; i++) {
        struct kjw w = kjw_to(b);
        strbuf_appendf(b, "%s{\"name\":\"c%zu\",\"expression\":", i ? "," : "", i);
        kjw_str(&w, NULL, expressions[i]);
        strbuf_appendc(b, '}');
    }
    strbuf_append(b, "],");
}

static int config_post(struct fixture *r, const char *kind, const char *more,
                       const char *const *expressions)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append(&b, "{\"metadata\":{\"name\":\"v\"},\"webhooks\":[{\"name\":\"a.ex.io\","
                      "\"clientConfig\":{\"url\":\"https://127.0.0.1:9/ok\"}," ALL_RULES);
    strbuf_append(&b, more);
    append_conditions(&b, expressions);
    strbuf_append(&b, "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}]}");
    return fixture_post(r, kind, b.data);
}

static const struct {
    const char *expressions[4];
    bool asked;
} hold[] = {
    { { "true" }, true },
    { { "false" }, false },
    { { "true", "false" }, false },
    { { "true", "true", "true" }, true },
    { { "object.metadata.name == 'a'" }, true },
    { { "object.kind == 'ConfigMap' && object.apiVersion == 'v1'" }, true },
    { { "object.data.k == 'w'" }, false },
    { { "has(object.data.nothing)" }, false },
    { { "oldObject == null" }, true },
    { { "namespaceObject == null" }, true },
    { { "request.operation == 'CREATE' && request.name == 'a'" }, true },
    { { "request.namespace == 'default' && request.resource.resource == 'configmaps'" }, true },
    { { "request.kind.kind == 'ConfigMap' && request.requestKind.version == 'v1'" }, true },
    { { "request.userInfo.username == 'admin'" }, true },
    { { "'system:masters' in request.userInfo.groups" }, true },
    { { "has(request.subResource)" }, false },
    { { "!request.dryRun && request.options.kind == 'CreateOptions'" }, true },
    { { "authorizer.group('').resource('pods').namespace('x').check('get').allowed()" }, true },
    { { "authorizer.requestResource.check('create').allowed()" }, true },
    { { "authorizer.path('/healthz').check('get').allowed()" }, true },
    /* One that is false decides over those that nobody knows. */
    { { "object.data.nothing == 'x'", "false" }, false },
    { { "false", "object.data.nothing == 'x'" }, false },
};

static void test_calls_that_conditions_spare(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hold); i++) {
        for (int k = 0; k < 2; k++) {
            CLEANUP(fixture_fini) struct fixture r;
            CLEANUP(hook_server_fini) struct hook_server h;
            fixture_init(&r, 1 + i);
            hook_server_init(&h, &r);
            if (config_post(&r, k ? MUTATING : VALIDATING, "", hold[i].expressions) != 201)
                fail_msg("%s", r.text.data);
            if (fixture_post(&r, CMS, CM("a")) != 201)
                fail_msg("%s: %s", hold[i].expressions[0], r.text.data);
            if (h.n != hold[i].asked)
                fail_msg("%s: asked %zu times", hold[i].expressions[0], h.n);
        }
    }
}

static void test_updates_and_deletions_show_the_old_object(void **state)
{
    static const char *const expressions[] = {
        "request.operation != 'UPDATE' || object.data.k != oldObject.data.k",
        "request.operation != 'DELETE' || (object == null && oldObject.data.k == '2')", NULL
    };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 90);
    hook_server_init(&h, &r);
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    assert_int_equal(config_post(&r, VALIDATING, "", expressions), 201);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"l\":\"2\"}}"), 200);
    assert_int_equal(h.n, 0);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"2\"}}"), 200);
    assert_int_equal(h.n, 1);
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
    assert_int_equal(h.n, 2);
}

/* Two nested loops over constants, which cost about two for each turn of the inner one. */
#define MUCH(n) "lists.range(" n ").all(i, lists.range(1000).all(j, true))"

static const struct {
    const char *expressions[4];
    const char *why;
} failures[] = {
    { { "object.data.nothing == 'x'" },
      "expression 'object.data.nothing == 'x'' resulted in error: no such key: nothing" },
    { { "object.a == 1", "true", "object.b == 1" },
      "[expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' "
      "resulted in error: no such key: b]" },
    { { "object.a == 1", "object.a == 1" },
      "expression 'object.a == 1' resulted in error: no such key: a" },
    { { "object.data == 1" }, NULL },
    { { "object.data + 1 == 2" }, "no such overload" },
    { { "request.subResource == ''" }, "no such key: subResource" },
    { { MUCH("2000") }, "operation cancelled: actual cost limit exceeded" },
    { { MUCH("400"), MUCH("400"), MUCH("400") },
      "configmaps \"a\" is forbidden: validation failed due to running out of cost budget, no "
      "further validation rules will be run" },
    { { "false", MUCH("2000"), MUCH("2000"), MUCH("2000") }, "running out of cost budget" },
};

static void test_failures_refuse_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(hook_server_fini) struct hook_server h;
        const char *expressions[5] = { 0 };
        memcpy(expressions, failures[i].expressions, sizeof failures[i].expressions);
        fixture_init(&r, 100 + i);
        hook_server_init(&h, &r);
        if (config_post(&r, VALIDATING, "", expressions) != 201)
            fail_msg("%s", r.text.data);
        int status = fixture_post(&r, CMS, CM("a"));
        if (failures[i].why) {
            assert_int_equal(status, 403);
            assert_string_equal(fixture_str(&r, "reason"), "Forbidden");
            assert_string_equal(fixture_str(&r, "details.name"), "a");
            assert_string_equal(fixture_str(&r, "details.kind"), "configmaps");
            if (!strstr(fixture_str(&r, "message"), failures[i].why))
                fail_msg("%s", fixture_str(&r, "message"));
        } else {
            assert_int_equal(status, 201);
        }
        assert_int_equal(h.n, 0);
        assert_int_equal(fixture_delete(&r, VALIDATING "/v", NULL), 200);
        assert_int_equal(config_post(&r, MUTATING, "\"failurePolicy\":\"Ignore\",", expressions),
                         201);
        (void)fixture_delete(&r, CMS "/a", NULL);
        assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
        assert_int_equal(h.n, 0);
    }
}

static const struct {
    const char *conditions, *why;
} refused[] = {
    { "{\"name\":\"a\",\"expression\":\" \"}", "[0].expression: Required value" },
    { "{\"name\":\"\",\"expression\":\"true\"}", "[0].name: Required value" },
    { "{\"name\":\"a b\",\"expression\":\"true\"}", "[0].name: Invalid value: \"a b\": name part" },
    { "{\"name\":\"a\",\"expression\":\"1\"}",
      "[0].expression: Invalid value: \"1\": must evaluate to bool but got int" },
    { "{\"name\":\"a\",\"expression\":\"object.x\"}", "must evaluate to bool but got dyn" },
    { "{\"name\":\"a\",\"expression\":\"true &&\"}", "compilation failed: ERROR: <input>:1:8" },
    { "{\"name\":\"a\",\"expression\":\"self.a\"}", "undeclared reference to 'self'" },
    { "{\"name\":\"a\",\"expression\":\"params.a\"}", "undeclared reference to 'params'" },
    { "{\"name\":\"a\",\"expression\":\"variables.a\"}", "undeclared reference to 'variables'" },
    { "{\"name\":\"a\",\"expression\":\"request.nope == 1\"}", "undefined field 'nope'" },
    { "{\"name\":\"a\",\"expression\":\"request.userInfo.groups == 'x'\"}",
      "found no matching overload for '_==_' applied to '(list(string), string)'" },
};

static void test_what_cannot_be_written(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 200);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        strbuf_appendf(&b,
                       "{\"metadata\":{\"name\":\"v\"},\"webhooks\":[{\"name\":\"a.ex.io\","
                       "\"clientConfig\":{\"url\":\"https://127.0.0.1:9/ok\"},"
                       "\"matchConditions\":[%s],\"sideEffects\":\"None\","
                       "\"admissionReviewVersions\":[\"v1\"]}]}",
                       refused[i].conditions);
        assert_int_equal(fixture_post(&r, i % 2 ? MUTATING : VALIDATING, b.data), 422);
        if (!strstr(fixture_str(&r, "message"), refused[i].why) ||
            !strstr(fixture_str(&r, "message"), "webhooks[0].matchConditions[0]."))
            fail_msg("%s", fixture_str(&r, "message"));
    }
}

static void test_no_more_than_64_and_no_name_twice(void **state)
{
    static const char *expressions[67];
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 201);
    for (size_t i = 0; i < 65; i++)
        expressions[i] = "true";
    assert_int_equal(config_post(&r, VALIDATING, "", expressions), 422);
    assert_non_null(strstr(fixture_str(&r, "message"),
                           "matchConditions: Too many: 65: must have at most 64 items"));
    expressions[64] = NULL;
    assert_int_equal(config_post(&r, VALIDATING, "", expressions), 201);
    hook_config(&r, MUTATING, "m",
                HOOK("a", "ok", "\"matchConditions\":[{\"name\":\"a\",\"expression\":\"true\"}],"));
    assert_int_equal(
        fixture_do(&r, "PATCH", MUTATING "/m", "application/json-patch+json",
                   "[{\"op\":\"add\",\"path\":\"/webhooks/0/matchConditions/-\",\"value\":{"
                   "\"name\":\"a\",\"expression\":\"false\"}}]"),
        422);
    assert_non_null(
        strstr(fixture_str(&r, "message"), "matchConditions[1].name: Duplicate value: \"a\""));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_calls_that_conditions_spare),
    cmocka_unit_test(test_updates_and_deletions_show_the_old_object),
    cmocka_unit_test(test_failures_refuse_or_not),
    cmocka_unit_test(test_what_cannot_be_written),
    cmocka_unit_test(test_no_more_than_64_and_no_name_twice),
};

FIXTURE_MAIN(tests)
