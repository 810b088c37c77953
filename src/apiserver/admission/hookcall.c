/* hookcall.c - connections to webhook servers, and calls on them. */
#include "apiserver/admission/hookcall.h"

#include "apiserver/admission/hookservice.h"
#include "apiserver/server_int.h"
#include "base/b64.h"
#include "base/klog.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/tls.h"
#include "net/url.h"

enum {
    ANSWER_MAX = 3 << 20, /* bytes of an answer, as of a request to this server */
    SERVERS_MAX = 64,     /* whose connections are kept */
    CONNS_MAX = 32,       /* to one server; further calls wait for one, within their time */
    ERROR_SHOWN = 2048,   /* bytes of the body of an error */
};

/* A server as some clientConfig names it. */
struct origin {
    char *host, *name, *ca; /* name: what its certificate has to say */
    uint16_t port;
    struct http *http;
    struct tls_ctx *tls;
    uint64_t used; /* when, in calls */
    size_t calls;  /* under way */
};

struct hookcalls {
    struct apiserver *s;
    struct vec_of(struct origin *) origins;
    struct hookcall *calls;
    uint64_t clock;
    hook_transport_fn transport;
    void *transport_arg;
};

struct hookcall {
    struct hookcall *prev, *next;
    struct hookcalls *pool;
    struct origin *origin;
    struct http_call *http;
    struct timer *failing; /* it failed before anything was sent */
    char *url;             /* for messages */
    int status;
    bool is_text; /* the body of an error is for people */
    struct strbuf body, error;
    hook_done_fn fn;
    void *arg;
};

/* ---- servers --------------------------------------------------------------------------------- */

static void origin_free(struct origin *o)
{
    http_free(o->http);
    tls_unref(o->tls);
    free(o->host);
    free(o->name);
    free(o->ca);
    free(o);
}

struct hookcalls *hookcalls_new(struct apiserver *s)
{
    struct hookcalls *p = xnew0(struct hookcalls);

    p->s = s;
    return p;
}

struct hookcalls *hookcalls_free(struct hookcalls *p)
{
    if (!p)
        return NULL;
    while (p->calls)
        hookcall_cancel(p->calls);
    vec_foreach(&p->origins, i)
        origin_free(p->origins.items[i]);
    vec_fini(&p->origins);
    free(p);
    return NULL;
}

void hookcalls_set_transport(struct hookcalls *p, hook_transport_fn fn, void *arg)
{
    p->transport = fn;
    p->transport_arg = arg;
}

/* The one that was not used for the longest time makes room. */
static void origins_trim(struct hookcalls *p)
{
    size_t oldest = SIZE_MAX;

    if (p->origins.n < SERVERS_MAX)
        return;
    vec_foreach(&p->origins, i) {
        const struct origin *o = p->origins.items[i];
        if (!o->calls && (oldest == SIZE_MAX || o->used < p->origins.items[oldest]->used))
            oldest = i;
    }
    if (oldest == SIZE_MAX)
        return; /* all are busy: they are few enough, since calls end in time */
    origin_free(p->origins.items[oldest]);
    vec_swap_remove(&p->origins, oldest);
}

static int connect_to(struct hookcalls *p, struct origin *o, struct kerr *err)
{
    if (p->transport) {
        o->http = p->transport(p->transport_arg, o->host, o->port);
        return 0;
    }
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    if (b64_decode(o->ca, strlen(o->ca), &pem) < 0)
        return kerr_set(err, -EINVAL, "unable to load root certificates: illegal base64 data");
    struct tls_client_opts t = { .ca_pem = { strbuf_str(&pem), pem.len }, .no_h2 = true };
    if (tls_client_new(&t, &o->tls, err) < 0)
        return kerr_wrap(err, "unable to load root certificates");
    struct http_client_opts h = { .host = o->host,
                                  .port = o->port,
                                  .tls = o->tls,
                                  .server_name = o->name,
                                  .max_conns = CONNS_MAX,
                                  .user_agent = "kube-apiserver-admission" };
    o->http = http_client_new(p->s->loop, &h);
    return 0;
}

static struct origin *origin_get(struct hookcalls *p, const struct hook_address *at, const char *ca,
                                 struct kerr *err)
{
    vec_foreach(&p->origins, i) {
        struct origin *o = p->origins.items[i];
        if (o->port == at->port && streq(o->host, at->host) && streq(o->name, at->name) &&
            streq(o->ca, ca))
            return o;
    }
    struct origin *o = xnew0(struct origin);
    o->host = xstrdup(at->host);
    o->name = xstrdup(at->name);
    o->ca = xstrdup(ca);
    o->port = at->port;
    if (connect_to(p, o, err) < 0) {
        origin_free(o);
        return NULL;
    }
    origins_trim(p);
    vec_push(&p->origins, o);
    return o;
}

/* ---- one call -------------------------------------------------------------------------------- */

static void call_free(struct hookcall *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        c->pool->calls = c->next;
    if (c->next)
        c->next->prev = c->prev;
    if (c->origin)
        c->origin->calls--;
    timer_cancel(c->failing);
    strbuf_fini(&c->body);
    strbuf_fini(&c->error);
    free(c->url);
    free(c);
}

struct hookcall *hookcall_cancel(struct hookcall *c)
{
    if (!c)
        return NULL;
    http_cancel(c->http);
    call_free(c);
    return NULL;
}

static void finish(struct hookcall *c)
{
    hook_done_fn fn = c->fn;
    void *arg = c->arg;
    CLEANUP(strbuf_fini) struct strbuf body = c->body, error = c->error;

    c->body = c->error = (struct strbuf)STRBUF_INIT;
    call_free(c);
    fn(arg, error.len ? error.data : NULL, strbuf_str(&body), body.len);
}

static void on_failed(struct loop *l, void *arg)
{
    struct hookcall *c = arg;

    (void)l;
    c->failing = NULL;
    finish(c);
}

/* What a client of Kubernetes makes of a status without a Status. */
static void explain_status(struct hookcall *c)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        { 400, "the server rejected our request for an unknown reason" },
        { 401, "the server has asked for the client to provide credentials" },
        { 404, "the server could not find the requested resource" },
        { 405, "the server does not allow this method on the requested resource" },
        { 409, "the server reported a conflict" },
        { 413, "the request size is too large" },
        { 422, "the server rejected our request due to an error in our request" },
        { 429, "the server has received too many requests and has asked us to try again later" },
        { 503, "the server is currently unable to handle the request" },
        { 504, "the server was unable to return a response in the time allotted, but may still be "
               "processing the request" },
    };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct strbuf *e = &c->error;

    if (kj_parse(strbuf_str(&c->body), c->body.len, 0, &doc, NULL) == 0 &&
        streq(kj_str_or(kj_get(kj_root(doc), "kind"), ""), "Status") &&
        !str_empty(kj_str(kj_get(kj_root(doc), "message")))) {
        strbuf_append(e, kj_str(kj_get(kj_root(doc), "message")));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].status == c->status) {
            strbuf_append(e, known[i].text);
            return;
        }
    if (!c->is_text || c->body.len == 0) {
        strbuf_reset(&c->body);
        strbuf_append(&c->body, "unknown");
    }
    size_t shown = c->body.len < ERROR_SHOWN ? c->body.len : ERROR_SHOWN;
    while (shown && c->body.data[shown - 1] == '\n')
        shown--;
    if (c->status >= 500) {
        strbuf_append(e, "an error on the server (");
        strbuf_append_quoted(e, c->body.data, shown);
        strbuf_append(e, ") has prevented the request from succeeding");
    } else if (c->status == 403 || c->status == 406 || c->status == 415) {
        strbuf_appendn(e, c->body.data, shown);
    } else {
        strbuf_appendf(e,
                       "the server responded with the status code %d but did not return more "
                       "information",
                       c->status);
    }
}

/* In the words of Go's HTTP client where they are well known. */
static void explain_error(struct hookcall *c, const struct kerr *err)
{
    strbuf_append(&c->error, "Post ");
    strbuf_append_quoted(&c->error, c->url, strlen(c->url));
    switch (err->code) {
    case -ETIMEDOUT: strbuf_append(&c->error, ": context deadline exceeded"); break;
    case -ECONNREFUSED:
        strbuf_appendf(&c->error, ": dial tcp %s:%u: connect: connection refused", c->origin->host,
                       c->origin->port);
        break;
    case -EKEYREJECTED:
        strbuf_appendf(&c->error, ": tls: failed to verify certificate: x509: %s", err->text);
        break;
    case -ECONNRESET:
    case -EPIPE: strbuf_append(&c->error, ": EOF"); break;
    case -EMSGSIZE: strbuf_append(&c->error, ": http: response body too large"); break;
    default: strbuf_appendf(&c->error, ": %s", err->text);
    }
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct hookcall *c = arg;
    struct str type = http_header_get(&r->headers, "content-type");

    c->status = r->status;
    c->is_text = type.n == 0 || (type.n > 5 && memcmp(type.p, "text/", 5) == 0);
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct hookcall *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct hookcall *c = arg;

    (void)sent;
    c->http = NULL;
    if (err)
        explain_error(c, err);
    else if (c->status < 200 || c->status > 206)
        explain_status(c);
    finish(c);
}

static void send(struct hookcall *c, const char *path, int64_t timeout_s, const char *body,
                 size_t n)
{
    static const struct http_handler on = { on_headers, on_data, on_end, NULL };
    static const struct http_header headers[] = {
        { STR("content-type"), STR("application/json") },
        { STR("accept"), STR("application/json, */*") },
    };
    nsec_t timeout = loop_outside(c->pool->s->loop, timeout_s * NSEC_PER_SEC);
    struct http_req r = { .method = "POST",
                          .target = path,
                          .headers = { headers, ARRAY_LEN(headers) },
                          .body = body,
                          .body_len = n,
                          .timeout = timeout,
                          .max_body = ANSWER_MAX };

    c->origin->calls++;
    c->origin->used = ++c->pool->clock;
    c->http = http_send(c->origin->http, &r, &on, c);
}

struct hookcall *hookcall_start(struct hookcalls *p, const struct kj_val *config, int64_t timeout_s,
                                const char *body, size_t n, hook_done_fn fn, void *arg)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct hookcall *c = xnew0(struct hookcall);
    struct hook_address at = { 0 };
    struct kerr err = { 0 };

    *c = (struct hookcall){ .pool = p, .next = p->calls, .fn = fn, .arg = arg };
    if (c->next)
        c->next->prev = c;
    p->calls = c;
    int e = hook_address(p->s, config, a, &at, &err);
    struct origin *o =
        e == 0 ? origin_get(p, &at, kj_str_or(kj_get(config, "caBundle"), ""), &err) : NULL;
    char *path = o ? arena_printf(a, "%s%ctimeout=%llds", at.path, strchr(at.path, '?') ? '&' : '?',
                                  (long long)timeout_s)
                   : NULL;
    if (!o) {
        strbuf_append(&c->error, err.text);
        c->failing = loop_after(p->s->loop, 0, on_failed, c);
        return c;
    }
    c->url = xstrdup(arena_printf(a, "https://%s%s", at.shown, path));
    c->origin = o;
    send(c, path, timeout_s, body, n);
    return c;
}
