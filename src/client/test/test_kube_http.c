/* test_kube_http.c - requests, answers, retries, limits and watches of the HTTP transport. */
#include <stdio.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/test/client_fixture.h"
#include "json/kj.h"

struct result {
    int calls, status, code;
    enum kreason reason;
    char text[256], body[512];
    nsec_t at;
    struct loop *loop;
};

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct result *res = arg;
    res->calls++;
    res->status = r->status;
    res->code = err ? err->code : 0;
    res->reason = err ? err->reason : KR_NONE;
    res->at = res->loop ? loop_mono(res->loop) : 0;
    snprintf(res->text, sizeof res->text, "%s", err ? err->text : "");
    snprintf(res->body, sizeof res->body, "%.*s", (int)r->n, r->body);
}

static struct kube_req get_pod(const char *name)
{
    return (
        struct kube_req){ .verb = KUBE_GET, .kind = kind_find("pods"), .ns = "ns", .name = name };
}

static void test_get_answers_in_a_later_turn(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 1);
    fake_put(r.fake, PODS, "a", "{}");
    kube_do(r.kube, &req, on_done, &res);
    assert_int_equal(res.calls, 0);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(res.calls, 1);
    assert_int_equal(res.status, 200);
    assert_int_equal(res.code, 0);
    assert_contains(res.body, "\"name\":\"a\"");
}

static void test_errors_carry_the_servers_reason_and_message(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("missing");

    (void)state;
    client_fixture_init(&r, 2);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(res.status, 404);
    assert_int_equal(res.reason, KR_NOT_FOUND);
    assert_int_equal(res.code, -ENOENT);
    assert_string_equal(res.text, "the object was not found");
}

static void test_a_refused_connection_is_reported_with_the_request(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 3);
    fake_refuse(r.fake, true);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(res.code, -ECONNREFUSED);
    assert_int_equal(res.status, 0);
    assert_contains(res.text, "GET /api/v1/namespaces/ns/pods/a");
}

static void test_bad_names_never_reach_the_server(void **state)
{
    static const char *const bad[] = { "", ".", "..", "a/b", "a%2fb" };
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 4);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct result res = { 0 };
        struct kube_req req = get_pod(bad[i]);
        kube_do(r.kube, &req, on_done, &res);
        assert_int_equal(res.calls, 0);
        client_fixture_run(&r, NSEC_PER_SEC);
        assert_int_equal(res.calls, 1);
        assert_int_equal(res.reason, KR_INVALID);
    }
    assert_int_equal(fake_stats(r.fake).requests, 0);
}

static void test_429_waits_as_told(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 5);
    res.loop = r.loop;
    fake_put(r.fake, PODS, "a", "{}");
    fake_answer_next(r.fake, 2, 429, 3);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, 5 * NSEC_PER_SEC);
    assert_int_equal(res.calls, 0);
    client_fixture_run(&r, 5 * NSEC_PER_SEC);
    assert_int_equal(res.calls, 1);
    assert_int_equal(res.status, 200);
    assert_in_range(res.at, 6 * NSEC_PER_SEC, 6 * NSEC_PER_SEC + 100 * NSEC_PER_MSEC);
    assert_int_equal(kube_http_stats(r.kube).retries, 2);
}

static void test_no_retry_hands_429_over(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 6);
    req.no_retry = true;
    fake_answer_next(r.fake, 1, 429, 3);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(res.calls, 1);
    assert_int_equal(res.reason, KR_TOO_MANY_REQUESTS);
}

static void test_retries_end_with_the_deadline(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 7);
    req.timeout = 10 * NSEC_PER_SEC;
    fake_answer_next(r.fake, 100, 503, 4);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(res.calls, 1);
    assert_int_equal(res.reason, KR_UNAVAILABLE);
}

static void test_cancel_means_no_callback(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 8);
    fake_slow(r.fake, NSEC_PER_SEC);
    kube_cancel(kube_do(r.kube, &req, on_done, &res));
    struct kube_call *c = kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, 500 * NSEC_PER_MSEC);
    kube_cancel(c);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(res.calls, 0);
}

static void test_qps_and_burst_pace_requests(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 9);
    kube_http_set_limits(r.kube, 10, 5);
    for (int i = 0; i < 25; i++)
        kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, 100 * NSEC_PER_MSEC);
    assert_in_range(res.calls, 5, 6);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_in_range(res.calls, 15, 16);
    client_fixture_run(&r, 2 * NSEC_PER_SEC);
    assert_int_equal(res.calls, 25);
}

static void test_timeout_is_an_error_of_its_own(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct result res = { 0 };
    struct kube_req req = get_pod("a");

    (void)state;
    client_fixture_init(&r, 10);
    req.timeout = 2 * NSEC_PER_SEC;
    fake_slow(r.fake, 60 * NSEC_PER_SEC);
    kube_do(r.kube, &req, on_done, &res);
    client_fixture_run(&r, 3 * NSEC_PER_SEC);
    assert_int_equal(res.code, -ETIMEDOUT);
}

static void target_is(const struct kube_req *req, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };
    assert_int_equal(kube_target(req, 0, &out, &err), 0);
    assert_string_equal(strbuf_str(&out), want);
}

static void test_targets(void **state)
{
    const struct kind *pods = kind_find("pods"), *nodes = kind_find("nodes");
    const struct kind *leases = kind_find("leases");

    (void)state;
    target_is(&(struct kube_req){ .verb = KUBE_LIST, .kind = pods }, "/api/v1/pods");
    target_is(&(struct kube_req){ .verb = KUBE_LIST,
                                  .kind = pods,
                                  .ns = "x",
                                  .label_selector = "a=b,c!=d",
                                  .limit = 500 },
              "/api/v1/namespaces/x/pods?labelSelector=a%3Db%2Cc%21%3Dd&limit=500");
    target_is(&(struct kube_req){ .verb = KUBE_PATCH,
                                  .kind = nodes,
                                  .name = "n",
                                  .subresource = "status",
                                  .field_manager = "koord" },
              "/api/v1/nodes/n/status?fieldManager=koord");
    target_is(
        &(struct kube_req){
            .verb = KUBE_WATCH, .kind = leases, .resource_version = "5", .bookmarks = true },
        "/apis/coordination.k8s.io/v1/leases?resourceVersion=5&watch=1&"
        "allowWatchBookmarks=true");
    target_is(&(struct kube_req){ .raw_path = "/version" }, "/version");
}

static void test_status_bodies_become_errors(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    const char *gone = "{\"kind\":\"Status\",\"reason\":\"Expired\",\"message\":\"too old\"}";
    kube_status_err(410, gone, strlen(gone), &err);
    assert_int_equal(err.reason, KR_EXPIRED);
    assert_string_equal(err.text, "too old");
    kube_status_err(502, "<html>bad gateway\nmore", 22, &err);
    assert_int_equal(err.reason, KR_UNAVAILABLE);
    assert_contains(err.text, "<html>bad gateway");
    kube_status_err(500, "", 0, &err);
    assert_int_equal(err.reason, KR_INTERNAL);
}

struct watched {
    int events, ends, cancel_at;
    struct kube_call *call;
    struct kerr err;
};

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    struct watched *w = arg;
    (void)type;
    assert_non_null(kj_str(kj_path(obj, "metadata.name")));
    if (++w->events == w->cancel_at)
        w->call = kube_cancel(w->call);
}
static void on_watch_end(void *arg, const struct kerr *err)
{
    struct watched *w = arg;
    w->ends++;
    if (err)
        w->err = *err;
}
static const struct kube_watch_handler watching = { on_event, on_watch_end };

static void test_a_watch_may_be_cancelled_from_its_event(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct watched w = { .cancel_at = 2 };
    struct kube_req req = { .kind = kind_find("pods"), .resource_version = "100" };

    (void)state;
    client_fixture_init(&r, 11);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        fake_put(r.fake, PODS, name, "{}");
    }
    w.call = kube_watch(r.kube, &req, &watching, &w);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(w.events, 2);
    assert_int_equal(w.ends, 0);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(fake_stats(r.fake).open_watches, 0);
}

static void test_a_watch_from_the_past_ends_with_expired(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct watched w = { 0 };
    struct kube_req req = { .kind = kind_find("pods"), .resource_version = "1" };

    (void)state;
    client_fixture_init(&r, 12);
    fake_compact(r.fake);
    w.call = kube_watch(r.kube, &req, &watching, &w);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(w.ends, 1);
    assert_int_equal(w.err.reason, KR_EXPIRED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_answers_in_a_later_turn),
        cmocka_unit_test(test_errors_carry_the_servers_reason_and_message),
        cmocka_unit_test(test_a_refused_connection_is_reported_with_the_request),
        cmocka_unit_test(test_bad_names_never_reach_the_server),
        cmocka_unit_test(test_429_waits_as_told),
        cmocka_unit_test(test_no_retry_hands_429_over),
        cmocka_unit_test(test_retries_end_with_the_deadline),
        cmocka_unit_test(test_cancel_means_no_callback),
        cmocka_unit_test(test_qps_and_burst_pace_requests),
        cmocka_unit_test(test_timeout_is_an_error_of_its_own),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_status_bodies_become_errors),
        cmocka_unit_test(test_a_watch_may_be_cancelled_from_its_event),
        cmocka_unit_test(test_a_watch_from_the_past_ends_with_expired),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
