/* admission.c - admissionregistration.k8s.io/v1: webhook configurations. */
#include "apiserver/schema/tables.h"

static const struct t_field admission_service_reference_fields[] = {
    F("namespace", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_PTR),
    F("port", T_I32, T_PTR, DEF("443")),
    END,
};
static TYPE(admission_service_reference, "io.k8s.api.admissionregistration.v1.ServiceReference");

static const struct t_field admission_webhook_client_config_fields[] = {
    F("url", T_STR, T_PTR),
    OBJ("service", admission_service_reference, T_PTR),
    F("caBundle", T_BYTES, 0),
    END,
};
static TYPE(admission_webhook_client_config,
            "io.k8s.api.admissionregistration.v1.WebhookClientConfig");

static const char *const operation_type_values[] = { "*",      "CREATE",  "UPDATE",
                                                     "DELETE", "CONNECT", NULL };
static const char *const scope_type_values[] = { "Cluster", "Namespaced", "*", NULL };
static const struct t_field admission_rule_with_operations_fields[] = {
    ENUMS("operations", operation_type_values, "v1.OperationType", T_ATOMIC),
    LIST("apiGroups", T_STR, T_ATOMIC),
    LIST("apiVersions", T_STR, T_ATOMIC),
    LIST("resources", T_STR, T_ATOMIC),
    ENUM("scope", scope_type_values, "v1.ScopeType", T_PTR, DEF("\"*\"")),
    END,
};
static TYPE(admission_rule_with_operations,
            "io.k8s.api.admissionregistration.v1.RuleWithOperations");

static const struct t_field admission_match_condition_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("expression", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(admission_match_condition, "io.k8s.api.admissionregistration.v1.MatchCondition");

static const char *const failure_policy_type_values[] = { "Ignore", "Fail", NULL };
static const char *const match_policy_type_values[] = { "Exact", "Equivalent", NULL };
static const char *const side_effect_class_values[] = { "Unknown", "None", "Some", "NoneOnDryRun",
                                                        NULL };
static const char *const reinvocation_policy_type_values[] = { "Never", "IfNeeded", NULL };
static const struct t_field admission_mutating_webhook_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJ("clientConfig", admission_webhook_client_config, T_REQ | T_EMIT),
    OBJS("rules", admission_rule_with_operations, T_ATOMIC),
    ENUM("failurePolicy", failure_policy_type_values, "v1.FailurePolicyType", T_PTR,
         DEF("\"Fail\"")),
    ENUM("matchPolicy", match_policy_type_values, "v1.MatchPolicyType", T_PTR,
         DEF("\"Equivalent\"")),
    OBJ("namespaceSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJ("objectSelector", meta_label_selector, T_PTR, DEF("{}")),
    ENUM("sideEffects", side_effect_class_values, "v1.SideEffectClass", T_REQ | T_PTR | T_EMIT),
    F("timeoutSeconds", T_I32, T_PTR, DEF("10")),
    LIST("admissionReviewVersions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    ENUM("reinvocationPolicy", reinvocation_policy_type_values, "v1.ReinvocationPolicyType", T_PTR,
         DEF("\"Never\"")),
    OBJS("matchConditions", admission_match_condition, T_KEY, KEYS("name")),
    END,
};
static TYPE(admission_mutating_webhook, "io.k8s.api.admissionregistration.v1.MutatingWebhook");

static const struct t_field admission_mutating_webhook_configuration_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("webhooks", admission_mutating_webhook, T_KEY, KEYS("name")),
    END,
};
TYPE(admission_mutating_webhook_configuration,
     "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration");

static const struct t_field admission_validating_webhook_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJ("clientConfig", admission_webhook_client_config, T_REQ | T_EMIT),
    OBJS("rules", admission_rule_with_operations, T_ATOMIC),
    ENUM("failurePolicy", failure_policy_type_values, "v1.FailurePolicyType", T_PTR,
         DEF("\"Fail\"")),
    ENUM("matchPolicy", match_policy_type_values, "v1.MatchPolicyType", T_PTR,
         DEF("\"Equivalent\"")),
    OBJ("namespaceSelector", meta_label_selector, T_PTR, DEF("{}")),
    OBJ("objectSelector", meta_label_selector, T_PTR, DEF("{}")),
    ENUM("sideEffects", side_effect_class_values, "v1.SideEffectClass", T_REQ | T_PTR | T_EMIT),
    F("timeoutSeconds", T_I32, T_PTR, DEF("10")),
    LIST("admissionReviewVersions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    OBJS("matchConditions", admission_match_condition, T_KEY, KEYS("name")),
    END,
};
static TYPE(admission_validating_webhook, "io.k8s.api.admissionregistration.v1.ValidatingWebhook");

static const struct t_field admission_validating_webhook_configuration_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("webhooks", admission_validating_webhook, T_KEY, KEYS("name")),
    END,
};
TYPE(admission_validating_webhook_configuration,
     "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration");
