/* test_koordlet_collect.c - the collectors of node, pods, best effort, system, host applications
 * (koordlet-metrics 4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "koordlet/collect/test/collect_fixture.h"
#include "sys/file.h"

static const enum cgroup_version versions[] = { CGROUP_V1, CGROUP_V2 };

static void put_cpus(struct collect_fixture *b)
{
    for (int i = 0; i < 2; i++) {
        fixture_put(&b->f, "0\n", "sys/devices/system/cpu/cpu%d/topology/core_id", i);
        fixture_put(&b->f, i ? "1\n" : "0\n",
                    "sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        fixture_dir(&b->f, "sys/devices/system/cpu/cpu%d/node%d", i, i);
        fixture_put(&b->f, "1\n", "sys/devices/system/cpu/cpu%d/online", i);
        fixture_put(&b->f, i ? "1\n" : "0\n", "sys/devices/system/node/node%d/cpulist", i);
        fixture_put(&b->f,
                    "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 262144 kB\n"
                    "Node 0 Active(file): 131072 kB\nNode 0 Inactive(file): 131072 kB\n"
                    "Node 0 SReclaimable: 65536 kB\n",
                    "sys/bus/node/devices/node%d/meminfo", i);
        fixture_put(&b->f, "x\n", "sys/devices/system/node/node%d/meminfo", i);
    }
    fixture_put(&b->f, "0-1\n", "sys/devices/system/cpu/online");
    fixture_put(&b->f, "0-1\n", "sys/devices/system/cpu/present");
    fixture_put(&b->f, "0-1\n", "sys/devices/system/node/online");
    fixture_put(&b->f, "vendor_id : GenuineIntel\nmodel name : X\n", "proc/cpuinfo");
}

static void test_node_usage(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    put_cpus(&b);
    collect_fixture_start(&b);
    collect_fixture_stat(&b, 0, 0, 0);
    collect_fixture_advance(&b, 0);
    assert_that(collect_fixture_last(&b, M_NODE_CPU, NULL), ==, -1);
    assert_that(collect_fixture_last(&b, M_NODE_MEMORY, NULL), ==,
                -1); /* the first round tells nothing */
    collect_fixture_stat(&b, 100, 100, 200);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last(&b, M_NODE_CPU, NULL), ==, 1);
    assert_that(collect_fixture_last(&b, M_NODE_MEMORY, NULL), ==, 536870912);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "0"), ==, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "1"), ==, 2);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_MEMORY, "1"), ==, 469762048);
    assert_that(b.env.node.cpu, ==, 1);
    assert_that(b.env.node.memory, ==, 536870912);
    /* Ticks that go back and ticks that are no number cost a sample, not the collector. */
    collect_fixture_stat(&b, 50, 50, 100);
    collect_fixture_advance(&b, 1);
    assert_int_equal(b.env.node.ms, b.env.now_ms - 1000);
    fixture_put(&b.f, "cpu what\n", "proc/stat");
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_failures(&b, "NodeResourceCollector"), >=, 1);
    collect_fixture_stat(&b, 350, 300, 400);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last(&b, M_NODE_CPU, NULL), ==, 1.5); /* 300 ticks in two seconds */
    collect_fixture_fini(&b);
}

/* What a CPU did before it was away is not of this second. */
static void test_a_cpu_that_was_away(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    put_cpus(&b);
    collect_fixture_stat(&b, 0, 0, 0);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    collect_fixture_stat(&b, 100, 100, 50);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "1"), ==, 0.5);
    fixture_put(&b.f, "cpu 200 0 0 50 60 0 0 9\ncpu0 200 0 0 0 0 0 0\n", "proc/stat");
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "0"), ==, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "1"), ==, 0);
    collect_fixture_stat(&b, 300, 300, 350);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "0"), ==, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "1"), ==, 0);
    collect_fixture_stat(&b, 400, 400, 450);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_NODE_NUMA_CPU, "1"), ==, 1);
    collect_fixture_fini(&b);
}

static void test_wall_clock_jumps_do_not_matter(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    collect_fixture_stat(&b, 100, 0, 0);
    collect_fixture_advance(&b, 1);
    loop_set_wall(b.env.loop, 1600000000 * NSEC_PER_SEC);
    collect_fixture_stat(&b, 200, 0, 0);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last(&b, M_NODE_CPU, NULL), ==, 1);
    loop_set_wall(b.env.loop, 1800000000 * NSEC_PER_SEC);
    collect_fixture_stat(&b, 300, 0, 0);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last(&b, M_NODE_CPU, NULL), ==, 1);
    collect_fixture_fini(&b);
}

static void test_pod_usage(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
        collect_fixture_cpu(&b, POD_DIR(1), 0, 0, 0);
        collect_fixture_memory(&b, POD_DIR(1), 104857600, 104857600);
        collect_fixture_cpu(&b, CONTAINER_DIR(1, "aa"), 500000000, 10, 5);
        collect_fixture_memory(&b, CONTAINER_DIR(1, "aa"), 1000, 0);
        b.o.collect.page_cache_on = true;
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 0);
        assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, -1);
        collect_fixture_cpu(&b, POD_DIR(1), 1000000000, 100, 50);
        collect_fixture_cpu(&b, CONTAINER_DIR(1, "aa"), 750000000, 20, 10);
        collect_fixture_advance(&b, 1);
        assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, 1);
        assert_that(collect_fixture_last1(&b, M_POD_MEMORY, UID(1)), ==, 104857600);
        assert_that(collect_fixture_last1(&b, M_POD_MEMORY_PAGE_CACHE, UID(1)), ==, 209715200);
        assert_that(collect_fixture_last1(&b, M_POD_THROTTLED, UID(1)), ==, 0.5);
        assert_that(collect_fixture_last1(&b, M_CONTAINER_CPU, "containerd://aa"), ==, 0.25);
        assert_that(collect_fixture_last1(&b, M_CONTAINER_MEMORY, "containerd://aa"), ==, 1000);
        assert_that(collect_fixture_last1(&b, M_CONTAINER_THROTTLED, "containerd://aa"), ==, 0.5);
        /* A pod without a cgroup is no failure and has no numbers. */
        assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(2)), ==, -1);
        assert_that(collect_fixture_failures(&b, "PodResourceCollector"), ==, 0);
        assert_that(b.env.pods_sum.cpu, ==, 1);
        assert_that(b.env.pods_sum.memory, ==, 104857600);
        collect_fixture_fini(&b);
    }
}

static void test_a_group_made_anew(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    collect_fixture_memory(&b, POD_DIR(1), 1, 1);
    collect_fixture_cpu(&b, POD_DIR(1), 9000000000, 900, 900);
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 0);
    collect_fixture_cpu(&b, POD_DIR(1), 1000000000, 0, 0);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, -1);
    assert_that(collect_fixture_last1(&b, M_POD_THROTTLED, UID(1)), ==, -1);
    collect_fixture_cpu(&b, POD_DIR(1), 3000000000, 10, 1);
    collect_fixture_advance(&b, 1);
    assert_that(collect_fixture_last1(&b, M_POD_CPU, UID(1)), ==, 2);
    assert_that(collect_fixture_last1(&b, M_POD_THROTTLED, UID(1)), ==, 0.1);
    collect_fixture_fini(&b);
}

static void test_last_values_expire(void **state)
{
    struct rate r = { 0 };
    double v = -1;

    (void)state;
    assert_false(rate_next(&r, 10, 0, 20, &v));
    assert_true(rate_next(&r, 20, 20, 20, &v));
    assert_that(v, ==, 0.5);
    assert_false(rate_next(&r, 30, 41, 20, &v)); /* too long ago */
    assert_false(rate_next(&r, 40, 41, 20, &v)); /* no time passed */
    assert_true(rate_next(&r, 44, 43, 20, &v));
    assert_that(v, ==, 2);
}

static void test_numa_of_pods(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    put_cpus(&b);
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    collect_fixture_cpu(&b, POD_DIR(1), 0, 0, 0);
    collect_fixture_memory(&b, POD_DIR(1), 1, 1);
    fixture_put(&b.f, "anon N0=12345 N1=67890\nfile N0=10000 N1=20000\nkernel_stack N0=1 N1=2\n",
                "cgroup/" POD_DIR(1) "/memory.numa_stat");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 1);
    assert_int_equal(b.env.pods_numa.n, 2);
    assert_that(b.env.pods_numa.memory[0], ==, 5 * 4096);
    assert_that(b.env.pods_numa.memory[1], ==, 20 * 4096);
    collect_fixture_fini(&b);
}

static void put_be(struct collect_fixture *b, const char *cpus, const char *quota, uint64_t usage)
{
    static const char dir[] = "kubepods.slice/kubepods-besteffort.slice";
    char text[64];

    if (b->v == CGROUP_V2) {
        fixture_put(&b->f, cpus, "cgroup/%s/cpuset.cpus.effective", dir);
        snprintf(text, sizeof text, "%s 100000\n", streq(quota, "-1") ? "max" : quota);
        fixture_put(&b->f, text, "cgroup/%s/cpu.max", dir);
    } else {
        fixture_put(&b->f, cpus, "cgroup/cpuset/%s/cpuset.cpus", dir);
        fixture_put(&b->f, quota, "cgroup/cpu/%s/cpu.cfs_quota_us", dir);
        fixture_put(&b->f, "100000\n", "cgroup/cpu/%s/cpu.cfs_period_us", dir);
    }
    collect_fixture_cpu(b, dir, usage, 0, 0);
}

static double be(struct collect_fixture *b, const char *what)
{
    return collect_fixture_last(b, M_NODE_BE, (const char *const[]){ "cpu", what });
}

#define BE_POD(n, labels, init, batch)                                        \
    "{\"metadata\":{\"name\":\"b" #n "\",\"namespace\":\"d\",\"uid\":\"" UID( \
        n) "\"," labels "},"                                                  \
           "\"spec\":{\"initContainers\":[" init                              \
           "],\"containers\":[{\"name\":\"c\",\"resources\":{"                \
           "\"requests\":{\"kubernetes.io/batch-cpu\":\"" batch "\"}}}]},"    \
           "\"status\":{\"qosClass\":\"BestEffort\"}}"
#define BE_LABEL "\"labels\":{\"koordinator.sh/qosClass\":\"BE\"}"

static void test_best_effort(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        collect_fixture_pods(&b, "[" BE_POD(1, BE_LABEL, "", "500") "," BE_POD(
                                     2, BE_LABEL,
                                     "{\"name\":\"i\",\"restartPolicy\":\"Always\",\"resources\":{"
                                     "\"requests\":{\"kubernetes.io/batch-cpu\":\"300\"}}},"
                                     "{\"name\":\"j\",\"resources\":{"
                                     "\"requests\":{\"kubernetes.io/batch-cpu\":\"9000\"}}}",
                                     "700") "," BE_POD(3, "\"labels\":{}", "", "4000") "]");
        put_be(&b, "1-2\n", "-1", 12000000000000);
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 0);
        assert_that(be(&b, "usage"), ==, 0);
        assert_that(be(&b, "real-limit"), ==, 2000);
        assert_that(be(&b, "request"), ==, 1500);
        put_be(&b, "1-15\n", "800000", 12004000000000);
        collect_fixture_advance(&b, 1);
        assert_that(be(&b, "usage"), ==, 4000);
        assert_that(be(&b, "real-limit"), ==, 8000);
        put_be(&b, "1-15\n", "nonsense", 12005000000000);
        collect_fixture_advance(&b, 1);
        assert_that(collect_fixture_failures(&b, "BEResourceCollector"), >=, 1);
        assert_that(b.env.now_ms, >, 0);
        assert_that(be(&b, "usage"), ==, 4000); /* the round was left out */
        collect_fixture_fini(&b);
    }
}

static void test_best_effort_of_another_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        collect_fixture_pods(&b, "[]");
        b.env.host->driver = CGROUP_CGROUPFS; /* a guess */
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 5);
        assert_true(collect_fixture_is_missing(
            &b, "BEResourceCollector: there is no best-effort cgroup yet"));
        b.env.host->driver = CGROUP_SYSTEMD;
        put_be(&b, "1-2\n", "-1", 7000000000);
        collect_fixture_advance(&b, 1);
        put_be(&b, "1-2\n", "-1", 8000000000);
        collect_fixture_advance(&b, 1);
        assert_that(be(&b, "real-limit"), ==, 2000);
        assert_that(be(&b, "usage"), ==, 1000);
        collect_fixture_fini(&b);
    }
}

static void test_system_is_the_rest(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    collect_fixture_advance(
        &b, 1); /* the node itself is read too; the numbers are put in by hand below */
    void *self = NULL;
    struct kerr err = { 0 };
    assert_int_equal(collector_system.setup(&b.env, &self, &err), 0);
    struct collect_env *e = &b.env;
    e->now_ms += 3000;
    loop_set_wall(e->loop, e->now_ms * NSEC_PER_MSEC);
    e->node = (struct latest){ e->now_ms, 1.0, 1024 };
    e->pods_sum = (struct latest){ e->now_ms, 0.5, 512 };
    assert_int_equal(collector_system.tick(self, e, &err), -EAGAIN);
    e->host_apps = (struct latest){ e->now_ms, 0.1, 128 };
    e->node_numa = (struct numa_latest){
        .ms = e->now_ms, .cpu_ms = e->now_ms, .n = 2, .cpu = { 1, 3 }, .memory = { 2048, 9000 }
    };
    e->pods_numa = (struct numa_latest){ .ms = e->now_ms, .n = 2, .memory = { 4096, 1000 } };
    assert_int_equal(collector_system.tick(self, e, &err), 0);
    assert_that(collect_fixture_last(&b, M_SYS_CPU, NULL), ==, 1.0 - 0.5 - 0.1);
    assert_that(collect_fixture_last(&b, M_SYS_MEMORY, NULL), ==, 384);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_MEMORY, "0"), ==, 0);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_MEMORY, "1"), ==, 8000);
    e->now_ms += 1000;
    loop_set_wall(e->loop, e->now_ms * NSEC_PER_MSEC);
    e->node.cpu = 1.4;
    assert_int_equal(collector_system.tick(self, e, &err), 0);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_CPU, "0"), >, 0.199);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_CPU, "0"), <, 0.201);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_CPU, "1"), >, 0.599);
    assert_that(collect_fixture_last1(&b, M_SYS_NUMA_CPU, "1"), <, 0.601);
    e->now_ms += 11000; /* all of it is too old */
    assert_int_equal(collector_system.tick(self, e, &err), -EAGAIN);
    collector_system.destroy(self);
    collect_fixture_fini(&b);
}

static void test_host_applications(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct host_application app = { .name = "nginx", .priority = "koord-prod", .qos = "LS" };
        struct nodeslo_spec slo = { .host_applications = { &app, 1 } };
        struct collect_fixture b;
        collect_fixture_init(&b, versions[i]);
        collect_fixture_start(&b);
        collect_fixture_advance(&b, 0);
        assert_true(collect_fixture_is_missing(&b, "HostApplicationCollector: no NodeSLO yet"));
        b.known.slo = &slo;
        collect_fixture_cpu(&b, "host-latency-sensitive/nginx", 0, 0, 0);
        collect_fixture_memory(&b, "host-latency-sensitive/nginx", 104857600, 5);
        if (versions[i] == CGROUP_V1)
            fixture_put(&b.f, "209715200\n",
                        "cgroup/memory/host-latency-sensitive/nginx/memory.usage_in_bytes");
        else
            fixture_put(&b.f, "209715200\n", "cgroup/host-latency-sensitive/nginx/memory.current");
        collect_fixture_advance(&b, 1);
        collect_fixture_cpu(&b, "host-latency-sensitive/nginx", 1000000000, 0, 0);
        collect_fixture_advance(&b, 1);
        assert_that(collect_fixture_last1(&b, M_HOST_APP_CPU, "nginx"), ==, 1);
        assert_that(collect_fixture_last1(&b, M_HOST_APP_MEMORY, "nginx"), ==, 104857600);
        assert_that(collect_fixture_last1(&b, M_HOST_APP_MEMORY_PAGE_CACHE, "nginx"), ==,
                    209715200);
        assert_that(b.env.host_apps.memory, ==, 104857600);
        b.known.policy.memory = MEMORY_WITH_PAGE_CACHE;
        collect_fixture_advance(&b, 1);
        assert_that(b.env.host_apps.memory, ==, 209715200);
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        metrics_write(&b.env.internal, 1, &out);
        assert_contains(strbuf_str(&out), "host_application_name=\"nginx\"");
        slo.host_applications.n = 0;
        collect_fixture_advance(&b, 1);
        strbuf_reset(&out);
        metrics_write(&b.env.internal, 1, &out);
        assert_lacks(strbuf_str(&out), "nginx");
        assert_that(b.env.host_apps.ms, ==, b.env.now_ms);
        assert_that(b.env.host_apps.cpu, ==, 0);
        collect_fixture_fini(&b);
    }
}

static void test_missing_says_why(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    put_cpus(&b);
    collect_fixture_start(&b);
    assert_true(collect_fixture_is_missing(&b, "NodeResourceCollector: has not run yet"));
    collect_fixture_advance(&b, 2);
    assert_true(
        collect_fixture_is_missing(&b, "PodResourceCollector: no pods from the kubelet yet"));
    assert_false(collect_fixture_is_missing(&b, "NodeResourceCollector: has not run yet"));
    struct nodeslo_spec slo = { 0 };
    b.known.slo = &slo;
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    put_be(&b, "0\n", "-1", 1);
    collect_fixture_advance(&b, 2);
    assert_null(collect_missing(b.collect, 0));
    collect_fixture_fini(&b);
}

static void test_nothing_is_recorded_before_the_node(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    b.known.node = NULL;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 3);
    metrics_write(&b.env.internal, 1, &out);
    assert_lacks(strbuf_str(&out), "node_used");
    b.known.node = &b.node;
    collect_fixture_advance(&b, 1);
    strbuf_reset(&out);
    metrics_write(&b.env.internal, 1, &out);
    assert_contains(strbuf_str(&out),
                    "koordlet_node_used_memory_bytes{node=\"node-1\"} 5.36870912e+08");
    collect_fixture_fini(&b);
}

static void test_retention_follows_the_policy(void **state)
{
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    size_t node = metriccache_series_bytes(b.env.mc, M_NODE_CPU);
    struct collect_cost cost = collect_cost(&b.env);
    assert_in_range(cost.per_pod, 2 * 302 * 12, 9000);
    assert_in_range(cost.per_container, 3 * 32 * 12, 2500);
    /* The long windows are of the node as a whole. */
    assert_in_range(metriccache_series_bytes(b.env.mc, M_NODE_NUMA_CPU), 302 * 12, 400 * 12);
    b.known.policy.durations[2] = 3600 * NSEC_PER_SEC;
    collect_fixture_policy(&b);
    assert_that(metriccache_series_bytes(b.env.mc, M_NODE_CPU), >, node + 1800 * 12 - 100);
    b.known.policy.aggregate = 365 * 86400 * NSEC_PER_SEC; /* no policy eats up the machine */
    collect_fixture_policy(&b);
    assert_in_range(metriccache_series_bytes(b.env.mc, M_NODE_CPU), 43200 * 12, 43300 * 12);
    assert_in_range(metriccache_series_bytes(b.env.mc, M_POD_CPU), 3600 * 12, 3700 * 12);
    collect_fixture_fini(&b);
}

static void count_windows(void *arg, const char *text, size_t n)
{
    *(int *)arg += memmem(text, n, "longer window", 13) != NULL;
}

static void test_a_window_too_long_is_told_once(void **state)
{
    struct collect_fixture b;
    int told = 0;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    klog_set_sink(count_windows, &told);
    b.known.policy.aggregate = 13 * 3600 * NSEC_PER_SEC; /* of the node and of pods */
    collect_fixture_policy(&b);
    assert_int_equal(told, 2);
    collect_fixture_policy(&b); /* the NodeSLO has other news */
    assert_int_equal(told, 2);
    b.known.policy.aggregate = 2 * 3600 * NSEC_PER_SEC;
    collect_fixture_policy(&b);
    assert_int_equal(told, 3);
    b.known.policy.aggregate = 300 * NSEC_PER_SEC;
    collect_fixture_policy(&b);
    b.known.policy.aggregate = 2 * 3600 * NSEC_PER_SEC;
    collect_fixture_policy(&b);
    assert_int_equal(told, 4);
    klog_set_sink(NULL, NULL);
    collect_fixture_fini(&b);
}

/* The table of docs/koordlet.md, as this program would write it. */
static void test_the_cost_is_what_the_manual_says(void **state)
{
    CLEANUP(strbuf_fini)
    struct strbuf manual = STRBUF_INIT, pod = STRBUF_INIT, container = STRBUF_INIT;
    struct koordlet_options more;
    struct kerr err = { 0 };
    struct collect_fixture b;

    (void)state;
    collect_fixture_init(&b, CGROUP_V2);
    collect_fixture_start(&b);
    struct collect_cost usual = collect_cost(&b.env);
    more = *b.env.o;
    assert_int_equal(gates_parse(&more.gates, "PSICollector=true,CPICollector=true", &err), 0);
    b.env.o = &more;
    struct collect_cost all = collect_cost(&b.env);
    strbuf_appendf(&pod, "| a pod | %zu (with PSI and CPI: %zu) |", usual.per_pod, all.per_pod);
    strbuf_appendf(&container, "| a container | %zu (with PSI and CPI: %zu) |", usual.per_container,
                   all.per_container);
    assert_int_equal(file_read_all(AT_FDCWD, KOORD_DOCS "/koordlet.md", 1 << 20, &manual, &err), 0);
    if (!strstr(strbuf_str(&manual), strbuf_str(&pod)) ||
        !strstr(strbuf_str(&manual), strbuf_str(&container)))
        fail_msg("docs/koordlet.md should say: %s %s", strbuf_str(&pod), strbuf_str(&container));
    collect_fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_usage),
        cmocka_unit_test(test_a_cpu_that_was_away),
        cmocka_unit_test(test_wall_clock_jumps_do_not_matter),
        cmocka_unit_test(test_pod_usage),
        cmocka_unit_test(test_a_group_made_anew),
        cmocka_unit_test(test_last_values_expire),
        cmocka_unit_test(test_numa_of_pods),
        cmocka_unit_test(test_best_effort),
        cmocka_unit_test(test_best_effort_of_another_driver),
        cmocka_unit_test(test_system_is_the_rest),
        cmocka_unit_test(test_host_applications),
        cmocka_unit_test(test_missing_says_why),
        cmocka_unit_test(test_nothing_is_recorded_before_the_node),
        cmocka_unit_test(test_retention_follows_the_policy),
        cmocka_unit_test(test_a_window_too_long_is_told_once),
        cmocka_unit_test(test_the_cost_is_what_the_manual_says),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
