/* pci.h - PCI devices: where they are, who drives them, their virtual functions. From sysfs. */
#ifndef KOORD_KOORDLET_FACTS_PCI_H
#define KOORD_KOORDLET_FACTS_PCI_H
#include "koordlet/kernel/host.h"

enum { PCI_ADDRESS_SIZE = 16, PCI_VFS_MAX = 1024 };

struct pci_device {
    char address[PCI_ADDRESS_SIZE]; /* "0000:3b:00.0" */
    char root[16];                  /* "pci0000:3a"; "" when it hangs on none */
    char driver[32];                /* "mlx5_core"; "" without */
    char physfn[PCI_ADDRESS_SIZE];  /* of a virtual function: whose; else "" */
    uint32_t class;                 /* 0x020000 */
    int32_t node;                   /* NUMA node; 0 where the kernel knows none */
    int32_t nvfs;                   /* sriov_numvfs */
};
static inline bool pci_is_network(const struct pci_device *d)
{
    return d->class >> 16 == 0x02;
}

/* Lower case and a domain of four digits: "00000000:3B:00.0" -> "0000:3b:00.0", "3b:00.0" with
 * domain 0. -EINVAL for anything else. */
int pci_address_parse(const char *text, char ret[static PCI_ADDRESS_SIZE], struct kerr *err);

int pci_device_read(const struct host *h, const char *address, struct pci_device *ret,
                    struct kerr *err);
/* The virtual functions of a device by their number, virtfn0 first; at most cap. Returns how many
 * there are. */
size_t pci_virtfns(const struct host *h, const struct pci_device *d, char (*ret)[PCI_ADDRESS_SIZE],
                   size_t cap);
#endif
