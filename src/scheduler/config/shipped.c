/* shipped.c - the configurations that Koordinator ships: the one of its manifests, which
 * koord-scheduler runs when nobody gives it another (scheduler-core 9.2), and the one of its Helm
 * chart, which most clusters run (api-config 9).
 */
#include "scheduler/config/config_int.h"

/* What differs: the order of some plugins, whether load filters nodes, args of more plugins. */
#define TEXT(pre_filter, filter, post_filter, reserve, cpu, memory, more)          \
    "apiVersion: " CONFIG_API_VERSION "\n"                                         \
    "kind: " CONFIG_KIND "\n"                                                      \
    "leaderElection:\n"                                                            \
    "  leaderElect: true\n"                                                        \
    "  resourceName: koord-scheduler\n"                                            \
    "  resourceNamespace: koordinator-system\n"                                    \
    "profiles:\n"                                                                  \
    "- schedulerName: koord-scheduler\n"                                           \
    "  plugins:\n"                                                                 \
    "    preEnqueue: {enabled: [{name: Coscheduling}]}\n"                          \
    "    queueSort: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}]}\n"  \
    "    preFilter: {enabled: [{name: SchedulingHint}, " pre_filter ",\n"          \
    "      {name: ElasticQuota}]}\n"                                               \
    "    filter: {enabled: [" filter "]}\n"                                        \
    "    postFilter: {disabled: [{name: '*'}], enabled: [{name: Reservation},\n"   \
    "      {name: Coscheduling}, {name: ElasticQuota}" post_filter "]}\n"          \
    "    preScore: {enabled: [{name: Reservation}, {name: Coscheduling}]}\n"       \
    "    score: {enabled: [{name: LoadAwareScheduling, weight: 1},\n"              \
    "      {name: NodeNUMAResource, weight: 1}, {name: DeviceShare, weight: 1},\n" \
    "      {name: Reservation, weight: 5000}, {name: Coscheduling, weight: 1}]}\n" \
    "    reserve: {enabled: [" reserve ",\n"                                       \
    "      {name: Coscheduling}, {name: ElasticQuota}]}\n"                         \
    "    permit: {enabled: [{name: Coscheduling}]}\n"                              \
    "    preBind: {enabled: [{name: NodeNUMAResource}, {name: DeviceShare},\n"     \
    "      {name: Reservation}, {name: Coscheduling}, {name: DefaultPreBind}]}\n"  \
    "    bind: {disabled: [{name: '*'}], enabled: [{name: Reservation},\n"         \
    "      {name: DefaultBinder}]}\n"                                              \
    "    postBind: {enabled: [{name: Coscheduling}]}\n"                            \
    "  pluginConfig:\n"                                                            \
    "  - name: NodeResourcesFit\n"                                                 \
    "    args:\n"                                                                  \
    "      scoringStrategy:\n"                                                     \
    "        type: LeastAllocated\n"                                               \
    "        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1},\n"     \
    "          {name: kubernetes.io/batch-cpu, weight: 1},\n"                      \
    "          {name: kubernetes.io/batch-memory, weight: 1}]\n"                   \
    "  - name: LoadAwareScheduling\n"                                              \
    "    args:\n"                                                                  \
    "      filterExpiredNodeMetrics: false\n"                                      \
    "      nodeMetricExpirationSeconds: 300\n"                                     \
    "      resourceWeights: {cpu: 1, memory: 1}\n"                                 \
    "      usageThresholds: {cpu: " cpu ", memory: " memory "}\n"                  \
    "      estimatedScalingFactors: {cpu: 85, memory: 70}\n"                       \
    "  - name: ElasticQuota\n"                                                     \
    "    args: {quotaGroupNamespace: koordinator-system}\n" more

static const char manifests[] = TEXT("{name: Reservation}, {name: NodeNUMAResource},\n"
                                     "      {name: DeviceShare}, {name: Coscheduling}",
                                     "{name: LoadAwareScheduling}, {name: NodeNUMAResource},\n"
                                     "      {name: DeviceShare}, {name: Reservation}",
                                     ", {name: DefaultPreemption}",
                                     "{name: LoadAwareScheduling}, {name: NodeNUMAResource},\n"
                                     "      {name: DeviceShare}, {name: Reservation}",
                                     "0", "0", "");

/* The chart leaves DefaultPreemption out because Coscheduling preempts in its place, for single
 * pods too (scheduler.enableJobPreemption). */
static const char chart[] =
    TEXT("{name: Coscheduling}, {name: Reservation},\n"
         "      {name: NodeNUMAResource}, {name: DeviceShare}",
         "{name: Reservation}, {name: LoadAwareScheduling},\n"
         "      {name: NodeNUMAResource}, {name: DeviceShare}",
         "",
         "{name: Reservation}, {name: LoadAwareScheduling},\n"
         "      {name: NodeNUMAResource}, {name: DeviceShare}",
         "65", "95",
         "  - name: Coscheduling\n"
         "    args: {enablePreemption: true, awareNetworkTopology: true}\n"
         "  - name: DeviceShare\n"
         "    args:\n"
         "      gpuShareUnsupportedModels: [{vendor: huawei, model: Ascend-310P3-300I-DUO}]\n");

int sched_config_shipped(struct config **ret, struct kerr *err)
{
    return config_parse(&sched_config_spec, manifests, sizeof manifests - 1,
                        "built-in configuration", ret, err);
}

int sched_config_chart(struct config **ret, struct kerr *err)
{
    return config_parse(&sched_config_spec, chart, sizeof chart - 1, "configuration of the chart",
                        ret, err);
}
