/* test_serve.c - the components' endpoint, spoken to with our own client over memory. */
#include "component/serve.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/stream.h"
#include "json/kj.h"

struct fixture {
    struct loop *l;
    struct metrics *m;
    struct serve *s;
    struct http *client;
    const char *peer;
    /* The last answer. */
    int status;
    char type[80], sniff[20], allow[20];
    struct strbuf body;
    bool ended;
    struct kerr err;
    /* What checks say. */
    bool sick;
    char set[32];
};

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct fixture *b = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    serve_stream(b->s, ends[0], b->peer);
    fn(fn_arg, ends[1], NULL);
}

struct dialing { /* callbacks never come from inside the call */
    struct fixture *b;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing *d = arg;
    dial(d->b, l, d->fn, d->arg);
    free(d);
}

static void dial_later(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);
    *d = (struct dialing){ dial_arg, fn, arg };
    loop_post(l, dial_now, d);
}

static int maybe_sick(void *arg, struct kerr *err)
{
    struct fixture *b = arg;
    return b->sick ? kerr_set(err, -EIO, "the lease was not renewed") : 0;
}

static void fixture_init(struct fixture *b, bool allow_remote)
{
    *b = (struct fixture){ .l = loop_new_virtual(0, 7),
                           .m = metrics_new(),
                           .peer = "127.0.0.1:999" };
    b->s = serve_new(b->l, &(struct serve_opts){ .program = "koord-test",
                                                 .metrics = b->m,
                                                 .allow_remote_changes = allow_remote });
    serve_add_check(b->s, SERVE_HEALTHZ | SERVE_READYZ, "leaderElection", maybe_sick, b);
    b->client =
        http_client_new(b->l, &(struct http_client_opts){
                                  .host = "test", .port = 80, .dial = dial_later, .dial_arg = b });
}

static void fixture_fini(struct fixture *b)
{
    http_free(b->client);
    serve_free(b->s);
    metrics_free(b->m);
    loop_advance(b->l, 10 * NSEC_PER_SEC);
    loop_free(b->l);
    strbuf_fini(&b->body);
}

static void keep(char *to, size_t size, struct str v)
{
    (void)snprintf(to, size, "%.*s", (int)v.n, v.p ? v.p : "");
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct fixture *b = arg;
    b->status = r->status;
    keep(b->type, sizeof b->type, http_header_get(&r->headers, "content-type"));
    keep(b->sniff, sizeof b->sniff, http_header_get(&r->headers, "x-content-type-options"));
    keep(b->allow, sizeof b->allow, http_header_get(&r->headers, "allow"));
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct fixture *b = arg;
    (void)sent;
    b->ended = true;
    if (err)
        b->err = *err;
}

/* One exchange; the body of the answer. */
static const char *ask(struct fixture *b, const char *method, const char *target, const char *body)
{
    static const struct http_handler h = { on_headers, on_data, on_end };

    b->status = 0;
    b->ended = false;
    strbuf_reset(&b->body);
    http_send(
        b->client,
        &(struct http_req){
            .method = method, .target = target, .body = body, .body_len = body ? strlen(body) : 0 },
        &h, b);
    loop_advance(b->l, NSEC_PER_SEC);
    assert_true(b->ended);
    assert_int_equal(b->err.code, 0);
    return strbuf_str(&b->body);
}

static void test_health_endpoints(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, false);
    assert_string_equal(ask(&b, "GET", "/healthz", NULL), "ok");
    assert_int_equal(b.status, 200);
    assert_string_equal(b.type, "text/plain; charset=utf-8");
    assert_string_equal(b.sniff, "nosniff");
    assert_string_equal(ask(&b, "GET", "/readyz?verbose", NULL),
                        "[+]ping ok\n[+]leaderElection ok\nreadyz check passed\n");
    assert_string_equal(ask(&b, "GET", "/livez?verbose=true", NULL),
                        "[+]ping ok\nlivez check passed\n");
    assert_string_equal(ask(&b, "GET", "/healthz/leaderElection", NULL), "ok");
    ask(&b, "GET", "/livez/leaderElection", NULL);
    assert_int_equal(b.status, 404);
    ask(&b, "POST", "/healthz", "x");
    assert_int_equal(b.status, 405);
    assert_string_equal(b.allow, "GET, HEAD");
    assert_string_equal(ask(&b, "HEAD", "/healthz", NULL), "");
    assert_int_equal(b.status, 200);
    fixture_fini(&b);
}

static void test_failing_checks_are_listed_without_reason(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, false);
    b.sick = true;
    assert_string_equal(ask(&b, "GET", "/healthz", NULL),
                        "[+]ping ok\n[-]leaderElection failed: reason withheld\n"
                        "healthz check failed\n");
    assert_int_equal(b.status, 500);
    assert_string_equal(ask(&b, "GET", "/healthz/leaderElection", NULL),
                        "internal server error: the lease was not renewed\n");
    assert_int_equal(b.status, 500);
    assert_string_equal(ask(&b, "GET", "/healthz?exclude=leaderElection", NULL), "ok");
    assert_string_equal(
        ask(&b, "GET", "/healthz?verbose&exclude=leaderElection&exclude=x%22y", NULL),
        "[+]ping ok\n[+]leaderElection excluded: ok\n"
        "warn: some health checks cannot be excluded: no matches for \"x\\\"y\"\n"
        "healthz check passed\n");
    assert_string_equal(ask(&b, "GET", "/livez", NULL), "ok");
    fixture_fini(&b);
}

static void test_health_checks_are_counted(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, false);
    assert_string_equal(ask(&b, "GET", "/metrics/slis", NULL), "");
    ask(&b, "GET", "/healthz", NULL);
    b.sick = true;
    ask(&b, "GET", "/healthz", NULL);
    ask(&b, "GET", "/healthz?exclude=leaderElection", NULL);
    ask(&b, "GET", "/healthz/leaderElection", NULL); /* one alone is not counted, as upstream */
    assert_string_equal(
        ask(&b, "GET", "/metrics/slis", NULL),
        "# HELP kubernetes_healthcheck The last result of a health check: 1 well, 0 not.\n"
        "# TYPE kubernetes_healthcheck gauge\n"
        "kubernetes_healthcheck{name=\"leaderElection\",type=\"healthz\"} 0\n"
        "kubernetes_healthcheck{name=\"ping\",type=\"healthz\"} 1\n"
        "# HELP kubernetes_healthchecks_total Results of health checks so far.\n"
        "# TYPE kubernetes_healthchecks_total counter\n"
        "kubernetes_healthchecks_total{name=\"leaderElection\",status=\"error\",type=\"healthz\"} "
        "1\n"
        "kubernetes_healthchecks_total{name=\"leaderElection\",status=\"success\",type="
        "\"healthz\"} 1\n"
        "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} 3\n");
    fixture_fini(&b);
}

static void test_metrics_and_version(void **state)
{
    static const struct metric_desc d = { "things_total", "Things.", METRIC_COUNTER };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct fixture b;

    (void)state;
    fixture_init(&b, false);
    counter_inc(metric_counter(metrics_add(b.m, &d), NULL));
    assert_string_equal(ask(&b, "GET", "/metrics", NULL),
                        "# HELP things_total Things.\n# TYPE things_total counter\n"
                        "things_total 1\n");
    assert_starts(b.type, "text/plain; version=0.0.4; charset=utf-8");
    ask(&b, "GET", "/version?timeout=32s", NULL);
    assert_string_equal(b.type, "application/json");
    assert_int_equal(kj_parse(b.body.data, b.body.len, 0, &doc, NULL), 0);
    assert_string_equal(kj_str(kj_get(kj_root(doc), "gitVersion")), "v" KOORD_VERSION);
    assert_starts(kj_str(kj_get(kj_root(doc), "platform")), "linux/");
    ask(&b, "GET", "/", NULL);
    assert_contains(strbuf_str(&b.body), "\"/healthz\",\"/healthz/\",\"/livez\"");
    assert_string_equal(ask(&b, "GET", "/nothing?x=1", NULL), "404 page not found\n");
    assert_int_equal(b.status, 404);
    assert_string_equal(ask(&b, "GET", "/%zz", NULL), "malformed path\n");
    assert_int_equal(b.status, 400);
    fixture_fini(&b);
}

static int set_scores(void *arg, const char *value, struct kerr *err)
{
    struct fixture *b = arg;
    if (value[0] < '0' || value[0] > '9')
        return kerr_set(err, -EINVAL, "not a number");
    (void)snprintf(b->set, sizeof b->set, "%s", value);
    return 0;
}

static const struct serve_flag scores = { "s", "debugTopNScores", set_scores, NULL };

static void test_settings_change_at_run_time(void **state)
{
    struct fixture b;
    int before = klog_level;

    (void)state;
    fixture_init(&b, false);
    serve_add_flag(b.s, &scores, &b);
    assert_string_equal(ask(&b, "PUT", "/debug/flags/s", "10"),
                        "successfully set debugTopNScores to 10\n");
    assert_int_equal(b.status, 200);
    assert_string_equal(b.sniff, "nosniff");
    assert_string_equal(b.set, "10");
    assert_string_equal(ask(&b, "GET", "/debug/flags/s", NULL), "unsupported http method\n");
    assert_int_equal(b.status, 406);
    assert_string_equal(ask(&b, "PUT", "/debug/flags/s", "x\n"),
                        "failed set debugTopNScores x: not a number\n");
    assert_int_equal(b.status, 400);
    assert_string_equal(ask(&b, "PUT", "/debug/flags/v", "5\n"),
                        "successfully set klog.logging.verbosity to 5\n");
    assert_int_equal(klog_level, 5);
    assert_string_equal(ask(&b, "GET", "/debug/flags/v", NULL), "5\n");
    ask(&b, "PUT", "/debug/flags/v", "loud");
    assert_int_equal(b.status, 400);
    ask(&b, "PUT", "/debug/flags/nothing", "1");
    assert_int_equal(b.status, 404);
    ask(&b, "GET", "/debug/flags", NULL);
    assert_contains(strbuf_str(&b.body), "debugTopNScores");
    assert_string_equal(b.type, "text/html; charset=utf-8");
    klog_set_level(before);
    fixture_fini(&b);
}

static void test_other_machines_may_look_but_not_change(void **state)
{
    struct fixture b;
    int before = klog_level;

    (void)state;
    fixture_init(&b, false);
    b.peer = "10.0.0.8:999";
    assert_contains(ask(&b, "PUT", "/debug/flags/v", "9"), "from this machine only");
    assert_int_equal(b.status, 403);
    assert_int_equal(klog_level, before);
    assert_string_equal(ask(&b, "GET", "/healthz", NULL), "ok");
    fixture_fini(&b);

    fixture_init(&b, true);
    b.peer = "10.0.0.8:999";
    ask(&b, "PUT", "/debug/flags/v", "3");
    assert_int_equal(b.status, 200);
    assert_int_equal(klog_level, 3);
    klog_set_level(before);
    fixture_fini(&b);
}

static void say_where(void *arg, struct httpd_req *r)
{
    serve_text(r, 200, "%s", (const char *)arg);
}

static void test_the_longest_prefix_wins(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, false);
    serve_handle(b.s, "/apis/v1/", say_where, "all");
    serve_handle(b.s, "/apis/v1/nodes/", say_where, "nodes");
    serve_handle(b.s, "/apis/v1/nodes", say_where, "exact");
    assert_string_equal(ask(&b, "GET", "/apis/v1/nodes/n1?x", NULL), "nodes\n");
    assert_string_equal(ask(&b, "GET", "/apis/v1/nodes", NULL), "exact\n");
    assert_string_equal(ask(&b, "GET", "/apis/v1/pods", NULL), "all\n");
    assert_string_equal(ask(&b, "GET", "/apis/v1/n%6fdes/a", NULL), "nodes\n");
    ask(&b, "GET", "/apis/v1", NULL);
    assert_int_equal(b.status, 404);
    fixture_fini(&b);
}

static void test_bind_errors_say_what_to_do(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(serve_free)
    struct serve *s = serve_new(l, &(struct serve_opts){ .program = "koord-test" });
    struct kerr err = { 0 };
    uint16_t port = 0;
    char addr[40];

    (void)state;
    assert_int_equal(serve_listen(s, "127.0.0.1:0", &port, &err), 0);
    (void)snprintf(addr, sizeof addr, "127.0.0.1:%u", port);
    assert_int_equal(serve_listen(s, addr, NULL, &err), -EADDRINUSE);
    assert_contains(err.text, addr);
    assert_contains(err.text, "(another program has this port: choose another one)");
    assert_int_equal(serve_listen(s, "203.0.113.7:0", NULL, &err), -EADDRNOTAVAIL);
    assert_contains(err.text, "this machine does not have this address");
    assert_that(serve_listen(s, "nonsense", NULL, &err), <, 0);
    assert_contains(err.text, "nonsense");
    struct serve_tls tls = { "/nonexistent/tls.crt", "/nonexistent/tls.key", NULL };
    assert_int_equal(serve_listen_tls(s, "127.0.0.1:0", &tls, NULL, &err), -ENOENT);
    assert_contains(err.text, "/nonexistent/tls.crt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_endpoints),
        cmocka_unit_test(test_failing_checks_are_listed_without_reason),
        cmocka_unit_test(test_health_checks_are_counted),
        cmocka_unit_test(test_metrics_and_version),
        cmocka_unit_test(test_settings_change_at_run_time),
        cmocka_unit_test(test_other_machines_may_look_but_not_change),
        cmocka_unit_test(test_the_longest_prefix_wins),
        cmocka_unit_test(test_bind_errors_say_what_to_do),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
