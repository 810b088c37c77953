/* test_registry_list.c - lists: order, pages, revisions, selectors, forms. */
#include "apiserver/test/rig.h"

/* "a b c": names of the last list. */
static const char *names(const struct rig *r)
{
    static char out[400];
    const struct kj_val *items = rig_val(r, "items");
    out[0] = '\0';
    for (size_t i = 0; i < kj_len(items); i++)
        (void)snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "",
                       kj_str_or(kj_path(kj_at(items, i), "metadata.name"), "?"));
    return out;
}

static void fill(struct rig *r)
{
    rig_cm(r, "c", "\"app\":\"web\"");
    rig_cm(r, "a", "\"app\":\"web\"");
    rig_cm(r, "b", "\"app\":\"db\"");
}

static void test_list_in_order_of_names(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    (void)state;
    rig_init(&r, 1);
    assert_int_equal(rig_get(&r, CMS), 200);
    assert_memory_equal(r.text.data, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",", 40);
    assert_int_equal(kj_type(rig_val(&r, "items")), KJ_ARR);
    fill(&r);
    assert_int_equal(rig_get(&r, "/api/v1/configmaps"), 200);
    assert_string_equal(names(&r), "a b c");
    assert_true(kj_type(kj_get(kj_at(rig_val(&r, "items"), 0), "kind")) == KJ_ABSENT);
}

static void test_pages_show_one_snapshot(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    char target[400], rev[24];
    (void)state;
    rig_init(&r, 2);
    fill(&r);
    assert_int_equal(rig_get(&r, CMS "?limit=1"), 200);
    assert_string_equal(names(&r), "a");
    assert_int_equal(kj_i64_or(rig_val(&r, "metadata.remainingItemCount"), 0), 2);
    (void)snprintf(rev, sizeof rev, "%s", rig_str(&r, "metadata.resourceVersion"));
    (void)snprintf(target, sizeof target, CMS "?limit=1&continue=%s",
                   rig_str(&r, "metadata.continue"));
    rig_cm(&r, "aa", "");
    assert_int_equal(rig_delete(&r, CMS "/b", NULL), 200);
    assert_int_equal(rig_get(&r, target), 200);
    assert_string_equal(names(&r), "b");
    assert_string_equal(rig_str(&r, "metadata.resourceVersion"), rev);
    assert_int_equal(kj_i64_or(rig_val(&r, "metadata.remainingItemCount"), 0), 1);
    (void)snprintf(target, sizeof target, CMS "?limit=1&continue=%s",
                   rig_str(&r, "metadata.continue"));
    assert_int_equal(rig_get(&r, target), 200);
    assert_string_equal(names(&r), "c");
    assert_string_equal(rig_str(&r, "metadata.continue"), "");
}

static void test_an_expired_token_offers_another(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    char target[400];
    (void)state;
    rig_init(&r, 3);
    fill(&r);
    rig_get(&r, CMS "?limit=1");
    (void)snprintf(target, sizeof target, CMS "?continue=%s", rig_str(&r, "metadata.continue"));
    rig_cm(&r, "d", "");
    store_compact(apiserver_store(r.s), store_revision(apiserver_store(r.s)));
    assert_int_equal(rig_get(&r, target), 410);
    assert_string_equal(rig_str(&r, "reason"), "Expired");
    (void)snprintf(target, sizeof target, CMS "?continue=%s", rig_str(&r, "metadata.continue"));
    assert_int_equal(rig_get(&r, target), 200);
    assert_string_equal(names(&r), "b c d");
}

static void test_revisions(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    char target[200], rev[24];
    (void)state;
    rig_init(&r, 4);
    rig_cm(&r, "a", "");
    (void)snprintf(rev, sizeof rev, "%s", rig_str(&r, "metadata.resourceVersion"));
    rig_cm(&r, "b", "");
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s&resourceVersionMatch=Exact",
                   rev);
    assert_int_equal(rig_get(&r, target), 200);
    assert_string_equal(names(&r), "a");
    assert_string_equal(rig_str(&r, "metadata.resourceVersion"), rev);
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s", rev);
    assert_int_equal(rig_get(&r, target), 200);
    assert_string_equal(names(&r), "a b");
    store_compact(apiserver_store(r.s), store_revision(apiserver_store(r.s)));
    (void)snprintf(target, sizeof target, CMS "?resourceVersion=%s&resourceVersionMatch=Exact",
                   rev);
    assert_int_equal(rig_get(&r, target), 410);
    assert_string_equal(rig_str(&r, "message"),
                        "The resourceVersion for the provided list is too old.");
}

static void test_selectors(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    (void)state;
    rig_init(&r, 5);
    fill(&r);
    rig_get(&r, CMS "?labelSelector=app%3Dweb");
    assert_string_equal(names(&r), "a c");
    rig_get(&r, CMS "?labelSelector=app%20in%20(db,x)");
    assert_string_equal(names(&r), "b");
    rig_get(&r, CMS "?labelSelector=%21app");
    assert_string_equal(names(&r), "");
    rig_get(&r, CMS "?fieldSelector=metadata.name%3Db");
    assert_string_equal(names(&r), "b");
    rig_get(&r, CMS "?fieldSelector=metadata.name%21%3Db,metadata.namespace%3Ddefault");
    assert_string_equal(names(&r), "a c");
    rig_get(&r, CMS "?labelSelector=app%3Dweb&limit=1");
    assert_string_equal(names(&r), "a");
    assert_true(*rig_str(&r, "metadata.continue"));
    assert_true(kj_type(rig_val(&r, "metadata.remainingItemCount")) == KJ_ABSENT);
}

static int get_as(struct rig *r, const char *target, const char *accept)
{
    static const struct api_sink sink = { .reply = rig_on_reply };
    struct api_call *c = api_call_new(r->s, &sink, r);
    r->answered = false;
    c->method = "GET";
    c->target = target;
    c->accept = accept;
    api_run(c);
    assert_true(r->answered);
    return r->status;
}

static void test_forms_by_accept(void **state)
{
    CLEANUP(rig_fini) struct rig r;
    (void)state;
    rig_init(&r, 6);
    fill(&r);
    assert_int_equal(
        get_as(&r, CMS, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), 200);
    assert_string_equal(rig_str(&r, "kind"), "Table");
    assert_int_equal(kj_len(rig_val(&r, "rows")), 3);
    assert_int_equal(
        get_as(&r, CMS "/a", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"), 200);
    assert_string_equal(rig_str(&r, "kind"), "PartialObjectMetadata");
    assert_string_equal(rig_str(&r, "metadata.name"), "a");
    assert_true(kj_type(rig_val(&r, "data")) == KJ_ABSENT);
    assert_int_equal(
        get_as(&r, CMS, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), 200);
    assert_string_equal(rig_str(&r, "kind"), "PartialObjectMetadataList");
    assert_string_equal(names(&r), "a b c");
    assert_int_equal(get_as(&r, CMS, "application/vnd.kubernetes.protobuf,application/json"), 200);
    assert_int_equal(get_as(&r, CMS, "application/vnd.kubernetes.protobuf"), 406);
    assert_string_equal(rig_str(&r, "reason"), "NotAcceptable");
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

RIG_MAIN(tests)
