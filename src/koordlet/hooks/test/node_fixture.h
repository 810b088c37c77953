/* node_fixture.h - a node of files with the hooks on it: pods, NodeSLO, executor, reconciler. */
#ifndef KOORD_KOORDLET_HOOKS_TEST_NODE_FIXTURE_H
#define KOORD_KOORDLET_HOOKS_TEST_NODE_FIXTURE_H
#include "koordlet/qos/test/qos_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "component/metrics.h"
#include "koordlet/hooks/reconcile.h"
#include "koordlet/hooks/tasks.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "koordlet/test/stub_events.h"
#include "loop/loop.h"

#define BE_POD "kubepods/besteffort/podbe"
#define LS_POD "kubepods/burstable/podls"

struct node_fixture {
    struct object_fixture *objects;
    struct fixture f;
    struct loop *loop;
    struct koordlet_options o;
    struct snapshots *snapshots;
    struct executor *executor;
    struct reconciler *hooks;
    struct kobj *nrt;
    struct metrics *metrics;
    struct stub_events api;
};

static inline UNUSED const kstrmap *topology(void *arg)
{
    const struct node_fixture *n = arg;
    return n->nrt ? &n->nrt->meta.annotations : NULL;
}

static inline UNUSED void cgroup(struct node_fixture *n, const char *dir, bool bvt)
{
    fixture_put(&n->f, "1024\n", "cgroup/cpu/%s/cpu.shares", dir);
    fixture_put(&n->f, "-1\n", "cgroup/cpu/%s/cpu.cfs_quota_us", dir);
    fixture_put(&n->f, "0\n", "cgroup/cpu/%s/cpu.idle", dir);
    fixture_put(&n->f, "0-15\n", "cgroup/cpuset/%s/cpuset.cpus", dir);
    fixture_put(&n->f, "9223372036854771712\n", "cgroup/memory/%s/memory.limit_in_bytes", dir);
    fixture_put(&n->f, "4242\n", "cgroup/cpu/%s/cgroup.procs", dir);
    if (bvt)
        fixture_put(&n->f, "0\n", "cgroup/cpu/%s/cpu.bvt_warp_ns", dir);
}

static inline UNUSED void node_init(struct node_fixture *n, struct object_fixture *b, bool bvt)
{
    static const char *const dirs[] = {
        "kubepods", "kubepods/burstable", "kubepods/besteffort",
        BE_POD,     BE_POD "/ctr",        BE_POD "/pause",
        LS_POD,     LS_POD "/ctr",        LS_POD "/init",
    };

    *n = (struct node_fixture){ .objects = b };
    fixture_init(&n->f);
    fixture_cgroup(&n->f, CGROUP_V1);
    fixture_put(&n->f, "0-15\n", "cgroup/cpuset/cpuset.cpus");
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        cgroup(n, dirs[i], bvt);
    fixture_host(&n->f);
    assert_int_equal(host_detect_driver(n->f.host, NULL), 0);
    gates_init(&n->o.gates, koordlet_gates, KOORDLET_GATES);
    n->o.hooks.reconcile_interval = 10 * NSEC_PER_SEC;
    struct stat st;
    assert_int_equal(stat(n->f.dir, &st), 0);
    n->loop = loop_new_virtual(st.st_mtim.tv_sec * NSEC_PER_SEC, 1);
    n->metrics = metrics_new();
    stub_events_init(&n->api, n->loop);
    n->snapshots = snapshots_new(n->loop);
    n->executor = executor_new(&(struct executor_env){ .loop = n->loop,
                                                       .host = n->f.host,
                                                       .ops = &executor_ops_host,
                                                       .ops_arg = n->f.host,
                                                       .force_update = 60 * NSEC_PER_SEC });
    n->hooks = reconciler_new(&(struct reconcile_env){ .loop = n->loop,
                                                       .host = n->f.host,
                                                       .snapshots = n->snapshots,
                                                       .executor = n->executor,
                                                       .o = &n->o,
                                                       .metrics = n->metrics,
                                                       .kube = &n->api.kube,
                                                       .node_name = "n",
                                                       .topology = topology,
                                                       .topology_arg = n });
    reconciler_start(n->hooks);
}

static inline UNUSED void node_fini_p(struct node_fixture *n)
{
    snapshots_free(n->snapshots);
    reconciler_free(n->hooks);
    executor_free(n->executor);
    loop_advance(n->loop, NSEC_PER_SEC);
    loop_free(n->loop);
    stub_events_fini(&n->api);
    metrics_free(n->metrics);
    kobj_unref(n->nrt);
    fixture_fini(&n->f);
}

static inline UNUSED void set_pods(struct node_fixture *n, const char *quoted)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    size_t count = kj_len(kj_root(doc));
    struct npod **pods = xnewn0(count + 1, struct npod *);
    struct kerr err = { 0 };

    for (size_t i = 0; i < count; i++)
        if (npod_decode(kj_at(kj_root(doc), i), 1, CGROUP_CGROUPFS, n->objects->scratch, &pods[i],
                        &err) < 0)
            fail_msg("%s", err.text);
    snapshots_set_pods(n->snapshots, podset_new(pods, count));
    snapshots_tell(n->snapshots, STATES_PODS);
    loop_advance(n->loop, 100 * NSEC_PER_MSEC);
}

static inline UNUSED void set_slo(struct node_fixture *n, const char *quoted)
{
    struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    struct nodeslo_spec *spec = arena_new0(a, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };

    assert_int_equal(nodeslo_merge(kj_root(doc), NULL, a, spec, why), 0);
    snapshots_set_nodeslo(n->snapshots, spec, a);
    snapshots_tell(n->snapshots, STATES_NODESLO);
    loop_advance(n->loop, 100 * NSEC_PER_MSEC);
}

static inline UNUSED void set_ratio(struct node_fixture *n, const char *ratio)
{
    struct kobj *node =
        fixture_object(n->objects, &kind_node,
                       arena_printf(n->objects->arena,
                                    "{'metadata':{'name':'n','annotations':{"
                                    "'node.koordinator.sh/cpu-normalization-ratio':'%s'}}}",
                                    ratio));

    snapshots_set_node(n->snapshots, node);
    snapshots_tell(n->snapshots, STATES_NODE);
    loop_advance(n->loop, 100 * NSEC_PER_MSEC);
    kobj_unref(node);
}

static inline UNUSED void expect(const struct node_fixture *n, const char *path, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char full[256];

    snprintf(full, sizeof full, "%s/%s", n->f.dir, path);
    assert_int_equal(file_read_all(AT_FDCWD, full, 1 << 20, &b, NULL), 0);
    if (!streq(strbuf_str(&b), want))
        fail_msg("%s: '%s', not '%s'", path, strbuf_str(&b), want);
}

#define BE(annotations)                                                                       \
    "{'metadata':{'name':'batch','namespace':'d','uid':'be','labels':{"                       \
    "'koordinator.sh/qosClass':'BE'},'annotations':{" annotations "}},'spec':{'containers':[" \
    "{'name':'main','resources':{'requests':{'kubernetes.io/batch-cpu':'500',"                \
    "'kubernetes.io/batch-memory':'1Gi'},'limits':{'kubernetes.io/batch-cpu':'500',"          \
    "'kubernetes.io/batch-memory':'1Gi'}}}]},'status':{'phase':'Running','qosClass':"         \
    "'BestEffort','containerStatuses':[{'name':'main','containerID':'containerd://ctr',"      \
    "'state':{'running':{}}}]}}"
#define LS(state)                                                                              \
    "{'metadata':{'name':'web','namespace':'d','uid':'ls','labels':{"                          \
    "'koordinator.sh/qosClass':'LS'}},'spec':{'initContainers':[{'name':'init','resources':"   \
    "{'limits':{'cpu':'1'}}}],'containers':[{'name':'main','resources':{'requests':"           \
    "{'cpu':'1'},'limits':{'cpu':'1'}}}]},'status':{'phase':'Pending','qosClass':'Burstable'," \
    "'initContainerStatuses':[{'name':'init','containerID':'containerd://init'}],"             \
    "'containerStatuses':[{'name':'main','containerID':'containerd://ctr','state':" state "}]}}"

static inline UNUSED void expect_metric(struct node_fixture *n, const char *line)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write(&n->metrics, 1, &text);
    assert_contains(strbuf_str(&text), line);
}
#endif
