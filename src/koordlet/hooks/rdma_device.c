/* rdma_device.c - RDMADeviceInject: the character devices of the RDMA devices that a pod was given
 * (koordlet-qos 15.6). Reads sysfs and the devices' numbers. */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "api/protocol/device.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "sys/file.h"

static int put_device(const struct hook_rules *r, struct hook_context *c, const char *name,
                      struct kerr *err)
{
    const char *path = arena_printf(c->arena, "/dev/infiniband/%s", name);
    const char *here = arena_printf(c->arena, "%s/infiniband/%s", r->dev_dir, name);
    struct stat st;

    if (lstat(here, &st) < 0)
        return kerr_set(err, -errno, "%s: %s", here, strerror(errno));
    if (!S_ISCHR(st.st_mode))
        return kerr_set(err, -ENODEV, "%s is no character device", path);
    vec_push(&c->devices,
             ((struct hook_device){ path, major(st.st_rdev), minor(st.st_rdev), 0666 }));
    return 0;
}

static int on_verbs(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)dirfd, (void)type, (void)err;
    snprintf(arg, NAME_MAX + 1, "%s", name);
    return 1; /* the first one */
}

/* The device of a PCI address. */
static int put_pci(const struct hook_rules *r, struct hook_context *c, const char *address,
                   struct kerr *err)
{
    char name[NAME_MAX + 1] = "";

    if (!address || !*address || strchr(address, '/') || address[0] == '.')
        return kerr_set(err, -EINVAL, "'%.64s' is no PCI address", str_or(address, ""));
    const char *dir = arena_printf(c->arena, "bus/pci/devices/%s/infiniband_verbs", address);
    if (r->sys_fd < 0)
        return kerr_set(err, -ENOENT, "no sysfs to look for RDMA devices in");
    int code = dir_each(r->sys_fd, dir, on_verbs, name, err);
    if (code < 0)
        return code;
    if (!*name)
        return kerr_set(err, -ENOENT, "%s has no RDMA device", address);
    return put_device(r, c, name, err);
}

static int put_allocation(const struct hook_rules *r, struct hook_context *c,
                          const struct device_allocation *d, struct kerr *err)
{
    if (!d->extension || d->extension->vfs.n == 0)
        return put_pci(r, c, d->id, err);
    for (uint32_t i = 0; i < d->extension->vfs.n; i++)
        if (put_pci(r, c, d->extension->vfs.items[i].bus_id, err) < 0)
            return err->code;
    return 0;
}

static int run(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct device_allocations all;

    if (device_allocations_read(c->annotations, c->arena, &all, err) < 0)
        return err->code;
    const struct device_allocation_list *rdma = device_allocations_of(&all, DEVICE_TYPE_RDMA);
    if (!rdma || rdma->v.n == 0)
        return 0;
    int code = put_device(r, c, "rdma_cm", err);
    for (uint32_t i = 0; code == 0 && i < rdma->v.n; i++)
        code = put_allocation(r, c, &rdma->v.items[i], err);
    if (code < 0)
        vec_clear(&c->devices);
    return code;
}

const struct hook_plugin hook_rdma_device = {
    .name = "rdma device inject",
    .gate = GATE_RDMA_DEVICE_INJECT,
    .stages = { [HOOK_PRE_CREATE_CONTAINER] = run },
};
