/* test_httpd_limits.c - what the HTTP/1 server refuses: too much, too slow, too strange. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/test/httpd_fixture.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_head_is_limited(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_header = 1000 }));
    CLEANUP(strbuf_fini) struct strbuf big = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 1100; i++)
        strbuf_appendc(&big, 'a');
    for (int i = 0; i < 4; i++) {
        fixture_connect(&b, NULL);
        stream_write(b.end, "GET /", 5);
        if (i == 0)
            say(&b, big.data); /* target */
        else if (i == 1)
            say(&b, " HTTP/1.1\r\n"), say(&b, big.data); /* name */
        else if (i == 2)
            say(&b, " HTTP/1.1\r\nx: "), say(&b, big.data); /* value */
        else
            for (int k = 0; k < 300 && !b.closed; k++) /* number */
                say(&b, k ? "y:\r\n" : " HTTP/1.1\r\n");
        assert_got(&b, "HTTP/1.1 431 Request Header Fields Too Large\r\n");
        assert_got(&b, "connection: close\r\n");
        assert_true(b.closed);
    }
    assert_int_equal(b.n_req, 0);
}

static void test_body_is_limited(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_body = 10 }));

    (void)state;
    say(&b, POST("/echo", "11"));
    assert_got(&b, "413 Content Too Large");
    assert_true(b.closed);
    assert_int_equal(b.n_req, 0);
    fixture_connect(&b, NULL);
    say(&b, POST("/echo", "10") "0123456789" CHUNKED("/echo") "6\r\n012345\r\n");
    assert_int_equal(count_got(&b, "200 OK"), 1);
    say(&b, "5\r\n01234\r\n");
    assert_int_equal(count_got(&b, "HTTP/1.1 413"), 1);
    assert_true(b.closed);
    assert_int_equal(b.n_close, 1);
    fixture_connect(&b, NULL);
    say(&b, POST("/echo", "18446744073709551617")); /* does not fit 64 bits */
    assert_got(&b, "400 Bad Request");
}

static void test_a_handler_may_say_itself_that_a_body_is_too_large(void **state)
{
    static const char *const requests[] = {
        POST("/echo", "11"),
        POST("/echo", "11") "01234567890",
        "POST /echo HTTP/1.1\r\n" HOST
        "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n",
        CHUNKED("/echo") "6\r\n012345\r\n5\r\n01234\r\n",
        CHUNKED("/echo") "6\r\n012345\r\n5\r\n01234\r\n0\r\n\r\n",
        CHUNKED("/echo") "20\r\n01234567890123456789012345678901\r\n",
    };
    FIXTURE(b, (&(struct httpd_opts){ .max_body = 10, .tell_too_large = true }));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        fixture_connect(&b, NULL);
        strbuf_reset(&b.log);
        say(&b, requests[i]);
        assert_int_equal(count_got(&b, "HTTP/1.1 413 Content Too Large\r\n"), 1);
        assert_got(&b, "\r\nconnection: close\r\n");
        assert_int_equal(count_got(&b, TOO_LARGE), 1);
        assert_int_equal(count_got(&b, "100 Continue"), 0);
        assert_log(&b, "POST /echo;too large;");
        say(&b, "0123456789012345678901234567890123456789"); /* heard, and dropped */
        loop_advance(b.l, 5 * SEC);
        assert_true(b.closed);
    }
    assert_int_equal(b.n_close, 0);
}

static void test_other_handlers_of_large_bodies(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_body = 10, .tell_too_large = true }));

    (void)state;
    say(&b, POST("/events", "11") "0123456");
    assert_got(&b, "\r\n\r\n413 Content Too Large\n");
    assert_int_equal(b.n_close, 1);
    fixture_connect(&b, NULL);
    say(&b, POST("/later", "11") "01234567890"); /* it asks later */
    assert_string_equal(strbuf_str(&b.got), "");
    httpd_read_body(b.kept[1], role_echo, &b);
    settle(&b);
    assert_got(&b, TOO_LARGE);
    fixture_connect(&b, NULL);
    say(&b, POST("/hi", "11") "01234567890"); /* it does not ask */
    assert_got(&b, "200 OK");
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    say(&b, POST("/echo", "10") "0123456789" GET("/hi")); /* what fits is as ever */
    assert_int_equal(count_got(&b, "200 OK"), 2);
    assert_false(b.closed);
}

static void test_bodies_in_memory_are_limited(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_buffered = 100 }));

    (void)state;
    say(&b, CHUNKED("/echo") "60\r\n");
    for (int i = 0; i < 6; i++)
        say(&b, "0123456789012345");
    struct stream *first = take(b.end);
    fixture_connect(&b, NULL);
    say(&b, CHUNKED("/echo") "5\r\nabcde\r\n");
    assert_got(&b, "503 Service Unavailable");
    assert_int_equal(b.n_close, 1);
    stream_close(first);
    settle(&b);
    fixture_connect(&b, NULL);
    say(&b, CHUNKED("/echo") "5\r\nabcde\r\n0\r\n\r\n");
    assert_got(&b, "200 OK");
}

static void test_connections_are_limited(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_conns = 2 }));

    (void)state;
    struct stream *first = take(b.end);
    fixture_connect(&b, NULL);
    struct stream *second = take(b.end);
    fixture_connect(&b, NULL);
    settle(&b);
    assert_true(b.closed);
    stream_close(first);
    settle(&b);
    fixture_connect(&b, NULL);
    say(&b, GET("/hi"));
    assert_got(&b, "200 OK");
    stream_close(second);
}

static void test_chunk_extensions_are_limited(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, CHUNKED("/events") "1;a=");
    for (int i = 0; i < 2000 && !b.closed; i++)
        say(&b, "bbbbbbbbbbbbbbbb");
    assert_got(&b, "400 Bad Request");
    assert_log(&b, "POST /events;close;");
}

static void test_garbage_is_refused(void **state)
{
    static const struct {
        const char *in, *status;
    } cases[] = {
        { "\x16\x03\x01\x02\x00", "400" }, /* TLS */
        { "hello\r\n\r\n", "400" },
        { "GET /hi\r\n\r\n", "505" },
        { "GET /hi HTTP/1.1\r\n\r\n", "400" }, /* no host */
        { "GET /hi HTTP/1.1\r\n" HOST HOST "\r\n", "400" },
        { "GET hi HTTP/1.1\r\n" HOST "\r\n", "400" },
        { "GET * HTTP/1.1\r\n" HOST "\r\n", "400" },
        { "GET /hi HTTP/3.7\r\n" HOST "\r\n", "505" },
        { "GET /hi HTTP/2.0\r\n" HOST "\r\n", "505" },
        { "CONNECT x:1 HTTP/1.1\r\n" HOST "\r\n", "40" },
        { "GET /hi HTTP/1.1\r\nHost : x\r\n\r\n", "400" },
        { "GET /hi HTTP/1.1\r\n" HOST " folded\r\n\r\n", "400" },
        { "POST /hi HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "400" },
        { "POST /hi HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", "400" },
        { "POST /hi HTTP/1.1\r\n" HOST
          "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "400" },
        { "POST /hi HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, gzip\r\n\r\n", "400" },
        { "POST /hi HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400" },
        { "POST /hi HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n", "400" },
        { "PRI * HTTP/2.0\r\n\r\nXX", "505" }, /* almost the preface */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char want[32];
        FIXTURE(b, NULL);
        say(&b, cases[i].in);
        snprintf(want, sizeof want, "HTTP/1.1 %s", cases[i].status);
        if (!strstr(strbuf_str(&b.got), want))
            fail_msg("case %zu: '%s' not in '%s'", i, want, strbuf_str(&b.got));
        assert_int_equal(b.n_req, 0);
        loop_advance(b.l, 3 * SEC);
        assert_true(b.closed);
    }
}

static void test_bad_chunk_takes_the_request_back(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, CHUNKED("/events") "3\r\nabc\r\n");
    say(&b, "zz\r\n");
    assert_log(&b, "POST /events;data 3;close;");
    assert_got(&b, "400 Bad Request");
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    say(&b, CHUNKED("/stream"));
    httpd_write(b.kept[1], "abc", 3);
    say(&b, "zz\r\n"); /* too late for a status: a visible break */
    assert_int_equal(count_got(&b, "400") + count_got(&b, "0\r\n\r\n"), 0);
    assert_true(b.closed);
    assert_int_equal(b.n_close, 2);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_slow_heads_time_out(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    loop_advance(b.l, 14 * SEC);
    assert_false(b.closed);
    loop_advance(b.l, 2 * SEC);
    assert_true(b.closed);
    assert_int_equal(b.got.len, 0); /* nothing was asked */
    fixture_connect(&b, NULL);
    stream_write(b.end, "GET / HTTP/1.1\r\nx: ", 19);
    for (int i = 0; i < 20 && !b.closed; i++) { /* a byte a second does not help */
        stream_write(b.end, "y", 1);
        loop_advance(b.l, SEC);
    }
    assert_got(&b, "408 Request Timeout");
    assert_int_equal(b.n_req, 0);
    fixture_connect(&b, NULL);
    for (int i = 0; i < 20 && !b.closed; i++) { /* nor do empty lines */
        stream_write(b.end, "\r\n", 2);
        loop_advance(b.l, SEC);
    }
    assert_true(b.closed);
}

static void test_slow_bodies_time_out(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, POST("/events", "100"));
    for (int i = 0; i < 59; i++) {
        stream_write(b.end, "y", 1);
        loop_advance(b.l, SEC);
    }
    assert_int_equal(b.got.len, 0);
    loop_advance(b.l, SEC);
    assert_got(&b, "408 Request Timeout");
    assert_true(b.closed);
    assert_int_equal(b.n_close, 1);
}

static void test_idle_connections_are_closed(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/hi"));
    loop_advance(b.l, 100 * SEC);
    say(&b, GET("/later"));
    loop_advance(b.l, 3600 * SEC); /* the handler may take its time */
    httpd_reply(b.kept[0], 200, NULL, NULL, 0);
    settle(&b);
    assert_int_equal(count_got(&b, "200 OK"), 2);
    loop_advance(b.l, 119 * SEC);
    assert_false(b.closed);
    loop_advance(b.l, 2 * SEC);
    assert_true(b.closed);
    assert_int_equal(b.n_close, 0);
}

static void test_clients_that_do_not_read_are_dropped(void **state)
{
    FIXTURE(b, NULL);
    static char block[1024 * 1024];

    (void)state;
    say(&b, GET("/stream"));
    stream_pause(b.end, true);
    httpd_write(b.kept[0], block, sizeof block);
    loop_advance(b.l, 50 * SEC);
    stream_pause(b.end, false); /* a little progress buys time */
    loop_turn(b.l);
    stream_pause(b.end, true);
    loop_advance(b.l, 50 * SEC);
    assert_int_equal(b.n_close, 0);
    loop_advance(b.l, 40 * SEC);
    assert_int_equal(b.n_close, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_is_limited),
        cmocka_unit_test(test_body_is_limited),
        cmocka_unit_test(test_a_handler_may_say_itself_that_a_body_is_too_large),
        cmocka_unit_test(test_other_handlers_of_large_bodies),
        cmocka_unit_test(test_bodies_in_memory_are_limited),
        cmocka_unit_test(test_connections_are_limited),
        cmocka_unit_test(test_chunk_extensions_are_limited),
        cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_bad_chunk_takes_the_request_back),
        cmocka_unit_test(test_slow_heads_time_out),
        cmocka_unit_test(test_slow_bodies_time_out),
        cmocka_unit_test(test_idle_connections_are_closed),
        cmocka_unit_test(test_clients_that_do_not_read_are_dropped),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
