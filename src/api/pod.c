/* pod.c - tables of the pieces of a pod, and of templates. How they make a pod: pod_split.c. */
#include "api/pod.h"

#include "api/meta_fields.h"
#include "api/pod_fields.h"
#include "api/qos.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)
#define PTR_OMIT    (KF_PTR | KF_OMITEMPTY)

static const char *const restart_policy_names[] = { "", "Always", "OnFailure", "Never", NULL };
const char *const preemption_policy_names[] = { "", "PreemptLowerPriority", "Never", NULL };
const struct kmeta restart_policy_meta = { .names = restart_policy_names };
const struct kmeta preemption_policy_meta = { .names = preemption_policy_names };

/* ---- containers ------------------------------------------------------------------------------ */

const char *const protocol_names[] = { "", "TCP", "UDP", "SCTP", NULL };
static const struct kmeta protocol_meta = { .names = protocol_names };

#define F(member, json, type, ...) KF(struct container_port, member, json, type, __VA_ARGS__)
static const struct kfield container_port_fields[] = {
    F(host_port, "hostPort", KF_I32, .flags = OMIT),
    F(host_ip, "hostIP", KF_STR, .flags = INTERN_OMIT),
    F(protocol, "protocol", KF_ENUM, .flags = OMIT, .meta = &protocol_meta),
};
#undef F
static const struct kschema container_port_schema =
    KSCHEMA("ContainerPort", struct container_port, container_port_fields);

#define F(member, json, type, ...) KF(struct container, member, json, type, __VA_ARGS__)
static const struct kfield container_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(image, "image", KF_STR, .flags = INTERN_OMIT),
    F(resources, "resources", KF_OBJ, .flags = OMIT, .sub = &resources_schema),
    KF_LIST_OF(struct container, ports, "ports", KF_OBJ, .flags = OMIT,
               .sub = &container_port_schema),
    F(restart_policy, "restartPolicy", KF_ENUM, .flags = OMIT, .meta = &restart_policy_meta),
};
#undef F
const struct kschema container_schema = KSCHEMA("Container", struct container, container_fields);

/* ---- volumes --------------------------------------------------------------------------------- */

static const struct kfield volume_claim_fields[] = {
    KF(struct volume_claim, claim_name, "claimName", KF_STR, .flags = KF_REQUIRED),
    KF(struct volume_claim, read_only, "readOnly", KF_BOOL, .flags = OMIT),
};
static const struct kschema volume_claim_schema =
    KSCHEMA("PersistentVolumeClaimVolumeSource", struct volume_claim, volume_claim_fields);

const struct kschema volume_presence_schema = { .name = "VolumeSource",
                                                .size = sizeof(struct volume_presence) };

static const struct kfield volume_host_path_fields[] = {
    KF(struct volume_host_path, path, "path", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
};
static const struct kschema volume_host_path_schema =
    KSCHEMA("HostPathVolumeSource", struct volume_host_path, volume_host_path_fields);

static const struct kfield volume_csi_fields[] = {
    KF(struct volume_csi, driver, "driver", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
};
static const struct kschema volume_csi_schema =
    KSCHEMA("CSIVolumeSource", struct volume_csi, volume_csi_fields);

#define DISK(noun, sname, idname)                                              \
    static const struct kfield noun##_fields[] = {                             \
        KF(struct volume_disk, id, idname, KF_STR, .flags = KF_REQUIRED),      \
        KF(struct volume_disk, read_only, "readOnly", KF_BOOL, .flags = OMIT), \
    };                                                                         \
    const struct kschema noun##_schema = KSCHEMA(sname, struct volume_disk, noun##_fields)
DISK(volume_gce, "GCEPersistentDiskVolumeSource", "pdName");
DISK(volume_ebs, "AWSElasticBlockStoreVolumeSource", "volumeID");
DISK(volume_azure, "AzureDiskVolumeSource", "diskURI");
DISK(volume_cinder, "CinderVolumeSource", "volumeID");
DISK(volume_portworx, "PortworxVolumeSource", "volumeID");

static const struct kfield volume_iscsi_fields[] = {
    KF(struct volume_iscsi, iqn, "iqn", KF_STR, .flags = KF_REQUIRED),
    KF(struct volume_iscsi, read_only, "readOnly", KF_BOOL, .flags = OMIT),
};
static const struct kschema volume_iscsi_schema =
    KSCHEMA("ISCSIVolumeSource", struct volume_iscsi, volume_iscsi_fields);

static const struct kmeta rbd_pool_meta = { .def = "\"rbd\"" };
static const struct kfield volume_rbd_fields[] = {
    KF_STRLIST(struct volume_rbd, monitors, "monitors"),
    KF(struct volume_rbd, pool, "pool", KF_STR, .flags = INTERN_OMIT, .meta = &rbd_pool_meta),
    KF(struct volume_rbd, image, "image", KF_STR, .flags = KF_REQUIRED),
    KF(struct volume_rbd, read_only, "readOnly", KF_BOOL, .flags = OMIT),
};
static const struct kschema volume_rbd_schema =
    KSCHEMA("RBDVolumeSource", struct volume_rbd, volume_rbd_fields);

#define F(member, json, schema) \
    KF(struct pod_volume, member, json, KF_OBJ, .flags = PTR_OMIT, .sub = &(schema))
static const struct kfield pod_volume_fields[] = {
    KF(struct pod_volume, name, "name", KF_STR, .flags = KF_REQUIRED),
    F(claim, "persistentVolumeClaim", volume_claim_schema),
    F(ephemeral, "ephemeral", volume_presence_schema),
    F(empty_dir, "emptyDir", volume_presence_schema),
    F(host_path, "hostPath", volume_host_path_schema),
    F(csi, "csi", volume_csi_schema),
    F(gce, "gcePersistentDisk", volume_gce_schema),
    F(ebs, "awsElasticBlockStore", volume_ebs_schema),
    F(azure_disk, "azureDisk", volume_azure_schema),
    F(cinder, "cinder", volume_cinder_schema),
    F(portworx, "portworxVolume", volume_portworx_schema),
    F(iscsi, "iscsi", volume_iscsi_schema),
    F(rbd, "rbd", volume_rbd_schema),
};
#undef F
const struct kschema pod_volume_schema = KSCHEMA("Volume", struct pod_volume, pod_volume_fields);

/* ---- spec ------------------------------------------------------------------------------------ */

static const char *const spread_action_names[] = { "", "DoNotSchedule", "ScheduleAnyway", NULL };
static const char *const spread_policy_names[] = { "", "Honor", "Ignore", NULL };
static const struct kmeta spread_action_meta = { .names = spread_action_names };
static const struct kmeta spread_policy_meta = { .names = spread_policy_names };

#define F(member, json, type, ...) KF(struct topology_spread, member, json, type, __VA_ARGS__)
static const struct kfield topology_spread_fields[] = {
    F(max_skew, "maxSkew", KF_I32, .flags = KF_REQUIRED),
    F(topology_key, "topologyKey", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(when_unsatisfiable, "whenUnsatisfiable", KF_ENUM, .flags = KF_REQUIRED,
      .meta = &spread_action_meta),
    F(label_selector, "labelSelector", KF_OBJ, .flags = PTR_OMIT, .sub = &label_selector_schema),
    F(min_domains, "minDomains", KF_OPT_I32, .flags = OMIT),
    F(node_affinity_policy, "nodeAffinityPolicy", KF_ENUM, .flags = OMIT,
      .meta = &spread_policy_meta),
    F(node_taints_policy, "nodeTaintsPolicy", KF_ENUM, .flags = OMIT, .meta = &spread_policy_meta),
    KF_STRLIST(struct topology_spread, match_label_keys, "matchLabelKeys"),
};
#undef F
const struct kschema topology_spread_schema =
    KSCHEMA("TopologySpreadConstraint", struct topology_spread, topology_spread_fields);

static const struct kfield scheduling_gate_fields[] = {
    KF(struct scheduling_gate, name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
};
const struct kschema scheduling_gate_schema =
    KSCHEMA("PodSchedulingGate", struct scheduling_gate, scheduling_gate_fields);

#define F(member, json, type, ...) KF(struct pod_resource_claim, member, json, type, __VA_ARGS__)
static const struct kfield pod_resource_claim_fields[] = {
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(claim_name, "resourceClaimName", KF_STR, .flags = OMIT),
    F(template_name, "resourceClaimTemplateName", KF_STR, .flags = INTERN_OMIT),
};
#undef F
const struct kschema pod_resource_claim_schema =
    KSCHEMA("PodResourceClaim", struct pod_resource_claim, pod_resource_claim_fields);

static const struct kfield pod_spec_fields[] = { POD_SPEC_FIELDS };
static const struct kschema pod_spec_schema = KSCHEMA("PodSpec", struct pod_spec, pod_spec_fields);

static const struct kfield pod_template_spec_fields[] = {
    POD_NODE_NAME_FIELD(struct pod_template_spec),
    POD_VOLUMES_FIELD(struct pod_template_spec),
    KF(struct pod_template_spec, spec, "", KF_OBJ, .flags = KF_INLINE, .sub = &pod_spec_schema),
};
static const struct kschema pod_template_spec_schema =
    KSCHEMA("PodSpec", struct pod_template_spec, pod_template_spec_fields);
static const struct kfield pod_template_fields[] = {
    KF(struct pod_template, meta, "metadata", KF_OBJ, .flags = OMIT, .sub = &objmeta_schema),
    KF(struct pod_template, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &pod_template_spec_schema),
};
const struct kschema pod_template_schema =
    KSCHEMA("PodTemplateSpec", struct pod_template, pod_template_fields);

/* ---- status ---------------------------------------------------------------------------------- */

const char *const pod_phase_names[] = { "",       "Pending", "Running", "Succeeded",
                                        "Failed", "Unknown", NULL };
const struct kmeta pod_phase_meta = { .names = pod_phase_names };
const struct kmeta pod_qos_meta = { .names = kube_qos_names };

static const struct kfield container_waiting_fields[] = {
    KF(struct container_waiting, reason, "reason", KF_STR, .flags = INTERN_OMIT),
};
static const struct kschema container_waiting_schema =
    KSCHEMA("ContainerStateWaiting", struct container_waiting, container_waiting_fields);

static const struct kfield container_running_fields[] = {
    KF(struct container_running, started_at, "startedAt", KF_TIME, .flags = OMIT),
};
static const struct kschema container_running_schema =
    KSCHEMA("ContainerStateRunning", struct container_running, container_running_fields);

#define F(member, json, type, ...) KF(struct container_terminated, member, json, type, __VA_ARGS__)
static const struct kfield container_terminated_fields[] = {
    F(exit_code, "exitCode", KF_I32),
    F(reason, "reason", KF_STR, .flags = INTERN_OMIT),
    F(started_at, "startedAt", KF_TIME, .flags = OMIT),
    F(finished_at, "finishedAt", KF_TIME, .flags = OMIT),
};
#undef F
static const struct kschema container_terminated_schema =
    KSCHEMA("ContainerStateTerminated", struct container_terminated, container_terminated_fields);

#define F(member, json, schema) \
    KF(struct container_state, member, json, KF_OBJ, .flags = PTR_OMIT, .sub = &(schema))
static const struct kfield container_state_fields[] = {
    F(waiting, "waiting", container_waiting_schema),
    F(running, "running", container_running_schema),
    F(terminated, "terminated", container_terminated_schema),
};
#undef F
const struct kschema container_state_schema =
    KSCHEMA("ContainerState", struct container_state, container_state_fields);

static const struct kfield pod_ip_fields[] = {
    KF(struct pod_ip, ip, "ip", KF_STR, .flags = OMIT),
};
const struct kschema pod_ip_schema = KSCHEMA("PodIP", struct pod_ip, pod_ip_fields);

static const struct kfield resource_claim_status_fields[] = {
    KF(struct resource_claim_status, name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct resource_claim_status, claim_name, "resourceClaimName", KF_STR, .flags = OMIT),
};
const struct kschema resource_claim_status_schema =
    KSCHEMA("PodResourceClaimStatus", struct resource_claim_status, resource_claim_status_fields);

static const struct kfield extended_claim_status_fields[] = {
    KF(struct extended_claim_status, claim_name, "resourceClaimName", KF_STR, .flags = OMIT),
};
const struct kschema extended_claim_status_schema = KSCHEMA(
    "PodExtendedResourceClaimStatus", struct extended_claim_status, extended_claim_status_fields);
