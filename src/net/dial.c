/* dial.c - from a name to a connected stream: look-up, connect, proxy, TLS.
 *
 * One object per dial walks through the steps; one timer covers them all. Requests that libuv may
 * answer after a cancel (look-up, connect) live in blocks of their own that only point back at the
 * dial, so cancelling frees the dial at once.
 */
#include "net/stream_uv.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/b64.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/tls.h"

enum { MAX_ADDRS = 8, PROXY_HEAD_MAX = 16 * 1024 };
#define ATTEMPT_HEAD_START (300 * NSEC_PER_MSEC) /* then the next address is tried beside it */
#define UNIX_RETRY         (20 * NSEC_PER_MSEC)  /* a listener with a full backlog */

struct lookup {
    uv_getaddrinfo_t req;
    struct dial *d; /* NULL: cancelled */
};

struct attempt {
    uv_connect_t req;
    struct dial *d; /* NULL: cancelled */
    uv_tcp_t *tcp;
};

struct dial {
    struct loop *loop;
    dial_fn fn;
    void *arg;
    nsec_t timeout, started;
    char *host, *server_name, *unix_path, *proxy_host, *proxy_auth;
    uint16_t port, proxy_port;
    struct tls_ctx *tls;

    struct timer *timer; /* the whole dial */
    struct timer *next_timer;
    struct lookup *lookup;
    struct attempt *attempts[MAX_ADDRS];
    struct sockaddr_storage addrs[MAX_ADDRS];
    size_t n_addrs, tried, running;
    struct stream *raw; /* to the proxy, while we talk with it */
    struct strbuf answer;
    struct tls_shake *shake;
    struct kerr last; /* of the last address that failed */
};

static void try_next(struct dial *d);

/* ---- ending ---------------------------------------------------------------------------------- */

static void attempt_cancel(struct attempt *a)
{
    a->d = NULL; /* its callback comes with UV_ECANCELED and frees it */
    stream_uv_discard((uv_stream_t *)a->tcp);
}

static void dial_release(struct dial *d)
{
    timer_cancel(d->timer);
    timer_cancel(d->next_timer);
    if (d->lookup) {
        d->lookup->d = NULL;
        uv_cancel((uv_req_t *)&d->lookup->req);
    }
    for (size_t i = 0; i < d->tried; i++)
        if (d->attempts[i])
            attempt_cancel(d->attempts[i]);
    tls_cancel(d->shake);
    stream_close(d->raw);
    strbuf_fini(&d->answer);
    free(d->host);
    free(d->server_name);
    free(d->unix_path);
    free(d->proxy_host);
    free(d->proxy_auth);
    free(d);
}

static void dial_where(const struct dial *d, char *buf, size_t size)
{
    bool v6 = d->host && strchr(d->host, ':');

    if (d->unix_path)
        snprintf(buf, size, "%s", d->unix_path);
    else
        snprintf(buf, size, v6 ? "[%s]:%u" : "%s:%u", d->host, d->port);
}

static void dial_fail(struct dial *d, const struct kerr *why)
{
    struct kerr err = *why;
    dial_fn fn = d->fn;
    void *arg = d->arg;
    char where[300];

    dial_where(d, where, sizeof where);
    if (d->proxy_host)
        kerr_wrap(&err, "connect %.120s through proxy %.60s:%u", where, d->proxy_host,
                  d->proxy_port);
    else
        kerr_wrap(&err, "connect %.160s", where);
    dial_release(d);
    fn(arg, NULL, &err);
}

static void dial_done(struct dial *d, struct stream *s)
{
    dial_fn fn = d->fn;
    void *arg = d->arg;

    dial_release(d);
    fn(arg, s, NULL);
}

static void on_timeout(struct loop *l, void *arg)
{
    struct dial *d = arg;
    struct kerr err;

    (void)l;
    d->timer = NULL;
    const char *step = d->lookup  ? "look up the name"
                       : d->shake ? "TLS handshake"
                       : d->raw   ? "wait for the proxy"
                                  : "connect";
    kerr_set(&err, -ETIMEDOUT, "%s: timeout after %.3gs", step, (double)d->timeout / 1e9);
    dial_fail(d, &err);
}

/* ---- TLS and proxy --------------------------------------------------------------------------- */

static void on_tls(void *arg, struct stream *s, const struct kerr *err)
{
    struct dial *d = arg;

    d->shake = NULL;
    if (err)
        dial_fail(d, err);
    else
        dial_done(d, s);
}

static void secure(struct dial *d, struct stream *raw)
{
    if (!d->tls) {
        dial_done(d, raw);
        return;
    }
    nsec_t left = d->timeout - (loop_stopwatch(d->loop) - d->started);
    d->shake =
        tls_connect(d->loop, d->tls, raw, d->server_name, MAX(left, NSEC_PER_MSEC), on_tls, d);
}

/* "HTTP/1.1 200 Connection established"; anything 2xx opens the tunnel. */
static void proxy_answered(struct dial *d, size_t head)
{
    const char *p = d->answer.data;
    struct kerr err;

    if (head < 12 || memcmp(p, "HTTP/1.", 7) != 0 || p[8] != ' ')
        kerr_set(&err, -EPROTO, "the proxy does not answer in HTTP");
    else if (p[9] != '2')
        kerr_set(&err, -ECONNREFUSED, "the proxy says: %.*s",
                 (int)MIN(strcspn(p + 9, "\r\n"), (size_t)80), p + 9);
    else if (d->answer.len > head)
        kerr_set(&err, -EPROTO, "the proxy sent data before we did");
    else {
        struct stream *raw = take(d->raw);
        stream_listen(raw, NULL, NULL);
        secure(d, raw);
        return;
    }
    dial_fail(d, &err);
}

static void on_proxy_data(void *arg, const char *p, size_t n)
{
    struct dial *d = arg;
    struct kerr err;

    strbuf_appendn(&d->answer, p, n);
    const char *end = memmem(d->answer.data, d->answer.len, "\r\n\r\n", 4);
    if (end) {
        proxy_answered(d, (size_t)(end - d->answer.data) + 4);
        return;
    }
    if (d->answer.len > PROXY_HEAD_MAX) {
        kerr_set(&err, -EPROTO, "the proxy's answer is too long");
        dial_fail(d, &err);
    }
}

static void on_proxy_close(void *arg, const struct kerr *why)
{
    struct kerr err;

    if (why)
        err = *why;
    else
        kerr_set(&err, -ECONNRESET, "the proxy closed the connection");
    dial_fail(arg, &err);
}

static void connected(struct dial *d, struct stream *raw)
{
    static const struct stream_events proxy_events = {
        .on_data = on_proxy_data,
        .on_close = on_proxy_close,
    };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char where[300];

    if (!d->proxy_host) {
        secure(d, raw);
        return;
    }
    dial_where(d, where, sizeof where);
    strbuf_appendf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", where, where);
    if (d->proxy_auth) {
        strbuf_append(&b, "Proxy-Authorization: Basic ");
        b64_encode(d->proxy_auth, strlen(d->proxy_auth), &b);
        strbuf_append(&b, "\r\n");
    }
    strbuf_append(&b, "\r\n");
    d->raw = raw;
    stream_listen(raw, &proxy_events, d);
    stream_write(raw, b.data, b.len);
}

/* ---- TCP ------------------------------------------------------------------------------------- */

static void attempts_failed(struct dial *d, int r)
{
    kerr_set(&d->last, r, "%s", uv_strerror(r));
    if (d->running > 0 && d->tried == d->n_addrs)
        return; /* the others may still make it */
    if (d->tried < d->n_addrs)
        try_next(d);
    else
        dial_fail(d, &d->last);
}

static void on_connected(uv_connect_t *req, int status)
{
    struct attempt *a = req->data;
    struct dial *d = a->d;
    uv_tcp_t *tcp = a->tcp;

    if (!d) {
        free(a);
        return;
    }
    for (size_t i = 0; i < d->tried; i++)
        if (d->attempts[i] == a)
            d->attempts[i] = NULL;
    free(a);
    d->running--;
    if (status < 0) {
        stream_uv_discard((uv_stream_t *)tcp);
        attempts_failed(d, status);
        return;
    }
    d->next_timer = timer_cancel(d->next_timer);
    for (size_t i = 0; i < d->tried; i++)
        if (d->attempts[i])
            attempt_cancel(take(d->attempts[i]));
    d->n_addrs = d->tried = d->running = 0;
    (void)uv_tcp_keepalive(tcp, 1, 60);
    connected(d, stream_uv_wrap(d->loop, (uv_stream_t *)tcp));
}

static void on_next_timer(struct loop *l, void *arg)
{
    struct dial *d = arg;

    (void)l;
    d->next_timer = NULL;
    if (d->tried < d->n_addrs)
        try_next(d);
    else if (d->running == 0)
        dial_fail(d, &d->last);
}

static void try_next(struct dial *d)
{
    size_t i = d->tried++;
    struct attempt *a = xnew0(struct attempt);

    d->next_timer = timer_cancel(d->next_timer);
    a->tcp = xnew0(uv_tcp_t);
    a->req.data = a;
    a->d = d;
    uv_tcp_init(loop_uv(d->loop), a->tcp);
    int r = uv_tcp_connect(&a->req, a->tcp, (const struct sockaddr *)&d->addrs[i], on_connected);
    if (r < 0) {
        stream_uv_discard((uv_stream_t *)a->tcp);
        free(a);
        kerr_set(&d->last, r, "%s", uv_strerror(r));
        d->next_timer = loop_after(d->loop, 0, on_next_timer, d);
        return;
    }
    d->attempts[i] = a;
    d->running++;
    if (d->tried < d->n_addrs)
        d->next_timer =
            loop_after(d->loop, loop_outside(d->loop, ATTEMPT_HEAD_START), on_next_timer, d);
}

static void on_looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *res)
{
    struct lookup *k = req->data;
    struct dial *d = k->d;

    free(k);
    if (d) {
        d->lookup = NULL;
        for (struct addrinfo *ai = res; ai && d->n_addrs < MAX_ADDRS; ai = ai->ai_next)
            if (ai->ai_addrlen <= sizeof d->addrs[0])
                memcpy(&d->addrs[d->n_addrs++], ai->ai_addr, ai->ai_addrlen);
    }
    uv_freeaddrinfo(res);
    if (!d)
        return;
    if (d->n_addrs > 0) {
        try_next(d);
        return;
    }
    struct kerr err;
    bool again = status == UV_EAI_AGAIN;
    kerr_set(&err, again ? -EAGAIN : -EHOSTUNREACH, "look up %.100s: %s",
             d->proxy_host ? d->proxy_host : d->host,
             status < 0 ? uv_strerror(status) : "no address");
    dial_fail(d, &err);
}

/* A literal address needs no look-up, and so no worker threads in the small programs. */
static bool parse_literal(const char *host, uint16_t port, struct sockaddr_storage *ret)
{
    return uv_ip4_addr(host, port, (struct sockaddr_in *)ret) == 0 ||
           uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret) == 0;
}

static void start_tcp(struct dial *d)
{
    const char *host = d->proxy_host ? d->proxy_host : d->host;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
    uint16_t port = d->proxy_host ? d->proxy_port : d->port;
    char service[8];

    if (parse_literal(host, port, &d->addrs[0])) {
        d->n_addrs = 1;
        try_next(d);
        return;
    }
    snprintf(service, sizeof service, "%u", port);
    struct lookup *k = xnew0(struct lookup);
    k->d = d;
    k->req.data = k;
    int r = uv_getaddrinfo(loop_uv(d->loop), &k->req, on_looked_up, host, service, &hints);
    if (r < 0) {
        free(k);
        kerr_set(&d->last, r, "look up %.100s: %s", host, uv_strerror(r));
        d->next_timer = loop_after(d->loop, 0, on_next_timer, d);
        return;
    }
    d->lookup = k;
}

/* ---- unix sockets ---------------------------------------------------------------------------- */

static int unix_connect(const char *path, int *ret_fd)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t n = strlen(path);

    if (n == 0 || n >= sizeof a.sun_path)
        return -ENAMETOOLONG;
    memcpy(a.sun_path, path, n);
    bool abstract = path[0] == '@';
    if (abstract)
        a.sun_path[0] = '\0';
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + !abstract);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int r;
    do
        r = connect(fd, (const struct sockaddr *)&a, len);
    while (r < 0 && errno == EINTR);
    if (r < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* Connecting to a unix socket is over at once, one way or the other; only its outcome is told in a
 * later turn. libuv 1.44 does not know abstract names, hence the plain calls. */
static void on_unix_timer(struct loop *l, void *arg)
{
    struct dial *d = arg;
    struct kerr err;
    int fd = -1, r = unix_connect(d->unix_path, &fd);

    d->next_timer = NULL;
    if (r == -EAGAIN) { /* the listener's backlog is full; the dial's own timeout ends this */
        d->next_timer = loop_after(l, UNIX_RETRY, on_unix_timer, d);
        return;
    }
    if (r == 0) {
        uv_pipe_t *h = xnew0(uv_pipe_t);
        uv_pipe_init(loop_uv(l), h, 0);
        r = uv_pipe_open(h, fd);
        if (r == 0) {
            connected(d, stream_uv_wrap(l, (uv_stream_t *)h));
            return;
        }
        close(fd);
        stream_uv_discard((uv_stream_t *)h);
    }
    kerr_set(&err, r, "%s", uv_strerror(r));
    dial_fail(d, &err);
}

/* ---- start ----------------------------------------------------------------------------------- */

static char *dup_or_null(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

struct dial *stream_dial(struct loop *l, const struct dial_opts *o, dial_fn fn, void *arg)
{
    struct dial *d = xnew0(struct dial);

    d->loop = l;
    d->fn = fn;
    d->arg = arg;
    d->timeout = o->timeout > 0 ? o->timeout : 30 * NSEC_PER_SEC;
    d->started = loop_stopwatch(l);
    d->host = dup_or_null(o->host);
    d->port = o->port;
    d->unix_path = dup_or_null(o->unix_path);
    d->server_name = dup_or_null(o->server_name ? o->server_name : o->host);
    d->proxy_host = o->unix_path ? NULL : dup_or_null(o->proxy_host);
    d->proxy_port = o->proxy_port;
    d->proxy_auth = dup_or_null(o->proxy_auth);
    d->tls = o->tls;
    d->timer = loop_after(l, loop_outside(l, d->timeout), on_timeout, d);
    if (!loop_uv(l)) {
        kerr_set(&d->last, -ENOTSUP, "a virtual loop has no sockets");
        d->next_timer = loop_after(l, 0, on_next_timer, d);
    } else if (d->unix_path) {
        d->next_timer = loop_after(l, 0, on_unix_timer, d);
    } else {
        assert(d->host);
        start_tcp(d);
    }
    return d;
}

struct dial *dial_cancel(struct dial *d)
{
    if (d)
        dial_release(d);
    return NULL;
}
