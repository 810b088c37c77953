/* Custom objects against a schema: what kube-apiserver 1.35 answered to the same requests. */
#include "apiserver/crd/test/widget.h"
#include "base/test/asserts.h"

/* The message behind 'Widget.ex.io "x" is invalid: ', the whole message of another error, or the
 * spec as it was stored, keys in order. */
static const struct {
    const char *spec, *answer;
} cases[] = {
    { "{}", "spec.size: Required value" },
    { "{\"size\":0}",
      "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to "
      "1" },
    { "{\"size\":11}",
      "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10" },
    { "{\"size\":\"x\"}",
      "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: "
      "\"string\"" },
    { "{\"size\":1.5}",
      "spec.size: Invalid value: \"number\": spec.size in body must be of type integer: "
      "\"number\"" },
    { "{\"size\":3000000000}",
      "spec.size: Invalid value: 3000000000: spec.size in body should be less than or equal "
      "to 10" },
    { "{\"size\":1,\"big\":9223372036854775808}",
      "spec.big: Invalid value: \"number\": spec.big in body must be of type integer: \"number\"" },
    { "{\"size\":1,\"frac\":0}",
      "[spec.frac: Invalid value: 0: factor MultipleOf declared for spec.frac must be positive: "
      "0, spec.frac: Invalid value: 0: spec.frac in body should be greater than 0]" },
    { "{\"size\":1,\"frac\":0.7}",
      "spec.frac: Invalid value: 0.7: spec.frac in body should be a multiple of 0.5" },
    { "{\"size\":1,\"on\":\"yes\"}",
      "spec.on: Invalid value: \"string\": spec.on in body must be of type boolean: \"string\"" },
    { "{\"size\":1,\"color\":\"blue\"}",
      "spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\"" },
    { "{\"size\":1,\"color\":5}",
      "[spec.color: Invalid value: \"integer\": spec.color in body must be of type string: "
      "\"integer\", spec.color: Unsupported value: 5: supported values: \"red\", \"green\"]" },
    { "{\"size\":1,\"name\":\"a\"}",
      "spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long" },
    { "{\"size\":1,\"name\":\"abcdef\"}", "spec.name: Too long: may not be more than 4 bytes" },
    { "{\"size\":1,\"name\":\"AB\"}",
      "spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'" },
    { "{\"size\":1,\"when\":\"yesterday\"}",
      "spec.when: Invalid value: \"yesterday\": spec.when in body must be of type date-time: "
      "\"yesterday\"" },
    { "{\"size\":1,\"when\":true}",
      "spec.when: Invalid value: \"\": spec.when in body must be of type date-time: \"\"" },
    { "{\"size\":1,\"when\":3}",
      "spec.when: Invalid value: \"int64\": spec.when in body must be of type date-time: "
      "\"int64\"" },
    { "{\"size\":1,\"name\":\"toolong!\"}", "spec.name: Too long: may not be more than 4 bytes" },
    { "{\"size\":1,\"list\":[{\"name\":\"a\"},{\"name\":\"a\"},{\"name\":\"a\"}]}",
      "spec.list[1]: Duplicate value: {\"name\":\"a\"}" },
    { "{\"size\":1,\"list\":[{\"name\":\"a\"},3,{\"name\":\"a\"},true]}",
      "[spec.list[1]: Invalid value: \"integer\": spec.list[1] in body must be of type object: "
      "\"integer\", spec.list[3]: Invalid value: \"boolean\": spec.list[3] in body must be of type "
      "object: \"boolean\", spec.list[1]: Invalid value: 3: must be an object for an array of "
      "list-type map]" },
    { "{\"size\":1,\"list\":[null,{\"name\":\"a\"},null]}",
      "[spec.list[0]: Invalid value: \"null\": spec.list[0] in body must be of type object: "
      "\"null\", spec.list[2]: Invalid value: \"null\": spec.list[2] in body must be of type "
      "object: \"null\", spec.list[2]: Duplicate value: {}]" },
    { "{\"size\":1,\"tags\":[\"a\",null,null]}",
      "[spec.tags[1]: Invalid value: \"null\": spec.tags[1] in body must be of type string: "
      "\"null\", spec.tags[2]: Invalid value: \"null\": spec.tags[2] in body must be of type "
      "string: \"null\", spec.tags[2]: Duplicate value: null]" },
    { "{\"size\":1,\"replicas\":true}",
      "[spec.replicas: Invalid value: \"boolean\": spec.replicas in body must be of type integer: "
      "\"boolean\", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: true is of "
      "the type bool, expected int64]" },
    { "{\"size\":1,\"replicas\":{}}",
      "[spec.replicas: Invalid value: \"object\": spec.replicas in body must be of type integer: "
      "\"object\", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: map[] is of "
      "the type map[string]interface {}, expected int64]" },
    { "{\"size\":1,\"replicas\":1.5}",
      "[spec.replicas: Invalid value: \"number\": spec.replicas in body must be of type integer: "
      "\"number\", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the "
      "type float64, expected int64]" },
    { "{\"size\":1,\"replicas\":-1}",
      ".spec.replicas: Invalid value: -1: should be a non-negative integer" },
    { "{\"size\":1,\"replicas\":3000000000}",
      ".spec.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647" },
    { "\"x\"", "[spec: Invalid value: \"string\": spec in body must be of type object: \"string\", "
               ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type "
               "string, expected map[string]interface{}]" },
    { "{\"size\":1,\"uuid\":\"yesterday\"}",
      "spec.uuid: Invalid value: \"yesterday\": spec.uuid in body must be of type uuid: "
      "\"yesterday\"" },
    { "{\"size\":1,\"tags\":[\"a\",\"a\"]}", "spec.tags[1]: Duplicate value: \"a\"" },
    { "{\"size\":1,\"tags\":[]}",
      "spec.tags: Invalid value: 0: spec.tags in body should have at least 1 items" },
    { "{\"size\":1,\"tags\":[\"a\",\"b\",\"c\",\"d\"]}",
      "spec.tags: Too many: 4: must have at most 3 items" },
    { "{\"size\":1,\"list\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
      "spec.list[1]: Duplicate value: {\"name\":\"a\"}" },
    { "{\"size\":1,\"list\":[3]}",
      "[spec.list[0]: Invalid value: \"integer\": spec.list[0] in body must be of type object: "
      "\"integer\", spec.list[0]: Invalid value: 3: must be an object for an array of list-type "
      "map]" },
    { "{\"size\":1,\"list\":{}}",
      "spec.list: Invalid value: \"object\": spec.list in body must be of type array: \"object\"" },
    { "{\"size\":1,\"q\":true}",
      "[spec.q: Invalid value: \"boolean\": spec.q in body must be of type integer,string: "
      "\"boolean\", <nil>: Invalid value: \"\": \"spec.q\" must validate at least one schema "
      "(anyOf), spec.q: Invalid value: \"boolean\": spec.q in body must be of type integer: "
      "\"boolean\"]" },
    { "{\"size\":1,\"q\":\"abc\"}",
      "spec.q: Invalid value: \"abc\": spec.q in body should match '^[0-9]+m?$'" },
    { "{\"size\":1,\"q\":1.5}",
      "[spec.q: Invalid value: \"number\": spec.q in body must be of type integer,string: "
      "\"number\", <nil>: Invalid value: \"\": \"spec.q\" must validate at least one schema "
      "(anyOf), spec.q: Invalid value: \"number\": spec.q in body must be of type integer: "
      "\"number\"]" },
    { "{\"size\":1,\"one\":{}}",
      "[<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). "
      "Found none valid, spec.one.a: Required value]" },
    { "{\"size\":1,\"one\":{\"a\":\"1\",\"b\":\"1\"}}",
      "<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). "
      "Found 2 valid alternatives" },
    { "{\"size\":1,\"any\":{}}",
      "[<nil>: Invalid value: \"\": \"spec.any\" must validate at least one schema (anyOf), "
      "spec.any.a: Required value]" },
    { "{\"size\":1,\"all\":{}}",
      "[spec.all.a: Required value, spec.all.b: Required value, <nil>: Invalid value: \"\": "
      "\"spec.all\" must validate all the schemas (allOf). None validated]" },
    { "{\"size\":1,\"non\":{\"a\":\"1\"}}",
      "<nil>: Invalid value: \"\": \"spec.non\" must not validate the schema (not)" },
    { "{\"size\":1,\"nul\":null}",
      "{\"color\": \"red\", \"deep\": {\"x\": 3}, \"nul\": null, \"on\": true, \"size\": "
      "1}" },
    { "{\"size\":1,\"color\":null}",
      "{\"color\": \"red\", \"deep\": {\"x\": 3}, \"nul\": \"hi\", \"on\": true, \"size\": "
      "1}" },
    { "{\"size\":null}", "spec.size: Required value" },
    { "{\"size\":1,\"m\":{}}",
      "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties" },
    { "{\"size\":1,\"m\":{\"a\":9}}",
      "spec.m.a: Invalid value: 9: spec.m.a in body should be less than or equal to 5" },
    { "{\"size\":1,\"m\":{\"a\":1,\"b\":2,\"c\":3}}",
      "spec.m: Too many: 3: must have at most 2 items" },
    { "{\"size\":1,\"m\":{\"a\":null}}",
      "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties" },
    { "{\"size\":1,\"emb\":{}}",
      "[spec.emb.apiVersion: Required value, spec.emb.kind: Required value]" },
    { "{\"size\":1,\"emb\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\","
      "\"foo\":1}}}",
      "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown "
      "field \"spec.emb.metadata.foo\"" },
    { "{\"size\":1,\"emb\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":5}}}",
      "Widget in version \"v1\" cannot be handled as a Widget: spec.emb.metadata: Invalid "
      "value: {\"name\":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name "
      "of type string" },
    { "{\"size\":1,\"emb\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"X_\"}}"
      "}",
      "{\"color\": \"red\", \"deep\": {\"x\": 3}, \"emb\": {\"apiVersion\": \"v1\", \"kind\": "
      "\"Pod\", \"metadata\": {\"name\": \"X_\"}}, \"nul\": \"hi\", \"on\": true, \"size\": "
      "1}" },
    { "{\"size\":1,\"foo\":1,\"bar\":{\"x\":1},\"list\":[{\"name\":\"a\",\"zip\":1}],\"m\":{"
      "\"zap\":1}}",
      "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown "
      "field \"spec.bar\", unknown field \"spec.foo\", unknown field \"spec.list[0].zip\"" },
    { "{\"size\":1,\"free\":{\"a\":{\"b\":1}}}",
      "{\"color\": \"red\", \"deep\": {\"x\": 3}, \"free\": {\"a\": {\"b\": 1}}, \"nul\": "
      "\"hi\", \"on\": true, \"size\": 1}" },
    { "{\"size\":1,\"deep\":{\"y\":1}}",
      "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown "
      "field \"spec.deep.y\"" },
    { "null", "spec: Required value" },
    { "{\"size\":1,\"size\":2}",
      "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: duplicate "
      "field \"spec.size\"" },
    { "{\"size\":1,\"q\":null}",
      "{\"color\": \"red\", \"deep\": {\"x\": 3}, \"nul\": \"hi\", \"on\": true, \"size\": "
      "1}" },
    { "{\"size\":1,\"uniq\":[null]}",
      "spec.uniq[0]: Invalid value: \"null\": spec.uniq[0] in body must be of type string: "
      "\"null\"" },
    { "{\"size\":1,\"list\":[null]}",
      "spec.list[0]: Invalid value: \"null\": spec.list[0] in body must be of type object: "
      "\"null\"" },
};

static void test_values_get_the_answer_of_kube_apiserver(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char name[16];

    (void)state;
    fixture_with_widgets(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
        (void)snprintf(name, sizeof name, "w%zu", i);
        int status = fixture_post_widget(&r, name, cases[i].spec);
        if (status == 422)
            strbuf_appendf(&want, "Widget.ex.io \"%s\" is invalid: ", name);
        strbuf_append(&want, cases[i].answer);
        if (status == 201) {
            CLEANUP(kj_doc_free) struct kj_doc *d = NULL;
            assert_int_equal(kj_parse(want.data, want.len, 0, &d, NULL), 0);
            strbuf_reset(&want);
            kj_write(kj_root(d), KJ_SORTED, &want);
            kj_write(fixture_val(&r, "spec"), KJ_SORTED, &got);
        } else {
            strbuf_append(&got, fixture_str(&r, "message"));
        }
        assert_string_equal(got.data, want.data);
    }
}

static void test_unchanged_faults_pass_an_update(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf stricter = STRBUF_INIT;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":7,\"list\":[{\"name\":\"x\"}]}"), 201);
    const char *max = strstr(widget_definition, "\"maximum\":10");
    assert_non_null(max);
    strbuf_appendn(&stricter, widget_definition, (size_t)(max - widget_definition));
    strbuf_append(&stricter, "\"maximum\":5");
    strbuf_append(&stricter, max + strlen("\"maximum\":10"));
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", MERGE, stricter.data), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(
        fixture_do(&r, "PATCH", WIDGETS "/a", MERGE, "{\"spec\":{\"color\":\"green\"}}"), 200);
    assert_int_equal(fixture_do(&r, "PATCH", WIDGETS "/a", MERGE, "{\"spec\":{\"size\":8}}"), 422);
    assert_int_equal(fixture_post_widget(&r, "b", "{\"size\":7}"), 422);
}

static void test_unknown_fields_are_pruned_and_warned_of(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(
        fixture_post(&r, WIDGETS,
                     "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":"
                     "{\"name\":\"a\",\"odd\":1},\"spec\":{\"size\":1,\"foo\":{\"x\":1},"
                     "\"free\":{\"a\":{\"b\":[1]}}},\"extra\":2}"),
        201);
    assert_string_equal(r.warnings, "unknown field \"extra\";unknown field \"metadata.odd\";"
                                    "unknown field \"spec.foo\";");
    assert_null(fixture_val(&r, "spec.foo"));
    assert_null(fixture_val(&r, "extra"));
    assert_null(fixture_val(&r, "metadata.odd"));
    assert_int_equal(kj_len(fixture_val(&r, "spec.free.a.b")), 1);
}

#define OPEN_SPEC(spec)          \
    "{\"apiVersion\":\"open.io/" \
    "v1\",\"kind\":\"Open\",\"metadata\":{\"name\":\"a\"},\"spec\":" spec "}"
#define OPENS "/apis/open.io/v1/namespaces/default/opens"

/* additionalProperties: true lets members of any name in, and nothing into them; false refuses. */
static void test_members_of_any_name(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(
        fixture_post(&r, CRDS,
                     "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                     "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"opens.open.io\"},"
                     "\"spec\":{\"group\":\"open.io\",\"scope\":\"Namespaced\",\"names\":"
                     "{\"plural\":\"opens\",\"kind\":\"Open\"},\"versions\":[{\"name\":\"v1\","
                     "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                     "\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":"
                     "{\"mixed\":{\"type\":\"object\",\"additionalProperties\":true,"
                     "\"properties\":{\"a\":{\"type\":\"string\"}}},"
                     "\"kept\":{\"type\":\"object\",\"additionalProperties\":true,"
                     "\"x-kubernetes-preserve-unknown-fields\":true},"
                     "\"none\":{\"type\":\"object\",\"additionalProperties\":false}}}}}}}]}}"),
        201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post(&r, OPENS,
                                  OPEN_SPEC("{\"mixed\":{\"a\":\"s\",\"b\":{\"c\":1},\"l\":[{\"d\":"
                                            "1},2]},\"kept\":{\"e\":{\"f\":1}},\"none\":{}}")),
                     201);
    assert_string_equal(r.warnings, "unknown field \"spec.kept.e.f\";"
                                    "unknown field \"spec.mixed.b.c\";"
                                    "unknown field \"spec.mixed.l[0].d\";");
    assert_contains(r.text.data, "\"spec\":{\"mixed\":{\"a\":\"s\",\"b\":{},\"l\":[{},2]},"
                                 "\"kept\":{\"e\":{}},\"none\":{}}");
    assert_int_equal(fixture_post(&r, OPENS, OPEN_SPEC("{\"mixed\":{\"a\":5}}")), 422);
    assert_int_equal(fixture_post(&r, OPENS, OPEN_SPEC("{\"none\":{\"x\":1}}")), 422);
    assert_contains(fixture_str(&r, "message"),
                    "spec.none: Invalid value: \"x\": spec.none.x in body is a forbidden property");
}

static void test_numbers_are_stored_as_go_writes_them(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(
        fixture_post_widget(&r, "a",
                            "{\"size\":1.0,\"big\":9007199254740993,\"frac\":2.50,\"free\":"
                            "{\"x\":[1e3,-0.10,12345678901234567890]}}"),
        201);
    assert_contains(r.text.data, "\"size\":1,\"big\":9007199254740993,\"frac\":2.5,"
                                 "\"free\":{\"x\":[1000,-0.1,12345678901234567000]}");
}

static void test_status_is_apart_from_spec(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(
        fixture_post(&r, WIDGETS,
                     "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":"
                     "{\"name\":\"a\"},\"spec\":{\"size\":1},\"status\":{\"replicas\":3}}"),
        201);
    assert_null(fixture_val(&r, "status"));
    assert_int_equal(fixture_do(&r, "PATCH", WIDGETS "/a/status", MERGE,
                                "{\"spec\":{\"size\":9},\"status\":{\"replicas\":3}}"),
                     200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "status.replicas"), 0), 3);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.size"), 0), 1);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_int_equal(fixture_do(&r, "PATCH", WIDGETS "/a", MERGE,
                                "{\"spec\":{\"size\":9},\"status\":{\"replicas\":4}}"),
                     200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "status.replicas"), 0), 3);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 2);
    /* Faults of the status are found there, too. */
    assert_int_equal(
        fixture_do(&r, "PATCH", WIDGETS "/a/status", MERGE, "{\"status\":{\"replicas\":\"many\"}}"),
        422);
}

static void test_scale_reads_and_writes_the_paths(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":1,\"replicas\":2}"), 201);
    assert_int_equal(
        fixture_do(&r, "PATCH", WIDGETS "/a/scale", MERGE, "{\"spec\":{\"replicas\":5}}"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Scale");
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values_get_the_answer_of_kube_apiserver),
    cmocka_unit_test(test_unchanged_faults_pass_an_update),
    cmocka_unit_test(test_unknown_fields_are_pruned_and_warned_of),
    cmocka_unit_test(test_members_of_any_name),
    cmocka_unit_test(test_numbers_are_stored_as_go_writes_them),
    cmocka_unit_test(test_status_is_apart_from_spec),
    cmocka_unit_test(test_scale_reads_and_writes_the_paths),
};
FIXTURE_MAIN(tests)
