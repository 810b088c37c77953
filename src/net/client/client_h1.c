/* client_h1.c - HTTP/1.1 on one connection of the client: one call at a time, kept alive. */
#include <llhttp.h>

#include "net/client/client_int.h"

struct h1 {
    llhttp_t parser;
    struct conn *c;
    struct headbuf head;
    struct kerr err; /* why a parser callback stopped */
    bool in_value;   /* the last piece of header was a value: the next name begins a header */
    bool interim;    /* this head is a 1xx: not the answer */
    bool head_done;
    bool done; /* the answer is complete */
    bool keep_alive;
    bool reused; /* the present call is not the connection's first */
};

enum { BODY_PIECE = 64 * 1024 };

static struct call *h1_call(struct conn *c)
{
    return c->n_calls ? container_of(c->calls.next, struct call, link) : NULL;
}

/* ---- parser callbacks: return 0 to go on ------------------------------------------------------
 */

static int h1_stop(struct h1 *h, int code, const char *why)
{
    kerr_set(&h->err, code, "%s", why);
    return HPE_USER;
}

/* After a handler ran: it may have cancelled the call or freed the client. */
static int h1_go_on(struct h1 *h)
{
    return h->c->closed || !h1_call(h->c) ? HPE_USER : 0;
}

static int on_begin(llhttp_t *p)
{
    struct h1 *h = p->data;

    headbuf_reset(&h->head);
    h->in_value = true;
    h->interim = h->head_done = false;
    return 0;
}

static int on_name(llhttp_t *p, const char *at, size_t n)
{
    struct h1 *h = p->data;
    bool begin = h->in_value;

    h->in_value = false;
    if (headbuf_name(&h->head, at, n, begin) < 0)
        return h1_stop(h, -EMSGSIZE, "the answer's header is too large");
    return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t n)
{
    struct h1 *h = p->data;
    bool begin = !h->in_value;

    h->in_value = true;
    if (headbuf_value(&h->head, at, n, begin) < 0)
        return h1_stop(h, -EMSGSIZE, "the answer's header is too large");
    return 0;
}

static int on_head(llhttp_t *p)
{
    struct h1 *h = p->data;
    struct call *call = h1_call(h->c);
    int status = llhttp_get_status_code(p);

    if (status == 101)
        return h1_stop(h, -EPROTO, "the server switches protocols, which nobody asked for");
    if (status < 100)
        return h1_stop(h, -EPROTO, "the answer is not valid HTTP: bad status");
    if (status < 200) {
        h->interim = true;
        return 0;
    }
    h->head_done = true;
    bool no_body = call->is_head;
    call_headers(call, status, &h->head);
    headbuf_reset(&h->head); /* from here on: trailers */
    h->in_value = true;
    if (h1_go_on(h) != 0)
        return -1;
    return no_body ? 1 : 0;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct h1 *h = p->data;

    if (h->interim)
        return h1_stop(h, -EPROTO, "the answer is not valid HTTP: a 1xx has no body");
    call_body(h1_call(h->c), at, n);
    return h1_go_on(h);
}

static int on_complete(llhttp_t *p)
{
    struct h1 *h = p->data;

    if (h->interim)
        return 0;
    if (h->head.items.n > 0) {
        call_trailers(h1_call(h->c), &h->head);
        if (h1_go_on(h) != 0)
            return HPE_USER;
    }
    h->done = true;
    h->keep_alive = llhttp_should_keep_alive(p);
    return HPE_PAUSED;
}

static const llhttp_settings_t parser_settings = {
    .on_message_begin = on_begin,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* ---- sending --------------------------------------------------------------------------------- */

static void h1_push_body(struct conn *c, struct call *call)
{
    while (call->body_off < call->body_len && stream_queued(c->stream) < STREAM_HIGH_WATER) {
        size_t n = MIN(call->body_len - call->body_off, (size_t)BODY_PIECE);
        conn_write(c, call->body + call->body_off, n);
        call->body_off += n;
    }
}

static void append_header(struct strbuf *b, struct str name, struct str value)
{
    strbuf_appendn(b, name.p, name.n);
    strbuf_appendn(b, ": ", 2);
    strbuf_appendn(b, value.p, value.n);
    strbuf_appendn(b, "\r\n", 2);
}

static void h1_start(struct conn *c, struct call *call)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct h1 *h = c->state;

    strbuf_append(&b, call->method);
    strbuf_appendc(&b, ' ');
    strbuf_append(&b, call->target);
    strbuf_append(&b, " HTTP/1.1\r\n");
    append_header(&b, STR("host"), str_of(c->cl->authority));
    append_header(&b, STR("user-agent"), str_of(c->cl->user_agent));
    if (call->want_gzip)
        append_header(&b, STR("accept-encoding"), STR("gzip"));
    for (size_t i = 0; i < call->n_headers; i++)
        append_header(&b, call->headers[i].name, call->headers[i].value);
    if (call->has_body) {
        strbuf_append(&b, "content-length: ");
        strbuf_append_i64(&b, (int64_t)call->body_len);
        strbuf_append(&b, "\r\n");
    }
    strbuf_append(&b, "\r\n");
    llhttp_init(&h->parser, HTTP_RESPONSE, &parser_settings);
    h->parser.data = h;
    h->done = h->head_done = h->interim = false;
    h->reused = c->used;
    c->used = true;
    call->maybe_sent = true;
    conn_write(c, b.data, b.len);
    h1_push_body(c, call);
    stream_flush(c->stream);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void h1_complete(struct conn *c, bool reusable)
{
    struct h1 *h = c->state;
    struct call *call = h1_call(c);

    reusable = reusable && h->keep_alive && call->body_off == call->body_len;
    call->refs++;
    call_unlink(call);
    if (call->paused && reusable)
        stream_pause(c->stream, false); /* was this call's; the next one is not concerned */
    if (!reusable)
        conn_close(c);
    else
        conn_released(c);
    call_complete(call);
    call_unref(call);
}

static void h1_broken(struct conn *c, const struct kerr *err)
{
    struct h1 *h = c->state;
    struct call *call = h1_call(c);

    conn_close(c);
    if (!call)
        return;
    /* The server closed an idle connection while our request was on its way: the usual race of
     * keep-alive. Safe to repeat when the request changes nothing; on a new connection, because the
     * other idle ones are as old as this one. */
    if (h->reused && !call->got_bytes && call->is_safe && call_retry(call)) {
        client_close_idle(c->cl);
        return;
    }
    call_fail(call, err, true);
}

static void h1_on_data(struct conn *c, const char *p, size_t n)
{
    struct h1 *h = c->state;
    struct call *call = h1_call(c);
    struct kerr err = { 0 };

    if (!call) { /* nobody asked anything: a 408, or nonsense */
        conn_close(c);
        return;
    }
    call_touch(call);
    h->err.code = 0;
    enum llhttp_errno e = llhttp_execute(&h->parser, p, n);
    if (c->closed || !h1_call(c))
        return;
    if (h->done) {
        h1_complete(c, llhttp_get_error_pos(&h->parser) == p + n);
        return;
    }
    if (e == HPE_OK)
        return;
    if (h->err.code)
        err = h->err;
    else
        kerr_set(&err, -EPROTO, "the answer is not valid HTTP: %s",
                 str_or(llhttp_get_error_reason(&h->parser), llhttp_errno_name(e)));
    h1_broken(c, &err);
}

static void h1_on_close(struct conn *c, const struct kerr *why)
{
    struct h1 *h = c->state;
    struct call *call = h1_call(c);
    struct kerr err = { 0 };

    if (!call) {
        conn_close(c);
        return;
    }
    if (!why && h->head_done)
        (void)llhttp_finish(&h->parser); /* a body may end with the connection: on_complete() */
    if (c->closed || !h1_call(c))
        return;
    if (h->done) {
        h1_complete(c, false);
        return;
    }
    if (why)
        err = *why;
    else
        kerr_set(&err, -ECONNRESET, "the server closed the connection %s",
                 h->head_done ? "in the middle of its answer" : "without an answer");
    h1_broken(c, &err);
}

static void h1_on_drain(struct conn *c)
{
    struct call *call = h1_call(c);

    if (call)
        h1_push_body(c, call);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void h1_init(struct conn *c)
{
    struct h1 *h = xnew0(struct h1);

    h->c = c;
    c->state = h;
}

static void h1_fini(struct conn *c)
{
    struct h1 *h = c->state;

    headbuf_fini(&h->head);
    free(h);
}

static bool h1_can_take(const struct conn *c)
{
    return c->n_calls == 0;
}

/* An exchange cannot be abandoned halfway without its connection. */
static void h1_drop(struct conn *c, struct call *call)
{
    (void)call;
    conn_close(c);
}

static void h1_pause(struct conn *c, struct call *call, bool paused)
{
    (void)call;
    if (c->stream)
        stream_pause(c->stream, paused);
}

const struct conn_proto conn_h1 = {
    .init = h1_init,
    .can_take = h1_can_take,
    .start = h1_start,
    .drop = h1_drop,
    .pause = h1_pause,
    .on_data = h1_on_data,
    .on_drain = h1_on_drain,
    .on_close = h1_on_close,
    .fini = h1_fini,
};
