/* test_config_refused.c - configurations that are refused, and the words for it (scheduler-core 4).
 */
#include "base/test/asserts.h"
#include "scheduler/config/config.h"

#include "scheduler/config/test/config_fixture.h"

#define SET_REFUSED(sets, path, message)                        \
    {                                                           \
        PLUGINS(sets), "profiles[0].plugins." path ": " message \
    }
#define ARGS_REFUSED(name, args, message)                            \
    {                                                                \
        ARGS(name, args), "profiles[0].pluginConfig[0].args" message \
    }
#define EXTENDER_REFUSED(fields, message)                       \
    {                                                           \
        HEAD "extenders: [{" fields "}]\n", "extenders" message \
    }

static const struct refusal {
    const char *text, *message;
} refusals[] = {
    { HEAD "parallelsm: 3\n", "parallelsm: unknown field" },
    { HEAD "profiles:\n- plugins: {score: {enable: []}}\n",
      "profiles[0].plugins.score.enable: unknown field" },
    { HEAD "parallelism: 0\n",
      "parallelism: Invalid value: 0: should be an integer value greater than zero" },
    { HEAD "percentageOfNodesToScore: 101\n",
      "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]" },
    { HEAD "podInitialBackoffSeconds: 0\n",
      "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0" },
    { HEAD "podInitialBackoffSeconds: 20\n",
      "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to "
      "PodInitialBackoffSeconds" },
    { HEAD "podMaxBackoffSeconds: 9223372036854775807\n",
      "podMaxBackoffSeconds: Invalid value: 9223372036854775807: is too long" },
    { HEAD "clientConnection: {burst: -1}\n",
      "clientConnection.burst: Invalid value: -1: must be non-negative" },
    { HEAD "leaderElection: {resourceLock: endpoints}\n",
      "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must be "
      "\"leases\"" },
    { HEAD "leaderElection: {leaseDuration: 5s}\n",
      "leaderElection.leaseDuration: Invalid value: LeaseDuration must be greater than "
      "RenewDeadline" },
    { HEAD "leaderElection: {retryPeriod: 12s}\n",
      "leaderElection.renewDeadline: Invalid value: RenewDeadline must be greater than "
      "RetryPeriod" },
    { HEAD "leaderElection: {retryPeriod: -1s}\n",
      "leaderElection.retryPeriod: Invalid value: must be greater than zero" },

    { HEAD "profiles: [{schedulerName: a}, {}]\n", "profiles[1].schedulerName: Required value" },
    { HEAD "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]\n",
      "profiles[2].schedulerName: Duplicate value: \"profiles[0].schedulerName\"" },
    { HEAD "profiles: [{percentageOfNodesToScore: -1}]\n",
      "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]" },
    { HEAD "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {disabled: "
           "[{name: '*'}], enabled: [{name: NodeName}]}}}]\n",
      "profiles[1].plugins.queueSort.enabled[0]: plugin \"NodeName\" does not extend "
      "QueueSortPlugin plugin" },
    { HEAD "profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: PrioritySort, "
           "args: {x: 1}}]}]\n",
      "profiles[1].pluginConfig.args: Invalid value: queueSort must be the same for all "
      "profiles" },
    { HEAD "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: c}, {schedulerName: "
           "d}, {schedulerName: e}, {schedulerName: f}, {schedulerName: g}, {schedulerName: h}, "
           "{schedulerName: i}]\n",
      "profiles: Too many: 9: must have at most 8 items" },

    SET_REFUSED("filter: {enabled: [{name: NodeName}, {name: Nonsense}]}", "filter.enabled[1]",
                "FilterPlugin \"Nonsense\" does not exist"),
    SET_REFUSED("multiPoint: {enabled: [{name: NodeResourceFit}]}", "multiPoint.enabled[0]",
                "MultiPointPlugin \"NodeResourceFit\" does not exist (did you mean "
                "\"NodeResourcesFit\"?)"),
    SET_REFUSED("score: {enabled: [{name: NodeName}]}", "score.enabled[0]",
                "plugin \"NodeName\" does not extend ScorePlugin plugin"),
    SET_REFUSED("filter: {enabled: [{name: NodeName}, {name: NodeName}]}", "filter.enabled[1]",
                "plugin \"NodeName\" already registered as \"FilterPlugin\""),
    SET_REFUSED("score: {enabled: [{name: NodeAffinity, weight: -1}]}", "score.enabled[0]",
                "weight: Invalid value: -1: must be greater than or equal to 0"),
    SET_REFUSED("filter: {enabled: [{name: EBSLimits}]}", "filter.enabled[0]",
                "Invalid value: \"EBSLimits\": was invalid in version \"v1\" "
                "(KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")"),
    SET_REFUSED("queueSort: {disabled: [{name: '*'}]}", "queueSort",
                "only one queue sort plugin required for profile with scheduler name "
                "\"default-scheduler\", but got 0"),
    SET_REFUSED("bind: {disabled: [{name: '*'}]}", "bind",
                "at least one bind plugin is needed for profile with scheduler name "
                "\"default-scheduler\""),

    { HEAD "profiles:\n- pluginConfig: [{name: NodeName}, {name: NodeName}]\n",
      "profiles[0].pluginConfig[1]: Duplicate value: \"NodeName\"" },
    { HEAD "profiles:\n- pluginConfig: [{name: Nonsense}]\n",
      "profiles[0].pluginConfig[0].name: plugin \"Nonsense\" does not exist" },
    { HEAD "profiles:\n- pluginConfig: [{name: CinderLimits}]\n",
      "profiles[0].pluginConfig[0]: Invalid value: \"CinderLimits\": was invalid in version \"v1\" "
      "(KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")" },
    { HEAD "profiles:\n- pluginConfig: [{args: {}}]\n",
      "profiles[0].pluginConfig[0].name: Required value" },
    ARGS_REFUSED("NodeResourcesFit", "5", ": has to match plugin args"),
    ARGS_REFUSED("NodeResourcesFit", "{kind: NodeAffinityArgs}",
                 ": args for plugin NodeResourcesFit were not of type NodeResourcesFitArgs of "
                 "kubescheduler.config.k8s.io/v1, got NodeAffinityArgs of "
                 "kubescheduler.config.k8s.io/v1"),
    ARGS_REFUSED("NodeResourcesFit", "{scoringStrategy: {typ: x}}",
                 ".scoringStrategy.typ: unknown field"),
    ARGS_REFUSED("NodeResourcesFit", "{scoringStrategy: {type: Best}}",
                 ".scoringStrategy.type: Unsupported value: \"Best\": supported values: "
                 "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""),
    ARGS_REFUSED("NodeResourcesFit", "{scoringStrategy: {resources: [{name: a, weight: 101}]}}",
                 ".scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of a "
                 "not in valid range (0, 100]"),
    ARGS_REFUSED(
        "NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}",
        ".scoringStrategy.requestedToCapacityRatio: Required value: must be specified when "
        "type is RequestedToCapacityRatio"),
    ARGS_REFUSED("NodeResourcesFit", "{scoringStrategy: {requestedToCapacityRatio: {}}}",
                 ".scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is "
                 "not RequestedToCapacityRatio"),
#define SHAPE(points)                                                                              \
    "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: " points \
    "}}}"
#define AT_SHAPE ".scoringStrategy.requestedToCapacityRatio.shape"
    ARGS_REFUSED("NodeResourcesFit", SHAPE("[]"),
                 AT_SHAPE ": Required value: at least one point must be specified"),
    ARGS_REFUSED("NodeResourcesFit",
                 SHAPE("[{utilization: 50, score: 1}, {utilization: 50, score: 2}]"),
                 AT_SHAPE "[1].utilization: Invalid value: 50: values must be sorted in increasing "
                          "order"),
    ARGS_REFUSED("NodeResourcesFit", SHAPE("[{utilization: 101, score: 1}]"),
                 AT_SHAPE "[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
    ARGS_REFUSED("NodeResourcesFit", SHAPE("[{utilization: 0, score: 11}]"),
                 AT_SHAPE "[0].score: Invalid value: 11: not in valid range [0, 10]"),
    ARGS_REFUSED("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}",
                 ".ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't "
                 "contain '/'"),
    ARGS_REFUSED("NodeResourcesBalancedAllocation", "{resources: [{name: a, weight: 2}]}",
                 ".resources[0].weight: Invalid value: 2: must be 1"),
    ARGS_REFUSED("NodeResourcesBalancedAllocation", "{resources: [{name: a}, {name: a}]}",
                 ".resources[1].name: Duplicate value: \"a\""),
    ARGS_REFUSED("DefaultPreemption", "{minCandidateNodesPercentage: 101}",
                 ".minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"),
    ARGS_REFUSED("DefaultPreemption", "{minCandidateNodesAbsolute: -1}",
                 ".minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"),
    ARGS_REFUSED("DefaultPreemption",
                 "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
                 ".minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time "
                 "as minCandidateNodesAbsolute"),
    ARGS_REFUSED("InterPodAffinity", "{hardPodAffinityWeight: 101}",
                 ".hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"),
    ARGS_REFUSED("PodTopologySpread", "{defaultingType: Some}",
                 ".defaultingType: Unsupported value: \"Some\": supported values: \"System\", "
                 "\"List\""),
#define SPREAD(fields) "{defaultingType: List, defaultConstraints: [" fields "]}"
    ARGS_REFUSED("PodTopologySpread", "{defaultConstraints: [{maxSkew: 1}]}",
                 ".defaultingType: Invalid value: \"System\": when .defaultConstraints are not "
                 "empty"),
    ARGS_REFUSED("PodTopologySpread",
                 SPREAD("{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}"),
                 ".defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"),
    ARGS_REFUSED("PodTopologySpread", SPREAD("{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}"),
                 ".defaultConstraints[0].topologyKey: Required value: can not be empty"),
    ARGS_REFUSED("PodTopologySpread", SPREAD("{maxSkew: 1, topologyKey: z}"),
                 ".defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"),
    ARGS_REFUSED("PodTopologySpread",
                 SPREAD("{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, "
                        "labelSelector: {}}"),
                 ".defaultConstraints[0].labelSelector: Forbidden: constraint must not define a "
                 "selector, as they deduced for each pod"),
    ARGS_REFUSED("PodTopologySpread",
                 SPREAD("{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: "
                        "2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}"),
                 ".defaultConstraints[1]: Duplicate value: \"{z, DoNotSchedule}\""),
    ARGS_REFUSED(
        "VolumeBinding", "{bindTimeoutSeconds: -1}",
        ".bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be "
        "a negative value"),
    ARGS_REFUSED(
        "VolumeBinding", "{shape: [{utilization: 0, score: 10}]}",
        ".shape: Invalid value: unexpected field `shape`, remove it or turn on the feature "
        "gate StorageCapacityScoring"),
    ARGS_REFUSED("DynamicResources", "{filterTimeout: -1s}",
                 ".filterTimeout: Invalid value: must be zero or positive"),
    ARGS_REFUSED("DynamicResources", "{bindingTimeout: 1ms}",
                 ".bindingTimeout: Invalid value: must be at least 1 second"),

    ARGS_REFUSED("LoadAwareScheduling", "{usageThreshold: {}}", ".usageThreshold: unknown field"),
    ARGS_REFUSED("LoadAwareScheduling", "{nodeMetricExpirationSeconds: 0}",
                 ".nodeMetricExpirationSeconds: Invalid value: 0: nodeMetricExpiredSeconds should "
                 "be a positive value"),
    ARGS_REFUSED("LoadAwareScheduling", "{resourceWeights: {cpu: 0}}",
                 ".resourceWeights[cpu]: Invalid value: 0: not in valid range [1, 100]"),
    ARGS_REFUSED("LoadAwareScheduling", "{resourceWeights: {gpu: 1}}",
                 ".estimatedScalingFactors[gpu]: Required value: the resource has a weight"),
    ARGS_REFUSED("LoadAwareScheduling", "{dominantResourceWeight: 101}",
                 ".dominantResourceWeight: Invalid value: 101: not in valid range [0, 100]"),
    ARGS_REFUSED("LoadAwareScheduling", "{usageThresholds: {cpu: 101}}",
                 ".usageThresholds[cpu]: Invalid value: 101: not in valid range [0, 100]"),
    ARGS_REFUSED("LoadAwareScheduling", "{estimatedScalingFactors: {cpu: 0}}",
                 ".estimatedScalingFactors[cpu]: Invalid value: 0: not in valid range [1, 100]"),
    ARGS_REFUSED(
        "LoadAwareScheduling", "{aggregated: {usageThresholds: {cpu: -1}}}",
        ".aggregated.usageThresholds[cpu]: Invalid value: -1: not in valid range [0, 100]"),
    ARGS_REFUSED("LoadAwareScheduling", "{aggregated: {usageAggregationType: p42}}",
                 ".aggregated.usageAggregationType: Unsupported value: \"p42\": supported values: "
                 "\"avg\", \"p50\", \"p90\", \"p95\", \"p99\""),
    ARGS_REFUSED("LoadAwareScheduling", "{aggregated: {scoreAggregatedDuration: -1s}}",
                 ".aggregated.scoreAggregatedDuration: Invalid value: must not be negative"),
    ARGS_REFUSED("NodeNUMAResource", "{defaultCPUBindPolicy: Best}",
                 ".defaultCPUBindPolicy: Unsupported value: \"Best\": supported values: "
                 "\"FullPCPUs\", \"SpreadByPCPUs\""),
    ARGS_REFUSED("NodeNUMAResource", "{numaScoringStrategy: {resources: [{name: cpu}]}}",
                 ".numaScoringStrategy.resources[0].weight: Invalid value: 0: resource weight of "
                 "cpu not in valid range [1, 100]"),
    ARGS_REFUSED("NodeNUMAResource", "{scoringStrategy: {type: Best}}",
                 ".scoringStrategy.type: Unsupported value: \"Best\": supported values: "
                 "\"MostAllocated\", \"BalancedAllocation\", \"LeastAllocated\""),
    ARGS_REFUSED("DeviceShare", "{scoringStrategy: {resources: [{name: x, weight: 101}]}}",
                 ".scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of x "
                 "not in valid range [1, 100]"),
    ARGS_REFUSED("Reservation", "{minCandidateNodesPercentage: -1}",
                 ".minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"),
    ARGS_REFUSED("Reservation", "{gcDurationSeconds: -1}",
                 ".gcDurationSeconds: Invalid value: -1: must be greater than or equal to 0"),
    ARGS_REFUSED("Reservation", "{ignoredResources: [cpu]}",
                 ".ignoredResources[0]: Invalid value: \"cpu\": must be an extended resource name "
                 "(e.g. example.com/gpu); native resources cannot be ignored"),
    ARGS_REFUSED(
        "Reservation", "{ignoredResourceGroups: [a/b]}",
        ".ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"),
    ARGS_REFUSED("ElasticQuota", "{delayEvictTime: -1s}",
                 ".delayEvictTime: Invalid value: must not be negative"),
    ARGS_REFUSED("ElasticQuota", "{systemQuotaGroupMax: {cpu: -1}}",
                 ".systemQuotaGroupMax[cpu]: Invalid value: must not be negative"),
    ARGS_REFUSED("Coscheduling", "{defaultTimeout: -1s}",
                 ".defaultTimeout: Invalid value: coeSchedulingArgs DefaultTimeoutSeconds invalid"),
    ARGS_REFUSED("Coscheduling", "{controllerWorkers: 0}",
                 ".controllerWorkers: Invalid value: 0: must be greater than or equal to 1"),
    ARGS_REFUSED("SchedulingHint", "{maxHintNodes: 0}",
                 ".maxHintNodes: Invalid value: 0: must be greater than or equal to 1"),

    EXTENDER_REFUSED("prioritizeVerb: x", "[0].weight: Invalid value: 0: must have a positive "
                                          "weight applied to it"),
    EXTENDER_REFUSED("bindVerb: a}, {bindVerb: b",
                     ": Invalid value: \"found 2 extenders implementing bind\": only one extender "
                     "can implement bind"),
    EXTENDER_REFUSED("managedResources: [{name: cpu}]",
                     "[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended "
                     "resource name"),
    EXTENDER_REFUSED("managedResources: [{name: a.io/x}]}, {managedResources: [{name: a.io/x}]",
                     "[1].managedResources[0].name: Invalid value: \"a.io/x\": duplicate extender "
                     "managed resource name"),
    EXTENDER_REFUSED("url: x", "[0].url: unknown field"),
};

static void test_refusals_name_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct config *c = NULL;
        struct kerr err = { 0 };
        char want[512];

        int r = config_parse(&sched_config_spec, refusals[i].text, strlen(refusals[i].text), "f",
                             &c, &err);
        assert_that(r, <, 0);
        assert_null(c);
        (void)snprintf(want, sizeof want, "f: %s", refusals[i].message);
        assert_string_equal(err.text, want);
    }
}

/* The words of the decoder are its own; the path counts. */
static void test_numbers_out_of_range(void **state)
{
    static const char text[] =
        PLUGINS("score: {enabled: [{name: NodeAffinity, weight: 2147483648}]}");
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_that(config_parse(&sched_config_spec, text, strlen(text), "f", &c, &err), <, 0);
    assert_starts(err.text, "f: profiles[0].plugins.score.enabled[0].weight: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals_name_the_field),
        cmocka_unit_test(test_numbers_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
