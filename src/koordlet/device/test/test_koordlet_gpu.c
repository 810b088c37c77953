/* test_koordlet_gpu.c - what NVIDIA's GPUs are used for, through a stand-in of their library
 * (koordlet-metrics 4.13, 8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/device/test/gpu_fixture.h"

/* ---- the node -------------------------------------------------------------------------------- */

static void test_node_sums_what_processes_use(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    gpu_fixture_start(&b);
    assert_that(node_core(&b, "0", GPU0), ==, 90);
    assert_that(node_memory(&b, "0", GPU0), ==, 2500);
    assert_that(node_core(&b, "1", GPU1), ==, 80);
    assert_that(node_memory(&b, "1", GPU1), ==, 2000);
    use_nothing();
    collect_fixture_advance(&b, 2);
    assert_that(node_core(&b, "0", GPU0), ==, 0);
    gpu_fixture_fini(&b);
    assert_int_equal(fake->inits, 1);
    assert_int_equal(fake->shutdowns, 1);
}

static void test_a_process_counts_when_both_lists_have_it(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use(0, 1, 40, NVML_VALUE_NOT_AVAILABLE);
    fake->gpus[0].running[1] = (struct nvml_process){ .pid = 2, .used_memory = 500 };
    fake->gpus[0].nrunning = 2;
    fake->gpus[0].used[1] = (struct nvml_utilization){ .pid = 3, .sm = 50 };
    fake->gpus[0].used[2] = (struct nvml_utilization){ .pid = 1, .time = 8, .sm = 99 };
    fake->gpus[0].nused = 3;
    gpu_fixture_start(&b);
    assert_that(node_core(&b, "0", GPU0), ==, 40);
    assert_that(node_memory(&b, "0", GPU0), ==, 0);
    gpu_fixture_fini(&b);
}

static void test_many_processes_and_old_libraries(void **state)
{
    static const char *const without[] = { "", "nvmlDeviceGetComputeRunningProcesses_v3",
                                           "nvmlDeviceGetComputeRunningProcesses_" };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(without); k++) {
        struct collect_fixture b;
        gpu_fixture_init(&b);
        for (unsigned i = 0; i < 200; i++)
            use(1, 1000 - i, i % 2, 10 + i);
        hidden = without[k][0] ? without[k] : NULL;
        gpu_fixture_start(&b);
        assert_that(node_core(&b, "1", GPU1), ==, 100);
        assert_that(node_memory(&b, "1", GPU1), ==, 2000 + 199 * 100);
        gpu_fixture_fini(&b);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void put_procs(struct collect_fixture *b, const char *dir, const char *pids)
{
    fixture_put(&b->f, pids, "cgroup/%s/cgroup.procs", dir);
}

static void test_pods_and_containers(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "," POD_JSON(3, "cc") "]");
    put_procs(&b, CONTAINER_DIR(1, "aa"), "121\n122\n");
    put_procs(&b, CONTAINER_DIR(2, "bb"), "222\n");
    put_procs(&b, CONTAINER_DIR(3, "cc"), "4\n");
    gpu_fixture_start(&b);
    assert_that(pod_core(&b, UID(1), 0), ==, 70);
    assert_that(pod_core(&b, UID(1), 1), ==, 30);
    assert_that(pod_core(&b, UID(2), 1), ==, 50);
    assert_that(pod_core(&b, UID(3), 0), ==, -1);
    assert_that(container_memory(&b, "containerd://aa", 0), ==, 1500);
    assert_that(container_memory(&b, "containerd://bb", 0), ==, 1000);

    /* Another process, of a pod that was looked at before. */
    use(0, 4, 5, 7);
    collect_fixture_advance(&b, 2);
    assert_that(pod_core(&b, UID(3), 0), ==, 5);
    assert_that(pod_core(&b, UID(1), 0), ==, 70);

    collect_fixture_pods(&b, "[" POD_JSON(2, "bb") "]");
    collect_fixture_advance(&b, 2);
    assert_that(pod_core(&b, UID(1), 0), ==, -1);
    assert_that(pod_core(&b, UID(2), 0), ==, 20);
    gpu_fixture_fini(&b);
}

#define TWO_CONTAINERS(second)                                                                \
    "[{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"" UID(                      \
        1) "\"},\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"d\"}]},"               \
           "\"status\":{\"qosClass\":\"Burstable\",\"containerStatuses\":["                   \
           "{\"name\":\"c\",\"containerID\":\"containerd://aa\",\"state\":{\"running\":{}}}," \
           "{\"name\":\"d\",\"containerID\":\"containerd://bb\",\"state\":{\"" second         \
           "\":{}}}]}}]"

static void test_an_unreadable_container_costs_its_pod(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    put_procs(&b, CONTAINER_DIR(1, "aa"), "122\n");
    put_procs(&b, CONTAINER_DIR(1, "bb"), "what\n");
    collect_fixture_pods(&b, TWO_CONTAINERS("running"));
    gpu_fixture_start(&b);
    assert_that(pod_core(&b, UID(1), 0), ==, -1);
    assert_that(collect_fixture_failures(&b, "PodResourceCollector"), >, 0);
    put_procs(&b, CONTAINER_DIR(1, "bb"), "222\n");
    collect_fixture_advance(&b, 1);
    assert_that(pod_core(&b, UID(1), 0), ==, 90);
    assert_that(container_memory(&b, "containerd://bb", 1), ==, 1000);

    /* A container that ended has no processes, and its group may be gone. */
    fixture_remove(&b.f, "cgroup/" CONTAINER_DIR(1, "bb"));
    collect_fixture_pods(&b, TWO_CONTAINERS("terminated"));
    collect_fixture_advance(&b, 2);
    assert_that(pod_core(&b, UID(1), 0), ==, 70);
    assert_that(container_memory(&b, "containerd://bb", 1), ==, -1);
    gpu_fixture_fini(&b);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_rounds_take_no_memory(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "," POD_JSON(2, "bb") "]");
    put_procs(&b, CONTAINER_DIR(1, "aa"), "122\n");
    put_procs(&b, CONTAINER_DIR(2, "bb"), "222\n");
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 5);
    void *self = NULL;
    for (uint32_t i = 0; device_sources[i]; i++)
        if (device_sources[i] == &device_source_gpu)
            self = b.env.device_selves[i];
    struct kerr err = { 0 };
    unsigned total = 0;
    for (int64_t k = 0; k < 20; k++) {
        collect_fixture_advance(&b, 1);
        int64_t ms = loop_wall(b.env.loop) / NSEC_PER_MSEC + 5;
        loop_advance(b.env.loop, 10 * NSEC_PER_MSEC); /* the call of the round comes back */
        uint64_t before = alloc_count();
        held.on = true; /* the loop would allocate for it */
        assert_int_equal(device_source_gpu.node_round(self, &b.env, ms, &err), 0);
        for (uint32_t i = 0; i < b.known.pods->n; i++) {
            struct device_pod p = { b.known.pods->pods[i], &b.env };
            assert_int_equal(device_source_gpu.pod_round(self, &p, ms, &err), 0);
        }
        total += (unsigned)(alloc_count() - before);
        if (held.n)
            held_finish(b.env.loop);
        held = (struct held){ 0 };
        assert_that(pod_core(&b, UID(1), 0), ==, 70);
    }
    assert_int_equal(total, 0);
    gpu_fixture_fini(&b);
}

/* ---- what reporters are told ----------------------------------------------------------------- */

static void test_device_entries(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct nodemetric_gpu *gpus = NULL;
    struct device_report_in in;
    struct kerr err = { 0 };
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    gpu_fixture_start(&b);
    event(&fake->gpus[1], NVML_EVENT_XID, 79);
    collect_fixture_advance(&b, 2);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 2);
    const struct device_info *d = &in.devices.items[0];
    assert_string_equal(d->type, "gpu");
    assert_string_equal(d->id, GPU0);
    assert_true(d->minor.set);
    assert_that(d->minor.v, ==, 0);
    assert_true(d->health);
    assert_int_equal(d->conditions.n, 0);
    assert_int_equal(qty_value(reslist_get(&d->resources, "koordinator.sh/gpu-core")), 100);
    assert_int_equal(qty_value(reslist_get(&d->resources, "koordinator.sh/gpu-memory-ratio")), 100);
    assert_string_equal(qty_format(reslist_get(&d->resources, "koordinator.sh/gpu-memory"), a),
                        "80Gi");
    assert_int_equal(d->topology->socket_id, -1);
    assert_int_equal(d->topology->node_id, 0); /* the kernel says -1 */
    assert_string_equal(d->topology->pcie_id, "pci0000:3a");
    assert_string_equal(d->topology->bus_id, "0000:3a:00.0");
    d = &in.devices.items[1];
    assert_false(d->health);
    assert_null(d->topology); /* not in sysfs */
    assert_string_equal(d->conditions.items[0].reason, "Xid79");
    assert_int_equal(d->conditions.items[0].status, COND_FALSE);
    assert_string_equal(kstrmap_get(&in.labels, "node.koordinator.sh/gpu-model"), "A100-SXM4-80GB");
    assert_string_equal(kstrmap_get(&in.labels, "node.koordinator.sh/gpu-vendor"), "nvidia");
    assert_string_equal(kstrmap_get(&in.labels, "node.koordinator.sh/gpu-driver-version"),
                        "535.104.05");
    assert_int_equal(device_report_gpus(&b.env, a, &gpus), 2);
    assert_string_equal(gpus[1].uuid, GPU1);
    assert_that(gpus[1].minor, ==, 1);
    assert_that(gpus[1].memory_total, ==, 80.0 * 1024 * MIB);

    b.o.xpu_only_from_files = true;
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 0);
    gpu_fixture_fini(&b);

    gpu_fixture_init(&b);
    snprintf(fake->gpus[1].name, sizeof fake->gpus[1].name, "NVIDIA H100");
    gpu_fixture_start(&b);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_null(kstrmap_get(&in.labels, "node.koordinator.sh/gpu-model"));
    assert_int_equal(in.labels.n, 2);
    gpu_fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_sums_what_processes_use),
        cmocka_unit_test(test_a_process_counts_when_both_lists_have_it),
        cmocka_unit_test(test_many_processes_and_old_libraries),
        cmocka_unit_test(test_pods_and_containers),
        cmocka_unit_test(test_an_unreadable_container_costs_its_pod),
        cmocka_unit_test(test_rounds_take_no_memory),
        cmocka_unit_test(test_device_entries),
    };
    return gpu_fixture_run(argc, argv, tests, ARRAY_LEN(tests));
}
