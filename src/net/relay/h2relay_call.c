/* h2relay_call.c - one call between a client's stream and the server's. */
#include <stdio.h>

#include "net/relay/h2relay_int.h"

enum { FRAME_HEAD = 5, COMPACT_AT = 64 * 1024 };

/* ---- small helpers --------------------------------------------------------------------------- */

static void mark(struct relay_conn *c)
{
    if (c)
        c->dirty = true;
}

static size_t pipe_len(const struct relay_pipe *p)
{
    return p->buf.len - p->off;
}

static void pipe_fini(struct relay_pipe *p)
{
    strbuf_fini(&p->buf);
    relay_headers_fini(&p->trailers);
}

/* Bytes are there, or the end: the session that waits for them goes on. */
static void pipe_resume(struct h2relay_call *c, bool to_back)
{
    struct relay_pipe *p = to_back ? &c->up : &c->down;
    struct relay_conn *to = to_back ? c->back : c->front;

    if (!to || !p->idle)
        return;
    p->idle = false;
    nghttp2_session_resume_data(to->ng, to_back ? c->back_id : c->front_id);
    mark(to);
}

/* The sender gets its window back as we drain. */
static void give_back(struct h2relay_call *c, bool to_back, size_t n)
{
    struct relay_conn *from = to_back ? c->front : c->back;

    if (!from || n == 0 || c->was_held)
        return;
    nghttp2_session_consume_stream(from->ng, to_back ? c->front_id : c->back_id, n);
    mark(from);
}

static ssize_t read_pipe(struct h2relay_call *c, bool to_back, uint8_t *buf, size_t max,
                         uint32_t *flags)
{
    struct relay_pipe *p = to_back ? &c->up : &c->down;
    struct relay_conn *to = to_back ? c->back : c->front;
    size_t n = MIN(pipe_len(p), max);

    if (n == 0 && !p->eof) {
        p->idle = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (n > 0)
        memcpy(buf, p->buf.data + p->off, n);
    p->off += n;
    give_back(c, to_back, n);
    if (pipe_len(p) == 0) {
        strbuf_reset(&p->buf);
        p->off = 0;
    } else if (p->off > COMPACT_AT) {
        strbuf_consume(&p->buf, p->off);
        p->off = 0;
    }
    if (pipe_len(p) > 0 || !p->eof)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (p->has_trailers) {
        CLEANUP(mem_free) nghttp2_nv *nv = relay_headers_nv(&p->trailers);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(to->ng, to_back ? c->back_id : c->front_id, nv, p->trailers.items.n);
    }
    return (ssize_t)n;
}

static ssize_t on_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                       nghttp2_data_source *source, void *arg)
{
    const struct relay_conn *conn = arg;
    struct h2relay_call *c = nghttp2_session_get_stream_user_data(ng, id);

    (void)source;
    if (!c)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return read_pipe(c, conn->is_back, buf, max, flags);
}
static const nghttp2_data_provider provider = { .read_callback = on_read };

/* ---- the end of either side ------------------------------------------------------------------ */

static void back_reset(struct h2relay_call *c, uint32_t code)
{
    if (!c->back)
        return;
    nghttp2_session_set_stream_user_data(c->back->ng, c->back_id, NULL);
    nghttp2_submit_rst_stream(c->back->ng, NGHTTP2_FLAG_NONE, c->back_id, code);
    mark(c->back);
    c->back->calls--;
    c->back = NULL;
}

static void front_reset(struct h2relay_call *c, uint32_t code)
{
    if (!c->front)
        return;
    nghttp2_session_set_stream_user_data(c->front->ng, c->front_id, NULL);
    nghttp2_submit_rst_stream(c->front->ng, NGHTTP2_FLAG_NONE, c->front_id, code);
    mark(c->front);
    c->front->calls--;
    c->front = NULL;
}

void relay_call_free(struct h2relay_call *c)
{
    TAILQ_REMOVE(&c->r->calls, c, link);
    c->r->stats.open--;
    timer_cancel(c->timer);
    pipe_fini(&c->up);
    pipe_fini(&c->down);
    relay_headers_fini(&c->request);
    relay_headers_fini(&c->response);
    free(c);
}

/* Nobody is left on either side. */
static void call_release(struct h2relay_call *c)
{
    if (!c->front && !c->back && c->hold != HOLD_SHOWN && c->hold != HOLD_DONE)
        relay_call_free(c);
}

void relay_call_gone(struct h2relay_call *c)
{
    bool shown = c->hold == HOLD_SHOWN || c->hold == HOLD_ANSWER || c->hold == HOLD_DONE;

    c->hold = HOLD_NONE;
    if (shown && c->r->o.on_gone)
        c->r->o.on_gone(c->r->o.arg, c);
}

/* ---- answers of our own ---------------------------------------------------------------------- */

static void put_status(struct relay_headers *h, enum grpc_code code, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf encoded = STRBUF_INIT;
    char number[12];

    snprintf(number, sizeof number, "%d", (int)code);
    relay_headers_add(h, STR("grpc-status"), str_of(number), 0);
    grpc_text_encode(str_of(text), &encoded);
    if (encoded.len > 0)
        relay_headers_add(h, STR("grpc-message"), (struct str){ encoded.data, encoded.len }, 0);
}

static void send_headers(struct h2relay_call *c, bool with_body)
{
    CLEANUP(mem_free) nghttp2_nv *nv = relay_headers_nv(&c->response);

    if (!c->front)
        return;
    c->headers_sent = true;
    nghttp2_submit_response(c->front->ng, c->front_id, nv, c->response.items.n,
                            with_body ? &provider : NULL);
    mark(c->front);
}

/* The one message of a request or the first of an answer; {NULL, 0}: none that we can read. */
static struct str message_of(const struct relay_pipe *p, bool only)
{
    const unsigned char *head = (const unsigned char *)p->buf.data + p->off;
    size_t n = pipe_len(p);

    if (n < FRAME_HEAD || head[0] != 0)
        return (struct str){ NULL, 0 };
    size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (len > n - FRAME_HEAD || (only && len != n - FRAME_HEAD))
        return (struct str){ NULL, 0 };
    return (struct str){ (const char *)head + FRAME_HEAD, len };
}

static void show_answer(struct h2relay_call *c, enum grpc_code code)
{
    c->hold = HOLD_DONE;
    c->r->o.on_answer(c->r->o.arg, c, code, message_of(&c->down, false));
}

void relay_call_fail(struct h2relay_call *c, enum grpc_code code, const char *text)
{
    bool shown = c->hold == HOLD_ANSWER;

    back_reset(c, NGHTTP2_CANCEL);
    c->waiting = false;
    if (!c->front) {
        call_release(c);
        return;
    }
    if (c->headers_sent) {
        relay_headers_fini(&c->down.trailers);
        put_status(&c->down.trailers, code, text);
        c->down.has_trailers = c->down.eof = true;
        pipe_resume(c, false);
        return;
    }
    relay_headers_fini(&c->response);
    relay_headers_add(&c->response, STR(":status"), STR("200"), 0);
    relay_headers_add(&c->response, STR("content-type"), STR("application/grpc"), 0);
    put_status(&c->response, code, text);
    strbuf_reset(&c->down.buf);
    c->down.off = 0;
    c->down.eof = true;
    c->down.has_trailers = false;
    if (shown) { /* whoever waits for the answer hears of it first */
        show_answer(c, code);
        return;
    }
    c->hold = HOLD_NONE;
    send_headers(c, false);
}

static void on_deadline(struct loop *l, void *arg)
{
    struct h2relay_call *c = arg;
    struct h2relay *r = c->r;

    (void)l;
    c->timer = NULL;
    relay_enter(r);
    relay_call_gone(c);
    relay_call_fail(c, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
    relay_leave(r);
}

/* ---- to the server --------------------------------------------------------------------------- */

static bool request_is_over(const struct h2relay_call *c)
{
    return c->up.eof && pipe_len(&c->up) == 0 && !c->up.has_trailers;
}

void relay_call_to_back(struct h2relay_call *c)
{
    struct relay_conn *b = c->r->back;
    char timeout[16];

    c->waiting = false;
    if (c->deadline > 0) {
        grpc_timeout_format(MAX(c->deadline - loop_mono(c->r->o.loop), (nsec_t)1), timeout);
        relay_headers_set(&c->request, "grpc-timeout", str_of(timeout));
    }
    CLEANUP(mem_free) nghttp2_nv *nv = relay_headers_nv(&c->request);
    int32_t id = nghttp2_submit_request(b->ng, NULL, nv, c->request.items.n,
                                        request_is_over(c) ? NULL : &provider, c);
    if (id < 0) { /* out of stream numbers */
        b->going = true;
        c->r->back = NULL;
        relay_call_fail(c, GRPC_UNAVAILABLE, "the connection to the server is used up");
        return;
    }
    c->back = b;
    c->back_id = id;
    b->calls++;
    mark(b);
}

/* ---- the request ----------------------------------------------------------------------------- */

struct h2relay_call *relay_call_new(struct relay_conn *front, int32_t id)
{
    struct h2relay *r = front->r;
    struct h2relay_call *c = xnew0(struct h2relay_call);

    *c = (struct h2relay_call){ .r = r, .front = front, .front_id = id };
    TAILQ_INSERT_TAIL(&r->calls, c, link);
    front->calls++;
    r->stats.open++;
    r->stats.calls++;
    return c;
}

static void show_request(struct h2relay_call *c)
{
    c->hold = HOLD_SHOWN;
    c->r->o.on_request(c->r->o.arg, c, relay_headers_get(&c->request, ":path"),
                       message_of(&c->up, true));
}

void relay_call_headers(struct h2relay_call *c, bool end_stream)
{
    struct h2relay *r = c->r;
    nsec_t timeout = grpc_timeout_parse(relay_headers_get(&c->request, "grpc-timeout"));

    if (timeout > 0) {
        nsec_t now = loop_mono(r->o.loop);
        c->deadline = timeout > NSEC_MAX - now ? NSEC_MAX : now + timeout;
        c->timer = loop_after(r->o.loop, timeout, on_deadline, c);
    }
    if (end_stream)
        c->up.eof = true;
    if (r->o.wants && r->o.wants(r->o.arg, relay_headers_get(&c->request, ":path"))) {
        c->hold = HOLD_REQUEST;
        c->was_held = true;
        if (end_stream)
            show_request(c);
        return;
    }
    c->waiting = true;
}

/* A held one is collected: its sender is not held back, but bounded. */
static bool collect(struct h2relay_call *c, bool from_back, size_t n)
{
    const struct relay_pipe *p = from_back ? &c->down : &c->up;
    struct relay_conn *from = from_back ? c->back : c->front;

    nghttp2_session_consume_stream(from->ng, from_back ? c->back_id : c->front_id, n);
    mark(from);
    if (pipe_len(p) + n <= H2RELAY_HELD_MAX + FRAME_HEAD)
        return true;
    if (!from_back)
        c->hold = HOLD_NONE;
    relay_call_fail(c, GRPC_RESOURCE_EXHAUSTED,
                    from_back ? "the answer is too large" : "the request is too large");
    return false;
}

void relay_call_data(struct h2relay_call *c, bool from_back, const char *p, size_t n)
{
    struct relay_pipe *pipe = from_back ? &c->down : &c->up;

    if (pipe->eof) { /* answered by us meanwhile */
        struct relay_conn *from = from_back ? c->back : c->front;
        nghttp2_session_consume_stream(from->ng, from_back ? c->back_id : c->front_id, n);
        return;
    }
    if (c->was_held && !collect(c, from_back, n))
        return;
    strbuf_appendn(&pipe->buf, p, n);
    pipe_resume(c, !from_back);
}

static enum grpc_code code_of(const struct h2relay_call *c)
{
    struct str text =
        relay_headers_get(c->down.has_trailers ? &c->down.trailers : &c->response, "grpc-status");
    unsigned v = 0;

    if (text.n == 0 || text.n > 2)
        return GRPC_UNKNOWN;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return GRPC_UNKNOWN;
        v = v * 10 + (unsigned)(text.p[i] - '0');
    }
    return v > GRPC_UNAUTHENTICATED ? GRPC_UNKNOWN : (enum grpc_code)v;
}

void relay_call_eof(struct h2relay_call *c, bool from_back)
{
    struct relay_pipe *pipe = from_back ? &c->down : &c->up;

    if (pipe->eof)
        return;
    pipe->eof = true;
    if (!from_back && c->hold == HOLD_REQUEST)
        show_request(c);
    else if (from_back && c->hold == HOLD_ANSWER)
        show_answer(c, code_of(c));
    else
        pipe_resume(c, !from_back);
}

/* ---- the answer ------------------------------------------------------------------------------ */

void relay_call_response(struct h2relay_call *c, bool end_stream)
{
    if (end_stream)
        c->down.eof = true;
    if (c->hold == HOLD_NONE)
        send_headers(c, !end_stream);
    else if (end_stream && c->hold == HOLD_ANSWER)
        show_answer(c, code_of(c));
}

static enum grpc_code code_of_reset(uint32_t code)
{
    switch (code) {
    case NGHTTP2_REFUSED_STREAM: return GRPC_UNAVAILABLE;
    case NGHTTP2_CANCEL: return GRPC_CANCELLED;
    case NGHTTP2_FLOW_CONTROL_ERROR:
    case NGHTTP2_ENHANCE_YOUR_CALM: return GRPC_RESOURCE_EXHAUSTED;
    case NGHTTP2_INADEQUATE_SECURITY: return GRPC_PERMISSION_DENIED;
    default: return GRPC_INTERNAL;
    }
}

/* The server's stream is over; with a code and before its answer was, it was reset. */
static void back_closed(struct h2relay_call *c, uint32_t code)
{
    char text[96];

    c->back->calls--;
    c->back = NULL;
    if (!c->down.eof && c->hold == HOLD_ANSWER) {
        snprintf(text, sizeof text, "stream terminated by RST_STREAM with error code: %u", code);
        relay_call_fail(c, code_of_reset(code), text);
    } else if (!c->down.eof && c->hold == HOLD_NONE) {
        front_reset(c, code == NGHTTP2_NO_ERROR ? NGHTTP2_INTERNAL_ERROR : code);
        call_release(c);
    } else {
        call_release(c);
    }
}

static void front_closed(struct h2relay_call *c, uint32_t code)
{
    c->front->calls--;
    c->front = NULL;
    back_reset(c, code == NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : code);
    relay_call_gone(c);
    call_release(c);
}

void relay_call_closed(struct h2relay_call *c, bool is_back, uint32_t code)
{
    if (is_back)
        back_closed(c, code);
    else
        front_closed(c, code);
}

/* A client that still sends is told that nobody listens; the server likewise. */
void relay_call_ended(struct h2relay_call *c)
{
    if (c->up.eof)
        return;
    back_reset(c, NGHTTP2_CANCEL);
    front_reset(c, NGHTTP2_NO_ERROR);
    call_release(c);
}

/* ---- held calls ------------------------------------------------------------------------------ */

void h2relay_call_set(struct h2relay_call *c, void *data)
{
    c->data = data;
}

void *h2relay_call_get(const struct h2relay_call *c)
{
    return c->data;
}

nsec_t h2relay_call_left(const struct h2relay_call *c)
{
    return c->deadline ? MAX(c->deadline - loop_mono(c->r->o.loop), (nsec_t)1) : 0;
}

void h2relay_forward(struct h2relay_call *c, struct str message)
{
    struct h2relay *r = c->r;
    char head[FRAME_HEAD];

    assert(c->hold == HOLD_SHOWN);
    relay_enter(r);
    if (message.p) {
        struct strbuf whole = STRBUF_INIT;
        grpc_frame_head(message.n, head);
        strbuf_appendn(&whole, head, sizeof head);
        strbuf_appendn(&whole, message.p, message.n);
        strbuf_fini(&c->up.buf);
        c->up.buf = whole;
        relay_headers_remove(&c->request, "content-length");
    }
    c->hold = HOLD_ANSWER;
    c->waiting = true;
    relay_leave(r);
}

void h2relay_refuse(struct h2relay_call *c, enum grpc_code code, const char *text)
{
    struct h2relay *r = c->r;

    assert(c->hold == HOLD_SHOWN);
    relay_enter(r);
    c->hold = HOLD_NONE;
    relay_call_fail(c, code, text);
    relay_leave(r);
}

void h2relay_release(struct h2relay_call *c)
{
    struct h2relay *r = c->r;

    assert(c->hold == HOLD_DONE);
    relay_enter(r);
    c->hold = HOLD_NONE;
    send_headers(c, pipe_len(&c->down) > 0 || c->down.has_trailers);
    call_release(c);
    relay_leave(r);
}
