/* coordination.c - coordination.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field coordination_lease_spec_fields[] = {
    F(1, "holderIdentity", T_STR, T_PTR),
    F(2, "leaseDurationSeconds", T_I32, T_PTR),
    F(3, "acquireTime", T_MICRO, T_PTR),
    F(4, "renewTime", T_MICRO, T_PTR),
    F(5, "leaseTransitions", T_I32, T_PTR),
    F(6, "strategy", T_STR, T_PTR, GO("v1.CoordinatedLeaseStrategy")),
    F(7, "preferredHolder", T_STR, T_PTR),
    END,
};
static TYPE(coordination_lease_spec, "io.k8s.api.coordination.v1.LeaseSpec");

static const struct t_field coordination_lease_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", coordination_lease_spec, T_EMIT),
    END,
};
TYPE(coordination_lease, "io.k8s.api.coordination.v1.Lease");
