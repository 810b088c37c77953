/* test_serve_tls.c - certificates of the endpoint, renewed while it serves; real sockets. */
#include "base/test/asserts.h"
#include "component/serve.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/test/certs.h"
#include "net/tls.h"
#include "sys/test/tmpdir.h"

struct answer {
    struct loop *l;
    int status;
    struct kerr err;
};

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct answer *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    (void)arg, (void)p, (void)n;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct answer *a = arg;
    (void)sent;
    if (err)
        a->err = *err;
    loop_stop(a->l);
}

/* GET /healthz over a connection of its own, trusting this certificate only. 200 or a code. */
static int ask(struct loop *l, uint16_t port, const struct cert *trusted)
{
    static const struct http_handler h = { on_headers, on_data, on_end };
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    struct tls_client_opts o = { .ca_pem = str_of(trusted->pem) };
    struct answer a = { .l = l };

    assert_int_equal(tls_client_new(&o, &tls, &a.err), 0);
    CLEANUP(http_free)
    struct http *client = http_client_new(
        l, &(struct http_client_opts){ .host = "127.0.0.1", .port = port, .tls = tls });
    http_send(
        client,
        &(struct http_req){ .method = "GET", .target = "/healthz", .timeout = 60 * NSEC_PER_SEC },
        &h, &a);
    loop_run(l);
    return a.err.code ? a.err.code : a.status;
}

static void stop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* Until the log has this, a minute at most. */
static void wait_for(struct loop *l, const struct strbuf *log, const char *text)
{
    for (int i = 0; i < 6000 && !strstr(strbuf_str(log), text); i++) {
        loop_after(l, 10 * NSEC_PER_MSEC, stop, NULL);
        loop_run(l);
    }
    assert_contains(strbuf_str(log), text);
}

static void keep_log(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void test_a_renewed_certificate_is_used(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct cert_opts o = { .cn = "koord", .san = "IP:127.0.0.1" };
    struct cert old_ca = { 0 }, next_ca = { 0 }, old = { 0 }, next = { 0 };
    struct kerr err = { 0 };
    struct tmpdir t;
    uint16_t port;

    (void)state;
    tmpdir_init(&t);
    cert_make(&old_ca, &(struct cert_opts){ .cn = "old", .ca = true }, NULL);
    cert_make(&next_ca, &(struct cert_opts){ .cn = "next", .ca = true }, NULL);
    cert_make(&old, &o, &old_ca);
    cert_make(&next, &o, &next_ca);
    struct serve_tls files = { tmpdir_write(&t, "tls.crt", old.pem),
                               tmpdir_write(&t, "tls.key", old.key_pem), NULL };
    struct serve *s = serve_new(l, &(struct serve_opts){ .program = "koord-test" });
    assert_int_equal(serve_listen_tls(s, "127.0.0.1:0", &files, &port, &err), 0);
    klog_set_sink(keep_log, &log);
    assert_int_equal(ask(l, port, &old_ca), 200);
    assert_int_equal(ask(l, port, &next_ca), -EKEYREJECTED);

    tmpdir_write(&t, "tls.crt", "no certificate");
    wait_for(l, &log, "the old one stays in use");
    assert_int_equal(ask(l, port, &old_ca), 200);
    assert_contains(strbuf_str(&log), "tls.crt");

    tmpdir_write(&t, "tls.key", next.key_pem);
    tmpdir_write(&t, "tls.crt", next.pem);
    wait_for(l, &log, "Loaded a changed certificate");
    assert_int_equal(ask(l, port, &next_ca), 200);
    assert_int_equal(ask(l, port, &old_ca), -EKEYREJECTED);
    klog_set_sink(NULL, NULL);
    serve_free(s);
    cert_fini(&old_ca);
    cert_fini(&next_ca);
    cert_fini(&old);
    cert_fini(&next);
    tmpdir_fini(&t);
}

static void test_a_certificate_need_not_be_a_file(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct cert ca = { 0 }, own = { 0 };
    struct kerr err = { 0 };
    uint16_t port = 0;

    (void)state;
    cert_make(&ca, &(struct cert_opts){ .cn = "ca", .ca = true }, NULL);
    cert_make(&own, &(struct cert_opts){ .cn = "koord", .san = "IP:127.0.0.1" }, &ca);
    struct serve_tls tls = { .cert_pem = str_of(own.pem), .key_pem = str_of(own.key_pem) };
    struct serve *s = serve_new(l, &(struct serve_opts){ .program = "koord-test" });
    assert_int_equal(serve_listen_tls(s, "127.0.0.1:0", &tls, &port, &err), 0);
    assert_int_equal(ask(l, port, &ca), 200);
    serve_free(s);
    cert_fini(&ca);
    cert_fini(&own);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_renewed_certificate_is_used),
        cmocka_unit_test(test_a_certificate_need_not_be_a_file),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
