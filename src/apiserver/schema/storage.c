/* storage.c - storage.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const char *const volume_binding_mode_values[] = { "Immediate", "WaitForFirstConsumer",
                                                          NULL };
static const struct t_field storage_storage_class_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    F("provisioner", T_STR, T_REQ | T_EMIT),
    MAP("parameters", T_STR, 0),
    ENUM("reclaimPolicy", persistent_volume_reclaim_policy_values,
         "v1.PersistentVolumeReclaimPolicy", T_PTR, DEF("\"Delete\"")),
    LIST("mountOptions", T_STR, T_ATOMIC),
    F("allowVolumeExpansion", T_BOOL, T_PTR),
    ENUM("volumeBindingMode", volume_binding_mode_values, "v1.VolumeBindingMode", T_PTR,
         DEF("\"Immediate\"")),
    OBJS("allowedTopologies", core_topology_selector_term, T_ATOMIC),
    END,
};
TYPE(storage_storage_class, "io.k8s.api.storage.v1.StorageClass");

static const struct t_field storage_volume_node_resources_fields[] = {
    F("count", T_I32, T_PTR),
    END,
};
static TYPE(storage_volume_node_resources, "io.k8s.api.storage.v1.VolumeNodeResources");

static const struct t_field storage_csi_node_driver_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("nodeID", T_STR, T_REQ | T_EMIT),
    LIST("topologyKeys", T_STR, T_EMIT | T_ATOMIC),
    OBJ("allocatable", storage_volume_node_resources, T_PTR),
    END,
};
static TYPE(storage_csi_node_driver, "io.k8s.api.storage.v1.CSINodeDriver");

static const struct t_field storage_csi_node_spec_fields[] = {
    OBJS("drivers", storage_csi_node_driver, T_REQ | T_EMIT | T_KEY, KEYS("name")),
    END,
};
static TYPE(storage_csi_node_spec, "io.k8s.api.storage.v1.CSINodeSpec");

static const struct t_field storage_csi_node_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", storage_csi_node_spec, T_REQ | T_EMIT),
    END,
};
TYPE(storage_csi_node, "io.k8s.api.storage.v1.CSINode");

static const struct t_field storage_token_request_fields[] = {
    F("audience", T_STR, T_REQ | T_EMIT),
    F("expirationSeconds", T_I64, T_PTR),
    END,
};
static TYPE(storage_token_request, "io.k8s.api.storage.v1.TokenRequest");

static const struct t_field storage_csi_driver_spec_fields[] = {
    F("attachRequired", T_BOOL, T_PTR, DEF("true")),
    F("podInfoOnMount", T_BOOL, T_PTR, DEF("false")),
    LIST("volumeLifecycleModes", T_STR, T_SET | T_REPLACE, DEF("[\"Persistent\"]"),
         GO("v1.VolumeLifecycleMode")),
    F("storageCapacity", T_BOOL, T_PTR, DEF("false")),
    F("fsGroupPolicy", T_STR, T_PTR, DEF("\"ReadWriteOnceWithFSType\""), GO("v1.FSGroupPolicy")),
    OBJS("tokenRequests", storage_token_request, T_ATOMIC),
    F("requiresRepublish", T_BOOL, T_PTR, DEF("false")),
    F("seLinuxMount", T_BOOL, T_PTR, DEF("false")),
    F("nodeAllocatableUpdatePeriodSeconds", T_I64, T_PTR),
    F("serviceAccountTokenInSecrets", T_BOOL, T_PTR),
    END,
};
static TYPE(storage_csi_driver_spec, "io.k8s.api.storage.v1.CSIDriverSpec");

static const struct t_field storage_csi_driver_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", storage_csi_driver_spec, T_REQ | T_EMIT),
    END,
};
TYPE(storage_csi_driver, "io.k8s.api.storage.v1.CSIDriver");

static const struct t_field storage_csi_storage_capacity_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("nodeTopology", meta_label_selector, T_PTR),
    F("storageClassName", T_STR, T_REQ | T_EMIT),
    F("capacity", T_QTY, T_PTR),
    F("maximumVolumeSize", T_QTY, T_PTR),
    END,
};
TYPE(storage_csi_storage_capacity, "io.k8s.api.storage.v1.CSIStorageCapacity");

static const struct t_field storage_volume_attachment_source_fields[] = {
    F("persistentVolumeName", T_STR, T_PTR),
    OBJ("inlineVolumeSpec", core_persistent_volume_spec, T_PTR),
    END,
};
static TYPE(storage_volume_attachment_source, "io.k8s.api.storage.v1.VolumeAttachmentSource");

static const struct t_field storage_volume_attachment_spec_fields[] = {
    F("attacher", T_STR, T_REQ | T_EMIT),
    OBJ("source", storage_volume_attachment_source, T_REQ | T_EMIT),
    F("nodeName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(storage_volume_attachment_spec, "io.k8s.api.storage.v1.VolumeAttachmentSpec");

static const struct t_field storage_volume_error_fields[] = {
    F("time", T_TIME, T_EMIT),
    F("message", T_STR, 0),
    F("errorCode", T_I32, T_PTR),
    END,
};
static TYPE(storage_volume_error, "io.k8s.api.storage.v1.VolumeError");

static const struct t_field storage_volume_attachment_status_fields[] = {
    F("attached", T_BOOL, T_REQ | T_EMIT),
    MAP("attachmentMetadata", T_STR, 0),
    OBJ("attachError", storage_volume_error, T_PTR),
    OBJ("detachError", storage_volume_error, T_PTR),
    END,
};
static TYPE(storage_volume_attachment_status, "io.k8s.api.storage.v1.VolumeAttachmentStatus");

static const struct t_field storage_volume_attachment_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", storage_volume_attachment_spec, T_REQ | T_EMIT),
    OBJ("status", storage_volume_attachment_status, T_EMIT),
    END,
};
TYPE(storage_volume_attachment, "io.k8s.api.storage.v1.VolumeAttachment");
