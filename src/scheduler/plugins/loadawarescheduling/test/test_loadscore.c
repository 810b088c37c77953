/* test_loadscore.c - nodes with a low load are preferred (sched-loadaware 6). */
#include "scheduler/plugins/registry.h"

#include "load_fixture.h"

/* Thresholds off: scores of busy nodes are of interest too. */
#define OPEN "'usageThresholds':{'cpu':0}"
#define PROD ",'labels':{'koordinator.sh/priority-class':'koord-prod'}"

static void start(struct plugin_fixture *f, void **state, const char *args)
{
    struct object_fixture *base = *state;

    load_start(f, state, arena_printf(base->arena, "{" OPEN "%s}", args));
    load_node(f, "n", "");
    load_node(f, "other", ""); /* one candidate would not be scored */
}

static int64_t score_of(struct plugin_fixture *f, const char *pod)
{
    fixture_try(f, pod);
    return fixture_score(f, NAME, "n");
}
static int64_t score(struct plugin_fixture *f)
{
    return score_of(f, load_pod(f, "p", "", POD_16, ""));
}

static void assigned_at(struct plugin_fixture *f, const char *time)
{
    fixture_pod(f,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{"
                             "'nodeName':'n','containers':[{'name':'c','resources':" POD_16
                             "}]},'status':{'conditions':[{'type':'PodScheduled','status':'True',"
                             "'lastTransitionTime':'%s'}]}}",
                             time));
}

static void test_usage(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "");
    assert_int_equal(score(&f), 0); /* no metric */
    load_metric(&f, "n", JUST, "0/0", "");
    assert_int_equal(score(&f), 90);
    assert_int_equal(score_of(&f, load_pod(&f, "p", "", "{}", "")), 99);
    assert_int_equal(score_of(&f, load_pod(&f, "p", "",
                                           "{'requests':{'cpu':'8','memory':'16Gi'},'limits':{"
                                           "'cpu':'16','memory':'32Gi'}}",
                                           "")),
                     90);
    assert_int_equal(score_of(&f, load_pod(&f, "p", "",
                                           "{'requests':{'kubernetes.io/batch-cpu':'16000',"
                                           "'kubernetes.io/batch-memory':'32Gi'}}",
                                           ",'labels':{'koordinator.sh/priority-class':"
                                           "'koord-batch'}")),
                     90);
    load_metric(&f, "n", JUST, "32/10Gi", "");
    assert_int_equal(score(&f), 72);
    load_metric(&f, "n", "1970-01-01T00:57:00Z", "0/0", ""); /* 180 s old */
    assert_int_equal(score(&f), 0);
}

static void test_pods_that_were_not_observed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, "");
    load_metric(&f, "n", JUST, "32/10Gi", "");
    fixture_pod(&f, load_pod(&f, "q", "n", POD_16, ""));
    assert_int_equal(score(&f), 63);
    assigned_at(&f, "1970-01-01T00:59:49Z"); /* 10 s before the report */
    assert_int_equal(score(&f), 63);
    fixture_pod_gone(&f, load_pod(&f, "q", "n", POD_16, ""));
    assert_int_equal(score(&f), 72);
}

static void put_p95(struct plugin_fixture *f, const char *p95)
{
    fixture_put(f, &kind_nodemetric,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'n'},'status':{'updateTime':'" JUST
                             "','nodeMetric':{'nodeUsage':{'resources':{'cpu':'0'}},"
                             "'aggregatedNodeUsages':[%s]},'podsMetric':[{'namespace':'ns','name':"
                             "'q','podUsage':{'resources':{'cpu':'1','memory':'1Gi'}}}]}}",
                             p95));
}

static void test_aggregated(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, ",'aggregated':{'scoreAggregationType':'p95','scoreAggregatedDuration':'5m'}");
    put_p95(&f, "{'duration':'5m','usage':{'p95':{'resources':{'cpu':'32','memory':'10Gi'}}}}");
    assert_int_equal(score(&f), 72);
    put_p95(&f, "");
    assert_int_equal(score(&f), 90);
    assigned_at(&f, OLD);
    assert_int_equal(score(&f), 81); /* by estimates: nothing was measured */
}

static void test_the_dominant_resource(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f, lacking;

    start(&f, state, ",'dominantResourceWeight':10");
    load_metric(&f, "n", JUST, "0/0", "");
    assert_int_equal(score(&f), 85);
    /* A resource that the node does not have is not its scarcest one. */
    start(&lacking, state, ",'dominantResourceWeight':10,'supportedResources':['x/y']");
    load_metric(&lacking, "n", JUST, "0/0", "");
    assert_int_equal(score(&lacking), 85);
    assert_int_equal(fixture_score(&lacking, NAME, "other"), 0);
}

static void test_prod_usage(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, ",'scoreAccordingProdUsage':true");
    load_metric(&f, "n", JUST, "30/100Gi",
                ",'podsMetric':[{'namespace':'ns','name':'q','priority':'koord-prod','podUsage':{"
                "'resources':{'cpu':'30','memory':'100Gi'}}}]");
    fixture_pod(&f, load_pod(&f, "q", "n", "{'requests':{'cpu':'1','memory':'1Gi'}}", PROD));
    assert_int_equal(
        score_of(&f, load_pod(&f, "p", "", "{'requests':{'cpu':'16000','memory':'32Gi'}}", PROD)),
        38);
}

/* Profiles with equal args know of the same pods. */
static void test_profiles_share(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct profile_config c;
    struct kerr err = { 0 };

    load_start(&f, state, "{}");
    c = profile_config_default(load_table, "second", f.base->arena);
    struct profile *second = profile_new(&c, load_table, &f.env, &err);
    assert_string_equal(err.text, "");
    assert_ptr_equal(second->slots[profile_slot(second, NAME)].self, load_service(&f));
    profile_free(second);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_usage),      FIXTURE_TEST(test_pods_that_were_not_observed),
        FIXTURE_TEST(test_aggregated), FIXTURE_TEST(test_the_dominant_resource),
        FIXTURE_TEST(test_prod_usage), FIXTURE_TEST(test_profiles_share),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
