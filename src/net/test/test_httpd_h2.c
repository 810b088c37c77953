/* test_httpd_h2.c - the server spoken to in hand-made HTTP/2 frames, on the virtual loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/test/asserts.h"
#include "net/test/httpd_fixture.h"

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

/* ---- the client's side ----------------------------------------------------------------------- */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void frame(struct fixture *b, int type, int flags, uint32_t id, const void *p, size_t n)
{
    const unsigned char head[9] = { (unsigned char)(n >> 16),  (unsigned char)(n >> 8),
                                    (unsigned char)n,          (unsigned char)type,
                                    (unsigned char)flags,      (unsigned char)(id >> 24),
                                    (unsigned char)(id >> 16), (unsigned char)(id >> 8),
                                    (unsigned char)id };

    stream_write(b->end, head, sizeof head);
    stream_write(b->end, p, n);
}

static void frame_u32(struct fixture *b, int type, uint32_t id, uint32_t v)
{
    const unsigned char body[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
                                    (unsigned char)(v >> 8), (unsigned char)v };

    frame(b, type, 0, id, body, 4);
}

/* A literal header field without indexing, no Huffman. Lengths from 127 on take more bytes. */
static void field_len(struct strbuf *h, size_t n)
{
    if (n < 127) {
        strbuf_appendc(h, (char)n);
        return;
    }
    strbuf_appendc(h, 127);
    for (n -= 127; n >= 128; n /= 128)
        strbuf_appendc(h, (char)(n % 128 + 128));
    strbuf_appendc(h, (char)n);
}

static void field(struct strbuf *h, const char *name, const char *value)
{
    strbuf_appendc(h, '\0');
    field_len(h, strlen(name));
    strbuf_append(h, name);
    field_len(h, strlen(value));
    strbuf_append(h, value);
}

static void head(struct strbuf *h, const char *method, const char *path)
{
    field(h, ":method", method);
    field(h, ":scheme", "http");
    field(h, ":authority", "example");
    field(h, ":path", path);
}

static void request(struct fixture *b, uint32_t id, const char *method, const char *path, bool end)
{
    CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;

    head(&h, method, path);
    frame(b, HEADERS, END_HEADERS | (end ? END_STREAM : 0), id, h.data, h.len);
    settle(b);
}

static void hello(struct fixture *b)
{
    stream_write(b->end, preface, sizeof preface - 1);
    frame(b, SETTINGS, 0, 0, NULL, 0);
    frame(b, SETTINGS, ACK, 0, NULL, 0);
    settle(b);
}

/* What the server sent, in words: "S S+ H1 200 D1+5" and so on, + for the END_STREAM or ACK flag.
 */
static void words(struct fixture *b, struct strbuf *out)
{
    nghttp2_hd_inflater *inf;

    assert_int_equal(nghttp2_hd_inflate_new(&inf), 0);
    strbuf_reset(out);
    const unsigned char *p = (const unsigned char *)strbuf_str(&b->got), *end = p + b->got.len;
    while (end - p >= 9) {
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        unsigned id = (unsigned)p[5] << 24 | (unsigned)p[6] << 16 | (unsigned)p[7] << 8 | p[8];
        strbuf_appendf(out, "%c", "DHPRSUKGWC"[p[3]]);
        if (id)
            strbuf_appendf(out, "%u", id);
        if (p[4] & 1)
            strbuf_appendc(out, '+');
        const unsigned char *body = p + 9;
        if (p[3] == DATA)
            strbuf_appendf(out, ":%zu", n);
        if (p[3] == RST || p[3] == GOAWAY)
            strbuf_appendf(out, ":%u", (unsigned)(p[3] == RST ? body[3] : body[7]));
        for (size_t left = n; p[3] == HEADERS && left > 0;) {
            nghttp2_nv nv;
            int flags = 0;
            ssize_t used = nghttp2_hd_inflate_hd2(inf, &nv, &flags, body + n - left, left, 1);
            assert_that(used, >=, 0);
            left -= (size_t)used;
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) && streq((char *)nv.name, ":status"))
                strbuf_appendf(out, ":%s", nv.value);
            if (flags & NGHTTP2_HD_INFLATE_FINAL)
                nghttp2_hd_inflate_end_headers(inf);
        }
        strbuf_appendc(out, ' ');
        p = body + n;
    }
    nghttp2_hd_inflate_del(inf);
}

#define assert_words(b, text)                                \
    do {                                                     \
        CLEANUP(strbuf_fini) struct strbuf w_ = STRBUF_INIT; \
        words((b), &w_);                                     \
        assert_string_equal(strbuf_str(&w_), (text));        \
    } while (0)
#define assert_said(b, text)                                       \
    do {                                                           \
        CLEANUP(strbuf_fini) struct strbuf w_ = STRBUF_INIT;       \
        words((b), &w_);                                           \
        if (!strstr(strbuf_str(&w_), (text)))                      \
            fail_msg("'%s' not in '%s'", (text), strbuf_str(&w_)); \
    } while (0)

#define assert_not_said(b, text)                             \
    do {                                                     \
        CLEANUP(strbuf_fini) struct strbuf w_ = STRBUF_INIT; \
        words((b), &w_);                                     \
        assert_null(strstr(strbuf_str(&w_), (text)));        \
    } while (0)

/* ---- requests and answers -------------------------------------------------------------------- */

static void test_answers(void **state)
{
    (void)state;
    for (size_t chunk = 0; chunk <= 7; chunk++) {
        FIXTURE(b, NULL);
        fixture_connect(&b, &(struct mem_opts){ .chunk = chunk });
        hello(&b);
        request(&b, 1, "GET", "/hi", true);
        request(&b, 3, "HEAD", "/hi", true);
        request(&b, 5, "GET", "/empty", true);
        assert_words(&b, chunk ? "S W S+ H1:200 D1+:2 H3+:200 H5+:204 "
                               : "S S+ W H1:200 D1+:2 H3+:200 H5+:204 ");
        assert_log(&b, "GET /hi;HEAD /hi;GET /empty;");
        assert_false(b.closed);
    }
}

static void test_requests_run_side_by_side(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/later", true);
    request(&b, 3, "GET", "/later", true);
    assert_string_equal(httpd_target(b.kept[0]), "/later");
    assert_true(str_eqz(httpd_header(b.kept[0], "host"), "example"));
    httpd_reply(b.kept[1], 404, NULL, "no", 2);
    httpd_reply(b.kept[0], 201, NULL, NULL, 0);
    settle(&b);
    assert_words(&b, "S S+ W H3:404 H1+:201 D3+:2 ");
}

static void test_bodies(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "POST", "/echo", false);
    frame(&b, DATA, 0, 1, "abc", 3);
    frame(&b, DATA, END_STREAM, 1, "de", 2);
    settle(&b);
    assert_log(&b, "POST /echo;body 5;");
    assert_words(&b, "S S+ W H1:200 D1+:5 ");
    request(&b, 3, "POST", "/events", false);
    frame(&b, DATA, 0, 3, "abc", 3);
    frame(&b, DATA, END_STREAM, 3, NULL, 0);
    settle(&b);
    assert_log(&b, "POST /echo;body 5;POST /events;data 3;end;");
    httpd_end(b.kept[0]);
    settle(&b);
    assert_said(&b, "H3:500 ");
}

static void test_body_waits_until_somebody_wants_it(void **state)
{
    FIXTURE(b, NULL);
    static char block[16 * 1024];

    (void)state;
    hello(&b);
    request(&b, 1, "POST", "/mute", false);
    for (int i = 0; i < 16; i++) /* as much as the window allows */
        frame(&b, DATA, 0, 1, block, sizeof block);
    loop_advance(b.l, 300 * SEC);
    request(&b, 3, "GET", "/hi", true); /* others go on */
    assert_said(&b, "H3:200 D3+:2 ");
    assert_not_said(&b, "W1 ");
    httpd_set_events(b.kept[0], &role_events, &(struct role){ &b, b.kept[0] });
    settle(&b);
    assert_true(str_ends(strbuf_str(&b.log), ";data 262144;"));
    assert_said(&b, "W1 ");
    frame(&b, DATA, END_STREAM, 1, "x", 1);
    settle(&b);
    assert_true(str_ends(strbuf_str(&b.log), ";data 262144;data 1;end;"));
}

static void test_early_answer_reads_on(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "POST", "/hi", false);
    assert_words(&b, "S S+ W H1:200 D1+:2 ");
    frame(&b, DATA, END_STREAM, 1, "abc", 3);
    settle(&b);
    assert_words(&b, "S S+ W H1:200 D1+:2 ");
    assert_false(b.closed);
}

static void test_expect_continue(void **state)
{
    FIXTURE(b, NULL);
    CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;

    (void)state;
    hello(&b);
    head(&h, "POST", "/echo");
    field(&h, "expect", "100-continue");
    frame(&b, HEADERS, END_HEADERS, 1, h.data, h.len);
    settle(&b);
    assert_words(&b, "S S+ W H1:100 ");
    frame(&b, DATA, END_STREAM, 1, "abc", 3);
    settle(&b);
    assert_words(&b, "S S+ W H1:100 H1:200 D1+:3 ");
}

static void test_streaming(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/stream", true);
    assert_words(&b, "S S+ W H1:200 ");
    for (int i = 0; i < 5; i++)
        httpd_write(b.kept[0], "event\n", 6);
    settle(&b);
    assert_words(&b, "S S+ W H1:200 D1:30 "); /* together */
    assert_int_equal(b.n_drain, 1);
    httpd_write(b.kept[0], "last", 4);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_words(&b, "S S+ W H1:200 D1:30 D1+:4 ");
    assert_int_equal(b.n_close, 0);
}

static void test_trailers(void **state)
{
    FIXTURE(b, NULL);
    struct http_header t[] = { { STR("grpc-status"), STR("0") }, { STR("grpc-message"), STR("") } };

    (void)state;
    hello(&b);
    for (uint32_t id = 1; id <= 5; id += 2) {
        request(&b, id, "POST", "/stream", true);
        httpd_trailers(b.kept[id / 2], t, 2);
        if (id == 3)
            httpd_write(b.kept[id / 2], "abc", 3);
        if (id == 5)
            settle(&b); /* the head is out already */
        httpd_end(b.kept[id / 2]);
        settle(&b);
    }
    assert_words(&b, "S S+ W H1:200 H1+ H3:200 D3:3 H3+ H5:200 H5+ ");
}

/* ---- flow control ---------------------------------------------------------------------------- */

static void test_windows_hold_answers_back(void **state)
{
    FIXTURE(b, NULL);
    static char block[300 * 1024];

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/stream", true);
    httpd_write(b.kept[0], block, sizeof block);
    settle(&b);
    assert_int_equal(httpd_queued(b.kept[0]), sizeof block - 65535);
    assert_int_equal(b.n_drain, 0);
    frame_u32(&b, WINDOW, 0, 1000000);
    frame_u32(&b, WINDOW, 1, 200000);
    settle(&b);
    assert_int_equal(httpd_queued(b.kept[0]), sizeof block - 265535);
    assert_int_equal(b.n_drain, 1);
    httpd_end(b.kept[0]);
    frame_u32(&b, WINDOW, 1, 1000000);
    settle(&b);
    assert_said(&b, "D1+:");
}

static void test_streams_that_take_nothing_are_reset(void **state)
{
    FIXTURE(b, NULL);
    static char block[300 * 1024];

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/stream", true);
    request(&b, 3, "GET", "/later", true);
    frame_u32(&b, WINDOW, 0, 1000000);
    httpd_write(b.kept[0], block, sizeof block);
    for (int i = 0; i < 58; i++)
        loop_advance(b.l, SEC);
    assert_int_equal(b.n_close, 0);
    frame_u32(&b, WINDOW, 1, 1);
    loop_advance(b.l, 58 * SEC);
    assert_int_equal(b.n_close, 0);
    loop_advance(b.l, 20 * SEC);
    assert_int_equal(b.n_close, 1);
    assert_said(&b, "R1:2 ");
    httpd_reply(b.kept[1], 200, NULL, NULL, 0); /* the others live */
    settle(&b);
    assert_said(&b, "H3+:200 ");
}

/* ---- limits and time ------------------------------------------------------------------------- */

static void test_limits(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_body = 10, .max_header = 1000, .max_streams = 4 }));
    CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;
    char big[1001];

    (void)state;
    memset(big, 'a', sizeof big);
    big[1000] = '\0';
    hello(&b);
    head(&h, "GET", "/hi");
    field(&h, "x", big);
    frame(&b, HEADERS, END_HEADERS | END_STREAM, 1, h.data, h.len);
    strbuf_reset(&h);
    head(&h, "POST", "/echo");
    field(&h, "content-length", "11");
    frame(&b, HEADERS, END_HEADERS, 3, h.data, h.len);
    settle(&b);
    assert_words(&b, "S S+ W H1:431 D1+:36 H3:413 D3+:22 R3:0 ");
    assert_int_equal(b.n_req, 0);
    request(&b, 5, "POST", "/events", false);
    frame(&b, DATA, 0, 5, "01234567890", 11);
    settle(&b);
    assert_said(&b, "H5:413 D5+:22 R5:0 ");
    assert_int_equal(b.n_close, 1);
    request(&b, 7, "CONNECT", "/", true); /* malformed */
    assert_said(&b, "R7:1 ");
    for (uint32_t id = 9; id <= 17; id += 2)
        request(&b, id, "GET", "/later", true);
    /* After the peer knows the limit, one more stream is its fault. */
    assert_int_equal(b.n_req, 5);
}

/* curl does not show an answer whose stream is reset right behind it: what it still sends is
 * dropped, as much as a body may have. */
static void test_an_answer_to_a_large_body_is_not_reset_at_once(void **state)
{
    FIXTURE(b, (&(struct httpd_opts){ .max_body = 10, .tell_too_large = true }));
    CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;

    (void)state;
    hello(&b);
    head(&h, "POST", "/echo");
    field(&h, "content-length", "21");
    frame(&b, HEADERS, END_HEADERS, 1, h.data, h.len);
    settle(&b);
    assert_words(&b, "S S+ W H1:413 D1+:15 ");
    frame(&b, DATA, 0, 1, "0123456789", 10);
    settle(&b);
    assert_not_said(&b, "R1");
    frame(&b, DATA, 0, 1, "0123456789", 10);
    settle(&b);
    assert_said(&b, "R1:0 "); /* enough */

    request(&b, 3, "POST", "/echo", false);
    frame(&b, DATA, 0, 3, "0123456789", 10);
    settle(&b);
    assert_not_said(&b, "H3");
    frame(&b, DATA, 0, 3, "0", 1);
    settle(&b);
    assert_said(&b, "H3:413 D3+:15 ");
    frame(&b, DATA, END_STREAM, 3, "0123456", 7);
    settle(&b);
    assert_not_said(&b, "R3");
    assert_int_equal(b.n_close, 0);
}

static void test_slow_peers_time_out(void **state)
{
    FIXTURE(b, NULL);
    CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;

    (void)state;
    stream_write(b.end, preface, sizeof preface - 1);
    loop_advance(b.l, 16 * SEC); /* no SETTINGS */
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    stream_write(b.end, preface, 10);
    loop_advance(b.l, 16 * SEC);
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    hello(&b);
    request(&b, 1, "GET", "/later", true);
    head(&h, "GET", "/hi");
    frame(&b, HEADERS, END_STREAM, 3, h.data, h.len); /* and no CONTINUATION */
    loop_advance(b.l, 14 * SEC);
    assert_false(b.closed);
    loop_advance(b.l, 2 * SEC);
    assert_true(b.closed);
    assert_int_equal(b.n_close, 1);
    fixture_connect(&b, NULL);
    hello(&b);
    request(&b, 1, "POST", "/events", false);
    loop_advance(b.l, 61 * SEC);
    assert_said(&b, "H1:408 G:0 D1+:20 R1:0 "); /* nobody else uses the connection */
    assert_int_equal(b.n_close, 2);
    loop_advance(b.l, SEC);
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    hello(&b); /* a handshake, and then no request */
    loop_advance(b.l, 14 * SEC);
    assert_false(b.closed);
    loop_advance(b.l, 2 * SEC);
    assert_true(b.closed);
    fixture_connect(&b, NULL);
    hello(&b);
    request(&b, 1, "GET", "/hi", true);
    loop_advance(b.l, 119 * SEC);
    assert_false(b.closed);
    loop_advance(b.l, 2 * SEC); /* idle */
    assert_true(b.closed);
}

/* Neither an answer that nobody takes nor a body that never comes holds a connection longer than
 * over HTTP/1.1, whatever else the peer sends to look alive. */
static void test_a_connection_of_stuck_requests_ends(void **state)
{
    static char block[300 * 1024];
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    frame(&b, SETTINGS, 0, 0, "\0\4\0\0\0\0", 6); /* a window of 0 */
    request(&b, 1, "GET", "/stream", true);
    request(&b, 3, "POST", "/events", false);
    httpd_write(b.kept[0], block, sizeof block);
    for (int i = 0; i < 140 && !b.closed; i++) {
        if (i == 70)
            assert_false(b.closed); /* the words of the 408 have their time too */
        frame(&b, PING, 0, 0, "12345678", 8);
        loop_advance(b.l, SEC);
    }
    assert_said(&b, "R1:2 ");
    assert_said(&b, "H3:408 ");
    assert_int_equal(b.n_close, 2);
    assert_true(b.closed);
}

static void test_floods_end_the_connection(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        FIXTURE(b, NULL);
        CLEANUP(strbuf_fini) struct strbuf h = STRBUF_INIT;
        hello(&b);
        head(&h, "GET", "/later");
        if (kind == 3)
            frame(&b, HEADERS, END_STREAM, 1, h.data, h.len);
        if (kind == 4)
            request(&b, 1, "POST", "/events", false);
        if (kind == 5)
            stream_pause(b.end, true); /* never reads what it makes us say */
        for (uint32_t i = 0; i < 11000 && !b.closed; i++) {
            if (kind == 0 || kind == 5) {
                frame(&b, PING, 0, 0, "12345678", 8);
            } else if (kind == 1) {
                frame(&b, SETTINGS, 0, 0, NULL, 0);
            } else if (kind == 2) {
                frame(&b, HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, h.data, h.len);
                frame_u32(&b, RST, 2 * i + 1, 8);
            } else if (kind == 3) {
                frame(&b, CONTINUATION, 0, 1, NULL, 0);
            } else {
                frame(&b, DATA, 0, 1, NULL, 0);
            }
            if (i % 100 == 0)
                settle(&b);
        }
        stream_pause(b.end, false);
        loop_advance(b.l, 3 * SEC);
        assert_true(b.closed);
        if (kind < 5 && kind != 3)    /* nghttp2 itself stops that one, without a word */
            assert_said(&b, "G:11 "); /* ENHANCE_YOUR_CALM */
        assert_that(b.n_req, <=, 501);
        assert_int_equal(b.n_close, kind == 2 ? b.n_req : kind == 4);
    }
}

static void test_garbage_ends_the_connection(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        FIXTURE(b, NULL);
        hello(&b);
        request(&b, 1, "GET", "/later", true);
        if (kind == 0)
            frame(&b, DATA, 0, 99, "x", 1);
        else if (kind == 1)
            frame(&b, HEADERS, END_HEADERS, 3, "\xff\xff\xff\xff\xff\xff", 6);
        else if (kind == 2)
            frame(&b, SETTINGS, 0, 0, "abc", 3);
        else if (kind == 3)
            say(&b, "GET / HTTP/1.1\r\n\r\n");
        else
            frame(&b, GOAWAY, 0, 1, "12345678", 8);
        settle(&b);
        assert_true(b.closed);
        assert_int_equal(b.n_close, 1);
    }
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void test_reset_and_vanish(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/later", true);
    request(&b, 3, "POST", "/mute", false);
    request(&b, 5, "GET", "/stream", true);
    frame_u32(&b, RST, 3, 8);
    settle(&b);
    assert_int_equal(b.n_close, 1);
    request(&b, 7, "GET", "/hi", true);
    assert_said(&b, "H7:200 ");
    b.end = stream_close(b.end);
    settle(&b);
    assert_int_equal(b.n_close, 3);
}

static void test_ending_is_allowed_in_every_callback(void **state)
{
    static const char *const where[] = { "data",      "end",      "close",
                                         "free:data", "free:end", "free:close" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(where); i++) {
        FIXTURE(b, NULL);
        b.end_in = where[i];
        hello(&b);
        request(&b, 1, "GET", "/later", true);
        request(&b, 3, "POST", "/events", false);
        if (strstr(where[i], "close")) {
            frame_u32(&b, RST, 3, 8);
        } else {
            frame(&b, DATA, 0, 3, "abc", 3);
            frame(&b, DATA, END_STREAM, 3, "de", 2);
        }
        settle(&b);
        if (str_starts(where[i], "free:")) {
            assert_null(b.d);
            assert_true(b.closed);
            assert_int_equal(b.n_close, 2);
        } else {
            assert_int_equal(b.n_close, streq(where[i], "close"));
        }
    }
}

static void test_broken_promise_of_length_resets(void **state)
{
    FIXTURE(b, NULL);
    struct http_header h = { STR("content-length"), STR("10") };

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/later", true);
    httpd_respond(b.kept[0], 200, &h, 1, false);
    httpd_write(b.kept[0], "abc", 3);
    httpd_end(b.kept[0]);
    settle(&b);
    assert_said(&b, "R1:2 ");
    assert_int_equal(b.n_close, 0);
}

static void on_stopped(void *arg)
{
    fixture_log(arg, "stopped;");
}

static void test_stop(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    request(&b, 1, "GET", "/later", true);
    httpd_stop(b.d, 10 * SEC, on_stopped, &b);
    loop_advance(b.l, SEC);
    assert_words(&b, "S S+ W G:0 ");
    request(&b, 3, "GET", "/hi", true); /* too late: the client may send it elsewhere */
    httpd_reply(b.kept[0], 200, NULL, "done", 4);
    settle(&b);
    assert_said(&b, "H1:200 D1+:4 ");
    assert_true(b.closed);
    /* It may be writing still: the connection stays until it has gone as well. */
    request(&b, 5, "GET", "/hi", true);
    assert_log(&b, "GET /later;");
    b.end = stream_close(b.end);
    settle(&b);
    assert_log(&b, "GET /later;stopped;");
    assert_int_equal(b.n_close, 0);
}

static void test_stop_does_not_wait_for_long(void **state)
{
    FIXTURE(b, NULL);

    (void)state;
    hello(&b);
    httpd_stop(b.d, 10 * SEC, on_stopped, &b);
    loop_advance(b.l, SEC);
    assert_true(b.closed);
    assert_log(&b, "");
    loop_advance(b.l, 2 * SEC);
    assert_log(&b, "stopped;");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_requests_run_side_by_side),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_body_waits_until_somebody_wants_it),
        cmocka_unit_test(test_early_answer_reads_on),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_streaming),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_windows_hold_answers_back),
        cmocka_unit_test(test_streams_that_take_nothing_are_reset),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_an_answer_to_a_large_body_is_not_reset_at_once),
        cmocka_unit_test(test_slow_peers_time_out),
        cmocka_unit_test(test_a_connection_of_stuck_requests_ends),
        cmocka_unit_test(test_floods_end_the_connection),
        cmocka_unit_test(test_garbage_ends_the_connection),
        cmocka_unit_test(test_reset_and_vanish),
        cmocka_unit_test(test_ending_is_allowed_in_every_callback),
        cmocka_unit_test(test_broken_promise_of_length_resets),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_does_not_wait_for_long),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
