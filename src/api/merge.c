/* merge.c - merge keys of the built-in kinds. */
#include "api/merge.h"

#define BY_KEY(name, by, ...)                                            \
    {                                                                    \
        .field = (name), .list = KMERGE_BY_KEY, .key = (by), __VA_ARGS__ \
    }
#define SET(name)                           \
    {                                       \
        .field = (name), .list = KMERGE_SET \
    }
#define IN(name, table)                 \
    {                                   \
        .field = (name), .sub = (table) \
    }
#define END           \
    {                 \
        .field = NULL \
    }

/* ---- metadata -------------------------------------------------------------------------------- */

static const struct kmerge object_meta[] = {
    BY_KEY("ownerReferences", "uid"),
    SET("finalizers"),
    END,
};
static const struct kmerge meta_only[] = { IN("metadata", object_meta), END };
static const struct kmerge conditions[] = { BY_KEY("conditions", "type"), END };

/* ---- pods ------------------------------------------------------------------------------------ */

static const struct kmerge container[] = {
    BY_KEY("ports", "containerPort"),
    BY_KEY("env", "name"),
    BY_KEY("volumeMounts", "mountPath"),
    BY_KEY("volumeDevices", "devicePath"),
    END,
};
static const struct kmerge ephemeral_source[] = { IN("volumeClaimTemplate", meta_only), END };
static const struct kmerge volume[] = { IN("ephemeral", ephemeral_source), END };
static const struct kmerge pod_spec[] = {
    BY_KEY("volumes", "name", .sub = volume, .retain_keys = true),
    BY_KEY("initContainers", "name", .sub = container),
    BY_KEY("containers", "name", .sub = container),
    BY_KEY("ephemeralContainers", "name", .sub = container),
    BY_KEY("imagePullSecrets", "name"),
    BY_KEY("hostAliases", "ip"),
    BY_KEY("topologySpreadConstraints", "topologyKey"),
    BY_KEY("schedulingGates", "name"),
    BY_KEY("resourceClaims", "name", .retain_keys = true),
    END,
};
static const struct kmerge pod_status[] = {
    BY_KEY("conditions", "type"),
    BY_KEY("hostIPs", "ip"),
    BY_KEY("podIPs", "ip"),
    BY_KEY("resourceClaimStatuses", "name", .retain_keys = true),
    END,
};
static const struct kmerge pod[] = {
    IN("metadata", object_meta),
    IN("spec", pod_spec),
    IN("status", pod_status),
    END,
};
static const struct kmerge pod_template[] = {
    IN("metadata", object_meta),
    IN("spec", pod_spec),
    END,
};
static const struct kmerge pod_template_kind[] = {
    IN("metadata", object_meta),
    IN("template", pod_template),
    END,
};

/* ---- workloads ------------------------------------------------------------------------------- */

static const struct kmerge workload_spec[] = { IN("template", pod_template), END };
static const struct kmerge workload[] = {
    IN("metadata", object_meta),
    IN("spec", workload_spec),
    IN("status", conditions),
    END,
};
static const struct kmerge deployment_spec[] = {
    IN("template", pod_template),
    { .field = "strategy", .retain_keys = true },
    END,
};
static const struct kmerge deployment[] = {
    IN("metadata", object_meta),
    IN("spec", deployment_spec),
    IN("status", conditions),
    END,
};
static const struct kmerge job_template[] = {
    IN("metadata", object_meta),
    IN("spec", workload_spec),
    END,
};
static const struct kmerge cron_job_spec[] = { IN("jobTemplate", job_template), END };
static const struct kmerge cron_job[] = {
    IN("metadata", object_meta),
    IN("spec", cron_job_spec),
    END,
};

/* ---- the others ------------------------------------------------------------------------------ */

static const struct kmerge node_spec[] = { SET("podCIDRs"), END }; /* taints are replaced */
static const struct kmerge node_status[] = {
    BY_KEY("conditions", "type"),
    BY_KEY("addresses", "type"),
    END,
};
static const struct kmerge node[] = {
    IN("metadata", object_meta),
    IN("spec", node_spec),
    IN("status", node_status),
    END,
};
static const struct kmerge service_spec[] = { BY_KEY("ports", "port"), END };
static const struct kmerge service[] = {
    IN("metadata", object_meta),
    IN("spec", service_spec),
    IN("status", conditions),
    END,
};
static const struct kmerge service_account[] = {
    IN("metadata", object_meta),
    BY_KEY("secrets", "name"),
    END,
};
static const struct kmerge with_conditions[] = {
    IN("metadata", object_meta),
    IN("status", conditions),
    END,
};
static const struct kmerge pdb_spec[] = { { .field = "selector", .replace = true }, END };
static const struct kmerge pdb[] = {
    IN("metadata", object_meta),
    IN("spec", pdb_spec),
    IN("status", conditions),
    END,
};
static const struct kmerge csi_node_spec[] = { BY_KEY("drivers", "name"), END };
static const struct kmerge csi_node[] = {
    IN("metadata", object_meta),
    IN("spec", csi_node_spec),
    END,
};
static const struct kmerge claim_status[] = { BY_KEY("reservedFor", "uid"), END };
static const struct kmerge resource_claim[] = {
    IN("metadata", object_meta),
    IN("status", claim_status),
    END,
};
static const struct kmerge webhook[] = { BY_KEY("matchConditions", "name"), END };
static const struct kmerge webhook_configuration[] = {
    IN("metadata", object_meta),
    BY_KEY("webhooks", "name", .sub = webhook),
    END,
};
static const struct kmerge policy_spec[] = {
    BY_KEY("matchConditions", "name"),
    BY_KEY("variables", "name"),
    END,
};
static const struct kmerge admission_policy[] = {
    IN("metadata", object_meta),
    IN("spec", policy_spec),
    END,
};

/* ---- by kind --------------------------------------------------------------------------------- */

static const struct {
    const char *kind;
    const struct kmerge *fields;
} kinds[] = {
    { "Pod", pod },
    { "Node", node },
    { "Service", service },
    { "ServiceAccount", service_account },
    { "Namespace", with_conditions },
    { "PersistentVolumeClaim", with_conditions },
    { "PersistentVolume", meta_only },
    { "ReplicationController", workload },
    { "PodTemplate", pod_template_kind },
    { "ConfigMap", meta_only },
    { "Secret", meta_only },
    { "Event", meta_only },
    { "Endpoints", meta_only },
    { "EndpointSlice", meta_only },
    { "LimitRange", meta_only },
    { "ResourceQuota", meta_only },
    { "Deployment", deployment },
    { "ReplicaSet", workload },
    { "StatefulSet", workload },
    { "DaemonSet", workload },
    { "ControllerRevision", meta_only },
    { "Job", workload },
    { "CronJob", cron_job },
    { "PodDisruptionBudget", pdb },
    { "Lease", meta_only },
    { "PriorityClass", meta_only },
    { "StorageClass", meta_only },
    { "CSINode", csi_node },
    { "CSIDriver", meta_only },
    { "CSIStorageCapacity", meta_only },
    { "VolumeAttachment", meta_only },
    { "ResourceClaim", resource_claim },
    { "ResourceClaimTemplate", meta_only },
    { "ResourceSlice", meta_only },
    { "DeviceClass", meta_only },
    { "Role", meta_only },
    { "ClusterRole", meta_only },
    { "RoleBinding", meta_only },
    { "ClusterRoleBinding", meta_only },
    { "MutatingWebhookConfiguration", webhook_configuration },
    { "ValidatingWebhookConfiguration", webhook_configuration },
    { "ValidatingAdmissionPolicy", admission_policy },
    { "ValidatingAdmissionPolicyBinding", meta_only },
    { "NetworkPolicy", meta_only },
    { "Ingress", meta_only },
    { "IngressClass", meta_only },
    { "HorizontalPodAutoscaler", meta_only },
    { "RuntimeClass", meta_only },
    { "CustomResourceDefinition", meta_only },
    { "APIService", meta_only },
    { "CertificateSigningRequest", meta_only },
};

const struct kmerge *api_merge_for_kind(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (streq(kinds[i].kind, kind))
            return kinds[i].fields;
    return NULL;
}
