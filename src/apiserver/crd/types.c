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
    F(0, "description", T_STR, 0),
    F(0, "url", T_STR, 0),
    END,
};
static TYPE(crd_external_docs, PKG "ExternalDocumentation");

static const struct t_field crd_validation_rule_fields[] = {
    F(0, "rule", T_STR, T_EMIT | T_REQ),
    F(0, "message", T_STR, 0),
    F(0, "messageExpression", T_STR, 0),
    F(0, "reason", T_STR, T_PTR),
    F(0, "fieldPath", T_STR, 0),
    F(0, "optionalOldSelf", T_BOOL, T_PTR),
    END,
};
static TYPE(crd_validation_rule, PKG "ValidationRule");

static const struct t_field crd_json_schema_props_fields[] = {
    F(0, "id", T_STR, 0),
    F(0, "$schema", T_STR, 0),
    F(0, "$ref", T_STR, T_PTR),
    F(0, "description", T_STR, 0),
    F(0, "type", T_STR, 0),
    F(0, "format", T_STR, 0),
    F(0, "title", T_STR, 0),
    F(0, "default", T_ANY, T_PTR),
    F(0, "maximum", T_NUM, T_PTR),
    F(0, "exclusiveMaximum", T_BOOL, 0),
    F(0, "minimum", T_NUM, T_PTR),
    F(0, "exclusiveMinimum", T_BOOL, 0),
    F(0, "maxLength", T_I64, T_PTR),
    F(0, "minLength", T_I64, T_PTR),
    F(0, "pattern", T_STR, 0),
    F(0, "maxItems", T_I64, T_PTR),
    F(0, "minItems", T_I64, T_PTR),
    F(0, "uniqueItems", T_BOOL, 0),
    F(0, "multipleOf", T_NUM, T_PTR),
    LIST(0, "enum", T_ANY, T_ATOMIC),
    F(0, "maxProperties", T_I64, T_PTR),
    F(0, "minProperties", T_I64, T_PTR),
    LIST(0, "required", T_STR, T_ATOMIC),
    OBJ(0, "items", crd_json_schema_props, T_PTR),
    OBJS(0, "allOf", crd_json_schema_props, T_ATOMIC),
    OBJS(0, "oneOf", crd_json_schema_props, T_ATOMIC),
    OBJS(0, "anyOf", crd_json_schema_props, T_ATOMIC),
    OBJ(0, "not", crd_json_schema_props, T_PTR),
    OBJMAP(0, "properties", crd_json_schema_props, 0),
    F(0, "additionalProperties", T_ANY, T_PTR),
    OBJMAP(0, "patternProperties", crd_json_schema_props, 0),
    F(0, "dependencies", T_ANY, 0),
    F(0, "additionalItems", T_ANY, T_PTR),
    OBJMAP(0, "definitions", crd_json_schema_props, 0),
    OBJ(0, "externalDocs", crd_external_docs, T_PTR),
    F(0, "example", T_ANY, T_PTR),
    F(0, "nullable", T_BOOL, 0),
    F(0, "x-kubernetes-preserve-unknown-fields", T_BOOL, T_PTR),
    F(0, "x-kubernetes-embedded-resource", T_BOOL, 0),
    F(0, "x-kubernetes-int-or-string", T_BOOL, 0),
    LIST(0, "x-kubernetes-list-map-keys", T_STR, T_ATOMIC),
    F(0, "x-kubernetes-list-type", T_STR, T_PTR),
    F(0, "x-kubernetes-map-type", T_STR, T_PTR),
    OBJS(0, "x-kubernetes-validations", crd_validation_rule, T_KEY, KEYS("rule")),
    END,
};
static TYPE(crd_json_schema_props, PKG "JSONSchemaProps");

static const struct t_field crd_validation_fields[] = {
    OBJ(0, "openAPIV3Schema", crd_json_schema_props, T_PTR),
    END,
};
static TYPE(crd_validation, PKG "CustomResourceValidation");

static const struct t_field crd_scale_fields[] = {
    F(0, "specReplicasPath", T_STR, T_EMIT | T_REQ),
    F(0, "statusReplicasPath", T_STR, T_EMIT | T_REQ),
    F(0, "labelSelectorPath", T_STR, T_PTR),
    END,
};
static TYPE(crd_scale, PKG "CustomResourceSubresourceScale");

static const struct t_field crd_subresources_fields[] = {
    F(0, "status", T_ANY, T_PTR),
    OBJ(0, "scale", crd_scale, T_PTR),
    END,
};
static TYPE(crd_subresources, PKG "CustomResourceSubresources");

static const struct t_field crd_column_fields[] = {
    F(0, "name", T_STR, T_EMIT | T_REQ),
    F(0, "type", T_STR, T_EMIT | T_REQ),
    F(0, "format", T_STR, 0),
    F(0, "description", T_STR, 0),
    F(0, "priority", T_I32, 0),
    F(0, "jsonPath", T_STR, T_EMIT | T_REQ),
    END,
};
static TYPE(crd_column, PKG "CustomResourceColumnDefinition");

static const struct t_field crd_selectable_fields[] = {
    F(0, "jsonPath", T_STR, T_EMIT | T_REQ),
    END,
};
static TYPE(crd_selectable, PKG "SelectableField");

static const struct t_field crd_version_fields[] = {
    F(0, "name", T_STR, T_EMIT | T_REQ),
    F(0, "served", T_BOOL, T_EMIT | T_REQ),
    F(0, "storage", T_BOOL, T_EMIT | T_REQ),
    F(0, "deprecated", T_BOOL, 0),
    F(0, "deprecationWarning", T_STR, T_PTR),
    OBJ(0, "schema", crd_validation, T_PTR),
    OBJ(0, "subresources", crd_subresources, T_PTR),
    OBJS(0, "additionalPrinterColumns", crd_column, T_ATOMIC),
    OBJS(0, "selectableFields", crd_selectable, T_ATOMIC),
    END,
};
static TYPE(crd_version, PKG "CustomResourceDefinitionVersion");

static const struct t_field crd_names_fields[] = {
    F(0, "plural", T_STR, T_EMIT | T_REQ),
    F(0, "singular", T_STR, 0),
    LIST(0, "shortNames", T_STR, T_ATOMIC),
    F(0, "kind", T_STR, T_EMIT | T_REQ),
    F(0, "listKind", T_STR, 0),
    LIST(0, "categories", T_STR, T_ATOMIC),
    END,
};
static TYPE(crd_names, PKG "CustomResourceDefinitionNames");

static const struct t_field crd_conversion_fields[] = {
    F(0, "strategy", T_STR, T_EMIT | T_REQ, GO("v1.ConversionStrategyType")),
    F(0, "webhook", T_ANY, T_PTR),
    END,
};
static TYPE(crd_conversion, PKG "CustomResourceConversion");

static const struct t_field crd_spec_fields[] = {
    F(0, "group", T_STR, T_EMIT | T_REQ),
    OBJ(0, "names", crd_names, T_EMIT | T_REQ),
    F(0, "scope", T_STR, T_EMIT | T_REQ, GO("v1.ResourceScope")),
    OBJS(0, "versions", crd_version, T_EMIT | T_REQ | T_ATOMIC),
    OBJ(0, "conversion", crd_conversion, T_PTR),
    F(0, "preserveUnknownFields", T_BOOL, 0),
    END,
};
static TYPE(crd_spec, PKG "CustomResourceDefinitionSpec");

static const struct t_field crd_condition_fields[] = {
    F(0, "type", T_STR, T_EMIT | T_REQ),
    F(0, "status", T_STR, T_EMIT | T_REQ, GO("v1.ConditionStatus")),
    F(0, "lastTransitionTime", T_TIME, 0),
    F(0, "reason", T_STR, 0),
    F(0, "message", T_STR, 0),
    F(0, "observedGeneration", T_I64, 0),
    END,
};
static TYPE(crd_condition, PKG "CustomResourceDefinitionCondition");

static const struct t_field crd_status_fields[] = {
    OBJS(0, "conditions", crd_condition, T_EMIT | T_KEY | T_REPLACE, KEYS("type")),
    OBJ(0, "acceptedNames", crd_names, T_EMIT),
    LIST(0, "storedVersions", T_STR, T_EMIT | T_ATOMIC),
    F(0, "observedGeneration", T_I64, 0),
    END,
};
static TYPE(crd_status, PKG "CustomResourceDefinitionStatus");

static const struct t_field crd_definition_type_fields[] = {
    F(0, "apiVersion", T_STR, 0),
    F(0, "kind", T_STR, 0),
    OBJ(0, "metadata", meta_object_meta, 0),
    OBJ(0, "spec", crd_spec, T_EMIT | T_REQ),
    OBJ(0, "status", crd_status, 0),
    END,
};
TYPE(crd_definition_type, PKG "CustomResourceDefinition");

const struct t_type *crd_meta_type(void)
{
    return &meta_object_meta;
}
