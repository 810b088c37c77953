/* test_koordlet_kubelet.c - the kubelet over TLS on real sockets: tokens that change, client
 * certificates, plain HTTP. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/kubeconfig.h"
#include "component/metrics.h"
#include "koordlet/states/kubelet.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/test/certs.h"
#include "net/tls.h"
#include "sys/test/tmpdir.h"

struct fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct metrics *metrics;
    struct kubelet *kubelet;
    struct timer *guard;
    const char *token; /* the header that is wanted; NULL: any */
    uint16_t port;
    unsigned asked;
    bool saw_auth, done;
    char peer[64], body[64];
    struct kerr err;
};

static void serve(void *arg, struct httpd_req *r)
{
    struct fixture *b = arg;
    struct str auth = httpd_header(r, "authorization");

    b->asked++;
    b->saw_auth = auth.n > 0;
    (void)snprintf(b->peer, sizeof b->peer, "%s",
                   httpd_is_loopback(r) && !b->token ? tls_peer_common_name(httpd_stream(r)) : "");
    if (b->token && !str_eqz(auth, b->token))
        httpd_reply(r, 401, "text/plain", "no", 2);
    else
        httpd_reply(r, 200, "application/json", "{\"items\":[]}", 12);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct fixture *b = arg;
    strncat(b->body, p, MIN(n, sizeof b->body - 1 - strlen(b->body)));
}

static void on_end(void *arg, const struct kerr *err)
{
    struct fixture *b = arg;
    b->err = err ? *err : (struct kerr){ 0 };
    b->done = true;
    loop_stop(b->loop);
}

static const struct kubelet_handler handler = { on_data, on_end };

static void too_late(struct loop *l, void *arg)
{
    ((struct fixture *)arg)->guard = NULL;
    loop_stop(l);
}

static void fixture_get(struct fixture *b)
{
    b->done = false;
    b->body[0] = '\0';
    kubelet_get(b->kubelet, "/pods/", &handler, b);
    b->guard = loop_after(b->loop, 120 * NSEC_PER_SEC, too_late, b);
    loop_run(b->loop);
    b->guard = timer_cancel(b->guard);
    assert_true(b->done);
}

static void fixture_init(struct fixture *b, struct tls_ctx *tls, const struct kube_config *c,
                         bool insecure)
{
    struct kerr err = { 0 };

    memset(b, 0, sizeof *b);
    b->loop = loop_new();
    b->metrics = metrics_new();
    b->httpd = httpd_new(b->loop, &(struct httpd_opts){ 0 }, serve, b);
    assert_int_equal(httpd_listen(b->httpd, "127.0.0.1:0", tls, &b->port, &err), 0);
    struct kubelet_opts o = {
        .loop = b->loop,
        .config = c,
        .metrics = b->metrics,
        .insecure = insecure,
        .timeout = 60 * NSEC_PER_SEC,
    };
    b->kubelet = kubelet_new(&o);
    assert_false(kubelet_is_aimed(b->kubelet));
    assert_int_equal(kubelet_aim(b->kubelet, "127.0.0.1", b->port, &err), 0);
}

static void fixture_fini(struct fixture *b)
{
    kubelet_free(b->kubelet);
    httpd_free(b->httpd);
    metrics_free(b->metrics);
    loop_free(b->loop);
}

/* A certificate that nobody can verify, as kubelets have them. */
static struct tls_ctx *server_tls(const char *client_ca)
{
    struct cert cert;
    cert_make(&cert, &(struct cert_opts){ .cn = "kubelet" }, NULL);
    struct tls_server_opts o = { .cert_pem = str_of(cert.pem),
                                 .key_pem = str_of(cert.key_pem),
                                 .client_ca_pem = str_of(client_ca) };
    struct tls_ctx *tls = NULL;
    struct kerr err = { 0 };
    assert_int_equal(tls_server_new(&o, &tls, &err), 0);
    cert_fini(&cert);
    return tls;
}

static void test_a_changed_token_is_read_after_a_401(void **state)
{
    struct tmpdir dir;
    struct fixture b;

    (void)state;
    tmpdir_init(&dir);
    struct kube_config c = { .token_file = tmpdir_write(&dir, "token", "old\n") };
    struct tls_ctx *tls = server_tls(NULL);
    fixture_init(&b, tls, &c, false);
    b.token = "Bearer old";
    fixture_get(&b);
    assert_int_equal(b.err.code, 0);
    assert_string_equal(b.body, "{\"items\":[]}");
    assert_int_equal(b.asked, 1);
    /* The API server changed it: one 401, then the new one. */
    tmpdir_write(&dir, "token", "new\n");
    b.token = "Bearer new";
    fixture_get(&b);
    assert_int_equal(b.err.code, 0);
    assert_int_equal(b.asked, 3);
    /* Still wrong: told, not tried for ever. */
    b.token = "Bearer other";
    fixture_get(&b);
    assert_int_equal(b.asked, 5);
    assert_contains(b.err.text, "failed, code 401");
    assert_lacks(b.err.text, "new");
    fixture_fini(&b);
    tls_unref(tls);
    tmpdir_fini(&dir);
}

static void test_a_client_certificate_is_shown_and_renewed(void **state)
{
    struct cert ca, first, second;
    struct tmpdir dir;
    struct fixture b;

    (void)state;
    tmpdir_init(&dir);
    cert_make(&ca, &(struct cert_opts){ .cn = "ca", .ca = true }, NULL);
    cert_make(&first, &(struct cert_opts){ .cn = "system:node:n1" }, &ca);
    cert_make(&second, &(struct cert_opts){ .cn = "system:node:n1-renewed" }, &ca);
    struct kube_config c = { .cert_file = tmpdir_write(&dir, "cert", first.pem),
                             .key_file = tmpdir_write(&dir, "key", first.key_pem) };
    struct tls_ctx *tls = server_tls(ca.pem);
    fixture_init(&b, tls, &c, false);
    fixture_get(&b);
    assert_int_equal(b.err.code, 0);
    assert_string_equal(b.peer, "system:node:n1");
    assert_false(b.saw_auth);
    /* Another place is another connection, with what the files hold now. */
    tmpdir_write(&dir, "cert", second.pem);
    tmpdir_write(&dir, "key", second.key_pem);
    struct kerr err = { 0 };
    assert_int_equal(kubelet_aim(b.kubelet, "localhost", b.port, &err), 0);
    fixture_get(&b);
    assert_string_equal(b.peer, "system:node:n1-renewed");
    fixture_fini(&b);
    tls_unref(tls);
    cert_fini(&ca);
    cert_fini(&first);
    cert_fini(&second);
    tmpdir_fini(&dir);
}

static void test_the_read_only_port_gets_no_credentials(void **state)
{
    struct fixture b;
    struct kube_config c = { .token = "secret" };

    (void)state;
    fixture_init(&b, NULL, &c, true);
    b.token = NULL;
    fixture_get(&b);
    assert_int_equal(b.err.code, 0);
    assert_false(b.saw_auth);
    fixture_fini(&b);
}

static void test_nobody_listens(void **state)
{
    struct fixture b;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&b, NULL, NULL, true);
    b.httpd = httpd_free(b.httpd);
    fixture_get(&b);
    assert_int_equal(b.err.code, -ECONNREFUSED);
    /* A call that is cancelled, and one that ends with the kubelet. */
    struct kubelet_call *call = kubelet_get(b.kubelet, "/pods/", &handler, &b);
    assert_null(kubelet_cancel(call));
    kubelet_get(b.kubelet, "/configz", &handler, &b);
    assert_int_equal(kubelet_aim(b.kubelet, "127.0.0.2", b.port, &err), 0);
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_changed_token_is_read_after_a_401),
        cmocka_unit_test(test_a_client_certificate_is_shown_and_renewed),
        cmocka_unit_test(test_the_read_only_port_gets_no_credentials),
        cmocka_unit_test(test_nobody_listens),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
