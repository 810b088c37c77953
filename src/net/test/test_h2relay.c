/* test_h2relay.c - calls of any shape through the relay, over memory on the virtual loop.
 *
 * The client and one of the servers are plain nghttp2 sessions that the tests drive frame by frame;
 * the other server is ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/h2relay.h"
#include "net/stream.h"

#define MS NSEC_PER_MSEC

/* ---- a peer: one side of HTTP/2, by hand ------------------------------------------------------ */

enum { STREAMS = 8 };
struct peer_stream {
    int32_t id;
    struct strbuf headers, trailers, data; /* "name: value\n" */
    unsigned heads;
    bool end, closed;
    uint32_t code;
    struct strbuf out;
    bool out_end, out_trailers;
};
struct peer {
    struct loop *l;
    struct stream *s;
    nghttp2_session *ng;
    bool is_server, no_window; /* no_window: what came is not drained */
    struct peer_stream of[STREAMS];
    unsigned n, pings, pongs, goaways;
    uint8_t pong[8]; /* the last one */
    bool gone;
};

static struct peer_stream *stream_at(struct peer *p, int32_t id)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->of[i].id == id)
            return &p->of[i];
    assert_true(p->n < STREAMS);
    p->of[p->n].id = id;
    return &p->of[p->n++];
}

static void peer_flush(struct peer *p)
{
    const uint8_t *b;
    ssize_t n;

    while (p->s && (n = nghttp2_session_mem_send(p->ng, &b)) > 0)
        stream_write(p->s, b, (size_t)n);
}

static int peer_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t nn,
                       const uint8_t *value, size_t nv, uint8_t flags, void *arg)
{
    struct peer_stream *s = stream_at(arg, f->hd.stream_id);
    struct strbuf *to = s->heads ? &s->trailers : &s->headers;

    (void)ng, (void)flags;
    strbuf_appendf(to, "%.*s: %.*s\n", (int)nn, (const char *)name, (int)nv, (const char *)value);
    return 0;
}

static int peer_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct peer *p = arg;

    (void)ng;
    p->pings += f->hd.type == NGHTTP2_PING && !(f->hd.flags & NGHTTP2_FLAG_ACK);
    p->goaways += f->hd.type == NGHTTP2_GOAWAY;
    if (f->hd.type == NGHTTP2_PING && (f->hd.flags & NGHTTP2_FLAG_ACK)) {
        p->pongs++;
        memcpy(p->pong, f->ping.opaque_data, sizeof p->pong);
    }
    if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)
        return 0;
    struct peer_stream *s = stream_at(p, f->hd.stream_id);
    s->heads += f->hd.type == NGHTTP2_HEADERS;
    s->end |= (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    return 0;
}

static int peer_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *b, size_t n,
                     void *arg)
{
    struct peer *p = arg;

    (void)flags;
    strbuf_appendn(&stream_at(p, id)->data, b, n);
    nghttp2_session_consume_connection(ng, n);
    if (!p->no_window)
        nghttp2_session_consume_stream(ng, id, n);
    return 0;
}

static int peer_closed_stream(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct peer_stream *s = stream_at(arg, id);

    (void)ng;
    s->closed = true;
    s->code = code;
    return 0;
}

static void peer_on_data(void *arg, const char *b, size_t n)
{
    struct peer *p = arg;

    assert_true(nghttp2_session_mem_recv(p->ng, (const uint8_t *)b, n) == (ssize_t)n);
    peer_flush(p);
}

static void peer_on_close(void *arg, const struct kerr *err)
{
    struct peer *p = arg;

    (void)err;
    p->gone = true;
    p->s = stream_close(p->s);
}

static void peer_init(struct peer *p, struct loop *l, struct stream *s, bool is_server)
{
    static const struct stream_events events = { peer_on_data, NULL, peer_on_close };
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;

    *p = (struct peer){ .l = l, .s = s, .is_server = is_server };
    nghttp2_session_callbacks_new(&cb);
    nghttp2_option_new(&opt);
    nghttp2_option_set_no_auto_window_update(opt, 1);
    nghttp2_session_callbacks_set_on_header_callback(cb, peer_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, peer_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, peer_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, peer_closed_stream);
    if (is_server)
        nghttp2_session_server_new2(&p->ng, cb, p, opt);
    else
        nghttp2_session_client_new2(&p->ng, cb, p, opt);
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(opt);
    nghttp2_submit_settings(p->ng, NGHTTP2_FLAG_NONE, NULL, 0);
    stream_listen(s, &events, p);
    peer_flush(p);
}

static void peer_fini(struct peer *p)
{
    stream_close(p->s);
    nghttp2_session_del(p->ng);
    for (unsigned i = 0; i < p->n; i++) {
        strbuf_fini(&p->of[i].headers);
        strbuf_fini(&p->of[i].trailers);
        strbuf_fini(&p->of[i].data);
        strbuf_fini(&p->of[i].out);
    }
}

static ssize_t peer_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                         nghttp2_data_source *src, void *arg)
{
    struct peer_stream *s = stream_at(arg, id);
    size_t n = MIN(s->out.len, max);

    (void)src;
    if (n == 0 && !s->out_end)
        return NGHTTP2_ERR_DEFERRED;
    if (n > 0)
        memcpy(buf, s->out.data, n);
    strbuf_consume(&s->out, n);
    if (s->out.len > 0 || !s->out_end)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->out_trailers) {
        static uint8_t name[] = "grpc-status", value[] = "9", more[] = "x-bin", bin[] = "AAEC";
        const nghttp2_nv nv[] = { { name, value, 11, 1, 0 }, { more, bin, 5, 4, 0 } };
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(ng, id, nv, 2);
    }
    return (ssize_t)n;
}
static const nghttp2_data_provider peer_body = { .read_callback = peer_read };

static nghttp2_nv nv_of(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                         strlen(value), 0 };
}

/* A call without END_STREAM. */
static int32_t peer_open(struct peer *p, const char *path, const char *timeout)
{
    const nghttp2_nv nv[] = { nv_of(":method", "POST"),
                              nv_of(":scheme", "http"),
                              nv_of(":path", path),
                              nv_of(":authority", "localhost"),
                              nv_of("content-type", "application/grpc"),
                              nv_of("te", "trailers"),
                              nv_of("x-mine", "1"),
                              nv_of("grpc-timeout", str_or(timeout, "")) };
    int32_t id = nghttp2_submit_request(p->ng, NULL, nv, timeout ? 8 : 7, &peer_body, NULL);

    stream_at(p, id);
    peer_flush(p);
    return id;
}

static void peer_answer(struct peer *p, int32_t id)
{
    const nghttp2_nv nv[] = { nv_of(":status", "200"), nv_of("content-type", "application/grpc"),
                              nv_of("x-theirs", "2") };

    nghttp2_submit_response(p->ng, id, nv, 3, &peer_body);
    peer_flush(p);
}

static void peer_send(struct peer *p, int32_t id, const char *text, bool end)
{
    struct peer_stream *s = stream_at(p, id);

    strbuf_append(&s->out, text);
    s->out_end = end;
    nghttp2_session_resume_data(p->ng, id);
    peer_flush(p);
}

/* ---- the fixture ----------------------------------------------------------------------------- */

struct fixture {
    struct loop *l;
    struct h2relay *relay;
    struct peer client, server;
    bool has_server, refuse;
    unsigned dials;
    struct mem_opts mem;
    /* held calls */
    struct h2relay_call *held;
    char path[64], message[64];
    bool readable, gone, answer_at_once, forward_at_once;
    enum grpc_code code;
    unsigned answers;
};

struct dialing {
    struct fixture *f;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    d.f->dials++;
    if (d.f->refuse) {
        kerr_set(&err, -ENOENT, "no such socket");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &d.f->mem, ends);
    if (d.f->has_server)
        peer_fini(&d.f->server);
    d.f->has_server = true;
    peer_init(&d.f->server, l, ends[1], true);
    d.fn(d.arg, ends[0], NULL);
}

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ arg, fn, fn_arg };
    loop_after(l, 0, dial_due, d);
}

static bool wants(void *arg, struct str path)
{
    (void)arg;
    return str_eqz(path, "/t.T/Held");
}

static void on_request(void *arg, struct h2relay_call *c, struct str path, struct str message)
{
    struct fixture *f = arg;

    f->held = c;
    h2relay_call_set(c, f);
    f->readable = message.p != NULL;
    snprintf(f->path, sizeof f->path, "%.*s", (int)path.n, path.p);
    snprintf(f->message, sizeof f->message, "%.*s", (int)message.n, message.n ? message.p : "");
    if (f->forward_at_once)
        h2relay_forward(c, STR("changed"));
}

static void on_answer(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message)
{
    struct fixture *f = arg;

    assert_ptr_equal(h2relay_call_get(c), f);
    f->answers++;
    f->code = code;
    snprintf(f->message, sizeof f->message, "%.*s", (int)message.n, message.n ? message.p : "");
    if (f->answer_at_once)
        h2relay_release(c);
}

static void on_gone(void *arg, struct h2relay_call *c)
{
    struct fixture *f = arg;

    if (c != f->held)
        return; /* an earlier one, at the end */
    f->gone = true;
    f->held = NULL;
}

static void connect_client(struct fixture *f)
{
    struct stream *ends[2];

    stream_mem_pair(f->l, &f->mem, ends);
    h2relay_serve(f->relay, ends[1]);
    peer_init(&f->client, f->l, ends[0], false);
}

static void fixture_make(struct fixture *f, size_t chunk)
{
    *f = (struct fixture){ .l = loop_new_virtual(0, 1), .mem.chunk = chunk };
    f->relay = h2relay_new(&(struct h2relay_opts){ .loop = f->l,
                                                   .dial = dial,
                                                   .dial_arg = f,
                                                   .wants = wants,
                                                   .on_request = on_request,
                                                   .on_answer = on_answer,
                                                   .on_gone = on_gone,
                                                   .arg = f });
    connect_client(f);
}

static void fixture_end(struct fixture *f)
{
    peer_fini(&f->client);
    if (f->has_server)
        peer_fini(&f->server);
    h2relay_free(f->relay);
    loop_advance(f->l, NSEC_PER_SEC);
    loop_free(f->l);
}

static void step(struct fixture *f)
{
    loop_advance(f->l, 50 * MS);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Both sides talk in turns, the client ends first, then the server with trailers of its own. */
static void test_messages_go_both_ways_as_they_come(void **state)
{
    static const size_t chunks[] = { 0, 1, 7 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct fixture f;
        fixture_make(&f, chunks[i]);
        int32_t id = peer_open(&f.client, "/foo.Bar/Baz", "5S");
        step(&f);
        struct peer_stream *s = &f.server.of[0], *c = stream_at(&f.client, id);
        assert_contains(strbuf_str(&s->headers), ":path: /foo.Bar/Baz\n");
        assert_contains(strbuf_str(&s->headers), ":authority: localhost\n");
        assert_contains(strbuf_str(&s->headers), "te: trailers\n");
        assert_contains(strbuf_str(&s->headers), "x-mine: 1\n");
        assert_int_equal(s->data.len, 0);
        peer_send(&f.client, id, "one", false);
        step(&f);
        assert_string_equal(strbuf_str(&s->data), "one");
        peer_answer(&f.server, s->id); /* headers at once */
        step(&f);
        assert_contains(strbuf_str(&c->headers), "x-theirs: 2\n");
        peer_send(&f.server, s->id, "eins", false);
        step(&f);
        assert_string_equal(strbuf_str(&c->data), "eins");
        peer_send(&f.client, id, "two", true);
        step(&f);
        assert_string_equal(strbuf_str(&s->data), "onetwo");
        assert_true(s->end);
        assert_false(c->end);
        stream_at(&f.server, s->id)->out_trailers = true;
        peer_send(&f.server, s->id, "zwei", true);
        step(&f);
        assert_string_equal(strbuf_str(&c->data), "einszwei");
        assert_string_equal(strbuf_str(&c->trailers), "grpc-status: 9\nx-bin: AAEC\n");
        assert_true(c->closed);
        assert_int_equal(c->code, 0);
        assert_int_equal(h2relay_stats(f.relay).open, 0);
        assert_int_equal(f.dials, 1);
        fixture_end(&f);
    }
}

static void test_trailers_only_answer(void **state)
{
    struct fixture f;
    char long_text[4000];
    CLEANUP(strbuf_fini) struct strbuf want = STRBUF_INIT;

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    peer_send(&f.client, id, "x", true);
    step(&f);
    memset(long_text, 'e', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const nghttp2_nv nv[] = { nv_of(":status", "200"), nv_of("grpc-status", "12"),
                              nv_of("grpc-message", long_text) };
    nghttp2_submit_response(f.server.ng, f.server.of[0].id, nv, 3, NULL);
    peer_flush(&f.server);
    step(&f);
    struct peer_stream *c = stream_at(&f.client, id);
    assert_true(c->end);
    strbuf_appendf(&want, "grpc-message: %s\n", long_text); /* nothing is cut */
    assert_contains(strbuf_str(&c->headers), strbuf_str(&want));
    assert_contains(strbuf_str(&c->headers), "grpc-status: 12\n");
    fixture_end(&f);
}

/* ---- resets and deadlines -------------------------------------------------------------------- */

static void test_reset_codes_are_kept(void **state)
{
    static const uint32_t codes[] = { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM,
                                      NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture f;
        fixture_make(&f, 0);
        int32_t a = peer_open(&f.client, "/a/B", NULL), b = peer_open(&f.client, "/a/C", NULL);
        step(&f);
        nghttp2_submit_rst_stream(f.server.ng, 0, f.server.of[0].id, codes[i]);
        peer_flush(&f.server);
        nghttp2_submit_rst_stream(f.client.ng, 0, b, codes[i]);
        peer_flush(&f.client);
        step(&f);
        assert_true(stream_at(&f.client, a)->closed);
        assert_int_equal(stream_at(&f.client, a)->code, codes[i]);
        assert_true(f.server.of[1].closed);
        assert_int_equal(f.server.of[1].code, codes[i]);
        assert_int_equal(h2relay_stats(f.relay).open, 0);
        fixture_end(&f);
    }
}

static void test_client_that_dies_cancels_its_calls(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    peer_open(&f.client, "/runtime.v1.RuntimeService/ExecSync", NULL);
    step(&f);
    f.client.s = stream_close(f.client.s);
    step(&f);
    assert_true(f.server.of[0].closed);
    assert_int_equal(f.server.of[0].code, NGHTTP2_CANCEL);
    assert_int_equal(h2relay_stats(f.relay).clients, 0);
    assert_int_equal(h2relay_stats(f.relay).open, 0);
    fixture_end(&f);
}

static void test_deadline(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    f.mem.latency = 0;
    int32_t id = peer_open(&f.client, "/a/B", "500m");
    step(&f);
    /* What is left, rounded up: nothing has passed on this loop but turns. */
    assert_contains(strbuf_str(&f.server.of[0].headers), "grpc-timeout: ");
    loop_advance(f.l, 600 * MS);
    struct peer_stream *c = stream_at(&f.client, id);
    assert_contains(strbuf_str(&c->headers), "grpc-status: 4\n");
    assert_true(c->closed);
    assert_int_equal(f.server.of[0].code, NGHTTP2_CANCEL);
    assert_int_equal(h2relay_stats(f.relay).open, 0);
    fixture_end(&f);
}

/* An answer that ends while the client still sends: it is told to stop. */
static void test_early_answer(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    peer_send(&f.client, id, "more to come", false);
    step(&f);
    const nghttp2_nv nv[] = { nv_of(":status", "200"), nv_of("grpc-status", "8") };
    nghttp2_submit_response(f.server.ng, f.server.of[0].id, nv, 2, NULL);
    peer_flush(&f.server);
    step(&f);
    struct peer_stream *c = stream_at(&f.client, id);
    assert_contains(strbuf_str(&c->headers), "grpc-status: 8\n");
    assert_true(c->closed);
    assert_int_equal(c->code, NGHTTP2_NO_ERROR);
    assert_int_equal(h2relay_stats(f.relay).open, 0);
    fixture_end(&f);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void test_sender_waits_for_the_receiver(void **state)
{
    struct fixture f;
    CLEANUP(mem_free) char *block = xcalloc(1, 4 << 20);

    (void)state;
    fixture_make(&f, 0);
    int32_t slow = peer_open(&f.client, "/a/Slow", NULL);
    step(&f);
    f.server.no_window = true;
    strbuf_appendn(&stream_at(&f.client, slow)->out, block, 4 << 20);
    peer_send(&f.client, slow, "", true);
    loop_advance(f.l, NSEC_PER_SEC);
    /* The server took one window of its own, the relay holds one of ours, the rest is the client's.
     */
    assert_int_equal(f.server.of[0].data.len, 65535);
    assert_true(stream_at(&f.client, slow)->out.len >= (4 << 20) - 65535 - 256 * 1024 - 65535);
    /* Others are not held back by it. */
    int32_t quick = peer_open(&f.client, "/a/Quick", NULL);
    peer_send(&f.client, quick, "hello", true);
    step(&f);
    assert_string_equal(strbuf_str(&f.server.of[1].data), "hello");
    /* It drains. */
    f.server.no_window = false;
    nghttp2_session_consume_stream(f.server.ng, f.server.of[0].id, 65535);
    peer_flush(&f.server);
    loop_advance(f.l, NSEC_PER_SEC);
    assert_int_equal(f.server.of[0].data.len, 4 << 20);
    assert_true(f.server.of[0].end);
    fixture_end(&f);
}

/* ---- the server goes away -------------------------------------------------------------------- */

static void test_no_server(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    f.refuse = true;
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    peer_send(&f.client, id, "x", true);
    step(&f);
    assert_contains(strbuf_str(&stream_at(&f.client, id)->headers), "grpc-status: 14\n");
    assert_contains(strbuf_str(&stream_at(&f.client, id)->headers), "no such socket");
    f.refuse = false;
    id = peer_open(&f.client, "/a/B", NULL);
    step(&f);
    assert_int_equal(f.server.n, 1);
    /* Lost with calls in flight, before and in the middle of an answer. */
    int32_t half = peer_open(&f.client, "/a/C", NULL);
    peer_send(&f.client, half, "x", true);
    step(&f);
    peer_answer(&f.server, f.server.of[1].id);
    peer_send(&f.server, f.server.of[1].id, "part", false);
    step(&f);
    f.server.s = stream_close(f.server.s);
    step(&f);
    assert_contains(strbuf_str(&stream_at(&f.client, id)->headers), "grpc-status: 14\n");
    assert_string_equal(strbuf_str(&stream_at(&f.client, half)->data), "part");
    assert_contains(strbuf_str(&stream_at(&f.client, half)->trailers), "grpc-status: 14\n");
    assert_false(h2relay_stats(f.relay).connected);
    id = peer_open(&f.client, "/a/D", NULL);
    step(&f);
    assert_int_equal(f.dials, 3);
    assert_true(h2relay_stats(f.relay).connected);
    fixture_end(&f);
}

/* GOAWAY: calls in flight end on the old connection, new ones go over a new one. */
static void test_goaway_of_the_server(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    int32_t old = peer_open(&f.client, "/a/Old", NULL);
    peer_send(&f.client, old, "x", true);
    step(&f);
    struct peer first = f.server;
    f.has_server = false; /* ours to finish */
    stream_listen(first.s, NULL, NULL);
    static const struct stream_events events = { peer_on_data, NULL, peer_on_close };
    stream_listen(first.s, &events, &first);
    nghttp2_session_set_user_data(first.ng, &first);
    nghttp2_submit_goaway(first.ng, 0, first.of[0].id, 0, NULL, 0);
    peer_flush(&first);
    step(&f);
    int32_t fresh = peer_open(&f.client, "/a/New", NULL);
    step(&f);
    assert_int_equal(f.dials, 2);
    assert_contains(strbuf_str(&f.server.of[0].headers), "/a/New");
    peer_answer(&first, first.of[0].id);
    peer_send(&first, first.of[0].id, "late", true);
    step(&f);
    assert_string_equal(strbuf_str(&stream_at(&f.client, old)->data), "late");
    assert_true(stream_at(&f.client, old)->end);
    step(&f);
    assert_true(first.gone); /* closed once its last call was over */
    assert_false(stream_at(&f.client, fresh)->closed);
    peer_fini(&first);
    fixture_end(&f);
}

static void peer_ping(struct peer *p, const char *eight)
{
    nghttp2_submit_ping(p->ng, NGHTTP2_FLAG_NONE, (const uint8_t *)eight);
    peer_flush(p);
}

/* With what else goes to the peer, and after a millisecond alone. */
static void test_answers_to_pings_leave_with_other_frames(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    step(&f);
    peer_ping(&f.client, "12345678");
    loop_advance(f.l, MS / 2);
    assert_int_equal(f.client.pongs, 0);
    loop_advance(f.l, MS);
    assert_int_equal(f.client.pongs, 1);
    assert_memory_equal(f.client.pong, "12345678", 8);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    step(&f);
    peer_ping(&f.client, "abcdefgh");
    loop_advance(f.l, MS / 4);
    assert_int_equal(f.client.pongs, 1);
    peer_answer(&f.server, f.server.of[0].id);
    loop_advance(f.l, MS / 4);
    assert_int_equal(f.client.pongs, 2); /* with the headers of the answer */
    assert_non_null(strstr(strbuf_str(&stream_at(&f.client, id)->headers), ":status: 200"));
    peer_ping(&f.client, "first 1.");
    peer_ping(&f.client, "second 2");
    loop_advance(f.l, 2 * MS);
    assert_int_equal(f.client.pongs, 4);
    assert_memory_equal(f.client.pong, "second 2", 8);
    peer_ping(&f.client, "and gone"); /* its connection ends first */
    loop_advance(f.l, 0);
    fixture_end(&f);
}

static void test_never_pings(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    loop_advance(f.l, 3600 * NSEC_PER_SEC);
    assert_int_equal(f.server.pings, 0);
    assert_false(stream_at(&f.client, id)->closed); /* nor is a quiet stream ended */
    peer_send(&f.client, id, "still here", true);
    step(&f);
    assert_string_equal(strbuf_str(&f.server.of[0].data), "still here");
    fixture_end(&f);
}

/* ---- held calls ------------------------------------------------------------------------------ */

static void send_message(struct peer *p, int32_t id, const char *text, bool end)
{
    struct peer_stream *s = stream_at(p, id);
    char head[5];

    grpc_frame_head(strlen(text), head);
    strbuf_appendn(&s->out, head, 5);
    peer_send(p, id, text, end);
}

static void assert_message(const struct strbuf *is, const char *text)
{
    assert_int_equal(is->len, 5 + strlen(text));
    assert_memory_equal(is->data + 5, text, strlen(text));
}

static void test_held_call_is_changed(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 3);
    int32_t id = peer_open(&f.client, "/t.T/Held", "5S");
    send_message(&f.client, id, "request", true);
    step(&f);
    assert_string_equal(f.path, "/t.T/Held");
    assert_string_equal(f.message, "request");
    assert_int_equal(f.dials, 0);
    assert_in_range(h2relay_call_left(f.held), 4 * NSEC_PER_SEC, 5 * NSEC_PER_SEC);
    h2relay_forward(f.held, STR("changed"));
    step(&f);
    assert_message(&f.server.of[0].data, "changed");
    assert_true(f.server.of[0].end);
    peer_answer(&f.server, f.server.of[0].id);
    f.server.of[0].out_trailers = true;
    send_message(&f.server, f.server.of[0].id, "id-1", true);
    step(&f);
    assert_int_equal(f.answers, 1);
    assert_int_equal(f.code, 9);
    assert_string_equal(f.message, "id-1");
    struct peer_stream *c = stream_at(&f.client, id);
    assert_int_equal(c->heads, 0); /* nobody has heard of it yet */
    h2relay_release(f.held);
    step(&f);
    assert_message(&c->data, "id-1");
    assert_string_equal(strbuf_str(&c->trailers), "grpc-status: 9\nx-bin: AAEC\n");
    assert_contains(strbuf_str(&c->headers), "x-theirs: 2\n");
    assert_true(c->closed);
    assert_false(f.gone);
    assert_int_equal(h2relay_stats(f.relay).open, 0);
    fixture_end(&f);
}

static void test_held_call_as_it_came_or_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/t.T/Held", NULL);
    peer_send(&f.client, id, "no frame", true);
    step(&f);
    assert_false(f.readable);
    h2relay_forward(f.held, (struct str){ NULL, 0 });
    step(&f);
    assert_string_equal(strbuf_str(&f.server.of[0].data), "no frame");
    id = peer_open(&f.client, "/t.T/Held", NULL);
    send_message(&f.client, id, "m", true);
    step(&f);
    h2relay_refuse(f.held, GRPC_UNKNOWN, "hook server err: x");
    step(&f);
    struct peer_stream *c = stream_at(&f.client, id);
    assert_contains(strbuf_str(&c->headers), "grpc-status: 2\ngrpc-message: hook server err: x\n");
    assert_int_equal(f.server.n, 1);
    fixture_end(&f);
}

/* The caller goes at each moment; the holder hears of it once. */
static void test_held_call_whose_caller_goes(void **state)
{
    (void)state;
    for (int moment = 0; moment < 4; moment++) {
        struct fixture f;
        fixture_make(&f, 0);
        int32_t id = peer_open(&f.client, "/t.T/Held", NULL);
        send_message(&f.client, id, "m", moment > 0);
        step(&f);
        if (moment >= 2)
            h2relay_forward(f.held, STR("m"));
        step(&f);
        if (moment == 3) {
            peer_answer(&f.server, f.server.of[0].id);
            send_message(&f.server, f.server.of[0].id, "id", true);
            step(&f);
            assert_int_equal(f.answers, 1);
        }
        nghttp2_submit_rst_stream(f.client.ng, 0, id, NGHTTP2_CANCEL);
        peer_flush(&f.client);
        step(&f);
        assert_int_equal(f.gone, moment > 0);
        if (moment == 2)
            assert_int_equal(f.server.of[0].code, NGHTTP2_CANCEL);
        assert_int_equal(h2relay_stats(f.relay).open, 0);
        fixture_end(&f);
    }
}

static void test_held_call_whose_server_fails(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, 0);
    f.answer_at_once = f.forward_at_once = true;
    f.refuse = true;
    int32_t id = peer_open(&f.client, "/t.T/Held", NULL);
    send_message(&f.client, id, "m", true);
    step(&f);
    assert_int_equal(f.code, GRPC_UNAVAILABLE);
    assert_contains(strbuf_str(&stream_at(&f.client, id)->headers), "grpc-status: 14\n");
    f.refuse = false;
    id = peer_open(&f.client, "/t.T/Held", NULL);
    send_message(&f.client, id, "m", true);
    step(&f);
    nghttp2_submit_rst_stream(f.server.ng, 0, f.server.of[0].id, NGHTTP2_ENHANCE_YOUR_CALM);
    peer_flush(&f.server);
    step(&f);
    assert_int_equal(f.code, GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(f.answers, 2);
    assert_int_equal(h2relay_stats(f.relay).open, 0);
    fixture_end(&f);
}

static void test_held_request_too_large(void **state)
{
    struct fixture f;
    CLEANUP(mem_free) char *block = xcalloc(1, 1 << 20);

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/t.T/Held", NULL);
    for (int i = 0; i < 17; i++)
        strbuf_appendn(&stream_at(&f.client, id)->out, block, 1 << 20);
    peer_send(&f.client, id, "", true);
    loop_advance(f.l, 5 * NSEC_PER_SEC);
    assert_contains(strbuf_str(&stream_at(&f.client, id)->headers), "grpc-status: 8\n");
    assert_null(f.held);
    fixture_end(&f);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_drained(void *arg)
{
    ++*(unsigned *)arg;
}

static void test_drain_waits_for_calls(void **state)
{
    struct fixture f;
    unsigned done = 0;

    (void)state;
    fixture_make(&f, 0);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    peer_send(&f.client, id, "x", true);
    step(&f);
    h2relay_drain(f.relay, on_drained, &done);
    step(&f);
    assert_int_equal(f.client.goaways, 1);
    assert_int_equal(done, 0);
    peer_answer(&f.server, f.server.of[0].id);
    peer_send(&f.server, f.server.of[0].id, "y", true);
    step(&f);
    assert_string_equal(strbuf_str(&stream_at(&f.client, id)->data), "y");
    assert_int_equal(done, 1);
    assert_true(f.client.gone);
    fixture_end(&f);
}

static void test_bytes_that_are_no_http2(void **state)
{
    struct fixture f;
    struct stream *ends[2];

    (void)state;
    fixture_make(&f, 0);
    stream_mem_pair(f.l, &f.mem, ends);
    h2relay_serve(f.relay, ends[1]);
    stream_write(ends[0], "GET / HTTP/1.1\r\n\r\n", 18);
    step(&f);
    assert_int_equal(h2relay_stats(f.relay).clients, 1); /* the other one */
    stream_close(ends[0]);
    int32_t id = peer_open(&f.client, "/a/B", NULL);
    step(&f);
    assert_int_equal(f.server.n, 1);
    assert_false(stream_at(&f.client, id)->closed);
    fixture_end(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_go_both_ways_as_they_come),
        cmocka_unit_test(test_trailers_only_answer),
        cmocka_unit_test(test_reset_codes_are_kept),
        cmocka_unit_test(test_client_that_dies_cancels_its_calls),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_sender_waits_for_the_receiver),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_goaway_of_the_server),
        cmocka_unit_test(test_answers_to_pings_leave_with_other_frames),
        cmocka_unit_test(test_never_pings),
        cmocka_unit_test(test_held_call_is_changed),
        cmocka_unit_test(test_held_call_as_it_came_or_refused),
        cmocka_unit_test(test_held_call_whose_caller_goes),
        cmocka_unit_test(test_held_call_whose_server_fails),
        cmocka_unit_test(test_held_request_too_large),
        cmocka_unit_test(test_drain_waits_for_calls),
        cmocka_unit_test(test_bytes_that_are_no_http2),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
