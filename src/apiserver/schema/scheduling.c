/* scheduling.c - scheduling.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field scheduling_priority_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "value", T_I32, T_REQ | T_EMIT),
    F(3, "globalDefault", T_BOOL, 0),
    F(4, "description", T_STR, 0),
    ENUM(5, "preemptionPolicy", preemption_policy_values, "v1.PreemptionPolicy", T_PTR,
         DEF("\"PreemptLowerPriority\"")),
    END,
};
TYPE(scheduling_priority_class, "io.k8s.api.scheduling.v1.PriorityClass");
