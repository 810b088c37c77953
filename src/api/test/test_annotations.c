/* Every annotation codec: absent is no error, bad text is one, good text comes back byte by byte.
 */
#include "base/test/asserts.h"
#include "pairs.h"

#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

static const struct {
    const char *key, *text; /* as Koordinator writes it */
} samples[] = {
    { ANNO_EXTENDED_RESOURCES,
      "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"1k\"},"
      "\"requests\":{\"kubernetes.io/batch-cpu\":\"500\",\"kubernetes.io/"
      "batch-memory\":\"1Gi\"}}}}" },
    { ANNO_GANG_GROUPS, "[\"nsA/gangA\",\"nsB/gangB\"]" },
    { ANNO_GANG_TOPOLOGY_SPEC,
      "{\"gatherStrategy\":[{\"layer\":\"SpineLayer\",\"strategy\":\"PreferGather\"},"
      "{\"layer\":\"BlockLayer\",\"strategy\":\"MustGather\",\"podCountMultiple\":2}]}" },
    { ANNO_QUOTA_SHARED_WEIGHT, "{\"cpu\":\"4\",\"memory\":\"50\"}" },
    { ANNO_QUOTA_TOTAL_RESOURCE, "{\"cpu\":\"4\"}" },
    { ANNO_QUOTA_UNSCHEDULABLE_RESOURCE, "{\"cpu\":\"500m\"}" },
    { ANNO_QUOTA_RUNTIME, "{\"cpu\":\"4\",\"memory\":\"8Gi\"}" },
    { ANNO_QUOTA_REQUEST, "{}" },
    { ANNO_QUOTA_CHILD_REQUEST, "{\"nvidia.com/gpu\":\"1\"}" },
    { ANNO_QUOTA_GUARANTEED, "{\"cpu\":\"1\"}" },
    { ANNO_QUOTA_ALLOCATED, "{\"cpu\":\"1\"}" },
    { ANNO_QUOTA_NON_PREEMPTIBLE_REQUEST, "{\"cpu\":\"1\"}" },
    { ANNO_QUOTA_NON_PREEMPTIBLE_USED, "{\"cpu\":\"1\"}" },
    { ANNO_QUOTA_ADMISSION, "{\"cpu\":\"1\"}" },
    { ANNO_QUOTA_NAMESPACES, "[\"ns1\"]" },
    { ANNO_QUOTA_RESOURCE_KEYS, "[\"cpu\",\"memory\"]" },
    { ANNO_QUOTA_MAX_STRICT_KEYS, "[\"cpu\"]" },
    { ANNO_RESERVATION_ALLOCATED,
      "{\"name\":\"r\",\"uid\":\"6f2d9c54-0d3b-4f0a-9f7c-2f3c8f1f5a11\"}" },
    { ANNO_RESERVATION_AFFINITY,
      "{\"name\":\"r\",\"requiredDuringSchedulingIgnoredDuringExecution\":"
      "{\"reservationSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\","
      "\"values\":[\"v\"]}]}]},\"reservationSelector\":{\"k\":\"v\"},"
      "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]}" },
    { ANNO_RESERVATION_RESTRICTED, "{\"resources\":[\"cpu\"]}" },
    { ANNO_EXACT_MATCH_RESERVATION, "{\"resourceNames\":[\"cpu\",\"memory\"]}" },
    { ANNO_RESERVATION_RESIZE, "{\"resources\":{\"cpu\":\"2\"}}" },
    { ANNO_RESERVATION_OWNERS,
      "[{\"object\":{\"namespace\":\"default\",\"name\":\"p\"}},{\"labelSelector\":"
      "{\"matchLabels\":{\"app\":\"x\"}}}]" },
    { ANNO_RESERVATION_CURRENT_OWNER,
      "{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"u\"}" },
    { ANNO_RESOURCE_SPEC,
      "{\"requiredCPUBindPolicy\":\"FullPCPUs\",\"preferredCPUBindPolicy\":\"SpreadByPCPUs\","
      "\"preferredCPUExclusivePolicy\":\"PCPULevel\"}" },
    { ANNO_NUMA_TOPOLOGY_SPEC,
      "{\"numaTopologyPolicy\":\"SingleNUMANode\",\"singleNUMANodeExclusive\":\"Required\"}" },
    { ANNO_RESOURCE_STATUS,
      "{\"cpuset\":\"0-3\",\"numaNodeResources\":[{\"node\":0,\"resources\":{\"cpu\":\"4\"}}]}" },
    { ANNO_CPU_TOPOLOGY, "{\"detail\":[{\"id\":0,\"core\":0,\"socket\":0,\"node\":0},"
                         "{\"id\":1,\"core\":0,\"socket\":0,\"node\":0}]}" },
    { ANNO_POD_CPU_ALLOCS,
      "[{\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"u\",\"cpuset\":\"1-2\","
      "\"managedByKubelet\":true}]" },
    { ANNO_CPU_SHARED_POOLS, "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-7\"}]" },
    { ANNO_BE_CPU_SHARED_POOLS, "[{\"socket\":1,\"node\":1,\"cpuset\":\"8-15\"}]" },
    { ANNO_KUBELET_CPU_MANAGER,
      "{\"policy\":\"static\",\"options\":{\"distribute-cpus-across-numa\":\"true\","
      "\"full-pcpus-only\":\"true\"},\"reservedCPUs\":\"0-1\"}" },
    { ANNO_CPU_BASIC_INFO,
      "{\"cpuModel\":\"XEON\",\"hyperThreadEnabled\":true,\"turboEnabled\":true,"
      "\"catL3CbmMask\":\"fff\",\"vendorID\":\"GenuineIntel\"}" },
    { ANNO_NODE_RESERVATION, "{\"resources\":{\"cpu\":\"1500m\"},\"reservedCPUs\":\"0-5\","
                             "\"applyPolicy\":\"ReservedCPUsOnly\"}" },
    { ANNO_SYSTEM_QOS_RESOURCE, "{\"cpuset\":\"0-1\",\"cpusetExclusive\":false}" },
    { ANNO_DEVICE_ALLOCATED,
      "{\"gpu\":[{\"minor\":0,\"resources\":{\"koordinator.sh/gpu-core\":\"100\"},\"id\":\"GPU-0\","
      "\"extension\":{\"vfs\":[{\"minor\":1,\"busID\":\"0000:01:00.2\"}],"
      "\"gpuSharedResourceTemplate\":\"vir02\"}}],\"rdma\":[{\"minor\":1,\"resources\":{}}]}" },
    { ANNO_DEVICE_HINT,
      "{\"gpu\":{\"requiredTopologyScope\":\"NUMANode\"},\"rdma\":{\"selector\":"
      "{\"matchLabels\":{\"type\":\"worker\"}},\"vfSelector\":{\"matchLabels\":{\"t\":\"g\"}},"
      "\"allocateStrategy\":\"ApplyForAll\",\"requiredTopologyScope\":\"PCIe\","
      "\"exclusivePolicy\":\"DeviceLevel\"}}" },
    { ANNO_DEVICE_JOINT, "{\"deviceTypes\":[\"gpu\",\"rdma\"],\"requiredScope\":\"SamePCIe\"}" },
    { ANNO_GPU_PARTITION_SPEC,
      "{\"allocatePolicy\":\"Restricted\",\"ringBusBandwidth\":\"400Gi\"}" },
    { ANNO_GPU_PARTITIONS,
      "{\"2\":[{\"minors\":[0,1],\"gpuLinkType\":\"NVLink\",\"ringBusBandwidth\":\"400Gi\","
      "\"allocationScore\":1}]}" },
    { ANNO_METAX_ALLOCATED, "[[{\"uuid\":\"GPU-0\",\"compute\":5,\"vRam\":1024}]]" },
    { ANNO_USAGE_THRESHOLDS,
      "{\"usageThresholds\":{\"cpu\":65},\"prodUsageThresholds\":{\"cpu\":55},\"aggregatedUsage\":"
      "{\"usageThresholds\":{\"cpu\":80},\"usageAggregationType\":\"p95\","
      "\"usageAggregatedDuration\":\"5m0s\"}}" },
    { ANNO_LOAD_SCALING_FACTORS, "{\"cpu\":80,\"memory\":70}" },
    { ANNO_COLOCATION_STRATEGY,
      "{\"enable\":true,\"metricAggregateDurationSeconds\":300,\"metricReportIntervalSeconds\":60,"
      "\"metricAggregatePolicy\":{\"durations\":[\"5m0s\"]},\"metricMemoryCollectPolicy\":"
      "\"usageWithoutPageCache\",\"cpuReclaimThresholdPercent\":60,\"cpuCalculatePolicy\":"
      "\"usage\","
      "\"memoryReclaimThresholdPercent\":65,\"memoryCalculatePolicy\":\"request\","
      "\"degradeTimeMinutes\":15,\"updateTimeThresholdSeconds\":300,\"resourceDiffThreshold\":0.1,"
      "\"midReclaimMode\":\"static\",\"midCPUThresholdPercent\":100,"
      "\"midMemoryThresholdPercent\":100,\"midUnallocatedPercent\":0,"
      "\"midStaticCPUReservedPercent\":0,\"midStaticMemoryReservedPercent\":0,"
      "\"batchCPUThresholdPercent\":50,\"batchMemoryThresholdPercent\":50,"
      "\"extensions\":{\"x\":{\"y\":1}}}" },
    { ANNO_ORIGIN_EXTENDED, "{\"resources\":{\"kubernetes.io/batch-cpu\":\"50k\"}}" },
    { ANNO_THIRD_PARTY,
      "{\"allocations\":[{\"name\":\"hadoop-yarn\",\"priority\":\"koord-batch\",\"resources\":"
      "{\"kubernetes.io/batch-cpu\":\"1k\"}}]}" },
    { ANNO_AMPLIFICATION_RATIO, "{\"cpu\":1.50,\"memory\":1.20}" },
    { ANNO_RAW_ALLOCATABLE, "{\"cpu\":\"4\",\"memory\":\"8Gi\"}" },
    { ANNO_CPU_NORMALIZATION_RATIO, "1.20" },
    { ANNO_CPU_BURST, "{\"policy\":\"auto\",\"cpuBurstPercent\":200,\"cfsQuotaBurstPercent\":300,"
                      "\"cfsQuotaBurstPeriodSeconds\":-1}" },
    { ANNO_CPU_QOS,
      "{\"enable\":true,\"groupIdentity\":2,\"schedIdle\":0,\"coreExpeller\":false}" },
    { ANNO_MEMORY_QOS, "{\"policy\":\"auto\",\"minLimitPercent\":10,\"wmarkRatio\":95}" },
    { ANNO_BLKIO_QOS,
      "{\"blocks\":[{\"name\":\"pvc\",\"type\":\"podvolume\",\"ioCfg\":{\"readBPS\":1048576}}]}" },
    { ANNO_NETWORK_QOS, "{\"ingressLimit\":\"10M\",\"egressLimit\":\"20M\"}" },
    { ANNO_OOM_SCORE_ADJ_SPEC, "{\"container-a\":-500}" },
    { ANNO_EVICTION_POLICY, "[\"CPUEvict\",\"MemoryEvict\"]" },
    { ANNO_RESCTRL, "{\"llc\":{\"schemata\":{\"percent\":0,\"range\":[0,100]},\"schemataPerCache\":"
                    "[{\"cacheID\":0,\"range\":[0,50]}]},\"mb\":{\"schemata\":{\"percent\":50},"
                    "\"schemataPerCache\":[{\"cacheID\":1,\"percent\":20}]}}" },
    { ANNO_SOFT_EVICTION,
      "{\"timestamp\":\"2026-11-15T18:20:00Z\",\"deleteOptions\":{\"gracePeriodSeconds\":30},"
      "\"initiator\":\"LowNodeLoad\",\"reason\":\"node is overutilized\"}" },
    { ANNO_SCHEDULING_HINT,
      "{\"nodeNames\":[\"n1\"],\"preferredNodeNames\":[\"n2\"],\"extensions\":"
      "{\"DeviceShare\":{\"a\":1}}}" },
};

static void *room(struct arena *a, const struct annotation_codec *c)
{
    return arena_zalloc(a, c->schema->size);
}

static void test_every_codec_writes_what_it_read(void **state)
{
    size_t n = 0;

    (void)state;
    for (; annotation_codec_at(n); n++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        const struct annotation_codec *c = annotation_codec_at(n);
        void *value = room(a, c), *again = room(a, c);
        struct kerr err = { 0 };

        assert_ptr_equal(annotation_codec_find(c->key), c); /* no key twice */
        assert_that(n, <, ARRAY_LEN(samples));
        assert_string_equal(samples[n].key, c->key);
        if (annotation_decode(c, samples[n].text, a, value, &err) < 0)
            fail_msg("%s: %s", c->key, err.text);
        annotation_encode(c, value, &b);
        assert_string_equal(strbuf_str(&b), samples[n].text);
        assert_int_equal(annotation_decode(c, strbuf_str(&b), a, again, &err), 0);
        assert_true(kj_struct_equal(c->schema, value, again));
    }
    assert_int_equal(n, ARRAY_LEN(samples));
    assert_null(annotation_codec_find("koordinator.sh/unheard-of"));
}

static void test_absent_is_no_error(void **state)
{
    (void)state;
    for (size_t i = 0; annotation_codec_at(i); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        const struct annotation_codec *c = annotation_codec_at(i);
        kstrmap m = pairs(a, "other", "{bad", NULL);

        assert_int_equal(annotation_read(c, &m, a, room(a, c), NULL), 0);
        assert_int_equal(annotation_read(c, NULL, a, room(a, c), NULL), 0);
    }
}

static void test_bad_text_is_an_error_with_the_key(void **state)
{
    static const char *const bad[] = { "{bad", "{\"a\":}", "true", "[[[", "{\"a\":1} x" };

    (void)state;
    for (size_t i = 0; annotation_codec_at(i); i++) {
        for (size_t j = 0; j < ARRAY_LEN(bad); j++) {
            CLEANUP(arena_free) struct arena *a = arena_new();
            const struct annotation_codec *c = annotation_codec_at(i);
            kstrmap m = pairs(a, c->key, bad[j], NULL);
            struct kerr err = { 0 };

            if (annotation_read(c, &m, a, room(a, c), &err) >= 0)
                fail_msg("%s: %s was accepted", c->key, bad[j]);
            assert_contains(err.text, c->key);
        }
    }
}

static void test_empty_text(void **state)
{
    static const struct {
        const char *key;
        int r;
    } cases[] = {
        { ANNO_RESOURCE_SPEC, -EINVAL },  { ANNO_DEVICE_ALLOCATED, -EINVAL },
        { ANNO_RESERVATION_AFFINITY, 1 }, { ANNO_BLKIO_QOS, 1 },
        { ANNO_SCHEDULING_HINT, 0 },      { ANNO_AMPLIFICATION_RATIO, 0 },
        { ANNO_LOAD_SCALING_FACTORS, 0 }, { ANNO_CPU_NORMALIZATION_RATIO, -EINVAL },
        { ANNO_QUOTA_SHARED_WEIGHT, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        const struct annotation_codec *c = annotation_codec_find(cases[i].key);
        kstrmap m = pairs(a, cases[i].key, "", NULL);

        assert_int_equal(annotation_read(c, &m, a, room(a, c), &(struct kerr){ 0 }), cases[i].r);
    }
}

static void test_numbers_and_strings_are_quantities(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct annotation_codec *c = annotation_codec_find(ANNO_RAW_ALLOCATABLE);
    void *value = room(a, c);

    (void)state;
    assert_int_equal(annotation_decode(c, "{\"cpu\":0.1,\"memory\":9007199254740993,\"x\":null}", a,
                                       value, NULL),
                     0);
    annotation_encode(c, value, &b);
    assert_string_equal(strbuf_str(&b),
                        "{\"cpu\":\"100m\",\"memory\":\"9007199254740993\",\"x\":\"0\"}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_codec_writes_what_it_read),
        cmocka_unit_test(test_absent_is_no_error),
        cmocka_unit_test(test_bad_text_is_an_error_with_the_key),
        cmocka_unit_test(test_empty_text),
        cmocka_unit_test(test_numbers_and_strings_are_quantities),
    };
    RUN_TESTS(tests);
}
