/* bench_manager.c - what nodes cost koord-manager's controller noderesource, on a virtual clock and
 * without a server: no HTTP, no TLS, everything else.
 *
 *     bench_manager config NODES PODS           a new configuration reaches all nodes
 *     bench_manager steady NODES PODS MINUTES   a report of each node every minute
 *
 * Prints JSON: CPU seconds of the process, the longest millisecond of virtual time in milliseconds
 * of real time (no turn of the loop was longer), nodes calculated, writes, and what the manager
 * holds on the heap.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "base/intern.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "manager/manager.h"
#include "memkube.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)

struct fixture {
    struct loop *loop;
    struct intern *strings;
    struct kube *kube;
    struct manager *m;
    unsigned nodes, pods;
    unsigned version;
    double longest_ms;
};

static double clock_s(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void add(struct fixture *f, const char *plural, struct strbuf *text)
{
    memkube_add(f->kube, plural, text->data);
    strbuf_reset(text);
}

static void config_json(struct strbuf *b, unsigned version, int percent)
{
    strbuf_appendf(b,
                   "{\"metadata\":{\"name\":\"slo-controller-config\",\"namespace\":"
                   "\"koordinator-system\",\"uid\":\"00000000-0000-0000-0003-000000000000\","
                   "\"resourceVersion\":\"%u\"},\"data\":{\"colocation-config\":\"{\\\"enable\\\":"
                   "true,\\\"cpuReclaimThresholdPercent\\\":%d}\"}}",
                   version, percent);
}

static void node_json(struct strbuf *b, unsigned i)
{
    strbuf_appendf(b,
                   "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"00000000-0000-0000-0000-%012u\","
                   "\"resourceVersion\":\"1\",\"labels\":{\"pool\":\"p%u\"}},\"status\":{"
                   "\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\"},\"allocatable\":{\"cpu\":"
                   "\"64\",\"memory\":\"256Gi\"}}}",
                   i, i, i % 10);
}

static void pod_json(const struct fixture *f, struct strbuf *b, unsigned i)
{
    strbuf_appendf(
        b,
        "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"ns-%u\",\"uid\":"
        "\"00000000-0000-0000-0001-%012u\",\"resourceVersion\":\"1\",\"labels\":{"
        "\"app\":\"a%u\"}},\"spec\":{\"nodeName\":\"n%u\",\"priority\":%d,\"containers\":"
        "[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"4Gi\"},"
        "\"limits\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]},\"status\":{\"phase\":"
        "\"Running\"}}",
        i, i % 100, i, i % 30, i % f->nodes, i % 3 ? 9500 : 5500);
}

/* usage_m: of each pod. */
static void metric_json(const struct fixture *f, struct strbuf *b, unsigned node, unsigned version,
                        unsigned usage_m)
{
    char when[KTIME_TEXT_MAX];
    unsigned each = f->pods / f->nodes;

    ktime_format(loop_wall(f->loop), when);
    strbuf_appendf(b,
                   "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"00000000-0000-0000-0002-%012u\","
                   "\"resourceVersion\":\"%u\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{"
                   "\"nodeUsage\":{\"resources\":{\"cpu\":\"%um\",\"memory\":\"64Gi\"}},"
                   "\"systemUsage\":{\"resources\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}},"
                   "\"podsMetric\":[",
                   node, node, version, when, 1000 + each * usage_m);
    for (unsigned i = 0; i < each; i++) {
        unsigned pod = node + i * f->nodes;
        strbuf_appendf(b,
                       "%s{\"name\":\"pod-%u\",\"namespace\":\"ns-%u\",\"podUsage\":{\"resources\":"
                       "{\"cpu\":\"%um\",\"memory\":\"2Gi\"}}}",
                       i ? "," : "", pod, pod % 100, usage_m);
    }
    strbuf_append(b, "]}}");
}

/* ---- running --------------------------------------------------------------------------------- */

static void advance(struct fixture *f, nsec_t by)
{
    for (nsec_t t = 0; t < by; t += NSEC_PER_MSEC) {
        double before = clock_s(CLOCK_MONOTONIC);
        loop_advance(f->loop, NSEC_PER_MSEC);
        double ms = (clock_s(CLOCK_MONOTONIC) - before) * 1e3;
        f->longest_ms = MAX(f->longest_ms, ms);
    }
}

static void init(struct fixture *f)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    f->loop = loop_new_virtual(WALL0, 1);
    f->strings = intern_new();
    f->kube = memkube_new(f->loop, f->strings);
    config_json(&b, 1, 60);
    add(f, "configmaps", &b);
    for (unsigned i = 0; i < f->nodes; i++) {
        node_json(&b, i);
        add(f, "nodes", &b);
        metric_json(f, &b, i, 1, 400);
        add(f, "nodemetrics", &b);
    }
    for (unsigned i = 0; i < f->pods; i++) {
        pod_json(f, &b, i);
        add(f, "pods", &b);
    }
    f->version = 1;
}

static void start(struct fixture *f)
{
    const unsigned without = 1u << MANAGER_NODEMETRIC | 1u << MANAGER_NODESLO;

    f->m = manager_new(f->loop, f->kube, &(struct manager_opts){ .without_controllers = without });
    manager_watch(f->m);
    manager_lead(f->m);
    advance(f, 40 * NSEC_PER_SEC);
    if (!manager_synced(f->m) || manager_stats(f->m).pods != f->pods) {
        fputs("bench_manager: the caches are not complete\n", stderr);
        exit(1);
    }
}

static void new_config(struct fixture *f)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    config_json(&b, ++f->version, 70);
    memkube_push(f->kube, "configmaps", KUBE_MODIFIED, b.data);
    advance(f, 40 * NSEC_PER_SEC);
}

/* The use of a node moves by a few percent from report to report. Making the text is not the
 * manager's work: *ret_own gets its CPU time. */
static void steady(struct fixture *f, unsigned minutes, double *ret_own)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    nsec_t gap = 60 * NSEC_PER_SEC / (nsec_t)f->nodes;

    for (unsigned minute = 0; minute < minutes; minute++)
        for (unsigned i = 0; i < f->nodes; i++) {
            double before = clock_s(CLOCK_PROCESS_CPUTIME_ID);
            strbuf_reset(&b);
            metric_json(f, &b, i, ++f->version, 395 + (i + minute * 7) % 11);
            *ret_own += clock_s(CLOCK_PROCESS_CPUTIME_ID) - before;
            memkube_push(f->kube, "nodemetrics", KUBE_MODIFIED, b.data);
            loop_advance(f->loop, gap);
        }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: bench_manager config|steady NODES PODS [MINUTES]\n", stderr);
        return 2;
    }
    struct fixture f = { .nodes = (unsigned)atoi(argv[2]), .pods = (unsigned)atoi(argv[3]) };
    bool is_steady = streq(argv[1], "steady");
    unsigned minutes = argc > 4 ? (unsigned)atoi(argv[4]) : 10;
    double own = 0;

    init(&f);
    size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd;
    start(&f);
    heap = mallinfo2().uordblks + mallinfo2().hblkhd - heap;
    struct manager_stats before = manager_stats(f.m);
    f.longest_ms = 0;
    double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    if (is_steady)
        steady(&f, minutes, &own);
    else
        new_config(&f);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu - own;
    struct manager_stats after = manager_stats(f.m);
    printf("{\"cpu_s\":%.4f,\"milli_cpu\":%.3f,\"longest_ms\":%.2f,\"syncs\":%llu,\"writes\":%llu,"
           "\"heap_mb\":%.1f}\n",
           cpu, is_steady ? cpu * 1000 / (minutes * 60) : 0, f.longest_ms,
           (unsigned long long)(after.syncs - before.syncs),
           (unsigned long long)(after.writes - before.writes), (double)heap / 1e6);
    manager_free(f.m);
    kube_free(f.kube);
    loop_free(f.loop);
    intern_free(f.strings);
    return 0;
}
