/* docs_hpa.c - the table of HorizontalPodAutoscaler. */
#include "cluster/docs_int.h"
#include "cluster/hpa.h"

#define OBJ_PTR                    .flags = KF_OMITEMPTY | KF_PTR

#define F(member, json, type, ...) KF(struct hpa_target, member, json, type, __VA_ARGS__)
static const struct kfield target_fields[] = {
    F(type, "type", KF_STR, OMIT),
    F(average_value, "averageValue", KF_OPT_QTY, OMIT),
    F(average_utilization, "averageUtilization", KF_OPT_I32, OMIT),
};
#undef F
static const struct kschema target_schema =
    KSCHEMA("MetricTarget", struct hpa_target, target_fields);
static const struct kfield resource_fields[] = {
    KF(struct hpa_resource, name, "name", KF_STR),
    KF(struct hpa_resource, container, "container", KF_STR, OMIT),
    KF(struct hpa_resource, target, "target", KF_OBJ, .sub = &target_schema),
};
static const struct kschema resource_schema =
    KSCHEMA("ResourceMetricSource", struct hpa_resource, resource_fields);

static const struct kfield identifier_fields[] = {
    KF(struct hpa_identifier, name, "name", KF_STR),
    KF(struct hpa_identifier, selector, "selector", KF_OBJ, OBJ_PTR, .sub = &label_selector_schema),
};
static const struct kschema identifier_schema =
    KSCHEMA("MetricIdentifier", struct hpa_identifier, identifier_fields);
static const struct kfield ref_fields[] = {
    KF(struct hpa_object_ref, kind, "kind", KF_STR),
    KF(struct hpa_object_ref, name, "name", KF_STR),
    KF(struct hpa_object_ref, api_version, "apiVersion", KF_STR, OMIT),
};
static const struct kschema ref_schema =
    KSCHEMA("CrossVersionObjectReference", struct hpa_object_ref, ref_fields);
static const struct kfield other_fields[] = {
    KF(struct hpa_other, metric, "metric", KF_OBJ, OMIT, .sub = &identifier_schema),
    KF(struct hpa_other, described, "describedObject", KF_OBJ, OMIT, .sub = &ref_schema),
};
static const struct kschema other_schema =
    KSCHEMA("ObjectMetricSource", struct hpa_other, other_fields);

#define F(member, json, schema) \
    KF(struct hpa_metric, member, json, KF_OBJ, OBJ_PTR, .sub = &(schema))
static const struct kfield metric_fields[] = {
    KF(struct hpa_metric, type, "type", KF_STR),
    F(resource, "resource", resource_schema),
    F(container, "containerResource", resource_schema),
    F(pods, "pods", other_schema),
    F(object, "object", other_schema),
    F(external, "external", other_schema),
};
#undef F
static const struct kschema metric_schema = KSCHEMA("MetricSpec", struct hpa_metric, metric_fields);

static const struct kfield policy_fields[] = {
    KF(struct hpa_policy, type, "type", KF_STR),
    KF(struct hpa_policy, value, "value", KF_I32),
    KF(struct hpa_policy, period_seconds, "periodSeconds", KF_I32),
};
static const struct kschema policy_schema =
    KSCHEMA("HPAScalingPolicy", struct hpa_policy, policy_fields);
#define F(member, json, type, ...) KF(struct hpa_direction, member, json, type, __VA_ARGS__)
static const struct kfield direction_fields[] = {
    F(window_seconds, "stabilizationWindowSeconds", KF_OPT_I32, OMIT),
    F(select_policy, "selectPolicy", KF_OPT_STR, OMIT),
    KF_LIST_OF(struct hpa_direction, policies, "policies", KF_OBJ, OMIT, .sub = &policy_schema),
    F(tolerance, "tolerance", KF_OPT_QTY, OMIT),
};
#undef F
static const struct kschema direction_schema =
    KSCHEMA("HPAScalingRules", struct hpa_direction, direction_fields);
static const struct kfield behavior_fields[] = {
    KF(struct hpa_behavior, up, "scaleUp", KF_OBJ, OBJ_PTR, .sub = &direction_schema),
    KF(struct hpa_behavior, down, "scaleDown", KF_OBJ, OBJ_PTR, .sub = &direction_schema),
};
static const struct kschema behavior_schema =
    KSCHEMA("HorizontalPodAutoscalerBehavior", struct hpa_behavior, behavior_fields);

#define F(member, json, type, ...) KF(struct hpa_spec, member, json, type, __VA_ARGS__)
static const struct kfield hpa_spec_fields[] = {
    F(target, "scaleTargetRef", KF_OBJ, .sub = &ref_schema),
    F(min_replicas, "minReplicas", KF_OPT_I32, OMIT),
    F(max_replicas, "maxReplicas", KF_I32),
    KF_LIST_OF(struct hpa_spec, metrics, "metrics", KF_OBJ, OMIT, .sub = &metric_schema),
    F(behavior, "behavior", KF_OBJ, OBJ_PTR, .sub = &behavior_schema),
};
#undef F
const struct kschema hpa_spec_schema =
    KSCHEMA("HorizontalPodAutoscalerSpec", struct hpa_spec, hpa_spec_fields);

/* ---- status ---------------------------------------------------------------------------------------- */

static const struct kfield value_fields[] = {
    KF(struct hpa_value, average_utilization, "averageUtilization", KF_OPT_I32, OMIT),
    KF(struct hpa_value, average_value, "averageValue", KF_STR, OMIT),
};
static const struct kschema value_schema =
    KSCHEMA("MetricValueStatus", struct hpa_value, value_fields);
#define F(member, json, type, ...) KF(struct hpa_resource_status, member, json, type, __VA_ARGS__)
static const struct kfield resource_status_fields[] = {
    F(name, "name", KF_STR),
    F(container, "container", KF_STR, OMIT),
    F(current, "current", KF_OBJ, .sub = &value_schema),
};
#undef F
static const struct kschema resource_status_schema =
    KSCHEMA("ResourceMetricStatus", struct hpa_resource_status, resource_status_fields);
static const struct kfield metric_status_fields[] = {
    KF(struct hpa_metric_status, type, "type", KF_STR),
    KF(struct hpa_metric_status, resource, "resource", KF_OBJ, OBJ_PTR,
       .sub = &resource_status_schema),
    KF(struct hpa_metric_status, container, "containerResource", KF_OBJ, OBJ_PTR,
       .sub = &resource_status_schema),
};
static const struct kschema metric_status_schema =
    KSCHEMA("MetricStatus", struct hpa_metric_status, metric_status_fields);
#define F(member, json, type, ...) KF(struct hpa_status, member, json, type, __VA_ARGS__)
static const struct kfield hpa_status_fields[] = {
    F(last_scale_time, "lastScaleTime", KF_TIME, OMIT),
    F(current_replicas, "currentReplicas", KF_I32),
    F(desired_replicas, "desiredReplicas", KF_I32),
    KF_LIST_OF(struct hpa_status, current_metrics, "currentMetrics", KF_OBJ,
               .sub = &metric_status_schema),
    CONDITIONS(struct hpa_status),
};
#undef F
const struct kschema hpa_status_schema =
    KSCHEMA("HorizontalPodAutoscalerStatus", struct hpa_status, hpa_status_fields);

static const struct kfield hpa_fields[] = {
    META(struct hpa),
    KF(struct hpa, spec, "spec", KF_OBJ, OMIT, .sub = &hpa_spec_schema),
    KF(struct hpa, status, "status", KF_OBJ, OMIT, .sub = &hpa_status_schema),
};
static const struct kschema hpa_schema = KSCHEMA("HorizontalPodAutoscaler", struct hpa, hpa_fields);
const struct kind doc_hpa = { .group = "autoscaling",
                              .version = "v2",
                              .kind = "HorizontalPodAutoscaler",
                              .plural = "horizontalpodautoscalers",
                              .namespaced = true,
                              .has_status = true,
                              .schema = &hpa_schema };
