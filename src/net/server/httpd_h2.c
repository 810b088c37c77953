/* httpd_h2.c - HTTP/2 on nghttp2.
 *
 * Answer bytes wait in their request's buffer; nghttp2 asks for them as far as the peer's windows
 * allow and only while the stream's own queue is short, so httpd_queued() tells the truth. Request
 * bodies open the connection's window at once, but their stream's window only when somebody took
 * the bytes: a handler that hesitates slows down its own request and no other.
 */
#include "net/server/httpd_int.h"

#include <nghttp2/nghttp2.h>

enum {
    H2_STREAM_WINDOW = 256 * 1024,
    H2_CONN_WINDOW = 1024 * 1024,
    H2_CONTINUATIONS = 32, /* per head */
    /* Frames that cost us more than their sender: so many at once, so many a second. */
    H2_RESETS = 500,
    H2_RESETS_PER_SEC = 50,
    H2_CONTROLS = 10000, /* gRPC clients measure the line with a PING per call */
    H2_CONTROLS_PER_SEC = 5000,
};

struct bucket {
    double tokens;
    nsec_t at;
};

struct h2 {
    nghttp2_session *ng;
    struct bucket resets, controls;
    unsigned continuations;
    int32_t head_id; /* stream whose head is coming in, 0: none */
    bool stopping;
};

static bool bucket_take(struct bucket *b, nsec_t now, double per_sec, double max)
{
    b->tokens += (double)(now - b->at) / (double)NSEC_PER_SEC * per_sec;
    b->at = now;
    if (b->tokens > max)
        b->tokens = max;
    if (b->tokens < 1)
        return false;
    b->tokens -= 1;
    return true;
}

/* A head in progress blocks all other frames: its deadline is the connection's. */
static void wait_again(struct httpd_conn *c)
{
    if (c->h2->head_id == 0)
        conn_wait(c, TAILQ_EMPTY(&c->reqs) ? WAIT_IDLE : WAIT_NOTHING);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int result(const struct httpd_conn *c)
{
    return c->dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static struct httpd_req *req_of(nghttp2_session *ng, int32_t id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

static bool flooded(struct httpd_conn *c, const nghttp2_frame_hd *hd)
{
    struct h2 *h = c->h2;
    nsec_t now = loop_mono(c->d->loop);

    switch (hd->type) {
    case NGHTTP2_HEADERS: h->continuations = 0; return false;
    case NGHTTP2_CONTINUATION: return ++h->continuations > H2_CONTINUATIONS;
    case NGHTTP2_RST_STREAM: return !bucket_take(&h->resets, now, H2_RESETS_PER_SEC, H2_RESETS);
    case NGHTTP2_DATA:
        if (hd->length > 0 || (hd->flags & NGHTTP2_FLAG_END_STREAM))
            return false;
        break;
    case NGHTTP2_PING:
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PRIORITY: break;
    default: return false;
    }
    return !bucket_take(&h->controls, now, H2_CONTROLS_PER_SEC, H2_CONTROLS);
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *arg)
{
    struct httpd_conn *c = arg;

    if (flooded(c, hd))
        nghttp2_session_terminate_session(ng, NGHTTP2_ENHANCE_YOUR_CALM);
    return 0;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct httpd_conn *c = arg;

    if (f->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct httpd_req *r = req_new(c);
    r->id = f->hd.stream_id;
    strbuf_appendn(&r->text, "\0", 1); /* what a head lacks is "" */
    nghttp2_session_set_stream_user_data(ng, r->id, r);
    c->h2->head_id = r->id;
    conn_wait(c, WAIT_HEAD);
    return 0;
}

static uint32_t keep(struct httpd_req *r, const uint8_t *p, size_t n)
{
    uint32_t at = (uint32_t)r->text.len;

    strbuf_appendn(&r->text, p, n);
    strbuf_appendc(&r->text, '\0');
    return at;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *arg)
{
    struct httpd_conn *c = arg;
    struct httpd_req *r = req_of(ng, f->hd.stream_id);
    struct str key = { (const char *)name, name_len };

    (void)flags;
    if (!r || f->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers */
    r->head_bytes += name_len + value_len + 32;
    if (r->head_bytes > c->d->o.max_header || r->headers.n == HTTPD_MAX_HEADERS) {
        r->too_large = true; /* the rest must still go through the decoder: its table is shared */
        return 0;
    }
    if (str_eqz(key, ":method")) {
        r->method = keep(r, value, value_len);
    } else if (str_eqz(key, ":path")) {
        r->target = keep(r, value, value_len);
    } else if (str_eqz(key, ":authority") || name[0] != ':') {
        struct req_header e = { .name_len = (uint32_t)name_len, .value_len = (uint32_t)value_len };

        if (name[0] == ':') {
            key = STR("host");
            e.name_len = (uint32_t)key.n;
        }
        e.name = keep(r, (const uint8_t *)key.p, key.n);
        e.value = keep(r, value, value_len);
        vec_push(&r->headers, e);
    }
    return 0;
}

static uint64_t content_length(const struct httpd_req *r)
{
    struct str s = httpd_header(r, "content-length"); /* checked by nghttp2 */

    return s.p ? strtoull(s.p, NULL, 10) : 0;
}

/* nghttp2 looks at the path only when the scheme is http or https. */
static int check_head(const struct httpd_req *r)
{
    const char *t = httpd_target(r);

    if (r->too_large)
        return 431;
    if (streq(httpd_method(r), "CONNECT") || t[0] == '\0')
        return 405;
    return t[0] == '/' || (streq(t, "*") && streq(httpd_method(r), "OPTIONS")) ? 0 : 400;
}

static void head_complete(struct httpd_conn *c, const nghttp2_frame *f, struct httpd_req *r)
{
    int refusal = check_head(r);

    c->h2->head_id = 0;
    wait_again(c);
    r->body_done = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (refusal)
        req_refuse(r, refusal);
    else
        req_start(r, content_length(r), !r->body_done);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct httpd_conn *c = arg;
    struct httpd_req *r;

    if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)
        return 0;
    r = req_of(ng, f->hd.stream_id);
    if (!r)
        return 0;
    if (f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST)
        head_complete(c, f, r);
    if (!c->dead && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
        req_body_end(r);
    return result(c);
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *arg)
{
    struct httpd_conn *c = arg;
    struct httpd_req *r = req_of(ng, id);

    (void)flags;
    nghttp2_session_consume_connection(ng, n);
    if (r)
        req_body(r, (const char *)p, n);
    return result(c);
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct httpd_conn *c = arg;
    struct httpd_req *r = req_of(ng, id);

    (void)code;
    if (!r)
        return 0;
    nghttp2_session_set_stream_user_data(ng, id, NULL);
    req_close(r);
    if (c->dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    req_free(r);
    if (c->h2->head_id == id)
        c->h2->head_id = 0;
    wait_again(c);
    return 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct httpd_conn *c = arg;

    /* Resets that we were made to send cost as much as those that were sent to us. */
    if (f->hd.type == NGHTTP2_RST_STREAM && f->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        !bucket_take(&c->h2->resets, loop_mono(c->d->loop), H2_RESETS_PER_SEC, H2_RESETS))
        nghttp2_session_terminate_session(ng, NGHTTP2_ENHANCE_YOUR_CALM);
    if ((f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS) &&
        (f->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        struct httpd_req *r = req_of(ng, f->hd.stream_id);

        if (r && r->linger && !r->body_done) /* answered; no use in the rest of the body */
            nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, r->id, NGHTTP2_NO_ERROR);
    }
    return 0;
}

static void h2_input(struct httpd_conn *c, const char *p, size_t n)
{
    ssize_t used = nghttp2_session_mem_recv(c->h2->ng, (const uint8_t *)p, n);

    if (!c->dead && used < 0)
        conn_finish(c, false);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void submit_trailers(struct httpd_req *r)
{
    nghttp2_nv nv[32];
    struct http_header t;
    size_t n = 0;

    for (size_t at = 0; n < ARRAY_LEN(nv) && req_next_trailer(r, &at, &t); n++)
        nv[n] = (nghttp2_nv){ .name = (uint8_t *)t.name.p,
                              .namelen = t.name.n,
                              .value = (uint8_t *)t.value.p,
                              .valuelen = t.value.n };
    nghttp2_submit_trailer(r->c->h2->ng, r->id, nv, n);
}

static ssize_t read_answer(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max,
                           uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct httpd_req *r = source->ptr;
    size_t n = MIN(r->out.len - r->out_off, max);

    (void)ng, (void)id, (void)arg;
    if (n == 0 && !r->complete) {
        r->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (n > 0) {
        memcpy(buf, r->out.data + r->out_off, n);
        r->out_off += n;
        r->progress = loop_mono(r->c->d->loop);
    }
    size_t left = r->out.len - r->out_off;
    if (left == 0) {
        r->out_off = 0;
        if (r->out.cap > HTTPD_KEEP)
            strbuf_fini(&r->out);
        else
            strbuf_reset(&r->out);
        if (r->complete)
            *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (r->complete && r->trailers.len > 0) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM; /* the trailers bring it */
            submit_trailers(r);
        }
    } else if (r->out_off > HTTPD_PUSH && r->out_off > left) {
        strbuf_consume(&r->out, r->out_off);
        r->out_off = 0;
    }
    if (r->owes_drain && !r->ended && left < STREAM_LOW_WATER) {
        r->owes_drain = false;
        r->drained = true;
        if (r->ev.on_drain)
            req_todo(r);
    }
    return (ssize_t)n;
}

static void h2_advance(struct httpd_conn *c)
{
    nghttp2_session *ng = c->h2->ng;
    const uint8_t *p;
    ssize_t n = 0;

    if (c->h2->stopping && TAILQ_EMPTY(&c->reqs))
        nghttp2_session_terminate_session(ng, NGHTTP2_NO_ERROR);
    while (c->out.len + stream_queued(c->s) < STREAM_HIGH_WATER) {
        n = nghttp2_session_mem_send(ng, &p);
        if (c->dead)
            return;
        if (n <= 0)
            break;
        conn_put(c, p, (size_t)n);
    }
    /* Who was told to go may be about to write: a connection that is reset under its hands fails
     * requests that GOAWAY would have it send again. */
    if (n < 0 || (!nghttp2_session_want_read(ng) && !nghttp2_session_want_write(ng)))
        conn_finish(c, n >= 0 && c->h2->stopping);
    else if (c->h2->stopping && TAILQ_EMPTY(&c->reqs))
        conn_mark(c); /* the last answer has just left */
}

static void nv_add(struct strbuf *b, nghttp2_nv *nv, struct str name, struct str value)
{
    size_t at = b->len;

    append_clean(b, name);
    for (size_t i = at; i < b->len; i++)
        if (b->data[i] >= 'A' && b->data[i] <= 'Z')
            b->data[i] = (char)(b->data[i] - 'A' + 'a');
    append_clean(b, value);
    /* The buffer may still move: offsets now, pointers in submit(). */
    *nv = (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)at, .namelen = name.n, .valuelen = value.n };
}

static void submit(struct httpd_req *r, const struct strbuf *b, nghttp2_nv *nv, size_t n)
{
    nghttp2_data_provider provider = { .source.ptr = r, .read_callback = read_answer };

    for (size_t i = 0; i < n; i++) {
        nv[i].name = (uint8_t *)b->data + (uintptr_t)nv[i].name;
        nv[i].value = nv[i].name + nv[i].namelen;
    }
    nghttp2_submit_response(r->c->h2->ng, r->id, nv, n, r->fin ? NULL : &provider);
}

static void h2_head(struct httpd_req *r, const struct http_header *hd, size_t n)
{
    CLEANUP(mem_free) nghttp2_nv *many = NULL;
    nghttp2_nv few[16], *nv = few;
    struct strbuf *b = &r->c->d->scratch;
    char status[3] = { (char)('0' + r->status / 100), (char)('0' + r->status / 10 % 10),
                       (char)('0' + r->status % 10) };
    size_t k = 0;

    if (n + 4 > ARRAY_LEN(few))
        nv = many = xnewn0(n + 4, nghttp2_nv);
    strbuf_reset(b);
    nv_add(b, &nv[k++], STR(":status"), (struct str){ status, sizeof status });
    nv_add(b, &nv[k++], STR("date"), str_of(httpd_date(r->c->d)));
    for (size_t i = 0; i < n; i++)
        if (req_sends_header(r, hd[i].name))
            nv_add(b, &nv[k++], hd[i].name, hd[i].value);
    if (r->gz) {
        nv_add(b, &nv[k++], STR("content-encoding"), STR("gzip"));
        nv_add(b, &nv[k++], STR("vary"), STR("accept-encoding"));
    }
    submit(r, b, nv, k);
}

static void resume(struct httpd_req *r)
{
    if (r->deferred) {
        r->deferred = false;
        nghttp2_session_resume_data(r->c->h2->ng, r->id);
    }
}

static void h2_data(struct httpd_req *r, const char *p, size_t n)
{
    if (r->out.len == 0)
        r->progress = loop_mono(r->c->d->loop);
    strbuf_appendn(&r->out, p, n);
    conn_arm(r->c, r->progress + r->c->d->o.write_timeout);
    resume(r);
}

static void h2_end(struct httpd_req *r)
{
    if (!r->fin)
        resume(r);
}

static void h2_abort(struct httpd_req *r)
{
    bool unsent = r->complete && r->out.len > 0;

    if (unsent && !r->body_done && !r->linger) {
        r->linger = true; /* the answer is whole and may still leave; the reset follows it */
        return;
    }
    nghttp2_submit_rst_stream(r->c->h2->ng, NGHTTP2_FLAG_NONE, r->id,
                              r->complete && !unsent ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
    conn_mark(r->c);
}

static size_t h2_queued(const struct httpd_req *r)
{
    return r->out.len - r->out_off;
}

static void h2_go_on(struct httpd_req *r)
{
    const nghttp2_nv nv = {
        .name = (uint8_t *)":status", .namelen = 7, .value = (uint8_t *)"100", .valuelen = 3
    };

    nghttp2_submit_headers(r->c->h2->ng, NGHTTP2_FLAG_NONE, r->id, NULL, &nv, 1, NULL);
}

static void h2_consumed(struct httpd_req *r, size_t n)
{
    nghttp2_session_consume_stream(r->c->h2->ng, r->id, n);
}

/* ---- the connection -------------------------------------------------------------------------- */

static nghttp2_session *session_new(struct httpd_conn *c)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    nghttp2_session *ng;

    if (nghttp2_session_callbacks_new(&cb) || nghttp2_option_new(&opt))
        abort(); /* out of memory, as in xmalloc() */
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
    nghttp2_option_set_no_auto_window_update(opt, 1);
    nghttp2_option_set_max_outbound_ack(opt, 256);
    nghttp2_option_set_no_closed_streams(opt, 1);
    if (nghttp2_session_server_new2(&ng, cb, c, opt))
        abort();
    nghttp2_option_del(opt);
    nghttp2_session_callbacks_del(cb);
    return ng;
}

static void h2_start(struct httpd_conn *c)
{
    const struct httpd_opts *o = &c->d->o;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o->max_streams },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)MIN(o->max_header, (size_t)UINT32_MAX) },
    };
    nsec_t now = loop_mono(c->d->loop);

    c->h2 = xnew0(struct h2);
    c->h2->resets = (struct bucket){ H2_RESETS, now };
    c->h2->controls = (struct bucket){ H2_CONTROLS, now };
    c->h2->ng = session_new(c);
    nghttp2_submit_settings(c->h2->ng, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    nghttp2_session_set_local_window_size(c->h2->ng, NGHTTP2_FLAG_NONE, 0, H2_CONN_WINDOW);
    conn_mark(c);
}

static void h2_sent(struct httpd_conn *c)
{
    (void)c;
}

static void h2_timeout(struct httpd_conn *c)
{
    nghttp2_session_terminate_session(c->h2->ng, NGHTTP2_NO_ERROR);
}

static void h2_stop(struct httpd_conn *c)
{
    if (c->h2->stopping)
        return;
    c->h2->stopping = true;
    nghttp2_submit_goaway(c->h2->ng, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(c->h2->ng), NGHTTP2_NO_ERROR,
                          NULL, 0);
}

static void h2_fini(struct httpd_conn *c)
{
    nghttp2_session_del(c->h2->ng);
    free(c->h2);
}

const struct httpd_proto httpd_h2 = {
    .start = h2_start,
    .input = h2_input,
    .advance = h2_advance,
    .sent = h2_sent,
    .timeout = h2_timeout,
    .stop = h2_stop,
    .fini = h2_fini,
    .head = h2_head,
    .data = h2_data,
    .end = h2_end,
    .abort = h2_abort,
    .queued = h2_queued,
    .go_on = h2_go_on,
    .consumed = h2_consumed,
};
