/* pci.c - PCI devices from sysfs. */
#include "koordlet/facts/pci.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "koordlet/kernel/sysfs.h"
#include "sys/file.h"

static const char device_root[] = "bus/pci/devices";

int pci_address_parse(const char *text, char ret[static PCI_ADDRESS_SIZE], struct kerr *err)
{
    unsigned domain = 0, bus, slot, function;
    int end = 0;

    if ((sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 ||
         text[end]) &&
        (domain = 0, sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3 || text[end]))
        return kerr_set(err, -EINVAL, "'%.64s' is no PCI address", text);
    if (slot > 0x1f || function > 7)
        return kerr_set(err, -EINVAL, "'%.64s' is no PCI address", text);
    snprintf(ret, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return 0;
}

/* The link of a device leads through its root: "../../../devices/pci0000:3a/0000:3a:00.0/...". */
static void root_of(const struct host *h, const char *address, char *ret, size_t size)
{
    char path[64], target[PATH_MAX];

    ret[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", device_root, address);
    ssize_t n = readlinkat(h->sys_fd, path, target, sizeof target - 1);
    if (n < 0)
        return;
    target[n] = '\0';
    for (char *part = target, *save; (part = strtok_r(part, "/", &save)); part = NULL) {
        unsigned domain, bus;
        int end = 0;
        if (sscanf(part, "pci%x:%2x%n", &domain, &bus, &end) == 2 && !part[end]) {
            snprintf(ret, size, "%s", part);
            return;
        }
    }
}

static int32_t small_number(const struct host *h, const char *address, const char *name)
{
    int64_t v;
    int r = sysfs_i64(h, h->sys_fd, &v, "%s/%s/%s", device_root, address, name);
    return r < 0 || v < 0 || v > INT32_MAX ? 0 : (int32_t)v;
}

int pci_device_read(const struct host *h, const char *address, struct pci_device *ret,
                    struct kerr *err)
{
    struct pci_device d = { 0 };
    struct str class;
    char *end;

    int r = pci_address_parse(address, d.address, err);
    if (r < 0)
        return r;
    r = sysfs_text(h, h->sys_fd, &class, "%s/%s/class", device_root, d.address);
    if (r < 0)
        return kerr_set(err, r, "read %s%s/%s/class: %s", h->roots.sys, device_root, d.address,
                        strerror(-r));
    d.class = (uint32_t)strtoul(class.p, &end, 16); /* a NUL follows what was read */
    if (class.n == 0 || end != class.p + class.n)
        return kerr_set(err, -EINVAL, "class of PCI device %s is '%.*s'", d.address,
                        (int)MIN(class.n, (size_t)32), class.p);
    d.node = small_number(h, d.address, "numa_node");
    d.nvfs = small_number(h, d.address, "sriov_numvfs");
    root_of(h, d.address, d.root, sizeof d.root);
    sysfs_link_name(h->sys_fd, d.driver, sizeof d.driver, "%s/%s/driver", device_root, d.address);
    sysfs_link_name(h->sys_fd, d.physfn, sizeof d.physfn, "%s/%s/physfn", device_root, d.address);
    *ret = d;
    return 0;
}

size_t pci_virtfns(const struct host *h, const struct pci_device *d, char (*ret)[PCI_ADDRESS_SIZE],
                   size_t cap)
{
    size_t n = 0;
    char name[PCI_ADDRESS_SIZE];

    /* The kernel numbers them without gaps. */
    for (; n < PCI_VFS_MAX; n++) {
        sysfs_link_name(h->sys_fd, name, sizeof name, "%s/%s/virtfn%zu", device_root, d->address,
                        n);
        if (!name[0])
            break;
        if (n < cap)
            memcpy(ret[n], name, sizeof name);
    }
    return n;
}
