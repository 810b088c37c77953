/* policy.c - policy/v1, and the Scale of autoscaling/v1. */
#include "apiserver/schema/tables.h"

static const char *const unhealthy_pod_eviction_policy_type_values[] = { "IfHealthyBudget",
                                                                         "AlwaysAllow", NULL };
static const struct t_field policy_pod_disruption_budget_spec_fields[] = {
    F(1, "minAvailable", T_IOS, T_PTR),
    OBJ(2, "selector", meta_label_selector, T_PTR | T_REPLACE),
    F(3, "maxUnavailable", T_IOS, T_PTR),
    ENUM(4, "unhealthyPodEvictionPolicy", unhealthy_pod_eviction_policy_type_values,
         "v1.UnhealthyPodEvictionPolicyType", T_PTR),
    END,
};
static TYPE(policy_pod_disruption_budget_spec, "io.k8s.api.policy.v1.PodDisruptionBudgetSpec");

static const struct t_field policy_pod_disruption_budget_status_fields[] = {
    F(1, "observedGeneration", T_I64, 0),
    MAP(2, "disruptedPods", T_TIME, 0),
    F(3, "disruptionsAllowed", T_I32, T_REQ | T_EMIT),
    F(4, "currentHealthy", T_I32, T_REQ | T_EMIT),
    F(5, "desiredHealthy", T_I32, T_REQ | T_EMIT),
    F(6, "expectedPods", T_I32, T_REQ | T_EMIT),
    OBJS(7, "conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(policy_pod_disruption_budget_status, "io.k8s.api.policy.v1.PodDisruptionBudgetStatus");

static const struct t_field policy_pod_disruption_budget_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", policy_pod_disruption_budget_spec, T_EMIT),
    OBJ(3, "status", policy_pod_disruption_budget_status, T_EMIT),
    END,
};
TYPE(policy_pod_disruption_budget, "io.k8s.api.policy.v1.PodDisruptionBudget");

static const struct t_field policy_eviction_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "deleteOptions", meta_delete_options, T_PTR),
    END,
};
TYPE(policy_eviction, "io.k8s.api.policy.v1.Eviction");

static const struct t_field autoscaling_scale_spec_fields[] = {
    F(1, "replicas", T_I32, 0),
    END,
};
static TYPE(autoscaling_scale_spec, "io.k8s.api.autoscaling.v1.ScaleSpec");

static const struct t_field autoscaling_scale_status_fields[] = {
    F(1, "replicas", T_I32, T_REQ | T_EMIT),
    F(2, "selector", T_STR, 0),
    END,
};
static TYPE(autoscaling_scale_status, "io.k8s.api.autoscaling.v1.ScaleStatus");

static const struct t_field autoscaling_scale_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", autoscaling_scale_spec, T_EMIT),
    OBJ(3, "status", autoscaling_scale_status, T_EMIT),
    END,
};
TYPE(autoscaling_scale, "io.k8s.api.autoscaling.v1.Scale");
