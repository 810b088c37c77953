/* storage.c - tables of the storage kinds. Some levels of the JSON have no struct of their own:
 * a table then starts in the middle of its parent (spec.resources.requests is spec.requests). */
#include "api/storage.h"

#include "api/meta_fields.h"
#include "api/pod_fields.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)
#define PTR_OMIT    (KF_PTR | KF_OMITEMPTY)

/* A struct of one member, for a level of the JSON that is left out. */
struct only_str {
    const char *v;
};
struct only_reslist {
    reslist v;
};
struct only_ptr {
    void *v;
};
struct only_bool {
    bool v;
};

static const struct kfield phase_fields[] = {
    KF(struct only_str, v, "phase", KF_STR, .flags = INTERN_OMIT),
};
static const struct kschema phase_schema = KSCHEMA("Status", struct only_str, phase_fields);

/* ---- PersistentVolume ------------------------------------------------------------------------ */

static const struct kfield pv_csi_fields[] = {
    KF(struct pv_csi, driver, "driver", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct pv_csi, volume_handle, "volumeHandle", KF_STR, .flags = KF_REQUIRED),
};
static const struct kschema pv_csi_schema =
    KSCHEMA("CSIPersistentVolumeSource", struct pv_csi, pv_csi_fields);

static const struct kfield pv_affinity_fields[] = {
    KF(struct only_ptr, v, "required", KF_OBJ, .flags = PTR_OMIT, .sub = &node_selector_schema),
};
static const struct kschema pv_affinity_schema =
    KSCHEMA("VolumeNodeAffinity", struct only_ptr, pv_affinity_fields);

#define F(member, json, type, ...)   KF(struct pv_spec, member, json, type, __VA_ARGS__)
#define SOURCE(member, json, schema) F(member, json, KF_OBJ, .flags = PTR_OMIT, .sub = &(schema))
static const struct kfield pv_spec_fields[] = {
    KF_RESLIST(struct pv_spec, capacity, "capacity"),
    SOURCE(gce, "gcePersistentDisk", volume_gce_schema),
    SOURCE(ebs, "awsElasticBlockStore", volume_ebs_schema),
    SOURCE(cinder, "cinder", volume_cinder_schema),
    SOURCE(azure_disk, "azureDisk", volume_azure_schema),
    SOURCE(portworx, "portworxVolume", volume_portworx_schema),
    SOURCE(csi, "csi", pv_csi_schema),
    KF_STRLIST(struct pv_spec, access_modes, "accessModes"),
    SOURCE(claim_ref, "claimRef", object_ref_schema),
    F(storage_class_name, "storageClassName", KF_STR, .flags = INTERN_OMIT),
    F(volume_mode, "volumeMode", KF_STR, .flags = INTERN_OMIT),
    F(reclaim_policy, "persistentVolumeReclaimPolicy", KF_STR, .flags = INTERN_OMIT),
    F(node_affinity, "nodeAffinity", KF_OBJ, .flags = OMIT, .sub = &pv_affinity_schema),
    F(volume_attributes_class_name, "volumeAttributesClassName", KF_OPT_STR, .flags = INTERN_OMIT),
};
#undef SOURCE
#undef F
static const struct kschema pv_spec_schema =
    KSCHEMA("PersistentVolumeSpec", struct pv_spec, pv_spec_fields);
static const struct kfield pv_fields[] = {
    KF_OBJMETA(struct pv),
    KF(struct pv, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &pv_spec_schema),
    KF(struct pv, phase, "status", KF_OBJ, .flags = OMIT, .sub = &phase_schema),
};
static const struct kschema pv_schema = KSCHEMA("PersistentVolume", struct pv, pv_fields);
const struct kind kind_pv = {
    .group = "",
    .version = "v1",
    .kind = "PersistentVolume",
    .plural = "persistentvolumes",
    .short_names = "pv",
    .has_status = true,
    .schema = &pv_schema,
};

/* ---- PersistentVolumeClaim ------------------------------------------------------------------- */

static const struct kfield pvc_resources_fields[] = {
    KF_RESLIST(struct only_reslist, v, "requests"),
};
static const struct kschema pvc_resources_schema =
    KSCHEMA("VolumeResourceRequirements", struct only_reslist, pvc_resources_fields);

#define F(member, json, type, ...) KF(struct pvc_spec, member, json, type, __VA_ARGS__)
static const struct kfield pvc_spec_fields[] = {
    KF_STRLIST(struct pvc_spec, access_modes, "accessModes"),
    F(selector, "selector", KF_OBJ, .flags = PTR_OMIT, .sub = &label_selector_schema),
    F(requests, "resources", KF_OBJ, .flags = OMIT, .sub = &pvc_resources_schema),
    F(volume_name, "volumeName", KF_STR, .flags = OMIT),
    F(storage_class_name, "storageClassName", KF_OPT_STR, .flags = INTERN_OMIT),
    F(volume_mode, "volumeMode", KF_STR, .flags = INTERN_OMIT),
    F(volume_attributes_class_name, "volumeAttributesClassName", KF_OPT_STR, .flags = INTERN_OMIT),
};
#undef F
static const struct kschema pvc_spec_schema =
    KSCHEMA("PersistentVolumeClaimSpec", struct pvc_spec, pvc_spec_fields);
static const struct kfield pvc_fields[] = {
    KF_OBJMETA(struct pvc),
    KF(struct pvc, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &pvc_spec_schema),
    KF(struct pvc, phase, "status", KF_OBJ, .flags = OMIT, .sub = &phase_schema),
};
static const struct kschema pvc_schema = KSCHEMA("PersistentVolumeClaim", struct pvc, pvc_fields);
const struct kind kind_pvc = {
    .group = "",
    .version = "v1",
    .kind = "PersistentVolumeClaim",
    .plural = "persistentvolumeclaims",
    .short_names = "pvc",
    .namespaced = true,
    .has_status = true,
    .schema = &pvc_schema,
};

/* ---- StorageClass ---------------------------------------------------------------------------- */

static const char *const binding_mode_names[] = { "", "Immediate", "WaitForFirstConsumer", NULL };
static const struct kmeta binding_mode_meta = { .names = binding_mode_names };

/* TopologySelectorLabelRequirement has no operator: it means In, which the reader knows. */
static const struct kfield topology_term_fields[] = {
    KF_LIST_OF(struct topology_term, expressions, "matchLabelExpressions", KF_OBJ, .flags = OMIT,
               .sub = &selreq_schema),
};
static const struct kschema topology_term_schema =
    KSCHEMA("TopologySelectorTerm", struct topology_term, topology_term_fields);

#define F(member, json, type, ...) KF(struct storage_class, member, json, type, __VA_ARGS__)
static const struct kfield storage_class_fields[] = {
    KF_OBJMETA(struct storage_class),
    F(provisioner, "provisioner", KF_STR, .flags = KF_INTERN),
    F(reclaim_policy, "reclaimPolicy", KF_OPT_STR, .flags = INTERN_OMIT),
    F(volume_binding_mode, "volumeBindingMode", KF_ENUM, .flags = OMIT, .meta = &binding_mode_meta),
    KF_LIST_OF(struct storage_class, allowed_topologies, "allowedTopologies", KF_OBJ, .flags = OMIT,
               .sub = &topology_term_schema),
};
#undef F
static const struct kschema storage_class_schema =
    KSCHEMA("StorageClass", struct storage_class, storage_class_fields);
const struct kind kind_storage_class = {
    .group = "storage.k8s.io",
    .version = "v1",
    .kind = "StorageClass",
    .plural = "storageclasses",
    .short_names = "sc",
    .schema = &storage_class_schema,
};

/* ---- CSI ------------------------------------------------------------------------------------- */

struct only_opt_i32 {
    struct opt_i32 v;
};
static const struct kfield csi_allocatable_fields[] = {
    KF(struct only_opt_i32, v, "count", KF_OPT_I32, .flags = OMIT),
};
static const struct kschema csi_allocatable_schema =
    KSCHEMA("VolumeNodeResources", struct only_opt_i32, csi_allocatable_fields);

static const struct kfield csi_node_driver_fields[] = {
    KF(struct csi_node_driver, name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    KF(struct csi_node_driver, node_id, "nodeID", KF_STR, .flags = OMIT),
    KF_STRLIST(struct csi_node_driver, topology_keys, "topologyKeys"),
    KF(struct csi_node_driver, count, "allocatable", KF_OBJ, .flags = OMIT,
       .sub = &csi_allocatable_schema),
};
static const struct kschema csi_node_driver_schema =
    KSCHEMA("CSINodeDriver", struct csi_node_driver, csi_node_driver_fields);

struct csi_node_spec {
    KLIST(struct csi_node_driver) drivers;
};
static const struct kfield csi_node_spec_fields[] = {
    KF_LIST_OF(struct csi_node_spec, drivers, "drivers", KF_OBJ, .flags = OMIT,
               .sub = &csi_node_driver_schema),
};
static const struct kschema csi_node_spec_schema =
    KSCHEMA("CSINodeSpec", struct csi_node_spec, csi_node_spec_fields);
static const struct kfield csi_node_fields[] = {
    KF_OBJMETA(struct csi_node),
    KF(struct csi_node, drivers, "spec", KF_OBJ, .flags = OMIT, .sub = &csi_node_spec_schema),
};
static const struct kschema csi_node_schema = KSCHEMA("CSINode", struct csi_node, csi_node_fields);
const struct kind kind_csi_node = {
    .group = "storage.k8s.io",
    .version = "v1",
    .kind = "CSINode",
    .plural = "csinodes",
    .schema = &csi_node_schema,
};

struct csi_driver_spec {
    struct opt_bool attach_required, storage_capacity;
};
static const struct kfield csi_driver_spec_fields[] = {
    KF(struct csi_driver_spec, attach_required, "attachRequired", KF_OPT_BOOL, .flags = OMIT),
    KF(struct csi_driver_spec, storage_capacity, "storageCapacity", KF_OPT_BOOL, .flags = OMIT),
};
static const struct kschema csi_driver_spec_schema =
    KSCHEMA("CSIDriverSpec", struct csi_driver_spec, csi_driver_spec_fields);
static const struct kfield csi_driver_fields[] = {
    KF_OBJMETA(struct csi_driver),
    KF(struct csi_driver, attach_required, "spec", KF_OBJ, .flags = OMIT,
       .sub = &csi_driver_spec_schema),
};
static const struct kschema csi_driver_schema =
    KSCHEMA("CSIDriver", struct csi_driver, csi_driver_fields);
const struct kind kind_csi_driver = {
    .group = "storage.k8s.io",
    .version = "v1",
    .kind = "CSIDriver",
    .plural = "csidrivers",
    .schema = &csi_driver_schema,
};

#define F(member, json, type, ...) KF(struct csi_storage_capacity, member, json, type, __VA_ARGS__)
static const struct kfield csi_storage_capacity_fields[] = {
    KF_OBJMETA(struct csi_storage_capacity),
    F(node_topology, "nodeTopology", KF_OBJ, .flags = PTR_OMIT, .sub = &label_selector_schema),
    F(storage_class_name, "storageClassName", KF_STR, .flags = KF_INTERN),
    F(capacity, "capacity", KF_OPT_QTY, .flags = OMIT),
    F(maximum_volume_size, "maximumVolumeSize", KF_OPT_QTY, .flags = OMIT),
};
#undef F
static const struct kschema csi_storage_capacity_schema =
    KSCHEMA("CSIStorageCapacity", struct csi_storage_capacity, csi_storage_capacity_fields);
const struct kind kind_csi_storage_capacity = {
    .group = "storage.k8s.io",
    .version = "v1",
    .kind = "CSIStorageCapacity",
    .plural = "csistoragecapacities",
    .namespaced = true,
    .schema = &csi_storage_capacity_schema,
};

/* ---- VolumeAttachment ------------------------------------------------------------------------ */

/* struct volume_attachment from its attacher on. */
struct attachment_source {
    const char *pv_name;
    struct pv_csi *inline_csi;
};
struct attachment_spec {
    const char *attacher, *node_name;
    struct attachment_source source;
};
_Static_assert(offsetof(struct volume_attachment, inline_csi) -
                       offsetof(struct volume_attachment, attacher) ==
                   offsetof(struct attachment_spec, source.inline_csi),
               "the members of the spec lie together");

static const struct kfield inline_volume_fields[] = {
    KF(struct only_ptr, v, "csi", KF_OBJ, .flags = PTR_OMIT, .sub = &pv_csi_schema),
};
static const struct kschema inline_volume_schema =
    KSCHEMA("PersistentVolumeSpec", struct only_ptr, inline_volume_fields);
static const struct kfield attachment_source_fields[] = {
    KF(struct attachment_source, pv_name, "persistentVolumeName", KF_OPT_STR, .flags = OMIT),
    KF(struct attachment_source, inline_csi, "inlineVolumeSpec", KF_OBJ, .flags = OMIT,
       .sub = &inline_volume_schema),
};
static const struct kschema attachment_source_schema =
    KSCHEMA("VolumeAttachmentSource", struct attachment_source, attachment_source_fields);
static const struct kfield attachment_spec_fields[] = {
    KF(struct attachment_spec, attacher, "attacher", KF_STR, .flags = KF_INTERN),
    KF(struct attachment_spec, source, "source", KF_OBJ, .flags = OMIT,
       .sub = &attachment_source_schema),
    KF(struct attachment_spec, node_name, "nodeName", KF_STR, .flags = KF_INTERN),
};
static const struct kschema attachment_spec_schema =
    KSCHEMA("VolumeAttachmentSpec", struct attachment_spec, attachment_spec_fields);
static const struct kfield attached_fields[] = {
    KF(struct only_bool, v, "attached", KF_BOOL),
};
static const struct kschema attached_schema =
    KSCHEMA("VolumeAttachmentStatus", struct only_bool, attached_fields);
static const struct kfield volume_attachment_fields[] = {
    KF_OBJMETA(struct volume_attachment),
    KF(struct volume_attachment, attacher, "spec", KF_OBJ, .flags = OMIT,
       .sub = &attachment_spec_schema),
    KF(struct volume_attachment, attached, "status", KF_OBJ, .flags = OMIT,
       .sub = &attached_schema),
};
static const struct kschema volume_attachment_schema =
    KSCHEMA("VolumeAttachment", struct volume_attachment, volume_attachment_fields);
const struct kind kind_volume_attachment = {
    .group = "storage.k8s.io",
    .version = "v1",
    .kind = "VolumeAttachment",
    .plural = "volumeattachments",
    .has_status = true,
    .schema = &volume_attachment_schema,
};
