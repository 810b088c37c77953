/* shipped.c - what koord-scheduler runs when nobody gives it a configuration (scheduler-core 9.2).
 */
#include "scheduler/config/config_int.h"

static const char text[] =
    "apiVersion: " CONFIG_API_VERSION "\n"
    "kind: " CONFIG_KIND "\n"
    "leaderElection:\n"
    "  leaderElect: true\n"
    "  resourceName: koord-scheduler\n"
    "  resourceNamespace: koordinator-system\n"
    "profiles:\n"
    "- schedulerName: koord-scheduler\n"
    "  plugins:\n"
    "    preEnqueue: {enabled: [{name: Coscheduling}]}\n"
    "    queueSort: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}]}\n"
    "    preFilter: {enabled: [{name: SchedulingHint}, {name: Reservation},\n"
    "      {name: NodeNUMAResource}, {name: DeviceShare}, {name: Coscheduling},\n"
    "      {name: ElasticQuota}]}\n"
    "    filter: {enabled: [{name: LoadAwareScheduling}, {name: NodeNUMAResource},\n"
    "      {name: DeviceShare}, {name: Reservation}]}\n"
    "    postFilter: {disabled: [{name: '*'}], enabled: [{name: Reservation},\n"
    "      {name: Coscheduling}, {name: ElasticQuota}, {name: DefaultPreemption}]}\n"
    "    preScore: {enabled: [{name: Reservation}, {name: Coscheduling}]}\n"
    "    score: {enabled: [{name: LoadAwareScheduling, weight: 1},\n"
    "      {name: NodeNUMAResource, weight: 1}, {name: DeviceShare, weight: 1},\n"
    "      {name: Reservation, weight: 5000}, {name: Coscheduling, weight: 1}]}\n"
    "    reserve: {enabled: [{name: LoadAwareScheduling}, {name: NodeNUMAResource},\n"
    "      {name: DeviceShare}, {name: Reservation}, {name: Coscheduling},\n"
    "      {name: ElasticQuota}]}\n"
    "    permit: {enabled: [{name: Coscheduling}]}\n"
    "    preBind: {enabled: [{name: NodeNUMAResource}, {name: DeviceShare},\n"
    "      {name: Reservation}, {name: Coscheduling}, {name: DefaultPreBind}]}\n"
    "    bind: {disabled: [{name: '*'}], enabled: [{name: Reservation},\n"
    "      {name: DefaultBinder}]}\n"
    "    postBind: {enabled: [{name: Coscheduling}]}\n"
    "  pluginConfig:\n"
    "  - name: NodeResourcesFit\n"
    "    args:\n"
    "      scoringStrategy:\n"
    "        type: LeastAllocated\n"
    "        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1},\n"
    "          {name: kubernetes.io/batch-cpu, weight: 1},\n"
    "          {name: kubernetes.io/batch-memory, weight: 1}]\n"
    "  - name: LoadAwareScheduling\n"
    "    args:\n"
    "      filterExpiredNodeMetrics: false\n"
    "      nodeMetricExpirationSeconds: 300\n"
    "      resourceWeights: {cpu: 1, memory: 1}\n"
    "      usageThresholds: {cpu: 0, memory: 0}\n"
    "      estimatedScalingFactors: {cpu: 85, memory: 70}\n"
    "  - name: ElasticQuota\n"
    "    args: {quotaGroupNamespace: koordinator-system}\n";

int sched_config_shipped(struct config **ret, struct kerr *err)
{
    return config_parse(&sched_config_spec, text, sizeof text - 1, "built-in configuration", ret,
                        err);
}
