/* csi.h - which CSI driver attaches a volume, and as which volume. In-tree sources that moved to
 * CSI (EBS, GCE PD, Azure disk, Cinder; Portworx where the node says so) count with their driver.
 *
 * Identities are keyed hashes of driver and handle: they are compared, never shown.
 */
#ifndef KOORD_SCHEDULER_NODEVOLUMELIMITS_CSI_H
#define KOORD_SCHEDULER_NODEVOLUMELIMITS_CSI_H
#include "scheduler/plugins/volume/claims.h"

struct csi_volume {
    uint64_t id, driver;
    const char *driver_name;
    bool if_migrated; /* counts only on nodes that say they have migrated */
    bool settled;     /* will never be another one: the claim has its volume */
};
uint64_t csi_driver_id(const char *driver);
/* All: false when nothing is attached by a CSI driver.
 *
 * The driver is given (by the attachment); only the handle comes from the volume. */
bool csi_of_attachment(const struct objects *w, const struct volume_attachment *va,
                       struct csi_volume *ret);
/* ret->settled is written in either case. */
bool csi_of_claim(const struct objects *w, const struct pvc *c, struct csi_volume *ret);
bool csi_of_inline(const struct pod_volume *v, struct csi_volume *ret);
bool csi_is_inline(const struct pod_volume *v); /* an in-tree source that moved to CSI */
bool csi_is_migrated(const struct csi_node *n); /* Portworx */
#endif
