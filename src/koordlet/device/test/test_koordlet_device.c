/* test_koordlet_device.c - RDMA cards in sysfs, accelerators in files, and the Device they make
 * (koordlet-metrics 4.13, 8). The program's allocator is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "koordlet/collect/test/collect_fixture.h"
#include "koordlet/device/entries.h"
#include "koordlet/device/sources.h"
#include "koordlet/test/stub_work.h"

static struct strbuf lines;
static void keep_line(void *arg, const char *text, size_t n)
{
    (void)arg;
    strbuf_appendn(&lines, text, n);
}
static unsigned count_lines(const char *with)
{
    unsigned n = 0;
    for (const char *p = strbuf_str(&lines); (p = strstr(p, with)); p++)
        n++;
    return n;
}

/* Runs while a card is asked for its ports, with its name. */
static struct {
    void (*fn)(void *arg, const char *card);
    void *arg;
} asked;
static bool slow_is_healthy(const struct host *h, const char *card)
{
    if (asked.fn)
        asked.fn(asked.arg, card);
    return rdma_kernel.is_healthy(h, card);
}
static const struct rdma_driver slow_driver = { slow_is_healthy };

/* ---- a machine ------------------------------------------------------------------------------- */

struct device_fixture {
    struct collect_fixture b;
    char xpu_dir[128];
    struct arena *arena;
    struct device_report_in in;
    struct kerr err;
};

static void device_fixture_init(struct device_fixture *r)
{
    static const struct device_source *const sources[] = { &device_source_rdma, &device_source_xpu,
                                                           NULL };

    *r = (struct device_fixture){ 0 };
    collect_fixture_init(&r->b, CGROUP_V2);
    collect_fixture_pods(&r->b, "[]");
    assert_int_equal(gates_parse(&r->b.o.gates, "Accelerators=true,RDMADevices=true", &r->err), 0);
    snprintf(r->xpu_dir, sizeof r->xpu_dir, "%s/xpu/", r->b.f.dir);
    r->b.o.xpu_dir = r->xpu_dir;
    r->b.env.devices = sources;
    r->b.env.rdma = &slow_driver;
    loop_set_worker(r->b.env.loop, held_take, NULL);
    held = (struct held){ 0 };
    r->arena = arena_new();
    strbuf_reset(&lines);
}

static void device_fixture_start(struct device_fixture *r)
{
    collect_fixture_start(&r->b);
    collect_fixture_advance(&r->b, 2);
}

static void device_fixture_fini(struct device_fixture *r)
{
    collect_fixture_fini(&r->b);
    arena_free(r->arena);
}

static int report(struct device_fixture *r)
{
    r->in = (struct device_report_in){ 0 };
    return device_report_all(&r->b.env, r->arena, &r->in, &r->err);
}

static const struct device_info *device(const struct device_fixture *r, uint32_t i)
{
    assert_that(i, <, r->in.devices.n);
    return &r->in.devices.items[i];
}

static const char *label(const struct device_fixture *r, const char *key)
{
    return str_or(kstrmap_get(&r->in.labels, key), "(none)");
}

#define XPU(minor, more)                                                                       \
    "{\"vendor\":\"huawei\",\"model\":\"Ascend-310P3-300I-DUO\",\"uuid\":\"npu-0-" minor "\"," \
    "\"minor\":\"" minor "\"" more "}"

static void put_xpu(struct device_fixture *r, const char *name, const char *text)
{
    fixture_put(&r->b.f, text, "xpu/%s", name);
}

/* ---- RDMA ------------------------------------------------------------------------------------ */

static void put_pci(struct device_fixture *r, const char *address, const char *class,
                    const char *node, const char *vfs)
{
    const struct fixture *f = &r->b.f;
    char link[128], target[160];

    fixture_put(f, class, "sys/devices/pci0000:3a/%s/class", address);
    fixture_put(f, node, "sys/devices/pci0000:3a/%s/numa_node", address);
    fixture_put(f, vfs, "sys/devices/pci0000:3a/%s/sriov_numvfs", address);
    snprintf(link, sizeof link, "sys/bus/pci/devices/%s", address);
    snprintf(target, sizeof target, "../../../devices/pci0000:3a/%s", address);
    fixture_link(f, target, link);
}

static void link_below(struct device_fixture *r, const char *address, const char *name,
                       const char *to)
{
    char link[128], target[64];

    snprintf(link, sizeof link, "sys/devices/pci0000:3a/%s/%s", address, name);
    snprintf(target, sizeof target, "../%s", to);
    fixture_link(&r->b.f, target, link);
}

/* states: of its ports, NULL behind the last. */
static void put_rdma(struct device_fixture *r, const char *name, const char *address,
                     const char *const *states)
{
    char link[128], target[160];

    fixture_dir(&r->b.f, "sys/class/infiniband/%s/ports", name);
    snprintf(link, sizeof link, "sys/class/infiniband/%s/device", name);
    snprintf(target, sizeof target, "../../../devices/pci0000:3a/%s", address);
    fixture_link(&r->b.f, target, link);
    for (int i = 0; states && states[i]; i++)
        fixture_put(&r->b.f, states[i], "sys/class/infiniband/%s/ports/%d/state", name, i + 1);
}

static void put_cards(struct device_fixture *r)
{
    static const char *const good[] = { "4: ACTIVE\n", "4: ACTIVE\n", NULL };
    static const char *const half[] = { "4: ACTIVE\n", "1: DOWN\n", NULL };

    put_pci(r, "0000:3b:00.0", "0x020700\n", "1\n", "2\n");
    put_pci(r, "0000:3b:00.1", "0x020000\n", "-1\n", "0\n");
    put_pci(r, "0000:3b:00.2", "0x020000\n", "0\n", "0\n");
    put_pci(r, "0000:3b:00.3", "0x020000\n", "0\n", "0\n");
    put_pci(r, "0000:3c:00.0", "0x010000\n", "0\n", "0\n"); /* storage */
    link_below(r, "0000:3b:00.0", "virtfn0", "0000:3b:00.2");
    link_below(r, "0000:3b:00.0", "virtfn1", "0000:3b:00.3");
    link_below(r, "0000:3b:00.2", "physfn", "0000:3b:00.0");
    link_below(r, "0000:3b:00.3", "physfn", "0000:3b:00.0");
    put_rdma(r, "mlx5_7", "0000:3b:00.0", half);
    put_rdma(r, "mlx5_0", "0000:3b:00.0", good);
    put_rdma(r, "mlx5_1", "0000:3b:00.1", half);
    put_rdma(r, "mlx5_2", "0000:3b:00.2", good);
    put_rdma(r, "mlx5_3", "0000:3c:00.0", good);
    fixture_dir(&r->b.f, "sys/class/infiniband/rxe0");
}

static void test_rdma_cards(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_cards(&r);
    device_fixture_start(&r);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 2);
    const struct device_info *d = device(&r, 0);
    assert_string_equal(d->type, "rdma");
    assert_string_equal(d->id, "0000:3b:00.0");
    assert_true(d->minor.set);
    assert_that(d->minor.v, ==, 0);
    assert_true(d->health);
    assert_int_equal(qty_value(reslist_get(&d->resources, "koordinator.sh/rdma")), 100);
    assert_int_equal(d->topology->node_id, 1);
    assert_int_equal(d->topology->socket_id, -1);
    assert_string_equal(d->topology->pcie_id, "pci0000:3a");
    assert_int_equal(d->vf_groups.n, 1);
    assert_int_equal(d->vf_groups.items[0].vfs.n, 2);
    assert_string_equal(d->vf_groups.items[0].vfs.items[0].bus_id, "0000:3b:00.2");
    assert_string_equal(d->vf_groups.items[0].vfs.items[1].bus_id, "0000:3b:00.3");
    assert_int_equal(d->vf_groups.items[0].vfs.items[0].minor, -1);
    d = device(&r, 1);
    assert_string_equal(d->id, "0000:3b:00.1");
    assert_that(d->minor.v, ==, 1);
    assert_true(!d->health);
    assert_int_equal(d->topology->node_id, 0); /* the kernel says -1 */
    assert_int_equal(d->vf_groups.n, 0);

    /* Looked at now and then, not each second. */
    fixture_put(&r.b.f, "4: ACTIVE\n", "sys/class/infiniband/mlx5_1/ports/2/state");
    collect_fixture_advance(&r.b, 5);
    assert_int_equal(report(&r), 0);
    assert_false(device(&r, 1)->health);
    collect_fixture_advance(&r.b, 26);
    assert_int_equal(report(&r), 0);
    assert_true(device(&r, 1)->health);
    device_fixture_fini(&r);
}

static void test_rdma_names_and_ports(void **state)
{
    static const char *const good[] = { "4: ACTIVE\n", NULL };
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_pci(&r, "0000:3b:00.0", "0x020000\n", "0\n", "0\n");
    put_pci(&r, "0000:3b:00.1", "0x020000\n", "0\n", "0\n");
    put_pci(&r, "0000:3b:00.2", "0x020000\n", "0\n", "0\n");
    put_rdma(&r, "mlx5_bond_0", "0000:3b:00.0", good);
    put_rdma(&r, "bnxt_re0", "0000:3b:00.1", good);
    put_rdma(&r, "mlx4_12", "0000:3b:00.2", NULL);
    device_fixture_start(&r);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 1);
    assert_int_equal(device(&r, 0)->minor.v, 12);
    assert_false(device(&r, 0)->health); /* no ports */
    device_fixture_fini(&r);
}

static void test_a_scan_that_does_not_end(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_cards(&r);
    put_xpu(&r, "npus", "[" XPU("1", "") "]");
    held = (struct held){ .on = true };
    device_fixture_start(&r);
    collect_fixture_advance(&r.b, 20);
    assert_int_equal(held.n, 1);
    assert_int_equal(report(&r), -EAGAIN);
    assert_that(collect_fixture_failures(&r.b, "NodeResourceCollector"), ==, 0);
    collect_fixture_advance(&r.b, 60);
    assert_int_equal(held.n, 1);
    assert_that(collect_fixture_failures(&r.b, "NodeResourceCollector"), >, 0);
    assert_int_equal(count_lines("the scan of class/infiniband does not end"), 1);
    assert_int_equal(report(&r), 0); /* others need not wait */
    assert_int_equal(r.in.devices.n, 1);
    assert_string_equal(device(&r, 0)->type, "gpu");
    assert_string_equal(r.in.partial[0], "rdma");
    held_finish(r.b.env.loop);
    assert_int_equal(report(&r), 0);
    assert_null(r.in.partial[0]);
    uint32_t n = r.in.devices.n;
    assert_that(n, >, 1);
    held = (struct held){ .on = true }; /* and once more, until the end */
    collect_fixture_advance(&r.b, 40);
    assert_int_equal(held.n, 1);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, n);
    r.b.collect = collect_free(r.b.collect);
    held_finish(r.b.env.loop); /* nobody is left to tell */
    device_fixture_fini(&r);
}

static void assert_silent(const struct device_info *d, const char *id)
{
    assert_string_equal(d->id, id);
    assert_false(d->health);
    assert_int_equal(d->conditions.n, 1);
    assert_int_equal(d->conditions.items[0].status, COND_FALSE);
    assert_string_equal(d->conditions.items[0].reason, "CardNotResponding");
    assert_string_equal(d->conditions.items[0].message, "the card does not say how its ports are");
}

/* No scan has come to its end, and the second card keeps this one. */
static void hang_first(void *arg, const char *card)
{
    struct device_fixture *r = arg;
    bool second = streq(card, "mlx5_1");

    collect_fixture_advance(&r->b, 20);
    if (!second)
        return;
    assert_int_equal(report(r), -EAGAIN); /* it is only slow: each card has its time */
    collect_fixture_advance(&r->b, 20);
    assert_int_equal(count_lines("the RDMA card mlx5_1 (0000:3b:00.1) does not say how"), 1);
    assert_int_equal(report(r), 0);
    assert_int_equal(r->in.devices.n, 1);
    assert_silent(device(r, 0), "0000:3b:00.1");
    assert_int_equal(device(r, 0)->minor.v, 1);
    assert_int_equal(device(r, 0)->topology->node_id, 0);
    assert_string_equal(r->in.partial[0], "rdma");
}

static void hang_later(void *arg, const char *card)
{
    struct device_fixture *r = arg;

    if (!streq(card, "mlx5_0"))
        return;
    collect_fixture_advance(&r->b, 29);
    assert_int_equal(report(r), 0);
    assert_true(device(r, 0)->health);
    collect_fixture_advance(&r->b, 3);
    assert_int_equal(report(r), 0);
    assert_int_equal(r->in.devices.n, 2);
    assert_silent(device(r, 0), "0000:3b:00.0");
    assert_int_equal(device(r, 0)->vf_groups.items[0].vfs.n, 2);
    assert_int_equal(device(r, 1)->conditions.n, 0); /* what was known of others stands */
    assert_null(r->in.partial[0]);
}

static void test_a_card_that_does_not_answer(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_cards(&r);
    held = (struct held){ .on = true };
    device_fixture_start(&r);
    asked.arg = &r;
    asked.fn = hang_first;
    held.work(held.arg);
    asked.fn = NULL;
    held.done(r.b.env.loop, held.arg);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 2);
    assert_true(device(&r, 0)->health);
    assert_int_equal(device(&r, 1)->conditions.n, 0); /* it answered: a port is down */
    assert_null(r.in.partial[0]);

    collect_fixture_advance(&r.b, 31);
    assert_int_equal(held.n, 2);
    asked.fn = hang_later;
    held.work(held.arg);
    asked.fn = NULL;
    held.done(r.b.env.loop, held.arg);
    assert_int_equal(report(&r), 0);
    assert_true(device(&r, 0)->health);
    assert_int_equal(device(&r, 0)->conditions.n, 0);
    held.on = false;
    device_fixture_fini(&r);
}

static void test_a_failed_scan_is_told_in_the_next_round(void **state)
{
    const struct device_source *src = &device_source_rdma;
    void *self = NULL;
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    fixture_put(&r.b.f, "no directory\n", "sys/class/infiniband");
    assert_int_equal(src->setup(&r.b.env, &self, &r.err), 0);
    assert_int_equal(src->node_round(self, &r.b.env, 1, &r.err), 0);
    loop_advance(r.b.env.loop, NSEC_PER_SEC);
    assert_int_equal(src->node_round(self, &r.b.env, 2, &r.err), -ENOTDIR);
    assert_contains(r.err.text, "look for RDMA devices");
    assert_int_equal(src->node_round(self, &r.b.env, 3, &r.err), 0);
    const struct rdma_infos *infos = src->infos(self);
    assert_that(infos->n, ==, 0);
    assert_true(infos->partial);
    src->destroy(self);
    device_fixture_fini(&r);
}

static void test_nothing_on_the_machine(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    collect_fixture_start(&r.b);
    assert_int_equal(report(&r), -EAGAIN);
    collect_fixture_advance(&r.b, 2);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n + r.in.labels.n + r.in.annotations.n, 0);
    assert_that(collect_fixture_failures(&r.b, "NodeResourceCollector"), ==, 0);
    device_fixture_fini(&r);
}

/* ---- accelerators in files ------------------------------------------------------------------- */

static void test_xpu_devices(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_xpu(&r, "ic-device",
            "[" XPU("1", ",\"resources\":{\"gpu-memory\":\"21527Mi\",\"npu-core\":\"8\","
                         "\"gpu-core\":\"100\",\"odd\":\"many\"},"
                         "\"topology\":{\"socketID\":\"-1\",\"nodeID\":\"1\","
                         "\"pcieID\":\"pci0000:3a\",\"busID\":\"0000:3b:00.0\"},"
                         "\"status\":{\"healthy\":false,\"errCode\":\"chip error\"}") "]");
    put_xpu(&r, "more", "[" XPU("what", "") "]");
    fixture_dir(&r.b.f, "xpu/ic-device-tmp");
    put_xpu(&r, ".half", "[{");
    device_fixture_start(&r);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 2);
    const struct device_info *d = device(&r, 0);
    assert_string_equal(d->type, "gpu");
    assert_string_equal(d->id, "npu-0-1");
    assert_that(d->minor.v, ==, 1);
    assert_true(!d->health);
    assert_int_equal(d->resources.n, 4);
    assert_int_equal(qty_value(reslist_get(&d->resources, "koordinator.sh/gpu-memory-ratio")), 100);
    assert_int_equal(qty_value(reslist_get(&d->resources, "koordinator.sh/gpu-core")), 100);
    assert_string_equal(
        qty_format(reslist_get(&d->resources, "koordinator.sh/gpu-memory"), r.arena), "21527Mi");
    assert_int_equal(qty_value(reslist_get(&d->resources, "npu-core")), 8);
    assert_int_equal(d->topology->node_id, 1);
    assert_string_equal(d->conditions.items[0].type, "Healthy");
    assert_string_equal(d->conditions.items[0].reason, "chip_error");
    assert_string_equal(d->conditions.items[0].message, "device is unhealthy");
    d = device(&r, 1);
    assert_that(d->minor.v, ==, 0);
    assert_true(d->health);
    assert_int_equal(d->topology->node_id, -1);
    assert_string_equal(d->conditions.items[0].reason, "DeviceHealthy");
    assert_string_equal(d->conditions.items[0].message, "device is healthy");
    assert_int_equal(d->conditions.items[0].status, COND_TRUE);
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-vendor"), "huawei");
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-model"), "Ascend-310P3-300I-DUO");
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-partition-policy"), "(none)");
    assert_int_equal(r.in.annotations.n, 0);
    device_fixture_fini(&r);
}

#define LINKS(list) ",\"topology\":{\"p2pLinks\":[" list "]}"
#define LINK(peers) "{\"peerMinor\":\"" peers "\",\"type\":\"HCCS\"}"

static void test_xpu_partitions(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_xpu(
        &r, "a",
        "[" XPU("0", LINKS(LINK("1,2,3") "," LINK("1,0,1"))) "," XPU(
            "1", LINKS(LINK("3, 2,0") "," LINK("0") "," LINK("") "," LINK(
                     "x") ","
                          "{\"peerMinor\":\"2\",\"type\":\"\"}")) "," XPU("2",
                                                                          LINKS(LINK("10"))) "]");
    device_fixture_start(&r);
    assert_int_equal(report(&r), 0);
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-partition-policy"), "Prefer");
    assert_string_equal(
        str_or(kstrmap_get(&r.in.annotations, "scheduling.koordinator.sh/gpu-partitions"), ""),
        "{\"2\":[{\"minors\":[0,1],\"gpuLinkType\":\"HCCS\",\"allocationScore\":1},"
        "{\"minors\":[2,10],\"gpuLinkType\":\"HCCS\",\"allocationScore\":1}],"
        "\"4\":[{\"minors\":[0,1,2,3],\"gpuLinkType\":\"HCCS\",\"allocationScore\":1}]}");
    put_xpu(&r, "a",
            "[" XPU("0", ",\"topology\":{\"mustHonorPartition\":true,\"p2pLinks\":[" LINK(
                             "1") "]}") "]");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-partition-policy"), "Honor");
    device_fixture_fini(&r);
}

static void test_a_bad_file_spoils_them_all(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_xpu(&r, "a", "[" XPU("0", "") "]");
    put_xpu(&r, "b", "[{\"minor\":3}]");
    device_fixture_start(&r);
    assert_int_equal(report(&r), -EINVAL);
    assert_contains(r.err.text, "/xpu/b: ");
    assert_contains(r.err.text, "[0].minor");
    collect_fixture_advance(&r.b, 20);
    assert_int_equal(count_lines("/xpu/b: "), 1);

    put_xpu(&r, "b", "[" XPU("1", "") "]");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 2);

    /* Now there is something to keep. */
    put_xpu(&r, "b", "[");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 2);
    fixture_remove(&r.b.f, "xpu/b");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 1);
    fixture_remove(&r.b.f, "xpu");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 0);
    device_fixture_fini(&r);
}

static void test_bad_files(void **state)
{
    static const char *const bad[] = { "",
                                       "{}",
                                       "[1]",
                                       "[{\"resources\":[]}]",
                                       "[{},",
                                       "\xff\xfe",
                                       "[{\"status\":{\"healthy\":\"yes\"}}]" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct device_fixture r;
        device_fixture_init(&r);
        put_xpu(&r, "dev", bad[i]);
        device_fixture_start(&r);
        assert_that(report(&r), <, 0);
        assert_contains(r.err.text, "/xpu/dev: ");
        device_fixture_fini(&r);
    }
}

static void test_limits_of_files(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    strbuf_append(&text, "[");
    for (int i = 0; i <= XPU_DEVICES_MAX; i++)
        strbuf_appendf(&text, "%s{\"minor\":\"%d\"}", i ? "," : "", i);
    strbuf_append(&text, "]");
    put_xpu(&r, "many", strbuf_str(&text));
    device_fixture_start(&r);
    assert_that(report(&r), <, 0);
    assert_contains(r.err.text, "/xpu/many: more than 1024 devices");

    strbuf_reset(&text);
    strbuf_append(&text, "[]");
    for (int i = 0; i < XPU_FILE_BYTES_MAX; i++)
        strbuf_appendc(&text, ' ');
    put_xpu(&r, "many", strbuf_str(&text));
    collect_fixture_advance(&r.b, 1);
    assert_that(report(&r), <, 0);
    assert_contains(r.err.text, "/xpu/many: ");

    put_xpu(&r, "many", "[]");
    for (int i = 0; i < XPU_FILES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        put_xpu(&r, name, "[]");
    }
    collect_fixture_advance(&r.b, 1);
    assert_that(report(&r), <, 0);
    assert_contains(r.err.text, "/xpu: more than 64 files");
    fixture_remove(&r.b.f, "xpu/f1");
    collect_fixture_advance(&r.b, 1);
    assert_int_equal(report(&r), 0);
    device_fixture_fini(&r);
}

/* ---- together -------------------------------------------------------------------------------- */

static void test_files_stand_before_the_driver(void **state)
{
    static const struct gpu_info card = { .uuid = "GPU-1", .name = "Tesla V100/16GB ", .minor = 5 };
    const struct gpu_infos nvidia = { 1, &card, "" };
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_cards(&r);
    put_xpu(&r, "a", "[" XPU("0", "") "]");
    device_fixture_start(&r);
    assert_int_equal(report(&r), 0);
    assert_int_equal(r.in.devices.n, 3);
    device_report_settle(&r.in, NULL, NSEC_PER_SEC);
    assert_string_equal(device(&r, 0)->type, "gpu");
    assert_string_equal(device(&r, 1)->type, "rdma");

    /* A name that is no label as it stands, and no place on the bus. */
    struct entries e = { r.arena, &r.in, 0 };
    r.in = (struct device_report_in){ 0 };
    entries_of_gpus(&e, &nvidia);
    assert_int_equal(r.in.labels.n, 2);
    assert_string_equal(label(&r, "node.koordinator.sh/gpu-model"), "Tesla-V100-16GB");
    assert_null(device(&r, 0)->topology);
    device_fixture_fini(&r);
}

static void test_rounds_take_no_memory(void **state)
{
    struct device_fixture r;

    (void)state;
    device_fixture_init(&r);
    put_cards(&r);
    put_xpu(&r, "a", "[" XPU("0", "") "]");
    device_fixture_start(&r);
    uint64_t before = alloc_count();
    for (uint32_t i = 0; i < 2; i++)
        for (int k = 0; k < 20; k++)
            assert_int_equal(
                r.b.env.devices[i]->node_round(r.b.env.device_selves[i], &r.b.env, k, &r.err), 0);
    assert_int_equal(alloc_count(), before);
    device_fixture_fini(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rdma_cards),
        cmocka_unit_test(test_rdma_names_and_ports),
        cmocka_unit_test(test_a_scan_that_does_not_end),
        cmocka_unit_test(test_a_card_that_does_not_answer),
        cmocka_unit_test(test_a_failed_scan_is_told_in_the_next_round),
        cmocka_unit_test(test_nothing_on_the_machine),
        cmocka_unit_test(test_xpu_devices),
        cmocka_unit_test(test_xpu_partitions),
        cmocka_unit_test(test_a_bad_file_spoils_them_all),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_limits_of_files),
        cmocka_unit_test(test_files_stand_before_the_driver),
        cmocka_unit_test(test_rounds_take_no_memory),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    klog_set_sink(keep_line, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strbuf_fini(&lines);
    return failed;
}
