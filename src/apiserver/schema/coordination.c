/* coordination.c - coordination.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field coordination_lease_spec_fields[] = {
    F("holderIdentity", T_STR, T_PTR),
    F("leaseDurationSeconds", T_I32, T_PTR),
    F("acquireTime", T_MICRO, T_PTR),
    F("renewTime", T_MICRO, T_PTR),
    F("leaseTransitions", T_I32, T_PTR),
    F("strategy", T_STR, T_PTR, GO("v1.CoordinatedLeaseStrategy")),
    F("preferredHolder", T_STR, T_PTR),
    END,
};
static TYPE(coordination_lease_spec, "io.k8s.api.coordination.v1.LeaseSpec");

static const struct t_field coordination_lease_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", coordination_lease_spec, T_EMIT),
    END,
};
TYPE(coordination_lease, "io.k8s.api.coordination.v1.Lease");
