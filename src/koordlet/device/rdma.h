/* rdma.h - RDMA network cards and their virtual functions, from sysfs.
 *
 * A worker scans them, one scan at a time. A card that does not say for RDMA_STUCK_AFTER how its
 * ports are counts as not healthy, and the scan as if it had ended there: what is known is known.
 */
#ifndef KOORD_KOORDLET_RDMA_H
#define KOORD_KOORDLET_RDMA_H
#include "koordlet/collect/device.h"
#include "koordlet/facts/pci.h"

#define RDMA_SCAN_EVERY  (30 * NSEC_PER_SEC)
#define RDMA_STUCK_AFTER (30 * NSEC_PER_SEC)
enum { RDMA_CARDS_MAX = 256, RDMA_NAME_SIZE = 64 };

struct rdma_info {
    char name[RDMA_NAME_SIZE]; /* the kernel's */
    struct pci_device pci;
    int32_t minor;
    bool healthy; /* all its ports are active */
    bool silent;  /* not healthy: it does not say how they are */
    uint32_t nvfs;
    char (*vfs)[PCI_ADDRESS_SIZE]; /* in the kernel's order; the arena's */
};
struct rdma_infos {
    uint32_t n;
    const struct rdma_info *items;
    bool partial; /* no scan came to its end: there may be more cards */
};

/* What may take for ever: a table, so that a test can stand in. Called on a worker. */
struct rdma_driver {
    bool (*is_healthy)(const struct host *h, const char *card); /* all its ports are active */
};
extern const struct rdma_driver rdma_kernel;

extern const struct device_source device_source_rdma; /* infos: struct rdma_infos */
#endif
