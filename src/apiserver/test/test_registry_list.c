/* test_registry_list.c - lists: order, pages, revisions, selectors, forms. */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

/* "a b c": names of the last list. */
static const char *names(const struct fixture *r)
{
    static char out[400];
    const struct kj_val *items = fixture_val(r, "items");
    out[0] = '\0';
    for (size_t i = 0; i < kj_len(items); i++)
        (void)snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "",
                       kj_str_or(kj_path(kj_at(items, i), "metadata.name"), "?"));
    return out;
}

static void fill(struct fixture *r)
{
    fixture_cm(r, "c", "\"app\":\"web\"");
    fixture_cm(r, "a", "\"app\":\"web\"");
    fixture_cm(r, "b", "\"app\":\"db\"");
}

static void test_list_in_order_of_names(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_get(&r, CMS), 200);
    assert_memory_equal(r.text.data, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",", 40);
    assert_int_equal(kj_type(fixture_val(&r, "items")), KJ_ARR);
    fill(&r);
    assert_int_equal(fixture_get(&r, "/api/v1/configmaps"), 200);
    assert_string_equal(names(&r), "a b c");
    assert_that(kj_type(kj_get(kj_at(fixture_val(&r, "items"), 0), "kind")), ==, KJ_ABSENT);
}

static void test_pages_show_one_snapshot(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char target[400], rev[24];
    (void)state;
    fixture_init(&r, 2);
    fill(&r);
    assert_int_equal(fixture_get(&r, CMS "?limit=1"), 200);
    assert_string_equal(names(&r), "a");
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.remainingItemCount"), 0), 2);
    (void)snprintf(rev, sizeof rev, "%s", fixture_str(&r, "metadata.resourceVersion"));
    (void)snprintf(target, sizeof target, CMS "?limit=1&continue=%s",
                   fixture_str(&r, "metadata.continue"));
    fixture_cm(&r, "aa", "");
    assert_int_equal(fixture_delete(&r, CMS "/b", NULL), 200);
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(names(&r), "b");
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.remainingItemCount"), 0), 1);
    (void)snprintf(target, sizeof target, CMS "?limit=1&continue=%s",
                   fixture_str(&r, "metadata.continue"));
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(names(&r), "c");
    assert_string_equal(fixture_str(&r, "metadata.continue"), "");
}

static void test_an_expired_token_offers_another(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char target[400];
    (void)state;
    fixture_init(&r, 3);
    fill(&r);
    fixture_get(&r, CMS "?limit=1");
    (void)snprintf(target, sizeof target, CMS "?continue=%s", fixture_str(&r, "metadata.continue"));
    fixture_cm(&r, "d", "");
    store_compact(apiserver_store(r.s), store_revision(apiserver_store(r.s)));
    assert_int_equal(fixture_get(&r, target), 410);
    assert_string_equal(fixture_str(&r, "reason"), "Expired");
    (void)snprintf(target, sizeof target, CMS "?continue=%s", fixture_str(&r, "metadata.continue"));
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(names(&r), "b c d");
}

static void test_revisions(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    char target[200], rev[24];
    (void)state;
    fixture_init(&r, 4);
    fixture_cm(&r, "a", "");
    (void)snprintf(rev, sizeof rev, "%s", fixture_str(&r, "metadata.resourceVersion"));
    fixture_cm(&r, "b", "");
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s&resourceVersionMatch=Exact",
                   rev);
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(names(&r), "a");
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s", rev);
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(names(&r), "a b");
    store_compact(apiserver_store(r.s), store_revision(apiserver_store(r.s)));
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s&resourceVersionMatch=Exact",
                   rev);
    assert_int_equal(fixture_get(&r, target), 410);
    assert_string_equal(fixture_str(&r, "message"),
                        "The resourceVersion for the provided list is too old.");
}

static void test_selectors(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 5);
    fill(&r);
    fixture_get(&r, CMS "?labelSelector=app%3Dweb");
    assert_string_equal(names(&r), "a c");
    fixture_get(&r, CMS "?labelSelector=app%20in%20(db,x)");
    assert_string_equal(names(&r), "b");
    fixture_get(&r, CMS "?labelSelector=%21app");
    assert_string_equal(names(&r), "");
    fixture_get(&r, CMS "?fieldSelector=metadata.name%3Db");
    assert_string_equal(names(&r), "b");
    fixture_get(&r, CMS "?fieldSelector=metadata.name%21%3Db,metadata.namespace%3Ddefault");
    assert_string_equal(names(&r), "a c");
    fixture_get(&r, CMS "?labelSelector=app%3Dweb&limit=1");
    assert_string_equal(names(&r), "a");
    assert_true(*fixture_str(&r, "metadata.continue"));
    assert_that(kj_type(fixture_val(&r, "metadata.remainingItemCount")), ==, KJ_ABSENT);
}

static int get_as(struct fixture *r, const char *target, const char *accept)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    struct api_call *c = api_call_new(r->s, &sink, r);
    r->answered = false;
    c->method = "GET";
    c->target = target;
    c->accept = accept;
    c->user = &api_user_admin;
    api_run(c);
    assert_true(r->answered);
    return r->status;
}

static void test_forms_by_accept(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 6);
    fill(&r);
    assert_int_equal(
        get_as(&r, CMS, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Table");
    assert_int_equal(kj_len(fixture_val(&r, "rows")), 3);
    assert_int_equal(
        get_as(&r, CMS "/a", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "PartialObjectMetadata");
    assert_string_equal(fixture_str(&r, "metadata.name"), "a");
    assert_that(kj_type(fixture_val(&r, "data")), ==, KJ_ABSENT);
    assert_int_equal(
        get_as(&r, CMS, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "PartialObjectMetadataList");
    assert_string_equal(names(&r), "a b c");
    assert_int_equal(get_as(&r, CMS, "application/vnd.kubernetes.protobuf,application/json"), 200);
    assert_int_equal(get_as(&r, CMS, "application/vnd.kubernetes.protobuf"), 200);
    assert_int_equal(get_as(&r, CMS, "application/cbor"), 406);
    assert_string_equal(fixture_str(&r, "reason"), "NotAcceptable");
    assert_int_equal(get_as(&r, CMS "/a", "application/yaml"), 200);
    assert_memory_equal(r.text.data, "apiVersion: v1\n", 15);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_list_in_order_of_names),
    cmocka_unit_test(test_pages_show_one_snapshot),
    cmocka_unit_test(test_an_expired_token_offers_another),
    cmocka_unit_test(test_revisions),
    cmocka_unit_test(test_selectors),
    cmocka_unit_test(test_forms_by_accept),
};

FIXTURE_MAIN(tests)
