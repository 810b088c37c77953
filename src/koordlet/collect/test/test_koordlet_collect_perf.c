/* test_koordlet_collect_perf.c - pressure, counters, cold pages, resctrl (koordlet-metrics 4.10 to
 * 4.12). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "base/test/asserts.h"
#include "koordlet/collect/idlepages.h"
#include "koordlet/collect/perf.h"
#include "koordlet/collect/test/collect_fixture.h"
#include "koordlet/facts/caps.h"

static void gate(struct collect_fixture *b, const char *text)
{
    struct kerr err = { 0 };
    assert_int_equal(gates_parse(&b->o.gates, text, &err), 0);
}

static const char *scrape(struct metrics *m, struct strbuf *out)
{
    strbuf_reset(out);
    metrics_write(&m, 1, out);
    return strbuf_str(out);
}

/* ---- pressure -------------------------------------------------------------------------------- */

static void put_psi(struct collect_fixture *b, const char *dir, const char *cpu)
{
    const char *sub = b->v == CGROUP_V1 ? "cpuacct/" : "";
    static const char both[] = "some avg10=1.00 avg60=2.00 avg300=3.00 total=9\n"
                               "full avg10=4.50 avg60=5.00 avg300=6.00 total=9\n";

    fixture_put(&b->f, cpu, "cgroup/%s%s/cpu.pressure", sub, dir);
    fixture_put(&b->f, both, "cgroup/%s%s/memory.pressure", sub, dir);
    fixture_put(&b->f, both, "cgroup/%s%s/io.pressure", sub, dir);
}

static double psi(struct collect_fixture *b, const char *res, const char *degree)
{
    return collect_fixture_last(
        b, M_CONTAINER_PSI, (const char *const[]){ UID(1), "containerd://aa", res, "10", degree });
}

static void test_pressure(void **state)
{
    static const char some[] = "some avg10=7.25 avg60=8.00 avg300=9.00 total=1\n";
    static const enum cgroup_version versions[] = { CGROUP_V1, CGROUP_V2 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        gate(&b, "PSICollector=true");
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
        put_psi(&b, "kubepods.slice", some);
        put_psi(&b, POD_DIR(1), some);
        put_psi(&b, CONTAINER_DIR(1, "aa"), some);
        put_psi(&b, POD_DIR(2), "gibberish\n");
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 0);
        assert_that(psi(&b, "cpu", "some"), ==, 7.25);
        assert_that(psi(&b, "cpu", "full"), ==, 0);
        assert_that(psi(&b, "mem", "full"), ==, 4.5);
        assert_that(psi(&b, "io", "some"), ==, 1);
        assert_that(collect_fixture_last1(&b, M_POD_PSI_CPU_FULL, UID(1)), ==, 0);
        assert_that(collect_fixture_failures(&b, "PSICollector"), ==, 1);
        const char *text = scrape(b.env.external, &out);
        assert_contains(
            text, "koordlet_container_psi{container_id=\"containerd://aa\",container_name=\"c\","
                  "cpu_full_supported=\"false\",node=\"node-1\",pod_name=\"p1\","
                  "pod_namespace=\"d\",pod_uid=\"" UID(
                      1) "\",psi_degree=\"some\","
                         "psi_precision=\"avg60\",psi_resource_type=\"cpu\"} 8\n");
        assert_lacks(text, "psi_degree=\"full\",psi_precision=\"avg10\","
                           "psi_resource_type=\"cpu\"");
        assert_lacks(text, UID(2));
        /* A pod that is gone has no series at the next round. */
        collect_fixture_pods(&b, "[" POD_JSON(2, "bb") "]");
        collect_fixture_advance(&b, 10);
        assert_lacks(scrape(b.env.external, &out), "koordlet_container_psi");
        collect_fixture_fini(&b);
    }
}

static void test_kernel_without_pressure(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    gate(&b, "PSICollector=true");
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    fixture_dir(&b.f, "cgroup/kubepods.slice");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 30);
    assert_that(collect_fixture_failures(&b, "PSICollector"), ==, 0);
    for (size_t i = 0; collect_missing(b.collect, i); i++)
        assert_lacks(collect_missing(b.collect, i), "PSI"); /* it does not hold up others */
    collect_fixture_fini(&b);
}

/* ---- counters -------------------------------------------------------------------------------- */

static struct {
    unsigned open, most, calls, members;
    int code; /* what opening answers, < 0 */
    int last; /* the descriptor it gave last */
    bool unreadable;
} fake;

static int fake_open(int cgroup_fd, int cpu, enum perf_event event, int leader, struct kerr *err)
{
    (void)cgroup_fd, (void)event;
    if (leader >= 0) {
        fake.members++;
        assert_int_equal(event, PERF_INSTRUCTIONS);
        assert_int_equal(leader, fake.last);
    }
    if (fake.code < 0)
        return kerr_set(err, fake.code, "no counters here");
    fake.calls++;
    fake.open++;
    fake.most = MAX(fake.most, fake.open);
    assert_in_range(cpu, 0, 1);
    return fake.last = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int fake_read(int fd, struct perf_value *ret, struct kerr *err)
{
    (void)fd;
    fake.open--;
    if (fake.unreadable)
        return kerr_set(err, -EIO, "read a counter: too short");
    *ret = (struct perf_value){ 100, 20, 10 }; /* on the CPU half of the time */
    return 0;
}

static const struct perf_driver fake_driver = { fake_open, fake_read };

static struct cpu_place two_cpus[] = { { .cpu = 0, .online = true }, { .cpu = 1, .online = true } };

static void cpi_fixture(struct collect_fixture *b)
{
    memset(&fake, 0, sizeof fake);
    collect_fixture_init(b, CGROUP_V2);
    gate(b, "CPICollector=true");
    b->env.perf = &fake_driver;
    b->o.collect.node_cpu_info = 0; /* the test says which CPUs there are */
    struct cpu_info *c = xnew0(struct cpu_info);
    *c = (struct cpu_info){ .refs = 2, .cpus = two_cpus, .n = 2 };
    b->env.cpu_info = c;
    collect_fixture_pods(b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
    fixture_dir(&b->f, "cgroup/" CONTAINER_DIR(1, "aa"));
}

/* Of each CPU the instructions are counted while the cycles are. */
static void test_cycles_and_instructions_in_one_group(void **state)
{
    struct collect_fixture b;

    (void)state;
    cpi_fixture(&b);
    gate(&b, "Libpfm4=true");
    struct cpu_info *c = b.env.cpu_info;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 10);
    assert_int_equal(fake.calls, 4);
    assert_int_equal(fake.members, 2);
    collect_fixture_fini(&b);
    free(c);
}

static double cpi(struct collect_fixture *b, const char *what)
{
    return collect_fixture_last(b, M_CONTAINER_CPI,
                                (const char *const[]){ UID(1), "containerd://aa", what });
}

static void test_counters_run_for_a_window(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    cpi_fixture(&b);
    struct cpu_info *c = b.env.cpu_info;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 9);
    assert_int_equal(fake.calls, 4); /* two CPUs, two events; the other container has no group */
    assert_int_equal(fake.open, 4);
    assert_that(cpi(&b, "cycle"), ==, -1);
    collect_fixture_advance(&b, 1);
    assert_that(cpi(&b, "cycle"), ==, 400);
    assert_that(cpi(&b, "instruction"), ==, 400);
    assert_int_equal(fake.open, 0);
    const char *text = scrape(b.env.external, &out);
    assert_contains(text, "cpi_field=\"instructions\",node=\"node-1\",pod_name=\"p1\"");
    assert_lacks(text, "containerd://bb");
    collect_fixture_advance(&b, 49);
    assert_int_equal(fake.calls, 4);
    collect_fixture_advance(&b, 2);
    assert_int_equal(fake.calls, 8);
    collect_fixture_pods(&b, "[]"); /* the containers are gone when the window ends */
    collect_fixture_advance(&b, 20);
    assert_lacks(scrape(b.env.external, &out), "containerd://aa");
    collect_fixture_fini(&b);
    free(c);
}

static void test_descriptors_of_counters_are_bounded(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    cpi_fixture(&b);
    struct cpu_info *c = b.env.cpu_info;
    struct cpu_place *many = xnewn0(600, struct cpu_place);
    for (int i = 0; i < 600; i++)
        many[i] = (struct cpu_place){ .cpu = i % 2, .online = true };
    c->cpus = many;
    c->n = 600;
    /* 1200 descriptors each: three at a time. */
    strbuf_append(&json, "[");
    for (int i = 0; i < 7; i++) {
        strbuf_appendf(&json,
                       "%s{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"11111111-"
                       "1111-1111-1111-00000000000%d\"},\"spec\":{\"containers\":[]},\"status\":{"
                       "\"qosClass\":\"Burstable\",\"containerStatuses\":[{\"name\":\"c\","
                       "\"containerID\":\"containerd://x%d\"}]}}",
                       i ? "," : "", i, i);
        fixture_dir(&b.f,
                    "cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_"
                    "1111_1111_1111_00000000000%d.slice/cri-containerd-x%d.scope",
                    i, i);
    }
    strbuf_append(&json, "]");
    collect_fixture_pods(&b, strbuf_str(&json));
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 35);
    assert_int_equal(fake.calls, 7 * 1200);
    assert_in_range(fake.most, 1200, 4096);
    assert_int_equal(fake.open, 0);
    collect_fixture_fini(&b);
    free(many);
    free(c);
}

static void test_machine_without_counters(void **state)
{
    struct collect_fixture b;

    (void)state;
    cpi_fixture(&b);
    struct cpu_info *c = b.env.cpu_info;
    fake.code = -EOPNOTSUPP;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 200);
    assert_that(collect_fixture_failures(&b, "CPICollector"), ==, 0);
    fake.code = -EACCES; /* a failure, and the collector goes on when it is gone */
    collect_fixture_advance(&b, 60);
    assert_that(collect_fixture_failures(&b, "CPICollector"), ==, 1);
    fake.code = 0;
    collect_fixture_advance(&b, 120);
    assert_that(fake.calls, >, 0);
    collect_fixture_fini(&b);
    free(c);
}

static void test_a_failed_round_costs_no_other(void **state)
{
    struct collect_fixture b;

    (void)state;
    cpi_fixture(&b);
    struct cpu_info *c = b.env.cpu_info;
    fake.unreadable = true;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 30);
    assert_int_equal(fake.calls, 4);
    fake.unreadable = false;
    collect_fixture_advance(&b, 40); /* the next round is at 60 */
    assert_int_equal(fake.calls, 8);
    assert_that(cpi(&b, "cycle"), ==, 400);
    assert_that(collect_fixture_failures(&b, "CPICollector"), ==, 1);
    collect_fixture_advance(&b, 60);
    assert_that(collect_fixture_failures(&b, "CPICollector"), ==, 1);
    collect_fixture_fini(&b);
    free(c);
}

static void test_scaling(void **state)
{
    (void)state;
    assert_that(perf_scaled(&(struct perf_value){ 10, 30, 20 }), ==, 15);
    assert_that(perf_scaled(&(struct perf_value){ 10, 0, 0 }), ==, 10);
}

/* ---- cold pages ------------------------------------------------------------------------------ */

static void idle_pages(struct strbuf *out, const char *cfei)
{
    static const char *const names[] = { "csei", "dsei", "cfei", "dfei", "csui", "dsui",
                                         "cfui", "dfui", "csea", "dsea", "cfea", "dfea",
                                         "csua", "dsua", "cfua", "dfua", "slab" };
    strbuf_reset(out);
    strbuf_append(out, "# version: 1.0\n# page_scans: 24\n# slab_scans: 0\n"
                       "# scan_period_in_seconds: 120\n# use_hierarchy: 1\n"
                       "# buckets: 1,2,5,15,30,60,120,240\n");
    for (int i = 0; i < 8; i++)
        strbuf_append(out, "#\n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        strbuf_appendf(out, "  %s %s\n", names[i],
                       streq(names[i], "cfei") ? cfei : "0 0 0 0 0 0 0 0");
}

static void test_idle_pages(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };
    uint64_t cold = 0;

    (void)state;
    idle_pages(&text, "2613248 4657152 18182144 293683200 340172800 52834304 0 0");
    assert_int_equal(idle_pages_cold(text.data, text.len, &cold, &err), 0);
    assert_int_equal(cold, 52834304);
    assert_int_equal(idle_pages_cold(text.data, text.len / 2, &cold, &err), -EINVAL);
    assert_int_equal(idle_pages_cold("", 0, &cold, &err), -EINVAL);
    idle_pages(&text, "1 2 3 4 5 six");
    assert_int_equal(idle_pages_cold(text.data, text.len, &cold, &err), -EINVAL);
}

static void test_cold_pages(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char period[8] = "";
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V1);
    gate(&b, "ColdPageCollector=true");
    fixture_put(&b.f, "120\n", "sys/kernel/mm/kidled/scan_period_in_seconds");
    fixture_put(&b.f, "0\n", "sys/kernel/mm/kidled/use_hierarchy");
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    idle_pages(&text, "0 0 0 0 0 1000 0 0");
    fixture_put(&b.f, text.data, "cgroup/memory/memory.idle_page_stats");
    fixture_put(&b.f, text.data, "cgroup/memory/" POD_DIR(1) "/memory.idle_page_stats");
    collect_fixture_memory(&b, POD_DIR(1), 400, 300); /* less than what is cold: never below 0 */
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    assert_true(b.env.cold_memory_started);
    int fd = openat(b.env.host->sys_fd, "kernel/mm/kidled/scan_period_in_seconds", O_RDONLY);
    assert_that(read(fd, period, sizeof period - 1), >, 0);
    close(fd);
    assert_int_equal(period[0], '5');
    assert_that(collect_fixture_last(&b, M_NODE_MEMORY_COLD, NULL), ==, 1000);
    assert_that(collect_fixture_last(&b, M_NODE_MEMORY_HOT, NULL), ==, 786432 * 1024.0 - 1000);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY_COLD, UID(1)), ==, 1000);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY_HOT, UID(1)), ==, 0);
    assert_that(collect_fixture_last1(&b, M_CONTAINER_MEMORY_HOT, "containerd://aa"), ==, -1);
    collect_fixture_fini(&b);
}

static void test_cold_pages_of_pods_do_not_need_the_node_s(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V1);
    gate(&b, "ColdPageCollector=true");
    fixture_put(&b.f, "120\n", "sys/kernel/mm/kidled/scan_period_in_seconds");
    fixture_put(&b.f, "0\n", "sys/kernel/mm/kidled/use_hierarchy");
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    idle_pages(&text, "0 0 0 0 0 1000 0 0");
    fixture_put(&b.f, "junk\n", "cgroup/memory/memory.idle_page_stats");
    fixture_put(&b.f, text.data, "cgroup/memory/" POD_DIR(1) "/memory.idle_page_stats");
    collect_fixture_memory(&b, POD_DIR(1), 4000, 300);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    assert_that(collect_fixture_last(&b, M_NODE_MEMORY_COLD, NULL), ==, -1);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY_COLD, UID(1)), ==, 1000);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY_HOT, UID(1)), ==, 3300);
    assert_that(collect_fixture_failures(&b, "ColdPageCollector"), ==, 1);
    collect_fixture_fini(&b);
}

static void test_cold_pages_need_v1(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    assert_non_null(collector_cold_page.unsupported(&b.env));
    collect_fixture_fini(&b);
}

/* ---- resctrl --------------------------------------------------------------------------------- */

static void test_resctrl(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    gate(&b, "ResctrlCollector=true");
    assert_int_equal(collector_resctrl.interval(&b.env), 0); /* the flag decides too */
    b.o.collect.resctrl_on = true;
    fixture_put(&b.f, "L3:0=fff\nMB:0=100\n", "sys-fs/resctrl/schemata");
    fixture_put(&b.f, "4096\n", "sys-fs/resctrl/LS/mon_data/mon_L3_00/llc_occupancy");
    fixture_put(&b.f, "77\n", "sys-fs/resctrl/LS/mon_data/mon_L3_00/mbm_local_bytes");
    fixture_put(&b.f, "88\n", "sys-fs/resctrl/LS/mon_data/mon_L3_00/mbm_total_bytes");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    assert_that(collect_fixture_last(&b, M_RESCTRL_LLC, (const char *const[]){ "LS", "0" }), ==,
                4096);
    assert_that(collect_fixture_last(&b, M_RESCTRL_MB,
                                     (const char *const[]){ "LS", "0", "mbm_total_bytes" }),
                ==, 88);
    const char *text = scrape(b.env.external, &out);
    assert_contains(text, "koordlet_resctrl_llc_occupancy{cache_id=\"0\",node=\"node-1\","
                          "qos=\"LS\"} 4096");
    assert_contains(text, "mb_type=\"mbm_local_bytes\",node=\"node-1\",qos=\"LS\"} 77");
    assert_that(collect_fixture_failures(&b, "ResctrlCollector"), ==,
                0); /* LSR and BE need not be there */
    collect_fixture_fini(&b);
}

/* The node is looked at after the collectors are made. */
static void test_resctrl_by_what_the_cpus_can(void **state)
{
    static const struct {
        enum cap_state control, monitoring;
        double want;
    } cases[] = {
        { CAP_YES, CAP_YES, 4096 },
        { CAP_NO, CAP_YES, -1 },
        { CAP_YES, CAP_NO, -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct caps caps = { 0 };
        struct collect_fixture b;
        collect_fixture_init(&b, CGROUP_V2);
        gate(&b, "ResctrlCollector=true");
        b.o.collect.resctrl_on = true;
        b.env.caps = &caps;
        fixture_put(&b.f, "L3:0=fff\nMB:0=100\n", "sys-fs/resctrl/schemata");
        fixture_put(&b.f, "4096\n", "sys-fs/resctrl/LS/mon_data/mon_L3_00/llc_occupancy");
        collect_fixture_start(&b);
        caps.caps[CAP_RESCTRL].state = cases[i].control;
        caps.caps[CAP_RESCTRL_MONITORING].state = cases[i].monitoring;
        collect_fixture_advance(&b, 0);
        assert_that(collect_fixture_last(&b, M_RESCTRL_LLC, (const char *const[]){ "LS", "0" }), ==,
                    cases[i].want);
        assert_that(collect_fixture_failures(&b, "ResctrlCollector"), ==, 0);
        collect_fixture_fini(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pressure),
        cmocka_unit_test(test_kernel_without_pressure),
        cmocka_unit_test(test_counters_run_for_a_window),
        cmocka_unit_test(test_cycles_and_instructions_in_one_group),
        cmocka_unit_test(test_descriptors_of_counters_are_bounded),
        cmocka_unit_test(test_machine_without_counters),
        cmocka_unit_test(test_a_failed_round_costs_no_other),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_idle_pages),
        cmocka_unit_test(test_cold_pages),
        cmocka_unit_test(test_cold_pages_of_pods_do_not_need_the_node_s),
        cmocka_unit_test(test_cold_pages_need_v1),
        cmocka_unit_test(test_resctrl),
        cmocka_unit_test(test_resctrl_by_what_the_cpus_can),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
