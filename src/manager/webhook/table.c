/* table.c - which webhooks and gates there are (manager 7.1). */
#include "manager/webhook/webhook.h"

#define SCHEDULING "scheduling.koordinator.sh"
#define SIGS       "scheduling.sigs.k8s.io"
#define CREATE     WEBHOOK_CREATE
#define UPDATE     WEBHOOK_UPDATE
#define DELETE     WEBHOOK_DELETE

const struct webhook_info webhook_infos[WEBHOOK_COUNT] = {
    [WEBHOOK_MUTATE_POD] = { "/mutate-pod", "mpod-create.koordinator.sh", true, GATE_POD_MUTATING,
                             "pod", "", "pods", "", CREATE | UPDATE },
    [WEBHOOK_MUTATE_NODE_STATUS] = { "/mutate-node-status", "mnode-status.koordinator.sh", true,
                                     GATE_NODE_MUTATING, "node", "", "nodes", "status",
                                     CREATE | UPDATE },
    [WEBHOOK_MUTATE_RESERVATION] = { "/mutate-reservation", "mreservation-create.koordinator.sh",
                                     true, GATE_RESERVATION_MUTATING, "reservation", SCHEDULING,
                                     "reservations", "", CREATE },
    [WEBHOOK_MUTATE_QUOTA] = { "/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota",
                               "melasticquota.koordinator.sh", true, GATE_QUOTA_MUTATING,
                               "elasticquota", SIGS, "elasticquotas", "", CREATE },
    [WEBHOOK_VALIDATE_POD] = { "/validate-pod", "vpod.koordinator.sh", false, GATE_POD_VALIDATING,
                               "pod", "", "pods", "", CREATE | UPDATE },
    [WEBHOOK_VALIDATE_BINDING] = { "/validate-pod-binding", "vpodbinding.koordinator.sh", false,
                                   GATE_POD_VALIDATING, "pod", "", "pods", "binding", CREATE },
    [WEBHOOK_VALIDATE_NODE] = { "/validate-node", "vnode.koordinator.sh", false,
                                GATE_NODE_VALIDATING, "node", "", "nodes", "", CREATE | UPDATE },
    [WEBHOOK_VALIDATE_CONFIGMAP] = { "/validate-configmap", "vconfigmap.koordinator.sh", false,
                                     GATE_CONFIGMAP_VALIDATING, "configmap", "", "configmaps", "",
                                     CREATE | UPDATE | DELETE },
    [WEBHOOK_VALIDATE_QUOTA] = { "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota",
                                 "velasticquota.koordinator.sh", false, GATE_QUOTA_VALIDATING,
                                 "elasticquota", SIGS, "elasticquotas", "",
                                 CREATE | UPDATE | DELETE },
};

const char *const webhook_gate_names[WEBHOOK_GATES + 1] = {
    [GATE_POD_MUTATING] = "PodMutatingWebhook",
    [GATE_POD_VALIDATING] = "PodValidatingWebhook",
    [GATE_QUOTA_MUTATING] = "ElasticMutatingWebhook",
    [GATE_QUOTA_VALIDATING] = "ElasticValidatingWebhook",
    [GATE_NODE_MUTATING] = "NodeMutatingWebhook",
    [GATE_NODE_VALIDATING] = "NodeValidatingWebhook",
    [GATE_CONFIGMAP_VALIDATING] = "ConfigMapValidatingWebhook",
    [GATE_RESERVATION_MUTATING] = "ReservationMutatingWebhook",
    [GATE_SKIP_MUTATING_RESOURCES] = "ColocationProfileSkipMutatingResources",
    [GATE_SKIP_VALIDATING_PRIORITY] = "ColocationProfileSkipValidatingPriority",
    [GATE_VALIDATE_DEVICES] = "ValidatePodDeviceResource",
    [GATE_ENHANCED_VALIDATOR] = "EnablePodEnhancedValidator",
    [GATE_NO_EXTENDED_SPEC] = "DisableExtendedResourceSpec",
    [GATE_NO_DEVICE_SPEC] = "DisableDeviceResourceSpec",
    [GATE_BINDING_ADMISSION] = "BindingAdmissionWebhook",
    [GATE_QUOTA_GUARANTEE] = "ElasticQuotaGuaranteeUsage",
    [GATE_QUOTA_UPDATE_KEY] = "ElasticQuotaEnableUpdateResourceKey",
    [GATE_PARENT_QUOTA_PODS] = "SupportParentQuotaSubmitPod",
    [GATE_QUOTA_TREES] = "MultiQuotaTree",
    [GATE_NO_DEFAULT_QUOTA] = "DisableDefaultQuota",
    [GATE_QUOTA_ADMISSION] = "EnableQuotaAdmission",
    [GATE_QUOTA_ADMISSION_ON_UPDATE] = "EnableQuotaAdmissionOnUpdate",
    [GATE_QUOTA_TRANSFORM_POD] = "ElasticQuotaEvaluationTransformPod",
    [GATE_REPLACE_RESOURCES] = "ReplaceResourcesTransformer",
    [GATE_QUOTA_IGNORE_OVERHEAD] = "ElasticQuotaIgnorePodOverhead",
};

unsigned webhook_gates_default(void)
{
    return 1u << GATE_POD_MUTATING | 1u << GATE_POD_VALIDATING | 1u << GATE_QUOTA_MUTATING |
           1u << GATE_QUOTA_VALIDATING;
}

static const char *const op_names[] = { "CREATE", "UPDATE", "DELETE", "CONNECT" };

enum webhook_op webhook_op_parse(const char *text)
{
    for (unsigned i = 0; text && i < ARRAY_LEN(op_names); i++)
        if (streq(text, op_names[i]))
            return (enum webhook_op)(1u << i);
    return (enum webhook_op)0;
}

const char *webhook_op_name(enum webhook_op op)
{
    for (unsigned i = 0; i < ARRAY_LEN(op_names); i++)
        if (op == 1u << i)
            return op_names[i];
    return "";
}

int webhook_find(const char *path, size_t n)
{
    for (int i = 0; i < WEBHOOK_COUNT; i++)
        if (strlen(webhook_infos[i].path) == n && memcmp(path, webhook_infos[i].path, n) == 0)
            return i;
    return -1;
}
