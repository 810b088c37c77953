/* client_h2_recv.c - what nghttp2 tells the client: answers, resets, GOAWAY, frames not sent. */
#include "net/client/client_h2.h"

static void h2_reset_error(uint32_t code, struct kerr *err)
{
    bool protocol = code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_COMPRESSION_ERROR ||
                    code == NGHTTP2_FLOW_CONTROL_ERROR || code == NGHTTP2_FRAME_SIZE_ERROR;

    kerr_set(err, protocol ? -EPROTO : -ECONNRESET, "the HTTP/2 stream was reset: %s",
             nghttp2_http2_strerror(code));
}

/* A handler may have freed the client: then nghttp2 stops right here. Not while sending: nghttp2
 * 1.52 forgets to free the frame in hand when a callback fails there. */
static int h2_go_on(const struct h2 *h)
{
    return h->c->closed && h->in_recv ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct h2 *h = arg;

    (void)ng, (void)f;
    headbuf_reset(&h->head);
    h->status = 0;
    h->head_too_large = false;
    return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
    struct h2 *h = arg;

    (void)ng, (void)f, (void)flags;
    if (name_n > 0 && name[0] == ':') {
        if (value_n == 3) /* ":status", checked by nghttp2 */
            h->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
        return 0;
    }
    if (headbuf_name(&h->head, (const char *)name, name_n, true) < 0 ||
        headbuf_value(&h->head, (const char *)value, value_n, true) < 0)
        h->head_too_large = true;
    return 0;
}

/* The answer is complete: the call leaves the connection before its handler hears of it. */
static void h2_complete(struct h2 *h, struct call *call)
{
    struct conn *c = h->c;

    call->refs++;
    nghttp2_session_set_stream_user_data(h->ng, call->stream_id, NULL);
    if (call->body_off < call->body_len) /* answered before it read our body: no need to go on */
        nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
    call_unlink(call);
    conn_released(c);
    call_complete(call);
    call_unref(call);
}

static void h2_on_head(struct h2 *h, struct call *call)
{
    struct kerr err;

    if (h->head_too_large) {
        kerr_set(&err, -EMSGSIZE, "the answer's header is too large");
        call_fail(call, &err, true);
    } else if (call->got_head) {
        call_trailers(call, &h->head);
    } else if (h->status >= 200) {
        call_headers(call, h->status, &h->head);
    }
}

static void h2_on_goaway(struct h2 *h, const nghttp2_goaway *g)
{
    size_t n = MIN(g->opaque_data_len, sizeof h->goaway_text - 1);

    h->goaway_code = g->error_code;
    for (size_t i = 0; i < n; i++) /* a peer's bytes in our log: printable ones only */
        h->goaway_text[i] =
            g->opaque_data[i] >= ' ' && g->opaque_data[i] < 127 ? (char)g->opaque_data[i] : '.';
    h->goaway_text[n] = '\0';
    h->c->draining = true;
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct h2 *h = arg;
    struct call *call;

    switch (f->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        call = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);
        if (!call)
            break;
        call->refs++;
        if (f->hd.type == NGHTTP2_HEADERS) {
            call_touch(call);
            h2_on_head(h, call);
        }
        if (!call->dead && call->conn && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
            h2_complete(h, call);
        call_unref(call);
        break;
    case NGHTTP2_SETTINGS:
        if (!(f->hd.flags & NGHTTP2_FLAG_ACK)) {
            h->got_settings = true;
            client_pump(h->c->cl); /* more may be allowed now */
        }
        break;
    case NGHTTP2_GOAWAY: h2_on_goaway(h, &f->goaway); break;
    default: break;
    }
    return h2_go_on(h);
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *arg)
{
    struct h2 *h = arg;
    struct call *call = nghttp2_session_get_stream_user_data(ng, id);

    (void)flags;
    nghttp2_session_consume_connection(ng, n);
    if (call) {
        call_touch(call);
        call_body(call, (const char *)p, n);
    }
    return h2_go_on(h);
}

/* Reset by the server, refused by a GOAWAY, or closed by nghttp2 for breaking the protocol. */
static int on_stream_closed(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct h2 *h = arg;
    struct call *call = nghttp2_session_get_stream_user_data(ng, id);
    struct conn *c = h->c;
    struct kerr err;

    if (!call || c->closed)
        return h2_go_on(h);
    nghttp2_session_set_stream_user_data(ng, id, NULL);
    if (code == NGHTTP2_REFUSED_STREAM) {
        call->maybe_sent = false;
        if (call_retry(call)) {
            conn_released(c);
            return h2_go_on(h);
        }
    }
    h2_reset_error(code, &err);
    call->stream_id = 0; /* nothing left to reset */
    call_fail(call, &err, call->maybe_sent);
    return h2_go_on(h);
}

/* Before, not after: once the bytes are out of nghttp2 the request counts as sent. */
static int on_before_send(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    (void)arg;
    if (f->hd.type == NGHTTP2_HEADERS) {
        struct call *call = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);
        if (call)
            call->maybe_sent = true;
    }
    return 0;
}

/* A request that was queued when a GOAWAY came. */
static int on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int code, void *arg)
{
    struct h2 *h = arg;
    struct kerr err;

    if (f->hd.type != NGHTTP2_HEADERS)
        return 0;
    for (struct link *i = h->c->calls.next; i != &h->c->calls; i = i->next) {
        struct call *call = container_of(i, struct call, link);
        if (call->stream_id != f->hd.stream_id)
            continue;
        h->c->draining = true;
        call->stream_id = 0;
        nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, NULL);
        kerr_set(&err, -ECONNRESET, "HTTP/2: %s", nghttp2_strerror(code));
        if (!call_retry(call))
            call_fail(call, &err, false);
        break;
    }
    return 0;
}

static int on_error(nghttp2_session *ng, int code, const char *msg, size_t n, void *arg)
{
    struct h2 *h = arg;

    (void)ng, (void)code;
    n = MIN(n, sizeof h->fault - 1);
    memcpy(h->fault, msg, n);
    h->fault[n] = '\0';
    return 0;
}

void h2_set_callbacks(nghttp2_session_callbacks *cbs)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_closed);
    nghttp2_session_callbacks_set_before_frame_send_callback(cbs, on_before_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cbs, on_not_sent);
    nghttp2_session_callbacks_set_error_callback2(cbs, on_error);
}
