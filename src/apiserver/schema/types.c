/* types.c - which table belongs to which kind. */
#include "apiserver/schema/types.h"
#include "apiserver/schema/tables.h"

static const struct {
    const char *group, *kind;
    const struct t_type *type;
    const char *version; /* NULL: v1 */
} roots[] = {
    { "", "Binding", &core_binding },
    { "", "ComponentStatus", &core_component_status },
    { "", "ConfigMap", &core_config_map },
    { "", "Endpoints", &core_endpoints },
    { "", "Event", &core_event },
    { "", "LimitRange", &core_limit_range },
    { "", "Namespace", &core_namespace },
    { "", "Node", &core_node },
    { "", "PersistentVolume", &core_persistent_volume },
    { "", "PersistentVolumeClaim", &core_persistent_volume_claim },
    { "", "Pod", &core_pod },
    { "", "PodTemplate", &core_pod_template },
    { "", "ReplicationController", &core_replication_controller },
    { "", "ResourceQuota", &core_resource_quota },
    { "", "Secret", &core_secret },
    { "", "Service", &core_service },
    { "", "ServiceAccount", &core_service_account },
    { "admissionregistration.k8s.io", "MutatingWebhookConfiguration",
      &admission_mutating_webhook_configuration },
    { "admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
      &admission_validating_admission_policy },
    { "admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding",
      &admission_validating_admission_policy_binding },
    { "admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
      &admission_validating_webhook_configuration },
    { "apiregistration.k8s.io", "APIService", &registration_api_service },
    { "apps", "ControllerRevision", &apps_controller_revision },
    { "apps", "DaemonSet", &apps_daemon_set },
    { "apps", "Deployment", &apps_deployment },
    { "apps", "ReplicaSet", &apps_replica_set },
    { "apps", "StatefulSet", &apps_stateful_set },
    { "authentication.k8s.io", "SelfSubjectReview", &authentication_self_subject_review },
    { "authentication.k8s.io", "TokenRequest", &authentication_token_request },
    { "authentication.k8s.io", "TokenReview", &authentication_token_review },
    { "authorization.k8s.io", "LocalSubjectAccessReview",
      &authorization_local_subject_access_review },
    { "authorization.k8s.io", "SelfSubjectAccessReview",
      &authorization_self_subject_access_review },
    { "authorization.k8s.io", "SelfSubjectRulesReview", &authorization_self_subject_rules_review },
    { "authorization.k8s.io", "SubjectAccessReview", &authorization_subject_access_review },
    { "autoscaling", "HorizontalPodAutoscaler", &autoscaling_horizontal_pod_autoscaler, "v2" },
    { "autoscaling", "HorizontalPodAutoscaler", &autoscaling_v1_horizontal_pod_autoscaler },
    { "autoscaling", "Scale", &autoscaling_scale },
    { "batch", "CronJob", &batch_cron_job },
    { "batch", "Job", &batch_job },
    { "certificates.k8s.io", "CertificateSigningRequest",
      &certificates_certificate_signing_request },
    { "coordination.k8s.io", "Lease", &coordination_lease },
    { "discovery.k8s.io", "EndpointSlice", &discovery_endpoint_slice },
    { "events.k8s.io", "Event", &events_event },
    { "flowcontrol.apiserver.k8s.io", "FlowSchema", &flowcontrol_flow_schema },
    { "flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration",
      &flowcontrol_priority_level_configuration },
    { "metrics.k8s.io", "NodeMetrics", &metrics_node_metrics, "v1beta1" },
    { "metrics.k8s.io", "PodMetrics", &metrics_pod_metrics, "v1beta1" },
    { "networking.k8s.io", "Ingress", &networking_ingress },
    { "networking.k8s.io", "IngressClass", &networking_ingress_class },
    { "networking.k8s.io", "IPAddress", &networking_ip_address },
    { "networking.k8s.io", "NetworkPolicy", &networking_network_policy },
    { "networking.k8s.io", "ServiceCIDR", &networking_service_cidr },
    { "node.k8s.io", "RuntimeClass", &node_runtime_class },
    { "policy", "Eviction", &policy_eviction },
    { "policy", "PodDisruptionBudget", &policy_pod_disruption_budget },
    { "rbac.authorization.k8s.io", "ClusterRole", &rbac_cluster_role },
    { "rbac.authorization.k8s.io", "ClusterRoleBinding", &rbac_cluster_role_binding },
    { "rbac.authorization.k8s.io", "Role", &rbac_role },
    { "rbac.authorization.k8s.io", "RoleBinding", &rbac_role_binding },
    { "resource.k8s.io", "DeviceClass", &resource_device_class },
    { "resource.k8s.io", "DeviceTaintRule", &resource_device_taint_rule, "v1alpha3" },
    { "resource.k8s.io", "ResourceClaim", &resource_resource_claim },
    { "resource.k8s.io", "ResourceClaimTemplate", &resource_resource_claim_template },
    { "resource.k8s.io", "ResourceSlice", &resource_resource_slice },
    { "scheduling.k8s.io", "PriorityClass", &scheduling_priority_class },
    { "storage.k8s.io", "CSIDriver", &storage_csi_driver },
    { "storage.k8s.io", "CSINode", &storage_csi_node },
    { "storage.k8s.io", "CSIStorageCapacity", &storage_csi_storage_capacity },
    { "storage.k8s.io", "StorageClass", &storage_storage_class },
    { "storage.k8s.io", "VolumeAttachment", &storage_volume_attachment },
    { "storage.k8s.io", "VolumeAttributesClass", &storage_volume_attributes_class },
};

const struct t_type *types_find(const char *group, const char *version, const char *kind)
{
    if (streq(group, "") && streq(kind, "DeleteOptions") && version && streq(version, "v1"))
        return &meta_delete_options;
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (streq(roots[i].kind, kind) && streq(roots[i].group, group) &&
            (!version || streq(str_or(roots[i].version, "v1"), version)))
            return roots[i].type;
    return NULL;
}

const struct t_type *types_find_message(const char *group, const char *version, const char *kind)
{
    if (streq(group, "apiextensions.k8s.io") && streq(version, "v1") &&
        streq(kind, "CustomResourceDefinition"))
        return &extensions_definition;
    return types_find(group, version, kind);
}

const struct t_field *types_form(const struct t_type *t, enum kj_type is)
{
    for (const struct t_field *f = t->fields; f->name; f++)
        if (is == (f->shape == T_LIST ? KJ_ARR : f->kind == T_OBJ ? KJ_OBJ : KJ_BOOL))
            return f;
    return NULL;
}

const struct t_field *types_field(const struct t_type *t, const char *name, size_t n)
{
    for (const struct t_field *f = t->fields; f->name; f++)
        if (f->name[0] == name[0] && strncmp(f->name, name, n) == 0 && !f->name[n])
            return f;
    return NULL;
}
