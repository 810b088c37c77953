/* bench_descheduler.c - what rounds of the descheduler cost, on a virtual clock and without a
 * server: no HTTP, no TLS, everything else.
 *
 *     bench_descheduler round NODES PODS HOT        LowNodeLoad, HOT of the nodes above their
 * threshold bench_descheduler steady NODES PODS MINUTES   a round every 10 s, a report of each node
 * every minute
 *
 * Rounds are dry runs: they decide everything and send nothing.
 *
 * Prints JSON: milliseconds of CPU for a round, the longest turn of the loop in a round, pods that
 * were evicted, CPU of the process in milli cores (steady), and what the descheduler holds on the
 * heap.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "loop/loop.h"
#include "memkube.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)

struct fixture {
    struct loop *loop;
    struct intern *strings;
    struct kube *kube;
    struct config *config;
    struct descheduler *d;
    unsigned nodes, pods, hot, version;
};

static const char config[] =
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
    "deschedulingInterval: 10s\ndryRun: true\nprofiles:\n- name: p\n  plugins:\n"
    "    balance: {enabled: [{name: LowNodeLoad}]}\n"
    "    evict: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"
    "    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"
    "  pluginConfig:\n  - name: LowNodeLoad\n    args: {anomalyCondition: {timeout: 1m, "
    "consecutiveAbnormalities: 1, consecutiveNormalities: 1}, lowThresholds: {cpu: 45, memory: "
    "60}, highThresholds: {cpu: 75, memory: 80}}\n";

static double clock_s(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

/* ---- objects ---------------------------------------------------------------------------------- */

static void add(struct fixture *f, const char *plural, struct strbuf *text)
{
    memkube_add(f->kube, plural, text->data);
    strbuf_reset(text);
}

static void node_json(struct strbuf *b, unsigned i)
{
    strbuf_appendf(b,
                   "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"00000000-0000-0000-0000-%012u\","
                   "\"resourceVersion\":\"1\",\"labels\":{\"pool\":\"p%u\"}},\"status\":{"
                   "\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\"}}}",
                   i, i, i % 10);
}

static void pod_json(const struct fixture *f, struct strbuf *b, unsigned i)
{
    strbuf_appendf(
        b,
        "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"ns-%u\",\"uid\":"
        "\"00000000-0000-0000-0001-%012u\",\"resourceVersion\":\"1\",\"labels\":{\"app\":\"a%u\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"a%u\","
        "\"uid\":\"00000000-0000-0000-0004-%012u\",\"controller\":true}]},\"spec\":{\"nodeName\":"
        "\"n%u\",\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
        "\"cpu\":\"1\",\"memory\":\"4Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]},"
        "\"status\":{\"phase\":\"Running\"}}",
        i, i % 100, i, i % 300, i % 300, i % 300, i % f->nodes, i % 3 ? 9500 : 5500);
}

static void metric_json(const struct fixture *f, struct strbuf *b, unsigned node, unsigned version)
{
    char when[KTIME_TEXT_MAX];
    unsigned each = f->pods / f->nodes, budget = node < f->hot ? 60000 : 15000;

    ktime_format(loop_wall(f->loop), when);
    strbuf_appendf(b,
                   "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"00000000-0000-0000-0002-%012u\","
                   "\"resourceVersion\":\"%u\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{"
                   "\"nodeUsage\":{\"resources\":{\"cpu\":\"%um\",\"memory\":\"64Gi\"}},"
                   "\"systemUsage\":{\"resources\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}},"
                   "\"podsMetric\":[",
                   node, node, version, when, 1000 + budget);
    for (unsigned i = 0; i < each; i++) {
        unsigned pod = node + i * f->nodes;
        strbuf_appendf(b,
                       "%s{\"name\":\"pod-%u\",\"namespace\":\"ns-%u\",\"podUsage\":{\"resources\":"
                       "{\"cpu\":\"%um\",\"memory\":\"2Gi\"}}}",
                       i ? "," : "", pod, pod % 100, budget / each + (pod + version) % 7);
    }
    strbuf_append(b, "]}}");
}

/* ---- running ---------------------------------------------------------------------------------- */

static void init(struct fixture *f)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    klog_set_sink(quiet, NULL);
    f->loop = loop_new_virtual(WALL0, 1);
    f->strings = intern_new();
    f->kube = memkube_new(f->loop, f->strings);
    for (unsigned i = 0; i < f->nodes; i++) {
        node_json(&b, i);
        add(f, "nodes", &b);
        metric_json(f, &b, i, 1);
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
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, config, sizeof config - 1, "bench", &f->config, &err) ==
        0)
        f->d = descheduler_new(
            f->loop, f->kube,
            &(struct descheduler_opts){ .config = f->config->value, .no_moves = true }, &err);
    if (!f->d) {
        fprintf(stderr, "bench_descheduler: %s\n", err.text);
        exit(1);
    }
    descheduler_watch(f->d);
    loop_advance(f->loop, 40 * NSEC_PER_SEC);
    if (!descheduler_synced(f->d) || descheduler_stats(f->d).pods != f->pods) {
        fputs("bench_descheduler: the caches are not complete\n", stderr);
        exit(1);
    }
}

/* Turn by turn until the first round is over. */
static void first_round(struct fixture *f, double *ret_ms, double *ret_longest_ms)
{
    while (descheduler_stats(f->d).rounds == 0) {
        double since = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        loop_turn(f->loop);
        double ms = (clock_s(CLOCK_PROCESS_CPUTIME_ID) - since) * 1e3;
        *ret_ms += ms;
        *ret_longest_ms = MAX(*ret_longest_ms, ms);
    }
}

/* Reports of all nodes, one after the other; making their text is not the descheduler's work. */
static void reports(struct fixture *f, nsec_t gap, double *ret_own)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    f->version++;
    for (unsigned i = 0; i < f->nodes; i++) {
        double before = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        strbuf_reset(&b);
        metric_json(f, &b, i, f->version);
        *ret_own += clock_s(CLOCK_PROCESS_CPUTIME_ID) - before;
        memkube_push(f->kube, "nodemetrics", KUBE_MODIFIED, b.data);
        loop_advance(f->loop, gap);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: bench_descheduler round|steady NODES PODS HOT|MINUTES\n", stderr);
        return 2;
    }
    bool is_round = streq(argv[1], "round");
    unsigned last = (unsigned)atoi(argv[4]);
    struct fixture f = { .nodes = (unsigned)atoi(argv[2]),
                         .pods = (unsigned)atoi(argv[3]),
                         .hot = is_round ? last : 0 };
    double own = 0;

    init(&f);
    size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd;
    start(&f);
    descheduler_lead(f.d);
    double ms = 0, longest = 0;
    if (is_round)
        first_round(&f, &ms, &longest);
    heap = mallinfo2().uordblks + mallinfo2().hblkhd - heap;
    double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; !is_round && i < last; i++)
        reports(&f, 60 * NSEC_PER_SEC / (nsec_t)f.nodes, &own);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu - own;
    struct descheduler_stats s = descheduler_stats(f.d);
    printf("{\"round_ms\":%.3f,\"longest_turn_ms\":%.3f,\"rounds\":%llu,\"evicted\":%llu,"
           "\"mcpu\":%.3f,\"heap_mb\":%.1f,\"cache_mb\":%.1f}\n",
           ms, longest, (unsigned long long)s.rounds, (unsigned long long)s.evicted,
           is_round ? 0 : cpu / (60.0 * last) * 1e3, (double)heap / 1e6,
           (double)s.cache_bytes / 1e6);
    descheduler_free(f.d);
    config_unref(f.config);
    kube_free(f.kube);
    intern_free(f.strings);
    loop_free(f.loop);
    return 0;
}
