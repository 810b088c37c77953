/* client_h2.c - HTTP/2 on one connection of the client: many calls at a time, by nghttp2.
 *
 * Frames of one turn leave together: whoever queues something asks for a flush, which a timer does
 * at the end of the turn, or the receiving side when it is done with its input. Body bytes are
 * returned to the connection's window at once and to the stream's window when the handler has
 * taken them, so a paused call stops its own stream only.
 */
#include "net/client/client_h2.h"

enum {
    STREAM_WINDOW = 1024 * 1024,
    CONN_WINDOW = 4 * 1024 * 1024,
    STREAMS_BEFORE_SETTINGS = 100, /* what nghttp2 assumes, too */
    HEADERS_ON_STACK = 32,
};
#define PING_PATIENCE (15 * NSEC_PER_SEC)

/* ---- losing the connection ------------------------------------------------------------------- */

static void h2_lost_error(const struct h2 *h, const struct kerr *why, struct kerr *err)
{
    if (h->goaway_code != NGHTTP2_NO_ERROR)
        kerr_set(err, -ECONNRESET, "the server closed the connection: %s%s%s",
                 nghttp2_http2_strerror(h->goaway_code), h->goaway_text[0] ? " " : "",
                 h->goaway_text);
    else if (why)
        *err = *why;
    else
        kerr_set(err, -ECONNRESET, "the server closed the connection without an answer");
}

/* Every call is retried when its request cannot have been handled, and fails otherwise. */
static void h2_broken(struct conn *c, const struct kerr *why)
{
    struct h2 *h = c->state;
    struct kerr err = { 0 };

    h2_lost_error(h, why, &err);
    h->lost = true;
    conn_ref(c);
    conn_close(c);
    while (!link_empty(&c->calls)) {
        struct call *call = container_of(c->calls.prev, struct call, link);
        if (call->maybe_sent || !call_retry(call))
            call_fail(call, &err, call->maybe_sent);
    }
    if (!c->cl->freed)
        client_pump(c->cl);
    conn_unref(c);
}

static void h2_fatal(struct conn *c, ssize_t code)
{
    const struct h2 *h = c->state;
    struct kerr err;

    kerr_set(&err, -EPROTO, "HTTP/2: %s", h->fault[0] ? h->fault : nghttp2_strerror((int)code));
    h2_broken(c, &err);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void h2_flush(struct conn *c)
{
    struct h2 *h = c->state;

    h->flush_timer = timer_cancel(h->flush_timer);
    if (c->closed)
        return;
    while (stream_queued(c->stream) < STREAM_HIGH_WATER) {
        const uint8_t *p;
        h->in_send = true;
        ssize_t n = nghttp2_session_mem_send(h->ng, &p);
        h->in_send = false;
        if (c->closed) /* by the handler of a call that could not be sent */
            return;
        if (n < 0) {
            h2_fatal(c, n);
            return;
        }
        if (n == 0)
            break;
        conn_write(c, p, (size_t)n);
    }
    stream_flush(c->stream);
    if (nghttp2_session_want_read(h->ng) || nghttp2_session_want_write(h->ng))
        return;
    /* Over: after a GOAWAY of the server, or after our own for breaking the protocol. */
    struct kerr err;
    kerr_set(&err, -EPROTO, "HTTP/2: %s", h->fault[0] ? h->fault : "protocol error");
    h2_broken(c, c->draining ? NULL : &err);
}

static void on_flush_timer(struct loop *l, void *arg)
{
    struct h2 *h = arg;
    struct conn *c = h->c;

    (void)l;
    h->flush_timer = NULL;
    conn_ref(c);
    h2_flush(c);
    conn_unref(c);
}

static void h2_flush_later(struct h2 *h)
{
    if (!h->in_recv && !h->flush_timer && !h->c->closed)
        h->flush_timer = loop_after(h->c->cl->loop, 0, on_flush_timer, h);
}

static ssize_t on_read_body(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t cap,
                            uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct call *call = nghttp2_session_get_stream_user_data(ng, id);

    (void)source, (void)arg;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* dropped meanwhile */
    size_t n = MIN(call->body_len - call->body_off, cap);
    memcpy(buf, call->body + call->body_off, n);
    call->body_off += n;
    if (call->body_off == call->body_len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv nv_of(struct str name, struct str value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.p,
        .namelen = name.n,
        .value = (uint8_t *)(uintptr_t)value.p,
        .valuelen = value.n,
    };
}

/* Headers that belong to one HTTP/1.1 connection are an error in HTTP/2. */
static bool is_connection_header(struct str name)
{
    return str_eqz(name, "connection") || str_eqz(name, "keep-alive") || str_eqz(name, "host") ||
           str_eqz(name, "transfer-encoding") || str_eqz(name, "upgrade");
}

static size_t h2_request_head(const struct conn *c, const struct call *call, char length[24],
                              nghttp2_nv *nv)
{
    size_t n = 0;

    nv[n++] = nv_of(STR(":method"), str_of(call->method));
    nv[n++] = nv_of(STR(":scheme"), c->tls ? STR("https") : STR("http"));
    nv[n++] = nv_of(STR(":authority"), str_of(c->cl->authority));
    nv[n++] = nv_of(STR(":path"), str_of(call->target));
    nv[n++] = nv_of(STR("user-agent"), str_of(c->cl->user_agent));
    if (call->want_gzip)
        nv[n++] = nv_of(STR("accept-encoding"), STR("gzip"));
    for (size_t i = 0; i < call->n_headers; i++)
        if (!is_connection_header(call->headers[i].name))
            nv[n++] = nv_of(call->headers[i].name, call->headers[i].value);
    if (call->has_body) {
        char *end = length + 24, *p = end;
        size_t v = call->body_len;
        do
            *--p = (char)('0' + v % 10);
        while (v /= 10);
        nv[n++] = nv_of(STR("content-length"), (struct str){ p, (size_t)(end - p) });
    }
    return n;
}

static void h2_arm_ping(struct h2 *h, nsec_t delay);

static void h2_start(struct conn *c, struct call *call)
{
    struct h2 *h = c->state;
    nghttp2_nv few[HEADERS_ON_STACK];
    CLEANUP(mem_free) nghttp2_nv *many = NULL;
    nghttp2_data_provider body = { .read_callback = on_read_body };
    char length[24];

    if (call->n_headers + 7 > HEADERS_ON_STACK)
        many = xnewn0(call->n_headers + 7, nghttp2_nv);
    nghttp2_nv *nv = many ? many : few;
    size_t n = h2_request_head(c, call, length, nv);
    int32_t id = nghttp2_submit_request(h->ng, NULL, nv, n, call->body_len ? &body : NULL, call);
    if (id < 0) {
        /* Out of stream numbers: this connection is used up, the next one takes the call. */
        c->draining = true;
        call->tries--;
        call_unlink(call);
        link_add_first(&c->cl->waiting, &call->link);
        c->cl->stats.waiting++;
        return;
    }
    call->stream_id = id;
    h2_flush_later(h);
    if (!h->ping_timer) {
        h->last_recv = loop_mono(c->cl->loop);
        h2_arm_ping(h, c->cl->ping_interval);
    }
}

/* ---- liveness -------------------------------------------------------------------------------- */

static void on_ping_timer(struct loop *l, void *arg)
{
    struct h2 *h = arg;
    struct conn *c = h->c;
    nsec_t silence = loop_mono(l) - h->last_recv;

    h->ping_timer = NULL;
    if (c->n_calls == 0)
        return; /* an idle connection is closed by the pool; h2_start() arms again */
    if (silence < c->cl->ping_interval) {
        h2_arm_ping(h, c->cl->ping_interval - silence);
    } else if (!h->pinging) {
        h->pinging = true;
        nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, NULL);
        h2_flush_later(h);
        h2_arm_ping(h, loop_outside(l, PING_PATIENCE));
    } else {
        struct kerr err;
        kerr_set(&err, -ETIMEDOUT, "the connection is dead: no answer to an HTTP/2 PING");
        h2_broken(c, &err);
    }
}

static void h2_arm_ping(struct h2 *h, nsec_t delay)
{
    h->ping_timer = loop_after(h->c->cl->loop, delay, on_ping_timer, h);
}

/* ---- the connection's events ----------------------------------------------------------------- */

static void h2_on_data(struct conn *c, const char *p, size_t n)
{
    struct h2 *h = c->state;

    h->last_recv = loop_mono(c->cl->loop);
    h->pinging = false;
    h->in_recv = true;
    ssize_t r = nghttp2_session_mem_recv(h->ng, (const uint8_t *)p, n);
    h->in_recv = false;
    if (!c->closed && r < 0)
        h2_fatal(c, r);
    else if (c->draining && c->n_calls == 0)
        conn_close(c);
    else
        h2_flush(c);
    client_pump(c->cl); /* what a GOAWAY refused goes elsewhere */
}

static void h2_on_drain(struct conn *c)
{
    h2_flush(c);
}

static void h2_on_close(struct conn *c, const struct kerr *err)
{
    h2_broken(c, err);
}

static bool h2_can_take(const struct conn *c)
{
    const struct h2 *h = c->state;
    uint32_t limit = STREAMS_BEFORE_SETTINGS;

    if (!nghttp2_session_check_request_allowed(h->ng))
        return false;
    if (h->got_settings)
        limit = nghttp2_session_get_remote_settings(h->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (c->cl->max_streams && c->cl->max_streams < limit)
        limit = c->cl->max_streams;
    return c->n_calls < limit;
}

static void h2_drop(struct conn *c, struct call *call)
{
    struct h2 *h = c->state;

    if (c->closed || call->stream_id == 0)
        return;
    nghttp2_session_set_stream_user_data(h->ng, call->stream_id, NULL);
    nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
    h2_flush_later(h);
}

/* The window does it: what is not consumed is not sent again. */
static void h2_pause(struct conn *c, struct call *call, bool paused)
{
    (void)c, (void)call, (void)paused;
}

static void h2_consumed(struct conn *c, struct call *call, size_t n)
{
    struct h2 *h = c->state;

    nghttp2_session_consume_stream(h->ng, call->stream_id, n);
    if (nghttp2_session_want_write(h->ng))
        h2_flush_later(h);
}

static void h2_bye(struct conn *c)
{
    struct h2 *h = c->state;
    const uint8_t *p;
    ssize_t n;

    if (h->lost || h->in_recv || h->in_send ||
        nghttp2_session_terminate_session(h->ng, NGHTTP2_NO_ERROR) != 0)
        return;
    while ((n = nghttp2_session_mem_send(h->ng, &p)) > 0)
        conn_write(c, p, (size_t)n);
}

static void h2_init(struct conn *c)
{
    struct h2 *h = xnew0(struct h2);
    nghttp2_session_callbacks *cbs;
    nghttp2_option *opt;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_MAX_BYTES },
    };

    h->c = c;
    c->state = h;
    nghttp2_session_callbacks_new(&cbs);
    h2_set_callbacks(cbs);
    nghttp2_option_new(&opt);
    nghttp2_option_set_no_auto_window_update(opt, 1);
    nghttp2_option_set_no_closed_streams(opt, 1);
    int r = nghttp2_session_client_new2(&h->ng, cbs, h, opt);
    assert(r == 0); /* only for lack of memory */
    nghttp2_option_del(opt);
    nghttp2_session_callbacks_del(cbs);
    nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW);
    h2_flush_later(h);
}

static void h2_fini(struct conn *c)
{
    struct h2 *h = c->state;

    timer_cancel(h->flush_timer);
    timer_cancel(h->ping_timer);
    nghttp2_session_del(h->ng);
    headbuf_fini(&h->head);
    free(h);
}

const struct conn_proto conn_h2 = {
    .init = h2_init,
    .can_take = h2_can_take,
    .start = h2_start,
    .drop = h2_drop,
    .pause = h2_pause,
    .consumed = h2_consumed,
    .on_data = h2_on_data,
    .on_drain = h2_on_drain,
    .on_close = h2_on_close,
    .bye = h2_bye,
    .fini = h2_fini,
};
