/* apps.c - apps/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field apps_rolling_update_deployment_fields[] = {
    F("maxUnavailable", T_IOS, T_PTR, DEF("\"25%\"")),
    F("maxSurge", T_IOS, T_PTR, DEF("\"25%\"")),
    END,
};
static TYPE(apps_rolling_update_deployment, "io.k8s.api.apps.v1.RollingUpdateDeployment");

static const char *const deployment_strategy_type_values[] = { "Recreate", "RollingUpdate", NULL };
static const struct t_field apps_deployment_strategy_fields[] = {
    ENUM("type", deployment_strategy_type_values, "v1.DeploymentStrategyType", 0,
         DEF("\"RollingUpdate\"")),
    OBJ("rollingUpdate", apps_rolling_update_deployment, T_PTR),
    END,
};
static TYPE(apps_deployment_strategy, "io.k8s.api.apps.v1.DeploymentStrategy");

static const struct t_field apps_deployment_spec_fields[] = {
    F("replicas", T_I32, T_PTR, DEF("1")),
    OBJ("selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ("template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJ("strategy", apps_deployment_strategy, T_EMIT | T_RETAIN),
    F("minReadySeconds", T_I32, 0),
    F("revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    F("paused", T_BOOL, 0),
    F("progressDeadlineSeconds", T_I32, T_PTR, DEF("600")),
    END,
};
static TYPE(apps_deployment_spec, "io.k8s.api.apps.v1.DeploymentSpec");

static const struct t_field apps_deployment_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.DeploymentConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastUpdateTime", T_TIME, T_EMIT),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(apps_deployment_condition, "io.k8s.api.apps.v1.DeploymentCondition");

static const struct t_field apps_deployment_status_fields[] = {
    F("observedGeneration", T_I64, 0),
    F("replicas", T_I32, 0),
    F("updatedReplicas", T_I32, 0),
    F("readyReplicas", T_I32, 0),
    F("availableReplicas", T_I32, 0),
    F("unavailableReplicas", T_I32, 0),
    F("terminatingReplicas", T_I32, T_PTR),
    OBJS("conditions", apps_deployment_condition, T_KEY, KEYS("type")),
    F("collisionCount", T_I32, T_PTR),
    END,
};
static TYPE(apps_deployment_status, "io.k8s.api.apps.v1.DeploymentStatus");

static const struct t_field apps_deployment_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", apps_deployment_spec, T_EMIT),
    OBJ("status", apps_deployment_status, T_EMIT),
    END,
};
TYPE(apps_deployment, "io.k8s.api.apps.v1.Deployment");

static const struct t_field apps_replica_set_spec_fields[] = {
    F("replicas", T_I32, T_PTR, DEF("1")),
    F("minReadySeconds", T_I32, 0),
    OBJ("selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ("template", core_pod_template_spec, T_EMIT),
    END,
};
static TYPE(apps_replica_set_spec, "io.k8s.api.apps.v1.ReplicaSetSpec");

static const struct t_field apps_replica_set_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.ReplicaSetConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(apps_replica_set_condition, "io.k8s.api.apps.v1.ReplicaSetCondition");

static const struct t_field apps_replica_set_status_fields[] = {
    F("replicas", T_I32, T_REQ | T_EMIT),
    F("fullyLabeledReplicas", T_I32, 0),
    F("readyReplicas", T_I32, 0),
    F("availableReplicas", T_I32, 0),
    F("terminatingReplicas", T_I32, T_PTR),
    F("observedGeneration", T_I64, 0),
    OBJS("conditions", apps_replica_set_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(apps_replica_set_status, "io.k8s.api.apps.v1.ReplicaSetStatus");

static const struct t_field apps_replica_set_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", apps_replica_set_spec, T_EMIT),
    OBJ("status", apps_replica_set_status, T_EMIT),
    END,
};
TYPE(apps_replica_set, "io.k8s.api.apps.v1.ReplicaSet");

static const struct t_field apps_rolling_update_stateful_set_strategy_fields[] = {
    F("partition", T_I32, T_PTR, DEF("0")),
    F("maxUnavailable", T_IOS, T_PTR),
    END,
};
static TYPE(apps_rolling_update_stateful_set_strategy,
            "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy");

static const char *const stateful_set_update_strategy_type_values[] = { "RollingUpdate", "OnDelete",
                                                                        NULL };
static const struct t_field apps_stateful_set_update_strategy_fields[] = {
    ENUM("type", stateful_set_update_strategy_type_values, "v1.StatefulSetUpdateStrategyType", 0),
    OBJ("rollingUpdate", apps_rolling_update_stateful_set_strategy, T_PTR),
    END,
};
static TYPE(apps_stateful_set_update_strategy, "io.k8s.api.apps.v1.StatefulSetUpdateStrategy");

static const struct t_field apps_stateful_set_persistent_volume_claim_retention_policy_fields[] = {
    F("whenDeleted", T_STR, 0, DEF("\"Retain\""),
      GO("v1.PersistentVolumeClaimRetentionPolicyType")),
    F("whenScaled", T_STR, 0, DEF("\"Retain\""), GO("v1.PersistentVolumeClaimRetentionPolicyType")),
    END,
};
static TYPE(apps_stateful_set_persistent_volume_claim_retention_policy,
            "io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy");

static const struct t_field apps_stateful_set_ordinals_fields[] = {
    F("start", T_I32, T_EMIT),
    END,
};
static TYPE(apps_stateful_set_ordinals, "io.k8s.api.apps.v1.StatefulSetOrdinals");

static const char *const pod_management_policy_type_values[] = { "OrderedReady", "Parallel", NULL };
static const struct t_field apps_stateful_set_spec_fields[] = {
    F("replicas", T_I32, T_PTR, DEF("1")),
    OBJ("selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ("template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJS("volumeClaimTemplates", core_persistent_volume_claim, T_ATOMIC),
    F("serviceName", T_STR, T_EMIT),
    ENUM("podManagementPolicy", pod_management_policy_type_values, "v1.PodManagementPolicyType", 0,
         DEF("\"OrderedReady\"")),
    OBJ("updateStrategy", apps_stateful_set_update_strategy, T_EMIT),
    F("revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    F("minReadySeconds", T_I32, 0),
    OBJ("persistentVolumeClaimRetentionPolicy",
        apps_stateful_set_persistent_volume_claim_retention_policy, T_PTR, DEF("{}")),
    OBJ("ordinals", apps_stateful_set_ordinals, T_PTR),
    END,
};
static TYPE(apps_stateful_set_spec, "io.k8s.api.apps.v1.StatefulSetSpec");

static const struct t_field apps_stateful_set_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.StatefulSetConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(apps_stateful_set_condition, "io.k8s.api.apps.v1.StatefulSetCondition");

static const struct t_field apps_stateful_set_status_fields[] = {
    F("observedGeneration", T_I64, 0),
    F("replicas", T_I32, T_REQ | T_EMIT),
    F("readyReplicas", T_I32, 0),
    F("currentReplicas", T_I32, 0),
    F("updatedReplicas", T_I32, 0),
    F("currentRevision", T_STR, 0),
    F("updateRevision", T_STR, 0),
    F("collisionCount", T_I32, T_PTR),
    OBJS("conditions", apps_stateful_set_condition, T_KEY, KEYS("type")),
    F("availableReplicas", T_I32, T_EMIT),
    END,
};
static TYPE(apps_stateful_set_status, "io.k8s.api.apps.v1.StatefulSetStatus");

static const struct t_field apps_stateful_set_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", apps_stateful_set_spec, T_EMIT),
    OBJ("status", apps_stateful_set_status, T_EMIT),
    END,
};
TYPE(apps_stateful_set, "io.k8s.api.apps.v1.StatefulSet");

static const struct t_field apps_rolling_update_daemon_set_fields[] = {
    F("maxUnavailable", T_IOS, T_PTR, DEF("1")),
    F("maxSurge", T_IOS, T_PTR, DEF("0")),
    END,
};
static TYPE(apps_rolling_update_daemon_set, "io.k8s.api.apps.v1.RollingUpdateDaemonSet");

static const char *const daemon_set_update_strategy_type_values[] = { "RollingUpdate", "OnDelete",
                                                                      NULL };
static const struct t_field apps_daemon_set_update_strategy_fields[] = {
    ENUM("type", daemon_set_update_strategy_type_values, "v1.DaemonSetUpdateStrategyType", 0,
         DEF("\"RollingUpdate\"")),
    OBJ("rollingUpdate", apps_rolling_update_daemon_set, T_PTR),
    END,
};
static TYPE(apps_daemon_set_update_strategy, "io.k8s.api.apps.v1.DaemonSetUpdateStrategy");

static const struct t_field apps_daemon_set_spec_fields[] = {
    OBJ("selector", meta_label_selector, T_REQ | T_PTR | T_EMIT),
    OBJ("template", core_pod_template_spec, T_REQ | T_EMIT),
    OBJ("updateStrategy", apps_daemon_set_update_strategy, T_EMIT),
    F("minReadySeconds", T_I32, 0),
    F("revisionHistoryLimit", T_I32, T_PTR, DEF("10")),
    END,
};
static TYPE(apps_daemon_set_spec, "io.k8s.api.apps.v1.DaemonSetSpec");

static const struct t_field apps_daemon_set_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.DaemonSetConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(apps_daemon_set_condition, "io.k8s.api.apps.v1.DaemonSetCondition");

static const struct t_field apps_daemon_set_status_fields[] = {
    F("currentNumberScheduled", T_I32, T_REQ | T_EMIT),
    F("numberMisscheduled", T_I32, T_REQ | T_EMIT),
    F("desiredNumberScheduled", T_I32, T_REQ | T_EMIT),
    F("numberReady", T_I32, T_REQ | T_EMIT),
    F("observedGeneration", T_I64, 0),
    F("updatedNumberScheduled", T_I32, 0),
    F("numberAvailable", T_I32, 0),
    F("numberUnavailable", T_I32, 0),
    F("collisionCount", T_I32, T_PTR),
    OBJS("conditions", apps_daemon_set_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(apps_daemon_set_status, "io.k8s.api.apps.v1.DaemonSetStatus");

static const struct t_field apps_daemon_set_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", apps_daemon_set_spec, T_EMIT),
    OBJ("status", apps_daemon_set_status, T_EMIT),
    END,
};
TYPE(apps_daemon_set, "io.k8s.api.apps.v1.DaemonSet");

static const struct t_field apps_controller_revision_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    F("data", T_ANY, 0),
    F("revision", T_I64, T_REQ | T_EMIT),
    END,
};
TYPE(apps_controller_revision, "io.k8s.api.apps.v1.ControllerRevision");
