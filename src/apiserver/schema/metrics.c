/* metrics.c - metrics.k8s.io/v1beta1. */
#include "apiserver/schema/tables.h"

static const struct t_field metrics_container_metrics_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    MAP(2, "usage", T_QTY, T_REQ | T_EMIT, GO("v1.ResourceList")),
    END,
};
static TYPE(metrics_container_metrics, "io.k8s.metrics.pkg.apis.metrics.v1beta1.ContainerMetrics");

static const struct t_field metrics_node_metrics_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "timestamp", T_TIME, T_REQ | T_EMIT),
    F(3, "window", T_DUR, T_REQ | T_EMIT),
    MAP(4, "usage", T_QTY, T_REQ | T_EMIT, GO("v1.ResourceList")),
    END,
};
TYPE(metrics_node_metrics, "io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics");

static const struct t_field metrics_pod_metrics_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "timestamp", T_TIME, T_REQ | T_EMIT),
    F(3, "window", T_DUR, T_REQ | T_EMIT),
    OBJS(4, "containers", metrics_container_metrics, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
TYPE(metrics_pod_metrics, "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics");
