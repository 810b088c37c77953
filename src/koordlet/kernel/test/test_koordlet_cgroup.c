/* test_koordlet_cgroup.c - the table, conversions and parsers (koordlet-metrics 2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/parse.h"

#define TEXT(s) s, sizeof(s) - 1

static const struct cgroup_resource *find(enum cgroup_version v, const char *type)
{
    struct kerr err = { 0 };
    const struct cgroup_resource *r = cgroup_resource_find(v, type, &err);
    if (!r)
        fail_msg("%s", err.text);
    return r;
}

static void assert_check(enum cgroup_version v, const char *type, const char *value, int want)
{
    struct kerr err = { 0 };
    int got = cgroup_resource_check(find(v, type), v, value, &err);
    if (got != want)
        fail_msg("%s '%s': %d %s", type, value, got, err.text);
}

static void assert_content(enum cgroup_version v, const char *type, const char *value,
                           const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    int r = cgroup_resource_content(find(v, type), v, value, &b, &err);
    assert_int_equal(r < 0, want == NULL);
    assert_string_equal(strbuf_str(&b), want ? want : "");
}

static void test_shares_and_weights(void **state)
{
    static const int64_t pairs[][2] = { { 1000, 39 },    { 1024, 39 }, { 2000, 77 },
                                        { 50000, 1908 }, { 2, 1 },     { 262144, 10000 } };
    struct kerr err = { 0 };
    int64_t v = -7;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        assert_int_equal(shares_to_weight(pairs[i][0], &v, &err), 0);
        assert_int_equal(v, pairs[i][1]);
    }
    assert_int_equal(weight_to_shares(1, &v, &err), 0);
    assert_int_equal(v, 2);
    assert_int_equal(weight_to_shares(10000, &v, &err), 0);
    assert_int_equal(v, 262144);
    assert_int_equal(weight_to_shares(0, &v, &err), -EINVAL);
    assert_int_equal(weight_to_shares(10001, &v, &err), -EINVAL);
    assert_int_equal(shares_to_weight(1, &v, &err), -EINVAL);
    assert_int_equal(v, 262144); /* a refusal writes nothing */
}

static void test_milli_cores(void **state)
{
    (void)state;
    assert_int_equal(milli_to_shares(0), 2);
    assert_int_equal(milli_to_shares(1500), 1536);
    assert_int_equal(milli_to_shares(INT64_MAX), 262144);
    assert_int_equal(milli_to_quota(-5), -1);
    assert_int_equal(milli_to_quota(5), 1000);
    assert_int_equal(milli_to_quota(1500), 150000);
}

static void test_files_of_one_number(void **state)
{
    struct kerr err = { 0 };
    int64_t i = 0;
    uint64_t u = 0;

    (void)state;
    assert_that(file_i64(TEXT("max"), &i, &err), ==, 0);
    assert_that(i, ==, -1);
    assert_that(file_u64(TEXT("max"), &u, &err), ==, 0);
    assert_that(u, ==, INT64_MAX);
    assert_int_equal(file_i64(TEXT("many"), &i, &err), -EINVAL);
    assert_string_equal(err.text, "cannot parse cgroup value many, err: not a number");
}

static void test_cpu_max(void **state)
{
    struct kerr err = { 0 };
    int64_t v = 0;

    (void)state;
    assert_that(cpu_max_quota(TEXT("max 100000"), &v, &err), ==, 0);
    assert_that(v, ==, -1);
    assert_that(cpu_max_quota(TEXT("100000 not_a_number"), &v, &err), ==, 0);
    assert_that(v, ==, 100000);
    assert_that(cpu_max_period(TEXT("100000 not_a_number"), &v, &err), <, 0);
    assert_that(cpu_max_quota(TEXT("100000"), &v, &err), <, 0);
}

static void test_cpu_stat(void **state)
{
    struct cpu_stat c, later = { 100, 50, 0 };
    struct kerr err = { 0 };
    uint64_t ns = 0;

    (void)state;
    assert_int_equal(cpu_usage_parse(CGROUP_V2, TEXT("usage_usec 1000000\n"), &ns, &err), 0);
    assert_int_equal(ns, 1000000000);
    assert_int_equal(cpu_usage_parse(CGROUP_V1, TEXT("1234\n"), &ns, &err), 0);
    assert_int_equal(ns, 1234);
    assert_int_equal(cpu_stat_parse(CGROUP_V2,
                                    TEXT("nr_periods 0\nnr_throttled 0\nthrottled_usec 5\n"), &c,
                                    &err),
                     0);
    assert_int_equal(c.throttled_ns, 5000);
    assert_that(cpu_throttled_ratio(&c, &later), ==, 0.5);
    assert_that(cpu_throttled_ratio(&later, &c), ==, 0); /* a cgroup made anew */
    assert_that(cpu_stat_parse(CGROUP_V1, TEXT("nr_periods 0\nnr_throttled 0\nthrottled_usec 5\n"),
                               &c, &err),
                <, 0);
}

static void test_memory_stat(void **state)
{
    static const char text[] = "file 100\nanon 200\ninactive_file 50\nactive_file 60\n"
                               "inactive_anon 70\nactive_anon 80\nunevictable 10\n";
    struct kerr err = { 0 };
    struct memory_stat m;

    (void)state;
    assert_int_equal(memory_stat_parse(CGROUP_V2, TEXT(text), &m, &err), 0);
    assert_int_equal(memory_stat_usage(&m), 160);
    assert_int_equal(memory_stat_usage_with_page_cache(&m), 270);
    assert_that(memory_stat_parse(CGROUP_V1, TEXT(text), &m, &err), <, 0);
    assert_string_equal(err.text, "memory.stat: total_cache is missing");
}

static void test_numa_stat(void **state)
{
    static const char *const bad[] = {
        "anon N0=1 N2=2\nfile N0=1 N2=2", "anon N0=1 N2=2\nfile N0=1 N1=2",
        "anon N0=1 N1=2\nfile N0=1 N2=2", "anon N0=1 N1=2\nfile N0=1",
        "anon N0=1\nfile N0=1 N1=2",      "file N0=1\nanon N0=1",
    };
    struct numa_pages p[4];
    struct kerr err = { 0 };
    size_t n = 0;

    (void)state;
    assert_int_equal(memory_numa_parse(CGROUP_V2,
                                       TEXT("anon N0=12345 N1=67890\nfile N0=10000 N1=20000"), p,
                                       ARRAY_LEN(p), &n, &err),
                     0);
    assert_that(n, ==, 2);
    assert_that(p[0].pages, ==, 5);
    assert_that(p[1].pages, ==, 20);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (memory_numa_parse(CGROUP_V2, bad[i], strlen(bad[i]), p, ARRAY_LEN(p), &n, &err) == 0)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(memory_numa_parse(CGROUP_V1, TEXT("total=9 N0=1 N1=2 N2=6"), p, 2, &n, &err),
                     -E2BIG);
}

static void test_proc_files(void **state)
{
    static const char node[] = "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 262144 kB\n"
                               "Node 0 Active(file): 131072 kB\nNode 0 Inactive(file): 131072 kB\n"
                               "Node 0 SReclaimable: 65536 kB\n";
    struct cpu_ticks cpus[2];
    struct kerr err = { 0 };
    struct meminfo m;
    uint64_t ticks = 0;
    size_t n = 0;

    (void)state;
    assert_int_equal(
        proc_stat_total(TEXT("cpu  514003 37519 593580 1706155242 5134 45033 38832 0 0"), &ticks,
                        &err),
        0);
    assert_int_equal(ticks, 1228967);
    assert_int_equal(proc_stat_cpus(TEXT("cpu  1\ncpu0 9755 845 15540 26635869 3021 2312 9724\n"),
                                    cpus, 2, &n, &err),
                     0);
    assert_that(n, ==, 1);
    assert_that(cpus[0].cpu, ==, 0);
    assert_that(cpus[0].ticks, ==, 38176);
    assert_int_equal(meminfo_parse(TEXT(node), true, &m, &err), 0);
    assert_int_equal(meminfo_numa_usage(&m), 469762048);
    assert_int_equal(
        meminfo_parse(TEXT("MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n"), false, &m, &err), 0);
    assert_int_equal(meminfo_usage(&m), 536870912);
    m.free = m.total + 1;
    assert_int_equal(meminfo_usage_with_page_cache(&m), 0);
}

static void test_pressure_without_full(void **state)
{
    struct kerr err = { 0 };
    struct psi p;

    (void)state;
    assert_int_equal(psi_parse(TEXT("some avg10=1.50 avg60=2 avg300=3 total=4\n"), &p, &err), 0);
    assert_true(!p.full_supported);
    assert_that(p.some.avg10, ==, 1.5);
    assert_that(p.some.total, ==, 4);
    assert_that(p.full.total, ==, 0);
    assert_true(p.has_some);
    assert_int_equal(psi_parse(TEXT(""), &p, &err), 0);
    assert_true(!p.has_some && !p.full_supported);
    assert_int_equal(psi_parse(TEXT("full avg10=1.50 avg60=2 avg300=3 total=4\n"), &p, &err), 0);
    assert_true(!p.has_some && p.full_supported);
}

static void test_values(void **state)
{
    (void)state;
    assert_check(CGROUP_V2, "memory.high", "max", 0);
    assert_check(CGROUP_V2, "memory.priority", "max", -EINVAL);
    assert_check(CGROUP_V1, "memory.priority", "12", 0);
    assert_check(CGROUP_V1, "memory.wmark_min_adj", "-26", -EINVAL);
    for (size_t i = 0; cgroup_resource_at(i); i++)
        if (cgroup_resource_at(i)->check == CGROUP_RANGE)
            for (int v = CGROUP_V1; v <= CGROUP_V2; v++)
                if (cgroup_resource_at(i)->files[v].name) {
                    assert_check((enum cgroup_version)v, cgroup_resource_at(i)->type, "", -EINVAL);
                    assert_check((enum cgroup_version)v, cgroup_resource_at(i)->type, "abc",
                                 -EINVAL);
                }
    assert_check(CGROUP_V1, "blkio.cost.weight", "253:0 100", 0);
    assert_check(CGROUP_V1, "blkio.cost.weight", "253:0 101", -EINVAL);
    assert_check(CGROUP_V1, "blkio.cost.weight", "253:0 any thing", 0);
    assert_check(CGROUP_V1, "blkio.cost.qos",
                 "253:0 enable=1 ctrl=user rpct=95 rlat=3000 wpct=95 wlat=-1", -EINVAL);
    assert_check(CGROUP_V1, "blkio.cost.model",
                 "253:0 ctrl=user rbps=1 rseqiops=1 rrandiops=1 wbps=1 wseqiops=1 wrandiops=1", 0);
    assert_check(CGROUP_V1, "net_cls.classid", "0x100001", 0);
    assert_check(CGROUP_V1, "net_cls.classid", "0xzz", -EINVAL);
    assert_check(CGROUP_V1, "net_cls.classid", "-1", -EINVAL);
    assert_check(CGROUP_V1, "cpuset.cpus", "0-3,x", -EINVAL);
}

static void test_contents(void **state)
{
    (void)state;
    assert_content(CGROUP_V1, "cpu.cfs_quota_us", "-1", "-1");
    assert_content(CGROUP_V2, "cpu.cfs_quota_us", "-1", "max");
    assert_content(CGROUP_V2, "memory.limit_in_bytes", "-1", "max");
    assert_content(CGROUP_V2, "cpu.shares", "1024", "39");
    assert_content(CGROUP_V1, "cpu.shares", "1", NULL);
    assert_content(CGROUP_V2, "cpu.cfs_period_us", "100000", NULL);
}

static void test_places(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)state;
    cgroup_resource_path(find(CGROUP_V1, "cpu.shares"), CGROUP_V1, "/cg/", "kubepods/burstable",
                         &b);
    assert_string_equal(strbuf_str(&b), "/cg/cpu/kubepods/burstable/cpu.shares");
    strbuf_reset(&b);
    cgroup_resource_path(find(CGROUP_V2, "cpu.shares"), CGROUP_V2, "/cg/", "/", &b);
    assert_string_equal(strbuf_str(&b), "/cg/cpu.weight");
    strbuf_reset(&b);
    cgroup_resource_path(find(CGROUP_V2, "net_cls.classid"), CGROUP_V2, "/cg", "a", &b);
    assert_string_equal(strbuf_str(&b), "/cg/net_cls/a/net_cls.classid");
    assert_null(cgroup_resource_find(CGROUP_V2, "blkio.cost.qos", &err));
    assert_string_equal(err.text, "blkio.cost.qos not found in cgroup registry");
    assert_null(cgroup_resource_find(CGROUP_V1, "cpuset.cpus.effective", &err));
    assert_int_equal(cgroup_unsupported(CGROUP_IF_KUBEPODS, &err), -EOPNOTSUPP);
    assert_string_equal(err.text,
                        "resource is unsupported, reason: file not exist in kubepods cgroup");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_and_weights),
        cmocka_unit_test(test_milli_cores),
        cmocka_unit_test(test_files_of_one_number),
        cmocka_unit_test(test_cpu_max),
        cmocka_unit_test(test_cpu_stat),
        cmocka_unit_test(test_memory_stat),
        cmocka_unit_test(test_numa_stat),
        cmocka_unit_test(test_proc_files),
        cmocka_unit_test(test_pressure_without_full),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_places),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
