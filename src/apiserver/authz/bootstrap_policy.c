/* bootstrap_policy.c - the roles and bindings that Kubernetes 1.35 has from the start, as data.
 *
 * Observed on a running kube-apiserver 1.35.4; tests/system/test_api_real compares them.
 * A rule is "VERBS GROUPS RESOURCES [NAMES]" or "VERBS PATHS", lists joined by commas, rules by
 * semicolons; "core" stands for the group "".
 */
#include "apiserver/authz/bootstrap_policy.h"

#include <stddef.h>

const struct first_role first_roles[] = {
    { "", "admin", NULL, "admin", "" },
    { "", "cluster-admin", NULL, NULL,
      "* * *;"
      "* *" },
    { "", "edit", "admin", "edit", "" },
    { "", "system:aggregate-to-admin", "admin", NULL,
      "create authorization.k8s.io localsubjectaccessreviews;"
      "create,delete,deletecollection,get,list,patch,update,watch rbac.authorization.k8s.io "
      "rolebindings,roles" },
    { "", "system:aggregate-to-edit", "edit", NULL,
      "get,list,watch core pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,"
      "services/proxy;"
      "impersonate core serviceaccounts;"
      "create,delete,deletecollection,patch,update core pods,pods/attach,pods/exec,"
      "pods/portforward,pods/proxy;"
      "create core pods/eviction;"
      "create,delete,deletecollection,patch,update core configmaps,persistentvolumeclaims,"
      "replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,"
      "services/proxy;"
      "create core serviceaccounts/token;"
      "create,delete,deletecollection,patch,update core,events.k8s.io events;"
      "create,delete,deletecollection,patch,update apps daemonsets,deployments,"
      "deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,"
      "statefulsets/scale;"
      "create,delete,deletecollection,patch,update autoscaling horizontalpodautoscalers;"
      "create,delete,deletecollection,patch,update batch cronjobs,jobs;"
      "create,delete,deletecollection,patch,update extensions daemonsets,deployments,"
      "deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,"
      "replicasets/scale,replicationcontrollers/scale;"
      "create,delete,deletecollection,patch,update policy poddisruptionbudgets;"
      "create,delete,deletecollection,patch,update networking.k8s.io ingresses,"
      "networkpolicies;"
      "create,delete,deletecollection,get,list,patch,update,watch coordination.k8s.io leases;"
      "create,delete,deletecollection,patch,update resource.k8s.io resourceclaims,"
      "resourceclaimtemplates" },
    { "", "system:aggregate-to-view", "view", NULL,
      "get,list,watch core configmaps,endpoints,persistentvolumeclaims,"
      "persistentvolumeclaims/status,pods,replicationcontrollers,"
      "replicationcontrollers/scale,serviceaccounts,services,services/status;"
      "get,list,watch core bindings,limitranges,namespaces/status,pods/log,pods/status,"
      "replicationcontrollers/status,resourcequotas,resourcequotas/status;"
      "get,list,watch core namespaces;"
      "get,list,watch core,events.k8s.io events;"
      "get,list,watch discovery.k8s.io endpointslices;"
      "get,list,watch apps controllerrevisions,daemonsets,daemonsets/status,deployments,"
      "deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,"
      "statefulsets,statefulsets/scale,statefulsets/status;"
      "get,list,watch autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status;"
      "get,list,watch batch cronjobs,cronjobs/status,jobs,jobs/status;"
      "get,list,watch extensions daemonsets,daemonsets/status,deployments,deployments/scale,"
      "deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,"
      "replicasets/scale,replicasets/status,replicationcontrollers/scale;"
      "get,list,watch policy poddisruptionbudgets,poddisruptionbudgets/status;"
      "get,list,watch networking.k8s.io ingresses,ingresses/status,networkpolicies;"
      "get,list,watch resource.k8s.io resourceclaims,resourceclaims/status,"
      "resourceclaimtemplates" },
    { "", "system:auth-delegator", NULL, NULL,
      "create authentication.k8s.io tokenreviews;"
      "create authorization.k8s.io subjectaccessreviews" },
    { "", "system:basic-user", NULL, NULL,
      "create authorization.k8s.io selfsubjectaccessreviews,selfsubjectrulesreviews;"
      "create authentication.k8s.io selfsubjectreviews" },
    { "", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", NULL, NULL,
      "create certificates.k8s.io certificatesigningrequests/nodeclient" },
    { "", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", NULL, NULL,
      "create certificates.k8s.io certificatesigningrequests/selfnodeclient" },
    { "", "system:certificates.k8s.io:kube-apiserver-client-approver", NULL, NULL,
      "approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client" },
    { "", "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", NULL, NULL,
      "approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client-kubelet" },
    { "", "system:certificates.k8s.io:kubelet-serving-approver", NULL, NULL,
      "approve certificates.k8s.io signers kubernetes.io/kubelet-serving" },
    { "", "system:certificates.k8s.io:legacy-unknown-approver", NULL, NULL,
      "approve certificates.k8s.io signers kubernetes.io/legacy-unknown" },
    { "", "system:controller:attachdetach-controller", NULL, NULL,
      "list,watch core persistentvolumeclaims,persistentvolumes;"
      "get,list,watch core nodes;"
      "patch,update core nodes/status;"
      "list,watch core pods;"
      "create,patch,update core,events.k8s.io events;"
      "create,delete,get,list,watch storage.k8s.io volumeattachments;"
      "get,list,watch storage.k8s.io csidrivers;"
      "get,list,watch storage.k8s.io csinodes" },
    { "", "system:controller:certificate-controller", NULL, NULL,
      "delete,get,list,watch certificates.k8s.io certificatesigningrequests;"
      "update certificates.k8s.io certificatesigningrequests/approval,"
      "certificatesigningrequests/status;"
      "approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client-kubelet;"
      "sign certificates.k8s.io signers kubernetes.io/kube-apiserver-client,"
      "kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,"
      "kubernetes.io/legacy-unknown;"
      "create authorization.k8s.io subjectaccessreviews;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:clusterrole-aggregation-controller", NULL, NULL,
      "escalate,get,list,patch,update,watch rbac.authorization.k8s.io clusterroles" },
    { "", "system:controller:cronjob-controller", NULL, NULL,
      "get,list,update,watch batch cronjobs;"
      "create,delete,get,list,patch,update,watch batch jobs;"
      "update batch cronjobs/status;"
      "update batch cronjobs/finalizers;"
      "delete,list,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:daemon-set-controller", NULL, NULL,
      "get,list,watch apps,extensions daemonsets;"
      "update apps,extensions daemonsets/status;"
      "update apps,extensions daemonsets/finalizers;"
      "list,watch core nodes;"
      "create,delete,list,patch,watch core pods;"
      "create core pods/binding;"
      "create,delete,get,list,patch,update,watch apps controllerrevisions;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:deployment-controller", NULL, NULL,
      "get,list,update,watch apps,extensions deployments;"
      "update apps,extensions deployments/status;"
      "update apps,extensions deployments/finalizers;"
      "create,delete,get,list,patch,update,watch apps,extensions replicasets;"
      "get,list,update,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:disruption-controller", NULL, NULL,
      "get,list,watch apps,extensions deployments;"
      "get,list,watch apps,extensions replicasets;"
      "get,list,watch core replicationcontrollers;"
      "get,list,watch policy poddisruptionbudgets;"
      "get,list,watch apps statefulsets;"
      "update policy poddisruptionbudgets/status;"
      "patch,update core pods/status;"
      "get * */scale;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:endpoint-controller", NULL, NULL,
      "get,list,watch core pods,services;"
      "create,delete,get,list,update,watch core endpoints;"
      "create core endpoints/restricted;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:endpointslice-controller", NULL, NULL,
      "get,list,watch core nodes,pods,services;"
      "update core services/finalizers;"
      "create,delete,get,list,update,watch discovery.k8s.io endpointslices;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:endpointslicemirroring-controller", NULL, NULL,
      "get,list,watch core endpoints,services;"
      "update core services/finalizers;"
      "update core endpoints/finalizers;"
      "create,delete,get,list,update,watch discovery.k8s.io endpointslices;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:ephemeral-volume-controller", NULL, NULL,
      "get,list,watch core pods;"
      "update core pods/finalizers;"
      "create,get,list,watch core persistentvolumeclaims;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:expand-controller", NULL, NULL,
      "get,list,patch,update,watch core persistentvolumes;"
      "patch,update core persistentvolumeclaims/status;"
      "get,list,watch core persistentvolumeclaims;"
      "create,patch,update core,events.k8s.io events;"
      "get core services" },
    { "", "system:controller:generic-garbage-collector", NULL, NULL,
      "delete,get,list,patch,update,watch * *;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:horizontal-pod-autoscaler", NULL, NULL,
      "get,list,watch autoscaling horizontalpodautoscalers;"
      "update autoscaling horizontalpodautoscalers/status;"
      "get,update * */scale;"
      "list,watch core pods;"
      "list,watch metrics.k8s.io pods;"
      "get,list,watch custom.metrics.k8s.io *;"
      "get,list,watch external.metrics.k8s.io *;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:job-controller", NULL, NULL,
      "get,list,patch,update,watch batch jobs;"
      "update batch jobs/status;"
      "update batch jobs/finalizers;"
      "create,delete,list,patch,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:legacy-service-account-token-cleaner", NULL, NULL,
      "get core configmaps kube-apiserver-legacy-service-account-token-tracking;"
      "delete,patch core secrets" },
    { "", "system:controller:namespace-controller", NULL, NULL,
      "delete,get,list,watch core namespaces;"
      "update core namespaces/finalize,namespaces/status;"
      "delete,deletecollection,get,list,watch * *" },
    { "", "system:controller:node-controller", NULL, NULL,
      "delete,get,list,patch,update,watch core nodes;"
      "patch,update core nodes/status;"
      "patch,update core pods/status;"
      "delete,get,list,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:persistent-volume-binder", NULL, NULL,
      "create,delete,get,list,update,watch core persistentvolumes;"
      "update core persistentvolumes/status;"
      "get,list,update,watch core persistentvolumeclaims;"
      "update core persistentvolumeclaims/status;"
      "create,delete,get,list,watch core pods;"
      "get,list,watch storage.k8s.io storageclasses;"
      "list,watch core nodes;"
      "create,patch,update core,events.k8s.io events;"
      "watch core events;"
      "get core services" },
    { "", "system:controller:pod-garbage-collector", NULL, NULL,
      "delete,list,watch core pods;"
      "get,list,watch core nodes;"
      "patch core pods/status" },
    { "", "system:controller:pv-protection-controller", NULL, NULL,
      "get,list,update,watch core persistentvolumes;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:pvc-protection-controller", NULL, NULL,
      "get,list,update,watch core persistentvolumeclaims;"
      "get,list,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:replicaset-controller", NULL, NULL,
      "get,list,update,watch apps,extensions replicasets;"
      "update apps,extensions replicasets/status;"
      "update apps,extensions replicasets/finalizers;"
      "create,delete,list,patch,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:replication-controller", NULL, NULL,
      "get,list,update,watch core replicationcontrollers;"
      "update core replicationcontrollers/status;"
      "update core replicationcontrollers/finalizers;"
      "create,delete,list,patch,watch core pods;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:resource-claim-controller", NULL, NULL,
      "get,list,watch core pods;"
      "update core pods/finalizers;"
      "create,delete,get,list,watch resource.k8s.io resourceclaims;"
      "patch,update resource.k8s.io resourceclaims,resourceclaims/status;"
      "patch,update core pods/status;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:resourcequota-controller", NULL, NULL,
      "list,watch * *;"
      "update core resourcequotas/status;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:root-ca-cert-publisher", NULL, NULL,
      "create,update core configmaps;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:route-controller", NULL, NULL,
      "list,watch core nodes;"
      "patch core nodes/status;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:selinux-warning-controller", NULL, NULL,
      "create,patch,update core,events.k8s.io events;"
      "get,list,watch core persistentvolumes;"
      "get,list,watch core persistentvolumeclaims;"
      "get,list,watch core pods;"
      "get,list,watch storage.k8s.io csidrivers" },
    { "", "system:controller:service-account-controller", NULL, NULL,
      "create core serviceaccounts;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:service-cidrs-controller", NULL, NULL,
      "get,list,patch,update,watch networking.k8s.io servicecidrs;"
      "patch,update networking.k8s.io servicecidrs/finalizers;"
      "patch,update networking.k8s.io servicecidrs/status;"
      "get,list,watch networking.k8s.io ipaddresses;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:service-controller", NULL, NULL,
      "get,list,watch core services;"
      "patch,update core services/status;"
      "list,watch core nodes;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:statefulset-controller", NULL, NULL,
      "list,watch core pods;"
      "get,list,watch apps statefulsets;"
      "update apps statefulsets/status;"
      "update apps statefulsets/finalizers;"
      "create,delete,get,patch,update core pods;"
      "create,delete,get,list,patch,update,watch apps controllerrevisions;"
      "create,get,list,watch core persistentvolumeclaims;"
      "delete,update core persistentvolumeclaims;"
      "update core pods/finalizers;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:ttl-after-finished-controller", NULL, NULL,
      "delete,get,list,watch batch jobs;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:ttl-controller", NULL, NULL,
      "list,patch,update,watch core nodes;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:validatingadmissionpolicy-status-controller", NULL, NULL,
      "get,list,watch admissionregistration.k8s.io validatingadmissionpolicies;"
      "get,patch,update admissionregistration.k8s.io validatingadmissionpolicies/status;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:controller:volumeattributesclass-protection-controller", NULL, NULL,
      "get,list,watch core persistentvolumeclaims;"
      "get,list,watch core persistentvolumes;"
      "get,list,update,watch storage.k8s.io volumeattributesclasses;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:discovery", NULL, NULL,
      "get /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,"
      "/version/" },
    { "", "system:heapster", NULL, NULL,
      "get,list,watch core events,namespaces,nodes,pods;"
      "get,list,watch extensions deployments" },
    { "", "system:kube-aggregator", NULL, NULL, "get,list,watch core endpoints,services" },
    { "", "system:kube-controller-manager", NULL, NULL,
      "create,patch,update core,events.k8s.io events;"
      "create coordination.k8s.io leases;"
      "get,update coordination.k8s.io leases kube-controller-manager;"
      "create core secrets,serviceaccounts;"
      "delete core secrets;"
      "get core configmaps,namespaces,secrets,serviceaccounts;"
      "update core secrets,serviceaccounts;"
      "create authentication.k8s.io tokenreviews;"
      "create authorization.k8s.io subjectaccessreviews;"
      "list,watch * *;"
      "create core serviceaccounts/token" },
    { "", "system:kube-dns", NULL, NULL, "list,watch core endpoints,services" },
    { "", "system:kube-scheduler", NULL, NULL,
      "create,patch,update core,events.k8s.io events;"
      "create coordination.k8s.io leases;"
      "get,list,update,watch coordination.k8s.io leases kube-scheduler;"
      "create,delete,deletecollection,get,list,patch,update,watch coordination.k8s.io "
      "leasecandidates;"
      "get,list,watch core nodes;"
      "delete,get,list,watch core pods;"
      "create core bindings,pods/binding;"
      "patch,update core pods/status;"
      "get,list,watch core replicationcontrollers,services;"
      "get,list,watch apps,extensions replicasets;"
      "get,list,watch apps statefulsets;"
      "get,list,watch policy poddisruptionbudgets;"
      "get,list,watch core persistentvolumeclaims,persistentvolumes;"
      "create authentication.k8s.io tokenreviews;"
      "create authorization.k8s.io subjectaccessreviews;"
      "get,list,watch storage.k8s.io csinodes;"
      "get,list,watch storage.k8s.io volumeattachments;"
      "get,list,watch core namespaces;"
      "get,list,watch storage.k8s.io csidrivers;"
      "get,list,watch storage.k8s.io csistoragecapacities;"
      "get,list,watch resource.k8s.io deviceclasses;"
      "get,list,patch,update,watch resource.k8s.io resourceclaims;"
      "get,list,patch,update,watch resource.k8s.io resourceclaims/status;"
      "update core pods/finalizers;"
      "get,list,watch resource.k8s.io resourceslices" },
    { "", "system:kubelet-api-admin", NULL, NULL,
      "get,list,watch core nodes;"
      "proxy core nodes;"
      "* core nodes/log,nodes/metrics,nodes/proxy,nodes/stats;"
      "* core nodes/configz,nodes/healthz,nodes/pods" },
    { "", "system:monitoring", NULL, NULL,
      "get /healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*;"
      "get core nodes/metrics" },
    { "", "system:node", NULL, NULL,
      "create authentication.k8s.io tokenreviews;"
      "create authorization.k8s.io localsubjectaccessreviews,subjectaccessreviews;"
      "get,list,watch core services;"
      "create,get,list,watch core nodes;"
      "patch,update core nodes/status;"
      "patch,update core nodes;"
      "create,patch,update core,events.k8s.io events;"
      "get,list,watch core pods;"
      "create,delete core pods;"
      "patch,update core pods/status;"
      "create core pods/eviction;"
      "get,list,watch core configmaps,secrets;"
      "get core persistentvolumeclaims,persistentvolumes;"
      "get core endpoints;"
      "create,get,list,watch certificates.k8s.io certificatesigningrequests;"
      "create,delete,get,patch,update coordination.k8s.io leases;"
      "get storage.k8s.io volumeattachments;"
      "create core serviceaccounts/token;"
      "get,patch,update core persistentvolumeclaims/status;"
      "get,list,watch storage.k8s.io csidrivers;"
      "create,delete,get,patch,update storage.k8s.io csinodes;"
      "get,list,watch node.k8s.io runtimeclasses;"
      "get resource.k8s.io resourceclaims;"
      "deletecollection resource.k8s.io resourceslices;"
      "get core serviceaccounts" },
    { "", "system:node-bootstrapper", NULL, NULL,
      "create,get,list,watch certificates.k8s.io certificatesigningrequests" },
    { "", "system:node-problem-detector", NULL, NULL,
      "get core nodes;"
      "patch core nodes/status;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:node-proxier", NULL, NULL,
      "list,watch core endpoints,services;"
      "get,list,watch core nodes;"
      "create,patch,update core,events.k8s.io events;"
      "list,watch networking.k8s.io servicecidrs;"
      "list,watch discovery.k8s.io endpointslices" },
    { "", "system:persistent-volume-provisioner", NULL, NULL,
      "create,delete,get,list,watch core persistentvolumes;"
      "get,list,update,watch core persistentvolumeclaims;"
      "get,list,watch storage.k8s.io storageclasses;"
      "watch core events;"
      "create,patch,update core,events.k8s.io events" },
    { "", "system:public-info-viewer", NULL, NULL,
      "get /healthz,/livez,/readyz,/version,/version/" },
    { "", "system:service-account-issuer-discovery", NULL, NULL,
      "get /.well-known/openid-configuration,/.well-known/openid-configuration/,"
      "/openid/v1/jwks,/openid/v1/jwks/" },
    { "", "system:volume-scheduler", NULL, NULL,
      "get,list,patch,update,watch core persistentvolumes;"
      "get,list,watch storage.k8s.io storageclasses;"
      "get,list,patch,update,watch core persistentvolumeclaims" },
    { "", "view", "edit", "view", "" },
    { "kube-public", "system:controller:bootstrap-signer", NULL, NULL,
      "get,list,watch core configmaps;"
      "update core configmaps cluster-info;"
      "create,patch,update core,events.k8s.io events" },
    { "kube-system", "extension-apiserver-authentication-reader", NULL, NULL,
      "get,list,watch core configmaps extension-apiserver-authentication" },
    { "kube-system", "system::leader-locking-kube-controller-manager", NULL, NULL,
      "create,get,list,update,watch coordination.k8s.io leases;"
      "create,get,list,update,watch coordination.k8s.io leasecandidates" },
    { "kube-system", "system::leader-locking-kube-scheduler", NULL, NULL,
      "create,get,list,update,watch coordination.k8s.io leases;"
      "create,get,list,update,watch coordination.k8s.io leasecandidates" },
    { "kube-system", "system:controller:bootstrap-signer", NULL, NULL,
      "get,list,watch core secrets" },
    { "kube-system", "system:controller:cloud-provider", NULL, NULL,
      "create,get,list,watch core configmaps" },
    { "kube-system", "system:controller:token-cleaner", NULL, NULL,
      "delete,get,list,watch core secrets;"
      "create,patch,update core,events.k8s.io events" },
    { 0 },
};

const struct first_binding first_bindings[] = {
    { "", "cluster-admin", "cluster-admin", "Group system:masters" },
    { "", "system:basic-user", "system:basic-user", "Group system:authenticated" },
    { "", "system:controller:attachdetach-controller", "system:controller:attachdetach-controller",
      "ServiceAccount kube-system/attachdetach-controller" },
    { "", "system:controller:certificate-controller", "system:controller:certificate-controller",
      "ServiceAccount kube-system/certificate-controller" },
    { "", "system:controller:clusterrole-aggregation-controller",
      "system:controller:clusterrole-aggregation-controller",
      "ServiceAccount kube-system/clusterrole-aggregation-controller" },
    { "", "system:controller:cronjob-controller", "system:controller:cronjob-controller",
      "ServiceAccount kube-system/cronjob-controller" },
    { "", "system:controller:daemon-set-controller", "system:controller:daemon-set-controller",
      "ServiceAccount kube-system/daemon-set-controller" },
    { "", "system:controller:deployment-controller", "system:controller:deployment-controller",
      "ServiceAccount kube-system/deployment-controller" },
    { "", "system:controller:disruption-controller", "system:controller:disruption-controller",
      "ServiceAccount kube-system/disruption-controller" },
    { "", "system:controller:endpoint-controller", "system:controller:endpoint-controller",
      "ServiceAccount kube-system/endpoint-controller" },
    { "", "system:controller:endpointslice-controller",
      "system:controller:endpointslice-controller",
      "ServiceAccount kube-system/endpointslice-controller" },
    { "", "system:controller:endpointslicemirroring-controller",
      "system:controller:endpointslicemirroring-controller",
      "ServiceAccount kube-system/endpointslicemirroring-controller" },
    { "", "system:controller:ephemeral-volume-controller",
      "system:controller:ephemeral-volume-controller",
      "ServiceAccount kube-system/ephemeral-volume-controller" },
    { "", "system:controller:expand-controller", "system:controller:expand-controller",
      "ServiceAccount kube-system/expand-controller" },
    { "", "system:controller:generic-garbage-collector",
      "system:controller:generic-garbage-collector",
      "ServiceAccount kube-system/generic-garbage-collector" },
    { "", "system:controller:horizontal-pod-autoscaler",
      "system:controller:horizontal-pod-autoscaler",
      "ServiceAccount kube-system/horizontal-pod-autoscaler" },
    { "", "system:controller:job-controller", "system:controller:job-controller",
      "ServiceAccount kube-system/job-controller" },
    { "", "system:controller:legacy-service-account-token-cleaner",
      "system:controller:legacy-service-account-token-cleaner",
      "ServiceAccount kube-system/legacy-service-account-token-cleaner" },
    { "", "system:controller:namespace-controller", "system:controller:namespace-controller",
      "ServiceAccount kube-system/namespace-controller" },
    { "", "system:controller:node-controller", "system:controller:node-controller",
      "ServiceAccount kube-system/node-controller" },
    { "", "system:controller:persistent-volume-binder",
      "system:controller:persistent-volume-binder",
      "ServiceAccount kube-system/persistent-volume-binder" },
    { "", "system:controller:pod-garbage-collector", "system:controller:pod-garbage-collector",
      "ServiceAccount kube-system/pod-garbage-collector" },
    { "", "system:controller:pv-protection-controller",
      "system:controller:pv-protection-controller",
      "ServiceAccount kube-system/pv-protection-controller" },
    { "", "system:controller:pvc-protection-controller",
      "system:controller:pvc-protection-controller",
      "ServiceAccount kube-system/pvc-protection-controller" },
    { "", "system:controller:replicaset-controller", "system:controller:replicaset-controller",
      "ServiceAccount kube-system/replicaset-controller" },
    { "", "system:controller:replication-controller", "system:controller:replication-controller",
      "ServiceAccount kube-system/replication-controller" },
    { "", "system:controller:resource-claim-controller",
      "system:controller:resource-claim-controller",
      "ServiceAccount kube-system/resource-claim-controller" },
    { "", "system:controller:resourcequota-controller",
      "system:controller:resourcequota-controller",
      "ServiceAccount kube-system/resourcequota-controller" },
    { "", "system:controller:root-ca-cert-publisher", "system:controller:root-ca-cert-publisher",
      "ServiceAccount kube-system/root-ca-cert-publisher" },
    { "", "system:controller:route-controller", "system:controller:route-controller",
      "ServiceAccount kube-system/route-controller" },
    { "", "system:controller:selinux-warning-controller",
      "system:controller:selinux-warning-controller",
      "ServiceAccount kube-system/selinux-warning-controller" },
    { "", "system:controller:service-account-controller",
      "system:controller:service-account-controller",
      "ServiceAccount kube-system/service-account-controller" },
    { "", "system:controller:service-cidrs-controller",
      "system:controller:service-cidrs-controller",
      "ServiceAccount kube-system/service-cidrs-controller" },
    { "", "system:controller:service-controller", "system:controller:service-controller",
      "ServiceAccount kube-system/service-controller" },
    { "", "system:controller:statefulset-controller", "system:controller:statefulset-controller",
      "ServiceAccount kube-system/statefulset-controller" },
    { "", "system:controller:ttl-after-finished-controller",
      "system:controller:ttl-after-finished-controller",
      "ServiceAccount kube-system/ttl-after-finished-controller" },
    { "", "system:controller:ttl-controller", "system:controller:ttl-controller",
      "ServiceAccount kube-system/ttl-controller" },
    { "", "system:controller:validatingadmissionpolicy-status-controller",
      "system:controller:validatingadmissionpolicy-status-controller",
      "ServiceAccount kube-system/validatingadmissionpolicy-status-controller" },
    { "", "system:controller:volumeattributesclass-protection-controller",
      "system:controller:volumeattributesclass-protection-controller",
      "ServiceAccount kube-system/volumeattributesclass-protection-controller" },
    { "", "system:discovery", "system:discovery", "Group system:authenticated" },
    { "", "system:kube-controller-manager", "system:kube-controller-manager",
      "User system:kube-controller-manager" },
    { "", "system:kube-dns", "system:kube-dns", "ServiceAccount kube-system/kube-dns" },
    { "", "system:kube-scheduler", "system:kube-scheduler", "User system:kube-scheduler" },
    { "", "system:monitoring", "system:monitoring", "Group system:monitoring" },
    { "", "system:node", "system:node", "" },
    { "", "system:node-proxier", "system:node-proxier", "User system:kube-proxy" },
    { "", "system:public-info-viewer", "system:public-info-viewer",
      "Group system:authenticated;Group system:unauthenticated" },
    { "", "system:service-account-issuer-discovery", "system:service-account-issuer-discovery",
      "Group system:serviceaccounts" },
    { "", "system:volume-scheduler", "system:volume-scheduler", "User system:kube-scheduler" },
    { "kube-public", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer",
      "ServiceAccount kube-system/bootstrap-signer" },
    { "kube-system", "system::extension-apiserver-authentication-reader",
      "extension-apiserver-authentication-reader",
      "User system:kube-controller-manager;User system:kube-scheduler" },
    { "kube-system", "system::leader-locking-kube-controller-manager",
      "system::leader-locking-kube-controller-manager",
      "User system:kube-controller-manager;ServiceAccount "
      "kube-system/kube-controller-manager;ServiceAccount kube-system/leader-election-controller" },
    { "kube-system", "system::leader-locking-kube-scheduler",
      "system::leader-locking-kube-scheduler",
      "User system:kube-scheduler;ServiceAccount kube-system/kube-scheduler" },
    { "kube-system", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer",
      "ServiceAccount kube-system/bootstrap-signer" },
    { "kube-system", "system:controller:cloud-provider", "system:controller:cloud-provider",
      "ServiceAccount kube-system/cloud-provider" },
    { "kube-system", "system:controller:token-cleaner", "system:controller:token-cleaner",
      "ServiceAccount kube-system/token-cleaner" },
    { 0 },
};
