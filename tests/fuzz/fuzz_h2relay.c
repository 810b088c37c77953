/* fuzz_h2relay.c - HTTP/2 frames of a client and of a server that the relay has in its hands.
 *
 * Byte 0 chooses who speaks (bit 0), whether the preface is written for it (bit 1), and the size of
 * the pieces; the rest are its bytes. A client may say what it likes: the calls of another one go
 * on, through the same relay and to the same server. A server may say what it likes: the call that
 * it was asked ends once, by its deadline at the latest. At the end no call is open.
 */
#include "loop/loop.h"
#include "net/grpc.h"
#include "net/h2relay.h"
#include "net/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define METHOD "/runtime.v1.RuntimeService/CreateContainer" /* one that is held */

struct bench {
    struct loop *loop;
    struct h2relay *relay;
    struct grpc_server *server; /* NULL: its bytes come from the input */
    struct stream *raw;         /* our end of the connection that the input speaks on */
    struct http *client;
    unsigned ended;
    enum grpc_code code;
};

/* ---- who is held, and let go ----------------------------------------------------------------- */

static bool wants(void *arg, struct str path)
{
    (void)arg;
    return str_eqz(path, METHOD);
}

static void on_request(void *arg, struct h2relay_call *c, struct str path, struct str message)
{
    (void)arg, (void)path;
    h2relay_forward(c, message.n % 2 ? message : (struct str){ NULL, 0 });
}

static void on_answer(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message)
{
    (void)arg, (void)code, (void)message;
    h2relay_release(c);
}

static void on_gone(void *arg, struct h2relay_call *c)
{
    (void)arg, (void)c;
}

/* ---- the neighbours -------------------------------------------------------------------------- */

static void serve(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    (void)arg, (void)method;
    grpc_send(r, message);
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static void on_raw_data(void *arg, const char *p, size_t n)
{
    (void)arg, (void)p, (void)n;
}

static void on_raw_close(void *arg, const struct kerr *err)
{
    struct bench *b = arg;

    (void)err;
    b->raw = stream_close(b->raw);
}

static void listen_raw(struct bench *b, struct stream *end)
{
    static const struct stream_events events = { on_raw_data, NULL, on_raw_close };

    stream_close(b->raw);
    b->raw = end;
    stream_listen(end, &events, b);
}

static void dial_server(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct bench *b = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    if (b->server)
        httpd_serve(grpc_server_httpd(b->server), ends[1], "memory");
    else
        listen_raw(b, ends[1]);
    fn(fn_arg, ends[0], NULL);
}

static void dial_relay(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct bench *b = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    h2relay_serve(b->relay, ends[1]);
    fn(fn_arg, ends[0], NULL);
}

static void on_message(void *arg, struct str message)
{
    (void)arg, (void)message;
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct bench *b = arg;

    b->ended++;
    b->code = st->code;
}

static void call(struct bench *b)
{
    static const struct grpc_call_events events = { on_message, on_end };

    grpc_call_send(b->client,
                   &(struct grpc_call_opts){
                       .method = METHOD, .message = STR("\x0a\x01x"), .timeout = 5 * NSEC_PER_SEC },
                   &events, b);
}

/* ---- the conversation ------------------------------------------------------------------------ */

static void speak(struct bench *b, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size && b->raw; at += piece) {
        stream_write(b->raw, data + at, MIN(piece, size - at));
        loop_advance(b->loop, 0);
    }
}

static void bench_init(struct bench *b, bool server_speaks)
{
    *b = (struct bench){ .loop = loop_new_virtual(0, 1) };
    b->server = server_speaks ? NULL : grpc_server_new(b->loop, NULL, serve, NULL);
    b->relay = h2relay_new(&(struct h2relay_opts){ .loop = b->loop,
                                                   .dial = dial_server,
                                                   .dial_arg = b,
                                                   .wants = wants,
                                                   .on_request = on_request,
                                                   .on_answer = on_answer,
                                                   .on_gone = on_gone });
    b->client = grpc_client_new(b->loop, "memory", dial_relay, b);
}

static void bench_fini(struct bench *b)
{
    b->raw = stream_close(b->raw);
    loop_advance(b->loop, 6 * NSEC_PER_SEC);
    assert(h2relay_stats(b->relay).open == 0);
    http_free(b->client);
    h2relay_free(b->relay);
    grpc_server_free(b->server);
    loop_advance(b->loop, NSEC_PER_SEC);
    loop_free(b->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    struct stream *ends[2];
    struct bench b;

    if (size == 0 || size > 65536)
        return 0;
    bool server_speaks = data[0] & 1, is_client_polite = !server_speaks && (data[0] & 2);
    size_t piece = 1 + (data[0] >> 2);
    bench_init(&b, server_speaks);
    if (server_speaks) {
        call(&b);
        loop_advance(b.loop, NSEC_PER_MSEC);
    } else {
        stream_mem_pair(b.loop, &(struct mem_opts){ 0 }, ends);
        h2relay_serve(b.relay, ends[1]);
        listen_raw(&b, ends[0]);
        if (is_client_polite)
            stream_write(b.raw, preface, sizeof preface); /* the last NUL is of stream 0 */
    }
    speak(&b, data + 1, size - 1, piece == 64 ? size : piece);
    if (!server_speaks) {
        call(&b);
        loop_advance(b.loop, NSEC_PER_SEC);
        assert(b.ended == 1 && b.code == GRPC_OK);
    }
    loop_advance(b.loop, 6 * NSEC_PER_SEC);
    assert(b.ended == 1);
    bench_fini(&b);
    return 0;
}
