/* meta.c - metadata and what else all groups share. */
#include "apiserver/schema/tables.h"

static const struct t_field meta_owner_reference_fields[] = {
    F(5, "apiVersion", T_STR, T_REQ | T_EMIT),
    F(1, "kind", T_STR, T_REQ | T_EMIT),
    F(3, "name", T_STR, T_REQ | T_EMIT),
    F(4, "uid", T_STR, T_REQ | T_EMIT, GO("types.UID")),
    F(6, "controller", T_BOOL, T_PTR),
    F(7, "blockOwnerDeletion", T_BOOL, T_PTR),
    END,
};
static ATOMIC_TYPE(meta_owner_reference, "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference");

static const struct t_field meta_managed_fields_entry_fields[] = {
    F(1, "manager", T_STR, 0),     F(2, "operation", T_STR, 0, GO("v1.ManagedFieldsOperationType")),
    F(3, "apiVersion", T_STR, 0),  F(4, "time", T_TIME, T_PTR),
    F(6, "fieldsType", T_STR, 0),  F(7, "fieldsV1", T_ANY, T_PTR),
    F(8, "subresource", T_STR, 0), END,
};
static TYPE(meta_managed_fields_entry, "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry");

static const struct t_field meta_object_meta_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "generateName", T_STR, 0),
    F(3, "namespace", T_STR, 0),
    F(4, "selfLink", T_STR, 0),
    F(5, "uid", T_STR, 0, GO("types.UID")),
    F(6, "resourceVersion", T_STR, 0),
    F(7, "generation", T_I64, 0),
    F(8, "creationTimestamp", T_TIME, 0),
    F(9, "deletionTimestamp", T_TIME, T_PTR),
    F(10, "deletionGracePeriodSeconds", T_I64, T_PTR),
    MAP(11, "labels", T_STR, 0),
    MAP(12, "annotations", T_STR, 0),
    OBJS(13, "ownerReferences", meta_owner_reference, T_KEY, KEYS("uid")),
    LIST(14, "finalizers", T_STR, T_SET),
    OBJS(17, "managedFields", meta_managed_fields_entry, T_ATOMIC | T_EMPTY),
    END,
};
TYPE(meta_object_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");

static const struct t_field meta_label_selector_requirement_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "operator", T_STR, T_REQ | T_EMIT, GO("v1.LabelSelectorOperator")),
    LIST(3, "values", T_STR, T_ATOMIC),
    END,
};
TYPE(meta_label_selector_requirement,
     "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement");

static const struct t_field meta_label_selector_fields[] = {
    MAP(1, "matchLabels", T_STR, 0),
    OBJS(2, "matchExpressions", meta_label_selector_requirement, T_ATOMIC),
    END,
};
ATOMIC_TYPE(meta_label_selector, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector");

static const struct t_field meta_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "observedGeneration", T_I64, 0),
    F(4, "lastTransitionTime", T_TIME, T_REQ | T_EMIT),
    F(5, "reason", T_STR, T_REQ | T_EMIT),
    F(6, "message", T_STR, T_REQ | T_EMIT),
    END,
};
TYPE(meta_condition, "io.k8s.apimachinery.pkg.apis.meta.v1.Condition");

static const struct t_field meta_preconditions_fields[] = {
    F(1, "uid", T_STR, T_PTR, GO("types.UID")),
    F(2, "resourceVersion", T_STR, T_PTR),
    END,
};
static TYPE(meta_preconditions, "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions");

static const struct t_field meta_delete_options_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    F(1, "gracePeriodSeconds", T_I64, T_PTR),
    OBJ(2, "preconditions", meta_preconditions, T_PTR),
    F(3, "orphanDependents", T_BOOL, T_PTR),
    F(4, "propagationPolicy", T_STR, T_PTR, GO("v1.DeletionPropagation")),
    LIST(5, "dryRun", T_STR, T_ATOMIC),
    F(6, "ignoreStoreReadErrorWithClusterBreakingPotential", T_BOOL, T_PTR),
    END,
};
TYPE(meta_delete_options, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");

static const struct t_field meta_list_meta_fields[] = {
    F(1, "selfLink", T_STR, 0),
    F(2, "resourceVersion", T_STR, 0),
    F(3, "continue", T_STR, 0),
    F(4, "remainingItemCount", T_I64, T_PTR),
    END,
};
TYPE(meta_list_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta");

static const struct t_field meta_status_cause_fields[] = {
    F(1, "reason", T_STR, 0, GO("v1.CauseType")),
    F(2, "message", T_STR, 0),
    F(3, "field", T_STR, 0),
    END,
};
static TYPE(meta_status_cause, "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause");

static const struct t_field meta_status_details_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "group", T_STR, 0),
    F(3, "kind", T_STR, 0),
    F(6, "uid", T_STR, 0, GO("types.UID")),
    OBJS(4, "causes", meta_status_cause, T_ATOMIC),
    F(5, "retryAfterSeconds", T_I32, 0),
    END,
};
static TYPE(meta_status_details, "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails");

static const struct t_field meta_status_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_list_meta, T_EMIT),
    F(2, "status", T_STR, 0),
    F(3, "message", T_STR, 0),
    F(4, "reason", T_STR, 0, GO("v1.StatusReason")),
    OBJ(5, "details", meta_status_details, T_PTR),
    F(6, "code", T_I32, 0),
    END,
};
TYPE(meta_status, "io.k8s.apimachinery.pkg.apis.meta.v1.Status");

static const struct t_field meta_partial_object_metadata_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    END,
};
TYPE(meta_partial_object_metadata, "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata");
