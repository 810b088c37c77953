/* kinds.c - the table of built-in resources, in the order of discovery. */
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/schema/types.h"

/* One line a kind. Types and columns are found on first use: addresses of other files' tables are
 * no constants where a column count has to stand beside them. */
struct entry {
    struct resource r;
    const struct columns *columns;
};

#define NAMES(g, v, k, p, s) \
    .group = (g), .version = (v), .kind = k, .list_kind = k "List", .plural = (p), .singular = (s)
#define CORE(k, p, s)          NAMES("", "v1", k, p, s), .store_res = (p)
#define VERSION(g, v, k, p, s) NAMES(g, v, k, p, s), .store_res = p "." g
#define IN(g, k, p, s)         VERSION(g, "v1", k, p, s)
#define NAMESPACED             .namespaced = true
/* A status of its own, and changes of the spec are counted. */
#define STATUS      .has_status = true
#define COUNTED     .generation = true
#define ORPHANS     .orphans = true
#define SUBS(list)  .subresources = (list)
#define SHORT(list) .short_names = (list)
#define ALL         .categories = "all"
#define BY(s)       .strategy = &(s)

#define ADMISSION   "admissionregistration.k8s.io"
#define RBAC        "rbac.authorization.k8s.io"
#define STORAGE     "storage.k8s.io"
#define RESOURCE    "resource.k8s.io"
#define NETWORKING  "networking.k8s.io"
#define FLOWCONTROL "flowcontrol.apiserver.k8s.io"

/* clang-format off */
static const struct entry entries[] = {
    { { CORE("Binding", "bindings", "binding"), NAMESPACED, .verbs = "create", BY(old_binding_strategy) }, NULL },
    { { CORE("ComponentStatus", "componentstatuses", "componentstatus"), SHORT("cs"), .verbs = "get,list", .deprecated = "v1 ComponentStatus is deprecated in v1.19+" }, &component_columns },
    { { CORE("ConfigMap", "configmaps", "configmap"), NAMESPACED, SHORT("cm"), BY(configmap_strategy) }, &configmap_columns },
    { { CORE("Endpoints", "endpoints", "endpoints"), NAMESPACED, SHORT("ep"), .deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice", BY(endpoints_strategy) }, &endpoints_columns },
    { { CORE("Event", "events", "event"), NAMESPACED, SHORT("ev"), BY(event_strategy) }, &event_columns },
    { { CORE("LimitRange", "limitranges", "limitrange"), NAMESPACED, SHORT("limits"), BY(limitrange_strategy) }, NULL },
    { { CORE("Namespace", "namespaces", "namespace"), STATUS, SHORT("ns"), SUBS("finalize,status"), BY(namespace_strategy) }, &namespace_columns },
    { { CORE("Node", "nodes", "node"), STATUS, SHORT("no"), SUBS("proxy,status"), BY(node_strategy) }, &node_columns },
    { { CORE("PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim"), NAMESPACED, STATUS, SHORT("pvc"), SUBS("status"), BY(pvc_strategy) }, &pvc_columns },
    { { CORE("PersistentVolume", "persistentvolumes", "persistentvolume"), STATUS, SHORT("pv"), SUBS("status"), BY(pv_strategy) }, &pv_columns },
    { { CORE("Pod", "pods", "pod"), NAMESPACED, STATUS, COUNTED, SHORT("po"), ALL, SUBS("attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status"), BY(pod_strategy) }, &pod_columns },
    { { CORE("PodTemplate", "podtemplates", "podtemplate"), NAMESPACED, COUNTED, BY(podtemplate_strategy) }, &podtemplate_columns },
    { { CORE("ReplicationController", "replicationcontrollers", "replicationcontroller"), NAMESPACED, STATUS, COUNTED, ORPHANS, SHORT("rc"), ALL, SUBS("scale,status"), BY(rc_strategy) }, &rc_columns },
    { { CORE("ResourceQuota", "resourcequotas", "resourcequota"), NAMESPACED, STATUS, SHORT("quota"), SUBS("status"), BY(quota_strategy) }, &quota_columns },
    { { CORE("Secret", "secrets", "secret"), NAMESPACED, BY(secret_strategy) }, &secret_columns },
    { { CORE("ServiceAccount", "serviceaccounts", "serviceaccount"), NAMESPACED, SHORT("sa"), SUBS("token"), BY(serviceaccount_strategy) }, &age_columns },
    { { CORE("Service", "services", "service"), NAMESPACED, STATUS, SHORT("svc"), ALL, SUBS("proxy,status"), BY(service_strategy) }, &service_columns },

    { { IN(ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration"), COUNTED, .categories = "api-extensions", BY(webhooks_strategy) }, &webhooks_columns },
    { { IN(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy"), STATUS, COUNTED, .categories = "api-extensions", SUBS("status"), BY(policy_strategy) }, &policy_columns },
    { { IN(ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding"), COUNTED, .categories = "api-extensions", BY(policy_binding_strategy) }, &policy_binding_columns },
    { { IN(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validatingwebhookconfiguration"), COUNTED, .categories = "api-extensions", BY(webhooks_strategy) }, &webhooks_columns },

    { { IN("apiregistration.k8s.io", "APIService", "apiservices", "apiservice"), STATUS, .categories = "api-extensions", SUBS("status"), BY(apiservice_strategy) }, &apiservice_columns },

    { { IN("apps", "ControllerRevision", "controllerrevisions", "controllerrevision"), NAMESPACED, BY(revision_strategy) }, &revision_columns },
    { { IN("apps", "DaemonSet", "daemonsets", "daemonset"), NAMESPACED, STATUS, COUNTED, SHORT("ds"), ALL, SUBS("status"), BY(daemonset_strategy) }, &daemonset_columns },
    { { IN("apps", "Deployment", "deployments", "deployment"), NAMESPACED, STATUS, COUNTED, SHORT("deploy"), ALL, SUBS("scale,status"), BY(deployment_strategy) }, &deployment_columns },
    { { IN("apps", "ReplicaSet", "replicasets", "replicaset"), NAMESPACED, STATUS, COUNTED, SHORT("rs"), ALL, SUBS("scale,status"), BY(replicaset_strategy) }, &replicaset_columns },
    { { IN("apps", "StatefulSet", "statefulsets", "statefulset"), NAMESPACED, STATUS, COUNTED, SHORT("sts"), ALL, SUBS("scale,status"), BY(statefulset_strategy) }, &statefulset_columns },

    { { VERSION("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"), NAMESPACED, STATUS, SHORT("hpa"), ALL, SUBS("status"), BY(hpa_strategy) }, &hpa_columns },
    /* Stored with those of v2. */
    { { IN("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"), NAMESPACED, STATUS, SHORT("hpa"), ALL, .stored_as = "autoscaling/v2", SUBS("status"), BY(hpa_v1_strategy) }, &hpa_columns },

    { { IN("batch", "CronJob", "cronjobs", "cronjob"), NAMESPACED, STATUS, COUNTED, SHORT("cj"), ALL, SUBS("status"), BY(cronjob_strategy) }, &cronjob_columns },
    { { IN("batch", "Job", "jobs", "job"), NAMESPACED, STATUS, COUNTED, ORPHANS, ALL, SUBS("status"), BY(job_strategy) }, &job_columns },

    { { IN("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", "certificatesigningrequest"), STATUS, SHORT("csr"), SUBS("approval,status"), BY(csr_strategy) }, &csr_columns },
    { { IN("coordination.k8s.io", "Lease", "leases", "lease"), NAMESPACED, BY(lease_strategy) }, &lease_columns },
    { { IN("discovery.k8s.io", "EndpointSlice", "endpointslices", "endpointslice"), NAMESPACED, COUNTED, BY(endpointslice_strategy) }, &endpointslice_columns },
    /* Stored with the events of core/v1. */
    { { NAMES("events.k8s.io", "v1", "Event", "events", "event"), .store_res = "events", .stored_as = "/v1", NAMESPACED, SHORT("ev"), BY(event_v1_strategy) }, &event_columns },
    { { IN(FLOWCONTROL, "FlowSchema", "flowschemas", "flowschema"), STATUS, COUNTED, SUBS("status"), BY(flowschema_strategy) }, &flowschema_columns },
    { { IN(FLOWCONTROL, "PriorityLevelConfiguration", "prioritylevelconfigurations", "prioritylevelconfiguration"), STATUS, COUNTED, SUBS("status"), BY(priority_level_strategy) }, &priority_level_columns },

    { { IN(NETWORKING, "IngressClass", "ingressclasses", "ingressclass"), COUNTED, BY(ingress_class_strategy) }, &ingress_class_columns },
    { { IN(NETWORKING, "Ingress", "ingresses", "ingress"), NAMESPACED, STATUS, COUNTED, SHORT("ing"), SUBS("status"), BY(ingress_strategy) }, &ingress_columns },
    { { IN(NETWORKING, "IPAddress", "ipaddresses", "ipaddress"), SHORT("ip"), BY(ip_address_strategy) }, &ip_address_columns },
    { { IN(NETWORKING, "NetworkPolicy", "networkpolicies", "networkpolicy"), NAMESPACED, COUNTED, SHORT("netpol"), BY(network_policy_strategy) }, &network_policy_columns },
    { { IN(NETWORKING, "ServiceCIDR", "servicecidrs", "servicecidr"), STATUS, SUBS("status"), BY(service_cidr_strategy) }, &service_cidr_columns },
    { { IN("node.k8s.io", "RuntimeClass", "runtimeclasses", "runtimeclass"), BY(runtimeclass_strategy) }, &runtimeclass_columns },
    { { IN("policy", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget"), NAMESPACED, STATUS, COUNTED, SHORT("pdb"), SUBS("status"), BY(pdb_strategy) }, &pdb_columns },

    { { IN(RBAC, "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding"), BY(binding_strategy) }, &binding_columns },
    { { IN(RBAC, "ClusterRole", "clusterroles", "clusterrole"), BY(role_strategy) }, NULL },
    { { IN(RBAC, "RoleBinding", "rolebindings", "rolebinding"), NAMESPACED, BY(binding_strategy) }, &binding_columns },
    { { IN(RBAC, "Role", "roles", "role"), NAMESPACED, BY(role_strategy) }, NULL },

    { { IN(RESOURCE, "DeviceClass", "deviceclasses", "deviceclass"), COUNTED, BY(deviceclass_strategy) }, &age_columns },
    { { IN(RESOURCE, "ResourceClaim", "resourceclaims", "resourceclaim"), NAMESPACED, STATUS, SUBS("status"), BY(claim_strategy) }, &claim_columns },
    { { IN(RESOURCE, "ResourceClaimTemplate", "resourceclaimtemplates", "resourceclaimtemplate"), NAMESPACED, BY(claim_template_strategy) }, &age_columns },
    { { IN(RESOURCE, "ResourceSlice", "resourceslices", "resourceslice"), COUNTED, BY(slice_strategy) }, &slice_columns },
    { { VERSION(RESOURCE, "v1alpha3", "DeviceTaintRule", "devicetaintrules", "devicetaintrule"), STATUS, COUNTED, SUBS("status"), BY(taintrule_strategy) }, &taintrule_columns },

    { { IN("scheduling.k8s.io", "PriorityClass", "priorityclasses", "priorityclass"), COUNTED, SHORT("pc"), BY(priorityclass_strategy) }, &priorityclass_columns },

    { { IN(STORAGE, "CSIDriver", "csidrivers", "csidriver"), BY(csidriver_strategy) }, &csidriver_columns },
    { { IN(STORAGE, "CSINode", "csinodes", "csinode"), BY(csinode_strategy) }, &csinode_columns },
    { { IN(STORAGE, "CSIStorageCapacity", "csistoragecapacities", "csistoragecapacity"), NAMESPACED, BY(capacity_strategy) }, NULL },
    { { IN(STORAGE, "StorageClass", "storageclasses", "storageclass"), SHORT("sc"), BY(storageclass_strategy) }, &storageclass_columns },
    { { IN(STORAGE, "VolumeAttachment", "volumeattachments", "volumeattachment"), STATUS, SUBS("status"), BY(attachment_strategy) }, &attachment_columns },
    { { IN(STORAGE, "VolumeAttributesClass", "volumeattributesclasses", "volumeattributesclass"), SHORT("vac"), .hashed_as = STORAGE "/v1beta1", BY(volume_attributes_strategy) }, &volume_attributes_columns },
};
/* clang-format on */

const struct resource *builtin_resources(size_t *n)
{
    static struct resource all[ARRAY_LEN(entries)];
    static bool made;

    for (size_t i = 0; !made && i < ARRAY_LEN(entries); i++) {
        struct resource *r = &all[i];
        *r = entries[i].r;
        r->type = types_find(r->group, r->version, r->kind);
        assert(r->type);
        if (entries[i].columns) {
            r->columns = entries[i].columns->list;
            r->ncolumns = entries[i].columns->n;
        }
    }
    made = true;
    *n = ARRAY_LEN(all);
    return all;
}
