/* rbac.c - rbac.authorization.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field rbac_policy_rule_fields[] = {
    LIST(1, "verbs", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    LIST(2, "apiGroups", T_STR, T_ATOMIC),
    LIST(3, "resources", T_STR, T_ATOMIC),
    LIST(4, "resourceNames", T_STR, T_ATOMIC),
    LIST(5, "nonResourceURLs", T_STR, T_ATOMIC),
    END,
};
static TYPE(rbac_policy_rule, "io.k8s.api.rbac.v1.PolicyRule");

static const struct t_field rbac_role_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "rules", rbac_policy_rule, T_EMIT | T_ATOMIC),
    END,
};
TYPE(rbac_role, "io.k8s.api.rbac.v1.Role");

static const struct t_field rbac_subject_fields[] = {
    F(1, "kind", T_STR, T_REQ | T_EMIT),
    F(2, "apiGroup", T_STR, 0),
    F(3, "name", T_STR, T_REQ | T_EMIT),
    F(4, "namespace", T_STR, 0),
    END,
};
static ATOMIC_TYPE(rbac_subject, "io.k8s.api.rbac.v1.Subject");

static const struct t_field rbac_role_ref_fields[] = {
    F(1, "apiGroup", T_STR, T_REQ | T_EMIT, DEF("\"rbac.authorization.k8s.io\"")),
    F(2, "kind", T_STR, T_REQ | T_EMIT),
    F(3, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static ATOMIC_TYPE(rbac_role_ref, "io.k8s.api.rbac.v1.RoleRef");

static const struct t_field rbac_role_binding_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "subjects", rbac_subject, T_ATOMIC),
    OBJ(3, "roleRef", rbac_role_ref, T_REQ | T_EMIT),
    END,
};
TYPE(rbac_role_binding, "io.k8s.api.rbac.v1.RoleBinding");

static const struct t_field rbac_aggregation_rule_fields[] = {
    OBJS(1, "clusterRoleSelectors", meta_label_selector, T_ATOMIC),
    END,
};
static TYPE(rbac_aggregation_rule, "io.k8s.api.rbac.v1.AggregationRule");

static const struct t_field rbac_cluster_role_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "rules", rbac_policy_rule, T_EMIT | T_ATOMIC),
    OBJ(3, "aggregationRule", rbac_aggregation_rule, T_PTR),
    END,
};
TYPE(rbac_cluster_role, "io.k8s.api.rbac.v1.ClusterRole");

static const struct t_field rbac_cluster_role_binding_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "subjects", rbac_subject, T_ATOMIC),
    OBJ(3, "roleRef", rbac_role_ref, T_REQ | T_EMIT),
    END,
};
TYPE(rbac_cluster_role_binding, "io.k8s.api.rbac.v1.ClusterRoleBinding");
