/* pod.h - Pod: what scheduling, QoS, the node agent and the descheduler read of it.
 *
 * kobj_decode() makes the form kept in caches, where a pod takes less than 1 KB: labels, owners and
 * spec are shared with equal pods, and members marked "not cached" are left out (NULL or 0).
 * pod_decode() fills everything, into an arena: for pods from a kubelet, a file, a request.
 *
 * Two members of the JSON's spec stand in struct pod itself, because they differ between pods of
 * one workload: pod->node_name and pod->volumes; the rest is pod->spec->...
 * Never kept: environment, mounts, probes, security contexts, managedFields.
 */
#ifndef KOORD_API_POD_H
#define KOORD_API_POD_H
#include "api/types.h"

enum pod_phase {
    POD_PHASE_NONE,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_PHASE_UNKNOWN
};
enum restart_policy { RESTART_NONE, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };
enum preemption_policy { PREEMPT_NONE, PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER };
extern const char *const preemption_policy_names[]; /* by policy, "" for none; ends with NULL */
enum protocol { PROTOCOL_NONE, PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_SCTP };
extern const char *const pod_phase_names[], *const protocol_names[];

/* ---- spec ------------------------------------------------------------------------------------ */

struct container_port {
    const char *host_ip;
    int32_t host_port;
    uint8_t protocol; /* enum protocol; none: TCP */
};
struct container {
    const char *name, *image;
    struct resources resources;
    KLIST(struct container_port) ports;
    uint8_t restart_policy; /* enum restart_policy; always, on an init container: a sidecar */
};
typedef KLIST(struct container) containerlist;

/* Volume sources that scheduling or eviction looks at; NULL when the volume is another. */
struct volume_claim { /* persistentVolumeClaim */
    const char *claim_name;
    bool read_only;
};
struct volume_presence { /* a source of which only the presence counts: emptyDir, ephemeral */
    bool unused;
};
struct volume_host_path {
    const char *path;
};
struct volume_csi {
    const char *driver;
};
struct volume_disk { /* gcePersistentDisk, awsElasticBlockStore, azureDisk, cinder, portworx */
    const char *id;  /* pdName, diskURI, volumeID */
    bool read_only;
};
struct volume_iscsi {
    const char *iqn;
    bool read_only;
};
struct volume_rbd {
    kstrlist monitors;
    const char *pool, *image;
    bool read_only;
};
struct pod_volume {
    const char *name;
    struct volume_claim *claim;
    struct volume_presence *ephemeral, *empty_dir;
    struct volume_host_path *host_path;
    struct volume_csi *csi;
    struct volume_disk *gce, *ebs, *azure_disk, *cinder, *portworx;
    struct volume_iscsi *iscsi;
    struct volume_rbd *rbd;
};
typedef KLIST(struct pod_volume) volumelist;

enum spread_action { SPREAD_NONE, SPREAD_DO_NOT_SCHEDULE, SPREAD_SCHEDULE_ANYWAY };
enum spread_policy { SPREAD_POLICY_NONE, SPREAD_HONOR, SPREAD_IGNORE };
struct topology_spread {
    const char *topology_key;
    struct label_selector *label_selector; /* NULL matches nothing */
    kstrlist match_label_keys;
    int32_t max_skew;
    struct opt_i32 min_domains;
    uint8_t when_unsatisfiable;                       /* enum spread_action */
    uint8_t node_affinity_policy, node_taints_policy; /* enum spread_policy; none: the default */
};
extern const struct kschema topology_spread_schema;

struct scheduling_gate {
    const char *name;
};
struct pod_resource_claim {
    const char *name;
    const char *claim_name, *template_name; /* resourceClaimName, resourceClaimTemplateName */
};

struct pod_spec {
    const char *scheduler_name, *priority_class_name, *runtime_class_name;
    containerlist containers, init_containers;
    tolerationlist tolerations;
    kstrmap node_selector;
    struct affinity *affinity;
    struct resources *resources; /* of the whole pod */
    KLIST(struct topology_spread) topology_spread_constraints;
    KLIST(struct scheduling_gate) scheduling_gates;
    KLIST(struct pod_resource_claim) resource_claims;
    reslist overhead;
    struct opt_i64 termination_grace_period_seconds, active_deadline_seconds;
    struct opt_i32 priority;
    uint8_t restart_policy;    /* enum restart_policy */
    uint8_t preemption_policy; /* enum preemption_policy */
    bool host_network;
};
extern const struct kschema container_schema;

/* ---- status ---------------------------------------------------------------------------------- */

struct container_waiting {
    const char *reason;
};
struct container_running {
    nsec_t started_at;
};
struct container_terminated {
    const char *reason;
    nsec_t started_at, finished_at;
    int32_t exit_code;
};
struct container_state { /* at most one is set */
    struct container_waiting *waiting;
    struct container_running *running;
    struct container_terminated *terminated;
};
struct container_status {
    const char *name;
    const char *container_id; /* "containerd://..."; not cached */
    struct container_state state;
    struct resources *resources; /* what the runtime applied; NULL when not reported */
    reslist allocated_resources; /* what the node admitted */
    int32_t restart_count;
    bool ready;
};
typedef KLIST(struct container_status) containerstatuslist;

struct pod_ip {
    const char *ip;
};
struct resource_claim_status {
    const char *name;
    const char *claim_name; /* "" while the claim was not made, or is not needed */
};
struct extended_claim_status {
    const char *claim_name; /* made by the scheduler, for extended resources that classes back */
};
struct pod_status {
    const char *reason, *nominated_node_name;
    nsec_t start_time;
    conditionlist conditions;
    containerstatuslist container_statuses, init_container_statuses, ephemeral_container_statuses;
    KLIST(struct resource_claim_status) resource_claim_statuses;
    struct extended_claim_status *extended_claim; /* NULL for nearly all */
    KLIST(struct pod_ip) pod_ips;                 /* not cached */
    uint8_t phase;                                /* enum pod_phase */
    uint8_t qos_class; /* enum kube_qos of protocol.h: 1 Guaranteed, 2 Burstable, 3 BestEffort */
};

/* ---- pod ------------------------------------------------------------------------------------- */

struct pod {
    struct kobj obj;
    const char *node_name;       /* spec.nodeName */
    const struct pod_spec *spec; /* never NULL */
    volumelist volumes; /* spec.volumes; cached: without those that have no source listed above */
    struct pod_status status;
    struct share *share[2]; /* cached form only: holds spec, labels, owners, volumes */
};
extern const struct kind kind_pod; /* its table has the pod's own part only: see pod_split.c */

/* Everything, in the arena; obj.kind is set, obj.refs is not used. */
int pod_decode(const struct kj_val *in, struct arena *a, struct pod **ret, struct kerr *err);

static inline const struct pod *pod_of(const struct kobj *o)
{
    return container_of(o, const struct pod, obj);
}
static inline int32_t pod_priority(const struct pod *p)
{
    return p->spec->priority.set ? p->spec->priority.v : 0;
}
/* Succeeded or Failed: nothing runs any more. */
static inline bool pod_is_terminal(const struct pod *p)
{
    return p->status.phase == POD_SUCCEEDED || p->status.phase == POD_FAILED;
}
/* The claim of its extended resources; NULL: it has none. */
static inline const char *pod_extended_claim(const struct pod *p)
{
    const struct extended_claim_status *s = p->status.extended_claim;
    return s && !str_empty(s->claim_name) ? s->claim_name : NULL;
}
static inline bool pod_is_ready(const struct pod *p)
{
    return condition_is_true(&p->status.conditions, "Ready");
}
/* Of an init container: one that keeps running beside the others. */
static inline bool container_is_sidecar(const struct container *c)
{
    return c->restart_policy == RESTART_ALWAYS;
}

/* A pod template: metadata and spec of pods to be, in workloads and Reservations. */
struct pod_template_spec {
    const char *node_name;
    volumelist volumes;
    struct pod_spec spec; /* all other fields of the JSON's spec */
};
struct pod_template {
    struct objmeta meta;
    struct pod_template_spec spec;
};
extern const struct kschema pod_template_schema;
#endif
