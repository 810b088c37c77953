/* A definition that is being deleted waits until its objects have gone. */
#include <unistd.h>

#include "apiserver/crd/test/widget.h"

#define CRD   CRDS "/widgets.ex.io"
#define APPLY "application/apply-patch+yaml"

static const char *terminating(struct fixture *r, const char *key)
{
    const struct kj_val *list = fixture_val(r, "status.conditions");

    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_get(kj_at(list, i), "type"), ""), "Terminating"))
            return kj_str_or(kj_get(kj_at(list, i), key), "");
    return "";
}

/* The definition is there, and says this of its end. */
static void assert_terminating(struct fixture *r, const char *status, const char *reason)
{
    assert_int_equal(fixture_get(r, CRD), 200);
    assert_string_equal(terminating(r, "status"), status);
    assert_string_equal(terminating(r, "reason"), reason);
}

static int patch(struct fixture *r, const char *target, const char *body)
{
    return fixture_do(r, "PATCH", target, MERGE, body);
}

static const char held[] = "{'metadata':{'finalizers':['ex.io/hold']}}";
static const char let_go[] = "{'metadata':{'finalizers':null}}";

static void post_held(struct fixture *r, const char *name)
{
    CLEANUP(mem_free) char *target = xasprintf(WIDGETS "/%s", name);

    assert_int_equal(fixture_post_widget(r, name, "{\"size\":1}"), 201);
    assert_int_equal(patch(r, target, fixture_json(held)), 200);
}

static void test_it_waits_for_objects_with_finalizers(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };

    (void)state;
    fixture_with_widgets(&r);
    post_held(&r, "a");
    assert_int_equal(fixture_post_widget(&r, "b", "{\"size\":1}"), 201);
    fixture_watch(&r, &w, WIDGETS "?watch=1&fieldSelector=metadata.name=a");
    assert_int_equal(fixture_delete(&r, CRD,
                                    fixture_json("{'kind':'DeleteOptions','apiVersion':'v1',"
                                                 "'propagationPolicy':'Foreground'}")),
                     200);
    assert_string_equal(fixture_str(&r, "kind"), "CustomResourceDefinition");
    assert_string_equal(terminating(&r, "status"), "True");
    assert_string_equal(terminating(&r, "reason"), "InstanceDeletionPending");
    assert_int_equal(kj_len(fixture_val(&r, "metadata.finalizers")), 1);
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "metadata.finalizers"), 0), ""),
                        "customresourcecleanup.apiextensions.k8s.io");
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_null(fixture_val(&r, "metadata.deletionGracePeriodSeconds"));
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_terminating(&r, "True", "InstanceDeletionInProgress");
    assert_int_equal(fixture_get(&r, WIDGETS "/b"), 404);
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 200);
    assert_string_not_equal(fixture_str(&r, "metadata.deletionTimestamp"), "");
    assert_int_equal(patch(&r, WIDGETS "/a", fixture_json(let_go)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
    assert_int_equal(fixture_get(&r, WIDGETS), 404);
    assert_string_equal(w.log, "ADDED a;MODIFIED a;DELETED a;");
    loop_advance(r.loop, 60 * NSEC_PER_SEC);
    if (w.c)
        api_cancel(w.c);
}

/* A definition that is being deleted, and the object that it waits for. */
static void start_held(struct fixture *r)
{
    fixture_with_widgets(r);
    post_held(r, "a");
    assert_int_equal(fixture_delete(r, CRD, NULL), 200);
    loop_advance(r->loop, NSEC_PER_SEC);
}

static void test_nothing_is_created_meanwhile(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    start_held(&r);
    assert_int_equal(fixture_post_widget(&r, "b", "{\"size\":1}"), 403);
    assert_string_equal(fixture_str(&r, "reason"), "Forbidden");
    assert_string_equal(
        fixture_str(&r, "message"),
        "widgets.ex.io \"b\" is forbidden: create not allowed while custom resource "
        "definition is terminating");
    assert_int_equal(fixture_do(&r, "PATCH", WIDGETS "/b?fieldManager=me", APPLY,
                                fixture_json("{'apiVersion':'ex.io/v1','kind':'Widget',"
                                             "'metadata':{'name':'b'},'spec':{'size':1}}")),
                     403);
    assert_int_equal(patch(&r, WIDGETS "/a", fixture_json("{'spec':{'size':2}}")), 200);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1"), 200);
    const struct kj_val *verbs = kj_get(kj_at(fixture_val(&r, "resources"), 0), "verbs");
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    kj_write(verbs, 0, &text);
    assert_string_equal(strbuf_str(&text),
                        "[\"delete\",\"deletecollection\",\"get\",\"list\",\"watch\"]");
}

/* The second DELETE is as for every object; who watches the objects sees nothing of it. */
static void test_it_can_be_deleted_again(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };

    (void)state;
    fixture_with_widgets(&r);
    post_held(&r, "a");
    assert_int_equal(fixture_delete(&r, CRD "?dryRun=All", NULL), 200);
    assert_string_equal(terminating(&r, "reason"), "InstanceDeletionPending");
    assert_int_equal(fixture_get(&r, CRD), 200);
    assert_string_equal(fixture_str(&r, "metadata.deletionTimestamp"), "");
    assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    fixture_watch(&r, &w, WIDGETS "?watch=1");
    assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.deletionGracePeriodSeconds"), -1), 0);
    loop_advance(r.loop, 5 * NSEC_PER_SEC);
    assert_int_equal(w.ended, 0);
    assert_int_equal(patch(&r, WIDGETS "/a", fixture_json(let_go)), 200);
    loop_advance(r.loop, 5 * NSEC_PER_SEC);
    assert_string_equal(w.log, "ADDED a;DELETED a;");
    assert_int_equal(fixture_get(&r, CRD), 404);
    if (w.c)
        api_cancel(w.c);
}

static void test_after_a_minute_it_says_what_it_waits_for(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };

    (void)state;
    start_held(&r);
    fixture_watch(&r, &w, CRDS "?watch=1&fieldSelector=metadata.name=widgets.ex.io");
    loop_advance(r.loop, 60 * NSEC_PER_SEC);
    /* InstanceDeletionCheck, then in progress again */
    assert_string_equal(w.log,
                        "ADDED widgets.ex.io;MODIFIED widgets.ex.io;MODIFIED widgets.ex.io;");
    assert_terminating(&r, "True", "InstanceDeletionInProgress");
    api_cancel(w.c);
    assert_int_equal(patch(&r, WIDGETS "/a", fixture_json(let_go)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
}

static void test_finalizers_of_others_keep_it(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(patch(&r, CRD, fixture_json(held)), 200);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":1}"), 201);
    assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
    loop_advance(r.loop, 5 * NSEC_PER_SEC);
    assert_terminating(&r, "False", "InstanceDeletionCompleted");
    assert_string_equal(terminating(&r, "message"), "removed all instances");
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "metadata.finalizers"), 0), ""),
                        "ex.io/hold");
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 404);
    assert_int_equal(patch(&r, CRD, fixture_json(let_go)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
}

/* One whose names are another's goes at once; the other's objects are none of its business. */
static void test_one_that_was_never_established_goes(void **state)
{
    static const char second[] =
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"
        "'name':'gadgets.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced','names':{'plural':"
        "'gadgets','kind':'Widget'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object'}}}]}}";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    post_held(&r, "a");
    assert_int_equal(fixture_post(&r, CRDS, fixture_json(second)), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_delete(&r, CRDS "/gadgets.ex.io", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRDS "/gadgets.ex.io"), 404);
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 200);
    assert_string_equal(fixture_str(&r, "metadata.deletionTimestamp"), "");
}

/* An object keeps the version it is stored in, also when that is no longer served. */
static void test_objects_are_not_converted(void **state)
{
    static const char more[] =
        "[{'op':'add','path':'/spec/versions/-','value':{'name':'v2','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}"
        "}},{'op':'replace','path':'/spec/versions/0/storage','value':false},"
        "{'op':'replace','path':'/spec/versions/0/served','value':false},"
        "{'op':'add','path':'/spec/conversion','value':{'strategy':'Webhook','webhook':{"
        "'conversionReviewVersions':['v1'],'clientConfig':{'url':'https://127.0.0.1:1/none'}}}}]";
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct store_key k = { "widgets.ex.io", "default", "a" };

    (void)state;
    fixture_with_widgets(&r);
    post_held(&r, "a");
    assert_int_equal(
        fixture_do(&r, "PATCH", CRD, "application/json-patch+json", fixture_json(more)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(store_get(apiserver_store(r.s), &k, &text, NULL, NULL), 0);
    assert_contains(text.data, "\"apiVersion\":\"ex.io/v1\"");
    assert_contains(text.data, "\"deletionTimestamp\"");
    assert_contains(text.data, "\"color\":\"red\"");
}

static void test_a_failed_write_is_made_again(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":1}"), 201);
    for (int i = 0; i < 3; i++) { /* the condition with the object, the end, and once more */
        if (i == 0)
            assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
        store_fail_next_commit(apiserver_store(r.s), ENOSPC);
        loop_advance(r.loop, 200 * NSEC_PER_MSEC);
    }
    loop_advance(r.loop, 120 * NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
    assert_int_equal(store_count(apiserver_store(r.s), "widgets.ex.io", NULL), 0);
}

/* Whoever takes the finalizer away himself leaves the objects behind, as in kube-apiserver. */
static void test_without_its_finalizer_objects_stay(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    start_held(&r);
    assert_int_equal(patch(&r, CRD, fixture_json(let_go)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 404);
    assert_int_equal(fixture_post(&r, CRDS, widget_definition), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 200);
    assert_int_equal(fixture_post_widget(&r, "b", "{\"size\":1}"), 201);
}

static void start(struct fixture *r, const char *file)
{
    struct kerr err = { 0 };
    *r = (struct fixture){ .loop = loop_new_virtual(WALL0, 7) };
    if (apiserver_new(r->loop, &(struct apiserver_opts){ .data_file = file, .no_crds = true },
                      &r->s, &err) < 0)
        fail_msg("%s", err.text);
}

/* More than one page; the server goes down with the answer to the DELETE, and once more while an
 * object waits. */
static void test_a_restart_goes_on(void **state)
{
    char file[] = "/tmp/koord-crd-XXXXXX", name[16];
    CLEANUP(mem_free) char *wal = xasprintf("%s-wal", file), *shm = xasprintf("%s-shm", file);
    struct fixture r;

    (void)state;
    close(mkstemp(file));
    unlink(file);
    start(&r, file);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post(&r, CRDS, widget_definition), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    for (int i = 0; i < 700; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        assert_int_equal(fixture_post_widget(&r, name, "{\"size\":1}"), 201);
    }
    post_held(&r, "a");
    assert_int_equal(fixture_delete(&r, CRD, NULL), 200);
    fixture_fini_p(&r);
    start(&r, file);
    for (int i = 0; i < 100 && store_count(apiserver_store(r.s), "widgets.ex.io", NULL) > 1; i++)
        loop_advance(r.loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(store_count(apiserver_store(r.s), "widgets.ex.io", NULL), 1);
    assert_terminating(&r, "True", "InstanceDeletionInProgress");
    fixture_fini_p(&r);
    start(&r, file);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post_widget(&r, "b", "{\"size\":1}"), 403);
    assert_int_equal(patch(&r, WIDGETS "/a", fixture_json(let_go)), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRD), 404);
    fixture_fini_p(&r);
    unlink(file);
    unlink(wal);
    unlink(shm);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_it_waits_for_objects_with_finalizers),
    cmocka_unit_test(test_nothing_is_created_meanwhile),
    cmocka_unit_test(test_it_can_be_deleted_again),
    cmocka_unit_test(test_after_a_minute_it_says_what_it_waits_for),
    cmocka_unit_test(test_finalizers_of_others_keep_it),
    cmocka_unit_test(test_one_that_was_never_established_goes),
    cmocka_unit_test(test_objects_are_not_converted),
    cmocka_unit_test(test_a_failed_write_is_made_again),
    cmocka_unit_test(test_without_its_finalizer_objects_stay),
    cmocka_unit_test(test_a_restart_goes_on),
};
FIXTURE_MAIN(tests)
