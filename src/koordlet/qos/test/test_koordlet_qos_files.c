/* test_koordlet_qos_files.c - memory QoS, resctrl, block I/O and system settings as proposals
 * (koordlet-qos 10 to 13: what must hold). */
#include "koordlet/qos/blkio/blkio.h"
#include "koordlet/qos/memory/memory.h"
#include "koordlet/qos/resctrl/resctrl.h"
#include "koordlet/qos/system/system.h"
#include "koordlet/qos/test/plan_fixture.h"

/* ---- memory ---------------------------------------------------------------------------------- */

struct fixture {
    struct object_fixture *b;
    struct podset *pods;
    struct kobj *node;
    struct snapshot known;
    struct plan *plan;
};

static void init(struct fixture *f, struct object_fixture *b, const char *node, const char *pods,
                 const char *slo)
{
    *f = (struct fixture){ .b = b, .plan = plan_new(PLAN_MEMORY_QOS) };
    f->pods = pods_of(b, pods);
    f->node = fixture_object(b, &kind_node, node);
    f->known = (struct snapshot){
        .refs = 1, .node = node_of(f->node), .pods = f->pods, .slo = slo_of(b, slo)
    };
}

static void fini(struct fixture *f)
{
    plan_free(f->plan);
    podset_unref(f->pods);
    kobj_unref(f->node);
}

#define NODE_1GI "{'metadata':{'name':'n'},'status':{'allocatable':{'memory':'1Gi'}}}"
#define POD(name, annotations, resources)                                                       \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{'koordinator."   \
    "sh/qosClass':'BE'},'annotations':{" annotations "}},'spec':{'containers':[{'name':'c',"    \
    "'resources':{" resources "}}]},'status':{'phase':'Running','containerStatuses':[{'name':'" \
    "c','containerID':'containerd://" name "1','state':{'running':{}}}]}}"
#define BATCH_1GI                                                               \
    "'requests':{'kubernetes.io/batch-memory':'1Gi'},'limits':{'kubernetes.io/" \
    "batch-memory':'1Gi'}"
#define MEMORY(fields) \
    "{'resourceQOSStrategy':{'beClass':{'memoryQOS':{'enable':true," fields "}}}}"

static void propose_memory(struct fixture *f)
{
    memory_propose(&(struct memory_in){ &f->known, CGROUP_SYSTEMD, 4096 }, f->plan);
}

static void test_memory_throttling(void **state)
{
    struct fixture f;

    init(&f, *state, NODE_1GI, "[" POD("a", "", BATCH_1GI) "," POD("b", "", "") "]",
         MEMORY("'throttlingPercent':80,'minLimitPercent':100"));
    propose_memory(&f);
    assert_proposed(f.plan, IN(BE_DIR("a"), "a1"), PLAN_MEMORY_HIGH, "1073741824");
    assert_proposed(f.plan, IN(BE_DIR("b"), "b1"), PLAN_MEMORY_HIGH, "858992640");
    assert_proposed(f.plan, BE_DIR("a"), PLAN_MEMORY_HIGH, NULL);
    assert_proposed(f.plan, IN(BE_DIR("a"), "a1"), PLAN_MEMORY_MIN, "1073741824");
    assert_proposed(f.plan, BE_DIR("a"), PLAN_MEMORY_MIN, "1073741824");
    assert_proposed(f.plan, CLASS_BE, PLAN_MEMORY_MIN, "1073741824");
    assert_proposed(f.plan, "kubepods.slice", PLAN_MEMORY_MIN, "1073741824");
    fini(&f);
    init(&f, *state, NODE_1GI, "[" POD("a", "", BATCH_1GI) "]",
         MEMORY("'throttlingPercent':40,'minLimitPercent':50"));
    propose_memory(&f);
    assert_proposed(f.plan, IN(BE_DIR("a"), "a1"), PLAN_MEMORY_MIN, "536870912");
    assert_proposed(f.plan, IN(BE_DIR("a"), "a1"), PLAN_MEMORY_HIGH, "1073741824");
    fini(&f);
}

static void test_memory_policies_of_pods(void **state)
{
    struct fixture f;

    init(&f, *state, NODE_1GI,
         "[" POD("none",
                 "'koordinator.sh/memoryQOS':'{\\'policy\\':\\'none\\',\\'minLimitPercent"
                 "\\':50}'",
                 BATCH_1GI) "," POD("auto",
                                    "'koordinator.sh/memoryQOS':'{\\'policy\\':\\'auto"
                                    "\\',\\'priority\\':3}'",
                                    BATCH_1GI) "," POD("bad", "'koordinator.sh/memoryQOS':'{'",
                                                       BATCH_1GI) "]",
         MEMORY("'minLimitPercent':100,'wmarkRatio':80"));
    propose_memory(&f);
    assert_proposed(f.plan, BE_DIR("none"), PLAN_MEMORY_MIN, "0");
    assert_proposed(f.plan, BE_DIR("auto"), PLAN_MEMORY_MIN, "0");
    assert_proposed(f.plan, BE_DIR("auto"), PLAN_MEMORY_WMARK_RATIO, "95");
    assert_proposed(f.plan, BE_DIR("auto"), PLAN_MEMORY_WMARK_MIN_ADJ, "50");
    assert_proposed(f.plan, BE_DIR("auto"), PLAN_MEMORY_PRIORITY, "3");
    assert_proposed(f.plan, BE_DIR("bad"), PLAN_MEMORY_MIN, "1073741824");
    assert_proposed(f.plan, BE_DIR("bad"), PLAN_MEMORY_WMARK_RATIO, "80");
    fini(&f);
}

/* Upstream crashes on a pod whose class has no settings. */
static void test_memory_without_a_class(void **state)
{
    struct resource_qos_strategy none = { .policies = NULL };
    struct nodeslo_spec slo = { .resource_qos = &none };
    struct fixture f;

    init(&f, *state, NODE_1GI, "[" POD("a", "", BATCH_1GI) "]", "{}");
    f.known.slo = &slo;
    propose_memory(&f);
    assert_int_equal(f.plan->proposals.n, 0);
    fini(&f);
}

static void test_page_cache_limits(void **state)
{
    static const struct {
        const char *fields, *enable, *size;
    } cases[] = {
        { "'pageCacheLimitSize':2147483648", "1", "1073741824" },
        { "'pageCacheLimitPercent':50", "1", "536870912" },
        { "'pageCacheLimitSize':268435456,'pageCacheLimitPercent':50", "1", "268435456" },
        { "'pageCacheLimitSize':0", "0", "0" },
        { "'pageCacheEnable':false,'pageCacheLimitSize':536870912", "0", "536870912" },
        { "'wmarkRatio':1", NULL, NULL },
    };
    struct fixture f;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(mem_free)
        char *slo =
            xasprintf("{'resourceQOSStrategy':{'beClass':{'memoryQOS':{'enable':true,%s}}}}",
                      cases[i].fields);
        init(&f, *state, NODE_1GI, "[" POD("a", "", BATCH_1GI) "]", slo);
        propose_memory(&f);
        assert_proposed(f.plan, BE_DIR("a"), PLAN_MEMORY_PAGECACHE_ENABLE, cases[i].enable);
        assert_proposed(f.plan, BE_DIR("a"), PLAN_MEMORY_PAGECACHE_SIZE, cases[i].size);
        fini(&f);
    }
}

/* ---- resctrl --------------------------------------------------------------------------------- */

static void layout(const char *text, uint64_t cbm, struct resctrl_layout *ret)
{
    struct kerr err = { 0 };

    if (resctrl_layout_parse(str_of(text), ret, &err) < 0)
        fail_msg("%s", err.text);
    ret->cbm = cbm;
}

static void test_resctrl_lines(void **state)
{
    static const struct resctrl_qos lsr = { .cat_range_start_percent = { true, 0 },
                                            .cat_range_end_percent = { true, 100 },
                                            .mba_percent = { true, 85 } };
    static const struct resctrl_qos be = { .cat_range_start_percent = { true, 10 },
                                           .cat_range_end_percent = { true, 50 } };
    static const struct resctrl_qos bad = { .cat_range_start_percent = { true, 60 },
                                            .cat_range_end_percent = { true, 40 },
                                            .mba_percent = { true, 50 } };
    CLEANUP(plan_free) struct plan *p = plan_new(PLAN_RESCTRL);
    CLEANUP(mem_free) struct resctrl_layout *l = xnew0(struct resctrl_layout);
    struct kerr err;

    (void)state;
    layout("    L3:0=7ff;8=7ff\n    MB:0=100;8=100\n", 0x7ff, l);
    resctrl_propose((const struct resctrl_qos *const[]){ &lsr, &bad, &be }, l, "GenuineIntel", p,
                    &err);
    assert_proposed_item(p, "LSR", PLAN_RESCTRL_GROUP, NULL, "1");
    assert_proposed_item(p, "LSR", PLAN_RESCTRL_SCHEMATA, "L3", "L3:0=7ff;8=7ff;\n");
    assert_proposed_item(p, "LSR", PLAN_RESCTRL_SCHEMATA, "MB", "MB:0=90;8=90;\n");
    assert_proposed_item(p, "BE", PLAN_RESCTRL_SCHEMATA, "L3", "L3:0=3c;8=3c;\n");
    assert_proposed_item(p, "BE", PLAN_RESCTRL_SCHEMATA, "MB", NULL);
    /* What makes no sense is told and left out, alone. */
    assert_proposed_item(p, "LS", PLAN_RESCTRL_SCHEMATA, "L3", NULL);
    assert_proposed_item(p, "LS", PLAN_RESCTRL_SCHEMATA, "MB", "MB:0=50;8=50;\n");
    assert_string_equal(err.text, "resctrl group LS: illegal l3 cat percent: start 60, end 40");
}

static void test_resctrl_with_code_and_data(void **state)
{
    static const struct resctrl_qos be = { .cat_range_start_percent = { true, 0 },
                                           .cat_range_end_percent = { true, 30 } };
    CLEANUP(plan_free) struct plan *p = plan_new(PLAN_RESCTRL);
    CLEANUP(mem_free) struct resctrl_layout *l = xnew0(struct resctrl_layout);
    struct kerr err;

    (void)state;
    layout("L3DATA:0=3ff;1=3ff\nL3CODE:0=3ff;1=3ff\n", 0x3ff, l);
    assert_true(l->cdp);
    resctrl_propose((const struct resctrl_qos *const[]){ NULL, NULL, &be }, l, "GenuineIntel", p,
                    &err);
    assert_proposed_item(p, "BE", PLAN_RESCTRL_SCHEMATA, "L3CODE", "L3CODE:0=7;1=7;\n");
    assert_proposed_item(p, "BE", PLAN_RESCTRL_SCHEMATA, "L3DATA", "L3DATA:0=7;1=7;\n");
    assert_proposed_item(p, "BE", PLAN_RESCTRL_SCHEMATA, "L3", NULL);
    assert_int_equal(err.code, 0);
    assert_int_equal(resctrl_layout_parse(STR("L2:0=f\n"), l, &err), -ENODATA);
}

static void test_resctrl_group_of_a_pod(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(
        b, "[" POD("be", "", "") "," POD("own", "'node.koordinator.sh/resctrl':'{}'", "") "]");
    const struct nodeslo_spec *on =
        slo_of(b, "{'resourceQOSStrategy':{'beClass':{'resctrlQOS':{'enable':true}}}}");
    const struct nodeslo_spec *off = slo_of(b, "{}");

    assert_int_equal(resctrl_group_of(on->resource_qos, pod_named(pods, "be")), 2);
    assert_int_equal(resctrl_group_of(on->resource_qos, pod_named(pods, "own")), -1);
    assert_int_equal(resctrl_group_of(off->resource_qos, pod_named(pods, "be")), -1);
}

/* ---- block I/O ------------------------------------------------------------------------------- */

static void test_blocks_that_went_are_reset(void **state)
{
    struct object_fixture *b = *state;
    struct storage_info none = { .refs = 1 };
    struct blkio_machine m = { .storage = &none, .kubelet_dir = "/var/lib/kubelet/" };
    static const char *const existing[] = { "253:16" };
    struct blkio_target t = { .existing = existing, .nexisting = 1 };
    struct blkio_line *lines;
    struct kerr err;
    uint32_t n;

    assert_int_equal(blkio_lines(&m, &t, b->arena, &lines, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_int_equal(lines[0].file, PLAN_BLKIO_READ_IOPS);
    assert_string_equal(lines[0].text, "253:16 0");
    assert_string_equal(lines[4].text, "253:16 100");
    struct blkio_block unknown = { .name = "/dev/vdz", .type = "device" };
    t.blocks = &unknown, t.nblocks = 1;
    assert_int_equal(blkio_lines(&m, &t, b->arena, &lines, &n, &err), -ENOENT);
    assert_string_equal(err.text, "device /dev/vdz is on no known disk");
}

/* ---- the system ------------------------------------------------------------------------------ */

#define NODE_512GI "{'metadata':{'name':'n'},'status':{'capacity':{'memory':'512Gi'}}}"
#define FREE       "sys/vm/min_free_kbytes"
#define SCALE      "sys/vm/watermark_scale_factor"

static void check_system(struct object_fixture *b, const char *node, const char *fields,
                         const char *free_kb, const char *scale)
{
    CLEANUP(mem_free) char *slo = xasprintf("{'systemStrategy':{%s}}", fields);
    struct fixture f;

    init(&f, b, node, "[]", slo);
    system_propose(&f.known, f.plan);
    assert_proposed(f.plan, FREE, PLAN_PROC_FILE, free_kb);
    assert_proposed(f.plan, SCALE, PLAN_PROC_FILE, scale);
    fini(&f);
}

static void test_system_settings(void **state)
{
    struct fixture f;

    check_system(*state, NODE_512GI, "'minFreeKbytesFactor':88,'watermarkScaleFactor':150",
                 "4724464", "150");
    check_system(*state, NODE_512GI, "'minFreeKbytesFactor':400,'watermarkScaleFactor':5", NULL,
                 NULL);
    check_system(*state, NODE_512GI, "'watermarkScaleFactor':500", NULL, NULL);
    check_system(*state, "{'metadata':{'name':'n'}}", "'watermarkScaleFactor':150", NULL, NULL);
    init(&f, *state, NODE_512GI, "[]",
         "{'systemStrategy':{'schedFeatures':{'ID_ABSOLUTE_EXPEL':true}}}");
    system_propose(&f.known, f.plan);
    assert_proposed_item(f.plan, "kernel/debug/sched_features", PLAN_SCHED_FEATURE,
                         "ID_ABSOLUTE_EXPEL", "1");
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_memory_throttling),      FIXTURE_TEST(test_memory_policies_of_pods),
        FIXTURE_TEST(test_memory_without_a_class), FIXTURE_TEST(test_page_cache_limits),
        FIXTURE_TEST(test_resctrl_lines),          FIXTURE_TEST(test_resctrl_with_code_and_data),
        FIXTURE_TEST(test_resctrl_group_of_a_pod), FIXTURE_TEST(test_blocks_that_went_are_reset),
        FIXTURE_TEST(test_system_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
