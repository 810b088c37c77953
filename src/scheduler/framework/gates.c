/* gates.c - the feature gates of koord-scheduler. */
#include "scheduler/framework/gates.h"

#include "scheduler/framework/plugin.h"

const struct gate ks_gates[] = {
    { "CSIStorageCapacity", true, GATE_GA, false },
    { "CleanExpiredReservationAllocated", false, GATE_ALPHA, false },
    { "CompatibleCSIStorageCapacity", false, GATE_ALPHA, false },
    { "CompatiblePodDisruptionBudget", false, GATE_ALPHA, false },
    { "CrossSchedulerNomination", false, GATE_ALPHA, false },
    { "DRAAdminAccess", true, GATE_BETA, false },
    { "DRAConsumableCapacity", false, GATE_ALPHA, false },
    { "DRADeviceBindingConditions", false, GATE_ALPHA, false },
    { "DRADeviceTaintRules", false, GATE_ALPHA, false },
    { "DRADeviceTaints", false, GATE_ALPHA, false },
    { "DRAExtendedResource", false, GATE_ALPHA, false },
    { "DRAPartitionableDevices", false, GATE_ALPHA, false },
    { "DRAPrioritizedList", true, GATE_BETA, false },
    { "DRAResourceClaimDeviceStatus", true, GATE_BETA, false },
    { "DRASchedulerFilterTimeout", true, GATE_BETA, false },
    { "DevicePluginAdaption", false, GATE_ALPHA, false },
    { "DisableCSIStorageCapacityInformer", false, GATE_ALPHA, false },
    { "DisableDefaultQuota", false, GATE_ALPHA, false },
    { "DisableDynamicResourceAllocationInformer", false, GATE_ALPHA, false },
    { "DisablePodDisruptionBudgetInformer", false, GATE_ALPHA, false },
    { "DynamicResourceAllocation", true, GATE_GA, false },
    { "DynamicSchedulerCheck", true, GATE_ALPHA, false },
    { "ElasticQuotaGuaranteeUsage", false, GATE_ALPHA, false },
    { "ElasticQuotaIgnorePodOverhead", false, GATE_ALPHA, false },
    { "ElasticQuotaIgnoreTerminatingPod", false, GATE_ALPHA, false },
    { "ElasticQuotaImmediateIgnoreTerminatingPod", false, GATE_ALPHA, false },
    { "EnableBatchScheduleNodeSnapshot", true, GATE_BETA, false },
    { "EnableInlineBatchSchedule", false, GATE_ALPHA, false },
    { "GangPendingPodsConditionPatch", true, GATE_BETA, false },
    { "GangScheduling", false, GATE_ALPHA, false },
    { "GenericEphemeralVolume", true, GATE_GA, false },
    { "GenericWorkload", false, GATE_ALPHA, false },
    { "InPlacePodLevelResourcesVerticalScaling", false, GATE_ALPHA, false },
    { "InPlacePodVerticalScaling", true, GATE_GA, false },
    { "LazyReservationRestore", false, GATE_ALPHA, false },
    { "MatchLabelKeysInPodAffinity", true, GATE_GA, false },
    { "MatchLabelKeysInPodTopologySpread", true, GATE_BETA, false },
    { "MultiQuotaTree", false, GATE_ALPHA, false },
    { "NodeDeclaredFeatures", false, GATE_ALPHA, false },
    { "NodeInclusionPolicyInPodTopologySpread", true, GATE_GA, false },
    { "NominatedNodeNameForExpectation", true, GATE_BETA, false },
    { "OmitNodeLabelsForReservation", false, GATE_ALPHA, false },
    { "OpportunisticBatching", true, GATE_BETA, false },
    { "PodDisruptionBudget", true, GATE_GA, false },
    { "PodLevelResources", true, GATE_BETA, false },
    { "PreemptionPolicyTransformer", false, GATE_ALPHA, false },
    { "PriorityTransformer", false, GATE_ALPHA, false },
    { "ReplaceResourcesTransformer", false, GATE_ALPHA, false },
    { "ResizePod", false, GATE_ALPHA, false },
    { "SchedulerAsyncAPICalls", false, GATE_BETA, false },
    { "SchedulerAsyncPreemption", true, GATE_BETA, false },
    { "SchedulerPopFromBackoffQ", true, GATE_BETA, false },
    { "SchedulerQueueingHints", true, GATE_GA, true },
    { "SidecarContainers", true, GATE_GA, false },
    { "SkipFilterWithNominatedPods", false, GATE_ALPHA, false },
    { "SkipReservationFitsNode", false, GATE_ALPHA, false },
    { "StorageCapacityScoring", false, GATE_ALPHA, false },
    { "SupportParentQuotaSubmitPod", false, GATE_ALPHA, false },
    { "SyncBarrier", false, GATE_ALPHA, false },
    { "TaintTolerationComparisonOperators", false, GATE_ALPHA, false },
    { "VolumeAttributesClass", true, GATE_GA, false },
    { "VolumeLimitScaling", false, GATE_ALPHA, false },
};
const size_t ks_ngates = ARRAY_LEN(ks_gates);

bool ks_gate_on(const struct gates *g, const char *name)
{
    unsigned i = 0;

    while (i < ks_ngates && !streq(ks_gates[i].name, name))
        i++;
    assert(i < ks_ngates);
    return g ? gates_on(g, i) : ks_gates[i].def;
}

bool ks_reads_kind(const struct ks_plugin *p, const struct kind *k, const struct gates *g)
{
    for (const struct ks_gated_kind *at = p->gated; at && at->kind; at++)
        if (at->kind == k)
            return ks_gate_on(g, at->gate);
    return true;
}

bool ks_gate(const struct ks_env *env, const char *name)
{
    return ks_gate_on(env->gates, name);
}
