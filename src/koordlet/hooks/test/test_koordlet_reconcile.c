/* test_koordlet_reconcile.c - the hooks in reconcile mode, on files of cgroups. */
#include "koordlet/hooks/test/node_fixture.h"

static void test_batch_limits_stand_soon_after_the_pod_is_known(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    set_slo(&n, "{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}}}}");
    set_pods(&n, "[" BE("") "]");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.shares", "512");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.cfs_quota_us", "50000");
    expect(&n, "cgroup/cpu/" BE_POD "/ctr/cpu.cfs_quota_us", "50000");
    expect(&n, "cgroup/memory/" BE_POD "/ctr/memory.limit_in_bytes", "1073741824");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.bvt_warp_ns", "-1");
    expect(&n, "cgroup/cpu/kubepods/besteffort/cpu.bvt_warp_ns", "-1");
    expect(&n, "cgroup/cpu/kubepods/cpu.bvt_warp_ns", "0\n");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "0\n");
    /* Suppression by cfsQuota limits the class: the pods have no quota of their own. */
    set_slo(&n, "{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressPolicy':'cfsQuota'}}");
    expect(&n, "cgroup/cpu/" BE_POD "/ctr/cpu.cfs_quota_us", "-1");
}

static void test_without_group_identity_best_effort_pods_are_idle(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, false);
    set_pods(&n, "[" BE("") "," LS("{'running':{}}") "]");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "0\n");
    set_slo(&n, "{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}},'lsClass':"
                "{'cpuQOS':{'enable':true}}}}");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "1");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.idle", "0\n");
    expect(&n, "cgroup/cpu/kubepods/besteffort/cpu.idle", "0\n"); /* never the class */
    set_slo(&n, "{}");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "0");
}

static void test_normalization_waits_for_containers_that_still_start(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    gates_set(&n.o.gates, "CPUNormalization=true", NULL);
    set_ratio(&n, "1.20");
    set_pods(&n, "[" LS("{'waiting':{}}") "]");
    expect(&n, "cgroup/cpu/" LS_POD "/init/cpu.cfs_quota_us", "83334");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us", "-1\n");
    set_pods(&n, "[" LS("{'running':{}}") "]");
    expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "83334");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us", "83334");
    /* A Node that changed in something else is no reason to look at anything. */
    uint64_t reads = executor_stats(n.executor).reads;
    set_ratio(&n, "1.20");
    assert_int_equal(executor_stats(n.executor).reads, reads);
    /* A bad ratio switches it off: what the kubelet wrote is put back. */
    set_ratio(&n, "fast");
    expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "100000");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us", "100000");
}

static void test_cpusets_of_containers_and_sandboxes(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    n.nrt = fixture_object(
        n.objects, &kind_node,
        "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/cpu-shared-pools':"
        "'[{\\\"socket\\\":0,\\\"node\\\":0,\\\"cpuset\\\":\\\"2-7\\\"}]',"
        "'node.koordinator.sh/system-qos-resource':'{}'}}}");
    snapshots_tell(n.snapshots, STATES_TOPOLOGY);
    set_pods(&n,
             "[" LS("{'running':{}}") "," BE(
                 "'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":\\\"9\\\"}'") "]");
    expect(&n, "cgroup/cpuset/" LS_POD "/ctr/cpuset.cpus", "2-7");
    expect(&n, "cgroup/cpuset/" LS_POD "/init/cpuset.cpus", "2-7");
    expect(&n, "cgroup/cpuset/" BE_POD "/ctr/cpuset.cpus", "9");
    expect(&n, "cgroup/cpuset/" BE_POD "/pause/cpuset.cpus", "9");
    expect(&n, "cgroup/cpu/" BE_POD "/ctr/cpu.cfs_quota_us", "-1\n"); /* CPUs of its own */
}

static void test_oom_scores(void **state)
{
    static const struct {
        const char *annotations, *want;
    } cases[] = {
        { "'koordinator.sh/oom-score-adj':'100'", "100" },
        { "'koordinator.sh/oom-score-adj':'100','koordinator.sh/oom-score-adj-spec':"
          "'{\\\"main\\\":-500}'",
          "-500" },
        { "'koordinator.sh/oom-score-adj':'1001'", "7\n" },
        { "'koordinator.sh/oom-score-adj':'100','koordinator.sh/oom-score-adj-spec':'no'", "7\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(node_fini) struct node_fixture n;
        node_init(&n, *state, true);
        gates_set(&n.o.gates, "OOMScoreAdj=true", NULL);
        fixture_put(&n.f, "11\n4242\n", "cgroup/cpu/" BE_POD "/ctr/cgroup.procs"); /* 11 ended */
        fixture_put(&n.f, "7\n", "proc/4242/oom_score_adj");
        set_pods(&n, arena_printf(n.objects->arena, "[" BE("%s") "]", cases[i].annotations));
        expect(&n, "proc/4242/oom_score_adj", cases[i].want);
        /* Taking the annotation away does not revert. */
        set_pods(&n, "[" BE("") "]");
        loop_advance(n.loop, 11 * NSEC_PER_SEC);
        expect(&n, "proc/4242/oom_score_adj", cases[i].want);
    }
}

static void test_resctrl_groups_of_pods_come_and_go(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;
    char path[128];

    node_init(&n, *state, true);
    gates_set(&n.o.gates, "Resctrl=true", NULL);
    fixture_put(&n.f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/schemata");
    fixture_put(&n.f, "7ff\n", "sys-fs/resctrl/info/L3/cbm_mask");
    fixture_put(&n.f, "vendor_id : GenuineIntel\n", "proc/cpuinfo");
    fixture_put(&n.f, "31\n32\n", "cgroup/cpu/" BE_POD "/ctr/tasks");
    assert_int_equal(n.api.calls, 0);
    fixture_put(&n.f, "31\n", "sys-fs/resctrl/koordlet-be/tasks");
    fixture_put(&n.f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n",
                "sys-fs/resctrl/koordlet-be/schemata");
    set_pods(&n, "[" BE("'node.koordinator.sh/resctrl':'{\\\"llc\\\":{\\\"schemata\\\":"
                        "{\\\"range\\\":[0,30]}}}'") "]");
    expect(&n, "sys-fs/resctrl/koordlet-be/schemata", "L3:0=f;1=f;\n");
    expect(&n, "sys-fs/resctrl/koordlet-be/tasks", "31\n32"); /* only who was missing */
    fixture_remove(&n.f, "sys-fs/resctrl/koordlet-be/tasks");
    fixture_remove(&n.f, "sys-fs/resctrl/koordlet-be/schemata");
    set_pods(&n, "[]");
    loop_advance(n.loop, 30 * NSEC_PER_SEC); /* a group that we did not make, and young at first */
    snprintf(path, sizeof path, "%s/sys-fs/resctrl/koordlet-be", n.f.dir);
    assert_int_equal(access(path, F_OK), -1);
}

#define INVOKED "koordlet_runtime_hook_reconciler_invoked_duration_milliseconds_count{level="

/* One event and one line for a pod whose annotation is bad, again when the reason changes; the
 * others get what they should. */
static void test_a_refused_pod_is_told_of_once_and_counted(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    for (int i = 0; i < 3; i++)
        set_pods(&n, "[" BE("'scheduling.koordinator.sh/resource-status':'no'") "," LS(
                         "{'running':{}}") "]");
    loop_advance(n.loop, NSEC_PER_SEC);
    assert_int_equal(n.api.calls, 1);
    assert_contains(strbuf_str(&n.api.bodies), "\"reason\":\"RuntimeHookRefused\"");
    assert_contains(strbuf_str(&n.api.bodies), "\"component\":\"koordlet-runtimehook\"");
    assert_contains(strbuf_str(&n.api.bodies), "CPUSetAllocator leaves the pod as it is: ");
    assert_contains(strbuf_str(&n.api.bodies), "\"name\":\"batch\"");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.shares", "512"); /* BatchResource takes it */
    expect_metric(&n,
                  INVOKED "\"pod\",node=\"n\",resource_type=\"cpuset.cpus\",status=\"failed\"}");
    expect_metric(
        &n, INVOKED
        "\"container\",node=\"n\",resource_type=\"memory.limit_in_bytes\",status=\"succeeded\"} 3");
    set_pods(&n, "[" BE("'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":7}'") "]");
    loop_advance(n.loop, NSEC_PER_SEC);
    assert_int_equal(n.api.calls, 2);
}

/* Of each kind: one event naming pod and annotation, and what else the pod asks for is done. */
static void test_a_bad_annotation_is_ignored_and_told(void **state)
{
    static const struct {
        const char *annotation, *gates, *key;
    } cases[] = {
        { "'koordinator.sh/cpuBurst':'{\\\"cpuBurstPercent\\\":\\\"x\\\"}'", "CPUBurst=true",
          "koordinator.sh/cpuBurst" },
        { "'koordinator.sh/memoryQOS':'no'", "CgroupReconcile=true", "koordinator.sh/memoryQOS" },
        { "'koordinator.sh/blkioQOS':'[]'", "BlkIOReconcile=true", "koordinator.sh/blkioQOS" },
        { "'koordinator.sh/networkQOS':'{'", "TerwayQoS=true", "koordinator.sh/networkQOS" },
        { "'koordinator.sh/oom-score-adj':'1001'", "OOMScoreAdj=true",
          "koordinator.sh/oom-score-adj" },
        { "'koordinator.sh/oom-score-adj-spec':'no'", "OOMScoreAdj=true",
          "koordinator.sh/oom-score-adj-spec" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(node_fini) struct node_fixture n;
        node_init(&n, *state, true);
        gates_set(&n.o.gates, "CPUBurst=false", NULL);
        for (int k = 0; k < 2; k++) /* a gate that is off does not care */
            set_pods(&n, arena_printf(n.objects->arena, "[" BE("%s") "]", cases[i].annotation));
        assert_int_equal(n.api.calls, 0);
        gates_set(&n.o.gates, cases[i].gates, NULL);
        for (int k = 0; k < 2; k++)
            set_pods(&n, arena_printf(n.objects->arena, "[" BE("%s") "]", cases[i].annotation));
        assert_int_equal(n.api.calls, 1);
        assert_contains(strbuf_str(&n.api.bodies), "\"reason\":\"AnnotationInvalid\"");
        assert_contains(strbuf_str(&n.api.bodies), cases[i].key);
        assert_contains(strbuf_str(&n.api.bodies), "\"name\":\"batch\"");
        expect(&n, "cgroup/cpu/" BE_POD "/cpu.shares", "512");
    }
}

static void test_a_new_resctrl_group_gives_an_event(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    gates_set(&n.o.gates, "Resctrl=true", NULL);
    fixture_put(&n.f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/schemata");
    fixture_put(&n.f, "7ff\n", "sys-fs/resctrl/info/L3/cbm_mask");
    for (int i = 0; i < 2; i++)
        set_pods(&n, "[" BE("'node.koordinator.sh/resctrl':'{}'") "]");
    assert_int_equal(n.api.calls, 1);
    assert_contains(strbuf_str(&n.api.bodies), "\"reason\":\"Pod Level Resctrl\"");
    assert_contains(strbuf_str(&n.api.bodies), "Create Resctrl Group koordlet-be");
    assert_contains(strbuf_str(&n.api.bodies), "\"type\":\"Normal\"");
    set_pods(&n, "[" BE("'node.koordinator.sh/resctrl':'['") "]");
    loop_advance(n.loop, NSEC_PER_SEC);
    assert_int_equal(n.api.calls, 2);
    assert_contains(strbuf_str(&n.api.bodies), "\"type\":\"Warning\"");
}

static void test_a_start_puts_back_what_a_killed_agent_left(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    fixture_put(&n.f, "1\n", "cgroup/cpu/" BE_POD "/cpu.idle");
    fixture_put(&n.f, "83334\n", "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us");
    fixture_put(&n.f, "83334\n", "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us");
    set_pods(&n, "[" BE("") "," LS("{'running':{}}") "]");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "1\n"); /* not before the others had their say */
    loop_advance(n.loop, 11 * NSEC_PER_SEC);
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "0");
    expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "100000");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us", "100000");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.cfs_quota_us", "50000"); /* a hook's */
    /* Once: then the files are the kubelet's again. */
    loop_advance(n.loop, 10 * NSEC_PER_SEC);
    fixture_put(&n.f, "70000\n", "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us");
    loop_advance(n.loop, 120 * NSEC_PER_SEC);
    expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "70000\n");
}

static void test_what_others_want_is_not_a_leftover(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, false);
    gates_set(&n.o.gates, "CPUNormalization=true", NULL);
    set_ratio(&n, "1.20");
    set_slo(&n, "{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}}}}");
    set_pods(&n, "[" BE("") "," LS("{'running':{}}") "]");
    for (int i = 0; i < 3; i++) {
        expect(&n, "cgroup/cpu/" BE_POD "/cpu.idle", "1");
        expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "83334");
        loop_advance(n.loop, 10 * NSEC_PER_SEC);
    }
    /* Without a limit in force nothing is imposed: the kubelet may not enforce limits. */
    expect(&n, "cgroup/cpu/" LS_POD "/init/cpu.cfs_quota_us", "83334");
}

/* As an agent that was killed left it. */
static void test_restore_needs_nothing_but_the_pods(void **state)
{
    CLEANUP(node_fini) struct node_fixture n;

    node_init(&n, *state, true);
    fixture_put(&n.f, "0-15\n", "sys/devices/system/cpu/online");
    for (int cpu = 0; cpu < 16; cpu++)
        fixture_put(&n.f, "0\n", "sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
    fixture_put(&n.f, "2000\n", "cgroup/cpu/kubepods/besteffort/cpu.cfs_quota_us");
    fixture_put(&n.f, "0-1\n", "cgroup/cpuset/kubepods/besteffort/cpuset.cpus");
    fixture_put(&n.f, "0-1\n", "cgroup/cpuset/" BE_POD "/cpuset.cpus");
    fixture_put(&n.f, "0-1\n", "cgroup/cpuset/" BE_POD "/ctr/cpuset.cpus");
    fixture_put(&n.f, "-1\n", "cgroup/cpu/" BE_POD "/cpu.bvt_warp_ns");
    fixture_put(&n.f, "512\n", "cgroup/cpu/" BE_POD "/ctr/cpu.shares");
    fixture_put(&n.f, "50000\n", "cgroup/cpu/" BE_POD "/ctr/cpu.cfs_quota_us");
    fixture_put(&n.f, "120000\n", "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us");
    fixture_put(&n.f, "120000\n", "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us");
    fixture_dir(&n.f, "sys-fs/resctrl/BE");
    fixture_put(&n.f, "", "cgroup/blkio/kubepods/blkio.throttle.read_bps_device");
    fixture_put(&n.f, "8:0 1048576\n8:16 4096\n",
                "cgroup/blkio/kubepods/besteffort/blkio.throttle.read_bps_device");
    fixture_put(&n.f, "8:0 7\n", "cgroup/blkio/" BE_POD "/blkio.throttle.read_bps_device");
    fixture_put(&n.f, "4242\n4243\n", "cgroup/cpu/" BE_POD "/ctr/cgroup.procs");
    fixture_put(&n.f, "-500\n", "proc/4242/oom_score_adj"); /* ours */
    fixture_put(&n.f, "3\n", "proc/4243/oom_score_adj");    /* its own */
    gates_set(&n.o.gates, "OOMScoreAdj=true", NULL);
    set_pods(&n, "[]"); /* nothing of the hooks themselves */
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        fixture_doc("[" BE("'koordinator.sh/oom-score-adj':'-500'") "," LS("{'running':{}}") "]");
    struct npod **pods = xnewn0(3, struct npod *);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(npod_decode(kj_at(kj_root(doc), i), 1, CGROUP_CGROUPFS, n.objects->scratch,
                                     &pods[i], NULL),
                         0);
    snapshots_set_pods(n.snapshots, podset_new(pods, 2));
    reconciler_restore(n.hooks);
    expect(&n, "cgroup/cpu/kubepods/besteffort/cpu.cfs_quota_us", "-1");
    expect(&n, "cgroup/cpuset/kubepods/besteffort/cpuset.cpus", "0-15");
    expect(&n, "cgroup/cpuset/" BE_POD "/ctr/cpuset.cpus", "0-15");
    expect(&n, "cgroup/cpu/" BE_POD "/cpu.bvt_warp_ns", "0");
    expect(&n, "cgroup/cpu/" BE_POD "/ctr/cpu.shares", "2");
    expect(&n, "cgroup/cpu/" BE_POD "/ctr/cpu.cfs_quota_us", "-1");
    expect(&n, "cgroup/cpu/" LS_POD "/ctr/cpu.cfs_quota_us", "100000");
    expect(&n, "cgroup/cpu/" LS_POD "/cpu.cfs_quota_us", "100000");
    /* A write replaces what a file has; the kernel keeps the other lines. */
    expect(&n, "cgroup/blkio/kubepods/besteffort/blkio.throttle.read_bps_device", "8:16 0");
    expect(&n, "cgroup/blkio/" BE_POD "/blkio.throttle.read_bps_device", "8:0 0");
    expect(&n, "proc/4242/oom_score_adj", "1000");
    expect(&n, "proc/4243/oom_score_adj", "3\n");
    char path[128];
    snprintf(path, sizeof path, "%s/sys-fs/resctrl/BE", n.f.dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_scores_of_the_kubelet(void **state)
{
    static const struct {
        const char *spec, *qos;
        int64_t want;
    } cases[] = {
        { "'containers':[{'name':'c'}]", "BestEffort", 1000 },
        { "'containers':[{'name':'c'}]", "Guaranteed", -997 },
        { "'containers':[{'name':'c','resources':{'requests':{'memory':'4Gi'}}}]", "Burstable",
          600 },
        { "'containers':[{'name':'c','resources':{'requests':{'memory':'1'}}}]", "Burstable", 999 },
        { "'containers':[{'name':'c','resources':{'requests':{'memory':'10Gi'}}}]", "Burstable",
          3 },
        { "'priorityClassName':'system-node-critical','priority':2000001000,'containers':[{'name':"
          "'c'}]",
          "BestEffort", -997 },
    };
    struct object_fixture *b = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(podset_unref)
        struct podset *pods = pods_of(
            b, arena_printf(b->arena,
                            "[{'metadata':{'name':'p','namespace':'d','uid':'u'},'spec':{%s},"
                            "'status':{'phase':'Running','qosClass':'%s'}}]",
                            cases[i].spec, cases[i].qos));
        const struct npod *p = pods->pods[0];
        assert_int_equal(
            oom_score_of_kubelet(p, &npod_pod(p)->spec->containers.items[0], INT64_C(10) << 30),
            cases[i].want);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_batch_limits_stand_soon_after_the_pod_is_known),
        FIXTURE_TEST(test_without_group_identity_best_effort_pods_are_idle),
        FIXTURE_TEST(test_normalization_waits_for_containers_that_still_start),
        FIXTURE_TEST(test_cpusets_of_containers_and_sandboxes),
        FIXTURE_TEST(test_oom_scores),
        FIXTURE_TEST(test_resctrl_groups_of_pods_come_and_go),
        FIXTURE_TEST(test_a_refused_pod_is_told_of_once_and_counted),
        FIXTURE_TEST(test_a_bad_annotation_is_ignored_and_told),
        FIXTURE_TEST(test_a_new_resctrl_group_gives_an_event),
        FIXTURE_TEST(test_restore_needs_nothing_but_the_pods),
        FIXTURE_TEST(test_scores_of_the_kubelet),
        FIXTURE_TEST(test_a_start_puts_back_what_a_killed_agent_left),
        FIXTURE_TEST(test_what_others_want_is_not_a_leftover),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
