/* test_httpd.c - the server spoken to in raw HTTP/1 bytes, on the virtual loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "net/gzip.h"
#include "net/test/httpd_fixture.h"

/* ---- requests and answers -------------------------------------------------------------------- */

static void test_answers_and_keeps_the_connection(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/hi"));
    assert_string_equal(strbuf_str(&b.got), "HTTP/1.1 200 OK\r\n"
                                            "date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
                                            "content-length: 2\r\n"
                                            "content-type: text/plain\r\n\r\nhi");
    say(&b, GET("/hi"));
    assert_int_equal(count_got(&b, "200 OK"), 2);
    assert_false(b.closed);
    assert_int_equal(b.n_close, 0);
}

static void test_pipelined_requests_are_answered_in_order(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/later") GET("/hi") GET("/later") GET("/hi"));
    assert_log(&b, "GET /later;"); /* one at a time */
    assert_int_equal(b.got.len, 0);
    httpd_reply(b.kept[0], 200, NULL, "first", 5);
    settle(&b);
    assert_log(&b, "GET /later;GET /hi;GET /later;");
    httpd_reply(b.kept[1], 404, NULL, "third", 5);
    settle(&b);
    const char *first = strstr(b.got.data, "first"), *third = strstr(b.got.data, "third");
    assert_non_null(first);
    assert_that(first, <, third);
    assert_int_equal(count_got(&b, "\r\n\r\nhi"), 2);
}

static void test_pieces_of_any_size_are_the_same(void **state)
{
    static const char *const in = GET(
        "/hi") "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"
               "POST /echo HTTP/1.1\r\n" HOST
               "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nTrailer: t\r\n\r\n"
               "HEAD /hi HTTP/1.1\r\n" HOST "\r\n" GET("/empty");
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT;

    (void)state;
    for (size_t chunk = 0; chunk <= 7; chunk++) {
        FIXTURE(b, NULL);
        fixture_connect(&b, &(struct mem_opts){ .chunk = chunk, .latency = chunk * 1000 });
        stream_write(b.end, in, strlen(in));
        loop_advance(b.l, NSEC_PER_MSEC);
        if (chunk == 0)
            strbuf_append(&whole, strbuf_str(&b.got));
        assert_string_equal(strbuf_str(&b.got), strbuf_str(&whole));
        assert_log(&b, "GET /hi;POST /echo;body 5;POST /echo;body 4;HEAD /hi;GET /empty;");
    }
    assert_contains(whole.data, "\r\n\r\nhelloHTTP/1.1 200 OK");
    assert_contains(whole.data, "\r\n\r\nabcdHTTP/1.1 200 OK");
}

static void test_head_and_no_content_have_no_body(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, "HEAD /hi HTTP/1.1\r\n" HOST "\r\n");
    assert_got(&b, "content-length: 2\r\n");
    assert_true(str_ends(b.got.data, "\r\n\r\n"));
    strbuf_reset(&b.got);
    say(&b, "HEAD /stream HTTP/1.1\r\n" HOST "\r\n");
    httpd_write(b.kept[0], "never", 5);
    httpd_end(b.kept[0]);
    say(&b, GET("/empty"));
    assert_got(&b, "204 No Content\r\n");
    assert_int_equal(count_got(&b, "chunked") + count_got(&b, "content-length"), 0);
    assert_int_equal(count_got(&b, "never"), 0);
}

static void test_streams_in_chunks(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/stream"));
    assert_got(&b, "transfer-encoding: chunked\r\n\r\n");
    httpd_write(b.kept[0], "one", 3);
    httpd_write(b.kept[0], "", 0); /* must not end the body */
    settle(&b);
    assert_true(str_ends(b.got.data, "\r\n\r\n3\r\none\r\n"));
    httpd_write(b.kept[0], "0123456789abcdef", 16);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_true(str_ends(b.got.data, "\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"));
    assert_false(b.closed);
}

static void test_trailers(void **state)
{
    FIXTURE(b, NULL);
    struct http_header t = { STR("grpc-status"), STR("0\r\n") };

    (void)state;
    say(&b, GET("/stream"));
    httpd_trailers(b.kept[0], &t, 1);
    httpd_write(b.kept[0], "one", 3);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_true(str_ends(b.got.data, "3\r\none\r\n0\r\ngrpc-status: 0  \r\n\r\n"));
}

static void test_http10(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, "GET /hi HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_got(&b, "connection: keep-alive\r\n");
    assert_false(b.closed);
    strbuf_reset(&b.got);
    say(&b, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    httpd_write(b.kept[0], "abc", 3);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_got(&b, "connection: close\r\n\r\nabc"); /* its end is the connection's end */
    assert_true(b.closed);
}

static void test_connection_close_is_honoured(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, "GET /hi HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" GET("/hi"));
    assert_got(&b, "connection: close\r\n");
    assert_true(b.closed);
    assert_int_equal(b.n_req, 1);
}

static void test_request_head_is_readable(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, "GET http://h:80/later?a=b HTTP/1.1\r\nHOST: h\r\nX-Empty:\r\nX-Two:  a b \t\r\n"
            "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    struct httpd_req *r = b.kept[0];
    assert_string_equal(httpd_target(r), "/later?a=b");
    assert_string_equal(httpd_method(r), "GET");
    assert_true(str_eqz(httpd_header(r, "host"), "h"));
    assert_true(str_eqz(httpd_header(r, "x-two"), "a b"));
    assert_non_null(httpd_header(r, "x-empty").p);
    assert_int_equal(httpd_header(r, "x-empty").n, 0);
    assert_null(httpd_header(r, "x-none").p);
    assert_string_equal(httpd_peer(r), "127.0.0.1:4711");
    assert_true(httpd_is_loopback(r));
    assert_non_null(httpd_stream(r));
}

static void test_text_of_users_cannot_add_headers(void **state)
{
    FIXTURE(b, NULL);
    struct http_header h[] = { { STR("location"), STR("/a\r\nset-cookie: x") },
                               { STR("transfer-encoding"), STR("identity") } };

    (void)state;
    say(&b, GET("/later"));
    httpd_respond(b.kept[0], 302, h, 2, false);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_got(&b, "location: /a  set-cookie: x\r\n");
    assert_int_equal(count_got(&b, "identity"), 0);
}

static void test_broken_promise_of_length_breaks_the_connection(void **state)
{
    FIXTURE(b, NULL);
    struct http_header h = { STR("content-length"), STR("10") };

    (void)state;
    say(&b, GET("/later") GET("/hi"));
    httpd_respond(b.kept[0], 200, &h, 1, false);
    httpd_write(b.kept[0], "123456", 6);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_true(str_ends(b.got.data, "\r\n\r\n123456"));
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    say(&b, GET("/later"));
    httpd_respond(b.kept[1], 200, &h, 1, false);
    httpd_write(b.kept[1], "0123456789too much", 18);
    httpd_end(b.kept[1]);
    settle(&b);
    assert_true(str_ends(b.got.data, "\r\n\r\n0123456789"));
    assert_false(b.closed);
}

static void test_ending_without_an_answer_is_our_fault(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/end"));
    assert_got(&b, "500 Internal Server Error");
}

static void test_compresses_for_clients_that_take_it(void **state)
{
    static const struct {
        const char *accept;
        bool gz;
    } cases[] = { { "gzip", true },
                  { "br, gzip;q=0.5", true },
                  { "gzip;q=0", false },
                  { "deflate", false },
                  { "*", true },
                  { "gzip;q=0.0,br", false },
                  { "identity, GZIP", true },
                  { "", false } };
    struct http_header h = { STR("content-length"), STR("9000") };
    char text[9000], back[10000];

    (void)state;
    memset(text, 'k', sizeof text);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FIXTURE(b, NULL);
        CLEANUP(strbuf_fini) struct strbuf req = STRBUF_INIT;
        strbuf_appendf(&req, "GET /later HTTP/1.0\r\nAccept-Encoding: %s\r\n\r\n", cases[i].accept);
        say(&b, strbuf_str(&req));
        httpd_respond(b.kept[0], 200, &h, 1, true);
        httpd_write(b.kept[0], text, 4000);
        settle(&b);
        size_t first = b.got.len;
        httpd_write(b.kept[0], text, 5000);
        httpd_end(b.kept[0]);
        settle(&b);
        assert_true(b.closed);
        assert_int_equal(count_got(&b, "content-encoding: gzip"), cases[i].gz);
        assert_int_equal(count_got(&b, "content-length: 9000"), !cases[i].gz);
        char *body = strstr(b.got.data, "\r\n\r\n") + 4;
        size_t n = b.got.len - (size_t)(body - b.got.data);
        if (!cases[i].gz) {
            assert_int_equal(n, sizeof text);
            continue;
        }
        CLEANUP(gunzip_free) struct gunzip *g = gunzip_new(0);
        struct kerr err = { 0 };
        const char *p = body;
        size_t part = first - (size_t)(body - b.got.data); /* what came before the second write */
        assert_int_equal(gunzip_step(g, &p, &part, back, sizeof back, &err), 4000);
        n -= (size_t)(p - body);
        assert_int_equal(gunzip_step(g, &p, &n, back, sizeof back, &err), 5000);
        assert_true(gunzip_complete(g));
    }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void test_body_comes_as_events(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, POST("/events", "6") "abc");
    assert_log(&b, "POST /events;data 3;");
    say(&b, "def" GET("/hi"));
    assert_log(&b, "POST /events;data 3;data 3;end;");
    httpd_reply(b.kept[0], 200, NULL, NULL, 0);
    settle(&b);
    assert_int_equal(b.n_req, 2);
    say(&b, GET("/events"));
    assert_true(str_ends(strbuf_str(&b.log), "GET /events;end;"));
}

static void test_body_waits_until_somebody_wants_it(void **state)
{
    FIXTURE(b, NULL);
    char block[16 * 1024];

    (void)state;
    memset(block, 'z', sizeof block);
    say(&b, POST("/mute", "1048576"));
    for (int i = 0; i < 64; i++)
        stream_write(b.end, block, sizeof block);
    loop_advance(b.l, 300 * SEC); /* our delay is not the client's fault */
    assert_log(&b, "POST /mute;");
    assert_that(stream_queued(b.end), >, 700 * 1024); /* it is being held back */
    httpd_read_body(b.kept[0], role_take, &b);
    settle(&b);
    assert_log(&b, "POST /mute;body 1048576;");
    httpd_reply(b.kept[0], 200, NULL, "ok", 2);
    say(&b, POST("/mute", "5") "12345");
    httpd_set_events(b.kept[1], &role_events, &(struct role){ &b, b.kept[1] });
    assert_log(&b, "POST /mute;body 1048576;POST /mute;"); /* not from inside the call */
    settle(&b);
    assert_log(&b, "POST /mute;body 1048576;POST /mute;data 5;end;");
    httpd_reply(b.kept[1], 200, NULL, "ok", 2);
    settle(&b);
    assert_int_equal(count_got(&b, "200 OK"), 2);
}

static void test_early_answer_drops_the_body(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, POST("/hi", "10") "12345");
    assert_int_equal(count_got(&b, "200 OK"), 1);
    say(&b, "67890" GET("/hi"));
    assert_int_equal(count_got(&b, "200 OK"), 2);
    say(&b, POST("/mute", "10") "12345");
    httpd_reply(b.kept[0], 200, NULL, NULL, 0);
    say(&b, "67890" GET("/hi"));
    assert_int_equal(count_got(&b, "200 OK"), 4);
    assert_false(b.closed);
}

static void test_expect_continue(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
    assert_string_equal(strbuf_str(&b.got), "HTTP/1.1 100 Continue\r\n\r\n");
    say(&b, "ok");
    assert_int_equal(count_got(&b, "200 OK"), 1);
    strbuf_reset(&b.got);
    say(&b, "POST /mute HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(b.got.len, 0); /* nobody wants it yet */
    httpd_reply(b.kept[0], 403, NULL, "no", 2);
    settle(&b);
    assert_got(&b, "connection: close\r\n");
    assert_int_equal(count_got(&b, "100 Continue"), 0);
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    say(&b, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: magic\r\n\r\n");
    assert_got(&b, "417 ");
    assert_true(b.closed);
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void test_client_may_vanish_at_any_time(void **state)
{
    static const struct {
        const char *in;
        int closes;
    } cases[] = {
        { "", 0 },
        { "PRI * HT", 0 },
        { "GET /lat", 0 },
        { GET("/later"), 1 },
        { GET("/stream"), 1 },
        { POST("/events", "6") "abc", 1 },
        { POST("/echo", "6") "abc", 1 },
        { POST("/mute", "6") "abc", 1 },
        { GET("/hi"), 0 },
        { GET("/later") GET("/later"), 1 },
    };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        FIXTURE(b, NULL);
        say(&b, cases[i / 2].in);
        if (i % 2)
            stream_mem_break(b.end, -ECONNRESET, "reset");
        else
            b.end = stream_close(b.end);
        settle(&b);
        assert_int_equal(b.n_close, cases[i / 2].closes);
        loop_advance(b.l, 1000 * SEC);
        assert_int_equal(b.n_close, cases[i / 2].closes);
    }
}

static void test_half_closed_client_still_gets_its_answer(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    stream_write(b.end, GET("/hi"), strlen(GET("/hi")));
    stream_shutdown(b.end);
    settle(&b);
    assert_got(&b, "\r\n\r\nhi");
    assert_true(b.closed);
}

static void test_ending_is_allowed_in_every_callback(void **state)
{
    static const char *const where[] = { "data",      "end",      "drain",      "close",
                                         "free:data", "free:end", "free:drain", "free:close" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(where); i++) {
        FIXTURE(b, NULL);
        b.end_in = where[i];
        if (strstr(where[i], "drain")) {
            say(&b, GET("/stream"));
            b.end_in = NULL;
            httpd_write(b.kept[0], "abc", 3);
            settle(&b);
            assert_int_equal(b.n_drain, 1);
            if (str_starts(where[i], "free:"))
                b.end_in = where[i];
            httpd_write(b.kept[0], "abc", 3);
            settle(&b);
            if (b.d)
                httpd_end(b.kept[0]);
        } else {
            say(&b, POST("/events", "3") "abc");
        }
        if (strstr(where[i], "close")) {
            b.end = stream_close(b.end);
            settle(&b);
            assert_int_equal(b.n_close, 1);
            continue;
        }
        settle(&b);
        if (str_starts(where[i], "free:")) {
            assert_null(b.d);
            assert_true(b.closed);
            assert_int_equal(b.n_close, 1);
        } else {
            assert_got(&b, "200 OK");
            assert_int_equal(b.n_close, 0);
        }
    }
}

static void test_server_may_be_freed_by_its_handler(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/later") GET("/hi"));
    struct stream *first = take(b.end);
    fixture_connect(&b, NULL);
    say(&b, GET("/hi") GET("/free") GET("/hi"));
    assert_null(b.d);
    assert_int_equal(b.n_close, 2);
    assert_true(b.closed);
    assert_int_equal(count_got(&b, "200 OK"), 1);
    stream_close(first);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void test_drain_tells_when_to_go_on(void **state)
{
    FIXTURE(b, NULL);
    static char block[100 * 1024];

    (void)state;
    say(&b, GET("/stream"));
    stream_pause(b.end, true);
    size_t wrote = 0;
    while (httpd_queued(b.kept[0]) < 500 * 1024) {
        httpd_write(b.kept[0], block, sizeof block);
        wrote += sizeof block;
    }
    assert_int_equal(wrote, 500 * 1024);
    settle(&b);
    assert_that(httpd_queued(b.kept[0]), >=, 500 * 1024);
    assert_int_equal(b.n_drain, 0);
    stream_pause(b.end, false);
    settle(&b);
    assert_int_equal(b.n_drain, 1);
    assert_int_equal(httpd_queued(b.kept[0]), 0);
    httpd_write(b.kept[0], "x", 1); /* small ones drain too */
    assert_that(httpd_queued(b.kept[0]), >, 0);
    settle(&b);
    assert_int_equal(b.n_drain, 2);
}

static void test_pipelining_waits_for_a_slow_reader(void **state)
{
    FIXTURE(b, NULL);
    static char block[300 * 1024];

    (void)state;
    stream_pause(b.end, true);
    say(&b, GET("/later") GET("/hi") GET("/hi"));
    httpd_reply(b.kept[0], 200, NULL, block, sizeof block);
    settle(&b);
    assert_int_equal(b.n_req, 1);
    stream_pause(b.end, false);
    settle(&b);
    assert_int_equal(b.n_req, 3);
}

static void test_small_writes_leave_together(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/stream"));
    for (int i = 0; i < 10; i++) {
        httpd_write(b.kept[0], "e", 1);
        assert_int_equal(stream_queued(httpd_stream(b.kept[0])), 0); /* not before the turn ends */
    }
    loop_turn(b.l);
    assert_int_equal(stream_queued(httpd_stream(b.kept[0])), 10 * strlen("1\r\ne\r\n"));
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
    fixture_log(arg, "stopped;");
}

static void test_stop_lets_requests_finish(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/hi"));
    struct stream *idle = take(b.end);
    fixture_connect(&b, NULL);
    say(&b, GET("/later") GET("/hi"));
    httpd_stop(b.d, 10 * SEC, on_stopped, &b);
    loop_advance(b.l, 5 * SEC);
    assert_log(&b, "GET /hi;GET /later;");
    httpd_reply(b.kept[0], 200, NULL, "done", 4);
    settle(&b);
    assert_got(&b, "connection: close\r\n");
    assert_true(b.closed);
    assert_log(&b, "GET /hi;GET /later;stopped;");
    assert_int_equal(b.n_close, 0);
    stream_close(idle);
}

static void test_a_server_that_leaves_says_so_in_its_answers(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/hi"));
    assert_false(b.closed);
    httpd_leave(b.d);
    loop_advance(b.l, SEC);
    assert_false(b.closed); /* it may be sending just now */
    say(&b, GET("/hi"));
    assert_got(&b, "connection: close\r\n");
    assert_true(b.closed);
    stream_close(take(b.end));
    fixture_connect(&b, NULL); /* whoever has not heard of it is still served */
    say(&b, GET("/hi"));
    assert_got(&b, "connection: close\r\n");
    assert_log(&b, "GET /hi;GET /hi;GET /hi;");
}

static void test_stop_ends_when_the_grace_is_over(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    say(&b, GET("/stream"));
    httpd_stop(b.d, 10 * SEC, on_stopped, &b);
    assert_log(&b, "GET /stream;");
    loop_advance(b.l, 9 * SEC);
    assert_log(&b, "GET /stream;");
    loop_advance(b.l, 2 * SEC);
    assert_log(&b, "GET /stream;close;stopped;");
    assert_true(b.closed);
}

static void test_stop_of_an_idle_server_is_told_later(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    b.end = stream_close(b.end);
    settle(&b);
    httpd_stop(b.d, SEC, on_stopped, &b);
    assert_log(&b, "");
    settle(&b);
    assert_log(&b, "stopped;");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_and_keeps_the_connection),
        cmocka_unit_test(test_pipelined_requests_are_answered_in_order),
        cmocka_unit_test(test_pieces_of_any_size_are_the_same),
        cmocka_unit_test(test_head_and_no_content_have_no_body),
        cmocka_unit_test(test_streams_in_chunks),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_http10),
        cmocka_unit_test(test_connection_close_is_honoured),
        cmocka_unit_test(test_request_head_is_readable),
        cmocka_unit_test(test_text_of_users_cannot_add_headers),
        cmocka_unit_test(test_broken_promise_of_length_breaks_the_connection),
        cmocka_unit_test(test_ending_without_an_answer_is_our_fault),
        cmocka_unit_test(test_compresses_for_clients_that_take_it),
        cmocka_unit_test(test_body_comes_as_events),
        cmocka_unit_test(test_body_waits_until_somebody_wants_it),
        cmocka_unit_test(test_early_answer_drops_the_body),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_client_may_vanish_at_any_time),
        cmocka_unit_test(test_half_closed_client_still_gets_its_answer),
        cmocka_unit_test(test_ending_is_allowed_in_every_callback),
        cmocka_unit_test(test_server_may_be_freed_by_its_handler),
        cmocka_unit_test(test_drain_tells_when_to_go_on),
        cmocka_unit_test(test_pipelining_waits_for_a_slow_reader),
        cmocka_unit_test(test_small_writes_leave_together),
        cmocka_unit_test(test_stop_lets_requests_finish),
        cmocka_unit_test(test_a_server_that_leaves_says_so_in_its_answers),
        cmocka_unit_test(test_stop_ends_when_the_grace_is_over),
        cmocka_unit_test(test_stop_of_an_idle_server_is_told_later),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
