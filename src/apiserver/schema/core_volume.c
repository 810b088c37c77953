/* core_volume.c - core/v1: volumes, persistent volumes and claims. */
#include "apiserver/schema/tables.h"

static const struct t_field core_volume_resource_requirements_fields[] = {
    MAP(1, "limits", T_QTY, 0, GO("v1.ResourceList")),
    MAP(2, "requests", T_QTY, 0, GO("v1.ResourceList")),
    END,
};
static TYPE(core_volume_resource_requirements, "io.k8s.api.core.v1.VolumeResourceRequirements");

static const struct t_field core_typed_object_reference_fields[] = {
    F(1, "apiGroup", T_STR, T_PTR | T_EMIT),
    F(2, "kind", T_STR, T_REQ | T_EMIT),
    F(3, "name", T_STR, T_REQ | T_EMIT),
    F(4, "namespace", T_STR, T_PTR),
    END,
};
static TYPE(core_typed_object_reference, "io.k8s.api.core.v1.TypedObjectReference");

static const char *const persistent_volume_access_mode_values[] = { "ReadWriteOnce", "ReadOnlyMany",
                                                                    "ReadWriteMany",
                                                                    "ReadWriteOncePod", NULL };
static const char *const persistent_volume_mode_values[] = { "Block", "Filesystem", NULL };
static const struct t_field core_persistent_volume_claim_spec_fields[] = {
    ENUMS(1, "accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    OBJ(4, "selector", meta_label_selector, T_PTR),
    OBJ(2, "resources", core_volume_resource_requirements, T_EMIT),
    F(3, "volumeName", T_STR, 0),
    F(5, "storageClassName", T_STR, T_PTR),
    ENUM(6, "volumeMode", persistent_volume_mode_values, "v1.PersistentVolumeMode", T_PTR,
         DEF("\"Filesystem\"")),
    OBJ(7, "dataSource", core_typed_local_object_reference, T_PTR),
    OBJ(8, "dataSourceRef", core_typed_object_reference, T_PTR),
    F(9, "volumeAttributesClassName", T_STR, T_PTR),
    END,
};
static TYPE(core_persistent_volume_claim_spec, "io.k8s.api.core.v1.PersistentVolumeClaimSpec");

static const struct t_field core_persistent_volume_claim_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.PersistentVolumeClaimConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastProbeTime", T_TIME, T_EMIT),
    F(4, "lastTransitionTime", T_TIME, T_EMIT),
    F(5, "reason", T_STR, 0),
    F(6, "message", T_STR, 0),
    END,
};
static TYPE(core_persistent_volume_claim_condition,
            "io.k8s.api.core.v1.PersistentVolumeClaimCondition");

static const char *const persistent_volume_claim_modify_volume_status_values[] = {
    "Pending", "InProgress", "Infeasible", NULL
};
static const struct t_field core_modify_volume_status_fields[] = {
    F(1, "targetVolumeAttributesClassName", T_STR, 0),
    ENUM(2, "status", persistent_volume_claim_modify_volume_status_values,
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
    ENUM(1, "phase", persistent_volume_claim_phase_values, "v1.PersistentVolumeClaimPhase", 0,
         DEF("\"Pending\"")),
    ENUMS(2, "accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    MAP(3, "capacity", T_QTY, 0, GO("v1.ResourceList")),
    OBJS(4, "conditions", core_persistent_volume_claim_condition, T_KEY, KEYS("type")),
    MAP(5, "allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    ENUMMAP(7, "allocatedResourceStatuses", claim_resource_status_values, "v1.ClaimResourceStatus",
            T_GRANULAR),
    F(8, "currentVolumeAttributesClassName", T_STR, T_PTR),
    OBJ(9, "modifyVolumeStatus", core_modify_volume_status, T_PTR),
    END,
};
static TYPE(core_persistent_volume_claim_status, "io.k8s.api.core.v1.PersistentVolumeClaimStatus");

static const struct t_field core_persistent_volume_claim_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_persistent_volume_claim_spec, T_EMIT),
    OBJ(3, "status", core_persistent_volume_claim_status, T_EMIT),
    END,
};
TYPE(core_persistent_volume_claim, "io.k8s.api.core.v1.PersistentVolumeClaim");

static const struct t_field core_gce_persistent_disk_volume_source_fields[] = {
    F(1, "pdName", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "partition", T_I32, 0),
    F(4, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_gce_persistent_disk_volume_source,
            "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource");

static const struct t_field core_aws_elastic_block_store_volume_source_fields[] = {
    F(1, "volumeID", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "partition", T_I32, 0),
    F(4, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_aws_elastic_block_store_volume_source,
            "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource");

static const char *const host_path_type_values[] = {
    "",           "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket",
    "CharDevice", "BlockDevice",       NULL
};
static const struct t_field core_host_path_volume_source_fields[] = {
    F(1, "path", T_STR, T_REQ | T_EMIT),
    ENUM(2, "type", host_path_type_values, "v1.HostPathType", T_PTR, DEF("\"\"")),
    END,
};
static TYPE(core_host_path_volume_source, "io.k8s.api.core.v1.HostPathVolumeSource");

static const struct t_field core_glusterfs_persistent_volume_source_fields[] = {
    F(1, "endpoints", T_STR, T_REQ | T_EMIT),
    F(2, "path", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    F(4, "endpointsNamespace", T_STR, T_PTR),
    END,
};
static TYPE(core_glusterfs_persistent_volume_source,
            "io.k8s.api.core.v1.GlusterfsPersistentVolumeSource");

static const struct t_field core_nfs_volume_source_fields[] = {
    F(1, "server", T_STR, T_REQ | T_EMIT),
    F(2, "path", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_nfs_volume_source, "io.k8s.api.core.v1.NFSVolumeSource");

static const struct t_field core_secret_reference_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "namespace", T_STR, 0),
    END,
};
static ATOMIC_TYPE(core_secret_reference, "io.k8s.api.core.v1.SecretReference");

static const struct t_field core_rbd_persistent_volume_source_fields[] = {
    LIST(1, "monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F(2, "image", T_STR, T_REQ | T_EMIT),
    F(3, "fsType", T_STR, 0),
    F(4, "pool", T_STR, 0, DEF("\"rbd\"")),
    F(5, "user", T_STR, 0, DEF("\"admin\"")),
    F(6, "keyring", T_STR, 0, DEF("\"/etc/ceph/keyring\"")),
    OBJ(7, "secretRef", core_secret_reference, T_PTR),
    F(8, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_rbd_persistent_volume_source, "io.k8s.api.core.v1.RBDPersistentVolumeSource");

static const struct t_field core_iscsi_persistent_volume_source_fields[] = {
    F(1, "targetPortal", T_STR, T_REQ | T_EMIT),
    F(2, "iqn", T_STR, T_REQ | T_EMIT),
    F(3, "lun", T_I32, T_REQ | T_EMIT),
    F(4, "iscsiInterface", T_STR, 0, DEF("\"default\"")),
    F(5, "fsType", T_STR, 0),
    F(6, "readOnly", T_BOOL, 0),
    LIST(7, "portals", T_STR, T_ATOMIC),
    F(8, "chapAuthDiscovery", T_BOOL, 0),
    F(11, "chapAuthSession", T_BOOL, 0),
    OBJ(10, "secretRef", core_secret_reference, T_PTR),
    F(12, "initiatorName", T_STR, T_PTR),
    END,
};
static TYPE(core_iscsi_persistent_volume_source, "io.k8s.api.core.v1.ISCSIPersistentVolumeSource");

static const struct t_field core_cinder_persistent_volume_source_fields[] = {
    F(1, "volumeID", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "readOnly", T_BOOL, 0),
    OBJ(4, "secretRef", core_secret_reference, T_PTR),
    END,
};
static TYPE(core_cinder_persistent_volume_source,
            "io.k8s.api.core.v1.CinderPersistentVolumeSource");

static const struct t_field core_ceph_fs_persistent_volume_source_fields[] = {
    LIST(1, "monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F(2, "path", T_STR, 0),
    F(3, "user", T_STR, 0),
    F(4, "secretFile", T_STR, 0),
    OBJ(5, "secretRef", core_secret_reference, T_PTR),
    F(6, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_ceph_fs_persistent_volume_source,
            "io.k8s.api.core.v1.CephFSPersistentVolumeSource");

static const struct t_field core_fc_volume_source_fields[] = {
    LIST(1, "targetWWNs", T_STR, T_ATOMIC),
    F(2, "lun", T_I32, T_PTR),
    F(3, "fsType", T_STR, 0),
    F(4, "readOnly", T_BOOL, 0),
    LIST(5, "wwids", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_fc_volume_source, "io.k8s.api.core.v1.FCVolumeSource");

static const struct t_field core_flocker_volume_source_fields[] = {
    F(1, "datasetName", T_STR, 0),
    F(2, "datasetUUID", T_STR, 0),
    END,
};
static TYPE(core_flocker_volume_source, "io.k8s.api.core.v1.FlockerVolumeSource");

static const struct t_field core_flex_persistent_volume_source_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    OBJ(3, "secretRef", core_secret_reference, T_PTR),
    F(4, "readOnly", T_BOOL, 0),
    MAP(5, "options", T_STR, 0),
    END,
};
static TYPE(core_flex_persistent_volume_source, "io.k8s.api.core.v1.FlexPersistentVolumeSource");

static const struct t_field core_azure_file_persistent_volume_source_fields[] = {
    F(1, "secretName", T_STR, T_REQ | T_EMIT),
    F(2, "shareName", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    F(4, "secretNamespace", T_STR, T_PTR | T_EMIT),
    END,
};
static TYPE(core_azure_file_persistent_volume_source,
            "io.k8s.api.core.v1.AzureFilePersistentVolumeSource");

static const struct t_field core_vsphere_virtual_disk_volume_source_fields[] = {
    F(1, "volumePath", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "storagePolicyName", T_STR, 0),
    F(4, "storagePolicyID", T_STR, 0),
    END,
};
static TYPE(core_vsphere_virtual_disk_volume_source,
            "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource");

static const struct t_field core_quobyte_volume_source_fields[] = {
    F(1, "registry", T_STR, T_REQ | T_EMIT),
    F(2, "volume", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    F(4, "user", T_STR, 0),
    F(5, "group", T_STR, 0),
    F(6, "tenant", T_STR, 0),
    END,
};
static TYPE(core_quobyte_volume_source, "io.k8s.api.core.v1.QuobyteVolumeSource");

static const char *const azure_data_disk_caching_mode_values[] = { "None", "ReadOnly", "ReadWrite",
                                                                   NULL };
static const char *const azure_data_disk_kind_values[] = { "Shared", "Dedicated", "Managed", NULL };
static const struct t_field core_azure_disk_volume_source_fields[] = {
    F(1, "diskName", T_STR, T_REQ | T_EMIT),
    F(2, "diskURI", T_STR, T_REQ | T_EMIT),
    ENUM(3, "cachingMode", azure_data_disk_caching_mode_values, "v1.AzureDataDiskCachingMode",
         T_PTR, DEF("\"ReadWrite\"")),
    F(4, "fsType", T_STR, T_PTR, DEF("\"ext4\"")),
    F(5, "readOnly", T_BOOL, T_PTR, DEF("false")),
    ENUM(6, "kind", azure_data_disk_kind_values, "v1.AzureDataDiskKind", T_PTR, DEF("\"Shared\"")),
    END,
};
static TYPE(core_azure_disk_volume_source, "io.k8s.api.core.v1.AzureDiskVolumeSource");

static const struct t_field core_photon_persistent_disk_volume_source_fields[] = {
    F(1, "pdID", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    END,
};
static TYPE(core_photon_persistent_disk_volume_source,
            "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource");

static const struct t_field core_portworx_volume_source_fields[] = {
    F(1, "volumeID", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_portworx_volume_source, "io.k8s.api.core.v1.PortworxVolumeSource");

static const struct t_field core_scale_io_persistent_volume_source_fields[] = {
    F(1, "gateway", T_STR, T_REQ | T_EMIT),
    F(2, "system", T_STR, T_REQ | T_EMIT),
    OBJ(3, "secretRef", core_secret_reference, T_REQ | T_PTR | T_EMIT),
    F(4, "sslEnabled", T_BOOL, 0),
    F(5, "protectionDomain", T_STR, 0),
    F(6, "storagePool", T_STR, 0),
    F(7, "storageMode", T_STR, 0, DEF("\"ThinProvisioned\"")),
    F(8, "volumeName", T_STR, 0),
    F(9, "fsType", T_STR, 0, DEF("\"xfs\"")),
    F(10, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_scale_io_persistent_volume_source,
            "io.k8s.api.core.v1.ScaleIOPersistentVolumeSource");

static const struct t_field core_local_volume_source_fields[] = {
    F(1, "path", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, T_PTR),
    END,
};
static TYPE(core_local_volume_source, "io.k8s.api.core.v1.LocalVolumeSource");

static const struct t_field core_storage_os_persistent_volume_source_fields[] = {
    F(1, "volumeName", T_STR, 0),
    F(2, "volumeNamespace", T_STR, 0),
    F(3, "fsType", T_STR, 0),
    F(4, "readOnly", T_BOOL, 0),
    OBJ(5, "secretRef", core_object_reference, T_PTR),
    END,
};
static TYPE(core_storage_os_persistent_volume_source,
            "io.k8s.api.core.v1.StorageOSPersistentVolumeSource");

static const struct t_field core_csi_persistent_volume_source_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "volumeHandle", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    F(4, "fsType", T_STR, 0),
    MAP(5, "volumeAttributes", T_STR, 0),
    OBJ(6, "controllerPublishSecretRef", core_secret_reference, T_PTR),
    OBJ(7, "nodeStageSecretRef", core_secret_reference, T_PTR),
    OBJ(8, "nodePublishSecretRef", core_secret_reference, T_PTR),
    OBJ(9, "controllerExpandSecretRef", core_secret_reference, T_PTR),
    OBJ(10, "nodeExpandSecretRef", core_secret_reference, T_PTR),
    END,
};
static TYPE(core_csi_persistent_volume_source, "io.k8s.api.core.v1.CSIPersistentVolumeSource");

static const struct t_field core_volume_node_affinity_fields[] = {
    OBJ(1, "required", core_node_selector, T_PTR),
    END,
};
static TYPE(core_volume_node_affinity, "io.k8s.api.core.v1.VolumeNodeAffinity");

const char *const persistent_volume_reclaim_policy_values[] = { "Recycle", "Delete", "Retain",
                                                                NULL };
static const struct t_field core_persistent_volume_spec_fields[] = {
    MAP(1, "capacity", T_QTY, 0, GO("v1.ResourceList")),
    OBJ(IN(2, 1), "gcePersistentDisk", core_gce_persistent_disk_volume_source, T_PTR),
    OBJ(IN(2, 2), "awsElasticBlockStore", core_aws_elastic_block_store_volume_source, T_PTR),
    OBJ(IN(2, 3), "hostPath", core_host_path_volume_source, T_PTR),
    OBJ(IN(2, 4), "glusterfs", core_glusterfs_persistent_volume_source, T_PTR),
    OBJ(IN(2, 5), "nfs", core_nfs_volume_source, T_PTR),
    OBJ(IN(2, 6), "rbd", core_rbd_persistent_volume_source, T_PTR),
    OBJ(IN(2, 7), "iscsi", core_iscsi_persistent_volume_source, T_PTR),
    OBJ(IN(2, 8), "cinder", core_cinder_persistent_volume_source, T_PTR),
    OBJ(IN(2, 9), "cephfs", core_ceph_fs_persistent_volume_source, T_PTR),
    OBJ(IN(2, 10), "fc", core_fc_volume_source, T_PTR),
    OBJ(IN(2, 11), "flocker", core_flocker_volume_source, T_PTR),
    OBJ(IN(2, 12), "flexVolume", core_flex_persistent_volume_source, T_PTR),
    OBJ(IN(2, 13), "azureFile", core_azure_file_persistent_volume_source, T_PTR),
    OBJ(IN(2, 14), "vsphereVolume", core_vsphere_virtual_disk_volume_source, T_PTR),
    OBJ(IN(2, 15), "quobyte", core_quobyte_volume_source, T_PTR),
    OBJ(IN(2, 16), "azureDisk", core_azure_disk_volume_source, T_PTR),
    OBJ(IN(2, 17), "photonPersistentDisk", core_photon_persistent_disk_volume_source, T_PTR),
    OBJ(IN(2, 18), "portworxVolume", core_portworx_volume_source, T_PTR),
    OBJ(IN(2, 19), "scaleIO", core_scale_io_persistent_volume_source, T_PTR),
    OBJ(IN(2, 20), "local", core_local_volume_source, T_PTR),
    OBJ(IN(2, 21), "storageos", core_storage_os_persistent_volume_source, T_PTR),
    OBJ(IN(2, 22), "csi", core_csi_persistent_volume_source, T_PTR),
    ENUMS(3, "accessModes", persistent_volume_access_mode_values, "v1.PersistentVolumeAccessMode",
          T_ATOMIC),
    OBJ(4, "claimRef", core_object_reference, T_PTR | T_GRANULAR),
    ENUM(5, "persistentVolumeReclaimPolicy", persistent_volume_reclaim_policy_values,
         "v1.PersistentVolumeReclaimPolicy", 0, DEF("\"Retain\"")),
    F(6, "storageClassName", T_STR, 0),
    LIST(7, "mountOptions", T_STR, T_ATOMIC),
    ENUM(8, "volumeMode", persistent_volume_mode_values, "v1.PersistentVolumeMode", T_PTR,
         DEF("\"Filesystem\"")),
    OBJ(9, "nodeAffinity", core_volume_node_affinity, T_PTR),
    F(10, "volumeAttributesClassName", T_STR, T_PTR),
    END,
};
TYPE(core_persistent_volume_spec, "io.k8s.api.core.v1.PersistentVolumeSpec");

static const char *const persistent_volume_phase_values[] = { "Pending",  "Available", "Bound",
                                                              "Released", "Failed",    NULL };
static const struct t_field core_persistent_volume_status_fields[] = {
    ENUM(1, "phase", persistent_volume_phase_values, "v1.PersistentVolumePhase", 0,
         DEF("\"Pending\"")),
    F(2, "message", T_STR, 0),
    F(3, "reason", T_STR, 0),
    F(4, "lastPhaseTransitionTime", T_TIME, T_PTR),
    END,
};
static TYPE(core_persistent_volume_status, "io.k8s.api.core.v1.PersistentVolumeStatus");

static const struct t_field core_persistent_volume_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_persistent_volume_spec, T_EMIT),
    OBJ(3, "status", core_persistent_volume_status, T_EMIT),
    END,
};
TYPE(core_persistent_volume, "io.k8s.api.core.v1.PersistentVolume");

static const struct t_field core_empty_dir_volume_source_fields[] = {
    F(1, "medium", T_STR, 0, GO("v1.StorageMedium")),
    F(2, "sizeLimit", T_QTY, T_PTR),
    END,
};
static TYPE(core_empty_dir_volume_source, "io.k8s.api.core.v1.EmptyDirVolumeSource");

static const struct t_field core_git_repo_volume_source_fields[] = {
    F(1, "repository", T_STR, T_REQ | T_EMIT),
    F(2, "revision", T_STR, 0),
    F(3, "directory", T_STR, 0),
    END,
};
static TYPE(core_git_repo_volume_source, "io.k8s.api.core.v1.GitRepoVolumeSource");

static const struct t_field core_key_to_path_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "path", T_STR, T_REQ | T_EMIT),
    F(3, "mode", T_I32, T_PTR),
    END,
};
static TYPE(core_key_to_path, "io.k8s.api.core.v1.KeyToPath");

static const struct t_field core_secret_volume_source_fields[] = {
    F(1, "secretName", T_STR, 0),
    OBJS(2, "items", core_key_to_path, T_ATOMIC),
    F(3, "defaultMode", T_I32, T_PTR, DEF("420")),
    F(4, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_volume_source, "io.k8s.api.core.v1.SecretVolumeSource");

static const struct t_field core_iscsi_volume_source_fields[] = {
    F(1, "targetPortal", T_STR, T_REQ | T_EMIT),
    F(2, "iqn", T_STR, T_REQ | T_EMIT),
    F(3, "lun", T_I32, T_REQ | T_EMIT),
    F(4, "iscsiInterface", T_STR, 0, DEF("\"default\"")),
    F(5, "fsType", T_STR, 0),
    F(6, "readOnly", T_BOOL, 0),
    LIST(7, "portals", T_STR, T_ATOMIC),
    F(8, "chapAuthDiscovery", T_BOOL, 0),
    F(11, "chapAuthSession", T_BOOL, 0),
    OBJ(10, "secretRef", core_local_object_reference, T_PTR),
    F(12, "initiatorName", T_STR, T_PTR),
    END,
};
static TYPE(core_iscsi_volume_source, "io.k8s.api.core.v1.ISCSIVolumeSource");

static const struct t_field core_glusterfs_volume_source_fields[] = {
    F(1, "endpoints", T_STR, T_REQ | T_EMIT),
    F(2, "path", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_glusterfs_volume_source, "io.k8s.api.core.v1.GlusterfsVolumeSource");

static const struct t_field core_persistent_volume_claim_volume_source_fields[] = {
    F(1, "claimName", T_STR, T_REQ | T_EMIT),
    F(2, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_persistent_volume_claim_volume_source,
            "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource");

static const struct t_field core_rbd_volume_source_fields[] = {
    LIST(1, "monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F(2, "image", T_STR, T_REQ | T_EMIT),
    F(3, "fsType", T_STR, 0),
    F(4, "pool", T_STR, 0, DEF("\"rbd\"")),
    F(5, "user", T_STR, 0, DEF("\"admin\"")),
    F(6, "keyring", T_STR, 0, DEF("\"/etc/ceph/keyring\"")),
    OBJ(7, "secretRef", core_local_object_reference, T_PTR),
    F(8, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_rbd_volume_source, "io.k8s.api.core.v1.RBDVolumeSource");

static const struct t_field core_flex_volume_source_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    OBJ(3, "secretRef", core_local_object_reference, T_PTR),
    F(4, "readOnly", T_BOOL, 0),
    MAP(5, "options", T_STR, 0),
    END,
};
static TYPE(core_flex_volume_source, "io.k8s.api.core.v1.FlexVolumeSource");

static const struct t_field core_cinder_volume_source_fields[] = {
    F(1, "volumeID", T_STR, T_REQ | T_EMIT),
    F(2, "fsType", T_STR, 0),
    F(3, "readOnly", T_BOOL, 0),
    OBJ(4, "secretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_cinder_volume_source, "io.k8s.api.core.v1.CinderVolumeSource");

static const struct t_field core_ceph_fs_volume_source_fields[] = {
    LIST(1, "monitors", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    F(2, "path", T_STR, 0),
    F(3, "user", T_STR, 0),
    F(4, "secretFile", T_STR, 0),
    OBJ(5, "secretRef", core_local_object_reference, T_PTR),
    F(6, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_ceph_fs_volume_source, "io.k8s.api.core.v1.CephFSVolumeSource");

static const struct t_field core_object_field_selector_fields[] = {
    F(1, "apiVersion", T_STR, 0, DEF("\"v1\"")),
    F(2, "fieldPath", T_STR, T_REQ | T_EMIT),
    END,
};
ATOMIC_TYPE(core_object_field_selector, "io.k8s.api.core.v1.ObjectFieldSelector");

static const struct t_field core_resource_field_selector_fields[] = {
    F(1, "containerName", T_STR, 0),
    F(2, "resource", T_STR, T_REQ | T_EMIT),
    F(3, "divisor", T_QTY, T_EMIT),
    END,
};
ATOMIC_TYPE(core_resource_field_selector, "io.k8s.api.core.v1.ResourceFieldSelector");

static const struct t_field core_downward_api_volume_file_fields[] = {
    F(1, "path", T_STR, T_REQ | T_EMIT),
    OBJ(2, "fieldRef", core_object_field_selector, T_PTR),
    OBJ(3, "resourceFieldRef", core_resource_field_selector, T_PTR),
    F(4, "mode", T_I32, T_PTR),
    END,
};
static TYPE(core_downward_api_volume_file, "io.k8s.api.core.v1.DownwardAPIVolumeFile");

static const struct t_field core_downward_api_volume_source_fields[] = {
    OBJS(1, "items", core_downward_api_volume_file, T_ATOMIC),
    F(2, "defaultMode", T_I32, T_PTR, DEF("420")),
    END,
};
static TYPE(core_downward_api_volume_source, "io.k8s.api.core.v1.DownwardAPIVolumeSource");

static const struct t_field core_azure_file_volume_source_fields[] = {
    F(1, "secretName", T_STR, T_REQ | T_EMIT),
    F(2, "shareName", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_azure_file_volume_source, "io.k8s.api.core.v1.AzureFileVolumeSource");

static const struct t_field core_config_map_volume_source_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    OBJS(2, "items", core_key_to_path, T_ATOMIC),
    F(3, "defaultMode", T_I32, T_PTR, DEF("420")),
    F(4, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_volume_source, "io.k8s.api.core.v1.ConfigMapVolumeSource");

static const struct t_field core_secret_projection_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    OBJS(2, "items", core_key_to_path, T_ATOMIC),
    F(4, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_projection, "io.k8s.api.core.v1.SecretProjection");

static const struct t_field core_downward_api_projection_fields[] = {
    OBJS(1, "items", core_downward_api_volume_file, T_ATOMIC),
    END,
};
static TYPE(core_downward_api_projection, "io.k8s.api.core.v1.DownwardAPIProjection");

static const struct t_field core_config_map_projection_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    OBJS(2, "items", core_key_to_path, T_ATOMIC),
    F(4, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_projection, "io.k8s.api.core.v1.ConfigMapProjection");

static const struct t_field core_service_account_token_projection_fields[] = {
    F(1, "audience", T_STR, 0),
    F(2, "expirationSeconds", T_I64, T_PTR, DEF("3600")),
    F(3, "path", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_service_account_token_projection,
            "io.k8s.api.core.v1.ServiceAccountTokenProjection");

static const struct t_field core_cluster_trust_bundle_projection_fields[] = {
    F(1, "name", T_STR, T_PTR),
    F(2, "signerName", T_STR, T_PTR),
    OBJ(3, "labelSelector", meta_label_selector, T_PTR),
    F(5, "optional", T_BOOL, T_PTR),
    F(4, "path", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_cluster_trust_bundle_projection,
            "io.k8s.api.core.v1.ClusterTrustBundleProjection");

static const struct t_field core_pod_certificate_projection_fields[] = {
    F(1, "signerName", T_STR, T_REQ),
    F(2, "keyType", T_STR, T_REQ),
    F(3, "maxExpirationSeconds", T_I32, T_PTR),
    F(4, "credentialBundlePath", T_STR, 0),
    F(5, "keyPath", T_STR, 0),
    F(6, "certificateChainPath", T_STR, 0),
    MAP(7, "userAnnotations", T_STR, 0),
    END,
};
static TYPE(core_pod_certificate_projection, "io.k8s.api.core.v1.PodCertificateProjection");

static const struct t_field core_volume_projection_fields[] = {
    OBJ(1, "secret", core_secret_projection, T_PTR),
    OBJ(2, "downwardAPI", core_downward_api_projection, T_PTR),
    OBJ(3, "configMap", core_config_map_projection, T_PTR),
    OBJ(4, "serviceAccountToken", core_service_account_token_projection, T_PTR),
    OBJ(5, "clusterTrustBundle", core_cluster_trust_bundle_projection, T_PTR),
    OBJ(6, "podCertificate", core_pod_certificate_projection, T_PTR),
    END,
};
static TYPE(core_volume_projection, "io.k8s.api.core.v1.VolumeProjection");

static const struct t_field core_projected_volume_source_fields[] = {
    OBJS(1, "sources", core_volume_projection, T_EMIT | T_ATOMIC),
    F(2, "defaultMode", T_I32, T_PTR, DEF("420")),
    END,
};
static TYPE(core_projected_volume_source, "io.k8s.api.core.v1.ProjectedVolumeSource");

static const struct t_field core_scale_io_volume_source_fields[] = {
    F(1, "gateway", T_STR, T_REQ | T_EMIT),
    F(2, "system", T_STR, T_REQ | T_EMIT),
    OBJ(3, "secretRef", core_local_object_reference, T_REQ | T_PTR | T_EMIT),
    F(4, "sslEnabled", T_BOOL, 0),
    F(5, "protectionDomain", T_STR, 0),
    F(6, "storagePool", T_STR, 0),
    F(7, "storageMode", T_STR, 0, DEF("\"ThinProvisioned\"")),
    F(8, "volumeName", T_STR, 0),
    F(9, "fsType", T_STR, 0, DEF("\"xfs\"")),
    F(10, "readOnly", T_BOOL, 0),
    END,
};
static TYPE(core_scale_io_volume_source, "io.k8s.api.core.v1.ScaleIOVolumeSource");

static const struct t_field core_storage_os_volume_source_fields[] = {
    F(1, "volumeName", T_STR, 0),
    F(2, "volumeNamespace", T_STR, 0),
    F(3, "fsType", T_STR, 0),
    F(4, "readOnly", T_BOOL, 0),
    OBJ(5, "secretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_storage_os_volume_source, "io.k8s.api.core.v1.StorageOSVolumeSource");

static const struct t_field core_csi_volume_source_fields[] = {
    F(1, "driver", T_STR, T_REQ | T_EMIT),
    F(2, "readOnly", T_BOOL, T_PTR),
    F(3, "fsType", T_STR, T_PTR),
    MAP(4, "volumeAttributes", T_STR, 0),
    OBJ(5, "nodePublishSecretRef", core_local_object_reference, T_PTR),
    END,
};
static TYPE(core_csi_volume_source, "io.k8s.api.core.v1.CSIVolumeSource");

static const struct t_field core_persistent_volume_claim_template_fields[] = {
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_persistent_volume_claim_spec, T_REQ | T_EMIT),
    END,
};
static TYPE(core_persistent_volume_claim_template,
            "io.k8s.api.core.v1.PersistentVolumeClaimTemplate");

static const struct t_field core_ephemeral_volume_source_fields[] = {
    OBJ(1, "volumeClaimTemplate", core_persistent_volume_claim_template, T_PTR),
    END,
};
static TYPE(core_ephemeral_volume_source, "io.k8s.api.core.v1.EphemeralVolumeSource");

const char *const pull_policy_values[] = { "Always", "Never", "IfNotPresent", NULL };
static const struct t_field core_image_volume_source_fields[] = {
    F(1, "reference", T_STR, 0),
    ENUM(2, "pullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    END,
};
static TYPE(core_image_volume_source, "io.k8s.api.core.v1.ImageVolumeSource");

static const struct t_field core_volume_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(IN(2, 1), "hostPath", core_host_path_volume_source, T_PTR),
    OBJ(IN(2, 2), "emptyDir", core_empty_dir_volume_source, T_PTR),
    OBJ(IN(2, 3), "gcePersistentDisk", core_gce_persistent_disk_volume_source, T_PTR),
    OBJ(IN(2, 4), "awsElasticBlockStore", core_aws_elastic_block_store_volume_source, T_PTR),
    OBJ(IN(2, 5), "gitRepo", core_git_repo_volume_source, T_PTR),
    OBJ(IN(2, 6), "secret", core_secret_volume_source, T_PTR),
    OBJ(IN(2, 7), "nfs", core_nfs_volume_source, T_PTR),
    OBJ(IN(2, 8), "iscsi", core_iscsi_volume_source, T_PTR),
    OBJ(IN(2, 9), "glusterfs", core_glusterfs_volume_source, T_PTR),
    OBJ(IN(2, 10), "persistentVolumeClaim", core_persistent_volume_claim_volume_source, T_PTR),
    OBJ(IN(2, 11), "rbd", core_rbd_volume_source, T_PTR),
    OBJ(IN(2, 12), "flexVolume", core_flex_volume_source, T_PTR),
    OBJ(IN(2, 13), "cinder", core_cinder_volume_source, T_PTR),
    OBJ(IN(2, 14), "cephfs", core_ceph_fs_volume_source, T_PTR),
    OBJ(IN(2, 15), "flocker", core_flocker_volume_source, T_PTR),
    OBJ(IN(2, 16), "downwardAPI", core_downward_api_volume_source, T_PTR),
    OBJ(IN(2, 17), "fc", core_fc_volume_source, T_PTR),
    OBJ(IN(2, 18), "azureFile", core_azure_file_volume_source, T_PTR),
    OBJ(IN(2, 19), "configMap", core_config_map_volume_source, T_PTR),
    OBJ(IN(2, 20), "vsphereVolume", core_vsphere_virtual_disk_volume_source, T_PTR),
    OBJ(IN(2, 21), "quobyte", core_quobyte_volume_source, T_PTR),
    OBJ(IN(2, 22), "azureDisk", core_azure_disk_volume_source, T_PTR),
    OBJ(IN(2, 23), "photonPersistentDisk", core_photon_persistent_disk_volume_source, T_PTR),
    OBJ(IN(2, 26), "projected", core_projected_volume_source, T_PTR),
    OBJ(IN(2, 24), "portworxVolume", core_portworx_volume_source, T_PTR),
    OBJ(IN(2, 25), "scaleIO", core_scale_io_volume_source, T_PTR),
    OBJ(IN(2, 27), "storageos", core_storage_os_volume_source, T_PTR),
    OBJ(IN(2, 28), "csi", core_csi_volume_source, T_PTR),
    OBJ(IN(2, 29), "ephemeral", core_ephemeral_volume_source, T_PTR),
    OBJ(IN(2, 30), "image", core_image_volume_source, T_PTR),
    END,
};
TYPE(core_volume, "io.k8s.api.core.v1.Volume");
