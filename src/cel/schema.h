/* schema.h - types from structural OpenAPI schemas of CustomResourceDefinitions. */
#ifndef KOORD_CEL_SCHEMA_H
#define KOORD_CEL_SCHEMA_H
#include "cel/type.h"
#include "json/kj.h"

/* The type of values of a schema node, with what its limits say about sizes; NULL when it has none
 * (unknown fields only). `name` is what its values call their type; `root`: apiVersion, kind and
 * the name in metadata are there whatever the schema says. Lives in the arena. */
const struct cel_type *cel_schema_type(struct arena *a, const struct kj_val *schema,
                                       const char *name, bool root);
/* The name of a field in expressions: __dash__ for "-". false: it cannot be written there. */
bool cel_field_name(struct arena *a, struct str json, struct str *ret);
/* The fewest bytes that a value of the schema takes in JSON. */
uint64_t cel_schema_least_bytes(const struct kj_val *schema);
#endif
