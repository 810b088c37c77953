/* test_loadfilter.c - nodes that are too busy are left out (sched-loadaware 1.1, 2, 5). */
#include "scheduler/plugins/registry.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "load_fixture.h"

#define EMPTY \
    "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'containers':[{'name':'c'}]}}"
#define PROD    ",'labels':{'koordinator.sh/priority-class':'koord-prod'}"
#define MID     ",'labels':{'koordinator.sh/priority-class':'koord-mid'}"
#define CPU     "node(s) cpu usage exceed threshold"
#define MEMORY  "node(s) memory usage exceed threshold"
#define EXPIRED "node(s) nodeMetric expired"
/* Aggregated usage of the node, within nodeMetric. */
#define P95_70                                                                                     \
    ",'aggregatedNodeUsages':[{'duration':'5m','usage':{'p95':{'resources':{'cpu':'70','memory':'" \
    "1Gi'}}}}]"

static void put_metric_with(struct plugin_fixture *f, const char *usage, const char *more)
{
    fixture_put(f, &kind_nodemetric,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'n'},'status':{'updateTime':'" JUST
                             "','nodeMetric':{'nodeUsage':{'resources':%s}%s}}}",
                             load_resources(f, usage), more));
}

static void expect(struct plugin_fixture *f, const char *pod, const char *why)
{
    fixture_try(f, pod);
    assert_string_equal(fixture_why(f, "n"), why);
    if (why[0])
        assert_int_equal(fixture_code(f, "n"), KS_UNSCHEDULABLE);
}

static void test_thresholds(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_node(&f, "n", "");
    expect(&f, EMPTY, ""); /* without a metric */
    load_metric(&f, "n", JUST, "60/256Gi", "");
    expect(&f, EMPTY, "");
    load_metric(&f, "n", JUST, "70/256Gi", "");
    expect(&f, EMPTY, CPU);
    load_metric(&f, "n", JUST, "30/500Gi", "");
    expect(&f, EMPTY, MEMORY);
    load_metric(&f, "n", JUST, "70/500Gi", "");
    expect(&f, EMPTY, CPU); /* the first one only */
    objects_remove(f.objects, objects_get(f.objects, &kind_nodemetric, NULL, "n"));
    expect(&f, EMPTY, "");
}

/* 65.49...% is rounded to 65, which is not above; 65.5% is. */
static void test_the_border(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'usageThresholds':{'cpu':65}}");
    load_node(&f, "n", "");
    load_metric(&f, "n", JUST, "62629m/0", "");
    expect(&f, EMPTY, ""); /* with 250m: 62879 of 96000 */
    load_metric(&f, "n", JUST, "62630m/0", "");
    expect(&f, EMPTY, CPU);
}

static void test_off(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'usageThresholds':{'memory':0}}");
    load_node(&f, "n", "");
    load_metric(&f, "n", OLD, "96/512Gi", "");
    expect(&f, EMPTY, ""); /* not even expired */
}

static void test_annotations(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_metric(&f, "n", JUST, "70/316Gi", "");
#define OWN(text) "'scheduling.koordinator.sh/usage-thresholds':'" text "'"
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":{\\\"memory\\\":60}}"));
    expect(&f, EMPTY, MEMORY); /* the group is replaced: cpu is not looked at */
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":"));
    expect(&f, EMPTY, CPU);
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":{\\\"cpu\\\":9223372036854775807}}"));
    expect(&f, EMPTY, "");
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":{\\\"cpu\\\":-1}}"));
    expect(&f, EMPTY, CPU);
    load_node(&f, "n", "'node.koordinator.sh/raw-allocatable':'{\\\"cpu\\\":200}'");
    expect(&f, EMPTY, "");
}

static void test_raw_allocatable(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct load_limits m;

    load_start(&f, state, "{}");
    load_metric(&f, "n", JUST, "0/0", "");
    fixture_node(&f, "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/raw-allocatable':"
                     "'{\\\"cpu\\\":28,\\\"memory\\\":\\\"32Gi\\\"}'}},'status':{'allocatable':{"
                     "'cpu':'32','memory':'42Gi'}}}");
    load_limits_of(load_service(&f), f.env.nodes->node[fixture_row(&f, "n")], NOW, &m);
    assert_int_equal(m.capacity[0], 28000);
    assert_int_equal(m.capacity[1], 32 * GI);
}

static void test_aggregated(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f, plain;

    load_start(&f, state,
               "{'aggregated':{'usageThresholds':{'cpu':60},'usageAggregationType':'p95',"
               "'usageAggregatedDuration':'5m'}}");
    load_node(&f, "n", "");
    put_metric_with(&f, "30/1Gi", P95_70);
    expect(&f, EMPTY, "node(s) cpu aggregated usage exceed threshold");
    load_start(&plain, state, "{}");
    put_metric_with(&plain, "30/1Gi", P95_70);
    load_node(&plain, "n",
              OWN("{\\\"aggregatedUsage\\\":{\\\"usageThresholds\\\":{\\\"cpu\\\":60},"
                  "\\\"usageAggregationType\\\":\\\"p95\\\",\\\"usageAggregatedDuration\\\":"
                  "\\\"5m\\\"}}"));
    expect(&plain, EMPTY, "node(s) cpu aggregated usage exceed threshold");
}

/* Which of several durations counts: seen by how much room is left below 100%. */
static int64_t p95_of(void **state, const char *duration, const char *usages)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct object_fixture *base = *state;
    struct load_limits m;

    load_start(
        &f, state,
        arena_printf(base->arena, "{'aggregated':{'scoreAggregationType':'p95'%s}}", duration));
    load_node(&f, "n", "");
    put_metric_with(&f, "20/1Gi",
                    arena_printf(base->arena, ",'aggregatedNodeUsages':[%s]", usages));
    load_limits_of(load_service(&f), f.env.nodes->node[fixture_row(&f, "n")], NOW, &m);
    return (96000 - m.left[LOAD_ANY][0]) / 1000;
}

static void test_durations(void **state)
{
#define P95(minutes, list) "{'duration':'" minutes "m','usage':{'p95':{'resources':{" list "}}}}"
    const char *all = P95("5", "'cpu':'30'") "," P95("10", "'cpu':'50'") "," P95("15", "");

    assert_int_equal(p95_of(state, "", all), 50);
    assert_int_equal(p95_of(state, ",'scoreAggregatedDuration':'5m'", all), 30);
    assert_int_equal(p95_of(state, "", P95("5", "") "," P95("10", "")), 20);
}

static void test_prod(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'prodUsageThresholds':{'cpu':60}}");
    load_node(&f, "n", "");
    load_metric(&f, "n", JUST, "53/10Gi",
                ",'podsMetric':[{'namespace':'ns','name':'a','priority':'koord-prod','podUsage':{"
                "'resources':{'cpu':'30'}}},{'namespace':'ns','name':'b','priority':'koord-prod',"
                "'podUsage':{'resources':{'cpu':'23'}}}]");
    fixture_pod(&f, load_pod(&f, "a", "n", "{'requests':{'cpu':'1','memory':'1'}}", PROD));
    fixture_pod(&f, load_pod(&f, "b", "n", "{'requests':{'cpu':'1','memory':'1'}}", PROD));
    expect(&f, load_pod(&f, "p", "", "{'requests':{'cpu':'20','memory':'1Gi'}}", PROD), CPU);
    expect(&f, load_pod(&f, "p", "", "{'requests':{'cpu':'4','memory':'1Gi'}}", PROD), "");
    expect(&f, load_pod(&f, "p", "", "{'requests':{'kubernetes.io/mid-cpu':'12k'}}", MID), CPU);
}

static void test_prod_memory(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'prodUsageThresholds':{'memory':70}}");
    load_node(&f, "n", "");
    load_metric(&f, "n", JUST, "1/100Gi",
                ",'podsMetric':[{'namespace':'ns','name':'a','priority':'koord-prod','podUsage':{"
                "'resources':{'memory':'100Gi'}}}]");
    fixture_pod(&f, load_pod(&f, "a", "n", "{'requests':{'memory':'1Gi'}}", PROD));
    fixture_pod(&f, load_pod(&f, "b", "n", "{'requests':{'memory':'200Gi'}}", PROD));
    expect(&f, load_pod(&f, "p", "", "{'requests':{'memory':'200Gi'}}", PROD), MEMORY);
}

static void test_daemonsets(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_node(&f, "n", "");
    load_metric(&f, "n", JUST, "70/1Gi", "");
    expect(&f,
           load_pod(&f, "p", "", "{}",
                    ",'ownerReferences':[{'kind':'DaemonSet','name':'d','uid':'d'}]"),
           "");
}

static void test_reports_expire(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f, open;

    load_start(&f, state, "{}");
    load_node(&f, "n", "");
    load_metric(&f, "n", "1970-01-01T00:57:01Z", "1/1Gi", "");
    expect(&f, EMPTY, "");
    f.now += NSEC_PER_SEC; /* 180 s old, and nothing else has changed */
    expect(&f, EMPTY, EXPIRED);
    load_metric(&f, "n", NULL, "1/1Gi", "");
    expect(&f, EMPTY, EXPIRED);
    load_metric(&f, "n", "1970-01-01T02:00:00Z", "1/1Gi", ""); /* from the future */
    expect(&f, EMPTY, "");
    load_start(&open, state, "{'enableScheduleWhenNodeMetricsExpired':true}");
    load_node(&open, "n", "");
    load_metric(&open, "n", NULL, "90/500Gi", "");
    expect(&open, EMPTY, "");
}

/* More resources than columns. */
static void test_many_resources(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state,
               "{'usageThresholds':{'cpu':65,'memory':95,'x/y':50},'supportedResources':['a/b']}");
    fixture_node(&f,
                 "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'96','memory':'512Gi',"
                 "'x/y':'10'}}}");
    load_metric(&f, "n", JUST, "60/256Gi", "");
    expect(&f, EMPTY, "");
    fixture_put(&f, &kind_nodemetric,
                "{'metadata':{'name':'n'},'status':{'updateTime':'" JUST "','nodeMetric':{"
                "'nodeUsage':{'resources':{'cpu':'1','x/y':'6'}}}}}");
    expect(&f, EMPTY, "node(s) x/y usage exceed threshold");
}

static void test_malformed_reports(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    load_node(&f, "n", "");
    load_metric(&f, "unknown", JUST, "90/500Gi", "");
    load_metric(&f, "n", JUST, "-5/-1Gi", "");
    expect(&f, EMPTY, "");
    load_metric(&f, "n", JUST, "9E/9E", "");
    expect(&f, EMPTY, CPU);
    fixture_put(&f, &kind_nodemetric,
                "{'metadata':{'name':'n'},'status':{'updateTime':'" JUST "'}}");
    expect(&f, EMPTY, "");
}

/* ---- bad input is said once ------------------------------------------------------------------- */

static struct strbuf said;

static void keep_line(void *arg, const char *text, size_t n)
{
    (void)arg;
    strbuf_appendn(&said, text, n);
}

static unsigned lines(void)
{
    unsigned n = 0;

    for (size_t i = 0; i < said.len; i++)
        n += said.data[i] == '\n';
    strbuf_reset(&said);
    return n;
}

/* And another node is not disturbed by it. */
static void test_bad_input_is_logged_once(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    klog_set_sink(keep_line, NULL);
    load_start(&f, state, "{'allowCustomizeEstimation':true}");
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":"));
    load_node(&f, "other", "");
    load_metric(&f, "other", JUST, "1/1Gi", "");
    for (int i = 0; i < 3; i++) {
        load_metric(&f, "n", NULL, "-1/-1Gi", "");
        expect(&f, EMPTY, EXPIRED);
        assert_string_equal(fixture_why(&f, "other"), "");
    }
    assert_contains(strbuf_str(&said), "NodeMetric has no updateTime");
    assert_contains(strbuf_str(&said), "NodeMetric has negative usage");
    assert_contains(strbuf_str(&said), "usage-thresholds");
    assert_int_equal(lines(), 3);
    load_metric(&f, "n", JUST, "1/1Gi", "");
    load_metric(&f, "n", NULL, "-1/1Gi", "");
    expect(&f, EMPTY, EXPIRED);
    assert_int_equal(lines(), 0);
    load_node(&f, "n", OWN("{\\\"usageThresholds\\\":[]}")); /* another text */
    expect(&f, EMPTY, EXPIRED);
    assert_int_equal(lines(), 1);
    const char *factors = ",'annotations':{'scheduling.koordinator.sh/load-estimated-scaling-"
                          "factors':'{\\\"cpu\\\":true}'}";
    for (int i = 0; i < 3; i++)
        fixture_pod(&f, load_pod(&f, "p", "n", "{}", factors));
    assert_contains(strbuf_str(&said), "load-estimated-scaling-factors");
    assert_int_equal(lines(), 1);
    klog_set_sink(NULL, NULL);
    strbuf_fini(&said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_thresholds),
        FIXTURE_TEST(test_the_border),
        FIXTURE_TEST(test_off),
        FIXTURE_TEST(test_annotations),
        FIXTURE_TEST(test_raw_allocatable),
        FIXTURE_TEST(test_aggregated),
        FIXTURE_TEST(test_durations),
        FIXTURE_TEST(test_prod),
        FIXTURE_TEST(test_prod_memory),
        FIXTURE_TEST(test_daemonsets),
        FIXTURE_TEST(test_reports_expire),
        FIXTURE_TEST(test_many_resources),
        FIXTURE_TEST(test_malformed_reports),
        FIXTURE_TEST(test_bad_input_is_logged_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
