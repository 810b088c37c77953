/* core_volume.c - core/v1: volumes, persistent volumes and claims. */
#include "apiserver/schema/tables.h"

static const struct t_field core_volume_resource_requirements_fields[] = {
    MAP("limits", T_QTY, 0, GO("v1.ResourceList")),
    MAP("requests", T_QTY, 0, GO("v1.ResourceList")),
    END,
};
static TYPE(core_volume_resource_requirements, "io.k8s.api.core.v1.VolumeResourceRequirements");

static const struct t_field core_typed_object_reference_fields[] = {
    F("apiGroup", T_STR, T_PTR | T_EMIT),
    F("kind", T_STR, T_REQ | T_EMIT),
    F("name", T_STR, T_REQ | T_EMIT),
    F("namespace", T_STR, T_PTR),
    END,
};
static TYPE(core_typed_object_reference, "io.k8s.api.core.v1.TypedObjectReference");

static const char *const persistent_volume_access_mode_values[] = { "ReadWriteOnce", "ReadOnlyMany",
                                                                    "ReadWriteMany",
                                                                    "ReadWriteOncePod", NULL };
static const char *const persistent_volume_mode_values[] = { "Block", "Filesystem", NULL };
static const struct t_field core_persistent_volume_claim_spec_fields[] = {
    ENUMS("accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    OBJ("selector", meta_label_selector, T_PTR),
    OBJ("resources", core_volume_resource_requirements, T_EMIT),
    F("volumeName", T_STR, 0),
    F("storageClassName", T_STR, T_PTR),
    ENUM("volumeMode", persistent_volume_mode_values, "v1.PersistentVolumeMode", T_PTR,
         DEF("\"Filesystem\"")),
    OBJ("dataSource", core_typed_local_object_reference, T_PTR),
    OBJ("dataSourceRef", core_typed_object_reference, T_PTR),
    F("volumeAttributesClassName", T_STR, T_PTR),
    END,
};
static TYPE(core_persistent_volume_claim_spec, "io.k8s.api.core.v1.PersistentVolumeClaimSpec");

static const struct t_field core_persistent_volume_claim_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.PersistentVolumeClaimConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastProbeTime", T_TIME, T_EMIT),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(core_persistent_volume_claim_condition,
            "io.k8s.api.core.v1.PersistentVolumeClaimCondition");

static const char *const persistent_volume_claim_modify_volume_status_values[] = {
    "Pending", "InProgress", "Infeasible", NULL
};
static const struct t_field core_modify_volume_status_fields[] = {
    F("targetVolumeAttributesClassName", T_STR, 0),
    ENUM("status", persistent_volume_claim_modify_volume_status_values,
         "v1.PersistentVolumeClaimModifyVolumeStatus", T_REQ | T_EMIT),
    END,
};
static TYPE(core_modify_volume_status, "io.k8s.api.core.v1.ModifyVolumeStatus");

static const char *const persistent_volume_claim_phase_values[] = { "Pending", "Bound", "Lost",
                                                                    NULL };
static const char *const claim_resource_status_values[] = {
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizePending",
    "NodeResizeInProgress",       "NodeResizeInfeasible",       NULL
};
static const struct t_field core_persistent_volume_claim_status_fields[] = {
    ENUM("phase", persistent_volume_claim_phase_values, "v1.PersistentVolumeClaimPhase", 0,
         DEF("\"Pending\"")),
    ENUMS("accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    MAP("capacity", T_QTY, 0, GO("v1.ResourceList")),
    OBJS("conditions", core_persistent_volume_claim_condition, T_KEY, KEYS("type")),
    MAP("allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    ENUMMAP("allocatedResourceStatuses", claim_resource_status_values, "v1.ClaimResourceStatus", 0),
    F("currentVolumeAttributesClassName", T_STR, T_PTR),
    OBJ("modifyVolumeStatus", core_modify_volume_status, T_PTR),
    END,
};
static TYPE(core_persistent_volume_claim_status, "io.k8s.api.core.v1.PersistentVolumeClaimStatus");

static const struct t_field core_persistent_volume_claim_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_persistent_volume_claim_spec, T_EMIT),
    OBJ("status", core_persistent_volume_claim_status, T_EMIT),
    END,
};
TYPE(core_persistent_volume_claim, "io.k8s.api.core.v1.PersistentVolumeClaim");

static const struct t_field core_gce_persistent_disk_volume_source_fields[] = {
    F("pdName", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("partition", T_I32, 0),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_gce_persistent_disk_volume_source,
            "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource");

static const struct t_field core_aws_elastic_block_store_volume_source_fields[] = {
    F("volumeID", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("partition", T_I32, 0),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_aws_elastic_block_store_volume_source,
            "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource");

static const char *const host_path_type_values[] = {
    "",           "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket",
    "CharDevice", "BlockDevice",       NULL
};
static const struct t_field core_host_path_volume_source_fields[] = {
    F("path", T_STR, T_REQ | T_EMIT),
    ENUM("type", host_path_type_values, "v1.HostPathType", T_PTR, DEF("\"\"")),
    END,
};
static TYPE(core_host_path_volume_source, "io.k8s.api.core.v1.HostPathVolumeSource");

static const struct t_field core_glusterfs_persistent_volume_source_fields[] = {
    F("endpoints", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("endpointsNamespace", T_STR, T_PTR),
    END,
};
static TYPE(core_glusterfs_persistent_volume_source,
            "io.k8s.api.core.v1.GlusterfsPersistentVolumeSource");

static const struct t_field core_nfs_volume_source_fields[] = {
    F("server", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_nfs_volume_source, "io.k8s.api.core.v1.NFSVolumeSource");

static const struct t_field core_secret_reference_fields[] = {
    F("name", T_STR, 0),
    F("namespace", T_STR, 0),
    END,
};
static TYPE(core_secret_reference, "io.k8s.api.core.v1.SecretReference");

static const struct t_field core_rbd_persistent_volume_source_fields[] = {
    LIST("monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F("image", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("pool", T_STR, 0, DEF("\"rbd\"")),
    F("user", T_STR, 0, DEF("\"admin\"")),
    F("keyring", T_STR, 0, DEF("\"/etc/ceph/keyring\"")),
    OBJ("secretRef", core_secret_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_rbd_persistent_volume_source, "io.k8s.api.core.v1.RBDPersistentVolumeSource");

static const struct t_field core_iscsi_persistent_volume_source_fields[] = {
    F("targetPortal", T_STR, T_REQ | T_EMIT),
    F("iqn", T_STR, T_REQ | T_EMIT),
    F("lun", T_I32, T_REQ | T_EMIT),
    F("iscsiInterface", T_STR, 0, DEF("\"default\"")),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    LIST("portals", T_STR, T_ATOMIC),
    F("chapAuthDiscovery", T_BOOL, 0),
    F("chapAuthSession", T_BOOL, 0),
    OBJ("secretRef", core_secret_reference, T_PTR),
    F("initiatorName", T_STR, T_PTR),
    END,
};
static TYPE(core_iscsi_persistent_volume_source, "io.k8s.api.core.v1.ISCSIPersistentVolumeSource");

static const struct t_field core_cinder_persistent_volume_source_fields[] = {
    F("volumeID", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    OBJ("secretRef", core_secret_reference, T_PTR),
    END,
};
static TYPE(core_cinder_persistent_volume_source,
            "io.k8s.api.core.v1.CinderPersistentVolumeSource");

static const struct t_field core_ceph_fs_persistent_volume_source_fields[] = {
    LIST("monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F("path", T_STR, 0),
    F("user", T_STR, 0),
    F("secretFile", T_STR, 0),
    OBJ("secretRef", core_secret_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_ceph_fs_persistent_volume_source,
            "io.k8s.api.core.v1.CephFSPersistentVolumeSource");

static const struct t_field core_fc_volume_source_fields[] = {
    LIST("targetWWNs", T_STR, T_ATOMIC),
    F("lun", T_I32, T_PTR),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    LIST("wwids", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_fc_volume_source, "io.k8s.api.core.v1.FCVolumeSource");

static const struct t_field core_flocker_volume_source_fields[] = {
    F("datasetName", T_STR, 0),
    F("datasetUUID", T_STR, 0),
    END,
};
static TYPE(core_flocker_volume_source, "io.k8s.api.core.v1.FlockerVolumeSource");

static const struct t_field core_flex_persistent_volume_source_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    OBJ("secretRef", core_secret_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    MAP("options", T_STR, 0),
    END,
};
static TYPE(core_flex_persistent_volume_source, "io.k8s.api.core.v1.FlexPersistentVolumeSource");

static const struct t_field core_azure_file_persistent_volume_source_fields[] = {
    F("secretName", T_STR, T_REQ | T_EMIT),
    F("shareName", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("secretNamespace", T_STR, T_PTR | T_EMIT),
    END,
};
static TYPE(core_azure_file_persistent_volume_source,
            "io.k8s.api.core.v1.AzureFilePersistentVolumeSource");

static const struct t_field core_vsphere_virtual_disk_volume_source_fields[] = {
    F("volumePath", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("storagePolicyName", T_STR, 0),
    F("storagePolicyID", T_STR, 0),
    END,
};
static TYPE(core_vsphere_virtual_disk_volume_source,
            "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource");

static const struct t_field core_quobyte_volume_source_fields[] = {
    F("registry", T_STR, T_REQ | T_EMIT),
    F("volume", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("user", T_STR, 0),
    F("group", T_STR, 0),
    F("tenant", T_STR, 0),
    END,
};
static TYPE(core_quobyte_volume_source, "io.k8s.api.core.v1.QuobyteVolumeSource");

static const char *const azure_data_disk_caching_mode_values[] = { "None", "ReadOnly", "ReadWrite",
                                                                   NULL };
static const char *const azure_data_disk_kind_values[] = { "Shared", "Dedicated", "Managed", NULL };
static const struct t_field core_azure_disk_volume_source_fields[] = {
    F("diskName", T_STR, T_REQ | T_EMIT),
    F("diskURI", T_STR, T_REQ | T_EMIT),
    ENUM("cachingMode", azure_data_disk_caching_mode_values, "v1.AzureDataDiskCachingMode", T_PTR,
         DEF("\"ReadWrite\"")),
    F("fsType", T_STR, T_PTR, DEF("\"ext4\"")),
    F("readOnly", T_BOOL, T_PTR, DEF("false")),
    ENUM("kind", azure_data_disk_kind_values, "v1.AzureDataDiskKind", T_PTR, DEF("\"Shared\"")),
    END,
};
static TYPE(core_azure_disk_volume_source, "io.k8s.api.core.v1.AzureDiskVolumeSource");

static const struct t_field core_photon_persistent_disk_volume_source_fields[] = {
    F("pdID", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    END,
};
static TYPE(core_photon_persistent_disk_volume_source,
            "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource");

static const struct t_field core_portworx_volume_source_fields[] = {
    F("volumeID", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_portworx_volume_source, "io.k8s.api.core.v1.PortworxVolumeSource");

static const struct t_field core_scale_io_persistent_volume_source_fields[] = {
    F("gateway", T_STR, T_REQ | T_EMIT),
    F("system", T_STR, T_REQ | T_EMIT),
    OBJ("secretRef", core_secret_reference, T_REQ | T_PTR | T_EMIT),
    F("sslEnabled", T_BOOL, 0),
    F("protectionDomain", T_STR, 0),
    F("storagePool", T_STR, 0),
    F("storageMode", T_STR, 0, DEF("\"ThinProvisioned\"")),
    F("volumeName", T_STR, 0),
    F("fsType", T_STR, 0, DEF("\"xfs\"")),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_scale_io_persistent_volume_source,
            "io.k8s.api.core.v1.ScaleIOPersistentVolumeSource");

static const struct t_field core_local_volume_source_fields[] = {
    F("path", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, T_PTR),
    END,
};
static TYPE(core_local_volume_source, "io.k8s.api.core.v1.LocalVolumeSource");

static const struct t_field core_storage_os_persistent_volume_source_fields[] = {
    F("volumeName", T_STR, 0),
    F("volumeNamespace", T_STR, 0),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    OBJ("secretRef", core_object_reference, T_PTR),
    END,
};
static TYPE(core_storage_os_persistent_volume_source,
            "io.k8s.api.core.v1.StorageOSPersistentVolumeSource");

static const struct t_field core_csi_persistent_volume_source_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("volumeHandle", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("fsType", T_STR, 0),
    MAP("volumeAttributes", T_STR, 0),
    OBJ("controllerPublishSecretRef", core_secret_reference, T_PTR),
    OBJ("nodeStageSecretRef", core_secret_reference, T_PTR),
    OBJ("nodePublishSecretRef", core_secret_reference, T_PTR),
    OBJ("controllerExpandSecretRef", core_secret_reference, T_PTR),
    OBJ("nodeExpandSecretRef", core_secret_reference, T_PTR),
    END,
};
static TYPE(core_csi_persistent_volume_source, "io.k8s.api.core.v1.CSIPersistentVolumeSource");

static const struct t_field core_volume_node_affinity_fields[] = {
    OBJ("required", core_node_selector, T_PTR),
    END,
};
static TYPE(core_volume_node_affinity, "io.k8s.api.core.v1.VolumeNodeAffinity");

const char *const persistent_volume_reclaim_policy_values[] = { "Recycle", "Delete", "Retain",
                                                                NULL };
static const struct t_field core_persistent_volume_spec_fields[] = {
    MAP("capacity", T_QTY, 0, GO("v1.ResourceList")),
    OBJ("gcePersistentDisk", core_gce_persistent_disk_volume_source, T_PTR),
    OBJ("awsElasticBlockStore", core_aws_elastic_block_store_volume_source, T_PTR),
    OBJ("hostPath", core_host_path_volume_source, T_PTR),
    OBJ("glusterfs", core_glusterfs_persistent_volume_source, T_PTR),
    OBJ("nfs", core_nfs_volume_source, T_PTR),
    OBJ("rbd", core_rbd_persistent_volume_source, T_PTR),
    OBJ("iscsi", core_iscsi_persistent_volume_source, T_PTR),
    OBJ("cinder", core_cinder_persistent_volume_source, T_PTR),
    OBJ("cephfs", core_ceph_fs_persistent_volume_source, T_PTR),
    OBJ("fc", core_fc_volume_source, T_PTR),
    OBJ("flocker", core_flocker_volume_source, T_PTR),
    OBJ("flexVolume", core_flex_persistent_volume_source, T_PTR),
    OBJ("azureFile", core_azure_file_persistent_volume_source, T_PTR),
    OBJ("vsphereVolume", core_vsphere_virtual_disk_volume_source, T_PTR),
    OBJ("quobyte", core_quobyte_volume_source, T_PTR),
    OBJ("azureDisk", core_azure_disk_volume_source, T_PTR),
    OBJ("photonPersistentDisk", core_photon_persistent_disk_volume_source, T_PTR),
    OBJ("portworxVolume", core_portworx_volume_source, T_PTR),
    OBJ("scaleIO", core_scale_io_persistent_volume_source, T_PTR),
    OBJ("local", core_local_volume_source, T_PTR),
    OBJ("storageos", core_storage_os_persistent_volume_source, T_PTR),
    OBJ("csi", core_csi_persistent_volume_source, T_PTR),
    ENUMS("accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    OBJ("claimRef", core_object_reference, T_PTR),
    ENUM("persistentVolumeReclaimPolicy", persistent_volume_reclaim_policy_values,
         "v1.PersistentVolumeReclaimPolicy", 0, DEF("\"Retain\"")),
    F("storageClassName", T_STR, 0),
    LIST("mountOptions", T_STR, T_ATOMIC),
    ENUM("volumeMode", persistent_volume_mode_values, "v1.PersistentVolumeMode", T_PTR,
         DEF("\"Filesystem\"")),
    OBJ("nodeAffinity", core_volume_node_affinity, T_PTR),
    F("volumeAttributesClassName", T_STR, T_PTR),
    END,
};
TYPE(core_persistent_volume_spec, "io.k8s.api.core.v1.PersistentVolumeSpec");

static const char *const persistent_volume_phase_values[] = { "Pending",  "Available", "Bound",
                                                              "Released", "Failed",    NULL };
static const struct t_field core_persistent_volume_status_fields[] = {
    ENUM("phase", persistent_volume_phase_values, "v1.PersistentVolumePhase", 0,
         DEF("\"Pending\"")),
    F("message", T_STR, 0),
    F("reason", T_STR, 0),
    F("lastPhaseTransitionTime", T_TIME, T_PTR),
    END,
};
static TYPE(core_persistent_volume_status, "io.k8s.api.core.v1.PersistentVolumeStatus");

static const struct t_field core_persistent_volume_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_persistent_volume_spec, T_EMIT),
    OBJ("status", core_persistent_volume_status, T_EMIT),
    END,
};
TYPE(core_persistent_volume, "io.k8s.api.core.v1.PersistentVolume");

static const struct t_field core_empty_dir_volume_source_fields[] = {
    F("medium", T_STR, 0, GO("v1.StorageMedium")),
    F("sizeLimit", T_QTY, T_PTR),
    END,
};
static TYPE(core_empty_dir_volume_source, "io.k8s.api.core.v1.EmptyDirVolumeSource");

static const struct t_field core_git_repo_volume_source_fields[] = {
    F("repository", T_STR, T_REQ | T_EMIT),
    F("revision", T_STR, 0),
    F("directory", T_STR, 0),
    END,
};
static TYPE(core_git_repo_volume_source, "io.k8s.api.core.v1.GitRepoVolumeSource");

static const struct t_field core_key_to_path_fields[] = {
    F("key", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_REQ | T_EMIT),
    F("mode", T_I32, T_PTR),
    END,
};
static TYPE(core_key_to_path, "io.k8s.api.core.v1.KeyToPath");

static const struct t_field core_secret_volume_source_fields[] = {
    F("secretName", T_STR, 0),
    OBJS("items", core_key_to_path, T_ATOMIC),
    F("defaultMode", T_I32, T_PTR, DEF("420")),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_volume_source, "io.k8s.api.core.v1.SecretVolumeSource");

static const struct t_field core_iscsi_volume_source_fields[] = {
    F("targetPortal", T_STR, T_REQ | T_EMIT),
    F("iqn", T_STR, T_REQ | T_EMIT),
    F("lun", T_I32, T_REQ | T_EMIT),
    F("iscsiInterface", T_STR, 0, DEF("\"default\"")),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    LIST("portals", T_STR, T_ATOMIC),
    F("chapAuthDiscovery", T_BOOL, 0),
    F("chapAuthSession", T_BOOL, 0),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    F("initiatorName", T_STR, T_PTR),
    END,
};
static TYPE(core_iscsi_volume_source, "io.k8s.api.core.v1.ISCSIVolumeSource");

static const struct t_field core_glusterfs_volume_source_fields[] = {
    F("endpoints", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_glusterfs_volume_source, "io.k8s.api.core.v1.GlusterfsVolumeSource");

static const struct t_field core_persistent_volume_claim_volume_source_fields[] = {
    F("claimName", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_persistent_volume_claim_volume_source,
            "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource");

static const struct t_field core_rbd_volume_source_fields[] = {
    LIST("monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F("image", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("pool", T_STR, 0, DEF("\"rbd\"")),
    F("user", T_STR, 0, DEF("\"admin\"")),
    F("keyring", T_STR, 0, DEF("\"/etc/ceph/keyring\"")),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_rbd_volume_source, "io.k8s.api.core.v1.RBDVolumeSource");

static const struct t_field core_flex_volume_source_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    MAP("options", T_STR, 0),
    END,
};
static TYPE(core_flex_volume_source, "io.k8s.api.core.v1.FlexVolumeSource");

static const struct t_field core_cinder_volume_source_fields[] = {
    F("volumeID", T_STR, T_REQ | T_EMIT),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_cinder_volume_source, "io.k8s.api.core.v1.CinderVolumeSource");

static const struct t_field core_ceph_fs_volume_source_fields[] = {
    LIST("monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F("path", T_STR, 0),
    F("user", T_STR, 0),
    F("secretFile", T_STR, 0),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_ceph_fs_volume_source, "io.k8s.api.core.v1.CephFSVolumeSource");

static const struct t_field core_object_field_selector_fields[] = {
    F("apiVersion", T_STR, 0, DEF("\"v1\"")),
    F("fieldPath", T_STR, T_REQ | T_EMIT),
    END,
};
TYPE(core_object_field_selector, "io.k8s.api.core.v1.ObjectFieldSelector");

static const struct t_field core_resource_field_selector_fields[] = {
    F("containerName", T_STR, 0),
    F("resource", T_STR, T_REQ | T_EMIT),
    F("divisor", T_QTY, T_EMIT),
    END,
};
TYPE(core_resource_field_selector, "io.k8s.api.core.v1.ResourceFieldSelector");

static const struct t_field core_downward_api_volume_file_fields[] = {
    F("path", T_STR, T_REQ | T_EMIT),
    OBJ("fieldRef", core_object_field_selector, T_PTR),
    OBJ("resourceFieldRef", core_resource_field_selector, T_PTR),
    F("mode", T_I32, T_PTR),
    END,
};
static TYPE(core_downward_api_volume_file, "io.k8s.api.core.v1.DownwardAPIVolumeFile");

static const struct t_field core_downward_api_volume_source_fields[] = {
    OBJS("items", core_downward_api_volume_file, T_ATOMIC),
    F("defaultMode", T_I32, T_PTR, DEF("420")),
    END,
};
static TYPE(core_downward_api_volume_source, "io.k8s.api.core.v1.DownwardAPIVolumeSource");

static const struct t_field core_azure_file_volume_source_fields[] = {
    F("secretName", T_STR, T_REQ | T_EMIT),
    F("shareName", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_azure_file_volume_source, "io.k8s.api.core.v1.AzureFileVolumeSource");

static const struct t_field core_config_map_volume_source_fields[] = {
    F("name", T_STR, 0),
    OBJS("items", core_key_to_path, T_ATOMIC),
    F("defaultMode", T_I32, T_PTR, DEF("420")),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_volume_source, "io.k8s.api.core.v1.ConfigMapVolumeSource");

static const struct t_field core_secret_projection_fields[] = {
    F("name", T_STR, 0),
    OBJS("items", core_key_to_path, T_ATOMIC),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_projection, "io.k8s.api.core.v1.SecretProjection");

static const struct t_field core_downward_api_projection_fields[] = {
    OBJS("items", core_downward_api_volume_file, T_ATOMIC),
    END,
};
static TYPE(core_downward_api_projection, "io.k8s.api.core.v1.DownwardAPIProjection");

static const struct t_field core_config_map_projection_fields[] = {
    F("name", T_STR, 0),
    OBJS("items", core_key_to_path, T_ATOMIC),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_projection, "io.k8s.api.core.v1.ConfigMapProjection");

static const struct t_field core_service_account_token_projection_fields[] = {
    F("audience", T_STR, 0),
    F("expirationSeconds", T_I64, T_PTR, DEF("3600")),
    F("path", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_service_account_token_projection,
            "io.k8s.api.core.v1.ServiceAccountTokenProjection");

static const struct t_field core_cluster_trust_bundle_projection_fields[] = {
    F("name", T_STR, T_PTR),
    F("signerName", T_STR, T_PTR),
    OBJ("labelSelector", meta_label_selector, T_PTR),
    F("optional", T_BOOL, T_PTR),
    F("path", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_cluster_trust_bundle_projection,
            "io.k8s.api.core.v1.ClusterTrustBundleProjection");

static const struct t_field core_pod_certificate_projection_fields[] = {
    F("signerName", T_STR, T_REQ),
    F("keyType", T_STR, T_REQ),
    F("maxExpirationSeconds", T_I32, T_PTR),
    F("credentialBundlePath", T_STR, 0),
    F("keyPath", T_STR, 0),
    F("certificateChainPath", T_STR, 0),
    MAP("userAnnotations", T_STR, 0),
    END,
};
static TYPE(core_pod_certificate_projection, "io.k8s.api.core.v1.PodCertificateProjection");

static const struct t_field core_volume_projection_fields[] = {
    OBJ("secret", core_secret_projection, T_PTR),
    OBJ("downwardAPI", core_downward_api_projection, T_PTR),
    OBJ("configMap", core_config_map_projection, T_PTR),
    OBJ("serviceAccountToken", core_service_account_token_projection, T_PTR),
    OBJ("clusterTrustBundle", core_cluster_trust_bundle_projection, T_PTR),
    OBJ("podCertificate", core_pod_certificate_projection, T_PTR),
    END,
};
static TYPE(core_volume_projection, "io.k8s.api.core.v1.VolumeProjection");

static const struct t_field core_projected_volume_source_fields[] = {
    OBJS("sources", core_volume_projection, T_EMIT | T_ATOMIC),
    F("defaultMode", T_I32, T_PTR, DEF("420")),
    END,
};
static TYPE(core_projected_volume_source, "io.k8s.api.core.v1.ProjectedVolumeSource");

static const struct t_field core_scale_io_volume_source_fields[] = {
    F("gateway", T_STR, T_REQ | T_EMIT),
    F("system", T_STR, T_REQ | T_EMIT),
    OBJ("secretRef", core_local_object_reference, T_REQ | T_PTR | T_EMIT),
    F("sslEnabled", T_BOOL, 0),
    F("protectionDomain", T_STR, 0),
    F("storagePool", T_STR, 0),
    F("storageMode", T_STR, 0, DEF("\"ThinProvisioned\"")),
    F("volumeName", T_STR, 0),
    F("fsType", T_STR, 0, DEF("\"xfs\"")),
    F("readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_scale_io_volume_source, "io.k8s.api.core.v1.ScaleIOVolumeSource");

static const struct t_field core_storage_os_volume_source_fields[] = {
    F("volumeName", T_STR, 0),
    F("volumeNamespace", T_STR, 0),
    F("fsType", T_STR, 0),
    F("readOnly", T_BOOL, 0),
    OBJ("secretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_storage_os_volume_source, "io.k8s.api.core.v1.StorageOSVolumeSource");

static const struct t_field core_csi_volume_source_fields[] = {
    F("driver", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, T_PTR),
    F("fsType", T_STR, T_PTR),
    MAP("volumeAttributes", T_STR, 0),
    OBJ("nodePublishSecretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_csi_volume_source, "io.k8s.api.core.v1.CSIVolumeSource");

static const struct t_field core_persistent_volume_claim_template_fields[] = {
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_persistent_volume_claim_spec, T_REQ | T_EMIT),
    END,
};
static TYPE(core_persistent_volume_claim_template,
            "io.k8s.api.core.v1.PersistentVolumeClaimTemplate");

static const struct t_field core_ephemeral_volume_source_fields[] = {
    OBJ("volumeClaimTemplate", core_persistent_volume_claim_template, T_PTR),
    END,
};
static TYPE(core_ephemeral_volume_source, "io.k8s.api.core.v1.EphemeralVolumeSource");

const char *const pull_policy_values[] = { "Always", "Never", "IfNotPresent", NULL };
static const struct t_field core_image_volume_source_fields[] = {
    F("reference", T_STR, 0),
    ENUM("pullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    END,
};
static TYPE(core_image_volume_source, "io.k8s.api.core.v1.ImageVolumeSource");

static const struct t_field core_volume_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJ("hostPath", core_host_path_volume_source, T_PTR),
    OBJ("emptyDir", core_empty_dir_volume_source, T_PTR),
    OBJ("gcePersistentDisk", core_gce_persistent_disk_volume_source, T_PTR),
    OBJ("awsElasticBlockStore", core_aws_elastic_block_store_volume_source, T_PTR),
    OBJ("gitRepo", core_git_repo_volume_source, T_PTR),
    OBJ("secret", core_secret_volume_source, T_PTR),
    OBJ("nfs", core_nfs_volume_source, T_PTR),
    OBJ("iscsi", core_iscsi_volume_source, T_PTR),
    OBJ("glusterfs", core_glusterfs_volume_source, T_PTR),
    OBJ("persistentVolumeClaim", core_persistent_volume_claim_volume_source, T_PTR),
    OBJ("rbd", core_rbd_volume_source, T_PTR),
    OBJ("flexVolume", core_flex_volume_source, T_PTR),
    OBJ("cinder", core_cinder_volume_source, T_PTR),
    OBJ("cephfs", core_ceph_fs_volume_source, T_PTR),
    OBJ("flocker", core_flocker_volume_source, T_PTR),
    OBJ("downwardAPI", core_downward_api_volume_source, T_PTR),
    OBJ("fc", core_fc_volume_source, T_PTR),
    OBJ("azureFile", core_azure_file_volume_source, T_PTR),
    OBJ("configMap", core_config_map_volume_source, T_PTR),
    OBJ("vsphereVolume", core_vsphere_virtual_disk_volume_source, T_PTR),
    OBJ("quobyte", core_quobyte_volume_source, T_PTR),
    OBJ("azureDisk", core_azure_disk_volume_source, T_PTR),
    OBJ("photonPersistentDisk", core_photon_persistent_disk_volume_source, T_PTR),
    OBJ("projected", core_projected_volume_source, T_PTR),
    OBJ("portworxVolume", core_portworx_volume_source, T_PTR),
    OBJ("scaleIO", core_scale_io_volume_source, T_PTR),
    OBJ("storageos", core_storage_os_volume_source, T_PTR),
    OBJ("csi", core_csi_volume_source, T_PTR),
    OBJ("ephemeral", core_ephemeral_volume_source, T_PTR),
    OBJ("image", core_image_volume_source, T_PTR),
    END,
};
TYPE(core_volume, "io.k8s.api.core.v1.Volume");
