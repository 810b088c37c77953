/* flowcontrol.c - flowcontrol.apiserver.k8s.io/v1: stored, nothing here is held back. */
#include "apiserver/schema/tables.h"

static const struct t_field flowcontrol_priority_level_configuration_reference_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(flowcontrol_priority_level_configuration_reference,
            "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference");

static const struct t_field flowcontrol_flow_distinguisher_method_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.FlowDistinguisherMethodType")),
    END,
};
static TYPE(flowcontrol_flow_distinguisher_method,
            "io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod");

static const struct t_field flowcontrol_user_subject_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(flowcontrol_user_subject, "io.k8s.api.flowcontrol.v1.UserSubject");

static const struct t_field flowcontrol_group_subject_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(flowcontrol_group_subject, "io.k8s.api.flowcontrol.v1.GroupSubject");

static const struct t_field flowcontrol_service_account_subject_fields[] = {
    F(1, "namespace", T_STR, T_REQ | T_EMIT),
    F(2, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(flowcontrol_service_account_subject, "io.k8s.api.flowcontrol.v1.ServiceAccountSubject");

static const struct t_field flowcontrol_subject_fields[] = {
    F(1, "kind", T_STR, T_REQ | T_EMIT, GO("v1.SubjectKind")),
    OBJ(2, "user", flowcontrol_user_subject, T_PTR),
    OBJ(3, "group", flowcontrol_group_subject, T_PTR),
    OBJ(4, "serviceAccount", flowcontrol_service_account_subject, T_PTR),
    END,
};
static TYPE(flowcontrol_subject, "io.k8s.api.flowcontrol.v1.Subject");

static const struct t_field flowcontrol_resource_policy_rule_fields[] = {
    LIST(1, "verbs", T_STR, T_REQ | T_SET | T_REPLACE | T_EMIT),
    LIST(2, "apiGroups", T_STR, T_REQ | T_SET | T_REPLACE | T_EMIT),
    LIST(3, "resources", T_STR, T_REQ | T_SET | T_REPLACE | T_EMIT),
    F(4, "clusterScope", T_BOOL, 0),
    LIST(5, "namespaces", T_STR, T_SET | T_REPLACE | T_EMIT),
    END,
};
static TYPE(flowcontrol_resource_policy_rule, "io.k8s.api.flowcontrol.v1.ResourcePolicyRule");

static const struct t_field flowcontrol_non_resource_policy_rule_fields[] = {
    LIST(1, "verbs", T_STR, T_REQ | T_SET | T_REPLACE | T_EMIT),
    LIST(6, "nonResourceURLs", T_STR, T_REQ | T_SET | T_REPLACE | T_EMIT),
    END,
};
static TYPE(flowcontrol_non_resource_policy_rule,
            "io.k8s.api.flowcontrol.v1.NonResourcePolicyRule");

static const struct t_field flowcontrol_policy_rules_with_subjects_fields[] = {
    OBJS(1, "subjects", flowcontrol_subject, T_REQ | T_ATOMIC | T_EMIT),
    OBJS(2, "resourceRules", flowcontrol_resource_policy_rule, T_ATOMIC),
    OBJS(3, "nonResourceRules", flowcontrol_non_resource_policy_rule, T_ATOMIC),
    END,
};
static TYPE(flowcontrol_policy_rules_with_subjects,
            "io.k8s.api.flowcontrol.v1.PolicyRulesWithSubjects");

static const struct t_field flowcontrol_flow_schema_spec_fields[] = {
    OBJ(1, "priorityLevelConfiguration", flowcontrol_priority_level_configuration_reference,
        T_REQ | T_EMIT),
    F(2, "matchingPrecedence", T_I32, T_EMIT, DEF("1000")),
    OBJ(3, "distinguisherMethod", flowcontrol_flow_distinguisher_method, T_PTR),
    OBJS(4, "rules", flowcontrol_policy_rules_with_subjects, T_ATOMIC),
    END,
};
static TYPE(flowcontrol_flow_schema_spec, "io.k8s.api.flowcontrol.v1.FlowSchemaSpec");

static const struct t_field flowcontrol_flow_schema_condition_fields[] = {
    F(1, "type", T_STR, 0, GO("v1.FlowSchemaConditionType")),
    F(2, "status", T_STR, 0, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(flowcontrol_flow_schema_condition, "io.k8s.api.flowcontrol.v1.FlowSchemaCondition");

static const struct t_field flowcontrol_flow_schema_status_fields[] = {
    OBJS(1, "conditions", flowcontrol_flow_schema_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(flowcontrol_flow_schema_status, "io.k8s.api.flowcontrol.v1.FlowSchemaStatus");

static const struct t_field flowcontrol_flow_schema_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", flowcontrol_flow_schema_spec, T_EMIT),
    OBJ(3, "status", flowcontrol_flow_schema_status, T_EMIT),
    END,
};
TYPE(flowcontrol_flow_schema, "io.k8s.api.flowcontrol.v1.FlowSchema");

static const struct t_field flowcontrol_queuing_configuration_fields[] = {
    F(1, "queues", T_I32, T_EMIT, DEF("64")),
    F(2, "handSize", T_I32, T_EMIT, DEF("8")),
    F(3, "queueLengthLimit", T_I32, T_EMIT, DEF("50")),
    END,
};
static TYPE(flowcontrol_queuing_configuration, "io.k8s.api.flowcontrol.v1.QueuingConfiguration");

static const struct t_field flowcontrol_limit_response_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.LimitResponseType")),
    OBJ(2, "queuing", flowcontrol_queuing_configuration, T_PTR),
    END,
};
static TYPE(flowcontrol_limit_response, "io.k8s.api.flowcontrol.v1.LimitResponse");

static const struct t_field flowcontrol_limited_priority_level_configuration_fields[] = {
    F(1, "nominalConcurrencyShares", T_I32, T_PTR | T_EMIT, DEF("30")),
    OBJ(2, "limitResponse", flowcontrol_limit_response, T_EMIT),
    F(3, "lendablePercent", T_I32, T_PTR, DEF("0")),
    F(4, "borrowingLimitPercent", T_I32, T_PTR),
    END,
};
static TYPE(flowcontrol_limited_priority_level_configuration,
            "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration");

static const struct t_field flowcontrol_exempt_priority_level_configuration_fields[] = {
    F(1, "nominalConcurrencyShares", T_I32, T_PTR, DEF("0")),
    F(2, "lendablePercent", T_I32, T_PTR, DEF("0")),
    END,
};
static TYPE(flowcontrol_exempt_priority_level_configuration,
            "io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration");

static const struct t_field flowcontrol_priority_level_configuration_spec_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.PriorityLevelEnablement")),
    OBJ(2, "limited", flowcontrol_limited_priority_level_configuration, T_PTR),
    OBJ(3, "exempt", flowcontrol_exempt_priority_level_configuration, T_PTR),
    END,
};
static TYPE(flowcontrol_priority_level_configuration_spec,
            "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec");

static const struct t_field flowcontrol_priority_level_configuration_condition_fields[] = {
    F(1, "type", T_STR, 0, GO("v1.PriorityLevelConfigurationConditionType")),
    F(2, "status", T_STR, 0, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, T_EMIT),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    END,
};
static TYPE(flowcontrol_priority_level_configuration_condition,
            "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition");

static const struct t_field flowcontrol_priority_level_configuration_status_fields[] = {
    OBJS(1, "conditions", flowcontrol_priority_level_configuration_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(flowcontrol_priority_level_configuration_status,
            "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus");

static const struct t_field flowcontrol_priority_level_configuration_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", flowcontrol_priority_level_configuration_spec, T_EMIT),
    OBJ(3, "status", flowcontrol_priority_level_configuration_status, T_EMIT),
    END,
};
TYPE(flowcontrol_priority_level_configuration,
     "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration");
