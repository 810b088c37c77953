/* test_koordlet_collect_bad.c - collectors and a kernel that answers badly, pods that come and go,
 * descriptors, and memory that a tick must not take. The program's allocator is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "koordlet/collect/test/collect_fixture.h"

static unsigned lines;
static void count_line(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
    lines++;
}

static void good_pod(struct collect_fixture *b, const char *dir, uint64_t usage)
{
    collect_fixture_cpu(b, dir, usage, 0, 0);
    collect_fixture_memory(b, dir, 1000, 1000);
}

/* ---- bad files ------------------------------------------------------------------------------- */

static void test_bad_files_cost_one_pod_only(void **state)
{
    static const char *const bad[] = { "",
                                       "\n",
                                       "usage_usec",
                                       "usage_usec -5\n",
                                       "usage_usec 99999999999999999999999\n",
                                       "nr_periods 1\nnr_throttled 1\n",
                                       "\0\0\0",
                                       "garbage" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, CGROUP_V2);
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
        good_pod(&b, POD_DIR(1), 0);
        good_pod(&b, POD_DIR(2), 0);
        fixture_put(&b.f, bad[i], "cgroup/" POD_DIR(1) "/cpu.stat");
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 0);
        good_pod(&b, POD_DIR(2), 1000000000);
        collect_fixture_advance(&b, 1);
        assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, -1);
        assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(2)), ==, 1);
        assert_that(collect_fixture_failures(&b, "PodResourceCollector"), ==, 2);
        collect_fixture_fini(&b);
    }
}

static void test_bad_memory_files(void **state)
{
    static const char *const bad[] = { "", "anon 5\n", "anon x\nfile y\n", "inactive_anon\n" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, CGROUP_V2);
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
        good_pod(&b, POD_DIR(1), 0);
        fixture_put(&b.f, bad[i], "cgroup/" POD_DIR(1) "/memory.stat");
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 2);
        assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(1)), ==, -1);
        assert_that(collect_fixture_failures(&b, "PodResourceCollector"), >=, 2);
        collect_fixture_fini(&b);
    }
}

static void test_a_huge_file(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
    good_pod(&b, POD_DIR(1), 0);
    good_pod(&b, POD_DIR(2), 0);
    for (int i = 0; i < 400000; i++)
        strbuf_append(&text, "some_key 12345\n");
    fixture_put(&b.f, text.data, "cgroup/" POD_DIR(1) "/memory.stat");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(1)), ==, -1);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(2)), ==, 1000);
    collect_fixture_fini(&b);
}

static void test_one_fault_is_one_line(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "," POD_JSON(3, "cc") "]");
    for (int i = 1; i <= 3; i++) {
        const char *dirs[] = { POD_DIR(1), POD_DIR(2), POD_DIR(3) };
        good_pod(&b, dirs[i - 1], 0);
        fixture_put(&b.f, "garbage", "cgroup/%s/memory.stat", dirs[i - 1]);
    }
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 3);
    klog_set_sink(count_line, NULL);
    lines = 0;
    collect_fixture_advance(&b, 500); /* it was said in the first round */
    assert_int_equal(lines, 0);
    klog_set_sink(NULL, NULL);
    assert_that(collect_fixture_failures(&b, "PodResourceCollector"), >, 1500);
    collect_fixture_fini(&b);
}

static void test_a_collector_that_fails_and_recovers(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 2);
    klog_set_sink(count_line, NULL);
    lines = 0;
    fixture_remove(&b.f, "proc/meminfo"); /* and the open file stays readable: make it garbage */
    fixture_put(&b.f, "x", "proc/stat");
    collect_fixture_advance(&b, 5);
    assert_int_equal(lines, 1);
    collect_fixture_stat(&b, 5, 5, 5);
    collect_fixture_advance(&b, 1);
    assert_int_equal(lines, 2); /* well again */
    klog_set_sink(NULL, NULL);
    collect_fixture_fini(&b);
}

/* What is wrong may read otherwise each time, and come and go: neither floods the log. */
static void test_the_log_is_not_flooded(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V1);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    good_pod(&b, POD_DIR(1), 0);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 2);
    klog_set_sink(count_line, NULL);
    lines = 0;
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "junk %d\n", i);
        fixture_put(&b.f, text, "cgroup/cpuacct/" POD_DIR(1) "/cpuacct.usage");
        collect_fixture_advance(&b, 1);
    }
    assert_in_range(lines, 1, 8);
    assert_that(collect_fixture_failures(&b, "PodResourceCollector"), >=, 100);
    good_pod(&b, POD_DIR(1), 0);
    lines = 0;
    for (int i = 0; i < 20; i++) {
        fixture_put(&b.f, "x", "proc/stat");
        collect_fixture_advance(&b, 1);
        collect_fixture_stat(&b, 5, 5, 5);
        collect_fixture_advance(&b, 1);
    }
    assert_int_equal(lines, 2); /* failed, well again: once */
    assert_that(collect_fixture_failures(&b, "NodeResourceCollector"), >=, 20);
    collect_fixture_advance(&b, 600);
    fixture_put(&b.f, "x", "proc/stat");
    collect_fixture_advance(&b, 2);
    assert_int_equal(lines, 3); /* that is news again */
    klog_set_sink(NULL, NULL);
    collect_fixture_fini(&b);
}

static void test_bad_meminfo_costs_no_pod(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    b.o.collect.page_cache_on = true;
    fixture_put(&b.f, "MemTotal: many kB\n", "proc/meminfo");
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    good_pod(&b, POD_DIR(1), 0);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY_PAGE_CACHE, UID(1)), ==, 2000);
    assert_that(collect_fixture_failures(&b, "PageCacheCollector"), ==, 2);
    assert_true(collect_fixture_is_missing(
        &b, "PageCacheCollector: meminfo: meminfo: MemTotal: is not a number"));
    collect_fixture_fini(&b);
}

/* ---- pods that come and go ------------------------------------------------------------------- */

static void test_descriptors_go_with_their_pods(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    good_pod(&b, POD_DIR(1), 0);
    good_pod(&b, CONTAINER_DIR(1, "aa"), 0);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 2);
    unsigned before = collect_fixture_descriptors();
    uint32_t open = b.env.pods->reader.open;
    for (int round = 0; round < 20; round++) {
        collect_fixture_pods(&b,
                             "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "," POD_JSON(3, "cc") "]");
        good_pod(&b, POD_DIR(2), 0);
        good_pod(&b, CONTAINER_DIR(2, "bb"), 0);
        good_pod(&b, POD_DIR(3), 0);
        collect_fixture_advance(&b, 2);
        assert_that(b.env.pods->reader.open, >=, open + 6);
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
        collect_fixture_advance(&b, 1);
        assert_int_equal(b.env.pods->reader.open, open);
    }
    assert_int_equal(collect_fixture_descriptors(), before);
    /* Their series are gone once nobody can ask for them any more. */
    collect_fixture_advance(&b, 400);
    assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(2)), ==, -1);
    size_t series = metriccache_stats(b.env.mc).series;
    collect_fixture_pods(&b, "[" POD_JSON(2, "bb") "]");
    collect_fixture_advance(&b, 1);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    collect_fixture_advance(&b, 400);
    assert_int_equal(metriccache_stats(b.env.mc).series, series);
    collect_fixture_fini(&b);
}

static void test_a_container_started_again(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    good_pod(&b, CONTAINER_DIR(1, "aa"), 0);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    good_pod(&b, CONTAINER_DIR(1, "aa"), 1000000000);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_CONTAINER_CPU, "containerd://aa"), ==, 1);
    collect_fixture_pods(&b, "[" POD_JSON(1, "zz") "]");
    good_pod(&b, CONTAINER_DIR(1, "zz"), 5000000000);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_CONTAINER_CPU, "containerd://zz"), ==,
                -1); /* no rate over both */
    good_pod(&b, CONTAINER_DIR(1, "zz"), 5500000000);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_CONTAINER_CPU, "containerd://zz"), ==, 0.5);
    collect_fixture_fini(&b);
}

/* A file whose subject ends while it is open answers an error, as a removed cgroup does. */
/* A group that is long in coming is tried ever more rarely, but at once when the kubelet says
 * something new. */
static void test_a_late_group_is_seen_with_the_news(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 70); /* 1, 2, 4, 8, 16, 32 seconds: the next try is at 95 */
    good_pod(&b, POD_DIR(1), 0);
    good_pod(&b, CONTAINER_DIR(1, "aa"), 0);
    collect_fixture_advance(&b, 3);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(1)), ==, -1);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    collect_fixture_advance(&b, 2);
    assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(1)), ==, 1000);
    assert_that(collect_fixture_last1(&b, M_CONTAINER_MEMORY, "containerd://aa"), ==, 1000);
    collect_fixture_fini(&b);
}

static void test_a_group_that_vanishes_while_open(void **state)
{
    char path[64];
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    fixture_link(&b.f, path, "cgroup/" POD_DIR(1) "/cpu.stat");
    collect_fixture_memory(&b, POD_DIR(1), 1, 1);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 1);
    uint32_t open = b.env.pods->reader.open;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    double failures = collect_fixture_failures(&b, "PodResourceCollector");
    collect_fixture_advance(&b, 1);
    assert_int_equal(b.env.pods->reader.open, open - 1);
    assert_that(collect_fixture_failures(&b, "PodResourceCollector"), ==,
                failures); /* going is no failure */
    fixture_remove(&b.f, "cgroup/" POD_DIR(1) "/cpu.stat");
    collect_fixture_cpu(&b, POD_DIR(1), 0, 0, 0);
    collect_fixture_advance(&b, 40); /* it is tried again, if not each second */
    collect_fixture_cpu(&b, POD_DIR(1), 1000000000, 0, 0);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, 1);
    collect_fixture_fini(&b);
}

static void test_few_descriptors(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
    good_pod(&b, POD_DIR(1), 0);
    good_pod(&b, POD_DIR(2), 0);
    collect_fixture_start(&b);
    b.env.pods->reader.max_open = 1;
    collect_fixture_advance(&b, 0);
    good_pod(&b, POD_DIR(2), 500000000);
    collect_fixture_advance(&b, 1);
    assert_int_equal(b.env.pods->reader.open, 1);
    assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(2)), ==, 0.5);
    collect_fixture_fini(&b);
}

static void test_files_are_read_once_a_tick(void **state)
{
    struct kerr err = { 0 };
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    good_pod(&b, POD_DIR(1), 1000000000);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    struct track_reader *r = &b.env.pods->reader;
    struct track *t = &b.env.pods->pods[0].track;
    collect_fixture_cpu(&b, POD_DIR(1), 7000000000, 3, 2);
    assert_int_equal(track_cpu(r, t, &err), 0);
    assert_that(t->usage_ns, ==, 1000000000); /* as it was in this tick */
    r->tick++;
    assert_int_equal(track_throttled(r, t, &err), 0);
    assert_that(t->usage_ns, ==, 7000000000);
    assert_that(t->stat.throttled, ==, 2); /* one read serves both */
    assert_int_equal(b.env.pods->reader.open, 2);
    collect_fixture_fini(&b);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void best_effort(struct collect_fixture *b)
{
    static const char dir[] = "kubepods.slice/kubepods-besteffort.slice";

    collect_fixture_cpu(b, dir, 0, 0, 0);
    fixture_put(&b->f, "0-1\n", "cgroup/cpuset/%s/cpuset.cpus", dir);
    fixture_put(&b->f, "-1\n", "cgroup/cpu/%s/cpu.cfs_quota_us", dir);
    fixture_put(&b->f, "100000\n", "cgroup/cpu/%s/cpu.cfs_period_us", dir);
    fixture_put(&b->f, "0-1\n", "cgroup/%s/cpuset.cpus.effective", dir);
    fixture_put(&b->f, "max 100000\n", "cgroup/%s/cpu.max", dir);
}

static void test_a_tick_allocates_nothing(void **state)
{
    static const enum cgroup_version versions[] = { CGROUP_V1, CGROUP_V2 };
    struct host_application app = { .name = "nginx", .qos = "LS" };
    struct nodeslo_spec slo = { .host_applications = { &app, 1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        b.o.collect.page_cache_on = true;
        b.known.slo = &slo;
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
        good_pod(&b, POD_DIR(1), 0);
        good_pod(&b, CONTAINER_DIR(1, "aa"), 0);
        good_pod(&b, "host-latency-sensitive/nginx", 0);
        best_effort(&b);
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 70);
        for (int tick = 0; tick < 40; tick++) { /* 60 and 120: the CPUs are read anew */
            uint64_t before = alloc_count();
            collect_fixture_advance(&b, 1);
            assert_in_range(alloc_count() - before, 0, 1); /* the loop's own timer */
        }
        collect_fixture_fini(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_files_cost_one_pod_only),
        cmocka_unit_test(test_bad_memory_files),
        cmocka_unit_test(test_a_huge_file),
        cmocka_unit_test(test_one_fault_is_one_line),
        cmocka_unit_test(test_a_collector_that_fails_and_recovers),
        cmocka_unit_test(test_the_log_is_not_flooded),
        cmocka_unit_test(test_bad_meminfo_costs_no_pod),
        cmocka_unit_test(test_descriptors_go_with_their_pods),
        cmocka_unit_test(test_a_container_started_again),
        cmocka_unit_test(test_a_late_group_is_seen_with_the_news),
        cmocka_unit_test(test_a_group_that_vanishes_while_open),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_files_are_read_once_a_tick),
        cmocka_unit_test(test_a_tick_allocates_nothing),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
