/* TLS over memory streams on the virtual loop, with certificates made on the spot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "certs.h"
#include "loop/loop.h"
#include "net/tls.h"

#define SEC NSEC_PER_SEC
#define NOW INT64_C(1700000000)

struct side { /* one end of a handshake, and what it got */
    struct stream *s;
    struct tls_shake *shake;
    struct kerr err;
    int calls;
    struct strbuf in;
    int closes;
    struct kerr close_err;
    bool pause_after_data, close_in_data;
    int drains;
};

static struct cert ca, other_ca, good;

static int make_certs(void **state)
{
    (void)state;
    cert_make(&ca, &(struct cert_opts){ .cn = "test-ca", .ca = true }, NULL);
    cert_make(&other_ca, &(struct cert_opts){ .cn = "other-ca", .ca = true }, NULL);
    cert_make(&good,
              &(struct cert_opts){ .cn = "server",
                                   .san = "DNS:localhost,DNS:*.wild.test,IP:127.0.0.1,IP:::1" },
              &ca);
    return 0;
}

static int drop_certs(void **state)
{
    (void)state;
    cert_fini(&ca);
    cert_fini(&other_ca);
    cert_fini(&good);
    return 0;
}

static void on_ready(void *arg, struct stream *s, const struct kerr *err)
{
    struct side *x = arg;

    x->calls++;
    x->shake = NULL;
    x->s = s;
    if (err)
        x->err = *err;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct side *x = arg;

    strbuf_appendn(&x->in, p, n);
    if (x->pause_after_data)
        stream_pause(x->s, true);
    if (x->close_in_data)
        x->s = stream_close(x->s);
}

static void on_drain(void *arg)
{
    ((struct side *)arg)->drains++;
}

static void on_close(void *arg, const struct kerr *err)
{
    struct side *x = arg;

    x->closes++;
    if (err)
        x->close_err = *err;
}

static const struct stream_events events = { on_data, on_drain, on_close };

struct pair {
    struct loop *l;
    struct side client, server;
    struct stream *raw[2];
};

static struct tls_ctx *client_ctx(struct tls_client_opts o)
{
    struct tls_ctx *c = NULL;
    struct kerr err = { 0 };

    if (tls_client_new(&o, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static struct tls_ctx *server_ctx(struct tls_server_opts o)
{
    struct tls_ctx *c = NULL;
    struct kerr err = { 0 };

    if (tls_server_new(&o, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static struct tls_ctx *server_of(const struct cert *c)
{
    return server_ctx(
        (struct tls_server_opts){ .cert_pem = str_of(c->pem), .key_pem = str_of(c->key_pem) });
}

/* Takes the contexts over. */
static void shake(struct pair *p, struct mem_opts mem, struct tls_ctx *cc, struct tls_ctx *sc,
                  const char *name)
{
    p->l = loop_new_virtual(NOW * SEC, 1);
    stream_mem_pair(p->l, &mem, p->raw);
    p->client.shake = tls_connect(p->l, cc, p->raw[0], name, 10 * SEC, on_ready, &p->client);
    p->server.shake = tls_accept(p->l, sc, p->raw[1], 10 * SEC, on_ready, &p->server);
    tls_unref(cc);
    tls_unref(sc);
    assert_int_equal(p->client.calls + p->server.calls, 0);
    loop_advance(p->l, SEC);
    assert_int_equal(p->client.calls, 1);
}

static void shake_good(struct pair *p, struct mem_opts mem)
{
    shake(p, mem, client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem) }),
          server_of(&good), "localhost");
    assert_string_equal(p->client.err.text, "");
    assert_non_null(p->client.s);
    assert_non_null(p->server.s);
}

static void pair_fini(struct pair *p)
{
    stream_close(p->client.s);
    stream_close(p->server.s);
    loop_advance(p->l, 20 * SEC);
    strbuf_fini(&p->client.in);
    strbuf_fini(&p->server.in);
    loop_free(p->l);
}

#define settle(p) loop_advance((p)->l, 0)

/* ---- handshakes --------------------------------------------------------------------------------
 */

static void test_names_and_addresses_are_verified(void **state)
{
    static const struct {
        const char *name, *fault;
    } cases[] = {
        { "localhost", NULL },
        { "LOCALHOST", NULL },
        { "a.wild.test", NULL },
        { "a.b.wild.test", "hostname mismatch" },
        { "127.0.0.1", NULL },
        { "::1", NULL },
        { "127.0.0.2", "IP address mismatch" },
        { "example.com", "hostname mismatch" },
        { "server", "hostname mismatch" }, /* the common name does not count */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pair p = { 0 };
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem) }), server_of(&good),
              cases[i].name);
        if (cases[i].fault) {
            assert_null(p.client.s);
            assert_int_equal(p.client.err.code, -EKEYREJECTED);
            assert_contains(p.client.err.text, "certificate verify failed: ");
            assert_contains(p.client.err.text, cases[i].fault);
            assert_contains(p.client.err.text, cases[i].name);
            assert_int_equal(p.server.err.code, -EPROTO); /* our alert */
        } else {
            assert_string_equal(p.client.err.text, "");
            assert_string_equal(stream_alpn(p.client.s), "h2");
            assert_string_equal(stream_alpn(p.server.s), "h2");
            assert_true(stream_is_tls(p.client.s));
            assert_string_equal(tls_peer_common_name(p.client.s), "server");
        }
        pair_fini(&p);
    }
}

static void test_bad_certificates(void **state)
{
    static const struct {
        int64_t not_before, not_after;
        bool by_other;
        const char *fault;
    } cases[] = {
        { NOW - 1000, NOW - 1, false, "certificate has expired" },
        { NOW + 1, NOW + 1000, false, "certificate is not yet valid" },
        { 0, 0, true, "unable to get local issuer certificate" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pair p = { 0 };
        struct cert bad;
        cert_make(&bad,
                  &(struct cert_opts){ .cn = "bad",
                                       .san = "DNS:localhost",
                                       .not_before = cases[i].not_before,
                                       .not_after = cases[i].not_after },
                  cases[i].by_other ? &other_ca : &ca);
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem) }), server_of(&bad),
              "localhost");
        assert_int_equal(p.client.err.code, -EKEYREJECTED);
        if (!strstr(p.client.err.text, cases[i].fault))
            fail_msg("%s", p.client.err.text);
        pair_fini(&p);
        /* insecure takes it all the same */
        struct pair q = { 0 };
        shake(&q, (struct mem_opts){ 0 }, client_ctx((struct tls_client_opts){ .insecure = true }),
              server_of(&bad), "localhost");
        assert_non_null(q.client.s);
        assert_string_equal(tls_peer_common_name(q.client.s), ""); /* not verified: nobody */
        pair_fini(&q);
        cert_fini(&bad);
    }
}

static void test_client_certificates(void **state)
{
    struct cert user, stranger;
    const struct tls_server_opts so = { .cert_pem = str_of(good.pem),
                                        .key_pem = str_of(good.key_pem),
                                        .client_ca_pem = str_of(ca.pem) };

    (void)state;
    cert_make(&user, &(struct cert_opts){ .cn = "alice", .org = "system:masters", .org2 = "dev" },
              &ca);
    cert_make(&stranger, &(struct cert_opts){ .cn = "mallory" }, &other_ca);
    { /* known */
        struct pair p = { 0 };
        const char *orgs[4];
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem),
                                                   .cert_pem = str_of(user.pem),
                                                   .key_pem = str_of(user.key_pem) }),
              server_ctx(so), "localhost");
        assert_non_null(p.server.s);
        assert_string_equal(tls_peer_common_name(p.server.s), "alice");
        assert_int_equal(tls_peer_organizations(p.server.s, orgs, 4), 2);
        assert_string_equal(orgs[0], "system:masters");
        assert_string_equal(orgs[1], "dev");
        pair_fini(&p);
    }
    { /* none: allowed, nobody */
        struct pair p = { 0 };
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem) }), server_ctx(so),
              "localhost");
        assert_non_null(p.server.s);
        assert_string_equal(tls_peer_common_name(p.server.s), "");
        pair_fini(&p);
    }
    { /* unknown CA: refused; with TLS 1.3 the client learns it from its first read */
        struct pair p = { 0 };
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem),
                                                   .cert_pem = str_of(stranger.pem),
                                                   .key_pem = str_of(stranger.key_pem) }),
              server_ctx(so), "localhost");
        assert_null(p.server.s);
        assert_int_equal(p.server.err.code, -EKEYREJECTED);
        assert_non_null(p.client.s);
        stream_listen(p.client.s, &events, &p.client);
        settle(&p);
        assert_int_equal(p.client.closes, 1);
        assert_int_equal(p.client.close_err.code, -EPROTO);
        assert_contains(p.client.close_err.text, "alert");
        pair_fini(&p);
    }
    cert_fini(&user);
    cert_fini(&stranger);
}

static void test_alpn(void **state)
{
    static const struct {
        bool client_no_h2, client_none, server_no_h2;
        const char *want;
    } cases[] = {
        { false, false, false, "h2" },
        { true, false, false, "http/1.1" },
        { false, false, true, "http/1.1" },
        { false, true, false, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pair p = { 0 };
        shake(&p, (struct mem_opts){ 0 },
              client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem),
                                                   .no_h2 = cases[i].client_no_h2,
                                                   .no_alpn = cases[i].client_none }),
              server_ctx((struct tls_server_opts){ .cert_pem = str_of(good.pem),
                                                   .key_pem = str_of(good.key_pem),
                                                   .no_h2 = cases[i].server_no_h2 }),
              "localhost");
        assert_non_null(p.client.s);
        if (cases[i].want)
            assert_string_equal(stream_alpn(p.client.s), cases[i].want);
        else
            assert_null(stream_alpn(p.client.s));
        pair_fini(&p);
    }
}

static void test_handshake_faults(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(NOW * SEC, 1);
    CLEANUP(tls_unref)
    struct tls_ctx *cc = client_ctx((struct tls_client_opts){ .ca_pem = str_of(ca.pem) });
    struct stream *raw[2];

    (void)state;
    { /* silence */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        tls_connect(l, cc, raw[0], "localhost", 10 * SEC, on_ready, &x);
        loop_advance(l, 10 * SEC);
        assert_int_equal(x.err.code, -ETIMEDOUT);
        assert_string_equal(x.err.text, "TLS handshake: no answer within 10s");
        stream_close(raw[1]);
    }
    { /* not TLS */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        tls_connect(l, cc, raw[0], "localhost", 0, on_ready, &x);
        stream_write(raw[1], "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
        loop_advance(l, 0);
        assert_int_equal(x.err.code, -EPROTO);
        assert_string_equal(x.err.text, "TLS handshake: wrong version number");
        stream_close(raw[1]);
    }
    { /* closed */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        tls_connect(l, cc, raw[0], "localhost", 0, on_ready, &x);
        stream_close(raw[1]);
        loop_advance(l, 0);
        assert_int_equal(x.err.code, -ECONNRESET);
    }
    { /* broken */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        tls_connect(l, cc, raw[0], "localhost", 0, on_ready, &x);
        stream_mem_break(raw[1], -ECONNRESET, "cable cut");
        loop_advance(l, 0);
        assert_string_equal(x.err.text, "TLS handshake: cable cut");
        stream_close(raw[1]);
    }
    { /* cancelled */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        assert_null(tls_cancel(tls_connect(l, cc, raw[0], "localhost", 0, on_ready, &x)));
        loop_advance(l, 60 * SEC);
        assert_int_equal(x.calls, 0);
        stream_close(raw[1]);
    }
    { /* nothing to verify */
        struct side x = { 0 };
        stream_mem_pair(l, NULL, raw);
        tls_connect(l, cc, raw[0], NULL, 0, on_ready, &x);
        assert_int_equal(x.calls, 0);
        loop_advance(l, 0);
        assert_int_equal(x.err.code, -EINVAL);
        stream_close(raw[1]);
    }
}

static void test_bad_pem(void **state)
{
    struct tls_ctx *c = NULL;
    struct kerr err = { 0 };
    struct tls_client_opts o = { .ca_pem = STR("no certificates here") };

    (void)state;
    assert_int_equal(tls_client_new(&o, &c, &err), -EINVAL);
    assert_contains(err.text, "read CA certificates");
    o = (struct tls_client_opts){ .ca_pem = str_of(ca.pem),
                                  .cert_pem = str_of(good.pem),
                                  .key_pem = str_of(ca.key_pem) };
    assert_int_equal(tls_client_new(&o, &c, &err), -EINVAL);
    assert_string_equal(err.text, "use private key: key values mismatch");
    assert_null(c);
}

/* ---- data --------------------------------------------------------------------------------------
 */

static void test_bytes_both_ways(void **state)
{
    static const size_t chunks[] = { 0, 1, 7, 1500 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(chunks); k++) {
        struct pair p = { 0 };
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        size_t size = chunks[k] == 1 ? 3000 : 200000;

        shake_good(&p, (struct mem_opts){ .chunk = chunks[k] });
        stream_listen(p.client.s, &events, &p.client);
        stream_listen(p.server.s, &events, &p.server);
        while (text.len < size) {
            char piece[40];
            int n = snprintf(piece, sizeof piece, "piece %zu\n", text.len);
            strbuf_appendn(&text, piece, (size_t)n);
            stream_write(p.client.s, piece, (size_t)n);
        }
        stream_write(p.server.s, text.data, text.len);
        settle(&p);
        assert_int_equal(p.server.in.len, text.len);
        assert_int_equal(p.client.in.len, text.len);
        assert_memory_equal(p.server.in.data, text.data, text.len);
        assert_memory_equal(p.client.in.data, text.data, text.len);
        p.client.s = stream_close(p.client.s);
        settle(&p);
        assert_int_equal(p.server.closes, 1);
        assert_int_equal(p.server.close_err.code, 0); /* an orderly goodbye */
        pair_fini(&p);
    }
}

static void test_small_writes_share_a_record(void **state)
{
    struct pair p = { 0 };

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    stream_listen(p.server.s, &events, &p.server);
    settle(&p);
    for (int i = 0; i < 100; i++)
        stream_write(p.client.s, "0123456789", 10);
    assert_int_equal(stream_queued(p.client.s), 1000);
    stream_flush(p.client.s);
    assert_that(stream_queued(p.client.s), <=, 1000 + 50);
    settle(&p);
    assert_int_equal(p.server.in.len, 1000);
    pair_fini(&p);
}

static void test_data_before_listening_waits(void **state)
{
    struct pair p = { 0 };

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_write(p.server.s, "early", 5);
    p.server.s = stream_close(p.server.s);
    loop_advance(p.l, SEC);
    assert_int_equal(p.client.in.len, 0);
    stream_listen(p.client.s, &events, &p.client);
    assert_int_equal(p.client.in.len, 0); /* never from inside */
    settle(&p);
    assert_string_equal(p.client.in.data, "early");
    assert_int_equal(p.client.closes, 1);
    assert_int_equal(p.client.close_err.code, 0);
    pair_fini(&p);
}

static void test_pause_and_resume(void **state)
{
    struct pair p = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 100000);

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    p.client.pause_after_data = true;
    stream_write(p.server.s, big, 100000);
    settle(&p);
    assert_int_equal(p.client.in.len, 16384); /* one record */
    size_t rounds = 0;
    while (p.client.in.len < 100000 && rounds++ < 20) {
        stream_pause(p.client.s, false);
        settle(&p);
    }
    assert_int_equal(p.client.in.len, 100000);
    assert_int_equal(rounds, 6);
    pair_fini(&p);
}

static void test_close_inside_data(void **state)
{
    struct pair p = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 100000);

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    p.client.close_in_data = true;
    stream_write(p.server.s, big, 100000);
    settle(&p);
    assert_null(p.client.s);
    assert_int_equal(p.client.in.len, 16384);
    pair_fini(&p);
}

static void test_cut_off_is_an_error(void **state)
{
    struct pair p = { 0 };

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    settle(&p);
    stream_shutdown(p.raw[1]); /* below TLS, as an attacker would */
    settle(&p);
    assert_int_equal(p.client.closes, 1);
    assert_int_equal(p.client.close_err.code, -ECONNRESET);
    pair_fini(&p);
}

static void test_corrupted_record(void **state)
{
    struct pair p = { 0 };

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    settle(&p);
    stream_write(p.raw[1],
                 "\x17\x03\x03\x00\x20"
                 "01234567890123456789012345678901",
                 37);
    settle(&p);
    assert_int_equal(p.client.closes, 1);
    assert_int_equal(p.client.close_err.code, -EPROTO);
    pair_fini(&p);
}

static void test_drain_is_passed_on(void **state)
{
    struct pair p = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 1 << 20);

    (void)state;
    shake_good(&p, (struct mem_opts){ 0 });
    stream_listen(p.client.s, &events, &p.client);
    stream_listen(p.server.s, &events, &p.server);
    stream_write(p.client.s, big, 1 << 20);
    assert_that(stream_queued(p.client.s), >=, 1 << 20);
    settle(&p);
    assert_int_equal(p.client.drains, 1);
    assert_int_equal(stream_queued(p.client.s), 0);
    pair_fini(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_addresses_are_verified),
        cmocka_unit_test(test_bad_certificates),
        cmocka_unit_test(test_client_certificates),
        cmocka_unit_test(test_alpn),
        cmocka_unit_test(test_handshake_faults),
        cmocka_unit_test(test_bad_pem),
        cmocka_unit_test(test_bytes_both_ways),
        cmocka_unit_test(test_small_writes_share_a_record),
        cmocka_unit_test(test_data_before_listening_waits),
        cmocka_unit_test(test_pause_and_resume),
        cmocka_unit_test(test_close_inside_data),
        cmocka_unit_test(test_cut_off_is_an_error),
        cmocka_unit_test(test_corrupted_record),
        cmocka_unit_test(test_drain_is_passed_on),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, make_certs, drop_certs);
}
