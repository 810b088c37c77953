/* core_common.c - core/v1: references and selectors that several kinds use. */
#include "apiserver/schema/tables.h"

static const struct t_field core_object_reference_fields[] = {
    F("kind", T_STR, 0),       F("namespace", T_STR, 0),
    F("name", T_STR, 0),       F("uid", T_STR, 0, GO("types.UID")),
    F("apiVersion", T_STR, 0), F("resourceVersion", T_STR, 0),
    F("fieldPath", T_STR, 0),  END,
};
TYPE(core_object_reference, "io.k8s.api.core.v1.ObjectReference");

static const struct t_field core_local_object_reference_fields[] = {
    F("name", T_STR, 0),
    END,
};
TYPE(core_local_object_reference, "io.k8s.api.core.v1.LocalObjectReference");

static const struct t_field core_typed_local_object_reference_fields[] = {
    F("apiGroup", T_STR, T_PTR | T_EMIT),
    F("kind", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    END,
};
TYPE(core_typed_local_object_reference, "io.k8s.api.core.v1.TypedLocalObjectReference");

static const char *const node_selector_operator_values[] = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL
};
static const struct t_field core_node_selector_requirement_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    ENUM("operator", node_selector_operator_values, "v1.NodeSelectorOperator", T_REQ | T_EMIT),
    LIST("values", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_node_selector_requirement, "io.k8s.api.core.v1.NodeSelectorRequirement");

static const struct t_field core_node_selector_term_fields[] = {
    OBJS("matchExpressions", core_node_selector_requirement, T_ATOMIC),
    OBJS("matchFields", core_node_selector_requirement, T_ATOMIC),
    END,
};
TYPE(core_node_selector_term, "io.k8s.api.core.v1.NodeSelectorTerm");

static const struct t_field core_node_selector_fields[] = {
    OBJS("nodeSelectorTerms", core_node_selector_term, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
TYPE(core_node_selector, "io.k8s.api.core.v1.NodeSelector");

static const struct t_field core_topology_selector_label_requirement_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    LIST("values", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(core_topology_selector_label_requirement,
            "io.k8s.api.core.v1.TopologySelectorLabelRequirement");

static const struct t_field core_topology_selector_term_fields[] = {
    OBJS("matchLabelExpressions", core_topology_selector_label_requirement, T_ATOMIC),
    END,
};
TYPE(core_topology_selector_term, "io.k8s.api.core.v1.TopologySelectorTerm");
