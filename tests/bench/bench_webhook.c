/* bench_webhook.c - pods through the mutating webhook, over TLS as an API server sends them.
 *
 *     bench_webhook PROFILES REQUESTS PER_SECOND
 *
 * A server process with so many profiles, of which one matches; 0: it reads the body and allows
 * without looking. HTTP/1.1 on kept connections, so many requests a second. Prints one JSON object:
 * CPU time of the server for each request, and latency as the client sees it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/policy.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "manager/profile/profiles.h"
#include "manager/webhook/serve.h"
#include "manager/webhook/source.h"
#include "net/certgen.h"
#include "net/http.h"
#include "net/httpd.h"
#include "net/tls.h"
#include "podgen.h"

enum { WARM_UP = 500, CONNECTIONS = 16 };

static double clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what, const struct kerr *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

/* ---- the server ------------------------------------------------------------------------------ */

struct server {
    struct webhooks *w; /* NULL: allows unread */
    struct profile_set *set;
    struct webhook_source src;
};

static const struct profile_set *get_profiles(void *self)
{
    return ((struct server *)self)->set;
}

static const struct priority_class_obj *get_class(void *self, const char *name)
{
    static const struct priority_class_obj class = { .value = 5000 };

    (void)self, (void)name;
    return &class;
}

static void on_unread(void *arg, struct httpd_req *r, char *body, size_t n)
{
    static const char answer[] =
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
        "v1\",\"response\":{\"uid\":"
        "\"u\",\"allowed\":true,\"status\":{\"metadata\":{},\"code\":200}}}";

    (void)arg, (void)body, (void)n;
    httpd_reply(r, 200, "application/json", answer, sizeof answer - 1);
}

static void serve(void *arg, struct httpd_req *r)
{
    struct server *s = arg;
    char text[32];

    if (streq(httpd_target(r), "/cpu")) {
        int n = snprintf(text, sizeof text, "%.9f", clock_of(CLOCK_PROCESS_CPUTIME_ID));
        httpd_reply(r, 200, "text/plain", text, (size_t)n);
    } else if (s->w) {
        webhook_serve(s->w, r);
    } else {
        httpd_read_body(r, on_unread, NULL);
    }
}

static void add_profile(struct server *s, struct kj_scratch *scratch, int i)
{
    CLEANUP(mem_free)
    char *json = xasprintf(
        "{\"metadata\":{\"name\":\"profile-%03d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"%s\":"
        "\"%d\"}},\"qosClass\":\"BE\",\"priorityClassName\":\"koord-batch\",\"schedulerName\":"
        "\"koord-scheduler\",\"labels\":{\"a\":\"b\"}}}",
        i, i == 0 ? "bench" : "other", i);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(&kind_colocation_profile, kj_root(doc), scratch, &o, &err) < 0)
        die("profile", &err);
    profile_set_put(s->set, o);
}

static void run_server(int profiles, const struct strbuf *cert, const struct strbuf *key, int out)
{
    struct loop *l = loop_new();
    struct server s = { .set = profile_set_new() };
    struct kj_scratch *scratch = kj_scratch_new(intern_new());
    struct httpd_opts o = { .max_body = WEBHOOK_BODY_MAX, .tell_too_large = true };
    struct webhook_opts w = { .gates = webhook_gates_default() };
    struct tls_ctx *tls;
    struct kerr err = { 0 };
    uint16_t port;

    for (int i = 0; i < profiles; i++)
        add_profile(&s, scratch, i);
    s.src = (struct webhook_source){ .profiles = get_profiles,
                                     .priority_class = get_class,
                                     .self = &s };
    s.w = profiles > 0 ? webhooks_new(l, &s.src, &w) : NULL;
    struct httpd *d = httpd_new(l, &o, serve, &s);
    if (tls_server_new(&(struct tls_server_opts){ .cert_pem = { cert->data, cert->len },
                                                  .key_pem = { key->data, key->len } },
                       &tls, &err) < 0 ||
        httpd_listen(d, "127.0.0.1:0", tls, &port, &err) < 0)
        die("listen", &err);
    if (write(out, &port, sizeof port) != (ssize_t)sizeof port)
        exit(1);
    loop_run(l);
}

/* ---- the client ------------------------------------------------------------------------------ */

struct client {
    struct loop *l;
    struct http *http;
    struct strbuf body, answer;
    double *latency;
    size_t sent, done, count, failed;
    double per_second, begin;
};
struct call {
    struct client *c;
    double start;
    bool changed;
};

static void on_data(void *arg, const char *p, size_t n)
{
    struct call *k = arg;
    k->changed |= memmem(p, n, "allowed\":true", 13) != NULL;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct call *k = arg;
    struct client *c = k->c;

    (void)sent;
    c->failed += err || !k->changed;
    c->latency[c->done++] = clock_of(CLOCK_MONOTONIC) - k->start;
    free(k);
    if (c->done == c->count)
        loop_stop(c->l);
}

static void send_one(struct client *c)
{
    static const struct http_handler on = { .on_data = on_data, .on_end = on_end };
    static const struct http_header type = { STR("content-type"), STR("application/json") };
    struct call *k = xnew0(struct call);

    *k = (struct call){ c, clock_of(CLOCK_MONOTONIC), false };
    http_send(c->http,
              &(struct http_req){ .method = "POST",
                                  .target = "/mutate-pod?timeout=10s",
                                  .headers = { &type, 1 },
                                  .body = c->body.data,
                                  .body_len = c->body.len },
              &on, k);
}

static void on_tick(struct loop *l, void *arg)
{
    struct client *c = arg;
    double due = (clock_of(CLOCK_MONOTONIC) - c->begin) * c->per_second;

    for (; c->sent < c->count && (double)c->sent < due; c->sent++)
        send_one(c);
    if (c->sent < c->count)
        loop_after(l, NSEC_PER_MSEC, on_tick, c);
}

static void run_requests(struct client *c, size_t count, double per_second)
{
    c->sent = c->done = 0;
    c->count = count;
    c->per_second = per_second;
    c->begin = clock_of(CLOCK_MONOTONIC);
    on_tick(c->l, c);
    loop_run(c->l);
}

static void on_cpu(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct client *)arg)->answer, p, n);
}

static void on_cpu_end(void *arg, const struct kerr *err, bool sent)
{
    (void)err, (void)sent;
    loop_stop(((struct client *)arg)->l);
}

static double server_cpu(struct client *c)
{
    static const struct http_handler on = { .on_data = on_cpu, .on_end = on_cpu_end };

    strbuf_reset(&c->answer);
    http_send(c->http, &(struct http_req){ .method = "GET", .target = "/cpu" }, &on, c);
    loop_run(c->l);
    return strtod(strbuf_str(&c->answer), NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void make_body(struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf pod = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    podgen_pending_json(&pod, 0);
    char *labels = strstr(strbuf_str(&pod), "\"labels\":{");
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "AdmissionReview");
    kjw_str(&w, "apiVersion", "admission.k8s.io/v1");
    kjw_obj(&w, "request");
    kjw_str(&w, "uid", "5f2b7c1e-6f3c-4c1e-9d52-0d5a3c1b2a10");
    kjw_obj(&w, "resource");
    kjw_str(&w, "group", "");
    kjw_str(&w, "version", "v1");
    kjw_str(&w, "resource", "pods");
    kjw_end(&w);
    kjw_str(&w, "operation", "CREATE");
    kjw_str(&w, "namespace", "default");
    CLEANUP(mem_free)
    char *object =
        xasprintf("%.*s\"bench\":\"0\",%s", (int)(labels + 10 - pod.data), pod.data, labels + 10);
    kjw_raw(&w, "object", object, strlen(object));
    kjw_end(&w);
    kjw_end(&w);
}

static void run_client(uint16_t port, const struct strbuf *cert, size_t count, double per_second)
{
    struct client c = { .l = loop_new(), .latency = xcalloc(count + WARM_UP, sizeof(double)) };
    struct tls_ctx *tls;
    struct kerr err = { 0 };

    if (tls_client_new(
            &(struct tls_client_opts){ .ca_pem = { cert->data, cert->len }, .no_h2 = true }, &tls,
            &err) < 0)
        die("tls", &err);
    c.http = http_client_new(
        c.l, &(struct http_client_opts){
                 .host = "127.0.0.1", .port = port, .tls = tls, .max_conns = CONNECTIONS });
    make_body(&c.body);
    run_requests(&c, WARM_UP, per_second);
    c.failed = 0;
    double before = server_cpu(&c);
    run_requests(&c, count, per_second);
    double cpu = server_cpu(&c) - before;
    qsort(c.latency, count, sizeof *c.latency, by_value);
    printf("{\"cpu_ms\": %.4f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"failed\": %zu, \"bytes\": "
           "%zu}\n",
           cpu * 1000 / (double)count, c.latency[count / 2] * 1000,
           c.latency[count * 99 / 100] * 1000, c.failed, c.body.len);
    http_free(c.http);
    tls_unref(tls);
    loop_free(c.l);
    strbuf_fini(&c.body);
    strbuf_fini(&c.answer);
    free(c.latency);
}

int main(int argc, char **argv)
{
    static const char *const hosts[] = { "127.0.0.1", NULL };
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    struct kerr err = { 0 };
    uint16_t port = 0;
    int ends[2];

    if (argc != 4 || pipe(ends) < 0) {
        (void)fprintf(stderr, "usage: bench_webhook PROFILES REQUESTS PER_SECOND\n");
        return 2;
    }
    struct certgen_opts o = { .common_name = "bench", .hosts = hosts, .days = 1 };
    o.now = (nsec_t)(clock_of(CLOCK_REALTIME) * 1e9);
    if (certgen_self_signed(&o, &cert, &key, &err) < 0)
        die("certificate", &err);
    pid_t child = fork();
    if (child == 0) {
        run_server(atoi(argv[1]), &cert, &key, ends[1]);
        return 0;
    }
    if (child < 0 || read(ends[0], &port, sizeof port) != (ssize_t)sizeof port)
        return 1;
    run_client(port, &cert, (size_t)atol(argv[2]), atof(argv[3]));
    (void)kill(child, SIGTERM);
    (void)waitpid(child, NULL, 0);
    return 0;
}
