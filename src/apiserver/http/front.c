/* front.c - HTTP in front of the registry: authentication, bodies, headers, watch streams. */
#include <stdio.h>

#include "apiserver/authn/authn.h"
#include "apiserver/authn/impersonate.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/http/protobuf.h"
#include "apiserver/registry/registry.h"
#include "apiserver/server_int.h"
#include "net/httpd.h"
#include "net/stream.h"
#include "json/kj.h"

enum {
    QUEUE_MAX = 256 << 10,    /* of a watch; above it the store waits */
    PIECE = 32 << 10,         /* of a list; more is written when less than 64 KB wait */
    COMPRESS_MIN = 128 << 10, /* as kube-apiserver: smaller answers are not worth it */
};

struct exchange { /* one HTTP request and its call */
    struct httpd_req *r;
    struct api_call *c; /* NULL once it has ended */
    struct strbuf out;
    struct list_text *items; /* of a list, sent up to sent */
    size_t sent;
    struct strbuf tail; /* follows them */
};

static void exchange_free(struct exchange *x)
{
    if (x->c)
        api_cancel(x->c);
    strbuf_fini(&x->out);
    strbuf_fini(&x->tail);
    list_text_unref(x->items);
    free(x);
}

/* ---- answering ----------------------------------------------------------------------------------
 */

enum { HEADERS_MAX = 400 /* 4096 characters of warnings, and a few others */ };
struct head {
    struct http_header items[HEADERS_MAX];
    size_t n;
};

static void add(struct head *h, const char *name, const char *value)
{
    if (h->n < HEADERS_MAX)
        h->items[h->n++] = (struct http_header){ str_of(name), str_of(value) };
}

static const char *warning_text(struct arena *a, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_append(&b, "299 - \"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_appendc(&b, '\\');
        strbuf_appendc(&b, (unsigned char)*text < ' ' ? ' ' : *text);
    }
    strbuf_appendc(&b, '"');
    return arena_strdup(a, b.data);
}

static void make_head(struct head *h, struct api_call *c, const char *type)
{
    h->n = 0;
    add(h, "cache-control", "no-cache, private");
    add(h, "content-type", type);
    if (c->reply_etag)
        add(h, "etag", c->reply_etag);
    if (c->reply_etag)
        add(h, "vary", "Accept");
    if (c->retry_after_s > 0)
        add(h, "retry-after", arena_printf(c->arena, "%d", c->retry_after_s));
    vec_foreach(&c->warnings, i)
        add(h, "warning", warning_text(c->arena, c->warnings.items[i]));
}

static bool is_protobuf(const struct api_call *c)
{
    return c->reply_type && str_starts(c->reply_type, PROTOBUF_TYPE);
}

static void on_reply(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    struct exchange *x = arg;
    struct httpd_req *r = x->r;

    if (is_protobuf(c) && protobuf_encode(json, n, &x->out)) {
        json = x->out.data;
        n = x->out.len;
    } else if (is_protobuf(c)) {
        c->reply_type = NULL; /* the client is told what it gets */
    }
    bool compress = n >= COMPRESS_MIN,
         newline = !c->reply_type && !c->pretty && n && json[n - 1] != '\n';
    struct head h;

    make_head(&h, c, str_or(c->reply_type, "application/json"));
    if (!compress)
        add(&h, "content-length", arena_printf(c->arena, "%zu", n + newline));
    x->c = NULL;
    httpd_respond(r, status, h.items, h.n, compress);
    if (!streq(httpd_method(r), "HEAD") && status != 304) {
        httpd_write(r, json, n);
        if (newline)
            httpd_write(r, "\n", 1);
    }
    httpd_end(r);
    exchange_free(x);
}

/* ---- lists: a client gets the next piece when it has taken the one before
 * -------------------------------------------------------------------------
 */

static void list_pump(struct exchange *x)
{
    const struct strbuf *items = &x->items->items;

    while (x->sent < items->len) {
        size_t n = MIN(items->len - x->sent, (size_t)PIECE);

        if (httpd_queued(x->r) >= STREAM_LOW_WATER)
            return; /* on_drain comes when it is less */
        httpd_write(x->r, items->data + x->sent, n);
        x->sent += n;
    }
    httpd_write(x->r, x->tail.data, x->tail.len);
    httpd_end(x->r);
    exchange_free(x);
}

static void on_reply_list(void *arg, struct api_call *c, const struct api_list *l)
{
    struct exchange *x = arg;
    struct head h;

    strbuf_appendn(&x->tail, l->tail.p, l->tail.n);
    if (!is_protobuf(c))
        strbuf_appendc(&x->tail, '\n');
    size_t n = l->head.n + l->items->items.len + x->tail.len;
    make_head(&h, c, str_or(c->reply_type, "application/json"));
    if (n < COMPRESS_MIN)
        add(&h, "content-length", arena_printf(c->arena, "%zu", n));
    x->c = NULL;
    httpd_respond(x->r, 200, h.items, h.n, n >= COMPRESS_MIN);
    if (streq(httpd_method(x->r), "HEAD")) {
        httpd_end(x->r);
        exchange_free(x);
        return;
    }
    httpd_write(x->r, l->head.p, l->head.n);
    x->items = list_text_ref(l->items);
    list_pump(x);
}

static void on_open(void *arg, struct api_call *c)
{
    struct exchange *x = arg;
    struct head h;
    make_head(&h, c, is_protobuf(c) ? PROTOBUF_WATCH_TYPE : "application/json");
    httpd_respond(x->r, 200, h.items, h.n, false);
}

static bool on_event(void *arg, struct api_call *c, const char *type, const char *json, size_t n)
{
    struct exchange *x = arg;
    strbuf_reset(&x->out);
    if (!is_protobuf(c) || !protobuf_encode_event(type, json, n, &x->out)) {
        strbuf_appendf(&x->out, "{\"type\":\"%s\",\"object\":", type);
        strbuf_appendn(&x->out, json, n);
        strbuf_append(&x->out, "}\n");
    }
    httpd_write(x->r, x->out.data, x->out.len);
    if (x->out.cap > QUEUE_MAX)
        strbuf_fini(&x->out);
    return httpd_queued(x->r) < QUEUE_MAX;
}

static void on_end(void *arg, struct api_call *c)
{
    struct exchange *x = arg;
    (void)c;
    x->c = NULL;
    httpd_end(x->r);
    exchange_free(x);
}

static const struct api_sink sink = { on_reply, on_reply_list, on_open, on_event, on_end };

/* ---- the request --------------------------------------------------------------------------------
 */

static const char *header(struct api_call *c, const struct httpd_req *r, const char *name)
{
    struct str v = httpd_header(r, name);
    return v.p ? arena_strndup(c->arena, v.p, v.n) : NULL;
}

static bool is_open_path(const char *target)
{
    static const char *const open[] = { "/healthz", "/readyz", "/livez", "/version" };
    size_t n = strcspn(target, "?");
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        size_t k = strlen(open[i]);
        if (n >= k && memcmp(target, open[i], k) == 0 && (n == k || target[k] == '/'))
            return true;
    }
    return false;
}

static bool header_at(const void *arg, size_t i, struct http_header *ret)
{
    return httpd_header_at(arg, i, ret);
}

/* false: answered. */
static bool authenticate(struct api_call *c, const struct httpd_req *r)
{
    const struct api_user *u = authn_header(c->s, httpd_header(r, "authorization"), c->arena);
    struct kerr err;

    if (!u && is_open_path(c->target)) {
        c->authorized = true;
        return true;
    }
    if (u) {
        c->user = u;
        return impersonate(c, header_at, r);
    }
    kerr_api(&err, -EACCES, KR_UNAUTHORIZED, "Unauthorized");
    api_fail(c, &err);
    return false;
}

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct exchange *x = arg;
    struct api_call *c = x->c;

    (void)r;
    if (!body) {
        api_fail_too_large(c);
        return;
    }
    /* The text is valid during this call only, but a retry may read it again. */
    c->body = arena_alloc(c->arena, n + KJ_PADDING + 1, 1);
    memcpy(c->body, body, n);
    memset(c->body + n, 0, KJ_PADDING + 1);
    c->body_len = n;
    api_run(c);
}

static void on_drain(void *arg)
{
    struct exchange *x = arg;
    if (x->c)
        api_resume(x->c);
    else if (x->items)
        list_pump(x);
}

static void on_close(void *arg)
{
    exchange_free(arg);
}

static bool is_pretty_agent(const char *agent)
{
    return agent && (str_starts(agent, "curl/") || str_starts(agent, "Wget/") ||
                     str_starts(agent, "Mozilla/5.0"));
}

void front_handle(void *server, struct httpd_req *r)
{
    static const struct httpd_events events = { .on_drain = on_drain, .on_close = on_close };
    struct apiserver *s = server;
    struct exchange *x = xnew0(struct exchange);
    struct api_call *c = api_call_new(s, &sink, x);

    x->r = r;
    x->c = c;
    c->method = arena_strdup(c->arena, httpd_method(r));
    c->target = arena_strdup(c->arena, httpd_target(r));
    c->content_type = header(c, r, "content-type");
    c->accept = header(c, r, "accept");
    c->if_none_match = header(c, r, "if-none-match");
    c->user_agent = header(c, r, "user-agent");
    c->pretty = is_pretty_agent(c->user_agent);
    httpd_set_events(r, &events, x);
    /* Who may not make the request does not get to send its body either. */
    if (!authenticate(c, r) || !authz_call(c))
        return;
    if (streq(c->method, "GET") || streq(c->method, "HEAD"))
        api_run(c);
    else
        httpd_read_body(r, on_body, x);
}
