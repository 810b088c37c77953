/* Nodes, load, SLO of pods, devices, migration, hints (api 5.7 to 5.14). */
#include "base/test/asserts.h"
#include "pairs.h"

#include "api/protocol/device.h"
#include "api/protocol/hint.h"
#include "api/protocol/loadaware.h"
#include "api/protocol/migration.h"
#include "api/protocol/node.h"
#include "api/protocol/slo.h"

/* ---- node ------------------------------------------------------------------------------------ */

static void test_ratio_labels(void **state)
{
    static const struct {
        const char *text;
        bool set;
        int64_t percent;
    } cases[] = {
        { "0.65", true, 65 }, { "0.29", true, 28 }, /* 28.999999999999996 in a double */
        { "1.5", true, 150 }, { "0", true, 0 },     { "1", true, 100 },
        { "-1", false, 0 },   { "x", false, 0 },    { "", false, 0 },
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        kstrmap m = pairs(a, LABEL_CPU_RECLAIM_RATIO, cases[i].text, NULL);
        struct opt_i64 p = node_ratio_percent(&m, LABEL_CPU_RECLAIM_RATIO);
        assert_int_equal(p.set, cases[i].set);
        assert_int_equal(p.v, cases[i].percent);
    }
    assert_false(node_ratio_percent(&NO_PAIRS, LABEL_MEMORY_RECLAIM_RATIO).set);
}

static void test_amplification(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct amplification_ratios r;
    kstrmap m = pairs(a, ANNO_AMPLIFICATION_RATIO, "{\"memory\":3.1415926,\"cpu\":1.5}", NULL);

    (void)state;
    assert_int_equal(amplify(1000, 1.5), 1500);
    assert_int_equal(amplify(1000, 0.5), 1000);
    assert_int_equal(amplify(3, 1.1), 4);
    assert_int_equal(amplify(INT64_MAX, 2), INT64_MAX);
    assert_int_equal(amplification_ratios_read(&m, a, &r, NULL), 1);
    assert_that(amplification_of(&r, "cpu"), ==, 1.5);
    assert_that(amplification_of(&r, "pods"), ==, 0);
    amplification_ratios_encode(&r, &b);
    assert_string_equal(strbuf_str(&b), "{\"cpu\":1.50,\"memory\":3.14}");

    reslist l = { 0 };
    assert_int_equal(
        reslist_decode_text("{\"cpu\":\"1\",\"memory\":\"1Gi\",\"pods\":\"9\"}", a, &l, NULL), 0);
    r.v.items[1].ratio = 2;
    l = amplify_list(&l, &r, a);
    strbuf_reset(&b);
    reslist_encode(&l, &b);
    assert_string_equal(strbuf_str(&b), "{\"cpu\":\"1500m\",\"memory\":\"2Gi\",\"pods\":\"9\"}");
}

static void test_cpu_normalization(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    double ratio;
    bool on;
    kstrmap m = pairs(a, ANNO_CPU_NORMALIZATION_RATIO, "1.20", LABEL_CPU_NORMALIZATION_ENABLE, "T",
                      ANNO_NETWORK_BANDWIDTH, "10M", NULL);

    (void)state;
    assert_int_equal(cpu_normalization_ratio(&NO_PAIRS, &ratio, &err), 0);
    assert_that(ratio, ==, -1);
    assert_int_equal(cpu_normalization_ratio(&m, &ratio, &err), 1);
    assert_that(ratio, ==, 1.2);
    cpu_normalization_encode(&(struct f64_value){ ratio }, &b);
    assert_string_equal(strbuf_str(&b), "1.20");
    assert_false(cpu_normalization_differs(1.10, 1.099999999));
    assert_true(cpu_normalization_differs(1.10, 1.12));
    assert_int_equal(cpu_normalization_enabled(&m, &on, &err), 1);
    assert_true(on);
    struct qty q;
    assert_int_equal(node_network_bandwidth(&m, &q, &err), 1);
    assert_int_equal(qty_value(q), 10000000);
    assert_int_equal(node_network_bandwidth(&NO_PAIRS, &q, &err), 0);

    m = pairs(a, ANNO_CPU_NORMALIZATION_RATIO, "-0.5", LABEL_CPU_NORMALIZATION_ENABLE, "maybe",
              ANNO_NETWORK_BANDWIDTH, "fast", NULL);
    assert_int_equal(cpu_normalization_ratio(&m, &ratio, &err), -EINVAL);
    assert_string_equal(err.text, "illegal cpu normalization ratio: -0.5");
    assert_that(ratio, ==, -1);
    assert_int_equal(cpu_normalization_enabled(&m, &on, &err), -EINVAL);
    assert_that(node_network_bandwidth(&m, &q, &err), <, 0);
    m = pairs(a, ANNO_CPU_NORMALIZATION_RATIO, "invalid", NULL);
    assert_int_equal(cpu_normalization_ratio(&m, &ratio, &err), -EINVAL);
}

static void test_third_parties_are_summed_by_class(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct third_party_allocations t;
    kstrmap m =
        pairs(a, ANNO_THIRD_PARTY,
              "{\"allocations\":["
              "{\"name\":\"hadoop-yarn\",\"priority\":\"koord-batch\",\"resources\":"
              "{\"kubernetes.io/batch-cpu\":\"1k\"}},"
              "{\"name\":\"other\",\"priority\":\"koord-mid\",\"resources\":{\"x\":\"1\"}},"
              "{\"name\":\"spark\",\"priority\":\"koord-batch\",\"resources\":"
              "{\"kubernetes.io/batch-cpu\":\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}}"
              "]}",
              NULL);

    (void)state;
    assert_int_equal(third_party_allocations_read(&m, a, &t, NULL), 1);
    reslist sum = third_party_sum(&t, PRIO_BATCH, a);
    reslist_encode(&sum, &b);
    assert_string_equal(strbuf_str(&b), "{\"kubernetes.io/batch-cpu\":\"1500\","
                                        "\"kubernetes.io/batch-memory\":\"1Gi\"}");
    assert_int_equal(third_party_sum(&t, PRIO_PROD, a).n, 0);
    strbuf_reset(&b); /* name and priority are always written */
    struct third_party_allocation none = { .name = "", .priority = "" };
    third_party_allocations_encode(&(struct third_party_allocations){ { &none, 1 } }, &b);
    assert_string_equal(strbuf_str(&b), "{\"allocations\":[{\"name\":\"\",\"priority\":\"\"}]}");
}

/* ---- load-aware ------------------------------------------------------------------------------ */

static void test_usage_thresholds(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct usage_thresholds t;
    kstrmap m = pairs(a, ANNO_USAGE_THRESHOLDS,
                      "{\"usageThresholds\":{\"cpu\":65},\"prodUsageThresholds\":{\"cpu\":55},"
                      "\"aggregatedUsage\":{\"usageThresholds\":{\"cpu\":80},"
                      "\"usageAggregationType\":\"p95\",\"usageAggregatedDuration\":\"5m\"}}",
                      NULL);

    (void)state;
    assert_int_equal(usage_thresholds_read(&m, a, &t, NULL), 1);
    assert_int_equal(*named_i64_find(&t.usage, "cpu"), 65);
    assert_int_equal(*named_i64_find(&t.prod_usage, "cpu"), 55);
    assert_int_equal(*named_i64_find(&t.aggregated->usage_thresholds, "cpu"), 80);
    assert_int_equal(t.aggregated->type, AGGREGATION_P95);
    assert_int_equal(t.aggregated->duration_ns, 300 * NSEC_PER_SEC);
    assert_null(named_i64_find(&t.usage, "memory"));
}

static void test_load_estimates(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, ANNO_LOAD_SCALING_FACTORS, "{\"cpu\":80,\"memory\":70}",
                      ANNO_LOAD_SECONDS_SCHEDULED, "0", ANNO_LOAD_SECONDS_INITIALIZED, "1.5", NULL);
    named_i64list f = load_scaling_factor_list(&m, a);

    (void)state;
    assert_int_equal(f.n, 2);
    assert_int_equal(*named_i64_find(&f, "memory"), 70);
    assert_int_equal(load_estimated_seconds(&m, ANNO_LOAD_SECONDS_SCHEDULED), 0);
    assert_int_equal(load_estimated_seconds(&m, ANNO_LOAD_SECONDS_INITIALIZED), -1);
    assert_int_equal(load_estimated_seconds(&NO_PAIRS, ANNO_LOAD_SECONDS_SCHEDULED), -1);
    m = pairs(a, ANNO_LOAD_SCALING_FACTORS, "{\"cpu\":\"80\"}", NULL);
    assert_int_equal(load_scaling_factor_list(&m, a).n, 0);
}

/* ---- SLO of a pod ---------------------------------------------------------------------------- */

static void test_pod_slo(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cpu_burst_config burst;
    struct cpu_qos cpu;
    struct pod_memory_qos memory;
    struct pod_blkio_qos blkio;
    struct pod_network_qos network;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(pod_cpu_burst_decode("{\"policy\":\"auto\",\"cpuBurstPercent\":200,"
                                          "\"cfsQuotaBurstPeriodSeconds\":-1}",
                                          a, &burst, &err),
                     0);
    assert_int_equal(burst.cfs_quota_burst_period_seconds.v, -1);
    assert_false(burst.cfs_quota_burst_percent.set);
    assert_int_equal(pod_cpu_qos_decode("{\"groupIdentity\":2}", a, &cpu, &err), 0);
    assert_int_equal(pod_cpu_qos_decode("{\"groupIdentity\":3}", a, &cpu, &err), -EINVAL);
    assert_string_equal(err.text, "bad group identity value: 3");
    assert_int_equal(
        pod_memory_qos_decode("{\"policy\":\"auto\",\"wmarkRatio\":90}", a, &memory, &err), 0);
    assert_int_equal(memory.policy, MEMORY_QOS_AUTO);
    assert_int_equal(memory.qos.wmark_ratio.v, 90);
    assert_int_equal(pod_memory_qos_decode("{}", a, &memory, &err), 0);
    assert_int_equal(memory.policy, MEMORY_QOS_DEFAULT);
    assert_int_equal(pod_blkio_qos_decode("", a, &blkio, &err), 0);
    assert_int_equal(blkio.blocks.n, 0);
    assert_int_equal(pod_blkio_qos_decode("{\"blocks\":[{\"name\":\"pvc\",\"type\":\"podvolume\","
                                          "\"ioCfg\":{\"readBPS\":1048576}}]}",
                                          a, &blkio, &err),
                     0);
    assert_int_equal(blkio.blocks.items[0].io.read_bps.v, 1048576);
    assert_int_equal(pod_network_qos_decode("{\"ingressLimit\":\"10M\"}", a, &network, &err), 0);
    assert_int_equal(network_limit_bytes(network.ingress_limit), 1250000);
    assert_int_equal(network_limit_bytes(network.egress_limit), 0);
    /* names match in any case, as encoding/json has it; a wrong type spoils the whole */
    assert_int_equal(
        pod_cpu_burst_decode("{\"CPUBurstPercent\":7,\"x\":1,\"policy\":null}", a, &burst, &err),
        0);
    assert_int_equal(burst.cpu_burst_percent.v, 7);
    assert_int_equal(pod_cpu_burst_decode("{\"cpuBurstPercent\":\"7\"}", a, &burst, &err), -EINVAL);
    assert_int_equal(pod_cpu_burst_decode("null", a, &burst, &err), 0);
}

static void test_oom_score(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, ANNO_OOM_SCORE_ADJ, "100", ANNO_OOM_SCORE_ADJ_SPEC,
                      "{\"container-a\":-500,\"b\":2000}", NULL);
    struct kerr err = { 0 };
    int64_t score;

    (void)state;
    assert_int_equal(oom_score_adj(&m, "container-a", a, &score, &err), 1);
    assert_int_equal(score, -500);
    assert_int_equal(oom_score_adj(&m, "other", a, &score, &err), 1);
    assert_int_equal(score, 100);
    assert_int_equal(oom_score_adj(&m, "b", a, &score, &err), -ERANGE);
    assert_int_equal(oom_score_adj(&NO_PAIRS, "b", a, &score, &err), 0);
    m = pairs(a, ANNO_OOM_SCORE_ADJ, "100", ANNO_OOM_SCORE_ADJ_SPEC, "{bad", NULL);
    assert_that(oom_score_adj(&m, "other", a, &score, &err), <, 0); /* no fallback */
    m = pairs(a, ANNO_OOM_SCORE_ADJ, "-1001", NULL);
    assert_int_equal(oom_score_adj(&m, "other", a, &score, &err), -ERANGE);
}

static void test_eviction_by_koordlet(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, ANNO_EVICTION_POLICY, "[\"CPUEvict\"]", ANNO_EVICTION_PRIORITY, "-7",
                      LABEL_CORE_SCHED_POLICY, "exclusive", NULL);

    (void)state;
    assert_true(eviction_policy_allows(&m, EVICT_CPU, a));
    assert_false(eviction_policy_allows(&m, EVICT_MEMORY, a));
    assert_true(eviction_policy_allows(&NO_PAIRS, EVICT_MEMORY, a));
    assert_int_equal(eviction_priority(&m), -7);
    assert_int_equal(core_sched_policy(&m), CORE_SCHED_EXCLUSIVE);
    static const char *const nobody[] = { "[]", "{bad", "\"CPUEvict\"", "" };
    for (size_t i = 0; i < ARRAY_LEN(nobody); i++) {
        m = pairs(a, ANNO_EVICTION_POLICY, nobody[i], ANNO_EVICTION_PRIORITY, "x", NULL);
        assert_false(eviction_policy_allows(&m, EVICT_CPU, a));
        assert_int_equal(eviction_priority(&m), 0);
    }
    assert_int_equal(core_sched_policy(&NO_PAIRS), CORE_SCHED_BY_GROUP);
}

/* ---- devices --------------------------------------------------------------------------------- */

#define ALLOCATED                                                                            \
    "{\"gpu\":[{\"minor\":0,\"resources\":{\"koordinator.sh/gpu-core\":\"5\","               \
    "\"koordinator.sh/gpu-memory\":\"1Gi\"},\"id\":\"GPU-0\",\"extension\":{\"vfs\":"        \
    "[{\"minor\":1,\"busID\":\"0000:01:00.2\"}],\"gpuSharedResourceTemplate\":\"vir02\"}}]," \
    "\"rdma\":[{\"minor\":3,\"resources\":{}}]}"

static void test_device_allocations(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct device_allocations d;
    struct kerr err = { 0 };
    const char *profile;

    (void)state;
    assert_int_equal(device_allocations_decode(ALLOCATED, a, &d, &err), 0);
    device_allocations_encode(&d, &b);
    assert_string_equal(strbuf_str(&b), ALLOCATED);
    const struct device_allocation_list *gpu = device_allocations_of(&d, DEVICE_TYPE_GPU);
    assert_non_null(gpu);
    assert_null(device_allocations_of(&d, DEVICE_TYPE_FPGA));
    assert_string_equal(device_minors_format(gpu, a), "0");
    assert_string_equal(huawei_npu_core_format(gpu, a), "0-vir02");
    assert_string_equal(ascend310p_format(gpu, a), "Ascend310P-0");
    assert_int_equal(cambricon_profile_format(gpu, a, &profile, &err), 0);
    assert_string_equal(profile, "0_5_4");
    assert_int_equal(cambricon_profile_format(device_allocations_of(&d, "rdma"), a, &profile, &err),
                     -EINVAL);
    assert_string_equal(err.text, "gpu core resource is required");

    assert_int_equal(device_allocations_decode("{\"gpu\":[{\"minor\":1,\"resources\":"
                                               "{\"kubernetes.io/gpu-core\":\"100\"}},"
                                               "{\"minor\":2}]}",
                                               a, &d, &err),
                     0);
    gpu = device_allocations_of(&d, DEVICE_TYPE_GPU);
    assert_true(reslist_has(&gpu->v.items[0].resources, RES_GPU_CORE)); /* old name replaced */
    assert_string_equal(device_minors_format(gpu, a), "1,2");
    assert_string_equal(huawei_npu_core_format(gpu, a), "1,2");
    assert_int_equal(cambricon_profile_format(gpu, a, &profile, &err), -EINVAL);
    assert_int_equal(device_allocations_decode("{\"gpu\":{}}", a, &d, &err), -EINVAL);
}

static void test_device_wishes(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct device_hints h;
    struct device_joint j;
    struct gpu_partition_spec s;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(device_hints_decode("{\"rdma\":{\"selector\":{\"matchLabels\":{\"t\":\"w\"}},"
                                         "\"allocateStrategy\":\"ApplyForAll\","
                                         "\"requiredTopologyScope\":\"NUMANode\","
                                         "\"exclusivePolicy\":\"PCIeLevel\"}}",
                                         a, &h, &err),
                     0);
    const struct device_hint *hint = device_hint_of(&h, "rdma");
    assert_string_equal(kstrmap_get(&hint->selector->match_labels, "t"), "w");
    assert_int_equal(hint->strategy, DEVICE_APPLY_FOR_ALL);
    assert_int_equal(hint->required_scope, 2);
    assert_int_equal(hint->exclusive, DEVICE_EXCLUSIVE_PCIE);
    assert_int_equal(DEVICE_SCOPE_DEVICE, 4);
    assert_null(device_hint_of(&h, "gpu"));
    kstrmap m = pairs(a, ANNO_DEVICE_HINT, "{\"gpu\":{\"exclusivePolicy\":\"Mine\"}}", NULL);
    assert_string_equal(device_hints_unknown(&m, a), "gpu.exclusivePolicy: \"Mine\"");
    m = pairs(a, ANNO_DEVICE_HINT, "{\"gpu\":{\"exclusivePolicy\":\"PCIeLevel\"}}", NULL);
    assert_null(device_hints_unknown(&m, a));
    m = pairs(a, ANNO_DEVICE_HINT, "[{\"exclusivePolicy\":\"Mine\"}", NULL);
    assert_null(device_hints_unknown(&m, a));
    assert_int_equal(device_joint_decode("{\"deviceTypes\":[\"gpu\",\"rdma\"],\"requiredScope\":"
                                         "\"SamePCIe\"}",
                                         a, &j, &err),
                     0);
    assert_string_equal(j.device_types.items[0], "gpu");
    assert_int_equal(gpu_partition_spec_decode("{\"allocatePolicy\":\"Restricted\","
                                               "\"ringBusBandwidth\":\"400Gi\"}",
                                               a, &s, &err),
                     0);
    assert_true(s.restricted);
    assert_int_equal(qty_value(*s.ring_bus_bandwidth), INT64_C(400) << 30);
    assert_int_equal(gpu_partition_spec_decode("{\"allocatePolicy\":\"BestEffort\"}", a, &s, &err),
                     0);
    assert_false(s.restricted);
    assert_null(s.ring_bus_bandwidth);
}

static void test_gpu_partitions(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gpu_partitions p;
    struct kerr err = { 0 };
    kstrmap m =
        pairs(a, LABEL_GPU_PARTITION_POLICY, "Honor", LABEL_SECONDARY_WELL_PLANNED, "false", NULL);

    (void)state;
    assert_int_equal(gpu_partitions_decode("{\"2\":[{\"minors\":[0,1],\"gpuLinkType\":\"NVLink\","
                                           "\"ringBusBandwidth\":\"400Gi\",\"allocationScore\":1}],"
                                           "\"4\":[]}",
                                           a, &p, &err),
                     0);
    assert_int_equal(gpu_partitions_for(&p, 2)->v.items[0].minors.items[1], 1);
    assert_int_equal(gpu_partitions_for(&p, 4)->v.n, 0);
    assert_null(gpu_partitions_for(&p, 8));
    assert_int_equal(gpu_partitions_decode("null", a, &p, &err), -EINVAL);
    assert_string_equal(err.text, "invalid gpu partitions in device cr: null");
    assert_int_equal(gpu_partitions_decode("{\"two\":[]}", a, &p, &err), -EINVAL);
    assert_true(gpu_partition_honored(&m));
    assert_false(gpu_partition_honored(&NO_PAIRS));
    assert_true(secondary_well_planned(&m).set);
    assert_false(secondary_well_planned(&m).v);
    assert_false(secondary_well_planned(&NO_PAIRS).set);
}

static void test_gpu_templates(void **state)
{
    static const char yaml[] = "huawei-Ascend-310P3-300I-DUO:\n"
                               "  vir02: {huawei.com/npu-core: 2, koordinator.sh/gpu-memory: 6Gi}\n"
                               "  vir04:\n"
                               "    huawei.com/npu-core: 4\n";
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gpu_templates t;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(gpu_templates_decode(yaml, sizeof yaml - 1, a, &t, &err), 0);
    const struct gpu_template_list *l =
        gpu_templates_of(&t, GPU_VENDOR_HUAWEI, GPU_MODEL_ASCEND_DUO);
    assert_int_equal(l->v.n, 2);
    assert_string_equal(l->v.items[0].name, "vir02");
    assert_int_equal(qty_value(reslist_get(&l->v.items[0].resources.v, RES_NPU_CORE)), 2);
    assert_int_equal(qty_value(reslist_get(&l->v.items[0].resources.v, RES_GPU_MEMORY)), INT64_C(6)
                                                                                             << 30);
    assert_null(gpu_templates_of(&t, GPU_VENDOR_HUAWEI, "other"));
    assert_null(gpu_templates_of(&t, "hua", "wei-Ascend-310P3-300I-DUO"));
    assert_int_equal(gpu_templates_decode("", 0, a, &t, &err), 0);
    assert_int_equal(t.v.n, 0);
    assert_that(gpu_templates_decode("a: [", 4, a, &t, &err), <, 0);
    assert_that(gpu_templates_decode("a: 1", 4, a, &t, &err), <, 0);
}

static void test_node_lock(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };
    struct node_lock l;

    (void)state;
    assert_int_equal(node_lock_parse("2026-11-15T18:20:00Z,ns,pod", a, &l, &err), 0);
    assert_string_equal(l.ns, "ns");
    assert_string_equal(l.pod, "pod");
    assert_string_equal(node_lock_format(&l, a), "2026-11-15T18:20:00Z,ns,pod");
    static const char *const bad[] = { "", "now,ns,pod", "2026-11-15T18:20:00Z,ns",
                                       "2026-11-15T18:20:00Z,ns,pod,x" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(node_lock_parse(bad[i], a, &l, &err), -EINVAL);
    assert_string_equal(err.text, "invalid node lock value \"2026-11-15T18:20:00Z,ns,pod,x\"");
}

/* ---- migration, hints ------------------------------------------------------------------------ */

static void test_eviction_cost(void **state)
{
    static const struct {
        const char *text;
        int r;
        int32_t cost;
    } cases[] = {
        { "-5", 0, -5 },
        { "0", 0, 0 },
        { "2147483647", 0, EVICTION_COST_NEVER },
        { "-2147483648", 0, INT32_MIN },
        { "+10", -EINVAL, 0 },
        { "008", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "2147483648", -EINVAL, 0 },
        { "1x", -EINVAL, 0 },
        { "-", -EINVAL, 0 },
    };
    CLEANUP(arena_free) struct arena *a = arena_new();
    int32_t cost;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        kstrmap m = pairs(a, ANNO_EVICTION_COST, cases[i].text, NULL);
        struct kerr err = { 0 };
        assert_int_equal(eviction_cost(&m, &cost, &err), cases[i].r);
        assert_int_equal(cost, cases[i].cost);
        if (streq(cases[i].text, "+10"))
            assert_string_equal(err.text, "invalid value \"+10\"");
    }
    assert_int_equal(eviction_cost(&NO_PAIRS, &cost, NULL), 0);
    assert_int_equal(cost, 0);
}

static void test_evict_policy(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap pod = pairs(a, LABEL_EVICT_POLICY, "Delete", NULL);
    kstrmap job = pairs(a, LABEL_EVICT_POLICY, "SoftEviction", NULL);
    kstrmap odd = pairs(a, LABEL_EVICT_POLICY, "Shout", NULL);

    (void)state;
    assert_int_equal(evict_policy(&pod, &job, EVICT_POLICY_EVICTION), EVICT_POLICY_DELETE);
    assert_int_equal(evict_policy(&NO_PAIRS, &job, EVICT_POLICY_EVICTION), EVICT_POLICY_SOFT);
    assert_int_equal(evict_policy(&odd, &job, EVICT_POLICY_EVICTION), EVICT_POLICY_EVICTION);
    assert_int_equal(evict_policy(NULL, NULL, EVICT_POLICY_DELETE), EVICT_POLICY_DELETE);
    assert_string_equal(evict_policy_name(EVICT_POLICY_SOFT), "SoftEviction");
}

static void test_scheduling_hint(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct scheduling_hint h;
    struct kerr err = { 0 };
    kstrmap m = pairs(a, ANNO_SCHEDULING_HINT, "", ANNO_SCHEDULING_HINT_OLD,
                      "{\"nodeNames\":[\"n1\"],\"preferredNodeNames\":[\"n2\"],\"extensions\":"
                      "{\"DeviceShare\":{\"a\":1},\"Empty\":null}}",
                      NULL);

    (void)state;
    assert_int_equal(scheduling_hint_get(&m, a, &h, &err), 1);
    assert_string_equal(h.node_names.items[0], "n1");
    assert_string_equal(scheduling_hint_extension(&h, "DeviceShare"), "{\"a\":1}");
    assert_string_equal(scheduling_hint_extension(&h, "Empty"), "null");
    assert_null(scheduling_hint_extension(&h, "NodeNUMAResource"));
    assert_int_equal(scheduling_hint_get(&NO_PAIRS, a, &h, &err), 0);
    m = pairs(a, ANNO_SCHEDULING_HINT, "{bad", ANNO_SCHEDULING_HINT_OLD, "{}", NULL);
    assert_that(scheduling_hint_get(&m, a, &h, &err), <, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratio_labels),
        cmocka_unit_test(test_amplification),
        cmocka_unit_test(test_cpu_normalization),
        cmocka_unit_test(test_third_parties_are_summed_by_class),
        cmocka_unit_test(test_usage_thresholds),
        cmocka_unit_test(test_load_estimates),
        cmocka_unit_test(test_pod_slo),
        cmocka_unit_test(test_oom_score),
        cmocka_unit_test(test_eviction_by_koordlet),
        cmocka_unit_test(test_device_allocations),
        cmocka_unit_test(test_device_wishes),
        cmocka_unit_test(test_gpu_partitions),
        cmocka_unit_test(test_gpu_templates),
        cmocka_unit_test(test_node_lock),
        cmocka_unit_test(test_eviction_cost),
        cmocka_unit_test(test_evict_policy),
        cmocka_unit_test(test_scheduling_hint),
    };
    RUN_TESTS(tests);
}
