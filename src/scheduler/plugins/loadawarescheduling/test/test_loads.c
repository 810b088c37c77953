/* test_loads.c - pods on nodes and what their sums become (sched-loadaware 2, 4, 6.1). */
#include "scheduler/plugins/registry.h"

#include "load_fixture.h"

#include "base/strbuf.h"

#define CLASS(c) ",'labels':{'koordinator.sh/priority-class':'" c "'}"
#define PROD_4   "{'requests':{'cpu':'4','memory':'8Gi'}}"
#define MID_4    "{'requests':{'kubernetes.io/mid-cpu':'4k','kubernetes.io/mid-memory':'8Gi'}}"
#define USAGE(name, prio, cpu, mem)                         \
    "{'namespace':'ns','name':'" name "','priority':'" prio \
    "','podUsage':{'resources':{'cpu':'" cpu "','memory':'" mem "'}}}"

#define SIX_USAGES                                                                                 \
    ",'podsMetric':[" USAGE("prod-1", "koord-prod", "1", "6Gi") "," USAGE(                         \
        "prod-2", "koord-prod", "4",                                                               \
        "2Gi") "," USAGE("prod-3", "koord-mid", "3",                                               \
                         "6Gi") "," USAGE("mid-1", "koord-mid", "1",                               \
                                          "6Gi") "," USAGE("mid-2", "koord-mid", "4",              \
                                                           "2Gi") "," USAGE("mid-3", "koord-prod", \
                                                                            "3", "6Gi") "]"

static const char *member(struct plugin_fixture *f, int i)
{
    const char *name = arena_printf(f->base->arena, "%s-%d", i < 3 ? "prod" : "mid", i % 3 + 1);

    return load_pod(f, name, "n", i < 3 ? PROD_4 : MID_4,
                    i < 3 ? CLASS("koord-prod") : CLASS("koord-mid"));
}

static void six_pods(struct plugin_fixture *f, void **state)
{
    load_start(f, state, "{'estimatedScalingFactors':{'cpu':50,'memory':50}}");
    load_node(f, "n", "");
    load_metric(f, "n", NULL, "0/0", SIX_USAGES);
    for (int i = 0; i < 6; i++)
        fixture_pod(f, member(f, i));
}

static void expect_six(struct plugin_fixture *f)
{
    load_expect(f, "n", LOAD_SUM_PROD_USAGE, 5000, 8 * GI);
    load_expect(f, "n", LOAD_SUM_NODE_DELTA, 2000, 4 * GI);
    load_expect(f, "n", LOAD_SUM_PROD_DELTA, 3000, 6 * GI);
    load_expect(f, "n", LOAD_SUM_ESTIMATED, 12000, 24 * GI);
}

static void expect_nothing(struct plugin_fixture *f, const char *node)
{
    for (int s = LOAD_SUM_PROD_USAGE; s < LOAD_SUMS; s++)
        load_expect(f, node, (enum load_sum)s, 0, 0);
}

static const char *rest(struct plugin_fixture *f, const char *node)
{
    const struct ks_get g = { .params = &node, .target = "", .arena = f->base->arena };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    struct kerr err = { 0 };

    assert_int_equal(loads_paths[0].get(load_service(f), &g, &w, &err), 0);
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

static void test_sums(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    six_pods(&f, state);
    expect_six(&f);
    for (int i = 0; i < 6; i++)
        fixture_pod_gone(&f, member(&f, i));
    expect_nothing(&f, "n");
}

/* The same from the other side: the report comes when the pods are there. */
static void test_a_report_after_the_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(kobj_unref) struct kobj *metric = NULL;

    six_pods(&f, state);
    metric = kobj_ref(objects_get(f.objects, &kind_nodemetric, NULL, "n"));
    objects_remove(f.objects, metric);
    expect_nothing(&f, "n");
    objects_put(f.objects, metric);
    expect_six(&f);
    for (int i = 5; i >= 0; i--)
        fixture_pod_gone(&f, member(&f, i));
    expect_nothing(&f, "n");
    objects_remove(f.objects, metric);
    assert_null(loads_find(load_service(&f), "n"));
}

static void test_rest(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    six_pods(&f, state);
    const char *text = rest(&f, "n");
    assert_contains(text, "\"prodUsage\":{\"cpu\":\"5\",\"memory\":\"8Gi\"}");
    assert_contains(text, "\"nodeDelta\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}");
    assert_contains(text, "\"prodDelta\":{\"cpu\":\"3\",\"memory\":\"6Gi\"}");
    assert_contains(text, "\"nodeEstimated\":{\"cpu\":\"12\",\"memory\":\"24Gi\"}");
    assert_contains(text,
                    "\"nodeDeltaPods\":[\"ns/mid-1\",\"ns/mid-2\",\"ns/prod-1\",\"ns/prod-2\"]");
    assert_contains(text, "\"prodDeltaPods\":[\"ns/prod-1\",\"ns/prod-2\",\"ns/prod-3\"]");
    assert_contains(text, "\"pods\":[{\"timestamp\":");
    assert_string_equal(rest(&f, "unknown"), "{}");
}

static void test_a_pod_that_moves(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_metric(&f, "a", JUST, "0/0", "");
    load_metric(&f, "b", JUST, "0/0", "");
    fixture_pod(&f, load_pod(&f, "p", "a", POD_16, ""));
    load_expect(&f, "a", LOAD_SUM_NODE_DELTA, 13600, 24051816858);
    fixture_pod(&f, load_pod(&f, "p", "b", POD_16, ""));
    expect_nothing(&f, "a");
    load_expect(&f, "b", LOAD_SUM_NODE_DELTA, 13600, 24051816858);
}

static void change(struct plugin_fixture *f, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, text);

    loads_service.pods->changed(load_service(f), NULL, pod_of(o));
}

static void test_labels_alone_change_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_metric(&f, "n", JUST, "0/0", "");
    fixture_pod(&f, load_pod(&f, "p", "n", POD_16, ""));
    const struct load_pod *p = loads_find(load_service(&f), "n")->pods.items[0];
    const struct kobj *was = p->pod;
    change(&f, load_pod(&f, "p", "n", POD_16, CLASS("koord-free")));
    assert_ptr_equal(loads_find(load_service(&f), "n")->pods.items[0], p);
    assert_ptr_equal(p->pod, was);
    change(&f, load_pod(&f, "p", "n", "{}", ""));
    load_expect(&f, "n", LOAD_SUM_NODE_DELTA, 250, 209715200);
}

static void test_assumptions_end(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_metric(&f, "n", JUST, "0/0", "");
    CLEANUP(kobj_unref)
    struct kobj *o = fixture_object(f.base, &kind_pod, load_pod(&f, "p", "", POD_16, ""));
    services_tell_assumed(f.services, pod_of(o), "n");
    load_expect(&f, "n", LOAD_SUM_NODE_DELTA, 13600, 24051816858);
    services_tell_forgotten(f.services, pod_of(o), "n");
    expect_nothing(&f, "n");
}

static void test_placeholders_use_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    fixture_pod(&f, load_pod(&f, "r", "n", POD_16,
                             ",'annotations':{'scheduling.koordinator.sh/reserve-pod':'true'}"));
    assert_null(loads_find(load_service(&f), "n"));
}

static void test_intervals(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_metric(&f, "n", JUST, "0/0", "");
    assert_int_equal(loads_find(load_service(&f), "n")->interval, 60 * NSEC_PER_SEC);
    fixture_put(&f, &kind_nodemetric,
                "{'metadata':{'name':'n'},'spec':{'metricCollectPolicy':{"
                "'reportIntervalSeconds':180}}}");
    assert_int_equal(loads_find(load_service(&f), "n")->interval, 180 * NSEC_PER_SEC);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_sums),
        FIXTURE_TEST(test_a_report_after_the_pods),
        FIXTURE_TEST(test_rest),
        FIXTURE_TEST(test_a_pod_that_moves),
        FIXTURE_TEST(test_labels_alone_change_nothing),
        FIXTURE_TEST(test_assumptions_end),
        FIXTURE_TEST(test_placeholders_use_nothing),
        FIXTURE_TEST(test_intervals),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
