/* meta.c - metadata and what else all groups share. */
#include "apiserver/schema/tables.h"

static const struct t_field meta_owner_reference_fields[] = {
    F("apiVersion", T_STR, T_REQ | T_EMIT),
    F("kind", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    F("uid", T_STR, T_REQ | T_EMIT, GO("types.UID")),
    F("controller", T_BOOL, T_PTR),
    F("blockOwnerDeletion", T_BOOL, T_PTR),
    END,
};
static TYPE(meta_owner_reference, "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference");

static const struct t_field meta_managed_fields_entry_fields[] = {
    F("manager", T_STR, 0),     F("operation", T_STR, 0, GO("v1.ManagedFieldsOperationType")),
    F("apiVersion", T_STR, 0),  F("time", T_TIME, T_PTR),
    F("fieldsType", T_STR, 0),  F("fieldsV1", T_ANY, T_PTR),
    F("subresource", T_STR, 0), END,
};
static TYPE(meta_managed_fields_entry, "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry");

static const struct t_field meta_object_meta_fields[] = {
    F("name", T_STR, 0),
    F("generateName", T_STR, 0),
    F("namespace", T_STR, 0),
    F("selfLink", T_STR, 0),
    F("uid", T_STR, 0, GO("types.UID")),
    F("resourceVersion", T_STR, 0),
    F("generation", T_I64, 0),
    F("creationTimestamp", T_TIME, 0),
    F("deletionTimestamp", T_TIME, T_PTR),
    F("deletionGracePeriodSeconds", T_I64, T_PTR),
    MAP("labels", T_STR, 0),
    MAP("annotations", T_STR, 0),
    OBJS("ownerReferences", meta_owner_reference, T_KEY, KEYS("uid")),
    LIST("finalizers", T_STR, T_SET),
    OBJS("managedFields", meta_managed_fields_entry, T_ATOMIC),
    END,
};
TYPE(meta_object_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");

static const struct t_field meta_label_selector_requirement_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    F("operator", T_STR, T_REQ | T_EMIT, GO("v1.LabelSelectorOperator")),
    LIST("values", T_STR, T_ATOMIC),
    END,
};
static TYPE(meta_label_selector_requirement,
            "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement");

static const struct t_field meta_label_selector_fields[] = {
    MAP("matchLabels", T_STR, 0),
    OBJS("matchExpressions", meta_label_selector_requirement, T_ATOMIC),
    END,
};
TYPE(meta_label_selector, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector");

static const struct t_field meta_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("observedGeneration", T_I64, 0),
    F("lastTransitionTime", T_TIME, T_REQ | T_EMIT),
    F("reason", T_STR, T_REQ | T_EMIT),
    F("message", T_STR, T_REQ | T_EMIT),
    END,
};
TYPE(meta_condition, "io.k8s.apimachinery.pkg.apis.meta.v1.Condition");

static const struct t_field meta_preconditions_fields[] = {
    F("uid", T_STR, T_PTR, GO("types.UID")),
    F("resourceVersion", T_STR, T_PTR),
    END,
};
static TYPE(meta_preconditions, "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions");

static const struct t_field meta_delete_options_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    F("gracePeriodSeconds", T_I64, T_PTR),
    OBJ("preconditions", meta_preconditions, T_PTR),
    F("orphanDependents", T_BOOL, T_PTR),
    F("propagationPolicy", T_STR, T_PTR, GO("v1.DeletionPropagation")),
    LIST("dryRun", T_STR, T_ATOMIC),
    F("ignoreStoreReadErrorWithClusterBreakingPotential", T_BOOL, T_PTR),
    END,
};
TYPE(meta_delete_options, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
