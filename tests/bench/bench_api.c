/* bench_api.c - our client against a real API server: load, bind, watch. Prints one JSON object.
 *
 *     bench_api load  KUBECONFIG NAMESPACE NODES PODS [SCHEDULER [GANG]]
 *                     nodes node-0.., pods pod-0.. without a node; GANG of them are a gang
 *     bench_api bind  KUBECONFIG NAMESPACE NODES IN_FLIGHT [FIRST COUNT]
 *     bench_api watch KUBECONFIG SECONDS                one TLS watch on nodes, nothing else
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "api/protocol/gang.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "json/kj.h"

struct bench {
    struct loop *loop;
    struct kube *kube;
    const char *ns, *scheduler;
    unsigned next, end, done, failed, in_flight, window, nodes, gang;
    struct kube_req (*make)(struct bench *b, unsigned i, struct strbuf *body, char *name);
    char first_error[256];
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double cpu_now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

static long status_kb(const char *key)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtol(line + strlen(key) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

static void pump(struct bench *b);

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct bench *b = arg;
    (void)r;
    b->in_flight--;
    b->done++;
    if (err && err->reason != KR_ALREADY_EXISTS) {
        if (b->failed++ == 0)
            snprintf(b->first_error, sizeof b->first_error, "%s", err->text);
    }
    pump(b);
}

static void pump(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char name[64];
    while (b->next < b->end && b->in_flight < b->window) {
        strbuf_reset(&body);
        struct kube_req r = b->make(b, b->next++, &body, name);
        r.body = body.data;
        r.body_len = body.len;
        b->in_flight++;
        kube_do(b->kube, &r, on_done, b);
    }
    if (b->next == b->end && b->in_flight == 0)
        loop_stop(b->loop);
}

static struct kube_req make_node(struct bench *b, unsigned i, struct strbuf *body, char *name)
{
    (void)b, (void)name;
    strbuf_appendf(body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-%u\"},"
                   "\"status\":{\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":"
                   "\"1000\"}}}",
                   i);
    return (struct kube_req){ .verb = KUBE_CREATE, .kind = kind_find("nodes") };
}

/* Admission marks every new node as not ready; a kubelet would soon take that back. */
static struct kube_req make_ready(struct bench *b, unsigned i, struct strbuf *body, char *name)
{
    (void)b;
    snprintf(name, 64, "node-%u", i);
    strbuf_append(body, "{\"spec\":{\"taints\":[]}}");
    return (struct kube_req){
        .verb = KUBE_PATCH, .kind = kind_find("nodes"), .name = name, .patch = KUBE_PATCH_MERGE
    };
}

static struct kube_req make_pod(struct bench *b, unsigned i, struct strbuf *body, char *name)
{
    (void)name;
    strbuf_appendf(body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%u\"", i);
    if (b->gang)
        strbuf_appendf(body,
                       ",\"annotations\":{\"" ANNO_GANG_NAME
                       "\":\"gang-%u\",\"" ANNO_GANG_MIN_AVAILABLE "\":\"%u\"}",
                       i / b->gang, b->gang);
    strbuf_appendf(body,
                   "},\"spec\":{\"schedulerName\":\"%s\",\"containers\":[{\"name\":\"main\","
                   "\"image\":\"app:1\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
                   "\"128Mi\"}}}]}}",
                   b->scheduler);
    return (struct kube_req){ .verb = KUBE_CREATE, .kind = kind_find("pods"), .ns = b->ns };
}

static struct kube_req make_bind(struct bench *b, unsigned i, struct strbuf *body, char *name)
{
    snprintf(name, 64, "pod-%u", i);
    strbuf_appendf(body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\"},"
                   "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-%u\"}}",
                   name, i % b->nodes);
    return (struct kube_req){ .verb = KUBE_CREATE,
                              .kind = kind_find("pods"),
                              .ns = b->ns,
                              .name = name,
                              .subresource = "binding" };
}

static void run(struct bench *b, unsigned first, unsigned count, unsigned window,
                struct kube_req (*make)(struct bench *, unsigned, struct strbuf *, char *))
{
    b->next = first;
    b->end = first + count;
    b->window = window;
    b->make = make;
    b->done = b->failed = 0;
    pump(b);
    loop_run(b->loop);
}

static void on_event(void *arg, enum kube_event_type t, const struct kj_val *v)
{
    (void)arg, (void)t, (void)v;
}
static void on_end(void *arg, const struct kerr *err)
{
    (void)arg;
    if (err)
        fprintf(stderr, "watch: %s\n", err->text);
}
static const struct kube_watch_handler watching = { .on_event = on_event, .on_end = on_end };

static void stop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static int bench_watch(struct bench *b, long secs)
{
    struct kube_req r = { .kind = kind_find("nodes"), .bookmarks = true };
    double cpu = cpu_now();
    kube_watch(b->kube, &r, &watching, NULL);
    loop_after(b->loop, secs * NSEC_PER_SEC, stop, NULL);
    loop_run(b->loop);
    printf("{\"rss_kb\": %ld, \"private_kb\": %ld, \"cpu_ms\": %.1f}\n", status_kb("VmRSS"),
           status_kb("RssAnon"), (cpu_now() - cpu) * 1e3);
    return 0;
}

static int bench_bind(struct bench *b, unsigned first, unsigned count, unsigned window)
{
    double cpu = cpu_now(), wall = (double)loop_mono(b->loop) / 1e9;
    run(b, first, count, window, make_bind);
    wall = (double)loop_mono(b->loop) / 1e9 - wall;
    cpu = cpu_now() - cpu;
    printf("{\"binds\": %u, \"errors\": %u, \"seconds\": %.3f, \"binds_per_s\": %.1f, "
           "\"cpu_ms_per_bind\": %.4f, \"peak_rss_kb\": %ld}\n",
           b->done - b->failed, b->failed, wall, b->done / wall, cpu * 1e3 / b->done,
           status_kb("VmHWM"));
    if (b->failed)
        fprintf(stderr, "first error: %s\n", b->first_error);
    return b->failed ? 1 : 0;
}

static int bench_load(struct bench *b, unsigned pods)
{
    run(b, 0, b->nodes, 64, make_node);
    unsigned failed = b->failed;
    run(b, 0, b->nodes, 64, make_ready);
    failed += b->failed;
    double wall = (double)loop_mono(b->loop) / 1e9;
    run(b, 0, pods, 64, make_pod);
    wall = (double)loop_mono(b->loop) / 1e9 - wall;
    failed += b->failed;
    printf("{\"pods\": %u, \"errors\": %u, \"creates_per_s\": %.1f}\n", pods, failed, pods / wall);
    if (failed)
        fprintf(stderr, "first error: %s\n", b->first_error);
    return failed ? 1 : 0;
}

/* Tells how long it took from the first pod that got a node to the last. */
struct waiting {
    struct bench *b;
    unsigned seen, want;
    double first, last;
};

static void on_bound(void *arg, enum kube_event_type t, const struct kj_val *v)
{
    struct waiting *w = arg;

    (void)v;
    if (t != KUBE_ADDED) /* into the selection: it has a node now */
        return;
    w->last = (double)loop_stopwatch(w->b->loop) / 1e9;
    w->first = w->seen++ ? w->first : w->last;
    if (w->seen == w->want)
        loop_stop(w->b->loop);
}

static int bench_wait(struct bench *b, unsigned want, long secs)
{
    static const struct kube_watch_handler on = { .on_event = on_bound, .on_end = on_end };
    struct waiting w = { .b = b, .want = want };
    struct kube_req r = { .kind = kind_find("pods"),
                          .ns = b->ns,
                          .field_selector = "spec.nodeName!=",
                          .timeout = secs * NSEC_PER_SEC };

    kube_watch(b->kube, &r, &on, &w);
    loop_after(b->loop, secs * NSEC_PER_SEC, stop, NULL);
    printf("{}\n"); /* watching */
    fflush(stdout);
    loop_run(b->loop);
    printf("{\"bound\": %u, \"seconds\": %.3f}\n", w.seen, w.last - w.first);
    return w.seen == want ? 0 : 1;
}

static unsigned number(int argc, char **argv, int i, unsigned otherwise)
{
    return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    CLEANUP(kube_free) struct kube *kube = NULL;
    struct kerr err = { 0 };

    if (argc < 4) {
        fprintf(stderr, "usage: bench_api load|bind|watch|wait KUBECONFIG ...\n");
        return 2;
    }
    struct kube_config_opts o = { .path = argv[2] };
    if (kube_config_load(&o, &config, &err) < 0 ||
        kube_http_new(l, strings, &config, &kube, &err) < 0) {
        fprintf(stderr, "bench_api: %s\n", err.text);
        return 1;
    }
    struct bench b = { .loop = l, .kube = kube, .ns = argv[3] };
    if (streq(argv[1], "watch"))
        return bench_watch(&b, strtol(argv[3], NULL, 10));
    if (streq(argv[1], "wait"))
        return bench_wait(&b, number(argc, argv, 4, 1), (long)number(argc, argv, 5, 300));
    b.nodes = number(argc, argv, 4, 1);
    b.scheduler = argc > 6 && streq(argv[1], "load") ? argv[6] : "nobody";
    b.gang = number(argc, argv, 7, 0);
    if (streq(argv[1], "load"))
        return bench_load(&b, number(argc, argv, 5, 0));
    return bench_bind(&b, number(argc, argv, 6, 0), number(argc, argv, 7, 0),
                      number(argc, argv, 5, 64));
}
