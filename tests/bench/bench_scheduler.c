/* bench_scheduler.c - how fast the scheduler decides, alone: no API server, no sockets, no JSON
 * while it works (scheduler-core 12).
 *
 *     bench_scheduler [WORKLOAD [NODES PODS]]
 *
 * One line a workload: its name, nodes, pods measured, pods per second, microseconds of CPU a pod,
 * peak memory in MB. Workloads have the names of scheduler_perf.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "memkube.h"

#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/scheduler.h"

#define ANTI(kind, rest) ",'affinity':{'" kind "':{" rest "}}"
#define TERM(key, more) \
    "{'labelSelector':{'matchLabels':{'color':'x'}},'topologyKey':'" key "'" more "}"
#define REQUIRED(key, more) "'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(key, more) "]"
#define PREFERRED(key, more)                                                                  \
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,'podAffinityTerm':" TERM( \
        key, more) "}]"
#define HOST   "kubernetes.io/hostname"
#define ZONE   "topology.kubernetes.io/zone"
#define ALL_NS ",'namespaceSelector':{'matchLabels':{'team':'devops'}}"
#define SPREAD(when)                                                  \
    ",'topologySpreadConstraints':[{'maxSkew':5,'topologyKey':'" ZONE \
    "','whenUnsatisfiable':'" when "','labelSelector':{'matchLabels':{'color':'x'}}}]"
#define IN_ZONES                                                                             \
    ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"        \
    "'nodeSelectorTerms':[{'matchExpressions':[{'key':'" ZONE "','operator':'In','values':[" \
    "'zone1','zone2']}]}]}}}"

struct workload {
    const char *name;
    int nodes, init, pods, threshold; /* threshold: of upstream's CI, its API server included */
    const char *init_spec, *spec;     /* further members of the pods' specs */
    int namespaces;                   /* init pods spread over so many */
    int zones;                        /* 0: no zone label */
    bool daemon;                      /* each pod names its node by field */
    bool churn;                       /* a pod too big for any node, every 200 ms */
};
static const struct workload workloads[] = {
    { "SchedulingBasic", 5000, 1000, 10000, 270, "", "" },
    { "SchedulingDaemonset", 15000, 0, 30000, 390, "", "", .daemon = true },
    { "Unschedulable", 5000, 100, 10000, 170, "", "", .churn = true },
    { "SchedulingPodAntiAffinity", 5000, 1000, 2000, 60,
      ANTI("podAntiAffinity", REQUIRED(HOST, "")), ANTI("podAntiAffinity", REQUIRED(HOST, "")) },
    { "SchedulingPodAffinity", 5000, 5000, 5000, 35, ANTI("podAffinity", REQUIRED(ZONE, "")),
      ANTI("podAffinity", REQUIRED(ZONE, "")), .zones = 1 },
    { "SchedulingPreferredPodAffinity", 5000, 5000, 5000, 90,
      ANTI("podAffinity", PREFERRED(HOST, "")), ANTI("podAffinity", PREFERRED(HOST, "")) },
    { "SchedulingPreferredPodAntiAffinity", 5000, 5000, 5000, 90,
      ANTI("podAntiAffinity", PREFERRED(HOST, "")), ANTI("podAntiAffinity", PREFERRED(HOST, "")) },
    { "SchedulingNodeAffinity", 5000, 5000, 10000, 220, IN_ZONES, IN_ZONES, .zones = 1 },
    { "SchedulingRequiredPodAntiAffinityWithNSSelector", 6000, 4000, 2000, 24,
      ANTI("podAntiAffinity", REQUIRED(HOST, ALL_NS)),
      ANTI("podAntiAffinity", REQUIRED(HOST, ALL_NS)), .namespaces = 100 },
    { "SchedulingPreferredAntiAffinityWithNSSelector", 5000, 4000, 2000, 55,
      ANTI("podAntiAffinity", PREFERRED(HOST, ALL_NS)),
      ANTI("podAntiAffinity", PREFERRED(HOST, ALL_NS)), .namespaces = 100 },
    { "SchedulingRequiredPodAffinityWithNSSelector", 5000, 5000, 2000, 35,
      ANTI("podAffinity", REQUIRED(ZONE, ALL_NS)), ANTI("podAffinity", REQUIRED(ZONE, ALL_NS)),
      .namespaces = 100, .zones = 1 },
    { "SchedulingPreferredAffinityWithNSSelector", 5000, 5000, 5000, 90,
      ANTI("podAffinity", PREFERRED(HOST, ALL_NS)), ANTI("podAffinity", PREFERRED(HOST, ALL_NS)),
      .namespaces = 100 },
    { "TopologySpreading", 5000, 5000, 5000, 85, "", SPREAD("DoNotSchedule"), .zones = 3 },
    { "PreferredTopologySpreading", 5000, 5000, 5000, 125, "", SPREAD("ScheduleAnyway"),
      .zones = 3 },
    { "SchedulingSecrets", 5000, 1000, 10000, 260, ",'volumes':[{'name':'s','secret':{}}]",
      ",'volumes':[{'name':'s','secret':{}}]" },
};

struct bench {
    const struct workload *w;
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    int nodes, init, pods, made;
    uint64_t bound, want; /* bindings of pods that count */
    struct timer *churn;
    int churned;
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

static void add_nodes(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    for (int i = 0; i < b->nodes; i++) {
        strbuf_reset(&t);
        strbuf_appendf(
            &t,
            "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{'" HOST
            "':'node-%d'",
            i, i, i);
        if (b->w->zones)
            strbuf_appendf(&t, ",'" ZONE "':'zone%d'", i % b->w->zones + 1);
        strbuf_appendf(&t, "}},'status':{'allocatable':{'cpu':'4','memory':'32Gi','pods':'%d'}}}",
                       b->w->daemon ? 90000 : 110);
        memkube_add(b->kube, "nodes", quoted(&t));
    }
}

/* What the text of a pod is; valid until the next. */
static const char *pod_text(struct bench *b, const char *ns, const char *spec, const char *cpu)
{
    static struct strbuf t;
    int i = b->made++;

    strbuf_reset(&t);
    strbuf_appendf(&t,
                   "{'metadata':{'name':'pod-%d','namespace':'%s','uid':"
                   "'00000000-0000-4000-8000-%012d','resourceVersion':'1','labels':{'color':'x'}},"
                   "'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','image':"
                   "'registry.k8s.io/pause:3.10','resources':{'requests':{'cpu':'%s','memory':"
                   "'500Mi'}}}]%s",
                   i, ns, i, cpu, spec);
    if (b->w->daemon)
        strbuf_appendf(
            &t,
            ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
            ":{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In'"
            ",'values':['node-%d']}]}]}}}",
            i % b->nodes);
    strbuf_append(&t, "},'status':{'phase':'Pending'}}");
    return quoted(&t);
}

static void add_namespaces(struct bench *b)
{
    char text[160];
    for (int i = 0; i < b->w->namespaces; i++) {
        (void)snprintf(
            text, sizeof text,
            "{\"metadata\":{\"name\":\"ns-%d\",\"uid\":\"s%d\",\"resourceVersion\":\"1\","
            "\"labels\":{\"team\":\"devops\"}}}",
            i, i);
        memkube_add(b->kube, "namespaces", text);
    }
}

static void ns_of(const struct bench *b, int i, char *buf, size_t size)
{
    if (b->w->namespaces)
        (void)snprintf(buf, size, "ns-%d", i % b->w->namespaces);
    else
        (void)snprintf(buf, size, "default");
}

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;
    (void)pod;
    if (++b->bound == b->want && b->want > (uint64_t)b->init)
        loop_stop(b->loop);
}

static void on_churn(struct loop *l, void *arg)
{
    struct bench *b = arg;
    b->churn = loop_after(l, 200 * NSEC_PER_MSEC, on_churn, b);
    b->churned++;
    memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, "default", ",'priority':10", "9"));
}

static nsec_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int measure(struct bench *b)
{
    char ns[32];
    struct rusage ru;

    for (int i = 0; i < b->pods; i++) {
        ns_of(b, i, ns, sizeof ns);
        memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, ns, b->w->spec, "100m"));
    }
    b->want = (uint64_t)(b->init + b->pods);
    if (b->w->churn)
        on_churn(b->loop, b);
    nsec_t began = loop_stopwatch(b->loop), cpu = cpu_time();
    loop_run(b->loop);
    double took = (double)(loop_stopwatch(b->loop) - began) / 1e9;
    double used = (double)(cpu_time() - cpu) / 1e3;
    struct scheduler_stats st = scheduler_stats(b->s);
    getrusage(RUSAGE_SELF, &ru);
    printf("%-48s %6d nodes %6d pods %9.0f pods/s %8.1f us/pod %6.1f MB  %d reused %.1f%%\n",
           b->w->name, b->nodes, b->pods, b->pods / took, used / b->pods,
           (double)ru.ru_maxrss / 1024, b->w->threshold,
           100.0 * (double)st.reused / (double)st.attempts);
    fflush(stdout);
    return st.scheduled >= b->want ? 0 : 1;
}

/* Until the caches are full and the pods before the measured ones are placed. */
static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s) && b->bound >= (uint64_t)b->init)
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, b);
}

static int run(const struct workload *w, int nodes, int pods)
{
    struct bench b = { .w = w, .nodes = nodes, .init = w->init, .pods = pods };
    struct intern *strings = intern_new();
    struct kerr err = { 0 };
    char ns[32];

    b.loop = loop_new();
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    add_nodes(&b);
    add_namespaces(&b);
    for (int i = 0; i < b.init; i++) {
        ns_of(&b, i, ns, sizeof ns);
        memkube_add(b.kube, "pods", pod_text(&b, ns, w->init_spec, "100m"));
    }
    b.s = scheduler_new(b.loop, b.kube, &(struct scheduler_opts){ 0 }, &err);
    if (!b.s) {
        fprintf(stderr, "bench_scheduler: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    int r = measure(&b);
    timer_cancel(b.churn);
    scheduler_free(b.s);
    kube_free(b.kube);
    intern_free(strings);
    loop_free(b.loop);
    return r;
}

int main(int argc, char **argv)
{
    int bad = 0, found = 0;

    klog_set_sink(quiet, NULL);
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
        const struct workload *w = &workloads[i];
        if (argc > 1 && !streq(argv[1], w->name))
            continue;
        found++;
        bad |= run(w, argc > 3 ? atoi(argv[2]) : w->nodes, argc > 3 ? atoi(argv[3]) : w->pods);
    }
    if (!found)
        fprintf(stderr, "bench_scheduler: no workload '%s'\n", argv[1]);
    return found ? bad : 2;
}
