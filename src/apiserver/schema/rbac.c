/* rbac.c - rbac.authorization.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field rbac_policy_rule_fields[] = {
    LIST("verbs", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    LIST("apiGroups", T_STR, T_ATOMIC),
    LIST("resources", T_STR, T_ATOMIC),
    LIST("resourceNames", T_STR, T_ATOMIC),
    LIST("nonResourceURLs", T_STR, T_ATOMIC),
    END,
};
static TYPE(rbac_policy_rule, "io.k8s.api.rbac.v1.PolicyRule");

static const struct t_field rbac_role_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("rules", rbac_policy_rule, T_EMIT | T_ATOMIC),
    END,
};
TYPE(rbac_role, "io.k8s.api.rbac.v1.Role");

static const struct t_field rbac_subject_fields[] = {
    F("kind", T_STR, T_REQ | T_EMIT),
    F("apiGroup", T_STR, 0),
    F("name", T_STR, T_REQ | T_EMIT),
    F("namespace", T_STR, 0),
    END,
};
static TYPE(rbac_subject, "io.k8s.api.rbac.v1.Subject");

static const struct t_field rbac_role_ref_fields[] = {
    F("apiGroup", T_STR, T_REQ | T_EMIT, DEF("\"rbac.authorization.k8s.io\"")),
    F("kind", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(rbac_role_ref, "io.k8s.api.rbac.v1.RoleRef");

static const struct t_field rbac_role_binding_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("subjects", rbac_subject, T_ATOMIC),
    OBJ("roleRef", rbac_role_ref, T_REQ | T_EMIT),
    END,
};
TYPE(rbac_role_binding, "io.k8s.api.rbac.v1.RoleBinding");

static const struct t_field rbac_aggregation_rule_fields[] = {
    OBJS("clusterRoleSelectors", meta_label_selector, T_ATOMIC),
    END,
};
static TYPE(rbac_aggregation_rule, "io.k8s.api.rbac.v1.AggregationRule");

static const struct t_field rbac_cluster_role_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("rules", rbac_policy_rule, T_EMIT | T_ATOMIC),
    OBJ("aggregationRule", rbac_aggregation_rule, T_PTR),
    END,
};
TYPE(rbac_cluster_role, "io.k8s.api.rbac.v1.ClusterRole");

static const struct t_field rbac_cluster_role_binding_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("subjects", rbac_subject, T_ATOMIC),
    OBJ("roleRef", rbac_role_ref, T_REQ | T_EMIT),
    END,
};
TYPE(rbac_cluster_role_binding, "io.k8s.api.rbac.v1.ClusterRoleBinding");
