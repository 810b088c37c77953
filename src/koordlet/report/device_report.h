/* device_report.h - what Device says of this node (koordlet-metrics 8): the devices that sources
 * found, against what is stored.
 *
 * Pure. Labels and annotations of others on the object stay. A condition keeps the time of its last
 * transition as long as its status does, so a source may stamp conditions as it likes.
 */
#ifndef KOORD_KOORDLET_DEVICE_REPORT_H
#define KOORD_KOORDLET_DEVICE_REPORT_H
#include "api/koord/device.h"
#include "api/node.h"

struct arena;
struct strbuf;

struct device_report_in { /* what sources found; owned by who made it */
    device_infolist devices;
    kstrmap labels, annotations; /* sorted by key */
    const char *partial[2];      /* types of which there may be more than were found; NULL: none */
};

/* Adds the stored devices (of NULL: none) of the types that are known in part: that they were not
 * found does not mean they are gone, so labels that speak of them stay too. They are borrowed, the
 * list is the arena's. */
void device_report_keep(struct device_report_in *in, const struct device *stored, struct arena *a);

/* Puts devices in order of (type, minor), their conditions by type, and sets the times of
 * conditions: those of the stored object (NULL: none) where the status is the same, else now. */
void device_report_settle(struct device_report_in *in, const struct device *stored, nsec_t now);
/* After device_report_settle(). */
bool device_report_differs(const struct device_report_in *in, const struct device *stored);
/* A merge patch of what differs, bound to the stored version. */
void device_report_patch(const struct device_report_in *in, const struct device *stored,
                         struct strbuf *out);
/* The object for a create, owned by the Node. */
void device_report_object(const struct device_report_in *in, const struct node *owner,
                          struct strbuf *out);
#endif
