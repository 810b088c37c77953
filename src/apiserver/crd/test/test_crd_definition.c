/* Definitions that are wrong: what kube-apiserver 1.35 answered to the same ones. */
#include "apiserver/crd/test/widget.h"
#include "base/test/asserts.h"
#include "json/patch.h"

#define DNS                                                                                   \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with " \
    "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "   \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define X "spec.validation.openAPIV3Schema.properties[spec].properties[x]"

static const char base[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/"
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":"
    "{\"name\":\"foos.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"scope\":\"Namespaced\",\"names\":"
    "{\"plural\":\"foos\",\"kind\":\"Foo\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
    "\"storage\":"
    "true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";

struct wrong {
    const char *change, *answer; /* "OK", or the message behind 'is invalid: ' */
};

/* A merge patch on the definition above. */
static const struct wrong definitions[] = {
    { "{\"metadata\":{\"name\":\"bars.ex.io\"}}",

      "metadata.name: Invalid value: \"bars.ex.io\": must be spec.names.plural+\".\"+spec.group" },
    { "{\"spec\":{\"group\":\"\"}}",

      "[metadata.name: Invalid value: \"foos.ex.io\": must be spec.names.plural+\".\"+spec.group,"
      " spec.group: Required value]" },
    { "{\"spec\":{\"group\":\"exio\"}}",

      "[metadata.name: Invalid value: \"foos.ex.io\": must be spec.names.plural+\".\"+spec.group,"
      " spec.group: Invalid value: \"exio\": should be a domain with at least "
      "one dot]" },
    { "{\"spec\":{\"scope\":null}}", "spec.scope: Required value" },
    { "{\"spec\":{\"scope\":\"X\"}}",
      "spec.scope: Unsupported value: \"X\": supported values: \"Cluster\", \"Namespaced\"" },
    { "{\"spec\":{\"versions\":[]}}",
      "[spec.versions: Invalid value: []: must have exactly one version marked "
      "as storage version, status.storedVersions: Invalid value: null: must have "
      "at least one stored version]" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":false,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
      "[spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,"
      "\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,"
      "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]: must have "
      "exactly one version marked as storage version, status.storedVersions: Invalid "
      "value: null: must have at least one stored version]" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}},{\"name\":\"v1\","
      "\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}"
      "}",
      "spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":true,"
      "\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,"
      "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null},{\"Name\":\"v1\","
      "\"Served\":true,\"Storage\":false,\"Deprecated\":false,\"DeprecationWarning\":null,"
      "\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,"
      "\"SelectableFields\":null}]: must contain unique version names" },
    { "{\"spec\":{\"versions\":[{\"name\":\"V_1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
      "[spec.versions[0].name: Invalid value: \"V_1\": " DNS
      ", spec.version: Invalid value: \"V_1\": " DNS "]" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true}]}}",
      "spec.versions[0].schema.openAPIV3Schema: Required value" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{}}]}}",
      "spec.versions[0].schema.openAPIV3Schema: Required value" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{}}}]}}",
      "spec.validation.openAPIV3Schema.type: Required value: must not be empty "
      "at the root" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"string\"}}}]}}",
      "spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be "
      "object at the root" },
    { "{\"spec\":{\"names\":{\"plural\":null}}}",

      "[metadata.name: Invalid value: \"foos.ex.io\": must be spec.names.plural+\".\"+spec.group,"
      " spec.names.plural: Required value]" },
    { "{\"spec\":{\"names\":{\"kind\":null}}}",
      "[spec.names.singular: Required value, spec.names.kind: Required value, "
      "spec.names.listKind: Required value]" },
    { "{\"spec\":{\"names\":{\"kind\":\"Foo_x\"}}}",
      "[spec.names.singular: Invalid value: \"foo_x\": " DNS
      ", spec.names.kind: Invalid value: \"Foo_x\": may have mixed case, but should "
      "otherwise match: " DNS
      ", spec.names.listKind: Invalid value: \"Foo_xList\": may have mixed case,"
      " but should otherwise match: " DNS "]" },
    { "{\"spec\":{\"names\":{\"plural\":\"Foos\"}}}",

      "[metadata.name: Invalid value: \"foos.ex.io\": must be spec.names.plural+\".\"+spec.group,"
      " spec.names.plural: Invalid value: \"Foos\": " DNS "]" },
    { "{\"spec\":{\"names\":{\"shortNames\":[\"AB\"]}}}",
      "spec.names.shortNames[0]: Invalid value: \"AB\": " DNS },
    { "{\"spec\":{\"names\":{\"listKind\":\"Foo\"}}}",
      "spec.names.listKind: Invalid value: \"Foo\": kind and listKind may not "
      "be the same" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"metadata\":{\"type\":"
      "\"object\","
      "\"properties\":{\"labels\":{\"type\":\"object\"}}}}}}}]}}",
      "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not "
      "specify anything other than name and generateName, but metadata is implicitly "
      "specified" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"metadata\":{\"type\":"
      "\"string\"}}}}}]}}",
      "spec.validation.openAPIV3Schema.properties[metadata].type: Invalid value: "
      "\"string\": must be object" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"additionalPrinterColumns\":[{"
      "\"name\":\"A\","
      "\"type\":\"string\"}]}]}}",
      "spec.additionalPrinterColumns[0].JSONPath: Required value" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"additionalPrinterColumns\":[{"
      "\"name\":\"A\","
      "\"type\":\"string\",\"jsonPath\":\"spec.x[\"}]}]}}",
      "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"spec.x[\": "
      "must be a simple json path starting with ." },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"additionalPrinterColumns\":[{"
      "\"name\":\"A\","
      "\"type\":\"blob\",\"jsonPath\":\".spec.x\"}]}]}}",
      "spec.additionalPrinterColumns[0].type: Invalid value: \"blob\": must be "
      "one of boolean,date,integer,number,string" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"additionalPrinterColumns\":[{"
      "\"type\":\"string\","
      "\"jsonPath\":\".spec.x\"}]}]}}",
      "spec.additionalPrinterColumns[0].name: Required value" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"subresources\":{\"scale\":{"
      "\"specReplicasPath\":\".x\","
      "\"statusReplicasPath\":\".status.r\"}}}]}}",
      "spec.subresources.scale.specReplicasPath: Invalid value: \".x\": should "
      "be a json path under .spec" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"subresources\":{\"scale\":{}}}]}}",

      "[spec.subresources.scale.specReplicasPath: Required value, "
      "spec.subresources.scale.statusReplicasPath: "
      "Required value]" },
    { "{\"spec\":{\"preserveUnknownFields\":true}}",
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
      "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
      "instead" },
    { "{\"spec\":{\"conversion\":{\"strategy\":\"X\"}}}",
      "spec.conversion.strategy: Unsupported value: \"X\": supported values: \"None\","
      " \"Webhook\"" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"definitions\":{\"a\":{\"type\":"
      "\"string\"}}}}}]}}",
      "spec.validation.openAPIV3Schema.definitions: Forbidden: definitions is "
      "not supported" },
    { "{\"metadata\":{\"name\":\"foos.foo.k8s.io\"},\"spec\":{\"group\":\"foo.k8s.io\"}}",
      "metadata.annotations[api-approved.kubernetes.io]: Required value: protected "
      "groups must have approval annotation \"api-approved.kubernetes.io\", see "
      "https://github.com/kubernetes/enhancements/pull/1111" },
    { "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
      "\"object\","
      "\"properties\":{\"x\":{\"type\":\"string\"}}}}}},\"selectableFields\":[{\"jsonPath\":\"."
      "spec.x\"}]}]}}",
      "OK" },
};

/* The schema of one property. */
static const struct wrong properties[] = {
    { "{\"minimum\":1}", X ".type: Required value: must not be empty for specified object fields" },
    { "{\"type\":\"blob\"}",
      X ".type: Unsupported value: \"blob\": supported values: \"array\", \"boolean\","
        " \"integer\", \"number\", \"object\", \"string\"" },
    { "{\"type\":\"array\"}", X ".items: Required value: must be specified" },
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"additionalProperties\":{"
      "\"type\":\"string\"}}",
      X ".additionalProperties: Forbidden: additionalProperties and properties are "
        "mutual exclusive" },
    { "{\"type\":\"object\",\"additionalProperties\":false}", "OK" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}",
      X ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
        "complexity becomes quadratic" },
    { "{\"$ref\":\"#/x\"}", X ".$ref: Forbidden: $ref is not supported" },
    { "{\"type\":\"string\",\"default\":5}",
      X ".default: Invalid value: \"integer\":  in body must be of type string: "
        "\"integer\"" },
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"default\":{\"b\":1}}",
      X ".default: Invalid value: {\"b\":1}: must not have unknown fields" },
    { "{\"type\":\"string\",\"enum\":[\"a\",\"a\"]}", "OK" },
    { "{\"type\":\"string\",\"anyOf\":[{\"type\":\"string\"}]}",
      X ".anyOf[0].type: Forbidden: must be empty to be structural" },
    { "{\"type\":\"object\",\"anyOf\":[{\"properties\":{\"q\":{\"minimum\":1}}}]}", "OK" },
    { "{\"type\":\"string\",\"anyOf\":[{\"default\":\"a\"}]}",
      X ".anyOf[0].default: Forbidden: must be undefined to be structural" },
    { "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":false}",
      X ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true "
        "or undefined" },
    { "{\"type\":\"string\",\"x-kubernetes-int-or-string\":true}", "OK" },
    { "{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true}",
      X ".properties: Required value: must not be empty if x-kubernetes-embedded-resource "
        "is true without x-kubernetes-preserve-unknown-fields" },
    { "{\"type\":\"string\",\"x-kubernetes-embedded-resource\":true}",
      "[" X ".properties: Required value: must not be empty if x-kubernetes-embedded-resource "
      "is true without x-kubernetes-preserve-unknown-fields, " X
      ".type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource "
      "is true]" },
    { "{\"type\":\"object\",\"x-kubernetes-list-type\":\"set\"}",
      X ".type: Invalid value: \"object\": must be array if x-kubernetes-list-type "
        "is specified" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"foo\"}",
      X ".x-kubernetes-list-type: Unsupported value: \"foo\": supported values: "
        "\"atomic\", \"set\", \"map\"" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"x-kubernetes-list-type\":\"map\"}",
      X ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type "
        "is map" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
      "\"string\"}}},"
      "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"b\"]}",
      X ".x-kubernetes-list-map-keys: Invalid value: [\"b\"]: entries must all be "
        "names of item properties" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
      "\"string\"}}},"
      "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"a\"]}",
      X ".items.properties[a].default: Required value: this property is in "
        "x-kubernetes-list-map-keys,"
        " so it must have a default or be a required property" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"x-kubernetes-list-map-keys\":[\"a\"]}",
      X ".x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys "
        "is non-empty" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"x-kubernetes-list-type\":\"set\"}",
      X ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item "
        "of a list with x-kubernetes-list-type=set" },
    { "{\"type\":\"object\",\"x-kubernetes-map-type\":\"foo\"}",
      X ".x-kubernetes-map-type: Unsupported value: \"foo\": supported values: \"atomic\","
        " \"granular\"" },
    { "{\"type\":\"string\",\"nullable\":true,\"default\":null}", "OK" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"additionalItems\":false}",
      X ".additionalItems: Forbidden: additionalItems is not supported" },
    { "{\"type\":\"object\",\"patternProperties\":{\"a\":{\"type\":\"string\"}}}",
      X ".patternProperties: Forbidden: patternProperties is not supported" },
    { "{\"type\":\"integer\",\"minimum\":5,\"maximum\":1}", "OK" },
    { "{\"type\":\"string\",\"format\":\"zzz\"}", "OK" },
    { "{\"type\":\"string\",\"id\":\"x\"}", X ".id: Forbidden: id is not supported" },
};

static void expect(struct fixture *r, const char *patch, const char *answer)
{
    CLEANUP(kj_doc_free) struct kj_doc *from = NULL, *change = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr err = { 0 };
    struct kj_mval *made;

    assert_int_equal(kj_parse(base, sizeof base - 1, 0, &from, &err), 0);
    assert_int_equal(kj_parse(patch, strlen(patch), 0, &change, &err), 0);
    assert_int_equal(kj_patch_merge(d, kj_root(from), kj_root(change), &made, &err), 0);
    kj_mwrite(made, 0, &body);
    int status = fixture_post(r, CRDS "?dryRun=All", body.data);
    const char *message = fixture_str(r, "message"), *is = strstr(message, " is invalid: ");
    assert_string_equal(status == 201 ? "OK" : is ? is + strlen(" is invalid: ") : message, answer);
}

static void test_definitions_get_the_answer_of_kube_apiserver(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(definitions); i++)
        expect(&r, definitions[i].change, definitions[i].answer);
}

static void expect_property(struct fixture *r, const char *schema, const char *answer)
{
    CLEANUP(mem_free)
    char *patch = xasprintf(
        "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":"
        "{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
        "\"properties\":{\"x\":%s}}}}}}]}}",
        schema);
    expect(r, patch, answer);
}

static void test_schemas_get_the_answer_of_kube_apiserver(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(properties); i++)
        expect_property(&r, properties[i].change, properties[i].answer);
}

static void test_what_we_cannot_do_is_refused_clearly(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    expect_property(&r, "{\"type\":\"string\",\"pattern\":\"^\\\\p{Klingon}$\"}",
                    X ".pattern: Invalid value: \"^\\\\p{Klingon}$\": must be a valid regular "
                      "expression, but isn't: error parsing regexp: invalid character class range: "
                      "`\\p{Klingon}`");
    expect(&r, "{\"spec\":{\"conversion\":{\"strategy\":\"Webhook\"}}}",
           "[spec.conversion.webhookClientConfig: Required value: required when strategy is set to "
           "Webhook, spec.conversion.conversionReviewVersions: Required value]");
}

static void test_what_may_not_change(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", MERGE, "{\"spec\":{\"scope\":\"Cluster\"}}"),
        422);
    assert_contains(fixture_str(&r, "message"),
                    "spec.scope: Invalid value: \"Cluster\": field is immutable");
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", "application/json-patch+json",
                                "[{\"op\":\"replace\",\"path\":\"/spec/versions/0/name\",\"value\":"
                                "\"v2\"}]"),
                     422);
    assert_contains(fixture_str(&r, "message"),
                    "status.storedVersions[0]: Invalid value: \"v1\": missing from "
                    "spec.versions");
}

/* Lists of which each item has to be another one, and is, but for the last. Comparing each with
 * each takes minutes, and the time of a test is bounded. */
static void test_long_lists_take_no_time(void **state)
{
    enum { VERSIONS = 50000, FIELDS = 3000 };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    strbuf_append(&body, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                         "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos.ex.io\"},"
                         "\"spec\":{\"group\":\"ex.io\",\"scope\":\"Namespaced\",\"names\":"
                         "{\"plural\":\"foos\",\"kind\":\"Foo\"},\"conversion\":{\"strategy\":"
                         "\"Webhook\",\"webhook\":{\"clientConfig\":{\"url\":\"https://a.b\"},"
                         "\"conversionReviewVersions\":[\"v1\"");
    for (int i = 1; i < VERSIONS; i++)
        strbuf_appendf(&body, ",\"v%d\"", MIN(i, VERSIONS - 2) + 1);
    strbuf_append(&body, "]}},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                         "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":"
                         "{\"spec\":{\"type\":\"object\",\"additionalProperties\":{\"type\":"
                         "\"string\"}}}}},\"selectableFields\":[");
    for (int i = 0; i < FIELDS; i++)
        strbuf_appendf(&body, "%s{\"jsonPath\":\".spec.f%d\"}", i ? "," : "", MIN(i, FIELDS - 2));
    strbuf_append(&body, "]}]}}");
    assert_int_equal(fixture_post(&r, CRDS, body.data), 422);
    assert_contains(fixture_str(&r, "message"),
                    "selectableFields[2999].jsonPath: Duplicate value: \".spec.f2998\"");
    assert_contains(fixture_str(&r, "message"), "[49999]: Invalid value: \"v49999\": duplicate");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_definitions_get_the_answer_of_kube_apiserver),
    cmocka_unit_test(test_schemas_get_the_answer_of_kube_apiserver),
    cmocka_unit_test(test_what_we_cannot_do_is_refused_clearly),
    cmocka_unit_test(test_what_may_not_change),
    cmocka_unit_test(test_long_lists_take_no_time),
};
FIXTURE_MAIN(tests)
