/* lease.h - Lease (coordination.k8s.io/v1): leader election and node heartbeats. */
#ifndef KOORD_API_LEASE_H
#define KOORD_API_LEASE_H
#include "api/kobj.h"

struct lease_spec {
    const char *holder_identity;
    nsec_t acquire_time, renew_time;
    struct opt_i32 lease_duration_seconds, lease_transitions;
};
struct lease {
    struct kobj obj;
    struct lease_spec spec;
};
extern const struct kschema lease_schema, lease_spec_schema;
extern const struct kind kind_lease;
#endif
