/* gang.h - pods scheduled together: gang keys, network topology (api 5.3, 5.13). */
#ifndef KOORD_API_PROTOCOL_GANG_H
#define KOORD_API_PROTOCOL_GANG_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

enum gang_mode { GANG_STRICT, GANG_NON_STRICT };
enum gang_match_policy {
    GANG_MATCH_ONCE_SATISFIED,
    GANG_MATCH_ONLY_WAITING,
    GANG_MATCH_WAITING_AND_RUNNING
};
const char *gang_mode_name(enum gang_mode m);
const char *gang_match_policy_name(enum gang_match_policy p);
/* false: not a policy; *ret is untouched. */
bool gang_match_policy_parse(const char *name, enum gang_match_policy *ret);

/* ---- network topology ------------------------------------------------------------------------ */

enum gather_strategy { GATHER_NONE, GATHER_MUST, GATHER_PREFER };
struct gather_rule {
    const char *layer;
    int32_t pod_count_multiple; /* 0 and 1: no constraint */
    uint8_t strategy;           /* enum gather_strategy */
};
struct network_topology_spec {
    KLIST(struct gather_rule) gather;
};
DECLARE_ANNOTATION(network_topology_spec, struct network_topology_spec)
/* Rank of a pod within its gang; absent or bad: -1. */
int32_t gang_topology_index(const kstrmap *annotations);
/* < 0, 0, > 0: ranked pods first, by rank, then by name. */
int gang_topology_order(int32_t index_a, const char *name_a, int32_t index_b, const char *name_b);

/* ---- gangs ----------------------------------------------------------------------------------- */

/* The gang's name as the pod gives it; NULL when the pod is in none. The namespace is the pod's. */
const char *gang_name(const struct objmeta *pod);
/* "namespace/name". */
const char *gang_id(const char *ns, const char *name, struct arena *a);

DECLARE_ANNOTATION(gang_groups, struct strlist_value)

struct gang_defaults { /* of the plugin's arguments */
    nsec_t waiting_time_ns;
    enum gang_match_policy match_policy;
};
struct gang_spec {
    int32_t min_available, total_number;
    nsec_t waiting_time_ns;
    enum gang_mode mode;
    enum gang_match_policy match_policy;
    kstrlist groups;      /* ids of the gangs that bind together, sorted; never empty */
    const char *group_id; /* these joined by "," */
    bool has_topology;    /* network-topology-spec is there, and good */
    bool bad_topology;    /* it is there, and cannot be read */
    struct network_topology_spec topology;
};
/* A gang declared by the annotations of a pod. -EINVAL: min-available is missing or bad, so the
 * gang stays uninitialised; everything else falls back to a default. */
int gang_spec_from_pod(const struct objmeta *pod, const struct gang_defaults *defaults,
                       struct arena *a, struct gang_spec *ret, struct kerr *err);
/* A gang that a PodGroup object declares. */
void gang_spec_from_podgroup(const struct objmeta *podgroup, int32_t min_member,
                             struct opt_i32 timeout_seconds, const struct gang_defaults *defaults,
                             struct arena *a, struct gang_spec *ret);
#endif
