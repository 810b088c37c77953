/* storage.c - storage.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const char *const volume_binding_mode_values[] = { "Immediate", "WaitForFirstConsumer",
                                                          NULL };
static const struct t_field storage_storage_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "provisioner", T_STR, T_REQ | T_EMIT),
    MAP(3, "parameters", T_STR, 0),
    ENUM(4, "reclaimPolicy", persistent_volume_reclaim_policy_values,
         "v1.PersistentVolumeReclaimPolicy", T_PTR, DEF("\"Delete\"")),
    LIST(5, "mountOptions", T_STR, T_ATOMIC),
    F(6, "allowVolumeExpansion", T_BOOL, T_PTR),
    ENUM(7, "volumeBindingMode", volume_binding_mode_values, "v1.VolumeBindingMode", T_PTR,
         DEF("\"Immediate\"")),
    OBJS(8, "allowedTopologies", core_topology_selector_term, T_ATOMIC),
    END,
};
TYPE(storage_storage_class, "io.k8s.api.storage.v1.StorageClass");

static const struct t_field storage_volume_node_resources_fields[] = {
    F(1, "count", T_I32, T_PTR),
    END,
};
static TYPE(storage_volume_node_resources, "io.k8s.api.storage.v1.VolumeNodeResources");

static const struct t_field storage_csi_node_driver_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "nodeID", T_STR, T_REQ | T_EMIT),
    LIST(3, "topologyKeys", T_STR, T_EMIT | T_ATOMIC),
    OBJ(4, "allocatable", storage_volume_node_resources, T_PTR),
    END,
};
static TYPE(storage_csi_node_driver, "io.k8s.api.storage.v1.CSINodeDriver");

static const struct t_field storage_csi_node_spec_fields[] = {
    OBJS(1, "drivers", storage_csi_node_driver, T_REQ | T_EMIT | T_KEY, KEYS("name")),
    END,
};
static TYPE(storage_csi_node_spec, "io.k8s.api.storage.v1.CSINodeSpec");

static const struct t_field storage_csi_node_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", storage_csi_node_spec, T_REQ | T_EMIT),
    END,
};
TYPE(storage_csi_node, "io.k8s.api.storage.v1.CSINode");

static const struct t_field storage_token_request_fields[] = {
    F(1, "audience", T_STR, T_REQ | T_EMIT),
    F(2, "expirationSeconds", T_I64, T_PTR),
    END,
};
static TYPE(storage_token_request, "io.k8s.api.storage.v1.TokenRequest");

static const struct t_field storage_csi_driver_spec_fields[] = {
    F(1, "attachRequired", T_BOOL, T_PTR, DEF("true")),
    F(2, "podInfoOnMount", T_BOOL, T_PTR, DEF("false")),
    LIST(3, "volumeLifecycleModes", T_STR, T_SET | T_REPLACE, DEF("[\"Persistent\"]"),
         GO("v1.VolumeLifecycleMode")),
    F(4, "storageCapacity", T_BOOL, T_PTR, DEF("false")),
    F(5, "fsGroupPolicy", T_STR, T_PTR, DEF("\"ReadWriteOnceWithFSType\""), GO("v1.FSGroupPolicy")),
    OBJS(6, "tokenRequests", storage_token_request, T_ATOMIC),
    F(7, "requiresRepublish", T_BOOL, T_PTR, DEF("false")),
    F(8, "seLinuxMount", T_BOOL, T_PTR, DEF("false")),
    F(9, "nodeAllocatableUpdatePeriodSeconds", T_I64, T_PTR),
    F(10, "serviceAccountTokenInSecrets", T_BOOL, T_PTR),
    END,
};
static TYPE(storage_csi_driver_spec, "io.k8s.api.storage.v1.CSIDriverSpec");

static const struct t_field storage_csi_driver_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", storage_csi_driver_spec, T_REQ | T_EMIT),
    END,
};
TYPE(storage_csi_driver, "io.k8s.api.storage.v1.CSIDriver");

static const struct t_field storage_csi_storage_capacity_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "nodeTopology", meta_label_selector, T_PTR),
    F(3, "storageClassName", T_STR, T_REQ | T_EMIT),
    F(4, "capacity", T_QTY, T_PTR),
    F(5, "maximumVolumeSize", T_QTY, T_PTR),
    END,
};
TYPE(storage_csi_storage_capacity, "io.k8s.api.storage.v1.CSIStorageCapacity");

static const struct t_field storage_volume_attachment_source_fields[] = {
    F(1, "persistentVolumeName", T_STR, T_PTR),
    OBJ(2, "inlineVolumeSpec", core_persistent_volume_spec, T_PTR),
    END,
};
static TYPE(storage_volume_attachment_source, "io.k8s.api.storage.v1.VolumeAttachmentSource");

static const struct t_field storage_volume_attachment_spec_fields[] = {
    F(1, "attacher", T_STR, T_REQ | T_EMIT),
    OBJ(2, "source", storage_volume_attachment_source, T_REQ | T_EMIT),
    F(3, "nodeName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(storage_volume_attachment_spec, "io.k8s.api.storage.v1.VolumeAttachmentSpec");

static const struct t_field storage_volume_error_fields[] = {
    F(1, "time", T_TIME, T_EMIT),
    F(2, "message", T_STR, 0),
    F(3, "errorCode", T_I32, T_PTR),
    END,
};
static TYPE(storage_volume_error, "io.k8s.api.storage.v1.VolumeError");

static const struct t_field storage_volume_attachment_status_fields[] = {
    F(1, "attached", T_BOOL, T_REQ | T_EMIT),
    MAP(2, "attachmentMetadata", T_STR, 0),
    OBJ(3, "attachError", storage_volume_error, T_PTR),
    OBJ(4, "detachError", storage_volume_error, T_PTR),
    END,
};
static TYPE(storage_volume_attachment_status, "io.k8s.api.storage.v1.VolumeAttachmentStatus");

static const struct t_field storage_volume_attachment_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", storage_volume_attachment_spec, T_REQ | T_EMIT),
    OBJ(3, "status", storage_volume_attachment_status, T_EMIT),
    END,
};
TYPE(storage_volume_attachment, "io.k8s.api.storage.v1.VolumeAttachment");

static const struct t_field storage_volume_attributes_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "driverName", T_STR, T_REQ | T_EMIT),
    MAP(3, "parameters", T_STR, 0),
    END,
};
TYPE(storage_volume_attributes_class, "io.k8s.api.storage.v1.VolumeAttributesClass");
