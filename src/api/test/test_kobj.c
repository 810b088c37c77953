/* test_kobj.c - the head of objects, their life, and the table of kinds. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/core.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/pod.h"

static const char service_json[] =
    "{'apiVersion':'v1','kind':'Service','metadata':{'name':'web','namespace':'shop',"
    "'uid':'c0ffee00-1234-4abc-8def-0123456789ab','resourceVersion':'4711','generation':3,"
    "'creationTimestamp':'2026-11-15T18:20:00Z','deletionTimestamp':'2026-11-15T18:21:00Z',"
    "'deletionGracePeriodSeconds':30,'labels':{'tier':'fe','app':'web'},"
    "'annotations':{'note':'x','kubectl.kubernetes.io/last-applied-configuration':'{}'},"
    "'finalizers':['a/b'],'managedFields':[{'manager':'kubectl'}],"
    "'ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'n','uid':'u-1'},"
    "{'apiVersion':'apps/v1','kind':'Deployment','name':'web','uid':'u-2','controller':true}]},"
    "'spec':{'selector':{'app':'web'},'clusterIP':'10.0.0.1','type':'ClusterIP'}}";

static void test_metadata_is_decoded(void **state)
{
    struct kobj *o = fixture_object(*state, &kind_service, service_json);
    char text[KUID_TEXT_MAX];

    assert_string_equal(o->meta.name, "web");
    assert_string_equal(o->meta.ns, "shop");
    assert_string_equal(o->meta.resource_version, "4711");
    assert_int_equal(o->meta.generation, 3);
    assert_int_equal(o->meta.deleted - o->meta.created, 60 * NSEC_PER_SEC);
    assert_true(o->meta.grace_seconds.set);
    assert_int_equal(o->meta.grace_seconds.v, 30);
    kuid_format(o->meta.uid, text, sizeof text);
    assert_string_equal(text, "c0ffee00-1234-4abc-8def-0123456789ab");
    assert_int_equal(o->meta.finalizers.n, 1);
    assert_ptr_equal(o->kind, &kind_service);
    kobj_unref(o);
}

static void test_labels_are_sorted_and_found(void **state)
{
    struct kobj *o = fixture_object(*state, &kind_service, service_json);

    assert_int_equal(o->meta.labels.n, 2);
    assert_string_equal(o->meta.labels.items[0].key, "app");
    assert_string_equal(kstrmap_get(&o->meta.labels, "tier"), "fe");
    assert_null(kstrmap_get(&o->meta.labels, "tie"));
    assert_null(kstrmap_get(&o->meta.labels, "zone"));
    kobj_unref(o);
}

static void test_bulky_annotations_are_dropped(void **state)
{
    struct kobj *o = fixture_object(*state, &kind_service, service_json);

    assert_int_equal(o->meta.annotations.n, 1);
    assert_string_equal(kstrmap_get(&o->meta.annotations, "note"), "x");
    kobj_unref(o);
}

static void test_controller_is_the_owner_that_says_so(void **state)
{
    struct object_fixture *b = *state;
    struct kobj *o = fixture_object(b, &kind_service, service_json);
    struct kobj *bare = fixture_object(b, &kind_service, "{'metadata':{'name':'x'}}");

    assert_string_equal(kobj_controller(o)->name, "web");
    assert_string_equal(kobj_controller(o)->kind, "Deployment");
    assert_null(kobj_controller(bare));
    kobj_unref(o);
    kobj_unref(bare);
}

static void test_key_is_cut_at_the_buffer(void **state)
{
    struct object_fixture *b = *state;
    struct kobj *o = fixture_object(b, &kind_service, service_json);
    struct kobj *ns = fixture_object(b, &kind_namespace, "{'metadata':{'name':'shop'}}");
    char buf[KOBJ_KEY_MAX];

    assert_int_equal(kobj_key(o, buf, sizeof buf), 8);
    assert_string_equal(buf, "shop/web");
    kobj_key(ns, buf, sizeof buf);
    assert_string_equal(buf, "shop");
    assert_int_equal(kobj_key(o, buf, 7), 6);
    assert_string_equal(buf, "shop/w");
    kobj_unref(o);
    kobj_unref(ns);
}

static void test_references_keep_the_object(void **state)
{
    struct kobj *o = fixture_object(*state, &kind_service, service_json);

    assert_ptr_equal(kobj_ref(o), o);
    assert_null(kobj_unref(o));
    assert_string_equal(o->meta.name, "web");
    kobj_unref(o);
    assert_null(kobj_unref(NULL));
}

static void test_errors_name_kind_and_field(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = fixture_doc("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a'},"
                                     "{'name':'b','resources':{'requests':{'cpu':'two'}}}]}}");
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    assert_int_equal(kobj_decode(&kind_pod, kj_root(doc), b->scratch, &o, &err), -EINVAL);
    assert_null(o);
    assert_contains(err.text, "Pod: spec.containers[1].resources.requests[cpu]: ");
}

static void test_strings_that_repeat_are_one(void **state)
{
    struct object_fixture *b = *state;
    struct kobj *x = fixture_object(b, &kind_service, service_json);
    struct kobj *y = fixture_object(b, &kind_service, service_json);

    assert_ptr_equal(x->meta.ns, y->meta.ns);
    assert_ptr_equal(x->meta.labels.items[0].value, y->meta.labels.items[0].value);
    assert_ptr_not_equal(x->meta.name, y->meta.name);
    kobj_unref(x);
    kobj_unref(y);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void test_kinds_are_found_by_every_name(void **state)
{
    (void)state;
    assert_ptr_equal(kind_find("pods"), &kind_pod);
    assert_ptr_equal(kind_find("Pod"), &kind_pod);
    assert_ptr_equal(kind_find("pod"), &kind_pod);
    assert_ptr_equal(kind_find("po"), &kind_pod);
    assert_ptr_equal(kind_find("leases.coordination.k8s.io"), &kind_lease);
    assert_ptr_equal(kind_find("events"), &kind_core_event);
    assert_ptr_equal(kind_find("events.events.k8s.io"), &kind_event);
    assert_null(kind_find("podz"));
    assert_null(kind_find("pods.apps"));
    assert_null(kind_find(""));
    assert_ptr_equal(kind_find_gvk("events.k8s.io", "v1", "Event"), &kind_event);
    assert_null(kind_find_gvk("", "v2", "Pod"));
}

static void test_every_kind_is_complete_and_found_again(void **state)
{
    char version[64];
    size_t n = 0;

    (void)state;
    for (const struct kind *k; (k = kind_at(n)); n++) {
        assert_true(k->version && *k->kind && *k->plural);
        assert_ptr_equal(kind_find_gvk(k->group, k->version, k->kind), k);
        assert_non_null(kind_find(k->plural));
        assert_string_equal(k->schema->fields[0].json, "metadata");
        assert_int_equal(k->schema->fields[0].off, offsetof(struct kobj, meta));
        assert_that(kind_api_version(k, version, sizeof version), >, 0);
    }
    assert_that(n, >=, 35);
    assert_int_equal(kind_api_version(&kind_pod, version, sizeof version), 2);
    assert_string_equal(version, "v1");
    kind_api_version(&kind_lease, version, sizeof version);
    assert_string_equal(version, "coordination.k8s.io/v1");
    assert_int_equal(kind_api_version(&kind_lease, version, 6), 5);
    assert_string_equal(version, "coord");
}

/* An empty object of every kind decodes, and comes apart without a trace. */
static void test_every_kind_takes_an_empty_object(void **state)
{
    struct object_fixture *b = *state;
    for (size_t i = 0; kind_at(i); i++) {
        struct kobj *o = fixture_object(b, kind_at(i), "{}");
        assert_string_equal(o->meta.name, "");
        assert_int_equal(o->meta.labels.n, 0);
        kobj_unref(o);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_metadata_is_decoded),
        FIXTURE_TEST(test_labels_are_sorted_and_found),
        FIXTURE_TEST(test_bulky_annotations_are_dropped),
        FIXTURE_TEST(test_controller_is_the_owner_that_says_so),
        FIXTURE_TEST(test_key_is_cut_at_the_buffer),
        FIXTURE_TEST(test_references_keep_the_object),
        FIXTURE_TEST(test_errors_name_kind_and_field),
        FIXTURE_TEST(test_strings_that_repeat_are_one),
        cmocka_unit_test(test_kinds_are_found_by_every_name),
        cmocka_unit_test(test_every_kind_is_complete_and_found_again),
        FIXTURE_TEST(test_every_kind_takes_an_empty_object),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
