/* runtimeclass.c - node.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field node_overhead_fields[] = {
    MAP(1, "podFixed", T_QTY, 0, GO("v1.ResourceList")),
    END,
};
static TYPE(node_overhead, "io.k8s.api.node.v1.Overhead");

static const struct t_field node_scheduling_fields[] = {
    MAP(1, "nodeSelector", T_STR, T_ATOMIC),
    OBJS(2, "tolerations", core_toleration, T_ATOMIC),
    END,
};
static TYPE(node_scheduling, "io.k8s.api.node.v1.Scheduling");

static const struct t_field node_runtime_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "handler", T_STR, T_REQ | T_EMIT),
    OBJ(3, "overhead", node_overhead, T_PTR),
    OBJ(4, "scheduling", node_scheduling, T_PTR),
    END,
};
TYPE(node_runtime_class, "io.k8s.api.node.v1.RuntimeClass");
