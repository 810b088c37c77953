/* test_manager_noderesource.c - when the node is written, and what (manager 4.3, 4.4, 5.6, 5.7). */
#include "fixture.h"
#include "manager/cached.h"
#include "manager/noderesource/topology.h"

#define SECONDS(n) ((n)*NSEC_PER_SEC)
#define NODE(meta, more)                                                                       \
    "{\"metadata\":{\"name\":\"n\"" meta "},\"status\":{\"capacity\":{\"cpu\":\"100\","        \
    "\"memory\":\"120Gi\"" more "},\"allocatable\":{\"cpu\":\"100\",\"memory\":\"120Gi\"" more \
    "}}}"
#define BATCH(cpu, memory) \
    ",\"kubernetes.io/batch-cpu\":\"" cpu "\",\"kubernetes.io/batch-memory\":\"" memory "\""
#define METRIC(cpu, memory)                                                               \
    "{\"metadata\":{\"name\":\"n\"},\"status\":{\"updateTime\":\"2026-01-01T11:59:30Z\"," \
    "\"nodeMetric\":{\"nodeUsage\":{\"resources\":{}},\"systemUsage\":{\"resources\":"    \
    "{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}}}}"

struct outcome {
    struct nr_result result;
    struct nr_plan plan;
};
static struct outcome run(struct fixture *f)
{
    struct outcome o;

    nr_calculate(&f->in, f->arena, &o.result);
    nr_prepare(&f->in, &o.result, f->arena, &o.plan);
    return o;
}

static struct nr_due_result due(struct fixture *f, const struct outcome *o, nsec_t ago)
{
    return nr_due(&f->in, &o->result, &o->plan, ago ? f->in.now - ago : 0);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void test_differences_up_to_the_threshold_wait(void **state)
{
    struct qty q20 = qty_from_i64(20000, 0), q22 = qty_from_i64(22000, 0),
               more = qty_from_i64(22001, 0), q18 = qty_from_i64(18000, 0), zero = { 0 };

    (void)state;
    assert_false(nr_differs(&q20, &q22, 0.1));
    assert_true(nr_differs(&q20, &more, 0.1));
    assert_false(nr_differs(&q20, &q18, 0.1));
    assert_true(nr_differs(NULL, &q20, 0.1));
    assert_true(nr_differs(&q20, NULL, 0.1));
    assert_false(nr_differs(NULL, NULL, 0.1));
    assert_true(nr_differs(&zero, &q20, 0.1));
    assert_false(nr_differs(&zero, &zero, 0.1));
}

static void test_small_differences_are_written_after_a_while(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":50,"
                   "\"memoryReclaimThresholdPercent\":50}");
    /* 40000 and 50Gi are calculated. */
    fixture_node(
        &f,
        NODE("",
             BATCH("41k",
                   "50Gi") ",\"kubernetes.io/mid-cpu\":\"0\",\"kubernetes.io/mid-memory\":\"0\""));
    fixture_metric(&f, METRIC("10", "10Gi"));
    struct outcome o = run(&f);
    assert_int_equal(due(&f, &o, SECONDS(300)).status, NR_NOT_DUE);
    assert_int_equal(due(&f, &o, SECONDS(301)).status, NR_DUE_TIME);
    assert_int_equal(due(&f, &o, 0).status, NR_DUE_FIRST);
    fixture_node(
        &f,
        NODE("",
             BATCH("30k",
                   "50Gi") ",\"kubernetes.io/mid-cpu\":\"0\",\"kubernetes.io/mid-memory\":\"0\""));
    o = run(&f);
    assert_int_equal(due(&f, &o, SECONDS(1)).status, NR_DUE_DIFF);
    assert_int_equal(due(&f, &o, SECONDS(1)).resource, NR_BATCH_CPU);
}

static void test_a_node_without_capacity_is_never_due(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    fixture_node(&f, "{\"metadata\":{\"name\":\"n\"}}");
    struct outcome o = run(&f);
    assert_int_equal(due(&f, &o, 0).status, NR_NOT_DUE);
    assert_false(due(&f, &o, 0).meta);
}

/* ---- what ------------------------------------------------------------------------------------ */

static void assert_patch(struct fixture *f, const struct outcome *o, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    nr_patch_status(f->in.node, &o->plan, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

#define ONLY_BATCH 1u << NR_BATCH

static void test_a_patch_has_only_what_differs(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    f.in.plugins = ONLY_BATCH;
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":50,"
                   "\"memoryReclaimThresholdPercent\":50}");
    fixture_metric(&f, METRIC("10", "10Gi"));
    fixture_node(&f, NODE("", ""));
    struct outcome o = run(&f);
    assert_patch(&f, &o,
                 "{\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":\"40k\","
                 "\"kubernetes.io/batch-memory\":\"50Gi\"},\"capacity\":{"
                 "\"kubernetes.io/batch-cpu\":\"40k\",\"kubernetes.io/batch-memory\":\"50Gi\"}}}");
    fixture_node(&f, NODE("", BATCH("41000", "50Gi")));
    o = run(&f);
    assert_patch(&f, &o,
                 "{\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":\"40k\"},"
                 "\"capacity\":{\"kubernetes.io/batch-cpu\":\"40k\"}}}");
    fixture_node(&f, NODE("", BATCH("40000", "51200Mi")));
    o = run(&f);
    assert_patch(&f, &o, ""); /* the same numbers, written differently */
}

#define ANNOTATED                                                                              \
    ",\"annotations\":{\"" ANNO_THIRD_PARTY                                                    \
    "\":\"{\\\"allocations\\\":[{\\\"name\\\":\\\"x\\\",\\\"priority\\\":\\\"koord-batch\\\"," \
    "\\\"resources\\\":{\\\"kubernetes.io/batch-cpu\\\":\\\"10000\\\"}}]}\"}"

static void test_the_origin_is_kept_in_an_annotation(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    f.in.plugins = ONLY_BATCH;
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":50,"
                   "\"memoryReclaimThresholdPercent\":50}");
    fixture_metric(&f, METRIC("0", "0"));
    fixture_node(&f, NODE(ANNOTATED, BATCH("40k", "60Gi")));
    struct outcome o = run(&f);
    assert_int_equal(o.plan.resources[NR_BATCH_CPU].act, NR_SET);
    assert_int_equal(qty_value(o.plan.resources[NR_BATCH_CPU].value), 40000);
    assert_patch(&f, &o,
                 "{\"metadata\":{\"annotations\":{\"" ANNO_ORIGIN_EXTENDED
                 "\":\"{\\\"resources\\\":{\\\"kubernetes.io/batch-cpu\\\":\\\"50k\\\","
                 "\\\"kubernetes.io/batch-memory\\\":\\\"60Gi\\\"}}\"}}}");
    f.in.metric = NULL; /* degraded: the names go, and the origin is 0 */
    o = run(&f);
    assert_patch(&f, &o,
                 "{\"metadata\":{\"annotations\":{\"" ANNO_ORIGIN_EXTENDED
                 "\":\"{\\\"resources\\\":{\\\"kubernetes.io/batch-cpu\\\":\\\"0\\\","
                 "\\\"kubernetes.io/batch-memory\\\":\\\"0\\\"}}\"}},"
                 "\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":null,"
                 "\"kubernetes.io/batch-memory\":null},\"capacity\":{"
                 "\"kubernetes.io/batch-cpu\":null,\"kubernetes.io/batch-memory\":null}}}");
}

static void test_batch_cpu_counts_in_normalized_cpus(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true,\"cpuReclaimThresholdPercent\":50}");
    fixture_metric(&f, METRIC("10", "10Gi"));
    fixture_node(&f, NODE("", ""));
    struct outcome o;
    nr_calculate(&f.in, f.arena, &o.result);
    o.result.normalization = "1.20";
    nr_prepare(&f.in, &o.result, f.arena, &o.plan);
    assert_int_equal(qty_value(o.plan.resources[NR_BATCH_CPU].value), 48000);
    o.result.normalization = "1.00";
    nr_prepare(&f.in, &o.result, f.arena, &o.plan);
    assert_int_equal(qty_value(o.plan.resources[NR_BATCH_CPU].value), 40000);
}

static void test_turned_off_takes_everything_but_devices_away(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":false}");
    fixture_metric(&f, METRIC("10", "10Gi"));
    fixture_node(&f, NODE(",\"annotations\":{\"" ANNO_AMPLIFICATION_RATIO "\":\"{}\"}",
                          BATCH("40k", "50Gi") ",\"koordinator.sh/gpu\":\"100\""));
    struct outcome o = run(&f);
    assert_true(o.result.disabled);
    assert_int_equal(o.plan.resources[NR_BATCH_CPU].act, NR_REMOVE);
    assert_int_equal(o.plan.resources[NR_MID_MEMORY].act, NR_REMOVE);
    assert_int_equal(o.plan.resources[NR_RES_GPU].act, NR_LEAVE);
    assert_int_equal(o.plan.annotations[NR_ANNO_AMPLIFICATION].act, NR_REMOVE);
    assert_int_equal(o.plan.annotations[NR_ANNO_NORMALIZATION].act, NR_LEAVE);
    assert_true(due(&f, &o, SECONDS(1)).meta);
}

/* ---- devices --------------------------------------------------------------------------------- */

#define GPU(minor, memory, health)                                                                \
    "{\"type\":\"gpu\",\"id\":\"g" minor "\",\"minor\":" minor ",\"health\":" health              \
    ",\"resources\":{\"koordinator.sh/gpu-core\":\"100\",\"koordinator.sh/gpu-memory\":\"" memory \
    "\",\"koordinator.sh/gpu-memory-ratio\":\"100\"}}"
#define RDMA(id, health) "{\"type\":\"rdma\",\"id\":\"" id "\",\"health\":" health "}"

static void device(struct fixture *f, const char *labels, const char *devices)
{
    const char *json = arena_printf(f->arena,
                                    "{\"metadata\":{\"name\":\"n\",\"labels\":{%s}},"
                                    "\"spec\":{\"devices\":[%s]}}",
                                    labels, devices);
    f->in.device = device_of(fixture_object(f, &kind_device, json));
}

static void assert_want(const struct outcome *o, enum nr_resource name, int64_t value)
{
    assert_int_equal(o->plan.resources[name].act, NR_SET);
    assert_int_equal(qty_value(o->plan.resources[name].value), value);
}

static void test_totals_of_healthy_devices(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    fixture_node(&f, NODE("", ""));
    device(&f, "\"" LABEL_GPU_MODEL "\":\"A100\"",
           GPU("0", "8000", "true") "," GPU("1", "10000", "true") "," GPU(
               "2", "9000", "false") "," RDMA("r0", "true") "," RDMA("r1", "false"));
    struct outcome o = run(&f);
    assert_want(&o, NR_RES_GPU, 200);
    assert_want(&o, NR_RES_GPU_CORE, 200);
    assert_want(&o, NR_RES_GPU_MEMORY, 18000);
    assert_want(&o, NR_RES_GPU_MEMORY_RATIO, 200);
    assert_want(&o, NR_RES_RDMA, 100);
    assert_int_equal(o.plan.resources[NR_RES_GPU_SHARED].act, NR_LEAVE);
    assert_int_equal(o.plan.resources[NR_RES_NPU_CORE].act, NR_LEAVE);
    assert_string_equal(o.plan.labels[NR_LABEL_GPU_MODEL], "A100");
    assert_null(o.plan.labels[NR_LABEL_GPU_VENDOR]);
    assert_true(due(&f, &o, SECONDS(1)).meta);
    f.in.sync_gpu_shared = true;
    o = run(&f);
    assert_want(&o, NR_RES_GPU_SHARED, 200);
}

static void test_only_nvidia_cards_count_as_gpu(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    fixture_node(&f, NODE("", ""));
    device(&f, "\"" LABEL_GPU_VENDOR "\":\"huawei\"", GPU("0", "8000", "true"));
    struct outcome o = run(&f);
    assert_int_equal(o.plan.resources[NR_RES_GPU].act, NR_LEAVE);
    assert_want(&o, NR_RES_GPU_CORE, 100);
    assert_string_equal(o.plan.labels[NR_LABEL_GPU_VENDOR], "huawei");
}

static void test_without_healthy_devices_the_names_go(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    fixture_node(&f, NODE("", ""));
    struct outcome o = run(&f);
    assert_int_equal(o.plan.resources[NR_RES_GPU].act, NR_REMOVE);
    assert_int_equal(o.plan.resources[NR_RES_NPU_DVPP].act, NR_REMOVE);
    assert_int_equal(o.plan.resources[NR_RES_RDMA].act, NR_REMOVE);
    device(&f, "", GPU("0", "8000", "false"));
    o = run(&f);
    assert_int_equal(o.plan.resources[NR_RES_GPU].act, NR_REMOVE);
}

/* ---- zones ----------------------------------------------------------------------------------- */

#define ZONE(name, more)                                                                           \
    "{\"name\":\"" name "\",\"type\":\"Node\",\"resources\":[" more                                \
    "{\"name\":\"cpu\",\"capacity\":\"50\",\"allocatable\":\"50\",\"available\":\"50\"},"          \
    "{\"name\":\"memory\",\"capacity\":\"60Gi\",\"allocatable\":\"60Gi\",\"available\":\"60Gi\"}]" \
    "}"
#define ZONE_BATCH(cpu)                                                                     \
    "{\"name\":\"kubernetes.io/batch-cpu\",\"capacity\":\"" cpu "\",\"allocatable\":\"" cpu \
    "\",\"available\":\"" cpu "\"},{\"name\":\"kubernetes.io/batch-memory\",\"capacity\":"  \
    "\"25Gi\",\"allocatable\":\"25Gi\",\"available\":\"25Gi\"},"

static void topology(struct fixture *f, const char *zones)
{
    const char *json = arena_printf(f->arena,
                                    "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"7\"},"
                                    "\"topologyPolicies\":[\"None\"],\"zones\":[%s]}",
                                    zones);
    f->in.topology = noderesourcetopology_of(fixture_object(f, &kind_noderesourcetopology, json));
}

static void assert_topology_patch(struct fixture *f, bool all, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct outcome o = run(f);

    nr_patch_topology(f->in.topology, &o.result, all, f->arena, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

#define PATCH(zone) "{\"metadata\":{\"resourceVersion\":\"7\"},\"zones\":[" zone "]}"

static void test_zones_follow_the_calculation(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":50,"
                   "\"memoryReclaimThresholdPercent\":50}");
    fixture_metric(&f, METRIC("5", "5Gi"));
    fixture_node(&f, NODE("", ""));
    topology(&f, ZONE("node-0", "")); /* 20000 and 25Gi */
    assert_topology_patch(
        &f, false,
        PATCH("{\"name\":\"node-0\",\"type\":\"Node\",\"resources\":["
              "{\"name\":\"cpu\",\"capacity\":\"50\",\"allocatable\":\"50\",\"available\":\"50\"},"
              "{\"name\":\"kubernetes.io/batch-cpu\",\"capacity\":\"20k\",\"allocatable\":\"20k\","
              "\"available\":\"20k\"},{\"name\":\"kubernetes.io/batch-memory\",\"capacity\":"
              "\"25Gi\",\"allocatable\":\"25Gi\",\"available\":\"25Gi\"},{\"name\":\"memory\","
              "\"capacity\":\"60Gi\",\"allocatable\":\"60Gi\",\"available\":\"60Gi\"}]}"));
    topology(&f, ZONE("node-0", ZONE_BATCH("21000")));
    assert_topology_patch(&f, false, ""); /* within the threshold */
    assert_topology_patch(&f, true, PATCH(ZONE("node-0", ZONE_BATCH("20k"))));
    topology(&f, ZONE("node-0", ZONE_BATCH("25k")));
    assert_topology_patch(&f, false, PATCH(ZONE("node-0", ZONE_BATCH("20k"))));
}

static void test_a_degraded_node_has_no_batch_in_its_zones(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    fixture_node(&f, NODE("", ""));
    topology(&f, ZONE("node-0", ZONE_BATCH("20k")));
    assert_topology_patch(&f, false, PATCH(ZONE("node-0", "")));
    topology(&f, ZONE("node-0", ""));
    assert_topology_patch(&f, true, "");
}

/* ---- messages -------------------------------------------------------------------------------- */

static void test_messages_show_the_formula_in_numbers(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":65,"
                   "\"batchMemoryThresholdPercent\":50}");
    fixture_metric(&f, METRIC("7", "12G"));
    fixture_node(&f, NODE("", ""));
    struct outcome o = run(&f);
    nr_batch_message(&o.result.batch, RES_CPU, &out);
    assert_string_equal(strbuf_str(&out),
                        "batchAllocatable[CPU(Milli-Core)]:58000 = nodeCapacity:100000 - "
                        "nodeSafetyMargin:35000 - systemUsageOrNodeReserved:7000 - podHPUsed:0");
    strbuf_reset(&out);
    nr_batch_message(&o.result.batch, RES_MEMORY, &out);
    assert_string_equal(strbuf_str(&out),
                        "batchAllocatable[Mem(GB)]:65 = min(nodeCapacity:129 * thresholdRatio:0.5, "
                        "nodeCapacity:129 - nodeSafetyMargin:46 - systemUsage:12 - podHPUsed:0)");
    strbuf_reset(&out);
    nr_mid_message(&o.result.mid, RES_CPU, &out);
    assert_string_equal(strbuf_str(&out),
                        "midAllocatable[CPU(milli-core)]:0 = min(min(ProdReclaimable:0, "
                        "NodeUnused:0) + Unallocated:93000 * midUnallocatedRatio:0, "
                        "NodeCapacity:100000 * thresholdRatio:1)");
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void test_a_cached_pod_has_what_is_read_of_it(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    struct kobj *o = cached_pod_reduce(kobj_ref(fixture_object(
        &f, &kind_pod,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"static-1\","
        "\"resourceVersion\":\"5\",\"labels\":{\"koordinator.sh/qosClass\":\"LSE\"},"
        "\"annotations\":{\"" ANNO_RESOURCE_STATUS
        "\":\"{\\\"numaNodeResources\\\":[{\\\"node\\\":1}]}\"}},\"spec\":{\"nodeName\":"
        "\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
        "\"2\"}}}]},\"status\":{\"phase\":\"Running\"}}")));
    const struct cached_pod *p = cached_pod_of(o);
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    assert_string_equal(uid, "static-1");
    assert_string_equal(p->node_name, "n1");
    assert_string_equal(p->pod.ns, "ns");
    assert_int_equal(qty_milli(p->pod.request.cpu), 2000);
    assert_int_equal(p->pod.qos, QOS_LSE);
    assert_int_equal(p->pod.class, PRIO_PROD);
    assert_int_equal(p->pod.numa_nodes, 2);
    assert_true(p->pod.active);
    assert_in_range(o->size, 1, 400);
    kobj_unref(o);
}

static void test_amounts_divide_upwards(void **state)
{
    struct nr_amount a = { qty_from_i64(2, QTY_DECIMAL_SI),
                           qty_from_i64(INT64_C(6) << 30, QTY_BINARY_SI) };

    (void)state;
    a = nr_divide(a, 3);
    assert_int_equal(qty_milli(a.cpu), 667);
    assert_int_equal(qty_value(a.memory), INT64_C(2) << 30);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences_up_to_the_threshold_wait),
        cmocka_unit_test(test_small_differences_are_written_after_a_while),
        cmocka_unit_test(test_a_node_without_capacity_is_never_due),
        cmocka_unit_test(test_a_patch_has_only_what_differs),
        cmocka_unit_test(test_the_origin_is_kept_in_an_annotation),
        cmocka_unit_test(test_batch_cpu_counts_in_normalized_cpus),
        cmocka_unit_test(test_turned_off_takes_everything_but_devices_away),
        cmocka_unit_test(test_totals_of_healthy_devices),
        cmocka_unit_test(test_only_nvidia_cards_count_as_gpu),
        cmocka_unit_test(test_without_healthy_devices_the_names_go),
        cmocka_unit_test(test_zones_follow_the_calculation),
        cmocka_unit_test(test_a_degraded_node_has_no_batch_in_its_zones),
        cmocka_unit_test(test_messages_show_the_formula_in_numbers),
        cmocka_unit_test(test_a_cached_pod_has_what_is_read_of_it),
        cmocka_unit_test(test_amounts_divide_upwards),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
