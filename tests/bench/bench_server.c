/* bench_server.c - an API server under load, through our client. Prints one JSON object.
 *
 *     bench_server create KUBECONFIG NAMESPACE IN_FLIGHT FIRST COUNT
 *         pods pod-FIRST.. of 2 KB as sent; rate and latency from the call to its answer
 *     bench_server fanout KUBECONFIG NAMESPACE IN_FLIGHT FIRST COUNT WATCHERS
 *         the same while WATCHERS watch that namespace, each on a connection of its own: every one
 *         must see every pod, in order of the revisions. Gives up after 60 s without news
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "json/kj.h"

enum { POD_BYTES = 2048, GIVE_UP_S = 60 };

struct bench;
struct request {
    struct bench *b;
    double start;
};
struct watcher {
    struct bench *b;
    struct kube *kube;
    unsigned events, disorder;
    uint64_t last;
};
struct bench {
    struct loop *loop;
    struct kube *kube;
    const char *ns;
    unsigned next, end, done, failed, in_flight, window;
    double *latency; /* of each answer, in seconds */
    size_t answer_bytes;
    char first_error[256];
    double start, created, seen; /* when the first was sent, the last answered, the last seen */

    struct watcher *watchers;
    unsigned nwatchers, open, complete, per_watcher;
    struct timer *silence;
    uint64_t events, events_before;
};

/* Not the loop's clock: that one stands still within a turn. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- creating -------------------------------------------------------------------------------- */

static void pod_text(struct strbuf *out, const char *ns, unsigned i)
{
    strbuf_appendf(
        out,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%u\","
        "\"namespace\":\"%s\",\"labels\":{\"app.kubernetes.io/name\":\"checkout\","
        "\"app.kubernetes.io/part-of\":\"shop\",\"koordinator.sh/qosClass\":\"LS\","
        "\"pod-template-hash\":\"6f7c9d8b5\",\"team\":\"payments\"}},"
        "\"spec\":{\"schedulerName\":\"nobody\",\"terminationGracePeriodSeconds\":30,"
        "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example.com/shop/"
        "checkout:1.4.%u\","
        "\"args\":[\"--listen=:8080\",\"--log-level=info\"],"
        "\"ports\":[{\"name\":\"http\",\"containerPort\":8080},{\"name\":\"metrics\","
        "\"containerPort\":9090}],"
        "\"env\":[{\"name\":\"REGION\",\"value\":\"eu-central-1\"},{\"name\":\"POD_NAME\","
        "\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}],"
        "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"},"
        "\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}},"
        "\"readinessProbe\":{\"httpGet\":{\"path\":\"/readyz\",\"port\":\"http\"},"
        "\"periodSeconds\":5},"
        "\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/shop\",\"readOnly\":true}]}],"
        "\"volumes\":[{\"name\":\"config\",\"configMap\":{\"name\":\"checkout\"}}],"
        "\"nodeSelector\":{\"kubernetes.io/os\":\"linux\"},"
        "\"tolerations\":[{\"key\":\"dedicated\",\"operator\":\"Equal\",\"value\":\"shop\","
        "\"effect\":\"NoSchedule\"}]}}",
        i, ns, i % 10);
    /* The rest is an annotation: before "labels". */
    static const char before[] = "\"labels\":",
                      head[] = "\"annotations\":{\"example.com/notes\":\"";
    size_t have = out->len + sizeof head - 1 + 3;
    char *at = strstr(out->data, before);
    if (have >= POD_BYTES || !at)
        return;
    CLEANUP(mem_free) char *tail = xstrdup(at);
    strbuf_truncate(out, (size_t)(at - out->data));
    strbuf_append(out, head);
    for (size_t n = have; n < POD_BYTES; n++)
        strbuf_appendc(out, (char)('a' + n % 26));
    strbuf_append(out, "\"},");
    strbuf_append(out, tail);
}

static void pump(struct bench *b);

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct request *q = arg;
    struct bench *b = q->b;

    b->latency[b->done++] = now() - q->start;
    free(q);
    b->in_flight--;
    b->answer_bytes = r->n;
    if (err && b->failed++ == 0)
        snprintf(b->first_error, sizeof b->first_error, "%s", err->text);
    pump(b);
}

static void pump(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    while (b->next < b->end && b->in_flight < b->window) {
        struct request *q = xnew0(struct request);
        strbuf_reset(&body);
        pod_text(&body, b->ns, b->next++);
        struct kube_req r = { .verb = KUBE_CREATE,
                              .kind = kind_find("pods"),
                              .ns = b->ns,
                              .body = body.data,
                              .body_len = body.len,
                              .no_retry = true };
        q->b = b;
        q->start = now();
        b->in_flight++;
        kube_do(b->kube, &r, on_done, q);
    }
    if (b->next == b->end && b->in_flight == 0) {
        b->created = now();
        if (b->complete == b->nwatchers)
            loop_stop(b->loop);
    }
}

/* ---- watching -------------------------------------------------------------------------------- */

static void on_open(void *arg)
{
    struct watcher *w = arg;
    if (++w->b->open == w->b->nwatchers) {
        w->b->start = now();
        pump(w->b);
    }
}

static void on_event(void *arg, enum kube_event_type t, const struct kj_val *v)
{
    struct watcher *w = arg;
    struct bench *b = w->b;
    const char *text = kj_str_or(kj_path(v, "metadata.resourceVersion"), "0");
    uint64_t rev = strtoull(text, NULL, 10);

    if (t == KUBE_BOOKMARK)
        return;
    w->disorder += t != KUBE_ADDED || rev <= w->last;
    w->last = rev;
    b->events++;
    if (++w->events == b->per_watcher)
        b->complete++;
    if (b->complete == b->nwatchers && b->seen <= 0) {
        b->seen = now();
        if (b->next == b->end && b->in_flight == 0)
            loop_stop(b->loop);
    }
}

static void on_end(void *arg, const struct kerr *err)
{
    struct watcher *w = arg;
    fprintf(stderr, "a watch ended after %u events: %s\n", w->events, err ? err->text : "time");
    loop_stop(w->b->loop);
}

static void on_silence(struct loop *l, void *arg)
{
    struct bench *b = arg;
    bool quiet = b->events == b->events_before && (b->open < b->nwatchers || b->in_flight == 0);
    b->events_before = b->events;
    b->silence = NULL;
    if (quiet) {
        fprintf(stderr, "no news for %d s\n", GIVE_UP_S);
        loop_stop(l);
        return;
    }
    b->silence = loop_after(l, GIVE_UP_S * NSEC_PER_SEC, on_silence, b);
}

static int open_watchers(struct bench *b, const struct kube_config *config, struct intern *strings,
                         unsigned n, struct kerr *err)
{
    static const struct kube_watch_handler handler = { .on_event = on_event,
                                                       .on_end = on_end,
                                                       .on_open = on_open };
    b->watchers = xcalloc(n, sizeof *b->watchers);
    b->nwatchers = n;
    for (unsigned i = 0; i < n; i++) {
        struct watcher *w = &b->watchers[i];
        /* Without a resourceVersion it tells first what is there, which is nothing here. */
        struct kube_req r = { .verb = KUBE_WATCH, .kind = kind_find("pods"), .ns = b->ns };
        w->b = b;
        if (kube_http_new(b->loop, strings, config, &w->kube, err) < 0)
            return err->code;
        kube_watch(w->kube, &r, &handler, w);
    }
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double share_ms(const struct bench *b, double share)
{
    if (b->done == 0)
        return 0;
    size_t i = (size_t)(share * (double)b->done);
    return b->latency[i < b->done ? i : b->done - 1] * 1e3;
}

static int report(struct bench *b, unsigned count, double cpu)
{
    unsigned least = UINT32_MAX, most = 0, disorder = 0;
    double wall = b->created - b->start;

    qsort(b->latency, b->done, sizeof *b->latency, by_value);
    printf("{\"creates\": %u, \"errors\": %u, \"seconds\": %.3f, \"creates_per_s\": %.1f, "
           "\"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f, \"answer_bytes\": %zu, "
           "\"client_cpu_s\": %.2f",
           b->done - b->failed, b->failed, wall, b->done / wall, share_ms(b, 0.5),
           share_ms(b, 0.99), share_ms(b, 1), b->answer_bytes, cpu);
    for (unsigned i = 0; i < b->nwatchers; i++) {
        const struct watcher *w = &b->watchers[i];
        least = w->events < least ? w->events : least;
        most = w->events > most ? w->events : most;
        disorder += w->disorder;
    }
    if (b->nwatchers)
        printf(", \"watchers\": %u, \"least\": %u, \"most\": %u, \"disorder\": %u, "
               "\"watch_seconds\": %.3f, \"events_per_s\": %.0f",
               b->nwatchers, least, most, disorder, b->seen > 0 ? b->seen - b->start : -1.0,
               b->seen > 0 ? (double)b->events / (b->seen - b->start) : 0.0);
    printf("}\n");
    if (b->failed)
        fprintf(stderr, "first error: %s\n", b->first_error);
    bool lost = b->nwatchers && (least != count || most != count || disorder);
    return b->failed || b->done < count || lost ? 1 : 0;
}

static unsigned number(const char *s)
{
    return (unsigned)strtoul(s, NULL, 10);
}

int main(int argc, char **argv)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    CLEANUP(kube_free) struct kube *kube = NULL;
    struct kerr err = { 0 };

    bool fanout = argc == 8 && streq(argv[1], "fanout");
    if (!fanout && !(argc == 7 && streq(argv[1], "create"))) {
        fprintf(stderr, "usage: bench_server create|fanout KUBECONFIG NAMESPACE IN_FLIGHT FIRST "
                        "COUNT [WATCHERS]\n");
        return 2;
    }
    struct kube_config_opts o = { .path = argv[2] };
    if (kube_config_load(&o, &config, &err) < 0 ||
        kube_http_new(l, strings, &config, &kube, &err) < 0) {
        fprintf(stderr, "bench_server: %s\n", err.text);
        return 1;
    }
    unsigned first = number(argv[5]), count = number(argv[6]);
    struct bench b = { .loop = l, .kube = kube, .ns = argv[3], .window = number(argv[4]) };
    b.next = first;
    b.end = first + count;
    b.per_watcher = count;
    b.latency = xcalloc(count + 1, sizeof *b.latency);
    b.start = now();
    double cpu = cpu_now();
    int r = 0;
    if (fanout) {
        r = open_watchers(&b, &config, strings, number(argv[7]), &err);
        b.silence = loop_after(l, GIVE_UP_S * NSEC_PER_SEC, on_silence, &b);
    } else {
        pump(&b);
    }
    if (r < 0)
        fprintf(stderr, "bench_server: %s\n", err.text);
    else
        loop_run(l);
    timer_cancel(b.silence);
    r = r < 0 ? 1 : report(&b, count, cpu_now() - cpu);
    for (unsigned i = 0; i < b.nwatchers; i++)
        kube_free(b.watchers[i].kube);
    free(b.watchers);
    free(b.latency);
    return r;
}
