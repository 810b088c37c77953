/* test_deviceallocate.c - which devices of a node a pod gets (sched-device 2, 6, 7). */
#include "scheduler/plugins/deviceshare/test/device_cluster.h"

struct setting { /* a node, what is in use there, and a pod */
    struct device_text device;
    const char *node_labels;
    const char *held[4]; /* annotations device-allocated of other pods */
    struct pod_text pod;
    bool most, filtering;
    uint64_t numa;
    const char *templates;
};
struct outcome {
    const char *got; /* in words; or why not */
    struct device_result result;
    enum ks_code code;
    int64_t score;
};

static struct device_scorer scorer(bool most)
{
    struct device_scorer s = { .most = most };

    s.weight[DEVICE_GPU][GPU_MEMORY] = s.weight[DEVICE_GPU][GPU_RATIO] = 1;
    s.weight[DEVICE_RDMA][0] = s.weight[DEVICE_FPGA][0] = 1;
    return s;
}

static void add_held(struct devrow *row, const char *text, struct arena *a)
{
    struct device_allocations d;
    const struct held *items;
    struct kerr err = { 0 };
    char *json = arena_strdup(a, text);

    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_int_equal(device_allocations_decode(json, a, &d, &err), 0);
    uint32_t n = held_of(&d, a, &items);
    devrow_add(row, items, n);
}

static struct outcome ask(struct object_fixture *f, const struct setting *s)
{
    CLEANUP(kobj_unref)
    struct kobj *device = fixture_object(f, &kind_device, device_text(f, &s->device));
    CLEANUP(kobj_unref) struct kobj *pod = fixture_object(f, &kind_pod, wanting(f, &s->pod));
    CLEANUP(kobj_unref)
    struct kobj *node =
        fixture_object(f, &kind_node,
                       arena_printf(f->arena, "{'metadata':{'name':'n1','labels':{%s}}}",
                                    str_or(s->node_labels, "")));
    struct ks_texts why = { .arena = f->arena };
    struct device_scorer scores = scorer(s->most);
    struct gpu_templates templates = { 0 };
    kstrlist matched = { .items = (const char *[]){ RES_NPU_CORE }, .n = 1 };
    struct outcome o = { 0 };
    struct wish *w = NULL;
    struct devrow row;
    const char *bad;

    devrow_make(&row, inventory_new(device_of(device), node_of(node), false, f->arena, &bad));
    assert_null(bad);
    for (size_t i = 0; i < ARRAY_LEN(s->held) && s->held[i]; i++)
        add_held(&row, s->held[i], f->arena);
    if (s->templates)
        assert_int_equal(
            gpu_templates_decode(s->templates, strlen(s->templates), f->arena, &templates, NULL),
            0);
    o.code = wish_read(pod_of(pod), &matched, f->arena, &w, &why);
    if (o.code == KS_SUCCESS) {
        const struct device_try t = { .row = &row,
                                      .wish = w,
                                      .scorer = &scores,
                                      .templates = &templates,
                                      .arena = f->arena,
                                      .reserving = !s->filtering,
                                      .numa = s->numa };
        o.code = devices_allocate(&t, &o.result, &why);
        o.score = devices_score(&t);
    }
    o.got = o.code == KS_SKIP      ? "skip"
            : o.code == KS_SUCCESS ? in_words(f->arena, o.result.items, o.result.n)
                                   : ks_texts_join(&why);
    devrow_fini(&row);
    return o;
}

#define GPUS(n)    "'nvidia.com/gpu':'" #n "'"
#define PERCENT(n) "'koordinator.sh/gpu':'" #n "'"

/* ---- requests -------------------------------------------------------------------------------- */

static void test_what_each_card_gives(void **state)
{
    struct object_fixture *f = *state;
    const struct {
        const char *requests, *got;
        int64_t core, ratio;
        enum ks_code code;
    } rows[] = {
        { "'koordinator.sh/gpu.shared':'2','koordinator.sh/gpu-core':'100',"
          "'koordinator.sh/gpu-memory-ratio':'100'",
          "gpu 0,1", 50, 50, KS_SUCCESS },
        { "'koordinator.sh/gpu-core':'200','koordinator.sh/gpu-memory-ratio':'200'", "gpu 0,1", 100,
          100, KS_SUCCESS },
        { "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory':'1024'", "gpu 0", 100, 0,
          KS_SUCCESS },
        { "'koordinator.sh/gpu-memory':'4Gi'", "gpu 0", 0, 50, KS_SUCCESS },
        { "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'101'",
          "invalid resource device requests: [koordinator.sh/gpu-core "
          "koordinator.sh/gpu-memory-ratio]",
          0, 0, KS_UNRESOLVABLE },
        { "'koordinator.sh/fpga':'101'", "invalid resource unit koordinator.sh/fpga: 101", 0, 0,
          KS_UNRESOLVABLE },
        { "'koordinator.sh/gpu-core':'50'",
          "invalid resource device requests: [koordinator.sh/gpu-core]", 0, 0, KS_UNRESOLVABLE },
        { "'koordinator.sh/gpu':'0','cpu':'1'", "skip", 0, 0, KS_SKIP },
        { "'kubernetes.io/gpu-core':'50','kubernetes.io/gpu-memory-ratio':'50'", "gpu 0", 50, 50,
          KS_SUCCESS },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o = ask(f, &(struct setting){ .device = { .gpus = 4 },
                                                     .pod = { .requests = rows[i].requests } });
        assert_string_equal(o.got, rows[i].got);
        assert_int_equal(o.code, rows[i].code);
        for (uint32_t k = 0; k < o.result.n; k++) {
            assert_int_equal(o.result.items[k].amounts.v[GPU_CORE], rows[i].core);
            assert_int_equal(o.result.items[k].amounts.v[GPU_RATIO], rows[i].ratio);
        }
    }
}

/* Memory follows from the share, and the share from memory. */
static void test_memory_and_its_share(void **state)
{
    const struct {
        const char *requests, *memory;
        int64_t mib, ratio;
    } rows[] = {
        { PERCENT(50), "32Gi", 16384, 50 },
        { "'koordinator.sh/gpu-memory':'16Gi'", "32Gi", 16384, 50 },
        { "'koordinator.sh/gpu-memory':'3Gi'", "24Gi", 3072, 12 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o =
            ask(*state, &(struct setting){ .device = { .gpus = 1, .memory = rows[i].memory },
                                           .pod = { .requests = rows[i].requests } });
        assert_int_equal(o.result.n, 1);
        assert_int_equal(o.result.items[0].amounts.v[GPU_MEMORY] >> 20, rows[i].mib);
        assert_int_equal(o.result.items[0].amounts.v[GPU_RATIO], rows[i].ratio);
    }
}

static void test_how_many_rdma_devices(void **state)
{
    struct object_fixture *f = *state;
    const struct {
        const char *rdma, *hint, *got;
        int64_t each;
    } rows[] = {
        { "4", "{'rdma':{'allocateStrategy':'RequestsAsCount'}}", "rdma 0,1,2,3", 1 },
        { "4", "{'rdma':{'allocateStrategy':'RequestsAsCount','exclusivePolicy':'DeviceLevel'}}",
          "rdma 0,1,2,3", 100 },
        { "1", "{'rdma':{'allocateStrategy':'ApplyForAll'}}", "rdma 0,1,2,3,4", 1 },
        { "1", "{'rdma':{'allocateStrategy':'ApplyForAll','selector':{'matchLabels':{'x':'y'}}}}",
          "Insufficient rdma devices", 0 },
        { "300", "{}", "rdma 0,1,2", 100 },
        { "7", "{}", "rdma 0", 7 },
        { "600", "{}", "Insufficient rdma devices", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o =
            ask(f, &(struct setting){
                       .device = { .rdmas = 5 },
                       .pod = { .annotations = annotation(f, "device-allocate-hint", rows[i].hint),
                                .requests = arena_printf(f->arena, "'koordinator.sh/rdma':'%s'",
                                                         rows[i].rdma) } });
        assert_string_equal(o.got, rows[i].got);
        for (uint32_t k = 0; k < o.result.n; k++)
            assert_int_equal(o.result.items[k].amounts.v[0], rows[i].each);
    }
}

/* ---- GPUs with RDMA devices ------------------------------------------------------------------ */

#define FULL(minor)                                                                         \
    "{'minor':" #minor ",'resources':{'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-" \
    "memory-ratio':'100','koordinator.sh/gpu-memory':'80Gi'}}"
#define HALF(minor)                                                                        \
    "{'minor':" #minor ",'resources':{'koordinator.sh/gpu-core':'50','koordinator.sh/gpu-" \
    "memory-ratio':'50','koordinator.sh/gpu-memory':'40Gi'}}"
#define GPU_HELD(list) "{'gpu':[" list "]}"
#define VF_HELD(rdma, bus)                                                                      \
    "{'rdma':[{'minor':" #rdma ",'resources':{'koordinator.sh/rdma':'1'},'extension':{'vfs':[{" \
    "'busID':'" bus "'}]}}]}"
#define RDMA_FULL(minor) "{'rdma':[{'minor':" #minor ",'resources':{'koordinator.sh/rdma':'100'}}]}"

struct joint_case {
    const char *requests, *scope, *required, *held[3], *got;
    bool most;
};
static const struct joint_case joint_cases[] = {
    { GPUS(1), "", "", { 0 }, "gpu 0 rdma 1(0000:1f:00.2)", false },
    { GPUS(2), "", "", { 0 }, "gpu 0,1 rdma 1(0000:1f:00.2)", false },
    { GPUS(3), "", "", { 0 }, "gpu 0,1,2 rdma 1(0000:1f:00.2),2(0000:90:00.2)", false },
    { GPUS(4), "", "", { 0 }, "gpu 0,1,2,3 rdma 1(0000:1f:00.2),2(0000:90:00.2)", false },
    { GPUS(6),
      "",
      "",
      { 0 },
      "gpu 0,1,2,3,4,5 rdma 1(0000:1f:00.2),2(0000:90:00.2),3(0000:51:00.2)",
      false },
    { GPUS(8),
      "",
      "",
      { 0 },
      "gpu 0,1,2,3,4,5,6,7 rdma 1(0000:1f:00.2),2(0000:90:00.2),3(0000:51:00.2),4(0000:b9:00.2)",
      false },
    { GPUS(2),
      "",
      "",
      { GPU_HELD(FULL(0)), VF_HELD(1, "0000:1f:00.2") },
      "gpu 2,3 rdma 2(0000:90:00.2)",
      false },
    { GPUS(3),
      "",
      "",
      { GPU_HELD(FULL(0)), VF_HELD(1, "0000:1f:00.2") },
      "gpu 1,2,3 rdma 1(0000:1f:00.3),2(0000:90:00.2)",
      false },
    { GPUS(1),
      "",
      "SamePCIe",
      { GPU_HELD(FULL(5)), VF_HELD(3, "0000:51:00.2") },
      "gpu 4 rdma 3(0000:51:00.3)",
      false },
    { GPUS(2), "", "", { GPU_HELD(FULL(5)) }, "gpu 6,7 rdma 4(0000:b9:00.2)", false },
    { GPUS(4),
      "NUMANode",
      "",
      { GPU_HELD(FULL(5)) },
      "gpu 0,1,2,3 rdma 1(0000:1f:00.2),2(0000:90:00.2)",
      false },
    { GPUS(4),
      "NUMANode",
      "",
      { GPU_HELD(FULL(5)), GPU_HELD(FULL(0)) },
      "Insufficient Topology Scoped GPU Devices",
      false },
    { GPUS(3),
      "",
      "SamePCIe",
      { GPU_HELD(FULL(0)), RDMA_FULL(1) },
      "node(s) Device Joint-Allocate rules violation",
      false },
    { PERCENT(50),
      "",
      "",
      { GPU_HELD(FULL(5)), GPU_HELD(HALF(7)) },
      "gpu 7 rdma 4(0000:b9:00.2)",
      true },
};

static void test_gpus_with_rdma(void **state)
{
    struct object_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(joint_cases); i++) {
        const struct joint_case *c = &joint_cases[i];
        const char *hint = arena_printf(f->arena, "{'rdma':{'vfSelector':{}}%s%s%s}",
                                        *c->scope ? ",'gpu':{'requiredTopologyScope':'" : "",
                                        c->scope, *c->scope ? "'}" : "");
        const char *joint = arena_printf(
            f->arena, "{'deviceTypes':['gpu','rdma'],'requiredScope':'%s'}", c->required);
        struct outcome o =
            ask(f, &(struct setting){
                       .device = { NODE_T },
                       .held = { c->held[0], c->held[1], c->held[2] },
                       .most = c->most,
                       .pod = { .annotations = arena_printf(
                                    f->arena, "%s,%s", annotation(f, "device-allocate-hint", hint),
                                    annotation(f, "device-joint-allocate", joint)),
                                .requests = arena_printf(f->arena, "%s,'koordinator.sh/rdma':'1'",
                                                         c->requests) } });
        assert_string_equal(o.got, c->got);
    }
}

#define JOINT(f)                                                                      \
    arena_printf((f)->arena, "%s,%s",                                                 \
                 annotation(f, "device-allocate-hint", "{'rdma':{'vfSelector':{}}}"), \
                 annotation(f, "device-joint-allocate", "{'deviceTypes':['gpu','rdma']}"))

/* Where somebody planned for it, filters do not look at the other devices; reserve does. */
static void test_well_planned(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = {
        .device = { NODE_T,
                    .labels = "'node.koordinator.sh/secondary-device-well-planned':'true'" },
        .filtering = true,
        .pod = { .annotations = JOINT(f), .requests = GPUS(8) ",'koordinator.sh/rdma':'1'" },
    };

    assert_string_equal(ask(f, &s).got, "gpu 0,1,2,3,4,5,6,7");
    s.filtering = false;
    assert_string_equal(ask(f, &s).got, "gpu 0,1,2,3,4,5,6,7 rdma 1(0000:1f:00.2),2(0000:90:00.2),"
                                        "3(0000:51:00.2),4(0000:b9:00.2)");
    s.filtering = true;
    s.device.labels = NULL;
    assert_non_null(strstr(ask(f, &s).got, "rdma 1"));
}

static void test_virtual_functions_that_are_not_there(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = {
        .device = { NODE_T },
        .pod = { .annotations = JOINT(f), .requests = GPUS(1) ",'koordinator.sh/rdma':'1'" },
    };

    s.device.vfs = 0;
    struct outcome o = ask(f, &s);
    assert_string_equal(o.got, "Insufficient rdma VirtualFunctions");
    assert_int_equal(o.code, KS_UNRESOLVABLE);
}

/* Two RDMA devices on each PCIe, the first GPUs in use. */
static void test_as_many_rdma_devices_as_asked(void **state)
{
    struct object_fixture *f = *state;
    struct outcome o = ask(
        f,
        &(struct setting){ .device = { .gpus = 8, .per_pcie = 2, .pcies_per_numa = 2, .rdmas = 4 },
                           .held = { GPU_HELD(FULL(0) "," FULL(1) "," FULL(2) "," FULL(3)) },
                           .pod = { .annotations = annotation(f, "device-joint-allocate",
                                                              "{'deviceTypes':['gpu','rdma']}"),
                                    .requests = GPUS(4) ",'koordinator.sh/rdma':'400'" } });

    assert_string_equal(o.got, "gpu 4,5,6,7 rdma 0,1,2,3");
}

/* ---- partitions ------------------------------------------------------------------------------ */

#define H800  "'node.koordinator.sh/gpu-model':'H800'"
#define HONOR H800 ",'node.koordinator.sh/gpu-partition-policy':'Honor'"

static void test_partitions_of_a_known_model(void **state)
{
    const struct {
        const char *labels, *requests, *held, *got;
        enum ks_code code;
    } rows[] = {
        { HONOR, GPUS(1), NULL, "gpu 0", KS_SUCCESS },
        { HONOR, GPUS(2), NULL, "gpu 0,1", KS_SUCCESS },
        { HONOR, GPUS(3), NULL, "node(s) Unsupported number of GPU requests", KS_UNRESOLVABLE },
        { HONOR, GPUS(6), NULL, "node(s) Unsupported number of GPU requests", KS_UNRESOLVABLE },
        { HONOR, GPUS(2), GPU_HELD(FULL(2) "," FULL(3)), "gpu 0,1", KS_SUCCESS },
        { HONOR, GPUS(2), GPU_HELD(FULL(4)), "gpu 6,7", KS_SUCCESS },
        { HONOR, GPUS(1), GPU_HELD(FULL(4)), "gpu 5", KS_SUCCESS },
        { HONOR, GPUS(8), GPU_HELD(FULL(4)), "Insufficient Partitioned GPU Devices",
          KS_UNSCHEDULABLE },
        { H800, GPUS(3), GPU_HELD(FULL(2) "," FULL(3)), "gpu 4,5,6", KS_SUCCESS },
        { NULL, GPUS(2), GPU_HELD(FULL(4)), "gpu 5,6", KS_SUCCESS },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o =
            ask(*state,
                &(struct setting){
                    .device = { .gpus = 8, .per_pcie = 1, .pcies_per_numa = 4, .memory = "80Gi" },
                    .node_labels = rows[i].labels,
                    .held = { rows[i].held },
                    .pod = { .requests = rows[i].requests } });
        assert_string_equal(o.got, rows[i].got);
        assert_int_equal(o.code, rows[i].code);
    }
}

/* k8s-device-plugin#1193: single-card pods must not break up the pairs that are left. */
static void test_single_cards_leave_pairs_whole(void **state)
{
    struct object_fixture *f = *state;
    const char *held[4] = { GPU_HELD(FULL(0)), NULL };

    for (int i = 1; i <= 3; i++) {
        struct outcome o = ask(
            f, &(struct setting){
                   .device = { .gpus = 8, .per_pcie = 1, .pcies_per_numa = 4, .memory = "80Gi" },
                   .node_labels = H800,
                   .held = { held[0], held[1], held[2] },
                   .pod = { .requests = GPUS(1) } });
        assert_string_equal(o.got, i == 1 ? "gpu 1" : i == 2 ? "gpu 2" : "gpu 3");
        held[i] = i == 1 ? GPU_HELD(FULL(1)) : i == 2 ? GPU_HELD(FULL(2)) : NULL;
    }
}

/* ---- no places known ------------------------------------------------------------------------- */

#define HALF8(minor)                                                                       \
    "{'minor':" #minor ",'resources':{'koordinator.sh/gpu-core':'50','koordinator.sh/gpu-" \
    "memory-ratio':'50','koordinator.sh/gpu-memory':'4Gi'}}"

static void test_shares_without_places(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = { .device = { .gpus = 4 },
                         .held = { GPU_HELD(HALF8(0) "," HALF8(1)) },
                         .pod = { .requests = PERCENT(50) } };

    assert_string_equal(ask(f, &s).got, "gpu 2");
    s.held[0] = GPU_HELD(HALF8(2) "," HALF8(3));
    s.most = true;
    assert_string_equal(ask(f, &s).got, "gpu 2");
}

/* A card with more than 63 before it, and one that is not healthy (volcano#1782). */
static void test_many_cards_and_a_sick_one(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = { .device = { .gpus = 100, .per_pcie = 2, .pcies_per_numa = 4 },
                         .pod = { .requests = GPUS(100) } };

    assert_int_equal(ask(f, &s).result.n, 100);
    s.device.has_unhealthy = true;
    s.device.unhealthy = 70;
    assert_string_equal(ask(f, &s).got, "Insufficient GPU Devices");
    s.pod.requests = GPUS(1);
    s.device.gpus = 1;
    s.device.unhealthy = 0;
    assert_int_equal(ask(f, &s).code, KS_UNSCHEDULABLE);
}

/* More than a card has: a Device that says 200 percent of compute is taken at its word. */
static void test_oversold_cards(void **state)
{
    struct setting s = {
        .device = { .gpus = 1,
                    .resource = "'koordinator.sh/gpu-core':'200','koordinator.sh/gpu-memory-ratio':"
                                "'200','koordinator.sh/gpu-memory':'16Gi'" },
        .held = { GPU_HELD(HALF8(0)), GPU_HELD(HALF8(0)), GPU_HELD(HALF8(0)) },
        .pod = { .requests = PERCENT(50) },
    };

    assert_string_equal(ask(*state, &s).got, "gpu 0");
    s.pod.requests = PERCENT(60);
    assert_int_equal(ask(*state, &s).code, KS_UNSCHEDULABLE);
}

static void test_a_pcie_of_its_own(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = {
        .device = { NODE_T },
        .held = { GPU_HELD(HALF(1)) },
        .pod = { .annotations = annotation(f, "device-allocate-hint",
                                           "{'gpu':{'exclusivePolicy':'PCIeLevel'}}"),
                 .requests = PERCENT(50) },
        .most = true,
    };

    assert_string_equal(ask(f, &s).got, "gpu 2");
    s.pod.annotations = NULL;
    assert_string_equal(ask(f, &s).got, "gpu 1");
}

/* ---- templates ------------------------------------------------------------------------------- */

static const char npu_templates[] =
    "huawei-Ascend-310P3:\n"
    "  vir01: {huawei.com/npu-core: 1, huawei.com/npu-cpu: 1, huawei.com/npu-dvpp: 12, "
    "koordinator.sh/gpu-memory: 3Gi}\n"
    "  vir04: {huawei.com/npu-core: 4, huawei.com/npu-cpu: 4, huawei.com/npu-dvpp: 50, "
    "koordinator.sh/gpu-memory: 12Gi}\n"
    "  vir04_4c_dvpp: {huawei.com/npu-core: 4, huawei.com/npu-cpu: 4, huawei.com/npu-dvpp: 100, "
    "koordinator.sh/gpu-memory: 12Gi}\n";
#define NPU(core, cpu, dvpp, memory)                                  \
    "'koordinator.sh/gpu.shared':'1','huawei.com/npu-core':'" #core   \
    "','huawei.com/npu-cpu':'" #cpu "','huawei.com/npu-dvpp':'" #dvpp \
    "','koordinator.sh/gpu-memory':'" #memory "'"

static void test_templates_of_a_vendor(void **state)
{
    struct setting s = {
        .device = { .gpus = 2,
                    .resource = "'huawei.com/npu-core':'8','huawei.com/npu-cpu':'7','huawei.com/"
                                "npu-dvpp':'100','koordinator.sh/gpu-memory':'24Gi',"
                                "'koordinator.sh/gpu-memory-ratio':'100'" },
        .node_labels = "'node.koordinator.sh/gpu-vendor':'huawei','node.koordinator.sh/gpu-model':"
                       "'Ascend-310P3'",
        .held = { "{'gpu':[{'minor':0,'resources':{'huawei.com/npu-core':'4','huawei.com/npu-cpu':"
                  "'4','huawei.com/npu-dvpp':'50','koordinator.sh/gpu-memory':'12Gi',"
                  "'koordinator.sh/gpu-memory-ratio':'50'}}]}" },
        .pod = { .requests = NPU(1, 1, 12, 3Gi) },
        .most = true,
        .templates = npu_templates,
    };

    struct outcome o = ask(*state, &s);
    assert_string_equal(o.got, "gpu 0");
    assert_string_equal(o.result.items[0].gpu_template, "vir01");
    assert_int_equal(o.result.items[0].amounts.v[GPU_RATIO], 12);
    s.pod.requests = NPU(4, 4, 100, 12Gi);
    o = ask(*state, &s);
    assert_string_equal(o.got, "gpu 1");
    assert_string_equal(o.result.items[0].gpu_template, "vir04_4c_dvpp");
    s.pod.requests = NPU(3, 3, 12, 3Gi);
    o = ask(*state, &s);
    assert_string_equal(o.got, "no matched GPU shared resource template");
    assert_int_equal(o.code, KS_UNRESOLVABLE);
}

/* An NPU's share on a card that has none of it. */
static void test_a_card_without_the_resource(void **state)
{
    struct outcome o =
        ask(*state, &(struct setting){ .device = { .gpus = 1 },
                                       .pod = { .requests = "'huawei.com/npu-core':'8',"
                                                            "'koordinator.sh/gpu-memory-ratio':"
                                                            "'100'" } });

    assert_int_equal(o.code, KS_UNSCHEDULABLE);
}

/* ---- scores ---------------------------------------------------------------------------------- */

#define QUARTER                                                                            \
    GPU_HELD("{'minor':0,'resources':{'koordinator.sh/gpu-core':'25','koordinator.sh/gpu-" \
             "memory-ratio':'25','koordinator.sh/gpu-memory':'2Gi'}}")

static void test_scores_of_nodes(void **state)
{
    struct object_fixture *f = *state;
    struct setting s = { .device = { .gpus = 1 }, .pod = { .requests = PERCENT(100) } };

    assert_int_equal(ask(f, &s).score, 50);
    s.device.gpus = 2;
    s.pod.requests = PERCENT(50);
    assert_int_equal(ask(f, &s).score, 87);
    s.device.gpus = 1;
    s.held[0] = QUARTER;
    assert_int_equal(ask(f, &s).score, 50);
    s.most = true;
    assert_int_equal(ask(f, &s).score, 50);
    s.pod.requests = PERCENT(50) ",'koordinator.sh/rdma':'100'";
    s.device.rdmas = 1;
    assert_int_equal(ask(f, &s).score, 150); /* kinds are added up */
}

static void test_the_score_of_a_device(void **state)
{
    struct device_scorer least = scorer(false), most = scorer(true);
    struct amounts total = { 0 }, left = { 0 }, want = { 0 };

    (void)state;
    amounts_set(&total, 0, 100);
    amounts_set(&left, 0, 50);
    amounts_set(&want, 0, 30);
    assert_int_equal(device_score(&least, DEVICE_RDMA, &total, &left, &want), 20);
    assert_int_equal(device_score(&most, DEVICE_RDMA, &total, &left, &want), 80);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_what_each_card_gives),
        FIXTURE_TEST(test_memory_and_its_share),
        FIXTURE_TEST(test_how_many_rdma_devices),
        FIXTURE_TEST(test_gpus_with_rdma),
        FIXTURE_TEST(test_well_planned),
        FIXTURE_TEST(test_virtual_functions_that_are_not_there),
        FIXTURE_TEST(test_as_many_rdma_devices_as_asked),
        FIXTURE_TEST(test_partitions_of_a_known_model),
        FIXTURE_TEST(test_single_cards_leave_pairs_whole),
        FIXTURE_TEST(test_shares_without_places),
        FIXTURE_TEST(test_many_cards_and_a_sick_one),
        FIXTURE_TEST(test_oversold_cards),
        FIXTURE_TEST(test_a_pcie_of_its_own),
        FIXTURE_TEST(test_templates_of_a_vendor),
        FIXTURE_TEST(test_a_card_without_the_resource),
        FIXTURE_TEST(test_scores_of_nodes),
        FIXTURE_TEST(test_the_score_of_a_device),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
