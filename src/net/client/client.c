/* client.c - the HTTP client's pool: connections, waiting calls, and who goes where. */
#include "net/client/client_int.h"

#include <stdio.h>

#ifndef KOORD_VERSION
#define KOORD_VERSION "dev"
#endif

static const struct http_ops client_ops;

static struct client *client_of(const struct http *h)
{
    assert(h->ops == &client_ops);
    return container_of(h, struct client, http);
}

/* ---- connections ----------------------------------------------------------------------------- */

void conn_ref(struct conn *c)
{
    c->refs++;
}

void conn_unref(struct conn *c)
{
    if (--c->refs > 0)
        return;
    assert(c->closed && c->n_calls == 0);
    if (c->state)
        c->proto->fini(c);
    tls_unref(c->tls);
    client_unref(c->cl);
    free(c);
}

void conn_close(struct conn *c)
{
    if (c->closed)
        return;
    c->closed = true;
    link_del(&c->link);
    c->idle_timer = timer_cancel(c->idle_timer);
    c->dial = dial_cancel(c->dial);
    if (c->stream) {
        c->cl->stats.open_conns--;
        if (c->proto->bye)
            c->proto->bye(c);
        c->stream = stream_close(c->stream);
    }
    conn_unref(c);
}

static void on_conn_idle(struct loop *l, void *arg)
{
    struct conn *c = arg;
    nsec_t left = c->idle_since + c->cl->idle_close - loop_mono(l);

    c->idle_timer = NULL;
    if (c->n_calls > 0)
        return; /* armed again when it falls idle */
    if (left <= 0)
        conn_close(c);
    else
        c->idle_timer = loop_after(l, left, on_conn_idle, c);
}

void conn_released(struct conn *c)
{
    if (c->closed || c->n_calls > 0)
        return;
    if (c->draining) {
        conn_close(c);
        return;
    }
    c->idle_since = loop_mono(c->cl->loop);
    if (!c->idle_timer)
        c->idle_timer = loop_after(c->cl->loop, c->cl->idle_close, on_conn_idle, c);
}

void client_close_idle(struct client *cl)
{
    for (struct link *i = cl->conns.next, *next; i != &cl->conns; i = next) {
        struct conn *c = container_of(i, struct conn, link);
        next = i->next;
        if (c->n_calls == 0 && (c->stream || c->draining))
            conn_close(c);
    }
}

void conn_write(struct conn *c, const void *p, size_t n)
{
    c->cl->stats.bytes_out += n;
    stream_write(c->stream, p, n);
}

static void on_stream_data(void *arg, const char *p, size_t n)
{
    struct conn *c = arg;

    c->cl->stats.bytes_in += n;
    conn_ref(c);
    c->proto->on_data(c, p, n);
    conn_unref(c);
}

static void on_stream_drain(void *arg)
{
    struct conn *c = arg;

    conn_ref(c);
    c->proto->on_drain(c);
    conn_unref(c);
}

static void on_stream_close(void *arg, const struct kerr *err)
{
    struct conn *c = arg;

    conn_ref(c);
    c->proto->on_close(c, err);
    if (!c->closed)
        conn_close(c);
    if (!c->cl->freed)
        client_pump(c->cl);
    conn_unref(c);
}

static const struct stream_events conn_events = {
    .on_data = on_stream_data,
    .on_drain = on_stream_drain,
    .on_close = on_stream_close,
};

/* ---- dialling -------------------------------------------------------------------------------- */

static bool has_other_conn(const struct client *cl)
{
    for (const struct link *i = cl->conns.next; i != &cl->conns; i = i->next) {
        const struct conn *c = container_of(i, struct conn, link);
        if (!c->draining)
            return true;
    }
    return false;
}

/* Those that were waiting when the dial failed; what their handlers send anew dials anew. */
static void fail_waiting(struct client *cl, const struct kerr *err)
{
    const uint64_t until = cl->next_seq;

    cl->refs++;
    cl->failing = true;
    while (!link_empty(&cl->waiting)) {
        struct call *call = container_of(cl->waiting.next, struct call, link);
        if (call->seq >= until)
            break;
        call_fail(call, err, call->maybe_sent);
    }
    cl->failing = false;
    client_pump(cl);
    client_unref(cl);
}

static void conn_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct conn *c = arg;
    struct client *cl = c->cl;
    const bool own_ref = cl->dial != NULL;

    c->dial = NULL;
    if (c->closed) { /* a dialler of a test cannot be cancelled */
        stream_close(s);
        conn_unref(c);
        return;
    }
    if (err) {
        cl->refs++;
        conn_close(c);
        if (!has_other_conn(cl))
            fail_waiting(cl, err);
        client_unref(cl);
    } else {
        const char *alpn = stream_alpn(s);
        bool h2 = alpn ? streq(alpn, "h2") : cl->h2_prior_knowledge;

        cl->proto = h2 ? PROTO_H2 : PROTO_H1;
        c->proto = h2 ? &conn_h2 : &conn_h1;
        c->stream = s;
        cl->stats.open_conns++;
        c->proto->init(c);
        stream_listen(s, &conn_events, c);
        conn_released(c);
        client_pump(cl);
    }
    if (own_ref)
        conn_unref(c);
}

static void conn_dial(struct client *cl)
{
    struct conn *c = xnew0(struct conn);
    const struct dial_opts o = {
        .host = cl->host,
        .port = cl->port,
        .unix_path = cl->unix_path,
        .timeout = cl->connect_timeout,
        .proxy_host = cl->proxy_host,
        .proxy_port = cl->proxy_port,
        .proxy_auth = cl->proxy_auth,
        .tls = cl->tls,
        .server_name = cl->server_name,
    };

    c->cl = cl;
    cl->refs++;
    c->refs = 1;
    c->tls = cl->tls ? tls_ref(cl->tls) : NULL;
    link_init(&c->calls);
    link_add(&cl->conns, &c->link);
    cl->stats.dials++;
    if (cl->dial) {
        conn_ref(c); /* for its callback */
        cl->dial(cl->dial_arg, cl->loop, conn_dialed, c);
    } else {
        c->dial = stream_dial(cl->loop, &o, conn_dialed, c);
    }
}

/* ---- who goes where -------------------------------------------------------------------------- */

static struct conn *free_conn(struct client *cl, unsigned *ret_total, unsigned *ret_dialing)
{
    *ret_total = *ret_dialing = 0;
    for (struct link *i = cl->conns.next; i != &cl->conns; i = i->next) {
        struct conn *c = container_of(i, struct conn, link);
        if (c->stream && !c->draining && c->proto->can_take(c))
            return c;
        *ret_total += !(c->draining && c->proto == &conn_h2);
        *ret_dialing += !c->stream;
    }
    return NULL;
}

static void assign(struct conn *c, struct call *call)
{
    link_del(&call->link);
    call->cl->stats.waiting--;
    call->cl->stats.in_flight++;
    link_add(&c->calls, &call->link);
    c->n_calls++;
    call->conn = c;
    call->tries++;
    call->got_bytes = false;
    call->body_off = 0;
    if (call->idle_timeout > 0) {
        call->last_activity = loop_mono(call->cl->loop);
        call_arm(call);
    }
    c->proto->start(c, call);
}

/* Starts what can be started; only writes and dials, never calls a handler. */
void client_pump(struct client *cl)
{
    unsigned total = 0, dialing = 0;

    while (!cl->freed && !cl->failing && !link_empty(&cl->waiting)) {
        struct conn *c = free_conn(cl, &total, &dialing);
        if (c) {
            assign(c, container_of(cl->waiting.next, struct call, link));
            continue;
        }
        /* HTTP/2 needs one connection, and until the server has spoken we hope for HTTP/2. */
        unsigned max = cl->proto == PROTO_H1 ? cl->max_conns : 1;
        if (total >= max || dialing >= cl->stats.waiting)
            return;
        conn_dial(cl);
    }
}

bool call_retry(struct call *call)
{
    struct client *cl = call->cl;

    if (call->dead || cl->freed || call->tries >= CALL_TRIES || call->got_head)
        return false;
    call_unlink(call);
    link_add_first(&cl->waiting, &call->link);
    cl->stats.waiting++;
    return true;
}

/* ---- the http interface ---------------------------------------------------------------------- */

static bool good_bytes(const char *p, size_t n, unsigned char lowest)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)p[i] < lowest && p[i] != '\t') || p[i] == 127)
            return false;
    return true;
}

/* Line breaks in a header or target would let its author write requests of his own. */
static const char *request_fault(const struct call *c)
{
    if (c->target[0] != '/' && c->target[0] != '*')
        return "request target must begin with '/'";
    if (!good_bytes(c->target, strlen(c->target), '!') || strchr(c->target, '\t'))
        return "request target has blanks or control characters";
    for (size_t i = 0; i < c->n_headers; i++) {
        const struct http_header *h = &c->headers[i];
        if (h->name.n == 0 || !good_bytes(h->name.p, h->name.n, '!') ||
            memchr(h->name.p, ':', h->name.n) || memchr(h->name.p, '\t', h->name.n))
            return "bad request header name";
        if (!good_bytes(h->value.p, h->value.n, ' '))
            return "request header value has control characters";
    }
    return NULL;
}

static void on_bad_request(struct loop *l, void *arg)
{
    struct call *call = arg;
    struct kerr err;

    (void)l;
    call->later = NULL;
    kerr_set(&err, -EINVAL, "%s", request_fault(call));
    call_fail(call, &err, false);
}

static struct http_call *client_send(struct http *h, const struct http_req *r,
                                     const struct http_handler *on, void *arg)
{
    struct client *cl = client_of(h);
    struct call *call = call_new(cl, r, on, arg);

    assert(!cl->freed);
    call->http.ops = &client_ops;
    call->seq = cl->next_seq++;
    cl->stats.requests++;
    if (request_fault(call)) {
        call->complete = true;
        link_add(&cl->loose, &call->link);
        call->later = loop_after(cl->loop, 0, on_bad_request, call);
        return &call->http;
    }
    link_add(&cl->waiting, &call->link);
    cl->stats.waiting++;
    if (call->deadline > 0)
        call_arm(call);
    client_pump(cl);
    return &call->http;
}

static void client_cancel(struct http_call *h)
{
    struct call *call = container_of(h, struct call, http);
    struct client *cl = call->cl;

    cl->refs++;
    call_kill(call);
    client_pump(cl);
    client_unref(cl);
}

static void client_pause(struct http_call *h, bool paused)
{
    call_pause(container_of(h, struct call, http), paused);
}

static void kill_all(struct link *head)
{
    while (!link_empty(head))
        call_kill(container_of(head->next, struct call, link));
}

static void client_free(struct http *h)
{
    struct client *cl = client_of(h);

    cl->freed = true;
    kill_all(&cl->waiting);
    kill_all(&cl->loose);
    while (!link_empty(&cl->conns)) {
        struct conn *c = container_of(cl->conns.next, struct conn, link);
        conn_ref(c);
        kill_all(&c->calls);
        conn_close(c);
        conn_unref(c);
    }
    client_unref(cl);
}

void client_unref(struct client *cl)
{
    if (--cl->refs > 0)
        return;
    assert(cl->freed);
    tls_unref(cl->tls);
    free(cl->host);
    free(cl->authority);
    free(cl->server_name);
    free(cl->unix_path);
    free(cl->proxy_host);
    free(cl->proxy_auth);
    free(cl->user_agent);
    free(cl);
}

static const struct http_ops client_ops = {
    .send = client_send,
    .cancel = client_cancel,
    .pause = client_pause,
    .free = client_free,
};

static char *dup_or_null(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

static char *make_authority(const struct http_client_opts *o)
{
    const char *host = str_empty(o->host) ? "localhost" : o->host;
    bool v6 = strchr(host, ':') != NULL;

    if (o->port == 0 || o->port == (o->tls ? 443 : 80) || o->unix_path)
        return xasprintf(v6 ? "[%s]" : "%s", host);
    return xasprintf(v6 ? "[%s]:%u" : "%s:%u", host, o->port);
}

struct http *http_client_new(struct loop *l, const struct http_client_opts *o)
{
    struct client *cl = xnew0(struct client);

    cl->http.ops = &client_ops;
    cl->loop = l;
    cl->refs = 1;
    cl->host = dup_or_null(o->host);
    cl->authority = make_authority(o);
    cl->server_name = dup_or_null(o->server_name);
    cl->unix_path = dup_or_null(o->unix_path);
    cl->proxy_host = dup_or_null(o->proxy_host);
    cl->proxy_auth = dup_or_null(o->proxy_auth);
    cl->user_agent = xstrdup(o->user_agent ? o->user_agent : "koord/" KOORD_VERSION);
    cl->port = o->port;
    cl->proxy_port = o->proxy_port;
    cl->tls = o->tls ? tls_ref(o->tls) : NULL;
    cl->h2_prior_knowledge = o->h2_prior_knowledge;
    cl->no_gzip = o->no_gzip;
    cl->max_conns = o->max_conns ? o->max_conns : 6;
    cl->max_streams = o->max_streams;
    cl->connect_timeout = o->connect_timeout;
    cl->idle_close = loop_outside(l, o->idle_close ? o->idle_close : 90 * NSEC_PER_SEC);
    cl->ping_interval = loop_outside(l, o->ping_interval ? o->ping_interval : 30 * NSEC_PER_SEC);
    cl->dial = o->dial;
    cl->dial_arg = o->dial_arg;
    cl->proto = !o->tls && !o->h2_prior_knowledge && !o->dial ? PROTO_H1 : PROTO_UNKNOWN;
    link_init(&cl->conns);
    link_init(&cl->waiting);
    link_init(&cl->loose);
    return &cl->http;
}

void http_client_set_tls(struct http *h, struct tls_ctx *tls)
{
    struct client *cl = client_of(h);

    if (cl->tls == tls)
        return;
    tls_unref(cl->tls);
    cl->tls = tls ? tls_ref(tls) : NULL;
    for (struct link *i = cl->conns.next; i != &cl->conns; i = i->next)
        container_of(i, struct conn, link)->draining = true;
    client_close_idle(cl);
    client_pump(cl);
}

struct http_client_stats http_client_stats(const struct http *h)
{
    return client_of(h)->stats;
}
