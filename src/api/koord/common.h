/* common.h - pieces that several Koordinator kinds share, and the short hands of their tables.
 *
 * The tables of this folder are complete: they drive decoding, encoding and the CRD manifests, so
 * every field of a CRD stands in one, with its limits and a line of description.
 */
#ifndef KOORD_API_KOORD_COMMON_H
#define KOORD_API_KOORD_COMMON_H
#include "api/types.h"

/* Table lines: META(.min = KF_INT(0), ...) and DOC("...") after the other designators. */
#define META(...)                 \
    .meta = &(const struct kmeta) \
    {                             \
        __VA_ARGS__               \
    }
#define DOC(text) META(.description = text)
#define KF_INT(num)             \
    {                           \
        .set = true, .v = (num) \
    }
#define OMIT     .flags = KF_OMITEMPTY
#define OMIT_STR .flags = KF_OMITEMPTY | KF_INTERN
#define OMIT_PTR .flags = KF_OMITEMPTY | KF_PTR
/* Resource lists and string maps with a description. */
#define F_RESLIST(stype, member, json, text) \
    KF_MAP_OF(stype, member, json, KF_QTY, .flags = KF_OMITEMPTY | KF_INTERN_KEYS, DOC(text))
#define F_STRMAP(stype, member, json, text) \
    KF_MAP_OF(stype, member, json, KF_STR, .flags = KF_OMITEMPTY | KF_INTERN, DOC(text))
#define F_STRLIST(stype, member, json, text) \
    KF_LIST_OF(stype, member, json, KF_STR, .flags = KF_OMITEMPTY | KF_INTERN, DOC(text))
/* The first line of every kind. */
#define F_METADATA(stype) \
    KF(stype, obj.meta, "metadata", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &objmeta_schema)
#define SCHEMA(sname, stype, table, ...)                                                        \
    {                                                                                           \
        .name = (sname), .size = sizeof(stype), .nfields = ARRAY_LEN(table), .fields = (table), \
        __VA_ARGS__                                                                             \
    }

/* A status (or strategy) without fields. */
struct empty_object {
    char unused;
};
extern const struct kschema empty_object_schema;

/* A struct int_or_str behind a pointer (KF_OBJ with KF_PTR): absent is not the number 0. */
extern const struct kschema int_or_str_schema;

/* Over the structs of types.h, as a CRD describes them: operators and effects are open texts,
 * lists and maps are atomic. */
extern const struct kschema crd_label_selector_schema, crd_object_ref_schema, crd_taint_schema;

/* metav1.Condition. */
struct meta_condition {
    const char *type, *reason, *message;
    nsec_t last_transition_time;
    int64_t observed_generation;
    uint8_t status; /* enum cond_status */
};
typedef KLIST(struct meta_condition) meta_conditionlist;
extern const struct kschema meta_condition_schema;

/* ---- CRD manifests --------------------------------------------------------------------------- */

/* What upstream's manifests say they were made with; tools compare it. */
#define CONTROLLER_GEN "v0.20.1"
/* Groups under *.k8s.io are protected: the API server wants to see an approval. */
#define APPROVED_SCHEDULER_PLUGINS "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"

struct crd_column {
    const char *name, *type, *path, *description; /* description may be NULL */
};
struct crd_version {
    const struct kind *kind;
    bool storage;
};
/* What a manifest says beside the tables. */
struct kind_crd {
    struct crd_version versions[2];   /* the second may be empty */
    const struct crd_column *columns; /* ends with a NULL name; NULL: none */
    const char *approved;             /* api-approved.kubernetes.io; NULL: not a protected group */
    const char *generator;            /* controller-gen.kubebuilder.io/version */
    const char *description;
};
#endif
