/* protobuf_tables.c - field numbers of the kinds that clients write in protobuf. */
#include "apiserver/http/protobuf.h"

#undef STR /* of base.h */
#define STR(n, name)                 \
    {                                \
        (n), PB_STR, 0, (name), NULL \
    }
#define STRS(n, name)                     \
    {                                     \
        (n), PB_STR, PB_REP, (name), NULL \
    }
#define OPT_STR(n, name)                  \
    {                                     \
        (n), PB_STR, PB_PTR, (name), NULL \
    }
#define INT(n, name)                 \
    {                                \
        (n), PB_INT, 0, (name), NULL \
    }
#define OPT_INT(n, name)                  \
    {                                     \
        (n), PB_INT, PB_PTR, (name), NULL \
    }
#define BOOL(n, name)                 \
    {                                 \
        (n), PB_BOOL, 0, (name), NULL \
    }
#define OPT_BOOL(n, name)                  \
    {                                      \
        (n), PB_BOOL, PB_PTR, (name), NULL \
    }
#define MSG(n, name, t)             \
    {                               \
        (n), PB_MSG, 0, (name), (t) \
    }
#define OPT_MSG(n, name, t)              \
    {                                    \
        (n), PB_MSG, PB_PTR, (name), (t) \
    }
#define MSGS(n, name, t)                 \
    {                                    \
        (n), PB_MSG, PB_REP, (name), (t) \
    }
#define MAP(n, name)                     \
    {                                    \
        (n), PB_MAP_STR, 0, (name), NULL \
    }
#define KIND(k, n, name)          \
    {                             \
        (n), (k), 0, (name), NULL \
    }
#define END \
    {       \
        0   \
    }
typedef const struct pb_field table;

/* ---- shared -------------------------------------------------------------------------------------
 */

static table owner[] = { STR(1, "kind"),
                         STR(3, "name"),
                         STR(4, "uid"),
                         STR(5, "apiVersion"),
                         OPT_BOOL(6, "controller"),
                         OPT_BOOL(7, "blockOwnerDeletion"),
                         END };
static table meta[] = { STR(1, "name"),
                        STR(2, "generateName"),
                        STR(3, "namespace"),
                        STR(5, "uid"),
                        STR(6, "resourceVersion"),
                        INT(7, "generation"),
                        KIND(PB_TIME, 8, "creationTimestamp"),
                        KIND(PB_TIME, 9, "deletionTimestamp"),
                        OPT_INT(10, "deletionGracePeriodSeconds"),
                        MAP(11, "labels"),
                        MAP(12, "annotations"),
                        MSGS(13, "ownerReferences", owner),
                        STRS(14, "finalizers"),
                        END };
#define META      MSG(1, "metadata", meta)
#define STATUS(n) KIND(PB_SKIP, n, "status")
static table requirement[] = { STR(1, "key"), STR(2, "operator"), STRS(3, "values"), END };
static table selector[] = { MAP(1, "matchLabels"), MSGS(2, "matchExpressions", requirement), END };
static table object_ref[] = { STR(1, "kind"),       STR(2, "namespace"),
                              STR(3, "name"),       STR(4, "uid"),
                              STR(5, "apiVersion"), STR(6, "resourceVersion"),
                              STR(7, "fieldPath"),  END };
static table preconditions[] = { OPT_STR(1, "uid"), OPT_STR(2, "resourceVersion"), END };
static table delete_options[] = { OPT_INT(1, "gracePeriodSeconds"),
                                  OPT_MSG(2, "preconditions", preconditions),
                                  OPT_BOOL(3, "orphanDependents"),
                                  OPT_STR(4, "propagationPolicy"),
                                  STRS(5, "dryRun"),
                                  END };

/* ---- core ---------------------------------------------------------------------------------------
 */

static table config_map[] = { META, MAP(2, "data"), KIND(PB_MAP_BYTES, 3, "binaryData"),
                              OPT_BOOL(4, "immutable"), END };
static table secret[] = { META,
                          KIND(PB_MAP_BYTES, 2, "data"),
                          STR(3, "type"),
                          MAP(4, "stringData"),
                          OPT_BOOL(5, "immutable"),
                          END };
static table namespace_spec[] = { STRS(1, "finalizers"), END };
static table namespace_status[] = { STR(1, "phase"), END };
static table namespace[] = { META, MSG(2, "spec", namespace_spec),
                             MSG(3, "status", namespace_status), END };
static table local_ref[] = { STR(1, "name"), END };
static table service_account[] = { META, MSGS(2, "secrets", object_ref),
                                   MSGS(3, "imagePullSecrets", local_ref),
                                   OPT_BOOL(4, "automountServiceAccountToken"), END };
static table binding[] = { META, MSG(2, "target", object_ref), END };
static table service_port[] = { STR(1, "name"),
                                STR(2, "protocol"),
                                INT(3, "port"),
                                KIND(PB_IOS, 4, "targetPort"),
                                INT(5, "nodePort"),
                                OPT_STR(6, "appProtocol"),
                                END };
static table service_spec[] = { MSGS(1, "ports", service_port),
                                MAP(2, "selector"),
                                STR(3, "clusterIP"),
                                STR(4, "type"),
                                STRS(5, "externalIPs"),
                                STR(7, "sessionAffinity"),
                                STR(8, "loadBalancerIP"),
                                STR(10, "externalName"),
                                END };
static table service[] = { META, MSG(2, "spec", service_spec), STATUS(3), END };
static table event_source[] = { STR(1, "component"), STR(2, "host"), END };
static table event_series[] = { INT(1, "count"), KIND(PB_MICRO, 2, "lastObservedTime"), END };
static table event[] = { META,
                         MSG(2, "involvedObject", object_ref),
                         STR(3, "reason"),
                         STR(4, "message"),
                         MSG(5, "source", event_source),
                         KIND(PB_TIME, 6, "firstTimestamp"),
                         KIND(PB_TIME, 7, "lastTimestamp"),
                         INT(8, "count"),
                         STR(9, "type"),
                         KIND(PB_MICRO, 10, "eventTime"),
                         OPT_MSG(11, "series", event_series),
                         STR(12, "action"),
                         OPT_MSG(13, "related", object_ref),
                         STR(14, "reportingComponent"),
                         STR(15, "reportingInstance"),
                         END };
static table events_event[] = { META,
                                KIND(PB_MICRO, 2, "eventTime"),
                                OPT_MSG(3, "series", event_series),
                                STR(4, "reportingController"),
                                STR(5, "reportingInstance"),
                                STR(6, "action"),
                                STR(7, "reason"),
                                MSG(8, "regarding", object_ref),
                                OPT_MSG(9, "related", object_ref),
                                STR(10, "note"),
                                STR(11, "type"),
                                MSG(12, "deprecatedSource", event_source),
                                KIND(PB_TIME, 13, "deprecatedFirstTimestamp"),
                                KIND(PB_TIME, 14, "deprecatedLastTimestamp"),
                                INT(15, "deprecatedCount"),
                                END };

/* ---- pods in templates: what kubectl create writes
 * ------------------------------------------------
 */

static table port[] = { STR(1, "name"),     INT(2, "hostPort"), INT(3, "containerPort"),
                        STR(4, "protocol"), STR(5, "hostIP"),   END };
static table env[] = { STR(1, "name"), STR(2, "value"), END };
static table resources[] = { KIND(PB_MAP_QTY, 1, "limits"), KIND(PB_MAP_QTY, 2, "requests"), END };
static table container[] = { STR(1, "name"),
                             STR(2, "image"),
                             STRS(3, "command"),
                             STRS(4, "args"),
                             STR(5, "workingDir"),
                             MSGS(6, "ports", port),
                             MSGS(7, "env", env),
                             MSG(8, "resources", resources),
                             STR(13, "terminationMessagePath"),
                             STR(14, "imagePullPolicy"),
                             BOOL(16, "stdin"),
                             BOOL(17, "stdinOnce"),
                             BOOL(18, "tty"),
                             STR(20, "terminationMessagePolicy"),
                             END };
static table pod_spec[] = { MSGS(2, "containers", container),
                            STR(3, "restartPolicy"),
                            OPT_INT(4, "terminationGracePeriodSeconds"),
                            OPT_INT(5, "activeDeadlineSeconds"),
                            STR(6, "dnsPolicy"),
                            MAP(7, "nodeSelector"),
                            STR(8, "serviceAccountName"),
                            STR(10, "nodeName"),
                            BOOL(11, "hostNetwork"),
                            MSGS(15, "imagePullSecrets", local_ref),
                            STR(19, "schedulerName"),
                            MSGS(20, "initContainers", container),
                            STR(24, "priorityClassName"),
                            OPT_INT(25, "priority"),
                            END };
static table template[] = { META, MSG(2, "spec", pod_spec), END };
static table pod[] = { META, MSG(2, "spec", pod_spec), STATUS(3), END };
static table rolling[] = { KIND(PB_IOS, 1, "maxUnavailable"), KIND(PB_IOS, 2, "maxSurge"), END };
static table strategy[] = { STR(1, "type"), OPT_MSG(2, "rollingUpdate", rolling), END };
static table deployment_spec[] = { OPT_INT(1, "replicas"),
                                   OPT_MSG(2, "selector", selector),
                                   MSG(3, "template", template),
                                   MSG(4, "strategy", strategy),
                                   INT(5, "minReadySeconds"),
                                   OPT_INT(6, "revisionHistoryLimit"),
                                   BOOL(7, "paused"),
                                   OPT_INT(9, "progressDeadlineSeconds"),
                                   END };
static table deployment[] = { META, MSG(2, "spec", deployment_spec), STATUS(3), END };
static table job_spec[] = { OPT_INT(1, "parallelism"),
                            OPT_INT(2, "completions"),
                            OPT_INT(3, "activeDeadlineSeconds"),
                            OPT_MSG(4, "selector", selector),
                            OPT_BOOL(5, "manualSelector"),
                            MSG(6, "template", template),
                            OPT_INT(7, "backoffLimit"),
                            OPT_INT(8, "ttlSecondsAfterFinished"),
                            END };
static table job[] = { META, MSG(2, "spec", job_spec), STATUS(3), END };

/* ---- other groups -------------------------------------------------------------------------------
 */

static table eviction[] = { META, OPT_MSG(2, "deleteOptions", delete_options), END };
static table pdb_spec[] = { KIND(PB_IOS, 1, "minAvailable"), OPT_MSG(2, "selector", selector),
                            KIND(PB_IOS, 3, "maxUnavailable"), END };
static table pdb[] = { META, MSG(2, "spec", pdb_spec), STATUS(3), END };
static table lease_spec[] = { OPT_STR(1, "holderIdentity"),     OPT_INT(2, "leaseDurationSeconds"),
                              KIND(PB_MICRO, 3, "acquireTime"), KIND(PB_MICRO, 4, "renewTime"),
                              OPT_INT(5, "leaseTransitions"),   END };
static table lease[] = { META, MSG(2, "spec", lease_spec), END };
static table priority_class[] = { META,
                                  INT(2, "value"),
                                  BOOL(3, "globalDefault"),
                                  STR(4, "description"),
                                  OPT_STR(5, "preemptionPolicy"),
                                  END };
static table rule[] = { STRS(1, "verbs"),         STRS(2, "apiGroups"),       STRS(3, "resources"),
                        STRS(4, "resourceNames"), STRS(5, "nonResourceURLs"), END };
static table role[] = { META, MSGS(2, "rules", rule), END };
static table subject[] = { STR(1, "kind"), STR(2, "apiGroup"), STR(3, "name"), STR(4, "namespace"),
                           END };
static table role_ref[] = { STR(1, "apiGroup"), STR(2, "kind"), STR(3, "name"), END };
static table role_binding[] = { META, MSGS(2, "subjects", subject), MSG(3, "roleRef", role_ref),
                                END };
static table resource_attributes[] = { STR(1, "namespace"), STR(2, "verb"),
                                       STR(3, "group"),     STR(4, "version"),
                                       STR(5, "resource"),  STR(6, "subresource"),
                                       STR(7, "name"),      END };
static table other_attributes[] = { STR(1, "path"), STR(2, "verb"), END };
static table access_spec[] = { OPT_MSG(1, "resourceAttributes", resource_attributes),
                               OPT_MSG(2, "nonResourceAttributes", other_attributes), END };
static table access_review[] = { META, MSG(2, "spec", access_spec), STATUS(3), END };
static table rules_spec[] = { STR(1, "namespace"), END };
static table rules_review[] = { META, MSG(2, "spec", rules_spec), STATUS(3), END };
static table self_review[] = { META, STATUS(2), END };

const struct pb_field *protobuf_fields(const char *api_version, const char *kind)
{
    static const struct {
        const char *api_version, *kind;
        table *fields;
    } kinds[] = {
        { "v1", "ConfigMap", config_map },
        { "v1", "Secret", secret },
        { "v1", "Namespace", namespace },
        { "v1", "ServiceAccount", service_account },
        { "v1", "Binding", binding },
        { "v1", "Service", service },
        { "v1", "Event", event },
        { "v1", "Pod", pod },
        { "events.k8s.io/v1", "Event", events_event },
        { "apps/v1", "Deployment", deployment },
        { "batch/v1", "Job", job },
        { "policy/v1", "Eviction", eviction },
        { "policy/v1", "PodDisruptionBudget", pdb },
        { "coordination.k8s.io/v1", "Lease", lease },
        { "scheduling.k8s.io/v1", "PriorityClass", priority_class },
        { "rbac.authorization.k8s.io/v1", "Role", role },
        { "rbac.authorization.k8s.io/v1", "ClusterRole", role },
        { "rbac.authorization.k8s.io/v1", "RoleBinding", role_binding },
        { "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", role_binding },
        { "authorization.k8s.io/v1", "SelfSubjectAccessReview", access_review },
        { "authorization.k8s.io/v1", "SelfSubjectRulesReview", rules_review },
        { "authentication.k8s.io/v1", "SelfSubjectReview", self_review },
    };
    if (streq(kind, "DeleteOptions")) /* of any group */
        return delete_options;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (streq(kinds[i].api_version, api_version) && streq(kinds[i].kind, kind))
            return kinds[i].fields;
    return NULL;
}
