/* Streams: real sockets (dial, listen, data, back-pressure, ends) and the memory pair. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/stream.h"

#define SEC NSEC_PER_SEC

struct side {
    struct stream *s;
    struct kerr err; /* of the dial */
    int calls;
    struct strbuf in;
    size_t got; /* bytes, also when not kept */
    int closes, drains, eofs;
    struct kerr close_err;
    bool echo, count_only, pause_at_data, close_at_data;
    bool *want; /* the loop stops when this is true ... */
    char peer[80];
};

struct net {
    struct loop *l;
    struct listener *ls;
    struct side client, server;
    char addr[64];
};

static void on_data(void *arg, const char *p, size_t n)
{
    struct side *x = arg;

    x->got += n;
    if (!x->count_only)
        strbuf_appendn(&x->in, p, n);
    if (x->echo)
        stream_write(x->s, p, n);
    if (x->pause_at_data)
        stream_pause(x->s, true);
    if (x->close_at_data)
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

static void on_accept(void *arg, struct stream *s, const char *peer)
{
    struct net *n = arg;

    n->server.calls++;
    stream_close(n->server.s);
    n->server.s = s;
    snprintf(n->server.peer, sizeof n->server.peer, "%s", peer);
    stream_listen(s, &events, &n->server);
}

static void on_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct side *x = arg;

    x->calls++;
    x->s = s;
    if (err)
        x->err = *err;
    else
        stream_listen(s, &events, x);
}

static void wake(struct loop *l, void *arg)
{
    (void)l;
    *(bool *)arg = true;
}

static void stop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* Runs the real loop for a moment. */
static void run_ms(struct loop *l)
{
    loop_after(l, NSEC_PER_MSEC, stop, NULL);
    loop_run(l);
}

/* Runs the real loop until cond holds, at most a minute. */
#define run_until(l, cond)                                          \
    do {                                                            \
        bool late_ = false;                                         \
        struct timer *t_ = loop_after((l), 60 * SEC, wake, &late_); \
        while (!(cond) && !late_)                                   \
            run_ms(l);                                              \
        if (late_)                                                  \
            fail_msg("waited in vain for %s", #cond);               \
        timer_cancel(t_);                                           \
    } while (0)

static void net_listen(struct net *n, const char *addr)
{
    struct kerr err = { 0 };

    n->l = loop_new();
    if (listener_open(n->l, addr, on_accept, n, &n->ls, &err) < 0)
        fail_msg("%s", err.text);
}

static void net_connect(struct net *n)
{
    net_listen(n, "127.0.0.1:0");
    stream_dial(n->l, &(struct dial_opts){ .host = "127.0.0.1", .port = listener_port(n->ls) },
                on_dialed, &n->client);
    assert_int_equal(n->client.calls, 0);
    run_until(n->l, n->client.calls && n->server.calls);
    assert_non_null(n->client.s);
}

static void net_fini(struct net *n)
{
    stream_close(n->client.s);
    stream_close(n->server.s);
    listener_close(n->ls);
    loop_free(n->l);
    strbuf_fini(&n->client.in);
    strbuf_fini(&n->server.in);
}

static unsigned open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* ---- sockets -----------------------------------------------------------------------------------
 */

static void test_echo_over_tcp(void **state)
{
    struct net n = { 0 };
    unsigned fds = open_fds();

    (void)state;
    net_connect(&n);
    n.server.echo = true;
    stream_write(n.client.s, "hel", 3);
    stream_write(n.client.s, "lo", 2);
    assert_int_equal(stream_queued(n.client.s), 5);
    run_until(n.l, n.client.in.len == 5);
    assert_string_equal(n.client.in.data, "hello");
    assert_int_equal(stream_queued(n.client.s), 0);
    assert_null(stream_alpn(n.client.s));
    assert_memory_equal(n.server.peer, "127.0.0.1:", 10);
    n.client.s = stream_close(n.client.s);
    run_until(n.l, n.server.closes == 1);
    assert_int_equal(n.server.close_err.code, 0);
    net_fini(&n);
    assert_int_equal(open_fds(), fds);
}

static void test_unix_sockets(void **state)
{
    static const char *const names[] = { "/tmp/koord-test-stream.sock", "@koord-test-stream" };
    char addr[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct net n = { 0 };
        snprintf(addr, sizeof addr, "unix:%s", names[i]);
        net_listen(&n, addr);
        stream_dial(n.l, &(struct dial_opts){ .unix_path = names[i] }, on_dialed, &n.client);
        run_until(n.l, n.client.calls && n.server.calls);
        assert_non_null(n.client.s);
        n.server.echo = true;
        stream_write(n.client.s, "over unix", 9);
        run_until(n.l, n.client.in.len == 9);
        net_fini(&n);
    }
}

static void test_big_data_with_back_pressure(void **state)
{
    struct net n = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 32 << 20);

    (void)state;
    net_connect(&n);
    n.server.count_only = true;
    n.server.pause_at_data = true;
    stream_write(n.client.s, big, 32 << 20);
    run_until(n.l, n.server.got > 0);
    for (int i = 0; i < 50; i++)
        loop_turn(n.l);
    assert_that(stream_queued(n.client.s), >, STREAM_HIGH_WATER);
    assert_that(n.server.got, <=, 64 * 1024);
    assert_int_equal(n.client.drains, 0);
    n.server.pause_at_data = false;
    stream_pause(n.server.s, false);
    run_until(n.l, n.server.got == 32 << 20);
    run_until(n.l, n.client.drains == 1);
    assert_int_equal(stream_queued(n.client.s), 0);
    net_fini(&n);
}

static void test_close_still_sends(void **state)
{
    struct net n = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 8 << 20);

    (void)state;
    net_connect(&n);
    n.server.count_only = true;
    stream_write(n.client.s, big, 8 << 20);
    n.client.s = stream_close(n.client.s); /* far more than the socket's buffers hold */
    run_until(n.l, n.server.closes == 1);
    assert_int_equal(n.server.got, 8 << 20);
    assert_int_equal(n.server.close_err.code, 0);
    net_fini(&n);
}

static void test_half_close(void **state)
{
    struct net n = { 0 };

    (void)state;
    net_connect(&n);
    stream_write(n.client.s, "question", 8);
    stream_shutdown(n.client.s);
    run_until(n.l, n.server.closes == 1);
    assert_int_equal(n.server.in.len, 8);
    stream_write(n.server.s, "answer", 6); /* the other direction is still open */
    n.server.s = stream_close(n.server.s);
    run_until(n.l, n.client.closes == 1);
    assert_string_equal(n.client.in.data, "answer");
    net_fini(&n);
}

static void on_eof(void *arg)
{
    ((struct side *)arg)->eofs++;
}

static void test_each_direction_ends_on_its_own(void **state)
{
    static const struct stream_events halves = { on_data, on_drain, on_close, on_eof };
    static char block[STREAM_HIGH_WATER * 4];
    struct net n = { 0 };

    (void)state;
    net_connect(&n);
    n.client.count_only = true;
    stream_listen(n.server.s, &halves, &n.server);
    stream_write(n.client.s, "question", 8);
    stream_shutdown(n.client.s);
    run_until(n.l, n.server.eofs == 1);
    stream_pause(n.server.s, true); /* as one does who waits for room */
    stream_write(n.server.s, block, sizeof block);
    stream_pause(n.server.s, false);
    run_until(n.l, n.server.drains == 1);
    run_until(n.l, n.client.got == sizeof block);
    assert_int_equal(n.server.closes, 0);
    n.client.s = stream_close(n.client.s);
    for (int i = 0; i < 1000 && n.server.closes == 0; i++) {
        stream_write(n.server.s, "nobody", 6); /* the first one brings the reset */
        loop_turn(n.l);
    }
    assert_int_equal(n.server.closes, 1);
    assert_true(n.server.close_err.code == -EPIPE || n.server.close_err.code == -ECONNRESET);
    assert_int_equal(n.server.eofs, 1);
    net_fini(&n);
}

static void test_reset_is_an_error(void **state)
{
    struct net n = { 0 };

    (void)state;
    net_connect(&n);
    stream_pause(n.server.s, true);
    stream_write(n.client.s, "unread", 6);
    for (int i = 0; i < 20; i++)
        loop_turn(n.l);
    n.server.s = stream_close(n.server.s); /* with data unread: the kernel sends a reset */
    run_until(n.l, n.client.closes == 1);
    assert_int_equal(n.client.close_err.code, -ECONNRESET);
    assert_string_equal(n.client.close_err.text, "read: connection reset by peer");
    stream_write(n.client.s, "x", 1); /* harmless */
    net_fini(&n);
}

static void test_paused_writer_learns_of_the_break(void **state)
{
    struct net n = { 0 };

    (void)state;
    net_connect(&n);
    stream_pause(n.client.s, true);
    n.server.s = stream_close(n.server.s);
    for (int i = 0; i < 100 && n.client.closes == 0; i++) {
        stream_write(n.client.s, "x", 1);
        run_ms(n.l);
    }
    assert_int_equal(n.client.closes, 1);
    assert_int_equal(n.client.close_err.code, -EPIPE);
    net_fini(&n);
}

static void test_close_inside_data(void **state)
{
    struct net n = { 0 };

    (void)state;
    net_connect(&n);
    n.server.close_at_data = true;
    stream_write(n.client.s, "bye", 3);
    run_until(n.l, n.client.closes == 1);
    assert_null(n.server.s);
    net_fini(&n);
}

static void test_loop_freed_with_data_unsent(void **state)
{
    struct net n = { 0 };
    CLEANUP(mem_free) char *big = xcalloc(1, 32 << 20);

    (void)state;
    net_connect(&n);
    stream_pause(n.server.s, true);
    stream_write(n.client.s, big, 32 << 20);
    loop_turn(n.l);
    net_fini(&n); /* must not hang, crash or leak */
}

/* ---- dialling ----------------------------------------------------------------------------------
 */

static void test_dial_errors(void **state)
{
    static const struct {
        struct dial_opts o;
        int code;
        const char *text;
    } cases[] = {
        { { .host = "127.0.0.1", .port = 1 },
          -ECONNREFUSED,
          "connect 127.0.0.1:1: connection refused" },
        { { .host = "::1", .port = 1 }, 0, "connect [::1]:1: " }, /* no IPv6: another reason */
        { { .host = "no-such-host.invalid", .port = 1 }, 0, "look up no-such-host.invalid" },
        { { .unix_path = "/nonexistent/x.sock" },
          -ENOENT,
          "connect /nonexistent/x.sock: no such file or directory" },
        { { .host = "192.0.2.1", .port = 80, .proxy_host = "127.0.0.1", .proxy_port = 1 },
          -ECONNREFUSED,
          "connect 192.0.2.1:80 through proxy 127.0.0.1:1: connection refused" },
    };
    CLEANUP(loop_free) struct loop *l = loop_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct side x = { 0 };
        stream_dial(l, &cases[i].o, on_dialed, &x);
        assert_int_equal(x.calls, 0);
        run_until(l, x.calls == 1);
        assert_null(x.s);
        if (cases[i].code)
            assert_int_equal(x.err.code, cases[i].code);
        if (!strstr(x.err.text, cases[i].text))
            fail_msg("%s", x.err.text);
    }
}

static void test_dial_by_name(void **state)
{
    struct net n = { 0 };

    (void)state;
    net_listen(&n, "127.0.0.1:0");
    stream_dial(n.l, &(struct dial_opts){ .host = "localhost", .port = listener_port(n.ls) },
                on_dialed, &n.client);
    run_until(n.l, n.client.calls == 1);
    assert_string_equal(n.client.err.text, "");
    run_until(n.l, n.server.calls == 1);
    net_fini(&n);
}

static void test_dial_cancel_and_timeout(void **state)
{
    struct net n = { 0 };
    unsigned fds = open_fds();

    (void)state;
    net_listen(&n, "127.0.0.1:0");
    const struct dial_opts by_ip = { .host = "127.0.0.1", .port = listener_port(n.ls) };
    const struct dial_opts by_name = { .host = "localhost", .port = listener_port(n.ls) };
    const struct dial_opts unix_o = { .unix_path = "@koord-nobody" };
    assert_null(dial_cancel(stream_dial(n.l, &by_ip, on_dialed, &n.client)));
    dial_cancel(stream_dial(n.l, &by_name, on_dialed, &n.client));
    dial_cancel(stream_dial(n.l, &unix_o, on_dialed, &n.client));
    for (int i = 0; i < 20; i++)
        run_ms(n.l);
    assert_int_equal(n.client.calls, 0);
    /* a proxy that never answers */
    stream_dial(n.l,
                &(struct dial_opts){ .host = "example.invalid",
                                     .port = 443,
                                     .proxy_host = "127.0.0.1",
                                     .proxy_port = listener_port(n.ls),
                                     .timeout = 500 * NSEC_PER_MSEC },
                on_dialed, &n.client);
    run_until(n.l, n.client.calls == 1);
    assert_int_equal(n.client.err.code, -ETIMEDOUT);
    assert_contains(n.client.err.text, "wait for the proxy: timeout after 0.5s");
    run_until(n.l, n.server.closes >= 1);
    net_fini(&n);
    assert_int_equal(open_fds(), fds);
}

static void test_virtual_loop_has_no_sockets(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct side x = { 0 };

    (void)state;
    stream_dial(l, &(struct dial_opts){ .host = "127.0.0.1", .port = 1 }, on_dialed, &x);
    loop_advance(l, 0);
    assert_int_equal(x.err.code, -ENOTSUP);
}

/* A proxy by hand: answers once the request's head is complete. */
struct proxy_case {
    const char *answer;
    int code;
    const char *text;
};

static void test_connect_proxy(void **state)
{
    static const struct proxy_case cases[] = {
        { "HTTP/1.1 200 Connection established\r\n\r\n", 0, "" },
        { "HTTP/1.0 200 OK\r\nX: y\r\n\r\n", 0, "" },
        { "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", -ECONNREFUSED,
          "the proxy says: 407 Proxy Authentication Required" },
        { "SSH-2.0-x\r\n\r\n", -EPROTO, "does not answer in HTTP" },
        { "HTTP/1.1 200 OK\r\n\r\nearly", -EPROTO, "before we did" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct net n = { 0 };
        net_listen(&n, "127.0.0.1:0");
        stream_dial(n.l,
                    &(struct dial_opts){ .host = "far.example",
                                         .port = 6443,
                                         .proxy_host = "127.0.0.1",
                                         .proxy_port = listener_port(n.ls),
                                         .proxy_auth = "bob:secret" },
                    on_dialed, &n.client);
        run_until(n.l, n.server.in.len > 4 && strstr(n.server.in.data, "\r\n\r\n"));
        assert_string_equal(n.server.in.data,
                            "CONNECT far.example:6443 HTTP/1.1\r\n"
                            "Host: far.example:6443\r\n"
                            "Proxy-Authorization: Basic Ym9iOnNlY3JldA==\r\n\r\n");
        stream_write(n.server.s, cases[i].answer, strlen(cases[i].answer));
        run_until(n.l, n.client.calls == 1);
        assert_int_equal(n.client.err.code, cases[i].code);
        assert_contains(n.client.err.text, cases[i].text);
        if (cases[i].code == 0) {
            stream_write(n.server.s, "through", 7);
            run_until(n.l, n.client.in.len == 7);
        }
        net_fini(&n);
    }
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static void test_memory_pair(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct side a = { 0 }, b = { .echo = true };
    struct stream *ends[2];

    (void)state;
    stream_mem_pair(l, &(struct mem_opts){ .latency = SEC, .chunk = 3 }, ends);
    a.s = ends[0];
    b.s = ends[1];
    stream_listen(a.s, &events, &a);
    stream_write(a.s, "before anyone listens", 21);
    loop_advance(l, 5 * SEC);
    stream_listen(b.s, &events, &b);
    assert_int_equal(b.in.len, 0);
    loop_advance(l, 0);
    assert_string_equal(b.in.data, "before anyone listens");
    assert_int_equal(a.in.len, 0);
    loop_advance(l, SEC);
    assert_string_equal(a.in.data, "before anyone listens");
    stream_mem_break(a.s, -ECONNRESET, "cut");
    loop_advance(l, 0);
    assert_int_equal(a.closes + b.closes, 2);
    assert_string_equal(b.close_err.text, "cut");
    stream_close(a.s);
    stream_close(b.s);
    strbuf_fini(&a.in);
    strbuf_fini(&b.in);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo_over_tcp),
        cmocka_unit_test(test_unix_sockets),
        cmocka_unit_test(test_big_data_with_back_pressure),
        cmocka_unit_test(test_close_still_sends),
        cmocka_unit_test(test_half_close),
        cmocka_unit_test(test_each_direction_ends_on_its_own),
        cmocka_unit_test(test_reset_is_an_error),
        cmocka_unit_test(test_paused_writer_learns_of_the_break),
        cmocka_unit_test(test_close_inside_data),
        cmocka_unit_test(test_loop_freed_with_data_unsent),
        cmocka_unit_test(test_dial_errors),
        cmocka_unit_test(test_dial_by_name),
        cmocka_unit_test(test_dial_cancel_and_timeout),
        cmocka_unit_test(test_virtual_loop_has_no_sockets),
        cmocka_unit_test(test_connect_proxy),
        cmocka_unit_test(test_memory_pair),
    };

    signal(SIGPIPE, SIG_IGN);
    loop_free(loop_new()); /* libuv keeps two descriptors for itself */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
