/* docs_int.h - inside docs*.c: how the table of a kind is put together. */
#ifndef KOORD_CLUSTER_DOCS_INT_H
#define KOORD_CLUSTER_DOCS_INT_H
#include "cluster/docs.h"

#define OMIT .flags = KF_OMITEMPTY
#define META(stype) \
    KF(stype, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &objmeta_schema)

extern const struct kschema workload_condition_schema, rolling_schema;
#define CONDITIONS(stype) \
    KF_LIST_OF(stype, conditions, "conditions", KF_OBJ, OMIT, .sub = &workload_condition_schema)

/* The whole of a kind, from its tables of spec and status. */
#define DOC(noun, stype, Name, plural_, group_)                                            \
    static const struct kschema noun##_spec_schema = { .name = Name "Spec",                \
                                                       .size = sizeof(((stype *)0)->spec), \
                                                       .nfields = ARRAY_LEN(noun##_spec),  \
                                                       .fields = noun##_spec };            \
    const struct kschema noun##_status_schema = { .name = Name "Status",                   \
                                                  .size = sizeof(((stype *)0)->status),    \
                                                  .nfields = ARRAY_LEN(noun##_status),     \
                                                  .fields = noun##_status };               \
    static const struct kfield noun##_fields[] = {                                         \
        META(stype),                                                                       \
        KF(stype, spec, "spec", KF_OBJ, OMIT, .sub = &noun##_spec_schema),                 \
        KF(stype, status, "status", KF_OBJ, OMIT, .sub = &noun##_status_schema),           \
    };                                                                                     \
    static const struct kschema noun##_schema = KSCHEMA(Name, stype, noun##_fields);       \
    const struct kind doc_##noun = { .group = (group_),                                    \
                                     .version = "v1",                                      \
                                     .kind = (Name),                                       \
                                     .plural = (plural_),                                  \
                                     .namespaced = true,                                   \
                                     .has_status = true,                                   \
                                     .schema = &noun##_schema }
#endif
