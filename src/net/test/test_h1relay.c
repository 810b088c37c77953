/* test_h1relay.c - a client and a server that say what the tests tell them, and the relay between
 * them: over memory on the virtual loop, also in pieces of one byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/h1relay.h"
#include "net/stream.h"

#define GET     "GET /v1.41/events HTTP/1.1\r\nHost: docker\r\n\r\n"
#define CREATE  "POST /containers/create?name=a HTTP/1.1\r\nHost: docker\r\n"
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
#define CHUNKS  "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n"

struct peer {
    struct stream *s;
    struct strbuf got;
    bool eof, closed;
};
struct fixture {
    struct loop *l;
    struct h1relay *relay;
    size_t chunk;
    struct peer client, server;
    unsigned dials;
    bool is_away;
    /* Calls that are held: all whose target has "create" in it. */
    struct h1relay_call *call; /* shown or answered, and waiting for the test */
    unsigned requests, answers, gone, drained;
    char method[16];
    struct strbuf target, body;
    int status;
};

/* ---- peers ----------------------------------------------------------------------------------- */

static void peer_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct peer *)arg)->got, p, n);
}

static void peer_eof(void *arg)
{
    ((struct peer *)arg)->eof = true;
}

static void peer_close(void *arg, const struct kerr *err)
{
    struct peer *p = arg;

    (void)err;
    p->closed = true;
    p->s = stream_close(p->s);
}

static void peer_open(struct peer *p, struct stream *s)
{
    static const struct stream_events events = { .on_data = peer_data,
                                                 .on_close = peer_close,
                                                 .on_eof = peer_eof };

    stream_close(p->s);
    strbuf_fini(&p->got);
    *p = (struct peer){ .s = s };
    stream_listen(s, &events, p);
}

static void say(struct fixture *f, struct peer *p, const char *text)
{
    stream_write(p->s, text, strlen(text));
    loop_advance(f->l, NSEC_PER_MSEC);
}

static void expect(struct peer *p, const char *text)
{
    assert_string_equal(strbuf_str(&p->got), text);
    strbuf_reset(&p->got);
}

/* ---- the relay ------------------------------------------------------------------------------- */

static bool wants(void *arg, const char *method, struct str target)
{
    (void)arg, (void)method;
    return memmem(target.p, target.n, "create", 6) != NULL;
}

static void on_request(void *arg, struct h1relay_call *c, const char *method, struct str target,
                       struct str body)
{
    struct fixture *f = arg;

    f->requests++;
    f->call = c;
    snprintf(f->method, sizeof f->method, "%s", method);
    strbuf_reset(&f->target);
    strbuf_appendn(&f->target, target.p, target.n);
    strbuf_reset(&f->body);
    strbuf_appendn(&f->body, body.p, body.n);
    h1relay_call_set(c, f);
}

static void on_answer(void *arg, struct h1relay_call *c, int status, struct str body)
{
    struct fixture *f = arg;

    assert_ptr_equal(h1relay_call_get(c), f);
    f->answers++;
    f->call = c;
    f->status = status;
    strbuf_reset(&f->body);
    strbuf_appendn(&f->body, body.p, body.n);
}

static void on_gone(void *arg, struct h1relay_call *c)
{
    struct fixture *f = arg;

    (void)c;
    f->gone++;
    f->call = NULL;
}

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct fixture *f = arg;
    struct stream *ends[2];
    struct kerr err;

    f->dials++;
    if (f->is_away) {
        kerr_set(&err, -ENOENT, "no such socket");
        fn(fn_arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &(struct mem_opts){ .chunk = f->chunk }, ends);
    peer_open(&f->server, ends[1]);
    fn(fn_arg, ends[0], NULL);
}

static void connect_client(struct fixture *f)
{
    struct stream *ends[2];

    stream_mem_pair(f->l, &(struct mem_opts){ .chunk = f->chunk }, ends);
    peer_open(&f->client, ends[0]);
    h1relay_serve(f->relay, ends[1]);
}

static void fixture_init(struct fixture *f, size_t chunk)
{
    *f = (struct fixture){ .l = loop_new_virtual(0, 1), .chunk = chunk };
    f->relay = h1relay_new(&(struct h1relay_opts){ .loop = f->l,
                                                   .dial = dial,
                                                   .dial_arg = f,
                                                   .wants = wants,
                                                   .on_request = on_request,
                                                   .on_answer = on_answer,
                                                   .on_gone = on_gone,
                                                   .arg = f });
    connect_client(f);
}

static void fixture_fini_p(struct fixture *f)
{
    h1relay_free(f->relay);
    stream_close(f->client.s);
    stream_close(f->server.s);
    strbuf_fini(&f->client.got);
    strbuf_fini(&f->server.got);
    strbuf_fini(&f->target);
    strbuf_fini(&f->body);
    loop_free(f->l);
}

static unsigned open_calls(const struct fixture *f)
{
    return h1relay_stats(f->relay).open;
}

/* ---- as they are ----------------------------------------------------------------------------- */

static const size_t pieces[] = { 0, 1, 7 };

static void test_bytes_go_through_as_they_are(void **state)
{
    static const char upload[] =
        "POST /build HTTP/1.1\r\nHost: docker\r\nx-ODD:  v \r\nTransfer-Encoding: chunked\r\n\r\n";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, pieces[i]);
        say(&f, &f.client, upload);
        expect(&f.server, upload); /* before its body has come */
        say(&f, &f.client, CHUNKS);
        expect(&f.server, CHUNKS);
        say(&f, &f.server, OK_HEAD "Transfer-Encoding: chunked\r\n\r\n");
        expect(&f.client, OK_HEAD "Transfer-Encoding: chunked\r\n\r\n");
        assert_int_equal(open_calls(&f), 1);
        say(&f, &f.server, CHUNKS);
        expect(&f.client, CHUNKS);
        assert_int_equal(open_calls(&f), 0);
        say(&f, &f.client, GET);
        expect(&f.server, GET);
        say(&f, &f.server, OK_HEAD "Content-Length: 2\r\n\r\nhi");
        expect(&f.client, OK_HEAD "Content-Length: 2\r\n\r\nhi");
        assert_int_equal(f.dials, 1);
        assert_int_equal(h1relay_stats(f.relay).calls, 2);
        f.client.s = stream_close(f.client.s);
        loop_advance(f.l, NSEC_PER_MSEC);
        assert_true(f.server.eof);
        assert_int_equal(h1relay_stats(f.relay).clients, 0);
    }
}

static void test_requests_of_one_client_follow_each_other(void **state)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {
        { "HEAD /_ping HTTP/1.1\r\nHost: d\r\n\r\n", OK_HEAD "Content-Length: 50\r\n\r\n" },
        { "POST /x HTTP/1.1\r\nHost: d\r\nContent-Length: 3\r\n\r\nabc",
          "HTTP/1.1 204 No Content\r\n\r\n" },
        { "GET /y HTTP/1.1\r\nHost: d\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: 1\r\n\r\n" },
        { "PUT /z HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nq",
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
        { GET, OK_HEAD "Content-Length: 0\r\n\r\n" },
    };
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        strbuf_append(&all, cases[i].request);
    for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, pieces[k]);
        say(&f, &f.client, strbuf_str(&all)); /* all at once */
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            expect(&f.server, cases[i].request); /* and no byte of the next */
            say(&f, &f.server, cases[i].answer);
            expect(&f.client, cases[i].answer);
        }
        assert_int_equal(open_calls(&f), 0);
    }
}

static void test_a_client_that_left_is_noticed_by_the_server(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, GET);
    say(&f, &f.server, OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n");
    f.client.s = stream_close(f.client.s);
    loop_advance(f.l, NSEC_PER_MSEC);
    assert_true(f.server.eof);
    say(&f, &f.server, "2\r\n{}\r\n"); /* into nothing */
    loop_advance(f.l, NSEC_PER_MSEC);
    assert_int_equal(h1relay_stats(f.relay).clients, 0);
    assert_int_equal(open_calls(&f), 0);
}

/* ---- pipes ----------------------------------------------------------------------------------- */

static void check_pipe(struct fixture *f, bool client_ends_first)
{
    struct peer *first = client_ends_first ? &f->client : &f->server;
    struct peer *second = client_ends_first ? &f->server : &f->client;

    say(f, &f->client, "GET / not a request\r\n\r\n");
    expect(&f->server, "GET / not a request\r\n\r\n");
    say(f, &f->server, "HTTP/1.1 nonsense\r\n\r\n");
    expect(&f->client, "HTTP/1.1 nonsense\r\n\r\n");
    stream_shutdown(first->s);
    loop_advance(f->l, NSEC_PER_MSEC);
    assert_true(second->eof && !second->closed);
    assert_true(!first->eof && !first->closed);
    say(f, second, "the rest"); /* its direction is still open */
    expect(first, "the rest");
    assert_int_equal(open_calls(f), 1);
    stream_shutdown(second->s);
    loop_advance(f->l, NSEC_PER_MSEC);
    assert_true(first->eof);
    assert_int_equal(h1relay_stats(f->relay).clients, 0);
    assert_int_equal(open_calls(f), 0);
}

static void test_an_upgraded_connection_is_a_pipe(void **state)
{
    static const char ask[] = "POST /exec/1/start HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\n"
                              "Upgrade: tcp\r\nContent-Length: 2\r\n\r\n{}";
    static const char yes[] = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                              "\r\n\x01raw";

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(pieces); i++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, pieces[i / 2]);
        say(&f, &f.client, ask);
        expect(&f.server, ask);
        say(&f, &f.server, yes);
        expect(&f.client, yes);
        check_pipe(&f, i % 2);
    }
}

/* What clients of Docker did before they asked for an upgrade. */
static void test_an_answer_without_an_end_is_a_pipe(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(pieces); i++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, pieces[i / 2]);
        say(&f, &f.client, "POST /containers/1/attach HTTP/1.1\r\nHost: d\r\n\r\nearly");
        expect(&f.server, "POST /containers/1/attach HTTP/1.1\r\nHost: d\r\n\r\n");
        say(&f, &f.server, OK_HEAD "\r\n");
        expect(&f.client, OK_HEAD "\r\n");
        expect(&f.server, "early");
        check_pipe(&f, i % 2);
    }
}

static void test_a_refused_upgrade_is_a_usual_answer(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client,
        "POST /exec/1/start HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\n"
        "Upgrade: tcp\r\n\r\n");
    say(&f, &f.server, "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}");
    assert_int_equal(open_calls(&f), 0);
    strbuf_reset(&f.server.got);
    say(&f, &f.client, CREATE "Content-Length: 0\r\n\r\n");
    assert_int_equal(f.requests, 1); /* it is held: nothing got past */
    expect(&f.server, "");
}

/* ---- held ------------------------------------------------------------------------------------ */

static void test_a_held_request_is_shown_whole_and_changed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, pieces[i]);
        say(&f, &f.client, CREATE "X-Keep: 1\r\nContent-Length: 7\r\n\r\n{\"a\"");
        assert_int_equal(f.requests, 0);
        say(&f, &f.client, ":1}");
        assert_int_equal(f.requests, 1);
        assert_string_equal(f.method, "POST");
        assert_string_equal(strbuf_str(&f.target), "/containers/create?name=a");
        assert_string_equal(strbuf_str(&f.body), "{\"a\":1}");
        assert_int_equal(f.dials, 0);
        h1relay_forward(f.call, STR("{\"a\":1000}"));
        loop_advance(f.l, NSEC_PER_MSEC);
        expect(&f.server, CREATE "X-Keep: 1\r\nContent-Length: 10\r\n\r\n{\"a\":1000}");
        say(&f, &f.server, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS);
        expect(&f.client, "");
        assert_int_equal(f.status, 201);
        assert_string_equal(strbuf_str(&f.body), "hello world");
        h1relay_release(f.call);
        loop_advance(f.l, NSEC_PER_MSEC);
        expect(&f.client, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS);
        assert_int_equal(open_calls(&f), 0);
        assert_int_equal(f.gone, 0);
    }
}

static void test_a_held_request_goes_on_as_it_came(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, CREATE "content-LENGTH:  2\r\n\r\n{}");
    h1relay_forward(f.call, (struct str){ NULL, 0 });
    loop_advance(f.l, NSEC_PER_MSEC);
    expect(&f.server, CREATE "content-LENGTH:  2\r\n\r\n{}");
    say(&f, &f.server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    h1relay_release(f.call);
    /* Chunks, and a client that waits for leave to send them. */
    say(&f, &f.client, CREATE "Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect(&f.client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
    say(&f, &f.client, CHUNKS);
    h1relay_forward(f.call, (struct str){ NULL, 0 });
    loop_advance(f.l, NSEC_PER_MSEC);
    expect(&f.server, CREATE "Content-Length: 11\r\n\r\nhello world");
}

static void test_a_refused_request_does_not_reach_the_server(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, CREATE "Content-Length: 2\r\n\r\n{}" GET);
    assert_int_equal(f.dials, 0);
    h1relay_refuse(f.call, 500, "application/json", STR("{\"message\":\"no\"}"));
    loop_advance(f.l, NSEC_PER_MSEC);
    expect(&f.client, "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
                      "Content-Length: 16\r\n\r\n{\"message\":\"no\"}");
    expect(&f.server, GET); /* the connection is good for the next */
}

static void test_who_leaves_while_a_request_is_held(void **state)
{
    (void)state;
    for (int forwarded = 0; forwarded < 2; forwarded++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, 0);
        say(&f, &f.client, CREATE "Content-Length: 2\r\n\r\n{}");
        if (forwarded)
            h1relay_forward(f.call, (struct str){ NULL, 0 });
        stream_mem_break(f.client.s, -ECONNRESET, "reset");
        loop_advance(f.l, NSEC_PER_MSEC);
        assert_int_equal(f.gone, !forwarded);
        if (!forwarded)
            continue;
        say(&f, &f.server, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}");
        assert_int_equal(f.answers, 1); /* what it made is known all the same */
        assert_int_equal(f.status, 201);
        h1relay_release(f.call);
        assert_int_equal(h1relay_stats(f.relay).clients, 0);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void test_without_a_server_there_is_an_answer(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    f.is_away = true;
    say(&f, &f.client, GET);
    assert_non_null(strstr(strbuf_str(&f.client.got), "HTTP/1.1 502 Bad Gateway\r\n"));
    assert_non_null(strstr(strbuf_str(&f.client.got), "the server cannot be reached: no such "));
    assert_true(f.client.eof);
    assert_true(h1relay_stats(f.relay).refused);
    connect_client(&f);
    say(&f, &f.client, CREATE "Content-Length: 0\r\n\r\n");
    h1relay_forward(f.call, (struct str){ NULL, 0 });
    loop_advance(f.l, NSEC_PER_MSEC);
    assert_int_equal(f.answers, 1);
    assert_int_equal(f.status, 0);
    h1relay_release(f.call);
    loop_advance(f.l, NSEC_PER_MSEC);
    assert_non_null(strstr(strbuf_str(&f.client.got), "HTTP/1.1 502 Bad Gateway\r\n"));
}

static void test_a_server_that_hangs_up(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, 0);
        say(&f, &f.client, held ? CREATE "Content-Length: 0\r\n\r\n" : GET);
        if (held)
            h1relay_forward(f.call, (struct str){ NULL, 0 });
        loop_advance(f.l, NSEC_PER_MSEC);
        say(&f, &f.server, OK_HEAD "Content-Length: 5\r\n\r\nhel");
        f.server.s = stream_close(f.server.s);
        loop_advance(f.l, NSEC_PER_MSEC);
        if (held) {
            assert_int_equal(f.status, 0);
            h1relay_release(f.call);
            loop_advance(f.l, NSEC_PER_MSEC);
            assert_true(str_starts(strbuf_str(&f.client.got), "HTTP/1.1 502 "));
        } else {
            expect(&f.client, OK_HEAD "Content-Length: 5\r\n\r\nhel");
        }
        assert_true(f.client.eof);
        assert_int_equal(open_calls(&f), 0);
    }
}

static void test_a_connection_lost_before_a_request_is_forwarded(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, GET);
    say(&f, &f.server, OK_HEAD "Content-Length: 0\r\n\r\n");
    say(&f, &f.client, CREATE "Content-Length: 2\r\n\r\n{}");
    f.server.s = stream_close(f.server.s);
    loop_advance(f.l, NSEC_PER_MSEC);
    h1relay_forward(f.call, (struct str){ NULL, 0 });
    loop_advance(f.l, NSEC_PER_MSEC);
    assert_int_equal(f.dials, 2);
    expect(&f.server, CREATE "Content-Length: 2\r\n\r\n{}");
}

static void test_bad_requests_end_their_connection(void **state)
{
    CLEANUP(mem_free) char *large = xmalloc(400 * 1024);
    static const char both[] =
        CREATE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    struct {
        const char *request, *answer;
    } cases[] = {
        { "nonsense\r\n\r\n", "HTTP/1.1 400 " },
        { both, "HTTP/1.1 400 " }, /* two lengths: what a server takes for the next request */
        { CREATE "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 400 " },
        { large, "HTTP/1.1 431 " },
    };

    (void)state;
    memset(large, 'a', 400 * 1024);
    large[400 * 1024 - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, 0);
        say(&f, &f.client, cases[i].request);
        assert_true(str_starts(strbuf_str(&f.client.got), cases[i].answer));
        assert_true(f.client.eof);
        assert_int_equal(f.dials + f.requests, 0);
        assert_int_equal(open_calls(&f), 0);
    }
}

static void test_a_held_body_has_a_limit(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(mem_free) char *block = xmalloc(1 << 20);

    (void)state;
    memset(block, ' ', 1 << 20);
    fixture_init(&f, 0);
    say(&f, &f.client, CREATE "Content-Length: 100000000\r\n\r\n");
    for (int i = 0; i <= H1RELAY_HELD_MAX >> 20 && !f.client.closed; i++) {
        stream_write(f.client.s, block, 1 << 20);
        loop_advance(f.l, NSEC_PER_MSEC);
    }
    assert_true(str_starts(strbuf_str(&f.client.got), "HTTP/1.1 413 "));
    assert_int_equal(f.requests, 0);
}

/* ---- who does not read ----------------------------------------------------------------------- */

static void test_who_does_not_read_holds_back_who_writes(void **state)
{
    static char block[STREAM_HIGH_WATER];

    (void)state;
    for (int upwards = 0; upwards < 2; upwards++) {
        CLEANUP(fixture_fini) struct fixture f;
        fixture_init(&f, 0);
        struct peer *writer = upwards ? &f.client : &f.server;
        struct peer *reader = upwards ? &f.server : &f.client;
        say(&f, &f.client, "POST /build HTTP/1.1\r\nHost: d\r\nContent-Length: 16777216\r\n\r\n");
        say(&f, &f.server, OK_HEAD "Content-Length: 16777216\r\n\r\n");
        strbuf_reset(&reader->got);
        stream_pause(reader->s, true);
        for (int i = 0; i < 40; i++) {
            stream_write(writer->s, block, sizeof block);
            loop_advance(f.l, NSEC_PER_MSEC);
        }
        /* What the relay has taken is bounded; the rest waits with the writer. */
        assert_true(stream_queued(writer->s) > 36 * sizeof block);
        stream_pause(reader->s, false);
        loop_advance(f.l, NSEC_PER_SEC);
        assert_int_equal(reader->got.len, 40 * sizeof block);
        assert_int_equal(stream_queued(writer->s), 0);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_drained(void *arg)
{
    ((struct fixture *)arg)->drained++;
}

static void test_draining_lets_requests_end(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct stream *ends[2];

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, GET);
    stream_mem_pair(f.l, NULL, ends); /* one that asks for nothing */
    h1relay_serve(f.relay, ends[1]);
    assert_int_equal(h1relay_stats(f.relay).clients, 2);
    h1relay_drain(f.relay, on_drained, &f);
    loop_advance(f.l, NSEC_PER_SEC);
    assert_int_equal(h1relay_stats(f.relay).clients, 1);
    assert_int_equal(f.drained, 0);
    stream_write(f.client.s, GET, strlen(GET)); /* too late: not taken */
    say(&f, &f.server, OK_HEAD "Content-Length: 2\r\n\r\nhi");
    expect(&f.client, OK_HEAD "Content-Length: 2\r\n\r\nhi");
    assert_true(f.client.eof);
    assert_int_equal(f.drained, 1);
    stream_close(ends[0]);
}

static void test_freeing_tells_of_what_is_held(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 0);
    say(&f, &f.client, CREATE "Content-Length: 0\r\n\r\n");
    f.relay = h1relay_free(f.relay);
    assert_int_equal(f.gone, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_go_through_as_they_are),
        cmocka_unit_test(test_requests_of_one_client_follow_each_other),
        cmocka_unit_test(test_a_client_that_left_is_noticed_by_the_server),
        cmocka_unit_test(test_an_upgraded_connection_is_a_pipe),
        cmocka_unit_test(test_an_answer_without_an_end_is_a_pipe),
        cmocka_unit_test(test_a_refused_upgrade_is_a_usual_answer),
        cmocka_unit_test(test_a_held_request_is_shown_whole_and_changed),
        cmocka_unit_test(test_a_held_request_goes_on_as_it_came),
        cmocka_unit_test(test_a_refused_request_does_not_reach_the_server),
        cmocka_unit_test(test_who_leaves_while_a_request_is_held),
        cmocka_unit_test(test_without_a_server_there_is_an_answer),
        cmocka_unit_test(test_a_server_that_hangs_up),
        cmocka_unit_test(test_a_connection_lost_before_a_request_is_forwarded),
        cmocka_unit_test(test_bad_requests_end_their_connection),
        cmocka_unit_test(test_a_held_body_has_a_limit),
        cmocka_unit_test(test_who_does_not_read_holds_back_who_writes),
        cmocka_unit_test(test_draining_lets_requests_end),
        cmocka_unit_test(test_freeing_tells_of_what_is_held),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
