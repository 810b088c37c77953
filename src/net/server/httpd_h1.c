/* httpd_h1.c - HTTP/1.1 and 1.0 on llhttp.
 *
 * One request at a time: the parser is paused at the end of a request until its answer is complete,
 * and in front of a body that the handler does not want yet. Input that comes meanwhile waits in
 * `in`; we go on reading into it (up to a bound) because only a reader notices that a client left.
 */
#include "net/server/httpd_int.h"

#include <llhttp.h>
#include <stdio.h>
#include <strings.h>

enum { CHUNK_EXTRA_MAX = 16 * 1024 }; /* chunk extensions and trailers of one body */

struct h1 {
    llhttp_t parser;
    struct httpd_req *cur; /* from its first byte until its answer and its body have ended */
    struct strbuf in;
    bool paused;      /* the parser */
    bool read_paused; /* the stream */
    bool broken;      /* the parser gave up: nothing more is read */
    int fail;         /* what to answer when a callback stopped the parser */
    size_t extra;
    uint32_t piece; /* offset of the header name or value in progress */
};

static int stop_with(struct h1 *h, int status)
{
    h->fail = status;
    return HPE_USER;
}

/* ---- parsing: the head ----------------------------------------------------------------------- */

static struct httpd_conn *conn_of(llhttp_t *p)
{
    return p->data;
}

static int on_message_begin(llhttp_t *p)
{
    struct httpd_conn *c = conn_of(p);

    assert(!c->h1->cur);
    c->h1->cur = req_new(c);
    c->h1->extra = 0;
    c->h1->piece = 0;
    conn_wait(c, WAIT_HEAD);
    return HPE_OK;
}

/* Counts towards the limits, and says whether the bytes belong to the head. */
static int take_bytes(struct h1 *h, size_t n, size_t max_header, bool *ret_head)
{
    struct httpd_req *r = h->cur;

    *ret_head = !r->seen;
    if (r->seen) { /* a trailer: counted, not kept */
        h->extra += n;
        return h->extra > CHUNK_EXTRA_MAX ? stop_with(h, 431) : HPE_OK;
    }
    r->head_bytes += n;
    return r->head_bytes > max_header ? stop_with(h, 431) : HPE_OK;
}

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct httpd_conn *c = conn_of(p);
    bool head;
    int r = take_bytes(c->h1, n, c->d->o.max_header, &head);

    if (r == HPE_OK)
        strbuf_appendn(&c->h1->cur->text, at, n);
    return r;
}

static int on_url_complete(llhttp_t *p)
{
    struct h1 *h = conn_of(p)->h1;

    strbuf_appendc(&h->cur->text, '\0');
    h->piece = (uint32_t)h->cur->text.len;
    return HPE_OK;
}

static int on_field(llhttp_t *p, const char *at, size_t n)
{
    struct httpd_conn *c = conn_of(p);
    struct strbuf *text = &c->h1->cur->text;
    bool head;
    int r = take_bytes(c->h1, n, c->d->o.max_header, &head);

    if (r != HPE_OK || !head)
        return r;
    strbuf_appendn(text, at, n);
    for (char *s = text->data + text->len - n; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s - 'A' + 'a');
    return HPE_OK;
}

static int on_field_complete(llhttp_t *p)
{
    struct httpd_conn *c = conn_of(p);
    struct h1 *h = c->h1;
    struct httpd_req *r = h->cur;
    bool head;
    int rv = take_bytes(h, 4, c->d->o.max_header, &head); /* ": " and the line's end */

    if (rv != HPE_OK || !head)
        return rv;
    if (r->headers.n == HTTPD_MAX_HEADERS)
        return stop_with(h, 431);
    struct req_header e = { .name = h->piece, .name_len = (uint32_t)r->text.len - h->piece };
    strbuf_appendc(&r->text, '\0');
    e.value = h->piece = (uint32_t)r->text.len;
    vec_push(&r->headers, e);
    return HPE_OK;
}

static int on_value(llhttp_t *p, const char *at, size_t n)
{
    struct httpd_conn *c = conn_of(p);
    bool head;
    int r = take_bytes(c->h1, n, c->d->o.max_header, &head);

    if (r == HPE_OK && head)
        strbuf_appendn(&c->h1->cur->text, at, n);
    return r;
}

static int on_value_complete(llhttp_t *p)
{
    struct h1 *h = conn_of(p)->h1;
    struct httpd_req *r = h->cur;

    if (r->seen)
        return HPE_OK;
    struct strbuf *text = &r->text;
    while (text->len > h->piece && strchr(" \t", text->data[text->len - 1]))
        strbuf_truncate(text, text->len - 1);
    vec_last(&r->headers).value_len = (uint32_t)text->len - h->piece;
    strbuf_appendc(text, '\0');
    h->piece = (uint32_t)text->len;
    return HPE_OK;
}

/* "http://host/path", as sent to proxies: only the path counts. */
static void strip_origin(struct httpd_req *r)
{
    const char *t = httpd_target(r);
    size_t n = strncasecmp(t, "http://", 7) == 0 ? 7 : strncasecmp(t, "https://", 8) == 0 ? 8 : 0;

    if (n > 0) {
        n += strcspn(t + n, "/?");
        if (t[n] != '/') { /* no path: "/" takes the place of the byte before */
            n--;
            r->text.data[r->target + n] = '/';
        }
        r->target += (uint32_t)n;
    }
}

static int check_head(llhttp_t *p, struct httpd_req *r)
{
    unsigned hosts = 0;

    if (p->http_major != 1 || p->http_minor > 1)
        return 505;
    if (p->method == HTTP_CONNECT)
        return 405;
    if (p->http_minor == 0 && (p->flags & (F_CHUNKED | F_TRANSFER_ENCODING)))
        return 400; /* 1.0 knows no chunks: a proxy before us would see another end of the body */
    vec_foreach(&r->headers, i)
        if (str_eqz(
                (struct str){ req_text(r, r->headers.items[i].name), r->headers.items[i].name_len },
                "host"))
            hosts++;
    if (hosts > 1 || (hosts == 0 && p->http_minor == 1))
        return 400;
    const char *t = httpd_target(r);
    return t[0] == '/' || (t[0] == '*' && t[1] == '\0' && p->method == HTTP_OPTIONS) ? 0 : 400;
}

static int on_headers_complete(llhttp_t *p)
{
    struct httpd_conn *c = conn_of(p);
    struct httpd_req *r = c->h1->cur;
    bool has_body = (p->flags & F_CHUNKED) || p->content_length > 0;

    p->upgrade = 0; /* we offer none, so the request is an ordinary one */
    r->method = (uint32_t)r->text.len;
    strbuf_append(&r->text, llhttp_method_name((llhttp_method_t)p->method));
    strbuf_appendc(&r->text, '\0');
    strip_origin(r);
    int status = check_head(p, r);
    if (status)
        return stop_with(c->h1, status);
    r->http10 = p->http_minor == 0;
    r->close = !llhttp_should_keep_alive(p);
    conn_wait(c, WAIT_NOTHING);
    req_start(r, p->flags & F_CHUNKED ? 0 : p->content_length, has_body);
    return c->dead || r->linger ? HPE_USER : HPE_OK;
}

/* ---- parsing: the body ----------------------------------------------------------------------- */

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct httpd_conn *c = conn_of(p);
    struct httpd_req *r = c->h1->cur;

    req_body(r, at, n);
    if (c->dead || c->state != CONN_OPEN || r->linger)
        return HPE_USER;
    return r->use == BODY_HELD ? HPE_PAUSED : HPE_OK;
}

static int on_extension(llhttp_t *p, const char *at, size_t n)
{
    struct h1 *h = conn_of(p)->h1;

    (void)at;
    h->extra += n + 1;
    return h->extra > CHUNK_EXTRA_MAX ? stop_with(h, 400) : HPE_OK;
}

static size_t conn_queued(const struct httpd_conn *c)
{
    return c->out.len + stream_queued(c->s);
}

/* Answer and body are complete: make room for the next request. */
static void finish_request(struct httpd_conn *c)
{
    struct httpd_req *r = c->h1->cur;
    bool close = r->close || c->d->leaving;

    c->h1->cur = NULL;
    req_free(r);
    if (close)
        conn_finish(c, false);
    else
        conn_wait(c, WAIT_IDLE);
}

static int on_message_complete(llhttp_t *p)
{
    struct httpd_conn *c = conn_of(p);
    struct httpd_req *r = c->h1->cur;

    req_body_end(r);
    if (c->dead)
        return HPE_USER;
    if (!r->ended)
        return HPE_PAUSED;
    finish_request(c);
    return c->state != CONN_OPEN || conn_queued(c) >= STREAM_HIGH_WATER ? HPE_PAUSED : HPE_OK;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_message_complete = on_message_complete,
};

/* ---- feeding the parser ---------------------------------------------------------------------- */

static void give_up(struct httpd_conn *c, int status)
{
    struct h1 *h = c->h1;

    h->broken = true;
    if (!h->cur)
        h->cur = req_new(c);
    if (!h->cur->seen && h->cur->status == 0) { /* the head may lack anything */
        strbuf_reset(&h->cur->text);
        strbuf_appendn(&h->cur->text, "\0", 1);
        h->cur->method = h->cur->target = 0;
        vec_clear(&h->cur->headers);
    }
    if (!h->cur->linger) /* else it was refused on the way and has its answer */
        req_refuse(h->cur, status);
    if (!c->dead)
        conn_mark(c);
}

/* Returns how much was used. */
static size_t feed(struct httpd_conn *c, const char *p, size_t n)
{
    struct h1 *h = c->h1;
    llhttp_errno_t e = llhttp_execute(&h->parser, p, n);

    if (c->dead || e == HPE_OK)
        return n;
    if (e == HPE_PAUSED) {
        h->paused = true;
        return (size_t)(llhttp_get_error_pos(&h->parser) - p);
    }
    if (c->state == CONN_OPEN)
        give_up(c, h->fail ? h->fail : e == HPE_INVALID_VERSION ? 505 : 400);
    return n;
}

static void h1_input(struct httpd_conn *c, const char *p, size_t n)
{
    struct h1 *h = c->h1;

    if (h->broken)
        return;
    if (!h->paused) {
        size_t used = feed(c, p, n);

        if (c->dead || h->broken)
            return;
        p += used;
        n -= used;
    }
    if (n == 0)
        return;
    strbuf_appendn(&h->in, p, n);
    if (h->in.len >= HTTPD_INPUT && !h->read_paused) {
        h->read_paused = true;
        stream_pause(c->s, true);
    }
}

static bool may_resume(const struct httpd_conn *c)
{
    const struct httpd_req *r = c->h1->cur;

    if (!c->h1->paused || c->h1->broken)
        return false;
    return r ? !r->body_done && r->use != BODY_HELD : conn_queued(c) < STREAM_HIGH_WATER;
}

static void h1_advance(struct httpd_conn *c)
{
    struct h1 *h = c->h1;
    struct httpd_req *r = h->cur;

    if (r && r->ended && r->body_done) {
        finish_request(c);
    } else if (r && r->ended && r->close) {
        conn_finish(c, true); /* no use in reading the rest of its body */
        return;
    }
    if (c->state != CONN_OPEN || !may_resume(c))
        return;
    h->paused = false;
    llhttp_resume(&h->parser);
    /* Also without input: the end of a message may be what the parser was paused in front of. */
    size_t used = feed(c, strbuf_str(&h->in), h->in.len);
    if (c->dead || h->broken)
        return;
    strbuf_consume(&h->in, used);
    if (h->in.len == 0 && h->in.cap > HTTPD_KEEP)
        strbuf_fini(&h->in);
    if (h->read_paused && h->in.len < HTTPD_INPUT) {
        h->read_paused = false;
        stream_pause(c->s, false);
    }
    if (may_resume(c) || (h->cur && h->cur->ended))
        conn_mark(c);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void put(struct httpd_conn *c, const char *text)
{
    conn_put(c, text, strlen(text));
}

static void h1_head(struct httpd_req *r, const struct http_header *hd, size_t n)
{
    struct httpd_conn *c = r->c;
    struct strbuf *b = &c->out;

    strbuf_append(b, "HTTP/1.1 ");
    strbuf_append_i64(b, r->status);
    strbuf_appendc(b, ' ');
    strbuf_append(b, status_text(r->status));
    strbuf_append(b, "\r\ndate: ");
    strbuf_append(b, httpd_date(c->d));
    strbuf_append(b, "\r\n");
    for (size_t i = 0; i < n; i++) {
        if (str_eqz(hd[i].name, "connection") && str_eqz(hd[i].value, "close"))
            r->close = true;
        if (!req_sends_header(r, hd[i].name))
            continue;
        append_clean(b, hd[i].name);
        strbuf_append(b, ": ");
        append_clean(b, hd[i].value);
        strbuf_append(b, "\r\n");
    }
    if (r->gz)
        strbuf_append(b, "content-encoding: gzip\r\nvary: accept-encoding\r\n");
    if (!r->bare && !r->has_left) {
        r->chunked = !r->http10;
        r->close |= r->http10; /* the end of the connection is the end of the body */
        if (r->chunked)
            strbuf_append(b, "transfer-encoding: chunked\r\n");
    }
    /* A client that was not told to go on may or may not send its body: only closing is clear. */
    r->close |= c->d->leaving || (r->expects && !r->body_done);
    if (r->close)
        strbuf_append(b, "connection: close\r\n");
    else if (r->http10)
        strbuf_append(b, "connection: keep-alive\r\n");
    strbuf_append(b, "\r\n");
}

static void h1_data(struct httpd_req *r, const char *p, size_t n)
{
    char size[24];

    if (!r->chunked) {
        conn_put(r->c, p, n);
        return;
    }
    conn_put(r->c, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", n));
    conn_put(r->c, p, n);
    put(r->c, "\r\n");
}

static void h1_end(struct httpd_req *r)
{
    struct http_header t;

    if (!r->chunked)
        return;
    put(r->c, "0\r\n");
    for (size_t at = 0; req_next_trailer(r, &at, &t);) {
        conn_put(r->c, t.name.p, t.name.n);
        put(r->c, ": ");
        conn_put(r->c, t.value.p, t.value.n);
        put(r->c, "\r\n");
    }
    put(r->c, "\r\n");
}

static void h1_abort(struct httpd_req *r)
{
    conn_finish(r->c, r->complete);
}

static size_t h1_queued(const struct httpd_req *r)
{
    return conn_queued(r->c);
}

static void h1_go_on(struct httpd_req *r)
{
    put(r->c, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void h1_consumed(struct httpd_req *r, size_t n)
{
    (void)r, (void)n;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void h1_start(struct httpd_conn *c)
{
    c->h1 = xnew0(struct h1);
    llhttp_init(&c->h1->parser, HTTP_REQUEST, &settings);
    c->h1->parser.data = c;
}

static void h1_sent(struct httpd_conn *c)
{
    struct httpd_req *r = c->h1->cur;

    if (r && r->owes_drain && !r->ended && conn_queued(c) < STREAM_LOW_WATER) {
        r->owes_drain = false;
        r->drained = true;
        if (r->ev.on_drain)
            req_todo(r);
    }
    if (c->h1->paused && may_resume(c)) /* it was the output queue that held us */
        conn_mark(c);
}

static void h1_timeout(struct httpd_conn *c)
{
    if (c->wait == WAIT_HEAD && c->h1->cur)
        give_up(c, 408);
    else
        conn_kill(c);
}

static void h1_stop(struct httpd_conn *c)
{
    if (!c->h1->cur && c->h1->in.len == 0)
        conn_finish(c, false);
}

static void h1_fini(struct httpd_conn *c)
{
    strbuf_fini(&c->h1->in);
    free(c->h1);
}

const struct httpd_proto httpd_h1 = {
    .start = h1_start,
    .input = h1_input,
    .advance = h1_advance,
    .sent = h1_sent,
    .timeout = h1_timeout,
    .stop = h1_stop,
    .fini = h1_fini,
    .head = h1_head,
    .data = h1_data,
    .end = h1_end,
    .abort = h1_abort,
    .queued = h1_queued,
    .go_on = h1_go_on,
    .consumed = h1_consumed,
};
