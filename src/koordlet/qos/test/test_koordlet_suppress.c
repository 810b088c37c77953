/* test_koordlet_suppress.c - how best effort is held back (koordlet-qos 4, 5: what must hold). */
#include "koordlet/qos/suppress/suppress.h"
#include "koordlet/qos/test/plan_fixture.h"

#define POD(name, label)                                                                     \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{" label "}}," \
    "'spec':{'containers':[{'name':'c'" REQUESTS "}]},'status':{'phase':'Running'}}"
#define REQUESTS ",'resources':{'requests':{'cpu':'1'}}"
#define LS(name) POD(name, "'koordinator.sh/qosClass':'LS'")
#define BE(name) POD(name, "'koordinator.sh/qosClass':'BE'")

/* ---- the budget ------------------------------------------------------------------------------ */

struct budget_case {
    const char *capacity;
    double node, ls, be, unknown, ls_app, be_app;
    int64_t min; /* 0: not set */
    int64_t milli;
};

static void check_budget(struct object_fixture *b, const struct budget_case *c)
{
    CLEANUP(podset_unref) struct podset *pods = pods_of(b, "[" LS("ls") "," BE("be") "]");
    CLEANUP(mem_free)
    char *json = xasprintf("{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'%s'},"
                           "'allocatable':{'cpu':'%s'}}}",
                           c->capacity, c->capacity);
    CLEANUP(kobj_unref) struct kobj *node = fixture_object(b, &kind_node, json);
    struct cgroup_path among = { .base = "KubepodsBesteffort" };
    struct host_application apps[] = { { .name = "a", .qos = "LS" },
                                       { .name = "b", .qos = "BE", .cgroup_path = &among } };
    struct suppress_used used[] = { { pod_named(pods, "ls"), c->ls },
                                    { pod_named(pods, "be"), c->be },
                                    { NULL, c->unknown } };
    struct suppress_app app_used[] = { { &apps[0], c->ls_app }, { &apps[1], c->be_app } };
    struct threshold_strategy slo = { .cpu_suppress_threshold_percent = { true, 70 },
                                      .cpu_suppress_min_percent = { c->min > 0, c->min } };
    struct suppress_usage u = { c->node, used, app_used, 3, 2 };

    assert_int_equal(suppress_budget(node_of(node), &slo, &u, b->arena).milli, c->milli);
}

static void test_budget(void **state)
{
    static const struct budget_case cases[] = {
        { "20", 12, 8, 2, 0, 0, 0, 0, 4000 }, { "20", 12, 8, 2, 0, 1, 0, 0, 4000 },
        { "20", 12, 8, 2, 0, 0, 1, 0, 5000 }, { "20", 12, 8, 2, 0, 0, 0, 60, 12000 },
        { "20", 11, 0, 4, 8, 0, 0, 0, 6000 }, { "0", 0, 0, 0, 0, 0, 0, 0, 0 },
        { "16", 12, 8, 2, 0, 0, 0, 0, 1200 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_budget(*state, &cases[i]);
}

static void test_reserved_cpu_counts_as_the_systems(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(kobj_unref)
    struct kobj *node = fixture_object(
        b, &kind_node,
        "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/reservation':"
        "'{\\'reservedCPUs\\':\\'0-2\\'}'}},'status':{'capacity':{'cpu':'20'},'allocatable':{"
        "'cpu':'18'}}}");
    struct threshold_strategy slo = { .cpu_suppress_threshold_percent = { true, 70 } };
    struct suppress_usage u = { .node_cores = 1 };

    assert_int_equal(suppress_budget(node_of(node), &slo, &u, b->arena).milli, 14000 - 3000);
}

/* ---- the quota ------------------------------------------------------------------------------- */

static void test_quota(void **state)
{
    static const struct {
        int64_t milli, now, next;
    } cases[] = {
        { 20000, 1000000, 1800000 }, { 20000, 1900000, 2000000 }, { 20000, 2400000, 2000000 },
        { 20000, 1980000, 1980000 }, { 20000, -1, 2000000 },      { 1, 80000, 2000 },
        { 300, -1, 30000 }, /* upstream leaves this one without a limit */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(suppress_quota(80000, cases[i].milli, cases[i].now), cases[i].next);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static void assert_picked(struct object_fixture *b, const struct cpu_place *from, uint32_t n,
                          uint32_t k, const int32_t *expected)
{
    int32_t got[64];

    assert_true(suppress_pick(from, n, k, b->arena, got));
    assert_memory_equal(got, expected, k * sizeof *expected);
}

static void test_pick(void **state)
{
    static const struct cpu_place halves[] = {
        { .cpu = 0 },
        { .cpu = 1, .core = 1 },
        { .cpu = 2, .core = 2, .node = 1, .socket = 1 },
        { .cpu = 3, .core = 3, .node = 1, .socket = 1 },
        { .cpu = 4 },
        { .cpu = 5, .core = 1 },
        { .cpu = 6, .core = 2, .node = 1, .socket = 1 },
        { .cpu = 7, .core = 3, .node = 1, .socket = 1 },
    };
    struct cpu_place next[8], many[16];

    assert_picked(*state, halves, 8, 3, (const int32_t[]){ 0, 4, 2 });
    for (int32_t i = 0; i < 8; i++)
        next[i] = (struct cpu_place){ .cpu = i, .core = i / 2, .node = i / 4, .socket = i / 4 };
    assert_picked(*state, next, 8, 3, (const int32_t[]){ 0, 1, 4 });
    for (int32_t i = 0; i < 16; i++) /* in another order */
        many[15 - i] =
            (struct cpu_place){ .cpu = i, .core = i / 2, .node = i / 4, .socket = i / 4 };
    assert_picked(*state, many, 16, 5, (const int32_t[]){ 0, 1, 4, 5, 8 });
    assert_false(suppress_pick(many, 16, 17, ((struct object_fixture *)*state)->arena, NULL));
}

#define BOUND(name, qos, cpus)                                                                    \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name                                 \
    "','labels':{'koordinator.sh/qosClass':'" qos "'},'annotations':{'scheduling.koordinator.sh/" \
    "resource-status':'{\\'cpuset\\':\\'" cpus "\\'}'}},'spec':{},'status':{'phase':'Running'}}"

static void test_cpus_for_a_budget(void **state)
{
    static const struct {
        const char *old, *reserved, *expected;
    } cases[] = {
        { "0-3", "", "2-4" }, { "0-1", "", "2-4" },        { "0-3", "3", "0,4-5" },
        { "0-3", "1-6", "" }, { "0-3", "0-1,5-6", "2-4" },
    };
    struct object_fixture *b = *state;
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(b, "[" BOUND("a", "LSR", "0,6") "," BOUND("b", "LSE", "7") "]");
    struct cpu_place places[8];

    for (int32_t i = 0; i < 8; i++)
        places[i] = (struct cpu_place){ .cpu = i, .core = i / 2, .node = i / 4 };
    struct cpu_info cpus = { .cpus = places, .n = 8 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kstrpair pair = { "node.koordinator.sh/reservation",
                                 arena_printf(b->arena, "{\"reservedCPUs\":\"%s\"}",
                                              cases[i].reserved) };
        kstrmap topology = { &pair, 1 };
        struct suppress_machine m = { &cpus, &topology, pods->pods, pods->n };
        struct cpuset old;
        assert_int_equal(cpuset_parse(cases[i].old, strlen(cases[i].old), &old, NULL), 0);
        struct cpuset got = suppress_cpus(&m, 3000, &old, b->arena);
        assert_string_equal(cpuset_format(&got, b->arena), cases[i].expected);
    }
}

/* Upstream divides by the number of CPUs that are left. */
static void test_no_cpu_is_left(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(podset_unref) struct podset *pods = pods_of(b, "[" BOUND("b", "LSE", "0-1") "]");
    struct cpu_place places[2] = { { .cpu = 0 }, { .cpu = 1 } };
    struct cpu_info cpus = { .cpus = places, .n = 2 };
    kstrmap none = { 0 };
    struct suppress_machine m = { &cpus, &none, pods->pods, pods->n };
    struct cpuset old = { 0 };

    struct cpuset got = suppress_cpus(&m, 3000, &old, b->arena);
    assert_true(cpuset_is_empty(&got));
}

/* ---- decisions ------------------------------------------------------------------------------- */

struct fixture {
    struct object_fixture *b;
    struct podset *pods;
    struct kobj *node;
    struct cpu_place places[16];
    struct cpu_info cpus;
    struct kstrpair annotation;
    kstrmap topology;
    struct view_fixture view;
    struct snapshot known;
    struct suppress_used used[2];
    struct suppress_in in;
    struct plan *plan;
};

#define BE_POD(name, annotations, id)                                                              \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{'koordinator."      \
    "sh/qosClass':'BE'},'annotations':{" annotations "}},'spec':{'containers':[{'name':'c'}]},"    \
    "'status':{'phase':'Running','containerStatuses':[{'name':'c','containerID':'containerd://" id \
    "','state':{'running':{}}}]}}"
#define NUMA \
    "'scheduling.koordinator.sh/resource-status':'{\\'numaNodeResources\\':[{\\'node\\':0}]}'"

static void init(struct fixture *f, struct object_fixture *b, const char *slo)
{
    *f = (struct fixture){ .b = b, .view = { .quota = -1, .cpus = "0-3" } };
    f->pods =
        pods_of(b, "[" LS("ls") "," BE_POD("be", "", "b1") "," BE_POD("numa", NUMA, "n1") "]");
    f->node = fixture_object(b, &kind_node,
                             "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'16'},"
                             "'allocatable':{'cpu':'16'}}}");
    for (int32_t i = 0; i < 16; i++)
        f->places[i] = (struct cpu_place){ .cpu = i, .core = i / 2, .node = i / 8 };
    f->cpus = (struct cpu_info){ .cpus = f->places, .n = 16 };
    f->topology = (kstrmap){ &f->annotation, 0 };
    f->known = (struct snapshot){
        .refs = 1, .node = node_of(f->node), .pods = f->pods, .slo = slo_of(b, slo)
    };
    f->used[0] = (struct suppress_used){ pod_named(f->pods, "ls"), 8 };
    f->used[1] = (struct suppress_used){ pod_named(f->pods, "be"), 2 };
    f->in = (struct suppress_in){
        .known = &f->known,
        .machine = { &f->cpus, &f->topology, f->pods->pods, f->pods->n },
        .usage_known = true,
        .usage = { .node_cores = 12, .pods = f->used, .npods = 2 },
        .view = view_of(&f->view),
        .driver = CGROUP_SYSTEMD,
    };
    f->plan = plan_new(PLAN_CPU_SUPPRESS);
}

static void fini(struct fixture *f)
{
    plan_free(f->plan);
    podset_unref(f->pods);
    kobj_unref(f->node);
}

static void decide(struct fixture *f)
{
    struct suppress_decision d;

    plan_reset(f->plan, NULL);
    assert_int_equal(suppress_decide(&f->in, f->b->arena, &d), 1);
    suppress_propose(&d, &f->in, f->plan);
}

static void assert_cpus(struct fixture *f, const char *class, const char *pod,
                        const char *container)
{
    assert_proposed(f->plan, CLASS_BE, PLAN_CPUSET_CPUS, class);
    assert_proposed(f->plan, BE_DIR("be"), PLAN_CPUSET_CPUS, pod);
    assert_proposed(f->plan, IN(BE_DIR("be"), "b1"), PLAN_CPUSET_CPUS, container);
}

#define THRESHOLD(more) \
    "{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressThresholdPercent':70" more "}}"

static void test_by_quota_gives_all_cpus_back(void **state)
{
    struct fixture f;

    init(&f, *state, THRESHOLD(",'cpuSuppressPolicy':'cfsQuota'"));
    decide(&f);
    assert_proposed(f.plan, CLASS_BE, PLAN_CPU_QUOTA, "120000");
    assert_cpus(&f, "0-15", "0-15", "0-15");
    fini(&f);
}

static void test_by_cpus_narrows_class_pods_and_containers(void **state)
{
    struct fixture f;

    init(&f, *state, THRESHOLD(""));
    f.used[0].cores = 6; /* 11200 - 6000 - 4000 */
    decide(&f);
    assert_proposed(f.plan, CLASS_BE, PLAN_CPU_QUOTA, "-1");
    assert_cpus(&f, "0-1", "0-1", "0-1");
    f.used[0].cores = 8, f.in.usage.node_cores = 10; /* 11200 - 8000 */
    decide(&f);
    assert_cpus(&f, "0-1,8-9", "0-1,8-9", "0-1,8-9");
    fini(&f);
}

static void test_static_kubelet_narrows_containers_only(void **state)
{
    struct fixture f;

    init(&f, *state, THRESHOLD(""));
    f.annotation =
        (struct kstrpair){ "kubelet.koordinator.sh/cpu-manager-policy", "{\"policy\":\"static\"}" };
    f.topology.n = 1;
    f.used[0].cores = 8, f.in.usage.node_cores = 10;
    decide(&f);
    assert_cpus(&f, "0-15", "0-15", "0-1,8-9");
    fini(&f);
}

static void test_be_manager_leaves_bound_containers(void **state)
{
    struct fixture f;

    init(&f, *state, THRESHOLD(""));
    f.in.be_manager = true;
    decide(&f);
    assert_proposed(f.plan, CLASS_BE, PLAN_CPU_QUOTA, "-1");
    assert_cpus(&f, "0-15", "0-15", "0-15");
    assert_proposed(f.plan, BE_DIR("numa"), PLAN_CPUSET_CPUS, "0-15");
    assert_proposed(f.plan, IN(BE_DIR("numa"), "n1"), PLAN_CPUSET_CPUS, NULL);
    fini(&f);
}

static void test_switched_off_restores(void **state)
{
    struct fixture f;

    init(&f, *state, "{'resourceUsedThresholdWithBE':{'enable':false}}");
    f.in.usage_known = false;
    decide(&f);
    assert_proposed(f.plan, CLASS_BE, PLAN_CPU_QUOTA, "-1");
    assert_cpus(&f, "0-15", "0-15", "0-15");
    /* Without a topology the quota goes at least. */
    f.in.machine.topology = NULL;
    decide(&f);
    assert_proposed(f.plan, CLASS_BE, PLAN_CPU_QUOTA, "-1");
    assert_cpus(&f, NULL, NULL, NULL);
    fini(&f);
}

static void test_nothing_is_decided_in_the_dark(void **state)
{
    struct suppress_decision d;
    struct fixture f;

    init(&f, *state, THRESHOLD(""));
    f.in.usage_known = false;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 0);
    f.in.usage_known = true, f.in.machine.topology = NULL;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 0);
    f.in.machine.topology = &f.topology, f.known.node = NULL;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 0);
    f.known.node = node_of(f.node), f.known.slo = NULL;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 0);
    f.known.slo = slo_of(f.b, THRESHOLD("")), f.view.gone = true;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 0);
    f.view.gone = false;
    assert_int_equal(suppress_decide(&f.in, f.b->arena, &d), 1);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_budget),
        FIXTURE_TEST(test_reserved_cpu_counts_as_the_systems),
        FIXTURE_TEST(test_quota),
        FIXTURE_TEST(test_pick),
        FIXTURE_TEST(test_cpus_for_a_budget),
        FIXTURE_TEST(test_no_cpu_is_left),
        FIXTURE_TEST(test_by_quota_gives_all_cpus_back),
        FIXTURE_TEST(test_by_cpus_narrows_class_pods_and_containers),
        FIXTURE_TEST(test_static_kubelet_narrows_containers_only),
        FIXTURE_TEST(test_be_manager_leaves_bound_containers),
        FIXTURE_TEST(test_switched_off_restores),
        FIXTURE_TEST(test_nothing_is_decided_in_the_dark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
