/* Definitions become resources, and go again. */
#include <unistd.h>

#include "apiserver/crd/test/widget.h"

static const char gizmo[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/"
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":"
    "{\"name\":\"%s.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"scope\":\"Cluster\",\"names\":{"
    "\"plural\":"
    "\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
    "\"schema\":"
    "{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

static int post_gizmo(struct fixture *r, const char *plural, const char *kind)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *args[] = { plural, plural, kind };
    size_t k = 0;
    for (const char *p = gizmo; *p; p++) {
        if (p[0] == '%' && p[1] == 's')
            strbuf_append(&body, args[k++]), p++;
        else
            strbuf_appendc(&body, *p);
    }
    int status = fixture_post(r, CRDS, body.data);
    loop_advance(r->loop, NSEC_PER_SEC);
    return status;
}

static const char *condition(struct fixture *r, const char *type, const char *key)
{
    const struct kj_val *list = fixture_val(r, "status.conditions");
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_get(kj_at(list, i), "type"), ""), type))
            return kj_str_or(kj_get(kj_at(list, i), key), "");
    return "";
}

static void test_a_definition_is_established_then_served(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_get(&r, WIDGETS), 404);
    assert_int_equal(fixture_post(&r, CRDS, widget_definition), 201);
    assert_string_equal(fixture_str(&r, "spec.names.singular"), "widget");
    assert_string_equal(fixture_str(&r, "spec.names.listKind"), "WidgetList");
    assert_string_equal(fixture_str(&r, "spec.conversion.strategy"), "None");
    assert_string_equal(fixture_str(&r, "status.acceptedNames.plural"), "");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRDS "/widgets.ex.io"), 200);
    assert_string_equal(condition(&r, "NamesAccepted", "status"), "True");
    assert_string_equal(condition(&r, "NamesAccepted", "reason"), "NoConflicts");
    assert_string_equal(condition(&r, "Established", "status"), "True");
    assert_string_equal(fixture_str(&r, "status.acceptedNames.plural"), "widgets");
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "status.storedVersions"), 0), ""), "v1");
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_int_equal(fixture_get(&r, WIDGETS), 200);
    assert_string_equal(fixture_str(&r, "kind"), "WidgetList");
    assert_string_equal(fixture_str(&r, "apiVersion"), "ex.io/v1");
}

static void test_a_name_in_use_is_not_accepted_until_it_is_free(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(post_gizmo(&r, "gizmos", "Gizmo"), 201);
    assert_int_equal(post_gizmo(&r, "gizmoz", "Gizmo"), 201);
    assert_int_equal(fixture_get(&r, CRDS "/gizmoz.ex.io"), 200);
    assert_string_equal(condition(&r, "NamesAccepted", "status"), "False");
    assert_string_equal(condition(&r, "NamesAccepted", "reason"), "ListKindConflict");
    assert_string_equal(condition(&r, "NamesAccepted", "message"),
                        "\"GizmoList\" is already in use");
    assert_string_equal(condition(&r, "Established", "reason"), "NotAccepted");
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1/gizmoz"), 404);
    assert_int_equal(fixture_delete(&r, CRDS "/gizmos.ex.io", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1/gizmos"), 404);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1/gizmoz"), 200);
    assert_int_equal(fixture_get(&r, CRDS "/gizmoz.ex.io"), 200);
    assert_string_equal(condition(&r, "Established", "status"), "True");
}

/* Objects that are older than a default have it when they are read, also in lists. */
static void test_a_default_that_came_later_is_read(void **state)
{
    static const char add[] =
        "[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/properties/spec/"
        "properties/late\",\"value\":{\"type\":\"integer\",\"default\":5}}]";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_post_widget(&r, "old", "{\"size\":1}"), 201);
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", "application/json-patch+json", add), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, WIDGETS "/old"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.late"), 0), 5);
    assert_int_equal(fixture_get(&r, WIDGETS), 200);
    assert_int_equal(kj_i64_or(kj_path(kj_at(fixture_val(&r, "items"), 0), "spec.late"), 0), 5);
    assert_int_equal(fixture_post_widget(&r, "new", "{\"size\":1,\"late\":6}"), 201);
    assert_int_equal(fixture_get(&r, WIDGETS "/new"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.late"), 0), 6);
}

static void test_a_deprecated_version_warns(void **state)
{
    static const char add[] =
        "[{\"op\":\"add\",\"path\":\"/spec/versions/0/deprecated\",\"value\":true}]";
    static const char words[] = "[{\"op\":\"add\",\"path\":\"/spec/versions/0/deprecationWarning\","
                                "\"value\":\"use gadgets\"}]";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, WIDGETS), 200);
    assert_string_equal(r.warnings, "");
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", "application/json-patch+json", add), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, WIDGETS), 200);
    assert_string_equal(r.warnings, "ex.io/v1 Widget is deprecated;");
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", "application/json-patch+json", words), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":1}"), 201);
    assert_string_equal(r.warnings, "use gadgets;");
}

/* What is served has an APIService, and loses it when it goes. */
static void test_groups_are_registered(void **state)
{
#define SERVICES "/apis/apiregistration.k8s.io/v1/apiservices"
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    assert_int_equal(fixture_get(&r, SERVICES "/v1."), 200);
    assert_int_equal(fixture_get(&r, SERVICES "/v2.autoscaling"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.versionPriority"), 0), 30);
    assert_int_equal(fixture_get(&r, SERVICES "/v1.ex.io"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.groupPriorityMinimum"), 0), 1000);
    assert_string_equal(condition(&r, "Available", "status"), "True");
    assert_int_equal(fixture_delete(&r, CRDS "/widgets.ex.io", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, SERVICES "/v1.ex.io"), 404);
    assert_int_equal(fixture_get(&r, SERVICES "/v1.apps"), 200);
}

/* An APIService that stands for another server is kept, says so, and serves nothing. */
static void test_groups_of_other_servers_are_not_aggregated(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, SERVICES,
                     fixture_json("{'metadata':{'name':'v1.other.io'},'spec':{'group':'other.io',"
                                  "'version':'v1','groupPriorityMinimum':100,'versionPriority':10,"
                                  "'service':{'namespace':'default','name':'s'}}}")),
        201);
    assert_string_equal(condition(&r, "Available", "status"), "False");
    assert_string_equal(condition(&r, "Available", "reason"), "NotAggregated");
    assert_string_equal(condition(&r, "Available", "message"),
                        "this server does not pass requests on to other servers");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/apis/other.io/v1"), 404);
    assert_int_equal(fixture_get(&r, SERVICES "/v1.other.io"), 200);
    assert_string_equal(condition(&r, "Available", "reason"), "NotAggregated");
    assert_int_equal(fixture_do(&r, "PATCH", SERVICES "/v1.other.io",
                                "application/merge-patch+json", "{\"spec\":{\"service\":null}}"),
                     200);
    assert_string_equal(condition(&r, "Available", "reason"), "Local");
}

static void test_versions_share_their_objects(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(post_gizmo(&r, "gizmos", "Gizmo"), 201);
    assert_int_equal(
        fixture_post(&r, "/apis/ex.io/v1/gizmos",
                     "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Gizmo\",\"metadata\":{\"name\":"
                     "\"a\"},\"spec\":{\"x\":1}}"),
        201);
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/gizmos.ex.io", "application/json-patch+json",
                   "[{\"op\":\"copy\",\"from\":\"/spec/versions/0\",\"path\":\"/spec/versions/-\"},"
                   "{\"op\":\"replace\",\"path\":\"/spec/versions/1/name\",\"value\":\"v2\"},"
                   "{\"op\":\"replace\",\"path\":\"/spec/versions/0/storage\",\"value\":false}]"),
        200);
    assert_int_equal(kj_len(fixture_val(&r, "status.storedVersions")), 2);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v2/gizmos/a"), 200);
    assert_string_equal(fixture_str(&r, "apiVersion"), "ex.io/v2");
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.x"), 0), 1);
    /* No longer served: the objects stay. */
    assert_int_equal(
        fixture_do(&r, "PATCH", CRDS "/gizmos.ex.io", "application/json-patch+json",
                   "[{\"op\":\"replace\",\"path\":\"/spec/versions/0/served\",\"value\":false}]"),
        200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v1/gizmos/a"), 404);
    assert_int_equal(fixture_get(&r, "/apis/ex.io/v2/gizmos/a"), 200);
}

static void test_deletion_takes_the_objects_along(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    char name[16];

    (void)state;
    fixture_with_widgets(&r);
    for (int i = 0; i < 1200; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        assert_int_equal(fixture_post_widget(&r, name, "{\"size\":1}"), 201);
    }
    fixture_watch(&r, &w, WIDGETS "?watch=1&resourceVersion=1&fieldSelector=metadata.name=w7");
    assert_int_equal(fixture_delete(&r, CRDS "/widgets.ex.io", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, WIDGETS), 404);
    assert_int_equal(store_count(apiserver_store(r.s), "widgets.ex.io", NULL), 0);
    assert_contains(w.log, "DELETED w7;");
    loop_advance(r.loop, 60 * NSEC_PER_SEC);
    if (w.c)
        api_cancel(w.c);
    /* A new one starts empty. */
    assert_int_equal(fixture_post(&r, CRDS, widget_definition), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, WIDGETS), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 0);
}

static void test_a_status_update_changes_nothing_served(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    uint64_t before = res_table_generation(apiserver_resources(r.s));
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/widgets.ex.io", MERGE,
                                "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(res_table_generation(apiserver_resources(r.s)), before);
}

static void start(struct fixture *r, const char *file)
{
    struct kerr err = { 0 };
    *r = (struct fixture){ .loop = loop_new_virtual(WALL0, 7) };
    if (apiserver_new(r->loop, &(struct apiserver_opts){ .data_file = file }, &r->s, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_ours_are_served_from_the_first_turn(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    start(&r, NULL);
    assert_int_equal(fixture_get(&r, "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, CRDS "/nodemetrics.slo.koordinator.sh"), 200);
    assert_string_equal(condition(&r, "Established", "status"), "True");
    assert_int_equal(fixture_get(&r, CRDS), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 13);
}

static void test_a_server_stopped_at_once_leaks_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    start(&r, NULL);
}

static void test_definitions_survive_a_restart(void **state)
{
    char file[] = "/tmp/koord-crd-XXXXXX";
    CLEANUP(mem_free) char *wal = xasprintf("%s-wal", file), *shm = xasprintf("%s-shm", file);
    struct fixture r;

    (void)state;
    close(mkstemp(file));
    unlink(file);
    start(&r, file);
    assert_int_equal(fixture_post(&r, CRDS, widget_definition), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post_widget(&r, "a", "{\"size\":1}"), 201);
    fixture_fini_p(&r);
    start(&r, file);
    uint64_t rev = store_revision(apiserver_store(r.s));
    assert_int_equal(fixture_get(&r, WIDGETS "/a"), 200);
    assert_int_equal(fixture_get(&r, "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    /* Nothing was written: what is stored is what this release has. */
    assert_int_equal(store_revision(apiserver_store(r.s)), rev);
    fixture_fini_p(&r);
    unlink(file);
    unlink(wal);
    unlink(shm);
}

/* cel.md 7: a stored definition never fails to compile later. */
static void test_rules_survive_a_restart(void **state)
{
    static const char definition[] =
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"
        "'name':'ranges.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced','names':{'plural':"
        "'ranges','kind':'Range'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
        "'openAPIV3Schema':{'type':'object','properties':{'min':{'type':'integer'},'max':{'type':"
        "'integer'}},'x-kubernetes-validations':[{'rule':'self.min <= self.max',"
        "'messageExpression':'\\u0027above %d\\u0027.format([self.max])'}]}}}]}}";
    static const char ranges[] = "/apis/ex.io/v1/namespaces/default/ranges";
    char file[] = "/tmp/koord-crd-XXXXXX";
    CLEANUP(mem_free) char *wal = xasprintf("%s-wal", file), *shm = xasprintf("%s-shm", file);
    struct fixture r;

    (void)state;
    close(mkstemp(file));
    unlink(file);
    start(&r, file);
    assert_int_equal(fixture_post(&r, CRDS, fixture_json(definition)), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    for (int round = 0; round < 2; round++) {
        static const char bad[] = "{'apiVersion':'ex.io/v1','kind':'Range','metadata':{'name':'b'},"
                                  "'min':3,'max':2}";
        assert_int_equal(fixture_post(&r, ranges, fixture_json(bad)), 422);
        assert_contains(fixture_str(&r, "message"), "above 2");
        if (round == 0) {
            fixture_fini_p(&r);
            start(&r, file);
        }
    }
    assert_int_equal(
        fixture_post(&r, ranges,
                     fixture_json("{'apiVersion':'ex.io/v1','kind':'Range','metadata':{'name':'a'},"
                                  "'min':1,'max':2}")),
        201);
    fixture_fini_p(&r);
    unlink(file);
    unlink(wal);
    unlink(shm);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_definition_is_established_then_served),
    cmocka_unit_test(test_a_name_in_use_is_not_accepted_until_it_is_free),
    cmocka_unit_test(test_a_default_that_came_later_is_read),
    cmocka_unit_test(test_a_deprecated_version_warns),
    cmocka_unit_test(test_groups_are_registered),
    cmocka_unit_test(test_groups_of_other_servers_are_not_aggregated),
    cmocka_unit_test(test_versions_share_their_objects),
    cmocka_unit_test(test_deletion_takes_the_objects_along),
    cmocka_unit_test(test_a_status_update_changes_nothing_served),
    cmocka_unit_test(test_ours_are_served_from_the_first_turn),
    cmocka_unit_test(test_a_server_stopped_at_once_leaks_nothing),
    cmocka_unit_test(test_definitions_survive_a_restart),
    cmocka_unit_test(test_rules_survive_a_restart),
};
FIXTURE_MAIN(tests)
