/* test_protobuf.c - bodies of typed clients: translated, refused, or found to be broken. */
#include "apiserver/http/protobuf.h"
#include "base/test/asserts.h"
#include "base/wire.h"

#include "apiserver/test/api_fixture.h"

static void put_varint(struct strbuf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        strbuf_appendc(b, (char)(v | 0x80));
    strbuf_appendc(b, (char)v);
}

static void put_int(struct strbuf *b, unsigned num, uint64_t v)
{
    put_varint(b, num << 3);
    put_varint(b, v);
}

static void put_bytes(struct strbuf *b, unsigned num, const void *p, size_t n)
{
    put_varint(b, num << 3 | 2);
    put_varint(b, n);
    strbuf_appendn(b, p, n);
}

static void put_str(struct strbuf *b, unsigned num, const char *s)
{
    put_bytes(b, num, s, strlen(s));
}

static void put_msg(struct strbuf *b, unsigned num, const struct strbuf *m)
{
    put_bytes(b, num, strbuf_str(m), m->len);
}

/* The envelope around a message. */
static void wrap(struct strbuf *out, const char *api_version, const char *kind,
                 const struct strbuf *msg)
{
    CLEANUP(strbuf_fini) struct strbuf type = STRBUF_INIT;
    put_str(&type, 1, api_version);
    put_str(&type, 2, kind);
    strbuf_appendn(out, "k8s", 4);
    put_msg(out, 1, &type);
    put_msg(out, 2, msg);
    put_str(out, 3, "");
    put_str(out, 4, "");
}

static void lease_body(struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf meta = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf time = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf label = STRBUF_INIT;

    put_str(&label, 1, "app");
    put_str(&label, 2, "web");
    put_str(&meta, 1, "l");
    put_str(&meta, 2, ""); /* Go writes empty strings */
    put_str(&meta, 3, "default");
    put_int(&meta, 7, 0);
    put_str(&meta, 8, ""); /* the zero time */
    put_msg(&meta, 11, &label);
    put_str(&spec, 1, "me");
    put_int(&spec, 2, 0); /* a pointer to zero */
    put_int(&time, 1, 1763200000);
    put_int(&time, 2, 5000);
    put_msg(&spec, 4, &time);
    put_msg(&m, 1, &meta);
    put_msg(&m, 2, &spec);
    wrap(out, "coordination.k8s.io/v1", "Lease", &m);
}

static void test_a_lease_becomes_a_document(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    (void)state;
    lease_body(&body);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    kj_write(kj_root(doc), 0, &json);
    assert_string_equal(
        json.data, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                   "\"metadata\":{\"name\":\"l\",\"namespace\":\"default\","
                   "\"labels\":{\"app\":\"web\"}},\"spec\":{\"holderIdentity\":\"me\","
                   "\"leaseDurationSeconds\":0,\"renewTime\":\"2025-11-15T09:46:40.000005Z\"}}");
}

/* What values of each form become, there and back. */
static void round_trip(const char *schema)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, body = STRBUF_INIT, got = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    strbuf_appendf(&json,
                   "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                   "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"as.x.io\"},\"spec\":{"
                   "\"group\":\"x.io\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},"
                   "\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,"
                   "\"schema\":{\"openAPIV3Schema\":%s},\"subresources\":{\"status\":{}}}]}}",
                   schema);
    assert_true(protobuf_encode(json.data, json.len, &body));
    if (protobuf_decode(body.data, body.len, "", "", &doc, &err) < 0)
        fail_msg("%s: %s", schema, err.text);
    kj_write(kj_root(doc), 0, &got);
    assert_string_equal(got.data, json.data);
    for (size_t n = 0; n < body.len; n++) {
        CLEANUP(mem_free) char *cut = xmemdup(body.data, n + 1);
        CLEANUP(kj_doc_free) struct kj_doc *part = NULL;
        (void)protobuf_decode(cut, n, "", "", &part, &err);
    }
}

static void test_definitions_keep_the_form_of_their_schemas(void **state)
{
    static const char *const schemas[] = {
        "{\"type\":\"object\"}",
        "{}",
        "{\"default\":{\"a\":[1,null]},\"maximum\":1.5,\"minimum\":0,\"multipleOf\":-3}",
        "{\"maxLength\":0,\"enum\":[\"a\",1,true,null]}",
        "{\"items\":{\"type\":\"string\"}}",
        "{\"items\":[{\"type\":\"string\"},{}]}",
        "{\"properties\":{\"a\":{\"not\":{}},\"b\":{\"additionalProperties\":{}}}}",
        "{\"additionalProperties\":true,\"additionalItems\":false}",
        "{\"dependencies\":{\"a\":[\"b\",\"c\"],\"d\":{\"required\":[\"e\"]}}}",
        ("{\"x-kubernetes-preserve-unknown-fields\":false,"
         "\"x-kubernetes-validations\":[{\"rule\":\"self\",\"optionalOldSelf\":false}]}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(schemas); i++)
        round_trip(schemas[i]);
}

static void test_schemas_nest_as_deep_as_documents(void **state)
{
    CLEANUP(strbuf_fini)
    struct strbuf json = STRBUF_INIT, schema = STRBUF_INIT, v = STRBUF_INIT, version = STRBUF_INIT,
                  spec = STRBUF_INIT, m = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    for (int i = 0; i < 60; i++)
        strbuf_append(&json, "{\"properties\":{\"a\":{\"items\":");
    strbuf_append(&json, "{\"type\":\"string\"}");
    for (int i = 0; i < 60; i++)
        strbuf_append(&json, "}}}");
    round_trip(json.data);

    for (int i = 0; i < 1000; i++) { /* "not" in "not" */
        CLEANUP(strbuf_fini) struct strbuf outer = STRBUF_INIT;
        put_msg(&outer, 28, &schema);
        strbuf_reset(&schema);
        strbuf_appendn(&schema, outer.data, outer.len);
    }
    put_msg(&v, 1, &schema);
    put_msg(&version, 4, &v);
    put_msg(&spec, 7, &version);
    put_msg(&m, 2, &spec);
    wrap(&body, "apiextensions.k8s.io/v1", "CustomResourceDefinition", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), -EINVAL);
    assert_int_equal(err.reason, KR_BAD_REQUEST);
    assert_contains(err.text, "nested too deep");
}

static void test_a_schema_without_a_number_is_refused(void **state)
{
    CLEANUP(strbuf_fini)
    struct strbuf schema = STRBUF_INIT, v = STRBUF_INIT, version = STRBUF_INIT, spec = STRBUF_INIT,
                  m = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    wire_put_fixed64(&schema, 9, UINT64_C(0x7ff0000000000000)); /* infinity */
    put_msg(&v, 1, &schema);
    put_msg(&version, 4, &v);
    put_msg(&spec, 7, &version);
    put_msg(&m, 2, &spec);
    wrap(&body, "apiextensions.k8s.io/v1", "CustomResourceDefinition", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), -EINVAL);
    assert_int_equal(err.reason, KR_BAD_REQUEST);
}

static void test_every_cut_of_a_body_is_refused_or_read(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    (void)state;
    lease_body(&body);
    for (size_t n = 0; n < body.len; n++) {
        CLEANUP(mem_free) char *cut = xmemdup(body.data, n + 1); /* so that ASan sees the end */
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kerr err = { 0 };
        if (protobuf_decode(cut, n, "v1", "ConfigMap", &doc, &err) < 0)
            assert_true(err.text[0] && err.reason != KR_NONE);
    }
    for (size_t i = 4; i < body.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
            body.data[i] ^= (char)(1 << bit);
            (void)protobuf_decode(body.data, body.len, "v1", "ConfigMap", &doc, NULL);
            body.data[i] ^= (char)(1 << bit);
        }
}

static void test_maps_keep_the_last_of_equal_keys(void **state)
{
    static const char *const pairs[][2] = { { "a", "1" }, { "b", "\xff" }, { "a", "2" } };
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT, body = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_doc *refused = NULL;
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        CLEANUP(strbuf_fini) struct strbuf entry = STRBUF_INIT;
        put_str(&entry, 1, pairs[i][0]);
        put_str(&entry, 2, pairs[i][1]);
        put_msg(&m, 2, &entry);
        put_msg(&m, 3, &entry); /* binaryData */
    }
    wrap(&body, "v1", "ConfigMap", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    kj_write(kj_get(kj_root(doc), "data"), KJ_SORTED, &json);
    kj_write(kj_get(kj_root(doc), "binaryData"), KJ_SORTED, &json);
    assert_string_equal(json.data, "{\"a\":\"2\",\"b\":\"\xEF\xBF\xBD\"}"
                                   "{\"a\":\"Mg==\",\"b\":\"/w==\"}");
    strbuf_reset(&body);
    put_int(&m, 2, 1); /* a map is no number */
    wrap(&body, "v1", "ConfigMap", &m);
    assert_that(protobuf_decode(body.data, body.len, "", "", &refused, &err), <, 0);
    assert_int_equal(err.reason, KR_BAD_REQUEST);
}

/* Half of a body are new keys, the other half one of them again: each is found at once. A search
 * through all takes minutes, and the time of a test is bounded. */
static void test_many_equal_keys_take_no_time(void **state)
{
    enum { KEYS = 100000 };
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    char key[16];

    (void)state;
    for (int i = 0; i < 2 * KEYS; i++) {
        CLEANUP(strbuf_fini) struct strbuf entry = STRBUF_INIT;
        (void)snprintf(key, sizeof key, "%d", MIN(i, KEYS - 1));
        put_str(&entry, 1, key);
        put_str(&entry, 2, i < 2 * KEYS - 1 ? "x" : "last");
        put_msg(&m, 2, &entry);
    }
    wrap(&body, "v1", "ConfigMap", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    const struct kj_val *data = kj_get(kj_root(doc), "data");
    assert_int_equal(kj_len(data), KEYS);
    (void)snprintf(key, sizeof key, "%d", KEYS - 1);
    assert_string_equal(kj_str(kj_get(data, key)), "last");
}

/* Go embeds VolumeSource and ProbeHandler: messages of their own in protobuf, not in JSON. */
static void test_embedded_structs_lie_flat(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf host = STRBUF_INIT, source = STRBUF_INIT, vol = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf tcp = STRBUF_INIT, port = STRBUF_INIT, handler = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf probe = STRBUF_INIT, container = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT, m = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    put_str(&host, 1, "/data");
    put_msg(&source, 1, &host);
    put_str(&vol, 1, "v");
    put_msg(&vol, 2, &source);
    put_int(&port, 2, 8080);
    put_msg(&tcp, 1, &port);
    put_msg(&handler, 3, &tcp);
    put_msg(&probe, 1, &handler);
    put_int(&probe, 2, 5);
    put_str(&container, 1, "c");
    put_msg(&container, 10, &probe);
    put_msg(&spec, 1, &vol);
    put_msg(&spec, 2, &container);
    put_msg(&m, 2, &spec);
    wrap(&body, "v1", "Pod", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    kj_write(kj_get(kj_root(doc), "spec"), 0, &json);
    assert_string_equal(json.data,
                        "{\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/data\"}}],"
                        "\"containers\":[{\"name\":\"c\",\"livenessProbe\":{"
                        "\"tcpSocket\":{\"port\":8080},\"initialDelaySeconds\":5}}]}");
}

static void test_numbers_in_lists_may_come_packed(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf security = STRBUF_INIT, spec = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT, body = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    put_int(&security, 4, 7); /* supplementalGroups */
    put_bytes(&security, 4, "\x01\xac\x02", 3);
    put_msg(&spec, 14, &security);
    put_msg(&m, 2, &spec);
    wrap(&body, "v1", "Pod", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    kj_write(kj_path(kj_root(doc), "spec.securityContext"), 0, &json);
    assert_string_equal(json.data, "{\"supplementalGroups\":[7,1,300]}");
}

/* The client writes the status that it read: of all kinds, also in protobuf. */
static void test_a_status_comes_along(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf time = STRBUF_INIT, entry = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT, m = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    put_int(&time, 1, 1763200000);
    put_str(&entry, 1, "web");
    put_msg(&entry, 2, &time);
    put_int(&status, 1, 3);
    put_msg(&status, 2, &entry); /* disruptedPods */
    put_int(&status, 3, 0);
    put_int(&status, 4, 2);
    put_msg(&m, 3, &status);
    wrap(&body, "policy/v1", "PodDisruptionBudget", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    kj_write(kj_get(kj_root(doc), "status"), 0, &json);
    assert_string_equal(json.data, "{\"observedGeneration\":3,\"disruptedPods\":{\"web\":"
                                   "\"2025-11-15T09:46:40Z\"},\"currentHealthy\":2}");
}

static void test_what_no_table_knows(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf kind = STRBUF_INIT, field = STRBUF_INIT, m = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    (void)state;
    wrap(&kind, "example.com/v1", "Widget", &m); /* as all custom resources */
    assert_that(protobuf_decode(kind.data, kind.len, "", "", &doc, &err), <, 0);
    assert_int_equal(err.reason, KR_UNSUPPORTED_MEDIA_TYPE);
    put_int(&m, 77, 1);
    wrap(&field, "v1", "ConfigMap", &m);
    assert_int_equal(protobuf_decode(field.data, field.len, "", "", &doc, &err), 0);
    assert_int_equal(kj_len(kj_root(doc)), 2); /* a field that nobody knows is dropped */
}

/* An unknown group in a map, and bytes that end in it. */
static void test_groups_are_passed_over(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT, entry = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    put_str(&entry, 1, "a");
    put_str(&entry, 2, "b");
    put_msg(&m, 2, &entry);
    strbuf_appendc(&m, 9 << 3 | 3);
    put_int(&m, 2, 1); /* in the group: not data */
    strbuf_appendc(&m, 9 << 3 | 4);
    strbuf_reset(&entry);
    put_str(&entry, 1, "c");
    put_str(&entry, 2, "d");
    put_msg(&m, 2, &entry);
    wrap(&body, "v1", "ConfigMap", &m);
    assert_int_equal(protobuf_decode(body.data, body.len, "", "", &doc, &err), 0);
    assert_string_equal(kj_str(kj_path(kj_root(doc), "data.a")), "b");
    assert_string_equal(kj_str(kj_path(kj_root(doc), "data.c")), "d");
    strbuf_reset(&body);
    strbuf_appendc(&m, 9 << 3 | 3);
    wrap(&body, "v1", "ConfigMap", &m);
    struct kj_doc *none = NULL;
    assert_that(protobuf_decode(body.data, body.len, "v1", "ConfigMap", &none, &err), <, 0);
    assert_string_equal(err.text, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: "
                                  "unexpected EOF");
}

static void test_create_with_a_protobuf_body(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, m = STRBUF_INIT, meta = STRBUF_INIT;
    static const struct api_sink sink = { .reply = fixture_on_reply };
    (void)state;
    fixture_init(&r, 1);
    put_str(&meta, 1, "p");
    put_msg(&m, 1, &meta);
    wrap(&body, "v1", "ConfigMap", &m);
    struct api_call *c = api_call_new(r.s, &sink, &r);
    c->method = "POST";
    c->target = CMS;
    c->content_type = "application/vnd.kubernetes.protobuf";
    c->user = &api_user_admin;
    c->body = body.data;
    c->body_len = body.len;
    api_run(c);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(r.status, 201);
    assert_string_equal(fixture_str(&r, "metadata.name"), "p");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_lease_becomes_a_document),
    cmocka_unit_test(test_definitions_keep_the_form_of_their_schemas),
    cmocka_unit_test(test_schemas_nest_as_deep_as_documents),
    cmocka_unit_test(test_a_schema_without_a_number_is_refused),
    cmocka_unit_test(test_every_cut_of_a_body_is_refused_or_read),
    cmocka_unit_test(test_maps_keep_the_last_of_equal_keys),
    cmocka_unit_test(test_many_equal_keys_take_no_time),
    cmocka_unit_test(test_embedded_structs_lie_flat),
    cmocka_unit_test(test_numbers_in_lists_may_come_packed),
    cmocka_unit_test(test_a_status_comes_along),
    cmocka_unit_test(test_what_no_table_knows),
    cmocka_unit_test(test_groups_are_passed_over),
    cmocka_unit_test(test_create_with_a_protobuf_body),
};

FIXTURE_MAIN(tests)
