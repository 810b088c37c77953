/* h2relay_conn.c - one connection of the relay: an nghttp2 session over a stream.
 *
 * Callbacks of a session only change calls and queue frames, on this session or the other one; all
 * sending and freeing is done when the event is over (relay_leave()).
 */
#include "net/relay/h2relay_int.h"

#define PONG_AFTER NSEC_PER_MSEC

/* ---- what nghttp2 tells ---------------------------------------------------------------------- */

static struct h2relay_call *call_of(nghttp2_session *ng, int32_t id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct relay_conn *c = arg;

    if (f->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (!c->is_back && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
        struct h2relay_call *call = relay_call_new(c, f->hd.stream_id);
        nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, call);
    }
    return 0;
}

/* Which list the headers of this frame belong to. */
static struct relay_headers *headers_of(const struct relay_conn *c, struct h2relay_call *call,
                                        const nghttp2_frame *f)
{
    if (!c->is_back)
        return f->headers.cat == NGHTTP2_HCAT_REQUEST ? &call->request : &call->up.trailers;
    return call->final_seen ? &call->down.trailers : &call->response;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t nname,
                     const uint8_t *value, size_t nvalue, uint8_t flags, void *arg)
{
    struct h2relay_call *call = call_of(ng, f->hd.stream_id);

    if (f->hd.type != NGHTTP2_HEADERS || !call)
        return 0;
    if (relay_headers_add(headers_of(arg, call, f), (struct str){ (const char *)name, nname },
                          (struct str){ (const char *)value, nvalue }, flags))
        return 0;
    nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void on_front_headers(struct h2relay_call *call, const nghttp2_frame *f, bool end)
{
    if (f->headers.cat == NGHTTP2_HCAT_REQUEST) {
        relay_call_headers(call, end);
        return;
    }
    call->up.has_trailers = true;
    if (end)
        relay_call_eof(call, false);
}

static void on_back_headers(struct h2relay_call *call, bool end)
{
    struct str status = relay_headers_get(&call->response, ":status");

    if (call->final_seen) {
        call->down.has_trailers = true;
        relay_call_eof(call, true);
    } else if (!end && status.n > 0 && status.p[0] == '1') {
        relay_headers_fini(&call->response); /* 100 Continue and its like */
    } else {
        call->final_seen = true;
        relay_call_response(call, end);
    }
}

/* grpc-go sends a PING with each message, to measure. Its answer in a write of its own would double
 * the writes of a call, and wake the peer for nothing. */
static void send_pong(struct relay_conn *c)
{
    nghttp2_submit_ping(c->ng, NGHTTP2_FLAG_ACK, c->pong);
    c->owes_pong = false;
    c->pong_timer = timer_cancel(c->pong_timer);
}

static void on_pong_due(struct loop *l, void *arg)
{
    struct relay_conn *c = arg;
    struct h2relay *r = c->r;

    (void)l;
    c->pong_timer = NULL;
    relay_enter(r);
    send_pong(c);
    c->dirty = true;
    relay_leave(r);
}

static void on_ping(struct relay_conn *c, const nghttp2_frame *f)
{
    if (f->hd.flags & NGHTTP2_FLAG_ACK)
        return;
    if (c->owes_pong)
        send_pong(c);
    memcpy(c->pong, f->ping.opaque_data, sizeof c->pong);
    c->owes_pong = true;
    c->pong_timer = loop_after(c->r->o.loop, PONG_AFTER, on_pong_due, c);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct relay_conn *c = arg;
    bool end = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    struct h2relay_call *call = f->hd.stream_id > 0 ? call_of(ng, f->hd.stream_id) : NULL;

    if (f->hd.type == NGHTTP2_GOAWAY) {
        c->going = true;
        if (c->r->back == c)
            c->r->back = NULL;
    }
    if (f->hd.type == NGHTTP2_PING)
        on_ping(c, f);
    if (!call)
        return 0;
    if (f->hd.type == NGHTTP2_HEADERS && !c->is_back)
        on_front_headers(call, f, end);
    else if (f->hd.type == NGHTTP2_HEADERS)
        on_back_headers(call, end);
    else if (f->hd.type == NGHTTP2_DATA && end)
        relay_call_eof(call, c->is_back);
    return 0;
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *arg)
{
    struct relay_conn *c = arg;
    struct h2relay_call *call = call_of(ng, id);

    (void)flags;
    /* One call that does not drain must not stop the others. */
    nghttp2_session_consume_connection(ng, n);
    if (call)
        relay_call_data(call, c->is_back, (const char *)p, n);
    else
        nghttp2_session_consume_stream(ng, id, n);
    return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct relay_conn *c = arg;
    struct h2relay_call *call = call_of(ng, id);

    if (call) {
        nghttp2_session_set_stream_user_data(ng, id, NULL);
        relay_call_closed(call, c->is_back, code);
    }
    return 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct relay_conn *c = arg;
    bool ends = (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS) &&
                (f->hd.flags & NGHTTP2_FLAG_END_STREAM);
    struct h2relay_call *call = ends && !c->is_back ? call_of(ng, f->hd.stream_id) : NULL;

    if (call)
        relay_call_ended(call);
    return 0;
}

static nghttp2_session *make_session(struct relay_conn *c)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    nghttp2_session *ng;

    if (nghttp2_session_callbacks_new(&cb) || nghttp2_option_new(&opt))
        abort(); /* out of memory, as in xmalloc() */
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
    nghttp2_option_set_no_auto_window_update(opt, 1);
    nghttp2_option_set_no_auto_ping_ack(opt, 1);
    nghttp2_option_set_max_outbound_ack(opt, 1000);
    nghttp2_option_set_no_closed_streams(opt, 1);
    if (c->is_back ? nghttp2_session_client_new2(&ng, cb, c, opt)
                   : nghttp2_session_server_new2(&ng, cb, c, opt))
        abort();
    nghttp2_option_del(opt);
    nghttp2_session_callbacks_del(cb);
    return ng;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Its calls hear of it when the event is over. */
static void conn_close(struct relay_conn *c, const struct kerr *why)
{
    if (c->dead)
        return;
    c->dead = c->going = true;
    c->why = *why;
    if (c->r->back == c)
        c->r->back = NULL;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct relay_conn *c = arg;
    struct h2relay *r = c->r;
    struct kerr err;

    relay_enter(r);
    ssize_t took = nghttp2_session_mem_recv(c->ng, (const uint8_t *)p, n);
    c->dirty = true;
    if (took < 0) {
        kerr_set(&err, -EPROTO, "HTTP/2: %s", nghttp2_strerror((int)took));
        relay_conn_flush(c); /* a GOAWAY that says why */
        conn_close(c, &err);
    }
    relay_leave(r);
}

static void on_drain(void *arg)
{
    struct relay_conn *c = arg;
    struct h2relay *r = c->r;

    relay_enter(r);
    c->dirty = true;
    relay_leave(r);
}

static void on_close(void *arg, const struct kerr *err)
{
    struct relay_conn *c = arg;
    struct h2relay *r = c->r;
    struct kerr why;

    kerr_set(&why, -ECONNRESET, "the connection was closed");
    relay_enter(r);
    conn_close(c, err ? err : &why);
    relay_leave(r);
}

void relay_conn_flush(struct relay_conn *c)
{
    struct kerr err;

    c->dirty = false;
    if (c->owes_pong && !c->dead && nghttp2_session_want_write(c->ng))
        send_pong(c);
    while (!c->dead && stream_queued(c->stream) < STREAM_HIGH_WATER) {
        const uint8_t *p;
        ssize_t n = nghttp2_session_mem_send(c->ng, &p);
        if (n < 0) {
            kerr_set(&err, -EPROTO, "HTTP/2: %s", nghttp2_strerror((int)n));
            conn_close(c, &err);
            return;
        }
        if (n == 0)
            break;
        stream_write(c->stream, p, (size_t)n);
    }
    if (!c->dead && !nghttp2_session_want_read(c->ng) && !nghttp2_session_want_write(c->ng)) {
        kerr_set(&err, -ESHUTDOWN, "the connection is over");
        conn_close(c, &err);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct relay_conn *relay_conn_new(struct h2relay *r, struct stream *s, bool is_back)
{
    static const struct stream_events events = { on_data, on_drain, on_close };
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, RELAY_STREAM_WINDOW },
        { is_back ? NGHTTP2_SETTINGS_ENABLE_PUSH : NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
          is_back ? 0 : RELAY_STREAMS_MAX },
    };
    struct relay_conn *c = xnew0(struct relay_conn);

    *c = (struct relay_conn){ .r = r, .stream = s, .is_back = is_back, .dirty = true };
    c->ng = make_session(c);
    LIST_INSERT_HEAD(&r->conns, c, link);
    nghttp2_submit_settings(c->ng, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    nghttp2_session_set_local_window_size(c->ng, NGHTTP2_FLAG_NONE, 0, RELAY_CONN_WINDOW);
    stream_listen(s, &events, c);
    if (!is_back)
        r->stats.clients++;
    return c;
}

void relay_conn_free(struct relay_conn *c)
{
    if (!c->is_back)
        c->r->stats.clients--;
    LIST_REMOVE(c, link);
    timer_cancel(c->pong_timer);
    nghttp2_session_del(c->ng);
    stream_close(c->stream);
    free(c);
}
