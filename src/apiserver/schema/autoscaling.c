/* autoscaling.c - autoscaling/v2 and v1: HorizontalPodAutoscaler. Scale stands with policy. */
#include "apiserver/schema/tables.h"

static const struct t_field autoscaling_cross_version_object_reference_fields[] = {
    F(1, "kind", T_STR, T_REQ | T_EMIT),
    F(2, "name", T_STR, T_REQ | T_EMIT),
    F(3, "apiVersion", T_STR, 0),
    END,
};
static TYPE(autoscaling_cross_version_object_reference,
            "io.k8s.api.autoscaling.v2.CrossVersionObjectReference");

static const struct t_field autoscaling_metric_target_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.MetricTargetType")),
    F(2, "value", T_QTY, T_PTR),
    F(3, "averageValue", T_QTY, T_PTR),
    F(4, "averageUtilization", T_I32, T_PTR),
    END,
};
static TYPE(autoscaling_metric_target, "io.k8s.api.autoscaling.v2.MetricTarget");

static const struct t_field autoscaling_metric_identifier_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "selector", meta_label_selector, T_PTR),
    END,
};
static TYPE(autoscaling_metric_identifier, "io.k8s.api.autoscaling.v2.MetricIdentifier");

static const struct t_field autoscaling_object_metric_source_fields[] = {
    OBJ(1, "describedObject", autoscaling_cross_version_object_reference, T_REQ | T_EMIT),
    OBJ(2, "target", autoscaling_metric_target, T_REQ | T_EMIT),
    OBJ(3, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_object_metric_source, "io.k8s.api.autoscaling.v2.ObjectMetricSource");

static const struct t_field autoscaling_pods_metric_source_fields[] = {
    OBJ(1, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    OBJ(2, "target", autoscaling_metric_target, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_pods_metric_source, "io.k8s.api.autoscaling.v2.PodsMetricSource");

static const struct t_field autoscaling_resource_metric_source_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJ(2, "target", autoscaling_metric_target, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_resource_metric_source, "io.k8s.api.autoscaling.v2.ResourceMetricSource");

static const struct t_field autoscaling_container_resource_metric_source_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJ(2, "target", autoscaling_metric_target, T_REQ | T_EMIT),
    F(3, "container", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_container_resource_metric_source,
            "io.k8s.api.autoscaling.v2.ContainerResourceMetricSource");

static const struct t_field autoscaling_external_metric_source_fields[] = {
    OBJ(1, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    OBJ(2, "target", autoscaling_metric_target, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_external_metric_source, "io.k8s.api.autoscaling.v2.ExternalMetricSource");

static const struct t_field autoscaling_metric_spec_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.MetricSourceType")),
    OBJ(2, "object", autoscaling_object_metric_source, T_PTR),
    OBJ(3, "pods", autoscaling_pods_metric_source, T_PTR),
    OBJ(4, "resource", autoscaling_resource_metric_source, T_PTR),
    OBJ(7, "containerResource", autoscaling_container_resource_metric_source, T_PTR),
    OBJ(5, "external", autoscaling_external_metric_source, T_PTR),
    END,
};
static TYPE(autoscaling_metric_spec, "io.k8s.api.autoscaling.v2.MetricSpec");

static const struct t_field autoscaling_hpa_scaling_policy_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.HPAScalingPolicyType")),
    F(2, "value", T_I32, T_REQ | T_EMIT),
    F(3, "periodSeconds", T_I32, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_hpa_scaling_policy, "io.k8s.api.autoscaling.v2.HPAScalingPolicy");

static const struct t_field autoscaling_hpa_scaling_rules_fields[] = {
    F(3, "stabilizationWindowSeconds", T_I32, T_PTR),
    F(1, "selectPolicy", T_STR, T_PTR, GO("v1.ScalingPolicySelect")),
    OBJS(2, "policies", autoscaling_hpa_scaling_policy, T_ATOMIC | T_EMPTY),
    F(4, "tolerance", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_hpa_scaling_rules, "io.k8s.api.autoscaling.v2.HPAScalingRules");

static const struct t_field autoscaling_horizontal_pod_autoscaler_behavior_fields[] = {
    OBJ(1, "scaleUp", autoscaling_hpa_scaling_rules, T_PTR),
    OBJ(2, "scaleDown", autoscaling_hpa_scaling_rules, T_PTR),
    END,
};
TYPE(autoscaling_horizontal_pod_autoscaler_behavior,
     "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior");

static const struct t_field autoscaling_horizontal_pod_autoscaler_spec_fields[] = {
    OBJ(1, "scaleTargetRef", autoscaling_cross_version_object_reference, T_REQ | T_EMIT),
    F(2, "minReplicas", T_I32, T_PTR, DEF("1")),
    F(3, "maxReplicas", T_I32, T_REQ | T_EMIT),
    OBJS(4, "metrics", autoscaling_metric_spec, T_ATOMIC),
    OBJ(5, "behavior", autoscaling_horizontal_pod_autoscaler_behavior, T_PTR),
    END,
};
static TYPE(autoscaling_horizontal_pod_autoscaler_spec,
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec");

static const struct t_field autoscaling_metric_value_status_fields[] = {
    F(1, "value", T_QTY, T_PTR),
    F(2, "averageValue", T_QTY, T_PTR),
    F(3, "averageUtilization", T_I32, T_PTR),
    END,
};
static TYPE(autoscaling_metric_value_status, "io.k8s.api.autoscaling.v2.MetricValueStatus");

static const struct t_field autoscaling_object_metric_status_fields[] = {
    OBJ(1, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    OBJ(2, "current", autoscaling_metric_value_status, T_REQ | T_EMIT),
    OBJ(3, "describedObject", autoscaling_cross_version_object_reference, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_object_metric_status, "io.k8s.api.autoscaling.v2.ObjectMetricStatus");

static const struct t_field autoscaling_pods_metric_status_fields[] = {
    OBJ(1, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    OBJ(2, "current", autoscaling_metric_value_status, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_pods_metric_status, "io.k8s.api.autoscaling.v2.PodsMetricStatus");

static const struct t_field autoscaling_resource_metric_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJ(2, "current", autoscaling_metric_value_status, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_resource_metric_status, "io.k8s.api.autoscaling.v2.ResourceMetricStatus");

static const struct t_field autoscaling_container_resource_metric_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJ(2, "current", autoscaling_metric_value_status, T_REQ | T_EMIT),
    F(3, "container", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_container_resource_metric_status,
            "io.k8s.api.autoscaling.v2.ContainerResourceMetricStatus");

static const struct t_field autoscaling_external_metric_status_fields[] = {
    OBJ(1, "metric", autoscaling_metric_identifier, T_REQ | T_EMIT),
    OBJ(2, "current", autoscaling_metric_value_status, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_external_metric_status, "io.k8s.api.autoscaling.v2.ExternalMetricStatus");

static const struct t_field autoscaling_metric_status_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.MetricSourceType")),
    OBJ(2, "object", autoscaling_object_metric_status, T_PTR),
    OBJ(3, "pods", autoscaling_pods_metric_status, T_PTR),
    OBJ(4, "resource", autoscaling_resource_metric_status, T_PTR),
    OBJ(7, "containerResource", autoscaling_container_resource_metric_status, T_PTR),
    OBJ(5, "external", autoscaling_external_metric_status, T_PTR),
    END,
};
static TYPE(autoscaling_metric_status, "io.k8s.api.autoscaling.v2.MetricStatus");

static const struct t_field autoscaling_horizontal_pod_autoscaler_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.HorizontalPodAutoscalerConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
TYPE(autoscaling_horizontal_pod_autoscaler_condition,
     "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition");

static const struct t_field autoscaling_horizontal_pod_autoscaler_status_fields[] = {
    F(1, "observedGeneration", T_I64, T_PTR),
    F(2, "lastScaleTime", T_TIME, T_PTR),
    F(3, "currentReplicas", T_I32, 0),
    F(4, "desiredReplicas", T_I32, T_REQ | T_EMIT),
    OBJS(5, "currentMetrics", autoscaling_metric_status, T_ATOMIC | T_EMIT),
    OBJS(6, "conditions", autoscaling_horizontal_pod_autoscaler_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(autoscaling_horizontal_pod_autoscaler_status,
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus");

static const struct t_field autoscaling_horizontal_pod_autoscaler_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", autoscaling_horizontal_pod_autoscaler_spec, T_EMIT),
    OBJ(3, "status", autoscaling_horizontal_pod_autoscaler_status, T_EMIT),
    END,
};
TYPE(autoscaling_horizontal_pod_autoscaler, "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler");

/* ---- v1 -------------------------------------------------------------------------------------- */

static const struct t_field autoscaling_v1_cross_version_object_reference_fields[] = {
    F(1, "kind", T_STR, T_REQ | T_EMIT),
    F(2, "name", T_STR, T_REQ | T_EMIT),
    F(3, "apiVersion", T_STR, 0),
    END,
};
static ATOMIC_TYPE(autoscaling_v1_cross_version_object_reference,
                   "io.k8s.api.autoscaling.v1.CrossVersionObjectReference");

static const struct t_field autoscaling_v1_horizontal_pod_autoscaler_spec_fields[] = {
    OBJ(1, "scaleTargetRef", autoscaling_v1_cross_version_object_reference, T_REQ | T_EMIT),
    F(2, "minReplicas", T_I32, T_PTR, DEF("1")),
    F(3, "maxReplicas", T_I32, T_REQ | T_EMIT),
    F(4, "targetCPUUtilizationPercentage", T_I32, T_PTR),
    END,
};
static TYPE(autoscaling_v1_horizontal_pod_autoscaler_spec,
            "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec");

static const struct t_field autoscaling_v1_horizontal_pod_autoscaler_status_fields[] = {
    F(1, "observedGeneration", T_I64, T_PTR),
    F(2, "lastScaleTime", T_TIME, T_PTR),
    F(3, "currentReplicas", T_I32, T_REQ | T_EMIT),
    F(4, "desiredReplicas", T_I32, T_REQ | T_EMIT),
    F(5, "currentCPUUtilizationPercentage", T_I32, T_PTR),
    END,
};
static TYPE(autoscaling_v1_horizontal_pod_autoscaler_status,
            "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus");

static const struct t_field autoscaling_v1_horizontal_pod_autoscaler_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", autoscaling_v1_horizontal_pod_autoscaler_spec, T_EMIT),
    OBJ(3, "status", autoscaling_v1_horizontal_pod_autoscaler_status, T_EMIT),
    END,
};
TYPE(autoscaling_v1_horizontal_pod_autoscaler, "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler");

/* What v1 has no fields for and carries in annotations: in no document of its own. */

static const struct t_field autoscaling_v1_object_metric_source_fields[] = {
    OBJ(1, "target", autoscaling_v1_cross_version_object_reference, T_REQ | T_EMIT),
    F(2, "metricName", T_STR, T_REQ | T_EMIT),
    F(3, "targetValue", T_QTY, T_REQ | T_EMIT),
    OBJ(4, "selector", meta_label_selector, T_PTR),
    F(5, "averageValue", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_v1_object_metric_source, "io.k8s.api.autoscaling.v1.ObjectMetricSource");

static const struct t_field autoscaling_v1_pods_metric_source_fields[] = {
    F(1, "metricName", T_STR, T_REQ | T_EMIT),
    F(2, "targetAverageValue", T_QTY, T_REQ | T_EMIT),
    OBJ(3, "selector", meta_label_selector, T_PTR),
    END,
};
static TYPE(autoscaling_v1_pods_metric_source, "io.k8s.api.autoscaling.v1.PodsMetricSource");

static const struct t_field autoscaling_v1_resource_metric_source_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F(2, "targetAverageUtilization", T_I32, T_PTR),
    F(3, "targetAverageValue", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_v1_resource_metric_source,
            "io.k8s.api.autoscaling.v1.ResourceMetricSource");

static const struct t_field autoscaling_v1_container_resource_metric_source_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F(2, "targetAverageUtilization", T_I32, T_PTR),
    F(3, "targetAverageValue", T_QTY, T_PTR),
    F(5, "container", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_v1_container_resource_metric_source,
            "io.k8s.api.autoscaling.v1.ContainerResourceMetricSource");

static const struct t_field autoscaling_v1_external_metric_source_fields[] = {
    F(1, "metricName", T_STR, T_REQ | T_EMIT),
    OBJ(2, "metricSelector", meta_label_selector, T_PTR),
    F(3, "targetValue", T_QTY, T_PTR),
    F(4, "targetAverageValue", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_v1_external_metric_source,
            "io.k8s.api.autoscaling.v1.ExternalMetricSource");

static const struct t_field autoscaling_v1_metric_spec_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.MetricSourceType")),
    OBJ(2, "object", autoscaling_v1_object_metric_source, T_PTR),
    OBJ(3, "pods", autoscaling_v1_pods_metric_source, T_PTR),
    OBJ(4, "resource", autoscaling_v1_resource_metric_source, T_PTR),
    OBJ(7, "containerResource", autoscaling_v1_container_resource_metric_source, T_PTR),
    OBJ(5, "external", autoscaling_v1_external_metric_source, T_PTR),
    END,
};
TYPE(autoscaling_v1_metric_spec, "io.k8s.api.autoscaling.v1.MetricSpec");

static const struct t_field autoscaling_v1_object_metric_status_fields[] = {
    OBJ(1, "target", autoscaling_v1_cross_version_object_reference, T_REQ | T_EMIT),
    F(2, "metricName", T_STR, T_REQ | T_EMIT),
    F(3, "currentValue", T_QTY, T_REQ | T_EMIT),
    OBJ(4, "selector", meta_label_selector, T_PTR),
    F(5, "averageValue", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_v1_object_metric_status, "io.k8s.api.autoscaling.v1.ObjectMetricStatus");

static const struct t_field autoscaling_v1_pods_metric_status_fields[] = {
    F(1, "metricName", T_STR, T_REQ | T_EMIT),
    F(2, "currentAverageValue", T_QTY, T_REQ | T_EMIT),
    OBJ(3, "selector", meta_label_selector, T_PTR),
    END,
};
static TYPE(autoscaling_v1_pods_metric_status, "io.k8s.api.autoscaling.v1.PodsMetricStatus");

static const struct t_field autoscaling_v1_resource_metric_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F(2, "currentAverageUtilization", T_I32, T_PTR),
    F(3, "currentAverageValue", T_QTY, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_v1_resource_metric_status,
            "io.k8s.api.autoscaling.v1.ResourceMetricStatus");

static const struct t_field autoscaling_v1_container_resource_metric_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F(2, "currentAverageUtilization", T_I32, T_PTR),
    F(3, "currentAverageValue", T_QTY, T_REQ | T_EMIT),
    F(4, "container", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(autoscaling_v1_container_resource_metric_status,
            "io.k8s.api.autoscaling.v1.ContainerResourceMetricStatus");

static const struct t_field autoscaling_v1_external_metric_status_fields[] = {
    F(1, "metricName", T_STR, T_REQ | T_EMIT),
    OBJ(2, "metricSelector", meta_label_selector, T_PTR),
    F(3, "currentValue", T_QTY, T_REQ | T_EMIT),
    F(4, "currentAverageValue", T_QTY, T_PTR),
    END,
};
static TYPE(autoscaling_v1_external_metric_status,
            "io.k8s.api.autoscaling.v1.ExternalMetricStatus");

static const struct t_field autoscaling_v1_metric_status_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.MetricSourceType")),
    OBJ(2, "object", autoscaling_v1_object_metric_status, T_PTR),
    OBJ(3, "pods", autoscaling_v1_pods_metric_status, T_PTR),
    OBJ(4, "resource", autoscaling_v1_resource_metric_status, T_PTR),
    OBJ(7, "containerResource", autoscaling_v1_container_resource_metric_status, T_PTR),
    OBJ(5, "external", autoscaling_v1_external_metric_status, T_PTR),
    END,
};
TYPE(autoscaling_v1_metric_status, "io.k8s.api.autoscaling.v1.MetricStatus");
