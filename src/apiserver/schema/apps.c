/* apps.c - apps/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field apps_rolling_update_deployment_fields[] = {
    F(1, "maxUnavailable", T_IOS, T_PTR, DEF("\"25%\"")),
    F(2, "maxSurge", T_IOS, T_PTR, DEF("\"25%\"")),
    END,
};
static TYPE(apps_rolling_update_deployment, "io.k8s.api.apps.v1.RollingUpdateDeployment");

static const char *const deployment_strategy_type_values[] = { "Recreate", "RollingUpdate", NULL };
static const struct t_field apps_deployment_strategy_fields[] = {
    ENUM(1, "type", deployment_strategy_type_values, "v1.DeploymentStrategyType", 0,
         DEF("\"RollingUpdate\"")),
    OBJ(2, "rollingUpdate", apps_rolling_update_deployment, T_PTR),
    END,
};
static TYPE(apps_deployment_strategy, "io.k8s.api.apps.v1.DeploymentStrategy");

static const struct t_field apps_deployment_spec_fields[] = {
    F(1, "replicas", T_I32, T_PTR, DEF("1")),
    OBJ(2, "selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ(3, "template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJ(4, "strategy", apps_deployment_strategy, T_EMIT | T_RETAIN),
    F(5, "minReadySeconds", T_I32, 0),
    F(6, "revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    F(7, "paused", T_BOOL, 0),
    F(9, "progressDeadlineSeconds", T_I32, T_PTR, DEF("600")),
    END,
};
static TYPE(apps_deployment_spec, "io.k8s.api.apps.v1.DeploymentSpec");

static const struct t_field apps_deployment_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.DeploymentConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(6, "lastUpdateTime", T_TIME, T_EMIT),
    F(7, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(apps_deployment_condition, "io.k8s.api.apps.v1.DeploymentCondition");

static const struct t_field apps_deployment_status_fields[] = {
    F(1, "observedGeneration", T_I64, 0),
    F(2, "replicas", T_I32, 0),
    F(3, "updatedReplicas", T_I32, 0),
    F(7, "readyReplicas", T_I32, 0),
    F(4, "availableReplicas", T_I32, 0),
    F(5, "unavailableReplicas", T_I32, 0),
    F(9, "terminatingReplicas", T_I32, T_PTR),
    OBJS(6, "conditions", apps_deployment_condition, T_KEY, KEYS("type")),
    F(8, "collisionCount", T_I32, T_PTR),
    END,
};
static TYPE(apps_deployment_status, "io.k8s.api.apps.v1.DeploymentStatus");

static const struct t_field apps_deployment_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", apps_deployment_spec, T_EMIT),
    OBJ(3, "status", apps_deployment_status, T_EMIT),
    END,
};
TYPE(apps_deployment, "io.k8s.api.apps.v1.Deployment");

static const struct t_field apps_replica_set_spec_fields[] = {
    F(1, "replicas", T_I32, T_PTR, DEF("1")),
    F(4, "minReadySeconds", T_I32, 0),
    OBJ(2, "selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ(3, "template", core_pod_template_spec, T_EMIT),
    END,
};
static TYPE(apps_replica_set_spec, "io.k8s.api.apps.v1.ReplicaSetSpec");

static const struct t_field apps_replica_set_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.ReplicaSetConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(apps_replica_set_condition, "io.k8s.api.apps.v1.ReplicaSetCondition");

static const struct t_field apps_replica_set_status_fields[] = {
    F(1, "replicas", T_I32, T_REQ | T_EMIT),
    F(2, "fullyLabeledReplicas", T_I32, 0),
    F(4, "readyReplicas", T_I32, 0),
    F(5, "availableReplicas", T_I32, 0),
    F(7, "terminatingReplicas", T_I32, T_PTR),
    F(3, "observedGeneration", T_I64, 0),
    OBJS(6, "conditions", apps_replica_set_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(apps_replica_set_status, "io.k8s.api.apps.v1.ReplicaSetStatus");

static const struct t_field apps_replica_set_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", apps_replica_set_spec, T_EMIT),
    OBJ(3, "status", apps_replica_set_status, T_EMIT),
    END,
};
TYPE(apps_replica_set, "io.k8s.api.apps.v1.ReplicaSet");

static const struct t_field apps_rolling_update_stateful_set_strategy_fields[] = {
    F(1, "partition", T_I32, T_PTR, DEF("0")),
    F(2, "maxUnavailable", T_IOS, T_PTR),
    END,
};
static TYPE(apps_rolling_update_stateful_set_strategy,
            "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy");

static const char *const stateful_set_update_strategy_type_values[] = { "RollingUpdate", "OnDelete",
                                                                        NULL };
static const struct t_field apps_stateful_set_update_strategy_fields[] = {
    ENUM(1, "type", stateful_set_update_strategy_type_values, "v1.StatefulSetUpdateStrategyType",
         0),
    OBJ(2, "rollingUpdate", apps_rolling_update_stateful_set_strategy, T_PTR),
    END,
};
static TYPE(apps_stateful_set_update_strategy, "io.k8s.api.apps.v1.StatefulSetUpdateStrategy");

static const struct t_field apps_stateful_set_persistent_volume_claim_retention_policy_fields[] = {
    F(1, "whenDeleted", T_STR, 0, DEF("\"Retain\""),
      GO("v1.PersistentVolumeClaimRetentionPolicyType")),
    F(2, "whenScaled", T_STR, 0, DEF("\"Retain\""),
      GO("v1.PersistentVolumeClaimRetentionPolicyType")),
    END,
};
static TYPE(apps_stateful_set_persistent_volume_claim_retention_policy,
            "io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy");

static const struct t_field apps_stateful_set_ordinals_fields[] = {
    F(1, "start", T_I32, T_EMIT),
    END,
};
static TYPE(apps_stateful_set_ordinals, "io.k8s.api.apps.v1.StatefulSetOrdinals");

static const char *const pod_management_policy_type_values[] = { "OrderedReady", "Parallel", NULL };
static const struct t_field apps_stateful_set_spec_fields[] = {
    F(1, "replicas", T_I32, T_PTR, DEF("1")),
    OBJ(2, "selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ(3, "template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJS(4, "volumeClaimTemplates", core_persistent_volume_claim, T_ATOMIC),
    F(5, "serviceName", T_STR, T_EMIT),
    ENUM(6, "podManagementPolicy", pod_management_policy_type_values, "v1.PodManagementPolicyType",
         0, DEF("\"OrderedReady\"")),
    OBJ(7, "updateStrategy", apps_stateful_set_update_strategy, T_EMIT),
    F(8, "revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    F(9, "minReadySeconds", T_I32, 0),
    OBJ(10, "persistentVolumeClaimRetentionPolicy",
        apps_stateful_set_persistent_volume_claim_retention_policy, T_PTR, DEF("{}")),
    OBJ(11, "ordinals", apps_stateful_set_ordinals, T_PTR),
    END,
};
static TYPE(apps_stateful_set_spec, "io.k8s.api.apps.v1.StatefulSetSpec");

static const struct t_field apps_stateful_set_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.StatefulSetConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(apps_stateful_set_condition, "io.k8s.api.apps.v1.StatefulSetCondition");

static const struct t_field apps_stateful_set_status_fields[] = {
    F(1, "observedGeneration", T_I64, 0),
    F(2, "replicas", T_I32, T_REQ | T_EMIT),
    F(3, "readyReplicas", T_I32, 0),
    F(4, "currentReplicas", T_I32, 0),
    F(5, "updatedReplicas", T_I32, 0),
    F(6, "currentRevision", T_STR, 0),
    F(7, "updateRevision", T_STR, 0),
    F(9, "collisionCount", T_I32, T_PTR),
    OBJS(10, "conditions", apps_stateful_set_condition, T_KEY, KEYS("type")),
    F(11, "availableReplicas", T_I32, T_EMIT),
    END,
};
static TYPE(apps_stateful_set_status, "io.k8s.api.apps.v1.StatefulSetStatus");

static const struct t_field apps_stateful_set_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", apps_stateful_set_spec, T_EMIT),
    OBJ(3, "status", apps_stateful_set_status, T_EMIT),
    END,
};
TYPE(apps_stateful_set, "io.k8s.api.apps.v1.StatefulSet");

static const struct t_field apps_rolling_update_daemon_set_fields[] = {
    F(1, "maxUnavailable", T_IOS, T_PTR, DEF("1")),
    F(2, "maxSurge", T_IOS, T_PTR, DEF("0")),
    END,
};
static TYPE(apps_rolling_update_daemon_set, "io.k8s.api.apps.v1.RollingUpdateDaemonSet");

static const char *const daemon_set_update_strategy_type_values[] = { "RollingUpdate", "OnDelete",
                                                                      NULL };
static const struct t_field apps_daemon_set_update_strategy_fields[] = {
    ENUM(1, "type", daemon_set_update_strategy_type_values, "v1.DaemonSetUpdateStrategyType", 0,
         DEF("\"RollingUpdate\"")),
    OBJ(2, "rollingUpdate", apps_rolling_update_daemon_set, T_PTR),
    END,
};
static TYPE(apps_daemon_set_update_strategy, "io.k8s.api.apps.v1.DaemonSetUpdateStrategy");

static const struct t_field apps_daemon_set_spec_fields[] = {
    OBJ(1, "selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ(2, "template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJ(3, "updateStrategy", apps_daemon_set_update_strategy, T_EMIT),
    F(4, "minReadySeconds", T_I32, 0),
    F(6, "revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    END,
};
static TYPE(apps_daemon_set_spec, "io.k8s.api.apps.v1.DaemonSetSpec");

static const struct t_field apps_daemon_set_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.DaemonSetConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(apps_daemon_set_condition, "io.k8s.api.apps.v1.DaemonSetCondition");

static const struct t_field apps_daemon_set_status_fields[] = {
    F(1, "currentNumberScheduled", T_I32, T_REQ | T_EMIT),
    F(2, "numberMisscheduled", T_I32, T_REQ | T_EMIT),
    F(3, "desiredNumberScheduled", T_I32, T_REQ | T_EMIT),
    F(4, "numberReady", T_I32, T_REQ | T_EMIT),
    F(5, "observedGeneration", T_I64, 0),
    F(6, "updatedNumberScheduled", T_I32, 0),
    F(7, "numberAvailable", T_I32, 0),
    F(8, "numberUnavailable", T_I32, 0),
    F(9, "collisionCount", T_I32, T_PTR),
    OBJS(10, "conditions", apps_daemon_set_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(apps_daemon_set_status, "io.k8s.api.apps.v1.DaemonSetStatus");

static const struct t_field apps_daemon_set_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", apps_daemon_set_spec, T_EMIT),
    OBJ(3, "status", apps_daemon_set_status, T_EMIT),
    END,
};
TYPE(apps_daemon_set, "io.k8s.api.apps.v1.DaemonSet");

static const struct t_field apps_controller_revision_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "data", T_ANY, 0),
    F(3, "revision", T_I64, T_REQ | T_EMIT),
    END,
};
TYPE(apps_controller_revision, "io.k8s.api.apps.v1.ControllerRevision");
