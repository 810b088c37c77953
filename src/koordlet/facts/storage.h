/* storage.h - disks, partitions, volume groups and mounts of the machine (koordlet-metrics 2.5).
 *
 * The maps that lsblk, vgs, lvs and findmnt would give, from sysfs and the mounts of process 1.
 * Refcounted and immutable. LVM is known by the volumes that are active: a group without any has no
 * place here, and a physical volume that holds no part of one is not counted.
 */
#ifndef KOORD_KOORDLET_FACTS_STORAGE_H
#define KOORD_KOORDLET_FACTS_STORAGE_H
#include "koordlet/kernel/host.h"

struct storage_pair {
    const char *key, *value;
};
struct storage_map { /* sorted by key */
    struct storage_pair *items;
    size_t n;
};
struct storage_info {
    uint32_t refs;
    struct storage_map disk_number;    /* "/dev/vda" -> "253:0" */
    struct storage_map number_disk;    /* "253:0" -> "/dev/vda" */
    struct storage_map partition_disk; /* "/dev/vda1" -> "/dev/vda" */
    struct storage_map vg_disk;        /* of groups on one disk only */
    struct storage_map lv_vg;          /* "/dev/mapper/yoda--pool0-data" -> "yoda-pool0" */
    struct storage_map mount_source;   /* "/var/lib" -> "/dev/vda1" */
    struct arena *arena;               /* of all of the above */
    uint64_t stamp; /* of the kernel's lists of devices and mounts; 0: not known */
};
/* before (may be NULL) is returned again, with one more reference, when the kernel's lists are the
 * same as then: two files instead of all. */
int storage_info_read(const struct host *h, struct storage_info *before, struct storage_info **ret,
                      struct kerr *err);
struct storage_info *storage_info_unref(struct storage_info *s);
DEFINE_CLEANUP(storage_info_unref, struct storage_info *)
/* NULL: not there. */
const char *storage_find(const struct storage_map *m, const char *key);
/* The disk below a mount point, through partitions and volumes; NULL: none that is known. */
const char *storage_disk_of_mount(const struct storage_info *s, const char *mount);
#endif
