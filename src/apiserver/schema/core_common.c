/* core_common.c - core/v1: references and selectors that several kinds use. */
#include "apiserver/schema/tables.h"

static const struct t_field core_object_reference_fields[] = {
    F(1, "kind", T_STR, 0),       F(2, "namespace", T_STR, 0),
    F(3, "name", T_STR, 0),       F(4, "uid", T_STR, 0, GO("types.UID")),
    F(5, "apiVersion", T_STR, 0), F(6, "resourceVersion", T_STR, 0),
    F(7, "fieldPath", T_STR, 0),  END,
};
ATOMIC_TYPE(core_object_reference, "io.k8s.api.core.v1.ObjectReference");

static const struct t_field core_local_object_reference_fields[] = {
    F(1, "name", T_STR, 0),
    END,
};
ATOMIC_TYPE(core_local_object_reference, "io.k8s.api.core.v1.LocalObjectReference");

static const struct t_field core_typed_local_object_reference_fields[] = {
    F(1, "apiGroup", T_STR, T_PTR | T_EMIT),
    F(2, "kind", T_STR, T_REQ | T_EMIT),
    F(3, "name", T_STR, T_REQ | T_EMIT),
    END,
};
ATOMIC_TYPE(core_typed_local_object_reference, "io.k8s.api.core.v1.TypedLocalObjectReference");

static const char *const node_selector_operator_values[] = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL
};
static const struct t_field core_node_selector_requirement_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    ENUM(2, "operator", node_selector_operator_values, "v1.NodeSelectorOperator", T_REQ | T_EMIT),
    LIST(3, "values", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_node_selector_requirement, "io.k8s.api.core.v1.NodeSelectorRequirement");

static const struct t_field core_node_selector_term_fields[] = {
    OBJS(1, "matchExpressions", core_node_selector_requirement, T_ATOMIC),
    OBJS(2, "matchFields", core_node_selector_requirement, T_ATOMIC),
    END,
};
ATOMIC_TYPE(core_node_selector_term, "io.k8s.api.core.v1.NodeSelectorTerm");

static const struct t_field core_node_selector_fields[] = {
    OBJS(1, "nodeSelectorTerms", core_node_selector_term, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
ATOMIC_TYPE(core_node_selector, "io.k8s.api.core.v1.NodeSelector");

static const struct t_field core_topology_selector_label_requirement_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    LIST(2, "values", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(core_topology_selector_label_requirement,
            "io.k8s.api.core.v1.TopologySelectorLabelRequirement");

static const struct t_field core_topology_selector_term_fields[] = {
    OBJS(1, "matchLabelExpressions", core_topology_selector_label_requirement, T_ATOMIC),
    END,
};
ATOMIC_TYPE(core_topology_selector_term, "io.k8s.api.core.v1.TopologySelectorTerm");
