/* grpc_serve.c - a gRPC server over the HTTP server. */
#include "net/grpc.h"

#include <stdio.h>

struct grpc_server {
    unsigned refs; /* of requests, too: a handler may free the server */
    struct httpd *httpd;
    grpc_fn fn;
    void *arg;
    size_t max_message, max_buffered, buffered;
};

struct grpc_req {
    struct grpc_server *s;
    struct httpd_req *http; /* NULL: gone, or answered */
    struct grpc_req_events ev;
    void *arg;
    struct grpc_reader in;
    struct strbuf message;
    size_t counted; /* of s->buffered */
    unsigned messages;
    bool answered; /* the head of the answer has left */
    unsigned busy; /* inside a callback: the memory stays */
};

/* ---- life ------------------------------------------------------------------------------------ */

static void server_unref(struct grpc_server *s)
{
    if (--s->refs == 0)
        free(s);
}

static void forget_message(struct grpc_req *r)
{
    r->s->buffered -= r->counted;
    r->counted = 0;
    strbuf_fini(&r->in.buf);
    strbuf_fini(&r->message);
}

static void req_release(struct grpc_req *r)
{
    if (r->http || r->busy > 0)
        return;
    forget_message(r);
    server_unref(r->s);
    free(r);
}

static void respond(struct grpc_req *r)
{
    static const struct http_header head[] = { { STR("content-type"), STR("application/grpc") } };

    if (r->answered)
        return;
    r->answered = true;
    httpd_respond(r->http, 200, head, ARRAY_LEN(head), false);
}

void grpc_send(struct grpc_req *r, struct str message)
{
    char head[5];

    if (!r->http)
        return;
    respond(r);
    grpc_frame_head(message.n, head);
    httpd_write(r->http, head, sizeof head);
    httpd_write(r->http, message.p, message.n);
}

size_t grpc_queued(const struct grpc_req *r)
{
    return r->http ? httpd_queued(r->http) : 0;
}

void grpc_finish(struct grpc_req *r, const struct grpc_status *st)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct http_header trailers[2] = { { STR("grpc-status"), { NULL, 0 } },
                                       { STR("grpc-message"), { NULL, 0 } } };
    char code[12];

    if (!r->http)
        return;
    respond(r);
    grpc_text_encode(st->text, &text);
    snprintf(code, sizeof code, "%d", (int)st->code);
    trailers[0].value = str_of(code);
    trailers[1].value = (struct str){ strbuf_str(&text), text.len };
    httpd_trailers(r->http, trailers, text.len > 0 ? 2 : 1);
    httpd_trailers(r->http, st->metadata.items, st->metadata.n);
    httpd_end(take(r->http));
    req_release(r);
}

void grpc_fail(struct grpc_req *r, enum grpc_code code, const char *fmt, ...)
{
    char text[GRPC_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    grpc_finish(r, &(struct grpc_status){ .code = code, .text = str_of(text) });
}

/* ---- a request comes in ---------------------------------------------------------------------- */

static bool keep_message(void *arg, struct str message)
{
    struct grpc_req *r = arg;

    if (r->messages++ > 0) {
        grpc_fail(r, GRPC_UNIMPLEMENTED, "a request is one message here");
        return false;
    }
    strbuf_appendn(&r->message, message.p, message.n);
    return true;
}

/* Counted, so that many callers together cannot fill the memory. */
static void on_data(void *arg, const char *p, size_t n)
{
    struct grpc_req *r = arg;
    struct kerr err;

    r->counted += n;
    r->s->buffered += n;
    if (r->s->buffered > r->s->max_buffered) {
        grpc_fail(r, GRPC_RESOURCE_EXHAUSTED, "too many bytes of requests at the same time");
        return;
    }
    r->busy++;
    int code = grpc_reader_feed(&r->in, p, n, keep_message, r, &err);
    if (code < 0)
        grpc_fail(r, code == -EMSGSIZE ? GRPC_RESOURCE_EXHAUSTED : GRPC_UNIMPLEMENTED, "%s",
                  err.text);
    r->busy--;
    req_release(r);
}

static void on_body_end(void *arg)
{
    struct grpc_req *r = arg;

    if (r->messages == 0 || r->in.buf.len > 0) {
        grpc_fail(r, GRPC_INTERNAL, "the request ends before its message");
        return;
    }
    r->busy++;
    r->s->fn(r->s->arg, r, httpd_target(r->http), (struct str){ r->message.data, r->message.len });
    forget_message(r);
    r->busy--;
    req_release(r);
}

static void on_drain(void *arg)
{
    struct grpc_req *r = arg;

    if (r->ev.on_drain)
        r->ev.on_drain(r->arg);
}

static void on_close(void *arg)
{
    struct grpc_req *r = arg;

    r->http = NULL;
    r->busy++;
    if (r->ev.on_close)
        r->ev.on_close(r->arg);
    r->busy--;
    req_release(r);
}

static bool is_grpc(const struct httpd_req *r)
{
    struct str type = httpd_header(r, "content-type"), want = STR("application/grpc");

    return streq(httpd_method(r), "POST") && type.n >= want.n &&
           memcmp(type.p, want.p, want.n) == 0 &&
           (type.n == want.n || strchr("+; ", type.p[want.n]));
}

static void on_request(void *arg, struct httpd_req *http)
{
    static const struct httpd_events events = {
        .on_data = on_data, .on_body_end = on_body_end, .on_drain = on_drain, .on_close = on_close
    };
    struct grpc_server *s = arg;

    if (!is_grpc(http)) {
        httpd_reply(http, 415, "text/plain", "gRPC only\n", strlen("gRPC only\n"));
        return;
    }
    struct grpc_req *r = xnew0(struct grpc_req);
    *r = (struct grpc_req){ .s = s, .http = http, .in.max = s->max_message };
    s->refs++;
    httpd_set_events(http, &events, r);
}

/* ---- what the handler may ask ---------------------------------------------------------------- */

void grpc_set_events(struct grpc_req *r, const struct grpc_req_events *ev, void *arg)
{
    r->ev = *ev;
    r->arg = arg;
}

nsec_t grpc_timeout(const struct grpc_req *r)
{
    return r->http ? grpc_timeout_parse(httpd_header(r->http, "grpc-timeout")) : 0;
}

/* Ours to say to the next server, or about this connection only. */
static bool is_protocol_header(struct str name)
{
    static const char *const names[] = { "host",           "te",         "content-type",
                                         "user-agent",     "connection", "content-length",
                                         "accept-encoding" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return name.n > 5 && memcmp(name.p, "grpc-", 5) == 0;
}

bool grpc_metadata_at(const struct grpc_req *r, size_t i, struct http_header *ret)
{
    struct http_header h;

    for (size_t k = 0; r->http && httpd_header_at(r->http, k, &h); k++)
        if (!is_protocol_header(h.name) && i-- == 0) {
            *ret = h;
            return true;
        }
    return false;
}

/* ---- the server ------------------------------------------------------------------------------ */

struct grpc_server *grpc_server_new(struct loop *l, const struct grpc_server_opts *o, grpc_fn fn,
                                    void *arg)
{
    struct grpc_server *s = xnew0(struct grpc_server);

    s->refs = 1;
    s->fn = fn;
    s->arg = arg;
    s->max_message = o && o->max_message ? o->max_message : GRPC_MESSAGE_MAX;
    s->max_buffered = o && o->max_buffered ? o->max_buffered : 4 * s->max_message;
    /* Too large is for us to say, in words of gRPC: the head of a message tells. */
    s->httpd = httpd_new(l, &(struct httpd_opts){ .max_body = 2 * s->max_message + (64 << 10) },
                         on_request, s);
    return s;
}

struct httpd *grpc_server_httpd(struct grpc_server *s)
{
    return s->httpd;
}

struct grpc_server *grpc_server_free(struct grpc_server *s)
{
    if (!s)
        return NULL;
    httpd_free(s->httpd);
    server_unref(s);
    return NULL;
}
