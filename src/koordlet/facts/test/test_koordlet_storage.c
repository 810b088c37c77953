/* test_koordlet_storage.c - disks, volumes, mounts, PCI devices (koordlet-metrics 2.5, 4.13). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/facts/pci.h"
#include "koordlet/facts/storage.h"
#include "koordlet/kernel/test/host_fixture.h"

/* ---- disks ----------------------------------------------------------------------------------- */

/* A device in /sys/devices/pci/block/<dir>, with its link in class/block. */
static void put_block(const struct fixture *f, const char *dir, const char *number)
{
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    char link[128], target[128];

    fixture_put(f, number, "sys/devices/pci/block/%s/dev", dir);
    if (slash)
        fixture_put(f, "1\n", "sys/devices/pci/block/%s/partition", dir);
    snprintf(link, sizeof link, "sys/class/block/%s", name);
    snprintf(target, sizeof target, "../../devices/pci/block/%s", dir);
    fixture_link(f, target, link);
}

static void put_mapped(const struct fixture *f, const char *dm, const char *name, const char *uuid,
                       const char *below)
{
    char link[128];

    put_block(f, dm, "254:0\n");
    fixture_put(f, name, "sys/devices/pci/block/%s/dm/name", dm);
    fixture_put(f, uuid, "sys/devices/pci/block/%s/dm/uuid", dm);
    for (const char *p = below; p && *p;) {
        char slave[32];
        size_t n = strcspn(p, " ");
        snprintf(slave, sizeof slave, "%.*s", (int)n, p);
        snprintf(link, sizeof link, "sys/devices/pci/block/%s/slaves/%s", dm, slave);
        fixture_link(f, "../..", link);
        p += n + (p[n] == ' ');
    }
}

#define UUID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const char mounts[] =
    "22 1 253:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "23 22 254:0 / /data rw,relatime - xfs /dev/mapper/yoda--pool0-data--1 rw\n"
    "24 22 0:20 / /proc rw - proc proc rw\n"
    "25 22 253:16 /a\\040b /mnt/with\\040blank rw shared:2 master:1 - ext4 /dev/vdb rw\n"
    "26 22 254:9 / /two rw - xfs /dev/mapper/two-lv rw\n"
    "27 22 253:1 /old /again rw - ext4 /dev/vda1 rw\n"
    "28 22 253:16 / /again rw - ext4 /dev/vdb rw\n";

static void storage_machine(struct fixture *f)
{
    fixture_init(f);
    put_block(f, "vda", "253:0\n");
    put_block(f, "vda/vda1", "253:1\n");
    put_block(f, "vdb", "253:16\n");
    put_block(f, "vdc", "253:32\n");
    put_block(f, "vdc/vdc3", "253:35\n");
    put_block(f, "vdd", "253:48\n");
    put_block(f, "cciss!c0d0", "104:0\n");
    put_block(f, "loop0", "7:0\n");
    put_block(f, "ram0", "1:0\n");
    put_block(f, "sr0", "11:0\n");
    put_block(f, "md0", "9:0\n");
    put_block(f, "nvme0c0n1", "259:1\n");
    fixture_put(f, "1\n", "sys/devices/pci/block/nvme0c0n1/hidden");
    put_block(f, "nbd0", "43:0\n");
    put_mapped(f, "dm-0", "yoda--pool0-data--1", "LVM-" UUID, "vdc3");
    put_mapped(f, "dm-1", "yoda--pool0-thin", "LVM-" UUID "-pool", "dm-2");
    put_mapped(f, "dm-2", "yoda--pool0-thin-tpool", "LVM-" UUID "-tpool", "vdc3");
    put_mapped(f, "dm-3", "two-lv", "LVM-" UUID, "vdb vdd");
    put_mapped(f, "dm-4", "crypt", "CRYPT-LUKS2-abc", "vdd");
    put_mapped(f, "dm-5", "whole-lv", "LVM-" UUID, "vdd");
    fixture_put(f, mounts, "proc/1/mountinfo");
    fixture_put(f, "major minor  #blocks  name\n\n 253 0 1024 vda\n", "proc/partitions");
}

static struct storage_info *read_storage(const struct host *h, struct storage_info *before)
{
    struct storage_info *s = NULL;
    struct kerr err = { 0 };
    if (storage_info_read(h, before, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void assert_map(const struct storage_map *m, const char *const *want, size_t n)
{
    assert_int_equal(m->n, n / 2);
    for (size_t i = 0; i < m->n; i++) {
        assert_string_equal(m->items[i].key, want[2 * i]);
        assert_string_equal(m->items[i].value, want[2 * i + 1]);
        assert_string_equal(storage_find(m, want[2 * i]), want[2 * i + 1]);
    }
}
#define ASSERT_MAP(m, ...)                                  \
    do {                                                    \
        static const char *const want_[] = { __VA_ARGS__ }; \
        assert_map((m), want_, ARRAY_LEN(want_));           \
    } while (0)

static void test_storage(void **state)
{
    struct fixture f;

    (void)state;
    storage_machine(&f);
    CLEANUP(storage_info_unref) struct storage_info *s = read_storage(fixture_host(&f), NULL);
    ASSERT_MAP(&s->disk_number, "/dev/cciss/c0d0", "104:0", "/dev/nbd0", "43:0", "/dev/vda",
               "253:0", "/dev/vdb", "253:16", "/dev/vdc", "253:32", "/dev/vdd", "253:48");
    assert_string_equal(storage_find(&s->number_disk, "253:32"), "/dev/vdc");
    assert_null(storage_find(&s->number_disk, "7:0"));
    ASSERT_MAP(&s->partition_disk, "/dev/vda1", "/dev/vda", "/dev/vdc3", "/dev/vdc");
    ASSERT_MAP(&s->lv_vg, "/dev/mapper/two-lv", "two", "/dev/mapper/whole-lv", "whole",
               "/dev/mapper/yoda--pool0-data--1", "yoda-pool0", "/dev/mapper/yoda--pool0-thin",
               "yoda-pool0");
    ASSERT_MAP(&s->vg_disk, "whole", "/dev/vdd", "yoda-pool0", "/dev/vdc"); /* two has two */
    ASSERT_MAP(&s->mount_source, "/", "/dev/vda1", "/again", "/dev/vdb", "/data",
               "/dev/mapper/yoda--pool0-data--1", "/mnt/with blank", "/dev/vdb", "/proc", "proc",
               "/two", "/dev/mapper/two-lv");
    assert_string_equal(storage_disk_of_mount(s, "/"), "/dev/vda");
    assert_string_equal(storage_disk_of_mount(s, "/data"), "/dev/vdc");
    assert_string_equal(storage_disk_of_mount(s, "/again"), "/dev/vdb");
    assert_null(storage_disk_of_mount(s, "/two"));
    assert_null(storage_disk_of_mount(s, "/proc"));
    assert_null(storage_disk_of_mount(s, "/none"));
    fixture_fini(&f);
}

static void test_storage_is_kept_while_nothing_changes(void **state)
{
    struct fixture f;

    (void)state;
    storage_machine(&f);
    struct host *h = fixture_host(&f);
    CLEANUP(storage_info_unref) struct storage_info *first = read_storage(h, NULL);
    CLEANUP(storage_info_unref) struct storage_info *same = read_storage(h, first);
    assert_ptr_equal(first, same);
    fixture_put(&f, "22 1 253:1 / / rw - ext4 /dev/vda1 rw\n", "proc/1/mountinfo");
    CLEANUP(storage_info_unref) struct storage_info *next = read_storage(h, first);
    assert_ptr_not_equal(first, next);
    assert_int_equal(next->mount_source.n, 1);
    assert_int_equal(first->mount_source.n, 6); /* who has the old one keeps it */
    put_block(&f, "vde", "253:64\n");
    fixture_put(&f, "major minor  #blocks  name\n\n 253 0 1024 vda\n 253 64 1 vde\n",
                "proc/partitions");
    CLEANUP(storage_info_unref) struct storage_info *more = read_storage(h, next);
    assert_int_equal(more->disk_number.n, next->disk_number.n + 1);
    fixture_remove(&f, "proc/partitions"); /* then nothing tells that it is the same */
    CLEANUP(storage_info_unref) struct storage_info *again = read_storage(h, more);
    assert_ptr_not_equal(again, more);
    fixture_fini(&f);
}

static void test_storage_refuses_garbage(void **state)
{
    struct fixture f;
    struct storage_info *s = NULL;
    struct kerr err = { 0 };

    (void)state;
    storage_machine(&f);
    struct host *h = fixture_host(&f);
    fixture_put(&f, "22 1 253:1 / / rw ext4 /dev/vda1\n", "proc/1/mountinfo");
    assert_int_equal(storage_info_read(h, NULL, &s, &err), -EINVAL);
    assert_contains(err.text, "mountinfo has the line '22 1");
    fixture_put(&f, mounts, "proc/1/mountinfo");
    fixture_put(&f, "253\n", "sys/devices/pci/block/vdb/dev");
    assert_int_equal(storage_info_read(h, NULL, &s, &err), -EINVAL);
    assert_contains(err.text, "class/block/vdb/dev is '253'");
    fixture_remove(&f, "sys/class");
    assert_int_equal(storage_info_read(h, NULL, &s, &err), -ENOENT);
    assert_null(s);
    fixture_fini(&f);
}

/* ---- PCI ------------------------------------------------------------------------------------- */

static void assert_address(const char *text, const char *want)
{
    char got[PCI_ADDRESS_SIZE] = "";
    int r = pci_address_parse(text, got, NULL);
    assert_int_equal(r, want ? 0 : -EINVAL);
    assert_string_equal(got, want ? want : "");
}

static void test_pci_addresses(void **state)
{
    (void)state;
    assert_address("0000:3b:00.0", "0000:3b:00.0");
    assert_address("00000000:3B:00.1", "0000:3b:00.1");
    assert_address("00010000:3B:1F.7", "10000:3b:1f.7");
    assert_address("3B:00.0", "0000:3b:00.0");
    assert_address("3b:00", NULL);
    assert_address("3b:00.0x", NULL);
    assert_address("0000:3b:20.0", NULL);
    assert_address("0000:3b:00.8", NULL);
    assert_address("", NULL);
    assert_address("unbind", NULL);
}

static void put_pci(const struct fixture *f, const char *address, const char *way,
                    const char *class, const char *node)
{
    char link[128], target[128];

    fixture_put(f, class, "sys/devices/%s/class", way);
    if (node)
        fixture_put(f, node, "sys/devices/%s/numa_node", way);
    snprintf(link, sizeof link, "sys/bus/pci/devices/%s", address);
    snprintf(target, sizeof target, "../../../devices/%s", way);
    fixture_link(f, target, link);
}

static void test_pci_devices(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };
    struct pci_device d;
    char vfs[2][PCI_ADDRESS_SIZE];

    (void)state;
    fixture_init(&f);
    put_pci(&f, "0000:3b:00.0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0x020700\n", "1\n");
    put_pci(&f, "0000:3b:00.1", "pci0000:3a/0000:3a:00.0/0000:3b:00.1", "0x020700\n", "-1\n");
    put_pci(&f, "0000:3b:00.2", "pci0000:3a/0000:3a:00.0/0000:3b:00.2", "0x020700\n", NULL);
    put_pci(&f, "0000:04:00.0", "platform/0000:04:00.0", "0x030200\n", "0\n");
    put_pci(&f, "0000:05:00.0", "pci0000:00/0000:05:00.0", "garbage\n", "0\n");
    fixture_put(&f, "2\n", "sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs");
    fixture_link(&f, "../../../../bus/pci/drivers/mlx5_core",
                 "sys/bus/pci/devices/0000:3b:00.0/driver");
    fixture_link(&f, "../0000:3b:00.1", "sys/bus/pci/devices/0000:3b:00.0/virtfn0");
    fixture_link(&f, "../0000:3b:00.2", "sys/bus/pci/devices/0000:3b:00.0/virtfn1");
    fixture_link(&f, "../0000:3b:00.0", "sys/bus/pci/devices/0000:3b:00.1/physfn");
    struct host *h = fixture_host(&f);

    assert_int_equal(pci_device_read(h, "00000000:3B:00.0", &d, &err), 0);
    assert_string_equal(d.address, "0000:3b:00.0");
    assert_string_equal(d.root, "pci0000:3a");
    assert_string_equal(d.driver, "mlx5_core");
    assert_string_equal(d.physfn, "");
    assert_int_equal(d.class, 0x020700);
    assert_true(pci_is_network(&d));
    assert_int_equal(d.node, 1);
    assert_int_equal(d.nvfs, 2);
    assert_int_equal(pci_virtfns(h, &d, vfs, 2), 2);
    assert_string_equal(vfs[0], "0000:3b:00.1");
    assert_string_equal(vfs[1], "0000:3b:00.2");
    assert_int_equal(pci_virtfns(h, &d, vfs, 1), 2); /* more than there is room for */

    assert_int_equal(pci_device_read(h, "0000:3b:00.1", &d, &err), 0);
    assert_string_equal(d.physfn, "0000:3b:00.0");
    assert_int_equal(d.node, 0); /* -1: not known */
    assert_int_equal(pci_virtfns(h, &d, vfs, 2), 0);
    assert_int_equal(pci_device_read(h, "0000:04:00.0", &d, &err), 0);
    assert_string_equal(d.root, "");
    assert_false(pci_is_network(&d));
    assert_int_equal(pci_device_read(h, "0000:05:00.0", &d, &err), -EINVAL);
    assert_int_equal(pci_device_read(h, "0000:06:00.0", &d, &err), -ENOENT);

    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_storage_is_kept_while_nothing_changes),
        cmocka_unit_test(test_storage_refuses_garbage),
        cmocka_unit_test(test_pci_addresses),
        cmocka_unit_test(test_pci_devices),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
