/* The HTTP client against servers that are byte scripts, over memory streams on the virtual loop.
 */
#include "base/test/asserts.h"
#include "client_fixture.h"

/* ---- HTTP/1.1: plain exchanges -----------------------------------------------------------------
 */

static void test_request_as_it_goes_out(void **state)
{
    SETUP(NONE);
    const struct http_header headers[] = { { STR("content-type"), STR("application/json") } };
    struct http_req req = post_x;

    req.headers = (struct http_headers){ headers, 1 };
    r.call = http_send(h, &req, &handler, &r);
    settle();
    assert_int_equal(f.n, 1);
    assert_string_equal(strbuf_str(&f.peers[0].in), "POST /x HTTP/1.1\r\nhost: api.test\r\n"
                                                    "user-agent: koord/" KOORD_VERSION "\r\n"
                                                    "accept-encoding: gzip\r\n"
                                                    "content-type: application/json\r\n"
                                                    "content-length: 5\r\n\r\nhello");
    say(&f.peers[0], "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok");
    settle();
    assert_ok(r, 201, "ok");
    assert_string_equal(strbuf_str(&r.log), "content-length=2;x-a=b;");
    TEARDOWN();
}

static void test_chunked_in_pieces_of_one_byte(void **state)
{
    SETUP(NONE);

    f.mem.chunk = 1;
    r.call = http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n");
    settle();
    assert_ok(r, 200, "hello world");
    assert_true(r.trailers);
    assert_contains(strbuf_str(&r.log), "trailer x-sum=42;");
    TEARDOWN();
}

static void test_body_until_close(void **state)
{
    SETUP(NONE);

    r.call = http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\n\r\nall of it");
    settle();
    assert_int_equal(r.ends, 0);
    f.peers[0].s = stream_close(f.peers[0].s);
    settle();
    assert_ok(r, 200, "all of it");
    TEARDOWN();
}

static void test_no_body(void **state)
{
    SETUP(NONE);
    struct http_req head = { .method = "HEAD", .target = "/x" };

    http_send(h, &head, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    settle();
    assert_ok(r, 200, "");
    http_send(h, &get_x, &handler, &r2);
    settle();
    say(&f.peers[0], "HTTP/1.1 204 No Content\r\n\r\n");
    settle();
    assert_ok(r2, 204, "");
    assert_int_equal(f.dials, 1);
    TEARDOWN();
}

static void test_interim_answers_are_ignored(void **state)
{
    SETUP(NONE);

    http_send(h, &post_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    settle();
    assert_int_equal(r.heads, 0);
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    settle();
    assert_ok(r, 200, "ok");
    assert_string_equal(strbuf_str(&r.log), "content-length=2;");
    TEARDOWN();
}

static void test_gzip_is_undone(void **state)
{
    SETUP(NONE);
    CLEANUP(gzip_free) struct gzip *z = gzip_new();
    CLEANUP(strbuf_fini) struct strbuf packed = STRBUF_INIT, text = STRBUF_INIT;
    char head[128];

    for (int i = 0; i < 20000; i++)
        strbuf_appendf(&text, "line %d\n", i);
    gzip_write(z, text.data, text.len, GZIP_END, &packed);
    f.mem.chunk = 1000;
    http_send(h, &get_x, &handler, &r);
    settle();
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
             packed.len);
    say(&f.peers[0], head);
    stream_write(f.peers[0].s, packed.data, packed.len);
    settle();
    assert_ok(r, 200, text.data);
    assert_string_equal(strbuf_str(&r.log), "");
    /* cut off: the length is right, the packed text is not */
    http_send(h, &get_x, &handler, &r2);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 50\r\n\r\n");
    stream_write(f.peers[0].s, packed.data, 50);
    settle();
    assert_failed(r2, -EPROTO, true, "cut off");
    TEARDOWN();
}

static void test_gzip_bomb_is_stopped(void **state)
{
    SETUP(NONE);
    CLEANUP(gzip_free) struct gzip *z = gzip_new();
    CLEANUP(strbuf_fini) struct strbuf packed = STRBUF_INIT;
    CLEANUP(mem_free) char *zeros = xcalloc(1, 1 << 20);
    struct http_req req = get_x;

    for (int i = 0; i < 32; i++)
        gzip_write(z, zeros, 1 << 20, i == 31 ? GZIP_END : GZIP_MORE, &packed);
    req.max_body = 100000;
    http_send(h, &req, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
    stream_write(f.peers[0].s, packed.data, packed.len);
    settle();
    assert_failed(r, -EMSGSIZE, true, "100000");
    assert_that(r.body.len, <=, 100000 + 16384);
    assert_null(f.peers[0].s); /* the connection is given up */
    TEARDOWN();
}

/* ---- HTTP/1.1: the pool ------------------------------------------------------------------------
 */

static void test_connection_is_reused(void **state)
{
    SETUP(NONE);

    r.send_again = h;
    r.again_req = &post_x;
    r.again = &r2;
    http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    settle();
    assert_ok(r, 200, "a");
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
    settle();
    assert_ok(r2, 200, "b");
    assert_int_equal(f.dials, 1);
    TEARDOWN();
}

static void test_connection_close_is_obeyed(void **state)
{
    SETUP(NONE);

    http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na");
    settle();
    assert_ok(r, 200, "a");
    assert_null(f.peers[0].s);
    http_send(h, &get_x, &handler, &r2);
    settle();
    assert_int_equal(f.dials, 2);
    TEARDOWN();
}

static void test_limit_of_connections_queues(void **state)
{
    SETUP(.max_conns = 2);
    struct result many[5] = { 0 };

    for (int i = 0; i < 5; i++)
        http_send(h, &get_x, &handler, &many[i]);
    settle();
    assert_int_equal(f.dials, 2);
    assert_int_equal(http_client_stats(h).in_flight, 2);
    assert_int_equal(http_client_stats(h).waiting, 3);
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2; i++)
            if (f.peers[i].in.len > 0) {
                strbuf_reset(&f.peers[i].in);
                say(&f.peers[i], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
            }
        settle();
    }
    for (int i = 0; i < 5; i++) {
        assert_ok(many[i], 200, "a");
        result_fini(&many[i]);
    }
    assert_int_equal(f.dials, 2);
    assert_int_equal(http_client_stats(h).in_flight, 0);
    TEARDOWN();
}

static void test_idle_connection_is_closed(void **state)
{
    SETUP(.idle_close = 10 * SEC);

    http_send(h, &get_x, &handler, &r);
    settle();
    loop_advance(l, 60 * SEC); /* a slow answer is not idleness */
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    settle();
    assert_ok(r, 200, "a");
    loop_advance(l, 9 * SEC);
    assert_non_null(f.peers[0].s);
    loop_advance(l, SEC);
    assert_null(f.peers[0].s);
    assert_int_equal(http_client_stats(h).open_conns, 0);
    TEARDOWN();
}

static void test_stale_connection(void **state)
{
    SETUP(NONE);

    /* A reused connection dies without an answer byte: a GET goes again on a new one. */
    http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    settle();
    http_send(h, &get_x, &handler, &r2);
    f.peers[0].s = stream_close(f.peers[0].s);
    settle();
    assert_int_equal(r2.ends, 0);
    assert_int_equal(f.dials, 2);
    say(&f.peers[1], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
    settle();
    assert_ok(r2, 200, "b");
    /* A POST may have been carried out: the caller decides. */
    struct result r3 = { 0 };
    http_send(h, &post_x, &handler, &r3);
    f.peers[1].s = stream_close(f.peers[1].s);
    settle();
    assert_failed(r3, -ECONNRESET, true, "without an answer");
    assert_int_equal(f.dials, 2);
    TEARDOWN();
}

static void test_idle_close_by_server_is_silent(void **state)
{
    SETUP(NONE);

    http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    settle();
    say(&f.peers[0], "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
    f.peers[0].s = stream_close(f.peers[0].s);
    settle();
    assert_ok(r, 200, "a");
    assert_int_equal(http_client_stats(h).open_conns, 0);
    http_send(h, &post_x, &handler, &r2);
    settle();
    say(&f.peers[1], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
    settle();
    assert_ok(r2, 200, "b");
    TEARDOWN();
}

/* ---- HTTP/1.1: failures ------------------------------------------------------------------------
 */

static void test_early_close_and_garbage(void **state)
{
    static const struct {
        const char *answer;
        int code;
        const char *text;
    } cases[] = {
        { "", -ECONNRESET, "without an answer" },
        { "HTTP/1.1 200 OK\r\nContent-Le", -ECONNRESET, "without an answer" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", -ECONNRESET, "in the middle" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", -ECONNRESET,
          "in the middle" },
        { "SSH-2.0-OpenSSH\r\n", -EPROTO, "not valid HTTP" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\nabc", -EPROTO, "not valid HTTP" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", -EPROTO,
          "not valid HTTP" },
        { "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", -EPROTO, "switches" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        SETUP(NONE);
        http_send(h, &get_x, &handler, &r);
        settle();
        say(&f.peers[0], cases[i].answer);
        settle();
        if (f.peers[0].s)
            f.peers[0].s = stream_close(f.peers[0].s);
        settle();
        assert_failed(r, cases[i].code, true, cases[i].text);
        TEARDOWN();
    }
}

static void test_oversize(void **state)
{
    SETUP(NONE);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct http_req req = get_x;

    req.max_body = 10;
    http_send(h, &req, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901");
    settle();
    assert_failed(r, -EMSGSIZE, true, "10 bytes");
    http_send(h, &get_x, &handler, &r2);
    settle();
    strbuf_append(&b, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 150; i++)
        strbuf_appendf(&b, "X-%d: %0500d\r\n", i, i);
    say(&f.peers[1], b.data);
    settle();
    assert_failed(r2, -EMSGSIZE, true, "header");
    TEARDOWN();
}

static void test_dial_failure_reaches_all(void **state)
{
    SETUP(NONE);

    f.refuse = -ECONNREFUSED;
    http_send(h, &get_x, &handler, &r);
    http_send(h, &post_x, &handler, &r2);
    assert_int_equal(r.ends, 0); /* never from inside */
    settle();
    assert_failed(r, -ECONNREFUSED, false, "refused");
    assert_failed(r2, -ECONNREFUSED, false, "refused");
    assert_int_equal(f.dials, 1);
    TEARDOWN();
}

static void test_timeouts(void **state)
{
    SETUP(NONE);
    struct http_req req = get_x;

    req.timeout = 5 * SEC;
    http_send(h, &req, &handler, &r);
    settle();
    loop_advance(l, 5 * SEC - 1);
    assert_int_equal(r.ends, 0);
    loop_advance(l, 1);
    assert_failed(r, -ETIMEDOUT, true, "no answer within 5s");
    settle();
    assert_null(f.peers[0].s);

    req.timeout = 0;
    req.idle_timeout = 3 * SEC; /* a watch */
    http_send(h, &req, &handler, &r2);
    settle();
    say(&f.peers[1], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        loop_advance(l, 2 * SEC);
        say(&f.peers[1], "1\r\nx\r\n");
        settle();
    }
    assert_int_equal(r2.ends, 0);
    loop_advance(l, 3 * SEC);
    assert_failed(r2, -ETIMEDOUT, true, "no more data within 3s");
    assert_string_equal(r2.body.data, "xxxxxxxxxx");
    TEARDOWN();
}

static void test_timeout_while_waiting_is_not_sent(void **state)
{
    SETUP(.max_conns = 1);
    struct http_req req = post_x;

    r.call = http_send(h, &get_x, &handler, &r);
    settle();
    req.timeout = SEC;
    http_send(h, &req, &handler, &r2);
    loop_advance(l, SEC);
    assert_failed(r2, -ETIMEDOUT, false, "no connection");
    http_cancel(r.call);
    TEARDOWN();
}

static void test_bad_requests_are_refused(void **state)
{
    SETUP(NONE);
    const struct http_header evil[] = { { STR("x"), STR("a\r\nhost: other") } };
    struct http_req req = { .method = "GET", .target = "/x", .headers = { evil, 1 } };
    struct http_req req2 = { .method = "GET", .target = "/a b" };

    http_send(h, &req, &handler, &r);
    http_send(h, &req2, &handler, &r2);
    assert_int_equal(r.ends, 0);
    settle();
    assert_failed(r, -EINVAL, false, "control characters");
    assert_failed(r2, -EINVAL, false, "target");
    assert_int_equal(f.dials, 0);
    TEARDOWN();
}

/* ---- from inside callbacks ---------------------------------------------------------------------
 */

static void test_cancel_inside_callbacks(void **state)
{
    for (int how = 0; how < 2; how++) {
        SETUP(NONE);
        r.cancel_at_head = how == 0;
        r.cancel_at_data = how == 1;
        r.call = http_send(h, &get_x, &handler, &r);
        settle();
        say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        settle();
        assert_int_equal(r.ends, 0);
        assert_int_equal(r.body.len, how == 0 ? 0 : 3);
        assert_null(f.peers[0].s);
        TEARDOWN();
    }
}

static void test_cancel_outside(void **state)
{
    SETUP(NONE);

    /* waiting for the dial, then on the connection */
    r.call = http_send(h, &get_x, &handler, &r);
    r.call = http_cancel(r.call);
    settle();
    r2.call = http_send(h, &get_x, &handler, &r2);
    settle();
    r2.call = http_cancel(r2.call);
    settle();
    assert_int_equal(r.ends + r2.ends, 0);
    assert_null(f.peers[0].s);
    assert_int_equal(http_client_stats(h).waiting + http_client_stats(h).in_flight, 0);
    TEARDOWN();
}

static void test_client_freed_inside_callbacks(void **state)
{
    for (int how = 0; how < 2; how++) {
        SETUP(NONE);
        struct http_req req = get_x;
        r.free_client = h;
        http_send(h, &req, &handler, &r);
        http_send(h, &req, &handler, &r2);
        settle();
        if (how == 0)
            say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        else
            f.peers[0].s = stream_close(f.peers[0].s);
        settle();
        assert_int_equal(r2.ends, 0);
        assert_null(r.free_client);
        h = NULL;
        TEARDOWN();
    }
}

static void test_client_freed_while_dialling(void **state)
{
    SETUP(NONE);

    f.dial_delay = SEC;
    http_send(h, &get_x, &handler, &r);
    h = http_free(h);
    loop_advance(l, 2 * SEC);
    assert_int_equal(r.ends, 0);
    TEARDOWN();
}

/* ---- pause -------------------------------------------------------------------------------------
 */

static void test_pause_holds_data_back(void **state)
{
    SETUP(NONE);

    r.pause_at_data = true;
    r.call = http_send(h, &get_x, &handler, &r);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n");
    settle();
    assert_string_equal(r.body.data, "a");
    say(&f.peers[0], "1\r\nc\r\n0\r\n\r\n");
    settle();
    assert_string_equal(r.body.data, "a");
    r.pause_at_data = false;
    http_pause(r.call, false);
    assert_string_equal(r.body.data, "a"); /* in a later turn */
    settle();
    assert_ok(r, 200, "abc");
    TEARDOWN();
}

static void test_paused_before_it_had_a_connection(void **state)
{
    SETUP(NONE);
    CLEANUP(mem_free) char *big = xcalloc(1, 1 << 20);

    r.call = http_send(h, &get_x, &handler, &r);
    http_pause(r.call, true);
    settle();
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n");
    stream_write(f.peers[0].s, big, 1 << 20);
    settle();
    assert_int_equal(r.heads, 1);
    assert_int_equal(r.body.len, 0);
    assert_that(stream_queued(f.peers[0].s), >, 900000); /* not piled up on our side */
    http_pause(r.call, false);
    settle();
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.body.len, 1 << 20);
    TEARDOWN();
}

static void test_pause_with_gzip(void **state)
{
    SETUP(NONE);
    CLEANUP(gzip_free) struct gzip *z = gzip_new();
    CLEANUP(strbuf_fini) struct strbuf packed = STRBUF_INIT;
    CLEANUP(mem_free) char *zeros = xcalloc(1, 1 << 20);
    char head[128];

    gzip_write(z, zeros, 1 << 20, GZIP_END, &packed);
    r.pause_at_data = true;
    r.call = http_send(h, &get_x, &handler, &r);
    settle();
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
             packed.len);
    say(&f.peers[0], head);
    stream_write(f.peers[0].s, packed.data, packed.len);
    settle();
    assert_int_equal(r.body.len, 16384); /* the rest stays packed */
    while (r.ends == 0) {
        size_t before = r.body.len;
        http_pause(r.call, false);
        settle();
        assert_that(r.body.len, <=, before + 16384);
    }
    assert_int_equal(r.body.len, 1 << 20);
    assert_int_equal(r.err.code, 0);
    TEARDOWN();
}

static void test_big_request_body(void **state)
{
    SETUP(NONE);
    CLEANUP(mem_free) char *big = xmalloc(3 << 20);
    struct http_req req = { .method = "PUT", .target = "/big", .body = big, .body_len = 3 << 20 };

    memset(big, 'q', 3 << 20);
    http_send(h, &req, &handler, &r);
    settle();
    assert_that(f.peers[0].in.len, >, 3 << 20);
    say(&f.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    settle();
    assert_ok(r, 200, "");
    TEARDOWN();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_as_it_goes_out),
        cmocka_unit_test(test_chunked_in_pieces_of_one_byte),
        cmocka_unit_test(test_body_until_close),
        cmocka_unit_test(test_no_body),
        cmocka_unit_test(test_interim_answers_are_ignored),
        cmocka_unit_test(test_gzip_is_undone),
        cmocka_unit_test(test_gzip_bomb_is_stopped),
        cmocka_unit_test(test_connection_is_reused),
        cmocka_unit_test(test_connection_close_is_obeyed),
        cmocka_unit_test(test_limit_of_connections_queues),
        cmocka_unit_test(test_idle_connection_is_closed),
        cmocka_unit_test(test_stale_connection),
        cmocka_unit_test(test_idle_close_by_server_is_silent),
        cmocka_unit_test(test_early_close_and_garbage),
        cmocka_unit_test(test_oversize),
        cmocka_unit_test(test_dial_failure_reaches_all),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_timeout_while_waiting_is_not_sent),
        cmocka_unit_test(test_bad_requests_are_refused),
        cmocka_unit_test(test_cancel_inside_callbacks),
        cmocka_unit_test(test_cancel_outside),
        cmocka_unit_test(test_client_freed_inside_callbacks),
        cmocka_unit_test(test_client_freed_while_dialling),
        cmocka_unit_test(test_pause_holds_data_back),
        cmocka_unit_test(test_paused_before_it_had_a_connection),
        cmocka_unit_test(test_pause_with_gzip),
        cmocka_unit_test(test_big_request_body),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
