/* registration.c - apiregistration.k8s.io/v1 APIService, and core/v1 ComponentStatus. */
#include "apiserver/schema/tables.h"

static const struct t_field registration_service_reference_fields[] = {
    F(1, "namespace", T_STR, 0),
    F(2, "name", T_STR, 0),
    F(3, "port", T_I32, T_PTR),
    END,
};
static TYPE(registration_service_reference,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference");

static const struct t_field registration_api_service_spec_fields[] = {
    OBJ(1, "service", registration_service_reference, T_PTR),
    F(2, "group", T_STR, 0),
    F(3, "version", T_STR, 0),
    F(4, "insecureSkipTLSVerify", T_BOOL, 0),
    F(5, "caBundle", T_BYTES, T_ATOMIC),
    F(7, "groupPriorityMinimum", T_I32, T_REQ | T_EMIT),
    F(8, "versionPriority", T_I32, T_REQ | T_EMIT),
    END,
};
static TYPE(registration_api_service_spec,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec");

static const struct t_field registration_api_service_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.APIServiceConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(registration_api_service_condition,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceCondition");

static const struct t_field registration_api_service_status_fields[] = {
    OBJS(1, "conditions", registration_api_service_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(registration_api_service_status,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus");

static const struct t_field registration_api_service_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", registration_api_service_spec, T_EMIT),
    OBJ(3, "status", registration_api_service_status, T_EMIT),
    END,
};
TYPE(registration_api_service, "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService");

static const struct t_field core_component_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.ComponentConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "message", T_STR, 0),
    F(4, "error", T_STR, 0),
    END,
};
static TYPE(core_component_condition, "io.k8s.api.core.v1.ComponentCondition");

static const struct t_field core_component_status_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "conditions", core_component_condition, T_KEY, KEYS("type")),
    END,
};
TYPE(core_component_status, "io.k8s.api.core.v1.ComponentStatus");
