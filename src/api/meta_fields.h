/* meta_fields.h - the lines of the metadata table, in two halves: what differs from object to
 * object, and what objects of one workload have in common (see share.h). Internal to api/.
 */
#ifndef KOORD_API_META_FIELDS_H
#define KOORD_API_META_FIELDS_H
#include "api/kobj.h"

extern const struct kmeta annotations_meta; /* keys that are not kept */

#define OBJMETA_OWN_FIELDS                                                                      \
    KF(struct objmeta, name, "name", KF_STR, .flags = KF_OMITEMPTY),                            \
        KF(struct objmeta, ns, "namespace", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),         \
        KF(struct objmeta, uid, "uid", KF_UID, .flags = KF_OMITEMPTY),                          \
        KF(struct objmeta, resource_version, "resourceVersion", KF_STR, .flags = KF_OMITEMPTY), \
        KF(struct objmeta, generation, "generation", KF_I64, .flags = KF_OMITEMPTY),            \
        KF(struct objmeta, created, "creationTimestamp", KF_TIME, .flags = KF_OMITEMPTY),       \
        KF(struct objmeta, deleted, "deletionTimestamp", KF_TIME, .flags = KF_OMITEMPTY),       \
        KF(struct objmeta, grace_seconds, "deletionGracePeriodSeconds", KF_OPT_I64,             \
           .flags = KF_OMITEMPTY),                                                              \
        KF_MAP_OF(struct objmeta, annotations, "annotations", KF_STR,                           \
                  .flags = KF_INTERN | KF_OMITEMPTY, .meta = &annotations_meta),                \
        KF_LIST_OF(struct objmeta, finalizers, "finalizers", KF_STR,                            \
                   .flags = KF_INTERN | KF_OMITEMPTY)

/* The struct has these members under the names of struct objmeta. */
#define OBJMETA_SHARED_FIELDS(stype)                                                     \
    KF(stype, generate_name, "generateName", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY), \
        KF_MAP_OF(stype, labels, "labels", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),   \
        KF_LIST_OF(stype, owners, "ownerReferences", KF_OBJ, .flags = KF_OMITEMPTY,      \
                   .sub = &owner_ref_schema)

/* The first line of every kind's table. */
#define KF_OBJMETA(stype) \
    KF(stype, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &objmeta_schema)
#endif
