/* gpu_fixture.h - collectors over a machine with two GPUs, whose library is the stand-in. For tests
 * that are linked with --wrap=loop_work and --wrap=nvml_load, and run with the stand-in in
 * LD_LIBRARY_PATH: work may be held back, a library or a symbol may be hidden. */
#ifndef KOORD_KOORDLET_DEVICE_TEST_GPU_FIXTURE_H
#define KOORD_KOORDLET_DEVICE_TEST_GPU_FIXTURE_H
#include <dlfcn.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "koordlet/collect/test/collect_fixture.h"
#include "koordlet/device/gpu.h"
#include "koordlet/device/sources.h"
#include "koordlet/device/test/nvml_fake.h"
#include "koordlet/test/stub_work.h"

#define GPU0        "GPU-aaaa"
#define GPU1        "GPU-bbbb"
#define LABELS(...) ((const char *const[]){ __VA_ARGS__ })

static struct fake_nvml *fake;

/* ---- what the program is given --------------------------------------------------------------- */

static const char *hidden; /* a library, or the beginning of functions */
static void *find_shown(void *handle, const char *name)
{
    return str_starts(name, hidden) ? NULL : dlsym(handle, name);
}
static int load_shown(const char *library, struct nvml *ret, struct kerr *err)
{
    if (!hidden)
        return nvml_load(library, ret, err);
    if (streq(library, hidden))
        return nvml_load("libnot-there.so.1", ret, err);
    return nvml_bind(dlopen(library, RTLD_NOW), find_shown, ret, err);
}

static struct strbuf lines;
UNUSED static void keep_line(void *arg, const char *text, size_t n)
{
    (void)arg;
    strbuf_appendn(&lines, text, n);
}
UNUSED static unsigned count_lines(const char *with)
{
    unsigned n = 0;
    for (const char *p = strbuf_str(&lines); (p = strstr(p, with)); p++)
        n++;
    return n;
}

/* ---- a machine ------------------------------------------------------------------------------- */

UNUSED static void use(unsigned gpu, unsigned pid, unsigned sm, unsigned long long memory)
{
    struct fake_gpu *g = &fake->gpus[gpu];

    g->running[g->nrunning++] = (struct nvml_process){ .pid = pid, .used_memory = memory };
    g->used[g->nused++] = (struct nvml_utilization){ .pid = pid, .time = 9, .sm = sm };
}

UNUSED static void use_nothing(void)
{
    for (unsigned i = 0; i < FAKE_GPUS; i++)
        fake->gpus[i].nrunning = fake->gpus[i].nused = 0;
}

/* The example of the specification. */
UNUSED static void use_as_specified(void)
{
    use(0, 122, 70, 1500);
    use(0, 222, 20, 1000);
    use(1, 122, 30, 1000);
    use(1, 222, 50, 1000);
}

UNUSED static void gpu_fixture_init(struct collect_fixture *b)
{
    static const char *const uuids[] = { GPU0, GPU1 };
    struct kerr err = { 0 };

    fake->init_result = 0;
    fake->ngpus = 2;
    memset(fake->gpus, 0, sizeof fake->gpus);
    fake->nevents = fake->inits = fake->shutdowns = fake->asked = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct fake_gpu *g = &fake->gpus[i];
        snprintf(g->uuid, sizeof g->uuid, "%s", uuids[i]);
        snprintf(g->name, sizeof g->name, "NVIDIA A100 SXM4 80GB");
        snprintf(g->bus, sizeof g->bus, "00000000:3%c:00.0", 'A' + (int)i);
        g->minor = i;
        g->total = 80ULL << 30;
    }
    held = (struct held){ 0 };
    hidden = NULL;
    strbuf_reset(&lines);
    collect_fixture_init(b, CGROUP_V2);
    collect_fixture_pods(b, "[]");
    assert_int_equal(gates_parse(&b->o.gates, "Accelerators=true", &err), 0);
    b->o.xpu_dir = "/nonexistent/xpu";
    b->env.devices = device_sources;
    b->env.nvml_load = load_shown;
    loop_set_worker(b->env.loop, held_take, NULL);
    fixture_put(&b->f, "0x030200\n", "sys/devices/pci0000:3a/0000:3a:00.0/class");
    fixture_put(&b->f, "-1\n", "sys/devices/pci0000:3a/0000:3a:00.0/numa_node");
    fixture_link(&b->f, "../../../devices/pci0000:3a/0000:3a:00.0",
                 "sys/bus/pci/devices/0000:3a:00.0");
}

/* Starts, and goes to the first round that has a call to take. */
UNUSED static void gpu_fixture_start(struct collect_fixture *b)
{
    collect_fixture_start(b);
    collect_fixture_advance(b, 2);
}

/* A call that is under way ends first: the loop would drop it, and what it has. */
UNUSED static void gpu_fixture_fini(struct collect_fixture *b)
{
    loop_advance(b->env.loop, 10 * NSEC_PER_MSEC);
    collect_fixture_fini(b);
}

UNUSED static double node_core(struct collect_fixture *b, const char *minor, const char *uuid)
{
    return collect_fixture_last(b, M_NODE_GPU_CORE, LABELS(minor, uuid));
}
UNUSED static double node_memory(struct collect_fixture *b, const char *minor, const char *uuid)
{
    return collect_fixture_last(b, M_NODE_GPU_MEMORY, LABELS(minor, uuid));
}
UNUSED static double pod_core(struct collect_fixture *b, const char *uid, unsigned gpu)
{
    return collect_fixture_last(b, M_POD_GPU_CORE, LABELS(uid, gpu ? "1" : "0", gpu ? GPU1 : GPU0));
}
UNUSED static double container_memory(struct collect_fixture *b, const char *id, unsigned gpu)
{
    return collect_fixture_last(b, M_CONTAINER_GPU_MEMORY,
                                LABELS(id, gpu ? "1" : "0", gpu ? GPU1 : GPU0));
}
UNUSED static const struct gpu_info *gpu(const struct collect_fixture *b, unsigned i)
{
    const struct gpu_infos *g = collect_device_infos(&b->env, "GPU");
    assert_non_null(g);
    assert_that(i, <, g->n);
    return &g->items[i];
}

UNUSED static int report(struct collect_fixture *b, struct arena *a, struct device_report_in *ret,
                         struct kerr *err)
{
    *ret = (struct device_report_in){ 0 };
    return device_report_all(&b->env, a, ret, err);
}

UNUSED static void event(nvml_device d, unsigned long long type, unsigned long long xid)
{
    fake->events[fake->nevents++] = (struct nvml_event){ .device = d, .type = type, .data = xid };
}

/* What main() does with the tests. */
UNUSED static int gpu_fixture_run(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
    fake_nvml_fn find = NULL;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    klog_set_sink(keep_line, NULL);
    void *library = dlopen(NVML_LIBRARY, RTLD_NOW); /* held: its state is ours */
    void *symbol = library ? dlsym(library, FAKE_NVML_STATE) : NULL;
    if (!symbol) {
        fprintf(stderr, "the stand-in is not in LD_LIBRARY_PATH: run this by meson test\n");
        return 1;
    }
    memcpy(&find, &symbol, sizeof find);
    fake = find();
    int failed = _cmocka_run_group_tests("gpu", tests, n, NULL, NULL);
    strbuf_fini(&lines);
    dlclose(library);
    return failed;
}
#endif
