/* grpc_call.c - calls to a gRPC server over the HTTP client. */
#include "net/grpc.h"

#include "base/arena.h"
#include "base/num.h"

struct grpc_call {
    struct http_call *http; /* NULL: ended */
    struct grpc_call_events ev;
    void *arg;
    struct grpc_reader in;
    int http_status;
    bool dead;     /* ended or cancelled: no event any more */
    unsigned busy; /* inside a callback: the memory stays */
    /* The server's word, from headers or trailers. */
    bool has_status;
    enum grpc_code code;
    struct strbuf text;
    struct arena *arena; /* NULL while there is no metadata */
    struct http_headers metadata;
};

struct http *grpc_client_new(struct loop *l, const char *unix_path, http_dial_fn dial,
                             void *dial_arg)
{
    /* A Go server hangs up on more than two PINGs within five minutes. */
    return http_client_new(l, &(struct http_client_opts){ .unix_path = unix_path,
                                                          .h2_prior_knowledge = true,
                                                          .ping_interval = 360 * NSEC_PER_SEC,
                                                          .connect_timeout = 10 * NSEC_PER_SEC,
                                                          .no_gzip = true,
                                                          .dial = dial,
                                                          .dial_arg = dial_arg });
}

/* ---- life ------------------------------------------------------------------------------------ */

static void call_release(struct grpc_call *c)
{
    if (!c->dead || c->busy > 0)
        return;
    strbuf_fini(&c->in.buf);
    strbuf_fini(&c->text);
    arena_free(c->arena);
    free(c);
}

static void call_end(struct grpc_call *c, const struct grpc_status *st)
{
    if (c->dead)
        return;
    c->dead = true;
    c->http = http_cancel(c->http); /* when it is us who end it */
    c->ev.on_end(c->arg, st);
}

static void call_fail(struct grpc_call *c, enum grpc_code code, const char *text)
{
    call_end(c, &(struct grpc_status){ .code = code, .text = str_of(text) });
}

struct grpc_call *grpc_call_cancel(struct grpc_call *c)
{
    if (!c)
        return NULL;
    c->dead = true;
    c->http = http_cancel(c->http);
    call_release(c);
    return NULL;
}

void grpc_call_pause(struct grpc_call *c, bool paused)
{
    if (c->http)
        http_pause(c->http, paused);
}

/* ---- what the server says -------------------------------------------------------------------- */

/* Headers that belong to the exchange, and to nobody behind it. */
static bool is_protocol_header(struct str name)
{
    static const char *const names[] = { "content-type",        "content-length", "date",
                                         "grpc-status",         "grpc-message",   "grpc-encoding",
                                         "grpc-accept-encoding" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return false;
}

static struct str copy(struct arena *a, struct str s)
{
    return (struct str){ arena_strndup(a, s.p, s.n), s.n };
}

static void keep_metadata(struct grpc_call *c, const struct http_headers *h)
{
    struct http_header *items = NULL;
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        if (is_protocol_header(h->items[i].name))
            continue;
        if (!c->arena)
            c->arena = arena_new();
        if (!items)
            items = arena_newn0(c->arena, h->n, struct http_header);
        items[n].name = copy(c->arena, h->items[i].name);
        items[n++].value = copy(c->arena, h->items[i].value);
    }
    c->metadata = (struct http_headers){ items, n };
}

static void keep_status(struct grpc_call *c, const struct http_headers *h)
{
    struct str code = http_header_get(h, "grpc-status");
    int64_t n;

    if (!code.p)
        return;
    if (i64_parse(code.p, code.n, &n) < 0 || n < GRPC_OK || n > GRPC_UNAUTHENTICATED)
        n = GRPC_UNKNOWN;
    c->has_status = true;
    c->code = (enum grpc_code)n;
    grpc_text_decode(http_header_get(h, "grpc-message"), &c->text);
    keep_metadata(c, h);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct grpc_call *c = arg;

    c->http_status = r->status;
    keep_status(c, &r->headers);
}

static void on_trailers(void *arg, const struct http_headers *h)
{
    keep_status(arg, h);
}

static bool deliver(void *arg, struct str message)
{
    struct grpc_call *c = arg;

    c->ev.on_message(c->arg, message);
    return !c->dead;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct grpc_call *c = arg;
    struct kerr err;

    if (c->http_status != 200)
        return; /* a page of some other server */
    c->busy++;
    int r = grpc_reader_feed(&c->in, p, n, deliver, c, &err);
    if (r < 0)
        call_fail(c, r == -EMSGSIZE ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL, err.text);
    c->busy--;
    call_release(c);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static enum grpc_code code_of_http(int status)
{
    switch (status) {
    case 400: return GRPC_INTERNAL;
    case 401: return GRPC_UNAUTHENTICATED;
    case 403: return GRPC_PERMISSION_DENIED;
    case 404: return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504: return GRPC_UNAVAILABLE;
    default: return GRPC_UNKNOWN;
    }
}

static enum grpc_code code_of_errno(int code)
{
    switch (code) {
    case -ETIMEDOUT: return GRPC_DEADLINE_EXCEEDED;
    case -EMSGSIZE: return GRPC_RESOURCE_EXHAUSTED;
    case -EPROTO:
    case -EINVAL: return GRPC_INTERNAL;
    default: return GRPC_UNAVAILABLE;
    }
}

static void end_without_error(struct grpc_call *c)
{
    struct kerr err;

    if (c->has_status && c->code == GRPC_OK && c->in.buf.len > 0) {
        call_fail(c, GRPC_INTERNAL, "the answer ends in the middle of a message");
    } else if (c->has_status) {
        call_end(c, &(struct grpc_status){ .code = c->code,
                                           .text = { strbuf_str(&c->text), c->text.len },
                                           .metadata = c->metadata });
    } else if (c->http_status != 200) {
        kerr_set(&err, -EPROTO, "HTTP status %d without a gRPC status", c->http_status);
        call_fail(c, code_of_http(c->http_status), err.text);
    } else {
        call_fail(c, GRPC_INTERNAL, "the answer ends without a status");
    }
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct grpc_call *c = arg;

    (void)sent;
    c->http = NULL;
    c->busy++;
    if (err)
        call_fail(c, code_of_errno(err->code), err->text);
    else
        end_without_error(c);
    c->busy--;
    call_release(c);
}

/* ---- sending --------------------------------------------------------------------------------- */

static const struct http_handler handler = {
    .on_headers = on_headers, .on_data = on_data, .on_end = on_end, .on_trailers = on_trailers
};

static struct http_call *post(struct http *h, const struct grpc_call_opts *o, struct grpc_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    size_t n = 0, given = o->metadata.n;
    CLEANUP(mem_free) struct http_header *headers = xnewn0(given + 3, struct http_header);
    char head[5], timeout[16];

    headers[n++] = (struct http_header){ STR("content-type"), STR("application/grpc") };
    headers[n++] = (struct http_header){ STR("te"), STR("trailers") };
    if (o->timeout > 0) {
        grpc_timeout_format(o->timeout, timeout);
        headers[n++] = (struct http_header){ STR("grpc-timeout"), str_of(timeout) };
    }
    if (given > 0)
        memcpy(headers + n, o->metadata.items, given * sizeof *headers);
    grpc_frame_head(o->message.n, head);
    strbuf_appendn(&body, head, sizeof head);
    if (o->message.n > 0)
        strbuf_appendn(&body, o->message.p, o->message.n);
    return http_send(h,
                     &(struct http_req){ .method = "POST",
                                         .target = o->method,
                                         .headers = { headers, n + given },
                                         .body = body.data,
                                         .body_len = body.len,
                                         .timeout = o->timeout },
                     &handler, c);
}

struct grpc_call *grpc_call_send(struct http *h, const struct grpc_call_opts *o,
                                 const struct grpc_call_events *ev, void *arg)
{
    struct grpc_call *c = xnew0(struct grpc_call);

    *c = (struct grpc_call){ .ev = *ev, .arg = arg };
    c->in.max = o->max_message ? o->max_message : GRPC_MESSAGE_MAX;
    c->http = post(h, o, c);
    return c;
}
