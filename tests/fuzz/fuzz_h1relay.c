/* fuzz_h1relay.c - HTTP/1.1 of a client and of a server that the relay has in its hands.
 *
 * Byte 0 chooses who speaks (bit 0), whether what the server is asked is held (bit 1), and the size
 * of the pieces; the rest are its bytes. A client may say what it likes: the requests of another
 * one are answered, through the same relay and by the same server. A server may say what it likes:
 * a client sees its bytes and no others, unless the request was held; then it ends once. At the end
 * no request is open.
 */
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/h1relay.h"
#include "net/httpd.h"
#include "net/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fixture {
    struct loop *loop;
    struct h1relay *relay;
    struct httpd *server;  /* NULL: its bytes come from the input */
    struct stream *raw;    /* our end of the connection that the input speaks on */
    struct stream *caller; /* who asks a server that speaks from the input */
    struct http *client;
    struct strbuf got; /* by the caller */
    unsigned ended, shown, answered, gone;
    int status;
};

/* ---- who is held, and let go ----------------------------------------------------------------- */

static bool wants(void *arg, const char *method, struct str target)
{
    (void)arg, (void)method;
    return target.n > 1 && target.p[1] == 'h';
}

static void on_request(void *arg, struct h1relay_call *c, const char *method, struct str target,
                       struct str body)
{
    struct fixture *f = arg;

    assert(*method && target.n > 0);
    f->shown++;
    if (body.n % 4 == 3)
        h1relay_refuse(c, 500, "text/plain", STR("no"));
    else
        h1relay_forward(c, body.n % 2 ? body : (struct str){ NULL, 0 });
}

static void on_answer(void *arg, struct h1relay_call *c, int status, struct str body)
{
    struct fixture *f = arg;

    (void)body;
    assert(status == 0 || status >= 100);
    f->answered++;
    h1relay_release(c);
}

static void on_gone(void *arg, struct h1relay_call *c)
{
    (void)c;
    ((struct fixture *)arg)->gone++;
}

/* ---- the neighbours -------------------------------------------------------------------------- */

static void serve(void *arg, struct httpd_req *r)
{
    (void)arg;
    httpd_reply(r, 200, "text/plain", "ok", 2);
}

static void on_raw_data(void *arg, const char *p, size_t n)
{
    (void)arg, (void)p, (void)n;
}

static void on_raw_close(void *arg, const struct kerr *err)
{
    struct fixture *f = arg;

    (void)err;
    f->raw = stream_close(f->raw);
}

static void listen_raw(struct fixture *f, struct stream *end)
{
    static const struct stream_events events = { .on_data = on_raw_data, .on_close = on_raw_close };

    stream_close(f->raw);
    f->raw = end;
    stream_listen(end, &events, f);
}

static void dial_server(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct fixture *f = arg;
    struct stream *ends[2];

    stream_mem_pair(l, NULL, ends);
    if (f->server)
        httpd_serve(f->server, ends[1], "memory");
    else
        listen_raw(f, ends[1]);
    fn(fn_arg, ends[0], NULL);
}

static void dial_relay(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct fixture *f = arg;
    struct stream *ends[2];

    stream_mem_pair(l, NULL, ends);
    h1relay_serve(f->relay, ends[1]);
    fn(fn_arg, ends[0], NULL);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct fixture *)arg)->status = r->status;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)err, (void)sent;
    ((struct fixture *)arg)->ended++;
}

static void on_caller_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->got, p, n);
}

static void on_caller_close(void *arg, const struct kerr *err)
{
    struct fixture *f = arg;

    (void)err;
    f->caller = stream_close(f->caller);
}

static void ask(struct fixture *f, const char *request)
{
    static const struct stream_events events = { .on_data = on_caller_data,
                                                 .on_close = on_caller_close };
    struct stream *ends[2];

    stream_mem_pair(f->loop, NULL, ends);
    h1relay_serve(f->relay, ends[1]);
    f->caller = ends[0];
    stream_listen(f->caller, &events, f);
    stream_write(f->caller, request, strlen(request));
    loop_advance(f->loop, NSEC_PER_MSEC);
}

/* ---- the conversation ------------------------------------------------------------------------ */

static void speak(struct fixture *f, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size && f->raw; at += piece) {
        stream_write(f->raw, data + at, MIN(piece, size - at));
        loop_advance(f->loop, 0);
    }
}

static void server_speaks(struct fixture *f, bool is_held, const uint8_t *data, size_t size,
                          size_t piece)
{
    ask(f, is_held ? "GET /held HTTP/1.1\r\nHost: x\r\n\r\n" : "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert(f->raw && f->shown == is_held);
    speak(f, data, size, piece);
    f->raw = stream_close(f->raw);
    loop_advance(f->loop, NSEC_PER_SEC);
    if (is_held)
        assert(f->answered == 1 && f->gone == 0);
    else
        assert(f->got.len <= size && memcmp(strbuf_str(&f->got), data, f->got.len) == 0);
    f->caller = stream_close(f->caller);
}

static void client_speaks(struct fixture *f, const uint8_t *data, size_t size, size_t piece)
{
    static const struct http_handler events = { .on_headers = on_headers, .on_end = on_end };
    struct stream *ends[2];

    stream_mem_pair(f->loop, NULL, ends);
    h1relay_serve(f->relay, ends[1]);
    listen_raw(f, ends[0]);
    speak(f, data, size, piece);
    f->client = http_client_new(
        f->loop, &(struct http_client_opts){ .host = "x", .dial = dial_relay, .dial_arg = f });
    http_send(f->client,
              &(struct http_req){ .method = "GET", .target = "/held", .timeout = NSEC_PER_SEC },
              &events, f);
    loop_advance(f->loop, 2 * NSEC_PER_SEC);
    assert(f->ended == 1 && f->status == 200);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fixture f = { .loop = loop_new_virtual(0, 1) };

    if (size == 0 || size > 65536) {
        loop_free(f.loop);
        return 0;
    }
    bool from_server = data[0] & 1;
    size_t piece = 1 + (data[0] >> 2);
    piece = piece == 64 ? size : piece;
    f.server = from_server ? NULL : httpd_new(f.loop, NULL, serve, NULL);
    f.relay = h1relay_new(&(struct h1relay_opts){ .loop = f.loop,
                                                  .dial = dial_server,
                                                  .dial_arg = &f,
                                                  .wants = wants,
                                                  .on_request = on_request,
                                                  .on_answer = on_answer,
                                                  .on_gone = on_gone,
                                                  .arg = &f });
    if (from_server)
        server_speaks(&f, data[0] & 2, data + 1, size - 1, piece);
    else
        client_speaks(&f, data + 1, size - 1, piece);
    f.raw = stream_close(f.raw);
    loop_advance(f.loop, 300 * NSEC_PER_SEC);
    assert(h1relay_stats(f.relay).open == 0);
    http_free(f.client);
    h1relay_free(f.relay);
    httpd_free(f.server);
    strbuf_fini(&f.got);
    loop_advance(f.loop, NSEC_PER_SEC);
    loop_free(f.loop);
    return 0;
}
