/* test_koordlet_report.c - NodeMetric and Device as functions of what is known (koordlet-metrics 6,
 * 8). */
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "koordlet/report/device_report.h"
#include "koordlet/report/metric_gauges.h"
#include "koordlet/report/nodemetric.h"
#include "koordlet/report/test/report_fixture.h"

/* ---- NodeMetric ------------------------------------------------------------------------------ */

static void feed(struct metriccache *mc, enum metric_kind k, const char *const *labels,
                 int64_t seconds_ago, double value)
{
    struct kerr err = { 0 };

    metriccache_retain(mc, k, NSEC_PER_SEC, 1800 * NSEC_PER_SEC);
    struct series *s = metriccache_open(mc, k, labels);
    if (series_append(s, NOW / NSEC_PER_MSEC - seconds_ago * 1000, value, &err) < 0)
        fail_msg("%s", err.text);
    series_close(s);
}
#define LABELS(...) ((const char *const[]){ __VA_ARGS__ })

static const struct collect_policy policy = { .aggregate = 300 * NSEC_PER_SEC,
                                              .report_interval = 60 * NSEC_PER_SEC,
                                              .durations = { 600 * NSEC_PER_SEC },
                                              .ndurations = 1 };

#define BURSTABLE_POD                                                                      \
    "[{'metadata':{'name':'p','namespace':'ns','uid':'u1'},'spec':{'containers':[{'name':" \
    "'c','resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':'Running'}}]"

static struct kj_doc *build(struct object_fixture *b, struct nodemetric_in *in)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct nodemetric_status status;
    struct kjw w = kjw_to(&text);

    in->now = NOW;
    if (!in->policy)
        in->policy = &policy;
    nodemetric_build(in, b->arena, &status, NULL);
    nodemetric_write(&status, &w, NULL);
    return parse(&text);
}

static void test_usage_of_node_system_pods_and_gpus(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(podset_unref) struct podset *pods = pods_of(b, BURSTABLE_POD);
    struct nodemetric_gpu gpus[] = { { "g-0", 0, 100 }, { "g-1", 1, 200 } };

    feed(mc, M_NODE_CPU, NULL, 5, 3), feed(mc, M_NODE_MEMORY, NULL, 5, 3.0 * GI);
    feed(mc, M_SYS_CPU, NULL, 5, 2), feed(mc, M_SYS_MEMORY, NULL, 5, 2.0 * GI);
    feed(mc, M_POD_CPU, LABELS("u1"), 5, 1), feed(mc, M_POD_MEMORY, LABELS("u1"), 5, GI);
    feed(mc, M_NODE_GPU_CORE, LABELS("0", "g-0"), 5, 80);
    feed(mc, M_NODE_GPU_MEMORY, LABELS("0", "g-0"), 5, 30);
    feed(mc, M_NODE_GPU_CORE, LABELS("1", "g-1"), 5, 40);
    feed(mc, M_NODE_GPU_MEMORY, LABELS("1", "g-1"), 5, 50);
    feed(mc, M_POD_GPU_CORE, LABELS("u1", "1", "g-1"), 5, 7);
    feed(mc, M_POD_GPU_MEMORY, LABELS("u1", "1", "g-1"), 5, 20);
    CLEANUP(kj_doc_free)
    struct kj_doc *d =
        build(b, &(struct nodemetric_in){ .mc = mc, .pods = pods, .gpus = gpus, .ngpus = 2 });

    assert_json(kj_path(kj_root(d), "nodeMetric.nodeUsage"),
                "{'resources':{'cpu':'3','memory':'3Gi'},'devices':["
                "{'type':'gpu','id':'g-0','minor':0,'health':false,'resources':{'koordinator.sh/"
                "gpu-core':'80','koordinator.sh/gpu-memory':'30','koordinator.sh/gpu-memory-ratio':"
                "'30'}},{'type':'gpu','id':'g-1','minor':1,'health':false,'resources':{"
                "'koordinator.sh/gpu-core':'40','koordinator.sh/gpu-memory':'50','koordinator.sh/"
                "gpu-memory-ratio':'25'}}]}");
    assert_json(kj_path(kj_root(d), "nodeMetric.systemUsage"),
                "{'resources':{'cpu':'2','memory':'2Gi'}}");
    assert_json(kj_get(kj_root(d), "podsMetric"),
                "[{'name':'p','namespace':'ns','priority':'koord-prod','qos':'LS','podUsage':{"
                "'resources':{'cpu':'1','memory':'1Gi'},'devices':[{'type':'gpu','id':'g-1',"
                "'minor':1,'health':false,'resources':{'koordinator.sh/gpu-core':'7',"
                "'koordinator.sh/gpu-memory':'20','koordinator.sh/gpu-memory-ratio':'10'}}]}}]");
    assert_json(kj_get(kj_root(d), "updateTime"), "'2025-11-15T09:46:40Z'");
    assert_null(kj_get(kj_root(d), "prodReclaimableMetric"));
}

/* Half of the window must be covered; the entry stays either way. */
static void test_aggregates_wait_for_half_of_the_window(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    const char *p90 = "{'resources':{'cpu':'1','memory':'1Ki'}}";

    feed(mc, M_NODE_CPU, NULL, 155, 1), feed(mc, M_NODE_MEMORY, NULL, 155, 1024);
    feed(mc, M_NODE_CPU, NULL, 5, 1), feed(mc, M_NODE_MEMORY, NULL, 5, 1024);
    CLEANUP(kj_doc_free) struct kj_doc *d = build(b, &(struct nodemetric_in){ .mc = mc });
    const struct kj_val *one = kj_at(kj_path(kj_root(d), "nodeMetric.aggregatedNodeUsages"), 0);
    assert_json(one, "{'usage':{'avg':{},'p50':{},'p90':{},'p95':{},'p99':{}},'duration':'10m0s'}");

    CLEANUP(metriccache_free) struct metriccache *longer = metriccache_new();
    feed(longer, M_NODE_CPU, NULL, 305, 1), feed(longer, M_NODE_MEMORY, NULL, 305, 1024);
    feed(longer, M_NODE_CPU, NULL, 5, 1), feed(longer, M_NODE_MEMORY, NULL, 5, 1024);
    CLEANUP(kj_doc_free) struct kj_doc *e = build(b, &(struct nodemetric_in){ .mc = longer });
    one = kj_at(kj_path(kj_root(e), "nodeMetric.aggregatedNodeUsages"), 0);
    assert_json(kj_path(one, "usage.p90"), p90);
}

static void test_memory_follows_the_policy(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    struct collect_policy p = policy;
    struct nodemetric_in in = { .mc = mc, .policy = &p };

    feed(mc, M_NODE_CPU, NULL, 5, 1), feed(mc, M_NODE_MEMORY, NULL, 5, 10);
    feed(mc, M_NODE_MEMORY_HOT, NULL, 5, 20);
    p.memory = MEMORY_WITH_HOT_PAGES; /* but the kernel does not count them */
    CLEANUP(kj_doc_free) struct kj_doc *plain = build(b, &in);
    assert_json(kj_path(kj_root(plain), "nodeMetric.nodeUsage.resources.memory"), "'10'");
    in.cold_memory_started = true;
    CLEANUP(kj_doc_free) struct kj_doc *hot = build(b, &in);
    assert_json(kj_path(kj_root(hot), "nodeMetric.nodeUsage.resources.memory"), "'20'");
    p.memory = MEMORY_WITH_PAGE_CACHE; /* and nobody collects it */
    CLEANUP(kj_doc_free) struct kj_doc *none = build(b, &in);
    assert_json(kj_path(kj_root(none), "nodeMetric.nodeUsage"), "{}");
}

static void test_numa_host_apps_and_predictions(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(models_free)
    struct models *models = models_new(&(struct models_options){
        .cpu_half_life = 3600 * NSEC_PER_SEC, .memory_half_life = 3600 * NSEC_PER_SEC });
    struct reclaim_options o = reclaim_options_default();
    CLEANUP(reclaim_fini) struct reclaim reclaim;
    struct host_application apps[] = {
        { .name = "z", .priority = "koord-prod", .qos = "LS" },
        { .name = "a", .priority = "", .qos = "" },
        { .name = "silent", .priority = "", .qos = "" },
    };
    struct nodeslo_spec slo = { .host_applications = { apps, 3 } };

    feed(mc, M_NODE_NUMA_CPU, LABELS("1"), 5, 1), feed(mc, M_NODE_NUMA_MEMORY, LABELS("1"), 5, 7);
    feed(mc, M_HOST_APP_CPU, LABELS("z"), 5, 1), feed(mc, M_HOST_APP_MEMORY, LABELS("z"), 5, 7);
    feed(mc, M_HOST_APP_CPU, LABELS("a"), 5, 2), feed(mc, M_HOST_APP_MEMORY, LABELS("a"), 5, 8);
    reclaim_init(&reclaim, models_predictor(models), &o, NOW);
    struct nodemetric_in in = { .mc = mc, .slo = &slo, .numa_nodes = 2, .predictor = &reclaim };
    CLEANUP(kj_doc_free) struct kj_doc *d = build(b, &in);

    assert_json(kj_path(kj_root(d), "nodeMetric.numaUsages"),
                "[{'numaNodeID':1,'nodeUsage':{'resources':{'cpu':'1','memory':'7'}},"
                "'systemUsage':{}}]");
    assert_json(kj_get(kj_root(d), "hostApplicationMetric"),
                "[{'name':'a','usage':{'resources':{'cpu':'2','memory':'8'}}},{'name':'z','usage':"
                "{'resources':{'cpu':'1','memory':'7'}},'priority':'koord-prod','qos':'LS'}]");
    assert_json(kj_get(kj_root(d), "prodReclaimableMetric"), "{'resource':{}}");
    assert_null(kj_get(kj_root(d), "prodPeakMetric"));
}

static void test_gauges_mirror_the_report(void **state)
{
    static struct node_metric_info nothing;
    struct object_fixture *b = *state;
    CLEANUP(metrics_free) struct metrics *internal = metrics_new(), *external = metrics_new();
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct nodemetric_predicted p = { .has_reclaimable = true,
                                      .reclaimable = { { 1500, 10 }, { 2000, 5 }, { 1500, 5 } } };
    struct nodemetric_status status;
    struct metric_gauges m;

    feed(mc, M_NODE_CPU, NULL, 5, 1.25), feed(mc, M_NODE_MEMORY, NULL, 5, 4096);
    nodemetric_build(&(struct nodemetric_in){ .mc = mc, .policy = &policy, .now = NOW }, b->arena,
                     &status, NULL);
    metric_gauges_init(&m, internal, external, true);
    metric_gauges_set(&m, "n", &status, &p);
    metrics_write((struct metrics *const[]){ internal, external }, 2, &text);
    static const char *const lines[] = {
        "koordlet_node_metric_node_usage{node=\"n\",resource=\"cpu\",unit=\"core\"} 1.25\n",
        "koordlet_node_metric_node_usage{node=\"n\",resource=\"memory\",unit=\"byte\"} 4096\n",
        "koordlet_node_priority_resource_reclaimable{node=\"n\",priority=\"koord-prod\","
        "resource=\"cpu\",unit=\"core\"} 1.5\n",
        "koordlet_node_resource_priority_reclaimable_status{node=\"n\",priority=\"koord-prod\"} "
        "0\n",
        "koordlet_node_predicted_resource_reclaimable{node=\"n\",predictor="
        "\"priorityReclaimablePredictor\",resource=\"cpu\",unit=\"core\"} 2\n",
        "koordlet_node_predicted_resource_reclaimable{node=\"n\",predictor=\"minPredictor\","
        "resource=\"memory\",unit=\"byte\"} 5\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(strbuf_str(&text), lines[i]))
            fail_msg("%s not in\n%s", lines[i], strbuf_str(&text));
    assert_lacks(strbuf_str(&text), "node_predicted_resource_peak{");
    /* What is no longer reported is no longer shown. */
    metric_gauges_set(&m, "n", &(struct nodemetric_status){ .node_metric = &nothing },
                      &(struct nodemetric_predicted){ 0 });
    strbuf_reset(&text);
    metrics_write((struct metrics *const[]){ internal, external }, 2, &text);
    assert_lacks(strbuf_str(&text), "node_metric_node_usage{");
    assert_contains(strbuf_str(&text), "reclaimable_status{node=\"n\",priority=\"koord-prod\"} 1");
}

/* ---- Device ---------------------------------------------------------------------------------- */

static struct meta_condition unhealthy(nsec_t at)
{
    return (struct meta_condition){ .type = "Healthy",
                                    .reason = "Xid79",
                                    .message = "m",
                                    .last_transition_time = at,
                                    .status = COND_FALSE };
}

static struct device_info gpu(int32_t minor, struct meta_condition *c)
{
    struct device_info d = { .type = "gpu", .id = minor ? "g-1" : "g-0", .minor = { true, minor } };
    d.conditions.items = c;
    d.conditions.n = c ? 1 : 0;
    return d;
}

static void test_device_times_stand_while_the_status_does(void **state)
{
    struct object_fixture *b = *state;
    struct meta_condition c = unhealthy(NOW);
    struct device_info devices[] = { gpu(1, &c), gpu(0, NULL) };
    struct kstrpair labels[] = { { LABEL_GPU_VENDOR, "nvidia" } };
    struct device_report_in in = { .devices = { devices, 2 }, .labels = { labels, 1 } };
    CLEANUP(kobj_unref)
    struct kobj *stored = fixture_object(
        b, &kind_device,
        "{'metadata':{'name':'n','resourceVersion':'3','labels':{'theirs':'1',"
        "'node.koordinator.sh/gpu-vendor':'nvidia','node.koordinator.sh/gpu-model':'old'},"
        "'annotations':{'keep':'me'}},'spec':{'devices':[{'type':'gpu','id':'g-0','minor':0,"
        "'health':false},{'type':'gpu','id':'g-1','minor':1,'health':false,'conditions':[{'type':"
        "'Healthy','status':'False','reason':'Xid79','message':'m','lastTransitionTime':"
        "'2025-01-01T00:00:00Z'}]}]}}");

    device_report_settle(&in, device_of(stored), NOW);
    assert_int_equal(devices[0].minor.v, 0);                    /* in order */
    assert_true(device_report_differs(&in, device_of(stored))); /* the model label */
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    device_report_patch(&in, device_of(stored), &text);
    CLEANUP(kj_doc_free) struct kj_doc *patch = parse(&text);
    assert_json(kj_root(patch), "{'metadata':{'resourceVersion':'3','labels':{"
                                "'node.koordinator.sh/gpu-model':null}}}");
    /* Well again: news, with a new time. */
    c.status = COND_TRUE;
    device_report_settle(&in, device_of(stored), NOW);
    assert_that(c.last_transition_time, ==, NOW);
    strbuf_reset(&text);
    device_report_patch(&in, device_of(stored), &text);
    CLEANUP(kj_doc_free) struct kj_doc *again = parse(&text);
    assert_int_equal(kj_len(kj_path(kj_root(again), "spec.devices")), 2);
}

static void test_devices_that_may_be_there_are_kept(void **state)
{
    struct object_fixture *b = *state;
    struct meta_condition c = unhealthy(NOW);
    struct device_info devices[] = {
        gpu(0, NULL),
        { .type = "rdma", .id = "a", .minor = { true, 1 } },
    };
    struct device_report_in in = { .devices = { devices, 2 }, .partial = { "rdma" } };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kobj_unref)
    struct kobj *stored = fixture_object(
        b, &kind_device,
        "{'metadata':{'name':'n','resourceVersion':'3'},'spec':{'devices':["
        "{'type':'gpu','id':'g-1','minor':1,'health':true},"
        "{'type':'rdma','id':'c','minor':0,'health':true,'conditions':[{'type':'Healthy',"
        "'status':'True','reason':'r','message':'m'}]},"
        "{'type':'rdma','id':'a','minor':4,'health':true},"     /* found: another number now */
        "{'type':'rdma','id':'b','minor':1,'health':true}]}}"); /* its number is another's */

    devices[1].conditions.items = &c;
    devices[1].conditions.n = 1;
    device_report_keep(&in, device_of(stored), a);
    device_report_settle(&in, device_of(stored), NOW);
    assert_int_equal(in.devices.n, 3);
    assert_string_equal(in.devices.items[0].id, "g-0");
    assert_string_equal(in.devices.items[1].id, "c");
    assert_true(in.devices.items[1].health);
    assert_string_equal(in.devices.items[2].id, "a");
    assert_int_equal(in.devices.items[2].conditions.n, 1);
    /* What is stored is read by others and stays as it is. */
    assert_that(in.devices.items[1].conditions.items[0].last_transition_time, ==, NOW);
    const struct device_info *c_before = &device_of(stored)->devices.items[1];
    assert_that(c_before->conditions.items[0].last_transition_time, ==, 0);

    in = (struct device_report_in){ .devices = { devices, 2 } };
    device_report_keep(&in, device_of(stored), a);
    assert_int_equal(in.devices.n, 2);
    in.partial[0] = "rdma";
    device_report_keep(&in, NULL, a);
    assert_int_equal(in.devices.n, 2);
}

/* A driver that never answered: GPUs and the labels that speak of them stay, and so do the cards.
 */
static void test_two_types_may_be_known_in_part(void **state)
{
    struct object_fixture *b = *state;
    struct device_report_in in = { .partial = { "rdma", "gpu" } };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kobj_unref)
    struct kobj *stored =
        fixture_object(b, &kind_device,
                       "{'metadata':{'name':'n','labels':{'node.koordinator.sh/gpu-model':'A100'}},"
                       "'spec':{'devices':[{'type':'fpga','id':'f','minor':0,'health':true},"
                       "{'type':'gpu','id':'g-1','minor':1,'health':true},"
                       "{'type':'rdma','id':'c','minor':0,'health':true}]}}");

    device_report_keep(&in, device_of(stored), a);
    device_report_settle(&in, device_of(stored), NOW);
    assert_int_equal(in.devices.n, 2);
    assert_string_equal(in.devices.items[0].id, "g-1");
    assert_string_equal(in.devices.items[1].id, "c");
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;
    device_report_patch(&in, device_of(stored), &patch);
    assert_lacks(strbuf_str(&patch), "gpu-model");
    in.partial[1] = NULL; /* they are known: nobody has said what model they are */
    strbuf_reset(&patch);
    device_report_patch(&in, device_of(stored), &patch);
    assert_contains(strbuf_str(&patch), "gpu-model");
}

static void test_device_object_is_owned(void **state)
{
    struct object_fixture *b = *state;
    struct meta_condition c = unhealthy(0);
    struct device_info devices[] = { gpu(0, &c) };
    struct device_report_in in = { .devices = { devices, 1 } };
    CLEANUP(kobj_unref) struct kobj *node = fixture_object(b, &kind_node, NODE);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    device_report_settle(&in, NULL, NOW);
    device_report_object(&in, node_of(node), &text);
    CLEANUP(kobj_unref) struct kobj *stored = fixture_object(b, &kind_device, strbuf_str(&text));
    assert_string_equal(kobj_controller(stored)->name, "n");
    assert_false(device_report_differs(&in, device_of(stored)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_usage_of_node_system_pods_and_gpus),
        FIXTURE_TEST(test_aggregates_wait_for_half_of_the_window),
        FIXTURE_TEST(test_memory_follows_the_policy),
        FIXTURE_TEST(test_numa_host_apps_and_predictions),
        FIXTURE_TEST(test_gauges_mirror_the_report),
        FIXTURE_TEST(test_device_times_stand_while_the_status_does),
        FIXTURE_TEST(test_devices_that_may_be_there_are_kept),
        FIXTURE_TEST(test_two_types_may_be_known_in_part),
        FIXTURE_TEST(test_device_object_is_owned),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
