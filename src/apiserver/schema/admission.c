/* admission.c - admissionregistration.k8s.io/v1: webhook configurations and policies. */
#include "apiserver/schema/tables.h"

static const struct t_field admission_service_reference_fields[] = {
    F(1, "namespace", T_STR, T_REQ | T_EMIT),
    F(2, "name", T_STR, T_REQ | T_EMIT),
    F(3, "path", T_STR, T_PTR),
    F(4, "port", T_I32, T_PTR, DEF("443")),
    END,
};
static TYPE(admission_service_reference, "io.k8s.api.admissionregistration.v1.ServiceReference");

static const struct t_field admission_webhook_client_config_fields[] = {
    F(3, "url", T_STR, T_PTR),
    OBJ(1, "service", admission_service_reference, T_PTR),
    F(2, "caBundle", T_BYTES, 0),
    END,
};
static TYPE(admission_webhook_client_config,
            "io.k8s.api.admissionregistration.v1.WebhookClientConfig");

static const char *const operation_type_values[] = { "*",      "CREATE",  "UPDATE",
                                                     "DELETE", "CONNECT", NULL };
static const char *const scope_type_values[] = { "Cluster", "Namespaced", "*", NULL };
static const struct t_field admission_rule_with_operations_fields[] = {
    ENUMS(1, "operations", operation_type_values, "v1.OperationType", T_ATOMIC),
    LIST(IN(2, 1), "apiGroups", T_STR, T_ATOMIC),
    LIST(IN(2, 2), "apiVersions", T_STR, T_ATOMIC),
    LIST(IN(2, 3), "resources", T_STR, T_ATOMIC),
    ENUM(IN(2, 4), "scope", scope_type_values, "v1.ScopeType", T_PTR, DEF("\"*\"")),
    END,
};
static TYPE(admission_rule_with_operations,
            "io.k8s.api.admissionregistration.v1.RuleWithOperations");

static const struct t_field admission_match_condition_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "expression", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(admission_match_condition, "io.k8s.api.admissionregistration.v1.MatchCondition");

static const char *const failure_policy_type_values[] = { "Ignore", "Fail", NULL };
static const char *const match_policy_type_values[] = { "Exact", "Equivalent", NULL };
static const char *const side_effect_class_values[] = { "Unknown", "None", "Some", "NoneOnDryRun",
                                                        NULL };
static const char *const reinvocation_policy_type_values[] = { "Never", "IfNeeded", NULL };
static const struct t_field admission_mutating_webhook_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "clientConfig", admission_webhook_client_config, T_REQ | T_EMIT),
    OBJS(3, "rules", admission_rule_with_operations, T_ATOMIC),
    ENUM(4, "failurePolicy", failure_policy_type_values, "v1.FailurePolicyType", T_PTR,
         DEF("\"Fail\"")),
    ENUM(9, "matchPolicy", match_policy_type_values, "v1.MatchPolicyType", T_PTR,
         DEF("\"Equivalent\"")),
    OBJ(5, "namespaceSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJ(11, "objectSelector", meta_label_selector, T_PTR, DEF("{}")),
    ENUM(6, "sideEffects", side_effect_class_values, "v1.SideEffectClass", T_REQ | T_PTR | T_EMIT),
    F(7, "timeoutSeconds", T_I32, T_PTR, DEF("10")),
    LIST(8, "admissionReviewVersions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    ENUM(10, "reinvocationPolicy", reinvocation_policy_type_values, "v1.ReinvocationPolicyType",
         T_PTR, DEF("\"Never\"")),
    OBJS(12, "matchConditions", admission_match_condition, T_KEY, KEYS("name")),
    END,
};
static TYPE(admission_mutating_webhook, "io.k8s.api.admissionregistration.v1.MutatingWebhook");

static const struct t_field admission_mutating_webhook_configuration_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "webhooks", admission_mutating_webhook, T_KEY, KEYS("name")),
    END,
};
TYPE(admission_mutating_webhook_configuration,
     "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration");

static const struct t_field admission_validating_webhook_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "clientConfig", admission_webhook_client_config, T_REQ | T_EMIT),
    OBJS(3, "rules", admission_rule_with_operations, T_ATOMIC),
    ENUM(4, "failurePolicy", failure_policy_type_values, "v1.FailurePolicyType", T_PTR,
         DEF("\"Fail\"")),
    ENUM(9, "matchPolicy", match_policy_type_values, "v1.MatchPolicyType", T_PTR,
         DEF("\"Equivalent\"")),
    OBJ(5, "namespaceSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJ(10, "objectSelector", meta_label_selector, T_PTR, DEF("{}")),
    ENUM(6, "sideEffects", side_effect_class_values, "v1.SideEffectClass", T_REQ | T_PTR | T_EMIT),
    F(7, "timeoutSeconds", T_I32, T_PTR, DEF("10")),
    LIST(8, "admissionReviewVersions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    OBJS(11, "matchConditions", admission_match_condition, T_KEY, KEYS("name")),
    END,
};
static TYPE(admission_validating_webhook, "io.k8s.api.admissionregistration.v1.ValidatingWebhook");

static const struct t_field admission_validating_webhook_configuration_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "webhooks", admission_validating_webhook, T_KEY, KEYS("name")),
    END,
};
TYPE(admission_validating_webhook_configuration,
     "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration");

/* ---- policies --------------------------------------------------------------------------------- */

static const struct t_field admission_param_kind_fields[] = {
    F(1, "apiVersion", T_STR, 0),
    F(2, "kind", T_STR, 0),
    END,
};
static ATOMIC_TYPE(admission_param_kind, "io.k8s.api.admissionregistration.v1.ParamKind");

static const struct t_field admission_named_rule_with_operations_fields[] = {
    LIST(1, "resourceNames", T_STR, T_ATOMIC),
    ENUMS(IN(2, 1), "operations", operation_type_values, "v1.OperationType", T_ATOMIC),
    LIST(IN_IN(2, 2, 1), "apiGroups", T_STR, T_ATOMIC),
    LIST(IN_IN(2, 2, 2), "apiVersions", T_STR, T_ATOMIC),
    LIST(IN_IN(2, 2, 3), "resources", T_STR, T_ATOMIC),
    ENUM(IN_IN(2, 2, 4), "scope", scope_type_values, "v1.ScopeType", T_PTR, DEF("\"*\"")),
    END,
};
static ATOMIC_TYPE(admission_named_rule_with_operations,
                   "io.k8s.api.admissionregistration.v1.NamedRuleWithOperations");

static const struct t_field admission_match_resources_fields[] = {
    OBJ(1, "namespaceSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJ(2, "objectSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJS(3, "resourceRules", admission_named_rule_with_operations, T_ATOMIC),
    OBJS(4, "excludeResourceRules", admission_named_rule_with_operations, T_ATOMIC),
    ENUM(7, "matchPolicy", match_policy_type_values, "v1.MatchPolicyType", T_PTR,
         DEF("\"Equivalent\"")),
    END,
};
static ATOMIC_TYPE(admission_match_resources, "io.k8s.api.admissionregistration.v1.MatchResources");

static const struct t_field admission_validation_fields[] = {
    F(1, "expression", T_STR, T_REQ | T_EMIT),
    F(2, "message", T_STR, 0),
    F(3, "reason", T_STR, T_PTR, GO("v1.StatusReason")),
    F(4, "messageExpression", T_STR, 0),
    END,
};
static TYPE(admission_validation, "io.k8s.api.admissionregistration.v1.Validation");

static const struct t_field admission_audit_annotation_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "valueExpression", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(admission_audit_annotation, "io.k8s.api.admissionregistration.v1.AuditAnnotation");

static const struct t_field admission_variable_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "expression", T_STR, T_REQ | T_EMIT),
    END,
};
static ATOMIC_TYPE(admission_variable, "io.k8s.api.admissionregistration.v1.Variable");

static const struct t_field admission_validating_admission_policy_spec_fields[] = {
    OBJ(1, "paramKind", admission_param_kind, T_PTR),
    OBJ(2, "matchConstraints", admission_match_resources, T_PTR),
    OBJS(3, "validations", admission_validation, T_ATOMIC),
    ENUM(4, "failurePolicy", failure_policy_type_values, "v1.FailurePolicyType", T_PTR,
         DEF("\"Fail\"")),
    OBJS(5, "auditAnnotations", admission_audit_annotation, T_ATOMIC),
    OBJS(6, "matchConditions", admission_match_condition, T_KEY, KEYS("name")),
    OBJS(7, "variables", admission_variable, T_KEY, KEYS("name")),
    END,
};
static TYPE(admission_validating_admission_policy_spec,
            "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec");

static const struct t_field admission_expression_warning_fields[] = {
    F(2, "fieldRef", T_STR, T_REQ | T_EMIT),
    F(3, "warning", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(admission_expression_warning, "io.k8s.api.admissionregistration.v1.ExpressionWarning");

static const struct t_field admission_type_checking_fields[] = {
    OBJS(1, "expressionWarnings", admission_expression_warning, T_ATOMIC),
    END,
};
static TYPE(admission_type_checking, "io.k8s.api.admissionregistration.v1.TypeChecking");

static const struct t_field admission_validating_admission_policy_status_fields[] = {
    F(1, "observedGeneration", T_I64, 0),
    OBJ(2, "typeChecking", admission_type_checking, T_PTR),
    OBJS(3, "conditions", meta_condition, T_KEY | T_REPLACE, KEYS("type")),
    END,
};
static TYPE(admission_validating_admission_policy_status,
            "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus");

static const struct t_field admission_validating_admission_policy_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", admission_validating_admission_policy_spec, T_EMIT),
    OBJ(3, "status", admission_validating_admission_policy_status, T_EMIT),
    END,
};
TYPE(admission_validating_admission_policy,
     "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy");

static const struct t_field admission_param_ref_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "namespace", T_STR, 0),
    OBJ(3, "selector", meta_label_selector, T_PTR),
    F(4, "parameterNotFoundAction", T_STR, T_PTR, GO("v1.ParameterNotFoundActionType")),
    END,
};
static ATOMIC_TYPE(admission_param_ref, "io.k8s.api.admissionregistration.v1.ParamRef");

static const char *const validation_action_values[] = { "Deny", "Warn", "Audit", NULL };

static const struct t_field admission_validating_admission_policy_binding_spec_fields[] = {
    F(1, "policyName", T_STR, 0),
    OBJ(2, "paramRef", admission_param_ref, T_PTR),
    OBJ(3, "matchResources", admission_match_resources, T_PTR),
    ENUMS(4, "validationActions", validation_action_values, "v1.ValidationAction",
          T_SET | T_REPLACE),
    END,
};
static TYPE(admission_validating_admission_policy_binding_spec,
            "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec");

static const struct t_field admission_validating_admission_policy_binding_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", admission_validating_admission_policy_binding_spec, T_EMIT),
    END,
};
TYPE(admission_validating_admission_policy_binding,
     "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding");
