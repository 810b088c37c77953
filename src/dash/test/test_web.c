/* test_web.c - the page's server over memory streams: who is let in, what streams say. */
#include "dash/test/dash_fixture.h"

#include <stdio.h>

#include "base/test/asserts.h"
#include "dash/web.h"
#include "dash/web_int.h"
#include "net/stream.h"

#define SECOND NSEC_PER_SEC
#define HOST   "Host: localhost:80\r\n"

struct browser { /* a client that keeps its cookie */
    struct client_fixture f;
    struct dash *dash;
    struct web *web;
    struct stream *end;
    struct strbuf got;
    char cookie[SESSION_COOKIE_MAX];
};

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct browser *)arg)->got, p, n);
}

static void on_close(void *arg, const struct kerr *err)
{
    (void)arg, (void)err;
}

static const struct stream_events events = { on_data, NULL, on_close };

static void browser_init(struct browser *b)
{
    *b = (struct browser){ 0 };
    client_fixture_init(&b->f, 11);
    put_cluster(&b->f);
    b->dash = dash_new(b->f.kube, &(struct dash_opts){ 0 });
    assert_int_equal(web_new(b->dash, &b->web, NULL), 0);
    client_fixture_run(&b->f, SECOND);
}

static void browser_fini_p(struct browser *b)
{
    stream_close(b->end);
    web_free(b->web);
    dash_free(b->dash);
    strbuf_fini(&b->got);
    client_fixture_fini(&b->f);
}

/* A new connection each time: nobody else's answer is in it. */
static const char *ask(struct browser *b, const char *method, const char *target,
                       const char *headers)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct stream *ends[2];

    stream_close(b->end);
    strbuf_reset(&b->got);
    stream_mem_pair(b->f.loop, NULL, ends);
    web_serve(b->web, ends[1]);
    b->end = ends[0];
    stream_listen(b->end, &events, b);
    strbuf_appendf(&text, "%s %s HTTP/1.1\r\n%s", method, target, headers);
    if (*b->cookie)
        strbuf_appendf(&text, "Cookie: %s\r\n", b->cookie);
    strbuf_append(&text, "\r\n");
    stream_write(b->end, text.data, text.len);
    client_fixture_run(&b->f, NSEC_PER_MSEC);
    return strbuf_str(&b->got);
}

static void log_in(struct browser *b)
{
    char target[80];

    (void)snprintf(target, sizeof target, "/?key=%s", b->web->session.key);
    const char *got = ask(b, "GET", target, HOST);
    assert_starts(got, "HTTP/1.1 303 ");
    const char *set = strstr(got, "set-cookie: ");
    assert_non_null(set);
    assert_contains(set, "; HttpOnly; SameSite=Strict");
    (void)snprintf(b->cookie, sizeof b->cookie, "%.*s", (int)strcspn(set + 12, ";"), set + 12);
}

#define BROWSER(b)                          \
    CLEANUP(browser_fini) struct browser b; \
    browser_init(&b)

static void test_who_is_let_in(void **state)
{
    (void)state;
    BROWSER(b);
    assert_starts(ask(&b, "GET", "/", HOST), "HTTP/1.1 403 ");
    assert_starts(ask(&b, "GET", "/stream?view=overview", HOST), "HTTP/1.1 403 ");
    assert_starts(ask(&b, "GET", "/?key=wrong", HOST), "HTTP/1.1 403 ");
    log_in(&b);
    assert_starts(ask(&b, "GET", "/", HOST), "HTTP/1.1 200 ");
    assert_starts(ask(&b, "GET", "/", "Host: evil.example:80\r\n"), "HTTP/1.1 403 ");
    assert_starts(ask(&b, "GET", "/", HOST "Origin: http://evil.example\r\n"), "HTTP/1.1 403 ");
    assert_starts(ask(&b, "GET", "/", HOST "Origin: http://localhost:80\r\n"), "HTTP/1.1 200 ");
    assert_starts(ask(&b, "POST", "/", HOST "Content-Length: 0\r\n"), "HTTP/1.1 405 ");
    assert_starts(ask(&b, "GET", "/nothing", HOST), "HTTP/1.1 404 ");
    b.cookie[0] = '\0'; /* another browser, with the same URL */
    char again[80];
    (void)snprintf(again, sizeof again, "/?key=%s", b.web->session.key);
    assert_starts(ask(&b, "GET", again, HOST), "HTTP/1.1 403 ");
}

static void test_page(void **state)
{
    size_t size = 0;

    (void)state;
    BROWSER(b);
    log_in(&b);
    const char *got = ask(&b, "GET", "/", HOST);
    assert_contains(got, "content-security-policy: default-src 'none'; script-src 'self';");
    assert_contains(got, "x-content-type-options: nosniff");
    assert_contains(got, "<title>koord dashboard</title>");
    for (const struct page_file *f = page_files; f->path; f++) {
        assert_starts(ask(&b, "GET", f->path, HOST), "HTTP/1.1 200 ");
        size += f->n;
    }
    assert_that(size, <=, (size_t)100 * 1024);
}

static void test_overview(void **state)
{
    (void)state;
    BROWSER(b);
    log_in(&b);
    const char *got = ask(&b, "GET", "/stream?view=overview", HOST);
    assert_contains(got, "content-type: text/event-stream");
    assert_contains(got, "event: state\ndata: {\"sources\":[{\"resource\":\"nodes\"");
    assert_contains(got, "\"used\":[3000,9216]");
    assert_contains(got, "event: nodes\ndata: {\"first\":true,\"rows\":[[\"n1\",3,8000,1000,0,500,"
                         "1500,32768,9216,4000,2,3000],[\"n2\",2,8000,0,");
    strbuf_reset(&b.got);
    client_fixture_run(&b.f, 2 * SECOND);
    assert_lacks(strbuf_str(&b.got), "event: nodes"); /* nothing has changed */
    put_pod(&b.f, "web", "d", PROD_POD("n2"));
    client_fixture_run(&b.f, 2 * SECOND);
    assert_contains(strbuf_str(&b.got), "event: nodes\ndata: {\"first\":false,\"rows\":[[\"n2\",");
    assert_lacks(strbuf_str(&b.got), "[\"n1\"");
    put_node(&b.f, "n10");
    client_fixture_run(&b.f, 2 * SECOND);
    assert_contains(strbuf_str(&b.got), "\"first\":true");
    client_fixture_run(&b.f, 60 * SECOND);
    assert_contains(strbuf_str(&b.got), "event: minutes\ndata: [[");
    strbuf_reset(&b.got);
    client_fixture_run(&b.f, 11 * SECOND);
    assert_contains(strbuf_str(&b.got), "event: state"); /* a heartbeat */
}

static void test_a_node(void **state)
{
    (void)state;
    BROWSER(b);
    fake_put(b.f.fake, SLOS, "n1",
             "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"cpuSuppressThresholdPercent\":65}}}");
    fake_put(b.f.fake, EVENTS, "e1",
             "{\"involvedObject\":{\"kind\":\"Node\",\"name\":\"n1\"},\"type\":\"Warning\","
             "\"reason\":\"Hot\",\"message\":\"<b>hot</b>\",\"count\":3}");
    fake_put(b.f.fake, EVENTS, "e2",
             "{\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"n1\"},\"reason\":\"OfAPod\"}");
    log_in(&b);
    ask(&b, "GET", "/stream?node=n1", HOST);
    client_fixture_run(&b.f, 2 * SECOND);
    const char *got = strbuf_str(&b.got);
    assert_contains(got, "event: node\ndata: {\"name\":\"n1\",\"found\":true,\"fresh\":true");
    assert_contains(got, "\"qos\":[{\"name\":\"LS\",\"used\":[1000,4096]},{\"name\":\"BE\"");
    assert_contains(got, "\"slo\":{\"resourceUsedThresholdWithBE\":{"
                         "\"cpuSuppressThresholdPercent\":65}}");
    assert_contains(got, "\"reason\":\"Hot\",\"text\":\"<b>hot</b>\"");
    assert_lacks(got, "OfAPod");
    assert_contains(got, "{\"ns\":\"job\",\"name\":\"b\",\"qos\":\"BE\",\"class\":\"koord-batch\"");
    ask(&b, "GET", "/stream?node=gone", HOST);
    client_fixture_run(&b.f, SECOND);
    assert_contains(strbuf_str(&b.got), "\"name\":\"gone\",\"found\":false}");
    assert_starts(ask(&b, "GET", "/stream?node=a%2Cb", HOST), "HTTP/1.1 400 ");
    assert_starts(ask(&b, "GET", "/stream?view=other", HOST), "HTTP/1.1 400 ");
}

static void test_pending(void **state)
{
    (void)state;
    BROWSER(b);
    put_pod(&b.f, "web", "c2", WAITING_POD("0/2 nodes are available: 2 Insufficient cpu."));
    put_pod(&b.f, "web", "new",
            "{\"spec\":{\"containers\":[]},\"status\":{\"phase\":\"Pending\"}}");
    log_in(&b);
    client_fixture_run(&b.f, SECOND);
    ask(&b, "GET", "/stream?view=pending", HOST);
    const char *got = strbuf_str(&b.got);
    assert_contains(got, "event: pending\ndata: {\"total\":3,\"reasons\":[{\"reason\":"
                         "\"Unschedulable\",\"text\":\"0/2 nodes are available: 2 Insufficient "
                         "cpu.\",\"count\":2},{\"reason\":\"NotYetTried\"");
    assert_contains(got, "\"name\":\"c2\"");
    strbuf_reset(&b.got);
    fake_delete(b.f.fake, "/api/v1/namespaces/web/pods", "new");
    client_fixture_run(&b.f, 2 * SECOND);
    assert_contains(strbuf_str(&b.got), "event: pending\ndata: {\"total\":2,");
}

static void test_moves(void **state)
{
    (void)state;
    BROWSER(b);
    log_in(&b);
    assert_contains(ask(&b, "GET", "/stream?view=moves", HOST),
                    "event: moves\ndata: {\"reservations\":{\"total\":0,\"items\":[]},"
                    "\"migrations\":{\"total\":0,\"items\":[]}}");
    fake_put(
        b.f.fake, RESERVATIONS, "r1",
        "{\"spec\":{},\"status\":{\"phase\":\"Available\",\"nodeName\":\"n1\",\"allocatable\":{"
        "\"cpu\":\"2\"}}}");
    fake_put(b.f.fake, JOBS, "j1",
             "{\"spec\":{\"podRef\":{\"namespace\":\"web\",\"name\":\"a\"}},\"status\":{\"phase\":"
             "\"Running\",\"reason\":\"Evicting\"}}");
    client_fixture_run(&b.f, 2 * SECOND);
    assert_contains(strbuf_str(&b.got), "{\"name\":\"r1\",\"phase\":\"Available\",\"node\":\"n1\"");
    assert_contains(strbuf_str(&b.got), "\"allocatable\":{\"cpu\":\"2\"}");
    assert_contains(strbuf_str(&b.got), "{\"name\":\"j1\",\"phase\":\"Running\",\"ns\":\"web\","
                                        "\"pod\":\"a\"");
}

/* Each is told within its second tick that the server has gone, and that it is back. */
static void test_the_server_is_killed(void **state)
{
    (void)state;
    BROWSER(b);
    log_in(&b);
    ask(&b, "GET", "/stream?view=pending", HOST);
    fake_refuse(b.f.fake, true);
    fake_break_connections(b.f.fake);
    strbuf_reset(&b.got);
    client_fixture_run(&b.f, 4 * SECOND);
    assert_contains(strbuf_str(&b.got), "\"state\":\"lost\"");
    fake_refuse(b.f.fake, false);
    client_fixture_run(&b.f, 60 * SECOND);
    strbuf_reset(&b.got);
    client_fixture_run(&b.f, 6 * SECOND);
    assert_contains(strbuf_str(&b.got), "\"state\":\"well\"");
    assert_lacks(strbuf_str(&b.got), "lost");
}

static void test_loopback_only(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    BROWSER(b);
    assert_int_equal(web_listen(b.web, "0.0.0.0:0", &err), -EPERM);
    assert_contains(err.text, "on loopback only");
    assert_int_equal(web_listen(b.web, ":8080", &err), -EPERM);
    assert_int_equal(web_listen(b.web, "127.0.0.1.evil.example:0", &err), -EPERM);
}

static void test_pages_have_a_bound(void **state)
{
    struct stream *ends[40][2];
    int refused = 0;

    (void)state;
    BROWSER(b);
    log_in(&b);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        stream_mem_pair(b.f.loop, NULL, ends[i]);
        web_serve(b.web, ends[i][1]);
        strbuf_reset(&b.got);
        stream_listen(ends[i][0], &events, &b);
        strbuf_appendf(&text, "GET /stream?view=moves HTTP/1.1\r\n" HOST "Cookie: %s\r\n\r\n",
                       b.cookie);
        stream_write(ends[i][0], text.data, text.len);
        client_fixture_run(&b.f, NSEC_PER_MSEC);
        refused += str_starts(strbuf_str(&b.got), "HTTP/1.1 503 ");
    }
    assert_int_equal(refused, 8);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        stream_close(ends[i][0]);
    client_fixture_run(&b.f, SECOND);
    assert_starts(ask(&b, "GET", "/stream?view=moves", HOST), "HTTP/1.1 200 ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_let_in),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_overview),
        cmocka_unit_test(test_a_node),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_the_server_is_killed),
        cmocka_unit_test(test_pages_have_a_bound),
        cmocka_unit_test(test_loopback_only),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
