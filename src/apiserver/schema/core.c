/* core.c - core/v1: the kinds that have no file of their own. */
#include "apiserver/schema/tables.h"

static const struct t_field core_namespace_spec_fields[] = {
    LIST(1, "finalizers", T_STR, T_ATOMIC, GO("v1.FinalizerName")),
    END,
};
static TYPE(core_namespace_spec, "io.k8s.api.core.v1.NamespaceSpec");

static const struct t_field core_namespace_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.NamespaceConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(4, "lastTransitionTime", T_TIME, T_EMIT),
    F(5, "reason", T_STR, 0),
    F(6, "message", T_STR, 0),
    END,
};
static TYPE(core_namespace_condition, "io.k8s.api.core.v1.NamespaceCondition");

static const char *const namespace_phase_values[] = { "Active", "Terminating", NULL };
static const struct t_field core_namespace_status_fields[] = {
    ENUM(1, "phase", namespace_phase_values, "v1.NamespacePhase", 0, DEF("\"Active\"")),
    OBJS(2, "conditions", core_namespace_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(core_namespace_status, "io.k8s.api.core.v1.NamespaceStatus");

static const struct t_field core_namespace_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_namespace_spec, T_EMIT),
    OBJ(3, "status", core_namespace_status, T_EMIT),
    END,
};
TYPE(core_namespace, "io.k8s.api.core.v1.Namespace");

static const struct t_field core_event_source_fields[] = {
    F(1, "component", T_STR, 0),
    F(2, "host", T_STR, 0),
    END,
};
TYPE(core_event_source, "io.k8s.api.core.v1.EventSource");

static const struct t_field core_event_series_fields[] = {
    F(1, "count", T_I32, 0),
    F(2, "lastObservedTime", T_MICRO, T_EMIT),
    END,
};
static TYPE(core_event_series, "io.k8s.api.core.v1.EventSeries");

static const struct t_field core_event_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_REQ | T_EMIT),
    OBJ(2, "involvedObject", core_object_reference, T_REQ | T_EMIT),
    F(3, "reason", T_STR, 0),
    F(4, "message", T_STR, 0),
    OBJ(5, "source", core_event_source, T_EMIT),
    F(6, "firstTimestamp", T_TIME, T_EMIT),
    F(7, "lastTimestamp", T_TIME, T_EMIT),
    F(8, "count", T_I32, 0),
    F(9, "type", T_STR, 0),
    F(10, "eventTime", T_MICRO, T_EMIT),
    OBJ(11, "series", core_event_series, T_PTR),
    F(12, "action", T_STR, 0),
    OBJ(13, "related", core_object_reference, T_PTR),
    F(14, "reportingComponent", T_STR, T_EMIT),
    F(15, "reportingInstance", T_STR, T_EMIT),
    END,
};
TYPE(core_event, "io.k8s.api.core.v1.Event");

static const struct t_field core_config_map_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(4, "immutable", T_BOOL, T_PTR),
    MAP(2, "data", T_STR, 0),
    MAP(3, "binaryData", T_BYTES, 0),
    END,
};
TYPE(core_config_map, "io.k8s.api.core.v1.ConfigMap");

static const struct t_field core_secret_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(5, "immutable", T_BOOL, T_PTR),
    MAP(2, "data", T_BYTES, 0),
    MAP(4, "stringData", T_STR, 0),
    F(3, "type", T_STR, 0, DEF("\"Opaque\""), GO("v1.SecretType")),
    END,
};
TYPE(core_secret, "io.k8s.api.core.v1.Secret");

static const struct t_field core_replication_controller_spec_fields[] = {
    F(1, "replicas", T_I32, T_PTR, DEF("1")),
    F(4, "minReadySeconds", T_I32, 0),
    MAP(2, "selector", T_STR, T_ATOMIC),
    OBJ(3, "template", core_pod_template_spec, T_PTR),
    END,
};
static TYPE(core_replication_controller_spec, "io.k8s.api.core.v1.ReplicationControllerSpec");

static const struct t_field core_replication_controller_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.ReplicationControllerConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(core_replication_controller_condition,
            "io.k8s.api.core.v1.ReplicationControllerCondition");

static const struct t_field core_replication_controller_status_fields[] = {
    F(1, "replicas", T_I32, T_REQ | T_EMIT),
    F(2, "fullyLabeledReplicas", T_I32, 0),
    F(4, "readyReplicas", T_I32, 0),
    F(5, "availableReplicas", T_I32, 0),
    F(3, "observedGeneration", T_I64, 0),
    OBJS(6, "conditions", core_replication_controller_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(core_replication_controller_status, "io.k8s.api.core.v1.ReplicationControllerStatus");

static const struct t_field core_replication_controller_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_replication_controller_spec, T_EMIT),
    OBJ(3, "status", core_replication_controller_status, T_EMIT),
    END,
};
TYPE(core_replication_controller, "io.k8s.api.core.v1.ReplicationController");

static const struct t_field core_limit_range_item_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.LimitType")),
    MAP(2, "max", T_QTY, 0, GO("v1.ResourceList")),
    MAP(3, "min", T_QTY, 0, GO("v1.ResourceList")),
    MAP(4, "default", T_QTY, 0, GO("v1.ResourceList")),
    MAP(5, "defaultRequest", T_QTY, 0, GO("v1.ResourceList")),
    MAP(6, "maxLimitRequestRatio", T_QTY, 0, GO("v1.ResourceList")),
    END,
};
static TYPE(core_limit_range_item, "io.k8s.api.core.v1.LimitRangeItem");

static const struct t_field core_limit_range_spec_fields[] = {
    OBJS(1, "limits", core_limit_range_item, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(core_limit_range_spec, "io.k8s.api.core.v1.LimitRangeSpec");

static const struct t_field core_limit_range_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_limit_range_spec, T_EMIT),
    END,
};
TYPE(core_limit_range, "io.k8s.api.core.v1.LimitRange");

static const char *const resource_quota_scope_values[] = { "Terminating",
                                                           "NotTerminating",
                                                           "BestEffort",
                                                           "NotBestEffort",
                                                           "PriorityClass",
                                                           "CrossNamespacePodAffinity",
                                                           "VolumeAttributesClass",
                                                           NULL };
static const char *const scope_selector_operator_values[] = { "In", "NotIn", "Exists",
                                                              "DoesNotExist", NULL };
static const struct t_field core_scoped_resource_selector_requirement_fields[] = {
    ENUM(1, "scopeName", resource_quota_scope_values, "v1.ResourceQuotaScope", T_REQ | T_EMIT),
    ENUM(2, "operator", scope_selector_operator_values, "v1.ScopeSelectorOperator", T_REQ | T_EMIT),
    LIST(3, "values", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_scoped_resource_selector_requirement,
            "io.k8s.api.core.v1.ScopedResourceSelectorRequirement");

static const struct t_field core_scope_selector_fields[] = {
    OBJS(1, "matchExpressions", core_scoped_resource_selector_requirement, T_ATOMIC),
    END,
};
static ATOMIC_TYPE(core_scope_selector, "io.k8s.api.core.v1.ScopeSelector");

static const struct t_field core_resource_quota_spec_fields[] = {
    MAP(1, "hard", T_QTY, 0, GO("v1.ResourceList")),
    ENUMS(2, "scopes", resource_quota_scope_values, "v1.ResourceQuotaScope", T_ATOMIC),
    OBJ(3, "scopeSelector", core_scope_selector, T_PTR),
    END,
};
static TYPE(core_resource_quota_spec, "io.k8s.api.core.v1.ResourceQuotaSpec");

static const struct t_field core_resource_quota_status_fields[] = {
    MAP(1, "hard", T_QTY, 0, GO("v1.ResourceList")),
    MAP(2, "used", T_QTY, 0, GO("v1.ResourceList")),
    END,
};
static TYPE(core_resource_quota_status, "io.k8s.api.core.v1.ResourceQuotaStatus");

static const struct t_field core_resource_quota_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_resource_quota_spec, T_EMIT),
    OBJ(3, "status", core_resource_quota_status, T_EMIT),
    END,
};
TYPE(core_resource_quota, "io.k8s.api.core.v1.ResourceQuota");
