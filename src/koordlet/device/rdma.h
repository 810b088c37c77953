/* rdma.h - RDMA network cards and their virtual functions, from sysfs. */
#ifndef KOORD_KOORDLET_RDMA_H
#define KOORD_KOORDLET_RDMA_H
#include "koordlet/collect/device.h"
#include "koordlet/host/pci.h"

#define RDMA_SCAN_EVERY  (30 * NSEC_PER_SEC)
#define RDMA_STUCK_AFTER (30 * NSEC_PER_SEC) /* a scan that takes so long is a fault */
enum { RDMA_CARDS_MAX = 256 };

struct rdma_info {
    struct pci_device pci;
    int32_t minor;
    bool healthy; /* all its ports are active */
    uint32_t nvfs;
    char (*vfs)[PCI_ADDRESS_SIZE]; /* in the kernel's order; the arena's */
};
struct rdma_infos {
    uint32_t n;
    const struct rdma_info *items;
};

extern const struct device_source device_source_rdma; /* infos: struct rdma_infos */
#endif
