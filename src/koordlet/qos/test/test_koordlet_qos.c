/* test_koordlet_qos.c - the strategies' rounds: what reaches the kernel, and when (koordlet-qos 3,
 * 5, 9). */
#include "base/test/asserts.h"
#include "koordlet/qos/test/acting_fixture.h"

#define LS_DIR BURSTABLE_DIR("ls")
#define BE_CTR IN(BE_DIR("be"), "b1")
#define LS_CTR IN(LS_DIR, "l1")
#define NODE_8                                                                   \
    "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'8','memory':'32Gi'}," \
    "'allocatable':{'cpu':'8','memory':'32Gi'}}}"
#define RUNNING(id)                                                                                \
    "'status':{'phase':'Running','containerStatuses':[{'name':'c','containerID':'containerd://" id \
    "','state':{'running':{}}}]}"
#define PODS                                                                                       \
    "[{'metadata':{'name':'ls','namespace':'d','uid':'ls','labels':{'koordinator.sh/qosClass':'LS" \
    "'}},'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':'2'},'requests':{'cpu':'"  \
    "1'}}}]}," RUNNING(                                                                            \
        "l1") "},{'metadata':{'name':'be','namespace':'d','uid':'be','labels':{'"                  \
              "koordinator.sh/qosClass':'BE'}},'spec':{'containers':[{'name':'c'}]}," RUNNING(     \
                  "b1") "}]"

struct fixture {
    struct acting a;
    struct podset *pods;
    struct kobj *node;
    struct snapshot known;
    double node_cores, ls_cores, be_cores, throttled;
};

static void init_on(struct fixture *f, struct object_fixture *b, enum cgroup_version v,
                    const char *slo)
{
    acting_init(&f->a, b, v, 1);
    f->pods = pods_of(b, PODS);
    f->node = fixture_object(b, &kind_node, NODE_8);
    f->known = (struct snapshot){
        .refs = 1, .node = node_of(f->node), .pods = f->pods, .slo = slo_of(b, slo)
    };
    snapshots_publish(f->a.snapshots, snapshot_ref(&f->known));
    model_mkdir(&f->a.model, BE_DIR("be"));
    model_mkdir(&f->a.model, BE_CTR);
    model_mkdir(&f->a.model, LS_DIR);
    model_mkdir(&f->a.model, LS_CTR);
    acting_dir(&f->a, LS_DIR)->quota = 200000;
    acting_dir(&f->a, LS_CTR)->quota = 200000;
    f->node_cores = 4, f->ls_cores = 2, f->be_cores = 1, f->throttled = 0;
}

static void init(struct fixture *f, struct object_fixture *b, const char *slo)
{
    init_on(f, b, CGROUP_V1, slo);
}

static void fini(struct fixture *f)
{
    acting_fini(&f->a);
    podset_unref(f->pods);
    kobj_unref(f->node);
}

static void second(struct fixture *f)
{
    /* Just before the round: the collectors run first. */
    loop_advance(f->a.l, SECOND - NSEC_PER_MSEC);
    acting_put(&f->a, M_NODE_CPU, NULL, f->node_cores);
    acting_put(&f->a, M_POD_CPU, "ls", f->ls_cores);
    acting_put(&f->a, M_POD_CPU, "be", f->be_cores);
    acting_put(&f->a, M_CONTAINER_THROTTLED, "containerd://l1", f->throttled);
    loop_advance(f->a.l, NSEC_PER_MSEC);
}

#define QUOTA                                                                       \
    "{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressPolicy':'cfsQuota'," \
    "'cpuSuppressThresholdPercent':70}}"
#define CPUSET "{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressThresholdPercent':70}}"

static void test_the_quota_follows_the_load(void **state)
{
    struct fixture f;

    init(&f, *state, QUOTA);
    acting_start(&f.a, "CPUBurst=false,RdtResctrl=false");
    second(&f); /* 5600 - 2000 - 1000 */
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 260000);
    f.ls_cores = 4, f.node_cores = 6;
    second(&f); /* 5600 - 4000 - 1000: at once */
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 60000);
    f.ls_cores = 1, f.node_cores = 3;
    second(&f); /* back by a tenth of the node in each round */
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 140000);
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 220000);
    /* Switched off: everything as it was. */
    f.known.slo = slo_of(f.a.b, "{}");
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, -1);
    assert_int_equal(f.a.model.refused, 0);
    fini(&f);
}

static void test_the_cpuset_follows_the_load(void **state)
{
    struct fixture f;

    init(&f, *state, CPUSET);
    acting_start(&f.a, "CPUBurst=false,RdtResctrl=false");
    second(&f); /* 2600 milli: three CPUs */
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->cpus, 7);
    assert_int_equal(acting_dir(&f.a, BE_DIR("be"))->cpus, 7);
    assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 7);
    f.ls_cores = 5, f.node_cores = 7;
    second(&f);
    assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 3);
    f.known.slo = slo_of(f.a.b, "{}");
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->cpus, 0xff);
    assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 0xff);
    assert_int_equal(f.a.model.refused, 0);
    fini(&f);
}

#define POLICY "kubelet.koordinator.sh/cpu-manager-policy"

/* koord#395, koord#546: the kubelet makes a pod's cgroups while best effort is held to few CPUs.
 * With its static policy it writes all CPUs of its pool to a new container, with none it writes
 * nothing. */
static void test_a_pod_starts_while_suppression_holds(void **state)
{
    static struct kstrpair policies[] = { { POLICY, "{\"policy\":\"none\"}" },
                                          { POLICY, "{\"policy\":\"static\"}" } };

    for (int i = 0; i < 2; i++) {
        struct fixture f;
        init(&f, *state, CPUSET);
        f.a.topology = (kstrmap){ .items = &policies[i], .n = 1 };
        acting_start(&f.a, "CPUBurst=false,RdtResctrl=false");
        second(&f);
        second(&f);
        assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 7);
        model_mkdir(&f.a.model, BE_DIR("new"));
        model_mkdir(&f.a.model, IN(BE_DIR("new"), "n1"));
        if (i == 1)
            assert_int_equal(model_write(&f.a.model, EXECUTOR_CGROUP,
                                         "cpuset/" IN(BE_DIR("new"), "n1") "/cpuset.cpus", "0-7", 3,
                                         false),
                             0);
        /* Suppression goes on as if it had always been there. */
        f.ls_cores = 5, f.node_cores = 7;
        second(&f);
        assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 3);
        assert_int_equal(f.a.model.refused, 0);
        assert_that(acting_dir(&f.a, IN(BE_DIR("new"), "n1"))->cpus, !=, 0);
        fini(&f);
    }
}

static void test_cgroup_v2_gets_the_same(void **state)
{
    struct fixture f;

    init_on(&f, *state, CGROUP_V2, QUOTA);
    acting_start(&f.a, "CPUBurst=true,RdtResctrl=false");
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 260000);
    f.ls_cores = 4, f.node_cores = 6;
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, 60000);
    f.known.slo = slo_of(f.a.b, CPUSET);
    f.ls_cores = 2, f.node_cores = 4;
    second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, -1);
    assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 7);
    f.known.slo = slo_of(f.a.b, "{}");
    second(&f);
    assert_int_equal(acting_dir(&f.a, BE_CTR)->cpus, 0xff);
    assert_int_equal(f.a.model.refused, 0);
    fini(&f);
}

static void test_a_throttled_container_bursts(void **state)
{
    struct fixture f;

    init(&f, *state, "{'cpuBurstStrategy':{'policy':'cfsQuotaBurstOnly'}}");
    acting_start(&f.a, "RdtResctrl=false");
    f.node_cores = 2;
    f.throttled = 0.5;
    second(&f);
    assert_int_equal(acting_dir(&f.a, LS_CTR)->quota, 240000);
    assert_int_equal(acting_dir(&f.a, LS_DIR)->quota, 240000);
    for (int i = 0; i < 20; i++)
        second(&f);
    assert_int_equal(acting_dir(&f.a, LS_CTR)->quota, 600000);
    f.node_cores = 8; /* the node is full: down again */
    for (int i = 0; i < 20; i++)
        second(&f);
    assert_int_equal(acting_dir(&f.a, LS_CTR)->quota, 200000);
    assert_int_equal(acting_dir(&f.a, LS_DIR)->quota, 200000);
    assert_int_equal(f.a.model.refused, 0);
    fini(&f);
}

/* Saved-up time above the quota is nothing this kernel takes: the executor fits it. */
static void test_saved_up_time_is_no_more_than_the_quota(void **state)
{
    struct fixture f;

    init(&f, *state, "{'cpuBurstStrategy':{'policy':'auto'}}");
    acting_start(&f.a, "RdtResctrl=false");
    second(&f);
    assert_int_equal(acting_dir(&f.a, LS_CTR)->burst, 200000);
    assert_int_equal(f.a.model.refused, 0);
    fini(&f);
}

static void test_a_round_without_news_touches_nothing(void **state)
{
    struct fixture f;

    init(&f, *state, QUOTA);
    acting_start(&f.a, "CPUBurst=true,RdtResctrl=false,CgroupReconcile=false");
    for (int i = 0; i < 5; i++)
        second(&f);
    unsigned reads = f.a.model.reads, writes = f.a.model.writes;
    uint64_t before = alloc_count();
    for (int i = 0; i < 10; i++)
        second(&f);
    assert_int_equal(f.a.model.reads, reads);
    assert_int_equal(f.a.model.writes, writes);
    /* Timers and samples of the test itself are the only allocations. */
    assert_in_range(alloc_count() - before, 0, 200);
    fini(&f);
}

static void test_no_strategy_without_its_interval_or_gate(void **state)
{
    struct fixture f;

    init(&f, *state, QUOTA);
    f.a.o.acting.cpu_suppress = 0;
    acting_start(&f.a, "CPUBurst=false,RdtResctrl=false");
    for (int i = 0; i < 3; i++)
        second(&f);
    assert_int_equal(acting_dir(&f.a, CLASS_BE)->quota, -1);
    assert_int_equal(f.a.model.writes, 0);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_quota_follows_the_load),
        FIXTURE_TEST(test_the_cpuset_follows_the_load),
        FIXTURE_TEST(test_a_pod_starts_while_suppression_holds),
        FIXTURE_TEST(test_cgroup_v2_gets_the_same),
        FIXTURE_TEST(test_a_throttled_container_bursts),
        FIXTURE_TEST(test_saved_up_time_is_no_more_than_the_quota),
        FIXTURE_TEST(test_a_round_without_news_touches_nothing),
        FIXTURE_TEST(test_no_strategy_without_its_interval_or_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
