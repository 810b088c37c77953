/* test_kube_tls.c - certificates of a client that are renewed while it runs; real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/klog.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/test/certs.h"
#include "net/tls.h"
#include "sys/test/tmpdir.h"

struct fixture {
    struct loop *loop;
    struct intern *strings;
    struct tmpdir dir;
    struct cert old_ca, next_ca, server, next_server, me, next_me;
    struct httpd *httpd;
    uint16_t port;
    char peer[64]; /* common name that the server saw */
    int code;
    bool done;
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void on_request(void *arg, struct httpd_req *r)
{
    struct fixture *f = arg;

    (void)snprintf(f->peer, sizeof f->peer, "%s", tls_peer_common_name(httpd_stream(r)));
    httpd_reply(r, 200, "application/json", "{}", 2);
}

static struct tls_ctx *server_tls(const struct cert *own, const struct cert *clients)
{
    const struct tls_server_opts o = { .cert_pem = str_of(own->pem),
                                       .key_pem = str_of(own->key_pem),
                                       .client_ca_pem = str_of(clients->pem) };
    struct tls_ctx *tls = NULL;
    struct kerr err;

    assert_int_equal(tls_server_new(&o, &tls, &err), 0);
    return tls;
}

static void fixture_init(struct fixture *f)
{
    const struct cert_opts host = { .cn = "server", .san = "IP:127.0.0.1" };
    struct kerr err = { 0 };

    memset(f, 0, sizeof *f);
    klog_set_sink(quiet, NULL);
    f->loop = loop_new();
    f->strings = intern_new();
    tmpdir_init(&f->dir);
    cert_make(&f->old_ca, &(struct cert_opts){ .cn = "old", .ca = true }, NULL);
    cert_make(&f->next_ca, &(struct cert_opts){ .cn = "next", .ca = true }, NULL);
    cert_make(&f->server, &host, &f->old_ca);
    cert_make(&f->next_server, &host, &f->next_ca);
    cert_make(&f->me, &(struct cert_opts){ .cn = "me" }, &f->old_ca);
    cert_make(&f->next_me, &(struct cert_opts){ .cn = "me-renewed" }, &f->next_ca);
    f->httpd = httpd_new(f->loop, &(struct httpd_opts){ 0 }, on_request, f);
    CLEANUP(tls_unref) struct tls_ctx *tls = server_tls(&f->server, &f->old_ca);
    assert_int_equal(httpd_listen(f->httpd, "127.0.0.1:0", tls, &f->port, &err), 0);
}

static void fixture_fini(struct fixture *f)
{
    struct cert *all[] = {
        &f->old_ca, &f->next_ca, &f->server, &f->next_server, &f->me, &f->next_me
    };

    httpd_free(f->httpd);
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        cert_fini(all[i]);
    tmpdir_fini(&f->dir);
    intern_free(f->strings);
    loop_free(f->loop);
    klog_set_sink(NULL, NULL);
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct fixture *f = arg;

    (void)r;
    f->code = err ? err->code : 0;
    loop_stop(f->loop);
}

static int ask(struct fixture *f, struct kube *k)
{
    f->peer[0] = '\0';
    f->code = -EINPROGRESS;
    kube_do(k,
            &(struct kube_req){ .verb = KUBE_GET,
                                .raw_path = "/version",
                                .no_retry = true,
                                .timeout = 60 * NSEC_PER_SEC },
            on_answer, f);
    loop_run(f->loop);
    return f->code;
}

static void on_time(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static void test_renewed_files_are_used(void **state)
{
    struct fixture f;
    struct kube *k = NULL;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&f);
    CLEANUP(mem_free) char *server = xasprintf("https://127.0.0.1:%u", f.port);
    const struct kube_config c = {
        .server = server,
        .ca_pem = str_of(f.old_ca.pem),
        .cert_pem = str_of(f.me.pem),
        .key_pem = str_of(f.me.key_pem),
        .ca_file = tmpdir_write(&f.dir, "ca.crt", f.old_ca.pem),
        .cert_file = tmpdir_write(&f.dir, "tls.crt", f.me.pem),
        .key_file = tmpdir_write(&f.dir, "tls.key", f.me.key_pem),
    };
    assert_int_equal(kube_http_new(f.loop, f.strings, &c, &k, &err), 0);
    assert_int_equal(ask(&f, k), 0);
    assert_string_equal(f.peer, "me");

    /* Everything is renewed by another authority. */
    CLEANUP(tls_unref) struct tls_ctx *tls = server_tls(&f.next_server, &f.next_ca);
    httpd_set_tls(f.httpd, tls);
    tmpdir_write(&f.dir, "tls.key", f.next_me.key_pem);
    tmpdir_write(&f.dir, "tls.crt", f.next_me.pem);
    tmpdir_write(&f.dir, "ca.crt", f.next_ca.pem);
    for (int tries = 0; tries < 600 && !streq(f.peer, "me-renewed"); tries++) {
        loop_after(f.loop, 100 * NSEC_PER_MSEC, on_time, NULL);
        loop_run(f.loop);
        (void)ask(&f, k);
    }
    assert_int_equal(f.code, 0);
    assert_string_equal(f.peer, "me-renewed");
    kube_free(k);
    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renewed_files_are_used),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
