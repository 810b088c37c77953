/* test_koordlet_gpu_faults.c - GPUs without a library, without a driver, with errors, and with a
 * driver that hangs (koordlet-metrics 4.13, 8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/device/test/gpu_fixture.h"

/* ---- without a driver ------------------------------------------------------------------------ */

static void test_no_library_or_too_old(void **state)
{
    static const char *const cases[][2] = {
        { "libnvidia-ml.so.1", "libnvidia-ml.so.1 is not there: no driver of NVIDIA's" },
        { "nvmlEventSetWait", "libnvidia-ml.so.1 is too old: it lacks functions" },
        { "nvmlDeviceGetComputeRunningProcesses",
          "libnvidia-ml.so.1 is too old: it lacks functions" },
    };
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct device_report_in in;
        struct collect_fixture b;
        gpu_fixture_init(&b);
        hidden = cases[i][0];
        assert_string_equal(device_source_gpu.unsupported(&b.env), cases[i][1]);
        gpu_fixture_start(&b);
        assert_null(collect_device_infos(&b.env, "GPU"));
        assert_int_equal(report(&b, a, &in, &err), 0);
        assert_int_equal(in.devices.n, 0);
        gpu_fixture_fini(&b);
    }
}

static void test_a_driver_that_comes_later(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct device_report_in in;
    struct kerr err = { 0 };
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    fake->init_result = 9;
    collect_fixture_start(&b);
    collect_fixture_advance(&b, 1);
    assert_int_equal(report(&b, a, &in, &err), -EAGAIN);
    collect_fixture_advance(&b, 30);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 0);
    collect_fixture_advance(&b, 130); /* asked again, but said once */
    assert_int_equal(count_lines("nvmlInit_v2: Driver Not Loaded"), 1);
    fake->init_result = 0;
    use_as_specified();
    collect_fixture_advance(&b, 63);
    assert_that(node_core(&b, "0", GPU0), ==, 90);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 2);
    assert_int_equal(fake->inits, 1);
    gpu_fixture_fini(&b);
}

/* ---- health ---------------------------------------------------------------------------------- */

static void test_critical_errors(void **state)
{
    static const unsigned ignored[] = { 13, 31, 43, 45, 68, 109 };
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    gpu_fixture_start(&b);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        event(&fake->gpus[0], NVML_EVENT_XID, ignored[i]);
    event(&fake->gpus[0], 1, 79);
    collect_fixture_advance(&b, 2);
    assert_int_equal(fake->nevents, 0);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    event(&fake->gpus[1], NVML_EVENT_XID, 79);
    collect_fixture_advance(&b, 2);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    assert_string_equal(gpu(&b, 1)->fault.code, "Xid79");
    assert_string_equal(gpu(&b, 1)->fault.message, "Xid error detected on device, error code: 79");
    collect_fixture_advance(&b, 60);
    assert_string_equal(gpu(&b, 1)->fault.code, "Xid79");
    event(NULL, NVML_EVENT_XID, 48);
    collect_fixture_advance(&b, 2);
    assert_string_equal(gpu(&b, 0)->fault.code, "Xid48");
    gpu_fixture_fini(&b);
}

static void test_no_health_without_events(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    fake->gpus[1].no_events = true;
    gpu_fixture_start(&b);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    assert_string_equal(gpu(&b, 1)->fault.code, "DeviceHealthCheckNotSupported");
    assert_string_equal(gpu(&b, 1)->fault.message, "device does not support health checking");
    gpu_fixture_fini(&b);
}

static void test_a_lost_gpu_costs_no_other(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    gpu_fixture_start(&b);
    fake->gpus[0].running_result = NVML_ERROR_GPU_IS_LOST;
    collect_fixture_advance(&b, 4);
    assert_that(node_core(&b, "0", GPU0), ==, -1);
    assert_that(node_core(&b, "1", GPU1), ==, 80);
    assert_string_equal(gpu(&b, 0)->fault.code, "GPULost");
    assert_int_equal(count_lines("GPU is lost"), 1);
    assert_that(collect_fixture_failures(&b, "NodeResourceCollector"), >, 0);
    fake->gpus[0].running_result = 0;
    collect_fixture_advance(&b, 2);
    assert_that(node_core(&b, "0", GPU0), ==, 90);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    gpu_fixture_fini(&b);

    gpu_fixture_init(&b);
    fake->gpus[0].handle_result = NVML_ERROR_GPU_IS_LOST;
    use_as_specified();
    gpu_fixture_start(&b);
    assert_string_equal(gpu(&b, 0)->uuid, GPU1);
    assert_that(node_core(&b, "1", GPU1), ==, 80);
    gpu_fixture_fini(&b);
}

/* ---- a driver that hangs --------------------------------------------------------------------- */

static void test_a_stuck_driver(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    use_as_specified();
    collect_fixture_pods(&b, "[" POD_JSON(1, "aa") "]");
    fixture_put(&b.f, "122\n", "cgroup/%s/cgroup.procs", CONTAINER_DIR(1, "aa"));
    gpu_fixture_start(&b);
    assert_that(pod_core(&b, UID(1), 0), ==, 70);
    held.on = true;
    collect_fixture_advance(&b, 10);
    assert_int_equal(held.n, 1);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    assert_that(node_core(&b, "0", GPU0), ==, -1); /* nothing is told twice */
    assert_that(pod_core(&b, UID(1), 0), ==, -1);
    collect_fixture_advance(&b, 100);
    assert_int_equal(held.n, 1);
    assert_string_equal(gpu(&b, 0)->fault.code, "DriverNotResponding");
    assert_int_equal(count_lines("the GPU driver does not answer"), 1);
    held_finish(b.env.loop);
    assert_string_equal(gpu(&b, 0)->fault.code, "");
    assert_int_equal(count_lines("The GPU driver answers again"), 1);
    collect_fixture_advance(&b, 2);
    assert_that(node_core(&b, "0", GPU0), ==, 90);
    held.on = true; /* and once more */
    collect_fixture_advance(&b, 40);
    assert_string_equal(gpu(&b, 1)->fault.code, "DriverNotResponding");
    held_finish(b.env.loop);
    assert_string_equal(gpu(&b, 1)->fault.code, "");
    gpu_fixture_fini(&b);
}

static void test_stuck_from_the_start(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct device_report_in in;
    struct kerr err = { 0 };
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    held.on = true;
    gpu_fixture_start(&b);
    assert_int_equal(report(&b, a, &in, &err), -EAGAIN);
    collect_fixture_advance(&b, 40);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 0);
    assert_string_equal(in.partial[0], "gpu"); /* what is stored of them stays */
    held_finish(b.env.loop);
    collect_fixture_advance(&b, 2);
    assert_int_equal(report(&b, a, &in, &err), 0);
    assert_int_equal(in.devices.n, 2);
    assert_null(in.partial[0]);
    gpu_fixture_fini(&b);
}

static void test_the_end_while_a_call_is_under_way(void **state)
{
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    gpu_fixture_start(&b);
    held.on = true;
    collect_fixture_advance(&b, 1);
    assert_int_equal(held.n, 1);
    b.collect = collect_free(b.collect);
    assert_int_equal(fake->shutdowns, 0);
    held_finish(b.env.loop);
    assert_int_equal(fake->shutdowns, 1);
    gpu_fixture_fini(&b);
}

static unsigned asked(void)
{
    pthread_mutex_lock(&fake->lock);
    unsigned n = fake->asked;
    pthread_mutex_unlock(&fake->lock);
    return n;
}

static void on_time(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}
static void run_for_a_millisecond(struct loop *l)
{
    loop_after(l, NSEC_PER_MSEC, on_time, NULL);
    loop_run(l);
}

static void set_hang(bool on)
{
    pthread_mutex_lock(&fake->lock);
    fake->hang = on;
    pthread_cond_broadcast(&fake->over);
    pthread_mutex_unlock(&fake->lock);
}

/* With threads: rounds go on while the driver sleeps, and no second call is made. */
static void test_a_call_that_sleeps_holds_up_nobody(void **state)
{
    struct kerr err = { 0 };
    void *self = NULL;
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    struct loop *before = b.env.loop, *l = b.env.loop = loop_new();
    assert_int_equal(device_source_gpu.setup(&b.env, &self, &err), 0);
    set_hang(true);
    for (int64_t ms = 1; asked() == 0 || ms < 100; ms++) {
        device_source_gpu.node_round(self, &b.env, ms, &err);
        run_for_a_millisecond(l);
    }
    assert_int_equal(asked(), 1);
    assert_null(device_source_gpu.infos(self));
    const char *call = gpu_ask_under_way();
    set_hang(false);
    for (int i = 0; i < 60000 && !device_source_gpu.infos(self); i++) {
        run_for_a_millisecond(l);
    }
    const struct gpu_infos *g = device_source_gpu.infos(self);
    assert_non_null(g);
    assert_int_equal(g->n, 2);
    assert_string_equal(str_or(call, ""), "nvmlDeviceGetComputeRunningProcesses");
    assert_null(gpu_ask_under_way());
    assert_int_equal(device_source_gpu.node_round(self, &b.env, 1700000000000, &err), 0);
    device_source_gpu.destroy(self); /* the next call is under way */
    for (int i = 0; i < 60000 && fake->shutdowns == 0; i++) {
        run_for_a_millisecond(l);
    }
    assert_int_equal(fake->shutdowns, 1);
    loop_free(l);
    b.env.loop = before;
    gpu_fixture_fini(&b);
}

static void say_call(void *fd)
{
    const char *call = str_or(gpu_ask_under_way(), "nothing");
    assert(write(*(int *)fd, call, strlen(call)) > 0);
}

/* As the program ends: the source goes, then the loop, which waits for the worker. */
static _Noreturn void end_with_a_call_under_way(struct collect_fixture *b, int *fd)
{
    struct kerr err = { 0 };
    void *self = NULL;

    alarm(120); /* a hang is a failure, not a hang of the test */
    struct loop *l = b->env.loop = loop_new();
    if (device_source_gpu.setup(&b->env, &self, &err) < 0)
        _exit(99);
    set_hang(true);
    device_source_gpu.node_round(self, &b->env, 1, &err);
    while (asked() == 0)
        run_for_a_millisecond(l);
    process_end_within(100 * NSEC_PER_MSEC, say_call, fd, 5);
    device_source_gpu.destroy(self);
    loop_free(l);
    _exit(98);
}

static void test_a_hanging_call_does_not_hold_up_the_end(void **state)
{
    int p[2], status = 0;
    char said[64] = "";
    struct collect_fixture b;

    (void)state;
    gpu_fixture_init(&b);
    assert_int_equal(pipe(p), 0);
    pid_t child = fork();
    assert_that(child, >=, 0);
    if (child == 0)
        end_with_a_call_under_way(&b, &p[1]);
    close(p[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_that(read(p[0], said, sizeof said - 1), >, 0);
    assert_string_equal(said, "nvmlDeviceGetComputeRunningProcesses");
    close(p[0]);
    gpu_fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library_or_too_old),
        cmocka_unit_test(test_a_driver_that_comes_later),
        cmocka_unit_test(test_critical_errors),
        cmocka_unit_test(test_no_health_without_events),
        cmocka_unit_test(test_a_lost_gpu_costs_no_other),
        cmocka_unit_test(test_a_stuck_driver),
        cmocka_unit_test(test_stuck_from_the_start),
        cmocka_unit_test(test_the_end_while_a_call_is_under_way),
        cmocka_unit_test(test_a_call_that_sleeps_holds_up_nobody),
        cmocka_unit_test(test_a_hanging_call_does_not_hold_up_the_end),
    };
    return gpu_fixture_run(argc, argv, tests, ARRAY_LEN(tests));
}
