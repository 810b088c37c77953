/* test_koordlet_hooks.c - the hooks as functions: stages, rules and plugins (koordlet-qos 14, 15).
 */
#include "koordlet/qos/test/qos_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "component/metrics.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "sys/file.h"

/* One pod p of class labels with annotations, in its JSON. */
#define POD(labels, annotations, kube_qos)                                            \
    "[{'metadata':{'name':'p','namespace':'d','uid':'u1','labels':{" labels           \
    "},'annotations':{" annotations                                                   \
    "}},'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'1'},"       \
    "'limits':{'cpu':'1'}}}]},'status':{'phase':'Running','qosClass':'" kube_qos "'," \
    "'containerStatuses':[{'name':'a','containerID':'containerd://x'}]}}]"
#define QOS(class) "'koordinator.sh/qosClass':'" class "'"

struct asked {
    struct podset *pods;
    struct hook_rules *rules;
    struct hook_context c;
};

static struct hook_rules *rules_of(struct object_fixture *b, const char *slo, const char *node,
                                   const char *nrt)
{
    struct kobj *n = node ? fixture_object(b, &kind_node, node) : NULL;
    struct kobj *t = nrt ? fixture_object(b, &kind_node, nrt) : NULL;
    struct kerr err = { 0 };
    struct hook_rules *r = hook_rules_new(
        &(struct hook_rules_in){ .slo = slo ? slo_of(b, slo) : NULL,
                                 .node_annotations = n ? &n->meta.annotations : NULL,
                                 .topology_annotations = t ? &t->meta.annotations : NULL,
                                 .hami_library = "/usr/local/vgpu/libvgpu.so",
                                 .sys_fd = -1 },
        &err);

    kobj_unref(n);
    kobj_unref(t);
    return r;
}

static void ask_begin(struct object_fixture *b, const char *pods, struct asked *ret)
{
    ret->pods = pods_of(b, pods);
}

static void ask_pod(struct object_fixture *b, struct asked *q)
{
    hook_context_pod(q->pods->pods[0], b->arena, &q->c);
}

static void ask_container(struct object_fixture *b, struct asked *q)
{
    const struct npod *p = q->pods->pods[0];
    hook_context_container(p, &npod_pod(p)->spec->containers.items[0], &p->containers[0], b->arena,
                           &q->c);
}

static void ask_end(struct asked *q)
{
    hook_context_fini(&q->c);
    podset_unref(q->pods);
    hook_rules_free(q->rules);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void test_hooks_of_a_stage_run_in_the_order_of_their_names(void **state)
{
    static const char *const want[] = { "BatchResource", "CPUNormalization", "CPUSetAllocator",
                                        "Resctrl",       "gpu env inject",   "rdma device inject" };
    size_t n = 0;

    (void)state;
    for (size_t i = 0; hook_plugins[i]; i++) {
        if (i > 0)
            assert_true(strcmp(hook_plugins[i - 1]->name, hook_plugins[i]->name) < 0);
        if (!hook_plugins[i]->stages[HOOK_PRE_CREATE_CONTAINER])
            continue;
        assert_string_equal(hook_plugins[i]->name, want[n++]);
    }
    assert_int_equal(n, ARRAY_LEN(want));
}

static void test_a_failed_hook_is_counted_under_its_stage(void **state)
{
    struct object_fixture *b = *state;
    struct asked q = { 0 };
    struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };
    struct hook_runner run = { .metrics = m, .node_name = "n" };

    ask_begin(b, POD(QOS("LS"), "'scheduling.koordinator.sh/resource-status':'bad'", "Burstable"),
              &q);
    q.rules = rules_of(b, "{}", NULL, NULL);
    ask_container(b, &q);
    run.on[GATE_CPU_SET_ALLOCATOR] = true;
    assert_int_equal(hooks_run(&run, HOOK_PRE_CREATE_CONTAINER, q.rules, &q.c, &err), 0);
    metrics_write(&m, 1, &text);
    assert_non_null(strstr(strbuf_str(&text), "hook=\"CPUSetAllocator\",node=\"n\","
                                              "stage=\"PreCreateContainer\",status=\"failed\"} 1"));
    run.policy = HOOK_FAIL;
    assert_true(hooks_run(&run, HOOK_PRE_CREATE_CONTAINER, q.rules, &q.c, &err) < 0);
    assert_non_null(strstr(err.text, "CPUSetAllocator"));
    metrics_free(m);
    ask_end(&q);
}

/* ---- GroupIdentity --------------------------------------------------------------------------- */

#define ALL_ON                                                       \
    "{'resourceQOSStrategy':{'lsrClass':{'cpuQOS':{'enable':true}}," \
    "'lsClass':{'cpuQOS':{'enable':true}},'beClass':{'cpuQOS':{'enable':true}}"
static void test_group_identity_rules(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(hook_rules_free) struct hook_rules *all = rules_of(b, ALL_ON "}}", NULL, NULL);
    CLEANUP(hook_rules_free)
    struct hook_rules *no_lsr =
        rules_of(b, "{'resourceQOSStrategy':{'lsClass':{'cpuQOS':{'enable':true}}}}", NULL, NULL);
    CLEANUP(hook_rules_free)
    struct hook_rules *core =
        rules_of(b, ALL_ON ",'policies':{'cpuPolicy':'coreSched'}}}", NULL, NULL);

    assert_true(all->bvt.enable);
    assert_int_equal(all->bvt.kube_dir[KUBE_QOS_GUARANTEED], 0);
    assert_int_equal(all->bvt.kube_dir[KUBE_QOS_BURSTABLE], 2);
    assert_int_equal(all->bvt.kube_dir[KUBE_QOS_BEST_EFFORT], -1);
    assert_int_equal(all->bvt.kube_pod[KUBE_QOS_GUARANTEED], 2);
    assert_int_equal(no_lsr->bvt.pod[QOS_LSR], 0);
    assert_int_equal(no_lsr->bvt.kube_pod[KUBE_QOS_GUARANTEED], 2);
    assert_false(core->bvt.enable);
    assert_int_equal(core->bvt.pod[QOS_LSR], 0);
    assert_int_equal(core->bvt.kube_dir[KUBE_QOS_BEST_EFFORT], 0);
    assert_true(core->core.enable);
}

static int bvt_of(struct object_fixture *b, const char *pods, int64_t *ret)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };

    ask_begin(b, pods, &q);
    q.rules = rules_of(b, ALL_ON "}}", NULL, NULL);
    ask_pod(b, &q);
    int code = hook_group_identity.stages[HOOK_PRE_RUN_POD_SANDBOX](q.rules, &q.c, &err);
    *ret = q.c.response.bvt.v;
    ask_end(&q);
    return code;
}

static void test_group_identity_of_pods(void **state)
{
    static const struct {
        const char *pod;
        int code;
        int64_t want;
    } cases[] = {
        { POD(QOS("LSR"), "", "Guaranteed"), 0, 2 },
        { POD(QOS("BE"), "", "BestEffort"), 0, -1 },
        { POD("", "", "Burstable"), 0, 2 },
        { POD(QOS("SYSTEM"), "", "BestEffort"), 0, -1 },
        { POD(QOS("LS"), "'koordinator.sh/cpuQOS':'{\\\"groupIdentity\\\":-1,\\\"enable\\\":true}'",
              "Burstable"),
          0, -1 },
        { POD(QOS("LS"), "'koordinator.sh/cpuQOS':'{\\\"groupIdentity\\\":-1}'", "Burstable"), 0,
          0 },
        { POD(QOS("LS"), "'koordinator.sh/cpuQOS':'{\\\"groupIdentity\\\":7,\\\"enable\\\":true}'",
              "Burstable"),
          -EINVAL, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got;
        assert_int_equal(bvt_of(*state, cases[i].pod, &got), cases[i].code);
        if (cases[i].code == 0)
            assert_int_equal(got, cases[i].want);
    }
}

/* ---- CPUSetAllocator ------------------------------------------------------------------------- */

#define POOLS                                                                           \
    "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/cpu-shared-pools':"    \
    "'[{\\\"socket\\\":0,\\\"node\\\":0,\\\"cpuset\\\":\\\"0-7\\\"},{\\\"socket\\\":0," \
    "\\\"node\\\":1,\\\"cpuset\\\":\\\"8-15\\\"}]'"
#define NONE_POLICY \
    POOLS ",'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":\\\"none\\\"}'}}}"
#define STATIC_POLICY \
    POOLS ",'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":\\\"static\\\"}'}}}"
#define STATUS(text) "'scheduling.koordinator.sh/resource-status':'" text "'"

static void expect_cpuset(struct object_fixture *b, const char *pods, const char *nrt,
                          const char *want)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };

    ask_begin(b, pods, &q);
    q.rules = rules_of(b, "{}", NULL, nrt);
    ask_container(b, &q);
    assert_int_equal(hook_cpuset_allocator.stages[HOOK_PRE_CREATE_CONTAINER](q.rules, &q.c, &err),
                     0);
    if (want)
        assert_string_equal(q.c.response.cpuset, want);
    else
        assert_null(q.c.response.cpuset);
    ask_end(&q);
}

static void test_cpusets(void **state)
{
    expect_cpuset(*state, POD(QOS("LS"), "", "Burstable"), NONE_POLICY, "0-7,8-15");
    expect_cpuset(*state,
                  POD(QOS("LS"),
                      STATUS("{\\\"numaNodeResources\\\":[{\\\"node\\\":0,"
                             "\\\"resources\\\":{\\\"cpu\\\":\\\"1\\\"}}]}"),
                      "Burstable"),
                  NONE_POLICY, "0-7");
    expect_cpuset(*state,
                  POD(QOS("LS"),
                      STATUS("{\\\"numaNodeResources\\\":[{\\\"node\\\":0,"
                             "\\\"resources\\\":{\\\"hugepages-2Mi\\\":\\\"1\\\"}}]}"),
                      "Burstable"),
                  NONE_POLICY, "0-7,8-15");
    expect_cpuset(*state, POD("", "", "Burstable"), NONE_POLICY, "0-7,8-15");
    expect_cpuset(*state, POD("", "", "Burstable"), STATIC_POLICY, NULL);
    expect_cpuset(*state, POD("", "", "BestEffort"), NONE_POLICY, "");
    expect_cpuset(*state, POD("", "", "Burstable"), NULL, NULL);
    expect_cpuset(*state, POD(QOS("LSR"), STATUS("{\\\"cpuset\\\":\\\"2,4\\\"}"), "Guaranteed"),
                  NULL, "2,4");
}

/* ---- BatchResource, CPUNormalization --------------------------------------------------------- */

static void expect_batch(struct object_fixture *b, const char *containers, const char *node,
                         int64_t shares, int64_t quota)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };
    const char *pods = arena_printf(
        b->arena,
        "[{'metadata':{'name':'p','namespace':'d','uid':'u1','labels':{" QOS(
            "BE") "}},'spec':{'containers':[%s]},'status':{'phase':'Running','qosClass':"
                  "'BestEffort'}}]",
        containers);

    ask_begin(b, pods, &q);
    q.rules = rules_of(b, "{}", node, NULL);
    ask_pod(b, &q);
    assert_int_equal(hook_batch_resource.stages[HOOK_PRE_RUN_POD_SANDBOX](q.rules, &q.c, &err), 0);
    assert_int_equal(q.c.response.cpu_shares.v, shares);
    assert_int_equal(q.c.response.cfs_quota.v, quota);
    ask_end(&q);
}

#define RATIO(r)                                                                               \
    "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/cpu-normalization-ratio':'" r \
    "'}}}"
#define BATCH(name, request, limit) \
    "{'name':'" name "','resources':{'requests':{" request "},'limits':{" limit "}}}"
#define CPU(n) "'kubernetes.io/batch-cpu':'" n "'"
static void test_batch_resources(void **state)
{
    expect_batch(*state, BATCH("a", CPU("500"), CPU("500")), NULL, 512, 50000);
    expect_batch(*state, BATCH("a", CPU("500"), CPU("500")), RATIO("1.2"), 512, 41667);
    expect_batch(*state, BATCH("a", CPU("500"), CPU("500")) "," BATCH("b", CPU("500"), ""), NULL,
                 1024, -1);
    expect_batch(*state, BATCH("a", "", CPU("1000")), NULL, 2, 100000);
}

static void test_normalization(void **state)
{
    static const struct {
        const char *ratio, *pod;
        bool set;
        int64_t want;
    } cases[] = {
        { RATIO("1.2"), POD(QOS("LS"), "", "Burstable"), true, 83334 },
        { RATIO("1.0"), POD(QOS("LS"), "", "Burstable"), true, 100000 },
        { RATIO("1.2"), POD(QOS("BE"), "", "Burstable"), false, 0 },
        { RATIO("-1"), POD(QOS("LS"), "", "Burstable"), false, 0 },
        { RATIO("1.2"), POD("", STATUS("{\\\"cpuset\\\":\\\"2,4\\\"}"), "Guaranteed"), false, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct asked q = { 0 };
        struct kerr err = { 0 };
        ask_begin(*state, cases[i].pod, &q);
        q.rules = rules_of(*state, "{}", cases[i].ratio, NULL);
        ask_container(*state, &q);
        hook_cpu_normalization.stages[HOOK_PRE_CREATE_CONTAINER](q.rules, &q.c, &err);
        assert_int_equal(q.c.response.cfs_quota.set, cases[i].set);
        if (cases[i].set)
            assert_int_equal(q.c.response.cfs_quota.v, cases[i].want);
        /* Without a quota there is nothing to lower. */
        q.c.response = (struct hook_resources){ 0 };
        q.c.requested.cfs_quota.v = -1;
        hook_cpu_normalization.stages[HOOK_PRE_CREATE_CONTAINER](q.rules, &q.c, &err);
        assert_false(q.c.response.cfs_quota.set);
        ask_end(&q);
    }
}

/* ---- devices, resctrl ------------------------------------------------------------------------ */

static void test_gpu_environment(void **state)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };
    static const char *const want[] = { "1", "17179869184", "50", "/usr/local/vgpu/libvgpu.so" };

    ask_begin(*state,
              POD("'koordinator.sh/gpu-isolation-provider':'HAMi-core'",
                  "'scheduling.koordinator.sh/device-allocated':'{\\\"gpu\\\":[{\\\"minor\\\":1,"
                  "\\\"resources\\\":{\\\"koordinator.sh/gpu-core\\\":\\\"50\\\","
                  "\\\"koordinator.sh/gpu-memory\\\":\\\"16Gi\\\","
                  "\\\"koordinator.sh/gpu-memory-ratio\\\":\\\"50\\\"}}]}'",
                  "Burstable"),
              &q);
    q.rules = rules_of(*state, "{}", NULL, NULL);
    q.rules->hami_monitor = true;
    ask_container(*state, &q);
    assert_int_equal(hook_gpu_env.stages[HOOK_PRE_CREATE_CONTAINER](q.rules, &q.c, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(q.c.envs.items[i].value, want[i]);
    assert_string_equal(q.c.envs.items[4].value, "/usr/local/vgpu/u1_a.cache");
    assert_string_equal(q.c.mounts.items[2].source, "/usr/local/vgpu/containers/u1_a");
    assert_string_equal(q.c.mounts.items[2].destination, "/usr/local/vgpu");
    ask_end(&q);
}

static void rdma_machine(const char *dir)
{
    char path[256];
    static const char *const nodes[] = { "rdma_cm", "uverbs0", "uverbs1" };

    snprintf(path, sizeof path, "%s/bus/pci/devices/0000:09:00.0/infiniband_verbs/uverbs0", dir);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    snprintf(path, sizeof path, "%s/bus/pci/devices/0000:09:00.1/infiniband_verbs/uverbs1", dir);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    snprintf(path, sizeof path, "%s/bus/pci/devices/0000:09:00.2/infiniband_verbs", dir);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    snprintf(path, sizeof path, "%s/infiniband", dir);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    for (unsigned i = 0; i < ARRAY_LEN(nodes); i++) {
        snprintf(path, sizeof path, "%s/infiniband/%s", dir, nodes[i]);
        assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(1, 3)), 0);
    }
}

static int rdma_of(struct object_fixture *b, const char *dir, const char *allocation,
                   const char *want)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    CLEANUP(fd_close) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *pods = arena_printf(
        b->arena,
        POD("", "'scheduling.koordinator.sh/device-allocated':'{\\\"rdma\\\":[%s]}'", "Burstable"),
        allocation);

    ask_begin(b, pods, &q);
    q.rules = rules_of(b, "{}", NULL, NULL);
    q.rules->sys_fd = fd;
    q.rules->dev_dir = dir;
    ask_container(b, &q);
    int code = hook_rdma_device.stages[HOOK_PRE_CREATE_CONTAINER](q.rules, &q.c, &err);
    vec_foreach(&q.c.devices, i) {
        strbuf_appendf(&got, "%s ", q.c.devices.items[i].path);
        assert_int_equal(q.c.devices.items[i].mode, 0666);
        assert_int_equal(q.c.devices.items[i].major, 1);
        assert_int_equal(q.c.devices.items[i].minor, 3);
    }
    assert_string_equal(strbuf_str(&got), want);
    ask_end(&q);
    return code;
}

static void test_rdma_devices(void **state)
{
    char dir[] = "/tmp/koord-rdma-XXXXXX", command[64];

    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    rdma_machine(dir);
    assert_int_equal(rdma_of(*state, dir, "{\\\"minor\\\":0,\\\"id\\\":\\\"0000:09:00.0\\\"}",
                             "/dev/infiniband/rdma_cm /dev/infiniband/uverbs0 "),
                     0);
    assert_int_equal(
        rdma_of(*state, dir,
                "{\\\"minor\\\":0,\\\"id\\\":\\\"0000:09:00.0\\\",\\\"extension\\\":"
                "{\\\"vfs\\\":[{\\\"minor\\\":1,\\\"busID\\\":\\\"0000:09:00.1\\\"}]}}",
                "/dev/infiniband/rdma_cm /dev/infiniband/uverbs1 "),
        0);
    assert_true(rdma_of(*state, dir, "{\\\"minor\\\":0,\\\"id\\\":\\\"0000:09:00.2\\\"}", "") < 0);
    assert_true(rdma_of(*state, dir, "{\\\"minor\\\":0,\\\"id\\\":\\\"../../x\\\"}", "") < 0);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void test_resctrl_of_a_pod(void **state)
{
    struct asked q = { 0 };
    struct kerr err = { 0 };
    const int32_t ids[] = { 0, 1 };

    ask_begin(*state,
              POD("",
                  "'node.koordinator.sh/resctrl':'{\\\"llc\\\":{\\\"schemata\\\":{\\\"range\\\":"
                  "[0,30]}},\\\"mb\\\":{\\\"schemata\\\":{\\\"percent\\\":25}}}'",
                  "Burstable"),
              &q);
    q.rules = rules_of(*state, "{}", NULL, NULL);
    ask_pod(*state, &q);
    hook_fn run = hook_resctrl.stages[HOOK_PRE_RUN_POD_SANDBOX];
    assert_int_equal(run(q.rules, &q.c, &err), -EOPNOTSUPP); /* not mounted */
    q.rules->resctrl = (struct rule_resctrl){ true, 0x7ff, "GenuineIntel", ids, 2 };
    assert_int_equal(run(q.rules, &q.c, &err), 0);
    assert_string_equal(q.c.resctrl.closid, "koordlet-u1");
    assert_string_equal(q.c.resctrl.schemata, "L3:0=f;1=f;\nMB:0=30;1=30;\n");
    ask_end(&q);
}

static void test_a_pod_knows_its_init_containers_and_addresses(void **state)
{
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(
        *state, "[{'metadata':{'name':'p','namespace':'d','uid':'u1'},'spec':{'containers':[]},"
                "'status':{'qosClass':'Guaranteed','podIP':'10.0.0.1','podIPs':[{'ip':'10.0.0.1'},"
                "{'ip':'fd00::1'}],'initContainerStatuses':[{'name':'i','containerID':"
                "'containerd://x'},{'name':'j','containerID':'vm://y'}]}},"
                "{'metadata':{'name':'q','namespace':'d','uid':'u2'},'spec':{'containers':[]},"
                "'status':{'qosClass':'Guaranteed','podIP':'10.0.0.2'}}]");
    const struct npod *p = pods->pods[0], *q = pods->pods[1];

    assert_int_equal(p->ncontainers, 0);
    assert_int_equal(p->ninit_containers, 2);
    assert_string_equal(p->init_containers[0].cgroup_dir,
                        "kubepods.slice/kubepods-podu1.slice/cri-containerd-x.scope");
    assert_string_equal(p->init_containers[0].dir, "cri-containerd-x.scope");
    assert_null(p->init_containers[1].cgroup_dir);
    assert_int_equal(p->nips, 2);
    assert_string_equal(p->ips[1], "fd00::1");
    assert_int_equal(q->nips, 1);
    assert_string_equal(q->ips[0], "10.0.0.2");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_hooks_of_a_stage_run_in_the_order_of_their_names),
        FIXTURE_TEST(test_a_failed_hook_is_counted_under_its_stage),
        FIXTURE_TEST(test_group_identity_rules),
        FIXTURE_TEST(test_group_identity_of_pods),
        FIXTURE_TEST(test_cpusets),
        FIXTURE_TEST(test_batch_resources),
        FIXTURE_TEST(test_normalization),
        FIXTURE_TEST(test_gpu_environment),
        FIXTURE_TEST(test_rdma_devices),
        FIXTURE_TEST(test_resctrl_of_a_pod),
        FIXTURE_TEST(test_a_pod_knows_its_init_containers_and_addresses),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
