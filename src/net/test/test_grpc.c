/* test_grpc.c - gRPC both ways and through a relay, over memory on the virtual loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "net/stream.h"

#include <stdio.h>

#define SEC NSEC_PER_SEC

/* ---- two servers, one behind the other ------------------------------------------------------- */

struct fixture {
    struct loop *l;
    struct grpc_server *server, *relay;
    struct httpd *odd; /* an HTTP server that answers as no gRPC server should */
    struct http *direct, *via, *to_odd;
    struct mem_opts mem;
    bool refuse;
    unsigned closed;   /* requests that the server lost */
    nsec_t timeout;    /* as the last caller told it */
    char metadata[64]; /* its last one */
    struct grpc_req *held;
    struct timer *later;
    size_t max_queued, left;
    unsigned relay_ends;
    enum grpc_code relay_code;
};

struct dialing {
    struct fixture *b;
    struct httpd *to;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if (d.b->refuse) {
        kerr_set(&err, -ENOENT, "connect: No such file or directory");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &d.b->mem, ends);
    httpd_serve(d.to, ends[1], "memory");
    d.fn(d.arg, ends[0], NULL);
}

static void dial(struct fixture *b, struct httpd *to, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ b, to, fn, arg };
    loop_after(b->l, 0, dial_due, d);
}

static void dial_server(void *b, struct loop *l, http_dialed_fn fn, void *arg)
{
    (void)l;
    dial(b, grpc_server_httpd(((struct fixture *)b)->server), fn, arg);
}

static void dial_relay(void *b, struct loop *l, http_dialed_fn fn, void *arg)
{
    (void)l;
    dial(b, grpc_server_httpd(((struct fixture *)b)->relay), fn, arg);
}

static void dial_odd(void *b, struct loop *l, http_dialed_fn fn, void *arg)
{
    (void)l;
    dial(b, ((struct fixture *)b)->odd, fn, arg);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void held_closed(void *arg)
{
    struct fixture *b = arg;

    b->closed++;
    b->held = NULL;
}

static void flood(void *arg)
{
    struct fixture *b = arg;
    static const char block[10000];

    while (b->left > 0 && grpc_queued(b->held) < 100000) {
        grpc_send(b->held, (struct str){ block, sizeof block });
        b->left--;
        b->max_queued = MAX(b->max_queued, grpc_queued(b->held));
    }
    if (b->left == 0)
        grpc_finish(take(b->held), &(struct grpc_status){ .code = GRPC_OK });
}

static void serve(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    static const struct grpc_req_events held = { .on_close = held_closed };
    static const struct grpc_req_events flooding = { .on_drain = flood, .on_close = held_closed };
    static const struct http_header more[] = { { STR("grpc-status-details-bin"), STR("AAEC") },
                                               { STR("x-more"), STR("yes") } };
    struct fixture *b = arg;
    struct http_header h;

    b->timeout = grpc_timeout(r);
    for (size_t i = 0; grpc_metadata_at(r, i, &h); i++)
        snprintf(b->metadata, sizeof b->metadata, "%.*s=%.*s", (int)h.name.n, h.name.p,
                 (int)h.value.n, h.value.p);
    if (streq(method, "/t.T/Echo")) {
        grpc_send(r, message);
        grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
    } else if (streq(method, "/t.T/Three")) {
        for (int i = 0; i < 3; i++)
            grpc_send(r, message);
        grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
    } else if (streq(method, "/t.T/Fail")) {
        grpc_finish(r, &(struct grpc_status){ .code = GRPC_NOT_FOUND,
                                              .text = STR("no pod \"a%b\"\nin \xc3\xa4"),
                                              .metadata = { more, 2 } });
    } else if (streq(method, "/t.T/Hold")) {
        b->held = r;
        grpc_set_events(r, &held, b);
    } else if (streq(method, "/t.T/Flood")) {
        b->held = r;
        b->left = 1000;
        grpc_set_events(r, &flooding, b);
        flood(b);
    } else if (streq(method, "/t.T/FreeServer")) {
        b->server = grpc_server_free(b->server);
    } else {
        grpc_fail(r, GRPC_UNIMPLEMENTED, "unknown method %s", method);
    }
}

static int edit(void *arg, struct str message, struct strbuf *out, struct kerr *err)
{
    (void)arg;
    if (str_eqz(message, "bad"))
        return kerr_set(err, -EBADMSG, "the answer makes no sense");
    if (!str_eqz(message, "edit"))
        return 1;
    strbuf_append(out, "edited");
    return 0;
}

static void relay_ended(void *arg, const struct grpc_status *st)
{
    struct fixture *b = arg;

    b->relay_ends++;
    b->relay_code = st->code;
}

static void pass_on(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct fixture *b = arg;

    grpc_relay(r, &(struct grpc_relay_opts){ .to = b->direct,
                                             .method = method,
                                             .message = message,
                                             .timeout = 10 * SEC,
                                             .edit = edit,
                                             .arg = b,
                                             .on_end = relay_ended });
}

static void odd_answer(void *arg, struct httpd_req *r)
{
    static const struct http_header only[] = { { STR("content-type"), STR("application/grpc") },
                                               { STR("grpc-status"), STR("5") },
                                               { STR("grpc-message"), STR("not%20here") } };
    static const struct http_header ok = { STR("grpc-status"), STR("0") };
    static const struct http_header strange = { STR("grpc-status"), STR("4711") };
    const char *target = httpd_target(r);

    (void)arg;
    if (str_starts(target, "/http/")) {
        httpd_reply(r, atoi(target + 6), "text/html", "<p>no</p>", 9);
        return;
    }
    if (streq(target, "/silent"))
        return;
    httpd_respond(r, 200, only, streq(target, "/only") ? 3 : 1, false);
    if (streq(target, "/packed"))
        httpd_write(r, "\1\0\0\0\1x", 6);
    if (streq(target, "/cut"))
        httpd_write(r, "\0\0\0\0\2x", 6);
    if (streq(target, "/huge"))
        httpd_write(r, "\0\x01\0\0\1x", 6);
    if (streq(target, "/strange"))
        httpd_trailers(r, &strange, 1);
    else if (!streq(target, "/none") && !streq(target, "/only"))
        httpd_trailers(r, &ok, 1);
    httpd_end(r);
}

static struct http *client(struct fixture *b, http_dial_fn fn)
{
    return grpc_client_new(b->l, "/nowhere", fn, b);
}

static void fixture_open(struct fixture *b, size_t chunk)
{
    *b = (struct fixture){ .l = loop_new_virtual(1700000000 * SEC, 7) };
    b->mem = (struct mem_opts){ .latency = NSEC_PER_MSEC, .chunk = chunk };
    b->server = grpc_server_new(b->l, NULL, serve, b);
    b->relay = grpc_server_new(b->l, NULL, pass_on, b);
    b->odd = httpd_new(b->l, NULL, odd_answer, b);
    b->direct = client(b, dial_server);
    b->via = client(b, dial_relay);
    b->to_odd = client(b, dial_odd);
}

static void fixture_close(struct fixture *b)
{
    http_free(b->via);
    http_free(b->to_odd);
    grpc_server_free(b->relay);
    http_free(b->direct);
    grpc_server_free(b->server);
    httpd_free(b->odd);
    loop_advance(b->l, SEC);
    loop_free(b->l);
}

/* ---- a call ---------------------------------------------------------------------------------- */

struct job {
    struct grpc_call *call; /* NULL: ended */
    struct strbuf got, text;
    unsigned messages, ends;
    enum grpc_code code;
    char more[64]; /* metadata */
    size_t bytes;
};

static void job_message(void *arg, struct str m)
{
    struct job *j = arg;

    assert_int_equal(j->ends, 0);
    j->messages++;
    j->bytes += m.n;
    if (m.n < 1000)
        strbuf_appendn(&j->got, m.p, m.n);
}

static void job_end(void *arg, const struct grpc_status *st)
{
    struct job *j = arg;

    j->call = NULL;
    j->ends++;
    j->code = st->code;
    if (st->text.n > 0)
        strbuf_appendn(&j->text, st->text.p, st->text.n);
    for (size_t i = 0; i < st->metadata.n; i++)
        snprintf(j->more + strlen(j->more), sizeof j->more - strlen(j->more), "%.*s=%.*s;",
                 (int)st->metadata.items[i].name.n, st->metadata.items[i].name.p,
                 (int)st->metadata.items[i].value.n, st->metadata.items[i].value.p);
}

static const struct grpc_call_events job_events = { job_message, job_end };

static void job_start(struct http *h, struct job *j, const struct grpc_call_opts *o)
{
    *j = (struct job){ 0 };
    j->call = grpc_call_send(h, o, &job_events, j);
    assert_int_equal(j->ends, 0);
}

static void job_fini(struct job *j)
{
    strbuf_fini(&j->got);
    strbuf_fini(&j->text);
}

static void run(struct fixture *b, struct http *h, const char *method, struct str message,
                struct job *j)
{
    job_start(h, j,
              &(struct grpc_call_opts){ .method = method, .message = message, .timeout = 5 * SEC });
    loop_advance(b->l, 6 * SEC);
    assert_int_equal(j->ends, 1);
}

static void expect(struct fixture *b, struct http *h, const char *method, const char *message,
                   enum grpc_code code, const char *text)
{
    struct job j;

    run(b, h, method, str_of(message), &j);
    assert_string_equal(grpc_code_name(j.code), grpc_code_name(code));
    assert_string_equal(strbuf_str(&j.text), text);
    job_fini(&j);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_messages_in_pieces_of_any_size(void **state)
{
    static const struct str messages[] = { STR(""), STR("x"), STR("a\0b\xff"), STR("hello there") };
    struct fixture b;
    struct job j;

    (void)state;
    for (size_t chunk = 0; chunk < 8; chunk++) {
        fixture_open(&b, chunk);
        for (size_t i = 0; i < 2 * ARRAY_LEN(messages); i++) {
            struct str m = messages[i / 2];
            struct http *h = i % 2 ? b.via : b.direct;

            run(&b, h, "/t.T/Echo", m, &j);
            assert_int_equal(j.code, GRPC_OK);
            assert_int_equal(j.messages, 1);
            assert_true(str_eq((struct str){ j.got.data, j.got.len }, m));
            job_fini(&j);
            run(&b, h, "/t.T/Three", m, &j);
            assert_int_equal(j.messages, 3);
            assert_int_equal(j.got.len, 3 * m.n);
            job_fini(&j);
        }
        fixture_close(&b);
    }
}

static void test_status_text_and_metadata(void **state)
{
    static const struct http_header mine[] = { { STR("traceparent"), STR("00-ab") } };
    struct fixture b;
    struct job j;

    (void)state;
    fixture_open(&b, 0);
    for (int i = 0; i < 2; i++) {
        b.metadata[0] = '\0';
        job_start(i ? b.via : b.direct, &j,
                  &(struct grpc_call_opts){ .method = "/t.T/Fail", .metadata = { mine, 1 } });
        loop_advance(b.l, SEC);
        assert_int_equal(j.ends, 1);
        assert_int_equal(j.code, GRPC_NOT_FOUND);
        assert_string_equal(strbuf_str(&j.text), "no pod \"a%b\"\nin \xc3\xa4");
        assert_string_equal(j.more, "grpc-status-details-bin=AAEC;x-more=yes;");
        assert_string_equal(b.metadata, "traceparent=00-ab");
        job_fini(&j);
    }
    assert_int_equal(b.relay_ends, 1);
    assert_int_equal(b.relay_code, GRPC_NOT_FOUND);
    expect(&b, b.via, "/t.T/Other", "", GRPC_UNIMPLEMENTED, "unknown method /t.T/Other");
    fixture_close(&b);
}

static void test_nobody_there_then_somebody(void **state)
{
    struct fixture b;

    (void)state;
    fixture_open(&b, 0);
    b.refuse = true;
    expect(&b, b.direct, "/t.T/Echo", "x", GRPC_UNAVAILABLE, "connect: No such file or directory");
    b.refuse = false;
    expect(&b, b.via, "/t.T/Echo", "x", GRPC_OK, "");
    fixture_close(&b);
}

static void test_time_out(void **state)
{
    struct fixture b;
    struct job j;

    (void)state;
    fixture_open(&b, 0);
    for (int i = 0; i < 2; i++) {
        job_start(i ? b.via : b.direct, &j,
                  &(struct grpc_call_opts){ .method = "/t.T/Hold", .timeout = 2 * SEC });
        loop_advance(b.l, 2 * SEC - 10 * NSEC_PER_MSEC);
        assert_int_equal(j.ends, 0);
        assert_int_equal(b.timeout, 2 * SEC);
        loop_advance(b.l, 20 * NSEC_PER_MSEC);
        assert_int_equal(j.code, GRPC_DEADLINE_EXCEEDED);
        assert_int_equal(b.closed, i + 1);
        job_fini(&j);
    }
    /* Nobody says how long: the relay does. */
    job_start(b.via, &j, &(struct grpc_call_opts){ .method = "/t.T/Hold" });
    loop_advance(b.l, 11 * SEC);
    assert_int_equal(j.code, GRPC_DEADLINE_EXCEEDED);
    assert_int_equal(b.timeout, 10 * SEC);
    job_fini(&j);
    fixture_close(&b);
}

static void test_cancelling_reaches_the_server(void **state)
{
    struct fixture b;
    struct job j;

    (void)state;
    fixture_open(&b, 0);
    for (int i = 0; i < 2; i++) {
        job_start(i ? b.via : b.direct, &j, &(struct grpc_call_opts){ .method = "/t.T/Hold" });
        loop_advance(b.l, SEC);
        assert_non_null(b.held);
        j.call = grpc_call_cancel(j.call);
        loop_advance(b.l, SEC);
        assert_int_equal(b.closed, i + 1);
        assert_int_equal(j.ends, 0);
        job_fini(&j);
    }
    assert_int_equal(b.relay_ends, 0);
    fixture_close(&b);
}

static void test_a_handler_may_free_its_server(void **state)
{
    struct fixture b;

    (void)state;
    fixture_open(&b, 0);
    expect(&b, b.direct, "/t.T/FreeServer", "", GRPC_UNAVAILABLE,
           "the server closed the connection without an answer");
    fixture_close(&b);
}

static void test_sizes(void **state)
{
    struct fixture b;
    struct job j;
    CLEANUP(mem_free) char *big = xcalloc(1, GRPC_MESSAGE_MAX + 1);

    (void)state;
    fixture_open(&b, 0);
    run(&b, b.via, "/t.T/Echo", (struct str){ big, GRPC_MESSAGE_MAX }, &j);
    assert_int_equal(j.code, GRPC_OK);
    assert_int_equal(j.bytes, GRPC_MESSAGE_MAX);
    job_fini(&j);
    expect(&b, b.to_odd, "/huge", "", GRPC_RESOURCE_EXHAUSTED,
           "a message of 16777217 bytes; at most 16777216 are taken");
    run(&b, b.direct, "/t.T/Echo", (struct str){ big, GRPC_MESSAGE_MAX + 1 }, &j);
    assert_int_equal(j.code, GRPC_RESOURCE_EXHAUSTED);
    job_fini(&j);
    /* What was counted is given back: five times as much fits one after the other. */
    for (int i = 0; i < 5; i++) {
        run(&b, b.direct, "/t.T/Echo", (struct str){ big, GRPC_MESSAGE_MAX }, &j);
        assert_int_equal(j.code, GRPC_OK);
        job_fini(&j);
    }
    fixture_close(&b);
}

static void test_back_pressure_goes_through(void **state)
{
    struct fixture b;
    struct job j;

    (void)state;
    fixture_open(&b, 0);
    job_start(b.via, &j, &(struct grpc_call_opts){ .method = "/t.T/Flood" });
    grpc_call_pause(j.call, true);
    loop_advance(b.l, SEC);
    assert_that(b.left, >, 300); /* windows and queues are full, the rest waits */
    assert_that(b.max_queued, <, 120000);
    grpc_call_pause(j.call, false);
    loop_advance(b.l, 5 * SEC);
    assert_int_equal(j.code, GRPC_OK);
    assert_int_equal(j.messages, 1000);
    assert_int_equal(j.bytes, 10000000);
    job_fini(&j);
    fixture_close(&b);
}

static void test_the_relay_edits(void **state)
{
    struct fixture b;
    struct job j;

    (void)state;
    fixture_open(&b, 0);
    run(&b, b.via, "/t.T/Three", STR("edit"), &j);
    assert_string_equal(strbuf_str(&j.got), "editededitededited");
    job_fini(&j);
    expect(&b, b.via, "/t.T/Three", "bad", GRPC_INTERNAL, "the answer makes no sense");
    assert_int_equal(b.relay_code, GRPC_INTERNAL);
    fixture_close(&b);
}

static void test_answers_that_are_none(void **state)
{
    struct fixture b;

    (void)state;
    fixture_open(&b, 0);
    expect(&b, b.to_odd, "/only", "", GRPC_NOT_FOUND, "not here");
    expect(&b, b.to_odd, "/none", "", GRPC_INTERNAL, "the answer ends without a status");
    expect(&b, b.to_odd, "/strange", "", GRPC_UNKNOWN, "");
    expect(&b, b.to_odd, "/cut", "", GRPC_INTERNAL, "the answer ends in the middle of a message");
    expect(&b, b.to_odd, "/packed", "", GRPC_INTERNAL,
           "the message is compressed, which nobody asked for");
    expect(&b, b.to_odd, "/http/404", "", GRPC_UNIMPLEMENTED,
           "HTTP status 404 without a gRPC status");
    expect(&b, b.to_odd, "/http/503", "", GRPC_UNAVAILABLE,
           "HTTP status 503 without a gRPC status");
    expect(&b, b.to_odd, "/silent", "", GRPC_DEADLINE_EXCEEDED, "no answer within 5s");
    fixture_close(&b);
}

/* ---- requests that are none ------------------------------------------------------------------ */

struct raw {
    int status;
    char code[8];
    bool ended;
};

static void raw_headers(void *arg, const struct http_resp *r)
{
    ((struct raw *)arg)->status = r->status;
}

static void raw_trailers(void *arg, const struct http_headers *h)
{
    struct str s = http_header_get(h, "grpc-status");

    snprintf(((struct raw *)arg)->code, 8, "%.*s", (int)s.n, s.p);
}

static void raw_end(void *arg, const struct kerr *err, bool sent)
{
    (void)sent;
    assert_null(err);
    ((struct raw *)arg)->ended = true;
}

static void post(struct fixture *b, const char *type, struct str body, int status, const char *code)
{
    static const struct http_handler on = { .on_headers = raw_headers,
                                            .on_end = raw_end,
                                            .on_trailers = raw_trailers };
    struct http_header h = { STR("content-type"), str_of(type) };
    struct raw raw = { 0 };

    http_send(b->direct,
              &(struct http_req){ .method = "POST",
                                  .target = "/t.T/Echo",
                                  .headers = { &h, 1 },
                                  .body = body.p,
                                  .body_len = body.n },
              &on, &raw);
    loop_advance(b->l, SEC);
    assert_true(raw.ended);
    assert_int_equal(raw.status, status);
    assert_string_equal(raw.code, code);
}

static void test_requests_that_are_none(void **state)
{
    struct fixture b;

    (void)state;
    fixture_open(&b, 0);
    post(&b, "application/json", STR("\0\0\0\0\0"), 415, "");
    post(&b, "application/grpc-web", STR("\0\0\0\0\0"), 415, "");
    post(&b, "application/grpc+proto", STR("\0\0\0\0\0"), 200, "0");
    post(&b, "application/grpc", STR(""), 200, "13");
    post(&b, "application/grpc", STR("\0\0\0\0"), 200, "13");
    post(&b, "application/grpc", STR("\0\0\0\0\2x"), 200, "13");
    post(&b, "application/grpc", STR("\1\0\0\0\1x"), 200, "12");
    post(&b, "application/grpc", STR("\0\0\0\0\1x\0\0\0\0\1x"), 200, "12");
    post(&b, "application/grpc", STR("\0\xff\xff\xff\xffx"), 200, "8");
    fixture_close(&b);
}

static void test_all_requests_together_have_a_limit(void **state)
{
    struct fixture b;
    struct job a, c;
    static const char some[40000]; /* more than a frame: frames of both take turns */

    (void)state;
    fixture_open(&b, 100);
    grpc_server_free(b.server);
    b.server = grpc_server_new(
        b.l, &(struct grpc_server_opts){ .max_message = 50000, .max_buffered = 60000 }, serve, &b);
    job_start(b.direct, &a,
              &(struct grpc_call_opts){ .method = "/t.T/Echo", .message = { some, sizeof some } });
    job_start(b.direct, &c,
              &(struct grpc_call_opts){ .method = "/t.T/Echo", .message = { some, sizeof some } });
    loop_advance(b.l, SEC);
    assert_int_equal(a.ends + c.ends, 2);
    assert_that((a.code == GRPC_RESOURCE_EXHAUSTED), !=, (c.code == GRPC_RESOURCE_EXHAUSTED));
    job_fini(&a);
    job_fini(&c);
    fixture_close(&b);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void test_time_out_texts(void **state)
{
    static const struct {
        nsec_t t;
        const char *text;
    } cases[] = {
        { 1, "1n" },
        { 99999999, "99999999n" },
        { 100 * NSEC_PER_MSEC, "100000u" },
        { 100 * NSEC_PER_MSEC + 1, "100001u" },
        { 10 * SEC, "10000000u" },
        { 200 * SEC, "200000m" },
        { 200000 * SEC, "200000S" },
        { 100000000 * SEC, "1666667M" },
    };
    static const char *const none[] = { "", "m", "10", "1x", "123456789m", "-1m", "1 m" };
    char text[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        grpc_timeout_format(cases[i].t, text);
        assert_string_equal(text, cases[i].text);
        assert_true(grpc_timeout_parse(str_of(text)) >= cases[i].t);
    }
    grpc_timeout_format(NSEC_MAX, text);
    assert_string_equal(text, "2562048H");
    assert_int_equal(grpc_timeout_parse(STR("99999999H")), NSEC_MAX);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(grpc_timeout_parse(str_of(none[i])), 0);
}

static void test_status_texts(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(mem_free) char *big = xmalloc(5000);

    (void)state;
    grpc_text_encode(STR("50% of\tit"), &b);
    assert_string_equal(strbuf_str(&b), "50%25 of%09it");
    strbuf_reset(&b);
    grpc_text_decode(STR("%2 %zz %4a%4A%"), &b);
    assert_string_equal(strbuf_str(&b), "%2 %zz JJ%");
    strbuf_reset(&b);
    memset(big, 'a', 5000);
    grpc_text_encode((struct str){ big, 5000 }, &b);
    assert_int_equal(b.len, GRPC_TEXT_MAX);
    assert_string_equal(grpc_code_name((enum grpc_code)99), "UNKNOWN");
    assert_string_equal(grpc_code_name(GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_in_pieces_of_any_size),
        cmocka_unit_test(test_status_text_and_metadata),
        cmocka_unit_test(test_nobody_there_then_somebody),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_cancelling_reaches_the_server),
        cmocka_unit_test(test_a_handler_may_free_its_server),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_back_pressure_goes_through),
        cmocka_unit_test(test_the_relay_edits),
        cmocka_unit_test(test_answers_that_are_none),
        cmocka_unit_test(test_requests_that_are_none),
        cmocka_unit_test(test_all_requests_together_have_a_limit),
        cmocka_unit_test(test_time_out_texts),
        cmocka_unit_test(test_status_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
