/* test_config_args.c - args of Koordinator's plugins as they come into force (scheduler-core 9.3).
 */
#include "base/test/asserts.h"
#include "scheduler/config/test/config_fixture.h"

#define TYPE(plugin) \
    "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":\"" plugin "Args\""
#define LEAST(resources) "{\"type\":\"LeastAllocated\",\"resources\":[" resources "]}"
#define ONE(name)        "{\"name\":\"" name "\",\"weight\":1}"
#define CPU_MEMORY       ONE("cpu") "," ONE("memory")

/* Who is enabled has all of its args in force, without a word in the file. */
static void test_args_of_koordinators_plugins(void **state)
{
    static const struct {
        const char *plugin, *args;
    } expected[] = {
        { "LoadAwareScheduling",
          TYPE("LoadAwareScheduling") ",\"filterExpiredNodeMetrics\":true,"
                                      "\"nodeMetricExpirationSeconds\":180,"
                                      "\"enableScheduleWhenNodeMetricsExpired\":false,"
                                      "\"filterAboveEvictionThresholds\":true,"
                                      "\"resourceWeights\":{\"cpu\":1,\"memory\":1},"
                                      "\"usageThresholds\":{\"cpu\":65,"
                                      "\"memory\":95},\"estimatedScalingFactors\":{\"cpu\":85,"
                                      "\"memory\":70}}" },
        { "NodeNUMAResource", TYPE("NodeNUMAResource") ",\"defaultCPUBindPolicy\":\"FullPCPUs\","
                                                       "\"scoringStrategy\":" LEAST(
                                                           CPU_MEMORY) ",\"numaScoringStrategy\""
                                                                       ":" LEAST(CPU_MEMORY) "}" },
        { "Reservation",
          TYPE("Reservation") ",\"enablePreemption\":false,\"minCandidateNodesPercentage\":10,"
                              "\"minCandidateNodesAbsolute\":100,\"controllerWorkers\":1,"
                              "\"gcDurationSeconds\":86400,"
                              "\"gcIntervalSeconds\":60,\"resyncIntervalSeconds\":60}" },
        { "ElasticQuota",
          TYPE(
              "ElasticQuota") ",\"delayEvictTime\":\"2m0s\",\"revokePodInterval\":\"1s\","
                              "\"defaultQuotaGroupMax\":{\"cpu\":\"1844674407370955161\","
                              "\"memory\":"
                              "\"1844674407370955161\"},\"systemQuotaGroupMax\":{\"cpu\":"
                              "\"1844674407370955161\","
                              "\"memory\":\"1844674407370955161\"},\"quotaGroupNamespace\":"
                              "\"koordinator-system\","
                              "\"monitorAllQuotas\":false,\"enableCheckParentQuota\":false,"
                              "\"enableRuntimeQuota\":true,"
                              "\"enableMinQuotaScale\":true,\"disableDefaultQuotaPreemption\":true,"
                              "\"enableQueueHint\":false,\"quotaSnapshotUpdateInterval\":"
                              "\"2m0s\"}" },
        { "Coscheduling",
          TYPE("Coscheduling") ",\"defaultTimeout\":\"10m0s\",\"controllerWorkers\":1,"
                               "\"enablePreemption\":false,\"awareNetworkTopology\":false,"
                               "\"defaultMatchPolicy\":\"once-satisfied\"}" },
        { "DeviceShare",
          TYPE("DeviceShare") ",\"scoringStrategy\":" LEAST(
              ONE("koordinator.sh/gpu-memory-ratio") "," ONE("koordinator.sh/gpu-memory") "," ONE(
                  "koordinator.sh/rdma") "," ONE("koordinator.sh/fpga")) ","
                                                                         "\"gpuSharedResourceTempla"
                                                                         "tesConfig\":{"
                                                                         "\"configMapNamespace\":"
                                                                         "\"koordinator-system\","
                                                                         "\"configMapName\":\"gpu-"
                                                                         "shared-resource-"
                                                                         "templates\","
                                                                         "\"matchedResources\":["
                                                                         "\"huawei.com/"
                                                                         "npu-core\"]}}" },
        { "SchedulingHint", TYPE("SchedulingHint") ",\"maxHintNodes\":100}" },
        { "NodeResourcesFitPlus", TYPE("NodeResourcesFitPlus") "}" },
        { "ScarceResourceAvoidance", TYPE("ScarceResourceAvoidance") "}" },
    };

    (void)state;
    CLEANUP(config_unref) struct config *none = load(HEAD);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        CLEANUP(mem_free)
        char *text = xasprintf(PLUGINS("multiPoint: {enabled: [{name: %s}]}"), expected[i].plugin);
        CLEANUP(config_unref) struct config *c = load(text);
        assert_string_equal(args_of(c, expected[i].plugin), expected[i].args);
        assert_null(args_of(none, expected[i].plugin));
    }
}

static void test_what_is_given_to_load_aware_stays(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(ARGS("LoadAwareScheduling", "{dominantResourceWeight: 1, usageThresholds: {cpu: 0}, "
                                         "estimatedScalingFactors: {gpu: 1, memory: 50}}"));
    const char *args = args_of(c, "LoadAwareScheduling");

    (void)state;
    assert_lacks(args, "resourceWeights");
    assert_contains(args, "\"usageThresholds\":{\"cpu\":0}");
    assert_contains(args, "\"estimatedScalingFactors\":{\"cpu\":85,\"gpu\":1,\"memory\":50}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args_of_koordinators_plugins),
        cmocka_unit_test(test_what_is_given_to_load_aware_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
