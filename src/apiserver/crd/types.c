/* types.c - the field tables of CustomResourceDefinition itself.
 *
 * Written with the macros of schema/tables.h like those of the other kinds; it is here because the
 * rest of its life is. Schemas nest in themselves: only lists and maps may lead there from the
 * root, because merge tables follow plain fields (spec.versions is replaced whole anyway).
 */
#include "apiserver/crd/internal.h"
#include "apiserver/schema/tables.h"

#define PKG "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

static const struct t_type crd_json_schema_props;
static const struct t_field crd_external_docs_fields[] = {
    F("description", T_STR, 0),
    F("url", T_STR, 0),
    END,
};
static TYPE(crd_external_docs, PKG "ExternalDocumentation");

static const struct t_field crd_validation_rule_fields[] = {
    F("rule", T_STR, T_EMIT | T_REQ),
    F("message", T_STR, 0),
    F("messageExpression", T_STR, 0),
    F("reason", T_STR, T_PTR),
    F("fieldPath", T_STR, 0),
    F("optionalOldSelf", T_BOOL, T_PTR),
    END,
};
static TYPE(crd_validation_rule, PKG "ValidationRule");

static const struct t_field crd_json_schema_props_fields[] = {
    F("id", T_STR, 0),
    F("$schema", T_STR, 0),
    F("$ref", T_STR, T_PTR),
    F("description", T_STR, 0),
    F("type", T_STR, 0),
    F("format", T_STR, 0),
    F("title", T_STR, 0),
    F("default", T_ANY, T_PTR),
    F("maximum", T_NUM, T_PTR),
    F("exclusiveMaximum", T_BOOL, 0),
    F("minimum", T_NUM, T_PTR),
    F("exclusiveMinimum", T_BOOL, 0),
    F("maxLength", T_I64, T_PTR),
    F("minLength", T_I64, T_PTR),
    F("pattern", T_STR, 0),
    F("maxItems", T_I64, T_PTR),
    F("minItems", T_I64, T_PTR),
    F("uniqueItems", T_BOOL, 0),
    F("multipleOf", T_NUM, T_PTR),
    LIST("enum", T_ANY, T_ATOMIC),
    F("maxProperties", T_I64, T_PTR),
    F("minProperties", T_I64, T_PTR),
    LIST("required", T_STR, T_ATOMIC),
    OBJ("items", crd_json_schema_props, T_PTR),
    OBJS("allOf", crd_json_schema_props, T_ATOMIC),
    OBJS("oneOf", crd_json_schema_props, T_ATOMIC),
    OBJS("anyOf", crd_json_schema_props, T_ATOMIC),
    OBJ("not", crd_json_schema_props, T_PTR),
    OBJMAP("properties", crd_json_schema_props, 0),
    F("additionalProperties", T_ANY, T_PTR),
    OBJMAP("patternProperties", crd_json_schema_props, 0),
    F("dependencies", T_ANY, 0),
    F("additionalItems", T_ANY, T_PTR),
    OBJMAP("definitions", crd_json_schema_props, 0),
    OBJ("externalDocs", crd_external_docs, T_PTR),
    F("example", T_ANY, T_PTR),
    F("nullable", T_BOOL, 0),
    F("x-kubernetes-preserve-unknown-fields", T_BOOL, T_PTR),
    F("x-kubernetes-embedded-resource", T_BOOL, 0),
    F("x-kubernetes-int-or-string", T_BOOL, 0),
    LIST("x-kubernetes-list-map-keys", T_STR, T_ATOMIC),
    F("x-kubernetes-list-type", T_STR, T_PTR),
    F("x-kubernetes-map-type", T_STR, T_PTR),
    OBJS("x-kubernetes-validations", crd_validation_rule, T_KEY, KEYS("rule")),
    END,
};
static TYPE(crd_json_schema_props, PKG "JSONSchemaProps");

static const struct t_field crd_validation_fields[] = {
    OBJ("openAPIV3Schema", crd_json_schema_props, T_PTR),
    END,
};
static TYPE(crd_validation, PKG "CustomResourceValidation");

static const struct t_field crd_scale_fields[] = {
    F("specReplicasPath", T_STR, T_EMIT | T_REQ),
    F("statusReplicasPath", T_STR, T_EMIT | T_REQ),
    F("labelSelectorPath", T_STR, T_PTR),
    END,
};
static TYPE(crd_scale, PKG "CustomResourceSubresourceScale");

static const struct t_field crd_subresources_fields[] = {
    F("status", T_ANY, T_PTR),
    OBJ("scale", crd_scale, T_PTR),
    END,
};
static TYPE(crd_subresources, PKG "CustomResourceSubresources");

static const struct t_field crd_column_fields[] = {
    F("name", T_STR, T_EMIT | T_REQ),
    F("type", T_STR, T_EMIT | T_REQ),
    F("format", T_STR, 0),
    F("description", T_STR, 0),
    F("priority", T_I32, 0),
    F("jsonPath", T_STR, T_EMIT | T_REQ),
    END,
};
static TYPE(crd_column, PKG "CustomResourceColumnDefinition");

static const struct t_field crd_selectable_fields[] = {
    F("jsonPath", T_STR, T_EMIT | T_REQ),
    END,
};
static TYPE(crd_selectable, PKG "SelectableField");

static const struct t_field crd_version_fields[] = {
    F("name", T_STR, T_EMIT | T_REQ),
    F("served", T_BOOL, T_EMIT | T_REQ),
    F("storage", T_BOOL, T_EMIT | T_REQ),
    F("deprecated", T_BOOL, 0),
    F("deprecationWarning", T_STR, T_PTR),
    OBJ("schema", crd_validation, T_PTR),
    OBJ("subresources", crd_subresources, T_PTR),
    OBJS("additionalPrinterColumns", crd_column, T_ATOMIC),
    OBJS("selectableFields", crd_selectable, T_ATOMIC),
    END,
};
static TYPE(crd_version, PKG "CustomResourceDefinitionVersion");

static const struct t_field crd_names_fields[] = {
    F("plural", T_STR, T_EMIT | T_REQ),
    F("singular", T_STR, 0),
    LIST("shortNames", T_STR, T_ATOMIC),
    F("kind", T_STR, T_EMIT | T_REQ),
    F("listKind", T_STR, 0),
    LIST("categories", T_STR, T_ATOMIC),
    END,
};
static TYPE(crd_names, PKG "CustomResourceDefinitionNames");

static const struct t_field crd_conversion_fields[] = {
    F("strategy", T_STR, T_EMIT | T_REQ, GO("v1.ConversionStrategyType")),
    F("webhook", T_ANY, T_PTR),
    END,
};
static TYPE(crd_conversion, PKG "CustomResourceConversion");

static const struct t_field crd_spec_fields[] = {
    F("group", T_STR, T_EMIT | T_REQ),
    OBJ("names", crd_names, T_EMIT | T_REQ),
    F("scope", T_STR, T_EMIT | T_REQ, GO("v1.ResourceScope")),
    OBJS("versions", crd_version, T_EMIT | T_REQ | T_ATOMIC),
    OBJ("conversion", crd_conversion, T_PTR),
    F("preserveUnknownFields", T_BOOL, 0),
    END,
};
static TYPE(crd_spec, PKG "CustomResourceDefinitionSpec");

static const struct t_field crd_condition_fields[] = {
    F("type", T_STR, T_EMIT | T_REQ),
    F("status", T_STR, T_EMIT | T_REQ, GO("v1.ConditionStatus")),
    F("lastTransitionTime", T_TIME, 0),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    F("observedGeneration", T_I64, 0),
    END,
};
static TYPE(crd_condition, PKG "CustomResourceDefinitionCondition");

static const struct t_field crd_status_fields[] = {
    OBJS("conditions", crd_condition, T_EMIT | T_KEY | T_REPLACE, KEYS("type")),
    OBJ("acceptedNames", crd_names, T_EMIT),
    LIST("storedVersions", T_STR, T_EMIT | T_ATOMIC),
    F("observedGeneration", T_I64, 0),
    END,
};
static TYPE(crd_status, PKG "CustomResourceDefinitionStatus");

static const struct t_field crd_definition_type_fields[] = {
    F("apiVersion", T_STR, 0),
    F("kind", T_STR, 0),
    OBJ("metadata", meta_object_meta, 0),
    OBJ("spec", crd_spec, T_EMIT | T_REQ),
    OBJ("status", crd_status, 0),
    END,
};
TYPE(crd_definition_type, PKG "CustomResourceDefinition");

const struct t_type *crd_meta_type(void)
{
    return &meta_object_meta;
}
