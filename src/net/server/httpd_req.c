/* httpd_req.c - requests as handlers see them: bodies coming in, answers going out.
 *
 * A body is kept back until the handler says what to do with it (httpd_set_events() with on_data,
 * or httpd_read_body()), also in a later turn; the protocols slow the peer down meanwhile. Once the
 * answer has ended, the rest of the body is read and dropped.
 */
#include "net/server/httpd_int.h"

#include <stdio.h>
#include <strings.h>

#include "net/gzip.h"

enum { BODY_PADDING = 16 }; /* zeros behind the text; parsers in place want some (KJ_PADDING) */

/* ---- life ------------------------------------------------------------------------------------ */

struct httpd_req *req_new(struct httpd_conn *c)
{
    struct httpd *d = c->d;
    struct httpd_req *r = TAILQ_FIRST(&d->pool);

    if (r) {
        TAILQ_REMOVE(&d->pool, r, link);
        d->n_pool--;
    } else {
        r = xnew0(struct httpd_req);
    }
    r->c = c;
    r->body_due = NSEC_MAX;
    TAILQ_INSERT_TAIL(&c->reqs, r, link);
    return r;
}

static void req_destroy(struct httpd_req *r)
{
    strbuf_fini(&r->text);
    strbuf_fini(&r->out);
    vec_fini(&r->headers);
    free(r);
}

static void body_release(struct httpd_req *r)
{
    r->c->d->buffered -= r->body.len;
    strbuf_fini(&r->body);
}

void req_free(struct httpd_req *r)
{
    struct httpd_conn *c = r->c;
    struct httpd *d = c->d;

    TAILQ_REMOVE(&c->reqs, r, link);
    if (r->in_todo)
        TAILQ_REMOVE(&c->todo, r, todo_link);
    body_release(r);
    gzip_free(r->gz);
    strbuf_fini(&r->trailers);
    if (d->n_pool >= HTTPD_POOL || r->text.cap + r->out.cap > 2 * HTTPD_KEEP ||
        r->headers.cap > 64) {
        req_destroy(r);
        return;
    }
    struct httpd_req again = { .text = r->text, .out = r->out };
    again.headers.items = r->headers.items;
    again.headers.cap = r->headers.cap;
    strbuf_reset(&again.text);
    strbuf_reset(&again.out);
    *r = again;
    TAILQ_INSERT_HEAD(&d->pool, r, link);
    d->n_pool++;
}

void req_pool_free(struct httpd *d)
{
    for (struct httpd_req *r; (r = TAILQ_FIRST(&d->pool));) {
        TAILQ_REMOVE(&d->pool, r, link);
        req_destroy(r);
    }
}

void req_todo(struct httpd_req *r)
{
    if (!r->in_todo) {
        r->in_todo = true;
        TAILQ_INSERT_TAIL(&r->c->todo, r, todo_link);
    }
    conn_mark(r->c);
}

/* ---- the head -------------------------------------------------------------------------------- */

const char *req_text(const struct httpd_req *r, uint32_t off)
{
    return r->text.data + off;
}

struct str httpd_header(const struct httpd_req *r, const char *name)
{
    size_t n = strlen(name);

    vec_foreach(&r->headers, i) {
        const struct req_header *h = &r->headers.items[i];

        if (h->name_len == n && memcmp(req_text(r, h->name), name, n) == 0)
            return (struct str){ req_text(r, h->value), h->value_len };
    }
    return (struct str){ NULL, 0 };
}

bool httpd_header_at(const struct httpd_req *r, size_t i, struct http_header *ret)
{
    if (i >= r->headers.n)
        return false;
    const struct req_header *h = &r->headers.items[i];
    ret->name = (struct str){ req_text(r, h->name), h->name_len };
    ret->value = (struct str){ req_text(r, h->value), h->value_len };
    return true;
}

const char *httpd_method(const struct httpd_req *r)
{
    return req_text(r, r->method);
}

const char *httpd_target(const struct httpd_req *r)
{
    return req_text(r, r->target);
}

const char *httpd_peer(const struct httpd_req *r)
{
    return r->c->peer;
}

bool httpd_is_loopback(const struct httpd_req *r)
{
    return r->c->loopback;
}

struct stream *httpd_stream(const struct httpd_req *r)
{
    return r->c->s;
}

static bool str_is(struct str s, const char *text)
{
    return s.n == strlen(text) && strncasecmp(s.p, text, s.n) == 0;
}

void req_start(struct httpd_req *r, uint64_t length, bool has_body)
{
    struct httpd *d = r->c->d;
    struct str expect = httpd_header(r, "expect");

    r->is_head = streq(httpd_method(r), "HEAD");
    if (length > d->o.max_body && !d->o.tell_too_large) {
        req_refuse(r, 413);
        return;
    }
    if (expect.p && !str_is(expect, "100-continue")) {
        req_refuse(r, 417);
        return;
    }
    r->expects = expect.p && has_body;
    if (length > d->o.max_body)
        r->too_long = r->close = true;
    if (has_body) {
        r->body_due = loop_mono(d->loop) + d->o.body_timeout;
        conn_arm(r->c, r->body_due);
    }
    struct httpd_conn *c = r->c;
    r->seen = true;
    d->fn(d->arg, r);
    if (!c->dead && r->use == BODY_HELD && !r->ended)
        r->body_due = NSEC_MAX; /* it is us who keep the peer waiting */
}

/* ---- the body -------------------------------------------------------------------------------- */

/* The body is dropped from here on, before and after the answer. */
static void tell_too_long(struct httpd_req *r)
{
    if (r->end_told || r->ended)
        return;
    r->end_told = true;
    r->use = BODY_DROP;
    body_release(r);
    r->body_fn(r->body_arg, r, NULL, 0);
}

static void tell_end(struct httpd_req *r)
{
    struct httpd *d = r->c->d;

    if (r->end_told || r->ended)
        return;
    if (r->too_long && r->use == BODY_WHOLE) {
        tell_too_long(r);
        return;
    }
    r->end_told = true;
    if (r->use != BODY_WHOLE) {
        if (r->ev.on_body_end)
            r->ev.on_body_end(r->arg);
        return;
    }
    /* Ours during the call: the handler may end the request, or the server. */
    CLEANUP(strbuf_fini) struct strbuf text = r->body;
    r->body = (struct strbuf)STRBUF_INIT;
    d->buffered -= text.len;
    memset(strbuf_reserve(&text, BODY_PADDING), 0, BODY_PADDING);
    r->body_fn(r->body_arg, r, text.data, text.len);
}

/* Whether this much of a body may come. What is dropped after an answer of the handler's is bounded
 * too: there may be no end to it. */
static bool body_fits(struct httpd_req *r, size_t n)
{
    const struct httpd *d = r->c->d;
    const bool dropping = r->use == BODY_DROP && r->too_long;

    r->body_got += n;
    if (dropping)
        return (r->body_dropped += n) <= d->o.max_body;
    if (r->body_got <= d->o.max_body || r->too_long)
        return true;
    if (!d->o.tell_too_large || r->use == BODY_EVENTS || r->ended)
        return false;
    r->too_long = r->close = true;
    return true;
}

void req_body(struct httpd_req *r, const char *p, size_t n)
{
    struct httpd_conn *c = r->c;
    struct httpd *d = c->d;

    if (!body_fits(r, n)) {
        req_refuse(r, 413);
        return;
    }
    if (r->too_long && r->use == BODY_WHOLE)
        tell_too_long(r);
    if (c->dead)
        return;
    if (!r->ended && r->use == BODY_EVENTS) {
        if (r->ev.on_data)
            r->ev.on_data(r->arg, p, n);
        if (c->dead)
            return;
    } else if (!r->ended && r->use != BODY_DROP) {
        if (d->buffered + n > d->o.max_buffered) {
            req_refuse(r, 503);
            return;
        }
        strbuf_appendn(&r->body, p, n);
        d->buffered += n;
        if (r->use == BODY_HELD) {
            r->unconsumed += n;
            return;
        }
    }
    c->proto->consumed(r, n);
}

void req_body_end(struct httpd_req *r)
{
    r->body_done = true;
    r->body_due = NSEC_MAX;
    if (r->use != BODY_HELD)
        tell_end(r);
}

/* The handler wants the body, now or later than it came. */
static void body_wanted(struct httpd_req *r)
{
    struct httpd *d = r->c->d;

    if (r->expects && !r->status && !r->body_done && !r->too_long)
        r->c->proto->go_on(r);
    r->expects = false;
    if (!r->body_done) {
        r->body_due = loop_mono(d->loop) + d->o.body_timeout;
        conn_arm(r->c, r->body_due);
    }
    req_todo(r);
}

void httpd_set_events(struct httpd_req *r, const struct httpd_events *ev, void *arg)
{
    if (r->ended)
        return;
    r->ev = *ev;
    r->arg = arg;
    if (r->use == BODY_HELD && (ev->on_data || ev->on_body_end)) {
        r->use = BODY_EVENTS;
        body_wanted(r);
    }
}

void httpd_read_body(struct httpd_req *r, httpd_body_fn fn, void *arg)
{
    if (r->ended)
        return;
    assert(r->use == BODY_HELD);
    r->use = BODY_WHOLE;
    r->body_fn = fn;
    r->body_arg = arg;
    body_wanted(r);
}

static void body_catch_up(struct httpd_req *r)
{
    struct httpd_conn *c = r->c;
    size_t held = r->unconsumed;

    r->unconsumed = 0;
    if (r->too_long) {
        if (r->use == BODY_EVENTS)
            req_refuse(r, 413);
        else
            tell_too_long(r);
        if (!c->dead && held > 0)
            c->proto->consumed(r, held);
        return;
    }
    if (r->use == BODY_EVENTS && r->body.len > 0) {
        CLEANUP(strbuf_fini) struct strbuf text = r->body;

        r->body = (struct strbuf)STRBUF_INIT;
        c->d->buffered -= text.len;
        if (r->ev.on_data)
            r->ev.on_data(r->arg, text.data, text.len);
        if (c->dead)
            return;
    }
    if (held > 0)
        c->proto->consumed(r, held);
    if (r->body_done)
        tell_end(r);
}

static void write_body(struct httpd_req *r, const void *p, size_t n, enum gzip_flush flush)
{
    struct strbuf *b = &r->c->d->scratch;

    if (!r->gz) {
        if (n > 0)
            r->c->proto->data(r, p, n);
        return;
    }
    strbuf_reset(b);
    gzip_write(r->gz, p, n, flush, b);
    r->gz_dirty = flush == GZIP_MORE;
    if (b->len > 0)
        r->c->proto->data(r, b->data, b->len);
    if (b->cap > HTTPD_PUSH)
        strbuf_fini(b);
}

void req_work(struct httpd_req *r)
{
    struct httpd_conn *c = r->c;

    if (r->gz_dirty && !r->complete)
        write_body(r, "", 0, GZIP_SYNC);
    if (!r->ended && r->use != BODY_HELD)
        body_catch_up(r);
    if (c->dead || r->ended || !r->drained)
        return;
    r->drained = false;
    if (r->ev.on_drain)
        r->ev.on_drain(r->arg);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* "gzip", "gzip;q=0.5", "*" among the codings, and not ruled out by q=0. */
static bool takes_gzip(const struct httpd_req *r)
{
    struct str s = httpd_header(r, "accept-encoding");

    if (!s.p)
        return false;
    for (const char *p = s.p, *end = p + s.n, *stop; p < end; p = stop + 1) {
        const char *comma = memchr(p, ',', (size_t)(end - p));

        stop = comma ? comma : end;
        while (p < stop && (*p == ' ' || *p == '\t'))
            p++;
        size_t n = strcspn(p, " \t;,");
        if ((n == 4 && strncasecmp(p, "gzip", 4) == 0) || (n == 1 && *p == '*')) {
            const char *q = memmem(p, (size_t)(stop - p), "q=", 2);

            return !q || strtod(q + 2, NULL) > 0; /* the value is NUL-terminated */
        }
    }
    return false;
}

static void respond(struct httpd_req *r, int status, const struct http_header *h, size_t n,
                    bool compress)
{
    assert(!r->status && status >= 200 && status <= 999);
    r->status = status;
    r->bare = r->is_head || status == 204 || status == 304;
    r->skip_length = status == 204;
    for (size_t i = 0; i < n; i++) {
        if (str_is(h[i].name, "content-encoding"))
            compress = false;
        if (!str_is(h[i].name, "content-length") || r->skip_length)
            continue;
        r->has_left = true;
        for (size_t k = 0; k < h[i].value.n; k++) {
            assert(h[i].value.p[k] >= '0' && h[i].value.p[k] <= '9');
            r->left = r->left * 10 + (uint64_t)(h[i].value.p[k] - '0');
        }
    }
    if (compress && !r->bare && takes_gzip(r)) {
        r->gz = gzip_new();
        r->has_left = false;
        r->skip_length = true;
    }
    r->c->proto->head(r, h, n);
    conn_mark(r->c);
}

static void finish(struct httpd_req *r)
{
    if (r->gz)
        write_body(r, "", 0, GZIP_END);
    r->ended = r->complete = true;
    r->use = BODY_DROP;
    body_release(r);
    if (r->unconsumed > 0) {
        r->c->proto->consumed(r, r->unconsumed);
        r->unconsumed = 0;
    }
    if (r->has_left && r->left > 0 && !r->bare)
        r->c->proto->abort(r); /* the peer must not take what came for everything */
    else
        r->c->proto->end(r);
    conn_mark(r->c);
}

static void reply(struct httpd_req *r, int status, const char *content_type, const void *body,
                  size_t n)
{
    char length[24];
    struct http_header h[2] = {
        { STR("content-length"), { length, (size_t)snprintf(length, sizeof length, "%zu", n) } },
        { STR("content-type"), str_of(content_type) },
    };

    r->fin = n == 0 || r->is_head || status == 204 || status == 304;
    respond(r, status, h, content_type ? 2 : 1, false);
    if (!r->bare && n > 0) {
        r->left = 0;
        r->c->proto->data(r, body, n);
    }
    finish(r);
}

void httpd_respond(struct httpd_req *r, int status, const struct http_header *headers, size_t n,
                   bool compress)
{
    if (!r->ended)
        respond(r, status, headers, n, compress);
}

void httpd_write(struct httpd_req *r, const void *p, size_t n)
{
    if (r->ended || r->bare || n == 0)
        return;
    assert(r->status);
    if (r->has_left) {
        n = MIN(n, r->left);
        r->left -= n;
    }
    r->owes_drain = true;
    write_body(r, p, n, GZIP_MORE);
    if (r->gz)
        req_todo(r);
    else
        conn_mark(r->c);
}

void httpd_trailers(struct httpd_req *r, const struct http_header *headers, size_t n)
{
    if (r->ended)
        return;
    assert(r->status);
    for (size_t i = 0; i < n; i++) {
        append_clean(&r->trailers, headers[i].name);
        strbuf_appendc(&r->trailers, '\0');
        append_clean(&r->trailers, headers[i].value);
        strbuf_appendc(&r->trailers, '\0');
    }
}

size_t httpd_queued(const struct httpd_req *r)
{
    return r->ended ? 0 : r->c->proto->queued(r);
}

/* One of ours, with a short text. */
static void req_answer(struct httpd_req *r, int status)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%d %s\n", status, status_text(status));

    reply(r, status, "text/plain; charset=utf-8", text, (size_t)n);
}

void httpd_end(struct httpd_req *r)
{
    if (r->ended)
        return;
    if (r->status)
        finish(r);
    else
        req_answer(r, 500);
}

void httpd_reply(struct httpd_req *r, int status, const char *content_type, const void *body,
                 size_t n)
{
    if (!r->ended)
        reply(r, status, content_type, body, n);
}

/* ---- ends we make ---------------------------------------------------------------------------- */

void req_close(struct httpd_req *r)
{
    if (!r->seen || r->ended)
        return;
    r->ended = true; /* calls for it do nothing from here on */
    if (r->ev.on_close)
        r->ev.on_close(r->arg);
}

void req_refuse(struct httpd_req *r, int status)
{
    struct httpd_conn *c = r->c;

    r->use = BODY_DROP;
    r->expects = false;
    r->close = r->linger = true;
    body_release(r);
    req_close(r);
    if (c->dead)
        return;
    if (r->status == 0)
        req_answer(r, status);
    else
        c->proto->abort(r);
    r->ended = true;
}
