/* The HTTP/2 client against a server made of nghttp2, over memory streams on the virtual loop. */
#include <nghttp2/nghttp2.h>

#include "base/test/asserts.h"
#include "client_fixture.h"

/* ---- the server ------------------------------------------------------------------------------ */

enum { MAX_REQS = 512 };
struct req {
    int32_t id;
    char head[512]; /* "name=value;" */
    struct strbuf body;
    bool ended, reset;
    uint32_t reset_code;
    /* the answer's body */
    const char *out;
    size_t out_n;
    bool out_trailers;
};
struct server {
    nghttp2_session *ng;
    struct peer *x;
    struct req *reqs[MAX_REQS];
    unsigned n, pings;
    bool goaway, mute;
};
static uint32_t server_max_streams; /* for the next server; 0: no limit told */

static struct req *req_of(struct server *v, int32_t id)
{
    for (unsigned i = 0; i < v->n; i++)
        if (v->reqs[i]->id == id)
            return v->reqs[i];
    return NULL;
}

static int v_begin(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct server *v = arg;

    (void)ng;
    assert_that(v->n, <, MAX_REQS);
    v->reqs[v->n] = xnew0(struct req);
    v->reqs[v->n++]->id = f->hd.stream_id;
    return 0;
}

static int v_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t nn,
                    const uint8_t *value, size_t vn, uint8_t flags, void *arg)
{
    struct req *q = req_of(arg, f->hd.stream_id);
    size_t at = strlen(q->head);

    (void)ng, (void)flags;
    snprintf(q->head + at, sizeof q->head - at, "%.*s=%.*s;", (int)nn, name, (int)vn, value);
    return 0;
}

static int v_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                  void *arg)
{
    struct req *q = req_of(arg, id);

    (void)ng, (void)flags;
    if (q)
        strbuf_appendn(&q->body, p, n);
    return 0;
}

static int v_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct server *v = arg;
    struct req *q = req_of(v, f->hd.stream_id);

    (void)ng;
    if (f->hd.type == NGHTTP2_PING && !(f->hd.flags & NGHTTP2_FLAG_ACK))
        v->pings++;
    if (f->hd.type == NGHTTP2_GOAWAY)
        v->goaway = true;
    if (q && (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS) &&
        (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
        q->ended = true;
    if (q && f->hd.type == NGHTTP2_RST_STREAM) {
        q->reset = true;
        q->reset_code = f->rst_stream.error_code;
    }
    return 0;
}

static void server_flush(struct server *v)
{
    const uint8_t *p;
    ssize_t n;

    while (v->x->s && !v->mute && (n = nghttp2_session_mem_send(v->ng, &p)) > 0)
        stream_write(v->x->s, p, (size_t)n);
}

static void v_on_data(void *arg, const char *p, size_t n)
{
    struct peer *x = arg;
    struct server *v = x->h2;

    assert_that(nghttp2_session_mem_recv(v->ng, (const uint8_t *)p, n), >=, 0);
    server_flush(v);
}

static void server_new(struct peer *x)
{
    static const struct stream_events events = { .on_data = v_on_data, .on_close = peer_close };
    struct server *v = xnew0(struct server);
    nghttp2_session_callbacks *cbs;
    const nghttp2_settings_entry limit = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                           server_max_streams };

    nghttp2_session_callbacks_new(&cbs);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, v_begin);
    nghttp2_session_callbacks_set_on_header_callback(cbs, v_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, v_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, v_frame);
    nghttp2_session_server_new(&v->ng, cbs, v);
    nghttp2_session_callbacks_del(cbs);
    v->x = x;
    x->h2 = v;
    nghttp2_submit_settings(v->ng, NGHTTP2_FLAG_NONE, &limit, server_max_streams ? 1 : 0);
    stream_listen(x->s, &events, x);
    server_flush(v);
}

static ssize_t v_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t cap, uint32_t *flags,
                      nghttp2_data_source *src, void *arg)
{
    struct req *q = src->ptr;
    size_t n = MIN(cap, q->out_n);

    (void)arg;
    memcpy(buf, q->out, n);
    q->out += n;
    q->out_n -= n;
    if (q->out_n == 0) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (q->out_trailers) {
            nghttp2_nv t = { (uint8_t *)"grpc-status", (uint8_t *)"0", 11, 1, 0 };
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            nghttp2_submit_trailer(ng, id, &t, 1);
        }
    }
    return (ssize_t)n;
}

static nghttp2_nv nv(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                         strlen(value), 0 };
}

static void respond(struct server *v, unsigned i, const char *status, const char *body, size_t n,
                    const char *name, const char *value)
{
    struct req *q = v->reqs[i];
    nghttp2_nv h[2] = { nv(":status", status) };
    nghttp2_data_provider prd = { { .ptr = q }, v_read };

    if (name)
        h[1] = nv(name, value);
    q->out = body;
    q->out_n = n;
    nghttp2_submit_response(v->ng, q->id, h, name ? 2 : 1, n ? &prd : NULL);
    server_flush(v);
}

static void respond_ok(struct server *v, unsigned i)
{
    respond(v, i, "200", v->reqs[i]->head, strlen(v->reqs[i]->head), NULL, NULL);
}

static void servers_fini(struct fixture *f)
{
    for (unsigned i = 0; i < f->n; i++) {
        struct server *v = f->peers[i].h2;
        for (unsigned k = 0; k < v->n; k++) {
            strbuf_fini(&v->reqs[k]->body);
            free(v->reqs[k]);
        }
        nghttp2_session_del(v->ng);
        free(v);
    }
}

#define H2 .h2_prior_knowledge = true
#define SETUP_H2(...)       \
    SETUP(__VA_ARGS__);     \
    server_max_streams = 0; \
    f.on_peer = server_new
#define TEARDOWN_H2()     \
    do {                  \
        http_free(h);     \
        settle();         \
        servers_fini(&f); \
        fixture_fini(&f); \
    } while (0)
#define SERVER(i) ((struct server *)f.peers[i].h2)

/* ---- exchanges ------------------------------------------------------------------------------- */

static void test_request_as_it_arrives(void **state)
{
    SETUP_H2(H2);
    const struct http_header headers[] = { { STR("content-type"), STR("application/json") },
                                           { STR("connection"), STR("keep-alive") } };
    struct http_req req = post_x;

    f.mem.chunk = 3;
    req.headers = (struct http_headers){ headers, 2 };
    http_send(h, &req, &handler, &r);
    http_send(h, &get_x, &handler, &r2);
    settle();
    assert_int_equal(f.n, 1);
    assert_int_equal(SERVER(0)->n, 2);
    assert_string_equal(SERVER(0)->reqs[0]->head,
                        ":method=POST;:scheme=http;:authority=api.test;:path=/x;"
                        "user-agent=koord/" KOORD_VERSION
                        ";accept-encoding=gzip;content-type=application/json;"
                        "content-length=5;");
    assert_string_equal(SERVER(0)->reqs[0]->body.data, "hello");
    assert_true(SERVER(0)->reqs[0]->ended);
    assert_true(SERVER(0)->reqs[1]->ended);
    respond(SERVER(0), 1, "404", "none", 4, "content-type", "text/plain");
    respond(SERVER(0), 0, "204", NULL, 0, NULL, NULL);
    settle();
    assert_ok(r2, 404, "none");
    assert_string_equal(r2.log.data, "content-type=text/plain;");
    assert_ok(r, 204, "");
    TEARDOWN_H2();
}

static void test_many_calls_in_any_order(void **state)
{
    SETUP_H2(H2);
    static struct result many[300];
    char target[32];

    for (int i = 0; i < 300; i++) {
        snprintf(target, sizeof target, "/item/%d", i);
        struct http_req req = { .method = "GET", .target = target };
        memset(&many[i], 0, sizeof many[i]);
        http_send(h, &req, &handler, &many[i]);
    }
    settle();
    assert_int_equal(f.dials, 1);
    for (int left = 300; left > 0;) { /* before SETTINGS 100 are allowed, then all */
        unsigned from = SERVER(0)->n;
        for (unsigned i = from; i-- > 0;)
            if (!SERVER(0)->reqs[i]->out) {
                respond_ok(SERVER(0), i);
                left--;
            }
        settle();
    }
    for (int i = 0; i < 300; i++) {
        assert_int_equal(many[i].ends, 1);
        snprintf(target, sizeof target, ":path=/item/%d;", i);
        assert_contains(many[i].body.data, target);
        result_fini(&many[i]);
    }
    TEARDOWN_H2();
}

static void test_limit_of_streams_queues(void **state)
{
    SETUP_H2(H2);
    struct result many[7] = { 0 };

    server_max_streams = 3;
    http_send(h, &get_x, &handler, &r);
    settle(); /* the SETTINGS are here now */
    for (int i = 0; i < 7; i++)
        http_send(h, &get_x, &handler, &many[i]);
    settle();
    assert_int_equal(SERVER(0)->n, 3);
    assert_int_equal(http_client_stats(h).waiting, 5);
    for (unsigned i = 0; i < 8; i++) {
        respond_ok(SERVER(0), i);
        settle();
    }
    assert_int_equal(r.ends, 1);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(many[i].ends, 1);
        assert_int_equal(many[i].err.code, 0);
        result_fini(&many[i]);
    }
    assert_int_equal(f.dials, 1);
    TEARDOWN_H2();
}

static void test_own_limit_of_streams(void **state)
{
    SETUP_H2(.h2_prior_knowledge = true, .max_streams = 1);

    http_send(h, &get_x, &handler, &r);
    http_send(h, &get_x, &handler, &r2);
    settle();
    assert_int_equal(SERVER(0)->n, 1);
    respond_ok(SERVER(0), 0);
    settle();
    assert_int_equal(SERVER(0)->n, 2);
    assert_int_equal(r.ends, 1);
    TEARDOWN_H2();
}

static void test_trailers_and_interim(void **state)
{
    SETUP_H2(H2);
    nghttp2_nv hints[] = { nv(":status", "103"), nv("link", "x") };

    http_send(h, &post_x, &handler, &r);
    settle();
    nghttp2_submit_headers(SERVER(0)->ng, NGHTTP2_FLAG_NONE, SERVER(0)->reqs[0]->id, NULL, hints, 2,
                           NULL);
    server_flush(SERVER(0));
    settle();
    assert_int_equal(r.heads, 0);
    SERVER(0)->reqs[0]->out_trailers = true;
    respond(SERVER(0), 0, "200", "msg", 3, NULL, NULL);
    settle();
    assert_ok(r, 200, "msg");
    assert_true(r.trailers);
    assert_string_equal(r.log.data, "trailer grpc-status=0;");
    TEARDOWN_H2();
}

static void test_big_bodies_both_ways(void **state)
{
    SETUP_H2(H2);
    CLEANUP(mem_free) char *big = xmalloc(5 << 20);
    struct http_req req = { .method = "PUT", .target = "/big", .body = big, .body_len = 3 << 20 };

    memset(big, 'z', 5 << 20);
    http_send(h, &req, &handler, &r);
    settle();
    assert_int_equal(SERVER(0)->reqs[0]->body.len, 3 << 20);
    respond(SERVER(0), 0, "200", big, 5 << 20, NULL, NULL);
    settle();
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.err.code, 0);
    assert_int_equal(r.body.len, 5 << 20);
    TEARDOWN_H2();
}

static void test_gzip(void **state)
{
    SETUP_H2(H2);
    CLEANUP(gzip_free) struct gzip *z = gzip_new();
    CLEANUP(strbuf_fini) struct strbuf packed = STRBUF_INIT;

    gzip_write(z, "packed text", 11, GZIP_END, &packed);
    http_send(h, &get_x, &handler, &r);
    settle();
    respond(SERVER(0), 0, "200", packed.data, packed.len, "content-encoding", "gzip");
    settle();
    assert_ok(r, 200, "packed text");
    TEARDOWN_H2();
}

static void test_answer_before_the_body_was_read(void **state)
{
    SETUP_H2(H2);
    CLEANUP(mem_free) char *big = xcalloc(1, 3 << 20);
    struct http_req req = { .method = "PUT", .target = "/big", .body = big, .body_len = 3 << 20 };

    f.mem.latency = NSEC_PER_MSEC;
    http_send(h, &req, &handler, &r);
    loop_advance(l, 2 * NSEC_PER_MSEC);
    assert_int_equal(SERVER(0)->n, 1);
    assert_false(SERVER(0)->reqs[0]->ended);
    respond(SERVER(0), 0, "413", "no", 2, NULL, NULL);
    loop_advance(l, SEC);
    assert_ok(r, 413, "no");
    assert_true(SERVER(0)->reqs[0]->reset);
    assert_that(SERVER(0)->reqs[0]->body.len, <, 3 << 20);
    TEARDOWN_H2();
}

/* ---- flow control ---------------------------------------------------------------------------- */

static void test_pause_stops_one_stream_only(void **state)
{
    SETUP_H2(H2);
    CLEANUP(mem_free) char *big = xcalloc(1, 6 << 20);

    r.pause_at_data = true;
    r.call = http_send(h, &get_x, &handler, &r);
    http_send(h, &get_x, &handler, &r2);
    settle();
    respond(SERVER(0), 0, "200", big, 6 << 20, NULL, NULL);
    settle();
    assert_that(r.body.len, <, 64 * 1024);
    size_t unsent = SERVER(0)->reqs[0]->out_n;
    assert_that(unsent, >=, (6 << 20) - (1 << 20) - 65536); /* the window is full */
    respond(SERVER(0), 1, "200", big, 6 << 20, NULL, NULL);
    settle();
    assert_int_equal(r2.body.len, 6 << 20);
    assert_int_equal(r2.ends, 1);
    assert_int_equal(SERVER(0)->reqs[0]->out_n, unsent);
    r.pause_at_data = false;
    http_pause(r.call, false);
    settle();
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.body.len, 6 << 20);
    TEARDOWN_H2();
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_stream_resets(void **state)
{
    SETUP_H2(H2);

    http_send(h, &post_x, &handler, &r);
    http_send(h, &post_x, &handler, &r2);
    settle();
    nghttp2_submit_rst_stream(SERVER(0)->ng, 0, SERVER(0)->reqs[0]->id, NGHTTP2_INTERNAL_ERROR);
    nghttp2_submit_rst_stream(SERVER(0)->ng, 0, SERVER(0)->reqs[1]->id, NGHTTP2_REFUSED_STREAM);
    server_flush(SERVER(0));
    settle();
    assert_failed(r, -ECONNRESET, true, "INTERNAL_ERROR");
    /* refused: provably not handled, so it went again */
    assert_int_equal(r2.ends, 0);
    assert_int_equal(SERVER(0)->n, 3);
    assert_string_equal(SERVER(0)->reqs[2]->body.data, "hello");
    for (unsigned i = 2; i < 4; i++) {
        nghttp2_submit_rst_stream(SERVER(0)->ng, 0, SERVER(0)->reqs[i]->id, NGHTTP2_REFUSED_STREAM);
        server_flush(SERVER(0));
        settle();
    }
    assert_failed(r2, -ECONNRESET, false, "REFUSED_STREAM"); /* in the end the caller decides */
    assert_int_equal(f.dials, 1);
    TEARDOWN_H2();
}

static void test_goaway(void **state)
{
    SETUP_H2(H2);

    http_send(h, &post_x, &handler, &r);
    http_send(h, &post_x, &handler, &r2);
    settle();
    int32_t last = SERVER(0)->reqs[0]->id;
    nghttp2_submit_goaway(SERVER(0)->ng, 0, last, NGHTTP2_NO_ERROR, NULL, 0);
    server_flush(SERVER(0));
    settle();
    /* the first goes on where it is, the second moves */
    assert_int_equal(r.ends + r2.ends, 0);
    assert_int_equal(f.n, 2);
    assert_int_equal(SERVER(1)->n, 1);
    respond_ok(SERVER(0), 0);
    respond_ok(SERVER(1), 0);
    settle();
    assert_int_equal(r.err.code | r2.err.code, 0);
    assert_int_equal(r.ends + r2.ends, 2);
    assert_null(f.peers[0].s); /* the old connection is closed when its last call is done */
    assert_non_null(f.peers[1].s);
    TEARDOWN_H2();
}

static void test_goaway_meets_a_queued_request(void **state)
{
    SETUP_H2(H2);

    r.send_again = h; /* from on_end, just before the GOAWAY in the same bytes */
    r.again_req = &post_x;
    r.again = &r2;
    http_send(h, &get_x, &handler, &r);
    settle();
    SERVER(0)->mute = true;
    respond(SERVER(0), 0, "204", NULL, 0, NULL, NULL);
    SERVER(0)->mute = false;
    server_flush(SERVER(0));
    nghttp2_submit_goaway(SERVER(0)->ng, 0, SERVER(0)->reqs[0]->id, NGHTTP2_NO_ERROR, NULL, 0);
    server_flush(SERVER(0));
    settle();
    assert_ok(r, 204, "");
    assert_int_equal(SERVER(0)->n, 1);
    assert_int_equal(f.n, 2);
    assert_int_equal(SERVER(1)->n, 1);
    assert_null(f.peers[0].s);
    respond(SERVER(1), 0, "200", "moved", 5, NULL, NULL);
    settle();
    assert_ok(r2, 200, "moved");
    TEARDOWN_H2();
}

static void test_freed_with_a_queued_request(void **state)
{
    SETUP_H2(H2);

    http_send(h, &post_x, &handler, &r);
    settle();
    http_send(h, &post_x, &handler, &r2);
    h = http_free(h);
    settle();
    assert_int_equal(r.ends + r2.ends, 0);
    assert_true(SERVER(0)->goaway);
    TEARDOWN_H2();
}

static void test_goaway_with_a_reason(void **state)
{
    SETUP_H2(H2);

    http_send(h, &post_x, &handler, &r);
    settle();
    nghttp2_submit_goaway(SERVER(0)->ng, 0, SERVER(0)->reqs[0]->id, NGHTTP2_ENHANCE_YOUR_CALM,
                          (const uint8_t *)"too_many_pings", 14);
    server_flush(SERVER(0));
    f.peers[0].s = stream_close(f.peers[0].s);
    settle();
    assert_failed(r, -ECONNRESET, true, "ENHANCE_YOUR_CALM too_many_pings");
    TEARDOWN_H2();
}

static void test_lost_connection(void **state)
{
    SETUP_H2(H2);

    http_send(h, &post_x, &handler, &r);
    settle();
    stream_mem_break(f.peers[0].s, -ECONNRESET, "cable cut");
    http_send(h, &post_x, &handler, &r2); /* queued for the end of this turn: never sent */
    settle();
    assert_failed(r, -ECONNRESET, true, "cable cut");
    assert_int_equal(r2.ends, 0);
    assert_int_equal(f.n, 2);
    assert_int_equal(SERVER(1)->n, 1);
    respond_ok(SERVER(1), 0);
    settle();
    assert_int_equal(r2.ends, 1);
    assert_int_equal(r2.err.code, 0);
    TEARDOWN_H2();
}

static void test_nonsense(void **state)
{
    static const char *const texts[] = { "HTTP/1.1 400 Bad Request\r\n\r\n",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        SETUP(H2);
        http_send(h, &get_x, &handler, &r);
        settle();
        say(&f.peers[0], texts[i]);
        settle();
        assert_int_equal(r.ends, 1);
        assert_int_equal(r.err.code, -EPROTO);
        TEARDOWN();
    }
}

static void test_oversize(void **state)
{
    SETUP_H2(H2);
    struct http_req req = get_x;
    nghttp2_nv hs[251] = { nv(":status", "200") };

    for (size_t i = 1; i < ARRAY_LEN(hs); i++)
        hs[i] = nv("x", "y");
    req.max_body = 10;
    http_send(h, &req, &handler, &r);
    http_send(h, &get_x, &handler, &r2);
    settle();
    respond(SERVER(0), 0, "200", "12345678901", 11, NULL, NULL);
    nghttp2_submit_response(SERVER(0)->ng, SERVER(0)->reqs[1]->id, hs, ARRAY_LEN(hs), NULL);
    server_flush(SERVER(0));
    settle();
    assert_failed(r, -EMSGSIZE, true, "10 bytes");
    assert_int_equal(r2.ends, 1);
    assert_int_equal(r2.err.code, -EMSGSIZE);
    TEARDOWN_H2();
}

static void test_ping(void **state)
{
    SETUP_H2(.h2_prior_knowledge = true, .ping_interval = 10 * SEC);

    http_send(h, &get_x, &handler, &r); /* a watch: silence is normal */
    settle();
    loop_advance(l, 100 * SEC);
    assert_in_range(SERVER(0)->pings, 5, 10);
    assert_int_equal(r.ends, 0);
    SERVER(0)->mute = true;
    loop_advance(l, 31 * SEC);
    assert_failed(r, -ETIMEDOUT, true, "PING");
    assert_int_equal(http_client_stats(h).open_conns, 0);
    TEARDOWN_H2();
}

static void test_idle_connection_is_closed(void **state)
{
    SETUP_H2(.h2_prior_knowledge = true, .idle_close = 20 * SEC);

    http_send(h, &get_x, &handler, &r);
    settle();
    respond_ok(SERVER(0), 0);
    loop_advance(l, 19 * SEC);
    assert_non_null(f.peers[0].s);
    loop_advance(l, 2 * SEC);
    assert_null(f.peers[0].s);
    assert_true(SERVER(0)->goaway);
    TEARDOWN_H2();
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_cancel(void **state)
{
    SETUP_H2(H2);

    r.call = http_send(h, &post_x, &handler, &r);
    settle();
    r.call = http_cancel(r.call);
    r2.call = http_send(h, &post_x, &handler, &r2);
    r2.call = http_cancel(r2.call); /* before it was sent */
    settle();
    assert_int_equal(SERVER(0)->n, 1);
    assert_true(SERVER(0)->reqs[0]->reset);
    assert_int_equal(SERVER(0)->reqs[0]->reset_code, NGHTTP2_CANCEL);
    respond_ok(SERVER(0), 0);
    settle();
    assert_int_equal(r.ends + r2.ends + r.heads, 0);
    struct result r3 = { 0 };
    http_send(h, &get_x, &handler, &r3);
    settle();
    respond_ok(SERVER(0), 1);
    settle();
    assert_int_equal(r3.ends, 1);
    result_fini(&r3);
    assert_int_equal(f.dials, 1);
    TEARDOWN_H2();
}

static void test_inside_callbacks(void **state)
{
    for (int how = 0; how < 5; how++) {
        SETUP_H2(H2);
        struct result r3 = { 0 };
        r.cancel_at_head = how == 0;
        r.cancel_at_data = how == 1;
        r.free_client = how == 2 || how == 4 ? h : NULL;
        if (how == 3) {
            r.send_again = h;
            r.again_req = &post_x;
            r.again = &r3;
        }
        r.call = http_send(h, &get_x, &handler, &r);
        http_send(h, &get_x, &handler, &r2);
        settle();
        if (how == 4) {
            stream_mem_break(f.peers[0].s, -EPIPE, "gone");
        } else {
            respond(SERVER(0), 0, "200", "abc", 3, NULL, NULL);
            respond(SERVER(0), 1, "200", "abc", 3, NULL, NULL);
        }
        settle();
        if (how == 2 || how == 4) {
            h = NULL;
            /* broken connections tell the youngest first */
            assert_int_equal(r2.ends, how == 2 ? 0 : 1);
        } else {
            assert_ok(r2, 200, "abc");
            assert_int_equal(r.ends, how == 3);
        }
        if (how == 3) {
            assert_int_equal(SERVER(0)->n, 3);
            respond_ok(SERVER(0), 2);
            settle();
            assert_int_equal(r3.ends, 1);
        }
        result_fini(&r3);
        TEARDOWN_H2();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_as_it_arrives),
        cmocka_unit_test(test_many_calls_in_any_order),
        cmocka_unit_test(test_limit_of_streams_queues),
        cmocka_unit_test(test_own_limit_of_streams),
        cmocka_unit_test(test_trailers_and_interim),
        cmocka_unit_test(test_big_bodies_both_ways),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_answer_before_the_body_was_read),
        cmocka_unit_test(test_pause_stops_one_stream_only),
        cmocka_unit_test(test_stream_resets),
        cmocka_unit_test(test_goaway),
        cmocka_unit_test(test_goaway_meets_a_queued_request),
        cmocka_unit_test(test_freed_with_a_queued_request),
        cmocka_unit_test(test_goaway_with_a_reason),
        cmocka_unit_test(test_lost_connection),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_oversize),
        cmocka_unit_test(test_ping),
        cmocka_unit_test(test_idle_connection_is_closed),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_inside_callbacks),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
