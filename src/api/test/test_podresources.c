/* test_podresources.c - totals of a pod: the rules one by one (scheduler-core 2.2). */
#include "api/test/object_fixture.h"

#include "api/podresources.h"

static struct pod *pod_from(struct object_fixture *b, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(json);
    struct pod *p = NULL;
    struct kerr err = { 0 };
    if (pod_decode(kj_root(doc), b->arena, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static int64_t count_of(const reslist *l, const char *name)
{
    const struct qty *q = reslist_find(l, name);
    return q ? resource_count(name, *q) : -1;
}

static int64_t request(struct object_fixture *b, const char *json, const char *name,
                       const struct podres_options *o)
{
    reslist l = pod_requests(pod_from(b, json), o, b->arena);
    return count_of(&l, name);
}

static int64_t limit(struct object_fixture *b, const char *json, const char *name,
                     const struct podres_options *o)
{
    reslist l = pod_limits(pod_from(b, json), o, b->arena);
    return count_of(&l, name);
}

#define REQ(cpu) "'resources':{'requests':{'cpu':'" cpu "'}}"

static void test_init_containers_run_beside_earlier_sidecars(void **state)
{
    struct object_fixture *b = *state;
    const char *json = "{'spec':{'containers':[{'name':'a'," REQ("1") "},{'name':'b'," REQ(
        "2") "}],"
             "'initContainers':[{'name':'s','restartPolicy':'Always'," REQ("1") "},"
                                                                                "{'name':'i'," REQ(
                                                                                    "5") "}]}}";
    const char *later = "{'spec':{'containers':[{'name':'a'," REQ(
        "1") "}],"
             "'initContainers':[{'name':'i'," REQ("5") "},"
                                                       "{'name':'s','restartPolicy':'Always'," REQ(
                                                           "1") "}]}}";

    assert_int_equal(request(b, json, "cpu", NULL), 6000);
    assert_int_equal(request(b, later, "cpu", NULL), 5000);
}

static void test_overhead_adds_to_requests_and_real_limits(void **state)
{
    struct object_fixture *b = *state;
    const char *json = "{'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'1'},"
                       "'limits':{'cpu':'0','memory':'1Gi'}}}],"
                       "'overhead':{'cpu':'100m','memory':'1Mi','x/y':'1'}}}";
    const struct podres_options bare = { .exclude_overhead = true };

    assert_int_equal(request(b, json, "cpu", NULL), 1100);
    assert_int_equal(request(b, json, "memory", NULL), 1 << 20);
    assert_int_equal(request(b, json, "cpu", &bare), 1000);
    assert_int_equal(request(b, json, "memory", &bare), -1);
    assert_int_equal(limit(b, json, "cpu", NULL), 0);
    assert_int_equal(limit(b, json, "memory", NULL), (1 << 30) + (1 << 20));
    assert_int_equal(limit(b, json, "x/y", NULL), -1);
}

static void test_pod_level_replaces_only_what_it_may(void **state)
{
    struct object_fixture *b = *state;
    const char *json = "{'spec':{'resources':{'requests':{'cpu':'3','ephemeral-storage':'1Gi'}},"
                       "'containers':[{'name':'a','resources':{'requests':{'cpu':'5','x/y':'2'}}}],"
                       "'overhead':{'cpu':'1'}}}";
    const struct podres_options skip = { .skip_pod_level = true };

    assert_int_equal(request(b, json, "cpu", NULL), 4000);
    assert_int_equal(request(b, json, "x/y", NULL), 2);
    assert_int_equal(request(b, json, "ephemeral-storage", NULL), -1);
    assert_int_equal(request(b, json, "cpu", &skip), 6000);
    assert_true(pod_level_requests_set(pod_from(b, json)->spec));
    assert_false(pod_level_requests_set(pod_from(b, "{'spec':{'resources':{}}}")->spec));
}

#define RESIZED(reason)                                             \
    "{'spec':{'containers':[{'name':'a'," REQ(                      \
        "3") "}]},'status':{'conditions':[{'type':"                 \
             "'PodResizePending','status':'True','reason':'" reason \
             "'}],'containerStatuses':[{'name':'a',"                \
             "'allocatedResources':{'cpu':'2'},'resources':{'requests':{'cpu':'1'}}}]}}"

static void test_resized_containers_count_at_their_maximum(void **state)
{
    struct object_fixture *b = *state;
    const struct podres_options use = { .use_status = true };

    assert_int_equal(request(b, RESIZED("Deferred"), "cpu", &use), 3000);
    assert_int_equal(request(b, RESIZED("Infeasible"), "cpu", &use), 2000);
    assert_int_equal(request(b, RESIZED("Infeasible"), "cpu", NULL), 3000);
}

static void test_defaults_fill_what_is_missing(void **state)
{
    struct object_fixture *b = *state;
    struct resqty items[] = { { "cpu", qty_from_milli(100, QTY_DECIMAL_SI) } };
    const reslist defaults = { items, 1 };
    const struct podres_options o = { .non_missing = &defaults };

    assert_int_equal(request(b, "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "cpu", &o),
                     200);
    assert_int_equal(request(b, "{'spec':{'containers':[{'name':'a'," REQ("0") "}]}}", "cpu", &o),
                     0);
}

static void test_rounding_happens_once(void **state)
{
    struct object_fixture *b = *state;
    const char *json =
        "{'spec':{'containers':[{'name':'a'," REQ("0.4m") "},{'name':'b'," REQ("0.4m") "}]}}";
    reslist l = pod_requests(pod_from(b, json), NULL, b->arena);
    rescountlist counts = reslist_counts(&l, b->arena);

    assert_int_equal(counts.n, 1);
    assert_string_equal(counts.items[0].name, "cpu");
    assert_int_equal(counts.items[0].count, 1);
}

static void test_templates_count_like_pods(void **state)
{
    struct object_fixture *b = *state;
    const struct pod *p = pod_from(b, RESIZED("Deferred"));
    const struct podres_options use = { .use_status = true };
    reslist requests = pod_spec_requests(p->spec, &use, b->arena);
    reslist limits = pod_spec_limits(p->spec, NULL, b->arena);

    assert_int_equal(count_of(&requests, "cpu"), 3000);
    assert_int_equal(limits.n, 0);
}

static void test_qos(void **state)
{
    struct object_fixture *b = *state;
    static const struct {
        const char *json;
        enum kube_qos want;
    } cases[] = {
        { "{'spec':{'containers':[{'name':'a'}]}}", KUBE_QOS_BEST_EFFORT },
        { "{'spec':{'containers':[{'name':'a','resources':{'requests':"
          "{'kubernetes.io/batch-cpu':'1k'}}}]}}",
          KUBE_QOS_BEST_EFFORT },
        { "{'spec':{'containers':[{'name':'a'," REQ("1") "}]}}", KUBE_QOS_BURSTABLE },
        { "{'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'1','memory':'1Gi'},"
          "'limits':{'cpu':'1000m','memory':'1024Mi'}}}]}}",
          KUBE_QOS_GUARANTEED },
        { "{'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'1','memory':'1Gi'},"
          "'limits':{'cpu':'1','memory':'1Gi'}}}],'initContainers':[{'name':'i'}]}}",
          KUBE_QOS_BURSTABLE },
        { "{'spec':{'resources':{'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'1',"
          "'memory':'1Gi'}},'containers':[{'name':'a'}]}}",
          KUBE_QOS_GUARANTEED },
        { "{'spec':{'resources':{},'containers':[{'name':'a'," REQ("1") "}]}}",
          KUBE_QOS_BEST_EFFORT },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(cases[i].json);
        const struct kj_val *spec = kj_get(kj_root(doc), "spec");
        assert_int_equal(pod_compute_qos(pod_from(b, cases[i].json)->spec), cases[i].want);
        assert_int_equal(kube_qos_of_document(spec), cases[i].want);
    }
    assert_int_equal(pod_qos(pod_from(b, "{'status':{'qosClass':'Guaranteed'}}")),
                     KUBE_QOS_GUARANTEED);
    assert_int_equal(pod_qos(pod_from(b, cases[2].json)), KUBE_QOS_BURSTABLE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_init_containers_run_beside_earlier_sidecars),
        FIXTURE_TEST(test_overhead_adds_to_requests_and_real_limits),
        FIXTURE_TEST(test_pod_level_replaces_only_what_it_may),
        FIXTURE_TEST(test_resized_containers_count_at_their_maximum),
        FIXTURE_TEST(test_defaults_fill_what_is_missing),
        FIXTURE_TEST(test_rounding_happens_once),
        FIXTURE_TEST(test_templates_count_like_pods),
        FIXTURE_TEST(test_qos),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
