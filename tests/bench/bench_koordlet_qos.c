/* bench_koordlet_qos.c - what the acting half costs: strategies and executor with all gates on.
 *
 *     bench_koordlet_qos PODS SECONDS
 *
 * PODS pods of three containers, a third of them best effort, on a kernel that is a table in
 * memory. Samples are fed outside of the measured time. Prints one line of JSON: milliseconds of
 * CPU time until the first plans stand, microseconds a tick while nothing changes and while all
 * load changes, and allocations (but for the loop's timer), reads and writes in a tick without
 * news.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/map.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/executor.h"
#include "koordlet/facts/caps.h"
#include "koordlet/qos/qos.h"
#include "koordlet/states/nodeslo.h"
#include "loop/loop.h"
#include "json/kj.h"

enum { CONTAINERS = 3, CPUS = 64 };

/* ---- a kernel that takes everything ---------------------------------------------------------- */

struct file {
    char *path, *text;
};
struct kernel {
    struct map files;
    uint64_t reads, writes;
};

static const char *text_of(const char *path)
{
    return strstr(path, "cpuset.cpus") ? "0-63" : strstr(path, "quota") ? "-1" : "0";
}

static int k_read(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    struct kernel *k = arg;
    const struct file *f = map_getz(&k->files, path);

    (void)r;
    k->reads++;
    strbuf_appendf(out, "%s\n", f ? f->text : text_of(path));
    return 0;
}

static int k_write(void *arg, enum executor_root r, const char *path, const char *text, size_t n,
                   bool append)
{
    struct kernel *k = arg;
    struct file *f = map_getz(&k->files, path);

    (void)r, (void)append;
    k->writes++;
    if (!f) {
        f = xnew0(struct file);
        f->path = xstrdup(path);
        map_putz(&k->files, f->path, f);
    }
    free(f->text);
    f->text = xstrndup(text, n);
    return 0;
}

static int k_begin(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return 1;
}

static int k_end(void *arg, int opened, const char *text, size_t n)
{
    (void)arg, (void)opened, (void)text, (void)n;
    return 0;
}

static bool k_exists(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return true;
}

static int k_dir(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return 0;
}

static void k_list(void *arg, enum executor_root r, const char *path,
                   void (*fn)(void *to, const char *name), void *to)
{
    (void)arg, (void)r, (void)path, (void)fn, (void)to;
}

static const struct executor_ops kernel_ops = { k_read,   k_write, k_begin, k_end,
                                                k_exists, k_dir,   k_dir,   k_list };

/* ---- an API server that is never asked ------------------------------------------------------- */

static struct kube_call *no_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                 void *arg)
{
    (void)k, (void)r, (void)fn, (void)arg;
    abort();
}
static void no_cancel(struct kube_call *c)
{
    (void)c;
}
static const struct kube_ops no_kube = { .call = no_call, .cancel = no_cancel };

/* ---- pods and samples ------------------------------------------------------------------------ */

static struct podset *make_pods(unsigned n, struct kj_scratch *scratch)
{
    struct npod **pods = xnewn0(n + 1, struct npod *);
    struct kerr err;

    for (unsigned i = 0; i < n; i++) {
        CLEANUP(strbuf_fini) struct strbuf s = STRBUF_INIT;
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        bool be = i % 3 == 0;
        strbuf_appendf(
            &s,
            "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":\"uid%u\","
            "\"labels\":{\"koordinator.sh/qosClass\":\"%s\"}},\"spec\":{\"containers\":[",
            i, i, be ? "BE" : "LS");
        for (int c = 0; c < CONTAINERS; c++)
            strbuf_appendf(&s, "%s{\"name\":\"c%d\"%s}", c ? "," : "", c,
                           be ? ""
                              : ",\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                                "\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}");
        strbuf_appendf(&s, "]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[");
        for (int c = 0; c < CONTAINERS; c++)
            strbuf_appendf(&s,
                           "%s{\"name\":\"c%d\",\"containerID\":\"containerd://%064u\","
                           "\"state\":{\"running\":{}}}",
                           c ? "," : "", c, i * CONTAINERS + (unsigned)c);
        strbuf_appendf(&s, "]}}");
        if (kj_parse(strbuf_str(&s), s.len, 0, &doc, &err) < 0 ||
            npod_decode(kj_root(doc), i, CGROUP_SYSTEMD, scratch, &pods[i], &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
    }
    return podset_new(pods, n);
}

struct feed {
    struct series *node_cpu, *node_memory;
    struct series **pod_cpu, **pod_memory, **cpu, **throttled;
};

static void open_feed(struct feed *f, struct metriccache *mc, const struct podset *set)
{
    f->node_cpu = metriccache_open(mc, M_NODE_CPU, NULL);
    f->node_memory = metriccache_open(mc, M_NODE_MEMORY, NULL);
    f->pod_cpu = xnewn0(set->n, struct series *);
    f->pod_memory = xnewn0(set->n, struct series *);
    f->cpu = xnewn0((size_t)set->n * CONTAINERS, struct series *);
    f->throttled = xnewn0((size_t)set->n * CONTAINERS, struct series *);
    for (uint32_t i = 0; i < set->n; i++) {
        f->pod_cpu[i] = metriccache_open(mc, M_POD_CPU, METRIC_VALUES(set->pods[i]->uid));
        f->pod_memory[i] = metriccache_open(mc, M_POD_MEMORY, METRIC_VALUES(set->pods[i]->uid));
        for (int c = 0; c < CONTAINERS; c++) {
            const char *const id[] = { set->pods[i]->containers[c].id };
            f->cpu[i * CONTAINERS + (uint32_t)c] = metriccache_open(mc, M_CONTAINER_CPU, id);
            f->throttled[i * CONTAINERS + (uint32_t)c] =
                metriccache_open(mc, M_CONTAINER_THROTTLED, id);
        }
    }
}

static void feed(const struct feed *f, const struct podset *set, int64_t ms, double load,
                 double throttled)
{
    series_append(f->node_cpu, ms, load, NULL);
    series_append(f->node_memory, ms, 64e9, NULL);
    for (uint32_t i = 0; i < set->n; i++) {
        series_append(f->pod_cpu[i], ms, load / (2 * set->n), NULL);
        series_append(f->pod_memory[i], ms, 1e8, NULL);
    }
    for (uint32_t i = 0; i < set->n * CONTAINERS; i++) {
        series_append(f->cpu[i], ms, 0.1, NULL);
        series_append(f->throttled[i], ms, throttled, NULL);
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double cpu_us(void)
{
    return (double)clock() * 1e6 / CLOCKS_PER_SEC;
}

static const kstrmap *topology(void *arg)
{
    static const kstrmap none = { 0 };

    (void)arg;
    return &none;
}

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

#define SLO                                                                                        \
    "{\"resourceUsedThresholdWithBE\":{\"enable\":true,\"cpuSuppressPolicy\":\"cfsQuota\","        \
    "\"memoryEvictThresholdPercent\":90,\"cpuEvictThresholdPercent\":95,"                          \
    "\"evictEnabledPriorityThreshold\":5999},\"cpuBurstStrategy\":{\"policy\":\"auto\"},"          \
    "\"resourceQOSStrategy\":{\"lsClass\":{\"memoryQOS\":{\"enable\":true,\"minLimitPercent\":50}" \
    "}}}"
#define NODE                                                                              \
    "{\"metadata\":{\"name\":\"n\"},\"status\":{\"capacity\":{\"cpu\":\"64\",\"memory\":" \
    "\"256Gi\"},"                                                                         \
    "\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\"}}}"

struct bench {
    struct loop *loop;
    struct kernel kernel;
    struct feed feed;
    const struct podset *set;
};

/* CPU time of one second of the strategies, without the samples. */
static double tick(struct bench *b, double load, double throttled)
{
    feed(&b->feed, b->set, loop_wall(b->loop) / NSEC_PER_MSEC + 999, load, throttled);
    double begin = cpu_us();
    loop_advance(b->loop, NSEC_PER_SEC);
    return cpu_us() - begin;
}

static void measure(struct bench *b, struct qos *q, int seconds)
{
    double steady = 0, busy = 0;
    uint64_t allocations = UINT64_MAX;

    feed(&b->feed, b->set, loop_wall(b->loop) / NSEC_PER_MSEC - 1, 20, 0);
    double begin = cpu_us();
    qos_start(q);
    loop_advance(b->loop, NSEC_PER_MSEC);
    double cold = (cpu_us() - begin) / 1000;
    for (int i = 0; i < 5; i++)
        tick(b, 20, 0);
    uint64_t reads = b->kernel.reads, writes = b->kernel.writes;
    for (int i = 0; i < seconds; i++) {
        uint64_t count = alloc_count();
        steady += tick(b, 20, 0);
        allocations = MIN(allocations, alloc_count() - count - 1); /* a virtual timer */
    }
    reads = b->kernel.reads - reads, writes = b->kernel.writes - writes;
    for (int i = 0; i < seconds; i++)
        busy += tick(b, 20 + i % 30, i % 20 < 10 ? 0.5 : 0);
    printf("{\"pods\": %u, \"cold_start_ms\": %.1f, \"tick_us\": %.1f, \"busy_tick_us\": %.1f, "
           "\"allocations\": %" PRIu64 ", \"reads\": %.1f, \"writes\": %.1f, \"files\": %zu}\n",
           b->set->n, cold, steady / seconds, busy / seconds, allocations, (double)reads / seconds,
           (double)writes / seconds, (size_t)b->kernel.files.n);
}

int main(int argc, char **argv)
{
    struct bench b = { .loop = loop_new_virtual(1700000000 * NSEC_PER_SEC, 1) };
    struct koordlet_options o = { 0 };
    struct arena *a = arena_new();
    struct nodeslo_spec slo;
    struct kerr why[NODESLO_SECTIONS], err;
    struct kj_doc *doc = NULL, *node_doc = NULL;
    struct kobj *node = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: bench_koordlet_qos PODS SECONDS\n");
        return 2;
    }
    klog_set_sink(quiet, NULL);
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    struct podset *set = make_pods((unsigned)atoi(argv[1]), scratch);
    if (kj_parse(SLO, strlen(SLO), 0, &doc, &err) < 0 ||
        kj_parse(NODE, strlen(NODE), 0, &node_doc, &err) < 0 ||
        kobj_decode(&kind_node, kj_root(node_doc), scratch, &node, &err) < 0 ||
        nodeslo_merge(kj_root(doc), NULL, a, &slo, why) > 0)
        return 1;
    struct snapshot known = { .refs = 1, .node = node_of(node), .pods = set, .slo = &slo };
    struct host host = { .version = CGROUP_V1,
                         .driver = CGROUP_SYSTEMD,
                         .driver_known = true,
                         .page_size = 4096,
                         .cgroup_fd = -1,
                         .proc_fd = -1,
                         .sys_fd = -1,
                         .sys_fs_fd = -1 };
    struct metrics *metrics = metrics_new();
    struct metriccache *mc = metriccache_new();
    struct snapshots *snapshots = snapshots_new(b.loop);
    struct cpu_place places[CPUS];
    for (int32_t i = 0; i < CPUS; i++)
        places[i] = (struct cpu_place){ .cpu = i, .core = i / 2, .node = i / 32, .socket = i / 32 };
    struct cpu_info cpus = { .refs = 1, .cpus = places, .n = CPUS };
    struct collect_env collect = { .cpu_info = &cpus };
    struct caps caps = { 0 };
    struct kube kube = { .ops = &no_kube, .loop = b.loop };

    b.set = set;
    open_feed(&b.feed, mc, set);
    snapshots_publish(snapshots, snapshot_ref(&known));
    gates_init(&o.gates, koordlet_gates, KOORDLET_GATES);
    gates_parse(&o.gates,
                "CgroupReconcile=true,SystemConfig=true,BEMemoryEvict=true,MemoryEvict=true,"
                "CPUEvict=true,BECPUEvict=true,CPUAllocatableEvict=true,"
                "MemoryAllocatableEvict=true,MemoryReclaim=true,RdtResctrl=false",
                NULL);
    o.collect.interval = NSEC_PER_SEC;
    o.acting = (struct acting_options){ 1, 1, 20, 1, 4, 1, true, "", "", "" };
    struct executor *x =
        executor_new(&(struct executor_env){ .loop = b.loop,
                                             .host = &host,
                                             .ops = &kernel_ops,
                                             .ops_arg = &b.kernel,
                                             .metrics = metrics,
                                             .force_update = 3600 * NSEC_PER_SEC });
    struct qos *q = qos_new(&(struct qos_env){ .loop = b.loop,
                                               .kube = &kube,
                                               .host = &host,
                                               .mc = mc,
                                               .snapshots = snapshots,
                                               .o = &o,
                                               .internal = metrics,
                                               .external = metrics,
                                               .node_name = "n",
                                               .executor = x,
                                               .collect = &collect,
                                               .caps = &caps,
                                               .topology = topology });
    measure(&b, q, atoi(argv[2]));
    return 0; /* the process ends here: nothing is given back one by one */
}
