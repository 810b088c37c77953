/* policy.c - policy/v1, and the Scale of autoscaling/v1. */
#include "apiserver/schema/tables.h"

static const char *const unhealthy_pod_eviction_policy_type_values[] = { "IfHealthyBudget",
                                                                         "AlwaysAllow", NULL };
static const struct t_field policy_pod_disruption_budget_spec_fields[] = {
    F("minAvailable", T_IOS, T_PTR),
    OBJ("selector", meta_label_selector, T_PTR | T_REPLACE),
    F("maxUnavailable", T_IOS, T_PTR),
    ENUM("unhealthyPodEvictionPolicy", unhealthy_pod_eviction_policy_type_values,
         "v1.UnhealthyPodEvictionPolicyType", T_PTR),
    END,
};
static TYPE(policy_pod_disruption_budget_spec, "io.k8s.api.policy.v1.PodDisruptionBudgetSpec");

static const struct t_field policy_pod_disruption_budget_status_fields[] = {
    F("observedGeneration", T_I64, 0),
    MAP("disruptedPods", T_TIME, 0),
    F("disruptionsAllowed", T_I32, T_REQ | T_EMIT),
    F("currentHealthy", T_I32, T_REQ | T_EMIT),
    F("desiredHealthy", T_I32, T_REQ | T_EMIT),
    F("expectedPods", T_I32, T_REQ | T_EMIT),
    OBJS("conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(policy_pod_disruption_budget_status, "io.k8s.api.policy.v1.PodDisruptionBudgetStatus");

static const struct t_field policy_pod_disruption_budget_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", policy_pod_disruption_budget_spec, T_EMIT),
    OBJ("status", policy_pod_disruption_budget_status, T_EMIT),
    END,
};
TYPE(policy_pod_disruption_budget, "io.k8s.api.policy.v1.PodDisruptionBudget");

static const struct t_field policy_eviction_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("deleteOptions", meta_delete_options, T_PTR),
    END,
};
TYPE(policy_eviction, "io.k8s.api.policy.v1.Eviction");

static const struct t_field autoscaling_scale_spec_fields[] = {
    F("replicas", T_I32, 0),
    END,
};
static TYPE(autoscaling_scale_spec, "io.k8s.api.autoscaling.v1.ScaleSpec");

static const struct t_field autoscaling_scale_status_fields[] = {
    F("replicas", T_I32, T_REQ | T_EMIT),
    F("selector", T_STR, 0),
    END,
};
static TYPE(autoscaling_scale_status, "io.k8s.api.autoscaling.v1.ScaleStatus");

static const struct t_field autoscaling_scale_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", autoscaling_scale_spec, T_EMIT),
    OBJ("status", autoscaling_scale_status, T_EMIT),
    END,
};
TYPE(autoscaling_scale, "io.k8s.api.autoscaling.v1.Scale");
