/* storage.h - volumes as the scheduler sees them: PersistentVolume, PersistentVolumeClaim,
 * StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment. */
#ifndef KOORD_API_STORAGE_H
#define KOORD_API_STORAGE_H
#include "api/pod.h"

struct pv_csi {
    const char *driver, *volume_handle;
};
struct pv_spec {
    reslist capacity;
    kstrlist access_modes;
    const char *storage_class_name, *volume_mode; /* mode "": Filesystem */
    const char *volume_attributes_class_name;     /* NULL when absent */
    const char *reclaim_policy;                   /* "Retain", "Delete", "Recycle" */
    struct object_ref *claim_ref;                 /* NULL: not bound */
    struct node_selector *node_affinity;          /* nodeAffinity.required */
    struct pv_csi *csi;
    struct volume_disk *gce, *ebs, *azure_disk, *cinder, *portworx;
};
struct pv {
    struct kobj obj;
    struct pv_spec spec;
    const char *phase; /* status.phase: "Available", "Bound" ... */
};

struct pvc_spec {
    kstrlist access_modes;
    struct label_selector *selector; /* NULL: any volume */
    reslist requests;                /* resources.requests */
    const char *volume_name;
    const char *storage_class_name; /* NULL: the default class; "": no class */
    const char *volume_mode;
    const char *volume_attributes_class_name; /* NULL when absent */
};
struct pvc {
    struct kobj obj;
    struct pvc_spec spec;
    const char *phase; /* status.phase: "Pending", "Bound", "Lost" */
};

enum binding_mode { BINDING_MODE_NONE, BINDING_IMMEDIATE, BINDING_WAIT_FOR_FIRST_CONSUMER };
struct topology_term { /* all expressions must match; In only */
    selreqlist expressions;
};
struct storage_class {
    struct kobj obj;
    const char *provisioner;
    const char *reclaim_policy;                     /* of its volumes; NULL: Delete */
    KLIST(struct topology_term) allowed_topologies; /* empty: everywhere */
    uint8_t volume_binding_mode;                    /* enum binding_mode */
};

struct csi_node_driver {
    const char *name, *node_id;
    kstrlist topology_keys;
    struct opt_i32 count; /* allocatable.count; not set: no limit */
};
struct csi_node {
    struct kobj obj;
    KLIST(struct csi_node_driver) drivers; /* spec.drivers */
};

struct csi_driver {
    struct kobj obj;
    struct opt_bool attach_required, storage_capacity; /* of spec */
};

struct csi_storage_capacity {
    struct kobj obj;
    struct label_selector *node_topology; /* NULL: reachable from no node */
    const char *storage_class_name;
    const struct qty *capacity, *maximum_volume_size; /* NULL when absent */
};

struct volume_attachment {
    struct kobj obj;
    const char *attacher, *node_name;
    const char *pv_name;       /* source.persistentVolumeName; NULL for an inline volume */
    struct pv_csi *inline_csi; /* source.inlineVolumeSpec.csi */
    bool attached;             /* status.attached */
};

extern const struct kind kind_pv, kind_pvc, kind_storage_class, kind_csi_node, kind_csi_driver,
    kind_csi_storage_capacity, kind_volume_attachment;
#endif
