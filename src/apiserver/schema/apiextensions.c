/* apiextensions.c - apiextensions.k8s.io/v1: CustomResourceDefinition, whose life is apiserver/crd.
 *
 * Schemas nest in themselves: only lists and maps may lead there from the root, because merge
 * tables follow plain fields (spec.versions is replaced whole anyway).
 */
#include "apiserver/schema/tables.h"

#define EXT "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

static const struct t_type extensions_schema;

static const struct t_field extensions_docs_fields[] = {
    F(1, "description", T_STR, 0),
    F(2, "url", T_STR, 0),
    END,
};
static TYPE(extensions_docs, EXT "ExternalDocumentation");

static const char *const field_value_error_values[] = { "FieldValueDuplicate",
                                                        "FieldValueForbidden", "FieldValueInvalid",
                                                        "FieldValueRequired", NULL };
static const struct t_field extensions_rule_fields[] = {
    F(1, "rule", T_STR, T_REQ | T_EMIT),
    F(2, "message", T_STR, 0),
    F(3, "messageExpression", T_STR, 0),
    ENUM(4, "reason", field_value_error_values, "v1.FieldValueErrorReason", T_PTR),
    F(5, "fieldPath", T_STR, 0),
    F(6, "optionalOldSelf", T_BOOL, T_PTR),
    END,
};
static TYPE(extensions_rule, EXT "ValidationRule");

/* Values that have one form or another: the names are ours, JSON shows the value alone. */
#define EITHER(id, openapi) \
    const struct t_type id = { .name = (openapi), .fields = id##_fields, .either = true }

static const struct t_field extensions_or_array_fields[] = {
    OBJ(1, "object", extensions_schema, T_PTR),
    OBJS(2, "list", extensions_schema, 0),
    END,
};
static EITHER(extensions_or_array, EXT "JSONSchemaPropsOrArray");

static const struct t_field extensions_or_bool_fields[] = {
    F(1, "bool", T_BOOL, 0),
    OBJ(2, "object", extensions_schema, T_PTR),
    END,
};
static EITHER(extensions_or_bool, EXT "JSONSchemaPropsOrBool");

static const struct t_field extensions_or_strings_fields[] = {
    OBJ(1, "object", extensions_schema, T_PTR),
    LIST(2, "list", T_STR, 0),
    END,
};
static EITHER(extensions_or_strings, EXT "JSONSchemaPropsOrStringArray");

static const struct t_field extensions_schema_fields[] = {
    F(1, "id", T_STR, 0),
    F(2, "$schema", T_STR, 0),
    F(3, "$ref", T_STR, T_PTR),
    F(4, "description", T_STR, 0),
    F(5, "type", T_STR, 0),
    F(6, "format", T_STR, 0),
    F(7, "title", T_STR, 0),
    F(8, "default", T_ANY, T_PTR),
    F(9, "maximum", T_NUM, T_PTR),
    F(10, "exclusiveMaximum", T_BOOL, 0),
    F(11, "minimum", T_NUM, T_PTR),
    F(12, "exclusiveMinimum", T_BOOL, 0),
    F(13, "maxLength", T_I64, T_PTR),
    F(14, "minLength", T_I64, T_PTR),
    F(15, "pattern", T_STR, 0),
    F(16, "maxItems", T_I64, T_PTR),
    F(17, "minItems", T_I64, T_PTR),
    F(18, "uniqueItems", T_BOOL, 0),
    F(19, "multipleOf", T_NUM, T_PTR),
    LIST(20, "enum", T_ANY, T_ATOMIC),
    F(21, "maxProperties", T_I64, T_PTR),
    F(22, "minProperties", T_I64, T_PTR),
    LIST(23, "required", T_STR, T_ATOMIC),
    OBJ(24, "items", extensions_or_array, T_PTR),
    OBJS(25, "allOf", extensions_schema, T_ATOMIC),
    OBJS(26, "oneOf", extensions_schema, T_ATOMIC),
    OBJS(27, "anyOf", extensions_schema, T_ATOMIC),
    OBJ(28, "not", extensions_schema, T_PTR),
    OBJMAP(29, "properties", extensions_schema, 0),
    OBJ(30, "additionalProperties", extensions_or_bool, T_PTR),
    OBJMAP(31, "patternProperties", extensions_schema, 0),
    OBJMAP(32, "dependencies", extensions_or_strings, 0),
    OBJ(33, "additionalItems", extensions_or_bool, T_PTR),
    OBJMAP(34, "definitions", extensions_schema, 0),
    OBJ(35, "externalDocs", extensions_docs, T_PTR),
    F(36, "example", T_ANY, T_PTR),
    F(37, "nullable", T_BOOL, 0),
    F(38, "x-kubernetes-preserve-unknown-fields", T_BOOL, T_PTR),
    F(39, "x-kubernetes-embedded-resource", T_BOOL, 0),
    F(40, "x-kubernetes-int-or-string", T_BOOL, 0),
    LIST(41, "x-kubernetes-list-map-keys", T_STR, T_ATOMIC),
    F(42, "x-kubernetes-list-type", T_STR, T_PTR),
    F(43, "x-kubernetes-map-type", T_STR, T_PTR),
    OBJS(44, "x-kubernetes-validations", extensions_rule, T_KEY, KEYS("rule")),
    END,
};
static TYPE(extensions_schema, EXT "JSONSchemaProps");

static const struct t_field extensions_validation_fields[] = {
    OBJ(1, "openAPIV3Schema", extensions_schema, T_PTR),
    END,
};
static TYPE(extensions_validation, EXT "CustomResourceValidation");

static const struct t_field extensions_scale_fields[] = {
    F(1, "specReplicasPath", T_STR, T_REQ | T_EMIT),
    F(2, "statusReplicasPath", T_STR, T_REQ | T_EMIT),
    F(3, "labelSelectorPath", T_STR, T_PTR),
    END,
};
static TYPE(extensions_scale, EXT "CustomResourceSubresourceScale");

static const struct t_field extensions_status_subresource_fields[] = { END };
static TYPE(extensions_status_subresource, EXT "CustomResourceSubresourceStatus");

static const struct t_field extensions_subresources_fields[] = {
    OBJ(1, "status", extensions_status_subresource, T_PTR),
    OBJ(2, "scale", extensions_scale, T_PTR),
    END,
};
static TYPE(extensions_subresources, EXT "CustomResourceSubresources");

static const struct t_field extensions_column_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "type", T_STR, T_REQ | T_EMIT),
    F(3, "format", T_STR, 0),
    F(4, "description", T_STR, 0),
    F(5, "priority", T_I32, 0),
    F(6, "jsonPath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(extensions_column, EXT "CustomResourceColumnDefinition");

static const struct t_field extensions_selectable_fields[] = {
    F(1, "jsonPath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(extensions_selectable, EXT "SelectableField");

static const struct t_field extensions_version_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "served", T_BOOL, T_REQ | T_EMIT),
    F(3, "storage", T_BOOL, T_REQ | T_EMIT),
    F(7, "deprecated", T_BOOL, 0),
    F(8, "deprecationWarning", T_STR, T_PTR),
    OBJ(4, "schema", extensions_validation, T_PTR),
    OBJ(5, "subresources", extensions_subresources, T_PTR),
    OBJS(6, "additionalPrinterColumns", extensions_column, T_ATOMIC),
    OBJS(9, "selectableFields", extensions_selectable, T_ATOMIC),
    END,
};
static TYPE(extensions_version, EXT "CustomResourceDefinitionVersion");

static const struct t_field extensions_service_fields[] = {
    F(1, "namespace", T_STR, T_REQ | T_EMIT),
    F(2, "name", T_STR, T_REQ | T_EMIT),
    F(3, "path", T_STR, T_PTR),
    F(4, "port", T_I32, T_PTR),
    END,
};
static TYPE(extensions_service, EXT "ServiceReference");

static const struct t_field extensions_client_fields[] = {
    F(3, "url", T_STR, T_PTR),
    OBJ(1, "service", extensions_service, T_PTR),
    F(2, "caBundle", T_BYTES, 0),
    END,
};
static TYPE(extensions_client, EXT "WebhookClientConfig");

static const struct t_field extensions_webhook_fields[] = {
    OBJ(2, "clientConfig", extensions_client, T_PTR),
    LIST(3, "conversionReviewVersions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(extensions_webhook, EXT "WebhookConversion");

static const struct t_field extensions_conversion_fields[] = {
    F(1, "strategy", T_STR, T_REQ | T_EMIT, GO("v1.ConversionStrategyType")),
    OBJ(2, "webhook", extensions_webhook, T_PTR),
    END,
};
static TYPE(extensions_conversion, EXT "CustomResourceConversion");

static const struct t_field extensions_names_fields[] = {
    F(1, "plural", T_STR, T_REQ | T_EMIT),
    F(2, "singular", T_STR, 0),
    LIST(3, "shortNames", T_STR, T_ATOMIC),
    F(4, "kind", T_STR, T_REQ | T_EMIT),
    F(5, "listKind", T_STR, 0),
    LIST(6, "categories", T_STR, T_ATOMIC),
    END,
};
static TYPE(extensions_names, EXT "CustomResourceDefinitionNames");

static const struct t_field extensions_spec_fields[] = {
    F(1, "group", T_STR, T_REQ | T_EMIT),
    OBJ(3, "names", extensions_names, T_REQ | T_EMIT),
    F(4, "scope", T_STR, T_REQ | T_EMIT, GO("v1.ResourceScope")),
    OBJS(7, "versions", extensions_version, T_REQ | T_EMIT | T_ATOMIC),
    OBJ(9, "conversion", extensions_conversion, T_PTR),
    F(10, "preserveUnknownFields", T_BOOL, 0),
    END,
};
static TYPE(extensions_spec, EXT "CustomResourceDefinitionSpec");

static const struct t_field extensions_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastTransitionTime", T_TIME, 0),
    F(4, "reason", T_STR, 0),
    F(5, "message", T_STR, 0),
    F(6, "observedGeneration", T_I64, 0),
    END,
};
static TYPE(extensions_condition, EXT "CustomResourceDefinitionCondition");

static const struct t_field extensions_status_fields[] = {
    OBJS(1, "conditions", extensions_condition, T_EMIT | T_KEY | T_REPLACE, KEYS("type")),
    OBJ(2, "acceptedNames", extensions_names, T_EMIT),
    LIST(3, "storedVersions", T_STR, T_EMIT | T_ATOMIC),
    F(4, "observedGeneration", T_I64, 0),
    END,
};
static TYPE(extensions_status, EXT "CustomResourceDefinitionStatus");

static const struct t_field extensions_definition_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, 0),
    OBJ(2, "spec", extensions_spec, T_REQ | T_EMIT),
    OBJ(3, "status", extensions_status, 0),
    END,
};
TYPE(extensions_definition, EXT "CustomResourceDefinition");
