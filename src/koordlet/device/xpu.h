/* xpu.h - accelerators that a vendor's program describes in files of xpu-device-infos-dir.
 *
 * Each file is a JSON array of devices. All files together are one statement: when one of them
 * cannot be used, what was known before stays. Names that begin with a dot are left out: writers
 * make such files before they rename them.
 */
#ifndef KOORD_KOORDLET_XPU_H
#define KOORD_KOORDLET_XPU_H
#include "api/kobj.h"
#include "koordlet/collect/device.h"

#define XPU_RETRY (30 * NSEC_PER_SEC) /* what could not be used is read again */
enum {
    XPU_FILES_MAX = 64,
    XPU_FILE_BYTES_MAX = 1 << 20,
    XPU_DEVICES_MAX = 1024,
    XPU_RESOURCES_MAX = 64, /* of a device, as the next */
    XPU_LINKS_MAX = 64,
};

struct xpu_link {
    const char *peers, *type; /* minors: "1,2,3" */
};
struct xpu_topology {
    KLIST(struct xpu_link) links;
    bool must_honor;
    const char *socket, *node, *pcie, *bus;
};
struct xpu_status {
    bool healthy;
    const char *code, *message;
};
struct xpu_device {
    const char *vendor, *model, *uuid, *minor;
    kstrmap resources; /* quantities as they are written */
    struct xpu_topology topology;
    struct xpu_status *status; /* NULL: nothing is said */
};
typedef KLIST(struct xpu_device) xpu_devicelist;

struct xpu_infos {
    xpu_devicelist devices;
    const char *problem; /* why nothing could be read ever; NULL: devices counts */
};

extern const struct device_source device_source_xpu; /* infos: struct xpu_infos */
#endif
