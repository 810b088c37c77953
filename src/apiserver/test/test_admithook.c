/* test_admithook.c - webhooks: who is asked what, and what becomes of good and bad answers. */
#include "apiserver/test/hook_fixture.h"

#define CM(name) "{\"metadata\":{\"name\":\"" name "\"},\"data\":{\"k\":\"v\"}}"

static void test_one_is_asked_and_changes_the_object(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 1);
    hook_server_init(&h, &r);
    hook_config(&r, MUTATING, "m", HOOK("a", "label-x", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    assert_string_equal(fixture_str(&r, "data.x"), "1");
    assert_string_equal(fixture_str(&r, "data.k"), "v");
    assert_int_equal(h.n, 1);
    assert_string_equal(h.paths[0], "/label-x?timeout=10s");
    assert_string_equal(hook_asked(&h, 0, "apiVersion"), "admission.k8s.io/v1");
    assert_string_equal(hook_asked(&h, 0, "request.operation"), "CREATE");
    assert_string_equal(hook_asked(&h, 0, "request.kind.kind"), "ConfigMap");
    assert_string_equal(hook_asked(&h, 0, "request.resource.resource"), "configmaps");
    assert_string_equal(hook_asked(&h, 0, "request.namespace"), "default");
    assert_string_equal(hook_asked(&h, 0, "request.name"), "a");
    assert_string_equal(hook_asked(&h, 0, "request.userInfo.username"), "admin");
    assert_string_equal(hook_asked(&h, 0, "request.object.kind"), "ConfigMap");
    assert_string_equal(hook_asked(&h, 0, "request.object.metadata.uid"), ""); /* not yet */
    assert_string_equal(hook_asked(&h, 0, "request.options.kind"), "CreateOptions");
    assert_int_equal(kj_type(kj_path(kj_root(h.asked[0]), "request.oldObject")), KJ_NULL);
    /* Reads ask nobody, nor do writes of kinds that no rule names. */
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
    assert_int_equal(
        fixture_post(&r, "/api/v1/namespaces/default/secrets", "{\"metadata\":{\"name\":\"s\"}}"),
        201);
    assert_int_equal(h.n, 1);
}

static void test_refusals_keep_code_reason_and_details(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 2);
    hook_server_init(&h, &r);
    hook_config(&r, VALIDATING, "v", HOOK("a", "deny", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 418);
    assert_string_equal(fixture_str(&r, "message"),
                        "admission webhook \"a.ex.io\" denied the request: no");
    assert_string_equal(fixture_str(&r, "reason"), "Teapot");
    assert_string_equal(fixture_str(&r, "details.name"), "pot");
    assert_string_equal(r.warnings, "hot;");
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    assert_string_not_equal(hook_asked(&h, 0, "request.object.metadata.uid"), "");
}

static void test_deletions_show_the_old_object(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 3);
    hook_server_init(&h, &r);
    fixture_cm(&r, "a", "");
    fixture_cm(&r, "b", "");
    hook_config(&r, VALIDATING, "v", HOOK("a", "deny", ALL_RULES));
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 418);
    assert_int_equal(h.n, 1);
    assert_string_equal(hook_asked(&h, 0, "request.operation"), "DELETE");
    assert_string_equal(hook_asked(&h, 0, "request.oldObject.metadata.name"), "a");
    assert_int_equal(kj_type(kj_path(kj_root(h.asked[0]), "request.object")), KJ_NULL);
    assert_int_equal(fixture_delete(&r, CMS, NULL), 418); /* all of them, one by one */
    assert_true(h.n >= 3);
    assert_string_equal(hook_asked(&h, 1, "request.name"), "");
    assert_int_equal(fixture_get(&r, CMS "/b"), 200);
    /* A patch for what goes is an error of the webhook. */
    assert_int_equal(fixture_delete(&r, VALIDATING "/v", NULL), 200);
    hook_config(&r, MUTATING, "m", HOOK("m", "label-x", ALL_RULES));
    assert_int_equal(fixture_delete(&r, CMS "/b", NULL), 500);
    assert_contains(fixture_str(&r, "message"), "attempted to modify the object, which is not "
                                                "supported for this operation");
}

static const struct {
    const char *path, *message; /* of a failure that counts */
} failures[] = {
    { "hang", "failed to call webhook: Post \"https://127.0.0.1:9/hang?timeout=2s\": context "
              "deadline exceeded" },
    { "refuse", "failed to call webhook: Post \"https://127.0.0.1:9/refuse?timeout=2s\": dial tcp "
                "127.0.0.1:9: connect: connection refused" },
    { "cut", "failed to call webhook: Post \"https://127.0.0.1:9/cut?timeout=2s\": EOF" },
    { "sick", "failed to call webhook: an error on the server (\"out of order\") has prevented the "
              "request from succeeding" },
    { "garbage", "failed to call webhook: couldn't get version/kind; json parse error: " },
    { "liar", "received invalid webhook response: expected response.uid=" },
};

static void test_failures_count_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures) * 2; i++) {
        const char *path = failures[i / 2].path;
        bool ignore = i % 2;
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(hook_server_fini) struct hook_server h;
        char hook[600], want[400];
        fixture_init(&r, 10 + i);
        hook_server_init(&h, &r);
        (void)snprintf(
            hook, sizeof hook,
            "{\"name\":\"a.ex.io\",\"clientConfig\":{\"url\":\"https://127.0.0.1:9/%s\"},"
            "\"timeoutSeconds\":2,\"failurePolicy\":\"%s\"," ALL_RULES
            "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}",
            path, ignore ? "Ignore" : "Fail");
        hook_config(&r, i % 4 < 2 ? MUTATING : VALIDATING, "c", hook);
        r.patience = 3 * NSEC_PER_SEC;
        assert_int_equal(fixture_post(&r, CMS, CM("a")), ignore ? 201 : 500);
        (void)snprintf(want, sizeof want,
                       "Internal error occurred: failed calling webhook \"a.ex.io\": %s",
                       failures[i / 2].message);
        if (!ignore) {
            assert_contains(fixture_str(&r, "message"), want);
            assert_string_equal(fixture_str(&r, "reason"), "InternalError");
        }
    }
}

/* The whole request has a minute, or what its client gives it, however many are asked. */
static void test_a_request_is_answered_in_time(void **state)
{
    static const struct {
        const char *query;
        nsec_t after;
    } cases[] = { { "?timeout=1s", NSEC_PER_SEC },      { "?timeout=45s", 45 * NSEC_PER_SEC },
                  { "?timeout=0", 60 * NSEC_PER_SEC },  { "?timeout=-5s", 60 * NSEC_PER_SEC },
                  { "?timeout=1h", 60 * NSEC_PER_SEC }, { "", 60 * NSEC_PER_SEC } };
    CLEANUP(strbuf_fini) struct strbuf hooks = STRBUF_INIT;
    CLEANUP(hook_server_fini) struct hook_server h;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 60);
    hook_server_init(&h, &r);
    for (char name = 'a'; name < 'd'; name++)
        strbuf_appendf(&hooks,
                       "%s{\"name\":\"%c.ex.io\",\"clientConfig\":{\"url\":\"https://127.0.0.1:9/"
                       "hang\"},\"timeoutSeconds\":30,\"failurePolicy\":\"Ignore\"," ALL_RULES
                       "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}",
                       name > 'a' ? "," : "", name);
    hook_config(&r, MUTATING, "m", strbuf_str(&hooks));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(mem_free) char *path = xasprintf(CMS "%s", cases[i].query);
        nsec_t begin = loop_mono(r.loop);
        r.patience = 100 * NSEC_PER_SEC;
        assert_int_equal(fixture_post(&r, path, CM("a")), 504);
        assert_string_equal(fixture_str(&r, "reason"), "Timeout");
        assert_string_equal(fixture_str(&r, "message"),
                            "Timeout: request did not complete within the allotted timeout");
        assert_true(loop_mono(r.loop) - begin >= cases[i].after);
        assert_true(loop_mono(r.loop) - begin < cases[i].after + NSEC_PER_SEC);
        assert_int_equal(h.open, 0);
    }
}

static void test_patches_that_break_the_object(void **state)
{
    static const char *const paths[] = { HOOK("a", "broken", ALL_RULES),
                                         HOOK("a", "mistyped", ALL_RULES) };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(hook_server_fini) struct hook_server h;
        fixture_init(&r, 30 + i);
        hook_server_init(&h, &r);
        hook_config(&r, MUTATING, "m", paths[i]);
        assert_int_equal(fixture_post(&r, CMS, CM("a")), 500);
        assert_contains(fixture_str(&r, "message"), "Internal error occurred: ");
        assert_int_equal(fixture_get(&r, CMS "/a"), 404);
    }
}

/* managedFields that cannot be read any more are put back, with a warning; others are taken. */
static void test_webhooks_and_owners(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    const struct kj_val *list;

    (void)state;
    fixture_init(&r, 35);
    hook_server_init(&h, &r);
    hook_config(&r, MUTATING, "m", HOOK("a", "spoil-owners", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS "?fieldManager=me", CM("a")), 201);
    list = kj_path(kj_root(r.doc), "metadata.managedFields");
    assert_int_equal(kj_len(list), 1);
    assert_string_equal(kj_str_or(kj_get(kj_at(list, 0), "manager"), ""), "me");
    assert_string_equal(
        r.warnings,
        ".metadata.managedFields was in an invalid state after admission; this could be caused by "
        "an outdated mutating admission controller; please fix your requests: operation must be "
        "`Apply` or `Update`;");
    assert_int_equal(fixture_do(&r, "DELETE", MUTATING "/m", NULL, NULL), 200);
    hook_config(&r, MUTATING, "n", HOOK("a", "take-owners", ALL_RULES));
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/a?fieldManager=you", MERGE, "{\"data\":{\"k\":\"2\"}}"), 200);
    list = kj_path(kj_root(r.doc), "metadata.managedFields");
    assert_int_equal(kj_len(list), 1);
    assert_string_equal(kj_str_or(kj_get(kj_at(list, 0), "manager"), ""), "hook");
    assert_string_equal(r.warnings, "");
}

static void test_order_and_reinvocation(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 40);
    hook_server_init(&h, &r);
    hook_config(&r, MUTATING, "b", HOOK("b", "label-b", ALL_RULES));
    hook_config(&r, MUTATING, "a",
                HOOK("a1", "label-a1", ALL_RULES "\"reinvocationPolicy\":\"IfNeeded\",") "," HOOK(
                    "a2", "warn", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    assert_int_equal(h.n, 4);
    assert_string_equal(h.paths[0], "/label-a1?timeout=10s");
    assert_string_equal(h.paths[1], "/warn?timeout=10s");
    assert_string_equal(h.paths[2], "/label-b?timeout=10s");
    assert_string_equal(h.paths[3], "/label-a1?timeout=10s"); /* b came after it */
    assert_string_equal(hook_asked(&h, 3, "request.object.data.b"), "1");
    assert_string_equal(r.warnings, "mind the gap;");
}

static void test_validating_ones_are_asked_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 41);
    hook_server_init(&h, &r);
    hook_config(
        &r, VALIDATING, "v",
        HOOK("a", "ok", ALL_RULES) "," HOOK("b", "deny", ALL_RULES) "," HOOK("c", "ok", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 418);
    assert_int_equal(h.open_max, 3);
    assert_int_equal(h.n, 3);
}

static void test_dry_runs_ask_only_who_has_no_side_effects(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 42);
    hook_server_init(&h, &r);
    hook_config(&r, MUTATING, "m", HOOK("a", "label-x", ALL_RULES));
    assert_int_equal(fixture_post(&r, CMS "?dryRun=All", CM("a")), 201);
    assert_string_equal(fixture_str(&r, "data.x"), "1");
    assert_true(kj_bool(kj_path(kj_root(h.asked[0]), "request.dryRun"), false));
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
}

/* ---- while it waits -------------------------------------------------------------------------- */

static void on_other(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    (void)arg, (void)c, (void)json, (void)n;
    assert_int_equal(status, 200);
}

/* Somebody else writes the object while the first question about it is open. */
static void write_beside(struct hook_server *h, void *arg)
{
    static const struct api_sink sink = { .reply = on_other };

    h->on_ask = NULL;
    fixture_start(arg, &sink, NULL, "PATCH", CMS "/a", MERGE, "{\"data\":{\"o\":\"w\"}}");
}

static void test_asked_again_when_the_object_changed(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 50);
    hook_server_init(&h, &r);
    fixture_cm(&r, "a", "");
    hook_config(
        &r, MUTATING, "m",
        HOOK("a", "label-x", ALL_RULES "\"objectSelector\":{\"matchLabels\":{\"t\":\"1\"}},"));
    h.delay = 20 * NSEC_PER_MSEC;
    h.on_ask = write_beside;
    h.arg = &r;
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"labels\":{\"t\":\"1\"}}}"), 200);
    assert_string_equal(fixture_str(&r, "data.o"), "w"); /* neither write was lost */
    assert_string_equal(fixture_str(&r, "data.x"), "1");
    assert_int_equal(h.n, 2);
    assert_string_equal(hook_asked(&h, 1, "request.oldObject.data.o"), "w");
}

/* Somebody deletes the object while a question about its change is open. */
static void delete_beside(struct hook_server *h, void *arg)
{
    static const struct api_sink sink = { .reply = on_other };

    h->on_ask = NULL;
    fixture_start(arg, &sink, NULL, "DELETE", CMS "/a", NULL, "");
}

/* An apply that finds nothing any more makes a new object, of which nothing is the old one's. */
static void test_an_object_that_goes_meanwhile_is_made_anew(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    char uid[40];

    (void)state;
    fixture_init(&r, 53);
    hook_server_init(&h, &r);
    fixture_cm(&r, "a", "");
    (void)snprintf(uid, sizeof uid, "%s", fixture_str(&r, "metadata.uid"));
    hook_config(&r, VALIDATING, "v",
                HOOK("a", "ok",
                     "\"rules\":[{\"operations\":[\"CREATE\",\"UPDATE\"],\"apiGroups\":[\"\"],"
                     "\"apiVersions\":[\"v1\"],\"resources\":[\"configmaps\"]}],"));
    h.delay = 20 * NSEC_PER_MSEC;
    h.on_ask = delete_beside;
    h.arg = &r;
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a?fieldManager=me",
                                "application/apply-patch+yaml",
                                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, "
                                "data: {n: \"1\"}}"),
                     201);
    assert_int_equal(h.n, 2);
    assert_string_equal(hook_asked(&h, 0, "request.operation"), "UPDATE");
    assert_string_equal(hook_asked(&h, 1, "request.operation"), "CREATE");
    assert_true(*uid && *fixture_str(&r, "metadata.uid"));
    assert_string_not_equal(fixture_str(&r, "metadata.uid"), uid);
    assert_string_equal(fixture_str(&r, "data.n"), "1");
    assert_null(fixture_val(&r, "data.k"));
}

static void no_answer(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    (void)arg, (void)c, (void)status, (void)json, (void)n;
    fail_msg("an answer to nobody");
}

static void test_a_client_that_goes_takes_its_question_along(void **state)
{
    static const struct api_sink sink = { .reply = no_answer };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 51);
    hook_server_init(&h, &r);
    hook_config(&r, MUTATING, "m", HOOK("a", "label-x", ALL_RULES));
    hook_config(&r, VALIDATING, "v", HOOK("b", "hang", ALL_RULES));
    struct api_call *c = fixture_start(&r, &sink, NULL, "POST", CMS, "application/json", CM("a"));
    loop_advance(r.loop, 5 * NSEC_PER_MSEC);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.open, 1);
    api_cancel(c);
    assert_int_equal(h.open, 0);
    loop_advance(r.loop, 20 * NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
}

static void test_the_server_may_end_before_the_answer(void **state)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    CLEANUP(hook_server_fini) struct hook_server h;
    struct fixture r;
    (void)state;
    fixture_init(&r, 52);
    hook_server_init(&h, &r);
    hook_config(&r, VALIDATING, "v", HOOK("b", "hang", ALL_RULES));
    r.answered = false;
    fixture_start(&r, &sink, &r, "POST", CMS, "application/json", CM("a"));
    loop_advance(r.loop, 5 * NSEC_PER_MSEC);
    r.s = apiserver_free(r.s);
    assert_true(r.answered);
    assert_int_equal(r.status, 503);
    fixture_fini_p(&r);
}

/* ---- who is meant ---------------------------------------------------------------------------- */

#define RULE(ops, groups, versions, resources, more)                                             \
    "\"rules\":[{\"operations\":[" ops "],\"apiGroups\":[" groups "],\"apiVersions\":[" versions \
    "],\"resources\":[" resources "]" more "}],"

static const struct {
    const char *hook;
    bool create_cm, patch_cm, pod_status, namespace;
} rules[] = {
    { HOOK("a", "ok", RULE("\"CREATE\"", "\"\"", "\"v1\"", "\"configmaps\"", "")), 1, 0, 0, 0 },
    { HOOK("a", "ok", RULE("\"UPDATE\"", "\"\"", "\"v1\"", "\"configmaps\"", "")), 0, 1, 0, 0 },
    { HOOK("a", "ok", RULE("\"*\"", "\"*\"", "\"*\"", "\"*\"", "")), 1, 1, 0, 1 },
    { HOOK("a", "ok", RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\"", "")), 1, 1, 1, 1 },
    { HOOK("a", "ok", RULE("\"*\"", "\"*\"", "\"*\"", "\"pods/status\"", "")), 0, 0, 1, 0 },
    { HOOK("a", "ok", RULE("\"*\"", "\"*\"", "\"*\"", "\"*/status\"", "")), 0, 0, 1, 0 },
    { HOOK("a", "ok", RULE("\"*\"", "\"apps\"", "\"*\"", "\"*\"", "")), 0, 0, 0, 0 },
    { HOOK("a", "ok", RULE("\"*\"", "\"\"", "\"v2\"", "\"configmaps\"", "")), 0, 0, 0, 0 },
    { HOOK("a", "ok", RULE("\"*\"", "\"\"", "\"*\"", "\"*\"", ",\"scope\":\"Cluster\"")), 0, 0, 0,
      1 },
    { HOOK("a", "ok", RULE("\"*\"", "\"\"", "\"*\"", "\"*\"", ",\"scope\":\"Namespaced\"")), 1, 1,
      0, 0 },
    { HOOK("a", "ok",
           ALL_RULES "\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":"
                     "\"kube-system\"}},"),
      0, 0, 0, 0 },
    { HOOK("a", "ok", ALL_RULES "\"objectSelector\":{\"matchLabels\":{\"no\":\"such\"}},"), 0, 0, 0,
      0 },
    { HOOK("a", "ok",
           ALL_RULES "\"objectSelector\":{\"matchExpressions\":[{\"key\":\"no\",\"operator\":"
                     "\"DoesNotExist\"}]},"),
      1, 1, 1, 0 },
};

static size_t asked_by(struct hook_server *h, struct fixture *r, const char *method,
                       const char *target, const char *type, const char *body)
{
    size_t before = h->n;

    if (fixture_do(r, method, target, type, body) >= 300)
        fail_msg("%s", r->text.data);
    return h->n - before;
}

static void test_rules_and_selectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(hook_server_fini) struct hook_server h;
        fixture_init(&r, 60 + i);
        hook_server_init(&h, &r);
        assert_int_equal(fixture_post(&r, PODS,
                                      "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
                                      "\"name\":\"c\",\"image\":\"i\"}]}}"),
                         201);
        hook_config(&r, VALIDATING, "v", rules[i].hook);
        assert_int_equal(asked_by(&h, &r, "POST", CMS, "application/json", CM("a")),
                         rules[i].create_cm);
        assert_int_equal(asked_by(&h, &r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"2\"}}"),
                         rules[i].patch_cm);
        assert_int_equal(asked_by(&h, &r, "PATCH", PODS "/p/status", MERGE,
                                  "{\"status\":{\"phase\":\"Running\"}}"),
                         rules[i].pod_status);
        assert_int_equal(asked_by(&h, &r, "POST", "/api/v1/namespaces", "application/json",
                                  "{\"metadata\":{\"name\":\"n\"}}"),
                         rules[i].namespace);
        /* Configurations themselves ask nobody. */
        assert_int_equal(asked_by(&h, &r, "DELETE", VALIDATING "/v", NULL, NULL), 0);
    }
}

/* The eviction is asked about, the deletion that it means is not: kube-apiserver does the same, and
 * a budget is taken from once. */
static void test_evictions_are_asked_about(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    (void)state;
    fixture_init(&r, 90);
    hook_server_init(&h, &r);
    assert_int_equal(fixture_post(&r, PODS,
                                  "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
                                  "\"name\":\"c\",\"image\":\"i\"}]}}"),
                     201);
    hook_config(&r, VALIDATING, "v", HOOK("a", "ok", ALL_RULES));
    assert_int_equal(fixture_post(&r, PODS "/p/eviction",
                                  "{\"metadata\":{\"name\":\"p\"},\"apiVersion\":\"policy/v1\","
                                  "\"kind\":\"Eviction\"}"),
                     201);
    assert_int_equal(h.n, 1);
    assert_string_equal(hook_asked(&h, 0, "request.kind.kind"), "Eviction");
    assert_string_equal(hook_asked(&h, 0, "request.subResource"), "eviction");
}

#define REVIEW(kind, spec) \
    "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"" kind "\",\"spec\":{" spec "}}"
#define REVIEWS "/apis/authorization.k8s.io/v1/"
#define REVIEW_RULES                                                      \
    "\"rules\":[{\"operations\":[\"CREATE\"],\"apiVersions\":[\"*\"],"    \
    "\"apiGroups\":[\"authorization.k8s.io\",\"authentication.k8s.io\"]," \
    "\"resources\":[\"*\"]}],"

static void ask_for_bob(struct hook_server *h, struct hook_call *c, const char *path,
                        const struct kj_val *review)
{
    (void)h, (void)path;
    c->status = 200;
    c->body = hook_patch(kj_str_or(kj_path(review, "request.uid"), ""),
                         "[{\"op\":\"add\",\"path\":\"/spec/user\",\"value\":\"bob\"}]");
}

/* Questions are admitted as objects are, but for those that cannot be answered. */
static void test_reviews_are_asked_about(void **state)
{
    static const char path[] = "\"nonResourceAttributes\":{\"path\":\"/a\",\"verb\":\"get\"}";
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    CLEANUP(mem_free)
    char *valid = xasprintf(REVIEW("SubjectAccessReview", "\"user\":\"eve\",%s"), path);
    CLEANUP(mem_free) char *invalid = xasprintf(REVIEW("SubjectAccessReview", "%s"), path);
    (void)state;
    fixture_init(&r, 31);
    hook_server_init(&h, &r);
    hook_config(&r, VALIDATING, "v", HOOK("a", "deny", REVIEW_RULES));
    assert_int_equal(fixture_post(&r, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"),
                     418);
    assert_string_equal(hook_asked(&h, 0, "request.object.kind"), "SelfSubjectReview");
    assert_string_equal(hook_asked(&h, 0, "request.operation"), "CREATE");
    assert_int_equal(fixture_post(&r, REVIEWS "subjectaccessreviews?dryRun=All", valid), 418);
    assert_string_equal(hook_asked(&h, 1, "request.object.spec.user"), "eve");
    assert_true(kj_bool(kj_path(kj_root(h.asked[1]), "request.dryRun"), false));
    assert_int_equal(fixture_post(&r, REVIEWS "subjectaccessreviews", invalid), 422);
    assert_int_equal(h.n, 2);
    assert_int_equal(fixture_delete(&r, VALIDATING "/v", NULL), 200);
    h.answer = ask_for_bob;
    hook_config(&r, MUTATING, "m", HOOK("m", "bob", REVIEW_RULES));
    assert_int_equal(fixture_post(&r, REVIEWS "subjectaccessreviews", invalid), 201);
    assert_string_equal(fixture_str(&r, "spec.user"), "bob");
    assert_true(kj_bool(fixture_val(&r, "status.allowed"), false));
    /* Of a namespace that is not there, too. */
    assert_int_equal(fixture_post(&r, REVIEWS "namespaces/none/localsubjectaccessreviews",
                                  REVIEW("LocalSubjectAccessReview",
                                         "\"resourceAttributes\":{\"namespace\":\"none\"}")),
                     201);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_evictions_are_asked_about),
    cmocka_unit_test(test_one_is_asked_and_changes_the_object),
    cmocka_unit_test(test_refusals_keep_code_reason_and_details),
    cmocka_unit_test(test_deletions_show_the_old_object),
    cmocka_unit_test(test_failures_count_or_not),
    cmocka_unit_test(test_a_request_is_answered_in_time),
    cmocka_unit_test(test_patches_that_break_the_object),
    cmocka_unit_test(test_webhooks_and_owners),
    cmocka_unit_test(test_order_and_reinvocation),
    cmocka_unit_test(test_validating_ones_are_asked_at_once),
    cmocka_unit_test(test_dry_runs_ask_only_who_has_no_side_effects),
    cmocka_unit_test(test_asked_again_when_the_object_changed),
    cmocka_unit_test(test_an_object_that_goes_meanwhile_is_made_anew),
    cmocka_unit_test(test_a_client_that_goes_takes_its_question_along),
    cmocka_unit_test(test_the_server_may_end_before_the_answer),
    cmocka_unit_test(test_rules_and_selectors),
    cmocka_unit_test(test_reviews_are_asked_about),
};

FIXTURE_MAIN(tests)
