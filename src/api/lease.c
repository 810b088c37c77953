/* lease.c - tables of Lease. */
#include "api/lease.h"

#include "api/meta_fields.h"

#define F(member, json, type) KF(struct lease_spec, member, json, type, .flags = KF_OMITEMPTY)
static const struct kfield lease_spec_fields[] = {
    F(holder_identity, "holderIdentity", KF_STR),
    F(lease_duration_seconds, "leaseDurationSeconds", KF_OPT_I32),
    F(acquire_time, "acquireTime", KF_MICROTIME),
    F(renew_time, "renewTime", KF_MICROTIME),
    F(lease_transitions, "leaseTransitions", KF_OPT_I32),
};
#undef F
const struct kschema lease_spec_schema = KSCHEMA("LeaseSpec", struct lease_spec, lease_spec_fields);
static const struct kfield lease_fields[] = {
    KF_OBJMETA(struct lease),
    KF(struct lease, spec, "spec", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &lease_spec_schema),
};
const struct kschema lease_schema = KSCHEMA("Lease", struct lease, lease_fields);
const struct kind kind_lease = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .kind = "Lease",
    .plural = "leases",
    .namespaced = true,
    .schema = &lease_schema,
};
