/* Discovery, aggregated discovery and OpenAPI: what clients learn about the server. */
#include "apiserver/crd/test/widget.h"
#include "apiserver/http/served.h"
#include "base/test/asserts.h"
#include "base/wire.h"

#define AGGREGATED                                                          \
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

struct answer {
    struct fixture *r;
    char type[160], etag[40];
};

static void on_reply(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    struct answer *a = arg;
    (void)snprintf(a->type, sizeof a->type, "%s", str_or(c->reply_type, ""));
    (void)snprintf(a->etag, sizeof a->etag, "%s", str_or(c->reply_etag, ""));
    fixture_on_reply(a->r, c, status, json, n);
}

static int get_as(struct fixture *r, struct answer *a, const char *target, const char *accept,
                  const char *if_none_match)
{
    static const struct api_sink sink = { .reply = on_reply };
    *a = (struct answer){ .r = r };
    struct api_call *c = api_call_new(r->s, &sink, a);

    r->answered = false;
    c->method = "GET";
    c->target = target;
    c->accept = accept;
    c->if_none_match = if_none_match;
    c->user = &api_user_admin;
    api_run(c);
    assert_true(r->answered);
    return r->status;
}

static const struct kj_val *find(const struct kj_val *list, const char *key, const char *value)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_path(kj_at(list, i), key), ""), value))
            return kj_at(list, i);
    return NULL;
}

static void expect_json(const struct kj_val *v, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    assert_non_null(v);
    kj_write(v, 0, &b);
    assert_string_equal(b.data, want);
}

static void test_versions_by_age(void **state)
{
    static const char *const sorted[] = { "v10",      "v2",      "v1",        "v11beta2",
                                          "v10beta3", "v3beta1", "v12alpha1", "v11alpha2",
                                          "foo1",     "foo10" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        for (size_t k = 0; k < ARRAY_LEN(sorted); k++)
            assert_int_equal((version_compare(sorted[i], sorted[k]) > 0) -
                                 (version_compare(sorted[i], sorted[k]) < 0),
                             (i > k) - (i < k));
}

static void test_groups_and_resources(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, "/api"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "APIVersions");
    assert_int_equal(fixture_get(&r, "/api/v1"), 200);
    assert_string_equal(fixture_str(&r, "groupVersion"), "v1");
    assert_null(fixture_val(&r, "apiVersion"));
    expect_json(find(fixture_val(&r, "resources"), "name", "pods/eviction"),
                "{\"name\":\"pods/eviction\",\"singularName\":\"\",\"namespaced\":true,\"group\":"
                "\"policy\",\"version\":\"v1\",\"kind\":\"Eviction\",\"verbs\":[\"create\"]}");
    assert_int_equal(fixture_get(&r, "/apis"), 200);
    expect_json(
        find(fixture_val(&r, "groups"), "name", "ex.io"),
        "{\"name\":\"ex.io\",\"versions\":[{\"groupVersion\":\"ex.io/v1\",\"version\":\"v1\"}],"
        "\"preferredVersion\":{\"groupVersion\":\"ex.io/v1\",\"version\":\"v1\"}}");
    assert_int_equal(fixture_get(&r, "/apis/ex.io"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "APIGroup");
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1"), 200);
    expect_json(find(fixture_val(&r, "resources"), "name", "widgets"),
                "{\"name\":\"widgets\",\"singularName\":\"widget\",\"namespaced\":true,\"kind\":"
                "\"Widget\",\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\","
                "\"patch\",\"update\",\"watch\"],\"shortNames\":[\"wd\"],\"categories\":[\"all\"],"
                "\"storageVersionHash\":\"RDFwhYKgK0s=\"}");
    assert_non_null(find(fixture_val(&r, "resources"), "name", "widgets/scale"));
    assert_int_equal(fixture_get(&r, "/apis/none"), 404);
    assert_string_equal(r.text.data, "404 page not found\n");
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v9"), 404);
    assert_string_equal(fixture_str(&r, "reason"), "NotFound");
}

/* What field `num` of the message holds; NULL when absent. */
static struct str field_of(struct str message, uint32_t num)
{
    struct wire_field f;

    while (wire_next(&message, &f) == 1)
        if (f.num == num)
            return f.bytes;
    return (struct str){ NULL, 0 };
}

static void test_openapi_v2(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct answer a;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, "/openapi/v2"), 200);
    assert_string_equal(fixture_str(&r, "swagger"), "2.0");
    const struct kj_val *widget = kj_get(fixture_val(&r, "definitions"), "io.ex.v1.Widget");
    assert_int_equal(kj_type(widget), KJ_OBJ);
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    strbuf_append(&path, "/apis/ex.io/v1/namespaces/{namespace}/widgets");
    const struct kj_val *op = kj_get(kj_get(fixture_val(&r, "paths"), path.data), "get");
    assert_string_equal(kj_str_or(kj_get(op, "operationId"), ""), "listExIoV1NamespacedWidget");
    /* The same in protobuf: swagger is field 1, then paths, definitions and parameters. */
    static const char binary[] = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_int_equal(get_as(&r, &a, "/openapi/v2", binary, NULL), 200);
    assert_string_equal(a.type, binary);
    struct str doc = { r.text.data, r.text.len }, field = field_of(doc, 1);
    assert_true(wire_valid(doc));
    assert_int_equal(field.n, 3);
    assert_memory_equal(field.p, "2.0", 3);
    assert_true(field_of(doc, 8).n > 100000);
    assert_true(field_of(doc, 9).n > 100000);
    assert_true(field_of(doc, 10).n > 1000);
    /* Whoever has it gets nothing. */
    CLEANUP(mem_free) char *etag = xstrdup(a.etag);
    assert_int_equal(get_as(&r, &a, "/openapi/v2", binary, etag), 304);
    assert_int_equal(get_as(&r, &a, "/openapi/v2", NULL, etag), 200);
}

#define LOOSE                                                                                      \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","           \
    "\"metadata\":{\"name\":\"looses.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"scope\":"            \
    "\"Namespaced\",\"names\":{\"plural\":\"looses\",\"kind\":\"Loose\"},\"versions\":[{\"name\":" \
    "\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"           \
    "\"object\","                                                                                  \
    "\"properties\":{\"spec\":%s}}}}]}}"

/* Clients that read version 2 refuse what it does not allow: no more is said than they can read. */
static void test_openapi_v2_of_loose_schemas(void **state)
{
    static const char keeps[] = "\"x-kubernetes-preserve-unknown-fields\":true";
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT, body = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 5);
    strbuf_appendf(&spec,
                   "{\"type\":\"object\",\"required\":[\"null\",\"text\"],\"properties\":{"
                   "\"open\":{\"type\":\"object\",%s,\"properties\":{\"a\":{\"type\":\"string\"}}},"
                   "\"list\":{\"type\":\"array\",%s,\"items\":{\"type\":\"string\"}},"
                   "\"null\":{\"type\":\"string\",\"nullable\":true},"
                   "\"only\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{"
                   "\"type\":\"string\",\"nullable\":true}}},"
                   "\"text\":{\"type\":\"string\"}}}",
                   keeps, keeps);
    strbuf_appendf(&body, LOOSE, spec.data);
    if (fixture_post(&r, CRDS, body.data) != 201)
        fail_msg("%s", r.text.data);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/openapi/v2"), 200);
    const struct kj_val *loose = kj_get(fixture_val(&r, "definitions"), "io.ex.v1.Loose");
    strbuf_reset(&spec);
    strbuf_appendf(&spec,
                   "{\"type\":\"object\",\"properties\":{\"open\":{%s},\"list\":{%s},\"null\":{},"
                   "\"only\":{\"type\":\"object\",\"properties\":{\"n\":{}}},"
                   "\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}",
                   keeps, keeps);
    expect_json(kj_path(loose, "properties.spec"), spec.data);
}

static void test_aggregated_discovery(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct answer a, again;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(get_as(&r, &a, "/apis", AGGREGATED, NULL), 200);
    assert_string_equal(a.type,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_string_equal(fixture_str(&r, "apiVersion"), "apidiscovery.k8s.io/v2");
    const struct kj_val *group = find(fixture_val(&r, "items"), "metadata.name", "ex.io");
    const struct kj_val *version = kj_at(kj_get(group, "versions"), 0);
    assert_string_equal(kj_str_or(kj_get(version, "freshness"), ""), "Current");
    const struct kj_val *res = find(kj_get(version, "resources"), "resource", "widgets");
    expect_json(kj_get(res, "responseKind"),
                "{\"group\":\"ex.io\",\"version\":\"v1\",\"kind\":\"Widget\"}");
    expect_json(
        find(kj_get(res, "subresources"), "subresource", "scale"),
        "{\"subresource\":\"scale\",\"responseKind\":{\"group\":\"autoscaling\",\"version\":"
        "\"v1\",\"kind\":\"Scale\"},\"verbs\":[\"get\",\"patch\",\"update\"]}");
    assert_int_equal(get_as(&r, &again, "/apis", AGGREGATED, a.etag), 304);
    assert_int_equal(fixture_delete(&r, CRDS "/widgets.ex.io", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(get_as(&r, &again, "/apis", AGGREGATED, a.etag), 200);
    assert_null(find(fixture_val(&r, "items"), "metadata.name", "ex.io"));
    assert_int_equal(get_as(&r, &a, "/api", AGGREGATED, NULL), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(get_as(&r, &a, "/api", "application/json", NULL), 200);
    assert_string_equal(fixture_str(&r, "kind"), "APIVersions");
}

/* As kubectl does: may the server be asked to validate fields of this kind? */
static bool patch_takes(const struct kj_val *doc, const char *path, const char *parameter)
{
    const struct kj_val *patch = kj_get(kj_get(kj_get(doc, "paths"), path), "patch");
    assert_non_null(kj_path(patch, "x-kubernetes-group-version-kind.kind"));
    return find(kj_get(patch, "parameters"), "name", parameter) != NULL;
}

static void test_openapi_says_what_kubectl_needs(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct answer a;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, "/openapi/v3"), 200);
    const char *url =
        kj_str(kj_get(kj_get(fixture_val(&r, "paths"), "apis/ex.io/v1"), "serverRelativeURL"));
    assert_non_null(url);
    assert_starts(url, "/openapi/v3/apis/ex.io/v1?hash=");
    CLEANUP(mem_free) char *target = xstrdup(url);
    assert_int_equal(get_as(&r, &a, target, "application/json", NULL), 200);
    assert_true(*a.etag);
    assert_true(patch_takes(kj_root(r.doc), "/apis/ex.io/v1/namespaces/{namespace}/widgets/{name}",
                            "fieldValidation"));
    const struct kj_val *schema =
        kj_get(kj_path(kj_root(r.doc), "components.schemas"), "io.ex.v1.Widget");
    expect_json(kj_get(schema, "x-kubernetes-group-version-kind"),
                "[{\"group\":\"ex.io\",\"kind\":\"Widget\",\"version\":\"v1\"}]");
    assert_string_equal(kj_str_or(kj_path(schema, "properties.spec.properties.size.type"), ""),
                        "integer");
    assert_non_null(kj_get(kj_path(kj_root(r.doc), "components.schemas"),
                           "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    assert_int_equal(fixture_get(&r, "/openapi/v3/api/v1"), 200);
    assert_true(
        patch_takes(kj_root(r.doc), "/api/v1/namespaces/{namespace}/pods/{name}", "dryRun"));
    assert_int_equal(fixture_get(&r, "/openapi/v3/apis/none/v1"), 404);
}

static void test_the_hash_follows_the_definition(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char before[120];

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, "/openapi/v3"), 200);
    (void)snprintf(
        before, sizeof before, "%s",
        kj_str_or(kj_get(kj_get(fixture_val(&r, "paths"), "apis/ex.io/v1"), "serverRelativeURL"),
                  ""));
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", "application/json-patch+json",
                   "[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/"
                   "properties/more\",\"value\":{\"type\":\"string\"}}]"),
        200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/openapi/v3"), 200);
    assert_string_not_equal(
        before,
        kj_str_or(kj_get(kj_get(fixture_val(&r, "paths"), "apis/ex.io/v1"), "serverRelativeURL"),
                  ""));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_versions_by_age),
    cmocka_unit_test(test_groups_and_resources),
    cmocka_unit_test(test_openapi_v2),
    cmocka_unit_test(test_openapi_v2_of_loose_schemas),
    cmocka_unit_test(test_aggregated_discovery),
    cmocka_unit_test(test_openapi_says_what_kubectl_needs),
    cmocka_unit_test(test_the_hash_follows_the_definition),
};
FIXTURE_MAIN(tests)
