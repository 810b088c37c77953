/* bench_device.c - what devices cost: the scheduler alone, as in bench_scheduler.c.
 *
 *     bench_device drain NAME [NODES PODS]
 *
 * Nodes of 8 GPUs and 4 RDMA devices with 8 virtual functions each, on four PCIes and two NUMA
 * nodes. basic: pods without devices, without the plugin; none: the same with it; half: half cards;
 * joint: a GPU and an RDMA device on one PCIe; aligned: 4 GPUs and 4 CPUs on one NUMA node; shapes:
 * 100 kinds of requests in turn; changing: half cards while 100 Devices change each second. One
 * line: a name, then words with numbers; node_bytes: heap that
 * scheduling the pods took, by node: none less basic is what the plugin keeps.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "memkube.h"

#include "api/koord/device.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum {
    NODES = 5000,
    PODS = 10000,
    GPUS = 8,
    RDMAS = 4,
    VFS = 8,
    SHAPES = 100,
    CHANGES = 100,
    INIT = 1000
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static nsec_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

static const char *node_text(int i, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{"
                   "'kubernetes.io/hostname':'node-%d'}},'status':{'allocatable':{'cpu':'128',"
                   "'memory':'512Gi','pods':'110','koordinator.sh/gpu':'800','koordinator.sh/"
                   "gpu-core':'800','koordinator.sh/gpu-memory-ratio':'800','koordinator.sh/rdma':"
                   "'400'}}}",
                   i, i, i);
    return quoted(b);
}

static const char *device_text(int i, int revision, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'node-%d','uid':'d%d','resourceVersion':'%d'},'spec':{"
                   "'devices':[",
                   i, i, revision);
    for (int g = 0; g < GPUS; g++)
        strbuf_appendf(b,
                       "%s{'type':'gpu','minor':%d,'id':'GPU-%d-%d','health':true,'resources':{"
                       "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100',"
                       "'koordinator.sh/gpu-memory':'80Gi'},'topology':{'socketID':%d,'nodeID':%d,"
                       "'pcieID':'%d','busID':'0000:%02d:00.0'}}",
                       g ? "," : "", g, i, g, g / 4, g / 4, g / 2, g);
    for (int r = 0; r < RDMAS; r++) {
        strbuf_appendf(b,
                       ",{'type':'rdma','minor':%d,'id':'0000:%d0:00.0','health':true,'resources':{"
                       "'koordinator.sh/rdma':'100'},'topology':{'socketID':%d,'nodeID':%d,"
                       "'pcieID':'%d','busID':'0000:%d0:00.0'},'vfGroups':[{'vfs':[",
                       r, r, r / 2, r / 2, r, r);
        for (int v = 0; v < VFS; v++)
            strbuf_appendf(b, "%s{'minor':%d,'busID':'0000:%d0:00.%d'}", v ? "," : "", v, r, v);
        strbuf_append(b, "]}]}");
    }
    strbuf_append(b, "]}}");
    return quoted(b);
}

static const char *topology_text(int i, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'node-%d','uid':'t%d','resourceVersion':'1','annotations':{"
                   "'node.koordinator.sh/cpu-topology':'{\\'detail\\':[",
                   i, i);
    for (int c = 0; c < 128; c++)
        strbuf_appendf(b, "%s{\\'id\\':%d,\\'core\\':%d,\\'socket\\':%d,\\'node\\':%d}",
                       c ? "," : "", c, c / 2, c / 64, c / 64);
    strbuf_append(b, "]}'}},'zones':[");
    for (int z = 0; z < 2; z++)
        strbuf_appendf(b,
                       "%s{'name':'node-%d','type':'Node','resources':[{'name':'cpu',"
                       "'allocatable':'64'},{'name':'memory','allocatable':'256Gi'}]}",
                       z ? "," : "", z);
    strbuf_append(b, "],'topologyPolicies':['SingleNUMANodePodLevel']}");
    return quoted(b);
}

/* ---- workloads ------------------------------------------------------------------------------- */

enum request { KIND_NONE, KIND_HALF, KIND_JOINT, KIND_FOUR, KIND_SHAPES };
struct workload {
    const char *name;
    enum request kind;
    bool devices, numa, changing;
    int pods; /* as many as the nodes have room for, at most */
};
static const struct workload workloads[] = {
    { "basic", KIND_NONE, false, false, false, PODS },
    { "none", KIND_NONE, true, false, false, PODS },
    { "half", KIND_HALF, true, false, false, PODS },
    { "joint", KIND_JOINT, true, false, false, PODS },
    { "aligned", KIND_FOUR, true, true, false, PODS / 2 },
    { "shapes", KIND_SHAPES, true, false, false, PODS },
    { "changing", KIND_HALF, true, false, true, PODS },
};

static void write_requests(const struct workload *w, int i, struct strbuf *b)
{
    int shape = i % SHAPES;

    strbuf_append(b, "'cpu':'1','memory':'1Gi'");
    switch (w->kind) {
    case KIND_NONE: break;
    case KIND_HALF: strbuf_append(b, ",'koordinator.sh/gpu':'50'"); break;
    case KIND_JOINT:
        strbuf_append(b, ",'koordinator.sh/gpu':'100','koordinator.sh/rdma':'1'");
        break;
    case KIND_FOUR: strbuf_append(b, ",'koordinator.sh/gpu':'400'"); break;
    case KIND_SHAPES:
        if (shape % 4)
            strbuf_appendf(b, ",'koordinator.sh/gpu':'%d'", 1 + shape);
        else
            strbuf_appendf(b, ",'koordinator.sh/gpu':'%d'", 100 * (1 + shape / 4 % 2));
        break;
    }
}

static const char *pod_text(const struct workload *w, int i, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(
        b,
        "{'metadata':{'name':'pod-%d','namespace':'default','uid':'00000000-0000-4000-8000-%012d',"
        "'resourceVersion':'1','labels':{'shape':'s%d'},'annotations':{%s}},'spec':{"
        "'schedulerName':'koord-scheduler','priority':9500,'containers':[{'name':'c','image':"
        "'registry.k8s.io/pause:3.10','resources':{'requests':{",
        i, i, w->kind == KIND_SHAPES ? i % SHAPES : 0,
        w->kind == KIND_JOINT ? "'scheduling.koordinator.sh/device-joint-allocate':"
                                "'{\\'deviceTypes\\':[\\'gpu\\',\\'rdma\\'],\\'requiredScope\\':"
                                "\\'SamePCIe\\'}','scheduling.koordinator.sh/device-allocate-hint'"
                                ":'{\\'rdma\\':{\\'vfSelector\\':{}}}'"
                              : "");
    write_requests(w, i, b);
    strbuf_append(b, "}}}]},'status':{'phase':'Pending'}}");
    return quoted(b);
}

/* ---- the engine ------------------------------------------------------------------------------ */

struct bench {
    const struct workload *w;
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    int nodes, pods, bound, changed;
    nsec_t began;
    struct kj_doc **news; /* [nodes]: a further state of each Device */
};

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;

    (void)pod;
    b->bound++;
    int64_t due = (loop_stopwatch(b->loop) - b->began) * CHANGES / NSEC_PER_SEC;
    for (; b->w->changing && b->began && b->changed < due && b->changed < b->nodes; b->changed++)
        memkube_push_read(b->kube, "devices", KUBE_MODIFIED,
                          kj_root(b->news[(int64_t)b->changed * 7 % b->nodes]));
    if (b->bound == b->pods)
        loop_stop(b->loop);
}

static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s))
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, b);
}

static void add_objects(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    b->news = xnewn0((size_t)b->nodes, struct kj_doc *);
    for (int i = 0; i < b->nodes; i++) {
        memkube_add(b->kube, "nodes", node_text(i, &t));
        if (b->w->devices)
            memkube_add(b->kube, "devices", device_text(i, 1, &t));
        if (b->w->numa)
            memkube_add(b->kube, "noderesourcetopologies", topology_text(i, &t));
        const char *text = device_text(i, 2, &t);
        if (b->w->changing && kj_parse(text, strlen(text), 0, &b->news[i], NULL) < 0)
            abort();
    }
}

/* The default profile, and the plugins when they are asked for. */
static const struct ks_registered *table(const struct workload *w)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0;

    do {
        all[n] = ks_registry[n];
        if ((w->devices && all[n].plugin == &ks_plugin_device_share) ||
            (w->numa && all[n].plugin == &ks_plugin_node_numa_resource))
            all[n] = (struct ks_registered){ all[n].plugin, 1, true };
    } while (ks_registry[n++].plugin);
    return all;
}

static int drain(const struct workload *w, int nodes, int pods)
{
    struct bench b = { .w = w, .nodes = nodes, .pods = pods };
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    struct intern *strings = intern_new();
    struct metrics *metrics = metrics_new();
    struct kerr err = { 0 };

    b.loop = loop_new();
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    add_objects(&b);
    b.s = scheduler_new(b.loop, b.kube,
                        &(struct scheduler_opts){ .metrics = metrics, .plugins = table(w) }, &err);
    if (!b.s) {
        fprintf(stderr, "bench_device: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    size_t before = heap();
    int init = pods / 10 < INIT ? pods / 10 : INIT; /* as SchedulingBasic has them */
    for (int i = 0; i < init; i++)
        memkube_push(b.kube, "pods", KUBE_ADDED, pod_text(w, pods + i, &t));
    b.pods = init;
    loop_run(b.loop);
    b.bound = 0;
    b.pods = pods;
    for (int i = 0; i < pods; i++)
        memkube_push(b.kube, "pods", KUBE_ADDED, pod_text(w, i, &t));
    b.began = loop_stopwatch(b.loop);
    nsec_t cpu = cpu_time();
    loop_run(b.loop);
    double took = (double)(loop_stopwatch(b.loop) - b.began) / 1e9;
    struct scheduler_stats st = scheduler_stats(b.s);
    printf("%s nodes=%d pods=%d rate=%.0f cpu_us=%.2f changed=%d reused=%.3f node_bytes=%zd\n",
           w->name, nodes, pods, pods / took, (double)(cpu_time() - cpu) / 1e3 / pods, b.changed,
           (double)st.reused / (double)st.attempts,
           ((ssize_t)heap() - (ssize_t)before) / (ssize_t)nodes);
    scheduler_free(b.s);
    metrics_free(metrics);
    kube_free(b.kube);
    for (int i = 0; i < nodes; i++)
        kj_doc_free(b.news[i]);
    free(b.news);
    intern_free(strings);
    loop_free(b.loop);
    return b.bound == pods ? 0 : 1;
}

int main(int argc, char **argv)
{
    klog_set_sink(quiet, NULL);
    for (size_t i = 0; argc > 2 && streq(argv[1], "drain") && i < ARRAY_LEN(workloads); i++)
        if (streq(argv[2], workloads[i].name))
            return drain(&workloads[i], argc > 4 ? atoi(argv[3]) : NODES,
                         argc > 4 ? atoi(argv[4]) : workloads[i].pods);
    fprintf(stderr, "usage: bench_device drain NAME [NODES PODS]\n");
    return 2;
}
