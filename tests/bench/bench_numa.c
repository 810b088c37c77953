/* bench_numa.c - what CPUs of their own and NUMA nodes cost: the scheduler alone, as in
 * bench_scheduler.c, and attempts alone.
 *
 *     bench_numa drain basic|preferred|required|single|changing [NODES PODS]
 *     bench_numa fresh full|single|restricted       nothing to reuse: microseconds for a node
 *
 * drain: nodes of 128 CPUs in two NUMA nodes; basic: pods that share CPUs, without the plugin;
 * preferred, required: LSR pods of 4 CPUs; single: SingleNUMANode on all nodes, LS pods of 4 CPUs
 * and 8Gi; changing: the same while each node's topology is written once. fresh: nodes are half
 * full and fragmented; restricted: 256 CPUs in eight NUMA nodes. One line: a name, then words with
 * numbers.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "memkube.h"

#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum { NODES = 5000, PODS = 10000, FRESH_NODES = 1000, FRESH_PODS = 40 };

struct machine_size {
    int cpus, numa;
    const char *policy; /* of the kubelet */
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

static const char *node_text(int i, const struct machine_size *m, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{"
                   "'kubernetes.io/hostname':'node-%d'}},'status':{'allocatable':{'cpu':'%d',"
                   "'memory':'512Gi','pods':'110'}}}",
                   i, i, i, m->cpus);
    return quoted(b);
}

/* Two threads per core, one NUMA node per socket. */
static const char *topology_text(int i, int revision, const struct machine_size *m,
                                 struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'node-%d','uid':'t%d','resourceVersion':'%d','annotations':"
                   "{'node.koordinator.sh/cpu-topology':'{\\'detail\\':[",
                   i, i, revision);
    for (int c = 0; c < m->cpus; c++)
        strbuf_appendf(b, "%s{\\'id\\':%d,\\'core\\':%d,\\'socket\\':%d,\\'node\\':%d}",
                       c ? "," : "", c, c / 2, c * m->numa / m->cpus, c * m->numa / m->cpus);
    strbuf_append(b, "]}'}},'zones':[");
    for (int z = 0; z < m->numa; z++)
        strbuf_appendf(b,
                       "%s{'name':'node-%d','type':'Node','resources':[{'name':'cpu',"
                       "'allocatable':'%d'},{'name':'memory','allocatable':'%dGi'}]}",
                       z ? "," : "", z, m->cpus / m->numa, 512 / m->numa);
    strbuf_appendf(b, "],'topologyPolicies':['%s']}", m->policy);
    return quoted(b);
}

struct pod_size {
    int cpus, gib;
    bool bound, required;
    int shape; /* not 0: one of its own */
};

static const char *pod_text(int i, const struct pod_size *p, struct strbuf *b)
{
    strbuf_reset(b);
    strbuf_appendf(
        b,
        "{'metadata':{'name':'pod-%d','namespace':'default','uid':'00000000-0000-4000-8000-%012d',"
        "'resourceVersion':'1','labels':{'koordinator.sh/qosClass':'%s','shape':'s%d'},"
        "'annotations':{%s}},'spec':{'schedulerName':'koord-scheduler','priority':9500,"
        "'containers':[{'name':'c','image':'registry.k8s.io/pause:3.10','resources':{'requests':{"
        "'cpu':'%d','memory':'%dGi'}}}]},'status':{'phase':'Pending'}}",
        i, i, p->bound ? "LSR" : "LS", p->shape,
        p->required ? "'scheduling.koordinator.sh/resource-spec':'{\\'requiredCPUBindPolicy\\':"
                      "\\'FullPCPUs\\'}'"
                    : "",
        p->cpus, p->gib);
    return quoted(b);
}

/* ---- the engine ------------------------------------------------------------------------------ */

struct workload {
    const char *name;
    struct machine_size machine;
    struct pod_size pod;
    bool numa, changing;
};
static const struct workload workloads[] = {
    { "basic", { 128, 2, "None" }, { 4, 8, false, false, 0 }, false, false },
    { "preferred", { 128, 2, "None" }, { 4, 8, true, false, 0 }, true, false },
    { "required", { 128, 2, "None" }, { 4, 8, true, true, 0 }, true, false },
    { "single", { 128, 2, "SingleNUMANodePodLevel" }, { 4, 8, false, false, 0 }, true, false },
    { "changing", { 128, 2, "SingleNUMANodePodLevel" }, { 4, 8, false, false, 0 }, true, true },
};

struct bench {
    const struct workload *w;
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    int nodes, pods, bound, changed;
    struct kj_doc **news; /* [nodes]: a further state of each topology */
};

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;

    (void)pod;
    b->bound++;
    for (; b->w->changing && (int64_t)b->changed * b->pods < (int64_t)b->bound * b->nodes;
         b->changed++)
        memkube_push_read(b->kube, "noderesourcetopologies", KUBE_MODIFIED,
                          kj_root(b->news[b->changed * 7 % b->nodes]));
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
        memkube_add(b->kube, "nodes", node_text(i, &b->w->machine, &t));
        if (b->w->numa)
            memkube_add(b->kube, "noderesourcetopologies", topology_text(i, 1, &b->w->machine, &t));
        const char *text = topology_text(i, 2, &b->w->machine, &t);
        if (b->w->changing && kj_parse(text, strlen(text), 0, &b->news[i], NULL) < 0)
            abort();
    }
}

/* The default profile, and the plugin when it is asked for. */
static const struct ks_registered *table(bool with)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0;

    do {
        all[n] = ks_registry[n];
        if (with && all[n].plugin == &ks_plugin_node_numa_resource)
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
                        &(struct scheduler_opts){ .metrics = metrics, .plugins = table(w->numa) },
                        &err);
    if (!b.s) {
        fprintf(stderr, "bench_numa: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    for (int i = 0; i < pods; i++)
        memkube_push(b.kube, "pods", KUBE_ADDED, pod_text(i, &w->pod, &t));
    nsec_t began = loop_stopwatch(b.loop), cpu = cpu_time();
    loop_run(b.loop);
    double took = (double)(loop_stopwatch(b.loop) - began) / 1e9;
    struct scheduler_stats st = scheduler_stats(b.s);
    printf("%s nodes=%d pods=%d rate=%.0f cpu_us=%.2f changed=%d reused=%.3f\n", w->name, nodes,
           pods, pods / took, (double)(cpu_time() - cpu) / 1e3 / pods, b.changed,
           (double)st.reused / (double)st.attempts);
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

/* ---- attempts alone -------------------------------------------------------------------------- */

struct fresh {
    const char *name;
    struct machine_size machine;
    struct pod_size pod;
};
static const struct fresh fresh[] = {
    { "full", { 128, 2, "None" }, { 4, 8, true, true, 0 } },
    { "single", { 128, 2, "SingleNUMANodePodLevel" }, { 4, 8, false, false, 0 } },
    { "restricted", { 256, 8, "Restricted" }, { 40, 80, false, false, 0 } }, /* on three of them */
};
static const struct ks_registered alone[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct objects *objects;
    struct nodecache *cache;
    struct service_table *services;
    struct profile *profile;
    struct arena *arena;
    struct service_pod *pods;
    size_t npods;
};

static struct kobj *object(struct cluster *c, const struct kind *k, const char *text)
{
    struct kj_doc *doc = NULL;
    struct kobj *o = NULL;

    if (kj_parse(text, strlen(text), 0, &doc, NULL) < 0 ||
        kobj_decode(k, kj_root(doc), c->scratch, &o, NULL) < 0)
        abort();
    kj_doc_free(doc);
    return o;
}

/* Eight pods on each node have half of its CPUs: every other core, and one thread of some of them;
 * and half of each NUMA node. */
static const char *holder_text(int node, int k, const struct machine_size *m, struct strbuf *b)
{
    int cpus = m->cpus / 8, numa = k * m->numa / 8;

    strbuf_reset(b);
    strbuf_appendf(b,
                   "{'metadata':{'name':'old-%d-%d','namespace':'default','uid':"
                   "'00000000-0000-4000-9000-%012d','annotations':{"
                   "'scheduling.koordinator.sh/resource-status':'{\\'cpuset\\':\\'",
                   node, k, node * 8 + k);
    for (int i = 0; i < cpus; i += 4)
        strbuf_appendf(b, "%s%d,%d", i ? "," : "", k * cpus + i,
                       k * cpus + i + ((node + i) % 3 ? 1 : 2));
    strbuf_appendf(b,
                   "\\',\\'numaNodeResources\\':[{\\'node\\':%d,\\'resources\\':{\\'cpu\\':\\'%d\\'"
                   ",\\'memory\\':\\'%dGi\\'}}]}'}},'spec':{'nodeName':'node-%d','containers':[{"
                   "'name':'c','resources':{'requests':{'cpu':'%d','memory':'%dGi'}}}]},'status':{"
                   "'phase':'Running'}}",
                   numa, cpus / 2, 32, node, cpus / 2, 32);
    return quoted(b);
}

static void fill(struct cluster *c, const struct fresh *w)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    c->pods = xnewn0(FRESH_NODES * 8, struct service_pod);
    for (int i = 0; i < FRESH_NODES; i++) {
        struct kobj *o = object(c, &kind_node, node_text(i, &w->machine, &t));
        nodecache_put_node(c->cache, o);
        kobj_unref(o);
        o = object(c, &kind_noderesourcetopology, topology_text(i, 1, &w->machine, &t));
        objects_put(c->objects, o);
        kobj_unref(o);
        for (int k = 0; k < 8; k++) {
            o = object(c, &kind_pod, holder_text(i, k, &w->machine, &t));
            nodecache_put_pod(c->cache, o);
            c->pods[c->npods++] = (struct service_pod){ pod_of(o), pod_of(o)->node_name };
            kobj_unref(o); /* the cache has it */
        }
    }
}

static uint32_t attempt_one(struct cluster *c, struct kobj *pod)
{
    struct attempt a;

    arena_reset(c->arena);
    attempt_init(&a,
                 &(struct attempt_input){ .profile = c->profile,
                                          .cache = c->cache,
                                          .objects = c->objects,
                                          .pod = pod,
                                          .now = NSEC_PER_SEC },
                 c->arena);
    attempt_filter(&a);
    uint32_t feasible = a.feasible;
    if (feasible > 1 && attempt_score(&a) < 0)
        abort();
    attempt_end(&a);
    return feasible;
}

static void measure_fresh(struct cluster *c, const struct fresh *w)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    struct kobj *pods[FRESH_PODS];
    uint32_t feasible = 0;

    for (int i = 0; i < FRESH_PODS; i++) {
        struct pod_size p = w->pod;
        p.shape = i + 1;
        pods[i] = object(c, &kind_pod, pod_text(i, &p, &t));
    }
    size_t before = heap();
    struct ks_env env = { .objects = c->objects,
                          .nodes = nodecache_nodes(c->cache),
                          .service_table = c->services };
    struct profile_config config = profile_config_default(alone, "koord-scheduler", c->arena);
    struct kerr err = { 0 };
    c->profile = profile_new(&config, alone, &env, &err);
    if (!c->profile)
        abort();
    (void)attempt_one(c, pods[0]); /* rows are filled */
    size_t state = (heap() - before) / FRESH_NODES;
    before = heap();
    services_tell_all(c->services, c->pods, c->npods);
    size_t holder = (heap() - before) / c->npods;
    (void)attempt_one(c, pods[0]); /* once more, with what pods hold */
    nsec_t began = cpu_time();
    for (int i = 0; i < FRESH_PODS; i++)
        feasible = attempt_one(c, pods[i]);
    double us = (double)(cpu_time() - began) / 1e3 / FRESH_PODS / FRESH_NODES;
    printf("%s nodes=%d us=%.3f feasible=%u node_bytes=%zu pod_bytes=%zu\n", w->name, FRESH_NODES,
           us, feasible, state, holder);
    for (int i = 0; i < FRESH_PODS; i++)
        kobj_unref(pods[i]);
}

static int run_fresh(const struct fresh *w)
{
    struct cluster c = { .strings = intern_new() };

    c.scratch = kj_scratch_new(c.strings);
    c.objects = objects_new();
    c.cache = nodecache_new(c.objects);
    c.services = service_table_new();
    c.arena = arena_new();
    fill(&c, w);
    measure_fresh(&c, w);
    profile_free(c.profile);
    service_table_free(c.services);
    nodecache_free(c.cache);
    objects_free(c.objects);
    arena_free(c.arena);
    kj_scratch_free(c.scratch);
    intern_free(c.strings);
    free(c.pods);
    return 0;
}

int main(int argc, char **argv)
{
    klog_set_sink(quiet, NULL);
    for (size_t i = 0; argc > 2 && streq(argv[1], "drain") && i < ARRAY_LEN(workloads); i++)
        if (streq(argv[2], workloads[i].name))
            return drain(&workloads[i], argc > 4 ? atoi(argv[3]) : NODES,
                         argc > 4 ? atoi(argv[4]) : PODS);
    for (size_t i = 0; argc > 2 && streq(argv[1], "fresh") && i < ARRAY_LEN(fresh); i++)
        if (streq(argv[2], fresh[i].name))
            return run_fresh(&fresh[i]);
    fprintf(stderr, "usage: bench_numa drain|fresh NAME\n");
    return 2;
}
