/* test_apply.c - server-side apply and managedFields. */
#include "apiserver/apply/fields.h"
#include "apiserver/test/api_fixture.h"

#define APPLY "application/apply-patch+yaml"
#define DEPS  "/apis/apps/v1/namespaces/default/deployments"
#define DEPLOYMENT(spec)                                                                          \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"},\"spec\":" \
    "{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":"       \
    "{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"m\",\"image\":\"i\"}]}}" spec "}}"
#define MAP(data) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":" data "}"

static int apply(struct fixture *r, const char *path, const char *who, const char *doc)
{
    char target[256];

    (void)snprintf(target, sizeof target, "%s?fieldManager=%s", path, who);
    return fixture_do(r, "PATCH", target, APPLY, doc);
}

/* managedFields of the last answer without times, "manager operation subresource fields;" each. */
static const char *owners(struct fixture *r, struct strbuf *out)
{
    const struct kj_val *list = kj_path(kj_root(r->doc), "metadata.managedFields");

    strbuf_reset(out);
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *e = kj_at(list, i);
        strbuf_appendf(out, "%s %s %s", kj_str_or(kj_get(e, "manager"), "?"),
                       kj_str_or(kj_get(e, "operation"), "?"),
                       kj_str_or(kj_get(e, "subresource"), ""));
        kj_write(kj_get(e, "fieldsV1"), 0, out);
        strbuf_appendc(out, ';');
    }
    return strbuf_str(out);
}

static void test_apply_makes_and_changes(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"k\":\"1\",\"l\":\"1\"}")), 201);
    assert_string_equal(owners(&r, &b), "x Apply {\"f:data\":{\"f:k\":{},\"f:l\":{}}};");
    const char *first = kj_str(kj_path(kj_root(r.doc), "metadata.resourceVersion"));
    CLEANUP(mem_free) char *rv = xstrdup(first);
    loop_advance(r.loop, 2 * NSEC_PER_SEC);
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"k\":\"1\",\"l\":\"1\"}")), 200);
    assert_string_equal(kj_str(kj_path(kj_root(r.doc), "metadata.resourceVersion")), rv);
    /* What is not named any more goes. */
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"k\":\"2\"}")), 200);
    assert_string_equal(kj_str(kj_path(kj_root(r.doc), "data.k")), "2");
    assert_null(kj_path(kj_root(r.doc), "data.l"));
    /* Another one may say the same, and then it stays when the first does not. */
    assert_int_equal(apply(&r, CMS "/a", "y", MAP("{\"k\":\"2\"}")), 200);
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"m\":\"3\"}")), 200);
    assert_string_equal(kj_str(kj_path(kj_root(r.doc), "data.k")), "2");
    assert_contains(owners(&r, &b), "y Apply {\"f:data\":{\"f:k\":{}}};");
    assert_contains(owners(&r, &b), "x Apply {\"f:data\":{\"f:m\":{}}};");
}

static void test_conflicts_name_the_other(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 2);
    assert_int_equal(apply(&r, DEPS "/d", "x", DEPLOYMENT(",\"replicas\":1")), 201);
    assert_int_equal(
        fixture_do(&r, "PATCH", DEPS "/d?fieldManager=hand", MERGE, "{\"spec\":{\"replicas\":2}}"),
        200);
    assert_contains(owners(&r, &b), "hand Update {\"f:spec\":{\"f:replicas\":{}}};");
    assert_int_equal(apply(&r, DEPS "/d", "x", DEPLOYMENT(",\"replicas\":3")), 409);
    assert_string_equal(
        fixture_str(&r, "message"),
        "Apply failed with 1 conflict: conflict with \"hand\" using apps/v1: .spec.replicas");
    const struct kj_val *cause = kj_at(kj_path(kj_root(r.doc), "details.causes"), 0);
    assert_string_equal(kj_str(kj_get(cause, "reason")), "FieldManagerConflict");
    assert_string_equal(kj_str(kj_get(cause, "field")), ".spec.replicas");
    assert_int_equal(apply(&r, DEPS "/d", "x&force=true", DEPLOYMENT(",\"replicas\":3")), 200);
    assert_null(strstr(owners(&r, &b), "hand"));
    /* Two managers, two fields of a container. */
    assert_int_equal(apply(&r, DEPS "/d", "y", DEPLOYMENT(",\"replicas\":4")), 409);
    assert_string_equal(fixture_str(&r, "message"),
                        "Apply failed with 1 conflict: conflict with \"x\": .spec.replicas");
}

static void test_updates_take_what_they_change(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(fixture_post(&r, CMS "?fieldManager=maker", MAP("{\"k\":\"1\"}")), 201);
    assert_string_equal(owners(&r, &b), "maker Update {\"f:data\":{\".\":{},\"f:k\":{}}};");
    /* Who applies to it shares with the one that made it. */
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"k\":\"1\"}")), 200);
    assert_contains(owners(&r, &b), "x Apply {\"f:data\":{\"f:k\":{}}};");
    /* Garbage is not taken for owners; an empty entry forgets all. */
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE,
                                "{\"metadata\":{\"managedFields\":[{\"manager\":\"evil\","
                                "\"operation\":\"Update\",\"fieldsType\":\"FieldsV1\","
                                "\"fieldsV1\":{\"q:x\":{}}}]}}"),
                     200);
    assert_null(strstr(owners(&r, &b), "evil"));
    assert_contains(owners(&r, &b), "maker");
    assert_int_equal(
        fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"managedFields\":[{}]}}"), 200);
    assert_string_equal(owners(&r, &b), "");
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"9\"}}"), 200);
    assert_string_equal(owners(&r, &b), "");
    assert_int_equal(apply(&r, CMS "/a", "x", MAP("{\"n\":\"1\"}")), 200);
    assert_contains(owners(&r, &b), "before-first-apply Update");
}

/* kubectl's annotation may hold anything, and what it says is asked for at each of its applies. */
static void test_last_applied_is_no_document(void **state)
{
    static const char *const bad[] = { "{\\\"spec\\\":[1,2]}",
                                       "{\\\"spec\\\":{\\\"replicas\\\":{}}}",
                                       "{\\\"metadata\\\":[[]]}",
                                       "{\\\"spec\\\":{\\\"template\\\":7}}",
                                       "[]",
                                       "nonsense",
                                       "" };
    CLEANUP(fixture_fini) struct fixture r;
    char body[512];

    (void)state;
    fixture_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"c%zu\",\"annotations\":{\"kubectl.kubernetes.io/"
                       "last-applied-configuration\":\"%s\"}},\"data\":{\"k\":\"1\"}}",
                       i, bad[i]);
        assert_int_equal(fixture_post(&r, CMS, body), 201);
        (void)snprintf(body, sizeof body, CMS "/c%zu", i);
        CLEANUP(mem_free) char *path = xstrdup(body);
        (void)snprintf(
            body, sizeof body,
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%zu\","
            "\"labels\":{\"a\":\"b\"}},\"data\":{\"k\":\"2\"}}",
            i);
        assert_int_equal(apply(&r, path, "kubectl", body), 409);
    }
}

static void test_many_updaters_become_one(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;
    char target[96], body[64];

    (void)state;
    fixture_init(&r, 4);
    assert_int_equal(fixture_post(&r, CMS "?fieldManager=m0", MAP("{\"k\":\"1\"}")), 201);
    for (int i = 1; i <= 14; i++) {
        loop_advance(r.loop, NSEC_PER_SEC);
        (void)snprintf(target, sizeof target, CMS "/a?fieldManager=m%d", i);
        (void)snprintf(body, sizeof body, "{\"data\":{\"f%d\":\"x\"}}", i);
        assert_int_equal(fixture_do(&r, "PATCH", target, MERGE, body), 200);
    }
    assert_int_equal(kj_len(kj_path(kj_root(r.doc), "metadata.managedFields")), 10);
    assert_contains(owners(&r, &b), "ancient-changes Update");
    assert_contains(owners(&r, &b), "m14 Update");
    assert_null(strstr(owners(&r, &b), "m1 Update"));
}

static void test_lists_keep_their_order(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;
    static const char two[] =
        "{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"},\"spec\":"
        "{\"template\":{\"spec\":{\"containers\":[{\"name\":\"z\",\"image\":\"i\"},{\"name\":\"m\","
        "\"image\":\"i\"}]}}}}";

    (void)state;
    fixture_init(&r, 5);
    assert_int_equal(apply(&r, DEPS "/d", "x", DEPLOYMENT("")), 201);
    assert_int_equal(apply(&r, DEPS "/d", "y", two), 200);
    const struct kj_val *list = kj_path(kj_root(r.doc), "spec.template.spec.containers");
    assert_int_equal(kj_len(list), 2);
    assert_string_equal(kj_str(kj_get(kj_at(list, 0), "name")), "z");
    assert_contains(owners(&r, &b), "\"k:{\\\"name\\\":\\\"z\\\"}\":{\".\":{},\"f:image\":{}");
}

static void test_bad_applies(void **state)
{
    static const struct {
        const char *path, *who, *doc;
        int status;
        const char *message;
    } cases[] = {
        { CMS "/a", "", MAP("{}"), 422, "is required for apply patch" },
        { CMS "/a", "x", "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v2\"}", 400,
          "invalid object type: /v2, Kind=ConfigMap" },
        { CMS "/a", "x", "a: [", 400, "error decoding YAML" },
        { CMS "/a", "x", "3", 400, "error decoding YAML" },
        { CMS "/b", "x", MAP("{}"), 400, "does not match the name" },
        { CMS "/a", "x",
          "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
          "\"managedFields\":[]}}",
          400, "metadata.managedFields must be nil" },
        { DEPS "/d", "x", DEPLOYMENT(",\"foo\":1"), 500,
          ".spec.foo: field not declared in schema" },
        { CMS "/n", "x",
          "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"uid\":"
          "\"u\"}}",
          409, "uid mismatch" },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 6);
    fixture_cm(&r, "b", "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(apply(&r, cases[i].path, cases[i].who, cases[i].doc), cases[i].status);
        assert_contains(fixture_str(&r, "message"), cases[i].message);
    }
}

#define SCALE(n) \
    "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d}\nspec: {replicas: " #n "}\n"

/* Who owns the replicas, by the object itself. */
static const char *replicas_owners(struct fixture *r, struct strbuf *out)
{
    assert_int_equal(fixture_get(r, DEPS "/d"), 200);
    strbuf_reset(out);
    const struct kj_val *list = kj_path(kj_root(r->doc), "metadata.managedFields");
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *e = kj_at(list, i);
        if (kj_get(kj_path(e, "fieldsV1.f:spec"), "f:replicas"))
            strbuf_appendf(out, "%s %s %s %s;", kj_str_or(kj_get(e, "manager"), "?"),
                           kj_str_or(kj_get(e, "operation"), "?"),
                           kj_str_or(kj_get(e, "apiVersion"), "?"),
                           kj_str_or(kj_get(e, "subresource"), ""));
    }
    return strbuf_str(out);
}

static void test_owners_of_a_scale(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_post(&r, DEPS "?fieldManager=maker", DEPLOYMENT(",\"replicas\":1")),
                     201);
    assert_string_equal(replicas_owners(&r, &b), "maker Update apps/v1 ;");
    assert_int_equal(apply(&r, DEPS "/d/scale", "x", SCALE(2)), 409);
    assert_contains(fixture_str(&r, "message"), "conflict with \"maker\" using autoscaling/v1");
    assert_int_equal(apply(&r, DEPS "/d/scale", "x&force=true", SCALE(2)), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Scale");
    assert_string_equal(replicas_owners(&r, &b), "x Apply apps/v1 scale;");
    assert_int_equal(apply(&r, DEPS "/d/scale", "y", SCALE(2)), 200);
    assert_string_equal(replicas_owners(&r, &b), "x Apply apps/v1 scale;y Apply apps/v1 scale;");
    assert_int_equal(fixture_do(&r, "PATCH", DEPS "/d/scale?fieldManager=hand", MERGE,
                                "{\"spec\":{\"replicas\":3}}"),
                     200);
    assert_string_equal(replicas_owners(&r, &b), "hand Update apps/v1 scale;");
    /* What nobody owns is not begun to be owned by an update. */
    assert_int_equal(apply(&r, DEPS "/d/scale", "x&force=true", SCALE(4)), 200);
    assert_int_equal(
        apply(&r, DEPS "/d/scale", "x", "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\"}"),
        200);
    assert_string_equal(replicas_owners(&r, &b), "");
    assert_int_equal(fixture_do(&r, "PATCH", DEPS "/d/scale?fieldManager=hand", MERGE,
                                "{\"spec\":{\"replicas\":5}}"),
                     200);
    assert_string_equal(replicas_owners(&r, &b), "");
}

static void tell(void *arg, const char *path)
{
    strbuf_appendf(arg, "%s ", path);
}

static void write_fields(const struct fields *s, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    kj_mwrite(fields_value(s, d), 0, out);
}

static void test_sets_of_fields(void **state)
{
    static const char *const bad[] = { "[]", "{\"x\":{}}", "{\"k:[]\":{}}", "{\"f:a\":1}",
                                       "{\"v:{\":{}}" };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT, paths = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    static const char text[] =
        "{\"f:a\":{\".\":{},\"f:b\":{}},\"f:l\":{\"k:{\\\"n\\\":1}\":{\".\":{},\"f:x\":{}},"
        "\"v:\\\"w\\\"\":{}},\"f:z\":{}}";
    const struct fields *s = NULL, *t = NULL;

    (void)state;
    assert_int_equal(kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL), 0);
    assert_int_equal(fields_read(a, kj_root(doc), false, &s, NULL), 0);
    write_fields(s, &out);
    assert_string_equal(strbuf_str(&out), text);
    fields_each(s, tell, &paths);
    assert_string_equal(strbuf_str(&paths), ".a .a.b .l[n=1] .l[n=1].x .l[=\"w\"] .z ");
    struct fields *one = fields_new(a);
    fields_insert(a, one, &(struct field_at){ .element = str_of("f:a") });
    strbuf_reset(&out);
    write_fields(fields_minus(a, s, one), &out);
    assert_contains(strbuf_str(&out), "\"f:a\":{\"f:b\":{}}");
    t = fields_without(a, s, one);
    assert_null(fields_below(t, str_of("f:a")));
    assert_true(fields_equal(fields_union(a, t, s), s));
    assert_true(fields_equal(fields_both(a, s, one), one));
    assert_true(fields_empty(fields_minus(a, s, s)));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *d = NULL;
        assert_int_equal(kj_parse(bad[i], strlen(bad[i]), KJ_RAW_NUMBERS, &d, NULL), 0);
        assert_int_equal(fields_read(a, kj_root(d), false, &t, NULL), -EINVAL);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply_makes_and_changes),
        cmocka_unit_test(test_conflicts_name_the_other),
        cmocka_unit_test(test_updates_take_what_they_change),
        cmocka_unit_test(test_last_applied_is_no_document),
        cmocka_unit_test(test_many_updaters_become_one),
        cmocka_unit_test(test_lists_keep_their_order),
        cmocka_unit_test(test_bad_applies),
        cmocka_unit_test(test_owners_of_a_scale),
        cmocka_unit_test(test_sets_of_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
