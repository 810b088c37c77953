/* scheduling.c - scheduling.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field scheduling_priority_class_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    F("value", T_I32, T_REQ | T_EMIT),
    F("globalDefault", T_BOOL, 0),
    F("description", T_STR, 0),
    ENUM("preemptionPolicy", preemption_policy_values, "v1.PreemptionPolicy", T_PTR,
         DEF("\"PreemptLowerPriority\"")),
    END,
};
TYPE(scheduling_priority_class, "io.k8s.api.scheduling.v1.PriorityClass");
