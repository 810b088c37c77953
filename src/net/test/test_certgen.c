/* test_certgen.c - a generated certificate serves TLS and is its own trust anchor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "net/certgen.h"
#include "net/stream.h"
#include "net/tls.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)

struct ends {
    struct stream *client, *server;
    struct kerr client_err;
};

static void on_client(void *arg, struct stream *s, const struct kerr *err)
{
    struct ends *e = arg;
    e->client = s;
    if (err)
        e->client_err = *err;
}
static void on_server(void *arg, struct stream *s, const struct kerr *err)
{
    struct ends *e = arg;
    (void)err;
    e->server = s;
}

/* A handshake of a client that trusts the certificate and asks for `name`, at a time. */
static int handshake(const char *name, nsec_t wall)
{
    static const char *const hosts[] = { "127.0.0.1", "::1", "localhost", NULL };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(wall, 1);
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    CLEANUP(tls_unref) struct tls_ctx *server = NULL, *client = NULL;
    struct certgen_opts o = { "koord", hosts, WALL0, 30 };
    struct stream *pair[2];
    struct ends e = { 0 };
    struct kerr err = { 0 };

    assert_int_equal(certgen_self_signed(&o, &cert, &key, &err), 0);
    assert_int_equal(certgen_expires(cert.data, cert.len),
                     WALL0 - 3600 * NSEC_PER_SEC + 30 * 86400 * NSEC_PER_SEC);
    struct tls_server_opts so = { .cert_pem = { cert.data, cert.len },
                                  .key_pem = { key.data, key.len } };
    struct tls_client_opts co = { .ca_pem = { cert.data, cert.len } };
    assert_int_equal(tls_server_new(&so, &server, &err), 0);
    assert_int_equal(tls_client_new(&co, &client, &err), 0);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, pair);
    tls_connect(l, client, pair[0], name, NSEC_PER_SEC, on_client, &e);
    tls_accept(l, server, pair[1], NSEC_PER_SEC, on_server, &e);
    loop_advance(l, 5 * NSEC_PER_SEC);
    int code = e.client ? 0 : e.client_err.code;
    stream_close(e.client);
    stream_close(e.server);
    loop_advance(l, 10 * NSEC_PER_SEC);
    return code;
}

static void test_names_and_addresses_are_verified(void **state)
{
    (void)state;
    assert_int_equal(handshake("localhost", WALL0), 0);
    assert_int_equal(handshake("127.0.0.1", WALL0), 0);
    assert_int_equal(handshake("::1", WALL0), 0);
    assert_int_equal(handshake("example.com", WALL0), -EKEYREJECTED);
    assert_int_equal(handshake("10.0.0.1", WALL0), -EKEYREJECTED);
}

static void test_it_runs_out(void **state)
{
    (void)state;
    assert_int_equal(handshake("localhost", WALL0 + 29 * 86400 * NSEC_PER_SEC), 0);
    assert_int_equal(handshake("localhost", WALL0 + 31 * 86400 * NSEC_PER_SEC), -EKEYREJECTED);
}

static void test_what_is_no_certificate_expires_never(void **state)
{
    (void)state;
    assert_int_equal(certgen_expires("nonsense", 8), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_addresses_are_verified),
        cmocka_unit_test(test_it_runs_out),
        cmocka_unit_test(test_what_is_no_certificate_expires_never),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
