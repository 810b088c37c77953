/* pod_fields.h - the lines of Pod's tables, in the parts that pod_split.c puts them together from.
 * A new field of the spec is one line here; it is then in pods and in templates. Internal to api/.
 */
#ifndef KOORD_API_POD_FIELDS_H
#define KOORD_API_POD_FIELDS_H
#include "api/pod.h"

extern const struct kmeta restart_policy_meta, preemption_policy_meta, pod_phase_meta, pod_qos_meta;
extern const struct kschema pod_volume_schema, scheduling_gate_schema, pod_resource_claim_schema,
    resource_claim_status_schema, extended_claim_status_schema, container_state_schema,
    pod_ip_schema, volume_presence_schema, volume_gce_schema, volume_ebs_schema,
    volume_azure_schema, volume_cinder_schema, volume_portworx_schema;

/* Different on every pod. */
#define POD_NODE_NAME_FIELD(stype) \
    KF(stype, node_name, "nodeName", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY)

/* Volumes name claims, which pods of a StatefulSet have for themselves. */
#define POD_VOLUMES_FIELD(stype) \
    KF_LIST_OF(stype, volumes, "volumes", KF_OBJ, .flags = KF_OMITEMPTY, .sub = &pod_volume_schema)

/* The same on all pods of a workload; in the order servers write them. */
#define POD_SPEC_FIELDS                                                                        \
    SPEC_LIST(init_containers, "initContainers", container_schema),                            \
        SPEC_LIST(containers, "containers", container_schema),                                 \
        SPEC_KF(restart_policy, "restartPolicy", KF_ENUM, .flags = KF_OMITEMPTY,               \
                .meta = &restart_policy_meta),                                                 \
        SPEC_KF(termination_grace_period_seconds, "terminationGracePeriodSeconds", KF_OPT_I64, \
                .flags = KF_OMITEMPTY),                                                        \
        SPEC_KF(active_deadline_seconds, "activeDeadlineSeconds", KF_OPT_I64,                  \
                .flags = KF_OMITEMPTY),                                                        \
        KF_STRMAP(struct pod_spec, node_selector, "nodeSelector"),                             \
        SPEC_KF(host_network, "hostNetwork", KF_BOOL, .flags = KF_OMITEMPTY),                  \
        SPEC_KF(affinity, "affinity", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,                  \
                .sub = &affinity_schema),                                                      \
        SPEC_KF(scheduler_name, "schedulerName", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),   \
        SPEC_LIST(tolerations, "tolerations", toleration_schema),                              \
        SPEC_KF(priority_class_name, "priorityClassName", KF_STR,                              \
                .flags = KF_INTERN | KF_OMITEMPTY),                                            \
        SPEC_KF(priority, "priority", KF_OPT_I32, .flags = KF_OMITEMPTY),                      \
        SPEC_KF(runtime_class_name, "runtimeClassName", KF_STR,                                \
                .flags = KF_INTERN | KF_OMITEMPTY),                                            \
        SPEC_KF(preemption_policy, "preemptionPolicy", KF_ENUM, .flags = KF_OMITEMPTY,         \
                .meta = &preemption_policy_meta),                                              \
        KF_RESLIST(struct pod_spec, overhead, "overhead"),                                     \
        SPEC_LIST(topology_spread_constraints, "topologySpreadConstraints",                    \
                  topology_spread_schema),                                                     \
        SPEC_LIST(scheduling_gates, "schedulingGates", scheduling_gate_schema),                \
        SPEC_LIST(resource_claims, "resourceClaims", pod_resource_claim_schema),               \
        SPEC_KF(resources, "resources", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,                \
                .sub = &resources_schema)
#define SPEC_KF(member, json, type, ...) KF(struct pod_spec, member, json, type, __VA_ARGS__)
#define SPEC_LIST(member, json, schema) \
    KF_LIST_OF(struct pod_spec, member, json, KF_OBJ, .flags = KF_OMITEMPTY, .sub = &(schema))

/* Cached; then what repeats; then what is not cached. */
#define CONTAINER_STATUS_OWN_FIELDS                                                      \
    KF(struct container_status, name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN), \
        KF(struct container_status, state, "state", KF_OBJ, .flags = KF_OMITEMPTY,       \
           .sub = &container_state_schema),                                              \
        KF(struct container_status, ready, "ready", KF_BOOL),                            \
        KF(struct container_status, restart_count, "restartCount", KF_I32)
#define CONTAINER_STATUS_REST_FIELDS \
    KF(struct container_status, container_id, "containerID", KF_STR, .flags = KF_OMITEMPTY)

#define POD_STATUS_OWN_FIELDS                                                                    \
    STATUS_KF(phase, "phase", KF_ENUM, .flags = KF_OMITEMPTY, .meta = &pod_phase_meta),          \
        STATUS_LIST(conditions, "conditions", condition_schema),                                 \
        STATUS_KF(reason, "reason", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),                  \
        STATUS_KF(nominated_node_name, "nominatedNodeName", KF_STR,                              \
                  .flags = KF_INTERN | KF_OMITEMPTY),                                            \
        STATUS_KF(start_time, "startTime", KF_TIME, .flags = KF_OMITEMPTY),                      \
        STATUS_KF(qos_class, "qosClass", KF_ENUM, .flags = KF_OMITEMPTY, .meta = &pod_qos_meta), \
        STATUS_LIST(resource_claim_statuses, "resourceClaimStatuses",                            \
                    resource_claim_status_schema),                                               \
        STATUS_KF(extended_claim, "extendedResourceClaimStatus", KF_OBJ,                         \
                  .flags = KF_PTR | KF_OMITEMPTY, .sub = &extended_claim_status_schema)
#define POD_STATUS_REST_FIELDS             STATUS_LIST(pod_ips, "podIPs", pod_ip_schema)
#define STATUS_KF(member, json, type, ...) KF(struct pod_status, member, json, type, __VA_ARGS__)
#define STATUS_LIST(member, json, schema) \
    KF_LIST_OF(struct pod_status, member, json, KF_OBJ, .flags = KF_OMITEMPTY, .sub = &(schema))

/* The three lists of container statuses, with elements of some table. */
#define CONTAINER_STATUS_LISTS(stype, schema)                                                     \
    KF_LIST_OF(stype, init_container_statuses, "initContainerStatuses", KF_OBJ,                   \
               .flags = KF_OMITEMPTY, .sub = &(schema)),                                          \
        KF_LIST_OF(stype, container_statuses, "containerStatuses", KF_OBJ, .flags = KF_OMITEMPTY, \
                   .sub = &(schema)),                                                             \
        KF_LIST_OF(stype, ephemeral_container_statuses, "ephemeralContainerStatuses", KF_OBJ,     \
                   .flags = KF_OMITEMPTY, .sub = &(schema))
#endif
