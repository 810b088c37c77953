/* test_koordlet_caps.c - what a node can do, and resctrl (koordlet-metrics 2.1, 2.5 to 2.8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/gates.h"
#include "component/metrics.h"
#include "koordlet/facts/caps.h"
#include "koordlet/facts/resctrl.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "koordlet/options.h"
#include "json/kj.h"

/* ---- resctrl --------------------------------------------------------------------------------- */

static void test_schemata(void **state)
{
    static const char text[] =
        "    L3:0=7ff;1=1\nL3CODE:0=1;1=1\n    MB:0= 20;1=30;junk;\n  a:b:c\n";
    struct schemata *s = xnew0(struct schemata);
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(schemata_parse(text, strlen(text), -1, s, &err), 0);
    assert_int_equal(s->nl3, 2);
    assert_int_equal(s->nmb, 2);
    assert_int_equal(s->l3[0].value, 0x7ff);
    assert_int_equal(s->l3[1].cache, 1);
    assert_int_equal(s->mb[0].value, 20);
    assert_int_equal(s->mb[1].value, 30);
    assert_int_equal(schemata_parse(text, strlen(text), 2, s, &err), 0);
    assert_int_equal(schemata_parse(text, strlen(text), 3, s, &err), -EINVAL);
    assert_string_equal(err.text, "schemata: L3 has 2 caches, not 3");
    assert_int_equal(schemata_parse("", 0, 2, s, &err), 0);
    assert_int_equal(s->nl3 + s->nmb, 0);
    assert_int_equal(schemata_parse("L3:0=zz;1=1\n", 12, -1, s, &err), -EINVAL);
    assert_string_equal(err.text, "schemata: L3 has the item '0=zz'");
    static const char odd[] = "L3:x=1;=2;0=3=4;0=f;1=1;0=7;\nMB: 1 = 20 ;0=10;x;-1=5\n";
    assert_int_equal(schemata_parse(odd, strlen(odd), 2, s, &err), 0);
    assert_int_equal(s->nl3, 2);
    assert_that(s->l3[0].cache, ==, 0);
    assert_that(s->l3[0].value, ==, 7);
    assert_that(s->l3[1].value, ==, 1);
    assert_int_equal(s->nmb, 2);
    assert_that(s->mb[1].cache, ==, 1);
    assert_that(s->mb[1].value, ==, 20);
    assert_int_equal(schemata_parse("L3:0=11112222333344445", 22, -1, s, &err), -EINVAL);
    assert_int_equal(schemata_parse("L3:0=1ffffffff", 14, -1, s, &err), -EINVAL);
    static const char *const half[] = { "L3:0=7ff;1=1\n", "MB:0=20;1=30\n" };
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(schemata_parse(half[i], strlen(half[i]), 2, s, &err), 0);
        assert_int_equal(s->nl3, i ? 0 : 2);
        assert_int_equal(s->nmb, i ? 2 : 0);
    }
    free(s);
}

static void test_schemata_is_bounded(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct schemata *s = xnew0(struct schemata);

    (void)state;
    strbuf_append(&text, "L3:");
    for (int i = 0; i < RESCTRL_CACHES_MAX; i++)
        strbuf_appendf(&text, "%d=f;", i);
    assert_int_equal(schemata_parse(text.data, text.len, -1, s, NULL), 0);
    assert_int_equal(s->nl3, RESCTRL_CACHES_MAX);
    strbuf_append(&text, "999=f");
    assert_int_equal(schemata_parse(text.data, text.len, -1, s, NULL), -E2BIG);
    free(s);
}

static void test_schemata_format(void **state)
{
    static const struct resctrl_item l3[] = { { 0, 0xfff }, { 8, 0xfff } };
    static const struct resctrl_item mb[] = { { 8, 90 }, { 0, 100 } };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    schemata_l3_format(l3, 2, &b);
    schemata_mb_format(mb, 2, &b);
    assert_string_equal(strbuf_str(&b), "L3:0=fff;8=fff;\nMB:0=100;8=90;\n");
}

static void test_l3_masks(void **state)
{
    static const struct {
        uint64_t cbm;
        int64_t start, end;
        uint64_t want; /* 0: refused */
    } cases[] = {
        { 0xff, 0, 100, 0xff },   { 0x3ff, 10, 80, 0xfe },
        { 0x7ff, 10, 50, 0x3c },  { 0x3ff, 0, 30, 0x7 },
        { 0x3ff, 10, 85, 0x1fe }, { 4, 0, 100, 0 },
        { 0x3ff, 30, 30, 0 },     { 0x3ff, -10, 100, 0 },
        { 0x3ff, 0, 101, 0 },     { UINT64_MAX, 0, 100, UINT64_MAX },
    };
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t mask = 0;
        int r = resctrl_l3_mask(cases[i].cbm, cases[i].start, cases[i].end, &mask, &err);
        assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
        assert_int_equal(mask, cases[i].want);
    }
    assert_string_equal(err.text, "illegal l3 cat percent: start 0, end 101");
    uint64_t v;
    assert_int_equal(resctrl_l3_mask(5, 0, 100, &v, &err), -EINVAL);
    assert_string_equal(err.text, "illegal cbm 5");
    assert_int_equal(resctrl_cbm_parse(" fffff\n", 7, &v, &err), 0);
    assert_int_equal(v, 0xfffff);
    assert_int_equal(resctrl_cbm_parse("0xff", 4, &v, &err), -EINVAL);
    assert_int_equal(resctrl_cbm_parse("", 0, &v, &err), -EINVAL);
    assert_int_equal(resctrl_cbm_parse("00000ffffffff", 13, &v, &err), 0);
    assert_int_equal(v, 0xffffffff);
    assert_int_equal(resctrl_cbm_parse("1ffffffff", 9, &v, &err), -EINVAL);
    assert_string_equal(err.text, "invalid cbm");
    assert_int_equal(resctrl_cbm_parse("10000000000000000", 17, &v, &err), -EINVAL);
    assert_int_equal(v, 0xffffffff);
    assert_int_equal(resctrl_mb_value("GenuineIntel", 31, &v, &err), 0);
    assert_int_equal(v, 40);
    assert_int_equal(resctrl_mb_value("AuthenticAMD", 100, &v, &err), 0);
    assert_int_equal(v, 2048);
    assert_int_equal(resctrl_mb_value("AuthenticAMD", 8, &v, &err), 0);
    assert_int_equal(v, 12);
    assert_int_equal(resctrl_mb_value("AuthenticAMD", 0, &v, &err), -EINVAL);
    assert_int_equal(resctrl_mb_value("GenuineIntel", 101, &v, &err), -EINVAL);
    assert_int_equal(v, 12);
}

static void test_resctrl_files(void **state)
{
    struct schemata *s = xnew0(struct schemata);
    struct resctrl_usage u[4];
    struct fixture f;
    struct kerr err = { 0 };
    size_t n = 9;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(resctrl_root_read(h, s, &err), -ENOENT);
    fixture_put(&f, "L2:0=fff;1=fff\n", "sys-fs/resctrl/schemata");
    assert_int_equal(resctrl_root_read(h, s, &err), -ENODATA);
    fixture_put(&f, "L3:0=fff;1=fff\n", "sys-fs/resctrl/schemata"); /* CPUs may share only one */
    assert_int_equal(resctrl_root_read(h, s, &err), 0);
    assert_int_equal(s->nl3, 2);
    assert_int_equal(s->nmb, 0);
    fixture_put(&f, "MB:0=100;1=100\n", "sys-fs/resctrl/schemata");
    assert_int_equal(resctrl_root_read(h, s, &err), 0);
    assert_int_equal(s->nl3, 0);
    assert_int_equal(s->nmb, 2);
    fixture_put(&f, "MB:0=100;1=0\n", "sys-fs/resctrl/schemata");
    assert_int_equal(resctrl_root_read(h, s, &err), -ENODATA);
    fixture_put(&f, "L3:0=fff;1=0\nMB:0=100;1=100\n", "sys-fs/resctrl/schemata");
    assert_int_equal(resctrl_root_read(h, s, &err), -ENODATA);
    fixture_put(&f, "    MB:0=100;1=100\n    L3:0=fff;1=fff\n", "sys-fs/resctrl/schemata");
    assert_int_equal(resctrl_root_read(h, s, &err), 0);
    assert_int_equal(s->nl3, 2);

    assert_int_equal(resctrl_usage_read(h, "BE", u, 4, &n, &err), -ENOENT);
    assert_int_equal(n, 9);
    fixture_put(&f, "1179648\n", "sys-fs/resctrl/BE/mon_data/mon_L3_00/llc_occupancy");
    fixture_put(&f, "Unavailable\n", "sys-fs/resctrl/BE/mon_data/mon_L3_00/mbm_local_bytes");
    fixture_put(&f, "7\n", "sys-fs/resctrl/BE/mon_data/mon_L3_08/mbm_total_bytes");
    fixture_put(&f, "7\n", "sys-fs/resctrl/BE/mon_data/other/mbm_total_bytes");
    assert_int_equal(resctrl_usage_read(h, "BE", u, 4, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(u[0].cache, 0);
    assert_true(u[0].known[RESCTRL_LLC_OCCUPANCY]);
    assert_int_equal(u[0].bytes[RESCTRL_LLC_OCCUPANCY], 1179648);
    assert_false(u[0].known[RESCTRL_MBM_LOCAL]);
    assert_false(u[0].known[RESCTRL_MBM_TOTAL]);
    assert_int_equal(u[1].cache, 8); /* not octal */
    assert_int_equal(u[1].bytes[RESCTRL_MBM_TOTAL], 7);
    assert_int_equal(resctrl_usage_read(h, "BE", u, 1, &n, &err), 0);
    assert_int_equal(n, 1);
    free(s);
    fixture_fini(&f);
}

/* ---- capabilities ---------------------------------------------------------------------------- */

static struct gate gate_table[KOORDLET_GATES];

static struct gates gates_of(const unsigned *on, size_t n)
{
    static char names[KOORDLET_GATES][8];
    struct gates g;

    for (unsigned i = 0; i < KOORDLET_GATES; i++) {
        snprintf(names[i], sizeof names[i], "G%u", i);
        gate_table[i] = (struct gate){ .name = names[i] };
    }
    for (size_t i = 0; i < n; i++)
        gate_table[on[i]].def = true;
    gates_init(&g, gate_table, KOORDLET_GATES);
    return g;
}

static void assert_cap(const struct caps *c, enum capability which, enum cap_state want,
                       const char *reason)
{
    if (c->caps[which].state != want || !strstr(c->caps[which].reason, reason))
        fail_msg("%s: %d '%s'", cap_name(which), (int)c->caps[which].state, c->caps[which].reason);
}

static void put_be_files(const struct fixture *f)
{
    fixture_put(f, "", "cgroup/kubepods.slice/cpu.max.burst");
    fixture_put(f, "", "cgroup/kubepods.slice/cpu.idle");
    fixture_put(f, "", "cgroup/kubepods.slice/memory.min");
    fixture_put(f, "", "cgroup/kubepods.slice/memory.low");
    fixture_put(f, "", "cgroup/kubepods.slice/memory.high");
    fixture_put(f, "", "cgroup/kubepods.slice/cpu.pressure");
}

/* A usual distribution of today. */
static void modern_node(struct fixture *f)
{
    fixture_init(f);
    fixture_cgroup(f, CGROUP_V2);
    put_be_files(f);
    fixture_put(f, "6.1.0-13-amd64\n", "proc/sys/kernel/osrelease");
    fixture_put(f,
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
                "proc/pressure/cpu");
    fixture_put(f,
                "processor : 0\nvendor_id\t: GenuineIntel\nflags : fpu cat_l3 mba cqm_llc "
                "cqm_occup_llc cqm_mbm_total\n",
                "proc/cpuinfo");
    fixture_put(f, "", "var-run/containerd/containerd.sock");
    fixture_put(f, "", "sys/class/infiniband/mlx5_0/ports");
}

static void test_capabilities_of_a_modern_node(void **state)
{
    struct fixture f;
    struct caps c;

    (void)state;
    modern_node(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, NULL), 0);
    caps_read(h, NULL, &c);
    assert_string_equal(c.kernel, "6.1.0-13-amd64");
    for (int i = 0; i < CAPABILITIES; i++)
        if (c.caps[i].reason[0] == '\0' || !cap_name((enum capability)i))
            fail_msg("capability %d has no reason or no name", i);
    assert_cap(&c, CAP_CGROUP_V2, CAP_YES, "one hierarchy");
    assert_cap(&c, CAP_KUBEPODS, CAP_YES, "kubepods.slice, driver systemd");
    assert_cap(&c, CAP_CPU, CAP_YES, "cpu");
    assert_cap(&c, CAP_BLKIO, CAP_YES, "io");
    assert_cap(&c, CAP_CPU_BURST, CAP_YES, "cpu.max.burst");
    assert_cap(&c, CAP_CPU_IDLE, CAP_YES, "cpu.idle");
    assert_cap(&c, CAP_MEMORY_MIN, CAP_YES, "memory.min");
    assert_cap(&c, CAP_MEMORY_HIGH, CAP_YES, "memory.high");
    assert_cap(&c, CAP_PSI, CAP_YES, "pressure");
    assert_cap(&c, CAP_PSI_CGROUP, CAP_YES, "cpu.pressure");
    assert_cap(&c, CAP_PSI_CPU_FULL, CAP_YES, "full");
    assert_cap(&c, CAP_RESCTRL, CAP_YES, "cat_l3");
    assert_cap(&c, CAP_RESCTRL_MONITORING, CAP_NO, "cqm_mbm_local");
    assert_cap(&c, CAP_RESCTRL_MOUNTED, CAP_NO, "not mounted");
    assert_cap(&c, CAP_BVT, CAP_NO, "kubepods.slice/cpu.bvt_warp_ns does not exist: only");
    assert_cap(&c, CAP_MEMORY_WMARK, CAP_NO, "Anolis");
    assert_cap(&c, CAP_COLD_PAGES, CAP_NO, "kidled");
    assert_cap(&c, CAP_BLKIO_COST, CAP_NO, "cgroup v1 only");
    assert_cap(&c, CAP_RUNTIME, CAP_YES, "containerd at ");
    assert_cap(&c, CAP_NRI, CAP_NO, "nri/nri.sock does not exist");
    assert_cap(&c, CAP_RDMA, CAP_YES, "mlx5_0 in ");
    assert_cap(&c, CAP_ANOLIS, CAP_NO, "another kernel");
    fixture_put(&f, "vendor_id\t: HygonGenuine\nflags : cat_l3 mba\n", "proc/cpuinfo");
    caps_read(h, NULL, &c);
    assert_cap(&c, CAP_RESCTRL, CAP_NO, "the vendor of the CPUs is HygonGenuine: only");
    fixture_put(&f, "vendor_id\t: AuthenticAMD\nflags : cat_l3 mba\n", "proc/cpuinfo");
    caps_read(h, NULL, &c);
    assert_cap(&c, CAP_RESCTRL, CAP_YES, "cat_l3");
    fixture_fini(&f);
}

static void test_capabilities_of_anolis_on_v1(void **state)
{
    static const char *const files[] = {
        "cpu/kubepods/cpu.cfs_burst_us",
        "cpu/kubepods/cpu.bvt_warp_ns",
        "cpu/cpu.bvt_warp_ns",
        "memory/kubepods/memory.wmark_ratio",
        "memory/kubepods/memory.min",
        "cpuacct/kubepods/cpu.pressure",
        "blkio/blkio.cost.qos",
        "blkio/kubepods/blkio.throttle.read_bps_device",
        "perf_event/tasks",
        "net_cls/kubepods/net_cls.classid",
    };
    struct fixture f;
    struct caps c;
    char flag[128];

    (void)state;
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V1);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        fixture_put(&f, "", "cgroup/%s", files[i]);
    fixture_put(&f, "5", "sys/kernel/mm/kidled/scan_period_in_seconds");
    fixture_put(&f, "1", "proc/sys/kernel/sched_core");
    fixture_put(&f, "1", "proc/sys/kernel/sched_group_identity_enabled");
    fixture_put(&f, "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "proc/pressure/cpu");
    fixture_put(&f, "L3:0=fff\nMB:0=100\n", "sys-fs/resctrl/schemata");
    fixture_put(&f, "", "var-run/nri/nri.sock");
    fixture_put(&f, "", "run/elsewhere.sock");
    struct host *h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, NULL), 0);
    snprintf(flag, sizeof flag, "unix://%s/run/elsewhere.sock", f.dir);
    caps_read(h, &(struct caps_options){ .docker_endpoint = flag }, &c);
    assert_cap(&c, CAP_CGROUP_V2, CAP_NO, "hierarchies of v1");
    assert_cap(&c, CAP_KUBEPODS, CAP_YES, "driver cgroupfs");
    assert_cap(&c, CAP_CPU_BURST, CAP_YES, "cpu.cfs_burst_us");
    assert_cap(&c, CAP_BVT, CAP_YES, "cpu.bvt_warp_ns");
    assert_cap(&c, CAP_CPU_IDLE, CAP_NO,
               "cpu/kubepods/cpu.idle does not exist: Linux has it since");
    assert_cap(&c, CAP_MEMORY_WMARK, CAP_YES, "memory.wmark_ratio");
    assert_cap(&c, CAP_MEMORY_MIN, CAP_YES, "memory.min");
    assert_cap(&c, CAP_MEMORY_LOW, CAP_NO, "memory/kubepods/memory.low");
    assert_cap(&c, CAP_PSI_CGROUP, CAP_YES, "cpu.pressure");
    assert_cap(&c, CAP_PSI_CPU_FULL, CAP_NO, "5.13");
    assert_cap(&c, CAP_BLKIO_COST, CAP_YES, "blkio.cost.qos");
    assert_cap(&c, CAP_BLKIO_THROTTLE, CAP_YES, "blkio.throttle");
    assert_cap(&c, CAP_NET_CLS, CAP_YES, "net_cls.classid");
    assert_cap(&c, CAP_PERF_CGROUP, CAP_YES, "bound");
    assert_cap(&c, CAP_COLD_PAGES, CAP_NO, "kidled/use_hierarchy does not exist");
    assert_cap(&c, CAP_CORE_SCHED, CAP_YES, "sys/kernel/sched_core");
    assert_cap(&c, CAP_GROUP_IDENTITY, CAP_YES, "sched_group_identity_enabled");
    assert_cap(&c, CAP_RESCTRL, CAP_NO, "cat_l3");
    assert_cap(&c, CAP_RESCTRL_MOUNTED, CAP_YES, "1 caches");
    assert_cap(&c, CAP_RUNTIME, CAP_YES, "docker at ");
    assert_cap(&c, CAP_NRI, CAP_YES, "nri.sock");
    assert_cap(&c, CAP_ANOLIS, CAP_YES, "cpu.bvt_warp_ns");
    fixture_put(&f, "1", "sys/kernel/mm/kidled/use_hierarchy");
    fixture_remove(&f, "cgroup/cpu/cpu.bvt_warp_ns");
    caps_read(h, NULL, &c);
    assert_cap(&c, CAP_COLD_PAGES, CAP_YES, "kidled");
    assert_cap(&c, CAP_ANOLIS, CAP_YES, "memory.wmark_ratio");
    assert_cap(&c, CAP_RUNTIME, CAP_NO, "no socket");
    fixture_fini(&f);
}

static void test_capabilities_of_an_empty_tree(void **state)
{
    struct fixture f;
    struct caps c;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    h->sys_fd = fd_close(h->sys_fd);
    h->sys_fs_fd = fd_close(h->sys_fs_fd);
    caps_read(h, NULL, &c);
    assert_string_equal(c.kernel, "unknown");
    assert_cap(&c, CAP_KUBEPODS, CAP_UNKNOWN, "neither kubepods.slice nor kubepods");
    assert_cap(&c, CAP_CPU, CAP_NO, "cpu is not mounted");
    assert_cap(&c, CAP_CPU_BURST, CAP_UNKNOWN, "not known before");
    assert_cap(&c, CAP_BLKIO_COST, CAP_NO, "blkio/blkio.cost.qos does not exist");
    assert_cap(&c, CAP_PSI, CAP_NO, "CONFIG_PSI");
    assert_cap(&c, CAP_RDMA, CAP_NO, "no device");
    fixture_fini(&f);
}

static struct feature_report feature(const struct caps *c, const struct gates *g, const char *name)
{
    struct feature_report r;
    for (size_t i = 0; caps_feature(c, g, i, &r); i++)
        if (streq(r.name, name))
            return r;
    fail_msg("no feature %s", name);
    return r;
}

static void test_features(void **state)
{
    static const unsigned on[] = { GATE_CPU_BURST,         GATE_PSI_COLLECTOR,
                                   GATE_RESCTRL_COLLECTOR, GATE_CGROUP_RECONCILE,
                                   GATE_RDT_RESCTRL,       GATE_COLD_PAGE_COLLECTOR };
    struct gates g = gates_of(on, ARRAY_LEN(on));
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture f;
    struct caps c;

    (void)state;
    modern_node(&f);
    struct host *h = fixture_host(&f);
    caps_read(h, NULL, &c); /* before the kubelet's cgroups are found */
    assert_int_equal(feature(&c, &g, "CPUBurst").state, FEATURE_WAITING);
    assert_int_equal(feature(&c, &g, "PodMetrics").state, FEATURE_WAITING);
    assert_int_equal(feature(&c, &g, "GroupIdentity").state, FEATURE_WAITING);
    assert_int_equal(host_detect_driver(h, NULL), 0);
    caps_read(h, NULL, &c);
    assert_int_equal(feature(&c, &g, "PodMetrics").state, FEATURE_ON);
    assert_int_equal(feature(&c, &g, "CPUBurst").state, FEATURE_ON);
    assert_int_equal(feature(&c, &g, "PSICollector").state, FEATURE_ON);
    assert_int_equal(feature(&c, &g, "RdtResctrl").state, FEATURE_ON);
    assert_int_equal(feature(&c, &g, "ResctrlCollector").state, FEATURE_BLOCKED);
    assert_int_equal(feature(&c, &g, "ResctrlCollector").missing, CAP_RESCTRL_MONITORING);
    assert_int_equal(feature(&c, &g, "CgroupReconcile").state, FEATURE_REDUCED);
    assert_int_equal(feature(&c, &g, "BlkIOReconcile").state, FEATURE_OFF);
    assert_false(feature(&c, &g, "BlkIOReconcile").possible);
    assert_int_equal(feature(&c, &g, "RDMADevices").state, FEATURE_OFF);
    assert_true(feature(&c, &g, "RDMADevices").possible);
    assert_int_equal(feature(&c, &g, "GroupIdentity").state, FEATURE_UNABLE);
    assert_int_equal(feature(&c, &g, "CPUIdle").state, FEATURE_READY);

    struct feature_report r = feature(&c, &g, "ColdPageCollector");
    assert_true(caps_complaint(&c, &r, &text));
    assert_contains(strbuf_str(&text), "ColdPageCollector is on, but cannot work on this "
                                       "node: no cold memory");
    r = feature(&c, &g, "GroupIdentity");
    assert_false(caps_complaint(&c, &r, &text));
    fixture_fini(&f);
}

static void test_shown(void **state)
{
    static const char blocked[] = "koordlet_node_feature_blocked{capability=\"cold-pages\","
                                  "effect=\"all\",feature=\"ColdPageCollector\"} 1\n";
    static const unsigned on[] = { GATE_CPU_BURST, GATE_COLD_PAGE_COLLECTOR };
    struct gates g = gates_of(on, ARRAY_LEN(on));
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, json = STRBUF_INIT, prom = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    struct fixture f;
    struct kerr err = { 0 };
    struct caps c;

    (void)state;
    modern_node(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, NULL), 0);
    caps_read(h, NULL, &c);
    caps_table(&c, &g, &text);
    assert_starts(strbuf_str(&text), "Node: kernel 6.1.0-13-amd64, cgroup v2, cgroup "
                                     "driver systemd\n\nCapabilities\n");
    assert_contains(strbuf_str(&text), "\n  yes      cpu-burst               cpu.max.burst\n");
    assert_contains(strbuf_str(&text), "\n  on       CPUBurst\n");
    assert_contains(strbuf_str(&text), "\n  blocked  ColdPageCollector       no cold memory");
    assert_contains(strbuf_str(&text), "\n  off      RDMADevices             the node has all");
    assert_contains(strbuf_str(&text), "\n  off      BlkIOReconcile          if switched on: ");
    assert_contains(strbuf_str(&text), "of the features that are on cannot work here");

    caps_json(&c, &g, &json);
    if (kj_parse(json.data, json.len, 0, &doc, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(kj_len(kj_get(kj_root(doc), "capabilities")), CAPABILITIES);
    assert_string_equal(kj_str(kj_get(kj_root(doc), "cgroupVersion")), "v2");
    assert_string_equal(
        kj_str(kj_get(kj_at(kj_get(kj_root(doc), "capabilities"), CAP_CPU_BURST), "state")), "yes");

    caps_metrics(&c, &g, m);
    metrics_write(&m, 1, &prom);
    assert_contains(strbuf_str(&prom), "koordlet_node_capability{capability=\"cpu-burst\"} 1\n");
    assert_contains(strbuf_str(&prom), blocked);
    /* A node that changed: what is not true any more is not shown any more. */
    c.caps[CAP_COLD_PAGES].state = CAP_YES;
    c.caps[CAP_CPU_BURST].state = CAP_NO;
    caps_metrics(&c, &g, m);
    strbuf_reset(&prom);
    metrics_write(&m, 1, &prom);
    assert_lacks(strbuf_str(&prom), blocked);
    assert_contains(strbuf_str(&prom), "koordlet_node_capability{capability=\"cpu-burst\"} 0\n");
    assert_contains(strbuf_str(&prom),
                    "koordlet_node_feature{feature=\"CPUBurst\",state=\"reduced\"} 1\n");
    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemata),
        cmocka_unit_test(test_schemata_is_bounded),
        cmocka_unit_test(test_schemata_format),
        cmocka_unit_test(test_l3_masks),
        cmocka_unit_test(test_resctrl_files),
        cmocka_unit_test(test_capabilities_of_a_modern_node),
        cmocka_unit_test(test_capabilities_of_anolis_on_v1),
        cmocka_unit_test(test_capabilities_of_an_empty_tree),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_shown),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
