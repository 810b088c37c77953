/* test_http_sockets.c - our client against our server over real sockets: TCP, TLS, unix, a proxy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "net/test/certs.h"
#include "net/test/roundtrip.h"
#include "net/tls.h"

static struct cert cert_a, cert_b, cert_client;

enum transport { TCP_H1, TCP_H2, TLS_H1, TLS_H2, UNIX_H1, UNIX_H2, TRANSPORTS };

static struct tls_ctx *server_tls(const struct cert *c, const char *client_ca)
{
    struct tls_ctx *ctx;
    struct kerr err = { 0 };
    struct tls_server_opts o = { .cert_pem = str_of(c->pem),
                                 .key_pem = str_of(c->key_pem),
                                 .client_ca_pem = str_of(client_ca) };

    if (tls_server_new(&o, &ctx, &err) < 0)
        fail_msg("%s", err.text);
    return ctx;
}

static struct tls_ctx *client_tls(const char *ca, const struct cert *c, bool no_h2)
{
    struct tls_ctx *ctx;
    struct kerr err = { 0 };
    struct tls_client_opts o = { .ca_pem = str_of(ca), .no_h2 = no_h2 };

    if (c) {
        o.cert_pem = str_of(c->pem);
        o.key_pem = str_of(c->key_pem);
    }
    if (tls_client_new(&o, &ctx, &err) < 0)
        fail_msg("%s", err.text);
    return ctx;
}

static const char *socket_path(void)
{
    static char path[64];

    snprintf(path, sizeof path, "/tmp/koord-test-%d.sock", (int)getpid());
    return path;
}

static void open_real(struct rt *t, enum transport kind)
{
    struct http_client_opts co = { .host = "localhost", .port = 1 };
    struct kerr err = { 0 };
    char addr[128] = "127.0.0.1:0";
    CLEANUP(tls_unref) struct tls_ctx *server = NULL;
    CLEANUP(tls_unref) struct tls_ctx *client = NULL;

    rt_init(t, loop_new(), &(struct httpd_opts){ .max_body = 32 << 20 });
    if (kind == TLS_H1 || kind == TLS_H2) {
        server = server_tls(&cert_a, NULL);
        co.tls = client = client_tls(cert_a.pem, NULL, kind == TLS_H1);
    }
    if (kind == UNIX_H1 || kind == UNIX_H2) {
        snprintf(addr, sizeof addr, "unix:%s", socket_path());
        co.unix_path = socket_path();
    }
    co.h2_prior_knowledge = kind == TCP_H2 || kind == UNIX_H2;
    if (httpd_listen(t->d, addr, server, co.unix_path ? NULL : &co.port, &err) < 0)
        fail_msg("%s", err.text);
    if (!co.unix_path)
        co.host = "127.0.0.1";
    t->h = http_client_new(t->l, &co);
}

static void on_too_long(struct loop *l, void *arg)
{
    *(struct timer **)arg = NULL;
    loop_stop(l);
}

/* Turns until all calls have ended, for a minute at most. */
static void wait_all(struct rt *t)
{
    struct timer *limit = NULL;

    limit = loop_after(t->l, 60 * NSEC_PER_SEC, on_too_long, &limit);
    while (t->n_left > 0 && limit)
        loop_turn(t->l);
    timer_cancel(limit);
    assert_int_equal(t->n_left, 0);
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- every transport ------------------------------------------------------------------------- */

static void test_thousands_of_calls(void **state)
{
    enum { WAVE = 250, WAVES = 4 };
    static struct job jobs[WAVE];

    (void)state;
    for (int kind = 0; kind < TRANSPORTS; kind++) {
        int fds = count_fds();
        {
            CLEANUP(rt_fini) struct rt t;
            open_real(&t, (enum transport)kind);
            for (int wave = 0; wave < WAVES; wave++) {
                for (size_t i = 0; i < WAVE; i++)
                    job_mixed(&t, &jobs[i], i + (size_t)wave * WAVE);
                wait_all(&t);
            }
            assert_int_equal(t.n_failed, 0);
            assert_int_equal(t.n_done, WAVE * WAVES);
            bool h2 = kind == TCP_H2 || kind == TLS_H2 || kind == UNIX_H2;
            assert_int_equal(http_client_stats(t.h).open_conns, h2 ? 1 : 6);
        }
        assert_int_equal(count_fds(), fds);
        assert_int_equal(access(socket_path(), F_OK), -1);
    }
}

static void test_large_bodies(void **state)
{
    (void)state;
    for (int kind = 0; kind < TRANSPORTS; kind++) {
        CLEANUP(rt_fini) struct rt t;
        struct job up, down, both;
        open_real(&t, (enum transport)kind);
        job_echo(&t, &up, 20000000);
        job_get(&t, &down, "/size/20000000");
        job_echo(&t, &both, 1000000);
        wait_all(&t);
        assert_int_equal(t.n_done, 3);
        assert_that(t.max_queued, <, QUEUE_CAP + 60000);
    }
}

static void test_pausing_stops_the_server(void **state)
{
    (void)state;
    for (int kind = 0; kind < TRANSPORTS; kind++) {
        CLEANUP(rt_fini) struct rt t;
        struct job j;
        open_real(&t, (enum transport)kind);
        job_get(&t, &j, "/size/20000000");
        while (!j.status)
            loop_turn(t.l);
        http_pause(j.call, true);
        for (int i = 0; i < 3000; i++)
            loop_turn(t.l);
        size_t at = j.got;
        for (int i = 0; i < 1000; i++)
            loop_turn(t.l);
        assert_int_equal(j.got, at);
        assert_int_equal(t.n_open, 1); /* the handler waits: buffers on the way are smaller */
        http_pause(j.call, false);
        wait_all(&t);
        assert_int_equal(j.got, 20000000);
    }
}

static void test_cancels_and_vanishing_servers(void **state)
{
    enum { JOBS = 100 };
    static struct job jobs[JOBS];

    (void)state;
    for (int kind = 0; kind < TRANSPORTS; kind++) {
        CLEANUP(rt_fini) struct rt t;
        open_real(&t, (enum transport)kind);
        for (size_t i = 0; i < JOBS; i++)
            job_mixed(&t, &jobs[i], i);
        for (size_t i = 0; i < JOBS; i++) {
            loop_turn(t.l);
            if (i % 3 == 0)
                job_cancel(&jobs[i]);
        }
        wait_all(&t);
        assert_int_equal(t.n_failed, 0);
        for (size_t i = 0; i < 10; i++)
            job_get(&t, &jobs[i], i % 2 ? "/never" : "/size/20000000");
        for (int i = 0; i < 20; i++)
            loop_turn(t.l);
        t.d = httpd_free(t.d);
        assert_int_equal(t.n_open, 0);
        wait_all(&t);
        assert_that(t.n_failed, >, 0);
    }
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static struct http *tls_client(struct rt *t, uint16_t port, struct tls_ctx *ctx)
{
    return http_client_new(
        t->l, &(struct http_client_opts){ .host = "127.0.0.1", .port = port, .tls = ctx });
}

static void test_certificate_swap(void **state)
{
    CLEANUP(rt_fini) struct rt t;
    CLEANUP(tls_unref) struct tls_ctx *a = server_tls(&cert_a, NULL);
    CLEANUP(tls_unref) struct tls_ctx *b = server_tls(&cert_b, NULL);
    CLEANUP(tls_unref) struct tls_ctx *trust_a = client_tls(cert_a.pem, NULL, false);
    CLEANUP(tls_unref) struct tls_ctx *trust_b = client_tls(cert_b.pem, NULL, false);
    struct kerr err = { 0 };
    struct job j, watch;
    uint16_t port;

    (void)state;
    rt_init(&t, loop_new(), NULL);
    assert_int_equal(httpd_listen(t.d, "127.0.0.1:0", a, &port, &err), 0);
    t.h = tls_client(&t, port, trust_a);
    job_get(&t, &watch, "/later/500");
    while (t.n_open == 0)
        loop_turn(t.l);
    httpd_set_tls(t.d, b);
    httpd_set_tls(t.d, b); /* twice the same is fine */
    struct http *old = t.h;
    t.h = tls_client(&t, port, trust_b);
    job_get(&t, &j, "/status/200");
    while (!j.ended)
        loop_turn(t.l);
    assert_int_equal(j.err, 0);
    http_free(t.h);
    t.h = tls_client(&t, port, trust_a); /* a new connection of one who trusts only the old */
    job_get(&t, &j, "/status/200");
    wait_all(&t);
    assert_int_equal(j.err, -EKEYREJECTED);
    assert_int_equal(watch.err, 0); /* the old connection was not dropped */
    assert_int_equal(watch.got, 5);
    http_free(old);
}

static char seen_name[64], seen_org[64];

static void who_handle(void *arg, struct httpd_req *r)
{
    const char *org = "";

    (void)arg;
    assert_true(stream_is_tls(httpd_stream(r)));
    snprintf(seen_name, sizeof seen_name, "%s", tls_peer_common_name(httpd_stream(r)));
    if (tls_peer_organizations(httpd_stream(r), &org, 1) > 0)
        snprintf(seen_org, sizeof seen_org, "%s", org);
    httpd_reply(r, httpd_is_loopback(r) ? 200 : 403, NULL, NULL, 0);
}

static void test_client_certificate_is_known_to_the_handler(void **state)
{
    CLEANUP(tls_unref) struct tls_ctx *server = server_tls(&cert_a, cert_client.pem);
    CLEANUP(tls_unref) struct tls_ctx *with = client_tls(cert_a.pem, &cert_client, false);
    CLEANUP(tls_unref) struct tls_ctx *without = client_tls(cert_a.pem, NULL, false);
    struct rt t = { .l = loop_new() };
    struct kerr err = { 0 };
    uint16_t port;

    (void)state;
    t.d = httpd_new(t.l, NULL, who_handle, NULL);
    assert_int_equal(httpd_listen(t.d, "127.0.0.1:0", server, &port, &err), 0);
    for (int i = 0; i < 2; i++) {
        struct job j;
        t.h = tls_client(&t, port, i ? without : with);
        job_get(&t, &j, "/x/0");
        wait_all(&t);
        assert_int_equal(j.err, 0);
        assert_string_equal(seen_name, i ? "" : "system:node:n1");
        if (i == 0)
            assert_string_equal(seen_org, "system:nodes");
        t.h = http_free(t.h);
    }
    rt_fini(&t);
}

static void test_handshakes_that_stall_do_not_matter(void **state)
{
    CLEANUP(rt_fini) struct rt t;
    CLEANUP(tls_unref) struct tls_ctx *a = server_tls(&cert_a, NULL);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct kerr err = { 0 };
    uint16_t port;
    int fds[3];

    (void)state;
    rt_init(&t, loop_new(), &(struct httpd_opts){ .max_conns = 2 });
    assert_int_equal(httpd_listen(t.d, "127.0.0.1:0", a, &port, &err), 0);
    to.sin_port = htons(port);
    for (int i = 0; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fds[i], (struct sockaddr *)&to, sizeof to), 0);
    }
    assert_that(write(fds[1], "GET / HTTP/1.1\r\n\r\n", 18), ==, 18); /* no TLS at all */
    for (int i = 0; i < 200; i++)
        loop_turn(t.l);
    char c;
    assert_that(recv(fds[2], &c, 1, MSG_DONTWAIT), <=, 0);
    assert_that(errno, !=, EAGAIN); /* one too many */
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

/* ---- a proxy --------------------------------------------------------------------------------- */

struct proxy_side {
    struct stream *s;
    struct proxy_side *other; /* NULL: gone */
    struct proxy *p;
    struct strbuf head;
    bool piping;
};
struct proxy {
    struct loop *l;
    uint16_t origin;
    int tunnels;
};

static void side_data(void *arg, const char *p, size_t n);
static void side_close(void *arg, const struct kerr *err)
{
    struct proxy_side *me = arg;

    (void)err;
    if (me->other) {
        me->other->other = NULL;
        side_close(me->other, NULL);
    }
    stream_close(me->s);
    strbuf_fini(&me->head);
    free(me);
}

static const struct stream_events side_events = { side_data, NULL, side_close };

static void side_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct proxy_side *me = arg, *up = xnew0(struct proxy_side);

    assert_null(err);
    *up = (struct proxy_side){ .s = s, .other = me, .p = me->p, .piping = true };
    me->other = up;
    me->piping = true;
    me->p->tunnels++;
    stream_listen(s, &side_events, up);
    stream_write(me->s, "HTTP/1.1 200 Connected\r\n\r\n", 26);
}

static void side_data(void *arg, const char *p, size_t n)
{
    struct proxy_side *me = arg;

    if (me->piping) {
        if (me->other)
            stream_write(me->other->s, p, n);
        return;
    }
    strbuf_appendn(&me->head, p, n);
    if (!strstr(me->head.data, "\r\n\r\n"))
        return;
    assert_starts(me->head.data, "CONNECT 127.0.0.1:");
    assert_non_null(strcasestr(me->head.data, "proxy-authorization: Basic "));
    stream_dial(me->p->l, &(struct dial_opts){ .host = "127.0.0.1", .port = me->p->origin },
                side_dialed, me);
}

static void proxy_accept(void *arg, struct stream *s, const char *peer)
{
    struct proxy_side *me = xnew0(struct proxy_side);

    (void)peer;
    *me = (struct proxy_side){ .s = s, .p = arg };
    stream_listen(s, &side_events, me);
}

static void test_through_a_proxy(void **state)
{
    enum { JOBS = 50 };
    static struct job jobs[JOBS];

    (void)state;
    for (int no_h2 = 0; no_h2 < 2; no_h2++) {
        CLEANUP(rt_fini) struct rt t;
        CLEANUP(tls_unref) struct tls_ctx *a = server_tls(&cert_a, NULL);
        CLEANUP(tls_unref) struct tls_ctx *trust = client_tls(cert_a.pem, NULL, no_h2);
        struct kerr err = { 0 };
        struct listener *ls;
        rt_init(&t, loop_new(), NULL);
        struct proxy p = { .l = t.l };
        assert_int_equal(httpd_listen(t.d, "127.0.0.1:0", a, &p.origin, &err), 0);
        assert_int_equal(listener_open(t.l, "127.0.0.1:0", proxy_accept, &p, &ls, &err), 0);
        t.h = http_client_new(t.l, &(struct http_client_opts){ .host = "127.0.0.1",
                                                               .port = p.origin,
                                                               .tls = trust,
                                                               .proxy_host = "127.0.0.1",
                                                               .proxy_port = listener_port(ls),
                                                               .proxy_auth = "me:secret" });
        for (size_t i = 0; i < JOBS; i++)
            job_mixed(&t, &jobs[i], i);
        wait_all(&t);
        assert_int_equal(t.n_done, JOBS);
        assert_int_equal(p.tunnels, no_h2 ? 6 : 1);
        t.h = http_free(t.h);
        listener_close(ls);
        t.d = httpd_free(t.d);
        for (int i = 0; i < 20; i++) /* the tunnels notice */
            loop_turn(t.l);
    }
}

/* ---- listening ------------------------------------------------------------------------------- */

static void never_accept(void *arg, struct stream *s, const char *peer)
{
    (void)arg, (void)peer;
    stream_close(s);
}

static void test_listener_addresses(void **state)
{
    static const char *const bad[] = { "",         "nonsense",      "127.0.0.1",  "127.0.0.1:",
                                       "1.2.3:80", "127.0.0.1:x1",  "[::1",       "127.0.0.1:65536",
                                       "unix:",    "[127.0.0.1]:1", "name.tld:1", "999.9.9.9:1" };
    static const char *const good[] = { "127.0.0.1:0", "[::1]:0", ":0", "localhost:0",
                                        "unix:@koord-test-abstract" };
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct kerr err = { 0 };
    struct listener *ls;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(listener_open(l, bad[i], never_accept, NULL, &ls, &err), -EINVAL);
        assert_that(err.text[0], !=, '\0');
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        int r = listener_open(l, good[i], never_accept, NULL, &ls, &err);

        if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
            continue; /* no IPv6 here */
        assert_int_equal(r, 0);
        assert_true(i == 4 || listener_port(ls) > 0);
        listener_close(ls);
    }
    CLEANUP(loop_free) struct loop *v = loop_new_virtual(0, 1);
    assert_int_equal(listener_open(v, "127.0.0.1:0", never_accept, NULL, &ls, &err), -ENOTSUP);
}

static void test_unix_socket_file(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct kerr err = { 0 };
    struct listener *one, *two;
    struct stat st;
    char addr[128];

    (void)state;
    snprintf(addr, sizeof addr, "unix:%s", socket_path());
    memcpy(a.sun_path, socket_path(), strlen(socket_path()));
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&a, sizeof a), 0);
    close(dead); /* a server that died leaves its file */
    assert_int_equal(listener_open(l, addr, never_accept, NULL, &one, &err), 0);
    assert_int_equal(stat(socket_path(), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(listener_open(l, addr, never_accept, NULL, &two, &err), -EADDRINUSE);
    assert_int_equal(stat(socket_path(), &st), 0); /* somebody listens: left alone */
    listener_close(one);
    assert_int_equal(access(socket_path(), F_OK), -1);
    FILE *f = fopen(socket_path(), "w");
    fclose(f); /* no socket at all: not ours to remove */
    assert_int_equal(listener_open(l, addr, never_accept, NULL, &two, &err), -EADDRINUSE);
    assert_int_equal(unlink(socket_path()), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousands_of_calls),
        cmocka_unit_test(test_large_bodies),
        cmocka_unit_test(test_pausing_stops_the_server),
        cmocka_unit_test(test_cancels_and_vanishing_servers),
        cmocka_unit_test(test_certificate_swap),
        cmocka_unit_test(test_client_certificate_is_known_to_the_handler),
        cmocka_unit_test(test_handshakes_that_stall_do_not_matter),
        cmocka_unit_test(test_through_a_proxy),
        cmocka_unit_test(test_listener_addresses),
        cmocka_unit_test(test_unix_socket_file),
    };

    const char *names = "DNS:localhost,IP:127.0.0.1";

    signal(SIGPIPE, SIG_IGN);
    loop_free(loop_new()); /* libuv opens a pair of descriptors for the whole process */
    cert_make(&cert_a, &(struct cert_opts){ .cn = "a", .san = names }, NULL);
    cert_make(&cert_b, &(struct cert_opts){ .cn = "b", .san = names }, NULL);
    cert_make(&cert_client, &(struct cert_opts){ .cn = "system:node:n1", .org = "system:nodes" },
              NULL);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cert_fini(&cert_a);
    cert_fini(&cert_b);
    cert_fini(&cert_client);
    return failed;
}
